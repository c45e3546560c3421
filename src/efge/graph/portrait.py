"""What a graph looks like: bipartite or not, the range of its weights, and names that may be mistakes."""

from __future__ import annotations

from collections.abc import Hashable

from efge.graph.bipartite import two_sides
from efge.graph.graph import Graph

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
