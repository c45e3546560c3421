"""Figures of `quality.py`: scores of every method on every network, ranks, regrets, and the two trainers."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from efge.experiments.judging import Outcome
from efge.experiments.standings import BenchmarkScores, Entry
from records import Table, load, markdown

TITLES = {
    "micro_f1@10": "Micro-F1 at 10 %",
    "micro_f1@50": "Micro-F1 at 50 %",
    "micro_f1@90": "Micro-F1 at 90 %",
    "auc@uniform": "AUC, uniform pairs",
    "auc@degree": "AUC, pairs by degree",
}
# Columns of a row before its scores.
ROW = ["network", "method", "seed", "ranked", "seconds"]


def tables() -> dict[str, Table]:
    return load("quality")


def outcomes(record: dict[str, Table]) -> list[Outcome]:
    """The cells of a record, those of a network together."""
    found = []
    for task in ("classification", "links"):
        for row in record[task].records():
            scores = {name: score for name, score in row.items() if name not in ROW}
            # Seconds that other work on the machine made useless are not recorded.
            seconds = math.nan if row["seconds"] is None else row["seconds"]
            found.append(
                Outcome(row["network"], row["method"], row["ranked"], task, row["seed"], seconds, scores, None)
            )
    return found


def scores() -> BenchmarkScores:
    return BenchmarkScores(outcomes(tables()))


def ordered(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """Names in the order of the record; others after them."""
    listed = list(dict.fromkeys(names))
    first = [name for name in known if name in listed]
    return first + [name for name in listed if name not in first]


def setup() -> str:
    found, table = scores(), tables()["classification"]
    version = table.origin.rpartition("efge ")[2]
    networks, seeds = {entry.network for entry in found.entries}, [entry.seeds for entry in found.entries]
    count = f"{min(seeds)}" if min(seeds) == max(seeds) else f"{min(seeds)} to {max(seeds)}"
    text = (
        f"Measured on {table.measured} with efge {version} on one machine ({table.machine}): {len(networks)} networks, "
        f"{len(tables()['methods'].rows)} methods, seeds: {count}."
    )
    deviations = [entry.sd for entry in found.entries if entry.sd is not None]
    if not deviations:
        return f"{text} One seed says nothing about the deviation between seeds."
    return (
        f"{text} The standard deviation between seeds is {statistics.median(deviations):.3f} at the median, and "
        f"{max(deviations):.3f} at most."
    )


def networks() -> str:
    rows = []
    for row in tables()["networks"].records():
        degree = f"{2 * row['edges'] / row['nodes']:.1f}"
        largest = "" if row["largest class"] is None else f"{row['largest class']:.1%}".replace("%", " %")
        rows.append(
            [row["network"], row["nodes"], row["edges"], degree, row["components"], row["classes"] or "", largest]
        )
    return markdown(["network", "nodes", "edges", "mean degree", "components", "classes", "largest class"], rows)


def score_table(metric: str) -> str:
    """A row for each method, a column for each network; the best ranked score is bold."""
    entries = {(e.method, e.network): e for e in scores().entries if e.metric == metric}
    record = tables()
    columns = ordered((network for _, network in entries), (row[0] for row in record["networks"].rows))
    methods = ordered((method for method, _ in entries), (row[0] for row in record["methods"].rows))
    rows = [[method, *(_format(entries.get((method, network))) for network in columns)] for method in methods]
    return markdown(["method", *columns], rows)


def _format(entry: Entry | None) -> str:
    if entry is None:
        return ""
    return f"**{entry.mean:.3f}**" if entry.regret == 0 else f"{entry.mean:.3f}"


def standings(metrics: list[str]) -> str:
    """Mean rank, regret, worst regret and ratio of each method for each of the metrics."""
    blocks = []
    for metric in metrics:
        rows = [
            [s.method, f"{s.rank:.1f}", f"{s.regret:.3f}", f"{s.worst_regret:.3f}", f"{s.ratio:.3f}", s.networks]
            for s in scores().standings(metric)
        ]
        header = ["method", "mean rank", "mean regret", "worst regret", "mean ratio", "networks"]
        blocks.append(f"### {TITLES[metric]}\n\n{markdown(header, rows)}")
    return "\n\n".join(blocks)


def seconds() -> str:
    """Seconds of training on the whole graph, or on the remaining one where there are no classes."""
    found: dict[tuple[str, str], list[float]] = {}
    record = tables()
    labelled = {row["network"] for row in record["classification"].records()}
    for outcome in outcomes(record):
        is_shown = (outcome.task == "classification") == (outcome.network in labelled)
        if outcome.ranked and is_shown and not math.isnan(outcome.seconds):
            found.setdefault((outcome.method, outcome.network), []).append(outcome.seconds)
    columns = ordered((network for _, network in found), (row[0] for row in record["networks"].rows))
    methods = ordered((method for method, _ in found), (row[0] for row in record["methods"].rows))
    cells = {key: f"{statistics.median(values):.1f}" for key, values in found.items()}
    rows = [[method, *(cells.get((method, network), "") for network in columns)] for method in methods]
    return markdown(["method", *columns], rows)


def compared(method: str, other: str, metrics: list[str]) -> tuple[list[list[Any]], list[float]]:
    """Differences of two methods' mean scores on each network, at the seeds that both have, and ratios of seconds."""
    record = tables()
    found = {(o.network, o.task, o.method, o.seed): o for o in outcomes(record) if o.method in (method, other)}
    rows, ratios = [], []
    for network in (row[0] for row in record["networks"].rows):
        row: list[Any] = [network]
        for metric in metrics:
            task = "links" if metric.startswith("auc") else "classification"
            pairs = [
                (ours.scores[metric], found[network, task, other, seed].scores[metric])
                for (at, of, by, seed), ours in found.items()
                if (at, of, by) == (network, task, method) and (network, task, other, seed) in found
            ]
            row.append(f"{statistics.mean(a - b for a, b in pairs):+.3f}" if pairs else "")
        if any(row[1:]):
            rows.append(row)
            seconds = [[o.seconds for key, o in found.items() if key[::2] == (network, by)] for by in (method, other)]
            ratios.append(statistics.median(seconds[0]) / statistics.median(seconds[1]))
    return rows, ratios


def filter_effect() -> str:
    """What the filter changes: the default compared with the same vectors before the filter."""
    metrics = [f"micro_f1@{percentage}" for percentage in (2, 10, 50, 90)] + ["auc@uniform", "auc@degree"]
    rows, _ = compared("EFGE", "EFGE, not propagated", metrics)
    if not rows:
        return "Not measured."
    return markdown(["network", "F1 at 2 %", "10 %", "50 %", "90 %", "AUC, uniform", "AUC, by degree"], rows)


def automatic_walks() -> str:
    """What the number of walks by default changes, compared with 80 walks, and the ratio of seconds."""
    rows, ratios = compared("EFGE", "EFGE, 80 walks", list(TITLES))
    if not rows:
        return "Not measured."
    table = markdown(
        ["network", "F1 at 10 %", "50 %", "90 %", "AUC, uniform", "AUC, by degree", "seconds"],
        [[*row, f"{ratio:.2f}"] for row, ratio in zip(rows, ratios, strict=True)],
    )
    return f"{table}\n\nThe geometric mean of the ratios of seconds is {statistics.geometric_mean(ratios):.2f}."


def not_measured() -> str:
    rows = tables()["not measured"].records()
    if not rows:
        return "Every method was measured on each of these networks."
    found = dict.fromkeys(f"- {row['network']}, {row['method']}, {row['task']}: {row['reason']}." for row in rows)
    return "\n".join(found)


def trainers() -> str:
    """Mean scores of both trainers, and the mean of their differences at the same seeds with its standard error."""
    table = tables()["trainers"]
    found: dict[tuple[str, str], dict[tuple[str, int], dict[str, Any]]] = {}
    for row in table.records():
        found.setdefault((row["network"], row["family"]), {})[row["trainer"], row["seed"]] = row
    rows = []
    for (network, family), runs in found.items():
        shared = [seed for trainer, seed in runs if trainer == "fast" and ("reference", seed) in runs]
        for metric, title in TITLES.items():
            fast, reference = ([runs[name, seed][metric] for seed in shared] for name in ("fast", "reference"))
            means = [f"{statistics.mean(values):.3f}" for values in (fast, reference)]
            rows.append([network, family, title, *means, difference(fast, reference), len(shared)])
    header = ["network", "family", "score", "fast", "reference", "difference ± standard error", "seeds"]
    return markdown(header, rows)


def difference(fast: list[float], reference: list[float]) -> str:
    """The mean of paired differences, with its standard error if there are several."""
    differences = [ours - theirs for ours, theirs in zip(fast, reference, strict=True)]
    mean = f"{statistics.mean(differences):+.4f}"
    if len(differences) < 2:
        return mean
    return f"{mean} ± {statistics.stdev(differences) / len(differences) ** 0.5:.4f}"


BLOCKS: dict[str, Callable[[], str]] = {
    "quality setup": setup,
    "quality networks": networks,
    "quality Micro-F1 at 10 %": partial(score_table, "micro_f1@10"),
    "quality Micro-F1 at 50 %": partial(score_table, "micro_f1@50"),
    "quality Micro-F1 at 90 %": partial(score_table, "micro_f1@90"),
    "quality AUC, uniform": partial(score_table, "auc@uniform"),
    "quality AUC, by degree": partial(score_table, "auc@degree"),
    "quality standings": partial(standings, list(TITLES)),
    "quality filter": filter_effect,
    "quality walks": automatic_walks,
    "quality seconds": seconds,
    "quality not measured": not_measured,
    "quality trainers": trainers,
}
