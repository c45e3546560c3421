"""Graph filters: vectors that become smoother along the edges of a graph.

A filter changes each column of a table on its own, with products of the graph's sparse matrix and dense columns. It
works in place, on a few columns at a time: besides the table there are three blocks of 16 columns in memory, however
many dimensions there are. The formulas are in docs/mathematics.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.embedding.embedding import Embedding, as_embedding
from efge.errors import EmbeddingError, check_choice, check_positive_integers, is_number
from efge.graph.graph import Graph
from efge.graph.inputs import as_graph
from efge.kernels.common import CACHE_LINE
from efge.kernels.sparse import combine_rows
from efge.linalg import chebyshev_coefficients, column_signs, scale_by_power_of_two, scale_values
from efge.parallel import map_ahead, single_threaded_blas
from efge.system import available_threads

Vectors = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

# Rows of a chunk of dense products. Sums over rows depend on it, so it must not depend on the number of threads.
_CHUNK_ROWS = 4096
# Least number of rows and entries that are worth a task of a thread, and tasks of each thread.
_MIN_TASK_SIZE, _TASKS_PER_THREAD = 1 << 14, 4
# Singular values below this fraction of the largest one are rounding errors, and so are their vectors.
_RELATIVE_ZERO = 1e-6
# Above this width, more terms than anybody asks for are needed, and numbers no longer fit in 32 bits.
_MAX_THETA = 20.0


def propagate(
    embedding: Any, graph: Any, method: str = "band-pass", *, threads: int | None = None, **parameters: Any
) -> Embedding:
    """Smooth the vectors of an embedding along the edges of its graph.

    A node's new vector is a combination of its own, those of its neighbors, of their neighbors, and so on. Whether it
    is better depends on the graph and the task: compare scores with and without it.

    Edges are undirected: those of a directed graph count in both directions, and weights of opposite edges are added.
    Only ratios of weights matter: they are divided by their mean. Every node is its own neighbor as well, with weight
    1, in addition to self-loops. So the vector of a node without edges depends on no other node. The result does not
    depend on the number of threads.

    Parameters
    ----------
    embedding : Embedding, or fitted estimator
    graph : Graph, or anything :func:`efge.as_graph` takes
        Its nodes are those of the embedding, in any order.
    method : "band-pass", "prone" or "average"
        "band-pass" changes the directions of the vectors, and keeps their lengths. With P, the mean over a node and its
        neighbors, and L = I - P, it multiplies the part of the vectors at each eigenvalue x of L by
        exp(theta - theta (x - mu)^2 / 2) - 1, and adds up the results over neighbors. Of the singular value
        decomposition U S V' of these sums it takes U S^exponent V', whose weaker directions are amplified, and scales
        each row to the length that it had.

        "prone" is the second step of ProNE: of the same sums, with the opposite sign, it takes U sqrt(S), with rows of
        length 1. Dimensions beyond the rank are zero. Multiplying or rotating all vectors does not change the result.

        "average" replaces each vector by the mean over the node and its neighbors, several times.
    threads : int, optional
        Number of threads; by default, one for each core.
    **parameters
        For "band-pass" and "prone":

        - ``order``: number of terms of the Chebyshev expansion, which approximates the function of x; by default 8, and
          10 for "prone".
        - ``theta=0.5``: the larger, the narrower the band; up to 20. Raise `order` with it.
        - ``mu=0.2``: the center of the band, from 0 to 2.

        For "band-pass":

        - ``exponent=0.7``: power of the singular values, from 0, which makes all directions equally strong, to 1, which
          leaves them as they are.

        For "average":

        - ``steps=2``: number of times.
        - ``alpha=0.0``: fraction of the original vector in each new one, from 0 to below 1.

    Returns
    -------
    Embedding
        The names of the embedding, in its order.

    Raises
    ------
    EmbeddingError
        If embedding and graph have different nodes.

    References
    ----------
    J. Zhang, Y. Dong, Y. Wang, J. Tang and M. Ding. ProNE: fast and scalable network representation learning.
    IJCAI 2019.

    Examples
    --------
    >>> import efge
    >>> graph = efge.as_graph([("ann", "bob"), ("bob", "cid")], nodes=["ann", "bob", "cid", "dan"])
    >>> embedding = efge.Embedding([[6], [0], [3], [9]], graph.names)
    >>> propagate(embedding, graph, "average", steps=1).vectors.ravel()
    array([3. , 3. , 1.5, 9. ], dtype=float32)
    >>> model = efge.EFGE("bernoulli", dim=4, seed=0).fit(graph)
    >>> propagate(model, graph, theta=0.7)
    Embedding(4 nodes, 4 dimensions)
    """
    embedding, graph = as_embedding("propagate", embedding), as_graph(graph)
    check_propagation(method, threads=threads, **parameters)
    if embedding.names.tolist() == graph.names.tolist():
        vectors = propagate_vectors(embedding.vectors.copy(), graph, method, threads=threads, **parameters)
        return Embedding._owning(vectors, embedding.names)
    rows = _matching_rows(embedding, graph)
    vectors = np.empty_like(embedding.vectors)
    vectors[rows] = embedding.vectors
    propagate_vectors(vectors, graph, method, threads=threads, **parameters)
    return Embedding._owning(vectors[rows], embedding.names)


def propagate_vectors(
    vectors: Vectors, graph: Graph, method: str = "band-pass", *, threads: int | None = None, **parameters: Any
) -> Vectors:
    """Overwrite an array, which has a row for each node of a graph, with its filtered vectors, and return it.

    Examples
    --------
    >>> vectors = np.array([[6], [0], [3]], np.float32)
    >>> propagate_vectors(vectors, as_graph([(0, 1), (1, 2)]), "average", steps=1).ravel()
    array([3. , 3. , 1.5], dtype=float32)
    >>> vectors[2]
    array([1.5], dtype=float32)
    """
    filter_vectors(vectors, graph, method, threads=threads, **parameters)
    return vectors


def filter_vectors(
    vectors: Vectors, graph: Graph, method: str = "band-pass", *, threads: int | None = None, **parameters: Any
) -> Floats:
    """Overwrite an array with its filtered vectors, and return the matrix that multiplies means over neighbors.

    A filter makes vectors smooth, which depends on the edges, and multiplies each by the same matrix. With the latter,
    vectors of nodes that come later can follow.

    Examples
    --------
    >>> vectors = np.array([[6, 1], [0, 2], [3, 3]], np.float32)
    >>> filter_vectors(vectors, as_graph([(0, 1), (1, 2)]), "average")
    array([[1., 0.],
           [0., 1.]])
    """
    settings = check_propagation(method, threads=threads, **parameters)
    with _propagator(graph, threads or available_threads()) as propagator:
        return METHODS[method].filter(vectors, propagator, **settings)


def check_propagation(method: str, *, threads: int | None = None, **parameters: Any) -> dict[str, Any]:
    """Return all parameters of a method, given and default ones; raise a ValueError if one is unknown or invalid.

    Examples
    --------
    >>> check_propagation("band-pass", order=5)
    {'order': 5, 'theta': 0.5, 'mu': 0.2, 'exponent': 0.7}
    >>> check_propagation("average", theta=5)
    Traceback (most recent call last):
    ValueError: average has no parameter 'theta'; it has steps, alpha
    """
    check_choice("method", method, METHODS)
    defaults = METHODS[method].defaults
    for name in parameters:
        if name not in defaults:
            raise ValueError(f"{method} has no parameter {name!r}; it has {', '.join(defaults)}")
    settings = defaults | parameters
    check_positive_integers(
        threads=threads, **{name: settings[name] for name in ("order", "steps") if name in settings}
    )
    for name, (is_valid, rule) in _RULES.items():
        if name in settings and not (is_number(settings[name]) and is_valid(settings[name])):
            raise ValueError(f"{name} must be {rule}; got {settings[name]!r}")
    return settings


def _matching_rows(embedding: Embedding, graph: Graph) -> Rows:
    """Return the graph's row of each of the embedding's nodes."""
    rows = graph._index.rows(embedding.names.tolist())
    if (rows < 0).any():
        name, place = embedding.names.tolist()[int(np.argmax(rows < 0))], "embedding"
    elif len(rows) < graph.n_nodes:
        name, place = next(name for name in graph if name not in embedding), "graph"
    else:
        return rows
    raise EmbeddingError(
        f"the embedding and the graph must have the same nodes; {name!r} is only in the {place}"
        f" ({embedding!r}, {graph!r})"
    )


class _Propagator:
    """Sums and means over a node and its neighbors, of blocks of columns; threads share the rows."""

    def __init__(self, graph: Graph, threads: int, pool: ThreadPoolExecutor | None) -> None:
        self.threads, self._pool = threads, pool
        self._indptr, self._indices, self._weights, totals = _mean_one_adjacency(graph)
        self._inverse_totals = 1 / totals
        self._ones = np.ones(graph.n_nodes)
        self._tasks = _split_rows(self._indptr, threads)

    def mean(self, factors: tuple[float, ...], x: Vectors, y: Vectors, out: Vectors, sums: Vectors) -> None:
        """Set `out` to a Px + by, and add c times that to `sums`, for the mean P over a node and its neighbors."""
        self._combine(self._inverse_totals, factors, x, y, out, sums)

    def total(self, x: Vectors, out: Vectors) -> None:
        """Set `out` to the sums over each node and its neighbors."""
        self._combine(self._ones, (1.0, 0.0, 0.0), x, x, out, out)

    def _combine(self, scales: Floats, factors: tuple[float, ...], *blocks: Vectors) -> None:
        matrix = (self._indptr, self._indices, self._weights)
        self._run(lambda rows: combine_rows(*matrix, scales, factors, *blocks, rows.start, rows.stop))

    def _run(self, task: Callable[[slice], None]) -> None:
        list(map(task, self._tasks) if self._pool is None else self._pool.map(task, self._tasks))


@contextmanager
def _propagator(graph: Graph, threads: int) -> Iterator[_Propagator]:
    with single_threaded_blas():
        if threads == 1:
            yield _Propagator(graph, threads, None)
            return
        with ThreadPoolExecutor(threads) as pool:
            yield _Propagator(graph, threads, pool)


def _mean_one_adjacency(graph: Graph) -> tuple[npt.NDArray[Any], ...]:
    """Return the arrays of the symmetric adjacency matrix, its weights divided by their mean, and row sums of A + I.

    There are no weights if all of them would be 1.
    """
    if not len(graph.indices) or (graph.weights is None and not graph.directed):
        return graph.indptr, graph.indices, np.empty(0, np.float32), graph.degrees + 1.0
    arrays: tuple[Any, ...] = graph.indptr, graph.indices, graph.weights
    if graph.directed:
        matrix, _ = scale_by_power_of_two(graph.to_scipy())
        matrix = (matrix + matrix.T).tocsr()
        arrays = matrix.indptr.astype(np.int64, copy=False), matrix.indices, matrix.data
    indptr, indices, weights = *arrays[:2], scale_values(arrays[2])[0]
    weights /= weights.mean()
    totals, linked = np.ones(graph.n_nodes), np.diff(indptr) > 0
    totals[linked] += np.add.reduceat(weights, indptr[:-1][linked])
    return indptr, indices, weights.astype(np.float32), totals


def _split_rows(indptr: npt.NDArray[Any], threads: int) -> list[slice]:
    """Split the rows into ranges of about the same number of rows and entries."""
    work = indptr + np.arange(len(indptr))
    count = max(1, min(_TASKS_PER_THREAD * threads, int(work[-1]) // _MIN_TASK_SIZE))
    bounds = np.searchsorted(work, np.linspace(0, work[-1], count + 1)).tolist()
    return [slice(low, high) for low, high in pairwise(bounds)]


def _band_pass(
    vectors: Vectors, propagator: _Propagator, order: int, theta: float, mu: float, exponent: float
) -> Floats:
    lengths = _row_lengths(vectors)
    _sum_band(vectors, propagator, order, theta, mu)
    values, axes = _singular_axes(vectors, propagator.threads)
    factors = _power(values, exponent - 1)
    # The sums are those of ProNE, which have the opposite sign.
    matrix = -(axes * factors) @ axes.T
    _transform_rows(vectors, matrix, factors[0], lengths, propagator.threads)
    return -matrix


def _prone(vectors: Vectors, propagator: _Propagator, order: int, theta: float, mu: float) -> Floats:
    _sum_band(vectors, propagator, order, theta, mu)
    values, axes = _singular_axes(vectors, propagator.threads)
    factors = _power(values, -0.5)
    matrix = axes * factors
    _transform_rows(vectors, matrix, factors[0], np.ones(len(vectors)), propagator.threads)
    for begin in range(0, vectors.shape[1], CACHE_LINE):
        columns = vectors[:, begin : begin + CACHE_LINE]
        signs = column_signs(columns).astype(np.float32)
        columns *= signs
        matrix[:, begin : begin + CACHE_LINE] *= signs
    return -matrix


def _sum_band(vectors: Vectors, propagator: _Propagator, order: int, theta: float, mu: float) -> None:
    """Replace the vectors by sums over neighbors of the vectors minus their filtered ones."""
    # Later steps undo the scale, and after this no sum overflows.
    largest = max(vectors.max(initial=0.0), -vectors.min(initial=0.0))
    np.ldexp(vectors, -int(np.frexp(largest)[1]), out=vectors)
    # The Laplacian L is 1 + t where -P, whose eigenvalues lie between -1 and 1, is t.
    coefficients = chebyshev_coefficients(lambda t: np.exp(theta - theta * (1 + t - mu) ** 2 / 2), order)
    blocks = _zero_blocks(len(vectors))
    for begin in range(0, vectors.shape[1], CACHE_LINE):
        columns = vectors[:, begin : begin + CACHE_LINE]
        _fill_block(blocks[0], columns)
        columns[:] = _sum_filtered(propagator, coefficients, *blocks)[:, : columns.shape[1]]


def _sum_filtered(
    propagator: _Propagator, coefficients: list[float], current: Vectors, upcoming: Vectors, sums: Vectors
) -> Vectors:
    """Return the sums over neighbors of Z minus coefficients times T_k(-P) Z, for the block Z that is `current`.

    The polynomials are T_0 = 1, T_1 = X and T_k+1 = 2 X T_k - T_k-1. All three blocks are overwritten.
    """
    np.multiply(current, np.float32(1 - coefficients[0]), out=sums)
    for k, coefficient in enumerate(coefficients[1:], 1):
        # Before, `upcoming` is the polynomial before the current one.
        factors = (-1.0, 0.0) if k == 1 else (-2.0, -1.0)
        propagator.mean((*factors, -coefficient), current, upcoming, upcoming, sums)
        current, upcoming = upcoming, current
    propagator.total(sums, upcoming)
    return upcoming


def _average(vectors: Vectors, propagator: _Propagator, steps: int, alpha: float) -> Floats:
    original, current, upcoming = _zero_blocks(len(vectors))
    for begin in range(0, vectors.shape[1], CACHE_LINE):
        columns = vectors[:, begin : begin + CACHE_LINE]
        _fill_block(original, columns)
        current[:] = original
        for _ in range(steps):
            propagator.mean((1 - alpha, alpha, 0.0), current, original, upcoming, upcoming)
            current, upcoming = upcoming, current
        columns[:] = current[:, : columns.shape[1]]
    return np.eye(vectors.shape[1])


def _zero_blocks(rows: int) -> list[Vectors]:
    return [np.zeros((rows, CACHE_LINE), np.float32) for _ in range(3)]


def _fill_block(block: Vectors, columns: Vectors) -> None:
    """Copy columns into a block; if they are fewer than it has, the others become zero."""
    block[:, : columns.shape[1]] = columns
    block[:, columns.shape[1] :] = 0


def _singular_axes(vectors: Vectors, threads: int) -> tuple[Floats, Floats]:
    """Return the singular values S of the vectors, and V of their decomposition U S V', the strongest first.

    V and S^2 are eigenvectors and eigenvalues of the Gram matrix, which is as small as the square of the dimension.
    With sums in 64 bits, this loses no digit that 32 bits had.
    """
    chunks = [vectors[begin : begin + _CHUNK_ROWS] for begin in range(0, len(vectors), _CHUNK_ROWS)]
    gram = np.zeros((vectors.shape[1], vectors.shape[1]))
    for part in map_ahead(_gram, chunks, threads):
        gram += part
    squares, axes = np.linalg.eigh(gram)
    return np.sqrt(np.maximum(squares[::-1], 0)), axes[:, ::-1]


def _power(values: Floats, exponent: float) -> Floats:
    """Return singular values to a power; those that are rounding errors become zero."""
    powers = np.zeros_like(values)
    return np.power(values, exponent, out=powers, where=values > _RELATIVE_ZERO * values.max(initial=0.0))


def _transform_rows(vectors: Vectors, matrix: Floats, smallest: float, lengths: Floats, threads: int) -> None:
    """Replace vectors by their products with a matrix, whose smallest singular value is given, at the given lengths."""

    @single_threaded_blas()
    def transform(begin: int) -> None:
        rows = slice(begin, begin + _CHUNK_ROWS)
        wide = vectors[rows].astype(np.float64)
        products = wide @ matrix
        norms = _row_lengths(products)
        # A row that is much shorter than the smallest singular value makes it has lost all but rounding errors.
        nonzero = norms > _RELATIVE_ZERO * smallest * _row_lengths(wide)
        products *= np.divide(lengths[rows], norms, out=np.zeros_like(norms), where=nonzero)[:, None]
        vectors[rows] = products

    list(map_ahead(transform, range(0, len(vectors), _CHUNK_ROWS), threads))


def _row_lengths(vectors: npt.NDArray[Any]) -> Floats:
    lengths: Floats = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    return lengths


@single_threaded_blas()
def _gram(chunk: Vectors) -> npt.NDArray[np.float64]:
    wide = chunk.astype(np.float64)
    gram: npt.NDArray[np.float64] = wide.T @ wide
    return gram


class _Method(NamedTuple):
    """A filter, which returns the matrix it multiplies means by, and its parameters with their defaults."""

    filter: Callable[..., Floats]
    defaults: dict[str, Any]


_BAND = {"theta": 0.5, "mu": 0.2}
METHODS = {
    # With this theta, further terms are below the precision of 32 bits; ProNE has ten all the same.
    # Of the exponents 0.5 to 0.8, this was best on most of the networks that docs/quality.md names.
    "band-pass": _Method(_band_pass, {"order": 8, **_BAND, "exponent": 0.7}),
    "prone": _Method(_prone, {"order": 10, **_BAND}),
    "average": _Method(_average, {"steps": 2, "alpha": 0.0}),
}
_RULES: dict[str, tuple[Callable[[float], bool], str]] = {
    "theta": (lambda theta: 0 < theta <= _MAX_THETA, f"positive and at most {_MAX_THETA:g}"),
    "mu": (lambda mu: 0 <= mu <= 2, "between 0 and 2"),
    "exponent": (lambda exponent: 0 <= exponent <= 1, "between 0 and 1"),
    "alpha": (lambda alpha: 0 <= alpha < 1, "at least 0 and below 1"),
}
