# SPDX-License-Identifier: Apache-2.0
"""What a call costs for one token: q of 32 heads and k of 8, 128 lanes, as the table of docs/python.md. Microseconds of
processor time, medians of rounds in which the calls take turns.

    python python/bench/call_overhead.py [ROUNDS]
"""

import importlib.util
import statistics
import sys
import time
import timeit

import ml_dtypes
import numpy as np

import rotary

ROPE = rotary.Rope(128)
ANGLES = ROPE.angles(4096)
TYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f64": np.float64}


def numpy_calls(dtype):
    q, k = np.ones((1, 32, 1, 128), TYPES[dtype]), np.ones((1, 8, 1, 128), TYPES[dtype])
    return {"`rope.rotate_(q, k, angles=angles)`, NumPy": lambda: ROPE.rotate_(q, k, angles=ANGLES)}


def trivial_operators(torch):
    """Registered as those of the library are, once without a gradient; all they do is to allocate their outputs."""
    library = torch.library.Library("trivial", "DEF")
    for name in ("plain", "differentiable"):
        library.define(f"{name}(Tensor q, Tensor k, Tensor positions, str rope, str layout) -> (Tensor, Tensor)")
        library.impl(name, lambda q, k, p, r, s: (torch.empty_like(q), torch.empty_like(k)), "CPU")
    torch.library.register_autograd(
        "trivial::differentiable",
        lambda ctx, q, k: (q, k, None, None, None),
        setup_context=lambda ctx, inputs, output: None,
        lib=library,
    )
    return library


def torch_calls(dtype, torch, key):
    kind = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64}[dtype]
    q, k = torch.ones(1, 32, 1, 128, dtype=kind), torch.ones(1, 8, 1, 128, dtype=kind)
    positions = torch.tensor([[4096]])
    cos, sin = (torch.from_numpy(t).to(kind).repeat(1, 1, 2)[:, None] for t in (ANGLES.cos(), ANGLES.sin()))
    ops = torch.ops

    def half(x):
        return torch.cat((-x[..., 64:], x[..., :64]), -1)

    return {
        "the same, tensors of PyTorch": lambda: ROPE.rotate_(q, k, angles=ANGLES),
        "`rope.rotate(q, k, angles=angles)`, tensors of PyTorch": lambda: ROPE.rotate(q, k, angles=ANGLES),
        "`torch.empty_like(q), torch.empty_like(k)`": lambda: (torch.empty_like(q), torch.empty_like(k)),
        "`torch.ops.rotary.rotate_qk`": lambda: ops.rotary.rotate_qk(q, k, positions, key, "bhtd"),
        "a trivial operator, with a gradient": lambda: ops.trivial.differentiable(q, k, positions, key, "bhtd"),
        "a trivial operator, without": lambda: ops.trivial.plain(q, k, positions, key, "bhtd"),
        "x cos + rotate_half(x) sin, in PyTorch's eager form": lambda: (q * cos + half(q) * sin, k * cos + half(k) * sin),
    }


def medians(calls, rounds, number=2000):
    """{name: microseconds} of {name: call}."""
    times = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(timeit.timeit(call, number=number, timer=time.thread_time))
    return {name: statistics.median(taken) / number * 1e6 for name, taken in times.items()}


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 25
    calls = {t: numpy_calls(t) for t in TYPES}
    if importlib.util.find_spec("torch") is not None:
        import torch

        from rotary.torch._ops import key_of

        torch.set_num_threads(1)
        torch.set_grad_enabled(False)
        library = trivial_operators(torch)
        for t in TYPES:
            calls[t] |= torch_calls(t, torch, key_of(ROPE))
    columns = {t: medians(calls[t], rounds) for t in TYPES}
    print(f"| call | {' | '.join(columns)} |\n| --- |{' --- |' * len(columns)}")
    for name in calls["f32"]:
        print(f"| {name} | {' | '.join(f'{times[name]:.2f}' for times in columns.values())} |")


if __name__ == "__main__":
    main()
