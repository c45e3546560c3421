"""Where a cluster spends the time that training in files on the same machine does not need.

    python benchmarks/cluster_overhead.py [--nodes 20000] [--walks 10 40] [--partitions 4]

Both train by two cores, in turns. Processor seconds are those of all processes: for the cluster, of this one, of the
workers that run tasks, and of Ray itself. Seconds of tasks, by the clock, are from its timeline. The record
is the table "cluster overhead" of partitions.json.
"""

from __future__ import annotations

import argparse
import logging
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from partitions import make_graph, model
from records import Cell, save

_TICKS = os.sysconf("SC_CLK_TCK")
# Names of tasks and of their phases in Ray's timeline.
TASKS = {
    "cluster._train": "training", "cluster._route": "routing", "cluster._walk": "walks",
    "schedule.count_visits": "counting", "task:store_outputs": "storing", "task:deserialize_arguments": "reading",
}  # fmt: skip


def processes_below(pid: int) -> dict[int, float]:
    """Return the processor seconds of a process and of all that it has started."""
    parents, seconds = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = path.read_text().rpartition(")")
        except OSError:
            continue
        fields = rest.split()
        number = int(name.split()[0])
        parents[number], seconds[number] = int(fields[1]), (int(fields[11]) + int(fields[12])) / _TICKS
    found = {pid}
    while more := {number for number, parent in parents.items() if parent in found} - found:
        found |= more
    return {number: seconds[number] for number in found if number in seconds}


def measure_locally(options: argparse.Namespace) -> None:
    """Train in files, and print the clock's and the processor's seconds."""
    graph = make_graph(options.nodes)
    model(2, 1, 2).fit([(0, 1)])
    start, cpu = time.perf_counter(), time.process_time()
    model(options.partitions, options.walks[0], 2).fit(graph)
    print(time.perf_counter() - start, time.process_time() - cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def measure_on_cluster(options: argparse.Namespace) -> dict[str, float]:
    """Train on a cluster of this machine; return seconds by what they were spent on, and megabytes of this process."""
    import ray
    from ray.cluster_utils import Cluster

    graph, cluster = make_graph(options.nodes), Cluster()
    machine = cluster.add_node(num_cpus=2, object_store_memory=400 * 2**20, include_dashboard=False)
    try:
        ray.init(cluster.address, log_to_driver=False, logging_level=logging.ERROR)
        raylet = machine.all_processes["raylet"][0].process.pid
        before, start, cpu = processes_below(raylet), time.perf_counter(), time.process_time()
        first_report: list[float] = []
        model(options.partitions, options.walks[0], 2).fit(
            graph, cluster=cluster.address, progress=lambda report: first_report.append(time.perf_counter())
        )
        found = {"clock": time.perf_counter() - start, "until training": first_report[0] - start}
        found["this process"] = time.process_time() - cpu
        after = processes_below(raylet)
        rises = {pid: seconds - before.get(pid, 0.0) for pid, seconds in after.items()}
        found["Ray"] = rises.pop(raylet)
        found["workers"] = sum(rises.values())
        found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        time.sleep(3)
        spent: Counter[str] = Counter()
        for event in ray.timeline():
            for name, kind in TASKS.items():
                if event.get("ph") == "X" and event["name"].endswith(name):
                    spent[kind] += event["dur"] / 1e6
        return found | {kind: spent[kind] for kind in TASKS.values()}
    finally:
        ray.shutdown()
        cluster.shutdown()


def child(options: argparse.Namespace, walks: int, where: str) -> list[str]:
    """Measure in a process of its own, and return the words that it prints."""
    command = [sys.executable, "-W", "ignore", __file__, "--walks", str(walks), "--nodes", str(options.nodes)]
    command += ["--partitions", str(options.partitions), "--where", where]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--walks", type=int, nargs="+", default=[10, 40])
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--where", choices=["here", "cluster"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if options.where == "here":
        measure_locally(options)
    elif options.where == "cluster":
        found: dict[str, Any] = measure_on_cluster(options)
        print(*found.values())
    else:
        rows: list[list[Cell]] = []
        for walks in options.walks:
            local = [float(word) for word in child(options, walks, "here")[-3:]]
            remote = [float(word) for word in child(options, walks, "cluster")[-12:]]
            numbers = [*local[:2], *remote[:5], *remote[6:]]
            rows.append([options.nodes, walks, options.partitions, *(round(number, 1) for number in numbers)])
            rows[-1] += [round(local[2] / 1024), round(remote[5])]
            print(rows[-1], flush=True)
        columns = ["nodes", "walks per node", "partitions", "local clock", "local cpu", "clock", "until training"]
        columns += ["driver cpu", "Ray cpu", "workers cpu", *TASKS.values(), "local MB", "driver MB"]
        save("partitions", "cluster overhead", columns, rows, "benchmarks/cluster_overhead.py", key=3)


if __name__ == "__main__":
    main()
