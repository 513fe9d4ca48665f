# SPDX-License-Identifier: Apache-2.0
"""The operators torch.ops.rotary.*: a kernel for the CPU (the library), one for every other device (PyTorch's own
operations), shapes for tracing, and gradients."""

from __future__ import annotations

import hashlib
from typing import Any, ClassVar

import torch

from .._core import Angles, Positions, Rope, _rows_as_rope
from . import _pure

ROTATABLE = (torch.float64, torch.float32, torch.float16, torch.bfloat16)

# An operator takes strings and tensors, so a rope travels as a key that is made of its numbers.
_ropes: dict[str, Rope] = {}


def key_of(rope: Rope) -> str:
    """Equal ropes have one key, in every process."""
    if rope._key is None:
        said = (rope.head_dim, rope.rotary_dim, rope.rotary_offset, rope.pairing, rope.direction, rope.policy)
        numbers = rope.inv_freq.tobytes() + rope.inv_freq_fp32.tobytes() + rope.axis.tobytes()
        digest = hashlib.sha256(repr((*said, rope.attention_factor, rope.xpos)).encode() + numbers).hexdigest()[:16]
        key = f"{rope.policy}-{rope.pairing}-{digest}"
        if rope.policy == "table":  # its numbers are not to be had; no other process can know it
            key += f"-{len(_ropes)}"
        _ropes[key] = rope
        rope._key = key
    return rope._key


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def described(rope: Rope) -> tuple[str, int]:
    """The key and the number of axes; a tracer takes them as constants of the rope."""
    return key_of(rope), rope.axes


def _gradient_key(key: str) -> str:
    return key_of(_ropes[key].gradient)


def plain(x: torch.Tensor) -> torch.Tensor:
    return x.detach() if x.requires_grad else x


class _Library(torch.library.Library):
    """Goes from the kernel for gradients straight to the CPU's where nothing is to be recorded: PyTorch's own way there
    is a second trip through the dispatcher, which costs as much as the first."""

    def impl(self, op_name: Any, fn: Any, dispatch_key: str = "", **options: Any) -> None:
        if dispatch_key == "CPU":
            self.on_cpu[op_name] = fn
        elif dispatch_key == "Autograd":
            fn = self._quick(fn, self.on_cpu[op_name])
        super().impl(op_name, fn, dispatch_key, **options)  # type: ignore[no-untyped-call]

    on_cpu: ClassVar[dict[str, Any]] = {}

    @staticmethod
    def _quick(recording: Any, on_cpu: Any) -> Any:
        key, keyset = torch._C.DispatchKey, torch._C.DispatchKeySet
        plain = (keyset(key.CPU) | keyset(key.AutogradCPU)).raw_repr()

        def kernel(keys: Any, *args: Any) -> Any:
            plainly = keys.raw_repr() == plain  # the CPU alone: no mode, no transform
            if plainly and not (torch.is_grad_enabled() and torch._C._any_requires_grad(*args)):
                return on_cpu(*args)
            return recording(keys, *args)

        return kernel


_library: Any = _Library("rotary", "DEF")  # type: ignore[no-untyped-call]
_tags = (torch.Tag.pt2_compliant_tag,)
for _schema in (
    "rotate(Tensor x, Tensor positions, str rope, str layout) -> Tensor",
    "rotate_qk(Tensor q, Tensor k, Tensor positions, str rope, str layout) -> (Tensor, Tensor)",
    "rows(Tensor positions, str rope, ScalarType dtype) -> (Tensor, Tensor)",
    "rotate_by_rows(Tensor q, Tensor k, Tensor cos, Tensor sin, bool lanes, str pairing, str direction, str layout) "
    "-> (Tensor, Tensor)",
):
    _library.define(_schema, tags=_tags)


# The CPU: the library.


def _rotate_cpu(x: torch.Tensor, positions: torch.Tensor, rope: str, layout: str) -> torch.Tensor:
    turned: torch.Tensor = _ropes[rope]._turned(positions, layout, x, None)
    return turned


def _rotate_qk_cpu(
    q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor, rope: str, layout: str
) -> tuple[torch.Tensor, torch.Tensor]:
    turned: tuple[torch.Tensor, torch.Tensor] = _ropes[rope]._turned(positions, layout, q, k)
    return turned


def tables(angles: Angles, dtype: torch.dtype, form: str = "pairs") -> tuple[torch.Tensor, torch.Tensor]:
    """cos and sin, [batch, tokens, width], each number rounded once to dtype; form: pairs (one a pair), or one a lane, as
    halves or neighbours."""
    held = dtype if dtype in ROTATABLE else torch.float32
    shape = (angles.batch, angles.tokens, angles.pairs if form == "pairs" else 2 * angles.pairs)
    cos, sin = torch.empty(shape, dtype=held, device="cpu"), torch.empty(shape, dtype=held, device="cpu")
    angles._fill(cos, sin, form)
    return (cos, sin) if held == dtype else (cos.to(dtype), sin.to(dtype))


def _rows_cpu(positions: torch.Tensor, rope: str, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    return tables(_ropes[rope].angles(plain(positions)), dtype, "halves")


def _by_rows_cpu(
    q: torch.Tensor,
    k: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    lanes: bool,
    pairing: str,
    direction: str,
    layout: str,
) -> tuple[torch.Tensor, torch.Tensor]:
    rope, angles = _rows_as_rope(plain(cos), plain(sin), lanes, pairing, direction, q.shape[-1])
    turned: tuple[torch.Tensor, torch.Tensor] = rope._turned(angles, layout, q, k)
    return turned


# Every other device: the same formula in PyTorch's own operations.


def _like(x: torch.Tensor, turned: torch.Tensor) -> torch.Tensor:
    """With the strides that the shapes for tracing promise."""
    return torch.empty_like(x).copy_(turned)


def _rotate_elsewhere(x: torch.Tensor, positions: torch.Tensor, rope: str, layout: str) -> torch.Tensor:
    r = _ropes[rope]
    cos, sin = _pure.rows(r, positions, torch.float64 if x.dtype == torch.float64 else torch.float32)
    return _like(x, _pure.rotate(x, cos, sin, r.pairing, r.direction, layout, r.rotary_offset))


def _rotate_qk_elsewhere(
    q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor, rope: str, layout: str
) -> tuple[torch.Tensor, torch.Tensor]:
    return _rotate_elsewhere(q, positions, rope, layout), _rotate_elsewhere(k, positions, rope, layout)


def rows_elsewhere(rope: Rope, positions: torch.Tensor, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """cos and sin, [batch, tokens, rotary_dim], in halves."""
    cos, sin = _pure.rows(rope, positions, dtype)
    return torch.cat((cos, cos), dim=-1), torch.cat((sin, sin), dim=-1)


def _rows_elsewhere(positions: torch.Tensor, rope: str, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    return rows_elsewhere(_ropes[rope], positions, dtype)


def _by_rows_elsewhere(
    q: torch.Tensor,
    k: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    lanes: bool,
    pairing: str,
    direction: str,
    layout: str,
) -> tuple[torch.Tensor, torch.Tensor]:
    turned_q, turned_k = _pure.rotate_by_rows(q, k, cos, sin, lanes, pairing, direction, layout)
    return _like(q, turned_q), _like(k, turned_k)


# Shapes, and gradients: the transpose is a rotation as well.


def _rows_shape(positions: torch.Tensor, rope: str, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    batch = positions.shape[-2] if positions.ndim > 1 else 1
    shape = (batch, positions.shape[-1], _ropes[rope].rotary_dim)
    return positions.new_empty(shape, dtype=dtype), positions.new_empty(shape, dtype=dtype)


def _save_positions(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    *tensors, positions, rope, layout = inputs
    if positions.requires_grad:
        raise NotImplementedError("positions: the operator has no gradient for them; rotary.torch.rotate has")
    ctx.save_for_backward(positions)
    ctx.rope, ctx.layout = rope, layout


def _rotate_backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None, None, None]:
    (positions,) = ctx.saved_tensors
    return torch.ops.rotary.rotate(grad, positions, _gradient_key(ctx.rope), ctx.layout), None, None, None


def _rotate_qk_backward(ctx: Any, q: torch.Tensor, k: torch.Tensor) -> tuple[Any, ...]:
    (positions,) = ctx.saved_tensors
    q, k = torch.ops.rotary.rotate_qk(q, k, positions, _gradient_key(ctx.rope), ctx.layout)
    return q, k, None, None, None


_TRANSPOSED = {
    "forward": "gradient",
    "gradient": "forward",
    "inverse": "inverse_gradient",
    "inverse_gradient": "inverse",
}


def _save_rows(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    _, _, cos, sin, *ctx.rest = inputs
    if cos.requires_grad or sin.requires_grad:
        raise NotImplementedError(
            "cos, sin: the operator has no gradient for them; rotary.torch.apply_rotary_pos_emb has"
        )
    ctx.save_for_backward(cos, sin)


def _by_rows_backward(ctx: Any, q: torch.Tensor, k: torch.Tensor) -> tuple[Any, ...]:
    cos, sin = ctx.saved_tensors
    lanes, pairing, direction, layout = ctx.rest
    q, k = torch.ops.rotary.rotate_by_rows(q, k, cos, sin, lanes, pairing, _TRANSPOSED[direction], layout)
    return (q, k) + (None,) * 6


_library.impl("rotate", _rotate_cpu, "CPU")
_library.impl("rotate_qk", _rotate_qk_cpu, "CPU")
_library.impl("rows", _rows_cpu, "CPU")
_library.impl("rotate_by_rows", _by_rows_cpu, "CPU")
_library.impl("rotate", _rotate_elsewhere, "CompositeExplicitAutograd")
_library.impl("rotate_qk", _rotate_qk_elsewhere, "CompositeExplicitAutograd")
_library.impl("rows", _rows_elsewhere, "CompositeExplicitAutograd")
_library.impl("rotate_by_rows", _by_rows_elsewhere, "CompositeExplicitAutograd")

torch.library.register_fake("rotary::rotate", lambda x, *rest: torch.empty_like(x), lib=_library)
torch.library.register_fake(
    "rotary::rotate_qk", lambda q, k, *rest: (torch.empty_like(q), torch.empty_like(k)), lib=_library
)
torch.library.register_fake("rotary::rows", _rows_shape, lib=_library)
torch.library.register_fake(
    "rotary::rotate_by_rows", lambda q, k, *rest: (torch.empty_like(q), torch.empty_like(k)), lib=_library
)

torch.library.register_autograd("rotary::rotate", _rotate_backward, setup_context=_save_positions, lib=_library)
torch.library.register_autograd("rotary::rotate_qk", _rotate_qk_backward, setup_context=_save_positions, lib=_library)
torch.library.register_autograd("rotary::rotate_by_rows", _by_rows_backward, setup_context=_save_rows, lib=_library)


def to_onnx() -> bool:
    """Whether torch.onnx is tracing: ONNX knows no operator of the library, so it gets the formula."""
    return torch.compiler.is_compiling() and torch.onnx.is_in_onnx_export()


_TOKENS = {"bhtd": 2, "bthd": 1, "thd": 0}  #: the axis


def tokens_of(x: torch.Tensor, layout: str) -> int:
    """ValueError: another layout, or another number of axes."""
    if layout not in _TOKENS:
        raise ValueError(f'layout "{layout}": expected bhtd, bthd or thd')
    if x.ndim != len(layout):
        raise ValueError(f"q: shape {list(x.shape)} has {x.ndim} axes, layout {layout} has {len(layout)}")
    return x.shape[_TOKENS[layout]]


def positions_tensor(positions: Any, x: torch.Tensor, tokens: int, axes: int) -> torch.Tensor:
    """Positions as a tensor on the device of x: an int or a range counts the same on every axis. TypeError: no numbers."""
    if isinstance(positions, torch.Tensor):
        return positions
    if isinstance(positions, Positions):
        return torch.from_numpy(positions.to_numpy()).to(x.device)
    if isinstance(positions, int):
        made = torch.arange(positions, positions + tokens, device=x.device)
    elif isinstance(positions, range):
        made = torch.arange(positions.start, positions.stop, positions.step, device=x.device)
    else:
        try:
            return torch.as_tensor(positions, device=x.device)
        except (RuntimeError, TypeError) as error:
            raise TypeError(f"positions: {type(positions).__name__}, expected what Rope.angles takes") from error
    return made if axes == 1 else made.expand(axes, 1, -1)


def rotate(
    rope: Rope,
    q: torch.Tensor,
    k: torch.Tensor | None = None,
    *,
    positions: Any,
    layout: str = "bhtd",
) -> Any:
    """q, or q and k, turned; differentiable in q and k, and in fractional positions that require a gradient. Traces
    with torch.compile(fullgraph=True) and does not recompile where positions change; torch.onnx.export and the transforms of
    torch.func get the formula in PyTorch's own operations.

    positions: a tensor of [tokens], [batch, tokens] or [axes, batch, tokens] on the device of q, or whatever
    Rope.angles takes. layout: bhtd, bthd or thd."""
    tokens = tokens_of(q, layout)
    key, axes = described(rope)
    at = positions_tensor(positions, q, tokens, axes)
    if at.requires_grad or to_onnx() or _pure.transformed():
        wide = torch.float64 if q.dtype == torch.float64 else torch.float32
        cos, sin = _pure.rows(rope, at, wide)
        return _pure.rotate_by_rope(rope, q, k, cos, sin, layout)
    if k is None:
        return torch.ops.rotary.rotate(q, at, key, layout)
    return torch.ops.rotary.rotate_qk(q, k, at, key, layout)
