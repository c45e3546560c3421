"""What a graph looks like: the sizes of its sides, names that differ in case or blanks."""

from __future__ import annotations

import networkx as nx

import efge
from efge.graph.portrait import side_sizes, similar_names


def test_side_sizes_of_users_and_items():
    graph = efge.as_graph([("u1", "i1"), ("u2", "i1"), ("u2", "i2"), ("u3", "i3")], nodes=["zoe"])
    assert side_sizes(graph) == (3, 3)
    assert side_sizes(efge.as_graph(nx.complete_bipartite_graph(15, 4))) == (15, 4)
    assert side_sizes(efge.as_graph(nx.cycle_graph(5))) is None
    assert side_sizes(efge.as_graph([(0, 0)])) is None


def test_names_that_differ_only_by_case_or_blanks_are_found():
    graph = efge.as_graph([("Ann", "bob"), ("ann", "b ob"), ("b  ob", "cid"), (1, 2)])
    assert similar_names(graph) == [["Ann", "ann"], ["b ob", "b  ob"]]
    assert similar_names(efge.as_graph([(1, 2)])) == []
