"""Rows of a round of blocks: which rows each block uses, where they are, and how copies are merged.

A row that only one block of a round uses is trained in the table itself. Of a row that several blocks use, each block
has a copy, stored after the rows of all nodes; at the end of the round the first copy, plus what the other blocks have
changed in theirs, replaces the row. The order of these sums is that of the blocks.

Nodes are split into shards by a hash. What is done for all rows of a round is done by shards, so that threads can share
it and so that a shard fits the cache. The number of shards changes no bit.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from efge.kernels.caching import helper
from efge.kernels.common import CACHE_LINE, GOLDEN, ONE, ZERO, U, clip_below, mix
from efge.kernels.intrinsics import prefetch
from efge.kernels.random import sample_alias, stream_state

# A pool of negatives serves this number of centers; then the next pool is used.
CENTERS_PER_POOL = 40
# A free slot of a hash table.
FREE = np.int32(-1)

# Columns of `Round.bounds`: the end of the rows of walks' nodes, which are the centers, the end of all rows, and the
# first row of contexts.
WALKS_END, ROWS_END, CONTEXTS_BEGIN = U(0), U(1), U(2)


class Round(NamedTuple):
    """The rows of all blocks of a round. All blocks have space for equally many rows; `rows` is the sum over blocks.

    Row 0 of a block has zeros, for padding. The next rows are the nodes of its walks: centers, which are also contexts
    unless there is a tree; then negatives, or inner nodes of the tree.
    """

    row_node: np.ndarray  # int32[rows], node of each row, or inner node of the tree
    row_location: np.ndarray  # int64[2 * rows], where each row is in the contexts' table; second half: centers' table
    bounds: np.ndarray  # int64[blocks, 3], bounds of the kinds of rows in each block, see WALKS_END and others
    position_row: np.ndarray  # int32[rows], row of the node at each position of the block's walks
    negative_row: np.ndarray  # int32[rows], rows of the block's negatives, pool after pool
    path_start: np.ndarray  # int64[rows], where the path to the node at each position begins, and the end; with a tree
    path_step: np.ndarray  # int32[rows * steps per row], steps of these paths, each 2 * row + branch (0 or 1)
    shard_row: np.ndarray  # int32[rows], rows of each block, sorted by the shards of their nodes
    shard_start: np.ndarray  # int64[blocks, shards + 2], where each shard begins in shard_row, from the block's start
    first_copy: np.ndarray  # int32[2, 2 * rows], first copies of shared rows: of centers, of contexts
    other_copy: np.ndarray  # int32[2, 2 * rows, 2], the first copy and another copy of the same row, in block order
    copy_start: np.ndarray  # int64[shards], where each shard begins in these two lists
    copy_count: np.ndarray  # int64[shards, 2, 2], lengths of both lists for centers and for contexts


class Workspace(NamedTuple):
    """Memory for the round that is trained and the two after it, for resolving rows, and for threads' counters."""

    current: Round  # the round that is trained
    next: Round  # the round whose shared rows are resolved
    upcoming: Round  # the round whose rows are indexed
    slots: np.ndarray  # uint32[4 * rows + shards], hash tables of the shards: 1 + the first row of a node, or 0
    first_row: np.ndarray  # uint32[rows], for each row the first row of its node among all blocks
    firsts: np.ndarray  # uint32[rows, 2], for the first row of a node: 1 + its first copy as center, as context; or 0
    n_nodes: int  # rows of a table before its copies
    counters: np.ndarray  # int64[N_COUNTERS], what threads tell each other


# Index: which rows a block uses.


@helper
def _find_or_add_row(node, slots, row_node, base, count):
    """Return the row of a node in a block, by a hash table; if it had none, its row is now `count`."""
    mask = U(slots.shape[0] - 1)
    slot = (node * GOLDEN >> U(32)) & mask
    while slots[slot] != FREE:
        row = U(slots[slot])
        if U(row_node[base + row]) == node:
            return row
        slot = (slot + ONE) & mask
    slots[slot] = count
    row_node[base + count] = node
    return count


@helper
def _index_nodes(nodes, begin, end, slots, row_node, base, position_row):
    """Find rows for the nodes from `begin` to `end`, after the row for padding; return the number of rows."""
    slots[:] = FREE
    count = ONE
    for p in range(begin, end):
        row = _find_or_add_row(U(nodes[p]), slots, row_node, base, count)
        position_row[base + p - begin] = row
        count += U(row == count)
    return count


@helper
def _index_paths(nodes, begin, end, path_starts, paths, slots, round_, base, count):
    """Find rows for the paths to the nodes from `begin` to `end`; return the number of rows."""
    row_node, path_start, path_step = round_.row_node, round_.path_start, round_.path_step
    slots[:] = FREE
    written = base * U(path_step.shape[0] // row_node.shape[0])
    for p in range(begin, end):
        path_start[base + p - begin] = written
        for k in range(U(path_starts[U(nodes[p])]), U(path_starts[U(nodes[p]) + ONE])):
            row = _find_or_add_row(U(paths[k] >> 1), slots, row_node, base, count)
            count += U(row == count)
            path_step[written] = np.int32(row) * 2 + (paths[k] & 1)
            written += ONE
    path_start[base + end - begin] = written
    return count


@helper
def _draw_negatives(prob, alias, state, slots, row_node, base, count, negative_row, size):
    """Draw `size` negatives and find their rows; return the number of rows."""
    for i in range(base, base + size):
        state += GOLDEN
        row = _find_or_add_row(sample_alias(prob, alias, mix(state)), slots, row_node, base, count)
        negative_row[i] = row
        count += U(row == count)
    return count


@njit(inline="always")
def _shard_of(node, n_shards):
    return (node * GOLDEN >> U(32)) * n_shards >> U(32)


@helper
def _shard_rows(block, base, count, round_):
    """Sort the rows of a block by the shards of their nodes (a counting sort)."""
    row_node, shard_row, shard_start = round_.row_node, round_.shard_row, round_.shard_start
    n_shards = U(round_.copy_start.shape[0])
    shard_start[block, :] = 0
    for row in range(base + ONE, base + count):
        shard_start[block, _shard_of(U(row_node[row]), n_shards) + U(2)] += 1
    for shard in range(U(2), n_shards):
        shard_start[block, shard + ONE] += shard_start[block, shard]
    for row in range(ONE, count):
        shard = _shard_of(U(row_node[base + row]), n_shards) + ONE
        shard_row[base + U(shard_start[block, shard])] = row
        shard_start[block, shard] += 1


@helper
def index_rows(number, block, work, model, config, round_, slots):
    """List the rows of block `number` of the work, as a block of a round, and draw its negatives."""
    nodes, offsets, row_node, position_row = work.nodes, work.offsets, round_.row_node, round_.position_row
    first_walk, last_walk = U(work.blocks[number]), U(work.blocks[number + ONE])
    begin, end = U(offsets[first_walk]), U(offsets[last_walk])
    base = block * U(row_node.shape[0] // round_.bounds.shape[0])
    has_tree = model.path_starts.shape[0] > 0
    walks_end = _index_nodes(nodes, begin, end, slots, row_node, base, position_row)
    if has_tree:
        count = _index_paths(nodes, begin, end, model.path_starts, model.paths, slots, round_, base, walks_end)
    else:
        size = (end - begin + U(CENTERS_PER_POOL - 1)) // U(CENTERS_PER_POOL) * U(config.pool_size)
        state = stream_state(work.key, work.first_block + number)
        count = _draw_negatives(
            model.prob, model.alias, state, slots, row_node, base, walks_end, round_.negative_row, size
        )
    round_.bounds[block, WALKS_END] = walks_end
    round_.bounds[block, ROWS_END] = count
    round_.bounds[block, CONTEXTS_BEGIN] = walks_end if has_tree else ONE
    _shard_rows(block, base, count, round_)


# Resolve: where the rows of a round are.


@helper
def _clear_hash_table(shard, n_blocks, shard_start, slots):
    """Free the hash table of a shard; return where it begins, its mask, and the number of rows of earlier shards.

    Tables of shards never overlap, not even that of a shard without rows, which has one slot.
    """
    begin = count = ZERO
    for block in range(n_blocks):
        begin += U(shard_start[block, shard])
        count += U(shard_start[block, shard + ONE] - shard_start[block, shard])
    size = ONE
    while size < U(2) * count:
        size *= U(2)
    table = U(4) * begin + shard
    slots[table : table + size] = 0
    return table, size - ONE, begin


@helper
def _find_first_rows(shard, n_blocks, table, mask, round_, slots, first_row, firsts):
    """Fill `first_row` with the first row, among all blocks, of the node of each row of a shard, by its hash table."""
    row_node, shard_row, shard_start = round_.row_node, round_.shard_row, round_.shard_start
    rows_per_block = U(row_node.shape[0] // round_.bounds.shape[0])
    for block in range(n_blocks):
        base = block * rows_per_block
        for i in range(base + U(shard_start[block, shard]), base + U(shard_start[block, shard + ONE])):
            row = base + U(shard_row[i])
            node = U(row_node[row])
            slot = (node * GOLDEN >> U(16)) & mask
            while slots[table + slot] and U(row_node[U(slots[table + slot]) - ONE]) != node:
                slot = (slot + ONE) & mask
            if not slots[table + slot]:
                slots[table + slot] = row + ONE
                firsts[row, ZERO] = 0
                firsts[row, ONE] = 0
            first_row[row] = slots[table + slot] - ONE


# One function, although it is nested: a function for each row, inlined or not, made training at dimension 16 take 20 to
# 30 % longer.
@helper
def _locate_rows(shard, n_blocks, model, n_nodes, round_, first_row, firsts):
    """Locate each row of a shard: in the table, or in a copy if other blocks have its node too."""
    row_node, row_location, shard_row, shard_start = (
        round_.row_node,
        round_.row_location,
        round_.shard_row,
        round_.shard_start,
    )
    first_copy, other_copy, counts = round_.first_copy, round_.other_copy, round_.copy_count[shard]
    merge_scale, bounds, lists = model.merge_scale, round_.bounds, U(round_.copy_start[shard])
    all_rows = U(row_node.shape[0])
    counts[:] = 0
    for block in range(n_blocks):
        base = block * (all_rows // U(bounds.shape[0]))
        walks_end, contexts_begin = U(bounds[block, WALKS_END]), U(bounds[block, CONTEXTS_BEGIN])
        for i in range(base + U(shard_start[block, shard]), base + U(shard_start[block, shard + ONE])):
            row = U(shard_row[i])
            node, entry = U(row_node[base + row]), U(first_row[base + row])
            # As a center, if it is one (0), and as a context, if it is one (1).
            for kind in range(U(row >= walks_end), ONE + U(row >= contexts_begin)):
                copy = base + row + (ZERO if kind else all_rows)
                is_first = firsts[entry, kind] == 0
                if is_first:
                    firsts[entry, kind] = copy + ONE
                    row_location[copy] = node
                    if not (kind and merge_scale.shape[0] and merge_scale[node] < np.float32(1.0)):
                        continue
                first = U(firsts[entry, kind]) - ONE
                if U(row_location[first]) == node:
                    row_location[first] = n_nodes + first
                    first_copy[kind, lists + U(counts[kind, ZERO])] = first
                    counts[kind, ZERO] += 1
                if not is_first:
                    row_location[copy] = n_nodes + copy
                    other_copy[kind, lists + U(counts[kind, ONE]), ZERO] = first
                    other_copy[kind, lists + U(counts[kind, ONE]), ONE] = copy
                    counts[kind, ONE] += 1


@helper
def resolve_shared_rows(shard, n_blocks, model, n_nodes, round_, slots, first_row, firsts):
    """Locate a round's rows of one shard: in the tables or, if several blocks use them, in copies.

    Rows of the tree that are merged with a scale below 1 are always copied, because their change has to be known.
    """
    table, mask, begin = _clear_hash_table(shard, n_blocks, round_.shard_start, slots)
    round_.copy_start[shard] = U(2) * begin
    _find_first_rows(shard, n_blocks, table, mask, round_, slots, first_row, firsts)
    _locate_rows(shard, n_blocks, model, n_nodes, round_, first_row, firsts)


# Train: rows are fetched before the steps of a block.


@helper
def fetch_rows(table, n_nodes, row_node, row_location, shift, begin, end):
    """Prefetch the rows from `begin` to `end`, and fill the copies among them; their locations are `shift` further."""
    width = U(table.shape[1])
    for row in range(begin, end):
        for j in range(ZERO, width, U(CACHE_LINE)):
            prefetch(table, np.int64(U(row_node[row]) * width + j))
    for row in range(begin, end):
        location, node = U(row_location[row + shift]), U(row_node[row])
        if location >= n_nodes:
            for j in range(width):
                table[location, j] = table[node, j]


# Merge: copies go back to the tables.


@helper
def _merge_table(table, n_nodes, row_node, first_copy, other_copy, counts, merge_scale, floor):
    """Add what other copies of a row have changed to its first copy, and write that back to the row.

    Copies are counted from the first one in the table. With a `merge_scale`, that fraction of the change is written.
    """
    all_rows, width = U(row_node.shape[0]), U(table.shape[1])
    for i in range(U(counts[ONE])):
        first, copy = U(other_copy[i, ZERO]), U(other_copy[i, ONE])
        node = U(row_node[copy - all_rows if copy >= all_rows else copy])
        for j in range(width):
            table[n_nodes + first, j] += table[n_nodes + copy, j] - table[node, j]
    for i in range(U(counts[ZERO])):
        first = U(first_copy[i])
        node = U(row_node[first - all_rows if first >= all_rows else first])
        if merge_scale.shape[0]:
            scale = merge_scale[node]
            for j in range(width):
                table[node, j] += scale * (table[n_nodes + first, j] - table[node, j])
        else:
            for j in range(width):
                table[node, j] = table[n_nodes + first, j]
        if floor > -np.inf:
            clip_below(table, node, floor)


@helper
def merge_copies(shard, model, config, n_nodes, round_):
    """Merge the copies of one shard's rows into both tables."""
    row_node, begin, counts = round_.row_node, U(round_.copy_start[shard]), round_.copy_count[shard]
    first_copy, other_copy = round_.first_copy[:, begin:], round_.other_copy[:, begin:]
    no_scale, floor = model.merge_scale[:0], config.floor
    _merge_table(model.centers, n_nodes, row_node, first_copy[0], other_copy[0], counts[0], no_scale, floor)
    _merge_table(model.contexts, n_nodes, row_node, first_copy[1], other_copy[1], counts[1], model.merge_scale, floor)
