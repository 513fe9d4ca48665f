# SPDX-License-Identifier: Apache-2.0
"""Interleaved rounds and their medians."""

from __future__ import annotations

import gc
import itertools
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

TOO_NOISY = 0.1  # as `rotary bench`: the limit's own times differ by more than this part
TURN_NS, MOST_CALLS = 1_500_000, 2000  # how long a contestant's turn lasts
LEAST_ROUNDS, MOST_SECONDS = 3, 15  # on a machine too busy for them all
REST = 0.005  # how long the threads of a pool may spin after it


@dataclass(frozen=True)
class Contestant:
    """`run` does its work `chain` times."""

    run: Callable[[], object]
    chain: int = 1


def clock(threads: int) -> Callable[[], int]:
    """Nanoseconds. With one thread those of the process alone, so that a busy machine disturbs less; a process that
    has one processor cannot hide work in a second thread."""
    return time.process_time_ns if threads == 1 else time.perf_counter_ns


def median(times: list[float]) -> float:
    return statistics.median(times)


def spread(times: list[float]) -> float:
    """How far the middle half of the times lies apart, against the median."""
    if len(times) < 2:
        return 0.0
    low, middle, high = statistics.quantiles(times, n=4, method="inclusive")
    return (high - low) / middle


def rounds(
    contestants: Mapping[str, Contestant], count: int, now: Callable[[], int], rest: float = 0
) -> dict[str, list[float]]:
    """Nanoseconds a rotation, one for each round; every contestant has its turn in each. `rest`: seconds before a turn,
    in which the threads of the one before stop looking out for work. After MOST_SECONDS there is no further round."""
    calls = {name: calls_for(one, now) for name, one in contestants.items()}
    times: dict[str, list[float]] = {name: [] for name in contestants}
    gc.collect()
    gc.disable()  # nobody pays for what another has left
    end = time.monotonic() + MOST_SECONDS
    try:
        for number in range(count):
            if number >= LEAST_ROUNDS and time.monotonic() > end:
                break
            for name, one in contestants.items():
                if rest > 0:
                    time.sleep(rest)
                if calls[name] > 1:
                    one.run()  # its memory is back in the caches
                start = now()
                for _ in itertools.repeat(None, calls[name]):
                    one.run()
                times[name].append((now() - start) / (calls[name] * one.chain))
    finally:
        gc.enable()
    return times


def calls_for(one: Contestant, now: Callable[[], int]) -> int:
    """Calls that fill a turn; the first call warms up."""
    one.run()
    start = now()
    one.run()
    return max(1, min(MOST_CALLS, TURN_NS // max(1, now() - start)))


def best(times: Mapping[str, list[float]]) -> tuple[float, float]:
    """The least of the medians, and its spread."""
    least = min(times.values(), key=median)
    return median(least), spread(least)
