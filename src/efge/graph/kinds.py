"""Two kinds of nodes, such as users and items, in the two columns of a list of edges.

Their names may overlap: user 7 is not item 7. With ``bipartite=True``, the name of a node begins with that of its
column, as "user:7" and "item:7". Without it, names that are in both columns are the same node, and a warning says so if
the columns are named like two different kinds.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError, warn_user
from efge.graph.encoders import Rows
from efge.graph.names import Names, name_array

# The kinds of columns that have no names, and those of the rows and columns of a matrix.
COLUMN_KINDS, MATRIX_KINDS = ("source", "target"), ("row", "column")
# Words of a column's name that say nothing about the kind of its nodes.
_NO_KIND = {"id", "ids", "name", "key", "no", "nr", "num", "number", "index", "idx", "code", "node", "vertex", "entity"}
# Words for the two roles that nodes of one kind have in an edge.
_ROLES = frozenset({
    "source", "target", "src", "dst", "dest", "from", "to", "head", "tail", "subject", "object", "first", "second",
    "start", "end", "begin", "finish", "origin", "destination", "left", "right", "in", "out", "outgoing", "incoming",
    "parent", "child", "ancestor", "descendant", "citing", "cited", "follower", "followee", "following", "followed",
    "friend", "sender", "receiver", "recipient", "caller", "callee", "giver", "taker", "donor", "buyer", "seller",
    "payer", "payee", "debtor", "creditor", "lender", "borrower", "employer", "employee", "manager", "boss", "mentor",
    "mentee", "teacher", "student", "predator", "prey", "winner", "loser", "exporter", "importer", "supplier", "query",
    "hit", "match", "neighbor", "neighbour", "partner", "other", "ego", "alter",
})  # fmt: skip
# Words for what is often a node.
_THINGS = frozenset({
    "node", "vertex", "entity", "user", "person", "member", "author", "coauthor", "actor", "character", "gene",
    "protein", "paper", "page", "city", "station", "airport", "account", "company",
})  # fmt: skip
# Whether a further node is a user or an item cannot be told from its name.
NO_FURTHER_NODES = "nodes= (--nodes) and bipartite=True (--bipartite) do not go together; leave out one of them"
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def separate_kinds(ends: Rows, names: Names, columns: Sequence[Any] | None) -> tuple[Rows, Names]:
    """Make the names of two columns different nodes, in the order of their first appearance.

    Examples
    --------
    >>> ends, names = separate_kinds(np.array([[0, 1], [1, 1]], np.int32), name_array([7, 8]), ("user", "item"))
    >>> ends.tolist(), names.tolist()
    ([[0, 1], [2, 1]], ['user:7', 'item:8', 'user:8'])
    """
    codes = ends.astype(np.int64) * 2 + np.arange(2)
    distinct, first, inverse = np.unique(codes.ravel(), return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    kinds = columns or COLUMN_KINDS
    texts = [f"{kinds[code % 2]}:{names[code // 2]}" for code in distinct[order].tolist()]
    return rank[inverse].reshape(-1, 2), name_array(texts)


def warn_if_merged(ends: Rows, names: Names, columns: Sequence[Any] | None) -> None:
    """Warn if two columns are named like two kinds of nodes, but share integers as names."""
    if columns is None or names.dtype == object or not _are_two_kinds(*map(str, columns)):
        return
    shared = names[np.intersect1d(ends[:, 0], ends[:, 1])]
    if not len(shared):
        return
    first, second = columns
    example = f"{first} {shared[0]} and {second} {shared[0]}"
    warn_user(
        f"{len(shared):,} names are in both columns, {first!r} and {second!r}, and became one node each, as {example};"
        " if these are different kinds of nodes, pass bipartite=True (--bipartite) to keep them apart as"
        f" '{first}:{shared[0]}' and '{second}:{shared[0]}', otherwise bipartite=False (--one-kind), to efge.as_graph",
    )


def _are_two_kinds(first: str, second: str) -> bool:
    """Whether the names of two columns are of different things, as in user_id and movieId, and not of two roles.

    Examples
    --------
    >>> _are_two_kinds("user_id", "movieId"), _are_two_kinds("source", "target"), _are_two_kinds("id1", "id2")
    (True, False, False)
    >>> _are_two_kinds("proteinA", "proteinB"), _are_two_kinds("follower_id", "user_id")
    (False, False)
    """
    kinds = [{word.lower() for word in _WORD.findall(name)} - _NO_KIND for name in (first, second)]
    kinds = [{word for word in words if len(word) > 1} for words in kinds]
    return all(kinds) and not kinds[0] & kinds[1] and not (kinds[0] | kinds[1]) & _ROLES


def are_column_names(first: str, second: str) -> bool:
    """Whether two texts are made of words for columns of nodes, with no more than a letter or digit beside them.

    Examples
    --------
    >>> are_column_names("person_a", "person_b"), are_column_names("Sender", "Receiver"), are_column_names("ann", "bob")
    (True, True, False)
    """
    return first != second and all(map(_names_column, (first, second)))


def _names_column(text: str) -> bool:
    words = {word.lower() for word in _WORD.findall(text) if len(word) > 1}
    return (
        re.fullmatch(r"[A-Za-z]+([ _-]?[A-Za-z]+)*[ _-]?\d?", text, re.ASCII) is not None
        and words <= _THINGS | _ROLES | _NO_KIND
        and not words.isdisjoint(_THINGS | _ROLES)
    )


def resolve_kinds(
    ends: Rows, names: Names, columns: Sequence[Any] | None, bipartite: bool | None
) -> tuple[Rows, Names]:
    """Keep the names of two columns apart if that is asked for; point out names that are shared if nothing is."""
    if bipartite:
        return separate_kinds(ends, names, columns)
    if bipartite is None:
        warn_if_merged(ends, names, columns)
    return ends, names


def refuse_bipartite(bipartite: bool | None) -> None:
    """Raise a GraphError if the names of columns are to be kept apart, but there are no columns."""
    if bipartite:
        raise GraphError(
            "bipartite=True (--bipartite) keeps apart the names of two columns, or of rows and columns of a matrix;"
            " this graph names its nodes itself, so leave it out"
        )


def name_matrix(
    rows: Sequence[Hashable], columns: Sequence[Hashable], kinds: Sequence[Any] = MATRIX_KINDS
) -> npt.NDArray[Any]:
    """Return the names of a matrix's rows and columns, which are different nodes.

    Examples
    --------
    >>> name_matrix(["ann", "bob"], ["tea"], ("user", "item")).tolist()
    ['user:ann', 'user:bob', 'item:tea']
    """
    return name_array([f"{kinds[0]}:{name}" for name in rows] + [f"{kinds[1]}:{name}" for name in columns])
