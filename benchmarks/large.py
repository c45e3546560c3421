"""Large graphs with something to learn: time, memory and scores of the default model, beside a small graph.

    python benchmarks/large.py                      # 10,000 and 1,000,000 nodes, into the record (minutes)
    python benchmarks/large.py --nodes 10000000     # needs 24 GB of memory and an hour

Graphs are degree-corrected block models of mean degree 10 whose blocks have 10,000 nodes, and 1,000 in the small graph.
A tenth of a percent of the edges is held out. Each graph is embedded in a process of its own, whose memory is measured.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

import efge
from generators import BlockModel
from records import save

SIZES = (10_000, 1_000_000)
LABELLED, TESTED, HELD_OUT = 10_000, 20_000, 20_000


def measure(nodes: int, threads: int | None, seed: int = 1) -> dict[str, Any]:
    """Embed a graph with the default settings, and score classes and held-out edges."""
    model = BlockModel(nodes, degree=10, blocks=max(10, nodes // 10_000), mixing=0.4, exponent=3.0, seed=seed)
    graph, blocks = model.generate()
    graph, held_out = hold_out(graph, np.random.default_rng(seed))
    efge.EFGE(seed=seed, threads=threads).fit([(0, 1), (1, 2)])
    before = peak_bytes()
    begin, processor = time.perf_counter(), time.process_time()
    fitted = efge.EFGE(seed=seed, threads=threads).fit(graph)
    seconds, processor = time.perf_counter() - begin, time.process_time() - processor
    vectors = fitted.embedding_.vectors
    return {
        "nodes": nodes,
        "edges": graph.n_edges,
        "threads": threads or 0,
        "seconds": round(seconds, 1),
        "processor seconds": round(processor, 1),
        "walks": round(fitted.walks_per_node_, 1),
        "million pairs": round(fitted.history_["pairs"][-1] / 1e6, 1),
        "GB before": round(before / 1e9, 2),
        "GB": round(peak_bytes() / 1e9, 2),
        "Micro-F1": round(micro_f1(vectors, blocks, np.random.default_rng(seed)), 4),
        "largest class": round(float(np.bincount(blocks).max() / nodes), 4),
        "AUC": round(held_out_auc(vectors, graph, held_out, np.random.default_rng(seed)), 4),
    }


def hold_out(graph: efge.Graph, random: np.random.Generator) -> tuple[efge.Graph, Any]:
    """Return the graph without some edges, and these."""
    rows = np.repeat(np.arange(graph.n_nodes), graph.degrees)
    edges = np.column_stack([rows, graph.indices])[rows < graph.indices]
    order = random.permutation(len(edges))
    count = min(HELD_OUT, len(edges) // 10)
    return efge.as_graph(edges[order[count:]], nodes=range(graph.n_nodes)), edges[order[:count]]


def micro_f1(vectors: Any, blocks: Any, random: np.random.Generator) -> float:
    """Return the Micro-F1 of a logistic regression on some nodes, for others."""
    from sklearn.linear_model import LogisticRegression

    order = random.permutation(len(vectors))
    train, test = order[: min(LABELLED, len(order) // 10)], order[-min(TESTED, len(order) // 2) :]
    classifier = LogisticRegression(max_iter=200).fit(vectors[train], blocks[train])
    return float(classifier.score(vectors[test], blocks[test]))


def held_out_auc(vectors: Any, graph: efge.Graph, held_out: Any, random: np.random.Generator) -> float:
    """Return the AUC of held-out edges against pairs of nodes at random, by cosine."""
    from sklearn.metrics import roc_auc_score

    pairs = np.vstack([held_out, random.integers(graph.n_nodes, size=held_out.shape)])
    one, other = vectors[pairs[:, 0]], vectors[pairs[:, 1]]
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    scores = np.einsum("ij,ij->i", one, other) / np.maximum(lengths, 1e-9)
    return float(roc_auc_score(np.arange(len(pairs)) < len(held_out), scores))


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(measure(options.nodes[0], options.threads)))
        return
    for nodes in options.nodes:
        threads = [] if options.threads is None else ["--threads", str(options.threads)]
        command = [sys.executable, "-W", "ignore", __file__, "--alone", "--nodes", str(nodes), *threads]
        measured = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(measured, flush=True)
        save("large", "default model", list(measured), [list(measured.values())], "benchmarks/large.py", key=1)


if __name__ == "__main__":
    main()
