"""Classes of nodes, from a file, mapping, data frame or array, matched with the rows of an embedding."""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.embedding.embedding import Embedding
from efge.errors import EvaluationError, GraphError, check_types, warn_user
from efge.graph.names import Names, match_types, name_array, normalize_name, parse_names
from efge.graph.text_tables import Table, read_table

NamedLabels = dict[Hashable, tuple[Hashable, ...]]
NamedClasses = Iterable[tuple[Hashable, tuple[Hashable, ...]]]

# Names of the columns of nodes and of classes.
_NODE_NAMES = ("node", "id", "name", "nodes", "node_id", "nodeid")
_LABEL_NAMES = ("label", "class", "group", "community", "labels", "cluster")
# Number of names that a note lists.
_MAX_LISTED = 3


class Targets(NamedTuple):
    """The labelled rows of an embedding and their classes."""

    rows: npt.NDArray[np.int64]  # int64[n], labelled rows of the embedding, ascending
    members: npt.NDArray[np.bool_]  # bool[n, classes], which classes each row has
    classes: list[Hashable]  # names of the columns of `members`
    without_label: int  # number of rows without a class
    without_vector: list[Hashable]  # labelled names that the embedding does not have

    @property
    def is_multilabel(self) -> bool:
        """Whether any node has more than one class."""
        return bool((self.members.sum(axis=1) > 1).any())


def read_labels(
    path: str | os.PathLike[str],
    encoding: str = "utf-8",
    *,
    node: str | int | None = None,
    label: str | int | None = None,
) -> dict[Hashable, tuple[Hashable, ...]]:
    r"""Read the classes of nodes from a table.

    Each line has a node and one of its classes; a node with several classes has several lines.

    Parameters
    ----------
    path : path, or "-" for standard input
        Tabs, commas, semicolons or white space separate the fields, which may be quoted. Compressed files are
        decompressed. A first line such as ``node,label`` is a header. Lines that begin with # or % are comments. A
        Parquet file has columns of nodes and classes.
    encoding : str
        Encoding of the text.
    node, label : str or int, optional
        Columns of nodes and of classes, by name or by number from 0; by default, columns with such names, or the only
        two. A column that is given by name makes the first line a header.

    Returns
    -------
    dict
        The classes of each node. Names are integers if all names in the file are integers; the same holds for classes.
        A node without a class is left out.

    Raises
    ------
    EvaluationError
        If the file cannot be read, or its columns are not clear; the message gives the file, the line and the columns.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "labels.csv")
    >>> _ = path.write_text('name,since,risk\n"Acme, Inc.",1990,high\nBolt,2001,low\n')
    >>> read_labels(path, node="name", label="risk")
    {'Acme, Inc.': ('high',), 'Bolt': ('low',)}
    """
    check_types(path=path, encoding=encoding, node=node, label=label)
    try:
        table = read_table(path, encoding)
        first, second, table = _choose_columns(table, node, label)
        table.check_widths("a line has a node and its class")
    except GraphError as error:
        raise EvaluationError(str(error)) from None
    pairs = [(row[first], row[second]) for row in table.rows]
    for number, (name, _) in enumerate(pairs):
        if name is None or name == "":
            raise EvaluationError(f"{table.place(number)}: a node name is not empty")
    pairs = [(name, value) for name, value in pairs if value is not None and value != ""]
    by_node: dict[Hashable, dict[Hashable, None]] = {}
    for name, value in zip(*(_parse_values(column) for column in zip(*pairs, strict=True)), strict=True):
        by_node.setdefault(name, {})[value] = None
    return {name: tuple(values) for name, values in by_node.items()}


def read_matching_labels(path: str | os.PathLike[str], known: Names, **options: Any) -> NamedLabels:
    r"""Read the classes of nodes as :func:`read_labels` does; names of nodes get the types that known ones have.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "labels.txt")
    >>> _ = path.write_text("1 red\nann blue\n")
    >>> read_matching_labels(path, Embedding([[0.0], [1.0]], [1, 2]).names)
    {1: ('red',), 'ann': ('blue',)}
    """
    found = read_labels(path, **options)
    _warn_if_edges(path, found, known)
    return dict(zip(match_types(name_array(found), known).tolist(), found.values(), strict=True))


def _warn_if_edges(path: str | os.PathLike[str], labels: NamedLabels, known: Names) -> None:
    """Warn if there are many classes for so few nodes, and most have the names of nodes."""
    classes = {str(label) for found in labels.values() for label in found}
    shared = classes.intersection(map(str, known.tolist())) if 4 * len(classes) > len(labels) else set()
    if len(classes) > 2 and 2 * len(shared) > len(classes):
        what = f"{len(shared):,} of {len(classes):,} classes are names of nodes"
        warn_user(f"{path}: this looks like a list of edges, not of nodes and their classes: {what}")


def _parse_values(values: Sequence[Any]) -> list[Any]:
    """Return texts as integers if all are; values of other types stay as they are."""
    if all(isinstance(value, str) for value in values):
        return list(parse_names(values).tolist())
    return [normalize_name(value) for value in values]


def _choose_columns(table: Table, node: str | int | None, label: str | int | None) -> tuple[int, int, Table]:
    """Return the columns of nodes and classes, and the table without its header."""
    by_name = any(isinstance(column, str) and not column.isdecimal() for column in (node, label))
    lower = [str(field).lower() for field in (table.names or (table.rows[0] if table.rows else []))]
    known = [next((names for names in options if names in lower), None) for options in (_NODE_NAMES, _LABEL_NAMES)]
    if by_name or known != [None, None] or _names_ids(table) or _has_words_above_integers(table):
        table = table.with_header()
    if table.width == 1:
        raise GraphError(f"{table.label}: a line has a node and its class; got 1 field")
    first, second = (
        None if column is None else table.find(option, column) for option, column in (("node", node), ("label", label))
    )
    if table.names and first is None and known[0] is not None:
        first = lower.index(known[0])
    if table.names and second is None and known[1] is not None:
        second = lower.index(known[1])
    if table.width == 2:
        first = 1 - second if first is None and second is not None else first or 0
        second = 1 - first
    if first is None or second is None or first == second:
        fields = [str(field) for field in (table.names or table.rows[0])][:20]
        rule = f"a table of labels has a node and its class; got {table.width} columns ({', '.join(fields)})"
        how = f"node={fields[0]!r}, label={fields[-1]!r} (--node {fields[0]} --label {fields[-1]})"
        raise GraphError(f"{table.label}: {rule}; choose two of them, as {how}")
    return first, second, table


def _names_ids(table: Table) -> bool:
    """Whether the first field is a word such as paper_id, userId or "User ID", which names a column of nodes."""
    first = str(table.rows[0][0]) if table.rows and not table.names else ""
    return len(table.rows) > 1 and re.fullmatch(r"\w*[a-z](_id|Id|ID|[ -](?i:id))", first) is not None


def _has_words_above_integers(table: Table) -> bool:
    """Whether a column has integers in every row but the first: then that row names the columns."""
    columns = zip(*table.rows, strict=False) if len(table.rows) > 1 and not table.names else ()
    return any(not _is_integer(first) and all(map(_is_integer, others)) for first, *others in columns)


def _is_integer(value: Any) -> bool:
    return str(value).strip().lstrip("-").isdigit()


def describe_missing(labels: Targets) -> str:
    """List some labelled names that the embedding does not have.

    Examples
    --------
    >>> describe_missing(as_targets({"person": "role", "a": 1}, Embedding([[1.0]], ["a"])))
    "'person'"
    """
    listed = ", ".join(repr(name) for name in labels.without_vector[:_MAX_LISTED])
    return listed + (", ..." if len(labels.without_vector) > _MAX_LISTED else "")


def as_targets(labels: Any, embedding: Embedding) -> Targets:
    """Match labels of any supported type with the rows of an embedding.

    Examples
    --------
    >>> targets = as_targets({"a": 1, "b": None, "z": 0}, Embedding([[1.0], [2.0]], ["a", "b"]))
    >>> targets.rows.tolist(), targets.classes, targets.without_label, targets.without_vector
    ([0], [1], 1, ['z'])
    """
    by_name = dict(_classes_by_name(labels, embedding))
    rows = embedding._index.rows(list(by_name))
    by_row = {int(row): classes for row, classes in zip(rows, by_name.values(), strict=True) if row >= 0 and classes}
    missing = [node for (node, classes), row in zip(by_name.items(), rows, strict=True) if row < 0 and classes]
    if not by_row:
        raise EvaluationError(f"no node of {embedding!r} has a label; {_explain_mismatch(missing, embedding)}")
    names = {name for classes in by_row.values() for name in classes}
    try:
        classes = sorted(names)  # type: ignore[type-var]
    except TypeError:
        classes = sorted(names, key=lambda name: (type(name).__name__, str(name)))
    columns = {name: column for column, name in enumerate(classes)}
    members = np.zeros((len(by_row), len(classes)), bool)
    labelled = np.array(sorted(by_row), np.int64)
    for i, row in enumerate(labelled.tolist()):
        members[i, [columns[name] for name in by_row[row]]] = True
    return Targets(labelled, members, classes, len(embedding) - len(by_row), missing)


def _explain_mismatch(missing: list[Hashable], embedding: Embedding) -> str:
    if not missing:
        return "there are no labels at all"
    return f"the labels have names such as {missing[0]!r}, the vectors such as {embedding.names.tolist()[0]!r}"


def _classes_by_name(labels: Any, embedding: Embedding) -> NamedClasses:
    """Yield each node with its classes."""
    if isinstance(labels, (str, os.PathLike)):
        return read_matching_labels(labels, embedding.names).items()
    if isinstance(labels, Mapping):
        return ((normalize_name(node), _as_classes(value)) for node, value in labels.items())
    if hasattr(labels, "columns") and hasattr(labels, "to_dict"):
        return _from_frame(labels)
    if hasattr(labels, "index") and hasattr(labels, "items"):
        return ((normalize_name(node), _as_classes(value)) for node, value in labels.items())
    return _from_rows(labels, embedding)


def _from_frame(frame: Any) -> NamedClasses:
    """Read a data frame with a column of nodes and one of classes: by their names, or the only two columns."""
    names = [str(column) for column in frame.columns]
    if len(names) < 2:
        raise EvaluationError(f"a data frame of labels has a column of nodes and one of classes; got {names}")
    try:
        first, second, _ = _choose_columns(Table("labels", names, [], []), None, None)
    except GraphError:
        rule = f"a data frame of labels has a column of nodes and one of classes; got {names}"
        raise EvaluationError(f"{rule}; pass two of them, as frame[[{names[0]!r}, {names[-1]!r}]]") from None
    nodes, classes = (frame[frame.columns[position]] for position in (first, second))
    by_name: dict[Hashable, tuple[Hashable, ...]] = {}
    for node, value in zip(nodes, classes, strict=True):
        name = normalize_name(node)
        by_name[name] = tuple(dict.fromkeys(by_name.get(name, ()) + _as_classes(value)))
    return by_name.items()


def _from_rows(labels: Any, embedding: Embedding) -> NamedClasses:
    """Read one entry for each row: a class, several classes, or a row of zeros and ones."""
    if not isinstance(labels, Iterable) and not hasattr(labels, "toarray"):
        raise EvaluationError(f"labels are a file, a mapping, a data frame, or one for each vector; got {labels!r}")
    rows = labels.toarray() if hasattr(labels, "toarray") else labels
    rows = rows.tolist() if hasattr(rows, "tolist") else list(rows)
    if len(rows) != len(embedding):
        raise EvaluationError(
            f"labels without names need one entry for each of the {len(embedding)} vectors; got {len(rows)}"
        )
    if (isinstance(labels, np.ndarray) and labels.ndim == 2) or hasattr(labels, "toarray"):
        rows = [[column for column, member in enumerate(row) if member] for row in rows]
    return zip(embedding.names.tolist(), map(_as_classes, rows), strict=True)


def _as_classes(value: Any) -> tuple[Hashable, ...]:
    """Return the classes that a label stands for: none, one, or several."""
    if isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        listed = sorted(value) if isinstance(value, (set, frozenset)) else list(value)
        return tuple(dict.fromkeys(normalize_name(name) for name in listed))
    # NaN, which data frames use for missing values, is not equal to itself.
    return () if value is None or value != value else (normalize_name(value),)
