"""The walks to train on: where they come from, what a first pass counts of them, and the pieces they are trained in."""

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
from efge.walks.walks import Round

# Centers in a block; walks that are held apart.
CENTERS_A_BLOCK, HELD_WALKS = 40, 1000


class Source(Protocol):
    """Where walks to train on come from, such as :class:`efge.Walks`."""

    graph: Graph
    seed: int
    threads: int

    @property
    def held_apart_every(self) -> int | None:
        """One walk in so many is held apart; None where others can be made."""

    def rounds(self, epoch: int = 0) -> Iterator[Round]:
        """The walks, some at a time, each time the same."""

    def held_apart(self, count: int) -> Round:
        """Walks to judge training by."""

    def describe(self) -> dict[str, Any]:
        """What the walks depend on, besides the graph."""


class Corpus:
    """The walks to train on: what a first pass counts of them, and their pieces."""

    def __init__(self, walks: Source, window: int, epochs: int, stars: bool = False) -> None:
        self.walks = walks
        self.window = window
        self.stars = stars
        self.epochs = epochs
        self.visits = np.zeros(walks.graph.n_nodes, np.int64)
        self.pairs, self.centers, self.positions, self.longest_block, self.most_centers = 0, 0, 0, 0, 0
        # With dead ends, walks of another epoch have other lengths; all that is trained on is counted.
        for epoch in range(self.epochs):
            for some in self._rounds(epoch):
                self.visits += np.bincount(some.nodes, minlength=len(self.visits))
                if stars:
                    # A center counts as often as its contexts, as if each pair were a walk.
                    again = np.repeat(some.nodes[some.offsets[:-1]], np.maximum(np.diff(some.offsets) - 2, 0))
                    self.visits += np.bincount(again, minlength=len(self.visits))
                self.positions += len(some.nodes)
                self.pairs += int(self._pairs(some)[-1])
                self.centers += len(some) if stars else len(some.nodes)
                blocks = self._blocks(some)
                self.longest_block = max(self.longest_block, longest_block(some, blocks))
                walks_a_block = int(np.diff(blocks).max(initial=0))
                self.most_centers = max(self.most_centers, walks_a_block if stars else longest_block(some, blocks))
        if len(self.visits) and not self.positions:
            raise GraphError("walks to train on visit nodes; these are empty (standard input can be read only once)")

    def _rounds(self, epoch: int) -> Iterator[Round]:
        held = self.walks.held_apart_every
        number = 0
        for some in self.walks.rounds(epoch):
            numbers = np.arange(number, number + len(some))
            number += len(some)
            kept = some if held is None else _chosen(some, (numbers % held) != held - 1)
            if len(kept):
                yield kept

    def _pairs(self, some: Round) -> npt.NDArray[np.int64]:
        """Pairs of a center and a context before each walk, and in all."""
        length = np.diff(some.offsets)
        reach = np.minimum(self.window, np.maximum(length - 1, 0))
        pairs = length - 1 if self.stars else 2 * reach * length - reach * (reach + 1)
        return np.concatenate([[0], np.cumsum(pairs)]).astype(np.int64)

    def _blocks(self, some: Round) -> npt.NDArray[np.int64]:
        """The first walks of blocks, and the end: walks whose centers begin in the same stretch are a block."""
        stretch = (np.arange(len(some)) if self.stars else some.offsets[:-1]) // CENTERS_A_BLOCK
        return np.append(np.flatnonzero(np.diff(stretch, prepend=-1)), len(some)).astype(np.int64)

    def pieces(self, positions: int) -> Iterator[tuple[kernel.Work, int]]:
        """The work, some at a time, and how many pairs are done with it."""
        first_position, pairs_before = 0, 0
        for epoch in range(self.epochs):
            key = stream_key(self.walks.seed, epoch, "negatives")
            first_block = 0
            for some in self._rounds(epoch):
                blocks, pairs = self._blocks(some), self._pairs(some)
                if longest_block(some, blocks) > self.longest_block:
                    raise GraphError("the walks are not those that were counted; did their file change meanwhile?")
                cuts = np.flatnonzero(np.diff(some.offsets[blocks[:-1]] // positions, prepend=-1)).tolist()
                for begin, end in pairwise([*cuts, len(blocks) - 1]):
                    number = np.uint64(first_block + begin)
                    piece = blocks[begin : end + 1]
                    work = kernel.Work(some.nodes, some.offsets, piece, key, number, first_position)
                    yield work, pairs_before + int(pairs[piece[-1]])
                first_block += len(blocks) - 1
                first_position += len(some.nodes)
                pairs_before += int(pairs[-1])


def _chosen(some: Round, wanted: npt.NDArray[np.bool_]) -> Round:
    lengths = np.diff(some.offsets)
    offsets = np.concatenate([[0], np.cumsum(lengths[wanted])])
    return Round(some.nodes[np.repeat(wanted, lengths)], offsets)


def longest_block(some: Round, blocks: npt.NDArray[np.int64]) -> int:
    """Positions in the longest block, for which there must be room."""
    return int(np.diff(some.offsets[blocks]).max(initial=0))
