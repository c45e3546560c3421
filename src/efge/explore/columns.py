"""Columns of numbers or categories to color nodes by, from mappings, sequences, data frames or communities."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from datetime import date, datetime, timezone
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.embedding.embedding import Embedding
from efge.errors import EvaluationError
from efge.evaluation.communities import Communities
from efge.evaluation.labels import as_targets
from efge.graph.graph import Graph
from efge.graph.names import normalize_name

# Integers are categories if there are at most this many different ones, or if the column has one of these names.
_MAX_INTEGER_CATEGORIES = 20
_CATEGORICAL_NAMES = {"label", "labels", "class", "classes", "community", "communities", "cluster", "group"}
# Names of the column of a data frame that holds the nodes.
NODE_COLUMNS = ("node", "nodes", "id", "name")
# Numbers are colored by logarithm if the largest is at least this many times their median.
_LOG_SCALE_RATIO = 20
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
# Larger integers do not fit into a 64-bit float; they are identifiers, not quantities.
_MAX_NUMBER = 2**1000


class Numbers(NamedTuple):
    """A column of numbers."""

    name: str
    values: npt.NDArray[np.float64]  # one for each node; NaN if it has none
    log_scale: bool  # whether to color by logarithm
    is_date: bool = False  # whether values are seconds since 1970, in UTC


class Categories(NamedTuple):
    """A column of categories."""

    name: str
    codes: npt.NDArray[np.int32]  # index of each node's category; -1 if it has none
    categories: list[str]  # the most frequent first


Column = Numbers | Categories


def make_columns(
    embedding: Embedding, labels: Any = None, table: Any = None, graph: Graph | None = None
) -> list[Column]:
    """Return the columns of labels, of a table and of degrees; if names are equal, the table's column counts."""
    columns: dict[str, Column] = {}
    if labels is not None:
        columns["label"] = _label_column(labels, embedding)
    if table is not None:
        for name, values in _named_values(table):
            columns[name] = _make_column(name, _align_values(name, values, embedding))
    if graph is not None:
        columns.setdefault("degree", _degree_column(graph, embedding))
    return list(columns.values())


def _label_column(labels: Any, embedding: Embedding) -> Categories:
    targets = as_targets(labels, embedding)
    texts: list[str | None] = [None] * len(embedding)
    for row, members in zip(targets.rows.tolist(), targets.members, strict=True):
        texts[row] = _join(targets.classes[number] for number in np.flatnonzero(members))
    return _make_categories("label", texts)


def _degree_column(graph: Graph, embedding: Embedding) -> Numbers:
    """Count neighbors in either direction; NaN for nodes that are not in the graph."""
    matrix = graph.to_scipy()
    degrees = np.diff((matrix + matrix.T).indptr if graph.directed else graph.indptr)
    rows = embedding._index.rows(graph)
    values = np.full(len(embedding), np.nan)
    values[rows[rows >= 0]] = degrees[rows >= 0]
    return _make_numbers("degree", values)


def _named_values(table: Any) -> Iterable[tuple[str, Any]]:
    """Return the name and values of each column of a mapping or a data frame."""
    if isinstance(table, Mapping):
        return ((str(name), values) for name, values in table.items())
    if hasattr(table, "columns") and hasattr(table, "to_dict"):
        return _frame_columns(table)
    raise EvaluationError(f"columns must be a mapping of names to values, or a data frame; got {type(table).__name__}")


def _frame_columns(frame: Any) -> Iterable[tuple[str, Any]]:
    """Yield the columns of a data frame; its nodes are in a column, or in the index if there is no such column."""
    by_name = {str(column).lower(): column for column in reversed(list(frame.columns))}
    key = next((by_name[name] for name in NODE_COLUMNS if name in by_name), None)
    if key is None and not hasattr(frame, "index"):
        raise EvaluationError(f"a data frame without an index needs a column named node; got {list(frame.columns)}")
    nodes = list(frame.index if key is None else frame[key])
    for column in frame.columns:
        if column != key:
            yield str(column), _collect_values(zip(nodes, frame[column], strict=True))


def _align_values(name: str, values: Any, embedding: Embedding) -> list[Any]:
    """Return a value for each row of the embedding, None if it has none."""
    by_node = _values_by_node(values)
    if by_node is None:
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            raise EvaluationError(f"column {repr(name)[:80]}: values are a mapping or a sequence; got {values!r}"[:300])
        sequence = list(values)
        if len(sequence) != len(embedding):
            rule = f"a sequence must have a value for each of {len(embedding)} vectors"
            raise EvaluationError(f"column {repr(name)[:80]}: {rule}; got {len(sequence)}")
        return [_clean_value(value) for value in sequence]
    rows = embedding._index.rows(by_node)
    if by_node and (rows < 0).all():
        first, other = (repr(next(iter(names)))[:80] for names in (by_node, embedding))
        examples = f"values have nodes such as {first}, vectors such as {other}"
        raise EvaluationError(f"column {repr(name)[:80]}: no node of {embedding!r} has a value; {examples}")
    aligned: list[Any] = [None] * len(embedding)
    for row, value in zip(rows.tolist(), by_node.values(), strict=True):
        if row >= 0:
            aligned[row] = _clean_value(value)
    return aligned


def _values_by_node(values: Any) -> dict[Hashable, Any] | None:
    """Return values by node name; None if they have no names."""
    if isinstance(values, Communities):
        return _collect_values((node, number) for number, members in enumerate(values) for node in members)
    if isinstance(values, Mapping) or (hasattr(values, "index") and hasattr(values, "items")):
        return _collect_values(values.items())
    return None


def _collect_values(pairs: Iterable[tuple[Hashable, Any]]) -> dict[Hashable, Any]:
    """Return values by node; a node with several values has a tuple of them."""
    by_node: dict[Hashable, list[Any]] = {}
    for node, value in pairs:
        try:
            values = by_node.setdefault(normalize_name(node), [])
        except TypeError as error:
            raise EvaluationError(f"a node name must be hashable: {error}") from None
        if len(values) != 1 or values[0] != value:
            values.append(value)
    return {name: values[0] if len(values) == 1 else tuple(values) for name, values in by_node.items()}


def _clean_value(value: Any) -> Any:
    """Convert a value to plain Python: None if it is missing, text if there are several."""
    if isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        values = [clean for item in value if (clean := _clean_value(item)) is not None]
        return _join(sorted(values, key=str) if isinstance(value, (set, frozenset)) else values) or None
    # Data frames have special objects for missing values, which cannot be compared.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, np.datetime64):
        value = None if np.isnat(value) else value.astype("datetime64[us]").item()
    if isinstance(value, date):
        return value
    value = normalize_name(value)
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _make_column(name: str, values: list[Any]) -> Column:
    present = [value for value in values if value is not None]
    dates = [None if value is None else _parse_date(value) for value in values]
    if present and sum(moment is not None for moment in dates) == len(present):
        return Numbers(name, np.array([np.nan if moment is None else moment for moment in dates]), False, True)
    if present and all(map(_is_number, present)):
        n_distinct = len(set(present))
        all_integers = all(isinstance(value, int) for value in present)
        are_codes = all_integers and n_distinct <= min(_MAX_INTEGER_CATEGORIES, len(present) / 2)
        if not are_codes and name.lower() not in _CATEGORICAL_NAMES:
            return _make_numbers(name, np.array([np.nan if value is None else float(value) for value in values]))
    return _make_categories(name, [None if value is None else str(value) for value in values])


def _parse_date(value: Any) -> float | None:
    """Return seconds since 1970 for a date, or text such as 2024-05-31 or 2024-05-31T12:00; None for other values."""
    if isinstance(value, str) and _DATE.match(value):
        try:
            value = datetime.fromisoformat(value.replace("Z", "+00:00"))
        except ValueError:
            return None
    if not isinstance(value, date):
        return None
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
    return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()


def _is_number(value: Any) -> bool:
    if isinstance(value, int):
        return type(value) is not bool and abs(value) < _MAX_NUMBER
    return isinstance(value, Real)


def _make_numbers(name: str, values: npt.NDArray[np.float64]) -> Numbers:
    finite = values[np.isfinite(values)]
    positive = finite[finite > 0]
    log_scale = bool(len(positive) and finite.min() >= 0 and positive.max() >= _LOG_SCALE_RATIO * np.median(positive))
    return Numbers(name, values, log_scale)


def _make_categories(name: str, texts: list[str | None]) -> Categories:
    counts = Counter(text for text in texts if text is not None)
    ordered = sorted(counts, key=lambda text: (-counts[text], text))
    codes = {text: code for code, text in enumerate(ordered)}
    return Categories(name, np.array([-1 if text is None else codes[text] for text in texts], np.int32), ordered)


def _join(values: Iterable[Any]) -> str:
    return ", ".join(str(value) for value in values)
