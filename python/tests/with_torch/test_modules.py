# SPDX-License-Identifier: Apache-2.0
"""Modules and functions with the signatures people know."""

import copy
import io
import json
import pickle
from typing import Any

import numpy as np
import pytest
from heavy import need
from support import CONFIG, close, safetensors

need("torch")

import torch  # noqa: E402

import rotary  # noqa: E402
import rotary.torch as rt  # noqa: E402
from rotary.torch._ops import key_of  # noqa: E402

LLAMA = {"model_type": "llama", "head_dim": 64, "num_hidden_layers": 2, "rope_theta": 500000.0}


def tensor(array: Any) -> torch.Tensor:
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


@pytest.mark.parametrize("case", ["llama3_float32", "llama3_bfloat16", "llama_yarn", "gpt_neox", "glm"])
def test_transformers_recorded_tables_and_rotation(case: str) -> None:
    tensors, metadata = safetensors("transformers_rotation.safetensors")
    about = json.loads(metadata[case])
    t = {name.split(".")[1]: tensor(array) for name, array in tensors.items() if name.startswith(case + ".")}
    embedding = rt.RotaryEmbedding(about["config"], angles="fp32")
    cos, sin = embedding(t["q"], t["positions"])
    assert cos.dtype == t["cos"].dtype
    near = 1e-2 if about["dtype"] == "bfloat16" else 1e-6
    if case != "glm":  # its recording has the tables as its own module repeats them
        assert cos.shape == t["cos"].shape
        close(cos.double().numpy(), t["cos"].double().numpy(), near)
    plain = cos.clone(), sin.clone()  # tables that do not remember their angles
    for tables in ((cos, sin), plain):
        q, k = rt.apply_rotary_pos_emb(t["q"], t["k"], *tables, pairing=about["pairing"])
        close(q.double().numpy(), t["q_rotated"].double().numpy(), 2 * near)
        close(k.double().numpy(), t["k_rotated"].double().numpy(), 2 * near)


def test_tables_that_somebody_changes_are_taken_as_they_are() -> None:
    q = torch.randn(1, 2, 3, 64)
    cos, sin = rt.RotaryEmbedding(LLAMA)(q, torch.arange(3)[None])
    before = rt.apply_rotary_pos_emb(q, q, cos, sin)[0]
    cos.mul_(2)
    after = rt.apply_rotary_pos_emb(q, q, cos, sin)[0]
    torch.testing.assert_close(after, q * cos[:, None] + torch.cat((-q[..., 32:], q[..., :32]), -1) * sin[:, None])
    assert not torch.allclose(before, after)
    other = rt.RotaryEmbedding(LLAMA)(q, torch.arange(5, 8)[None])
    mixed = rt.apply_rotary_pos_emb(q, q, other[0], sin)[0]
    torch.testing.assert_close(mixed, q * other[0][:, None] + torch.cat((-q[..., 32:], q[..., :32]), -1) * sin[:, None])


def test_inference_mode() -> None:
    q = torch.randn(1, 2, 3, 64)
    embedding, ids = rt.RotaryEmbedding(LLAMA), torch.arange(3)[None]
    want = rt.apply_rotary_pos_emb(q, q, *embedding(q, ids))
    with torch.inference_mode():
        cos, sin = embedding(q.clone(), ids.clone())
        assert torch.equal(rt.apply_rotary_pos_emb(q.clone(), q, cos, sin)[0], want[0])
        cos.zero_()
        assert not torch.equal(rt.apply_rotary_pos_emb(q, q, cos, sin)[0], want[0]), "writing is noticed here too"


def test_both_orders_of_heads_and_tokens() -> None:
    q = torch.randn(1, 2, 3, 64)
    cos, sin = rt.RotaryEmbedding(LLAMA)(q, torch.arange(3)[None])
    want = rt.apply_rotary_pos_emb(q, q, cos, sin)[0]
    got = rt.apply_rotary_pos_emb(q.transpose(1, 2), q.transpose(1, 2), cos, sin, unsqueeze_dim=2)[0]
    assert torch.equal(got.transpose(1, 2), want)
    with pytest.raises(ValueError, match="unsqueeze_dim 3"):
        rt.apply_rotary_pos_emb(q, q, cos, sin, unsqueeze_dim=3)


def test_report_187_halves_that_differ_have_their_own_gradients() -> None:
    """A full-width table whose second half of sin is another: backward equals autograd of the published formula."""
    torch.manual_seed(1)
    q, k = (torch.randn(1, 2, 3, 8, dtype=torch.float64, requires_grad=True) for _ in range(2))
    cos, sin = torch.randn(1, 3, 8, dtype=torch.float64), torch.randn(1, 3, 8, dtype=torch.float64)
    sin[..., 4:] = 0.1 * sin[..., :4]

    def published(x: torch.Tensor) -> torch.Tensor:
        return x * cos[:, None] + torch.cat((-x[..., 4:], x[..., :4]), -1) * sin[:, None]

    got_q, got_k = rt.apply_rotary_pos_emb(q, k, cos, sin)
    torch.testing.assert_close((got_q, got_k), (published(q), published(k)))
    got = torch.autograd.grad((got_q * got_k).sum(), (q, k))
    want = torch.autograd.grad((published(q) * published(k)).sum(), (q, k))
    torch.testing.assert_close(got, want)
    cos.requires_grad_(), sin.requires_grad_()
    assert torch.autograd.gradcheck(rt.apply_rotary_pos_emb, (q, k, cos, sin))


@pytest.mark.parametrize("records", [False, True])
def test_tables_of_doubles_stay_doubles(records: bool) -> None:
    """f64 throughout: a table read as f32 would be off by 6e-8."""
    q, k = (torch.randn(1, 2, 3, 8, dtype=torch.float64, requires_grad=records) for _ in range(2))
    angle = torch.arange(5001, 5004, dtype=torch.float64)[None, :, None] * 10000.0 ** (-torch.arange(4.0).double() / 4)
    cos, sin = angle.cos().repeat(1, 1, 2), angle.sin().repeat(1, 1, 2)
    got = rt.apply_rotary_pos_emb(q, k, cos, sin)
    for x, y in zip((q, k), got):
        want = x * cos[:, None] + torch.cat((-x[..., 4:], x[..., :4]), -1) * sin[:, None]
        torch.testing.assert_close(y, want, rtol=0, atol=1e-15)
    complex_rows = torch.polar(torch.ones_like(angle), angle)
    got_q, _ = rt.apply_rotary_emb(q.transpose(1, 2), k.transpose(1, 2), complex_rows)
    pairs = torch.view_as_complex(q.transpose(1, 2).unflatten(-1, (4, 2)).contiguous())
    want = torch.view_as_real(pairs * complex_rows[:, :, None]).flatten(-2)
    torch.testing.assert_close(got_q, want, rtol=0, atol=1e-15)


def test_gradient_through_a_table() -> None:
    q, k = torch.randn(2, 2, 3, 64, dtype=torch.float64), torch.randn(2, 1, 3, 64, dtype=torch.float64)
    cos, sin = rt.RotaryEmbedding(LLAMA)(q, torch.tensor([[1, 2, 3], [7, 8, 9]]))
    q.requires_grad_(), k.requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b: rt.apply_rotary_pos_emb(a, b, cos, sin), (q, k), fast_mode=True)


@pytest.mark.parametrize("case", ["float32", "late", "bfloat16"])
def test_metas_function_and_tables(case: str) -> None:
    tensors, metadata = safetensors("classic.safetensors")
    about = json.loads(metadata[f"llama.{case}"])
    t = {name.split(".")[2]: tensor(array) for name, array in tensors.items() if name.startswith(f"llama.{case}.")}
    base = float(about["base"])
    freqs_cis = rt.precompute_freqs_cis(about["head_dim"], int(t["positions"].max()) + 1, base)[t["positions"]]
    assert freqs_cis.dtype == torch.complex64
    q, k = rt.apply_rotary_emb(t["xq"], t["xk"], freqs_cis)
    near = 1e-2 if case == "bfloat16" else 5e-4
    close(q.double().numpy(), t["xq_out"].double().numpy(), near)
    close(k.double().numpy(), t["xk_out"].double().numpy(), near)
    cos, sin = rt.cos_sin_of(freqs_cis)
    assert not cos.is_complex() and torch.equal(torch.complex(cos, sin), freqs_cis)


def test_report_198_no_complex_number_is_needed() -> None:
    """Everything that is traced is real: a graph of the function that takes complex tables computes in real numbers."""
    traced: list[Any] = []

    def backend(graph: Any, inputs: Any) -> Any:
        traced.append(graph)
        return graph.forward

    def step(q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor) -> Any:
        cos, sin = embedding(q, positions)
        return rt.apply_rotary_pos_emb(q, k, cos, sin)

    embedding = rt.RotaryEmbedding(LLAMA)
    q, k = torch.randn(1, 4, 3, 64), torch.randn(1, 2, 3, 64)
    compiled = torch.compile(step, fullgraph=True, backend=backend)
    for first in (0, 4000):
        positions = torch.arange(first, first + 3)[None]
        torch.testing.assert_close(compiled(q, k, positions), step(q, k, positions))
    assert len(traced) == 1
    for node in traced[0].graph.nodes:
        value = node.meta.get("example_value")
        assert not (isinstance(value, torch.Tensor) and value.is_complex())


def test_report_189_frequencies_come_from_the_config() -> None:
    """Never from memory that nobody has set: a deferred init, a cast and a move leave them alone."""
    with torch.device("meta"):
        embedding = rt.RotaryEmbedding(LLAMA)
    embedding = embedding.to_empty(device="cpu")
    want = rt.RotaryEmbedding(LLAMA)(torch.zeros(1), torch.arange(4096)[None])
    for model in (embedding, embedding.half(), embedding.bfloat16(), copy.deepcopy(embedding)):
        got = model(torch.zeros(1), torch.arange(4096)[None])
        assert torch.equal(got[0], want[0]) and torch.equal(got[1], want[1])
    rope = embedding.rope_of(None)
    assert rope.inv_freq[0] == 1.0 and np.all(np.diff(rope.inv_freq) < 0) and np.all(np.isfinite(rope.inv_freq))


def test_report_195_construction_on_a_shape_only_device() -> None:
    """On a device without memory a table has a shape and no numbers, and no garbage is left for later."""
    with torch.device("meta"):
        embedding = rt.RotaryEmbedding(LLAMA)
        cos, sin = embedding(torch.zeros(1), torch.arange(7)[None])
    assert cos.device.type == "meta" and cos.shape == (1, 7, 64)
    assert torch.isfinite(embedding(torch.zeros(1), torch.arange(7)[None])[0]).all()


def test_report_193_old_buffers_are_accepted_and_dropped() -> None:
    class Attention(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.proj = torch.nn.Linear(2, 2)
            self.rotary_emb = rt.RotaryEmbedding(LLAMA)

    model = Attention()
    assert sorted(model.state_dict()) == ["proj.bias", "proj.weight"]
    assert list(model.rotary_emb.buffers()) == [] and list(model.rotary_emb.parameters()) == []
    old = dict(model.state_dict())
    for name in ("inv_freq", "cos_cached", "sin_cached", "original_inv_freq"):
        old[f"rotary_emb.{name}"] = torch.full((32,), float("nan"))
    model.load_state_dict(old, strict=True)
    assert torch.isfinite(model.rotary_emb(torch.zeros(1), torch.arange(3)[None])[0]).all()
    with pytest.raises(RuntimeError, match="rotary_emb.other"):
        model.load_state_dict(old | {"rotary_emb.other": torch.zeros(1)}, strict=True)


def test_a_module_saved_whole_comes_back() -> None:
    import io

    file = io.BytesIO()
    torch.save(rt.RotaryEmbedding(CONFIG), file)
    file.seek(0)
    back = torch.load(file, weights_only=False)
    assert back.ropes == rt.RotaryEmbedding(CONFIG).ropes


def test_layers_with_ropes_of_their_own() -> None:
    x, ids = torch.zeros(1), torch.arange(900, 903)[None]
    embedding = rt.RotaryEmbedding(CONFIG)
    by_type = {name: embedding(x, ids, name)[0] for name in ("sliding_attention", "full_attention")}
    assert not torch.equal(by_type["sliding_attention"], by_type["full_attention"])
    alone = rt.RotaryEmbedding(CONFIG, layer_type="full_attention")
    assert torch.equal(alone(x, ids)[0], by_type["full_attention"])
    assert "local: Rope(" in repr(embedding)
    with pytest.raises(ValueError, match="the ropes are local, global"):
        rt.RotaryEmbedding(CONFIG, layer_type="middle")
    with pytest.raises(ValueError, match="the ropes are local, global"):
        embedding(x, ids)


def test_what_would_not_be_read_is_refused() -> None:
    rope = rotary.Rope(64)
    assert rt.RotaryEmbedding(rope, angles="exact", layer_type="full_attention").ropes == {"default": rope}
    for given, message in (
        ({"angles": "fp32"}, "angles 'fp32': this rope's are 'exact', expected the same or None"),
        ({"length": -5}, "length -5: this rope has its frequencies already, expected None"),
        ({"layer_type": "nonsense"}, "layer_type 'nonsense': the ropes are default"),
        ({"layer_type": ""}, "layer_type '': the ropes are default"),
    ):
        untyped: Any = rt.RotaryEmbedding
        with pytest.raises(ValueError, match=f"^{message}$"):
            untyped(rope, **given)
    x, ids = torch.zeros(1), torch.arange(900, 903)[None]
    one = rt.RotaryEmbedding(LLAMA)
    assert torch.equal(one(x, ids, "sliding_attention")[0], one(x, ids)[0])
    with pytest.raises(ValueError, match="layer_type 'nonsense': the ropes are default"):
        one(x, ids, "nonsense")
    with pytest.raises(ValueError, match="layer_type 'full_attention': the ropes are local"):
        rt.RotaryEmbedding(rotary.Rope.from_config(CONFIG, name="local"), layer_type="full_attention")


def test_learned_frequencies_have_no_xpos_and_no_table() -> None:
    with pytest.raises(ValueError, match="rope: Xpos.scale_base=512.0, .*, expected a rope without xPos"):
        rt.LearnedRotary(rotary.Rope(64, xpos=rotary.Xpos(512)))
    with pytest.raises(ValueError, match="rope: of a table, expected one with frequencies"):
        rt.LearnedRotary(rotary.Rope.from_table(np.ones((3, 2)), np.zeros((3, 2))))


def test_tables_are_copied_and_saved_as_tables() -> None:
    """Copies of the tables that remember their angles are plain ones, for pickle, deepcopy and torch.load's safe mode."""
    q = torch.randn(1, 2, 3, 16)
    embedding = rt.RotaryEmbedding(rotary.Rope(16))
    cos, sin = embedding(q, torch.arange(700, 703)[None])
    file = io.BytesIO()
    torch.save((cos, sin), file)
    file.seek(0)
    want = rt.apply_rotary_pos_emb(q, q, cos.clone(), sin.clone())[0]
    copies = (copy.deepcopy((cos, sin)), pickle.loads(pickle.dumps((cos, sin))), torch.load(file, weights_only=True))
    for cos_again, sin_again in copies:
        assert torch.equal(cos, cos_again) and torch.equal(sin, sin_again)
        torch.testing.assert_close(rt.apply_rotary_pos_emb(q, q, cos_again, sin_again)[0], want)
    for module in (copy.deepcopy(embedding), pickle.loads(pickle.dumps(embedding))):
        assert torch.equal(module(q, torch.arange(700, 703)[None])[0], cos)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")  # by PyTorch itself, in its forward gradients
def test_forward_gradients_are_never_lost() -> None:
    """A rotation is linear, so the tangent turns as its tensor does; what cannot turn it says so."""
    rope = rotary.Rope(16)
    q, v = torch.randn(2, 1, 2, 5, 16)
    cos, sin = rt.RotaryEmbedding(rope)(q, torch.arange(700, 705)[None])
    freqs_cis = rt.precompute_freqs_cis(16, 705)[700:]
    want = rt.apply_rotary_pos_emb(v, v, cos, sin)[0]
    want_meta = rt.apply_rotary_emb(v.transpose(1, 2), v.transpose(1, 2), freqs_cis)[1]
    ad = torch.autograd.forward_ad
    with ad.dual_level():
        dual = ad.make_dual(q, v)
        got = ad.unpack_dual(rt.apply_rotary_pos_emb(dual, q, cos, sin)[0]).tangent
        turned = dual.transpose(1, 2)
        got_meta = ad.unpack_dual(rt.apply_rotary_emb(turned, turned, freqs_cis)[1]).tangent
        for call in (
            lambda: rope.rotate(dual, positions=700),
            lambda: rope.rotate_(q, dual, positions=700),
            lambda: torch.ops.rotary.rotate(dual, torch.arange(5), key_of(rope), "bhtd"),
            lambda: torch.ops.rotary.rotate_qk(q, dual, torch.arange(5), key_of(rope), "bhtd"),
        ):
            with pytest.raises(ValueError, match="a forward-mode gradient goes with it"):
                call()
        assert torch.equal(rope.rotate(q, positions=700), rope.rotate(ad.unpack_dual(dual).primal, positions=700))
    torch.testing.assert_close(got, want)
    torch.testing.assert_close(got_meta, want_meta)
    mapped = torch.vmap(lambda x: rt.apply_rotary_pos_emb(x, x, cos, sin)[0])(torch.stack([v, q]))
    torch.testing.assert_close(mapped[0], want)
