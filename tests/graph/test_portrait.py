"""What a graph looks like: the sides of a bipartite graph against NetworkX, names that differ in case or blanks."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import efge
from efge.graph.portrait import bipartite_sides, side_sizes, similar_names
from reference import color_sides


@pytest.mark.parametrize("directed", [False, True])
def test_sides_agree_with_networkx_and_the_reference(directed):
    found = set()
    for seed in range(60):
        random = np.random.default_rng(seed)
        edges = random.integers(0, 12, (random.integers(1, 12), 2)) * [1, 2] + [0, seed % 3 > 0]
        graph = efge.as_graph(edges.tolist(), directed=directed)
        sides = bipartite_sides(graph)
        plain = nx.Graph(edges.tolist())
        assert (sides is not None) == nx.is_bipartite(plain)
        expected = color_sides(graph.indptr, graph.indices)
        assert (None if sides is None else sides.tolist()) == expected
        found.add(sides is None)
    assert found == {False, True}


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
