#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the table of docs/bench.md from a run: rotary bench --json | scripts/bench_table.py CPU >> docs/bench.md

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


def main():
    run = json.load(sys.stdin)
    cpu = sys.argv[1] if len(sys.argv) > 1 else run["cpu"]
    print(f"{cpu}; {run['noisy']} of {len(run['rows'])} cases noisy.\n")
    print("| type | pairing | layout | tokens | else | ns | limit ns | ratio | GB/s |")
    print("| --- | --- | --- | ---: | --- | ---: | ---: | ---: | ---: |")
    for row in run["rows"]:
        case = row["case"]
        print(f"| {case['dtype']} | {case['pairing']} | {case['layout']} | {case['tokens']} | {unusual(case)} | "
              f"{row['ns']:.0f} | {row['limit_ns']:.0f} | {row['ratio']:.2f} | {row['gb_per_s']:.0f} |")


if __name__ == "__main__":
    main()
