"""The kernel of fold-in agrees with its slow twin."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import efge
import reference
from efge.families.builtin import as_family
from efge.kernels import fold_in as kernel
from efge.training import fold_in
from efge.training.noise import alias_table
from efge.training.tables import allocate_table
from helpers import training_settings


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("bernoulli", {}),
        ("poisson", {"dim": 20, "learning_rate": 0.2}),
        ("normal", {"negatives": 2, "window": 3, "learning_rate": 0.2}),
        ("bernoulli-poisson", {"dim": 3, "learning_rate": 0.1}),
    ],
)
def test_the_kernel_agrees_with_its_twin(family, changes, monkeypatch):
    monkeypatch.setattr(fold_in, "STEPS", 12)
    family, settings = as_family(family), training_settings(**changes)
    graph, random = efge.as_graph(nx.karate_club_graph(), weighted=False), np.random.default_rng(0)
    nodes, rows = np.array([0, 11, 33], graph.indices.dtype), np.arange(34)
    rows[[0, 11, 33, 5]] = -1
    table = np.abs(random.normal(scale=0.3, size=(34, settings.dim))).astype(np.float32)
    table.flags.writeable = False
    splines, config = fold_in._configure(family, settings)
    walks = fold_in._walk_maker(efge.Walks(graph, seed=3), settings)(nodes, 0)
    noise = alias_table(np.arange(34.0))
    work = kernel.FoldInWork(walks, rows, *noise, np.uint64(7), np.uint64(2))
    vectors = allocate_table(3, settings.dim)
    vectors[:, : settings.dim] = 0.1
    expected = vectors[:, : settings.dim].astype(float)
    reference.fold_in(expected, table.astype(float), family, work, config)
    before = table.copy()
    assert kernel.fold_in(vectors, 0, 3, table, splines, work, config)
    assert np.abs(expected - 0.1).max() > 0.1
    np.testing.assert_allclose(vectors[:, : settings.dim], expected, atol=2e-4, rtol=2e-3)
    assert not vectors[:, settings.dim :].any()
    np.testing.assert_array_equal(table, before)


def test_vectors_that_are_not_finite_are_reported():
    settings, family = training_settings(), as_family("bernoulli")
    graph = efge.as_graph([(0, 1)])
    splines, config = fold_in._configure(family, settings)
    walks = fold_in._walk_maker(efge.Walks(graph, seed=3), settings)(np.array([0], np.int32), 0)
    work = kernel.FoldInWork(walks, np.array([-1, 0]), *alias_table(np.ones(1)), np.uint64(7), np.uint64(0))
    vectors, table = allocate_table(1, 8), np.full((1, 8), np.inf, np.float32)
    table.flags.writeable = False
    vectors[:] = 1
    assert not kernel.fold_in(vectors, 0, 1, table, splines, work, config)
