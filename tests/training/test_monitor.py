"""Held-out evaluation: which pairs are evaluated, when, and what is recorded."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import efge
from efge.training.monitor import HeldOutMonitor, PairSettings, held_out_sample

# Each node is its own alias with probability 1: negatives are uniform over ten nodes.
UNIFORM = np.full(10, 2**32 - 1, np.uint32), np.arange(10, dtype=np.int32)


def make_monitor(walks, values=(), settings=None, pairs=1000):
    """Return a monitor whose evaluations give the values one after the other."""
    remaining = iter(values)
    sample = held_out_sample(walks, settings or PairSettings(2, 3), UNIFORM)
    return HeldOutMonitor(sample, pairs, lambda sample: next(remaining))


@pytest.fixture
def walks():
    return efge.Walks(nx.cycle_graph(10), walk_length=8, seed=3)


def test_held_out_pairs_are_within_the_window(walks):
    sample = make_monitor(walks).sample
    assert sample.shape == (4096, 2 + 3)
    # In a cycle, nodes that are two steps apart in a walk are at distance 0 or 2.
    distances = (sample[:, 1] - sample[:, 0]) % 10
    assert set(distances.tolist()) == {0, 1, 2, 8, 9}
    assert set(sample[:, 2:].ravel().tolist()) == set(range(10))


def test_evaluations_are_recorded_with_the_best_one(walks):
    monitor = make_monitor(walks, [-4.0, -2.0, -3.0, -2.0, -1.0])
    counters = []
    for pairs in (0, 50, 100, 150, 200):
        monitor.evaluate(pairs)
        counters.append(monitor.state.evaluations_since_best)
    assert counters == [0, 0, 1, 2, 0]
    assert monitor.last_log_likelihood == monitor.state.best_log_likelihood == -1.0
    assert monitor.state.history == {"pairs": [0, 50, 100, 150, 200], "log_likelihood": [-4.0, -2.0, -3.0, -2.0, -1.0]}


def test_the_next_evaluation_is_due_half_an_interval_early(walks):
    monitor = make_monitor(walks, [-4.0, -2.0], pairs=1000)
    monitor.evaluate(0)
    assert monitor.next_evaluation == 25
    monitor.evaluate(52)
    assert monitor.next_evaluation == 75


def test_without_held_out_pairs_evaluations_are_nan_and_never_the_best():
    monitor = make_monitor(efge.Walks(nx.empty_graph(10), efge.CorpusWalk([[node] for node in range(10)]), seed=3))
    monitor.evaluate(0)
    assert len(monitor.sample) == 0
    assert np.isnan(monitor.last_log_likelihood)
    assert (monitor.state.evaluations_since_best, monitor.state.best_log_likelihood) == (0, -np.inf)
