"""One step of stochastic gradient ascent, and the counters and the barrier of threads that train together.

A step takes one center and the rows that it observes, each as 0 and as 1 a number of times. All observations of one row
become a single move along the center (see `step_sizes` in ``simd``), so that each row is read and written once; then
the center moves. The formulas are in docs/mathematics.md, "One step".
"""

import numpy as np
from numba import types

from efge.kernels.caching import helper
from efge.kernels.common import ONE, REORDER, ZERO, U
from efge.kernels.intrinsics import atomic_add, atomic_load
from efge.kernels.simd import LANES, dot_rows, step_sizes, update_rows
from efge.system import YIELD_CORE

# Rows that move together, at most.
MAX_ROWS = 32
# Observations of a row in one pass over them, at most, and the same of an inner node of the tree. All rows of a center
# make as many passes as the row with most observations. Nearly every path passes the first inner nodes: with 8, they
# alone made all rows of a walk's center pass twice.
MAX_OBSERVATIONS, MAX_PATH_OBSERVATIONS = 8, 32

# Counters that threads share: the next task and the next shard to merge, which threads take by adding 1; threads that
# wait at the barrier, and how often all have met there; blocks that diverged; and whether a thread will never come.
NEXT_TASK, NEXT_MERGE, _WAITING, _MEETINGS, DIVERGED, ABANDONED = range(6)
N_COUNTERS = 6

_yield_core = types.ExternalFunction(YIELD_CORE, types.int32())


@helper
def wait_for_all(counters, threads):
    """Wait until all threads are here, or until one was abandoned."""
    meetings = atomic_load(counters, _MEETINGS)
    if atomic_add(counters, _WAITING, 1) == threads - 1:
        atomic_add(counters, _WAITING, -threads)
        atomic_add(counters, _MEETINGS, 1)
        return
    spins = 0
    while atomic_load(counters, _MEETINGS) == meetings and not atomic_load(counters, ABANDONED):
        spins += 1
        if spins > 2000:
            _yield_core()


@helper(fastmath=REORDER)
def evaluate_spline(splines, observed, position):
    """Evaluate the spline of observing 0 or 1 at a position on the scale of its intervals.

    A position outside the spline counts as its first or last one.
    """
    position = min(max(np.float32(0.0), position), np.float32(splines.shape[1] - 1))
    interval = U(np.int32(position))
    u = position - np.float32(np.int32(position))
    return splines[observed, interval, ZERO] + u * (
        splines[observed, interval, ONE]
        + u * (splines[observed, interval, U(2)] + u * splines[observed, interval, U(3)])
    )


# One function, although it has several parts: Numba compiles functions that inline others without SSA, which made
# training at 10,000 nodes take 5 to 15 % longer.
@helper(fastmath=REORDER)
def sgd_step(  # noqa: C901 - see above
    centers, center, table, rows, pad, count, observations, splines, config, rate, scores, steps, new_center
):
    """Update a center and the `count` rows of a table that it observes; return whether the center is finite.

    The list of rows is filled up by the row `pad`. Once the center is not finite, it keeps its last value.
    """
    low, scale = np.float32(config.score_min), np.float32(config.spline_scale)
    # Divide observations over passes, so that a row has at most `max_observations` in each.
    most = np.float32(0.0)
    for i in range(count):
        most = max(most, observations[ZERO, i] + observations[ONE, i])
    passes = max(1, np.int64(np.ceil(most / np.float32(config.max_observations))))
    if passes > 1:
        for i in range(count):
            observations[ZERO, i] /= np.float32(passes)
            observations[ONE, i] /= np.float32(passes)
    while count % U(LANES):
        rows[count] = pad
        observations[ZERO, count] = 0
        observations[ONE, count] = 0
        count += ONE
    for first in range(ZERO, count, U(config.rows_per_step)):
        size = min(U(config.rows_per_step), count - first)
        for i in range(ZERO, size, U(LANES)):
            dot_rows(centers, np.int64(center), table, rows, np.int64(first + i), scores, np.int64(i))
        square, center_step = scores[size], np.float32(0.0)
        steps[:] = 0.0
        for _ in range(passes):
            for i in range(ZERO, size, U(LANES)):
                at, listed = np.int64(i), np.int64(first + i)
                center_step += step_sizes(splines, observations, listed, scores, at, square, low, scale, rate, steps)
        if not abs(center_step) < np.inf:
            return False
        for j in range(U(new_center.shape[0])):
            new_center[j] = centers[center, j] + center_step * centers[center, j]
        for i in range(ZERO, size, U(LANES)):
            update_rows(centers, np.int64(center), table, rows, np.int64(first + i), steps, np.int64(i), new_center)
        # Rows stay finite, as no score moves far; the center, a sum over rows, may not.
        nothing = np.float32(0.0)
        for j in range(U(new_center.shape[0])):
            nothing += new_center[j] * np.float32(0.0)
        if nothing != np.float32(0.0):
            return False
        for j in range(U(new_center.shape[0])):
            centers[center, j] = new_center[j]
    return True
