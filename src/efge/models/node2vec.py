"""Node2Vec: walks of second order, and skip-gram with negative sampling."""

from __future__ import annotations

from efge.families.base import Family
from efge.families.builtin import Bernoulli
from efge.models.walk_base import WalkEmbedder
from efge.training.settings import Settings
from efge.walks.strategies import Node2VecWalk, Strategy


class Node2Vec(WalkEmbedder):
    """Node2Vec (Grover and Leskovec, 2016): vectors that tell which nodes meet on walks that p and q steer.

    A small q lets walks go far, so that vectors say to which community a node belongs; a large one keeps them near, so
    that vectors say more of what its surroundings look like. Use it as the common baseline, and where p and q have been
    tuned for your data. It is :class:`efge.EFGE` with the Bernoulli family, and trained by the same code. The same
    graph, parameters and seed give the same bytes, at any number of threads.

    Parameters
    ----------
    dim : int
        Entries of a vector.
    p, q : float
        The return and the in-out parameter: how much less likely a step back, and a step away, is.
    walks_per_node, walk_length : int
        Walks that start at each node, and nodes in a walk.
    window : int
        Contexts of a node are all that a walk visits at most so many steps before and after it.
    negatives : int
        Nodes drawn at random to stand against each context.
    epochs : int
        Passes, each over new walks, or over the same ones where they are a corpus.
    learning_rate, min_learning_rate : float
        The learning rate falls from the one to the other, linearly with the nodes seen.
    threads : int, optional
        By default, all cores. The result does not depend on it.
    seed : int, optional
        Without one, a random one is chosen, and kept as `seed_`.

    Attributes
    ----------
    embedding_, context_embedding_ : Embedding
        The nodes' vectors, and those that they have as contexts of others.
    history_ : dict
        "pairs" trained, and the mean "log_likelihood" of some pairs and negatives held apart at that point.
    seed_ : int

    Examples
    --------
    >>> from efge import Node2Vec
    >>> graph = [("ann", "bob"), ("bob", "cid"), ("cid", "ann"), ("cid", "dan")]
    >>> Node2Vec(dim=8, p=0.5, q=2.0, seed=0).fit(graph).embedding_
    Embedding(4 nodes, 8 dimensions)
    """

    def __init__(
        self,
        dim: int = 128,
        *,
        p: float = 1.0,
        q: float = 1.0,
        walks_per_node: int = 80,
        walk_length: int = 10,
        window: int = 10,
        negatives: int = 5,
        epochs: int = 1,
        learning_rate: float = 0.025,
        min_learning_rate: float = 0.0001,
        threads: int | None = None,
        seed: int | None = None,
    ) -> None:
        self.dim = dim
        self.p = p
        self.q = q
        self.walks_per_node = walks_per_node
        self.walk_length = walk_length
        self.window = window
        self.negatives = negatives
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.min_learning_rate = min_learning_rate
        self.threads = threads
        self.seed = seed

    def _family(self) -> Family:
        return Bernoulli()

    def _strategy(self) -> Strategy | str:
        return Node2VecWalk(self.p, self.q)

    def _settings(self) -> Settings:
        return Settings(
            dim=self.dim,
            window=self.window,
            negatives=self.negatives,
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            min_learning_rate=self.min_learning_rate,
            noise_power=0.75,
        )
