"""The walks to train on: where they come from, what a first pass counts of them, and the chunks they are trained in."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError
from efge.graph.graph import Graph
from efge.kernels import sgd as kernel
from efge.kernels.blocks import count_visits, plan_blocks
from efge.parallel import compute_ahead
from efge.random import stream_key
from efge.walks.walks import WalkBatch

Counts = npt.NDArray[np.int64]

# About the number of centers in a block.
_CENTERS_PER_BLOCK = 40
# Nodes of a batch that are worth a thread of their own when visits are counted.
_MIN_NODES_PER_THREAD = 1 << 14
# Number of held-out walks.
HELD_OUT_WALKS = 1000


class Source(Protocol):
    """Where walks to train on come from, such as :class:`efge.Walks`."""

    graph: Graph
    seed: int
    threads: int

    @property
    def held_out_every(self) -> int | None:
        """Every n-th walk is held out of training; None if other walks can be made for that."""

    def batches(self, epoch: int = 0) -> Iterator[WalkBatch]:
        """Yield the walks of an epoch in batches, the same ones each time."""

    def held_out(self, count: int) -> WalkBatch:
        """Return walks to evaluate training by."""

    def describe(self) -> dict[str, Any]:
        """Return what the walks depend on, besides the graph."""


class BatchPlan(NamedTuple):
    """The blocks of a batch of walks."""

    blocks: Counts  # first walk of each block, and the end
    pairs_before: Counts  # pairs of a center and a context before each walk, and of all walks
    longest_block: int  # positions of the longest block


class Corpus:
    """The walks to train on, and what a first pass over all epochs counts of them.

    Attributes
    ----------
    visits : array of int64
        Visits to each node.
    pairs, positions : int
        Pairs of a center and a context, and positions of walks, in all epochs.
    longest_block : int
        Positions of the longest block.
    """

    def __init__(self, walks: Source, window: int, epochs: int) -> None:
        self.walks = walks
        self.window = window
        self.epochs = epochs
        self.visits = np.zeros(walks.graph.n_nodes, np.int64)
        self.pairs, self.positions, self.longest_block = 0, 0, 0
        with ThreadPoolExecutor(walks.threads) as pool:
            # With dead ends, walks of another epoch have other lengths: all epochs are counted.
            for epoch in range(self.epochs):
                for batch, plan in self._planned_batches(epoch):
                    self._count(batch, plan, pool)
        if len(self.visits) and not self.positions:
            raise GraphError("walks to train on visit nodes; these are empty (standard input can be read only once)")

    def _count(self, batch: WalkBatch, plan: BatchPlan, pool: ThreadPoolExecutor) -> None:
        parts = np.array_split(batch.nodes, min(self.walks.threads, 1 + len(batch.nodes) // _MIN_NODES_PER_THREAD))
        deque(pool.map(lambda nodes: count_visits(nodes, self.visits), parts), maxlen=0)
        self.positions += len(batch.nodes)
        self.pairs += int(plan.pairs_before[-1])
        self.longest_block = max(self.longest_block, plan.longest_block)

    def _planned_batches(self, epoch: int) -> Iterator[tuple[WalkBatch, BatchPlan]]:
        """Yield the batches of an epoch with their blocks; the next one is made while the current one is used."""
        return compute_ahead((batch, self._plan(batch)) for batch in self._batches(epoch))

    def _batches(self, epoch: int) -> Iterator[WalkBatch]:
        """Yield the walks of an epoch that are not held out."""
        every = self.walks.held_out_every
        first = 0
        for batch in self.walks.batches(epoch):
            numbers = np.arange(first, first + len(batch))
            first += len(batch)
            trained = batch if every is None else _select(batch, (numbers % every) != every - 1)
            if len(trained):
                yield trained

    def _plan(self, batch: WalkBatch) -> BatchPlan:
        pairs_before, blocks = np.empty(len(batch) + 1, np.int64), np.empty(len(batch) + 1, np.int64)
        offsets = batch.offsets.astype(np.int64, copy=False)
        count, longest = plan_blocks(offsets, int(self.window), _CENTERS_PER_BLOCK, pairs_before, blocks)
        return BatchPlan(blocks[: count + 1].copy(), pairs_before, longest)

    def chunks(self, rounds: int, n_blocks: int) -> Iterator[tuple[kernel.Work, int]]:
        """Yield the work in chunks of a number of rounds, and the number of pairs done after each.

        A round has `n_blocks` blocks, except for the last one of a batch: chunks of other sizes have the same rounds.
        """
        first_position, pairs_before = 0, 0
        for epoch in range(self.epochs):
            key = stream_key(self.walks.seed, epoch, "negatives")
            first_block = 0
            for batch, plan in self._planned_batches(epoch):
                if plan.longest_block > self.longest_block:
                    raise GraphError("the walks are not those that were counted; did their file change meanwhile?")
                count = len(plan.blocks) - 1
                for begin, end in pairwise([*range(0, count, rounds * n_blocks), count]):
                    number, chunk = np.uint64(first_block + begin), plan.blocks[begin : end + 1]
                    work = kernel.Work(batch.nodes, batch.offsets, chunk, key, number, first_position)
                    yield work, pairs_before + int(plan.pairs_before[chunk[-1]])
                first_block += count
                first_position += len(batch.nodes)
                pairs_before += int(plan.pairs_before[-1])


def _select(batch: WalkBatch, wanted: npt.NDArray[np.bool_]) -> WalkBatch:
    """Return the wanted walks of a batch."""
    lengths = np.diff(batch.offsets)
    offsets = np.concatenate([[0], np.cumsum(lengths[wanted])])
    return WalkBatch(batch.nodes[np.repeat(wanted, lengths)], offsets)
