"""Figures of recommendations: how many hidden links each ranking finds, as `recommending.py` recorded."""

from __future__ import annotations

from collections.abc import Callable

from records import load, markdown

RANKINGS = {
    "popularity": "popularity",
    "cosine": "cosine",
    "score_pairs": "`score_pairs`",
    "recommend": "`recommend`",
}


def recalls() -> str:
    """The part of hidden links that each ranking finds, a row for each graph and family, means over seeds."""
    records = load("recommending")["recall"].records()
    rows = []
    for graph, family in dict.fromkeys((row["graph"], row["family"]) for row in records):
        same = [row for row in records if (row["graph"], row["family"]) == (graph, family)]
        rows.append([graph, family, *(f"{sum(row[name] for row in same) / len(same):.3f}" for name in RANKINGS)])
    return markdown(["graph", "family", *RANKINGS.values()], rows)


BLOCKS: dict[str, Callable[[], str]] = {"recommendations": recalls}
