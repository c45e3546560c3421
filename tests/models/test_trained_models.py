"""What DeepWalk, Node2Vec and LINE have in common: same bits at any number of threads, any graph, progress."""

from __future__ import annotations

import hashlib
import warnings

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone

import efge
from helpers import with_scikit_learn_checks

MODELS = {
    "deepwalk": efge.DeepWalk(dim=12, walks_per_node=4, seed=3),
    "node2vec": efge.Node2Vec(dim=12, walks_per_node=4, seed=3, p=0.5, q=2.0),
    "line": efge.LINE(dim=12, samples=40_000, seed=3),
    "line, first": efge.LINE(dim=12, samples=40_000, order="first", seed=3),
}

each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def digest(model):
    return hashlib.sha256(np.ascontiguousarray(model.embedding_.vectors).tobytes()).hexdigest()


@with_scikit_learn_checks(
    efge.DeepWalk(dim=4, walks_per_node=2, seed=0),
    efge.Node2Vec(dim=4, walks_per_node=2, seed=0),
    efge.LINE(dim=4, samples=200, seed=0),
)
def test_scikit_learns_estimator_checks_pass(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@each_model
def test_the_same_bits_at_any_number_of_threads(model):
    graph = nx.barabasi_albert_graph(2000, 3, seed=1)
    digests = {digest(clone(model).set_params(threads=threads).fit(graph)) for threads in (1, 2, 3, 8)}
    assert len(digests) == 1


@each_model
@pytest.mark.parametrize(
    "graph",
    [[("a", "a")], [("a", "b")], nx.star_graph(30), nx.path_graph(4, create_using=nx.DiGraph)],
    ids=["a loop", "an edge", "star", "directed path"],
)
def test_any_graph_has_finite_vectors(model, graph):
    fitted = clone(model).fit(graph)
    vectors = fitted.embedding_.vectors
    assert vectors.shape == (efge.as_graph(graph).n_nodes, 12)
    assert np.isfinite(vectors).all()


@each_model
def test_likelihood_rises_and_progress_reaches_its_total(model):
    reports = []
    fitted = clone(model).fit(nx.karate_club_graph(), progress=reports.append)
    histories = fitted.history_.values() if isinstance(fitted, efge.LINE) else [fitted.history_]
    for history in histories:
        assert history["log_likelihood"][-1] > history["log_likelihood"][0]
    assert reports[0].pairs == 0
    assert reports[-1].pairs == reports[-1].total
    assert [report.pairs for report in reports] == sorted(report.pairs for report in reports)
