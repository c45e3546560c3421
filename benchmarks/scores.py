"""Scores of the fast and the reference trainer and of the baselines, compared with the published ones.

Node classification: Micro-F1 of one-vs-rest logistic regression, five random splits for each training seed. Link
prediction: AUC of logistic regression on Hadamard products; half of the edges (or as many as leave the rest connected)
are removed once, and a model is trained on the remaining graph for each seed. Prints means and standard deviations over
seeds. With --partitions, the fast trainer is also run with these numbers of partitions; 0 means no partitions.
With --record, means go to that table of ``results/scores.json``.
"""

from __future__ import annotations

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

import efge
from efge.evaluation.links import link_metrics, pair_scores
from efge.evaluation.splits import split_links
from efge.experiments.plan import published_table
from records import save

FAMILIES = {"bernoulli": "EFGE-Bern", "poisson": "EFGE-Pois", "normal": "EFGE-Norm"}
BASELINES = {"deepwalk": "DeepWalk", "node2vec": "Node2Vec", "line": "LINE", "hope": "HOPE", "netmf": "NetMF"}
PERCENTAGES = (2, 10, 50, 90)
SPLITS = 5
METRICS = {"nodes": f"Micro-F1 at {', '.join(map(str, PERCENTAGES))} %", "links": "AUC"}


def make_model(name: str, trainer: str, partitions: int, seed: int) -> Any:
    if name in FAMILIES:
        return efge.EFGE.paper(name, trainer=trainer, partitions=partitions or None, seed=seed, threads=1)
    model = getattr(efge, BASELINES[name])(seed=seed)
    return model.set_params(threads=1) if "threads" in model.get_params() else model


def measure(network: str, task: str, name: str, trainer: str, partitions: int, seed: int) -> tuple[list[float], float]:
    dataset = efge.load_dataset(network)
    split = split_links(dataset.graph.largest_component(), 0.5) if task == "links" else None
    start = time.perf_counter()
    embedding = (
        make_model(name, trainer, partitions, seed).fit(dataset.graph if split is None else split.graph).embedding_
    )
    seconds = time.perf_counter() - start
    if split is not None:
        return [link_metrics(pair_scores(embedding, split, "hadamard"), len(split.test_edges))["auc"]], seconds
    ratios = [percentage / 100 for percentage in PERCENTAGES]
    scores = efge.node_classification(embedding, dataset.labels, ratios=ratios, repeats=SPLITS, seed=seed, threads=1)
    return [scores.summary(ratio).mean for ratio in ratios], seconds


def published_scores(network: str, task: str, name: str) -> str:
    method = (FAMILIES | BASELINES)[name]
    if task == "links":
        return f"{published_table('links.csv')[method, network]:.3f}"
    table = published_table(f"classification_{network}.csv")
    return " ".join(f"{table[method, 'micro_f1', str(percentage)]:.3f}" for percentage in PERCENTAGES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", nargs="+", default=["citeseer", "cora"])
    parser.add_argument("--tasks", nargs="+", default=["nodes"], choices=["nodes", "links"])
    parser.add_argument("--models", nargs="+", default=list(FAMILIES), choices=[*FAMILIES, *BASELINES])
    parser.add_argument("--trainers", nargs="+", default=["fast", "reference"])
    parser.add_argument("--partitions", type=int, nargs="+", default=[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--record", choices=["trainers", "partitions"])
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args()
    print(
        "| network | task | model | trainer | partitions | mean | standard deviation over seeds | published | seconds |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    variants = [("fast", partitions) for partitions in options.partitions if "fast" in options.trainers]
    variants += [(trainer, 0) for trainer in options.trainers if trainer != "fast"]
    record: list[list[Any]] = []
    with ProcessPoolExecutor(options.processes) as pool:
        for network in options.networks:
            for task in options.tasks:
                for name in options.models:
                    for trainer, partitions in variants if name in FAMILIES else [("fast", 0)]:
                        case = network, task, name, trainer, partitions
                        jobs = [pool.submit(measure, *case, seed) for seed in range(options.seeds)]
                        scores = np.array([job.result()[0] for job in jobs])
                        seconds = np.median([job.result()[1] for job in jobs])
                        mean, deviation = (
                            " ".join(f"{x:.4f}" for x in row) for row in (scores.mean(0), scores.std(0, ddof=1))
                        )
                        published = published_scores(network, task, name)
                        row = [
                            network,
                            METRICS[task],
                            name,
                            trainer,
                            str(partitions),
                            mean,
                            deviation,
                            published,
                            f"{seconds:.1f}",
                        ]
                        print(f"| {' | '.join(row)} |", flush=True)
                        metrics = [f"Micro-F1 at {p} %" for p in PERCENTAGES] if task == "nodes" else ["AUC"]
                        for metric, score in zip(metrics, scores.mean(0), strict=True):
                            record.append(
                                [network, metric, name, trainer, partitions, options.seeds, round(float(score), 4)]
                            )
    if options.record:
        columns = ["network", "metric", "model", "trainer", "partitions", "seeds", "mean"]
        save("scores", options.record, columns, record, "benchmarks/scores.py", key=5)


if __name__ == "__main__":
    main()
