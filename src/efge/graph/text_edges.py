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
from efge.graph.columns import (
    Columns,
    Head,
    count_columns,
    explain_ambiguity,
    is_number,
    pair_by_name,
    suggest_columns,
    warn_unread,
)
from efge.graph.conversion import ReadingRecord
from efge.graph.encoders import FieldEncoder, PreparedFields, Rows
from efge.graph.graph import Weights
from efge.graph.names import Fields, Names
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
_SEPARATORS = {WHITESPACE: "white space", ord("\t"): "tab", ord(","): "comma", ord(";"): "semicolon"}
_SKIP = "; to leave such lines out, pass skip_bad=True (--skip-bad)"
_NODE_HEADERS = ("id", "node", "node_id", "nodeid", "name", "nodes")

# What may stand between the two nodes of an edge.
_ARROWS = ("->", "-->", "=>", "<->", "--", "-", "→")

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
    numbers: NumberFormat = NumberFormat()
    skip_bad: bool = False


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
    layout = _detect_layout(head, text_format._replace(delimiter=text_format.delimiter or separator), columns)
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


def _point_out_comments(chunks: Iterator[Chunk], source: TextSource, layout: _Layout, start: int) -> Iterator[Chunk]:
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
    data = chunk.data.tobytes()
    for found in begin.finditer(data):
        number = chunk.first_line + data.count(b"\n", 0, found.end())
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


def _split_edges(lines: Lines, layout: _Layout, text_format: TextFormat, head: list[Line]) -> _SplitEdges:
    """Return the names and weights of lines; wrong lines raise a GraphError, or are left out."""
    skipped: list[str] = []
    if text_format.skip_bad:
        lines, skipped = _select_valid(lines, layout, text_format.numbers)
    _check_field_counts(lines, layout.fields)
    weights = None
    if layout.weight is not None:
        weights = _check_weights(lines, layout.weight, text_format.numbers, head)
    return _SplitEdges(_check_names(lines, lines.columns(layout.source, layout.target)), weights, skipped)


def _select_valid(lines: Lines, layout: _Layout, numbers: NumberFormat) -> tuple[Lines, list[str]]:
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


class _Layout(NamedTuple):
    """The delimiter and the columns of an edge list."""

    delimiter: int
    fields: int
    header: bool
    source: int
    target: int
    weight: int | None

    def describe(self, first: Line, text_format: TextFormat, columns: Columns) -> dict[str, str]:
        """Return what was guessed, in words."""
        names = first.fields(self.delimiter)
        shown = [names[number] if self.header else str(number) for number in (self.source, self.target)]
        weight = "" if self.weight is None else f", weights in {names[self.weight] if self.header else self.weight}"
        guesses = {
            "separator": _SEPARATORS.get(self.delimiter, repr(chr(self.delimiter & 0x7F))),
            "header": f"yes: {', '.join(names[:10])}" if self.header else "no",
            "columns": f"{' and '.join(shown)}{weight}",
        }
        given = {
            "separator": text_format.delimiter,
            "header": text_format.header,
            "columns": columns.source,
        }
        return {name: text for name, text in guesses.items() if given[name] is None}

    def end_names(self, first: Line) -> tuple[str, str] | None:
        """Return the names of the source and target columns; None without a header."""
        names = first.fields(self.delimiter)
        return (names[self.source].strip(), names[self.target].strip()) if self.header else None

    @property
    def is_plain(self) -> bool:
        """Whether a line is two names and nothing else."""
        return (self.fields, self.source, self.target, self.weight) == (2, 0, 1, None)


def read_head(source: TextSource, item: str) -> tuple[list[Line], Iterator[Chunk], str | None]:
    """Return the first one or two lines with content, the chunks from theirs on, and the separator of a sep= line."""
    chunks, separator = read_chunks(source), None
    for part in chunks:
        chunk = part
        if part.first_line == 1:
            chunk, separator = skip_separator_line(part)
        head = first_lines(source, chunk, 2)
        if head:
            return head, chain([chunk], chunks), separator
    thing = "table" if item == "row" else "graph"
    raise GraphError(f"{source.label}: a {thing} has at least one {item}; the file is empty")


def _detect_layout(head: list[Line], text_format: TextFormat, columns: Columns) -> _Layout:
    place = head[0].place
    likely = range(2, 4) if columns.source is None else range(2, 1 << 31)
    delimiter = choose_delimiter(head[0], text_format.delimiter, likely)
    first = head[0].fields(delimiter)
    second = head[1].fields(delimiter) if len(head) > 1 else []
    header = text_format.header
    if header is None:
        header = columns.are_named or (delimiter != WHITESPACE and _looks_like_header(first, second))
    if len(first) < 2 or _is_json(head[0].text):
        hint = _explain_content(first) or _suggest_delimiter(head[0].text)
        raise GraphError(f"{place}: an edge has two node names; got {len(first)} field{hint}")
    if len(first) > 2 and columns.source is None and first[1] in _ARROWS:
        how = "pass source=0, target=2 (--source 0 --target 2)"
        raise GraphError(f"{place}: the second field is {first[1]!r} and names no node; {how}")
    is_pivot = text_format.header is None and delimiter != WHITESPACE and _is_pivot(first, second)
    if (
        (len(first) > 3 or (len(first) == 3 and is_pivot))
        and columns.source is None
        and not (header and pair_by_name(first))
    ):
        raise GraphError(f"{place}: {_explain_fields(first, second, header, text_format.header)}")
    try:
        choice = columns.choose(Head(first if header else (), second if header else first), len(first))
    except GraphError as error:
        raise GraphError(f"{place}: {error}") from None
    if header:
        warn_unread(f"{place}: ", choice.unread)
    return _Layout(delimiter, len(first), header, *choice[:3])


def _explain_fields(first: list[str], second: list[str], header: bool, requested: bool | None) -> str:
    """Explain that a line has too many fields, and which options would choose among them."""
    named = [field.strip() for field in first]
    if len(second) == len(first) and named[1:2] == second[:1] and not is_number(named[1]):
        what = "this looks like an adjacency matrix with names"
        return f"{what}; pass pandas.read_csv(file, index_col=0) to efge.as_graph, or write it as a list of edges"
    kinds = "if rows and columns are two kinds of nodes, pass pandas.read_csv(file, index_col=0) to efge.as_graph, with"
    if header and not is_number(second[0]) and all(map(is_number, second[1:])):
        return f"{explain_ambiguity(Head(named, second), len(first))}; {kinds} bipartite=True"
    if _is_pivot(first, second):
        choices = f"if the first line is an edge, choose columns, as {suggest_columns(Head((), first), len(first))}"
        return f"{count_columns(named, len(first))}; {kinds} bipartite=True; {choices}"
    hint = _explain_content(first)
    if hint:
        return f"an edge has two node names and at most a weight; got {len(first)} fields{hint}"
    if header or requested is not None or any(map(is_number, first)):
        return explain_ambiguity(Head(named if header else (), second if header else first), len(first))
    by_number, by_name = (suggest_columns(head, len(first)) for head in (Head((), first), Head(named, second)))
    choices = f"choose them, as {by_number}; or, if the first line names the columns, as {by_name}"
    return f"{count_columns(named, len(first))}; {choices}"


def _is_pivot(first: list[str], second: list[str]) -> bool:
    """Whether two lines are a word and numbers above numbers: items that users below them have rated, if no edge."""
    numbers = [*first[1:], *second]
    return len(first) == len(second) and not is_number(first[0]) and all(map(is_number, numbers))


def _suggest_delimiter(line: bytes) -> str:
    """Say how to split a line of one field at a common mark; an empty text if there is none."""
    found = next((mark for mark in ("|", ",", ";", "\t", ":") if mark.encode() in line.strip()), None)
    return (
        ""
        if found is None
        else f"; if {found!r} separates the fields, pass delimiter={found!r} (--delimiter '{found}')"
    )


def _is_json(line: bytes) -> bool:
    """Whether a line is an object or a list in JSON, and not names."""
    text = line.strip().rstrip(b",")
    return bool(re.fullmatch(rb'\{\s*".*|\[\s*[\[{].*|\[.*\]', text))


def _explain_content(fields: list[str]) -> str:
    """Say how to read JSON, or attributes in braces, that is no list of edges; an empty text for other content."""
    if fields and fields[0].startswith(("{", "[")):
        return "; this looks like JSON, so pass format='json', or 'jsonl' for one object per line (--format json)"
    if any(field.startswith("{") for field in fields):
        return "; for attributes in braces, write the file again with networkx.write_weighted_edgelist"
    return ""


def choose_delimiter(line: Line, requested: str | None, likely: range) -> int:
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
    if len(second) != len(first) or any(map(is_number, first)):
        return False
    return all(map(_is_integer, second[:2])) or (len(second) > 2 and any(map(is_number, second)))


def _is_integer(field: str) -> bool:
    return field.lstrip("-").isdigit()
