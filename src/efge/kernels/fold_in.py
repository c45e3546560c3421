"""Steps that move the vectors of some nodes against a table of context vectors that stays as it is.

Each vector depends on the table alone, and on no other vector that moves. So nodes can be divided over threads in any
way without changing a bit. A step is that of training (``sgd_step``), on a copy of the rows that it observes; what the
step would change in these rows is dropped with the copy.
"""

from typing import NamedTuple

import numpy as np

from efge.kernels.caching import entry_point, helper
from efge.kernels.common import GOLDEN, ONE, REORDER, ZERO, U, clip_below, mix
from efge.kernels.random import sample_alias, stream_state
from efge.kernels.sgd_step import MAX_ROWS, sgd_step
from efge.kernels.simd import LANES


class FoldInWork(NamedTuple):
    """Walks from the nodes whose vectors move: for each vector and each step, some walks that begin at its node."""

    walks: np.ndarray  # int32 or int64[vectors, steps, walks of a step, length], nodes of the walks, -1 after their end
    table_row: np.ndarray  # int64[nodes], row of each node in the table, or -1 if it has none
    prob: np.ndarray  # uint32[rows], alias table of the noise
    alias: np.ndarray  # int32[rows], alias table of the noise
    key: np.uint64  # of the random streams; each vector has its own
    first: np.uint64  # number of the first vector, for its stream


class _Observed(NamedTuple):
    """What one vector observes in a step, and memory for the step."""

    table_rows: np.ndarray  # int64[rows + LANES], rows of the table
    rows: np.ndarray  # int64[rows + LANES], rows of the copy
    observations: np.ndarray  # float32[2, rows + LANES], how often each is observed as 0 and as 1
    copy: np.ndarray  # float32[rows + LANES, width], the observed rows
    scores: np.ndarray  # float32[MAX_ROWS + LANES]
    steps: np.ndarray  # float32[MAX_ROWS]
    new_center: np.ndarray  # float32[width]


@helper
def _make_observed(rows, width):
    return _Observed(
        np.zeros(rows + LANES, np.int64),
        np.zeros(rows + LANES, np.int64),
        np.zeros((2, rows + LANES), np.float32),
        np.zeros((rows + LANES, width), np.float32),
        np.empty(MAX_ROWS + LANES, np.float32),
        np.empty(MAX_ROWS, np.float32),
        np.empty(width, np.float32),
    )


@helper
def _collect_contexts(walks, table_row, observed):
    """List the rows of the nodes after the first one of each walk, each once; return their number."""
    table_rows, observations = observed.table_rows, observed.observations
    count = ZERO
    for walk in range(U(walks.shape[0])):
        for position in range(ONE, U(walks.shape[1])):
            node = walks[walk, position]
            if node < 0:
                break
            row = table_row[U(node)]
            if row < 0:
                continue
            i = ZERO
            while i < count and table_rows[i] != row:
                i += ONE
            if i == count:
                table_rows[i] = row
                observations[ZERO, i] = 0
                observations[ONE, i] = 0
                count += ONE
            observations[ONE, i] += np.float32(1.0)
    return count


@helper
def _add_negatives(state, contexts, work, config, observed):
    """Draw negatives for the contexts, some of which share them; return the number of rows and the stream's state."""
    table_rows, observations = observed.table_rows, observed.observations
    total = np.float32(0.0)
    for i in range(contexts):
        total += observations[ONE, i]
    count = contexts
    while total > 0:
        times = min(total, np.float32(config.group_size))
        total -= times
        for _ in range(U(config.negatives)):
            state += GOLDEN
            row = np.int64(sample_alias(work.prob, work.alias, mix(state)))
            is_context = False
            for i in range(contexts):
                is_context |= table_rows[i] == row
            if not is_context:
                table_rows[count] = row
                observations[ZERO, count] = times
                observations[ONE, count] = 0
                count += ONE
    return count, state


@helper
def _copy_rows(table, count, observed):
    """Copy the listed rows of the table, and list the rows of the copy, which a step fills up."""
    for i in range(count):
        observed.rows[i] = i
        row = U(observed.table_rows[i])
        for j in range(U(table.shape[1])):
            observed.copy[i, j] = table[row, j]


@entry_point(fastmath=REORDER)
def fold_in(vectors, begin, end, table, splines, work, config):
    """Move vectors begin .. end - 1 by all their steps; return whether they are finite.

    The learning rate falls by `rate_decay` with each step of a vector. Without a context that has a row in the table, a
    vector does not move.
    """
    n_steps, n_walks, length = work.walks.shape[1], work.walks.shape[2], work.walks.shape[3]
    most = n_walks * (length - 1)
    observed = _make_observed(most * (1 + config.negatives), vectors.shape[1])
    for i in range(U(begin), U(end)):
        state = stream_state(work.key, work.first + i)
        for step in range(U(n_steps)):
            contexts = _collect_contexts(work.walks[i, step], work.table_row, observed)
            count, state = _add_negatives(state, contexts, work, config, observed)
            _copy_rows(table, count, observed)
            rate = np.float32(config.learning_rate - config.rate_decay * np.float64(step))
            if count and not sgd_step(
                vectors, i, observed.copy, observed.rows, count, count, observed.observations, splines, config, rate,
                observed.scores, observed.steps, observed.new_center
            ):  # fmt: skip
                return False
            if config.floor > -np.inf:
                clip_below(vectors, i, config.floor)
    return True
