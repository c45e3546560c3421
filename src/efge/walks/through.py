"""Walks through given nodes, for training where a graph has changed.

A walk through a node is a walk from it, preceded by another one, backwards: what passes the node on its way from one
side to the other. In a graph with directions, the first part goes against them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from efge.graph.graph import Graph, Nodes
from efge.kernels.random import random_integers, random_permutation
from efge.random import stream_key
from efge.walks.strategies import Stepper
from efge.walks.walks import WalkBatch, Walks

# Walks in a batch.
_BATCH_WALKS = 1 << 16


class WalksThrough:
    """Walks with given nodes in their middle, and up to `reach` nodes before and after.

    Graph, strategy, seed and threads are those of other walks.

    Examples
    --------
    >>> walks = WalksThrough(Walks([(0, 1), (1, 2)], seed=0), np.array([1], np.int32), walks_per_node=2, reach=1)
    >>> [walk.tolist()[1] for batch in walks.batches() for walk in batch]
    [1, 1]
    """

    held_out_every = None

    def __init__(self, walks: Walks, nodes: Nodes, walks_per_node: int, reach: int) -> None:
        self.graph, self.seed, self.threads = walks.graph, walks.seed, walks.threads
        self.nodes, self.walks_per_node, self.reach = nodes, walks_per_node, reach
        self._walks = walks
        self._steppers = (walks._stepper, _backward(walks))

    def describe(self) -> dict[str, Any]:
        """Return everything that the walks depend on besides the graph, by name.

        Examples
        --------
        >>> walks = WalksThrough(Walks([(0, 1)], seed=7), np.array([1], np.int32), walks_per_node=2, reach=1)
        >>> walks.describe()["reach"]
        1
        """
        through = {"through": self.nodes.tolist(), "reach": self.reach, "walks_through_node": self.walks_per_node}
        return self._walks.describe() | through

    def batches(self, epoch: int = 0) -> Iterator[WalkBatch]:
        """Yield the walks of an epoch in batches; each pass goes through every node once, in its own order.

        Examples
        --------
        >>> walks = WalksThrough(Walks([(0, 1)], seed=0), np.array([0, 1], np.int32), walks_per_node=3, reach=1)
        >>> [len(batch) for batch in walks.batches()]
        [6]
        """
        starts = np.empty((self.walks_per_node, len(self.nodes)), self.nodes.dtype)
        for number, row in enumerate(starts):
            order = np.empty(len(row), np.int64)
            random_permutation(stream_key(self.seed, epoch, f"pass {number} through"), order)
            row[:] = self.nodes[order]
        flat = starts.reshape(-1)
        for begin in range(0, len(flat), _BATCH_WALKS):
            yield self._join(flat[begin : begin + _BATCH_WALKS], epoch, "walks through", begin)

    def held_out(self, count: int) -> WalkBatch:
        """Return walks through random ones of the nodes, which training does not see.

        Examples
        --------
        >>> walks = WalksThrough(Walks([(0, 1)], seed=0), np.array([0, 1], np.int32), walks_per_node=3, reach=1)
        >>> len(walks.held_out(5))
        5
        """
        chosen = np.empty(count if len(self.nodes) else 0, np.int64)
        random_integers(stream_key(self.seed, 0, "nodes held out"), len(self.nodes), chosen)
        return self._join(self.nodes[chosen], 0, "walks through, held out", 0)

    def _join(self, starts: Nodes, epoch: int, purpose: str, first: int) -> WalkBatch:
        length = self.reach + 1
        parts = []
        for stepper, side in zip(self._steppers, ("after", "before"), strict=True):
            walks, lengths = np.empty((len(starts), length), starts.dtype), np.empty(len(starts), np.int32)
            stepper.walk(starts, stream_key(self.seed, epoch, f"{purpose}, {side}"), first, walks, lengths)
            parts.append((walks, np.arange(length) < lengths[:, None]))
        (after, is_after), (before, is_before) = parts
        nodes, present = np.hstack([before[:, :0:-1], after]), np.hstack([is_before[:, :0:-1], is_after])
        offsets = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int64)
        return WalkBatch(nodes[present], offsets)


def _backward(walks: Walks) -> Stepper:
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
