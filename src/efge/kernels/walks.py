"""Random walks of first order, and stars: many walkers advance together, so that their cache misses overlap.

Each walk draws from a SplitMix64 stream of its own, started from a key and the walk's number; which walkers happen to
advance together therefore never changes a walk. A step goes in phases over the walkers abreast: each phase computes an
address from what the phase before has fetched and asks for its cache line, so that the next phase finds it there.

Indices are unsigned throughout: for a signed one Numba tests whether it counts from the end, which halves the speed.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from efge.kernels.intrinsics import high_product, prefetch
from efge.kernels.random import GOLDEN, U, apply_alias, draw_bits, mix, pick, stream

ABREAST = 64

_NONE, _ONE = np.uint64(0), np.uint64(1)


@njit(cache=True, nogil=True)
def shuffle(key, order):
    """Fill `order` with a random permutation of 0 .. n - 1 (Fisher-Yates, inside out)."""
    state = stream(key, _NONE)
    for i in range(U(order.shape[0])):
        state += GOLDEN
        j = high_product(mix(state), i + _ONE)
        order[i] = order[j]
        order[j] = i


@njit(cache=True, nogil=True)
def choose(key, count, chosen):
    """Fill an array with random numbers from 0 to count - 1."""
    state = stream(key, _NONE)
    for i in range(U(chosen.shape[0])):
        state += GOLDEN
        chosen[i] = high_product(mix(state), U(count))


@njit(cache=True, nogil=True)
def draw_stars(key, indptr, indices, keep, other, node_keep, node_other, stars):
    """Fill each row with a node and some of its neighbors, drawn by alias tables of nodes and of rows of the graph.

    Where there is none of rows, neighbors are as likely as each other.
    """
    state = stream(key, _NONE)
    for star in range(U(stars.shape[0])):
        state += GOLDEN
        node = pick(node_keep, node_other, mix(state))
        row = U(indptr[node])
        degree = U(indptr[node + _ONE]) - row
        stars[star, _NONE] = node
        for i in range(_ONE, U(stars.shape[1])):
            state += GOLDEN
            bits = mix(state)
            place = row + high_product(bits, degree)
            if keep.shape[0] and (bits & U(0xFFFFFFFF)) >= U(keep[place]):
                place = row + U(other[place])
            stars[star, i] = indices[place]


class Steps(NamedTuple):
    """What a step needs to know of the graph; where steps ignore weights, all but the first two arrays are empty.

    `indices` has one entry more than the graph, so that looking past the last row at a dead end is harmless. `strength`
    has the largest weight of each row, and the sum of all of them in units of it: no sum overflows, whatever they are.
    `hints` are bits, of which those that stand for edges are set; only walks of second order ask for edges.
    """

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    strength: np.ndarray
    keep: np.ndarray
    other: np.ndarray
    hints: np.ndarray


@njit(cache=True, nogil=True)
def first_order_walks(steps, starts, key, first, walks, lengths):
    """Walk w starts at starts[w], has the number first + w, and goes to a neighbor with a chance that is its weight's.

    `walks` is (count, length); of row w, the first lengths[w] nodes are the walk, and the rest is of no meaning.
    """
    indptr, indices, keep, other = steps.indptr, steps.indices, steps.keep, steps.other
    count, length = U(walks.shape[0]), U(walks.shape[1])
    state, bits, places = np.empty(ABREAST, np.uint64), np.empty(ABREAST, np.uint64), np.empty(ABREAST, np.uint64)
    nodes = np.empty(ABREAST, np.uint64)
    block = _NONE
    while block < count:
        abreast = min(U(ABREAST), count - block)
        for i in range(abreast):
            state[i] = stream(key, first + block + i)
            nodes[i] = U(starts[block + i])
            prefetch(indptr, np.int64(nodes[i]))
            walks[block + i, _NONE] = starts[block + i]
            lengths[block + i] = length
        for step in range(_ONE, length):
            draw_bits(state, bits, abreast)
            for i in range(abreast):
                row = U(indptr[nodes[i]])
                degree = U(indptr[nodes[i] + _ONE]) - row
                places[i] = row + high_product(bits[i], degree)
                prefetch(indices, np.int64(places[i]))
                if degree == _NONE:
                    # From a dead end the walker goes anywhere, and what it writes there is past the walk's length.
                    lengths[block + i] = min(U(lengths[block + i]), step)
            if keep.shape[0]:
                apply_alias(indptr, indices, keep, other, nodes, bits, places, abreast)
            for i in range(abreast):
                node = indices[places[i]]
                prefetch(indptr, np.int64(node))
                nodes[i] = U(node)
                walks[block + i, step] = node
        block += abreast
