"""Files that appear whole or not at all, folders that one run has to itself, and memory that lives in a file."""

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
    target = _new_file(path)
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
        _put_in_place(Path(name), target)
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


@contextmanager
def built_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path for a file to be built at, in a folder of its own beside the target, for helper files too.

    When all is done the file becomes the target; whatever happens, a signal to end included, the folder goes away.
    """
    target = _new_file(Path(path))
    if target.exists() and not target.is_file():
        raise FileExistsError(errno.EEXIST, "this is no plain file; give the name of another", os.fspath(path))
    with _signals_as_interrupts():
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            yield folder / "whole"
            _put_in_place(folder / "whole", target)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            reason = f"nothing was written: {error.strerror or error}"
            raise OSError(error.errno, reason, os.fspath(path)) from None
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _signals_as_interrupts() -> Iterator[None]:
    """Let signals to end raise KeyboardInterrupt as Ctrl-C does, so that what is temporary goes away."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {getattr(signal, name): signal.getsignal(getattr(signal, name)) for name in names}
    # A process that was told to outlive its terminal does.
    asked = [number for number, handler in before.items() if handler != signal.SIG_IGN]
    for number in asked:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in asked:
            signal.signal(number, before[number])


def _new_file(path: Path) -> Path:
    """Where a file of that name would be; refused if there is no such place."""
    target = path.resolve()
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a directory; give the name of a file in it", str(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(path.parent))
    return target


def _put_in_place(made: Path, target: Path) -> None:
    _make_durable(made)
    made.replace(target)
    sync_folder(target.parent)


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
