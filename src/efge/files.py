"""Files opened for reading, unpacked on the way; and files written whole or not at all."""

from __future__ import annotations

import bz2
import codecs
import errno
import gzip
import io
import lzma
import mmap
import os
import re
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
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
            stream = _unpacked(cast(io.BufferedReader, raw), label)
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
        yield cast(BinaryIO, _Checked(stream, label))


class _Checked:
    """A stream whose errors are GraphErrors that name the file."""

    def __init__(self, stream: BinaryIO, label: str) -> None:
        self._stream = stream
        self._label = label

    def read(self, size: int = -1) -> bytes:
        with self._named_errors():
            return self._stream.read(size)

    def readline(self) -> bytes:
        with self._named_errors():
            return self._stream.readline()

    @property
    def closed(self) -> bool:
        return self._stream.closed

    def seekable(self) -> bool:
        return self._stream.seekable()

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


def _unpacked(raw: io.BufferedReader, label: str) -> BinaryIO:
    begin = raw.peek(10)
    packed_as = next((suffix for suffix, magic in PACKED.items() if magic.match(begin)), None)
    named = Path(label).suffix.lower()
    if begin and named in PACKED and packed_as != named:
        raise GraphError(f"{label}: a file named {named} is packed that way; this one is not")
    if packed_as == ".gz":
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
    if packed_as == ".bz2":
        return cast(BinaryIO, bz2.BZ2File(raw))
    if packed_as == ".xz":
        return cast(BinaryIO, lzma.LZMAFile(raw))
    if packed_as == ".zst":
        import pyarrow as pa

        return io.BufferedReader(pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd"))
    return raw


def in_utf8(stream: BinaryIO, encoding: str, label: str) -> BinaryIO:
    """A stream of text in another encoding as one in UTF-8."""
    try:
        if codecs.lookup(encoding).name in ("utf-8", "ascii"):
            return stream
        return io.BytesIO(stream.read().decode(encoding).encode())
    except LookupError:
        raise GraphError(f"no encoding {encoding!r}; common ones: utf-8, utf-16, latin-1, cp1252") from None
    except UnicodeError as error:
        raise GraphError(f"{label}: the text is not in {encoding}: {error}") from None


def toml(text: str) -> dict[str, Any]:
    """The names and values of a text in TOML."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text)


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream whose bytes become the file when all is written, packed if its suffix says so; "-" is standard output.

    Until then they are in a file beside it, which goes away if anything fails; what was there before stays. A device or
    a pipe, which cannot be replaced, is written to as it is.
    """
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(path)
    target = path.resolve()
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a directory; give the name of a file in it", str(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(path.parent))
    if target.exists() and not target.is_file():
        with target.open("wb") as raw, _packing(raw, path.suffix.lower()) as stream:
            yield stream
        return
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        with os.fdopen(descriptor, "wb") as raw, _packing(raw, path.suffix.lower()) as stream:
            yield stream
        _make_durable(Path(name))
        Path(name).replace(target)
        sync_folder(target.parent)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, name):
            raise OSError(error.errno, error.strerror or str(error), str(path)) from None
        raise


def mapped(folder: Path, size: int) -> mmap.mmap:
    """Memory that lives in a file, which has no name where that can be: it goes away with the process in any case."""
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(folder))
    try:
        with tempfile.TemporaryFile(prefix=".efge-", dir=folder) as file:
            # Room on the disk is taken now: a disk that fills up later would end the process by a signal.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            else:
                file.truncate(size)
            memory = mmap.mmap(file.fileno(), size)
    except OSError as error:
        reason = f"no file of {size:,} bytes can be made in the folder: {error.strerror}"
        raise OSError(error.errno, reason, str(folder)) from None
    if hasattr(mmap, "MADV_RANDOM"):
        # Who reads a row does not want its neighbors, which the system would else read with it.
        memory.madvise(mmap.MADV_RANDOM)
    return memory


def _make_durable(path: Path) -> None:
    """Bring the bytes to the disk, with the permissions that a new file has."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
    umask = os.umask(0)
    os.umask(umask)
    path.chmod(0o666 & ~umask)


def sync_folder(folder: Path) -> None:
    """Bring a folder's entries to the disk, where folders can be opened at all."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Whether nobody else holds the folder, which is then held; the system frees it when its process ends, however.

    Nothing is written for that. Where folders cannot be locked, nobody holds them.
    """
    try:
        import fcntl
    except ImportError:
        yield True
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        except OSError:
            # A file system that knows no locks.
            yield True
            return
        try:
            yield True
        finally:
            # Said aloud, because a process forked meanwhile would else go on holding it.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def _packing(raw: BinaryIO, suffix: str) -> AbstractContextManager[BinaryIO]:
    packed: Any = nullcontext(raw)
    if suffix == ".gz":
        # Without a time or a name inside, the same content gives the same bytes.
        packed = gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0)
    elif suffix == ".bz2":
        packed = bz2.BZ2File(raw, "wb")
    elif suffix == ".xz":
        packed = lzma.LZMAFile(raw, "wb")  # noqa: SIM115
    elif suffix == ".zst":
        import pyarrow as pa

        packed = pa.CompressedOutputStream(pa.PythonFile(raw, "w"), "zstd")
    return cast("AbstractContextManager[BinaryIO]", packed)
