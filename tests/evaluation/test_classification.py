"""Node classification: the solver finds the optimum, scores are scikit-learn's, and nothing depends on threads."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier

import efge
from efge.evaluation.classification import node_classification
from efge.evaluation.labels import as_targets, read_labels
from efge.evaluation.logistic import fit_one_vs_rest, scores_of, with_constant
from efge.evaluation.results import Scores, summarize


def blobs(n=300, dim=8, classes=4, seed=0):
    """Vectors around the centers of their classes, close enough to be mistaken."""
    random = np.random.default_rng(seed)
    labels = random.integers(classes, size=n)
    vectors = random.normal(size=(classes, dim))[labels] + random.normal(size=(n, dim))
    return vectors.astype(np.float32), labels


@pytest.mark.parametrize("scale", [1e-3, 1, 30, 1e4])
@pytest.mark.parametrize(("n", "dim"), [(300, 8), (20, 50)])
def test_weights_are_those_of_the_optimum(scale, n, dim):
    vectors, labels = blobs(n, dim)
    features, members = with_constant(vectors * np.float32(scale)), labels[:, None] == np.arange(4)
    weights = fit_one_vs_rest(features, members)
    wide = features.astype(float)
    for k in range(4):
        best = LogisticRegression(solver="newton-cholesky", fit_intercept=False, tol=1e-12, max_iter=1000)
        best.fit(wide, members[:, k])
        assert np.abs(wide @ (weights[:, k] - best.coef_[0])).max() < 1e-2


def test_the_gradient_vanishes_at_the_optimum():
    vectors, labels = blobs(500, 20)
    features, members = with_constant(vectors).astype(float), labels[:, None] == np.arange(4)
    weights = fit_one_vs_rest(features.astype(np.float32), members, strength=3.0)
    probable = 1 / (1 + np.exp(-(features @ weights)))
    gradient = weights + 3.0 * features.T @ (probable - members)
    assert np.abs(gradient).max() < 3.0 * 500 * 1e-5


def test_classes_that_all_or_none_of_the_nodes_have_are_fitted():
    vectors, _ = blobs(30)
    features = with_constant(vectors)
    weights = fit_one_vs_rest(features, np.column_stack([np.ones(30, bool), np.zeros(30, bool)]))
    scores = scores_of(features, weights)
    assert (scores[:, 0] > 0).all()
    assert (scores[:, 1] < 0).all()


def plain_scores(vectors, members, ratio, repeats, seed, counts_known):
    """The same splits, scored by scikit-learn alone."""
    found = []
    for number in range(repeats):
        order = np.random.default_rng([seed, number]).permutation(len(vectors))
        train, test = np.split(order, [round(ratio * len(vectors))])
        classifier = OneVsRestClassifier(LogisticRegression(solver="liblinear", tol=1e-8, max_iter=5000))
        classifier.fit(vectors[train], members[train].astype(int))
        scores = classifier.decision_function(vectors[test])
        predicted = scores > 0
        if counts_known:
            cut = np.sort(scores, axis=1)[:, ::-1][np.arange(len(test)), members[test].sum(axis=1) - 1]
            predicted = scores >= cut[:, None]
        for average in ("micro", "macro"):
            found.append(f1_score(members[test], predicted, average=average, zero_division=np.nan))
    return np.array(found).reshape(repeats, 2)


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
    assert not any(name in scores.measures for name in ("micro_f1", "macro_f1", "accuracy"))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_scores_do_not_depend_on_threads(threads):
    vectors, labels = blobs()
    expected = node_classification(vectors, labels, repeats=7, threads=3)
    scores = node_classification(vectors, labels, repeats=7, threads=threads)
    for case, measured in expected.raw.items():
        for name, values in measured.items():
            assert scores.raw[case][name].tolist() == values.tolist()


def test_labels_that_have_nothing_to_do_with_the_vectors_score_by_chance():
    random = np.random.default_rng(0)
    scores = node_classification(
        random.normal(size=(2000, 16)), random.integers(4, size=2000), ratios=[0.5], repeats=10
    )
    assert abs(scores.summary(0.5, measure="accuracy").mean - 0.25) < 0.02


def test_what_is_left_out_is_counted():
    vectors, labels = blobs(100)
    embedding = efge.Embedding(vectors, [f"n{i}" for i in range(100)])
    given = {f"n{i}": int(label) for i, label in enumerate(labels[:90])} | {"n3": None, "lonely": 1, "stranger": 2}
    graph = efge.as_graph([("n0", "n1")], nodes=[*embedding.names, "lonely"])
    scores = node_classification(embedding, given, ratios=[0.02, 0.5], repeats=5, graph=graph)
    assert (scores.n_nodes, scores.n_without_label, scores.n_without_vector, scores.n_unknown) == (89, 11, 1, 1)
    # Two nodes are too few for four classes.
    assert scores.absent_classes[0.02] >= 2
    assert scores.absent_classes[0.5] == 0
    assert "Nodes with a vector, but no label, left out: 11." in scores.to_markdown()
    assert "without a training node" in scores.to_markdown()
    assert node_classification(embedding, given, ratios=[0.5], repeats=1).n_unknown == 2


def test_all_ways_to_give_labels_agree(tmp_path):
    vectors, labels = blobs(50, classes=3)
    names = [f"n{i}" for i in range(50)]
    embedding = efge.Embedding(vectors, names)
    path = tmp_path / "labels.csv"
    path.write_text("node,label\n" + "".join(f"{name},{label}\n" for name, label in zip(names, labels, strict=True)))
    frame = pd.DataFrame({"label": labels, "node": names})
    by_name = dict(zip(names, labels.tolist(), strict=True))
    ways = [by_name, path, str(path), frame, frame.set_index("node")["label"], labels, labels.tolist()]
    ways += [csr_array(labels[:, None] == np.arange(3)), {name: {label} for name, label in by_name.items()}]
    for way in ways:
        targets = as_targets(way, embedding)
        assert targets.classes == [0, 1, 2]
        assert targets.members.argmax(axis=1).tolist() == labels.tolist()
        assert not targets.is_multilabel


def test_missing_values_of_data_frames_are_no_labels():
    embedding = efge.Embedding([[1.0], [2.0], [3.0]], ["a", "b", "c"])
    frame = pd.DataFrame({"node": ["a", "b", "c"], "label": ["x", None, np.nan]})
    assert as_targets(frame, embedding).rows.tolist() == [0]


def test_a_file_of_labels_may_have_comments_a_header_and_several_labels_a_node(tmp_path):
    path = tmp_path / "labels.txt"
    path.write_text("# from somewhere\n\nnode class\n1 7\n2 8\n1 8\n")
    assert read_labels(path) == {1: (7, 8), 2: (8,)}
    path.write_bytes(b"\xef\xbb\xbfann;a b\nbob;c\n")
    assert read_labels(path) == {"ann": ("a b",), "bob": ("c",)}
    path.write_text("")
    assert read_labels(path) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a 1\nb 2 3\n", "line 2: a line has a node and its class; got 3 fields"),
        (b"a\n", "line 1: a line has a node and its class; got 1 fields"),
        (b"a,\n", "line 1: a line has a node and its class"),
        (b"a 1\nb \xff\n", "line 2: text is in UTF-8"),
    ],
)
def test_bad_files_of_labels_are_refused_with_the_line(tmp_path, text, message):
    path = tmp_path / "labels.txt"
    path.write_bytes(text)
    with pytest.raises(efge.EvaluationError, match=message):
        read_labels(path)


def test_a_file_that_is_not_there_is_an_error_of_ours(tmp_path):
    with pytest.raises(efge.EvaluationError, match="no such file"):
        read_labels(tmp_path / "none.txt")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ratios": [50]}, "between 0 and 1, such as 0.5; got 50"),
        ({"ratios": []}, "between 0 and 1"),
        ({"repeats": 0}, "repeats is a whole number from 1 on"),
        ({"strength": 0}, "strength is positive"),
        ({"threads": 0}, "threads is a whole number"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        node_classification([[0.0], [1.0]], [0, 1], **options)


def test_labels_that_do_not_fit_the_vectors_are_refused():
    embedding = efge.Embedding([[0.0], [1.0]], ["1", "2"])
    with pytest.raises(efge.EvaluationError, match="labels are given to 1 and others, vectors to '1' and others"):
        node_classification(embedding, {1: "a", 2: "b"})
    with pytest.raises(efge.EvaluationError, match="for each of 2 vectors; got 3"):
        node_classification(embedding, ["a", "b", "c"])
    with pytest.raises(efge.EvaluationError, match="nothing to tell apart: all labelled nodes are of class 'a'"):
        node_classification(embedding, {"1": "a", "2": "a"})
    with pytest.raises(efge.EvaluationError, match="fit the estimator first"):
        node_classification(efge.EFGE(), {"1": "a"})


def test_a_fitted_estimator_is_as_good_as_its_embedding():
    model = efge.HOPE(dim=4, seed=0).fit([(i, (i + 1) % 20) for i in range(20)])
    labels = {i: i // 10 for i in range(20)}
    raw = [node_classification(x, labels, ratios=[0.5], repeats=3).raw for x in (model, model.embedding_)]
    assert raw[0][(0.5,)]["micro_f1"].tolist() == raw[1][(0.5,)]["micro_f1"].tolist()


def test_confidence_intervals_hold_the_true_mean_as_often_as_they_say():
    random = np.random.default_rng(0)
    held = [low <= 0.5 <= high for _, _, low, high, _ in (summarize(random.normal(0.5, 0.1, 8)) for _ in range(2000))]
    assert 0.93 < np.mean(held) < 0.97


def test_results_are_tables_and_figures(tmp_path):
    vectors, labels = blobs()
    scores = node_classification(vectors, labels, ratios=[0.1, 0.5], repeats=3)
    frame = scores.to_pandas()
    assert list(frame.columns) == ["ratio", "measure", "mean", "sd", "low", "high", "repeats"]
    assert len(frame) == 6
    assert (frame["low"] <= frame["mean"]).all()
    assert scores.to_markdown().startswith("| ratio | micro_f1 | macro_f1 | accuracy |")
    path = tmp_path / "scores.png"
    scores.plot().figure.savefig(path)
    assert path.stat().st_size > 10_000
    assert repr(scores) == scores.to_markdown()


def test_one_repeat_has_no_deviation():
    scores = Scores(("ratio",), {(0.5,): {"accuracy": np.array([0.5])}})
    assert np.isnan(scores.summary(0.5).sd)
    assert "±" not in scores.to_markdown()
    with pytest.raises(KeyError, match=r"no case \(0.7,\)"):
        scores.summary(0.7)
