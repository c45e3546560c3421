"""Stochastic gradient ascent over walks: in blocks that fit the cache, in rounds that give the same bits everywhere.

A block is some consecutive walks, and does its steps one after the other. A round is a fixed number of blocks, all of
which begin with the same tables. What a row is to a round is known before: while a round is trained, the rows of the
next one are settled, and those of the one after that are named, negatives included. A row that only one block has is
trained where it is. Of one that more blocks have, each has a copy; when all are done, the first copy takes the row's
place, with what later blocks have changed of theirs, block after block. So every sum has one order, and which thread
did which block, or how many threads there were, changes no bit.

Threads take what is to do from one list, on which what is small comes last, so that all end at about the same time.

A step holds one center against some rows: contexts, each observed as 1, and negatives that stand against some contexts,
each observed as 0 as often. Steps, copies and threads that meet are those of ``steps``.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from efge.kernels.intrinsics import atomic_add, atomic_load
from efge.kernels.random import GOLDEN, U, stream
from efge.kernels.sgd_step import (
    ABANDONED,
    AT_ONCE,
    BROKEN,
    FREE,
    REORDER,
    SHARES,
    TICKET,
    TICKET_TO_MERGE,
    bring_together,
    draw_pool,
    fetch,
    move,
    raise_to,
    row_of,
    wait_for_all,
)
from efge.kernels.simd import ABREAST

# A pool of negatives serves so many centers; then another one is drawn.
CENTERS_A_POOL = 40

_NONE, _ONE = U(0), U(1)
# Numbers of centers are so far from each other that a place in a list can be added to them.
_A_CENTER = U(1 << 32)


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
    """What a thread keeps in mind: where nodes are in a block, and what a center observes.

    `marks` has the last center that observed a row of a block, and where in its list.
    """

    slots: np.ndarray
    marks: np.ndarray
    rows: np.ndarray
    seen: np.ndarray
    products: np.ndarray
    steps: np.ndarray
    gain: np.ndarray


@njit
def _look_around(center, begin, end, number, plan, now, base, known, pool, at, notes):
    """List the rows that a center observes, and how often as 0 and as 1.

    Rows below `known` are of walks' nodes, others only of negatives. The answer is how many are listed, and where in
    the pool it stopped. What is done for a row that is new to the list stands here twice: in a function of its own, the
    arrays' reference counts would cost more than the work.
    """
    where, pools, places = now.where, now.pools, now.places
    marks, rows, seen = notes.marks, notes.rows, notes.seen
    count = _NONE
    position = begin
    while position < end:
        # A few contexts...
        first = position
        together = _NONE
        while position < end and together < U(plan.group):
            if position != center:
                row = U(where[base + position])
                i = U(marks[row]) - number
                if i >= count:
                    i = count
                    marks[row] = number + i
                    rows[i] = places[base + row]
                    seen[_NONE, i] = 0
                    seen[_ONE, i] = 0
                    count += _ONE
                seen[_ONE, i] += np.float32(1.0)
                together += _ONE
            position += _ONE
        # ... and the negatives that stand against all of them that are not the same node.
        for _ in range(U(plan.negatives) if together else _NONE):
            row = U(pools[pool + at])
            at = at + _ONE if at + _ONE < U(plan.pool) else _NONE
            against = together
            if row < known:
                for k in range(first, position):
                    against -= U(k != center) & U(U(where[base + k]) == row)
            if against:
                i = U(marks[row]) - number
                if i >= count:
                    i = count
                    marks[row] = number + i
                    rows[i] = places[base + row]
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
        where[base + p - begin] = row
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
        where[base + p - begin] = row
        count += U(row == count)
    own = count
    slots[:] = FREE
    for walk in range(first_walk, last_walk):
        for p in range(U(offsets[walk]) + _ONE, U(offsets[walk + _ONE])):
            row = row_of(U(nodes[p]), slots, names, base, count)
            where[base + p - begin] = row
            count += U(row == count)
    return own, count


@njit
def _find_paths(nodes, begin, end, path_starts, paths, slots, later, base, count):
    """Rows for the paths to the nodes from `begin` to `end`; how many rows the block has then."""
    names, turn_starts, turns = later.names, later.turn_starts, later.turns
    slots[:] = FREE
    found = base * U(turns.shape[0] // names.shape[0])
    for p in range(begin, end):
        turn_starts[base + p - begin] = found
        for k in range(U(path_starts[U(nodes[p])]), U(path_starts[U(nodes[p]) + _ONE])):
            row = row_of(U(paths[k] >> 1), slots, names, base, count)
            count += U(row == count)
            turns[found] = np.int32(row) * 2 + (paths[k] & 1)
            found += _ONE
    turn_starts[base + end - begin] = found
    return count


@njit
def _look_along_paths(center, begin, end, number, now, base, notes):
    """List the rows on the paths to a center's contexts, and how often paths turn there to 0 and to 1; how many."""
    turn_starts, turns, places = now.turn_starts, now.turns, now.places
    marks, rows, seen = notes.marks, notes.rows, notes.seen
    count = _NONE
    for position in range(begin, end):
        if position == center:
            continue
        for k in range(U(turn_starts[base + position]), U(turn_starts[base + position + _ONE])):
            row, turn = U(turns[k] >> 1), U(turns[k] & 1)
            i = U(marks[row]) - number
            if i >= count:
                i = count
                marks[row] = number + i
                rows[i] = places[base + row]
                seen[_NONE, i] = 0
                seen[_ONE, i] = 0
                count += _ONE
            seen[turn, i] += np.float32(1.0)
    return count


@njit(inline="always")
def _share_of(node):
    return (node * GOLDEN >> U(32)) * U(SHARES) >> U(32)


@njit
def _deal(place, base, count, later):
    """List the rows of a block by their nodes' shares."""
    names, dealt, starts = later.names, later.dealt, later.starts
    starts[place, :] = 0
    for row in range(base + _ONE, base + count):
        starts[place, _share_of(U(names[row])) + U(2)] += 1
    for share in range(U(2), U(SHARES)):
        starts[place, share + _ONE] += starts[place, share]
    for row in range(_ONE, count):
        share = _share_of(U(names[base + row])) + _ONE
        dealt[base + U(starts[place, share])] = row
        starts[place, share] += 1


@njit
def _name(number, place, work, model, plan, later, slots):
    """Name the rows of a block and draw its negatives."""
    nodes, offsets, names, counts = work.nodes, work.offsets, later.names, later.counts
    first_walk, last_walk = U(work.blocks[number]), U(work.blocks[number + _ONE])
    begin, end = U(offsets[first_walk]), U(offsets[last_walk])
    base = place * U(names.shape[0] // counts.shape[0])
    has_tree = model.path_starts.shape[0] > 0
    if plan.stars:
        own, known = _find_stars(nodes, offsets, first_walk, last_walk, slots, names, base, later.where)
    else:
        own = known = _find_nodes(nodes, begin, end, slots, names, base, later.where)
    if has_tree:
        count = _find_paths(nodes, begin, end, model.path_starts, model.paths, slots, later, base, known)
    else:
        centers = last_walk - first_walk if plan.stars else end - begin
        size = (centers + U(CENTERS_A_POOL - 1)) // U(CENTERS_A_POOL) * U(plan.pool)
        state = stream(work.key, work.first_block + number)
        count = draw_pool(model.keep, model.other, state, slots, names, base, known, later.pools, size)
    counts[place, _NONE] = own
    counts[place, _ONE] = count
    counts[place, U(2)] = own if has_tree or plan.stars else _ONE
    counts[place, U(3)] = known
    _deal(place, base, count, later)


@njit
def _settle(share, blocks, model, nodes, soon, slots, firsts):
    """Say where a round's rows of a share of all nodes are: in the tables or, if blocks share them, in copies.

    Copies are listed. Of a node's rows, a hash table has the first one, and `firsts` has for it the first ones as a
    center and as a context; all are counted from 1.
    """
    names, places, dealt, starts = soon.names, soon.places, soon.dealt, soon.starts
    block_counts, shared, again, counts, shares = soon.counts, soon.shared, soon.again, soon.shared_counts, model.shares
    every = U(names.shape[0])
    rows = every // U(block_counts.shape[0])
    two_tables = U(model.centers.ctypes.data != model.contexts.ctypes.data)
    begin = count = _NONE
    for block in range(blocks):
        begin += U(starts[block, share])
        count += U(starts[block, share + _ONE] - starts[block, share])
    size = _ONE
    while size < U(2) * count:
        size *= U(2)
    # Tables of shares never overlap, not even that of a share without rows, which has one slot.
    table, mask = U(4) * begin + share, size - _ONE
    slots[table : table + size] = 0
    soon.shared_starts[share] = U(2) * begin
    counts[share] = 0
    for block in range(blocks):
        base = block * rows
        end_of_centers, first_context = U(block_counts[block, _NONE]), U(block_counts[block, U(2)])
        for i in range(base + U(starts[block, share]), base + U(starts[block, share + _ONE])):
            row = U(dealt[i])
            node = U(names[base + row])
            slot = (node * GOLDEN >> U(16)) & mask
            while slots[table + slot] and U(names[U(slots[table + slot]) - _ONE]) != node:
                slot = (slot + _ONE) & mask
            if not slots[table + slot]:
                slots[table + slot] = base + row + _ONE
                firsts[base + row, _NONE] = 0
                firsts[base + row, _ONE] = 0
            entry = U(slots[table + slot]) - _ONE
            for which in range(U(row >= end_of_centers), _ONE + U(row >= first_context)):
                kind = which & two_tables
                copy = base + row + (_NONE if which else every)
                first = U(firsts[entry, kind])
                if first == _NONE:
                    first = copy + _ONE
                    firsts[entry, kind] = first
                    places[copy] = node
                    if not (which and shares.shape[0] and shares[node] < np.float32(1.0)):
                        continue
                first -= _ONE
                if U(places[first]) == node:
                    places[first] = nodes + first
                    shared[kind, U(2) * begin + U(counts[share, kind, _NONE])] = first
                    counts[share, kind, _NONE] += 1
                if first != copy:
                    places[copy] = nodes + copy
                    at = U(2) * begin + U(counts[share, kind, _ONE])
                    again[kind, at, _NONE] = first
                    again[kind, at, _ONE] = copy
                    counts[share, kind, _ONE] += 1


@njit
def _block(number, place, work, model, plan, nodes, now, notes):
    """Do the steps of one block; whether all is finite."""
    offsets, names, places, where = work.offsets, now.names, now.places, now.where
    rows, seen, products, steps, gain = notes.rows, notes.seen, notes.products, notes.steps, notes.gain
    centers, contexts, slopes = model.centers, model.contexts, model.slopes
    first_walk, last_walk = U(work.blocks[number]), U(work.blocks[number + _ONE])
    begin, shift = U(offsets[first_walk]), U(names.shape[0])
    base = place * (shift // U(now.counts.shape[0]))
    own, count = base + U(now.counts[place, _NONE]), base + U(now.counts[place, _ONE])
    first_context, known = base + U(now.counts[place, U(2)]), U(now.counts[place, U(3)])
    fetch(contexts, nodes, names, places, _NONE, first_context, count)
    fetch(centers, nodes, names, places, shift, base + _ONE, own)
    pool, served, at, finite = base, 0, _NONE, True
    for walk in range(first_walk, last_walk):
        walk_begin, walk_end = U(offsets[walk]) - begin, U(offsets[walk + _ONE]) - begin
        for p in range(walk_begin, walk_begin + _ONE if plan.stars else walk_end):
            if served == CENTERS_A_POOL:
                pool += U(plan.pool)
                served = 0
            served += 1
            rate = np.float32(plan.rate - plan.rate_fall * np.float64(np.int64(begin + p) + work.first_center))
            low_end = p - U(plan.window) if p > walk_begin + U(plan.window) else walk_begin
            high_end = walk_end if plan.stars else min(walk_end, p + U(plan.window) + _ONE)
            mark = (begin + p + _ONE) * _A_CENTER
            if model.path_starts.shape[0]:
                listed = _look_along_paths(p, low_end, high_end, mark, now, base, notes)
            else:
                listed, at = _look_around(p, low_end, high_end, mark, plan, now, base, known, pool, at, notes)
            center, pad = U(places[base + shift + U(where[base + p])]), nodes + base
            finite &= move(
                centers, center, contexts, rows, pad, listed, seen, slopes, plan, rate, products, steps, gain
            )
    if plan.floor > -np.inf:
        for row in range(base + _ONE, own):
            if U(places[row + shift]) < nodes:
                raise_to(centers, U(places[row + shift]), plan.floor)
        for row in range(first_context, count):
            if U(places[row]) < nodes:
                raise_to(contexts, U(places[row]), plan.floor)
    return finite


@njit
def _take_notes(rows, width):
    slots = 1
    while slots < 2 * rows:
        slots *= 2
    return Notes(
        np.empty(slots, np.int32),
        np.zeros(rows, np.uint64),
        np.empty(rows + ABREAST, np.int64),
        np.empty((2, rows + ABREAST), np.float32),
        np.empty(AT_ONCE + ABREAST, np.float32),
        np.empty(AT_ONCE, np.float32),
        np.empty(width, np.float32),
    )


@njit
def _merge(share, model, plan, nodes, now):
    """Bring copies of a share of the rows together."""
    names, begin, counts = now.names, U(now.shared_starts[share]), now.shared_counts[share]
    shared, again = now.shared[:, begin:], now.again[:, begin:]
    bring_together(model.centers, nodes, names, shared[0], again[0], counts[0], model.shares[:0], plan.floor)
    bring_together(model.contexts, nodes, names, shared[1], again[1], counts[1], model.shares, plan.floor)


@njit(cache=True, nogil=True, fastmath=REORDER)
def train(thread, threads, work, model, plan, room):
    """What one of some threads does of the work; blocks that are merged. Stops before merging what is not finite."""
    now, soon, later, nodes, signals = room.now, room.soon, room.later, U(room.nodes), room.signals
    count, most = U(work.blocks.shape[0] - 1), U(now.counts.shape[0])
    notes = _take_notes(now.names.shape[0] // now.counts.shape[0], model.centers.shape[1])
    done, trained, settled = _NONE, _NONE, _NONE
    while True:
        # A round is named, then settled, then trained, each while those before it are a step further.
        named = min(most, count - done - trained - settled)
        while True:
            ticket = U(atomic_add(signals, TICKET, 1))
            if ticket < trained:
                if not _block(done + ticket, ticket, work, model, plan, nodes, now, notes):
                    atomic_add(signals, BROKEN, 1)
            elif ticket < trained + U(SHARES):
                _settle(ticket - trained, settled, model, nodes, soon, room.slots, room.firsts)
            elif ticket < U(SHARES) + trained + named:
                place = ticket - U(SHARES) - trained
                _name(done + trained + settled + place, place, work, model, plan, later, notes.slots)
            else:
                break
        wait_for_all(signals, threads)
        if atomic_load(signals, BROKEN) > 0 or atomic_load(signals, ABANDONED) > 0:
            return done
        if thread == 0:
            signals[TICKET] = 0
        while trained:
            share = U(atomic_add(signals, TICKET_TO_MERGE, 1))
            if share >= U(SHARES):
                break
            _merge(share, model, plan, nodes, now)
        done += trained
        trained, settled = settled, named
        now, soon, later = soon, later, now
        wait_for_all(signals, threads)
        if thread == 0:
            signals[TICKET_TO_MERGE] = 0
        if trained + settled == _NONE or atomic_load(signals, ABANDONED) > 0:
            return done
