"""Tensors and graphs of PyTorch Geometric and DGL -> Graph, without importing their libraries."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError, describe_error
from efge.graph.columns import warn_unread
from efge.graph.conversion import (
    ConversionOptions,
    as_weights,
    build_adjacency,
    from_array,
    from_entries,
    from_graph,
    from_matrix,
    refuse_names,
    type_name,
)
from efge.graph.graph import Graph, Weights
from efge.graph.kinds import refuse_bipartite
from efge.graph.names import name_array


class _TypedEdges(NamedTuple):
    """Edges from nodes of one type to nodes of another."""

    source: str
    target: str
    ends: npt.NDArray[Any]  # int[2, m], numbers of nodes within their type
    weights: Any  # m weights, or None


def from_geometric(x: Any, options: ConversionOptions) -> Graph:
    """Convert a PyTorch Geometric `Data`: edges are columns of `edge_index`, undirected ones in both directions."""
    if x.edge_index is None:
        return _from_transposed(x, options)
    ends = as_array(x.edge_index)
    weights = getattr(x, "edge_weight" if options.weight is None else str(options.weight), None)
    if weights is None and (options.weighted or options.weight is not None):
        raise GraphError(f"no edge weights {options.weight or 'edge_weight'!r} in {type_name(x)}")
    _warn_unread_attributes({"edge_attr": getattr(x, "edge_attr", None)}, weights, options)
    return _from_edge_index(ends, weights, _count_nodes(x), options)


def _warn_unread_attributes(attributes: Mapping[str, Any], weights: Any, options: ConversionOptions) -> None:
    """Point out attributes with one number for each edge, which may be the missing weight."""
    if weights is not None or options.weighted is not None:
        return
    shapes = {name: as_array(values).shape for name, values in attributes.items() if values is not None}
    # Names that start with an underscore are DGL's own.
    found = [name for name, shape in shapes.items() if len(shape) == 1 or shape[1:] == (1,)]
    warn_unread("", [name for name in found if not name.startswith("_")], "edge attribute")


def _count_nodes(x: Any) -> Any:
    """Return the number of nodes, or None if it is unknown; a warning that it was guessed does not help here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(x, "num_nodes", None)


def _from_transposed(x: Any, options: ConversionOptions) -> Graph:
    """Convert a `Data` whose edges are in the transposed adjacency matrix `adj_t`."""
    matrix = getattr(x, "adj_t", None)
    if matrix is None or not hasattr(matrix, "layout"):
        raise GraphError(f"this {type_name(x)} has no edges: its edge_index is None")
    return from_tensor(matrix.to_sparse_coo().t(), options)


def _from_edge_index(ends: npt.NDArray[Any], weights: Any, n: Any, options: ConversionOptions) -> Graph:
    """Convert two rows of node numbers: sources and targets."""
    if ends.ndim != 2 or ends.shape[0] != 2 or (ends.size and ends.dtype.kind not in "iu"):
        raise GraphError(f"edge_index has two rows of integers; got {ends.dtype} of shape {ends.shape}")
    values = _weights(weights, ends.shape[1])
    weighted = weights is not None if options.weighted is None else options.weighted
    options.record.rows = ends.shape[1]
    n = int(n or ends.max(initial=-1) + 1)
    return from_entries(ends, np.ones(ends.shape[1]) if values is None else values, n, weighted, options)


def _weights(weights: Any, count: int) -> Weights | None:
    if weights is None:
        return None
    flat = as_array(weights)
    values = as_weights(flat[:, 0] if flat.ndim == 2 and flat.shape[1] == 1 else flat, lambda i: f"edge {i}")
    if values.shape != (count,):
        raise GraphError(f"each of {count} edges has a weight; got weights of shape {values.shape}")
    return values


def as_array(tensor: Any) -> npt.NDArray[Any]:
    """Return a tensor's values, on whatever device it is and whether or not it has gradients."""
    try:
        for step in ("detach", "cpu"):
            tensor = getattr(tensor, step)() if hasattr(tensor, step) else tensor
        # NumPy has no such type.
        tensor = tensor.float() if str(getattr(tensor, "dtype", "")) == "torch.bfloat16" else tensor
        return np.asarray(tensor)
    except (NotImplementedError, RuntimeError) as error:
        raise GraphError(f"this tensor has no values to read: {describe_error(error)}") from None


def from_tensor(x: Any, options: ConversionOptions) -> Graph:
    """Convert a tensor: sparse or square, a matrix; two rows of integers, an edge_index; otherwise a list of edges."""
    if str(getattr(x, "layout", "torch.strided")) != "torch.strided":
        from scipy.sparse import coo_array

        entries = x.detach().cpu().to_sparse_coo().coalesce()
        rows, columns = as_array(entries.indices())
        values = as_array(entries.values())
        values = values.astype(np.float32) if values.dtype == np.float16 else values
        return from_matrix(coo_array((values, (rows, columns)), shape=tuple(x.shape)), options)
    array = as_array(x)
    if array.ndim != 2 or array.shape[0] != 2 or array.dtype.kind not in "iu":
        return from_array(array, options)
    # A matrix of two rows cannot be told from an edge_index.
    refuse_bipartite(options.bipartite)
    if array.shape[1] in (2, 3):
        how = "pass x.T.tolist() for an edge_index, and x.numpy() otherwise"
        kind = "an adjacency matrix" if array.shape[1] == 2 else "a list of edges"
        raise GraphError(f"a tensor of shape {array.shape} may be an edge_index or {kind}; {how}")
    return _from_edge_index(array, None, _stated_size(x), options)


def _stated_size(x: Any) -> int | None:
    """Return the number of nodes that PyTorch Geometric's `EdgeIndex` knows, or None."""
    sizes = x.sparse_size() if hasattr(x, "sparse_size") else ()
    return max((size for size in sizes if size is not None), default=None)


def from_heterogeneous(x: Any, options: ConversionOptions) -> Graph:
    """Convert a PyTorch Geometric `HeteroData`: nodes are named by their type and number, as user:3."""
    key = "edge_weight" if options.weight is None else str(options.weight)
    edges = []
    for edge_type in x.edge_types:
        store = x[edge_type]
        edges.append(_TypedEdges(edge_type[0], edge_type[-1], as_array(store.edge_index), getattr(store, key, None)))
        _warn_unread_attributes({"edge_attr": getattr(store, "edge_attr", None)}, edges[-1].weights, options)
    counts = {kind: _count_nodes(x[kind]) or 0 for kind in x.node_types}
    return _from_typed(counts, edges, options)


def from_dgl(x: Any, options: ConversionOptions) -> Graph:
    """Convert a DGL graph; nodes of several types are named by their type and number, as user:3."""
    key = "weight" if options.weight is None else str(options.weight)
    edges = []
    for edge_type in x.canonical_etypes:
        ends = np.vstack([as_array(end) for end in x.edges(etype=edge_type)])
        attributes = dict(x.edges[edge_type].data)
        edges.append(_TypedEdges(edge_type[0], edge_type[-1], ends, attributes.get(key)))
        _warn_unread_attributes(attributes, edges[-1].weights, options)
    return _from_typed({kind: int(x.num_nodes(kind)) for kind in x.ntypes}, edges, options)


def _from_typed(counts: Mapping[str, int], edges: list[_TypedEdges], options: ConversionOptions) -> Graph:
    """Join the nodes of all types in one graph."""
    present = [part.weights is not None for part in edges]
    if (options.weighted or options.weight is not None) and not any(present):
        raise GraphError(f"no edge has an attribute {options.weight or 'edge_weight'!r} for its weight; leave it out")
    weights = [_weights(part.weights, part.ends.shape[1]) for part in edges]
    if len(counts) == 1 and len(edges) == 1:
        return _from_edge_index(edges[0].ends, weights[0], next(iter(counts.values())), options)
    refuse_names(options)
    sizes = dict(counts)
    for part in edges:
        for kind, ends in zip((part.source, part.target), part.ends, strict=True):
            sizes[kind] = max(sizes.get(kind, 0), int(ends.max(initial=-1)) + 1)
    starts = dict(zip(sizes, np.cumsum([0, *sizes.values()]).tolist(), strict=False))
    names = name_array([f"{kind}:{number}" for kind, size in sizes.items() for number in range(size)])
    empty = np.empty((2, 0), np.int64)
    offset = [part.ends + np.array([[starts[part.source]], [starts[part.target]]]) for part in edges]
    ends = np.ascontiguousarray(np.hstack([empty, *offset]).T, np.int32)
    weighted = any(present) if options.weighted is None else options.weighted
    filled = [np.ones(part.ends.shape[1]) if w is None else w for part, w in zip(edges, weights, strict=True)]
    values = np.concatenate([np.empty(0), *filled]) if weighted else None
    options.record.rows = len(ends)
    return from_graph(build_adjacency(ends, values, names, options), ConversionOptions(nodes=options.nodes))
