"""Steps a second of random walks, beside every peer that installs, in runs that take turns.

    python benchmarks/walks.py --peers PYTHON [--repeats 5] [--threads 1 2]

PYTHON is an interpreter that has the peers (see peers.txt); a peer that is not there or crashes is left out and named.
Graphs follow a power law: 10,000 nodes with 50,000 edges, 200,000 nodes with 1,000,000 edges.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import networkx as nx
import numpy as np

import efge

PEERS = ["grape", "csrgraph", "fastnode2vec", "pecanpy"]
INSIDE = ["fastnode2vec", "pecanpy"]
KINDS = {"uniform": (1.0, 1.0), "node2vec p=0.5 q=1": (0.5, 1.0), "node2vec p=0.5 q=2": (0.5, 2.0)}
WALKS_PER_NODE = {10_000: 20, 200_000: 2}
WALK_LENGTH = 80


def write_graph(folder: Path, nodes: int) -> Path:
    graph = nx.barabasi_albert_graph(nodes, 5, seed=1)
    # Names in a random order: the order of a model's growth would be kind to the cache.
    shuffled = np.random.default_rng(0).permutation(nodes)
    built = efge.as_graph(shuffled[np.array(graph.edges)], nodes=range(nodes))
    path = folder / f"{nodes}.npz"
    np.savez(path, indptr=built.indptr, indices=built.indices)
    return path


@dataclass
class Worker:
    """A process with one tool and one graph, that waits to be asked."""

    tool: str
    documented: bool
    process: subprocess.Popen[str]
    rates: dict[str, list[float]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    @classmethod
    def start(cls, python: str, tool: str, threads: int, path: Path, documented: bool) -> Worker:
        command = [python, str(Path(__file__).with_name("walk_peers.py")), tool, str(threads), str(path)]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        worker = cls(tool, documented, process)
        assert process.stdout is not None
        if not process.stdout.readline():
            worker.errors["all"] = "does not start"
        return worker

    def feasible(self, kind: str, nodes: int, walks_per_node: int) -> int:
        """As many walks as the tool makes in about a second, or some; none where it would take minutes."""
        if self.tool == "efge":
            return 8 * walks_per_node
        if self.tool == "csrgraph" and kind != "uniform":
            return 1 if nodes <= 10_000 else 0
        return 1 if self.tool == "fastnode2vec" and self.documented else walks_per_node

    def ask(self, kind: str, walks_per_node: int, seed: int) -> None:
        if "all" in self.errors or kind in self.errors or not walks_per_node:
            return
        if self.documented and self.tool in ("fastnode2vec", "pecanpy") and seed != 1:
            # Slow enough that once must do: they compile or convert in every call.
            return
        p, q = KINDS[kind]
        request = {"p": p, "q": q, "walks_per_node": walks_per_node, "walk_length": WALK_LENGTH, "seed": seed}
        answer = self._answer(request | {"documented": self.documented})
        if "error" in answer:
            self.errors[kind] = answer["error"]
        elif seed:  # the first one warms up
            self.rates.setdefault(kind, []).append(answer["steps"] / answer["seconds"] / 1e6)

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        self.errors["all"] = f"crashes, exit code {self.process.wait()}"
        return {"error": "crashes"}

    def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def cell(self, kind: str) -> str:
        if kind in self.rates:
            return f"{statistics.median(self.rates[kind]):.1f}"
        return self.errors.get(kind, self.errors.get("all", "too slow"))


def compare(path: Path, nodes: int, walks_per_node: int, threads: int, options: argparse.Namespace) -> None:
    workers = [Worker.start(sys.executable, "efge", threads, path, documented=True)]
    for documented in (True, False):
        # For grape and csrgraph, the two are the same.
        peers = PEERS if documented else INSIDE
        workers += [Worker.start(options.peers, peer, threads, path, documented) for peer in peers]
    for kind in KINDS:
        for seed in range(options.repeats + 1):
            for worker in workers:
                worker.ask(kind, worker.feasible(kind, nodes, walks_per_node), seed)
    for worker in workers:
        worker.stop()
    for kind in KINDS:
        ours = statistics.median(workers[0].rates[kind])
        cells = [worker.cell(kind) for worker in workers]
        best = [
            max(statistics.median(worker.rates[kind]) for worker in some if kind in worker.rates)
            for some in (workers[1:5], workers[1:])
        ]
        ratios = [f"**{ours / rate:.1f}**" for rate in best]
        print(f"| {nodes:,} | {kind} | {threads} | " + " | ".join([*cells, *ratios]) + " |", flush=True)


FIRST_CALL = """
import time, efge
graph = efge.as_graph([(0, 1), (1, 2)])
start = time.perf_counter()
list(efge.Walks(graph, {strategy}, walks_per_node=1, seed=0).rounds())
print(time.perf_counter() - start)
"""


def measure_first_calls() -> None:
    """What compilation costs, once on a machine, and what a second process finds of it."""
    print("\n| first call, seconds | new machine | second process |\n| --- | --- | --- |")
    for strategy in ("efge.UniformWalk()", "efge.Node2VecWalk(0.5, 2)"):
        with tempfile.TemporaryDirectory() as cache:
            code, environment = FIRST_CALL.format(strategy=strategy), os.environ | {"NUMBA_CACHE_DIR": cache}
            runs = [
                subprocess.run(
                    [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
                )
                for _ in range(2)
            ]
        print(f"| {strategy} | " + " | ".join(f"{float(run.stdout):.2f}" for run in runs) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", required=True, help="a Python interpreter that has the peers")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, nargs="+", default=sorted({1, os.cpu_count() or 1}))
    options = parser.parse_args()
    started = perf_counter()
    print(f"Million steps a second, walks of {WALK_LENGTH} nodes, median of {options.repeats} runs that take turns.")
    print("Peers by their documented interface, then (inside) by the compiled loop in them, tables and names apart.\n")
    columns = ["nodes", "walks", "threads", "efge", *PEERS, *(f"{peer} inside" for peer in INSIDE)]
    columns += ["efge / best", "efge / best inside"]
    print("| " + " | ".join(columns) + " |\n|" + " --- |" * len(columns))
    with tempfile.TemporaryDirectory() as folder:
        for nodes, walks_per_node in WALKS_PER_NODE.items():
            path = write_graph(Path(folder), nodes)
            for threads in options.threads:
                compare(path, nodes, walks_per_node, threads, options)
    measure_first_calls()
    print(f"\nMeasured in {(perf_counter() - started) / 60:.0f} minutes.")


if __name__ == "__main__":
    main()
