"""BigClam: non-negative vectors under which an edge has the probability 1 - exp(-rate), one node after the other.

The rate of a pair is the inner product of its vectors and a background. In the vector of one node the log-likelihood is
concave, and all that is asked about the nodes it has no edge with is the sum of their vectors: the sum over all nodes,
which is kept, less those of the node and its neighbors. So a sweep over the nodes costs as much as the edges have ends.

Graphs are symmetric here, without self loops and weights.
"""

import math

import numpy as np
from numba import njit

from efge.kernels.random import U

# Lets LLVM reorder sums, which makes them fast; unlike fastmath=True it still honors NaN and infinity.
REORDER = {"reassoc", "contract", "nsz", "arcp"}

# A step is taken if it brings this share of what the slope promises, and halved so often at most until it does.
_SHARE, _HALVINGS = 1e-4, 30

_NONE, _ONE = np.uint64(0), np.uint64(1)


@njit(fastmath=REORDER)
def _inner(factors, u, v):
    total = 0.0
    for k in range(U(factors.shape[1])):
        total += factors[u, k] * factors[v, k]
    return total


@njit(fastmath=REORDER)
def _slopes(indptr, indices, factors, total, background, u, rates, chances, slope, bend):
    """Rates and chances of a node's edges; the log-likelihood's slope in its vector, and a bound on its fall along it.

    The outer product of a vector without negative entries is at most the diagonal matrix of its entries times their
    sum, so that the bound is a number for each entry.
    """
    width, begin = U(factors.shape[1]), U(indptr[u])
    for k in range(width):
        slope[k] = factors[u, k] - total[k]
        bend[k] = 0.0
    for i in range(begin, U(indptr[u + _ONE])):
        v = U(indices[i])
        rate, mass = background, 0.0
        for k in range(width):
            rate += factors[u, k] * factors[v, k]
            mass += factors[v, k]
        rates[i - begin] = rate
        chance = -math.expm1(-rate)
        chances[i - begin] = chance
        pull = 1.0 / chance
        curve = mass * (1.0 - chance) / (chance * chance)
        for k in range(width):
            slope[k] += pull * factors[v, k]
            bend[k] += curve * factors[v, k]


@njit(fastmath=REORDER)
def _direction(factors, u, slope, bend, step):
    """Where the slope leads, entry by entry as far as its bend lets, never below zero; the rise that it promises."""
    promise = 0.0
    for k in range(U(factors.shape[1])):
        if bend[k] > 0.0:
            step[k] = max(slope[k] / bend[k], -factors[u, k])
        else:
            step[k] = -factors[u, k] if slope[k] < 0.0 else 0.0
        promise += slope[k] * step[k]
    return promise


@njit(fastmath=REORDER)
def _changes(indptr, indices, factors, u, step, changes):
    """How the rates of a node's edges change along a step; the change of their sum."""
    begin = U(indptr[u])
    total = 0.0
    for i in range(begin, U(indptr[u + _ONE])):
        v = U(indices[i])
        change = 0.0
        for k in range(U(factors.shape[1])):
            change += step[k] * factors[v, k]
        changes[i - begin] = change
        total += change
    return total


@njit
def _rise(rates, chances, changes, degree, length):
    """Rise of the edges' log-probabilities along a part of a step."""
    rise = 0.0
    for i in range(degree):
        rise += math.log(-math.expm1(-rates[i] - length * changes[i]) / chances[i])
    return rise


@njit
def _length(rates, chances, changes, degree, cost, promise):
    """The part of a step to take, 1 or a half or a quarter ..., such that the log-likelihood rises; 0 if none."""
    length = 1.0
    for _ in range(_HALVINGS):
        if _rise(rates, chances, changes, degree, length) - length * cost >= _SHARE * length * promise:
            return length
        length *= 0.5
    return 0.0


@njit(cache=True, nogil=True, fastmath=REORDER)
def sweep(indptr, indices, factors, total, background, edges, moves):
    """Move the vector of one node after the other uphill, and `total`, the sum of all vectors, with it.

    There is room for three numbers for each edge of a node in the rows of `edges`, and for three vectors in `moves`.
    """
    rates, chances, changes = edges[0], edges[1], edges[2]
    slope, bend, step = moves[0], moves[1], moves[2]
    for u in range(U(factors.shape[0])):
        degree = U(indptr[u + _ONE]) - U(indptr[u])
        _slopes(indptr, indices, factors, total, background, u, rates, chances, slope, bend)
        promise = _direction(factors, u, slope, bend, step)
        if not promise > 0.0:
            continue
        cost = -_changes(indptr, indices, factors, u, step, changes)
        for k in range(U(factors.shape[1])):
            cost += step[k] * (total[k] - factors[u, k])
        length = _length(rates, chances, changes, degree, cost, promise)
        for k in range(U(factors.shape[1])):
            # A step of full length to zero is to arrive there, whatever is rounded.
            moved = max(factors[u, k] + length * step[k], 0.0)
            total[k] += moved - factors[u, k]
            factors[u, k] = moved


@njit(cache=True, nogil=True, fastmath=REORDER)
def gradient(indptr, indices, factors, total, background, u, edges, slope, bend):
    """Fill `slope` with the log-likelihood's slope in one node's vector; `bend` bounds how fast that falls."""
    _slopes(indptr, indices, factors, total, background, U(u), edges[0], edges[1], slope, bend)


@njit(cache=True, nogil=True, fastmath=REORDER)
def log_likelihood(indptr, indices, factors, total, background):
    """Log-likelihood of all pairs: as if none had an edge, which the sum of all vectors tells; and what edges add."""
    count = factors.shape[0]
    value = -0.5 * background * count * (count - 1)
    for k in range(U(factors.shape[1])):
        value -= 0.5 * total[k] * total[k]
    for u in range(U(count)):
        value += 0.5 * _inner(factors, u, u)
        for i in range(U(indptr[u]), U(indptr[u + _ONE])):
            v = U(indices[i])
            if v > u:
                rate = background + _inner(factors, u, v)
                value += math.log(-math.expm1(-rate)) + rate
    return value


@njit(cache=True, nogil=True)
def pair_rates(factors, pairs, background, rates):
    """Fill `rates` with those of pairs of nodes."""
    for i in range(U(pairs.shape[0])):
        rates[i] = background + _inner(factors, U(pairs[i, _NONE]), U(pairs[i, _ONE]))


@njit(cache=True, nogil=True)
def count_triangles(indptr, indices, counts):
    """Add to `counts` the triangles of each node; rows hold those neighbors only that follow in some order."""
    marked = np.zeros(counts.shape[0], np.bool_)
    for u in range(U(counts.shape[0])):
        row = range(U(indptr[u]), U(indptr[u + _ONE]))
        for i in row:
            marked[U(indices[i])] = True
        for i in row:
            v = U(indices[i])
            for j in range(U(indptr[v]), U(indptr[v + _ONE])):
                w = U(indices[j])
                if marked[w]:
                    counts[u] += 1
                    counts[v] += 1
                    counts[w] += 1
        for i in row:
            marked[U(indices[i])] = False
