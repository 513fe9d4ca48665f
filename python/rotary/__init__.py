# SPDX-License-Identifier: Apache-2.0
"""Rotary position embeddings: every convention named, exact angles at any position, at the speed of memory.

    rope = rotary.Rope.from_config("config.json")      # once: what the model says
    angles = rope.angles(range(tokens))                # once a forward pass
    rope.rotate_(q, k, angles=angles)                  # every layer, in place

NumPy arrays, CPU tensors of PyTorch, and whatever speaks DLPack or the buffer protocol. docs/python.md of the project
has the whole story."""

from ._core import Angles, Model, Positions, Rope, kernels, presets
from ._core import version as __version__
from ._report import Explanation, Table, explain, table
from ._types import ConfigWarning, Kernel, Preset, Value

__all__ = [
    "Angles",
    "ConfigWarning",
    "Explanation",
    "Kernel",
    "Model",
    "Positions",
    "Preset",
    "Rope",
    "Table",
    "Value",
    "__version__",
    "explain",
    "kernels",
    "presets",
    "table",
]
