# SPDX-License-Identifier: Apache-2.0
"""PyTorch's operations one by one: rotate_half as Transformers writes it, complex numbers as Meta's Llama does."""

from __future__ import annotations

import torch

from .case import Case, Data, Prepared, Tolerance
from .torch_tensors import TYPES, arrays, tensor

NAME, PACKAGE, FORM, IN_PLACE = "PyTorch eager", "torch", "call", False


def tolerance(case: Case) -> Tolerance:
    # rotate_half: tables, products and sum are rounded to the type. Complex: in f32, rounded once.
    return Tolerance(steps=4 if case.pairing == "half_split" else 1.5)


def rotate_half(x: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def half_split(q, k, cos, sin):
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


def interleaved(q, k, freqs_cis):
    turned_q = torch.view_as_complex(q.float().reshape(*q.shape[:-1], -1, 2)) * freqs_cis
    turned_k = torch.view_as_complex(k.float().reshape(*k.shape[:-1], -1, 2)) * freqs_cis
    return torch.view_as_real(turned_q).flatten(-2).type_as(q), torch.view_as_real(turned_k).flatten(-2).type_as(k)


def arguments(case: Case, data: Data) -> tuple[torch.Tensor, ...]:
    """q, k and the tables in the form that the pairing's function takes."""
    q, k, cos, sin = (tensor(x) for x in (data.q, data.k, data.cos, data.sin))
    if case.pairing == "half_split":
        rows = (torch.cat((t, t), -1).unsqueeze(1).to(TYPES[case.dtype]) for t in (cos, sin))
        return q, k, *rows
    return q, k, torch.complex(cos, sin).to(torch.complex64).unsqueeze(1)


def prepare(case: Case, data: Data) -> Prepared:
    torch.set_num_threads(case.threads)
    turn = half_split if case.pairing == "half_split" else interleaved
    given = arguments(case, data)
    return prepared(lambda: turn(*given))


def prepared(turn) -> Prepared:
    """Out of place: the same call is timed and checked."""

    def run() -> None:
        with torch.inference_mode():
            turn()

    def result():
        with torch.inference_mode():
            return arrays(*turn())

    return Prepared(run, result)
