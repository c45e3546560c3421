"""Partitions: every node has a row, partitions have the same amount of work, and neighbors are far apart."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import efge
from efge.training.partitioned.partitioning import Partitioning


def test_every_node_has_a_row_in_its_partition():
    visits = np.random.default_rng(0).zipf(1.8, 5000).clip(max=3000).astype(np.int64)
    partitioning = Partitioning.of(efge.as_graph(nx.path_graph(5000)), visits, 7)
    cells = partitioning.cells_per_partition
    assert sorted(partitioning.nodes.tolist()) == list(range(5000))
    assert len(partitioning) == 7
    assert len(partitioning.cell_starts) == 7 * cells + 1
    for partition in range(7):
        members = partitioning.members(partition)
        assert len(members) == partitioning.size(partition)
        assert (partitioning.offsets(members) == partitioning.starts[partition] + np.arange(len(members))).all()
        cells_of_members = {int(code) >> partitioning.row_bits for code in partitioning.codes[members]}
        assert cells_of_members == set(range(partition * cells, (partition + 1) * cells))


def test_partitions_have_the_same_amount_of_work():
    visits = np.random.default_rng(0).zipf(1.8, 5000).clip(max=3000).astype(np.int64)
    partitioning = Partitioning.of(efge.as_graph(nx.path_graph(5000)), visits, 7)
    work = [int(visits[partitioning.members(partition)].sum()) for partition in range(7)]
    infrequent = [count for count in visits if count <= 4 * visits.mean()]
    assert max(work) - min(work) <= max(infrequent), "partitions differ by more than one node's visits"
    assert max(infrequent) < min(work) / 50
    sizes = {partitioning.size(partition) for partition in range(7)}
    assert len(sizes) > 1, "partitions have the same number of nodes: the test shows nothing"


def test_neighbors_are_in_different_cells():
    """Each partition resembles the whole graph; otherwise its vectors would learn which partition they are in."""
    graph = efge.as_graph(nx.disjoint_union_all([nx.complete_graph(8)] * 50))
    partitioning = Partitioning.of(graph, np.full(400, 10), 4)
    for clique in range(50):
        codes = partitioning.codes[8 * clique : 8 * clique + 8]
        assert len({int(code) >> partitioning.row_bits for code in codes}) == 8


@pytest.mark.parametrize(("largest", "is_refused"), [(2**26, False), (2**26 + 1, True)])
def test_codes_have_31_bits(monkeypatch, largest, is_refused):
    """16 partitions have 32 cells, which take 5 bits; rows of a cell may take 26 more, as codes are not negative."""

    def assign(order, visits, cells, rows):
        rows[:] = 0
        return np.zeros(len(visits), np.int32), np.array([largest] * cells)

    monkeypatch.setattr("efge.training.partitioned.partitioning.kernel.assign_balanced", assign)
    graph = efge.as_graph(nx.path_graph(2))
    if is_refused:
        with pytest.raises(
            efge.GraphError, match="2 nodes in 16 partitions need codes of more than 31 bits; use fewer"
        ):
            Partitioning.of(graph, np.ones(2, np.int64), 16)
    else:
        assert Partitioning.of(graph, np.ones(2, np.int64), 16).row_bits == 26
