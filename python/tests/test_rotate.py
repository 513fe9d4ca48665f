# SPDX-License-Identifier: Apache-2.0
"""Rotation of arrays, against the formula in float64."""

from typing import Any

import numpy as np
import pytest
from support import DTYPES, TOLERANCE, Array, close, formula, normal, safetensors

import rotary

LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
ROPES = {
    "plain": rotary.Rope(64),
    "llama3": rotary.Rope(128, base=500000, scaling=LLAMA3),
    "yarn": rotary.Rope(64, scaling={"rope_type": "yarn", "factor": 4.0}),
    "interleaved": rotary.Rope(64, pairing="interleaved"),
    "regrouped": rotary.Rope(192, rotary_dim=64, rotary_offset=128, pairing="interleaved_to_half"),
    "part": rotary.Rope(96, rotary_dim=24),
    "own": rotary.Rope(inv_freq=[1.0, 0.25, 0.0, -0.5], attention_factor=1.5),
    "interleaved axes": rotary.Rope(128, base=1e6, axis_sections=(24, 20, 20), axis_order="interleaved"),
    "mrope": rotary.Rope(128, base=1e6, axis_sections=(16, 24, 24)),
}
POSITIONS = [0, 1, 511, 4095, 131071, 1 << 30]


def positions_for(rope: rotary.Rope) -> Array:
    ids = np.array([POSITIONS, POSITIONS[::-1]])
    return ids if rope.axes == 1 else np.stack([ids, ids // 3, ids // 7])


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda t: np.dtype(t).name)
@pytest.mark.parametrize("name", ROPES)
def test_rotation_is_the_formula(name: str, dtype: Any) -> None:
    rope, tolerance = ROPES[name], TOLERANCE[np.dtype(dtype).name]
    ids = positions_for(rope)
    q, k = normal(2, 3, 6, rope.head_dim, dtype=dtype), normal(2, 1, 6, rope.head_dim, dtype=dtype, seed=1)
    # float64 angles of the oracle lose digits with the position: 1e9 * 2^-53 is 1e-7 of a radian.
    tolerance += 3e-7
    want_q, want_k = formula(rope, q, ids), formula(rope, k, ids)

    q_before = q.copy()
    turned_q, turned_k = rope.rotate(q, k, positions=ids)
    assert turned_q.dtype == q.dtype and turned_q.shape == q.shape and type(turned_q) is np.ndarray
    close(turned_q, want_q, tolerance)
    close(turned_k, want_k, tolerance)
    assert np.array_equal(q, q_before), "out of place leaves the input"

    angles = rope.angles(ids)
    assert np.array_equal(rope.rotate(q, angles=angles), turned_q), "kept rows and rows on the way: the same bits"
    rope.rotate_(q, k, angles=angles)
    assert np.array_equal(q, turned_q) and np.array_equal(k, turned_k), "in place and out of place: the same bits"


@pytest.mark.parametrize("name", ROPES)
def test_inverse_and_gradient(name: str) -> None:
    rope = ROPES[name]
    ids = positions_for(rope)
    x = normal(2, 3, 6, rope.head_dim, dtype=np.float64)
    y, g = rope.rotate(x, positions=ids), normal(2, 3, 6, rope.head_dim, dtype=np.float64, seed=2)
    close(rope.inverse.rotate(y, positions=ids), x, 1e-14)
    # The gradient is the transpose: <g, R x> = <R^T g, x>.
    back = rope.gradient.rotate(g, positions=ids)
    assert abs(float((g * y).sum() - (back * x).sum())) < 1e-10 * float(np.abs(g * y).sum())
    assert rope.inverse.direction == "inverse" and rope.inverse.inverse == rope
    assert rope.gradient.direction == "gradient" and rope.gradient.inverse.direction == "inverse_gradient"


@pytest.mark.parametrize("layout", ["bhtd", "bthd", "thd"])
def test_layouts(layout: str) -> None:
    rope = ROPES["plain"]
    x = normal(1, 3, 6, 64)
    want = rope.rotate(x, positions=POSITIONS)

    def order(a: Array) -> Array:
        orders: dict[str, Array] = {"bhtd": a, "bthd": a.swapaxes(1, 2), "thd": a[0].swapaxes(0, 1)}
        return orders[layout]

    got = rope.rotate(np.ascontiguousarray(order(x)), positions=POSITIONS, layout=layout)
    assert np.array_equal(got, order(want))


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda t: np.dtype(t).name)
def test_strided_views_are_turned_where_they_are(dtype: Any) -> None:
    rope = ROPES["plain"]
    q, k = normal(1, 6, 4, 64, dtype=dtype), normal(1, 6, 2, 64, dtype=dtype, seed=1)
    want_q, want_k = rope.rotate(q, k, positions=POSITIONS, layout="bthd")
    qkv = np.zeros((1, 6, 8, 64), dtype=dtype)  # q, k and v of a token in one row
    qkv[:, :, :4], qkv[:, :, 4:6], qkv[:, :, 6:] = q, k, 7
    rope.rotate_(qkv[:, :, :4], qkv[:, :, 4:6], positions=POSITIONS, layout="bthd")
    assert np.array_equal(qkv[:, :, :4], want_q) and np.array_equal(qkv[:, :, 4:6], want_k)
    assert np.all(qkv[:, :, 6:] == np.asarray(7, dtype=dtype)), "nothing else is touched"
    # Backwards along every axis but the lanes, and every second lane.
    backwards = qkv[::-1, ::-1, :4]
    want = rope.rotate(backwards.copy(), positions=POSITIONS, layout="bthd")
    rope.rotate_(backwards, positions=POSITIONS, layout="bthd")
    assert np.array_equal(backwards, want)
    wide = np.zeros((1, 2, 6, 128), dtype=dtype)
    wide[..., ::2] = normal(1, 2, 6, 64, dtype=dtype)
    want = rope.rotate(wide[..., ::2].copy(), positions=POSITIONS)
    rope.rotate_(wide[..., ::2], positions=POSITIONS)
    assert np.array_equal(wide[..., ::2], want) and not wide[..., 1::2].any()


def test_buffers_that_are_no_arrays() -> None:
    """bytearray, array.array and memoryview: whatever has the buffer protocol."""
    rope = rotary.Rope(4)
    x = normal(1, 1, 2, 4)
    want = rope.rotate(x, positions=[5, 6])
    memory = memoryview(bytearray(x.tobytes())).cast("B").cast("f", (1, 1, 2, 4))
    rope.rotate_(memory, positions=[5, 6])
    assert np.array_equal(np.asarray(memory), want)
    assert np.array_equal(rope.rotate(x, positions=np.array([5, 6]).data), want)


def test_dlpack_alone() -> None:
    class Lent:
        def __init__(self, array: Array) -> None:
            self.array = array

        def __dlpack__(self, **kwargs: Any) -> Any:
            return self.array.__dlpack__(**kwargs)

        def __dlpack_device__(self) -> Any:
            return self.array.__dlpack_device__()

    rope = rotary.Rope(4)
    x = normal(1, 2, 2, 4)
    want = rope.rotate(x, positions=9)
    got = rope.rotate(Lent(x), positions=9)
    assert np.array_equal(np.asarray(got), want)
    rope.rotate_(Lent(x), positions=9)
    assert np.array_equal(x, want)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        rope.rotate_(Lent(x), positions=9)


@pytest.mark.parametrize("case", ["llama3_float32", "llama3_bfloat16", "llama_yarn", "gpt_neox", "glm", "deepseek_v3"])
def test_transformers_recorded_numbers(case: str) -> None:
    import json

    tensors, metadata = safetensors("transformers_rotation.safetensors")
    about = json.loads(metadata[case])
    rope = rotary.Rope.from_config(about["config"], pairing=about["pairing"], angles="fp32")
    if case == "deepseek_v3":  # the recording has the rope part of the head alone
        rope = rotary.Rope(64, base=rope.base or 0, scaling=rope.scaling, pairing=about["pairing"], angles="fp32")
    q, k, ids = (tensors[f"{case}.{name}"] for name in ("q", "k", "positions"))
    got_q, got_k = rope.rotate(q, k, positions=ids, layout=about["layout"])
    tolerance = 2e-2 if about["dtype"] == "bfloat16" else 3e-6
    close(got_q, tensors[f"{case}.q_rotated"].astype(np.float64), tolerance)
    close(got_k, tensors[f"{case}.k_rotated"].astype(np.float64), tolerance)


@pytest.mark.parametrize("layer,name", [(7, "local"), (11, "global")])
def test_a_real_model(layer: int, name: str) -> None:
    """q and k recorded inside Gemma 3 270M: the same bits up to a rounding, with its own way to compute angles."""
    from support import CONFIG

    tensors, _ = safetensors(f"gemma3_270m_{name}.safetensors")
    rope = rotary.Rope.from_config(CONFIG, layer=layer, angles="fp32")
    assert rope.name == name and rope == rotary.Rope.from_config(CONFIG, name=name, angles="fp32")
    q, k = rope.rotate(tensors["q"], tensors["k"], positions=tensors["positions"])
    close(q, tensors["q_rotated"].astype(np.float64), 5e-7)
    close(k, tensors["k_rotated"].astype(np.float64), 5e-7)
