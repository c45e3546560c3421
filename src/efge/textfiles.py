"""Delimited text -> numbered nodes, edges and weights: split by compiled kernels, block by block, checked to the line.

Blocks are read (and unpacked) one after the other, split into fields by several threads, and numbered in the order of
the file; so memory holds the edges and a few blocks, never the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.graph import GraphError, Weights
from efge.kernels import text as kernel
from efge.names import FieldNames, Fields, Names, Numbers, Prepared
from efge.threads import map_ahead

_BLOCK = 1 << 21
_PAIRS = [
    ("source", "target"), ("src", "dst"), ("from", "to"), ("node1", "node2"), ("node_1", "node_2"),
    ("id1", "id2"), ("id_1", "id_2"), ("fromnodeid", "tonodeid"),
]  # fmt: skip
_WEIGHTS = ("weight", "w", "value", "count")
_NODE_HEADINGS = ("id", "node", "node_id", "nodeid", "name", "nodes")


class TextSource(NamedTuple):
    """An open file of text, and what messages call it."""

    stream: BinaryIO
    label: str
    comments: str = "#%"


class NumberedEdges(NamedTuple):
    """Edges as an (m, 2) array of rows, with the names of the rows."""

    ends: Numbers
    weights: Weights | None
    names: Names


@dataclass(frozen=True)
class Columns:
    """Which columns of an edge list to read, by name or by number from 0; None: see what the file looks like."""

    delimiter: str | None = None
    header: bool | None = None
    source: str | int | None = None
    target: str | int | None = None
    weight: str | int | None = None
    weighted: bool | None = None


# A text file whose lines begin with a name, or the names themselves.
Nodes = TextSource | Iterable[object] | None


def read_edge_list(source: TextSource, columns: Columns, nodes: Nodes = None) -> NumberedEdges:
    """Read a line for each edge: two names and, if there is one, a weight."""
    blocks = _blocks(source)
    head, blocks = _head(source, blocks)
    layout = _layout(source, head, columns)
    names = FieldNames()
    _number_nodes(names, nodes, layout.delimiter)

    def split(block: _Block) -> tuple[Prepared, Weights | None]:
        lines = _split(source, block, layout.delimiter)
        if layout.header and block.first_line <= head[0].number:
            lines = lines._replace(firsts=lines.firsts[1:])
        _check_field_counts(lines, layout.fields)
        weights = None if layout.weight is None else _weights(lines, lines.column(layout.weight))
        return names.prepare(_checked_names(lines, lines.columns(layout.source, layout.target))), weights

    ends, weights = [], []
    for prepared, some in map_ahead(split, blocks):
        ends.append(names.number(prepared))
        weights.append(some)
    if not sum(map(len, ends)):
        raise GraphError(f"{source.label}: a graph has at least one edge; the file has only a header")
    all_weights = None if layout.weight is None else np.concatenate([some for some in weights if some is not None])
    return NumberedEdges(np.concatenate(ends).reshape(-1, 2), all_weights, names.names())


def read_adjacency_list(source: TextSource, delimiter: str | None, nodes: Nodes = None) -> NumberedEdges:
    """Read a line for each node: its name, then the names of its neighbors."""
    head, blocks = _head(source, _blocks(source))
    code = _delimiter_code(source, delimiter) if delimiter else _guess_delimiter(source, head[0].text, (2, 1 << 62))
    names = FieldNames()
    _number_nodes(names, nodes, code)

    def split(block: _Block) -> tuple[Prepared, _Lines]:
        lines = _split(source, block, code)
        return names.prepare(_checked_names(lines, lines.fields)), lines

    ends = []
    for prepared, lines in map_ahead(split, blocks):
        numbers = names.number(prepared)
        heads = lines.firsts[:-1]
        is_neighbor = np.ones(len(numbers), bool)
        is_neighbor[heads] = False
        sources = np.repeat(numbers[heads], np.diff(lines.firsts) - 1)
        ends.append(np.column_stack([sources, numbers[is_neighbor]]))
    return NumberedEdges(np.concatenate(ends), None, names.names())


def read_node_names(source: TextSource) -> Names:
    """Read a line for each node that begins with its name."""
    names = FieldNames()
    _number_nodes(names, source, kernel.WHITESPACE)
    return names.names()


class Tokens(NamedTuple):
    """A stretch of a file, its words numbered: line i is numbers[firsts[i]:firsts[i + 1]].

    `describe` tells the place and the text of a word.
    """

    numbers: Numbers
    firsts: npt.NDArray[np.int64]
    describe: Callable[[int], tuple[str, str]]


def read_tokens(source: TextSource, known: Iterable[str]) -> Iterator[Tokens]:
    """Number the words of a text, stretch by stretch; the known ones are numbered first, in their order."""
    names = FieldNames()
    names.number(names.prepare(Fields.of(known)))

    def split(block: _Block) -> tuple[Prepared, _Lines]:
        lines = _split(source, block, kernel.WHITESPACE)
        return names.prepare(lines.fields), lines

    for prepared, lines in map_ahead(split, _blocks(source)):
        yield Tokens(names.number(prepared), lines.firsts, lines.describe)


def _number_nodes(names: FieldNames, nodes: Nodes, delimiter: int) -> None:
    if nodes is None:
        return
    if not isinstance(nodes, TextSource):
        names.number(names.prepare(Fields.of(map(str, nodes))))
        return
    source = nodes
    head, blocks = _head(source, _blocks(source), what="node")
    heading = head[0].fields(delimiter)[0].lower() in _NODE_HEADINGS and len(head) > 1

    def split(block: _Block) -> Prepared:
        lines = _split(source, block, delimiter)
        if heading and block.first_line <= head[0].number:
            lines = lines._replace(firsts=lines.firsts[1:])
        return names.prepare(_checked_names(lines, lines.column(0)))

    for prepared in map_ahead(split, blocks):
        names.number(prepared)


class _Block(NamedTuple):
    """Whole lines of a file, and the number of the first."""

    data: npt.NDArray[np.uint8]
    first_line: int


class _Lines(NamedTuple):
    """The fields of a block: line i has the fields firsts[i] to firsts[i + 1] - 1."""

    label: str
    block: _Block
    fields: Fields
    firsts: npt.NDArray[np.int64]

    def column(self, number: int) -> Fields:
        return self.fields.take(self.firsts[:-1] + number)

    def columns(self, first: int, second: int) -> Fields:
        if len(self.fields.starts) == 2 * (len(self.firsts) - 1) and (first, second) == (0, 1):
            return self.fields
        return self.fields.take((self.firsts[:-1, None] + np.array([first, second])).ravel())

    def where(self, position: int) -> str:
        """The place of a byte, for messages."""
        newlines = np.count_nonzero(self.block.data[:position] == kernel.NEWLINE)
        return f"{self.label}, line {self.block.first_line + newlines}"

    def where_field(self, field: int) -> str:
        return self.where(int(self.fields.starts[field]))

    def describe(self, field: int) -> tuple[str, str]:
        return self.where_field(field), self.fields.text(field)


def _blocks(source: TextSource) -> Iterator[_Block]:
    line = 1
    while data := source.stream.read(_BLOCK) + source.stream.readline():
        if line == 1:
            data = _without_byte_order_mark(source.label, data)
        block = _Block(np.frombuffer(data, np.uint8), line)
        line += data.count(b"\n")
        yield block


def _without_byte_order_mark(label: str, data: bytes) -> bytes:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise GraphError(f"{label}, line 1: text is in UTF-8; this is UTF-16, so pass encoding='utf-16'")
    return data.removeprefix(b"\xef\xbb\xbf")


def _split(source: TextSource, block: _Block, delimiter: int) -> _Lines:
    data = block.data
    starts = np.empty(len(data) + 2, np.int64)
    ends, firsts = np.empty_like(starts), np.empty_like(starts)
    comments = np.frombuffer(source.comments.encode(), np.uint8)
    n_fields, n_lines = kernel.tokenize(data, 0, len(data), delimiter, comments, starts, ends, firsts)
    lines = _Lines(source.label, block, Fields(data, starts[:n_fields], ends[:n_fields]), firsts[: n_lines + 1])
    if data.min() == 0:
        raise GraphError(f"{lines.where(int(np.argmin(data)))}: text has no NUL byte; the file is binary")
    if data.max() >= 128:
        try:
            data.tobytes().decode()
        except UnicodeDecodeError as error:
            place = lines.where(error.start)
            raise GraphError(f"{place}: text is in UTF-8; this is not, so pass its encoding, as latin-1") from None
    return lines


def _check_field_counts(lines: _Lines, expected: int) -> None:
    wrong = np.diff(lines.firsts) != expected
    if wrong.any():
        line = int(np.argmax(wrong))
        place, got = lines.where_field(int(lines.firsts[line])), int(np.diff(lines.firsts)[line])
        raise GraphError(f"{place}: an edge has {expected} fields in this file; got {got}")


def _checked_names(lines: _Lines, fields: Fields) -> Fields:
    empty = fields.starts == fields.ends
    if empty.any():
        place = lines.where(int(fields.starts[np.argmax(empty)]))
        raise GraphError(f"{place}: a node name is not empty")
    return fields


def _weights(lines: _Lines, fields: Fields) -> Weights:
    values = np.empty(len(fields.starts))
    kernel.parse_weights(*fields, values)
    for i in np.flatnonzero(np.isnan(values)).tolist():
        text = fields.text(i)
        try:
            values[i] = float("none" if "_" in text else text)
        except ValueError:
            raise GraphError(f"{lines.where(int(fields.starts[i]))}: a weight is a number; got {text!r}") from None
        if not 0 < values[i] < np.inf:
            place = lines.where(int(fields.starts[i]))
            raise GraphError(f"{place}: a weight is finite and positive; got {text}")
    return values


class _HeadLine(NamedTuple):
    number: int
    text: str

    def fields(self, delimiter: int) -> list[str]:
        block = _Block(np.frombuffer(self.text.encode(), np.uint8), self.number)
        fields = _split(TextSource(None, "", ""), block, delimiter).fields  # type: ignore[arg-type]
        return [fields.text(i) for i in range(len(fields.starts))]


class _Layout(NamedTuple):
    """Where the columns of an edge list are."""

    delimiter: int
    fields: int
    source: int
    target: int
    weight: int | None
    header: bool


def _head(source: TextSource, blocks: Iterator[_Block], what: str = "edge") -> tuple[list[_HeadLine], Iterator[_Block]]:
    """The first lines, at most two, that are neither blank nor comments; and all blocks from theirs on."""
    for block in blocks:
        head = []
        for number, line in enumerate(block.data.tobytes().split(b"\n"), block.first_line):
            text = line.decode("utf-8", "replace").strip(" \r")
            if text.strip() and not (source.comments and text.lstrip().startswith(tuple(source.comments))):
                head.append(_HeadLine(number, text))
                if len(head) == 2:
                    break
        if head:
            return head, chain([block], blocks)
    raise GraphError(f"{source.label}: a graph has at least one {what}; the file is empty")


def _delimiter_code(source: TextSource, delimiter: str) -> int:
    if delimiter in (" ", "whitespace"):
        return kernel.WHITESPACE
    if len(delimiter) != 1 or not delimiter.isascii():
        raise GraphError(f"{source.label}: a delimiter is one ASCII character or 'whitespace'; got {delimiter!r}")
    return ord(delimiter)


def _guess_delimiter(source: TextSource, line: str, counts: tuple[int, int]) -> int:
    """Tabs, commas or semicolons where they make a likely number of fields, white space otherwise."""
    is_csv = ".csv" in source.label.lower()
    for delimiter in "\t,;":
        fields = line.count(delimiter) + 1
        if fields > 1 and (counts[0] <= fields <= counts[1] or is_csv or delimiter == "\t"):
            return ord(delimiter)
    return kernel.WHITESPACE


def _layout(source: TextSource, head: list[_HeadLine], columns: Columns) -> _Layout:
    code = (
        _delimiter_code(source, columns.delimiter)
        if columns.delimiter
        else _guess_delimiter(source, head[0].text, (2, 3))
    )
    first = head[0].fields(code)
    second = head[1].fields(code) if len(head) > 1 else []
    place = f"{source.label}, line {head[0].number}"
    header = _has_header(first, second, columns, code)
    heading = [field.lower() for field in first] if header else []

    def position(wanted: str | int | None) -> int | None:
        if isinstance(wanted, str):
            if wanted.lower() not in heading:
                raise GraphError(f"{place}: no column {wanted!r}; there are: {', '.join(first)}")
            return heading.index(wanted.lower())
        if wanted is not None and not 0 <= wanted < len(first):
            raise GraphError(f"{place}: no column {wanted}; the line has {len(first)} fields")
        return wanted

    given = position(columns.source), position(columns.target), position(columns.weight)
    by_name = _columns_by_name(heading)
    if len(first) < 2:
        raise GraphError(f"{place}: an edge has two node names; got {len(first)} field")
    if len(first) > 3 and by_name is None and given[0] is None:
        _refuse_many_fields(place, first)
    if given[0] is not None or given[1] is not None:
        ends = (given[0] or 0, 1 if given[1] is None else given[1])
        weight = given[2]
    else:
        ends = by_name[:2] if by_name else (0, 1)
        default = by_name[2] if by_name else (2 if len(first) == 3 else None)
        weight = given[2] if given[2] is not None else default
    if columns.weighted and weight is None:
        raise GraphError(f"{place}: a weighted graph has a weight column; the line has {len(first)} fields")
    if columns.weighted is False:
        weight = None
    return _Layout(code, len(first), *ends, weight, header)


def _refuse_many_fields(place: str, fields: list[str]) -> None:
    hint = "choose columns, as source=0, target=1, weight=2"
    if any(field.startswith("{") for field in fields):
        hint = "for attributes in braces, write the file again with networkx.write_weighted_edgelist"
    raise GraphError(f"{place}: an edge has two node names and at most a weight; got {len(fields)} fields; {hint}")


def _has_header(first: list[str], second: list[str], columns: Columns, delimiter: int) -> bool:
    if columns.header is not None:
        return columns.header
    if any(isinstance(column, str) for column in (columns.source, columns.target, columns.weight)):
        return True
    if delimiter == kernel.WHITESPACE:
        return False
    if _columns_by_name([field.lower() for field in first]) is not None:
        return True
    # A first line of words over lines of numbers.
    return len(second) == len(first) > 1 and not any(map(_is_number, first)) and all(map(_is_number, second[:2]))


def _is_number(field: str) -> bool:
    return field.lstrip("-").isdigit()


def _columns_by_name(heading: list[str]) -> tuple[int, int, int | None] | None:
    for source, target in _PAIRS:
        if source in heading and target in heading:
            weight = next((heading.index(name) for name in _WEIGHTS if name in heading), None)
            return heading.index(source), heading.index(target), weight
    return None
