"""The classifier of nodes without a label: classes, probabilities, and several classes for a node."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

import efge
from helpers import blobs


def test_probabilities_are_those_of_scikit_learns_one_vs_rest():
    vectors, labels = blobs(200, 6, 3)
    known = dict(enumerate(labels[:150].tolist()))
    classifier = efge.Classifier(C=2.0).fit(efge.Embedding(vectors), known)
    # liblinear penalizes the constant, as this classifier does.
    peer = OneVsRestClassifier(LogisticRegression(C=2.0, solver="liblinear", tol=1e-10))
    expected = peer.fit(vectors[:150], labels[:150]).predict_proba(vectors[150:])
    assert classifier.unlabelled_ == list(range(150, 200))
    assert classifier.predict_proba() == pytest.approx(expected, abs=1e-5)
    assert classifier.predict() == expected.argmax(axis=1).tolist()
    assert classifier.predict_proba().sum(axis=1) == pytest.approx(1)


def test_balanced_weights_are_those_of_scikit_learn():
    vectors, labels = blobs(200, 6, 3)
    kept = np.flatnonzero((labels != 0) | (np.arange(200) % 5 == 0))
    vectors, labels = vectors[kept], labels[kept]
    classifier = efge.Classifier(C=0.1, class_weight="balanced").fit(vectors, labels.tolist())
    one = LogisticRegression(C=0.1, solver="liblinear", tol=1e-10, class_weight="balanced")
    expected = OneVsRestClassifier(one).fit(vectors, labels).predict_proba(vectors)
    assert classifier.predict_proba(list(range(len(kept)))) == pytest.approx(expected, abs=1e-5)
    assert repr(classifier) == "Classifier(C=0.1, class_weight='balanced')"
    with pytest.raises(efge.EvaluationError, match="class_weight is 'balanced' or None; got 'even'"):
        efge.Classifier(class_weight="even").fit(vectors, labels.tolist())


def test_nodes_of_several_classes_get_all_that_are_likelier_than_not_and_at_least_one():
    random = np.random.default_rng(0)
    vectors = random.normal(size=(300, 2)).astype(np.float32)
    members = vectors > [0.0, 0.5]
    labels = {i: [name for name, member in zip("xy", row, strict=True) if member] for i, row in enumerate(members)}
    known = {i: classes for i, classes in labels.items() if classes and i < 200}
    classifier = efge.Classifier(C=100).fit(efge.Embedding(vectors), known)
    assert classifier.multilabel_
    found = classifier.predict(efge.Embedding([[3, 3], [3, -3], [-3, 3], [-3, -3]]))
    assert found[:3] == [("x", "y"), ("x",), ("y",)]
    assert len(found[3]) == 1
    probabilities = classifier.predict_proba([0, 1])
    assert ((probabilities >= 0) & (probabilities <= 1)).all()


def test_far_from_every_class_probabilities_still_add_up_to_one():
    classifier = efge.Classifier(C=1e6).fit([[-1.0], [0.0], [1.0]] * 5, ["a", "b", "a"] * 5)
    for far in (1e6, -1e6):
        assert classifier.predict_proba(efge.Embedding([[far]])).sum() == pytest.approx(1)


def test_without_unlabelled_nodes_there_is_nothing_to_predict():
    classifier = efge.Classifier().fit([[-1.0], [1.0]], ["a", "b"])
    assert classifier.unlabelled_ == classifier.predict() == []
    assert classifier.predict_proba().shape == (0, 2)


def test_mistakes_are_errors_that_name_them():
    with pytest.raises(NotFittedError, match="call fit with vectors and labels"):
        efge.Classifier().predict()
    with pytest.raises(efge.EvaluationError, match="at least two classes"):
        efge.Classifier().fit([[1.0], [2.0]], ["a", "a"])
    with pytest.raises(efge.EvaluationError, match="C must be a positive number; got 0"):
        efge.Classifier(C=0).fit([[1.0], [2.0]], ["a", "b"])
    fitted = efge.Classifier().fit([[1.0], [2.0]], ["a", "b"])
    with pytest.raises(KeyError, match="no node named 7"):
        fitted.predict([7])
    with pytest.raises(efge.EvaluationError, match="must have 1 dimensions; got 2"):
        fitted.predict(efge.Embedding([[1.0, 2.0]]))
