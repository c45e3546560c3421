"""The candidates of a search for neighbors: all nodes or some of them, without a query's own row or its neighbors."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.embedding.nearest import Excluded
from efge.errors import EmbeddingError, GraphError
from efge.graph.graph import Graph
from efge.graph.inputs import as_graph
from efge.graph.names import list_names

if TYPE_CHECKING:
    from efge.embedding.embedding import Embedding

Rows = npt.NDArray[np.int64]


class Candidates(NamedTuple):
    """Rows to search, and for each query the positions among them that are excluded."""

    rows: Rows
    excluded: Excluded
    max_count: int  # the most neighbors that a query can have


def allowed_rows(embedding: Embedding, among: Any, exclude: Any) -> tuple[npt.NDArray[np.bool_], Graph | None]:
    """Return for each row whether it is a candidate, and the graph whose neighbors are excluded, if there is one."""
    allowed = np.full(len(embedding), among is None)
    if among is not None:
        allowed[embedding._rows(list_names("among", among))] = True
    if exclude is None:
        return allowed, None
    if not _are_names(exclude):
        return allowed, as_graph(exclude)
    allowed[embedding._rows(exclude)] = False
    return allowed, None


def _are_names(exclude: Any) -> bool:
    return isinstance(exclude, (list, tuple, set, frozenset)) or (isinstance(exclude, np.ndarray) and exclude.ndim == 1)


def find_in_excluded(graph: Graph, names: list[Any]) -> Rows:
    """Return the rows of names in the graph whose neighbors are excluded; the error says which graph it is."""
    try:
        return graph.rows(names)
    except GraphError as error:
        how = "read it as the graph that was fitted, with the same source, target and bipartite options"
        raise GraphError(f"the graph of exclude= (--exclude) has {error}; {how}") from None


def choose_candidates(
    embedding: Embedding, own: Rows | None, n_queries: int, among: Iterable[Hashable] | None, exclude: Any
) -> Candidates:
    """Return the candidates of queries; `own` has the rows of queries that are nodes themselves."""
    allowed, graph = allowed_rows(embedding, among, exclude)
    rows = np.flatnonzero(allowed)
    if own is None:
        if graph is not None:
            raise EmbeddingError("a graph excludes the neighbors of nodes given by name; the queries are vectors")
        return Candidates(rows, Excluded(np.zeros(n_queries + 1, np.int64), np.empty(0, np.int64)), len(rows))
    queries, excluded = np.arange(n_queries), own
    if graph is not None:
        queries, excluded = _with_neighbors(embedding, graph, own)
    positions = np.full(len(embedding) + 1, -1)  # the last for a neighbor without a vector, whose row is -1
    positions[rows] = np.arange(len(rows))
    is_candidate = positions[excluded] >= 0
    starts = np.searchsorted(queries[is_candidate], np.arange(n_queries + 1))
    max_count = len(rows) - bool((positions[own] >= 0).all())
    return Candidates(rows, Excluded(starts, positions[excluded][is_candidate]), max(max_count, 0))


def _with_neighbors(embedding: Embedding, graph: Graph, own: Rows) -> tuple[Rows, Rows]:
    """Return pairs of a query and a row, sorted by query: the query's own row, and those of its neighbors."""
    nodes = find_in_excluded(graph, embedding.names[own].tolist())
    counts = graph.indptr[nodes + 1] - graph.indptr[nodes]
    edges = np.repeat(graph.indptr[nodes] - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum()))
    queries = np.arange(len(own))
    pairs = np.concatenate([queries, np.repeat(queries, counts)])
    rows = np.concatenate([own, embedding._index.rows(graph)[graph.indices[edges]]])
    order = np.argsort(pairs, kind="stable")
    return pairs[order], rows[order]
