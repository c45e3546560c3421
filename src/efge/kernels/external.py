"""Edges in a file -> rows in a file: entries are split into chunks of rows, and each chunk is sorted in memory.

An entry is a row and a column. A directed edge or a self loop is one entry, any other undirected edge is two. Every
step keeps the order of equal entries, so that weights of duplicate edges can be added in the order of the input.
"""

import numpy as np

from efge.kernels.caching import entry_point, helper
from efge.kernels.common import ONE, ZERO, U

# Runs up to this length are sorted by insertion.
_INSERTION_RUN = 16


@entry_point
def count_entries(ends, both_ways, counts):
    """Add to `counts` how many entries each row gets from the edges."""
    for edge in range(U(ends.shape[0])):
        source, target = U(ends[edge, 0]), U(ends[edge, 1])
        counts[source] += 1
        if both_ways and source != target:
            counts[target] += 1


@helper
def _chunk_of(row, bounds):
    """Return the chunk c of a row: bounds[c] <= row < bounds[c + 1]."""
    low, size = ZERO, U(bounds.shape[0] - 1)
    while size > ONE:
        half = size >> ONE
        low += half if bounds[low + half] <= row else ZERO
        size -= half
    return low


@entry_point
def split_entries(ends, weights, both_ways, bounds, sizes, entries, entry_weights):
    """Fill `entries` with those of chunk 0, then of chunk 1 and so on, and `sizes` with the number of each chunk."""
    edges, weighted = U(ends.shape[0]), weights.shape[0] > 0
    chunks = np.empty((edges, 2), np.int32)
    sizes[:] = 0
    for edge in range(edges):
        source, target = ends[edge, 0], ends[edge, 1]
        chunk = _chunk_of(source, bounds)
        chunks[edge, 0] = chunk
        sizes[chunk] += 1
        if both_ways and source != target:
            chunk = _chunk_of(target, bounds)
            chunks[edge, 1] = chunk
            sizes[chunk] += 1
    cursors = np.cumsum(sizes) - sizes
    for edge in range(edges):
        source, target = ends[edge, 0], ends[edge, 1]
        entry = U(cursors[U(chunks[edge, 0])])
        cursors[U(chunks[edge, 0])] += 1
        entries[entry, 0], entries[entry, 1] = source, target
        if weighted:
            entry_weights[entry] = weights[edge]
        if both_ways and source != target:
            entry = U(cursors[U(chunks[edge, 1])])
            cursors[U(chunks[edge, 1])] += 1
            entries[entry, 0], entries[entry, 1] = target, source
            if weighted:
                entry_weights[entry] = weights[edge]


@entry_point
def sort_entries(entries, weights, first_row, indptr, columns, column_weights):
    """Fill `columns` row by row, each row sorted; row first_row + i is columns[indptr[i]:indptr[i + 1]]."""
    weighted = weights.shape[0] > 0
    rows = U(indptr.shape[0] - 1)
    cursors = indptr[:-1].copy()
    for i in range(U(entries.shape[0])):
        row = U(entries[i, 0] - first_row)
        entry = U(cursors[row])
        cursors[row] += 1
        columns[entry] = entries[i, 1]
        if weighted:
            column_weights[entry] = weights[i]
    longest = 0
    for row in range(rows):
        longest = max(longest, indptr[row + ONE] - indptr[row])
    spare = np.empty(longest, columns.dtype)
    spare_weights = np.empty(longest if weighted else 0, np.float64)
    for row in range(rows):
        low, high = indptr[row], indptr[row + ONE]
        row_weights = column_weights[low:high] if weighted else column_weights
        _sort_row(columns[low:high], row_weights, spare[: high - low], spare_weights)


@helper
def _sort_row(columns, weights, spare, spare_weights):
    """Sort by column, stably: sort short runs by insertion, then merge them into longer ones."""
    size = U(columns.shape[0])
    for low in range(ZERO, size, U(_INSERTION_RUN)):
        _insertion_sort(columns, weights, low, min(low + U(_INSERTION_RUN), size))
    width, in_spare = U(_INSERTION_RUN), False
    while width < size:
        for low in range(ZERO, size, width + width):
            middle, high = min(low + width, size), min(low + width + width, size)
            if in_spare:
                _merge(spare, spare_weights, low, middle, high, columns, weights)
            else:
                _merge(columns, weights, low, middle, high, spare, spare_weights)
        in_spare = not in_spare
        width += width
    if in_spare:
        for i in range(size):
            columns[i] = spare[i]
            if weights.shape[0] > 0:
                weights[i] = spare_weights[i]


@helper
def _insertion_sort(columns, weights, low, high):
    """Sort the entries low .. high - 1."""
    weighted = weights.shape[0] > 0
    for i in range(low + ONE, high):
        column, weight = columns[i], weights[i] if weighted else 0.0
        entry = i
        while entry > low and columns[entry - ONE] > column:
            columns[entry] = columns[entry - ONE]
            if weighted:
                weights[entry] = weights[entry - ONE]
            entry -= ONE
        columns[entry] = column
        if weighted:
            weights[entry] = weight


@helper
def _merge(columns, weights, low, middle, high, merged, merged_weights):
    """Merge the sorted runs low .. middle - 1 and middle .. high - 1."""
    weighted = weights.shape[0] > 0
    left, right = low, middle
    for entry in range(low, high):
        from_left = right == high or (left < middle and columns[left] <= columns[right])
        taken = left if from_left else right
        merged[entry] = columns[taken]
        if weighted:
            merged_weights[entry] = weights[taken]
        left += U(from_left)
        right += U(not from_left)
