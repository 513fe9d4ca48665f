# SPDX-License-Identifier: Apache-2.0
"""What is turned, what it must become, and what a peer hands over to be timed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import ml_dtypes
import numpy as np

HEADS, KV_HEADS, HEAD_DIM, PAIRS, BASE = 32, 8, 128, 64, 10000.0
FIRST = 1009  # the first token's position: one that 16 bits cannot hold
DTYPES = {"f32": np.dtype(np.float32), "bf16": np.dtype(ml_dtypes.bfloat16), "f16": np.dtype(np.float16)}
STEPS = {"f32": 2.0**-23, "bf16": 2.0**-7, "f16": 2.0**-10}  # between neighbouring numbers, relative


@dataclass(frozen=True)
class Case:
    tokens: int
    dtype: str
    pairing: str
    threads: int = 1

    @property
    def chain(self) -> int:
        """Rotations in one call of a peer that runs graphs: enough that starting the graph does not count."""
        return max(1, min(64, 2048 // self.tokens))

    def __str__(self) -> str:
        return f"{self.dtype} {self.pairing} tokens={self.tokens} threads={self.threads}"


def cases(threads: int, quick: bool) -> list[Case]:
    sizes = (1, 256) if quick else (1, 256, 4096)
    return [Case(t, d, p, threads) for d in DTYPES for p in ("half_split", "interleaved") for t in sizes]


class Unsupported(Exception):
    """The peer has no such rotation; says why."""


@dataclass(frozen=True)
class Tolerance:
    """What a correct result may be off, against the length of a pair: steps of the element type for the roundings
    on the way (half a step is one rounding), and radians where the peer makes its angles itself."""

    steps: float
    radians: float = 0.0

    def of(self, dtype: str) -> float:
        return self.steps * STEPS[dtype] + self.radians


@dataclass
class Prepared:
    """A peer ready to be timed. `run` owns the memory that it works on."""

    run: Callable[[], object]  # turns q and k `chain` times, and waits for it
    result: Callable[[], tuple[np.ndarray, np.ndarray]]  # q and k of the case turned once, any float type
    chain: int = 1


class Data:
    """q [tokens, 32, 128] and k [tokens, 8, 128], rows of cos and sin, and the turned q and k in double."""

    def __init__(self, case: Case):
        numbers = np.random.default_rng(case.tokens)
        dtype = DTYPES[case.dtype]
        self.q, self.k = (
            numbers.uniform(-2, 2, (case.tokens, heads, HEAD_DIM)).astype(dtype) for heads in (HEADS, KV_HEADS)
        )
        self.positions = np.arange(FIRST, FIRST + case.tokens)
        angles = self.positions[:, None] * BASE ** (-np.arange(PAIRS) / PAIRS)
        self.cos, self.sin = np.cos(angles), np.sin(angles)  # [tokens, pairs], double
        self.pairing = case.pairing

    def table(self, parts: tuple[str, ...], dtype: np.dtype | type = np.float32) -> np.ndarray:
        """The rows side by side, for every position from 0: for peers that look positions up. Before the first
        token's, zeros: nobody may read them."""
        rows = np.concatenate([{"cos": self.cos, "sin": self.sin}[part] for part in parts], -1)
        return np.concatenate([np.zeros((FIRST, rows.shape[1])), rows]).astype(dtype)

    def want(self, x: np.ndarray) -> np.ndarray:
        """x turned, in double, by the formula."""
        x = x.astype(np.float64)
        first, second = lanes(x, self.pairing)
        cos, sin = self.cos[:, None], self.sin[:, None]
        out = np.empty_like(x)
        out_first, out_second = lanes(out, self.pairing)
        out_first[...] = first * cos - second * sin
        out_second[...] = second * cos + first * sin
        return out

    def error(self, got: tuple[np.ndarray, np.ndarray]) -> float:
        """The largest distance of a pair from where it should be, over its length. NaN where there is one."""
        worst = 0.0
        for given, turned in zip((self.q, self.k), got, strict=True):
            if given.shape != turned.shape:
                raise ValueError(f"shape {turned.shape}, expected {given.shape}")
            want = self.want(given)
            apart = np.hypot(*lanes(turned.astype(np.float64) - want, self.pairing))
            length = np.hypot(*lanes(want, self.pairing))
            worst = float(np.fmax(worst, np.max(apart / np.maximum(length, 1e-3))))
            if np.isnan(apart).any():
                return float("nan")
        return worst


def lanes(x: np.ndarray, pairing: str) -> tuple[np.ndarray, np.ndarray]:
    """Views of the first and the second lane of each pair."""
    if pairing == "half_split":
        return x[..., :PAIRS], x[..., PAIRS:]
    return x[..., 0::2], x[..., 1::2]
