"""Negatives: the noise distribution that they are drawn from, and the pools in which they are drawn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.families.base import Family
from efge.graph.graph import Graph
from efge.graph.information import walk_information
from efge.kernels.random import build_alias_tables
from efge.kernels.sgd_rows import CENTERS_PER_POOL
from efge.kernels.sgd_step import MAX_ROWS
from efge.kernels.simd import LANES
from efge.training.monitor import AliasTable
from efge.training.settings import Settings

# Below this information of two steps, walks tell so little that training learns slowly. It lies between Facebook's
# friends and generated graphs with clear communities, where shared negatives cost nothing, and graphs whose communities
# mix more ("communities that mix" in benchmarks/results/trials.json). No information is more than the logarithm of the
# number of nodes, so that tiny graphs count, too.
_LOW_INFORMATION = 2.0
# Largest number of contexts that share their negatives.
_MAX_GROUP_SIZE = 4
# Smallest and largest pool of negatives.
_MIN_POOL, _MAX_POOL = 16, 512
# How often each negative of a pool is used, at least and at most; in between, once for this number of nodes beyond the
# smallest graphs. More often is faster, as fewer rows are fetched, but costs scores in graphs of a few thousand nodes;
# benchmarks/results/trials.json has them beside those of the reference trainer ("uses by labels").
_MIN_USES, _MAX_USES, _NODES_PER_USE, _SMALL = 2.0, 20.0, 700, 2000


def noise_weights(visits: npt.NDArray[Any], power: float) -> npt.NDArray[np.float64]:
    """Return weights to draw negatives by: visits to a power, and 0 for a node that no walk visits."""
    return np.where(visits > 0, visits.astype(np.float64) ** power, 0.0)


def alias_table(weights: npt.NDArray[np.float64]) -> AliasTable:
    """Return an alias table that draws numbers in proportion to weights."""
    prob, alias = np.zeros(len(weights), np.uint32), np.zeros(len(weights), np.int32)
    build_alias_tables(np.array([0, len(weights)], np.uint64), weights, prob, alias)
    return prob, alias


def contexts_per_group(settings: Settings, graph: Graph, family: Family) -> int:
    """Return the number of contexts that share their negatives; each negative is then observed once for each context.

    They share none where walks tell little, so that negatives tell much: there, groups cost scores. Memberships find
    planted communities better with groups.
    """
    if settings.softmax or learns_slowly(graph, family):
        return 1
    return min(_MAX_GROUP_SIZE, max(1, LANES - int(settings.negatives)))


def rows_per_step(graph: Graph, family: Family) -> int:
    """Return the number of rows that move together while the center is held.

    The more there are, the faster is a step, and the further it overshoots. Where walks tell little, the error of a
    large step is as large as what it learns, and scores fall.
    """
    return LANES if learns_slowly(graph, family) else MAX_ROWS


def learns_slowly(graph: Graph, family: Family) -> bool:
    """Return whether walks tell little about a graph, and vectors are no memberships, which learn as on any graph."""
    return not family.nonnegative and walk_information(graph).two_steps < _LOW_INFORMATION


def pool_size(settings: Settings, contexts_per_center: float, n_nodes: int, group_size: int) -> int:
    """Return the number of negatives in a pool, which serves CENTERS_PER_POOL centers."""
    drawn = CENTERS_PER_POOL * math.ceil(settings.negatives * contexts_per_center / group_size)
    uses = min(max((n_nodes - _SMALL) / _NODES_PER_USE, _MIN_USES), _MAX_USES)
    return min(max(math.ceil(drawn / uses), _MIN_POOL), _MAX_POOL)
