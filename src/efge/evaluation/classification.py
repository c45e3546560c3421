"""Node classification: how well a linear classifier predicts the classes of nodes from their vectors alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.embedding.embedding import Embedding
from efge.errors import EvaluationError, check_functions, check_positive_integers, check_positive_numbers
from efge.evaluation.labels import Targets, as_targets, describe_missing
from efge.evaluation.logistic import Features, add_constant, decision_function, fit_one_vs_rest
from efge.evaluation.results import Case, Scores
from efge.graph.inputs import as_graph
from efge.parallel import single_threaded_blas
from efge.random import check_seed
from efge.system import available_threads

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Metrics = dict[str, float]

RATIOS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


class ClassificationScores(Scores):
    """Scores by training ratio, with counts of what was left out.

    Attributes
    ----------
    classes : list
        The classes, in order.
    n_nodes : int
        Number of nodes that have both a vector and a class; all scores are based on them.
    n_without_label : int
        Number of nodes with a vector but no class.
    n_without_vector : int
        Number of the graph's nodes with a class but no vector.
    n_unknown : int
        Number of labelled names that are not nodes of the graph; without a graph, of all labelled names that have no
        vector.
    absent_classes : dict
        For each ratio, the mean number of classes without any node in the training set.
    majority : dict
        Each metric of a prediction that needs no vectors, on all labelled nodes: the most frequent class for every
        node, or, where nodes have several classes and their number is known, that many of the most frequent ones. It is
        the last row of the table.

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
    majority: Metrics

    def _baseline_rows(self, digits: int) -> list[list[str]]:
        return [["majority class", *(f"{self.majority[name]:.{digits}f}" for name in self.metrics)]]


def node_classification(  # noqa: PLR0913
    embedding: Any,
    labels: Any,
    *,
    ratios: Iterable[float] = RATIOS,
    repeats: int = 50,
    C: float = 1.0,  # noqa: N803
    seed: int = 0,
    graph: Any = None,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> ClassificationScores:
    """Score an embedding by one-vs-rest logistic regression on random splits of the labelled nodes.

    The embedding has seen all nodes but no labels; the classifier sees the labels of the training nodes only. The
    splits depend only on the seed and the labelled nodes, so the scores of different embeddings can be compared
    directly. The scores do not depend on the number of threads.

    Parameters
    ----------
    embedding : Embedding, fitted estimator, or array with a row for each label
    labels : mapping, path, pandas Series or data frame, or a sequence or 0/1 matrix with an entry for each vector
        The class of each node, or a list, tuple or set of classes; None or NaN for no class.
    ratios : iterable of float
        Fractions of the labelled nodes to train on; the classifier is tested on the rest.
    repeats : int
        Number of random splits for each ratio.
    C : float
        Inverse of the regularization strength, as in scikit-learn's ``LogisticRegression``: a smaller value means a
        stronger L2 penalty.
    seed : int
        Seed of the splits.
    graph : Graph, or anything :func:`efge.as_graph` takes, optional
        With it, the result tells labelled nodes without a vector from labelled names that are not nodes at all.
    threads : int, optional
        Number of threads; by default, one for each core.
    progress : callable, optional
        Called with 1 after each split.

    Returns
    -------
    ClassificationScores
        ``micro_f1``, ``macro_f1`` and ``accuracy`` for each ratio. Macro-F1 averages over the classes that occur in the
        test set or in a prediction.

        If nodes have several classes, there are two variants of each metric. ``(counts known)`` predicts as many
        classes for a node as it really has; most papers report this, although the number is unknown in practice.
        ``(counts unknown)`` predicts every class with a probability above one half. Accuracy then means that all
        classes of a node are right.

    Examples
    --------
    >>> import efge
    >>> embedding = efge.Embedding([[-2], [-1], [-3], [1], [2], [3]], list("abcdef"))
    >>> labels = {"a": "left", "b": "left", "c": "left", "d": "right", "e": "right", "f": "right"}
    >>> scores = node_classification(embedding, labels, ratios=[0.7], repeats=5)
    >>> scores.summary(0.7, metric="accuracy").mean
    1.0
    """
    check_positive_integers(repeats=repeats, threads=threads)
    check_positive_numbers(EvaluationError, C=C)
    check_functions(progress=progress)
    seed = check_seed(seed)
    embedding = as_embedding(embedding)
    targets = as_targets(labels, embedding)
    if len(targets.classes) < 2:
        raise EvaluationError(
            f"classification needs at least two classes; all labelled nodes are in class {targets.classes[0]!r}"
        )
    train_sizes = _train_sizes(ratios, len(targets.rows))
    features = add_constant(embedding.vectors[targets.rows])

    @single_threaded_blas()
    def evaluate_repeat(number: int) -> list[Metrics]:
        order = np.random.default_rng([seed, number]).permutation(len(features))
        metrics = [evaluate_split(features, targets, order[:size], order[size:], C) for size in train_sizes.values()]
        if progress is not None:
            progress(1)
        return metrics

    with single_threaded_blas(), ThreadPoolExecutor(threads or available_threads()) as pool:
        results = list(pool.map(evaluate_repeat, range(repeats)))
    return _collect_scores(results, list(train_sizes), targets, graph)


def as_embedding(source: Any) -> Embedding:
    """Return the embedding itself, that of a fitted estimator, or one of an array.

    Examples
    --------
    >>> as_embedding([[1.0], [2.0]])
    Embedding(2 nodes, 1 dimensions)
    """
    if isinstance(source, Embedding):
        return source
    if hasattr(source, "embedding_"):
        fitted: Embedding = source.embedding_
        return fitted
    if hasattr(source, "get_params"):
        raise EvaluationError(f"fit the estimator first; got {source!r}")
    return Embedding(source)


def _train_sizes(ratios: Iterable[float], n: int) -> dict[float, int]:
    """Return the number of training nodes for each ratio; at least one node is on either side."""
    if n < 2:
        raise EvaluationError(f"a split needs at least two nodes with a vector and a label; got {n}")
    try:
        listed = [float(ratio) for ratio in ratios]
    except (TypeError, ValueError):
        raise EvaluationError(f"ratios is a list of numbers between 0 and 1, such as [0.5]; got {ratios!r}") from None
    invalid = [ratio for ratio in listed if not 0 < ratio < 1]
    if invalid or not listed:
        got = invalid[0] if invalid else "none"
        raise EvaluationError(f"a training ratio is between 0 and 1, such as 0.5; got {got}")
    return {ratio: min(max(round(ratio * n), 1), n - 1) for ratio in listed}


def evaluate_split(features: Features, targets: Targets, train: Any, test: Any, C: float, **options: Any) -> Metrics:  # noqa: N803
    """Train on some rows, with options of :func:`fit_one_vs_rest`, and return the metrics on others.

    Examples
    --------
    >>> embedding = Embedding([[-2.0], [-1.0], [1.0], [2.0]])
    >>> targets = as_targets(["a", "a", "b", "b"], embedding)
    >>> evaluate_split(add_constant(embedding.vectors), targets, [0, 3], [1, 2], C=1.0)["accuracy"]
    1.0
    """
    members = targets.members
    present = members[train].any(axis=0)
    weights = fit_one_vs_rest(features[train], members[train][:, present], C, **options)
    scores = np.full((len(test), len(present)), -np.inf)
    scores[:, present] = decision_function(features[test], weights)
    truth = members[test]
    absent = {"absent classes": float((~present).sum())}
    if not targets.is_multilabel:
        return _metrics(truth, _top_classes(scores, np.ones(len(test), int)), "") | absent
    known = _metrics(truth, _top_classes(scores, truth.sum(axis=1)), " (counts known)")
    return known | _metrics(truth, scores > 0, " (counts unknown)") | absent


def _top_classes(scores: Floats, counts: Rows) -> Bools:
    """Choose the given number of classes with the highest scores for each node; absent classes are never chosen."""
    ranks = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)
    chosen: Bools = (ranks < counts[:, None]) & np.isfinite(scores)
    return chosen


def _metrics(truth: Bools, predicted: Bools, protocol: str) -> Metrics:
    hits = (truth & predicted).sum(axis=0)
    sizes = truth.sum(axis=0) + predicted.sum(axis=0)
    occurs = sizes > 0
    return {
        f"micro_f1{protocol}": float(2 * hits.sum() / sizes.sum()),
        f"macro_f1{protocol}": float((2 * hits[occurs] / sizes[occurs]).mean()),
        f"accuracy{protocol}": float((truth == predicted).all(axis=1).mean()),
    }


def _majority_metrics(targets: Targets) -> Metrics:
    """Return the metrics of the prediction that gives every node the most frequent classes."""
    members, shares = targets.members, targets.members.mean(axis=0)
    ranking = np.broadcast_to(shares, members.shape)
    if not targets.is_multilabel:
        return _metrics(members, _top_classes(ranking, np.ones(len(members), int)), "")
    known = _metrics(members, _top_classes(ranking, members.sum(axis=1)), " (counts known)")
    return known | _metrics(members, ranking > 0.5, " (counts unknown)")


def _collect_scores(
    results: list[list[Metrics]], ratios: list[float], targets: Targets, graph: Any
) -> ClassificationScores:
    by_ratio = [
        {name: np.array([split[i][name] for split in results]) for name in results[0][i]} for i in range(len(ratios))
    ]
    absent = {ratio: float(raw.pop("absent classes").mean()) for ratio, raw in zip(ratios, by_ratio, strict=True)}
    nodes = set() if graph is None else set(as_graph(graph))
    without_vector = sum(name in nodes for name in targets.without_vector)
    unknown = len(targets.without_vector) - without_vector
    not_nodes = "Labelled names without a vector" if graph is None else "Labelled names that are not nodes"
    counts = {
        "Nodes with a vector but no label, left out": targets.without_label,
        "Labelled nodes without a vector, left out": without_vector,
        not_nodes: unknown,
    }
    notes = [f"{what}: {count:,}." for what, count in counts.items() if count]
    if targets.without_vector:
        notes[-1] = f"{notes[-1][:-1]} ({describe_missing(targets)})."
    if any(absent.values()):
        listed = ", ".join(f"{count:.1f} at {ratio:g}" for ratio, count in absent.items() if count)
        notes.append(f"Mean number of classes without a training node, of {len(targets.classes)}: {listed}.")
    raw_scores: dict[Case, dict[str, Floats]] = {(ratio,): raw for ratio, raw in zip(ratios, by_ratio, strict=True)}
    scores = ClassificationScores(("ratio",), raw_scores, tuple(notes))
    scores.majority = _majority_metrics(targets)
    scores.classes, scores.n_nodes, scores.absent_classes = targets.classes, len(targets.rows), absent
    scores.n_without_label, scores.n_without_vector, scores.n_unknown = targets.without_label, without_vector, unknown
    return scores
