"""What tables of 16 bits would cost and save: scores of a plain trainer, and processor time of visits to rows.

    python benchmarks/precision.py                  # both, about half an hour of one core
    python benchmarks/precision.py --scores --networks cora --seeds 1 --walks-per-node 80
    NUMBA_CPU_NAME=haswell NUMBA_CPU_FEATURES= python benchmarks/precision.py --speed  # vectors of 256 bits

All formats of a seed share their walks, their negatives and the vectors that they start from. The trainer makes one
step for each observation, with the paper's settings; the rows of a walk are float32 in a block, and are rounded when
they are written back, or after each step. "at the end" means tables of float32 whose vectors are rounded once, when
they are saved. Beside that, the library's trainer with all and with half of the dimensions, on walks of the same kind.
What was measured goes into `results/precision.json`.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

import efge
from efge.evaluation.links import link_metrics, pair_scores
from efge.evaluation.splits import split_links
from efge.random import stream_key
from efge.training.noise import alias_table, noise_weights
from precision_kernels import DIM, FORMATS, Config, make_adder, make_converters, make_trainer, make_updater
from quality import load_network
from records import save

CLASSIFIED, LINKED = ("cora", "citeseer", "wiki", "airports"), ("grqc",)
PROGRAM = "benchmarks/precision.py"
RATIOS, SPLITS, NEGATIVES = (0.1, 0.5, 0.9), 10, 5
LEARNING_RATE, MIN_LEARNING_RATE = 0.025, 0.0001
ROUNDINGS = {"block": FORMATS, "step": ("bfloat16", "bfloat16, stochastic", "float16"), "at the end": ("bfloat16",)}
# Nodes of the tables whose rows are visited: in the nearest cache, 5 MB, 100 MB and 1 GB of float32.
SIZES, VISITS = (24, 10_000, 200_000, 2_000_000), 100_000
SCORES = ["network", "family", "walks per node", "format", "rounded", "seed", "seconds", "metric", "score"]
DIMENSIONS = ["network", "family", "walks per node", "dimensions", "seed", "metric", "score"]
SPEEDS = ["nodes", "vector bits", "loop", "format", "ns", "fastest, ns", "slowest, ns", "runs"]

trainer, converters = cache(make_trainer), cache(make_converters)


class Task(NamedTuple):
    """A graph, and the function that scores its vectors."""

    graph: efge.Graph
    score: Callable[[efge.Embedding], dict[str, float]]


def classification_task(network: str, seed: int) -> Task:
    graph, labels = load_network(network)

    def score(vectors: efge.Embedding) -> dict[str, float]:
        scores = efge.node_classification(vectors, labels, ratios=RATIOS, repeats=SPLITS, seed=seed, threads=1)
        return {f"Micro-F1 at {ratio:.0%}": float(scores.raw[ratio,]["micro_f1"].mean()) for ratio in RATIOS}

    return Task(graph, score)


def link_task(network: str, seed: int) -> Task:
    split = split_links(load_network(network)[0].largest_component(), 0.5, seed=seed)
    return Task(
        split.graph,
        lambda vectors: {"AUC": link_metrics(pair_scores(vectors, split, "hadamard"), len(split.test_edges))["auc"]},
    )


def train(graph: efge.Graph, family: str, name: str, each_step: bool, seed: int, walks_per_node: int) -> Any:
    """Return the centers in float32, exactly as the table of the format has them."""
    walks = efge.Walks(graph, walks_per_node=walks_per_node, walk_length=10, seed=seed, threads=1)
    visits = sum(np.bincount(batch.nodes, minlength=graph.n_nodes) for batch in walks.batches())
    noise = alias_table(noise_weights(np.asarray(visits), 0.75))
    rng = np.random.default_rng(seed)
    shape, (pack, unpack) = (graph.n_nodes, DIM), converters(name)
    tables = np.zeros(shape, FORMATS[name][0]), np.zeros(shape, FORMATS[name][0])
    pack(rng.uniform(-0.5 / DIM, 0.5 / DIM, shape).astype(np.float32), 0, tables[0])
    decay, key = (LEARNING_RATE - MIN_LEARNING_RATE) / len(walks), np.uint64(stream_key(seed, 0, "precision"))
    config = Config(LEARNING_RATE, decay, NEGATIVES, family == "poisson", key)
    first, fit = 0, trainer(name, each_step)
    for batch in walks.batches():
        fit(batch.nodes, batch.offsets, first, tables, noise, config)
        first += len(batch)
    vectors = np.empty(shape, np.float32)
    unpack(tables[0], vectors)
    return vectors


def round_table(vectors: Any, name: str) -> Any:
    """Return vectors as they are after they were stored in a format."""
    pack, unpack = converters(name)
    stored, rounded = np.empty(vectors.shape, FORMATS[name][0]), np.empty_like(vectors)
    pack(vectors, 0, stored)
    unpack(stored, rounded)
    return rounded


def score_formats(network: str, family: str, seed: int, walks_per_node: int) -> Iterator[list[Any]]:
    """Train a network in every format, and score the vectors; each score is a row of the record."""
    task = (link_task if network in LINKED else classification_task)(network, seed)
    exact = None
    for rounding, names in ROUNDINGS.items():
        for name in names:
            start = time.process_time()
            if rounding == "at the end":
                vectors = round_table(exact, name)
            else:
                vectors = train(task.graph, family, name, rounding == "step", seed, walks_per_node)
            seconds = round(time.process_time() - start, 2)
            exact = vectors if exact is None else exact
            for metric, score in task.score(efge.Embedding(vectors, task.graph.names)).items():
                yield [network, family, walks_per_node, name, rounding, seed, seconds, metric, round(score, 5)]


def score_dimensions(network: str, family: str, seed: int, walks_per_node: int) -> Iterator[list[Any]]:
    """Train a network by the library, with all and with half of the dimensions."""
    task = (link_task if network in LINKED else classification_task)(network, seed)
    for dim in (DIM, DIM // 2):
        model = efge.EFGE.paper(family, dim, walks_per_node=walks_per_node, seed=seed, threads=1)
        for metric, score in task.score(model.fit(task.graph).embedding_).items():
            yield [network, family, walks_per_node, dim, seed, metric, round(score, 5)]


class Loop(NamedTuple):
    """A compiled loop over rows, what it is called with, and the width of the vectors that it computes with."""

    function: Any
    arguments: tuple[Any, ...]

    def vector_bits(self) -> int:
        """Read from the compiled code; 0 if the compiler found no vectors."""
        text = "".join(self.function.inspect_asm().values())
        registers = re.findall(r"\bv(?:add|fmadd\w*)ps\s.*?%([xyz])mm", text)
        return max(({"x": 128, "y": 256, "z": 512}[register] for register in registers), default=0)


def make_loops(nodes: int) -> dict[tuple[str, str], Loop]:
    """Return what is to be timed: each loop with a table of each format, on the same rows."""
    rng = np.random.default_rng(0)
    order = rng.integers(0, nodes, VISITS)
    center, block = rng.random(DIM, np.float32) / 10, rng.random((32, DIM), np.float32) / 10_000
    gain, rate = np.zeros(DIM, np.float32), np.float32(0.001)
    loops = {}
    for name, (entry, *_) in FORMATS.items():
        row, table = np.empty((1, DIM), entry), np.empty((nodes, DIM), entry)
        converters(name)[0](np.full((1, DIM), 0.1, np.float32), 0, row)
        table[:] = row
        loops["update", name] = Loop(make_updater(name), (table, order, center, gain, rate, 1))
        loops["add", name] = Loop(make_adder(name), (table, order, block, 1))
    return loops


def time_loops(nodes: int, runs: int) -> list[list[Any]]:
    """Return processor time per row: all loops run in turn, as often as `runs` says; the first run does not count."""
    loops = make_loops(nodes)
    times: dict[tuple[str, str], list[float]] = {key: [] for key in loops}
    for _, (key, loop) in product(range(runs + 1), loops.items()):
        start = time.process_time_ns()
        loop.function(*loop.arguments)
        times[key].append((time.process_time_ns() - start) / VISITS)
    rows = []
    for (what, name), (_, *found) in times.items():
        figures = (round(float(x), 1) for x in (np.median(found), min(found), max(found)))
        rows.append([nodes, loops[what, name].vector_bits(), what, name, *figures, runs])
    return rows


def record_speed(runs: int) -> None:
    for nodes in SIZES:
        rows = time_loops(nodes, runs)
        print(*rows, sep="\n", flush=True)
        save("precision", "speed", SPEEDS, rows, PROGRAM, key=2)


def record_scores(network: str, family: str, seeds: int, walks_per_node: int) -> None:
    tables = {"scores": (SCORES, score_formats), "dimensions": (DIMENSIONS, score_dimensions)}
    for title, (columns, score) in tables.items():
        rows = []
        for seed in range(seeds):
            for row in score(network, family, seed, walks_per_node):
                print(*row, flush=True)
                rows.append(row)
        save("precision", title, columns, rows, PROGRAM, key=3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scores", action="store_true", help="only scores")
    parser.add_argument("--speed", action="store_true", help="only speed")
    parser.add_argument("--networks", nargs="+", default=[*CLASSIFIED, *LINKED])
    parser.add_argument("--families", nargs="+", default=["poisson"], choices=["poisson", "bernoulli"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--walks-per-node", type=int, default=20)
    parser.add_argument("--runs", type=int, default=40)
    options = parser.parse_args()
    if not options.scores:
        record_speed(options.runs)
    if not options.speed:
        for family, network in product(options.families, options.networks):
            record_scores(network, family, options.seeds, options.walks_per_node)


if __name__ == "__main__":
    main()
