"""Any graph, as an object or a file -> Graph."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from efge.errors import GraphError, check_types, did_you_mean, warn_user
from efge.graph.columns import Columns
from efge.graph.conversion import ConversionOptions, type_name
from efge.graph.graph import Graph
from efge.graph.names import Names, match_types
from efge.graph.objects import graph_from_object
from efge.graph.portrait import describe_missing
from efge.graph.readers import ReadOptions, read_graph


def as_graph(  # noqa: PLR0913
    x: Any,
    *,
    directed: bool | None = None,
    weighted: bool | None = None,
    source: str | int | None = None,
    target: str | int | None = None,
    weight: str | int | None = None,
    nodes: Iterable[Hashable] | None = None,
    names: Iterable[Hashable] | None = None,
    drop_self_loops: bool = False,
    bipartite: bool | None = None,
    count_duplicates: bool = False,
    **reading: Any,
) -> Graph:
    """Convert a graph in any form to a :class:`efge.Graph`.

    Duplicate edges merge and their weights add up; in an undirected graph (u, v) and (v, u) are the same edge. Nodes
    keep their names and the order of the input; in a list of edges, the order of their first appearance.

    Parameters
    ----------
    x : object
        One of

        - a :class:`efge.Graph`, or the path of a file (see :func:`efge.read_graph`);
        - a NetworkX or igraph graph of any kind;
        - a SciPy sparse matrix or array, or a square NumPy array: the adjacency matrix, nodes named 0 to n - 1 or by
          `names`;
        - a NumPy array of shape (m, 2) or (m, 3): one edge per row, with a weight if there are three columns;
        - a pandas Series whose index has the two ends of each edge, as ``df.groupby(["a", "b"]).size()``, or whose
          values are lists of the neighbors of each node in the index;
        - a pandas or Polars data frame or an Arrow table: one edge per row, or an adjacency matrix whose rows have the
          names of its columns; or a table of users and items, see `bipartite`;
        - a PyTorch Geometric ``Data``, anything with an ``edge_index``, a tensor or a DGL graph; nodes of several types
          (``HeteroData``) are named by type and number, as ``"user:3"``;
        - a dict of columns, of the neighbors of each node, or of node-link data (``{"nodes": ..., "links": ...}``);
        - an iterable of (source, target) or (source, target, weight), or of dicts such as
          ``{"source": "ann", "target": "bob"}``.
    directed : bool, optional
        Whether (u, v) differs from (v, u). By default, graph objects keep their own setting, a matrix or an
        ``edge_index`` is undirected if it is symmetric, and a list of edges is undirected.
    weighted : bool, optional
        Whether to use weights; by default, if there are any. Edges without a weight get weight 1.
    source, target, weight : str or int, optional
        Columns of a table, by name or number; for graphs with attributes, `weight` is the name of an edge
        attribute. By default, columns named like "source", "target" and "weight", or the first two of two or three;
        more columns without such names are an error that lists them, and so are columns named by numbers, as in a
        pivot table. A warning names columns of numbers that are ignored.
    nodes : iterable of names, optional
        Further nodes, which may have no edge. They come before the nodes of a list of edges, and after those of a
        graph.
    names : iterable of names, optional
        Names of the rows of an adjacency matrix, in their order.
    drop_self_loops : bool
        Whether to drop edges from a node to itself.
    bipartite : bool, optional
        Whether the two columns have two kinds of nodes, such as users and items: then the name of a node begins with
        that of its column, as in ``"user:7"`` and ``"item:7"``; without names of columns, ``"source:7"`` and
        ``"target:7"``.
        A matrix may have any shape then: names begin with ``"row:"`` and ``"column:"``, or with the names that a frame
        has for its index and its columns, and missing values are no edges. By default, names that are in both columns
        are the same node, with a warning if columns are named like two kinds and have common integers; False means
        that there is only one kind.
    count_duplicates : bool
        Whether the weight of an edge is how often it is listed, in a list of edges or a multigraph; weights are not
        read then. Otherwise, an edge without a weight that is listed several times is one edge.
    **reading
        Further options of :func:`efge.read_graph`, such as `decimal`, if `x` is the path of a file.

    Returns
    -------
    Graph

    Raises
    ------
    GraphError
        If the type of `x` is unknown, or the graph is not valid.

    Examples
    --------
    >>> as_graph([("ann", "bob"), ("bob", "cid"), ("cid", "bob")])
    Graph(3 nodes, 2 edges, undirected, unweighted, 0 isolated)
    >>> import numpy as np
    >>> as_graph(np.array([[0, 2], [1, 0]]))
    Graph(2 nodes, 2 edges, directed, weighted, 0 isolated)
    >>> as_graph(np.array([[0, 1], [1, 0]]), names=["ann", "bob"]).neighbors("ann")
    ['bob']
    >>> as_graph([(1, 1), (1, 2)], bipartite=True).names.tolist()
    ['source:1', 'target:1', 'target:2']
    >>> as_graph([("ann", "bob"), ("ann", "bob"), ("bob", "cid")], count_duplicates=True).weights.tolist()
    [2.0, 2.0, 1.0, 1.0]
    """
    is_file = isinstance(x, (str, os.PathLike))
    known = [option.name for option in fields(ReadOptions) if option.name != "record"]
    for name in reading:
        if name not in known:
            raise TypeError(f"as_graph has no option {name!r}; known: {', '.join(known)}{did_you_mean(name, known)}")
        if not is_file:
            raise TypeError(f"{name} is an option for files, see efge.read_graph; got {type_name(x)}")
    if is_file:
        _refuse_missing_word(x)
        return read_graph(
            x,
            directed=directed,
            weighted=weighted,
            source=source,
            target=target,
            weight=weight,
            nodes=nodes,
            names=names,
            drop_self_loops=drop_self_loops,
            bipartite=bipartite,
            count_duplicates=count_duplicates,
            **reading,
        )
    check_types(directed=directed, weighted=weighted, drop_self_loops=drop_self_loops, bipartite=bipartite)
    check_types(source=source, target=target, weight=weight, count_duplicates=count_duplicates)
    options = ConversionOptions(
        directed,
        Columns(source, target, weight, weighted),
        nodes,
        drop_self_loops,
        names,
        bipartite=bipartite,
        count_duplicates=count_duplicates,
    )
    graph = graph_from_object(x, options.resolved())
    missing = None if graph is x else describe_missing(graph)
    if missing is not None:
        warn_user(missing)
    return graph


def _refuse_missing_word(path: str | os.PathLike[str]) -> None:
    """Raise a GraphError if no file has this name, which is a single word, and so may be that of a data set."""
    if isinstance(path, str) and path.isalnum() and not Path(path).exists():
        raise GraphError(f"{path}: no such file; if it is a data set, pass efge.load_dataset({path!r})")


def as_graph_like(x: Any, known: Names) -> Graph:
    r"""Convert a graph in any form to one whose nodes may be among known ones; names in a file get their types.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "edges.txt")
    >>> _ = path.write_text("1 2\n2 ann\n")
    >>> as_graph(path).names.tolist(), as_graph_like(path, as_graph([(1, 2)]).names).names.tolist()
    (['1', '2', 'ann'], [1, 2, 'ann'])
    """
    graph = as_graph(x)
    return match_node_types(graph, known) if isinstance(x, (str, os.PathLike)) else graph


def match_node_types(graph: Graph, known: Names) -> Graph:
    """Return a graph that was read from a file, its names with the types that known ones have."""
    names = match_types(graph.names, known)
    if names is graph.names:
        return graph
    return Graph._from_valid(graph.indptr, graph.indices, graph.weights, names, graph.directed)


def as_graph_with_edges(x: Any) -> Graph:
    """Convert a graph in any form to one that a model can learn from; nodes without edges alone teach it nothing.

    Examples
    --------
    >>> as_graph_with_edges([("ann", "bob")])
    Graph(2 nodes, 1 edges, undirected, unweighted, 0 isolated)
    >>> as_graph_with_edges([])
    Traceback (most recent call last):
    efge.errors.GraphError: there is nothing to learn from a graph without edges; got Graph(0 nodes, 0 edges, ...)
    """
    graph = as_graph(x)
    if not len(graph.indices):
        raise GraphError(f"there is nothing to learn from a graph without edges; got {graph!r}")
    return graph
