# SPDX-License-Identifier: Apache-2.0
"""llama.cpp's ggml: `ggml_rope_ext_inplace` in a graph that turns q and k again and again; it makes its angles in each
node anew."""

from __future__ import annotations

import functools

import numpy as np

from .case import BASE, DTYPES, HEAD_DIM, HEADS, KV_HEADS, Case, Data, Prepared, Tolerance, Unsupported
from .ggml_library import NEOX, NORMAL, PACKAGE, TYPES, Context  # noqa: F401 - PACKAGE names this peer's version

NAME, FORM, IN_PLACE = "ggml", "graph", True


def tolerance(case: Case) -> Tolerance:
    return Tolerance(steps=1.5, radians=4e-3)  # the angle is a running product in f32


class Graph:
    """q, k and the positions, and `chain` rotations of both."""

    def __init__(self, case: Case, data: Data, chain: int):
        room = case.tokens * (HEADS + KV_HEADS) * HEAD_DIM * DTYPES[case.dtype].itemsize + (1 << 22) + 4096 * chain
        context = Context(room, nodes=2 * chain + 16)
        (q, self.q), (k, self.k) = context.tensor(data.q), context.tensor(data.k)
        positions, _ = context.tensor(data.positions.astype(np.int32))
        mode = NEOX if case.pairing == "half_split" else NORMAL
        for _ in range(chain):
            q, k = (context.rope(t, positions, None, HEAD_DIM, mode, 0, BASE, 1, 0, 1, 32, 1) for t in (q, k))
        self.run = functools.partial(context.run, case.threads)


def prepare(case: Case, data: Data) -> Prepared:
    if DTYPES[case.dtype] not in TYPES:
        raise Unsupported("no rotation of bf16 on the CPU")

    def result():
        once = Graph(case, data, 1)
        once.run()
        return once.q.copy(), once.k.copy()

    return Prepared(Graph(case, data, case.chain).run, result, case.chain)
