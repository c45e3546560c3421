"""Scores of repeated experiments: every repeat is stored; tables and figures show means and their uncertainty."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge import display
from efge.errors import is_integer
from efge.plots import Curve, plot_bars, plot_curves

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]
Case = tuple[Hashable, ...]

_CONFIDENCE = 0.95


class Summary(NamedTuple):
    """Mean, standard deviation over the repeats, 95 % confidence interval of the mean, and number of repeats."""

    mean: float
    sd: float
    low: float
    high: float
    repeats: int


def summarize(scores: npt.ArrayLike) -> Summary:
    """Return the mean, standard deviation and Student's t interval of independent scores.

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
    half_width = float(t.ppf((1 + _CONFIDENCE) / 2, n - 1)) * sd / n**0.5
    return Summary(mean, sd, mean - half_width, mean + half_width, n)


def check_digits(digits: Any) -> None:
    """Raise a ValueError unless this is a number of digits after the decimal point.

    Examples
    --------
    >>> check_digits(-1)
    Traceback (most recent call last):
    ValueError: digits is an integer from 0 to 20; got -1
    """
    if not is_integer(digits) or not 0 <= digits <= 20:
        raise ValueError(f"digits is an integer from 0 to 20; got {digits!r}")


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """Format a table in Markdown.

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
    """Scores of repeated experiments, by case and metric: the result of every evaluation.

    Printing it shows a table of means and standard deviations.

    Parameters
    ----------
    keys : tuple of str
        What distinguishes the cases, such as a training ratio, or a method and its features.
    raw : mapping of cases to mappings of metrics to arrays
        One score for each repeat.
    notes : tuple of str
        Remarks that a reader of the table needs.

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

    def _repr_html_(self) -> str:
        """Return the table and the means of the first metric, for notebooks."""
        means = [float(np.mean(scores[self.metrics[0]])) for scores in self.raw.values()] if self.metrics else []
        picture = display.bars(means, f"mean {self.metrics[0]}, row by row") if means else ""
        return display.card(type(self).__name__, display.from_markdown(self.to_markdown()), picture)

    def __repr__(self) -> str:
        return self.to_markdown()

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics, in the order of the table's columns.

        Examples
        --------
        >>> Scores(("ratio",), {(0.5,): {"accuracy": np.array([0.5])}}).metrics
        ['accuracy']
        """
        return list(next(iter(self.raw.values()), {}))

    def summary(self, *case: Hashable, metric: str | None = None) -> Summary:
        """Return the mean, standard deviation and confidence interval of one case.

        Parameters
        ----------
        *case : key values
            One value for each of `keys`, such as a training ratio.
        metric : str, optional
            One of `metrics`; by default the first.

        Examples
        --------
        >>> scores = Scores(("ratio",), {(0.5,): {"accuracy": np.array([0.5, 0.7])}})
        >>> scores.summary(0.5).mean
        0.6
        """
        if not all(isinstance(value, Hashable) for value in case) or case not in self.raw:
            raise KeyError(f"no case {case!r}; known: {', '.join(map(str, self.raw))}")
        self._check_metric(metric)
        return summarize(self.raw[case][metric or self.metrics[0]])

    def _check_metric(self, metric: Any) -> None:
        if metric is not None and not (isinstance(metric, str) and metric in self.metrics):
            raise KeyError(f"no metric {metric!r}; known: {', '.join(self.metrics)}")

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame with a row for each case and metric.

        The columns are the keys, "metric", and the fields of the summary: mean, standard deviation, 95 % confidence
        interval and number of repeats.

        Examples
        --------
        >>> Scores(("ratio",), {(0.5,): {"accuracy": np.array([0.5, 0.75])}}).to_pandas()[["ratio", "metric", "mean"]]
           ratio    metric   mean
        0    0.5  accuracy  0.625
        """
        import pandas as pd

        return pd.DataFrame(self.records(), columns=[*self.keys, "metric", *Summary._fields])

    def records(self) -> list[dict[str, Any]]:
        """Return the rows of :meth:`to_pandas` as dictionaries; None stands for a missing standard deviation.

        Examples
        --------
        >>> Scores(("ratio",), {(0.5,): {"accuracy": np.array([0.5])}}).records()[0]["mean"]
        0.5
        """
        names = [*self.keys, "metric", *Summary._fields]
        return [
            dict(zip(names, (*case, metric, *(None if x != x else x for x in summarize(scores))), strict=True))
            for case, by_metric in self.raw.items()
            for metric, scores in by_metric.items()
        ]

    def to_markdown(self, digits: int = 4) -> str:
        """Return a Markdown table with a row for each case, followed by the notes.

        Examples
        --------
        >>> print(Scores(("ratio",), {(0.5,): {"accuracy": np.array([0.5])}}).to_markdown(2))
        | ratio | accuracy |
        | --- | --- |
        | 0.5 | 0.50 |
        """
        check_digits(digits)
        rows = []
        repeats = 0
        for case, by_metric in self.raw.items():
            cells = [_format_key(key) for key in case]
            for summary in map(summarize, by_metric.values()):
                deviation = f" ± {summary.sd:.{digits}f}" if summary.repeats > 1 else ""
                cells.append(f"{summary.mean:.{digits}f}{deviation}")
                repeats = max(repeats, summary.repeats)
            rows.append(cells)
        rows += self._baseline_rows(digits)
        caption = (f"Means of {repeats} repeats ± standard deviation.",) if repeats > 1 else ()
        return "\n\n".join([markdown([*self.keys, *self.metrics], rows), *caption, *self.notes])

    def _baseline_rows(self, digits: int) -> list[list[str]]:
        """Return rows of the table that are no cases: what is known without any vectors."""
        return []

    def plot(self, metric: str | None = None, axes: Axes | None = None) -> Axes:
        """Draw the scores: curves with confidence intervals where cases are numbers, bars where they are methods.

        Parameters
        ----------
        metric : str, optional
            The metric to draw; by default every metric as a curve, or the first one as bars.
        axes : matplotlib Axes, optional
            By default, those of a new figure.

        Examples
        --------
        >>> scores = Scores(("ratio",), {(0.1,): {"accuracy": np.array([0.5])}, (0.5,): {"accuracy": np.array([0.7])}})
        >>> scores.plot().get_ylabel()
        'accuracy'
        """
        self._check_metric(metric)
        if len(self.keys) == 1:
            names = [metric] if metric else self.metrics
            curves = {name: self._curve(name) for name in names}
            return plot_curves(curves, self.keys[0], names[0] if len(names) == 1 else "score", axes)
        metric = metric or self.metrics[0]
        bars = {" ".join(map(_format_key, case)): summarize(by[metric]) for case, by in self.raw.items()}
        means = {name: summary.mean for name, summary in bars.items()}
        deviations = {name: summary.sd for name, summary in bars.items()}
        return plot_bars(means, deviations, metric, axes)

    def _curve(self, metric: str) -> Curve:
        summaries = [summarize(by_metric[metric]) for by_metric in self.raw.values()]
        xs: list[Any] = [case[0] for case in self.raw]
        return Curve(xs, [s.mean for s in summaries], [s.low for s in summaries], [s.high for s in summaries])


def _format_key(key: Hashable) -> str:
    return f"{key:g}" if isinstance(key, float) else str(key)
