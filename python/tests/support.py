# SPDX-License-Identifier: Apache-2.0
"""The oracle: the formula in float64, in plain NumPy, and the numbers of other people's code in tests/data."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

import rotary

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
CONFIG = DATA / "gemma3_270m_config.json"
Array = NDArray[Any]

#: Half a step of each element type below 1, with room for the angles' 3e-8.
TOLERANCE = {"float64": 4e-15, "float32": 4e-7, "float16": 1e-3, "bfloat16": 8e-3}
DTYPES = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16]


def normal(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def lanes(rope: rotary.Rope) -> list[Array]:
    """The two lanes of each pair where it is read, and where it is written."""
    pair = np.arange(rope.pairs)
    halves, adjacent = (pair, pair + rope.pairs), (2 * pair, 2 * pair + 1)
    read = halves if rope.pairing == "half_split" else adjacent
    write = adjacent if rope.pairing == "interleaved" else halves
    return [lane + rope.rotary_offset for lane in (*read, *write)]


def formula(rope: rotary.Rope, x: Array, positions: Any, factor: float | None = None, sign: float = 1) -> Array:
    """x [batch, heads, tokens, head_dim] turned by the definition, in float64."""
    at = np.asarray(positions, dtype=np.float64)
    at = at.reshape((1,) * (3 - at.ndim) + at.shape)  # [axes, batch, tokens]
    angle = np.moveaxis(at[rope.axis], 0, -1)[:, None] * rope.inv_freq * sign  # [batch, 1, tokens, pairs]
    a = rope.attention_factor if factor is None else factor
    cos, sin = a * np.cos(angle), a * np.sin(angle)
    read_x, read_y, write_x, write_y = lanes(rope)
    wide = np.asarray(x, dtype=np.float64)
    out = wide.copy()
    out[..., write_x] = wide[..., read_x] * cos - wide[..., read_y] * sin
    out[..., write_y] = wide[..., read_y] * cos + wide[..., read_x] * sin
    return out


def close(got: Array, want: Array, tolerance: float) -> None:
    """Errors against the length of the whole head, so that a component that cancels does not count."""
    got = np.asarray(got, dtype=np.float64)
    scale = np.maximum(np.abs(want).max(axis=-1, keepdims=True), 1e-30)
    worst = float((np.abs(got - want) / scale).max(initial=0))
    assert worst <= tolerance, f"off by {worst:.3g}, at most {tolerance:.3g}"


def safetensors(name: str) -> tuple[dict[str, Array], dict[str, Any]]:
    """Tensors and metadata of a file of tests/data."""
    raw = (DATA / name).read_bytes()
    (size,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + size])
    metadata = header.pop("__metadata__", {})
    types = {"F32": "<f4", "F64": "<f8", "F16": "<f2", "BF16": ml_dtypes.bfloat16, "I64": "<i8", "I32": "<i4", "I8": "i1"}
    tensors = {}
    for key, entry in header.items():
        begin, end = entry["data_offsets"]
        body = raw[8 + size + begin : 8 + size + end]
        tensors[key] = np.frombuffer(body, dtype=types[entry["dtype"]]).reshape(entry["shape"])
    return tensors, metadata
