"""Partitioned training compared with training in memory: time and bytes moved by the number of partitions.

    python benchmarks/partitions.py [--nodes 50000] [--walks 10] [--partitions 1 4 16] [--cluster]

The graph has a power law; walks have 10 nodes; 128 dimensions, 5 negatives. On one machine, bytes are those that the
engine reads from its files and writes to them. All machines of a cluster are this machine (127.0.0.2, 127.0.0.3, ...):
bytes are those sent over loopback and, for comparison, those of all context partitions if each had to move every time.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

import efge
from efge.training.partitioned.files import ArrayFile
from efge.training.partitioned.schedule import plan_waves

DIM = 128


def make_graph(nodes: int) -> Any:
    graph = nx.barabasi_albert_graph(nodes, 5, seed=1)
    shuffled = np.random.default_rng(0).permutation(nodes)
    return efge.as_graph(shuffled[np.array(graph.edges)], nodes=range(nodes))


def model(partitions: int | None, walks: int, threads: int) -> efge.EFGE:
    return efge.EFGE.paper("bernoulli", DIM, walks_per_node=walks, partitions=partitions, threads=threads, seed=0)


def timed(function: Callable[[], Any]) -> tuple[float, float]:
    """Return wall seconds, and CPU seconds of this process."""
    start, cpu_start = time.perf_counter(), time.process_time()
    function()
    return time.perf_counter() - start, time.process_time() - cpu_start


class ByteCounter:
    """Counts the bytes that the local engine reads and writes."""

    def __init__(self) -> None:
        self.count = 0
        for name in ("read", "write"):
            setattr(ArrayFile, name, self._counted(getattr(ArrayFile, name)))

    def _counted(self, function: Any) -> Any:
        def counted(file: Any, array: Any, offset: int) -> None:
            self.count += array.nbytes
            function(file, array, offset)

        return counted


def measure_locally(graph: Any, options: argparse.Namespace) -> None:
    counter, pairs = ByteCounter(), graph.n_nodes * options.walks * 90
    print("| partitions | threads | million pairs per second | CPU time / unpartitioned | bytes per pair | waves |")
    print("| --- | --- | --- | --- | --- | --- |")
    for threads in (1, 2):
        unpartitioned = 0.0
        for partitions in (None, *options.partitions):
            counter.count = 0
            estimator = model(partitions, options.walks, threads)
            seconds, cpu = timed(partial(estimator.fit, graph))
            unpartitioned = unpartitioned or cpu
            walks = efge.Walks(graph, walks_per_node=options.walks, seed=0)
            waves = len(plan_waves(walks, estimator._settings())) if partitions else 0
            cells = [partitions or "none", threads, f"{pairs / seconds / 1e6:.2f}", f"{cpu / unpartitioned:.2f}"]
            print(f"| {' | '.join(map(str, [*cells, f'{counter.count / pairs:.0f}', waves or '']))} |", flush=True)


def loopback_bytes() -> int:
    """Return the bytes received by the loopback device so far, including those of other programs."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.strip().startswith("lo:"))


def measure_on_clusters(graph: Any, options: argparse.Namespace) -> None:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray
    from ray.cluster_utils import Cluster

    pairs = graph.n_nodes * options.walks * 90
    print(
        "| machines | partitions | million pairs per second | bytes per pair over loopback | if every partition moved |"
    )
    print("| --- | --- | --- | --- | --- |")
    for machines in (1, 2):
        cluster = Cluster()
        try:
            for number in range(2, 2 + machines):
                cluster.add_node(
                    num_cpus=1, object_store_memory=400 * 2**20, node_ip_address=f"127.0.0.{number}",
                    include_dashboard=False,
                )  # fmt: skip
            for partitions in options.partitions:
                estimator = model(partitions, options.walks, 1)
                model(partitions, 1, 1).fit(nx.path_graph(50), cluster=cluster.address)
                before = loopback_bytes()
                seconds, _ = timed(partial(estimator.fit, graph, cluster=cluster.address))
                sent = (loopback_bytes() - before) / pairs
                walks = efge.Walks(graph, walks_per_node=options.walks, seed=0)
                waves = len(plan_waves(walks, estimator._settings()))
                maximum = waves * partitions * graph.n_nodes * 4 * DIM / pairs
                print(
                    f"| {machines} | {partitions} | {pairs / seconds / 1e6:.2f} | {sent:.0f} | {maximum:.0f} |",
                    flush=True,
                )
        finally:
            ray.shutdown()
            cluster.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=50_000)
    parser.add_argument("--walks", type=int, default=10)
    parser.add_argument("--partitions", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument(
        "--cluster", action="store_true", help="also measure clusters of one and two machines with one core each"
    )
    options = parser.parse_args()
    print(f"Load of this machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.\n")
    small = nx.path_graph(50)
    for partitions in (None, 2):
        model(partitions, 1, 1).fit(small)
    graph = make_graph(options.nodes)
    measure_locally(graph, options)
    if options.cluster:
        print()
        measure_on_clusters(graph, options)


if __name__ == "__main__":
    main()
