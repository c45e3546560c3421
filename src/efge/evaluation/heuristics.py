"""Scores of pairs of nodes from the graph alone: what any embedding has to beat at link prediction.

All are sparse products over blocks of pairs, so that memory grows with the graph and the pairs, never with the square
of the number of nodes. A self loop makes no node its own neighbor. In a directed graph a pair (u, v) asks for an edge
from u to v: what counts are the out-neighbors of u and the in-neighbors of v, the nodes on the way from u to v.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from efge.errors import GraphError
from efge.graph.graph import Graph
from efge.graph.inputs import as_graph
from efge.linalg import katz_beta, katz_terms

Rows = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]
Heuristic = Callable[[Graph, Rows, Rows], Scores]

# Neighbors of the pairs in a block, some tens of megabytes; and numbers in a dense block, which should fit the cache.
_BLOCK, _DENSE_BLOCK = 1 << 22, 1 << 17


def link_scores(graph: Any, pairs: Any, heuristic: str | Heuristic = "adamic-adar") -> Scores:
    """Score pairs of nodes by a heuristic; the higher, the more an edge is to be expected.

    Use it beside every embedding: where a heuristic does as well, the embedding has learned nothing that is not in
    plain sight. "resource-allocation" and "adamic-adar" are the strongest where edges close triangles; "katz" also
    tells pairs apart that share no neighbor.

    Parameters
    ----------
    graph : Graph, or anything :func:`efge.as_graph` takes
    pairs : array of shape (k, 2), or iterable of pairs
        Names of nodes.
    heuristic : str or callable
        A name in :data:`HEURISTICS`, or a function of the graph, the rows of the sources, and those of the targets.

    Returns
    -------
    array of k floats

    Raises
    ------
    GraphError
        If a name is none of the graph's, or the pairs are no pairs.

    Examples
    --------
    >>> friends = [("ann", "bob"), ("bob", "cid"), ("cid", "dan"), ("dan", "ann"), ("dan", "eve")]
    >>> link_scores(friends, [("ann", "cid"), ("bob", "eve")], "common-neighbors")
    array([2., 0.])
    >>> link_scores(friends, [("ann", "cid"), ("bob", "eve")], "preferential-attachment")
    array([4., 2.])
    """
    if isinstance(heuristic, str) and heuristic not in HEURISTICS:
        raise ValueError(f"no heuristic {heuristic!r}; known: {', '.join(HEURISTICS)}")
    scorer = HEURISTICS[heuristic] if isinstance(heuristic, str) else heuristic
    graph = as_graph(graph)
    sources, targets = _ends(pairs)
    return scorer(graph, graph.rows(sources), graph.rows(targets))


def _ends(pairs: Any) -> tuple[list[Any], list[Any]]:
    if isinstance(pairs, np.ndarray):
        if pairs.size and (pairs.ndim != 2 or pairs.shape[1] != 2):
            raise GraphError(f"pairs are an array of shape (k, 2); got shape {pairs.shape}")
        columns = pairs.reshape(-1, 2)
        return columns[:, 0].tolist(), columns[:, 1].tolist()
    listed = [tuple(pair) for pair in pairs]
    wrong = [number for number, pair in enumerate(listed) if len(pair) != 2]
    if wrong:
        raise GraphError(f"pair {wrong[0]}: a pair has two node names; got {len(listed[wrong[0]])}")
    return [pair[0] for pair in listed], [pair[1] for pair in listed]


def common_neighbors(graph: Graph, sources: Rows, targets: Rows) -> Scores:
    """How many neighbors two nodes share: the plainest score, strong where most degrees are alike.

    Examples
    --------
    >>> import numpy as np
    >>> square = as_graph([(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> common_neighbors(square, np.array([0, 0]), np.array([2, 1]))
    array([2., 0.])
    """
    return _shared(_neighbors(graph), sources, targets, np.ones(graph.n_nodes))


def jaccard(graph: Graph, sources: Rows, targets: Rows) -> Scores:
    """What share of two nodes' neighbors is common to both; 0 where there are none. It favors nodes of low degree.

    Examples
    --------
    >>> import numpy as np
    >>> square = as_graph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 4)])
    >>> jaccard(square, np.array([0, 0]), np.array([2, 1])).round(3)
    array([0.667, 0.   ])
    """
    neighbors = _neighbors(graph)
    shared = _shared(neighbors, sources, targets, np.ones(graph.n_nodes))
    union = np.diff(neighbors[0].indptr)[sources] + np.diff(neighbors[1].indptr)[targets] - shared
    share: Scores = np.divide(shared, union, out=np.zeros(len(shared)), where=union > 0)
    return share


def adamic_adar(graph: Graph, sources: Rows, targets: Rows) -> Scores:
    """Shared neighbors, each worth 1 / log of its degree: a hub that all share says little.

    In a directed graph, the degree is the number of neighbors in any direction. A neighbor of degree 1 lies between no
    two nodes and is worth nothing.

    Examples
    --------
    >>> import numpy as np
    >>> square = as_graph([(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> adamic_adar(square, np.array([0]), np.array([2])).round(3)
    array([2.885])
    """
    neighbors = _neighbors(graph)
    degrees = _degrees(neighbors)
    worth = np.divide(1.0, np.log(np.maximum(degrees, 1)), out=np.zeros(len(degrees)), where=degrees > 1)
    return _shared(neighbors, sources, targets, worth)


def resource_allocation(graph: Graph, sources: Rows, targets: Rows) -> Scores:
    """Shared neighbors, each worth 1 / degree: stricter with hubs than Adamic and Adar, and often the best of all.

    In a directed graph, the degree is the number of neighbors in any direction.

    Examples
    --------
    >>> import numpy as np
    >>> square = as_graph([(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> resource_allocation(square, np.array([0]), np.array([2]))
    array([1.])
    """
    neighbors = _neighbors(graph)
    return _shared(neighbors, sources, targets, 1 / np.maximum(_degrees(neighbors), 1))


def preferential_attachment(graph: Graph, sources: Rows, targets: Rows) -> Scores:
    """The product of two nodes' degrees, self loops aside: what is to be had from degrees alone.

    Examples
    --------
    >>> import numpy as np
    >>> star = as_graph([(0, 1), (0, 2), (0, 3)])
    >>> preferential_attachment(star, np.array([0, 1]), np.array([1, 2]))
    array([3., 1.])
    """
    out, into = _neighbors(graph)
    product: Scores = np.diff(out.indptr)[sources].astype(np.float64) * np.diff(into.indptr)[targets]
    return product


def katz(graph: Graph, sources: Rows, targets: Rows, beta: float | None = None) -> Scores:
    """All walks from source to target, one of length k worth beta to the k times the product of its weights.

    Use it where pairs are far apart. Time grows with the distinct sources or targets, whichever are fewer, times the
    edges; and with 1 / (1 - beta / limit). Self loops are edges that a walk may take.

    Examples
    --------
    >>> import numpy as np
    >>> path = as_graph([(0, 1), (1, 2)])
    >>> katz(path, np.array([0, 0]), np.array([1, 2]), beta=0.5)
    array([1. , 0.5])
    """
    adjacency = graph.to_scipy()
    step = adjacency * katz_beta(adjacency, graph.directed, beta)
    starts, ends = sources, targets
    if len(np.unique(targets)) < len(np.unique(sources)):
        starts, ends = targets, sources
    else:
        step = step.T.tocsr()
    scores = np.zeros(len(starts))
    order = np.argsort(starts, kind="stable")
    nodes, firsts = np.unique(starts[order], return_index=True)
    firsts = np.append(firsts, len(order))
    # Fewer columns than these would only repeat the way through the edges.
    width = max(8, _DENSE_BLOCK // max(graph.n_nodes, 1))
    for begin in range(0, len(nodes), width):
        some = nodes[begin : begin + width]
        chosen = order[firsts[begin] : firsts[begin + len(some)]]
        at = np.zeros((graph.n_nodes, len(some)))
        at[some, np.arange(len(some))] = 1
        columns = np.searchsorted(some, starts[chosen])
        for term in katz_terms(step, at):
            scores[chosen] += term[ends[chosen], columns]
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
    """Ones for out-neighbors and for in-neighbors, in rows, without self loops."""
    rows = np.repeat(np.arange(graph.n_nodes), graph.degrees)
    proper = rows != graph.indices
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows[proper], minlength=graph.n_nodes))])
    shape = (graph.n_nodes, graph.n_nodes)
    out = csr_array((np.ones(proper.sum()), graph.indices[proper], starts.astype(graph.indices.dtype)), shape=shape)
    return out, out.T.tocsr() if graph.directed else out


def _degrees(neighbors: tuple[csr_array, csr_array]) -> npt.NDArray[Any]:
    out, into = neighbors
    return np.diff(out.indptr if out is into else (out + into).indptr)


def _shared(neighbors: tuple[csr_array, csr_array], sources: Rows, targets: Rows, worth: Scores) -> Scores:
    """The worth of all nodes on the way from each source to its target."""
    out, into = neighbors
    scores = np.zeros(len(sources))
    for some in _blocks(np.diff(out.indptr)[sources] + np.diff(into.indptr)[targets]):
        scores[some] = out[sources[some]].multiply(into[targets[some]]) @ worth
    return scores


def _blocks(sizes: npt.NDArray[Any]) -> Iterator[slice]:
    """Slices of pairs whose neighbors fill a block, or of one pair whose neighbors fill more."""
    # A pair without neighbors takes room too.
    before = np.concatenate([[0], np.cumsum(sizes + 1, dtype=np.int64)])
    begin = 0
    while begin < len(sizes):
        end = max(begin + 1, int(np.searchsorted(before, before[begin] + _BLOCK, side="right")) - 1)
        yield slice(begin, end)
        begin = end
