"""Stochastic gradient ascent over walks, in blocks that fit the cache and rounds that do not depend on threads.

A block is a number of consecutive walks, whose steps are done one after the other. A round is a fixed number of blocks
that all start from the same tables. Each round goes through four stages:

- index: list the rows that each block uses, negatives included;
- resolve: find the rows that several blocks use, and give each of these blocks a copy;
- train: do the steps of each block, in the tables or in its copies;
- merge: add up the copies of each row, in the order of the blocks.

Every sum over blocks therefore has one order: neither the number of threads nor which thread did which block changes a
bit. While a round is trained, the next one is resolved and the one after that is indexed. Threads take these tasks from
one list, the largest first, so that all threads finish at about the same time.

A step takes one center and the rows that it observes: contexts, each observed as 1, and negatives, each observed as 0
once for each context that it is drawn against (docs/mathematics.md, "One step"). Steps are in ``sgd_step``, the other
stages in ``sgd_rows``.
"""

from typing import NamedTuple

import numpy as np

from efge.kernels.caching import entry_point, helper
from efge.kernels.common import ONE, REORDER, ZERO, U, clip_below
from efge.kernels.intrinsics import atomic_add, atomic_load
from efge.kernels.sgd_rows import (
    CENTERS_PER_POOL,
    CONTEXTS_BEGIN,
    ROWS_END,
    WALKS_END,
    fetch_rows,
    index_rows,
    merge_copies,
    resolve_shared_rows,
)
from efge.kernels.sgd_step import (
    ABANDONED,
    DIVERGED,
    MAX_ROWS,
    NEXT_MERGE,
    NEXT_TASK,
    sgd_step,
    wait_for_all,
)
from efge.kernels.simd import LANES

# Marks of centers are this far apart, so that a position in a list can be added to them.
_MARK_STEP = U(1 << 32)
# Blocks that a thread indexes at a time: they take little time each, and threads should not wait for each other's turn.
INDEX_TOGETHER = 8


class Model(NamedTuple):
    """What is trained: center and context vectors, one row for each node, and after them space for copies.

    With a tree (hierarchical softmax), rows of contexts are inner nodes of the tree, and there are no negatives: what
    is observed is the branch, 0 or 1, that the path to a context takes there.
    """

    centers: np.ndarray  # float32[nodes + copies, width], vectors of centers
    contexts: np.ndarray  # float32[nodes + copies, width], vectors of contexts or inner nodes
    splines: np.ndarray  # float32[2, intervals, 4], gradient of observing 0 and 1, by cubics of the score
    prob: np.ndarray  # uint32[nodes], alias table of the noise
    alias: np.ndarray  # int32[nodes], alias table of the noise
    path_starts: np.ndarray  # int64[nodes + 1], where the path to each node begins; empty without a tree
    paths: np.ndarray  # int32[steps], steps of all paths, each 2 * inner node + branch
    merge_scale: np.ndarray  # float32[nodes], fraction of its change that a row of contexts keeps; empty: all


class SGDConfig(NamedTuple):
    """Settings of the steps. The learning rate falls by `rate_decay` with each position of the walks."""

    window: int  # contexts are this many positions before and after a center
    negatives: int  # negatives for each group of contexts
    group_size: int  # contexts that share their negatives
    pool_size: int  # negatives in a pool
    rows_per_step: int  # rows that move together, a multiple of LANES and at most MAX_ROWS
    max_observations: int  # observations of a row in one pass over them, at most
    learning_rate: float  # of the first position
    rate_decay: float  # its decrease per position
    floor: float  # lower bound of all entries, or -inf
    score_min: float  # score at which the splines begin
    spline_scale: float  # intervals of the splines per unit of score


class Work(NamedTuple):
    """Walks, cut into blocks."""

    nodes: np.ndarray  # int32 or int64[positions], nodes of all walks
    offsets: np.ndarray  # int64[walks + 1], where each walk begins
    blocks: np.ndarray  # int64[blocks + 1], first walk of each block, and the end of the last
    key: np.uint64  # of the random streams; each block has its own
    first_block: np.uint64  # number of the first block, for its stream
    first_position: int  # positions of earlier walks, for the learning rate


class Scratch(NamedTuple):
    """Memory of one thread: for indexing a block, and for what one center observes."""

    slots: np.ndarray  # int32[power of 2], hash table of a block's rows
    marks: np.ndarray  # uint64[rows], mark of the last center that observed each row, plus its position in the list
    rows: np.ndarray  # int64[rows + LANES], locations of the rows that the center observes
    observations: np.ndarray  # float32[2, rows + LANES], how often it observes each of them as 0 and as 1
    scores: np.ndarray  # float32[MAX_ROWS + LANES], inner products with the center
    steps: np.ndarray  # float32[MAX_ROWS], step sizes of the rows
    new_center: np.ndarray  # float32[width], the center after the step


@helper
def _make_scratch(rows, width):
    slots = 1
    while slots < 2 * rows:
        slots *= 2
    return Scratch(
        np.empty(slots, np.int32),
        np.zeros(rows, np.uint64),
        np.empty(rows + LANES, np.int64),
        np.empty((2, rows + LANES), np.float32),
        np.empty(MAX_ROWS + LANES, np.float32),
        np.empty(MAX_ROWS, np.float32),
        np.empty(width, np.float32),
    )


# How a row is listed stands here three times: as a function, inlined or not, it doubled the time of training at
# dimension 16 (reference counts of the arrays, and Numba compiles functions that inline others without SSA).
@helper
def _collect_observations(center, begin, end, mark, config, round_, base, walks_end, pool, at, scratch):
    """List the rows that a center observes, and how often as 0 and as 1.

    Contexts are at the positions from `begin` to `end`. Negatives come from the pool that begins at `pool`, from its
    entry `at` on. Returns the number of rows, and where in the pool to go on.
    """
    position_row, negative_row, row_location = round_.position_row, round_.negative_row, round_.row_location
    marks, rows, observations = scratch.marks, scratch.rows, scratch.observations
    count, position = ZERO, begin
    while position < end:
        # A group of contexts...
        first, group = position, ZERO
        while position < end and group < U(config.group_size):
            if position != center:
                row = U(position_row[base + position])
                i = U(marks[row]) - mark
                if i >= count:
                    i = count
                    marks[row] = mark + i
                    rows[i] = row_location[base + row]
                    observations[ZERO, i] = 0
                    observations[ONE, i] = 0
                    count += ONE
                observations[ONE, i] += np.float32(1.0)
                group += ONE
            position += ONE
        # ... and its negatives, each observed once for each context of the group that is another node.
        for _ in range(U(config.negatives) if group else ZERO):
            row = U(negative_row[pool + at])
            at = at + ONE if at + ONE < U(config.pool_size) else ZERO
            times = group
            if row < walks_end:
                for k in range(first, position):
                    times -= U(k != center) & U(U(position_row[base + k]) == row)
            if times:
                i = U(marks[row]) - mark
                if i >= count:
                    i = count
                    marks[row] = mark + i
                    rows[i] = row_location[base + row]
                    observations[ZERO, i] = 0
                    observations[ONE, i] = 0
                    count += ONE
                observations[ZERO, i] += np.float32(times)
    return count, at


@helper
def _collect_path_observations(center, begin, end, mark, round_, base, scratch):
    """List the inner nodes on the paths to a center's contexts, and how often paths take branch 0 and 1 there."""
    path_start, path_step, row_location = round_.path_start, round_.path_step, round_.row_location
    marks, rows, observations = scratch.marks, scratch.rows, scratch.observations
    count = ZERO
    for position in range(begin, end):
        if position == center:
            continue
        for k in range(U(path_start[base + position]), U(path_start[base + position + ONE])):
            row, branch = U(path_step[k] >> 1), U(path_step[k] & 1)
            i = U(marks[row]) - mark
            if i >= count:
                i = count
                marks[row] = mark + i
                rows[i] = row_location[base + row]
                observations[ZERO, i] = 0
                observations[ONE, i] = 0
                count += ONE
            observations[branch, i] += np.float32(1.0)
    return count


@helper
def _clip_own_rows(table, n_nodes, row_location, begin, end, floor):
    """Clip the rows of a block that are in the table itself; copies are clipped when they are merged."""
    for row in range(begin, end):
        if U(row_location[row]) < n_nodes:
            clip_below(table, U(row_location[row]), floor)


@helper
def _train_block(number, block, work, model, config, n_nodes, round_, scratch):
    """Do the steps of block `number` of the work, a block of the round; return whether all vectors are finite."""
    offsets, row_location, position_row = work.offsets, round_.row_location, round_.position_row
    rows, observations, scores, steps = scratch.rows, scratch.observations, scratch.scores, scratch.steps
    centers, contexts, splines, new_center = model.centers, model.contexts, model.splines, scratch.new_center
    first_walk, last_walk = U(work.blocks[number]), U(work.blocks[number + ONE])
    begin, shift = U(offsets[first_walk]), U(round_.row_node.shape[0])
    base, bounds = block * (shift // U(round_.bounds.shape[0])), round_.bounds
    walks_end, rows_end = U(bounds[block, WALKS_END]), base + U(bounds[block, ROWS_END])
    contexts_begin, centers_end = base + U(bounds[block, CONTEXTS_BEGIN]), base + walks_end
    fetch_rows(contexts, n_nodes, round_.row_node, row_location, ZERO, contexts_begin, rows_end)
    fetch_rows(centers, n_nodes, round_.row_node, row_location, shift, base + ONE, centers_end)
    pool, served, at, finite = base, 0, ZERO, True
    for walk in range(first_walk, last_walk):
        walk_begin, walk_end = U(offsets[walk]) - begin, U(offsets[walk + ONE]) - begin
        for p in range(walk_begin, walk_end):
            if served == CENTERS_PER_POOL:
                pool += U(config.pool_size)
                served = 0
            served += 1
            decay = config.rate_decay * np.float64(np.int64(begin + p) + work.first_position)
            rate = np.float32(config.learning_rate - decay)
            low = p - U(config.window) if p > walk_begin + U(config.window) else walk_begin
            high = min(walk_end, p + U(config.window) + ONE)
            mark = (begin + p + ONE) * _MARK_STEP
            if model.path_starts.shape[0]:
                count = _collect_path_observations(p, low, high, mark, round_, base, scratch)
            else:
                count, at = _collect_observations(
                    p, low, high, mark, config, round_, base, walks_end, pool, at, scratch
                )
            center, pad = U(row_location[base + shift + U(position_row[base + p])]), n_nodes + base
            finite &= sgd_step(
                centers, center, contexts, rows, pad, count, observations, splines, config, rate, scores, steps,
                new_center
            )  # fmt: skip
    if config.floor > -np.inf:
        _clip_own_rows(centers, n_nodes, row_location, base + shift + ONE, centers_end + shift, config.floor)
        _clip_own_rows(contexts, n_nodes, row_location, contexts_begin, rows_end, config.floor)
    return finite


@helper
def _run_tasks(work, model, config, shared, current, next_round, upcoming, done, n_train, n_resolve, n_index, scratch):
    """Take tasks until none is left: train blocks of one round, resolve the next, index blocks of the upcoming one."""
    n_nodes, counters, n_shards = shared[0], shared[1], U(current.copy_start.shape[0])
    while True:
        task = U(atomic_add(counters, NEXT_TASK, 1))
        if task < n_train:
            if not _train_block(done + task, task, work, model, config, n_nodes, current, scratch):
                atomic_add(counters, DIVERGED, 1)
        elif task < n_train + n_shards:
            shard = task - n_train
            resolve_shared_rows(shard, n_resolve, model, n_nodes, next_round, shared[2], shared[3], shared[4])
        elif (task - n_train - n_shards) * U(INDEX_TOGETHER) < n_index:
            first = (task - n_train - n_shards) * U(INDEX_TOGETHER)
            for block in range(first, min(first + U(INDEX_TOGETHER), n_index)):
                index_rows(done + n_train + n_resolve + block, block, work, model, config, upcoming, scratch.slots)
        else:
            break


@helper
def _run_merges(model, config, n_nodes, counters, current):
    """Take shards until none is left, and merge their copies."""
    while True:
        shard = U(atomic_add(counters, NEXT_MERGE, 1))
        if shard >= U(current.copy_start.shape[0]):
            break
        merge_copies(shard, model, config, n_nodes, current)


@entry_point(fastmath=REORDER)
def train(thread, threads, work, model, config, workspace):
    """Train all blocks of some work, as one of several threads; return the number of blocks that are merged.

    The stages of a round are index, resolve, train and merge; three rounds are under way, each one stage apart.
    Training stops before it merges a round with a vector that is not finite.
    """
    current, next_round, upcoming, counters = workspace.current, workspace.next, workspace.upcoming, workspace.counters
    n_blocks, max_blocks = U(work.blocks.shape[0] - 1), U(current.bounds.shape[0])
    scratch = _make_scratch(current.row_node.shape[0] // current.bounds.shape[0], model.centers.shape[1])
    done, n_train, n_resolve, n_nodes = ZERO, ZERO, ZERO, U(workspace.n_nodes)
    shared = (n_nodes, counters, workspace.slots, workspace.first_row, workspace.firsts)
    while True:
        n_index = min(max_blocks, n_blocks - done - n_train - n_resolve)
        _run_tasks(
            work, model, config, shared, current, next_round, upcoming, done, n_train, n_resolve, n_index, scratch
        )
        wait_for_all(counters, threads)
        if atomic_load(counters, DIVERGED) > 0 or atomic_load(counters, ABANDONED) > 0:
            return done
        if thread == 0:
            counters[NEXT_TASK] = 0
        if n_train:
            _run_merges(model, config, n_nodes, counters, current)
        done += n_train
        n_train, n_resolve = n_resolve, n_index
        current, next_round, upcoming = next_round, upcoming, current
        wait_for_all(counters, threads)
        if thread == 0:
            counters[NEXT_MERGE] = 0
        if n_train + n_resolve == ZERO or atomic_load(counters, ABANDONED) > 0:
            return done
