"""NetMF: the matrix that skip-gram with negative sampling factors implicitly, formed and factored."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator

from efge.embedding.embedding import Embedding
from efge.errors import GraphError, check_counts
from efge.graph.graph import Graph
from efge.graph.inputs import as_graph
from efge.linalg import DENSE, column_signs, leading_eigenpairs, scaled
from efge.models.base import NodeEmbedder
from efge.parallel import available_memory
from efge.progress import Progress
from efge.random import chosen_seed, stream_key

Floats = npt.NDArray[np.float32]

FORMS = ("auto", "small", "large")
# Multiplications up to which the exact matrix takes one or two minutes, no longer than enough eigenvalues do.
_MOST_WORK = 1e11
# Numbers in a block of rows, which should stay in the cache.
_BLOCK = 1 << 21
# Columns of a Krylov space's block beyond those wanted, and at least; blocks at most, and between looks at how right
# the vectors are, beside the smallest eigenvalue; the eigenvalues are then right to about four digits.
_SPARE, _LEAST_WIDTH, _MOST_BLOCKS, _CHECKED, _ACCURACY = 16, 32, 24, 3, 0.01
# Eigenvalues this small beside the largest are rounding errors, and so are their vectors.
_NOTHING = 1e-6
# What the degrees of all nodes may be beside the smallest, so that their ratio is a float of 32 bits.
_MOST_VOLUME = 1e36


class NetMF(NodeEmbedder):
    """Network embedding as matrix factorization: what DeepWalk converges to with endless walks, in closed form.

    The matrix is log(max(1, vol / (b T) (P + P^2 + ... + P^T) D^-1)) for the degrees D, their sum vol, the transition
    matrix P = D^-1 A, the window T and b negatives. The vectors are U sqrt(s) of its truncated singular value
    decomposition.

    Use it for graphs of up to some ten thousand nodes, where it is fast, has no learning rate to tune, and often scores
    highest when many labels are known. The matrix is dense: 4 bytes for each pair of nodes, and no longer fits in 8 GB
    from 44,000 nodes on, nor in 64 GB from 125,000 on. A graph that is too large is refused before anything is
    allocated; :class:`efge.EFGE` embeds it in memory that grows with the edges.

    Edges are taken without directions: those of a directed graph count both ways, and the weights of opposite ones add
    up. Nodes without edges get zero vectors. The same graph, parameters and seed give the same bytes on the same
    machine.

    Parameters
    ----------
    dim : int
        Entries of a vector. Entries beyond the rank of the matrix are zero, as all are beyond the number of nodes.
    window : int
        Contexts are nodes at most so many steps of a walk away.
    negatives : float
        The more, the fewer pairs of nodes count as near each other.
    form : "auto", "small" or "large"
        "small" sums the powers of P exactly, in time that grows with window times nodes times edges. "large" takes the
        largest eigenvalues of the normalized adjacency matrix for all, in time that grows with `rank` times the square
        of the nodes. "auto" is exact while window times nodes times edges (each in both directions) is at most 10^11:
        up to about 45,000 nodes of degree 5 at the default window.
    rank : int
        Eigenvalues for the form "large", besides the largest of each component, which is known.
    seed : int, optional
        Where iteration starts; it may change the last digits. Without one, a random one is chosen, and kept as `seed_`.

    Attributes
    ----------
    embedding_ : Embedding
    singular_values_ : array of `dim` floats
        Largest first.
    form_ : str
        "small" or "large", whichever was taken.
    seed_ : int

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

    def fit(self, X: Any, y: Any = None, *, progress: Callable[[Progress], None] | None = None) -> NetMF:  # noqa: N803
        """Form and factor the matrix of a graph.

        Parameters
        ----------
        X : Graph, or anything :func:`efge.as_graph` takes
        y : ignored
        progress : callable, optional
            Called with a :class:`efge.Progress` at the beginning and at the end.

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
        graph = as_graph(X)
        seed = chosen_seed(self.seed)
        random = np.random.default_rng(int(stream_key(seed, 0, "start")))
        adjacency, linked = _without_directions(graph)
        _check_memory(len(linked), self.dim)
        if progress is not None:
            progress(Progress(0, 1, math.nan))
        form = self._form(adjacency)
        matrix = self._small(adjacency) if form == "small" else self._large(adjacency, random)
        values, columns = _leading(matrix, min(self.dim, len(linked)), random)
        self._keep(graph, linked, values, columns)
        self.form_, self.seed_ = form, seed
        if progress is not None:
            progress(Progress(1, 1, math.nan))
        return self

    def _check(self) -> None:
        check_counts(dim=self.dim, window=self.window, rank=self.rank)
        if not 0 < self.negatives < math.inf:
            raise ValueError(f"negatives is a positive number; got {self.negatives!r}")
        if self.form not in FORMS:
            raise ValueError(f"no form {self.form!r}; known: {', '.join(FORMS)}")

    def _form(self, adjacency: csr_array) -> str:
        if self.form != "auto":
            return self.form
        return "small" if float(self.window) * adjacency.shape[0] * adjacency.nnz <= _MOST_WORK else "large"

    def _small(self, adjacency: csr_array) -> Floats:
        """The matrix by its definition, some rows at a time; it is symmetric, so that they are columns as well."""
        n = adjacency.shape[0]
        normalized, root = _normalized(adjacency)
        step, root = normalized.astype(np.float32), root.astype(np.float32)
        left = root * np.float32(1 / (self.negatives * self.window))
        matrix = np.empty((n, n), np.float32)
        width = max(1, _BLOCK // max(n, 1))
        for begin in range(0, n, width):
            some = np.arange(begin, min(begin + width, n))
            total = np.zeros((n, len(some)), np.float32)
            for _ in range(self.window):
                total[some, some - begin] += 1
                total = step @ total
            matrix[some] = (total * left[:, None]).T
            matrix[some] *= root[some, None]
            _log_in_place(matrix[begin : begin + len(some)])
        return matrix

    def _large(self, adjacency: csr_array, random: np.random.Generator) -> Floats:
        """The matrix by the largest eigenvalues alone; a mean of many powers leaves little of the others."""
        n = adjacency.shape[0]
        normalized, root = _normalized(adjacency)
        values, vectors, component, share = _eigenpairs(normalized, root, self.rank, random)
        powers = np.mean([values**power for power in range(1, self.window + 1)], axis=0)
        right = (vectors * root[:, None]).astype(np.float32)
        left = right * (powers / self.negatives).astype(np.float32)
        matrix = np.empty((n, n), np.float32)
        width = max(1, _BLOCK // max(n, 1))
        for begin in range(0, n, width):
            some = slice(begin, begin + width)
            np.matmul(left[some], right.T, out=matrix[some])
            together = component[some, None] == component
            matrix[some] += together * (share[some, None] / np.float32(self.negatives))
            _log_in_place(matrix[some])
        return matrix

    def _keep(self, graph: Graph, linked: npt.NDArray[Any], values: Floats, columns: Floats) -> None:
        sizes = np.abs(values)
        sizes[sizes <= _NOTHING * sizes.max(initial=0.0)] = 0
        vectors = np.zeros((graph.n_nodes, self.dim), np.float32)
        vectors[linked, : len(sizes)] = columns * (column_signs(columns) * np.sqrt(sizes))
        self.embedding_ = Embedding._owning(vectors, graph.names)
        self.singular_values_ = np.zeros(self.dim)
        self.singular_values_[: len(sizes)] = sizes


def _without_directions(graph: Graph) -> tuple[csr_array, npt.NDArray[Any]]:
    """The symmetric adjacency matrix of the nodes that have edges, and their rows."""
    # Only ratios of weights matter; no sum of scaled ones overflows.
    matrix, _ = scaled(graph.to_scipy())
    matrix = (matrix + matrix.T).tocsr() if graph.directed else matrix
    linked = np.union1d(np.flatnonzero(graph.degrees), graph.indices)
    degrees = matrix.sum(axis=1)[linked]
    if degrees.min(initial=1.0) <= degrees.sum() / _MOST_VOLUME:
        raise GraphError(
            "NetMF divides the sum of all weights by those of each node, in 32 bits; here they are more than 36 orders"
            " of magnitude apart: bring the weights closer together, as by their logarithms, or leave them out"
            " (weighted=False, --unweighted)"
        )
    return matrix[linked][:, linked], linked


def _normalized(adjacency: csr_array) -> tuple[csr_array, npt.NDArray[np.float64]]:
    """D^-1/2 A D^-1/2, whose powers are symmetric as those of P are not, and sqrt(vol) D^-1/2."""
    degrees = adjacency.sum(axis=1)
    root = diags_array(1 / np.sqrt(degrees))
    return (root @ adjacency @ root).tocsr(), np.sqrt(degrees.sum() / degrees)


def _eigenpairs(
    normalized: csr_array, root: npt.NDArray[np.float64], rank: int, random: np.random.Generator
) -> tuple[npt.NDArray[Any], ...]:
    """The largest eigenvalues but for one 1 of each component, and their vectors; components; what their 1s add.

    Each component has the eigenvalue 1, so that among the largest of a graph with more components than `rank` there
    would be no other. Their vectors are known, and what they add to the matrix is: vol / the component's own vol, for
    nodes of the same one. So they are taken away here.
    """
    n = normalized.shape[0]
    number, component = connected_components(normalized, directed=False)
    weights = root**-2.0
    first = np.sqrt(weights / np.bincount(component, weights, number)[component])
    share = (1 / np.bincount(component, weights, number)[component]).astype(np.float32)
    if n <= max(DENSE, 2 * rank):
        dense = normalized.toarray() - (component[:, None] == component) * np.outer(first, first)
        values, vectors = np.linalg.eigh(dense)
        return values[-rank:], vectors[:, -rank:], component, share

    def multiply(x: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
        x = x.ravel()
        product: npt.NDArray[Any] = normalized @ x - first * np.bincount(component, first * x, number)[component]
        return product

    deflated = LinearOperator((n, n), matvec=multiply, dtype=np.float64)
    return *leading_eigenpairs(deflated, rank, "LA", random), component, share


def _log_in_place(block: Floats) -> None:
    np.maximum(block, 1, out=block)
    np.log(block, out=block)


def _leading(matrix: Floats, k: int, random: np.random.Generator) -> tuple[Floats, Floats]:
    """The eigenvalues of largest size of a dense symmetric matrix, and their vectors.

    In a block Krylov space, which grows until they are found: each look at the matrix serves a whole block, in products
    that use all cores, where one vector at a time would wait for memory.
    """
    n, width = len(matrix), max(k + _SPARE, _LEAST_WIDTH)
    if n <= max(DENSE, 2 * width):
        return _largest(*np.linalg.eigh(matrix.astype(np.float64)), k)
    room = min(_MOST_BLOCKS, n // width) * width
    basis, small = np.empty((n, room), np.float32), np.zeros((room, room))
    block = np.linalg.qr(random.standard_normal((n, width), np.float32))[0]
    for end in range(width, room + 1, width):
        last = slice(end - width, end)
        basis[:, last] = block
        image = matrix @ block
        small[:end, last] = basis[:, :end].T @ image
        block, rest = _orthogonal(image, basis[:, :end])
        if end == room or end % (_CHECKED * width) == 0:
            values, turn = _largest(*np.linalg.eigh(small[:end, :end], UPLO="U"), k)
            # What the matrix makes of the vectors outside of the space.
            if np.linalg.norm(rest @ turn[last], axis=0).max() <= _ACCURACY * np.abs(values).min():
                break
    return values, basis[:, :end] @ turn


def _orthogonal(block: Floats, basis: Floats) -> tuple[Floats, Floats]:
    """An orthonormal basis of what a block adds to a basis, and the block's coordinates in it."""
    coordinates = np.eye(block.shape[1], dtype=np.float32)
    # Once takes out what is in the basis, up to rounding; twice takes out the rounding.
    for _ in range(2):
        block, triangle = np.linalg.qr(block - basis @ (basis.T @ block))
        coordinates = triangle @ coordinates
    return block, coordinates


def _largest(values: npt.NDArray[Any], vectors: npt.NDArray[Any], k: int) -> tuple[Floats, Floats]:
    order = np.argsort(-np.abs(values), kind="stable")[:k]
    return values[order].astype(np.float32), vectors[:, order].astype(np.float32)


def _check_memory(n: int, dim: int) -> None:
    """Refuse a matrix that does not fit, before it is allocated."""
    blocks = 4 * _BLOCK + n * (dim + _SPARE) * (_MOST_BLOCKS + 4)
    needed, available = 4 * (n * n + blocks), available_memory()
    if available is not None and needed > available:
        raise GraphError(
            f"NetMF forms a dense matrix: {n:,} nodes with edges need {needed / 1e9:.1f} GB, and"
            f" {available / 1e9:.1f} GB are available; EFGE and HOPE need memory for edges and vectors only"
        )
