"""Mutations of inputs: of any bytes, and of the content of compressed files, archives and checksummed files."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

MAX_LENGTH = 1 << 14

_HUGE = (b"1000000000000", b"2147483648", b"4294967296", b"9223372036854775807", b"18446744073709551616", b"-1", b"0")
_UNUSUAL = (b"1e400", b"nan", b"inf", b"-0", b"00", b"1_0", b"9" * 5000, "٣".encode(), b"0x10", b"1e-400", b"+1")
_INTEGERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 10**12, 2**63 - 1, 2**64 - 1)
_INSERTIONS = (
    b"\n", b"\r\n", b"\0", b'"', b",", b"\t", b" ", b"#", b"%", b"[", b"{", b"<", b"(", b"\xff\xfe", b"\xef\xbb\xbf",
    b"\xed\xa0\x80", b"\\u0020", b"\x1e", "\u2028".encode(), b"*Vertices 1000000000000\n", b"<!DOCTYPE a>", b"&a;",
)  # fmt: skip


class Wrapping(NamedTuple):
    """How to unwrap an input into parts, and how to wrap it again with one part replaced."""

    unwrap: Callable[[bytes], list[bytes]]
    rewrap: Callable[[bytes, int, bytes], bytes]


def mutated(data: bytes, others: Sequence[bytes], random: Random, wrapping: Wrapping | None = None) -> bytes:
    """Return an input with one or a few mutations, often within its wrapping."""
    if wrapping is not None and random.random() < 0.6:
        return mutate_inside(data, random, wrapping, lambda part: _mutate(part, others, random))
    return _mutate(data, others, random)


def mutate_inside(data: bytes, random: Random, wrapping: Wrapping, change: Callable[[bytes], bytes]) -> bytes:
    """Change one part of the wrapped content, or the input as a whole if it cannot be unwrapped."""
    try:
        parts = wrapping.unwrap(data)
        number = random.randrange(len(parts))
        return wrapping.rewrap(data, number, change(parts[number]))
    except Exception:
        # Earlier mutations damaged the wrapping; libraries raise any exception then.
        return change(data)


def _mutate(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        data = random.choice(_MUTATIONS)(data, others, random)[:MAX_LENGTH]
    return data


def _flip(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    if not data:
        return b"\0"
    position = random.randrange(len(data))
    return data[:position] + bytes([data[position] ^ (1 << random.randrange(8))]) + data[position + 1 :]


def _truncate(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _drop(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    start, end = _range(data, random)
    return data[:start] + data[end:]


def _repeat(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    start, end = _range(data, random)
    times = random.choice((2, 2, 3, 10, 100, 1000))
    return data[:start] + data[start:end] * min(times, 1 + MAX_LENGTH // max(1, end - start)) + data[end:]


def _splice(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    other = random.choice(others)
    start, end = _range(other, random)
    position = random.randrange(len(data) + 1)
    return data[:position] + other[start:end] + data[position + random.choice((0, end - start)) :]


def _insert(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    position = random.randrange(len(data) + 1)
    return data[:position] + random.choice(_INSERTIONS) * random.choice((1, 1, 1, 2, 500)) + data[position:]


def _replace_number(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """Replace a decimal number by a huge or unusual one."""
    numbers = list(re.finditer(rb"-?[0-9]+", data))
    if not numbers:
        return _flip(data, others, random)
    chosen = random.choice(numbers)
    return data[: chosen.start()] + random.choice(random.choice((_HUGE, _UNUSUAL))) + data[chosen.end() :]


def _replace_bytes(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """Replace some bytes by an integer that is unlikely as a size."""
    size, code = random.choice(((1, "B"), (2, "<H"), (4, "<I"), (8, "<Q"), (4, ">I"), (8, ">Q")))
    position = random.randrange(max(1, len(data) - size + 1))
    value = random.choice(_INTEGERS) & ((1 << 8 * size) - 1)
    return data[:position] + struct.pack(code, value) + data[position + size :]


def _range(data: bytes, random: Random) -> tuple[int, int]:
    start = random.randrange(len(data) + 1)
    return start, min(len(data), start + random.choice((1, 2, 4, 8, 16, 64, 1024)))


_MUTATIONS = (
    _flip,
    _flip,
    _truncate,
    _drop,
    _repeat,
    _splice,
    _insert,
    _replace_number,
    _replace_number,
    _replace_bytes,
    _replace_bytes,
)


# Compressed files


_MAX_UNCOMPRESSED = 1 << 20


def compression(suffix: str) -> Wrapping:
    """A file that is compressed as a whole."""

    def unwrap(data: bytes) -> list[bytes]:
        if suffix == ".gz":
            return [zlib.decompressobj(31).decompress(data, _MAX_UNCOMPRESSED)]
        if suffix == ".bz2":
            return [bz2.BZ2Decompressor().decompress(data, _MAX_UNCOMPRESSED)]
        if suffix == ".xz":
            return [lzma.LZMADecompressor(memlimit=1 << 26).decompress(data, _MAX_UNCOMPRESSED)]
        import pyarrow as pa

        return [pa.CompressedInputStream(pa.BufferReader(data), "zstd").read(_MAX_UNCOMPRESSED)]

    def rewrap(data: bytes, number: int, part: bytes) -> bytes:
        if suffix == ".gz":
            return gzip.compress(part, 1, mtime=0)
        if suffix == ".bz2":
            return bz2.compress(part)
        if suffix == ".xz":
            return lzma.compress(part, preset=0)
        import pyarrow as pa

        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, "zstd") as stream:
            stream.write(part)
        return bytes(sink.getvalue())

    return Wrapping(unwrap, rewrap)


# Archives: the entries, with their checksums


def _unwrap_zip(data: bytes) -> list[bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [archive.open(member).read(_MAX_UNCOMPRESSED) for member in archive.infolist()]


def _rewrap_zip(data: bytes, number: int, part: bytes) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(sink, "w") as changed:
        for position, member in enumerate(archive.infolist()):
            content = part if position == number else archive.open(member).read(_MAX_UNCOMPRESSED)
            changed.writestr(zipfile.ZipInfo(member.filename), content, member.compress_type)
    return sink.getvalue()


ZIP = Wrapping(_unwrap_zip, _rewrap_zip)


# Elements of Matlab files, each of which may be compressed

_MATLAB_COMPRESSED = 15


def _matlab_elements(data: bytes) -> list[tuple[bool, bytes]]:
    """Return the header and each element, with a flag whether it was compressed."""
    elements, position = [(False, data[:128])], 128
    while position + 8 <= len(data):
        kind, size = struct.unpack_from("<II", data, position)
        end = position + 8 + size
        is_compressed = kind == _MATLAB_COMPRESSED
        content = data[position:end]
        if is_compressed:
            content = zlib.decompressobj().decompress(content[8:], _MAX_UNCOMPRESSED)
        elements.append((is_compressed, content))
        position = end
    return elements


def _rewrap_matlab(data: bytes, number: int, part: bytes) -> bytes:
    changed = []
    for i, (is_compressed, content) in enumerate(_matlab_elements(data)):
        element = part if i == number else content
        changed.append(_compress_matlab(element) if is_compressed else element)
    return b"".join(changed)


def _compress_matlab(content: bytes) -> bytes:
    compressed = zlib.compress(content)
    return struct.pack("<II", _MATLAB_COMPRESSED, len(compressed)) + compressed


MATLAB = Wrapping(lambda data: [content for _, content in _matlab_elements(data)], _rewrap_matlab)


# Files that end with a checksum of all other bytes

CHECKSUM = Wrapping(lambda data: [data[:-32]], lambda data, number, part: part + hashlib.sha256(part).digest())

# Converted graphs: a header of 4,096 bytes with two lines and their checksum, then the arrays


def _unwrap_graph(data: bytes) -> list[bytes]:
    return [b"\n".join(data.split(b"\n", 2)[:2]), data[4096:]]


def _rewrap_graph(data: bytes, number: int, part: bytes) -> bytes:
    lines, arrays = (part if number == i else content for i, content in enumerate(_unwrap_graph(data)))
    lines += b"\n"
    return (lines + hashlib.sha256(lines).hexdigest().encode() + b"\n").ljust(4096, b" ")[:4096] + arrays


CONVERTED = Wrapping(_unwrap_graph, _rewrap_graph)
