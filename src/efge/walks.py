"""Random walks on a graph, in rounds; a walk that meets a dead end stops there, and an isolated node is a walk alone.

Walk w of an epoch draws from a stream of its own, made from (seed, epoch, w), so that walks are the same at any number
of threads. Walks are numbered pass after pass; each pass visits all nodes once, in a random order of its own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError, check_counts
from efge.files import label_of, opened, written_whole
from efge.graph import Graph, Nodes, Offsets
from efge.inputs import as_graph
from efge.kernels import text as text_kernel
from efge.kernels import walks as kernel
from efge.kernels.streams import alias_tables
from efge.names import Fields, written_names
from efge.seeds import chosen_seed, stream_key
from efge.textfiles import read_tokens
from efge.textlines import TextSource
from efge.threads import available_threads

# Nodes in a round: enough to keep threads busy, few enough to stay in the cache.
_ROUND_NODES = 1 << 21
_HELD_APART_EVERY = 100
# A walk of a corpus that is longer than this is cut, so that memory stays bounded; pairs across a cut are lost.
_LONGEST_WALK = 1 << 10
# Going back counts at most so much more than all else: more changes nothing that can be seen, and sums stay finite.
_MOST_BACK = 1e300


@dataclass(frozen=True)
class UniformWalk:
    """Each neighbor is the next node with equal probability, whatever the weights (DeepWalk).

    Examples
    --------
    >>> UniformWalk()
    UniformWalk()
    """

    def _stepper(self, graph: Graph) -> _Stepper:
        return _Stepper(_steps(graph, weighted=False), None)


@dataclass(frozen=True)
class WeightedWalk:
    """Each neighbor is the next node with a probability in proportion to the weight of the edge.

    Examples
    --------
    >>> WeightedWalk()
    WeightedWalk()
    """

    def _stepper(self, graph: Graph) -> _Stepper:
        return _Stepper(_steps(graph, weighted=True), None)


@dataclass(frozen=True)
class Node2VecWalk:
    """Second-order walks: from t over v, the edge to x counts 1/p if x is t, 1 if t has an edge to x, else 1/q.

    These factors multiply the weights of the edges, where the graph has any.

    Parameters
    ----------
    p : float
        Return parameter: above 1, walks go back less often.
    q : float
        In-out parameter: above 1, walks stay near where they come from; below 1, they move away.

    Examples
    --------
    >>> Node2VecWalk(p=0.5, q=2)
    Node2VecWalk(p=0.5, q=2)
    """

    p: float = 1.0
    q: float = 1.0

    def _stepper(self, graph: Graph) -> _Stepper:
        for name, value in (("p", self.p), ("q", self.q)):
            if not 0 < value < np.inf:
                raise ValueError(f"node2vec's {name} is positive and finite; got {value!r}")
        steps = _steps(graph, weighted=True)
        if self.p == self.q == 1:
            return _Stepper(steps, None)
        highest = max(1.0, _inverse(self.q))
        back = min(_inverse(self.p) / highest, _MOST_BACK)
        bias = kernel.Bias(
            near=1.0 / highest,
            far=_inverse(self.q) / highest,
            back=min(back, 1.0),
            extra=max(back - 1.0, 0.0),
            away=_inverse(self.q),
            home=_inverse(self.p),
            directed=graph.directed,
        )
        return _Stepper(steps, bias)


@dataclass(frozen=True)
class CorpusWalk:
    """Ready walks: from a text file, a walk a line, node names with white space between, or from memory.

    Parameters
    ----------
    walks : path, "-", or sequence of sequences of node names
        A file, packed or not, as other tools write them; "-" is standard input, which can be read only once, so that
        no model can be trained on it.

    Examples
    --------
    >>> CorpusWalk("walks.txt")
    CorpusWalk(walks='walks.txt')
    >>> list(Walks([("a", "b")], CorpusWalk([["a", "b", "a"], ["b"]])))
    [['a', 'b', 'a'], ['b']]
    """

    walks: str | os.PathLike[str] | Sequence[Sequence[Hashable]]


Strategy = UniformWalk | WeightedWalk | Node2VecWalk | CorpusWalk
STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "uniform": UniformWalk,
    "weighted": WeightedWalk,
    "node2vec": Node2VecWalk,
}


def as_strategy(strategy: str | Strategy) -> Strategy:
    """A strategy by its name, or as it is.

    Examples
    --------
    >>> as_strategy("weighted")
    WeightedWalk()
    """
    if isinstance(strategy, (UniformWalk, WeightedWalk, Node2VecWalk, CorpusWalk)):
        return strategy
    if isinstance(strategy, str) and strategy in STRATEGIES:
        return STRATEGIES[strategy]()
    raise ValueError(f"no walk strategy {strategy!r}; known: {', '.join(STRATEGIES)}, or CorpusWalk(path)")


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
        with ThreadPoolExecutor(self.threads) as pool:
            for starts in self._starts(epoch):
                walks = np.empty((len(starts), self.walk_length), self.graph.indices.dtype)
                lengths = np.empty(len(starts), np.int32)
                cuts = np.linspace(0, len(starts), self.threads + 1).astype(int).tolist()
                own, *others = (slice(*cut) for cut in pairwise(cuts))
                jobs = [
                    pool.submit(self._stepper.walk, starts[part], key, first + part.start, walks[part], lengths[part])
                    for part in others
                ]
                # This thread takes a share too: handing it to another one would take longer than a small round.
                self._stepper.walk(starts[own], key, first, walks[own], lengths[own])
                for job in jobs:
                    job.result()
                first += len(starts)
                yield _round(walks, lengths)

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
        return _round(walks, lengths)

    @cached_property
    def _stepper(self) -> _Stepper:
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
class _Stepper:
    """How walkers go from node to node: by first-order steps, and in second order if there is a bias."""

    steps: kernel.Steps
    bias: kernel.Bias | None

    def walk(
        self, starts: Nodes, key: np.uint64, first: int, walks: npt.NDArray[Any], lengths: npt.NDArray[Any]
    ) -> None:
        if self.bias is None:
            kernel.first_order_walks(self.steps, starts, key, np.uint64(first), walks, lengths)
        else:
            kernel.second_order_walks(self.steps, self.bias, starts, key, np.uint64(first), walks, lengths)


def _steps(graph: Graph, *, weighted: bool) -> kernel.Steps:
    entries = len(graph.indices)
    # Half the size of the graph's own, and with it half the cache misses.
    indptr = graph.indptr.astype(np.uint32 if entries < 2**32 else np.uint64)
    file = graph._file
    indices = np.append(graph.indices, graph.indices.dtype.type(0)) if file is None else file.padded_indices
    keep, other = np.empty(0, np.uint32), np.empty(0, np.int32)
    weights, strength = np.empty(0), np.empty((0, 2))
    if weighted and graph.weights is not None:
        weights, strength = graph.weights, _strength(graph, graph.weights)
        zeros = np.zeros if file is None else file.scratch
        keep, other = zeros(entries + 1, np.uint32), zeros(entries + 1, np.int32)
        alias_tables(indptr, weights, keep, other)
    # Arrays of a file cannot be written to; compiled code is for one kind of arrays.
    indices.flags.writeable = weights.flags.writeable = False
    return kernel.Steps(indptr, indices, weights, strength, keep, other)


def _strength(graph: Graph, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The largest weight of each row, and the sum of the row's weights in units of it."""
    strength = np.ones((graph.n_nodes, 2))
    rows = np.flatnonzero(graph.degrees)
    if len(rows):
        strength[rows, 0] = np.maximum.reduceat(weights, graph.indptr[rows])
        relative = weights / np.repeat(strength[:, 0], graph.degrees)
        strength[rows, 1] = np.add.reduceat(relative, graph.indptr[rows])
    return strength


def _inverse(value: float) -> float:
    """1 / value, or the largest float: so small a value has no inverse."""
    return min(1.0 / float(value), sys.float_info.max)


def _round(walks: npt.NDArray[Any], lengths: npt.NDArray[np.int32]) -> Round:
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
