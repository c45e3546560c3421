"""Walks through given edges, for training where a graph has changed.

A walk through an edge is a walk from its end, preceded by one from its other end, backwards: what passes the edge on
its way from one side to the other. In a graph with directions, the first part goes against them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.graph.graph import Graph, Nodes
from efge.kernels.random import random_integers, random_permutation
from efge.random import stream_key
from efge.walks.strategies import Stepper
from efge.walks.walks import WalkBatch, Walks

# Walks in a batch.
_BATCH_WALKS = 1 << 16


class WalksThrough:
    """Walks with given edges in their middle, and up to `reach` more nodes before and after.

    An edge from a node to itself stands for the node: walks pass it, on any of its edges. Graph, strategy, seed and
    threads are those of other walks.

    Examples
    --------
    >>> walks = WalksThrough(Walks([(0, 1), (1, 2)], seed=0), np.array([[1, 2]], np.int32), walks_per_edge=2, reach=0)
    >>> [walk.tolist() for batch in walks.batches() for walk in batch]
    [[1, 2], [1, 2]]
    """

    held_out_every = None

    def __init__(self, walks: Walks, edges: Nodes, walks_per_edge: int, reach: int) -> None:
        self.graph, self.seed, self.threads = walks.graph, walks.seed, walks.threads
        self.edges, self.walks_per_edge, self.reach = edges, walks_per_edge, reach
        self._walks = walks
        self._steppers = (backward_stepper(walks), walks._stepper)

    def describe(self) -> dict[str, Any]:
        """Return everything that the walks depend on besides the graph, by name.

        Examples
        --------
        >>> walks = WalksThrough(Walks([(0, 1)], seed=7), np.array([[0, 1]], np.int32), walks_per_edge=2, reach=1)
        >>> walks.describe()["reach"]
        1
        """
        through = {"through": self.edges.tolist(), "reach": self.reach, "walks_through_edge": self.walks_per_edge}
        return self._walks.describe() | through

    def batches(self, epoch: int = 0) -> Iterator[WalkBatch]:
        """Yield the walks of an epoch in batches; each pass goes through every edge once, in its own order.

        Examples
        --------
        >>> walks = WalksThrough(Walks([(0, 1)], seed=0), np.array([[0, 1]], np.int32), walks_per_edge=3, reach=1)
        >>> [len(batch) for batch in walks.batches()]
        [3]
        """
        orders = np.empty((self.walks_per_edge, len(self.edges)), np.int64)
        for number, order in enumerate(orders):
            random_permutation(stream_key(self.seed, epoch, f"pass {number} through"), order)
        flat = orders.reshape(-1)
        for begin in range(0, len(flat), _BATCH_WALKS):
            yield self._join(flat[begin : begin + _BATCH_WALKS], epoch, "walks through", begin)

    def held_out(self, count: int) -> WalkBatch:
        """Return walks through random ones of the edges, which training does not see.

        Examples
        --------
        >>> walks = WalksThrough(Walks([(0, 1)], seed=0), np.array([[0, 1]], np.int32), walks_per_edge=3, reach=1)
        >>> len(walks.held_out(5))
        5
        """
        chosen = np.empty(count if len(self.edges) else 0, np.int64)
        random_integers(stream_key(self.seed, 0, "nodes held out"), len(self.edges), chosen)
        return self._join(chosen, 0, "walks through, held out", 0)

    def _join(self, chosen: npt.NDArray[np.int64], epoch: int, purpose: str, first: int) -> WalkBatch:
        """Make a walk through each of the chosen edges."""
        length, starts = self.reach + 1, self.edges[chosen]
        parts = []
        for column, (stepper, side) in enumerate(zip(self._steppers, ("before", "after"), strict=True)):
            walks, lengths = np.empty((len(starts), length), starts.dtype), np.empty(len(starts), np.int32)
            key = stream_key(self.seed, epoch, f"{purpose}, {side}")
            stepper.walk(np.ascontiguousarray(starts[:, column]), key, first, walks, lengths)
            parts.append((walks, np.arange(length) < lengths[:, None]))
        (before, is_before), (after, is_after) = parts
        # A node that stands for itself is visited once.
        is_before[:, 0] = starts[:, 0] != starts[:, 1]
        nodes, present = np.hstack([before[:, ::-1], after]), np.hstack([is_before[:, ::-1], is_after])
        offsets = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int64)
        return WalkBatch(nodes[present], offsets)


def backward_stepper(walks: Walks) -> Stepper:
    """Return the stepper that goes against the directions of edges; without directions, it is that of the walks."""
    if not walks.graph.directed:
        return walks._stepper
    return Walks(reverse(walks.graph), walks.strategy, seed=walks.seed, threads=walks.threads)._stepper


def reverse(graph: Graph) -> Graph:
    """Return a directed graph with all edges turned around.

    Examples
    --------
    >>> reverse(Graph([0, 1, 1], [1], directed=True)).neighbors(1)
    [0]
    """
    matrix = graph.to_scipy().T.tocsr()
    matrix.sort_indices()
    weights = None if graph.weights is None else matrix.data
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(graph.indices.dtype)
    return Graph._from_valid(indptr, indices, weights, graph.names, True)
