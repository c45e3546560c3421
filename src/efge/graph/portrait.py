"""What a graph looks like: bipartite or not, the range of its weights, and names that may be mistakes."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from efge.graph.bipartite import two_sides
from efge.graph.conversion import ReadingRecord
from efge.graph.graph import Graph
from efge.graph.names import all_integers

# Number of similar names that a warning lists.
_MAX_LISTED = 3


def side_sizes(graph: Graph) -> tuple[int, int] | None:
    """Return the number of nodes with edges on each side of a bipartite graph; None if it is not, or has no edge."""
    sides = two_sides(graph) if graph.n_edges else None
    return None if sides is None else (int((sides == 0).sum()), int((sides == 1).sum()))


def similar_names(graph: Graph) -> list[list[Hashable]]:
    """Return groups of names that differ only by case or blanks, which are probably the same node.

    Examples
    --------
    >>> import efge
    >>> similar_names(efge.as_graph([("Ann", "bob"), ("ann", "cid"), ("cid", "bob ")]))
    [['Ann', 'ann'], ['bob', 'bob ']]
    """
    if graph.names.dtype != object:
        return []
    groups: dict[str, list[Hashable]] = {}
    for name in graph.names.tolist():
        if isinstance(name, str):
            groups.setdefault(" ".join(name.split()).casefold(), []).append(name)
    return [names for names in groups.values() if len(names) > 1]


def describe_similar(groups: list[list[Hashable]]) -> str:
    """Say which names differ only by case or blanks."""
    listed = "; ".join(" and ".join(map(repr, names[:_MAX_LISTED])) for names in groups[:_MAX_LISTED])
    more = f"; and {len(groups) - _MAX_LISTED:,} more groups" if len(groups) > _MAX_LISTED else ""
    advice = "if they are the same, write them in one way in the file"
    return f"names that differ only by case or blanks are different nodes: {listed}{more}; {advice}"


def describe_header(graph: Graph, record: ReadingRecord) -> str | None:
    """Say that the first line looks like column names that were read as nodes; None if it does not.

    Examples
    --------
    >>> import efge
    >>> graph = efge.as_graph([("person", "friend"), ("ann", "bob")])
    >>> describe_header(graph, ReadingRecord(guesses={"header": "no"}))
    "'person' and 'friend' occur only in the first line; if it names the columns, pass header=True (--header)"
    """
    isolated_edge = graph.n_nodes > 2 and graph.n_edges and graph.degrees[:2].tolist() == [1, 1 - graph.directed]
    if record.guesses.get("header") != "no" or not isolated_edge or int(graph.indices[0]) != 1:
        return None
    first, second = graph._stored_names[:2].tolist()
    has_integer = not isinstance(first, str) or all_integers([first]) or all_integers([second])
    if has_integer or (graph.directed and np.count_nonzero(graph.indices < 2) > 1):
        return None
    advice = "if it names the columns, pass header=True (--header)"
    return f"{first!r} and {second!r} occur only in the first line; {advice}"
