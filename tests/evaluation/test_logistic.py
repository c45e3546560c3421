"""Logistic regression: the solver finds the optimum, whatever the scale of the features."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from efge.evaluation.logistic import _NewtonSolver, _weighted_sums, add_constant, decision_function, fit_one_vs_rest
from helpers import blobs


@pytest.mark.parametrize("scale", [1e-3, 1, 30, 1e4])
@pytest.mark.parametrize(("n", "dim"), [(300, 8), (20, 50)])
def test_weights_are_those_of_the_optimum(scale, n, dim):
    vectors, labels = blobs(n, dim)
    features, members = add_constant(vectors * np.float32(scale)), labels[:, None] == np.arange(4)
    weights = fit_one_vs_rest(features, members)
    wide = features.astype(float)
    for k in range(4):
        best = LogisticRegression(solver="newton-cholesky", fit_intercept=False, tol=1e-12, max_iter=1000)
        best.fit(wide, members[:, k])
        assert np.abs(wide @ (weights[:, k] - best.coef_[0])).max() < 1e-2


def test_the_gradient_vanishes_at_the_optimum():
    vectors, labels = blobs(500, 20)
    features, members = add_constant(vectors).astype(float), labels[:, None] == np.arange(4)
    weights = fit_one_vs_rest(features.astype(np.float32), members, C=3.0)
    probabilities = 1 / (1 + np.exp(-(features @ weights)))
    gradient = weights + 3.0 * features.T @ (probabilities - members)
    assert np.abs(gradient).max() < 3.0 * 500 * 1e-5


def test_classes_of_all_or_no_nodes_are_fitted():
    vectors, _ = blobs(30)
    features = add_constant(vectors)
    weights = fit_one_vs_rest(features, np.column_stack([np.ones(30, bool), np.zeros(30, bool)]))
    scores = decision_function(features, weights)
    assert (scores[:, 0] > 0).all()
    assert (scores[:, 1] < 0).all()


def test_the_line_search_returns_the_objectives_where_it_ends():
    """Of two steps, one is far too long and is halved; the other one is taken as it is."""
    vectors, labels = blobs(100, 5)
    features, members = add_constant(vectors), labels[:, None] == np.arange(2)
    solver = _NewtonSolver(features, members, 1.0, None)
    gradients = _weighted_sums(features, 0.5 - members)
    start = -1e-4 * gradients
    solver.weights, solver.scores = start, features.astype(float) @ start
    steps = gradients * np.array([-50.0, -0.001])
    lengths, objectives = solver._line_search(np.arange(2), steps, features.astype(float) @ steps)
    assert lengths[0] < 1 == lengths[1]
    for k in range(2):
        weights = start[:, k] + lengths[k] * steps[:, k]
        scores = features.astype(float) @ weights
        losses = np.logaddexp(0, np.where(members[:, k], -scores, scores)).sum()
        assert objectives[k] == pytest.approx(losses + 0.5 * weights @ weights)
        assert objectives[k] <= 100 * np.log(2)
