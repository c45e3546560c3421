"""What goes on beside training: threads that share its work, looks at pairs held apart, and states that are kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from efge.kernels import sgd_reference as plain
from efge.random import stream_key
from efge.training.checkpoints import State
from efge.training.corpus import HELD_WALKS, Source
from efge.walks.walks import Round

Sample = npt.NDArray[np.int64]
Alias = tuple[npt.NDArray[np.uint32], npt.NDArray[np.int32]]

# Pairs held apart, and how often they are looked at; so many of them share their negatives, for most of the time of a
# look is that of fetching rows.
_HELD_PAIRS, LOOKS = 4096, 20
_SHARED_BY = 8


@dataclass(frozen=True)
class Reach:
    """How far contexts are from a center, whether walks are stars, and how many negatives stand against each."""

    window: int
    stars: bool
    negatives: int


class Look:
    """Looks now and then at pairs and negatives held apart from training, of which there are `pairs` in all.

    `measure` says how likely a sample is, of which each row is a center, a context and the negatives against it.
    """

    def __init__(
        self, walks: Source, reach: Reach, noise: Alias, pairs: int, measure: Callable[[Sample], float]
    ) -> None:
        self.interval = pairs / LOOKS
        self.state = State()
        self.measure = measure
        random = np.random.Generator(np.random.PCG64(int(stream_key(walks.seed, 0, "pairs held apart"))))
        found = _some_pairs(walks.held_apart(HELD_WALKS), reach, random)
        negatives = np.empty((-(-len(found) // _SHARED_BY), reach.negatives), np.int64)
        plain.draw(stream_key(walks.seed, 0, "negatives held apart"), *noise, negatives.reshape(-1))
        self.sample = np.hstack([found, np.repeat(negatives, _SHARED_BY, axis=0)[: len(found)]])

    @property
    def last(self) -> float:
        """What the last look saw."""
        return self.state.history["log_likelihood"][-1]

    @property
    def due(self) -> float:
        """After how many pairs to look again; the end of a piece is seldom quite there."""
        seen = self.state.history["pairs"][-1]
        return (round(seen / self.interval) + 0.5) * self.interval if self.interval else np.inf

    def __call__(self, pairs: int) -> None:
        """Look, when so many pairs are done."""
        value = self.measure(self.sample) if len(self.sample) else np.nan
        state = self.state
        state.history["pairs"].append(pairs)
        state.history["log_likelihood"].append(value)
        if len(self.sample):
            state.since_best = 0 if value > state.best else state.since_best + 1
            state.best = max(state.best, value)


def _some_pairs(walks: Round, reach: Reach, random: np.random.Generator) -> Sample:
    """Pairs of a center and a context, drawn from walks of more than one node."""
    window = reach.window
    lengths = np.diff(walks.offsets)
    long_enough = np.flatnonzero(lengths > 1)
    if not len(long_enough):
        return np.empty((0, 2), np.int64)
    walk = long_enough[random.integers(len(long_enough), size=_HELD_PAIRS)]
    center = random.integers(np.ones_like(walk) if reach.stars else lengths[walk])
    low, high = np.maximum(center - window, 0), np.minimum(center + window, lengths[walk] - 1)
    high = lengths[walk] - 1 if reach.stars else high
    context = low + random.integers(high - low)
    context += context >= center
    begin = walks.offsets[walk]
    return np.column_stack([walks.nodes[begin + center], walks.nodes[begin + context]]).astype(np.int64)
