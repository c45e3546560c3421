"""Alignment of embeddings, and drift of nodes over snapshots."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes
from scipy.stats import ortho_group

import efge

RANDOM = np.random.default_rng(0)
VECTORS = RANDOM.normal(size=(30, 5)).astype(np.float32)
ROTATION = ortho_group.rvs(5, random_state=1)
OLD = efge.Embedding(VECTORS, range(30))


def test_a_rotation_is_undone_whatever_the_order_of_nodes():
    order = RANDOM.permutation(30)
    turned = efge.Embedding((VECTORS @ ROTATION)[order], order)
    alignment = efge.align(OLD, turned)
    np.testing.assert_allclose(alignment.rotation, ROTATION.T, atol=1e-5)
    np.testing.assert_allclose(alignment.embedding[list(range(30))], VECTORS, atol=1e-5)
    assert alignment.unexplained < 1e-10
    assert alignment.n_common == 30


def test_the_rotation_is_that_of_scipy_and_only_common_nodes_count():
    noisy = efge.Embedding(VECTORS @ ROTATION + RANDOM.normal(scale=0.5, size=VECTORS.shape), range(10, 40))
    alignment = efge.align(OLD, noisy)
    expected, _ = orthogonal_procrustes(noisy.vectors[:20].astype(float), VECTORS[10:].astype(float))
    np.testing.assert_allclose(alignment.rotation, expected, atol=1e-6)
    np.testing.assert_allclose(alignment.embedding.vectors, noisy.vectors @ expected, atol=1e-5)
    assert alignment.embedding.names.tolist() == list(range(10, 40))
    assert alignment.n_common == 20


def test_what_a_rotation_does_not_explain_grows_from_0_to_1():
    noise = RANDOM.normal(size=(2000, 5))
    old = efge.Embedding(RANDOM.normal(size=(2000, 5)))
    parts = [efge.align(old, efge.Embedding(old.vectors + scale * noise)).unexplained for scale in (0, 0.1, 1, 1000)]
    assert parts == sorted(parts)
    assert parts[0] < 1e-10
    assert parts[3] > 0.9


def test_the_node_that_moved_is_found_after_a_rotation():
    moved = VECTORS.copy()
    moved[7] = -moved[7]
    drift = efge.drift([OLD, efge.Embedding(VECTORS @ ROTATION), efge.Embedding(moved)])
    assert drift.most(1)[0][0] == 7
    assert drift.distances.shape == (30, 2)
    np.testing.assert_allclose(drift.distances[:, 0], 0, atol=1e-5)
    assert drift.unexplained[0] < 1e-6 < drift.unexplained[1]
    assert drift.to_pandas().columns.tolist() == [1, 2]


def test_nodes_that_come_and_go_have_distances_where_they_can():
    snapshots = [efge.Embedding(VECTORS[rows], rows) for rows in (range(10), range(5, 20), range(10))]
    drift = efge.drift(snapshots, aligned=True)
    assert drift.names.tolist() == list(range(5, 10))
    assert np.array_equal(drift.distances, np.zeros((5, 2)))
    assert drift.mean == 0
    assert "Drift(5 nodes, 2 steps" in repr(drift)


def test_zero_vectors_do_not_move():
    zero = efge.Embedding([[0, 0], [1, 0]])
    assert efge.drift([zero, zero], aligned=True).distances.tolist() == [[0], [0]]
    assert efge.drift([zero, efge.Embedding([[1, 0], [1, 0]])], aligned=True).distances.tolist() == [[1], [0]]


def test_estimators_are_taken_too():
    models = [efge.HOPE(dim=4, seed=seed).fit(nx.karate_club_graph()) for seed in (0, 1)]
    assert efge.align(*models).unexplained < 1e-6
    assert "34 common nodes" in repr(efge.align(*models))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: efge.align(OLD, efge.Embedding([[1]], [0])),
            "two embeddings of one space have the same dimension",
        ),
        (lambda: efge.drift([OLD, efge.Embedding([[1]], [0])], aligned=True), "two embeddings of one space have the"),
        (
            lambda: efge.align(OLD, efge.Embedding(VECTORS, map(str, range(30)))),
            "align needs nodes that both",
        ),
        (lambda: efge.align(OLD, VECTORS), "align takes an Embedding or a fitted estimator; got ndarray"),
        (lambda: efge.drift([OLD]), "drift needs two or more embeddings; got 1"),
    ],
)
def test_embeddings_that_cannot_be_compared_are_refused(call, message):
    with pytest.raises(efge.EmbeddingError, match=message):
        call()
