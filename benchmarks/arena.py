"""Harness of the benchmarks: tools run alternately on generated inputs; runs and targets are recorded."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

import networkx as nx
import numpy as np

import efge

HERE = Path(__file__).parent
PYTHON = {"peers": HERE.parent / ".venv-bench/bin/python", "baselines": HERE.parent / ".venv-baselines/bin/python"}
HOMES = {"grape": "peers", "fastnode2vec": "peers", "csrgraph": "peers", "pecanpy": "peers"}
HOMES |= {"karateclub": "baselines", "nodevectors": "baselines"}
MAX_SECONDS = 7200

Run = dict[str, Any]


@dataclass
class Target:
    """A target: the wanted and the measured value, its range over runs, and whether it is met (None without a peer)."""

    what: str
    wanted: str
    measured: str
    spread: str
    met: bool | None


@dataclass
class Case:
    """A case: the runs of each tool, and the targets that they decide."""

    name: str
    unit: str = ""
    measured_at: str = ""
    runs: dict[str, list[Run]] = field(default_factory=dict)
    targets: list[Target] = field(default_factory=list)

    def take_turns(self, contestants: dict[str, Callable[[], Run]], repeats: int) -> None:
        """Run all tools in turn, several times; a tool that failed is not run again."""
        for _ in range(repeats):
            for name, contestant in contestants.items():
                if any("error" in run for run in self.runs.get(name, [])):
                    continue
                self.runs.setdefault(name, []).append(contestant())
                print(f"{self.name}: {name}: {self.runs[name][-1]}", file=sys.stderr, flush=True)

    def successful(self, name: str) -> list[Run]:
        return [run for run in self.runs.get(name, []) if "error" not in run]

    def cost(self, run: Run) -> float:
        """Return the seconds per unit of work; per run if all tools do the same work."""
        return float(run["seconds"]) / float(run.get("work", 1))

    def ratios(self, ours: str, theirs: str) -> list[float]:
        """Return how many times as fast our tool is, for each pair of consecutive runs."""
        pairs = zip(self.successful(ours), self.successful(theirs), strict=False)
        return [self.cost(their_run) / self.cost(our_run) for our_run, their_run in pairs]

    def add_min_ratio(self, what: str, ours: str, theirs: str, minimum: float) -> None:
        """Add the target that our tool is at least this many times as fast as theirs."""
        ratios = self.ratios(ours, theirs)
        if not ratios:
            reason = next((run["error"] for run in self.runs.get(theirs, []) if "error" in run), "not run")
            self.targets.append(Target(what, f"at least {minimum:g} times", reason, "", met=None))
            return
        ratio = statistics.median(ratios)
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
        self.targets.append(Target(what, f"at least {minimum:g} times", f"{ratio:.2f} times", spread, ratio >= minimum))

    def add_max_value(self, what: str, values: list[float], maximum: float, unit: str) -> None:
        """Add the target that the median of the values is at most this."""
        median, spread = statistics.median(values), f"{min(values):.3g} to {max(values):.3g}"
        target = Target(what, f"at most {maximum:g}{unit}", f"{median:.3g}{unit}", spread, median <= maximum)
        self.targets.append(target)


class Finished:
    """What an interrupted program has finished, one name a line of a file; once all of it is, the file is removed."""

    def __init__(self, path: Path, everything: Iterable[str]) -> None:
        self.path, self._everything = path, set(everything)
        self.names = path.read_text("utf-8").splitlines() if path.exists() else []

    def add(self, name: str) -> None:
        self.names.append(name)
        if set(self.names) >= self._everything:
            self.path.unlink(missing_ok=True)
            return
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_text("".join(f"{finished}\n" for finished in self.names), "utf-8")


# Runs.


def interpreter(tool: str) -> str:
    home = HOMES.get(tool.split()[0])
    return str(PYTHON[home]) if home else sys.executable


def environment(threads: int) -> dict[str, str]:
    """Return environment variables that set the number of threads of most libraries."""
    names = ("RAYON", "NUMBA", "OMP", "OPENBLAS", "MKL")
    return os.environ | {f"{name}_NUM_THREADS": str(threads) for name in names}


def contestant(task: str, tool: str, details: dict[str, Any]) -> Callable[[], Run]:
    """Return a function that runs a task of a tool in a new process and returns its time and memory."""
    threads = details.get("threads", 2)
    command = [interpreter(tool), str(HERE / "contestants.py"), task, tool, json.dumps(details)]

    def run() -> Run:
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, env=environment(threads), cwd=HERE, timeout=MAX_SECONDS
            )
        except subprocess.TimeoutExpired:
            return {"error": f"over {MAX_SECONDS} s"}
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            return {"error": f"exit code {done.returncode}: {last[:100]}"}
        answer: Run = json.loads(done.stdout)
        return answer

    return run


def command(*arguments: Any, threads: int = 2) -> Callable[[], Run]:
    """Return a function that runs a command and returns its wall time, CPU time and peak memory."""

    def run() -> Run:
        started = perf_counter()
        with tempfile.TemporaryFile("w+") as errors:
            quiet = {"stdout": subprocess.DEVNULL, "stderr": errors}
            process = subprocess.Popen(list(map(str, arguments)), env=environment(threads), **quiet)  # type: ignore[call-overload]
            monitor = MemoryMonitor(process.pid)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            errors.seek(0)
            if process.returncode:
                return {"error": f"exit code {process.returncode}: {errors.read().strip()[-100:]}"}
        seconds = perf_counter() - started
        return {"seconds": seconds, "cpu": usage.ru_utime + usage.ru_stime, "memory": monitor.peak}

    return run


class MemoryMonitor:
    """Records the peak memory of a process until it ends."""

    def __init__(self, pid: int) -> None:
        self.peak = 0
        self._status = Path(f"/proc/{pid}/status")
        threading.Thread(target=self._poll, daemon=True).start()

    def _poll(self) -> None:
        pause = threading.Event()
        while True:
            try:
                lines = self._status.read_text().splitlines()
            except OSError:
                return
            peaks = [int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")]
            if not peaks:
                return
            self.peak = max(self.peak, *peaks)
            pause.wait(0.05)


# Graphs: half of the edges lead to hubs, as in power laws; the other half stay within groups of a hundred nodes.


class Inputs:
    """Graphs and walks in a folder, each generated on first use."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def edges(self, nodes: int, edges_per_node: int = 5) -> Any:
        rng = np.random.default_rng(1)
        sources = np.tile(np.arange(nodes), edges_per_node)
        hubs = (nodes * rng.random(len(sources)) ** 2).astype(np.int64)
        members = np.minimum(sources // 100 * 100 + rng.integers(0, 100, len(sources)), nodes - 1)
        targets = np.where(rng.random(len(sources)) < 0.5, hubs, members)
        no_loop = sources != targets
        # Names in random order: consecutive names of neighbors would favor the cache.
        names = rng.permutation(nodes)
        return np.column_stack([names[sources[no_loop]], names[targets[no_loop]]])

    def graph(self, nodes: int, edges_per_node: int = 5, held_out: int = 0) -> Path:
        """Return the file of a graph's arrays; held-out edges are in a .npy file with the same name."""
        path = self.folder / f"{nodes}-{edges_per_node}-{held_out}.npz"
        if not path.exists():
            edges = self.edges(nodes, edges_per_node)
            if held_out:
                rows = np.random.default_rng(2).permutation(len(edges))[:held_out]
                np.save(path.with_suffix(".npy"), edges[rows])
                edges = np.delete(edges, rows, axis=0)
            graph = efge.as_graph(edges, nodes=range(nodes))
            np.savez(path, indptr=graph.indptr, indices=graph.indices)
        return path

    def walks(self, nodes: int, per_node: int) -> Path:
        path = self.folder / f"walks-{nodes}.txt"
        if not path.exists():
            with np.load(self.graph(nodes)) as arrays:
                graph = efge.Graph(arrays["indptr"], arrays["indices"])
            efge.Walks(graph, walks_per_node=per_node, walk_length=10, seed=1).save(path)
        return path

    def edge_list(self, nodes: int) -> Path:
        path = self.folder / f"{nodes}.tsv"
        if not path.exists():
            np.savetxt(path, self.edges(nodes), fmt="%d", delimiter="\t")
        return path

    @cached_property
    def karate(self) -> Path:
        path = self.folder / "karate.txt"
        path.write_text("".join(f"{a} {b}\n" for a, b in nx.karate_club_graph().edges))
        return path
