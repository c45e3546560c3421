"""Digests of neighborhoods tell which nodes have other edges than before."""

from __future__ import annotations

import numpy as np
import pytest

import efge
from efge.graph import neighborhoods
from efge.graph.neighborhoods import neighborhood_digests
from helpers import random_graph


def edges_of(graph):
    sources = np.repeat(np.arange(graph.n_nodes), graph.degrees)
    names = graph.names[sources].tolist(), graph.names[graph.indices].tolist()
    return list(zip(*names, graph.weights if graph.weights is not None else np.ones(len(sources)), strict=True))


def changed(before, after):
    rows = after.rows(before.names.tolist())
    return set(before.names[neighborhood_digests(before) != neighborhood_digests(after)[rows]].tolist())


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("chunk", [1 << 20, 7])
def test_digests_depend_neither_on_the_order_of_nodes_nor_on_chunks(directed, chunk, monkeypatch):
    graph = random_graph(1, directed, weighted=True)
    other = efge.as_graph(graph.to_scipy()[::-1][:, ::-1], directed=directed)
    other = efge.Graph(other.indptr, other.indices, other.weights, graph.names[::-1], directed)
    expected = neighborhood_digests(graph)
    monkeypatch.setattr(neighborhoods, "_CHUNK", chunk)
    np.testing.assert_array_equal(neighborhood_digests(other)[::-1], expected)


@pytest.mark.parametrize("names", [[0, 1, 2, 3], ["a", "b", "c", "d"], [(0, 1), (0, 2), "c", 2.5]])
def test_exactly_the_ends_of_changed_edges_have_other_digests(names):
    a, b, c, d = names
    before = efge.as_graph([(a, b, 1.0), (b, c, 2.0), (c, d, 3.0)])
    assert changed(before, efge.as_graph([(c, d, 3.0), (a, b, 1.0), (b, c, 2.0)])) == set()
    assert changed(before, efge.as_graph([(a, b, 1.0), (b, c, 2.0)], nodes=names)) == {c, d}
    assert changed(before, efge.as_graph([(a, b, 1.0), (b, c, 2.0), (c, d, 3.0), (a, d, 1.0)])) == {a, d}
    assert changed(before, efge.as_graph([(a, b, 1.5), (b, c, 2.0), (c, d, 3.0)])) == {a, b}


def test_a_text_among_integers_changes_no_other_digest():
    assert changed(efge.as_graph([(0, 1), (2, 3)]), efge.as_graph([(0, 1), (2, 3), (3, "new")])) == {3}


def test_a_turned_edge_changes_both_of_its_ends():
    before = efge.as_graph([("a", "b"), ("c", "d")], directed=True)
    assert changed(before, efge.as_graph([("b", "a"), ("c", "d")], directed=True)) == {"a", "b"}


def test_a_graph_without_nodes_has_no_digests():
    assert len(neighborhood_digests(efge.Graph([0], []))) == 0


@pytest.mark.parametrize("directed", [False, True])
def test_digests_among_some_nodes_are_those_of_a_graph_without_the_others(directed):
    graph = random_graph(2, directed, weighted=True)
    among = np.arange(graph.n_nodes) % 3 > 0
    smaller = graph.subgraph(graph.names[among].tolist())
    found = neighborhood_digests(graph, among)[among]
    np.testing.assert_array_equal(found, neighborhood_digests(smaller))
    assert (found != neighborhood_digests(graph)[among]).any()
