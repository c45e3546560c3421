"""Tables of scores: our mean, the published number, the difference and a verdict for each cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from efge.evaluation.results import Summary, markdown, summarize
from efge.experiments.plan import Cell, load_settings, published_table
from efge.experiments.scoring import Score

# Our mean and the published number count as the same up to this difference, and the rounding of the latter.
TOLERANCE = 0.01
_ROUNDING = 5e-4
VERDICT_SYMBOLS = {"same": "✓", "better": "+", "below": "✗", "": ""}


class Entry(NamedTuple):
    """A cell of a table: our scores, and the published number if there is one."""

    study: str
    network: str
    method: str
    value: str
    metric: str
    column: str
    ours: Summary
    published: float | None

    @property
    def difference(self) -> float | None:
        """Our mean minus the published number."""
        return None if self.published is None else self.ours.mean - self.published

    @property
    def verdict(self) -> str:
        """Whether our mean is the same, better or below; empty without a published number."""
        if self.difference is None:
            return ""
        if abs(self.difference) <= TOLERANCE + _ROUNDING:
            return "same"
        return "better" if self.difference > 0 else "below"


class Table(NamedTuple):
    """A table of text with a title and column names."""

    title: str
    header: list[str]
    rows: list[list[str]]

    def to_markdown(self) -> str:
        """Return the table in Markdown, below its title.

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


def make_entries(results: Mapping[Cell, list[Score]]) -> list[Entry]:
    """Summarize the scores of each table cell over its repeats, and add the published number.

    Examples
    --------
    >>> cell = Cell("links", "cora", "EFGE-Norm", None, 0)
    >>> entry = make_entries({cell: [Score("EFGE-Norm", "", "auc", "cora", 0, 0.8)]})[0]
    >>> entry.published, entry.verdict
    (0.807, 'same')
    """
    grouped: dict[tuple[str, str, str, str, str, str], list[float]] = {}
    for cell, scores in results.items():
        for score in scores:
            key = (cell.study, cell.network, score.method, score.value, score.metric, score.column)
            grouped.setdefault(key, []).append(score.score)
    return [Entry(*key, summarize(scores), _find_published(*key)) for key, scores in grouped.items()]


def _find_published(study: str, network: str, method: str, value: str, metric: str, column: str) -> float | None:
    file_name = load_settings()["studies"][study].get("published", "")
    if study == "classification":
        return published_table(file_name.format(network=network)).get((method, metric, column))
    if (study, metric) in {("links", "auc"), ("networks", "statistic")}:
        return published_table(file_name).get((method, column))
    return None


def count_reached(entries: Iterable[Entry]) -> tuple[int, int]:
    """Count the cells that reach their published number, and all cells with a published number.

    Examples
    --------
    >>> count_reached([])
    (0, 0)
    """
    verdicts = [entry.verdict for entry in entries if entry.verdict]
    return sum(verdict != "below" for verdict in verdicts), len(verdicts)


def is_efge(entry: Entry) -> bool:
    """Return whether the method is an EFGE model.

    Examples
    --------
    >>> is_efge(Entry("links", "cora", "EFGE-Norm", "", "auc", "cora", summarize([0.8]), None))
    True
    """
    return entry.method.startswith("EFGE")


def comparison_table(title: str, entries: list[Entry]) -> Table:
    """Return a table with three rows for each method: ours, published, and the difference with its verdict.

    Examples
    --------
    >>> entry = Entry("links", "cora", "EFGE-Norm", "", "auc", "cora", summarize([0.8]), 0.807)
    >>> for row in comparison_table("AUC", [entry]).rows:
    ...     print(row)
    ['EFGE-Norm', 'ours', '0.800']
    ['', 'published', '0.807']
    ['', 'difference', '-0.007 ✓']
    """
    columns = list(dict.fromkeys(entry.column for entry in entries))
    by_cell = {(entry.method, entry.column): entry for entry in entries}
    rows = []
    for method in dict.fromkeys(entry.method for entry in entries):
        row = [by_cell.get((method, column)) for column in columns]
        rows.append([method, "ours", *(_format_number(None if entry is None else entry.ours.mean) for entry in row)])
        if any(entry is not None and entry.published is not None for entry in row):
            published = [None if entry is None else entry.published for entry in row]
            rows.append(["", "published", *map(_format_number, published)])
            rows.append(["", "difference", *map(_format_difference, row)])
    return Table(title, ["method", "", *columns], rows)


def _format_number(number: float | None) -> str:
    return "" if number is None else f"{number:.3f}"


def _format_difference(entry: Entry | None) -> str:
    if entry is None or entry.difference is None:
        return ""
    return f"{entry.difference:+.3f} {VERDICT_SYMBOLS[entry.verdict]}"


def statistics_table(entries: list[Entry]) -> Table:
    """Return Table 1: our statistics, with the published number where it differs.

    Examples
    --------
    >>> entry = Entry("networks", "cora", "cora", "", "statistic", "nodes", summarize([2708]), 2708.0)
    >>> statistics_table([entry]).rows
    [['cora', '2,708']]
    """
    columns = list(dict.fromkeys(entry.column for entry in entries))
    rows = []
    for network in dict.fromkeys(entry.network for entry in entries):
        by_column = {entry.column: entry for entry in entries if entry.network == network}
        cells = [_format_statistic(by_column[column]) if column in by_column else "" for column in columns]
        rows.append([network, *cells])
    return Table("Statistics of the networks", ["network", *(name.replace("_", " ") for name in columns)], rows)


def _format_statistic(entry: Entry) -> str:
    ours = entry.ours.mean
    digits = {"average_degree": 3, "density": 4}.get(entry.column, 0)
    text = f"{ours:,.{digits}f}"
    # The last published digit may be truncated rather than rounded.
    same = entry.published is None or abs(ours - entry.published) <= 10.0**-digits
    return text if same else f"{text} (published: {entry.published:,.{digits}f})"


def sensitivity_table(title: str, entries: list[Entry]) -> Table:
    """Return a table with a row for each method and training percentage, and a column for each parameter value.

    Examples
    --------
    >>> entry = Entry("window", "citeseer", "EFGE-Norm", "2", "micro_f1", "50", summarize([0.6]), None)
    >>> sensitivity_table("Window", [entry]).rows
    [['EFGE-Norm', '50 %', '0.600']]
    """
    values = sorted({entry.value for entry in entries}, key=float)
    means = {(entry.method, entry.column, entry.value): entry.ours.mean for entry in entries}
    rows = [
        [method, f"{column} %", *(_format_number(means.get((method, column, value))) for value in values)]
        for method, column in dict.fromkeys((entry.method, entry.column) for entry in entries)
    ]
    return Table(title, ["method", "training nodes", *values], rows)


def claims_table(entries: list[Entry]) -> Table | None:
    """Return the paper's claims about its figures and whether they hold here; None without scores for any claim.

    Examples
    --------
    >>> claims_table([]) is None
    True
    """
    summaries = {(e.study, e.method, e.value): e.ours for e in entries if (e.metric, e.column) == ("micro_f1", "50")}
    rows = []
    for claim in load_settings()["claims"]:
        before, after = (summaries.get((claim["study"], claim["method"], f"{claim[key]:g}")) for key in ("from", "to"))
        if before is None or after is None:
            continue
        gain = after.mean - before.mean
        error = (before.sd**2 / before.repeats + after.sd**2 / after.repeats) ** 0.5
        verdict = "not clear" if abs(gain) <= 2 * error else "holds" if gain > 0 else "does not hold"
        rows.append([claim["text"], f"{gain:+.4f} ± {error:.4f}", verdict])
    return Table("The paper's claims", ["claim", "gain in Micro-F1 ± standard error", "here"], rows) if rows else None
