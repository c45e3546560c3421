"""Seconds that each baseline takes to fit a graph, beside the peers that have it, in runs that take turns.

    python benchmarks/baselines.py --peers .venv-baselines/bin/python [--repeats 3] [--nodes 2000 5000]

Graphs are power-law ones, and all tools have both cores. A run is a process of its own: it loads the tool, warms it up
on a small graph so that compilation is not counted, and fits. All walks have 10 nodes, 80 for each node; windows are 10
and vectors have 128 entries. gensim is given efge's walks, and its time is that of counting words and training alone;
the others make their own. karateclub trains DeepWalk and Node2Vec by CBOW, not the method but much cheaper than
skip-gram; its HOPE takes common neighbors where efge takes Katz's index.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import networkx as nx
import numpy as np

CASES = {
    "DeepWalk": ("gensim", "karateclub"),
    "Node2Vec": ("gensim", "karateclub", "nodevectors"),
    "LINE": (),
    "HOPE": ("karateclub",),
    "NetMF": ("karateclub",),
    "BigClam": ("karateclub",),
}
COMMUNITIES = 16


def efge_fit(method: str, edges: Any) -> Callable[[], object]:
    import efge

    options = {"communities": COMMUNITIES} if method == "BigClam" else {}
    graph = efge.as_graph(edges)
    return lambda: getattr(efge, method)(seed=0, **options).fit(graph)


def gensim_fit(method: str, edges: Any) -> Callable[[], object]:
    from gensim.models import Word2Vec

    import efge

    walks = [list(map(str, walk)) for walk in efge.Walks(edges, walks_per_node=80, walk_length=10, seed=0)]
    chosen = {"hs": 1, "negative": 0} if method == "DeepWalk" else {"hs": 0, "negative": 5}
    return lambda: Word2Vec(
        walks, vector_size=128, window=10, min_count=0, sample=0, sg=1, epochs=1, min_alpha=0.0001, workers=2,
        shrink_windows=False, seed=0, **chosen,
    )  # fmt: skip


def karateclub_fit(method: str, edges: Any) -> Callable[[], object]:
    import karateclub

    walked = {"walk_number": 80, "walk_length": 10, "window_size": 10, "workers": 2}
    options: dict[str, Any] = {
        "DeepWalk": walked,
        "Node2Vec": walked,
        "NetMF": {"order": 10},
        "BigClam": {"dimensions": COMMUNITIES},
    }
    options = options.get(method, {})
    graph = nx.Graph(edges.tolist())
    ordered = nx.Graph()
    ordered.add_nodes_from(range(graph.number_of_nodes()))
    ordered.add_edges_from(graph.edges)
    return lambda: getattr(karateclub, method)(**{"dimensions": 128} | options).fit(ordered)


def nodevectors_fit(method: str, edges: Any) -> Callable[[], object]:
    import nodevectors

    graph = nx.Graph(edges.tolist())
    words = {"window": 10, "negative": 5, "iter": 1, "sg": 1, "workers": 2}
    return lambda: nodevectors.Node2Vec(
        n_components=128, walklen=10, epochs=80, threads=2, verbose=False, w2vparams=words
    ).fit(graph)


FITS = {"efge": efge_fit, "gensim": gensim_fit, "karateclub": karateclub_fit, "nodevectors": nodevectors_fit}


def run_here(tool: str, method: str, path: str) -> None:
    """Fit, and print the seconds."""
    small = np.array(nx.barabasi_albert_graph(300, 4, seed=1).edges)
    FITS[tool](method, small)()
    fit = FITS[tool](method, np.load(path))
    start = perf_counter()
    fit()
    print(json.dumps(perf_counter() - start))


def run(tool: str, method: str, path: Path, options: argparse.Namespace) -> float | str:
    """In a process of its own; what went wrong, if anything did."""
    # gensim is a development dependency, and needs efge for its walks.
    interpreter = sys.executable if tool in ("efge", "gensim") else options.peers
    command = [interpreter, __file__, "--tool", tool, "--method", method, "--path", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.timeout)
    except subprocess.TimeoutExpired:
        return f"over {options.timeout} s"
    if done.returncode:
        return done.stderr.strip().splitlines()[-1][:60]
    return float(json.loads(done.stdout.strip().splitlines()[-1]))


def compare(method: str, nodes: int, path: Path, options: argparse.Namespace) -> None:
    seconds: dict[str, list[float | str]] = {}
    for _ in range(options.repeats):
        for tool in ("efge", *CASES[method]):
            if not any(isinstance(second, str) for second in seconds.get(tool, [])):
                seconds.setdefault(tool, []).append(run(tool, method, path, options))
    cells, best = [], float("inf")
    for tool, found in seconds.items():
        numbers = [second for second in found if isinstance(second, float)]
        cells.append(f"{tool} {statistics.median(numbers):.2f}" if numbers else f"{tool}: {found[0]}")
        best = min(best, statistics.median(numbers)) if numbers and tool != "efge" else best
    ours = statistics.median(second for second in seconds["efge"] if isinstance(second, float))
    ratio = f"{best / ours:.1f}" if best < float("inf") else "-"
    print(f"| {nodes:,} | {method} | {cells[0][5:]} | {', '.join(cells[1:]) or 'none'} | {ratio} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", default=sys.executable, help="an interpreter that has karateclub and nodevectors")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--nodes", type=int, nargs="+", default=[2000, 5000])
    parser.add_argument("--methods", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--timeout", type=int, default=300)
    parser.add_argument("--tool", help=argparse.SUPPRESS)
    parser.add_argument("--method", help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.tool:
        run_here(options.tool, options.method, options.path)
        return
    print("| nodes | method | efge, s | peers, s | best peer / efge |\n| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for nodes in options.nodes:
            path = Path(folder) / f"{nodes}.npy"
            np.save(path, np.array(nx.barabasi_albert_graph(nodes, 5, seed=1).edges))
            for method in options.methods:
                compare(method, nodes, path, options)


if __name__ == "__main__":
    main()
