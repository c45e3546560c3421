"""HOPE: a factorization of the Katz index of all pairs of nodes, which is never formed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator

from efge.embedding.averaging import layers_of_new
from efge.embedding.embedding import Embedding
from efge.errors import EmbeddingError, check_positive_integers
from efge.graph.graph import Graph
from efge.graph.inputs import as_graph_with_edges
from efge.linalg import MAX_DENSE_SIZE, column_signs, katz_beta, katz_terms, largest_eigenpairs, leading_eigenpairs
from efge.models.base import NodeEmbedder
from efge.models.diagnostics import diagnose, warn_if_random
from efge.parallel import single_threaded_blas
from efge.progress import FitProgress, Progress, reporting_fit
from efge.random import resolve_seed, stream_key

Matrix = npt.NDArray[np.float64]

# Singular values below this fraction of the largest one are rounding errors, and so are their vectors.
_RELATIVE_ZERO = 1e-7
# Number of negative eigenvalues to compute first; few of them matter.
_FIRST_NEGATIVE = 16


class HOPE(NodeEmbedder):
    """High-order proximity preserved embedding: the truncated singular value decomposition of the Katz index.

    The Katz index S = (I - beta A)^-1 beta A counts the walks between two nodes; shorter walks and heavier edges count
    more. With S approximated by U diag(s) V', a row of U sqrt(s) represents a node as the source of walks, and a row of
    V sqrt(s) as their target. S is never formed: memory grows with the edges and with nodes times `dim`, and fitting
    takes seconds for tens of thousands of nodes.

    Use it where the direction of edges matters, where weights say how strong an edge is, or as a fast and exact
    baseline. It describes the densest part of a graph best: nodes far from it get vectors near zero. For
    classification, scale the vectors (``Normalizer`` or ``StandardScaler``): with lengths of about 0.1 they are too
    small for a regularized classifier.

    Parameters
    ----------
    dim : int
        Dimension of the vectors; even for directed graphs. Dimensions beyond the rank of S, and so beyond the number of
        nodes, are zero.
    beta : float, optional
        Weight of each further step of a walk, below 1 / the spectral radius of A. By default, 0.5 / the largest
        singular value of A, which for undirected graphs is half of the limit. For directed graphs, time grows with
        1 / (1 - beta / limit).
    seed : int, optional
        Seed of the start of iterations; it may change the last digits. By default, a random seed, which is stored as
        `seed_`. With a SciPy whose `eigsh` has no `rng`, fits of a graph with very few different eigenvalues may differ
        despite the same seed.

    Attributes
    ----------
    embedding_ : Embedding
        For directed graphs, the first half of a vector is the node as a source and the second half as a target: the
        product of a source's first half and a target's second half approximates S. For undirected graphs, U sqrt(s)
        alone: there the columns of V are those of U or their negatives, so that a second half would only repeat the
        first, and `dim` columns of U hold twice as much of S.
    singular_values_ : array
        The singular values s, largest first, one for each column of U.
    eigenvalues_ : array
        For undirected graphs: the eigenvalues of S, which are the singular values with signs.
    beta_ : float
        The beta that was used.
    directed_ : bool
        Whether the graph is directed.
    diagnostics_ : Diagnostics
        Figures that tell, without labels, whether the vectors say anything about the graph.
    seed_ : int
        The seed that was used.

    References
    ----------
    M. Ou, P. Cui, J. Pei, Z. Zhang and W. Zhu. Asymmetric transitivity preserving graph embedding. KDD 2016.

    Examples
    --------
    >>> model = HOPE(dim=4, seed=0).fit([("ann", "bob"), ("bob", "cid"), ("cid", "ann"), ("cid", "dan")])
    >>> model.embedding_
    Embedding(4 nodes, 4 dimensions)
    >>> model.singular_values_.round(3)
    array([1.   , 0.254, 0.187, 0.077])
    """

    def __init__(self, dim: int = 128, *, beta: float | None = None, seed: int | None = None) -> None:
        self.dim = dim
        self.beta = beta
        self.seed = seed

    def fit(self, X: Any, y: Any = None, *, progress: FitProgress = None) -> HOPE:  # noqa: N803
        """Factor the Katz index of a graph.

        Parameters
        ----------
        X : Graph, or anything :func:`efge.as_graph` takes
        y : ignored
        progress : bool or callable, optional
            True shows a bar, False none; by default, a long fit shows one in a notebook or at Python's prompt. A
            function is called with a :class:`efge.Progress` at the beginning and at the end.

        Returns
        -------
        HOPE
            The estimator itself.

        Examples
        --------
        >>> import efge
        >>> cites = efge.as_graph([("new", "old"), ("new", "older"), ("old", "older")], directed=True)
        >>> vectors = HOPE(dim=4, beta=0.5, seed=0).fit_transform(cites)
        >>> (vectors[:, :2] @ vectors[:, 2:].T).round(3) + 0.0  # from each to each; a walk over "old" adds 0.25
        array([[0.  , 0.5 , 0.75],
               [0.  , 0.  , 0.5 ],
               [0.  , 0.  , 0.  ]], dtype=float32)
        """
        check_positive_integers(dim=self.dim)
        graph = as_graph_with_edges(X)
        if graph.directed and self.dim % 2:
            raise ValueError(
                f"dim must be even for a directed graph, half for sources and half for targets; got {self.dim}"
            )
        seed = resolve_seed(self.seed)
        with reporting_fit(progress) as report:
            report(Progress(0, 1, math.nan))
            random = np.random.default_rng(int(stream_key(seed, 0, "start")))
            # With vectors this short, threads would cost more than they save anyway.
            with single_threaded_blas(scipy=True):
                beta = katz_beta(graph.to_scipy(), graph.directed, self.beta)
                vectors, values = _factorize(graph, beta, self.dim, random)
            self.embedding_ = Embedding._owning(vectors, graph.names)
            self.diagnostics_ = diagnose(graph, self.embedding_)
            self.singular_values_ = np.abs(values)
            if not graph.directed:
                self.eigenvalues_ = values
            self.beta_, self.directed_, self.seed_ = beta, graph.directed, seed
            report(Progress(1, 1, math.nan))
        warn_if_random(self)
        return self

    def _new_node_methods(self) -> tuple[str, ...]:
        return ("projection",)

    def _project(self, graph: Graph, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """Return the vectors of nodes whose row is -1: their rows of S, projected on the columns of the old ones.

        A walk from a new node goes to an old one, a step of weight beta, and ends there or goes on by S. With rows x
        and y of the old nodes as sources and targets, a source is beta times the sum over its edges of x + y / s, and a
        target likewise of y + x / s. New nodes that have no edge to an old one follow from those that do, step by step.
        """
        vectors = self.embedding_.vectors.astype(np.float64)
        values = getattr(self, "eigenvalues_", None) if not graph.directed else self.singular_values_
        if values is None:
            raise EmbeddingError("this HOPE was saved by an earlier version, without eigenvalues_; fit it again")
        inverse = np.divide(1, values, out=np.zeros_like(values), where=values != 0)
        table = np.zeros((graph.n_nodes, vectors.shape[1]))
        table[rows >= 0] = vectors[rows[rows >= 0]]
        matrix, known = graph.to_scipy() * self.beta_, rows >= 0
        for reached in layers_of_new(graph, known):
            if graph.directed:
                half = len(values)
                sources, targets = table[:, :half], table[:, half:]
                table[reached] = np.hstack(
                    [
                        matrix[reached] @ (sources + targets * inverse),
                        matrix[:, reached].T @ (targets + sources * inverse),
                    ]
                )
            else:
                table[reached] = matrix[reached] @ (table * (1 + inverse))
        return table[rows < 0].astype(np.float32)


def _factorize(
    graph: Graph, beta: float, dim: int, random: np.random.Generator
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float64]]:
    """Return the nodes' vectors, and the eigenvalues or singular values of their columns, padded with zeros."""
    step = graph.to_scipy() * beta
    columns = dim // 2 if graph.directed else dim
    # Nodes without edges have zero rows and columns, and would only add to the size.
    linked = np.union1d(np.flatnonzero(graph.degrees), graph.indices)
    step = step[linked][:, linked]
    halves: tuple[Matrix, ...]
    if graph.directed:
        left, values, right = _decompose_directed(step, min(columns, len(linked)), random)
        halves = (left, right)
    else:
        left, values = _decompose_undirected(step, min(columns, len(linked)), random)
        halves = (left,)
    sizes = np.abs(values)
    nonzero = sizes > _RELATIVE_ZERO * sizes.max(initial=0.0)
    signs = column_signs(left)
    vectors = np.zeros((graph.n_nodes, dim), np.float32)
    for number, half in enumerate(halves):
        begin = number * columns
        vectors[linked, begin : begin + len(values)] = half * (signs * nonzero * np.sqrt(sizes))
    padded = np.zeros(columns)
    padded[: len(values)] = values * nonzero
    return vectors, padded


def _decompose_undirected(step: csr_array, k: int, random: np.random.Generator) -> tuple[Matrix, Matrix]:
    """Return the eigenvectors and the eigenvalues of an undirected graph's Katz index, the largest sizes first.

    The Katz index has the eigenvectors of the adjacency matrix, and the eigenvalue x / (1 - x) for each eigenvalue x of
    beta A, so that no linear system has to be solved. The size of x / (1 - x) grows with the size of x, but less for
    negative x.
    """
    n = len(step.indptr) - 1
    if n <= max(MAX_DENSE_SIZE, 3 * k):
        values, vectors = np.linalg.eigh(step.toarray())
    else:
        values, vectors = _extreme_eigenpairs(step, k, random)
    katz = values / (1 - values)
    order = np.argsort(-np.abs(katz), kind="stable")[:k]
    return vectors[:, order], katz[order]


def _extreme_eigenpairs(step: csr_array, k: int, random: np.random.Generator) -> tuple[Matrix, Matrix]:
    """Return the k largest eigenvalues, and those negative ones that may outweigh some of them, with their vectors."""
    count = min(k, _FIRST_NEGATIVE)
    negative, negative_vectors = leading_eigenpairs(step, count, "SA", random)
    values, vectors = largest_eigenpairs(step, k, float(negative[0]), random)
    while True:
        if count == k or _katz_singular_values(negative[-1]) <= _katz_singular_values(values).min():
            return np.concatenate([values, negative]), np.hstack([vectors, negative_vectors])
        count = min(k, 4 * count)
        opposite, vectors_of_opposite = largest_eigenpairs(-step, count, -float(values[-1]), random)
        negative, negative_vectors = -opposite[::-1], vectors_of_opposite[:, ::-1]


def _katz_singular_values(eigenvalues: Matrix) -> Matrix:
    return np.abs(eigenvalues / (1 - eigenvalues))


def _decompose_directed(step: csr_array, k: int, random: np.random.Generator) -> tuple[Matrix, Matrix, Matrix]:
    """Return the truncated singular value decomposition of a directed graph's Katz index.

    The index is applied as a series. A sparse factorization of I - beta A would take fewer steps, but the memory it
    needs is known only when it is too late, and is that of a dense matrix for graphs without geometry.
    """
    n, transposed = len(step.indptr) - 1, step.T.tocsr()
    if n <= max(MAX_DENSE_SIZE, 2 * k):
        left, values, right = np.linalg.svd(_apply_katz(step, np.eye(n)))
        return left[:, :k], values[:k], right[:k].T
    squared = LinearOperator((n, n), matvec=lambda x: _apply_katz(transposed, _apply_katz(step, x)), dtype=np.float64)
    right = leading_eigenpairs(squared, k, "LA", random)[1]
    # A small decomposition gives the singular values to full precision, instead of as square roots.
    left, values, rotation = np.linalg.svd(_apply_katz(step, right), full_matrices=False)
    return left, values, right @ rotation.T


def _apply_katz(step: csr_array, x: Matrix) -> Matrix:
    total = np.zeros_like(x, np.float64)
    for term in katz_terms(step, x):
        total += term
    return total
