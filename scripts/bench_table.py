#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the table of docs/bench.md from a run: rotary bench --json | scripts/bench_table.py CPU >> docs/bench.md
and that of docs/fused.md: rotary bench --fused --json | scripts/bench_table.py CPU >> docs/fused.md

CPU names the machine where the system only gives its family.
"""
import json
import sys

USUAL = {"heads": 32, "kv_heads": 8, "head_dim": 128, "rotary_dim": 128, "rotary_offset": 0, "threads": 1, "op": "rotate"}


def unusual(case):
    """What the columns do not say."""
    words = []
    for key, usual in USUAL.items():
        usual = case["head_dim"] if key == "rotary_dim" else usual
        if case[key] != usual:
            words.append(str(case[key]) if key == "op" else f"{key} {case[key]}")
    return ", ".join(words)


def fused(run):
    """A row a form, and how many times as long its steps take at each number of tokens."""
    gains = {}
    for row in run["rows"]:
        gains.setdefault(row["case"].split(" tokens=")[0], {})[row["tokens"]] = row
    tokens = sorted(next(iter(gains.values())))
    print("| form |" + "".join(f" {t} token{'s' * (t > 1)} |" for t in tokens) + f" us, steps us at {tokens[-1]} |")
    print("| --- |" + " ---: |" * (len(tokens) + 1))
    for form, of in gains.items():
        last = of[tokens[-1]]
        print(f"| {form} |" + "".join(f" {of[t]['gain']:.2f} |" for t in tokens)
              + f" {last['ns'] / 1000:.0f}, {last['steps_ns'] / 1000:.0f} |")


def main():
    run = json.load(sys.stdin)
    cpu = sys.argv[1] if len(sys.argv) > 1 else run["cpu"]
    if run["schema"] == "rotary.bench_fused/1":
        print(f"{cpu}.\n")
        return fused(run)
    print(f"{cpu}; {run['noisy']} of {len(run['rows'])} cases noisy.\n")
    print("| type | pairing | layout | tokens | else | ns | limit ns | ratio | GB/s |")
    print("| --- | --- | --- | ---: | --- | ---: | ---: | ---: | ---: |")
    for row in run["rows"]:
        case = row["case"]
        print(f"| {case['dtype']} | {case['pairing']} | {case['layout']} | {case['tokens']} | {unusual(case)} | "
              f"{row['ns']:.0f} | {row['limit_ns']:.0f} | {row['ratio']:.2f} | {row['gb_per_s']:.0f} |")


if __name__ == "__main__":
    main()
