"""How good the vectors of nodes that come later are, beside those of a fit that has seen everything.

    python benchmarks/newnodes.py                              # all networks (make newnodes)
    python benchmarks/newnodes.py --networks cora --seeds 1    # a part of them; other rows of the record stay
    python benchmarks/newnodes.py --million                    # seconds for 100 new nodes of a model with a million
    python benchmarks/newnodes.py --stream --networks cora     # 20 updates, beside a fit from scratch
    python benchmarks/newnodes.py --tried --networks cora      # other ways to combine vectors, at 10 %

Some nodes are new: a random part, or those with the largest ids where ids are the publisher's own numbers. A fifth of
their edges is held out. One model is fitted to the graph without the held-out edges ("whole fit"), another one to its
old nodes alone, which then transforms that graph. Classes: accuracy on the new nodes of a logistic regression that was
trained on the old ones. Links: AUC of the cosine for the held-out edges, against as many random pairs of a new node and
any other one that are not edges. Everything runs in one thread, and seconds are those of the processor. Networks are
where `quality.py` looks for them.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse

import efge
from efge.embedding.averaging import mean_with_neighbors
from efge.evaluation.logistic import add_constant, decision_function, fit_one_vs_rest
from quality import load_network
from records import save

NETWORKS = ("cora", "grqc", "hepth", "pubmed", "dblp", "pages")
# Networks whose ids are numbers of the publisher, not rows.
ORDERED = ("cora", "grqc", "hepth")
PERCENTAGES = (1, 10, 30)
HELD_OUT = 0.2
METHODS = ("both", "fold-in", "average")
COLUMNS = ["network", "new nodes", "percent", "seed", "method", "accuracy", "auc", "seconds"]


class Task(NamedTuple):
    """A graph with new nodes, without some of their edges."""

    graph: efge.Graph  # without the held-out edges
    new: npt.NDArray[np.bool_]  # which of its nodes are new
    positives: npt.NDArray[np.int64]  # held-out edges, as rows
    negatives: npt.NDArray[np.int64]  # pairs without an edge, as rows


def make_task(graph: efge.Graph, order: str, percent: int, seed: int) -> Task:
    random = np.random.default_rng(seed)
    count = round(graph.n_nodes * percent / 100)
    ranks = random.permutation(graph.n_nodes) if order == "random" else np.argsort(graph.names)[::-1]
    new = np.zeros(graph.n_nodes, bool)
    new[ranks[:count]] = True
    sources = np.repeat(np.arange(graph.n_nodes), graph.degrees)
    edges = np.column_stack([sources, graph.indices])[sources <= graph.indices]
    held_out = new[edges].any(axis=1) & (edges[:, 0] != edges[:, 1]) & (random.random(len(edges)) < HELD_OUT)
    names = graph.names
    remaining = efge.as_graph(names[edges[~held_out]], nodes=names.tolist(), directed=False)
    return Task(remaining, new, edges[held_out], draw_negatives(edges, new, int(held_out.sum()), random))


def draw_negatives(edges: Any, new: Any, count: int, random: np.random.Generator) -> Any:
    known = {tuple(edge) for edge in edges.tolist()}
    rows, pairs = np.flatnonzero(new), list[tuple[int, int]]()
    while len(pairs) < count:
        pair = int(random.choice(rows)), int(random.integers(len(new)))
        if pair[0] != pair[1] and (min(pair), max(pair)) not in known:
            pairs.append(pair)
    return np.array(pairs, np.int64).reshape(-1, 2)


def accuracy(vectors: Any, task: Task, labels: Any) -> float | None:
    """The fraction of new nodes whose class is predicted; None if there are no classes."""
    return None if labels is None else round(float(hits(vectors, task, labels).mean()), 4)


def hits(vectors: Any, task: Task, labels: Any) -> npt.NDArray[np.bool_]:
    """Whether the class of each new node is predicted."""
    found = [labels[name] for name in task.graph.names.tolist()]
    classes, numbers = np.unique([f[0] if isinstance(f, tuple) else f for f in found], return_inverse=True)
    members = numbers[~task.new, None] == np.arange(len(classes))
    weights = fit_one_vs_rest(add_constant(vectors[~task.new]), members)
    predicted = decision_function(add_constant(vectors[task.new]), weights).argmax(axis=1)
    right: npt.NDArray[np.bool_] = predicted == numbers[task.new]
    return right


def auc(vectors: Any, task: Task) -> float:
    from sklearn.metrics import roc_auc_score

    units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30)
    pairs = np.vstack([task.positives, task.negatives])
    cosines = np.einsum("ij,ij->i", units[pairs[:, 0]], units[pairs[:, 1]])
    truth = np.repeat([1, 0], [len(task.positives), len(task.negatives)])
    return round(float(roc_auc_score(truth, cosines)), 4)


def timed_fit(graph: efge.Graph, seed: int) -> tuple[Any, float]:
    start = time.process_time()
    model = efge.EFGE(seed=seed, threads=1).fit(graph)
    return model, time.process_time() - start


def measure(task: Task, labels: Any, seed: int) -> Iterator[list[Any]]:
    """Yield method, scores and seconds of the whole fit, of each method, and of zeros."""
    names = task.graph.names
    whole, seconds = timed_fit(task.graph, seed)
    vectors = whole.embedding_.vectors
    yield ["whole fit", accuracy(vectors, task, labels), auc(vectors, task), round(seconds, 3)]
    old, _ = timed_fit(task.graph.subgraph(names[~task.new].tolist()), seed)
    before = old.embedding_.vectors.copy()
    for method in METHODS:
        start = time.process_time()
        vectors = old.transform(task.graph, method)
        seconds = time.process_time() - start
        if (vectors[~task.new] != before).any():
            raise AssertionError(f"{method} changed vectors of old nodes")
        yield [method, accuracy(vectors, task, labels), auc(vectors, task), round(seconds, 3)]
    vectors = np.where(task.new[:, None], np.float32(0), vectors)
    yield ["zeros", accuracy(vectors, task, labels), auc(vectors, task), 0.0]


def measure_network(name: str, percentages: list[int], seeds: int) -> None:
    graph, labels = load_network(name)
    compile_first()
    for order in ("random", "largest ids") if name in ORDERED else ("random",):
        for percent in percentages:
            for seed in range(seeds if order == "random" else 1):
                task = make_task(graph, order, percent, seed)
                rows = [[name, order, percent, seed, *found] for found in measure(task, labels, seed)]
                for row in rows:
                    print(*row, flush=True)
                save("newnodes", "scores", COLUMNS, rows, program(), key=4)


def other_ways(old: Any, task: Task) -> Iterator[tuple[str, Any]]:
    """Yield what was tried beside the default, and the vectors of all nodes."""
    graph, new, both = task.graph, task.new, old.transform(task.graph)
    scales = scipy.sparse.diags_array(1 / np.sqrt(np.maximum(graph.degrees, 1)))
    weighted = efge.as_graph(scales @ graph.to_scipy() @ scales, names=graph.names, directed=False)
    yield "neighbors weigh 1/sqrt(degree)", old.transform(weighted)
    rows = old.embedding_._index.rows(graph.names)
    yield (
        "one more mean over neighbors and itself",
        replaced(both, new, mean_with_neighbors(graph, rows, old.embedding_.vectors, both[new])),
    )
    lengths = np.linalg.norm(old.transform(graph, "fold-in")[new], axis=1, keepdims=True)
    directions = both[new] / np.maximum(np.linalg.norm(both[new], axis=1, keepdims=True), 1e-30)
    yield "lengths as by fold-in, which the filter would give", replaced(both, new, lengths * directions)
    axes = np.linalg.eigh(both[~new].T @ both[~new])[1]
    spread = np.sqrt(((both[~new] @ axes) ** 2).mean(axis=0) / ((both[new] @ axes) ** 2).mean(axis=0))
    yield "the same spread as old ones in each direction", replaced(both, new, both[new] @ axes * spread @ axes.T)
    updated = copy.deepcopy(old).partial_fit(graph).embedding_[graph.names.tolist()].vectors
    yield "rows of an updated model", replaced(both, new, updated[new])


def replaced(vectors: Any, new: Any, rows: Any) -> Any:
    """Vectors with other rows for new nodes."""
    copied = vectors.copy()
    copied[new] = rows
    return copied


def measure_tried(name: str, seeds: int, percent: int = 10) -> None:
    """Score other ways, and count what nodes cost that are linked only to old ones without edges of their own."""
    graph, labels = load_network(name)
    compile_first()
    for order in ("random", "largest ids") if name in ORDERED else ("random",):
        for seed in range(seeds):
            task, key = make_task(graph, order, percent, seed), [name, order, percent, seed]
            old, _ = timed_fit(task.graph.subgraph(task.graph.names[~task.new].tolist()), seed)
            both = old.transform(task.graph)
            ways = [("both", both), *other_ways(old, task)]
            rows = [[*key, way, accuracy(vectors, task, labels), auc(vectors, task)] for way, vectors in ways]
            save("newnodes", "tried", [*COLUMNS[:5], "accuracy", "auc"], rows, program(), key=4)
            whole, _ = timed_fit(task.graph, seed)
            alone = linked_to_untrained(task)[task.new]
            lost = hits(whole.embedding_.vectors, task, labels).astype(int) - hits(both, task, labels)
            losses = [round(float(part.sum() / len(lost)), 4) for part in (lost, lost[alone])]
            columns = [*COLUMNS[:4], "part of new nodes", "below the whole fit", "by these nodes"]
            save("newnodes", "untrained", columns, [[*key, round(float(alone.mean()), 4), *losses]], program(), key=4)
            print(*key, *(row[4:] for row in rows), losses, flush=True)


def linked_to_untrained(task: Task) -> npt.NDArray[np.bool_]:
    """Whether all neighbors of each node, of which there are some, are old nodes without old neighbors."""
    matrix = task.graph.to_scipy()
    untrained = ~task.new & (matrix @ (~task.new).astype(float) == 0)
    found: npt.NDArray[np.bool_] = (task.graph.degrees > 0) & (matrix @ (~untrained).astype(float) == 0)
    return found


def compile_first() -> None:
    """Compile all kernels, so that no time includes that."""
    ring = [(i, (i + 1) % 20) for i in range(20)]
    efge.EFGE(seed=0, threads=1, walks_per_node=2).fit(ring).transform([(0, 20), (20, 1)])


def measure_million(nodes: int = 1_000_000, new: int = 100) -> None:
    """Measure new nodes of a large model; its vectors are random, as their values do not change the time."""
    compile_first()
    random = np.random.default_rng(0)
    model = efge.EFGE(seed=0, threads=1, walks_per_node=2).fit([(0, 1), (1, 2)])
    for name in ("embedding_", "center_embedding_", "context_embedding_"):
        table = random.standard_normal((nodes, model.dim), np.float32)
        setattr(model, name, efge.Embedding(table, np.arange(nodes)))
    model.visits_ = random.integers(1, 1000, nodes)
    model.neighborhoods_ = model.visits_.astype(np.uint64)
    rows: list[list[Any]] = []
    for method in METHODS:
        edges = np.column_stack(
            [np.repeat(np.arange(nodes, nodes + new), 10), random.integers(nodes + new, size=10 * new)]
        )
        start = time.process_time()
        model.transform(edges, method)
        rows.append([method, nodes, new, round(time.process_time() - start, 3)])
        print(*rows[-1], flush=True)
    save("newnodes", "million", ["method", "nodes", "new nodes", "seconds"], rows, program())


def measure_stream(name: str, updates: int = 20, first: float = 0.7, seed: int = 0) -> None:
    """Add the last nodes of a random order in equal steps, and compare the vectors with those of a new fit."""
    graph, labels = load_network(name)
    compile_first()
    random = np.random.default_rng(seed)
    ranks = random.permutation(graph.n_nodes)
    sources = np.repeat(np.arange(graph.n_nodes), graph.degrees)
    edges = np.column_stack([sources, graph.indices])[sources < graph.indices]
    held_out = random.random(len(edges)) < HELD_OUT / 2
    every = np.ones(graph.n_nodes, bool)
    pairs = draw_negatives(edges, every, int(held_out.sum()), random)
    task = Task(graph, random.random(graph.n_nodes) < 0.5, edges[held_out], pairs)

    def snapshot(size: int) -> efge.Graph:
        kept = edges[~held_out & (ranks[edges] < size).all(axis=1)]
        return efge.as_graph(graph.names[kept], nodes=graph.names[ranks < size].tolist(), directed=False)

    sizes = np.linspace(first * graph.n_nodes, graph.n_nodes, updates + 1).astype(int).tolist()
    streamed = efge.EFGE(seed=seed, threads=1).fit(snapshot(sizes[0]))
    start = time.process_time()
    for size in sizes[1:]:
        streamed.partial_fit(snapshot(size))
    seconds = (time.process_time() - start) / updates
    scratch, fit_seconds = timed_fit(snapshot(graph.n_nodes), seed)
    rows: list[list[Any]] = []
    for kind, model, spent in (("updates", streamed, seconds), ("new fit", scratch, fit_seconds)):
        vectors = model.embedding_[graph.names.tolist()].vectors
        rows.append([name, seed, kind, accuracy(vectors, task, labels), auc(vectors, task), round(spent, 3)])
        print(*rows[-1], flush=True)
    save("newnodes", "stream", ["network", "seed", "vectors", "accuracy", "auc", "seconds"], rows, program(), key=2)


def program() -> str:
    return f"benchmarks/newnodes.py, efge {efge.__version__}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--percentages", nargs="+", type=int, default=list(PERCENTAGES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--stream", action="store_true", help="measure updates instead")
    parser.add_argument("--million", action="store_true", help="measure a large model instead")
    parser.add_argument("--tried", action="store_true", help="measure other ways to combine vectors instead")
    options = parser.parse_args()
    if options.million:
        measure_million()
        return
    for name in options.networks:
        if options.tried:
            measure_tried(name, options.seeds)
            continue
        if options.stream:
            for seed in range(options.seeds):
                measure_stream(name, seed=seed)
            continue
        measure_network(name, options.percentages, options.seeds)


if __name__ == "__main__":
    main()
