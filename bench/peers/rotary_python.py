# SPDX-License-Identifier: Apache-2.0
"""This library from Python: `rope.rotate_` with kept angles, of PyTorch's tensors, as most of the peers get them."""

from __future__ import annotations

import rotary

from .case import BASE, FIRST, HEAD_DIM, Case, Data, Prepared, Tolerance
from .torch_tensors import arrays, tensor

NAME, PACKAGE, FORM, IN_PLACE = "rotary, from Python", "rotary", "call", True


def tolerance(case: Case) -> Tolerance:
    return Tolerance(steps=2 if case.dtype == "f32" else 1)  # f32: the rows are rounded to it, too


def prepare(case: Case, data: Data) -> Prepared:
    rope = rotary.Rope(HEAD_DIM, base=BASE, pairing=case.pairing)
    angles = rope.angles(range(FIRST, FIRST + case.tokens))
    q, k = tensor(data.q), tensor(data.k)

    def result():
        fresh = tensor(data.q), tensor(data.k)
        rope.rotate_(*fresh, angles=angles, layout="thd")
        return arrays(*fresh)

    return Prepared(lambda: rope.rotate_(q, k, angles=angles, layout="thd"), result)
