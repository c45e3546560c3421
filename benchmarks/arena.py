"""Contestants that take turns, what they work on, and what their runs took."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
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
LONGEST = 7200

Run = dict[str, Any]


@dataclass
class Target:
    """What was to be reached, what was, over how wide a range, and whether that will do: None without a peer."""

    what: str
    wanted: str
    measured: str
    spread: str
    met: bool | None


@dataclass
class Case:
    """What all runs of a case took, by tool, and the targets they speak for."""

    name: str
    unit: str = ""
    measured_at: str = ""
    runs: dict[str, list[Run]] = field(default_factory=dict)
    targets: list[Target] = field(default_factory=list)

    def take_turns(self, contestants: dict[str, Callable[[], Run]], repeats: int) -> None:
        for _ in range(repeats):
            for name, contestant in contestants.items():
                if any("error" in run for run in self.runs.get(name, [])):
                    continue
                self.runs.setdefault(name, []).append(contestant())
                print(f"{self.name}: {name}: {self.runs[name][-1]}", file=sys.stderr, flush=True)

    def sound(self, name: str) -> list[Run]:
        return [run for run in self.runs.get(name, []) if "error" not in run]

    def cost(self, run: Run) -> float:
        """Seconds for a unit of work, or for all of it where it is the same for all."""
        return float(run["seconds"]) / float(run.get("work", 1))

    def ratios(self, ours: str, theirs: str) -> list[float]:
        """How many times as fast, for each pair of runs that took turns."""
        pairs = zip(self.sound(ours), self.sound(theirs), strict=False)
        return [self.cost(other) / self.cost(own) for own, other in pairs]

    def want_ratio(self, what: str, ours: str, theirs: str, least: float) -> None:
        found = self.ratios(ours, theirs)
        if not found:
            trouble = next((run["error"] for run in self.runs.get(theirs, []) if "error" in run), "not run")
            self.targets.append(Target(what, f"at least {least:g} times", trouble, "", met=None))
            return
        ratio = statistics.median(found)
        spread = f"{min(found):.2f} to {max(found):.2f}"
        self.targets.append(Target(what, f"at least {least:g} times", f"{ratio:.2f} times", spread, ratio >= least))

    def want_most(self, what: str, values: list[float], most: float, unit: str) -> None:
        middle, spread = statistics.median(values), f"{min(values):.3g} to {max(values):.3g}"
        target = Target(what, f"at most {most:g}{unit}", f"{middle:.3g}{unit}", spread, middle <= most)
        self.targets.append(target)


# Runs.


def interpreter(tool: str) -> str:
    home = HOMES.get(tool.split()[0])
    return str(PYTHON[home]) if home else sys.executable


def environment(threads: int) -> dict[str, str]:
    """For this many threads, which most libraries read once."""
    names = ("RAYON", "NUMBA", "OMP", "OPENBLAS", "MKL")
    return os.environ | {f"{name}_NUM_THREADS": str(threads) for name in names}


def contestant(task: str, tool: str, details: dict[str, Any]) -> Callable[[], Run]:
    """A process that does a task once and tells what it took."""
    threads = details.get("threads", 2)
    command = [interpreter(tool), str(HERE / "contestants.py"), task, tool, json.dumps(details)]

    def run() -> Run:
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, env=environment(threads), cwd=HERE, timeout=LONGEST
            )
        except subprocess.TimeoutExpired:
            return {"error": f"over {LONGEST} s"}
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["nothing said"])[-1]
            return {"error": f"exit code {done.returncode}: {last[:100]}"}
        answer: Run = json.loads(done.stdout)
        return answer

    return run


def command(*arguments: Any, threads: int = 2) -> Callable[[], Run]:
    """A command as users call it: its seconds, those of all its processors, and its memory at the highest."""

    def run() -> Run:
        started = perf_counter()
        with tempfile.TemporaryFile("w+") as errors:
            quiet = {"stdout": subprocess.DEVNULL, "stderr": errors}
            process = subprocess.Popen(list(map(str, arguments)), env=environment(threads), **quiet)  # type: ignore[call-overload]
            watcher = Watcher(process.pid)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            errors.seek(0)
            if process.returncode:
                return {"error": f"exit code {process.returncode}: {errors.read().strip()[-100:]}"}
        seconds = perf_counter() - started
        return {"seconds": seconds, "cpu": usage.ru_utime + usage.ru_stime, "memory": watcher.highest}

    return run


class Watcher:
    """Looks at how much memory a process had at the highest, until it ends."""

    def __init__(self, pid: int) -> None:
        self.highest = 0
        self._status = Path(f"/proc/{pid}/status")
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        pause = threading.Event()
        while True:
            try:
                lines = self._status.read_text().splitlines()
            except OSError:
                return
            found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")]
            if not found:
                return
            self.highest = max(self.highest, *found)
            pause.wait(0.05)


# Graphs: half of the edges lead to hubs, as in power laws, half stay in groups of a hundred.


class Inputs:
    """Graphs and walks in a folder, each made when first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def edges(self, nodes: int, edges_a_node: int = 5) -> Any:
        rng = np.random.default_rng(1)
        sources = np.tile(np.arange(nodes), edges_a_node)
        hubs = (nodes * rng.random(len(sources)) ** 2).astype(np.int64)
        near = np.minimum(sources // 100 * 100 + rng.integers(0, 100, len(sources)), nodes - 1)
        targets = np.where(rng.random(len(sources)) < 0.5, hubs, near)
        kept = sources != targets
        # Names in a random order: neighbors with near names would be kind to the cache.
        names = rng.permutation(nodes)
        return np.column_stack([names[sources[kept]], names[targets[kept]]])

    def graph(self, nodes: int, edges_a_node: int = 5, held: int = 0) -> Path:
        """The arrays of a graph; with edges held back, those beside it."""
        path = self.folder / f"{nodes}-{edges_a_node}-{held}.npz"
        if not path.exists():
            edges = self.edges(nodes, edges_a_node)
            if held:
                back = np.random.default_rng(2).permutation(len(edges))[:held]
                np.save(path.with_suffix(".npy"), edges[back])
                edges = np.delete(edges, back, axis=0)
            built = efge.as_graph(edges, nodes=range(nodes))
            np.savez(path, indptr=built.indptr, indices=built.indices)
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
