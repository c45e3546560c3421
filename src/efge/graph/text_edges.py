"""Delimited text -> edges as pairs of rows, weights and names; errors state the line.

Chunks are read and decompressed one after the other, split into fields by compiled kernels in several threads, and
encoded as rows in the order of the file. So memory holds the edges and a few chunks, never the whole text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError, warn_user
from efge.graph.columns import Columns, is_number
from efge.graph.conversion import ReadingRecord
from efge.graph.encoders import FieldEncoder, PreparedFields, Rows
from efge.graph.graph import Weights
from efge.graph.names import Fields, Names
from efge.graph.text_layout import (
    Layout,
    TextFormat,
    choose_delimiter,
    detect_layout,
    explain_title,
    find_table,
    refuse_other_formats,
)
from efge.graph.text_lines import (
    WHITESPACE,
    Chunk,
    Line,
    Lines,
    TextSource,
    first_lines,
    read_chunks,
    skip_separator_line,
    split,
)
from efge.graph.text_numbers import NumberFormat, explain_number, parse_weights
from efge.kernels import text as kernel
from efge.parallel import map_ahead, map_in_groups

# Bytes of tokens that are encoded at a time, few enough to need little memory.
_TOKEN_CHUNK_SIZE = 1 << 19
_NO_DELIMITER = 0xFF  # never a byte of UTF-8
_MAX_LISTED = 5
# Lines by which a title is told from the table below it.
_SAMPLED_LINES = 10
_SKIP = "; to leave such lines out, pass skip_bad=True (--skip-bad)"
_OPEN_QUOTE = "a name that begins with a quote ends with one on the same line"
_NODE_HEADERS = ("id", "node", "node_id", "nodeid", "name", "nodes")

# A text file whose lines start with a name, or the names themselves.
Nodes = TextSource | Iterable[object] | None


class EncodedEdges(NamedTuple):
    """Edges as an (m, 2) array of rows, with the names of the rows."""

    ends: Rows
    weights: Weights | None
    names: Names


# Some consecutive edges: an (m, 2) array of rows, and their weights if there are any.
EdgeChunk = tuple[Rows, Weights | None]


def concatenate_edges(encoder: FieldEncoder, chunks: Iterable[EdgeChunk]) -> EncodedEdges:
    """Read all chunks; return all edges, and all names that were encoded on the way."""
    ends, weights = zip(*chunks, strict=True)
    arrays = [array for array in weights if array is not None]
    return EncodedEdges(np.concatenate(ends), np.concatenate(arrays) if arrays else None, encoder.names())


class _SplitEdges(NamedTuple):
    """The names and weights of some edges, and what is wrong with each line that was left out."""

    fields: Fields
    weights: Weights | None
    skipped: list[str]


def read_edge_list(
    source: TextSource,
    text_format: TextFormat,
    columns: Columns,
    nodes: Nodes,
    encoder: FieldEncoder,
    record: ReadingRecord,
) -> Iterator[EdgeChunk]:
    """Read an edge list: each line has two names and possibly a weight."""
    head, chunks, separator = read_head(source, "edge")
    first = next(chunks)
    chunks, sample = chain([first], chunks), first.data.tobytes()
    refuse_other_formats(source.label, sample)
    _refuse_title(first_lines(source, first, _SAMPLED_LINES), text_format.delimiter or separator)
    layout = detect_layout(head, sample, text_format._replace(delimiter=text_format.delimiter or separator), columns)
    record.guesses |= layout.describe(head[0], text_format, columns)
    record.columns = layout.end_names(head[0])
    _encode_nodes(encoder, nodes, layout.delimiter)
    chunks = _point_out_comments(chunks, source, layout, head[0].number)

    def has_header(chunk: Chunk) -> bool:
        return layout.header and chunk.first_line <= head[0].number

    def split_edges(chunk: Chunk) -> _SplitEdges:
        lines = split(chunk, source.label, source.comments, layout.delimiter).without_blank_rows()
        lines = lines.without_first() if has_header(chunk) else lines
        return _split_edges(lines, layout, text_format, head)

    def prepare(chunk: Chunk) -> tuple[PreparedFields, Weights | None, list[str]]:
        if layout.is_plain and encoder.all_integers and not has_header(chunk):
            values = _parse_integer_pairs(chunk, layout.delimiter)
            if values is not None:
                return PreparedFields(lambda: split_edges(chunk).fields, values), None, []
        fields, weights, skipped = split_edges(chunk)
        return encoder.prepare(fields), weights, skipped

    count, left_out = 0, list[str]()
    for prepared, weights, skipped in map_ahead(prepare, chunks):
        ends = encoder.encode(prepared).reshape(-1, 2)
        count += len(ends)
        left_out += skipped
        yield ends, weights
    record.rows, record.skipped = count + len(left_out), len(left_out)
    _report_skipped(source.label, left_out, count)
    if not count:
        raise GraphError(f"{source.label}: a graph has at least one edge; the file has only a header")


def _refuse_title(lines: list[Line], delimiter: str | None) -> None:
    """Raise a GraphError if the first lines are no part of the table."""
    count = find_table(lines, delimiter)
    if count:
        above = lines[count].number - 1
        advice = f"if it is a title, pass skip_lines={above} (--skip-lines {above})"
        first, second = (lines[number].fields(WHITESPACE) for number in (0, count))
        if count == 1 and len(second) == len(first) + 1 and not any(map(is_number, first)):
            advice += "; if it names columns beside the names of rows, write the file again without these, as in R by"
            advice += " row.names=FALSE"
        raise GraphError(f"{explain_title(lines, count)}; {advice}")


def _point_out_comments(chunks: Iterator[Chunk], source: TextSource, layout: Layout, start: int) -> Iterator[Chunk]:
    """Yield the chunks; warn of the first comment after line `start` if it has as many fields as an edge."""
    begin = re.compile(b"\n[" + re.escape(source.comments.encode()) + b"]") if source.comments else None
    for chunk in chunks:
        found = None if begin is None else _find_comment(chunk, begin, source.label, start)
        if found is not None:
            begin, fields = None, found.fields(layout.delimiter)
            # The first field of a remark, or of names of columns, is often the sign of a comment alone.
            if len(fields) == layout.fields and len(fields[0]) > 1:
                text = found.text.decode("utf-8", "replace").strip()
                how = "pass comments='' (--comments '') if such lines are edges"
                warn_user(f"{found.place}: {text[:80]!r} is left out as a comment; {how}")
        yield chunk


def _find_comment(chunk: Chunk, begin: re.Pattern[bytes], label: str, start: int) -> Line | None:
    """Return the first comment of a chunk after line `start`."""
    data, number, counted = chunk.data.tobytes(), chunk.first_line, 0
    for found in begin.finditer(data):
        number, counted = number + data.count(b"\n", counted, found.end()), found.end()
        if number > start:
            end = data.find(b"\n", found.end())
            return Line(label, number, data[found.start() + 1 : end if end >= 0 else len(data)])
    return None


def _report_skipped(label: str, skipped: list[str], count: int) -> None:
    """Warn of the lines that were left out, and list the first of them."""
    if skipped:
        total = len(skipped) + count
        listed = "; ".join(skipped[:_MAX_LISTED]) + (
            f"; and {len(skipped) - _MAX_LISTED:,} more" * (len(skipped) > _MAX_LISTED)
        )
        message = f"{label}: {len(skipped):,} of {total:,} lines are left out: {listed}"
        if not count:
            raise GraphError(f"{message}; no edge remains")
        warn_user(message)


def _split_edges(lines: Lines, layout: Layout, text_format: TextFormat, head: list[Line]) -> _SplitEdges:
    """Return the names and weights of lines; wrong lines raise a GraphError, or are left out."""
    skipped: list[str] = []
    if text_format.skip_bad:
        lines, skipped = _select_valid(lines, layout, text_format.numbers)
    _check_field_counts(lines, layout.fields)
    weights = None
    if layout.weight is not None:
        weights = _check_weights(lines, layout.weight, text_format.numbers, head)
    names = _check_names(lines, lines.columns(layout.source, layout.target))
    if layout.has_quotes:
        check_quotes(lines, names, _SKIP)
    return _SplitEdges(names, weights, skipped)


def _select_valid(lines: Lines, layout: Layout, numbers: NumberFormat) -> tuple[Lines, list[str]]:
    """Return the lines that are edges, and what is wrong with each of the others."""
    counts, starts = np.diff(lines.line_starts), lines.line_starts[:-1]
    reasons = {
        int(starts[line]): f"an edge has {layout.fields} fields in this file; got {counts[line]}"
        for line in np.flatnonzero(counts != layout.fields).tolist()
    }
    complete = np.flatnonzero(counts == layout.fields)
    kept = lines.select(counts == layout.fields)
    names = kept.columns(layout.source, layout.target)
    valid = np.asarray((names.starts < names.ends).reshape(-1, 2).all(axis=1))
    reasons |= {int(starts[line]): "a node name is not empty" for line in complete[~valid].tolist()}
    if layout.has_quotes:
        closed = ~kept.open_quotes(names).reshape(-1, 2).any(axis=1)
        reasons |= {int(starts[line]): _OPEN_QUOTE for line in complete[valid & ~closed].tolist()}
        valid &= closed
    if layout.weight is not None:
        fields = kept.column(layout.weight)
        weights = parse_weights(fields, numbers)
        wrong = valid & ~((weights > 0) & (weights < np.inf))
        for row in np.flatnonzero(wrong).tolist():
            reasons[int(starts[complete[row]])] = f"a weight is finite and positive; got {fields.text(row)[:40]!r}"
        valid &= ~wrong
    places = [(lines.place(int(lines.fields.starts[field])), reasons[field]) for field in sorted(reasons)]
    return kept.select(valid), [f"{place.removeprefix(lines.label + ', ')}: {reason}" for place, reason in places]


def read_adjacency_list(
    source: TextSource, text_format: TextFormat, nodes: Nodes, encoder: FieldEncoder
) -> Iterator[EdgeChunk]:
    """Read an adjacency list: each line has the name of a node, then the names of its neighbors."""
    head, chunks, separator = read_head(source, "edge")
    delimiter = choose_delimiter(head[0], text_format.delimiter or separator, likely=range(2, 1 << 31))
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
    head, chunks, _ = read_head(source, "node")
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
        raise GraphError(f"{place}: an edge has {expected} fields in this file; got {counts[line]}{_SKIP}")


def _check_names(lines: Lines, fields: Fields) -> Fields:
    """Return the fields; raise a GraphError if one is empty."""
    is_empty = fields.starts == fields.ends
    if is_empty.any():
        place = lines.place(int(fields.starts[np.argmax(is_empty)]))
        raise GraphError(f"{place}: a node name is not empty")
    return fields


def check_quotes(lines: Lines, fields: Fields, hint: str = "") -> None:
    """Raise a GraphError at the first field that opens a quote and does not close it."""
    is_open = lines.open_quotes(fields)
    if is_open.any():
        first = int(np.argmax(is_open))
        place, text = lines.place(int(fields.starts[first])), fields.text(first)
        raise GraphError(f"{place}: {_OPEN_QUOTE}; got {text[:80]}{hint}")


def _check_weights(lines: Lines, column: int, numbers: NumberFormat, head: list[Line]) -> Weights:
    """Return the weights; raise a GraphError at the first that is not finite and positive."""
    fields = lines.column(column)
    values = parse_weights(fields, numbers)
    invalid = ~((values > 0) & (values < np.inf))
    if invalid.any():
        # Finding the line number is slow, so it is done only for the message.
        first = int(np.argmax(invalid))
        place, text = lines.place(int(fields.starts[first])), fields.text(first)
        if not np.isnan(values[first]) or text.strip().lower() in ("nan", "+nan", "-nan"):
            raise GraphError(f"{place}: a weight is finite and positive; got {text[:80]}{_SKIP}")
        hint = explain_number(text) or _SKIP
        if not text.strip():
            hint = f"; if lines end in a separator, pass weighted=False (--unweighted){_SKIP}"
        elif place == head[0].place and not explain_number(text):
            hint = "; if this line names the columns, pass header=True (--header)"
            if not any(map(is_number, head[-1].fields(WHITESPACE))):
                hint += ", and for triples of subject, predicate and object, source=0, target=2 (--source 0 --target 2)"
        raise GraphError(f"{place}: a weight is a number; got {text[:80]!r}{hint}")
    return values


def read_head(source: TextSource, item: str) -> tuple[list[Line], Iterator[Chunk], str | None]:
    """Return the first one or two lines with content, the chunks from theirs on, and the separator of a sep= line."""
    chunks, separator = read_chunks(source), None
    for part in chunks:
        chunk = part
        if part.first_line == 1 + source.skip_lines:
            chunk, separator = skip_separator_line(part)
        head = first_lines(source, chunk, 2)
        if head:
            return head, chain([chunk], chunks), separator
    thing = "table" if item == "row" else "graph"
    raise GraphError(f"{source.label}: a {thing} has at least one {item}; the file is empty")
