"""Held-out evaluation: the mean log-likelihood of pairs from extra walks, which are not trained on, and of negatives.

The nodes of such a pair may also meet in walks that are trained on: what is held out are walks, not edges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from efge.kernels.random import draw_from_alias
from efge.random import stream_key
from efge.training.checkpoints import TrainingState
from efge.training.corpus import HELD_OUT_WALKS, Source
from efge.training.settings import N_EVALUATIONS
from efge.walks.walks import WalkBatch

# int64[pairs, 2 + negatives]: a center, a context, and the negatives against them.
HeldOutSample = npt.NDArray[np.int64]
# Probabilities and aliases of a discrete distribution, by which the alias method draws from it.
AliasTable = tuple[npt.NDArray[np.uint32], npt.NDArray[np.int32]]

# Number of held-out pairs.
HELD_OUT_PAIRS = 4096
# Pairs that share their negatives: an evaluation spends most of its time on fetching rows.
_PAIRS_PER_NEGATIVES = 8


@dataclass(frozen=True)
class PairSettings:
    """How pairs are taken from walks."""

    window: int  # largest distance of a context from its center
    negatives: int  # per pair


class HeldOutMonitor:
    """Evaluates held-out pairs and negatives at intervals during a training run on `pairs` pairs in all.

    `log_likelihood` returns the mean log-likelihood of a sample, and so depends on the current vectors.
    """

    def __init__(
        self,
        sample: HeldOutSample,
        pairs: int,
        log_likelihood: Callable[[HeldOutSample], float],
        evaluations: int = N_EVALUATIONS,
    ) -> None:
        self.sample = sample
        self.interval = pairs / evaluations
        self.state = TrainingState()
        self.log_likelihood = log_likelihood

    @property
    def last_log_likelihood(self) -> float:
        """The result of the last evaluation."""
        return self.state.history["log_likelihood"][-1]

    @property
    def next_evaluation(self) -> float:
        """Number of trained pairs at which the next evaluation is due.

        A chunk of work seldom ends exactly at a multiple of the interval, so it may end half an interval early.
        """
        evaluated_at = self.state.history["pairs"][-1]
        return (round(evaluated_at / self.interval) + 0.5) * self.interval if self.interval else np.inf

    def evaluate(self, pairs: int) -> None:
        """Evaluate the held-out sample after `pairs` trained pairs, and record the result in the state."""
        value = self.log_likelihood(self.sample) if len(self.sample) else np.nan
        state = self.state
        state.history["pairs"].append(pairs)
        state.history["log_likelihood"].append(value)
        if len(self.sample):
            improved = value > state.best_log_likelihood
            state.evaluations_since_best = 0 if improved else state.evaluations_since_best + 1
            state.best_log_likelihood = max(state.best_log_likelihood, value)


def held_out_sample(walks: Source, settings: PairSettings, noise: AliasTable) -> HeldOutSample:
    """Draw pairs from walks that are not trained on, and negatives against them."""
    random = np.random.Generator(np.random.PCG64(int(stream_key(walks.seed, 0, "pairs held apart"))))
    return add_negatives(
        _draw_pairs(walks.held_out(HELD_OUT_WALKS), settings, random), settings.negatives, noise, walks.seed
    )


def add_negatives(pairs: npt.NDArray[np.int64], count: int, noise: AliasTable, seed: int) -> HeldOutSample:
    """Draw `count` negatives against each pair of a center and a context."""
    negatives = np.empty((-(-len(pairs) // _PAIRS_PER_NEGATIVES), count), np.int64)
    draw_from_alias(stream_key(seed, 0, "negatives held apart"), *noise, negatives.reshape(-1))
    return np.hstack([pairs, np.repeat(negatives, _PAIRS_PER_NEGATIVES, axis=0)[: len(pairs)]])


def _draw_pairs(walks: WalkBatch, settings: PairSettings, random: np.random.Generator) -> HeldOutSample:
    """Draw pairs of a center and a context from the walks that have more than one node."""
    window = settings.window
    lengths = np.diff(walks.offsets)
    long_enough = np.flatnonzero(lengths > 1)
    if not len(long_enough):
        return np.empty((0, 2), np.int64)
    walk = long_enough[random.integers(len(long_enough), size=HELD_OUT_PAIRS)]
    center = random.integers(lengths[walk])
    low, high = np.maximum(center - window, 0), np.minimum(center + window, lengths[walk] - 1)
    context = low + random.integers(high - low)
    context += context >= center
    begin = walks.offsets[walk]
    return np.column_stack([walks.nodes[begin + center], walks.nodes[begin + context]]).astype(np.int64)
