"""Edges to train on: sampled in proportion to their weights, in batches sorted by the cells of their ends."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.errors import check_positive_integers
from efge.graph.graph import Graph
from efge.kernels.line import EdgeBatch, draw_edges, sort_edges
from efge.kernels.random import build_alias_tables, random_permutation
from efge.random import resolve_seed, stream_key
from efge.system import available_threads
from efge.training.noise import alias_table, noise_weights

Edges = npt.NDArray[Any]  # [edges, 2], center and context of each edge

# Default number of samples: for each edge and direction, and at least for each node, however few edges there are.
_SAMPLES_PER_EDGE, _MIN_SAMPLES_PER_NODE = 100, 1000
# Edges of a batch for each node, smallest and largest batch, and least number of batches where they can be larger than
# the smallest one: negatives of an edge come from the cell of its context, so that cells have to change now and then.
_EDGES_PER_NODE, _MIN_EDGES, _MAX_EDGES, _MIN_BATCHES = 16, 1 << 12, 1 << 20, 32
# Nodes of a cell, about, and the largest number of cells: enough for many threads, and few enough for the sort.
_NODES_PER_CELL, _MAX_CELLS = 256, 64
_NOISE_POWER = 0.75


class EdgeSampler:
    """Edges sampled in proportion to their weights, in batches that threads can share.

    Examples
    --------
    >>> from efge import as_graph
    >>> edges = EdgeSampler(as_graph([("a", "b")]), samples=4, threads=1, seed=0)
    >>> [sorted(set(map(tuple, batch.edges.tolist()))) for batch in edges.batches()]
    [[(0, 1), (1, 0)]]
    """

    def __init__(self, graph: Graph, samples: int | None, threads: int | None, seed: int | None) -> None:
        check_positive_integers(threads=threads)
        self.graph = graph
        self.seed = resolve_seed(seed)
        self.threads = available_threads() if threads is None else int(threads)
        default = max(_SAMPLES_PER_EDGE * len(graph.indices), _MIN_SAMPLES_PER_NODE * graph.n_nodes)
        self.samples = int(samples or default)
        self.noise = noise_weights(_degrees(graph), _NOISE_POWER)
        # Names the random stream; changing it changes the sampled edges.
        self._purpose = "edges"
        self._tables = _SamplingTables.of(graph.indptr, graph.indices, graph.weights)
        self._nodes = np.flatnonzero(self.noise).astype(graph.indices.dtype)

    def for_order(self, order: str) -> EdgeSampler:
        """Return a sampler with its own random numbers; for first order, directed edges are seen from both ends."""
        other = copy(self)
        other._purpose = f"edges of {order} order"
        if order == "first" and self.graph.directed:
            other._tables = _symmetric_tables(self.graph)
        return other

    @property
    def n_cells(self) -> int:
        """Number of cells into which each batch deals the nodes."""
        return min(max(len(self._nodes) // _NODES_PER_CELL, 1), _MAX_CELLS)

    def batches(self) -> Iterator[EdgeBatch]:
        """Yield the sampled edges in batches.

        Examples
        --------
        >>> from efge import as_graph
        >>> edges = EdgeSampler(as_graph([("a", "b")]), samples=10_000, threads=1, seed=0)
        >>> [len(batch.edges) for batch in edges.batches()]
        [4096, 4096, 1808]
        """
        most = min(max(_EDGES_PER_NODE * self.graph.n_nodes, _MIN_EDGES), _MAX_EDGES)
        size = min(max(self.samples // _MIN_BATCHES, _MIN_EDGES), most)
        for number, first in enumerate(range(0, self.samples, size)):
            yield self._batch(number, min(size, self.samples - first))

    def _batch(self, number: int, count: int) -> EdgeBatch:
        """Draw edges, deal the nodes into cells of equal size, and sort the edges by them."""
        order = np.empty(len(self._nodes), np.int64)
        random_permutation(self._key(f"cells {number}"), order)
        nodes, n_cells = self._nodes[order], self.n_cells
        cells = np.linspace(0, len(nodes), n_cells + 1).astype(np.int64)
        cell_of = np.zeros(self.graph.n_nodes, np.int32)
        cell_of[nodes] = np.repeat(np.arange(n_cells, dtype=np.int32), np.diff(cells))
        prob, alias = np.empty(len(nodes), np.uint32), np.empty(len(nodes), np.int32)
        build_alias_tables(cells.astype(np.uint64), self.noise[nodes], prob, alias)
        edges = self._draw(self._key(f"{number}"), count)
        begins, ordered = np.empty(n_cells**2 + 1, np.int64), np.empty_like(edges)
        sort_edges(edges, cell_of, n_cells, begins, ordered)
        return EdgeBatch(ordered, begins, nodes, cells, prob, alias, self._key(f"negatives {number}"))

    def held_out(self, count: int) -> Edges:
        """Return edges to evaluate training on, from a random stream that training does not use.

        Examples
        --------
        >>> from efge import as_graph
        >>> EdgeSampler(as_graph([("a", "b")]), samples=4, threads=1, seed=0).held_out(9).shape
        (9, 2)
        """
        return self._draw(self._key("held apart"), count)

    def _key(self, purpose: str) -> np.uint64:
        return stream_key(self.seed, 0, f"{self._purpose}, {purpose}")

    def _draw(self, key: np.uint64, count: int) -> Edges:
        edges = np.empty((count, 2), self.graph.indices.dtype)
        draw_edges(key, *self._tables, edges)
        return edges


class _SamplingTables(NamedTuple):
    """What the kernel samples edges from: adjacency lists, and alias tables of neighbors and of nodes."""

    indptr: npt.NDArray[Any]  # [nodes + 1], where the neighbors of each node begin
    indices: npt.NDArray[Any]  # [edges], the neighbors
    prob: npt.NDArray[np.uint32]  # [edges], alias table of each node's neighbors; empty without weights
    alias: npt.NDArray[np.int32]
    node_prob: npt.NDArray[np.uint32]  # [nodes], alias table of nodes by their total weight
    node_alias: npt.NDArray[np.int32]

    @classmethod
    def of(
        cls, indptr: npt.NDArray[Any], indices: npt.NDArray[Any], weights: npt.NDArray[np.floating[Any]] | None
    ) -> _SamplingTables:
        if weights is None:
            unused = np.empty(0, np.uint32), np.empty(0, np.int32)
            return cls(indptr, indices, *unused, *alias_table(np.diff(indptr).astype(np.float64)))
        prob, alias = np.empty(len(indices), np.uint32), np.empty(len(indices), np.int32)
        build_alias_tables(indptr, weights.astype(np.float64), prob, alias)
        return cls(indptr, indices, prob, alias, *alias_table(_row_sums(indptr, weights)))


def _row_sums(indptr: npt.NDArray[Any], weights: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float64]:
    """Return the total weight of each row, relative to the heaviest edge, so that no sum overflows.

    Nodes with nothing but tiny weights have 0, and are never drawn.
    """
    cumulative = np.concatenate([[0.0], np.cumsum(weights.astype(np.float64) / weights.max())])
    return np.diff(cumulative[indptr])


def _degrees(graph: Graph) -> npt.NDArray[np.float64]:
    """Return the total weight of the edges from and to each node."""
    if graph.weights is None:
        return np.diff(graph.indptr) + np.bincount(graph.indices, minlength=graph.n_nodes).astype(np.float64)
    relative = graph.weights.astype(np.float64) / graph.weights.max()
    return _row_sums(graph.indptr, graph.weights) + np.bincount(graph.indices, relative, graph.n_nodes)


def _symmetric_tables(graph: Graph) -> _SamplingTables:
    """Return tables of a directed graph in which each edge is listed at both of its ends."""
    sources = np.repeat(np.arange(graph.n_nodes, dtype=graph.indices.dtype), np.diff(graph.indptr))
    ends, others = np.concatenate([sources, graph.indices]), np.concatenate([graph.indices, sources])
    order = np.argsort(ends, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=graph.n_nodes))]).astype(graph.indptr.dtype)
    weights = None if graph.weights is None else np.tile(graph.weights, 2)[order]
    return _SamplingTables.of(indptr, others[order], weights)
