"""Factors of a graph's edges: vectors whose inner products say how much more frequent an edge is than by chance.

They are the first step of ProNE, and initial vectors for training on graphs from which walks learn slowly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from efge.graph.graph import Graph
from efge.linalg import MAX_DENSE_SIZE, column_signs, scale_by_power_of_two, scale_values
from efge.parallel import single_threaded_blas
from efge.random import stream_key

Floats = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]

# The noise distribution is that of the column sums to this power.
_NOISE_POWER = 0.75
# Randomized singular value decomposition, as in the code of ProNE's authors: passes over the matrix beyond the first.
_ITERATIONS = 5
# Columns that are computed beyond those that are wanted, which makes these precise.
_SPARE_COLUMNS = 10
# Singular values below this fraction of the largest one are rounding errors, and so are their vectors.
_RELATIVE_ZERO = 1e-6
# The smallest positive float.
_SMALLEST = 5e-324


def factor_edges(graph: Graph, dim: int, seed: int) -> tuple[Vectors, Vectors, Floats]:
    """Factor the matrix of edges: return vectors of length 1 for nodes as sources and as targets, and singular values.

    An edge from i to j has the entry log(p_ij) - log(q_j), where p_ij is the probability of a step from i to j, and q_j
    that of j in the noise distribution, the sum of p_ij over i to the power 0.75, normalized. Other entries are zero.
    Edges count in both directions. Nodes without edges, and dimensions beyond the rank, are zero.

    Examples
    --------
    >>> from efge.graph.inputs import as_graph
    >>> sources, targets, values = factor_edges(as_graph([("a", "b"), ("b", "c")]), dim=2, seed=0)
    >>> (sources @ targets.T).round(2).tolist()[0]  # node a is linked to b only
    [0.0, 1.0, 0.0]
    """
    matrix, linked = _edge_matrix(graph)
    left, right, leading = _truncated_svd(matrix, min(dim, len(linked)), seed)
    values = np.zeros(dim)
    values[: len(leading)] = leading
    tables = tuple(np.zeros((graph.n_nodes, dim), np.float32) for _ in range(2))
    for table, columns in zip(tables, (left, right), strict=True):
        table[linked, : len(leading)] = columns * np.sqrt(leading).astype(np.float32)
        _scale_rows(table)
    return tables[0], tables[1], values


class _Matrix(NamedTuple):
    """A square sparse matrix, row by row; no row is empty."""

    values: Floats
    columns: Rows
    offsets: Rows  # where each row begins, and the end of the last one

    @property
    def rows(self) -> Rows:
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


def _edge_matrix(graph: Graph) -> tuple[_Matrix, Rows]:
    """Return the matrix to factor, of the nodes that have edges, and their rows in the graph."""
    weights, columns, indptr = _symmetric_weights(graph)
    linked = np.flatnonzero(np.diff(indptr))
    renumbered = np.zeros(graph.n_nodes, columns.dtype)
    renumbered[linked] = np.arange(len(linked))
    # A weight that is hundreds of orders of magnitude below the largest one has become zero.
    logs = np.log(np.maximum(weights, _SMALLEST))
    matrix = _Matrix(logs, renumbered[columns], np.append(indptr[linked], len(logs)))
    logs -= _log_sums(logs, matrix.offsets)[matrix.rows]
    by_column = np.argsort(matrix.columns, kind="stable")
    ends = np.cumsum(np.bincount(matrix.columns, minlength=len(linked)))
    noise = _NOISE_POWER * _log_sums(logs[by_column], np.append(0, ends))
    logs -= (noise - np.logaddexp.reduce(noise))[matrix.columns]
    return matrix, linked


def _symmetric_weights(graph: Graph) -> tuple[Floats, Rows, Rows]:
    """Return weights, columns and offsets of rows of the adjacency matrix; edges count in both directions."""
    if not graph.directed:
        ones = np.full(len(graph.indices), 0.5)
        return ones if graph.weights is None else scale_values(graph.weights)[0], graph.indices, graph.indptr
    matrix, _ = scale_by_power_of_two(graph.to_scipy())
    matrix = (matrix + matrix.T).tocsr()
    return matrix.data, matrix.indices, matrix.indptr


def _log_sums(logs: Floats, offsets: Rows) -> Floats:
    """Return the logarithm of the sum of each row of a matrix of logarithms, in which no row is empty.

    The sums are not formed: they may be smaller than the smallest float.
    """
    return np.logaddexp.reduceat(logs, offsets[:-1]) if len(logs) else np.empty(0)


def _truncated_svd(matrix: _Matrix, k: int, seed: int) -> tuple[Vectors, Vectors, Floats]:
    """Return the first k columns of U and V and the largest singular values; beyond the rank, these are zero."""
    size = len(matrix.offsets) - 1
    is_small = size <= max(MAX_DENSE_SIZE, 2 * k)
    with single_threaded_blas(scipy=not is_small):
        if is_small:
            dense = np.zeros((size, size))
            dense[matrix.rows, matrix.columns] = matrix.values
            left, values, right = np.linalg.svd(dense)
        else:
            left, values, right = _randomized_svd(matrix, k, seed)
    left, right = left[:, :k].astype(np.float32), right[:k].T.astype(np.float32)
    values = values[:k].astype(np.float64)
    values[values <= _RELATIVE_ZERO * values.max(initial=0.0)] = 0
    signs = column_signs(left).astype(np.float32)
    return left * signs, right * signs, values


def _randomized_svd(matrix: _Matrix, k: int, seed: int) -> tuple[Floats, Floats, Floats]:
    """Return the leading part of a decomposition, found among few combinations of columns that passes improve.

    The method of Halko, Martinsson and Tropp. scikit-learn has it too, but takes a second to be imported.
    """
    from scipy.linalg import lu, qr, svd
    from scipy.sparse import csr_array

    size = len(matrix.offsets) - 1
    sparse = csr_array((matrix.values.astype(np.float32), matrix.columns, matrix.offsets), shape=(size, size))
    random = np.random.Generator(np.random.PCG64(int(stream_key(seed, 0, "start"))))
    basis = random.standard_normal((size, min(k + _SPARE_COLUMNS, size)), np.float32)
    for _ in range(_ITERATIONS):
        for each in (sparse, sparse.T):
            basis, _ = lu(each @ basis, permute_l=True, check_finite=False)
    basis, _ = qr(sparse @ basis, mode="economic", check_finite=False)
    left, values, right = svd((sparse.T @ basis).T, full_matrices=False, check_finite=False)
    return basis @ left, values, right


def _scale_rows(vectors: Vectors) -> None:
    """Scale vectors to length 1. Those that consist of rounding errors become zero."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    nonzero = norms > _RELATIVE_ZERO * norms.max(initial=0.0)
    np.divide(vectors, norms, out=vectors, where=nonzero)
    vectors *= nonzero
