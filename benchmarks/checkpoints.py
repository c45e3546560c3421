"""What keeping the state costs: the share of the time of a training that goes into it, at the default interval.

    python benchmarks/checkpoints.py [--nodes 10000 200000] [--seconds 200]

The time in `Checkpoints.keep`, which saves or finds that it is not time to, is added up and divided by that of the
whole training; comparing trainings with and without would show the drift of the machine's speed and not this.
The record is ``results/checkpoints.json``.
"""

from __future__ import annotations

import argparse
import tempfile
from time import perf_counter
from typing import Any

import numpy as np

import efge
from records import save


class Timed(efge.Checkpoints):
    """Checkpoints that know how long they took."""

    seconds = 0.0
    saved = 0

    def keep(self, *arguments: Any) -> None:
        start, last = perf_counter(), self._last
        super().keep(*arguments)
        self.seconds += perf_counter() - start
        self.saved += self._last != last


def measure(nodes: int, seconds: float) -> tuple[float, int, float]:
    """Seconds of training, states saved, and seconds that took."""
    edges = np.random.default_rng(0).integers(0, nodes, (5 * nodes, 2))
    graph = efge.as_graph(edges, nodes=range(nodes))
    # At 4 million pairs a second, 90 pairs a walk.
    walks = max(1, int(seconds * 4e6 / 90 / nodes))
    with tempfile.TemporaryDirectory() as folder:
        kept = Timed(folder)
        start = perf_counter()
        efge.EFGE(walks_per_node=walks, seed=1).fit(graph, checkpoint=kept)
        return perf_counter() - start, kept.saved, kept.seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[10_000, 200_000])
    parser.add_argument("--seconds", type=float, default=200.0, help="about how long to train")
    options = parser.parse_args()
    print("| nodes | training, s | states | saving, s | share | target |\n| ---: | ---: | ---: | ---: | ---: | --- |")
    rows = []
    for nodes in options.nodes:
        whole, saved, spent = measure(nodes, options.seconds)
        met = "met" if spent < 0.02 * whole else "MISSED"
        print(
            f"| {nodes:,} | {whole:.0f} | {saved} | {spent:.2f} | {spent / whole:.2%} | under 2 %: {met} |", flush=True
        )
        rows.append([nodes, 128, round(whole), saved, round(spent / whole, 4)])
    columns = ["nodes", "dim", "training, s", "checkpoints", "share"]
    save("checkpoints", "cost", columns, rows, "benchmarks/checkpoints.py")


if __name__ == "__main__":
    main()
