"""EFGE: the estimator of exponential family graph embeddings."""

from __future__ import annotations

from efge.families.base import Family, check_family
from efge.families.builtin import as_family
from efge.models.walk_base import WalkEmbedder
from efge.training.settings import Settings
from efge.walks.strategies import Node2VecWalk, Strategy


class EFGE(WalkEmbedder):
    """Exponential family graph embedding: a vector for each node of a graph.

    Random walks show which nodes occur near each other. A distribution of the exponential family gives the probability
    of such a co-occurrence from the vectors of two nodes. Stochastic gradient ascent finds the vectors that maximize
    it. Settings default to the paper's. The same graph, parameters and seed give the same bytes, at any number of
    threads.

    Start with this estimator and its defaults, then compare the families "bernoulli" and "poisson" on your own task.

    Parameters
    ----------
    family : str or Family
        Distribution of co-occurrences: "normal", "poisson", "bernoulli", "negative-binomial", "geometric",
        "bernoulli-poisson", or a :class:`Family`, which can be one of your own.
    dim : int
        Dimension of the vectors. Time and memory grow in proportion to it.
    walk : str or strategy
        "node2vec", "uniform", "weighted", or a strategy such as ``CorpusWalk(path)``. The default, "node2vec", uses
        edge weights if the graph has them.
    p, q : float
        node2vec's return and in-out parameters. With the defaults of 1, a step does not depend on the previous node.
        A p below 1 makes steps back more likely; a q below 1 makes steps away from the previous node more likely.
    walks_per_node : int
        Number of walks that start at each node. Time grows in proportion to it.
    walk_length : int
        Number of nodes in a walk.
    window : int
        Contexts of a node are the nodes up to this many steps before and after it on a walk.
    negatives : int
        Number of negative samples for each context: nodes drawn at random. A draw that hits the context itself is
        dropped, so that small graphs have fewer, and a graph with a single node has none.
    epochs : int
        Number of passes. Each pass makes new walks, except with a corpus, which is used again.
    learning_rate, min_learning_rate : float
        The learning rate falls linearly from the first to the second over the course of training.
    noise_power : float
        Negative samples are drawn in proportion to the number of visits of a node on walks, raised to this power.
    patience : int, optional
        Stop early when the held-out likelihood, which is evaluated 20 times, has not improved this many times in a row.
        By default, training does not stop early.
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
    context_embedding_ : Embedding
        The vectors of the nodes as contexts of others.
    history_ : dict
        "pairs" trained so far, and the mean "log_likelihood" of held-out pairs and their negative samples at that
        point. They come from walks that training does not use (except for a corpus of fewer than a hundred walks).
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
    >>> model = EFGE(family="normal", dim=8, seed=0).fit(graph)
    >>> model.embedding_
    Embedding(4 nodes, 8 dimensions)
    >>> model.embedding_["ann"].shape
    (8,)
    """

    def __init__(
        self,
        family: str | Family = "normal",
        dim: int = 128,
        *,
        walk: str | Strategy = "node2vec",
        p: float = 1.0,
        q: float = 1.0,
        walks_per_node: int = 80,
        walk_length: int = 10,
        window: int = 10,
        negatives: int = 5,
        epochs: int = 1,
        learning_rate: float = 0.025,
        min_learning_rate: float = 0.0001,
        noise_power: float = 0.75,
        patience: int | None = None,
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
        self.walks_per_node = walks_per_node
        self.walk_length = walk_length
        self.window = window
        self.negatives = negatives
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.min_learning_rate = min_learning_rate
        self.noise_power = noise_power
        self.patience = patience
        self.trainer = trainer
        self.partitions = partitions
        self.threads = threads
        self.seed = seed

    def _family(self) -> Family:
        family = as_family(self.family)
        check_family(family)
        return family

    def _settings(self) -> Settings:
        return Settings(
            dim=self.dim,
            window=self.window,
            negatives=self.negatives,
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            min_learning_rate=self.min_learning_rate,
            noise_power=self.noise_power,
            patience=self.patience,
            trainer=self.trainer,
            partitions=self.partitions,
        )

    def _strategy(self) -> Strategy | str:
        if self.walk != "node2vec" and (self.p, self.q) != (1, 1):
            raise ValueError(f"p and q are node2vec's; got p={self.p!r}, q={self.q!r} with walk={self.walk!r}")
        return Node2VecWalk(self.p, self.q) if self.walk == "node2vec" else self.walk
