#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the include lines of every source file and fails on an edge that the plan of the house does not allow.

Usage: check_includes.py ROOT
"""
import re
import sys
from pathlib import Path

# A room, and the rooms whose headers it may include beside its own.
ALLOWED = {
    "base": set(),
    "kernels": {"base"},
    "spectrum": {"base"},
    "positions": {"base"},
    # rope: the name of a pairing, and Rope::angles; kernels: cos and sin of a row, once a SIMD target.
    "angles": {"base", "spectrum", "positions", "rope", "kernels"},
    "rope": {"base", "spectrum", "positions", "angles"},
    "rotate": {"base", "spectrum", "positions", "angles", "rope", "kernels"},
    "attention": {"base", "spectrum", "positions", "angles", "rope", "rotate"},
    "classic": {"base", "spectrum", "positions", "angles", "rope", "rotate"},
    "formats": {"base"},
    "model": {"base", "spectrum", "angles", "rope", "formats"},
}

# The room of each public header, or of the folder it stands in. The value types that a layer is
# described by (rope.hpp and the calls in it) are one room, so that a model can hold a Rope.
PUBLIC_ROOM = {
    "status": "base", "dtype": "base", "tensor": "base", "export": "base", "version": "base", "executor": "base",
    "executors": "base",
    "spectrum": "spectrum", "axes": "spectrum", "scaling": "spectrum", "temperature": "spectrum", "length_rule": "spectrum",
    "peer": "model", "positions": "positions", "grids": "positions", "multimodal": "positions", "shards": "positions",
    "dual_chunk": "positions", "angles": "angles", "fope": "angles",
    "rope": "rope", "rotate": "rope", "operand": "rope", "store": "rope", "kernels": "rope", "attention": "attention", "classic": "classic",
    "model": "model", "formats": "formats", "rotary": "everything",
}

# Parts that stand outside the library: public headers, and what lies beside the file, and nothing else of ours.
OUTSIDE = ("tools", "python", "examples", "bench", "tests/conformance", "tests/property", "tests/fuzz", "tests/consumer",
           "tests/cli")

# The one report of a model has two doors: the command and Python's explain.
SHARED = {("python", "render.hpp"), ("python", "text.hpp")}

# Where headers of others may appear: the beginning of the path in <...>, and the folders or files that may name it.
THIRD_PARTY = {
    "nlohmann/": ("src/formats", "src/model", "tools", "tests/unit", "tests/conformance", "tests/cli", "tests/support"),
    "hwy/": ("src/kernels", "tests/unit"),
    "CLI/": ("tools",),
    "nanobind/": ("python",),
    "gtest/": ("tests",),
    "benchmark/": ("bench",),
    "rapidcheck": ("tests/property", "tests/unit"),
    "mpfr.h": ("tests/unit", "tests/support"),
    "gmp.h": ("tests/unit", "tests/support"),
    "omp.h": ("include/rotary/executors/openmp.hpp",),
    "tbb/": ("include/rotary/executors/tbb.hpp",),
    # The platform: one file maps files and replaces them, one of the Python module finds PyTorch's threads.
    "dlfcn.h": ("python/src/threads.cc",),
    "sys/": ("src/base/posix_files.cc", "tools/rotary/bench_memory.cc", "tests"),
    "fcntl.h": ("src/base/posix_files.cc", "src/base/caches.cc", "tests"),
    "unistd.h": ("src/base/posix_files.cc", "src/base/caches.cc", "tests"),
}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:<([^>]+)>|"([^"]+)"|(\w+))', re.MULTILINE)
STANDARD = re.compile(r"[a-z0-9_]+")  # <vector>, <cstdint>: no folder and no suffix
SUFFIXES = {".hpp", ".h", ".cc"}


def part_of(path):
    """("include", room), ("src", room), ("outside", part) or ("tests", None) of a path relative to the root."""
    parts = path.parts
    if parts[:2] == ("include", "rotary"):
        return "include", PUBLIC_ROOM.get(parts[2].removesuffix(".hpp"))
    if parts[0] == "src":
        return "src", parts[1]
    for outside in OUTSIDE:
        if path.as_posix().startswith(outside + "/"):
            return "outside", outside
    return "tests", None


def public_room(include):
    """The room of <rotary/...>, or None if there is no such public header."""
    words = include.removesuffix(".hpp").split("/")
    return PUBLIC_ROOM.get(words[1])


def check_public(kind, room, include):
    target = public_room(include)
    if target is None:
        return "is in no room: give the header a line in PUBLIC_ROOM"
    if kind in ("outside", "tests") or room == "everything" or target == room:
        return None
    return None if target in ALLOWED[room] else f"room {room} may not see room {target}"


def check_quoted(root, path, kind, room, include):
    if (root / path.parent / include).is_file():
        return None  # beside the file
    if kind == "include":
        return "a public header includes <rotary/...> and the standard library alone"
    if (room, include) in SHARED:
        return None
    if room == "bench" and (root / "tools/rotary" / include).is_file():
        return None  # the cases that the command times
    if kind == "outside":
        return None if (root / "tests" / include).is_file() and path.parts[0] == "tests" else \
            f"{room} sees public headers and what lies beside it"
    target = include.split("/")[0]
    if kind == "tests" or target == room or target in ALLOWED.get(room, set()):
        return None
    return f"room {room} may not see room {target}"


def check_angle(path, kind, include):
    if STANDARD.fullmatch(include):
        return None
    for prefix, places in THIRD_PARTY.items():
        if include.startswith(prefix):
            if any(f"{path.as_posix()}/".startswith(f"{place}/") for place in places):
                return None
            if kind != "include":
                return f"belongs to {', '.join(places)}"
    if kind == "include":
        return "a public header includes <rotary/...> and the standard library alone"
    return "is no header of the standard library, of this project or of a known dependency"


def problems(root):
    root = Path(root)
    for path in sorted(p.relative_to(root) for top in ("include", "src", "tools", "python", "examples", "bench", "tests")
                       for p in (root / top).rglob("*") if p.suffix in SUFFIXES):
        kind, room = part_of(path)
        if kind == "src" and room not in ALLOWED:
            yield f"{path}: room {room} is not in the plan: give it a line in ALLOWED"
            continue
        if kind == "include" and room is None:
            yield f"{path}: is in no room: give the header a line in PUBLIC_ROOM"
            continue
        for angle, quoted, macro in INCLUDE.findall((root / path).read_text(encoding="utf-8")):
            if macro:  # Highway's foreach_target includes the file itself by a macro
                continue
            if quoted:
                wrong = check_quoted(root, path, kind, room, quoted)
            elif angle.startswith("rotary/"):
                wrong = check_public(kind, room, angle)
            else:
                wrong = check_angle(path, kind, angle)
            if wrong:
                yield f"{path}: {angle or quoted}: {wrong}"


if __name__ == "__main__":
    found = list(problems(sys.argv[1]))
    print("\n".join(found) if found else "Every include is an allowed one.")
    sys.exit(1 if found else 0)
