"""What one core of this machine can do of what training and walking are made of, and what share of it they reach.

    python benchmarks/roofline.py [--results benchmarks/results/bench.json]

Rates of the parts are measured here, one thread each; those of training and walking are read from what ``make bench``
recorded. A bound adds up the parts that cannot be done at once; parts that can are taken as free.
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
# A block of 40 centers in walks of 10: 9 contexts and 15 negatives for each center, which share their rows.
PAIRS, STEPS = 40 * 9, 40 * 24
# A pool of negatives, by the graph's nodes, and some 35 nodes, each with two rows.
ROWS = {10_000: 36 + 2 * 35, 200_000: 30 + 2 * 35}


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


def bounds(rates: dict[str, float]) -> dict[tuple[str, str], tuple[float, str]]:
    """For each recorded case and tool, the seconds that a unit of it takes at least, and what of."""
    found = {}
    arithmetic = STEPS * 6 * DIM / rates["floating-point operations"]
    moving = STEPS / rates["rows moved in the nearest cache"]
    for nodes, rows in ROWS.items():
        memory = rows / rates[f"random rows read, {nodes:,}"] + rows / rates[f"random rows added to, {nodes:,}"]
        parts = f"arithmetic {1e9 * arithmetic / PAIRS:.0f} ns, rows in the cache {1e9 * moving / PAIRS:.0f} ns, "
        parts += f"rows from memory {1e9 * memory / PAIRS:.0f} ns"
        found[f"training, {nodes:,} nodes", "efge bernoulli, 1 thread"] = (
            (max(arithmetic, moving) + memory) / PAIRS,
            parts,
        )
        # Where a node's neighbors begin and end, which are neighbors in memory, and one of them.
        cells = 2 / rates[f"random cells read, {nodes:,}"]
        found[f"walks, uniform, {nodes:,} nodes", "efge, 1 thread"] = cells, f"two random cells {1e9 * cells:.1f} ns"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results/bench.json")
    options = parser.parse_args()
    rates = measure()
    print("| part | million a second |\n| --- | ---: |")
    for name, rate in rates.items():
        print(f"| {name} | {rate / 1e6:,.1f} |")
    recorded = {case["name"]: case["runs"] for case in json.loads(options.results.read_text())["cases"]}
    print("\n| case | takes, ns | at least, ns | share | of which |\n| --- | ---: | ---: | ---: | --- |")
    for (case, tool), (least, parts) in bounds(rates).items():
        runs = [run for run in recorded.get(case, {}).get(tool, []) if "error" not in run]
        if runs:
            took = statistics.median(run["seconds"] / run["work"] for run in runs)
            print(f"| {case} | {1e9 * took:.1f} | {1e9 * least:.1f} | {least / took:.0%} | {parts} |")


if __name__ == "__main__":
    main()
