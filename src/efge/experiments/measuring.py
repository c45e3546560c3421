"""One cell measured: a network, a method trained once, its scores."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import efge
from efge.datasets import Dataset, load_dataset
from efge.embedding.embedding import Embedding
from efge.evaluation.classification import node_classification
from efge.evaluation.heuristics import HEURISTICS
from efge.evaluation.links import link_measures, pair_scores
from efge.evaluation.splits import LinkSplit, split_links
from efge.experiments.plan import Cell, catalogue
from efge.graph.graph import Graph
from efge.models.walk_base import WalkEmbedder
from efge.walks.strategies import Node2VecWalk
from efge.walks.walks import Walks


class Score(NamedTuple):
    """A number that was measured, and of what."""

    method: str
    value: str
    measure: str
    column: str
    repeat: int
    score: float


def measure(cell: Cell) -> list[Score]:
    """Train what the cell asks for and score it: in one thread, so that cells can be measured side by side.

    Examples
    --------
    >>> import efge.experiments.measuring as measuring
    >>> measuring.MEASURES["links"].__name__
    '_links'
    """
    with threadpool_limits(1):
        return list(MEASURES[cell.study](cell, _dataset(cell.network)))


@cache
def _dataset(name: str) -> Dataset:
    return load_dataset(name)


def _embedding(cell: Cell, graph: Graph) -> Embedding:
    """The vectors of a method; those that learn from walks share the walks of a seed."""
    study, seed = catalogue()["studies"][cell.study], cell.repeat
    settings = dict(catalogue()["methods"][cell.method])
    model = getattr(efge, settings.pop("estimator"))(**settings)
    if cell.value is not None and cell.study == "sigma":
        model.set_params(family=efge.Normal(sigma=cell.value))
    elif cell.value is not None:
        model.set_params(**{study["parameter"]: int(cell.value)})
    if "dim" in study:
        model.set_params(dim=study["dim"])
    if isinstance(model, WalkEmbedder):
        walks = Walks(graph, Node2VecWalk(1.0, 1.0), **catalogue()["walks"], seed=seed, threads=1)
        return model.fit(walks).embedding_
    own = {"seed": seed, "threads": 1}
    model.set_params(**{name: own[name] for name in own if name in model.get_params()})
    fitted: Embedding = model.fit(graph).embedding_
    return fitted


def _networks(cell: Cell, dataset: Dataset) -> Iterator[Score]:
    """Table 1, as the paper counts: all edges, self loops among them."""
    graph = dataset.graph
    n, edges = graph.n_nodes, graph.n_edges
    classes = set((dataset.labels or {}).values())
    counts = {"nodes": n, "edges": edges, "classes": len(classes), "components": graph.n_components}
    for name, number in (counts | {"average_degree": 2 * edges / n, "density": 2 * edges / (n * (n - 1))}).items():
        if name != "classes" or number:
            yield Score(cell.network, "", "statistic", name, 0, float(number))


def _classification(cell: Cell, dataset: Dataset) -> Iterator[Score]:
    study = catalogue()["studies"][cell.study]
    percentages = study["percentages"]
    scores = node_classification(
        _embedding(cell, dataset.graph),
        dataset.labels,
        ratios=[percentage / 100 for percentage in percentages],
        repeats=study["splits"],
        seed=cell.repeat,
        threads=1,
    )
    value = "" if cell.value is None else f"{cell.value:g}"
    for percentage in percentages:
        for name in ("micro_f1", "macro_f1"):
            for split, score in enumerate(scores.raw[percentage / 100,][name].tolist()):
                number = cell.repeat * study["splits"] + split
                yield Score(cell.method, value, name, str(percentage), number, score)


@cache
def _split(network: str, repeat: int) -> LinkSplit:
    share = catalogue()["studies"]["links"]["share"]
    return split_links(_dataset(network).graph.largest_component(), share, seed=(0, repeat))


def _links(cell: Cell, dataset: Dataset) -> Iterator[Score]:
    split = _split(cell.network, cell.repeat)
    edges = len(split.test_edges)
    if cell.method == "heuristics":
        pairs = np.concatenate([split.test_edges, split.test_non_edges])
        found = {name: score(split.graph, pairs[:, 0], pairs[:, 1]) for name, score in HEURISTICS.items()}
    else:
        found = {cell.method: pair_scores(_embedding(cell, split.graph), split, "hadamard")}
    for method, scores in found.items():
        for name, score in link_measures(scores, edges).items():
            yield Score(method, "", name, cell.network, cell.repeat, score)
    yield Score("removed share", "", "share", cell.network, cell.repeat, edges / (edges + len(split.train_edges)))


def _dolphins(cell: Cell, dataset: Dataset) -> Iterator[Score]:
    """Two numbers a node: the figure needs no more."""
    vectors = _embedding(cell, dataset.graph).vectors
    for name, vector in zip(dataset.graph, vectors.tolist(), strict=True):
        for axis, number in zip("xy", vector, strict=True):
            yield Score(cell.method, axis, "position", str(name), 0, number)


MEASURES: dict[str, Any] = {
    "networks": _networks,
    "classification": _classification,
    "links": _links,
    "dimension": _classification,
    "window": _classification,
    "sigma": _classification,
    "dolphins": _dolphins,
}
