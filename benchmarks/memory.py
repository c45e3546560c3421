"""Peak memory of `efge embed`, compared with the estimate of `estimate_memory`.

    python benchmarks/memory.py [--nodes 10000 100000 1000000]

Each run is a new process, whose peak is read when it ends. A first run, which compiles, does not count. The record is
``results/memory.json``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import efge
from reading import memory
from records import save

COLUMNS = ["nodes", "edges", "dim", "weighted", "names", "estimated, MB", "measured, MB", "estimated / measured"]


@dataclass(frozen=True)
class Case:
    """A graph and the options of its embedding."""

    nodes: int
    edges_per_node: int = 5
    dim: int = 128
    weighted: bool = False
    words: bool = False
    walks_per_node: int = 2

    def write(self, path: Path) -> None:
        """Write an edge list with random targets, in which each node occurs."""
        import pyarrow as pa
        import pyarrow.csv

        rng = np.random.default_rng(0)
        sources = np.tile(np.arange(self.nodes), self.edges_per_node)
        columns = {"source": sources, "target": rng.integers(0, self.nodes, len(sources))}
        table = pa.table(columns)
        if self.words:
            names = pa.array([f"user_{number:x}" for number in range(self.nodes)])
            table = pa.table({name: names.take(pa.array(rows)) for name, rows in columns.items()})
        if self.weighted:
            table = table.append_column("weight", pa.array(rng.random(len(sources)) + 0.5))
        options = pyarrow.csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
        pyarrow.csv.write_csv(table, path, options)

    def options(self) -> list[str]:
        return ["--dim", str(self.dim), "--walks-per-node", str(self.walks_per_node), "--seed", "1"]


def run(path: Path, case: Case, *options: str) -> dict[str, Any]:
    """Embed in a new process; return the measured and the estimated peak in bytes."""
    arguments = ["embed", str(path), "-m", "efge-norm", "-o", str(path.with_suffix(".npz")), "--force"]
    arguments += [*case.options(), *options]
    done = subprocess.run(
        [sys.executable, __file__, "--worker", *arguments], capture_output=True, text=True, check=True
    )
    graph = efge.read_graph(path)
    model = efge.EFGE.paper(dim=case.dim, walks_per_node=case.walks_per_node)
    estimate = efge.estimate_memory(graph, model)
    return {"case": case, "edges": graph.n_edges, "measured": json.loads(done.stdout), "estimated": estimate.peak}


def work(arguments: list[str]) -> None:
    """Run the command in this process, then print its peak memory."""
    from efge.cli import main

    sys.argv = ["efge", "--quiet", *arguments]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
    print(memory("VmHWM"))


def make_cases(sizes: list[int]) -> list[Case]:
    cases = [Case(nodes) for nodes in sizes]
    for nodes in sizes:
        cases += [Case(nodes, dim=32), Case(nodes, weighted=True), Case(nodes, words=True)]
    return [
        *cases,
        Case(max(sizes), dim=100),
        Case(max(sizes) // 10, edges_per_node=100),
        Case(sizes[0], walks_per_node=80),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--worker", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    if arguments.worker:
        work(arguments.worker)
        return
    print("| nodes | edges | dim | weights | names | estimated, MB | measured, MB | estimated / measured |")
    print("| ---: | ---: | ---: | --- | --- | ---: | ---: | ---: |")
    ratios, rows = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "graph.tsv")
        for words in (False, True):
            warm = Case(1000, words=words, weighted=words)
            warm.write(path)
            run(path, warm)
        for case in make_cases(arguments.nodes):
            case.write(path)
            result = run(path, case)
            ratios.append(result["estimated"] / result["measured"])
            kinds = f"{'yes' if case.weighted else 'no'} | {'words' if case.words else 'integers'}"
            sizes = f"{result['estimated'] / 1e6:,.0f} | {result['measured'] / 1e6:,.0f} | {ratios[-1]:.2f}"
            print(f"| {case.nodes:,} | {result['edges']:,} | {case.dim} | {kinds} | {sizes} |", flush=True)
            names = "words" if case.words else "integers"
            megabytes = [round(result[which] / 1e6) for which in ("estimated", "measured")]
            rows.append([case.nodes, result["edges"], case.dim, case.weighted, names, *megabytes, f"{ratios[-1]:.2f}"])
    save("memory", "embed", COLUMNS, rows, "benchmarks/memory.py")
    worst = max(ratios, key=lambda ratio: abs(ratio - 1))
    print(f"\nworst ratio: {worst:.2f}; the target of 20 % is {'met' if abs(worst - 1) <= 0.2 else 'MISSED'}")


if __name__ == "__main__":
    main()
