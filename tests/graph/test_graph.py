"""The Graph class: construction, checks, immutability, subgraphs, fingerprints; and edges to CSR."""

import copy
import hashlib
import operator
import pickle
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array

import efge
from efge import Graph, GraphError
from efge.graph.build import graph_from_edges
from efge.graph.names import name_array

PATH = ([0, 1, 3, 4], [1, 0, 2, 1])


@pytest.fixture
def path_graph():
    return Graph(*PATH, names=["a", "b", "c"])


def rows_of(graph):
    """Return the weight of each neighbor of each node, as a dict of dicts."""
    values = np.ones(len(graph.indices)) if graph.weights is None else graph.weights
    return {
        row: dict(zip(graph.indices[begin:end].tolist(), values[begin:end].tolist(), strict=True))
        for row, (begin, end) in enumerate(zip(graph.indptr[:-1], graph.indptr[1:], strict=True))
    }


def twin_rows(edges, weights, n, directed):
    """The slow twin of graph_from_edges."""
    rows = {row: {} for row in range(n)}
    for (u, v), weight in zip(edges, weights, strict=True):
        rows[u][v] = rows[u][v] + weight if v in rows[u] else weight
        if not directed and u != v:
            rows[v][u] = rows[v][u] + weight if u in rows[v] else weight
    return {row: dict(sorted(neighbors.items())) for row, neighbors in rows.items()}


def build(edges, weights, n, directed, **options):
    ends = np.array(edges, np.int32).reshape(-1, 2)
    values = None if weights is None else np.array(weights, float)
    return graph_from_edges(ends, values, name_array(range(n)), directed=directed, **options)


# Counts and repr


def test_counts_include_self_loops_and_isolated_nodes():
    graph = efge.as_graph([("a", "b"), ("b", "c"), ("c", "c")], nodes=["lone"])
    assert (graph.n_nodes, graph.n_edges, graph.n_self_loops, graph.n_isolated) == (4, 3, 1, 1)
    assert graph.degrees.tolist() == [0, 1, 2, 2]
    assert len(graph) == 4
    assert list(graph) == ["lone", "a", "b", "c"]


def test_a_node_with_only_incoming_edges_is_not_isolated():
    assert efge.as_graph([("a", "b")], directed=True, nodes=["c"]).n_isolated == 1


def test_a_node_with_only_a_self_loop_is_not_isolated():
    assert efge.as_graph([("a", "a")]).n_isolated == 0


@pytest.mark.parametrize(
    ("graph", "text"),
    [
        (Graph(*PATH), "Graph(3 nodes, 2 edges, undirected, unweighted, 0 isolated)"),
        (Graph([0, 1, 1, 1], [1], [2], directed=True), "Graph(3 nodes, 1 edges, directed, weighted, 1 isolated)"),
        (Graph([0] * 1235, []), "Graph(1,234 nodes, 0 edges, undirected, unweighted, 1,234 isolated)"),
        (Graph([0], []), "Graph(0 nodes, 0 edges, undirected, unweighted, 0 isolated)"),
    ],
)
def test_repr_has_nodes_edges_direction_weights_and_isolated(graph, text):
    assert repr(graph) == text


def test_repr_has_components_once_they_are_computed(path_graph):
    assert "components" not in repr(path_graph)
    assert path_graph.n_components == 1
    assert repr(path_graph).endswith("0 isolated, 1 components)")


def test_contains_and_rows_use_names(path_graph):
    assert "a" in path_graph
    assert "z" not in path_graph
    assert 0 not in path_graph
    assert path_graph.rows(["c", "a", "c"]).tolist() == [2, 0, 2]


def test_integer_names_are_found_in_any_integer_type():
    graph = Graph(*PATH, names=[2**62, -5, 7])
    for five in (-5, np.int8(-5), np.int64(-5), -5.0):
        assert graph.rows([five]).tolist() == [1]
    for other in (6, 2**62 + 1, 2**63, 2**64, -(2**64), "7", 7.5, None, (7,)):
        assert other not in graph


def test_an_unknown_name_is_quoted_in_the_error(path_graph):
    with pytest.raises(GraphError, match=r"no node named 'z' in Graph\(3 nodes"):
        path_graph.neighbors("z")


def test_the_empty_graph_has_no_nodes_and_no_components():
    graph = efge.as_graph([])
    assert (graph.n_nodes, graph.n_edges, graph.n_components) == (0, 0, 0)
    assert graph.largest_component() is graph
    assert "a" not in graph


# The constructor


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({"indptr": [], "indices": []}, "indptr goes from 0"),
        ({"indptr": [1, 2], "indices": [0]}, "indptr goes from 0"),
        ({"indptr": [0, 1], "indices": []}, "indptr goes from 0"),
        ({"indptr": [0, 2, 1, 2], "indices": [1, 2]}, "never decreasing"),
        ({"indptr": [[0, 1], [1, 2]], "indices": [0]}, "indptr is a one-dimensional array of integers"),
        ({"indptr": 0, "indices": []}, "indptr"),
        ({"indptr": [0, 1, 2], "indices": [2, 0]}, "indices are between 0 and 1"),
        ({"indptr": [0, 1, 2], "indices": [-1, 0]}, "indices are between 0 and 1"),
        ({"indptr": [0, 1, 2], "indices": np.array([2**32 + 1, 2**32])}, "indices"),
        ({"indptr": [0, 1, 2], "indices": [2**32 + 1, 2**32]}, "indices"),
        ({"indptr": [0, 1, 2], "indices": [[1, 0]]}, "ind"),
        ({"indptr": [0, 1, 2], "indices": [1.5, 0.5]}, "ind"),
        ({"indptr": [0, 1.5, 2], "indices": [1, 0]}, "indptr"),
        ({"indptr": ["x", "y"], "indices": []}, "indptr"),
        ({"indptr": [0, 2, 4], "indices": [1, 0, 0, 1]}, "strictly ascending"),
        ({"indptr": [0, 2, 4], "indices": [1, 1, 0, 0]}, "strictly ascending"),
        ({"indptr": [0, 1, 2], "indices": [1, 0], "names": ["a"]}, "has 2 names; got 1"),
        ({"indptr": [0, 1, 2], "indices": [1, 0], "names": ["a", "a"]}, "distinct"),
        ({"indptr": [0, 1, 2], "indices": [1, 0], "names": [1, 1.0]}, "distinct"),
        ({"indptr": [0, 1, 2], "indices": [1, 0], "names": [["a"], ["b"]]}, "hashable"),
        ({"indptr": [0, 1, 2], "indices": [1, 0], "weights": [1]}, "each of 2 entries has a weight; got 1"),
        ({"indptr": [0, 1, 2], "indices": [1, 0], "weights": [1, 0]}, "finite and positive; got 0.0"),
        ({"indptr": [0, 1, 2], "indices": [1, 0], "weights": [1, -1]}, "finite and positive; got -1.0"),
        ({"indptr": [0, 1, 2], "indices": [1, 0], "weights": [np.nan, 1]}, "finite and positive; got nan"),
        ({"indptr": [0, 1, 2], "indices": [1, 0], "weights": [np.inf, 1]}, "finite and positive; got inf"),
        ({"indptr": [0, 1, 2], "indices": [1, 0], "weights": ["x", "y"]}, "weight"),
        ({"indptr": [0, 1, 2], "indices": [1, 0], "weights": [1, 2]}, "both rows"),
        ({"indptr": [0, 1, 1], "indices": [1]}, "both rows"),
    ],
    ids=lambda value: None if isinstance(value, dict) else value[:20],
)
def test_the_constructor_rejects_invalid_arrays(arguments, rule):
    with pytest.raises(GraphError, match=rule):
        Graph(**arguments)


def test_a_directed_graph_need_not_be_symmetric():
    assert Graph([0, 1, 1], [1], directed=True).n_edges == 1


def test_the_constructor_copies_its_arguments():
    indptr, indices, weights = np.array(PATH[0]), np.array(PATH[1], np.int32), np.ones(4)
    names = np.array(["a", "b", "c"], object)
    graph = Graph(indptr, indices, weights, names)
    indices[0], weights[0], indptr[1], names[0] = 2, 9, 3, "z"
    assert (graph.indices[0], graph.weights[0], graph.indptr[1], graph.names[0]) == (1, 1, 1, "a")


@pytest.mark.parametrize("names", [["a", "b", "c"], [3.0, 4.0, 5.0], [3, 4, 5]])
def test_names_may_be_an_array_or_a_list(names):
    by_array, by_list = Graph(*PATH, names=np.array(names)), Graph(*PATH, names=names)
    assert by_array.names.tolist() == by_list.names.tolist()
    assert by_array.neighbors(names[0]) == [names[1]]
    assert by_array.fingerprint() == by_list.fingerprint()


def test_names_may_be_tuples_of_one_length():
    graph = Graph(*PATH, names=[(0, 0), (0, 1), (1, 1)])
    assert graph.neighbors((0, 0)) == [(0, 1)]


# Immutability


@pytest.mark.parametrize("field", ["indptr", "indices", "weights", "names", "directed", "n_edges", "other"])
def test_attributes_cannot_be_set(path_graph, field):
    with pytest.raises(AttributeError, match="a graph is immutable; build another one"):
        setattr(path_graph, field, None)


@pytest.mark.parametrize("field", ["indptr", "indices", "weights", "names", "directed"])
def test_attributes_cannot_be_deleted(path_graph, field):
    with pytest.raises(AttributeError, match=f"a graph is immutable; {field} cannot be deleted"):
        delattr(path_graph, field)


@pytest.mark.parametrize("field", ["indptr", "indices", "weights", "names", "degrees", "components"])
@pytest.mark.parametrize("how", ["built", "pickled", "copied", "subgraph", "converted"])
def test_arrays_are_read_only(field, how):
    graph = efge.as_graph([("a", "b", 1.0), ("b", "c", 2.0)])
    getattr(graph, field)
    graph = {
        "built": lambda: Graph(graph.indptr, graph.indices, graph.weights, graph.names),
        "pickled": lambda: pickle.loads(pickle.dumps(graph)),
        "copied": lambda: copy.deepcopy(graph),
        "subgraph": lambda: graph.subgraph(["a", "b"]),
        "converted": lambda: graph,
    }[how]()
    with pytest.raises(ValueError, match="read-only"):
        getattr(graph, field)[0] = getattr(graph, field)[1]


@pytest.mark.parametrize("again", [lambda g: pickle.loads(pickle.dumps(g)), copy.deepcopy, copy.copy])
@pytest.mark.parametrize("weighted", [True, False])
def test_pickles_and_copies_are_the_same_graph(again, weighted):
    edges = [("é", (1, 2), 0.1), ((1, 2), 3, 2.0)]
    graph = efge.as_graph(edges, weighted=weighted)
    assert graph.n_components == 1
    assert graph.rows([3]).tolist() == [2]
    other = again(graph)
    assert other.fingerprint() == graph.fingerprint()
    assert other.neighbors((1, 2)) == ["é", 3]
    assert other.n_components == 1
    assert repr(other) == repr(graph)


# Components and subgraphs


def test_components_are_numbered_by_their_first_node():
    graph = efge.as_graph([("a", "b"), ("c", "d"), ("b", "e")], nodes=["z"])
    assert graph.components.tolist() == [0, 1, 1, 2, 2, 1]
    assert graph.n_components == 3


def test_components_ignore_the_directions_of_edges():
    graph = efge.as_graph([("a", "b"), ("c", "b"), ("d", "e")], directed=True)
    assert graph.components.tolist() == [0, 0, 0, 1, 1]


def test_of_equal_components_the_first_is_the_largest():
    graph = efge.as_graph([("z", "y"), ("a", "b")])
    assert graph.largest_component().names.tolist() == ["z", "y"]


def test_the_largest_component_keeps_order_weights_and_direction():
    graph = efge.as_graph([("x", "y", 9), ("c", "b", 1), ("b", "a", 2)], directed=True)
    part = graph.largest_component()
    assert part.names.tolist() == ["c", "b", "a"]
    assert part.directed
    assert part.weights.tolist() == [1, 2]


def test_subgraph_keeps_the_order_of_the_graph_not_of_the_request(path_graph):
    part = path_graph.subgraph(["c", "a", "b", "a"])
    assert part.fingerprint() == path_graph.fingerprint()


def test_subgraph_of_an_unknown_name_is_an_error(path_graph):
    with pytest.raises(GraphError, match="no node named 'q'"):
        path_graph.subgraph(["a", "q"])


def test_subgraph_of_nothing_is_the_empty_graph(path_graph):
    assert path_graph.subgraph([]).n_nodes == 0


@given(st.data())
def test_subgraph_has_the_edges_among_its_nodes(data):
    n = data.draw(st.integers(1, 8))
    node = st.integers(0, n - 1)
    edges = data.draw(st.lists(st.tuples(node, node, st.integers(1, 9)), max_size=20))
    nodes = data.draw(st.sets(node))
    directed = data.draw(st.booleans())
    graph = efge.as_graph(edges, nodes=range(n), directed=directed, weighted=True if edges else None)
    inside = [edge for edge in edges if edge[0] in nodes and edge[1] in nodes]
    expected = efge.as_graph(inside, nodes=sorted(nodes), directed=directed)
    part = graph.subgraph(nodes)
    assert part.names.tolist() == sorted(nodes)
    assert rows_of(part) == rows_of(expected)


def test_to_scipy_is_the_adjacency_matrix():
    graph = efge.as_graph([("a", "b", 2.5), ("b", "b", 3)])
    assert graph.to_scipy().toarray().tolist() == [[0, 2.5], [2.5, 3]]


# Fingerprints


@pytest.mark.parametrize(
    ("graph", "fingerprint"),
    [
        (Graph([0, 1, 2], [1, 0]), "cb38d7f7ac5998fa885e4ff87af851a9f491b9cbf80453039ead979cd900669e"),
        (
            Graph([0, 1, 2], [1, 0], names=["a", "b"]),
            "287d2f205d94d6e1fd564e13c50c0a7b4af9fd0255452e120ba9c1ee4cb86b50",
        ),
        (
            Graph([0, 1, 1], [1], [0.5], names=["é", (1, 2)], directed=True),
            "9870e08df13bb542fb0128f4562a039e3eb9820e7ae2ec81abd189c1c248432c",
        ),
    ],
)
def test_fingerprints_never_change(graph, fingerprint):
    assert graph.fingerprint() == fingerprint


def test_a_fingerprint_is_the_hash_of_these_bytes():
    graph = Graph([0, 1, 2], [1, 0], [0.5, 0.5], names=[7, -1])
    content = b"efge graph 1\0undirected\0" + b"3\0" + np.array([0, 1, 2], "<i8").tobytes()
    content += b"2\0" + np.array([1, 0], "<i8").tobytes() + b"2\0" + np.array([0.5, 0.5], "<f8").tobytes()
    content += b"integers\0" + np.array([7, -1], "<i8").tobytes()
    assert graph.fingerprint() == hashlib.sha256(content).hexdigest()


def test_different_graphs_have_different_fingerprints():
    edges = [("a", "b", 1.0), ("b", "c", 2.0)]
    graphs = [
        efge.as_graph(edges),
        efge.as_graph(edges, directed=True),
        efge.as_graph(edges, weighted=False),
        efge.as_graph(edges, nodes=["d"]),
        efge.as_graph(edges, nodes=["b", "a"]),
        efge.as_graph([("a", "b", 1.0), ("b", "c", np.nextafter(2, 3))]),
        efge.as_graph([("a", "b", 1.0), ("a", "c", 2.0)]),
        efge.as_graph([("a", "b", 1.0), ("b", "C", 2.0)]),
        efge.as_graph([("a", "b", 1.0), ("b", "c", 2.0), ("c", "c", 1.0)]),
        efge.as_graph([("1", "2", 1.0), ("2", "3", 2.0)]),
        efge.as_graph([(1, 2, 1.0), (2, 3, 2.0)]),
    ]
    assert len({graph.fingerprint() for graph in graphs}) == len(graphs)


def test_unit_weights_and_no_weights_have_different_fingerprints():
    assert efge.as_graph([("a", "b", 1)]).fingerprint() != efge.as_graph([("a", "b")]).fingerprint()


# Edges to CSR


@given(st.data(), st.booleans(), st.booleans())
def test_graph_from_edges_equals_its_slow_twin(data, directed, weighted):
    n = data.draw(st.integers(1, 6))
    node = st.integers(0, n - 1)
    edges = data.draw(st.lists(st.tuples(node, node), max_size=30))
    weight = st.floats(1e-6, 1e6)
    weights = data.draw(st.lists(weight, min_size=len(edges), max_size=len(edges))) if weighted else None
    graph = build(edges, weights, n, directed)
    expected = twin_rows(edges, weights or [1.0] * len(edges), n, directed)
    if not weighted:
        expected = {row: dict.fromkeys(neighbors, 1.0) for row, neighbors in expected.items()}
    assert rows_of(graph) == expected
    assert graph.is_weighted == weighted
    Graph(graph.indptr, graph.indices, graph.weights, graph.names, directed)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("skewed", [True, False])
def test_many_edges_give_the_matrix_of_scipy(directed, weighted, skewed):
    rng = np.random.default_rng(1)
    n, m = 3_000, 450_000
    ends = rng.integers(0, n, (m, 2)).astype(np.int32)
    if skewed:
        ends[: m // 2, 1] = 17
    weights = rng.integers(1, 10, m).astype(float) if weighted else None
    graph = graph_from_edges(ends, weights, name_array(range(n)), directed=directed)
    values = weights if weighted else np.ones(m)
    matrix = coo_array((values, (ends[:, 0], ends[:, 1])), shape=(n, n)).tocsr()
    if not directed:
        proper = ends[:, 0] != ends[:, 1]
        back = (values[proper], (ends[proper, 1], ends[proper, 0]))
        matrix = matrix + coo_array(back, shape=(n, n)).tocsr()
    matrix.sum_duplicates()
    assert np.array_equal(graph.indptr, matrix.indptr)
    assert np.array_equal(graph.indices, matrix.indices)
    assert not weighted or np.array_equal(graph.weights, matrix.data)


def test_the_number_of_threads_does_not_change_the_graph(monkeypatch):
    rng = np.random.default_rng(2)
    ends = rng.integers(0, 50, (450_000, 2)).astype(np.int32)
    weights = rng.random(len(ends)) + 1e-9
    fingerprints = set()
    for threads in (1, 2, 3, 4, 9):
        monkeypatch.setattr("efge.graph.build.available_threads", lambda threads=threads: threads)
        fingerprints.add(graph_from_edges(ends, weights, name_array(range(50)), directed=False).fingerprint())
    assert len(fingerprints) == 1


def test_weights_of_duplicates_add_up_in_the_order_of_the_input():
    weights = [1e16, 1.0, 1.0, 1e-3]
    graph = build([(0, 1), (1, 0), (0, 1), (1, 0)], weights, 2, directed=False)
    # From Python 3.12 on, sum() compensates for rounding.
    assert graph.weights.tolist() == [reduce(operator.add, weights)] * 2


def test_self_loops_stay_unless_dropped():
    edges = [(0, 0), (0, 1), (1, 1), (1, 1)]
    kept, dropped = build(edges, [1, 2, 3, 4], 2, False), build(edges, [1, 2, 3, 4], 2, False, drop_self_loops=True)
    assert rows_of(kept) == {0: {0: 1, 1: 2}, 1: {0: 2, 1: 7}}
    assert rows_of(dropped) == {0: {1: 2}, 1: {0: 2}}
    assert (kept.n_edges, dropped.n_edges) == (3, 1)


def test_a_weighted_graph_whose_loops_are_all_dropped_is_still_weighted():
    graph = build([(0, 0)], [2.0], 1, False, drop_self_loops=True)
    assert graph.is_weighted
    assert graph.n_isolated == 1


def test_weights_that_add_up_to_infinity_are_an_error():
    with pytest.raises(GraphError, match="add up to infinity"):
        build([(0, 1), (0, 1)], [1e308, 1e308], 2, False)
