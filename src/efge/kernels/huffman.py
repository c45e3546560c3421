"""Huffman trees: frequent leaves have short paths."""

import numpy as np
from numba import njit

from efge.kernels.random import U

_NONE, _ONE = U(0), U(1)


@njit(cache=True, nogil=True)
def grow(weights, parents, turns):
    """Join the two lightest subtrees until one is left; the answer is how many turns all paths to leaves have.

    `weights` of leaves ascend; inner node i is number i + leaves. For both, parents and turns (0 or 1) are filled.
    Inner nodes are made in ascending order of weight, so that two queues take the place of a heap.
    """
    leaves = weights.shape[0]
    sums = np.empty(max(leaves - 1, 0), np.int64)
    leaf, inner = 0, 0
    for made in range(leaves - 1):
        sums[made] = 0
        for turn in range(2):
            if leaf < leaves and (inner >= made or weights[leaf] <= sums[inner]):
                child, weight = leaf, weights[leaf]
                leaf += 1
            else:
                child, weight = leaves + inner, sums[inner]
                inner += 1
            parents[child] = leaves + made
            turns[child] = turn
            sums[made] += weight
    if leaves > 1:
        parents[2 * leaves - 2] = -1
    depth = np.zeros(max(2 * leaves - 1, 0), np.int64)
    total = 0
    for node in range(2 * leaves - 3, -1, -1):
        depth[node] = depth[parents[node]] + 1
        total += depth[node] if node < leaves else 0
    return total


@njit(cache=True, nogil=True)
def write_paths(leaf_of, parents, turns, path_starts, paths):
    """Paths to nodes from the root, each 2 * inner + turn; a node whose leaf is -1 has none."""
    leaves = (parents.shape[0] + 1) // 2
    end = 0
    for node in range(leaf_of.shape[0]):
        path_starts[node] = end
        at = leaf_of[node]
        length = 0
        while at >= 0 and parents[at] >= 0:
            at = parents[at]
            length += 1
        at = leaf_of[node]
        for k in range(end + length - 1, end - 1, -1):
            paths[k] = 2 * (parents[at] - leaves) + turns[at]
            at = parents[at]
        end += length
    path_starts[leaf_of.shape[0]] = end
