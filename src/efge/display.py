"""HTML for notebooks and reports: tables, and small pictures as SVG, without scripts or other files."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np
import numpy.typing as npt

_WIDTH, _HEIGHT, _MAX_BAR = 240, 90, 28
# A blue that is legible on white and on black.
_COLOR = "#4c86c6"
_CELL = "padding:0.1em 0.8em 0.1em 0;text-align:left;border:none;background:none"


def card(title: str, *parts: str) -> str:
    """Put a title above parts that stand beside each other."""
    inner = "".join(f'<div style="margin-right:2em">{part}</div>' for part in parts if part)
    return f'<div><strong>{escape(title)}</strong><div style="display:flex;flex-wrap:wrap">{inner}</div></div>'


def table(rows: Iterable[Sequence[object]], header: Sequence[object] = ()) -> str:
    """Return a table of texts."""
    head = "".join(f'<th style="{_CELL}">{escape(str(cell))}</th>' for cell in header)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{escape(str(cell))}</td>' for cell in row) + "</tr>" for row in rows
    )
    return f'<table style="border-collapse:collapse">{f"<tr>{head}</tr>" if head else ""}{body}</table>'


def from_markdown(text: str) -> str:
    """Turn the tables of a Markdown text into HTML, and its other lines into paragraphs."""
    parts: list[str] = []
    rows: list[list[str]] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            cells = [cell.strip().replace("&#124;", "|") for cell in line.strip("|").split("|")]
            rows += [] if all(set(cell) <= set("-: ") for cell in cells) else [cells]
            continue
        if rows:
            parts.append(table(rows[1:], rows[0]))
        rows = []
        if line.strip():
            parts.append(f"<p>{escape(line.lstrip('# '))}</p>")
    return "".join(parts)


def _svg(title: str, content: str, height: float = _HEIGHT) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height:.0f}" width="{_WIDTH}" height="{height:.0f}" role="img" '
        f'aria-label="{escape(title)}"><title>{escape(title)}</title>{content}</svg>'
        f'<div style="font-size:0.85em;opacity:0.75">{escape(title)}</div>'
    )


def histogram(values: npt.ArrayLike, title: str, bins: int = 24) -> str:
    """Return a histogram with bars for equal steps of the logarithm of positive values."""
    positive = np.asarray(values, np.float64)
    positive = positive[positive > 0]
    if not len(positive):
        return ""
    counts, _ = np.histogram(np.log(positive), bins)
    return _svg(f"{title}, {positive.min():,.4g} to {positive.max():,.4g}", _bars(np.log1p(counts)))


def bars(values: Sequence[float], title: str) -> str:
    """Return a bar for each value."""
    return _svg(title, _bars(np.asarray(values, np.float64))) if len(values) else ""


def _bars(heights: npt.NDArray[np.float64]) -> str:
    top, step = float(heights.max()) or 1.0, min(_WIDTH / len(heights), _MAX_BAR)
    return "".join(
        f'<rect x="{i * step:.1f}" y="{_HEIGHT * (1 - height / top):.1f}" width="{step * 0.85:.1f}" '
        f'height="{_HEIGHT * height / top:.1f}" fill="{_COLOR}"/>'
        for i, height in enumerate(heights.tolist())
    )


def dots(points: npt.ArrayLike, title: str) -> str:
    """Return points in the plane."""
    places = np.asarray(points, np.float64)
    if not len(places):
        return ""
    low, span = places.min(axis=0), np.ptp(places, axis=0)
    scaled = (places - low) / np.where(span > 0, span, 1.0)
    circles = "".join(
        f'<circle cx="{4 + x * (_WIDTH - 8):.1f}" cy="{4 + (1 - y) * (1.6 * _HEIGHT - 8):.1f}" r="2"/>'
        for x, y in scaled.tolist()
    )
    return _svg(title, f'<g fill="{_COLOR}" fill-opacity="0.6">{circles}</g>', 1.6 * _HEIGHT)


def line(values: Sequence[float], title: str) -> str:
    """Return a line through values at equal distances."""
    finite = [value for value in values if math.isfinite(value)]
    if len(finite) < 2:
        return ""
    low, span = min(finite), (max(finite) - min(finite)) or 1.0
    places = (
        f"{4 + i * (_WIDTH - 8) / (len(finite) - 1):.1f},{4 + (1 - (value - low) / span) * (_HEIGHT - 8):.1f}"
        for i, value in enumerate(finite)
    )
    return _svg(
        f"{title}, {finite[0]:,.4g} to {finite[-1]:,.4g}",
        f'<polyline points="{" ".join(places)}" fill="none" stroke="{_COLOR}" stroke-width="2"/>',
    )
