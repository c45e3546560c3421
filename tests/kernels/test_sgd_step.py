"""One step of the fast trainer: what it promises of the sizes of moves."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import efge
from efge.families.builtin import as_family
from efge.families.tables import spline_table
from efge.kernels.common import U
from efge.kernels.sgd_step import sgd_step
from helpers import callable_from_python, prepare_training, training_settings


@pytest.mark.parametrize("family", ["bernoulli", "normal", "poisson"])
@pytest.mark.parametrize("rate", [0.025, 1e3])
def test_no_observation_moves_a_score_by_more_than_one(family, rate):
    """Row i observes i + 1 pairs, in one pass; at a rate of 1,000, a single one moves as far as it may."""
    family, count = as_family(family), 8
    walks = efge.Walks(nx.path_graph(3), walks_per_node=1, seed=5)
    config = prepare_training(walks, family, training_settings(), 1).config
    random = np.random.default_rng(0)
    centers = random.normal(size=(1, 16)).astype(np.float32)
    table = random.normal(scale=0.1, size=(count, 16)).astype(np.float32)
    center, before = centers[0].copy(), table.copy()
    observations = np.zeros((2, 16), np.float32)
    observations[1, :count] = np.arange(1, count + 1)
    scores, steps, new_center = np.empty(64, np.float32), np.empty(64, np.float32), np.empty(16, np.float32)
    callable_from_python(sgd_step)(
        centers, U(0), table, np.arange(16, dtype=np.uint64), U(0), U(count), observations,
        spline_table(family, "gradient"), config, np.float32(rate), scores, steps, new_center,
    )  # fmt: skip
    moves = (table - before) @ center
    limits = np.arange(1, count + 1)
    assert (np.abs(moves) <= limits * (1 + 1e-4)).all()
    if rate > 1:
        assert abs(moves[0]) == pytest.approx(1, rel=1e-4)
    else:
        assert (np.abs(moves) < limits / 2).all()
