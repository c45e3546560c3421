"""LINE: sampled edges, one after the other, in cells of nodes, so that threads share no row.

Nodes are dealt into cells, and the edges of a batch are sorted by the cells of their two ends. In each turn, every cell
of centers is trained with another cell of contexts. No thread therefore touches a row of another one, and the number of
threads changes no bit. No row is copied: each step sees all that came before it in its cells.

Negatives of an edge are drawn from the cell of its context. Each batch deals the nodes anew, at random, so that over
some batches all nodes are negatives of each other.
"""

from typing import NamedTuple

import numpy as np

from efge.kernels.caching import entry_point, helper
from efge.kernels.common import CACHE_LINE, GOLDEN, ONE, REORDER, ZERO, U, mix
from efge.kernels.intrinsics import atomic_add, atomic_load, high_product, prefetch
from efge.kernels.random import sample_alias, stream_state
from efge.kernels.sgd_step import ABANDONED, DIVERGED, N_COUNTERS, evaluate_spline, wait_for_all
from efge.kernels.simd import LANES, dot_rows, update_row_by_row

# The rows of an edge are requested this many edges earlier.
_EDGES_AHEAD = U(8)


class EdgeBatch(NamedTuple):
    """Sampled edges, sorted by the cells of their ends, and the nodes of each cell."""

    edges: np.ndarray  # int32 or int64[edges, 2], center and context of each edge
    begins: np.ndarray  # int64[cells ** 2 + 1], where the edges of each pair of cells begin, and the end
    nodes: np.ndarray  # int32 or int64[nodes], nodes of each cell, one cell after the other
    cells: np.ndarray  # int64[cells + 1], where each cell begins among the nodes
    prob: np.ndarray  # uint32[nodes], an alias table of the noise for each cell
    alias: np.ndarray  # int32[nodes], an alias table of the noise for each cell
    key: np.uint64  # of the random streams; each pair of cells has its own


class EdgeModel(NamedTuple):
    """What is trained: center and context vectors, one row for each node."""

    centers: np.ndarray  # float32[nodes, width], vectors of centers
    contexts: np.ndarray  # float32[nodes, width], vectors of contexts; the same array in first order
    splines: np.ndarray  # float32[2, intervals, 4], gradient of observing 0 and 1, by cubics of the score


class EdgeConfig(NamedTuple):
    """Settings of the steps. The learning rate falls by `rate_decay` with each turn."""

    one_table: bool  # whether centers and contexts are the same array
    negatives: int  # negatives for each edge
    learning_rate: float  # of the first turn
    rate_decay: float  # its decrease per turn
    score_min: float  # score at which the splines begin
    spline_scale: float  # intervals of the splines per unit of score


@entry_point
def draw_edges(key, indptr, indices, prob, alias, node_prob, node_alias, edges):
    """Fill each row with a node and one of its neighbors, drawn by alias tables of nodes and of the graph's rows.

    If the alias table of rows is empty, all neighbors are equally likely.
    """
    state = stream_state(key, ZERO)
    for edge in range(U(edges.shape[0])):
        state += GOLDEN
        node = sample_alias(node_prob, node_alias, mix(state))
        row = U(indptr[node])
        state += GOLDEN
        bits = mix(state)
        entry = row + high_product(bits, U(indptr[node + ONE]) - row)
        if prob.shape[0] and (bits & U(0xFFFFFFFF)) >= U(prob[entry]):
            entry = row + U(alias[entry])
        edges[edge, ZERO] = node
        edges[edge, ONE] = indices[entry]


@entry_point
def sort_edges(edges, cell_of, n_cells, begins, ordered):
    """Sort edges by the cells of their two ends (a counting sort), and fill in where each pair of cells begins."""
    begins[:] = 0
    for edge in range(U(edges.shape[0])):
        pair = U(cell_of[U(edges[edge, ZERO])]) * U(n_cells) + U(cell_of[U(edges[edge, ONE])])
        begins[pair + ONE] += 1
    for pair in range(U(begins.shape[0] - 1)):
        begins[pair + ONE] += begins[pair]
    ends = begins.copy()
    for edge in range(U(edges.shape[0])):
        pair = U(cell_of[U(edges[edge, ZERO])]) * U(n_cells) + U(cell_of[U(edges[edge, ONE])])
        ordered[U(ends[pair]), ZERO] = edges[edge, ZERO]
        ordered[U(ends[pair]), ONE] = edges[edge, ONE]
        ends[pair] += 1


@helper
def _prefetch_row(table, row):
    """Request a row of a table."""
    width = U(table.shape[1])
    for j in range(ZERO, width, U(CACHE_LINE)):
        prefetch(table, np.int64(row * width + j))


@helper
def _draw_negatives(state, batch, first, size, contexts, rows):
    """Fill rows[1:] with nodes of a cell from the noise, and request their rows; return the state of the stream."""
    for k in range(ONE, U(rows.shape[0])):
        state += GOLDEN
        bits = mix(state)
        slot = first + high_product(bits, size)
        # Both are read, since no processor could foresee which one it is.
        alias = first + U(batch.alias[slot])
        slot = slot if (bits & U(0xFFFFFFFF)) < U(batch.prob[slot]) else alias
        row = U(batch.nodes[slot])
        rows[k] = row
        _prefetch_row(contexts, row)
    return state


@helper(fastmath=REORDER)
def _train_cells(own, other, rate, batch, model, config, drawn, rows, steps):
    """Train the edges from one cell to another; return whether all scores are finite, and stop at one that is not.

    With a the center, b a row and s their score, all of an edge's steps rate * gradient(s) are computed first; then b
    gains step * a, and a gains the sum of step * b. Negatives are drawn an edge earlier, so that their rows are there.
    """
    centers, contexts, edges = model.centers, model.contexts, batch.edges
    low, scale = np.float32(config.score_min), np.float32(config.spline_scale)
    pair = own * U(batch.cells.shape[0] - 1) + other
    first, size = U(batch.cells[other]), U(batch.cells[other + ONE] - batch.cells[other])
    state, begin, end = stream_state(batch.key, pair), U(batch.begins[pair]), U(batch.begins[pair + ONE])
    if begin == end:
        return True
    state = _draw_negatives(state, batch, first, size, contexts, drawn)
    for edge in range(begin, end):
        center, context, count = U(edges[edge, ZERO]), U(edges[edge, ONE]), ONE
        ahead = min(edge + _EDGES_AHEAD, end - ONE)
        _prefetch_row(centers, U(edges[ahead, ZERO]))
        _prefetch_row(contexts, U(edges[ahead, ONE]))
        rows[ZERO] = context
        for k in range(ONE, U(drawn.shape[0])):
            rows[count] = drawn[k]
            count += U(U(drawn[k]) != context)
        for k in range(count, U(rows.shape[0])):
            rows[k] = context
        state = _draw_negatives(state, batch, first, size, contexts, drawn)
        for k in range(ZERO, count, U(LANES)):
            dot_rows(centers, np.int64(center), contexts, rows, np.int64(k), steps, np.int64(k))
        for k in range(count):
            s = steps[k]
            if not abs(s) < np.inf:
                return False
            # In one table, a node that observes itself moves as a center and as a row; it is written to as a center.
            times = np.float32(2.0) if config.one_table and U(rows[k]) == center else np.float32(1.0)
            steps[k] = times * rate * evaluate_spline(model.splines, U(k == ZERO), (s - low) * scale)
        update_row_by_row(centers, np.int64(center), contexts, rows, steps, np.int64(count))
    return True


@entry_point(fastmath=REORDER)
def train(thread, threads, batch, model, config, counters):
    """Train a batch, as one of several threads, which all return together; stop where a score is not finite.

    After the counters that all training kernels have, `counters` has the next cell of each turn. In one table, the
    edges between two cells in both directions are trained together.
    """
    cells = U(batch.cells.shape[0] - 1)
    drawn, size = np.empty(config.negatives + 1, np.int64), -(-(config.negatives + 1) // LANES) * LANES
    # After the scores of rows, their function writes the square of the center.
    rows, steps = np.empty(size, np.int64), np.empty(size + LANES, np.float32)
    for turn in range(cells):
        rate = np.float32(config.learning_rate - config.rate_decay * np.float64(np.int64(turn)))
        while True:
            own = U(atomic_add(counters, np.int64(N_COUNTERS) + np.int64(turn), 1))
            if own >= cells:
                break
            other, finite = (turn + cells - own) % cells, True
            if not config.one_table or own <= other:
                finite &= _train_cells(own, other, rate, batch, model, config, drawn, rows, steps)
            if config.one_table and own < other:
                finite &= _train_cells(other, own, rate, batch, model, config, drawn, rows, steps)
            if not finite:
                atomic_add(counters, DIVERGED, 1)
        wait_for_all(counters, threads)
        if atomic_load(counters, DIVERGED) > 0 or atomic_load(counters, ABANDONED) > 0:
            break
