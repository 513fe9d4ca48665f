# SPDX-License-Identifier: Apache-2.0
"""What a call costs for one token: q of 32 heads and k of 8, 128 lanes. Processor time, the best of several rounds in
which the calls take turns, microseconds.

    python python/bench/call_overhead.py
"""

import time
import timeit

import ml_dtypes
import numpy as np

import rotary

ROPE = rotary.Rope(128)


def best(calls, number=5000, rounds=15):
    """{name: microseconds} of {name: call}."""
    times = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(timeit.timeit(call, number=number, timer=time.thread_time))
    return {name: min(taken) / number * 1e6 for name, taken in times.items()}


def numpy_tier():
    angles = ROPE.angles(4096)
    for dtype in (np.float32, np.float16, ml_dtypes.bfloat16, np.float64):
        q, k = np.ones((1, 32, 1, 128), dtype), np.ones((1, 8, 1, 128), dtype)
        in_place = best({"rotate_": lambda q=q, k=k: ROPE.rotate_(q, k, angles=angles)})["rotate_"]
        print(f"numpy {np.dtype(dtype).name:9} rotate_ {in_place:5.2f}")


def torch_tier():
    import torch

    import rotary.torch

    torch.set_num_threads(1)
    trivial = torch.library.Library("trivial", "DEF")
    trivial.define("two(Tensor q, Tensor k, Tensor positions, str rope, str layout) -> (Tensor, Tensor)")
    trivial.impl("two", lambda q, k, p, r, s: (torch.empty_like(q), torch.empty_like(k)), "CPU")
    torch.library.register_autograd(
        "trivial::two", lambda ctx, q, k: (q, k, None, None, None), setup_context=lambda ctx, inputs, output: None, lib=trivial
    )
    angles, positions = ROPE.angles(4096), torch.tensor([[4096]])
    for dtype in (torch.float32, torch.bfloat16):
        q, k = torch.randn(1, 32, 1, 128, dtype=dtype), torch.randn(1, 8, 1, 128, dtype=dtype)
        cos, sin = (t.clone().unsqueeze(1) for t in rotary.torch.RotaryEmbedding(ROPE)(q, positions))
        key = rotary.torch._ops.key_of(ROPE)

        def half(x):
            return torch.cat((-x[..., 64:], x[..., :64]), -1)

        with torch.no_grad():
            calls = {
                "rotate_": lambda: ROPE.rotate_(q, k, angles=angles),
                "rotate": lambda: ROPE.rotate(q, k, angles=angles),
                "operator": lambda: torch.ops.rotary.rotate_qk(q, k, positions, key, "bhtd"),
                "trivial operator": lambda: torch.ops.trivial.two(q, k, positions, key, "bhtd"),
                "eager": lambda: (q * cos + half(q) * sin, k * cos + half(k) * sin),
            }
            print(f"{dtype}", ", ".join(f"{name} {time:.2f}" for name, time in best(calls).items()))


if __name__ == "__main__":
    numpy_tier()
    try:
        torch_tier()
    except ImportError as error:
        print(error)
