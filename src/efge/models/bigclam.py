"""BigClam: overlapping communities from nonnegative vectors, whose entries are memberships."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.embedding.embedding import Embedding
from efge.errors import check_positive_integers, is_number
from efge.graph.inputs import as_graph_with_edges
from efge.models.affiliation import Adjacency, Ascent, Rows, initial_factors, pair_rates, random_generator
from efge.models.base import NodeEmbedder
from efge.models.diagnostics import diagnose, warn_if_random
from efge.progress import FitProgress, Progress, reporting_fit
from efge.random import resolve_seed
from efge.system import available_threads

# To choose the number of communities, this fraction of the edges is held out, this many times.
_HELD_OUT_FRACTION, _FOLDS = 0.2, 2
# Numbers of communities to try: one by one up to the first number, then each a factor larger than the one before. The
# search ends when this many larger numbers have been worse than the best.
_LAST_CONSECUTIVE, _GRID_RATIO, _MAX_WORSE = 8, math.sqrt(2), 3
# Sweeps after which the best of several starts is chosen.
_FIRST_SWEEPS = 30


class BigClam(NodeEmbedder):
    """Overlapping communities: each entry of a node's vector is the strength of its membership in one community.

    Two nodes with vectors f and g have an edge with probability 1 - exp(-(f.g + b)). The background b, a hundredth of
    the graph's mean rate, allows for edges that no community explains. Sweeps over the nodes improve one vector after
    the other, so that the likelihood never falls; a sweep takes time in proportion to edges times communities.

    Use it where nodes belong to several groups at once or to none, or as the original method to compare with
    :class:`efge.EFGE` of the family "bernoulli-poisson", which learns from walks instead of edges. For features of a
    classifier, or for disjoint groups, start with EFGE.

    Parameters
    ----------
    n_communities : int, optional
        Number of communities, which is the dimension of the vectors. By default, the number under which held-out edges
        and as many pairs without an edge are most likely, out of 1 to 8 and a geometric grid above. Choosing it takes
        twenty to fifty times as long as one fit.
    n_init : int
        Number of starts. After a few sweeps, the start with the highest likelihood is continued.
    max_iter : int
        Maximum number of sweeps over the nodes.
    tol : float
        Stop when a sweep increases the log-likelihood by at most this fraction of it.
    threads : int, optional
        Number of threads, which work on different starts and numbers of communities; by default, one for each core. The
        result does not depend on it.
    seed : int, optional
        By default, a random seed, which is stored as `seed_`.

    Attributes
    ----------
    embedding_ : Embedding
        The memberships, under the names of the nodes; no entry is negative.
    n_communities_ : int
        Number of communities.
    n_iter_ : int
        Number of sweeps.
    threshold_ : float
        A node is a member of a community if its entry is larger. Two nodes at the threshold have, through this
        community alone, an edge as often as any two nodes of the graph.
    memberships_ : array of bool, of shape (nodes, communities)
        Which nodes are members of which communities; :func:`efge.communities` returns the same by name.
    history_ : dict
        "log_likelihood" of the graph before the first and after each of the "sweeps".
    diagnostics_ : Diagnostics
        Figures that tell, without labels, whether the vectors say anything about the graph.
    seed_ : int
        The seed that was used.

    Notes
    -----
    Weights, directions and self loops are ignored. The first start uses the neighborhoods of nodes whose conductance is
    smaller than that of their neighbors, best ones first; further communities, and the other starts, are random.

    References
    ----------
    J. Yang and J. Leskovec. Overlapping community detection at scale: a nonnegative matrix factorization approach.
    WSDM 2013.

    Examples
    --------
    Two groups of four that share one node:

    >>> from itertools import combinations
    >>> graph = [*combinations("abcx", 2), *combinations("xdef", 2)]
    >>> model = BigClam(n_communities=2, seed=0).fit(graph)
    >>> for member in model.memberships_.T:
    ...     print(*model.embedding_.names[member])
    a b c x
    x d e f
    """

    def __init__(
        self,
        n_communities: int | None = None,
        *,
        n_init: int = 4,
        max_iter: int = 200,
        tol: float = 1e-5,
        threads: int | None = None,
        seed: int | None = None,
    ) -> None:
        self.n_communities = n_communities
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.threads = threads
        self.seed = seed

    def _new_node_methods(self) -> tuple[str, ...]:
        # Members of several communities have more edges: a mean over neighbors would not be a membership.
        return ()

    def fit(
        self,
        X: Any,  # noqa: N803
        y: Any = None,
        *,
        progress: FitProgress = None,
    ) -> BigClam:
        """Learn the memberships of a graph's nodes.

        Parameters
        ----------
        X : Graph, or anything :func:`efge.as_graph` takes
        y : ignored
        progress : bool or callable, optional
            True shows a bar, False none; by default, a long fit shows one in a notebook or at Python's prompt. A
            function is called with a :class:`efge.Progress` of sweeps done, maximum number of sweeps and
            log-likelihood: once when a start has been chosen, and after each sweep from then on.

        Returns
        -------
        BigClam
            The estimator itself.

        Examples
        --------
        >>> model = BigClam(n_communities=1, seed=0).fit([("a", "b"), ("b", "c"), ("c", "a")])
        >>> model.embedding_
        Embedding(3 nodes, 1 dimensions)
        """
        self._check()
        graph = as_graph_with_edges(X)
        seed = resolve_seed(self.seed)
        adjacency = Adjacency.of(graph)
        with ThreadPoolExecutor(self.threads or available_threads()) as pool:
            number = (
                self._choose_number(pool, adjacency, seed) if self.n_communities is None else int(self.n_communities)
            )
            ascent = self._choose_start(pool, adjacency, number, seed)
        with reporting_fit(progress) as report:

            def report_sweep(ascent: Ascent) -> None:
                report(Progress(ascent.sweeps, self.max_iter, ascent.log_likelihoods[-1]))

            report_sweep(ascent)
            ascent.run(self.max_iter, self.tol, report_sweep)
        self.seed_, self.n_communities_, self.n_iter_ = seed, number, ascent.sweeps
        self.history_ = {"sweeps": list(range(ascent.sweeps + 1)), "log_likelihood": ascent.log_likelihoods}
        self.embedding_ = Embedding._owning(ascent.factors.astype(np.float32), graph.names)
        self.diagnostics_ = diagnose(graph, self.embedding_, threads=self.threads)
        self.threshold_ = adjacency.threshold
        warn_if_random(self)
        return self

    @property
    def memberships_(self) -> npt.NDArray[np.bool_]:
        """Which nodes are members of which communities."""
        members: npt.NDArray[np.bool_] = self.embedding_.vectors > self.threshold_
        return members

    def _check(self) -> None:
        counts = ("n_communities", "n_init", "max_iter", "threads")
        check_positive_integers(**{name: getattr(self, name) for name in counts})
        if not (is_number(self.tol) and 0 <= self.tol < math.inf):
            raise ValueError(f"tol must be a finite number, 0 or above; got {self.tol!r}")

    def _choose_start(self, pool: Executor, adjacency: Adjacency, number: int, seed: int) -> Ascent:
        """Return the start with the highest likelihood after the first sweeps; of equals, the first one."""

        def first_sweeps(start: int) -> Ascent:
            ascent = Ascent(adjacency, initial_factors(adjacency, number, seed, start))
            return ascent.run(min(_FIRST_SWEEPS, self.max_iter), self.tol)

        return max(pool.map(first_sweeps, range(self.n_init)), key=lambda ascent: ascent.log_likelihoods[-1])

    def _choose_number(self, pool: Executor, adjacency: Adjacency, seed: int) -> int:
        """Return the number of communities under which held-out pairs are most likely; of equals, the smallest."""
        folds = [_hold_out(adjacency, seed, fold) for fold in range(_FOLDS)]

        def held_out_likelihood(number: int, fold: int) -> float:
            factors = initial_factors(folds[fold].train, number, seed, fold)
            return folds[fold].log_likelihood(Ascent(folds[fold].train, factors).run(self.max_iter, self.tol))

        scores: dict[int, float] = {}
        candidates = _candidate_numbers(adjacency)
        # Two at a time whatever the number of threads, so that the same numbers are tried.
        while numbers := list(islice(candidates, 2)):
            jobs = np.repeat(numbers, _FOLDS).tolist(), [*range(_FOLDS)] * len(numbers)
            values = pool.map(held_out_likelihood, *jobs)
            for number in numbers:
                scores[number] = sum(islice(values, _FOLDS))
            best = max(scores, key=lambda number: (scores[number], -number))
            if list(scores).index(best) + _MAX_WORSE < len(scores):
                break
        return best


@dataclass(frozen=True)
class _Fold:
    """A graph without some of its edges; these edges; and about as many pairs without an edge."""

    train: Adjacency
    edges: Rows
    non_edges: Rows

    def log_likelihood(self, ascent: Ascent) -> float:
        """Return the log-likelihood of the held-out pairs.

        Here, nodes without a common community have an edge as often as any two nodes. With the smaller background of
        training, edges between communities would weigh so much that a single community would always win.
        """
        background = max(self.train.threshold**2, self.train.background)
        edges, non_edges = (pair_rates(ascent.factors, pairs, background) for pairs in (self.edges, self.non_edges))
        return float(np.log(-np.expm1(-edges)).sum() - non_edges.sum())


def _candidate_numbers(adjacency: Adjacency) -> Iterator[int]:
    """Yield the numbers of communities to try, as long as each community can have two nodes."""
    number = 1
    while number == 1 or number <= adjacency.nodes // 2:
        yield number
        number = number + 1 if number < _LAST_CONSECUTIVE else math.ceil(number * _GRID_RATIO)


def _hold_out(adjacency: Adjacency, seed: int, fold: int) -> _Fold:
    """Hold out some edges, and draw as many pairs without an edge."""
    random = random_generator(seed, f"held out {fold}")
    edges, n = adjacency.edges(), adjacency.nodes
    held_out = np.zeros(len(edges), bool)
    held_out[random.permutation(len(edges))[: math.ceil(_HELD_OUT_FRACTION * len(edges))]] = True
    count = int(held_out.sum())
    drawn = np.sort(random.integers(max(n, 1), size=(2 * count, 2)), axis=1)
    drawn = drawn[drawn[:, 0] < drawn[:, 1]]
    is_edge = np.isin(drawn[:, 0] * n + drawn[:, 1], edges[:, 0] * n + edges[:, 1])
    return _Fold(Adjacency.from_pairs(n, edges[~held_out]), edges[held_out], drawn[~is_edge][:count])
