"""DeepWalk: uniform random walks, and skip-gram with hierarchical softmax."""

from __future__ import annotations

from efge.families.base import Family
from efge.families.builtin import Bernoulli
from efge.models.walk_base import WalkEmbedder
from efge.training.settings import Settings
from efge.training.trainer import Trained
from efge.walks.strategies import Strategy
from efge.walks.walks import Walks


class DeepWalk(WalkEmbedder):
    """DeepWalk: vectors that predict which nodes occur near each other on uniform random walks.

    The probability of a context is a product of sigmoids along its path in a Huffman tree, which is built from the
    number of visits of each node (hierarchical softmax). No negative samples are needed, and the probabilities of all
    contexts add up to 1. Use it as the classical baseline, or where such probabilities matter; :class:`efge.EFGE` is
    faster and mostly scores higher. The same graph, parameters and seed give the same bytes, at any number of threads,
    on processors with the same features.

    Parameters
    ----------
    dim : int
        Dimension of the vectors.
    walks_per_node, walk_length : int
        Number of walks that start at each node, and number of nodes in a walk.
    window : int
        Contexts of a node are the nodes up to this many steps before and after it on a walk.
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
    embedding_ : Embedding
        The vectors, under the names of the nodes.
    history_ : dict
        "pairs" trained so far, and the mean "log_likelihood" of held-out pairs at that point.
    visits_ : array of int
        How often the walks visit each node, in the order of the rows.
    neighborhoods_ : array of int
        A digest of the edges of each node.
    directed_ : bool
        Whether the graph is directed.
    diagnostics_ : Diagnostics
        Figures that tell, without labels, whether the vectors say anything about the graph.
    seed_ : int
        The seed that was used.

    References
    ----------
    B. Perozzi, R. Al-Rfou and S. Skiena. DeepWalk: online learning of social representations. KDD 2014.

    Examples
    --------
    >>> from efge import DeepWalk
    >>> graph = [("ann", "bob"), ("bob", "cid"), ("cid", "ann"), ("cid", "dan")]
    >>> DeepWalk(dim=8, seed=0).fit(graph).embedding_
    Embedding(4 nodes, 8 dimensions)
    """

    def __init__(
        self,
        dim: int = 128,
        *,
        walks_per_node: int = 80,
        walk_length: int = 10,
        window: int = 10,
        epochs: int = 1,
        learning_rate: float = 0.025,
        min_learning_rate: float = 0.0001,
        threads: int | None = None,
        seed: int | None = None,
    ) -> None:
        self.dim = dim
        self.walks_per_node = walks_per_node
        self.walk_length = walk_length
        self.window = window
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.min_learning_rate = min_learning_rate
        self.threads = threads
        self.seed = seed

    def _family(self) -> Family:
        return Bernoulli()

    def _store_result(self, walks: Walks, trained: Trained) -> None:
        super()._store_result(walks, trained)
        # The other table belongs to inner vertices of the tree, not to nodes of the graph.
        del self.context_embedding_

    def _strategy(self) -> Strategy | str:
        return "uniform"

    def _settings(self) -> Settings:
        return Settings(
            dim=self.dim,
            window=self.window,
            negatives=1,
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            min_learning_rate=self.min_learning_rate,
            noise_power=0.0,
            softmax=True,
        )
