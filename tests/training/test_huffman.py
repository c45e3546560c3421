"""Huffman trees: no tree has shorter paths, and every path is different."""

from __future__ import annotations

import heapq

import numpy as np
import pytest

from efge.training.huffman import huffman


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
    tree = huffman(np.array(visits, np.int64))
    lengths = np.diff(tree.starts)
    used = np.array(visits) > 0
    assert (lengths * visits).sum() == cost_of_the_best_tree([visit for visit in visits if visit])
    assert not lengths[~used].any()
    assert sum(2.0 ** -int(length) for length in lengths[used]) == 1.0
    assert tree.longest == lengths.max()


def test_a_random_tree_is_the_best_one_and_its_paths_differ():
    visits = np.random.default_rng(0).integers(0, 1000, 500)
    tree = huffman(visits)
    assert (np.diff(tree.starts) * visits).sum() == cost_of_the_best_tree(visits[visits > 0].tolist())
    paths = [tuple(tree.paths[a:b]) for a, b in zip(tree.starts[:-1], tree.starts[1:], strict=True)]
    assert len({path for path in paths if path}) == (visits > 0).sum()
    # All paths begin at the root, which all visits pass.
    assert len({path[0] >> 1 for path in paths if path}) == 1
    assert tree.passes(visits).max() == visits.sum()


def test_a_graph_without_visits_has_an_empty_tree():
    assert huffman(np.zeros(3, np.int64)).starts.tolist() == [0, 0, 0, 0]
    assert huffman(np.zeros(0, np.int64)).starts.tolist() == [0]
