"""What steps of walks tell, compared with powers of dense matrices of the steps."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import efge
from efge.graph import information
from efge.graph.information import mixes_quickly, walk_information
from helpers import random_graph

KINDS = [(False, False), (False, True), (True, False), (True, True)]


def plain_information(graph):
    """Compute the mutual information of a node and the node one and two steps later, pair by pair."""
    weights = graph.to_scipy().toarray().astype(np.float64)
    out = weights.sum(axis=1)
    steps = weights / np.where(out > 0, out, 1)[:, None]
    joint, values = np.diag(out / out.sum()), []
    for _ in range(2):
        joint = joint @ steps
        joint /= joint.sum()
        independent = np.outer(joint.sum(axis=1), joint.sum(axis=0))
        values.append(np.sum(joint[joint > 0] * np.log(joint[joint > 0] / independent[joint > 0])))
    return values


@pytest.mark.parametrize(("directed", "weighted"), KINDS)
def test_information_is_that_of_the_matrices_of_steps(directed, weighted):
    graph = random_graph(3, directed, weighted)
    assert (graph.degrees == 0).any()
    # The standard error of 20,000 walks is below .01.
    assert information._measure(graph, 20_000) == pytest.approx(plain_information(graph), abs=0.04)
    assert walk_information(graph) == pytest.approx(plain_information(graph), abs=0.2)


@pytest.mark.parametrize(
    ("edges", "directed", "one", "two"),
    [
        ([("a", "b"), ("c", "d"), ("e", "f")], False, 6, 6),  # one of six nodes is next, and then the first one again
        ([(0, i) for i in range(1, 8)], False, 2, 2),  # a leaf after the hub, the hub after a leaf
        ([(i, 10 + j) for i in range(3) for j in range(4)], False, 2, 2),  # one side after the other
        ([(i, (i + 1) % 9) for i in range(9)], True, 9, 9),  # one way to go
        ([("a", "b"), ("c", "d")], True, 2, 1),  # nowhere to go on
        ([(i, j) for i in range(5) for j in range(5)], True, 1, 1),  # anywhere at once
    ],
    ids=["pairs", "star", "bipartite", "ring", "dead ends", "loops"],
)
def test_the_information_of_small_graphs_is_known(edges, directed, one, two):
    assert walk_information(efge.as_graph(edges, directed=directed)) == pytest.approx(np.log([one, two]), abs=1e-9)


def test_walks_on_a_complete_graph_forget_everything_in_two_steps():
    one, two = walk_information(efge.as_graph(nx.complete_graph(40)))
    assert one == pytest.approx(np.log(40 / 39))
    assert abs(two) < 0.05 * one


def test_walks_mix_quickly_on_dense_random_graphs_and_not_on_sparse_or_regular_ones():
    assert mixes_quickly(efge.as_graph(nx.gnm_random_graph(2000, 40_000, seed=0)))
    assert not mixes_quickly(efge.as_graph(nx.gnm_random_graph(2000, 6_000, seed=0)))
    assert not mixes_quickly(efge.as_graph(nx.circulant_graph(500, range(1, 21))))


def test_without_edges_there_is_no_information_and_no_mixing():
    graph = efge.as_graph(np.empty((0, 2), int), nodes=["a", "b"])
    assert np.isnan(walk_information(graph)).all()
    assert not mixes_quickly(graph)


def test_walks_that_never_remembered_anything_do_not_forget_it():
    assert not mixes_quickly(efge.as_graph([(i, j) for i in range(4) for j in range(4)], directed=True))


@pytest.mark.parametrize(("directed", "weighted"), KINDS)
def test_information_does_not_depend_on_how_many_edges_are_summed_together(monkeypatch, directed, weighted):
    expected = information._measure(random_graph(4, directed, weighted), 500)
    monkeypatch.setattr("efge.graph.neighborhoods._CHUNK", 7)
    assert information._measure(random_graph(4, directed, weighted), 500) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("factor", [2.0**-900, 3.0, 1e200])
def test_information_does_not_depend_on_the_scale_of_weights(factor):
    edges = [("a", "b", 1.0), ("b", "c", 2.5), ("c", "a", 0.3), ("c", "d", 4.0), ("d", "e", 0.7)]
    scaled = [(u, v, factor * w) for u, v, w in edges]
    expected = walk_information(efge.as_graph(edges))
    assert walk_information(efge.as_graph(scaled)) == pytest.approx(expected, rel=1e-12)


def test_weights_of_all_magnitudes_have_finite_information():
    edges = [("a", "b", 1e300), ("b", "c", 1e-300), ("c", "d", 1.0)]
    assert np.isfinite(walk_information(efge.as_graph(edges, directed=True))).all()
    graph = efge.as_graph(edges)
    assert walk_information(graph) == pytest.approx(np.log([2, 2]))


def count_lookups(monkeypatch):
    """Return a list to which the number of edges that are looked up will be added."""
    looked_up, find_edges = [], information.find_edges

    def count(graph, first, second):
        looked_up.append(len(first))
        return find_edges(graph, first, second)

    monkeypatch.setattr(information, "find_edges", count)
    return looked_up


def test_huge_hubs_are_measured_by_fewer_walks(monkeypatch):
    graph = efge.as_graph(nx.barabasi_albert_graph(500, 5, seed=0))
    expected, looked_up = walk_information(graph), count_lookups(monkeypatch)
    monkeypatch.setattr(information, "_MAX_ENTRIES", 3000)
    assert information._measure(graph, 1024) == pytest.approx(expected, abs=0.2)
    assert 2000 < sum(looked_up) <= 3000


def test_one_walk_is_measured_however_many_neighbors_its_first_node_has(monkeypatch):
    looked_up = count_lookups(monkeypatch)
    monkeypatch.setattr(information, "_MAX_ENTRIES", 1)
    information._measure(efge.as_graph(nx.cycle_graph(9)), 1024)
    assert looked_up == [2]


def test_a_graph_on_disk_has_the_information_of_the_one_in_memory(tmp_path):
    edges = sorted(nx.gnm_random_graph(60, 200, seed=1).edges)
    (tmp_path / "edges.tsv").write_text("".join(f"{u}\t{v}\n" for u, v in edges))
    efge.convert_graph(tmp_path / "edges.tsv", tmp_path / "graph.efge")
    mapped = efge.Graph.open(tmp_path / "graph.efge")
    assert walk_information(mapped) == walk_information(efge.read_graph(tmp_path / "edges.tsv"))
