"""Neighborhoods: whether two nodes are linked, and digests by which a later graph tells where edges have changed.

A digest is the sum of hashes of a node's neighbors and the weights of the edges to them, so that it depends neither on
rows nor on their order. It takes 8 bytes for each node, where the edges themselves would take many times that.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from efge.graph.graph import Graph
from efge.graph.names import Fields, Names

Digests = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int64]

# Entries of a graph that are hashed together.
_CHUNK = 1 << 20
# Constants of SplitMix64; the second one tells edges into a node from those out of it.
_GOLDEN, _INTO = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def neighborhood_digests(graph: Graph, among: npt.NDArray[np.bool_] | None = None) -> Digests:
    """Return a digest of the edges of each node, by the names and weights of its neighbors, in both directions.

    With `among`, only neighbors that are marked in it count, as if the others were not in the graph.

    Examples
    --------
    >>> from efge.graph.inputs import as_graph
    >>> before = as_graph([("ann", "bob"), ("bob", "cid"), ("dan", "eve")])
    >>> after = as_graph([("cid", "bob"), ("bob", "ann"), ("dan", "eve"), ("cid", "ann")])
    >>> changed = neighborhood_digests(before) != neighborhood_digests(after)[after.rows(before.names)]
    >>> before.names[changed].tolist()
    ['ann', 'cid']
    """
    keys, digests = _name_keys(graph.names), np.zeros(graph.n_nodes, np.uint64)
    for begin, end in pairwise(row_chunks(graph)):
        first, last = int(graph.indptr[begin]), int(graph.indptr[end])
        targets = graph.indices[first:last]
        weights = np.zeros(1, np.uint64) if graph.weights is None else graph.weights[first:last].view(np.uint64)
        hashes = _mix(keys[targets] ^ weights)
        if among is not None:
            hashes[~among[targets]] = 0
        # Sums of 64 bits wrap around, and so do their differences.
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(hashes, dtype=np.uint64)])
        starts = graph.indptr[begin : end + 1] - first
        digests[begin:end] += sums[starts[1:]] - sums[starts[:-1]]
        if graph.directed:
            sources = np.repeat(np.arange(begin, end), np.diff(starts))
            hashes = _mix((keys[sources] + _INTO) ^ weights)
            if among is not None:
                hashes[~among[sources]] = 0
            np.add.at(digests, targets, hashes)
    return digests


def are_edges(graph: Graph, first: Rows, second: Rows) -> npt.NDArray[np.bool_]:
    """Return whether there is an edge from each row to another.

    Examples
    --------
    >>> from efge.graph.inputs import as_graph
    >>> graph = as_graph([("ann", "bob"), ("bob", "cid")])
    >>> are_edges(graph, np.array([0, 0]), np.array([1, 2])).tolist()
    [True, False]
    """
    return find_edges(graph, first, second) >= 0


def find_edges(graph: Graph, first: Rows, second: Rows) -> Rows:
    """Return the entry of the edge from each row to another, or -1, by a binary search among its sorted neighbors.

    Examples
    --------
    >>> from efge.graph.inputs import as_graph
    >>> graph = as_graph([("ann", "bob"), ("bob", "cid")])
    >>> find_edges(graph, np.array([1, 0]), np.array([2, 2])).tolist()
    [2, -1]
    """
    low, end = graph.indptr[first].astype(np.int64), graph.indptr[first + 1].astype(np.int64)
    high, last = end, len(graph.indices) - 1
    while (low < high).any():
        middle = (low + high) // 2
        is_smaller = (low < high) & (graph.indices[np.minimum(middle, last)] < second)
        low, high = np.where(is_smaller, middle + 1, low), np.where(is_smaller, high, middle)
    return np.where((low < end) & (graph.indices[np.minimum(low, last)] == second), low, -1)


def row_chunks(graph: Graph) -> list[int]:
    """Return the first row of each chunk, and the number of rows."""
    cuts = np.searchsorted(graph.indptr, np.arange(_CHUNK, len(graph.indices), _CHUNK))
    return sorted({0, *cuts.tolist(), graph.n_nodes})


def _name_keys(names: Names) -> Digests:
    """Return a hash of each name; an integer has the same one among integers and among other names."""
    if names.dtype != object:
        return _mix(names.astype(np.uint64))
    items = names.tolist()
    keys = np.empty(len(items), np.uint64)
    is_integer = np.array([type(name) is int and -(2**63) <= name < 2**63 for name in items], bool)
    integers = np.array([name for name, integer in zip(items, is_integer, strict=True) if integer], np.int64)
    keys[is_integer] = _mix(integers.astype(np.uint64))
    others = [name for name, integer in zip(items, is_integer, strict=True) if not integer]
    texts = (f"{type(name).__name__} {name!r}".encode("utf-8", "replace").decode() for name in others)
    keys[~is_integer] = Fields.from_texts(texts).keys(0)[:, 0]
    return keys


def _mix(values: Digests) -> Digests:
    """Return 64 well-mixed bits of each value, by SplitMix64."""
    z = values + _GOLDEN
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    mixed: Digests = z ^ (z >> np.uint64(31))
    return mixed
