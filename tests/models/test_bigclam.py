"""BigClam: likelihood and gradients compared with dense ones, ascent, and planted communities."""

from __future__ import annotations

import pickle
import warnings
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone

import efge
from efge.evaluation.communities import communities
from efge.kernels import bigclam as kernel
from efge.models.affiliation import (
    Adjacency,
    Ascent,
    conductances,
    initial_factors,
    log_likelihood,
    membership_threshold,
)
from efge.models.bigclam import BigClam
from helpers import planted_communities, with_scikit_learn_checks


@with_scikit_learn_checks(BigClam(n_communities=2, seed=0))
def test_scikit_learns_estimator_checks_pass(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def adjacency_matrix(graph):
    return (graph.to_scipy().toarray() > 0) & ~np.eye(graph.n_nodes, dtype=bool)


def dense_log_likelihood(is_edge, factors, background):
    """Sum over every pair of nodes."""
    rates = factors @ factors.T + background
    terms = np.where(is_edge, np.log(-np.expm1(-rates)), -rates)
    return terms[np.triu_indices(len(factors), 1)].sum()


def dense_gradient(is_edge, factors, background, node):
    """Sum over neighbors, and over all nodes that are not neighbors."""
    rates = factors @ factors[node] + background
    non_neighbors = ~is_edge[node]
    non_neighbors[node] = False
    pulls = (np.exp(-rates) / -np.expm1(-rates))[:, None] * factors
    return pulls[is_edge[node]].sum(axis=0) - factors[non_neighbors].sum(axis=0)


@pytest.fixture(scope="module")
def small():
    graph, _ = planted_communities(0, nodes=30, groups=3)
    return graph, Adjacency.of(graph), np.random.default_rng(1).random((30, 3))


def test_log_likelihood_is_the_sum_over_all_pairs(small):
    graph, adjacency, factors = small
    expected = dense_log_likelihood(adjacency_matrix(graph), factors, adjacency.background)
    assert log_likelihood(adjacency, factors) == pytest.approx(expected, rel=1e-12)


def gradients(adjacency, factors, node):
    workspace, gradient, bound = np.empty((3, len(factors))), np.empty(factors.shape[1]), np.empty(factors.shape[1])
    kernel.gradient(
        adjacency.indptr,
        adjacency.indices,
        factors,
        factors.sum(axis=0),
        adjacency.background,
        node,
        workspace,
        gradient,
        bound,
    )
    return gradient, bound


def test_gradient_is_the_dense_one_and_the_derivative_of_the_likelihood(small):
    graph, adjacency, factors = small
    is_edge, h = adjacency_matrix(graph), 1e-6
    for node in range(30):
        gradient, _ = gradients(adjacency, factors, node)
        np.testing.assert_allclose(
            gradient, dense_gradient(is_edge, factors, adjacency.background, node), rtol=1e-10, atol=1e-10
        )
        for k in range(3):
            values = []
            for step in (h, -h):
                moved = factors.copy()
                moved[node, k] += step
                values.append(dense_log_likelihood(is_edge, moved, adjacency.background))
            assert gradient[k] == pytest.approx((values[0] - values[1]) / (2 * h), rel=1e-5, abs=1e-5)


def test_curvature_bound_is_above_the_curvature(small):
    graph, adjacency, factors = small
    is_edge = adjacency_matrix(graph)
    for node in range(30):
        _, bound = gradients(adjacency, factors, node)
        rates = factors[is_edge[node]] @ factors[node] + adjacency.background
        scaled = factors[is_edge[node]] * (np.exp(-rates / 2) / -np.expm1(-rates))[:, None]
        assert np.linalg.eigvalsh(np.diag(bound) - scaled.T @ scaled).min() > -1e-9


def test_each_sweep_raises_the_dense_likelihood_and_keeps_the_sum_of_vectors(small):
    graph, adjacency, factors = small
    factors, total = factors.copy(), factors.sum(axis=0)
    workspace = np.empty((3, 30)), np.empty((3, 3))
    values = [dense_log_likelihood(adjacency_matrix(graph), factors, adjacency.background)]
    for _ in range(20):
        kernel.sweep(adjacency.indptr, adjacency.indices, factors, total, adjacency.background, *workspace)
        values.append(dense_log_likelihood(adjacency_matrix(graph), factors, adjacency.background))
        np.testing.assert_allclose(total, factors.sum(axis=0), rtol=1e-10)
        assert factors.min() >= 0
    assert (np.diff(values) > -1e-9).all()
    assert values[-1] > values[0] + 100


def test_at_convergence_no_gradient_leads_uphill(small):
    _, adjacency, factors = small
    ascent = Ascent(adjacency, factors.copy()).run(5000, 1e-14)
    for node in range(30):
        gradient, _ = gradients(adjacency, ascent.factors, node)
        free = ascent.factors[node] > 0
        assert np.abs(gradient[free]).max(initial=0) < 1e-2
        assert gradient[~free].max(initial=0) < 1e-2


def test_likelihood_never_falls_and_is_that_of_the_embedding():
    graph, _ = planted_communities(0)
    model = BigClam(4, seed=0).fit(graph)
    values = model.history_["log_likelihood"]
    assert (np.diff(values) >= 0).all()
    assert model.history_["sweeps"] == list(range(len(values)))
    assert model.n_iter_ == model.history_["sweeps"][-1]
    adjacency = Adjacency.of(graph)
    factors = model.embedding_.vectors.astype(float)
    assert dense_log_likelihood(adjacency_matrix(graph), factors, adjacency.background) == pytest.approx(
        values[-1], rel=1e-5
    )


def test_conductance_is_that_of_networkx():
    graph = nx.karate_club_graph()
    values = conductances(Adjacency.of(efge.as_graph(graph)))
    for node in graph:
        assert values[node] == pytest.approx(nx.conductance(graph, {node, *graph[node]}), rel=1e-12)


def test_vectors_begin_as_neighborhoods_of_locally_smallest_conductance():
    graph = efge.as_graph([*combinations("abcd", 2), *combinations("efghi", 2), ("d", "e")])
    factors = initial_factors(Adjacency.of(graph), 2, 0, 0)
    assert [set(graph.names[column == 1]) for column in factors.T] == [set("abcd"), set("efghi")]


@pytest.mark.parametrize("n_communities", [3, None])
def test_bytes_are_the_same_at_any_number_of_threads(n_communities):
    graph, _ = planted_communities(1, nodes=80, groups=3)
    first, *others = [BigClam(n_communities, threads=threads, seed=5).fit(graph) for threads in (1, 1, 2, 3, None)]
    for other in others:
        assert other.embedding_ == first.embedding_
        assert other.history_ == first.history_


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("nodes", "groups"), [(90, 3), (120, 4), (200, 5)])
def test_planted_communities_are_found(nodes, groups, seed):
    graph, truth = planted_communities(seed, nodes, groups)
    assert communities(BigClam(groups, seed=seed).fit(graph)).f1(truth) > 0.9


@pytest.mark.parametrize(("nodes", "groups"), [(90, 3), (200, 5)])
def test_the_planted_number_of_communities_is_chosen(nodes, groups):
    chosen = [BigClam(seed=seed).fit(planted_communities(seed, nodes, groups)[0]).n_communities_ for seed in range(3)]
    assert all(abs(number - groups) <= 1 for number in chosen)


def test_the_karate_club_has_two_communities():
    assert BigClam(seed=0).fit(nx.karate_club_graph()).n_communities_ == 2


def test_threshold_is_where_a_community_has_edges_as_often_as_the_graph():
    graph = efge.as_graph(nx.karate_club_graph())
    model = BigClam(2, seed=0).fit(graph)
    assert 1 - np.exp(-(model.threshold_**2)) == pytest.approx(2 * 78 / (34 * 33))
    assert model.threshold_ == membership_threshold(34, 78)
    np.testing.assert_array_equal(model.memberships_, model.embedding_.vectors > model.threshold_)


def test_weights_directions_and_self_loops_are_ignored():
    edges = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("d", "e"), ("c", "e")]
    plain = BigClam(2, seed=0).fit(edges).embedding_
    weighted = [(u, v, i + 1.0) for i, (u, v) in enumerate(edges)]
    assert BigClam(2, seed=0).fit(weighted).embedding_ == plain
    assert BigClam(2, seed=0).fit(efge.as_graph(edges, directed=True)).embedding_ == plain
    assert BigClam(2, seed=0).fit([*edges, ("d", "d")]).embedding_ == plain


@pytest.mark.parametrize(("edges", "nodes"), [([("a", "a")], ""), ([("a", "b")], ""), ([("a", "b")], "xy")])
@pytest.mark.parametrize("n_communities", [2, None])
def test_tiny_graphs_have_finite_vectors(edges, nodes, n_communities):
    model = BigClam(n_communities, seed=0).fit(efge.as_graph(edges, nodes=list(nodes)))
    assert np.isfinite(model.embedding_.vectors).all()
    isolated = [name for name in nodes if name in "xy"]
    assert not model.embedding_[isolated].vectors.any()


def test_a_complete_graph_is_one_community_and_finite():
    model = BigClam(1, seed=0).fit(nx.complete_graph(8))
    assert model.memberships_.all()


def test_progress_reports_sweeps_and_likelihood():
    graph, _ = planted_communities(0)
    reports = []
    model = BigClam(4, seed=0, tol=1e-9, max_iter=60).fit(graph, progress=reports.append)
    assert [step.log_likelihood for step in reports] == model.history_["log_likelihood"][-len(reports) :]
    assert reports[-1] == efge.Progress(len(model.history_["sweeps"]) - 1, 60, model.history_["log_likelihood"][-1])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_communities": 0}, "n_communities must be a positive integer; got 0"),
        ({"n_communities": 2.5}, "n_communities must be a positive integer; got 2.5"),
        ({"n_init": 0}, "n_init must be a positive integer; got 0"),
        ({"max_iter": 0}, "max_iter must be a positive integer; got 0"),
        ({"threads": 0}, "threads must be a positive integer; got 0"),
        ({"tol": -1}, "tol must be a finite number, 0 or above; got -1"),
        ({"tol": float("nan")}, "tol must be a finite number, 0 or above; got nan"),
    ],
)
def test_invalid_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        BigClam(**parameters).fit([("a", "b")])


def test_parameters_are_stored_cloned_and_pickled():
    model = BigClam(3, n_init=2, max_iter=7, tol=0.1, threads=1, seed=4)
    assert clone(model).get_params() == model.get_params()
    assert set(model.get_params()) == {"n_communities", "n_init", "max_iter", "tol", "threads", "seed"}
    fitted = model.fit([("a", "b"), ("b", "c")])
    assert pickle.loads(pickle.dumps(fitted)).embedding_ == fitted.embedding_
    assert fitted.transform([("c", "a")]).shape == (2, 3)
    assert fitted.get_feature_names_out().tolist() == ["bigclam0", "bigclam1", "bigclam2"]


def test_a_random_seed_is_stored_and_reproduces_the_result():
    graph = nx.karate_club_graph()
    model = BigClam(2).fit(graph)
    assert BigClam(2, seed=model.seed_).fit(graph).embedding_ == model.embedding_


@pytest.mark.parametrize(
    ("change", "cost", "expected"),
    [(1.0, 0.1, 1.0), (1.0, 0.4, 0.5), (1.0, 0.5, 0.125), (-0.999, 0.0, 0.0)],
)
def test_a_step_is_halved_until_the_log_likelihood_rises(change, cost, expected):
    """One edge of rate 1: its log-probability gains log((1 - exp(-1 - length * change)) / (1 - exp(-1)))."""
    rates, changes = np.array([1.0]), np.array([change])
    probs = -np.expm1(-rates)
    gradient = float(np.exp(-1.0) / probs[0]) * abs(change) - cost
    assert kernel._step_length(rates, probs, changes, 1, cost, max(gradient, 0.01)) == expected
