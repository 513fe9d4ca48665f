# SPDX-License-Identifier: Apache-2.0
"""What other systems make of the same description, the queries' temperature, and FoPE."""

import math

import numpy as np
import pytest
from support import close, normal

import rotary

YARN = {
    "model_type": "deepseek_v3", "num_hidden_layers": 2, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "rope_theta": 10000.0,
    "max_position_embeddings": 163840,
    "rope_scaling": {"type": "yarn", "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0, "beta_fast": 32, "beta_slow": 1,
                     "original_max_position_embeddings": 4096},
}  # fmt: skip
LONG = {
    "model_type": "phi3", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "max_position_embeddings": 131072,
    "original_max_position_embeddings": 4096,
    "rope_scaling": {"type": "longrope", "short_factor": [1.0] * 8, "long_factor": [4.0] * 8},
}  # fmt: skip


def test_a_rope_as_a_peer_has_it() -> None:
    model = rotary.Model.from_config(YARN)
    theirs = model.rope_as("llama.cpp")
    assert theirs.peer == "llama.cpp" and (theirs.rope is None) == (theirs.error is not None)
    same = rotary.difference(model.rope(), model.rope(), 163839)
    assert (same.attention_factor, same.softmax_factor, same.pairs, same.angle) == (1, 1, 0, 0)
    # A frequency of another base: pair 31 of 32 by 1e4^(-31/32) against 5e5^(-31/32).
    other = rotary.difference(rotary.Rope(64), rotary.Rope(64, base=500000.0), 1000)
    slow = 1000 * (500000.0 ** (-other.worst_pair / 32) - 10000.0 ** (-other.worst_pair / 32))
    assert other.pairs == 31 and other.angle == pytest.approx(slow, rel=1e-12)
    scaled = rotary.difference(rotary.Rope(64), rotary.Rope(64, scaling={"rope_type": "yarn", "factor": 4.0}), 1000)
    assert scaled.attention_factor == pytest.approx(0.1 * math.log(4) + 1, rel=1e-12)
    with pytest.raises(ValueError, match="theirs: 64 pairs, expected ours' 32"):
        rotary.difference(rotary.Rope(64), rotary.Rope(128), 5)
    for bad in (("ollama",), ("vllm", "middle")):
        with pytest.raises(ValueError, match="transformers, llama.cpp|the model's ropes are default"):
            model.rope_as(*bad)


def test_whose_length_decides() -> None:
    model = rotary.Model.from_config(LONG)
    by = {peer: model.rope_as(peer, length=8192) for peer in ("transformers", "vllm", "llama.cpp")}
    assert by["transformers"].length_rule == "by_batch" and by["vllm"].length_rule == "by_maximum"
    assert by["vllm"].length_words and by["vllm"].rope is not None
    short, long = model.rope_at(4096), model.rope_at(4097)
    assert short.inv_freq[1] == 4 * long.inv_freq[1], "the long list begins beyond the original context"


def test_a_dict_without_a_number_of_layers_is_no_fault() -> None:
    """Warnings are errors in these tests."""
    config = {"model_type": "llama", "head_dim": 64, "rope_theta": 500000.0, "max_position_embeddings": 8192}
    assert rotary.Rope.from_config(config).base == 500000.0
    with pytest.warns(rotary.ConfigWarning, match="fatcor"):
        rotary.Rope.from_config(config | {"rope_scaling": {"type": "linear", "factor": 2.0, "fatcor": 2.0}})


def test_temperature() -> None:
    """Llama 4's attn_scale 0.1 and floor_scale 8192, on layers without a rope: log1p(floor((p + 1) / 8192)) * 0.1 + 1."""
    config = {"model_type": "llama4_text", "num_hidden_layers": 4, "head_dim": 128, "rope_theta": 500000.0, "no_rope_layers": [1, 1, 1, 0],
              "attn_temperature_tuning": True, "floor_scale": 8192, "attn_scale": 0.1}  # fmt: skip
    model = rotary.Model.from_config(config)
    assert model.temperature_for_layer(0) is None
    query = model.temperature_for_layer(3)
    assert query is not None and (query.scale, query.length, query.first) == (0.1, 8192, 1)
    assert [query.at(p) for p in (0, 8190, 8191, 100000)] == [1, 1, 1 + 0.1 * math.log(2), 1 + 0.1 * math.log1p(12)]
    assert repr(rotary.QueryTemperature(0.1, 16384)) == "QueryTemperature(scale=0.1, length=16384.0, first=0.0)"
    with pytest.raises(ValueError, match="length: expected more than 0"):
        rotary.QueryTemperature(0.1, 0)
    with pytest.raises(ValueError, match="layer 4"):
        model.temperature_for_layer(4)


def test_fope() -> None:
    """Two key heads; sums of the kept frequencies by learned matrices, in float64, and the rest stands still."""
    inv_freq = 10000.0 ** (-np.arange(16) / 16)
    kept = int((inv_freq >= 2 * np.pi / 512).sum())
    cos, sin = normal(2, kept, kept, dtype=np.float64), normal(2, kept, kept, dtype=np.float64, seed=1)
    ropes = rotary.fope_ropes(32, cos, sin, context=512, rows=1024)
    assert len(ropes) == 2 and all(rope.policy == "table" for rope in ropes)
    angle = np.arange(1000, 1003)[:, None] * inv_freq[:kept]
    for rope, c, s in zip(ropes, cos.astype(np.float32), sin.astype(np.float32), strict=True):
        got = rope.angles(range(1000, 1003))
        close(got.cos()[0][:, :kept], np.cos(angle) @ c, 1e-6)
        close(got.sin()[0][:, :kept], np.sin(angle) @ s, 1e-6)
        assert (got.cos()[0][:, kept:] == 1).all() and (got.sin()[0][:, kept:] == 0).all()
    with pytest.raises(ValueError, match="expected the same \\[heads, kept, kept\\]"):
        rotary.fope_ropes(32, cos, sin[:1], context=512, rows=8)
    with pytest.raises(ValueError, match="cos has 8 coefficients, expected heads 2 \\* 8 \\* 8"):
        rotary.fope_ropes(32, cos[:, :2, :2], sin[:, :2, :2], context=512, rows=8)
