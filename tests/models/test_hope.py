"""HOPE, compared with the dense Katz index and its full decomposition."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import Normalizer

import efge
from efge.models.hope import HOPE
from helpers import labelled_network, random_graph


def katz_matrix(graph, beta):
    matrix = graph.to_scipy().toarray()
    return np.linalg.inv(np.eye(len(matrix)) - beta * matrix) - np.eye(len(matrix))


@pytest.mark.parametrize("size", [40, 700])
@pytest.mark.parametrize("weighted", [False, True])
def test_katz_index_of_an_undirected_graph_is_factored(size, weighted):
    graph = random_graph(1, False, weighted, n=size, m=3 * size)
    model = HOPE(dim=16, seed=0).fit(graph)
    index = katz_matrix(graph, model.beta_)
    left, values, _ = np.linalg.svd(index)
    np.testing.assert_allclose(model.singular_values_, values[:16], rtol=1e-6)
    vectors = model.embedding_.vectors
    # Signs of vectors are arbitrary, but products of a matrix with its own transpose are not.
    best = left[:, :16] * values[:16] @ left[:, :16].T
    np.testing.assert_allclose(vectors @ vectors.T, best, atol=1e-5)
    assert model.beta_ == pytest.approx(0.5 / np.linalg.eigvalsh(graph.to_scipy().toarray()).max())


@pytest.mark.parametrize("size", [40, 700])
@pytest.mark.parametrize("weighted", [False, True])
def test_katz_index_of_a_directed_graph_is_factored(size, weighted):
    graph = random_graph(2, True, weighted, n=size, m=3 * size)
    model = HOPE(dim=32, seed=0).fit(graph)
    left, values, right = np.linalg.svd(katz_matrix(graph, model.beta_))
    np.testing.assert_allclose(model.singular_values_, values[:16], rtol=1e-6)
    sources, targets = np.split(model.embedding_.vectors, 2, axis=1)
    np.testing.assert_allclose(sources @ targets.T, left[:, :16] * values[:16] @ right[:16], atol=1e-5)
    np.testing.assert_allclose((sources**2).sum(0), values[:16], rtol=1e-4)
    np.testing.assert_allclose((targets**2).sum(0), values[:16], rtol=1e-4)


def test_all_dimensions_reproduce_the_katz_index_itself():
    graph = random_graph(3, True, True, n=30, m=80)
    beta = 0.9 / np.abs(np.linalg.eigvals(graph.to_scipy().toarray())).max()
    model = HOPE(dim=60, beta=beta, seed=0).fit(graph)
    sources, targets = np.split(model.embedding_.vectors.astype(float), 2, axis=1)
    expected = katz_matrix(graph, beta)
    np.testing.assert_allclose(sources @ targets.T, expected, atol=1e-6 * expected.max())
    assert model.beta_ == beta


def test_negative_eigenvalues_count_by_their_size():
    """A star's adjacency matrix has one positive and one negative eigenvalue, equally large."""
    model = HOPE(dim=3, seed=0).fit(nx.star_graph(4))
    np.testing.assert_allclose(model.singular_values_, [1, 1 / 3, 0], atol=1e-12)


def test_negative_eigenvalues_of_a_large_graph_count_by_their_size():
    """Each joined pair of nodes has one eigenvalue of either sign; those of 20 strong pairs outweigh all weak ones."""
    weights = np.concatenate([10 + np.arange(20) / 10, 0.1 + 3 * np.arange(330) / 330])
    graph = efge.as_graph([(f"a{i}", f"b{i}", weight) for i, weight in enumerate(weights)])
    x = 0.5 * weights / weights.max()
    expected = np.sort(np.concatenate([x / (1 - x), x / (1 + x)]))[::-1]
    np.testing.assert_allclose(HOPE(dim=40, seed=0).fit(graph).singular_values_, expected[:40], rtol=1e-6)


def test_directed_graphs_need_an_even_dimension():
    with pytest.raises(ValueError, match=r"dim must be even for a directed graph, half for sources .* got 5"):
        HOPE(dim=5).fit(efge.as_graph([("a", "b")], directed=True))
    assert HOPE(dim=5, seed=0).fit([("a", "b")]).embedding_.dim == 5


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (HOPE(dim=0), "dim must be a positive integer; got 0"),
        (HOPE(beta=0.8), r"beta must be positive and below 1 / spectral radius, which is 0\.707107 here; got 0\.8"),
        (HOPE(beta=0.0), "beta must be positive"),
    ],
    ids=repr,
)
def test_invalid_parameters_are_refused_when_fitting(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit([("a", "b"), ("b", "c")])


@pytest.mark.slow
def test_scores_on_citations_are_at_least_the_published_ones(networks):
    """They are higher than published, because the vectors are scaled here, so that the classifier can use them."""
    graph, labels = labelled_network(networks / "cora")
    vectors = 5 * Normalizer().fit_transform(HOPE(seed=0).fit_transform(graph))
    order = np.random.default_rng(0).permutation(len(labels))
    half = len(order) // 2
    classifier = LogisticRegression(max_iter=1000).fit(vectors[order[:half]], labels[order[:half]])
    assert classifier.score(vectors[order[half:]], labels[order[half:]]) > 0.75
