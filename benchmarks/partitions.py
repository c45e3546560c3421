"""Training in parts beside whole tables: time against the number of parts, bytes moved for each pair, tasks on cores.

    python benchmarks/partitions.py [--nodes 50000] [--walks 10] [--partitions 1 4 16] [--cluster]

A power-law graph, walks of 10 nodes, 128 dimensions, 5 negatives. On one machine, bytes are those that the engine reads
from its files and writes to them. On clusters, all of whose machines are this one (127.0.0.2, 127.0.0.3, ...), they are
those that went over loopback, and those of all parts of contexts, had none of them stayed where it was.
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
from efge.training.partitioned import local as partitions
from efge.training.partitioned.schedule import waves_of

DIM = 128


def make_graph(nodes: int) -> Any:
    graph = nx.barabasi_albert_graph(nodes, 5, seed=1)
    shuffled = np.random.default_rng(0).permutation(nodes)
    return efge.as_graph(shuffled[np.array(graph.edges)], nodes=range(nodes))


def model(parts: int | None, walks: int, threads: int) -> efge.EFGE:
    return efge.EFGE("bernoulli", DIM, walks_per_node=walks, partitions=parts, threads=threads, seed=0)


def timed(function: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of the clock, and of all cores of this process."""
    clock, cores = time.perf_counter(), time.process_time()
    function()
    return time.perf_counter() - clock, time.process_time() - cores


class Counter:
    """Counts bytes that the local engine reads and writes."""

    def __init__(self) -> None:
        self.count = 0
        for name in ("read", "write"):
            setattr(partitions._File, name, self._counted(getattr(partitions._File, name)))

    def _counted(self, function: Any) -> Any:
        def counted(file: Any, array: Any, place: int) -> None:
            self.count += array.nbytes
            function(file, array, place)

        return counted


def measure_locally(graph: Any, options: argparse.Namespace) -> None:
    counter, pairs = Counter(), graph.n_nodes * options.walks * 90
    print("| parts | threads | million pairs a second | seconds of cores, times whole tables | bytes a pair | waves |")
    print("| --- | --- | --- | --- | --- | --- |")
    for threads in (1, 2):
        whole = 0.0
        for parts in (None, *options.partitions):
            counter.count = 0
            chosen = model(parts, options.walks, threads)
            seconds, cores = timed(partial(chosen.fit, graph))
            whole = whole or cores
            walks = efge.Walks(graph, walks_per_node=options.walks, seed=0)
            waves = len(waves_of(walks, chosen._settings())) if parts else 0
            cells = [parts or "whole tables", threads, f"{pairs / seconds / 1e6:.2f}", f"{cores / whole:.2f}"]
            print(f"| {' | '.join(map(str, [*cells, f'{counter.count / pairs:.0f}', waves or '']))} |", flush=True)


def over_loopback() -> int:
    """Bytes that went over the loopback device so far: those between machines here, and whatever else uses it."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.strip().startswith("lo:"))


def measure_on_clusters(graph: Any, options: argparse.Namespace) -> None:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray
    from ray.cluster_utils import Cluster

    pairs = graph.n_nodes * options.walks * 90
    print("| machines | parts | million pairs a second | bytes a pair over loopback | if every part moved |")
    print("| --- | --- | --- | --- | --- |")
    for machines in (1, 2):
        cluster = Cluster()
        try:
            for number in range(2, 2 + machines):
                cluster.add_node(
                    num_cpus=1, object_store_memory=400 * 2**20, node_ip_address=f"127.0.0.{number}",
                    include_dashboard=False,
                )  # fmt: skip
            for parts in options.partitions:
                chosen = model(parts, options.walks, 1)
                model(parts, 1, 1).fit(nx.path_graph(50), cluster=cluster.address)
                before = over_loopback()
                seconds, _ = timed(partial(chosen.fit, graph, cluster=cluster.address))
                went = (over_loopback() - before) / pairs
                walks = efge.Walks(graph, walks_per_node=options.walks, seed=0)
                waves = len(waves_of(walks, chosen._settings()))
                moved = waves * parts * graph.n_nodes * 4 * DIM / pairs
                print(f"| {machines} | {parts} | {pairs / seconds / 1e6:.2f} | {went:.0f} | {moved:.0f} |", flush=True)
        finally:
            ray.shutdown()
            cluster.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=50_000)
    parser.add_argument("--walks", type=int, default=10)
    parser.add_argument("--partitions", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--cluster", action="store_true", help="also on clusters of one and two machines with a core")
    options = parser.parse_args()
    print(f"Load of this machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.\n")
    small = nx.path_graph(50)
    for parts in (None, 2):
        model(parts, 1, 1).fit(small)
    graph = make_graph(options.nodes)
    measure_locally(graph, options)
    if options.cluster:
        print()
        measure_on_clusters(graph, options)


if __name__ == "__main__":
    main()
