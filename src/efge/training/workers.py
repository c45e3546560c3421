"""Worker threads that train together and meet at the kernel's barriers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.kernels import sgd_step as steps

Signals = npt.NDArray[np.int64]


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

    def run(self, train: Callable[[int, int], Any], signals: Signals, most: int) -> None:
        """Let all threads train, or as many as there is work for at once: each is given its number, and how many."""
        signals[:] = 0
        threads = min(self.count, most)
        with _abandoning(signals):
            # An interrupt before this thread began would let the others wait for it for ever.
            jobs = [self._pool.submit(_share, train, number, threads, signals) for number in range(1, threads)]
            train(0, threads)
        for job in jobs:
            job.result()

    def share(self, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """What a function says of each of some items, which threads share, this one too."""
        items = list(items)
        answers: list[Any] = [None] * len(items)

        def answer(number: int) -> None:
            answers[number :: self.count] = map(function, items[number :: self.count])

        jobs = [self._pool.submit(answer, number) for number in range(1, min(self.count, len(items)))]
        answer(0)
        for job in jobs:
            job.result()
        return answers

    def start(self, train: Callable[[int, int], Any], signals: Signals) -> Callable[[], None]:
        """Let all threads train without waiting for it: what comes back does. What is started meanwhile comes after it.

        For that, all threads must have work, and leave `train` together.
        """
        signals[:] = 0
        with _abandoning(signals):
            jobs = [self._pool.submit(_share, train, number, self.count, signals) for number in range(self.count)]

        def wait() -> None:
            for job in jobs:
                job.result()

        return wait


def _share(train: Callable[[int, int], Any], number: int, threads: int, signals: Signals) -> None:
    with _abandoning(signals):
        train(number, threads)


@contextmanager
def _abandoning(signals: Signals) -> Iterator[None]:
    """Where this fails, let no other thread wait for it."""
    try:
        yield
    except BaseException:
        signals[steps.ABANDONED] = 1
        raise
