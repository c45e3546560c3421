"""The two sides of a bipartite graph, such as users and items."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from efge.graph.graph import Graph

# The side of a node without edges, which could be on either.
NO_SIDE = -1


def two_sides(graph: Graph) -> npt.NDArray[np.int8] | None:
    """Return the side of each node, 0 or 1, if every edge joins the two sides; None if there are no such sides.

    The first node of each component is on side 0: in a list of edges from users to items, a user. A node without edges
    has the side -1.

    Examples
    --------
    >>> import efge
    >>> two_sides(efge.as_graph([("ann", "tea"), ("bob", "tea"), ("bob", "milk")])).tolist()
    [0, 1, 0, 1]
    >>> two_sides(efge.as_graph([("a", "b"), ("b", "c"), ("c", "a")]))
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = graph.n_nodes
    sources = np.repeat(np.arange(n), graph.degrees)
    # Each node is there twice, and each edge leads from a first copy to a second one. A path from a node's first copy
    # to its second one is a cycle of odd length.
    rows = np.concatenate([sources, graph.indices]).astype(np.int64)
    columns = np.concatenate([graph.indices, sources]).astype(np.int64) + n
    cover = coo_array((np.ones(len(rows), bool), (rows, columns)), shape=(2 * n, 2 * n)).tocsr()
    labels = connected_components(cover, directed=False)[1]
    if (labels[:n] == labels[n:]).any():
        return None
    first = np.unique(graph.components, return_index=True)[1]
    sides: npt.NDArray[np.int8] = (labels[:n] != labels[first][graph.components]).astype(np.int8)
    linked = np.zeros(n, bool)
    linked[rows] = True
    sides[~linked] = NO_SIDE
    return sides


def sides_of_kinds(graph: Graph) -> npt.NDArray[np.int8] | None:
    """Return the side of each node if a graph has two kinds of nodes (see :func:`has_two_kinds`), else None.

    Examples
    --------
    >>> import efge
    >>> sides_of_kinds(efge.as_graph([(0, 1), (1, 2), (2, 3), (3, 0)])).tolist()
    [0, 1, 0, 1]
    >>> sides_of_kinds(efge.as_graph([(0, 1), (1, 2), (2, 3)]))
    """
    is_forest = graph.n_edges <= graph.n_nodes - graph.n_components
    return None if is_forest else two_sides(graph)


def has_two_kinds(graph: Graph) -> bool:
    """Return whether a graph is bipartite and has cycles: a tree always has two sides, which need not mean anything.

    Examples
    --------
    >>> import efge
    >>> square, path = [(0, 1), (1, 2), (2, 3), (3, 0)], [(0, 1), (1, 2), (2, 3)]
    >>> has_two_kinds(efge.as_graph(square)), has_two_kinds(efge.as_graph(path))
    (True, False)
    """
    return sides_of_kinds(graph) is not None
