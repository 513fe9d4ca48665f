#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of ten fixed pieces of work under callgrind and fails where one has grown by more than 5 %
over tests/instructions/counts.txt. Instructions do not depend on how busy the machine is.

Usage: check_instructions.py COUNTED [--update]      COUNTED: the program built from tests/instructions/counted.cc
"""
import concurrent.futures
import os
import re
import subprocess
import sys
from pathlib import Path

COUNTS = Path(__file__).resolve().parent.parent / "tests/instructions/counts.txt"
ALLOWED = 1.05
HEAD = """\
# Instructions of each piece of work of counted.cc, by g++ 12 and callgrind (AVX2). Written by
# scripts/check_instructions.py --update; a change belongs to the commit that causes it, with its reason.
"""


def count(program, name):
    run = subprocess.run(["valgrind", "--tool=callgrind", "--toggle-collect=counted_work",
                          "--callgrind-out-file=/dev/null", program, name], capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or not found or int(found[1]) == 0:
        sys.exit(f"{name}: not counted\n{run.stderr}")
    return int(found[1])


def read():
    lines = (line.split() for line in COUNTS.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    return {name: int(number) for name, number in lines}


def main():
    program, update = sys.argv[1], "--update" in sys.argv[2:]
    names = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = dict(zip(names, pool.map(lambda name: count(program, name), names)))
    if update:
        COUNTS.write_text(HEAD + "".join(f"{name} {number}\n" for name, number in counts.items()), encoding="utf-8")
    known = read()
    wrong = []
    if set(known) != set(counts):
        wrong.append(f"{COUNTS.name} has {sorted(known)}, the program {sorted(counts)}")
    for name, number in counts.items():
        before = known.get(name, number)
        print(f"{name:24} {number:9} instructions, {100 * (number / before - 1):+5.1f} %")
        if number > ALLOWED * before:
            wrong.append(f"{name}: {number} instructions, {before} before: more than 5 % above")
    print("\n".join(wrong) if wrong else "No piece of work has grown: 10 instruction counts hold.")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
