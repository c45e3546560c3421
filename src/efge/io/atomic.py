"""Files that appear complete or not at all: until then, their content is in a temporary file beside the target."""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import os
import signal
import stat
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO, NoReturn, cast

from efge.errors import check_types
from efge.io.scratch import SCRATCH_MARK, scratch_file, scratch_folder
from efge.system import STOP_SIGNALS, handle_signals, is_foreign_link, sync_folder


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a stream for writing whose content replaces the file at the end; "-" is standard output.

    The content is compressed if the suffix says so. Until the end it is in a temporary file beside the target, which is
    deleted if anything fails, and the old file stays. A device or a pipe cannot be replaced and is written to directly.
    """
    check_types(path=path)
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
        with scratch_file(target.parent, target.name) as temporary:
            with temporary.open("wb") as raw, _compress(raw, path.suffix.lower()) as stream:
                yield stream
            _replace(temporary, target)
    except OSError as error:
        if error.filename is None or _is_inside(error.filename, target.parent):
            raise OSError(error.errno, error.strerror or str(error), str(path)) from None
        raise


def _is_inside(name: Any, folder: Path) -> bool:
    """Return whether an error is about a temporary file of a folder, of which the user knows nothing."""
    return isinstance(name, str) and name.endswith(SCRATCH_MARK) and Path(name).parent == folder


def check_folder(path: str | os.PathLike[str]) -> None:
    """Refuse a file that could not be written because of its folder, before the work for it is done."""
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(Path(path).parent))
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, "no permission to write into the folder", str(Path(path).parent))


@contextmanager
def atomic_build(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path in a temporary folder beside the target; the file built there replaces the target at the end.

    The folder may hold auxiliary files too. It is deleted in any case, also after a termination signal.
    """
    target = _resolve_target(Path(path))
    if target.exists() and not target.is_file():
        raise FileExistsError(errno.EEXIST, "this is not a regular file; choose another name", os.fspath(path))
    with _signals_as_interrupts(), _name_output(path), scratch_folder(target.parent, target.name) as folder:
        yield folder / "output"
        _replace(folder / "output", target)


@contextmanager
def _name_output(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let an error about a full disk name the output, rather than a temporary file or none."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        reason = f"nothing was written: {error.strerror or error}"
        raise OSError(error.errno, reason, os.fspath(path)) from None


def _signals_as_interrupts() -> AbstractContextManager[None]:
    """Let termination signals raise KeyboardInterrupt, as Ctrl-C does, so that temporary files are deleted."""
    return handle_signals(_interrupt, [number for number in STOP_SIGNALS if number != signal.SIGINT])


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _resolve_target(path: Path) -> Path:
    """Resolve the path of a file to be written; raise an OSError if it is a folder or its folder does not exist."""
    if is_foreign_link(path):
        reason = "this link belongs to another user, who may have put it there to mislead you; choose another name"
        raise PermissionError(errno.EACCES, reason, str(path))
    target = path.resolve()
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a directory; give the name of a file in it", str(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(path.parent))
    return target


def _replace(source: Path, target: Path) -> None:
    """Flush a file to the disk, and let it take the place and the permissions of the target."""
    with source.open("rb+") as file:
        os.fsync(file.fileno())
    source.chmod(_permissions(target))
    source.replace(target)
    sync_folder(target.parent)


def _permissions(target: Path) -> int:
    """Return the permissions that a file has already, or those of a new one."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


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
