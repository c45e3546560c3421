"""Data frames of users and items: a row for each node of one kind, a column for each of the other, and weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.graph.columns import names_weight
from efge.graph.kinds import MATRIX_KINDS

# How the types of numbers begin in pandas, Polars and Arrow.
_NUMERIC = ("int", "uint", "float", "double", "halffloat", "bool")


class Biadjacency(NamedTuple):
    """A table of numbers, whose rows and columns have names; missing values and zeros are no edges."""

    values: npt.NDArray[np.float64]
    rows: list[Any]
    columns: list[Any]
    kinds: Sequence[Any]  # what the names of rows, and those of columns, begin with


def is_biadjacency(x: Any, names: list[Any], asked: bool) -> bool:
    """Whether the rows of a table of numbers have names; without names, if it is too wide for a list of edges.

    Names of rows are text in the index of a frame, or in its first column. If a table of two kinds of nodes was asked
    for, the rows of a wide one may also be numbered.
    """
    begin = _first_column(x, names)
    if begin == len(names) or not all(_is_numeric(x, number) for number in range(begin, len(names))):
        return False
    has_names = begin == 1 or has_text_index(x)
    return (has_names and not names_weight(names)) or (asked and len(names) > 3)


def _first_column(x: Any, names: list[Any]) -> int:
    """Return the number of the first column of numbers: 1 if the first column of a wide table names its rows."""
    return int(len(names) > 3 and not has_text_index(x) and not _is_numeric(x, 0))


def has_text_index(x: Any) -> bool:
    """Whether the rows of a frame have names that are text, beside its columns."""
    index = getattr(x, "index", None)
    return index is not None and len(index) > 0 and all(isinstance(label, str) for label in index)


def _is_numeric(x: Any, number: int) -> bool:
    types = getattr(x, "dtypes", None)
    kind = x.schema.types[number] if types is None else types.iloc[number] if hasattr(types, "iloc") else types[number]
    return str(kind).lower().startswith(_NUMERIC)


def read_biadjacency(x: Any, names: list[Any]) -> Biadjacency:
    """Read a table of numbers, and the names of its rows and columns; a missing value is NaN."""
    begin = _first_column(x, names)
    values = np.column_stack([_numbers(x, number) for number in range(begin, len(names))])
    index = getattr(x, "index", range(len(x)))
    rows = np.asarray(_column(x, 0)).tolist() if begin else list(index)
    first = names[0] if begin else getattr(index, "name", None)
    second = getattr(getattr(x, "columns", None), "name", None)
    kinds = (MATRIX_KINDS[0] if first is None else first, MATRIX_KINDS[1] if second is None else second)
    return Biadjacency(values, rows, names[begin:], kinds)


def _column(x: Any, number: int) -> Any:
    if hasattr(x, "iloc"):
        return x.iloc[:, number]
    return x.to_series(number) if hasattr(x, "to_series") else x.column(number)


def _numbers(x: Any, number: int) -> npt.NDArray[np.float64]:
    column = _column(x, number)
    values = column.to_numpy(dtype=np.float64, na_value=np.nan) if hasattr(x, "iloc") else column.to_numpy()
    return np.asarray(values, np.float64)


def explain_biadjacency(x: Any, names: list[Any]) -> str:
    """Say that a table may have two kinds of nodes, and how to read it."""
    begin = _first_column(x, names)
    row = np.asarray(_column(x, 0))[0] if begin else x.index[0]
    what = f"a table of {len(x)} x {len(names) - begin} numbers whose rows have names, as {str(row)!r}"
    how = "pass bipartite=True if rows and columns are two kinds of nodes, or source= and target= for a list of edges"
    return f"{what}, names no columns of nodes; {how}"
