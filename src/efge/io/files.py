"""Files opened for reading, unpacked on the way; and files written whole or not at all."""

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

from efge.errors import GraphError

# What packed files begin with, by the suffix they go by.
PACKED = {
    ".gz": re.compile(rb"\x1f\x8b"),
    ".bz2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),
    ".xz": re.compile(rb"\xfd7zXZ\x00"),
    ".zst": re.compile(rb"\x28\xb5\x2f\xfd"),
}

# A packed file may become so many times larger, and any may have this size: edges hardly shrink to a twentieth, and
# what shrinks more is small, or was made to fill the memory.
MOST_TIMES_LARGER = 200
SMALL_ENOUGH = 1 << 26
_MEMORY_OF_XZ = 1 << 28
_PIECE = 1 << 20
_MOST_DOTS = 100


def label_of(path: str | os.PathLike[str]) -> str:
    """What messages call a path."""
    return "standard input" if path == "-" else os.fspath(path)


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """The file's bytes, unpacked; "-" is standard input. Trouble on the way is a GraphError."""
    label = label_of(path)
    with ExitStack() as stack:
        try:
            raw = sys.stdin.buffer if path == "-" else stack.enter_context(Path(path).open("rb"))
            stream = _Checked(cast(io.BufferedReader, raw), label)
        except FileNotFoundError:
            raise GraphError(f"{label}: no such file") from None
        except IsADirectoryError:
            raise GraphError(f"{label}: a directory is not a file that can be read") from None
        except PermissionError:
            raise GraphError(f"{label}: no permission to read the file") from None
        except (OSError, ValueError) as error:
            if isinstance(error, GraphError):
                raise
            raise GraphError(f"{label!r}: the file cannot be opened: {error}") from None
        yield cast(BinaryIO, stream)


def begins_with(stream: BinaryIO, mark: bytes) -> bool:
    """Whether an opened file of which nothing is read yet begins so, as it is packed."""
    raw = stream._raw if isinstance(stream, _Checked) else stream
    return cast(io.BufferedReader, raw).peek(len(mark)).startswith(mark)


def place_in(stream: BinaryIO) -> tuple[int, int] | None:
    """How many bytes of an opened file are read, and how many there are, both as they are packed; None of a pipe."""
    raw = stream._raw if isinstance(stream, _Checked) else stream
    with suppress(OSError):
        status = os.fstat(raw.fileno())
        return (raw.tell(), status.st_size) if stat.S_ISREG(status.st_mode) else None
    return None


class _Checked:
    """A file's bytes, unpacked up to a limit; errors are GraphErrors that name the file."""

    def __init__(self, raw: io.BufferedReader, label: str) -> None:
        self._label = label
        self._raw = raw
        self._packed = _Counted(raw)
        self._stream = _unpacked(raw, self._packed, label)
        self._is_packed = self._stream is not raw
        self._unpacked = 0

    def read(self, size: int = -1) -> bytes:
        with self._named_errors():
            if not self._is_packed:
                return self._stream.read(size)
            # A piece at a time: the limit is reached before the memory is.
            pieces, wanted = [], sys.maxsize if size < 0 else size
            while wanted and (piece := self._counted(self._stream.read(min(wanted, _PIECE)))):
                pieces.append(piece)
                wanted -= len(piece)
            return b"".join(pieces)

    def readline(self) -> bytes:
        with self._named_errors():
            if not self._is_packed:
                return self._stream.readline()
            pieces = [self._counted(self._stream.readline(_PIECE))]
            while len(pieces[-1]) == _PIECE and not pieces[-1].endswith(b"\n"):
                pieces.append(self._counted(self._stream.readline(_PIECE)))
            return b"".join(pieces)

    def _counted(self, piece: bytes) -> bytes:
        self._unpacked += len(piece)
        check_unpacked(self._label, self._unpacked, self._packed.count)
        return piece

    @property
    def closed(self) -> bool:
        return self._stream.closed

    def seekable(self) -> bool:
        # To seek in a packed file would be to unpack it, with nobody counting.
        return not self._is_packed and self._stream.seekable()

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
            raise GraphError(f"{self._label}: the file is damaged or cut short: {error}") from None


class _Counted(io.RawIOBase):
    """A stream that knows how much was read of it."""

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


class _Unxz(io.RawIOBase):
    """What xz has packed, in one stream or several; unlike the standard library's, it asks for memory up to a limit."""

    def __init__(self, packed: _Counted) -> None:
        self._packed = packed
        self._begin(b"")

    def _begin(self, data: bytes) -> None:
        self._decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY_OF_XZ)
        self._waiting = data

    def _next_stream(self) -> bool:
        """Whether another stream follows; zeros may stand between."""
        rest = self._decompressor.unused_data
        while not (rest := rest.lstrip(b"\0")):
            rest = self._packed.read(_PIECE) or b""
            if not rest:
                return False
        self._begin(rest)
        return True

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._decompressor.eof or self._next_stream():
            more, self._waiting = self._waiting, b""
            if not more and self._decompressor.needs_input:
                more = self._packed.read(_PIECE) or b""
                if not more:
                    raise EOFError("it ends before the end of what is packed")
            data = self._decompressor.decompress(more, len(buffer))
            if data:
                buffer[: len(data)] = data
                return len(data)
        return 0


def check_unpacked(label: str, unpacked: int, packed: int) -> None:
    """Refuse what grows too large when it is unpacked."""
    if unpacked > SMALL_ENOUGH and unpacked > MOST_TIMES_LARGER * packed:
        raise GraphError(
            f"{label}: unpacked, a file has {SMALL_ENOUGH:,} bytes at most, or {MOST_TIMES_LARGER} times those it has "
            "packed; this one has more, so unpack it yourself if you trust it"
        )


def archive_entry(archive: zipfile.ZipFile, name: str, label: str) -> bytes:
    """An entry of an archive, unpacked up to the limit that files have."""
    member = archive.getinfo(name)
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        # Others ask for as much memory as they like.
        raise GraphError(f"{label}, {name}: an entry is stored or deflated; this one is packed otherwise")
    if member.compress_size > archive.start_dir:
        raise GraphError(f"{label}, {name}: an entry is in the file; this one would be larger than all of it")
    check_unpacked(f"{label}, {name}", member.file_size, member.compress_size)
    with archive.open(member) as stream:
        # An entry that is longer than its heading says is cut there, and then has another checksum.
        return stream.read(member.file_size + 1)


def _unpacked(raw: io.BufferedReader, counted: _Counted, label: str) -> BinaryIO:
    begin = raw.peek(10)
    packed_as = next((suffix for suffix, magic in PACKED.items() if magic.match(begin)), None)
    named = Path(label).suffix.lower()
    if begin and named in PACKED and packed_as != named:
        raise GraphError(f"{label}: a file named {named} is packed that way; this one is not")
    if packed_as == ".gz":
        return cast(BinaryIO, gzip.GzipFile(fileobj=counted))
    if packed_as == ".bz2":
        return cast(BinaryIO, bz2.BZ2File(cast(BinaryIO, counted)))
    if packed_as == ".xz":
        return io.BufferedReader(_Unxz(counted), _PIECE)
    if packed_as == ".zst":
        import pyarrow as pa

        return io.BufferedReader(pa.CompressedInputStream(pa.PythonFile(counted, "r"), "zstd"))
    return raw


def in_utf8(stream: BinaryIO, encoding: str, label: str) -> BinaryIO:
    """A stream of text in another encoding as one in UTF-8."""
    try:
        if codecs.lookup(encoding).name in ("utf-8", "ascii"):
            return stream
        "".encode(encoding)  # some codecs are not for text, which only their use tells
        return cast(BinaryIO, io.BufferedReader(_Recoded(stream, encoding, label)))
    except LookupError:
        raise GraphError(f"no encoding {encoding!r}; common ones: utf-8, utf-16, latin-1, cp1252") from None
    except UnicodeError as error:
        raise GraphError(f"{label}: the text is not in {encoding}: {error}") from None


class _Recoded(io.RawIOBase):
    """Text of another encoding in UTF-8, some of it at a time."""

    def __init__(self, stream: BinaryIO, encoding: str, label: str) -> None:
        self._stream, self._encoding, self._label = stream, encoding, label
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            data = self._stream.read(io.DEFAULT_BUFFER_SIZE)
            try:
                self._ready = self._decoder.decode(data, final=not data).encode()
            except UnicodeError as error:
                raise GraphError(f"{self._label}: the text is not in {self._encoding}: {error}") from None
            if not data:
                break
        count = min(len(buffer), len(self._ready))
        buffer[:count], self._ready = self._ready[:count], self._ready[count:]
        return count


def toml(text: str) -> dict[str, Any]:
    """The names and values of a text in TOML."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    # To take a name with many dots apart, the parser needs the square of their number.
    if any(line.count(".") > _MOST_DOTS for line in text.splitlines()):
        raise ValueError(f"a line has {_MOST_DOTS} dots at most")
    found: dict[str, Any] = _nested(tomllib.loads, text)
    return found


def from_json(text: str | bytes) -> Any:
    """The value of a text in JSON; a ValueError if it has none."""
    return _nested(json.loads, text)


def _nested(load: Callable[[Any], Any], text: str | bytes) -> Any:
    try:
        return load(text)
    except RecursionError:
        raise ValueError("brackets are nested too deep") from None
