"""Cost of checkpoints: the share of the training time that they take at the default interval.

    python benchmarks/checkpoints.py [--nodes 10000 200000] [--seconds 200]

The time in `Checkpoints.save_if_due`, which saves a checkpoint or does nothing, is added up and divided by the time of
the whole training. Comparing trainings with and without checkpoints would show the drift of the machine's speed
instead. The record is
``results/checkpoints.json``.
"""

from __future__ import annotations

import argparse
import tempfile
from time import perf_counter
from typing import Any

import numpy as np

import efge
from records import save


class TimedCheckpoints(efge.Checkpoints):
    """Checkpoints that measure the time they take."""

    seconds = 0.0
    saved = 0

    def save_if_due(self, *arguments: Any) -> None:
        start, last = perf_counter(), self._last_save
        super().save_if_due(*arguments)
        self.seconds += perf_counter() - start
        self.saved += self._last_save != last


def measure(nodes: int, seconds: float) -> tuple[float, int, float]:
    """Return the seconds of training, the number of checkpoints, and the seconds to save them."""
    edges = np.random.default_rng(0).integers(0, nodes, (5 * nodes, 2))
    graph = efge.as_graph(edges, nodes=range(nodes))
    # At 4 million pairs per second and 90 pairs per walk.
    walks = max(1, int(seconds * 4e6 / 90 / nodes))
    with tempfile.TemporaryDirectory() as folder:
        checkpoints = TimedCheckpoints(folder)
        start = perf_counter()
        efge.EFGE.paper(walks_per_node=walks, seed=1).fit(graph, checkpoint=checkpoints)
        return perf_counter() - start, checkpoints.saved, checkpoints.seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[10_000, 200_000])
    parser.add_argument("--seconds", type=float, default=200.0, help="approximate time of a training")
    options = parser.parse_args()
    print(
        "| nodes | training, s | checkpoints | saving, s | share | target |\n| ---: | ---: | ---: | ---: | ---: | --- |"
    )
    rows = []
    for nodes in options.nodes:
        total, saved, saving = measure(nodes, options.seconds)
        met = "met" if saving < 0.02 * total else "MISSED"
        print(
            f"| {nodes:,} | {total:.0f} | {saved} | {saving:.2f} | {saving / total:.2%} | under 2 %: {met} |",
            flush=True,
        )
        rows.append([nodes, 128, round(total), saved, round(saving / total, 4)])
    columns = ["nodes", "dim", "training, s", "checkpoints", "share"]
    save("checkpoints", "cost", columns, rows, "benchmarks/checkpoints.py")


if __name__ == "__main__":
    main()
