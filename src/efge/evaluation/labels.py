"""Classes of nodes, from a file, a mapping, a data frame or an array; and which rows of an embedding they belong to."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.embedding.embedding import Embedding
from efge.errors import EvaluationError, GraphError
from efge.graph.names import names_of, plain_name
from efge.io.files import in_utf8, label_of, opened

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
    """The rows that have a class, and which: a column a class."""

    rows: npt.NDArray[np.int64]
    members: npt.NDArray[np.bool_]
    classes: list[Hashable]
    without_label: int
    without_vector: list[Hashable]

    @property
    def is_multilabel(self) -> bool:
        """Whether a node has more than one class."""
        return bool((self.members.sum(axis=1) > 1).any())


def read_labels(path: str | os.PathLike[str], encoding: str = "utf-8") -> dict[Hashable, tuple[Hashable, ...]]:
    r"""Read the classes of nodes from a text file: a node and its class a line, a node of several classes on several.

    Parameters
    ----------
    path : path, or "-" for standard input
        Fields are separated by tabs, commas, semicolons or white space; packed files are unpacked. A first line such as
        ``node,label`` is a header. Lines that begin with # or % are comments.
    encoding : str

    Returns
    -------
    dict
        The classes of each node. Names are integers if all are; and so are classes.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "labels.tsv")
    >>> _ = path.write_text("ann\tchess\nbob\tgo\nbob\tchess\n")
    >>> read_labels(path)
    {'ann': ('chess',), 'bob': ('go', 'chess')}
    """
    label = label_of(path)
    try:
        with opened(path) as stream:
            pairs = _pairs(in_utf8(stream, encoding, label).read(), label)
    except GraphError as error:
        raise EvaluationError(str(error)) from None
    nodes, classes = (names_of(column).tolist() for column in (zip(*pairs, strict=True) if pairs else ((), ())))
    found: dict[Hashable, dict[Hashable, None]] = {}
    for node, name in zip(nodes, classes, strict=True):
        found.setdefault(node, {})[name] = None
    return {node: tuple(names) for node, names in found.items()}


def _pairs(data: bytes, label: str) -> list[tuple[str, str]]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = f"{label}, line {data[: error.start].count(10) + 1}"
        raise EvaluationError(f"{place}: text is in UTF-8; pass its encoding, as 'latin-1'") from None
    pairs: list[tuple[str, str]] = []
    header_may_come = True
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith(("#", "%")):
            continue
        separator = next((mark for mark in "\t,;" if mark in line), None)
        fields = [field.strip().strip('"') for field in line.split(separator)]
        if len(fields) != 2 or not all(fields):
            raise EvaluationError(f"{label}, line {number}: a line has a node and its class; got {len(fields)} fields")
        if header_may_come and (fields[0].lower(), fields[1].lower()) in _HEADERS:
            header_may_come = False
            continue
        header_may_come = False
        pairs.append((fields[0], fields[1]))
    return pairs


def as_targets(labels: Any, embedding: Embedding) -> Targets:
    """The classes of an embedding's rows, from whatever holds them.

    Examples
    --------
    >>> targets = as_targets({"a": 1, "b": None, "z": 0}, Embedding([[1.0], [2.0]], ["a", "b"]))
    >>> targets.rows.tolist(), targets.classes, targets.without_label, targets.without_vector
    ([0], [1], 1, ['z'])
    """
    given = dict(_by_name(labels, embedding))
    rows = embedding._index.rows(list(given))
    owned = {int(row): classes for row, classes in zip(rows, given.values(), strict=True) if row >= 0 and classes}
    missing = [node for (node, classes), row in zip(given.items(), rows, strict=True) if row < 0 and classes]
    if not owned:
        raise EvaluationError(f"no node of {embedding!r} has a label; {_difference(missing, embedding)}")
    names = {name for classes in owned.values() for name in classes}
    try:
        classes = sorted(names)  # type: ignore[type-var]
    except TypeError:
        classes = sorted(names, key=lambda name: (type(name).__name__, str(name)))
    columns = {name: column for column, name in enumerate(classes)}
    members = np.zeros((len(owned), len(classes)), bool)
    order = np.array(sorted(owned), np.int64)
    for place, row in enumerate(order.tolist()):
        members[place, [columns[name] for name in owned[row]]] = True
    return Targets(order, members, classes, len(embedding) - len(owned), missing)


def _difference(missing: list[Hashable], embedding: Embedding) -> str:
    if not missing:
        return "there are no labels at all"
    return f"labels are given to {missing[0]!r} and others, vectors to {embedding.names.tolist()[0]!r} and others"


def _by_name(labels: Any, embedding: Embedding) -> Iterable[tuple[Hashable, tuple[Hashable, ...]]]:
    """Each node with its classes."""
    if isinstance(labels, (str, os.PathLike)):
        return read_labels(labels).items()
    if isinstance(labels, Mapping):
        return ((plain_name(node), _classes(value)) for node, value in labels.items())
    if hasattr(labels, "columns") and hasattr(labels, "to_dict"):
        return _of_frame(labels)
    if hasattr(labels, "index") and hasattr(labels, "items"):
        return ((plain_name(node), _classes(value)) for node, value in labels.items())
    return _of_rows(labels, embedding)


def _of_frame(frame: Any) -> Iterable[tuple[Hashable, tuple[Hashable, ...]]]:
    """A data frame with a column of nodes and a column of classes, by name or as the first two."""
    known = [str(column).lower() for column in frame.columns]
    if len(known) < 2:
        raise EvaluationError(f"a data frame of labels has a column of nodes and one of classes; got {known}")
    wanted = next(((known.index(a), known.index(b)) for a, b in _HEADERS if a in known and b in known), (0, 1))
    nodes, classes = (frame[frame.columns[place]] for place in wanted)
    found: dict[Hashable, tuple[Hashable, ...]] = {}
    for node, value in zip(nodes, classes, strict=True):
        name = plain_name(node)
        found[name] = tuple(dict.fromkeys(found.get(name, ()) + _classes(value)))
    return found.items()


def _of_rows(labels: Any, embedding: Embedding) -> Iterable[tuple[Hashable, tuple[Hashable, ...]]]:
    """An entry for each row: a class or some, or a row of zeros and ones."""
    rows = labels.toarray() if hasattr(labels, "toarray") else labels
    rows = rows.tolist() if hasattr(rows, "tolist") else list(rows)
    if len(rows) != len(embedding):
        raise EvaluationError(f"labels without names come for each of {len(embedding)} vectors; got {len(rows)}")
    if (isinstance(labels, np.ndarray) and labels.ndim == 2) or hasattr(labels, "toarray"):
        rows = [[column for column, member in enumerate(row) if member] for row in rows]
    return zip(embedding.names.tolist(), map(_classes, rows), strict=True)


def _classes(value: Any) -> tuple[Hashable, ...]:
    """No class, one, or some."""
    if isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        listed = sorted(value) if isinstance(value, (set, frozenset)) else list(value)
        return tuple(dict.fromkeys(plain_name(name) for name in listed))
    # NaN, as data frames mark what is missing, is not equal to itself.
    return () if value is None or value != value else (plain_name(value),)
