"""Seconds from a file of edges to vectors, and the score that these reach, beside other tools.

    python benchmarks/time_to_quality.py                                  # all but the largest graph (make bench)
    python benchmarks/time_to_quality.py --networks cora wiki
    python benchmarks/time_to_quality.py --networks "blocks, 1,000,000 nodes"     # hours

Every tool starts as a new process, reads an edge list, and writes vectors of 128 dimensions with all cores. Compiled
code of efge is in its cache. Tools have their default settings; efge also runs with fewer walks. The score is the mean
Micro-F1 of a classifier that knows 10, 50 and 90 % of the classes. The second table has, for each network, the least
time in which efge reaches the score of pecanpy and of ProNE. What is finished is in .bench: start this program again
to continue.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import efge
from arena import HERE, PYTHON, Finished, Run, command
from generators import BlockModel
from quality import LABELLED, load_network
from records import load, save

GENERATED = {
    f"blocks, {nodes:,} nodes": BlockModel(nodes, degree=10, blocks=blocks, mixing=0.4, exponent=3.0, seed=1)
    for nodes, blocks in ((100_000, 20), (1_000_000, 100))
}
DEFAULT = [*(name for name in LABELLED if name != "dolphins"), "blocks, 100,000 nodes"]
RATIOS, REPEATS = (0.1, 0.5, 0.9), 3
# Scores of so many labelled nodes are precise enough.
MAX_LABELLED = 20_000
# NetMF of larger graphs needs more memory than most machines have.
MAX_NETMF_NODES = 20_000
RECORD, TABLE, SUMMARY = "time_to_quality", "runs", "at the score of others"
COLUMNS = ["network", "method", "nodes", "edges", "seconds", "processor seconds", "Micro-F1"]


class Job(NamedTuple):
    """A file to embed, and where the vectors go."""

    edges: Path
    folder: Path

    def efge(self, *options: Any) -> list[Any]:
        output = ["-o", self.folder / "efge.npz", "--force", "--seed", 1]
        return [sys.executable, "-m", "efge", "--quiet", "embed", self.edges, "--no-header", *output, *options]

    def pecanpy(self) -> list[Any]:
        files = ["--input", self.edges, "--output", self.folder / "pecanpy.npz", "--delimiter", "\t"]
        program = PYTHON["peers"].with_name("pecanpy")
        return [program, *files, "--mode", "FirstOrderUnweighted", "--workers", 2, "--random_state", 1]

    def peer(self, home: str, tool: str) -> list[Any]:
        return [PYTHON[home], HERE / "file_to_vectors.py", tool, self.edges, self.folder / f"{tool}.npy"]


class Method(NamedTuple):
    """The command of a tool, and how to read what it wrote: vectors, and their nodes or None if row i is node i."""

    command: Callable[[Job], list[Any]]
    read: Callable[[Path], tuple[Any, Any]]


def read_efge(folder: Path) -> tuple[Any, Any]:
    embedding = efge.Embedding.load(folder / "efge.npz")
    return embedding.vectors, embedding.names


def read_pecanpy(folder: Path) -> tuple[Any, Any]:
    with np.load(folder / "pecanpy.npz") as arrays:
        return arrays["data"], arrays["IDs"].astype(np.int64)


def read_array(name: str) -> Callable[[Path], tuple[Any, Any]]:
    return lambda folder: (np.load(folder / f"{name}.npy"), None)


METHODS = {
    "efge": Method(lambda job: job.efge(), read_efge),
    "efge, 12 walks": Method(lambda job: job.efge("--walks-per-node", 12), read_efge),
    "efge, 6 walks": Method(lambda job: job.efge("--walks-per-node", 6), read_efge),
    "efge, ProNE": Method(lambda job: job.efge("--model", "prone"), read_efge),
    "efge, NetMF": Method(lambda job: job.efge("--model", "netmf"), read_efge),
    "pecanpy": Method(lambda job: job.pecanpy(), read_pecanpy),
    "grape": Method(lambda job: job.peer("peers", "grape"), read_array("grape")),
    "nodevectors, ProNE": Method(lambda job: job.peer("baselines", "nodevectors"), read_array("nodevectors")),
}


def load_numbered(name: str) -> tuple[Any, list[Any]]:
    """Return the edges of a network, each once, as numbers of nodes, and the classes of these; None has no class."""
    if name in GENERATED:
        graph, blocks = GENERATED[name].generate()
        labels: dict[Any, Any] = dict(enumerate(blocks.tolist()))
    else:
        graph, labels = load_network(name)
    rows = np.repeat(np.arange(graph.n_nodes), graph.degrees)
    edges = np.column_stack([rows, graph.indices])
    # Direction and weights are left out: not all tools know them.
    edges = np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)
    return edges, [labels.get(node) for node in graph.names]


def score(vectors: Any, nodes: Any, classes: list[Any]) -> float:
    """Return the mean Micro-F1; nodes of which a tool knows nothing have zeros."""
    table = np.zeros((len(classes), vectors.shape[1]), np.float32)
    table[np.arange(len(vectors)) if nodes is None else nodes] = vectors
    labelled = [node for node, label in enumerate(classes) if label is not None]
    chosen = np.random.default_rng(0).permutation(labelled)[:MAX_LABELLED].tolist()
    embedding = efge.Embedding(table[chosen], chosen)
    scores = efge.node_classification(
        embedding, {node: classes[node] for node in chosen}, ratios=RATIOS, repeats=REPEATS, seed=0
    )
    return float(np.mean([scores.summary(ratio).mean for ratio in RATIOS]))


def measure(name: str, methods: list[str], finished: Finished, folder: Path) -> None:
    """Run the tools on one network, and record each as soon as it has ended."""
    todo = [method for method in methods if f"{name}: {method}" not in finished.names]
    if not todo:
        return
    edges, classes = load_numbered(name)
    job = Job(folder / "edges.tsv", folder)
    np.savetxt(job.edges, edges, fmt="%d", delimiter="\t")
    for method in todo:
        if method != "efge, NetMF" or len(classes) <= MAX_NETMF_NODES:
            run = command(*METHODS[method].command(job))()
            print(f"{name}: {method}: {run}", file=sys.stderr, flush=True)
            record(name, method, edges, classes, run, folder)
        finished.add(f"{name}: {method}")


def record(name: str, method: str, edges: Any, classes: list[Any], run: Run, folder: Path) -> None:
    if "error" in run:
        return
    reached = score(*METHODS[method].read(folder), classes)
    row = [name, method, len(classes), len(edges), round(run["seconds"], 2), round(run["cpu"], 2), round(reached, 4)]
    save(RECORD, TABLE, COLUMNS, [row], "benchmarks/time_to_quality.py", key=2)


def summarize(rows: list[dict[str, Any]]) -> list[list[Any]]:
    """Return, for each network and other tool, the fastest method of efge that reaches its score, and the ratio.

    Examples
    --------
    >>> rows = [{"network": "a", "method": "efge", "seconds": 2.0, "Micro-F1": 0.8}]
    >>> rows += [{"network": "a", "method": "pecanpy", "seconds": 50.0, "Micro-F1": 0.7}]
    >>> summarize(rows)
    [['a', 'pecanpy', 0.7, 'efge', 0.8, 25.0]]
    """
    summary = []
    for other in rows:
        if other["method"].startswith("efge"):
            continue
        ours = [row for row in rows if row["network"] == other["network"] and row["method"].startswith("efge")]
        reaching = sorted((row["seconds"], row) for row in ours if row["Micro-F1"] >= other["Micro-F1"])[:1]
        for seconds, row in reaching:
            ratio = round(other["seconds"] / seconds, 1)
            summary.append(
                [other["network"], other["method"], other["Micro-F1"], row["method"], row["Micro-F1"], ratio]
            )
    return summary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [*LABELLED, *GENERATED]
    parser.add_argument("--networks", nargs="+", choices=names, default=DEFAULT, metavar="NAME")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS), metavar="NAME")
    options = parser.parse_args()
    everything = [f"{name}: {method}" for name in options.networks for method in options.methods]
    finished = Finished(HERE.parent / ".bench" / "time_to_quality.txt", everything)
    for name in options.networks:
        with tempfile.TemporaryDirectory() as folder:
            measure(name, options.methods, finished, Path(folder))
        columns = ["network", "other tool", "its score", "method", "score", "times as fast"]
        rows = summarize(load(RECORD)[TABLE].records())
        save(RECORD, SUMMARY, columns, rows, "benchmarks/time_to_quality.py")
        print(load(RECORD)[SUMMARY].to_markdown(), flush=True)


if __name__ == "__main__":
    main()
