"""The built-in exponential families, one class per distribution."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from efge.errors import did_you_mean
from efge.families.base import Family


class Bernoulli(Family):
    """Bernoulli family: whether a node is among the contexts, with probability sigmoid(s); the paper's EFGE-Bern.

    This is skip-gram with negative sampling, and the default of :class:`efge.EFGE`: a safe choice on any graph.

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
    """Poisson family: how often a node is among the contexts, with mean exp(s); the paper's EFGE-Pois.

    Use it with large windows, on graphs with communities, or with few labels. Its gradient grows like exp(s); the upper
    bound of scores limits it.

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
    """Normal family: how strongly a node is among the contexts, with mean sigma exp(-s); the paper's EFGE-Norm.

    It is the paper's best family on most networks, above all with few labels; on dense graphs it learns slowly. Because
    of its link function, the scores of a center and its contexts are *small*. For negative scores the gradient grows
    like exp(-2 s); the lower bound of scores limits it.

    Parameters
    ----------
    sigma : float
        Standard deviation. Small values work well; the paper uses 1.

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

    def link_derivative(self, s: Any) -> Any:
        return -np.exp(-s)


class NegativeBinomial(Family):
    """Negative binomial family: a context count with mean exp(s) and more variance than Poisson.

    Use it on graphs with hubs, where a node occurs often around some centers and never around others. Unlike Poisson's,
    the gradient is bounded, by `dispersion`, so that large learning rates do no harm. With a dispersion of a hundred or
    more, it comes close to Poisson.

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

    def link_derivative(self, s: Any) -> Any:
        return self.dispersion / (self.dispersion + np.exp(s))


class Geometric(NegativeBinomial):
    """Geometric family: a count whose most likely value is 0, with a long tail; the mean is exp(s).

    It is the negative binomial family with a dispersion of 1: a robust choice where Poisson would need a small learning
    rate.

    Examples
    --------
    >>> Geometric()
    Geometric()
    """

    dispersion = 1.0

    def __init__(self) -> None:
        pass


class BernoulliPoisson(Family):
    """Bernoulli-Poisson family: whether a node is among the contexts, with probability 1 - exp(-s); vectors are >= 0.

    A score is the rate of a Poisson count of which only zero or not zero is observed: BigClam's model of overlapping
    communities, with walks instead of edges. Each entry of a vector is the strength with which a node belongs to a
    community, so use a small dimension, about the number of communities.

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

    def link_derivative(self, s: Any) -> Any:
        return -1.0 / np.expm1(-s)


FAMILIES: dict[str, Callable[[], Family]] = {
    "bernoulli": Bernoulli,
    "poisson": Poisson,
    "normal": Normal,
    "negative-binomial": NegativeBinomial,
    "geometric": Geometric,
    "bernoulli-poisson": BernoulliPoisson,
}


def as_family(family: Any) -> Family:
    """Return the family with a given name; a family itself is returned as it is.

    Examples
    --------
    >>> as_family("normal")
    Normal(sigma=1.0)
    """
    if isinstance(family, Family):
        return family
    if isinstance(family, str) and family in FAMILIES:
        return FAMILIES[family]()
    if isinstance(family, type) and issubclass(family, Family):
        raise ValueError(f"a family is an object and not its class; call it, as {family.__name__}()")
    hint = did_you_mean(family, FAMILIES)
    raise ValueError(f"no family {family!r}; known: {', '.join(FAMILIES)}, or a Family of your own{hint}")


def _sigmoid(eta: Any) -> Any:
    return np.exp(-np.logaddexp(0.0, -eta))


def _log_factorial(x: Any) -> Any:
    # NumPy has no such function, and importing SciPy's takes longer than training on a small graph.
    return np.vectorize(math.lgamma, otypes=[np.float64])(np.asarray(x) + 1.0)[()]
