"""Scores into tables: ours, the published number, the difference and a verdict for each cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from efge.evaluation.results import Summary, markdown, summarize
from efge.experiments.measuring import Score
from efge.experiments.plan import Cell, catalogue, published

# Ours and the published number are the same if they differ by at most so much; rounding apart.
TOLERANCE = 0.01
_ROUNDING = 5e-4
MARKS = {"same": "✓", "better": "+", "below": "✗", "": ""}


class Entry(NamedTuple):
    """A cell of a table: what was measured, and what was published, if anything."""

    study: str
    network: str
    method: str
    value: str
    measure: str
    column: str
    ours: Summary
    published: float | None

    @property
    def difference(self) -> float | None:
        """Ours minus the published number."""
        return None if self.published is None else self.ours.mean - self.published

    @property
    def verdict(self) -> str:
        """Whether ours is the same, better or below; nothing where nothing was published."""
        if self.difference is None:
            return ""
        if abs(self.difference) <= TOLERANCE + _ROUNDING:
            return "same"
        return "better" if self.difference > 0 else "below"


class Table(NamedTuple):
    """A table that stands alone: title, column names, rows of text."""

    title: str
    header: list[str]
    rows: list[list[str]]

    def to_markdown(self) -> str:
        """The table in Markdown, under its title.

        Examples
        --------
        >>> print(Table("Two", ["a", "b"], [["1", "2"]]).to_markdown())
        ### Two
        <BLANKLINE>
        | a | b |
        | --- | --- |
        | 1 | 2 |
        """
        return f"### {self.title}\n\n{markdown(self.header, self.rows)}"


def entries_of(results: Mapping[Cell, list[Score]]) -> list[Entry]:
    """The mean of each table's cell over its repeats, beside the published number.

    Examples
    --------
    >>> cell = Cell("links", "cora", "EFGE-Norm", None, 0)
    >>> entry = entries_of({cell: [Score("EFGE-Norm", "", "auc", "cora", 0, 0.8)]})[0]
    >>> entry.published, entry.verdict
    (0.807, 'same')
    """
    grouped: dict[tuple[str, str, str, str, str, str], list[float]] = {}
    for cell, scores in results.items():
        for score in scores:
            key = (cell.study, cell.network, score.method, score.value, score.measure, score.column)
            grouped.setdefault(key, []).append(score.score)
    return [Entry(*key, summarize(scores), _published(*key)) for key, scores in grouped.items()]


def _published(study: str, network: str, method: str, value: str, measure: str, column: str) -> float | None:
    if study == "classification":
        return published(catalogue()["studies"][study]["published"].format(network=network)).get(
            (method, measure, column)
        )
    if (study, measure) in {("links", "auc"), ("networks", "statistic")}:
        return published(catalogue()["studies"][study]["published"]).get((method, column))
    return None


def share_reached(entries: Iterable[Entry]) -> tuple[int, int]:
    """How many of the cells with a published number are the same or better, and how many there are.

    Examples
    --------
    >>> share_reached([])
    (0, 0)
    """
    judged = [entry.verdict for entry in entries if entry.verdict]
    return sum(verdict != "below" for verdict in judged), len(judged)


def is_ours(entry: Entry) -> bool:
    """Whether the method is an EFGE model.

    Examples
    --------
    >>> is_ours(Entry("links", "cora", "EFGE-Norm", "", "auc", "cora", summarize([0.8]), None))
    True
    """
    return entry.method.startswith("EFGE")


def comparison(title: str, entries: list[Entry]) -> Table:
    """Three rows for each method: ours, published, difference with its verdict.

    Examples
    --------
    >>> entry = Entry("links", "cora", "EFGE-Norm", "", "auc", "cora", summarize([0.8]), 0.807)
    >>> for row in comparison("AUC", [entry]).rows:
    ...     print(row)
    ['EFGE-Norm', 'ours', '0.800']
    ['', 'published', '0.807']
    ['', 'difference', '-0.007 ✓']
    """
    columns = list(dict.fromkeys(entry.column for entry in entries))
    at = {(entry.method, entry.column): entry for entry in entries}
    rows = []
    for method in dict.fromkeys(entry.method for entry in entries):
        found = [at.get((method, column)) for column in columns]
        rows.append([method, "ours", *("" if entry is None else f"{entry.ours.mean:.3f}" for entry in found)])
        if any(entry is not None and entry.published is not None for entry in found):
            rows.append(["", "published", *(_number(None if entry is None else entry.published) for entry in found)])
            rows.append(["", "difference", *map(_difference, found)])
    return Table(title, ["method", "", *columns], rows)


def _number(number: float | None) -> str:
    return "" if number is None else f"{number:.3f}"


def _difference(entry: Entry | None) -> str:
    if entry is None or entry.difference is None:
        return ""
    return f"{entry.difference:+.3f} {MARKS[entry.verdict]}"


def statistics(entries: list[Entry]) -> Table:
    """Table 1: ours, and the published number where it is another.

    Examples
    --------
    >>> entry = Entry("networks", "cora", "cora", "", "statistic", "nodes", summarize([2708]), 2708.0)
    >>> statistics([entry]).rows
    [['cora', '2,708']]
    """
    columns = list(dict.fromkeys(entry.column for entry in entries))
    rows = []
    for network in dict.fromkeys(entry.network for entry in entries):
        at = {entry.column: entry for entry in entries if entry.network == network}
        rows.append([network, *(_statistic(at[column]) if column in at else "" for column in columns)])
    return Table("Statistics of the networks", ["network", *(name.replace("_", " ") for name in columns)], rows)


def _statistic(entry: Entry) -> str:
    ours = entry.ours.mean
    digits = {"average_degree": 3, "density": 4}.get(entry.column, 0)
    text = f"{ours:,.{digits}f}"
    # The last digit may have been cut rather than rounded.
    same = entry.published is None or abs(ours - entry.published) <= 10.0**-digits
    return text if same else f"{text} (published: {entry.published:,.{digits}f})"


def sensitivity(title: str, entries: list[Entry]) -> Table:
    """A row for each method and share of training nodes, a column for each value of the parameter.

    Examples
    --------
    >>> entry = Entry("window", "citeseer", "EFGE-Norm", "2", "micro_f1", "50", summarize([0.6]), None)
    >>> sensitivity("Window", [entry]).rows
    [['EFGE-Norm', '50 %', '0.600']]
    """
    values = sorted({entry.value for entry in entries}, key=float)
    at = {(entry.method, entry.column, entry.value): entry.ours.mean for entry in entries}
    rows = [
        [method, f"{column} %", *(_number(at.get((method, column, value))) for value in values)]
        for method, column in dict.fromkeys((entry.method, entry.column) for entry in entries)
    ]
    return Table(title, ["method", "learned from", *values], rows)


def claims(entries: list[Entry]) -> Table | None:
    """What the paper says of its figures, and whether it holds here; of those that were measured.

    Examples
    --------
    >>> claims([]) is None
    True
    """
    at = {(e.study, e.method, e.value): e.ours for e in entries if (e.measure, e.column) == ("micro_f1", "50")}
    rows = []
    for claim in catalogue()["claims"]:
        ends = [at.get((claim["study"], claim["method"], f"{claim[end]:g}")) for end in ("from", "to")]
        if ends[0] is None or ends[1] is None:
            continue
        gain = ends[1].mean - ends[0].mean
        error = (ends[0].sd ** 2 / ends[0].repeats + ends[1].sd ** 2 / ends[1].repeats) ** 0.5
        verdict = "not clear" if abs(gain) <= 2 * error else "holds" if gain > 0 else "does not hold"
        rows.append([claim["text"], f"{gain:+.4f} ± {error:.4f}", verdict])
    return Table("The paper's claims", ["claim", "gain in Micro-F1 ± standard error", "here"], rows) if rows else None
