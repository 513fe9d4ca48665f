# SPDX-License-Identifier: Apache-2.0
"""Several Python threads on one rope, and on one Angles."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from support import normal

import rotary

ROPE = rotary.Rope(64)


def test_report_194_threads_share_a_rope() -> None:
    """Random lengths on one shared rope from many threads: the bits of one thread alone."""
    work = [normal(1, 2, int(n), 64, seed=int(n)) for n in np.random.default_rng(3).integers(1, 700, 64)]
    want = [ROPE.rotate(x, positions=i) for i, x in enumerate(work)]
    with ThreadPoolExecutor(16) as pool:
        got = list(pool.map(lambda i: ROPE.rotate(work[i], positions=i), range(len(work))))
    assert all(np.array_equal(a, b) for a, b in zip(got, want, strict=True))


def test_refill_while_others_rotate() -> None:
    """A call goes on with the positions that it began with."""
    angles = ROPE.angles(range(2000))
    x = normal(1, 16, 2000, 64)
    allowed = [ROPE.rotate(x, positions=first) for first in (0, 777)]
    stop = threading.Event()

    def refill() -> None:
        while not stop.is_set():
            for first in (777, 0):
                angles.refill(range(first, first + 2000))

    other = threading.Thread(target=refill)
    other.start()
    try:
        for _ in range(20):
            got = ROPE.rotate(x, angles=angles)
            assert any(np.array_equal(got, want) for want in allowed)
    finally:
        stop.set()
        other.join()


def test_other_threads_run_meanwhile() -> None:
    """The lock is released around large work: another thread counts while this one is inside one call."""
    x = normal(1, 64, 4096, 64)
    angles = ROPE.angles(range(4096))
    counts, stop = [0], threading.Event()

    def count() -> None:
        while not stop.is_set():
            counts[0] += 1
            time.sleep(0)

    other = threading.Thread(target=count)
    other.start()
    try:
        while not counts[0]:
            time.sleep(0)
        ran = 0
        for _ in range(30):
            before = counts[0]
            ROPE.rotate_(x, angles=angles)
            ran += counts[0] > before + 1
        assert ran > 0
    finally:
        stop.set()
        other.join()


def test_arrays_that_go_meanwhile() -> None:
    """The memory is held for the call, whoever else lets go of it."""
    for _ in range(50):
        holder = [normal(1, 8, 512, 64)]
        thread = threading.Thread(target=holder.clear)
        thread.start()
        ROPE.rotate_(holder[0] if holder else normal(1, 1, 512, 64), positions=0)
        thread.join()
    # While a call holds it, NumPy refuses to move the memory; afterwards it does not.
    x = normal(1, 8, 512, 64).copy()
    ROPE.rotate_(x, positions=0)
    x.resize((1, 8, 256, 64), refcheck=False)


@pytest.mark.parametrize("layout,shape", [("bhtd", (2, 8, 300, 64)), ("thd", (600, 8, 64))])
@pytest.mark.parametrize("threads", [0, 2, 3])
def test_threads_of_one_call_give_the_same_bits(threads: int, layout: str, shape: tuple[int, ...]) -> None:
    rope = rotary.Rope(64, rotary_dim=48, pairing="interleaved")
    q, k = normal(*shape), normal(*shape, seed=1)
    want = rope.rotate(q, k, positions=5000, layout=layout)
    for got in (rope.rotate(q, k, positions=5000, layout=layout, threads=threads), (q, k)):
        if got[0] is q:
            rope.rotate_(q, k, positions=5000, layout=layout, threads=threads)
        assert np.array_equal(got[0], want[0]) and np.array_equal(got[1], want[1])


def test_a_number_of_threads_that_cannot_be() -> None:
    for threads in (-1, 1025):
        with pytest.raises(ValueError, match=f"threads {threads}: expected 1, another number"):
            rotary.Rope(8).rotate(np.ones((1, 1, 1, 8)), positions=0, threads=threads)


@pytest.mark.filterwarnings("ignore:This process")
def test_a_forked_child_turns_by_itself() -> None:
    """The pool's threads stay with the parent; the child's call does the whole."""
    rope, q = rotary.Rope(64), normal(1, 8, 600, 64)
    want = rope.rotate(q, positions=700, threads=2)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, bytes([np.array_equal(rope.rotate(q, positions=700, threads=2), want)]))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0 and os.read(read, 1) == b"\1"
