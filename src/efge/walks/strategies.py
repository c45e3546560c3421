"""Walk strategies: how a walker chooses the next node, or that walks are read from a corpus."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.errors import did_you_mean, is_number
from efge.graph.graph import Graph, Nodes
from efge.kernels import walks as kernel
from efge.kernels.node2vec import Bias, fill_edge_filter, second_order_walks
from efge.kernels.random import build_alias_tables

# Largest weight of going back, relative to that of any other step: beyond it no difference is visible, and sums stay
# finite.
_MAX_BACK = 1e300
# Stored edges per 64-bit word of the edge filter: four bits per edge.
_EDGES_PER_WORD = 16


@dataclass(frozen=True)
class UniformWalk:
    """Walks in which every neighbor is equally likely to be the next node, whatever the edge weights (DeepWalk).

    Examples
    --------
    >>> UniformWalk()
    UniformWalk()
    """

    def _stepper(self, graph: Graph) -> Stepper:
        return Stepper(_transition_tables(graph, weighted=False), None)


@dataclass(frozen=True)
class WeightedWalk:
    """Walks in which the probability of a neighbor is proportional to the weight of the edge to it.

    Examples
    --------
    >>> WeightedWalk()
    WeightedWalk()
    """

    def _stepper(self, graph: Graph) -> Stepper:
        return Stepper(_transition_tables(graph, weighted=True), None)


@dataclass(frozen=True)
class Node2VecWalk:
    """Second-order walks: after t and v, a node x has weight 1/p if x is t, 1 if t has an edge to x, and 1/q otherwise.

    In a weighted graph, these factors multiply the weight of the edge from v to x.

    Parameters
    ----------
    p : float
        Return parameter; above 1, walks go back less often.
    q : float
        In-out parameter; above 1, walks stay near the previous node; below 1, they move away from it.

    Examples
    --------
    >>> Node2VecWalk(p=0.5, q=2)
    Node2VecWalk(p=0.5, q=2)
    """

    p: float = 1.0
    q: float = 1.0

    def _stepper(self, graph: Graph) -> Stepper:
        for name, value in (("p", self.p), ("q", self.q)):
            if not (is_number(value) and 0 < value < np.inf):
                raise ValueError(f"node2vec's {name} is positive and finite; got {value!r}")
        tables = _transition_tables(graph, weighted=True)
        if self.p == self.q == 1:
            return Stepper(tables, None)
        bias = self._bias(graph.directed)
        if bias.near != bias.far:
            zeros = np.zeros if graph._file is None else graph._file.scratch_array
            tables = tables._replace(edge_filter=zeros(len(graph.indices) // _EDGES_PER_WORD + 1, np.uint64))
            fill_edge_filter(tables.indptr, tables.indices, graph.directed, tables.edge_filter)
        return Stepper(tables, bias)

    def _bias(self, directed: bool) -> Bias:
        highest = max(1.0, _inverse(self.q))
        back = min(_inverse(self.p) / highest, _MAX_BACK)
        return Bias(
            near=1.0 / highest,
            far=_inverse(self.q) / highest,
            back=min(back, 1.0),
            extra_back=max(back - 1.0, 0.0),
            inverse_q=_inverse(self.q),
            inverse_p=_inverse(self.p),
            directed=directed,
        )


@dataclass(frozen=True)
class CorpusWalk:
    """Walks made by other means: read from a text file, or given as sequences of node names.

    Parameters
    ----------
    walks : path, "-", or sequence of sequences of node names
        A text file has one walk per line, with white space between node names, and may be compressed. "-" is standard
        input; it can be read only once, so no model can be trained on it.

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
    """Return the strategy with a given name; a strategy itself is returned as it is.

    Examples
    --------
    >>> as_strategy("weighted")
    WeightedWalk()
    """
    if isinstance(strategy, Strategy):
        return strategy
    if isinstance(strategy, str) and strategy in STRATEGIES:
        return STRATEGIES[strategy]()
    hint = did_you_mean(strategy, STRATEGIES) if isinstance(strategy, str) else ""
    raise ValueError(f"no walk strategy {strategy!r}; known: {', '.join(STRATEGIES)}, or CorpusWalk(path){hint}")


@dataclass(frozen=True)
class Stepper:
    """Makes walks on a graph: of first order, or of second order if there is a bias."""

    tables: kernel.TransitionTables
    bias: Bias | None

    def walk(
        self, starts: Nodes, key: np.uint64, first: int, walks: npt.NDArray[Any], lengths: npt.NDArray[Any]
    ) -> None:
        """Fill `walks` and their `lengths` with walks from the nodes `starts`, which are numbered from `first` on."""
        if self.bias is None:
            kernel.first_order_walks(self.tables, starts, key, np.uint64(first), walks, lengths)
        else:
            second_order_walks(self.tables, self.bias, starts, key, np.uint64(first), walks, lengths)


def _transition_tables(graph: Graph, *, weighted: bool) -> kernel.TransitionTables:
    entries = len(graph.indices)
    # Where it can, half the size of the graph's own array, and so half the cache misses.
    indptr = graph.indptr.astype(np.uint32 if entries < 2**32 else np.uint64)
    file = graph._file
    indices = np.append(graph.indices, graph.indices.dtype.type(0)) if file is None else file.padded_indices
    prob, alias = np.empty(0, np.uint32), np.empty(0, np.int32)
    weights, strength = np.empty(0), np.empty((0, 2))
    if weighted and graph.weights is not None:
        weights, strength = graph.weights, _strength(graph, graph.weights)
        zeros = np.zeros if file is None else file.scratch_array
        prob, alias = zeros(entries + 1, np.uint32), zeros(entries + 1, np.int32)
        build_alias_tables(indptr, weights, prob, alias)
    # Arrays mapped from a file are read-only; making all of them so lets kernels compile once for both.
    indices.flags.writeable = weights.flags.writeable = False
    return kernel.TransitionTables(indptr, indices, weights, strength, prob, alias, np.empty(0, np.uint64))


def _strength(graph: Graph, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the largest weight of each row, and the sum of the row's weights divided by it."""
    strength = np.ones((graph.n_nodes, 2))
    rows = np.flatnonzero(graph.degrees)
    if len(rows):
        strength[rows, 0] = np.maximum.reduceat(weights, graph.indptr[rows])
        relative = weights / np.repeat(strength[:, 0], graph.degrees)
        strength[rows, 1] = np.add.reduceat(relative, graph.indptr[rows])
    return strength


def _inverse(value: float) -> float:
    """Return 1 / value, or the largest float where the inverse would overflow."""
    return min(1.0 / float(value), sys.float_info.max)
