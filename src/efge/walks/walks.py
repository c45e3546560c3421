"""Random walks on a graph, in batches. A walk ends at a dead end; a walk from an isolated node is that node alone.

Walk w of an epoch draws from its own random stream, derived from (seed, epoch, w), so that walks are the same at any
number of threads. Walks are numbered pass by pass; each pass starts one walk at every node, in its own random order.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError, check_functions, check_positive_integers, is_integer
from efge.graph.graph import Graph, Nodes, Offsets
from efge.graph.inputs import as_graph, as_graph_with_edges
from efge.graph.names import Fields, format_names, list_names
from efge.graph.text_edges import read_tokens
from efge.graph.text_lines import TextSource
from efge.io.atomic import atomic_write
from efge.io.files import display_name, open_input
from efge.kernels import text as text_kernel
from efge.kernels.blocks import pack_walks
from efge.kernels.random import random_integers, random_permutation
from efge.random import resolve_seed, stream_key
from efge.system import available_threads
from efge.walks.strategies import CorpusWalk, Stepper, Strategy, as_strategy

# Positions in a batch, at least and at most; in between, this number for each node of the graph. Each batch costs every
# thread some time to begin with, which counts where many threads train a large graph.
_MIN_BATCH, _MAX_BATCH, _BATCH_PER_NODE = 1 << 21, 1 << 22, 40
# A batch with more nodes than this is divided into several chunks per thread, so that a thread that is slowed down by
# other work takes fewer of them.
_SMALL_BATCH_NODES, _CHUNKS_PER_THREAD = 1 << 14, 2
_HELD_OUT_EVERY = 100
# Longer walks of a corpus are cut at this number of nodes, so that memory stays bounded; pairs across a cut are lost.
_MAX_WALK_LENGTH = 1 << 10


def batch_positions(n_nodes: int) -> int:
    """Return the number of positions of the walks in a batch.

    Examples
    --------
    >>> batch_positions(1000) == 2**21
    True
    """
    return min(max(_BATCH_PER_NODE * n_nodes, _MIN_BATCH), _MAX_BATCH)


@dataclass(frozen=True)
class WalkBatch:
    """Consecutive walks: walk i is ``nodes[offsets[i]:offsets[i + 1]]``, with nodes as rows of the graph.

    Examples
    --------
    >>> [walk.tolist() for walk in WalkBatch(np.array([0, 1, 2]), np.array([0, 2, 3]))]
    [[0, 1], [2]]
    """

    nodes: Nodes
    offsets: Offsets

    @classmethod
    def from_padded(cls, walks: npt.NDArray[Any], lengths: npt.NDArray[np.int32]) -> WalkBatch:
        """Drop the padding after the end of each row of `walks`, so that nothing later can take it for nodes.

        Examples
        --------
        >>> padded = np.array([[0, 1], [2, -1]])
        >>> [walk.tolist() for walk in WalkBatch.from_padded(padded, np.array([2, 1], np.int32))]
        [[0, 1], [2]]
        """
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        if offsets[-1] == walks.size:
            return cls(walks.reshape(-1), offsets)
        nodes = np.empty(int(offsets[-1]), walks.dtype)
        pack_walks(walks, offsets, nodes)
        return cls(nodes, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[Nodes]:
        return (self.nodes[begin:end] for begin, end in pairwise(self.offsets.tolist()))


class Walks:
    """Random walks on a graph, made while they are iterated over and never all in memory.

    Iterating yields walks as lists of node names; :meth:`batches` yields them as arrays.

    Parameters
    ----------
    graph : Graph, or anything :func:`efge.as_graph` accepts
        With at least one edge, unless the walks are those of a corpus.
    strategy : str or strategy
        "uniform", "weighted", "node2vec", or one of :class:`efge.UniformWalk`, :class:`efge.WeightedWalk`,
        :class:`efge.Node2VecWalk`, :class:`efge.CorpusWalk`.
    walks_per_node : int
        Number of walks that start at each node.
    walk_length : int
        Number of nodes in a walk, at least 2; a walk that reaches a dead end has fewer.
    seed : int, optional
        The same seed gives the same walks, at any number of threads. By default, a random seed is chosen.
    threads : int, optional
        Number of threads; by default, all cores.

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
        check_positive_integers(walks_per_node=walks_per_node, walk_length=walk_length, threads=threads)
        if walk_length == 1:
            raise ValueError("walk_length must be at least 2, because a walk of one node goes nowhere; got 1")
        self.strategy = as_strategy(strategy)
        # A corpus has its walks already, and needs only the names of the nodes.
        self.graph = as_graph(graph) if isinstance(self.strategy, CorpusWalk) else as_graph_with_edges(graph)
        self.walks_per_node = walks_per_node
        self.walk_length = walk_length
        self.seed = resolve_seed(seed)
        self.threads = available_threads() if threads is None else threads

    def __repr__(self) -> str:
        if isinstance(self.strategy, CorpusWalk):
            return f"Walks({self.graph}, {self.strategy})"
        settings = f"walks_per_node={self.walks_per_node}, walk_length={self.walk_length}, seed={self.seed}"
        return f"Walks({self.graph}, {self.strategy}, {settings})"

    def describe(self) -> dict[str, Any]:
        """Return everything that the walks depend on besides the graph, by name.

        Examples
        --------
        >>> Walks([(0, 1)], walks_per_node=2, seed=7).describe()
        {'strategy': 'UniformWalk()', 'seed': 7, 'walks_per_node': 2, 'walk_length': 10}
        """
        if isinstance(self.strategy, CorpusWalk):
            return {"strategy": "CorpusWalk", "seed": self.seed}
        return {
            "strategy": repr(self.strategy),
            "seed": self.seed,
            "walks_per_node": int(self.walks_per_node),
            "walk_length": int(self.walk_length),
        }

    def __len__(self) -> int:
        if isinstance(self.strategy, CorpusWalk):
            return self._corpus_length
        return self.graph.n_nodes * self.walks_per_node

    @cached_property
    def _corpus_length(self) -> int:
        return sum(len(batch) for batch in self.batches())

    def __iter__(self) -> Iterator[list[Hashable]]:
        names = self.graph.names
        for batch in self.batches():
            for walk in batch:
                yield names[walk].tolist()

    def batches(self, epoch: int = 0) -> Iterator[WalkBatch]:
        """Yield the walks of an epoch in order, batch by batch; each epoch has different walks.

        Examples
        --------
        >>> walks = Walks([(0, 1)], walks_per_node=1, walk_length=3, seed=0)
        >>> [walk.tolist() for batch in walks.batches() for walk in batch]
        [[0, 1, 0], [1, 0, 1]]
        """
        if not is_integer(epoch) or epoch < 0:
            raise ValueError(f"epoch is an integer from 0 on; got {epoch!r}")
        if isinstance(self.strategy, CorpusWalk):
            yield from _corpus_batches(self.graph, self.strategy.walks, self.threads)
            return
        first, key = 0, stream_key(self.seed, epoch, "walks")
        # The next batch is made while the current one is used, so that no thread waits for another.
        pending: deque[_PendingBatch] = deque()
        with ThreadPoolExecutor(self.threads) as pool:
            for starts in self._starts(epoch):
                pending.append(self._submit(starts, key, first, pool))
                first += len(starts)
                if len(pending) > 1:
                    yield pending.popleft().result()
            for batch in pending:
                yield batch.result()

    def _submit(self, starts: Nodes, key: np.uint64, first: int, pool: ThreadPoolExecutor) -> _PendingBatch:
        """Let the threads of a pool make walks from the nodes `starts`, which are numbered from `first` on."""
        walks = np.empty((len(starts), self.walk_length), self.graph.indices.dtype)
        lengths = np.empty(len(starts), np.int32)
        chunks = self.threads * _CHUNKS_PER_THREAD if walks.size > _SMALL_BATCH_NODES else 1
        bounds = np.linspace(0, len(starts), chunks + 1).astype(int).tolist()
        futures = [
            pool.submit(self._stepper.walk, starts[a:b], key, first + a, walks[a:b], lengths[a:b])
            for a, b in pairwise(bounds)
        ]
        return _PendingBatch(walks, lengths, futures)

    @property
    def held_out_every(self) -> int | None:
        """The n such that every n-th walk is held out of training, or None if no walk is.

        Only walks of a corpus are held out; of random walks, further ones can be made instead.

        Examples
        --------
        >>> Walks([(0, 1)]).held_out_every is None
        True
        """
        if isinstance(self.strategy, CorpusWalk) and len(self) >= _HELD_OUT_EVERY:
            return _HELD_OUT_EVERY
        return None

    def held_out(self, count: int) -> WalkBatch:
        """Return at most `count` walks to evaluate training on, which it does not see.

        Random walks start at random nodes. A corpus of less than a hundred walks is too small to hold any out; its
        first walks are returned.

        Examples
        --------
        >>> len(Walks([(0, 1), (1, 2)], seed=0).held_out(10))
        10
        """
        check_positive_integers(count=count)
        if isinstance(self.strategy, CorpusWalk):
            return self._held_out_of_corpus(count)
        key = stream_key(self.seed, 0, "held apart")
        starts = np.empty(count if self.graph.n_nodes else 0, self.graph.indices.dtype)
        random_integers(key, self.graph.n_nodes, starts)
        walks, lengths = np.empty((len(starts), self.walk_length), starts.dtype), np.empty(len(starts), np.int32)
        self._stepper.walk(starts, key, 1, walks, lengths)
        return WalkBatch.from_padded(walks, lengths)

    def _held_out_of_corpus(self, count: int) -> WalkBatch:
        step = self.held_out_every or 1
        chosen: list[Nodes] = []
        walks_before = 0
        for batch in self.batches():
            numbers = range((step - 1 - walks_before) % step, len(batch), step)[: count - len(chosen)]
            chosen += [batch.nodes[batch.offsets[i] : batch.offsets[i + 1]].copy() for i in numbers]
            walks_before += len(batch)
        return WalkBatch(np.concatenate([*chosen, np.empty(0, np.int32)]), np.cumsum([0, *map(len, chosen)]))

    @cached_property
    def _stepper(self) -> Stepper:
        assert not isinstance(self.strategy, CorpusWalk)
        return self.strategy._stepper(self.graph)

    def _starts(self, epoch: int) -> Iterator[Nodes]:
        """Yield the first nodes of the walks of each batch; a batch may extend over several passes."""
        size = max(1, batch_positions(self.graph.n_nodes) // self.walk_length)
        chunks: list[Nodes] = []
        missing = size
        for number in range(self.walks_per_node):
            order = np.empty(self.graph.n_nodes, self.graph.indices.dtype)
            random_permutation(stream_key(self.seed, epoch, f"pass {number}"), order)
            while len(order):
                chunks.append(order[:missing])
                order = order[missing:]
                missing -= len(chunks[-1])
                if not missing:
                    yield np.concatenate(chunks)
                    chunks, missing = [], size
        if chunks:
            yield np.concatenate(chunks)

    def save(self, path: str | os.PathLike[str], progress: Callable[[int], None] | None = None) -> None:
        r"""Write the walks to a text file, one per line, with spaces between names.

        A file whose name ends in .gz, .bz2, .xz or .zst is compressed. White space inside a name is written as an
        escape such as ``\u0020``, which :class:`efge.CorpusWalk` reads back. The file appears under its name only when
        it is complete.

        Parameters
        ----------
        path : path, or "-"
            "-" is standard output.
        progress : callable, optional
            Called with the number of walks written since the last call.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp(), "walks.txt")
        >>> Walks([("a b", "c")], walks_per_node=1, walk_length=3, seed=0).save(path)
        >>> print(path.read_text(), end="")
        a\u0020b c a\u0020b
        c a\u0020b c
        """
        check_functions(progress=progress)
        names = Fields.from_texts(format_names(self.graph.names))
        starts = np.append(names.starts, len(names.data))
        sizes = np.diff(starts) + 1
        with atomic_write(path) as stream:
            for batch in self.batches():
                data = np.empty(int(sizes[batch.nodes].sum()), np.uint8)
                text_kernel.join_names(batch.nodes, batch.offsets, names.data, starts, data)
                stream.write(data.data)
                if progress is not None:
                    progress(len(batch))


@dataclass(frozen=True)
class _PendingBatch:
    """A batch that threads are making."""

    walks: npt.NDArray[Any]
    lengths: npt.NDArray[np.int32]
    futures: list[Future[None]]

    def result(self) -> WalkBatch:
        """Wait for the batch and return it."""
        for future in self.futures:
            future.result()
        return WalkBatch.from_padded(self.walks, self.lengths)


def _corpus_batches(
    graph: Graph, walks: str | os.PathLike[str] | Sequence[Sequence[Hashable]], threads: int
) -> Iterator[WalkBatch]:
    if not isinstance(walks, (str, os.PathLike)):
        yield _batch_from_lists(graph, walks)
        return
    with open_input(walks) as stream:
        for tokens in read_tokens(TextSource(stream, display_name(walks), comments=""), graph.names, threads):
            unknown = tokens.rows >= graph.n_nodes
            if unknown.any():
                location, word = tokens.describe(int(np.argmax(unknown)))
                raise GraphError(f"{location}: every node of a walk is in the graph; there is no node {word[:80]!r}")
            yield _cut_long_walks(WalkBatch(tokens.rows, tokens.line_starts))


def _batch_from_lists(graph: Graph, walks: Any) -> WalkBatch:
    if isinstance(walks, bytes) or not isinstance(walks, Iterable):
        raise GraphError(f"walks is a path, or a list of walks; got {walks!r}"[:500])
    nodes = graph.rows([name for walk in walks for name in list_names("a walk", walk)]).astype(graph.indices.dtype)
    return _cut_long_walks(WalkBatch(nodes, np.cumsum([0, *map(len, walks)])))


def _cut_long_walks(batch: WalkBatch) -> WalkBatch:
    """Cut walks that are longer than the limit into several."""
    lengths = np.diff(batch.offsets)
    if lengths.max(initial=0) <= _MAX_WALK_LENGTH:
        return batch
    cuts = [np.arange(begin, end, _MAX_WALK_LENGTH) for begin, end in pairwise(batch.offsets.tolist())]
    return WalkBatch(batch.nodes, np.append(np.concatenate(cuts), batch.offsets[-1]))
