"""Bytes of text -> chunks of complete lines -> fields; every position can be reported by its line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError
from efge.graph.names import Fields
from efge.kernels import text as kernel

WHITESPACE = kernel.WHITESPACE
_CHUNK_SIZE = 1 << 21
_BLANKS = b" \t\r"
# How files begin that are mistaken for text, and what they are.
_BINARY = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"%PDF-": "a PDF document",
    b"\x7fELF": "a program",
    b"SQLite format 3\0": "an SQLite database",
}
# A row of a table that has only empty fields, quoted or not.
_BLANK_ROW = re.compile(rb'[ \t\r,;|"]*')


class TextSource(NamedTuple):
    """An open file of text in UTF-8, with its name for messages and the characters that start a comment.

    `chunk_size` bytes are read at a time, and the rest of their last line. The first `skip_lines` lines are no part of
    the data.
    """

    stream: BinaryIO
    label: str
    comments: str = "#%"
    chunk_size: int | None = None
    skip_lines: int = 0


class Chunk(NamedTuple):
    """Complete lines of a file, and the number of the first."""

    data: npt.NDArray[np.uint8]
    first_line: int


class Line(NamedTuple):
    """A line that is neither blank nor a comment."""

    label: str
    number: int
    text: bytes

    @property
    def place(self) -> str:
        """The file and the line number, for messages."""
        return f"{self.label}, line {self.number}"

    def fields(self, delimiter: int) -> list[str]:
        """Split the line into fields of text."""
        fields = split(Chunk(np.frombuffer(self.text, np.uint8), self.number), self.label, "", delimiter).fields
        return [fields.text(i) for i in range(len(fields.starts))]


class Lines(NamedTuple):
    """The fields of a chunk: line i has the fields line_starts[i] to line_starts[i + 1] - 1."""

    label: str
    chunk: Chunk
    fields: Fields
    line_starts: npt.NDArray[np.int64]

    def without_first(self) -> Lines:
        """Return all lines but the first."""
        return self._replace(line_starts=self.line_starts[1:])

    def select(self, chosen: npt.NDArray[np.bool_]) -> Lines:
        """Return some of the lines."""
        starts, counts = self.line_starts[:-1][chosen], np.diff(self.line_starts)[chosen]
        line_starts = np.zeros(len(starts) + 1, np.int64)
        np.cumsum(counts, out=line_starts[1:])
        fields = np.repeat(starts - line_starts[:-1], counts) + np.arange(line_starts[-1])
        return self._replace(fields=self.fields.take(fields), line_starts=line_starts)

    def without_blank_rows(self) -> Lines:
        """Return all lines but those with empty fields only, which spreadsheets write for empty rows."""
        filled = self.fields.starts < self.fields.ends
        if filled.all():
            return self
        counts = np.concatenate([[0], np.cumsum(filled)])
        return self.select(counts[self.line_starts[1:]] > counts[self.line_starts[:-1]])

    def all_fields(self) -> Fields:
        """Return the fields of all lines."""
        return self.fields.take(np.arange(self.line_starts[0], self.line_starts[-1]))

    def column(self, number: int) -> Fields:
        """Return one field of each line."""
        return self.fields.take(self.line_starts[:-1] + number)

    def columns(self, first: int, second: int) -> Fields:
        """Return two fields of each line, line by line."""
        if len(self.fields.starts) == 2 * (len(self.line_starts) - 1) and (first, second) == (0, 1):
            return self.fields
        return self.fields.take((self.line_starts[:-1, None] + np.array([first, second])).ravel())

    def place(self, position: int) -> str:
        """Return the file and line of a byte, for messages."""
        newlines = np.count_nonzero(self.chunk.data[:position] == kernel.NEWLINE)
        return f"{self.label}, line {self.chunk.first_line + newlines}"

    def open_quotes(self, fields: Fields) -> npt.NDArray[np.bool_]:
        """Return which of some fields begin with a quote that does not end them, and have an odd number of quotes."""
        data, found = self.chunk.data, np.zeros(len(fields.starts), bool)
        if not (data == kernel.QUOTE).any():
            return found
        filled = np.flatnonzero(fields.starts < fields.ends)
        starts = fields.starts[filled]
        # The quotes around a field are not part of it.
        is_open = (data[starts] == kernel.QUOTE) & ((starts == 0) | (data[starts - 1] != kernel.QUOTE))
        for field in filled[is_open].tolist():
            found[field] = np.count_nonzero(data[fields.starts[field] : fields.ends[field]] == kernel.QUOTE) % 2
        return found

    def describe(self, field: int) -> tuple[str, str]:
        """Return the place and the text of a field."""
        return self.place(int(self.fields.starts[field])), self.fields.text(field)


def read_chunks(source: TextSource, size: int | None = None) -> Iterator[Chunk]:
    """Read the text in chunks of complete lines, of about `size` bytes."""
    line, size = 1, size or source.chunk_size or _CHUNK_SIZE
    while line <= source.skip_lines and (text := source.stream.readline()):
        if line == 1:
            _check_beginning(source.label, text)
        line += 1
    while data := source.stream.read(size) + source.stream.readline():
        if line == 1:
            data = _check_beginning(source.label, data)
        chunk = Chunk(np.frombuffer(data, np.uint8), line)
        line += data.count(b"\n")
        yield chunk


def _check_beginning(label: str, data: bytes) -> bytes:
    """Return the first bytes of a text without a byte order mark; raise a GraphError if they are not of a text."""
    kind = next((kind for beginning, kind in _BINARY.items() if data.startswith(beginning)), None)
    if kind is not None:
        raise GraphError(f"{label}: a text is read here; this file is {kind}")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise GraphError(f"{label}, line 1: text is in UTF-8; this is UTF-16, so pass encoding='utf-16'")
    if b"\r" in data.strip() and b"\n" not in data:
        raise GraphError(
            f"{label}, line 1: lines end in a line feed; here they end in a carriage return, so write it again"
        )
    return data.removeprefix(b"\xef\xbb\xbf")


def first_lines(source: TextSource, chunk: Chunk, count: int) -> list[Line]:
    """Return up to `count` lines from the start of a chunk, without blank lines and comments."""
    lines = []
    for number, text in enumerate(chunk.data.tobytes().split(b"\n"), chunk.first_line):
        content = text.strip(_BLANKS)
        if not _BLANK_ROW.fullmatch(content) and not (
            source.comments and content.startswith(tuple(char.encode() for char in source.comments))
        ):
            lines.append(Line(source.label, number, text))
            if len(lines) == count:
                break
    return lines


def split(chunk: Chunk, label: str, comments: str, delimiter: int) -> Lines:
    """Split a chunk into fields; raise a GraphError if it is binary or not in UTF-8."""
    data = chunk.data
    starts = np.empty(len(data) + 2, np.int64)
    ends, line_starts = np.empty_like(starts), np.empty_like(starts)
    comment_bytes = np.frombuffer(comments.encode(), np.uint8)
    n_fields, n_lines, has_doubled_quotes = kernel.tokenize(data, delimiter, comment_bytes, starts, ends, line_starts)
    starts, ends, line_starts = starts[:n_fields], ends[:n_fields], line_starts[: n_lines + 1]
    if has_doubled_quotes:
        # Changes bytes within a field only, so no position moves.
        data = data.copy()
        kernel.undouble_quotes(data, starts, ends)
    lines = Lines(label, chunk, Fields(data, starts, ends), line_starts)
    if len(data) and data.min() == 0:
        place = lines.place(int(np.argmin(data)))
        raise GraphError(f"{place}: text has no NUL byte; this file is binary, or UTF-16 (encoding='utf-16-le')")
    if len(data) and data.max() >= 128:
        try:
            chunk.data.tobytes().decode()
        except UnicodeDecodeError as error:
            place = lines.place(error.start)
            raise GraphError(f"{place}: text is in UTF-8; this is not, so pass its encoding, as 'latin-1'") from None
    return lines


def skip_separator_line(chunk: Chunk) -> tuple[Chunk, str | None]:
    """Return a chunk without a first line such as `sep=;`, as spreadsheets write it, and the separator it names."""
    first, newline, _ = bytes(chunk.data[:80]).partition(b"\n")
    found = re.fullmatch(rb'"?sep=([\t-~])"?\s*', first, re.IGNORECASE)
    if found is None or not newline:
        return chunk, None
    return Chunk(chunk.data[len(first) + 1 :], chunk.first_line + 1), found[1].decode()
