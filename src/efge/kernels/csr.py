"""Edges -> CSR by two stable counting sorts, first by column, then by row: rows come out sorted, duplicates adjacent.

The sorts are stable, so weights of duplicate edges are added in the order of the input, and in the same order for both
directions. Each kernel handles the edges or columns from `low` to `high` - 1, with cursors of its own, so that several
can run in parallel without changing the result.
"""

import numpy as np

from efge.kernels.caching import entry_point, helper
from efge.kernels.common import ONE, U


@entry_point
def count_columns(ends, low, high, both_ways, counts):
    """Add to `counts` how many entries each column gets from the edges low .. high - 1."""
    for edge in range(U(low), U(high)):
        source, target = U(ends[edge, 0]), U(ends[edge, 1])
        counts[target] += 1
        if both_ways and source != target:
            counts[source] += 1


@entry_point
def sort_by_column(ends, weights, low, high, both_ways, cursors, rows, row_weights):
    """Write the row of every entry, and its weight if there are any, at its column's cursor."""
    weighted = weights.shape[0] > 0
    for edge in range(U(low), U(high)):
        source, target = U(ends[edge, 0]), U(ends[edge, 1])
        entry = U(cursors[target])
        cursors[target] += 1
        rows[entry] = source
        if weighted:
            row_weights[entry] = weights[edge]
        if both_ways and source != target:
            entry = U(cursors[source])
            cursors[source] += 1
            rows[entry] = target
            if weighted:
                row_weights[entry] = weights[edge]


@entry_point
def count_rows(rows, low, high, counts):
    """Add to `counts` how many of the entries low .. high - 1 are in each row."""
    for entry in range(U(low), U(high)):
        counts[U(rows[entry])] += 1


@entry_point
def sort_by_row(column_starts, rows, row_weights, low, high, cursors, indices, weights):
    """Write the column of every entry of the columns low .. high - 1, and its weight, at its row's cursor."""
    weighted = weights.shape[0] > 0
    for column in range(U(low), U(high)):
        for entry in range(U(column_starts[column]), U(column_starts[column + ONE])):
            row = U(rows[entry])
            sorted_entry = U(cursors[row])
            cursors[row] += 1
            indices[sorted_entry] = column
            if weighted:
                weights[sorted_entry] = row_weights[entry]


@entry_point
def merge_duplicates(indptr, indices, weights):
    """Merge equal neighbors within each row, add their weights, and close the gaps; return the entries left."""
    weighted = weights.shape[0] > 0
    count = 0
    begin = indptr[0]
    for row in range(indptr.shape[0] - 1):
        end = indptr[row + 1]
        first = count
        for entry in range(begin, end):
            if count > first and indices[count - 1] == indices[entry]:
                if weighted:
                    weights[count - 1] += weights[entry]
            else:
                indices[count] = indices[entry]
                if weighted:
                    weights[count] = weights[entry]
                count += 1
        begin = end
        indptr[row + 1] = count
    return count


@entry_point
def induced_rows(indptr, indices, weights, nodes, new_number, new_indptr, new_indices, new_weights):
    """Copy the rows of `nodes` without neighbors whose new number is -1; return the number of entries.

    New numbers must keep the order of the old ones.
    """
    entry = 0
    for row in range(nodes.shape[0]):
        for old in range(indptr[nodes[row]], indptr[nodes[row] + 1]):
            column = new_number[indices[old]]
            if column >= 0:
                new_indices[entry] = column
                if weights.shape[0] > 0:
                    new_weights[entry] = weights[old]
                entry += 1
        new_indptr[row + 1] = entry
    return entry


@entry_point
def first_invalid_row(indptr, indices, weights):
    """Return the first row that is not a valid row of a graph, or -1.

    A valid row begins where the one before ends, has neighbors from 0 to the last row, strictly ascending, and finite
    positive weights if there are any.
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
        previous = np.int64(-1)
        invalid = False
        for entry in range(U(begin), U(end)):
            column = np.int64(indices[entry])
            invalid |= column <= previous
            previous = column
            if weighted:
                invalid |= not (weights[entry] > 0.0 and weights[entry] < np.inf)
        if invalid or previous >= rows:
            return row
    return -1


@entry_point
def count_self_loops(indptr, indices):
    """Return the number of rows that have themselves as a neighbor."""
    loops = 0
    for row in range(indptr.shape[0] - 1):
        for entry in range(U(indptr[row]), U(indptr[row + 1])):
            loops += np.int64(indices[entry]) == row
    return loops


@entry_point
def clear_columns(indices, flags):
    """Set flags[column] of every entry to False."""
    for entry in range(U(indices.shape[0])):
        flags[U(indices[entry])] = False


@helper
def _root(parents, node):
    """Root of a node's tree in a union-find forest; paths to it are halved on the way."""
    while parents[node] != node:
        parents[node] = parents[U(parents[node])]
        node = U(parents[node])
    return node


@helper
def _join(parents, one, two):
    """Make one tree of those of two nodes; its root is the smallest of its nodes."""
    first, second = _root(parents, one), _root(parents, two)
    parents[max(first, second)] = min(first, second)


@entry_point
def label_components(indptr, indices, parents, labels):
    """Number the components by their first nodes."""
    rows = U(indptr.shape[0] - 1)
    for row in range(rows):
        parents[row] = row
    for row in range(rows):
        for entry in range(U(indptr[row]), U(indptr[row + ONE])):
            _join(parents, row, U(indices[entry]))
    count = 0
    for row in range(rows):
        if parents[row] == row:
            # The first node of a component is its root.
            labels[row] = count
            count += 1
        else:
            labels[row] = labels[_root(parents, row)]


@entry_point
def find_sides(indptr, indices, parents, sides):
    """Find the side of each node, 0 or 1, so that every edge joins the two; return whether there are such sides.

    Each node is there twice, in twice as many `parents`, and each edge joins a first copy and a second one: a path from
    a node's first copy to its second one is a cycle of odd length. A node without edges keeps the side that it has.
    """
    rows = U(indptr.shape[0] - 1)
    for copy in range(U(parents.shape[0])):
        parents[copy] = copy
    for row in range(rows):
        for entry in range(U(indptr[row]), U(indptr[row + ONE])):
            neighbor = U(indices[entry])
            _join(parents, row, neighbor + rows)
            _join(parents, row + rows, neighbor)
            if _root(parents, row) == _root(parents, row + rows):
                return False
    for row in range(rows):
        own, other = _root(parents, row), _root(parents, row + rows)
        if other < rows:
            # The first node of a component is the root of its own side.
            sides[row] = own > other
    return True


@entry_point
def peel_leaves(indptr, indices, degrees, stack):
    """Remove nodes with less than two neighbors until none is left; `degrees` become those of the 2-core.

    `degrees` come in as those of all nodes and are 0 outside of the core. `stack` has room for a number per node.
    """
    size = 0
    for node in range(degrees.shape[0]):
        if degrees[node] < 2:
            stack[size] = node
            size += 1
    while size:
        size -= 1
        node = stack[size]
        degrees[node] = 0
        for entry in range(indptr[node], indptr[node + 1]):
            neighbor = indices[entry]
            if degrees[neighbor] >= 2:
                degrees[neighbor] -= 1
                if degrees[neighbor] < 2:
                    stack[size] = neighbor
                    size += 1
