# SPDX-License-Identifier: Apache-2.0
"""Where tokens stand in images, video, shards and chunks. Expected numbers are literals of the models' own code."""

from typing import Any

import numpy as np
import pytest

import rotary
from rotary import Positions


def listed(positions: Positions) -> Any:
    """[axes][tokens] of the first row."""
    return positions.to_numpy()[:, 0].tolist()


def test_coordinates_and_grids() -> None:
    assert listed(Positions.centred_cells(5)) == [[-3, -2, -1, 0, 1]]  # Qwen-Image: one more before 0
    assert listed(Positions.patch_centres(4)) == [[-0.75, -0.25, 0.25, 0.75]]  # DINOv3
    assert listed(Positions.evenly_between(0, 3, 4)) == [[0, 0.75, 1.5, 2.25]]  # CogVideoX
    assert listed(Positions.whole_steps(1.5, 4)) == [[0, 1, 3, 4]]  # Qwen2.5-VL: seconds a frame
    assert listed(Positions.grid([range(2), Positions.spaced(5, 0.5, 3)])) == [
        [0, 0, 0, 1, 1, 1], [5, 5.5, 6, 5, 5.5, 6],
    ]  # fmt: skip
    blocks = rotary.block_order(1, 2, 4, 2)
    assert listed(Positions.grid([range(2), range(4)]).take(blocks)) == [[0, 0, 1, 1, 0, 0, 1, 1], [0, 1, 0, 1, 2, 3, 2, 3]]
    for bad, why in ((lambda: Positions.centred_cells(-1), "cells"), (lambda: rotary.block_order(1, 3, 4, 2), "block")):
        with pytest.raises(ValueError, match=why):
            bad()


def test_tables_of_tables() -> None:
    text = Positions.range(700, 703)
    three = text.select_axes([0, 0, 0])
    assert three.shape == (3, 1, 3)
    image = Positions.grid([[703], range(703, 705), range(703, 706)])
    both = Positions.concatenate([three, image, three.shifted(6)])
    assert listed(both)[1] == [700, 701, 702, 703, 703, 703, 704, 704, 704, 706, 707, 708]
    assert listed(three.shifted([1, 0, -1])) == [[701, 702, 703], [700, 701, 702], [699, 700, 701]]
    assert Positions.rows([text, range(3)]).to_numpy().tolist() == [[[700, 701, 702], [0, 1, 2]]]
    assert Positions.left_padded([2, 0], 4).to_numpy().tolist() == [[[0, 0, 0, 1], [0, 1, 2, 3]]]
    assert listed(text.padded(1, 2, pad=9)) == [[9, 700, 701, 702, 9, 9]]
    assert listed(text.take([range(0, 3, 2), range(1, 2)])) == [[700, 702, 701]]
    refused: list[tuple[Any, type[Exception], str]] = [
        (lambda: text.take([range(2, 5)]), ValueError, "token"),
        (lambda: text.take([range(2, -1, -1)]), ValueError, "step -1: must be at least 1"),
        (lambda: text.take([2]), TypeError, "segments: int, expected ranges"),  # type: ignore[list-item]
        (lambda: text.select_axes([1]), ValueError, "axes.0. 1: must be 0 to 0"),
        (lambda: Positions.rows([text, range(4)]), ValueError, "tokens"),
        (lambda: text.shifted(2**63 - 1), ValueError, "int64|2\\^63"),
    ]
    for bad, error, why in refused:
        with pytest.raises(error, match=why):
            bad()


def test_shards_of_a_sequence() -> None:
    """Every token once, whichever the way; TransformerEngine's zigzag as literals, by document too (report 177)."""
    assert [rotary.shard("zigzag", 8, r, 2) for r in (0, 1)] == [[range(0, 2), range(6, 8)], [range(2, 4), range(4, 6)]]
    at = Positions.packed([0, 4, 8])
    shares = [at.take(rotary.shard("zigzag", [0, 4, 8], rank, 2)).to_numpy()[0, 0].tolist() for rank in (0, 1)]
    assert shares == [[0, 3, 0, 3], [1, 2, 1, 2]]
    for sharding in ("contiguous", "zigzag", "striped"):
        tokens = [t for r in range(3) for each in rotary.shard(sharding, 12, r, 3) for t in each]
        assert sorted(tokens) == list(range(12))
    x = np.random.default_rng(0).standard_normal((12, 2, 16)).astype(np.float32)
    rope = rotary.Rope(16)
    whole = rope.rotate(x, positions=9000, layout="thd")
    for rank in range(3):
        mine = [t for each in rotary.shard("striped", 12, rank, 3) for t in each]
        at = Positions.range(9000, 9012).take(rotary.shard("striped", 12, rank, 3))
        assert np.array_equal(rope.rotate(x[mine], positions=at, layout="thd"), whole[mine])
    for bad, why in ((("ring", 8, 0, 2), "contiguous, zigzag or striped"), (("zigzag", 6, 0, 2), "6"), (("striped", 8, 2, 2), "rank 2")):
        with pytest.raises(ValueError, match=why):
            rotary.shard(*bad)


def test_dual_chunk() -> None:
    """chunk_size 6, local_size 2, as Qwen2.5-1M's code computes the five."""
    at = rotary.dual_chunk(range(9), 6, 2)
    assert {name: listed(getattr(at, name))[0] for name in at._fields} == {
        "keys": [0, 1, 2, 3, 0, 1, 2, 3, 0],
        "successor": [4, 5, 6, 6, 4, 5, 6, 6, 4],
        "inter": [6, 6, 6, 6, 6, 6, 6, 6, 6],
        "successor_critical": [4, 5, 6, 7, 4, 5, 6, 7, 4],
        "inter_critical": [6, 7, 8, 9, 6, 7, 8, 9, 6],
    }
    with pytest.raises(ValueError, match="local_size"):
        rotary.dual_chunk(range(9), 2, 2)


def test_text_with_images() -> None:
    prompt = rotary.MultimodalSequence().text(3).vision(rotary.VisionGrid(2, 4)).text(2)
    t, h, w = listed(prompt.positions())
    assert t == [0, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 7, 8]
    assert h == [0, 1, 2, 3, 3, 3, 3, 4, 4, 4, 4, 7, 8]
    assert w == [0, 1, 2, 3, 4, 5, 6, 3, 4, 5, 6, 7, 8]
    assert (prompt.tokens, prompt.rope_delta, listed(prompt.decode())) == (13, -4, [[9], [9], [9]])
    types = [0, 0, 0, *[1] * 8, 0, 0]
    assert rotary.MultimodalSequence.from_token_types(types, [rotary.VisionGrid(2, 4)]).positions() == prompt.positions()
    video = rotary.VisionGrid.of_patches((4, 4, 8), 2, 2)
    assert video == rotary.VisionGrid(2, 4, time=2) and len(video.frames()) == 2
    long = rotary.MultimodalSequence("extent").vision(rotary.VisionGrid(1, 1, time=3, time_step=2.5)).text(1)
    assert listed(long.positions())[0] == [0, 2, 5, 1]  # times are cut; text goes on at max(height, width)
    for bad, why in (
        (lambda: rotary.MultimodalSequence().text(-1).positions(), "-1"),
        (lambda: rotary.MultimodalSequence.from_token_types([1, 1], [rotary.VisionGrid(1, 3)]), "2|3"),
        (lambda: rotary.MultimodalSequence("middle"), "largest or extent"),
        (lambda: rotary.VisionGrid.of_patches((1, 3, 4), 2), "3"),
    ):
        with pytest.raises(ValueError, match=why):
            bad()


def test_axes_and_lengths() -> None:
    assert rotary.axis_map("interleaved", [4, 2, 2]).tolist() == [0, 1, 2, 0, 1, 2, 0, 0]  # Qwen3-VL
    assert rotary.axis_map("imrope", [4, 2, 2]).tolist() == [0, 1, 2, 0, 1, 2, 0, 3]  # ggml
    assert rotary.axis_map("space_then_time", [2, 3, 3]).tolist() == [1, 2, 1, 2, 1, 2, 0, 0]  # Ernie 4.5-VL
    rows = [10, 5000]
    assert [rotary.length_for(rule, rows, 0, 131072) for rule in ("by_sequence", "by_batch", "by_maximum")] == [10, 5000, 131072]
    for bad, why in ((("by_row", rows, 0, 9), "by_sequence, by_batch"), (("by_batch", rows, 2, 9999), "row 2"), (("by_batch", rows, -1, 9999), "row -1"), (("by_batch", rows, 0, 100), "5000")):
        with pytest.raises(ValueError, match=why):
            rotary.length_for(*bad)
