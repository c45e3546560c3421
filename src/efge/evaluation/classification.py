"""Node classification: how well a linear classifier tells the classes of nodes from their vectors alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from efge.embedding.embedding import Embedding
from efge.errors import EvaluationError, check_counts
from efge.evaluation.labels import Targets, as_targets
from efge.evaluation.logistic import Features, fit_one_vs_rest, scores_of, with_constant
from efge.evaluation.results import Scores
from efge.graph.inputs import as_graph
from efge.parallel import available_threads

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Measured = dict[str, float]

RATIOS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


class ClassificationScores(Scores):
    """Scores by training ratio, with what was left out.

    Attributes
    ----------
    classes : list
        The classes, in order.
    n_nodes : int
        Nodes with a vector and a class, on which all scores are.
    n_without_label : int
        Nodes with a vector, but no class.
    n_without_vector : int
        Nodes of the graph with a class, but no vector.
    n_unknown : int
        Names with a class that are no nodes of the graph; without a graph, all names that have no vector.
    absent_classes : dict
        For each ratio, how many classes had no node in the training set, on average.

    Examples
    --------
    >>> scores = node_classification([[-2.0], [-1.0], [1.0], [3.0]] * 5, ["a", "a", "b", None] * 5, ratios=[0.5])
    >>> scores.classes, scores.n_nodes, scores.n_without_label
    (['a', 'b'], 15, 5)
    """

    classes: list[Any]
    n_nodes: int
    n_without_label: int
    n_without_vector: int
    n_unknown: int
    absent_classes: dict[float, float]


def node_classification(
    embedding: Any,
    labels: Any,
    *,
    ratios: Iterable[float] = RATIOS,
    repeats: int = 50,
    strength: float = 1.0,
    seed: int = 0,
    graph: Any = None,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> ClassificationScores:
    """Score an embedding by one-vs-rest logistic regression on random splits of the labelled nodes.

    The embedding saw all nodes but no label; the classifier sees the labels of the training nodes. Splits, and so
    scores, are the same for every embedding of the same labelled nodes, and at any number of threads.

    Parameters
    ----------
    embedding : Embedding, a fitted estimator, or an array with a row for each label
    labels : mapping, path, pandas Series or data frame, or a sequence or 0/1 matrix with an entry for each vector
        A node's class, or a list, tuple or set of classes; None or NaN for no class.
    ratios : iterable of float
        Shares of the labelled nodes to learn from; the rest is judged.
    repeats : int
        Random splits for each ratio.
    strength : float
        What the training errors weigh beside the L2 penalty: scikit-learn's ``C``.
    seed : int
    graph : Graph, or anything :func:`efge.as_graph` takes, optional
        Tells labelled nodes that have no vector from names that are no nodes.
    threads : int, optional
        By default, all cores.
    progress : callable, optional
        Called with 1 whenever a split is done.

    Returns
    -------
    ClassificationScores
        ``micro_f1``, ``macro_f1`` and ``accuracy``. Where nodes have several classes, each of them twice: ``(counts
        known)`` predicts as many classes for a node as it truly has, which most papers do, and no one can in practice;
        ``(counts unknown)`` predicts the classes of a probability above one half. Accuracy then asks for all of a
        node's classes at once. Macro-F1 is the mean over the classes that a test set has or a prediction names.

    Examples
    --------
    >>> import efge
    >>> embedding = efge.Embedding([[-2], [-1], [-3], [1], [2], [3]], list("abcdef"))
    >>> labels = {"a": "left", "b": "left", "c": "left", "d": "right", "e": "right", "f": "right"}
    >>> scores = node_classification(embedding, labels, ratios=[0.7], repeats=5)
    >>> scores.summary(0.7, measure="accuracy").mean
    1.0
    """
    check_counts(repeats=repeats, threads=threads)
    if not strength > 0:
        raise EvaluationError(f"strength is positive; got {strength!r}")
    embedding = _as_embedding(embedding)
    targets = as_targets(labels, embedding)
    if len(targets.classes) < 2:
        raise EvaluationError(f"there is nothing to tell apart: all labelled nodes are of class {targets.classes[0]!r}")
    cuts = _cuts(ratios, len(targets.rows))
    features = with_constant(embedding.vectors[targets.rows])

    def split(number: int) -> list[Measured]:
        order = np.random.default_rng([seed, number]).permutation(len(features))
        measured = [_judge(features, targets, order[:cut], order[cut:], strength) for cut in cuts.values()]
        if progress is not None:
            progress(1)
        return measured

    # One thread for each product of matrices, so that their number cannot change the rounding.
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(threads or available_threads()) as pool:
        found = list(pool.map(split, range(repeats)))
    return _scores(found, list(cuts), targets, graph)


def _as_embedding(x: Any) -> Embedding:
    if isinstance(x, Embedding):
        return x
    if hasattr(x, "embedding_"):
        fitted: Embedding = x.embedding_
        return fitted
    if hasattr(x, "get_params"):
        raise EvaluationError(f"fit the estimator first; got {x!r}")
    return Embedding(x)


def _cuts(ratios: Iterable[float], n: int) -> dict[float, int]:
    """How many nodes each ratio learns from: at least one, and one remains."""
    if n < 2:
        raise EvaluationError(f"a split needs at least two nodes with a vector and a label; got {n}")
    listed = [float(ratio) for ratio in ratios]
    wrong = [ratio for ratio in listed if not 0 < ratio < 1]
    if wrong or not listed:
        raise EvaluationError(f"a training ratio is between 0 and 1, such as 0.5; got {wrong[0] if wrong else 'none'}")
    return {ratio: min(max(round(ratio * n), 1), n - 1) for ratio in listed}


def _judge(features: Features, targets: Targets, train: Any, test: Any, strength: float) -> Measured:
    members = targets.members
    present = members[train].any(axis=0)
    weights = fit_one_vs_rest(features[train], members[train][:, present], strength)
    scores = np.full((len(test), len(present)), -np.inf)
    scores[:, present] = scores_of(features[test], weights)
    truth = members[test]
    measured = {"absent classes": float((~present).sum())}
    if not targets.is_multilabel:
        return _measures(truth, _best(scores, np.ones(len(test), int)), "") | measured
    known = _measures(truth, _best(scores, truth.sum(axis=1)), " (counts known)")
    return known | _measures(truth, scores > 0, " (counts unknown)") | measured


def _best(scores: Floats, counts: npt.NDArray[np.int64]) -> Bools:
    """The classes with the highest scores, so many for each node; those that no training node had stay out."""
    ranks = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)
    chosen: Bools = (ranks < counts[:, None]) & np.isfinite(scores)
    return chosen


def _measures(truth: Bools, predicted: Bools, protocol: str) -> Measured:
    hits = (truth & predicted).sum(axis=0)
    sizes = truth.sum(axis=0) + predicted.sum(axis=0)
    met = sizes > 0
    return {
        f"micro_f1{protocol}": float(2 * hits.sum() / sizes.sum()),
        f"macro_f1{protocol}": float((2 * hits[met] / sizes[met]).mean()),
        f"accuracy{protocol}": float((truth == predicted).all(axis=1).mean()),
    }


def _scores(found: list[list[Measured]], ratios: list[float], targets: Targets, graph: Any) -> ClassificationScores:
    by_ratio = [
        {name: np.array([split[i][name] for split in found]) for name in found[0][i]} for i in range(len(ratios))
    ]
    absent = {ratio: float(raw.pop("absent classes").mean()) for ratio, raw in zip(ratios, by_ratio, strict=True)}
    nodes = set() if graph is None else set(as_graph(graph))
    without_vector = sum(name in nodes for name in targets.without_vector)
    unknown = len(targets.without_vector) - without_vector
    notes = [
        f"{what}: {count:,}."
        for count, what in (
            (targets.without_label, "Nodes with a vector, but no label, left out"),
            (without_vector, "Labelled nodes without a vector, left out"),
            (unknown, "Labels of names without a vector" if graph is None else "Labels of names that are no node"),
        )
        if count
    ]
    some = {ratio: count for ratio, count in absent.items() if count}
    if some:
        listed = ", ".join(f"{count:.1f} at {ratio:g}" for ratio, count in some.items())
        notes.append(f"Classes without a training node, of {len(targets.classes)}, on average: {listed}.")
    scores = ClassificationScores(
        ("ratio",), {(r,): raw for r, raw in zip(ratios, by_ratio, strict=True)}, tuple(notes)
    )
    scores.classes, scores.n_nodes, scores.absent_classes = targets.classes, len(targets.rows), absent
    scores.n_without_label, scores.n_without_vector, scores.n_unknown = targets.without_label, without_vector, unknown
    return scores
