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
from efge.kernels.random import GOLDEN, U, mix, pick
from efge.kernels.simd import ABREAST, CHUNK, choose_steps, meet_rows, move_rows

# Lets LLVM reorder sums, which makes them fast; unlike fastmath=True it still honors NaN and infinity.
REORDER = {"reassoc", "contract", "nsz", "arcp"}
# Rows that a step holds a center against, at most, and how often a row is observed in a turn of it, at most.
AT_ONCE, A_TURN = 32, 8

_NONE, _ONE = U(0), U(1)
FREE = np.int32(-1)
_yield_core = types.ExternalFunction("SwitchToThread" if sys.platform == "win32" else "sched_yield", types.int32())


class Round(NamedTuple):
    """What the blocks of a round hold; each block has as many rows.

    Its rows are one of zeros for padding, its centers, its contexts, negatives or places of the tree, as `names` says.
    `places` says where they are in the table of contexts and, by its second half, in that of centers: a row of the
    table, or a copy after the rows of all nodes. `counts` are how many centers a block has (and the padding), how many
    rows, which is the first context, and how many rows are of walks. `where` has the rows of the walks' nodes, `pools`
    those of negatives. With a tree, turns[turn_starts[p]:turn_starts[p + 1]] is the path to the node at position p,
    each 2 * row + turn.

    Nodes belong to shares: dealt[starts[s]:starts[s + 1]] are a block's rows of share s. Of rows that blocks share,
    `shared` has the first copies and `again` the others, each after the first one of its row, for centers and for
    contexts; those of a share of the nodes begin at its `shared_starts`, and `shared_counts` counts both.
    """

    names: np.ndarray
    places: np.ndarray
    counts: np.ndarray
    where: np.ndarray
    pools: np.ndarray
    turn_starts: np.ndarray
    turns: np.ndarray
    dealt: np.ndarray
    starts: np.ndarray
    shared: np.ndarray
    again: np.ndarray
    shared_starts: np.ndarray
    shared_counts: np.ndarray


class Room(NamedTuple):
    """Room for the round that is trained and for two after it, and for what threads tell each other.

    Tables have rows for this many `nodes`, and copies after them. `slots` and `firsts` are for settling rows.
    """

    now: Round
    soon: Round
    later: Round
    slots: np.ndarray
    firsts: np.ndarray
    nodes: int
    signals: np.ndarray


# Shares of nodes: what is done for all rows of a round is done a share at a time, which fits the cache.
SHARES = 4
# Signals: what is to be done next and merged next, threads that wait, how often all have met, blocks that have left the
# finite, and whether a thread will never come.
TICKET, TICKET_TO_MERGE, _WAITING, _MET, BROKEN, ABANDONED = range(6)
SIGNALS = 6


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
def fetch(table, nodes, names, places, shift, begin, end):
    """Ask for the rows named from `begin` on, and make those copies that have places, `shift` further, for them."""
    width = U(table.shape[1])
    for row in range(begin, end):
        for j in range(_NONE, width, U(CHUNK)):
            prefetch(table, np.int64(U(names[row]) * width + j))
    for row in range(begin, end):
        place, node = U(places[row + shift]), U(names[row])
        if place >= nodes:
            for j in range(width):
                table[place, j] = table[node, j]


@njit
def draw_pool(keep, other, state, slots, names, base, count, pools, size):
    """Rows for negatives, from `base` on; how many rows the block has then."""
    for i in range(base, base + size):
        state += GOLDEN
        row = row_of(pick(keep, other, mix(state)), slots, names, base, count)
        pools[i] = row
        count += U(row == count)
    return count


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
        # Rows cannot leave the finite numbers, as no score moves far; what is a sum over rows can.
        nothing = np.float32(0.0)
        for j in range(U(gain.shape[0])):
            nothing += gain[j] * np.float32(0.0)
        if nothing != np.float32(0.0):
            return False
        for j in range(U(gain.shape[0])):
            centers[center, j] = gain[j]
    return True


@njit
def bring_together(table, nodes, names, shared, again, counts, shares, floor):
    """Add what other copies of rows have changed to the first ones, and put these, or their shares, in the rows' place.

    The lists are of `counts` copies, counted from the first one in the table: the first copies of rows, and all others,
    each after the first copy of its row.
    """
    every, width = U(names.shape[0]), U(table.shape[1])
    for i in range(U(counts[_ONE])):
        first, copy = U(again[i, _NONE]), U(again[i, _ONE])
        node = U(names[copy - every if copy >= every else copy])
        for j in range(width):
            table[nodes + first, j] += table[nodes + copy, j] - table[node, j]
    for i in range(U(counts[_NONE])):
        first = U(shared[i])
        node = U(names[first - every if first >= every else first])
        if shares.shape[0]:
            share = shares[node]
            for j in range(width):
                table[node, j] += share * (table[nodes + first, j] - table[node, j])
        else:
            for j in range(width):
                table[node, j] = table[nodes + first, j]
        if floor > -np.inf:
            raise_to(table, node, floor)


@njit
def raise_to(table, row, floor):
    """Let no entry of a row be below the floor."""
    for j in range(U(table.shape[1])):
        table[row, j] = max(table[row, j], np.float32(floor))
