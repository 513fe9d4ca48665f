# SPDX-License-Identifier: Apache-2.0
"""The machine in words."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

# Where the system only gives a family: by vendor, family and whether it has AVX-512.
KINDS = {
    ("AuthenticAMD", "25", False): "Zen 3",
    ("AuthenticAMD", "25", True): "Zen 4",
    ("AuthenticAMD", "26", True): "Zen 5",
}


def field(text: str, key: str) -> str:
    found = re.search(rf"^{re.escape(key)}\s*: (.*)$", text, re.MULTILINE)
    return found[1].strip() if found else ""


def busy_seconds() -> float:
    """What all processors have computed since the system started."""
    words = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _idle, _waiting, *rest = (int(word) for word in words[:8])
    return (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK")


class Others:
    """The part of the processors' time that other processes took meanwhile."""

    def __init__(self) -> None:
        self.start = self.now()

    @staticmethod
    def now() -> tuple[float, float, float]:
        mine = os.times()
        return time.monotonic(), busy_seconds(), mine[0] + mine[1] + mine[2] + mine[3]

    def part(self) -> float:
        passed, busy, mine = (end - begin for begin, end in zip(self.start, self.now(), strict=True))
        return max(0.0, busy - mine) / (passed * (os.cpu_count() or 1))


def describe(others: float) -> dict[str, object]:
    """`others`: the part of the processors' time that other work took during the run."""
    text = Path("/proc/cpuinfo").read_text()
    vendor, number, flags = field(text, "vendor_id"), field(text, "cpu family"), field(text, "flags").split()
    name = field(text, "model name") or "unknown processor"
    if number:
        known = KINDS.get((vendor, number, "avx512f" in flags))
        name += f", family {number}, model {field(text, 'model')}" + (f" ({known})" if known else "")
    vectors = [word for flag, word in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags][:1]
    if "avx512_bf16" in flags:
        vectors.append("AVX512-BF16")
    return {
        "processor": name,
        "vectors": ", ".join(vectors),
        "cores": os.cpu_count(),
        "virtual": "hypervisor" in flags,
        "others": round(others, 3),
    }
