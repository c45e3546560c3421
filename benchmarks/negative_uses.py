"""How often a negative of a pool can be used before scores fall below those of the reference trainer.

    python benchmarks/negative_uses.py --networks citeseer --seeds 5 --uses 2 5.5

All trainings of a seed share their walks, with the settings of the paper, and their splits of the labels. Means over
seeds go into `results/trials.json`.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import efge
from efge.training import noise
from quality import load_network
from records import save

RATIOS, SPLITS = (0.1, 0.5, 0.9), 30
COLUMNS = ["network", "family", "uses", "seeds", "seconds", *(f"Micro-F1 at {ratio:.0%}" for ratio in RATIOS)]


def train(walks: efge.Walks, family: str, uses: float | None) -> tuple[float, efge.Embedding]:
    """Processor seconds and vectors; without a number of uses, those of the reference trainer."""
    if uses is not None:
        noise._MIN_USES = noise._MAX_USES = uses
    model = efge.EFGE.paper(family, trainer="reference" if uses is None else "fast", threads=1)
    start = time.process_time()
    model.fit(walks)
    return time.process_time() - start, model.embedding_


def measure(name: str, family: str, options: argparse.Namespace) -> list[list[Any]]:
    graph, labels = load_network(name)
    found: dict[float | None, list[list[float]]] = {uses: [] for uses in (*options.uses, None)}
    for seed in range(options.seeds):
        walks = efge.Walks(graph, efge.Node2VecWalk(1, 1), walks_per_node=80, walk_length=10, seed=seed, threads=1)
        for uses, rows in found.items():
            seconds, vectors = train(walks, family, uses)
            scores = efge.node_classification(vectors, labels, ratios=RATIOS, repeats=SPLITS, seed=seed, threads=1)
            rows.append([seconds, *(scores.raw[ratio,]["micro_f1"].mean() for ratio in RATIOS)])
            print(name, family, seed, uses or "reference", *(f"{number:.4f}" for number in rows[-1]), flush=True)
    means = {uses: np.mean(rows, axis=0).round(4).tolist() for uses, rows in found.items()}
    return [[name, family, uses or "reference", options.seeds, *numbers] for uses, numbers in means.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", default=["citeseer"])
    parser.add_argument("--families", nargs="+", default=["bernoulli", "poisson", "normal"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--uses", type=float, nargs="+", default=[2.0, 5.5])
    options = parser.parse_args()
    for name in options.networks:
        for family in options.families:
            rows = measure(name, family, options)
            save("trials", "uses by labels", COLUMNS, rows, "benchmarks/negative_uses.py", key=2)


if __name__ == "__main__":
    main()
