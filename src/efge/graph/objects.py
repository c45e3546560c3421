"""Objects in memory -> Graph: NetworkX, igraph, SciPy, NumPy, data frames, tensors, mappings, pairs.

Types are recognized by the names of their modules, so no library is imported unless one of its objects is passed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from efge.errors import GraphError, describe_error
from efge.graph.columns import Head, unread_attributes, warn_unread
from efge.graph.conversion import (
    TRIPLES_ADVICE,
    ConversionOptions,
    as_weights,
    build,
    from_array,
    from_graph,
    from_matrix,
    refuse_names,
    type_name,
)
from efge.graph.encoders import ObjectEncoder
from efge.graph.frames import (
    from_frame,
    from_mapping,
    from_neighbor_series,
    from_records,
    from_series,
    holds_neighbors,
)
from efge.graph.graph import Graph
from efge.graph.kinds import NO_FURTHER_NODES, refuse_bipartite, resolve_kinds
from efge.graph.names import check_distinct, list_names, name_array, warn_if_mixed
from efge.graph.tensors import from_dgl, from_geometric, from_heterogeneous, from_tensor


def graph_from_object(x: Any, options: ConversionOptions) -> Graph:
    """Convert an object of a known type to a graph."""
    if options.bipartite and options.nodes is not None:
        raise GraphError(NO_FURTHER_NODES)
    if options.nodes is not None:
        options = replace(options, nodes=list_names("nodes", options.nodes))
    if options.names is not None:
        options = replace(options, names=list_names("names", options.names))
    for matches, convert in _CONVERTERS:
        if matches(x):
            graph = convert(x, options)
            if graph is not x:
                warn_if_mixed(graph.names)
            return graph
    kinds = (
        "a Graph, a path, a NetworkX, igraph, PyTorch Geometric or DGL graph, a SciPy matrix, a NumPy array, a tensor, "
    )
    raise GraphError(f"a graph is {kinds}a data frame, a dict, or an iterable of pairs; got {type_name(x)}")


def _is_from(package: str, *attributes: str) -> Callable[[Any], bool]:
    """Return a test whether an object's class, or one of its bases, is defined in the package."""

    def matches(x: Any) -> bool:
        return any(c.__module__.split(".")[0] == package for c in type(x).__mro__) and all(
            _has(x, attribute) for attribute in attributes
        )

    return matches


def _has(x: Any, attribute: str) -> bool:
    """Whether an object has an attribute; some objects raise other errors than an AttributeError."""
    try:
        getattr(x, attribute)
    except Exception:
        return False
    return True


def _from_networkx(x: Any, options: ConversionOptions) -> Graph:
    attribute = "weight" if options.weight is None else options.weight
    weighted = options.weighted
    if weighted is None or options.weight is not None:
        present = any(value is not None for *_, value in x.edges(data=attribute))
        if options.weight is not None and x.number_of_edges() and not present:
            raise GraphError(f"no edge has an attribute {attribute!r}")
        weighted = present if weighted is None else weighted
    if not weighted and options.weighted is None:
        warn_unread("", unread_attributes(next(iter(x.edges(data=True)), (0, 0, {}))[2]), "edge attribute")
    encoder = ObjectEncoder()
    encoder.encode(list(x))
    edges = list(x.edges(data=attribute, default=1)) if weighted else list(x.edges())
    rows = encoder.encode([name for edge in edges for name in edge[:2]])
    weights = as_weights([edge[2] for edge in edges], lambda i: f"edge {edges[i][:2]}") if weighted else None
    directed = x.is_directed() if options.directed is None else options.directed
    graph = build(rows.reshape(-1, 2), weights, encoder.names(), directed, options)
    return from_graph(graph, ConversionOptions(nodes=options.nodes))


def _from_igraph(x: Any, options: ConversionOptions) -> Graph:
    names = name_array(x.vs["name"] if "name" in x.vs.attributes() else range(x.vcount()))
    check_distinct(names)
    ends = np.array(x.get_edgelist(), np.int32).reshape(-1, 2)
    attribute = "weight" if options.weight is None else options.weight
    present = attribute in x.es.attributes()
    if (options.weighted or options.weight is not None) and not present:
        raise GraphError(f"no edge attribute {attribute!r}; there are: {', '.join(x.es.attributes()) or 'none'}")
    weights = None
    if not present and options.weighted is None and x.ecount():
        warn_unread("", unread_attributes(x.es[0].attributes()), "edge attribute")
    if present and options.weighted is not False:
        weights = as_weights(x.es[attribute], lambda i: f"edge {tuple(names[ends[i]].tolist())}")
    directed = x.is_directed() if options.directed is None else options.directed
    return from_graph(build(ends, weights, names, directed, options), ConversionOptions(nodes=options.nodes))


def _from_pairs(x: Iterable[Any], options: ConversionOptions) -> Graph:
    edges = list(x)
    if edges and isinstance(edges[0], Mapping):
        return from_records(edges, options)
    refuse_names(options)
    edges = [tuple(edge) if isinstance(edge, Iterable) and not isinstance(edge, str) else (edge,) for edge in edges]
    if edges and all(len(edge) == 3 and isinstance(edge[2], Mapping) for edge in edges):
        edges = _take_weights(edges, options)
    sizes = {len(edge) for edge in edges}
    if options.columns.source is not None and len(sizes) == 1:
        width = sizes.pop()
        source, target, weight, _ = options.columns.choose(Head(), width)
        chosen = (source, target) if weight is None else (source, target, weight)
        edges = [tuple(edge[number] for number in chosen) for edge in edges]
        sizes = {len(chosen)}
    _check_pairs(edges, sizes, options)
    encoder = ObjectEncoder()
    encoder.encode([] if options.nodes is None else list(options.nodes))
    rows = encoder.encode([name for edge in edges for name in edge[:2]])
    weighted = sizes == {3} and options.weighted is not False
    weights = as_weights([edge[2] for edge in edges], lambda i: f"edge {i} {edges[i][:2]}") if weighted else None
    options.record.rows = len(edges)
    ends, names = resolve_kinds(rows.reshape(-1, 2), encoder.names(), None, options.bipartite)
    return build(ends, weights, names, bool(options.directed), options)


def _take_weights(edges: list[tuple[Any, ...]], options: ConversionOptions) -> list[tuple[Any, ...]]:
    """Return edges with dicts of attributes, as NetworkX lists them, with their weights only, or as pairs."""
    attribute = "weight" if options.weight is None else options.weight
    if any(attribute in attributes for *_, attributes in edges):
        return [(first, second, attributes.get(attribute, 1)) for first, second, attributes in edges]
    if options.weight is not None:
        raise GraphError(f"no edge has an attribute {attribute!r}")
    if options.weighted is None:
        warn_unread("", unread_attributes(edges[0][2]), "edge attribute")
    return [edge[:2] for edge in edges]


def _from_stream(x: Any, options: ConversionOptions) -> Graph:
    """Convert what other libraries pass on as a stream of Arrow's tables, such as a query of DuckDB."""
    import pyarrow

    try:
        table = pyarrow.RecordBatchReader.from_stream(x).read_all()
    except (pyarrow.ArrowException, TypeError) as error:
        raise GraphError(f"a stream of edges is a table; got {type_name(x)}: {describe_error(error)}") from None
    return from_frame(table, options)


def _check_pairs(edges: list[tuple[Any, ...]], sizes: set[int], options: ConversionOptions) -> None:
    if not sizes <= {2, 3} or len(sizes) > 1:
        wrong = next(i for i, edge in enumerate(edges) if len(edge) not in (2, 3) or len(edge) != len(edges[0]))
        raise GraphError(f"edge {wrong}: all edges are pairs, or all have a weight too; got {edges[wrong]!r}")
    if sizes == {2} and options.weighted:
        raise GraphError("a weighted graph has edges of three parts: source, target, weight")
    if sizes == {3} and options.weighted is None and all(isinstance(part, str) for part in edges[0]):
        raise GraphError(f"edge 0: a weight is a number; got {edges[0]!r}; {TRIPLES_ADVICE}")


def _is_iterable(x: Any) -> bool:
    return isinstance(x, Iterable) and not isinstance(x, (str, bytes))


def _of_one_kind(convert: Callable[[Any, ConversionOptions], Graph]) -> Callable[[Any, ConversionOptions], Graph]:
    """Return a converter of objects that have no columns, which refuses to keep the names of columns apart."""

    def checked(x: Any, options: ConversionOptions) -> Graph:
        refuse_bipartite(options.bipartite)
        return convert(x, options)

    return checked


def _with_names(convert: Callable[[Any, ConversionOptions], Graph]) -> Callable[[Any, ConversionOptions], Graph]:
    """Return a converter of objects that name their nodes, which refuses names for the rows of a matrix."""

    def checked(x: Any, options: ConversionOptions) -> Graph:
        refuse_names(options)
        refuse_bipartite(options.bipartite)
        return convert(x, options)

    return checked


_CONVERTERS: list[tuple[Callable[[Any], bool], Callable[[Any, ConversionOptions], Graph]]] = [
    (lambda x: isinstance(x, Graph), _with_names(from_graph)),
    (_is_from("networkx", "is_directed", "edges"), _with_names(_from_networkx)),
    (_is_from("igraph", "get_edgelist"), _with_names(_from_igraph)),
    (_is_from("dgl", "canonical_etypes", "ntypes"), _of_one_kind(from_dgl)),
    (lambda x: hasattr(type(x), "edge_types") and hasattr(type(x), "node_types"), _of_one_kind(from_heterogeneous)),
    (lambda x: _has(x, "edge_index"), _of_one_kind(from_geometric)),
    (_is_from("torch", "detach"), from_tensor),
    (_is_from("scipy", "tocoo"), from_matrix),
    (lambda x: isinstance(x, np.ndarray), from_array),
    (_is_from("pandas", "columns"), from_frame),
    (lambda x: _is_from("pandas", "index")(x) and getattr(x.index, "nlevels", 1) > 1, from_series),
    (lambda x: _is_from("pandas", "index", "tolist")(x) and holds_neighbors(x), from_neighbor_series),
    (_is_from("polars", "collect"), lambda x, options: from_frame(x.collect(), options)),
    (_is_from("polars", "columns"), from_frame),
    (_is_from("pyarrow", "column_names"), from_frame),
    # The series of data frames are streams too, but of one column.
    (lambda x: _has(type(x), "__arrow_c_stream__") and not _has(x, "to_numpy"), _from_stream),
    (lambda x: _is_from("networkx", "__iter__")(x) and not hasattr(x, "adj"), _from_pairs),
    (lambda x: isinstance(x, Mapping), from_mapping),
    (_is_iterable, _from_pairs),
]
