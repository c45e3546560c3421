"""Exponential families: the distribution of what is observed of a node around a center, with one natural parameter.

An observation x, 1 for a context and 0 for a negative, has log p(x | s) = log h(x) + eta T(x) - A(eta) with the base
measure h, the sufficient statistic T and the log-partition function A. The natural parameter eta = f(s) is the link
function f of the score s, the inner product of a center and a context vector. Training needs only one function of a
family, the gradient d log p(x | s) / ds; see :class:`Family` for how to add a family.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.errors import check_positive_numbers

Values = npt.NDArray[np.float64]

# Observations at which a family is checked, by its domain.
_OBSERVATIONS = {
    "binary": (0.0, 1.0),
    "counts": (0.0, 1.0, 2.0, 5.0),
    "reals": (0.0, 1.0, -1.5, 0.25),
    "non-negative": (0.0, 1.0, 0.25, 3.0),
}
_CHECKED_SCORES = 257


class Family:
    """An exponential family with its link function: the base class of all families, including your own.

    To add a family, define a subclass with :meth:`log_partition` and :meth:`mean`. Override :meth:`log_base`,
    :meth:`statistic`, :meth:`link` and :meth:`link_derivative` where the defaults do not apply. The methods are plain
    Python and may work on single numbers only or on arrays. Training tabulates the gradient once, and then runs as fast
    as with any other family.

    Attributes
    ----------
    domain : str
        The set of possible observations: "binary", "counts", "reals" or "non-negative".
    bounds : tuple of float
        Lower and upper bound; scores outside are clipped to them. Where the gradient grows without limit, a bound keeps
        training stable; where it vanishes, a bound far out changes nothing.
    nonnegative : bool
        Whether the entries of vectors are kept at zero or above.

    Examples
    --------
    >>> import numpy as np
    >>> class Binomial(Family):
    ...     '''The number of successes in some trials.'''
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
    >>> float(Binomial(2).gradient(1, 0.0))
    0.0
    """

    domain = "reals"
    bounds = (-16.0, 16.0)
    nonnegative = False

    def log_base(self, x: Any) -> Any:
        """Return log h(x), the log base measure: the factor that does not depend on the parameter. The default is 0.

        Examples
        --------
        >>> import efge
        >>> float(efge.Bernoulli().log_base(1))
        0.0
        """
        return 0.0 * x

    def statistic(self, x: Any) -> Any:
        """Return T(x), the sufficient statistic. The default is x.

        Examples
        --------
        >>> import efge
        >>> efge.Normal(sigma=2.0).statistic(1.0)
        0.5
        """
        return x

    def log_partition(self, eta: Any) -> Any:
        """Return A(eta), the log-partition function, which makes probabilities sum to 1.

        Examples
        --------
        >>> import efge
        >>> float(efge.Poisson().log_partition(0.0))
        1.0
        """
        raise NotImplementedError(f"{type(self).__name__} has no log_partition(eta)")

    def mean(self, eta: Any) -> Any:
        """Return A'(eta), the mean of the sufficient statistic at a natural parameter.

        Examples
        --------
        >>> import efge
        >>> float(efge.Bernoulli().mean(0.0))
        0.5
        """
        raise NotImplementedError(f"{type(self).__name__} has no mean(eta)")

    def link(self, s: Any) -> Any:
        """Return f(s), the natural parameter at a score. The default is the score itself.

        Examples
        --------
        >>> import efge
        >>> float(efge.Normal().link(0.0))
        1.0
        """
        return s

    def link_derivative(self, s: Any) -> Any:
        """Return f'(s), the derivative of the link function.

        Examples
        --------
        >>> import efge
        >>> float(efge.Normal().link_derivative(0.0))
        -1.0
        """
        return 1.0 + 0.0 * s

    def log_prob(self, x: Any, s: Any) -> Any:
        """Return log p(x | s), the log-probability or log-density of an observation at a score.

        Examples
        --------
        >>> import efge
        >>> round(float(efge.Bernoulli().log_prob(1, 0.0)), 4)
        -0.6931
        """
        x, s = _as_numbers("x", x), _as_numbers("s", s)
        eta = self.link(s)
        return self.log_base(x) + eta * self.statistic(x) - self.log_partition(eta)

    def gradient(self, x: Any, s: Any) -> Any:
        """Return d log p(x | s) / ds, the gradient in the score, which training ascends.

        Examples
        --------
        >>> import efge
        >>> float(efge.Poisson().gradient(1, 0.0))
        0.0
        """
        x, s = _as_numbers("x", x), _as_numbers("s", s)
        return (self.statistic(x) - self.mean(self.link(s))) * self.link_derivative(s)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(repr(self))


def _as_numbers(argument: str, values: Any) -> Any:
    """Return a number as it is, and a list as an array; raise a TypeError for anything else than numbers."""
    if isinstance(values, (float, np.generic)) and not isinstance(values, np.str_ | np.bytes_):
        return values
    try:
        array = np.asarray(float(values) if isinstance(values, int) else values)
    except (ValueError, OverflowError):
        array = np.array(None)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{argument} is a number, or an array of numbers; got {values!r}"[:500])
    return array[()]


def check_family(family: Family) -> None:
    """Refuse a family that training cannot use: not finite, or its gradient is not the derivative of its log_prob."""
    if family.domain not in _OBSERVATIONS:
        raise ValueError(f"{family!r}: no domain {family.domain!r}; known: {', '.join(_OBSERVATIONS)}")
    low, high = family.bounds
    if not -np.inf < low < high < np.inf:
        raise ValueError(f"{family!r}: bounds are two finite numbers, the lower one first; got {family.bounds!r}")
    if is_builtin(family):
        check_positive_numbers(**vars(family))
    # The formulas of a built-in family stay the same; what a user's own family computes may change.
    check = _check_builtin_gradients if is_builtin(family) else _check_gradients
    check(family, (low, high))


def is_builtin(family: Family) -> bool:
    """Return whether a family is one of this package, and not of the user's own."""
    return type(family).__module__ == "efge.families.builtin"


@lru_cache(maxsize=32)
def _check_builtin_gradients(family: Family, bounds: tuple[float, float]) -> None:
    _check_gradients(family, bounds)


def _check_gradients(family: Family, bounds: tuple[float, float]) -> None:
    low, high = bounds
    for s in np.linspace(low, high, _CHECKED_SCORES)[1:-1]:
        for x in _OBSERVATIONS[family.domain]:
            _check_gradient(family, x, s, step=(high - low) * 1e-6)


def _check_gradient(family: Family, x: float, s: float, step: float) -> None:
    """Refuse a family whose gradient at a point is not the difference quotient of its log_prob."""
    before, here, after = (evaluate_at(family, "log_prob", x, s + shift) for shift in (-step, 0.0, step))
    gradient = evaluate_at(family, "gradient", x, s)
    # At a kink of the link function, the derivative on either side is accepted.
    derivatives = np.array([after - before, 2 * (here - before), 2 * (after - here)]) / (2 * step)
    if np.abs(derivatives - gradient).min() > 1e-4 * (1.0 + np.abs(derivatives[0])):
        raise ValueError(
            f"{family!r}: at x = {x:g}, s = {s:g} the derivative of log_prob is {derivatives[0]:.6g}, but gradient"
            f" returns {gradient:.6g}; make sure that mean is the derivative of log_partition, and link_derivative"
            " that of link"
        )


def evaluate_at(family: Family, method: str, x: float, s: float) -> float:
    """Return the value of a family's method at an observation and a score, which must be a finite number."""
    with np.errstate(all="ignore"):
        try:
            value = float(getattr(family, method)(x, s))
        except ArithmeticError:
            value = np.nan
        except TypeError as error:
            raise ValueError(f"{family!r}: at x = {x:g}, s = {s:g} {method} fails: {error}") from None
    # Training uses 32-bit floats.
    if not abs(value) < float(np.finfo(np.float32).max):
        raise ValueError(
            f"{family!r}: at x = {x:g}, s = {s:g} {method} is {value}; it must be finite for observations in the domain"
            f" ({family.domain}) and scores within the bounds {family.bounds}"
        )
    return value
