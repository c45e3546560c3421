"""The front door: anything that is a graph -> Graph."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable
from typing import Any

from efge.graph.columns import Columns
from efge.graph.graph import Graph
from efge.graph.objects import Reading, graph_from_object
from efge.graph.readers import read_graph


def as_graph(
    x: Any,
    *,
    directed: bool | None = None,
    weighted: bool | None = None,
    source: str | int | None = None,
    target: str | int | None = None,
    weight: str | int | None = None,
    nodes: Iterable[Hashable] | None = None,
    drop_self_loops: bool = False,
) -> Graph:
    """Turn whatever is a graph into a :class:`efge.Graph`.

    Duplicate edges merge and their weights add up; in an undirected graph (u, v) and (v, u) are one edge. Nodes keep
    their names and the order in which the input has them: for lists of edges, that of their first appearance.

    Parameters
    ----------
    x : object
        One of

        - a :class:`efge.Graph`, or the path of a file (see :func:`efge.read_graph`);
        - a NetworkX or igraph graph of any kind;
        - a SciPy sparse matrix or array, or a square NumPy array: the adjacency matrix, nodes named 0 to n - 1;
        - a NumPy array of shape (m, 2) or (m, 3): an edge a row, with a weight if there are three columns;
        - a pandas or Polars data frame or an Arrow table: an edge a row;
        - a PyTorch Geometric ``Data``, or anything with an ``edge_index``;
        - an iterable of (source, target) or (source, target, weight).
    directed : bool, optional
        Whether (u, v) differs from (v, u). By default as the object says; a matrix or an ``edge_index`` is undirected
        if it is symmetric; a list of edges is undirected.
    weighted : bool, optional
        Whether to take weights; by default, if there are any. Edges without one weigh 1.
    source, target, weight : str or int, optional
        Columns of a data frame, by name or number; for graphs with attributes, the attribute that is the weight. By
        default the columns "source" and "target" (or the first two) and "weight"; other columns are left alone.
    nodes : iterable of names, optional
        Nodes that may have no edge. In front of the nodes of a list of edges, behind those of a graph.
    drop_self_loops : bool
        Leave out edges from a node to itself.

    Returns
    -------
    Graph

    Raises
    ------
    GraphError
        If `x` is of no known kind or breaks a rule.

    Examples
    --------
    >>> as_graph([("ann", "bob"), ("bob", "cid"), ("cid", "bob")])
    Graph(3 nodes, 2 edges, undirected, unweighted, 0 isolated)
    >>> import numpy as np
    >>> as_graph(np.array([[0, 2], [1, 0]]))
    Graph(2 nodes, 2 edges, directed, weighted, 0 isolated)
    """
    if isinstance(x, (str, os.PathLike)):
        return read_graph(
            x,
            directed=directed,
            weighted=weighted,
            source=source,
            target=target,
            weight=weight,
            nodes=nodes,
            drop_self_loops=drop_self_loops,
        )
    return graph_from_object(x, Reading(directed, Columns(source, target, weight, weighted), nodes, drop_self_loops))
