"""EFGE: the estimator of exponential family graph embeddings."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.embedding.embedding import Embedding
from efge.embedding.propagation import METHODS, filter_vectors
from efge.errors import check_choice
from efge.families.base import Family, check_family
from efge.families.builtin import as_family
from efge.graph.graph import Graph
from efge.graph.information import mixes_quickly
from efge.models.scoring import PairScorer
from efge.models.walk_base import TableStorage, UpdatableWalkEmbedder
from efge.training.learning_rate import MAX_WALKS_PER_NODE
from efge.training.settings import INITS, TRAINERS, Settings
from efge.training.tables import copy_table
from efge.training.trainer import Trained
from efge.walks.strategies import Node2VecWalk, Strategy
from efge.walks.walks import Walks

# Contexts are up to this many steps away; where walks mix quickly, so that more steps lead anywhere, up to fewer.
_WINDOW, _SMALL_WINDOW = 5, 2
# Mean length of filtered vectors, at most. A classifier regularizes longer ones less, which costs scores where few
# nodes have labels (CiteSeer, Cora), and gains less where most have.
_MAX_MEAN_LENGTH = 2.5
# Nodes of a component whose vectors keep their lengths. Nothing tells where smaller ones are among the others; classes
# of DBLP, whose small components say little about them, are told apart better if their vectors are short. Cora's are
# not, at 50 and 90 % of the labels.
_WHOLE_COMPONENT = 20


class EFGE(PairScorer, UpdatableWalkEmbedder):
    """Exponential family graph embedding: a vector for each node of a graph.

    Random walks show which nodes occur near each other. A distribution of the exponential family gives the probability
    of such a co-occurrence from the vectors of two nodes. Stochastic gradient ascent finds the vectors that maximize
    it; a filter then makes them smooth along the edges. The same graph, parameters and seed give the same bytes, at any
    number of threads, on processors with the same features.

    The defaults were chosen on networks of many kinds, and differ from the paper's: :meth:`paper` has those. Start with
    the defaults, then compare other families and windows on your own task.

    Parameters
    ----------
    family : str or Family
        Distribution of co-occurrences: "poisson", "bernoulli", "normal", "negative-binomial", "geometric",
        "bernoulli-poisson", or a :class:`Family`, which can be one of your own.
    dim : int
        Dimension of the vectors. Time and memory grow in proportion to it.
    walk : str or strategy
        "node2vec", "uniform", "weighted", or a strategy such as ``CorpusWalk(path)``. The default, "node2vec", uses
        edge weights if the graph has them.
    p, q : float
        node2vec's return and in-out parameters. With the defaults of 1, a step does not depend on the previous node.
        A p below 1 makes steps back more likely; a q below 1 makes steps away from the previous node more likely.
    follow_directions : bool
        Whether walks on a directed graph follow the directions of its edges. By default, each edge leads both ways, as
        for the filter: many walks would end early, at nodes without out-edges, and learn little about the others.
    walks_per_node : int or "auto"
        Number of walks that start at each node. Time grows in proportion to it. With "auto", training goes on until
        held-out pairs hardly become more likely, and then as long again at a falling learning rate: about 12 walks at
        least and 60 at most. The number is stored as `walks_per_node_`.
    walk_length : int
        Number of nodes in a walk.
    window : int or "auto"
        Contexts of a node are the nodes up to this many steps before and after it on a walk. "auto" is 5, or 2 where
        walks mix quickly, as in dense graphs: more steps lead anywhere there. The number is stored as `window_`.
    negatives : int
        Number of negative samples for each context: nodes drawn at random. A draw that hits the context itself is
        dropped, so that small graphs have fewer, and a graph with a single node has none.
    epochs : int
        Number of passes. Each pass makes new walks, except with a corpus, which is used again.
    learning_rate, min_learning_rate : float
        The learning rate falls linearly from the first to the second over the course of training, or over its second
        half if `walks_per_node` is "auto".
    noise_power : float
        Negative samples are drawn in proportion to the number of visits of a node on walks, raised to this power.
    patience : int, optional
        Stop early when the held-out likelihood, which is evaluated 20 times, has not improved this many times in a row.
        By default, training does not stop early.
    init : "auto", "random" or "svd"
        Initial vectors. "svd" starts from factors of the graph's edges, which dense graphs with hubs need: from small
        random vectors, they would take hundreds of walks to learn anything. "auto" uses these factors where steps of
        walks tell little, except in partitions; they take memory for some more tables.
    propagate : "auto", "band-pass", "prone", "average" or None
        Filter that is applied to the vectors at the end, see :func:`efge.propagate`; they keep their mean length up to
        2.5, and nodes without edges their vectors. None leaves all as they were trained. "auto" is "band-pass" unless
        vectors have no negative entries, as memberships of communities. The filter helps most on dense graphs
        and with many labels; docs/quality.md has what it changes on each network.
    trainer : "fast" or "reference"
        "reference" trains one pair after the other, exactly as in the paper, in one thread and about ten times slower.
    partitions : int, optional
        Split the nodes and their tables of vectors into this many partitions, of which only a few are in memory at a
        time; see `workdir` of :meth:`fit`. The vectors differ from those of whole tables, but are as good.
    threads : int, optional
        Number of threads; by default, one for each core. The result does not depend on it.
    seed : int, optional
        By default, a random seed, which is stored as `seed_`.

    Attributes
    ----------
    embedding_ : Embedding
        The vectors, under the names of the nodes.
    center_embedding_ : Embedding
        The vectors of the nodes as centers, as they were trained; without `propagate`, the same as `embedding_`.
    context_embedding_ : Embedding
        The vectors of the nodes as contexts of others.
    filter_map_ : array of shape (dim, dim)
        If there is a filter: the matrix that it multiplies means over neighbors by. New nodes need it.
    walks_per_node_ : float
        Number of walks from each node that were used.
    window_ : int
        The window that was used.
    converged_ : bool
        Whether the number of walks was "auto", and training ended because it had converged.
    history_ : dict
        "pairs" trained so far, and the mean "log_likelihood" of held-out pairs and their negative samples at that
        point. They come from walks that training does not use (except for a corpus of fewer than a hundred walks).
    visits_ : array of int
        How often the walks visit each node, in the order of the rows.
    neighborhoods_ : array of int
        A digest of the edges of each node, by which :meth:`partial_fit` finds what has changed.
    n_updates_ : int
        Number of updates by :meth:`partial_fit` since the fit.
    drift_ : Drift
        After an update: how far old nodes have moved.
    directed_ : bool
        Whether walks followed the directions of edges.
    diagnostics_ : Diagnostics
        Figures that tell, without labels, whether the vectors say anything about the graph.
    seed_ : int
        The seed that was used.

    References
    ----------
    A. Celikkanat and F. D. Malliaros. Exponential family graph embeddings. AAAI 2020.

    Examples
    --------
    >>> from efge import EFGE
    >>> graph = [("ann", "bob"), ("bob", "cid"), ("cid", "ann"), ("cid", "dan")]
    >>> model = EFGE(dim=8, seed=0).fit(graph)
    >>> model.embedding_
    Embedding(4 nodes, 8 dimensions)
    >>> model.embedding_["ann"].shape
    (8,)
    """

    def __init__(
        self,
        family: str | Family = "poisson",
        dim: int = 128,
        *,
        walk: str | Strategy = "node2vec",
        p: float = 1.0,
        q: float = 1.0,
        follow_directions: bool = False,
        walks_per_node: int | str = "auto",
        walk_length: int = 10,
        window: int | str = "auto",
        negatives: int = 5,
        epochs: int = 1,
        learning_rate: float = 0.025,
        min_learning_rate: float = 0.0001,
        noise_power: float = 0.75,
        patience: int | None = None,
        init: str = "auto",
        propagate: str | None = "auto",
        trainer: str = "fast",
        partitions: int | None = None,
        threads: int | None = None,
        seed: int | None = None,
    ) -> None:
        self.family = family
        self.dim = dim
        self.walk = walk
        self.p = p
        self.q = q
        self.follow_directions = follow_directions
        self.walks_per_node = walks_per_node
        self.walk_length = walk_length
        self.window = window
        self.negatives = negatives
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.min_learning_rate = min_learning_rate
        self.noise_power = noise_power
        self.patience = patience
        self.init = init
        self.propagate = propagate
        self.trainer = trainer
        self.partitions = partitions
        self.threads = threads
        self.seed = seed

    @classmethod
    def paper(cls, family: str | Family = "normal", dim: int = 128, **params: Any) -> EFGE:
        """Return an estimator with the settings of the paper.

        80 walks of 10 nodes from each node, a window of 10, random initial vectors and no filter.

        Parameters
        ----------
        family : str or Family
            The paper has "bernoulli", "poisson" and "normal".
        dim : int
        **params
            Other parameters of the estimator.

        Examples
        --------
        >>> EFGE.paper("bernoulli", seed=1)
        EFGE(family='bernoulli', walks_per_node=80, window=10, init='random', propagate=None, seed=1)
        """
        settings: dict[str, Any] = {"walks_per_node": 80, "window": 10, "init": "random", "propagate": None}
        return cls(family, dim, **settings | params)

    def _family(self) -> Family:
        family = as_family(self.family)
        check_family(family)
        return family

    def _pair_family(self) -> Family:
        return as_family(self.family)

    def _settings(self) -> Settings:
        if self.propagate is not None and not (
            isinstance(self.propagate, str) and self.propagate in ("auto", *METHODS)
        ):
            known = f"known: {', '.join(METHODS)}, auto, or propagate=None for no filter"
            raise ValueError(f"no method {self.propagate!r}; {known}")
        if not isinstance(self.follow_directions, bool):
            raise ValueError(f"follow_directions is True or False; got {self.follow_directions!r}")
        check_choice("init", self.init, INITS)
        check_choice("trainer", self.trainer, TRAINERS)
        for name in ("walks_per_node", "window"):
            value = getattr(self, name)
            if isinstance(value, str) and value != "auto":
                raise ValueError(f"{name} is a positive integer or 'auto'; got {value!r}")
        return Settings(
            dim=self.dim,
            window=self._window(),
            negatives=self.negatives,
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            min_learning_rate=self.min_learning_rate,
            noise_power=self.noise_power,
            patience=self.patience,
            trainer=self.trainer,
            partitions=self.partitions,
            init=self.init,
            # Planted communities are found less well if training of memberships ends early.
            until_converged=_is_auto(self.walks_per_node) and not as_family(self.family).nonnegative,
        )

    def _window(self) -> Any:
        """Return the window; before a fit, an automatic one is that of most graphs."""
        return getattr(self, "window_", _WINDOW) if _is_auto(self.window) else self.window

    def _settings_for(self, graph: Graph) -> Settings:
        settings = self._settings()
        return replace(settings, window=choose_window(graph)) if _is_auto(self.window) else settings

    def _walked_graph(self, graph: Graph) -> Graph:
        return graph if self.follow_directions else graph.to_undirected()

    def _walks_per_node(self) -> Any:
        return MAX_WALKS_PER_NODE if _is_auto(self.walks_per_node) else self.walks_per_node

    def _strategy(self) -> Strategy | str:
        if isinstance(self.walk, str) and self.walk == "node2vec":
            return Node2VecWalk(self.p, self.q)
        if (self.p, self.q) != (1, 1):
            raise ValueError(f"p and q are node2vec's; got p={self.p!r}, q={self.q!r} with walk={self.walk!r}")
        return self.walk

    def _store_result(self, walks: Walks, trained: Trained) -> None:
        super()._store_result(walks, trained)
        self.center_embedding_ = self.embedding_
        self.walks_per_node_ = len(walks) * int(self.epochs) * trained.fraction / max(walks.graph.n_nodes, 1)
        self.converged_ = bool(trained.state.converged)
        self.window_ = self._settings_for(walks.graph).window

    def _filter_method(self) -> str | None:
        """Return the filter that is applied at the end, or None."""
        if self.propagate == "auto":
            return None if as_family(self.family).nonnegative else "band-pass"
        return self.propagate

    def _filter(self, walks: Walks, storage: TableStorage) -> None:
        self.embedding_, matrix = self._filtered(self.center_embedding_, walks, self._table_folder(storage))
        vars(self).pop("filter_map_", None)
        if matrix is not None:
            self.filter_map_ = matrix

    def _filtered(self, centers: Embedding, walks: Walks, folder: Path | None = None) -> tuple[Embedding, Any]:
        """Return filtered vectors of a graph's nodes, and the filter's matrix; or the same ones if there is none."""
        method = self._filter_method()
        if method is None:
            return centers, None
        vectors = copy_table(centers.vectors, folder)
        matrix = filter_vectors(vectors, walks.graph, method, threads=walks.threads)
        isolated = walks.graph.isolated
        vectors[isolated] = 0
        vectors *= np.float32(min(_mean_length(centers.vectors), _MAX_MEAN_LENGTH) / (_mean_length(vectors) or 1.0))
        vectors *= _component_factors(walks.graph)[:, None]
        vectors[isolated] = centers.vectors[isolated]
        return Embedding._owning(vectors, walks.graph.names), matrix.astype(np.float32)

    def _table_folder(self, storage: TableStorage) -> Path | None:
        """Return the folder of files for tables that may not fit in memory."""
        if storage.mmap is not None:
            return Path(storage.mmap)
        return Path(storage.workdir or tempfile.gettempdir()) if self.partitions else None


def _is_auto(value: Any) -> bool:
    """Return whether a parameter is "auto", and not, say, an array that compares entry by entry."""
    return isinstance(value, str) and value == "auto"


def choose_window(graph: Graph) -> int:
    """Return the window that suits a graph: 2 if walks mix quickly, as in dense graphs, and 5 otherwise.

    Examples
    --------
    >>> from efge.graph.inputs import as_graph
    >>> everybody, pairs = [(i, j) for i in range(20) for j in range(i)], [(2 * i, 2 * i + 1) for i in range(20)]
    >>> choose_window(as_graph(everybody)), choose_window(as_graph(pairs))
    (2, 5)
    """
    return _SMALL_WINDOW if mixes_quickly(graph) else _WINDOW


def _component_factors(graph: Graph) -> npt.NDArray[np.float32]:
    """Return a factor for each node's length: the root of its component's size, relative to a whole one or the largest.

    Examples
    --------
    >>> from efge.graph.inputs import as_graph
    >>> _component_factors(as_graph([(0, 1), (1, 2), (2, 3)], nodes=range(5)))
    array([1. , 1. , 1. , 1. , 0.5], dtype=float32)
    """
    sizes = np.bincount(graph.components)
    factors = np.sqrt(np.minimum(sizes / min(_WHOLE_COMPONENT, sizes.max()), 1)).astype(np.float32)
    by_node: npt.NDArray[np.float32] = factors[graph.components]
    return by_node


def _mean_length(vectors: npt.NDArray[np.float32]) -> float:
    """Return the root mean square of the lengths of vectors."""
    return float(np.sqrt(np.einsum("ij,ij->", vectors, vectors, dtype=np.float64) / max(len(vectors), 1)))
