"""Recommendation: hidden items are found where there are tastes, popularity wins where there are none."""

from __future__ import annotations

import numpy as np
import pytest

import efge
from efge.evaluation.recommendation import POPULARITY, _hide_items, _places, recommendation
from efge.graph.neighborhoods import are_edges

MODELS = {"efge": efge.EFGE("bernoulli", dim=16), "netmf": efge.NetMF(dim=16)}


def purchases(strength, users=200, items=100, bought=8, seed=0):
    """Users who take popular items, and items of one of five genres this much more often."""
    random = np.random.default_rng(seed)
    popularity, genres = 1 / np.arange(1, items + 1) ** 0.7, np.arange(items) % 5
    edges = []
    for user in range(users):
        weights = popularity * np.where(genres == user % 5, strength, 1.0)
        chosen = random.choice(items, bought, replace=False, p=weights / weights.sum())
        edges += [(f"u{user}", f"i{item}") for item in chosen.tolist()]
    return edges


def hidden_in(graph, seed=0):
    is_user = np.array([name[0] == "u" for name in graph.names.tolist()])
    return _hide_items(graph, is_user, np.random.default_rng(seed)), is_user


def test_an_item_of_each_user_is_hidden_and_nothing_else_changes():
    graph = efge.as_graph([(u, i, 2.5) for u, i in purchases(5.0)])
    task, is_user = hidden_in(graph)
    assert len(task.users) == 200
    assert is_user[task.users].all()
    assert not is_user[task.hidden].any()
    assert are_edges(graph, task.users, task.hidden).all()
    assert not are_edges(task.graph, task.users, task.hidden).any()
    assert set(task.hidden.tolist()) <= set(task.items.tolist())
    assert task.graph.n_edges == graph.n_edges - 200
    assert set(task.graph.weights.tolist()) == {2.5}
    assert not task.graph.n_isolated


def test_items_of_strong_tastes_are_found_more_often_than_popular_ones():
    scores = recommendation(purchases(60.0), MODELS, repeats=2)
    popular = scores.summary(*POPULARITY).mean
    assert scores.summary("efge", "recommend").mean > 2 * popular
    assert scores.summary("netmf", "cosine").mean > 2 * popular
    assert list(scores.raw) == [("efge", "recommend"), ("efge", "cosine"), ("netmf", "cosine"), POPULARITY]
    assert not scores.notes


@pytest.mark.filterwarnings("ignore::efge.QualityWarning")
def test_where_there_are_no_tastes_popularity_is_noted_to_be_better():
    scores = recommendation(purchases(1.0), {"netmf": MODELS["netmf"]}, repeats=2)
    best = scores.summary("netmf", "cosine").mean
    popular = scores.summary(*POPULARITY).mean
    assert popular > best
    assert scores.notes[0].startswith(
        f"popularity ({popular:.3f}) is better than every ranking of the models ({best:.3f} to"
    )


def test_a_hit_rate_of_one_and_places_are_those_of_the_lists():
    graph = efge.as_graph(purchases(5.0))
    task, _ = hidden_in(graph)
    scores = recommendation(graph, efge.NetMF(dim=8), k=1000, repeats=1)
    assert {scores.summary(*case).mean for case in scores.raw} == {1.0}
    lists = [np.array([-1, item, -1]) for item in task.hidden.tolist()]
    lists[0] = np.array([-1])
    assert _places(task, lists).tolist() == [0] + [2] * 199


def test_the_same_seed_gives_the_same_scores():
    one, two = (recommendation(purchases(5.0), efge.NetMF(dim=8), repeats=1, seed=3) for _ in range(2))
    assert repr(one) == repr(two) != repr(recommendation(purchases(5.0), efge.NetMF(dim=8), repeats=1, seed=4))


def test_named_users_are_those_of_a_graph_that_is_not_bipartite():
    edges = [*purchases(30.0), ("u0", "u1"), ("u1", "u2")]
    with pytest.raises(
        efge.EvaluationError,
        match="users and items are the sides of a bipartite graph with cycles; name the users by users=",
    ):
        recommendation(edges, efge.NetMF(dim=8))
    users = [f"u{number}" for number in range(200)]
    scores = recommendation(edges, efge.NetMF(dim=8), users=users, repeats=1)
    assert scores.summary("NetMF", "cosine").mean > scores.summary(*POPULARITY).mean


def test_what_cannot_be_scored_is_refused():
    with pytest.raises(efge.EvaluationError, match="joined without directions"):
        recommendation(efge.as_graph(purchases(5.0), directed=True), efge.NetMF(dim=8))
    with pytest.raises(efge.EvaluationError, match="both need another edge; no user has one"):
        recommendation([("u", "i"), ("v", "j")], efge.NetMF(dim=1), users=["u", "v"])
    with pytest.raises(efge.GraphError, match="no node named 'x'"):
        recommendation(purchases(5.0), efge.NetMF(dim=8), users=["x"])
