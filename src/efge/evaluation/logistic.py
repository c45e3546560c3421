"""One-vs-rest logistic regression with an L2 penalty, all classes at once: Newton's method with Hessians that are kept.

The objective of a class is liblinear's: ``|w|^2 / 2 + C * sum of log(1 + exp(-y s))`` with scores ``s = x . w``, where
x ends with a constant 1, whose weight is penalised like the others. Features are in 32 bits. Gradients are sums in 64
bits; a Hessian only gives the direction of a step, so that one in 32 bits serves for several steps.
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

# A class is done when a step promises to lower its objective by less than this share, whatever the scale of features.
_TOLERANCE = 1e-8
# Steps with one Hessian go on while each promises at most this share of the one before.
_SLOW = 0.1
# Sums of losses are exact to this share.
_ROUNDING = 1e-12
_MOST_STEPS = 200
_MOST_HALVINGS = 30
# Rows that are turned into 64 bits at a time, while they are in the cache.
_BLOCK = 1024


def with_constant(vectors: npt.NDArray[Any]) -> Features:
    """The vectors as features: a 1 at the end of each.

    Examples
    --------
    >>> with_constant(np.array([[2.0], [3.0]]))
    array([[2., 1.],
           [3., 1.]], dtype=float32)
    """
    features = np.ones((len(vectors), vectors.shape[1] + 1), np.float32)
    features[:, :-1] = vectors
    return features


def fit_one_vs_rest(features: Features, members: Bools, strength: float = 1.0) -> Floats:
    """Weights of each class, a column a class.

    Examples
    --------
    >>> features = with_constant(np.array([[-2.0], [-1.0], [1.0], [3.0]]))
    >>> weights = fit_one_vs_rest(features, features[:, :1] > 0)
    >>> (scores_of(features, weights) > 0).ravel().tolist()
    [False, False, True, True]
    """
    fit = _Fit(features, members, strength)
    going = np.arange(members.shape[1])
    for _ in range(_MOST_STEPS):
        going = going[fit.step(going)]
        if not len(going):
            break
    return fit.weights


class _Fit:
    """Weights on their way: with them go all scores, each class's objective and the Hessian it goes by."""

    def __init__(self, features: Features, members: Bools, strength: float) -> None:
        self.features, self.members, self.strength = features, members, strength
        n, classes = members.shape
        self.weights, self.scores = np.zeros((features.shape[1], classes)), np.zeros((n, classes))
        self.objectives = np.full(classes, strength * n * np.log(2))
        self.promised = np.zeros(classes)
        self.hessians: list[Any] = [None] * classes

    def step(self, going: Classes) -> Bools:
        """Take a step for each class; those that have further to go."""
        residuals = expit(self.scores[:, going]) - self.members[:, going]
        gradients = self.weights[:, going] + self.strength * _weighted_sums(self.features, residuals)
        steps, promised = self._steps(going, gradients)
        moves = scores_of(self.features, steps)
        shares, self.objectives[going] = self._shares(going, steps, moves)
        self.weights[:, going] += shares * steps
        self.scores[:, going] += shares * moves
        further: Bools = promised > _TOLERANCE * self.objectives[going]
        return further

    def _steps(self, going: Classes, gradients: Floats) -> tuple[Floats, Floats]:
        """Newton's steps, and by how much each is to lower the objective, twice; slow ones get a new Hessian."""
        steps = np.empty_like(gradients)
        promised = np.full(len(going), np.inf)
        for renewed in (False, True):
            slow = promised > _SLOW * self.promised[going]
            if renewed:
                self._renew(going[slow])
            for i in np.flatnonzero(slow):
                hessian = self.hessians[going[i]]
                if hessian is not None:
                    steps[:, i] = -cho_solve(hessian, gradients[:, i], check_finite=False)
                    promised[i] = -steps[:, i] @ gradients[:, i]
        self.promised[going] = promised
        return steps, promised

    def _renew(self, classes: Classes) -> None:
        """Hessians at the present scores; where all scores are zero, as at the start, all classes share one."""
        shared: Any = None
        for k in classes:
            at_start = not self.scores[:, k].any()
            if at_start and shared is not None:
                self.hessians[k] = shared
                continue
            probable = expit(self.scores[:, k])
            self.hessians[k] = _factored_hessian(self.features, np.sqrt(self.strength * probable * (1 - probable)))
            shared = self.hessians[k] if at_start else shared

    def _shares(self, going: Classes, steps: Floats, moves: Floats) -> tuple[Floats, Floats]:
        """What share of each class's step to take: all, or halved until the objective falls; and the objectives."""
        signs = np.where(self.members[:, going], -1.0, 1.0)
        shares = np.ones(len(going))
        for _ in range(_MOST_HALVINGS):
            losses = np.logaddexp(0, signs * (self.scores[:, going] + shares * moves)).sum(axis=0)
            penalties = ((self.weights[:, going] + shares * steps) ** 2).sum(axis=0)
            objectives: Floats = 0.5 * penalties + self.strength * losses
            worse = objectives > self.objectives[going] * (1 + _ROUNDING)
            if not worse.any():
                break
            shares[worse] /= 2
        return shares, objectives


def scores_of(features: Features, weights: Floats) -> Floats:
    """The score of each row for each class.

    Examples
    --------
    >>> scores_of(np.array([[2, 1]], np.float32), np.array([[0.5], [1.0]]))
    array([[2.]])
    """
    scores = np.empty((len(features), weights.shape[1]))
    for some in _blocks(len(features)):
        scores[some] = features[some].astype(np.float64) @ weights
    return scores


def _weighted_sums(features: Features, factors: Floats) -> Floats:
    """Sums of all rows times their factors, a column a class."""
    sums = np.zeros((features.shape[1], factors.shape[1]))
    for some in _blocks(len(features)):
        sums += features[some].astype(np.float64).T @ factors[some]
    return sums


def _blocks(n: int) -> Iterator[slice]:
    return (slice(begin, begin + _BLOCK) for begin in range(0, n, _BLOCK))


def _factored_hessian(features: Features, roots: Floats) -> Any:
    for kind in (np.float32, np.float64):
        hessian: npt.NDArray[Any] = np.eye(features.shape[1], dtype=kind)
        with np.errstate(over="ignore", invalid="ignore"):
            for some in _blocks(len(features)):
                scaled = np.multiply(features[some], roots[some, None], dtype=kind, casting="same_kind")
                hessian += scaled.T @ scaled
        try:
            return cho_factor(hessian, lower=True, overwrite_a=True)
        except (LinAlgError, ValueError):
            # Too ill-conditioned, or too large, for 32 bits.
            continue
    raise EvaluationError("vectors are too large to be told apart by a classifier; scale them down")
