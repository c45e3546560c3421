"""Bytes of text -> blocks of whole lines -> fields, every place known by its line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError
from efge.graph.names import Fields
from efge.kernels import text as kernel

WHITESPACE = kernel.WHITESPACE
_BLOCK = 1 << 21
_GAPS = b" \t\r"


class TextSource(NamedTuple):
    """An open file of text in UTF-8, what messages call it, the characters that begin a comment, and the bytes to read.

    So many bytes are read at once, and the rest of their last line.
    """

    stream: BinaryIO
    label: str
    comments: str = "#%"
    block: int | None = None


class Block(NamedTuple):
    """Whole lines of a file, and the number of the first."""

    data: npt.NDArray[np.uint8]
    first_line: int


class Line(NamedTuple):
    """A line that is neither blank nor a comment."""

    label: str
    number: int
    text: bytes

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        return f"{self.label}, line {self.number}"

    def fields(self, delimiter: int) -> list[str]:
        """The line's fields as text."""
        fields = split(Block(np.frombuffer(self.text, np.uint8), self.number), self.label, "", delimiter).fields
        return [fields.text(i) for i in range(len(fields.starts))]


class Lines(NamedTuple):
    """The fields of a block: line i has the fields firsts[i] to firsts[i + 1] - 1."""

    label: str
    block: Block
    fields: Fields
    firsts: npt.NDArray[np.int64]

    def without_first(self) -> Lines:
        """All lines but the first."""
        return self._replace(firsts=self.firsts[1:])

    def all_fields(self) -> Fields:
        """The fields of all lines."""
        return self.fields.take(np.arange(self.firsts[0], self.firsts[-1]))

    def column(self, number: int) -> Fields:
        """A field of each line."""
        return self.fields.take(self.firsts[:-1] + number)

    def columns(self, first: int, second: int) -> Fields:
        """Two fields of each line, line by line."""
        if len(self.fields.starts) == 2 * (len(self.firsts) - 1) and (first, second) == (0, 1):
            return self.fields
        return self.fields.take((self.firsts[:-1, None] + np.array([first, second])).ravel())

    def where(self, position: int) -> str:
        """The place of a byte, for messages."""
        newlines = np.count_nonzero(self.block.data[:position] == kernel.NEWLINE)
        return f"{self.label}, line {self.block.first_line + newlines}"

    def describe(self, field: int) -> tuple[str, str]:
        """The place and the text of a field."""
        return self.where(int(self.fields.starts[field])), self.fields.text(field)


def blocks_of(source: TextSource, size: int | None = None) -> Iterator[Block]:
    """The text in blocks of whole lines, of so many bytes."""
    line, size = 1, size or source.block or _BLOCK
    while data := source.stream.read(size) + source.stream.readline():
        if line == 1:
            data = _without_byte_order_mark(source.label, data)
        block = Block(np.frombuffer(data, np.uint8), line)
        line += data.count(b"\n")
        yield block


def _without_byte_order_mark(label: str, data: bytes) -> bytes:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise GraphError(f"{label}, line 1: text is in UTF-8; this is UTF-16, so pass encoding='utf-16'")
    return data.removeprefix(b"\xef\xbb\xbf")


def first_lines(source: TextSource, block: Block, count: int) -> list[Line]:
    """The first lines of a block that are neither blank nor comments; fewer, if there are not so many."""
    found = []
    for number, text in enumerate(block.data.tobytes().split(b"\n"), block.first_line):
        bare = text.strip(_GAPS)
        if bare and not (source.comments and bare.startswith(tuple(mark.encode() for mark in source.comments))):
            found.append(Line(source.label, number, text))
            if len(found) == count:
                break
    return found


def split(block: Block, label: str, comments: str, delimiter: int) -> Lines:
    """Split a block into fields; text that is binary, or not in UTF-8, is refused."""
    data = block.data
    starts = np.empty(len(data) + 2, np.int64)
    ends, firsts = np.empty_like(starts), np.empty_like(starts)
    marks = np.frombuffer(comments.encode(), np.uint8)
    n_fields, n_lines, doubled = kernel.tokenize(data, delimiter, marks, starts, ends, firsts)
    starts, ends, firsts = starts[:n_fields], ends[:n_fields], firsts[: n_lines + 1]
    if doubled:
        # Within the field's own bytes, so that no position moves.
        data = data.copy()
        kernel.undouble_quotes(data, starts, ends)
    lines = Lines(label, block, Fields(data, starts, ends), firsts)
    if len(data) and data.min() == 0:
        raise GraphError(f"{lines.where(int(np.argmin(data)))}: text has no NUL byte; the file is binary")
    if len(data) and data.max() >= 128:
        try:
            block.data.tobytes().decode()
        except UnicodeDecodeError as error:
            place = lines.where(error.start)
            raise GraphError(f"{place}: text is in UTF-8; this is not, so pass its encoding, as 'latin-1'") from None
    return lines
