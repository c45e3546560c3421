"""Leading eigenpairs by a filter are those of a dense decomposition, also where the filter fails."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import efge
from efge import linalg

GRAPHS = {
    "hubs": nx.barabasi_albert_graph(700, 3, seed=1),
    "bipartite": nx.bipartite.random_graph(300, 350, 0.03, seed=1),
    "tree": nx.random_labeled_tree(700, seed=1),
    "star": nx.star_graph(700),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_the_largest_eigenpairs_are_those_of_a_dense_decomposition(name):
    matrix = efge.as_graph(GRAPHS[name]).to_scipy()
    exact = np.linalg.eigvalsh(matrix.toarray())
    values, vectors = linalg.largest_eigenpairs(matrix, 40, exact[0], np.random.default_rng(0))
    np.testing.assert_allclose(values, exact[-40:], atol=1e-9)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-6)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(40), atol=1e-9)


@pytest.mark.parametrize("bound", [-1.0, 5.0])
def test_a_bound_that_is_far_off_does_not_change_the_result(monkeypatch, bound):
    """A bound above some of the eigenvalues that are wanted is noticed: the filter does not exceed 1 there."""
    matrix = efge.as_graph(GRAPHS["hubs"]).to_scipy()
    exact = np.linalg.eigvalsh(matrix.toarray())
    assert exact[-40] < 5.0 < exact[-1]
    monkeypatch.setattr(linalg, "_estimate_eigenvalue", lambda *arguments: bound)
    values, _ = linalg.largest_eigenpairs(matrix, 40, exact[0], np.random.default_rng(0))
    np.testing.assert_allclose(values, exact[-40:], atol=1e-9)


def test_the_estimate_of_an_eigenvalue_has_about_the_wanted_number_above_it():
    matrix = efge.as_graph(nx.gnm_random_graph(1500, 8000, seed=1)).to_scipy()
    bound = linalg._estimate_eigenvalue(matrix, 100, np.random.default_rng(0))
    assert 85 <= (np.linalg.eigvalsh(matrix.toarray()) > bound).sum() <= 115
