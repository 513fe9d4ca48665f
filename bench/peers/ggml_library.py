# SPDX-License-Identifier: Apache-2.0
"""ggml's shared libraries by ctypes: tensors, the rope operator, and graphs of it. They come from `llama-cpp-python`, else
from `libggml-python`. Of this repository it needs nothing: the peer in the benchmark and a script of fixtures use it."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
from ctypes import c_bool, c_float, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path

import numpy as np

TYPES = {np.dtype(np.float32): 0, np.dtype(np.float16): 1, np.dtype(np.int32): 26}
NORMAL, NEOX = 0, 2  # modes of the operator: lanes (2i, 2i + 1), and (i, i + n / 2)


def find() -> tuple[str, Path]:
    """The package, and where its libraries lie."""
    for package, module, folder in (("llama-cpp-python", "llama_cpp", "lib"), ("libggml-python", "libggml", "lib64")):
        found = importlib.util.find_spec(module)
        if found is not None and found.submodule_search_locations:
            return package, Path(found.submodule_search_locations[0]) / folder
    raise ImportError("neither llama-cpp-python nor libggml-python is installed")


PACKAGE, PLACE = find()


class InitParams(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("buffer", c_void_p), ("no_alloc", c_bool)]


class Plan(ctypes.Structure):
    """ggml_cplan; longer than any version's."""

    _fields_ = [("work_size", c_size_t), ("work", c_void_p), ("threads", c_int), ("rest", c_void_p * 16)]


@functools.cache
def load() -> tuple[ctypes.CDLL, ctypes.CDLL]:
    """What holds tensors and graphs, and what computes them."""
    base, cpu = (ctypes.CDLL(str(PLACE / f"lib{name}.so"), ctypes.RTLD_GLOBAL) for name in ("ggml-base", "ggml-cpu"))
    for name in ("init", "new_tensor", "rope_ext_inplace", "new_graph_custom", "get_data"):
        getattr(base, f"ggml_{name}").restype = c_void_p
    base.ggml_init.argtypes = [InitParams]
    base.ggml_new_tensor.argtypes = [c_void_p, c_int, c_int, ctypes.POINTER(c_int64)]
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


class Context:
    """Tensors in `room` bytes, rotations of them, and the graph of those that were asked for."""

    def __init__(self, room: int, nodes: int = 16):
        self.base, self.cpu = load()
        self.context = self.base.ggml_init(InitParams(room, None, False))
        self.graph = self.base.ggml_new_graph_custom(self.context, nodes, False)
        self.plan: Plan | None = None

    def tensor(self, values: np.ndarray) -> tuple[int, np.ndarray]:
        """A tensor that holds the values, and the view through which they are read and written."""
        shape = (c_int64 * values.ndim)(*reversed(values.shape))
        made = self.base.ggml_new_tensor(self.context, TYPES[values.dtype], values.ndim, shape)
        memory = (ctypes.c_char * values.nbytes).from_address(self.base.ggml_get_data(made))
        view = np.frombuffer(memory, values.dtype).reshape(values.shape)
        view[...] = values
        return made, view

    def rope(self, tensor: int, positions: int, divisors: int | None, lanes: int, mode: int, original: int, base: float,
             freq_scale: float, ext_factor: float, attn_factor: float, beta_fast: float, beta_slow: float) -> int:
        """The tensor turned in place; its memory stays where it is."""
        turned = self.base.ggml_rope_ext_inplace(self.context, tensor, positions, divisors, lanes, mode, original, base,
                                                 freq_scale, ext_factor, attn_factor, beta_fast, beta_slow)
        self.base.ggml_build_forward_expand(self.graph, turned)
        return turned

    def run(self, threads: int = 1) -> None:
        """The graph, on as many threads as at the first call."""
        if self.plan is None:
            self.plan = self.cpu.ggml_graph_plan(self.graph, threads, pool(threads))
            self.work = ctypes.create_string_buffer(max(1, self.plan.work_size))
            self.plan.work = ctypes.cast(self.work, c_void_p)
        if self.cpu.ggml_graph_compute(self.graph, ctypes.byref(self.plan)) != 0:
            raise RuntimeError("ggml_graph_compute failed")

    def __del__(self) -> None:
        if context := getattr(self, "context", None):
            self.base.ggml_free(context)
