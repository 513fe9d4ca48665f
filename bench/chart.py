# SPDX-License-Identifier: Apache-2.0
"""Bars as plain SVG: a panel a case, logarithmic, every bar with its number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape

Panel = tuple[str, Sequence[tuple[str, float, bool]]]  # title; name, ratio, is it ours

COLUMNS, WIDTH, LABEL, BAR, TOP = 3, 340, 148, 14, 26


def number(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def length(ratio: float, most: float, room: float) -> float:
    """Of a bar: nothing at the limit, all the room at the longest ratio."""
    return room * math.log10(max(ratio, 1.0)) / math.log10(max(most, 10.0))


def chart(panels: Sequence[Panel]) -> str:
    most = max((ratio for _, bars in panels for _, ratio, _ in bars), default=10.0)
    room = WIDTH - LABEL - 44
    height = TOP + BAR * max((len(bars) for _, bars in panels), default=0) + 14
    rows = math.ceil(len(panels) / COLUMNS)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{COLUMNS * WIDTH}" height="{rows * height}" '
        f'viewBox="0 0 {COLUMNS * WIDTH} {rows * height}" font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for place, (title, bars) in enumerate(panels):
        left, top = place % COLUMNS * WIDTH, place // COLUMNS * height
        parts.append(f'<text x="{left + LABEL}" y="{top + 17}" font-weight="bold">{escape(title)}</text>')
        for tick in range(int(math.log10(max(most, 10.0))) + 1):
            x = left + LABEL + length(10.0**tick, most, room)
            bottom = top + TOP + BAR * len(bars)
            parts.append(f'<line x1="{x:.1f}" y1="{top + TOP}" x2="{x:.1f}" y2="{bottom}" stroke="#ccc"/>')
        for line, (name, ratio, ours) in enumerate(bars):
            y = top + TOP + BAR * line
            wide = max(1.0, length(ratio, most, room))
            colour = "#c0392b" if ours else "#7f8c8d"
            parts.append(f'<text x="{left + LABEL - 5}" y="{y + 10}" text-anchor="end">{escape(name)}</text>')
            size = f'width="{wide:.1f}" height="{BAR - 4}"'
            parts.append(f'<rect x="{left + LABEL}" y="{y + 2}" {size} fill="{colour}"/>')
            parts.append(f'<text x="{left + LABEL + wide + 4:.1f}" y="{y + 10}">{number(ratio)}</text>')
    return "\n".join([*parts, "</svg>", ""])
