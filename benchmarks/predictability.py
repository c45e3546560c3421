"""The predictability of random graphs and of graphs with structure, into results/predictability.json.

    python benchmarks/predictability.py DATA    # DATA: the folder of the networks, as EFGE_DATA

Random graphs have to be near .5 whatever their degrees, and no graph with structure may be.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import networkx as nx
import numpy as np
import numpy.typing as npt

import efge
import records
from efge.graph.predictability import measure_predictability

SEEDS = range(3)


def _degrees(n: int, exponent: float, least: int, seed: int) -> list[int]:
    """Return degrees of a power law, whose sum is even."""
    drawn = least * (1 - np.random.default_rng(seed).random(n)) ** (-1 / (exponent - 1))
    degrees: list[int] = np.minimum(drawn, n // 3).astype(int).tolist()
    degrees[0] += sum(degrees) % 2
    return degrees


def configuration_model(n: int, exponent: float, least: int, seed: int) -> efge.Graph:
    """Return a random graph with hubs."""
    graph = nx.Graph(nx.configuration_model(_degrees(n, exponent, least, seed), seed=seed))
    return efge.as_graph(graph, drop_self_loops=True)


def _chances(n: int, hubs: bool, random: np.random.Generator) -> npt.NDArray[np.float64]:
    drawn = (1 - random.random(n)) ** (-0.7 if hubs else 0)
    chances: npt.NDArray[np.float64] = drawn / drawn.sum()
    return chances


def random_bipartite(n: int, m: int, edges: int, hubs: bool, seed: int) -> efge.Graph:
    """Return a random graph of two kinds of nodes."""
    random = np.random.default_rng(seed)
    users = random.choice(n, edges, p=_chances(n, hubs, random))
    return efge.as_graph(np.column_stack([users, n + random.choice(m, edges, p=_chances(m, hubs, random))]))


def blocks(n: int, k: int, degree: int, mixing: float, seed: int) -> efge.Graph:
    """Return a block graph; this share of its edges ignores the blocks."""
    random, m = np.random.default_rng(seed), n * degree // 2
    first, anywhere = random.integers(n, size=m), random.random(m) < mixing
    second = np.where(anywhere, random.integers(n, size=m), random.integers(n // k, size=m) * k + first % k)
    return efge.as_graph(np.column_stack([first, second]), drop_self_loops=True)


def bipartite_blocks(n: int, m: int, k: int, edges: int, mixing: float, seed: int) -> efge.Graph:
    """Return a graph of users and items with k kinds of taste; this share of its edges ignores them."""
    random = np.random.default_rng(seed)
    users, anywhere = random.integers(n, size=edges), random.random(edges) < mixing
    items = np.where(anywhere, random.integers(m, size=edges), random.integers(m // k, size=edges) * k + users % k)
    return efge.as_graph(np.column_stack([users, n + items]))


def _gnp(n: int, degree: float, directed: bool, seed: int) -> efge.Graph:
    return efge.as_graph(nx.fast_gnp_random_graph(n, degree / (n - 1), seed=seed, directed=directed))


RANDOM: dict[str, Callable[[int], efge.Graph]] = {
    **{
        f"Erdos-Renyi, {n:,} nodes, degree {degree}": partial(_gnp, n, degree, False)
        for n, degree in [(200, 8), (1000, 3), (1000, 10), (1000, 50), (4000, 20), (20000, 4), (50000, 10)]
    },
    "directed, 500 nodes, degree 6": partial(_gnp, 500, 6, True),
    **{
        f"power law {exponent}, {n:,} nodes": partial(configuration_model, n, exponent, least)
        for n, exponent, least in [(1000, 2.1, 5), (1000, 2.5, 3), (5000, 2.2, 3), (20000, 2.3, 2)]
    },
    **{
        f"bipartite, {n:,} + {m:,}, {'hubs' if hubs else 'even'}": partial(random_bipartite, n, m, edges, hubs)
        for n, m, edges in [(200, 150, 1500), (1000, 300, 6000), (10000, 2000, 80000)]
        for hubs in (False, True)
    },
    "preferential attachment": lambda seed: efge.as_graph(nx.barabasi_albert_graph(5000, 4, seed=seed)),
}
STRUCTURED: dict[str, Callable[[int], efge.Graph]] = {
    **{
        f"{k} blocks, {n:,} nodes, degree {degree}, {mixing:.0%} mixed": partial(blocks, n, k, degree, mixing)
        for n, k, degree, mixing in [
            (200, 2, 10, 0.2), (200, 4, 10, 0.3), (1000, 5, 10, 0.4), (4000, 4, 10, 0.3), (4000, 40, 10, 0.5),
            (4000, 10, 100, 0.5), (20000, 5, 8, 0.3), (20000, 100, 10, 0.3),
        ]
    },
    **{
        f"bipartite, {n:,} + {m:,}, {k} tastes, {mixing:.0%} mixed": partial(bipartite_blocks, n, m, k, edges, mixing)
        for n, m, k, edges, mixing in [
            (200, 150, 5, 1500, 0.4), (1000, 300, 10, 6000, 0.5), (10000, 2000, 20, 80000, 0.4),
        ]
    },
    "grid": lambda seed: efge.as_graph(nx.grid_2d_graph(20 + seed, 30)),
    "ring with chords": lambda seed: efge.as_graph(nx.watts_strogatz_graph(1000, 4, 0, seed=seed)),
    "small world, half random": lambda seed: efge.as_graph(nx.watts_strogatz_graph(1000, 6, 0.5, seed=seed)),
    "cliques": lambda seed: efge.as_graph(nx.connected_caveman_graph(50, 10 + seed)),
    "points in a square": lambda seed: efge.as_graph(nx.random_geometric_graph(1000, 0.06, seed=seed)),
    "attachment with triangles": lambda seed: efge.as_graph(nx.powerlaw_cluster_graph(2000, 4, 0.3, seed=seed)),
}  # fmt: skip


def networks(folder: Path) -> Iterator[tuple[str, efge.Graph]]:
    """Yield the published networks."""
    for path in sorted(folder.glob("*/edges.tsv")):
        yield path.parent.name, efge.read_graph(path, nodes=path.with_name("nodes.txt"))


def main(folder: str) -> None:
    """Measure all graphs, and write the record."""
    generated = [
        (kind, name, make(seed))
        for kind, graphs in (("random", RANDOM), ("structured", STRUCTURED))
        for name, make in graphs.items()
        for seed in SEEDS
    ]
    published = [("network", name, graph) for name, graph in networks(Path(folder))]
    rows = [
        (kind, name, graph.n_nodes, graph.n_edges, _rounded(measure_predictability(graph)))
        for kind, name, graph in generated + published
    ]
    columns = ("kind", "graph", "nodes", "edges", "predictability")
    records.save("predictability", "graphs", columns, rows, "benchmarks/predictability.py")


def _rounded(figure: float | None) -> float | None:
    return None if figure is None else round(figure, 3)


if __name__ == "__main__":
    main(sys.argv[1])
