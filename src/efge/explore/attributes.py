"""Files of attributes of nodes -> columns to color by; texts are numbers where a whole column is numbers."""

from __future__ import annotations

import os
from collections.abc import Hashable
from typing import Any

from efge.errors import EvaluationError, GraphError
from efge.explore.columns import NODE_COLUMNS
from efge.graph.columns import is_number
from efge.graph.names import Names, match_types, name_array, normalize_name, parse_names
from efge.graph.text_tables import Table, read_table

_MAX_COLUMNS = 10_000


def read_attributes(
    path: str | os.PathLike[str], node: str | int | None = None, known: Names | None = None
) -> dict[str, dict[Hashable, Any]]:
    r"""Read a table of nodes with a header; return the values of each column by node, several values as a tuple.

    The nodes are in the column `node`, in one named node, nodes, id or name, or in the first. They get the types that
    known names have.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "people.csv")
    >>> _ = path.write_text('name,age,town\n"Ann, jr.",31,Rome\nbob,,Oslo\n')
    >>> read_attributes(path)
    {'age': {'Ann, jr.': 31}, 'town': {'Ann, jr.': 'Rome', 'bob': 'Oslo'}}
    """
    try:
        table = read_table(path).with_header()
        table.check_widths("a row has a value for each column")
        key = _node_column(table) if node is None else table.find("node", node)
    except GraphError as error:
        raise EvaluationError(str(error)) from None
    if table.width >= _MAX_COLUMNS:
        raise EvaluationError(f"{table.label}: a table has fewer than {_MAX_COLUMNS:,} columns; got {table.width:,}")
    nodes = [row[key] for row in table.rows]
    names = parse_names(nodes).tolist() if all(isinstance(name, str) for name in nodes) else nodes
    if known is not None:
        names = match_types(name_array(map(normalize_name, names)), known).tolist()
    columns = [number for number in range(table.width) if number != key]
    return {table.names[number]: _collect(names, [row[number] for row in table.rows]) for number in columns}


def _node_column(table: Table) -> int:
    lower = [name.lower() for name in table.names]
    return next((lower.index(name) for name in NODE_COLUMNS if name in lower), 0)


def _collect(names: list[Any], values: list[Any]) -> dict[Hashable, Any]:
    """Return values by node; empty ones are left out."""
    pairs = [(name, value) for name, value in zip(names, values, strict=True) if value is not None and value != ""]
    if all(isinstance(value, str) and is_number(value) for _, value in pairs):
        pairs = [(name, _number(value)) for name, value in pairs] if _all_plain(pairs) else pairs
    by_node: dict[Hashable, list[Any]] = {}
    for name, value in pairs:
        by_node.setdefault(normalize_name(name), []).append(value)
    return {name: found[0] if len(found) == 1 else tuple(found) for name, found in by_node.items()}


def _all_plain(pairs: list[tuple[Any, Any]]) -> bool:
    """Whether Python reads every text as a number; currencies and decimal commas stay texts."""
    try:
        return all(float(value) == float(value) for _, value in pairs)
    except ValueError:
        return False


def _number(text: str) -> int | float:
    return int(text) if text.lstrip("+-").isdecimal() else float(text)
