"""Huffman trees: no tree has shorter paths, and every path is different."""

from __future__ import annotations

import heapq

import numpy as np
import pytest

from efge.random import stream_key
from efge.training.huffman import huffman

KEY = stream_key(0, 0, "huffman")


def cost_of_the_best_tree(weights):
    """Return the total path length of all visits in a Huffman tree, computed with a heap."""
    heap, cost = sorted(weights), 0
    while len(heap) > 1:
        merged = heapq.heappop(heap) + heapq.heappop(heap)
        cost += merged
        heapq.heappush(heap, merged)
    return cost


@pytest.mark.parametrize("visits", [[5], [1, 1], [3, 1, 2], [1] * 17, [2**i for i in range(20)], [7, 0, 7, 0, 1, 1]])
def test_no_tree_has_shorter_paths(visits):
    tree = huffman(np.array(visits, np.int64), KEY)
    lengths = np.diff(tree.starts)
    used = np.array(visits) > 0
    assert (lengths * visits).sum() == cost_of_the_best_tree([visit for visit in visits if visit])
    assert not lengths[~used].any()
    assert sum(2.0 ** -int(length) for length in lengths[used]) == 1.0
    assert tree.longest == lengths.max()


def test_a_random_tree_is_the_best_one_and_its_paths_differ():
    visits = np.random.default_rng(0).integers(0, 1000, 500)
    tree = huffman(visits, KEY)
    assert (np.diff(tree.starts) * visits).sum() == cost_of_the_best_tree(visits[visits > 0].tolist())
    paths = [tuple(tree.paths[a:b]) for a, b in zip(tree.starts[:-1], tree.starts[1:], strict=True)]
    assert len({path for path in paths if path}) == (visits > 0).sum()
    # All paths begin at the root, which all visits pass.
    assert len({path[0] >> 1 for path in paths if path}) == 1
    assert tree.passes(visits).max() == visits.sum()


def test_a_graph_without_visits_has_an_empty_tree():
    assert huffman(np.zeros(3, np.int64), KEY).starts.tolist() == [0, 0, 0, 0]
    assert huffman(np.zeros(0, np.int64), KEY).starts.tolist() == [0]


def test_paths_of_equally_frequent_nodes_do_not_tell_their_order():
    """In the order of rows, the first branch of the tree would part the first half of the nodes from the second."""
    tree = huffman(np.ones(1024, np.int64), KEY)
    first_branch = tree.paths[tree.starts[:-1]] & 1
    in_second_half = np.arange(1024) >= 512
    # The number of nodes that agree has mean 512, and standard deviation 16.
    assert abs(int((first_branch == in_second_half).sum()) - 512) < 5 * 16
    other = huffman(np.ones(1024, np.int64), stream_key(1, 0, "huffman"))
    assert other.paths.tolist() != tree.paths.tolist()
