"""Vectors of nodes that an embedding does not have, as means over their neighbors.

A new node's vector has the mean direction of its neighbors' vectors, old and new, and their mean length. A plain mean
would be shorter the more they differ, and follow the longest.
Nodes that are linked to old ones only through other new nodes are reached step by step; then all means are repeated
some times, as new nodes depend on each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.errors import EmbeddingError, GraphError
from efge.graph.graph import Graph
from efge.graph.names import NameIndex, Names
from efge.linalg import scale_by_power_of_two

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from efge.embedding.embedding import Embedding

Vectors = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

# Times that means are repeated. On Cora, GrQc and HepTh nothing changed after five.
_ROUNDS = 10


class OwnVectors(NamedTuple):
    """Vectors that new nodes have already; means take them into account with a weight, that of so many mean edges."""

    vectors: npt.NDArray[np.floating]  # a row for each new node; a row of zeros does not count
    weight: float


def match_rows(graph: Graph, names: Names, index: NameIndex, owner: str) -> Rows:
    """Return the row of each of a graph's nodes among the names of `owner`, or -1 for a new node.

    Raise an error if there are new nodes and no old one, as then there is nothing to learn from.
    """
    rows = index.rows(graph.names)
    if not len(rows) or (rows >= 0).any():
        return rows
    if not len(names):
        raise EmbeddingError(f"{owner} has no nodes, so that nothing follows for new ones; fit it to a graph first")
    old, new = names[:1].tolist()[0], graph.names[:1].tolist()[0]
    if _describe_type(old) != _describe_type(new):
        raise GraphError(
            f"names must have the type that they have in {owner}, {_describe_type(old)} such as {old!r}; the graph has"
            f" {_describe_type(new)} such as {new!r}: convert them"
        )
    raise GraphError(
        f"new nodes get vectors by edges to nodes of {owner}; none of the graph's {graph.n_nodes:,} nodes, such as"
        f" {new!r}, is among its {len(names):,}, such as {old!r}: pass the graph that has grown, or the model of this"
        " graph"
    )


def _describe_type(name: object) -> str:
    if isinstance(name, (str, bytes)):
        return "text"
    return "integers" if isinstance(name, int) else f"{type(name).__name__}s"


def transform_embedding(embedding: Embedding, graph: Graph) -> Embedding:
    """Return an embedding of a graph's nodes: old vectors to the byte, and new ones as means over neighbors."""
    rows = match_rows(graph, embedding.names, embedding._index, "the embedding")
    vectors = np.empty((graph.n_nodes, embedding.dim), np.float32)
    vectors[rows >= 0] = embedding.vectors[rows[rows >= 0]]
    if (rows < 0).any():
        vectors[rows < 0] = average_neighbors(graph, rows, embedding.vectors)
    return embedding._owning(vectors, graph.names)


def average_neighbors(graph: Graph, rows: Rows, vectors: Vectors, own: OwnVectors | None = None) -> Vectors:
    """Return the vectors of the nodes of a graph whose row is -1, from those of the others, which are rows of a table.

    Edges count in both directions, with their weights; self-loops do not count. A node that no path links to an old
    one gets its own vector, or zeros if it has none.

    Examples
    --------
    >>> from efge.graph.inputs import as_graph
    >>> star = as_graph([("new", "ann"), ("new", "bob"), ("newer", "new")], nodes=["ann", "bob", "new", "newer", "far"])
    >>> average_neighbors(star, np.array([0, 1, -1, -1, -1]), np.array([[3, 4], [4, 3]], np.float32)).round(2)
    array([[3.54, 3.54],
           [3.54, 3.54],
           [0.  , 0.  ]], dtype=float32)
    """
    new = np.flatnonzero(rows < 0)
    to_old, among_new = _split_edges(graph, rows, new, len(vectors))
    used = np.unique(to_old.indices)
    to_old, old = to_old[:, used], vectors[used].astype(np.float64)
    directions, lengths = _split_lengths(old)
    totals = _Totals(to_old @ directions, to_old @ lengths, to_old.sum(axis=1))
    if own is not None:
        totals = totals.plus(own)
    return _repeat_means(totals, among_new).astype(np.float32)


def mean_with_neighbors(graph: Graph, rows: Rows, vectors: Vectors, new: Vectors) -> Vectors:
    """Return the means over each node whose row is -1 and its neighbors, given a table of the others and their own.

    Edges count as in :func:`average_neighbors`, and the node itself as one neighbor, as in a filter.

    Examples
    --------
    >>> from efge.graph.inputs import as_graph
    >>> path = as_graph([("ann", "new"), ("new", "newer")])
    >>> mean_with_neighbors(path, np.array([0, -1, -1]), np.array([[6]], np.float32), np.array([[3], [0]], np.float32))
    array([[3. ],
           [1.5]], dtype=float32)
    """
    to_old, among_new = _split_edges(graph, rows, np.flatnonzero(rows < 0), len(vectors))
    used = np.unique(to_old.indices)
    totals = to_old[:, used] @ vectors[used].astype(np.float64) + among_new @ new.astype(np.float64) + new
    means: Vectors = (totals / (to_old.sum(axis=1) + among_new.sum(axis=1) + 1)[:, None]).astype(np.float32)
    return means


def layers_of_new(graph: Graph, known: npt.NDArray[np.bool_]) -> Iterator[Rows]:
    """Yield the nodes linked to known ones, in any direction; then those linked to these, and so on.

    Examples
    --------
    >>> from efge.graph.inputs import as_graph
    >>> [layer.tolist() for layer in layers_of_new(as_graph([(0, 1), (1, 2)]), np.array([True, False, False]))]
    [[1], [2]]
    """
    matrix, known = graph.to_scipy(), known.copy()
    while True:
        linked = matrix @ known.astype(np.float64) + (matrix.T @ known.astype(np.float64) if graph.directed else 0)
        reached = np.flatnonzero(~known & (linked > 0))
        if not len(reached):
            return
        yield reached
        known[reached] = True


def _split_lengths(vectors: npt.NDArray[np.floating]) -> tuple[Floats, Floats]:
    """Return vectors of length 1, or 0 for those without a direction; and the lengths."""
    wide = vectors.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1)
    return wide / np.where(lengths > 0, lengths, 1.0)[:, None], lengths


class _Totals(NamedTuple):
    """Sums over the neighbors of each new node that do not change: of directions, of lengths, and of weights."""

    directions: Floats
    lengths: Floats
    weights: Floats

    def plus(self, own: OwnVectors) -> _Totals:
        directions, lengths = _split_lengths(own.vectors)
        return _Totals(
            self.directions + own.weight * directions,
            self.lengths + own.weight * lengths,
            self.weights + own.weight * (lengths > 0),
        )

    def means(self, among_new: csr_array, vectors: Floats, known: Floats) -> Floats:
        """Return the means of these sums and of vectors of new nodes; zeros where there is nothing."""
        directions, lengths = _split_lengths(vectors)
        totals = self.directions + among_new @ directions
        lengths = self.lengths + among_new @ lengths
        weights = self.weights + among_new @ known
        norms = np.linalg.norm(totals, axis=1)
        scales = np.divide(lengths, weights * norms, out=np.zeros_like(norms), where=(weights > 0) & (norms > 0))
        means: Floats = totals * scales[:, None]
        return means


def _split_edges(graph: Graph, rows: Rows, new: Rows, n_old: int) -> tuple[csr_array, csr_array]:
    """Return the weights of edges of new nodes, to rows of old ones and among each other; their mean is 1."""
    from scipy.sparse import csr_array

    matrix = graph.to_scipy()
    if graph.weights is not None:
        # Sums of scaled weights do not overflow.
        matrix, _ = scale_by_power_of_two(matrix)
    edges = matrix[new]
    if graph.directed:
        edges = edges + matrix[:, new].T
    edges = edges.tocoo()
    (sources, targets), weights = edges.coords, edges.data
    proper = new[sources] != targets
    sources, targets, weights = sources[proper], targets[proper], weights[proper]
    weights = weights / weights.mean() if len(weights) else weights
    position = np.full(graph.n_nodes, -1)
    position[new] = np.arange(len(new))
    is_old = rows[targets] >= 0
    to_old = csr_array((weights[is_old], (sources[is_old], rows[targets[is_old]])), shape=(len(new), n_old))
    inner = sources[~is_old], position[targets[~is_old]]
    return to_old, csr_array((weights[~is_old], inner), shape=(len(new), len(new)))


def _repeat_means(totals: _Totals, among_new: csr_array) -> Floats:
    known = totals.weights > 0
    nothing = np.zeros_like(totals.directions)
    vectors = totals.means(among_new, nothing, np.zeros(len(known)))
    while True:
        weights = among_new @ known.astype(np.float64)
        reached = np.flatnonzero(~known & (weights > 0))
        if not len(reached):
            break
        part = _Totals(*(total[reached] for total in totals))
        vectors[reached] = part.means(among_new[reached], vectors, known.astype(np.float64))
        known[reached] = True
    # Only means over other new nodes can change.
    coupled = np.flatnonzero(np.diff(among_new.indptr))
    part = _Totals(*(total[coupled] for total in totals))
    inner, means, is_known = among_new[coupled][:, coupled], vectors[coupled], known[coupled].astype(np.float64)
    for _ in range(_ROUNDS if len(coupled) else 0):
        means = part.means(inner, means, is_known)
    vectors[coupled] = means
    return vectors
