"""Parquet, Feather and Arrow files -> Arrow tables, after the sizes that the files claim have been checked."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, BinaryIO

import numpy as np

from efge.io.files import check_uncompressed_size

# Minimum number of bytes of a value in memory.
_VALUE_SIZE = 8
# Arrow's message types, and the numbers of fields in its flatbuffers.
_DICTIONARY, _BATCH = 2, 3
_KIND, _HEADER, _BUFFERS, _COMPRESSION, _DATA = 1, 2, 2, 3, 1
_DICTIONARIES, _BATCHES = 2, 3


def read_parquet(file: BinaryIO, label: str, **options: Any) -> Any:
    """Read a Parquet file, unless its values would take many times the size of the file."""
    import pyarrow.parquet as pq

    size = file.seek(0, 2)
    file.seek(0)
    with pq.ParquetFile(file, **options) as parquet:
        metadata = parquet.metadata
        # Metadata of single columns is not touched: if it is damaged, Arrow kills the process.
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        rows = max(metadata.num_rows, sum(max(group.num_rows, 0) for group in groups))
        uncompressed = sum(max(group.total_byte_size, 0) for group in groups)
        check_uncompressed_size(label, max(uncompressed, _VALUE_SIZE * rows * metadata.num_columns), size)
        return parquet.read()


def read_arrow(data: bytes, label: str) -> Any:
    """Read a Feather file, or a file in Arrow's file or stream format."""
    import pyarrow as pa
    import pyarrow.feather

    if data[:4] == b"FEA1":
        table = pa.feather.read_table(pa.BufferReader(data))
    else:
        is_file = data[:6] == b"ARROW1"
        messages = _file_messages(data) if is_file else _stream_messages(data)
        check_uncompressed_size(
            label, sum(size for message in messages for size in _uncompressed_sizes(*message)), len(data)
        )
        reader = pa.ipc.open_file if is_file else pa.ipc.open_stream
        table = reader(pa.BufferReader(data)).read_all()
    check_uncompressed_size(label, _VALUE_SIZE * table.num_rows * max(table.num_columns, 1), len(data))
    # Arrow trusts its input, and would read outside of the memory of a damaged file.
    table.validate(full=True)
    check_uncompressed_size(label, sum(map(_view_size, table.columns)), len(data))
    return table


def _view_size(column: Any) -> int:
    """Return the total length of a column of string views, which start with their length and may share their bytes."""
    if str(column.type) not in ("string_view", "binary_view"):
        return 0
    views = (np.frombuffer(chunk.buffers()[1], np.int32)[::4] for chunk in column.chunks if len(chunk))
    return sum(int(sizes.sum(dtype=np.int64)) for sizes in views)


def _stream_messages(data: bytes) -> Iterator[tuple[bytes, memoryview]]:
    """Yield the metadata and the body of each message of a stream."""
    import pyarrow as pa

    reader = pa.ipc.MessageReader.open_stream(pa.BufferReader(data))
    with suppress(StopIteration):
        while True:
            message = reader.read_next_message()
            yield bytes(message.metadata), memoryview(message.body or b"")


def _file_messages(data: bytes) -> Iterator[tuple[bytes, memoryview]]:
    """Yield the metadata and the body of each message of a file, at the offsets that its footer gives."""
    size = struct.unpack_from("<i", data, len(data) - 10)[0]
    footer = data[len(data) - 10 - size : len(data) - 10]
    root = struct.unpack_from("<I", footer)[0]
    for blocks in (_table(footer, root, _DICTIONARIES), _table(footer, root, _BATCHES)):
        for number in range(struct.unpack_from("<I", footer, blocks)[0] if blocks else 0):
            start, length, _ = struct.unpack_from("<qi4xq", footer, blocks + 4 + 24 * number)
            # Older files lack the four bytes before the size of the metadata.
            prefix = 8 if data[start : start + 4] == b"\xff\xff\xff\xff" else 4
            yield data[start + prefix : start + length], memoryview(data)[start + length :]


def _uncompressed_sizes(metadata: bytes, body: memoryview) -> Iterator[int]:
    """Yield the uncompressed size that each compressed buffer of a message claims."""
    root = struct.unpack_from("<I", metadata)[0]
    position = _field(metadata, root, _KIND)
    kind = metadata[position] if position else 0
    batch = _table(metadata, root, _HEADER) if kind in (_DICTIONARY, _BATCH) else 0
    batch = _table(metadata, batch, _DATA) if batch and kind == _DICTIONARY else batch
    if not batch or not _table(metadata, batch, _COMPRESSION):
        return
    buffers = _table(metadata, batch, _BUFFERS)
    for number in range(struct.unpack_from("<I", metadata, buffers)[0] if buffers else 0):
        start, size = struct.unpack_from("<qq", metadata, buffers + 4 + 16 * number)
        if size >= 8 and 0 <= start <= len(body) - 8:
            yield max(0, struct.unpack_from("<q", body, start)[0])


def _field(buffer: bytes, table: int, number: int) -> int:
    """Return the offset of a field of a flatbuffers table; 0 if it has none."""
    vtable = table - struct.unpack_from("<i", buffer, table)[0]
    if struct.unpack_from("<H", buffer, vtable)[0] < 6 + 2 * number:
        return 0
    offset = struct.unpack_from("<H", buffer, vtable + 4 + 2 * number)[0]
    return table + offset if offset else 0


def _table(buffer: bytes, table: int, number: int) -> int:
    """Return the offset of the table or vector that a field points to; 0 if there is none."""
    position = _field(buffer, table, number)
    return position + struct.unpack_from("<I", buffer, position)[0] if position else 0
