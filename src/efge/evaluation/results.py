"""Scores of repeated experiments: every repeat is kept; tables and figures show means and how sure they are."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.plots import Curve, plot_bars, plot_curves

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]
Case = tuple[Hashable, ...]

_CONFIDENCE = 0.95


class Summary(NamedTuple):
    """A mean, the standard deviation of the repeats, and the 95 % confidence interval of the mean."""

    mean: float
    sd: float
    low: float
    high: float
    repeats: int


def summarize(scores: npt.ArrayLike) -> Summary:
    """Mean, deviation and Student's interval of scores that are independent of each other.

    Examples
    --------
    >>> summarize([0.5, 0.7]).mean
    0.6
    """
    from scipy.stats import t

    values = np.asarray(scores, np.float64)
    mean, n = float(values.mean()), len(values)
    if n < 2:
        return Summary(mean, np.nan, np.nan, np.nan, n)
    sd = float(values.std(ddof=1))
    half = float(t.ppf((1 + _CONFIDENCE) / 2, n - 1)) * sd / n**0.5
    return Summary(mean, sd, mean - half, mean + half, n)


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown.

    Examples
    --------
    >>> print(markdown(["a", "b"], [["1", "2"]]))
    | a | b |
    | --- | --- |
    | 1 | 2 |
    """
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines)


class Scores:
    """Scores of repeated experiments, by case and by measure; what every evaluation returns.

    Parameters
    ----------
    keys : tuple of str
        What tells cases apart, such as a training ratio, or a method and its features.
    raw : mapping of cases to mappings of measures to arrays
        A score for each repeat.
    notes : tuple of str
        What else a reader of the table has to know.

    Examples
    --------
    >>> scores = Scores(("ratio",), {(0.5,): {"accuracy": np.array([0.5, 0.75])}})
    >>> print(scores.to_markdown())
    | ratio | accuracy |
    | --- | --- |
    | 0.5 | 0.6250 ± 0.1768 |
    <BLANKLINE>
    Means of 2 repeats ± standard deviation.
    """

    def __init__(
        self, keys: tuple[str, ...], raw: Mapping[Case, Mapping[str, Floats]], notes: tuple[str, ...] = ()
    ) -> None:
        self.keys = keys
        self.raw = raw
        self.notes = notes

    def __repr__(self) -> str:
        return self.to_markdown()

    @property
    def measures(self) -> list[str]:
        """The names of what was measured.

        Examples
        --------
        >>> Scores(("ratio",), {(0.5,): {"accuracy": np.array([0.5])}}).measures
        ['accuracy']
        """
        return list(next(iter(self.raw.values()), {}))

    def summary(self, *case: Hashable, measure: str | None = None) -> Summary:
        """Mean, deviation and confidence interval of a case; by default of the first measure.

        Examples
        --------
        >>> scores = Scores(("ratio",), {(0.5,): {"accuracy": np.array([0.5, 0.7])}})
        >>> scores.summary(0.5).mean
        0.6
        """
        if case not in self.raw:
            raise KeyError(f"no case {case!r}; known: {', '.join(map(str, self.raw))}")
        return summarize(self.raw[case][measure or self.measures[0]])

    def to_pandas(self) -> pd.DataFrame:
        """A row for each case and measure: mean, standard deviation, 95 % confidence interval, number of repeats.

        Examples
        --------
        >>> Scores(("ratio",), {(0.5,): {"accuracy": np.array([0.5, 0.75])}}).to_pandas()[["ratio", "measure", "mean"]]
           ratio   measure   mean
        0    0.5  accuracy  0.625
        """
        import pandas as pd

        return pd.DataFrame(self.records(), columns=[*self.keys, "measure", *Summary._fields])

    def records(self) -> list[dict[str, Any]]:
        """The rows of :meth:`to_pandas` as dictionaries; None where there is no deviation.

        Examples
        --------
        >>> Scores(("ratio",), {(0.5,): {"accuracy": np.array([0.5])}}).records()[0]["mean"]
        0.5
        """
        names = [*self.keys, "measure", *Summary._fields]
        return [
            dict(zip(names, (*case, measure, *(None if x != x else x for x in summarize(scores))), strict=True))
            for case, measured in self.raw.items()
            for measure, scores in measured.items()
        ]

    def to_markdown(self, digits: int = 4) -> str:
        """A table with a row for each case, and the notes below.

        Examples
        --------
        >>> print(Scores(("ratio",), {(0.5,): {"accuracy": np.array([0.5])}}).to_markdown(2))
        | ratio | accuracy |
        | --- | --- |
        | 0.5 | 0.50 |
        """
        rows = []
        most = 0
        for case, measured in self.raw.items():
            cells = [_key(key) for key in case]
            for scores in map(summarize, measured.values()):
                deviation = f" ± {scores.sd:.{digits}f}" if scores.repeats > 1 else ""
                cells.append(f"{scores.mean:.{digits}f}{deviation}")
                most = max(most, scores.repeats)
            rows.append(cells)
        repeats = (f"Means of {most} repeats ± standard deviation.",) if most > 1 else ()
        return "\n\n".join([markdown([*self.keys, *self.measures], rows), *repeats, *self.notes])

    def plot(self, measure: str | None = None, axes: Axes | None = None) -> Axes:
        """Draw the scores: curves with their confidence intervals along a number, bars for methods.

        Examples
        --------
        >>> scores = Scores(("ratio",), {(0.1,): {"accuracy": np.array([0.5])}, (0.5,): {"accuracy": np.array([0.7])}})
        >>> scores.plot().get_ylabel()
        'accuracy'
        """
        if len(self.keys) == 1:
            chosen = [measure] if measure else self.measures
            curves = {name: self._curve(name) for name in chosen}
            return plot_curves(curves, self.keys[0], chosen[0] if len(chosen) == 1 else "score", axes)
        measure = measure or self.measures[0]
        cases = {" ".join(map(_key, case)): summarize(measured[measure]) for case, measured in self.raw.items()}
        means, deviations = ({name: case[field] for name, case in cases.items()} for field in (0, 1))
        return plot_bars(means, deviations, measure, axes)

    def _curve(self, measure: str) -> Curve:
        found = [summarize(measured[measure]) for measured in self.raw.values()]
        columns: list[Any] = [[case[0] for case in self.raw], *([row[i] for row in found] for i in (0, 2, 3))]
        return Curve(*columns)


def _key(key: Hashable) -> str:
    return f"{key:g}" if isinstance(key, float) else str(key)
