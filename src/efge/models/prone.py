"""ProNE: a sparse matrix of edges is factored, and a band-pass filter spreads the vectors over the graph."""

from __future__ import annotations

import math
from typing import Any

from efge.embedding.embedding import Embedding
from efge.embedding.propagation import check_propagation, propagate_vectors
from efge.errors import check_positive_integers
from efge.graph.factorization import factor_edges
from efge.graph.inputs import as_graph_with_edges
from efge.models.base import NodeEmbedder
from efge.models.diagnostics import diagnose, warn_if_random
from efge.progress import FitProgress, Progress, reporting_fit
from efge.random import resolve_seed


class ProNE(NodeEmbedder):
    """Factorization of a sparse matrix of edges, then a band-pass filter: a fast baseline for large graphs.

    An edge from i to j has the entry log(p_ij) - log(q_j), where p_ij is the probability of a step from i to j, and q_j
    that of j in the noise distribution, the sum of p_ij over i to the power 0.75, normalized. Other entries are zero.
    The first vectors are the rows of U sqrt(s) of its truncated singular value decomposition, scaled to length 1. The
    second step filters them: it is :func:`efge.propagate` with the method "prone", and can be applied to any other
    vectors.

    Use it where training on walks takes too long: time and memory grow with the edges and with nodes times `dim`, and
    there is no learning rate to tune.

    Edges are undirected: those of a directed graph count in both directions, and weights of opposite edges are added.
    Nodes without edges get zero vectors. The same graph, parameters and seed give the same bytes on the same machine,
    at any number of threads.

    Parameters
    ----------
    dim : int
        Dimension of the vectors. Dimensions beyond the rank of the matrix, and so beyond the number of nodes, are zero.
    order : int
        Number of terms of the filter's Chebyshev expansion.
    theta : float
        The larger, the narrower the filter's band; up to 20.
    mu : float
        The center of the filter's band, from 0 to 2.
    threads : int, optional
        Number of threads of the filter; by default, one for each core. The result does not depend on it.
    seed : int, optional
        Seed of the singular value decomposition, which is approximate for graphs of more than some hundred nodes. By
        default, a random seed, which is stored as `seed_`.

    Attributes
    ----------
    embedding_ : Embedding
        The vectors, under the names of the nodes.
    singular_values_ : array of `dim` floats
        The singular values of the sparse matrix, largest first.
    diagnostics_ : Diagnostics
        Figures that tell, without labels, whether the vectors say anything about the graph.
    seed_ : int
        The seed that was used.

    References
    ----------
    J. Zhang, Y. Dong, Y. Wang, J. Tang and M. Ding. ProNE: fast and scalable network representation learning.
    IJCAI 2019.

    Examples
    --------
    >>> model = ProNE(dim=2, seed=0).fit([("ann", "bob"), ("bob", "cid"), ("cid", "ann"), ("cid", "dan")])
    >>> model.embedding_
    Embedding(4 nodes, 2 dimensions)
    >>> round(float((model.embedding_["dan"] ** 2).sum()), 4)
    1.0
    """

    def __init__(
        self,
        dim: int = 128,
        *,
        order: int = 10,
        theta: float = 0.5,
        mu: float = 0.2,
        threads: int | None = None,
        seed: int | None = None,
    ) -> None:
        self.dim = dim
        self.order = order
        self.theta = theta
        self.mu = mu
        self.threads = threads
        self.seed = seed

    def fit(self, X: Any, y: Any = None, *, progress: FitProgress = None) -> ProNE:  # noqa: N803
        """Factor the matrix of a graph, and filter the vectors.

        Parameters
        ----------
        X : Graph, or anything :func:`efge.as_graph` takes
        y : ignored
        progress : bool or callable, optional
            True shows a bar, False none; by default, a long fit shows one in a notebook or at Python's prompt. A
            function is called with a :class:`efge.Progress` at the beginning and at the end.

        Returns
        -------
        ProNE
            The estimator itself.

        Examples
        --------
        >>> import networkx as nx
        >>> model = ProNE(dim=8, seed=0).fit(nx.karate_club_graph())
        >>> sorted(name for name, _ in model.embedding_.neighbors(16, k=2))  # the two nodes with an edge to node 16
        [5, 6]
        """
        check_positive_integers(dim=self.dim)
        parameters: dict[str, Any] = {"order": self.order, "theta": self.theta, "mu": self.mu, "threads": self.threads}
        check_propagation("prone", **parameters)
        graph = as_graph_with_edges(X)
        seed = resolve_seed(self.seed)
        with reporting_fit(progress) as report:
            report(Progress(0, 1, math.nan))
            vectors, _, self.singular_values_ = factor_edges(graph, self.dim, seed)
            propagate_vectors(vectors, graph, "prone", **parameters)
            self.embedding_ = Embedding._owning(vectors, graph.names)
            self.diagnostics_ = diagnose(graph, self.embedding_, threads=self.threads)
            self.seed_ = seed
            report(Progress(1, 1, math.nan))
        warn_if_random(self)
        return self
