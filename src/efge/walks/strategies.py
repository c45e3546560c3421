"""How walkers go from node to node: uniformly, by weights, in second order, or as a corpus has it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.graph.graph import Graph, Nodes
from efge.kernels import walks as kernel
from efge.kernels.node2vec import Bias, hint_at_edges, second_order_walks
from efge.kernels.random import alias_tables

# Going back counts at most so much more than all else: more changes nothing that can be seen, and sums stay finite.
_MOST_BACK = 1e300
# Entries of a graph for each 64 bits that hint at its edges: four bits each.
_ENTRIES_A_HINT = 16


@dataclass(frozen=True)
class UniformWalk:
    """Each neighbor is the next node with equal probability, whatever the weights (DeepWalk).

    Examples
    --------
    >>> UniformWalk()
    UniformWalk()
    """

    def _stepper(self, graph: Graph) -> Stepper:
        return Stepper(_steps(graph, weighted=False), None)


@dataclass(frozen=True)
class WeightedWalk:
    """Each neighbor is the next node with a probability in proportion to the weight of the edge.

    Examples
    --------
    >>> WeightedWalk()
    WeightedWalk()
    """

    def _stepper(self, graph: Graph) -> Stepper:
        return Stepper(_steps(graph, weighted=True), None)


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

    def _stepper(self, graph: Graph) -> Stepper:
        for name, value in (("p", self.p), ("q", self.q)):
            if not 0 < value < np.inf:
                raise ValueError(f"node2vec's {name} is positive and finite; got {value!r}")
        steps = _steps(graph, weighted=True)
        if self.p == self.q == 1:
            return Stepper(steps, None)
        highest = max(1.0, _inverse(self.q))
        back = min(_inverse(self.p) / highest, _MOST_BACK)
        bias = Bias(
            near=1.0 / highest,
            far=_inverse(self.q) / highest,
            back=min(back, 1.0),
            extra=max(back - 1.0, 0.0),
            away=_inverse(self.q),
            home=_inverse(self.p),
            directed=graph.directed,
        )
        if bias.near != bias.far:
            zeros = np.zeros if graph._file is None else graph._file.scratch
            steps = steps._replace(hints=zeros(len(graph.indices) // _ENTRIES_A_HINT + 1, np.uint64))
            hint_at_edges(steps.indptr, steps.indices, graph.directed, steps.hints)
        return Stepper(steps, bias)


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
    >>> import efge
    >>> list(efge.Walks([("a", "b")], CorpusWalk([["a", "b", "a"], ["b"]])))
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
class Stepper:
    """How walkers go from node to node: by first-order steps, and in second order if there is a bias."""

    steps: kernel.Steps
    bias: Bias | None

    def walk(
        self, starts: Nodes, key: np.uint64, first: int, walks: npt.NDArray[Any], lengths: npt.NDArray[Any]
    ) -> None:
        """Walk from some nodes, the first of which is that of walk `first`; fill walks and their lengths."""
        if self.bias is None:
            kernel.first_order_walks(self.steps, starts, key, np.uint64(first), walks, lengths)
        else:
            second_order_walks(self.steps, self.bias, starts, key, np.uint64(first), walks, lengths)


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
    return kernel.Steps(indptr, indices, weights, strength, keep, other, np.empty(0, np.uint64))


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
