"""Reproducible spectra of large sparse matrices: leading eigenpairs, singular values, series of Katz and Chebyshev."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError, is_number
from efge.parallel import map_ahead, single_threaded_blas

# SciPy is imported where it is used: training on most graphs needs none of it.
if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Up to this size, dense methods are faster than iteration.
MAX_DENSE_SIZE = 512
# Maximum number of restarts; without it, iteration would take days where eigenvalues are close to each other.
_MAX_RESTARTS = 3000
# Below this number of eigenvalues, a filter does not pay.
_MIN_FILTERED = 32
# Degree of the polynomial that filters eigenvalues: from 8 on the time stays the same, while digits are lost.
_FILTER_DEGREE = 8
# Maximum number of restarts with a filter; mostly, a few suffice.
_FILTERED_RESTARTS = 20
# Eigenvalues above the filter's bound, as a multiple of those that are wanted: the estimate of their number is rough.
_SPARE = 1.25
# Random vectors and steps of that estimate.
_PROBES, _PROBE_STEPS = 8, 60
# Values of a function that its expansion in Chebyshev polynomials follows from, at least.
_MIN_SAMPLES = 128
# Rows of a block of a dense product: fewer take longer, more leave threads without work at the end. Rounding depends on
# it, so it must not depend on the number of threads.
_PRODUCT_ROWS = 256


def scale_by_power_of_two(matrix: csr_array) -> tuple[csr_array, int]:
    """Divide a matrix by the power of two that brings its largest entry into [1/2, 1); return it and the exponent.

    No digit changes, and no product of entries overflows.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> matrix, exponent = scale_by_power_of_two(csr_array(np.array([[0.0, 3e-310], [4e-310, 0.0]])))
    >>> float(matrix.max()), exponent
    (0.57..., -1027)
    """
    from scipy.sparse import csr_array

    values, exponent = scale_values(matrix.data)
    return csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape), exponent


def scale_values(values: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], int]:
    """Divide positive numbers by the power of two that brings the largest into [1/2, 1); return them and the exponent.

    Examples
    --------
    >>> scale_values(np.array([3.0, 4.0]))
    (array([0.375, 0.5  ]), 3)
    """
    exponent = int(np.frexp(values.max(initial=0.0))[1])
    return np.ldexp(values, -exponent), exponent


def largest_singular_value(matrix: csr_array, tol: float = 0.0) -> float:
    """Return the largest singular value of a square matrix, to a relative tolerance; 0 means machine precision.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> largest_singular_value(csr_array(np.array([[0.0, 3.0], [0.0, 0.0]])))
    3.0
    """
    if not matrix.nnz:
        return 0.0
    if len(matrix.indptr) - 1 <= MAX_DENSE_SIZE:
        return float(np.linalg.norm(matrix.toarray(), 2))
    from scipy.sparse.linalg import LinearOperator

    transposed = matrix.T.tocsr()
    square = LinearOperator(matrix.shape, matvec=lambda x: transposed @ (matrix @ x), dtype=np.float64)
    eigenvalues, _ = leading_eigenpairs(square, 1, "LA", np.random.default_rng(0), tol=tol)
    return float(np.sqrt(eigenvalues[0]))


def spectral_radius(matrix: csr_array, directed: bool) -> float:
    """Return the largest absolute eigenvalue of a non-negative matrix, which is symmetric unless `directed`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> spectral_radius(csr_array(np.array([[0.0, 3.0], [0.0, 0.0]])), directed=True)
    0.0
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components
    from scipy.sparse.linalg import eigs

    if not directed:
        return largest_singular_value(matrix)
    # Only edges within strong components are on cycles. Without the others, iteration looks for the largest root of
    # irreducible matrices, which is real; on a matrix without cycles it would not converge.
    _, component = connected_components(matrix, directed=True, connection="strong")
    entries = matrix.tocoo()
    inside = component[entries.row] == component[entries.col]
    nodes, ends = np.unique(np.stack([entries.row[inside], entries.col[inside]]), return_inverse=True)
    cyclic = csr_array((entries.data[inside], ends.reshape(2, -1)), shape=(len(nodes), len(nodes)))
    if len(nodes) <= MAX_DENSE_SIZE:
        return float(np.linalg.eigvals(cyclic.toarray()).real.max(initial=0.0))
    start = np.random.default_rng(0).random(len(nodes)) + 0.5
    return float(eigs(cyclic, 1, which="LR", v0=start, return_eigenvectors=False)[0].real)


def leading_eigenpairs(
    matrix: Any, k: int, which: str, random: np.random.Generator, tol: float = 0.0
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return k eigenvalues of a symmetric matrix, in ascending order, and their eigenvectors.

    `which` is "LA" for the largest, "SA" for the smallest, or "LM" for the largest in absolute value.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import diags_array
    >>> leading_eigenpairs(diags_array(np.arange(9.0)), 2, "LA", np.random.default_rng(0))[0].round(6)
    array([7., 8.])
    """
    from scipy.sparse.linalg import ArpackNoConvergence

    try:
        return _iterate(matrix, k, random, which=which, tol=tol, maxiter=_MAX_RESTARTS)
    except ArpackNoConvergence:
        raise GraphError(
            "the largest eigenvalues of this graph are too close to each other to be computed, as in long paths and"
            " grids; use EFGE, which does not need them"
        ) from None


def _iterate(
    matrix: Any, k: int, random: np.random.Generator, **options: Any
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return eigenvalues in ascending order, and eigenvectors, by Lanczos' method with restarts."""
    from scipy.sparse.linalg import eigsh

    options["v0"] = random.random(matrix.shape[0]) + 0.5
    # A restart after a breakdown is random too; newer versions of SciPy accept a seed for it.
    if "rng" in inspect.signature(eigsh).parameters:
        options["rng"] = random
    values, vectors = eigsh(matrix, k, **options)
    order = np.argsort(values, kind="stable")
    return values[order], vectors[:, order]


def largest_eigenpairs(
    matrix: csr_array, k: int, smallest: float, random: np.random.Generator
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the k largest eigenvalues of a symmetric matrix, whose smallest is given, and their eigenvectors.

    They are those of a polynomial of the matrix, which is large there and between -1 and 1 at the other eigenvalues, so
    that iteration needs a fifth of the steps. If the polynomial exceeds 1 at all that were found, none is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import diags_array
    >>> matrix = diags_array(np.arange(2000.0) ** 2).tocsr()
    >>> np.sqrt(largest_eigenpairs(matrix, 40, 0.0, np.random.default_rng(0))[0][:2]).round(6)
    array([1960., 1961.])
    """
    bound = _estimate_eigenvalue(matrix, round(_SPARE * k), random) if k >= _MIN_FILTERED else -math.inf
    if bound > smallest:
        filtered, vectors = _filtered_eigenpairs(matrix, k, smallest, bound, random)
        if len(filtered) and filtered[0] > 1:
            values = np.einsum("ij,ij->j", vectors, matrix @ vectors)
            order = np.argsort(values, kind="stable")
            return values[order], vectors[:, order]
    return leading_eigenpairs(matrix, k, "LA", random)


def _filtered_eigenpairs(
    matrix: csr_array, k: int, low: float, high: float, random: np.random.Generator
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return eigenvalues of the filter of [low, high], and eigenvectors; none where many eigenvalues are the same."""
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator

    operator = LinearOperator(matrix.shape, matvec=_chebyshev_filter(matrix, low, high), dtype=np.float64)
    columns = round(_SPARE * k) + _MIN_FILTERED
    try:
        return _iterate(operator, k, random, which="LA", ncv=columns, maxiter=_FILTERED_RESTARTS)
    except ArpackNoConvergence:
        return np.empty(0), np.empty((matrix.shape[0], 0))


def _chebyshev_filter(
    matrix: csr_array, low: float, high: float
) -> Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]:
    """Return a function that multiplies by T((A - c) / h), with Chebyshev's polynomial T and [low, high] = c -+ h."""
    center, half = (low + high) / 2, (high - low) / 2

    def apply(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        previous = x.ravel()
        current: npt.NDArray[np.float64] = (matrix @ previous - center * previous) / half
        for _ in range(_FILTER_DEGREE - 1):
            previous, current = current, (matrix @ current - center * current) * (2 / half) - previous
        return current

    return apply


def _estimate_eigenvalue(matrix: csr_array, count: int, random: np.random.Generator) -> float:
    """Estimate the eigenvalue that `count` are above, from the spectral density that Lanczos' method sees."""
    vectors = random.choice([-1.0, 1.0], (matrix.shape[0], _PROBES)) / math.sqrt(matrix.shape[0])
    previous, norms = np.zeros_like(vectors), np.zeros(_PROBES)
    tridiagonal = np.zeros((_PROBES, _PROBE_STEPS, _PROBE_STEPS))
    for step in range(_PROBE_STEPS):
        following = matrix @ vectors - norms * previous
        overlaps = np.einsum("ij,ij->j", vectors, following)
        following -= overlaps * vectors
        norms = np.maximum(np.linalg.norm(following, axis=0), np.finfo(float).tiny)
        tridiagonal[:, step, step] = overlaps
        if step + 1 < _PROBE_STEPS:
            tridiagonal[:, step, step + 1] = tridiagonal[:, step + 1, step] = norms
        previous, vectors = vectors, following / norms
    values, axes = np.linalg.eigh(tridiagonal)
    order = np.argsort(-values, axis=None)
    counts = np.cumsum((axes[:, 0] ** 2).ravel()[order]) * (matrix.shape[0] / _PROBES)
    return float(values.ravel()[order][np.searchsorted(counts, count)])


def multiply(left: npt.NDArray[Any], right: npt.NDArray[Any], out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
    """Return the product of two dense matrices; threads share its rows, in blocks that do not depend on their number.

    Examples
    --------
    >>> multiply(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0], [10.0]])).ravel()
    array([21., 43.])
    """
    product = np.empty((len(left), right.shape[1]), np.result_type(left, right))

    @single_threaded_blas()
    def fill(begin: int) -> None:
        rows = slice(begin, begin + _PRODUCT_ROWS)
        np.matmul(left[rows], right, out=product[rows])

    list(map_ahead(fill, range(0, len(left), _PRODUCT_ROWS)))
    return product


def column_signs(vectors: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float64]:
    """Return signs that make the first of the largest entries of each column positive.

    The sign of an eigenvector is arbitrary; this choice makes results reproducible.

    Examples
    --------
    >>> import numpy as np
    >>> column_signs(np.array([[-0.6, 0.0], [0.5, 1.0]]))
    array([-1.,  1.])
    """
    if not vectors.size:
        return np.ones(vectors.shape[1])
    sizes = np.abs(vectors)
    # Entries that differ only by rounding count as equal.
    first = np.argmax(sizes >= (1 - 1e-5) * sizes.max(axis=0), axis=0)
    return np.where(vectors[first, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)


# The series ends when a term is too small to change a float of the size of the largest term.
_EPSILON = 2.0**-53


def katz_terms(step: csr_array, term: npt.NDArray[np.float64]) -> Iterator[npt.NDArray[np.float64]]:
    """Yield `step` @ term, `step` @ `step` @ term, ...: the terms of Katz' series applied to dense columns.

    `step` is beta times the adjacency matrix, or its transpose.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> step = csr_array(np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.5, 0.0]]))
    >>> [term.tolist() for term in katz_terms(step, np.array([1.0, 0, 0]))]
    [[0.0, 0.5, 0.0], [0.0, 0.0, 0.25]]
    """
    largest = 0.0
    while True:
        term = step @ term
        size = float(max(term.max(initial=0.0), -term.min(initial=0.0)))
        largest = max(largest, size)
        if not size < np.inf:
            raise GraphError("Katz' series became infinite; lower beta, or bring the weights closer together")
        if size <= _EPSILON * largest:
            return
        yield term


def katz_beta(adjacency: csr_array, directed: bool, beta: float | None = None) -> float:
    """Return the damping factor of Katz' index; raise an error that states the limit if the series would diverge.

    The default is half of 1 / the largest singular value of the adjacency matrix. In an undirected graph this is half
    of the limit; in a directed graph it is at most half, and exists even if no cycle limits beta.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    >>> round(katz_beta(path, directed=False), 4)
    0.3536
    >>> katz_beta(path, directed=False, beta=0.8)
    Traceback (most recent call last):
    ValueError: beta must be positive and below 1 / spectral radius, which is 0.707107 here; got 0.8
    """
    if not (beta is None or is_number(beta)):
        raise ValueError(f"beta must be a positive number, or None to choose it by the graph; got {beta!r}")
    matrix, exponent = scale_by_power_of_two(adjacency)
    if beta is None:
        # The default needs no exact limit, and on long paths and grids an exact one could not be computed.
        norm = largest_singular_value(matrix, tol=1e-7)
        default = _divide_by_power_of_two(0.5 / norm, exponent) if norm else 0.5
        if default == np.inf:
            raise GraphError("the weights are so small that the default beta overflows; scale the weights up")
        return default
    radius = spectral_radius(matrix, directed)
    limit = _divide_by_power_of_two(1 / radius, exponent) if radius else np.inf
    if not 0 < beta < limit:
        raise ValueError(f"beta must be positive and below 1 / spectral radius, which is {limit:g} here; got {beta!r}")
    if not float(beta) * float(adjacency.data.max(initial=0.0)) < np.inf:
        raise GraphError(f"beta times the largest weight overflows; lower beta, which is {beta!r}")
    return float(beta)


def _divide_by_power_of_two(value: float, exponent: int) -> float:
    """Divide by two to the `exponent`; the result is infinite if it overflows."""
    with np.errstate(over="ignore"):
        return float(np.ldexp(value, -exponent))


def chebyshev_coefficients(
    function: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]], order: int
) -> list[float]:
    """Return the first coefficients of a smooth function in Chebyshev polynomials of t, for t from -1 to 1.

    They follow from values at the zeros of a polynomial that is far beyond the given order.

    Examples
    --------
    >>> [round(coefficient, 4) for coefficient in chebyshev_coefficients(lambda t: 1 + 4 * t**2, 3)]
    [3.0, 0.0, 2.0]
    """
    count = max(_MIN_SAMPLES, 4 * order)
    angles = np.pi * (np.arange(count) + 0.5) / count
    values = function(np.cos(angles))
    means = [float((values * np.cos(k * angles)).mean()) for k in range(order)]
    return [means[0], *(2 * mean for mean in means[1:])]
