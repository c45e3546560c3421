"""Nodes as rows of scikit-learn's data: pipelines, cross-validation and searches."""

from __future__ import annotations

import copy

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline

import efge
from efge.models import features


@pytest.fixture
def fits(monkeypatch):
    """The estimators that were fitted, with an empty cache."""
    done = []

    def fit_copy(graph, estimator):
        done.append(repr(estimator))
        return clone(estimator).fit(graph).embedding_

    monkeypatch.setattr(features, "_fit_copy", fit_copy)
    monkeypatch.setattr(features, "_CACHE", features._EmbeddingCache())
    return done


CLUB = efge.as_graph(nx.karate_club_graph())
SIDES = nx.get_node_attributes(nx.karate_club_graph(), "club")
NODES, CLASSES = list(SIDES), list(SIDES.values())
QUICK = efge.EFGE(dim=8, walks_per_node=20, seed=1, threads=1)


def test_cross_validation_fits_the_embedding_once_and_the_classifier_for_each_fold(fits):
    model = make_pipeline(efge.NodeFeatures(CLUB, QUICK), LogisticRegression())
    scores = cross_validate(model, NODES, CLASSES, cv=4, error_score="raise")["test_score"]
    assert scores.mean() > 0.9
    assert fits == [repr(QUICK)]


def test_a_grid_search_fits_each_embedding_once(fits):
    model = make_pipeline(efge.NodeFeatures(CLUB, QUICK), LogisticRegression())
    grid = {
        "nodefeatures__estimator__window": [1, 5],
        "nodefeatures__estimator__family": ["poisson", efge.Normal(0.5)],
        "logisticregression__C": [0.1, 1.0],
    }
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(NODES, CLASSES)
    assert len(fits) == len(set(fits)) == 4
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.score(NODES, CLASSES) > 0.9
    chosen = search.best_estimator_[0].estimator
    assert chosen.window == search.best_params_["nodefeatures__estimator__window"]


def test_the_score_of_a_fold_is_that_of_a_classifier_of_the_vectors():
    model = make_pipeline(efge.NodeFeatures(CLUB, QUICK), LogisticRegression())
    halves = [(np.arange(0, 34, 2), np.arange(1, 34, 2))]
    (score,) = cross_validate(model, np.array(NODES), np.array(CLASSES), cv=halves)["test_score"]
    vectors = clone(QUICK).fit(CLUB).embedding_.vectors
    by_hand = LogisticRegression().fit(vectors[::2], CLASSES[::2])
    assert score == by_hand.score(vectors[1::2], CLASSES[1::2])


@pytest.mark.parametrize("changes", [{"seed": 2}, {"family": efge.Normal(2.0)}, {"propagate": None}])
def test_other_parameters_are_fitted_again_and_another_number_of_threads_is_not(fits, changes):
    first = efge.NodeFeatures(CLUB, QUICK).fit().embedding_
    assert efge.NodeFeatures(CLUB, clone(QUICK).set_params(threads=2)).fit().embedding_ is first
    assert efge.NodeFeatures(CLUB, clone(QUICK).set_params(**changes)).fit().embedding_ != first
    assert len(fits) == 2


def test_another_graph_and_a_corpus_of_walks_are_fitted_again(fits):
    corpus = clone(QUICK).set_params(walk=efge.CorpusWalk([[0, 1, 2]] * 20))
    for graph, estimator in [
        (CLUB, QUICK),
        (CLUB.largest_component().subgraph(range(9)), QUICK),
        *[(CLUB, corpus)] * 2,
    ]:
        efge.NodeFeatures(graph, estimator).fit()
    assert len(fits) == 4


def test_the_oldest_vectors_are_forgotten(fits, monkeypatch):
    monkeypatch.setattr(features, "_MAX_CACHED_BYTES", 2 * 34 * 8 * 4)
    for window in (1, 2, 3, 3, 2, 1):
        efge.NodeFeatures(CLUB, clone(QUICK).set_params(window=window)).fit()
    assert [fit.partition("window=")[2][0] for fit in fits] == ["1", "2", "3", "1"]


def test_names_come_in_lists_arrays_series_and_columns():
    friends = efge.as_graph([("ann", "bob"), ("bob", "cid"), ("cid", "ann")])
    fitted = efge.NodeFeatures(friends, efge.HOPE(dim=2, seed=0)).fit()
    expected = fitted.embedding_.vectors[[2, 0]]
    frame = pd.DataFrame({"who": ["cid", "ann"], "age": [7, 8]})
    for nodes in (["cid", "ann"], np.array(["cid", "ann"]), frame["who"], frame[["who"]]):
        assert np.array_equal(fitted.transform(nodes), expected)
    columns = ColumnTransformer([("vectors", fitted, "who")], remainder="passthrough")
    assert columns.fit_transform(frame).shape == (2, 3)
    assert list(fitted.set_output(transform="pandas").transform(["bob"]).columns) == ["node0", "node1"]


def test_mistakes_are_errors_that_name_them():
    transformer = efge.NodeFeatures(CLUB, QUICK)
    with pytest.raises(NotFittedError):
        transformer.transform([0])
    with pytest.raises(KeyError, match="no node named 99"):
        transformer.fit([0, 99])
    with pytest.raises(ValueError, match="in one column; got an array of shape"):
        transformer.fit().transform(np.zeros((3, 2)))
    with pytest.raises(TypeError, match="estimator must be one of efge's"):
        efge.NodeFeatures(CLUB, LogisticRegression()).fit()


def test_copies_share_the_graph():
    assert copy.deepcopy(CLUB) is CLUB
    assert clone(efge.NodeFeatures(CLUB, QUICK)).graph is CLUB


def test_a_graph_as_the_data_of_scikit_learn_is_answered_with_what_works():
    graph = efge.as_graph([(i, (i + step) % 12) for i in range(12) for step in (1, 2)])
    classes = [i // 6 for i in range(12)]
    model = make_pipeline(efge.EFGE(dim=2, walks_per_node=1, seed=0), LogisticRegression())
    for call in (
        lambda: model.fit(graph, dict(enumerate(classes))),
        lambda: model.fit(graph, classes[:5]),
        lambda: cross_val_score(model, graph, classes),
        lambda: GridSearchCV(model, {"efge__window": [1, 2]}).fit(graph, classes),
    ):
        with pytest.raises((TypeError, ValueError), match=r"NodeFeatures\(graph, EFGE\(\)\)"):
            call()
    assert len(model.fit(graph, classes).predict(graph)) == 12
