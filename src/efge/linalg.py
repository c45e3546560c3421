"""Ends of the spectra of large sparse matrices, the same each time."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs, eigsh

from efge.errors import GraphError

# Matrices up to this size are quicker dense than by iteration.
DENSE = 512
# How often iteration may begin again; it would otherwise go on for days where eigenvalues are close to each other.
_MOST_RESTARTS = 3000


def scaled(matrix: csr_array) -> tuple[csr_array, int]:
    """A matrix divided by a power of two, such that its largest entry is 1/2 or more and below 1; and that power.

    No digit changes, and no product of entries overflows.

    Examples
    --------
    >>> half, power = scaled(csr_array(np.array([[0.0, 3e-310], [4e-310, 0.0]])))
    >>> float(half.max()), power
    (0.57..., -1027)
    """
    power = int(np.frexp(matrix.data.max(initial=0.0))[1])
    return csr_array((np.ldexp(matrix.data, -power), matrix.indices, matrix.indptr), shape=matrix.shape), power


def largest_singular_value(matrix: csr_array, accuracy: float = 0.0) -> float:
    """The largest singular value of a square matrix, to a relative accuracy, or as exact as it can be.

    Examples
    --------
    >>> largest_singular_value(csr_array(np.array([[0.0, 3.0], [0.0, 0.0]])))
    3.0
    """
    if not matrix.nnz:
        return 0.0
    if len(matrix.indptr) - 1 <= DENSE:
        return float(np.linalg.norm(matrix.toarray(), 2))
    transposed = matrix.T.tocsr()
    square = LinearOperator(matrix.shape, matvec=lambda x: transposed @ (matrix @ x), dtype=np.float64)
    found, _ = leading_eigenpairs(square, 1, "LA", np.random.default_rng(0), accuracy=accuracy)
    return float(np.sqrt(found[0]))


def spectral_radius(matrix: csr_array, directed: bool) -> float:
    """The size of the largest eigenvalue of a matrix without negative entries, symmetric unless `directed`.

    Examples
    --------
    >>> spectral_radius(csr_array(np.array([[0.0, 3.0], [0.0, 0.0]])), directed=True)
    0.0
    """
    if not directed:
        return largest_singular_value(matrix)
    # Only edges within strong components are on cycles. Without the others, what iteration has to find is the largest
    # root of irreducible matrices, which is real; a matrix without cycles would leave it nothing to find.
    _, part = connected_components(matrix, directed=True, connection="strong")
    entries = matrix.tocoo()
    inside = part[entries.row] == part[entries.col]
    nodes, ends = np.unique(np.stack([entries.row[inside], entries.col[inside]]), return_inverse=True)
    cyclic = csr_array((entries.data[inside], ends.reshape(2, -1)), shape=(len(nodes), len(nodes)))
    if len(nodes) <= DENSE:
        return float(np.linalg.eigvals(cyclic.toarray()).real.max(initial=0.0))
    start = np.random.default_rng(0).random(len(nodes)) + 0.5
    return float(eigs(cyclic, 1, which="LR", v0=start, return_eigenvectors=False)[0].real)


def leading_eigenpairs(
    matrix: Any, k: int, which: str, random: np.random.Generator, accuracy: float = 0.0
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Eigenvalues at one end of a symmetric matrix's spectrum ("LA", "SA") or of largest size ("LM"), and vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import diags_array
    >>> leading_eigenpairs(diags_array(np.arange(9.0)), 2, "LA", np.random.default_rng(0))[0].round(6)
    array([7., 8.])
    """
    options: dict[str, Any] = {"v0": random.random(matrix.shape[0]) + 0.5}
    # A new start after a breakdown is random as well, which newer versions let us seed.
    if "rng" in inspect.signature(eigsh).parameters:
        options["rng"] = random
    try:
        values, vectors = eigsh(matrix, k, which=which, tol=accuracy, maxiter=_MOST_RESTARTS, **options)
    except ArpackNoConvergence:
        raise GraphError(
            "the largest eigenvalues of this graph are too close to each other to be found, as those of long paths and"
            " grids are; EFGE does without them"
        ) from None
    order = np.argsort(values, kind="stable")
    return values[order], vectors[:, order]


def column_signs(vectors: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float64]:
    """Signs that make the first of the largest entries of each column positive, since a vector's sign is arbitrary.

    Examples
    --------
    >>> import numpy as np
    >>> column_signs(np.array([[-0.6, 0.0], [0.5, 1.0]]))
    array([-1.,  1.])
    """
    if not vectors.size:
        return np.ones(vectors.shape[1])
    sizes = np.abs(vectors)
    # Entries that differ by rounding alone are equally large.
    first = np.argmax(sizes >= (1 - 1e-5) * sizes.max(axis=0), axis=0)
    return np.where(vectors[first, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)


# A series ends when a term adds nothing to a float beside the largest term.
_NOTHING = 2.0**-53


def katz_terms(step: csr_array, at: npt.NDArray[np.float64]) -> Iterator[npt.NDArray[np.float64]]:
    """The terms of Katz' series from a dense block on: `step` is beta times the adjacency matrix, or its transpose.

    Examples
    --------
    >>> step = csr_array(np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.5, 0.0]]))
    >>> [term.tolist() for term in katz_terms(step, np.array([1.0, 0, 0]))]
    [[0.0, 0.5, 0.0], [0.0, 0.0, 0.25]]
    """
    largest = 0.0
    while True:
        at = step @ at
        size = float(max(at.max(initial=0.0), -at.min(initial=0.0)))
        largest = max(largest, size)
        if not size < np.inf:
            raise GraphError("Katz' series left the finite numbers; lower beta, or bring the weights closer together")
        if size <= _NOTHING * largest:
            return
        yield at


def katz_beta(adjacency: csr_array, directed: bool, beta: float | None = None) -> float:
    """The damping of Katz' index: the given one if the series converges, else an error that states the limit.

    Without one, half of 1 / the largest singular value of the adjacency matrix. In an undirected graph that is half of
    the limit; in a directed one it is at most half, and there is one even if no cycle limits beta at all.

    Examples
    --------
    >>> path = csr_array(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    >>> round(katz_beta(path, directed=False), 4)
    0.3536
    >>> katz_beta(path, directed=False, beta=0.8)
    Traceback (most recent call last):
    ValueError: beta is positive and below 1 / spectral radius, which is 0.707107 here; got 0.8
    """
    matrix, power = scaled(adjacency)
    if beta is None:
        # Half of the limit needs not be exact, and in long paths and grids it could not be had.
        norm = largest_singular_value(matrix, accuracy=1e-7)
        half = _halved(0.5 / norm, power) if norm else 0.5
        if half == np.inf:
            raise GraphError("the weights are so small that beta, half of 1 / their size, is no float; scale them up")
        return half
    radius = spectral_radius(matrix, directed)
    limit = _halved(1 / radius, power) if radius else np.inf
    if not 0 < beta < limit:
        raise ValueError(f"beta is positive and below 1 / spectral radius, which is {limit:g} here; got {beta!r}")
    if not float(beta) * float(adjacency.data.max(initial=0.0)) < np.inf:
        raise GraphError(f"beta times the largest weight is no float; lower beta, which is {beta!r}")
    return float(beta)


def _halved(value: float, times: int) -> float:
    """A number divided by a power of two; infinite if it is no float then."""
    with np.errstate(over="ignore"):
        return float(np.ldexp(value, -times))
