"""Two sides: found where every edge joins them, and only there."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import efge
from efge.graph.bipartite import two_kinds, two_sides


@given(edges=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=14), directed=st.booleans())
def test_graphs_with_sides_are_those_of_networkx(edges, directed):
    graph = efge.as_graph(edges, nodes=range(10), directed=directed)
    other = nx.Graph(edges)
    sides = two_sides(graph)
    assert (sides is not None) == nx.is_bipartite(other)
    if sides is not None:
        assert all(sides[u] + sides[v] == 1 for u, v in other.edges)
        assert [side == -1 for side in sides] == [
            not other.degree(node) if node in other else True for node in range(10)
        ]


def test_the_first_node_of_each_component_is_on_the_first_side():
    edges = [("ann", "tea"), ("bob", "milk"), ("bob", "tea"), ("cid", "wine")]
    graph = efge.as_graph(edges)
    sides = dict(zip(graph, two_sides(graph).tolist(), strict=True))
    assert sides == {"ann": 0, "bob": 0, "cid": 0, "tea": 1, "milk": 1, "wine": 1}
    assert two_kinds(graph) is None, "a forest"
    assert two_kinds(efge.as_graph([*edges, ("ann", "milk")])) is not None


def purchases(users=30, items=12, seed=0):
    random = np.random.default_rng(seed)
    return [(f"user {u}", f"item {i}") for u in range(users) for i in random.choice(items, 4, replace=False)]


@pytest.mark.parametrize("negatives", ["uniform", "degree"])
@pytest.mark.parametrize("listed", [True, False], ids=["listed", "drawn"])
def test_negative_pairs_join_the_sides_as_edges_do(monkeypatch, negatives, listed):
    if not listed:
        monkeypatch.setattr("efge.evaluation.splits._MAX_LISTED_PAIRS", 0)
    edges = purchases()
    graph = efge.as_graph(edges)
    split = efge.split_links(graph, 0.2, negatives=negatives)
    names = graph.names[np.concatenate([split.train_non_edges, split.test_non_edges])].tolist()
    assert all({first.split()[0], second.split()[0]} == {"user", "item"} for first, second in names)
    assert not {frozenset(pair) for pair in names} & {frozenset(edge) for edge in edges}
    assert len(split.test_non_edges) == len(split.test_edges)
    assert "The graph is bipartite: negative pairs join its two sides, as edges do." in split.notes
    anywhere = efge.split_links(graph, 0.2, negatives=negatives, sides=None)
    names = graph.names[anywhere.test_non_edges].tolist()
    assert any(first.split()[0] == second.split()[0] for first, second in names)
    assert (anywhere.test_edges == split.test_edges).all()
    assert not any("bipartite" in note for note in anywhere.notes)


def test_heuristics_that_need_common_neighbors_are_said_to_tell_nothing_of_two_sides():
    options = {"test_size": 0.2, "repeats": 2, "features": ["dot"]}
    blind = "common-neighbors, jaccard, adamic-adar, resource-allocation cannot tell anything here"
    assert any(note.startswith(blind) for note in efge.link_prediction(purchases(), efge.HOPE(dim=4), **options).notes)
    triangles = [(i, (i + step) % 30) for i in range(30) for step in (1, 2)]
    assert not any("cannot tell" in note for note in efge.link_prediction(triangles, efge.HOPE(dim=4), **options).notes)


def test_sides_can_be_named_and_are_checked():
    items = [f"item {number}" for number in range(12)]
    split = efge.split_links(purchases(), 0.2, sides=items)
    names = split.graph.names[split.test_non_edges].tolist()
    assert all((first in items) != (second in items) for first, second in names)
    with pytest.raises(efge.EvaluationError, match=r"an edge joins the two sides; .* are on the same side"):
        efge.split_links(purchases(), 0.2, sides=items[1:])
    with pytest.raises(efge.EvaluationError, match="sides is 'auto', None, or the names"):
        efge.split_links(purchases(), 0.2, sides="items")


def test_graphs_of_one_kind_have_negatives_of_any_nodes():
    path = nx.path_graph(40)
    path.add_edge(0, 2)
    split = efge.split_links(path, 0.02)
    both = np.concatenate([split.train_non_edges, split.test_non_edges])
    assert (both.sum(axis=1) % 2 == 0).any()
