# SPDX-License-Identifier: Apache-2.0
"""The tables and the page, from the files that runs have written."""

from __future__ import annotations

import math
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from .contest import OURS

PYTHON = "rotary, from Python"
Row = dict[str, Any]
Key = tuple[int, str, str, int]  # threads, dtype, pairing, tokens


def by_case(runs: Iterable[dict[str, Any]]) -> dict[Key, dict[str, Row]]:
    """The rows of each case by peer. Ours are those of the first run that has them, so give the main one first."""
    found: dict[Key, dict[str, Row]] = defaultdict(dict)
    for run in runs:
        for row in run["rows"]:
            found[row["threads"], row["dtype"], row["pairing"], row["tokens"]].setdefault(row["peer"], row)
    return dict(sorted(found.items(), key=lambda item: item[0][0]))


def peers_of(runs: Iterable[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(row["peer"] for run in runs for row in run["rows"]))


def compared_with(row: Row) -> str:
    """Which of our rows is of the same form: a call from Python, or many rotations behind one call. The package uses
    one thread; where a peer's call uses more, it meets the kernel, which a call of either hardly shows beside."""
    if row["form"] == "graph" or (row["threads"] > 1 and row["tokens"] > 1):
        return OURS
    return PYTHON


def short(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.1f}" if ratio < 100 else f"{ratio:.0f}"


def micro(ns: float) -> str:
    """Microseconds, three digits of them."""
    return f"{ns / 1000:.0f}" if ns >= 99500 else f"{ns / 1000:.3g}"


def against_ours(found: dict[Key, dict[str, Row]]) -> Iterator[tuple[Key, Row, float]]:
    """Every right result of a peer, and its time over ours of the same form; both over the limit of their own run."""
    for key, rows in found.items():
        for name, row in rows.items():
            if name in (OURS, PYTHON) or "ratio" not in row or not row["agrees"]:
                continue
            ours = rows.get(compared_with(row))
            if ours is not None and "ratio" in ours:
                yield key, row, row["ratio"] / ours["ratio"]


def cell(rows: dict[str, Row], name: str) -> str:
    row = rows.get(name, {})
    if "ratio" not in row:
        return "-"
    text = short(row["ratio"])
    if not row["agrees"]:
        return text + " (!)"
    ours = rows.get(compared_with(row), {}) if name not in (OURS, PYTHON) else {}
    return f"**{text}**" if "ratio" in ours and row["ratio"] < ours["ratio"] else text


def tables(runs: list[dict[str, Any]]) -> str:
    """One table for each number of threads: time over the limit."""
    found, names, text = by_case(runs), peers_of(runs), []
    for threads in sorted({key[0] for key in found}):
        text.append(f"### {threads} thread{'s' if threads > 1 else ''}\n")
        text.append("| type | pairing | tokens | limit us | " + " | ".join(names) + " |")
        text.append("| --- | --- | ---: | ---: | " + " | ".join("---:" for _ in names) + " |")
        for (on, dtype, pairing, tokens), rows in found.items():
            if on != threads:
                continue
            first = next(iter(rows.values()))
            limit = f"{micro(first['limit_ns'])}{' ~' if first['noisy'] else ''}"
            cells = " | ".join(cell(rows, name) for name in names)
            text.append(f"| {dtype} | {pairing} | {tokens} | {limit} | {cells} |")
        text.append("")
    return "\n".join(text)


def case_words(key: Key) -> str:
    threads, dtype, pairing, tokens = key
    return f"{dtype} {pairing}, {tokens} token{'s' if tokens > 1 else ''}, {threads} thread{'s' if threads > 1 else ''}"


def ahead(found: dict[Key, dict[str, Row]]) -> str:
    """Where a peer wins, in words."""
    compared = list(against_ours(found))
    if not compared:
        return "No peer was compared.\n"
    winners = [(key, row, factor) for key, row, factor in compared if factor < 1]
    lines = [
        f"* {row['peer']}, {case_words(key)}: {short(row['ratio'])} times the limit, "
        f"{short(found[key][compared_with(row)]['ratio'])} here."
        for key, row, factor in winners
    ]
    if not lines:
        lines.append("Nowhere in this run: every peer takes longer than this library in every case.")
    nearest: dict[str, tuple[Key, Row, float]] = {}
    for key, row, factor in compared:
        if factor >= 1 and (row["peer"] not in nearest or factor < nearest[row["peer"]][2]):
            nearest[row["peer"]] = key, row, factor
    lines.append(f"\nOf {len(compared)} comparisons a peer wins {len(winners)}. Where each comes nearest without winning:\n")
    for name, (key, _, factor) in nearest.items():
        lines.append(f"* {name}: {short(factor)} times our time ({case_words(key)}).")
    return "\n".join(lines) + "\n"


def grouped(rows: Iterable[Row], say: str) -> Iterator[str]:
    """One line for each peer and reason, and the cases that it holds for."""
    places: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        places[row["peer"], row[say]].append(row)
    for (peer, reason), where in places.items():
        types = ", ".join(dict.fromkeys(row["dtype"] for row in where))
        pairings = ", ".join(dict.fromkeys(row["pairing"] for row in where))
        sizes = ", ".join(dict.fromkeys(str(row["tokens"]) for row in where))
        yield f"* {peer}: {reason} ({types}; {pairings}; {sizes} token{'' if sizes == '1' else 's'})."


def missing(runs: list[dict[str, Any]]) -> str:
    lines = [f"* {name}: {reason}." for run in runs for name, reason in run["absent"].items()]
    lines += grouped((row for run in runs for row in run["rows"] if "absent" in row), "absent")
    return "\n".join(dict.fromkeys(lines)) + "\n" if lines else "Nobody is missing.\n"


def differing(runs: list[dict[str, Any]]) -> str:
    rows = [row for run in runs for row in run["rows"] if row.get("agrees") is False]
    worst: dict[tuple[str, str], float] = defaultdict(float)
    for row in rows:
        key = row["peer"], row["dtype"]
        worst[key] = math.inf if row["error"] is None else max(worst[key], row["error"])
    for row in rows:
        most = worst[row["peer"], row["dtype"]]
        off = "a NaN" if most == math.inf else f"up to {most:.2g} of a pair's length"
        row["said"] = f"off by {off}, where its own precision allows {row['allowed']:.2g}"
    return "\n".join(grouped(rows, "said")) + "\n" if rows else "None.\n"


def panels(runs: list[dict[str, Any]]) -> list[tuple[str, list[tuple[str, float, bool]]]]:
    """For the chart: one thread, a panel a case, a bar a peer; the last tells ours."""
    found, names = by_case(runs), peers_of(runs)
    return [
        (
            f"{key[1]} {key[2]}, {key[3]} token{'s' if key[3] > 1 else ''}",
            [(n, rows[n]["ratio"], n in (OURS, PYTHON)) for n in names if rows.get(n, {}).get("agrees")],
        )
        for key, rows in found.items()
        if key[0] == min(k[0] for k in found)
    ]


def machine_words(runs: list[dict[str, Any]]) -> str:
    here = runs[0]["machine"]
    kind = "a virtual machine" if here["virtual"] else "a machine"
    others = max(run["machine"]["others"] for run in runs)
    busy = f"Other work took up to {others:.0%} of the processors' time." if others > 0.02 else "Nothing else ran."
    noisy = {(r["threads"], r["dtype"], r["pairing"], r["tokens"]): r["noisy"] for run in runs for r in run["rows"]}
    return wrapped(
        f"{here['processor']}, {here['vectors']}; {here['cores']} cores of {kind}. {busy} In {sum(noisy.values())} of "
        f"{len(noisy)} cases (~ in the table) the limit's own times spread by more than a tenth."
    )


def wrapped(text: str) -> str:
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def page(runs: list[dict[str, Any]], picture: str) -> str:
    versions = dict.fromkeys(words for run in runs for words in run["versions"].values())
    return PAGE.format(
        machine=machine_words(runs), tables=tables(runs), ahead=ahead(by_case(runs)), missing=missing(runs),
        differing=differing(runs), picture=picture,
        ggml=GGML["libggml" if any("libggml" in words for words in versions) else "llama"],
        versions=wrapped(f"Versions: {', '.join(versions)}."),
    )  # fmt: skip


GGML = {
    "llama": "ggml is llama-cpp-python's,\n  compiled for this machine.",
    "libggml": """ggml is that of
  `libggml-python`, built for AVX2. Compiled for a Zen 4 from llama-cpp-python 0.3.36 it was as fast in f32 and for f16
  half_split, and 3 times as fast for f16 interleaved.""",
}

PAGE = """# Against other packages

`scripts/bench_peers.sh` installs the rotations that people use on a CPU, checks what each computes, and times them
beside this library. This page and its picture are what it wrote.

{machine}

* q has 32 heads and k 8, of 128 lanes; every number is a time over the limit of [bench.md](bench.md), the least that
  loading, scaling and storing the same bytes costs. **Bold**: faster than this library. (!): the result is another one.
* One process, the same rounds: a round gives each its turn, on memory of its own; medians of the rounds. One thread
  means a process pinned to one processor, and its processor time; two threads, wall time. IPEX needs an older PyTorch,
  so it runs in a second process, with the limit and this library measured beside it.
* Two forms. *A call*: one call from Python (`rotary, from Python`: `rope.rotate_` with kept angles; vLLM, PyTorch,
  IPEX, JAX, MLX, rotary-embedding-torch). *A graph*: many rotations behind one call, so that the call does not count
  (`rotary`: `plan.run` from C++; ggml and ONNX Runtime, 64 rotations a call at one token). Each peer is compared with
  ours of its form; the Python package uses one thread, so with two threads calls of more than one token meet `rotary`.
* In place: rotary, vLLM and ggml. All others write new tensors; JAX is given its inputs to reuse. The C library is told
  to keep freed memory, which flatters those that allocate.
* Tables of cos and sin are ready before the clock starts, where a peer takes tables. ggml, MLX and
  rotary-embedding-torch make or look up their own inside the call. {ggml}

## Times the limit

{tables}
![Bars: times the limit, one thread, logarithmic]({picture})

## Where a peer is ahead

{ahead}
## Who computes something else

The result of each is compared with the formula in double before it is timed (that of `rotary`, from C++, with the
kernel `reference`): the largest distance of a pair from its place, over its length. A peer may be off by its own
roundings, and by those of its own angles. rotary-embedding-torch makes its positions in the data's type: bf16 holds no
odd number over 256, f16 none over 2048.

{differing}
## Who is not there

{missing}
{versions}
"""
