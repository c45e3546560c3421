"""How many threads and how much memory there are to use; mapping in order with threads."""

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
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_memory() -> int | None:
    """Bytes that can be allocated without swapping; None where the system does not tell."""
    # Only Linux has the first, and not every system the second.
    with suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def map_together(function: Callable[[T], S], items: Iterable[T], threads: int) -> Iterator[S]:
    """Map in threads, as many items at a time; none of them works while the consumer does, who may need all cores."""
    rest = iter(items)
    with ThreadPoolExecutor(threads) as pool:
        while some := list(islice(rest, threads)):
            yield from list(pool.map(function, some))


def map_ahead(function: Callable[[T], S], items: Iterable[T], threads: int | None = None) -> Iterator[S]:
    """Map in threads, a few items ahead of the consumer; results come in the order of the items."""
    threads = threads or available_threads()
    with ThreadPoolExecutor(threads) as pool:
        ahead: deque[Future[S]] = deque()
        try:
            for item in items:
                ahead.append(pool.submit(function, item))
                if len(ahead) > threads:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()
