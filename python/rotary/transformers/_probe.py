# SPDX-License-Identifier: Apache-2.0
"""What a model's own functions do, found out by calling them on small numbers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import nn

from .._core import Angles, Rope
from ..torch import _pure
from ..torch._ops import tables

PAIRS, TOKENS, BATCH, HEADS = 4, 3, 2, 2
PAIRINGS = ("half_split", "interleaved", "interleaved_to_half")
NEAR = 1e-6


class Rotation(NamedTuple):
    """A function that turns by tables of cos and sin."""

    operands: int  #: 2: (q, k, cos, sin, ...), 1: (x, cos, sin, ...)
    sin_first: bool
    complex: bool  #: one complex table in place of the two
    form: str  #: how a row repeats its numbers: halves, first_half, neighbours, pairs
    pairing: str
    direction: str
    layout: str  #: of the default unsqueeze_dim
    unsqueeze_dim: bool  #: takes that argument
    keeps_type: bool  #: gives back the operand's type where the tables are wider
    without_batch: bool  #: takes [tokens, heads, head_dim] with tables of [tokens, width] too


FORMS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "first_half": lambda x: torch.cat((x, torch.full_like(x, 7.0)), dim=-1),  # whatever stands in the second half
    "halves": lambda x: torch.cat((x, x), dim=-1),
    "neighbours": lambda x: x.repeat_interleave(2, dim=-1),
    "pairs": lambda x: x,
}


def _numbers(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape)))


def _call(function: Callable[..., Any], *args: Any) -> Any:
    try:
        with torch.no_grad():
            return function(*args)
    except Exception:  # whatever a function of somebody else says about arguments that it does not expect
        return None


def _turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, layout: str) -> dict[tuple[str, str], torch.Tensor]:
    return {
        (pairing, direction): _pure.rotate(x, cos, sin, pairing, direction, layout)
        for pairing in PAIRINGS
        for direction in ("forward", "gradient")
    }


def _agrees(got: Any, want: torch.Tensor) -> bool:
    return isinstance(got, torch.Tensor) and got.shape == want.shape and bool((got - want).abs().max() < NEAR)


def probe_rotation(function: Callable[..., Any]) -> Rotation | str:
    """What it does, or why the library does not do it."""
    unknown = "none of the library's conventions gives its numbers"
    names = list(inspect.signature(function).parameters)
    complex_table = len(names) >= 3 and names[2].startswith("freqs")
    operands = 2 if complex_table or names[2:4] == ["cos", "sin"] else 1
    tables = names[operands : operands + 2]
    if not complex_table and sorted(tables) != ["cos", "sin"]:
        return unknown
    sin_first = tables[0] == "sin"
    angle = _numbers(BATCH, TOKENS, PAIRS)
    cos, sin = angle.cos(), angle.sin()
    for layout, shape in (("bhtd", (BATCH, HEADS, TOKENS)), ("bthd", (BATCH, TOKENS, HEADS))):
        xs = [_numbers(*shape, 2 * PAIRS) * (i + 1) for i in range(operands)]
        want = [_turned(x, cos, sin, layout) for x in xs]
        for form in ("pairs",) if complex_table else FORMS:
            c, s = FORMS[form](cos), FORMS[form](sin)
            given = (torch.complex(cos, sin),) if complex_table else (s, c) if sin_first else (c, s)
            got = _call(function, *xs, *given)
            got = list(got) if isinstance(got, tuple) else [got]
            if len(got) != operands:
                continue
            for pairing, direction in want[0]:
                if all(_agrees(g, w[pairing, direction]) for g, w in zip(got, want, strict=True)):
                    if not _turns_first_lanes(function, xs, given, cos, sin, (pairing, direction, layout)):
                        return "of a head wider than its tables it turns other lanes than the first"
                    half = [x.bfloat16() for x in xs]
                    narrow = _call(function, *half, *given)
                    first = narrow[0] if isinstance(narrow, tuple) else narrow
                    keeps = isinstance(first, torch.Tensor) and first.dtype == torch.bfloat16
                    found = Rotation(
                        operands, sin_first, complex_table, form, pairing, direction, layout, "unsqueeze_dim" in names, keeps, False
                    )
                    return found._replace(without_batch=_without_batch(function, found, cos[0], sin[0], given))
    return unknown


def _turns_first_lanes(
    function: Callable[..., Any],
    xs: list[torch.Tensor],
    given: tuple[torch.Tensor, ...],
    cos: torch.Tensor,
    sin: torch.Tensor,
    how: tuple[str, str, str],
) -> bool:
    """Of a head wider than the tables; true as well where the function takes none."""
    wide = [torch.cat((x, x[..., :PAIRS] + 9.0), dim=-1) for x in xs]
    got = _call(function, *wide, *given)
    if got is None:
        return True
    got = list(got) if isinstance(got, tuple) else [got]
    return len(got) == len(xs) and all(_agrees(g, _pure.rotate(x, cos, sin, *how)) for g, x in zip(got, wide, strict=True))


def _without_batch(
    function: Callable[..., Any], r: Rotation, cos: torch.Tensor, sin: torch.Tensor, given: tuple[torch.Tensor, ...]
) -> bool:
    """As the attention of image encoders calls it."""
    xs = [_numbers(TOKENS, HEADS + i, 2 * PAIRS) for i in range(r.operands)]
    got = _call(function, *xs, *(table[0] for table in given))
    want = [_pure.rotate(x, cos, sin, r.pairing, r.direction, "thd") for x in xs]
    return len(xs) == 1 and _agrees(got, want[0]) or (
        isinstance(got, tuple) and len(got) == len(want) and all(_agrees(g, w) for g, w in zip(got, want, strict=True))
    )


class Embedding(NamedTuple):
    """A module that makes tables, and the rope of the library that makes the same."""

    rope: Rope
    form: str
    sin_first: bool
    complex: bool
    keeps_type: bool  #: tables have the type of x


def as_tables(angles: Angles, embedding: Embedding, dtype: torch.dtype) -> Any:
    """The module's own tables, from the library's angles: (cos, sin) or (sin, cos), or one complex table."""
    held = dtype if embedding.keeps_type or dtype == torch.float64 else torch.float32
    if embedding.complex:
        return torch.complex(*tables(angles, torch.float64 if dtype == torch.float64 else torch.float32))
    cos, sin = tables(angles, held, embedding.form)
    return (sin, cos) if embedding.sin_first else (cos, sin)


def probe_embedding(forward: Callable[..., Any], ropes: list[Rope], extra: tuple[Any, ...]) -> Embedding | str:
    """The rope among `ropes` that makes the tables of forward(x, position_ids, *extra), or why there is none."""
    x = torch.zeros(1, 1, 1)
    ids = torch.tensor([[0, 1, 7, 60], [2, 5, 33, 100]])  # within the shortest table
    why = "its tables are not those of a rope of the model's config"
    for rope in ropes:
        at = ids if rope.axes == 1 else torch.stack([ids * (a + 1) % 101 for a in range(rope.axes)])
        got = _call(forward, x, at, *extra)
        if got is None:
            why = "it does not take (x, position_ids)"
            continue
        want = rope.angles(at)
        for form in ("halves", "neighbours", "pairs"):
            for sin_first in (False, True):
                candidate = Embedding(rope, form, sin_first, isinstance(got, torch.Tensor), True)
                made = as_tables(want, candidate, torch.float32)
                pairs = [(got, made)] if candidate.complex else list(zip(got, made, strict=False))
                if all(isinstance(g, torch.Tensor) and g.shape == m.shape for g, m in pairs) and all(
                    bool((g - m).abs().max() < 4e-5) for g, m in pairs
                ):
                    narrow = _call(forward, x.bfloat16(), at, *extra)
                    first = narrow[0] if isinstance(narrow, tuple) else narrow
                    return candidate._replace(keeps_type=first.dtype == torch.bfloat16)
    return why


def probe_cast(
    module: nn.Module, forward: Callable[..., Any], ropes: list[Rope], extra: tuple[Any, ...]
) -> tuple[Embedding, torch.dtype] | None:
    """For a module whose frequencies a cast to 16 bits has rounded: what it makes with the unrounded ones of the rope
    that they were, and what they were cast to."""
    name = "_".join((*extra, "inv_freq"))
    held = getattr(module, name, None)
    if not isinstance(held, torch.Tensor) or held.dtype not in (torch.bfloat16, torch.float16) or held.device.type != "cpu":
        return None
    step = torch.finfo(held.dtype)
    for rope in ropes:
        whole = torch.from_numpy(rope.inv_freq_fp32)
        if held.shape != whole.shape or not torch.allclose(held.float(), whole, rtol=step.eps, atol=step.tiny * step.eps):
            continue
        setattr(module, name, whole)
        try:
            found = probe_embedding(forward, [rope], extra)
        finally:
            setattr(module, name, held)
        if isinstance(found, Embedding):
            return found, held.dtype
    return None
