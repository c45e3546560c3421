"""Figures of predictability: how far random graphs are from graphs with structure, as `predictability.py` recorded."""

from __future__ import annotations

from collections.abc import Callable

from records import load, markdown

KINDS = {
    "random": "random graphs, with and without hubs, two kinds of nodes or directions",
    "structured": "generated graphs with blocks, tastes, grids, cliques, triangles",
    "network": "published networks",
}


def ranges() -> str:
    """The least and the largest predictability of each kind of graph."""
    records = load("predictability")["graphs"].records()
    rows = []
    for kind, title in KINDS.items():
        figures = [row["predictability"] for row in records if row["kind"] == kind]
        known = [figure for figure in figures if figure is not None]
        rows.append([title, len(figures), f"{min(known):.2f} to {max(known):.2f}", len(figures) - len(known)])
    return markdown(["graphs", "number", "predictability", "too small to tell"], rows)


BLOCKS: dict[str, Callable[[], str]] = {"predictability": ranges}
