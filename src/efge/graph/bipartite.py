"""The two sides of a bipartite graph, such as users and items."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from efge.graph.graph import Graph
from efge.kernels.csr import find_sides

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
    n = graph.n_nodes
    parents = np.empty(2 * n, np.uint32 if 2 * n < 2**32 else np.uint64)
    sides = np.full(n, NO_SIDE, np.int8)
    return sides if find_sides(graph.indptr, graph.indices, parents, sides) else None


def two_kinds(graph: Graph) -> npt.NDArray[np.int8] | None:
    """Return the two sides of a bipartite graph that has cycles, which are probably two kinds of nodes; otherwise None.

    A tree always has two sides, which need not mean anything.

    Examples
    --------
    >>> import efge
    >>> two_kinds(efge.as_graph([(0, 1), (1, 2), (2, 3), (3, 0)])).tolist()
    [0, 1, 0, 1]
    >>> two_kinds(efge.as_graph([(0, 1), (1, 2), (2, 3)]))
    """
    is_forest = graph.n_edges <= graph.n_nodes - graph.n_components
    return None if is_forest else two_sides(graph)
