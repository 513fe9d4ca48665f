# SPDX-License-Identifier: Apache-2.0
"""The wavelength of each pair against the context, as an SVG for notebooks."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._core import Rope

WIDTH, HEIGHT = 640, 320
LEFT, RIGHT, TOP, BOTTOM = 60, 130, 30, 40
GREY, BLUE, RED, GREEN = "#999", "#06c", "#c30", "#080"


class _Plot:
    """Pairs from left to right, positions a turn upwards, logarithmic."""

    def __init__(self, pairs: int, low: float, high: float) -> None:
        self.pairs = pairs
        self.low, self.high = math.floor(math.log10(low)), max(math.ceil(math.log10(high)), 1)
        self.parts: list[str] = []

    def x(self, pair: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * pair / max(self.pairs - 1, 1)

    def y(self, wavelength: float) -> float:
        share = (math.log10(wavelength) - self.low) / (self.high - self.low)
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share

    def text(self, x: float, y: float, words: str, anchor: str = "start", colour: str = "#333") -> None:
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>')

    def across(self, wavelength: float, words: str, colour: str, dash: str = "4 3") -> None:
        y = self.y(wavelength)
        self.parts.append(
            f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="{colour}" '
            f'stroke-dasharray="{dash}"/>'
        )
        if words:
            self.text(WIDTH - RIGHT + 6, y + 4, words, colour=colour)

    def curve(self, points: list[tuple[int, float]], colour: str) -> None:
        path = " ".join(f"{self.x(i):.1f},{self.y(w):.1f}" for i, w in points)
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')

    def svg(self) -> str:
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
            f'height="{HEIGHT}" font-family="sans-serif" font-size="11">' + "".join(self.parts) + "</svg>"
        )


def _wavelengths(inv_freq: list[float]) -> list[tuple[int, float]]:
    return [(i, 2 * math.pi / abs(w)) for i, w in enumerate(inv_freq) if w != 0]


def wavelengths(rope: Rope) -> str:
    """Positions that one full turn of each pair takes; beside them, where the rope is stretched, those of the base
    alone, and the lengths that the model states."""
    used = _wavelengths(rope.inv_freq.tolist())
    plain: list[tuple[int, float]] = []
    if rope.base is not None and not rope.parts and rope.scaling["rope_type"] != "default":
        plain = _wavelengths([rope.base ** (-i / rope.pairs) for i in range(rope.pairs)])
    lengths = [
        (tokens, words, colour)
        for tokens, words, colour in (
            (rope.original_context, "original", GREEN),
            (rope.context, "context", RED),
        )
        if tokens
    ]
    heights = [w for _, w in used + plain] + [float(tokens) for tokens, _, _ in lengths] or [1.0]
    plot = _Plot(rope.pairs, min(heights), max(heights))
    plot.text(LEFT, 18, f"{rope!r}"[:95])
    for power in range(plot.low, plot.high + 1):
        plot.across(10.0**power, "", "#ddd", "none")
        plot.text(LEFT - 6, plot.y(10.0**power) + 4, f"1e{power}", "end")
    plot.text(LEFT, HEIGHT - 8, "pair, from 0 on; upwards: positions a full turn takes")
    if plain:
        plot.curve(plain, GREY)
        plot.text(WIDTH - RIGHT + 6, plot.y(plain[-1][1]) + 4, "base alone", colour=GREY)
    if used:
        plot.curve(used, BLUE)
        plot.text(WIDTH - RIGHT + 6, plot.y(used[-1][1]) + (16 if plain else 4), rope.scaling["rope_type"], colour=BLUE)
    for tokens, words, colour in lengths:
        plot.across(tokens, f"{words} {tokens}", colour)
    return plot.svg()
