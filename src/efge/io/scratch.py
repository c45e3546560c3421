"""Temporary files and folders that a killed process leaves for the next one to clear, locks, and mapped memory.

Their names begin with a dot and end in the mark of this library. As long as a process uses one, it is locked; a lock
ends with its process, so what is not locked belongs to none.
"""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from efge.system import advise_random, is_own, open_to_lock, reserve_space, try_lock, unlock

SCRATCH_MARK = ".efge-tmp"
# Longest part of a target's name in that of its temporary file: file systems allow 255 bytes in all.
_MAX_NAME_LENGTH = 40
_MAX_ATTEMPTS = 100


@contextmanager
def scratch_file(folder: Path, name: str) -> Iterator[Path]:
    """Yield a new, empty, locked file beside a target; it is deleted at the end, unless it was renamed."""
    clear_scratch(folder)
    path, lock = _create_locked(folder, name, is_folder=False)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
        _release(lock)


@contextmanager
def scratch_folder(folder: Path, name: str) -> Iterator[Path]:
    """Yield a new, locked folder that only this user can open; it is deleted at the end, with all that it contains.

    Where mapped files cannot be deleted, they are left to the next run.
    """
    clear_scratch(folder)
    path, lock = _create_locked(folder, name, is_folder=True)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        _release(lock)


def clear_scratch(folder: Path) -> None:
    """Delete the user's temporary files and folders that no living process has locked; none where locks are missing."""
    for path in folder.glob(f".*{SCRATCH_MARK}"):
        with suppress(OSError):
            if is_own(path.lstat()):
                _delete_unlocked(path)


def _delete_unlocked(path: Path) -> None:
    descriptor = open_to_lock(path)
    if descriptor is None:
        return
    try:
        if try_lock(descriptor) is True and _is_at(descriptor, path):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    finally:
        os.close(descriptor)


def _create_locked(folder: Path, name: str, is_folder: bool) -> tuple[Path, int | None]:
    """Create and lock a file or folder; between the two, another process may delete it, and another one is created."""
    prefix = f".{name[:_MAX_NAME_LENGTH]}."
    for _ in range(_MAX_ATTEMPTS):
        if is_folder:
            path = Path(tempfile.mkdtemp(SCRATCH_MARK, prefix, folder))
        else:
            descriptor, created = tempfile.mkstemp(SCRATCH_MARK, prefix, folder)
            os.close(descriptor)
            path = Path(created)
        lock: int | None = None
        with suppress(FileNotFoundError):
            lock = open_to_lock(path)
            if lock is None or (try_lock(lock) is not False and _is_at(lock, path)):
                return path, lock
        if lock is not None:
            os.close(lock)
    raise FileExistsError(errno.EEXIST, "another process deletes temporary files as fast as they are made", str(folder))


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def _release(lock: int | None) -> None:
    if lock is not None:
        unlock(lock)
        os.close(lock)


@contextmanager
def lock_folder(folder: Path) -> Iterator[bool]:
    """Lock a folder; yield False if another process holds the lock. The system releases it when the process ends.

    Nothing is written to the folder. Where folders cannot be locked, this always yields True.
    """
    descriptor = open_to_lock(folder.resolve())
    if descriptor is None:
        yield True
        return
    try:
        if try_lock(descriptor) is False:
            yield False
            return
        try:
            yield True
        finally:
            unlock(descriptor)
    finally:
        os.close(descriptor)


def map_temporary_file(folder: Path, size: int) -> mmap.mmap:
    """Map a new temporary file into memory; the system deletes the file when the process ends."""
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(folder))
    reason = f"cannot create a file of {size:,} bytes in the folder"
    with name_folder(folder, reason), tempfile.TemporaryFile(prefix=".efge-", dir=folder) as file:
        reserve_space(file, size)
        memory = mmap.mmap(file.fileno(), size)
    advise_random(memory)
    return memory


def map_file(path: Path, size: int) -> mmap.mmap:
    """Map a new file of a scratch folder into memory."""
    reason = f"cannot create a file of {size:,} bytes in the folder"
    with name_folder(path.parent.parent, reason), path.open("w+b") as file:
        reserve_space(file, size)
        return mmap.mmap(file.fileno(), size)


@contextmanager
def name_folder(folder: Path, reason: str) -> Iterator[None]:
    """Let every OSError name a folder that the user knows, and what could not be done there."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, f"{reason}: {error.strerror or error}", str(folder)) from None
