"""ProNE, compared with dense matrices of its definition, and with published scores."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest

import efge
from efge.embedding.propagation import propagate_vectors
from efge.linalg import column_signs
from efge.models.prone import ProNE
from helpers import random_graph


def prone_matrix(graph):
    """Compute the matrix by its definition; rows of nodes without edges are zero."""
    matrix = graph.to_scipy().toarray()
    if graph.directed:
        matrix = matrix + matrix.T
    steps = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1e-300)
    noise = steps.sum(axis=0) ** 0.75
    noise /= noise.sum()
    ratios = np.divide(steps, noise, out=np.ones_like(steps), where=steps > 0)
    return np.log(ratios)


def prone_vectors(graph, dim):
    left, values, _ = np.linalg.svd(prone_matrix(graph))
    vectors = left[:, :dim] * np.sqrt(values[:dim])
    vectors[~graph.to_scipy().toarray().any(axis=1) & ~graph.to_scipy().toarray().any(axis=0)] = 0
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return (vectors * column_signs(vectors)).astype(np.float32)


@pytest.mark.parametrize(("directed", "weighted"), [(False, False), (False, True), (True, True)])
def test_the_matrix_of_the_definition_is_factored_and_filtered(directed, weighted):
    graph = random_graph(4, directed, weighted, n=60, m=150)
    model = ProNE(dim=16, order=7, theta=0.8, mu=0.3, seed=0).fit(graph)
    singular_values = np.linalg.svd(prone_matrix(graph), compute_uv=False)
    np.testing.assert_allclose(model.singular_values_, singular_values[:16], rtol=1e-4)
    expected = propagate_vectors(prone_vectors(graph, 16), graph, "prone", order=7, theta=0.8, mu=0.3)
    np.testing.assert_allclose(model.embedding_.vectors, expected, atol=1e-3)


def test_iteration_finds_the_singular_values_of_a_larger_matrix():
    graph = efge.as_graph(nx.connected_watts_strogatz_graph(800, 8, 0.2, seed=1))
    model = ProNE(dim=16, seed=0).fit(graph)
    exact = np.linalg.svd(prone_matrix(graph), compute_uv=False)[:16]
    # The randomized decomposition finds no more than there is, and nearly all of it.
    assert (model.singular_values_ <= exact * (1 + 1e-5)).all()
    assert (model.singular_values_ >= exact * 0.97).all()


def test_the_filter_changes_the_vectors_and_its_parameters_matter():
    graph = random_graph(5, False, False)
    vectors = ProNE(dim=8, seed=0).fit_transform(graph)
    for parameters in ({"order": 2}, {"theta": 2.0}, {"mu": 1.0}):
        assert not np.allclose(ProNE(dim=8, seed=0, **parameters).fit_transform(graph), vectors, atol=1e-2)


@pytest.mark.parametrize("size", [60, 1200])
def test_any_number_of_threads_gives_the_same_bytes(size):
    graph = random_graph(6, False, True, n=size, m=4 * size)
    one, two, three = (ProNE(dim=20, threads=threads, seed=0).fit(graph).embedding_ for threads in (1, 2, 3))
    assert one == two == three


def test_vectors_have_length_1():
    vectors = ProNE(dim=8, seed=0).fit_transform(nx.karate_club_graph())
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (ProNE(dim=2.5), "dim must be a positive integer"),
        (ProNE(order=0), "order must be a positive integer; got 0"),
        (ProNE(theta=math.nan), "theta must be positive and at most 20; got nan"),
        (ProNE(mu=3), "mu must be between 0 and 2; got 3"),
        (ProNE(threads=0), "threads must be a positive integer; got 0"),
    ],
    ids=repr,
)
def test_invalid_parameters_are_refused_when_fitting(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit([("a", "b"), ("b", "c")])


def test_scores_on_proteins_are_the_published_ones(networks):
    """The paper has a Micro-F1 of 0.263 at 90 % of the labels."""
    folder = networks / "ppi"
    if not folder.is_dir():
        pytest.skip(f"there is no {folder}")
    model = ProNE(seed=0).fit(efge.read_graph(folder / "edges.tsv", nodes=folder / "nodes.txt"))
    scores = efge.node_classification(model, folder / "labels.tsv", ratios=[0.9], repeats=5)
    assert scores.summary(0.9, metric="micro_f1 (counts known)").mean > 0.25
