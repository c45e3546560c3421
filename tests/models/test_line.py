"""LINE: what each order learns, and that edges are sampled by their weights."""

from __future__ import annotations

from collections import Counter

import networkx as nx
import numpy as np
import pytest
from scipy import stats

import efge
from efge.models.line import EdgeSampler


def cosines(model):
    vectors = model.embedding_.vectors / np.linalg.norm(model.embedding_.vectors, axis=1, keepdims=True)
    return vectors @ vectors.T


def test_first_order_joins_neighbors_and_second_order_nodes_with_the_same_neighbors():
    """In a circle of four groups, each joined with the next, opposite groups have the same neighbors."""
    groups = [range(10 * i, 10 * i + 10) for i in range(4)]
    graph = [(u, v) for i in range(4) for u in groups[i] for v in groups[(i + 1) % 4]]
    own, opposite = np.ix_(groups[0], groups[0]), np.ix_(groups[0], groups[2])
    adjacent = np.ix_(groups[0], groups[1])
    second = cosines(efge.LINE(dim=8, order="second", seed=0).fit(efge.as_graph(graph, nodes=range(40))))
    assert second[opposite].mean() > second[adjacent].mean() + 0.5
    assert second[own].mean() > second[adjacent].mean() + 0.5
    cliques = nx.disjoint_union(nx.complete_graph(10), nx.complete_graph(10))
    cliques.add_edge(0, 10)
    first = cosines(efge.LINE(dim=8, order="first", seed=0).fit(cliques))
    assert first[:10, :10].mean() > first[:10, 10:].mean() + 0.5


def test_orders_differ_along_a_cycle():
    # Along a cycle, nodes two steps apart share a neighbor, and nodes one step apart do not.
    one, two = (np.roll(np.eye(40), steps, axis=1) > 0 for steps in (1, 2))
    for order, nearer, farther in (("first", one, two), ("second", two, one)):
        vectors = efge.LINE(dim=16, order=order, samples=400_000, seed=0).fit_transform(nx.cycle_graph(40))
        products = vectors @ vectors.T
        assert products[nearer].mean() > products[farther].mean() + 0.5


def test_second_order_of_a_directed_graph_depends_on_the_targets_of_edges():
    """Nodes 0 to 9 point to 20, nodes 10 to 19 to 21; edges to 0 to 19 come from 20 and 21 alike."""
    edges = [(i, 20 + i // 10) for i in range(20)] + [(a, i) for a in (20, 21) for i in range(20)]
    graph = efge.as_graph(nx.DiGraph(edges), nodes=range(22))
    vectors = cosines(efge.LINE(dim=8, order="second", seed=0).fit(graph))
    assert vectors[:10, :10].mean() > vectors[:10, 10:20].mean() + 0.5


def test_edges_are_sampled_in_proportion_to_their_weights():
    edges = {("a", "b"): 1.0, ("b", "c"): 5.0, ("c", "d"): 0.5, ("d", "a"): 3.5, ("d", "d"): 2.0}
    graph = efge.as_graph([(u, v, weight) for (u, v), weight in edges.items()], directed=True)
    sampler = EdgeSampler(graph, samples=400_000, threads=1, seed=0)
    stars = [[graph.names[v] for v in star] for batch in sampler.batches() for star in batch]
    assert sum(len(star) - 1 for star in stars) == 400_000
    # Nodes by the weights of all their edges, then, of a node's edges, each by its own.
    from_d = {v: weight for (u, v), weight in edges.items() if u == "d"}
    by_node = {u: sum(weight for (a, _), weight in edges.items() if a == u) for u in "abcd"}
    for weights, counts in (
        (by_node, Counter(star[0] for star in stars)),
        (from_d, Counter(v for star in stars if star[0] == "d" for v in star[1:])),
    ):
        expected = np.array(list(weights.values())) / sum(weights.values()) * sum(counts.values())
        assert stats.chisquare([counts[name] for name in weights], expected).pvalue > 1e-3
    assert {(star[0], v) for star in stars for v in star[1:]} == set(edges)


def test_first_order_sees_a_directed_edge_from_both_ends():
    sampler = EdgeSampler(efge.as_graph(nx.DiGraph([(0, 1)])), samples=100, threads=1, seed=0)
    pairs = {
        order: {(star[0], v) for batch in sampler.for_order(order).batches() for star in batch for v in star[1:]}
        for order in ("first", "second")
    }
    assert pairs == {"first": {(0, 1), (1, 0)}, "second": {(0, 1)}}
    weighted = EdgeSampler(efge.as_graph([(0, 1, 1.0), (1, 2, 3.0)], directed=True), samples=8000, threads=1, seed=0)
    centers = Counter(int(star[0]) for batch in weighted.for_order("first").batches() for star in batch)
    assert [centers[node] / 1000 for node in range(3)] == pytest.approx([1 / 8, 4 / 8, 3 / 8], abs=0.06)


def test_samples_grow_with_the_graph():
    small, large = (EdgeSampler(efge.as_graph(nx.complete_graph(n)), None, 1, 0) for n in (10, 100))
    assert small.samples == 10_000
    assert large.samples == 100 * 100 * 99


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"order": "third"}, "no order 'third'; known: first, second, both"),
        ({"dim": 7}, "dim must be even if order is both, half for each order; got 7"),
        ({"samples": 0}, "samples must be a positive integer; got 0"),
        ({"negatives": 1.5}, "negatives must be a positive integer; got 1.5"),
        ({"learning_rate": -1}, "learning_rate are positive"),
        ({"threads": 0}, "threads must be a positive integer; got 0"),
    ],
)
def test_invalid_parameters_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        efge.LINE(**changes).fit([(0, 1)])
