# SPDX-License-Identifier: Apache-2.0
"""Which functions and modules of a loaded model are replaced, and how they are put back."""

from __future__ import annotations

import copy
import functools
import inspect
import re
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from .._core import Angles, Model, Rope, _Kept
from ..torch import _pure
from ..torch._functions import Heads, wants_gradient
from ._probe import Embedding, Rotation, as_tables, probe_cast, probe_embedding, probe_rotation
from ._tables import Line, MadeTables, Report, Tables

FUNCTION = re.compile(r"\w*apply_\w*(rotary|rope)\w*|rotate_queries_or_keys")
MODULE = re.compile(r"rotary|rope", re.IGNORECASE)
LENGTH_TYPES = ("dynamic", "longrope")
TOKENS = {"bhtd": 2, "bthd": 1, "thd": 0}  #: the axis


class _Turn(torch.autograd.Function):
    """By kept angles, with the transpose as its gradient."""

    @staticmethod
    def forward(ctx: Any, rope: Rope, angles: Angles, layout: str, *xs: torch.Tensor) -> Any:
        ctx.rope, ctx.angles, ctx.layout = rope, angles, layout
        return rope._turned(angles, layout, xs[0], xs[1] if len(xs) == 2 else None)

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
        self.users: weakref.WeakSet[nn.Module] = weakref.WeakSet()  #: accelerated models
        self.operands = rotation.operands
        self.given = rotation.operands + (1 if rotation.complex else 2)
        functools.update_wrapper(self, self.own)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not torch.compiler.is_compiling() and len(args) >= self.given:
            mark = getattr(args[self.operands], "rotary_tables", None)
            if isinstance(mark, Tables):
                turned = None
                if _pure.eager():
                    kept = None if kwargs else mark.kept.get(self)
                    turned = None if kept is None else self._again(kept, args)
                    if turned is None:
                        turned = self._turn(mark, args, kwargs)
                if turned is not None:
                    mark.report.calls += 1
                    return turned
                mark.report.passed += 1
        return self.own(*args, **kwargs)

    def join(self, model: nn.Module) -> Callable[[nn.Module], None]:
        """What leaves again. A model that is freed has left."""
        self.users.add(model)
        put_back = weakref.finalize(model, self._put_back)
        put_back.atexit = False

        def leave(model: nn.Module) -> None:
            self.users.discard(model)
            put_back()

        return leave

    def _put_back(self) -> None:
        if not list(self.users) and getattr(self.module, self.name, None) is self:
            setattr(self.module, self.name, self.own)

    @staticmethod
    def _again(kept: _Kept, args: tuple[Any, ...]) -> Any:
        try:
            return kept(args)
        except (ValueError, TypeError):
            return None

    def _layout(self, rest: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        if not rest and not kwargs:
            return self.rotation.layout
        if not self.rotation.unsqueeze_dim or set(kwargs) - {"unsqueeze_dim"} or len(rest) + len(kwargs) > 1:
            return None
        asked = rest[0] if rest else kwargs["unsqueeze_dim"]
        return {1: "bhtd", 2: "bthd"}.get(asked)

    def _turn(self, mark: Tables, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """None where this call is not what was found out about the function."""
        r, layout = self.rotation, self._layout(args[self.given :], kwargs)
        x, k, tables = args[0], args[1] if r.operands == 2 else None, args[r.operands : self.given]
        if layout == r.layout and r.without_batch and x.ndim == 3 and tables[0].ndim == 2:
            layout = "thd"
        if layout is None or type(x) is not torch.Tensor or x.ndim != len(layout):
            return None
        if tables[0].shape[-2] != x.shape[TOKENS[layout]]:
            return None
        if not r.keeps_type and x.dtype != tables[0].dtype and torch.promote_types(x.dtype, tables[0].dtype) != x.dtype:
            return None
        if torch.is_grad_enabled() and wants_gradient(*tables):
            return None
        try:
            rope, angles = mark.turn_by(r, x.shape[-1], tables)
            if torch.is_grad_enabled() and wants_gradient(*args[: r.operands]):
                return _Turn.apply(rope, angles, layout, *args[: r.operands])
            if len(args) == self.given and not kwargs and mark.order(tables) is not None:
                mark.kept[self] = _Kept(rope, angles, layout, args[: r.operands], tables)
            return rope._turned(angles, layout, x, k)
        except (ValueError, TypeError):  # more batch rows than tables, another device, ...: the function's own affair
            return None


_functions: dict[tuple[str, str], Function] = {}
#: What undoes accelerate(model), called with the model. It must not hold the model, which would then never be freed.
_undo: weakref.WeakKeyDictionary[nn.Module, list[Callable[[nn.Module], Any]]] = weakref.WeakKeyDictionary()


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


def _tensors(made: Any) -> list[torch.Tensor]:
    return [t for t in (made if isinstance(made, tuple) else (made,)) if isinstance(t, torch.Tensor)]


class Replaced:
    """What stands in a module in place of its forward, and is not copied with it: a copy of the module has its own again."""

    def __init__(self, own: Callable[..., Any], instead: Callable[..., Any]) -> None:
        self.own, self.instead = own, instead
        functools.update_wrapper(self, own)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return (self.instead if _pure.eager() else self.own)(*args, **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return copy.deepcopy(self.own, memo)

    def __reduce__(self) -> Any:
        return self.own.__reduce__()


def _replace_forward(model: nn.Module, module: nn.Module, report: Report, angles: str, name: str) -> Any:
    """Gives the module a forward that marks its tables, and makes them where the library can."""
    own, of_class = module.forward, "forward" not in vars(module)
    found: dict[str | None, tuple[Embedding, Heads]] = {}
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
        result, cast = probe_embedding(own, ropes, extra), ""
        rounded = probe_cast(module, own, ropes, extra) if isinstance(result, str) else None
        if rounded is not None:
            result, cast = rounded[0], f"a cast has rounded its inv_freq to {str(rounded[1]).removeprefix('torch.')}"
        if isinstance(result, str) or (cast and angles == "fp32"):
            report.left.append(Line(what, f"{cast or result}; its tables are used"))
            continue
        found[layer_type] = result, {}
        report.replaced.append(Line(what, f"angles {angles} of {result.rope!r}{cast and '; ' + cast}"))

    def make(*args: Any, **kwargs: Any) -> Any:
        named = dict(zip(("x", "position_ids", "layer_type"), args, strict=False)) | kwargs
        embedding, heads = found.get(named.get("layer_type")) or found.get(None) or (None, {})
        x, ids = named.get("x"), named.get("position_ids")
        if embedding is None or x is None or ids is None or not (x.is_cpu and ids.is_cpu):
            made = own(*args, **kwargs)
            Tables(report, _tensors(made))
            return made
        if embedding.rope.axes > 1 and ids.ndim == 2:
            ids = ids.expand(embedding.rope.axes, -1, -1)
        angles = embedding.rope.angles(ids)
        MadeTables(report, _tensors(made := as_tables(angles, embedding, x.dtype)), embedding, angles, heads)
        return made

    def forward(*args: Any, **kwargs: Any) -> Any:
        if not torch.is_inference_mode_enabled():
            return make(*args, **kwargs)
        with torch.inference_mode(False), torch.no_grad():  # so that writing into the tables is noticed
            return make(*args, **kwargs)

    replaced = module.forward = Replaced(own, forward)
    of_module, of_replaced = weakref.ref(module), weakref.ref(replaced)

    def undo(_: nn.Module) -> None:
        module, replaced = of_module(), of_replaced()
        if module is None or replaced is None:  # freed, or another forward has been put in its place since
            return
        del module.forward
        if not of_class:  # somebody else's, on top of the class's
            module.forward = replaced.own

    return undo


def _functions_of(module: types.ModuleType) -> dict[str, Any]:
    """Those that turn, without what only another of them calls."""
    found = {name: value for name, value in sorted(vars(module).items()) if FUNCTION.fullmatch(name) and callable(value)}
    code = [getattr(getattr(value, "own", value), "__code__", None) for value in found.values()]
    called = {name for each in code if each is not None for name in each.co_names}
    return {name: value for name, value in found.items() if name not in called}


def _named_in(kind: type) -> set[str]:
    """What the code of a class names, decorated or not."""
    code = [getattr(inspect.unwrap(value), "__code__", None) for value in vars(kind).values()]
    return {name for each in code if each is not None for name in each.co_names}


class MarkNothing:
    """What a copy of an encoder has in place of MarkGiven."""

    def __call__(self, *_: Any) -> None: ...


class MarkGiven:
    """Marks tables that a model has made of a module's, as encoders do that sort their tokens by windows. Those of inference
    mode do not tell when somebody writes into them; they stay the model's own affair."""

    def __init__(self, report: Report) -> None:
        self.report = report

    def __call__(self, module: nn.Module, args: Any, kwargs: dict[str, Any]) -> None:
        tables = _tensors(kwargs.get("position_embeddings"))
        known = any(isinstance(getattr(t, "rotary_tables", None), Tables) or t.is_inference() for t in tables)
        if tables and not known and _pure.eager():
            Tables(self.report, tables)

    def __reduce__(self) -> Any:
        return MarkNothing, ()


def _mark_in_encoders(model: nn.Module, report: Report) -> list[Any]:
    """Where a function without a batch is called, and the caller handed the tables."""
    flat = {f.name for f in _functions.values() if model in f.users and f.rotation.layout == "bthd" and f.rotation.without_batch}
    encoders = {
        kind for kind in {type(m) for m in model.modules()} if "position_embeddings" in kind.forward.__code__.co_varnames
        and flat & _named_in(kind)
    }  # fmt: skip
    marks = MarkGiven(report)
    handles = [m.register_forward_pre_hook(marks, with_kwargs=True) for m in model.modules() if type(m) in encoders]
    return [lambda _, handle=handle: handle.remove() for handle in handles]


def _methods_of(model: nn.Module) -> list[str]:
    """Names of methods that turn, which nobody replaces."""
    classes = {kind for m in model.modules() for kind in type(m).__mro__ if kind.__module__.startswith("transformers.")}
    return sorted(f"{c.__module__}.{c.__qualname__}.{name}" for c in classes for name in vars(c) if FUNCTION.fullmatch(name))


def _replace_functions(model: nn.Module, report: Report) -> list[Any]:
    undo = []
    kinds = {type(m) for m in model.modules()}
    for place in sorted({kind.__module__ for kind in kinds}):
        module = sys.modules.get(place)
        if module is None or place.startswith(("torch.", "rotary.")):
            continue
        used = {name for kind in kinds if kind.__module__ == place for name in _named_in(kind)}
        for name, value in _functions_of(module).items():
            function = _functions.get((place, name))
            if function is None or value is not function:
                rotation = probe_rotation(value)
                if isinstance(rotation, str):
                    if name in used:
                        report.left.append(Line(f"{place}.{name}", rotation))
                    continue
                function = _functions[place, name] = Function(module, name, rotation)
                setattr(module, name, function)
            undo.append(function.join(model))
            r = function.rotation
            direction = "" if r.direction == "forward" else ", turning back"
            report.replaced.append(Line(f"{place}.{name}", f"{r.pairing}{direction}, tables as {r.form}"))
    report.left += [Line(name, "a method; functions of a modeling file are replaced") for name in _methods_of(model)]
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
    undo = _replace_functions(model, report) + _mark_in_encoders(model, report)
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
        undo(model)
