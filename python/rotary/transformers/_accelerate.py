# SPDX-License-Identifier: Apache-2.0
"""Which functions and modules of a loaded model are replaced, and how they are put back."""

from __future__ import annotations

import functools
import re
import sys
import types
import weakref
from typing import Any, NamedTuple

import torch
from torch import nn

from .._core import Angles, Model, Rope, _rotate_by_rows
from ..torch._functions import Turned, wants_gradient
from ..torch._ops import plain
from ._probe import Embedding, Rotation, as_tables, probe_embedding, probe_rotation

FUNCTION = re.compile(r"apply_\w*(rotary|rope)\w*")
MODULE = re.compile(r"rotary|rope", re.IGNORECASE)
LENGTH_TYPES = ("dynamic", "longrope")


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


class Tables(Turned):
    """Beside a table: what made it, and for which model. Without a rope it only says whose it is."""

    def __init__(
        self,
        report: Report,
        rope: Rope | None,
        angles: Angles | None,
        heads: dict[tuple[str, int, str, str], Rope],
        *tables: torch.Tensor,
    ) -> None:
        self.report, self.kept, self.turned_by, self.heads = report, angles, rope, heads
        self.written = [(weakref.ref(table), table._version) for table in tables if rope is not None]

    def head(self, rope: Rope, width: int, pairing: str, direction: str) -> Rope:
        """The rope around a head of that width; `heads` lives as long as the module."""
        key = (rope.name, width, pairing, direction)
        if key not in self.heads:
            self.heads[key] = rope.replace(head_dim=width, rotary_offset=0, pairing=pairing, direction=direction)
        return self.heads[key]

    def made(self, *tables: torch.Tensor) -> bool:
        return len(tables) == len(self.written) and all(
            any(ref() is table and version == table._version for ref, version in self.written) for table in tables
        )


class _Turn(torch.autograd.Function):
    """By kept angles, with the transpose as its gradient."""

    @staticmethod
    def forward(ctx: Any, rope: Rope, angles: Angles, layout: str, *xs: torch.Tensor) -> Any:
        ctx.rope, ctx.angles, ctx.layout = rope, angles, layout
        turned = rope.rotate(*(x.detach() for x in xs), angles=angles, layout=layout)
        return turned

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        back = _Turn.apply(ctx.rope.gradient, ctx.angles, ctx.layout, *grads)
        return (None, None, None, *(back if isinstance(back, tuple) else (back,)))


class Function:
    """What stands in a modeling file in place of one of its functions. Tables of models that are not accelerated go to
    the model's own function."""

    def __init__(self, module: types.ModuleType, name: str, rotation: Rotation) -> None:
        self.module, self.name, self.rotation = module, name, rotation
        self.own = getattr(module, name)
        self.users: weakref.WeakSet[nn.Module] = weakref.WeakSet()
        functools.update_wrapper(self, self.own)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not torch.compiler.is_compiling():
            operands = self.rotation.operands
            tables = args[operands : operands + (1 if self.rotation.complex else 2)]
            mark = getattr(tables[0], "rotary_tables", None) if tables else None
            if mark is not None:
                turned = self._turn(mark, args[:operands], tables, args[operands + len(tables) :], kwargs)
                if turned is not None:
                    mark.report.calls += 1
                    return turned
                mark.report.passed += 1
        return self.own(*args, **kwargs)

    def _layout(self, rest: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        if not self.rotation.unsqueeze_dim:
            return None if rest or kwargs else self.rotation.layout
        if set(kwargs) - {"unsqueeze_dim"} or len(rest) > 1 or (rest and kwargs):
            return None
        asked = rest[0] if rest else kwargs.get("unsqueeze_dim", 1)
        return {1: "bhtd", 2: "bthd"}.get(asked)

    def _turn(
        self, mark: Tables, xs: tuple[Any, ...], tables: tuple[Any, ...], rest: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """None where this call is not what was found out about the function."""
        r, layout = self.rotation, self._layout(rest, kwargs)
        if layout is None or not all(isinstance(x, torch.Tensor) and x.ndim == 4 and x.device.type == "cpu" for x in xs):
            return None
        dtype = xs[0].dtype
        if not r.keeps_type and torch.promote_types(dtype, tables[0].dtype) != dtype:
            return None
        tokens = xs[0].shape[2 if layout == "bhtd" else 1]
        gradient = wants_gradient(*xs)
        if mark.turned_by is not None and mark.kept is not None and mark.made(*tables):
            rope, angles = mark.head(mark.turned_by, xs[0].shape[-1], r.pairing, r.direction), mark.kept
            if angles.tokens != tokens or xs[0].shape[-1] < rope.rotary_dim:
                return None
            if gradient:
                return _Turn.apply(rope, angles, layout, *xs)
            return rope.rotate(*map(plain, xs), angles=angles, layout=layout)
        if gradient or wants_gradient(*tables) or tables[0].ndim not in (2, 3) or tables[0].shape[-2] != tokens:
            return None
        cos, sin = torch.view_as_real(tables[0]).unbind(-1) if r.complex else tables[::-1] if r.sin_first else tables
        if r.form == "first_half":
            cos, sin = cos[..., : cos.shape[-1] // 2], sin[..., : sin.shape[-1] // 2]
        k = xs[1].detach() if r.operands == 2 else None
        try:
            return _rotate_by_rows(
                xs[0].detach(), k, cos.detach(), sin.detach(), r.form in ("halves", "neighbours"), r.pairing, r.direction, layout
            )
        except ValueError:  # lanes of a pair with different numbers, more batch rows than tables: the function's own affair
            return None


_functions: dict[tuple[str, str], Function] = {}
_undo: weakref.WeakKeyDictionary[nn.Module, list[Any]] = weakref.WeakKeyDictionary()


def _ropes_of(config: Any, angles: str) -> list[Rope]:
    if config is None:
        return []
    try:
        return Model.from_config(config, angles=angles).ropes
    except (ValueError, NotImplementedError):
        return []


def _layer_types(module: nn.Module) -> list[str | None]:
    """The layer types that a module keeps frequencies for; [None] for a module with one set."""
    ends = "_inv_freq"
    names = [name.removesuffix(ends) for name, _ in module.named_buffers(recurse=False) if name.endswith(ends)]
    return [n for n in names if n != "original" and not n.endswith("_original")] or [None]


def _replace_forward(model: nn.Module, module: nn.Module, report: Report, angles: str, name: str) -> Any:
    """Gives the module a forward that marks its tables, and makes them where the library can."""
    own = module.forward
    found: dict[str | None, Embedding] = {}
    heads: dict[tuple[str, int, str, str], Rope] = {}
    ropes = _ropes_of(getattr(module, "config", getattr(model, "config", None)), angles)
    rope_type = getattr(module, "rope_type", None)
    for layer_type in _layer_types(module):
        extra = () if layer_type is None else (layer_type,)
        what = f"{name} ({type(module).__name__}{'' if layer_type is None else ', ' + layer_type})"
        kind = rope_type.get(layer_type) if isinstance(rope_type, dict) else rope_type
        if kind in LENGTH_TYPES:
            report.left.append(Line(what, f"{kind}: its frequencies follow the length of the call; its tables are used"))
            continue
        if not ropes:
            report.left.append(Line(what, "its config names no rope that the library reads; its tables are used"))
            continue
        result = probe_embedding(own, ropes, extra)
        if isinstance(result, str):
            report.left.append(Line(what, f"{result}; its tables are used"))
            continue
        found[layer_type] = result
        report.replaced.append(Line(what, f"angles {angles} of {result.rope!r}"))

    @functools.wraps(own)
    def forward(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling():
            return own(*args, **kwargs)
        named = dict(zip(("x", "position_ids", "layer_type"), args, strict=False)) | kwargs
        embedding = found.get(named.get("layer_type")) or (found.get(None) if None in found else None)
        x, ids = named.get("x"), named.get("position_ids")
        made: Any = None
        rope = kept = None
        if embedding is not None and x is not None and ids is not None and x.device.type == ids.device.type == "cpu":
            rope = embedding.rope
            if rope.axes > 1 and ids.ndim == 2:
                ids = ids.expand(rope.axes, -1, -1)
            with torch.inference_mode(False):  # so that writing into them is noticed
                kept = rope.angles(ids)
                made = as_tables(rope, kept, embedding, x.dtype)
        else:
            made = own(*args, **kwargs)
        tables = [t for t in (made if isinstance(made, tuple) else (made,)) if isinstance(t, torch.Tensor)]
        mark = Tables(report, rope, kept, heads, *tables)
        for table in tables:
            table.rotary_tables = mark  # type: ignore[attr-defined]
        return made

    module.forward = forward

    def undo() -> None:
        del module.forward

    return undo


def _replace_functions(model: nn.Module, report: Report) -> list[Any]:
    undo = []
    for place in sorted({type(m).__module__ for m in model.modules()}):
        module = sys.modules.get(place)
        if module is None or place.startswith(("torch.", "rotary.")):
            continue
        for name, value in sorted(vars(module).items()):
            if not (FUNCTION.fullmatch(name) and callable(value)):
                continue
            function = _functions.get((place, name))
            if function is None or vars(module)[name] is not function:
                rotation = probe_rotation(value)
                if rotation is None:
                    report.left.append(Line(f"{place}.{name}", "none of the library's conventions gives its numbers"))
                    continue
                function = _functions[place, name] = Function(module, name, rotation)
                setattr(module, name, function)
            function.users.add(model)
            r = function.rotation
            direction = "" if r.direction == "forward" else ", turning back"
            report.replaced.append(Line(f"{place}.{name}", f"{r.pairing}{direction}, tables as {r.form}"))

            def undo_one(function: Function = function) -> None:
                function.users.discard(model)
                if not function.users and getattr(function.module, function.name) is function:
                    setattr(function.module, function.name, function.own)

            undo.append(undo_one)
    return undo


def accelerate(model: nn.Module, *, angles: str = "exact") -> Report:
    """Replaces the rotary embeddings of a loaded model, and their application, by the library's.

    angles: exact, or fp32 for the numbers of Transformers itself. The model's own functions serve whatever the report says
    was left alone, compiled code, and tensors of other devices. Other models of the same family in the process are not
    touched. ValueError: a model that is accelerated already."""
    if angles not in ("exact", "fp32"):
        raise ValueError(f'angles "{angles}": expected exact or fp32')
    if model in _undo:
        raise ValueError("this model is accelerated already: restore(model) first")
    report = Report()
    undo = _replace_functions(model, report)
    for name, module in model.named_modules():
        if MODULE.search(type(module).__name__) and not list(module.children()):
            undo.append(_replace_forward(model, module, report, angles, name))
    _undo[model] = undo
    return report


def restore(model: nn.Module) -> None:
    """Undoes accelerate(model). ValueError: a model that is not accelerated."""
    if model not in _undo:
        raise ValueError("this model is not accelerated")
    for undo in _undo.pop(model):
        undo()
