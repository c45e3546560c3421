"""The schedule of partitioned training: which walks make a wave, and in which order its buckets are trained.

A wave of walks is divided into buckets, one for each pair of a partition of centers and a partition of contexts.
Buckets that share no partition can be trained anywhere, in any order, at the same time. The schedule is a function of
the graph, the settings, the seed and the number of partitions; it never depends on what executes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from efge.kernels.random import random_permutation
from efge.random import stream_key
from efge.training.partitioned.partitioning import Counts
from efge.training.settings import Settings
from efge.training.tables import padded_width
from efge.walks.strategies import Stepper
from efge.walks.walks import WalkBatch, Walks

# Training has at least this many waves if each then has at least this many walks per node. Within a wave, a center is
# trained with its contexts cell by cell; the fewer at a time, the less that matters, but the more often partitions are
# read.
_MIN_WAVES, _MIN_WALKS_PER_NODE = 30, 8 / 3
# A wave has at most this many pairs per entry of a table, so that the buckets of one partition of centers take as much
# memory as that many partitions; or this many pairs in all, which fit anywhere.
_PAIRS_PER_ENTRY, _SMALL_WAVE_PAIRS = 2, 1 << 22
# The first wave is this many times smaller than most, and each wave is twice the one before until they are as large:
# vectors take their common direction early, and in large waves each pair of partitions would take a direction of its
# own, which it would keep.
_GROWTH = 32
# Positions of walks that are made together: this many per node, within these limits.
_POSITIONS_PER_NODE, _MIN_POSITIONS, _MAX_POSITIONS = 2, 1 << 16, 1 << 21


class WalkRange(NamedTuple):
    """Consecutive walks of an epoch, by their numbers: `n_walks` walks from `first` on."""

    epoch: int
    first: int
    n_walks: int


# The ranges of walks of each wave.
Waves = list[list[WalkRange]]


@dataclass(frozen=True)
class Walker:
    """Makes walks by their numbers, without the walks before them and without node names: all that a worker needs."""

    stepper: Stepper
    n_nodes: int
    dtype: np.dtype[np.signedinteger[npt.NBitBase]]
    walk_length: int
    seed: int

    @classmethod
    def of(cls, walks: Walks) -> Walker:
        """Return a walker that makes the same walks."""
        dtype = walks.graph.indices.dtype
        return cls(walks._stepper, walks.graph.n_nodes, dtype, int(walks.walk_length), walks.seed)

    def walks(self, walk_range: WalkRange) -> WalkBatch:
        """Return the walks of a range."""
        epoch, first, count = walk_range
        starts = self._starts(walk_range)
        walks, lengths = np.empty((count, self.walk_length), self.dtype), np.empty(count, np.int32)
        self.stepper.walk(starts, stream_key(self.seed, epoch, "walks"), first, walks, lengths)
        return WalkBatch.from_padded(walks, lengths)

    def _starts(self, walk_range: WalkRange) -> npt.NDArray[np.signedinteger[npt.NBitBase]]:
        """Return the first node of each walk; a range may extend over several passes over all nodes."""
        epoch, first, count = walk_range
        starts, filled = np.empty(count, self.dtype), 0
        while filled < count:
            number, skipped = divmod(first + filled, self.n_nodes)
            order = np.empty(self.n_nodes, self.dtype)
            random_permutation(stream_key(self.seed, epoch, f"pass {number}"), order)
            nodes = order[skipped : skipped + count - filled]
            starts[filled : filled + len(nodes)] = nodes
            filled += len(nodes)
        return starts


def plan_waves(walks: Walks, settings: Settings) -> Waves:
    """Divide all walks into waves of about the same size, few enough to be fast and small enough to bound memory."""
    length, nodes = int(walks.walk_length), walks.graph.n_nodes
    window = min(int(settings.window), length - 1)
    walks_per_epoch = nodes * int(walks.walks_per_node)
    total = walks_per_epoch * int(settings.epochs)
    pairs = total * (2 * window * length - window * (window + 1))
    max_pairs = max(_PAIRS_PER_ENTRY * nodes * padded_width(settings.dim), _SMALL_WAVE_PAIRS)
    passes = int(walks.walks_per_node) * int(settings.epochs)
    count = max(math.ceil(pairs / max_pairs), min(_MIN_WAVES, math.ceil(passes / _MIN_WALKS_PER_NODE)))
    range_size = max(1, min(max(_POSITIONS_PER_NODE * nodes, _MIN_POSITIONS), _MAX_POSITIONS) // length)
    sizes = np.minimum(2.0 ** np.arange(count + (_GROWTH - 1).bit_length()) / _GROWTH, 1.0)
    ends = np.cumsum(sizes)
    bounds = [0, *(total * (ends / ends[-1])).astype(np.int64).tolist()]
    return [list(_split_range(begin, end, walks_per_epoch, range_size)) for begin, end in pairwise(bounds)]


def _split_range(begin: int, end: int, walks_per_epoch: int, size: int) -> Iterator[WalkRange]:
    while begin < end:
        epoch, first = divmod(begin, walks_per_epoch)
        count = min(end - begin, walks_per_epoch - first, size)
        yield WalkRange(epoch, first, count)
        begin += count


def count_visits(walker: Walker, waves: Waves, window: int) -> tuple[Counts, list[int]]:
    """Return how often the walks of some waves visit each node, and the number of pairs of each wave."""
    visits, pairs = np.zeros(walker.n_nodes, np.int64), []
    for wave in waves:
        wave_visits, wave_pairs = _count_wave(walker, wave, window)
        visits += wave_visits
        pairs.append(wave_pairs)
    return visits, pairs


def _count_wave(walker: Walker, wave: Iterable[WalkRange], window: int) -> tuple[Counts, int]:
    visits, pairs = np.zeros(walker.n_nodes, np.int64), 0
    for walk_range in wave:
        batch = walker.walks(walk_range)
        np.add.at(visits, batch.nodes, 1)
        lengths = np.diff(batch.offsets)
        reach = np.minimum(window, np.maximum(lengths - 1, 0))
        pairs += int((2 * reach * lengths - reach * (reach + 1)).sum())
    return visits, pairs


class Bucket(NamedTuple):
    """A bucket of a wave: its place in the schedule, and the learning rates of its wave."""

    wave: int
    sub_wave: int
    centers: int  # partition of centers
    contexts: int  # partition of contexts
    first_rate: float  # learning rate when the wave begins
    last_rate: float  # learning rate when the wave ends


def sub_waves(wave: int, partitions: int, seed: int) -> list[list[tuple[int, int]]]:
    """Return the partitions of centers and contexts of each bucket, sub-wave by sub-wave.

    In a sub-wave, no partition occurs twice. Partitions are renumbered by random orders of each wave; then sub-wave s
    has the buckets (i, (i + s) mod P) for each partition i of P.
    """
    centers, contexts = np.empty(partitions, np.int64), np.empty(partitions, np.int64)
    random_permutation(stream_key(seed, wave, "order of parts of centers"), centers)
    random_permutation(stream_key(seed, wave, "order of parts of contexts"), contexts)
    return [
        [(int(centers[i]), int(contexts[(i + s) % partitions])) for i in range(partitions)] for s in range(partitions)
    ]
