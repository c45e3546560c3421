"""LINE: vectors of nodes that are joined, and of nodes that have the same neighbors, from edges drawn at random."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.embedding.embedding import Embedding
from efge.errors import check_counts
from efge.families.builtin import Bernoulli
from efge.graph.graph import Graph
from efge.graph.inputs import as_graph
from efge.kernels.random import alias_tables
from efge.kernels.walks import draw_stars
from efge.models.base import NodeEmbedder
from efge.parallel import available_threads
from efge.progress import Progress
from efge.random import chosen_seed, stream_key
from efge.training.settings import Settings
from efge.training.trainer import Trained, alias_table, train
from efge.walks.walks import Round

ORDERS = ("first", "second", "both")
# Edges that are drawn at a time, and those of them that are at one node.
_A_ROUND, _A_STAR = 1 << 18, 8
# Edges are drawn so often, and at least so often for each node, however few edges a graph has.
_PER_EDGE, _LEAST_PER_NODE = 100, 1000


class LINE(NodeEmbedder):
    """LINE (Tang et al., 2015): first- and second-order proximity, by edges drawn in proportion to their weights.

    First order: nodes that are joined have similar vectors. Second order: nodes with the same neighbors have. By
    default, one half of the entries is for each. Use it as the baseline that looks no further than neighbors of
    neighbors; it heeds weights and directions, and its cost grows with the edges. The same graph, parameters and seed
    give the same bytes, at any number of threads.

    Parameters
    ----------
    dim : int
        Entries of a vector; even if the order is "both".
    order : "both", "first" or "second"
        Of a directed graph's edges, first order ignores the direction.
    samples : int, optional
        Edges to draw for each order. By default, 100 for each edge and direction, and 1,000 for each node at least.
    negatives : int
        Nodes drawn at random to stand against each edge's end.
    learning_rate, min_learning_rate : float
        The learning rate falls from the one to the other, linearly with the edges drawn.
    threads : int, optional
        By default, all cores. The result does not depend on it.
    seed : int, optional
        Without one, a random one is chosen, and kept as `seed_`.

    Attributes
    ----------
    embedding_ : Embedding
        The nodes' vectors, first order in front.
    history_ : dict
        For each order, "pairs" trained and the mean "log_likelihood" of some edges and negatives held apart.
    seed_ : int

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

    def fit(self, X: Any, y: Any = None, *, progress: Callable[[Progress], None] | None = None) -> LINE:  # noqa: N803
        """Learn the vectors of a graph's nodes.

        Parameters
        ----------
        X : Graph, or anything :func:`efge.as_graph` takes
        y : ignored
        progress : callable, optional
            Called with a :class:`efge.Progress` when training begins, then some times a second; pairs are edges drawn.

        Examples
        --------
        >>> LINE(dim=4, order="first", seed=0).fit([("a", "b"), ("b", "c")]).embedding_.names.tolist()
        ['a', 'b', 'c']
        """
        orders = self._orders()
        graph = as_graph(X)
        drawn = DrawnEdges(graph, self.samples, self.threads, self.seed)
        self.seed_, self.history_ = drawn.seed, {}
        # Without edges there is nothing to learn.
        halves = [] if len(graph.indices) else [np.zeros((graph.n_nodes, self.dim), np.float32)]
        orders = orders if len(graph.indices) else ()
        for number, order in enumerate(orders):
            trained = self._train(drawn.of_order(order), order, _after(progress, number, len(orders)))
            self.history_[order] = trained.history
            halves.append(trained.centers)
        self.embedding_ = Embedding._owning(np.hstack(halves), graph.names)
        return self

    def _orders(self) -> tuple[str, ...]:
        check_counts(dim=self.dim, samples=self.samples, negatives=self.negatives)
        if self.order not in ORDERS:
            raise ValueError(f"no order {self.order!r}; known: {', '.join(ORDERS)}")
        if self.order == "both" and self.dim % 2:
            raise ValueError(f"dim is even where each order has one half of it; got {self.dim}")
        return ("first", "second") if self.order == "both" else (self.order,)

    def _train(self, edges: DrawnEdges, order: str, progress: Callable[[Progress], None] | None) -> Trained:
        settings = Settings(
            dim=self.dim // 2 if self.order == "both" else self.dim,
            window=_A_STAR,
            negatives=self.negatives,
            epochs=1,
            learning_rate=self.learning_rate,
            min_learning_rate=self.min_learning_rate,
            noise_power=0.75,
            stars=True,
            one_table=order == "first",
        )
        return train(edges, Bernoulli(), settings, progress)


class DrawnEdges:
    """Edges drawn in proportion to their weights, as stars: a node and the ends of some of its edges.

    Each edge is as likely as if it were drawn alone; several at a node are trained in one step.

    Examples
    --------
    >>> edges = DrawnEdges(as_graph([("a", "b")]), samples=4, threads=1, seed=0)
    >>> [star.tolist() for some in edges.rounds() for star in some]
    [[0, 1, 1, 1, 1]]
    """

    held_apart_every = None

    def __init__(self, graph: Graph, samples: int | None, threads: int | None, seed: int | None) -> None:
        check_counts(threads=threads)
        self.graph = graph
        self.seed = chosen_seed(seed)
        self.threads = available_threads() if threads is None else int(threads)
        edges = len(graph.indices)
        self.samples = samples or max(_PER_EDGE * edges, _LEAST_PER_NODE * graph.n_nodes if edges else 0)
        self._purpose = "edges"
        if edges:
            self._rows = _Rows.of(graph.indptr, graph.indices, graph.weights)

    def of_order(self, order: str) -> DrawnEdges:
        """The same with other random numbers; of first order, a directed edge is seen from both of its ends."""
        other = copy(self)
        other._purpose = f"edges of {order} order"
        if order == "first" and self.graph.directed and len(self.graph.indices):
            other._rows = _both_ways(self.graph)
        return other

    def describe(self) -> dict[str, Any]:
        """What the edges depend on besides the graph, by name.

        Examples
        --------
        >>> DrawnEdges(as_graph([("a", "b")]), samples=4, threads=1, seed=0).describe()
        {'purpose': 'edges', 'seed': 0, 'samples': 4}
        """
        return {"purpose": self._purpose, "seed": self.seed, "samples": int(self.samples)}

    def rounds(self, epoch: int = 0) -> Iterator[Round]:
        """The edges, some at a time; all stars but the last one of a round have as many.

        Examples
        --------
        >>> edges = DrawnEdges(as_graph([("a", "b")]), samples=20, threads=1, seed=0)
        >>> [len(star) for some in edges.rounds() for star in some]
        [9, 9, 5]
        """
        for number, first in enumerate(range(0, self.samples if len(self.graph.indices) else 0, _A_ROUND)):
            key = stream_key(self.seed, epoch, f"{self._purpose}, {number}")
            yield self._draw(key, min(_A_ROUND, self.samples - first), _A_STAR)

    def held_apart(self, count: int) -> Round:
        """Edges to judge training by, from random numbers that it does not use.

        Examples
        --------
        >>> len(DrawnEdges(as_graph([("a", "b")]), samples=4, threads=1, seed=0).held_apart(9))
        9
        """
        key = stream_key(self.seed, 0, f"{self._purpose} held apart")
        return self._draw(key, count if len(self.graph.indices) else 0, 1)

    def _draw(self, key: np.uint64, count: int, a_star: int) -> Round:
        stars = np.empty((-(-count // a_star), a_star + 1), self.graph.indices.dtype)
        if count:
            draw_stars(key, *self._rows, stars)
        offsets = np.arange(0, stars.size + 1, a_star + 1, dtype=np.int64)
        # The last star has what is left.
        offsets[-1] = len(stars) + count
        return Round(stars.reshape(-1)[: offsets[-1]], offsets)


class _Rows(NamedTuple):
    """Rows of a graph, an alias table for each where they have weights, and one of nodes by the sums of their rows."""

    indptr: npt.NDArray[Any]
    indices: npt.NDArray[Any]
    keep: npt.NDArray[np.uint32]
    other: npt.NDArray[np.int32]
    node_keep: npt.NDArray[np.uint32]
    node_other: npt.NDArray[np.int32]

    @classmethod
    def of(
        cls, indptr: npt.NDArray[Any], indices: npt.NDArray[Any], weights: npt.NDArray[np.floating[Any]] | None
    ) -> _Rows:
        if weights is None:
            none = np.empty(0, np.uint32), np.empty(0, np.int32)
            return cls(indptr, indices, *none, *alias_table(np.diff(indptr).astype(np.float64)))
        keep, other = np.empty(len(indices), np.uint32), np.empty(len(indices), np.int32)
        alias_tables(indptr, weights.astype(np.float64), keep, other)
        # In units of the heaviest edge, so that no sum overflows; a node of none but tiny ones is then never drawn.
        ends = np.concatenate([[0.0], np.cumsum(weights.astype(np.float64) / weights.max())])
        return cls(indptr, indices, keep, other, *alias_table(np.diff(ends[indptr])))


def _both_ways(graph: Graph) -> _Rows:
    """Rows of a directed graph that have each edge at both of its ends."""
    sources = np.repeat(np.arange(graph.n_nodes, dtype=graph.indices.dtype), np.diff(graph.indptr))
    ends, others = np.concatenate([sources, graph.indices]), np.concatenate([graph.indices, sources])
    order = np.argsort(ends, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=graph.n_nodes))]).astype(graph.indptr.dtype)
    weights = None if graph.weights is None else np.tile(graph.weights, 2)[order]
    return _Rows.of(indptr, others[order], weights)


def _after(progress: Callable[[Progress], None] | None, done: int, total: int) -> Callable[[Progress], None] | None:
    """Progress of one of several trainings of the same length, as that of all of them."""
    if progress is None:
        return None
    return lambda now: progress(Progress(now.pairs + done * now.total, now.total * total, now.log_likelihood))
