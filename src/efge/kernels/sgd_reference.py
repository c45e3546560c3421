"""Plain loops beside the fast ones: training one pair after the other, and the log-likelihood of held-out pairs."""

import numpy as np
from numba import njit

from efge.kernels.caching import entry_point
from efge.kernels.common import CACHE_LINE, GOLDEN, ONE, REORDER, ZERO, U, mix
from efge.kernels.intrinsics import prefetch
from efge.kernels.random import sample_alias, stream_state
from efge.kernels.sgd_step import evaluate_spline


@njit(inline="always")
def _train_pair(centers, contexts, splines, center, row, observed, rate, config, gain):
    """Update a row of contexts by one observation, and add what the center gains; return whether the score is finite.

    With s the score, a the center and b the row, g = rate * gradient(s); b gains g a, and a will gain g b.
    """
    low, scale, floor = np.float32(config.score_min), np.float32(config.spline_scale), np.float32(config.floor)
    s = np.float32(0.0)
    for j in range(U(gain.shape[0])):
        s += centers[center, j] * contexts[row, j]
    if not abs(s) < np.inf:
        return False
    g = rate * evaluate_spline(splines, observed, (s - low) * scale)
    for j in range(U(gain.shape[0])):
        gain[j] += g * contexts[row, j]
        contexts[row, j] = max(floor, contexts[row, j] + g * centers[center, j])
    return True


@entry_point(fastmath=REORDER)
def train_reference(work, model, config):
    """Train one pair after the other, in the tables themselves; each context has negatives of its own. No threads.

    The arguments are those of the fast trainer. Returns whether all scores are finite; training stops at one that is
    not.
    """
    centers, contexts, splines = model.centers, model.contexts, model.splines
    nodes, offsets = work.nodes, work.offsets
    gain, floor = np.empty(centers.shape[1], np.float32), np.float32(config.floor)
    for number in range(U(work.blocks.shape[0] - 1)):
        state = stream_state(work.key, work.first_block + number)
        for walk in range(U(work.blocks[number]), U(work.blocks[number + ONE])):
            begin, end = U(offsets[walk]), U(offsets[walk + ONE])
            for p in range(begin, end):
                center = U(nodes[p])
                decay = config.rate_decay * np.float64(np.int64(p) + work.first_position)
                rate = np.float32(config.learning_rate - decay)
                first = p - U(config.window) if p > begin + U(config.window) else begin
                for c in range(first, min(end, p + U(config.window) + ONE)):
                    if c == p:
                        continue
                    gain[:] = 0.0
                    context = U(nodes[c])
                    for i in range(U(config.negatives) + ONE):
                        row = context
                        if i:
                            state += GOLDEN
                            row = sample_alias(model.prob, model.alias, mix(state))
                            if row == context:
                                continue
                        observed = U(i == ZERO)
                        if not _train_pair(centers, contexts, splines, center, row, observed, rate, config, gain):
                            return False
                    for j in range(U(gain.shape[0])):
                        centers[center, j] = max(floor, centers[center, j] + gain[j])
    return True


@entry_point(fastmath=REORDER)
def mean_log_likelihood(centers, contexts, sample, log_probs, score_min, spline_scale):
    """Mean log-likelihood over rows (center, context, negatives...) of observing the context and no negative.

    A negative that is the context itself does not count.
    """
    width = U(centers.shape[1])
    total = 0.0
    for i in range(U(sample.shape[0])):
        ahead = min(i + ONE, U(sample.shape[0] - 1))
        for j in range(ZERO, width, U(CACHE_LINE)):
            prefetch(centers, np.int64(U(sample[ahead, ZERO]) * width + j))
            for k in range(ONE, U(sample.shape[1])):
                prefetch(contexts, np.int64(U(sample[ahead, k]) * width + j))
        center = U(sample[i, ZERO])
        for k in range(ONE, U(sample.shape[1])):
            if k > ONE and sample[i, k] == sample[i, ONE]:
                continue
            s = np.float32(0.0)
            for j in range(width):
                s += centers[center, j] * contexts[U(sample[i, k]), j]
            total += evaluate_spline(log_probs, U(k == ONE), np.float32((s - score_min) * spline_scale))
    return total / sample.shape[0]


@entry_point(fastmath=REORDER)
def mean_path_log_likelihood(centers, inner, sample, path_starts, paths):
    """Mean log-probability over rows (center, context) of the branches on the context's path, one sigmoid for each.

    With s the score of a center and an inner node, branch 1 has the probability sigmoid(s) and branch 0 sigmoid(-s).
    """
    width = U(centers.shape[1])
    total = 0.0
    for i in range(U(sample.shape[0])):
        center, context = U(sample[i, ZERO]), U(sample[i, ONE])
        for k in range(U(path_starts[context]), U(path_starts[context + ONE])):
            row = U(paths[k] >> 1)
            s = np.float32(0.0)
            for j in range(width):
                s += centers[center, j] * inner[row, j]
            score = np.float64(s) if paths[k] & 1 else -np.float64(s)
            total += min(score, 0.0) - np.log1p(np.exp(-abs(score)))
    return total / sample.shape[0]
