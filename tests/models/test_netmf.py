"""NetMF, compared with the dense matrix of its definition and its full decomposition."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import efge
from efge.models import netmf
from efge.models.netmf import NetMF
from helpers import labelled_network, random_graph


def netmf_matrix(graph, window, negatives):
    """Compute the matrix by its definition; rows of nodes without edges are zero."""
    matrix = graph.to_scipy().toarray()
    if graph.directed:
        matrix = matrix + matrix.T
    degrees = matrix.sum(1)
    inverse = np.divide(1, degrees, out=np.zeros_like(degrees), where=degrees > 0)
    transition = inverse[:, None] * matrix
    powers = sum(np.linalg.matrix_power(transition, r) for r in range(1, window + 1))
    return np.log(np.maximum(1, degrees.sum() / (negatives * window) * powers * inverse))


@pytest.mark.parametrize("size", [40, 1200])
@pytest.mark.parametrize(("directed", "weighted"), [(False, False), (False, True), (True, True)])
def test_the_matrix_of_the_definition_is_factored(size, directed, weighted):
    graph = random_graph(4, directed, weighted, n=size, m=2 * size)
    model = NetMF(dim=16, window=4, negatives=1.5, form="small", seed=0).fit(graph)
    values, vectors = np.linalg.eigh(netmf_matrix(graph, 4, 1.5))
    order = np.argsort(-np.abs(values))[:16]
    np.testing.assert_allclose(model.singular_values_, np.abs(values[order]), rtol=1e-3)
    if size == 40:
        best = vectors[:, order] * np.abs(values[order]) @ vectors[:, order].T
        np.testing.assert_allclose(model.embedding_.vectors @ model.embedding_.vectors.T, best, atol=1e-4)


def test_the_large_form_with_all_eigenvalues_is_exact():
    graph = random_graph(5, False, True, n=50, m=120)
    exact, large = (NetMF(dim=50, window=5, form=form, rank=50, seed=0).fit(graph) for form in ("small", "large"))
    np.testing.assert_allclose(large.singular_values_, exact.singular_values_, atol=1e-4)
    products = [model.embedding_.vectors @ model.embedding_.vectors.T for model in (exact, large)]
    np.testing.assert_allclose(products[0], products[1], atol=1e-3)


def test_the_large_form_uses_the_largest_eigenvalues():
    """There are `rank` = 20 eigenvalues besides the largest one of each of 3 components; two components are pairs."""
    pairs = [(f"a{i}", f"b{i}") for i in range(2)]
    graph = efge.as_graph([*nx.connected_watts_strogatz_graph(700, 6, 0.2, seed=6).edges, *pairs])
    model = NetMF(dim=8, window=10, form="large", rank=20, seed=0).fit(graph)
    matrix = graph.to_scipy().toarray()
    root = 1 / np.sqrt(matrix.sum(1))
    values, vectors = np.linalg.eigh(root[:, None] * matrix * root)
    powers = sum(values[-23:] ** r for r in range(1, 11)) / 10
    low_rank = matrix.sum() * (root[:, None] * vectors[:, -23:] * powers) @ (root[:, None] * vectors[:, -23:]).T
    expected = np.linalg.svd(np.log(np.maximum(1, low_rank)), compute_uv=False)
    np.testing.assert_allclose(model.singular_values_, expected[:8], rtol=1e-3)


def test_the_exact_form_is_used_where_it_is_quick(monkeypatch):
    graph = random_graph(7, False, False)
    assert NetMF(dim=4, seed=0).fit(graph).form_ == "small"
    monkeypatch.setattr(netmf, "_MAX_EXACT_WORK", 1.0)
    assert NetMF(dim=4, seed=0).fit(graph).form_ == "large"


def test_small_blocks_change_nothing(monkeypatch):
    graph = random_graph(8, False, True)
    for form in ("small", "large"):
        expected = NetMF(dim=4, form=form, seed=0).fit_transform(graph)
        with monkeypatch.context() as patch:
            patch.setattr(netmf, "_BLOCK_SIZE", 100)
            np.testing.assert_allclose(NetMF(dim=4, form=form, seed=0).fit_transform(graph), expected, atol=1e-5)


def test_a_matrix_that_does_not_fit_is_refused_before_it_is_allocated(monkeypatch):
    """A ring of a million nodes would need 4 TB."""
    n = 1_000_000
    ring = np.column_stack([np.arange(n), (np.arange(n) + 1) % n])
    with pytest.raises(
        efge.GraphError, match=r"1,000,000 nodes with edges need 40\d\d\.\d GB, and .* GB are available"
    ):
        NetMF().fit(efge.as_graph(ring))
    monkeypatch.setattr(netmf, "available_memory", lambda: 10**6)
    with pytest.raises(efge.GraphError, match=r"and 0\.0 GB are available; EFGE and HOPE need memory for edges"):
        NetMF().fit([("a", "b")])
    monkeypatch.setattr(netmf, "available_memory", lambda: None)
    assert NetMF(dim=2).fit([("a", "b")]).embedding_.dim == 2


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (NetMF(dim=2.5), "dim must be a positive integer"),
        (NetMF(window=0), "window must be a positive integer"),
        (NetMF(rank=0), "rank must be a positive integer"),
        (NetMF(negatives=0), "negatives must be a positive number; got 0"),
        (NetMF(negatives=math.nan), "negatives must be a positive number; got nan"),
        (NetMF(form="medium"), "no form 'medium'; known: auto, small, large"),
    ],
    ids=repr,
)
def test_invalid_parameters_are_refused_when_fitting(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit([("a", "b"), ("b", "c")])


@pytest.mark.parametrize(("network", "least"), [("cora", 0.82), ("citeseer", 0.58)])
@pytest.mark.slow
def test_scores_on_citations_are_the_published_ones(networks, network, least):
    if not (networks / network).is_dir():
        pytest.skip(f"there is no {networks / network}")
    graph, labels = labelled_network(networks / network)
    vectors = NetMF(seed=0).fit_transform(graph)
    order = np.random.default_rng(0).permutation(len(labels))
    half = len(order) // 2
    classifier = LogisticRegression(max_iter=1000).fit(vectors[order[:half]], labels[order[:half]])
    assert classifier.score(vectors[order[half:]], labels[order[half:]]) > least
