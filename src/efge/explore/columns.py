"""What nodes are colored by: columns of numbers or of categories, from whatever holds a value for some nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.embedding.embedding import Embedding
from efge.errors import EvaluationError
from efge.evaluation.communities import Communities
from efge.evaluation.labels import as_targets
from efge.graph.graph import Graph
from efge.graph.names import plain_name

# Whole numbers are categories if there are few of them, and under these names.
_FEW = 20
_CATEGORICAL = {"label", "labels", "class", "classes", "community", "communities", "cluster", "group"}
# A column of nodes in a table goes by one of these names.
_NODES = ("node", "nodes", "id", "name")
# Numbers spread so far above their median are told apart by their logarithms only.
_SPREAD = 20
# What is larger is no 64-bit float: a number of an account, not one to color by.
_LARGEST = 2**1000


class Numbers(NamedTuple):
    """A number a node, NaN where there is none; drawn by their logarithms or as they are."""

    name: str
    values: npt.NDArray[np.float64]
    by_log: bool


class Categories(NamedTuple):
    """The number of each node's category, -1 where there is none; the most frequent come first."""

    name: str
    codes: npt.NDArray[np.int32]
    categories: list[str]


Column = Numbers | Categories


def columns_of(embedding: Embedding, labels: Any = None, table: Any = None, graph: Graph | None = None) -> list[Column]:
    """All columns that nodes can be colored by: labels, those of a table, degrees; of equal names, the table's."""
    found: dict[str, Column] = {}
    if labels is not None:
        found["label"] = _of_labels(labels, embedding)
    if table is not None:
        for name, values in _by_name(table):
            found[name] = _column(name, _cells(name, values, embedding))
    if graph is not None:
        found.setdefault("degree", _of_degrees(graph, embedding))
    return list(found.values())


def _of_labels(labels: Any, embedding: Embedding) -> Categories:
    targets = as_targets(labels, embedding)
    texts: list[str | None] = [None] * len(embedding)
    for row, members in zip(targets.rows.tolist(), targets.members, strict=True):
        texts[row] = _joined(targets.classes[number] for number in np.flatnonzero(members))
    return _categories("label", texts)


def _of_degrees(graph: Graph, embedding: Embedding) -> Numbers:
    """Neighbors in either direction; NaN for nodes that are not in the graph."""
    matrix = graph.to_scipy()
    degrees = np.diff((matrix + matrix.T).indptr if graph.directed else graph.indptr)
    rows = embedding._index.rows(graph)
    values = np.full(len(embedding), np.nan)
    values[rows[rows >= 0]] = degrees[rows >= 0]
    return _numbers("degree", values)


def _by_name(table: Any) -> Iterable[tuple[str, Any]]:
    """Each column's name and values, from a mapping or a data frame."""
    if isinstance(table, Mapping):
        return ((str(name), values) for name, values in table.items())
    if hasattr(table, "columns") and hasattr(table, "to_dict"):
        return _of_frame(table)
    raise EvaluationError(f"columns are a mapping of names to values, or a data frame; got {type(table).__name__}")


def _of_frame(frame: Any) -> Iterable[tuple[str, Any]]:
    """The columns of a data frame by node: by its column of nodes, if there is one, or by its index."""
    known = {str(column).lower(): column for column in reversed(list(frame.columns))}
    key = next((known[name] for name in _NODES if name in known), None)
    if key is None and not hasattr(frame, "index"):
        raise EvaluationError(f"a data frame without an index has a column named node; got {list(frame.columns)}")
    nodes = list(frame.index if key is None else frame[key])
    for column in frame.columns:
        if column != key:
            yield str(column), _gathered(zip(nodes, frame[column], strict=True))


def _cells(name: str, values: Any, embedding: Embedding) -> list[Any]:
    """A value for each row of the embedding, None where there is none."""
    given = _by_node(values)
    if given is None:
        cells = list(values)
        if len(cells) != len(embedding):
            rule = f"values without names come for each of {len(embedding)} vectors"
            raise EvaluationError(f"column {repr(name)[:80]}: {rule}; got {len(cells)}")
        return [_cell(value) for value in cells]
    rows = embedding._index.rows(given)
    if given and (rows < 0).all():
        first, other = (repr(next(iter(names)))[:80] for names in (given, embedding))
        others = f"values are given to {first} and others, vectors to {other} and others"
        raise EvaluationError(f"column {repr(name)[:80]}: no node of {embedding!r} has a value; {others}")
    found: list[Any] = [None] * len(embedding)
    for row, value in zip(rows.tolist(), given.values(), strict=True):
        if row >= 0:
            found[row] = _cell(value)
    return found


def _by_node(values: Any) -> dict[Hashable, Any] | None:
    """Values by the names of their nodes; None if they come without names."""
    if isinstance(values, Communities):
        return _gathered((node, number) for number, members in enumerate(values) for node in members)
    if isinstance(values, Mapping) or (hasattr(values, "index") and hasattr(values, "items")):
        return _gathered(values.items())
    return None


def _gathered(pairs: Iterable[tuple[Hashable, Any]]) -> dict[Hashable, Any]:
    """Values by node; where a node has several, a tuple of them."""
    found: dict[Hashable, list[Any]] = {}
    for node, value in pairs:
        try:
            values = found.setdefault(plain_name(node), [])
        except TypeError as error:
            raise EvaluationError(f"a node name is hashable: {error}") from None
        if len(values) != 1 or values[0] != value:
            values.append(value)
    return {name: values[0] if len(values) == 1 else tuple(values) for name, values in found.items()}


def _cell(value: Any) -> Any:
    """A value as Python has it: None for what is missing, text for several values."""
    if isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        several = [cell for item in value if (cell := _cell(item)) is not None]
        return _joined(sorted(several, key=str) if isinstance(value, (set, frozenset)) else several) or None
    # Data frames have marks of their own for what is missing, which refuse to be compared.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    value = plain_name(value)
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _column(name: str, cells: list[Any]) -> Column:
    known = [cell for cell in cells if cell is not None]
    if known and all(map(_is_number, known)):
        distinct = len(set(known))
        repeat = all(isinstance(cell, int) for cell in known) and distinct <= min(_FEW, len(known) / 2)
        if not repeat and name.lower() not in _CATEGORICAL:
            return _numbers(name, np.array([np.nan if cell is None else float(cell) for cell in cells]))
    return _categories(name, [None if cell is None else str(cell) for cell in cells])


def _is_number(cell: Any) -> bool:
    if isinstance(cell, int):
        return type(cell) is not bool and abs(cell) < _LARGEST
    return isinstance(cell, Real)


def _numbers(name: str, values: npt.NDArray[np.float64]) -> Numbers:
    known = values[np.isfinite(values)]
    positive = known[known > 0]
    by_log = bool(len(positive) and known.min() >= 0 and positive.max() >= _SPREAD * np.median(positive))
    return Numbers(name, values, by_log)


def _categories(name: str, texts: list[str | None]) -> Categories:
    counts = Counter(text for text in texts if text is not None)
    ordered = sorted(counts, key=lambda text: (-counts[text], text))
    codes = {text: code for code, text in enumerate(ordered)}
    return Categories(name, np.array([-1 if text is None else codes[text] for text in texts], np.int32), ordered)


def _joined(values: Iterable[Any]) -> str:
    return ", ".join(str(value) for value in values)
