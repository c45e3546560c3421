"""Ordered maps over worker threads, and linear algebra whose rounding does not depend on their number."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from itertools import islice
from typing import Any, TypeVar

from efge.system import available_threads, hold_during_fork

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


class _SingleThread:
    """Limits BLAS to one thread while anybody needs that.

    In some libraries the limit is one of the whole process: if each user restored what it had found, the first one to
    end would lift the limit while others still compute. So the last one restores it. In other libraries, each thread
    has its own limit, so that each thread that computes is a user; one that ends before the last keeps its limit.
    """

    def __init__(self) -> None:
        self._lock, self._users = threading.Lock(), 0
        self._before: list[tuple[Any, int]] = []  # libraries, and their numbers of threads before
        hold_during_fork(self._lock)

    def begin(self) -> None:
        libraries = _blas_libraries("scipy.linalg._fblas" in sys.modules)
        with self._lock:
            self._users += 1
            for library in libraries:
                if (count := library.get_num_threads()) != 1:
                    self._before.append((library, count))
                    _set_threads(library, 1)

    def end(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                while self._before:
                    _set_threads(*self._before.pop())
                _release_control()


@cache
def _blas_libraries(with_scipy: bool) -> list[Any]:
    """Return what limits the threads of NumPy's BLAS, and of SciPy's own, if that is loaded.

    To find the libraries takes as long as to filter a small graph.
    """
    from threadpoolctl import ThreadpoolController

    libraries: list[Any] = ThreadpoolController().select(user_api="blas").lib_controllers
    return libraries


def _set_threads(library: Any, count: int) -> None:
    library.set_num_threads(count)
    if library.get_num_threads() != count:
        # Since 3.8, threadpoolctl ignores all threads but the one that has set a limit, even where that one only waits.
        _release_control()
        library.set_num_threads(count)


def _release_control() -> None:
    """Let any thread set limits again."""
    from threadpoolctl import OpenBLASController

    if hasattr(OpenBLASController, "clear_controlling_thread"):
        OpenBLASController.clear_controlling_thread(force=True)


_SINGLE_THREAD = _SingleThread()


@contextmanager
def single_threaded_blas(*, scipy: bool = False) -> Iterator[None]:
    """Have BLAS and LAPACK use one thread: how several threads share sums, and so round them, depends on their number.

    `scipy` tells whether SciPy's linear algebra is used, which has a BLAS of its own. Worker threads may call BLAS at
    the same time, for parts of the work that do not depend on their number; each needs this too, as a decorator of what
    it calls.

    Examples
    --------
    >>> import numpy as np
    >>> with single_threaded_blas():
    ...     squares = np.eye(2) @ np.eye(2)
    """
    if scipy:
        import_module("scipy.linalg")
    _SINGLE_THREAD.begin()
    try:
        yield
    finally:
        _SINGLE_THREAD.end()


class _OpenMPVariable:
    """Sets OMP_NUM_THREADS to 1 while anybody needs that; the last user restores what the first one found."""

    def __init__(self) -> None:
        self._lock, self._users = threading.Lock(), 0
        self._before: str | None = None
        hold_during_fork(self._lock)

    def begin(self) -> None:
        with self._lock:
            if not self._users:
                self._before = os.environ.get("OMP_NUM_THREADS")
                os.environ["OMP_NUM_THREADS"] = "1"
            self._users += 1

    def end(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users:
                return
            if self._before is None:
                os.environ.pop("OMP_NUM_THREADS", None)
            else:
                os.environ["OMP_NUM_THREADS"] = self._before


_OPENMP_VARIABLE = _OpenMPVariable()


@contextmanager
def single_threaded_openmp() -> Iterator[None]:
    """Have OpenMP use one thread: with several, sums are added in the order in which the threads finish.

    Where the variable is set, scikit-learn does not ask `lscpu` for the number of cores. Small containers have no such
    program, and there would be a warning. The limit is one of the calling thread, the variable one of the process.

    Examples
    --------
    >>> import os
    >>> with single_threaded_openmp():
    ...     os.environ["OMP_NUM_THREADS"]
    '1'
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, "openmp"):
        _OPENMP_VARIABLE.begin()
        try:
            yield
        finally:
            _OPENMP_VARIABLE.end()
