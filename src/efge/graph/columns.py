"""Choosing the source, target and weight columns of a table of edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from efge.errors import GraphError

_PAIRS = [
    ("source", "target"), ("src", "dst"), ("from", "to"), ("node1", "node2"), ("node_1", "node_2"),
    ("id1", "id2"), ("id_1", "id_2"), ("fromnodeid", "tonodeid"),
]  # fmt: skip
_WEIGHTS = ("weight", "weights", "w", "value", "count")


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

    def choose(self, names: Sequence[Any], width: int) -> tuple[int, int, int | None]:
        """Return the numbers of the source, target and weight columns of a table; `names` may be empty.

        Without names, the third of three columns is the weight; with names, a column that is named like a weight.
        """
        ends = self._ends(names, width)
        weight = None if self.weight is None else _find(self.weight, names, width)
        if weight is None and names:
            weight = next((_lower(names).index(name) for name in _WEIGHTS if name in _lower(names)), None)
        elif weight is None and width == 3 and ends == (0, 1):
            weight = 2
        if self.weighted and weight is None:
            available = f"there are: {', '.join(map(str, names))}" if names else f"there are {width} columns"
            raise GraphError(f"a weighted graph has a weight column; {available}")
        return *ends, None if self.weighted is False else weight

    def _ends(self, names: Sequence[Any], width: int) -> tuple[int, int]:
        requested = [_find(end, names, width) for end in (self.source, self.target) if end is not None]
        if len(requested) == 1:
            raise GraphError("source and target go together: give both columns, or none")
        if len(requested) == 2:
            if requested[0] == requested[1]:
                raise GraphError(f"source and target are two columns; got {self.source!r} for both")
            return requested[0], requested[1]
        if width < 2:
            raise GraphError(f"a table of edges has two columns or more; got {width}")
        return pair_by_name(names) or (0, 1)


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
    raise GraphError(f"no column {column!r}; {available}")
