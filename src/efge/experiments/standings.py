"""Scores of a benchmark: means over seeds, ranks, and how far each method is from the best one."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import efge
from efge import display
from efge.errors import check_choice, check_folder_path
from efge.evaluation.results import check_digits, markdown, summarize
from efge.experiments.judging import Outcome
from efge.io.atomic import atomic_write

Row = dict[str, Any]

# Metrics of the printed standings; a metric stands for all of its percentages.
_GROUPS = ("micro_f1", "macro_f1", "auc@uniform", "auc@degree")
_LEGEND = (
    "Mean rank; in parentheses, the mean difference from the best score, the mean fraction of it, and the networks."
)


class Entry(NamedTuple):
    """A method's score on a network, and its distance from the best ranked method there."""

    network: str
    method: str
    ranked: bool
    metric: str
    mean: float
    sd: float | None
    seeds: int
    rank: float | None
    regret: float | None
    ratio: float | None


class Standing(NamedTuple):
    """A method's mean rank, regret and ratio over networks, and the number of networks that it has a score on."""

    method: str
    metric: str
    rank: float
    regret: float
    worst_regret: float
    ratio: float
    networks: int


class BenchmarkScores:
    """The result of :func:`efge.benchmark`. Printing it shows a table for each network, and the standings.

    Attributes
    ----------
    outcomes : list
        The scores of every cell: network, method, task and seed, the seconds of training, and the reason if a cell has
        no scores.
    entries : list
        For each network, method and metric: mean and standard deviation over seeds, rank (1 is best), regret (the best
        score minus this one) and ratio (this score divided by the best). Methods that are there for orientation, such
        as the majority class, have no rank.

    Examples
    --------
    >>> import efge
    >>> ring = [(i, (i + step) % 30) for i in range(30) for step in (1, 2)]
    >>> scores = efge.benchmark({"ring": ring}, {"hope": efge.HOPE(dim=8)}, seeds=2)
    >>> scores.standings("auc@uniform")[0].method
    'hope'
    """

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.outcomes = list(outcomes)
        self.entries = make_entries(self.outcomes)

    def _repr_html_(self) -> str:
        return display.card("BenchmarkScores", display.from_markdown(self.to_markdown()))

    def __repr__(self) -> str:
        return self.to_markdown()

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics, such as "micro_f1@10" and "auc@degree".

        Examples
        --------
        >>> BenchmarkScores([Outcome("ring", "hope", True, "links", 0, 0.1, {"auc@uniform": 0.8}, None)]).metrics
        ['auc@uniform']
        """
        return list(dict.fromkeys(entry.metric for entry in self.entries))

    @property
    def notes(self) -> list[str]:
        """Why some cells have no scores.

        Examples
        --------
        >>> BenchmarkScores([Outcome("ring", "hope", True, "links", 0, 0.0, {}, "too large")]).notes
        ['ring, hope, links: too large']
        """
        return list(
            dict.fromkeys(
                f"{o.network}, {o.method}, {o.task}: {o.reason}" for o in self.outcomes if o.reason is not None
            )
        )

    def standings(self, metric: str) -> list[Standing]:
        """Return the mean rank, regret and ratio of each method, best mean rank first.

        A method without a score on a network is not counted there: compare methods with the same number of networks.

        Parameters
        ----------
        metric : str
            One of `metrics`, or the part before its @: "micro_f1" means all percentages.

        Examples
        --------
        >>> outcomes = [Outcome("a", name, True, "links", 0, 0.1, {"auc@uniform": score}, None)
        ...     for name, score in (("hope", 0.6), ("line", 0.8))]
        >>> BenchmarkScores(outcomes).standings("auc")[1]
        Standing(method='hope', metric='auc', rank=2.0, regret=0.2..., worst_regret=0.2..., ratio=0.7..., networks=1)
        """
        known = dict.fromkeys(part for name in self.metrics for part in (name, name.partition("@")[0]))
        check_choice("metric", metric, known)
        return self._standings(metric)

    def _standings(self, metric: str) -> list[Standing]:
        found: dict[str, list[Entry]] = {}
        for entry in self.entries:
            if entry.ranked and metric in (entry.metric, entry.metric.partition("@")[0]):
                found.setdefault(entry.method, []).append(entry)
        standings = []
        for method, entries in found.items():
            numbers = np.array([(e.rank, e.regret, e.ratio) for e in entries], np.float64)
            rank, regret, ratio = numbers.mean(axis=0).tolist()
            networks = len({entry.network for entry in entries})
            standings.append(Standing(method, metric, rank, regret, float(numbers[:, 1].max()), ratio, networks))
        return sorted(standings, key=lambda standing: standing.rank)

    def to_markdown(self, digits: int = 3) -> str:
        """Return a table for each network, the standings, and the notes.

        Examples
        --------
        >>> outcome = Outcome("ring", "hope", True, "links", 0, 0.1, {"auc@uniform": 0.8}, None)
        >>> print(BenchmarkScores([outcome]).to_markdown(2))
        ### ring
        <BLANKLINE>
        | method | auc@uniform |
        | --- | --- |
        | hope | **0.80** |
        <BLANKLINE>
        ### Standings
        <BLANKLINE>
        | method | auc@uniform |
        | --- | --- |
        | hope | 1.0 (0.00, 100.0 %, 1) |
        <BLANKLINE>
        Mean rank; in parentheses, the mean difference from the best score, the mean fraction of it, and the networks.
        """
        check_digits(digits)
        parts = []
        for network in dict.fromkeys(entry.network for entry in self.entries):
            parts += [f"### {network}", self._network_table(network, digits)]
        groups = {group: found for group in _GROUPS if (found := self._standings(group))}
        if groups:
            parts += ["### Standings", _standings_table(groups, digits), _LEGEND]
        seeds = max((entry.seeds for entry in self.entries), default=0)
        caption = (f"Means of {seeds} seeds ± standard deviation; the best of the ranked methods is bold.",)
        return "\n\n".join([*parts, *(caption if seeds > 1 else ()), *self.notes])

    def _network_table(self, network: str, digits: int) -> str:
        cells = {(e.method, e.metric): e for e in self.entries if e.network == network}
        methods, metrics = (list(dict.fromkeys(key[i] for key in cells)) for i in (0, 1))
        rows = [[method, *(_format(cells.get((method, metric)), digits) for metric in metrics)] for method in methods]
        return markdown(["method", *metrics], rows)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write ``scores.csv``, ``standings.csv`` and, with the scores of every seed, ``benchmark.json``.

        Examples
        --------
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> BenchmarkScores([]).save(folder)
        >>> sorted(os.listdir(folder))
        ['benchmark.json', 'scores.csv', 'standings.csv']
        """
        check_folder_path("folder", folder, required=True)
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        standings = [standing for metric in self.metrics for standing in self.standings(metric)]
        _write_csv(folder / "scores.csv", Entry._fields, self.entries)
        _write_csv(folder / "standings.csv", Standing._fields, standings)
        _write(folder / "benchmark.json", json.dumps(self.to_json(), indent=1) + "\n")

    def to_json(self) -> Row:
        """Return everything as lists and dictionaries.

        Examples
        --------
        >>> list(BenchmarkScores([]).to_json())
        ['efge', 'cells', 'scores', 'standings', 'notes']
        """
        standings = [standing._asdict() for metric in self.metrics for standing in self.standings(metric)]
        return {
            "efge": efge.__version__,
            "cells": [outcome._asdict() for outcome in self.outcomes],
            "scores": [entry._asdict() for entry in self.entries],
            "standings": standings,
            "notes": self.notes,
        }


def make_entries(outcomes: Sequence[Outcome]) -> list[Entry]:
    """Summarize scores over seeds, and compare the ranked methods on each network.

    Examples
    --------
    >>> outcome = Outcome("ring", "hope", True, "links", 0, 0.1, {"auc@uniform": 0.8}, None)
    >>> make_entries([outcome])[0].rank
    1.0
    """
    scores: dict[tuple[str, str], dict[tuple[str, bool], list[float]]] = {}
    for outcome in outcomes:
        for metric, score in outcome.scores.items():
            by_method = scores.setdefault((outcome.network, metric), {})
            by_method.setdefault((outcome.method, outcome.ranked), []).append(score)
    entries = []
    for (network, metric), by_method in scores.items():
        means = {method: summarize(values) for method, values in by_method.items()}
        ranked = [summary.mean for (_, is_ranked), summary in means.items() if is_ranked]
        for (method, is_ranked), (mean, sd, _, _, seeds) in means.items():
            place = _place(mean, ranked) if is_ranked else (None, None, None)
            entries.append(Entry(network, method, is_ranked, metric, mean, None if sd != sd else sd, seeds, *place))
    return entries


def _place(mean: float, ranked: list[float]) -> tuple[float, float, float | None]:
    """Return rank, regret and ratio; methods with the same score share the mean of their ranks."""
    better, equal, best = sum(x > mean for x in ranked), sum(x == mean for x in ranked), max(ranked)
    return better + (equal + 1) / 2, best - mean, mean / best if best else None


def _standings_table(groups: dict[str, list[Standing]], digits: int) -> str:
    """Return a column for each metric; the rows are in the order of the first one."""
    cells = {
        (s.method, group): f"{s.rank:.1f} ({s.regret:.{digits}f}, {s.ratio:.1%}, {s.networks})".replace("%", " %")
        for group, found in groups.items()
        for s in found
    }
    methods = dict.fromkeys(method for method, _ in cells)
    rows = [[method, *(cells.get((method, group), "") for group in groups)] for method in methods]
    return markdown(["method", *groups], rows)


def _format(entry: Entry | None, digits: int) -> str:
    if entry is None:
        return ""
    deviation = "" if entry.sd is None else f" ± {entry.sd:.{digits}f}"
    mean = f"{entry.mean:.{digits}f}"
    return (f"**{mean}**" if entry.regret == 0 else mean) + deviation


def _write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    _write(path, text.getvalue())


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as stream:
        stream.write(text.encode())
