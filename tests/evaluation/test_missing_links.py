"""The likeliest missing links are those that scoring every pair one by one would find."""

from __future__ import annotations

from itertools import combinations, permutations

import networkx as nx
import numpy as np
import pytest

import efge
from efge.evaluation import missing_links as module
from helpers import random_graph


def brute_force(model, graph, k, nodes=None):
    """Score every pair of nodes with edges that is none itself, one direction of an undirected one."""
    names = [name for name, isolated in zip(graph, graph.isolated, strict=True) if not isolated]
    pairs = list(permutations(names, 2)) if graph.directed else list(combinations(names, 2))
    if nodes is not None and graph.directed:
        pairs = [pair for pair in pairs if pair[0] in nodes]
    elif nodes is not None:
        pairs = [pair for pair in pairs if set(pair) & set(nodes)]
    pairs = [(a, b) for a, b in pairs if b not in graph.neighbors(a)]
    scores = model.score_pairs(pairs)
    return sorted(zip(pairs, scores.tolist(), strict=True), key=lambda found: -found[1])[:k]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("family", ["bernoulli", "normal"])
def test_links_are_those_of_scoring_all_pairs(monkeypatch, directed, family):
    graph = random_graph(3, directed, weighted=False)
    model = efge.EFGE(family, dim=4, walks_per_node=5, seed=1, threads=1, follow_directions=True).fit(graph)
    nodes = list(graph)[5:8]
    # Several blocks of few rows, as in a large graph.
    monkeypatch.setattr(module, "_TILE", (4, 7))
    for chosen in (None, nodes):
        for k in (1, 7, 10_000):
            found = efge.missing_links(model, graph, k, nodes=chosen, threads=2)
            expected = brute_force(model, graph, k, chosen)
            assert len(found) == len(expected)
            assert [score for *_, score in found] == pytest.approx([score for _, score in expected])
            assert len({(a, b) for a, b, _ in found}) == len(found)
            # A pair of an undirected graph is found from either end.
            comparable = tuple if directed else frozenset
            assert [comparable(link[:2]) for link in found] == [comparable(pair) for pair, _ in expected]
    assert efge.missing_links(model, graph, 9, threads=1) == efge.missing_links(model, graph, 9, threads=3)


def test_tiles_of_short_vectors_are_left_out_and_the_links_stay_the_same(monkeypatch):
    """Vectors of half of the nodes are too short for a high score."""
    random = np.random.default_rng(0)
    graph = efge.as_graph([(i, (i + 1) % 400) for i in range(400)])
    model = efge.EFGE(dim=8, walks_per_node=1, seed=1, threads=1, propagate=None).fit(graph)
    for name in ("embedding_", "context_embedding_"):
        vectors = random.normal(size=(400, 8))
        vectors[::2] /= 20
        setattr(model, name, efge.Embedding(vectors, graph.names))
    model.center_embedding_ = model.embedding_
    search, searched = module._Search._search_tile, []

    def search_tile(self, rows, columns, least):
        searched.append(len(rows) * len(columns))
        return search(self, rows, columns, least)

    monkeypatch.setattr(module._Search, "_search_tile", search_tile)
    monkeypatch.setattr(module, "_TILE", (20, 20))
    found = efge.missing_links(model, graph, 20, sides=None, threads=1)
    expected = brute_force(model, graph, 20)
    assert [frozenset(link[:2]) for link in found] == [frozenset(pair) for pair, _ in expected]
    # Of all pairs, half are left out as they are counted once; of the rest, most have short vectors.
    assert sum(searched) < 0.3 * 400 * 400
    assert efge.missing_links(model, graph, 20, sides=None, threads=3) == found


class Peak(efge.Family):
    """A family whose log-odds rise and then fall."""

    bounds = (-4.0, 4.0)

    def log_prob(self, x, s):
        return -(x**2) * (s - 1.0) ** 2

    def gradient(self, x, s):
        return -2 * x**2 * (s - 1.0)


class Plateau(efge.Family):
    """A family whose log-odds rise to a value that they keep."""

    bounds = (-4.0, 4.0)

    def log_prob(self, x, s):
        return x * np.minimum(s, 1.0)

    def gradient(self, x, s):
        return x * (s < 1.0)


def test_products_of_high_scores_are_known_if_log_odds_never_fall():
    odds = module._LogOdds(Plateau())
    assert odds.sign == 1
    assert 0.4 < odds.least_product(0.5) <= 0.5


@pytest.mark.parametrize("factor", [8.0, 1.0, 0.125])
def test_bounds_of_products_do_not_grow_when_centers_are_longer_than_contexts(factor):
    table = np.array([[3.0, 4.0], [6.0, 8.0]], np.float32)
    rows, columns = module._bounding_lengths(factor * table, table, directed=False)
    assert np.outer(rows, columns) == pytest.approx(factor * np.outer([5, 10], [5, 10]), rel=1e-4)


def test_families_whose_odds_rise_and_fall_are_scored_in_full():
    graph = random_graph(3, False, weighted=False)
    model = efge.EFGE(Peak(), dim=4, walks_per_node=2, seed=1, threads=1).fit(graph)
    assert module._LogOdds(Peak()).sign == 0
    found = efge.missing_links(model, graph, 7)
    assert [score for *_, score in found] == pytest.approx([score for _, score in brute_force(model, graph, 7)])


def test_a_complete_graph_misses_nothing():
    graph = efge.as_graph(list(combinations(range(6), 2)))
    assert efge.missing_links(efge.LINE(dim=4, samples=100, seed=0).fit(graph), graph) == []


def test_mistakes_are_errors_that_name_them():
    graph = random_graph(3, False, weighted=False)
    model = efge.EFGE(dim=4, walks_per_node=1, seed=1).fit(graph)
    with pytest.raises(efge.EvaluationError, match="HOPE gives pairs of nodes no probability"):
        efge.missing_links(efge.HOPE(dim=2).fit(graph), graph)
    with pytest.raises(efge.EvaluationError, match="the same nodes in the same order"):
        efge.missing_links(model, graph.subgraph(list(graph)[:9]))
    with pytest.raises(efge.GraphError, match="no node named 'nobody'"):
        efge.missing_links(model, graph, nodes=["nobody"])
    with pytest.raises(ValueError, match="k must be a positive integer; got 0"):
        efge.missing_links(model, graph, 0)


@pytest.fixture(scope="module")
def tastes():
    """Users who like the items of their own kind, and a model with all of them."""
    random = np.random.default_rng(0)
    edges = {(f"user {i}", f"item {3 * random.integers(12) + i % 3}") for i in range(60) for _ in range(6)}
    graph = efge.as_graph(sorted(edges))
    return graph, efge.EFGE(dim=16, seed=0).fit(graph)


def kinds(pair):
    return {name.split()[0] for name in pair}


def test_missing_links_of_a_bipartite_graph_join_its_sides(tastes):
    graph, model = tastes
    links = efge.missing_links(model, graph, k=50)
    assert len(links) == 50
    assert all(kinds(link[:2]) == {"user", "item"} for link in links)
    assert any(kinds(link[:2]) != {"user", "item"} for link in efge.missing_links(model, graph, k=50, sides=None))
    items = [name for name in graph.names if name.startswith("item")]
    assert efge.missing_links(model, graph, k=50, sides=items) == links
    of_one = efge.missing_links(model, graph, k=3, nodes=["user 7"])
    assert all(link[0] == "user 7" and link[1].startswith("item") for link in of_one)


def test_recommendations_stay_across_the_sides_of_the_excluded_graph(tastes):
    graph, model = tastes
    assert all(name.startswith("item") for name, _ in model.recommend("user 7", k=20, exclude=graph))
    assert all(name.startswith("user") for name, _ in model.recommend("item 3", k=20, exclude=graph))
    users = [name for name in graph.names if name.startswith("user")]
    assert all(name.startswith("user") for name, _ in model.recommend("user 7", k=5, among=users, exclude=graph))


@pytest.mark.parametrize("family", ["poisson", "bernoulli", "normal"])
def test_nothing_is_recommended_about_nodes_without_edges(family):
    club = nx.karate_club_graph()
    club.add_nodes_from([100, 101])
    model = efge.EFGE(family, dim=16, seed=1).fit(club)
    assert not {name for name, _ in model.recommend(9, k=100, exclude=club)} & {100, 101}
    assert not {name for link in efge.missing_links(model, club, k=1000) for name in link[:2]} & {100, 101}
    with pytest.warns(UserWarning, match="nothing was learned about 100, which has no edges"):
        alone, linked = model.recommend([100, 9], k=3, exclude=club)
    assert alone == []
    assert len(linked) == 3


def test_new_nodes_that_no_path_links_to_old_ones_are_not_recommended():
    """A frozen update gives them vectors of zeros."""
    club = nx.karate_club_graph()
    model = efge.EFGE(dim=16, seed=1).fit(club)
    club.add_edges_from([(50, 0), (100, 101)])
    model.partial_fit(club, freeze=True)
    assert not {name for name, _ in model.recommend(9, k=100, exclude=club)} & {100, 101}
    found = {name for link in efge.missing_links(model, club, k=1000) for name in link[:2]}
    assert 50 in found
    assert not found & {100, 101}
