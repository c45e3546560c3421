"""Ordered maps over worker threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar

from efge.system import available_threads

T = TypeVar("T")
S = TypeVar("S")


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


def compute_ahead(items: Iterable[T]) -> Iterator[T]:
    """Yield items, each of which is computed by another thread while the consumer uses the one before."""
    source = iter(items)
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(next, source, None)
        try:
            while (item := following.result()) is not None:
                following = pool.submit(next, source, None)
                yield item
        finally:
            # A generator can only be closed, and end its own threads, when it is not running.
            wait([following])
            if isinstance(source, Generator):
                source.close()
