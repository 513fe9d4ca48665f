# SPDX-License-Identifier: Apache-2.0
"""torch.compile of the functions of torch_eager, for each shape its own code."""

from __future__ import annotations

import torch

from . import torch_eager
from .case import Case, Data, Prepared, Tolerance

NAME, PACKAGE, FORM, IN_PLACE = "PyTorch compiled", "torch", "call", False


def tolerance(case: Case) -> Tolerance:
    return torch_eager.tolerance(case)


def prepare(case: Case, data: Data) -> Prepared:
    torch.set_num_threads(case.threads)
    torch._dynamo.reset()
    turn = torch.compile(getattr(torch_eager, case.pairing), dynamic=False, fullgraph=True)
    given = torch_eager.arguments(case, data)
    return torch_eager.prepared(lambda: turn(*given))
