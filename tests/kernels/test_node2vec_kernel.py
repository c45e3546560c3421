"""Steps of node2vec from long rows: exact, whatever part of the row is near, far, or the way back."""

from __future__ import annotations

from collections import Counter

import networkx as nx
import numpy as np
import pytest
from scipy.stats import chi2

import efge
import reference
from efge.kernels import node2vec as kernel
from efge.walks.strategies import _transition_tables
from helpers import callable_from_python

# A node whose row is drawn from, and one whose neighbors it has in common.
NODE, PREVIOUS = 0, 1
NEAR = (2, 3, 4)


def fan(n_far, far_weight=1.0):
    """Return a graph: NODE is linked to everybody, PREVIOUS to NODE and NEAR, with different weights."""
    graph = nx.Graph()
    graph.add_edge(NODE, PREVIOUS, weight=2.0)
    for number, near in enumerate(NEAR):
        graph.add_edge(NODE, near, weight=1.0 + number)
        graph.add_edge(PREVIOUS, near, weight=0.5)
    for far in range(5, 5 + n_far):
        graph.add_edge(NODE, far, weight=far_weight)
    return graph


def sampler(graph, p, q):
    """Return the kernel for long rows, at NODE: from a state to the next one and an entry."""
    tables = _transition_tables(graph, weighted=graph.is_weighted)
    bias = kernel.Bias(1.0, 1.0, 1.0, 0.0, 1 / q, 1 / p, False)
    rows = tables.indptr, tables.indices, tables.weights, tables.strength, tables.prob, tables.alias
    sample = callable_from_python(kernel._sample_long_row)
    return lambda state: sample(*rows, bias, state, np.uint64(NODE), np.uint64(PREVIOUS))


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(("p", "q"), [(1.0, 1.0), (0.05, 4.0), (20.0, 40.0), (3.0, 0.2)])
def test_entries_of_long_rows_have_the_exact_probabilities(p, q, weighted):
    graph = efge.as_graph(fan(7, 0.7), weighted=weighted)
    sample, end = sampler(graph, p, q), graph.indptr[NODE + 1]
    counts, total = Counter(), 8000
    state = np.uint64(5)
    for _ in range(total):
        state, entry = sample(np.uint64(state))
        assert entry < end
        counts[graph.names[graph.indices[entry]]] += 1
    expected = reference.transition_probabilities(graph, *graph.rows([PREVIOUS, NODE]).tolist(), p=p, q=q)
    statistic = sum(
        (counts[graph.names[row]] - total * prob) ** 2 / (total * prob) for row, prob in expected.items() if prob > 1e-3
    )
    assert chi2.sf(statistic, len(expected) - 1) > 1e-4
    assert sum(counts.values()) == total


@pytest.mark.parametrize(("far_weight", "is_drawn"), [(1.0, True), (0.05, True), (0.01, False), (1e-12, False)])
def test_rows_of_which_little_is_far_are_left_to_a_sum(far_weight, is_drawn):
    """Of NODE's weight, 8 is near or back: with 7 far nodes of weight 0.01, rejection would take 100 tries, or 1e12."""
    graph = efge.as_graph(fan(7, far_weight))
    state, entry = sampler(graph, 1.0, 1e-300)(np.uint64(5))
    assert (entry < graph.indptr[NODE + 1]) == is_drawn
    assert (state != 5) == is_drawn


def test_walks_over_long_rows_are_exact():
    graph = efge.as_graph(fan(1100), weighted=False)
    walks = efge.Walks(graph, efge.Node2VecWalk(1e3, 1e3), walks_per_node=600, walk_length=3, seed=4)
    steps = Counter()
    for batch in walks.batches():
        for walk in np.split(batch.nodes, batch.offsets[1:-1]):
            if graph.names[walk[:2]].tolist() == [PREVIOUS, NODE]:
                steps[min(int(graph.names[walk[2]]), 5)] += 1
    factors = {PREVIOUS: 1e-3, 2: 1.0, 3: 1.0, 4: 1.0, 5: 1.1}
    total = steps.total()
    assert total > 100
    expected = {step: total * factor / sum(factors.values()) for step, factor in factors.items()}
    statistic = sum((steps[step] - count) ** 2 / count for step, count in expected.items() if step != PREVIOUS)
    assert chi2.sf(statistic, 3) > 1e-4
    assert steps[PREVIOUS] <= 3
