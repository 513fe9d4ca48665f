# SPDX-License-Identifier: Apache-2.0
"""MLX on the CPU: `mx.fast.rope` of q and of k, head-major as MLX takes them; angles of its own, in f32."""

from __future__ import annotations

import mlx.core as mx
import numpy as np

from .case import BASE, FIRST, HEAD_DIM, Case, Data, Prepared, Tolerance

NAME, PACKAGE, FORM, IN_PLACE = "MLX", "mlx-cpu", "call", False
TYPES = {"f32": mx.float32, "bf16": mx.bfloat16, "f16": mx.float16}


def tolerance(case: Case) -> Tolerance:
    return Tolerance(steps=4, radians=2e-3)


def prepare(case: Case, data: Data) -> Prepared:
    mx.set_default_device(mx.cpu)
    q, k = (
        mx.array(np.ascontiguousarray(x.astype(np.float32).transpose(1, 0, 2))[None]).astype(TYPES[case.dtype])
        for x in (data.q, data.k)
    )
    mx.eval(q, k)

    def turn():
        traditional = case.pairing == "interleaved"
        turned = [
            mx.fast.rope(x, HEAD_DIM, traditional=traditional, base=BASE, scale=1.0, offset=FIRST) for x in (q, k)
        ]
        mx.eval(*turned)
        return turned

    def result():
        return tuple(np.array(x.astype(mx.float32))[0].transpose(1, 0, 2) for x in turn())

    return Prepared(turn, result)
