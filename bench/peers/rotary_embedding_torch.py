# SPDX-License-Identifier: Apache-2.0
"""The package rotary-embedding-torch: `rotate_queries_or_keys` of q and of k; it pairs neighbouring lanes."""

from __future__ import annotations

import torch
from rotary_embedding_torch import RotaryEmbedding

from .case import FIRST, HEAD_DIM, Case, Data, Prepared, Tolerance, Unsupported
from .torch_eager import prepared
from .torch_tensors import tensor

NAME, PACKAGE, FORM, IN_PLACE = "rotary-embedding-torch", "rotary-embedding-torch", "call", False


def tolerance(case: Case) -> Tolerance:
    return Tolerance(steps=4, radians=2e-3)


def prepare(case: Case, data: Data) -> Prepared:
    if case.pairing != "interleaved":
        raise Unsupported("pairs neighbouring lanes only")
    torch.set_num_threads(case.threads)
    embedding = RotaryEmbedding(dim=HEAD_DIM)
    q, k = tensor(data.q), tensor(data.k)

    def turn():
        return tuple(embedding.rotate_queries_or_keys(x, seq_dim=-3, offset=FIRST) for x in (q, k))

    return prepared(turn)
