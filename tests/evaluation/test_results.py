"""Results: summaries of repeats, tables and figures."""

from __future__ import annotations

import numpy as np
import pytest

from efge.evaluation.classification import node_classification
from efge.evaluation.results import Scores, summarize
from helpers import blobs


def test_confidence_intervals_cover_the_true_mean_in_95_percent_of_cases():
    random = np.random.default_rng(0)
    covered = [
        low <= 0.5 <= high for _, _, low, high, _ in (summarize(random.normal(0.5, 0.1, 8)) for _ in range(2000))
    ]
    assert 0.93 < np.mean(covered) < 0.97


def test_scores_become_tables_and_figures():
    vectors, labels = blobs()
    scores = node_classification(vectors, labels, ratios=[0.1, 0.5], repeats=3)
    frame = scores.to_pandas()
    assert list(frame.columns) == ["ratio", "metric", "mean", "sd", "low", "high", "repeats"]
    assert len(frame) == 6
    for row in frame.itertuples():
        raw = scores.raw[(row.ratio,)][row.metric]
        assert row.mean == pytest.approx(raw.mean())
        assert row.sd == pytest.approx(raw.std(ddof=1))
        # Student's t at 97.5 % with two degrees of freedom.
        assert row.high - row.mean == row.mean - row.low == pytest.approx(4.302653 * row.sd / 3**0.5, rel=1e-6)
    assert scores.to_markdown().startswith("| ratio | micro_f1 | macro_f1 | accuracy |")
    assert repr(scores) == scores.to_markdown()
    axes = scores.plot()
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("ratio", "score")
    curves = {line.get_label(): line for line in axes.get_lines()}
    assert list(curves) == scores.metrics
    assert curves["macro_f1"].get_xdata().tolist() == [0.1, 0.5]
    means = [scores.summary(ratio, metric="macro_f1").mean for ratio in (0.1, 0.5)]
    assert curves["macro_f1"].get_ydata().tolist() == means


def test_one_repeat_has_no_deviation():
    scores = Scores(("ratio",), {(0.5,): {"accuracy": np.array([0.5])}})
    assert np.isnan(scores.summary(0.5).sd)
    assert "±" not in scores.to_markdown()
    with pytest.raises(KeyError, match=r"no case \(0.7,\)"):
        scores.summary(0.7)
    with pytest.raises(KeyError, match="no metric 'auc'; known: accuracy"):
        scores.summary(0.5, metric="auc")
