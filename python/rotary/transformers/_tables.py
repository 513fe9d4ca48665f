# SPDX-License-Identifier: Apache-2.0
"""What accelerate() reports, and what goes with the tables of an accelerated model's modules."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from .._core import Angles, Rope, _Kept, _rows_as_rope
from ..torch._functions import Heads, Turned, turned_of
from ._probe import Embedding, Rotation


class Line(NamedTuple):
    what: str
    how: str  #: what stands there now, or why nothing does


class Report:
    """What was replaced, what was left alone and why; and how often the replacement was called."""

    def __init__(self) -> None:
        self.replaced: list[Line] = []
        self.left: list[Line] = []
        self.calls = 0  #: rotations by the library
        self.passed = 0  #: calls that went to the model's own function after all

    def __repr__(self) -> str:
        lines = [f"replaced  {what}: {how}" for what, how in self.replaced]
        return "\n".join(lines + [f"left      {what}: {why}" for what, why in self.left])


def cos_and_sin(tables: Sequence[torch.Tensor], is_complex: bool, sin_first: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """A complex table is both."""
    return (tables[0], tables[0]) if is_complex else (tables[sin_first], tables[not sin_first])


class Tables:
    """Beside the tables of one call of a module: whose they are, and what turns by them."""

    def __init__(self, report: Report, tables: list[torch.Tensor]) -> None:
        self.report = report
        self.versions = [table._version for table in tables]
        self.rows: dict[tuple[Rotation, int, tuple[int, ...]], tuple[Rope, Angles]] = {}
        self.kept: dict[Any, _Kept] = {}  #: the last call of each function
        for at, table in enumerate(tables):
            table.rotary_tables, table.rotary_at = self, at  # type: ignore[attr-defined]

    def __reduce__(self) -> Any:
        return OrderedDict, ()  # as Turned: a copy of a table belongs to nobody

    def order(self, tables: tuple[torch.Tensor, ...]) -> tuple[int, ...] | None:
        """Which of the module's tables these are; None where one is not, or somebody has written into it since."""
        order = tuple(getattr(t, "rotary_at", -1) for t in tables if getattr(t, "rotary_tables", None) is self)
        return order if len(order) == len(tables) and all(
            self.versions[at] == t._version for at, t in zip(order, tables, strict=True)
        ) else None

    def turn_by(self, r: Rotation, width: int, tables: tuple[torch.Tensor, ...]) -> tuple[Rope, Angles]:
        """By the numbers in the tables; read once for all layers. ValueError: lanes of a pair that differ."""
        order = self.order(tables)
        found = None if order is None else self.rows.get((r, width, order))
        if found is None:
            cos, sin = torch.view_as_real(tables[0]).unbind(-1) if r.complex else tables[::-1] if r.sin_first else tables
            if r.form == "first_half":
                cos, sin = cos[..., : cos.shape[-1] // 2], sin[..., : sin.shape[-1] // 2]
            lanes = r.form in ("halves", "neighbours")
            found = _rows_as_rope(cos.detach(), sin.detach(), lanes, r.pairing, r.direction, width)
            if order is not None:
                self.rows[r, width, order] = found
        return found


class MadeTables(Tables):
    """Of a module whose tables the library makes."""

    def __init__(
        self, report: Report, tables: list[torch.Tensor], embedding: Embedding, angles: Angles, heads: Heads
    ) -> None:
        super().__init__(report, tables)
        cos, sin = cos_and_sin(tables, embedding.complex, embedding.sin_first)
        self.turned = Turned(embedding.rope, angles, cos, sin, heads)

    def turn_by(self, r: Rotation, width: int, tables: tuple[torch.Tensor, ...]) -> tuple[Rope, Angles]:
        """By the angles themselves, where the tables are those that were made of them."""
        if turned_of(*cos_and_sin(tables, r.complex, r.sin_first)) is self.turned:
            return self.turned.head(width, r.pairing, r.direction), self.turned.angles
        return super().turn_by(r, width, tables)
