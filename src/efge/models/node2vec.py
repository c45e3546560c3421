"""Node2Vec: biased random walks, and skip-gram with negative sampling."""

from __future__ import annotations

from efge.families.base import Family
from efge.families.builtin import Bernoulli
from efge.models.scoring import PairScorer
from efge.models.walk_base import UpdatableWalkEmbedder
from efge.training.settings import Settings
from efge.walks.strategies import Node2VecWalk, Strategy


class Node2Vec(PairScorer, UpdatableWalkEmbedder):
    """Node2Vec: vectors that predict which nodes occur near each other on random walks biased by p and q.

    With a small q walks go far, and vectors reflect which community a node belongs to; with a large q walks stay close,
    and vectors reflect the structure around a node. Use it as the common baseline, or where p and q have been tuned for
    your data. It is :class:`efge.EFGE` with the Bernoulli family, trained by the same code. The same graph, parameters
    and seed give the same bytes, at any number of threads, on processors with the same features.

    Parameters
    ----------
    dim : int
        Dimension of the vectors.
    p, q : float
        The return and in-out parameters. A p above 1 makes steps back less likely; a q above 1 makes steps away from
        the previous node less likely.
    walks_per_node, walk_length : int
        Number of walks that start at each node, and number of nodes in a walk.
    window : int
        Contexts of a node are the nodes up to this many steps before and after it on a walk.
    negatives : int
        Number of negative samples for each context: nodes drawn at random.
    epochs : int
        Number of passes. Each pass makes new walks, except with a corpus, which is used again.
    learning_rate, min_learning_rate : float
        The learning rate falls linearly from the first to the second over the course of training.
    threads : int, optional
        Number of threads; by default, one for each core. The result does not depend on it.
    seed : int, optional
        By default, a random seed, which is stored as `seed_`.

    Attributes
    ----------
    embedding_, context_embedding_ : Embedding
        The vectors of the nodes, and their vectors as contexts of others.
    history_ : dict
        "pairs" trained so far, and the mean "log_likelihood" of held-out pairs and their negative samples at that
        point.
    visits_ : array of int
        How often the walks visit each node, in the order of the rows.
    neighborhoods_ : array of int
        A digest of the edges of each node, by which :meth:`partial_fit` finds what has changed.
    n_updates_ : int
        Number of updates by :meth:`partial_fit` since the fit.
    drift_ : Drift
        After an update: how far old nodes have moved.
    directed_ : bool
        Whether the graph is directed.
    diagnostics_ : Diagnostics
        Figures that tell, without labels, whether the vectors say anything about the graph.
    seed_ : int
        The seed that was used.

    References
    ----------
    A. Grover and J. Leskovec. node2vec: scalable feature learning for networks. KDD 2016.

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
