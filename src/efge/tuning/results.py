"""Scores of candidates by round and repeat: means, deviations, ranks, and which differences are noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.tuning.space import Candidate
from efge.tuning.tasks import Values

Place = tuple[float, int]  # fraction of the walks, and repeat
# A difference is noise unless noise alone makes one as large, by Student's t distribution, in fewer cases than this.
# The best candidate is chosen by the same scores. So 3 % become 2 to 8 % of equally good candidates that are called
# worse, and 5 % on average, as the test with simulated studies shows.
_NOISE = 0.03
# What is to be preferred is so unless another candidate is better by more standard errors than this. With a whole one,
# the defaults stay where others are better, as on Airports and Wiki.
_CLEAR = 0.25
# With this many paired differences, a candidate has a deviation of its own.
_MIN_PAIRED = 5


class Row(NamedTuple):
    """A candidate in the table of a study.

    Attributes
    ----------
    candidate : Candidate
    score : float
        Mean of the metric that decides, in the last round that the candidate took part in.
    sd : float
        Standard deviation over repeats or folds; NaN if there is only one.
    scores : dict
        Means of all metrics.
    fraction : float
        Fraction of the walks in that round, for a window of 5; others have about as many pairs.
    repeats : int
        Number of repeats in it.
    seconds : float
        Mean time of a training in it.
    difference : float
        How much the best candidate is better on the same data.
    verdict : str
        "best", "same" if the difference is noise, "worse", "unclear" if nothing was repeated that would tell, or why
        there is no score.
    """

    candidate: Candidate
    score: float
    sd: float
    scores: dict[str, float]
    fraction: float
    repeats: int
    seconds: float
    difference: float
    verdict: str

    def __repr__(self) -> str:
        """Return the fields, numbers with four digits."""
        shown = {name: _round(value) for name, value in self._asdict().items()}
        return f"Row({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


def _round(value: Any) -> Any:
    """Return a float, or the floats of a dictionary, with four digits, and any other value as it is."""
    if isinstance(value, dict):
        return {name: _round(one) for name, one in value.items()}
    return round(value, 4) if isinstance(value, float) else value


def explain_rows(rows: Sequence[Row]) -> list[str]:
    """Say which scores of a table can be compared, and why it has more rows than there were trainings."""
    scored = [row for row in rows if not math.isnan(row.score)]
    texts = []
    if len({(row.fraction, row.repeats) for row in scored}) > 1:
        texts.append(
            "Compare scores only between rows with the same walks and repeats: fewer walks, or other hidden data, give"
            " other scores. A difference is from the best on the data that both had."
        )
    trainings = len({row.candidate.training() for row in scored})
    if 1 < trainings < len(scored):
        texts.append(
            f"The {len(scored)} rows are of {trainings} trainings; those that differ in their filter share one."
        )
    return texts


class Results:
    """All scores of a study so far."""

    def __init__(
        self, candidates: Sequence[Candidate], metric: str, overlap: float, preferred: str | None = None
    ) -> None:
        self.candidates = {candidate.key(): candidate for candidate in candidates}
        self.metric, self.overlap, self.preferred = metric, overlap, preferred
        self.values: dict[str, dict[Place, Values]] = {key: {} for key in self.candidates}
        self.seconds: dict[str, dict[Place, float]] = {key: {} for key in self.candidates}
        self.reasons: dict[str, str] = {}

    def add(self, key: str, place: Place, values: Values, seconds: float) -> None:
        """Add the scores of a trial."""
        self.values[key][place] = values
        self.seconds[key][place] = seconds

    def places(self, key: str) -> list[Place]:
        """Return the trials of a candidate that its score is based on: those with the most walks."""
        known = self.values[key]
        last = max((fraction for fraction, _ in known), default=0.0)
        return sorted(place for place in known if place[0] == last)

    def score(self, key: str) -> float:
        """Return the mean score of a candidate; NaN if it has none."""
        return _mean(self._scores(key, self.places(key)))

    def _scores(self, key: str, places: Sequence[Place], metric: str | None = None) -> npt.NDArray[np.float64]:
        return np.array([x for place in places for x in self.values[key][place][metric or self.metric]], np.float64)

    def ranking(self) -> list[str]:
        """Return all candidates, best first: those with more walks before others, then those with more repeats."""

        def order(key: str) -> tuple[float, ...]:
            places, score = self.places(key), self.score(key)
            return (
                -max((fraction for fraction, _ in places), default=0.0),
                -len(places),
                -np.nan_to_num(score, nan=-1),
            )

        return sorted(self.candidates, key=order)

    def rows(self) -> list[Row]:
        """Return the rows of the table, best first; candidates without any trial are left out."""
        ranked = [key for key in self.ranking() if self.values[key] or key in self.reasons]
        if not ranked or not self.values[ranked[0]]:
            return [self._row(key, math.nan, self.reasons[key]) for key in ranked]
        ranked = self._with_preferred_first(ranked)
        best, rows = ranked[0], []
        pooled = self._pooled_deviation(best)
        for key in ranked:
            found = self._compare(best, key, pooled)
            verdict = "best" if key == best else found.verdict()
            reason = None if self.values[key] else self.reasons.get(key)
            rows.append(self._row(key, found.difference, reason or verdict))
        return rows

    def _with_preferred_first(self, ranked: list[str]) -> list[str]:
        """Return the ranking with the preferred candidate first, if it was scored on as much as the best and is close.

        The best of many candidates is best partly by chance, the more so the fewer labels there are.
        """
        best, preferred = ranked[0], self.preferred
        if preferred not in ranked or self.places(preferred) != self.places(best):
            return ranked
        found = self._compare(best, preferred, self._pooled_deviation(best))
        if not found.difference <= _CLEAR * found.error:
            return ranked
        return [preferred, *(key for key in ranked if key != preferred)]

    def _row(self, key: str, difference: float, verdict: str) -> Row:
        places = self.places(key)
        metrics = self.values[key][places[0]] if places else {}
        scores = {metric: _mean(self._scores(key, places, metric)) for metric in metrics}
        values = self._scores(key, places)
        sd = float(values.std(ddof=1)) if len(values) > 1 else math.nan
        seconds = _mean(np.array([self.seconds[key][place] for place in places]))
        fraction = places[0][0] if places else 0.0
        return Row(self.candidates[key], _mean(values), sd, scores, fraction, len(places), seconds, difference, verdict)

    def _paired(self, best: str, key: str) -> npt.NDArray[np.float64]:
        """Return how much the best is better, in every repeat and fold with the most walks that both took part in."""
        shared = set(self.values[best]) & set(self.values[key])
        last = max((fraction for fraction, _ in shared), default=0.0)
        places = sorted(place for place in shared if place[0] == last)
        return self._scores(best, places) - self._scores(key, places)

    def _pooled_deviation(self, best: str) -> _Deviation:
        """Return the standard deviation of differences between repeats, from all candidates that have several."""
        others = [paired for key in self.candidates if key != best and len(paired := self._paired(best, key)) > 1]
        if not others:
            return _Deviation(math.nan, 0.0)
        squares = sum(float(((paired - paired.mean()) ** 2).sum()) for paired in others)
        freedom = sum(len(paired) - 1 for paired in others)
        # All are differences from the same candidate. Their correlation of 1/2 leaves so much (Satterthwaite).
        return _Deviation(math.sqrt(squares / freedom), freedom / (1 + (len(others) - 1) / 4))

    def _compare(self, best: str, key: str, pooled: _Deviation) -> _Comparison:
        """Return the mean difference from the best, and its standard error; repeats overlap, which widens it."""
        paired = self._paired(best, key)
        if not len(paired):
            return _Comparison(math.nan, math.nan, 0)
        own = _Deviation(float(paired.std(ddof=1)), len(paired) - 1) if len(paired) >= _MIN_PAIRED else pooled
        return _Comparison(float(paired.mean()), own.sd * math.sqrt(1 / len(paired) + self.overlap), own.freedom)


class _Deviation(NamedTuple):
    """A standard deviation, and its degrees of freedom."""

    sd: float
    freedom: float


class _Comparison(NamedTuple):
    """The mean difference of a candidate from the best, its standard error, and the degrees of freedom of that."""

    difference: float
    error: float
    freedom: float

    def verdict(self) -> str:
        """Say whether the difference is noise; if nothing was repeated, nobody knows how large noise is."""
        from scipy.special import stdtrit

        if math.isnan(self.error):
            return "unclear"
        return "same" if self.difference <= stdtrit(self.freedom, 1 - _NOISE / 2) * self.error else "worse"


def _mean(values: npt.NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else math.nan
