"""word2vec's binary format: after a header, each vector is a name, a space and the bytes of 32-bit floats."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np

from efge.embedding.common import CHUNK_BYTES, NamedVectors, Vectors, decode_names
from efge.embedding.text_formats import parse_word2vec_header
from efge.errors import EmbeddingError
from efge.graph.names import Names, encode_utf8, format_names, parse_names

# Vectors that are written at a time.
_CHUNK_ROWS = 1 << 12


def write_word2vec_binary(stream: BinaryIO, vectors: Vectors, names: Names) -> None:
    """Write a header, then each name with its vector."""
    texts = encode_utf8(format_names(names))
    stream.write(b"%d %d\n" % vectors.shape)
    values = vectors.astype("<f4", copy=False)
    for begin in range(0, len(texts), _CHUNK_ROWS):
        rows = zip(texts[begin : begin + _CHUNK_ROWS], values[begin : begin + _CHUNK_ROWS], strict=True)
        stream.write(b"".join(b"%b %b" % (text, row.tobytes()) for text, row in rows))


def read_word2vec_binary(stream: BinaryIO, label: str) -> NamedVectors:
    """Read vectors and names, and check that the header tells their number."""
    header, _, data = stream.read(CHUNK_BYTES).partition(b"\n")
    first, _, second = header.partition(b" ")
    count, dim = parse_word2vec_header(f"{label}, line 1", first, second.rstrip())
    names: list[bytes] = []
    chunks, size = [np.empty((0, dim), np.float32)], CHUNK_BYTES
    while len(names) < count:
        new_names, vectors, end = _split_records(data, count - len(names), 4 * dim)
        names += new_names
        chunks.append(np.frombuffer(vectors, "<f4").reshape(-1, dim))
        # The header may lie, so memory grows only with the bytes that are really there.
        size = CHUNK_BYTES if end else 2 * size
        data, before = data[end:] + stream.read(size), len(data)
        if not end and len(data) == before:
            raise EmbeddingError(
                f"{label}: the header announces {count} vectors of {dim} values; the file ends in vector {len(names)}"
            )
    if (data + stream.read(2)).removeprefix(b"\n"):
        raise EmbeddingError(f"{label}: the header announces {count} vectors of {dim} values; the file has more data")
    return np.concatenate(chunks), parse_names(decode_names(names, label, "vector"))


def _split_records(data: bytes, limit: int, size: int) -> tuple[list[bytes], bytes, int]:
    """Return the names and bytes of the complete vectors, and where they end; each may be followed by a newline."""
    names: list[bytes] = []
    vectors: list[bytes] = []
    end = 0
    while len(names) < limit:
        begin = end + data.startswith(b"\n", end)
        space = data.find(b" ", begin)
        if space < 0 or len(data) - space - 1 < size:
            break
        end = space + 1 + size
        names.append(data[begin:space])
        vectors.append(data[space + 1 : end])
    return names, b"".join(vectors), end
