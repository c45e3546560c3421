"""A graph converts to the same Graph from every supported type of object."""

import subprocess
import sys

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import efge
from efge import GraphError, as_graph

NAMED = [("ann", "bob", 2.0), ("bob", "cid", 0.5), ("cid", "ann", 1.0), ("dan", "dan", 3.0)]
NUMBERED = [(0, 1, 2.0), (1, 2, 0.5), (0, 2, 1.0), (3, 3, 3.0)]


class Data:
    """A stand-in for PyTorch Geometric's Data."""

    def __init__(self, edge_index, num_nodes=None, **attributes):
        self.edge_index = np.asarray(edge_index)
        self.num_nodes = num_nodes
        self.__dict__.update(attributes)


def networkx_graph(edges, kind=nx.Graph):
    graph = kind()
    graph.add_weighted_edges_from(edges)
    return graph


def columns(edges):
    source, target, weight = zip(*edges, strict=True)
    return {"source": list(source), "target": list(target), "weight": list(weight)}


def dense(edges, symmetric=True):
    n = 1 + max(max(u, v) for u, v, _ in edges)
    matrix = np.zeros((n, n))
    for u, v, weight in edges:
        matrix[u, v] = weight
        if symmetric:
            matrix[v, u] = weight
    return matrix


def both_ways(edges):
    back = [(v, u, weight) for u, v, weight in edges if u != v]
    u, v, weight = zip(*edges, *back, strict=True)
    return Data([u, v], edge_weight=np.array(weight))


NAMED_KINDS = {
    "graph": as_graph,
    "pairs": list,
    "tuple": tuple,
    "generator": lambda edges: (edge for edge in edges),
    "lists": lambda edges: [list(edge) for edge in edges],
    "networkx": networkx_graph,
    "networkx multi": lambda edges: networkx_graph(edges, nx.MultiGraph),
    "pandas": lambda edges: pd.DataFrame(columns(edges)),
    "pandas categories": lambda edges: pd.DataFrame(columns(edges)).astype(
        {"source": "category", "target": "category"}
    ),
    "pandas objects": lambda edges: pd.DataFrame(columns(edges)).astype({"source": object, "target": object}),
    "pandas arrow": lambda edges: pd.DataFrame(columns(edges)).convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda edges: pl.DataFrame(columns(edges)),
    "polars categories": lambda edges: pl.DataFrame(columns(edges)).cast({"source": pl.Categorical}),
    "arrow": lambda edges: pa.table(columns(edges)),
    "arrow batch": lambda edges: pa.RecordBatch.from_pydict(columns(edges)),
    "arrow dictionary": lambda edges: pa.table(
        {k: pa.array(v).dictionary_encode() if k != "weight" else v for k, v in columns(edges).items()}
    ),
    "arrow chunks": lambda edges: pa.concat_tables([pa.table(columns(edges[:1])), pa.table(columns(edges[1:]))]),
    "objects array": lambda edges: np.array(edges, object),
    "text array": lambda edges: np.array([[u, v, str(weight)] for u, v, weight in edges]),
    "igraph": lambda edges: igraph.Graph.TupleList(edges, weights=True),
}
NUMBERED_KINDS = {
    "graph": as_graph,
    "pairs": list,
    "networkx": networkx_graph,
    "pandas": lambda edges: pd.DataFrame(columns(edges)),
    "pandas nullable": lambda edges: pd.DataFrame(columns(edges)).convert_dtypes(),
    "pandas small": lambda edges: pd.DataFrame(columns(edges)).astype({"source": "uint8", "target": "int16"}),
    "pandas floats": lambda edges: pd.DataFrame(columns(edges)).astype({"source": "float64"}),
    "polars": lambda edges: pl.DataFrame(columns(edges)),
    "arrow": lambda edges: pa.table(columns(edges)),
    "edge array": lambda edges: np.array(edges),
    "dense": dense,
    "sparse array": lambda edges: sp.csr_array(dense(edges)),
    "sparse matrix": lambda edges: sp.csr_matrix(dense(edges)),
    "igraph": lambda edges: igraph.Graph(
        len(dense(edges)), [edge[:2] for edge in edges], edge_attrs={"weight": [edge[2] for edge in edges]}
    ),
    "geometric": both_ways,
}


@pytest.mark.parametrize("kind", NAMED_KINDS)
def test_a_graph_with_names_is_the_same_from_any_type(kind):
    graph = as_graph(NAMED_KINDS[kind](NAMED))
    assert graph.names.tolist() == ["ann", "bob", "cid", "dan"]
    assert graph.fingerprint() == as_graph(NAMED).fingerprint()


@pytest.mark.parametrize("kind", NUMBERED_KINDS)
def test_a_graph_with_numbers_is_the_same_from_any_type(kind):
    assert as_graph(NUMBERED_KINDS[kind](NUMBERED)).fingerprint() == as_graph(NUMBERED).fingerprint()


@given(st.data())
def test_random_graphs_are_the_same_from_every_type(data):
    n = data.draw(st.integers(4, 7))
    path = [(i, i + 1) for i in range(n - 1)]  # so that names come in order, and no array is square
    node = st.integers(0, n - 1)
    extra = data.draw(st.lists(st.tuples(node, node).map(lambda pair: tuple(sorted(pair))), max_size=9))
    pairs = list(dict.fromkeys(path + extra))
    weights = data.draw(st.lists(st.sampled_from([0.5, 2.0, 3.25]), min_size=len(pairs), max_size=len(pairs)))
    edges = [(u, v, weight) for (u, v), weight in zip(pairs, weights, strict=True)]
    fingerprints = {kind: as_graph(convert(edges)).fingerprint() for kind, convert in NUMBERED_KINDS.items()
              if not (kind == "edge array" and len(edges) == 3)}  # fmt: skip
    assert len(set(fingerprints.values())) == 1, fingerprints


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("dtype", [float, int, bool, np.float32, np.uint8])
def test_every_sparse_format_gives_the_graph_of_the_dense_matrix(form, kind, dtype):
    matrix = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]]).astype(dtype)
    graph = as_graph(getattr(sp, f"{form}_{kind}")(matrix))
    assert graph.directed
    assert not graph.is_weighted
    assert graph.fingerprint() == as_graph(matrix).fingerprint()
    assert graph.to_scipy().toarray().tolist() == matrix.astype(float).tolist()


def test_a_matrix_is_undirected_if_it_is_symmetric():
    assert not as_graph(np.array([[0, 2.0], [2.0, 0]])).directed
    assert as_graph(np.array([[0, 2.0], [3.0, 0]])).directed
    assert as_graph(np.array([[0, 1], [1, 0]]), directed=True).directed
    with pytest.raises(GraphError, match="symmetric"):
        as_graph(np.array([[0, 1], [0, 0]]), directed=False)


def test_a_matrix_of_ones_is_unweighted_by_default():
    matrix = np.array([[0, 1], [1, 0]])
    assert not as_graph(matrix).is_weighted
    assert as_graph(matrix, weighted=True).weights.tolist() == [1, 1]
    assert not as_graph(2 * matrix, weighted=False).is_weighted


def test_empty_rows_of_a_matrix_are_isolated_nodes():
    graph = as_graph(sp.coo_array(([1, 1], ([0, 2], [2, 0])), shape=(4, 4)))
    assert (graph.n_nodes, graph.n_isolated, graph.n_edges) == (4, 2, 1)


def test_stored_zeros_are_not_edges_and_duplicate_entries_add_up():
    matrix = sp.coo_array(([0.0, 1.0, 2.0], ([0, 1, 1], [1, 2, 2])), shape=(3, 3))
    graph = as_graph(matrix)
    assert graph.to_scipy().toarray()[1].tolist() == [0, 0, 3]
    assert graph.n_edges == 1


@pytest.mark.parametrize(("shape", "n_edges"), [((4, 2), 4), ((5, 3), 5)])
def test_arrays_of_two_or_three_columns_are_edges(shape, n_edges):
    edges = np.arange(1, 1 + shape[0] * shape[1]).reshape(shape)
    graph = as_graph(edges)
    assert graph.n_edges == n_edges
    assert graph.is_weighted == (shape[1] == 3)
    assert graph.names[:2].tolist() == edges[0, :2].tolist()


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_networkx_graphs_keep_names_order_direction_and_weights(kind):
    graph = kind()
    graph.add_nodes_from(["z", (0, 1), 7])
    graph.add_edge((0, 1), "z", weight=2)
    graph.add_edge("z", "z")
    converted = as_graph(graph)
    assert converted.names.tolist() == ["z", (0, 1), 7]
    assert converted.directed == graph.is_directed()
    assert converted.to_scipy().toarray()[:2].tolist() == [[1, 0 if converted.directed else 2, 0], [2, 0, 0]]
    assert converted.n_isolated == 1


@pytest.mark.parametrize("kind", [nx.MultiGraph, nx.MultiDiGraph])
def test_parallel_edges_merge_and_their_weights_add_up(kind):
    graph = kind([("a", "b", {"weight": 1.5}), ("a", "b", {"weight": 2}), ("a", "b", {})])
    assert as_graph(graph).weights[0] == 4.5
    assert not as_graph(kind([("a", "b"), ("a", "b")])).is_weighted


LISTED = [("a", "b"), ("b", "a"), ("b", "c"), ("a", "b")]


@pytest.mark.parametrize(
    "edges",
    [
        LISTED,
        iter(LISTED),
        [(*edge, 7.0) for edge in LISTED],
        pd.DataFrame(LISTED, columns=["source", "target"]),
        pl.DataFrame(LISTED, schema=["source", "target"], orient="row"),
        [{"source": u, "target": v, "weight": 3} for u, v in LISTED],
        nx.MultiGraph(LISTED),
        igraph.Graph.TupleList(LISTED),
    ],
    ids=["pairs", "iterator", "weighted", "pandas", "polars", "records", "networkx", "igraph"],
)
def test_duplicates_are_counted_on_request(edges):
    expected = as_graph([("a", "b", 3), ("b", "c", 1)])
    assert as_graph(edges, count_duplicates=True).fingerprint() == expected.fingerprint()


def test_duplicates_are_counted_in_each_direction_and_between_two_kinds():
    directed = as_graph(LISTED, directed=True, count_duplicates=True)
    assert directed.to_scipy().toarray().tolist() == [[0, 2, 0], [1, 0, 1], [0, 0, 0]]
    assert as_graph(LISTED, bipartite=True, count_duplicates=True).weights.max() == 2


@pytest.mark.parametrize(
    "graph",
    [np.array([[0, 2], [1, 0]]), sp.eye(3), {"a": ["b"], "b": ["a"]}, as_graph(LISTED), Data([[0, 1], [1, 0]])],
    ids=["array", "matrix", "neighbors", "graph", "edge_index"],
)
def test_duplicates_of_graphs_that_have_none_are_not_counted(graph):
    with pytest.raises(GraphError, match="is for lists of edges and multigraphs"):
        as_graph(graph, count_duplicates=True)


def test_weights_are_not_both_read_and_replaced_by_counts():
    with pytest.raises(GraphError, match=r"count_duplicates .* replaces weights, which weighted asks to read"):
        as_graph([("a", "b", 1)], weighted=True, count_duplicates=True)
    with pytest.raises(TypeError, match="count_duplicates is True or False; got 'yes'"):
        as_graph(LISTED, count_duplicates="yes")


def test_grid_graphs_have_tuples_for_names():
    graph = as_graph(nx.grid_2d_graph(3, 3))
    assert graph.neighbors((1, 1)) == [(0, 1), (1, 0), (1, 2), (2, 1)]


def test_the_weight_attribute_is_chosen_by_name():
    graph = nx.Graph([("a", "b", {"weight": 1, "cost": 9}), ("b", "c", {"weight": 2})])
    assert as_graph(graph, weight="cost").weights.tolist() == [9, 9, 1, 1]
    assert not as_graph(graph, weighted=False).is_weighted
    assert as_graph(nx.path_graph(2), weighted=True).weights.tolist() == [1, 1]


def test_a_directed_graph_converted_to_undirected_merges_both_directions():
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([("a", "b", 1), ("b", "a", 2)])
    assert as_graph(graph, directed=False).weights.tolist() == [3, 3]
    assert as_graph(as_graph(graph), directed=False).weights.tolist() == [3, 3]


def test_a_graph_is_returned_itself_unless_the_options_change_it():
    graph = as_graph(NAMED)
    assert as_graph(graph) is graph
    assert as_graph(graph, nodes=["ann"]) is graph
    assert as_graph(graph, nodes=["eve", "eve"]).names.tolist() == ["ann", "bob", "cid", "dan", "eve"]
    assert as_graph(graph, drop_self_loops=True).n_edges == 3
    assert not as_graph(graph, weighted=False).is_weighted
    directed = as_graph(graph, directed=True)
    assert directed.n_edges == 7
    assert as_graph(directed, directed=False, weighted=False).n_edges == graph.n_edges


def test_igraph_without_names_gets_numbers():
    graph = as_graph(igraph.Graph(4, [(2, 0), (0, 1)], directed=True))
    assert graph.names.tolist() == [0, 1, 2, 3]
    assert graph.directed
    assert graph.neighbors(2) == [0]
    assert graph.n_isolated == 1


def test_igraph_weights_are_chosen_by_name():
    graph = igraph.Graph(2, [(0, 1)], edge_attrs={"cost": [4.0]})
    assert not as_graph(graph, weighted=False).is_weighted
    assert as_graph(graph, weight="cost").weights.tolist() == [4, 4]
    with pytest.raises(GraphError, match="no edge attribute 'price'; there are: cost"):
        as_graph(graph, weight="price")


def test_geometric_graphs_are_undirected_if_they_have_both_directions():
    assert not as_graph(Data([[0, 1], [1, 0]])).directed
    assert as_graph(Data([[0, 1], [1, 2]])).directed
    assert as_graph(Data([[0], [1]], num_nodes=5)).n_isolated == 3
    assert as_graph(Data(np.empty((2, 0), int), num_nodes=3)).n_nodes == 3


COLUMN_KINDS = [pd.DataFrame, pl.DataFrame, pa.table]


@pytest.mark.parametrize("frame", COLUMN_KINDS)
def test_columns_are_chosen_by_name_or_number(frame):
    table = frame({"cost": [4.0, 5.0], "to": ["b", "c"], "from": ["a", "b"]})
    with pytest.warns(UserWarning, match="the column 'cost' is ignored"):
        by_default = as_graph(table, directed=True)
    assert by_default.names.tolist() == ["a", "b", "c"]
    assert not by_default.is_weighted
    by_name = as_graph(table, source="to", target="from", weight="cost", directed=True)
    by_number = as_graph(table, source=1, target=2, weight=0, directed=True)
    assert by_name.names.tolist() == ["b", "a", "c"]
    assert by_name.fingerprint() == by_number.fingerprint()
    assert by_name.weights.tolist() == [4, 5]


@pytest.mark.parametrize("frame", COLUMN_KINDS)
def test_without_known_column_names_the_first_two_columns_are_the_edges(frame):
    table = frame({"left": ["a", "b"], "right": ["b", "c"], "year": [1, 2]})
    with pytest.warns(UserWarning, match="the column 'year' is ignored"):
        assert as_graph(table).fingerprint() == as_graph([("a", "b"), ("b", "c")]).fingerprint()


@pytest.mark.parametrize("frame", COLUMN_KINDS)
@pytest.mark.parametrize("options", [{"source": "b"}, {"target": "a"}])
def test_source_and_target_are_chosen_together(frame, options):
    with pytest.raises(GraphError, match="source and target go together: give both columns, or none"):
        as_graph(frame({"a": ["x", "y"], "b": ["y", "z"]}), **options)


@pytest.mark.parametrize("frame", COLUMN_KINDS)
def test_an_unknown_column_is_an_error_that_lists_the_columns(frame):
    with pytest.raises(GraphError, match="no column 'cost'; there are: source, target, weight"):
        as_graph(frame(columns(NAMED)), weight="cost")
    with pytest.raises(GraphError, match="no column 3"):
        as_graph(frame(columns(NAMED)), source=3)


@pytest.mark.parametrize("frame", COLUMN_KINDS)
def test_a_missing_value_is_an_error_with_its_row(frame):
    with pytest.raises(GraphError, match="column 'target', row 1: a value is missing"):
        as_graph(frame({"source": ["a", "b"], "target": ["b", None]}))


@pytest.mark.parametrize("frame", COLUMN_KINDS)
def test_given_nodes_come_before_those_of_a_list_of_edges(frame):
    graph = as_graph(frame(columns(NAMED)), nodes=["eve", "cid"])
    assert graph.names.tolist() == ["eve", "cid", "ann", "bob", "dan"]


@pytest.mark.parametrize(
    "ids", [[2**63 - 1, -(2**63)], [2**63, 1], [2**64 - 1, 2**53 + 1], [2**53 + 1, 2**53]], ids=str
)
def test_large_ids_are_never_rounded(ids):
    expected = [ids, ids[::-1]]
    for edges in (expected, pd.DataFrame(expected), np.array(expected + expected, object)):
        assert set(as_graph(edges).names.tolist()) == set(ids)
    if min(ids) >= 0:
        assert set(as_graph(np.array(expected + expected, np.uint64)).names.tolist()) == set(ids)


def test_large_ids_beside_a_column_of_floats_are_never_rounded():
    table = pd.DataFrame({"source": [2**53 + 1, 2**53], "target": [1.0, 2.0]})
    assert set(as_graph(table).names.tolist()) == {2**53 + 1, 2**53, 1, 2}


def test_integral_floats_become_integers():
    assert as_graph([(1.0, 2), (2.0, 3)]).names.dtype == np.int64
    assert as_graph(np.array([[1.0, 2.0, 0.5]])).names.tolist() == [1, 2]


def test_pairs_merge_in_both_directions_unless_directed():
    pairs = [("a", "b"), ("b", "a"), ("a", "b"), ("a", "a")]
    assert as_graph(pairs).n_edges == 2
    assert as_graph(pairs, directed=True).n_edges == 3
    assert as_graph(pairs, drop_self_loops=True).n_edges == 1
    assert as_graph([(*pair, 1) for pair in pairs]).weights.tolist() == [1, 3, 3]


def test_dropping_self_loops_keeps_their_nodes():
    for edges in (NAMED, networkx_graph(NAMED), pd.DataFrame(columns(NAMED))):
        graph = as_graph(edges, drop_self_loops=True)
        assert (graph.n_nodes, graph.n_isolated, graph.n_self_loops) == (4, 1, 0)


def duplicate_columns():
    return pd.DataFrame([["a", "b", "c"]], columns=["source", "target", "target"])


def duplicate_names():
    graph = igraph.Graph(3, [(0, 1), (1, 2)])
    graph.vs["name"] = ["a", "b", "a"]
    return graph


def unhashable_names():
    graph = igraph.Graph(2, [(0, 1)])
    graph.vs["name"] = [["a"], ["b"]]
    return graph


INVALID = {
    "number": (lambda: 5, "a graph is a Graph, a path"),
    "none": (lambda: None, "a graph is a Graph, a path"),
    "dict": (lambda: {"a": "b"}, "a dict is columns"),
    "bytes": (lambda: b"graph.txt", "a graph is a Graph, a path"),
    "single": (lambda: [("a", "b"), ("c",)], r"edge 1: all edges are pairs.*got \('c',\)"),
    "four": (lambda: [(1, 2, 3, 4)], "edge 0: all edges are pairs"),
    "mixed": (lambda: [(1, 2), (1, 2, 3)], "edge 1: all edges are pairs"),
    "words": (lambda: ["ab", "cd"], "edge 0: all edges are pairs"),
    "numbers": (lambda: [1, 2], "edge 0: all edges are pairs"),
    "unhashable": (lambda: [(["a"], "b")], "hashable"),
    "zero weight": (lambda: [("a", "b", 1), ("a", "b", 0)], r"edge 1 \('a', 'b'\): a weight is finite and positive"),
    "negative weight": (lambda: [("a", "b", -1)], "finite and positive; got -1.0"),
    "nan weight": (lambda: [("a", "b", float("nan"))], "finite and positive; got nan"),
    "infinite weight": (lambda: [("a", "b", float("inf"))], "finite and positive; got inf"),
    "word weight": (lambda: [("a", "b", 1), ("a", "b", "x")], "edge 1 .*a weight is a number; got 'x'"),
    "dict weight": (lambda: [("a", "b", 1), ("b", "c", {})], "a weight is a number"),
    "none weight": (lambda: [("a", "b", None)], "weight"),
    "list weight": (lambda: [("a", "b", [1.0, 2.0]), ("b", "c", [1.0, 2.0])], "a weight is a number"),
    "huge weight": (lambda: [("a", "b", 10**400)], "a weight is"),
    "complex weight": (lambda: [("a", "b", 1j)], "a weight is a number"),
    "networkx zero": (lambda: networkx_graph([("a", "b", 0)]), r"edge \('a', 'b'\): a weight is finite and positive"),
    "igraph negative": (lambda: igraph.Graph(2, [(0, 1)], edge_attrs={"weight": [-1]}), "finite and positive"),
    "igraph twice": (duplicate_names, "distinct"),
    "igraph unhashable": (unhashable_names, "hashable"),
    "geometric rows": (lambda: Data([[0, 1, 2]]), "edge_index has two rows"),
    "geometric none": (lambda: Data(None), "edge_index has two rows"),
    "geometric few": (lambda: Data([[0, 1], [1, 5]], num_nodes=3), "nodes are numbered 0 to 2"),
    "geometric minus": (lambda: Data([[0, -1], [1, 0]]), "nodes are numbered"),
    "geometric weights": (lambda: Data([[0, 1, 2], [1, 2, 0]], edge_weight=np.ones(2)), "weight"),
    "geometric many": (lambda: Data([[0, 1], [1, 0]], edge_weight=np.ones((2, 2))), "weight"),
    "oblong": (lambda: sp.csr_array(np.ones((2, 3))), "an adjacency matrix is square"),
    "negative entry": (lambda: sp.csr_array([[0, -1.0], [-1.0, 0]]), "finite and positive"),
    "nan entry": (lambda: sp.csr_array([[0, np.nan], [np.nan, 0]]), "finite and positive"),
    "complex entry": (lambda: sp.csr_array([[0, 1j], [1j, 0]]), "real numbers"),
    "dense nan": (lambda: np.array([[0, np.nan], [1, 0]]), "finite"),
    "dense text": (lambda: np.array([["a", "b"], ["c", "d"]]), "numbers"),
    "flat": (lambda: np.arange(4), r"the shape of an array is .*got \(4,\)"),
    "wide": (lambda: np.ones((3, 4)), r"the shape of an array is .*got \(3, 4\)"),
    "nan name": (lambda: np.array([[0, 1], [1, np.nan], [2, 0.5]]), "edge 1: a node name is not NaN"),
    "nan in a pair": (lambda: [("a", float("nan"))], "NaN"),
    "array weight": (lambda: np.array([[0, 1, 1], [1, 2, 0], [1, 2, 3], [1, 2, 3]]), "finite and positive"),
    "one column": (lambda: pd.DataFrame({"a": [1]}), "two columns or more"),
    "columns twice": (duplicate_columns, "column"),
    "arrow twice": (lambda: pa.table([["a"], ["b"], ["c"]], names=["source", "target", "target"]), "column"),
    "lists in columns": (lambda: pa.table({"source": [["a"]], "target": [["b"]]}), "hashable"),
    "structs in columns": (lambda: pa.table({"source": [{"a": 1}], "target": [{"a": 2}]}), "hashable"),
    "series": (lambda: pd.Series([1, 2]), "all edges are pairs"),
}  # fmt: skip


@pytest.mark.parametrize("kind", INVALID)
def test_an_invalid_graph_is_an_error_that_states_the_rule(kind):
    make, rule = INVALID[kind]
    with pytest.raises(GraphError, match=rule):
        as_graph(make())


@pytest.mark.parametrize("x", [[("a", "b")], np.array([[0, 1], [1, 2], [2, 3]]), pd.DataFrame({"u": [1], "v": [2]})])
def test_requested_weights_that_are_missing_are_an_error(x):
    with pytest.raises(GraphError, match="a weighted graph has"):
        as_graph(x, weighted=True)


def test_messages_show_names_as_python_values():
    with pytest.raises(GraphError, match=r"edge 0 \(1, 2\): a weight is finite"):
        as_graph(pd.DataFrame({"source": [1], "target": [2], "weight": [0.0]}))


def test_dates_are_names():
    days = pd.to_datetime(["2024-01-01", "2024-01-02"])
    for table in (pd.DataFrame({"source": days, "target": days[::-1]}), pl.DataFrame({"u": days, "v": days[::-1]})):
        assert as_graph(table).n_edges == 1


@pytest.mark.filterwarnings("ignore::UserWarning")
@given(st.lists(st.lists(st.none() | st.integers() | st.text(max_size=2) | st.floats(), max_size=4), max_size=4))
def test_any_lists_are_a_graph_or_a_graph_error(lists):
    try:
        graph = as_graph(lists)
    except GraphError:
        return
    assert efge.Graph(graph.indptr, graph.indices, graph.weights, graph.names).fingerprint() == graph.fingerprint()


LIBRARIES = ["networkx", "pandas", "polars", "igraph", "pyarrow", "torch", "torch_geometric"]


@pytest.mark.parametrize(
    "code",
    [
        "import efge",
        "import efge; efge.as_graph([('a', 'b')])",
        "import efge, numpy; efge.as_graph(numpy.eye(3)); efge.as_graph(numpy.array([[0, 1], [1, 2], [2, 3]]))",
        "import efge, scipy.sparse; efge.as_graph(scipy.sparse.eye(3))",
        "import efge; g = efge.as_graph([('a', 'b', 1)]); g.largest_component(); g.fingerprint(); repr(g)",
    ],
)
def test_no_library_is_imported_unless_its_object_is_passed(code):
    check = f"{code}\nimport sys\nprint([name for name in {LIBRARIES} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_a_lazy_frame_is_collected():
    assert as_graph(pl.DataFrame({"a": [1], "b": [2]}).lazy()).names.tolist() == [1, 2]


def test_a_series_with_two_levels_of_names_has_weighted_edges():
    frame = pd.DataFrame({"user": ["ann", "ann", "bob"], "item": ["tea", "tea", "rum"]})
    counts = frame.groupby(["user", "item"]).size()
    graph = as_graph(counts)
    assert graph.fingerprint() == as_graph([("ann", "tea", 2), ("bob", "rum", 1)]).fingerprint()
    assert as_graph(counts, bipartite=True).names.tolist() == ["user:ann", "item:tea", "user:bob", "item:rum"]
    assert not as_graph(counts, weighted=False).is_weighted
    with pytest.raises(GraphError, match="an index of two levels, source and target; got 3"):
        as_graph(frame.assign(day=1).groupby(["user", "item", "day"]).size())
    assert as_graph(pd.Series([("ann", "tea"), ("bob", "rum")])).n_edges == 2


@pytest.mark.parametrize(
    ("rows", "edges"),
    [
        ([[0, 1, 5], [1, 2, 3], [2, 3, 1]], [(0, 1, 5), (1, 2, 3), (2, 3, 1)]),
        ([[0.0, 1.0, 0.5], [1, 2, 3], [2, 3, 1]], [(0, 1, 0.5), (1, 2, 3), (2, 3, 1)]),
        ([[0, 1], [1, 2]], [(0, 1), (1, 2)]),
    ],
)
def test_a_square_array_whose_rows_may_be_edges_is_pointed_out(rows, edges):
    array = np.array(rows)
    with pytest.warns(UserWarning, match="is read as an adjacency matrix; pass source=0 and target=1") as caught:
        graph = as_graph(array)
    assert caught[0].filename == __file__
    assert as_graph(array, names=range(len(array))).fingerprint() == graph.fingerprint()
    assert as_graph(array, source=0, target=1).fingerprint() == as_graph(edges).fingerprint()


@pytest.mark.parametrize(
    "matrix",
    [[[0, 2], [1, 0]], [[1, 0], [0, 1]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]], [[0, 1, 2], [0, 0, 3], [0, 0, 0]]],
)
def test_a_matrix_that_is_no_list_of_edges_gives_no_warning(matrix):
    assert as_graph(np.array(matrix)).n_nodes == len(matrix)


def test_options_of_files_are_taken_with_a_path_only(tmp_path):
    (tmp_path / "eu.csv").write_text("a;b;1,5\nb;c;2,5\n")
    assert as_graph(tmp_path / "eu.csv", decimal=",").weights.tolist() == [1.5, 1.5, 2.5, 2.5]
    with pytest.raises(TypeError, match=r"decimal is an option for files, see efge.read_graph; got list"):
        as_graph([("a", "b")], decimal=",")
    with pytest.raises(TypeError, match=r"as_graph has no option 'decimals'; known: .*did you mean 'decimal'"):
        as_graph(tmp_path / "eu.csv", decimals=",")


def test_a_weight_attribute_that_no_edge_has_is_an_error():
    with pytest.raises(GraphError, match="no edge has an attribute 'cost'"):
        as_graph(nx.path_graph(3), weight="cost")


def test_a_tensor_is_detached_and_moved_to_the_cpu():
    class Tensor:
        def __init__(self, values):
            self.values = values

        def detach(self):
            return Tensor(self.values)

        def cpu(self):
            return self.values

    class Data:
        edge_index = Tensor(np.array([[0, 1], [1, 0]]))
        edge_weight = Tensor(np.array([2.0, 2.0]))
        num_nodes = 3

    graph = as_graph(Data())
    assert (graph.n_nodes, graph.n_edges, graph.weights.tolist()) == (3, 1, [2.0, 2.0])


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_a_numpy_matrix_is_an_array():
    assert as_graph(np.asmatrix([[0, 1], [1, 0]])).n_edges == 1


def test_entries_of_a_matrix_that_are_listed_several_times_are_added_up():
    counts = sp.coo_matrix(([1, 1, 1], ([0, 0, 1], [1, 1, 2])), shape=(3, 3))
    graph = efge.as_graph(counts)
    assert graph.fingerprint() == efge.as_graph(counts.tocsr()).fingerprint()
    assert graph.weights.tolist() == [2.0, 1.0]
    assert counts.nnz == 3


def test_a_date_is_no_weight():
    frame = pd.DataFrame({"from": ["a", "b"], "to": ["b", "c"], "weight": pd.to_datetime(["2020", "2021"])})
    with pytest.raises(efge.GraphError, match=r"a weight is a number; got 2020-01-01.*, which is a date or a time"):
        efge.as_graph(frame)


def test_edges_that_networkx_lists_are_read_as_its_graph():
    graph = nx.Graph([("a", "b", {"weight": 2.0, "since": 2001}), ("b", "c", {"since": 2002})])
    expected = as_graph(graph)
    for edges in (graph.edges(data=True), list(graph.edges(data=True)), nx.to_edgelist(graph)):
        assert as_graph(edges).fingerprint() == expected.fingerprint()
    for edges in (graph.edges, graph.edges(), nx.DiGraph(graph).to_undirected().edges):
        assert as_graph(edges).fingerprint() == as_graph(graph, weighted=False).fingerprint()
    assert as_graph(graph.edges(data=True), weight="since").weights.tolist() == [2001, 2001, 2002, 2002]
    assert not as_graph(graph.edges(data=True), weighted=False).is_weighted
    with pytest.warns(UserWarning, match="the edge attribute 'since' is ignored"):
        as_graph([("a", "b", {"since": 2001})])
    with pytest.raises(GraphError, match="no edge has an attribute 'strength'"):
        as_graph(graph.edges(data=True), weight="strength")


def test_streams_of_tables_are_read_as_tables():
    table = pa.table({"source": ["a", "b"], "target": ["b", "c"], "weight": [1.0, 2.5]})

    class Query:
        def __arrow_c_stream__(self, requested_schema=None):
            return table.__arrow_c_stream__(requested_schema)

    for stream in (table.to_reader(), Query()):
        assert as_graph(stream).fingerprint() == as_graph(table).fingerprint()

    class Column:
        def __arrow_c_stream__(self, requested_schema=None):
            return table["source"].__arrow_c_stream__(requested_schema)

    with pytest.raises(GraphError, match=r"a stream of edges is a table; got .*Column"):
        as_graph(Column())


def test_an_array_of_triples_is_answered_with_the_columns_to_choose():
    triples = np.array([("ann", "knows", "bob"), ("bob", "knows", "cid")])
    with pytest.raises(GraphError, match=r"got \('ann', 'knows', 'bob'\); if these are triples .* source=0, target=2"):
        as_graph(triples)
    assert as_graph(triples, source=0, target=2).names.tolist() == ["ann", "bob", "cid"]


@pytest.mark.parametrize("dtype", [str, object])
@pytest.mark.parametrize("edges", [[("a", "b"), ("b", "c")], [("a", "b", "1"), ("b", "c", "2"), ("c", "d", "3")]])
def test_an_array_of_as_many_named_edges_as_columns_is_answered_with_what_works(dtype, edges):
    advice = {"source": 0, "target": 1} | ({"weight": 2} if len(edges) == 3 else {})
    listed = ", ".join(f"{name}={number}" for name, number in advice.items())
    with pytest.raises(GraphError, match=f"entries of an adjacency matrix are numbers; .*pass {listed}$"):
        as_graph(np.array(edges, dtype=dtype))
    graph = as_graph(np.array(edges, dtype=dtype), **advice)
    assert (graph.n_edges, graph.names[0], graph.is_weighted) == (len(edges), "a", len(edges) == 3)


def test_a_column_of_identifiers_is_not_suggested_as_weight():
    frame = pd.DataFrame({"id": [1, 2], "a": ["x", "y"], "b": ["y", "z"], "calls": [3, 4]})
    for names, weight in ((["id", "a", "b", "calls"], r"weight='calls' \("), (["id", "a", "b"], r"target='b' \(")):
        with pytest.raises(GraphError, match=weight):
            as_graph(frame[names])
