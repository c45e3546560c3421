"""DeepWalk: uniform walks, and skip-gram by hierarchical softmax."""

from __future__ import annotations

from efge.families.base import Family
from efge.families.builtin import Bernoulli
from efge.models.walk_base import WalkEmbedder
from efge.training.settings import Settings
from efge.training.trainer import Trained
from efge.walks.strategies import Strategy
from efge.walks.walks import Walks


class DeepWalk(WalkEmbedder):
    """DeepWalk (Perozzi et al., 2014): vectors that tell which nodes meet on uniform walks.

    How likely a context is, follows from the path to it in a Huffman tree over how often walks visit nodes: a sigmoid
    at each turn. So no negatives are drawn, and the probabilities of all contexts add up to 1. Use it as the classical
    baseline, and where such probabilities matter; :class:`efge.EFGE` is faster and mostly scores higher. The same
    graph, parameters and seed give the same bytes, at any number of threads.

    Parameters
    ----------
    dim : int
        Entries of a vector.
    walks_per_node, walk_length : int
        Walks that start at each node, and nodes in a walk.
    window : int
        Contexts of a node are all that a walk visits at most so many steps before and after it.
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
    embedding_ : Embedding
        The nodes' vectors, under the names that the graph has for them.
    history_ : dict
        "pairs" trained, and the mean "log_likelihood" of some pairs held apart at that point.
    seed_ : int

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

    def _keep(self, walks: Walks, trained: Trained) -> None:
        super()._keep(walks, trained)
        # What stands against centers are places of the tree, no nodes.
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
