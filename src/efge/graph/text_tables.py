"""Tables about nodes -> columns, by the reader of edge lists: labels and attributes, as text or Parquet."""

from __future__ import annotations

import os
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np

from efge.errors import GraphError, describe_error, did_you_mean
from efge.graph.text_edges import check_quotes, read_head
from efge.graph.text_layout import choose_delimiter, explain_title, find_table
from efge.graph.text_lines import WHITESPACE, TextSource, first_lines, split
from efge.io.arrow import read_parquet
from efge.io.files import display_name, open_input, recode_to_utf8

# Lines by which a title is told from the table below it.
_SAMPLED_LINES = 10


class Table(NamedTuple):
    """The rows of a table, and the names of its columns, which are empty if it has no header."""

    label: str
    names: list[str]
    rows: list[list[Any]]
    numbers: list[int]  # line of each row

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.names) or len(self.rows[0] if self.rows else [])

    def place(self, row: int) -> str:
        """Return the file and the line of a row, for messages."""
        return f"{self.label}, line {self.numbers[row]}"

    def with_header(self) -> Table:
        """Return the table whose first row has the names of the columns."""
        if self.names or not self.rows:
            return self
        return self._replace(names=self.rows[0], rows=self.rows[1:], numbers=self.numbers[1:])

    def find(self, option: str, column: str | int) -> int:
        """Return the number of a column that is given by its name, in any case, or by its number."""
        lower = [name.lower() for name in self.names]
        if str(column).lower() in lower:
            return lower.index(str(column).lower())
        if str(column).isdecimal() and int(column) < self.width:
            return int(column)
        known = f"there are: {', '.join(self.names)}" if self.names else f"there are {self.width}, counted from 0"
        raise GraphError(f"{self.label}: no column {column!r} for {option}; {known}{did_you_mean(column, self.names)}")

    def check_widths(self, rule: str) -> None:
        """Raise a GraphError at the first row that has another number of fields than the first."""
        for number, row in enumerate(self.rows):
            if len(row) != self.width:
                raise GraphError(f"{self.place(number)}: {rule}; got {len(row)} fields instead of {self.width}")


def read_table(path: str | os.PathLike[str], encoding: str = "utf-8") -> Table:
    """Read a table; the first line of text is a row, until `with_header` makes it the header."""
    label = display_name(path)
    with open_input(path) as stream:
        if label.lower().endswith((".parquet", ".pq")):
            return _read_parquet(stream.read(), label)
        return _read_text(TextSource(recode_to_utf8(stream, encoding, label), label))


def _read_parquet(data: bytes, label: str) -> Table:
    import pyarrow

    try:
        frame = read_parquet(pyarrow.BufferReader(data), label)
        columns = [column.to_pylist() for column in frame.columns]
    except GraphError:
        raise
    except Exception as error:
        raise GraphError(f"{label}: not a valid Parquet file: {describe_error(error)}") from None
    rows = [list(row) for row in zip(*columns, strict=True)]
    return Table(label, list(frame.column_names), rows, list(range(1, len(rows) + 1)))


def _read_text(source: TextSource) -> Table:
    head, chunks, separator = read_head(source, "row")
    delimiter = choose_delimiter(head[0], separator, range(2, 1 << 31))
    first = next(chunks)
    beginning = first_lines(source, first, _SAMPLED_LINES)
    title = find_table(beginning, separator)
    if title:
        raise GraphError(f"{explain_title(beginning, title)}; if it is a title, delete it")
    rows, numbers = list[list[str]](), list[int]()
    for chunk in chain([first], chunks):
        lines = split(chunk, source.label, source.comments, delimiter).without_blank_rows()
        if delimiter not in (WHITESPACE, ord("\t")):
            check_quotes(lines, lines.all_fields())
        texts = [lines.fields.text(field) for field in range(len(lines.fields.starts))]
        starts = lines.line_starts.tolist()
        rows += [texts[a:b] for a, b in pairwise(starts)]
        newlines = np.flatnonzero(chunk.data == ord("\n"))
        first_fields = lines.fields.starts[lines.line_starts[:-1]]
        numbers += (chunk.first_line + np.searchsorted(newlines, first_fields)).tolist()
    return Table(source.label, [], rows, numbers)
