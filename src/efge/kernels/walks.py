"""First-order random walks. Many walkers advance together, so that their cache misses overlap.

Each walk draws from a random stream of its own, started from a key and the walk's number, so a walk does not depend on
which walkers happen to advance together. A step goes in phases over the walkers: each phase computes addresses from
what the phase before has fetched and prefetches their cache lines for the next phase.
"""

from typing import NamedTuple

import numpy as np

from efge.kernels.caching import entry_point
from efge.kernels.common import ONE, ZERO, U
from efge.kernels.intrinsics import high_product, prefetch
from efge.kernels.random import apply_alias, next_bits, stream_state

# Walkers that advance together.
N_WALKERS = 64


class TransitionTables(NamedTuple):
    """The graph as walkers need it. Where steps ignore weights, all arrays but the first two are empty.

    `indices` has one entry more than the graph, so that reading past the last row at a dead end is harmless.
    `strength` has each row's largest weight, and the sum of its weights divided by that, so that no sum overflows.
    """

    indptr: np.ndarray  # uint32 or uint64[nodes + 1], where each row begins
    indices: np.ndarray  # int32 or int64[entries + 1], neighbors, ascending within a row
    weights: np.ndarray  # float64[entries], weight of each entry
    strength: np.ndarray  # float64[nodes, 2], largest weight of each row, and the sum in units of it
    prob: np.ndarray  # uint32[entries + 1], alias tables of the rows: probability of keeping a slot, times 2**32
    alias: np.ndarray  # int32[entries + 1], the other entry of a slot, counted from the start of its row
    edge_filter: np.ndarray  # uint64[words], hashed bits that are set for edges; second-order walks only


@entry_point
def first_order_walks(tables, starts, key, first, walks, lengths):
    """Fill walks: walk w starts at starts[w], has the number first + w, and steps in proportion to weights.

    `walks` is (count, length); the first lengths[w] nodes of row w are the walk, and the rest has no meaning.
    """
    indptr, indices, prob, alias = tables.indptr, tables.indices, tables.prob, tables.alias
    count, length = U(walks.shape[0]), U(walks.shape[1])
    state, bits, entries = (
        np.empty(N_WALKERS, np.uint64),
        np.empty(N_WALKERS, np.uint64),
        np.empty(N_WALKERS, np.uint64),
    )
    nodes = np.empty(N_WALKERS, np.uint64)
    begin = ZERO
    while begin < count:
        walkers = min(U(N_WALKERS), count - begin)
        for i in range(walkers):
            state[i] = stream_state(key, first + begin + i)
            nodes[i] = U(starts[begin + i])
            prefetch(indptr, np.int64(nodes[i]))
            walks[begin + i, ZERO] = starts[begin + i]
            lengths[begin + i] = length
        for step in range(ONE, length):
            next_bits(state, bits, walkers)
            for i in range(walkers):
                row = U(indptr[nodes[i]])
                degree = U(indptr[nodes[i] + ONE]) - row
                entries[i] = row + high_product(bits[i], degree)
                prefetch(indices, np.int64(entries[i]))
                if degree == ZERO:
                    # From a dead end the walker goes anywhere; what it writes there is past the walk's length.
                    lengths[begin + i] = min(U(lengths[begin + i]), step)
            if prob.shape[0]:
                apply_alias(indptr, indices, prob, alias, nodes, bits, entries, walkers)
            for i in range(walkers):
                node = indices[entries[i]]
                prefetch(indptr, np.int64(node))
                nodes[i] = U(node)
                walks[begin + i, step] = node
        begin += walkers
