"""What all conversions share: options, matrices, columns of names, weights; arrays -> Graph."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError, warn_user
from efge.graph.build import graph_from_edges
from efge.graph.columns import Columns, Head
from efge.graph.encoders import IntegerEncoder, ObjectEncoder, Rows
from efge.graph.graph import Graph, Weights, check_weights
from efge.graph.kinds import name_matrix, resolve_kinds
from efge.graph.names import Names, check_distinct, name_array, normalize_name

_BIPARTITE_ADVICE = "if rows and columns are two kinds of nodes, such as users and items, pass bipartite=True"

TRIPLES_ADVICE = "if these are triples of subject, predicate and object, pass source=0, target=2"

# Seconds since 1970: in 1985, and in 2100.
_TIMES = (4.7e8, 4.1e9)


@dataclass
class ReadingRecord:
    """What was read, and what was guessed on the way, for `efge info`."""

    rows: int | None = None
    skipped: int = 0
    columns: tuple[Any, Any] | None = None  # names of the source and target columns, if there are any
    guesses: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ConversionOptions:
    """How to convert an object to a graph; None means to follow the object."""

    directed: bool | None = None
    columns: Columns = field(default_factory=Columns)
    nodes: Iterable[Hashable] | None = None
    drop_self_loops: bool = False
    names: Iterable[Hashable] | None = None
    record: ReadingRecord = field(default_factory=ReadingRecord)
    bipartite: bool | None = None
    count_duplicates: bool = False

    def resolved(self) -> ConversionOptions:
        """Return the options without columns of weights if duplicates are counted instead."""
        if not self.count_duplicates:
            return self
        if self.columns.weighted:
            raise GraphError("count_duplicates (--count-duplicates) replaces weights, which weighted asks to read")
        return replace(self, columns=replace(self.columns, weighted=False))

    def refuse_counts(self) -> None:
        """Raise a GraphError if duplicate edges are to be counted in a graph that cannot have any."""
        if self.count_duplicates:
            rule = "count_duplicates (--count-duplicates) is for lists of edges and multigraphs"
            raise GraphError(f"{rule}; an edge of this graph is there once, so leave it out")

    @property
    def weighted(self) -> bool | None:
        """Whether to use weights."""
        return self.columns.weighted

    @property
    def weight(self) -> str | int | None:
        """The weight column or attribute."""
        return self.columns.weight


def type_name(x: Any) -> str:
    """Return the full name of an object's class."""
    return f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")


def from_graph(graph: Graph, options: ConversionOptions) -> Graph:
    """Return the graph itself, or a changed copy if the options differ from it."""
    options.refuse_counts()
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


def _has_duplicates(matrix: Any, ends: npt.NDArray[Any]) -> bool:
    """Return whether entries are listed several times: they are added up, and the sums are weights even of ones."""
    if getattr(matrix, "has_canonical_format", False):
        return False
    listed = ends[0].astype(np.int64) * matrix.shape[1] + ends[1]
    return len(np.unique(listed)) < len(listed)


def from_matrix(x: Any, options: ConversionOptions) -> Graph:
    """Convert a SciPy sparse matrix or array: each nonzero entry is an edge."""
    options.refuse_counts()
    if x.ndim != 2 or (x.shape[0] != x.shape[1] and not options.bipartite):
        raise GraphError(f"an adjacency matrix is square; got shape {x.shape}; {_BIPARTITE_ADVICE}")
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
    weighted = options.weighted
    if weighted is None:
        weighted = bool((values != 1).any()) or _has_duplicates(x, ends)
    if options.bipartite:
        return from_biadjacency(
            ends, values if weighted else None, name_matrix(*map(range, x.shape)), x.shape[0], options
        )
    return from_entries(ends, values, x.shape[0], weighted, options)


def from_biadjacency(
    ends: npt.NDArray[Any], weights: Weights | None, names: Names, n_rows: int, options: ConversionOptions
) -> Graph:
    """Convert entries of a matrix whose rows and columns are different nodes, rows first."""
    options.refuse_counts()
    refuse_names(options)
    if weights is not None:
        check_weights(weights, "entry {}")
    pairs = np.column_stack([ends[0], ends[1].astype(np.int64) + n_rows]).astype(np.int32)
    return build(pairs, weights, names, bool(options.directed), options)


def from_entries(ends: npt.NDArray[Any], values: Weights, n: int, weighted: bool, options: ConversionOptions) -> Graph:
    """Convert a matrix's entries: undirected if the matrix is symmetric, unless the options say otherwise."""
    options.refuse_counts()
    if n >= 1 << 31:
        raise GraphError(f"a graph has fewer than {1 << 31:,} nodes; got {n:,}")
    if ends.size and not (ends.min() >= 0 and ends.max() < n):
        raise GraphError(f"nodes are numbered 0 to {n - 1}; edges have {ends.min()} to {ends.max()}")
    if weighted:
        check_weights(values, "edge {}")
    matrix = graph_from_edges(
        np.ascontiguousarray(ends.T, np.int32),
        values if weighted else None,
        _row_names(n, options),
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
    return from_graph(graph, ConversionOptions(nodes=options.nodes))


def _row_names(n: int, options: ConversionOptions) -> Names:
    """Return the given names of rows, or the numbers from 0."""
    if options.names is None:
        nodes = [] if options.nodes is None else list(options.nodes)
        if len(nodes) == n > 0 and not any(isinstance(normalize_name(node), int) for node in nodes):
            raise GraphError(f"nodes= adds nodes to the {n} of the matrix; to name its rows, pass names= (--names)")
        return name_array(np.arange(n))
    if isinstance(options.names, str):
        raise GraphError(f"names is a list of names, one for each row; got the text {options.names!r}")
    names = name_array(list(options.names))
    if len(names) != n:
        raise GraphError(f"names has a name for each of {n} rows; got {len(names)}")
    check_distinct(names)
    return names


def from_array(x: npt.NDArray[Any], options: ConversionOptions) -> Graph:
    """Convert an array: a square one is an adjacency matrix; one of two or three columns is a list of edges."""
    if isinstance(x, np.ma.MaskedArray):
        raise GraphError("an array has no masked values; pass array.filled(0) for a matrix without these entries")
    x = np.asarray(x)
    # SciPy has no matrices of 16-bit floats.
    x = x.astype(np.float32) if x.dtype == np.float16 else x
    is_matrix = x.ndim == 2 and (x.shape[0] == x.shape[1] or bool(options.bipartite and x.shape[1] > 3))
    if is_matrix and options.columns.source is None:
        from scipy.sparse import coo_array

        if x.dtype.kind not in "biuf":
            columns = ["source=0", "target=1", "weight=2"][: len(x)]
            hint = f"; if the rows are edges, pass {', '.join(columns)}" if x.shape in ((2, 2), (3, 3)) else ""
            raise GraphError(f"the entries of an adjacency matrix are numbers; got {x.dtype}{hint}")
        if not np.isfinite(x).all():
            raise GraphError("the entries of an adjacency matrix are finite")
        if options.names is None and _may_be_edges(x):
            warn_user(
                f"an array of {len(x)} x {len(x)} numbers is read as an adjacency matrix; pass source=0 and target=1 if"
                " its rows are edges, or names= with a name for each row if it is a matrix"
            )
        return from_matrix(coo_array(x), options)
    if x.ndim != 2 or x.shape[1] not in (2, 3):
        hint = ""
        if x.ndim == 2:
            hint = "; for an edge_index, pass its transpose, as x.T" if x.shape[0] == 2 else f"; {_BIPARTITE_ADVICE}"
        raise GraphError(
            f"the shape of an array is (n, n), a matrix, or (m, 2) or (m, 3), a list of edges; got {x.shape}{hint}"
        )
    refuse_names(options)
    if options.columns.source is None and _may_be_edge_index(x):
        warn_user(
            "an array of 2 x 3 numbers is read as two edges with weights; pass its transpose, as x.T, if it is an"
            " edge_index, or source=0, target=1 and weight=2 if it is not"
        )
    source, target, weight, _ = options.columns.choose(Head(), x.shape[1])
    if weight == 2 and options.weight is None and x.dtype.kind == "U" and len(x) and not _is_float(x[0, 2]):
        raise GraphError(f"edge 0: a weight is a number; got {tuple(x[0].tolist())}; {TRIPLES_ADVICE}")
    return from_columns(x[:, source], x[:, target], None if weight is None else x[:, weight], options)


def _may_be_edges(x: npt.NDArray[Any]) -> bool:
    """Whether the rows of a square array of numbers may be edges: two node numbers, and a weight if there are three.

    A symmetric matrix is hardly a list of edges, nor is one of two rows whose edges would only join nodes 0 and 1.
    """
    if x.shape not in ((2, 2), (3, 3)) or not (x[:, :2] == np.floor(x[:, :2])).all() or not (x >= 0).all():
        return False
    if len(x) == 2:
        return bool(x.diagonal().any() and x.max() > 1)
    return bool((x[:, 2] > 0).all() and (x != x.T).any())


def _may_be_edge_index(x: npt.NDArray[Any]) -> bool:
    """Whether the two rows of an array may be the sources and the targets of three edges."""
    return x.shape == (2, 3) and x.dtype.kind in "iu" and bool((x >= 0).all())


def from_columns(
    source: npt.NDArray[Any], target: npt.NDArray[Any], weights: npt.NDArray[Any] | None, options: ConversionOptions
) -> Graph:
    """Convert columns of sources, targets and weights."""
    options.record.rows = len(source)
    ends, names = resolve_kinds(*_encode(source, target, options.nodes), options.record.columns, options.bipartite)

    def place(i: int) -> str:
        return f"edge {i} {normalize_name(source[i]), normalize_name(target[i])}"

    values = None if weights is None else as_weights(weights, place)
    return build(ends, values, names, bool(options.directed), options)


def _encode(source: npt.NDArray[Any], target: npt.NDArray[Any], nodes: Iterable[Hashable] | None) -> tuple[Rows, Names]:
    """Return edges as pairs of rows, and the names in the order of their first appearance, edge by edge."""
    if "b" in (source.dtype.kind, target.dtype.kind):
        raise GraphError("a column of truth values has no names of nodes; choose columns by source= and target=")
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


def refuse_names(options: ConversionOptions) -> None:
    """Raise a GraphError if names are given for rows of a matrix, but there is none."""
    if options.names is not None:
        raise GraphError("names= (--names) labels the rows of a matrix; this graph has names already, so leave it out")


def as_weights(values: Any, place: Callable[[int], str]) -> Weights:
    """Convert weights to floats; raise a GraphError at the first that is not finite and positive."""
    if getattr(getattr(values, "dtype", None), "kind", "") in ("m", "M"):
        raise GraphError(f"{place(0)}: a weight is a number; got {values[0]!s}, which is a date or a time")
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


def warn_of_times(weights: Weights | None, options: ConversionOptions) -> None:
    """Warn if weights that nobody has named or asked for look like times in seconds or milliseconds since 1970."""
    is_sure = options.weighted or options.weight is not None or options.record.columns is not None
    if weights is None or not len(weights) or is_sure:
        return
    low, high = float(weights.min()), float(weights.max())
    if (
        low < high
        and any(_TIMES[0] * unit <= low and high < _TIMES[1] * unit for unit in (1, 1000))
        and (weights % 1 == 0).all()
    ):
        warn_user(
            f"the weights, {low:.0f} to {high:.0f}, look like times since 1970; pass weighted=False (--unweighted) if"
            " they are, or weighted=True (--weighted) if they are weights, to efge.as_graph"
        )


def _is_float(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def build(ends: Rows, weights: Weights | None, names: Names, directed: bool, options: ConversionOptions) -> Graph:
    """Build a graph from pairs of rows; duplicates are counted if that is asked for."""
    warn_of_times(weights, options)
    weights = np.ones(len(ends)) if options.count_duplicates else weights
    return graph_from_edges(ends, weights, names, directed=directed, drop_self_loops=options.drop_self_loops)


def build_adjacency(ends: Rows, weights: Weights | None, names: Names, options: ConversionOptions) -> Graph:
    """Build a graph from neighbors of nodes, where an undirected edge may be listed by one of its nodes or by both."""
    options.refuse_counts()
    listed = build(ends, weights, names, True, options)
    if options.directed:
        return listed
    adjacency = listed.to_scipy()
    if (adjacency != adjacency.T).nnz == 0:
        return Graph._from_valid(listed.indptr, listed.indices, listed.weights, listed.names, False)
    twice = adjacency.multiply(adjacency.T)
    if weights is not None and twice.nnz > np.count_nonzero(twice.diagonal()):
        raise GraphError(
            "an undirected edge has one weight; some edges are there in both directions with different weights, so "
            "pass directed=True (--directed), or list each edge once"
        )
    return build(ends, weights, names, False, options)
