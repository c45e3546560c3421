"""LINE: what each order learns, and that edges are sampled by their weights."""

from __future__ import annotations

from collections import Counter

import networkx as nx
import numpy as np
import pytest
from scipy import stats

import efge
from efge.training.edges import EdgeSampler


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


def sampled(sampler):
    """All sampled edges, as pairs of rows."""
    return [tuple(edge) for batch in sampler.batches() for edge in batch.edges.tolist()]


def test_edges_are_sampled_in_proportion_to_their_weights():
    weights = {("a", "b"): 1.0, ("b", "c"): 5.0, ("c", "d"): 0.5, ("d", "a"): 3.5, ("d", "d"): 2.0}
    graph = efge.as_graph([(u, v, weight) for (u, v), weight in weights.items()], directed=True)
    counts = Counter(
        (graph.names[u], graph.names[v]) for u, v in sampled(EdgeSampler(graph, samples=400_000, threads=1, seed=0))
    )
    assert set(counts) == set(weights)
    expected = np.array(list(weights.values())) / sum(weights.values()) * 400_000
    assert stats.chisquare([counts[edge] for edge in weights], expected).pvalue > 1e-3


def test_first_order_sees_a_directed_edge_from_both_ends():
    sampler = EdgeSampler(efge.as_graph(nx.DiGraph([(0, 1)])), samples=100, threads=1, seed=0)
    assert set(sampled(sampler.for_order("first"))) == {(0, 1), (1, 0)}
    assert set(sampled(sampler.for_order("second"))) == {(0, 1)}
    weighted = EdgeSampler(efge.as_graph([(0, 1, 1.0), (1, 2, 3.0)], directed=True), samples=8000, threads=1, seed=0)
    centers = Counter(u for u, _ in sampled(weighted.for_order("first")))
    assert [centers[node] / 8000 for node in range(3)] == pytest.approx([1 / 8, 4 / 8, 3 / 8], abs=0.06)


def test_edges_are_sorted_by_cells_that_each_batch_deals_anew():
    sampler = EdgeSampler(efge.as_graph(nx.barabasi_albert_graph(1000, 3, seed=1)), None, 1, 0)
    cell_of = np.empty((3, 1000), np.int64)
    for batch, cells in zip(sampler.batches(), cell_of, strict=False):
        assert sorted(batch.nodes.tolist()) == list(range(1000))
        assert sampler.n_cells == len(batch.cells) - 1 == 3
        for cell in range(3):
            cells[batch.nodes[batch.cells[cell] : batch.cells[cell + 1]]] = cell
        pairs = cells[batch.edges[:, 0]] * 3 + cells[batch.edges[:, 1]]
        assert np.array_equal(np.searchsorted(pairs, range(10)), batch.begins)
        assert (np.diff(pairs) >= 0).all()
    assert 0.2 < (cell_of[0] == cell_of[1]).mean() < 0.5


def test_over_some_batches_every_node_shares_a_cell_with_every_other():
    """Negatives of an edge come from the cell of its context, which therefore has other nodes in each batch."""
    sampler = EdgeSampler(efge.as_graph(nx.star_graph(999)), 10**6, 1, 0)
    batches = list(sampler.batches())
    shared = np.zeros(1000, np.int64)
    for batch in batches:
        cell = np.searchsorted(batch.cells, np.flatnonzero(batch.nodes == 0)[0], side="right") - 1
        shared[batch.nodes[batch.cells[cell] : batch.cells[cell + 1]]] += 1
    assert shared[0] == len(batches)
    assert shared[1:].mean() / len(batches) == pytest.approx(1 / 3, abs=0.01)
    assert shared[1:].min() > 0.1 * len(batches)
    assert shared[1:].max() < 0.6 * len(batches)


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


@pytest.mark.parametrize("order", ["first", "second"])
def test_the_number_of_threads_changes_no_bit(order):
    graph = nx.barabasi_albert_graph(1500, 3, seed=1)
    one, *others = (
        efge.LINE(dim=16, order=order, samples=50_000, seed=0, threads=threads).fit(graph) for threads in (1, 2, 3)
    )
    for other in others:
        assert other.embedding_ == one.embedding_
        assert other.context_embedding_ == one.context_embedding_


def test_a_learning_rate_that_is_too_high_is_named():
    with pytest.raises(efge.TrainingError, match=r"NaN or infinite; lower learning_rate \(it is 1e\+30\)"):
        efge.LINE(dim=8, learning_rate=1e30, seed=0).fit(nx.karate_club_graph())


@pytest.mark.parametrize(
    "graph", [[(0, 0)], [(0, 1)], nx.star_graph(3), [("a", "b", 1e-300), ("b", "c", 1e300)]], ids=str
)
@pytest.mark.parametrize("directed", [False, True])
def test_any_graph_with_edges_can_be_trained(graph, directed):
    fitted = efge.LINE(dim=4, seed=0).fit(efge.as_graph(graph, **({"directed": True} if directed else {})))
    assert np.isfinite(fitted.embedding_.vectors).all()
