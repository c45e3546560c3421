"""Parquet, Feather and Arrow files -> Arrow tables, once it is known that what they claim is no more than they may."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, BinaryIO

import numpy as np

from efge.io.files import check_unpacked

# Bytes that a value takes in memory, at least.
_VALUE = 8
# Kinds of Arrow's messages, and places of fields in its flatbuffers: header, buffers, compression, data; and blocks.
_DICTIONARY, _BATCH = 2, 3
_KIND, _HEADER, _BUFFERS, _COMPRESSION, _DATA = 1, 2, 2, 3, 1
_DICTIONARIES, _BATCHES = 2, 3


def read_parquet(file: BinaryIO, label: str, **options: Any) -> Any:
    """The table of a Parquet file, unless its values take many times the bytes of the file."""
    import pyarrow.parquet as pq

    size = file.seek(0, 2)
    file.seek(0)
    with pq.ParquetFile(file, **options) as parquet:
        about = parquet.metadata
        # Of a single column nothing is asked: where that is damaged, Arrow ends the process.
        groups = [about.row_group(number) for number in range(about.num_row_groups)]
        rows = max(about.num_rows, sum(max(group.num_rows, 0) for group in groups))
        unpacked = sum(max(group.total_byte_size, 0) for group in groups)
        check_unpacked(label, max(unpacked, _VALUE * rows * about.num_columns), size)
        return parquet.read()


def read_arrow(data: bytes, label: str) -> Any:
    """The table of a Feather file, or of Arrow's file or stream format."""
    import pyarrow as pa
    import pyarrow.feather

    if data[:4] == b"FEA1":
        table = pa.feather.read_table(pa.BufferReader(data))
    else:
        is_file = data[:6] == b"ARROW1"
        messages = _file_messages(data) if is_file else _stream_messages(data)
        check_unpacked(label, sum(size for message in messages for size in _unpacked_sizes(*message)), len(data))
        reader = pa.ipc.open_file if is_file else pa.ipc.open_stream
        table = reader(pa.BufferReader(data)).read_all()
    check_unpacked(label, _VALUE * table.num_rows * max(table.num_columns, 1), len(data))
    # Arrow trusts what it reads, and would look for values outside of a damaged file.
    table.validate(full=True)
    check_unpacked(label, sum(map(_viewed_size, table.columns)), len(data))
    return table


def _viewed_size(column: Any) -> int:
    """The bytes of all texts of a column in which many may be one; views begin with the size of what they show."""
    if str(column.type) not in ("string_view", "binary_view"):
        return 0
    views = (np.frombuffer(chunk.buffers()[1], np.int32)[::4] for chunk in column.chunks if len(chunk))
    return sum(int(sizes.sum(dtype=np.int64)) for sizes in views)


def _stream_messages(data: bytes) -> Iterator[tuple[bytes, memoryview]]:
    """The heading and the content of each message."""
    import pyarrow as pa

    reader = pa.ipc.MessageReader.open_stream(pa.BufferReader(data))
    with suppress(StopIteration):
        while True:
            message = reader.read_next_message()
            yield bytes(message.metadata), memoryview(message.body or b"")


def _file_messages(data: bytes) -> Iterator[tuple[bytes, memoryview]]:
    """The same, where the end of the file says that they are."""
    size = struct.unpack_from("<i", data, len(data) - 10)[0]
    end = data[len(data) - 10 - size : len(data) - 10]
    root = struct.unpack_from("<I", end)[0]
    for blocks in (_table(end, root, _DICTIONARIES), _table(end, root, _BATCHES)):
        for number in range(struct.unpack_from("<I", end, blocks)[0] if blocks else 0):
            begin, heading, _ = struct.unpack_from("<qi4xq", end, blocks + 4 + 24 * number)
            # Older files lack the four bytes in front of a heading's size.
            skipped = 8 if data[begin : begin + 4] == b"\xff\xff\xff\xff" else 4
            yield data[begin + skipped : begin + heading], memoryview(data)[begin + heading :]


def _unpacked_sizes(content: bytes, body: memoryview) -> Iterator[int]:
    """What each packed buffer of a message says that it is when it is unpacked."""
    root = struct.unpack_from("<I", content)[0]
    place = _field(content, root, _KIND)
    kind = content[place] if place else 0
    batch = _table(content, root, _HEADER) if kind in (_DICTIONARY, _BATCH) else 0
    batch = _table(content, batch, _DATA) if batch and kind == _DICTIONARY else batch
    if not batch or not _table(content, batch, _COMPRESSION):
        return
    buffers = _table(content, batch, _BUFFERS)
    for number in range(struct.unpack_from("<I", content, buffers)[0] if buffers else 0):
        begin, size = struct.unpack_from("<qq", content, buffers + 4 + 16 * number)
        if size >= 8 and 0 <= begin <= len(body) - 8:
            yield max(0, struct.unpack_from("<q", body, begin)[0])


def _field(content: bytes, table: int, number: int) -> int:
    """Where a table's field is; 0 if it has none."""
    places = table - struct.unpack_from("<i", content, table)[0]
    if struct.unpack_from("<H", content, places)[0] < 6 + 2 * number:
        return 0
    offset = struct.unpack_from("<H", content, places + 4 + 2 * number)[0]
    return table + offset if offset else 0


def _table(content: bytes, table: int, number: int) -> int:
    """Where the table or the list is that a field points to; 0 if there is none."""
    place = _field(content, table, number)
    return place + struct.unpack_from("<I", content, place)[0] if place else 0
