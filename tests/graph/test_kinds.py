"""Two kinds of nodes: names of two columns that overlap are pointed out, and kept apart on demand, from any input."""

from __future__ import annotations

import io
import json
import warnings

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import coo_array

import efge
from efge.graph.kinds import _are_two_kinds
from helpers import assert_fails, run

RATINGS = [(1, 1, 5.0), (1, 2, 3.0), (2, 1, 4.0), (3, 2, 1.0)]
FRAME = pd.DataFrame(RATINGS, columns=["user", "item", "weight"])
TEXT = FRAME.to_csv(index=False)
NAMES = ["user:1", "item:1", "item:2", "user:2", "user:3"]


def written(folder, name):
    path = folder / name
    if name.endswith(".parquet"):
        FRAME.to_parquet(path)
    elif name.endswith(".jsonl"):
        path.write_text("\n".join(json.dumps(row) for row in FRAME.to_dict("records")))
    else:
        path.write_text(TEXT)
    return path


TABLES = {
    "pandas": lambda folder: FRAME,
    "polars": lambda folder: pl.DataFrame(FRAME.to_dict("list")),
    "arrow": lambda folder: pa.Table.from_pandas(FRAME),
    "records": lambda folder: FRAME.to_dict("records"),
    "columns": lambda folder: FRAME.to_dict("list"),
    "csv": lambda folder: written(folder, "ratings.csv"),
    "parquet": lambda folder: written(folder, "ratings.parquet"),
    "jsonl": lambda folder: written(folder, "ratings.jsonl"),
}


@pytest.mark.parametrize("kind", TABLES)
def test_users_and_items_with_the_same_numbers_are_pointed_out(kind, tmp_path):
    table = TABLES[kind](tmp_path)
    with pytest.warns(
        UserWarning, match=r"2 names are in both columns, 'user' and 'item'.*pass bipartite=True"
    ) as caught:
        merged = efge.as_graph(table)
    assert (len(caught), merged.n_nodes) == (1, 3)


@pytest.mark.parametrize("kind", TABLES)
def test_names_of_two_kinds_begin_with_their_column(kind, tmp_path):
    graph = efge.as_graph(TABLES[kind](tmp_path), bipartite=True)
    assert graph.names.tolist() == NAMES
    assert graph.neighbors("user:1") == ["item:1", "item:2"]
    assert graph.weights[graph.indptr[0] : graph.indptr[1]].tolist() == [5.0, 3.0]


@pytest.mark.parametrize("kind", TABLES)
def test_one_kind_is_taken_without_a_warning_if_the_user_says_so(kind, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert efge.as_graph(TABLES[kind](tmp_path), bipartite=False).n_nodes == 3


@pytest.mark.parametrize(
    ("edges", "names"),
    [
        ([(7, 7), (7, 8)], ["source:7", "target:7", "target:8"]),
        (np.array([[7, 7], [7, 8], [7, 7]]), ["source:7", "target:7", "target:8"]),
        ([("ann", "ann")], ["source:ann", "target:ann"]),
    ],
)
def test_columns_without_names_are_source_and_target(edges, names):
    graph = efge.as_graph(edges, bipartite=True)
    assert graph.names.tolist() == names
    assert graph.n_self_loops == 0


@pytest.mark.parametrize(
    ("first", "second", "two"),
    [
        ("user", "item", True), ("user_id", "movieId", True), ("CustomerID", "ProductID", True),
        ("author", "paper", True),
        ("source", "target", False), ("from", "to", False), ("id1", "id2", False), ("a", "b", False), ("u", "v", False),
        ("proteinA", "proteinB", False), ("node_1", "node_2", False), ("follower", "followee", False),
        ("src_ip", "dst_ip", False), ("user_id", "user_id_2", False), ("citing", "cited", False), ("0", "1", False),
        ("FromNodeId", "ToNodeId", False), ("user", "friend", False), ("parent", "child", False),
    ],
)  # fmt: skip
def test_names_of_columns_tell_two_kinds_from_two_roles(first, second, two):
    assert _are_two_kinds(first, second) == two


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"source": [1, 2, 3], "target": [2, 3, 1]}),
        pd.DataFrame({"user": [1, 2, 3], "item": [11, 12, 13]}),
        pd.DataFrame({"user": ["ann", "bob"], "item": ["bob", "ann"]}),
    ],
    ids=["roles", "different numbers", "text"],
)
def test_other_columns_are_not_pointed_out(frame):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        efge.as_graph(frame)


SEEN = pd.DataFrame([[1, 0, 2], [0, 3, np.nan]], index=["ann", "bob"], columns=["tea", "milk", "jam"])
WIDE = pd.DataFrame({"user": ["ann", "bob"], "tea": [1, 0], "milk": [0, 3], "jam": [2.0, None]})


@pytest.mark.parametrize(
    "frame", [SEEN, WIDE, pl.DataFrame(WIDE.to_dict("list")), pa.Table.from_pandas(WIDE), SEEN[["tea", "milk"]]],
    ids=["index", "first column", "polars", "arrow", "two columns"],
)  # fmt: skip
def test_a_table_of_users_and_items_is_refused_with_what_to_do(frame):
    with pytest.raises(efge.GraphError, match=r"numbers whose rows have names, as 'ann'.*pass bipartite=True"):
        efge.as_graph(frame)


@pytest.mark.parametrize(
    ("frame", "kinds"),
    [
        (SEEN, ("row", "column")),
        (SEEN.rename_axis(index="user", columns="item"), ("user", "item")),
        (WIDE, ("user", "column")),
        (pl.DataFrame(WIDE.to_dict("list")), ("user", "column")),
        (pa.Table.from_pandas(WIDE), ("user", "column")),
    ],
    ids=["index", "named index", "first column", "polars", "arrow"],
)
def test_a_table_of_users_and_items_is_read(frame, kinds):
    graph = efge.as_graph(frame, bipartite=True)
    row, column = kinds
    names = [f"{row}:ann", f"{row}:bob", f"{column}:tea", f"{column}:milk", f"{column}:jam"]
    assert graph.names.tolist() == names
    assert graph.neighbors(f"{row}:ann") == [f"{column}:tea", f"{column}:jam"]
    assert graph.weights.tolist() == [1.0, 2.0, 3.0, 1.0, 3.0, 2.0]


@pytest.mark.parametrize("matrix", [np.eye(2, 4), coo_array(np.eye(2, 4)), coo_array(np.eye(2, 2))])
def test_a_matrix_may_have_any_shape(matrix):
    graph = efge.as_graph(matrix, bipartite=True)
    assert graph.names.tolist()[:3] == ["row:0", "row:1", "column:0"]
    assert graph.neighbors("row:1") == ["column:1"]
    assert graph.n_nodes == sum(matrix.shape)


def test_matrices_that_are_not_square_say_what_to_do():
    for matrix in (np.eye(5, 4), coo_array(np.eye(2, 4))):
        with pytest.raises(efge.GraphError, match="two kinds of nodes, such as users and items, pass bipartite=True"):
            efge.as_graph(matrix)


@pytest.mark.parametrize("graph", [nx.path_graph(3), efge.as_graph([(0, 1)]), {"ann": ["tea"], "bob": ["tea", "jam"]}])
def test_graphs_that_name_their_nodes_refuse_the_option(graph):
    with pytest.raises(efge.GraphError, match="this graph names its nodes itself"):
        efge.as_graph(graph, bipartite=True)


def test_further_nodes_and_converted_files_refuse_the_option(tmp_path):
    with pytest.raises(efge.GraphError, match="do not go together"):
        efge.as_graph(RATINGS, nodes=[9], bipartite=True)
    path = written(tmp_path, "ratings.csv")
    with pytest.raises(efge.GraphError, match="do not go together"):
        efge.read_graph(path, nodes=[9], bipartite=True)
    with pytest.raises(efge.GraphError, match="write the kind before each name"):
        efge.convert_graph(path, tmp_path / "graph.efge", bipartite=True)
    neighbors = tmp_path / "graph.adj"
    neighbors.write_text("1 2 3\n")
    with pytest.raises(efge.GraphError, match="names its nodes itself"):
        efge.read_graph(neighbors, bipartite=True)


def test_the_shell_has_the_option_too(tmp_path):
    written(tmp_path, "ratings.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        done = run("walks", "ratings.csv", "-o", "w.txt", cwd=tmp_path)
    assert "pass bipartite=True (--bipartite)" in done.stderr
    advice = [line for line in run("info", "ratings.csv", cwd=tmp_path).stdout.splitlines() if "looks wrong" in line]
    assert len(advice) == 1
    assert "pass bipartite=True (--bipartite)" in advice[0]
    done = run("info", "ratings.csv", "--bipartite", cwd=tmp_path)
    assert (done.stderr, "looks wrong" in done.stdout) == ("", False)
    assert "bipartite          3 + 2" in done.stdout
    done = run("info", "ratings.csv", "--one-kind", cwd=tmp_path)
    assert (done.stderr, "looks wrong" in done.stdout) == ("", False)
    (tmp_path / "table.csv").write_text("user,tea,milk,jam\nann,1,0,2\nbob,0,3,1\n")
    done = run("info", "table.csv", cwd=tmp_path)
    assert_fails(done, "table.csv, line 1: an edge has two node names")
    assert "pass pandas.read_csv(file, index_col=0) to efge.as_graph, with bipartite=True" in done.stderr


@pytest.mark.parametrize("first", ["-0.5", "0", "3"])
def test_an_unread_column_is_pointed_out_whatever_its_first_number(first, tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text(f"source,target,score\na,b,{first}\nb,c,2\n")
    for graph in (path, pd.read_csv(path), pd.read_csv(path).to_dict("records")):
        with pytest.warns(UserWarning, match="the column 'score' is ignored"):
            efge.as_graph(graph)


def pivot(columns):
    """Return a table of users 1 to 4 and as many items, numbered from 100."""
    values = np.triu(np.arange(1, 4 * columns + 1).reshape(4, columns))
    items = pd.Index(range(100, 100 + columns), name="item")
    return pd.DataFrame(values, index=pd.Index(range(1, 5), name="user"), columns=items)


@pytest.mark.parametrize("columns", [2, 3, 4, 6])
def test_a_pivot_table_of_integers_is_no_list_of_edges(columns, tmp_path):
    table = pivot(columns)
    flat, path = table.reset_index(), tmp_path / "table.csv"
    flat.to_csv(path, index=False)
    renamed = table.rename(columns=lambda item: f"movie {item}").reset_index()
    graphs = [table, flat, pd.read_csv(path), renamed, pl.read_csv(path)]
    for frame in graphs:
        with pytest.raises(efge.GraphError, match=r"names no columns of nodes; pass bipartite=True"):
            efge.as_graph(frame)
        graph = efge.as_graph(frame, bipartite=True)
        assert graph.names.tolist()[:5] == [f"user:{user}" for user in range(1, 5)] + [graph.neighbors("user:1")[0]]
        assert graph.n_nodes == 4 + columns
        assert graph.n_edges == np.count_nonzero(table)
    with pytest.raises(efge.GraphError, match=r"pass pandas.read_csv\(file, index_col=0\).*bipartite=True"):
        efge.read_graph(path)


def test_an_edge_that_became_the_header_is_refused():
    for text in ("1,2\n2,3\n", "ann,bob,0.5\nbob,cid,2\n"):
        with pytest.raises(efge.GraphError, match=r"pass header=None to pandas\.read_csv"):
            efge.as_graph(pd.read_csv(io.StringIO(text)))
        assert efge.as_graph(pd.read_csv(io.StringIO(text), header=None)).n_edges == 2


def test_integers_that_may_name_the_rows_of_a_wide_table_are_asked_for():
    table = pd.DataFrame({"user": [7, 8], "tea": [1, 1], "milk": [0, 3], "jam": [2, 0], "rum": [1, 0]})
    with pytest.raises(efge.GraphError, match="the first column, 'user', has distinct integers and may name the rows"):
        efge.as_graph(table, bipartite=True)
    assert efge.as_graph(table.astype({"user": str}), bipartite=True).names.tolist()[:2] == ["user:7", "user:8"]
    assert efge.as_graph(table.set_index("user"), bipartite=True).names.tolist()[:2] == ["user:7", "user:8"]
