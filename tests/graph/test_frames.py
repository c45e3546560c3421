"""Tables and mappings in memory: no wrong graph, and what is ambiguous is asked for by name."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

import efge

FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]
TRIANGLE = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]])


def edges_of(graph):
    rows, columns = graph.to_scipy().tocoo().coords
    return sorted((graph.names[i], graph.names[j]) for i, j in zip(rows, columns, strict=True) if i < j)


@pytest.mark.parametrize("frame", FRAMES)
def test_ambiguous_columns_are_asked_for_by_name(frame):
    content = {"ev": ["e1", "e1"], "proteinA": ["P1", "P2"], "proteinB": ["P2", "P3"], "score": [0.5, 0.7]}
    advice = "choose them, as source='proteinA', target='proteinB', weight='score'"
    with pytest.raises(efge.GraphError, match=rf"got 4 columns \(ev, proteinA, proteinB, score\); {advice}"):
        efge.as_graph(frame(content))
    graph = efge.as_graph(frame(content), source="proteinA", target="proteinB", weight="score")
    assert edges_of(graph) == [("P1", "P2"), ("P2", "P3")]
    del content["score"]
    with pytest.raises(efge.GraphError, match=r"got 3 columns \(ev, proteinA, proteinB\)"):
        efge.as_graph(frame(content))


def test_advice_on_columns_names_the_function_that_takes_it():
    events = pd.DataFrame({"a": ["x", "y"], "b": ["y", "z"], "weight": [1, 2], "date": ["5 May", "6 May"]})
    with pytest.raises(efge.GraphError, match=r"source='a', target='b', weight='weight' \(--source.*efge\.as_graph"):
        efge.EFGE().fit(events)
    ratings = pd.DataFrame({"user": [1, 2], "movie": [2, 3]})
    with pytest.warns(UserWarning, match=r"bipartite=True .*efge\.as_graph"), pytest.raises(efge.EvaluationError):
        efge.recommendation(ratings, efge.HOPE(dim=2))


@pytest.mark.parametrize("frame", FRAMES)
def test_an_unread_numeric_column_is_pointed_out(frame):
    content = {"source": ["a", "b"], "target": ["b", "c"], "score": [0.5, 0.7], "note": ["x", "y"]}
    with pytest.warns(UserWarning, match=r"the column 'score' is ignored; .* pass weight='score' \(--weight score\)"):
        assert not efge.as_graph(frame(content)).is_weighted
    assert efge.as_graph(frame(content), weight="score").is_weighted
    assert not efge.as_graph(frame(content), weighted=False).is_weighted


def test_unread_attributes_of_graphs_and_parquet_files_are_pointed_out_alike(tmp_path):
    graph = nx.Graph()
    graph.add_edge("a", "b", score=0.5, label="x", id=3)
    igraph = pytest.importorskip("igraph")
    pd.DataFrame({"source": ["a"], "target": ["b"], "score": [0.5]}).to_parquet(tmp_path / "e.parquet")
    nx.write_graphml(graph, tmp_path / "e.graphml")
    for x in (graph, igraph.Graph.from_networkx(graph), tmp_path / "e.parquet", tmp_path / "e.graphml"):
        with pytest.warns(UserWarning, match=r"'score' is ignored; if it is the weight, pass weight='score'"):
            efge.as_graph(x)
        assert efge.as_graph(x, weight="score").is_weighted


def test_numbered_columns_of_a_frame_follow_the_rule_of_files():
    graph = efge.as_graph(pd.DataFrame([("a", "b", 2.0), ("b", "c", 3.0)]))
    assert graph.is_weighted
    with pytest.raises(efge.GraphError, match="got 4 columns; choose them, as source=0, target=1"):
        efge.as_graph(pd.DataFrame([("a", "b", "c", "d")]))


def test_an_adjacency_frame_is_a_matrix_with_names():
    names = ["ann", "bob", "cid"]
    by_index = pd.DataFrame(TRIANGLE, names, names)
    first_column = {"": names} | {name: column.tolist() for name, column in zip(names, TRIANGLE, strict=True)}
    for frame in (by_index, by_index.reset_index(), pl.DataFrame(first_column), pa.table(first_column)):
        assert edges_of(efge.as_graph(frame)) == [("ann", "bob"), ("ann", "cid"), ("bob", "cid")]
    weighted = efge.as_graph(pd.DataFrame(2.5 * TRIANGLE, names, names))
    assert weighted.weights.tolist() == [2.5] * 6
    large = efge.as_graph(pd.DataFrame(nx.to_numpy_array(nx.path_graph(5))))
    assert (large.n_nodes, large.n_edges) == (5, 4)


@pytest.mark.parametrize("columns", [None, ["a", "b", "c"]])
def test_a_square_frame_that_may_be_a_list_of_edges_is_refused(columns):
    frame = pd.DataFrame(TRIANGLE, columns=columns)
    with pytest.raises(efge.GraphError, match="a table of 3 x 3 numbers may be an adjacency matrix or a list of edges"):
        efge.as_graph(frame)
    assert efge.as_graph(frame, names=["x", "y", "z"]).n_edges == 3
    assert efge.as_graph(frame, source=0, target=1, weighted=False).n_nodes == 2
    assert efge.as_graph(pd.DataFrame([(0, 1), (1, 2)])).n_nodes == 3


def test_rows_and_columns_of_a_matrix_have_one_order():
    with pytest.raises(efge.GraphError, match="the rows of an adjacency matrix are in the order of its columns"):
        efge.as_graph(pd.DataFrame(TRIANGLE, ["a", "b", "c"], ["b", "a", "c"]))


def test_names_label_the_rows_of_a_matrix():
    names = [f"n{i}" for i in range(50)]
    matrix = nx.to_scipy_sparse_array(nx.cycle_graph(50))
    for x in (matrix, matrix.toarray(), scipy.sparse.csr_matrix(matrix)):
        graph = efge.as_graph(x, names=names)
        assert (graph.n_nodes, graph.neighbors("n0")) == (50, ["n1", "n49"])
        with pytest.raises(efge.GraphError, match=r"nodes= adds nodes to the 50 of the matrix; .* pass names="):
            efge.as_graph(x, nodes=names)
    assert efge.as_graph(matrix, nodes=[50, 51]).n_isolated == 2
    for wrong, message in (
        (names[:-1], "a name for each of 50 rows; got 49"),
        (["x"] * 50, "node names are distinct"),
        ("text", "names is a list of node names"),
        (3, "names is a list of node names"),
    ):
        with pytest.raises(efge.GraphError, match=message):
            efge.as_graph(matrix, names=wrong)
    for x in (
        [("a", "b")],
        nx.path_graph(3),
        np.array([[0, 1], [1, 2], [2, 3]]),
        {"a": ["b"]},
        [{"source": 1, "target": 2}],
    ):
        with pytest.raises(efge.GraphError, match="labels the rows of a matrix"):
            efge.as_graph(x, names=["x"])


def test_records_are_edges():
    records = [{"source": "ann", "target": "bob"}, {"target": "cid", "source": "bob"}]
    assert edges_of(efge.as_graph(records)) == [("ann", "bob"), ("bob", "cid")]
    assert efge.as_graph(iter(records)).n_nodes == 3
    weighted = efge.as_graph([{"u": 1, "v": 2, "x": 0.5}], source="u", target="v", weight="x")
    assert weighted.weights.tolist() == [0.5, 0.5]
    with pytest.raises(
        efge.GraphError, match=r"edge 1: all edges have the keys \['source', 'target'\]; got \['source'\]"
    ):
        efge.as_graph([records[0], {"source": "x"}])
    with pytest.raises(efge.GraphError, match=r"got 4 columns \(a, b, c, d\)"):
        efge.as_graph([{"a": 1, "b": 2, "c": 3, "d": 4}])


def test_dicts_of_neighbors_are_understood():
    graph = nx.les_miserables_graph()
    assert efge.as_graph(nx.to_dict_of_dicts(graph)).fingerprint() == efge.as_graph(graph).fingerprint()
    plain = efge.as_graph(nx.to_dict_of_lists(graph))
    assert (plain.n_nodes, plain.n_edges, plain.is_weighted) == (77, 254, False)
    assert edges_of(efge.as_graph({"a": {"b": 2}, "b": {"c": 3}})) == [("a", "b"), ("b", "c")]
    assert efge.as_graph({"a": {"b", "c"}}, directed=True).directed
    with pytest.raises(
        efge.GraphError, match="an undirected edge has one weight; some edges are there in both directions"
    ):
        efge.as_graph({"a": {"b": 2}, "b": {"a": 3}})
    assert efge.as_graph({"a": {"b": 2}, "b": {"a": 3}}, directed=True).weights.tolist() == [2, 3]


def test_dicts_that_may_be_columns_are_refused():
    columns = {"proteinA": ["P1", "P2"], "proteinB": ["P2", "P3"]}
    with pytest.raises(efge.GraphError, match="may be columns, or nodes with their neighbors"):
        efge.as_graph(columns)
    assert edges_of(efge.as_graph(columns, source="proteinA", target="proteinB")) == [("P1", "P2"), ("P2", "P3")]
    assert edges_of(efge.as_graph({"from": ["a"], "to": ["b"]})) == [("a", "b")]
    with pytest.raises(efge.GraphError, match="columns have the same length; got source: 1, target: 2"):
        efge.as_graph({"source": ["a"], "target": ["b", "c"]})
    with pytest.raises(efge.GraphError, match="a dict is columns"):
        efge.as_graph({"a": 1})


def test_triples_are_refused_with_the_columns_to_choose():
    triples = [("ann", "knows", "bob"), ("bob", "likes", "cid")]
    with pytest.raises(efge.GraphError, match="triples of subject, predicate and object, pass source=0, target=2"):
        efge.as_graph(triples)
    assert edges_of(efge.as_graph(triples, source=0, target=2)) == [("ann", "bob"), ("bob", "cid")]


def test_bipartite_graphs_of_networkx_are_read_and_their_matrices_explained():
    graph = nx.bipartite.random_graph(5, 4, 0.5, seed=1)
    assert efge.as_graph(graph).n_edges == graph.number_of_edges()
    matrix = nx.bipartite.biadjacency_matrix(graph, range(5), range(5, 9))
    with pytest.raises(
        efge.GraphError, match=r"an adjacency matrix is square; got shape \(5, 4\); if rows and columns are two"
    ):
        efge.as_graph(matrix)
    assert efge.as_graph(matrix, bipartite=True).n_edges == graph.number_of_edges()


def test_triples_and_users_with_items_are_known_by_their_columns():
    triples = pd.DataFrame({"subject": ["ann", "bob"], "predicate": ["knows", "likes"], "object": ["bob", "cid"]})
    assert efge.as_graph(triples).neighbors("bob") == ["ann", "cid"]
    rated = pd.DataFrame({"rating": [3, 4], "user": ["ann", "bob"], "item": ["tea", "tea"]})
    with pytest.warns(UserWarning, match="'rating' is ignored"):
        assert efge.as_graph(rated).neighbors("tea") == ["ann", "bob"]


def test_the_advice_for_a_table_of_rows_and_columns_works():
    x = np.eye(4, 7)
    with pytest.raises(efge.GraphError, match="two kinds of nodes, such as users and items, pass bipartite=True"):
        efge.as_graph(x)
    assert efge.as_graph(x, bipartite=True).n_edges == 4


def test_a_column_that_begins_with_zero_is_pointed_out_too():
    frame = pd.DataFrame({"user": ["a", "b", "c"], "item": ["x", "y", "x"], "rating": [0, 2, 3]})
    with pytest.warns(UserWarning, match="the column 'rating' is ignored"):
        assert not efge.as_graph(frame).is_weighted


def test_a_series_of_lists_has_the_neighbors_of_its_index():
    lists = pd.Series({"ann": ["bob", "cid"], "bob": ["cid", "dan"], "eve": ["ann", "dan"]})
    expected = [("ann", "bob"), ("ann", "cid"), ("ann", "eve"), ("bob", "cid"), ("bob", "dan"), ("dan", "eve")]
    assert sorted(tuple(sorted(edge)) for edge in edges_of(efge.as_graph(lists))) == expected
    assert efge.as_graph(lists.map(set)).fingerprint() == efge.as_graph(lists).fingerprint()
    assert efge.as_graph(pd.Series([[1, 2, 3], [2], []])).names.tolist() == [0, 1, 2, 3]
    assert efge.as_graph(pd.Series({"ann": {"bob": 2.0}})).weights.tolist() == [2.0, 2.0]
    with pytest.raises(efge.GraphError, match=r"may be neighbors or edges; pass series\.to_dict"):
        efge.as_graph(pd.Series([[1, 2], [2, 0], [0, 1]]))
    with pytest.raises(efge.GraphError, match="a node has one list of neighbors; 'ann' has several"):
        efge.as_graph(pd.Series([["bob"], ["cid"]], index=["ann", "ann"]))


def test_an_array_that_may_be_an_edge_index_is_pointed_out():
    array = np.array([[0, 1, 1], [1, 0, 2]])
    with pytest.warns(UserWarning, match="read as two edges with weights; pass its transpose"):
        assert efge.as_graph(array).n_edges == 1
    assert efge.as_graph(array.T).n_edges == 2
    assert efge.as_graph(array, source=0, target=1, weight=2).n_edges == 1


@pytest.mark.parametrize(
    "graph",
    [
        [(1, "a"), ("1", "b"), (2, "2")],
        pd.DataFrame({"source": [1, 2], "target": ["2", "1"]}),
        {1: ["2"], 2: ["1"]},
        nx.Graph([(1, 2), ("1", "2")]),
    ],
    ids=["pairs", "frame", "dict", "networkx"],
)
def test_integers_beside_the_same_numbers_as_text_are_pointed_out(graph):
    with pytest.warns(UserWarning, match="1 as an integer and '1' as text are different nodes, and so are 1 other"):
        efge.as_graph(graph)


def test_the_name_na_is_a_node_and_missing_names_say_where_they_may_come_from(tmp_path):
    path = tmp_path / "countries.csv"
    path.write_text("source,target\nNA,ZA\nNA,AO\n")
    assert efge.read_graph(path).names.tolist() == ["NA", "ZA", "AO"]
    assert efge.as_graph(pd.read_csv(path, keep_default_na=False)).names.tolist() == ["NA", "ZA", "AO"]
    with pytest.raises(efge.GraphError, match=r"column 'source', row 0: .* unless you pass keep_default_na=False"):
        efge.as_graph(pd.read_csv(path))


def test_frames_whose_names_are_not_in_columns_say_what_to_do():
    frame = pd.DataFrame({"weight": [1, 2], "x": [3, 4]}, index=pd.MultiIndex.from_tuples([("a", "b"), ("b", "c")]))
    with pytest.raises(efge.GraphError, match=r"pass frame\.reset_index\(\)"):
        efge.as_graph(frame)
    lists = {"node": ["ann", "bob"], "friends": [["bob", "cid"], ["cid"]]}
    for table in (pd.DataFrame(lists), pl.DataFrame(lists)):
        with pytest.raises(efge.GraphError, match=r"column 'friends' has lists, not names; pass frame\.explode"):
            efge.as_graph(table)
        assert efge.as_graph(table.explode("friends")).n_edges == 3


def test_row_numbers_and_two_weights_are_asked_for():
    frame = pd.DataFrame({"Unnamed: 0": [0, 1], "u": [1, 2], "v": [2, 3]})
    with pytest.raises(efge.GraphError, match="as source='u', target='v' "):
        efge.as_graph(frame)
    with pytest.raises(efge.GraphError, match="2 columns are named 'weight'"):
        efge.as_graph(pd.DataFrame([[1, 2, 3, 4]], columns=["source", "target", "weight", "weight"]))


def test_masked_values_and_truth_values_are_no_edges():
    masked = np.ma.masked_array([[0, 1], [1, 0]], mask=[[0, 1], [0, 0]])
    with pytest.raises(efge.GraphError, match=r"pass array\.filled\(0\)"):
        efge.as_graph(masked)
    with pytest.raises(efge.GraphError, match="a column of truth values has no names of nodes"):
        efge.as_graph(pd.DataFrame({"source": [True, False], "target": [1, 2]}))


@pytest.mark.parametrize("columns", [("key", "value"), ("count", "item")])
def test_a_node_is_no_weight_whatever_its_column_is_called(columns):
    frame = pd.DataFrame([[1, 3], [2, 4]], columns=list(columns))
    source, target = columns
    with pytest.raises(efge.GraphError, match=f"source='{source}', target='{target}'"):
        efge.as_graph(frame)
    assert not efge.as_graph(frame, source=source, target=target).is_weighted
    with pytest.raises(efge.GraphError, match=f"by its name or counted from 0; got weight='{target}'"):
        efge.as_graph(frame, source=source, target=target, weight=target)
    frame["weight"] = [5, 6]
    assert efge.as_graph(frame, source=source, target=target).weights.tolist() == [5, 5, 6, 6]


@pytest.mark.parametrize("column", [True, False])
def test_a_truth_value_is_no_column(column):
    with pytest.raises(TypeError, match=f"weight is the name or the number of a column; got {column}"):
        efge.as_graph([(1, 2, 3)], weight=column)


def test_columns_are_counted_from_0(tmp_path):
    (tmp_path / "edges.txt").write_text("1 2 3\n2 3 4\n", encoding="utf-8")
    with pytest.raises(efge.GraphError, match="by its name or counted from 0; got weight=1"):
        efge.read_graph(tmp_path / "edges.txt", weight=1)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({1: [], 5: []}, dtype=float),
        pd.DataFrame({"a": [], "b": []}, dtype=float).rename_axis(columns="item"),
        pd.DataFrame({"user": [], 1: [], 5: []}).astype({"user": object, 1: float, 5: float}),
    ],
)
def test_a_pivot_table_without_rows_says_what_to_do(frame):
    with pytest.raises(efge.GraphError, match="pass bipartite=True"):
        efge.as_graph(frame)
