"""HOPE: Katz' index of all pairs of nodes, factored without being formed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator

from efge.embedding.embedding import Embedding
from efge.errors import check_counts
from efge.graph.graph import Graph
from efge.graph.inputs import as_graph
from efge.linalg import DENSE, column_signs, katz_beta, katz_terms, leading_eigenpairs
from efge.models.base import NodeEmbedder
from efge.progress import Progress
from efge.random import chosen_seed, stream_key

Matrix = npt.NDArray[np.float64]

# Singular values this small beside the largest are rounding errors, and so are their vectors.
_NOTHING = 1e-7
# Eigenvalues that are looked for at the negative end at first, where few count.
_AT_THE_OTHER_END = 16


class HOPE(NodeEmbedder):
    """High-order proximity preserved embedding: the truncated singular value decomposition of Katz' index.

    Katz' index S = (I - beta A)^-1 beta A counts the walks between two nodes, shorter and heavier ones for more. With
    S about U diag(s) V', a node is a row of U sqrt(s) as a source of walks and of V sqrt(s) as their target. S is
    never formed: memory grows with edges and with nodes times `dim`, and fitting takes seconds for tens of thousands of
    nodes.

    Use it where the direction of edges matters, where weights say how strong an edge is, or as a fast and exact
    baseline. It says most about the densest part of a graph: nodes far from it get vectors near zero. For
    classification, scale the vectors (``Normalizer`` or ``StandardScaler``): at a length of about 0.1 they are so small
    that a regularized classifier hardly sees them.

    Parameters
    ----------
    dim : int
        Entries of a vector; an even number for directed graphs. Entries beyond the rank of S are zero, as all are
        beyond the number of nodes.
    beta : float, optional
        What a further step of a walk is worth; below 1 / the spectral radius of A. Without one, half of 1 / the largest
        singular value of A, which for undirected graphs is half of the limit. Time grows with 1 / (1 - beta / limit) if
        the graph is directed.
    seed : int, optional
        Where iteration starts; it may change the last digits. Without one, a random one is chosen, and kept as `seed_`.
        With a SciPy whose `eigsh` has no `rng`, fits of a graph with very few different eigenvalues may still differ.

    Attributes
    ----------
    embedding_ : Embedding
        Directed graphs: the first half of a vector is the node as a source, the second as a target, so that the product
        of a source's first and a target's second half approximates S. Undirected graphs: U sqrt(s) alone. There the
        columns of V are those of U or their negatives, and a second half would repeat the first; `dim` entries of U
        hold twice as much of S.
    singular_values_ : array
        The singular values s, largest first, one for each column of U.
    beta_ : float
    seed_ : int

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

    def fit(self, X: Any, y: Any = None, *, progress: Callable[[Progress], None] | None = None) -> HOPE:  # noqa: N803
        """Factor Katz' index of a graph.

        Parameters
        ----------
        X : Graph, or anything :func:`efge.as_graph` takes
        y : ignored
        progress : callable, optional
            Called with a :class:`efge.Progress` at the beginning and at the end.

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
        check_counts(dim=self.dim)
        graph = as_graph(X)
        if graph.directed and self.dim % 2:
            raise ValueError(f"dim is even for a directed graph, half for sources and half for targets; got {self.dim}")
        seed = chosen_seed(self.seed)
        if progress is not None:
            progress(Progress(0, 1, math.nan))
        beta = katz_beta(graph.to_scipy(), graph.directed, self.beta)
        vectors, values = _factors(graph, beta, self.dim, np.random.default_rng(int(stream_key(seed, 0, "start"))))
        self.embedding_ = Embedding._owning(vectors, graph.names)
        self.singular_values_ = values
        self.beta_, self.seed_ = beta, seed
        if progress is not None:
            progress(Progress(1, 1, math.nan))
        return self


def _factors(
    graph: Graph, beta: float, dim: int, random: np.random.Generator
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float64]]:
    """The nodes' vectors, and the singular values of their columns; zeros for what does not exist."""
    step = graph.to_scipy() * beta
    columns = dim // 2 if graph.directed else dim
    # Nodes without edges have rows and columns of zeros, and would only be in the way.
    linked = np.union1d(np.flatnonzero(graph.degrees), graph.indices)
    step = step[linked][:, linked]
    sides: tuple[Matrix, ...]
    if graph.directed:
        left, values, right = _directed(step, min(columns, len(linked)), random)
        sides = (left, right)
    else:
        left, values = _undirected(step, min(columns, len(linked)), random)
        sides = (left,)
    kept = values > _NOTHING * values.max(initial=0.0)
    signs = column_signs(left)
    vectors = np.zeros((graph.n_nodes, dim), np.float32)
    for number, side in enumerate(sides):
        begin = number * columns
        vectors[linked, begin : begin + len(values)] = side * (signs * kept * np.sqrt(values))
    padded = np.zeros(columns)
    padded[: len(values)] = values * kept
    return vectors, padded


def _undirected(step: csr_array, k: int, random: np.random.Generator) -> tuple[Matrix, Matrix]:
    """Left singular vectors and singular values of Katz' index of an undirected graph.

    Katz' index has the eigenvectors of the adjacency matrix, and x / (1 - x) for each eigenvalue x of beta A: no system
    needs to be solved. That grows with x on both sides of zero, but less on the negative one.
    """
    n = len(step.indptr) - 1
    if n <= max(DENSE, 3 * k):
        values, vectors = np.linalg.eigh(step.toarray())
    else:
        values, vectors = _both_ends(step, k, random)
    sizes = _sizes(values)
    order = np.argsort(-sizes, kind="stable")[:k]
    return vectors[:, order], sizes[order]


def _both_ends(step: csr_array, k: int, random: np.random.Generator) -> tuple[Matrix, Matrix]:
    """The k largest eigenvalues, and as many of the smallest as may count for more than the least of them."""
    values, vectors = leading_eigenpairs(step, k, "LA", random)
    some = min(k, _AT_THE_OTHER_END)
    while True:
        others, their_vectors = leading_eigenpairs(step, some, "SA", random)
        if some == k or _sizes(others[-1]) <= _sizes(values).min():
            return np.concatenate([values, others]), np.hstack([vectors, their_vectors])
        some = min(k, 4 * some)


def _sizes(values: Matrix) -> Matrix:
    return np.abs(values / (1 - values))


def _directed(step: csr_array, k: int, random: np.random.Generator) -> tuple[Matrix, Matrix, Matrix]:
    """The truncated singular value decomposition of Katz' index of a directed graph.

    It is applied by its series: a sparse factorization of I - beta A would save steps, but its memory is known only
    when it is too late, and is that of a dense matrix for graphs without geometry.
    """
    n, back = len(step.indptr) - 1, step.T.tocsr()
    if n <= max(DENSE, 2 * k):
        left, values, right = np.linalg.svd(_applied(step, np.eye(n)))
        return left[:, :k], values[:k], right[:k].T
    square = LinearOperator((n, n), matvec=lambda x: _applied(back, _applied(step, x)), dtype=np.float64)
    right = leading_eigenpairs(square, k, "LA", random)[1]
    # The small decomposition gives the singular values to full precision, not as roots of squares.
    left, values, turn = np.linalg.svd(_applied(step, right), full_matrices=False)
    return left, values, right @ turn.T


def _applied(step: csr_array, x: Matrix) -> Matrix:
    total = np.zeros_like(x, np.float64)
    for term in katz_terms(step, x):
        total += term
    return total
