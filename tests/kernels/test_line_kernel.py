"""The kernel of LINE agrees with its slow twin, with one table and with two."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import efge
import reference
from efge.families.builtin import Bernoulli
from efge.kernels import line as kernel
from efge.kernels.sgd_step import DIVERGED, N_COUNTERS
from efge.training.edges import EdgeSampler
from efge.training.line import EdgeSettings, _make_config, _make_model


def train_both(graph, samples, **settings):
    """Train batches of edges by the kernel and by its twin; return the kernel's tables, then the twin's."""
    edges = EdgeSampler(efge.as_graph(graph), samples, threads=1, seed=3)
    settings = EdgeSettings(**{"learning_rate": 0.5, "min_learning_rate": 0.1} | settings)
    model = _make_model(edges, settings)
    centers = model.centers[:, : settings.dim].astype(float)
    contexts = centers if settings.one_table else model.contexts[:, : settings.dim].astype(float)
    counters = np.zeros(N_COUNTERS + edges.n_cells, np.int64)
    for number, batch in enumerate(edges.batches()):
        config = _make_config(settings, model, 0.1 * number, 0.1, edges.n_cells)
        counters[:] = 0
        kernel.train(0, 1, batch, model, config, counters)
        assert not counters[DIVERGED]
        reference.train_edges(batch, centers, contexts, Bernoulli(), config)
    assert not model.centers[:, settings.dim :].any()
    return [table[:, : settings.dim] for table in (model.centers, model.contexts)], (centers, contexts)


@pytest.mark.parametrize("one_table", [False, True])
@pytest.mark.parametrize(("dim", "negatives"), [(8, 5), (20, 1), (130, 2), (24, 9)])
def test_the_kernel_agrees_with_its_twin(one_table, dim, negatives):
    graph = nx.barabasi_albert_graph(800, 2, seed=1)
    # With many negatives, large steps would make rounding errors grow without end.
    rate = min(0.5, 1 / negatives)
    ours, theirs = train_both(
        graph, 9000, dim=dim, negatives=negatives, one_table=one_table, learning_rate=rate, min_learning_rate=rate / 5
    )
    assert np.abs(theirs[0]).max() > 0.1
    for ours_table, theirs_table in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(ours_table, theirs_table, atol=2e-4, rtol=2e-3)


@pytest.mark.parametrize("one_table", [False, True])
def test_weights_directions_and_edges_of_a_node_with_itself_agree_with_the_twin(one_table):
    edges = [(0, 0, 2.0), (0, 1, 1.0), (1, 2, 3.0), (2, 0, 0.5), (3, 3, 4.0)]
    graph = efge.as_graph(edges, directed=True)
    ours, theirs = train_both(graph, 500, dim=6, negatives=3, one_table=one_table)
    for ours_table, theirs_table in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(ours_table, theirs_table, atol=2e-4, rtol=2e-3)
