"""Rows of text with a name and its vector in each: CSV and TSV, word2vec's text, the projector's tensors.

Values are the shortest decimals that read back as the same 32 bits. Arrow prints and parses them, a block of rows at a
time; Python sees the rows, never the single numbers.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator
from itertools import chain
from typing import BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.errors import EmbeddingError
from efge.graph.names import Names, encoded, names_of, unescaped, written_names
from efge.parallel import map_ahead

Vectors = npt.NDArray[np.float32]
NamedVectors = tuple[Vectors, Iterable[Hashable]]

# Bytes to read, and values to print, at a time: enough to keep threads busy, little beside the vectors themselves.
_BLOCK = 1 << 22
_BLOCK_VALUES = 1 << 19

# A record is a name in quotes, or a bare one, and values. Where a format has no quotes or no names, `((?!))?` is never
# there, and `()` is empty.
_CSV = re.compile(rb'(?:"([^"]*(?:""[^"]*)*)"|((?!")[^,\n]*))(?:,([^\n]*))?\n')
_TSV = re.compile(rb'(?:"([^"]*(?:""[^"]*)*)"|((?!")[^\t\n]*))(?:\t([^\n]*))?\n')
_WORD2VEC = re.compile(rb"((?!))?([^ \n]*)(?: ([^\n]*))?\n")
_TENSORS = re.compile(rb"((?!))?()([^\n]*)\n")

# What the column of names may be called where the others are numbered.
_HEADINGS = (b"", b"node", b"name", b"id", b"index")
_COUNT = re.compile(rb"[0-9]{1,18}")


class Layout(NamedTuple):
    """How values stand in the records, how many there are in each, and the line that says so."""

    separator: bytes
    dim: int
    said: str


class _Block(NamedTuple):
    """Whole records of a file: where each begins in the data, its name, whether that is in quotes, and its values."""

    label: str
    first_line: int
    data: bytes
    starts: list[int]
    names: list[bytes]
    quoted: list[bool]
    values: list[bytes]

    def line(self, record: int) -> str:
        """The line of a record, for messages."""
        before = self.data.count(b"\n", 0, self.starts[record])
        return f"line {self.first_line + before}"

    def place(self, record: int) -> str:
        """Where a record is, for messages."""
        return f"{self.label}, {self.line(record)}"

    def without_first(self) -> _Block:
        """All records but the first."""
        return self._replace(
            starts=self.starts[1:], names=self.names[1:], quoted=self.quoted[1:], values=self.values[1:]
        )


class _Rows(NamedTuple):
    """What a block's records hold."""

    vectors: Vectors
    texts: list[str]
    quoted: list[bool]


def read_csv(stream: BinaryIO, label: str) -> NamedVectors:
    """Vectors and names from a table with commas."""
    return _read_table(_blocks(stream, label, _CSV), label, b",")


def read_tsv(stream: BinaryIO, label: str) -> NamedVectors:
    """Vectors and names from a table with tabs."""
    return _read_table(_blocks(stream, label, _TSV), label, b"\t")


def read_word2vec(stream: BinaryIO, label: str) -> NamedVectors:
    """Vectors and names from word2vec's text: a line with their number and dimension, then one with each."""
    blocks = _blocks(stream, label, _WORD2VEC)
    first = next(blocks, None)
    if first is None:
        raise EmbeddingError(f"{label}, line 1: a word2vec file begins with the number of vectors; the file is empty")
    count, dim = word2vec_sizes(first.place(0), first.names[0], first.values[0])
    rows = _all_rows(chain([first.without_first()], blocks), Layout(b" ", dim, first.line(0)))
    if len(rows.texts) != count:
        raise EmbeddingError(
            f"{first.place(0)}: the file has as many vectors as it says, {count}; got {len(rows.texts)}"
        )
    return rows.vectors, names_of(list(map(unescaped, rows.texts)))


def word2vec_sizes(place: str, count: bytes, dim: bytes) -> tuple[int, int]:
    """The number of vectors and their dimension, from a word2vec file's first line."""
    if not (_COUNT.fullmatch(count) and _COUNT.fullmatch(dim) and int(dim)):
        got = b" ".join([count, dim])[:60].decode("utf-8", "replace")
        raise EmbeddingError(
            f"{place}: a word2vec file begins with the number of vectors and their dimension; got {got!r}"
        )
    return int(count), int(dim)


def read_tensors(stream: BinaryIO, label: str) -> Vectors:
    """Vectors without names, values with tabs between."""
    blocks = _blocks(stream, label, _TENSORS)
    first = next(blocks, None)
    if first is None:
        raise EmbeddingError(f"{label}: there is at least one vector; the file is empty")
    return _all_rows(chain([first], blocks), Layout(b"\t", first.values[0].count(b"\t") + 1, first.line(0))).vectors


def write_csv(stream: BinaryIO, vectors: Vectors, names: Names, separator: str = ",") -> None:
    """A table with a header; names that are text stand in quotes, integers do not."""
    heads = list(map(_table_name, names.tolist()))
    encoded(heads)
    stream.write(separator.join(["node", *map(str, range(vectors.shape[1]))]).encode() + b"\n")
    _write_rows(stream, vectors, heads, separator)


def write_tsv(stream: BinaryIO, vectors: Vectors, names: Names) -> None:
    """The table of `write_csv`, with tabs."""
    write_csv(stream, vectors, names, "\t")


def write_word2vec(stream: BinaryIO, vectors: Vectors, names: Names) -> None:
    """Word2vec's text."""
    heads = written_names(names)
    encoded(heads)
    stream.write(b"%d %d\n" % vectors.shape)
    _write_rows(stream, vectors, heads, " ")


def write_tensors(stream: BinaryIO, vectors: Vectors) -> None:
    """Vectors without names, values with tabs between."""
    _write_rows(stream, vectors, None, "\t")


def _table_name(name: Hashable) -> str:
    if isinstance(name, str):
        return '"{}"'.format(name.replace('"', '""'))
    # An integer of more digits would come back as text.
    if type(name) is int and abs(name) < 10**1000:
        return str(name)
    raise EmbeddingError(f"a table's names are integers and text; got {name!r}, which npz may keep")


def _write_rows(stream: BinaryIO, vectors: Vectors, heads: list[str] | None, separator: str) -> None:
    """Write lines with what stands before each vector, if anything, and the vector's values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    dim = vectors.shape[1]
    step = max(1, _BLOCK_VALUES // dim)

    def printed(begin: int) -> memoryview:
        block = vectors[begin : begin + step]
        values = pc.cast(pa.array(block.reshape(-1)), pa.string())
        lines = pc.binary_join(
            pa.ListArray.from_arrays(np.arange(len(block) + 1, dtype=np.int32) * dim, values), separator
        )
        if heads is not None:
            lines = pc.binary_join_element_wise(pa.array(heads[begin : begin + step], pa.string()), lines, separator)
        # Joining each line with nothing, by a newline, ends it; the lines' bytes then stand one behind the other.
        lines = pc.binary_join_element_wise(lines, "", "\n")
        return memoryview(lines.buffers()[2])

    for data in map_ahead(printed, range(0, len(vectors), step)):
        stream.write(data)


def _read_table(blocks: Iterator[_Block], label: str, separator: bytes) -> NamedVectors:
    first = next(blocks, None)
    if first is None:
        raise EmbeddingError(f"{label}: a table has a header or a row; the file is empty")
    cells = first.values[0].split(separator) if first.values[0] else []
    if not cells:
        raise EmbeddingError(f"{first.place(0)}: a row has a name and at least one value; got the name only")
    layout = Layout(separator, len(cells), first.line(0))
    rows = _all_rows(
        chain([first.without_first() if _is_header(first.names[0], cells, separator) else first], blocks), layout
    )
    # Bare names have the type that names in any text have; those in quotes are text.
    bare = iter(names_of([text for text, quoted in zip(rows.texts, rows.quoted, strict=True) if not quoted]).tolist())
    names = [text if quoted else next(bare) for text, quoted in zip(rows.texts, rows.quoted, strict=True)]
    return rows.vectors, names


def _is_header(name: bytes, cells: list[bytes], separator: bytes) -> bool:
    """Words, or the columns' numbers under a heading that a column of names has."""
    if name.strip() in _HEADINGS and [*map(_bare, cells)] == [b"%d" % number for number in range(len(cells))]:
        return True
    return _floats(separator.join(cells), separator) is None


def _blocks(stream: BinaryIO, label: str, record: re.Pattern[bytes]) -> Iterator[_Block]:
    """The records of a text, some at a time."""
    size = _BLOCK
    data, line = stream.read(size).removeprefix(b"\xef\xbb\xbf"), 1
    while data:
        block, end = _split(_Block(label, line, data, [], [], [], []), record)
        if block.starts:
            yield block
        line += data.count(b"\n", 0, end)
        # A record longer than a block is looked at again; twice as many bytes each time keep that cheap.
        size = _BLOCK if end else 2 * size
        more = stream.read(size)
        data = data[end:] + more
        if data and not more:
            if data.endswith(b"\n"):
                raise EmbeddingError(
                    f"{label}, line {line}: a name that begins with a quote ends with one, before a separator"
                )
            # The last line may lack its end.
            data += b"\n"


def _split(block: _Block, record: re.Pattern[bytes]) -> tuple[_Block, int]:
    """Find the whole records in a block's data, and where they end; blank lines are passed over."""
    data, end = block.data, 0
    while found := record.match(data, end):
        begin, end = end, found.end()
        if data[begin:end].isspace():
            continue
        quoted, bare, values = found.groups()
        block.starts.append(begin)
        block.names.append(bare if quoted is None else quoted.replace(b'""', b'"'))
        block.quoted.append(quoted is not None)
        block.values.append((values or b"").rstrip(b" \r"))
    return block, end


def _all_rows(blocks: Iterator[_Block], layout: Layout) -> _Rows:
    rows = _Rows(np.empty((0, layout.dim), np.float32), [], [])
    parts = [rows.vectors]
    for some in map_ahead(lambda block: _rows(block, layout), blocks):
        parts.append(some.vectors)
        rows.texts.extend(some.texts)
        rows.quoted.extend(some.quoted)
    return rows._replace(vectors=np.concatenate(parts))


def _rows(block: _Block, layout: Layout) -> _Rows:
    """Parse a block; whatever is wrong is told with its line."""
    separator, dim, said = layout
    for i, values in enumerate(block.values):
        if values.count(separator) != dim - 1 or not values:
            got = len(values.split(separator)) if values else 0
            raise EmbeddingError(f"{block.place(i)}: a vector has {dim} values, as {said} says; got {got}")
    flat = _floats(separator.join(block.values), separator) if block.values else np.empty(0, np.float32)
    if flat is None:
        raise EmbeddingError(_not_a_number(block, separator))
    if not np.isfinite(flat).all():
        record, column = divmod(int(np.argmin(np.isfinite(flat))), dim)
        value = block.values[record].split(separator)[column].decode("utf-8", "replace")
        raise EmbeddingError(f"{block.place(record)}: a vector is finite in 32 bits; got {value}")
    return _Rows(flat.reshape(-1, dim), _texts(block), block.quoted)


def _texts(block: _Block) -> list[str]:
    texts = []
    for i, name in enumerate(block.names):
        try:
            texts.append(name.decode())
        except UnicodeDecodeError:
            raise EmbeddingError(f"{block.place(i)}: text is in UTF-8; got {name!r}") from None
    return texts


def _floats(text: bytes, separator: bytes) -> Vectors | None:
    """The numbers between separators; None if one of them is none."""
    values = _plain_floats(text, separator)
    if values is None and any(mark in text for mark in (b'"', b" ", b"\t")):
        # Other tools put quotes or spaces around numbers.
        values = _plain_floats(separator.join(map(_bare, text.split(separator))), separator)
    return values


def _plain_floats(text: bytes, separator: bytes) -> Vectors | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    gaps = np.flatnonzero(np.frombuffer(text, np.uint8) == ord(separator))
    # Without the separators, numbers stand one behind the other, as Arrow wants them.
    starts = np.concatenate([[0], gaps - np.arange(len(gaps)), [len(text) - len(gaps)]])
    digits = pa.py_buffer(text.replace(separator, b""))
    cells = pa.LargeStringArray.from_buffers(len(gaps) + 1, pa.py_buffer(starts), digits)
    try:
        values: Vectors = pc.cast(cells, pa.float32()).to_numpy()
    except pa.ArrowInvalid:
        return None
    return values


def _bare(cell: bytes) -> bytes:
    cell = cell.strip(b" \t")
    return cell[1:-1] if len(cell) > 1 and cell.startswith(b'"') and cell.endswith(b'"') else cell


def _not_a_number(block: _Block, separator: bytes) -> str:
    record = _first_wrong(block.values, separator)
    cells = block.values[record].split(separator)
    wrong = cells[_first_wrong(cells, separator)][:80].decode("utf-8", "replace")
    return f"{block.place(record)}: a value is a number; got {wrong!r}"


def _first_wrong(texts: list[bytes], separator: bytes) -> int:
    """The first text with something else than numbers in it, by halves: Arrow takes its time for each look."""
    low, high = 0, len(texts)
    while high - low > 1:
        middle = (low + high) // 2
        if _floats(separator.join(texts[low:middle]), separator) is None:
            high = middle
        else:
            low = middle
    return low
