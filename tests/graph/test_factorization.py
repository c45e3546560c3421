"""Factors of edges, compared with dense matrices of their definitions."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import efge
from efge.graph.factorization import factor_edges
from helpers import random_graph

KINDS = [(False, False), (False, True), (True, False), (True, True)]


def dense(graph):
    return graph.to_scipy().toarray().astype(np.float64)


def log_ratios(graph):
    """Compute the matrix to factor; rows and columns of nodes without edges are zero."""
    weights = dense(graph)
    weights = weights + weights.T if graph.directed else weights
    steps = weights / np.where(weights.any(axis=1), weights.sum(axis=1), 1)[:, None]
    noise = steps.sum(axis=0) ** 0.75
    noise /= noise.sum()
    return np.log(np.divide(steps, noise, out=np.ones_like(steps), where=steps > 0))


def lengths_of_factors(matrix):
    """Return the lengths of the rows of U sqrt(S), which are diagonal entries of the root of the Gram matrix."""
    squares, vectors = np.linalg.eigh(matrix @ matrix.T)
    return np.sqrt((vectors**2 * np.sqrt(np.maximum(squares, 0))).sum(axis=1))


@pytest.mark.parametrize("factor", [2.0**-900, 1e-3, 3.0, 1e200])
def test_factors_do_not_depend_on_the_scale_of_weights(factor):
    edges = [("a", "b", 1.0), ("b", "c", 2.5), ("c", "a", 0.3), ("c", "d", 4.0), ("d", "e", 0.7)]
    graph = efge.as_graph(edges)
    scaled = efge.as_graph([(u, v, factor * w) for u, v, w in edges])
    for one, other in zip(factor_edges(graph, 4, 0), factor_edges(scaled, 4, 0), strict=True):
        np.testing.assert_allclose(other, one, atol=1e-5)


def test_weights_of_all_magnitudes_have_finite_factors():
    graph = efge.as_graph([("a", "b", 1e300), ("b", "c", 1e-300), ("c", "d", 1.0)])
    assert all(np.isfinite(part).all() for part in factor_edges(graph, 4, 0))


@pytest.mark.parametrize(("directed", "weighted"), KINDS)
def test_with_all_dimensions_the_factors_are_those_of_the_matrix(directed, weighted):
    graph = random_graph(5, directed, weighted)
    expected = log_ratios(graph)
    sources, targets, values = factor_edges(graph, graph.n_nodes, seed=0)
    products = lengths_of_factors(expected)[:, None] * (sources @ targets.T) * lengths_of_factors(expected.T)
    np.testing.assert_allclose(products, expected, atol=1e-3 * np.abs(expected).max())
    np.testing.assert_allclose(values, np.linalg.svd(expected, compute_uv=False), atol=1e-4)


@pytest.mark.parametrize("dim", [3, 60])
def test_rows_have_length_1_except_those_of_nodes_without_edges(dim):
    graph = random_graph(6, False, True)
    linked = dense(graph).any(axis=1)
    for table in factor_edges(graph, dim, seed=0)[:2]:
        assert table.shape == (graph.n_nodes, dim)
        assert table.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(table, axis=1), linked, atol=1e-5)


def test_the_direction_of_edges_does_not_matter_to_factors():
    edges = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "b")]
    both = (
        efge.as_graph(edges, directed=True),
        efge.as_graph([(v, u) for u, v in edges], directed=True, nodes=[*"abcd"]),
    )
    one, other = (factor_edges(graph, 4, 0) for graph in both)
    np.testing.assert_allclose(one[0] @ one[1].T, other[0] @ other[1].T, atol=1e-5)


def test_dimensions_beyond_the_rank_are_zero():
    """The matrix of a star has rank 2."""
    sources, targets, values = factor_edges(efge.as_graph(nx.star_graph(6)), 5, seed=0)
    assert (values[:2] > 0.1).all()
    assert sources[:, :2].any(axis=0).all()
    assert not values[2:].any()
    assert not sources[:, 2:].any()
    assert not targets[:, 2:].any()


@pytest.mark.parametrize("nodes", [[], ["a", "b"]])
def test_a_graph_without_edges_has_zero_factors(nodes):
    sources, targets, values = factor_edges(efge.as_graph(np.empty((0, 2), int), nodes=nodes), 3, seed=0)
    assert sources.shape == targets.shape == (len(nodes), 3)
    for part in (sources, targets, values):
        assert not part.any()


@pytest.mark.parametrize("size", [60, 1200])
def test_a_seed_gives_the_same_bytes(size):
    graph = random_graph(7, False, False, n=size, m=4 * size)
    one, same, other = (factor_edges(graph, 16, seed) for seed in (1, 1, 2))
    assert [part.tobytes() for part in one] == [part.tobytes() for part in same]
    np.testing.assert_allclose(one[2], other[2], rtol=0.02)


def test_large_graphs_are_factored_nearly_as_well_as_small_ones():
    """The randomized decomposition of more nodes than are decomposed exactly finds nearly all singular values."""
    graph = random_graph(8, False, True, n=600, m=3000)
    values = factor_edges(graph, 16, seed=0)[2]
    exact = np.linalg.svd(log_ratios(graph), compute_uv=False)[:16]
    assert (values <= exact * (1 + 1e-5)).all()
    assert (values >= exact * 0.95).all()
