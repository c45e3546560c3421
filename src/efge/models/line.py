"""LINE: vectors of nodes that are joined, and of nodes that have the same neighbors, from edges sampled at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from efge.embedding.embedding import Embedding
from efge.errors import check_choice, check_positive_integers
from efge.graph.inputs import as_graph_with_edges
from efge.models.diagnostics import diagnose, warn_if_poor
from efge.models.scoring import PairScorer
from efge.progress import FitProgress, Progress, reporting_fit
from efge.training.edges import EdgeSampler
from efge.training.line import EdgeSettings, TrainedEdges, train_edges

ORDERS = ("first", "second", "both")


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
        self.diagnostics_ = diagnose(graph, self.embedding_, threads=self.threads)
        warn_if_poor(self)
        return self

    def _check_orders(self) -> tuple[str, ...]:
        """Check the parameters, and return the orders to train."""
        check_positive_integers(dim=self.dim, samples=self.samples, negatives=self.negatives)
        check_choice("order", self.order, ORDERS)
        if self.order == "both" and self.dim % 2:
            raise ValueError(f"dim must be even if order is both, half for each order; got {self.dim}")
        return ("first", "second") if self.order == "both" else (self.order,)

    def _train(self, edges: EdgeSampler, order: str, progress: Callable[[Progress], None]) -> TrainedEdges:
        settings = EdgeSettings(
            dim=self.dim // 2 if self.order == "both" else self.dim,
            negatives=self.negatives,
            learning_rate=self.learning_rate,
            min_learning_rate=self.min_learning_rate,
            one_table=order == "first",
        )
        return train_edges(edges, settings, progress)


def _overall_progress(progress: Callable[[Progress], None], done: int, total: int) -> Callable[[Progress], None]:
    """Turn the progress of one of several trainings of the same length into that of all of them."""
    return lambda one: progress(Progress(one.pairs + done * one.total, one.total * total, one.log_likelihood))
