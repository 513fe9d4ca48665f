# SPDX-License-Identifier: Apache-2.0
"""Plain data that the module hands out, and the names of what it takes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

if TYPE_CHECKING:
    from ._core import Positions, Rope

ArrayT = TypeVar("ArrayT")
#: A path, a preset's name, a dict as in a config.json, or an object with to_dict().
ConfigLike: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any] | Any"
#: A Positions, an int (the first position), a range, an array or a nested list.
PositionsLike: TypeAlias = "Positions | int | range | Sequence[Any] | Any"

#: Runs of tokens.
Segments: TypeAlias = Sequence[range]


class Preset(NamedTuple):
    """A model that the library knows by name."""

    name: str
    description: str
    source: str  #: where the numbers come from
    config: str  #: its rope description, as the text of a config.json


class Value(NamedTuple):
    """One number of a model, and where it came from."""

    rope: str  #: the rope's name
    key: str  #: the library's word: base, rotary_dim, pairing, factor, ...
    value: bool | int | float | str | list[float]
    source: str  #: a key of the file, "default of gemma3", "derived: ..."
    assumed: bool  #: nobody stated it


class Kernel(NamedTuple):
    """One rotation kernel of this build."""

    name: str
    description: str
    accepted: bool
    reason: str  #: why it was passed over, or empty


class PeerRope(NamedTuple):
    """A rope of a model as another system computes it."""

    peer: str
    rope: Rope | None  #: None where it cannot
    error: str | None  #: why it cannot
    reasons: list[str]  #: what it does otherwise, where that changed a number
    length_rule: str | None  #: by_sequence, by_batch, by_maximum, where the frequencies depend on the length
    length_words: str  #: the same in a sentence


class PeerDifference(NamedTuple):
    """How far two ropes are apart."""

    attention_factor: float  #: theirs over ours; a score goes by its square
    softmax_factor: float  #: theirs over ours
    pairs: int  #: that turn by another frequency, or by another axis
    worst_pair: int  #: the one whose angle is furthest off
    angle: float  #: theirs less ours at that pair, radians


class Xpos(NamedTuple):
    """xPos: rows that grow with the position for queries, and shrink for keys, which have a rope each. Source: Sun et al.
    2022, arXiv:2212.10554."""

    scale_base: float = 512.0  #: positions; > 0
    centre: float = 0.0  #: the position whose rows are not stretched; fixed, so that cached keys stay right
    gamma: float = 0.4  #: > 0
    keys: bool = False  #: the reciprocal, for keys

    @classmethod
    def moving(cls, tokens: int, scale_base: float = 512.0, *, keys: bool = False) -> Xpos:
        """The centre of flash-attn and lucidrains: half of the tokens that a call has, so it moves when they grow."""
        return cls(scale_base, tokens // 2, keys=keys)


class DualChunk(NamedTuple):
    """Positions of dual chunk attention: a query is turned five times."""

    keys: Positions  #: of the keys, and of queries for keys of their own chunk
    successor: Positions  #: of queries for keys of the chunk before
    inter: Positions  #: of queries for keys of earlier chunks
    successor_critical: Positions  #: as successor, without the bound
    inter_critical: Positions  #: as inter, by position


class ConfigWarning(UserWarning):
    """Something in a model's description is doubtful; the message says what."""
