"""Exponential families: what is seen of a node around a center, as a distribution with one number for its parameter.

An observation x, 1 for a context and 0 for a negative, has log p(x | s) = log h(x) + eta T(x) - A(eta), where the
natural parameter eta = f(s) is a link of the score s, the inner product of a center and a context vector. All that
training needs to know of a family is one number, the slope d log p(x | s) / ds; see :class:`Family` for how to add one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

# Observations that stand for a domain, where a family is tried out.
_EXAMPLES = {
    "binary": (0.0, 1.0),
    "counts": (0.0, 1.0, 2.0, 5.0),
    "reals": (0.0, 1.0, -1.5, 0.25),
    "non-negative": (0.0, 1.0, 0.25, 3.0),
}
_TRIED_SCORES = 257


class Family:
    """An exponential family with its link; the base of all families, and of your own.

    A family of your own is a class with :meth:`log_partition` and :meth:`mean`, and, where they are not as usual,
    :meth:`log_base`, :meth:`statistic`, :meth:`link` and :meth:`link_slope`. It is plain Python, for single numbers or
    arrays; training tabulates its slope once, and then runs as fast as with any other family.

    Attributes
    ----------
    domain : str
        What an observation can be: "binary", "counts", "reals" or "non-negative".
    bounds : tuple of float
        Scores below and above these are taken for them. Where the slope grows without bound, a bound keeps training
        stable; where it vanishes, a bound far out changes nothing.
    nonnegative : bool
        Whether vectors are kept free of negative entries.

    Examples
    --------
    >>> import numpy as np
    >>> class Binomial(Family):
    ...     '''How many of some trials succeed.'''
    ...
    ...     domain = "binary"
    ...
    ...     def __init__(self, trials=2):
    ...         self.trials = trials
    ...
    ...     def log_partition(self, eta):
    ...         return self.trials * np.logaddexp(0, eta)
    ...
    ...     def mean(self, eta):
    ...         return self.trials / (1 + np.exp(-eta))
    >>> Binomial(trials=2)
    Binomial(trials=2)
    >>> float(Binomial(2).slope(1, 0.0))
    0.0
    """

    domain = "reals"
    bounds = (-16.0, 16.0)
    nonnegative = False

    def log_base(self, x: Any) -> Any:
        """The logarithm of h(x), what a density has that does not depend on its parameter; 0 unless a family says so.

        Examples
        --------
        >>> float(Bernoulli().log_base(1))
        0.0
        """
        return 0.0 * x

    def statistic(self, x: Any) -> Any:
        """T(x), the sufficient statistic; x itself unless a family says otherwise.

        Examples
        --------
        >>> Normal(sigma=2.0).statistic(1.0)
        0.5
        """
        return x

    def log_partition(self, eta: Any) -> Any:
        """A(eta), which makes probabilities add up to 1.

        Examples
        --------
        >>> float(Poisson().log_partition(0.0))
        1.0
        """
        raise NotImplementedError(f"{type(self).__name__} has no log_partition(eta)")

    def mean(self, eta: Any) -> Any:
        """A'(eta), which is the mean of the statistic.

        Examples
        --------
        >>> float(Bernoulli().mean(0.0))
        0.5
        """
        raise NotImplementedError(f"{type(self).__name__} has no mean(eta)")

    def link(self, s: Any) -> Any:
        """f(s), the natural parameter at a score; the score itself unless a family says otherwise.

        Examples
        --------
        >>> float(Normal().link(0.0))
        1.0
        """
        return s

    def link_slope(self, s: Any) -> Any:
        """f'(s), the derivative of the link.

        Examples
        --------
        >>> float(Normal().link_slope(0.0))
        -1.0
        """
        return 1.0 + 0.0 * s

    def log_prob(self, x: Any, s: Any) -> Any:
        """The log-probability, or log-density, log p(x | s) of an observation at a score.

        Examples
        --------
        >>> round(float(Bernoulli().log_prob(1, 0.0)), 4)
        -0.6931
        """
        eta = self.link(s)
        return self.log_base(x) + eta * self.statistic(x) - self.log_partition(eta)

    def slope(self, x: Any, s: Any) -> Any:
        """The derivative of log p(x | s) in the score, by which training moves vectors.

        Examples
        --------
        >>> float(Poisson().slope(1, 0.0))
        0.0
        """
        return (self.statistic(x) - self.mean(self.link(s))) * self.link_slope(s)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(repr(self))


def check(family: Family) -> None:
    """Refuse a family that training cannot trust: not finite, or with a slope that is not its log_prob's derivative."""
    if family.domain not in _EXAMPLES:
        raise ValueError(f"{family!r}: no domain {family.domain!r}; known: {', '.join(_EXAMPLES)}")
    low, high = family.bounds
    if not -np.inf < low < high < np.inf:
        raise ValueError(f"{family!r}: bounds are two finite numbers, the lower one first; got {family.bounds!r}")
    step = (high - low) * 1e-6
    for s in np.linspace(low, high, _TRIED_SCORES)[1:-1]:
        for x in _EXAMPLES[family.domain]:
            before, here, after = (number_at(family, "log_prob", x, s + shift) for shift in (-step, 0.0, step))
            slope = number_at(family, "slope", x, s)
            # Where a link has a kink, the slope of either side will do.
            rises = np.array([after - before, 2 * (here - before), 2 * (after - here)]) / (2 * step)
            if np.abs(rises - slope).min() > 1e-4 * (1.0 + np.abs(rises[0])):
                raise ValueError(
                    f"{family!r}: at x = {x:g}, s = {s:g} log_prob rises by {rises[0]:.6g}, but the slope is"
                    f" {slope:.6g}; see that mean is the derivative of log_partition, and link_slope that of link"
                )


def number_at(family: Family, method: str, x: float, s: float) -> float:
    """What a method of a family gives at a point, which must be a finite number."""
    with np.errstate(all="ignore"):
        try:
            value = float(getattr(family, method)(x, s))
        except ArithmeticError:
            value = np.nan
        except TypeError as error:
            raise ValueError(f"{family!r}: at x = {x:g}, s = {s:g} {method} fails: {error}") from None
    # Training is in 32 bits.
    if not abs(value) < float(np.finfo(np.float32).max):
        raise ValueError(
            f"{family!r}: at x = {x:g}, s = {s:g} {method} is {value}; it is finite for observations in the domain"
            f" ({family.domain}) and scores within bounds {family.bounds}"
        )
    return value
