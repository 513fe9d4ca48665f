# SPDX-License-Identifier: Apache-2.0
"""Norm, rotation, scale and cast in one pass: Transformers' norms, ml_dtypes' casts, and the bits of the steps."""

import copy
import json
import pickle
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support import Array, close, normal, safetensors

import rotary
from rotary import Operand, RmsNorm

ROPE = rotary.Rope(64, rotary_dim=48, base=500000)
ANGLES = ROPE.angles(range(4090, 4097))
F8 = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
TENSORS, METADATA = safetensors("fused.safetensors")


def bits(x: Array) -> Array:
    return x.view(f"u{x.dtype.itemsize}")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("model", ["qwen3", "gemma3"])
def test_norm_and_rotation_of_transformers(model: str, dtype: str) -> None:
    about = json.loads(METADATA[f"norm.{model}"])
    rope = rotary.Rope.from_table(TENSORS[f"norm.{model}.cos"], TENSORS[f"norm.{model}.sin"], rotary_dim=about["head_dim"])
    got = []
    for name in ("q", "k"):
        x, weight, want = (TENSORS[f"norm.{model}.{dtype}.{name}{end}"] for end in ("", "_weight", "_out"))
        out = np.empty(want.shape, np.float32)
        norm = RmsNorm(weight.copy(), about["eps"], one_plus_weight=model == "gemma3")
        got.append((Operand(x.swapaxes(1, 2), out, norm=norm), out, want))
    rope.rotate_(got[0][0], got[1][0], positions=range(5))
    for _, out, want in got:
        close(out, want.astype(np.float64), 1e-6)


@pytest.mark.parametrize("name", F8)
def test_casts_of_ml_dtypes(name: str) -> None:
    """Around every code and every half way, specials, random bits; saturate has the largest instead."""
    x, codes = TENSORS["f8.inputs"], TENSORS[f"f8.{name}.codes"].view(np.uint8)
    largest = {"e4m3": 448, "e5m2": 57344}[name]
    for overflow in ("special", "saturate"):
        out = np.zeros(x.shape, F8[name])
        rotary.store(x.reshape(1, 1, -1, 1251), out.reshape(1, 1, -1, 1251), overflow=overflow)
        beyond = ~np.isfinite(codes.view(F8[name]).astype(np.float32)) & ~np.isnan(x)
        want = codes.view(F8[name]).astype(np.float32)
        if overflow == "saturate":
            want[beyond] = np.copysign(np.float32(largest), x[beyond])
        got = out.astype(np.float32)
        assert np.array_equal(got, want, equal_nan=True) and beyond.sum() > 100


def cast(x: Array, dtype: Any) -> Array:
    return (np.clip(np.rint(x), -128, 127) if dtype == np.int8 else x).astype(dtype)


@pytest.mark.parametrize(
    "dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16, *F8.values(), np.int8], ids=lambda t: np.dtype(t).name
)
def test_one_pass_has_the_bits_of_its_steps(dtype: Any) -> None:
    """Own rotation, then scale and cast in NumPy; q in place beside a k that is stored."""
    q, k = 5 * normal(2, 4, 7, 64), 5 * normal(2, 2, 7, 64, seed=1)
    turned_q, turned_k = ROPE.rotate(q, k, angles=ANGLES)
    scales = np.array([0.5, 3, -1, 1e-3], np.float32)
    cache = np.zeros((2, 9, 2, 64), dtype)
    ROPE.rotate_(Operand(q, scale=scales), Operand(k, cache[:, 1:8].swapaxes(1, 2), scale=0.3), angles=ANGLES)
    assert np.array_equal(bits(q), bits(turned_q * scales[:, None, None]))
    want = cast(turned_k * np.float32(0.3), dtype).swapaxes(1, 2)
    assert np.array_equal(bits(cache[:, 1:8]), bits(want)) and not bits(cache[:, [0, 8]]).any(), "nothing else is touched"


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16], ids=lambda t: np.dtype(t).name)
def test_norm_is_a_step_of_its_own(dtype: Any) -> None:
    """Stored with the norm, then turned: f32 between the steps (f64 of f64). The weight of float64 in NumPy."""
    x, weight, wide = normal(1, 2, 7, 64, dtype=dtype), normal(64, seed=1), np.float64 if dtype == np.float64 else np.float32
    for norm, factor in (
        (RmsNorm(weight, 1e-5), weight),
        (RmsNorm(weight, 1e-5, one_plus_weight=True), 1 + weight.astype(np.float64)),
        (RmsNorm(None, 1e-5), np.ones(64)),
    ):
        steps, out = np.empty(x.shape, wide), np.empty(x.shape, wide)
        rotary.store(x, steps, norm=norm)
        exact = x.astype(np.float64)
        close(steps, exact / np.sqrt((exact**2).mean(-1, keepdims=True) + np.float32(1e-5)) * factor, 1e-6)
        ROPE.rotate_(steps, angles=ANGLES)
        ROPE.rotate_(Operand(x, out, norm=norm), angles=ANGLES)
        assert np.array_equal(bits(out), bits(steps))


@pytest.mark.parametrize("threads", [1, 2])
def test_a_packed_qkv_is_split_by_views(threads: int) -> None:
    tokens, heads, kv_heads = 300, 8, 2
    rope, at = rotary.Rope(64), range(700, 700 + tokens)
    qkv = normal(tokens, heads + 2 * kv_heads, 64)
    q, k, v = np.split(qkv, [heads, heads + kv_heads], axis=1)
    want_q, want_k = rope.rotate(q, k, positions=at, layout="thd")
    to_q, k_cache, v_cache = np.empty(q.shape, np.float32), np.empty(k.shape, np.float16), np.empty(v.shape, np.float16)
    rope.rotate_(Operand(q, to_q), Operand(k, k_cache), positions=at, layout="thd", threads=threads)
    rotary.store(v, v_cache, layout="thd", threads=threads)
    assert np.array_equal(to_q, want_q) and np.array_equal(k_cache, want_k.astype(np.float16))
    assert np.array_equal(v_cache, v.astype(np.float16))


def test_what_is_refused() -> None:
    x, weight = normal(1, 2, 7, 64), np.ones(64, np.float32)
    before = x.copy()

    def turned(out: Any = None, of: Any = x, **around: Any) -> Any:
        return lambda: ROPE.rotate_(Operand(of, out, **around), angles=ANGLES)

    locked = np.empty(x.shape, np.float32)
    locked.flags.writeable = False
    refused: list[tuple[Any, type[Exception], str]] = [
        (turned(np.empty(x.shape, np.int32)), TypeError, "q: dtype i32, expected f64, f32, f16, bf16, f8_e4m3, f8_e5m2 or i8"),
        (turned(of=x.astype(np.int8)), TypeError, "q: dtype i8, expected f64, f32, f16 or bf16"),
        (turned([1.0]), TypeError, "q: list, expected an array"),
        (turned(locked), ValueError, "q: the array is read-only"),
        (turned(np.empty((1, 2, 6, 64))), ValueError, "q: output of f64 with batch 1, tokens 6, heads 2"),
        (turned(x.view(np.int32).view(np.float16)[..., :64]), ValueError, "overlap"),
        (turned(norm=5), TypeError, "norm: int, expected a rotary.RmsNorm or None"),
        (turned(norm=RmsNorm(weight[:5], 1e-6)), ValueError, "q: norm: weight [5], expected [64], one number behind the other"),
        (turned(norm=RmsNorm(np.ones(128)[::2], 1e-6)), ValueError, "q: norm: weight [64], expected [64], one number"),
        (turned(norm=RmsNorm(weight.astype(int), 1e-6)), ValueError, "q: norm: weight of i64, expected f32, f16 or bf16"),
        (turned(norm=RmsNorm([1.0] * 64, 1e-6)), TypeError, "norm: weight: list, expected an array"),
        (turned(norm=RmsNorm(weight, -1)), ValueError, "q: norm: epsilon -1"),
        (turned(scale=float("nan")), ValueError, "q: scale nan, expected a finite number"),
        (turned(scale=[1, 2, 3]), ValueError, "q: 3 head_scales, expected one for each of 2 heads"),
        (turned(scale=[]), ValueError, "q: scale: expected a number, or one a head"),
        (turned(scale=[[1, 2]]), TypeError, "q: scale: list, expected a number, or one a head"),
        (turned(scale="2"), TypeError, "q: scale: str, expected a number, or one a head"),
        (turned(scale=np.ones((2, 1))), ValueError, "q: scale [2, 1]: expected a number, or [heads]"),
        (turned(scale=np.ones(2, bool)), TypeError, "q: scale: dtype boolean, expected f64, f32, f16 or bf16"),
        (turned(overflow="wrap"), ValueError, 'overflow "wrap": expected saturate or special'),
        (lambda: Operand(Operand(x)), TypeError, "x: an Operand already"),
        (lambda: ROPE.rotate(Operand(x), angles=ANGLES), TypeError, "q: rotary._core.Operand, expected an array"),
        (lambda: rotary.store(x, None, scale=[1]), ValueError, "x: 1 head_scales"),
        (lambda: rotary.store(x, x[:, :1]), ValueError, "x: output"),
        (lambda: rotary.store(x, x, layout="thd"), ValueError, "x: shape [1, 2, 7, 64] has 4 axes, layout thd has 3"),
    ]
    for call, error, message in refused:
        with pytest.raises(error, match=re.escape(message)):
            call()
    assert np.array_equal(x, before), "nothing is written when a call fails"


@pytest.mark.parametrize("kind", [list, tuple, np.float64, np.float32, np.float16, ml_dtypes.bfloat16, np.int64])
def test_scales_of_every_kind(kind: Any) -> None:
    x = normal(1, 2, 7, 64)
    given = kind([2.0, 0.5]) if kind in (list, tuple) else np.array([2, 9, 0.5, 9]).astype(kind)[::2]
    numbers = [float(s) for s in given]
    got = x.copy()
    ROPE.rotate_(Operand(got, scale=given), angles=ANGLES)
    want = ROPE.rotate(x, angles=ANGLES) * np.array(numbers, np.float32)[None, :, None, None]
    assert np.array_equal(got, want)
    ROPE.rotate_(Operand(x, scale=np.array(given)[0]), angles=ANGLES)
    assert np.array_equal(x[:, 0], got[:, 0])


def test_pickles_and_copies() -> None:
    x, weight = normal(1, 2, 7, 64), normal(64)
    operand = Operand(x, np.empty(x.shape, np.float16), norm=RmsNorm(weight, 1e-6, one_plus_weight=True), scale=[2.0, 0.5], overflow="special")
    for again in (pickle.loads(pickle.dumps(operand)), copy.deepcopy(operand)):
        assert again.scale == [2.0, 0.5] and again.overflow == "special" and again.out.dtype == np.float16
        assert again.norm is not None and again.norm.epsilon == 1e-6 and again.norm.one_plus_weight and again.norm.weight is not weight
        assert np.array_equal(again.norm.weight, weight)
        for each in (operand, again):
            ROPE.rotate_(each, angles=ANGLES)
        assert np.array_equal(again.x, x) and np.array_equal(again.out, operand.out)
    assert copy.copy(operand).x is x and pickle.loads(pickle.dumps(RmsNorm(None, 0.5))).weight is None


def test_what_it_prints() -> None:
    x = np.empty((1, 1, 1, 4))
    assert repr(Operand(x)) == "Operand(numpy.ndarray)" and Operand(x, x).out is x
    assert repr(RmsNorm(None, 1e-6)) == "RmsNorm(None, 1e-06)"
    assert repr(RmsNorm(x, 0.5, one_plus_weight=True)) == "RmsNorm(numpy.ndarray, 0.5, one_plus_weight=True)"
