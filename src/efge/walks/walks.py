"""Random walks on a graph, in rounds; a walk that meets a dead end stops there, and an isolated node is a walk alone.

Walk w of an epoch draws from a stream of its own, made from (seed, epoch, w), so that walks are the same at any number
of threads. Walks are numbered pass after pass; each pass visits all nodes once, in a random order of its own.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError, check_counts
from efge.graph.graph import Graph, Nodes, Offsets
from efge.graph.inputs import as_graph
from efge.graph.names import Fields, written_names
from efge.graph.text_edges import read_tokens
from efge.graph.text_lines import TextSource
from efge.io.atomic import written_whole
from efge.io.files import label_of, opened
from efge.kernels import text as text_kernel
from efge.kernels import walks as kernel
from efge.parallel import available_threads
from efge.random import chosen_seed, stream_key
from efge.walks.strategies import CorpusWalk, Stepper, Strategy, as_strategy

# Nodes in a round: enough to keep threads busy, few enough to stay in the cache.
_ROUND_NODES = 1 << 21
# Of a round with more nodes than this, each thread is given so many shares, so that one that is held up takes fewer.
_SMALL, _SHARES = 1 << 14, 2
_HELD_APART_EVERY = 100
# A walk of a corpus that is longer than this is cut, so that memory stays bounded; pairs across a cut are lost.
_LONGEST_WALK = 1 << 10


@dataclass(frozen=True)
class Round:
    """Some consecutive walks: walk i is ``nodes[offsets[i]:offsets[i + 1]]``, rows of the graph.

    Examples
    --------
    >>> [walk.tolist() for walk in Round(np.array([0, 1, 2]), np.array([0, 2, 3]))]
    [[0, 1], [2]]
    """

    nodes: Nodes
    offsets: Offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[Nodes]:
        return (self.nodes[begin:end] for begin, end in pairwise(self.offsets.tolist()))


class Walks:
    """Random walks on a graph, made when they are asked for and never all in memory.

    Iterating gives walks as lists of node names; :meth:`rounds` gives them as arrays.

    Parameters
    ----------
    graph : Graph, or anything :func:`efge.as_graph` takes
    strategy : str or strategy
        "uniform", "weighted", "node2vec", or one of :class:`efge.UniformWalk`, :class:`efge.WeightedWalk`,
        :class:`efge.Node2VecWalk`, :class:`efge.CorpusWalk`.
    walks_per_node : int
        Walks that start at each node.
    walk_length : int
        Nodes in a walk; a walk that meets a dead end has fewer.
    seed : int, optional
        The same seed gives the same walks, at any number of threads; without one, a random one is chosen.
    threads : int, optional
        By default, all cores.

    Examples
    --------
    >>> walks = Walks([("a", "b"), ("b", "c")], walks_per_node=2, walk_length=4, seed=1)
    >>> len(walks)
    6
    >>> next(iter(walks))
    ['a', 'b', 'c', 'b']
    """

    def __init__(
        self,
        graph: Any,
        strategy: str | Strategy = "uniform",
        *,
        walks_per_node: int = 80,
        walk_length: int = 10,
        seed: int | None = None,
        threads: int | None = None,
    ) -> None:
        check_counts(walks_per_node=walks_per_node, walk_length=walk_length, threads=threads)
        self.graph = as_graph(graph)
        self.strategy = as_strategy(strategy)
        self.walks_per_node = walks_per_node
        self.walk_length = walk_length
        self.seed = chosen_seed(seed)
        self.threads = available_threads() if threads is None else threads

    def __repr__(self) -> str:
        if isinstance(self.strategy, CorpusWalk):
            return f"Walks({self.graph}, {self.strategy})"
        settings = f"walks_per_node={self.walks_per_node}, walk_length={self.walk_length}, seed={self.seed}"
        return f"Walks({self.graph}, {self.strategy}, {settings})"

    def describe(self) -> dict[str, Any]:
        """What the walks depend on besides the graph, by name.

        Examples
        --------
        >>> Walks([(0, 1)], walks_per_node=2, seed=7).describe()
        {'strategy': 'UniformWalk()', 'seed': 7, 'walks_per_node': 2, 'walk_length': 10}
        """
        if isinstance(self.strategy, CorpusWalk):
            return {"strategy": "CorpusWalk", "seed": self.seed}
        made = {"walks_per_node": int(self.walks_per_node), "walk_length": int(self.walk_length)}
        return {"strategy": repr(self.strategy), "seed": self.seed} | made

    def __len__(self) -> int:
        if isinstance(self.strategy, CorpusWalk):
            return self._corpus_length
        return self.graph.n_nodes * self.walks_per_node

    @cached_property
    def _corpus_length(self) -> int:
        return sum(len(some) for some in self.rounds())

    def __iter__(self) -> Iterator[list[Hashable]]:
        names = self.graph.names
        for some in self.rounds():
            for walk in some:
                yield names[walk].tolist()

    def rounds(self, epoch: int = 0) -> Iterator[Round]:
        """The walks of an epoch, in order, some at a time; another epoch has other walks.

        Examples
        --------
        >>> walks = Walks([(0, 1)], walks_per_node=1, walk_length=3, seed=0)
        >>> [walk.tolist() for some in walks.rounds() for walk in some]
        [[0, 1, 0], [1, 0, 1]]
        """
        if isinstance(self.strategy, CorpusWalk):
            yield from _corpus_rounds(self.graph, self.strategy.walks, self.threads)
            return
        first, key = 0, stream_key(self.seed, epoch, "walks")
        # While one round is used the next one is made, so that no thread has to wait for another.
        made: deque[_Made] = deque()
        with ThreadPoolExecutor(self.threads) as pool:
            for starts in self._starts(epoch):
                made.append(self._begin(starts, key, first, pool))
                first += len(starts)
                if len(made) > 1:
                    yield made.popleft().whole()
            for some in made:
                yield some.whole()

    def _begin(self, starts: Nodes, key: np.uint64, first: int, pool: ThreadPoolExecutor) -> _Made:
        """Let threads make the walks from some nodes, of which the first has the number `first`."""
        walks = np.empty((len(starts), self.walk_length), self.graph.indices.dtype)
        lengths = np.empty(len(starts), np.int32)
        shares = self.threads * _SHARES if walks.size > _SMALL else 1
        cuts = np.linspace(0, len(starts), shares + 1).astype(int).tolist()
        jobs = [
            pool.submit(self._stepper.walk, starts[a:b], key, first + a, walks[a:b], lengths[a:b])
            for a, b in pairwise(cuts)
        ]
        return _Made(walks, lengths, jobs)

    @property
    def held_apart_every(self) -> int | None:
        """Of a corpus, one walk in so many is held apart from training; of random walks none, as more can be made.

        Examples
        --------
        >>> Walks([(0, 1)]).held_apart_every is None
        True
        """
        if isinstance(self.strategy, CorpusWalk) and len(self) >= _HELD_APART_EVERY:
            return _HELD_APART_EVERY
        return None

    def held_apart(self, count: int) -> Round:
        """Walks to judge training by, which it does not see; at most `count`, from random nodes.

        Of a corpus with less than a hundred walks, which are too few to do without some, these are its own.

        Examples
        --------
        >>> len(Walks([(0, 1), (1, 2)], seed=0).held_apart(10))
        10
        """
        if isinstance(self.strategy, CorpusWalk):
            step = self.held_apart_every or 1
            kept: list[Nodes] = []
            number = 0
            for some in self.rounds():
                wanted = range((step - 1 - number) % step, len(some), step)
                kept += [some.nodes[some.offsets[i] : some.offsets[i + 1]].copy() for i in wanted[: count - len(kept)]]
                number += len(some)
            return Round(np.concatenate([*kept, np.empty(0, np.int32)]), np.cumsum([0, *map(len, kept)]))
        key = stream_key(self.seed, 0, "held apart")
        starts = np.empty(count if self.graph.n_nodes else 0, self.graph.indices.dtype)
        kernel.choose(key, self.graph.n_nodes, starts)
        walks, lengths = np.empty((len(starts), self.walk_length), starts.dtype), np.empty(len(starts), np.int32)
        self._stepper.walk(starts, key, 1, walks, lengths)
        return round_of(walks, lengths)

    @cached_property
    def _stepper(self) -> Stepper:
        assert not isinstance(self.strategy, CorpusWalk)
        return self.strategy._stepper(self.graph)

    def _starts(self, epoch: int) -> Iterator[Nodes]:
        """First nodes of the walks, in pieces that make a round each; a piece may reach over several passes."""
        size = max(1, _ROUND_NODES // self.walk_length)
        piece: list[Nodes] = []
        missing = size
        for number in range(self.walks_per_node):
            order = np.empty(self.graph.n_nodes, self.graph.indices.dtype)
            kernel.shuffle(stream_key(self.seed, epoch, f"pass {number}"), order)
            while len(order):
                piece.append(order[:missing])
                order = order[missing:]
                missing -= len(piece[-1])
                if not missing:
                    yield np.concatenate(piece)
                    piece, missing = [], size
        if piece:
            yield np.concatenate(piece)

    def save(self, path: str | os.PathLike[str], progress: Callable[[int], None] | None = None) -> None:
        r"""Write the walks to a text file, a walk a line, names with spaces between; packed if named .gz.

        White space inside a name is written as an escape, ``\u0020``; :class:`efge.CorpusWalk` knows it again.
        The file appears when it is whole.

        Parameters
        ----------
        path : path, or "-"
            "-" is standard output.
        progress : callable, optional
            Called with the number of walks that have been written since the last call.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp(), "walks.txt")
        >>> Walks([("a b", "c")], walks_per_node=1, walk_length=3, seed=0).save(path)
        >>> print(path.read_text(), end="")
        a\u0020b c a\u0020b
        c a\u0020b c
        """
        names = Fields.of(written_names(self.graph.names))
        starts = np.append(names.starts, len(names.data))
        sizes = np.diff(starts) + 1
        with written_whole(path) as stream:
            for some in self.rounds():
                data = np.empty(int(sizes[some.nodes].sum()), np.uint8)
                text_kernel.join_names(some.nodes, some.offsets, names.data, starts, data)
                stream.write(data.data)
                if progress is not None:
                    progress(len(some))


@dataclass(frozen=True)
class _Made:
    """A round that is being made."""

    walks: npt.NDArray[Any]
    lengths: npt.NDArray[np.int32]
    jobs: list[Future[None]]

    def whole(self) -> Round:
        """The round, when all of it is there."""
        for job in self.jobs:
            job.result()
        return round_of(self.walks, self.lengths)


def round_of(walks: npt.NDArray[Any], lengths: npt.NDArray[np.int32]) -> Round:
    """Drop what is no part of a walk, so that nothing downstream can take it for one."""
    length = walks.shape[1]
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    whole = offsets[-1] == walks.size
    return Round(walks.reshape(-1) if whole else walks[np.arange(length) < lengths[:, None]], offsets)


def _corpus_rounds(
    graph: Graph, walks: str | os.PathLike[str] | Sequence[Sequence[Hashable]], threads: int
) -> Iterator[Round]:
    if not isinstance(walks, (str, os.PathLike)):
        yield _listed_round(graph, walks)
        return
    with opened(walks) as stream:
        for tokens in read_tokens(TextSource(stream, label_of(walks), comments=""), graph.names, threads):
            unknown = tokens.numbers >= graph.n_nodes
            if unknown.any():
                place, word = tokens.describe(int(np.argmax(unknown)))
                raise GraphError(f"{place}: a walk goes over nodes of the graph; there is no {word[:80]!r}")
            yield _cut(Round(tokens.numbers, tokens.firsts))


def _listed_round(graph: Graph, walks: Sequence[Sequence[Hashable]]) -> Round:
    nodes = graph.rows([name for walk in walks for name in walk]).astype(graph.indices.dtype)
    return _cut(Round(nodes, np.cumsum([0, *map(len, walks)])))


def _cut(some: Round) -> Round:
    """Cut walks that are too long."""
    lengths = np.diff(some.offsets)
    if lengths.max(initial=0) <= _LONGEST_WALK:
        return some
    cuts = [np.arange(begin, end, _LONGEST_WALK) for begin, end in pairwise(some.offsets.tolist())]
    return Round(some.nodes, np.append(np.concatenate(cuts), some.offsets[-1]))
