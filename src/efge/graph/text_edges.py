"""Delimited text -> numbered nodes, edges and weights: split by compiled kernels, block by block, checked to the line.

Blocks are read (and unpacked) one after the other, split into fields by several threads, and numbered in the order of
the file; so memory holds the edges and a few blocks, never the text.
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
from efge.graph.graph import Weights
from efge.graph.names import FieldNames, Fields, Names, Numbers, Prepared
from efge.graph.text_lines import WHITESPACE, Block, Line, Lines, TextSource, blocks_of, first_lines, split
from efge.kernels import text as kernel
from efge.parallel import map_ahead, map_together

# Bytes of words that are numbered at a time, few enough to need little memory beside whatever they are for.
_WORDS = 1 << 19
_NO_DELIMITER = 0xFF  # never a byte of UTF-8
_NODE_HEADINGS = ("id", "node", "node_id", "nodeid", "name", "nodes")

# A text file whose lines begin with a name, or the names themselves.
Nodes = TextSource | Iterable[object] | None


class NumberedEdges(NamedTuple):
    """Edges as an (m, 2) array of rows, with the names of the rows."""

    ends: Numbers
    weights: Weights | None
    names: Names


class TextFormat(NamedTuple):
    """How a table is written; None: see what it looks like."""

    delimiter: str | None = None
    header: bool | None = None


# Some edges: rows of their ends, and their weights if there are any.
Piece = tuple[Numbers, Weights | None]


def together(names: FieldNames, pieces: Iterable[Piece]) -> NumberedEdges:
    """All edges of a file, and all names that were numbered on the way."""
    ends, weights = zip(*pieces, strict=True)
    some = [part for part in weights if part is not None]
    return NumberedEdges(np.concatenate(ends), np.concatenate(some) if some else None, names.names())


def edge_list(
    source: TextSource, written: TextFormat, columns: Columns, nodes: Nodes, names: FieldNames
) -> Iterator[Piece]:
    """Read a line for each edge: two names and, if there is one, a weight."""
    head, blocks = _head(source, "edge")
    layout = _layout(head, written, columns)
    _number_nodes(names, nodes, layout.delimiter)

    def has_header(block: Block) -> bool:
        return layout.header and block.first_line <= head[0].number

    def split_edges(block: Block) -> tuple[Fields, Weights | None]:
        lines = split(block, source.label, source.comments, layout.delimiter)
        lines = lines.without_first() if has_header(block) else lines
        _check_field_counts(lines, layout.fields)
        weights = None if layout.weight is None else _weights(lines, layout.weight, head[0])
        return _checked_names(lines, lines.columns(layout.source, layout.target)), weights

    def prepare(block: Block) -> tuple[Prepared, Weights | None]:
        if layout.is_plain and names.are_integers and not has_header(block):
            values = _plain_values(block, layout.delimiter)
            if values is not None:
                return Prepared(lambda: split_edges(block)[0], values), None
        fields, weights = split_edges(block)
        return names.prepare(fields), weights

    count = 0
    for prepared, weights in map_ahead(prepare, blocks):
        ends = names.number(prepared).reshape(-1, 2)
        count += len(ends)
        yield ends, weights
    if not count:
        raise GraphError(f"{source.label}: a graph has at least one edge; the file has only a header")


def adjacency_list(source: TextSource, written: TextFormat, nodes: Nodes, names: FieldNames) -> Iterator[Piece]:
    """Read a line for each node: its name, then the names of its neighbors."""
    head, blocks = _head(source, "edge")
    delimiter = _delimiter(head[0], written.delimiter, likely=range(2, 1 << 31))
    _number_nodes(names, nodes, delimiter)

    def prepare(block: Block) -> tuple[Prepared, Lines]:
        lines = split(block, source.label, source.comments, delimiter)
        return names.prepare(_checked_names(lines, lines.fields)), lines

    for prepared, lines in map_ahead(prepare, blocks):
        numbers = names.number(prepared)
        heads = lines.firsts[:-1]
        is_neighbor = np.ones(len(numbers), bool)
        is_neighbor[heads] = False
        sources = np.repeat(numbers[heads], np.diff(lines.firsts) - 1)
        yield np.column_stack([sources, numbers[is_neighbor]]), None


def read_node_names(source: TextSource) -> list[str]:
    """Read a name a line."""
    names = FieldNames()
    _number_nodes(names, source, _NO_DELIMITER)
    return [str(name) for name in names.names().tolist()]


class Tokens(NamedTuple):
    """A stretch of a file, its words numbered: line i is numbers[firsts[i]:firsts[i + 1]].

    `describe` tells the place and the text of a word.
    """

    numbers: Numbers
    firsts: npt.NDArray[np.int64]
    describe: Callable[[int], tuple[str, str]]


def read_tokens(source: TextSource, known: Names, threads: int) -> Iterator[Tokens]:
    """Number the words of a text, stretch by stretch; the known names are numbered first, in their order."""
    names = FieldNames.of(known)

    def prepare(block: Block) -> tuple[Prepared, Lines]:
        lines = split(block, source.label, source.comments, WHITESPACE)
        return names.prepare(lines.fields), lines

    for prepared, lines in map_together(prepare, blocks_of(source, _WORDS), threads):
        yield Tokens(names.number(prepared), lines.firsts, lines.describe)


def _number_nodes(names: FieldNames, nodes: Nodes, delimiter: int) -> None:
    if nodes is None:
        return
    if not isinstance(nodes, TextSource):
        names.number(names.prepare(Fields.of(map(str, nodes))))
        return
    source = nodes
    head, blocks = _head(source, "node")
    has_heading = len(head) > 1 and head[0].fields(delimiter)[0].lower() in _NODE_HEADINGS

    def prepare(block: Block) -> Prepared:
        lines = split(block, source.label, source.comments, delimiter)
        lines = lines.without_first() if has_heading and block.first_line <= head[0].number else lines
        return names.prepare(_checked_names(lines, lines.column(0)))

    for prepared in map_ahead(prepare, blocks):
        names.number(prepared)


def _plain_values(block: Block, delimiter: int) -> npt.NDArray[np.int64] | None:
    """The integers of a block that holds nothing but pairs of them, the most common and the fastest case."""
    values = np.empty(len(block.data) // 2 + 2, np.int64)
    count = kernel.parse_plain_edges(block.data, delimiter, values)
    return values[:count] if count >= 0 else None


def _check_field_counts(lines: Lines, expected: int) -> None:
    counts = np.diff(lines.firsts)
    wrong = counts != expected
    if wrong.any():
        line = int(np.argmax(wrong))
        place, _ = lines.describe(int(lines.firsts[line]))
        raise GraphError(f"{place}: an edge has {expected} fields in this file; got {counts[line]}")


def _checked_names(lines: Lines, fields: Fields) -> Fields:
    empty = fields.starts == fields.ends
    if empty.any():
        place = lines.where(int(fields.starts[np.argmax(empty)]))
        raise GraphError(f"{place}: a node name is not empty")
    return fields


def _weights(lines: Lines, column: int, first: Line) -> Weights:
    fields = lines.column(column)
    values = np.empty(len(fields.starts))
    kernel.parse_weights(*fields, values)
    for i in np.flatnonzero(np.isnan(values)).tolist():
        text = fields.text(i)
        try:
            values[i] = float("none" if "_" in text else text)
        except ValueError:
            # To tell the line of a place takes long; it is told once.
            place = lines.where(int(fields.starts[i]))
            hint = "; if this line names the columns, pass header=True (--header)" if place == first.place else ""
            raise GraphError(f"{place}: a weight is a number; got {text[:80]!r}{hint}") from None
        if not 0 < values[i] < np.inf:
            place = lines.where(int(fields.starts[i]))
            raise GraphError(f"{place}: a weight is finite and positive; got {text[:80]}")
    return values


class _Layout(NamedTuple):
    """Where the columns of an edge list are."""

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


def _head(source: TextSource, what: str) -> tuple[list[Line], Iterator[Block]]:
    """The first two lines, or the only one, and all blocks from theirs on."""
    blocks = blocks_of(source)
    for block in blocks:
        head = first_lines(source, block, 2)
        if head:
            return head, chain([block], blocks)
    raise GraphError(f"{source.label}: a graph has at least one {what}; the file is empty")


def _layout(head: list[Line], written: TextFormat, columns: Columns) -> _Layout:
    place = head[0].place
    likely = range(2, 4) if columns.source is None else range(2, 1 << 31)
    delimiter = _delimiter(head[0], written.delimiter, likely)
    first = head[0].fields(delimiter)
    second = head[1].fields(delimiter) if len(head) > 1 else []
    header = written.header
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
        _point_out_weight(place, first, second, 3 - layout.source - layout.target)
    return layout


def _point_out_weight(place: str, names: list[str], values: list[str], other: int) -> None:
    """Say so where the only other column than an edge's ends has numbers, and a name that no weight is known by."""
    if re.fullmatch(r"\d+\.?\d*([eE][+-]?\d+)?", values[other]):
        name = names[other]
        warnings.warn(
            f"{place}: the column {name!r} is not read; if it is the weight, pass weight={name!r} (--weight {name}),"
            " else weighted=False (--unweighted)",
            stacklevel=2,
        )


def _delimiter(line: Line, given: str | None, likely: range) -> int:
    """The delimiter that was given; else tab, semicolon or comma, where they make a likely number of fields."""
    if given in (" ", "whitespace"):
        return WHITESPACE
    if given is not None:
        if len(given) != 1 or not given.isascii() or given in '\n\r"':
            raise GraphError(f"{line.label}: a delimiter is one ASCII character or 'whitespace'; got {given!r}")
        return ord(given)
    for delimiter in b"\t;,":
        fields = line.fields(delimiter) if delimiter in line.text else []
        sure = delimiter == ord("\t") or ".csv" in line.label.lower() or pair_by_name(fields) is not None
        if len(fields) in likely or (sure and len(fields) > 1):
            return delimiter
    return WHITESPACE


def _looks_like_header(first: list[str], second: list[str]) -> bool:
    """Names that are known as those of an edge's ends, or words over numbers."""
    if pair_by_name(first) is not None:
        return True
    return len(second) == len(first) and not any(map(_is_number, first)) and all(map(_is_number, second[:2]))


def _is_number(field: str) -> bool:
    return field.lstrip("-").isdigit()
