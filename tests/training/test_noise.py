"""Negatives: how often each node is drawn, and how large pools are."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from scipy import stats

import efge
from efge.kernels.random import draw_from_alias
from efge.training.noise import alias_table, noise_weights, pool_size
from helpers import prepare_training, training_settings


@pytest.mark.parametrize("power", [0.0, 0.75, 1.0])
def test_negatives_follow_visits_to_a_power(power):
    visits = np.array([100, 10, 1000, 0, 1, 300])
    drawn = np.empty(200_000, np.int64)
    draw_from_alias(np.uint64(3), *alias_table(noise_weights(visits, power)), drawn)
    expected = np.where(visits > 0, visits.astype(float) ** power, 0)
    counts = np.bincount(drawn, minlength=6)
    assert counts[3] == 0
    present = visits > 0
    assert stats.chisquare(counts[present], expected[present] / expected.sum() * len(drawn)).pvalue > 1e-3


def test_pools_serve_longer_in_larger_graphs():
    settings = training_settings(negatives=5)
    sizes = [pool_size(settings, 9.0, nodes, 3) for nodes in (34, 2708, 5000, 10_000, 1_000_000)]
    assert sizes == [300, 300, 140, 53, 30]


def test_the_pool_depends_on_the_size_of_the_graph():
    walks = efge.Walks(nx.random_regular_graph(4, 6000, seed=1), walks_per_node=1, walk_length=10, seed=1)
    run = prepare_training(walks, efge.Normal(), training_settings(window=10, negatives=5))
    assert run.config.pool_size == 105
