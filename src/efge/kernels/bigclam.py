"""BigClam: non-negative vectors under which an edge has the probability 1 - exp(-rate), fitted one node at a time.

The rate of a pair is the inner product of its vectors plus a background. In the vector of one node the log-likelihood
is concave, and all it needs of the nodes without an edge to it is the sum of their vectors: the sum over all nodes,
which is kept up to date, minus those of the node and its neighbors. So one sweep over the nodes costs as much as the
graph has entries. The formulas are in docs/mathematics.md.

Graphs are symmetric here, without self loops and weights.
"""

import math

import numpy as np

from efge.kernels.caching import entry_point, helper
from efge.kernels.common import ONE, REORDER, ZERO, U

# Armijo's rule: a step is taken if it gains this fraction of what the gradient predicts; else it is halved, at most so
# many times.
_ARMIJO, _MAX_HALVINGS = 1e-4, 30


@helper(fastmath=REORDER)
def _inner(factors, u, v):
    total = 0.0
    for k in range(U(factors.shape[1])):
        total += factors[u, k] * factors[v, k]
    return total


@helper(fastmath=REORDER)
def _gradient_and_curvature(indptr, indices, factors, total, background, u, rates, probs, gradient, curvature):
    """Fill rates and probabilities of u's edges, the gradient in u's vector, and a bound on the curvature.

    With F the vectors and p = 1 - exp(-rate), the gradient is the sum over neighbors v of F_v / p_uv, minus `total`,
    plus F_u. The Hessian is minus the sum of (1 - p) / p^2 F_v F_v^T. Since F_v has no negative entry, F_v F_v^T is at
    most the diagonal matrix of sum(F_v) F_v; so the bound is one number for each entry of the vector.
    """
    width, begin = U(factors.shape[1]), U(indptr[u])
    for k in range(width):
        gradient[k] = factors[u, k] - total[k]
        curvature[k] = 0.0
    for i in range(begin, U(indptr[u + ONE])):
        v = U(indices[i])
        rate, mass = background, 0.0
        for k in range(width):
            rate += factors[u, k] * factors[v, k]
            mass += factors[v, k]
        rates[i - begin] = rate
        prob = -math.expm1(-rate)
        probs[i - begin] = prob
        weight = 1.0 / prob
        bound = mass * (1.0 - prob) / (prob * prob)
        for k in range(width):
            gradient[k] += weight * factors[v, k]
            curvature[k] += bound * factors[v, k]


@helper(fastmath=REORDER)
def _direction(factors, u, gradient, curvature, step):
    """Fill `step` with gradient / curvature, entry by entry, never below zero; return the expected gain."""
    expected_gain = 0.0
    for k in range(U(factors.shape[1])):
        if curvature[k] > 0.0:
            step[k] = max(gradient[k] / curvature[k], -factors[u, k])
        else:
            step[k] = -factors[u, k] if gradient[k] < 0.0 else 0.0
        expected_gain += gradient[k] * step[k]
    return expected_gain


@helper(fastmath=REORDER)
def _rate_changes(indptr, indices, factors, u, step, changes):
    """Fill `changes` with those of the rates of u's edges along a step; return their sum."""
    begin = U(indptr[u])
    total = 0.0
    for i in range(begin, U(indptr[u + ONE])):
        v = U(indices[i])
        change = 0.0
        for k in range(U(factors.shape[1])):
            change += step[k] * factors[v, k]
        changes[i - begin] = change
        total += change
    return total


@helper
def _edge_gain(rates, probs, changes, degree, length):
    """Gain of the edges' log-probabilities along a fraction of a step."""
    gain = 0.0
    for i in range(degree):
        gain += math.log(-math.expm1(-rates[i] - length * changes[i]) / probs[i])
    return gain


@helper
def _step_length(rates, probs, changes, degree, cost, expected_gain):
    """Fraction of a step to take, 1 or 1/2 or 1/4 ..., so that the log-likelihood rises; 0 if none does."""
    length = 1.0
    for _ in range(_MAX_HALVINGS):
        if _edge_gain(rates, probs, changes, degree, length) - length * cost >= _ARMIJO * length * expected_gain:
            return length
        length *= 0.5
    return 0.0


@entry_point(fastmath=REORDER)
def sweep(indptr, indices, factors, total, background, edge_scratch, vector_scratch):
    """Improve the vector of one node after the other, and keep `total`, the sum of all vectors, up to date.

    `edge_scratch` has three rows with an entry for each edge of a node, `vector_scratch` three rows for vectors.
    """
    rates, probs, changes = edge_scratch[0], edge_scratch[1], edge_scratch[2]
    gradient, curvature, step = vector_scratch[0], vector_scratch[1], vector_scratch[2]
    for u in range(U(factors.shape[0])):
        degree = U(indptr[u + ONE]) - U(indptr[u])
        _gradient_and_curvature(indptr, indices, factors, total, background, u, rates, probs, gradient, curvature)
        expected_gain = _direction(factors, u, gradient, curvature, step)
        if not expected_gain > 0.0:
            continue
        # What pairs without an edge lose along the step.
        cost = -_rate_changes(indptr, indices, factors, u, step, changes)
        for k in range(U(factors.shape[1])):
            cost += step[k] * (total[k] - factors[u, k])
        length = _step_length(rates, probs, changes, degree, cost, expected_gain)
        for k in range(U(factors.shape[1])):
            # A full step to zero must arrive there in spite of rounding.
            moved = max(factors[u, k] + length * step[k], 0.0)
            total[k] += moved - factors[u, k]
            factors[u, k] = moved


@entry_point(fastmath=REORDER)
def gradient(indptr, indices, factors, total, background, u, edge_scratch, gradient, curvature):
    """Fill `gradient` with that of the log-likelihood in u's vector, and `curvature` with a bound on its curvature."""
    _gradient_and_curvature(
        indptr, indices, factors, total, background, U(u), edge_scratch[0], edge_scratch[1], gradient, curvature
    )


@entry_point(fastmath=REORDER)
def log_likelihood(indptr, indices, factors, total, background):
    """Log-likelihood of all pairs.

    It is minus the sum of all rates, which `total` gives, plus log(1 - exp(-rate)) + rate of each edge.
    """
    count = factors.shape[0]
    value = -0.5 * background * count * (count - 1)
    for k in range(U(factors.shape[1])):
        value -= 0.5 * total[k] * total[k]
    for u in range(U(count)):
        value += 0.5 * _inner(factors, u, u)
        for i in range(U(indptr[u]), U(indptr[u + ONE])):
            v = U(indices[i])
            if v > u:
                rate = background + _inner(factors, u, v)
                value += math.log(-math.expm1(-rate)) + rate
    return value


@entry_point
def pair_rates(factors, pairs, background, rates):
    """Fill `rates` with those of pairs of nodes."""
    for i in range(U(pairs.shape[0])):
        rates[i] = background + _inner(factors, U(pairs[i, ZERO]), U(pairs[i, ONE]))


@entry_point
def count_triangles(indptr, indices, counts):
    """Add to `counts` the triangles of each node; each row holds only neighbors that come later in some order."""
    marked = np.zeros(counts.shape[0], np.bool_)
    for u in range(U(counts.shape[0])):
        row = range(U(indptr[u]), U(indptr[u + ONE]))
        for i in row:
            marked[U(indices[i])] = True
        for i in row:
            v = U(indices[i])
            for j in range(U(indptr[v]), U(indptr[v + ONE])):
                w = U(indices[j])
                if marked[w]:
                    counts[u] += 1
                    counts[v] += 1
                    counts[w] += 1
        for i in row:
            marked[U(indices[i])] = False
