"""What differs between operating systems: cores, memory, signals, locks, disk space, folders and owners of files.

No other module asks which system it runs on. Every function has a fallback for systems that lack what it uses.
"""

from __future__ import annotations

import _thread
import math
import mmap
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO

# Signals by which a user or the system asks a program to end: Ctrl-C, kill, and a terminal that was closed.
STOP_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
# A function of the C library that lets another thread run on this core.
YIELD_CORE = "SwitchToThread" if sys.platform == "win32" else "sched_yield"

Handler = Callable[[int, FrameType | None], Any]

_CGROUP_ROOT, _CGROUP_OF_PROCESS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_ZEROS = bytes(1 << 20)


def available_threads() -> int:
    """Return the number of cores that this process may use, within the limit of its container."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([cores, *(math.ceil(limit) for limit in _cgroup_cores())]))


def available_memory() -> int | None:
    """Return the bytes that can be allocated without swapping, or None if the system does not report them."""
    known = [size for size in (_free_memory(), *_cgroup_memory()) if size is not None]
    return min(known) if known else None


def _free_memory() -> int | None:
    # Only Linux has /proc/meminfo, and not every system knows these sysconf names.
    with suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _cgroups(controller: str) -> Iterator[Path]:
    """Yield the control groups of this process for "cpu" or "memory", from its own one up to the root."""
    with suppress(OSError, ValueError):
        for line in _CGROUP_OF_PROCESS.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers and controller not in controllers.split(","):
                continue
            # Version 1 has a tree for each controller; in a container, the path may be that of the host.
            root = _CGROUP_ROOT / controller if controllers else _CGROUP_ROOT
            group = root.joinpath(*Path(path.lstrip("/")).parts)
            yield from (folder for folder in (group, *group.parents) if folder.is_relative_to(root))


def _numbers(path: Path) -> list[float]:
    """Return the numbers of a small file of the system; "max" is infinite; empty if it cannot be read."""
    try:
        return [math.inf if word == "max" else float(word) for word in path.read_text().split()]
    except (OSError, ValueError):
        return []


def _cgroup_cores() -> Iterator[float]:
    for group in _cgroups("cpu"):
        quota, period = _numbers(group / "cpu.cfs_quota_us"), _numbers(group / "cpu.cfs_period_us")
        limit = _numbers(group / "cpu.max") or quota + period
        if len(limit) == 2 and 0 < limit[0] < math.inf and limit[1] > 0:
            yield limit[0] / limit[1]


def _cgroup_memory() -> Iterator[int]:
    """Yield the bytes that each control group has left; the system gives up cached files before it refuses memory."""
    for group in _cgroups("memory"):
        limit = _numbers(group / "memory.max") or _numbers(group / "memory.limit_in_bytes")
        used = _numbers(group / "memory.current") or _numbers(group / "memory.usage_in_bytes")
        if limit and used and limit[0] < math.inf:
            yield max(0, int(limit[0] - used[0] + _cached_bytes(group)))


def _cached_bytes(group: Path) -> int:
    with suppress(OSError, ValueError):
        counts = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return int(counts.get("total_inactive_file", counts.get("inactive_file", 0)))
    return 0


def cpu_features() -> str:
    """Return the processor and its features that compiled code uses; with others, its results differ in last bits."""
    from llvmlite import binding
    from numba.core import config

    settings: Any = config
    name = settings.CPU_NAME or binding.get_host_cpu_name()
    features = settings.CPU_FEATURES
    if features is None:
        features = binding.get_host_cpu_features().flatten()
    used = sorted(feature[1:] for feature in features.split(",") if feature.startswith("+"))
    return " ".join([name, *used])


@contextmanager
def handle_signals(handler: Handler, signals: Iterable[int] = STOP_SIGNALS) -> Iterator[None]:
    """Call a function when a signal arrives; in other threads than the main one, and for ignored signals, do nothing.

    A process started with nohup ignores SIGHUP, and one in the background of a script SIGINT: that stays so.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = install_handler(handler, signals)
    try:
        yield
    finally:
        _restore(before)


def install_handler(handler: Handler, signals: Iterable[int] = STOP_SIGNALS) -> dict[int, Any]:
    """Call a function when a signal arrives that is not ignored, from now on; return the handlers before."""
    before = {number: signal.getsignal(number) for number in signals}
    handled = {number: old for number, old in before.items() if old != signal.SIG_IGN}
    for number in handled:
        signal.signal(number, handler)
    return handled


def send_to_main_thread(number: signal.Signals) -> None:
    """Send a signal to the main thread; where threads cannot be sent signals, it is noticed after a system call."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        _thread.interrupt_main(number)


@contextmanager
def preserve_handlers() -> Iterator[None]:
    """Restore at the end the handlers of signals that another library replaces."""
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            _restore(before)


def _restore(handlers: dict[int, Any]) -> None:
    for number, old in handlers.items():
        # None is a handler that was not installed by Python.
        signal.signal(number, signal.SIG_DFL if old is None else old)


def hold_during_fork(lock: threading.Lock) -> None:
    """Hold a lock while the process forks: if another thread held it, it would stay locked in the child forever."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)


def start_python(code: str, *arguments: str, **variables: str) -> subprocess.Popen[bytes] | None:
    """Start Python in the background with further environment variables; None if no process can be started.

    It reads and prints nothing, and Ctrl-C at the terminal does not reach it: whoever starts it stops it, too.
    """
    # A program with its own Python inside has no interpreter to start.
    if not sys.executable or getattr(sys, "frozen", False):
        return None
    nothing = subprocess.DEVNULL
    try:
        return subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            env=os.environ | variables,
            stdin=nothing,
            stdout=nothing,
            stderr=nothing,
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except OSError:
        return None


def open_to_lock(path: Path) -> int | None:
    """Open a file or folder, but never what a link leads to; None where folders and files in use cannot be opened."""
    if os.name != "posix":
        return None
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW)


def try_lock(descriptor: int) -> bool | None:
    """Lock an open file or folder for this process; False if another one has locked it, None where locks are missing.

    The system releases the lock when the process ends.
    """
    try:
        import fcntl
    except ImportError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # This file system has no locks.
        return None
    return True


def unlock(descriptor: int) -> None:
    """Release a lock at once: closing would not, if a process forked in the meantime has the descriptor too."""
    with suppress(ImportError, OSError):
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_UN)


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to the disk, where folders can be opened."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def reserve_space(file: BinaryIO, size: int) -> None:
    """Give an empty file a size, with disk space for all of it, or raise an OSError.

    In a mapped file without space, a disk that fills up would end the process by a signal. Where the system cannot
    reserve space (macOS, Windows), zeros are written.
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    for begin in range(0, size, len(_ZEROS)):
        file.write(_ZEROS[: size - begin])
    file.flush()


def advise_random(memory: mmap.mmap) -> None:
    """Tell the system that a mapped file is read at random: it would otherwise read what is beside, too."""
    if hasattr(mmap, "MADV_RANDOM"):
        memory.madvise(mmap.MADV_RANDOM)


def is_own(status: os.stat_result) -> bool:
    """Return whether a file belongs to this process's user; True where files have no owners."""
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def is_foreign_link(path: Path) -> bool:
    """Return whether a path is another user's symbolic link in a folder like /tmp, where anyone may have put it.

    A link of the folder's owner, or in a folder to which only its owner can write, is as good as the folder.
    """
    try:
        link, folder = path.lstat(), path.parent.stat()
    except OSError:
        return False
    shared = bool(folder.st_mode & stat.S_ISVTX and folder.st_mode & (stat.S_IWOTH | stat.S_IWGRP))
    return stat.S_ISLNK(link.st_mode) and shared and not is_own(link) and link.st_uid != folder.st_uid
