# SPDX-License-Identifier: Apache-2.0
"""What the command `rotary` prints, as Python objects: explain and table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from ._core import Model, Rope
from ._types import ConfigLike, PositionsLike

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray


class Explanation(dict[str, Any]):
    """The report of `rotary explain`: a dict of the schema rotary.explain/1 that prints in plain words."""

    def __init__(self, model: Model, peer: str | None = None) -> None:
        data, self.text = model._explain(peer)
        super().__init__(json.loads(data))

    def __repr__(self) -> str:
        return self.text

    __str__ = __repr__


def explain(
    model: Model | Rope | ConfigLike, *, peer: str | None = None, length: int | None = None, angles: str = "exact"
) -> Explanation:
    """What a model says about its rope: which ropes on which layers, pairing, scaling, wavelengths, where each value
    came from, what is doubtful, and which other systems compute other numbers.

    model: a Model, a Rope, or what Model.from_config takes; length and angles are for the latter. peer: show the
    numbers of transformers, llama.cpp, vllm, sglang or mlx instead."""
    if isinstance(model, Rope):
        model = Model.from_rope(model)
    elif not isinstance(model, Model):
        model = Model.from_config(model, length=length, angles=angles)
    return Explanation(model, peer)


class Table(NamedTuple):
    """cos and sin as the rotation uses them, A included."""

    cos: NDArray[float32]  #: [tokens, pairs]
    sin: NDArray[float32]  #: [tokens, pairs]
    rope: Rope

    def __repr__(self) -> str:
        tokens, pairs = self.cos.shape
        return (
            f"cos and sin, [{tokens}, {pairs}] f32, rope \"{self.rope.name}\", angles {self.rope.policy}, "
            f"A = {self.rope.attention_factor:.9g} included"
        )


def table(
    rope: Model | Rope | ConfigLike,
    positions: PositionsLike,
    tokens: int = 1,
    *,
    layer: int | None = None,
    name: str | None = None,
    angles: str = "exact",
) -> Table:
    """cos and sin of one row of positions, as `rotary table` writes them.

    rope: a Rope, a Model, or what Model.from_config takes; layer or name choose among several ropes. positions and
    tokens: as in Rope.angles. ValueError: positions of several rows."""
    if not isinstance(rope, Rope):
        model = rope if isinstance(rope, Model) else Model.from_config(rope, angles=angles)
        rope = model.rope(layer=layer, name=name)
    made = rope.angles(positions, tokens, held=False)
    if made.batch != 1:
        raise ValueError(f"positions: {made.batch} rows; a table is made of one")
    return Table(made.cos()[0], made.sin()[0], rope)
