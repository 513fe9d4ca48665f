# SPDX-License-Identifier: Apache-2.0
"""Functions under the names and with the arguments that people know."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, TypeAlias

import torch

from .._core import Angles, Rope
from . import _pure
from ._ops import to_onnx

#: Ropes by the width of the head around them, its pairing and its direction.
Heads: TypeAlias = "dict[tuple[int, str, str], Rope]"


class Turned:
    """What a table of cos and a table of sin were made from: it goes with them, so that the rotation takes the rows
    themselves, and not what the activations' type has left of them."""

    def __init__(self, rope: Rope, angles: Angles, cos: torch.Tensor, sin: torch.Tensor, heads: Heads | None = None) -> None:
        self.rope, self.angles = rope, angles
        self.heads: Heads = {} if heads is None else heads
        self.versions = cos._version, sin._version
        cos.rotary_cos_of = sin.rotary_sin_of = self  # type: ignore[attr-defined]

    def made(self, cos: torch.Tensor, sin: torch.Tensor) -> bool:
        """These are the two, and nobody has written into them since."""
        return getattr(sin, "rotary_sin_of", None) is self and self.versions == (cos._version, sin._version)

    def __reduce__(self) -> Any:
        """A copy of a table, pickled or deep, is a table like any other; torch.load(weights_only=True) takes the type."""
        return OrderedDict, ()

    def head(self, width: int, pairing: str, direction: str = "forward") -> Rope:
        """The rope around a head of that width. ValueError where it leaves the head."""
        key = (width, pairing, direction)
        rope = self.heads.get(key)
        if rope is None:
            rope = self.rope.replace(head_dim=width, rotary_offset=0, pairing=pairing, direction=direction)
            self.heads[key] = rope
        return rope


def turned_of(cos: torch.Tensor, sin: torch.Tensor) -> Turned | None:
    turned = getattr(cos, "rotary_cos_of", None)
    return turned if isinstance(turned, Turned) and turned.made(cos, sin) else None


def wants_gradient(*tensors: torch.Tensor) -> bool:
    return torch.is_grad_enabled() and any(x.requires_grad for x in tensors)


def rotate_by_rows(
    q: torch.Tensor,
    k: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    *,
    lanes: bool,
    pairing: str,
    direction: str = "forward",
    layout: str = "bhtd",
) -> tuple[torch.Tensor, torch.Tensor]:
    """By rows of [tokens, width] or [batch, tokens, width]; cos and sin may need a gradient."""
    doubles = q.dtype == cos.dtype == torch.float64  # the operator holds rows in f32
    if doubles or wants_gradient(cos, sin) or to_onnx() or _pure.transformed():
        return _pure.rotate_by_rows(q, k, cos, sin, lanes, pairing, direction, layout)
    turned: tuple[torch.Tensor, torch.Tensor] = torch.ops.rotary.rotate_by_rows(
        q, k, cos, sin, lanes, pairing, direction, layout
    )
    return turned


def apply_rotary_pos_emb(
    q: torch.Tensor,
    k: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    unsqueeze_dim: int = 1,
    *,
    pairing: str = "half_split",
) -> tuple[torch.Tensor, torch.Tensor]:
    """As in Transformers: q and k [batch, heads, tokens, head_dim] (unsqueeze_dim 2: [batch, tokens, heads, head_dim]),
    cos and sin [batch, tokens, rotary_dim], in halves. Lanes past rotary_dim stay as they are. Where the two halves of a
    table differ, each lane of half_split takes its own number, as published; a compiled call takes the first half, and so
    do the other pairings."""
    layout = {1: "bhtd", 2: "bthd"}.get(unsqueeze_dim)
    if layout is None:
        raise ValueError(f"unsqueeze_dim {unsqueeze_dim}: expected 1 (heads before tokens) or 2")
    if _pure.eager() and not wants_gradient(q, k):
        turned = turned_of(cos, sin)
        if turned is not None:
            q_turned, k_turned = turned.head(q.shape[-1], pairing)._turned(turned.angles, layout, q, k)
            return q_turned, k_turned
    if pairing == "half_split" and _needs_each_lane(cos, sin):
        return _lane_by_lane(q, cos, sin, unsqueeze_dim), _lane_by_lane(k, cos, sin, unsqueeze_dim)
    half = cos.shape[-1] // 2
    return rotate_by_rows(q, k, cos[..., :half], sin[..., :half], lanes=False, pairing=pairing, layout=layout)


def _needs_each_lane(cos: torch.Tensor, sin: torch.Tensor) -> bool:
    """Whether the two halves differ, or may: a gradient goes to each lane, to ask another device is to wait for it, and
    what a transform maps has no answer."""
    if torch.compiler.is_compiling():
        return False
    if cos.device.type != "cpu" or type(cos) is not torch.Tensor or wants_gradient(cos, sin) or _pure.transformed():
        return True
    half = cos.shape[-1] // 2
    return not (torch.equal(cos[..., :half], cos[..., half:]) and torch.equal(sin[..., :half], sin[..., half:]))


def _lane_by_lane(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, unsqueeze_dim: int) -> torch.Tensor:
    """x cos + rotate_half(x) sin, each lane with its own number."""
    width, wide = cos.shape[-1], torch.promote_types(x.dtype, torch.float32)
    window, c, s = x[..., :width].to(wide), cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
    half = torch.cat((-window[..., width // 2 :], window[..., : width // 2]), dim=-1)
    turned = (window * c + half * s).to(x.dtype)
    return turned if width == x.shape[-1] else torch.cat((turned, x[..., width:]), dim=-1)


def precompute_freqs_cis(dim: int, end: int, theta: float = 10000.0) -> torch.Tensor:
    """As LLaMA was published: [end, dim / 2], complex64, from exact angles."""
    angles = Rope(dim, base=theta).angles(range(end))
    return torch.complex(torch.from_numpy(angles.cos()[0]), torch.from_numpy(angles.sin()[0]))


def cos_sin_of(freqs_cis: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The real tables of a complex one: what exporters without complex numbers take."""
    return freqs_cis.real.contiguous(), freqs_cis.imag.contiguous()


def apply_rotary_emb(
    xq: torch.Tensor, xk: torch.Tensor, freqs_cis: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """As LLaMA was published: xq and xk [batch, tokens, heads, head_dim], adjacent lanes; freqs_cis [tokens, head_dim /
    2], or [batch, tokens, head_dim / 2], complex. Computed in real numbers, in f32, and rounded once."""
    cos, sin = torch.view_as_real(freqs_cis).unbind(-1)
    return rotate_by_rows(xq, xk, cos, sin, lanes=False, pairing="interleaved", layout="bthd")
