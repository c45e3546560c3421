"""How an input becomes another: what any bytes can suffer, and what needs to know how they are wrapped."""

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

LONGEST = 1 << 14

_HUGE = (b"1000000000000", b"2147483648", b"4294967296", b"9223372036854775807", b"18446744073709551616", b"-1", b"0")
_ODD = (b"1e400", b"nan", b"inf", b"-0", b"00", b"1_0", b"9" * 5000, "٣".encode(), b"0x10", b"1e-400", b"+1")
_WORDS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 10**12, 2**63 - 1, 2**64 - 1)
_PIECES = (
    b"\n", b"\r\n", b"\0", b'"', b",", b"\t", b" ", b"#", b"%", b"[", b"{", b"<", b"(", b"\xff\xfe", b"\xef\xbb\xbf",
    b"\xed\xa0\x80", b"\\u0020", b"\x1e", "\u2028".encode(), b"*Vertices 1000000000000\n", b"<!DOCTYPE a>", b"&a;",
)  # fmt: skip


class Wrapping(NamedTuple):
    """What is inside of an input, in parts, and the input around other parts."""

    parts: Callable[[bytes], list[bytes]]
    around: Callable[[bytes, int, bytes], bytes]


def mutated(data: bytes, others: Sequence[bytes], random: Random, wrapping: Wrapping | None = None) -> bytes:
    """An input that differs in a place or a few from one that is given, some of them inside of their wrapping."""
    if wrapping is not None and random.random() < 0.6:
        return inside(data, random, wrapping, lambda part: _several(part, others, random))
    return _several(data, others, random)


def inside(data: bytes, random: Random, wrapping: Wrapping, change: Callable[[bytes], bytes]) -> bytes:
    """Change one part of what is wrapped; all of it, if it cannot be unwrapped."""
    try:
        parts = wrapping.parts(data)
        number = random.randrange(len(parts))
        return wrapping.around(data, number, change(parts[number]))
    except Exception:
        # Damaged by earlier mutations: whatever the libraries behind a wrapping say to that.
        return change(data)


def _several(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        data = random.choice(_MUTATIONS)(data, others, random)[:LONGEST]
    return data


def _flip(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    if not data:
        return b"\0"
    place = random.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << random.randrange(8))]) + data[place + 1 :]


def _cut(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _drop(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    begin, end = _stretch(data, random)
    return data[:begin] + data[end:]


def _repeat(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    begin, end = _stretch(data, random)
    times = random.choice((2, 2, 3, 10, 100, 1000))
    return data[:begin] + data[begin:end] * min(times, 1 + LONGEST // max(1, end - begin)) + data[end:]


def _splice(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    other = random.choice(others)
    begin, end = _stretch(other, random)
    place = random.randrange(len(data) + 1)
    return data[:place] + other[begin:end] + data[place + random.choice((0, end - begin)) :]


def _insert(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    place = random.randrange(len(data) + 1)
    return data[:place] + random.choice(_PIECES) * random.choice((1, 1, 1, 2, 500)) + data[place:]


def _number(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """A decimal number becomes a huge or an odd one."""
    found = list(re.finditer(rb"-?[0-9]+", data))
    if not found:
        return _flip(data, others, random)
    chosen = random.choice(found)
    return data[: chosen.start()] + random.choice(random.choice((_HUGE, _ODD))) + data[chosen.end() :]


def _word(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """Some bytes become a number that sizes are not."""
    size, code = random.choice(((1, "B"), (2, "<H"), (4, "<I"), (8, "<Q"), (4, ">I"), (8, ">Q")))
    place = random.randrange(max(1, len(data) - size + 1))
    value = random.choice(_WORDS) & ((1 << 8 * size) - 1)
    return data[:place] + struct.pack(code, value) + data[place + size :]


def _stretch(data: bytes, random: Random) -> tuple[int, int]:
    begin = random.randrange(len(data) + 1)
    return begin, min(len(data), begin + random.choice((1, 2, 4, 8, 16, 64, 1024)))


_MUTATIONS = (_flip, _flip, _cut, _drop, _repeat, _splice, _insert, _number, _number, _word, _word)


# Packed files: what is packed, once more


_UNPACKED = 1 << 20


def packing(suffix: str) -> Wrapping:
    """A whole file that is packed."""

    def parts(data: bytes) -> list[bytes]:
        if suffix == ".gz":
            return [zlib.decompressobj(31).decompress(data, _UNPACKED)]
        if suffix == ".bz2":
            return [bz2.BZ2Decompressor().decompress(data, _UNPACKED)]
        if suffix == ".xz":
            return [lzma.LZMADecompressor(memlimit=1 << 26).decompress(data, _UNPACKED)]
        import pyarrow as pa

        return [pa.CompressedInputStream(pa.BufferReader(data), "zstd").read(_UNPACKED)]

    def around(data: bytes, number: int, part: bytes) -> bytes:
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

    return Wrapping(parts, around)


# Archives: the entries, under their own checksums


def _zip_parts(data: bytes) -> list[bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [archive.open(member).read(_UNPACKED) for member in archive.infolist()]


def _zip_around(data: bytes, number: int, part: bytes) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(sink, "w") as changed:
        for place, member in enumerate(archive.infolist()):
            content = part if place == number else archive.open(member).read(_UNPACKED)
            changed.writestr(zipfile.ZipInfo(member.filename), content, member.compress_type)
    return sink.getvalue()


ZIP = Wrapping(_zip_parts, _zip_around)


# Matlab's elements, which may be packed one by one

_MATLAB_PACKED = 15


def _matlab_elements(data: bytes) -> list[tuple[bool, bytes]]:
    """The file's head, then each element; whether it was packed."""
    found, place = [(False, data[:128])], 128
    while place + 8 <= len(data):
        kind, size = struct.unpack_from("<II", data, place)
        end = place + 8 + size
        packed = kind == _MATLAB_PACKED
        content = zlib.decompressobj().decompress(data[place + 8 : end], _UNPACKED) if packed else data[place:end]
        found.append((packed, content))
        place = end
    return found


def _matlab_around(data: bytes, number: int, part: bytes) -> bytes:
    changed = []
    for place, (packed, content) in enumerate(_matlab_elements(data)):
        inner = part if place == number else content
        changed.append(_matlab_packed(inner) if packed else inner)
    return b"".join(changed)


def _matlab_packed(content: bytes) -> bytes:
    packed = zlib.compress(content)
    return struct.pack("<II", _MATLAB_PACKED, len(packed)) + packed


MATLAB = Wrapping(lambda data: [content for _, content in _matlab_elements(data)], _matlab_around)


# Files that end with a checksum of all before

CHECKSUM = Wrapping(lambda data: [data[:-32]], lambda data, number, part: part + hashlib.sha256(part).digest())

# Graphs on disk: a heading of 4,096 bytes with two lines and their checksum, and the arrays


def _heading(data: bytes) -> list[bytes]:
    return [b"\n".join(data.split(b"\n", 2)[:2]), data[4096:]]


def _graph_around(data: bytes, number: int, part: bytes) -> bytes:
    lines, arrays = (part if number == i else kept for i, kept in enumerate(_heading(data)))
    lines += b"\n"
    return (lines + hashlib.sha256(lines).hexdigest().encode() + b"\n").ljust(4096, b" ")[:4096] + arrays


CONVERTED = Wrapping(_heading, _graph_around)
