"""One tool doing one task once, in this process; prints what it took as JSON.

    python contestants.py TASK TOOL '{"threads": 1, ...}'

It runs under the interpreter that has the tool, so that all but the standard library and NumPy is imported where it is
used. A small job before the clock starts takes compilation out of it. Seconds are of the wall, CPU seconds those of all
threads, and `memory` is the highest that the whole process had in bytes.
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
PAIRS_A_WALK = WALK_LENGTH * (WALK_LENGTH - 1)
COMMUNITIES, DRAWS_AN_EDGE = 16, 100
RATIOS = [percentage / 100 for percentage in (*range(1, 10), *range(10, 100, 10))]

Answer = dict[str, Any]


def resident(which: str) -> int:
    """Bytes of memory now or at the highest; ru_maxrss would count those of the process that started this one."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(which))


class Clock:
    """Seconds and CPU seconds of what is done in ``with clock.running():``."""

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


# Training: as many walks from each node; gensim reads them from a file, the others make them on the way.


def train_efge(clock: Clock, family: str, graph: str, walks: str, per_node: int, threads: int) -> Answer:
    import efge

    efge.EFGE(family, threads=threads).fit([(0, 1), (1, 2)])
    times: list[tuple[float, float]] = []
    model = efge.EFGE(family, walks_per_node=per_node, walk_length=WALK_LENGTH, seed=0, threads=threads)
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
    return {"work": model.corpus_count * PAIRS_A_WALK}


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
    return {"work": per_node * len(nodes.degrees) * PAIRS_A_WALK}


# Walks.


def walk(clock: Clock, tool: str, graph: str, threads: int, p: float, q: float, per_node: int, length: int) -> Answer:
    from walk_peers import PEERS, Request, load, steps_of

    name, _, inside = tool.partition(" ")
    peer = PEERS[name](load(graph), threads)
    request = Request(float(p), float(q), per_node, length, seed=1, documented=not inside)
    # pecanpy's documented function compiles in every call, and is not warmed by one.
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
        "BigClam": {"communities": COMMUNITIES},
        "LINE": {"samples": DRAWS_AN_EDGE * len(edges), "negatives": 1},
    }
    graph = efge.as_graph(edges)
    return lambda: getattr(efge, method)(seed=0, **options.get(method, {})).fit(graph)


def gensim_method(method: str, edges: Any) -> Callable[[], object]:
    from gensim.models import Word2Vec

    import efge

    walks = [list(map(str, walk)) for walk in efge.Walks(edges, walks_per_node=80, walk_length=WALK_LENGTH, seed=0)]
    chosen = {"hs": 1, "negative": 0} if method == "DeepWalk" else {"hs": 0, "negative": NEGATIVES}
    return lambda: Word2Vec(
        walks, vector_size=DIM, window=WINDOW, min_count=0, sample=0, sg=1, epochs=1, min_alpha=0.0001, workers=2,
        shrink_windows=False, seed=0, **chosen,
    )  # fmt: skip


def karateclub_method(method: str, edges: Any) -> Callable[[], object]:
    import karateclub
    import networkx as nx

    walked = {"walk_number": 80, "walk_length": WALK_LENGTH, "window_size": WINDOW, "workers": 2}
    options: dict[str, Any] = {
        "DeepWalk": walked,
        "Node2Vec": walked,
        "NetMF": {"order": WINDOW},
        "BigClam": {"dimensions": COMMUNITIES},
    }
    graph = nx.Graph()
    graph.add_nodes_from(range(int(edges.max()) + 1))
    graph.add_edges_from(edges.tolist())
    return lambda: getattr(karateclub, method)(**{"dimensions": DIM} | options.get(method, {})).fit(graph)


def nodevectors_method(method: str, edges: Any) -> Callable[[], object]:
    """It calls gensim by names of arguments that gensim has changed since."""
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
    """LINE of both orders, as many edges drawn, a negative for each; HOPE of common neighbors, which it has."""
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
    # An epoch goes over all edges, in both directions.
    options = {"embedding_size": DIM // 2, "epochs": DRAWS_AN_EDGE // 2, "verbose": False}
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
    """Splits of all ratios; `scores` are means over those that both tools do."""
    import efge

    points, classes = np.load(vectors), np.load(labels)
    found = np.zeros(len(RATIOS))
    if tool == "efge":
        efge.node_classification(points[:2000], classes[:2000], ratios=[0.5], repeats=2)
        with clock.running():
            scores = efge.node_classification(points, classes, ratios=RATIOS, repeats=repeats)
        found[:] = [scores.raw[(ratio,)]["micro_f1"][:compared].mean() for ratio in RATIOS]
    else:
        with clock.running():
            for at, ratio in enumerate(RATIOS):
                found[at] = np.mean([_micro_f1(points, classes, ratio, repeat) for repeat in range(repeats)])
    return {"scores": found.tolist(), "work": repeats * len(RATIOS)}


def _micro_f1(points: Any, classes: Any, ratio: float, repeat: int) -> float:
    """What a plain loop does for one split; with one class a node, Micro-F1 is the share of classes that are right."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    order = np.random.default_rng([0, repeat]).permutation(len(points))
    train, test = np.split(order, [round(ratio * len(points))])
    model = OneVsRestClassifier(LogisticRegression(solver="liblinear")).fit(points[train], classes[train])
    return float((model.predict(points[test]) == classes[test]).mean())


# Growth: a graph in memory, embedded by default settings, and links that it was not shown.


def grow(clock: Clock, graph: str, held: str, threads: int, per_node: int) -> Answer:
    import efge

    efge.EFGE().fit([(0, 1), (1, 2)])
    before, times = resident("VmRSS"), []
    built = load_graph(graph)
    model = efge.EFGE("bernoulli", walks_per_node=per_node, threads=threads, seed=0)
    model.fit(built, progress=lambda _: times.append((perf_counter(), process_time())))
    after = resident("VmHWM")
    clock.seconds, clock.cpu = (last - first for first, last in zip(times[0], times[-1], strict=True))
    graph_bytes = sum(array.nbytes for array in (built.indptr, built.indices))
    answer = {"work": model.history_["pairs"][-1], "added": after - before, "graph": graph_bytes}
    return answer | _link_scores(model.embedding_.vectors, built, np.load(held))


def _link_scores(vectors: Any, graph: Any, held: Any) -> Answer:
    """AUC of edges held back against as many pairs at random.

    By logistic regression on products of entries, learned from as many other edges and pairs; by cosines alone; and by
    the product of degrees, which knows no vectors.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    entries = rng.integers(0, len(graph.indices), len(held))
    sources = np.searchsorted(graph.indptr, entries, side="right") - 1
    known = np.column_stack([sources, graph.indices[entries]])
    train, test = (np.concatenate([some, rng.integers(0, len(vectors), some.shape)]) for some in (known, held))
    truth = np.repeat([1, 0], len(held))
    products = [vectors[some[:, 0]] * vectors[some[:, 1]] for some in (train, test)]
    model = LogisticRegression(max_iter=1000).fit(products[0], truth)
    lengths = np.maximum(np.linalg.norm(vectors[test], axis=2).prod(axis=1), 1e-12)
    degrees = np.diff(graph.indptr).astype(float)
    scores = {
        "logistic regression": model.decision_function(products[1]),
        "cosine": products[1].sum(axis=1) / lengths,
        "degrees": degrees[test].prod(axis=1),
    }
    return {f"auc by {name}": float(roc_auc_score(truth, score)) for name, score in scores.items()}


# Quality: the fast trainer beside the plain one, on networks of the paper.


def score(clock: Clock, trainer: str, network: str, family: str, seed: int) -> Answer:
    import efge
    from efge.evaluation.links import link_measures, pair_scores
    from efge.evaluation.splits import split_links

    dataset = efge.load_dataset(network)
    model = efge.EFGE(family, trainer=trainer, seed=seed)
    if dataset.labels is not None:
        with clock.running():
            model.fit(dataset.graph)
        ratios = [0.1, 0.5, 0.9]
        scores = efge.node_classification(model, dataset.labels, ratios=ratios, repeats=10, seed=seed)
        return {"score": float(np.mean([scores.summary(ratio).mean for ratio in ratios]))}
    split = split_links(dataset.graph.largest_component(), 0.5)
    with clock.running():
        model.fit(split.graph)
    measures = link_measures(pair_scores(model.embedding_, split, "hadamard"), len(split.test_edges))
    return {"score": float(measures["auc"])}


def perform(task: str, tool: str, details: dict[str, Any], clock: Clock) -> Answer:
    if task == "train":
        name, _, family = tool.partition(" ")
        peers = {"gensim": train_gensim, "grape": train_grape}
        return peers[name](clock, **details) if name in peers else train_efge(clock, family, **details)
    tasks: dict[str, Callable[..., Answer]] = {"walk": walk, "fit": fit_method, "classify": classify, "score": score}
    return grow(clock, **details) if task == "grow" else tasks[task](clock, tool, **details)


def main() -> None:
    task, tool, details = sys.argv[1:]
    # What libraries print goes elsewhere.
    out, sys.stdout = sys.stdout, sys.stderr
    clock = Clock()
    answer = perform(task, tool, json.loads(details), clock)
    print(json.dumps({"seconds": clock.seconds, "cpu": clock.cpu, "memory": resident("VmHWM")} | answer), file=out)


if __name__ == "__main__":
    main()
