# SPDX-License-Identifier: Apache-2.0
"""Positions from whatever a caller has."""

import copy
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support import normal

import rotary
from rotary import Positions

ROPE = rotary.Rope(8)
X = normal(2, 3, 4, 8)


def same(positions: Any, ids: Any) -> bool:
    return bool(np.array_equal(ROPE.rotate(X, positions=positions), ROPE.rotate(X, positions=np.asarray(ids))))


@pytest.mark.parametrize(
    "positions,ids",
    [
        (7, [7, 8, 9, 10]),
        (np.int64(7), [7, 8, 9, 10]),
        (-2, [-2, -1, 0, 1]),
        (range(5, 9), [5, 6, 7, 8]),
        (range(9, 1, -2), [9, 7, 5, 3]),
        ([4, 3, 2, 1], [4, 3, 2, 1]),
        ((0.5, 1.0, 1.5, 2.0), [0.5, 1.0, 1.5, 2.0]),
        (Positions.range(5, 9), [5, 6, 7, 8]),
        (Positions.spaced(0.25, 0.5, 4), [0.25, 0.75, 1.25, 1.75]),
        (Positions.offsets([3, 900], 4), [[3, 4, 5, 6], [900, 901, 902, 903]]),
        (Positions.offsets(np.array([3, 900], np.int32), 4), [[3, 4, 5, 6], [900, 901, 902, 903]]),
        (Positions.packed([0, 3, 3, 4]), [0, 1, 2, 0]),
        (Positions.packed(np.array([0, 3, 4]), starts=[10, 2**40]), [10, 11, 12, 2**40]),
    ],
)
def test_forms(positions: Any, ids: Any) -> None:
    assert same(positions, ids)


@pytest.mark.parametrize("dtype", [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)] + ["f4", "f8"])
def test_element_types(dtype: str) -> None:
    assert same(np.array([[1, 2, 3, 100], [4, 3, 2, 1]], dtype), [[1, 2, 3, 100], [4, 3, 2, 1]])
    wide = np.zeros((4, 6), dtype)
    wide[::-2, ::3] = [[0, 9], [7, 8]]
    view = np.concatenate([wide[::-2, ::3], wide[::-2, ::3]], axis=1)
    assert same(view[:, ::-1], view[:, ::-1].copy())
    strided = np.asfortranarray(view)[::-1]
    assert same(strided, strided.copy())


def test_shapes() -> None:
    assert Positions.ids([1, 2]).shape == (1, 1, 2)
    assert Positions.ids([[1, 2], [3, 4]]).shape == (1, 2, 2)
    assert Positions.axes([range(4), [3, 2, 1, 0]]).shape == (2, 1, 4)
    assert len(Positions.range(3, 9)) == 6 and len(Positions.ids([])) == 0
    assert Positions.range(3, 6) == Positions.ids([3, 4, 5]) != Positions.ids([3, 4, 6])
    assert (Positions.range(0, 3) == 5) is False
    assert "tokens=6" in repr(Positions.range(3, 9))


def test_numpy_copies() -> None:
    assert Positions.offsets([3, 9], 2).to_numpy().tolist() == [[[3, 4], [9, 10]]]
    assert Positions.offsets([3, 9], 2).to_numpy().dtype == np.int64
    assert Positions.spaced(0, 0.5, 3).to_numpy().tolist() == [[[0, 0.5, 1]]]
    assert Positions.ids([2**62 + 1]).to_numpy().tolist() == [[[2**62 + 1]]]


def test_several_axes() -> None:
    rope = rotary.Rope(8, axis_sections=(2, 1, 1))
    text = rope.rotate(X, positions=np.arange(5, 9)[None, None].repeat(3, 0))
    assert rope.axes == 3
    assert np.array_equal(rope.rotate(X, positions=5), text), "an int counts the same on every axis"
    assert np.array_equal(rope.rotate(X, positions=range(5, 9)), text)
    with pytest.raises(ValueError, match="axes"):
        rope.rotate(X, positions=[5, 6, 7, 8])


def test_angles_and_refill() -> None:
    angles = ROPE.angles(100)
    assert (angles.batch, angles.tokens, angles.pairs, angles.policy) == (1, 1, 4, "exact")
    x = X[:, :, :1].copy()
    assert np.array_equal(ROPE.rotate(x, angles=angles), ROPE.rotate(x, positions=100))
    angles.refill(131072)
    assert np.array_equal(ROPE.rotate(x, angles=angles), ROPE.rotate(x, positions=131072))
    assert angles.positions == Positions.range(131072, 131073)
    angles.refill(np.array([[1], [2]]))
    assert np.array_equal(ROPE.rotate(x, angles=angles), ROPE.rotate(x, positions=[[1], [2]]))
    with pytest.raises(ValueError):
        angles.refill(np.zeros((9, 1, 1)))
    assert angles.batch == 2, "after an error nothing has changed"
    want = 100 * ROPE.inv_freq
    np.testing.assert_allclose(ROPE.angles(100).cos("float64")[0, 0], np.cos(want), atol=3e-16)
    np.testing.assert_allclose(ROPE.angles(100).sin()[0, 0], np.sin(want), atol=3.1e-8)
    with pytest.raises(ValueError, match='dtype "int8"'):
        angles.cos("int8")


@pytest.mark.parametrize(
    "error,positions,message",
    [
        (TypeError, True, "positions: a bool"),
        (TypeError, 1.5, "positions: float, expected an array"),
        (TypeError, "0:4", "positions: str"),
        (TypeError, np.float64(1.5), "positions: a float"),
        (TypeError, np.zeros(4, np.float16), "positions: dtype f16 cannot hold every position"),
        (TypeError, np.zeros(4, ml_dtypes.bfloat16), "positions: dtype bf16 cannot hold every position"),
        (TypeError, np.zeros(4, bool), "positions: booleans"),
        (TypeError, [None] * 4, "positions: elements of format"),
        (ValueError, [1, 2, 3], "angles have 3 tokens, q has 4"),
        (ValueError, np.zeros((3, 4), int), "angles have 3 batch rows, expected 1 or q's 2"),
        (ValueError, np.zeros((1, 1, 1, 4), int), "expected [tokens], [batch, tokens] or [axes, batch, tokens]"),
        (ValueError, np.zeros((9, 1, 4), int), "axes"),
        (ValueError, [0, 1, 2, float("nan")], "nan"),
        (ValueError, [0, 1, 2, 2.0**60], "2^53"),
        (ValueError, np.array([0, 1, 2, 2**63], np.uint64), "63 bits"),
        (ValueError, 2**63, "64 bits"),
        (ValueError, 2**63 - 1, "2^63"),
    ],
)
def test_refused(error: type[Exception], positions: Any, message: str) -> None:
    with pytest.raises(error) as caught:
        ROPE.rotate(X, positions=positions)
    assert message in str(caught.value)


def test_refused_by_the_makers() -> None:
    with pytest.raises(ValueError):
        Positions.packed([1, 2])
    with pytest.raises(ValueError):
        Positions.packed([0, 3, 2])
    with pytest.raises(ValueError, match="expected one axis"):
        Positions.offsets([[1, 2]])
    with pytest.raises(TypeError, match="expected integers"):
        Positions.offsets([1.5])
    with pytest.raises(ValueError):
        Positions.axes([range(3), range(4)])
    with pytest.raises(MemoryError):
        Positions.ids(np.broadcast_to(np.int64(0), (2**20, 2**22)))


def test_copies() -> None:
    """Positions do not change; a copy of Angles keeps its own when the other is filled anew."""
    positions = rotary.Positions.range(700, 703)
    angles = rotary.Rope(8).angles(positions)
    for again in (copy.copy, copy.deepcopy):
        assert again(positions) == positions
        kept = again(angles)
        angles.refill(range(5, 8))
        assert np.array_equal(kept.cos(), rotary.Rope(8).angles(positions).cos())
        assert np.array_equal(angles.cos(), rotary.Rope(8).angles(range(5, 8)).cos())
        angles.refill(positions)
