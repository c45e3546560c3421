"""Run tasks in parallel processes that end with their parent, and hand out results as they finish."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def run_in_processes(
    function: Callable[[Task], Result], tasks: Iterable[Task], processes: int
) -> Iterator[tuple[Task, Result]]:
    """Yield tasks and results as they finish; only a few tasks are submitted at a time, so that interruptions are fast.

    Examples
    --------
    >>> list(run_in_processes(abs, [], processes=2))
    []
    """
    waiting, running = iter(tasks), dict[Future[Result], Task]()
    first = next(waiting, None)
    if first is None:
        return
    # A forked child would share locks with threads of this process.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, mp_context=context, initializer=_end_with_parent)
    try:
        running[pool.submit(function, first)] = first
        while running:
            while len(running) <= processes and (task := next(waiting, None)) is not None:
                running[pool.submit(function, task)] = task
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
    except BaseException:
        # Waiting for running tasks may take minutes.
        for child in multiprocessing.active_children():
            child.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _end_with_parent() -> None:
    """Leave Ctrl-C to the parent process, and exit when the parent is killed."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    assert parent is not None, "this runs in child processes only"

    def exit_after_parent() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=exit_after_parent, daemon=True).start()
