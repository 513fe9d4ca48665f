# SPDX-License-Identifier: Apache-2.0
"""Plain data that the module hands out, and the names of what it takes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

if TYPE_CHECKING:
    from ._core import Positions

ArrayT = TypeVar("ArrayT")
#: A path, a preset's name, a dict as in a config.json, or an object with to_dict().
ConfigLike: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any] | Any"
#: A Positions, an int (the first position), a range, an array or a nested list.
PositionsLike: TypeAlias = "Positions | int | range | Sequence[Any] | Any"


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


class ConfigWarning(UserWarning):
    """Something in a model's description is doubtful; the message says what."""
