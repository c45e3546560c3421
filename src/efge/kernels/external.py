"""Edges in a file -> rows in a file: entries are spread over parts by their rows, and each part is sorted in memory.

An entry is a row and a column: an edge is one, and an undirected one that is no loop is two. Every step keeps the order
of equal entries, so that weights of duplicate edges can be added in the order of the input. Indices are unsigned:
signed ones cost Numba a test for negative ones.
"""

import numpy as np
from numba import njit

U = np.uint64
_NONE, _ONE = np.uint64(0), np.uint64(1)
# Runs up to this length are sorted by insertion.
_RUN = 16


@njit(cache=True, nogil=True)
def count_entries(ends, both_ways, counts):
    """Add to `counts` how many entries each row gets from the edges."""
    for edge in range(U(ends.shape[0])):
        source, target = U(ends[edge, 0]), U(ends[edge, 1])
        counts[source] += 1
        if both_ways and source != target:
            counts[target] += 1


@njit
def _part_of(row, cuts):
    """The part p of the row: cuts[p] <= row < cuts[p + 1]."""
    low, size = _NONE, U(cuts.shape[0] - 1)
    while size > _ONE:
        half = size >> _ONE
        low += half if cuts[low + half] <= row else _NONE
        size -= half
    return low


@njit(cache=True, nogil=True)
def spread_entries(ends, weights, both_ways, cuts, sizes, entries, entry_weights):
    """Fill `entries` with those of part 0, then of part 1 and so on, and `sizes` with how many each part has."""
    edges, weighted = U(ends.shape[0]), weights.shape[0] > 0
    parts = np.empty((edges, 2), np.int32)
    sizes[:] = 0
    for edge in range(edges):
        source, target = ends[edge, 0], ends[edge, 1]
        part = _part_of(source, cuts)
        parts[edge, 0] = part
        sizes[part] += 1
        if both_ways and source != target:
            part = _part_of(target, cuts)
            parts[edge, 1] = part
            sizes[part] += 1
    cursors = np.cumsum(sizes) - sizes
    for edge in range(edges):
        source, target = ends[edge, 0], ends[edge, 1]
        place = U(cursors[U(parts[edge, 0])])
        cursors[U(parts[edge, 0])] += 1
        entries[place, 0], entries[place, 1] = source, target
        if weighted:
            entry_weights[place] = weights[edge]
        if both_ways and source != target:
            place = U(cursors[U(parts[edge, 1])])
            cursors[U(parts[edge, 1])] += 1
            entries[place, 0], entries[place, 1] = target, source
            if weighted:
                entry_weights[place] = weights[edge]


@njit(cache=True, nogil=True)
def sort_entries(entries, weights, first_row, indptr, columns, column_weights):
    """Fill `columns` row by row, each row sorted; row first_row + i is columns[indptr[i]:indptr[i + 1]]."""
    weighted = weights.shape[0] > 0
    rows = U(indptr.shape[0] - 1)
    cursors = indptr[:-1].copy()
    for i in range(U(entries.shape[0])):
        row = U(entries[i, 0] - first_row)
        place = U(cursors[row])
        cursors[row] += 1
        columns[place] = entries[i, 1]
        if weighted:
            column_weights[place] = weights[i]
    longest = 0
    for row in range(rows):
        longest = max(longest, indptr[row + _ONE] - indptr[row])
    spare = np.empty(longest, columns.dtype)
    spare_weights = np.empty(longest if weighted else 0, np.float64)
    for row in range(rows):
        low, high = indptr[row], indptr[row + _ONE]
        some_weights = column_weights[low:high] if weighted else column_weights
        _sort_row(columns[low:high], some_weights, spare[: high - low], spare_weights)


@njit
def _sort_row(columns, weights, spare, spare_weights):
    """Sort by column and keep the order of equals: short runs by insertion, then merged to longer ones."""
    size = U(columns.shape[0])
    for low in range(_NONE, size, U(_RUN)):
        _insert(columns, weights, low, min(low + U(_RUN), size))
    width, is_spare = U(_RUN), False
    while width < size:
        for low in range(_NONE, size, width + width):
            middle, high = min(low + width, size), min(low + width + width, size)
            if is_spare:
                _merge(spare, spare_weights, low, middle, high, columns, weights)
            else:
                _merge(columns, weights, low, middle, high, spare, spare_weights)
        is_spare = not is_spare
        width += width
    if is_spare:
        for i in range(size):
            columns[i] = spare[i]
            if weights.shape[0] > 0:
                weights[i] = spare_weights[i]


@njit
def _insert(columns, weights, low, high):
    weighted = weights.shape[0] > 0
    for i in range(low + _ONE, high):
        column, weight = columns[i], weights[i] if weighted else 0.0
        place = i
        while place > low and columns[place - _ONE] > column:
            columns[place] = columns[place - _ONE]
            if weighted:
                weights[place] = weights[place - _ONE]
            place -= _ONE
        columns[place] = column
        if weighted:
            weights[place] = weight


@njit
def _merge(columns, weights, low, middle, high, merged, merged_weights):
    weighted = weights.shape[0] > 0
    left, right = low, middle
    for place in range(low, high):
        from_left = right == high or (left < middle and columns[left] <= columns[right])
        taken = left if from_left else right
        merged[place] = columns[taken]
        if weighted:
            merged_weights[place] = weights[taken]
        left += U(from_left)
        right += U(not from_left)
