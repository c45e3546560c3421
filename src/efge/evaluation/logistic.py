"""One-vs-rest logistic regression with an L2 penalty, for all classes at once, by Newton's method.

For each class it minimizes liblinear's objective, ``|w|^2 / 2 + C * sum of log(1 + exp(-y s))`` with scores
``s = x . w``. The last feature of x is a constant 1, whose weight is penalized like the others. C has the same meaning
as in scikit-learn's LogisticRegression: the inverse of the regularization strength.

Features are 32-bit floats, and gradients are sums in 64 bits. The Hessian only sets the direction of a step, so 32 bits
suffice for it, and one Hessian serves for several steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit

from efge.errors import EvaluationError

Features = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Classes = npt.NDArray[np.intp]

# A class has converged when the expected decrease of its objective is below this fraction of it; so the stopping
# criterion does not depend on the scale of the features.
_TOLERANCE = 1e-8
# A Hessian is reused as long as each step's expected decrease is at most this fraction of the previous one.
_SLOW = 0.1
# Relative rounding error of a sum of losses.
_ROUNDING = 1e-12
_MAX_STEPS = 200
_MAX_HALVINGS = 30
# Rows that are converted to 64 bits at a time, so that they stay in the cache.
_CHUNK = 1024


def add_constant(vectors: npt.NDArray[Any]) -> Features:
    """Append a constant feature 1 to each vector.

    Examples
    --------
    >>> add_constant(np.array([[2.0], [3.0]]))
    array([[2., 1.],
           [3., 1.]], dtype=float32)
    """
    features = np.ones((len(vectors), vectors.shape[1] + 1), np.float32)
    features[:, :-1] = vectors
    return features


def fit_one_vs_rest(
    features: Features,
    members: Bools,
    C: float = 1.0,  # noqa: N803
    *,
    balanced: bool = False,
    tol: float = _TOLERANCE,
) -> Floats:
    """Return the weights of each class, one class per column.

    If `balanced`, losses of a class's members and of all others have the same total weight. A class has converged when
    the expected decrease of its objective is below the fraction `tol` of it: with infinity, after the first step.

    Examples
    --------
    >>> features = add_constant(np.array([[-2.0], [-1.0], [1.0], [3.0]]))
    >>> weights = fit_one_vs_rest(features, features[:, :1] > 0)
    >>> (decision_function(features, weights) > 0).ravel().tolist()
    [False, False, True, True]
    """
    solver = _NewtonSolver(features, members, C, _balance(members) if balanced else None)
    active = np.arange(members.shape[1])
    for _ in range(_MAX_STEPS):
        active = active[solver.step(active, tol)]
        if not len(active):
            break
    return solver.weights


def _balance(members: Bools) -> Floats:
    """Return the weight of each row's loss for each class: members and others weigh the same, and 1 on average."""
    counts, n = members.sum(axis=0), len(members)
    of_members, of_others = (
        np.divide(n, 2.0 * total, out=np.ones(len(counts)), where=total > 0) for total in (counts, n - counts)
    )
    balance: Floats = np.where(members, of_members, of_others)
    return balance


class _NewtonSolver:
    """The current weights, with the scores, objectives and Hessians that belong to them, for each class."""

    def __init__(self, features: Features, members: Bools, C: float, balance: Floats | None) -> None:  # noqa: N803
        self.features, self.members, self.C, self.balance = features, members, C, balance
        n, classes = members.shape
        self.weights, self.scores = np.zeros((features.shape[1], classes)), np.zeros((n, classes))
        self.objectives = np.full(classes, C * n * np.log(2))
        self.decreases = np.zeros(classes)
        self.hessians: list[Any] = [None] * classes

    def step(self, active: Classes, tol: float) -> Bools:
        """Take one step for each active class, and return which of them have not converged yet."""
        residuals = expit(self.scores[:, active]) - self.members[:, active]
        if self.balance is not None:
            residuals *= self.balance[:, active]
        gradients = self.weights[:, active] + self.C * _weighted_sums(self.features, residuals)
        steps, decreases = self._newton_steps(active, gradients)
        score_steps = decision_function(self.features, steps)
        lengths, self.objectives[active] = self._line_search(active, steps, score_steps)
        self.weights[:, active] += lengths * steps
        self.scores[:, active] += lengths * score_steps
        unconverged: Bools = decreases > tol * self.objectives[active]
        return unconverged

    def _newton_steps(self, active: Classes, gradients: Floats) -> tuple[Floats, Floats]:
        """Return Newton's steps and twice the expected decrease of each; slow classes get a new Hessian first."""
        steps = np.empty_like(gradients)
        decreases = np.full(len(active), np.inf)
        for update in (False, True):
            slow = decreases > _SLOW * self.decreases[active]
            if update:
                self._update_hessians(active[slow])
            for i in np.flatnonzero(slow):
                hessian = self.hessians[active[i]]
                if hessian is not None:
                    steps[:, i] = -cho_solve(hessian, gradients[:, i], check_finite=False)
                    decreases[i] = -steps[:, i] @ gradients[:, i]
        self.decreases[active] = decreases
        return steps, decreases

    def _update_hessians(self, classes: Classes) -> None:
        """Compute Hessians at the current scores; at the start, where all scores are zero, all classes share one."""
        shared: Any = None
        for k in classes:
            at_start = self.balance is None and not self.scores[:, k].any()
            if at_start and shared is not None:
                self.hessians[k] = shared
                continue
            probabilities = expit(self.scores[:, k])
            curvatures = self.C * probabilities * (1 - probabilities)
            if self.balance is not None:
                curvatures *= self.balance[:, k]
            self.hessians[k] = _factored_hessian(self.features, np.sqrt(curvatures))
            shared = self.hessians[k] if at_start else shared

    def _line_search(self, active: Classes, steps: Floats, score_steps: Floats) -> tuple[Floats, Floats]:
        """Halve each class's step until its objective does not grow; return the step lengths and the objectives."""
        signs = np.where(self.members[:, active], -1.0, 1.0)
        lengths = np.ones(len(active))
        for _ in range(_MAX_HALVINGS):
            losses = np.logaddexp(0, signs * (self.scores[:, active] + lengths * score_steps))
            if self.balance is not None:
                losses *= self.balance[:, active]
            penalties = ((self.weights[:, active] + lengths * steps) ** 2).sum(axis=0)
            objectives: Floats = 0.5 * penalties + self.C * losses.sum(axis=0)
            worse = objectives > self.objectives[active] * (1 + _ROUNDING)
            if not worse.any():
                break
            lengths[worse] /= 2
        return lengths, objectives


def decision_function(features: Features, weights: Floats) -> Floats:
    """Return the score of each row for each class.

    Examples
    --------
    >>> decision_function(np.array([[2, 1]], np.float32), np.array([[0.5], [1.0]]))
    array([[2.]])
    """
    scores = np.empty((len(features), weights.shape[1]))
    for rows in _chunks(len(features)):
        scores[rows] = features[rows].astype(np.float64) @ weights
    return scores


def _weighted_sums(features: Features, factors: Floats) -> Floats:
    """Return the sum of all rows times their factors, one class per column."""
    sums = np.zeros((features.shape[1], factors.shape[1]))
    for rows in _chunks(len(features)):
        sums += features[rows].astype(np.float64).T @ factors[rows]
    return sums


def _chunks(n: int) -> Iterator[slice]:
    return (slice(begin, begin + _CHUNK) for begin in range(0, n, _CHUNK))


def _factored_hessian(features: Features, roots: Floats) -> Any:
    """Return the Cholesky factor of I + X' diag(roots^2) X, in 32 bits if they suffice and in 64 bits otherwise."""
    for dtype in (np.float32, np.float64):
        hessian: npt.NDArray[Any] = np.eye(features.shape[1], dtype=dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            for rows in _chunks(len(features)):
                scaled = np.multiply(features[rows], roots[rows, None], dtype=dtype, casting="same_kind")
                hessian += scaled.T @ scaled
        try:
            return cho_factor(hessian, lower=True, overwrite_a=True)
        except (LinAlgError, ValueError):
            # Too ill-conditioned, or too large, for 32 bits.
            continue
    raise EvaluationError("the vectors are too large for a classifier; scale them down")
