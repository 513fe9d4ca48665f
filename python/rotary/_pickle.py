# SPDX-License-Identifier: Apache-2.0
"""How a Rope, an RmsNorm and an Operand go into a pickle: as the arguments that make one equal to it."""

from __future__ import annotations

from typing import Any

from ._core import Operand, RmsNorm, Rope


def _made(arguments: dict[str, Any]) -> Rope:
    return Rope(**arguments)


def _made_norm(weight: Any, epsilon: float, one_plus_weight: bool) -> RmsNorm:
    return RmsNorm(weight, epsilon, one_plus_weight=one_plus_weight)


def reduce_norm(norm: RmsNorm) -> tuple[Any, tuple[Any, float, bool]]:
    return _made_norm, (norm.weight, norm.epsilon, norm.one_plus_weight)


def _made_operand(x: Any, out: Any, norm: RmsNorm | None, scale: Any, overflow: str) -> Operand:
    return Operand(x, out, norm=norm, scale=scale, overflow=overflow)


def reduce_operand(operand: Operand) -> tuple[Any, tuple[Any, ...]]:
    return _made_operand, (operand.x, operand.out, operand.norm, operand.scale, operand.overflow)


def reduce(rope: Rope) -> tuple[Any, tuple[dict[str, Any]]]:
    shared = {
        "head_dim": rope.head_dim,
        "rotary_offset": rope.rotary_offset,
        "pairing": rope.pairing,
        "direction": rope.direction,
        "angles": rope.policy,
        "axis": rope.axis.tolist(),
        "xpos": rope.xpos,
    }
    named = {"base": rope.base, "scaling": rope.scaling, "rotary_dim": rope.rotary_dim}
    own = {"inv_freq": rope.inv_freq.tolist(), "attention_factor": rope.attention_factor}
    parts = [{"parts": rope.parts, "axis_order": order} for order in ("contiguous", "round_robin", "interleaved")]
    known: list[dict[str, Any]] = parts if rope.parts else [named] if rope.base is not None else []
    for numbers in (*known, own):
        try:
            if Rope(**shared, **numbers) == rope:
                return _made, (shared | numbers,)
        except ValueError:
            continue
    raise TypeError("this rope cannot be pickled: no arguments make its equal; keep the config it came from")
