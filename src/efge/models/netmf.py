"""NetMF: the matrix that skip-gram with negative sampling factors implicitly, formed and factored explicitly."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator

from efge.embedding.embedding import Embedding
from efge.errors import (
    EmbeddingError,
    GraphError,
    check_choice,
    check_positive_integers,
    check_positive_numbers,
    warn_user,
)
from efge.graph.graph import Graph
from efge.graph.inputs import as_graph_with_edges
from efge.linalg import MAX_DENSE_SIZE, column_signs, leading_eigenpairs, multiply, scale_by_power_of_two
from efge.models.base import NodeEmbedder
from efge.models.diagnostics import diagnose, warn_if_random
from efge.parallel import single_threaded_blas
from efge.progress import FitProgress, Progress, reporting_fit
from efge.random import resolve_seed, stream_key
from efge.system import available_memory

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]

FORMS = ("auto", "small", "large")
# Number of multiplications up to which the exact matrix takes one or two minutes, no longer than the eigenvalues would.
_MAX_EXACT_WORK = 1e11
# Numbers in a block of rows, which should stay in the cache.
_BLOCK_SIZE = 1 << 21
# Block Krylov method: columns of a block beyond those requested, and their minimum; maximum number of blocks; blocks
# between two convergence tests; and the residual, relative to the smallest eigenvalue, at which it has converged.
# Eigenvalues are then correct to about four digits.
_EXTRA_COLUMNS, _MIN_COLUMNS, _MAX_BLOCKS, _TEST_EVERY, _TOLERANCE = 16, 32, 24, 3, 0.01
# Eigenvalues below this fraction of the largest one are rounding errors, and so are their vectors.
_RELATIVE_ZERO = 1e-6
# Largest ratio of the sum of all degrees to the smallest degree that 32-bit floats can hold.
_MAX_VOLUME_RATIO = 1e36
# A graph that lacks more than this share of the nodes of a fit is not whole.
_MAX_SHARE_MISSING = 0.25


class NetMF(NodeEmbedder):
    """Network embedding as matrix factorization: what DeepWalk converges to with infinitely many walks, in closed form.

    The matrix is log(max(1, vol / (b T) (P + P^2 + ... + P^T) D^-1)) for the degrees D, their sum vol, the transition
    matrix P = D^-1 A, the window T and b negatives. The vectors are U sqrt(s) of its truncated singular value
    decomposition.

    Use it for graphs of up to some ten thousand nodes, where it is fast, has no learning rate to tune, and often scores
    highest when many labels are known. The matrix is dense, with 4 bytes for each pair of nodes: it no longer fits in
    8 GB from 44,000 nodes on, nor in 64 GB from 125,000 on. A graph that is too large is refused before memory is
    allocated; :class:`efge.EFGE` embeds it in memory that grows with the edges.

    Edges are undirected: those of a directed graph count in both directions, and weights of opposite edges are added.
    Nodes without edges get zero vectors. The same graph, parameters and seed give the same bytes, at any number of
    threads, on processors with the same features.

    Parameters
    ----------
    dim : int
        Dimension of the vectors. Dimensions beyond the rank of the matrix, and so beyond the number of nodes, are zero.
    window : int
        Contexts are nodes up to this many steps of a walk away.
    negatives : float
        Number of negative samples. The larger it is, the fewer pairs of nodes count as similar.
    form : "auto", "small" or "large"
        "small" sums the powers of P exactly, in time that grows with window times nodes times edges. "large"
        approximates them by the largest eigenvalues of the normalized adjacency matrix, in time that grows with `rank`
        times the square of the nodes. "auto" is exact while window times nodes times edges (each in both directions) is
        at most 10^11: up to about 45,000 nodes of degree 5 at the default window.
    rank : int
        Number of eigenvalues for the form "large", besides the largest one of each component, which is known.
    seed : int, optional
        Seed of the start of iterations; it may change the last digits. By default, a random seed, which is stored as
        `seed_`.

    Attributes
    ----------
    embedding_ : Embedding
        The vectors, under the names of the nodes.
    singular_values_ : array of `dim` floats
        The singular values, largest first.
    eigenvalues_ : array of `dim` floats
        The eigenvalues of the matrix, which are the singular values with signs.
    form_ : str
        The form that was used, "small" or "large".
    diagnostics_ : Diagnostics
        Figures that tell, without labels, whether the vectors say anything about the graph.
    seed_ : int
        The seed that was used.

    References
    ----------
    J. Qiu, Y. Dong, H. Ma, J. Li, K. Wang and J. Tang. Network embedding as matrix factorization: unifying DeepWalk,
    LINE, PTE, and node2vec. WSDM 2018.

    Examples
    --------
    >>> model = NetMF(dim=2, window=3, seed=0).fit([("ann", "bob"), ("bob", "cid"), ("cid", "dan")])
    >>> model.embedding_
    Embedding(4 nodes, 2 dimensions)
    >>> model.form_
    'small'
    """

    def __init__(
        self,
        dim: int = 128,
        *,
        window: int = 10,
        negatives: float = 1.0,
        form: str = "auto",
        rank: int = 256,
        seed: int | None = None,
    ) -> None:
        self.dim = dim
        self.window = window
        self.negatives = negatives
        self.form = form
        self.rank = rank
        self.seed = seed

    def fit(self, X: Any, y: Any = None, *, progress: FitProgress = None) -> NetMF:  # noqa: N803
        """Form and factor the matrix of a graph.

        Parameters
        ----------
        X : Graph, or anything :func:`efge.as_graph` takes
        y : ignored
        progress : bool or callable, optional
            True shows a bar, False none; by default, a long fit shows one in a notebook or at Python's prompt. A
            function is called with a :class:`efge.Progress` at the beginning and at the end.

        Returns
        -------
        NetMF
            The estimator itself.

        Raises
        ------
        GraphError
            If the matrix does not fit in memory.

        Examples
        --------
        >>> model = NetMF(dim=4, window=1, seed=0).fit([("a", "b"), ("b", "c")])
        >>> model.singular_values_.round(3)  # sqrt(2) log(2), twice
        array([0.98, 0.98, 0.  , 0.  ])
        """
        self._check()
        graph = as_graph_with_edges(X)
        seed = resolve_seed(self.seed)
        random = np.random.default_rng(int(stream_key(seed, 0, "start")))
        adjacency, linked = _symmetric_adjacency(graph)
        _check_memory(len(linked), self.dim)
        with reporting_fit(progress) as report:
            report(Progress(0, 1, math.nan))
            form = self._choose_form(adjacency)
            with single_threaded_blas(scipy=True):
                matrix = self._exact_matrix(adjacency) if form == "small" else self._low_rank_matrix(adjacency, random)
                values, columns = _leading_eigenpairs(matrix, min(self.dim, len(linked)), random)
            self._store_result(graph, linked, values, columns)
            self.form_, self.seed_ = form, seed
            report(Progress(1, 1, math.nan))
        warn_if_random(self)
        return self

    def _check(self) -> None:
        check_positive_integers(dim=self.dim, window=self.window, rank=self.rank)
        check_positive_numbers(negatives=self.negatives)
        check_choice("form", self.form, FORMS)

    def _choose_form(self, adjacency: csr_array) -> str:
        if self.form != "auto":
            return self.form
        return "small" if float(self.window) * adjacency.shape[0] * adjacency.nnz <= _MAX_EXACT_WORK else "large"

    def _exact_matrix(self, adjacency: csr_array) -> Floats:
        """Form the matrix by its definition, a block of rows at a time."""
        n = adjacency.shape[0]
        matrix = np.empty((n, n), np.float32)
        for rows, block in self._exact_rows(adjacency, np.arange(n)):
            matrix[rows] = block
        return matrix

    def _exact_rows(self, adjacency: csr_array, chosen: Rows) -> Iterator[tuple[Rows, Floats]]:
        """Yield some rows of the matrix in blocks; it is symmetric, so rows are columns too."""
        n = adjacency.shape[0]
        normalized, root = _normalize(adjacency)
        step, root = normalized.astype(np.float32), root.astype(np.float32)
        left = root * np.float32(1 / (self.negatives * self.window))
        height = max(1, _BLOCK_SIZE // max(n, 1))
        for begin in range(0, len(chosen), height):
            rows = chosen[begin : begin + height]
            total = np.zeros((n, len(rows)), np.float32)
            for _ in range(self.window):
                total[rows, np.arange(len(rows))] += 1
                total = step @ total
            block: Floats = np.ascontiguousarray((total * left[:, None]).T)
            block *= root[rows, None]
            _log_in_place(block)
            yield rows, block

    def _low_rank_matrix(self, adjacency: csr_array, random: np.random.Generator) -> Floats:
        """Form the matrix from the largest eigenvalues alone; the mean of many powers makes the others negligible."""
        n = adjacency.shape[0]
        normalized, root = _normalize(adjacency)
        values, vectors, component, inverse_volume = _deflated_eigenpairs(normalized, root, self.rank, random)
        powers = np.mean([values**power for power in range(1, self.window + 1)], axis=0)
        right = (vectors * root[:, None]).astype(np.float32)
        left = right * (powers / self.negatives).astype(np.float32)
        matrix = multiply(left, right.T)
        height = max(1, _BLOCK_SIZE // max(n, 1))
        for begin in range(0, n, height):
            rows = slice(begin, begin + height)
            same_component = component[rows, None] == component
            matrix[rows] += same_component * (inverse_volume[rows, None] / np.float32(self.negatives))
            _log_in_place(matrix[rows])
        return matrix

    def _store_result(self, graph: Graph, linked: npt.NDArray[Any], values: Floats, columns: Floats) -> None:
        sizes = np.abs(values)
        sizes[sizes <= _RELATIVE_ZERO * sizes.max(initial=0.0)] = 0
        vectors = np.zeros((graph.n_nodes, self.dim), np.float32)
        vectors[linked, : len(sizes)] = columns * (column_signs(columns) * np.sqrt(sizes))
        self.embedding_ = Embedding._owning(vectors, graph.names)
        self.diagnostics_ = diagnose(graph, self.embedding_)
        self.eigenvalues_ = np.zeros(self.dim)
        self.eigenvalues_[: len(sizes)] = np.sign(values) * sizes
        self.singular_values_ = np.abs(self.eigenvalues_)

    def _new_node_methods(self) -> tuple[str, ...]:
        return ("projection",)

    def _project(self, graph: Graph, rows: npt.NDArray[np.int64]) -> Floats:
        """Return the vectors of nodes whose row is -1: their exact rows of the matrix, by the columns of the old ones.

        With a row m and the vectors U sqrt(s) of old nodes, the vector is m U / sqrt(s), with the sign of the
        eigenvalue. A node whose walks of `window` steps meet no old node gets zeros.
        """
        if not hasattr(self, "eigenvalues_"):
            raise EmbeddingError("this NetMF was saved by an earlier version, without eigenvalues_; fit it again")
        n_missing = len(self.embedding_) - int((rows >= 0).sum())
        if n_missing > _MAX_SHARE_MISSING * len(self.embedding_):
            warn_user(
                f"NetMF needs the whole graph for new nodes; {n_missing:,} of the {len(self.embedding_):,} nodes of the"
                " fit are not in this one: give all edges, old and new"
            )
        adjacency, linked = _symmetric_adjacency(graph)
        row_of = rows[linked]
        old, new = np.flatnonzero(row_of >= 0), np.flatnonzero(row_of < 0)
        values = self.eigenvalues_
        inverse = np.divide(1, values, out=np.zeros_like(values), where=values != 0)
        basis = (self.embedding_.vectors[row_of[old]] * inverse).astype(np.float32)
        vectors = np.zeros((graph.n_nodes, len(values)), np.float32)
        with single_threaded_blas():
            for chosen, block in self._exact_rows(adjacency, new):
                vectors[linked[chosen]] = multiply(block[:, old], basis)
        return vectors[rows < 0]


def _symmetric_adjacency(graph: Graph) -> tuple[csr_array, npt.NDArray[Any]]:
    """Return the symmetric adjacency matrix of the nodes that have edges, and their rows in the graph."""
    # Only ratios of weights matter; sums of scaled ones do not overflow.
    matrix, _ = scale_by_power_of_two(graph.to_scipy())
    matrix = (matrix + matrix.T).tocsr() if graph.directed else matrix
    linked = np.union1d(np.flatnonzero(graph.degrees), graph.indices)
    degrees = matrix.sum(axis=1)[linked]
    if degrees.min(initial=1.0) <= degrees.sum() / _MAX_VOLUME_RATIO:
        raise GraphError(
            "NetMF divides the sum of all weights by the sum of each node's weights, in 32 bits; in this graph they are"
            " more than 36 orders of magnitude apart: use the logarithms of the weights, or ignore the weights"
            " (weighted=False, --unweighted)"
        )
    return matrix[linked][:, linked], linked


def _normalize(adjacency: csr_array) -> tuple[csr_array, npt.NDArray[np.float64]]:
    """Return D^-1/2 A D^-1/2, whose powers are symmetric while those of P are not; and sqrt(vol) D^-1/2."""
    degrees = adjacency.sum(axis=1)
    root = diags_array(1 / np.sqrt(degrees))
    return (root @ adjacency @ root).tocsr(), np.sqrt(degrees.sum() / degrees)


def _deflated_eigenpairs(
    normalized: csr_array, root: npt.NDArray[np.float64], rank: int, random: np.random.Generator
) -> tuple[npt.NDArray[Any], ...]:
    """Return the largest eigenvalues besides one 1 for each component, and their vectors; and what the 1s contribute.

    Each component has the eigenvalue 1. In a graph with more components than `rank`, the largest eigenvalues would
    consist of nothing else. Their eigenvectors are known, so they are removed here. What they contribute to the matrix
    is known as well: vol / the component's volume, for two nodes of the same component. Returned are the component of
    each node and that contribution.
    """
    n = normalized.shape[0]
    n_components, component = connected_components(normalized, directed=False)
    weights = root**-2.0
    volume = np.bincount(component, weights, n_components)[component]
    first = np.sqrt(weights / volume)
    inverse_volume = (1 / volume).astype(np.float32)
    if n <= max(MAX_DENSE_SIZE, 2 * rank):
        dense = normalized.toarray() - (component[:, None] == component) * np.outer(first, first)
        values, vectors = np.linalg.eigh(dense)
        return values[-rank:], vectors[:, -rank:], component, inverse_volume

    def apply(x: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
        x = x.ravel()
        known = first * np.bincount(component, first * x, n_components)[component]
        product: npt.NDArray[Any] = normalized @ x - known
        return product

    deflated = LinearOperator((n, n), matvec=apply, dtype=np.float64)
    return *leading_eigenpairs(deflated, rank, "LA", random), component, inverse_volume


def _log_in_place(block: Floats) -> None:
    np.maximum(block, 1, out=block)
    np.log(block, out=block)


def _leading_eigenpairs(matrix: Floats, k: int, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the eigenvalues of largest magnitude of a dense symmetric matrix, and their vectors.

    They are found in a block Krylov space, which grows until it contains them. Each pass over the matrix serves a whole
    block, in products whose rows threads share, where one vector at a time would wait for memory.
    """
    n, width = len(matrix), max(k + _EXTRA_COLUMNS, _MIN_COLUMNS)
    if n <= max(MAX_DENSE_SIZE, 2 * width):
        return _largest(*np.linalg.eigh(matrix.astype(np.float64)), k)
    max_size = min(_MAX_BLOCKS, n // width) * width
    basis, projected = np.empty((n, max_size), np.float32), np.zeros((max_size, max_size))
    block = np.linalg.qr(random.standard_normal((n, width), np.float32))[0]
    for end in range(width, max_size + 1, width):
        last = slice(end - width, end)
        basis[:, last] = block
        image = multiply(matrix, block)
        projected[:end, last] = multiply(basis[:, :end].T, image)
        block, coordinates = _orthogonalize(image, basis[:, :end])
        if end == max_size or end % (_TEST_EVERY * width) == 0:
            values, rotation = _largest(*np.linalg.eigh(projected[:end, :end], UPLO="U"), k)
            # The part of the images of the eigenvectors that is outside of the space.
            residual = np.linalg.norm(coordinates @ rotation[last], axis=0).max()
            if residual <= _TOLERANCE * np.abs(values).min():
                break
    return values, multiply(basis[:, :end], rotation)


def _orthogonalize(block: Floats, basis: Floats) -> tuple[Floats, Floats]:
    """Return an orthonormal basis of what a block adds to a basis, and the coordinates of the block in it."""
    coordinates = np.eye(block.shape[1], dtype=np.float32)
    # The first pass removes what is in the basis, up to rounding errors; the second pass removes these.
    for _ in range(2):
        block, triangle = np.linalg.qr(block - multiply(basis, multiply(basis.T, block)))
        coordinates = triangle @ coordinates
    return block, coordinates


def _largest(values: npt.NDArray[Any], vectors: npt.NDArray[Any], k: int) -> tuple[Floats, Floats]:
    order = np.argsort(-np.abs(values), kind="stable")[:k]
    return values[order].astype(np.float32), vectors[:, order].astype(np.float32)


def _check_memory(n: int, dim: int) -> None:
    """Refuse a matrix that does not fit in memory, before it is allocated."""
    workspace = 4 * _BLOCK_SIZE + n * (dim + _EXTRA_COLUMNS) * (_MAX_BLOCKS + 4)
    needed, available = 4 * (n * n + workspace), available_memory()
    if available is not None and needed > available:
        raise GraphError(
            f"NetMF forms a dense matrix: {n:,} nodes with edges need {needed / 1e9:.1f} GB, and"
            f" {available / 1e9:.1f} GB are available; EFGE and HOPE need memory for edges and vectors only"
        )
