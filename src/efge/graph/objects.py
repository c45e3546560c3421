"""Objects in memory -> Graph: NetworkX, SciPy, NumPy, pandas, Polars, igraph, PyTorch Geometric, pairs.

Types are recognized by the names of their modules, so no library is imported unless one of its objects is passed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError
from efge.graph.build import graph_from_edges
from efge.graph.columns import Columns
from efge.graph.encoders import IntegerEncoder, ObjectEncoder, Rows
from efge.graph.graph import Graph, Weights, check_weights
from efge.graph.names import Names, check_distinct, name_array, normalize_name


@dataclass(frozen=True)
class ConversionOptions:
    """How to convert an object to a graph; None means to follow the object."""

    directed: bool | None = None
    columns: Columns = field(default_factory=Columns)
    nodes: Iterable[Hashable] | None = None
    drop_self_loops: bool = False

    @property
    def weighted(self) -> bool | None:
        """Whether to use weights."""
        return self.columns.weighted

    @property
    def weight(self) -> str | int | None:
        """The weight column or attribute."""
        return self.columns.weight


def graph_from_object(x: Any, options: ConversionOptions) -> Graph:
    """Convert an object of a known type to a graph."""
    if options.nodes is not None:
        options = replace(options, nodes=list(options.nodes))
    for matches, convert in _CONVERTERS:
        if matches(x):
            return convert(x, options)
    kinds = "a Graph, a path, a NetworkX, igraph or PyTorch Geometric graph, a SciPy matrix, a NumPy array, "
    raise GraphError(f"a graph is {kinds}a pandas or Polars data frame, or an iterable of pairs; got {_type_name(x)}")


def _type_name(x: Any) -> str:
    return f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")


def _is_from(package: str, *attributes: str) -> Callable[[Any], bool]:
    """Return a test whether an object's class, or one of its bases, is defined in the package."""

    def matches(x: Any) -> bool:
        return any(c.__module__.split(".")[0] == package for c in type(x).__mro__) and all(
            hasattr(x, attribute) for attribute in attributes
        )

    return matches


def _from_graph(graph: Graph, options: ConversionOptions) -> Graph:
    """Return the graph itself, or a changed copy if the options differ from it."""
    directed = graph.directed if options.directed is None else options.directed
    weighted = graph.is_weighted if options.weighted is None else options.weighted
    extra = _new_names(graph, options.nodes)
    drops = options.drop_self_loops and graph.n_self_loops > 0
    if (directed, weighted) == (graph.directed, graph.is_weighted) and not extra and not drops:
        return graph
    sources = np.repeat(np.arange(graph.n_nodes, dtype=np.int32), graph.degrees)
    ends = np.column_stack([sources, graph.indices]).astype(np.int32)
    weights = np.ones(len(ends)) if graph.weights is None else graph.weights
    if not graph.directed and not directed:
        is_first = ends[:, 0] <= ends[:, 1]
        ends, weights = ends[is_first], weights[is_first]
    return graph_from_edges(
        ends,
        weights if weighted else None,
        name_array([*graph.names.tolist(), *extra]),
        directed=directed,
        drop_self_loops=options.drop_self_loops,
    )


def _new_names(graph: Graph, nodes: Iterable[Hashable] | None) -> list[Hashable]:
    names = [] if nodes is None else list(dict.fromkeys(nodes))
    return [name for name, row in zip(names, graph._index.rows(names), strict=True) if row < 0] if names else []


def _from_networkx(x: Any, options: ConversionOptions) -> Graph:
    attribute = "weight" if options.weight is None else options.weight
    weighted = options.weighted
    if weighted is None or options.weight is not None:
        present = any(value is not None for *_, value in x.edges(data=attribute))
        if options.weight is not None and x.number_of_edges() and not present:
            raise GraphError(f"no edge has an attribute {attribute!r}")
        weighted = present if weighted is None else weighted
    encoder = ObjectEncoder()
    encoder.encode(list(x))
    edges = list(x.edges(data=attribute, default=1)) if weighted else list(x.edges())
    rows = encoder.encode([name for edge in edges for name in edge[:2]])
    weights = _as_weights([edge[2] for edge in edges], lambda i: f"edge {edges[i][:2]}") if weighted else None
    directed = x.is_directed() if options.directed is None else options.directed
    graph = _build(rows.reshape(-1, 2), weights, encoder.names(), directed, options)
    return _from_graph(graph, ConversionOptions(nodes=options.nodes))


def _from_igraph(x: Any, options: ConversionOptions) -> Graph:
    names = name_array(x.vs["name"] if "name" in x.vs.attributes() else range(x.vcount()))
    check_distinct(names)
    ends = np.array(x.get_edgelist(), np.int32).reshape(-1, 2)
    attribute = "weight" if options.weight is None else options.weight
    present = attribute in x.es.attributes()
    if (options.weighted or options.weight is not None) and not present:
        raise GraphError(f"no edge attribute {attribute!r}; there are: {', '.join(x.es.attributes()) or 'none'}")
    weights = None
    if present and options.weighted is not False:
        weights = _as_weights(x.es[attribute], lambda i: f"edge {tuple(names[ends[i]].tolist())}")
    directed = x.is_directed() if options.directed is None else options.directed
    return _from_graph(_build(ends, weights, names, directed, options), ConversionOptions(nodes=options.nodes))


def _from_geometric(x: Any, options: ConversionOptions) -> Graph:
    """Convert a PyTorch Geometric `Data`: edges are columns of `edge_index`, undirected ones in both directions."""
    ends = _as_array(x.edge_index)
    if ends.ndim != 2 or ends.shape[0] != 2 or (ends.size and ends.dtype.kind not in "iu"):
        raise GraphError(f"edge_index has two rows of integers; got {ends.dtype} of shape {ends.shape}")
    n = int(getattr(x, "num_nodes", None) or ends.max(initial=-1) + 1)
    weights = getattr(x, "edge_weight" if options.weight is None else str(options.weight), None)
    if weights is None and (options.weighted or options.weight is not None):
        raise GraphError(f"no edge weights {options.weight or 'edge_weight'!r} in {_type_name(x)}")
    values = np.ones(ends.shape[1])
    if weights is not None:
        flat = _as_array(weights)
        values = _as_weights(flat[:, 0] if flat.ndim == 2 and flat.shape[1] == 1 else flat, lambda i: f"edge {i}")
    if values.shape != (ends.shape[1],):
        raise GraphError(f"each of {ends.shape[1]} edges has a weight; got weights of shape {values.shape}")
    weighted = weights is not None if options.weighted is None else options.weighted
    return _from_entries(ends, values, n, weighted, options)


def _as_array(tensor: Any) -> npt.NDArray[Any]:
    """Return a tensor's values, on whatever device it is and whether or not it has gradients."""
    for step in ("detach", "cpu"):
        tensor = getattr(tensor, step)() if hasattr(tensor, step) else tensor
    return np.asarray(tensor)


def _from_matrix(x: Any, options: ConversionOptions) -> Graph:
    """Convert a SciPy sparse matrix or array: each nonzero entry is an edge."""
    if x.ndim != 2 or x.shape[0] != x.shape[1]:
        raise GraphError(f"an adjacency matrix is square; got shape {x.shape}")
    if hasattr(x, "check_format"):
        # Without this check, SciPy would read outside of the arrays of an invalid matrix.
        try:
            x.check_format(full_check=True)
        except ValueError as error:
            raise GraphError(f"the matrix is not valid: {error}") from None
    entries = x.tocoo()
    values = entries.data
    if values.dtype.kind == "c":
        raise GraphError("the entries of an adjacency matrix are real numbers; got complex ones")
    is_edge = values != 0
    values = values[is_edge].astype(np.float64)
    ends = np.vstack([entries.row[is_edge], entries.col[is_edge]])
    weighted = bool((values != 1).any()) if options.weighted is None else options.weighted
    return _from_entries(ends, values, x.shape[0], weighted, options)


def _from_entries(ends: npt.NDArray[Any], values: Weights, n: int, weighted: bool, options: ConversionOptions) -> Graph:
    """Convert a matrix's entries: undirected if the matrix is symmetric, unless the options say otherwise."""
    if n >= 1 << 31:
        raise GraphError(f"a graph has fewer than {1 << 31:,} nodes; got {n:,}")
    if ends.size and not (ends.min() >= 0 and ends.max() < n):
        raise GraphError(f"nodes are numbered 0 to {n - 1}; edges have {ends.min()} to {ends.max()}")
    if weighted:
        check_weights(values, "edge {}")
    matrix = graph_from_edges(
        np.ascontiguousarray(ends.T, np.int32),
        values if weighted else None,
        name_array(np.arange(n)),
        directed=True,
        drop_self_loops=options.drop_self_loops,
    )
    adjacency = matrix.to_scipy()
    symmetric = (adjacency != adjacency.T).nnz == 0
    directed = not symmetric if options.directed is None else options.directed
    if not directed and not symmetric:
        raise GraphError(
            "an undirected graph has a symmetric matrix; this one is not symmetric, so "
            "pass directed=True (--directed), or make it symmetric, as (a + a.T) / 2"
        )
    graph = Graph._from_valid(matrix.indptr, matrix.indices, matrix.weights, matrix.names, directed)
    return _from_graph(graph, ConversionOptions(nodes=options.nodes))


def _from_array(x: npt.NDArray[Any], options: ConversionOptions) -> Graph:
    """Convert an array: a square one is an adjacency matrix; one of two or three columns is a list of edges."""
    x = np.asarray(x)
    if x.ndim == 2 and x.shape[0] == x.shape[1]:
        from scipy.sparse import coo_array

        if x.dtype.kind not in "biuf":
            raise GraphError(f"the entries of an adjacency matrix are numbers; got {x.dtype}")
        if not np.isfinite(x).all():
            raise GraphError("the entries of an adjacency matrix are finite")
        return _from_matrix(coo_array(x), options)
    if x.ndim != 2 or x.shape[1] not in (2, 3):
        raise GraphError(
            f"the shape of an array is (n, n), a matrix, or (m, 2) or (m, 3), a list of edges; got {x.shape}"
        )
    source, target, weight = options.columns.choose([], x.shape[1])
    return _from_columns(x[:, source], x[:, target], None if weight is None else x[:, weight], options)


def _from_frame(x: Any, options: ConversionOptions) -> Graph:
    """Convert a pandas or Polars data frame or an Arrow table: each row is an edge."""
    names = list(x.schema.names if hasattr(x, "column_names") else x.columns)
    source, target, weight = options.columns.choose(names, len(names))
    weights = None if weight is None else _column(x, names[weight], weight)
    return _from_columns(_column(x, names[source], source), _column(x, names[target], target), weights, options)


def _column(x: Any, name: Any, number: int) -> npt.NDArray[Any]:
    if hasattr(x, "iloc"):
        values = x.iloc[:, number]
        is_missing, array = values.isna().to_numpy(), values.to_numpy()
    elif hasattr(x, "to_series"):
        values = x.to_series(number)
        is_missing, array = values.is_null().to_numpy(), values.to_numpy()
    else:
        values = x.column(number)
        is_missing, array = np.asarray(values.is_null()), _arrow_values(values, name)
    if is_missing.any():
        raise GraphError(f"column {name!r}, row {int(np.argmax(is_missing))}: a value is missing")
    return np.asarray(array)


def _arrow_values(values: Any, name: Any) -> npt.NDArray[Any]:
    """Return the values of an Arrow column; rows with the same dictionary entry share one object."""
    if hasattr(values.type, "index_type"):
        chunks = [np.array(chunk.dictionary.to_pylist(), object)[chunk.indices.fill_null(0)] for chunk in values.chunks]
        return np.concatenate([np.empty(0, object), *chunks])
    if values.type.num_fields:
        raise GraphError(f"column {name!r}: a node name is hashable and a weight is a number; got {values.type}")
    return np.asarray(values)


def _from_columns(
    source: npt.NDArray[Any], target: npt.NDArray[Any], weights: npt.NDArray[Any] | None, options: ConversionOptions
) -> Graph:
    """Convert columns of sources, targets and weights."""
    ends, names = _encode(source, target, options.nodes)

    def place(i: int) -> str:
        return f"edge {i} {normalize_name(source[i]), normalize_name(target[i])}"

    values = None if weights is None else _as_weights(weights, place)
    return _build(ends, values, names, bool(options.directed), options)


def _from_pairs(x: Iterable[Any], options: ConversionOptions) -> Graph:
    edges = [tuple(edge) if isinstance(edge, Iterable) and not isinstance(edge, str) else (edge,) for edge in x]
    sizes = {len(edge) for edge in edges}
    if not sizes <= {2, 3} or len(sizes) > 1:
        wrong = next(i for i, edge in enumerate(edges) if len(edge) not in (2, 3) or len(edge) != len(edges[0]))
        raise GraphError(f"edge {wrong}: all edges are pairs, or all have a weight too; got {edges[wrong]!r}")
    if sizes == {2} and options.weighted:
        raise GraphError("a weighted graph has edges of three parts: source, target, weight")
    encoder = ObjectEncoder()
    encoder.encode([] if options.nodes is None else list(options.nodes))
    rows = encoder.encode([name for edge in edges for name in edge[:2]])
    weighted = sizes == {3} and options.weighted is not False
    weights = _as_weights([edge[2] for edge in edges], lambda i: f"edge {i} {edges[i][:2]}") if weighted else None
    return _build(rows.reshape(-1, 2), weights, encoder.names(), bool(options.directed), options)


def _encode(source: npt.NDArray[Any], target: npt.NDArray[Any], nodes: Iterable[Hashable] | None) -> tuple[Rows, Names]:
    """Return edges as pairs of rows, and the names in the order of their first appearance, edge by edge."""
    source, target = _as_integers(source), _as_integers(target)
    ends = np.empty((len(source), 2), np.result_type(source, target))
    ends[:, 0], ends[:, 1] = source, target
    if ends.dtype.kind in "iu" and nodes is None and _fits(ends):
        integers = IntegerEncoder()
        return integers.encode(ends.ravel().astype(np.int64)).reshape(-1, 2), integers.names()
    if ends.dtype.kind == "f" and np.isnan(ends).any():
        raise GraphError(f"edge {int(np.argmax(np.isnan(ends).any(axis=1)))}: a node name is not NaN")
    encoder = ObjectEncoder()
    encoder.encode([] if nodes is None else list(nodes))
    return encoder.encode(ends.ravel().tolist()).reshape(-1, 2), encoder.names()


def _as_integers(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Convert integers of any type to int64 if they fit, else to Python's; return anything else unchanged.

    Otherwise NumPy would round large integers when it joins columns of two types.
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
    invalid = ~(np.isfinite(weights) & (weights > 0))
    if invalid.any():
        first = int(np.argmax(invalid))
        raise GraphError(f"{place(first)}: a weight is finite and positive; got {weights[first]}")
    return weights


def _is_float(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _build(ends: Rows, weights: Weights | None, names: Names, directed: bool, options: ConversionOptions) -> Graph:
    return graph_from_edges(ends, weights, names, directed=directed, drop_self_loops=options.drop_self_loops)


def _is_iterable(x: Any) -> bool:
    return isinstance(x, Iterable) and not isinstance(x, (str, bytes, dict))


_CONVERTERS: list[tuple[Callable[[Any], bool], Callable[[Any, ConversionOptions], Graph]]] = [
    (lambda x: isinstance(x, Graph), _from_graph),
    (_is_from("networkx", "is_directed", "edges"), _from_networkx),
    (_is_from("igraph", "get_edgelist"), _from_igraph),
    (lambda x: hasattr(x, "edge_index"), _from_geometric),
    (_is_from("scipy", "tocoo"), _from_matrix),
    (lambda x: isinstance(x, np.ndarray), _from_array),
    (_is_from("pandas", "columns"), _from_frame),
    (_is_from("polars", "collect"), lambda x, options: _from_frame(x.collect(), options)),
    (_is_from("polars", "columns"), _from_frame),
    (_is_from("pyarrow", "column_names"), _from_frame),
    (_is_iterable, _from_pairs),
]
