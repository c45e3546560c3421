"""Partitions of the nodes, and with them of both tables: which partition, cell and row each node has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError
from efge.graph.graph import Graph
from efge.kernels import sgd_partitioned as kernel

Integers = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64]

# Smallest number of cells per partition, and of cells in all. Both are powers of two.
_MIN_CELLS_PER_PARTITION, _MIN_CELLS = 2, 16
# Nodes that walks visit this many times more often than the average are assigned first.
_FREQUENT = 4
_CODE_BITS = 31


@dataclass(frozen=True)
class Partitioning:
    """Each node's code, ``cell << row_bits | row``, and the nodes in the order of cells and their rows.

    A partition is a number of consecutive cells, the same for all partitions; the cells of a partition are trained in
    parallel. Nodes are assigned to cells by how often walks visit them, so that cells have the same amount of work
    rather than the same number of nodes. Nodes near each other go to different cells, so that each cell resembles the
    whole graph.
    """

    codes: Integers  # int32[nodes], in the order of the graph's nodes
    nodes: Integers  # int32[nodes], in the order of codes
    cell_starts: Counts  # int64[cells + 1], offset of each cell in `nodes`, and the end
    row_bits: int
    cells_per_partition: int

    @classmethod
    def of(cls, graph: Graph, visits: Counts, count: int) -> Partitioning:
        """Make `count` partitions: nodes go to the cell with the least work so far, the most frequent nodes first.

        The other nodes follow in depth-first order, neighbor by neighbor.
        """
        cells_per_partition = _cells_per_partition(count)
        rows = np.empty(len(visits), np.int32)
        order = _assignment_order(graph, visits)
        cell_of, sizes = kernel.assign_balanced(order, visits, count * cells_per_partition, rows)
        row_bits = max(1, int(sizes.max(initial=1) - 1).bit_length())
        if (count * cells_per_partition - 1).bit_length() + row_bits > _CODE_BITS:
            raise GraphError(
                f"{len(visits):,} nodes in {count} partitions need codes of more than {_CODE_BITS} bits; use fewer"
                " partitions"
            )
        codes = (cell_of << row_bits) | rows
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return cls(codes, np.argsort(codes).astype(np.int32), starts, row_bits, cells_per_partition)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def starts(self) -> Counts:
        """Offset of each partition in a table of all partitions one after the other, and the end of the last."""
        return self.cell_starts[:: self.cells_per_partition]

    def size(self, partition: int) -> int:
        """Return the number of nodes of a partition."""
        return int(self.starts[partition + 1] - self.starts[partition])

    def offsets(self, nodes: Counts) -> Counts:
        """Return the rows of nodes in a table of all partitions one after the other."""
        codes = self.codes[nodes]
        offsets: Counts = self.cell_starts[codes >> self.row_bits] + (codes & ((1 << self.row_bits) - 1))
        return offsets

    def members(self, partition: int) -> Integers:
        """Return the nodes of a partition, in the order of its rows."""
        return self.nodes[self.starts[partition] : self.starts[partition + 1]]


def _assignment_order(graph: Graph, visits: Counts) -> Counts:
    depth_first = np.empty(len(visits), np.int64)
    kernel.depth_first_order(graph.indptr, graph.indices, depth_first)
    frequent = visits[depth_first] > _FREQUENT * visits.mean() if len(visits) else np.zeros(0, bool)
    first = depth_first[frequent]
    return np.concatenate([first[np.argsort(-visits[first], kind="stable")], depth_first[~frequent]])


def _cells_per_partition(partitions: int) -> int:
    """Return enough cells for threads to share a bucket; but few if there are many partitions.

    The more cells there are, the smaller are the records of a center.
    """
    cells = _MIN_CELLS_PER_PARTITION
    while cells * partitions < _MIN_CELLS:
        cells *= 2
    return cells


def cell_offsets(partition: int, cell_starts: Counts, cells_per_partition: int) -> Counts:
    """Return the offset of each cell of a partition in its table, and the end of the last."""
    starts = cell_starts[partition * cells_per_partition : (partition + 1) * cells_per_partition + 1]
    offsets: Counts = starts - starts[0]
    return offsets
