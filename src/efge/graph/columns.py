"""Which columns of a table of edges are the ends and the weight."""

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
    """The columns that were asked for, by name or by number from 0; None: those that look like it."""

    source: str | int | None = None
    target: str | int | None = None
    weight: str | int | None = None
    weighted: bool | None = None

    @property
    def are_named(self) -> bool:
        """Whether a column was asked for by its name."""
        return any(isinstance(column, str) for column in (self.source, self.target, self.weight))

    def choose(self, names: Sequence[Any], width: int) -> tuple[int, int, int | None]:
        """The places of source, target and weight in a table with these names, or with none and so many columns.

        Without names, the third of three columns is a weight; with names, a column that is called so.
        """
        ends = self._ends(names, width)
        weight = None if self.weight is None else _place(self.weight, names, width)
        if weight is None and names:
            weight = next((_lower(names).index(name) for name in _WEIGHTS if name in _lower(names)), None)
        elif weight is None and width == 3 and ends == (0, 1):
            weight = 2
        if self.weighted and weight is None:
            listed = f"there are: {', '.join(map(str, names))}" if names else f"there are {width} columns"
            raise GraphError(f"a weighted graph has a weight column; {listed}")
        return *ends, None if self.weighted is False else weight

    def _ends(self, names: Sequence[Any], width: int) -> tuple[int, int]:
        given = [_place(end, names, width) for end in (self.source, self.target) if end is not None]
        if len(given) == 1:
            raise GraphError("source and target go together: give both columns, or none")
        if len(given) == 2:
            if given[0] == given[1]:
                raise GraphError(f"source and target are two columns; got {self.source!r} for both")
            return given[0], given[1]
        if width < 2:
            raise GraphError(f"a table of edges has two columns or more; got {width}")
        return pair_by_name(names) or (0, 1)


def pair_by_name(names: Sequence[Any]) -> tuple[int, int] | None:
    """Two columns whose names are known as those of an edge's ends."""
    known = _lower(names)
    for source, target in _PAIRS:
        if source in known and target in known:
            if known.count(source) + known.count(target) > 2:
                raise GraphError(f"several columns are called {source!r} or {target!r}; choose two by their numbers")
            return known.index(source), known.index(target)
    return None


def _lower(names: Sequence[Any]) -> list[Any]:
    return [name.lower() if isinstance(name, str) else name for name in names]


def _place(wanted: str | int, names: Sequence[Any], width: int) -> int:
    for known, name in ((list(names), wanted), (_lower(names), wanted.lower() if isinstance(wanted, str) else wanted)):
        if known.count(name) > 1:
            raise GraphError(f"{known.count(name)} columns are called {wanted!r}; choose one by its number")
        if name in known:
            return known.index(name)
    if isinstance(wanted, int) and 0 <= wanted < width:
        return wanted
    listed = f"there are: {', '.join(map(str, names))}" if names else f"there are {width}, from 0 on"
    raise GraphError(f"no column {wanted!r}; {listed}")
