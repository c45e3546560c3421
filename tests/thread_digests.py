"""A program that prints a digest of every kind of result; a test runs it with different numbers of threads and cores.

Vectors and graphs are large enough that OpenBLAS uses several threads where it may.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

import efge

RESULTS: dict[str, Callable[[], Any]] = {}
NODES, SMALL, CLASSES = 2000, 450, 10


def result(function: Callable[[], Any]) -> Callable[[], Any]:
    RESULTS[function.__name__] = function
    return function


@cache
def network(n: int = NODES, directed: bool = False, weighted: bool = False) -> efge.Graph:
    """Return a graph whose nodes are mostly linked to nodes with the same remainder by the number of classes."""
    random = np.random.default_rng(n)
    first = np.repeat(np.arange(n), 4)
    second = (first + CLASSES * random.integers(1, n // CLASSES, len(first))) % n
    second = np.where(random.random(len(first)) < 0.7, second, random.integers(n, size=len(first)))
    ends = np.stack([first, second], axis=1)[first != second]
    edges = [(*edge, 0.5 + edge[0] % 3) for edge in ends.tolist()] if weighted else ends.tolist()
    return efge.as_graph(edges, directed=directed)


def labels() -> dict[int, int]:
    return {node: node % CLASSES for node in range(NODES)}


@cache
def model() -> efge.EFGE:
    return efge.EFGE(dim=64, init="svd", walks_per_node=2, seed=1).fit(network())


@cache
def vectors() -> efge.Embedding:
    """Return random vectors near those of their classes: training would compute them no better than NumPy."""
    random = np.random.default_rng(0)
    centers = random.normal(size=(CLASSES, 128))
    return efge.Embedding(centers[np.arange(NODES) % CLASSES] + 2 * random.normal(size=(NODES, 128)), range(NODES))


def grown() -> efge.Graph:
    """Return the network with 300 further nodes, each of which has edges to five nodes of its class."""
    graph = network()
    old = graph.to_scipy().tocoo()
    new = [(NODES + i, (i + CLASSES * 7 * j) % NODES) for i in range(300) for j in range(5)]
    return efge.as_graph([*zip(old.row.tolist(), old.col.tolist(), strict=True), *new])


def attributes(fitted: Any) -> list[Any]:
    """Return the arrays and vectors that a fit has stored, and its diagnostics."""
    stored = {name: value for name, value in sorted(vars(fitted).items()) if name.endswith("_")}
    return [
        value.vectors if isinstance(value, efge.Embedding) else value if isinstance(value, np.ndarray) else repr(value)
        for value in stored.values()
    ]


MODELS = {
    "efge": efge.EFGE(dim=64, init="svd", walks_per_node=2, seed=1),
    "efge_prone": efge.EFGE("bernoulli", dim=64, init="svd", propagate="prone", walks_per_node=2, seed=1),
    "deepwalk": efge.DeepWalk(dim=64, walks_per_node=1, seed=1),
    "node2vec": efge.Node2Vec(dim=64, p=0.5, q=2.0, walks_per_node=1, seed=1),
    "line": efge.LINE(dim=64, samples=20_000, seed=1),
    "bigclam": efge.BigClam(CLASSES, n_init=1, max_iter=5, seed=1),
    "prone": efge.ProNE(dim=128, seed=1),
    "hope": efge.HOPE(dim=128, seed=1),
    "hope_beta": efge.HOPE(dim=128, beta=0.02, seed=1),
    "netmf": efge.NetMF(dim=128, form="small", seed=1),
    "netmf_low_rank": efge.NetMF(dim=128, form="large", rank=64, seed=1),
}
OTHER_GRAPHS = {
    "small": ({"n": SMALL}, ("efge", "prone", "hope", "hope_beta", "netmf", "netmf_low_rank")),
    "directed": ({"directed": True}, ("efge", "prone", "hope", "hope_beta")),
    "weighted": ({"weighted": True}, ("efge", "prone", "hope", "netmf")),
}


def fitted(name: str, **kind: Any) -> Callable[[], Any]:
    return lambda: attributes(MODELS[name].fit(network(**kind)))


RESULTS |= {name: fitted(name) for name in MODELS}
RESULTS |= {f"{name} {kind}": fitted(name, **how) for kind, (how, names) in OTHER_GRAPHS.items() for name in names}
for method in ("band-pass", "prone", "average"):
    RESULTS[f"propagate {method}"] = lambda method=method: efge.propagate(vectors(), network(), method).vectors
for heuristic in ("adamic-adar", "katz"):
    RESULTS[f"link_scores {heuristic}"] = lambda heuristic=heuristic: efge.link_scores(
        network(), [(i, (7 * i + 1) % NODES) for i in range(0, NODES, 10)], heuristic
    )


@result
def transform() -> Any:
    return model().transform(grown())


@result
def transform_netmf() -> Any:
    return efge.NetMF(dim=128, form="small", seed=1).fit(network()).transform(grown())


@result
def partial_fit() -> Any:
    return attributes(efge.EFGE(dim=64, propagate="prone", seed=1).fit(network()).partial_fit(grown()))


@result
def align() -> Any:
    other = efge.Embedding(vectors().vectors[:, ::-1] + 0.1, range(NODES))
    found = efge.align(vectors(), other)
    return [found.embedding.vectors, found.rotation]


@result
def communities() -> Any:
    return [efge.communities(vectors(), **options).labels for options in ({}, {"n_communities": CLASSES})]


@result
def node_classification() -> Any:
    return [efge.node_classification(vectors(), labels(), ratios=(0.1, 0.5), repeats=2).raw]


@result
def classifier() -> Any:
    some = {node: label for node, label in labels().items() if node % 3}
    return efge.Classifier().fit(vectors(), some).predict_proba()


@result
def link_prediction() -> Any:
    models = {"svd": efge.ProNE(dim=64, seed=0), "katz": efge.HOPE(dim=64, seed=0)}
    return [efge.link_prediction(network(), models, repeats=1, heuristics=("katz",)).raw]


@result
def missing_links() -> Any:
    return efge.missing_links(model(), network(), 100)


@result
def nearest() -> Any:
    return [part for metric in ("cosine", "dot") for part in vectors().nearest(k=10, metric=metric)]


@result
def tune() -> Any:
    space = {"estimator": ["HOPE", "ProNE", "NetMF"], "dim": [32]}
    study = efge.tune(network(n=SMALL), space=space, seed=0)
    return [attributes(study.best_model), study.best_score]


@result
def maps() -> Any:
    from efge.explore.layout import lay_out

    few = efge.Embedding(vectors().vectors[:400], range(400))
    return [lay_out(few, "tsne").places, lay_out(vectors(), "pca").places, vectors()._repr_html_()]


def digest(value: Any) -> str:
    found = hashlib.blake2b(digest_size=8)
    for part in value if isinstance(value, list) else [value]:
        if isinstance(part, dict):
            part = list(part.values())
        nested = isinstance(part, list)
        data = (
            digest(part).encode() if nested else part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode()
        )
        found.update(data)
    return found.hexdigest()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    blas_threads = max(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
    chosen = sys.argv[1:] or list(RESULTS)
    print(json.dumps({"blas threads": blas_threads, "digests": {name: digest(RESULTS[name]()) for name in chosen}}))
