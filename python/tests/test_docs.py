# SPDX-License-Identifier: Apache-2.0
"""The code of docs/python.md runs, and prints what the page says."""

import contextlib
import importlib.util
import io
import re
from typing import Any

import pytest
from support import ROOT

PAGE = (ROOT / "docs" / "python.md").read_text()
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
SECTIONS = {
    section.splitlines()[0]: BLOCK.findall(section) for section in PAGE.split("\n## ")[1:] if BLOCK.search(section)
}


@pytest.mark.parametrize("title", SECTIONS)
def test_page(title: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each section is a program of its own, after the first one's imports."""
    monkeypatch.chdir(ROOT)
    blocks = SECTIONS[title]
    needed = set(re.findall(r"^(?:import|from) (torch|transformers)\b", "".join(b for b, _ in blocks), re.MULTILINE))
    for package in needed:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    names: dict[str, Any] = {}
    exec("import numpy as np\nimport rotary\n", names)
    for code, expected in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "docs/python.md", "exec"), names)
        assert not expected or printed.getvalue() == expected, f"{title}: prints\n{printed.getvalue()}"


def test_the_page_has_its_sections() -> None:
    assert len(SECTIONS) >= 5
