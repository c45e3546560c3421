"""Records of what was measured, one JSON file each in `results`; `figures.py` fills the pages from them.

A record has tables. Each table says when and where it was measured and which program wrote it, or where it was copied
from; then come its columns and rows. `bench.json` has a form of its own: every run of every tool (see `arena.py`).
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

RESULTS = Path(__file__).parent / "results"

Cell = str | int | float | bool | None


class Table(NamedTuple):
    """Rows of measured values, and where they come from."""

    measured: str
    machine: str
    origin: str
    columns: list[str]
    rows: list[list[Any]]

    def records(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def row(self, **key: Cell) -> dict[str, Any]:
        """The one row that has these values."""
        found = [row for row in self.records() if all(row[name] == value for name, value in key.items())]
        if len(found) != 1:
            raise KeyError(f"{len(found)} rows have {key}")
        return found[0]

    def to_markdown(self) -> str:
        """All rows as they are."""
        return markdown(self.columns, self.rows)


def load(name: str, results: Path = RESULTS) -> dict[str, Table]:
    """The tables of a record."""
    read = json.loads((results / f"{name}.json").read_text("utf-8"))
    return {title: Table(**fields) for title, fields in read.items()}


def save(
    name: str,
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    program: str,
    key: int = 0,
    outdated: Iterable[tuple[Cell, ...]] = (),
) -> None:
    """Put a table that a program has just measured into its record; other tables of the record stay.

    With a key, rows of the table that have other values in the first columns, as many as the key says, stay as well,
    unless these values are outdated.
    """
    tables = load(name) if (RESULTS / f"{name}.json").exists() else {}
    new = [list(row) for row in rows]
    if key and title in tables:
        measured = {tuple(row[:key]) for row in new} | set(outdated)
        new = [row for row in tables[title].rows if tuple(row[:key]) not in measured] + new
    today = datetime.now(timezone.utc).date().isoformat()
    machine = f"{platform.machine()}, {os.cpu_count()} cores"
    tables[title] = Table(today, machine, f"written by {program}", list(columns), new)
    write(name, tables)


def write(name: str, tables: dict[str, Table], results: Path = RESULTS) -> None:
    """Write a record, one row a line, so that differences between two versions can be read."""
    texts = []
    for title, table in tables.items():
        *about, (_, rows) = table._asdict().items()
        lines = [f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}," for key, value in about]
        body = ",\n".join(f"   {json.dumps(row, ensure_ascii=False)}" for row in rows)
        texts.append(f" {json.dumps(title)}: {{\n" + "\n".join(lines) + f'\n  "rows": [\n{body}\n  ]\n }}')
    (results / f"{name}.json").write_text("{\n" + ",\n".join(texts) + "\n}\n", "utf-8")


def markdown(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table in Markdown; columns of numbers only are set to the right."""
    rows = [list(row) for row in rows]
    right = [bool(rows) and all(type(row[i]) in (int, float) for row in rows) for i in range(len(columns))]
    lines = [list(columns), ["---:" if is_right else "---" for is_right in right]]
    lines += [[_text(cell) for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _text(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
