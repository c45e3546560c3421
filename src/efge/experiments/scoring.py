"""Scores of one cell: train a method once on a network and evaluate its vectors."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import efge
from efge.datasets import Dataset, load_dataset
from efge.embedding.embedding import Embedding
from efge.evaluation.classification import node_classification
from efge.evaluation.heuristics import HEURISTICS
from efge.evaluation.links import link_metrics, pair_scores
from efge.evaluation.splits import LinkSplit, split_links
from efge.experiments.plan import Cell, load_settings
from efge.graph.graph import Graph
from efge.models.walk_base import WalkEmbedder
from efge.walks.strategies import Node2VecWalk
from efge.walks.walks import Walks


class Score(NamedTuple):
    """A score, and where it belongs in the tables.

    ``value`` is the value of the parameter that the study varies, and ``column`` the column of the paper's table.
    """

    method: str
    value: str
    metric: str
    column: str
    repeat: int
    score: float


def score_cell(cell: Cell) -> list[Score]:
    """Train the method of a cell and score it, in one thread: several cells run in parallel.

    Examples
    --------
    >>> from efge.experiments.scoring import STUDY_FUNCTIONS
    >>> STUDY_FUNCTIONS["links"].__name__
    '_score_links'
    """
    with threadpool_limits(1):
        return list(STUDY_FUNCTIONS[cell.study](cell, _load_dataset(cell.network)))


@cache
def _load_dataset(name: str) -> Dataset:
    return load_dataset(name)


def _train(cell: Cell, graph: Graph) -> Embedding:
    """Return the vectors of a method; methods that learn from walks share the walks of a seed."""
    study, seed = load_settings()["studies"][cell.study], cell.repeat
    settings = dict(load_settings()["methods"][cell.method])
    model = attrgetter(settings.pop("estimator"))(efge)(**settings)
    if cell.value is not None and cell.study == "sigma":
        model.set_params(family=efge.Normal(sigma=cell.value))
    elif cell.value is not None:
        model.set_params(**{study["parameter"]: int(cell.value)})
    if "dim" in study:
        model.set_params(dim=study["dim"])
    if isinstance(model, WalkEmbedder):
        walks = Walks(graph, Node2VecWalk(1.0, 1.0), **load_settings()["walks"], seed=seed, threads=1)
        return model.fit(walks).embedding_
    execution = {"seed": seed, "threads": 1}
    model.set_params(**{name: value for name, value in execution.items() if name in model.get_params()})
    fitted: Embedding = model.fit(graph).embedding_
    return fitted


def _score_networks(cell: Cell, dataset: Dataset) -> Iterator[Score]:
    """Yield the statistics of Table 1; like the paper, count self-loops among the edges."""
    graph = dataset.graph
    n, edges = graph.n_nodes, graph.n_edges
    classes = set((dataset.labels or {}).values())
    counts = {"nodes": n, "edges": edges, "classes": len(classes), "components": graph.n_components}
    for name, number in (counts | {"average_degree": 2 * edges / n, "density": 2 * edges / (n * (n - 1))}).items():
        if name != "classes" or number:
            yield Score(cell.network, "", "statistic", name, 0, float(number))


def _score_classification(cell: Cell, dataset: Dataset) -> Iterator[Score]:
    study = load_settings()["studies"][cell.study]
    percentages = study["percentages"]
    scores = node_classification(
        _train(cell, dataset.graph),
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
                repeat = cell.repeat * study["splits"] + split
                yield Score(cell.method, value, name, str(percentage), repeat, score)


@cache
def _split_links(network: str, repeat: int) -> LinkSplit:
    test_size = load_settings()["studies"]["links"]["test_size"]
    return split_links(_load_dataset(network).graph.largest_component(), test_size, seed=(0, repeat))


def _score_links(cell: Cell, dataset: Dataset) -> Iterator[Score]:
    split = _split_links(cell.network, cell.repeat)
    n_edges = len(split.test_edges)
    if cell.method == "heuristics":
        pairs = np.concatenate([split.test_edges, split.test_non_edges])
        pair_scores_by_method = {
            name: score(split.graph, pairs[:, 0], pairs[:, 1]) for name, score in HEURISTICS.items()
        }
    else:
        pair_scores_by_method = {cell.method: pair_scores(_train(cell, split.graph), split, "hadamard")}
    for method, scores in pair_scores_by_method.items():
        for name, score in link_metrics(scores, n_edges).items():
            yield Score(method, "", name, cell.network, cell.repeat, score)
    test_size = n_edges / (n_edges + len(split.train_edges))
    yield Score("removed edges", "", "test_size", cell.network, cell.repeat, test_size)


def _score_dolphins(cell: Cell, dataset: Dataset) -> Iterator[Score]:
    """Yield the two coordinates of each node, for the figure."""
    vectors = _train(cell, dataset.graph).vectors
    for name, vector in zip(dataset.graph, vectors.tolist(), strict=True):
        for axis, number in zip("xy", vector, strict=True):
            yield Score(cell.method, axis, "position", str(name), 0, number)


STUDY_FUNCTIONS: dict[str, Any] = {
    "networks": _score_networks,
    "classification": _score_classification,
    "links": _score_links,
    "dimension": _score_classification,
    "window": _score_classification,
    "sigma": _score_classification,
    "dolphins": _score_dolphins,
}
