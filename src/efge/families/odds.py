"""Log-odds of a link: how much more likely a family finds a context than a negative at a score."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from efge.families.base import Family, Values


def log_odds(family: Family, scores: npt.NDArray[np.floating]) -> Values:
    """Return log p(1 | s) - log p(0 | s) at each score, which is clipped to the family's bounds as in training.

    Examples
    --------
    >>> import efge
    >>> log_odds(efge.Bernoulli(), np.array([-2.0, 0.0, 100.0])).round(6).tolist()
    [-2.0, 0.0, 16.0]
    """
    clipped = np.clip(scores.astype(np.float64), *family.bounds)
    if _takes_arrays(family):
        return _difference(family, clipped)
    return np.array([_difference(family, float(score)) for score in clipped], np.float64)


def _difference(family: Family, scores: Values | float) -> Values:
    with np.errstate(all="ignore"):
        return np.asarray(family.log_prob(1.0, scores) - family.log_prob(0.0, scores), np.float64)


def _takes_arrays(family: Family) -> bool:
    """Return whether a family gives the same for an array as for its numbers; a user's own may take numbers only."""
    probes = np.linspace(*family.bounds, 5)[1:-1]
    try:
        together = _difference(family, probes)
    except (TypeError, ValueError, ArithmeticError):
        return False
    return together.shape == probes.shape and np.allclose(together, [_difference(family, float(s)) for s in probes])
