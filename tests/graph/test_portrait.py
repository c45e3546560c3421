"""What a graph looks like: the sizes of its sides, names that differ in case or blanks."""

from __future__ import annotations

import networkx as nx
import pytest

import efge
from efge.graph.conversion import ReadingRecord
from efge.graph.portrait import describe_header, side_sizes, similar_names


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


@pytest.mark.parametrize("directed", [False, True])
def test_a_header_among_the_nodes_is_found_without_reading_the_whole_graph(directed, tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("painter,muse\nann,bob\nbob,cid\n", encoding="utf-8")
    with pytest.warns(UserWarning, match="'painter' and 'muse' occur only in the first line"):
        efge.convert_graph(path, tmp_path / "graph.efge", directed=directed)
    graph = efge.Graph.open(tmp_path / "graph.efge")
    assert describe_header(graph, ReadingRecord(guesses={"header": "no"})) is not None
    assert not {"degrees", "n_self_loops"} & set(vars(graph))
