"""The two sides of a bipartite graph, by a union-find that also keeps on which side of its root a node is."""

import numpy as np
from numba import njit


@njit(cache=True)
def find_root(parents: np.ndarray, flips: np.ndarray, node: int) -> int:
    """Return the root of a node, and let the nodes on the way point to it.

    ``flips[node]`` is whether a node is on the other side than its parent; afterwards, than its root.
    """
    root, flip = node, False
    while parents[root] != root:
        flip ^= flips[root]
        root = parents[root]
    while parents[node] != root and node != root:
        parent, own = parents[node], flips[node]
        parents[node], flips[node] = root, flip
        flip ^= own
        node = parent
    return root


@njit(cache=True)
def color_sides(indptr: np.ndarray, indices: np.ndarray, parents: np.ndarray, flips: np.ndarray) -> bool:
    """Put the ends of every edge on different sides; return False if an edge is within a side.

    Parameters: `parents` is int64[n] and starts as 0 to n - 1, `flips` is bool[n] and starts as False. At the end, the
    root of a component is its first node, and `flips` is whether a node is on the other side than that.
    """
    n = len(indptr) - 1
    for node in range(n):
        for entry in range(indptr[node], indptr[node + 1]):
            other = indices[entry]
            first, second = find_root(parents, flips, node), find_root(parents, flips, other)
            different = flips[node] ^ flips[other]
            if first == second:
                if not different:
                    return False
                continue
            # The smaller root stays, so that the first node of a component is its root.
            low, high = min(first, second), max(first, second)
            parents[high] = low
            flips[high] = not different
    for node in range(n):
        find_root(parents, flips, node)
    return True
