"""Buckets: routing and training equal their slow twins, and all pairs and their negatives are observed."""

from __future__ import annotations

import dataclasses
import itertools

import networkx as nx
import numpy as np
import pytest

import efge
import reference
from efge.families.builtin import as_family
from efge.kernels import sgd_partitioned as kernel
from efge.kernels.sgd_rows import CENTERS_PER_POOL
from efge.random import stream_key
from efge.training.noise import noise_weights
from efge.training.partitioned.buckets import encode_walks, initial_tables, route_pairs, start_bucket
from efge.training.partitioned.driver import _make_run
from efge.training.partitioned.schedule import Walker, count_visits, plan_waves
from efge.training.workers import Threads
from helpers import training_settings

GRAPH = nx.barabasi_albert_graph(300, 3, seed=0)


def prepare(walks, family, settings):
    """Return what an engine would train, and the visits of each node."""
    waves = plan_waves(walks, settings)
    visits, pairs = count_visits(Walker.of(walks), waves, settings.window)
    return _make_run(walks, waves, pairs, visits, family, settings), visits


def encoded_wave(run, wave):
    return [encode_walks(run.walker, walk_range, run.partitioning.codes) for walk_range in run.waves[wave]]


def parse_bucket(bucket, cells):
    """Return a bucket as lists of records, by cells of centers and contexts numbered within both partitions."""
    sizes, rest = bucket[: 2 * cells**2].reshape(cells, cells, 2), bucket[2 * cells**2 :].tolist()
    records = {}
    for own, other in itertools.product(range(cells), repeat=2):
        n_records, n_contexts = sizes[own, other]
        end = kernel.RECORD_SIZE * n_records
        headers, contexts, rest = rest[:end], rest[end : end + n_contexts], rest[end + n_contexts :]
        records[own, other] = []
        for center, pairs, count, negatives in np.reshape(headers, (-1, kernel.RECORD_SIZE)).tolist():
            records[own, other].append((center, pairs, contexts[:count], negatives))
            contexts = contexts[count:]
        assert not contexts
    assert not rest
    return records


def test_routing_equals_its_twin():
    walks = efge.Walks(GRAPH, walks_per_node=20, seed=5)
    run, _ = prepare(walks, efge.Normal(), training_settings(window=3, partitions=4))
    row_bits, config, cells = run.config.row_bits, run.config, run.config.cells_per_partition
    wave = len(run.waves) - 1
    encoded = encoded_wave(run, wave)
    cells_and_rows = [
        [(int(code) >> row_bits, int(code) & ((1 << row_bits) - 1)) for code in batch.codes[begin:end]]
        for batch in encoded
        for begin, end in itertools.pairwise(batch.offsets)
    ]
    for partition in range(4):
        purposes = (f"groups of part {partition}", f"numbers of negatives of part {partition}")
        keys = [int(stream_key(5, wave, purpose)) for purpose in purposes]
        own = range(partition * cells, (partition + 1) * cells)
        expected = reference.route(
            cells_and_rows, own, 4 * cells, 3, config.group_size, config.negatives_per_pair, *keys
        )
        routed = {
            (partition * cells + a, other * cells + b): records
            for other, bucket in enumerate(route_pairs(partition, wave, encoded, config))
            for (a, b), records in parse_bucket(bucket, cells).items()
        }
        assert routed == expected
    assert sum(len(contexts) for records in expected.values() for _, _, contexts, _ in records) > 1000


CASES = [
    ("bernoulli", {}),
    ("poisson", {"dim": 20, "learning_rate": 0.2}),
    ("normal", {"negatives": 1, "window": 2, "dim": 130, "learning_rate": 0.2}),
    ("bernoulli-poisson", {"dim": 3, "negatives": 9}),
]


@pytest.mark.parametrize(("family", "changes"), CASES)
def test_training_a_bucket_equals_its_twin(family, changes, monkeypatch):
    family, settings = as_family(family), training_settings(**changes)
    walks = efge.Walks(nx.barabasi_albert_graph(150, 3, seed=0), walks_per_node=40, seed=5)
    run, _ = prepare(walks, family, settings)
    config = dataclasses.replace(run.config, rows_per_pool=max(1, run.config.rows_per_pool // 64))
    # A wave with more than one walk per node, with the learning rate of the first wave.
    wave, dim = 4, settings.dim
    bucket = run.bucket(wave, 2, (0, 2))._replace(
        first_rate=run.learning_rate.at(0), last_rate=run.learning_rate.at(run.pairs[wave])
    )
    data = route_pairs(0, wave, encoded_wave(run, wave), config)[2]
    members = run.partitioning.members
    tables = initial_tables(members(0), config)[0], initial_tables(members(2), config)[1]
    tables[1][:, :dim] = np.abs(np.random.default_rng(0).normal(0, 0.2, (len(tables[1]), dim)))
    centers, contexts = (table[:, :dim].astype(float) for table in tables)
    calls, original = [], kernel.train
    monkeypatch.setattr(kernel, "train", lambda *arguments: calls.append(arguments) or original(*arguments))
    with Threads(1) as threads:
        assert start_bucket(bucket, data, tables, run.noise(2), config, threads)()
    ((_, _, _, key, model, sgd_config, _),) = calls
    records = parse_bucket(data, config.cells_per_partition)
    observed = [sum(len(here) + negatives for _, _, here, negatives in listed) for listed in records.values()]
    assert max(observed) > 2 * config.rows_per_pool, "one pool is enough: the test shows nothing about further pools"
    cells = model.center_cells.tolist(), model.context_cells.tolist()
    assert len(set(cells[0])) > 2, "all nodes are in one cell: the test shows nothing about further cells"
    before = centers.copy(), contexts.copy()
    reference.train_bucket(records, cells, centers, contexts, family, run.noise(2), sgd_config, int(key))
    np.testing.assert_allclose(tables[0][:, :dim], centers, atol=2e-4, rtol=2e-3)
    np.testing.assert_allclose(tables[1][:, :dim], contexts, atol=2e-4, rtol=2e-3)
    assert all(np.abs(new - old).max() > 0.01 for new, old in zip((centers, contexts), before, strict=True))


def count_observations(run, noise, nodes):
    """Return how often each context is observed around each center, and each negative in expectation."""
    partitioning, cells = run.partitioning, run.partitioning.cells_per_partition
    ones, zeros = np.zeros((nodes, nodes)), np.zeros((nodes, nodes))
    for wave, i in itertools.product(range(len(run.waves)), range(len(partitioning))):
        for j, bucket in enumerate(route_pairs(i, wave, encoded_wave(run, wave), run.config)):
            for (a, b), records in parse_bucket(bucket, cells).items():
                centers, others = (
                    partitioning.nodes[partitioning.cell_starts[cell] : partitioning.cell_starts[cell + 1]]
                    for cell in (i * cells + a, j * cells + b)
                )
                cell_noise = np.zeros(nodes)
                cell_noise[others] = noise[others] / noise[others].sum()
                for row, pairs, here, negatives in records:
                    contexts = np.bincount(others[here], minlength=nodes)
                    ones[centers[row]] += contexts
                    zeros[centers[row]] += negatives * run.config.negative_weight * cell_noise * (1 - contexts / pairs)
    return ones, zeros


def test_all_pairs_are_observed_with_as_many_negatives_as_without_partitions():
    """A pair is observed once as 1; v is observed as 0 in k (n - n_v) q(v) of a center's n pairs, in any partition."""
    nodes = 34
    walks = efge.Walks(nx.karate_club_graph(), walks_per_node=100, seed=3)
    run, visits = prepare(walks, efge.Normal(), training_settings(partitions=4))
    noise = noise_weights(visits, 0.75) / noise_weights(visits, 0.75).sum()
    ones, zeros = count_observations(run, noise, nodes)
    expected_ones, expected_zeros = np.zeros((nodes, nodes)), np.zeros((nodes, nodes))
    for batch in walks.batches():
        for walk in batch:
            for p, center in enumerate(walk):
                contexts = np.bincount(np.delete(walk, p), minlength=nodes)
                expected_ones[center] += contexts
                expected_zeros[center] += 5 * (len(walk) - 1 - contexts) * noise
    assert ones.sum() == sum(run.pairs) == 34 * 100 * 90
    np.testing.assert_array_equal(ones, expected_ones)
    # Only the rounding of the number of negatives is random.
    assert zeros.sum() == pytest.approx(expected_zeros.sum(), rel=2e-3)
    np.testing.assert_allclose(zeros.sum(0), expected_zeros.sum(0), rtol=0.02)
    np.testing.assert_allclose(zeros.sum(1), expected_zeros.sum(1), rtol=0.02)
    np.testing.assert_allclose(zeros, expected_zeros, rtol=0.05)


def test_sizes_of_pools_and_groups_follow_from_the_pairs_of_a_center():
    """A center has 18 contexts in a walk of many nodes; 5 negatives are shared by 4 of them, and there are 24 cells."""
    walks = efge.Walks(nx.cycle_graph(600), walks_per_node=3, walk_length=200, seed=5)
    settings = training_settings(window=9, negatives=5, partitions=12)
    run, visits = prepare(walks, efge.Normal(), settings)
    pairs = sum(run.pairs) / visits.sum()
    assert 17 < pairs < 18
    together = run.config.negative_weight
    assert run.config.group_size == round(4 / 3 * pairs * 24)
    assert run.config.rows_per_pool == round(CENTERS_PER_POOL * pairs * (1 + 5 / together))
    assert run.config.negatives_per_pair.sum() * together == pytest.approx(5)
