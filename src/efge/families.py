"""Exponential families: what is seen of a node around a center, as a distribution with one number for its parameter.

An observation x, 1 for a context and 0 for a negative, has log p(x | s) = log h(x) + eta T(x) - A(eta), where the
natural parameter eta = f(s) is a link of the score s, the inner product of a center and a context vector. All that
training needs to know of a family is one number, the slope d log p(x | s) / ds; see :class:`Family` for how to add one.
"""

from __future__ import annotations

from collections.abc import Callable
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
# Cells of a tabulated slope: so many at first, doubled until it is exact.
_CELLS, _MOST_CELLS = 512, 1 << 14


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
            before, here, after = (_number(family, "log_prob", x, s + shift) for shift in (-step, 0.0, step))
            slope = _number(family, "slope", x, s)
            # Where a link has a kink, the slope of either side will do.
            rises = np.array([after - before, 2 * (here - before), 2 * (after - here)]) / (2 * step)
            if np.abs(rises - slope).min() > 1e-4 * (1.0 + np.abs(rises[0])):
                raise ValueError(
                    f"{family!r}: at x = {x:g}, s = {s:g} log_prob rises by {rises[0]:.6g}, but the slope is"
                    f" {slope:.6g}; see that mean is the derivative of log_partition, and link_slope that of link"
                )


def _number(family: Family, method: str, x: float, s: float) -> float:
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


def tabulate(family: Family, method: str, x: float, cells: int) -> Values:
    """A family's method for observations x, at equally spaced scores from the lower to the upper bound."""
    return np.array([_number(family, method, x, s) for s in np.linspace(*family.bounds, cells + 1)])


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


def _sigmoid(eta: Any) -> Any:
    return np.exp(-np.logaddexp(0.0, -eta))


def _log_factorial(x: Any) -> Any:
    from scipy.special import gammaln

    return gammaln(x + 1.0)
