"""Run one task with one tool in this process, and print its time and memory as JSON.

    python contestants.py TASK TOOL '{"threads": 1, ...}'

It runs with the interpreter of the tool's environment, so everything except the standard library and NumPy is imported
where it is used. A small job before the clock starts excludes compilation. `seconds` is wall time, `cpu` is CPU time of
all threads, and `memory` is the peak memory of the process in bytes.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

WALK_LENGTH, WINDOW, DIM, NEGATIVES = 10, 10, 128, 5
PAIRS_PER_WALK = WALK_LENGTH * (WALK_LENGTH - 1)
COMMUNITIES, SAMPLES_PER_EDGE = 16, 100
RATIOS = [percentage / 100 for percentage in (*range(1, 10), *range(10, 100, 10))]

Answer = dict[str, Any]


def resident_bytes(field: str) -> int:
    """Return current (VmRSS) or peak (VmHWM) memory; ru_maxrss would include that of the parent process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


class Clock:
    """Wall and CPU seconds of the code in ``with clock.running():``."""

    seconds = cpu = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        started, cpu = perf_counter(), process_time()
        yield
        self.seconds, self.cpu = perf_counter() - started, process_time() - cpu


def load_graph(path: str) -> Any:
    import efge

    with np.load(path) as arrays:
        return efge.Graph(arrays["indptr"], arrays["indices"])


# Training with the same number of walks: gensim reads them from a file, the others generate them.


def train_efge(clock: Clock, family: str, graph: str, walks: str, per_node: int, threads: int) -> Answer:
    import efge

    efge.EFGE.paper(family, threads=threads).fit([(0, 1), (1, 2)])
    times: list[tuple[float, float]] = []
    model = efge.EFGE.paper(family, walks_per_node=per_node, walk_length=WALK_LENGTH, seed=0, threads=threads)
    model.fit(load_graph(graph), progress=lambda _: times.append((perf_counter(), process_time())))
    clock.seconds, clock.cpu = (last - first for first, last in zip(times[0], times[-1], strict=True))
    digest = hashlib.sha256(np.ascontiguousarray(model.embedding_.vectors).tobytes()).hexdigest()
    return {"work": model.history_["pairs"][-1], "digest": digest}


def train_gensim(clock: Clock, graph: str, walks: str, per_node: int, threads: int) -> Answer:
    from gensim.models import Word2Vec

    model = Word2Vec(
        vector_size=DIM, window=WINDOW, min_count=0, sample=0, sg=1, hs=0, negative=NEGATIVES, ns_exponent=0.75,
        alpha=0.025, min_alpha=0.0001, workers=threads, shrink_windows=False, seed=0, batch_words=10_000,
    )  # fmt: skip
    model.build_vocab(corpus_file=walks)
    with clock.running():
        model.train(
            corpus_file=walks, total_examples=model.corpus_count, total_words=model.corpus_total_words, epochs=1
        )
    return {"work": model.corpus_count * PAIRS_PER_WALK}


def train_grape(clock: Clock, graph: str, walks: str, per_node: int, threads: int) -> Answer:
    from ensmallen import models

    from walk_peers import ALL_NEIGHBORS, Grape, load

    nodes = load(graph)
    built = Grape(nodes, threads).graph
    model = models.SkipGram(
        embedding_size=DIM, epochs=1, window_size=WINDOW, walk_length=WALK_LENGTH, iterations=per_node,
        number_of_negative_samples=NEGATIVES, max_neighbours=ALL_NEIGHBORS, learning_rate=0.025, random_state=42,
        verbose=False,
    )  # fmt: skip
    with clock.running():
        model.fit_transform(built)
    return {"work": per_node * len(nodes.degrees) * PAIRS_PER_WALK}


# Walks.


def walk(clock: Clock, tool: str, graph: str, threads: int, p: float, q: float, per_node: int, length: int) -> Answer:
    from walk_peers import PEERS, Request, load, steps_of

    name, _, inside = tool.partition(" ")
    peer = PEERS[name](load(graph), threads)
    request = Request(float(p), float(q), per_node, length, seed=1, documented=not inside)
    # pecanpy's documented function compiles in every call, so a first call does not help.
    if inside or name != "pecanpy":
        peer.plan(Request(float(p), float(q), 1, 2, seed=1, documented=not inside))()
    job = peer.plan(request)
    with clock.running():
        walks = job()
    return {"work": steps_of(walks)}


# Whole methods.


def efge_method(method: str, edges: Any) -> Callable[[], object]:
    import efge

    options = {
        "BigClam": {"n_communities": COMMUNITIES},
        "LINE": {"samples": SAMPLES_PER_EDGE * len(edges), "negatives": 1},
    }
    graph = efge.as_graph(edges)
    return lambda: getattr(efge, method)(seed=0, **options.get(method, {})).fit(graph)


def gensim_method(method: str, edges: Any) -> Callable[[], object]:
    from gensim.models import Word2Vec

    import efge

    walks = [list(map(str, walk)) for walk in efge.Walks(edges, walks_per_node=80, walk_length=WALK_LENGTH, seed=0)]
    objective = {"hs": 1, "negative": 0} if method == "DeepWalk" else {"hs": 0, "negative": NEGATIVES}
    return lambda: Word2Vec(
        walks, vector_size=DIM, window=WINDOW, min_count=0, sample=0, sg=1, epochs=1, min_alpha=0.0001, workers=2,
        shrink_windows=False, seed=0, **objective,
    )  # fmt: skip


def karateclub_method(method: str, edges: Any) -> Callable[[], object]:
    import karateclub
    import networkx as nx

    walk_options = {"walk_number": 80, "walk_length": WALK_LENGTH, "window_size": WINDOW, "workers": 2}
    options: dict[str, Any] = {
        "DeepWalk": walk_options,
        "Node2Vec": walk_options,
        "NetMF": {"order": WINDOW},
        "BigClam": {"dimensions": COMMUNITIES},
    }
    graph = nx.Graph()
    graph.add_nodes_from(range(int(edges.max()) + 1))
    graph.add_edges_from(edges.tolist())
    return lambda: getattr(karateclub, method)(**{"dimensions": DIM} | options.get(method, {})).fit(graph)


def nodevectors_method(method: str, edges: Any) -> Callable[[], object]:
    """Adapt gensim to nodevectors, which uses argument names that gensim has since changed."""
    import gensim
    import networkx as nx
    import nodevectors
    from gensim.models.word2vec import Word2Vec

    gensim.models.Word2Vec = lambda sentences, size, **rest: Word2Vec(sentences, vector_size=size, **rest)
    graph = nx.Graph(edges.tolist())
    words = {"window": WINDOW, "negative": NEGATIVES, "epochs": 1, "sg": 1, "workers": 2, "shrink_windows": False}
    return lambda: nodevectors.Node2Vec(
        n_components=DIM, walklen=WALK_LENGTH, epochs=80, threads=2, verbose=False, w2vparams=words
    ).fit(graph)


def grape_method(method: str, edges: Any) -> Callable[[], object]:
    """Use LINE of both orders with as many edges and one negative each; HOPE has common neighbors in grape."""
    from ensmallen import models

    from walk_peers import Grape, Graph

    nodes = int(edges.max()) + 1
    both = np.concatenate([edges, edges[:, ::-1]])
    both = both[np.lexsort(both.T[::-1])]
    indptr = np.searchsorted(both[:, 0], np.arange(nodes + 1))
    graph = Grape(Graph(indptr, both[:, 1].astype(np.int32)), 2).graph
    if method == "HOPE":
        from embiggen.embedders import HOPEEnsmallen

        return lambda: HOPEEnsmallen(embedding_size=DIM).fit_transform(graph)
    # An epoch covers all edges in both directions.
    options = {"embedding_size": DIM // 2, "epochs": SAMPLES_PER_EDGE // 2, "verbose": False}
    return lambda: [kind(**options).fit_transform(graph) for kind in (models.FirstOrderLINE, models.SecondOrderLINE)]


METHODS = {
    "efge": efge_method,
    "gensim": gensim_method,
    "karateclub": karateclub_method,
    "nodevectors": nodevectors_method,
    "grape": grape_method,
}


def fit_method(clock: Clock, tool: str, method: str, edges: str, small: str) -> Answer:
    METHODS[tool](method, np.load(small))()
    fit = METHODS[tool](method, np.load(edges))
    with clock.running():
        fit()
    return {}


# Classification: the same vectors, labels and splits.


def classify(clock: Clock, tool: str, vectors: str, labels: str, repeats: int, compared: int) -> Answer:
    """Classify splits of all ratios; `scores` are means over the splits that both tools do."""
    import efge

    points, classes = np.load(vectors), np.load(labels)
    means = np.zeros(len(RATIOS))
    if tool == "efge":
        efge.node_classification(points[:2000], classes[:2000], ratios=[0.5], repeats=2)
        with clock.running():
            scores = efge.node_classification(points, classes, ratios=RATIOS, repeats=repeats)
        means[:] = [scores.raw[(ratio,)]["micro_f1"][:compared].mean() for ratio in RATIOS]
    else:
        with clock.running():
            for index, ratio in enumerate(RATIOS):
                means[index] = np.mean([_micro_f1(points, classes, ratio, repeat) for repeat in range(repeats)])
    return {"scores": means.tolist(), "work": repeats * len(RATIOS)}


def _micro_f1(points: Any, classes: Any, ratio: float, repeat: int) -> float:
    """Score one split with scikit-learn; with one class per node, Micro-F1 is the accuracy."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    order = np.random.default_rng([0, repeat]).permutation(len(points))
    train, test = np.split(order, [round(ratio * len(points))])
    model = OneVsRestClassifier(LogisticRegression(solver="liblinear")).fit(points[train], classes[train])
    return float((model.predict(points[test]) == classes[test]).mean())


# Growth: embed a graph with default settings, and predict held-out edges.


def grow(clock: Clock, graph: str, held_out: str, threads: int, per_node: int) -> Answer:
    import efge

    efge.EFGE.paper().fit([(0, 1), (1, 2)])
    before, times = resident_bytes("VmRSS"), []
    network = load_graph(graph)
    model = efge.EFGE.paper("bernoulli", walks_per_node=per_node, threads=threads, seed=0)
    model.fit(network, progress=lambda _: times.append((perf_counter(), process_time())))
    after = resident_bytes("VmHWM")
    clock.seconds, clock.cpu = (last - first for first, last in zip(times[0], times[-1], strict=True))
    graph_bytes = sum(array.nbytes for array in (network.indptr, network.indices))
    answer = {"work": model.history_["pairs"][-1], "added": after - before, "graph": graph_bytes}
    return answer | _link_scores(model.embedding_.vectors, network, np.load(held_out))


def _link_scores(vectors: Any, graph: Any, held_out: Any) -> Answer:
    """Return the AUC of held-out edges against as many random pairs.

    Pairs are scored by logistic regression on Hadamard products, trained on as many other edges and pairs; by cosine;
    and by the product of degrees, which uses no vectors.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    entries = rng.integers(0, len(graph.indices), len(held_out))
    sources = np.searchsorted(graph.indptr, entries, side="right") - 1
    known = np.column_stack([sources, graph.indices[entries]])
    train, test = (np.concatenate([edges, rng.integers(0, len(vectors), edges.shape)]) for edges in (known, held_out))
    truth = np.repeat([1, 0], len(held_out))
    products = [vectors[pairs[:, 0]] * vectors[pairs[:, 1]] for pairs in (train, test)]
    model = LogisticRegression(max_iter=1000).fit(products[0], truth)
    lengths = np.maximum(np.linalg.norm(vectors[test], axis=2).prod(axis=1), 1e-12)
    degrees = np.diff(graph.indptr).astype(float)
    scores = {
        "logistic regression": model.decision_function(products[1]),
        "cosine": products[1].sum(axis=1) / lengths,
        "degrees": degrees[test].prod(axis=1),
    }
    return {f"auc by {name}": float(roc_auc_score(truth, score)) for name, score in scores.items()}


# Quality: the fast trainer compared with the reference trainer, on networks of the paper.


def score(clock: Clock, trainer: str, network: str, family: str, seed: int) -> Answer:
    import efge
    from efge.evaluation.links import link_metrics, pair_scores
    from efge.evaluation.splits import split_links

    dataset = efge.load_dataset(network)
    model = efge.EFGE.paper(family, trainer=trainer, seed=seed)
    if dataset.labels is not None:
        with clock.running():
            model.fit(dataset.graph)
        ratios = [0.1, 0.5, 0.9]
        scores = efge.node_classification(model, dataset.labels, ratios=ratios, repeats=10, seed=seed)
        return {"score": float(np.mean([scores.summary(ratio).mean for ratio in ratios]))}
    split = split_links(dataset.graph.largest_component(), 0.5)
    with clock.running():
        model.fit(split.graph)
    metrics = link_metrics(pair_scores(model.embedding_, split, "hadamard"), len(split.test_edges))
    return {"score": float(metrics["auc"])}


def perform(task: str, tool: str, details: dict[str, Any], clock: Clock) -> Answer:
    if task == "train":
        name, _, family = tool.partition(" ")
        peers = {"gensim": train_gensim, "grape": train_grape}
        return peers[name](clock, **details) if name in peers else train_efge(clock, family, **details)
    tasks: dict[str, Callable[..., Answer]] = {"walk": walk, "fit": fit_method, "classify": classify, "score": score}
    return grow(clock, **details) if task == "grow" else tasks[task](clock, tool, **details)


def main() -> None:
    task, tool, details = sys.argv[1:]
    # Output of libraries goes to standard error.
    out, sys.stdout = sys.stdout, sys.stderr
    clock = Clock()
    answer = perform(task, tool, json.loads(details), clock)
    print(
        json.dumps({"seconds": clock.seconds, "cpu": clock.cpu, "memory": resident_bytes("VmHWM")} | answer), file=out
    )


if __name__ == "__main__":
    main()
