# SPDX-License-Identifier: Apache-2.0
"""Who takes part, and one case run through: each checked against the formula in double first, then timed in turn."""

from __future__ import annotations

import importlib
import importlib.metadata
import math
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from .case import STEPS, Case, Data, Unsupported
from .measure import REST, TOO_NOISY, Contestant, best, clock, median, rounds, spread
from .native import Native

OURS = "rotary"
# The files of this folder. An environment has those whose packages agree; IPEX wants a PyTorch of its own.
PEERS = {
    "main": (
        "rotary_python", "vllm", "ggml", "onnx_runtime", "torch_eager", "torch_compiled", "jax_jit", "mlx_rope",
        "rotary_embedding_torch",
    ),
    "ipex": ("ipex",),
}  # fmt: skip


def load(names: Iterable[str]) -> tuple[list[ModuleType], dict[str, str]]:
    """The peers that can be imported; why the others cannot."""
    peers, absent = [], {}
    for name in names:
        try:
            peers.append(importlib.import_module(f"peers.{name}"))
        except (ImportError, OSError, RuntimeError) as error:
            absent[name] = f"{type(error).__name__}: {error}".splitlines()[0]
    return peers, absent


def version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def verdict(error: float, allowed: float) -> bool:
    """Is the result the right one, within the peer's own precision? A NaN is not."""
    return error <= allowed


def enter(peer: ModuleType, case: Case, data: Data) -> tuple[dict[str, Any], Contestant | None]:
    """The peer's row of results, and what is to be timed."""
    row: dict[str, Any] = {"peer": peer.NAME, "form": peer.FORM, "in_place": peer.IN_PLACE}
    try:
        made = peer.prepare(case, data)
        error, allowed = data.error(made.result()), peer.tolerance(case).of(case.dtype)
    except Unsupported as reason:
        return row | {"absent": str(reason)}, None
    except Exception as failure:  # whatever a peer throws is its result, not the end of the run
        lines = [line.strip() for line in str(failure).splitlines() if line.strip()]
        return row | {"absent": f"failed: {type(failure).__name__}: {lines[0] if lines else ''}"[:300]}, None
    shown = None if math.isnan(error) else error
    row |= {"error": shown, "allowed": allowed, "agrees": verdict(error, allowed)}
    return row, Contestant(made.run, made.chain)


def contest(case: Case, peers: list[ModuleType], count: int) -> list[dict[str, Any]]:
    """A row for this library's kernel, with the limit's time, and one for each peer."""
    data, native = Data(case), Native(case)
    steps = native.steps_off()
    ours: dict[str, Any] = {
        "peer": OURS, "form": "graph", "in_place": True, "kernel": native.kernel,
        "error": steps * STEPS[case.dtype], "allowed": 2 * STEPS[case.dtype], "agrees": steps < 2,
    }  # fmt: skip
    rows, field = [ours], {OURS: Contestant(lambda: native.rotate(case.chain), case.chain)}
    ways = {f"limit {way}": way for way in range(native.limits)}
    for name, way in ways.items():
        field[name] = Contestant(lambda way=way: native.limit(way, case.chain), case.chain)
    for peer in peers:
        row, contestant = enter(peer, case, data)
        rows.append(row)
        if contestant is not None:
            field[peer.NAME] = contestant
    times = rounds(field, count, clock(case.threads), REST if case.threads > 1 else 0)
    limit_ns, apart = best({name: times[name] for name in ways})
    facts = {
        "tokens": case.tokens, "dtype": case.dtype, "pairing": case.pairing, "threads": case.threads,
        "limit_ns": limit_ns, "noisy": apart > TOO_NOISY,
    }  # fmt: skip
    for row in rows:
        row |= facts
        if taken := times.get(row["peer"]):
            row |= {"ns": median(taken), "ratio": median(taken) / limit_ns, "spread": spread(taken)}
    return rows


def progress(case: Case, rows: list[dict[str, Any]]) -> None:
    timed = [row for row in rows if "ratio" in row]
    parts = [f"{row['peer']} {row['ratio']:.2f}{'' if row['agrees'] else ' (differs)'}" for row in timed]
    start = f"{case}: limit {rows[0]['limit_ns']:.0f} ns; times the limit: "
    print(start + ", ".join(parts), file=sys.stderr, flush=True)
