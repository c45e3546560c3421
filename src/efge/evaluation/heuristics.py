"""Scores of node pairs from the graph alone: the baseline that any embedding has to beat at link prediction.

All scores are sparse products over chunks of pairs, so that memory grows with the graph and the number of pairs, never
with the square of the number of nodes. A self loop does not make a node its own neighbor. In a directed graph a pair
(u, v) stands for an edge from u to v: the common neighbors are those on a path u -> w -> v, that is, out-neighbors of u
that are in-neighbors of v.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from efge.errors import check_choice
from efge.graph.graph import Graph
from efge.graph.inputs import as_graph
from efge.graph.names import split_pairs
from efge.linalg import katz_beta, katz_terms
from efge.parallel import single_threaded_blas

Rows = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]
Heuristic = Callable[[Graph, Rows, Rows], Scores]

# Number of neighbors of the pairs in a chunk: tens of megabytes. Numbers in a dense block, which should fit the cache.
_CHUNK, _DENSE_BLOCK = 1 << 22, 1 << 17


def link_scores(graph: Any, pairs: Any, heuristic: str | Heuristic = "adamic-adar") -> Scores:
    """Score pairs of nodes by a heuristic; a higher score means that an edge is more likely.

    Use it as a baseline for every embedding: where a heuristic does as well, the embedding has learned nothing beyond
    local structure. "resource-allocation" and "adamic-adar" are strongest where edges close triangles; "katz" also
    ranks pairs that share no neighbor.

    Parameters
    ----------
    graph : Graph, or anything :func:`efge.as_graph` takes
    pairs : array of shape (k, 2), or iterable of pairs
        Names of nodes.
    heuristic : str or callable
        "common-neighbors", "jaccard", "adamic-adar", "resource-allocation", "preferential-attachment" or "katz"; or a
        function that takes the graph, the rows of the sources and the rows of the targets.

    Returns
    -------
    array of k floats

    Raises
    ------
    GraphError
        If a name is not a node of the graph, or an entry of `pairs` does not have two names.

    Examples
    --------
    >>> friends = [("ann", "bob"), ("bob", "cid"), ("cid", "dan"), ("dan", "ann"), ("dan", "eve")]
    >>> link_scores(friends, [("ann", "cid"), ("bob", "eve")], "common-neighbors")
    array([2., 0.])
    >>> link_scores(friends, [("ann", "cid"), ("bob", "eve")], "preferential-attachment")
    array([4., 2.])
    """
    if not callable(heuristic):
        check_choice("heuristic", heuristic, HEURISTICS)
    scorer = HEURISTICS[heuristic] if isinstance(heuristic, str) else heuristic
    graph = as_graph(graph)
    sources, targets = split_pairs(pairs)
    return scorer(graph, graph.rows(sources), graph.rows(targets))


def common_neighbors(graph: Graph, sources: Rows, targets: Rows) -> Scores:
    """Return the number of common neighbors: the simplest score, strong where most nodes have similar degrees.

    Examples
    --------
    >>> import numpy as np
    >>> square = as_graph([(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> common_neighbors(square, np.array([0, 0]), np.array([2, 1]))
    array([2., 0.])
    """
    return _sum_common_neighbors(_neighbors(graph), sources, targets, np.ones(graph.n_nodes))


def jaccard(graph: Graph, sources: Rows, targets: Rows) -> Scores:
    """Return the number of common neighbors divided by the number of all neighbors of the two nodes.

    The score is 0 where there are no neighbors. It favors nodes of low degree.

    Examples
    --------
    >>> import numpy as np
    >>> square = as_graph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 4)])
    >>> jaccard(square, np.array([0, 0]), np.array([2, 1])).round(3)
    array([0.667, 0.   ])
    """
    neighbors = _neighbors(graph)
    common = _sum_common_neighbors(neighbors, sources, targets, np.ones(graph.n_nodes))
    union = np.diff(neighbors[0].indptr)[sources] + np.diff(neighbors[1].indptr)[targets] - common
    scores: Scores = np.divide(common, union, out=np.zeros(len(common)), where=union > 0)
    return scores


def adamic_adar(graph: Graph, sources: Rows, targets: Rows) -> Scores:
    """Return the sum of 1 / log(degree) over the common neighbors: sharing a hub says little.

    In a directed graph, the degree is the number of neighbors in either direction. A node of degree 1, whose logarithm
    is 0, contributes nothing.

    Examples
    --------
    >>> import numpy as np
    >>> square = as_graph([(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> adamic_adar(square, np.array([0]), np.array([2])).round(3)
    array([2.885])
    """
    neighbors = _neighbors(graph)
    degrees = _degrees(neighbors)
    weights = np.divide(1.0, np.log(np.maximum(degrees, 1)), out=np.zeros(len(degrees)), where=degrees > 1)
    return _sum_common_neighbors(neighbors, sources, targets, weights)


def resource_allocation(graph: Graph, sources: Rows, targets: Rows) -> Scores:
    """Return the sum of 1 / degree over the common neighbors.

    It discounts hubs more than Adamic and Adar's score does, and is often the best heuristic. In a directed graph, the
    degree is the number of neighbors in either direction.

    Examples
    --------
    >>> import numpy as np
    >>> square = as_graph([(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> resource_allocation(square, np.array([0]), np.array([2]))
    array([1.])
    """
    neighbors = _neighbors(graph)
    return _sum_common_neighbors(neighbors, sources, targets, 1 / np.maximum(_degrees(neighbors), 1))


def preferential_attachment(graph: Graph, sources: Rows, targets: Rows) -> Scores:
    """Return the product of the two nodes' degrees, without self loops: what degrees alone predict.

    Examples
    --------
    >>> import numpy as np
    >>> star = as_graph([(0, 1), (0, 2), (0, 3)])
    >>> preferential_attachment(star, np.array([0, 1]), np.array([1, 2]))
    array([3., 1.])
    """
    outgoing, incoming = _neighbors(graph)
    product: Scores = np.diff(outgoing.indptr)[sources].astype(np.float64) * np.diff(incoming.indptr)[targets]
    return product


def katz(graph: Graph, sources: Rows, targets: Rows, beta: float | None = None) -> Scores:
    """Return Katz' index: the sum over all walks from source to target of beta^length times the walk's weights.

    Use it where pairs are far apart. Time grows with the number of edges times the number of distinct sources or
    targets, whichever is smaller, and with 1 / (1 - beta / limit). Walks may use self loops.

    Examples
    --------
    >>> import numpy as np
    >>> path = as_graph([(0, 1), (1, 2)])
    >>> katz(path, np.array([0, 0]), np.array([1, 2]), beta=0.5)
    array([1. , 0.5])
    """
    adjacency = graph.to_scipy()
    with single_threaded_blas(scipy=True):
        step = adjacency * katz_beta(adjacency, graph.directed, beta)
    starts, ends = sources, targets
    if len(np.unique(targets)) < len(np.unique(sources)):
        starts, ends = targets, sources
    else:
        step = step.T.tocsr()
    scores = np.zeros(len(starts))
    order = np.argsort(starts, kind="stable")
    nodes, offsets = np.unique(starts[order], return_index=True)
    offsets = np.append(offsets, len(order))
    # With fewer columns, the time to read all edges would dominate.
    width = max(8, _DENSE_BLOCK // max(graph.n_nodes, 1))
    for begin in range(0, len(nodes), width):
        block = nodes[begin : begin + width]
        pairs = order[offsets[begin] : offsets[begin + len(block)]]
        indicators = np.zeros((graph.n_nodes, len(block)))
        indicators[block, np.arange(len(block))] = 1
        columns = np.searchsorted(block, starts[pairs])
        for term in katz_terms(step, indicators):
            scores[pairs] += term[ends[pairs], columns]
    return scores


HEURISTICS: dict[str, Heuristic] = {
    "common-neighbors": common_neighbors,
    "jaccard": jaccard,
    "adamic-adar": adamic_adar,
    "resource-allocation": resource_allocation,
    "preferential-attachment": preferential_attachment,
    "katz": katz,
}


def _neighbors(graph: Graph) -> tuple[csr_array, csr_array]:
    """Return 0/1 matrices of out-neighbors and in-neighbors, without self loops."""
    rows = np.repeat(np.arange(graph.n_nodes), graph.degrees)
    is_pair = rows != graph.indices
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[is_pair], minlength=graph.n_nodes))])
    shape = (graph.n_nodes, graph.n_nodes)
    data = np.ones(is_pair.sum()), graph.indices[is_pair], indptr.astype(graph.indices.dtype)
    outgoing = csr_array(data, shape=shape)
    return outgoing, outgoing.T.tocsr() if graph.directed else outgoing


def _degrees(neighbors: tuple[csr_array, csr_array]) -> npt.NDArray[Any]:
    """Return the number of neighbors of each node, in either direction."""
    outgoing, incoming = neighbors
    return np.diff(outgoing.indptr if outgoing is incoming else (outgoing + incoming).indptr)


def _sum_common_neighbors(
    neighbors: tuple[csr_array, csr_array], sources: Rows, targets: Rows, weights: Scores
) -> Scores:
    """Return the sum of the weights of the common neighbors of each pair."""
    outgoing, incoming = neighbors
    scores = np.zeros(len(sources))
    for pairs in _chunks(np.diff(outgoing.indptr)[sources] + np.diff(incoming.indptr)[targets]):
        scores[pairs] = outgoing[sources[pairs]].multiply(incoming[targets[pairs]]) @ weights
    return scores


def _chunks(sizes: npt.NDArray[Any]) -> Iterator[slice]:
    """Yield slices of pairs whose neighbors together fit in a chunk; one pair may exceed it alone."""
    # A pair without neighbors takes space too, so each counts one more.
    offsets = np.concatenate([[0], np.cumsum(sizes + 1, dtype=np.int64)])
    begin = 0
    while begin < len(sizes):
        end = max(begin + 1, int(np.searchsorted(offsets, offsets[begin] + _CHUNK, side="right")) - 1)
        yield slice(begin, end)
        begin = end
