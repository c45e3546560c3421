"""BigClam: overlapping communities by vectors without negative entries, of which each entry is a membership."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.embedding.embedding import Embedding
from efge.errors import check_counts
from efge.graph.graph import Graph
from efge.graph.inputs import as_graph
from efge.kernels import bigclam as kernel
from efge.models.base import NodeEmbedder
from efge.parallel import available_threads
from efge.progress import Progress
from efge.random import chosen_seed, stream_key

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

# What two nodes have of a rate that share no community, as a part of the mean rate of all pairs. Without any, a single
# edge between communities would have no likelihood at all; with much more, ascent ends at worse maxima.
_BACKGROUND = 0.01
# The part of the edges that is held out to choose the number of communities, and how often that is done.
_HELD_OUT, _FOLDS = 0.2, 2
# Numbers up to the first are tried one by one; from there on, each is so many times the one before. Trying ends when so
# many have been worse than the best.
_ONE_BY_ONE, _RATIO, _WORSE = 8, math.sqrt(2), 3
# Sweeps after which one of several beginnings is chosen.
_FIRST_SWEEPS = 30


class BigClam(NodeEmbedder):
    """Overlapping communities of a graph: an entry of a node's vector says how much it belongs to a community.

    An edge between nodes with vectors f and g has the probability 1 - exp(-(f.g + b)), where b, a hundredth of the
    graph's mean rate, lets an edge be that no community explains. Sweeps over the nodes move one vector after the other
    uphill, so that the likelihood never falls; a sweep takes time in proportion to edges times communities.

    Use it where nodes belong to several groups at once, or to none, and to compare
    :class:`efge.EFGE` with the family "bernoulli-poisson", which sees walks in place of edges, with the original. For
    vectors that go into a classifier, or for groups that do not overlap, an EFGE is the better start.

    Parameters
    ----------
    communities : int, optional
        How many there are. By default, the number under which edges held out, and as many pairs without an edge, are
        most likely: of 1 to 8, and a geometric grid from there on. This takes twenty to fifty times as long.
    starts : int
        Beginnings, of which the one is followed that has led highest after some sweeps.
    max_iterations : int
        Sweeps over the nodes at most.
    tolerance : float
        Sweeps end when the log-likelihood rises by less than this part of it.
    threads : int, optional
        Beginnings and numbers of communities are tried in so many threads; by default, all cores. One beginning has
        one thread. The result does not depend on it.
    seed : int, optional
        Without one, a random one is chosen, and kept as `seed_`.

    Attributes
    ----------
    embedding_ : Embedding
        The nodes' memberships, under the names that the graph has for them; no entry is negative.
    n_communities_ : int
    threshold_ : float
        A node is a member of a community if its entry is larger: two nodes at the threshold have, by this community
        alone, an edge as often as any two nodes of the graph.
    memberships_ : array of bool, of shape (nodes, communities)
        Who is a member of what; :func:`efge.communities` has it by name.
    history_ : dict
        The "log_likelihood" of the graph before the first and after each of the "sweeps".
    seed_ : int

    Notes
    -----
    Weights and directions of edges, and self loops, are of no effect. Communities begin as the neighborhoods of nodes
    whose conductance is smaller than that of their neighbors', best ones first; those that are left, and other starts,
    begin at random.

    References
    ----------
    J. Yang and J. Leskovec. Overlapping community detection at scale: a nonnegative matrix factorization approach.
    WSDM 2013.

    Examples
    --------
    Two groups of four that share one node:

    >>> from itertools import combinations
    >>> graph = [*combinations("abcx", 2), *combinations("xdef", 2)]
    >>> model = BigClam(communities=2, seed=0).fit(graph)
    >>> for member in model.memberships_.T:
    ...     print(*model.embedding_.names[member])
    a b c x
    x d e f
    """

    def __init__(
        self,
        communities: int | None = None,
        *,
        starts: int = 4,
        max_iterations: int = 200,
        tolerance: float = 1e-5,
        threads: int | None = None,
        seed: int | None = None,
    ) -> None:
        self.communities = communities
        self.starts = starts
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.threads = threads
        self.seed = seed

    def fit(
        self,
        X: Any,  # noqa: N803
        y: Any = None,
        *,
        progress: Callable[[Progress], None] | None = None,
    ) -> BigClam:
        """Learn the memberships of a graph's nodes.

        Parameters
        ----------
        X : Graph, or anything :func:`efge.as_graph` takes
        y : ignored
        progress : callable, optional
            Called with a :class:`efge.Progress` of sweeps done, sweeps at most and log-likelihood when a beginning is
            chosen, and after each sweep from there on.

        Returns
        -------
        BigClam
            The estimator itself.

        Examples
        --------
        >>> model = BigClam(communities=1, seed=0).fit([("a", "b"), ("b", "c"), ("c", "a")])
        >>> model.embedding_
        Embedding(3 nodes, 1 dimensions)
        """
        self._check()
        graph = as_graph(X)
        seed = chosen_seed(self.seed)
        ties = _Ties.of(graph)
        with ThreadPoolExecutor(self.threads or available_threads()) as pool:
            number = self._chosen_number(pool, ties, seed) if self.communities is None else int(self.communities)
            ascent = self._ascend(pool, ties, number, seed)

        def report(ascent: _Ascent) -> None:
            if progress is not None:
                progress(Progress(ascent.sweeps, self.max_iterations, ascent.values[-1]))

        report(ascent)
        ascent.go(self.max_iterations, self.tolerance, report)
        self.seed_, self.n_communities_ = seed, number
        self.history_ = {"sweeps": list(range(len(ascent.values))), "log_likelihood": ascent.values}
        self.embedding_ = Embedding._owning(ascent.factors.astype(np.float32), graph.names)
        self.threshold_ = ties.threshold
        self.memberships_ = self.embedding_.vectors > self.threshold_
        return self

    def _check(self) -> None:
        counted = ("communities", "starts", "max_iterations", "threads")
        check_counts(**{name: getattr(self, name) for name in counted})
        if not 0 <= self.tolerance < math.inf:
            raise ValueError(f"tolerance is a number from 0 on; got {self.tolerance!r}")

    def _ascend(self, pool: Executor, ties: _Ties, number: int, seed: int) -> _Ascent:
        """The beginning that has led highest after some sweeps; of equals, the first one."""

        def begin(start: int) -> _Ascent:
            ascent = _Ascent(ties, _first_factors(ties, number, seed, start))
            return ascent.go(min(_FIRST_SWEEPS, self.max_iterations), self.tolerance)

        return max(pool.map(begin, range(self.starts)), key=lambda ascent: ascent.values[-1])

    def _chosen_number(self, pool: Executor, ties: _Ties, seed: int) -> int:
        """The number of communities under which pairs held out are most likely; of equals, the smallest."""
        folds = [_hold_out(ties, seed, fold) for fold in range(_FOLDS)]

        def likelihood(number: int, fold: int) -> float:
            factors = _first_factors(folds[fold].ties, number, seed, fold)
            return folds[fold].log_likelihood(
                _Ascent(folds[fold].ties, factors).go(self.max_iterations, self.tolerance)
            )

        scores: dict[int, float] = {}
        candidates = _candidates(ties)
        # Two at a time whatever the threads are, so that the same numbers are tried.
        while numbers := list(islice(candidates, 2)):
            values = pool.map(likelihood, np.repeat(numbers, _FOLDS).tolist(), [*range(_FOLDS)] * len(numbers))
            for number in numbers:
                scores[number] = sum(islice(values, _FOLDS))
            best = max(scores, key=lambda number: (scores[number], -number))
            if list(scores).index(best) + _WORSE < len(scores):
                break
        return best


class _Ascent:
    """Vectors on their way uphill, and the log-likelihood before the first and after each sweep."""

    def __init__(self, ties: _Ties, factors: Floats) -> None:
        self.ties = ties
        self.factors = factors
        self.values = [log_likelihood(ties, factors)]
        self.arrived = False

    @property
    def sweeps(self) -> int:
        return len(self.values) - 1

    def go(self, sweeps: int, tolerance: float, report: Callable[[_Ascent], None] = lambda ascent: None) -> _Ascent:
        """Go on until there were so many sweeps in all, or the log-likelihood hardly rises."""
        longest = int(self.ties.degrees.max(initial=0))
        room = np.empty((3, longest)), np.empty((3, self.factors.shape[1]))
        while self.sweeps < sweeps and not self.arrived:
            # Added up anew for each sweep, so that rounding does not add up.
            total = self.factors.sum(axis=0)
            kernel.sweep(self.ties.indptr, self.ties.indices, self.factors, total, self.ties.background, *room)
            value = log_likelihood(self.ties, self.factors)
            rise = value - self.values[-1]
            self.arrived = rise <= tolerance * abs(value)
            # At the top, where vectors stay as they are, the sum may be rounded otherwise.
            self.values.append(max(value, self.values[-1]))
            report(self)
        return self


@dataclass(frozen=True)
class _Ties:
    """Who is tied to whom: rows of neighbors, symmetric, without self loops; and what follows from their number."""

    indptr: Rows
    indices: npt.NDArray[Any]
    threshold: float
    background: float

    @classmethod
    def of(cls, graph: Graph) -> _Ties:
        ends = np.repeat(np.arange(graph.n_nodes), graph.degrees)
        pairs = np.column_stack([ends, graph.indices])
        return cls.among(graph.n_nodes, pairs[pairs[:, 0] != pairs[:, 1]])

    @classmethod
    def among(cls, nodes: int, pairs: Rows) -> _Ties:
        """Ties by pairs of rows; it does not matter whether a pair is there in both orders, or in one."""
        keys = np.unique(np.concatenate([pairs[:, 0] * nodes + pairs[:, 1], pairs[:, 1] * nodes + pairs[:, 0]]))
        begins, ends = np.divmod(keys, max(nodes, 1))
        indptr = np.concatenate([[0], np.cumsum(np.bincount(begins, minlength=nodes))]).astype(np.int64)
        threshold = membership_threshold(nodes, len(keys) // 2)
        # A graph without edges would otherwise have the rate 0, at which slopes are not numbers.
        background = _BACKGROUND * max(threshold**2, 1e-12)
        return cls(indptr, ends.astype(np.int64), threshold, background)

    @property
    def nodes(self) -> int:
        return len(self.indptr) - 1

    @property
    def degrees(self) -> Rows:
        return np.diff(self.indptr)

    def pairs(self) -> Rows:
        """Each edge once, its smaller row first."""
        pairs = np.column_stack([np.repeat(np.arange(self.nodes), self.degrees), self.indices])
        return pairs[pairs[:, 0] < pairs[:, 1]]


@dataclass(frozen=True)
class _Fold:
    """A graph without some of its edges; these edges, and about as many pairs that have none."""

    ties: _Ties
    edges: Rows
    others: Rows

    def log_likelihood(self, ascent: _Ascent) -> float:
        """Log-likelihood of the pairs, if such as share no community have an edge as often as any two nodes.

        With the background of training, edges between communities would count for so much that one is best.
        """
        background = max(self.ties.threshold**2, self.ties.background)
        edges, others = (_rates(ascent.factors, pairs, background) for pairs in (self.edges, self.others))
        return float(np.log(-np.expm1(-edges)).sum() - others.sum())


def log_likelihood(ties: _Ties, factors: Floats) -> float:
    """Log-likelihood of all pairs of nodes."""
    return float(kernel.log_likelihood(ties.indptr, ties.indices, factors, factors.sum(axis=0), ties.background))


def conductances(ties: _Ties) -> Floats:
    """Conductance of each node's neighborhood, itself included: ends of edges that leave it, of those that it has.

    Or of those that the rest has, if these are fewer; 1 where there are none.
    """
    degrees = ties.degrees
    ends = np.repeat(np.arange(ties.nodes), degrees)
    # Each edge goes to the end of higher degree: then no row is longer than the square root of twice the edges.
    later = np.lexsort((np.arange(ties.nodes), degrees)).argsort()
    forward = later[ends] < later[ties.indices]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(ends[forward], minlength=ties.nodes))]).astype(np.int64)
    triangles = np.zeros(ties.nodes, np.int64)
    kernel.count_triangles(indptr, ties.indices[forward], triangles)
    volume = degrees + np.bincount(ends, degrees[ties.indices], ties.nodes)
    smaller = np.minimum(volume, degrees.sum() - volume)
    leaving = volume - 2 * (degrees + triangles)
    parts = np.ones(ties.nodes)
    np.divide(leaving, smaller, out=parts, where=smaller > 0)
    return parts


def _first_factors(ties: _Ties, number: int, seed: int, start: int) -> Floats:
    """The first start: neighborhoods of locally smallest conductance, and at random what they leave; others: random.

    Random entries are such that pairs have, on average, the rate that the graph has. Were they much larger, all vectors
    would fall to zero in the first sweeps and stay there, as they would if nodes far from all neighborhoods began so.
    """
    random = _random(seed, f"start {start} of {number}")
    factors = random.random((ties.nodes, number)) * (2 * ties.threshold / math.sqrt(number))
    if start == 0:
        centers = _centers(ties)[:number]
        groups = np.zeros((ties.nodes, len(centers)))
        for community, center in enumerate(centers):
            groups[ties.indices[ties.indptr[center] : ties.indptr[center + 1]], community] = 1.0
            groups[center, community] = 1.0
        inside = groups.any(axis=1)
        factors[inside, : len(centers)] = groups[inside]
    return factors


def _centers(ties: _Ties) -> Rows:
    """Nodes with an edge whose neighborhood has a smaller conductance than their neighbors' have, best ones first."""
    order = np.argsort(conductances(ties), kind="stable")
    place = np.empty(ties.nodes, np.int64)
    place[order] = np.arange(ties.nodes)
    ends = np.repeat(np.arange(ties.nodes), ties.degrees)
    chosen = ties.degrees > 0
    chosen[ends[place[ends] > place[ties.indices]]] = False
    return order[chosen[order]]


def _random(seed: int, purpose: str) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(int(stream_key(seed, 0, purpose))))


def _candidates(ties: _Ties) -> Iterator[int]:
    """Numbers of communities to try, as long as each can have two nodes."""
    number = 1
    while number == 1 or number <= ties.nodes // 2:
        yield number
        number = number + 1 if number < _ONE_BY_ONE else math.ceil(number * _RATIO)


def _hold_out(ties: _Ties, seed: int, fold: int) -> _Fold:
    random = _random(seed, f"held out {fold}")
    pairs = ties.pairs()
    held = np.zeros(len(pairs), bool)
    held[random.permutation(len(pairs))[: math.ceil(_HELD_OUT * len(pairs))]] = True
    drawn = np.sort(random.integers(max(ties.nodes, 1), size=(2 * int(held.sum()), 2)), axis=1)
    drawn = drawn[drawn[:, 0] < drawn[:, 1]]
    tied = np.isin(drawn[:, 0] * ties.nodes + drawn[:, 1], pairs[:, 0] * ties.nodes + pairs[:, 1])
    return _Fold(_Ties.among(ties.nodes, pairs[~held]), pairs[held], drawn[~tied][: int(held.sum())])


def _rates(factors: Floats, pairs: Rows, background: float) -> Floats:
    rates = np.empty(len(pairs))
    kernel.pair_rates(factors, pairs, background, rates)
    return rates


def membership_threshold(nodes: int, edges: int) -> float:
    """The entry above which a node is a member: two nodes at it have an edge as often as any two nodes of the graph.

    That is sqrt(-log(1 - p)), where p is the part of all pairs that has an edge; use it for vectors under which an edge
    has the probability 1 - exp(-f.g). A part above one half, as of a complete graph, counts as one half.

    Examples
    --------
    >>> round(membership_threshold(nodes=62, edges=159), 3)
    0.296
    """
    pairs = max(nodes * (nodes - 1) / 2, 1.0)
    return math.sqrt(-math.log1p(-min(edges / pairs, 0.5)))
