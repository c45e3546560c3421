"""What the rules by the information of walks change, on graphs whose communities mix.

    python benchmarks/mixing.py                     # minutes; into results/trials.json

The graphs are those of Lancichinetti, Fortunato and Radicchi: communities of 50 to 400 nodes, and degrees of a power
law. `mixing` is the fraction of a node's edges that leave its community, which is its class. All settings of a seed
share their splits of the labels.
"""

from __future__ import annotations

import argparse
import math
import time
from typing import Any
from unittest import mock

import networkx as nx
import numpy as np

import efge
from efge.graph.information import walk_information
from efge.training import noise
from records import save

NODES, RATIOS, SPLITS = 3000, (0.1, 0.5, 0.9), 5
# Degree and mixing.
GRAPHS = ((10, 0.5), (20, 0.3), (20, 0.5), (20, 0.6), (40, 0.5))
# A window, and whether training starts from factors and contexts have negatives of their own; None follows the graph.
SETTINGS: dict[str, tuple[Any, bool | None]] = {
    "default": ("auto", None),
    "window 5, random start": (5, False),
    "window 2, random start": (2, False),
    "window 1, from factors": (1, True),
    "window 2, from factors": (2, True),
    "window 5, from factors": (5, True),
}
COLUMNS = ["degree", "mixing", "one step", "two steps", "setting", "seeds", "walks", "seconds"]


def generate(degree: int, mixing: float) -> tuple[efge.Graph, dict[int, int]]:
    """Return a graph, and the community of each node."""
    generated = nx.LFR_benchmark_graph(
        NODES,
        2.5,
        1.5,
        mixing,
        average_degree=degree,
        max_degree=8 * degree,
        min_community=50,
        max_community=400,
        seed=1,
    )
    return efge.as_graph(generated), {node: min(members) for node, members in generated.nodes(data="community")}


def train(graph: efge.Graph, setting: str, seed: int) -> tuple[efge.EFGE, float]:
    """Return a fitted model, and processor seconds."""
    window, slow = SETTINGS[setting]
    model = efge.EFGE(window=window, seed=seed, threads=1)
    threshold = noise._LOW_INFORMATION if slow is None else (math.inf if slow else -math.inf)
    with mock.patch.object(noise, "_LOW_INFORMATION", threshold):
        start = time.process_time()
        model.fit(graph)
        return model, time.process_time() - start


def measure(degree: int, mixing: float, seeds: int) -> list[list[Any]]:
    graph, labels = generate(degree, mixing)
    information = [round(value, 2) for value in walk_information(graph)]
    rows = []
    for setting in SETTINGS:
        found = []
        for seed in range(seeds):
            model, seconds = train(graph, setting, seed)
            scores = efge.node_classification(
                model.embedding_, labels, ratios=RATIOS, repeats=SPLITS, seed=seed, threads=1
            )
            f1 = [scores.raw[ratio,]["micro_f1"].mean() for ratio in RATIOS]
            found.append([model.walks_per_node_, seconds, *f1])
        means = [round(value, 3) for value in np.mean(found, axis=0).tolist()]
        rows.append([degree, mixing, *information, setting, seeds, *means])
        print(*rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    columns = [*COLUMNS, *(f"Micro-F1 at {ratio:.0%}" for ratio in RATIOS)]
    for degree, mixing in GRAPHS:
        rows = measure(degree, mixing, options.seeds)
        save("trials", "communities that mix", columns, rows, "benchmarks/mixing.py", key=2)


if __name__ == "__main__":
    main()
