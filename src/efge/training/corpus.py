"""The walks to train on: where they come from, what a first pass counts of them, and the chunks they are trained in."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError
from efge.graph.graph import Graph
from efge.kernels import sgd as kernel
from efge.random import stream_key
from efge.walks.walks import WalkBatch

Counts = npt.NDArray[np.int64]

# About the number of centers in a block.
_CENTERS_PER_BLOCK = 40
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


class Corpus:
    """The walks to train on, and what a first pass over all epochs counts of them.

    Attributes
    ----------
    visits : array of int64
        Visits to each node. In stars, a center counts once for each of its contexts.
    pairs, centers, positions : int
        Pairs of a center and a context, centers, and positions of walks, in all epochs.
    longest_block, max_centers : int
        Positions of the longest block, and the largest number of centers in a block.
    """

    def __init__(self, walks: Source, window: int, epochs: int, stars: bool = False) -> None:
        self.walks = walks
        self.window = window
        self.stars = stars
        self.epochs = epochs
        self.visits = np.zeros(walks.graph.n_nodes, np.int64)
        self.pairs, self.centers, self.positions, self.longest_block, self.max_centers = 0, 0, 0, 0, 0
        # With dead ends, walks of another epoch have other lengths: all epochs are counted.
        for epoch in range(self.epochs):
            for batch in self._batches(epoch):
                self._count(batch)
        if len(self.visits) and not self.positions:
            raise GraphError("walks to train on visit nodes; these are empty (standard input can be read only once)")

    def _count(self, batch: WalkBatch) -> None:
        self.visits += np.bincount(batch.nodes, minlength=len(self.visits))
        if self.stars:
            # A center counts once for each of its contexts, as if each pair were a walk.
            repeated = np.repeat(batch.nodes[batch.offsets[:-1]], np.maximum(np.diff(batch.offsets) - 2, 0))
            self.visits += np.bincount(repeated, minlength=len(self.visits))
        self.positions += len(batch.nodes)
        self.pairs += int(self._pairs_before(batch)[-1])
        self.centers += len(batch) if self.stars else len(batch.nodes)
        blocks = self._blocks(batch)
        longest = longest_block(batch, blocks)
        self.longest_block = max(self.longest_block, longest)
        walks_per_block = int(np.diff(blocks).max(initial=0))
        self.max_centers = max(self.max_centers, walks_per_block if self.stars else longest)

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

    def _pairs_before(self, batch: WalkBatch) -> Counts:
        """Return the number of pairs of a center and a context before each walk, and of all walks."""
        length = np.diff(batch.offsets)
        reach = np.minimum(self.window, np.maximum(length - 1, 0))
        pairs = length - 1 if self.stars else 2 * reach * length - reach * (reach + 1)
        return np.concatenate([[0], np.cumsum(pairs)]).astype(np.int64)

    def _blocks(self, batch: WalkBatch) -> Counts:
        """Return the first walk of each block, and the end.

        Centers are cut into stretches of equal length; walks whose first centers are in the same one are a block.
        """
        stretch = (np.arange(len(batch)) if self.stars else batch.offsets[:-1]) // _CENTERS_PER_BLOCK
        return np.append(np.flatnonzero(np.diff(stretch, prepend=-1)), len(batch)).astype(np.int64)

    def chunks(self, positions: int) -> Iterator[tuple[kernel.Work, int]]:
        """Yield the work in chunks of about this number of positions, and the number of pairs done after each."""
        first_position, pairs_before = 0, 0
        for epoch in range(self.epochs):
            key = stream_key(self.walks.seed, epoch, "negatives")
            first_block = 0
            for batch in self._batches(epoch):
                blocks, pairs = self._blocks(batch), self._pairs_before(batch)
                if longest_block(batch, blocks) > self.longest_block:
                    raise GraphError("the walks are not those that were counted; did their file change meanwhile?")
                cuts = np.flatnonzero(np.diff(batch.offsets[blocks[:-1]] // positions, prepend=-1)).tolist()
                for begin, end in pairwise([*cuts, len(blocks) - 1]):
                    number, chunk = np.uint64(first_block + begin), blocks[begin : end + 1]
                    work = kernel.Work(batch.nodes, batch.offsets, chunk, key, number, first_position)
                    yield work, pairs_before + int(pairs[chunk[-1]])
                first_block += len(blocks) - 1
                first_position += len(batch.nodes)
                pairs_before += int(pairs[-1])


def _select(batch: WalkBatch, wanted: npt.NDArray[np.bool_]) -> WalkBatch:
    """Return the wanted walks of a batch."""
    lengths = np.diff(batch.offsets)
    offsets = np.concatenate([[0], np.cumsum(lengths[wanted])])
    return WalkBatch(batch.nodes[np.repeat(wanted, lengths)], offsets)


def longest_block(batch: WalkBatch, blocks: Counts) -> int:
    """Return the number of positions in the longest block."""
    return int(np.diff(batch.offsets[blocks]).max(initial=0))
