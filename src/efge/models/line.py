"""LINE: vectors of nodes that are joined, and of nodes that have the same neighbors, from edges sampled at random."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.embedding.embedding import Embedding
from efge.errors import check_choice, check_positive_integers
from efge.families.builtin import Bernoulli
from efge.graph.graph import Graph
from efge.graph.inputs import as_graph_with_edges
from efge.kernels.random import build_alias_tables
from efge.kernels.walks import draw_stars
from efge.models.diagnostics import diagnose, warn_if_poor
from efge.models.scoring import PairScorer
from efge.progress import FitProgress, Progress, reporting_fit
from efge.random import resolve_seed, stream_key
from efge.system import available_threads
from efge.training.noise import alias_table
from efge.training.settings import Settings
from efge.training.trainer import Trained, train
from efge.walks.walks import WalkBatch

ORDERS = ("first", "second", "both")
# Number of edges in a batch, and in a star.
_BATCH_EDGES, _STAR_EDGES = 1 << 18, 8
# Default number of samples: for each edge and direction, and at least for each node, however few edges there are.
_SAMPLES_PER_EDGE, _MIN_SAMPLES_PER_NODE = 100, 1000


class LINE(PairScorer):
    """LINE: first- and second-order proximity, from edges sampled in proportion to their weights.

    First order: nodes that are joined by an edge have similar vectors. Second order: nodes with the same neighbors have
    similar vectors. By default, each order gets one half of the dimensions. Use it as the baseline that sees no further
    than neighbors of neighbors; it uses weights and directions, and its time grows with the number of edges. The same
    graph, parameters and seed give the same bytes, at any number of threads, on processors
    with the same features.

    Parameters
    ----------
    dim : int
        Dimension of the vectors; even if the order is "both".
    order : "both", "first" or "second"
        First order ignores the direction of edges.
    samples : int, optional
        Number of edges to sample for each order. By default, 100 for each edge and direction, and at least 1,000 for
        each node.
    negatives : int
        Number of negative samples for each sampled edge: nodes drawn at random.
    learning_rate, min_learning_rate : float
        The learning rate falls linearly from the first to the second over the course of training.
    threads : int, optional
        Number of threads; by default, one for each core. The result does not depend on it.
    seed : int, optional
        By default, a random seed, which is stored as `seed_`.

    Attributes
    ----------
    embedding_ : Embedding
        The vectors, under the names of the nodes; with both orders, the first order comes first.
    context_embedding_ : Embedding
        The vectors of the nodes as neighbors of others. In first order these are the vectors themselves; with both
        orders, the score of a pair is therefore the sum of the log-odds of the two orders.
    history_ : dict
        For each order, "pairs" trained so far and the mean "log_likelihood" of held-out edges and their negative
        samples at that point.
    directed_ : bool
        Whether the graph is directed.
    diagnostics_ : Diagnostics
        Figures that tell, without labels, whether the vectors say anything about the graph.
    seed_ : int
        The seed that was used.

    References
    ----------
    J. Tang, M. Qu, M. Wang, M. Zhang, J. Yan and Q. Mei. LINE: large-scale information network embedding. WWW 2015.

    Examples
    --------
    >>> from efge import LINE
    >>> graph = [("ann", "bob"), ("bob", "cid"), ("cid", "ann"), ("cid", "dan")]
    >>> LINE(dim=8, seed=0).fit(graph).embedding_
    Embedding(4 nodes, 8 dimensions)
    """

    def __init__(
        self,
        dim: int = 128,
        *,
        order: str = "both",
        samples: int | None = None,
        negatives: int = 5,
        learning_rate: float = 0.025,
        min_learning_rate: float = 0.0001,
        threads: int | None = None,
        seed: int | None = None,
    ) -> None:
        self.dim = dim
        self.order = order
        self.samples = samples
        self.negatives = negatives
        self.learning_rate = learning_rate
        self.min_learning_rate = min_learning_rate
        self.threads = threads
        self.seed = seed

    def fit(self, X: Any, y: Any = None, *, progress: FitProgress = None) -> LINE:  # noqa: N803
        """Learn the vectors of a graph's nodes.

        Parameters
        ----------
        X : Graph, or anything :func:`efge.as_graph` takes
        y : ignored
        progress : bool or callable, optional
            True shows a bar, False none; by default, a long fit shows one in a notebook or at Python's prompt. A
            function is called with a :class:`efge.Progress` when training begins, and then several times a second;
            its pairs are sampled edges.

        Returns
        -------
        LINE
            The estimator itself.

        Examples
        --------
        >>> LINE(dim=4, order="first", seed=0).fit([("a", "b"), ("b", "c")]).embedding_.names.tolist()
        ['a', 'b', 'c']
        """
        orders = self._check_orders()
        graph = as_graph_with_edges(X)
        sampler = EdgeSampler(graph, self.samples, self.threads, self.seed)
        self.seed_, self.history_, self.directed_ = sampler.seed, {}, graph.directed
        parts = []
        with reporting_fit(progress) as report:
            for number, order in enumerate(orders):
                trained = self._train(sampler.for_order(order), order, _overall_progress(report, number, len(orders)))
                self.history_[order] = trained.history
                parts.append((trained.centers, trained.contexts))
        centers, contexts = (np.hstack(tables) for tables in zip(*parts, strict=True))
        self.embedding_ = Embedding._owning(centers, graph.names)
        self.context_embedding_ = Embedding._owning(contexts, graph.names)
        self.diagnostics_ = diagnose(graph, self.embedding_)
        warn_if_poor(self)
        return self

    def _check_orders(self) -> tuple[str, ...]:
        """Check the parameters, and return the orders to train."""
        check_positive_integers(dim=self.dim, samples=self.samples, negatives=self.negatives)
        check_choice("order", self.order, ORDERS)
        if self.order == "both" and self.dim % 2:
            raise ValueError(f"dim must be even if order is both, half for each order; got {self.dim}")
        return ("first", "second") if self.order == "both" else (self.order,)

    def _train(self, edges: EdgeSampler, order: str, progress: Callable[[Progress], None]) -> Trained:
        settings = Settings(
            dim=self.dim // 2 if self.order == "both" else self.dim,
            window=_STAR_EDGES,
            negatives=self.negatives,
            epochs=1,
            learning_rate=self.learning_rate,
            min_learning_rate=self.min_learning_rate,
            noise_power=0.75,
            stars=True,
            one_table=order == "first",
        )
        return train(edges, Bernoulli(), settings, progress)


class EdgeSampler:
    """Edges sampled in proportion to their weights, as stars: a node followed by neighbors that were drawn for it.

    Each edge is as likely as if it were drawn alone; the edges of a star are trained in one step.

    Examples
    --------
    >>> edges = EdgeSampler(as_graph_with_edges([("a", "b")]), samples=4, threads=1, seed=0)
    >>> [star.tolist() for batch in edges.batches() for star in batch]
    [[0, 1, 1, 1, 1]]
    """

    held_out_every = None

    def __init__(self, graph: Graph, samples: int | None, threads: int | None, seed: int | None) -> None:
        check_positive_integers(threads=threads)
        self.graph = graph
        self.seed = resolve_seed(seed)
        self.threads = available_threads() if threads is None else int(threads)
        edges = len(graph.indices)
        self.samples = samples or max(_SAMPLES_PER_EDGE * edges, _MIN_SAMPLES_PER_NODE * graph.n_nodes if edges else 0)
        # Names the random stream; changing it changes the sampled edges.
        self._purpose = "edges"
        if edges:
            self._tables = _SamplingTables.of(graph.indptr, graph.indices, graph.weights)

    def for_order(self, order: str) -> EdgeSampler:
        """Return a sampler with its own random numbers; for first order, directed edges are seen from both ends."""
        other = copy(self)
        other._purpose = f"edges of {order} order"
        if order == "first" and self.graph.directed and len(self.graph.indices):
            other._tables = _symmetric_tables(self.graph)
        return other

    def describe(self) -> dict[str, Any]:
        """Return what the edges depend on besides the graph, by name.

        Examples
        --------
        >>> EdgeSampler(as_graph_with_edges([("a", "b")]), samples=4, threads=1, seed=0).describe()
        {'purpose': 'edges', 'seed': 0, 'samples': 4}
        """
        return {"purpose": self._purpose, "seed": self.seed, "samples": int(self.samples)}

    def batches(self, epoch: int = 0) -> Iterator[WalkBatch]:
        """Yield the sampled edges in batches; all stars of a batch have the same size, except the last one.

        Examples
        --------
        >>> edges = EdgeSampler(as_graph_with_edges([("a", "b")]), samples=20, threads=1, seed=0)
        >>> [len(star) for batch in edges.batches() for star in batch]
        [9, 9, 5]
        """
        for number, first in enumerate(range(0, self.samples if len(self.graph.indices) else 0, _BATCH_EDGES)):
            key = stream_key(self.seed, epoch, f"{self._purpose}, {number}")
            yield self._sample(key, min(_BATCH_EDGES, self.samples - first), _STAR_EDGES)

    def held_out(self, count: int) -> WalkBatch:
        """Return edges to evaluate training on, from a random stream that training does not use.

        Examples
        --------
        >>> len(EdgeSampler(as_graph_with_edges([("a", "b")]), samples=4, threads=1, seed=0).held_out(9))
        9
        """
        key = stream_key(self.seed, 0, f"{self._purpose} held apart")
        return self._sample(key, count if len(self.graph.indices) else 0, 1)

    def _sample(self, key: np.uint64, count: int, star_edges: int) -> WalkBatch:
        stars = np.empty((-(-count // star_edges), star_edges + 1), self.graph.indices.dtype)
        if count:
            draw_stars(key, *self._tables, stars)
        offsets = np.arange(0, stars.size + 1, star_edges + 1, dtype=np.int64)
        # The last star has the remaining edges.
        offsets[-1] = len(stars) + count
        return WalkBatch(stars.reshape(-1)[: offsets[-1]], offsets)


class _SamplingTables(NamedTuple):
    """What the kernel samples edges from: adjacency lists, and alias tables of neighbors and of nodes."""

    indptr: npt.NDArray[Any]  # [nodes + 1], where the neighbors of each node begin
    indices: npt.NDArray[Any]  # [edges], the neighbors
    prob: npt.NDArray[np.uint32]  # [edges], alias table of each node's neighbors; empty without weights
    alias: npt.NDArray[np.int32]
    node_prob: npt.NDArray[np.uint32]  # [nodes], alias table of nodes by their total weight
    node_alias: npt.NDArray[np.int32]

    @classmethod
    def of(
        cls, indptr: npt.NDArray[Any], indices: npt.NDArray[Any], weights: npt.NDArray[np.floating[Any]] | None
    ) -> _SamplingTables:
        if weights is None:
            unused = np.empty(0, np.uint32), np.empty(0, np.int32)
            return cls(indptr, indices, *unused, *alias_table(np.diff(indptr).astype(np.float64)))
        prob, alias = np.empty(len(indices), np.uint32), np.empty(len(indices), np.int32)
        build_alias_tables(indptr, weights.astype(np.float64), prob, alias)
        # Relative to the heaviest edge, so that no sum overflows; nodes with nothing but tiny weights are never drawn.
        cumulative = np.concatenate([[0.0], np.cumsum(weights.astype(np.float64) / weights.max())])
        return cls(indptr, indices, prob, alias, *alias_table(np.diff(cumulative[indptr])))


def _symmetric_tables(graph: Graph) -> _SamplingTables:
    """Return tables of a directed graph in which each edge is listed at both of its ends."""
    sources = np.repeat(np.arange(graph.n_nodes, dtype=graph.indices.dtype), np.diff(graph.indptr))
    ends, others = np.concatenate([sources, graph.indices]), np.concatenate([graph.indices, sources])
    order = np.argsort(ends, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=graph.n_nodes))]).astype(graph.indptr.dtype)
    weights = None if graph.weights is None else np.tile(graph.weights, 2)[order]
    return _SamplingTables.of(indptr, others[order], weights)


def _overall_progress(progress: Callable[[Progress], None], done: int, total: int) -> Callable[[Progress], None]:
    """Turn the progress of one of several trainings of the same length into that of all of them."""
    return lambda one: progress(Progress(one.pairs + done * one.total, one.total * total, one.log_likelihood))
