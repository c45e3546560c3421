"""What a score says about a pair: log-odds of a link, and how often the pair occurs compared with negatives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from efge.families.base import Family, Values

# Means are at least the first, and below 1 by at least the second: families without an upper limit exceed 1.
_MIN_MEAN, _MIN_REST = 1e-9, 1e-3


def log_odds(family: Family, scores: npt.NDArray[np.floating]) -> Values:
    """Return log p(1 | s) - log p(0 | s) at each score, which is clipped to the family's bounds as in training.

    Examples
    --------
    >>> import efge
    >>> log_odds(efge.Bernoulli(), np.array([-2.0, 0.0, 100.0])).round(6).tolist()
    [-2.0, 0.0, 16.0]
    """
    return _evaluate(lambda s: _difference(family, s), family, scores)


def log_ratio(family: Family, scores: npt.NDArray[np.floating]) -> Values:
    """Return the log of how much more often a pair is observed as a context than as a negative, at each score.

    Where the likelihood is highest, the mean observation m of a pair is the fraction of contexts among its contexts and
    negatives, whatever the family: the ratio is m / (1 - m). For the Bernoulli family, that is what the log-odds say.

    Examples
    --------
    >>> import efge
    >>> log_ratio(efge.Bernoulli(), np.array([-2.0, 0.0])).round(6).tolist()
    [-2.0, 0.0]
    >>> log_ratio(efge.Poisson(), np.log([0.2, 0.5])).round(6).tolist() == np.log([0.25, 1.0]).round(6).tolist()
    True
    """
    return _evaluate(lambda s: _log_ratio(family, s), family, scores)


def _evaluate(function: Callable[[Values | float], Values], family: Family, scores: npt.NDArray[np.floating]) -> Values:
    """Return the values of a function of a family at scores, at once if the family takes arrays."""
    clipped = np.clip(scores.astype(np.float64), *family.bounds)
    if _takes_arrays(function, family):
        return function(clipped)
    return np.array([function(float(score)) for score in clipped], np.float64)


def _difference(family: Family, scores: Values | float) -> Values:
    with np.errstate(all="ignore"):
        return np.asarray(family.log_prob(1.0, scores) - family.log_prob(0.0, scores), np.float64)


def _log_ratio(family: Family, scores: Values | float) -> Values:
    with np.errstate(all="ignore"):
        none, one = family.statistic(0.0), family.statistic(1.0)
        means = np.maximum((family.mean(family.link(scores)) - none) / (one - none), _MIN_MEAN)
        return np.asarray(np.log(means) - np.log(np.maximum(1 - means, _MIN_REST)), np.float64)


def _takes_arrays(function: Callable[[Values | float], Values], family: Family) -> bool:
    """Return whether a family gives the same for an array as for its numbers; a user's own may take numbers only."""
    probes = np.linspace(*family.bounds, 5)[1:-1]
    try:
        together = function(probes)
    except (TypeError, ValueError, ArithmeticError):
        return False
    return together.shape == probes.shape and np.allclose(together, [function(float(s)) for s in probes])
