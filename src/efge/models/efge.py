"""EFGE: the estimator of exponential family graph embeddings."""

from __future__ import annotations

from efge.families.base import Family, check
from efge.families.builtin import as_family
from efge.models.walk_base import WalkEmbedder
from efge.training.settings import Settings
from efge.walks.strategies import Node2VecWalk, Strategy


class EFGE(WalkEmbedder):
    """Exponential family graph embedding: a vector for each node of a graph.

    Random walks over the graph say which nodes meet; a family of distributions says how likely that is for two vectors;
    stochastic gradient ascent finds the vectors that make it most likely. The same graph, parameters and seed give the
    same bytes, at any number of threads.

    Parameters
    ----------
    family : str or Family
        "normal", "poisson", "bernoulli", "negative-binomial", "geometric", "bernoulli-poisson", or a :class:`Family`,
        which may be of your own making.
    dim : int
        Entries of a vector.
    walk : str or strategy
        "node2vec", "uniform", "weighted", or a strategy such as ``CorpusWalk(path)``. The default goes by weights where
        the graph has any.
    p, q : float
        node2vec's return and in-out parameters; at 1 and 1 a walk does not care where it came from.
    walks_per_node : int
        Walks that start at each node.
    walk_length : int
        Nodes in a walk.
    window : int
        Contexts of a node are all that a walk visits at most so many steps before and after it.
    negatives : int
        Nodes drawn at random to stand against each context. One that is the context itself does not count; so the
        smaller a graph is, the fewer there are, and a graph with a single node has none.
    epochs : int
        Passes, each over new walks, or over the same ones where they are a corpus.
    learning_rate, min_learning_rate : float
        The learning rate falls from the one to the other, linearly with the nodes seen.
    noise_power : float
        Negatives are drawn in proportion to how often walks visit a node, to this power.
    patience : int, optional
        Stop when the likelihood of the pairs held apart, which is looked at 20 times, has not risen so often in a row.
    trainer : "fast" or "reference"
        "reference" takes one pair after the other, as the paper describes it: in one thread, some ten times slower.
    partitions : int, optional
        Split nodes and tables into so many parts, of which few are in memory at a time. Vectors are not those of whole
        tables, but as good; see `workdir` of :meth:`fit`.
    threads : int, optional
        By default, all cores. The result does not depend on it.
    seed : int, optional
        Without one, a random one is chosen, and kept as `seed_`.

    Attributes
    ----------
    embedding_ : Embedding
        The nodes' vectors, under the names that the graph has for them.
    context_embedding_ : Embedding
        The vectors that nodes have as contexts of others.
    history_ : dict
        "pairs" trained, and the mean "log_likelihood" of a sample of pairs and their negatives at that point. The
        sample is held apart: no training sees it (but for a corpus of less than a hundred walks).
    seed_ : int

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
        check(family)
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
