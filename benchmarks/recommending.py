"""Measure recommendations: how many hidden links are among ten recommended nodes, by four rankings.

    python benchmarks/recommending.py FOLDER     # a folder with published networks

Users and items are generated, with mild and with strong tastes, and one item of each user is hidden; of the published
networks, a fifth of the edges. Results go to ``results/recommending.json``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import efge
import records
from efge.graph.bipartite import two_kinds

Rows = npt.NDArray[np.int64]

SEEDS = range(3)
K = 10
# Nodes of a network whose recommendations are counted, at most.
MAX_NODES = 500
NETWORKS = ("airports", "cora", "facebook", "grqc", "ppi", "wiki")
FAMILIES = ("poisson", "bernoulli", "normal")
# How much likelier a user takes an item of the preferred genre.
TASTES = {"users and items, mild tastes": 3.0, "users and items, strong tastes": 30.0}


class Task(NamedTuple):
    """A graph, and the links of some of its nodes that are hidden from it, all by row."""

    graph: efge.Graph
    hidden: dict[int, set[int]]


def purchases(strength: float, seed: int, users: int = 600, items: int = 300, bought: int = 10) -> Task:
    """Return users who take items by popularity and by one of ten genres, one item of each hidden."""
    random = np.random.default_rng(seed)
    popularity, genres = 1 / np.arange(1, items + 1) ** 0.7, random.permutation(items) % 10
    known, hidden = [], {}
    for user in range(users):
        weights = popularity * np.where(genres == user % 10, strength, 1.0)
        chosen = users + random.choice(items, bought, replace=False, p=weights / weights.sum())
        hidden[user] = {int(chosen[random.integers(bought)])}
        known += [(user, item) for item in chosen.tolist() if item not in hidden[user]]
    return Task(efge.as_graph(known, nodes=list(range(users + items))), hidden)


def network(path: Path, seed: int) -> Task:
    """Return a published network, a fifth of its edges hidden."""
    split = efge.split_links(efge.read_graph(path), 0.2, seed=seed)
    ends = split.test_edges.tolist()
    hidden: dict[int, set[int]] = {}
    for first, second in ends if split.graph.directed else [*ends, *(edge[::-1] for edge in ends)]:
        hidden.setdefault(first, set()).add(second)
    nodes = np.random.default_rng(seed).permutation(sorted(hidden))[:MAX_NODES]
    return Task(split.graph, {int(node): hidden[int(node)] for node in nodes})


def tasks(folder: Path) -> Iterator[tuple[str, int, Task]]:
    """Yield all tasks with their names and seeds."""
    for seed in SEEDS:
        for name, strength in TASTES.items():
            yield name, seed, purchases(strength, seed)
        for name in NETWORKS:
            yield name, seed, network(folder / name / "edges.tsv", seed)


def recalls(task: Task, model: efge.EFGE) -> dict[str, float]:
    """Return the part of the hidden links that each ranking finds, with K recommendations for each node."""
    graph, names = task.graph, task.graph.names
    matrix, sides = graph.to_scipy(), two_kinds(graph)
    found: dict[str, list[float]] = {}
    for node, hidden in task.hidden.items():
        candidate = np.ones(len(names), bool) if sides is None else sides == 1 - sides[node]
        candidate[[node, *matrix.indices[matrix.indptr[node] : matrix.indptr[node + 1]]]] = False
        rows = np.flatnonzero(candidate)
        pairs = np.column_stack([np.repeat(names[node], len(rows)), names[rows]])
        likely = [name for name, _ in model.recommend(names[node].item(), K, among=names[rows].tolist())]
        near = [name for name, _ in model.embedding_.neighbors(names[node].item(), K, among=names[rows].tolist())]
        lists = {
            "popularity": rows[np.argsort(-graph.degrees[rows], kind="stable")[:K]],
            "cosine": graph.rows(near),
            "score_pairs": rows[np.argsort(-model.score_pairs(pairs), kind="stable")[:K]],
            "recommend": graph.rows(likely),
        }
        for name, chosen in lists.items():
            found.setdefault(name, []).append(len(hidden & set(chosen.tolist())) / min(len(hidden), K))
    return {name: float(np.mean(values)) for name, values in found.items()}


def main(folder: str) -> None:
    """Measure all tasks, and write the record."""
    rows: list[list[records.Cell]] = []
    for name, seed, task in tasks(Path(folder)):
        for family in FAMILIES:
            measured = recalls(task, efge.EFGE(family, dim=32, seed=seed).fit(task.graph))
            rows.append([name, family, seed, *(round(value, 4) for value in measured.values())])
            print(rows[-1], flush=True)
    columns = ("graph", "family", "seed", "popularity", "cosine", "score_pairs", "recommend")
    records.save("recommending", "recall", columns, rows, "benchmarks/recommending.py", key=3)


if __name__ == "__main__":
    main(sys.argv[1])
