"""The tree of hierarchical softmax: a context's probability is the product of one sigmoid for each step of its path."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from efge.kernels import huffman as kernel
from efge.kernels.random import random_permutation


class Tree(NamedTuple):
    """Paths from the root to nodes; that of node v is paths[starts[v]:starts[v + 1]]."""

    starts: npt.NDArray[np.int64]  # [nodes + 1], where each node's path begins
    paths: npt.NDArray[np.int32]  # steps of all paths, each 2 * inner node + branch (0 or 1)

    @property
    def longest(self) -> int:
        """Number of steps on the longest path."""
        return int(np.diff(self.starts).max(initial=0))

    def passes(self, visits: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return how many of the visits to nodes pass each inner node."""
        weights = np.repeat(visits, np.diff(self.starts)) if len(self.starts) else visits[:0]
        return np.bincount(self.paths >> 1, weights, minlength=len(visits)).astype(np.int64)


NO_TREE = Tree(np.empty(0, np.int64), np.empty(0, np.int32))


def huffman(visits: npt.NDArray[np.int64], key: np.uint64) -> Tree:
    """Build the Huffman tree over nodes by their visits; a node that no walk visits has no path.

    The random stream of `key` orders nodes with equal visits. If they stayed in the order of the rows, nodes that a
    file lists one after the other would share most of their paths, and the vectors would tell the order of the file:
    if that is by class, as in many data sets, scores would be too high.
    """
    leaf_of = np.full(len(visits), -1, np.int64)
    order = np.empty(len(visits), np.int64)
    random_permutation(key, order)
    order = order[np.argsort(visits[order], kind="stable")]
    order = order[visits[order] > 0]
    leaf_of[order] = np.arange(len(order))
    size = max(2 * len(order) - 1, 0)
    parents, branches = np.full(size, -1, np.int64), np.zeros(size, np.int64)
    total = kernel.build_tree(visits[order].astype(np.int64), parents, branches)
    tree = Tree(np.empty(len(visits) + 1, np.int64), np.empty(total, np.int32))
    kernel.write_paths(leaf_of, parents, branches, tree.starts, tree.paths)
    return tree
