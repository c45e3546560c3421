"""Training and judging one pair after the other: plain loops beside the fast ones."""

import numpy as np
from numba import njit

from efge.kernels.intrinsics import prefetch
from efge.kernels.random import GOLDEN, U, mix, pick, stream, unit

# Lets LLVM reorder sums, which makes them fast; unlike fastmath=True it still honors NaN and infinity.
REORDER = {"reassoc", "contract", "nsz", "arcp"}
_NONE, _ONE = U(0), U(1)
# Entries in a cache line.
_LINE = U(16)


@njit(fastmath=REORDER)
def _slope(slopes, observed, place):
    """A slope by its cubic, at a place on the scale of the cells; places outside count as the first or the last."""
    place = min(max(np.float32(0.0), place), np.float32(slopes.shape[1] - 1))
    cell = U(np.int32(place))
    u = place - np.float32(np.int32(place))
    return slopes[observed, cell, _NONE] + u * (
        slopes[observed, cell, _ONE] + u * (slopes[observed, cell, U(2)] + u * slopes[observed, cell, U(3)])
    )


@njit(cache=True, nogil=True, fastmath=REORDER)
def train_plainly(work, model, plan):
    """One pair after the other, in the tables themselves; each context meets negatives of its own. No threads.

    The arguments are those of the fast trainer. The answer is whether all is finite; if not, training stopped there.
    """
    centers, contexts, slopes, nodes, offsets = model.centers, model.contexts, model.slopes, work.nodes, work.offsets
    width = U(centers.shape[1])
    gain = np.empty(width, np.float32)
    low, scale, floor = np.float32(plan.low), np.float32(plan.scale), np.float32(plan.floor)
    for number in range(U(work.blocks.shape[0] - 1)):
        state = stream(work.key, work.first_block + number)
        for walk in range(U(work.blocks[number]), U(work.blocks[number + _ONE])):
            begin, end = U(offsets[walk]), U(offsets[walk + _ONE])
            for p in range(begin, end):
                center = U(nodes[p])
                rate = np.float32(plan.rate - plan.rate_fall * np.float64(np.int64(p) + work.first_center))
                first = p - U(plan.window) if p > begin + U(plan.window) else begin
                for c in range(first, min(end, p + U(plan.window) + _ONE)):
                    if c == p:
                        continue
                    gain[:] = 0.0
                    context = U(nodes[c])
                    for i in range(U(plan.negatives) + _ONE):
                        row = context
                        if i:
                            state += GOLDEN
                            row = pick(model.keep, model.other, mix(state))
                            if row == context:
                                continue
                        s = np.float32(0.0)
                        for j in range(width):
                            s += centers[center, j] * contexts[row, j]
                        if not abs(s) < np.inf:
                            return False
                        g = rate * _slope(slopes, U(i == _NONE), (s - low) * scale)
                        for j in range(width):
                            gain[j] += g * contexts[row, j]
                            contexts[row, j] = max(floor, contexts[row, j] + g * centers[center, j])
                    for j in range(width):
                        centers[center, j] = max(floor, centers[center, j] + gain[j])
    return True


@njit(cache=True, nogil=True)
def spread(key, table, begin, end, dim, low, high):
    """Fill the first `dim` entries of rows with uniform random numbers, from a stream for each row."""
    for row in range(U(begin), U(end)):
        state = stream(key, row)
        for j in range(U(dim)):
            state += GOLDEN
            table[row, j] = low + (high - low) * unit(mix(state))


@njit(cache=True, nogil=True)
def draw(key, keep, other, drawn):
    """Fill an array with numbers drawn by an alias table."""
    state = stream(key, _NONE)
    for i in range(U(drawn.shape[0])):
        state += GOLDEN
        drawn[i] = pick(keep, other, mix(state))


@njit(cache=True, nogil=True, fastmath=REORDER)
def mean_log_likelihood(centers, contexts, sample, log_probs, low, scale):
    """Mean over rows (center, context, negatives...) of the log-likelihood of seeing the context and no negative."""
    width = U(centers.shape[1])
    total = 0.0
    for i in range(U(sample.shape[0])):
        ahead = min(i + _ONE, U(sample.shape[0] - 1))
        for j in range(_NONE, width, _LINE):
            prefetch(centers, np.int64(U(sample[ahead, _NONE]) * width + j))
            for k in range(_ONE, U(sample.shape[1])):
                prefetch(contexts, np.int64(U(sample[ahead, k]) * width + j))
        center = U(sample[i, _NONE])
        for k in range(_ONE, U(sample.shape[1])):
            if k > _ONE and sample[i, k] == sample[i, _ONE]:
                continue
            s = np.float32(0.0)
            for j in range(width):
                s += centers[center, j] * contexts[U(sample[i, k]), j]
            total += _slope(log_probs, U(k == _ONE), np.float32((s - low) * scale))
    return total / sample.shape[0]


@njit(cache=True, nogil=True, fastmath=REORDER)
def mean_path_log_likelihood(centers, inner, sample, path_starts, paths):
    """Mean over rows (center, context) of the log-probability of the turns on the context's path, a sigmoid each."""
    width = U(centers.shape[1])
    total = 0.0
    for i in range(U(sample.shape[0])):
        center, context = U(sample[i, _NONE]), U(sample[i, _ONE])
        for k in range(U(path_starts[context]), U(path_starts[context + _ONE])):
            row = U(paths[k] >> 1)
            s = np.float32(0.0)
            for j in range(width):
                s += centers[center, j] * inner[row, j]
            score = np.float64(s) if paths[k] & 1 else -np.float64(s)
            total += min(score, 0.0) - np.log1p(np.exp(-abs(score)))
    return total / sample.shape[0]
