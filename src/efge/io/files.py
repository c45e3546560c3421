"""Opening files for reading: decompression within limits, text encodings, archives, JSON and TOML."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import json
import lzma
import os
import re
import stat
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from efge.errors import GraphError, check_types

# First bytes of compressed files, by their suffix.
COMPRESSION_MAGIC = {
    ".gz": re.compile(rb"\x1f\x8b"),
    ".bz2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),
    ".xz": re.compile(rb"\xfd7zXZ\x00"),
    ".zst": re.compile(rb"\x28\xb5\x2f\xfd"),
}

# A file may expand to MAX_EXPANSION times its compressed size, and always to MAX_UNCHECKED_SIZE bytes. Edge lists
# hardly shrink to a twentieth; what shrinks much more is either small or made to fill the memory.
MAX_EXPANSION = 200
MAX_UNCHECKED_SIZE = 1 << 26
_XZ_MEMORY_LIMIT = 1 << 28
_CHUNK_SIZE = 1 << 20
_MAX_DOTS = 100


def display_name(path: str | os.PathLike[str]) -> str:
    """Return the name of a path for messages; raise a TypeError if it is no path."""
    check_types(path=path)
    return "standard input" if path == "-" else os.fspath(path)


@contextmanager
def open_input(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for reading and decompress it on the way; "-" is standard input. Errors are GraphErrors."""
    label = display_name(path)
    with ExitStack() as stack:
        try:
            raw = sys.stdin.buffer if path == "-" else stack.enter_context(Path(path).open("rb"))
            stream = _CheckedReader(cast(io.BufferedReader, raw), label)
        except FileNotFoundError:
            hint = "; files are not downloaded, so save it to the disk first" if "://" in label else ""
            raise GraphError(f"{label}: no such file{hint}") from None
        except IsADirectoryError:
            raise GraphError(f"{label}: this is a directory, not a file") from None
        except PermissionError:
            raise GraphError(f"{label}: no permission to read the file") from None
        except (OSError, ValueError) as error:
            if isinstance(error, GraphError):
                raise
            raise GraphError(f"{label!r}: the file cannot be opened: {error}") from None
        yield cast(BinaryIO, stream)


def starts_with(stream: BinaryIO, magic: bytes) -> bool:
    """Whether the raw, possibly compressed bytes of a freshly opened file start with `magic`."""
    raw = stream._raw if isinstance(stream, _CheckedReader) else stream
    return cast(io.BufferedReader, raw).peek(len(magic)).startswith(magic)


def read_position(stream: BinaryIO) -> tuple[int, int] | None:
    """Return the number of raw bytes read so far and the size of the file; None for a pipe."""
    raw = stream._raw if isinstance(stream, _CheckedReader) else stream
    with suppress(OSError):
        status = os.fstat(raw.fileno())
        return (raw.tell(), status.st_size) if stat.S_ISREG(status.st_mode) else None
    return None


class _CheckedReader:
    """A file's uncompressed bytes, up to a limit; errors are GraphErrors that name the file."""

    def __init__(self, raw: io.BufferedReader, label: str) -> None:
        self._label = label
        self._raw = raw
        self._compressed = _CountingReader(raw)
        self._stream = _decompress(raw, self._compressed, label)
        self._is_compressed = self._stream is not raw
        self._uncompressed_size = 0

    def read(self, size: int = -1) -> bytes:
        with self._translate_errors():
            if not self._is_compressed:
                return self._stream.read(size)
            # Reading in chunks reaches the limit before the memory is full.
            chunks, remaining = [], sys.maxsize if size < 0 else size
            while remaining and (chunk := self._check_size(self._stream.read(min(remaining, _CHUNK_SIZE)))):
                chunks.append(chunk)
                remaining -= len(chunk)
            return b"".join(chunks)

    def readline(self) -> bytes:
        with self._translate_errors():
            if not self._is_compressed:
                return self._stream.readline()
            chunks = [self._check_size(self._stream.readline(_CHUNK_SIZE))]
            while len(chunks[-1]) == _CHUNK_SIZE and not chunks[-1].endswith(b"\n"):
                chunks.append(self._check_size(self._stream.readline(_CHUNK_SIZE)))
            return b"".join(chunks)

    def _check_size(self, chunk: bytes) -> bytes:
        self._uncompressed_size += len(chunk)
        check_uncompressed_size(self._label, self._uncompressed_size, self._compressed.count)
        return chunk

    @property
    def closed(self) -> bool:
        return self._stream.closed

    def seekable(self) -> bool:
        # Seeking in a compressed file would decompress it without any limit.
        return not self._is_compressed and self._stream.seekable()

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
            raise GraphError(f"{self._label}: the file is damaged or truncated: {error}") from None


class _CountingReader(io.RawIOBase):
    """A stream that counts the bytes read from it."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = self._stream.readinto(buffer)
        self.count += size
        return size

    def seekable(self) -> bool:
        return self._stream.seekable()

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()


class _XzReader(io.RawIOBase):
    """Decompress one or several xz streams; unlike the standard library's reader, with a limit on memory."""

    def __init__(self, compressed: _CountingReader) -> None:
        self._compressed = compressed
        self._start_stream(b"")

    def _start_stream(self, data: bytes) -> None:
        self._decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY_LIMIT)
        self._pending = data

    def _next_stream(self) -> bool:
        """Move to the next stream, past any zero padding; return False at the end of the file."""
        data = self._decompressor.unused_data
        while not (data := data.lstrip(b"\0")):
            data = self._compressed.read(_CHUNK_SIZE) or b""
            if not data:
                return False
        self._start_stream(data)
        return True

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._decompressor.eof or self._next_stream():
            compressed, self._pending = self._pending, b""
            if not compressed and self._decompressor.needs_input:
                compressed = self._compressed.read(_CHUNK_SIZE) or b""
                if not compressed:
                    raise EOFError("the compressed data ends too early")
            data = self._decompressor.decompress(compressed, len(buffer))
            if data:
                buffer[: len(data)] = data
                return len(data)
        return 0


def check_uncompressed_size(label: str, uncompressed: int, compressed: int) -> None:
    """Raise a GraphError if data expands too much when it is decompressed."""
    if uncompressed > MAX_UNCHECKED_SIZE and uncompressed > MAX_EXPANSION * compressed:
        raise GraphError(
            f"{label}: a compressed file may expand to {MAX_UNCHECKED_SIZE:,} bytes, or to {MAX_EXPANSION} times its "
            "size; this one is larger, so decompress it yourself if you trust it"
        )


def read_archive_entry(archive: zipfile.ZipFile, name: str, label: str) -> bytes:
    """Read an entry of a ZIP archive, within the limits of compressed files."""
    member = archive.getinfo(name)
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        # Other methods can demand any amount of memory.
        raise GraphError(f"{label}, {name}: an entry is stored or deflated; this one uses another compression")
    if member.compress_size > archive.start_dir:
        raise GraphError(f"{label}, {name}: an entry is not larger than the whole file; this one claims to be")
    check_uncompressed_size(f"{label}, {name}", member.file_size, member.compress_size)
    with archive.open(member) as stream:
        # An entry that is longer than its header says is truncated here, and then fails its checksum.
        return stream.read(member.file_size + 1)


def _decompress(raw: io.BufferedReader, counted: _CountingReader, label: str) -> BinaryIO:
    start = raw.peek(10)
    compression = next((suffix for suffix, magic in COMPRESSION_MAGIC.items() if magic.match(start)), None)
    suffix = Path(label).suffix.lower()
    if start and suffix in COMPRESSION_MAGIC and compression != suffix:
        raise GraphError(f"{label}: the content of a {suffix} file is compressed that way; this one is not")
    if compression == ".gz":
        return cast(BinaryIO, gzip.GzipFile(fileobj=counted))
    if compression == ".bz2":
        return cast(BinaryIO, bz2.BZ2File(cast(BinaryIO, counted)))
    if compression == ".xz":
        return io.BufferedReader(_XzReader(counted), _CHUNK_SIZE)
    if compression == ".zst":
        import pyarrow as pa

        return io.BufferedReader(pa.CompressedInputStream(pa.PythonFile(counted, "r"), "zstd"))
    return raw


def recode_to_utf8(stream: BinaryIO, encoding: str, label: str) -> BinaryIO:
    """Convert a stream of text in any encoding to UTF-8."""
    try:
        if codecs.lookup(encoding).name in ("utf-8", "ascii"):
            return stream
        "".encode(encoding)  # fails for codecs that are not for text
        return cast(BinaryIO, io.BufferedReader(_Utf8Reader(stream, encoding, label)))
    except LookupError:
        raise GraphError(f"no encoding {encoding!r}; common ones: utf-8, utf-16, latin-1, cp1252") from None
    except UnicodeError as error:
        raise GraphError(f"{label}: the text is not in {encoding}: {error}") from None


class _Utf8Reader(io.RawIOBase):
    """Text of another encoding as UTF-8, converted in chunks."""

    def __init__(self, stream: BinaryIO, encoding: str, label: str) -> None:
        self._stream, self._encoding, self._label = stream, encoding, label
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._pending = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._pending:
            data = self._stream.read(io.DEFAULT_BUFFER_SIZE)
            try:
                self._pending = self._decoder.decode(data, final=not data).encode()
            except UnicodeError as error:
                raise GraphError(f"{self._label}: the text is not in {self._encoding}: {error}") from None
            if not data:
                break
        count = min(len(buffer), len(self._pending))
        buffer[:count], self._pending = self._pending[:count], self._pending[count:]
        return count


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML; raise a ValueError if the text is not valid."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    # The parser's time grows with the square of the number of dots in a key.
    if any(line.count(".") > _MAX_DOTS for line in text.splitlines()):
        raise ValueError(f"a line has {_MAX_DOTS} dots at most")
    content: dict[str, Any] = _parse(tomllib.loads, text)
    return content


def parse_json(text: str | bytes) -> Any:
    """Parse JSON; raise a ValueError if the text is not valid."""
    return _parse(json.loads, text)


def _parse(load: Callable[[Any], Any], text: str | bytes) -> Any:
    try:
        return load(text)
    except RecursionError:
        raise ValueError("brackets are nested too deeply") from None
