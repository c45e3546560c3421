"""Text with a name and its vector on each line: CSV, TSV, word2vec's text, and the tensors of TensorBoard's projector.

Values are written as the shortest decimals that read back as the same 32 bits. Arrow prints and parses them, a chunk of
rows at a time; Python handles rows, never single numbers.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from itertools import chain
from typing import BinaryIO, NamedTuple

import numpy as np

from efge.embedding.common import CHUNK_BYTES, IF_GRAPH, NamedVectors, Vectors
from efge.errors import EmbeddingError
from efge.graph.names import Names, encode_utf8, format_names, parse_names, unescape_name
from efge.parallel import map_ahead

# Values to print at a time.
_CHUNK_VALUES = 1 << 19

# A record is a quoted name or a bare name, followed by values: three groups in each pattern. Where a format has no
# quotes, `((?!))?` never matches; where it has no names, `()` is empty.
_CSV_RECORD = re.compile(rb'(?:"([^"]*(?:""[^"]*)*)"|((?!")[^,\n]*))(?:,([^\n]*))?\n')
_TSV_RECORD = re.compile(rb'(?:"([^"]*(?:""[^"]*)*)"|((?!")[^\t\n]*))(?:\t([^\n]*))?\n')
_WORD2VEC_RECORD = re.compile(rb"((?!))?([^ \n]*)(?: ([^\n]*))?\n")
_TENSOR_RECORD = re.compile(rb"((?!))?()([^\n]*)\n")

# Titles of a column of names whose other columns are numbered.
_NAME_TITLES = (b"", b"node", b"name", b"id", b"index")
_COUNT = re.compile(rb"[0-9]{1,18}")


class Layout(NamedTuple):
    """The separator of values, the number of values in a record, and the line that determines it, for errors."""

    separator: bytes
    dim: int
    source: str


class _Chunk(NamedTuple):
    """Complete records of a file."""

    label: str
    first_line: int
    data: bytes
    starts: list[int]  # where each record begins in `data`
    names: list[bytes]
    quoted: list[bool]  # whether each name is in quotes
    values: list[bytes]

    def line(self, record: int) -> str:
        """Return the line of a record, for errors."""
        before = self.data.count(b"\n", 0, self.starts[record])
        return f"line {self.first_line + before}"

    def position(self, record: int) -> str:
        """Return the file and line of a record, for errors."""
        return f"{self.label}, {self.line(record)}"

    def without_first(self) -> _Chunk:
        """Return all records but the first."""
        return self._replace(
            starts=self.starts[1:], names=self.names[1:], quoted=self.quoted[1:], values=self.values[1:]
        )


class _Rows(NamedTuple):
    """Parsed records."""

    vectors: Vectors
    names: list[str]
    quoted: list[bool]


def read_csv(stream: BinaryIO, label: str) -> NamedVectors:
    """Read vectors and names from a comma-separated table."""
    return _read_table(_read_chunks(stream, label, _CSV_RECORD), label, b",")


def read_tsv(stream: BinaryIO, label: str) -> NamedVectors:
    """Read vectors and names from a tab-separated table."""
    return _read_table(_read_chunks(stream, label, _TSV_RECORD), label, b"\t")


def read_word2vec(stream: BinaryIO, label: str) -> NamedVectors:
    """Read word2vec's text: a line with the number of vectors and their dimension, then a line for each vector."""
    chunks = _read_chunks(stream, label, _WORD2VEC_RECORD)
    first = next(chunks, None)
    if first is None:
        raise EmbeddingError(f"{label}, line 1: a word2vec file begins with the number of vectors; the file is empty")
    count, dim = parse_word2vec_header(first.position(0), first.names[0], first.values[0])
    rows = _parse_chunks(chain([first.without_first()], chunks), Layout(b" ", dim, first.line(0)))
    if len(rows.names) != count:
        raise EmbeddingError(f"{first.position(0)}: the header announces {count} vectors; got {len(rows.names)}")
    return rows.vectors, parse_names(list(map(unescape_name, rows.names)))


def parse_word2vec_header(position: str, count: bytes, dim: bytes) -> tuple[int, int]:
    """Return the number of vectors and their dimension, from the first line of a word2vec file."""
    if not (_COUNT.fullmatch(count) and _COUNT.fullmatch(dim) and int(dim)):
        got = b" ".join([count, dim])[:60].decode("utf-8", "replace")
        raise EmbeddingError(
            f"{position}: a word2vec file begins with the number of vectors and their dimension; got {got!r}{IF_GRAPH}"
        )
    return int(count), int(dim)


def read_tensors(stream: BinaryIO, label: str) -> Vectors:
    """Read tab-separated vectors without names."""
    chunks = _read_chunks(stream, label, _TENSOR_RECORD)
    first = next(chunks, None)
    if first is None:
        raise EmbeddingError(f"{label}: there must be at least one vector; the file is empty")
    layout = Layout(b"\t", first.values[0].count(b"\t") + 1, first.line(0))
    return _parse_chunks(chain([first], chunks), layout).vectors


def write_csv(stream: BinaryIO, vectors: Vectors, names: Names, separator: str = ",") -> None:
    """Write a table with a header; text names are in quotes, integer names are not."""
    texts = list(map(_format_table_name, names.tolist()))
    encode_utf8(texts)
    stream.write(separator.join(["node", *map(str, range(vectors.shape[1]))]).encode() + b"\n")
    _write_rows(stream, vectors, texts, separator)


def write_tsv(stream: BinaryIO, vectors: Vectors, names: Names) -> None:
    """Write the same table as `write_csv`, tab-separated."""
    write_csv(stream, vectors, names, "\t")


def write_word2vec(stream: BinaryIO, vectors: Vectors, names: Names) -> None:
    """Write word2vec's text."""
    texts = format_names(names)
    encode_utf8(texts)
    stream.write(b"%d %d\n" % vectors.shape)
    _write_rows(stream, vectors, texts, " ")


def write_tensors(stream: BinaryIO, vectors: Vectors) -> None:
    """Write tab-separated vectors without names."""
    _write_rows(stream, vectors, None, "\t")


def _format_table_name(name: Hashable) -> str:
    if isinstance(name, str):
        return '"{}"'.format(name.replace('"', '""'))
    # An integer of more digits would be read back as text.
    if type(name) is int and abs(name) < 10**1000:
        return str(name)
    raise EmbeddingError(f"csv and tsv files keep names that are integers or text; got {name!r}, which npz may keep")


def _write_rows(stream: BinaryIO, vectors: Vectors, names: list[str] | None, separator: str) -> None:
    """Write a line for each vector: its name, if there are names, and its values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    dim = vectors.shape[1]
    step = max(1, _CHUNK_VALUES // dim)

    def format_rows(begin: int) -> memoryview:
        rows = vectors[begin : begin + step]
        values = pc.cast(pa.array(rows.reshape(-1)), pa.string())
        lines = pc.binary_join(
            pa.ListArray.from_arrays(np.arange(len(rows) + 1, dtype=np.int32) * dim, values), separator
        )
        if names is not None:
            lines = pc.binary_join_element_wise(pa.array(names[begin : begin + step], pa.string()), lines, separator)
        # Joining each line with an empty text, by a newline, terminates it; the buffer then has all lines in sequence.
        lines = pc.binary_join_element_wise(lines, "", "\n")
        return memoryview(lines.buffers()[2])

    for data in map_ahead(format_rows, range(0, len(vectors), step)):
        stream.write(data)


def _read_table(chunks: Iterator[_Chunk], label: str, separator: bytes) -> NamedVectors:
    first = next(chunks, None)
    if first is None:
        raise EmbeddingError(f"{label}: a table has a header or a row; the file is empty")
    cells = first.values[0].split(separator) if first.values[0] else []
    if not cells:
        raise EmbeddingError(f"{first.position(0)}: a row has a name and at least one value; got the name only")
    layout = Layout(separator, len(cells), first.line(0))
    has_header = _is_header(first.names[0], cells, separator)
    rows = _parse_chunks(chain([first.without_first() if has_header else first], chunks), layout)
    # Names in quotes are text; the others are integers if all of them are.
    bare_texts = [name for name, quoted in zip(rows.names, rows.quoted, strict=True) if not quoted]
    bare = iter(parse_names(bare_texts).tolist())
    return rows.vectors, [name if quoted else next(bare) for name, quoted in zip(rows.names, rows.quoted, strict=True)]


def _is_header(name: bytes, cells: list[bytes], separator: bytes) -> bool:
    """Whether the first row has something else than numbers, or column numbers under a usual title of names."""
    if name.strip() in _NAME_TITLES and [*map(_unquote, cells)] == [b"%d" % number for number in range(len(cells))]:
        return True
    return _parse_floats(separator.join(cells), separator) is None


def _read_chunks(stream: BinaryIO, label: str, record: re.Pattern[bytes]) -> Iterator[_Chunk]:
    """Yield the records of a text, a chunk at a time."""
    size = CHUNK_BYTES
    data, line = stream.read(size).removeprefix(b"\xef\xbb\xbf"), 1
    while data:
        chunk, end = _split_records(_Chunk(label, line, data, [], [], [], []), record)
        if chunk.starts:
            yield chunk
        line += data.count(b"\n", 0, end)
        # A record longer than a chunk is scanned again; doubling the size each time keeps that cheap.
        size = CHUNK_BYTES if end else 2 * size
        more = stream.read(size)
        data = data[end:] + more
        if data and not more:
            if data.endswith(b"\n"):
                raise EmbeddingError(
                    f"{label}, line {line}: a name that begins with a quote must end with one, before a separator"
                )
            # The last line may lack its newline.
            data += b"\n"


def _split_records(chunk: _Chunk, record: re.Pattern[bytes]) -> tuple[_Chunk, int]:
    """Fill a chunk with the complete records of its data, without blank lines; return it and where they end."""
    data, end = chunk.data, 0
    while match := record.match(data, end):
        begin, end = end, match.end()
        if data[begin:end].isspace():
            continue
        quoted, bare, values = match.groups()
        chunk.starts.append(begin)
        chunk.names.append(bare if quoted is None else quoted.replace(b'""', b'"'))
        chunk.quoted.append(quoted is not None)
        chunk.values.append((values or b"").rstrip(b" \r"))
    return chunk, end


def _parse_chunks(chunks: Iterator[_Chunk], layout: Layout) -> _Rows:
    rows = _Rows(np.empty((0, layout.dim), np.float32), [], [])
    vectors = [rows.vectors]
    for parsed in map_ahead(lambda chunk: _parse_chunk(chunk, layout), chunks):
        vectors.append(parsed.vectors)
        rows.names.extend(parsed.names)
        rows.quoted.extend(parsed.quoted)
    return rows._replace(vectors=np.concatenate(vectors))


def _parse_chunk(chunk: _Chunk, layout: Layout) -> _Rows:
    """Parse the records of a chunk; errors name the line."""
    separator, dim, source = layout
    for i, values in enumerate(chunk.values):
        if values.count(separator) != dim - 1 or not values:
            got = len(values.split(separator)) if values else 0
            raise EmbeddingError(f"{chunk.position(i)}: a vector has {dim} values, as in {source}; got {got}")
    flat = _parse_floats(separator.join(chunk.values), separator) if chunk.values else np.empty(0, np.float32)
    if flat is None:
        raise EmbeddingError(_describe_wrong_value(chunk, separator))
    if not np.isfinite(flat).all():
        record, column = divmod(int(np.argmin(np.isfinite(flat))), dim)
        value = chunk.values[record].split(separator)[column].decode("utf-8", "replace")
        raise EmbeddingError(f"{chunk.position(record)}: a vector must be finite in 32 bits; got {value}")
    return _Rows(flat.reshape(-1, dim), _decode_names(chunk), chunk.quoted)


def _decode_names(chunk: _Chunk) -> list[str]:
    names = []
    for i, name in enumerate(chunk.names):
        try:
            names.append(name.decode())
        except UnicodeDecodeError:
            raise EmbeddingError(f"{chunk.position(i)}: text must be UTF-8; got {name!r}") from None
    return names


def _parse_floats(text: bytes, separator: bytes) -> Vectors | None:
    """Return the numbers between separators, or None if any of them is not a number."""
    values = _parse_plain_floats(text, separator)
    if values is None and any(character in text for character in (b'"', b" ", b"\t")):
        # Other tools put quotes or spaces around numbers.
        values = _parse_plain_floats(separator.join(map(_unquote, text.split(separator))), separator)
    return values


def _parse_plain_floats(text: bytes, separator: bytes) -> Vectors | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    gaps = np.flatnonzero(np.frombuffer(text, np.uint8) == ord(separator))
    # Arrow wants the texts of all numbers in sequence, without separators, and the offset where each begins.
    offsets = np.concatenate([[0], gaps - np.arange(len(gaps)), [len(text) - len(gaps)]])
    digits = pa.py_buffer(text.replace(separator, b""))
    cells = pa.LargeStringArray.from_buffers(len(gaps) + 1, pa.py_buffer(offsets), digits)
    try:
        values: Vectors = pc.cast(cells, pa.float32()).to_numpy()
    except pa.ArrowInvalid:
        return None
    return values


def _unquote(cell: bytes) -> bytes:
    cell = cell.strip(b" \t")
    return cell[1:-1] if len(cell) > 1 and cell.startswith(b'"') and cell.endswith(b'"') else cell


def _describe_wrong_value(chunk: _Chunk, separator: bytes) -> str:
    record = _find_wrong_text(chunk.values, separator)
    cells = chunk.values[record].split(separator)
    column = _find_wrong_text(cells, separator)
    wrong = cells[column][:80].decode("utf-8", "replace")
    return f"{chunk.position(record)}: a value must be a number; got {wrong!r}{IF_GRAPH if column == 0 else ''}"


def _find_wrong_text(texts: list[bytes], separator: bytes) -> int:
    """Return the first text with something else than numbers, by bisection: each call of Arrow takes a while."""
    low, high = 0, len(texts)
    while high - low > 1:
        middle = (low + high) // 2
        if _parse_floats(separator.join(texts[low:middle]), separator) is None:
            high = middle
        else:
            low = middle
    return low
