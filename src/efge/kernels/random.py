"""Random streams (SplitMix64), a counter that jumps by the golden ratio and a finisher that mixes it; alias tables."""

import numpy as np
from numba import njit

from efge.kernels.intrinsics import high_product, prefetch

U = np.uint64
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@njit(inline="always")
def mix(z):
    """SplitMix64's finisher: 64 well-mixed bits from a counter."""
    z = (z ^ (z >> U(30))) * U(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> U(27))) * U(0x94D049BB133111EB)
    return z ^ (z >> U(31))


@njit(inline="always")
def stream(key, number):
    """Where a stream of its own begins, for a walk or whatever has a number."""
    return mix(key + number * GOLDEN)


@njit(inline="always")
def unit(bits):
    """A float64 in [0, 1) from the upper 53 bits."""
    return np.float64(np.int64(bits >> U(11))) * 2.0**-53


@njit(inline="always")
def pick(keep, other, bits):
    """A number drawn by an alias table: the upper bits choose a slot, the lower ones choose within it."""
    slot = high_product(bits, U(keep.shape[0]))
    return slot if (bits & U(0xFFFFFFFF)) < U(keep[slot]) else U(other[slot])


@njit
def draw_bits(state, bits, running):
    """The next 64 bits of each of some streams; a loop of its own, because then the draws overlap."""
    for i in range(running):
        state[i] += GOLDEN
        bits[i] = mix(state[i])


@njit
def apply_alias(indptr, indices, keep, other, nodes, bits, places, running):
    """Turn slots of alias tables into places: the upper bits have chosen the slot, the lower ones choose within it."""
    for i in range(running):
        prefetch(keep, np.int64(places[i]))
        prefetch(other, np.int64(places[i]))
    for i in range(running):
        if (bits[i] & U(0xFFFFFFFF)) >= U(keep[places[i]]):
            places[i] = U(indptr[nodes[i]]) + U(other[places[i]])
            prefetch(indices, np.int64(places[i]))


@njit(cache=True, nogil=True)
def alias_tables(indptr, weights, keep, other):
    """Vose's alias tables, a row each: slot s is kept if 32 random bits are below keep[s], else it means other[s].

    `other` counts from the start of the row.
    """
    longest = 0
    for node in range(indptr.shape[0] - 1):
        longest = max(longest, np.int64(indptr[node + 1]) - np.int64(indptr[node]))
    share = np.empty(longest, np.float64)
    small = np.empty(longest, np.int64)
    large = np.empty(longest, np.int64)
    for node in range(indptr.shape[0] - 1):
        row = np.int64(indptr[node])
        degree = np.int64(indptr[node + 1]) - row
        # Dividing by the heaviest first keeps the sum finite.
        heaviest = 0.0
        for i in range(degree):
            heaviest = max(heaviest, weights[row + i])
        total = 0.0
        for i in range(degree):
            total += weights[row + i] / heaviest
        smalls = 0
        larges = 0
        for i in range(degree):
            share[i] = weights[row + i] / heaviest * degree / total
            other[row + i] = i
            keep[row + i] = np.uint32(0xFFFFFFFF)
            if share[i] < 1.0:
                small[smalls] = i
                smalls += 1
            else:
                large[larges] = i
                larges += 1
        while smalls > 0 and larges > 0:
            smalls -= 1
            i = small[smalls]
            j = large[larges - 1]
            keep[row + i] = np.uint32(min(share[i] * 4294967296.0, 4294967295.0))
            other[row + i] = j
            share[j] -= 1.0 - share[i]
            if share[j] < 1.0:
                larges -= 1
                small[smalls] = j
                smalls += 1
