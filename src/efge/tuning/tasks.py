"""What candidates are scored by: edges that were hidden from them, or cross-validation of a classifier of labels.

A task has repeats, numbered from 0: other held-out edges, or another training seed with other folds. The scores of two
candidates on the same repeat are scores on the same pairs or folds, and can be compared one by one.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.embedding.embedding import Embedding
from efge.errors import EvaluationError
from efge.evaluation.classification import evaluate_split
from efge.evaluation.classifier import check_class_weight
from efge.evaluation.labels import Targets, as_targets
from efge.evaluation.logistic import add_constant
from efge.evaluation.splits import LinkSplit, split_links
from efge.graph.graph import Graph
from efge.parallel import single_threaded_blas

Rows = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Values = dict[str, list[float]]

TEST_SIZE = 0.2
# Pairs whose vectors are gathered at once.
_CHUNK = 8192
FOLDS = 5
# A quick score is that of a classifier after one step of Newton's method: with 7 to 17 classes, it takes a tenth of the
# time or less, and differences between vectors are about the same. It has only so many folds if there are many nodes.
_QUICK_TOLERANCE, _QUICK_FOLDS, _MANY = np.inf, 2, 1000
# Other scores are those of a classifier after some steps. One that has converged takes up to twice the time, and its
# choices were no better on the average of Cora, Airports and Wiki.
_TOLERANCE = 0.1
# Fraction of the labelled nodes that nothing is chosen by.
LAST_SIZE = 0.2


class LinkTask:
    """Held-out edges are told from as many uniform non-edges, by the inner product or the cosine of two vectors.

    The score is the AUC of whichever of the two is better: the one is better for vectors whose length says something
    about a node, the other where it does not. Chosen among others in benchmarks/choosing.py.
    """

    metrics = ("auc", "average_precision")
    # How often the best are trained; edges that are held out once are few.
    repeats = 2
    # Test pairs for each training pair, by which repeats are correlated.
    overlap = TEST_SIZE / (1 - TEST_SIZE)

    def __init__(self, graph: Graph, seed: int) -> None:
        self.graph, self.seed = graph, seed
        self._splits: dict[int, LinkSplit] = {}

    def config(self) -> dict[str, Any]:
        """Return all that scores depend on, besides a candidate and a repeat."""
        return {"task": "links", "graph": self.graph.fingerprint(), "test_size": TEST_SIZE, "seed": self.seed}

    def prepare(self, repeats: Sequence[int]) -> None:
        """Make the splits of repeats, before threads use them."""
        for repeat in repeats:
            if repeat not in self._splits:
                self._splits[repeat] = split_links(self.graph, TEST_SIZE, seed=(self.seed, repeat))
        if not all(len(split.test_edges) for split in self._splits.values()):
            raise EvaluationError(
                f"edges are held out where that leaves nodes connected, and {self.graph!r} has no such edge;"
                " choose by labels, or take the defaults"
            )
        if not all(len(split.test_non_edges) for split in self._splits.values()):
            raise EvaluationError(
                f"hidden edges are told from pairs that might be an edge and are none, and {self.graph!r} has no such"
                " pair; choose by labels, or take the defaults"
            )

    def training_graph(self, repeat: int) -> Graph:
        """Return the graph that candidates may see."""
        return self._splits[repeat].graph

    def chance_deviation(self) -> float:
        """Return the standard deviation of the AUC of pairs in a random order (Mann and Whitney)."""
        self.prepare([0])
        edges, others = len(self._splits[0].test_edges), len(self._splits[0].test_non_edges)
        return math.sqrt((edges + others + 1) / (12 * edges * others))

    def score(self, embedding: Embedding, repeat: int, quick: bool = False) -> Values:
        """Return the metrics of vectors, one value each."""
        split = self._splits[repeat]
        found = [rank_edges(scores, len(split.test_edges)) for scores in dots_and_cosines(embedding, split)]
        return {metric: [max(values)] for metric, values in zip(self.metrics, zip(*found, strict=True), strict=True)}


def dots_and_cosines(embedding: Embedding, split: LinkSplit) -> tuple[Floats, Floats]:
    """Return inner products and cosines of the test pairs of a split, edges first.

    Examples
    --------
    >>> split = split_links([(0, 1), (1, 2), (2, 0), (2, 3)], 0.3)
    >>> [scores.tolist() for scores in dots_and_cosines(Embedding([[1.0], [1.0], [2.0], [0.0]]), split)]
    [[1.0, 0.0], [1.0, 0.0]]
    """
    first, second = np.concatenate([split.test_edges, split.test_non_edges]).T
    vectors = embedding.vectors
    dots = np.concatenate(
        [
            np.einsum("ij,ij->i", vectors[first[chunk]], vectors[second[chunk]], dtype=np.float64)
            for chunk in np.array_split(np.arange(len(first)), len(first) // _CHUNK + 1)
        ]
    )
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    products = norms[first] * norms[second]
    return dots, np.divide(dots, products, out=np.zeros_like(dots), where=products > 0)


def rank_edges(scores: Floats, edges: int) -> tuple[float, float]:
    """Return AUC and average precision of scores, of which the first `edges` belong to edges.

    They are those of scikit-learn, whose checks take longer than the computation.

    Examples
    --------
    >>> rank_edges(np.array([0.9, 0.4, 0.5, 0.1]), edges=2)
    (0.75, 0.8333333333333333)
    """
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    # Of equal scores, all or none are above a threshold.
    last = np.append(np.flatnonzero(np.diff(ranked)), len(ranked) - 1)
    hits = np.cumsum(order < edges)[last].astype(np.float64)
    found = last + 1.0
    gains = np.diff(hits, prepend=0.0)
    precision = float((gains * hits / found).sum() / edges)
    misses = found - hits
    # Pairs of an edge and another pair in the right order; those of equal scores count half.
    right = (gains * (misses[-1] - misses + np.diff(misses, prepend=0.0) / 2)).sum()
    return float(right / (edges * misses[-1])), precision


class LabelTask:
    """Cross-validation of a linear classifier on four fifths of the labelled nodes; the others are for the end.

    Folds have the classes in the same proportions. Where nodes have several classes, the rarest one of a node counts.
    """

    overlap = 1 / (FOLDS - 1)
    # Folds are repeats already.
    repeats = 1

    def __init__(self, graph: Graph, labels: Any, seed: int, C: float, class_weight: str | None = None) -> None:  # noqa: N803
        check_class_weight(class_weight)
        self.graph, self.seed, self.C, self.class_weight = graph, seed, C, class_weight
        self.targets = as_targets(labels, Embedding(np.zeros((graph.n_nodes, 1)), graph.names))
        _check_targets(self.targets)
        self.suffix = " (counts known)" if self.targets.is_multilabel else ""
        self.metrics = tuple(f"{name}{self.suffix}" for name in ("micro_f1", "macro_f1", "accuracy"))
        parts = deal(self.targets.members, round(1 / LAST_SIZE), np.random.default_rng([seed, 0]))
        self.development, self.last = np.flatnonzero(parts > 0), np.flatnonzero(parts == 0)

    def config(self) -> dict[str, Any]:
        """Return all that scores depend on, besides a candidate and a repeat."""
        digest = hashlib.sha256(self.targets.rows.tobytes() + self.targets.members.tobytes()).hexdigest()
        data = {"task": "labels", "graph": self.graph.fingerprint(), "labels": digest}
        sizes = {"folds": FOLDS, "last_size": LAST_SIZE}
        return data | sizes | {"C": self.C, "class_weight": self.class_weight, "seed": self.seed}

    def prepare(self, repeats: Sequence[int]) -> None:
        """Do nothing: folds are made when they are needed."""

    def training_graph(self, repeat: int) -> Graph:
        """Return the whole graph: vectors are learned without labels."""
        return self.graph

    def score(self, embedding: Embedding, repeat: int, quick: bool = False) -> Values:
        """Return the metrics of each fold; quickly, those of fewer folds and a classifier that is nearly as good."""
        members = self.targets.members[self.development]
        folds = deal(members, FOLDS, np.random.default_rng([self.seed, 1, repeat]))
        tol = _QUICK_TOLERANCE if quick else _TOLERANCE
        few = quick and len(members) > _MANY
        found = [
            self._evaluate(embedding, self.development[folds != i], self.development[folds == i], tol=tol)
            for i in range(_QUICK_FOLDS if few else FOLDS)
        ]
        return {metric: [scores[metric] for scores in found] for metric in self.metrics}

    def last_scores(self, embedding: Embedding) -> dict[str, float]:
        """Return the metrics on the nodes that nothing was chosen by."""
        # Several threads would round by their number, and wait for each other on a busy machine.
        with single_threaded_blas():
            scores = self._evaluate(embedding, self.development, self.last)
        return {metric: scores[metric] for metric in self.metrics}

    def _evaluate(self, embedding: Embedding, train: Rows, test: Rows, **options: Any) -> dict[str, float]:
        features, balanced = add_constant(embedding.vectors[self.targets.rows]), self.class_weight is not None
        return evaluate_split(features, self.targets, train, test, self.C, balanced=balanced, **options)


def _check_targets(targets: Targets) -> None:
    if len(targets.classes) < 2:
        raise EvaluationError(
            f"choosing by labels needs at least two classes; all labelled nodes are in class {targets.classes[0]!r}"
        )
    least = 2 * FOLDS
    if len(targets.rows) < least:
        raise EvaluationError(f"choosing by labels needs {least} nodes with a label at least; got {len(targets.rows)}")


def deal(members: npt.NDArray[np.bool_], parts: int, random: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return the part of each node; every class is spread over the parts as evenly as possible.

    Examples
    --------
    >>> members = np.array([[True, False]] * 4 + [[False, True]] * 2)
    >>> sorted(deal(members, 2, np.random.default_rng(0))[:4].tolist())
    [0, 0, 1, 1]
    """
    # The rarest class of each node, by which it is dealt.
    sizes = np.where(members, members.sum(axis=0), len(members) + 1)
    strata = sizes.argmin(axis=1)
    order = random.permutation(len(members))
    order = order[np.argsort(strata[order], kind="stable")]
    found = np.empty(len(members), np.int64)
    # Consecutive nodes of a class go to different parts, and the next class continues where the last one stopped.
    found[order] = np.arange(len(members)) % parts
    return found
