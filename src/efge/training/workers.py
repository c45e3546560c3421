"""Worker threads that train together and meet at the kernel's barriers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.kernels.sgd_step import ABANDONED

Counters = npt.NDArray[np.int64]
# Called with the number of a thread and the number of all threads.
TrainFunction = Callable[[int, int], Any]


class Threads:
    """Threads that share the work of a kernel and meet in it."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool = ThreadPoolExecutor(count)

    def __enter__(self) -> Threads:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown()

    def run(self, train: TrainFunction, counters: Counters, max_threads: int) -> None:
        """Train in all threads, or in `max_threads` if there is work for no more, and wait for the end."""
        counters[:] = 0
        threads = min(self.count, max_threads)
        with _abandon_on_error(counters):
            # An interrupt before this thread has begun would let the others wait for it forever.
            jobs = [self._pool.submit(_train, train, number, threads, counters) for number in range(1, threads)]
            train(0, threads)
        for job in jobs:
            job.result()

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """Return what a function returns for each item; all threads share the items, this one included."""
        items = list(items)
        results: list[Any] = [None] * len(items)

        def run(number: int) -> None:
            results[number :: self.count] = map(function, items[number :: self.count])

        jobs = [self._pool.submit(run, number) for number in range(1, min(self.count, len(items)))]
        run(0)
        for job in jobs:
            job.result()
        return results

    def start(self, train: TrainFunction, counters: Counters) -> Callable[[], None]:
        """Start to train in all threads; the function that is returned waits for the end.

        What is started in the meantime begins after it. For that, all threads must have work, and leave `train`
        together.
        """
        counters[:] = 0
        with _abandon_on_error(counters):
            jobs = [self._pool.submit(_train, train, number, self.count, counters) for number in range(self.count)]

        def wait() -> None:
            for job in jobs:
                job.result()

        return wait


def _train(train: TrainFunction, number: int, threads: int, counters: Counters) -> None:
    with _abandon_on_error(counters):
        train(number, threads)


@contextmanager
def _abandon_on_error(counters: Counters) -> Iterator[None]:
    """If this thread fails, tell the others not to wait for it."""
    try:
        yield
    except BaseException:
        counters[ABANDONED] = 1
        raise
