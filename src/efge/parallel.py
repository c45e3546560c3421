"""Available threads and memory; ordered maps over worker threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
S = TypeVar("S")


def available_threads() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_memory() -> int | None:
    """Return the bytes that can be allocated without swapping, or None if the system does not report them."""
    # Only Linux has /proc/meminfo, and not every system knows these sysconf names.
    with suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def map_in_groups(function: Callable[[T], S], items: Iterable[T], threads: int) -> Iterator[S]:
    """Map groups of `threads` items in parallel; no thread works while the consumer does, which may need all cores."""
    remaining = iter(items)
    with ThreadPoolExecutor(threads) as pool:
        while group := list(islice(remaining, threads)):
            yield from list(pool.map(function, group))


def map_ahead(function: Callable[[T], S], items: Iterable[T], threads: int | None = None) -> Iterator[S]:
    """Map in threads, a few items ahead of the consumer; results keep the order of the items."""
    threads = threads or available_threads()
    with ThreadPoolExecutor(threads) as pool:
        pending: deque[Future[S]] = deque()
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                if len(pending) > threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()
