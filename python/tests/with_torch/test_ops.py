# SPDX-License-Identifier: Apache-2.0
"""torch.ops.rotary: shapes, gradients, compilers, other devices."""

from typing import Any

import numpy as np
import pytest
from heavy import need
from support import TOLERANCE, close, formula

need("torch")

import torch  # noqa: E402

import rotary  # noqa: E402
import rotary.torch as rt  # noqa: E402
from rotary.torch import _pure  # noqa: E402
from rotary.torch._ops import key_of  # noqa: E402

ROPES = {
    "plain": rotary.Rope(16),
    "interleaved": rotary.Rope(16, pairing="interleaved"),
    "regrouped": rotary.Rope(24, rotary_dim=16, rotary_offset=8, pairing="interleaved_to_half"),
    "yarn, part": rotary.Rope(24, rotary_dim=16, scaling={"rope_type": "yarn", "factor": 4.0}),
    "mrope": rotary.Rope(16, axis_sections=(2, 3, 3)),
    "inverse": rotary.Rope(16, scaling={"rope_type": "yarn", "factor": 4.0}).inverse,
    "inverse regrouped": rotary.Rope(16, pairing="interleaved_to_half").inverse,
}
LAYOUTS = {"bhtd": (2, 3, 5), "bthd": (2, 5, 3), "thd": (5, 3)}


def tensors(rope: rotary.Rope, layout: str = "bhtd", dtype: torch.dtype = torch.float64) -> tuple[Any, Any, Any]:
    torch.manual_seed(0)
    q = torch.randn(*LAYOUTS[layout], rope.head_dim, dtype=dtype)
    k = torch.randn(*LAYOUTS[layout], rope.head_dim, dtype=dtype)
    positions = torch.arange(700, 705)
    return q, k, positions if rope.axes == 1 else torch.stack([positions, positions // 2, positions // 3])[:, None]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ROPES)
def test_report_186_backward_of_every_option(name: str, layout: str) -> None:
    """Forward is the formula, backward its transpose: pairing, window, direction, layout, several axes."""
    rope = ROPES[name]
    q, k, positions = tensors(rope, layout)
    q.requires_grad_(), k.requires_grad_()
    got_q, got_k = rt.rotate(rope, q, k, positions=positions, layout=layout)
    want = rope.rotate(q.detach(), positions=positions, layout=layout)
    assert torch.equal(got_q, want) and torch.equal(rt.rotate(rope, q, positions=positions, layout=layout), want)
    assert torch.autograd.gradcheck(
        lambda a, b: rt.rotate(rope, a, b, positions=positions, layout=layout), (q, k), fast_mode=True
    )
    assert torch.autograd.gradcheck(
        lambda a: rt.rotate(rope, a, positions=positions, layout=layout), (q,), fast_mode=True
    )
    (got_q.sum() + got_k.square().sum()).backward()
    close(q.grad.numpy(), rope.gradient.rotate(torch.ones_like(q), positions=positions, layout=layout).numpy(), 1e-14)
    # Twice differentiable: the gradient is a rotation too.
    assert torch.autograd.gradgradcheck(
        lambda a: rt.rotate(rope, a, positions=positions, layout=layout), (q,), fast_mode=True
    )


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_element_types(dtype: torch.dtype) -> None:
    rope = ROPES["plain"]
    q, _, positions = tensors(rope, dtype=dtype)
    got = rt.rotate(rope, q, positions=positions)
    assert got.dtype == dtype
    want = formula(rope, q.double().numpy(), positions.numpy())
    close(got.double().numpy(), want, TOLERANCE[str(dtype).removeprefix("torch.")] + 2e-13)  # the oracle's own angles


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
@pytest.mark.parametrize("name", ROPES)
def test_opcheck(name: str) -> None:
    rope = ROPES[name]
    q, k, positions = tensors(rope, dtype=torch.float32)
    key = key_of(rope)
    strided = torch.randn(2, 5, 3, rope.head_dim).transpose(1, 2)
    for x in (q, q.clone().requires_grad_(), strided):
        torch.library.opcheck(torch.ops.rotary.rotate, (x, positions, key, "bhtd"))
        torch.library.opcheck(torch.ops.rotary.rotate_qk, (x, k, positions, key, "bhtd"))
    torch.library.opcheck(torch.ops.rotary.rows, (positions, key, torch.bfloat16))


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_opcheck_by_rows() -> None:
    q, k, _ = tensors(ROPES["regrouped"], dtype=torch.float32)
    cos, sin = torch.randn(2, 5, 4), torch.randn(2, 5, 4)
    rest = (cos, sin, False, "interleaved", "forward", "bhtd")
    torch.library.opcheck(torch.ops.rotary.rotate_by_rows, (q.requires_grad_(), k, *rest))


def test_report_199_compiles_whole_and_once() -> None:
    """fullgraph, no complex numbers, and no recompilation when positions change, or lengths once they are dynamic."""
    rope = ROPES["yarn, part"]
    compiled_graphs = []

    def backend(graph: Any, inputs: Any) -> Any:
        compiled_graphs.append(graph)
        return graph.forward

    @torch.compile(fullgraph=True, backend=backend)
    def attention(q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor) -> Any:
        q, k = rt.rotate(rope, q * 2, k, positions=positions)
        return q @ k.transpose(-1, -2)

    q, k, positions = tensors(rope, dtype=torch.float32)
    for shift in (0, 1, 4096):
        got = attention(q, k, positions + shift)
        q2, k2 = rope.rotate(q * 2, k, positions=positions + shift)
        torch.testing.assert_close(got, q2 @ k2.transpose(-1, -2))
    assert len(compiled_graphs) == 1


def test_a_compiled_function_tells_ropes_apart() -> None:
    turn = torch.compile(lambda rope, x: rt.rotate(rope, x, positions=9), fullgraph=True, backend="aot_eager")
    x = torch.randn(1, 2, 3, 16)
    for rope in (ROPES["plain"], rotary.Rope(16, base=500000), ROPES["interleaved"], ROPES["mrope"], ROPES["plain"]):
        assert torch.equal(turn(rope, x), rope.rotate(x, positions=9))


def test_compiled_by_inductor_with_gradients() -> None:
    rope = ROPES["plain"]

    def loss(q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        q, k = rt.rotate(rope, q.sin(), k, positions=positions)
        return (q * k.cos()).sum()

    q, k, positions = tensors(rope, dtype=torch.float32)
    grads = []
    for f in (loss, torch.compile(loss, fullgraph=True, backend="aot_eager")):
        a, b = q.clone().requires_grad_(), k.clone().requires_grad_()
        f(a, b, positions).backward()
        grads.append((a.grad, b.grad))
    torch.testing.assert_close(grads[0], grads[1])


def test_report_203_static_and_dynamic_lengths_give_equal_bits() -> None:
    rope = ROPES["plain"]
    turn = torch.compile(
        lambda x, p: rt.rotate(rope, x, positions=p), fullgraph=True, backend="aot_eager", dynamic=True
    )
    for tokens in (3, 17, 64):
        x, positions = torch.randn(1, 2, tokens, 16), torch.arange(tokens) + 5000
        assert torch.equal(turn(x, positions), rope.rotate(x, positions=positions))


def test_report_185_the_multi_axis_operator_has_a_backward() -> None:
    rope = ROPES["mrope"]
    q, k, positions = tensors(rope)
    q.requires_grad_()
    rt.rotate(rope, q, k, positions=positions)[0].sum().backward()
    assert q.grad is not None and q.grad.abs().sum() > 0
    with pytest.raises(ValueError, match="requires a gradient, which this call cannot record"):
        rope.rotate_(q, positions=positions)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ROPES)
def test_report_202_other_devices_know_every_option(name: str, layout: str) -> None:
    """The path of other devices, run here on the CPU: the same numbers for every option, or an error."""
    from rotary.torch import _ops

    rope = ROPES[name]
    q, k, positions = tensors(rope, layout)
    got = _ops._rotate_qk_elsewhere(q, k, positions, key_of(rope), layout)
    want = rope.rotate(q, k, positions=positions, layout=layout)
    torch.testing.assert_close(got, want, rtol=0, atol=1e-12)
    cos, sin = _ops._rows_elsewhere(positions, key_of(rope), torch.float64)
    torch.testing.assert_close((cos, sin), torch.ops.rotary.rows(positions, key_of(rope), torch.float64), rtol=0, atol=1e-12)
    assert torch.equal(cos[..., : rope.pairs], cos[..., rope.pairs :])
    for other, why in ((rotary.Rope(16, angles="ggml"), "angles ggml on device"), (rotary.Rope(16, xpos={}), "xpos on device")):
        with pytest.raises(NotImplementedError, match=why):
            _pure.rows(other, positions)


def test_report_190_numbers_are_kept_by_device() -> None:
    """Constants are keyed by the rope's numbers and the device: two devices in any order give equal bits."""
    rope = rotary.Rope(16, base=777.0)
    for device in ("cpu", "meta", "cpu"):
        cos, _ = _pure.rows(rope, torch.arange(5, device=device))
        assert cos.device.type == device
    again = rotary.Rope(16, base=777.0)
    assert torch.equal(_pure.rows(rope, torch.arange(5))[0], _pure.rows(again, torch.arange(5))[0])
    assert key_of(rope) == key_of(again) != key_of(rotary.Rope(16, base=778.0))


def test_positions_of_every_form() -> None:
    rope = ROPES["plain"]
    q, _, _ = tensors(rope)
    want = rope.rotate(q, positions=range(700, 705))
    for positions in (700, range(700, 705), rotary.Positions.range(700, 705), np.arange(700, 705), [700, 701, 702, 703, 704]):
        assert torch.equal(rt.rotate(rope, q, positions=positions), want)


def test_learned_frequencies_and_positions() -> None:
    """Gradients to the frequencies and to fractional positions, for every option."""
    for rope in ROPES.values():
        learned = rt.LearnedRotary(rope)
        q, k, positions = tensors(rope)
        out = learned(q, positions=positions)
        torch.testing.assert_close(out, rope.rotate(q, positions=positions), rtol=0, atol=2e-3)
        at = positions.double().requires_grad_()
        freq = torch.from_numpy(rope.inv_freq).requires_grad_()

        def turned(w: torch.Tensor, p: torch.Tensor, rope: Any = rope, q: Any = q) -> torch.Tensor:
            axis = torch.from_numpy(rope.axis.astype("int64")) if rope.axes > 1 else None
            angle = _pure.angles(w, axis, p)
            cos, sin = angle.cos() * rope.attention_factor, angle.sin() * rope.attention_factor
            return _pure.rotate(q, cos, sin, rope.pairing, rope.direction, "bhtd", rope.rotary_offset)

        assert torch.autograd.gradcheck(turned, (freq, at))
        out.square().mean().backward()
        learned(q, k, positions=positions)[1].sum().backward()
        assert learned.inv_freq.grad is not None and bool(learned.inv_freq.grad.abs().sum() > 0)
        p = positions.double().requires_grad_()
        rt.rotate(rope, q, positions=p).sum().backward()
        assert p.grad is not None and bool(p.grad.abs().sum() > 0)
    with pytest.raises(NotImplementedError, match="no gradient for them; rotary.torch.rotate has"):
        torch.ops.rotary.rotate(q, positions.double().requires_grad_(), key_of(rope), "bhtd")


def test_learned_frequencies_are_never_cast() -> None:
    learned = rt.LearnedRotary(ROPES["plain"])
    before = learned.inv_freq.detach().clone()
    for cast in (learned.half, learned.bfloat16, learned.double):
        cast()
        assert learned.inv_freq.dtype == torch.float32 and torch.equal(learned.inv_freq, before)


def test_autocast_leaves_angles_alone() -> None:
    rope = ROPES["plain"]
    q, _, positions = tensors(rope, dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = rt.rotate(rope, q, positions=positions)
        learned = rt.LearnedRotary(rope)(q, positions=positions)
        cos, _ = rt.RotaryEmbedding(rope)(q, positions[None])
    assert got.dtype == cos.dtype == torch.float32
    assert torch.equal(got, rope.rotate(q, positions=positions))
    torch.testing.assert_close(learned, got, rtol=0, atol=2e-4)
    assert torch.equal(cos[0, :, :8], torch.from_numpy(rope.angles(range(700, 705)).cos()[0]))


def test_transforms_and_modes_go_through_the_operator() -> None:
    """The short way of plain tensors is theirs alone."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils._python_dispatch import TorchDispatchMode

    rope = ROPES["plain"]
    q, k, positions = tensors(rope, dtype=torch.float32)
    want = rope.rotate(q, k, positions=positions)
    seen = []

    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    with Seen():  # type: ignore[no-untyped-call]
        rt.rotate(rope, q, k, positions=positions)
    assert "rotary.rotate_qk.default" in seen
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert type(rt.rotate(rope, q, k, positions=positions)[1]).__name__ == "FakeTensor"
        x, ids = torch.empty(1, 2, 5, 16), torch.arange(5)[None]
        cos, sin = rt.RotaryEmbedding(rope)(x, ids)
        assert type(rt.apply_rotary_pos_emb(x, x, cos, sin)[0]) is type(cos) is type(x)
    for call in (lambda: rope.rotate_(x, positions=0), lambda: rope.rotate(q, positions=ids), lambda: rope.angles(ids)):
        with pytest.raises(TypeError, match="FakeTensor stands for other tensors; rotary.torch takes it"):
            call()
    with torch.inference_mode():
        assert all(torch.equal(a, b) for a, b in zip(rt.rotate(rope, q, k, positions=positions), want, strict=True))
    for x in (q, q.clone().requires_grad_()):
        assert rt.rotate(rope, x, k, positions=positions)[0].requires_grad == x.requires_grad
        with torch.no_grad():
            assert not rt.rotate(rope, x, k, positions=positions)[0].requires_grad
    assert rt.rotate(rope, q, k.clone().requires_grad_(), positions=positions)[1].requires_grad


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")  # by PyTorch itself, in its forward gradients
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["plain", "mrope"])
def test_transforms_of_functions(name: str, layout: str) -> None:
    """vmap is a loop, over q, k and positions, mapped or not, along any axis; gradients inside; nothing is left behind."""
    _pure._constants.clear()
    rope = ROPES[name]
    q, k, positions = tensors(rope, layout)
    many_q, many_k = torch.stack([q, 2 * q, -q]), torch.stack([k, k + 1, 3 * k], dim=-1)
    many = torch.stack([positions, positions + 9, positions * 2], dim=1)

    def turn(a: Any, b: Any, p: Any) -> Any:
        return rt.rotate(rope, a, b, positions=p, layout=layout)

    for dims in ((0, -1, 1), (None, -1, None), (0, None, 1)):
        given = [m if d is not None else x for m, x, d in zip((many_q, many_k, many), (q, k, positions), dims, strict=True)]
        got = torch.vmap(turn, in_dims=dims)(*given)
        for i in range(3):
            want = turn(*(x if d is None else x.select(d, i) for x, d in zip(given, dims, strict=True)))
            torch.testing.assert_close((got[0][i], got[1][i]), want, rtol=0, atol=1e-12)
    each = torch.vmap(torch.func.grad(lambda a: turn(a, k, positions)[0].square().sum()))(many_q)
    torch.testing.assert_close(each, 2 * many_q)
    p = positions.double().requires_grad_()
    rt.rotate(rope, q, positions=p, layout=layout).sum().backward()
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(q, k)
        tangent = torch.autograd.forward_ad.unpack_dual(turn(dual, k, positions)[0]).tangent
    torch.testing.assert_close(tangent, rt.rotate(rope, k, positions=positions, layout=layout))


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2, torch.int8, torch.bfloat16])
def test_caches_of_other_types(dtype: torch.dtype) -> None:
    """Stored on the way, with the casts of PyTorch."""
    rope = ROPES["yarn, part"]
    k = 5 * torch.randn(1, 2, 5, 24)
    cache = torch.zeros(1, 2, 8, 24, dtype=dtype)
    rope.rotate_(rotary.Operand(k, cache[:, :, 2:7], scale=2, overflow="special"), positions=range(700, 705))
    want = 2 * rope.rotate(k, positions=range(700, 705))
    want = want.round().clamp(-128, 127) if dtype == torch.int8 else want
    assert torch.equal(cache[:, :, 2:7].float(), want.to(dtype).float())
    with pytest.raises(ValueError, match="weight: requires a gradient"):
        norm = rotary.RmsNorm(torch.nn.Parameter(torch.ones(24)), 1e-6)
        rope.rotate_(rotary.Operand(k, norm=norm), positions=0)


def test_tensors_that_go_wrong() -> None:
    rope = ROPES["plain"]
    q, _, positions = tensors(rope, dtype=torch.float32)
    for bad, error in ((q.long(), TypeError), (q.to("meta"), TypeError), (q.to_sparse(), Exception), (q[..., :8], ValueError)):
        with pytest.raises(error):
            rope.rotate_(bad, positions=positions)
    with pytest.raises(TypeError):
        rope.rotate(torch.complex(q, q), positions=positions)
    empty = torch.empty(0, 3, 5, 16)
    assert rope.rotate(empty, positions=positions).shape == empty.shape
    with pytest.raises(ValueError, match="make elements overlap"):
        rope.rotate_(torch.zeros(1, 1, 5, 16).expand(2, 3, 5, 16), positions=positions)
    imaginary = torch.complex(q, q).conj().imag
    for call in (rope.rotate_, rope.rotate):
        with pytest.raises(TypeError, match="q: a view with the negative bit, .*resolve_neg"):
            call(imaginary, positions=positions)
    assert torch.equal(rt.rotate(rope, imaginary, positions=positions), rope.rotate(-q, positions=positions))
    wrong: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
        (q, dict(positions=0, layout="tbhd"), ValueError, 'layout "tbhd": expected bhtd, bthd or thd'),
        (q[0], dict(positions=0), ValueError, r"q: shape \[3, 5, 16\] has 3 axes, layout bhtd has 4"),
        (q.sum(), dict(positions=0), ValueError, r"q: shape \[\] has 0 axes"),
        (q, dict(positions=None), TypeError, "positions: NoneType, expected what Rope.angles takes"),
        (q, dict(positions="seven"), TypeError, "positions: str"),
    ]
    for x, asked, kind, message in wrong:
        with pytest.raises(kind, match=message):
            rt.rotate(rope, x, **asked)
    leaf = torch.nn.Parameter(q.clone())
    with pytest.raises(ValueError, match="use rotary.torch, or detach"):
        rope.rotate(leaf, positions=positions)
    view = torch.randn(1, 5, 8, 16)[:, :, 2:5].transpose(1, 2)
    want = rope.rotate(view.contiguous(), positions=positions)
    rope.rotate_(view, positions=positions)
    assert torch.equal(view, want), "a view of a tensor is turned where it is"


def test_memory_that_is_gone() -> None:
    """A tensor whose storage somebody has let go, and arrays whose owner is gone: an error, or the memory is held."""
    q = torch.randn(1, 2, 3, 16)
    q.untyped_storage().resize_(0)
    for call in (ROPES["plain"].rotate_, ROPES["plain"].rotate):
        with pytest.raises(ValueError, match="q: null pointer"):
            call(q, positions=0)
    whole, ids = torch.randn(4, 2, 3, 16), torch.arange(9)
    views = whole[2:], ids[5:8]
    for owner in (whole, ids):
        owner.untyped_storage().resize_(0)
    for asked in (lambda: ROPES["plain"].rotate(views[0], positions=0), lambda: ROPES["plain"].angles(views[1])):
        with pytest.raises(ValueError, match="null pointer, its storage has been let go"):
            asked()
    want = ROPES["plain"].rotate(torch.ones(1, 2, 3, 16), positions=torch.arange(600, 603))
    view = np.from_dlpack(torch.ones(1, 2, 3, 16))[...]  # the tensor itself is gone
    assert np.array_equal(ROPES["plain"].rotate(view, positions=torch.arange(600, 603).numpy()), want.numpy())


def test_threads_of_pytorch_give_the_same_bits() -> None:
    rope, before = ROPES["plain"], torch.get_num_threads()
    q, k = torch.randn(2, 8, 300, 16), torch.randn(2, 2, 300, 16)
    want = rope.rotate(q, k, positions=8000)
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            got = rt.rotate(rope, q, k, positions=8000)
            assert torch.equal(got[0], want[0]) and torch.equal(got[1], want[1])
            assert torch.equal(rope.rotate(q, positions=8000, threads=0), want[0])
    finally:
        torch.set_num_threads(before)
