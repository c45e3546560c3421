"""Spline tables of a family's gradient and log-probability: all that training ever evaluates."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from efge.families.base import Family, Values, number_at

# Cells of a tabulated slope: so many at first, doubled until it is exact.
_CELLS, _MOST_CELLS = 512, 1 << 14


def tabulate(family: Family, method: str, x: float, cells: int) -> Values:
    """A family's method for observations x, at equally spaced scores from the lower to the upper bound."""
    return np.array([number_at(family, method, x, s) for s in np.linspace(*family.bounds, cells + 1)])


def cubics(family: Family, method: str) -> npt.NDArray[np.float32]:
    """A family's slope or log-probability for observations 0 and 1, as a cubic polynomial for each of many cells.

    Cells are made narrower until the polynomials are off by a millionth of the largest value at most, or until there
    are very many, as for a slope that jumps; a last cell has the upper bound.
    """
    cells = _CELLS
    while True:
        exact = np.stack([tabulate(family, method, x, 2 * cells) for x in (0.0, 1.0)])
        table = np.zeros((2, cells + 1, 4))
        table[:, :cells], table[:, cells, 0] = _spline(exact[:, ::2]), exact[:, -1]
        off = table[:, :cells] @ 0.5 ** np.arange(4) - exact[:, 1::2]
        if cells == _MOST_CELLS or np.abs(off).max() <= 1e-6 * max(1.0, np.abs(exact).max()):
            return table.astype(np.float32)
        cells *= 2


def _spline(values: Values) -> Values:
    """Cubics through rows of values a step apart, smooth to the second derivative, and to the third beside the ends.

    Slopes at the values solve a system with three diagonals: s[i-1] + 4 s[i] + s[i+1] is thrice the difference of the
    values around i. Importing SciPy's interpolation would take as long as training on a small graph.
    """
    from scipy.linalg import solve_banded

    rise = np.diff(values)
    ends = (2.5 * rise[:, :1] + 0.5 * rise[:, 1:2], 0.5 * rise[:, -2:-1] + 2.5 * rise[:, -1:])
    right = np.hstack([ends[0], 3 * (rise[:, :-1] + rise[:, 1:]), ends[1]])
    diagonals = np.ones((3, right.shape[1]))
    diagonals[1, 1:-1], diagonals[0, 1], diagonals[2, -2] = 4.0, 2.0, 2.0
    slope = solve_banded((1, 1), diagonals, right.T).T
    first, second = slope[:, :-1], slope[:, 1:]
    return np.stack([values[:, :-1], first, 3 * rise - 2 * first - second, first + second - 2 * rise], axis=2)
