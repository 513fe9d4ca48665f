# SPDX-License-Identifier: Apache-2.0
"""Rotary position embeddings: every convention named, exact angles at any position, at the speed of memory.

    rope = rotary.Rope.from_config("config.json")      # once: what the model says
    angles = rope.angles(range(tokens))                # once a forward pass
    rope.rotate_(q, k, angles=angles)                  # every layer, in place

NumPy arrays, CPU tensors of PyTorch, and whatever speaks DLPack or the buffer protocol. docs/python.md of the project
has the whole story."""

from ._core import (
    Angles,
    Model,
    MultimodalSequence,
    Operand,
    Positions,
    QueryTemperature,
    RmsNorm,
    Rope,
    VisionGrid,
    axis_map,
    block_order,
    difference,
    dual_chunk,
    fope_ropes,
    kernels,
    length_for,
    presets,
    shard,
    store,
)
from ._core import version as __version__
from ._report import Explanation, Table, explain, table
from ._types import ConfigWarning, DualChunk, Kernel, PeerDifference, PeerRope, Preset, Value, Xpos

__all__ = [
    "Angles",
    "ConfigWarning",
    "DualChunk",
    "Explanation",
    "Kernel",
    "Model",
    "MultimodalSequence",
    "Operand",
    "PeerDifference",
    "PeerRope",
    "Positions",
    "Preset",
    "QueryTemperature",
    "RmsNorm",
    "Rope",
    "Table",
    "Value",
    "VisionGrid",
    "Xpos",
    "__version__",
    "axis_map",
    "block_order",
    "difference",
    "dual_chunk",
    "explain",
    "fope_ropes",
    "kernels",
    "length_for",
    "presets",
    "shard",
    "store",
    "table",
]
