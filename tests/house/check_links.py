#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every relative link of a Markdown file leads to a file, and to a heading of it where the link names one.

Usage: check_links.py ROOT
"""
import re
import sys
from pathlib import Path

CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
OUTSIDE = re.compile(r"[a-z]+:")
HEADING = re.compile(r"^#+ +(.*?) *$", re.MULTILINE)
NOT_OURS = ("build", ".")  # how the names of folders begin that the project does not hold


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(path):
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return {anchor(heading) for heading in HEADING.findall(text)}


def problems(root):
    root = Path(root)
    for page in sorted(root.rglob("*.md")):
        place = page.relative_to(root)
        if any(part.startswith(NOT_OURS) for part in place.parts[:-1]):
            continue
        for link in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
            if OUTSIDE.match(link):
                continue
            path, _, heading = link.partition("#")
            target = page.parent / path if path else page
            if not target.exists():
                yield f"{place}: {link}: no such file"
            elif heading and heading not in anchors(target):
                yield f"{place}: {link}: no such heading"


if __name__ == "__main__":
    found = list(problems(sys.argv[1]))
    print("\n".join(found) if found else "Every link leads somewhere.")
    sys.exit(1 if found else 0)
