"""The likeliest missing links are those that scoring every pair one by one would find."""

from __future__ import annotations

from itertools import combinations, permutations

import pytest

import efge
from efge.evaluation import missing_links as module
from helpers import random_graph


def brute_force(model, graph, k, nodes=None):
    """Score every pair without an edge, one direction of an undirected one."""
    names = list(graph)
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
    model = efge.EFGE(family, dim=4, walks_per_node=5, seed=1, threads=1).fit(graph)
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
