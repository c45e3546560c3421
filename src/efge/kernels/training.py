"""Stochastic gradient ascent over walks: in blocks that fit the cache, in rounds that give the same bits everywhere.

A block is some consecutive walks. It copies the rows of their nodes and of a pool of negatives, and does its steps on
the copies, one after the other. A round is a fixed number of blocks, all of which begin with the same tables; when all
are done, the first copy of each row takes its place, with what later blocks have changed of the row, block after block.
So every sum has one order, and which thread did which block, or how many threads there were, changes no bit.

A step holds one center against some rows: contexts, each observed as 1, and negatives that stand against some contexts,
each observed as 0 as often. Steps, copies and threads that meet are those of ``steps``.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from efge.kernels.intrinsics import atomic_add, atomic_load
from efge.kernels.rows import ABREAST
from efge.kernels.steps import (
    ABANDONED,
    AHEAD,
    AT_ONCE,
    BROKEN,
    FREE,
    NOTHING,
    REORDER,
    TICKET,
    draw_pool,
    fetch,
    gather,
    move,
    put_back,
    row_of,
    wait_for_all,
)
from efge.kernels.streams import U, stream

# A pool of negatives serves so many centers; then another one is drawn.
CENTERS_A_POOL = 40

_NONE, _ONE = U(0), U(1)


class Model(NamedTuple):
    """What is trained: center and context vectors, a row a node, by slopes and noise.

    `slopes` are cubic polynomials, (observation 0 or 1, cell, power).
    `keep` and `other` are the alias table that negatives are drawn by.

    With a tree, contexts are no nodes but the places where paths part, and there are no negatives: the path to node v
    is paths[path_starts[v]:path_starts[v + 1]], each 2 * row + turn, and a turn, 0 or 1, is what is observed.
    Of what changes in row r of them, `shares[r]` counts.
    """

    centers: np.ndarray
    contexts: np.ndarray
    slopes: np.ndarray
    keep: np.ndarray
    other: np.ndarray
    path_starts: np.ndarray
    paths: np.ndarray
    shares: np.ndarray


class Plan(NamedTuple):
    """How far contexts reach, how many negatives stand against each, how the learning rate falls with each center.

    Contexts are before and after a center. With `stars`, only the first node of a walk is a center, and all others are
    its contexts.
    `group` contexts share their negatives, which come from pools of the size `pool`. Merged, no entry is below `floor`.
    Slopes are given for scores from `low` on, in cells of the width 1 / scale.
    """

    window: int
    stars: bool
    negatives: int
    group: int
    pool: int
    rate: float
    rate_fall: float
    floor: float
    low: float
    scale: float


class Work(NamedTuple):
    """Walks, cut into blocks: block b is the walks from blocks[b] to blocks[b + 1].

    `key` and the number of a block, counted from `first_block`, give it its stream; `first_center` centers came before.
    """

    nodes: np.ndarray
    offsets: np.ndarray
    blocks: np.ndarray
    key: np.uint64
    first_block: np.uint64
    first_center: int


class Notes(NamedTuple):
    """What a thread keeps in mind: where nodes are, what the pool holds, and what a center observes of which rows.

    With a tree, turns[turn_starts[p]:turn_starts[p + 1]] is the path to the node at position p, each 2 * row + turn.
    `firsts` is a hash table of the first copies of rows in a round, of which `owned` are this thread's.
    """

    slots: np.ndarray
    where: np.ndarray
    turn_starts: np.ndarray
    turns: np.ndarray
    marks: np.ndarray
    pool: np.ndarray
    rows: np.ndarray
    seen: np.ndarray
    products: np.ndarray
    steps: np.ndarray
    gain: np.ndarray
    firsts: np.ndarray
    owned: np.ndarray


@njit
def _look_around(center, begin, end, plan, known, where, pool, at, base, marks, rows, seen):
    """List the rows that a center observes, from `base` on, and how often as 0 and as 1.

    Rows below `known` are of walks' nodes, others only of negatives. The answer is how many are listed, and where in
    the pool it stopped. What is done for a row that is new to the list stands here twice: in a function of its own, the
    arrays' reference counts would cost more than the work.
    """
    count = _NONE
    position = begin
    while position < end:
        # A few contexts...
        first = position
        together = _NONE
        while position < end and together < U(plan.group):
            if position != center:
                row = U(where[position])
                i = U(marks[row])
                if marks[row] == FREE:
                    i = count
                    marks[row] = i
                    rows[i] = base + row
                    seen[_NONE, i] = 0
                    seen[_ONE, i] = 0
                    count += _ONE
                seen[_ONE, i] += np.float32(1.0)
                together += _ONE
            position += _ONE
        # ... and the negatives that stand against all of them that are not the same node.
        for _ in range(U(plan.negatives) if together else _NONE):
            row = U(pool[at])
            at = at + _ONE if at + _ONE < U(pool.shape[0]) else _NONE
            against = together
            if row < known:
                for k in range(first, position):
                    against -= U(k != center) & U(U(where[k]) == row)
            if against:
                i = U(marks[row])
                if marks[row] == FREE:
                    i = count
                    marks[row] = i
                    rows[i] = base + row
                    seen[_NONE, i] = 0
                    seen[_ONE, i] = 0
                    count += _ONE
                seen[_NONE, i] += np.float32(against)
    return count, at


@njit
def _find_nodes(nodes, begin, end, slots, names, base, where):
    """Rows for the nodes from `begin` to `end`, after the one for padding; how many rows the block has then."""
    slots[:] = FREE
    count = _ONE
    for p in range(begin, end):
        row = row_of(U(nodes[p]), slots, names, base, count)
        where[p - begin] = row
        count += U(row == count)
    return count


@njit
def _find_stars(nodes, offsets, first_walk, last_walk, slots, names, base, where):
    """Rows for the first nodes of walks, then for the others; how many rows the block has after each."""
    begin = U(offsets[first_walk])
    slots[:] = FREE
    count = _ONE
    for walk in range(first_walk, last_walk):
        p = U(offsets[walk])
        row = row_of(U(nodes[p]), slots, names, base, count)
        where[p - begin] = row
        count += U(row == count)
    own = count
    slots[:] = FREE
    for walk in range(first_walk, last_walk):
        for p in range(U(offsets[walk]) + _ONE, U(offsets[walk + _ONE])):
            row = row_of(U(nodes[p]), slots, names, base, count)
            where[p - begin] = row
            count += U(row == count)
    return own, count


@njit
def _find_paths(nodes, begin, end, path_starts, paths, slots, names, base, count, turn_starts, turns):
    """Rows for the paths to the nodes from `begin` to `end`; how many rows the block has then."""
    slots[:] = FREE
    found = _NONE
    for p in range(begin, end):
        turn_starts[p - begin] = found
        for k in range(U(path_starts[U(nodes[p])]), U(path_starts[U(nodes[p]) + _ONE])):
            row = row_of(U(paths[k] >> 1), slots, names, base, count)
            count += U(row == count)
            turns[found] = np.int32(row) * 2 + (paths[k] & 1)
            found += _ONE
    turn_starts[end - begin] = found
    return count


@njit
def _look_along_paths(center, begin, end, turn_starts, turns, base, marks, rows, seen):
    """List the rows on the paths to a center's contexts, and how often paths turn there to 0 and to 1; how many."""
    count = _NONE
    for position in range(begin, end):
        if position == center:
            continue
        for k in range(U(turn_starts[position]), U(turn_starts[position + _ONE])):
            row, turn = U(turns[k] >> 1), U(turns[k] & 1)
            i = U(marks[row])
            if marks[row] == FREE:
                i = count
                marks[row] = i
                rows[i] = base + row
                seen[_NONE, i] = 0
                seen[_ONE, i] = 0
                count += _ONE
            seen[turn, i] += np.float32(1.0)
    return count


@njit
def _block(number, place, work, model, plan, room, notes):
    """Do the steps of one block on copies of rows; whether all is finite."""
    nodes, offsets, names, copies = work.nodes, work.offsets, room.names, room.copies
    slots, where, marks, pool = notes.slots, notes.where, notes.marks, notes.pool
    turn_starts, turns = notes.turn_starts, notes.turns
    rows, seen, products, steps, gain = notes.rows, notes.seen, notes.products, notes.steps, notes.gain
    slopes = model.slopes
    first_walk, last_walk = U(work.blocks[number]), U(work.blocks[number + _ONE])
    begin = U(offsets[first_walk])
    base = place * U(names.shape[0] // room.counts.shape[0])
    shift = U(names.shape[0])
    end = U(offsets[last_walk])
    has_tree = model.path_starts.shape[0] > 0
    if plan.stars:
        own, count = _find_stars(nodes, offsets, first_walk, last_walk, slots, names, base, where)
    else:
        own = count = _find_nodes(nodes, begin, end, slots, names, base, where)
    known, first_context = count, own if has_tree or plan.stars else _ONE
    if has_tree:
        count = _find_paths(
            nodes, begin, end, model.path_starts, model.paths, slots, names, base, count, turn_starts, turns
        )
    fetch(model.contexts, names, copies, _NONE, base + first_context, base + count)
    fetch(model.centers, names, copies, shift, base + _ONE, base + own)
    state = stream(work.key, work.first_block + number)
    served, at, finite = CENTERS_A_POOL, _NONE, True
    for walk in range(first_walk, last_walk):
        walk_begin, walk_end = U(offsets[walk]) - begin, U(offsets[walk + _ONE]) - begin
        for p in range(walk_begin, walk_begin + _ONE if plan.stars else walk_end):
            if served == CENTERS_A_POOL and not has_tree:
                drawn = count
                state, count = draw_pool(model.keep, model.other, state, slots, names, base, count, pool)
                fetch(model.contexts, names, copies, _NONE, base + drawn, base + count)
                served = 0
            served += 1
            rate = np.float32(plan.rate - plan.rate_fall * np.float64(np.int64(begin + p) + work.first_center))
            low_end = p - U(plan.window) if p > walk_begin + U(plan.window) else walk_begin
            high_end = walk_end if plan.stars else min(walk_end, p + U(plan.window) + _ONE)
            if has_tree:
                listed = _look_along_paths(p, low_end, high_end, turn_starts, turns, base, marks, rows, seen)
            else:
                listed, at = _look_around(p, low_end, high_end, plan, known, where, pool, at, base, marks, rows, seen)
            for i in range(listed):
                marks[U(rows[i]) - base] = FREE
            center = base + shift + U(where[p])
            finite &= move(copies, center, copies, rows, base, listed, seen, slopes, plan, rate, products, steps, gain)
    room.counts[place, _NONE] = own
    room.counts[place, _ONE] = count
    room.counts[place, U(2)] = first_context
    return finite


@njit
def _take_notes(room, plan, path_starts):
    longest_path = 0
    for node in range(path_starts.shape[0] - 1):
        longest_path = max(longest_path, path_starts[node + 1] - path_starts[node])
    rows = room.names.shape[0] // room.counts.shape[0]
    slots = firsts = 1
    while slots < 2 * rows:
        slots *= 2
    while firsts < 2 * room.names.shape[0]:
        firsts *= 2
    return Notes(
        np.empty(slots, np.int32),
        np.empty(rows, np.int32),
        np.empty(rows + 1, np.int64),
        np.empty(longest_path * rows, np.int32),
        np.full(rows, FREE, np.int32),
        np.empty(plan.pool, np.int32),
        np.empty(rows + ABREAST, np.int64),
        np.empty((2, rows + ABREAST), np.float32),
        np.empty(AT_ONCE + ABREAST, np.float32),
        np.empty(AT_ONCE, np.float32),
        np.empty(room.copies.shape[1], np.float32),
        np.empty(firsts, np.uint64),
        np.zeros(room.copies.shape[0] + AHEAD, np.int64),
    )


@njit
def _merge(thread, blocks, model, plan, room, notes):
    """Bring what a round's blocks have changed into the tables: a thread does the rows whose first copy it made."""
    names, copies, counts, firsts, owned = room.names, room.copies, room.counts, notes.firsts, notes.owned
    centers, contexts = model.centers, model.contexts
    kind = U(centers.ctypes.data != contexts.ctypes.data)
    firsts[:] = NOTHING
    some = gather(thread, centers, names, copies, counts, _NONE, _NONE, blocks, firsts, owned, _NONE)
    count = gather(thread, contexts, names, copies, counts, _ONE, kind, blocks, firsts, owned, some)
    put_back(centers, names, copies, model.shares[:0], owned, _NONE, some, plan.floor)
    put_back(contexts, names, copies, model.shares, owned, some, count, plan.floor)


@njit(cache=True, nogil=True, fastmath=REORDER)
def train(thread, threads, work, model, plan, room):
    """What one of some threads does of the work; blocks that are merged. Stops before merging what is not finite."""
    signals, counts = room.signals, room.counts
    notes = _take_notes(room, plan, model.path_starts)
    count = U(work.blocks.shape[0] - 1)
    done = _NONE
    while done < count:
        blocks = min(U(counts.shape[0]), count - done)
        while True:
            place = U(atomic_add(signals, TICKET, 1))
            if place >= blocks:
                break
            counts[place, U(3)] = thread
            if not _block(done + place, place, work, model, plan, room, notes):
                atomic_add(signals, BROKEN, 1)
        wait_for_all(signals, threads)
        if atomic_load(signals, BROKEN) > 0 or atomic_load(signals, ABANDONED) > 0:
            break
        if thread == 0:
            signals[TICKET] = 0
        _merge(U(thread), blocks, model, plan, room, notes)
        wait_for_all(signals, threads)
        done += blocks
    return done
