# SPDX-License-Identifier: Apache-2.0
"""Whatever is handed over, a Python error that says what, expected and got; never a crash."""

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from support import CONFIG, normal

import rotary

ROPE = rotary.Rope(8)
X = np.ones((1, 2, 3, 8), np.float32)
PART = {"rotary_dim": 4, "base": 500.0, "scaling": "default"}


def refuses(error: type[Exception], message: str, x: Any, k: Any = None, **kwargs: Any) -> None:
    kwargs.setdefault("positions", 0)
    with pytest.raises(error, match=re.escape(message)):
        ROPE.rotate_(x, k, **kwargs)
    with pytest.raises(error, match=re.escape(message)):
        ROPE.rotate(x, k, **kwargs)


@pytest.mark.parametrize(
    "x,message",
    [
        (None, "q: NoneType, expected an array"),
        (1.5, "q: float, expected an array"),
        ([[[[1.0] * 8]]], "q: list, expected an array"),
        ("text", "q: str, expected an array"),
        (X.astype(np.int32), "q: dtype i32, expected f64, f32, f16 or bf16"),
        (X.astype(bool), "q: dtype boolean, expected"),
        (X.astype(np.complex64), 'q: elements of format "Zf"'),
        (X.astype(object), 'q: elements of format "O"'),
        (X.astype(">f4"), 'q: elements of format ">f"'),
        (X.astype("f4,f4"), "q: elements of format"),
        (X.astype("S4"), "q: elements of format"),
        (X.astype(ml_dtypes.float8_e4m3fn), "q: dtype f8_e4m3, expected f64, f32, f16 or bf16"),
        (X.astype(ml_dtypes.float8_e4m3b11fnuz), "q: dtype float8_e4m3b11fnuz, expected f64, f32, f16 or bf16"),
        (X.astype("M8[s]"), "q: dtype datetime64[s], expected"),
    ],
)
def test_wrong_types(x: Any, message: str) -> None:
    refuses(TypeError, message, x)


def test_long_double() -> None:
    if np.dtype(np.longdouble).itemsize > 8:
        refuses(TypeError, 'q: elements of format "g"', X.astype(np.longdouble))


@pytest.mark.parametrize(
    "x,message",
    [
        (np.array(1, np.float32), "q: shape [] has 0 axes, layout bhtd has 4"),
        (X[0], "q: shape [2, 3, 8] has 3 axes, layout bhtd has 4"),
        (X[None], "q: shape [1, 1, 2, 3, 8] has 5 axes"),
        (X[..., :6].copy(), "q: head_dim 6, expected 8"),
        (X[..., :0].copy(), "q: head_dim 0, expected 8"),
    ],
)
def test_wrong_shapes(x: Any, message: str) -> None:
    refuses(ValueError, message, x)


def test_more_axes_than_any_layout() -> None:
    refuses(ValueError, "has 16 axes", np.ones((1,) * 16, np.float32))
    refuses(ValueError, "20 dimensions", np.ones((1,) * 20, np.float32))


@pytest.mark.parametrize("shape", [(0, 2, 3, 8), (1, 0, 3, 8), (1, 2, 0, 8)])
def test_nothing_to_do_is_no_error(shape: tuple[int, ...]) -> None:
    for dtype in (np.float32, ml_dtypes.bfloat16):
        empty = np.ones(shape, dtype)
        assert ROPE.rotate(empty, positions=5).shape == shape
        ROPE.rotate_(empty, empty.copy(), positions=np.zeros(shape[2], int))


def test_q_and_k_that_do_not_fit() -> None:
    refuses(ValueError, "k: f64", X, X.astype(np.float64))
    refuses(ValueError, "k: head_dim 4, expected 8", X, X[..., :4].copy())
    refuses(ValueError, "k: f32 with batch 1 and tokens 2, expected f32 with batch 1 and tokens 3", X, X[:, :, :2].copy())
    refuses(TypeError, "k: dtype u8", X, X.astype(np.uint8))


def test_strides_that_lie() -> None:
    with pytest.raises(ValueError, match="make elements overlap"):
        ROPE.rotate_(as_strided(X.copy(), (1, 2, 3, 8), (0, 0, 32, 4)), positions=0)
    # Beyond 2^63 bytes; the buffer protocol itself may refuse before the library does.
    far = as_strided(X.copy(), (2, 2, 3, 8), (2**62, 2**62, 32, 4))
    with pytest.raises(ValueError):
        ROPE.rotate_(far, positions=0)
    odd = np.frombuffer(bytearray(4 * 8 * 6 + 1), np.uint8)[1:].view(np.float32).reshape(1, 2, 3, 8)
    with pytest.raises(ValueError, match="not a multiple of the 4 bytes"):
        ROPE.rotate_(odd, positions=0)
    records = np.zeros((1, 2, 3), np.dtype([("x", "f4", (8,)), ("tail", "u1")]))
    with pytest.raises(ValueError, match="no whole number of f32 elements"):
        ROPE.rotate_(records["x"], positions=0)
    # A huge stride along an axis of one means nothing.
    one = as_strided(X[:, :1, :1].copy(), (1, 1, 1, 8), (2**60, 2**60, 2**60, 4))
    want = ROPE.rotate(one.copy(), positions=3)
    ROPE.rotate_(one, positions=3)
    assert np.array_equal(one, want)


def test_read_only_memory() -> None:
    for dtype in (np.float32, ml_dtypes.bfloat16):
        locked = X.astype(dtype)
        locked.flags.writeable = False
        with pytest.raises(ValueError, match="q: the array is read-only, so it cannot be turned in place"):
            ROPE.rotate_(locked, positions=1)
        with pytest.raises(ValueError, match="k: the array is read-only"):
            ROPE.rotate_(X.astype(dtype), locked, positions=1)
        assert ROPE.rotate(locked, positions=1).flags.writeable
        assert np.all(locked == 1)
    with pytest.raises(ValueError, match="read-only"):
        ROPE.rotate_(np.broadcast_to(X[:, :1], (1, 5, 3, 8)), positions=1)
    with pytest.raises(ValueError, match="read-only"):
        ROPE.rotate_(memoryview(bytes(X.tobytes())).cast("f", (1, 2, 3, 8)), positions=1)


def test_nothing_is_written_when_a_call_fails() -> None:
    q = normal(1, 2, 3, 8)
    before = q.copy()
    with pytest.raises(ValueError):
        ROPE.rotate_(q, X[:, :, :2].copy(), positions=5)
    with pytest.raises(ValueError):
        ROPE.rotate_(q, positions=[1, 2])
    assert np.array_equal(q, before)


def test_arguments_that_do_not_go_together() -> None:
    angles = ROPE.angles(range(3))
    refuses(ValueError, "give positions or angles, one of the two", X, angles=angles)
    refuses(ValueError, "give positions or angles, one of the two", X, positions=None)
    refuses(ValueError, 'layout "tbhd": expected bhtd, bthd or thd', X, layout="tbhd")
    with pytest.raises(TypeError, match="angles: int, expected a rotary.Angles"):
        ROPE.rotate_(X, angles=5)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        ROPE.rotate_(X, positions=0, layout=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="angles of another rope"):
        ROPE.rotate_(X, angles=rotary.Rope(8, base=500000).angles(range(3)))
    with pytest.raises(ValueError, match="angles have 2 tokens, q has 3"):
        ROPE.rotate_(X, angles=ROPE.angles(range(2)))
    with pytest.raises(ValueError, match="angles have 2 batch rows, expected 1 or q's 1"):
        ROPE.rotate_(X, angles=ROPE.angles(np.zeros((2, 3), int)))


@pytest.mark.parametrize(
    "kwargs,message",
    [
        ({}, "head_dim is missing"),
        ({"head_dim": 7}, "rotary_dim 7"),
        ({"head_dim": 8, "rotary_dim": 10}, "rotary_dim 10"),
        ({"head_dim": -8}, "head_dim -8"),
        ({"head_dim": 8, "base": 0.0}, "base 0"),
        ({"head_dim": 8, "base": float("nan")}, "base"),
        ({"head_dim": 8, "pairing": "neox"}, 'pairing "neox": expected half_split'),
        ({"head_dim": 8, "angles": "fp16"}, 'angles "fp16": expected exact, fp32 or ggml'),
        ({"head_dim": 8, "direction": "back"}, 'direction "back"'),
        ({"head_dim": 8, "scaling": {"rope_type": "yarm"}}, 'scaling "yarm": unknown, expected one of default, linear'),
        ({"head_dim": 8, "scaling": {"factor": 2}}, "scaling: rope_type is missing"),
        ({"head_dim": 8, "scaling": "linear"}, "scaling linear: factor is missing"),
        ({"head_dim": 8, "scaling": {"type": "linear", "factor": 2, "beta": 1}}, 'unknown key "beta", it has factor'),
        ({"head_dim": 8, "scaling": {"type": "linear", "factor": 0.5}}, "factor 0.5"),
        ({"head_dim": 8, "axis_sections": (1, 1)}, "section"),
        ({"head_dim": 8, "axis": (0, 0, 0, 8)}, "axis"),
        ({"head_dim": 8, "axis_order": "zigzag"}, 'axis_order "zigzag": expected contiguous'),
        ({"inv_freq": [[1.0]]}, "inv_freq: expected numbers along one axis"),
        ({"inv_freq": [float("inf")]}, "inv_freq"),
        ({"inv_freq": [1.0], "base": 10000.0}, "base: 10000.0 beside inv_freq, which says it already: give one of the two"),
        ({"inv_freq": [1.0], "scaling": "default"}, "scaling: 'default' beside inv_freq"),
        ({"inv_freq": [1.0], "length": 8}, "length: 8 beside inv_freq"),
        ({"inv_freq": [1.0], "rotary_dim": 4}, "rotary_dim 4: inv_freq has 1 pairs, expected 2 or None"),
        ({"head_dim": 8, "parts": [PART], "base": 5.0}, "base: 5.0 beside parts"),
        ({"head_dim": 8, "parts": [PART], "inv_freq": [1.0]}, "inv_freq: [1.0] beside parts"),
        ({"head_dim": 8, "parts": [PART], "rotary_dim": 6}, "rotary_dim 6: parts has 2 pairs, expected 4 or None"),
        ({"head_dim": 8, "axis_sections": (2, 2), "axis": (0, 0, 1, 1)}, "axis_sections: (2, 2) beside axis"),
        ({"head_dim": 8, "attention_factor": 2.0}, "attention_factor: without inv_freq it is the scaling's, expected None"),
    ],
)
def test_ropes_that_cannot_be(kwargs: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        rotary.Rope(**kwargs)


def test_wrong_types_of_a_rope() -> None:
    with pytest.raises(TypeError, match="scaling: int, expected a dict"):
        rotary.Rope(8, scaling=4)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="scaling: factor: str, expected a number"):
        rotary.Rope(8, scaling={"rope_type": "linear", "factor": "2"})
    untyped: Any = rotary
    rope: Any = rotary.Rope(8)
    text, array = "8", X.copy()
    wrong: list[tuple[Any, str]] = [
        (lambda: untyped.Rope(text), "head_dim: str, expected an int of 64 bits or None"),
        (lambda: untyped.Rope(8.0), "head_dim: float, expected an int"),
        (lambda: untyped.Rope(2**70), "head_dim: int, expected an int of 64 bits"),
        (lambda: untyped.Rope(8, base=text), "base: str, expected a number"),
        (lambda: untyped.Rope(8, pairing=None), "pairing: NoneType, expected a str"),
        (lambda: untyped.Rope(8, axis_sections=4), "axis_sections: int, expected ints, one an axis"),
        (lambda: untyped.Rope(8, axis=[300, 0, 0, 0]), "axis: list, expected ints from 0 to 255, one a pair, or None"),
        (lambda: untyped.Rope(8, parts={}), "parts: dict, expected a list of dicts"),
        (lambda: rope.angles(range(3), held=1), "held: int, expected a bool"),
        (lambda: rope.angles(3, text), "tokens: str, expected an int"),
        (lambda: rope.rotate_(array, positions=0, layout=3), "layout: int, expected a str"),
        (lambda: rope.rotate_(array, positions=0, threads=text), "threads: str, expected an int"),
        (lambda: rope.rotate(array, array, positions=0, layout=None), "layout: NoneType, expected a str"),
        (lambda: untyped.store(array, array, overflow=1), "overflow: int, expected a str"),
        (lambda: untyped.Model.from_config("llama-3.1-8b", length=text), "length: str, expected an int of 64 bits or None"),
        (lambda: untyped.Rope.from_config("llama-3.1-8b", layer=text), "layer: str, expected an int"),
        (lambda: untyped.Rope.from_config(None), "config: NoneType, expected a path, a dict"),
        (lambda: untyped.Rope.from_config("llama-3.1-8b", strict=1), "strict: int, expected a bool"),
    ]
    for call, message in wrong:
        with pytest.raises(TypeError, match=f"^{re.escape(message)}"):
            call()
    assert np.array_equal(array, X)


def test_descriptions_that_cannot_be(tmp_path: Any) -> None:
    with pytest.raises(OSError, match="No such file"):
        rotary.Rope.from_config("no-such-folder/config.json")
    with pytest.raises(FileNotFoundError, match='no preset of the name "[^"]*" .did you mean "llama-3.1-8b"'):
        rotary.Rope.from_config("lama-3.1-8b")
    with pytest.raises(TypeError, match="config: list, expected a path, a dict"):
        rotary.Rope.from_config([])
    with pytest.raises(ValueError, match="choose with layer= or name="):
        rotary.Rope.from_config(CONFIG)
    with pytest.raises(ValueError, match="the model's ropes are local, global"):
        rotary.Rope.from_config(CONFIG, name="middle")
    with pytest.raises(ValueError, match="layer 18"):
        rotary.Rope.from_config(CONFIG, layer=18)
    with pytest.raises(ValueError, match="layer or name"):
        rotary.Rope.from_config(CONFIG, layer=1, name="local")
    (tmp_path / "config.json").write_text('{"hidden_size": ')
    with pytest.raises(ValueError, match="config.json"):
        rotary.Model.from_config(tmp_path)
    with pytest.raises(NotImplementedError, match="fope"):
        rotary.Rope.from_config({"head_dim": 64, "rope_scaling": {"rope_type": "fope"}})


def test_more_than_memory_holds() -> None:
    with pytest.raises(NotImplementedError, match="tokens 1099511627776, pairs 4: more rows than memory holds"):
        ROPE.angles(range(2**40))
    with pytest.raises(MemoryError):
        rotary.Positions.range(0, 2**45).to_numpy()
    with pytest.raises(MemoryError):
        ROPE.rotate(np.broadcast_to(X[:, :1, :1], (1, 2**21, 2**24, 8)), positions=range(2**24))


def test_tables_that_cannot_be() -> None:
    good = np.ones((4, 2), np.float32)
    with pytest.raises(ValueError, match="expected the same"):
        rotary.Rope.from_table(good, good[:3])
    with pytest.raises(ValueError, match="expected the same"):
        rotary.Rope.from_table(good[0], good[0])
    with pytest.raises(ValueError, match="4"):
        rotary.Rope.from_table(good, good).rotate(np.ones((1, 1, 1, 4), np.float32), positions=4)


def test_another_module_of_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module called torch that is not PyTorch is not asked for anything."""
    import sys
    import types

    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    assert ROPE.rotate(X, positions=1).shape == X.shape
