"""Tables and mappings -> Graph: data frames, lists of records, dicts of neighbors, node-link data.

A table is a list of edges, or an adjacency matrix whose rows have the names of its columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError
from efge.graph.columns import Head, names_weight, pair_by_name, warn_unread
from efge.graph.conversion import (
    ConversionOptions,
    as_weights,
    build_adjacency,
    from_biadjacency,
    from_columns,
    from_matrix,
    refuse_names,
)
from efge.graph.encoders import ObjectEncoder
from efge.graph.frame_matrices import (
    explain_biadjacency,
    find_numbered,
    has_text_index,
    is_biadjacency,
    read_biadjacency,
)
from efge.graph.graph import Graph
from efge.graph.kinds import name_matrix, refuse_bipartite
from efge.graph.names import normalize_name

# Keys of the edges in node-link data, and of the names of its nodes.
_LINKS, _NODE_NAMES = ("links", "edges"), ("name", "label", "key")

# Rows by which columns are proposed.
_SAMPLED_ROWS = 200


def from_frame(x: Any, options: ConversionOptions) -> Graph:
    """Convert a pandas or Polars data frame or an Arrow table: each row is an edge, or a row of a matrix."""
    names = list(x.schema.names if hasattr(x, "column_names") else x.columns)
    if options.columns.source is None and pair_by_name(names) is None:
        if getattr(getattr(x, "index", None), "nlevels", 1) > 1:
            raise GraphError("the index of a table of edges has one level; for names in it, pass frame.reset_index()")
        matrix = None if options.bipartite else _adjacency_matrix(x, names, options)
        if matrix is not None:
            return from_matrix(matrix[0], replace(options, names=matrix[1]))
        if is_biadjacency(x, names, bool(options.bipartite)):
            return _from_biadjacency(x, names, options)
        _refuse_numbered(find_numbered(x, names))
    # Columns that are only numbered have no names.
    labels = [] if names == list(range(len(names))) else names
    choice = _choose(labels, _first_rows(x), len(names), options)
    weights = None if choice[2] is None else _column(x, names[choice[2]], choice[2])
    source, target = (_column(x, names[number], number) for number in choice[:2])
    return from_columns(source, target, weights, options)


def from_series(x: Any, options: ConversionOptions) -> Graph:
    """Convert a pandas Series whose index has the two ends of each edge; its values are the weights."""
    refuse_names(options)
    if x.index.nlevels != 2:
        raise GraphError(f"a Series of edges has an index of two levels, source and target; got {x.index.nlevels}")
    source, target = (np.asarray(x.index.get_level_values(level)) for level in (0, 1))
    names = tuple(x.index.names)
    options.record.columns = None if None in names else (names[0], names[1])
    return from_columns(source, target, None if options.weighted is False else x.to_numpy(), options)


def _refuse_numbered(name: Any) -> None:
    """Raise a GraphError if a column is named by a number, as if an edge had become the header."""
    if name is not None:
        how = "if this is an edge of a file without a header, pass header=None to pandas.read_csv"
        raise GraphError(
            f"a column is named by the number {name!r}; {how}, otherwise choose columns by source= and target="
        )


def holds_neighbors(x: Any) -> bool:
    """Whether the values of a Series are lists, and not edges as tuples."""
    values = x.tolist()
    are_edges = all(isinstance(value, tuple) for value in values) and not has_text_index(x)
    return not are_edges and all(
        isinstance(value, Iterable) and not isinstance(value, (str, bytes)) for value in values
    )


def from_neighbor_series(x: Any, options: ConversionOptions) -> Graph:
    """Convert a Series of the neighbors of each node in its index."""
    refuse_names(options)
    if not x.index.is_unique:
        raise GraphError(f"a node has one list of neighbors; {x.index[x.index.duplicated()][0]!r} has several")
    if not has_text_index(x) and set(map(len, x)) in ({2}, {3}):
        how = "pass series.to_dict() if they are neighbors of nodes in the index, or series.tolist() if edges"
        raise GraphError(f"the values of a Series, as {x.iloc[0]!r}, may be neighbors or edges; {how}")
    return from_mapping(x.to_dict(), options)


def _from_biadjacency(x: Any, names: list[Any], options: ConversionOptions) -> Graph:
    """Convert a table of numbers whose rows and columns are two kinds of nodes."""
    if not options.bipartite:
        raise GraphError(explain_biadjacency(x, names))
    table = read_biadjacency(x, names)
    ends = np.array(np.nonzero(np.nan_to_num(table.values)))
    weights = table.values[tuple(ends)]
    weighted = bool((weights != 1).any()) if options.weighted is None else options.weighted
    node_names = name_matrix(table.rows, table.columns, table.kinds)
    return from_biadjacency(ends, weights if weighted else None, node_names, len(table.rows), options)


def _choose(
    names: list[Any], rows: Sequence[Sequence[Any]], width: int, options: ConversionOptions
) -> tuple[int, int, int | None]:
    """Choose columns by their names and the first rows, point out numbers that are not read, and record the choice."""
    refuse_names(options)
    source, target, weight, unread = options.columns.choose(Head(names, rows[0] if rows else (), rows), width)
    warn_unread("", unread)
    options.record.columns = (names[source], names[target]) if names else None
    if options.columns.source is None and names:
        options.record.guesses["columns"] = f"{names[source]} and {names[target]}" + (
            "" if weight is None else f", weights in {names[weight]}"
        )
    return source, target, weight


def _adjacency_matrix(x: Any, names: list[Any], options: ConversionOptions) -> tuple[Any, Any] | None:
    """Return a table of numbers as a sparse matrix, and the names of its rows; None if the table lists edges."""
    from scipy.sparse import coo_array

    height = len(x)
    start = int(len(names) == height + 1 and not has_text_index(x))
    if height < 2 or len(names) - start != height:
        return None
    columns = [_column(x, name, number) for number, name in enumerate(names)]
    if not all(column.dtype.kind in "biuf" for column in columns[start:]):
        return None
    rows = columns[0].tolist() if start else list(getattr(x, "index", range(height)))
    row_names = [normalize_name(name) for name in rows]
    dense = np.column_stack([column.astype(np.float64) for column in columns[start:]])
    may_be_matrix = options.weight is None and not names_weight(names) and not dense.diagonal().any()
    if options.names is None and not _is_adjacency(row_names, names[start:], may_be_matrix):
        return None
    return coo_array(dense), row_names if options.names is None else options.names


def _is_adjacency(rows: list[Any], columns: list[Any], may_be_matrix: bool) -> bool:
    """Whether a square table of numbers is an adjacency matrix; raise a GraphError if it may be a list of edges.

    A table whose rows have no names looks like a matrix if it has zeros on the diagonal, which need no self-loops.
    """
    columns = [normalize_name(name) for name in columns]
    are_numbered = rows == list(range(len(rows)))
    if rows == columns and not (are_numbered and len(rows) <= 3):
        return True
    if not are_numbered and sorted(map(str, rows)) == sorted(map(str, columns)):
        raise GraphError("the rows of an adjacency matrix are in the order of its columns; reorder this table")
    if may_be_matrix and are_numbered and (rows == columns or len(rows) >= 3):
        what = f"a table of {len(rows)} x {len(rows)} numbers may be an adjacency matrix or a list of edges"
        how = "pass names= with a name for each row if it is a matrix, or source= and target= if it is a list"
        raise GraphError(f"{what}; {how}")
    return False


def _first_rows(x: Any) -> list[Sequence[Any]]:
    if hasattr(x, "iloc"):
        columns = [x.iloc[:_SAMPLED_ROWS, number] for number in range(x.shape[1])]
    elif hasattr(x, "row"):
        return list(x.head(_SAMPLED_ROWS).rows())
    else:
        columns = [column.slice(0, _SAMPLED_ROWS).to_pylist() for column in x.columns]
    return list(zip(*columns, strict=True))


def _column(x: Any, name: Any, number: int) -> npt.NDArray[Any]:
    if hasattr(x, "iloc"):
        values = x.iloc[:, number]
        is_missing, array = values.isna().to_numpy(), values.to_numpy()
    elif hasattr(x, "to_series"):
        values = x.to_series(number)
        is_missing, array = values.is_null().to_numpy(), values.to_numpy()
    else:
        values = x.column(number)
        is_missing, array = np.asarray(values.is_null()), _arrow_values(values, name)
    if is_missing.any():
        hint = "; pandas reads NA and null as missing values, unless you pass keep_default_na=False"
        place = f"column {name!r}, row {int(np.argmax(is_missing))}"
        raise GraphError(f"{place}: a value is missing{hint if hasattr(x, 'iloc') else ''}")
    if array.dtype == object and len(array) and isinstance(array[0], (list, set, np.ndarray)):
        raise GraphError(
            f"column {name!r} has lists, not names; pass frame.explode({name!r}) for an edge to each of them"
        )
    return np.asarray(array)


def _arrow_values(values: Any, name: Any) -> npt.NDArray[Any]:
    """Return the values of an Arrow column; rows with the same dictionary entry share one object."""
    if hasattr(values.type, "index_type"):
        chunks = [np.array(chunk.dictionary.to_pylist(), object)[chunk.indices.fill_null(0)] for chunk in values.chunks]
        return np.concatenate([np.empty(0, object), *chunks])
    if values.type.num_fields:
        raise GraphError(f"column {name!r}: a node name is hashable and a weight is a number; got {values.type}")
    return np.asarray(values)


def from_records(rows: Sequence[Any], options: ConversionOptions) -> Graph:
    """Convert records with the same keys, such as {"source": "ann", "target": "bob"}: each is an edge."""
    keys = list(rows[0])
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping) or row.keys() != rows[0].keys():
            got = list(row) if isinstance(row, Mapping) else row
            raise GraphError(f"edge {number}: all edges have the keys {keys}; got {got!r}")
    return _from_lists({key: [row[key] for row in rows] for key in keys}, options)


def _from_lists(columns: Mapping[Any, Sequence[Any]], options: ConversionOptions) -> Graph:
    """Convert columns of the same length, by their names."""
    names, lists = list(columns), [list(values) for values in columns.values()]
    if len(set(map(len, lists))) > 1:
        raise GraphError(f"columns have the same length; got {', '.join(f'{k}: {len(columns[k])}' for k in columns)}")
    rows = list(zip(*(values[:_SAMPLED_ROWS] for values in lists), strict=True))
    source, target, weight = _choose(names, rows, len(names), options)
    weights = None if weight is None else _as_objects(lists[weight])
    return from_columns(_as_objects(lists[source]), _as_objects(lists[target]), weights, options)


def _as_objects(values: list[Any]) -> npt.NDArray[Any]:
    array = np.empty(len(values), object)
    array[:] = values
    return array


def from_mapping(x: Mapping[Any, Any], options: ConversionOptions) -> Graph:
    """Convert node-link data, columns, or the neighbors of each node, possibly with weights."""
    links = next((key for key in _LINKS if isinstance(x.get(key), (list, tuple))), None)
    if links is not None and isinstance(x.get("nodes"), (list, tuple)):
        return _from_node_link(x, links, options)
    refuse_names(options)
    values = list(x.values())
    if all(isinstance(value, Mapping) for value in values):
        numbers = [str(number) for number in range(len(values[0]))] if values else []
        if pair_by_name(list(x)) is not None and all(list(map(str, value)) == numbers for value in values):
            # Columns by row numbers, as pandas writes them as JSON.
            return _from_lists({name: list(column.values()) for name, column in x.items()}, options)
        return _from_neighbors({node: list(value.items()) for node, value in x.items()}, options)
    if not all(isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping)) for value in values):
        kinds = "columns {'source': [...], 'target': [...]}, neighbors {node: [...]}, or {node: {neighbor: weight}}"
        raise GraphError(f"a dict is {kinds}; got the keys {list(x)[:5]!r}")
    lists = {node: list(value) for node, value in x.items()}
    if options.columns.source is not None or pair_by_name(list(x)) is not None:
        return _from_lists(lists, options)
    if _may_be_columns(lists):
        names = list(lists)[:2]
        how = f"pass source={names[0]!r} and target={names[1]!r} for columns, or pairs of nodes for edges"
        raise GraphError(f"the keys {list(lists)!r} may be columns, or nodes with their neighbors; {how}")
    return _from_neighbors({node: [(name, None) for name in names] for node, names in lists.items()}, options)


def _may_be_columns(lists: Mapping[Any, list[Any]]) -> bool:
    """Whether two or three lists of one length name none of their keys, and so need not be neighbors."""
    lengths = set(map(len, lists.values()))
    if len(lists) not in (2, 3) or len(lengths) > 1 or lengths <= {0, 1}:
        return False
    return not any(key in values for key in lists for values in lists.values())


def _from_neighbors(neighbors: Mapping[Any, list[tuple[Any, Any]]], options: ConversionOptions) -> Graph:
    """Convert the neighbors of each node, with None, a weight or a dict of attributes for each."""
    refuse_bipartite(options.bipartite)
    encoder = ObjectEncoder()
    encoder.encode([*(options.nodes or []), *neighbors])
    edges = [(node, other, value) for node, listed in neighbors.items() for other, value in listed]
    rows = encoder.encode([name for edge in edges for name in edge[:2]]).reshape(-1, 2)
    key = "weight" if options.weight is None else options.weight
    weights = [value.get(key) if isinstance(value, Mapping) else value for *_, value in edges]
    weighted = any(weight is not None for weight in weights) if options.weighted is None else options.weighted
    values = None
    if weighted:
        filled = [1 if weight is None else weight for weight in weights]
        values = as_weights(filled, lambda i: f"edge {edges[i][:2]}")
    options.record.rows = len(edges)
    return build_adjacency(rows, values, encoder.names(), options)


def _from_node_link(x: Mapping[str, Any], links: str, options: ConversionOptions) -> Graph:
    """Convert the data that D3 and NetworkX exchange; nodes without an id are named by a text, and linked by number."""
    refuse_bipartite(options.bipartite)
    names = [node.get("id", None) if isinstance(node, Mapping) else node for node in x["nodes"]]
    edges = [dict(edge) if isinstance(edge, Mapping) else {"source": edge[0], "target": edge[1]} for edge in x[links]]
    if names and all(name is None for name in names):
        names = _numbered_names(x["nodes"])
        for number, edge in enumerate(edges):
            for end in ("source", "target"):
                position = edge.get(end)
                if not (isinstance(position, int) and 0 <= position < len(names)):
                    raise GraphError(f"edge {number}: nodes without an id are numbered from 0; got {position!r}")
                edge[end] = names[position]
    directed = bool(x.get("directed", False)) if options.directed is None else options.directed
    options = replace(options, directed=directed, nodes=[*names, *(options.nodes or [])])
    shared = [key for key in (edges[0] if edges else ()) if all(key in edge for edge in edges)]
    if not edges:
        return _from_neighbors({}, options)
    return from_records([{key: edge[key] for key in shared} for edge in edges], options)


def _numbered_names(nodes: Sequence[Any]) -> list[Any]:
    """Return distinct names of nodes that have no id, or their numbers."""
    for key in _NODE_NAMES:
        names = [node.get(key) for node in nodes]
        if all(isinstance(name, (str, int)) for name in names) and len(set(names)) == len(names):
            return names
    return list(range(len(nodes)))
