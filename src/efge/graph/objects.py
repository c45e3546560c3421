"""Objects in memory -> Graph: NetworkX, SciPy, NumPy, pandas, Polars, igraph, PyTorch Geometric, pairs.

No library is imported here unless one of its objects was passed: types are told by the names of their modules.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError
from efge.graph.columns import Columns
from efge.graph.graph import Graph, Weights, check_weights, graph_from_edges
from efge.graph.names import IntegerNames, Names, Numbers, ObjectNames, check_distinct, name_array, plain_name


@dataclass(frozen=True)
class Reading:
    """How to read an object as a graph; None means: as the object says."""

    directed: bool | None = None
    columns: Columns = field(default_factory=Columns)
    nodes: Iterable[Hashable] | None = None
    drop_self_loops: bool = False

    @property
    def weighted(self) -> bool | None:
        """Whether to take weights."""
        return self.columns.weighted

    @property
    def weight(self) -> str | int | None:
        """The column or attribute that is the weight."""
        return self.columns.weight


def graph_from_object(x: Any, reading: Reading) -> Graph:
    """Turn an object of a kind that is known into a graph."""
    if reading.nodes is not None:
        reading = replace(reading, nodes=list(reading.nodes))
    for knows, convert in _CONVERTERS:
        if knows(x):
            return convert(x, reading)
    kinds = "a Graph, a path, NetworkX, igraph or PyTorch Geometric graphs, a SciPy matrix, a NumPy array, "
    raise GraphError(f"a graph is {kinds}a pandas or Polars data frame, or an iterable of pairs; got {_kind(x)}")


def _kind(x: Any) -> str:
    return f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")


def _is_from(package: str, *attributes: str) -> Callable[[Any], bool]:
    """Whether a class of the object, or one it inherits from, was defined in the package."""

    def knows(x: Any) -> bool:
        return any(c.__module__.split(".")[0] == package for c in type(x).__mro__) and all(
            hasattr(x, attribute) for attribute in attributes
        )

    return knows


def _from_graph(graph: Graph, reading: Reading) -> Graph:
    """A graph as it is, unless it is asked to be another."""
    directed = graph.directed if reading.directed is None else reading.directed
    weighted = graph.is_weighted if reading.weighted is None else reading.weighted
    extra = _unknown(graph, reading.nodes)
    drops = reading.drop_self_loops and graph.n_self_loops > 0
    if (directed, weighted) == (graph.directed, graph.is_weighted) and not extra and not drops:
        return graph
    sources = np.repeat(np.arange(graph.n_nodes, dtype=np.int32), graph.degrees)
    ends = np.column_stack([sources, graph.indices]).astype(np.int32)
    weights = np.ones(len(ends)) if graph.weights is None else graph.weights
    if not graph.directed and not directed:
        once = ends[:, 0] <= ends[:, 1]
        ends, weights = ends[once], weights[once]
    return graph_from_edges(
        ends,
        weights if weighted else None,
        name_array([*graph.names.tolist(), *extra]),
        directed=directed,
        drop_self_loops=reading.drop_self_loops,
    )


def _unknown(graph: Graph, nodes: Iterable[Hashable] | None) -> list[Hashable]:
    names = [] if nodes is None else list(dict.fromkeys(nodes))
    return [name for name, row in zip(names, graph._index.rows(names), strict=True) if row < 0] if names else []


def _from_networkx(x: Any, reading: Reading) -> Graph:
    attribute = "weight" if reading.weight is None else reading.weight
    weighted = reading.weighted
    if weighted is None or reading.weight is not None:
        present = any(value is not None for *_, value in x.edges(data=attribute))
        if reading.weight is not None and x.number_of_edges() and not present:
            raise GraphError(f"no edge has an attribute {attribute!r}")
        weighted = present if weighted is None else weighted
    names = ObjectNames()
    names.number(list(x))
    edges = list(x.edges(data=attribute, default=1)) if weighted else list(x.edges())
    numbers = names.number([name for edge in edges for name in edge[:2]])
    weights = _as_weights([edge[2] for edge in edges], lambda i: f"edge {edges[i][:2]}") if weighted else None
    directed = x.is_directed() if reading.directed is None else reading.directed
    graph = _build(numbers.reshape(-1, 2), weights, names.names(), directed, reading)
    return _from_graph(graph, Reading(nodes=reading.nodes))


def _from_igraph(x: Any, reading: Reading) -> Graph:
    names = name_array(x.vs["name"] if "name" in x.vs.attributes() else range(x.vcount()))
    check_distinct(names)
    ends = np.array(x.get_edgelist(), np.int32).reshape(-1, 2)
    attribute = "weight" if reading.weight is None else reading.weight
    present = attribute in x.es.attributes()
    if (reading.weighted or reading.weight is not None) and not present:
        raise GraphError(f"no edge attribute {attribute!r}; there are: {', '.join(x.es.attributes()) or 'none'}")
    weights = None
    if present and reading.weighted is not False:
        weights = _as_weights(x.es[attribute], lambda i: f"edge {tuple(names[ends[i]].tolist())}")
    directed = x.is_directed() if reading.directed is None else reading.directed
    return _from_graph(_build(ends, weights, names, directed, reading), Reading(nodes=reading.nodes))


def _from_geometric(x: Any, reading: Reading) -> Graph:
    """A PyTorch Geometric `Data`: edges are the columns of `edge_index`, an undirected one in both directions."""
    ends = _as_array(x.edge_index)
    if ends.ndim != 2 or ends.shape[0] != 2 or (ends.size and ends.dtype.kind not in "iu"):
        raise GraphError(f"edge_index has two rows of whole numbers; got {ends.dtype} of shape {ends.shape}")
    n = int(getattr(x, "num_nodes", None) or ends.max(initial=-1) + 1)
    weights = getattr(x, "edge_weight" if reading.weight is None else str(reading.weight), None)
    if weights is None and (reading.weighted or reading.weight is not None):
        raise GraphError(f"no edge weights {reading.weight or 'edge_weight'!r} in {_kind(x)}")
    values = np.ones(ends.shape[1])
    if weights is not None:
        flat = _as_array(weights)
        values = _as_weights(flat[:, 0] if flat.ndim == 2 and flat.shape[1] == 1 else flat, lambda i: f"edge {i}")
    if values.shape != (ends.shape[1],):
        raise GraphError(f"there is a weight for each of {ends.shape[1]} edges; got {values.shape}")
    weighted = weights is not None if reading.weighted is None else reading.weighted
    return _from_entries(ends, values, n, weighted, reading)


def _as_array(tensor: Any) -> npt.NDArray[Any]:
    """A tensor's values, wherever it is and whatever depends on it."""
    for step in ("detach", "cpu"):
        tensor = getattr(tensor, step)() if hasattr(tensor, step) else tensor
    return np.asarray(tensor)


def _from_matrix(x: Any, reading: Reading) -> Graph:
    """A SciPy sparse matrix or array: an entry other than zero is an edge."""
    if x.ndim != 2 or x.shape[0] != x.shape[1]:
        raise GraphError(f"an adjacency matrix is square; got shape {x.shape}")
    if hasattr(x, "check_format"):
        # SciPy would look for the entries of a row wherever the matrix says they are.
        try:
            x.check_format(full_check=True)
        except ValueError as error:
            raise GraphError(f"the matrix does not hold together: {error}") from None
    entries = x.tocoo()
    values = entries.data
    if values.dtype.kind == "c":
        raise GraphError("the entries of an adjacency matrix are real numbers; got complex ones")
    some = values != 0
    values = values[some].astype(np.float64)
    ends = np.vstack([entries.row[some], entries.col[some]])
    weighted = bool((values != 1).any()) if reading.weighted is None else reading.weighted
    return _from_entries(ends, values, x.shape[0], weighted, reading)


def _from_entries(ends: npt.NDArray[Any], values: Weights, n: int, weighted: bool, reading: Reading) -> Graph:
    """A graph from a matrix's entries: undirected if the matrix is symmetric, unless told otherwise."""
    if n >= 1 << 31:
        raise GraphError(f"a graph has fewer than {1 << 31:,} nodes; got {n:,}")
    if ends.size and not (ends.min() >= 0 and ends.max() < n):
        raise GraphError(f"nodes are numbered 0 to {n - 1}; an edge has {ends.min()} to {ends.max()}")
    if weighted:
        check_weights(values, "edge {}")
    matrix = graph_from_edges(
        np.ascontiguousarray(ends.T, np.int32),
        values if weighted else None,
        name_array(np.arange(n)),
        directed=True,
        drop_self_loops=reading.drop_self_loops,
    )
    adjacency = matrix.to_scipy()
    symmetric = (adjacency != adjacency.T).nnz == 0
    directed = not symmetric if reading.directed is None else reading.directed
    if not directed and not symmetric:
        raise GraphError(
            "an undirected graph has a symmetric matrix and this one is not; "
            "pass directed=True (--directed), or make it symmetric, as (a + a.T) / 2"
        )
    graph = Graph._of_valid(matrix.indptr, matrix.indices, matrix.weights, matrix.names, directed)
    return _from_graph(graph, Reading(nodes=reading.nodes))


def _from_array(x: npt.NDArray[Any], reading: Reading) -> Graph:
    """A square array is an adjacency matrix; one of two or three columns is a list of edges."""
    x = np.asarray(x)
    if x.ndim == 2 and x.shape[0] == x.shape[1]:
        from scipy.sparse import coo_array

        if x.dtype.kind not in "biuf":
            raise GraphError(f"the entries of an adjacency matrix are numbers; got {x.dtype}")
        if not np.isfinite(x).all():
            raise GraphError("the entries of an adjacency matrix are finite")
        return _from_matrix(coo_array(x), reading)
    if x.ndim != 2 or x.shape[1] not in (2, 3):
        raise GraphError(f"an array is (n, n), a matrix, or (m, 2) or (m, 3), a list of edges; got shape {x.shape}")
    source, target, weight = reading.columns.choose([], x.shape[1])
    return _from_columns(x[:, source], x[:, target], None if weight is None else x[:, weight], reading)


def _from_frame(x: Any, reading: Reading) -> Graph:
    """A pandas or Polars data frame or an Arrow table: a row for each edge."""
    names = list(x.schema.names if hasattr(x, "column_names") else x.columns)
    source, target, weight = reading.columns.choose(names, len(names))
    weights = None if weight is None else _column(x, names[weight], weight)
    return _from_columns(_column(x, names[source], source), _column(x, names[target], target), weights, reading)


def _column(x: Any, name: Any, place: int) -> npt.NDArray[Any]:
    if hasattr(x, "iloc"):
        values = x.iloc[:, place]
        missing, array = values.isna().to_numpy(), values.to_numpy()
    elif hasattr(x, "to_series"):
        values = x.to_series(place)
        missing, array = values.is_null().to_numpy(), values.to_numpy()
    else:
        values = x.column(place)
        missing, array = np.asarray(values.is_null()), _arrow_values(values, name)
    if missing.any():
        raise GraphError(f"column {name!r}, row {int(np.argmax(missing))}: a value is missing")
    return np.asarray(array)


def _arrow_values(values: Any, name: Any) -> npt.NDArray[Any]:
    """The values of an Arrow column; of a text that many rows refer to, there is one copy."""
    if hasattr(values.type, "index_type"):
        chunks = [np.array(chunk.dictionary.to_pylist(), object)[chunk.indices.fill_null(0)] for chunk in values.chunks]
        return np.concatenate([np.empty(0, object), *chunks])
    if values.type.num_fields:
        raise GraphError(f"column {name!r}: a node name is hashable, and a weight a number; got {values.type}")
    return np.asarray(values)


def _from_columns(
    source: npt.NDArray[Any], target: npt.NDArray[Any], weights: npt.NDArray[Any] | None, reading: Reading
) -> Graph:
    """A list of edges, a column for each of its parts."""
    numbers, names = _number(source, target, reading.nodes)

    def place(i: int) -> str:
        return f"edge {i} {plain_name(source[i]), plain_name(target[i])}"

    values = None if weights is None else _as_weights(weights, place)
    return _build(numbers, values, names, bool(reading.directed), reading)


def _from_pairs(x: Iterable[Any], reading: Reading) -> Graph:
    edges = [tuple(edge) if isinstance(edge, Iterable) and not isinstance(edge, str) else (edge,) for edge in x]
    sizes = {len(edge) for edge in edges}
    if not sizes <= {2, 3} or len(sizes) > 1:
        wrong = next(i for i, edge in enumerate(edges) if len(edge) not in (2, 3) or len(edge) != len(edges[0]))
        raise GraphError(f"edge {wrong}: an edge is a pair, or all have a weight too; got {edges[wrong]!r}")
    if sizes == {2} and reading.weighted:
        raise GraphError("a weighted graph has edges of three parts: source, target, weight")
    names = ObjectNames()
    names.number([] if reading.nodes is None else list(reading.nodes))
    numbers = names.number([name for edge in edges for name in edge[:2]])
    weighted = sizes == {3} and reading.weighted is not False
    weights = _as_weights([edge[2] for edge in edges], lambda i: f"edge {i} {edges[i][:2]}") if weighted else None
    return _build(numbers.reshape(-1, 2), weights, names.names(), bool(reading.directed), reading)


def _number(
    source: npt.NDArray[Any], target: npt.NDArray[Any], nodes: Iterable[Hashable] | None
) -> tuple[Numbers, Names]:
    """Rows for the ends of the edges: a node is numbered when it first appears, line by line."""
    source, target = _whole(source), _whole(target)
    ends = np.empty((len(source), 2), np.result_type(source, target))
    ends[:, 0], ends[:, 1] = source, target
    if ends.dtype.kind in "iu" and nodes is None and _fits(ends):
        integers = IntegerNames()
        return integers.number(ends.ravel().astype(np.int64)).reshape(-1, 2), integers.names()
    if ends.dtype.kind == "f" and np.isnan(ends).any():
        raise GraphError(f"edge {int(np.argmax(np.isnan(ends).any(axis=1)))}: a node name is not NaN")
    names = ObjectNames()
    names.number([] if nodes is None else list(nodes))
    return names.number(ends.ravel().tolist()).reshape(-1, 2), names.names()


def _whole(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Whole numbers of any kind as int64 where they fit, as Python's otherwise; anything else as it is.

    Left to itself, NumPy would round large ones when it joins columns of two kinds.
    """
    if column.dtype.kind not in "uf" or not np.isfinite(column).all() or (column != np.rint(column)).any():
        return column
    return column.astype(np.int64 if _fits(column) else object)


def _fits(values: npt.NDArray[Any]) -> bool:
    return not values.size or (values.min() >= -(2**63) and values.max() < 2**63)


def _as_weights(values: Any, place: Callable[[int], str]) -> Weights:
    try:
        weights = np.asarray(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        wrong = next(i for i, value in enumerate(values) if not _is_float(value))
        raise GraphError(f"{place(wrong)}: a weight is a number; got {values[wrong]!r}") from None
    if weights.ndim != 1:
        raise GraphError(f"{place(0)}: a weight is a number; got {values[0]!r}")
    wrong_ones = ~(np.isfinite(weights) & (weights > 0))
    if wrong_ones.any():
        first = int(np.argmax(wrong_ones))
        raise GraphError(f"{place(first)}: a weight is finite and positive; got {weights[first]}")
    return weights


def _is_float(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _build(ends: Numbers, weights: Weights | None, names: Names, directed: bool, reading: Reading) -> Graph:
    return graph_from_edges(ends, weights, names, directed=directed, drop_self_loops=reading.drop_self_loops)


def _is_iterable(x: Any) -> bool:
    return isinstance(x, Iterable) and not isinstance(x, (str, bytes, dict))


_CONVERTERS: list[tuple[Callable[[Any], bool], Callable[[Any, Reading], Graph]]] = [
    (lambda x: isinstance(x, Graph), _from_graph),
    (_is_from("networkx", "is_directed", "edges"), _from_networkx),
    (_is_from("igraph", "get_edgelist"), _from_igraph),
    (lambda x: hasattr(x, "edge_index"), _from_geometric),
    (_is_from("scipy", "tocoo"), _from_matrix),
    (lambda x: isinstance(x, np.ndarray), _from_array),
    (_is_from("pandas", "columns"), _from_frame),
    (_is_from("polars", "collect"), lambda x, reading: _from_frame(x.collect(), reading)),
    (_is_from("polars", "columns"), _from_frame),
    (_is_from("pyarrow", "column_names"), _from_frame),
    (_is_iterable, _from_pairs),
]
