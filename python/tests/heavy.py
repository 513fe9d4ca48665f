# SPDX-License-Identifier: Apache-2.0
"""Packages of several GB: without them a test file is skipped with the reason, or fails where ROTARY_HEAVY=required."""

import importlib
import os
from typing import Any

import pytest


def need(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if os.environ.get("ROTARY_HEAVY") == "required":
            raise
        pytest.skip(f"{name} is not installed: {error}", allow_module_level=True)
