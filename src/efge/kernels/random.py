"""Random streams (SplitMix64) and alias tables.

A stream is a counter that grows by the golden ratio at each draw, and a mixer that makes 64 random bits of it. An alias
table draws from a discrete distribution in constant time: slot s means s if 32 random bits are below prob[s], and
alias[s] otherwise.
"""

import numpy as np
from numba import njit

from efge.kernels.caching import entry_point, helper
from efge.kernels.common import GOLDEN, ONE, ZERO, U, mix
from efge.kernels.intrinsics import high_product, prefetch


@njit(inline="always")
def stream_state(key, number):
    """Return the initial state of stream `number`, such as that of one walk."""
    return mix(key + number * GOLDEN)


@njit(inline="always")
def uniform(bits):
    """Return a float64 in [0, 1) from the upper 53 bits."""
    return np.float64(np.int64(bits >> U(11))) * 2.0**-53


@njit(inline="always")
def sample_alias(prob, alias, bits):
    """Draw a number by an alias table: the upper bits choose the slot, the lower ones choose within it."""
    slot = high_product(bits, U(prob.shape[0]))
    return slot if (bits & U(0xFFFFFFFF)) < U(prob[slot]) else U(alias[slot])


@helper
def next_bits(state, bits, count):
    """Fill `bits` with the next 64 bits of each of `count` streams; in a loop of their own the draws overlap."""
    for i in range(count):
        state[i] += GOLDEN
        bits[i] = mix(state[i])


@helper
def apply_alias(indptr, indices, prob, alias, nodes, bits, entries, count):
    """Turn slots of alias tables into entries: upper bits have chosen the slot, the lower ones choose within it."""
    for i in range(count):
        prefetch(prob, np.int64(entries[i]))
        prefetch(alias, np.int64(entries[i]))
    for i in range(count):
        if (bits[i] & U(0xFFFFFFFF)) >= U(prob[entries[i]]):
            entries[i] = U(indptr[nodes[i]]) + U(alias[entries[i]])
            prefetch(indices, np.int64(entries[i]))


@entry_point
def build_alias_tables(indptr, weights, prob, alias):
    """Fill Vose's alias tables, one for each row of a CSR matrix; `alias` counts from the start of the row."""
    longest = 0
    for node in range(indptr.shape[0] - 1):
        longest = max(longest, np.int64(indptr[node + 1]) - np.int64(indptr[node]))
    scaled = np.empty(longest, np.float64)
    small = np.empty(longest, np.int64)
    large = np.empty(longest, np.int64)
    for node in range(indptr.shape[0] - 1):
        begin, end = np.int64(indptr[node]), np.int64(indptr[node + 1])
        _scale_weights(weights, begin, end, scaled)
        _fill_alias_table(scaled, small, large, begin, end, prob, alias)


@helper
def _scale_weights(weights, begin, end, scaled):
    """Fill `scaled` with a row's weights divided by their mean. Dividing by the largest first keeps sums finite."""
    largest = 0.0
    for i in range(begin, end):
        largest = max(largest, weights[i])
    total = 0.0
    for i in range(begin, end):
        total += weights[i] / largest
    for i in range(end - begin):
        scaled[i] = weights[begin + i] / largest * (end - begin) / total


@helper
def _fill_alias_table(scaled, small, large, begin, end, prob, alias):
    """Fill up each slot whose scaled weight is below 1 with weight of a slot that has more."""
    n_small, n_large = 0, 0
    for i in range(end - begin):
        alias[begin + i] = i
        prob[begin + i] = np.uint32(0xFFFFFFFF)
        if scaled[i] < 1.0:
            small[n_small] = i
            n_small += 1
        else:
            large[n_large] = i
            n_large += 1
    while n_small > 0 and n_large > 0:
        n_small -= 1
        i, j = small[n_small], large[n_large - 1]
        prob[begin + i] = np.uint32(min(scaled[i] * 4294967296.0, 4294967295.0))
        alias[begin + i] = j
        scaled[j] -= 1.0 - scaled[i]
        if scaled[j] < 1.0:
            n_large -= 1
            small[n_small] = j
            n_small += 1


@entry_point
def draw_from_alias(key, prob, alias, drawn):
    """Fill an array with numbers drawn by an alias table."""
    state = stream_state(key, ZERO)
    for i in range(U(drawn.shape[0])):
        state += GOLDEN
        drawn[i] = sample_alias(prob, alias, mix(state))


@entry_point
def random_permutation(key, order):
    """Fill `order` with a random permutation of 0 .. n - 1 (Fisher-Yates, inside out)."""
    state = stream_state(key, ZERO)
    for i in range(U(order.shape[0])):
        state += GOLDEN
        j = high_product(mix(state), i + ONE)
        order[i] = order[j]
        order[j] = i


@entry_point
def random_integers(key, high, drawn):
    """Fill an array with random integers from 0 to high - 1."""
    state = stream_state(key, ZERO)
    for i in range(U(drawn.shape[0])):
        state += GOLDEN
        drawn[i] = high_product(mix(state), U(high))


@entry_point
def fill_uniform(key, table, begin, end, dim, low, high):
    """Fill the first `dim` entries of rows begin .. end - 1 with uniform random numbers, from one stream per row."""
    for row in range(U(begin), U(end)):
        state = stream_state(key, row)
        for j in range(U(dim)):
            state += GOLDEN
            table[row, j] = low + (high - low) * uniform(mix(state))


@entry_point
def fill_uniform_rows(key, nodes, table, dim, low, high):
    """Fill a table of some nodes as `fill_uniform` fills that of all: row i has the numbers of node nodes[i]."""
    for row in range(U(table.shape[0])):
        state = stream_state(key, U(nodes[row]))
        for j in range(U(dim)):
            state += GOLDEN
            table[row, j] = low + (high - low) * uniform(mix(state))
