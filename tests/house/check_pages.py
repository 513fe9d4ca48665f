#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pages show code that runs and output that a program wrote: every ```cpp block of README.md and docs/ is found,
line for line, in a program of examples/, and every ```output block in an expected output there. Those of README.md in
readme.cc.

Usage: check_pages.py ROOT
"""
import re
import sys
import textwrap
from pathlib import Path

BLOCK = re.compile(r"^```(cpp|output)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def texts(root, pattern):
    return [path.read_text(encoding="utf-8") for path in sorted((root / "examples").glob(pattern))]


def problems(root):
    root = Path(root)
    outputs = texts(root, "*.expected.txt")
    for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
        programs = texts(root, "readme.cc" if page.name == "README.md" and page.parent == root else "*.cc")
        for kind, block in BLOCK.findall(page.read_text(encoding="utf-8")):
            shown = {"cpp": [block, textwrap.indent(block, "  ")], "output": [block]}[kind]
            places = {"cpp": programs, "output": outputs}[kind]
            if not any(text in place for text in shown for place in places):
                what = {"cpp": "no program has this block", "output": "no program writes this"}[kind]
                yield f"{page.relative_to(root)}: {what}\n{block}"


if __name__ == "__main__":
    found = list(problems(sys.argv[1]))
    print("\n".join(found) if found else "Every page shows code that runs.")
    sys.exit(1 if found else 0)
