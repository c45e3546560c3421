"""BigClam: its likelihood and slopes against dense ones, its ascent, and communities that are known."""

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
from efge.models import bigclam
from efge.models.bigclam import BigClam, membership_threshold
from helpers import planted, with_scikit_learn_checks


@with_scikit_learn_checks(BigClam(communities=2, seed=0))
def test_scikit_learn_is_content(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def dense(graph):
    return (graph.to_scipy().toarray() > 0) & ~np.eye(graph.n_nodes, dtype=bool)


def dense_log_likelihood(tied, factors, background):
    """The plain twin: every pair by itself."""
    rates = factors @ factors.T + background
    each = np.where(tied, np.log(-np.expm1(-rates)), -rates)
    return each[np.triu_indices(len(factors), 1)].sum()


def dense_slope(tied, factors, background, node):
    """The plain twin: neighbors by themselves, and all that are none by themselves."""
    rates = factors @ factors[node] + background
    others = ~tied[node]
    others[node] = False
    pulls = (np.exp(-rates) / -np.expm1(-rates))[:, None] * factors
    return pulls[tied[node]].sum(axis=0) - factors[others].sum(axis=0)


@pytest.fixture(scope="module")
def small():
    graph, _ = planted(0, nodes=30, groups=3)
    return graph, bigclam._Ties.of(graph), np.random.default_rng(1).random((30, 3))


def test_log_likelihood_is_the_dense_one(small):
    graph, ties, factors = small
    expected = dense_log_likelihood(dense(graph), factors, ties.background)
    assert bigclam.log_likelihood(ties, factors) == pytest.approx(expected, rel=1e-12)


def slopes(ties, factors, node):
    room, slope, bend = np.empty((3, len(factors))), np.empty(factors.shape[1]), np.empty(factors.shape[1])
    kernel.gradient(ties.indptr, ties.indices, factors, factors.sum(axis=0), ties.background, node, room, slope, bend)
    return slope, bend


def test_slope_by_the_sum_of_all_is_the_dense_one_and_the_derivative(small):
    graph, ties, factors = small
    tied, h = dense(graph), 1e-6
    for node in range(30):
        slope, _ = slopes(ties, factors, node)
        np.testing.assert_allclose(slope, dense_slope(tied, factors, ties.background, node), rtol=1e-10, atol=1e-10)
        for k in range(3):
            values = []
            for step in (h, -h):
                moved = factors.copy()
                moved[node, k] += step
                values.append(dense_log_likelihood(tied, moved, ties.background))
            assert slope[k] == pytest.approx((values[0] - values[1]) / (2 * h), rel=1e-5, abs=1e-5)


def test_bend_bounds_the_curvature(small):
    graph, ties, factors = small
    tied = dense(graph)
    for node in range(30):
        _, bend = slopes(ties, factors, node)
        rates = factors[tied[node]] @ factors[node] + ties.background
        scaled = factors[tied[node]] * (np.exp(-rates / 2) / -np.expm1(-rates))[:, None]
        assert np.linalg.eigvalsh(np.diag(bend) - scaled.T @ scaled).min() > -1e-9


def test_each_nodes_step_raises_the_dense_likelihood_and_the_sum_stays_that_of_all(small):
    graph, ties, factors = small
    factors, total, room = factors.copy(), factors.sum(axis=0), (np.empty((3, 30)), np.empty((3, 3)))
    values = [dense_log_likelihood(dense(graph), factors, ties.background)]
    for _ in range(20):
        kernel.sweep(ties.indptr, ties.indices, factors, total, ties.background, *room)
        values.append(dense_log_likelihood(dense(graph), factors, ties.background))
        np.testing.assert_allclose(total, factors.sum(axis=0), rtol=1e-10)
        assert factors.min() >= 0
    assert (np.diff(values) > -1e-9).all()
    assert values[-1] > values[0] + 100


def test_at_the_end_no_slope_leads_uphill(small):
    _, ties, factors = small
    ascent = bigclam._Ascent(ties, factors.copy()).go(5000, 1e-14)
    for node in range(30):
        slope, _ = slopes(ties, ascent.factors, node)
        free = ascent.factors[node] > 0
        assert np.abs(slope[free]).max(initial=0) < 1e-2
        assert slope[~free].max(initial=0) < 1e-2


def test_likelihood_never_falls_and_is_that_of_the_embedding():
    graph, _ = planted(0)
    model = BigClam(4, seed=0).fit(graph)
    values = model.history_["log_likelihood"]
    assert (np.diff(values) >= 0).all()
    assert model.history_["sweeps"] == list(range(len(values)))
    ties = bigclam._Ties.of(graph)
    factors = model.embedding_.vectors.astype(float)
    assert dense_log_likelihood(dense(graph), factors, ties.background) == pytest.approx(values[-1], rel=1e-5)


def test_conductance_is_that_of_networkx():
    graph = nx.karate_club_graph()
    found = bigclam.conductances(bigclam._Ties.of(efge.as_graph(graph)))
    for node in graph:
        assert found[node] == pytest.approx(nx.conductance(graph, {node, *graph[node]}), rel=1e-12)


def test_vectors_begin_as_neighborhoods_of_locally_smallest_conductance():
    graph = efge.as_graph([*combinations("abcd", 2), *combinations("efghi", 2), ("d", "e")])
    factors = bigclam._first_factors(bigclam._Ties.of(graph), 2, 0, 0)
    assert [set(graph.names[column == 1]) for column in factors.T] == [set("abcd"), set("efghi")]


@pytest.mark.parametrize("communities", [3, None])
def test_bytes_are_the_same_at_any_number_of_threads(communities):
    graph, _ = planted(1, nodes=80, groups=3)
    first, *others = [BigClam(communities, threads=threads, seed=5).fit(graph) for threads in (1, 1, 2, 3, None)]
    for other in others:
        assert other.embedding_ == first.embedding_
        assert other.history_ == first.history_


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("nodes", "groups"), [(90, 3), (120, 4), (200, 5)])
def test_planted_communities_are_found(nodes, groups, seed):
    graph, truth = planted(seed, nodes, groups)
    assert communities(BigClam(groups, seed=seed).fit(graph)).f1(truth) > 0.9


@pytest.mark.parametrize(("nodes", "groups"), [(90, 3), (200, 5)])
def test_the_number_of_communities_is_found(nodes, groups):
    chosen = [BigClam(seed=seed).fit(planted(seed, nodes, groups)[0]).n_communities_ for seed in range(3)]
    assert all(abs(number - groups) <= 1 for number in chosen)


def test_the_club_has_two_communities():
    assert BigClam(seed=0).fit(nx.karate_club_graph()).n_communities_ == 2


def test_threshold_is_where_a_community_has_edges_as_often_as_the_graph():
    graph = efge.as_graph(nx.karate_club_graph())
    model = BigClam(2, seed=0).fit(graph)
    assert 1 - np.exp(-(model.threshold_**2)) == pytest.approx(2 * 78 / (34 * 33))
    assert model.threshold_ == membership_threshold(34, 78)
    np.testing.assert_array_equal(model.memberships_, model.embedding_.vectors > model.threshold_)


def test_weights_directions_and_self_loops_are_of_no_effect():
    edges = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("d", "e"), ("c", "e")]
    plain = BigClam(2, seed=0).fit(edges).embedding_
    weighted = [(u, v, i + 1.0) for i, (u, v) in enumerate(edges)]
    assert BigClam(2, seed=0).fit(weighted).embedding_ == plain
    assert BigClam(2, seed=0).fit(efge.as_graph(edges, directed=True)).embedding_ == plain
    assert BigClam(2, seed=0).fit([*edges, ("d", "d")]).embedding_ == plain


@pytest.mark.parametrize(
    ("edges", "nodes"), [([], "abc"), ([], "a"), ([], ""), ([("a", "a")], ""), ([("a", "b")], ""), ([("a", "b")], "xy")]
)
@pytest.mark.parametrize("number", [2, None])
def test_tiny_graphs_have_finite_vectors(edges, nodes, number):
    model = BigClam(number, seed=0).fit(efge.as_graph(edges, nodes=list(nodes)))
    assert np.isfinite(model.embedding_.vectors).all()
    lonely = [name for name in nodes if name in "xy"]
    assert not model.embedding_[lonely].vectors.any()


def test_a_complete_graph_is_one_community_and_finite():
    model = BigClam(1, seed=0).fit(nx.complete_graph(8))
    assert model.memberships_.all()


def test_progress_tells_sweeps_and_likelihood():
    graph, _ = planted(0)
    seen = []
    model = BigClam(4, seed=0, tolerance=1e-9, max_iterations=60).fit(graph, progress=seen.append)
    assert [step.log_likelihood for step in seen] == model.history_["log_likelihood"][-len(seen) :]
    assert seen[-1] == efge.Progress(len(model.history_["sweeps"]) - 1, 60, model.history_["log_likelihood"][-1])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"communities": 0}, "communities is a whole number from 1 on; got 0"),
        ({"communities": 2.5}, "communities is a whole number from 1 on; got 2.5"),
        ({"starts": 0}, "starts is a whole number from 1 on; got 0"),
        ({"max_iterations": 0}, "max_iterations is a whole number from 1 on; got 0"),
        ({"threads": 0}, "threads is a whole number from 1 on; got 0"),
        ({"tolerance": -1}, "tolerance is a number from 0 on; got -1"),
        ({"tolerance": float("nan")}, "tolerance is a number from 0 on; got nan"),
    ],
)
def test_what_cannot_be_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        BigClam(**parameters).fit([("a", "b")])


def test_parameters_are_stored_cloned_and_pickled():
    model = BigClam(3, starts=2, max_iterations=7, tolerance=0.1, threads=1, seed=4)
    assert clone(model).get_params() == model.get_params()
    assert set(model.get_params()) == {"communities", "starts", "max_iterations", "tolerance", "threads", "seed"}
    fitted = model.fit([("a", "b"), ("b", "c")])
    assert pickle.loads(pickle.dumps(fitted)).embedding_ == fitted.embedding_
    assert fitted.transform([("c", "a")]).shape == (2, 3)
    assert fitted.get_feature_names_out().tolist() == ["bigclam0", "bigclam1", "bigclam2"]


def test_a_seed_is_kept():
    graph = nx.karate_club_graph()
    model = BigClam(2).fit(graph)
    assert BigClam(2, seed=model.seed_).fit(graph).embedding_ == model.embedding_
