# SPDX-License-Identifier: Apache-2.0
"""The formula in PyTorch's own operations: for devices without a kernel of the library, where frequencies or positions
need a gradient, and under the transforms of torch.func, which know no gradient of an operator written elsewhere."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd import forward_ad

from .._core import Rope

# A rope's numbers on a device. Keyed by what they are, never by an address; a rope is immutable.
_constants: dict[tuple[Rope, str, torch.dtype], tuple[torch.Tensor, torch.Tensor]] = {}


def _transforming() -> bool:
    return forward_ad._current_level >= 0 or torch._C._are_functorch_transforms_active()


def transformed() -> bool:
    """Whether torch.vmap, torch.func.grad or another of their kind is at work, or forward-mode gradients."""
    return not torch.compiler.is_compiling() and _transforming()


def eager() -> bool:
    """Neither traced by a compiler nor transformed."""
    return not (torch.compiler.is_compiling() or _transforming())


def _numbers(rope: Rope, device: torch.device, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Inverse frequencies and axes."""
    key = (rope, str(device), dtype)
    if key in _constants:
        return _constants[key]
    inv_freq = rope.inv_freq if dtype == torch.float64 else rope.inv_freq_fp32
    made = torch.tensor(inv_freq.tolist(), dtype=dtype, device=device), torch.tensor(rope.axis.tolist(), device=device)
    made_here = type(made[0]) is torch.Tensor and not transformed()
    if made_here and not torch.compiler.is_compiling():  # what a tracer or a transform makes is its own
        _constants[key] = made
    return made


def angle_type(rope: Rope, device: torch.device) -> torch.dtype:
    """The type that angles are computed in. NotImplementedError where that is not PyTorch's to compute."""
    if rope.xpos is not None:
        raise NotImplementedError(f"xpos on device {device}: only the CPU has it")
    if rope.policy == "fp32":
        return torch.float32
    if rope.policy != "exact":
        raise NotImplementedError(f"angles {rope.policy} on device {device}: only the CPU has them")
    if device.type in ("mps", "xpu"):  # without float64
        raise NotImplementedError(f"angles exact on device {device}, which has no float64: make the rope with angles='fp32'")
    return torch.float64


def angles(
    inv_freq: torch.Tensor, axis: torch.Tensor | None, positions: torch.Tensor
) -> torch.Tensor:
    """[batch, tokens, pairs] in the type of inv_freq, from positions of [tokens], [batch, tokens] or [axes, batch,
    tokens]."""
    at = positions.to(inv_freq.dtype)
    at = at.reshape((1,) * (3 - at.ndim) + tuple(at.shape))
    at = at[0][..., None] if axis is None else at[axis].movedim(0, -1)
    return at * inv_freq


def rows(rope: Rope, positions: torch.Tensor, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    """cos and sin, [batch, tokens, pairs], A included."""
    device = positions.device
    inv_freq, axis = _numbers(rope, device, angle_type(rope, device))
    turned = angles(inv_freq, axis if rope.axes > 1 else None, positions)
    a = rope.attention_factor
    return (turned.cos() * a).to(dtype), (turned.sin() * a).to(dtype)


def rotate(
    x: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    pairing: str,
    direction: str,
    layout: str,
    rotary_offset: int = 0,
) -> torch.Tensor:
    """x turned by rows of [tokens, pairs] or [batch, tokens, pairs]."""
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    heads_axis = {"bhtd": -3, "bthd": -2, "thd": -2}[layout]
    c, s = cos.to(wide).unsqueeze(heads_axis), sin.to(wide).unsqueeze(heads_axis)
    if layout == "thd" and c.ndim == 4:
        c, s = c[0], s[0]
    if direction in ("inverse", "gradient"):
        s = -s
    if direction.startswith("inverse"):
        square = c * c + s * s
        c, s = c / square, s / square
    pairs = cos.shape[-1]
    end = rotary_offset + 2 * pairs
    window = x[..., rotary_offset:end].to(wide)
    back = pairing == "interleaved_to_half" and direction in ("inverse", "gradient")
    if pairing == "half_split" or back:
        a, b = window[..., :pairs], window[..., pairs:]
    else:
        a, b = window[..., 0::2], window[..., 1::2]
    first, second = a * c - b * s, b * c + a * s
    if pairing == "interleaved" or back:
        turned = torch.stack((first, second), dim=-1).flatten(-2)
    else:
        turned = torch.cat((first, second), dim=-1)
    turned = turned.to(x.dtype)
    if rotary_offset == 0 and end == x.shape[-1]:
        return turned
    return torch.cat((x[..., :rotary_offset], turned, x[..., end:]), dim=-1)


def half_of(table: torch.Tensor, pairing: str) -> torch.Tensor:
    """One number a pair, of a table with one a lane."""
    return table[..., 0::2] if pairing == "interleaved" else table[..., : table.shape[-1] // 2]


def rotate_by_rows(
    q: torch.Tensor,
    k: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    lanes: bool,
    pairing: str,
    direction: str,
    layout: str,
) -> tuple[torch.Tensor, torch.Tensor]:
    """q and k turned by rows of one number a pair, or (lanes) one a lane."""
    if lanes:
        cos, sin = half_of(cos, pairing), half_of(sin, pairing)
    return rotate(q, cos, sin, pairing, direction, layout), rotate(k, cos, sin, pairing, direction, layout)


def rotate_by_rope(
    rope: Rope, q: torch.Tensor, k: torch.Tensor | None, cos: torch.Tensor, sin: torch.Tensor, layout: str
) -> Any:
    """q, or q and k, turned by rows of this rope."""
    turned = tuple(
        rotate(x, cos, sin, rope.pairing, rope.direction, layout, rope.rotary_offset) for x in (q, k) if x is not None
    )
    return turned[0] if k is None else turned
