"""Figures of `large.py`: the default model on generated graphs of up to millions of nodes."""

from __future__ import annotations

from records import load, markdown


def large_graphs() -> str:
    """Time, memory and scores for each size."""
    rows = sorted(load("large")["default model"].records(), key=lambda row: int(row["nodes"]))
    columns = ["nodes", "edges", "seconds", "processor seconds", "GB", "Micro-F1", "largest class", "AUC"]
    cells = [
        [f"{row['nodes']:,}", f"{row['edges']:,}", *(row[name] for name in columns[2:]), f"{nanoseconds(row):.0f} ns"]
        for row in rows
    ]
    return markdown([*columns, "a pair"], cells)


def cost_of_a_pair() -> str:
    """How much more a pair costs in the largest graph than in the smallest one."""
    rows = sorted(load("large")["default model"].records(), key=lambda row: int(row["nodes"]))
    small, large = rows[0], rows[-1]
    return (
        f"A pair takes {nanoseconds(large) / nanoseconds(small):.2f} times as much processor time in the graph of"
        f" {large['nodes']:,} nodes as in that of {small['nodes']:,}, all that a fit does included."
    )


def nanoseconds(row: dict[str, float]) -> float:
    """Processor time of the whole fit for each trained pair."""
    return 1e3 * row["processor seconds"] / row["million pairs"]


BLOCKS = {"large graphs": large_graphs, "cost of a pair": cost_of_a_pair}
