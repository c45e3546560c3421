"""What a graph looks like: bipartite or not, the range of its weights, and names that may be mistakes."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable

import numpy as np

from efge.errors import warn_user
from efge.graph.bipartite import two_sides
from efge.graph.conversion import ReadingRecord
from efge.graph.graph import Graph
from efge.graph.names import all_integers

# Comparing the names of a graph of up to this many nodes takes no noticeable time.
MAX_COMPARED = 100_000
# Number of names that are looked at for quotes.
_MAX_QUOTED = 1000
# Number of similar names that a warning lists.
_MAX_LISTED = 3
# Numbers, which may be written as no integer is; and what programs write for a missing value. NA may also be Namibia.
_DECIMAL = re.compile(r"-?[0-9]{1,15}(\.[0-9]{0,15})?([eE]\+?[0-9]{1,2})?", re.ASCII)
_MISSING = ("", "nan", "NaN", "None", "<NA>", "NaT", "null", "NULL", "N/A", "#N/A", "NA")


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


def describe_numbers(names: Iterable[Hashable]) -> str | None:
    """Say which names are the same integer, written in different ways; None if there are none.

    Examples
    --------
    >>> describe_numbers(["1.0", "2", "1", "1e5"])
    "'1.0' and '1' are the same number, but different nodes; write the names in one way in the file"
    >>> describe_numbers(["7", "007", "00", "08"])
    "'007' and '7' are the same number, but different nodes; write the names in one way in the file"
    """
    texts = [name for name in names if isinstance(name, str) and _DECIMAL.fullmatch(name)]
    # The shortest integer is the one without leading zeros.
    integers = sorted((text for text in texts if text.lstrip("-").isdecimal()), key=len, reverse=True)
    written = {float(text): text for text in integers}
    twins = [(text, written[float(text)]) for text in texts if written.get(float(text), text) != text]
    if not twins:
        return None
    more = f", and so are {len(twins) - 1:,} other pairs" if len(twins) > 1 else ""
    first, second = twins[0]
    what = f"{first!r} and {second!r} are the same number, but different nodes{more}"
    return f"{what}; write the names in one way in the file"


def describe_quotes(names: list[Hashable]) -> str | None:
    """Say that all names are in quotes, which white space between fields does not take away; None if they are not.

    Examples
    --------
    >>> print(describe_quotes(['"ann"', '"bob"']))
    names such as '"ann"' are in quotes; write the file with commas or tabs between fields, or without quotes
    """
    if not all(isinstance(name, str) and len(name) > 2 and name[0] == name[-1] == '"' for name in names) or not names:
        return None
    how = "write the file with commas or tabs between fields, or without quotes"
    return f"names such as {names[0]!r} are in quotes; {how}"


def describe_missing(graph: Graph) -> str | None:
    """Say which name may stand for a missing value; None if there is no such name.

    Examples
    --------
    >>> import efge, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     graph = efge.as_graph([("ann", "NA"), ("bob", "NaT"), ("cid", "NaT")])
    >>> describe_missing(graph)
    "the node 'NaT' has 2 edges and may be a missing value; if it is one, leave these edges out"
    """
    names = set() if graph.names.dtype != object else set(graph.names.tolist())
    name = next((name for name in _MISSING if name in names), None)
    if name is None or (name == "NA" and all(isinstance(code, str) and len(code) == 2 for code in names)):
        return None
    row = int(graph.rows([name])[0])
    degree = int(np.count_nonzero(graph.indices == row)) + int(graph.degrees[row]) * graph.directed
    edges, these = ("edge", "this edge") if degree == 1 else ("edges", "these edges")
    return f"the node {name!r} has {degree:,} {edges} and may be a missing value; if it is one, leave {these} out"


def describe_names(graph: Graph, record: ReadingRecord, limit: int | None = None) -> list[str]:
    """Return what looks like a mistake in the names.

    Names of graphs on disk are not compared, nor those of graphs with more nodes than the limit.
    """
    texts = [describe_header(graph, record)]
    if graph._file is None and (limit is None or graph.n_nodes <= limit):
        groups = similar_names(graph)
        texts += [describe_missing(graph), describe_similar(groups) if groups else None]
        texts += [describe_quotes(graph.names[:_MAX_QUOTED].tolist()) if graph.names.dtype == object else None]
        texts += [describe_numbers(graph.names.tolist()) if graph.names.dtype == object else None]
    return [text for text in texts if text is not None]


def warn_about_names(label: str, graph: Graph, record: ReadingRecord) -> None:
    """Warn if names look like mistakes, where looking takes no noticeable time."""
    for text in describe_names(graph, record, MAX_COMPARED):
        warn_user(f"{label}: {text}")


def describe_header(graph: Graph, record: ReadingRecord) -> str | None:
    """Say that the first line looks like column names that were read as nodes; None if it does not.

    Examples
    --------
    >>> import efge
    >>> graph = efge.as_graph([("person", "friend"), ("ann", "bob")])
    >>> describe_header(graph, ReadingRecord(guesses={"header": "no"}))
    "'person' and 'friend' occur only in the first line; if it names the columns, pass header=True (--header)"
    """
    # The degrees of all nodes of a graph on disk may be larger than memory, and its edges take long to be counted.
    has_one_edge = graph.n_nodes > 2 and graph.indptr[1:3].tolist() == [1, 2 - graph.directed]
    if record.guesses.get("header") != "no" or not has_one_edge or int(graph.indices[0]) != 1:
        return None
    first, second = graph._stored_names[:2].tolist()
    has_integer = not isinstance(first, str) or all_integers([first]) or all_integers([second])
    if has_integer or (graph.directed and np.count_nonzero(graph.indices < 2) > 1):
        return None
    advice = "if it names the columns, pass header=True (--header)"
    return f"{first!r} and {second!r} occur only in the first line; {advice}"
