"""Training in parts: walks become buckets of records, and a bucket trains one part of centers by one of contexts.

Rows of a part are in cells. Nodes are known by codes: the number of a cell, of which those of a part follow each other,
shifted, and a row of it. A record holds a center, how many pairs of a center and a context its group has in all cells,
and what of the group is in one cell: contexts, and how many negatives to draw there. A bucket is one array: how many
records and contexts there are for each cell of centers and each cell of contexts; then, for each of these pairs of
cells, of each record its center's row, pairs, contexts and negatives, and the rows of all contexts.

A bucket is trained where its tables are, by the same steps that train whole tables, in turns: in one, each cell of
centers meets another one of contexts, so that threads share no row, and any number of them leaves the same bits.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from efge.kernels.intrinsics import atomic_add, atomic_load, high_product, prefetch
from efge.kernels.random import GOLDEN, U, mix, stream, unit
from efge.kernels.sgd_step import ABANDONED, AT_ONCE, BROKEN, FREE, REORDER, SIGNALS, move, wait_for_all
from efge.kernels.simd import ABREAST, CHUNK

_NONE, _ONE = U(0), U(1)
# Of a record: the row of its center, pairs of its group in all cells, its contexts and its negatives.
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
    """How many contexts of a group, and how many negatives against it, there are in each cell.

    Negatives are as many as expected: a fraction of one is one as often.
    """
    begin, end = U(begins[group]), U(begins[group + _ONE])
    counts[:] = 0
    for p in range(begin, end):
        counts[U(contexts[p]) >> U(shift), _NONE] += 1
    state = stream(key, group)
    for cell in range(U(counts.shape[0])):
        state += GOLDEN
        counts[cell, _ONE] = np.int64(np.float64(end - begin) * shares[cell] + unit(mix(state)))


@njit(cache=True, nogil=True)
def size_buckets(order, centers, begins, contexts, shift, shares, key, sizes):
    """How many records and contexts there will be for each cell of centers and each of contexts."""
    counts = np.empty((sizes.shape[1], 2), np.int64)
    for i in range(U(order.shape[0])):
        group = U(order[i])
        own = U(centers[group]) >> U(shift)
        _look_at_group(group, begins, contexts, shift, shares, key, counts)
        for cell in range(U(sizes.shape[1])):
            if counts[cell, _NONE] + counts[cell, _ONE] > 0:
                sizes[own, cell, _NONE] += 1
                sizes[own, cell, _ONE] += counts[cell, _NONE]


@njit(cache=True, nogil=True)
def fill_buckets(order, centers, begins, contexts, shift, shares, key, heads, places, buckets):
    """Write the records of all groups, in an order, to where those of each pair of cells and their contexts stand."""
    counts = np.empty((heads.shape[1], 2), np.int64)
    mask = (_ONE << U(shift)) - _ONE
    for i in range(U(order.shape[0])):
        group = U(order[i])
        own = U(centers[group]) >> U(shift)
        _look_at_group(group, begins, contexts, shift, shares, key, counts)
        for cell in range(U(heads.shape[1])):
            if counts[cell, _NONE] + counts[cell, _ONE] > 0:
                head = U(heads[own, cell])
                buckets[head + _CENTER] = U(centers[group]) & mask
                buckets[head + _PAIRS] = begins[group + _ONE] - begins[group]
                buckets[head + _CONTEXTS] = counts[cell, _NONE]
                buckets[head + _NEGATIVES] = counts[cell, _ONE]
                heads[own, cell] += HEAD
        for p in range(U(begins[group]), U(begins[group + _ONE])):
            cell = U(contexts[p]) >> U(shift)
            buckets[U(places[own, cell])] = U(contexts[p]) & mask
            places[own, cell] += 1


class Tables(NamedTuple):
    """A part of the centers and one of the contexts, and where their cells begin and end; slopes; noise.

    `keep` and `other` are an alias table for each cell of contexts.
    """

    centers: np.ndarray
    contexts: np.ndarray
    center_cells: np.ndarray
    context_cells: np.ndarray
    slopes: np.ndarray
    keep: np.ndarray
    other: np.ndarray


class Plan(NamedTuple):
    """How often a negative is observed, how large their pools are and how many rows are observed with one.

    The learning rate falls by as much in each turn. The rest is as for whole tables.
    """

    weight: float
    pool: int
    served: int
    rate: float
    rate_fall: float
    floor: float
    low: float
    scale: float


class Notes(NamedTuple):
    """What a thread keeps in mind: where a cell's rows are listed, a pool, and what a center observes of which rows."""

    marks: np.ndarray
    pool: np.ndarray
    rows: np.ndarray
    seen: np.ndarray
    products: np.ndarray
    steps: np.ndarray
    gain: np.ndarray


@njit
def _draw_pool(contexts, keep, other, first, size, state, pool):
    """Rows of a cell for a pool of negatives."""
    width = U(contexts.shape[1])
    for i in range(U(pool.shape[0])):
        state += GOLDEN
        bits = mix(state)
        slot = high_product(bits, size)
        slot = slot if (bits & U(0xFFFFFFFF)) < U(keep[first + slot]) else U(other[first + slot])
        pool[i] = slot
        for j in range(_NONE, width, U(CHUNK)):
            prefetch(contexts, np.int64((first + slot) * width + j))
    return state


@njit
def _observe(data, head, contexts, weight, pool, at, base, marks, rows, seen):
    """List the rows that a record's center observes, from `base` on, and how often as 0 and as 1.

    The answer is how many they are, and where in the pool it stopped. Of a group's n pairs, a negative stands against
    those with another context. What is done for a row that is new to the list stands here twice: in a function of its
    own, the arrays' reference counts would cost more than the work.
    """
    count = _NONE
    for k in range(contexts, contexts + U(data[head + _CONTEXTS])):
        row = U(data[k])
        i = U(marks[row])
        if marks[row] == FREE:
            i = count
            marks[row] = i
            rows[i] = base + row
            seen[_NONE, i] = 0
            seen[_ONE, i] = 0
            count += _ONE
        seen[_ONE, i] += np.float32(1.0)
    pairs = np.float32(data[head + _PAIRS])
    for _ in range(U(data[head + _NEGATIVES])):
        row = U(pool[at])
        at = at + _ONE if at + _ONE < U(pool.shape[0]) else _NONE
        i = U(marks[row])
        if marks[row] == FREE:
            i = count
            marks[row] = i
            rows[i] = base + row
            seen[_NONE, i] = 0
            seen[_ONE, i] = 0
            count += _ONE
        seen[_NONE, i] += np.float32(weight) * (np.float32(1.0) - seen[_ONE, i] / pairs)
    for i in range(count):
        marks[U(rows[i]) - base] = FREE
    return count, at


@njit
def _ask_for(table, data, begin, end, base):
    """Have rows brought near that are needed soon."""
    width = U(table.shape[1])
    for k in range(begin, end):
        row = base + U(data[k])
        for j in range(_NONE, width, U(CHUNK)):
            prefetch(table, np.int64(row * width + j))


@njit
def _clip(table, row, floor):
    for j in range(U(table.shape[1])):
        table[row, j] = max(table[row, j], np.float32(floor))


@njit
def _meet(own, other_cell, turn, data, key, tables, plan, notes):
    """Train a cell of centers and one of contexts by the records of both; whether all is finite."""
    centers, contexts, slopes, keep, other = tables.centers, tables.contexts, tables.slopes, tables.keep, tables.other
    marks, pool, rows, seen = notes.marks, notes.pool, notes.rows, notes.seen
    products, steps, gain = notes.products, notes.steps, notes.gain
    cells = U(tables.center_cells.shape[0] - 1)
    number = own * cells + other_cell
    head = U(2) * cells * cells
    for k in range(number):
        head += U(HEAD) * U(data[U(2) * k]) + U(data[U(2) * k + _ONE])
    records = U(data[U(2) * number])
    met = head + U(HEAD) * records
    first_center, first = U(tables.center_cells[own]), U(tables.context_cells[other_cell])
    size = U(tables.context_cells[other_cell + _ONE]) - first
    state, at, served = stream(key, number), _NONE, U(plan.served)
    for record in range(records):
        if served >= U(plan.served):
            state = _draw_pool(contexts, keep, other, first, size, state, pool)
            served = _NONE
        ahead = met + U(data[head + _CONTEXTS])
        if record + _ONE < records:
            following = head + U(HEAD)
            _ask_for(centers, data, following + _CENTER, following + _PAIRS, first_center)
            _ask_for(contexts, data, ahead, ahead + U(data[following + _CONTEXTS]), first)
        served += U(data[head + _CONTEXTS]) + U(data[head + _NEGATIVES])
        listed, at = _observe(data, head, met, plan.weight, pool, at, first, marks, rows, seen)
        through = np.float64(np.int64(turn)) + np.float64(np.int64(record)) / np.float64(np.int64(records))
        rate = np.float32(plan.rate - plan.rate_fall * through)
        center = first_center + U(data[head + _CENTER])
        pad = U(rows[_NONE])
        if not move(centers, center, contexts, rows, pad, listed, seen, slopes, plan, rate, products, steps, gain):
            return False
        if plan.floor > -np.inf:
            _clip(centers, center, plan.floor)
            for i in range(listed):
                _clip(contexts, U(rows[i]), plan.floor)
        head += U(HEAD)
        met = ahead
    return True


@njit
def _take_notes(data, tables, plan):
    cells = U(tables.center_cells.shape[0] - 1)
    longest, largest = _NONE, _NONE
    head = U(2) * cells * cells
    for number in range(cells * cells):
        for _ in range(U(data[U(2) * number])):
            longest = max(longest, U(data[head + _CONTEXTS]) + U(data[head + _NEGATIVES]))
            head += U(HEAD)
        head += U(data[U(2) * number + _ONE])
    for cell in range(cells):
        largest = max(largest, U(tables.context_cells[cell + _ONE]) - U(tables.context_cells[cell]))
    return Notes(
        np.full(largest, FREE, np.int32),
        np.empty(plan.pool, np.int32),
        np.empty(longest + U(ABREAST), np.int64),
        np.empty((2, longest + U(ABREAST)), np.float32),
        np.empty(AT_ONCE + ABREAST, np.float32),
        np.empty(AT_ONCE, np.float32),
        np.empty(tables.centers.shape[1], np.float32),
    )


@njit(cache=True, nogil=True, fastmath=REORDER)
def train(thread, threads, data, key, tables, plan, signals):
    """What one of some threads does of a bucket; all leave it together. Stops where something is not finite.

    Beyond what all kernels that train have, `signals` has the next cell of centers to take in each turn.
    """
    notes = _take_notes(data, tables, plan)
    cells = U(tables.center_cells.shape[0] - 1)
    for turn in range(cells):
        while True:
            own = U(atomic_add(signals, np.int64(SIGNALS) + np.int64(turn), 1))
            if own >= cells:
                break
            if not _meet(own, (own + turn) % cells, turn, data, key, tables, plan, notes):
                atomic_add(signals, BROKEN, 1)
        wait_for_all(signals, threads)
        if atomic_load(signals, BROKEN) > 0 or atomic_load(signals, ABANDONED) > 0:
            break
