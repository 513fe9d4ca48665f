# SPDX-License-Identifier: Apache-2.0
"""Modules. Their frequencies are doubles inside an immutable Rope, not buffers: no cast, no move and no deferred
initialisation reaches them, and a state dict does not hold them."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from .._core import Model, Rope
from .._types import ConfigLike
from . import _pure
from ._functions import Turned
from ._ops import described, rows_elsewhere, tables, to_onnx

#: What others have saved beside the weights, and what a rope computes from its description.
OLD_BUFFERS = ("inv_freq", "original_inv_freq", "cos_cached", "sin_cached", "freqs_cis", "embed_positions")

#: Words of config.json's layer_types, and what the library calls their rope where there are several.
ROPE_OF = {"sliding_attention": "local", "full_attention": "global"}
LAYER_TYPES = (*ROPE_OF, *ROPE_OF.values(), "chunked_attention")


class RotaryEmbedding(nn.Module):
    """cos and sin of position_ids, with the signature of Transformers' modules.

    config: a Rope, or what Model.from_config takes; layer_type chooses among several ropes by the name that config.json
    gives it (sliding_attention, full_attention) or the library does (local, global). angles: exact (the default of a
    config), or fp32 for Transformers' own numbers; length: tokens, for types whose frequencies depend on it. A Rope has
    both already. device is not needed: there is nothing to place."""

    def __init__(
        self,
        config: Rope | ConfigLike,
        device: Any = None,
        *,
        layer_type: str | None = None,
        angles: str | None = None,
        length: int | None = None,
    ) -> None:
        super().__init__()
        self.layer_type = layer_type
        if isinstance(config, Rope):
            if angles not in (None, config.policy):
                raise ValueError(f"angles {angles!r}: this rope's are {config.policy!r}, expected the same or None")
            if length is not None:
                raise ValueError(f"length {length!r}: this rope has its frequencies already, expected None")
            self.ropes = {config.name: config}
        else:
            ropes = Model.from_config(config, angles="exact" if angles is None else angles, length=length).ropes
            self.ropes = {rope.name: rope for rope in ropes if rope.of_layers or len(ropes) == 1}
        if layer_type is not None:
            self.rope_of(layer_type)

    def rope_of(self, layer_type: str | None) -> Rope:
        """ValueError: none of that name. The one rope of a config that names none serves every layer type."""
        asked = self.layer_type if layer_type is None else layer_type
        if asked is None and len(self.ropes) == 1:
            return next(iter(self.ropes.values()))
        name = ROPE_OF.get(asked or "", asked or "")
        if name not in self.ropes and asked in LAYER_TYPES and list(self.ropes) == ["default"]:
            name = "default"
        if name not in self.ropes:
            raise ValueError(f"layer_type {asked!r}: the ropes are {', '.join(self.ropes)}")
        return self.ropes[name]

    @torch.no_grad()
    def forward(
        self, x: torch.Tensor, position_ids: torch.Tensor, layer_type: str | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """x gives the type and the device. position_ids: [batch, tokens], or [axes, batch, tokens]. Returns two tensors
        [batch, tokens, rotary_dim], in halves, A included."""
        rope = self.rope_of(layer_type)
        plain = type(position_ids) is torch.Tensor and position_ids.device.type == x.device.type == "cpu"
        if torch.compiler.is_compiling() or not plain:
            at = position_ids.to(x.device)
            if to_onnx():
                return rows_elsewhere(rope, at, x.dtype)
            cos, sin = torch.ops.rotary.rows(at, described(rope)[0], x.dtype)
            return cos, sin
        angles = rope.angles(position_ids)
        with torch.inference_mode(False):  # so that writing into the tables is noticed
            cos, sin = tables(angles, x.dtype, "halves")
            Turned(rope, angles, cos, sin)
        return cos, sin

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        """Old buffers are accepted, and not used."""
        for name in [n for n in state_dict if n.startswith(prefix) and n[len(prefix) :].endswith(OLD_BUFFERS)]:
            del state_dict[name]
        super()._load_from_state_dict(state_dict, prefix, *args)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}: {rope!r}" for name, rope in self.ropes.items())


class LearnedRotary(nn.Module):
    """Frequencies that are trained: a parameter inv_freq, in float32 whatever the module is cast to, with gradients to
    it and to fractional positions. Everything in PyTorch's own operations.

    rope: where the frequencies begin, and everything but them. ValueError: a rope with xPos, or of a table."""

    def __init__(self, rope: Rope) -> None:
        super().__init__()
        if rope.xpos is not None:
            raise ValueError(f"rope: {rope.xpos}, expected a rope without xPos: its stretch is not computed here")
        if rope.policy == "table":
            raise ValueError("rope: of a table, expected one with frequencies to begin with")
        self.rope = rope
        self.inv_freq = nn.Parameter(torch.from_numpy(rope.inv_freq).float())
        self.axis = torch.from_numpy(rope.axis.astype("int64")) if rope.axes > 1 else None

    def _apply(self, fn: Any, recurse: bool = True) -> LearnedRotary:
        """Moves the parameter, and never casts it."""
        kept = self.inv_freq.detach()
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if self.inv_freq.dtype != torch.float32 and self.inv_freq.device.type != "meta":
            self.inv_freq.data = kept.to(self.inv_freq.device)
        return self

    def forward(
        self, q: torch.Tensor, k: torch.Tensor | None = None, *, positions: torch.Tensor, layout: str = "bhtd"
    ) -> Any:
        """q, or q and k, turned."""
        if self.axis is not None and self.axis.device != q.device:
            self.axis = self.axis.to(q.device)
        with torch.autocast(q.device.type, enabled=False):
            angle = _pure.angles(self.inv_freq.float(), self.axis, positions)
            cos, sin = angle.cos() * self.rope.attention_factor, angle.sin() * self.rope.attention_factor
            return _pure.rotate_by_rope(self.rope, q, k, cos, sin, layout)
