"""What is known of a batch of walks before it is trained: its blocks, its pairs, and the visits to nodes."""

import numpy as np

from efge.kernels.caching import entry_point
from efge.kernels.common import ONE, U
from efge.kernels.intrinsics import atomic_add


@entry_point
def count_visits(nodes, visits):
    """Count how often each node occurs; several threads may count into the same array at the same time."""
    for i in range(U(nodes.shape[0])):
        atomic_add(visits, np.int64(nodes[i]), 1)


@entry_point
def pack_walks(walks, offsets, nodes):
    """Copy the first nodes of each row of `walks`, as many as its walk has, one walk after the other."""
    for walk in range(U(walks.shape[0])):
        begin = U(offsets[walk])
        for i in range(U(offsets[walk + ONE]) - begin):
            nodes[begin + i] = walks[walk, i]


@entry_point
def plan_blocks(offsets, window, centers_per_block, pairs_before, blocks):
    """Cut walks into blocks, and count the pairs of a center and a context before each walk.

    Centers are cut into stretches of equal length; walks whose first centers are in the same one are a block. Returns
    the number of blocks, and the largest number of positions in a block.
    """
    n_walks, count = offsets.shape[0] - 1, 0
    longest = pairs = 0
    stretch = np.int64(-1)
    for walk in range(n_walks):
        if offsets[walk] // centers_per_block != stretch:
            stretch = offsets[walk] // centers_per_block
            blocks[count] = walk
            if count:
                longest = max(longest, offsets[walk] - offsets[blocks[count - 1]])
            count += 1
        pairs_before[walk] = pairs
        length = offsets[walk + 1] - offsets[walk]
        reach = max(min(window, length - 1), 0)
        pairs += 2 * reach * length - reach * (reach + 1)
    pairs_before[n_walks] = pairs
    blocks[count] = n_walks
    if count:
        longest = max(longest, offsets[n_walks] - offsets[blocks[count - 1]])
    return count, longest
