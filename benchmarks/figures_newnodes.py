"""Figures of `newnodes.py`: vectors of new nodes beside those of a fit that has seen everything."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from records import Table, load, markdown

NETWORKS = ("cora", "grqc", "hepth", "pubmed", "dblp", "pages")
METHODS = ("whole fit", "both", "fold-in", "average", "zeros")


def tables() -> dict[str, Table]:
    return load("newnodes")


def means(score: str) -> dict[tuple[str, str, int], dict[str, float]]:
    """The mean score over seeds, by network, kind of new nodes and percentage; then by method."""
    found: dict[tuple[str, str, int], dict[str, list[float]]] = {}
    for row in tables()["scores"].records():
        if row[score] is not None:
            key = row["network"], row["new nodes"], row["percent"]
            found.setdefault(key, {}).setdefault(row["method"], []).append(row[score])
    return {key: {name: statistics.mean(cell[name]) for name in METHODS} for key, cell in found.items()}


def position(item: tuple[tuple[str, str, int], Any]) -> tuple[int, bool, int]:
    """Where a row is shown: by the part of new nodes, by their kind, and by the order of the networks."""
    network, kind, percent = item[0]
    return percent, kind != "random", NETWORKS.index(network)


def score_table(score: str) -> str:
    rows: list[list[Any]] = []
    for (network, kind, percent), cell in sorted(means(score).items(), key=position):
        rows.append([network, kind, f"{percent} %", *(f"{cell[name]:.3f}".removeprefix("0") for name in METHODS)])
    return markdown(["network", "new nodes", "part", *METHODS], rows)


def setup() -> str:
    table = tables()["scores"]
    seeds: dict[tuple[Any, ...], set[int]] = {}
    for row in table.records():
        seeds.setdefault((row["network"], row["new nodes"], row["percent"]), set()).add(row["seed"])
    most, least = max(map(len, seeds.values())), min(map(len, seeds.values()))
    draws = f"{most} draws" if most == least else f"{least} to {most} draws"
    return (
        f"Measured on {table.measured} with {table.origin.rpartition(', ')[2]}, in one thread of one machine "
        f"({table.machine}), with {draws} of new nodes."
    )


def summary() -> str:
    """How far the default is from a whole fit at 10 % of random new nodes."""
    parts = []
    for score, what in (("accuracy", "classes"), ("auc", "links")):
        gaps = {
            network: cell["both"] - cell["whole fit"]
            for (network, kind, percent), cell in means(score).items()
            if percent == 10 and kind == "random"
        }
        listed = ", ".join(f"{network} {gap:+.3f}" for network, gap in gaps.items())
        parts.append(f"{what}: {listed}")
    return f"With 10 % of random new nodes, `both` differs from a whole fit by this much; {'; '.join(parts)}."


def seconds() -> str:
    """Times of the default beside those of fits, and of a model with a million nodes."""
    ratios: dict[str, dict[str, list[float]]] = {}
    for row in tables()["scores"].records():
        if row["percent"] == 1 and row["new nodes"] == "random" and row["method"] in ("whole fit", "both"):
            ratios.setdefault(row["network"], {}).setdefault(row["method"], []).append(row["seconds"])
    parts = [
        f"{network} {statistics.mean(cell['both']) / statistics.mean(cell['whole fit']):.1%}"
        for network, cell in sorted(ratios.items(), key=lambda item: NETWORKS.index(item[0]))
    ]
    million = tables()["million"].row(method="both")
    return (
        f"Vectors for 1 % new nodes take this part of the time of a whole fit: {', '.join(parts)}. "
        f"{million['new nodes']:,} new nodes of a model with {million['nodes']:,} take {million['seconds']:.2f} s."
    )


def stream() -> str:
    """Scores after a stream of updates beside those of a new fit, means over seeds."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for row in tables()["stream"].records():
        found.setdefault(row["network"], {}).setdefault(row["vectors"], []).append(row)
    rows: list[list[Any]] = []
    for network, kinds in found.items():
        fit_seconds = statistics.mean(cell["seconds"] for cell in kinds["new fit"])
        for kind, cells in kinds.items():
            values = []
            for score in ("accuracy", "auc"):
                known = [cell[score] for cell in cells if cell[score] is not None]
                values.append(f"{statistics.mean(known):.3f}".removeprefix("0") if known else "")
            seconds = statistics.mean(cell["seconds"] for cell in cells)
            rows.append([network, len(cells), kind, *values, f"{seconds:.2f}", f"{seconds / fit_seconds:.0%}"])
    return markdown(["network", "orders", "vectors", "accuracy", "AUC", "seconds, each", "part of a fit"], rows)


def tried() -> str:
    """What other ways score beside the default: mean differences over draws, and their standard errors."""
    draws: dict[tuple[str, str, int], dict[str, dict[str, Any]]] = {}
    for row in tables()["tried"].records():
        draws.setdefault((row["network"], row["new nodes"], row["seed"]), {})[row["method"]] = row
    columns = list(dict.fromkeys((score, *draw[:2]) for score in ("accuracy", "auc") for draw in draws))
    ways = [way for way in next(iter(draws.values())) if way != "both"]
    lines: list[list[Any]] = []
    for way in ways:
        cells = []
        for score, network, kind in columns:
            gaps = [cell[way][score] - cell["both"][score] for key, cell in draws.items() if key[:2] == (network, kind)]
            cells.append(f"{short(statistics.mean(gaps), '+')} ± {short(statistics.stdev(gaps) / len(gaps) ** 0.5)}")
        lines.append([way, *cells])
    header = [
        f"{network}{'' if kind == 'random' else f', {kind}'}: {score.replace('auc', 'AUC')}"
        for score, network, kind in columns
    ]
    return markdown(["tried", *header], lines)


def short(number: float, sign: str = "") -> str:
    # Adding zero leaves no minus sign before a number that is rounded to it.
    return f"{round(number, 3) + 0.0:{sign}.3f}".replace("0.", ".", 1)


def untrained() -> str:
    """What nodes that are linked only to untrained ones cost, of all that the default is below a whole fit."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in tables()["untrained"].records():
        found.setdefault((row["network"], row["new nodes"]), []).append(row)
    parts = []
    for (network, kind), rows in found.items():
        losses = [row["below the whole fit"] for row in rows]
        error = statistics.stdev(losses) / len(losses) ** 0.5
        means = [statistics.mean(row[name] for row in rows) for name in ("by these nodes", "part of new nodes")]
        parts.append(
            f"{short(means[0])} of {short(statistics.mean(losses))} (± {short(error)}) on {network} "
            f"with {kind.replace('random', 'random new nodes')} ({means[1]:.1%} are such nodes; {len(rows)} draws)"
        )
    return f"They account for this part of the accuracy that `both` is below a whole fit: {'; '.join(parts)}."


BLOCKS: dict[str, Callable[[], str]] = {
    "new nodes setup": setup,
    "new nodes classes": lambda: score_table("accuracy"),
    "new nodes links": lambda: score_table("auc"),
    "new nodes summary": summary,
    "new nodes seconds": seconds,
    "new nodes stream": stream,
    "new nodes tried": tried,
    "new nodes untrained": untrained,
}
