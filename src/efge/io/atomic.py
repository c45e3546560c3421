"""Files that are replaced atomically, locks on folders, and memory that lives in temporary files."""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import mmap
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO, NoReturn, cast


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a stream for writing whose content replaces the file at the end; "-" is standard output.

    The content is compressed if the suffix says so. Until the end it is in a temporary file beside the target, which is
    deleted if anything fails, and the old file stays. A device or a pipe cannot be replaced and is written to directly.
    """
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(path)
    target = _resolve_target(path)
    if target.exists() and not target.is_file():
        with target.open("wb") as raw, _compress(raw, path.suffix.lower()) as stream:
            yield stream
        return
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        with os.fdopen(descriptor, "wb") as raw, _compress(raw, path.suffix.lower()) as stream:
            yield stream
        _replace(Path(name), target)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, name):
            raise OSError(error.errno, error.strerror or str(error), str(path)) from None
        raise


def map_temporary_file(folder: Path, size: int) -> mmap.mmap:
    """Map a new temporary file into memory; the system deletes the file when the process ends."""
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(folder))
    try:
        with tempfile.TemporaryFile(prefix=".efge-", dir=folder) as file:
            # Reserve the disk space now: a disk that fills up later would kill the process by a signal.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            else:
                file.truncate(size)
            memory = mmap.mmap(file.fileno(), size)
    except OSError as error:
        reason = f"cannot create a file of {size:,} bytes in the folder: {error.strerror}"
        raise OSError(error.errno, reason, str(folder)) from None
    if hasattr(mmap, "MADV_RANDOM"):
        # Rows are read at random; without this advice the system would also read their neighbors.
        memory.madvise(mmap.MADV_RANDOM)
    return memory


@contextmanager
def atomic_build(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path in a temporary folder beside the target; the file built there replaces the target at the end.

    The folder may hold auxiliary files too. It is deleted in any case, also after a termination signal.
    """
    target = _resolve_target(Path(path))
    if target.exists() and not target.is_file():
        raise FileExistsError(errno.EEXIST, "this is not a regular file; choose another name", os.fspath(path))
    with _signals_as_interrupts():
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            yield folder / "output"
            _replace(folder / "output", target)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            reason = f"nothing was written: {error.strerror or error}"
            raise OSError(error.errno, reason, os.fspath(path)) from None
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _signals_as_interrupts() -> Iterator[None]:
    """Let termination signals raise KeyboardInterrupt, as Ctrl-C does, so that temporary files are deleted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {getattr(signal, name): signal.getsignal(getattr(signal, name)) for name in names}
    # A process started with nohup ignores SIGHUP, and continues to.
    handled = [number for number, handler in before.items() if handler != signal.SIG_IGN]
    for number in handled:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, before[number])


def _resolve_target(path: Path) -> Path:
    """Resolve the path of a file to be written; raise an OSError if it is a folder or its folder does not exist."""
    target = path.resolve()
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a directory; give the name of a file in it", str(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(path.parent))
    return target


def _replace(source: Path, target: Path) -> None:
    _make_durable(source)
    source.replace(target)
    sync_folder(target.parent)


def _make_durable(path: Path) -> None:
    """Flush the bytes to the disk, and set the permissions of a new file."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
    umask = os.umask(0)
    os.umask(umask)
    path.chmod(0o666 & ~umask)


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to the disk, on systems that can open folders."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def lock_folder(folder: Path) -> Iterator[bool]:
    """Lock a folder; yield False if another process holds the lock. The system releases it when the process ends.

    Nothing is written to the folder. Where folders cannot be locked, this always yields True.
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
            # This file system has no locks.
            yield True
            return
        try:
            yield True
        finally:
            # Unlock explicitly: a process forked in the meantime would otherwise keep the lock.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def _compress(raw: BinaryIO, suffix: str) -> AbstractContextManager[BinaryIO]:
    stream: Any = nullcontext(raw)
    if suffix == ".gz":
        # Without a time and a name in the header, the same content gives the same bytes.
        stream = gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0)
    elif suffix == ".bz2":
        stream = bz2.BZ2File(raw, "wb")
    elif suffix == ".xz":
        stream = lzma.LZMAFile(raw, "wb")  # noqa: SIM115
    elif suffix == ".zst":
        import pyarrow as pa

        stream = pa.CompressedOutputStream(pa.PythonFile(raw, "w"), "zstd")
    return cast("AbstractContextManager[BinaryIO]", stream)
