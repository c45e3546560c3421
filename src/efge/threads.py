"""How many threads there are to use, and mapping in order with them."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

T = TypeVar("T")
S = TypeVar("S")


def available_threads() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_together(function: Callable[[T], S], items: Iterable[T], threads: int) -> Iterator[S]:
    """Map in threads, as many items at a time; none of them works while the consumer does, who may need all cores."""
    rest = iter(items)
    with ThreadPoolExecutor(threads) as pool:
        while some := list(islice(rest, threads)):
            yield from list(pool.map(function, some))


def map_ahead(function: Callable[[T], S], items: Iterable[T]) -> Iterator[S]:
    """Map in threads, a few items ahead of the consumer; results come in the order of the items."""
    threads = available_threads()
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
