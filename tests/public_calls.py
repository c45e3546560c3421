"""Every public function, constructor and method, with arguments that work: what tests of wrong arguments start from."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

import efge
from efge.evaluation.results import Scores

# Two triangles that a path joins, and an edge between the ends: every function has something to do.
EDGES = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("e", "f"), ("f", "d"), ("f", "a")]
GRAPH = efge.as_graph(EDGES)
LABELS = {name: number % 2 for number, name in enumerate("abcdef")}
VECTORS = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
EMBEDDING = efge.Embedding(VECTORS, list("abcdef"))
TWELVE = [edge for edge in combinations("abcdefghijkl", 2) if (ord(edge[0]) + ord(edge[1])) % 3]
WALKS = {"walks_per_node": 1, "walk_length": 3, "epochs": 1, "threads": 1, "seed": 1}
RATES = {"learning_rate": 0.025, "min_learning_rate": 0.0001}

# Stands for a fitted model, which is made when it is first needed.
FITTED = object()

# Results and settings that functions return or take as they are; nobody's input is checked when they are made.
RECORDS = {
    "Alignment", "BenchmarkScores", "ClassificationScores", "Dataset", "Diagnostics", "Drift", "LinkScores",
    "LinkSplit", "Memory", "NeighborIndex", "Progress", "RecommendationScores", "Study",
}  # fmt: skip
# Called by training, or by log_prob and gradient, with values that these have checked.
INTERNAL = {
    *(f"Checkpoints.{name}" for name in ("lock", "prepare", "restore", "save_if_due", "save_on_signal")),
    *(
        f"{family}.{name}"
        for family in ("Family", "Bernoulli", "BernoulliPoisson", "NegativeBinomial", "Normal", "Poisson")
        for name in ("link", "link_derivative", "log_base", "log_partition", "mean", "statistic")
    ),
}  # fmt: skip
# Arguments that scikit-learn passes and nobody reads.
IGNORED = {"y", "input_features", "deep"}


def public_calls() -> dict[str, Callable[..., Any]]:
    """Return what a user of the public names can call, by name; an inherited method has the name of its class."""
    return dict(_find_calls())


def _find_calls() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in efge.__all__:
        thing = getattr(efge, name)
        if not inspect.isclass(thing):
            yield from [(name, thing)] if callable(thing) else []
            continue
        if issubclass(thing, BaseException):
            continue
        yield name, thing
        for member, value in inspect.getmembers(thing, callable):
            is_ours = str(getattr(value, "__module__", "")).startswith("efge") and not inspect.isclass(value)
            if is_ours and (not member.startswith("_") or member == "__getitem__"):
                yield value.__qualname__, value


@cache
def fitted(name: str = "EFGE") -> Any:
    """Return a small model, fitted once."""
    models = {"EFGE": efge.EFGE(dim=2, window=1, **WALKS), "HOPE": efge.HOPE(dim=2, seed=1)}
    return models[name].fit(GRAPH, progress=False)


def _fit(estimator: Callable[..., Any], graph: Any = GRAPH) -> Callable[..., Any]:
    return lambda **parameters: estimator(**parameters).fit(graph)


def _copied(name: str = "EFGE") -> Any:
    return efge.NodeEmbedder.load(f"{name}.npz")


def _classifier() -> efge.Classifier:
    return efge.Classifier().fit(EMBEDDING, {name: LABELS[name] for name in "abcd"})


@cache
def _study() -> efge.Study:
    space = {"estimator": ["HOPE"], "dim": [2]}
    return efge.tune(TWELVE, space=space, threads=1)


@cache
def _benchmark() -> efge.BenchmarkScores:
    return efge.benchmark({"g": TWELVE}, {"hope": efge.HOPE(dim=2)}, seeds=1, threads=1)


def _scores() -> Scores:
    return Scores(("ratio",), {(0.5,): {"accuracy": np.array([0.5, 0.75])}})


def _drift() -> efge.Drift:
    return efge.drift([EMBEDDING, EMBEDDING])


def _communities() -> efge.Communities:
    return efge.Communities([list("abc"), list("def")])


def write_files(folder: Path) -> None:
    """Write the files that the arguments name."""
    (folder / "e.csv").write_text("source,target\na,b\nb,c\n")
    (folder / "l.csv").write_text("node,label\na,x\nb,y\n")
    (folder / "walks.txt").write_text("a b c\nc b a\n")
    EMBEDDING.save(folder / "v.npz")
    for name in ("EFGE", "HOPE"):
        fitted(name).save(folder / f"{name}.npz")
    efge.convert_graph(folder / "e.csv", folder / "g.efge")
    efge.split_links(GRAPH, 0.2).save(folder / "split")


_READ = {
    "directed": None, "weighted": None, "source": None, "target": None, "weight": None, "nodes": None, "names": None,
    "drop_self_loops": False, "bipartite": None, "count_duplicates": False,
}  # fmt: skip
_READ_TEXT = {
    "format": None, "delimiter": None, "comments": "#%", "header": None, "key": None, "encoding": "utf-8",
    "decimal": ".", "thousands": None, "skip_bad": False, "skip_lines": 0,
}  # fmt: skip
_PLACES = {"k": 2, "metric": "cosine", "among": None, "exclude": None}

# By name: what to call, and arguments that work. Each argument is replaced by each wrong value in turn.
CASES: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    # Graphs and walks
    "as_graph": (efge.as_graph, {"x": EDGES, **_READ}),
    "read_graph": (efge.read_graph, {"path": "e.csv", **_READ, **_READ_TEXT}),
    "convert_graph": (efge.convert_graph, {"path": "e.csv", "new": "new.efge", "memory": None, "progress": None,
        "delimiter": None, "directed": None, "nodes": None, "no_such_option": None}),
    "Graph": (efge.Graph, {"indptr": [0, 1, 2], "indices": [1, 0], "weights": None, "names": None, "directed": False}),
    "Graph.open": (efge.Graph.open, {"path": "g.efge"}),
    "Graph.rows": (GRAPH.rows, {"names": ["a"]}),
    "Graph.neighbors": (GRAPH.neighbors, {"name": "a"}),
    "Graph.subgraph": (GRAPH.subgraph, {"names": ["a"]}),
    "Walks": (efge.Walks, {"graph": GRAPH, "strategy": "uniform", "walks_per_node": 1, "walk_length": 3, "seed": 1,
        "threads": 1}),
    "Walks.batches": (lambda epoch: list(efge.Walks(GRAPH, walks_per_node=1).batches(epoch)), {"epoch": 0}),
    "Walks.held_out": (efge.Walks(GRAPH).held_out, {"count": 3}),
    "Walks.save": (efge.Walks(GRAPH, walks_per_node=1).save, {"path": "w.txt", "progress": None}),
    "CorpusWalk": (lambda walks: list(efge.Walks(GRAPH, efge.CorpusWalk(walks))), {"walks": "walks.txt"}),
    "Node2VecWalk": (lambda p, q: list(efge.Walks(GRAPH, efge.Node2VecWalk(p, q), walks_per_node=1)), {"p": 1, "q": 2}),
    # Families
    "Family.log_prob": (efge.Normal().log_prob, {"x": 1.0, "s": 0.5}),
    "Family.gradient": (efge.Normal().gradient, {"x": 1.0, "s": 0.5}),
    "Normal": (lambda sigma: _fit(efge.EFGE)(family=efge.Normal(sigma), dim=2, **WALKS), {"sigma": 1.0}),
    "NegativeBinomial": (lambda dispersion: _fit(efge.EFGE)(family=efge.NegativeBinomial(dispersion), dim=2, **WALKS),
        {"dispersion": 1.0}),
    # Embeddings
    "Embedding": (efge.Embedding, {"vectors": np.eye(2), "names": ["a", "b"]}),
    "Embedding.__getitem__": (EMBEDDING.__getitem__, {"names": "a"}),
    "Embedding.neighbors": (EMBEDDING.neighbors, {"node": "a", **_PLACES}),
    "Embedding.nearest": (EMBEDDING.nearest, {"queries": None, **_PLACES, "progress": None}),
    "Embedding.transform": (EMBEDDING.transform, {"graph": [("a", "new")], "method": "average"}),
    "Conversions.explore": (EMBEDDING.explore, {"height": 100, "graph": None, "neighbors": 2, "no_such_option": None}),
    "Conversions.to_networkx": (EMBEDDING.to_networkx, {"graph": nx.Graph(EDGES), "attribute": "vector"}),
    "Conversions.from_networkx": (efge.Embedding.from_networkx,
        {"graph": EMBEDDING.to_networkx(nx.Graph(EDGES)), "attribute": "vector"}),
    "Conversions.save": (EMBEDDING.save, {"path": "out.npz", "format": None, "escape_formulas": False}),
    "Conversions.load": (efge.Embedding.load, {"path": "v.npz", "format": None, "names": None}),
    "align": (efge.align, {"old": EMBEDDING, "new": EMBEDDING}),
    "drift": (efge.drift, {"embeddings": [EMBEDDING, EMBEDDING], "aligned": False}),
    "Drift.most": (lambda k: _drift().most(k), {"k": 2}),
    "propagate": (efge.propagate, {"embedding": EMBEDDING, "graph": GRAPH, "method": "band-pass", "threads": 1,
        "order": 3, "theta": 0.5, "mu": 0.2, "exponent": 0.7}),
    "NeighborIndex.build": (efge.NeighborIndex.build, {"embedding": EMBEDDING, "recall": 0.9, "seed": 0}),
    "NeighborIndex.nearest": (lambda **options: _index().nearest(**options), {"queries": None, "k": 2}),
    "NeighborIndex.neighbors": (lambda **options: _index().neighbors(**options), {"node": "a", "k": 2}),
    "NeighborIndex.save": (lambda path: _index().save(path), {"path": "v.index"}),
    "NeighborIndex.load": (lambda **options: _load_index(**options), {"path": "saved.index", "embedding": EMBEDDING}),
    # Estimators: a constructor stores, and fit checks
    "EFGE": (_fit(efge.EFGE), {"family": "bernoulli", "dim": 2, "walk": "node2vec", "p": 1.0, "q": 1.0, "window": 1,
        "follow_directions": False, "negatives": 1, "noise_power": 0.75, "patience": None, "init": "random",
        "propagate": None, "trainer": "fast", "partitions": None, **WALKS, **RATES}),
    "EFGE.paper": (lambda **parameters: efge.EFGE.paper(**parameters).fit(GRAPH),
        {"family": "normal", "dim": 2, "walks_per_node": 1}),
    "DeepWalk": (_fit(efge.DeepWalk), {"dim": 2, "window": 1, **WALKS, **RATES}),
    "Node2Vec": (_fit(efge.Node2Vec), {"dim": 2, "p": 1.0, "q": 1.0, "window": 1, "negatives": 1, **WALKS, **RATES}),
    "LINE": (_fit(efge.LINE), {"dim": 2, "order": "first", "samples": 20, "negatives": 1, "threads": 1, "seed": 1,
        **RATES}),
    "HOPE": (_fit(efge.HOPE), {"dim": 2, "beta": None, "seed": 1}),
    "NetMF": (_fit(efge.NetMF), {"dim": 2, "window": 2, "negatives": 1.0, "form": "auto", "rank": 2, "seed": 1}),
    "ProNE": (_fit(efge.ProNE), {"dim": 2, "order": 3, "theta": 0.5, "mu": 0.2, "threads": 1, "seed": 1}),
    "BigClam": (_fit(efge.BigClam), {"n_communities": 2, "n_init": 1, "max_iter": 3, "tol": 1e-5, "threads": 1,
        "seed": 1}),
    "WalkEmbedder.fit": (efge.EFGE(dim=2, **WALKS).fit, {"X": EDGES, "progress": None, "checkpoint": None, "mmap": None,
        "workdir": None, "cluster": None, "init": None}),
    "UpdatableWalkEmbedder.partial_fit": (lambda **options: _copied().partial_fit(**options),
        {"X": [*EDGES, ("f", "new")], "freeze": False, "progress": None, "checkpoint": None}),
    **{f"{name}.fit": (getattr(efge, name)(2, seed=1).fit, {"X": EDGES, "progress": None})
        for name in ("HOPE", "NetMF", "ProNE", "LINE", "BigClam")},
    "NodeEmbedder.set_params": (efge.HOPE(dim=2).set_params, {"dim": 2, "no_such_parameter": 1}),
    "NodeEmbedder.set_output": (efge.HOPE(dim=2).set_output, {"transform": None}),
    "NodeEmbedder.save": (lambda path: fitted().save(path), {"path": "m.npz"}),
    "NodeEmbedder.load": (efge.NodeEmbedder.load, {"path": "EFGE.npz", "family": None}),
    "NodeEmbedder.transform": (lambda **options: fitted().transform(**options),
        {"X": [("a", "new")], "method": "auto"}),
    "NodeEmbedder.fit_transform": (efge.HOPE(dim=2).fit_transform, {"X": EDGES, "no_such_option": 1}),
    "PairScorer.score_pairs": (lambda pairs: fitted().score_pairs(pairs), {"pairs": [("a", "b")]}),
    "PairScorer.recommend": (lambda **options: fitted().recommend(**options),
        {"node": "a", "k": 2, "among": None, "exclude": None}),
    "NodeFeatures": (lambda **parameters: efge.NodeFeatures(**parameters).fit(),
        {"graph": GRAPH, "estimator": efge.HOPE(dim=2, seed=1)}),
    "NodeFeatures.fit": (efge.NodeFeatures(GRAPH, efge.HOPE(dim=2, seed=1)).fit, {"X": ["a"]}),
    "NodeFeatures.transform": (lambda X: efge.NodeFeatures(GRAPH, efge.HOPE(dim=2, seed=1)).fit().transform(X),
        {"X": ["a"]}),
    "Checkpoints": (lambda **options: efge.EFGE(dim=2, **WALKS).fit(GRAPH, checkpoint=efge.Checkpoints(**options)),
        {"folder": "checkpoints", "resume": True, "every": 60.0}),
    "estimate_memory": (efge.estimate_memory, {"graph": None, "model": None, "nodes": 10, "edges": 20,
        "weighted": False, "directed": False, "mmap": False}),
    # Evaluation
    "read_labels": (efge.read_labels, {"path": "l.csv", "encoding": "utf-8", "node": None, "label": None}),
    "node_classification": (efge.node_classification, {"embedding": EMBEDDING, "labels": LABELS, "ratios": [0.5],
        "repeats": 2, "C": 1.0, "seed": 0, "graph": None, "threads": 1, "progress": None}),
    "link_prediction": (efge.link_prediction, {"graph": GRAPH, "models": efge.HOPE(dim=2, seed=0), "test_size": 0.3,
        "negatives": "uniform", "repeats": 1, "features": ["dot"], "heuristics": ["katz"], "hits": 2, "C": 1.0,
        "seed": 0, "splits": None, "progress": None}),
    "recommendation": (efge.recommendation, {"graph": [("u", 0), ("u", 1), ("v", 0), ("v", 1)],
        "models": efge.HOPE(dim=2, seed=0), "k": 2, "users": None, "repeats": 1, "seed": 0, "progress": None}),
    "split_links": (efge.split_links, {"graph": GRAPH, "test_size": 0.3, "negatives": "uniform", "sides": "auto",
        "seed": 0}),
    "LinkSplit.save": (efge.split_links(GRAPH, 0.2).save, {"folder": "saved"}),
    "LinkSplit.load": (efge.LinkSplit.load, {"folder": "split"}),
    "link_scores": (efge.link_scores, {"graph": GRAPH, "pairs": [("a", "d")], "heuristic": "katz"}),
    "missing_links": (lambda model, **options: efge.missing_links(fitted() if model is FITTED else model, **options),
        {"model": FITTED, "graph": GRAPH, "k": 2, "nodes": None, "sides": "auto", "threads": 1, "progress": None}),
    "communities": (efge.communities, {"source": EMBEDDING, "graph": GRAPH, "n_communities": 2, "overlapping": False,
        "threshold": None, "normalize": False, "seed": 0}),
    "Communities": (efge.Communities, {"members": [["a"], ["b"]], "names": ["a", "b"]}),
    **{f"Communities.{score}": (getattr(_communities(), score), {"truth": LABELS}) for score in ("nmi", "ari", "f1")},
    "Communities.modularity": (_communities().modularity, {"graph": GRAPH}),
    "Communities.score": (_communities().score, {"truth": LABELS, "graph": GRAPH}),
    "Classifier": (lambda C, class_weight: efge.Classifier(C, class_weight=class_weight).fit(EMBEDDING, LABELS),
        {"C": 1.0, "class_weight": None}),
    "Classifier.fit": (efge.Classifier().fit, {"embedding": EMBEDDING, "labels": LABELS}),
    "Classifier.predict": (lambda nodes: _classifier().predict(nodes), {"nodes": None}),
    "Classifier.predict_proba": (lambda nodes: _classifier().predict_proba(nodes), {"nodes": None}),
    "Scores.summary": (lambda case, metric: _scores().summary(case, metric=metric), {"case": 0.5, "metric": None}),
    "Scores.to_markdown": (_scores().to_markdown, {"digits": 2}),
    "Scores.plot": (_scores().plot, {"metric": None, "axes": None}),
    "tune": (efge.tune, {"graph": TWELVE, "labels": None, "space": {"estimator": ["HOPE"], "dim": [2]}, "metric": None,
        "C": 1.0, "class_weight": None, "budget": None, "fits": 1, "folder": None, "force": False, "seed": 0,
        "threads": 1, "progress": None}),
    "Study.to_markdown": (lambda digits: _study().to_markdown(digits), {"digits": 2}),
    "Study.save": (lambda folder: _study().save(folder), {"folder": "."}),
    "benchmark": (efge.benchmark, {"graphs": {"g": TWELVE}, "methods": {"hope": efge.HOPE(dim=2)}, "labels": None,
        "embeddings": None, "folder": None, "seeds": 1, "percentages": [50], "splits": 1, "test_size": 0.3, "C": 1.0,
        "memory_limit": 10**9, "processes": 1, "threads": 1, "progress": None}),
    "BenchmarkScores.standings": (lambda metric: _benchmark().standings(metric), {"metric": "auc@uniform"}),
    "BenchmarkScores.to_markdown": (lambda digits: _benchmark().to_markdown(digits), {"digits": 2}),
    "BenchmarkScores.save": (lambda folder: _benchmark().save(folder), {"folder": "scores"}),
    "load_dataset": (efge.load_dataset, {"name": "no such thing"}),
    # Pages and figures
    "plot_embedding": (efge.plot_embedding, {"embedding": EMBEDDING, "labels": LABELS, "method": "pca", "seed": 0,
        "axes": None}),
    "write_page": (efge.write_page, {"embedding": EMBEDDING, "path": "p.html", "graph": GRAPH, "labels": LABELS,
        "columns": {"x": list(range(6))}, "title": "t", "method": "pca", "neighbors": 2, "compare": None, "seed": 0}),
    "Page.save": (EMBEDDING.explore(method="pca").save, {"path": "p.html"}),
    "write_report": (efge.write_report, {"graph": TWELVE, "path": "r.html", "labels": None,
        "models": {"hope": efge.HOPE(dim=2, seed=1)}, "title": "t", "command": None, "seed": 0, "progress": None}),
}  # fmt: skip


@cache
def _index() -> efge.NeighborIndex:
    return efge.NeighborIndex.build(EMBEDDING, recall=1.0)


def _load_index(path: Any, embedding: Any) -> efge.NeighborIndex:
    _index().save("saved.index")
    return efge.NeighborIndex.load(path, embedding)
