"""The built-in distributions, one class each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from efge.families.base import Family


class Bernoulli(Family):
    """Whether a node is among the contexts: skip-gram with negative sampling; the paper's EFGE-Bern.

    A safe choice on any graph, and at its best with small windows.

    Examples
    --------
    >>> Bernoulli()
    Bernoulli()
    """

    domain = "binary"

    def log_partition(self, eta: Any) -> Any:
        return np.logaddexp(0.0, eta)

    def mean(self, eta: Any) -> Any:
        return _sigmoid(eta)


class Poisson(Family):
    """How often a node is among the contexts, at a rate of exp(s); the paper's EFGE-Pois.

    For large windows, graphs with communities, and few labels. Its slope grows like exp(s), which the upper bound keeps
    in check.

    Examples
    --------
    >>> Poisson()
    Poisson()
    """

    domain = "counts"
    bounds = (-16.0, 1.0)

    def log_base(self, x: Any) -> Any:
        return -_log_factorial(x)

    def log_partition(self, eta: Any) -> Any:
        return np.exp(eta)

    def mean(self, eta: Any) -> Any:
        return np.exp(eta)


class Normal(Family):
    """How strongly a node is among the contexts, around a mean of sigma exp(-s); the paper's EFGE-Norm.

    The paper's best on most networks, above all with few labels; the default. Vectors of nodes that meet have *small*
    scores. The slope grows like exp(-2 s) on the negative side, which the lower bound keeps in check.

    Parameters
    ----------
    sigma : float
        Standard deviation; small values do well, and the paper takes 1.

    Examples
    --------
    >>> Normal(sigma=0.5)
    Normal(sigma=0.5)
    """

    domain = "reals"
    bounds = (-1.0, 16.0)

    def __init__(self, sigma: float = 1.0) -> None:
        self.sigma = sigma

    def log_base(self, x: Any) -> Any:
        return -0.5 * (x / self.sigma) ** 2 - np.log(self.sigma * np.sqrt(2.0 * np.pi))

    def statistic(self, x: Any) -> Any:
        return x / self.sigma

    def log_partition(self, eta: Any) -> Any:
        return 0.5 * eta**2

    def mean(self, eta: Any) -> Any:
        return eta

    def link(self, s: Any) -> Any:
        return np.exp(-s)

    def link_slope(self, s: Any) -> Any:
        return -np.exp(-s)


class NegativeBinomial(Family):
    """How often a node is among the contexts, for counts that vary more than Poisson's; the mean is exp(s).

    For graphs with hubs, where a node is seen often around some centers and never around others. Unlike Poisson's, the
    slope is bounded, by `dispersion`, so that large learning rates do no harm; with one of a hundred or more it comes
    close to Poisson.

    Parameters
    ----------
    dispersion : float
        The variance is mean + mean**2 / dispersion.

    Examples
    --------
    >>> NegativeBinomial(dispersion=2.0)
    NegativeBinomial(dispersion=2.0)
    """

    domain = "counts"

    def __init__(self, dispersion: float = 1.0) -> None:
        self.dispersion = dispersion

    def log_base(self, x: Any) -> Any:
        from scipy.special import gammaln

        return gammaln(x + self.dispersion) - gammaln(self.dispersion) - _log_factorial(x)

    def log_partition(self, eta: Any) -> Any:
        return -self.dispersion * np.log(-np.expm1(eta))

    def mean(self, eta: Any) -> Any:
        return self.dispersion / np.expm1(-eta)

    def link(self, s: Any) -> Any:
        return -np.log1p(self.dispersion * np.exp(-s))

    def link_slope(self, s: Any) -> Any:
        return self.dispersion / (self.dispersion + np.exp(s))


class Geometric(NegativeBinomial):
    """How often a node is seen before it is not: a count that is most likely 0, with a long tail; the mean is exp(s).

    The negative binomial family with a dispersion of 1: a robust choice where Poisson would need a small learning rate.

    Examples
    --------
    >>> Geometric()
    Geometric()
    """

    dispersion = 1.0

    def __init__(self) -> None:
        pass


class BernoulliPoisson(Family):
    """Whether a node is among the contexts, with a probability of 1 - exp(-s), for vectors without negative entries.

    A score is the rate of a Poisson count, of which only "none" or "some" is seen: BigClam's model of overlapping
    communities, with walks in place of edges. An entry of a vector says how much a node belongs to a community, so that
    a small dimension, about the number of communities, is what to use.

    Examples
    --------
    >>> BernoulliPoisson().nonnegative
    True
    """

    domain = "binary"
    bounds = (0.05, 16.0)
    nonnegative = True

    def log_partition(self, eta: Any) -> Any:
        return np.logaddexp(0.0, eta)

    def mean(self, eta: Any) -> Any:
        return _sigmoid(eta)

    def link(self, s: Any) -> Any:
        return s + np.log(-np.expm1(-s))

    def link_slope(self, s: Any) -> Any:
        return -1.0 / np.expm1(-s)


FAMILIES: dict[str, Callable[[], Family]] = {
    "bernoulli": Bernoulli,
    "poisson": Poisson,
    "normal": Normal,
    "negative-binomial": NegativeBinomial,
    "geometric": Geometric,
    "bernoulli-poisson": BernoulliPoisson,
}


def as_family(family: str | Family) -> Family:
    """A family by its name, or as it is.

    Examples
    --------
    >>> as_family("normal")
    Normal(sigma=1.0)
    """
    if isinstance(family, Family):
        return family
    if isinstance(family, str) and family in FAMILIES:
        return FAMILIES[family]()
    raise ValueError(f"no family {family!r}; known: {', '.join(FAMILIES)}, or a Family of your own")


def _sigmoid(eta: Any) -> Any:
    return np.exp(-np.logaddexp(0.0, -eta))


def _log_factorial(x: Any) -> Any:
    from scipy.special import gammaln

    return gammaln(x + 1.0)
