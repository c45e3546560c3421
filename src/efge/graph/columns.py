"""Choosing the source, target and weight columns of a table of edges; what remains ambiguous is asked for."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any, NamedTuple

from efge.errors import GraphError, did_you_mean, warn_user

_PAIRS = [
    ("source", "target"), ("src", "dst"), ("from", "to"), ("node1", "node2"), ("node_1", "node_2"),
    ("id1", "id2"), ("id_1", "id_2"), ("fromnodeid", "tonodeid"), ("subject", "object"), ("head", "tail"),
    ("user", "item"), ("user_id", "item_id"), ("userid", "itemid"),
]  # fmt: skip
# Further names, or parts of names, for the two ends of an edge: they are proposed, but not read unasked.
_LIKELY_PAIRS = [
    *_PAIRS, ("sender", "receiver"), ("sender", "recipient"), ("caller", "callee"), ("origin", "destination"),
    ("follower", "followee"), ("citing", "cited"), ("buyer", "seller"), ("parent", "child"), ("first", "second"),
    ("start", "end"), ("von", "nach"), ("quelle", "ziel"), ("absender", "empfänger"),
]  # fmt: skip
# The first columns, all pairs of which are compared: a line may have a million of them.
_MAX_COMPARED = 50
_WEIGHTS = ("weight", "weights", "w", "value", "count")
# Attributes of edges that number them, and are no weights.
_IDENTIFIERS = ("id", "key", "label", "index")
# Names that pandas gives to a column of row numbers, in files of text and in Parquet.
_ROW_NUMBERS = ("", "unnamed: 0", "__index_level_0__")
# Numbers as text, also as spreadsheets write them: with a currency sign, a decimal comma or separated thousands.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_FORMATTED = re.compile(
    r"[$€£¥]?\s?[+-]?(\d+,\d+|\d{1,3}([,.' \u00a0\u202f]\d{3})+([.,]\d+)?|\d+(\.\d+)?)\s?[$€£¥]?", re.ASCII
)


class Head(NamedTuple):
    """What is known of a table before its rows are read; each may be empty."""

    names: Sequence[Any] = ()
    values: Sequence[Any] = ()  # the first row
    sample: Sequence[Sequence[Any]] = ()  # some of the first rows

    def is_number(self, column: int) -> bool:
        """Whether the first row has a number in this column."""
        return column < len(self.values) and is_number(self.values[column])

    def is_positive(self, column: int) -> bool:
        """Whether the first row has a positive number in this column, which may be a weight."""
        return self.is_number(column) and _as_float(self.values[column]) > 0

    def is_fraction(self, column: int) -> bool:
        """Whether the first row has a number with a fraction in this column, which names no node."""
        return self.is_number(column) and not _as_float(self.values[column]).is_integer()


class Choice(NamedTuple):
    """The columns of a table; `unread` are numbers that may be the missing weight."""

    source: int
    target: int
    weight: int | None
    unread: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Columns:
    """The requested columns, by name or by number from 0; None means to choose them by their names."""

    source: str | int | None = None
    target: str | int | None = None
    weight: str | int | None = None
    weighted: bool | None = None

    @property
    def are_named(self) -> bool:
        """Whether a column is requested by its name."""
        return any(isinstance(column, str) for column in (self.source, self.target, self.weight))

    def choose(self, head: Head, width: int) -> Choice:
        """Return the numbers of the source, target and weight columns of a table.

        Without names, the third of three columns is the weight; with names, a column that is named like a weight.
        """
        names = head.names
        source, target = self._ends(head, width)
        weight = None if self.weight is None else _find(self.weight, names, width)
        if weight in (source, target):
            rule = "the weight is in another column than the nodes, by its name or counted from 0"
            raise GraphError(f"{rule}; got weight={self.weight!r}")
        if weight is None and names:
            others = [name for number, name in enumerate(_lower(names)) if number not in (source, target)]
            named = next((name for name in _WEIGHTS if name in others), None)
            weight = None if named is None else _find(named, _lower(names), width)
        elif weight is None and width == 3 and (source, target) == (0, 1):
            weight = 2
        if self.weighted and weight is None:
            known = f"there are: {', '.join(map(str, names))}" if names else f"there are {width} columns"
            raise GraphError(f"a weighted graph has a weight column; {known}")
        if self.weighted is False:
            return Choice(source, target, None)
        return Choice(source, target, weight, () if weight is not None else self._unread(head, source, target))

    def _unread(self, head: Head, source: int, target: int) -> tuple[Any, ...]:
        """Return columns that may be weights, unless the user has chosen columns.

        The first number may be zero or negative: that is refused only when weights are read.
        """
        if self.source is not None:
            return ()
        return tuple(
            name
            for number, name in enumerate(head.names)
            if number not in (source, target)
            and head.is_number(number)
            and str(name).lower() not in (*_IDENTIFIERS, *_ROW_NUMBERS)
        )

    def _ends(self, head: Head, width: int) -> tuple[int, int]:
        requested = [_find(end, head.names, width) for end in (self.source, self.target) if end is not None]
        if len(requested) == 1:
            raise GraphError("source and target go together: give both columns, or none")
        if len(requested) == 2:
            if requested[0] == requested[1]:
                raise GraphError(f"source and target are two columns; got {self.source!r} for both")
            return requested[0], requested[1]
        if width < 2:
            raise GraphError(f"a table of edges has two columns or more; got {width}")
        pair = pair_by_name(head.names)
        if pair is None and (width > 3 or (self.weight is None and _is_ambiguous(head, width))):
            raise GraphError(explain_ambiguity(head, width))
        return pair or (0, 1)


def _is_ambiguous(head: Head, width: int) -> bool:
    """Whether the first two of three named columns need not be the nodes, because the third has no numbers."""
    if names_weight(head.names[:2]) or (width == 3 and str(next(iter(head.names), "a")).lower() in _ROW_NUMBERS):
        return True
    if width < 3 or not head.names or not head.values:
        return False
    return any(map(head.is_fraction, (0, 1))) or not (head.is_number(2) or names_weight(head.names[2:3]))


def explain_ambiguity(head: Head, width: int) -> str:
    """List the columns, and say how to choose those that are probably meant.

    Functions that take any graph, such as ``fit``, have no such options; :func:`efge.as_graph` has.
    """
    return f"{count_columns(head.names, width)}; choose them, {suggest_columns(head, width)}, in efge.as_graph"


def count_columns(names: Sequence[Any], width: int) -> str:
    """Say that a table has too many columns, and list them."""
    listed = f" ({', '.join(map(str, names[:20]))}{', ...' if len(names) > 20 else ''})" if names else ""
    return f"an edge has two node names and at most a weight; got {width} columns{listed}"


def suggest_columns(head: Head, width: int) -> str:
    """Return options that choose the likely columns, in Python and in the shell; without values if none are likely."""
    ends = _likely_ends(head, width)
    if ends is None:
        return "by source= and target= (--source and --target)"
    source, target = ends
    no_weights = [i for i, name in enumerate(_lower(head.names)) if name in (*_IDENTIFIERS, *_ROW_NUMBERS)]
    weights = [i for i in range(width) if i not in (source, target, *no_weights) and head.is_positive(i)]
    chosen = {"source": source, "target": target} | ({"weight": weights[0]} if len(weights) == 1 else {})
    values = {option: head.names[i] if head.names else i for option, i in chosen.items()}
    python = ", ".join(f"{option}={value!r}" for option, value in values.items())
    shell = " ".join(f"--{option} {_quote(str(value))}" for option, value in values.items())
    return f"as {python} ({shell})"


def _quote(text: str) -> str:
    return text if re.fullmatch(r"[\w.:@%+/-]+", text, re.ASCII) and os.sep == "/" else f'"{text}"'


def _likely_ends(head: Head, width: int) -> tuple[int, int] | None:
    """Return columns with matching names, such as proteinA and proteinB, or with the same values, or all that remain.

    Without names of columns, the first two without numbers may be nodes.
    """
    names = [str(name).lower() for name in head.names]
    no_ends = (*_WEIGHTS, *_ROW_NUMBERS)
    columns = [i for i in range(width) if not names or names[i] not in no_ends]
    ends = _matching_names(names[:_MAX_COMPARED]) or _sharing_columns(head, columns[:_MAX_COMPARED])
    if ends is not None:
        return ends
    if width == 2:
        return 0, 1
    if names:
        columns = [i for i in columns if names[i] not in _IDENTIFIERS]
        return (columns[0], columns[1]) if len(columns) == 2 else None
    words = [column for column in columns if not head.is_number(column)] if head.values else []
    chosen = words if len(words) >= 2 else columns
    return chosen[0], chosen[1]


def _matching_names(names: Sequence[str]) -> tuple[int, int] | None:
    for first, second in permutations(range(len(names)), 2):
        a, b = names[first], names[second]
        if any(s in a and a.replace(s, t) == b for s, t in _LIKELY_PAIRS):
            return first, second
        if len(a) == len(b) > 0 and a[:-1] == b[:-1] and a[-1:] + b[-1:] in ("ab", "12", "01", "xy", "uv", "ij"):
            return first, second
    return None


def _sharing_columns(head: Head, columns: Sequence[int]) -> tuple[int, int] | None:
    """Return the two columns that share the most values in the sampled rows; None if that is no or several pairs."""
    values = {column: {str(row[column]) for row in head.sample if column < len(row)} - {""} for column in columns}
    shared = {(a, b): len(values[a] & values[b]) for a, b in combinations(columns, 2)}
    largest = max(shared.values(), default=0)
    best = [pair for pair, count in shared.items() if count == largest > 0]
    return best[0] if len(best) == 1 else None


def warn_unread(place: str, names: Sequence[Any], kind: str = "column") -> None:
    """Point out columns or attributes of numbers that are ignored, but may be weights."""
    if not names:
        return
    one = len(names) == 1
    listed, it = ", ".join(map(repr, names[:10])), "it is" if one else "one is"
    warn_user(
        f"{place}the {kind}{'' if one else 's'} {listed} {'is' if one else 'are'} ignored; if {it} the weight, pass "
        f"weight={names[0]!r} (--weight {_quote(str(names[0]))}), otherwise weighted=False (--unweighted), to"
        " efge.as_graph",
    )


def is_number(value: Any) -> bool:
    """Whether a value is a finite number, or text of one; truth values are none."""
    if isinstance(value, str):
        return bool(_NUMBER.fullmatch(value) or _FORMATTED.fullmatch(value))
    if type(value).__name__ in ("bool", "bool_") or value is None:
        return False
    try:
        return abs(float(value)) < float("inf")
    except (TypeError, ValueError, OverflowError):
        return False


def _as_float(value: Any) -> float:
    """Return a value that is a number; half of one if it is written in a way that has no decimal point."""
    try:
        return float(value)
    except ValueError:
        return 0.5


def unread_attributes(attributes: dict[Any, Any]) -> list[Any]:
    """Return the attributes of an edge that are numbers, and so may be weights."""
    return [key for key, value in attributes.items() if is_number(value) and str(key).lower() not in _IDENTIFIERS]


def names_weight(names: Sequence[Any]) -> bool:
    """Whether a column is named like a weight."""
    return any(name in _WEIGHTS for name in _lower(names))


def pair_by_name(names: Sequence[Any]) -> tuple[int, int] | None:
    """Return two columns with common names for the nodes of an edge, such as source and target, or None."""
    lower = _lower(names)
    for source, target in _PAIRS:
        if source in lower and target in lower:
            if lower.count(source) + lower.count(target) > 2:
                raise GraphError(f"several columns are named {source!r} or {target!r}; choose two by their numbers")
            return lower.index(source), lower.index(target)
    return None


def _lower(names: Sequence[Any]) -> list[Any]:
    return [name.lower() if isinstance(name, str) else name for name in names]


def _find(column: str | int, names: Sequence[Any], width: int) -> int:
    """Return the number of a column; its name may differ in case."""
    for known, name in ((list(names), column), (_lower(names), column.lower() if isinstance(column, str) else column)):
        if known.count(name) > 1:
            raise GraphError(f"{known.count(name)} columns are named {column!r}; choose one by its number")
        if name in known:
            return known.index(name)
    if isinstance(column, int) and 0 <= column < width:
        return column
    available = f"there are: {', '.join(map(str, names))}" if names else f"there are {width}, counted from 0"
    raise GraphError(f"no column {column!r}; {available}{did_you_mean(column, map(str, names))}")
