"""Data frames of users and items: a row for each node of one kind, a column for each of the other, and weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError
from efge.graph.columns import is_number, names_weight
from efge.graph.kinds import MATRIX_KINDS
from efge.graph.names import normalize_name

# How the types of numbers begin in pandas, Polars and Arrow.
_NUMERIC = ("int", "uint", "float", "double", "halffloat", "bool")


class Biadjacency(NamedTuple):
    """A table of numbers, whose rows and columns have names; missing values and zeros are no edges."""

    values: npt.NDArray[np.float64]
    rows: list[Any]
    columns: list[Any]
    kinds: Sequence[Any]  # what the names of rows, and those of columns, begin with


def is_biadjacency(x: Any, names: list[Any], asked: bool) -> bool:
    """Whether the rows of a table of numbers have names, or its columns are named by nodes; if asked, if it is wide.

    Names of rows are text in the index of a frame, or in its first column. If a table of two kinds of nodes was asked
    for, the rows of a wide one may also be numbered.
    """
    begin = _first_column(x, names)
    if begin == len(names) or not all(_is_numeric(x, number) for number in range(begin, len(names))):
        return False
    has_names = begin == 1 or has_text_index(x)
    return (has_names and not names_weight(names)) or _is_pivot(x, names) or (asked and len(names) > 3)


def _is_pivot(x: Any, names: list[Any]) -> bool:
    """Whether columns are named by nodes: by numbers, or by names that have a title, as in a pivot table of pandas."""
    return _title(x) is not None or find_numbered(x, names) is not None


def _title(x: Any) -> Any:
    """Return the name that a frame has for its columns."""
    return getattr(getattr(x, "columns", None), "name", None)


def find_numbered(x: Any, names: list[Any]) -> Any:
    """Return the first column whose name is a number, as a node's or an edge's; None if columns are only counted."""
    counted = list(range(len(names)))
    # Parquet and Arrow have counted columns as text.
    if names == counted or (hasattr(x, "column_names") and names == list(map(str, counted))):
        return None
    return next((name for name in names if is_number(name)), None)


def _first_column(x: Any, names: list[Any]) -> int:
    """Return the number of the first column of numbers: 1 if the first column names the rows."""
    if has_text_index(x) or not names:
        return 0
    if not _is_numeric(x, 0):
        return int(len(names) > 3 or _is_pivot(x, names))
    if getattr(getattr(x, "index", None), "name", None) is not None:
        return 0
    names_nodes = _title(x) is not None or all(map(is_number, names[1:]))
    return int(names_nodes and _is_pivot(x, names) and not is_number(names[0]))


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
    if not begin:
        _refuse_integers(x, names)
    values = np.column_stack([_numbers(x, number) for number in range(begin, len(names))])
    index = getattr(x, "index", range(len(x)))
    rows = [normalize_name(name) for name in (np.asarray(_column(x, 0)).tolist() if begin else index)]
    first = names[0] if begin else getattr(index, "name", None)
    second = _title(x)
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


def _refuse_integers(x: Any, names: list[Any]) -> None:
    """Raise a GraphError if the first column has distinct integers, and the index says nothing: it may name rows."""
    index = getattr(x, "index", None)
    first = np.asarray(_column(x, 0))
    is_named = index is not None and (index.name is not None or has_text_index(x))
    if is_named or find_numbered(x, names) is not None or first.dtype.kind not in "iu" or len(set(first)) < len(x):
        return
    how = "write it as text if it does, otherwise put a column of text with names for the rows before it"
    raise GraphError(f"the first column, {names[0]!r}, has distinct integers and may name the rows; {how}")


def explain_biadjacency(x: Any, names: list[Any]) -> str:
    """Say that a table may have two kinds of nodes, and how to read it."""
    begin, numbered = _first_column(x, names), find_numbered(x, names)
    rows = np.asarray(_column(x, 0)) if begin else getattr(x, "index", range(len(x)))
    reason = "whose rows have names" + (f", as {str(rows[0])!r}" if len(rows) else "")
    how = "pass bipartite=True if rows and columns are two kinds of nodes, or source= and target= for a list of edges"
    if numbered is not None:
        reason = f"whose columns are named by numbers, as {str(numbered)!r}"
        how += "; if this is an edge of a file without a header, pass header=None to pandas.read_csv"
    elif not begin and not has_text_index(x):
        reason = f"whose columns are named {_title(x)!r}, as {str(names[0])!r}"
    return f"a table of {len(x)} x {len(names) - begin} numbers {reason}, names no columns of nodes; {how}"
