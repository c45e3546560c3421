"""Node classification: scores are those of scikit-learn, and do not depend on threads."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier

import efge
from efge.evaluation.classification import node_classification
from helpers import blobs


def plain_scores(vectors, members, ratio, repeats, seed, counts_known, C=1.0):
    """Score the same splits by scikit-learn alone."""
    scores = []
    for number in range(repeats):
        order = np.random.default_rng([seed, number]).permutation(len(vectors))
        train, test = np.split(order, [round(ratio * len(vectors))])
        classifier = OneVsRestClassifier(LogisticRegression(C=C, solver="liblinear", tol=1e-8, max_iter=5000))
        classifier.fit(vectors[train], members[train].astype(int))
        decisions = classifier.decision_function(vectors[test])
        predicted = decisions > 0
        if counts_known:
            cut = np.sort(decisions, axis=1)[:, ::-1][np.arange(len(test)), members[test].sum(axis=1) - 1]
            predicted = decisions >= cut[:, None]
        for average in ("micro", "macro"):
            scores.append(f1_score(members[test], predicted, average=average, zero_division=np.nan))
    return np.array(scores).reshape(repeats, 2)


def test_scores_of_single_labels_are_scikit_learns():
    vectors, labels = blobs()
    scores = node_classification(vectors, labels, ratios=[0.1, 0.6], repeats=4, seed=5)
    for ratio in (0.1, 0.6):
        plain = plain_scores(vectors, labels[:, None] == np.arange(4), ratio, 4, 5, counts_known=True)
        raw = scores.raw[(ratio,)]
        assert np.column_stack([raw["micro_f1"], raw["macro_f1"]]) == pytest.approx(plain, abs=1e-12)
        assert raw["accuracy"].tolist() == raw["micro_f1"].tolist()


@pytest.mark.parametrize("protocol", ["known", "unknown"])
def test_scores_of_several_labels_are_scikit_learns_under_both_protocols(protocol):
    vectors, labels = blobs(400)
    members = labels[:, None] == np.arange(4)
    members[::3, 0] = True
    scores = node_classification(vectors, members, ratios=[0.5], repeats=3)
    plain = plain_scores(vectors, members, 0.5, 3, 0, counts_known=protocol == "known")
    raw = scores.raw[(0.5,)]
    ours = np.column_stack([raw[f"{name}_f1 (counts {protocol})"] for name in ("micro", "macro")])
    assert ours == pytest.approx(plain, abs=1e-12)
    assert not any(name in scores.metrics for name in ("micro_f1", "macro_f1", "accuracy"))


def test_c_is_the_inverse_regularization_strength_of_scikit_learn():
    vectors, labels = blobs()
    for C in (0.01, 100.0):
        scores = node_classification(vectors, labels, ratios=[0.1], repeats=4, C=C)
        plain = plain_scores(vectors, labels[:, None] == np.arange(4), 0.1, 4, 0, counts_known=True, C=C)
        raw = scores.raw[(0.1,)]
        assert np.column_stack([raw["micro_f1"], raw["macro_f1"]]) == pytest.approx(plain, abs=1e-12)
    assert (
        raw["micro_f1"].tolist()
        != node_classification(vectors, labels, ratios=[0.1], repeats=4).raw[(0.1,)]["micro_f1"].tolist()
    )


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_scores_do_not_depend_on_threads(threads):
    vectors, labels = blobs()
    expected = node_classification(vectors, labels, repeats=7, threads=3)
    scores = node_classification(vectors, labels, repeats=7, threads=threads)
    for case, by_metric in expected.raw.items():
        for name, values in by_metric.items():
            assert scores.raw[case][name].tolist() == values.tolist()


def test_labels_unrelated_to_the_vectors_score_at_chance():
    random = np.random.default_rng(0)
    scores = node_classification(
        random.normal(size=(2000, 16)), random.integers(4, size=2000), ratios=[0.5], repeats=10
    )
    assert abs(scores.summary(0.5, metric="accuracy").mean - 0.25) < 0.02


def test_nodes_and_labels_that_are_left_out_are_counted():
    vectors, labels = blobs(100)
    embedding = efge.Embedding(vectors, [f"n{i}" for i in range(100)])
    labelled = {f"n{i}": int(label) for i, label in enumerate(labels[:90])} | {"n3": None, "isolated": 1, "stranger": 2}
    graph = efge.as_graph([("n0", "n1")], nodes=[*embedding.names, "isolated"])
    scores = node_classification(embedding, labelled, ratios=[0.02, 0.5], repeats=5, graph=graph)
    assert (scores.n_nodes, scores.n_without_label, scores.n_without_vector, scores.n_unknown) == (89, 11, 1, 1)
    # Two nodes are too few for four classes.
    assert scores.absent_classes[0.02] >= 2
    assert scores.absent_classes[0.5] == 0
    assert "Nodes with a vector but no label, left out: 11." in scores.to_markdown()
    assert "classes without a training node" in scores.to_markdown()
    assert node_classification(embedding, labelled, ratios=[0.5], repeats=1).n_unknown == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ratios": [50]}, "between 0 and 1, such as 0.5; got 50"),
        ({"ratios": []}, "between 0 and 1"),
        ({"repeats": 0}, "repeats must be a positive integer"),
        ({"C": 0}, "C must be a positive number"),
        ({"C": float("nan")}, "C must be a positive number"),
        ({"threads": 0}, "threads must be a positive integer"),
    ],
)
def test_invalid_settings_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        node_classification([[0.0], [1.0]], [0, 1], **options)


def test_labels_that_do_not_fit_the_vectors_are_refused():
    embedding = efge.Embedding([[0.0], [1.0]], ["1", "2"])
    with pytest.raises(efge.EvaluationError, match="the labels have names such as 1, the vectors such as '1'"):
        node_classification(embedding, {1: "a", 2: "b"})
    with pytest.raises(efge.EvaluationError, match="one entry for each of the 2 vectors; got 3"):
        node_classification(embedding, ["a", "b", "c"])
    with pytest.raises(efge.EvaluationError, match="at least two classes; all labelled nodes are in class 'a'"):
        node_classification(embedding, {"1": "a", "2": "a"})
    with pytest.raises(efge.EvaluationError, match="fit the estimator first"):
        node_classification(efge.EFGE(), {"1": "a"})


def test_a_fitted_estimator_scores_as_its_embedding():
    model = efge.HOPE(dim=4, seed=0).fit([(i, (i + 1) % 20) for i in range(20)])
    labels = {i: i // 10 for i in range(20)}
    raw = [node_classification(x, labels, ratios=[0.5], repeats=3).raw for x in (model, model.embedding_)]
    assert raw[0][(0.5,)]["micro_f1"].tolist() == raw[1][(0.5,)]["micro_f1"].tolist()


def test_the_majority_row_is_the_score_of_the_most_frequent_class():
    labels = ["a"] * 6 + ["b"] * 3 + ["c"]
    scores = node_classification(np.eye(10), labels, ratios=[0.5], repeats=2)
    assert scores.majority == pytest.approx({"micro_f1": 0.6, "macro_f1": (2 * 6 / 16) / 3, "accuracy": 0.6})
    assert "| majority class | 0.6000 | 0.2500 | 0.6000 |" in scores.to_markdown()
    assert list(scores.to_pandas()["ratio"]) == [0.5] * 3


def test_the_majority_row_of_several_labels_has_as_many_frequent_ones_as_a_node_has():
    labels = [["a"]] * 4 + [["a", "b"]] * 3 + [["c", "b"]] * 3
    majority = node_classification(np.eye(10), labels, ratios=[0.5], repeats=2).majority
    # Known counts: a for four nodes, a and b for six, of 16 labels. Unknown: a and b for all, as over half have each.
    assert majority["micro_f1 (counts known)"] == pytest.approx((4 + 6 + 3) / 16)
    assert majority["micro_f1 (counts unknown)"] == pytest.approx(2 * (7 + 6) / (16 + 20))
    assert majority["accuracy (counts known)"] == pytest.approx(0.7)
