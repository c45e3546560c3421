"""The schedule of partitioned training: waves contain all walks, and sub-waves all buckets, in a valid order."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest

import efge
from efge.training.partitioned import schedule
from efge.training.partitioned.buckets import _learning_rates
from efge.training.partitioned.schedule import Bucket, Walker, count_visits, plan_waves, sub_waves
from helpers import training_settings

GRAPH = nx.barabasi_albert_graph(300, 3, seed=0)


def test_walks_made_by_their_numbers_equal_those_of_an_epoch():
    walks = efge.Walks(GRAPH, efge.Node2VecWalk(0.5, 2), walks_per_node=3, walk_length=7, seed=4)
    expected = [walk.tolist() for epoch in range(2) for batch in walks.batches(epoch) for walk in batch]
    waves = plan_waves(walks, training_settings(epochs=2))
    walker = Walker.of(walks)
    made = [walk.tolist() for wave in waves for walk_range in wave for walk in walker.walks(walk_range)]
    assert made == expected
    visits, pairs = count_visits(walker, waves, 10)
    assert visits.tolist() == np.bincount(list(itertools.chain(*expected)), minlength=300).tolist()
    assert pairs == [42 * sum(walk_range.n_walks for walk_range in wave) for wave in waves]


def test_waves_grow_from_a_small_first_one_to_a_bounded_size():
    walks = efge.Walks(GRAPH, walks_per_node=3, walk_length=7, seed=4)
    waves = plan_waves(walks, training_settings(epochs=2))
    sizes = [sum(walk_range.n_walks for walk_range in wave) for wave in waves]
    assert len(sizes) == 8
    assert sizes[0] < sum(sizes) / 90
    assert all(0.9 < b / a < 2.3 for a, b in itertools.pairwise(sizes)), "a wave is at most twice the one before"
    assert max(sizes) < sum(sizes) / 3, "waves grow to no more than three walks per node"


def test_the_largest_wave_has_about_as_many_pairs_as_fit(monkeypatch):
    monkeypatch.setattr(schedule, "_SMALL_WAVE_PAIRS", 0)
    walks = efge.Walks(GRAPH, walks_per_node=3, walk_length=7, seed=4)
    settings = training_settings(epochs=2, dim=16)
    most = 2 * len(GRAPH) * 16
    _, pairs = count_visits(Walker.of(walks), plan_waves(walks, settings), settings.window)
    assert 0.8 * most < max(pairs) <= most


def test_walks_that_are_made_together_have_a_bounded_number_of_positions(monkeypatch):
    walks = efge.Walks(GRAPH, walks_per_node=3, walk_length=7, seed=4)
    for least, most, expected in ((70, 1000, 85), (700, 1000, 100), (70, 350, 50), (1, 1, 1)):
        monkeypatch.setattr(schedule, "_MIN_POSITIONS", least)
        monkeypatch.setattr(schedule, "_MAX_POSITIONS", most)
        waves = plan_waves(walks, training_settings())
        assert max(walk_range.n_walks for wave in waves for walk_range in wave) == expected


def test_a_sub_wave_has_every_partition_once_and_a_wave_has_every_bucket():
    first, second = (sub_waves(wave, 5, 1) for wave in (0, 1))
    for buckets in first:
        assert sorted(i for i, _ in buckets) == sorted(j for _, j in buckets) == list(range(5))
    assert sorted(itertools.chain(*first)) == list(itertools.product(range(5), repeat=2))
    assert first != second


def test_the_order_of_centers_and_that_of_contexts_change_with_the_wave_and_the_seed():
    schedules = [sub_waves(wave, 7, seed) for wave, seed in ((0, 1), (1, 1), (0, 2))]
    for one, other in itertools.combinations(schedules, 2):
        assert [i for i, _ in one[0]] != [i for i, _ in other[0]]
        assert [j for _, j in one[0]] != [j for _, j in other[0]]
        # Which contexts a partition of centers meets first is not the same either.
        assert dict(one[0]) != dict(other[0])


def test_the_learning_rate_of_a_wave_is_spread_over_its_sub_waves_and_their_cells():
    config = SimpleNamespace(n_partitions=4, cells_per_partition=2)
    rates = [_learning_rates(Bucket(0, sub_wave, 0, 0, 1.0, 0.5), config) for sub_wave in range(4)]
    assert rates == [(1.0, 0.0625), (0.875, 0.0625), (0.75, 0.0625), (0.625, 0.0625)]


def sizes_of_waves(nodes, walks_per_node, dim=16, walk_length=10, window=5, epochs=1):
    """Plan waves without a graph; return the number of walks of each wave, and of the largest range."""
    walks = SimpleNamespace(
        graph=SimpleNamespace(n_nodes=nodes), walks_per_node=walks_per_node, walk_length=walk_length
    )
    waves = plan_waves(walks, training_settings(dim=dim, window=window, epochs=epochs))
    return [sum(one.n_walks for one in wave) for wave in waves], max(one.n_walks for wave in waves for one in wave)


@pytest.mark.parametrize(
    ("changes", "full_waves"),
    [
        # One for 8/3 walks from each node, up to 30.
        ({"walks_per_node": 1}, 1),
        ({"walks_per_node": 76}, 29),
        ({"walks_per_node": 38, "epochs": 2}, 29),
        ({"walks_per_node": 1000}, 30),
        # 70 pairs of each walk with a window of 5, 90 with 9 and all larger ones; one for 2^22 pairs.
        ({"walks_per_node": 10_000}, 51),
        ({"walks_per_node": 10_000, "window": 9}, 65),
        ({"walks_per_node": 10_000, "window": 50}, 65),
        # One for two pairs of each entry of a table, where these are more: a row has 16,000 entries.
        ({"walks_per_node": 20_000, "dim": 15_999}, 44),
    ],
)
def test_the_number_of_waves_follows_from_walks_and_pairs(changes, full_waves):
    sizes, _ = sizes_of_waves(300, **changes)
    total = 300 * changes["walks_per_node"] * changes.get("epochs", 1)
    assert sum(sizes) == total
    # Before the full waves come those of 1/32, 1/16, 1/8, 1/4 and 1/2.
    assert len(sizes) == 5 + full_waves
    full = total / (full_waves + 31 / 32)
    assert sizes == pytest.approx([*(full / 2**k for k in (5, 4, 3, 2, 1)), *[full] * full_waves], abs=1.01)


@pytest.mark.parametrize(
    ("nodes", "walks", "most"), [(300, 1000, 6553), (100_000, 30, 20_000), (2_000_000, 30, 209_715)]
)
def test_walks_that_are_made_together_have_two_positions_per_node_within_limits(nodes, walks, most):
    """2^16 positions at least and 2^21 at most, of walks of 10 nodes."""
    assert sizes_of_waves(nodes, walks)[1] == most
