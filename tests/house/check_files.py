#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What every source file keeps: its first line names the licence, it is short, it is ASCII, and kernels find a NaN
by name (a comparison of a value with itself says "no NaN" on some vector instruction sets).

Usage: check_files.py ROOT
"""
import re
import sys
from pathlib import Path

MAX_LINES = 400
TABLES = ("src/model/presets",)  # data with a comma behind every line: as long as it must be
PLACES = ("include", "src", "tools", "examples", "bench", "tests", "scripts", "python", "cmake")
SUFFIXES = {".hpp", ".h", ".cc", ".py", ".sh"}
SELF_COMPARISON = re.compile(r"(?<![\w.>])([A-Za-z_][\w.\[\]]*)\s*[!=]=\s*\1(?![\w.\[(])"
                             r"|\b(?:Ne|Eq)\(\s*(\w+)\s*,\s*\2\s*\)")
LICENCE = "SPDX-License-Identifier: Apache-2.0"


def check(path, text):
    """Complaints about one file; `path` is relative to the root."""
    lines = text.splitlines()
    first = lines[1:2] if lines and lines[0].startswith("#!") else lines[:1]
    if not any(LICENCE in line for line in first):
        yield f"the first line must say {LICENCE}"
    if len(lines) > MAX_LINES and not path.as_posix().startswith(TABLES):
        yield f"{len(lines)} lines, at most {MAX_LINES}"
    for number, line in enumerate(lines, 1):
        if not line.isascii():
            yield f"line {number}: not ASCII"
        if path.parts[:2] == ("src", "kernels") and SELF_COMPARISON.search(line):
            yield f"line {number}: compared with itself; say IsNaN or std::isnan"


def problems(root):
    root = Path(root)
    for path in sorted(p for top in PLACES for p in (root / top).rglob("*") if p.suffix in SUFFIXES):
        relative = path.relative_to(root)
        for complaint in check(relative, path.read_text(encoding="utf-8")):
            yield f"{relative}: {complaint}"


if __name__ == "__main__":
    found = list(problems(sys.argv[1]))
    print("\n".join(found) if found else "Every file keeps the rules.")
    sys.exit(1 if found else 0)
