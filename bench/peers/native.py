# SPDX-License-Identifier: Apache-2.0
"""The library of bench/bench_library.cc: what `rotary bench` times, the limit's passes among it."""

from __future__ import annotations

import ctypes
import os

from .case import Case


class Native:
    """One case of `rotary bench`, with memory of its own."""

    library: ctypes.CDLL | None = None

    @classmethod
    def open(cls) -> ctypes.CDLL:
        if cls.library is None:
            path = os.environ.get("ROTARY_BENCH_LIBRARY", "")
            if not path:
                raise OSError("ROTARY_BENCH_LIBRARY names no library; scripts/bench_peers.sh builds it and says where")
            library = ctypes.CDLL(path)
            library.rotary_bench_make.restype = ctypes.c_void_p
            library.rotary_bench_steps_off.restype = ctypes.c_double
            library.rotary_bench_kernel.restype = library.rotary_bench_problem.restype = ctypes.c_char_p
            library.rotary_bench_make.argtypes = [ctypes.c_int64, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int]
            cls.library = library
        return cls.library

    def __init__(self, case: Case):
        self.functions = self.open()
        made = self.functions.rotary_bench_make(case.tokens, case.dtype.encode(), case.pairing.encode(), case.threads)
        if not made:
            raise RuntimeError(f"{case}: {self.functions.rotary_bench_problem().decode()}")
        self.handle = ctypes.c_void_p(made)
        self.limits = int(self.functions.rotary_bench_limit_count(self.handle))
        self.kernel = self.functions.rotary_bench_kernel(self.handle).decode()

    def __del__(self) -> None:
        if handle := getattr(self, "handle", None):
            self.functions.rotary_bench_free(handle)

    def steps_off(self) -> float:
        return float(self.functions.rotary_bench_steps_off(self.handle))

    def rotate(self, calls: int) -> None:
        self.functions.rotary_bench_rotate(self.handle, calls)

    def limit(self, way: int, calls: int) -> None:
        self.functions.rotary_bench_limit(self.handle, way, calls)
