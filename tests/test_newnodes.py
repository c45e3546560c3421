"""The program that measures new nodes: what is held out, and the figures of its record."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import efge
import figures_newnodes
import newnodes

GRAPH = efge.as_graph(nx.gnp_random_graph(60, 0.2, seed=1))


@pytest.mark.parametrize("order", ["random", "largest ids"])
def test_held_out_edges_are_those_of_new_nodes_and_are_not_in_the_graph(order):
    task = newnodes.make_task(GRAPH, order, 30, seed=0)
    assert task.new.sum() == 18
    assert order == "random" or np.sort(task.graph.names[task.new]).tolist() == list(range(42, 60))
    edges = nx.gnp_random_graph(60, 0.2, seed=1).edges
    names = task.graph.names
    for u, v in names[task.positives].tolist():
        assert (u, v) in edges
        assert v not in task.graph.neighbors(u)
    assert task.new[task.positives].any(axis=1).all()
    assert task.new[task.negatives[:, 0]].all()
    assert not any((u, v) in edges for u, v in names[task.negatives].tolist())
    assert task.graph.n_edges + len(task.positives) == GRAPH.n_edges


def test_scores_of_perfect_and_of_empty_vectors_are_known():
    task = newnodes.make_task(GRAPH, "random", 30, seed=0)
    labels = {name: (int(name) % 2,) for name in GRAPH}
    perfect = np.where(task.graph.names[:, None] % 2, 5, -5).astype(np.float32)
    assert newnodes.accuracy(perfect, task, labels) == 1
    assert newnodes.accuracy(perfect, task, None) is None
    assert newnodes.auc(np.zeros((60, 2), np.float32), task) == 0.5


def test_other_ways_change_vectors_of_new_nodes_only():
    task = newnodes.make_task(GRAPH, "random", 30, seed=0)
    old = efge.EFGE(dim=4, seed=0).fit(task.graph.subgraph(task.graph.names[~task.new].tolist()))
    both, seen = old.transform(task.graph), []
    for way, vectors in newnodes.other_ways(old, task):
        seen.append(way)
        assert (vectors[~task.new] == both[~task.new]).all()
        assert np.isfinite(vectors).all()
        assert (vectors[task.new] != both[task.new]).any(axis=1).mean() > 0.9
    assert len(seen) == len(set(seen)) == 5


def test_nodes_that_are_linked_to_untrained_ones_alone_are_found():
    # The old node 2 has the new neighbors 3 and 4 only; 4 has another neighbor, 5 is new and has none.
    graph = efge.as_graph([(0, 1), (2, 3), (2, 4), (4, 0)], nodes=range(6))
    task = newnodes.Task(graph, graph.names > 2, np.empty((0, 2), int), np.empty((0, 2), int))
    assert graph.names[newnodes.linked_to_untrained(task) & task.new].tolist() == [3]


def test_every_figure_can_be_drawn_from_the_record():
    for figure in figures_newnodes.BLOCKS.values():
        assert figure()
