"""Reproducible spectra of large sparse matrices: leading eigenpairs, singular values, series of Katz and Chebyshev."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs, eigsh
from scipy.special import ive

from efge.errors import GraphError, is_number

# Up to this size, dense methods are faster than iteration.
MAX_DENSE_SIZE = 512
# Maximum number of restarts; without it, iteration would take days where eigenvalues are close to each other.
_MAX_RESTARTS = 3000


def scale_by_power_of_two(matrix: csr_array) -> tuple[csr_array, int]:
    """Divide a matrix by the power of two that brings its largest entry into [1/2, 1); return it and the exponent.

    No digit changes, and no product of entries overflows.

    Examples
    --------
    >>> matrix, exponent = scale_by_power_of_two(csr_array(np.array([[0.0, 3e-310], [4e-310, 0.0]])))
    >>> float(matrix.max()), exponent
    (0.57..., -1027)
    """
    exponent = int(np.frexp(matrix.data.max(initial=0.0))[1])
    return csr_array((np.ldexp(matrix.data, -exponent), matrix.indices, matrix.indptr), shape=matrix.shape), exponent


def largest_singular_value(matrix: csr_array, tol: float = 0.0) -> float:
    """Return the largest singular value of a square matrix, to a relative tolerance; 0 means machine precision.

    Examples
    --------
    >>> largest_singular_value(csr_array(np.array([[0.0, 3.0], [0.0, 0.0]])))
    3.0
    """
    if not matrix.nnz:
        return 0.0
    if len(matrix.indptr) - 1 <= MAX_DENSE_SIZE:
        return float(np.linalg.norm(matrix.toarray(), 2))
    transposed = matrix.T.tocsr()
    square = LinearOperator(matrix.shape, matvec=lambda x: transposed @ (matrix @ x), dtype=np.float64)
    eigenvalues, _ = leading_eigenpairs(square, 1, "LA", np.random.default_rng(0), tol=tol)
    return float(np.sqrt(eigenvalues[0]))


def spectral_radius(matrix: csr_array, directed: bool) -> float:
    """Return the largest absolute eigenvalue of a non-negative matrix, which is symmetric unless `directed`.

    Examples
    --------
    >>> spectral_radius(csr_array(np.array([[0.0, 3.0], [0.0, 0.0]])), directed=True)
    0.0
    """
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
    options: dict[str, Any] = {"v0": random.random(matrix.shape[0]) + 0.5}
    # A restart after a breakdown is random too; newer versions of SciPy accept a seed for it.
    if "rng" in inspect.signature(eigsh).parameters:
        options["rng"] = random
    try:
        values, vectors = eigsh(matrix, k, which=which, tol=tol, maxiter=_MAX_RESTARTS, **options)
    except ArpackNoConvergence:
        raise GraphError(
            "the largest eigenvalues of this graph are too close to each other to be computed, as in long paths and"
            " grids; use EFGE, which does not need them"
        ) from None
    order = np.argsort(values, kind="stable")
    return values[order], vectors[:, order]


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


def chebyshev_coefficients(order: int, theta: float) -> list[float]:
    """Return the first coefficients of exp(-theta t) in Chebyshev polynomials of t, for t from -1 to 1.

    They are modified Bessel functions of theta: I_0, -2 I_1, 2 I_2, -2 I_3, ...

    Examples
    --------
    >>> [round(coefficient, 4) for coefficient in chebyshev_coefficients(3, 0.5)]
    [1.0635, -0.5158, 0.0638]
    """
    bessel = ive(np.arange(order), theta) * math.exp(theta)
    bessel[1:] *= 2
    bessel[1::2] *= -1
    return [float(coefficient) for coefficient in bessel]
