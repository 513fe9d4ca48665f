# SPDX-License-Identifier: Apache-2.0
"""Intel's extension for PyTorch: `rotary_position_embedding`, once for q and once for k, tables in f32."""

from __future__ import annotations

import intel_extension_for_pytorch  # noqa: F401  registers the operators
import torch

from .case import HEAD_DIM, HEADS, KV_HEADS, PAIRS, Case, Data, Prepared, Tolerance
from .torch_tensors import arrays, tensor

NAME, PACKAGE, FORM, IN_PLACE = "IPEX", "intel-extension-for-pytorch", "call", False


def tolerance(case: Case) -> Tolerance:
    return Tolerance(steps=1.5)


def prepare(case: Case, data: Data) -> Prepared:
    torch.set_num_threads(case.threads)
    q, k, positions = tensor(data.q)[None], tensor(data.k)[None], tensor(data.positions)[None]
    table = tensor(data.table(("sin", "cos")))
    turn = torch.ops.torch_ipex.rotary_position_embedding
    apart = PAIRS if case.pairing == "half_split" else 1

    def both(q, k):
        return tuple(turn(x, table, positions, n, HEAD_DIM, apart, HEAD_DIM)[0] for x, n in ((q, HEADS), (k, KV_HEADS)))

    def result():
        turned = both(tensor(data.q)[None], tensor(data.k)[None])
        return tuple(x.reshape(like.shape) for x, like in zip(arrays(*turned), (data.q, data.k), strict=True))

    return Prepared(lambda: both(q, k), result)
