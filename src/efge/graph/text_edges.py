"""Delimited text -> edges as pairs of rows, weights and names; errors state the line.

Chunks are read and decompressed one after the other, split into fields by compiled kernels in several threads, and
encoded as rows in the order of the file. So memory holds the edges and a few chunks, never the whole text.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError
from efge.graph.columns import Columns, pair_by_name
from efge.graph.encoders import FieldEncoder, PreparedFields, Rows
from efge.graph.graph import Weights
from efge.graph.names import Fields, Names
from efge.graph.text_lines import WHITESPACE, Chunk, Line, Lines, TextSource, first_lines, read_chunks, split
from efge.kernels import text as kernel
from efge.parallel import map_ahead, map_in_groups

# Bytes of tokens that are encoded at a time, few enough to need little memory.
_TOKEN_CHUNK_SIZE = 1 << 19
_NO_DELIMITER = 0xFF  # never a byte of UTF-8
_NODE_HEADERS = ("id", "node", "node_id", "nodeid", "name", "nodes")

# A text file whose lines start with a name, or the names themselves.
Nodes = TextSource | Iterable[object] | None


class EncodedEdges(NamedTuple):
    """Edges as an (m, 2) array of rows, with the names of the rows."""

    ends: Rows
    weights: Weights | None
    names: Names


class TextFormat(NamedTuple):
    """The format of a table; None means to detect it from the first lines."""

    delimiter: str | None = None
    header: bool | None = None


# Some consecutive edges: an (m, 2) array of rows, and their weights if there are any.
EdgeChunk = tuple[Rows, Weights | None]


def concatenate_edges(encoder: FieldEncoder, chunks: Iterable[EdgeChunk]) -> EncodedEdges:
    """Read all chunks; return all edges, and all names that were encoded on the way."""
    ends, weights = zip(*chunks, strict=True)
    arrays = [array for array in weights if array is not None]
    return EncodedEdges(np.concatenate(ends), np.concatenate(arrays) if arrays else None, encoder.names())


def read_edge_list(
    source: TextSource, text_format: TextFormat, columns: Columns, nodes: Nodes, encoder: FieldEncoder
) -> Iterator[EdgeChunk]:
    """Read an edge list: each line has two names and possibly a weight."""
    head, chunks = _read_head(source, "edge")
    layout = _detect_layout(head, text_format, columns)
    _encode_nodes(encoder, nodes, layout.delimiter)

    def has_header(chunk: Chunk) -> bool:
        return layout.header and chunk.first_line <= head[0].number

    def split_edges(chunk: Chunk) -> tuple[Fields, Weights | None]:
        lines = split(chunk, source.label, source.comments, layout.delimiter)
        lines = lines.without_first() if has_header(chunk) else lines
        _check_field_counts(lines, layout.fields)
        weights = None if layout.weight is None else _parse_weights(lines, layout.weight, head[0])
        return _check_names(lines, lines.columns(layout.source, layout.target)), weights

    def prepare(chunk: Chunk) -> tuple[PreparedFields, Weights | None]:
        if layout.is_plain and encoder.all_integers and not has_header(chunk):
            values = _parse_integer_pairs(chunk, layout.delimiter)
            if values is not None:
                return PreparedFields(lambda: split_edges(chunk)[0], values), None
        fields, weights = split_edges(chunk)
        return encoder.prepare(fields), weights

    count = 0
    for prepared, weights in map_ahead(prepare, chunks):
        ends = encoder.encode(prepared).reshape(-1, 2)
        count += len(ends)
        yield ends, weights
    if not count:
        raise GraphError(f"{source.label}: a graph has at least one edge; the file has only a header")


def read_adjacency_list(
    source: TextSource, text_format: TextFormat, nodes: Nodes, encoder: FieldEncoder
) -> Iterator[EdgeChunk]:
    """Read an adjacency list: each line has the name of a node, then the names of its neighbors."""
    head, chunks = _read_head(source, "edge")
    delimiter = _choose_delimiter(head[0], text_format.delimiter, likely=range(2, 1 << 31))
    _encode_nodes(encoder, nodes, delimiter)

    def prepare(chunk: Chunk) -> tuple[PreparedFields, Lines]:
        lines = split(chunk, source.label, source.comments, delimiter)
        return encoder.prepare(_check_names(lines, lines.fields)), lines

    for prepared, lines in map_ahead(prepare, chunks):
        rows = encoder.encode(prepared)
        first_fields = lines.line_starts[:-1]
        is_neighbor = np.ones(len(rows), bool)
        is_neighbor[first_fields] = False
        sources = np.repeat(rows[first_fields], np.diff(lines.line_starts) - 1)
        yield np.column_stack([sources, rows[is_neighbor]]), None


def read_node_names(source: TextSource) -> list[str]:
    """Read a file with one name per line."""
    encoder = FieldEncoder()
    _encode_nodes(encoder, source, _NO_DELIMITER)
    return [str(name) for name in encoder.names().tolist()]


class Tokens(NamedTuple):
    """Some lines of a file as rows: line i is rows[line_starts[i]:line_starts[i + 1]].

    `describe` returns the place and the text of a token.
    """

    rows: Rows
    line_starts: npt.NDArray[np.int64]
    describe: Callable[[int], tuple[str, str]]


def read_tokens(source: TextSource, names: Names, threads: int) -> Iterator[Tokens]:
    """Encode the tokens of a text, chunk by chunk; the given names have the first rows, in their order."""
    encoder = FieldEncoder.from_names(names)

    def prepare(chunk: Chunk) -> tuple[PreparedFields, Lines]:
        lines = split(chunk, source.label, source.comments, WHITESPACE)
        return encoder.prepare(lines.fields), lines

    for prepared, lines in map_in_groups(prepare, read_chunks(source, _TOKEN_CHUNK_SIZE), threads):
        yield Tokens(encoder.encode(prepared), lines.line_starts, lines.describe)


def _encode_nodes(encoder: FieldEncoder, nodes: Nodes, delimiter: int) -> None:
    if nodes is None:
        return
    if not isinstance(nodes, TextSource):
        encoder.encode(encoder.prepare(Fields.from_texts(map(str, nodes))))
        return
    source = nodes
    head, chunks = _read_head(source, "node")
    has_header = len(head) > 1 and head[0].fields(delimiter)[0].lower() in _NODE_HEADERS

    def prepare(chunk: Chunk) -> PreparedFields:
        lines = split(chunk, source.label, source.comments, delimiter)
        lines = lines.without_first() if has_header and chunk.first_line <= head[0].number else lines
        return encoder.prepare(_check_names(lines, lines.column(0)))

    for prepared in map_ahead(prepare, chunks):
        encoder.encode(prepared)


def _parse_integer_pairs(chunk: Chunk, delimiter: int) -> npt.NDArray[np.int64] | None:
    """Parse a chunk that has only pairs of integers, the most common and fastest case; return None for any other."""
    values = np.empty(len(chunk.data) // 2 + 2, np.int64)
    count = kernel.parse_plain_edges(chunk.data, delimiter, values)
    return values[:count] if count >= 0 else None


def _check_field_counts(lines: Lines, expected: int) -> None:
    counts = np.diff(lines.line_starts)
    wrong = counts != expected
    if wrong.any():
        line = int(np.argmax(wrong))
        place, _ = lines.describe(int(lines.line_starts[line]))
        raise GraphError(f"{place}: an edge has {expected} fields in this file; got {counts[line]}")


def _check_names(lines: Lines, fields: Fields) -> Fields:
    """Return the fields; raise a GraphError if one is empty."""
    is_empty = fields.starts == fields.ends
    if is_empty.any():
        place = lines.place(int(fields.starts[np.argmax(is_empty)]))
        raise GraphError(f"{place}: a node name is not empty")
    return fields


def _parse_weights(lines: Lines, column: int, first: Line) -> Weights:
    fields = lines.column(column)
    values = np.empty(len(fields.starts))
    kernel.parse_weights(*fields, values)
    for i in np.flatnonzero(np.isnan(values)).tolist():
        text = fields.text(i)
        try:
            values[i] = float("none" if "_" in text else text)
        except ValueError:
            # Finding the line number is slow, so it is done only for the message.
            place = lines.place(int(fields.starts[i]))
            hint = "; if this line names the columns, pass header=True (--header)" if place == first.place else ""
            raise GraphError(f"{place}: a weight is a number; got {text[:80]!r}{hint}") from None
        if not 0 < values[i] < np.inf:
            place = lines.place(int(fields.starts[i]))
            raise GraphError(f"{place}: a weight is finite and positive; got {text[:80]}")
    return values


class _Layout(NamedTuple):
    """The delimiter and the columns of an edge list."""

    delimiter: int
    fields: int
    header: bool
    source: int
    target: int
    weight: int | None

    @property
    def is_plain(self) -> bool:
        """Whether a line is two names and nothing else."""
        return (self.fields, self.source, self.target, self.weight) == (2, 0, 1, None)


def _read_head(source: TextSource, item: str) -> tuple[list[Line], Iterator[Chunk]]:
    """Return the first one or two lines with content, and the chunks from theirs on."""
    chunks = read_chunks(source)
    for chunk in chunks:
        head = first_lines(source, chunk, 2)
        if head:
            return head, chain([chunk], chunks)
    raise GraphError(f"{source.label}: a graph has at least one {item}; the file is empty")


def _detect_layout(head: list[Line], text_format: TextFormat, columns: Columns) -> _Layout:
    place = head[0].place
    likely = range(2, 4) if columns.source is None else range(2, 1 << 31)
    delimiter = _choose_delimiter(head[0], text_format.delimiter, likely)
    first = head[0].fields(delimiter)
    second = head[1].fields(delimiter) if len(head) > 1 else []
    header = text_format.header
    if header is None:
        header = columns.are_named or (delimiter != WHITESPACE and _looks_like_header(first, second))
    if len(first) < 2:
        raise GraphError(f"{place}: an edge has two node names; got {len(first)} field")
    if len(first) > 3 and columns.source is None and not (header and pair_by_name(first)):
        hint = "choose columns, as source=0, target=1, weight=2 (--source 0 --target 1 --weight 2)"
        if any(field.startswith("{") for field in first):
            hint = "for attributes in braces, write the file again with networkx.write_weighted_edgelist"
        raise GraphError(f"{place}: an edge has two node names and at most a weight; got {len(first)} fields; {hint}")
    try:
        layout = _Layout(delimiter, len(first), header, *columns.choose(first if header else [], len(first)))
    except GraphError as error:
        raise GraphError(f"{place}: {error}") from None
    if header and len(first) == len(second) == 3 and layout.weight is None and columns.weighted is None:
        _warn_if_weight(place, first, second, 3 - layout.source - layout.target)
    return layout


def _warn_if_weight(place: str, names: list[str], values: list[str], other: int) -> None:
    """Warn if the third column has numbers, and so may be a weight, but is not named like one."""
    if re.fullmatch(r"\d+\.?\d*([eE][+-]?\d+)?", values[other]):
        name = names[other]
        warnings.warn(
            f"{place}: the column {name!r} is ignored; if it is the weight, pass weight={name!r} (--weight {name}),"
            " otherwise weighted=False (--unweighted)",
            stacklevel=2,
        )


def _choose_delimiter(line: Line, requested: str | None, likely: range) -> int:
    """Return the requested delimiter; otherwise a tab, semicolon or comma that gives a likely number of fields."""
    if requested in (" ", "whitespace"):
        return WHITESPACE
    if requested is not None:
        if len(requested) != 1 or not requested.isascii() or requested in '\n\r"':
            raise GraphError(f"{line.label}: a delimiter is one ASCII character or 'whitespace'; got {requested!r}")
        return ord(requested)
    for delimiter in b"\t;,":
        fields = line.fields(delimiter) if delimiter in line.text else []
        is_certain = delimiter == ord("\t") or ".csv" in line.label.lower() or pair_by_name(fields) is not None
        if len(fields) in likely or (is_certain and len(fields) > 1):
            return delimiter
    return WHITESPACE


def _looks_like_header(first: list[str], second: list[str]) -> bool:
    """Whether the first line has known column names, or words above numbers."""
    if pair_by_name(first) is not None:
        return True
    return len(second) == len(first) and not any(map(_is_number, first)) and all(map(_is_number, second[:2]))


def _is_number(field: str) -> bool:
    return field.lstrip("-").isdigit()
