"""BigClam's model of a graph: nodes are affiliated with communities, and shared communities make edges likely.

Each node has a vector f without negative entries, one entry for each community. Two nodes with vectors f and g have an
edge with probability 1 - exp(-rate), where rate = f.g + background. This module has the adjacency structure, the
log-likelihood, initial vectors, and coordinate ascent over the nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.graph.graph import Graph
from efge.kernels import bigclam as kernel
from efge.random import stream_key

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

# The rate of two nodes that share no community, as a fraction of the mean rate of all pairs. With a rate of zero, a
# single edge between communities would have no likelihood at all; with a much larger one, ascent ends at worse maxima.
_BACKGROUND = 0.01


@dataclass(frozen=True)
class Adjacency:
    """Symmetric adjacency lists without self loops or weights, and the constants that follow from the edge density."""

    indptr: Rows  # int64[nodes + 1], where the neighbors of each node begin
    indices: Rows  # int64[2 * edges], the neighbors
    threshold: float  # entry above which a node is a member of a community
    background: float  # rate of two nodes that share no community

    @classmethod
    def of(cls, graph: Graph) -> Adjacency:
        """Return the adjacency of a graph, without its weights, directions and self loops."""
        sources = np.repeat(np.arange(graph.n_nodes), graph.degrees)
        pairs = np.column_stack([sources, graph.indices])
        return cls.from_pairs(graph.n_nodes, pairs[pairs[:, 0] != pairs[:, 1]])

    @classmethod
    def from_pairs(cls, nodes: int, pairs: Rows) -> Adjacency:
        """Return the adjacency of pairs of rows, each of which may be given in one order or in both."""
        keys = np.unique(np.concatenate([pairs[:, 0] * nodes + pairs[:, 1], pairs[:, 1] * nodes + pairs[:, 0]]))
        sources, targets = np.divmod(keys, max(nodes, 1))
        indptr = np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=nodes))]).astype(np.int64)
        threshold = membership_threshold(nodes, len(keys) // 2)
        # A graph without edges would otherwise have the rate 0, at which gradients are NaN.
        background = _BACKGROUND * max(threshold**2, 1e-12)
        return cls(indptr, targets.astype(np.int64), threshold, background)

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.indptr) - 1

    @property
    def degrees(self) -> Rows:
        """Number of neighbors of each node."""
        return np.diff(self.indptr)

    @property
    def sources(self) -> Rows:
        """The node to whose list each entry of `indices` belongs."""
        return np.repeat(np.arange(self.nodes), self.degrees)

    def edges(self) -> Rows:
        """Return each edge once, its smaller row first."""
        pairs = np.column_stack([self.sources, self.indices])
        return pairs[pairs[:, 0] < pairs[:, 1]]


class Ascent:
    """Coordinate ascent: the current vectors, and the log-likelihood before the first and after each sweep."""

    def __init__(self, adjacency: Adjacency, factors: Floats) -> None:
        self.adjacency = adjacency
        self.factors = factors
        self.log_likelihoods = [log_likelihood(adjacency, factors)]
        self.converged = False

    @property
    def sweeps(self) -> int:
        """Number of sweeps so far."""
        return len(self.log_likelihoods) - 1

    def run(self, max_iter: int, tol: float, report: Callable[[Ascent], None] = lambda ascent: None) -> Ascent:
        """Continue until there have been `max_iter` sweeps, or the relative gain of a sweep is at most `tol`."""
        adjacency = self.adjacency
        max_degree = int(adjacency.degrees.max(initial=0))
        workspace = np.empty((3, max_degree)), np.empty((3, self.factors.shape[1]))
        while self.sweeps < max_iter and not self.converged:
            # Summed anew before each sweep, so that rounding errors do not accumulate.
            total = self.factors.sum(axis=0)
            kernel.sweep(adjacency.indptr, adjacency.indices, self.factors, total, adjacency.background, *workspace)
            value = log_likelihood(adjacency, self.factors)
            gain = value - self.log_likelihoods[-1]
            self.converged = gain <= tol * abs(value)
            # At a maximum vectors no longer move, but their sum may be rounded differently.
            self.log_likelihoods.append(max(value, self.log_likelihoods[-1]))
            report(self)
        return self


def log_likelihood(adjacency: Adjacency, factors: Floats) -> float:
    """Return the log-likelihood of all pairs of nodes."""
    total = factors.sum(axis=0)
    return float(kernel.log_likelihood(adjacency.indptr, adjacency.indices, factors, total, adjacency.background))


def pair_rates(factors: Floats, pairs: Rows, background: float) -> Floats:
    """Return the rate of each pair of nodes."""
    rates = np.empty(len(pairs))
    kernel.pair_rates(factors, pairs, background, rates)
    return rates


def membership_threshold(nodes: int, edges: int) -> float:
    """Return the entry above which a node counts as a member of a community.

    Two nodes at the threshold have, through this community alone, an edge with the probability p of an edge between any
    two nodes of the graph: the threshold is sqrt(-log(1 - p)). Use it for vectors under which an edge has the
    probability 1 - exp(-f.g). A p above one half, as in a complete graph, is replaced by one half.

    Examples
    --------
    >>> round(membership_threshold(nodes=62, edges=159), 3)
    0.296
    """
    pairs = max(nodes * (nodes - 1) / 2, 1.0)
    return math.sqrt(-math.log1p(-min(edges / pairs, 0.5)))


def initial_factors(adjacency: Adjacency, n_communities: int, seed: int, start: int) -> Floats:
    """Return the initial vectors of one of several starts.

    Start 0 uses neighborhoods of locally minimal conductance as communities; nodes outside of them, communities beyond
    them, and all other starts are random. Random entries are scaled so that pairs have, on average, the mean rate of
    the graph. Were they much larger, all vectors would fall to zero in the first sweeps and stay there; so would those
    of nodes far from all neighborhoods if they began at zero.
    """
    random = random_generator(seed, f"start {start} of {n_communities}")
    factors = random.random((adjacency.nodes, n_communities)) * (2 * adjacency.threshold / math.sqrt(n_communities))
    if start == 0:
        centers = _seed_nodes(adjacency)[:n_communities]
        groups = np.zeros((adjacency.nodes, len(centers)))
        for community, center in enumerate(centers):
            groups[adjacency.indices[adjacency.indptr[center] : adjacency.indptr[center + 1]], community] = 1.0
            groups[center, community] = 1.0
        inside = groups.any(axis=1)
        factors[inside, : len(centers)] = groups[inside]
    return factors


def random_generator(seed: int, purpose: str) -> np.random.Generator:
    """Return a random generator of its own for each purpose."""
    return np.random.Generator(np.random.PCG64(int(stream_key(seed, 0, purpose))))


def _seed_nodes(adjacency: Adjacency) -> Rows:
    """Return the nodes whose neighborhood has a smaller conductance than their neighbors', best first."""
    order = np.argsort(conductances(adjacency), kind="stable")
    rank = np.empty(adjacency.nodes, np.int64)
    rank[order] = np.arange(adjacency.nodes)
    sources = adjacency.sources
    is_minimum = adjacency.degrees > 0
    is_minimum[sources[rank[sources] > rank[adjacency.indices]]] = False
    return order[is_minimum[order]]


def conductances(adjacency: Adjacency) -> Floats:
    """Return the conductance of each node's neighborhood, the node included.

    It is the number of edges that leave the neighborhood, divided by its volume (the sum of its degrees) or by the
    volume of the rest of the graph, whichever is smaller; it is 1 where that volume is zero.
    """
    degrees, sources = adjacency.degrees, adjacency.sources
    volume = degrees + np.bincount(sources, degrees[adjacency.indices], adjacency.nodes)
    smaller = np.minimum(volume, degrees.sum() - volume)
    leaving = volume - 2 * (degrees + _count_triangles(adjacency))
    result = np.ones(adjacency.nodes)
    np.divide(leaving, smaller, out=result, where=smaller > 0)
    return result


def _count_triangles(adjacency: Adjacency) -> npt.NDArray[Any]:
    """Return the number of triangles at each node."""
    sources = adjacency.sources
    # Each edge is kept at its end of lower degree: then no list is longer than the square root of twice the edges.
    rank = np.lexsort((np.arange(adjacency.nodes), adjacency.degrees)).argsort()
    forward = rank[sources] < rank[adjacency.indices]
    counts = np.bincount(sources[forward], minlength=adjacency.nodes)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    triangles = np.zeros(adjacency.nodes, np.int64)
    kernel.count_triangles(indptr, adjacency.indices[forward], triangles)
    return triangles
