"""Spline tables of a family's gradient and log-probability: the only form in which training evaluates a family."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from efge.families.base import Family, Values, evaluate_at, is_builtin

# Intervals of a spline table: the first number tried, which is doubled until the table is accurate, and the largest.
_MIN_INTERVALS, _MAX_INTERVALS = 512, 1 << 14
# Largest error of a spline table, relative to its largest value.
_TOLERANCE = 1e-6


def tabulate(family: Family, method: str, x: float, intervals: int) -> Values:
    """Return a family's method at an observation and equally spaced scores from the lower to the upper bound."""
    scores = np.linspace(*family.bounds, intervals + 1)
    if not is_builtin(family):
        return np.array([evaluate_at(family, method, x, s) for s in scores])
    # One call for all scores; a family of the user's own may be defined for single numbers only.
    with np.errstate(all="ignore"):
        values: Values = getattr(family, method)(x, scores)
    # The largest value, or NaN, is checked like those of other families.
    evaluate_at(family, method, x, scores[np.argmax(np.abs(values))])
    return values


def spline_table(family: Family, method: str) -> npt.NDArray[np.float32]:
    """Return a family's gradient or log-probability for observations 0 and 1, as a cubic polynomial for each interval.

    The shape is [2, intervals + 1, 4]: observation, interval, and the coefficients of 1, u, u**2, u**3, where u in
    [0, 1) is the position in the interval. The last interval holds the value at the upper bound.
    """
    # Computing a table takes longer than the vector of a new node. What a user's own family computes may change.
    builtin = is_builtin(family)
    table = _builtin_table(family, method, family.bounds) if builtin else _compute_table(family, method)
    return table.copy()


@lru_cache(maxsize=32)
def _builtin_table(family: Family, method: str, bounds: tuple[float, float]) -> npt.NDArray[np.float32]:
    return _compute_table(family, method)


def _compute_table(family: Family, method: str) -> npt.NDArray[np.float32]:
    """Halve intervals until the error is at most a millionth of the largest value.

    Or until there are very many intervals, as for a gradient that jumps.
    """
    intervals = _MIN_INTERVALS
    while True:
        exact = np.stack([tabulate(family, method, x, 2 * intervals) for x in (0.0, 1.0)])
        table = np.zeros((2, intervals + 1, 4))
        table[:, :intervals], table[:, intervals, 0] = _spline(exact[:, ::2]), exact[:, -1]
        error = table[:, :intervals] @ 0.5 ** np.arange(4) - exact[:, 1::2]
        if intervals == _MAX_INTERVALS or np.abs(error).max() <= _TOLERANCE * max(1.0, np.abs(exact).max()):
            return table.astype(np.float32)
        intervals *= 2


def _spline(values: Values) -> Values:
    """Return cubic splines through rows of values one step apart, with not-a-knot ends.

    They are twice continuously differentiable, and three times at the first and the last inner value. The derivatives
    d at the values solve a tridiagonal system: d[i-1] + 4 d[i] + d[i+1] is three times the difference of the values
    around i. Importing SciPy's interpolation instead would take as long as training on a small graph.
    """
    differences = np.diff(values)
    ends = (
        2.5 * differences[:, :1] + 0.5 * differences[:, 1:2],
        0.5 * differences[:, -2:-1] + 2.5 * differences[:, -1:],
    )
    constants = np.hstack([ends[0], 3 * (differences[:, :-1] + differences[:, 1:]), ends[1]])
    derivatives = _solve_tridiagonal(constants)
    left, right = derivatives[:, :-1], derivatives[:, 1:]
    quadratic, cubic = 3 * differences - 2 * left - right, left + right - 2 * differences
    return np.stack([values[:, :-1], left, quadratic, cubic], axis=2)


def _solve_tridiagonal(constants: Values) -> Values:
    """Solve d[0] + 2 d[1] = c[0], d[i-1] + 4 d[i] + d[i+1] = c[i], 2 d[-2] + d[-1] = c[-1] for each row c."""
    n = constants.shape[1]
    above, solved = np.empty(n), constants.T.copy()
    above[0] = 2.0
    for i in range(1, n):
        below, diagonal = (1.0, 4.0) if i < n - 1 else (2.0, 1.0)
        pivot = diagonal - below * above[i - 1]
        above[i] = 1.0 / pivot
        solved[i] = (solved[i] - below * solved[i - 1]) / pivot
    for i in range(n - 2, -1, -1):
        solved[i] -= above[i] * solved[i + 1]
    return solved.T
