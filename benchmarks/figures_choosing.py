"""Figures of `choosing.py`: how far the choices of `efge.tune` are from the best candidate, and what they cost."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from typing import Any

from choosing import CHOSEN_ON
from records import load, markdown

# Ways to score a candidate by held-out edges, from what the record has.
CRITERIA: dict[str, Callable[[dict[str, Any]], float]] = {
    "AUC, better of both": lambda row: float(max(row["auc dot"], row["auc cosine"])),
    "average precision, inner product": lambda row: float(row["ap dot"]),
    "average precision, cosine": lambda row: float(row["ap cosine"]),
    "average precision, better of both": lambda row: float(max(row["ap dot"], row["ap cosine"])),
    "AUC, inner product": lambda row: float(row["auc dot"]),
    "AUC, cosine": lambda row: float(row["auc cosine"]),
    "average precision, sum of both": lambda row: float(row["ap dot"] + row["ap cosine"]),
    "average precision against pairs by degree, better of both": lambda row: float(
        max(row["ap dot, degree"], row["ap cosine, degree"])
    ),
    "AUC against pairs by degree, better of both": lambda row: float(
        max(row["auc dot, degree"], row["auc cosine, degree"])
    ),
    "average precision, better of both, against uniform pairs and pairs by degree": lambda row: float(
        max(row["ap dot"], row["ap cosine"]) + max(row["ap dot, degree"], row["ap cosine, degree"])
    ),
    "average precision, likelihood ratio": lambda row: float(row["ap likelihood"]),
    "AUC, likelihood ratio": lambda row: float(row["auc likelihood"]),
}
# With all labels given, the classifier that is to be used will learn from most of them.
WITH_LABELS = "micro_f1@90%"


def candidates() -> dict[str, list[dict[str, Any]]]:
    """The candidates of each network."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in load("choosing")["candidates"].records():
        found.setdefault(row["network"], []).append(row)
    return found


def key_of(row: dict[str, Any]) -> tuple[str, int, str]:
    return row["family"], row["window"], row["filter"]


def loss(rows: list[dict[str, Any]], key: tuple[str, int, str], score: str = "micro_f1") -> float:
    """How much a candidate is below the best one."""
    return best_of(rows, score) - float(next(row[score] for row in rows if key_of(row) == key))


def best_of(rows: list[dict[str, Any]], score: str = "micro_f1") -> float:
    return float(max(row[score] for row in rows))


def regrets() -> str:
    """A row for each network, and means and worst cases of both halves; studies with several seeds are averaged."""
    studies: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in load("choosing")["studies"].records():
        studies.setdefault((row["network"], row["by"]), []).append(row)
    lines, by_half = [], {True: [], False: []}  # type: tuple[list[list[Any]], dict[bool, list[list[float]]]]
    for name, rows in candidates().items():
        default, edges, labels = (studies[name, kind] for kind in ("default", "edges", "labels"))
        losses = [mean_loss(rows, cells) for cells in (default, edges, labels)]
        losses.append(mean_loss(rows, labels, WITH_LABELS))
        times = [
            statistics.mean(cell["seconds"] / cell["default fit, s"] for cell in cells) for cells in (edges, labels)
        ]
        by_half[name in CHOSEN_ON].append(losses)
        numbers = [f"{best_of(rows):.3f}", *(f"{loss:.3f}" for loss in losses), *(f"{factor:.1f}" for factor in times)]
        lines.append([name, "yes" if name in CHOSEN_ON else "no", len(edges), most_chosen(edges), *numbers])
    for half, losses_of_half in sorted(by_half.items(), reverse=True):
        for title, summary in (("mean", statistics.mean), ("worst", max)) if losses_of_half else ():
            totals = [f"{summary(column):.3f}" for column in zip(*losses_of_half, strict=True)]
            lines.append([f"**{title}**", "yes" if half else "no", "", "", "", *totals, "", ""])
    header = ["network", "criterion chosen on it", "studies", "`tune(graph)` chose most often", "best Micro-F1"]
    header += ["defaults below it", "`tune(graph)` below it", "`tune(graph, labels)` below it"]
    header += ["the same, with 90 % of labels", "fits", "fits with labels"]
    return markdown(header, lines)


def mean_loss(rows: list[dict[str, Any]], studies: list[dict[str, Any]], score: str = "micro_f1") -> float:
    return statistics.mean(loss(rows, key_of(study), score) for study in studies)


def parts() -> str:
    """Regrets of studies by labels on parts of the scores: to the best on the same part, and to that on the others."""
    by_network: dict[str, list[dict[str, Any]]] = {}
    for row in load("choosing")["parts"].records():
        by_network.setdefault(row["network"], []).append(row)
    studies: dict[str, dict[int, tuple[str, int, str]]] = {}
    for row in load("choosing")["studies"].records():
        if row["by"] == "labels":
            studies.setdefault(row["network"], {})[row["seed"]] = key_of(row)
    lines, losses = [], []
    for name, rows in by_network.items():
        scores = {key_of(row): row for row in rows}
        splits = [f"micro_f1@90%, {half} splits" for half in ("even", "odd")]
        every = list(studies[name].values())
        values = [part_loss(scores, [every] * 2, splits, crossed) for crossed in (False, True)]
        seeds = [seed for seed in studies[name] if f"unseen, seed {seed}" in rows[0]]
        chosen, unseen = [[studies[name][seed]] for seed in seeds], [f"unseen, seed {seed}" for seed in seeds]
        values += [part_loss(scores, chosen, unseen, crossed) for crossed in (False, True)]
        values.append(loss_error(scores, unseen))
        losses.append(values)
        lines.append([name, "yes" if name in CHOSEN_ON else "no", *(f"{value:.3f}" for value in values)])
    means = [f"{statistics.mean(column):.3f}" for column in zip(*losses, strict=True)]
    header = ["network", "criterion chosen on it", "90 % of labels, below the best", "below the best by other splits"]
    header += ["unseen labels, below the best", "below the best by other seeds", "standard error of these two"]
    return markdown(header, [*lines, ["**mean**", "", *means]])


def loss_error(scores: dict[tuple[str, int, str], dict[str, Any]], columns: list[str]) -> float:
    """Return the standard error of a mean difference of two candidates, by how their scores vary from part to part."""
    means = [statistics.mean(row[column] for row in scores.values()) for column in columns]
    deviations = [[row[column] - mean for column, mean in zip(columns, means, strict=True)] for row in scores.values()]
    return math.sqrt(2 * statistics.mean(map(statistics.variance, deviations)) / len(columns))


def part_loss(
    scores: dict[tuple[str, int, str], dict[str, Any]],
    chosen: list[list[tuple[str, int, str]]],
    columns: list[str],
    crossed: bool,
) -> float:
    """How much choices are below the best candidate by the mean of the same columns, or by that of the other ones."""
    losses = []
    for keys, column in zip(chosen, columns, strict=True):
        judges = [other for other in columns if other != column] if crossed else columns
        best = max(scores.values(), key=lambda row: sum(row[judge] for judge in judges))
        losses += [float(best[column] - scores[key][column]) for key in keys]
    return statistics.mean(losses)


def most_chosen(studies: list[dict[str, Any]]) -> str:
    family, window, kind = statistics.mode(key_of(study) for study in studies)
    return f"{family}, window {window}, {'no ' * (kind == 'none')}filter"


def criteria() -> str:
    """Mean and worst regret of several criteria over the whole space, on both halves."""
    lines = []
    for title, criterion in CRITERIA.items():
        cells = []
        for half in (True, False):
            losses = [
                best_of(rows) - float(max(rows, key=criterion)["micro_f1"])
                for name, rows in candidates().items()
                if (name in CHOSEN_ON) == half
            ]
            cells += [f"{statistics.mean(losses):.3f}", f"{max(losses):.3f}"] if losses else ["", ""]
        lines.append([title, *cells])
    header = ["held-out edges by", "mean regret, chosen on", "worst", "mean regret, others", "worst "]
    return markdown(header, lines)


def setup() -> str:
    table = load("choosing")["candidates"]
    count = len({row["network"] for row in table.records()})
    version = table.origin.rpartition("efge ")[2]
    return (
        f"Measured on {table.measured} with efge {version} on {count} networks ({table.machine}): mean Micro-F1 at 10, "
        "50 and 90 % of the labels, of three training seeds and four to ten splits of the labels. The best of 24 "
        "candidates is best partly by chance, the more so the fewer splits there are. Times are processor seconds of "
        "one thread, in units of a fit of `EFGE()`."
    )


def missing_links() -> str:
    (row,) = load("choosing")["missing links"].records()
    return (
        f"The {row['links']} likeliest missing links of a generated graph with {row['nodes']:,} nodes and "
        f"{row['edges']:,} edges took {row['seconds']:.0f} s of one thread."
    )


BLOCKS: dict[str, Callable[[], str]] = {
    "choosing setup": setup,
    "choosing regrets": regrets,
    "choosing parts": parts,
    "choosing criteria": criteria,
    "missing links": missing_links,
}
