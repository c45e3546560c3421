"""Edges -> CSR by two stable counting sorts, first by column, then by row: rows come out sorted, duplicates adjacent.

The sorts are stable, so weights of duplicate edges are added in the order of the input, in both directions alike. Each
kernel handles a share of the edges or columns, from `low` to `high`, with cursors of its own, so that shares can run
side by side without changing the outcome. Indices are unsigned: signed ones cost Numba a test for negative ones.
"""

import numpy as np
from numba import njit

U = np.uint64
_NONE, _ONE = np.uint64(0), np.uint64(1)


@njit(cache=True, nogil=True)
def count_columns(ends, low, high, both_ways, counts):
    """Add to `counts` how many entries each column gets from the edges low .. high - 1."""
    for edge in range(U(low), U(high)):
        source, target = U(ends[edge, 0]), U(ends[edge, 1])
        counts[target] += 1
        if both_ways and source != target:
            counts[source] += 1


@njit(cache=True, nogil=True)
def sort_by_column(ends, weights, low, high, both_ways, cursors, rows, row_weights):
    """Put the row of every entry at its column's cursor, and its weight, if there are any."""
    weighted = weights.shape[0] > 0
    for edge in range(U(low), U(high)):
        source, target = U(ends[edge, 0]), U(ends[edge, 1])
        place = U(cursors[target])
        cursors[target] += 1
        rows[place] = source
        if weighted:
            row_weights[place] = weights[edge]
        if both_ways and source != target:
            place = U(cursors[source])
            cursors[source] += 1
            rows[place] = target
            if weighted:
                row_weights[place] = weights[edge]


@njit(cache=True, nogil=True)
def count_rows(rows, low, high, counts):
    """Add to `counts` how many of the entries low .. high - 1 each row has."""
    for place in range(U(low), U(high)):
        counts[U(rows[place])] += 1


@njit(cache=True, nogil=True)
def sort_by_row(column_starts, rows, row_weights, low, high, cursors, indices, weights):
    """Put the column of every entry of the columns low .. high - 1 at its row's cursor, and its weight."""
    weighted = weights.shape[0] > 0
    for column in range(U(low), U(high)):
        for place in range(U(column_starts[column]), U(column_starts[column + _ONE])):
            row = U(rows[place])
            target = U(cursors[row])
            cursors[row] += 1
            indices[target] = column
            if weighted:
                weights[target] = row_weights[place]


@njit(cache=True, nogil=True)
def merge_duplicates(indptr, indices, weights):
    """Merge equal neighbors within each row, adding their weights, and close the gaps; the entries left."""
    weighted = weights.shape[0] > 0
    kept = 0
    begin = indptr[0]
    for row in range(indptr.shape[0] - 1):
        end = indptr[row + 1]
        first = kept
        for place in range(begin, end):
            if kept > first and indices[kept - 1] == indices[place]:
                if weighted:
                    weights[kept - 1] += weights[place]
            else:
                indices[kept] = indices[place]
                if weighted:
                    weights[kept] = weights[place]
                kept += 1
        begin = end
        indptr[row + 1] = kept
    return kept


@njit(cache=True, nogil=True)
def induced_rows(indptr, indices, weights, kept, renumbered, new_indptr, new_indices, new_weights):
    """Copy the rows `kept`, leaving out neighbors whose new number is -1; new numbers keep the order."""
    place = 0
    for row in range(kept.shape[0]):
        for old in range(indptr[kept[row]], indptr[kept[row] + 1]):
            column = renumbered[indices[old]]
            if column >= 0:
                new_indices[place] = column
                if weights.shape[0] > 0:
                    new_weights[place] = weights[old]
                place += 1
        new_indptr[row + 1] = place
    return place


@njit(cache=True, nogil=True)
def first_wrong_row(indptr, indices, weights):
    """The first row that is not one of a graph, or -1.

    A row begins where the one before ends, has neighbors from 0 to the last row, strictly ascending, and weights that
    are finite and positive, if there are any.
    """
    rows, entries = indptr.shape[0] - 1, indices.shape[0]
    weighted = weights.shape[0] > 0
    for row in range(rows):
        begin, end = indptr[row], indptr[row + 1]
        if (
            begin < 0
            or end < begin
            or end > entries
            or (row == 0 and begin != 0)
            or (row == rows - 1 and end != entries)
        ):
            return row
        before = np.int64(-1)
        wrong = False
        for place in range(U(begin), U(end)):
            column = np.int64(indices[place])
            wrong |= column <= before
            before = column
            if weighted:
                wrong |= not (weights[place] > 0.0 and weights[place] < np.inf)
        if wrong or before >= rows:
            return row
    return -1


@njit(cache=True, nogil=True)
def count_self_loops(indptr, indices):
    """How many rows have themselves for a neighbor."""
    loops = 0
    for row in range(indptr.shape[0] - 1):
        for place in range(U(indptr[row]), U(indptr[row + 1])):
            loops += np.int64(indices[place]) == row
    return loops


@njit(cache=True, nogil=True)
def mark_columns(indices, marks):
    """Set marks[column] of every entry to False."""
    for place in range(U(indices.shape[0])):
        marks[U(indices[place])] = False


@njit
def _root(parents, node):
    while parents[node] != node:
        parents[node] = parents[U(parents[node])]
        node = U(parents[node])
    return node


@njit(cache=True, nogil=True)
def label_components(indptr, indices, both_ways, parents, labels):
    """Number the components by their first nodes; where entries stand both ways, one of two is looked at."""
    rows = U(indptr.shape[0] - 1)
    for row in range(rows):
        parents[row] = row
    for row in range(rows):
        for place in range(U(indptr[row]), U(indptr[row + _ONE])):
            column = U(indices[place])
            if both_ways and column >= row:
                break
            here, there = _root(parents, row), _root(parents, column)
            # The first node of a component is its root.
            parents[max(here, there)] = min(here, there)
    count = 0
    for row in range(rows):
        if parents[row] == row:
            labels[row] = count
            count += 1
        else:
            labels[row] = labels[_root(parents, row)]
