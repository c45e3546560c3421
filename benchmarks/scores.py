"""Scores of the fast and the reference trainer and of the baselines, beside the published ones.

Node classification: Micro-F1 of one-vs-rest logistic regression, five random splits for each training seed. Link
prediction: AUC of logistic regression on Hadamard products, with half of the edges (or as many as leave the rest
connected) removed once, and a model trained for each seed on what is left. Means over seeds, and their deviations.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import efge

FAMILIES = {"bernoulli": "EFGE-Bern", "poisson": "EFGE-Pois", "normal": "EFGE-Norm"}
BASELINES = {"deepwalk": "DeepWalk", "node2vec": "Node2Vec", "line": "LINE", "hope": "HOPE", "netmf": "NetMF"}
RATIOS = (2, 10, 50, 90)
SPLITS = 5
WHAT = {"nodes": f"Micro-F1 at {', '.join(map(str, RATIOS))} %", "links": "AUC"}
Array = npt.NDArray[Any]


def read(folder: Path) -> tuple[efge.Graph, Array | None]:
    graph = efge.read_graph(folder / "edges.tsv", nodes=folder / "nodes.txt")
    if not (folder / "labels.tsv").exists():
        return graph, None
    labels = np.zeros(graph.n_nodes, int)
    given = np.loadtxt(folder / "labels.tsv", int)
    labels[graph.rows(given[:, 0].tolist())] = given[:, 1]
    return graph, labels


def micro_f1(vectors: Array, labels: Array, ratio: int, seed: int) -> float:
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    scores = []
    for split in range(SPLITS):
        order = np.random.default_rng([seed, split, ratio]).permutation(len(labels))
        train, test = np.split(order, [round(len(labels) * ratio / 100)])
        classifier = OneVsRestClassifier(LogisticRegression(solver="liblinear"))
        classifier.fit(vectors[train], labels[train])
        # Of single labels, Micro-F1 is the accuracy.
        scores.append(np.mean(classifier.predict(vectors[test]) == labels[test]))
    return float(np.mean(scores))


def split_edges(graph: efge.Graph) -> tuple[efge.Graph, Array, Array]:
    """The largest component without half of its edges, but connected; the pairs to learn from and to be judged by."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    graph = graph.largest_component()
    random = np.random.default_rng(0)
    rows = np.repeat(np.arange(graph.n_nodes), graph.degrees)
    edges = np.column_stack([rows, graph.indices])[rows < graph.indices]
    weights = coo_array((random.random(len(edges)) + 0.5, (edges[:, 0], edges[:, 1])), shape=(graph.n_nodes,) * 2)
    tree = minimum_spanning_tree(weights.tocsr()).tocoo()
    codes = edges[:, 0] * graph.n_nodes + edges[:, 1]
    free = np.flatnonzero(~np.isin(codes, tree.row.astype(np.int64) * graph.n_nodes + tree.col))
    removed = random.permutation(free)[: len(edges) // 2]
    kept = np.setdiff1d(np.arange(len(edges)), removed)
    drawn = np.sort(random.integers(graph.n_nodes, size=(4 * len(edges), 2)), axis=1)
    drawn_codes = drawn[:, 0] * graph.n_nodes + drawn[:, 1]
    _, first = np.unique(drawn_codes, return_index=True)
    no_edges = drawn[np.sort(first)]
    no_edges = no_edges[(no_edges[:, 0] != no_edges[:, 1]) & ~np.isin(drawn_codes[np.sort(first)], codes)]
    train = np.vstack([edges[kept], no_edges[: len(kept)]])
    test = np.vstack([edges[removed], no_edges[len(kept) : len(kept) + len(removed)]])
    return efge.as_graph(edges[kept]), train, test


def auc(embedding: efge.Embedding, train: Array, test: Array) -> float:
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    nodes = np.unique(train)
    vectors = np.zeros((nodes.max() + 1, embedding.dim), np.float32)
    vectors[nodes] = np.asarray(embedding[nodes.tolist()])
    half_train, half_test = len(train) // 2, len(test) // 2
    classifier = LogisticRegression(max_iter=1000)
    classifier.fit(vectors[train[:, 0]] * vectors[train[:, 1]], np.arange(len(train)) < half_train)
    features = vectors[test[:, 0]] * vectors[test[:, 1]]
    return float(roc_auc_score(np.arange(len(test)) < half_test, classifier.decision_function(features)))


def make(name: str, trainer: str, seed: int) -> Any:
    if name in FAMILIES:
        return efge.EFGE(name, trainer=trainer, seed=seed, threads=1)
    model = getattr(efge, BASELINES[name])(seed=seed)
    return model.set_params(threads=1) if "threads" in model.get_params() else model


def measure(folder: Path, task: str, name: str, trainer: str, seed: int) -> tuple[list[float], float]:
    warnings.filterwarnings("ignore")
    graph, labels = read(folder)
    model = make(name, trainer, seed)
    if task == "links":
        rest, train, test = split_edges(graph)
        start = time.perf_counter()
        model.fit(rest)
        return [auc(model.embedding_, train, test)], time.perf_counter() - start
    start = time.perf_counter()
    vectors = model.fit_transform(graph)
    seconds = time.perf_counter() - start
    assert labels is not None
    return [micro_f1(vectors, labels, ratio, seed) for ratio in RATIOS], seconds


def published(folder: Path, network: str, task: str, method: str) -> str:
    """The paper's scores, where its tables are at hand."""
    name = "node_classification.csv" if task == "nodes" else "link_prediction.csv"
    if not (folder / name).exists():
        return "-"
    with (folder / name).open() as file:
        rows = [row for row in csv.DictReader(file) if row["dataset"].lower() == network]
    rows = [row for row in rows if row["method"].lower() == (FAMILIES | BASELINES)[method].lower()]
    if task == "links":
        return " ".join(f"{float(row['auc']):.3f}" for row in rows)
    by_ratio = {float(row["train_percent"]): row for row in rows if row["f1"] == "micro"}
    return " ".join(f"{float(by_ratio[ratio]['score']):.3f}" for ratio in RATIOS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    home = Path(__file__).resolve().parents[2] / "shared"
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("EFGE_DATA", home / "data")))
    parser.add_argument("--published", type=Path, default=home / "paper")
    parser.add_argument("--networks", nargs="+", default=["citeseer", "cora"])
    parser.add_argument("--tasks", nargs="+", default=["nodes"], choices=["nodes", "links"])
    parser.add_argument("--models", nargs="+", default=list(FAMILIES), choices=[*FAMILIES, *BASELINES])
    parser.add_argument("--trainers", nargs="+", default=["fast", "reference"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args()
    print("| network | task | model | trainer | mean | deviation over seeds | published | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    with ProcessPoolExecutor(options.processes) as pool:
        for network in options.networks:
            for task in options.tasks:
                for name in options.models:
                    for trainer in options.trainers if name in FAMILIES else ["fast"]:
                        case = options.data / network, task, name, trainer
                        jobs = [pool.submit(measure, *case, seed) for seed in range(options.seeds)]
                        scores = np.array([job.result()[0] for job in jobs])
                        seconds = np.median([job.result()[1] for job in jobs])
                        mean, deviation = (
                            " ".join(f"{x:.4f}" for x in row) for row in (scores.mean(0), scores.std(0, ddof=1))
                        )
                        known = published(options.published, network, task, name)
                        row = [network, WHAT[task], name, trainer, mean, deviation, known, f"{seconds:.1f}"]
                        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
