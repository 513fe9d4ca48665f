# SPDX-License-Identifier: Apache-2.0
"""Descriptions of models, explain, table, and what a notebook shows."""

import json
import re
import subprocess
import warnings
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import CONFIG, DATA, ROOT

import rotary

SPECTRA = json.loads((DATA / "hf_spectra.json").read_text())["entries"]


@pytest.mark.parametrize("entry", SPECTRA, ids=lambda e: e["name"])
def test_transformers_frequencies(entry: Any) -> None:
    for rope in entry["ropes"]:
        model = rotary.Model.from_config(entry["config"], length=rope["length"])
        near = [
            r
            for r in model.ropes
            if r.pairs == len(rope["inv_freq"]) and np.allclose(r.inv_freq, rope["inv_freq"], rtol=1e-5, atol=0)
        ]
        assert near, f"none of {model.ropes} has the frequencies of {rope['layer_type']}"
        assert any(r.attention_factor == pytest.approx(rope["attention_factor"], rel=1e-6) for r in near)
        assert any(r.softmax_factor == pytest.approx(rope["softmax_factor"], rel=1e-6) for r in near)
        assert near[0].rotary_dim == rope["rotary_dim"]


def test_every_way_to_say_which_model() -> None:
    class Config:
        def to_dict(self) -> dict[str, Any]:
            read: dict[str, Any] = json.loads(CONFIG.read_text())
            return read | {"dtype": np.float32}  # not JSON, and not about ropes

    by_path = rotary.Model.from_config(str(CONFIG))
    assert rotary.explain(by_path)["source"]["kind"] == "hf_config" and by_path.model_type == "gemma3_text"
    for config in (CONFIG, json.loads(CONFIG.read_text()), Config(), DATA / "gemma3_270m_header.gguf"):
        model = rotary.Model.from_config(config)
        assert model.ropes == by_path.ropes and model.layers == by_path.layers
    assert rotary.explain(DATA / "gemma3_270m_header.gguf")["source"]["kind"] == "gguf"
    preset = rotary.Model.from_config("llama-3.1-8b")
    assert preset.origin == "llama-3.1-8b" and preset.rope() == preset.rope(layer=31) == preset.rope(name="default")


def test_what_a_model_says() -> None:
    model = rotary.Model.from_config(CONFIG)
    assert [rope.name for rope in model.ropes] == ["local", "global"]
    assert model.layers == [0, 0, 0, 0, 0, 1] * 3
    assert [rope.base for rope in model.ropes] == [1e4, 1e6]
    base = next(v for v in model.values if v.key == "base" and v.rope == "global")
    assert base.value == 1e6 and "rope_theta" in base.source and not base.assumed
    assert model.warnings == [] and model.ropes[0].context == 32768
    assert repr(model).endswith("ropes: local, global, layers: 18)")


def test_numbers_that_json_has_not() -> None:
    """Falcon H1's config holds an infinity, elsewhere; in a key of the rope it is no number."""
    config = {"model_type": "llama", "head_dim": 64, "num_hidden_layers": 2, "time_step_limit": [0.0, float("inf")]}
    rope = rotary.Rope.from_config(config | {"low": -float("inf"), "none": float("nan")})
    assert np.array_equal(rope.inv_freq, rotary.Rope(64).inv_freq)
    for bad, word in ((float("inf"), "Infinity"), (-float("inf"), "-Infinity"), (float("nan"), "NaN")):
        with pytest.raises(ValueError, match=f"rope_theta: expected a number, got {word}"):
            rotary.Model.from_config(config | {"rope_theta": bad})
        with pytest.raises(ValueError, match=f"rope_scaling.factor: expected a number, got {word}"):
            rotary.Model.from_config(config | {"rope_scaling": {"type": "linear", "factor": bad}})


def test_a_repr_makes_the_rope_again() -> None:
    """Of every preset but those whose context or name, which a repr leaves out, is not the rope's."""
    assert repr(rotary.Rope(128, axis_sections=(16, 24, 24))).startswith("Rope(head_dim=128, axis_sections=(16, 24, 24), base=")
    shown = [repr(r) for p in rotary.presets() for r in rotary.Model.from_config(p.name).ropes]
    assert any("axis_sections=(24, 20, 20), axis_order='interleaved'" in each for each in shown)
    assert any("axis=(1,) * 64 + (0,) * 64" in each for each in shown) and any("], axis_order='interleaved', axis=(1, 0, 1, 0" in each for each in shown)
    made = [eval(each, {"Rope": rotary.Rope}) for each in shown if "dynamic" not in each and "longrope" not in each]
    known = [r for p in rotary.presets() for r in rotary.Model.from_config(p.name).ropes]
    known = [r for r in known if r.scaling["rope_type"] not in ("dynamic", "longrope")]
    assert made == known
    assert eval(repr(rotary.Rope(8, axis=[0, 1, 1, 0])), {"Rope": rotary.Rope}) == rotary.Rope(8, axis=[0, 1, 1, 0])


def test_a_repr_makes_no_other_rope() -> None:
    """Of what no few words make it is not Python."""
    names = {"Rope": rotary.Rope, "Xpos": rotary.Xpos}
    grown = rotary.Rope(64, xpos=rotary.Xpos(256, centre=3, keys=True))
    assert "xpos=Xpos(scale_base=256.0, centre=3.0, gamma=0.4, keys=True)" in repr(grown)
    assert eval(repr(grown), names) == grown != rotary.Rope(64)
    own = rotary.Rope(64, inv_freq=10000.0 ** (-np.arange(16) / 16), attention_factor=1.5)
    assert repr(own).startswith("Rope(head_dim=64, rotary_dim=32, inv_freq=<16 numbers>, attention_factor=1.5, pairing=")
    long = rotary.Rope(64, scaling={"rope_type": "dynamic", "factor": 2.0, "max_position_embeddings": 4096}, length=9000)
    assert ", inv_freq=<32 numbers>" in repr(long)
    table = rotary.Rope.from_table(np.ones((3, 2)), np.zeros((3, 2)))
    for rope in (own, long, table):
        with pytest.raises((SyntaxError, ValueError)):
            eval(repr(rope), names)


def test_doubts_are_warnings() -> None:
    config = {"model_type": "llama", "head_dim": 64, "num_hidden_layers": 2, "rope_scaling": {"type": "linear", "factor": 2.0, "fatcor": 3}}
    model = rotary.Model.from_config(config)
    assert len(model.warnings) == 1 and "fatcor" in model.warnings[0]
    with pytest.warns(rotary.ConfigWarning, match="fatcor"):
        rotary.Rope.from_config(config)
    with pytest.raises(ValueError, match="fatcor"):
        rotary.Rope.from_config(config, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rotary.Rope.from_config("llama-3.1-8b")


def test_options_of_a_description() -> None:
    rope = rotary.Rope.from_config("llama-3.1-8b", pairing="interleaved", angles="fp32")
    assert (rope.pairing, rope.policy) == ("interleaved", "fp32")
    dynamic: dict[str, Any] = {"model_type": "llama", "head_dim": 64, "num_hidden_layers": 2, "max_position_embeddings": 2048}
    dynamic["rope_scaling"] = {"rope_type": "dynamic", "factor": 2.0}
    short, long = (rotary.Rope.from_config(dynamic, length=n) for n in (2048, 4096))
    assert short.inv_freq[1] > long.inv_freq[1]


def test_explain_is_the_commands_text() -> None:
    report = rotary.explain("llama-3.1-8b")
    golden = ROOT / "tests" / "cli" / "golden"
    assert str(report) == repr(report) == (golden / "llama-3.1-8b.txt").read_text()
    assert report == json.loads((golden / "llama-3.1-8b.json").read_text())
    assert report["schema"] == "rotary.explain/1" and len(report["ropes"][0]["inv_freq"]) == 64
    assert rotary.explain(rotary.Model.from_config("llama-3.1-8b")) == report
    by_numbers = str(rotary.explain(rotary.Rope(128)))
    assert by_numbers.startswith("Rope: a rope by its numbers\n") and "64 pairs" in by_numbers


def test_other_systems_read_the_same_file() -> None:
    yarn = {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 16384, "attention_factor": 1.0}
    model = rotary.Model.from_config({"model_type": "llama", "head_dim": 128, "num_hidden_layers": 2,
                                      "max_position_embeddings": 262144, "rope_scaling": yarn})
    theirs = model.as_peer("sglang")
    assert theirs.rope() != model.rope() and theirs.rope().attention_factor != model.rope().attention_factor
    shown = rotary.explain(model, peer="sglang")
    assert shown["ropes"][0]["attention_factor"] == theirs.rope().attention_factor
    assert "sglang" in str(shown)
    with pytest.raises(ValueError, match='peer "tgi": expected transformers, llama.cpp, vllm, sglang or mlx'):
        model.as_peer("tgi")


def test_table_is_what_the_rotation_uses() -> None:
    made = rotary.table(CONFIG, range(500, 504), layer=0, angles="fp32")
    assert made.rope == rotary.Rope.from_config(CONFIG, name="local", angles="fp32")
    angle = np.arange(500, 504, dtype=np.float32)[:, None] * made.rope.inv_freq.astype(np.float32)
    np.testing.assert_allclose(made.cos, np.cos(angle), atol=6e-5)
    assert made.sin.dtype == np.float32 and made.sin.shape == (4, 128)
    assert repr(made) == 'cos and sin, [4, 128] f32, rope "local", angles fp32, A = 1 included'
    with pytest.raises(ValueError, match="2 rows; a table is made of one"):
        rotary.table(made.rope, [[1, 2], [3, 4]])


@pytest.mark.parametrize("name", [preset.name for preset in rotary.presets()])
def test_a_notebook_shows_wavelengths(name: str) -> None:
    for rope in rotary.Model.from_config(name).ropes:
        picture = ElementTree.fromstring(rope._repr_svg_())
        space = "{http://www.w3.org/2000/svg}"
        curve = picture.findall(f"{space}polyline")[-1].attrib["points"].split()
        turning = int((rope.inv_freq != 0).sum())
        assert len(curve) == turning
        heights = [float(point.split(",")[1]) for point in curve]
        assert all(0 <= y <= 320 for y in heights), "inside the picture"
        if not np.any(np.diff(rope.inv_freq) > 0):
            assert heights == sorted(heights, reverse=True), "slower pairs stand higher"
        words = " ".join(text.text or "" for text in picture.findall(f"{space}text"))
        assert rope.context is None or f"context {rope.context}" in words


def test_properties_and_copies() -> None:
    import copy

    rope = rotary.Rope(96, rotary_dim=32, rotary_offset=64, base=5e5, scaling={"rope_type": "linear", "factor": 2})
    assert (rope.head_dim, rope.rotary_dim, rope.rotary_offset, rope.pairs, rope.axes) == (96, 32, 64, 16, 1)
    assert rope.scaling == {"rope_type": "linear", "factor": 2.0} and rope.base == 5e5
    assert rotary.Rope(inv_freq=[1.0]).base is None
    assert copy.copy(rope) is rope and copy.deepcopy([rope])[0] is rope
    same = rotary.Rope(96, rotary_dim=32, rotary_offset=64, base=5e5, scaling=rope.scaling)
    assert rope == same and hash(rope) == hash(same) and rope != rotary.Rope(96) and rope != 5
    rope.inv_freq[0] = 7
    assert rope.inv_freq[0] == 0.5, "a copy"
    assert repr(rope).startswith("Rope(head_dim=96, rotary_dim=32, rotary_offset=64, base=500000.0, scaling={")
    assert any(kernel.accepted for kernel in rotary.kernels()) and rotary.kernels()[-1].name == "reference"


@pytest.mark.parametrize("name", [preset.name for preset in rotary.presets()])
def test_pickle_keeps_the_numbers(name: str) -> None:
    import pickle

    of_formula = [rope for rope in rotary.Model.from_config(name).ropes if rope.base is not None]
    for rope in [*of_formula, rotary.Rope(inv_freq=[1, 0.5], attention_factor=2).inverse]:
        assert pickle.loads(pickle.dumps(rope)) == rope
    schedule = {"rotary_dim": 8, "base": 500.0, "scaling": "dinov3"}
    joined = rotary.Rope(parts=[schedule, schedule | {"scaling": {"rope_type": "linear", "factor": 2}}])
    assert pickle.loads(pickle.dumps(joined)) == joined and "parts=[{" in repr(joined)
    assert [part["scaling"]["rope_type"] for part in joined.parts] == ["dinov3", "linear"]
    assert joined.base == 500 and rotary.Rope(8).parts == []
    with pytest.raises(ValueError, match="\"scaling\" is missing"):
        rotary.Rope(parts=[{"rotary_dim": 8, "base": 500.0}])
    table = rotary.Rope.from_table(np.ones((3, 2)), np.ones((3, 2)))
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(table)


def test_xpos() -> None:
    """A score of a query's and a key's rope depends on the distance alone, and falls with it."""
    queries = rotary.Rope(16, xpos={"scale_base": 64})
    keys = rotary.Rope(16, xpos={"scale_base": 64, "keys": True})
    q = k = np.ones((1, 1, 1, 16))

    def score(at: int, distance: int) -> float:
        return float((queries.rotate(q, positions=at) * keys.rotate(k, positions=at - distance)).sum())

    assert score(100, 3) == pytest.approx(score(400, 3), rel=1e-9)
    assert queries.xpos == rotary.Xpos(64.0, 0.0, 0.4, False) == rotary.Xpos(64) and rotary.Rope(16).xpos is None
    assert rotary.Rope(16, xpos=rotary.Xpos(64, keys=True)) == keys
    assert queries.replace(pairing="interleaved").xpos == queries.xpos
    assert queries != keys and queries != rotary.Rope(16)
    with pytest.raises(ValueError, match='xpos: unknown key "base"'):
        rotary.Rope(16, xpos={"base": 1})
    with pytest.raises(TypeError, match="xpos: int, expected a rotary.Xpos, a dict or None"):
        rotary.Rope(16, xpos=5)  # type: ignore[arg-type]


def test_xpos_that_cannot_be() -> None:
    wrong: list[tuple[Any, str]] = [
        (rotary.Xpos("512"), "xpos: scale_base: str, expected a number"),  # type: ignore[arg-type]
        ({"keys": 1}, "xpos: keys: int, expected a bool"),
    ]
    for xpos, message in wrong:
        with pytest.raises(TypeError, match=message):
            rotary.Rope(16, xpos=xpos)


def test_the_moving_centre_of_xpos_is_flash_attentions() -> None:
    for case in json.loads((DATA / "flash_attn_xpos.json").read_text())["cases"]:
        for keys, end in ((False, ""), (True, "_k")):
            xpos = rotary.Xpos.moving(case["tokens"], case["scale_base"], keys=keys)
            angles = rotary.Rope(case["dim"], xpos=xpos, angles="fp32").angles(case["positions"])
            for table, name in ((angles.cos(), "cos"), (angles.sin(), "sin")):
                np.testing.assert_allclose(table[0], case[name + end], rtol=2e-6, atol=1e-6)


def test_report_191_ropes_that_differ_in_one_field_never_share_angles() -> None:
    """Two objects that differ in exactly one field never share a row."""
    own = {"head_dim": 64, "base": 10000.0}
    changed: list[dict[str, Any]] = [
        {"base": 10001.0},
        {"scaling": {"rope_type": "linear", "factor": 2}},
        {"rotary_dim": 32},
        {"axis_sections": (16, 16)},
        {"angles": "fp32"},
        {"xpos": {"scale_base": 512}},
        {"attention_factor": 1.5, "inv_freq": rotary.Rope(64).inv_freq, "base": None},
    ]
    first = rotary.Rope(64)
    for change in changed:
        other = rotary.Rope(**{**own, **change})
        assert other != first
        x = np.ones((1, 1, 1, 64), np.float32)
        with pytest.raises(ValueError, match="angles of another rope"):
            first.rotate_(x, angles=other.angles(np.zeros((other.axes, 1, 1))))


def test_report_206_ten_million_positions_cost_nothing() -> None:
    """A context of ten million: made at once, and no table."""
    import time
    import tracemalloc

    config = {"model_type": "llama", "head_dim": 128, "num_hidden_layers": 2, "max_position_embeddings": 10_000_000, "rope_theta": 5e5}
    tracemalloc.start()
    began = time.perf_counter()
    rope = rotary.Rope.from_config(config)
    x = rope.rotate(np.ones((1, 1, 1, 128), np.float32), positions=9_999_999)
    assert time.perf_counter() - began < 0.1 and tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()
    assert np.isfinite(x).all()


def test_the_package_brings_what_it_needs() -> None:
    """Beside the C and C++ runtime, nothing of this machine is linked."""
    import rotary._core as core

    assert core.__file__ is not None
    listed = subprocess.run(["ldd", core.__file__], capture_output=True, text=True, check=True).stdout
    runtime = re.compile(r"(linux-vdso|/lib.*/ld-linux|lib(c|m|stdc\+\+|gcc_s|pthread|dl|rt)\.so)")
    others = [line.split()[2] for line in listed.splitlines() if not runtime.search(line)]
    package = str(Path(core.__file__).parent)
    assert all(path.startswith(package) for path in others), listed


def test_import_is_quick_and_brings_neither_torch_nor_numpy() -> None:
    import sys

    code = (
        "import time, sys; t = time.process_time(); import rotary; t = time.process_time() - t; "
        "print(t, 'torch' in sys.modules, 'numpy' in sys.modules)"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    seconds, *loaded = min(run.stdout.split() for run in runs)
    assert float(seconds) < 0.1 and loaded == ["False", "False"]
