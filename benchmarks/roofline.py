"""What one core of this machine can do of what training and walking are made of, and what share of it they reach.

    python benchmarks/roofline.py

Rates of the parts are measured here, one thread each, and recorded in ``results/roofline.json``; those of training and
walking are read from what ``make bench`` recorded. A bound (see `figures_bench.py`) adds up the parts that cannot be
done at once; parts that can are taken as free.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

import numpy as np
from numba import njit

from efge.kernels.intrinsics import prefetch
from figures_bench import DIM, bounds, roofline
from records import save


def best(job: Callable[[], object], repeats: int = 7) -> float:
    job()
    seconds = []
    for _ in range(repeats):
        start = perf_counter()
        job()
        seconds.append(perf_counter() - start)
    return min(seconds)


@njit(nogil=True)
def visit_rows(table: Any, order: Any, copies: Any, adds: bool) -> None:
    """Random rows, each asked for eight rows before: copied to a buffer in the cache, or added to."""
    for i in range(order.shape[0]):
        ahead = order[min(i + 8, order.shape[0] - 1)]
        for j in range(0, 128, 16):
            prefetch(table, np.int64(ahead * 128 + j))  # type: ignore[call-arg]
        if adds:
            for j in range(128):
                table[order[i], j] += copies[i & 31, j]
        else:
            for j in range(128):
                copies[i & 31, j] = table[order[i], j]


@njit(nogil=True, fastmath=True)
def move_rows(rows: Any, center: Any, step: Any, times: int) -> None:
    """Rows in the first-level cache, each moved along a center."""
    for _ in range(times):
        for i in range(rows.shape[0]):
            for j in range(128):
                rows[i, j] += step * center[j]


@njit(nogil=True)
def read_cells(cells: Any, order: Any) -> int:
    """Cells in a random order, many at a time."""
    total = 0
    for i in range(order.shape[0]):
        total += cells[order[i]]
    return total


def measure() -> dict[str, float]:
    """Rates a second."""
    rng = np.random.default_rng(0)
    a = rng.random((512, 512), np.float32)
    found = {"floating-point operations": 2 * 512**3 / best(lambda: a @ a)}
    rows, center = rng.random((24, DIM), np.float32), rng.random(DIM, np.float32)
    found["rows moved in the nearest cache"] = 24_000 / best(lambda: move_rows(rows, center, np.float32(1e-9), 1000))
    for nodes in (10_000, 200_000, 1_000_000):
        table, copies = np.zeros((nodes, DIM), np.float32), np.zeros((32, DIM), np.float32)
        table += 1
        order = rng.integers(0, nodes, 200_000)
        args = table, order, copies
        found[f"random rows read, {nodes:,}"] = len(order) / best(partial(visit_rows, *args, adds=False))
        found[f"random rows added to, {nodes:,}"] = len(order) / best(partial(visit_rows, *args, adds=True))
        cells, places = np.ones(10 * nodes, np.int32), rng.integers(0, 10 * nodes, 1_000_000)
        found[f"random cells read, {nodes:,}"] = len(places) / best(partial(read_cells, cells, places))
    return found


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    rates = [(name, round(rate / 1e6, 1)) for name, rate in measure().items()]
    save("roofline", "rates", ["part", "million per second"], rates, "benchmarks/roofline.py")
    print(f"{roofline()}\n\n{bounds()}")


if __name__ == "__main__":
    main()
