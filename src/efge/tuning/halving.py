"""Successive halving: every candidate is trained on few walks, the better third on all, and the best two once more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from efge.errors import EvaluationError, check_positive_integers
from efge.tuning.space import Candidate

# Walks of a full trial, if the number is not a parameter of the space, and the fraction of them in the first round.
FULL_WALKS = 12
FIRST_FRACTION = 1 / 3
_USUAL_WINDOW, _USUAL_LENGTH = 5, 10
_KEPT = 3
_FINALISTS = 2
# Repeats of all trainings, if there are so few.
_REPEATS_OF_FEW = 3
# Fewer trainings than this are worth all walks at once.
_MIN_FOR_FIRST_ROUND = 5
# Part of a time budget that is planned for: a trial may take longer than the first one suggests.
_PLANNED = 0.8

Training = Sequence[Candidate]


class Round(NamedTuple):
    """The best trainings of the round before, on a fraction of the walks; each is repeated with other held-out data."""

    fraction: float
    repeats: tuple[int, ...]
    trainings: int


def plan_rounds(n: int, repeats: int = 2) -> list[Round]:
    """Return the rounds for a number of trainings; the best two are repeated with other data.

    Examples
    --------
    >>> plan_rounds(12)[1]
    Round(fraction=1.0, repeats=(0,), trainings=4)
    >>> sum(len(one.repeats) * one.trainings for one in plan_rounds(12))
    18
    """
    if n == 1:
        return [Round(1.0, (0,), 1)]
    if n <= _FINALISTS:
        return [Round(1.0, tuple(range(_REPEATS_OF_FEW)), n)]
    final = [Round(1.0, tuple(range(1, repeats)), _FINALISTS)] if repeats > 1 else []
    if n < _MIN_FOR_FIRST_ROUND:
        return [Round(1.0, (0,), n), *final]
    return [Round(FIRST_FRACTION, (0,), n), Round(1.0, (0,), max(_FINALISTS + 1, math.ceil(n / _KEPT))), *final]


def count_trials(rounds: Sequence[Round]) -> int:
    """Return the number of fits of all rounds."""
    return sum(len(one.repeats) * one.trainings for one in rounds)


def limit_by_fits(n: int, fits: int | None, repeats: int = 2) -> int:
    """Return how many trainings can take part if there are at most so many fits.

    Examples
    --------
    >>> limit_by_fits(12, 20), limit_by_fits(12, 13), limit_by_fits(12, 1)
    (12, 8, 1)
    """
    check_positive_integers(fits=fits)
    if fits is None:
        return n
    return max((count for count in range(1, n + 1) if count_trials(plan_rounds(count, repeats)) <= fits), default=1)


def planned_work(trainings: Sequence[Training], rounds: Sequence[Round]) -> float:
    """Return the work of rounds, the first of which has these trainings; later ones have trainings of mean work."""
    first, mean = rounds[0], sum(work_of(training[0]) for training in trainings) / len(trainings)
    known = len(first.repeats) * sum(work_of(training[0], first.fraction) for training in trainings)
    return known + mean * sum(one.fraction * len(one.repeats) * one.trainings for one in rounds[1:])


def limit_by_time(trainings: Sequence[Training], budget: float, seconds_per_work: float, repeats: int = 2) -> int:
    """Return how many trainings, in their order, can take part if all rounds are to end within a number of seconds.

    Examples
    --------
    >>> import efge
    >>> trainings = [[Candidate(efge.EFGE(window=5, p=p))] for p in range(1, 13)]
    >>> limit_by_time(trainings, 1000.0, 1.0), limit_by_time(trainings, 11.0, 1.0)
    (12, 9)
    """
    if not 0 < budget < math.inf:
        raise EvaluationError(f"a budget is a positive number of seconds; got {budget!r}")
    fitting = 1
    for n in range(2, len(trainings) + 1):
        if planned_work(trainings[:n], plan_rounds(n, repeats)) * seconds_per_work <= _PLANNED * budget:
            fitting = n
    return fitting


def walks_of(estimator: Any, fraction: float = 1.0) -> int:
    """Return the number of walks from each node in a trial on a fraction of them.

    A walk has few pairs for a small window. If there are also few walks, small windows look worse than they are. So a
    fraction of the walks is that for a window of 5, and all windows have about as many pairs, from all walks at most.

    Examples
    --------
    >>> import efge
    >>> [walks_of(efge.EFGE(window=window), 1 / 3) for window in (1, 2, 5, 10)]
    [12, 8, 4, 3]
    """
    walks = FULL_WALKS if estimator.walks_per_node == "auto" else int(estimator.walks_per_node)
    if fraction == 1:
        return walks
    length = int(estimator.walk_length)
    ratio = _pairs_of_walk(_USUAL_WINDOW, length) / _pairs_of_walk(_window_of(estimator), length)
    return min(max(round(fraction * walks * ratio), 1), walks)


def _window_of(estimator: Any) -> int:
    return _USUAL_WINDOW if estimator.window == "auto" else int(estimator.window)


def _pairs_of_walk(window: int, length: int) -> int:
    """Return the number of pairs of a walk, 1 at least: a window or a length that is an error is so in the trial."""
    window = min(window, length - 1)
    return max(2 * window * length - window * (window + 1), 1)


def work_of(candidate: Candidate, fraction: float = 1.0) -> float:
    """Return how long a training takes, in units of a full one of EFGE with a window of 5 and 128 dimensions.

    Examples
    --------
    >>> import efge
    >>> work_of(Candidate(efge.EFGE(window=5))), round(work_of(Candidate(efge.EFGE(window=1, dim=64))), 3)
    (1.0, 0.129)
    """
    estimator: Any = candidate.estimator
    if not hasattr(estimator, "walk_length"):
        return fraction
    pairs = _pairs_of_walk(_window_of(estimator), int(estimator.walk_length))
    usual = _pairs_of_walk(_USUAL_WINDOW, _USUAL_LENGTH)
    return walks_of(estimator, fraction) / FULL_WALKS * pairs / usual * int(estimator.dim) / 128
