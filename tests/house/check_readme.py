#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every C++ block of README.md is found, line for line, in examples/readme.cc; every link leads to a file.

Usage: check_readme.py ROOT
"""
import re
import sys
import textwrap
from pathlib import Path


def problems(root):
    root = Path(root)
    page = (root / "README.md").read_text(encoding="utf-8")
    program = (root / "examples/readme.cc").read_text(encoding="utf-8")
    for block in re.findall(r"^```cpp\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        if textwrap.indent(block, "  ") not in program:
            yield f"README.md: examples/readme.cc lacks this block\n{block}"
    for link in re.findall(r"\]\(([^)#:]+)\)", page):
        if not (root / link).exists():
            yield f"README.md: {link}: no such file"


if __name__ == "__main__":
    found = list(problems(sys.argv[1]))
    print("\n".join(found) if found else "README.md shows code that runs.")
    sys.exit(1 if found else 0)
