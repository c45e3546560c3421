"""Bounds on the speed of training and walking on one core of this machine, and how close efge comes to them.

    python benchmarks/roofline.py [--results benchmarks/results/bench.json]

The rates of the parts (arithmetic, cache, memory) are measured here with one thread; the speed of training and walking
is read from the results of ``make bench``. A bound is the sum of the parts that cannot overlap.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

import numpy as np
from numba import njit

from efge.kernels.intrinsics import prefetch

DIM = 128
# A block of 40 centers in walks of 10: each center has 9 contexts and 15 negatives, which share rows.
PAIRS, STEPS = 40 * 9, 40 * 24
# Rows of a block: the pool of negatives, whose size depends on the graph, and about 35 nodes with two rows each.
ROWS = {10_000: 36 + 2 * 35, 200_000: 30 + 2 * 35}


def shortest_time(job: Callable[[], object], repeats: int = 7) -> float:
    job()
    seconds = []
    for _ in range(repeats):
        start = perf_counter()
        job()
        seconds.append(perf_counter() - start)
    return min(seconds)


@njit(nogil=True)
def visit_rows(table: Any, order: Any, buffer: Any, add: bool) -> None:
    """Visit random rows, each prefetched eight rows ahead: copy them to a cached buffer, or add to them."""
    for i in range(order.shape[0]):
        ahead = order[min(i + 8, order.shape[0] - 1)]
        for j in range(0, 128, 16):
            prefetch(table, np.int64(ahead * 128 + j))  # type: ignore[call-arg]
        if add:
            for j in range(128):
                table[order[i], j] += buffer[i & 31, j]
        else:
            for j in range(128):
                buffer[i & 31, j] = table[order[i], j]


@njit(nogil=True, fastmath=True)
def update_rows(rows: Any, center: Any, step: Any, times: int) -> None:
    """Add a multiple of a center to rows in the first-level cache."""
    for _ in range(times):
        for i in range(rows.shape[0]):
            for j in range(128):
                rows[i, j] += step * center[j]


@njit(nogil=True)
def read_cells(cells: Any, order: Any) -> int:
    """Read cells in random order, without waiting for one before the next."""
    total = 0
    for i in range(order.shape[0]):
        total += cells[order[i]]
    return total


def measure() -> dict[str, float]:
    """Measure the rates per second."""
    rng = np.random.default_rng(0)
    a = rng.random((512, 512), np.float32)
    rates = {"floating-point operations": 2 * 512**3 / shortest_time(lambda: a @ a)}
    rows, center = rng.random((24, DIM), np.float32), rng.random(DIM, np.float32)
    rates["row updates in the first-level cache"] = 24_000 / shortest_time(
        lambda: update_rows(rows, center, np.float32(1e-9), 1000)
    )
    for nodes in (10_000, 200_000, 1_000_000):
        table, buffer = np.zeros((nodes, DIM), np.float32), np.zeros((32, DIM), np.float32)
        table += 1
        order = rng.integers(0, nodes, 200_000)
        args = table, order, buffer
        rates[f"random rows read, {nodes:,}"] = len(order) / shortest_time(partial(visit_rows, *args, add=False))
        rates[f"random row updates, {nodes:,}"] = len(order) / shortest_time(partial(visit_rows, *args, add=True))
        cells, positions = np.ones(10 * nodes, np.int32), rng.integers(0, 10 * nodes, 1_000_000)
        rates[f"random cells read, {nodes:,}"] = len(positions) / shortest_time(partial(read_cells, cells, positions))
    return rates


def bounds(rates: dict[str, float]) -> dict[tuple[str, str], tuple[float, str]]:
    """Return the least seconds per unit of work of each recorded case and tool, and their parts."""
    result = {}
    arithmetic = STEPS * 6 * DIM / rates["floating-point operations"]
    updating = STEPS / rates["row updates in the first-level cache"]
    for nodes, rows in ROWS.items():
        memory = rows / rates[f"random rows read, {nodes:,}"] + rows / rates[f"random row updates, {nodes:,}"]
        parts = f"arithmetic {1e9 * arithmetic / PAIRS:.0f} ns, rows in the cache {1e9 * updating / PAIRS:.0f} ns, "
        parts += f"rows from memory {1e9 * memory / PAIRS:.0f} ns"
        result[f"training, {nodes:,} nodes", "efge bernoulli, 1 thread"] = (
            (max(arithmetic, updating) + memory) / PAIRS,
            parts,
        )
        # The bounds of a node's neighbors, which are adjacent in memory, and one of the neighbors.
        cells = 2 / rates[f"random cells read, {nodes:,}"]
        result[f"walks, uniform, {nodes:,} nodes", "efge, 1 thread"] = cells, f"two random cells {1e9 * cells:.1f} ns"
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results/bench.json")
    options = parser.parse_args()
    rates = measure()
    print("| part | million per second |\n| --- | ---: |")
    for name, rate in rates.items():
        print(f"| {name} | {rate / 1e6:,.1f} |")
    recorded = {case["name"]: case["runs"] for case in json.loads(options.results.read_text())["cases"]}
    print("\n| case | measured, ns | bound, ns | bound / measured | parts |\n| --- | ---: | ---: | ---: | --- |")
    for (case, tool), (bound, parts) in bounds(rates).items():
        runs = [run for run in recorded.get(case, {}).get(tool, []) if "error" not in run]
        if runs:
            measured = statistics.median(run["seconds"] / run["work"] for run in runs)
            print(f"| {case} | {1e9 * measured:.1f} | {1e9 * bound:.1f} | {bound / measured:.0%} | {parts} |")


if __name__ == "__main__":
    main()
