"""What kernels that train share: a step of one center, blocks that work on copies of rows, and threads that meet.

A step holds one center against some rows, each observed as 0 and as 1 some times. What is observed m times of one row
is one step along the center, the sum of m that would each meet the slope which those before have changed, so that each
row is read and written once; then the center moves.

After an edit here, the caches of the kernels that import this must go (``make clean``).
"""

import sys
from typing import NamedTuple

import numpy as np
from numba import njit, types

from efge.kernels.intrinsics import atomic_add, atomic_load, prefetch
from efge.kernels.rows import ABREAST, CHUNK, choose_steps, meet_rows, move_rows
from efge.kernels.streams import GOLDEN, U, mix, pick

# Lets LLVM reorder sums, which makes them fast; unlike fastmath=True it still honors NaN and infinity.
REORDER = {"reassoc", "contract", "nsz", "arcp"}
# Rows that a step holds a center against, at most, and how often a row is observed in a turn of it, at most.
AT_ONCE, A_TURN = 32, 8

_NONE, _ONE = U(0), U(1)
# Rows that are asked for before they are needed.
AHEAD = 4
FREE = np.int32(-1)
NOTHING = U(0xFFFFFFFFFFFFFFFF)
_yield_core = types.ExternalFunction("SwitchToThread" if sys.platform == "win32" else "sched_yield", types.int32())


class Room(NamedTuple):
    """Room for the copies of a round's blocks, and for what threads tell each other.

    Each block has as many rows: one of zeros for padding, its centers, its contexts, negatives or places of the tree.
    `names` says which they are, `counts` how many centers (and the padding), how many rows in all, which is the first
    context, and which thread did the block. The first half of `copies` is of contexts, the second of centers.
    """

    copies: np.ndarray
    names: np.ndarray
    counts: np.ndarray
    signals: np.ndarray


# Signals: the next block to take, threads that wait, how often all have met, blocks that have left the finite, and
# whether a thread will never come.
TICKET, _WAITING, _MET, BROKEN, ABANDONED = range(5)
SIGNALS = 5


@njit(nogil=True)
def wait_for_all(signals, threads):
    met = atomic_load(signals, _MET)
    if atomic_add(signals, _WAITING, 1) == threads - 1:
        atomic_add(signals, _WAITING, -threads)
        atomic_add(signals, _MET, 1)
        return
    spins = 0
    while atomic_load(signals, _MET) == met and not atomic_load(signals, ABANDONED):
        spins += 1
        if spins > 2000:
            _yield_core()


@njit
def row_of(node, slots, names, base, count):
    """The row of a node in a block, by a hash table; `count` if it had none, in which case that is now its row."""
    mask = U(slots.shape[0] - 1)
    slot = (node * GOLDEN >> U(32)) & mask
    while slots[slot] != FREE:
        row = U(slots[slot])
        if U(names[base + row]) == node:
            return row
        slot = (slot + _ONE) & mask
    slots[slot] = count
    names[base + count] = node
    return count


@njit
def fetch(table, names, copies, shift, begin, end):
    """Copy the rows named from `begin` on, `shift` further; all are asked for before the first one is needed."""
    width = U(table.shape[1])
    for row in range(begin, end):
        for j in range(_NONE, width, U(CHUNK)):
            prefetch(table, np.int64(U(names[row]) * width + j))
    for row in range(begin, end):
        node = U(names[row])
        for j in range(width):
            copies[row + shift, j] = table[node, j]


@njit
def draw_pool(keep, other, state, slots, names, base, count, pool):
    """Rows for a pool of negatives; how many rows the block has then."""
    for i in range(U(pool.shape[0])):
        state += GOLDEN
        row = row_of(pick(keep, other, mix(state)), slots, names, base, count)
        pool[i] = row
        count += U(row == count)
    return state, count


@njit(fastmath=REORDER)
def move(centers, center, table, rows, pad, count, seen, slopes, plan, rate, products, steps, gain):
    """Move a center and the rows of a table that it observes, in eights filled up by one row; whether all is finite.

    What is not finite is left as it is.
    """
    low, scale = np.float32(plan.low), np.float32(plan.scale)
    most = np.float32(0.0)
    for i in range(count):
        most = max(most, seen[_NONE, i] + seen[_ONE, i])
    turns = max(1, np.int64(np.ceil(most / np.float32(A_TURN))))
    if turns > 1:
        for i in range(count):
            seen[_NONE, i] /= np.float32(turns)
            seen[_ONE, i] /= np.float32(turns)
    while count % U(ABREAST):
        rows[count] = pad
        seen[_NONE, count] = 0
        seen[_ONE, count] = 0
        count += _ONE
    for first in range(_NONE, count, U(AT_ONCE)):
        size = min(U(AT_ONCE), count - first)
        for i in range(_NONE, size, U(ABREAST)):
            meet_rows(centers, np.int64(center), table, rows, np.int64(first + i), products, np.int64(i))
        square, own_step = products[size], np.float32(0.0)
        steps[:] = 0.0
        for _ in range(turns):
            for i in range(_NONE, size, U(ABREAST)):
                at, where = np.int64(i), np.int64(first + i)
                own_step += choose_steps(slopes, seen, where, products, at, square, low, scale, rate, steps)
        if not abs(own_step) < np.inf:
            return False
        for j in range(U(gain.shape[0])):
            gain[j] = centers[center, j] + own_step * centers[center, j]
        for i in range(_NONE, size, U(ABREAST)):
            move_rows(centers, np.int64(center), table, rows, np.int64(first + i), steps, np.int64(i), gain)
        for j in range(U(gain.shape[0])):
            centers[center, j] = gain[j]
    return True


@njit
def gather(thread, table, names, copies, counts, which, kind, blocks, firsts, owned, count):
    """Add what all blocks have changed of a row to its first copy, if this thread made that one, and list it.

    All blocks of a round copied the same row, so that the table says from what each of them began. `firsts` is a hash
    table of first copies: 32 bits of the node and its kind, then where the copy is, then whether it is this thread's.
    The answer is how many are listed, after `count` of before.
    """
    rows, width = U(names.shape[0] // counts.shape[0]), U(table.shape[1])
    mask = U(firsts.shape[0] - 1)
    shift = _NONE if which else U(names.shape[0])
    for block in range(blocks):
        own = U(U(counts[block, U(3)]) == thread)
        begin = block * rows + (U(counts[block, U(2)]) if which else _ONE)
        for row in range(begin, block * rows + U(counts[block, which])):
            key = U(names[row]) << _ONE | kind
            slot = (key * GOLDEN >> U(32)) & mask
            while firsts[slot] != NOTHING and firsts[slot] >> U(32) != key:
                slot = (slot + _ONE) & mask
            if firsts[slot] == NOTHING:
                firsts[slot] = key << U(32) | (row + shift) << _ONE | own
                owned[count] = row + shift
                count += own
            elif firsts[slot] & _ONE:
                first, node = (firsts[slot] & U(0xFFFFFFFF)) >> _ONE, key >> _ONE
                for j in range(width):
                    copies[first, j] += copies[row + shift, j] - table[node, j]
    return count


@njit
def put_back(table, names, copies, shares, owned, begin, end, floor):
    """Put copies in the place of rows; where only shares of their changes count, those."""
    every, width = U(names.shape[0]), U(table.shape[1])
    for i in range(begin, end):
        copy, ahead = U(owned[i]), U(owned[i + U(AHEAD)])
        node = U(names[copy - every if copy >= every else copy])
        ahead = U(names[ahead - every if ahead >= every else ahead])
        for j in range(_NONE, width, U(CHUNK)):
            prefetch(table, np.int64(ahead * width + j))
        if shares.shape[0]:
            share = shares[node]
            for j in range(width):
                copies[copy, j] = table[node, j] + share * (copies[copy, j] - table[node, j])
        if floor > -np.inf:
            for j in range(width):
                copies[copy, j] = max(copies[copy, j], np.float32(floor))
        for j in range(width):
            table[node, j] = copies[copy, j]
