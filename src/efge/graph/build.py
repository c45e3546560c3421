"""Edges as pairs of rows -> Graph: entries are sorted in parallel, duplicate edges merge, and their weights add up."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError
from efge.graph.graph import Graph, Nodes, Offsets, Weights
from efge.graph.mapped import node_type
from efge.graph.names import Names
from efge.kernels import csr as kernel
from efge.system import available_threads

# Each shard of the edges needs a cursor per node; more shards than this cost more than they save.
_MAX_SHARDS = 4

INFINITE_SUM = "the weights of duplicate edges add up to infinity; scale the weights down"


def graph_from_edges(
    ends: npt.NDArray[np.int32],
    weights: Weights | None,
    names: Names,
    *,
    directed: bool,
    drop_self_loops: bool = False,
) -> Graph:
    """Build a graph from an (m, 2) array of rows; duplicate edges merge, in both directions if undirected."""
    if weights is not None and len(weights) != len(ends):
        raise GraphError(f"each of {len(ends)} edges has a weight; got {len(weights)} weights")
    if drop_self_loops:
        is_proper = ends[:, 0] != ends[:, 1]
        ends = ends[is_proper]
        weights = None if weights is None else weights[is_proper]
    indptr, indices, sums = _sorted_rows(ends, np.empty(0) if weights is None else weights, len(names), not directed)
    count = kernel.merge_duplicates(indptr, indices, sums)
    if count < len(indices):
        indices, sums = indices[:count].copy(), sums[:count].copy()
    if not np.isfinite(sums).all():
        raise GraphError(INFINITE_SUM)
    return Graph._from_valid(indptr, indices, None if weights is None else sums, names, directed)


def _sorted_rows(
    ends: npt.NDArray[np.int32], weights: Weights, n: int, both_ways: bool
) -> tuple[Offsets, Nodes, Weights]:
    """Return CSR arrays with sorted columns, duplicates included, by sorting entries by column and then by row."""
    shards = max(1, min(_MAX_SHARDS, available_threads(), len(ends) // 100_000))
    with ThreadPoolExecutor(shards) as pool:
        cuts = np.linspace(0, len(ends), shards + 1).astype(np.int64)
        jobs = [(int(cuts[i]), int(cuts[i + 1]), i) for i in range(shards)]

        counts = np.zeros((shards, n), np.int64)
        _wait(pool.submit(kernel.count_columns, ends, a, b, both_ways, counts[i]) for a, b, i in jobs)
        starts, cursors = _cursors(counts)
        rows, row_weights = np.empty(starts[-1], node_type(n)), np.empty(starts[-1] if len(weights) else 0)
        _wait(
            pool.submit(kernel.sort_by_column, ends, weights, a, b, both_ways, cursors[i], rows, row_weights)
            for a, b, i in jobs
        )

        cuts = np.searchsorted(starts, np.linspace(0, len(rows), shards + 1)[:-1])
        jobs = [(int(low), int(high), i) for i, (low, high) in enumerate(pairwise([*cuts, n]))]
        counts[:] = 0
        _wait(pool.submit(kernel.count_rows, rows, starts[a], starts[b], counts[i]) for a, b, i in jobs)
        indptr, cursors = _cursors(counts)
        indices, sorted_weights = np.empty_like(rows), np.empty_like(row_weights)
        _wait(
            pool.submit(kernel.sort_by_row, starts, rows, row_weights, a, b, cursors[i], indices, sorted_weights)
            for a, b, i in jobs
        )
    return indptr, indices, sorted_weights


def _wait(jobs: Iterable[Future[None]]) -> None:
    for job in list(jobs):
        job.result()


def _cursors(counts: Offsets) -> tuple[Offsets, Offsets]:
    """Return where each row starts, and where each shard starts within it."""
    starts = np.zeros(counts.shape[1] + 1, np.int64)
    np.cumsum(counts.sum(axis=0), out=starts[1:])
    return starts, np.cumsum(counts, axis=0) - counts + starts[:-1]
