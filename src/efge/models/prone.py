"""ProNE: a sparse matrix of edges is factored, and a band-pass filter spreads the vectors over the graph."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from efge.embedding.embedding import Embedding
from efge.embedding.propagation import check_propagation, propagate_vectors
from efge.errors import check_positive_integers
from efge.graph.graph import Graph
from efge.graph.inputs import as_graph
from efge.linalg import MAX_DENSE_SIZE, column_signs, scale_by_power_of_two
from efge.models.base import NodeEmbedder
from efge.progress import Progress
from efge.random import resolve_seed, stream_key

Floats = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]

# The noise distribution is that of the column sums to this power.
_NOISE_POWER = 0.75
# Randomized singular value decomposition, as in the authors' code: passes over the matrix beyond the first.
_ITERATIONS = 5
# Singular values below this fraction of the largest one are rounding errors, and so are their vectors.
_RELATIVE_ZERO = 1e-6
# The smallest positive float.
_SMALLEST = 5e-324


class ProNE(NodeEmbedder):
    """Factorization of a sparse matrix of edges, then a band-pass filter: a fast baseline for large graphs.

    An edge from i to j has the entry log(p_ij) - log(q_j), where p_ij is the probability of a step from i to j, and q_j
    that of j in the noise distribution, the sum of p_ij over i to the power 0.75, normalized. Other entries are zero.
    The first vectors are the rows of U sqrt(s) of its truncated singular value decomposition, scaled to length 1. The
    second step filters them: it is :func:`efge.propagate` with the method "band-pass", and can be applied to any other
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

    def fit(self, X: Any, y: Any = None, *, progress: Callable[[Progress], None] | None = None) -> ProNE:  # noqa: N803
        """Factor the matrix of a graph, and filter the vectors.

        Parameters
        ----------
        X : Graph, or anything :func:`efge.as_graph` takes
        y : ignored
        progress : callable, optional
            Called with a :class:`efge.Progress` at the beginning and at the end.

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
        check_propagation("band-pass", **parameters)
        graph = as_graph(X)
        seed = resolve_seed(self.seed)
        if progress is not None:
            progress(Progress(0, 1, math.nan))
        matrix, linked = _edge_matrix(graph)
        left, values = _truncated_svd(matrix, min(self.dim, len(linked)), seed)
        vectors = np.zeros((graph.n_nodes, self.dim), np.float32)
        vectors[linked, : len(values)] = left * np.sqrt(values).astype(np.float32)
        _scale_rows(vectors)
        propagate_vectors(vectors, graph, "band-pass", **parameters)
        self.embedding_ = Embedding._owning(vectors, graph.names)
        self.singular_values_ = np.zeros(self.dim)
        self.singular_values_[: len(values)] = values
        self.seed_ = seed
        if progress is not None:
            progress(Progress(1, 1, math.nan))
        return self


def _edge_matrix(graph: Graph) -> tuple[csr_array, Rows]:
    """Return the matrix to factor, of the nodes that have edges, and their rows in the graph."""
    weights, _ = scale_by_power_of_two(graph.to_scipy())
    weights = (weights + weights.T).tocsr() if graph.directed else weights
    linked = np.flatnonzero(np.diff(weights.indptr))
    weights = weights[linked][:, linked]
    # A weight that is hundreds of orders of magnitude below the largest one has become zero.
    logs = np.log(np.maximum(weights.data, _SMALLEST))
    matrix = csr_array((logs, weights.indices, weights.indptr), shape=weights.shape)
    matrix.data -= np.repeat(_row_log_sums(matrix), np.diff(matrix.indptr))
    noise = _NOISE_POWER * _row_log_sums(matrix.T.tocsr())
    matrix.data -= (noise - np.logaddexp.reduce(noise))[matrix.indices]
    return matrix, linked


def _row_log_sums(logs: csr_array) -> Floats:
    """Return the logarithm of the sum of each row of a matrix of logarithms, in which no row is empty.

    The sums are not formed: they may be smaller than the smallest float.
    """
    return np.logaddexp.reduceat(logs.data, logs.indptr[:-1]) if logs.nnz else np.empty(0)


def _truncated_svd(matrix: csr_array, k: int, seed: int) -> tuple[Vectors, Floats]:
    """Return the first k columns of U and the largest singular values; beyond the rank, they are zero."""
    # Matrix products use one thread, so that the number of threads cannot change the rounding.
    with threadpool_limits(1, "blas"):
        if matrix.shape[0] <= max(MAX_DENSE_SIZE, 2 * k):
            left, values, _ = np.linalg.svd(matrix.toarray())
        else:
            from sklearn.utils.extmath import randomized_svd

            random_state = int(stream_key(seed, 0, "start")) % 2**32
            left, values, _ = randomized_svd(
                matrix.astype(np.float32), k, n_iter=_ITERATIONS, random_state=random_state
            )
    left, values = left[:, :k].astype(np.float32), values[:k].astype(np.float64)
    values[values <= _RELATIVE_ZERO * values.max(initial=0.0)] = 0
    return left * column_signs(left).astype(np.float32), values


def _scale_rows(vectors: Vectors) -> None:
    """Scale vectors to length 1. Those that consist of rounding errors become zero."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    nonzero = norms > _RELATIVE_ZERO * norms.max(initial=0.0)
    np.divide(vectors, norms, out=vectors, where=nonzero)
    vectors *= nonzero
