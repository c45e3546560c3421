"""Classes of nodes, from a file, mapping, data frame or array, matched with the rows of an embedding."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.embedding.embedding import Embedding
from efge.errors import EvaluationError, GraphError
from efge.graph.names import normalize_name, parse_names
from efge.io.files import display_name, open_input, recode_to_utf8

NamedClasses = Iterable[tuple[Hashable, tuple[Hashable, ...]]]

_HEADERS = {
    ("node", "label"),
    ("node", "class"),
    ("id", "label"),
    ("id", "class"),
    ("name", "label"),
    ("node", "group"),
    ("node", "community"),
}


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


def read_labels(path: str | os.PathLike[str], encoding: str = "utf-8") -> dict[Hashable, tuple[Hashable, ...]]:
    r"""Read the classes of nodes from a text file.

    Each line has a node and one of its classes; a node with several classes has several lines.

    Parameters
    ----------
    path : path, or "-" for standard input
        Tabs, commas, semicolons or white space separate the fields. Compressed files are decompressed. A first line
        such as ``node,label`` is a header. Lines that begin with # or % are comments.
    encoding : str
        Encoding of the text.

    Returns
    -------
    dict
        The classes of each node. Names are integers if all names in the file are integers; the same holds for classes.

    Raises
    ------
    EvaluationError
        If the file cannot be read, or a line does not have two fields; the message gives the file and the line.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "labels.tsv")
    >>> _ = path.write_text("ann\tchess\nbob\tgo\nbob\tchess\n")
    >>> read_labels(path)
    {'ann': ('chess',), 'bob': ('go', 'chess')}
    """
    label = display_name(path)
    try:
        with open_input(path) as stream:
            pairs = _parse_pairs(recode_to_utf8(stream, encoding, label).read(), label)
    except GraphError as error:
        raise EvaluationError(str(error)) from None
    nodes, classes = (parse_names(column).tolist() for column in (zip(*pairs, strict=True) if pairs else ((), ())))
    by_node: dict[Hashable, dict[Hashable, None]] = {}
    for node, name in zip(nodes, classes, strict=True):
        by_node.setdefault(node, {})[name] = None
    return {node: tuple(names) for node, names in by_node.items()}


def _parse_pairs(data: bytes, label: str) -> list[tuple[str, str]]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = f"{label}, line {data[: error.start].count(10) + 1}"
        raise EvaluationError(f"{where}: the text is not valid UTF-8; pass its encoding, such as 'latin-1'") from None
    pairs: list[tuple[str, str]] = []
    header_allowed = True
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith(("#", "%")):
            continue
        separator = next((character for character in "\t,;" if character in line), None)
        fields = [field.strip().strip('"') for field in line.split(separator)]
        if len(fields) != 2 or not all(fields):
            raise EvaluationError(f"{label}, line {number}: a line has a node and its class; got {len(fields)} fields")
        is_header = header_allowed and (fields[0].lower(), fields[1].lower()) in _HEADERS
        header_allowed = False
        if not is_header:
            pairs.append((fields[0], fields[1]))
    return pairs


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
        return read_labels(labels).items()
    if isinstance(labels, Mapping):
        return ((normalize_name(node), _as_classes(value)) for node, value in labels.items())
    if hasattr(labels, "columns") and hasattr(labels, "to_dict"):
        return _from_frame(labels)
    if hasattr(labels, "index") and hasattr(labels, "items"):
        return ((normalize_name(node), _as_classes(value)) for node, value in labels.items())
    return _from_rows(labels, embedding)


def _from_frame(frame: Any) -> NamedClasses:
    """Read a data frame with a column of nodes and one of classes: by their names, or the first two columns."""
    columns = [str(column).lower() for column in frame.columns]
    if len(columns) < 2:
        raise EvaluationError(f"a data frame of labels has a column of nodes and one of classes; got {columns}")
    positions = next(
        ((columns.index(a), columns.index(b)) for a, b in _HEADERS if a in columns and b in columns), (0, 1)
    )
    nodes, classes = (frame[frame.columns[position]] for position in positions)
    by_name: dict[Hashable, tuple[Hashable, ...]] = {}
    for node, value in zip(nodes, classes, strict=True):
        name = normalize_name(node)
        by_name[name] = tuple(dict.fromkeys(by_name.get(name, ()) + _as_classes(value)))
    return by_name.items()


def _from_rows(labels: Any, embedding: Embedding) -> NamedClasses:
    """Read one entry for each row: a class, several classes, or a row of zeros and ones."""
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
