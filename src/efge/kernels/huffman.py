"""Huffman trees: frequent leaves have short paths."""

import numpy as np

from efge.kernels.caching import entry_point


@entry_point
def build_tree(weights, parents, branches):
    """Join the two lightest subtrees until one is left; return the total length of the paths to all leaves.

    `weights` are those of the leaves, ascending. Leaves have the numbers 0 .. leaves - 1, and inner node i has the
    number leaves + i. The parent of each node, and its branch there (0 or 1), are filled in; the parent of the root is
    -1. Inner nodes are made in ascending order of weight, so that two queues replace a heap.
    """
    leaves = weights.shape[0]
    sums = np.empty(max(leaves - 1, 0), np.int64)
    leaf, inner = 0, 0
    for made in range(leaves - 1):
        sums[made] = 0
        for branch in range(2):
            if leaf < leaves and (inner >= made or weights[leaf] <= sums[inner]):
                child, weight = leaf, weights[leaf]
                leaf += 1
            else:
                child, weight = leaves + inner, sums[inner]
                inner += 1
            parents[child] = leaves + made
            branches[child] = branch
            sums[made] += weight
    if leaves > 1:
        parents[2 * leaves - 2] = -1
    depth = np.zeros(max(2 * leaves - 1, 0), np.int64)
    total = 0
    for node in range(2 * leaves - 3, -1, -1):
        depth[node] = depth[parents[node]] + 1
        total += depth[node] if node < leaves else 0
    return total


@entry_point
def write_paths(leaf_of, parents, branches, path_starts, paths):
    """Write the path from the root to each node as steps 2 * inner node + branch; a node whose leaf is -1 has none."""
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
            paths[k] = 2 * (parents[at] - leaves) + branches[at]
            at = parents[at]
        end += length
    path_starts[leaf_of.shape[0]] = end
