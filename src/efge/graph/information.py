"""What steps of random walks tell: the information of one and of two steps, and whether walks mix quickly."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from efge.graph.graph import Graph
from efge.graph.neighborhoods import find_edges, row_chunks

Rows = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# Walks of two steps whose ends are compared: their information is then known to about .05 nats.
_N_WALKS = 1024
# Neighbors of first nodes that are looked at, at most: graphs with huge hubs are measured by fewer walks.
_MAX_ENTRIES = 1 << 22
# Walks mix quickly if the second step leaves less than this share of the information.
_QUICK = 0.5


class WalkInformation(NamedTuple):
    """Mutual information of a node of a random walk and a later one, in nats."""

    one_step: float
    two_steps: float


# Information of graphs that are still in use: a fit asks for it several times.
_KNOWN: WeakKeyDictionary[Graph, WalkInformation] = WeakKeyDictionary()


class _Chances(NamedTuple):
    """The probabilities of nodes on walks that begin with an edge at random, and the weights that they follow from."""

    exponent: int  # weights are divided by two to this power, which brings the largest one below 1
    out_weight: Floats  # float64[nodes], sum of the weights of the edges out of each node
    start: Floats  # float64[nodes], in proportion to that sum
    first: Floats  # float64[nodes], after one step
    second: Floats  # float64[nodes], after two steps, of walks that go so far


def mixes_quickly(graph: Graph) -> bool:
    """Return whether random walks forget where they began: two steps tell less than half of what one step tells.

    Examples
    --------
    >>> import networkx as nx
    >>> from efge.graph.inputs import as_graph
    >>> mixes_quickly(as_graph(nx.gnm_random_graph(500, 10_000, seed=0)))
    True
    >>> mixes_quickly(as_graph(nx.connected_caveman_graph(50, 10)))
    False
    """
    information = walk_information(graph)
    return information.two_steps < _QUICK * information.one_step


def walk_information(graph: Graph) -> WalkInformation:
    """Return what one step and what two steps of random walks tell; NaN without edges.

    The information of k steps is the mean of log P(u, v) / (P(u) P(v)) over nodes u and nodes v that are k steps later:
    how much more often one follows the other than if both were independent. It is estimated from some walks. Citation
    networks have about 6 nats for one step and 5 for two, dense graphs with hubs less than 4 and 1.

    Examples
    --------
    >>> from efge.graph.inputs import as_graph
    >>> one, two = walk_information(as_graph([("a", "b"), ("c", "d")]))  # log 4: each node has one of four to go to
    >>> round(one, 4), round(two, 4)
    (1.3863, 1.3863)
    """
    if graph not in _KNOWN:
        _KNOWN[graph] = _measure(graph, _N_WALKS) if len(graph.indices) else WalkInformation(np.nan, np.nan)
    return _KNOWN[graph]


def _measure(graph: Graph, n_walks: int) -> WalkInformation:
    """Estimate the information from walks that begin with an edge at random, by the weights of edges."""
    random = np.random.Generator(np.random.PCG64(0))
    chances = _find_chances(graph)
    nodes = random.choice(graph.n_nodes, n_walks, p=chances.start)
    middle, probability = _take_step(graph, nodes, chances, random)
    one_step = float(np.log(probability / chances.first[middle]).mean())
    goes_on = chances.out_weight[middle] > 0
    if not goes_on.any():
        return WalkInformation(one_step, 0.0)
    ends, _ = _take_step(graph, middle[goes_on], chances, random)
    return WalkInformation(one_step, _two_step_information(graph, nodes[goes_on], ends, chances))


def _find_chances(graph: Graph) -> _Chances:
    exponent = 0 if graph.weights is None else int(np.frexp(graph.weights.max())[1])
    out_weight = graph.degrees.astype(np.float64)
    if graph.weights is not None:
        for rows, _, weights in _edges(graph, exponent):
            out_weight[rows[0] : rows[-1] + 1] = np.bincount(rows - rows[0], weights)
    start = out_weight / out_weight.sum()
    if not graph.directed:
        return _Chances(exponent, out_weight, start, start, start)
    first, second = np.zeros(graph.n_nodes), np.zeros(graph.n_nodes)
    for before, after in ((start, first), (first, second)):
        for rows, columns, weights in _edges(graph, exponent):
            np.add.at(after, columns, before[rows] * _divide(weights, out_weight[rows]))
    return _Chances(exponent, out_weight, start, first, second / (second.sum() or 1.0))


def _edges(graph: Graph, exponent: int) -> Iterator[tuple[Rows, Rows, Floats]]:
    """Yield the edges of some rows at a time: rows, columns and weights."""
    for begin, end in pairwise(row_chunks(graph)):
        rows = np.repeat(np.arange(begin, end), graph.degrees[begin:end])
        entries = slice(int(graph.indptr[begin]), int(graph.indptr[end]))
        if len(rows):
            yield rows, graph.indices[entries].astype(np.int64), _weights(graph, entries, exponent)


def _weights(graph: Graph, entries: Rows | slice, exponent: int) -> Floats:
    weights: Floats = np.ones(1) if graph.weights is None else np.ldexp(graph.weights[entries], -exponent)
    return weights


def _divide(weights: Floats, sums: Floats) -> Floats:
    """Return the quotients; 0 where weights are so far below the largest one that they have become 0."""
    return np.divide(weights, sums, out=np.zeros(len(sums)), where=sums > 0)


def _take_step(graph: Graph, nodes: Rows, chances: _Chances, random: np.random.Generator) -> tuple[Rows, Floats]:
    """Return a neighbor of each node at random, by the weights of its edges, and the probability of that step."""
    positions = random.random(len(nodes))
    entries = graph.indptr[nodes].astype(np.int64)
    if graph.weights is None:
        entries += (positions * graph.degrees[nodes]).astype(np.int64)
    else:
        for i, node in enumerate(nodes.tolist()):
            row = slice(int(graph.indptr[node]), int(graph.indptr[node + 1]))
            sums = np.cumsum(_weights(graph, row, chances.exponent))
            entries[i] += min(np.searchsorted(sums, positions[i] * sums[-1], side="right"), len(sums) - 1)
    weights = _weights(graph, entries, chances.exponent)
    return graph.indices[entries].astype(np.int64), weights / chances.out_weight[nodes]


def _two_step_information(graph: Graph, nodes: Rows, ends: Rows, chances: _Chances) -> float:
    """Return the mean of log P(u, v) / (P(u) P(v)) over pairs of a node and the node two steps later."""
    if not graph.directed:
        # The ratio is symmetric: it is enough to go through the neighbors of the end that has fewer.
        swapped = graph.degrees[ends] < graph.degrees[nodes]
        nodes, ends = np.where(swapped, ends, nodes), np.where(swapped, nodes, ends)
    n_pairs = max(int(np.searchsorted(np.cumsum(graph.degrees[nodes]), _MAX_ENTRIES, side="right")), 1)
    nodes, ends = nodes[:n_pairs], ends[:n_pairs]
    pair, entries = _neighbor_entries(graph, nodes)
    middle = graph.indices[entries].astype(np.int64)
    first_step = _weights(graph, entries, chances.exponent) / chances.out_weight[nodes[pair]]
    found = find_edges(graph, middle, ends[pair])
    joined = found >= 0
    second_step = _divide(_weights(graph, found[joined], chances.exponent), chances.out_weight[middle[joined]])
    together = np.bincount(pair[joined], first_step[joined] * second_step, n_pairs)
    goes_on = np.bincount(pair, first_step * (chances.out_weight[middle] > 0), n_pairs)
    return float(np.log(together / (goes_on * chances.second[ends])).mean())


def _neighbor_entries(graph: Graph, nodes: Rows) -> tuple[Rows, Rows]:
    """Return the entries of the edges out of some nodes, and for each entry, which of the nodes it is of."""
    counts = graph.degrees[nodes].astype(np.int64)
    which = np.repeat(np.arange(len(nodes)), counts)
    before = np.cumsum(counts) - counts
    return which, np.arange(len(which)) + (graph.indptr[nodes].astype(np.int64) - before)[which]
