"""Figures of `precision.py`: scores and speed of tables of 16 bits beside those of float32."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import Any

from figures_bench import DIM, PAIRS, ROWS, STEPS, case, sound
from records import load, markdown

SHOWN = ("Micro-F1 at 50%", "AUC")
EXACT = ("float32", "block")
FORMATS = ("float32", "bfloat16", "bfloat16, stochastic", "float16", "float16, stochastic")
ROUNDED = {
    "block": "rounded once for each block",
    "step": "rounded after each step",
    "at the end": "rounded when saved",
}
IN_CACHE = 24
LOOPS = {"update": "a step in the table", "add": "added to"}


def seeds_of(table: str, *key: str) -> dict[tuple[Any, ...], dict[int, float]]:
    """Scores by seed, for each network, family, number of walks, metric and what else the key names."""
    found: dict[tuple[Any, ...], dict[int, float]] = {}
    for row in load("precision")[table].records():
        names = tuple(row[name] for name in ("network", "family", "walks per node", "metric", *key))
        found.setdefault(names, {})[row["seed"]] = row["score"]
    return found


def differences(found: dict[int, float], exact: dict[int, float]) -> list[float]:
    return [found[seed] - exact[seed] for seed in exact]


def cell(values: list[float]) -> str:
    return f"{statistics.mean(values):+.4f} ± {statistics.stdev(values):.4f}"


def scores() -> str:
    """The score of float32 on each network, and how far the other formats are from it."""
    found = seeds_of("scores", "format", "rounded")
    others = [key for key in dict.fromkeys(key[4:] for key in found) if key != EXACT]
    rows = []
    for network, family, walks, metric in (key[:4] for key in found if key[3] in SHOWN and key[4:] == EXACT):
        exact = found[(network, family, walks, metric, *EXACT)]
        cells = [cell(differences(found[(network, family, walks, metric, *key)], exact)) for key in others]
        rows.append([f"{network}, {family}", walks, f"{statistics.mean(exact.values()):.4f}", *cells])
    return markdown(["network", "walks", "float32", *(f"{name}, {rounded}" for name, rounded in others)], rows)


def worst_scores() -> str:
    """The lowest and the highest mean difference over all networks and metrics."""
    found = seeds_of("scores", "format", "rounded")
    means: dict[tuple[str, str], list[float]] = {}
    for (*network, name, rounded), values in found.items():
        exact = found[(*network, *EXACT)]
        means.setdefault((name, rounded), []).append(statistics.mean(differences(values, exact)))
    parts = [
        f"- {name}, {ROUNDED[rounded]}: {min(values):+.4f} to {max(values):+.4f}"
        for (name, rounded), values in means.items()
        if (name, rounded) != EXACT
    ]
    return "\n".join(parts)


def dimensions() -> str:
    """What half of the dimensions cost, by the library's trainer."""
    found = seeds_of("dimensions", "dimensions")
    rows = []
    for *network, metric, dim in found:
        if metric in SHOWN and dim == DIM:
            exact, half = found[(*network, metric, DIM)], found[(*network, metric, DIM // 2)]
            score = f"{statistics.mean(exact.values()):.4f}"
            rows.append([f"{network[0]}, {network[1]}", score, cell(differences(half, exact))])
    return markdown(["network", f"{DIM} dimensions", f"{DIM // 2} dimensions"], rows)


def times() -> dict[tuple[str, int, str, int], float]:
    """Median time in ns by loop, width of vectors, format and nodes."""
    rows = load("precision")["speed"].records()
    return {(row["loop"], row["vector bits"], row["format"], row["nodes"]): row["ns"] for row in rows}


def speed() -> str:
    found = times()
    sizes = sorted({key[3] for key in found})
    rows: list[list[Any]] = []
    for loop, bits, name in dict.fromkeys(key[:3] for key in found):
        rows.append([LOOPS[loop], bits, name, *(f"{found[loop, bits, name, nodes]:.1f}" for nodes in sizes)])
    rows.sort(key=lambda row: (row[0] != LOOPS["update"], -row[1], FORMATS.index(row[2])))
    return markdown(["row", "vectors, bits", "format", *(f"{nodes:,} rows, ns" for nodes in sizes)], rows)


def pair_savings() -> Iterator[list[str]]:
    """What a pair of the library's training would gain or lose: its row updates, and its rows from memory."""
    found = times()
    for bits, name in dict.fromkeys((key[1], key[2]) for key in found):
        if name == "float32":
            continue

        def saved(loop: str, nodes: int, bits: int = bits, name: str = name) -> float:
            return found[loop, bits, "float32", nodes] - found[loop, bits, name, nodes]

        cells = []
        for nodes, rows in ROWS.items():
            block = rows / PAIRS * saved("add", nodes)
            moved = STEPS / PAIRS * saved("update", IN_CACHE)
            fetched = rows / PAIRS * (saved("update", nodes) - saved("update", IN_CACHE))
            cells += [f"{-block:+.1f}", f"{-moved - fetched:+.1f}"]
        yield [str(bits), name, *cells]


def pairs() -> str:
    took = {
        nodes: 1e9
        * statistics.median(run["seconds"] / run["work"] for run in sound(case(name), "efge poisson, 1 thread"))
        for nodes, name in ((nodes, f"training, {nodes:,} nodes") for nodes in ROWS)
    }
    columns = [f"{nodes:,} nodes, rounded {how}, ns" for nodes in ROWS for how in ("for each block", "after each step")]
    text = " and ".join(f"{ns:.0f} ns at {nodes:,} nodes" for nodes, ns in took.items())
    table = markdown(["vectors, bits", "format", *columns], sorted(pair_savings(), key=lambda row: -int(row[0])))
    return f"{table}\n\nA pair takes {text}."


BLOCKS: dict[str, Callable[[], str]] = {
    "precision scores": scores,
    "precision differences": worst_scores,
    "precision dimensions": dimensions,
    "precision speed": speed,
    "precision pairs": pairs,
}
