"""The SGD kernels agree with their slow twins, in tables and in copies, and stop at vectors that are not finite."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

import efge
import reference
from efge.families.builtin import as_family
from efge.kernels import sgd as kernel
from efge.kernels.common import U
from efge.kernels.sgd_reference import train_reference
from efge.kernels.sgd_rows import index_rows, resolve_shared_rows
from efge.kernels.sgd_step import DIVERGED
from helpers import callable_from_python, prepare_training, training_settings


def vectors_of(run):
    """The vectors of all nodes, without copies and padding."""
    return [table[:, : run.settings.dim] for table in run.tables]


def paths_of(model):
    """For each node, the inner nodes and branches on the path to it; nothing if there is no tree."""
    bounds = [(int(a), int(b)) for a, b in itertools.pairwise(model.path_starts)]
    return [[(int(step) >> 1, int(step) & 1) for step in model.paths[a:b]] for a, b in bounds]


def train_both(run, blocks_per_round):
    """Train by the kernel, in place, and return what its twin makes of the same vectors."""
    model, config = run.model, run.config
    centers, contexts = (table.astype(float) for table in vectors_of(run))
    for work, _ in run.corpus.chunks(10**9, 1):
        noise = (model.prob, model.alias)
        reference.train_rounds(
            work, centers, contexts, run.family, noise, config, blocks_per_round, paths_of(model), model.merge_scale
        )
        kernel.train(0, 1, work, model, config, run.workspace)
    return centers, contexts


CASES = [
    ("bernoulli", {}, 3, {}),
    ("poisson", {"dim": 20, "learning_rate": 0.2}, 2, {}),
    ("normal", {"negatives": 1, "window": 2}, 1, {}),
    ("normal", {"dim": 130, "learning_rate": 0.25}, 4, {}),
    ("bernoulli", {"negatives": 9, "window": 3, "dim": 1}, 2, {"walk_length": 17}),
    ("bernoulli-poisson", {"dim": 3}, 2, {}),
    ("geometric", {"negatives": 3}, 2, {"walk_length": 90, "walks_per_node": 1}),
    ("bernoulli", {"softmax": True}, 3, {}),
    ("bernoulli", {"softmax": True, "window": 30, "dim": 20}, 2, {"walk_length": 45, "walks_per_node": 1}),
]


@pytest.mark.parametrize(("family", "changes", "n_blocks", "walk_options"), CASES)
def test_the_kernel_agrees_with_its_twin(family, changes, n_blocks, walk_options):
    walks = efge.Walks(nx.karate_club_graph(), **({"walks_per_node": 3, "seed": 5} | walk_options))
    run = prepare_training(walks, as_family(family), training_settings(**changes), n_blocks)
    centers, contexts = train_both(run, n_blocks)
    assert np.abs(centers).max() > 0.1
    np.testing.assert_allclose(vectors_of(run)[0], centers, atol=2e-4, rtol=2e-3)
    np.testing.assert_allclose(vectors_of(run)[1], contexts, atol=2e-4, rtol=2e-3)
    assert not run.model.centers[:, run.settings.dim :].any()


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("bernoulli", {}),
        ("bernoulli-poisson", {"dim": 3}),
        ("bernoulli", {"softmax": True}),
    ],
)
def test_rows_in_tables_and_in_copies_agree_with_the_twin(family, changes):
    walks = efge.Walks(nx.barabasi_albert_graph(400, 2, seed=1), walks_per_node=1, seed=5)
    run = prepare_training(walks, as_family(family), training_settings(**changes), 4)
    centers, contexts = train_both(run, 4)
    np.testing.assert_allclose(vectors_of(run)[0], centers, atol=2e-4, rtol=2e-3)
    np.testing.assert_allclose(vectors_of(run)[1], contexts, atol=2e-4, rtol=2e-3)
    locations = run.workspace.current.row_location
    copied = locations[locations > 0] >= run.workspace.n_nodes
    assert 0.05 < copied.mean() < 0.95, "hardly any rows of one kind: the test shows nothing of them"


def test_hash_tables_of_shards_have_no_slot_in_common():
    walks = efge.Walks(nx.path_graph(3), walks_per_node=40, seed=5)
    run = prepare_training(walks, as_family("bernoulli"), training_settings(), 4)
    model, workspace, next_round = run.model, run.workspace, run.workspace.next
    work, _ = next(run.corpus.chunks(10**9, 1))
    index, resolve = callable_from_python(index_rows), callable_from_python(resolve_shared_rows)
    for block in range(4):
        index(U(block), U(block), work, model, run.config, next_round, np.empty(1024, np.int32))
    touched = []
    for shard in range(len(next_round.copy_start)):
        workspace.slots[:] = untouched = np.iinfo(np.uint32).max
        arrays = workspace.slots, workspace.first_row, workspace.firsts
        resolve(U(shard), U(4), model, U(workspace.n_nodes), next_round, *arrays)
        touched += np.flatnonzero(workspace.slots != untouched).tolist()
    assert len(set(touched)) == len(touched)
    assert (np.diff(next_round.shard_start[:4, :-1]).sum(axis=0) == 0).any(), "no shard is without rows"


@pytest.mark.parametrize(
    ("family", "changes"), [("bernoulli", {}), ("normal", {"window": 2, "dim": 17}), ("poisson", {})]
)
def test_the_reference_trainer_agrees_with_its_twin(family, changes):
    walks = efge.Walks(nx.karate_club_graph(), walks_per_node=2, seed=5)
    run = prepare_training(walks, as_family(family), training_settings(**changes))
    centers, contexts = (table.astype(float) for table in vectors_of(run))
    before = centers.copy()
    for work, _ in run.corpus.chunks(10**9, 1):
        noise = (run.model.prob, run.model.alias)
        reference.train_reference(work, centers, contexts, run.family, noise, run.config)
        assert train_reference(work, run.model, run.config)
    assert np.abs(centers - before).max() > 0.01
    np.testing.assert_allclose(vectors_of(run)[0], centers, atol=2e-4, rtol=2e-3)
    np.testing.assert_allclose(vectors_of(run)[1], contexts, atol=2e-4, rtol=2e-3)


@pytest.mark.parametrize("start", [np.inf, np.nan, 3e38])
def test_vectors_that_are_not_finite_are_counted_and_not_written(start):
    walks = efge.Walks(nx.karate_club_graph(), walks_per_node=2, seed=5)
    run = prepare_training(walks, efge.Normal(), training_settings(), 2)
    work, _ = next(run.corpus.chunks(10**9, 1))
    run.model.contexts[33] = start
    kernel.train(0, 1, work, run.model, run.config, run.workspace)
    assert run.workspace.counters[DIVERGED] > 0
    assert np.isfinite(run.model.centers).all()
    assert np.isfinite(np.delete(run.tables[1], 33, axis=0)).all()


def test_the_size_of_chunks_does_not_change_the_result():
    walks = efge.Walks(nx.karate_club_graph(), walks_per_node=6, seed=5)
    tables = []
    for rounds in (1, 2, 10**9):
        run = prepare_training(walks, efge.Normal(), training_settings(), 3)
        for work, _ in run.corpus.chunks(rounds, 3):
            run.workspace.counters[:] = 0
            kernel.train(0, 1, work, run.model, run.config, run.workspace)
        tables.append(run.tables[0].copy())
    np.testing.assert_array_equal(tables[0], tables[1])
    np.testing.assert_array_equal(tables[0], tables[2])


def test_the_learning_rate_continues_where_the_work_before_ended():
    """A rate that falls by 1e-7 with each position is zero after a million of them."""
    walks = efge.Walks(nx.karate_club_graph(), walks_per_node=1, seed=5)
    run = prepare_training(walks, as_family("bernoulli"), training_settings(dim=4), 2)
    config = run.config._replace(learning_rate=0.1, rate_decay=1e-7)
    before = [table.copy() for table in vectors_of(run)]
    (work, _), *_ = run.corpus.chunks(10**9, 1)
    kernel.train(0, 1, work._replace(first_position=10**6), run.model, config, run.workspace)
    for table, old in zip(vectors_of(run), before, strict=True):
        np.testing.assert_allclose(table, old, atol=1e-3)
    kernel.train(0, 1, work, run.model, config, run.workspace)
    assert np.abs(vectors_of(run)[1]).max() > 0.01
