"""Figures of `time_to_quality.py`: seconds from a file to vectors, and the score of these, beside other tools."""

from __future__ import annotations

from records import load, markdown
from time_to_quality import METHODS, RECORD, SUMMARY, TABLE


def runs() -> str:
    """Seconds and score of each tool, a column for each network."""
    rows = load(RECORD)[TABLE].records()
    networks = list(dict.fromkeys(row["network"] for row in rows))
    found = {(row["network"], row["method"]): f"{row['seconds']:.1f} s, {row['Micro-F1']:.3f}" for row in rows}
    table = [[method, *(found.get((network, method), "") for network in networks)] for method in METHODS]
    return markdown(["tool", *networks], table)


def ratios() -> str:
    """How many times as fast efge reaches the score of another tool, for each network."""
    rows = load(RECORD)[SUMMARY].records()
    networks = list(dict.fromkeys(row["network"] for row in rows))
    others = list(dict.fromkeys(row["other tool"] for row in rows))
    found = {(row["network"], row["other tool"]): f"{row['times as fast']} ({row['method']})" for row in rows}
    table = [[other, *(found.get((network, other), "") for network in networks)] for other in others]
    return markdown(["its score is reached", *networks], table)


BLOCKS = {"time to quality": runs, "time to quality ratios": ratios}
