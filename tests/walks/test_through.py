"""Walks through given edges and nodes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

import efge
from efge.walks.through import WalksThrough, reverse


def walks_through(graph, edges, threads=1, **options):
    walks = efge.Walks(graph, seed=3, threads=threads)
    return WalksThrough(walks, np.array(edges, walks.graph.indices.dtype), **options)


def listed(walks, epoch=0):
    return [walk.tolist() for batch in walks.batches(epoch) for walk in batch]


def test_every_walk_is_a_path_with_the_edge_in_its_middle():
    ring = efge.as_graph([(i, (i + 1) % 9) for i in range(9)])
    found = listed(walks_through(ring, [(0, 1), (5, 4)], walks_per_edge=50, reach=2))
    assert sorted(tuple(walk[2:4]) for walk in found) == [(0, 1)] * 50 + [(5, 4)] * 50
    assert all((b - a) % 9 in (1, 8) for walk in found for a, b in pairwise(walk))
    assert {len(walk) for walk in found} == {6}
    # Both sides are random, and on their own.
    assert len({tuple(walk) for walk in found}) > 25


def test_a_node_twice_stands_for_walks_through_the_node():
    ring = efge.as_graph([(i, (i + 1) % 9) for i in range(9)])
    found = listed(walks_through(ring, [(0, 0), (4, 4)], walks_per_edge=50, reach=3))
    assert sorted(walk[3] for walk in found) == [0] * 50 + [4] * 50
    assert all((b - a) % 9 in (1, 8) for walk in found for a, b in pairwise(walk))
    assert {len(walk) for walk in found} == {7}
    # Both sides are random, and on their own.
    assert len({tuple(walk) for walk in found}) > 60


def test_directed_walks_come_in_along_edges_and_stop_at_dead_ends():
    chain = efge.as_graph([(i, i + 1) for i in range(5)], directed=True)
    assert listed(walks_through(chain, [(1, 2)], walks_per_edge=1, reach=2)) == [[0, 1, 2, 3, 4]]
    assert reverse(chain).neighbors(3) == [2]
    assert reverse(reverse(chain)).fingerprint() == chain.fingerprint()


def test_isolated_nodes_are_walks_of_their_own():
    graph = efge.as_graph([(0, 1)], nodes=[0, 1, 2])
    assert listed(walks_through(graph, [(2, 2)], walks_per_edge=2, reach=3)) == [[2], [2]]


def test_epochs_and_held_out_walks_differ_and_threads_do_not_matter():
    ring_edges = [(i, (i + 1) % 30) for i in range(30)]
    ring = efge.as_graph(ring_edges)
    one, two = (walks_through(ring, ring_edges, threads, walks_per_edge=5, reach=4) for threads in (1, 2))
    assert listed(one) == listed(two)
    assert listed(one) != listed(one, epoch=1)
    held_out = [walk.tolist() for walk in one.held_out(20)]
    assert len(held_out) == 20
    assert held_out != listed(one)[:20]
    assert one.describe() == two.describe()
