# SPDX-License-Identifier: Apache-2.0
"""llama.cpp's ggml: `ggml_rope_ext_inplace` in a graph that turns q and k again and again; it makes its angles in each
node anew. The shared libraries come from `llama-cpp-python`, else from `libggml-python`."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
from ctypes import c_bool, c_float, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path

import numpy as np

from .case import BASE, DTYPES, HEAD_DIM, HEADS, KV_HEADS, Case, Data, Prepared, Tolerance, Unsupported

def find() -> tuple[str, Path]:
    """The package, and where its libraries lie."""
    for package, module, folder in (("llama-cpp-python", "llama_cpp", "lib"), ("libggml-python", "libggml", "lib64")):
        found = importlib.util.find_spec(module)
        if found is not None and found.submodule_search_locations:
            return package, Path(found.submodule_search_locations[0]) / folder
    raise ImportError("neither llama-cpp-python nor libggml-python is installed")


PACKAGE, PLACE = find()
NAME, FORM, IN_PLACE = "ggml", "graph", True
TYPES, I32, NEOX = {"f32": 0, "f16": 1}, 26, 2


def tolerance(case: Case) -> Tolerance:
    return Tolerance(steps=1.5, radians=4e-3)  # the angle is a running product in f32


class InitParams(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("buffer", c_void_p), ("no_alloc", c_bool)]


class Plan(ctypes.Structure):
    """ggml_cplan; longer than any version's."""

    _fields_ = [("work_size", c_size_t), ("work", c_void_p), ("threads", c_int), ("rest", c_void_p * 16)]


@functools.cache
def load() -> tuple[ctypes.CDLL, ctypes.CDLL]:
    """What holds tensors and graphs, and what computes them."""
    base, cpu = (ctypes.CDLL(str(PLACE / f"lib{name}.so"), ctypes.RTLD_GLOBAL) for name in ("ggml-base", "ggml-cpu"))
    for name in ("init", "new_tensor_3d", "new_tensor_1d", "rope_ext_inplace", "new_graph_custom", "get_data"):
        getattr(base, f"ggml_{name}").restype = c_void_p
    base.ggml_init.argtypes = [InitParams]
    base.ggml_new_tensor_3d.argtypes = [c_void_p, c_int, c_int64, c_int64, c_int64]
    base.ggml_new_tensor_1d.argtypes = [c_void_p, c_int, c_int64]
    base.ggml_rope_ext_inplace.argtypes = [c_void_p] * 4 + [c_int] * 3 + [c_float] * 6
    base.ggml_new_graph_custom.argtypes = [c_void_p, c_size_t, c_bool]
    base.ggml_build_forward_expand.argtypes = [c_void_p, c_void_p]
    base.ggml_get_data.argtypes = base.ggml_free.argtypes = [c_void_p]
    cpu.ggml_graph_plan.argtypes, cpu.ggml_graph_plan.restype = [c_void_p, c_int, c_void_p], Plan
    cpu.ggml_graph_compute.argtypes = [c_void_p, ctypes.POINTER(Plan)]
    base.ggml_threadpool_params_init.argtypes = [c_void_p, c_int]
    cpu.ggml_threadpool_new.argtypes, cpu.ggml_threadpool_new.restype = [c_void_p], c_void_p
    cpu.ggml_cpu_init()
    return base, cpu


@functools.cache
def pool(threads: int) -> int | None:
    """Threads that are kept, as llama.cpp's programs do; without them each call would start some."""
    if threads == 1:
        return None
    base, cpu = load()
    parameters = ctypes.create_string_buffer(4096)  # longer than ggml_threadpool_params
    base.ggml_threadpool_params_init(parameters, threads)
    return int(cpu.ggml_threadpool_new(parameters))


class Graph:
    """A context with q, k and the positions, and `chain` rotations of both."""

    def __init__(self, case: Case, data: Data, chain: int):
        self.base, self.cpu = load()
        dtype = DTYPES[case.dtype]
        room = case.tokens * (HEADS + KV_HEADS) * HEAD_DIM * dtype.itemsize + (1 << 22) + 4096 * chain
        self.context = self.base.ggml_init(InitParams(room, None, False))
        shapes = ((data.q, HEADS), (data.k, KV_HEADS))
        make, kind = self.base.ggml_new_tensor_3d, TYPES[case.dtype]
        tensors = [make(self.context, kind, HEAD_DIM, heads, case.tokens) for _, heads in shapes]
        positions = self.base.ggml_new_tensor_1d(self.context, I32, case.tokens)
        self.q, self.k = (self.view(t, x) for t, (x, _) in zip(tensors, shapes, strict=True))
        self.q[...], self.k[...] = data.q, data.k
        where = data.positions.astype(np.int32)
        self.view(positions, where)[...] = where
        self.graph = self.base.ggml_new_graph_custom(self.context, 2 * chain + 16, False)
        numbers = (HEAD_DIM, NEOX if case.pairing == "half_split" else 0, 0, BASE, 1, 0, 1, 32, 1)
        turn = self.base.ggml_rope_ext_inplace
        for _ in range(chain):
            tensors = [turn(self.context, t, positions, None, *numbers) for t in tensors]
            for t in tensors:
                self.base.ggml_build_forward_expand(self.graph, t)
        self.plan = self.cpu.ggml_graph_plan(self.graph, case.threads, pool(case.threads))
        self.work = ctypes.create_string_buffer(max(1, self.plan.work_size))
        self.plan.work = ctypes.cast(self.work, c_void_p)

    def view(self, tensor: int, like: np.ndarray) -> np.ndarray:
        memory = (ctypes.c_char * like.nbytes).from_address(self.base.ggml_get_data(tensor))
        return np.frombuffer(memory, like.dtype).reshape(like.shape)

    def run(self) -> None:
        if self.cpu.ggml_graph_compute(self.graph, ctypes.byref(self.plan)) != 0:
            raise RuntimeError("ggml_graph_compute failed")

    def __del__(self) -> None:
        if context := getattr(self, "context", None):
            self.base.ggml_free(context)


def prepare(case: Case, data: Data) -> Prepared:
    if case.dtype not in TYPES:
        raise Unsupported("no rotation of bf16 on the CPU")

    def result():
        once = Graph(case, data, 1)
        once.run()
        return once.q.copy(), once.k.copy()

    return Prepared(Graph(case, data, case.chain).run, result, case.chain)
