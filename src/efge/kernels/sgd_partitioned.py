"""Partitioned training: walks become buckets of records, and a bucket trains one partition of centers and of contexts.

The rows of a partition are split into cells. A node has a code: the number of its cell, shifted, and its row in the
cell; the cells of a partition have consecutive numbers. All contexts of a center in a wave of walks are cut into
groups. A record holds what a group has in one cell of contexts: the row of its center, the number of pairs of the group
in all cells, and how many contexts and negatives it has in this cell. A bucket is one array of integers: first the
number of records and of contexts for each pair of a cell of centers and a cell of contexts; then, for each of these
pairs, all its records and the rows of all their contexts.

A bucket is trained in its tables, by the same steps as whole tables. It is trained diagonal by diagonal: in each, every
cell of centers is trained with a different cell of contexts, so that threads share no row, and any number of threads
gives the same bits.
"""

from typing import NamedTuple

import numpy as np

from efge.kernels.caching import entry_point, helper
from efge.kernels.common import CACHE_LINE, GOLDEN, ONE, REORDER, ZERO, U, clip_below, mix
from efge.kernels.intrinsics import atomic_add, atomic_load, high_product, prefetch
from efge.kernels.random import stream_state, uniform
from efge.kernels.sgd_step import ABANDONED, DIVERGED, MAX_ROWS, N_COUNTERS, sgd_step, wait_for_all
from efge.kernels.simd import LANES

# Fields of a record: the row of its center, the pairs of its group in all cells, its contexts and its negatives.
_CENTER, _PAIRS, _CONTEXTS, _NEGATIVES = U(0), U(1), U(2), U(3)
RECORD_SIZE = 4
# A row that is not in the list of what a center observes.
_UNLISTED = np.int32(-1)


@entry_point
def assign_balanced(order, work, n_cells, rows):
    """Assign nodes, in an order, to the cell with the least work so far; return each node's cell, and all sizes.

    `rows` is filled with the row of each node in its cell. Of cells with equal work, the first one is taken.
    """
    load = np.zeros(n_cells, np.float64)
    sizes = np.zeros(n_cells, np.int64)
    cell_of = np.empty(order.shape[0], np.int32)
    for i in range(order.shape[0]):
        node = order[i]
        least = 0
        for cell in range(1, n_cells):
            if load[cell] < load[least]:
                least = cell
        load[least] += work[node]
        cell_of[node] = least
        rows[node] = sizes[least]
        sizes[least] += 1
    return cell_of, sizes


@entry_point
def depth_first_order(indptr, indices, order):
    """Fill `order` with all nodes in depth-first order, which puts neighbors close to each other."""
    visited = np.zeros(order.shape[0], np.bool_)
    path = np.empty(order.shape[0], np.int64)
    entries = np.empty(order.shape[0], np.int64)
    count = 0
    for start in range(order.shape[0]):
        if visited[start]:
            continue
        length = 1
        path[0], entries[0] = start, indptr[start]
        visited[start] = True
        order[count] = start
        count += 1
        while length > 0:
            entry = entries[length - 1]
            if entry == indptr[path[length - 1] + 1]:
                length -= 1
                continue
            entries[length - 1] = entry + 1
            node = indices[entry]
            if not visited[node]:
                visited[node] = True
                order[count] = node
                count += 1
                path[length], entries[length] = node, indptr[node]
                length += 1


@entry_point
def count_pairs(codes, offsets, window, partition, shift, pairs):
    """Add to `pairs` the number of pairs that some walks have of each center of a partition."""
    mask = (ONE << U(shift)) - ONE
    for walk in range(U(offsets.shape[0] - 1)):
        begin, end = U(offsets[walk]), U(offsets[walk + ONE])
        for p in range(begin, end):
            code = U(codes[p])
            if code >> U(shift) == U(partition):
                pairs[code & mask] += min(p - begin, U(window)) + min(end - ONE - p, U(window))


@entry_point
def collect_pairs(codes, offsets, window, partition, shift, ends, contexts):
    """Append the contexts of each center of a partition to its list, which ends at `ends` so far."""
    mask = (ONE << U(shift)) - ONE
    for walk in range(U(offsets.shape[0] - 1)):
        begin, end = U(offsets[walk]), U(offsets[walk + ONE])
        for p in range(begin, end):
            code = U(codes[p])
            if code >> U(shift) != U(partition):
                continue
            list_end = U(ends[code & mask])
            first = p - U(window) if p > begin + U(window) else begin
            for c in range(first, min(end, p + U(window) + ONE)):
                if c != p:
                    contexts[list_end] = codes[c]
                    list_end += ONE
            ends[code & mask] = list_end


@helper
def _count_group(group, begins, contexts, shift, negatives_per_pair, key, counts):
    """Fill `counts` with the number of contexts, and of negatives, that a group has in each cell.

    The number of negatives is the expected one, rounded up or down at random so that its mean is right.
    """
    begin, end = U(begins[group]), U(begins[group + ONE])
    counts[:] = 0
    for p in range(begin, end):
        counts[U(contexts[p]) >> U(shift), ZERO] += 1
    state = stream_state(key, group)
    for cell in range(U(counts.shape[0])):
        state += GOLDEN
        counts[cell, ONE] = np.int64(np.float64(end - begin) * negatives_per_pair[cell] + uniform(mix(state)))


@entry_point
def count_records(order, centers, begins, contexts, shift, negatives_per_pair, key, sizes):
    """Add to `sizes` the number of records and of contexts for each cell of centers and each cell of contexts."""
    counts = np.empty((sizes.shape[1], 2), np.int64)
    for i in range(U(order.shape[0])):
        group = U(order[i])
        own = U(centers[group]) >> U(shift)
        _count_group(group, begins, contexts, shift, negatives_per_pair, key, counts)
        for cell in range(U(sizes.shape[1])):
            if counts[cell, ZERO] + counts[cell, ONE] > 0:
                sizes[own, cell, ZERO] += 1
                sizes[own, cell, ONE] += counts[cell, ZERO]


@entry_point
def fill_buckets(
    order, centers, begins, contexts, shift, negatives_per_pair, key, record_offsets, context_offsets, buckets
):
    """Write the records of all groups, in an order, and their contexts, at the offsets of each pair of cells."""
    counts = np.empty((record_offsets.shape[1], 2), np.int64)
    mask = (ONE << U(shift)) - ONE
    for i in range(U(order.shape[0])):
        group = U(order[i])
        own = U(centers[group]) >> U(shift)
        _count_group(group, begins, contexts, shift, negatives_per_pair, key, counts)
        for cell in range(U(record_offsets.shape[1])):
            if counts[cell, ZERO] + counts[cell, ONE] > 0:
                record = U(record_offsets[own, cell])
                buckets[record + _CENTER] = U(centers[group]) & mask
                buckets[record + _PAIRS] = begins[group + ONE] - begins[group]
                buckets[record + _CONTEXTS] = counts[cell, ZERO]
                buckets[record + _NEGATIVES] = counts[cell, ONE]
                record_offsets[own, cell] += RECORD_SIZE
        for p in range(U(begins[group]), U(begins[group + ONE])):
            cell = U(contexts[p]) >> U(shift)
            buckets[U(context_offsets[own, cell])] = U(contexts[p]) & mask
            context_offsets[own, cell] += 1


class Tables(NamedTuple):
    """One partition of the centers and one of the contexts, with what their steps need."""

    centers: np.ndarray  # float32[nodes, width], vectors of the partition's centers
    contexts: np.ndarray  # float32[nodes, width], vectors of the partition's contexts
    center_cells: np.ndarray  # int64[cells + 1], where each cell of centers begins
    context_cells: np.ndarray  # int64[cells + 1], where each cell of contexts begins
    splines: np.ndarray  # float32[2, intervals, 4], gradient of observing 0 and 1, by cubics of the score
    prob: np.ndarray  # uint32[nodes], an alias table of the noise for each cell of contexts
    alias: np.ndarray  # int32[nodes], an alias table of the noise for each cell of contexts


class BucketSGDConfig(NamedTuple):
    """Settings of the steps in a bucket. The learning rate falls by `rate_decay` with each diagonal."""

    negative_weight: float  # how often a negative is observed for each draw
    pool_size: int  # negatives in a pool
    rows_per_pool: int  # observed rows, about, that a pool serves
    rows_per_step: int  # rows that move together, a multiple of LANES and at most MAX_ROWS
    max_observations: int  # observations of a row in one pass over them, at most
    learning_rate: float  # at the start of the bucket
    rate_decay: float  # its decrease per diagonal
    floor: float  # lower bound of all entries, or -inf
    score_min: float  # score at which the splines begin
    spline_scale: float  # intervals of the splines per unit of score


class Scratch(NamedTuple):
    """Memory of one thread: a pool of negatives, and what one center observes."""

    marks: np.ndarray  # int32[rows of the largest cell], position of each row in the center's list, or _UNLISTED
    pool: np.ndarray  # int32[pool_size], rows of negatives in the cell
    rows: np.ndarray  # int64[longest list + LANES], rows that the center observes
    observations: np.ndarray  # float32[2, longest list + LANES], how often it observes each of them as 0 and as 1
    scores: np.ndarray  # float32[MAX_ROWS + LANES], inner products with the center
    steps: np.ndarray  # float32[MAX_ROWS], step sizes of the rows
    new_center: np.ndarray  # float32[width], the center after the step


@helper
def _draw_pool(contexts, prob, alias, first, size, state, pool):
    """Draw a pool of negatives from a cell, and prefetch their rows; return the new state of the stream."""
    width = U(contexts.shape[1])
    for i in range(U(pool.shape[0])):
        state += GOLDEN
        bits = mix(state)
        slot = high_product(bits, size)
        slot = slot if (bits & U(0xFFFFFFFF)) < U(prob[first + slot]) else U(alias[first + slot])
        pool[i] = slot
        for j in range(ZERO, width, U(CACHE_LINE)):
            prefetch(contexts, np.int64((first + slot) * width + j))
    return state


@helper
def _collect_observations(data, record, contexts, negative_weight, pool, at, base, marks, rows, observations):
    """List the rows, from `base` on, that a record's center observes, and how often as 0 and as 1.

    A negative that is the context of k of the group's n pairs counts against the other n - k: by 1 - k / n. Returns the
    number of rows, and where in the pool to go on. How a row is listed stands here twice: as a function, it would cost
    more, in reference counts of the arrays, than the work; inlined by Numba, it changes how the compiler rounds.
    """
    count = ZERO
    for k in range(contexts, contexts + U(data[record + _CONTEXTS])):
        row = U(data[k])
        i = U(marks[row])
        if marks[row] == _UNLISTED:
            i = count
            marks[row] = i
            rows[i] = base + row
            observations[ZERO, i] = 0
            observations[ONE, i] = 0
            count += ONE
        observations[ONE, i] += np.float32(1.0)
    pairs = np.float32(data[record + _PAIRS])
    for _ in range(U(data[record + _NEGATIVES])):
        row = U(pool[at])
        at = at + ONE if at + ONE < U(pool.shape[0]) else ZERO
        i = U(marks[row])
        if marks[row] == _UNLISTED:
            i = count
            marks[row] = i
            rows[i] = base + row
            observations[ZERO, i] = 0
            observations[ONE, i] = 0
            count += ONE
        observations[ZERO, i] += np.float32(negative_weight) * (np.float32(1.0) - observations[ONE, i] / pairs)
    for i in range(count):
        marks[U(rows[i]) - base] = _UNLISTED
    return count, at


@helper
def _prefetch_rows(table, data, begin, end, base):
    """Prefetch the rows of a table, from `base` on, that data[begin:end] lists."""
    width = U(table.shape[1])
    for k in range(begin, end):
        row = base + U(data[k])
        for j in range(ZERO, width, U(CACHE_LINE)):
            prefetch(table, np.int64(row * width + j))


@helper
def _find_records(data, cells, number):
    """Return where the records of a pair of cells begin in a bucket, and how many there are."""
    record = U(2) * cells * cells
    for k in range(number):
        record += U(RECORD_SIZE) * U(data[U(2) * k]) + U(data[U(2) * k + ONE])
    return record, U(data[U(2) * number])


@helper
def _clip_rows(centers, center, contexts, rows, count, floor):
    """Clip a center and the rows that it has observed."""
    clip_below(centers, center, floor)
    for i in range(count):
        clip_below(contexts, U(rows[i]), floor)


@helper
def _train_cells(own, other, diagonal, data, key, tables, config, scratch):
    """Train a cell of centers with one of contexts, by their records; return whether all vectors are finite."""
    centers, contexts, splines = tables.centers, tables.contexts, tables.splines
    marks, pool, rows, observations = scratch.marks, scratch.pool, scratch.rows, scratch.observations
    scores, steps, new_center = scratch.scores, scratch.steps, scratch.new_center
    cells = U(tables.center_cells.shape[0] - 1)
    number = own * cells + other
    record, n_records = _find_records(data, cells, number)
    context = record + U(RECORD_SIZE) * n_records
    first_center, first = U(tables.center_cells[own]), U(tables.context_cells[other])
    size = U(tables.context_cells[other + ONE]) - first
    state, at, served = stream_state(key, number), ZERO, U(config.rows_per_pool)
    for i in range(n_records):
        if served >= U(config.rows_per_pool):
            state = _draw_pool(contexts, tables.prob, tables.alias, first, size, state, pool)
            served = ZERO
        next_context = context + U(data[record + _CONTEXTS])
        if i + ONE < n_records:
            following = record + U(RECORD_SIZE)
            _prefetch_rows(centers, data, following + _CENTER, following + _PAIRS, first_center)
            _prefetch_rows(contexts, data, next_context, next_context + U(data[following + _CONTEXTS]), first)
        served += U(data[record + _CONTEXTS]) + U(data[record + _NEGATIVES])
        count, at = _collect_observations(
            data, record, context, config.negative_weight, pool, at, first, marks, rows, observations
        )
        progress = np.float64(np.int64(diagonal)) + np.float64(np.int64(i)) / np.float64(np.int64(n_records))
        rate = np.float32(config.learning_rate - config.rate_decay * progress)
        center, pad = first_center + U(data[record + _CENTER]), U(rows[ZERO])
        if not sgd_step(
            centers, center, contexts, rows, pad, count, observations, splines, config, rate, scores, steps, new_center
        ):
            return False
        if config.floor > -np.inf:
            _clip_rows(centers, center, contexts, rows, count, config.floor)
        record += U(RECORD_SIZE)
        context = next_context
    return True


@helper
def _make_scratch(data, tables, config):
    """Allocate memory for the largest cell and the longest list of what a center observes."""
    cells = U(tables.center_cells.shape[0] - 1)
    longest, largest = ZERO, ZERO
    record = U(2) * cells * cells
    for number in range(cells * cells):
        for _ in range(U(data[U(2) * number])):
            longest = max(longest, U(data[record + _CONTEXTS]) + U(data[record + _NEGATIVES]))
            record += U(RECORD_SIZE)
        record += U(data[U(2) * number + ONE])
    for cell in range(cells):
        largest = max(largest, U(tables.context_cells[cell + ONE]) - U(tables.context_cells[cell]))
    return Scratch(
        np.full(largest, _UNLISTED, np.int32),
        np.empty(config.pool_size, np.int32),
        np.empty(longest + U(LANES), np.int64),
        np.empty((2, longest + U(LANES)), np.float32),
        np.empty(MAX_ROWS + LANES, np.float32),
        np.empty(MAX_ROWS, np.float32),
        np.empty(tables.centers.shape[1], np.float32),
    )


@entry_point(fastmath=REORDER)
def train(thread, threads, data, key, tables, config, counters):
    """Train a bucket, as one of several threads, which all return together; stop where a vector is not finite.

    After the counters that all training kernels have, `counters` has the next cell of centers of each diagonal.
    """
    scratch = _make_scratch(data, tables, config)
    cells = U(tables.center_cells.shape[0] - 1)
    for diagonal in range(cells):
        while True:
            own = U(atomic_add(counters, np.int64(N_COUNTERS) + np.int64(diagonal), 1))
            if own >= cells:
                break
            if not _train_cells(own, (own + diagonal) % cells, diagonal, data, key, tables, config, scratch):
                atomic_add(counters, DIVERGED, 1)
        wait_for_all(counters, threads)
        if atomic_load(counters, DIVERGED) > 0 or atomic_load(counters, ABANDONED) > 0:
            break
