# SPDX-License-Identifier: Apache-2.0
"""What else is done with an accelerated model: copies, function transforms, a forward that somebody else has put there."""

import copy
import gc
import importlib
import pickle
import weakref
from typing import Any

import pytest
from heavy import need

need("torch")
need("transformers")

import torch  # noqa: E402
from test_transformers import batch, tiny  # noqa: E402

import rotary.transformers as rt  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # of Transformers, about its own configs


@pytest.mark.parametrize("how", ["deepcopy", "pickle"])
def test_a_copy_of_an_accelerated_model_has_its_own_modules(how: str) -> None:
    model = tiny("gemma3_text")
    ids, _ = batch()
    want = model(ids).logits
    report = rt.accelerate(model)
    again = copy.deepcopy(model) if how == "deepcopy" else pickle.loads(pickle.dumps(model))
    rope = again.model.rotary_emb
    assert rope.forward.__self__ is rope and rope is not model.model.rotary_emb
    assert torch.equal(again(ids).logits, want) and report.calls == 0, "a copy is as the model was"
    for frequencies in rope.buffers():
        frequencies.mul_(2)
    assert not torch.allclose(again(ids).logits, want, atol=1e-3)
    torch.testing.assert_close(model(ids).logits, want, rtol=0, atol=1e-5)
    assert report.calls > 0
    with pytest.raises(ValueError, match="not accelerated"):
        rt.restore(again)
    assert rt.accelerate(again).replaced
    rt.restore(again)
    rt.restore(model)
    assert "forward" not in vars(model.model.rotary_emb)


def encoder() -> Any:
    place = importlib.import_module("transformers.models.qwen2_vl.modeling_qwen2_vl")
    sizes = dict(depth=2, embed_dim=64, hidden_size=64, num_heads=4, mlp_ratio=2, patch_size=4)
    return place.Qwen2VisionTransformerPretrainedModel(place.Qwen2VLVisionConfig(**sizes))


@pytest.mark.parametrize("how", ["deepcopy", "pickle"])
def test_a_copy_of_an_image_encoder_marks_nothing(how: str) -> None:
    model = encoder().eval()
    pixels, grid = torch.randn(24, 3 * 2 * 4 * 4), torch.tensor([[1, 4, 6]])
    with torch.no_grad():
        want = model(pixels, grid_thw=grid).last_hidden_state
        report = rt.accelerate(model)
        assert any(m._forward_pre_hooks for m in model.modules())
        again: Any = copy.deepcopy(model) if how == "deepcopy" else pickle.loads(pickle.dumps(model))
        assert torch.equal(again(pixels, grid_thw=grid).last_hidden_state, want) and report.calls == 0
        model(pixels, grid_thw=grid)
        assert report.calls == 2
    rt.restore(model)


@pytest.mark.parametrize("family", ["llama", "qwen2_vl"])
def test_an_accelerated_model_that_is_dropped_is_freed(family: str) -> None:
    """Its modeling file has its own functions again, once the last accelerated model of it is gone."""
    place = importlib.import_module(f"transformers.models.{family}.modeling_{family}")
    name = "apply_rotary_pos_emb" if family == "llama" else "apply_rotary_pos_emb_vision"
    own = getattr(place, name)
    models = [tiny("llama") if family == "llama" else encoder() for _ in range(2)]
    for model in models:
        rt.accelerate(model)
    model = None
    for left in (1, 0):
        freed = weakref.ref(models.pop())
        gc.collect()
        assert freed() is None
        assert (getattr(place, name) is own) == (left == 0)
    alone = tiny("llama").model.rotary_emb  # its own model
    rt.accelerate(alone)
    freed = weakref.ref(alone)
    del alone
    gc.collect()
    assert freed() is None


def test_restore_gives_back_a_forward_of_somebody_else() -> None:
    model = tiny("llama")
    module = model.model.rotary_emb
    own = module.forward
    module.forward = hooked = lambda *args, **kwargs: own(*args, **kwargs)
    rt.accelerate(model)
    rt.restore(model)
    assert module.forward is hooked


def test_function_transforms_of_an_accelerated_model() -> None:
    from torch.func import functional_call, grad, jvp

    model = tiny("qwen3", attn_implementation="eager")
    ids, _ = batch()
    values = {name: p.detach() for name, p in model.named_parameters()}
    tangents = {name: torch.ones_like(p) for name, p in values.items()}

    def loss(parameters: Any) -> torch.Tensor:
        made: torch.Tensor = functional_call(model, parameters, (ids,)).logits
        return made.square().mean()

    want, along = grad(loss)(values), jvp(loss, (values,), (tangents,))[1]
    rt.accelerate(model)
    got, along_got = grad(loss)(values), jvp(loss, (values,), (tangents,))[1]
    for name in values:
        torch.testing.assert_close(got[name], want[name], rtol=0, atol=1e-6, msg=name)
    torch.testing.assert_close(along_got, along, rtol=1e-5, atol=0)
    rt.restore(model)
