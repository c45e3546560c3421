"""Predictions of classes: a linear classifier that learns from the labelled nodes of an embedding."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from efge import display
from efge.embedding.embedding import Embedding
from efge.errors import EvaluationError, check_positive_numbers
from efge.evaluation.classification import as_embedding
from efge.evaluation.labels import Targets, as_targets
from efge.evaluation.logistic import add_constant, decision_function, fit_one_vs_rest
from efge.graph.names import list_names
from efge.parallel import single_threaded_blas

Floats = npt.NDArray[np.float64]

# Number of classes that a notebook shows.
_SHOWN_CLASSES = 12


def check_class_weight(class_weight: str | None) -> None:
    """Raise an error if class weights are neither absent nor balanced.

    Examples
    --------
    >>> check_class_weight("balanced")
    """
    if class_weight is not None and not (isinstance(class_weight, str) and class_weight == "balanced"):
        raise EvaluationError(f"class_weight is 'balanced' or None; got {class_weight!r}")


class Classifier:
    """One-vs-rest logistic regression on vectors of nodes, which predicts classes and their probabilities.

    It is the classifier that :func:`efge.node_classification` scores. Use that function to know how far to trust it:
    probabilities are as good as the model, and nodes that you have labels for may not be a random choice of all nodes.

    Parameters
    ----------
    C : float
        Inverse of the regularization strength, as in scikit-learn's ``LogisticRegression``.
    class_weight : "balanced", optional
        Give members of a class and all other nodes the same total weight, so that rare classes are predicted more
        often. Probabilities are then too high for rare classes.

    Attributes
    ----------
    classes_ : list
        The classes, in order.
    unlabelled_ : list
        The nodes that have a vector but no label.
    multilabel_ : bool
        Whether any node has more than one class.

    Examples
    --------
    >>> import efge
    >>> embedding = efge.Embedding([[-3], [-2], [2], [3], [4]], ["ann", "bob", "cid", "dan", "eve"])
    >>> classifier = efge.Classifier().fit(embedding, {"ann": "left", "bob": "left", "cid": "right", "dan": "right"})
    >>> classifier.unlabelled_, classifier.predict()
    (['eve'], ['right'])
    >>> classifier.predict_proba(["ann", "eve"]).round(1)
    array([[0.9, 0.1],
           [0. , 1. ]])
    """

    classes_: list[Hashable]
    unlabelled_: list[Hashable]
    multilabel_: bool

    def __init__(self, C: float = 1.0, class_weight: str | None = None) -> None:  # noqa: N803
        self.C = C
        self.class_weight = class_weight

    def __repr__(self) -> str:
        return f"Classifier(C={self.C!r}{f', class_weight={self.class_weight!r}' if self.class_weight else ''})"

    def _repr_html_(self) -> str:
        """Return the parameters and, after fit, the classes and how many nodes have each, for notebooks."""
        parts = [display.table([("C", self.C), ("class_weight", self.class_weight)], ("parameter", "value"))]
        if hasattr(self, "classes_"):
            counts = sorted(zip(self.classes_, self._counts, strict=True), key=lambda item: -item[1])
            rows = [(name, f"{count:,}") for name, count in counts[:_SHOWN_CLASSES]]
            more = len(counts) - len(rows)
            rows += [(f"and {more:,} more classes", "")] if more else []
            rows += [("without a label", f"{len(self.unlabelled_):,}")]
            parts.append(display.table(rows, ("class", "nodes")))
        return display.card(repr(self), *parts)

    def fit(self, embedding: Any, labels: Any) -> Classifier:
        """Learn from the labelled nodes.

        Parameters
        ----------
        embedding : Embedding, fitted estimator, or array with a row for each label
        labels : mapping, path, pandas Series or data frame, or a sequence or 0/1 matrix with an entry for each vector
            The class of each node, or a list, tuple or set of classes; None or NaN for no class.

        Examples
        --------
        >>> Classifier().fit([[-1.0], [1.0], [2.0]], ["a", "b", None]).predict()
        ['b']
        """
        check_positive_numbers(EvaluationError, C=self.C)
        check_class_weight(self.class_weight)
        self._embedding = as_embedding(embedding)
        targets = as_targets(labels, self._embedding)
        if len(targets.classes) < 2:
            raise EvaluationError(
                f"classification needs at least two classes; all labelled nodes are in class {targets.classes[0]!r}"
            )
        self._fit_rows(targets, np.arange(len(targets.rows)))
        return self

    def _fit_rows(self, targets: Targets, chosen: npt.NDArray[np.int64]) -> None:
        """Learn from some of the labelled rows."""
        features = add_constant(self._embedding.vectors[targets.rows[chosen]])
        with single_threaded_blas():
            balanced = self.class_weight is not None
            self._weights = fit_one_vs_rest(features, targets.members[chosen], self.C, balanced=balanced)
        self.classes_, self.multilabel_ = targets.classes, targets.is_multilabel
        self._counts = targets.members.sum(axis=0).tolist()
        labelled = np.zeros(len(self._embedding), bool)
        labelled[targets.rows] = True
        self.unlabelled_ = self._embedding.names[~labelled].tolist()

    def predict_proba(self, nodes: Any = None) -> Floats:
        """Return the probability of each class, one column each.

        Parameters
        ----------
        nodes : list or array of names, or an Embedding of other nodes, optional
            By default, the nodes without a label, `unlabelled_`.

        Returns
        -------
        array of shape (nodes, classes)
            If nodes have one class each, the probabilities of a node add up to 1. If they have several, each
            probability stands for itself.

        Examples
        --------
        >>> Classifier().fit([[-1.0], [1.0], [0.0]], ["a", "b", None]).predict_proba()
        array([[0.5, 0.5]])
        """
        if not hasattr(self, "classes_"):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError("this Classifier is not fitted yet; call fit with vectors and labels first")
        with single_threaded_blas():
            scores = decision_function(add_constant(self._vectors(nodes)), self._weights)
        if self.multilabel_:
            every: Floats = expit(scores)
            return every
        # Where every class is all but impossible, probabilities are divided before they become zero.
        logs = -np.logaddexp(0, -scores)
        odds = np.exp(logs - logs.max(axis=1, keepdims=True))
        probabilities: Floats = odds / odds.sum(axis=1, keepdims=True)
        return probabilities

    def _vectors(self, nodes: Any) -> npt.NDArray[np.float32]:
        if isinstance(nodes, Embedding):
            if nodes.dim != self._embedding.dim:
                raise EvaluationError(f"vectors must have {self._embedding.dim} dimensions; got {nodes.dim}")
            return nodes.vectors
        names = self.unlabelled_ if nodes is None else list_names("nodes", nodes)
        return self._embedding.vectors[self._embedding._rows(names)]

    def predict(self, nodes: Any = None) -> list[Any]:
        """Return the likeliest class of each node; or, if nodes have several, all with a probability above one half.

        Parameters
        ----------
        nodes : list or array of names, or an Embedding of other nodes, optional
            By default, the nodes without a label, `unlabelled_`.

        Returns
        -------
        list
            Of classes, or of tuples of classes if nodes have several; such a tuple has at least one, the likeliest.

        Examples
        --------
        >>> labels = {0: ["x"], 1: ["x", "y"], 2: ["z"]}
        >>> classifier = Classifier(C=100).fit([[1.0, 0.0], [1.0, 1.0], [0.0, -1.0], [2.0, 2.0]], labels)
        >>> classifier.predict([3])
        [('x', 'y')]
        """
        found = self.predict_proba(nodes)
        likeliest = found.argmax(axis=1) if len(found) else np.empty(0, int)
        if not self.multilabel_:
            return [self.classes_[column] for column in likeliest]
        chosen = found > 0.5
        chosen[np.arange(len(found)), likeliest] = True
        return [tuple(self.classes_[column] for column in np.flatnonzero(row)) for row in chosen]
