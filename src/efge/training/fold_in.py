"""Fold-in: vectors of new nodes by the likelihood of a trained model, whose other table stays as it is.

Walks begin at the new nodes. Nodes within the window of a walk's start are observed contexts if they have a row in the
other table; negatives are drawn among the nodes that have one. Each vector is trained on its own, by the steps and the
family of training, with a learning rate that falls linearly: the result depends neither on threads nor on other new
nodes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from efge.errors import TrainingError
from efge.families.base import Family
from efge.families.tables import spline_table
from efge.graph.graph import Nodes
from efge.kernels import fold_in as kernel
from efge.kernels.sgd import SGDConfig
from efge.kernels.sgd_step import MAX_OBSERVATIONS, MAX_ROWS
from efge.parallel import map_ahead
from efge.random import stream_key
from efge.training.noise import alias_table
from efge.training.settings import Settings
from efge.training.tables import Floats, allocate_table
from efge.walks.strategies import Stepper
from efge.walks.through import backward_stepper
from efge.walks.walks import Walks

# Steps of each vector, each with two walks: about as often as a node of mean degree is a center in training. On Cora,
# GrQc and HepTh, 30 were as good for links and worse for classes; 300 were no better.
STEPS = 100
# Contexts that share their negatives; each vector has its own, so that pools are not needed.
_GROUP_SIZE = 3
# Vectors that one task of a thread trains.
_TASK_SIZE = 256


@dataclass(frozen=True)
class FrozenTable:
    """Vectors that are observed and do not move."""

    vectors: Floats
    table_row: npt.NDArray[np.int64]  # row of each node of the graph, or -1 if the node has none
    noise: npt.NDArray[np.float64]  # weights to draw negatives by, one for each row


def fold_in(
    walks: Walks,
    nodes: Nodes,
    frozen: FrozenTable,
    family: Family,
    settings: Settings,
    initial: npt.NDArray[np.floating] | None = None,
) -> Floats:
    """Return vectors of some nodes of a graph that make what they observe on walks likely.

    The walks give the graph, the strategy, the seed and the threads. Vectors start from the initial ones, or from
    zeros. A node whose walks meet none of the frozen table keeps its initial vector.
    """
    vectors = allocate_table(len(nodes), settings.dim)
    if initial is not None:
        vectors[:, : settings.dim] = initial
    elif family.nonnegative:
        # A gradient that vanishes at zero would never leave it.
        vectors[:, : settings.dim] = settings.dim**-0.5 / 2
    if not (frozen.noise > 0).any() or not len(nodes):
        return vectors[:, : settings.dim].copy()
    splines, config = _configure(family, settings)
    make_walks, (prob, alias) = _walk_maker(walks, settings), alias_table(frozen.noise)
    key = stream_key(walks.seed, 0, "new negatives")

    def train(begin: int) -> bool:
        end = min(begin + _TASK_SIZE, len(nodes))
        work = kernel.FoldInWork(
            make_walks(nodes[begin:end], begin), frozen.table_row, prob, alias, key, np.uint64(begin)
        )
        return bool(kernel.fold_in(vectors[begin:end], 0, end - begin, frozen.vectors, splines, work, config))

    finite = deque(map_ahead(train, range(0, len(nodes), _TASK_SIZE), walks.threads))
    if not all(finite):
        raise TrainingError(
            f"{family!r}: vectors of new nodes became NaN or infinite; lower learning_rate (it is"
            f" {settings.learning_rate:g}) with set_params, or use method='average'"
        )
    return vectors[:, : settings.dim].copy()


def _configure(family: Family, settings: Settings) -> tuple[Floats, SGDConfig]:
    splines = spline_table(family, "gradient")
    low, high = map(float, family.bounds)
    first, last = float(settings.learning_rate), float(settings.min_learning_rate)
    config = SGDConfig(
        window=int(settings.window),
        negatives=int(settings.negatives),
        group_size=_GROUP_SIZE,
        pool_size=1,
        rows_per_step=MAX_ROWS,
        max_observations=MAX_OBSERVATIONS,
        learning_rate=first,
        rate_decay=(first - last) / STEPS,
        floor=0.0 if family.nonnegative else -np.inf,
        score_min=low,
        spline_scale=(splines.shape[1] - 1) / (high - low),
    )
    return splines, config


def _walk_maker(walks: Walks, settings: Settings) -> Callable[[Nodes, int], Nodes]:
    """Return a function that makes all walks of some nodes, given the number of the first one.

    Each step has two walks, for the nodes after and before a center; if edges have directions, the second one goes
    against them.
    """
    length = min(int(settings.window), int(walks.walk_length) - 1) + 1
    steppers = (walks._stepper, backward_stepper(walks))
    keys = [stream_key(walks.seed, 0, f"new walks {direction}") for direction in ("after", "before")]

    def make(nodes: Nodes, first: int) -> Nodes:
        made = np.full((2, len(nodes) * STEPS, length), -1, walks.graph.indices.dtype)
        for batch, stepper, key in zip(made, steppers, keys, strict=True):
            _fill_walks(batch, nodes, stepper, key, first * STEPS)
        return np.ascontiguousarray(made.reshape(2, len(nodes), STEPS, length).transpose(1, 2, 0, 3))

    return make


def _fill_walks(batch: Nodes, nodes: Nodes, stepper: Stepper, key: np.uint64, first: int) -> None:
    lengths = np.empty(len(batch), np.int32)
    stepper.walk(np.repeat(nodes, STEPS).astype(batch.dtype), key, first, batch, lengths)
    batch[np.arange(batch.shape[1]) >= lengths[:, None]] = -1
