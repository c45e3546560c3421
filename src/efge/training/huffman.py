"""The tree of hierarchical softmax: what is likely is a path of turns, each of them a sigmoid."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from efge.kernels import huffman as kernel


class Tree(NamedTuple):
    """Paths from the root to nodes: the one to node v is paths[starts[v]:starts[v + 1]], each 2 * inner node + turn."""

    starts: npt.NDArray[np.int64]
    paths: npt.NDArray[np.int32]

    @property
    def longest(self) -> int:
        """Turns on the longest path."""
        return int(np.diff(self.starts).max(initial=0))

    def passes(self, visits: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """How many of the visits to nodes pass each inner node."""
        weights = np.repeat(visits, np.diff(self.starts)) if len(self.starts) else visits[:0]
        return np.bincount(self.paths >> 1, weights, minlength=len(visits)).astype(np.int64)


NO_TREE = Tree(np.empty(0, np.int64), np.empty(0, np.int32))


def huffman(visits: npt.NDArray[np.int64]) -> Tree:
    """The Huffman tree over nodes by their visits; a node that no walk visits has no path."""
    leaf_of = np.full(len(visits), -1, np.int64)
    order = np.argsort(visits, kind="stable")
    order = order[visits[order] > 0]
    leaf_of[order] = np.arange(len(order))
    size = max(2 * len(order) - 1, 0)
    parents, turns = np.full(size, -1, np.int64), np.zeros(size, np.int64)
    total = kernel.grow(visits[order].astype(np.int64), parents, turns)
    tree = Tree(np.empty(len(visits) + 1, np.int64), np.empty(total, np.int32))
    kernel.write_paths(leaf_of, parents, turns, tree.starts, tree.paths)
    return tree
