#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads tests/reports.md and fails on a test that no source has, on a file that is not there, and on a report that has
neither a test nor a reason.

A row is `| number | fault | answer |`. In the answer, `Suite.Name` in code quotes is a test and `path/of_test.cc` its
file: the tests behind a file must stand in it, until the next file. Those of the Python package are `test_name` of
`python/tests/test_file.py`.

Usage: check_reports.py ROOT
"""
import re
import sys
from pathlib import Path

TEST = re.compile(r"^\s*(?:TEST|TEST_F|TEST_P|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+),\s*(\w+)", re.MULTILINE)
ROW = re.compile(r"^\|\s*([\d,\s]+?)\s*\|[^|]*\|(.*)\|\s*$")
PYTHON_TEST = re.compile(r"^def (test_\w+)\(", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")


def tests_of(path):
    text = path.read_text(encoding="utf-8")
    return set(PYTHON_TEST.findall(text)) if path.suffix == ".py" else {f"{suite}.{name}" for suite, name in TEST.findall(text)}


def problems(root):
    root = Path(root)
    text = (root / "tests/reports.md").read_text(encoding="utf-8")
    seen = set()
    for line in text.splitlines():
        row = ROW.match(line)
        if not row:
            continue
        numbers, answer = row.groups()
        file, named = None, set()
        for code in CODE.findall(answer):
            if code.endswith((".cc", ".py")):
                file = root / code if code.endswith(".py") else root / "tests" / code
                named = tests_of(file) if file.is_file() else set()
                if not file.is_file():
                    yield f"report {numbers}: there is no {file.relative_to(root)}"
            elif re.fullmatch(r"[A-Z]\w*\.[A-Z]\w*|test_\w+", code):
                if file is None:
                    yield f"report {numbers}: {code} stands behind no file"
                elif file.is_file() and code not in named:
                    yield f"report {numbers}: {file.relative_to(root)} has no {code}"
        if not answer.strip():
            yield f"report {numbers}: neither a test nor a reason"
        for number in numbers.split(","):
            if number.strip() in seen:
                yield f"report {number.strip()}: has two rows"
            seen.add(number.strip())
    if not seen:
        yield "tests/reports.md has no rows"
    # The suites that are called after a report must be in the list.
    for path in [*sorted((root / "tests").rglob("*_test.cc")), *sorted((root / "python/tests").rglob("test_*.py"))]:
        for test in sorted(tests_of(path)):
            number = re.match(r"Report(\d+)\.|test_report_(\d+)_", test)
            if number and f"`{test}`" not in text:
                yield f"{path.relative_to(root)}: {test} is not in tests/reports.md"


if __name__ == "__main__":
    found = list(problems(sys.argv[1]))
    print("\n".join(found) if found else "Every test that tests/reports.md names is there.")
    sys.exit(1 if found else 0)
