"""Training in parts: walks become buckets of records, and a bucket trains one part of centers by one of contexts.

Nodes are known by codes: the number of a part, shifted, and a row of it. A record holds a center, how many pairs of a
center and a context its group has in all parts, and what of the group is in one part: contexts, and how many negatives
to draw there. A bucket is one array: the number of records; for each its center's row, pairs, contexts and negatives;
then the rows of all contexts.

A bucket is trained in blocks of consecutive records and rounds of blocks, by the same steps, copies and merges that
train whole tables; so any number of threads leaves the same bits.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from efge.kernels.intrinsics import atomic_add, atomic_load
from efge.kernels.rows import ABREAST
from efge.kernels.steps import (
    ABANDONED,
    AT_ONCE,
    BROKEN,
    FREE,
    REORDER,
    TICKET,
    draw_pool,
    fetch,
    leave,
    merge,
    move,
    row_of,
    wait_for_all,
)
from efge.kernels.streams import GOLDEN, U, mix, stream, unit

_NONE, _ONE = U(0), U(1)
# Of a record: the row of its center, pairs of its group in all parts, its contexts and its negatives.
_CENTER, _PAIRS, _CONTEXTS, _NEGATIVES = U(0), U(1), U(2), U(3)
HEAD = 4


@njit(cache=True, nogil=True)
def share_out(order, work, parts, rows):
    """Give each node, in an order, to the part with the least work so far, the first of equals; its row there."""
    load = np.zeros(parts, np.float64)
    sizes = np.zeros(parts, np.int64)
    part_of = np.empty(order.shape[0], np.int32)
    for i in range(order.shape[0]):
        node = order[i]
        least = 0
        for part in range(1, parts):
            if load[part] < load[least]:
                least = part
        load[least] += work[node]
        part_of[node] = least
        rows[node] = sizes[least]
        sizes[least] += 1
    return part_of, sizes


@njit(cache=True, nogil=True)
def depth_first(indptr, indices, order):
    """All nodes, neighbors near to each other: the first one, the first of its neighbors that is new, and so on."""
    seen = np.zeros(order.shape[0], np.bool_)
    path = np.empty(order.shape[0], np.int64)
    entries = np.empty(order.shape[0], np.int64)
    count = 0
    for start in range(order.shape[0]):
        if seen[start]:
            continue
        length = 1
        path[0], entries[0] = start, indptr[start]
        seen[start] = True
        order[count] = start
        count += 1
        while length > 0:
            entry = entries[length - 1]
            if entry == indptr[path[length - 1] + 1]:
                length -= 1
                continue
            entries[length - 1] = entry + 1
            node = indices[entry]
            if not seen[node]:
                seen[node] = True
                order[count] = node
                count += 1
                path[length], entries[length] = node, indptr[node]
                length += 1


@njit(cache=True, nogil=True)
def spread_rows(key, nodes, table, dim, low, high):
    """As `plain.spread`, for some nodes: a node's row is the same in whichever table it is."""
    for row in range(U(table.shape[0])):
        state = stream(key, U(nodes[row]))
        for j in range(U(dim)):
            state += GOLDEN
            table[row, j] = low + (high - low) * unit(mix(state))


@njit(cache=True, nogil=True)
def count_pairs(codes, offsets, window, part, shift, pairs):
    """Add to the pairs of each center of a part those that some walks have."""
    mask = (_ONE << U(shift)) - _ONE
    for walk in range(U(offsets.shape[0] - 1)):
        begin, end = U(offsets[walk]), U(offsets[walk + _ONE])
        for p in range(begin, end):
            code = U(codes[p])
            if code >> U(shift) == U(part):
                pairs[code & mask] += min(p - begin, U(window)) + min(end - _ONE - p, U(window))


@njit(cache=True, nogil=True)
def collect_pairs(codes, offsets, window, part, shift, ends, contexts):
    """Put the contexts of each center of a part to where those before end."""
    mask = (_ONE << U(shift)) - _ONE
    for walk in range(U(offsets.shape[0] - 1)):
        begin, end = U(offsets[walk]), U(offsets[walk + _ONE])
        for p in range(begin, end):
            code = U(codes[p])
            if code >> U(shift) != U(part):
                continue
            place = U(ends[code & mask])
            first = p - U(window) if p > begin + U(window) else begin
            for c in range(first, min(end, p + U(window) + _ONE)):
                if c != p:
                    contexts[place] = codes[c]
                    place += _ONE
            ends[code & mask] = place


@njit
def _look_at_group(group, begins, contexts, shift, shares, key, counts):
    """How many contexts of a group, and how many negatives against it, there are in each part.

    Negatives are as many as expected: a fraction of one is one as often.
    """
    begin, end = U(begins[group]), U(begins[group + _ONE])
    counts[:] = 0
    for p in range(begin, end):
        counts[U(contexts[p]) >> U(shift), _NONE] += 1
    state = stream(key, group)
    for part in range(U(counts.shape[0])):
        state += GOLDEN
        counts[part, _ONE] = np.int64(np.float64(end - begin) * shares[part] + unit(mix(state)))


@njit(cache=True, nogil=True)
def size_buckets(order, begins, contexts, shift, shares, key, sizes):
    """How many records and contexts the bucket of each part of contexts will have."""
    counts = np.empty((sizes.shape[0], 2), np.int64)
    for i in range(U(order.shape[0])):
        _look_at_group(U(order[i]), begins, contexts, shift, shares, key, counts)
        for part in range(U(sizes.shape[0])):
            if counts[part, _NONE] + counts[part, _ONE] > 0:
                sizes[part, _NONE] += 1
                sizes[part, _ONE] += counts[part, _NONE]


@njit(cache=True, nogil=True)
def fill_buckets(order, rows, begins, contexts, shift, shares, key, heads, places, buckets):
    """Write the records of all groups, in an order, to where heads and contexts of each bucket are to stand."""
    counts = np.empty((heads.shape[0], 2), np.int64)
    mask = (_ONE << U(shift)) - _ONE
    for i in range(U(order.shape[0])):
        group = U(order[i])
        _look_at_group(group, begins, contexts, shift, shares, key, counts)
        for part in range(U(heads.shape[0])):
            if counts[part, _NONE] + counts[part, _ONE] > 0:
                head = U(heads[part])
                buckets[head + _CENTER] = rows[group]
                buckets[head + _PAIRS] = begins[group + _ONE] - begins[group]
                buckets[head + _CONTEXTS] = counts[part, _NONE]
                buckets[head + _NEGATIVES] = counts[part, _ONE]
                heads[part] += HEAD
        for p in range(U(begins[group]), U(begins[group + _ONE])):
            part = U(contexts[p]) >> U(shift)
            buckets[U(places[part])] = U(contexts[p]) & mask
            places[part] += 1


class Tables(NamedTuple):
    """A part of the centers and one of the contexts, slopes, and the alias table of the noise in the latter part."""

    centers: np.ndarray
    contexts: np.ndarray
    slopes: np.ndarray
    keep: np.ndarray
    other: np.ndarray


class Plan(NamedTuple):
    """How often a negative is observed, how large their pools are, how the learning rate falls with each record.

    The rest is as for whole tables.
    """

    weight: float
    pool: int
    rate: float
    rate_fall: float
    floor: float
    low: float
    scale: float


class Work(NamedTuple):
    """Records, a head each; contexts of record r are from firsts[r] on; block b is records from blocks[b] on."""

    heads: np.ndarray
    firsts: np.ndarray
    contexts: np.ndarray
    blocks: np.ndarray
    key: np.uint64


class Notes(NamedTuple):
    """What a thread keeps in mind of a block: rows by name, of centers and contexts, and of what a center observes."""

    slots: np.ndarray
    centers: np.ndarray
    contexts: np.ndarray
    marks: np.ndarray
    pool: np.ndarray
    rows: np.ndarray
    seen: np.ndarray
    products: np.ndarray
    steps: np.ndarray
    gain: np.ndarray


@njit
def _observe(heads, record, contexts, first, weight, pool, at, marks, rows, seen):
    """List the rows that a record's center observes, and how often as 0 and as 1; how many, and where in the pool.

    Of a group's n pairs, a negative stands against those with another context. What is done for a row that is new to
    the list stands here twice: in a function of its own, the arrays' reference counts would cost more than the work.
    """
    count = _NONE
    for k in range(first, first + U(heads[record, _CONTEXTS])):
        row = U(contexts[k])
        i = U(marks[row])
        if marks[row] == FREE:
            i = count
            marks[row] = i
            rows[i] = row
            seen[_NONE, i] = 0
            seen[_ONE, i] = 0
            count += _ONE
        seen[_ONE, i] += np.float32(1.0)
    pairs = np.float32(heads[record, _PAIRS])
    for _ in range(U(heads[record, _NEGATIVES])):
        row = U(pool[at])
        at = at + _ONE if at + _ONE < U(pool.shape[0]) else _NONE
        i = U(marks[row])
        if marks[row] == FREE:
            i = count
            marks[row] = i
            rows[i] = row
            seen[_NONE, i] = 0
            seen[_ONE, i] = 0
            count += _ONE
        seen[_NONE, i] += np.float32(weight) * (np.float32(1.0) - seen[_ONE, i] / pairs)
    return count, at


@njit
def _find_rows(work, first, last, slots, names, base, centers, contexts):
    """Rows for the centers, then for the contexts of the records from `first` to `last`; how many of both, after each.

    The first row is padding.
    """
    slots[:] = FREE
    count = _ONE
    for record in range(first, last):
        row = row_of(U(work.heads[record, _CENTER]), slots, names, base, count)
        centers[record - first] = row
        count += U(row == count)
    own = count
    slots[:] = FREE
    begin = U(work.firsts[first])
    for k in range(begin, U(work.firsts[last])):
        row = row_of(U(work.contexts[k]), slots, names, base, count)
        contexts[k - begin] = row
        count += U(row == count)
    return own, count


@njit
def _block(number, place, work, tables, plan, room, notes):
    """Do the steps of one block and leave the differences; whether all is finite."""
    heads, firsts, names, copies, slopes = work.heads, work.firsts, room.names, room.copies, tables.slopes
    slots, centers, contexts, marks, pool = notes.slots, notes.centers, notes.contexts, notes.marks, notes.pool
    rows, seen, products, steps, gain = notes.rows, notes.seen, notes.products, notes.steps, notes.gain
    first, last = U(work.blocks[number]), U(work.blocks[number + _ONE])
    base = place * U(names.shape[0] // room.counts.shape[0])
    own, count = _find_rows(work, first, last, slots, names, base, centers, contexts)
    state = stream(work.key, number)
    state, count = draw_pool(tables.keep, tables.other, state, slots, names, base, count, pool)
    fetch(tables.centers, names, copies, _NONE, base + _ONE, base + own)
    fetch(tables.contexts, names, copies, _NONE, base + own, base + count)
    begin, at, finite = U(firsts[first]), _NONE, True
    for record in range(first, last):
        rate = np.float32(plan.rate - plan.rate_fall * np.float64(np.int64(record)))
        own_first = U(firsts[record]) - begin
        listed, at = _observe(heads, record, contexts, own_first, plan.weight, pool, at, marks, rows, seen)
        center = base + U(centers[record - first])
        finite &= move(copies, center, base, listed, slopes, plan, rate, marks, rows, seen, products, steps, gain)
    room.counts[place, _NONE] = own
    room.counts[place, _ONE] = count
    room.counts[place, U(2)] = own
    leave(tables.contexts, names, copies, _NONE, base + own, base + count)
    leave(tables.centers, names, copies, _NONE, base + _ONE, base + own)
    return finite


@njit
def _take_notes(room, plan):
    rows = room.names.shape[0] // room.counts.shape[0]
    slots = 1
    while slots < 2 * rows:
        slots *= 2
    return Notes(
        np.empty(slots, np.int32),
        np.empty(rows, np.int32),
        np.empty(rows, np.int32),
        np.full(rows, FREE, np.int32),
        np.empty(plan.pool, np.int32),
        np.empty(rows + ABREAST, np.int64),
        np.empty((2, rows + ABREAST), np.float32),
        np.empty(AT_ONCE + ABREAST, np.float32),
        np.empty(AT_ONCE, np.float32),
        np.empty(room.copies.shape[1], np.float32),
    )


@njit(cache=True, nogil=True, fastmath=REORDER)
def train(thread, threads, work, tables, plan, room):
    """What one of some threads does of a bucket. Stops before merging what is not finite."""
    signals, counts, names, copies = room.signals, room.counts, room.names, room.copies
    notes = _take_notes(room, plan)
    all_of_it = np.ones(0, np.float32)
    count = U(work.blocks.shape[0] - 1)
    done = _NONE
    while done < count:
        blocks = min(U(counts.shape[0]), count - done)
        while True:
            place = U(atomic_add(signals, TICKET, 1))
            if place >= blocks:
                break
            if not _block(done + place, place, work, tables, plan, room, notes):
                atomic_add(signals, BROKEN, 1)
        wait_for_all(signals, threads)
        if atomic_load(signals, BROKEN) > 0 or atomic_load(signals, ABANDONED) > 0:
            break
        if thread == 0:
            signals[TICKET] = 0
        merge(U(thread), U(threads), tables.centers, names, copies, counts, 0, all_of_it, blocks, plan.floor)
        merge(U(thread), U(threads), tables.contexts, names, copies, counts, 1, all_of_it, blocks, plan.floor)
        wait_for_all(signals, threads)
        done += blocks
    return done
