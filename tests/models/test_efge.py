"""The estimator: scikit-learn's conventions, with a graph for its input."""

from __future__ import annotations

import pickle
import warnings

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import efge
from helpers import labelled_network, with_scikit_learn_checks


@pytest.fixture(scope="module")
def club():
    return nx.karate_club_graph()


@pytest.fixture(scope="module")
def sides(club):
    return np.array([club.nodes[node]["club"] == "Officer" for node in club])


def club_without_weights(club):
    return nx.to_scipy_sparse_array(club, weight=None, format="csr")


def interrupt(progress):
    raise KeyboardInterrupt


@with_scikit_learn_checks(efge.EFGE(dim=4, walks_per_node=2, seed=0))
def test_scikit_learns_estimator_checks_pass(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def test_parameters_are_stored_untouched_and_cloned(club):
    family = efge.Normal(0.5)
    model = efge.EFGE(family, 16, walk=efge.UniformWalk(), window=3, seed=1)
    assert model.family is family
    twin = clone(model.fit(club))
    assert twin.get_params() == model.get_params()
    assert not hasattr(twin, "embedding_")
    np.testing.assert_array_equal(twin.fit(club).embedding_.vectors, model.embedding_.vectors)
    assert twin.set_params(dim=4).fit(club).embedding_.dim == 4


def test_rows_are_in_the_order_of_the_graph_under_its_names(club):
    named = nx.relabel_nodes(club, {node: f"person {node}" for node in club})
    model = efge.EFGE(dim=8, seed=1)
    vectors = model.fit_transform(named)
    assert model.embedding_.names.tolist() == list(named)
    np.testing.assert_array_equal(vectors, model.embedding_.vectors)
    np.testing.assert_array_equal(vectors[5], model.embedding_["person 5"])
    np.testing.assert_array_equal(model.transform(named), vectors)
    np.testing.assert_array_equal(vectors, efge.EFGE(dim=8, seed=1).fit_transform(club))
    assert vectors.dtype == np.float32
    assert model.context_embedding_.names.tolist() == list(named)
    assert not np.allclose(model.context_embedding_.vectors, vectors)


def test_nodes_of_the_same_club_are_nearest_to_each_other(club, sides):
    for family in ("bernoulli", "poisson", "normal"):
        embedding = efge.EFGE(family, dim=32, seed=1, epochs=3).fit(club).embedding_
        rows, _ = embedding.nearest(k=3)
        assert np.mean(sides[rows] == sides[:, None]) > 0.8, family


def test_a_pipeline_classifies_nodes(club, sides):
    pipeline = make_pipeline(efge.EFGE(dim=16, seed=1), LogisticRegression())
    assert pipeline.fit(club, sides).score(club, sides) > 0.9
    frame = efge.EFGE(dim=2, seed=1).set_output(transform="pandas").fit(club).transform(club)
    assert list(frame.columns) == ["efge0", "efge1"]


def test_a_grid_search_chooses_the_highest_held_out_likelihood(club):
    """Each split fits the full graph; the held-out pairs are known to the scorer alone."""
    every_node = np.arange(len(club))
    search = GridSearchCV(
        efge.EFGE(seed=1, walks_per_node=10),
        {"dim": [2, 16], "family": ["bernoulli", efge.Normal(0.5)]},
        scoring=lambda model, graph, labels=None: model.history_["log_likelihood"][-1],
        cv=[(every_node, every_node)],
    )
    search.fit(club_without_weights(club))
    fits = [
        efge.EFGE(seed=1, walks_per_node=10).set_params(**params).fit(club_without_weights(club))
        for params in search.cv_results_["params"]
    ]
    expected = [model.history_["log_likelihood"][-1] for model in fits]
    assert search.cv_results_["mean_test_score"].tolist() == expected
    assert len(set(expected)) == 4
    assert search.best_params_ == search.cv_results_["params"][int(np.argmax(expected))]


def test_ready_walks_are_trained_on_as_they_are(club):
    listed = [list(walk) for walk in efge.Walks(club, walks_per_node=20, seed=3)]
    ready = efge.Walks(club, efge.CorpusWalk(listed), seed=3)
    model = efge.EFGE.paper(dim=8).fit(ready)
    assert model.embedding_.names.tolist() == list(club)
    assert model.history_["pairs"][-1] == (len(listed) - len(listed) // 100) * 90
    with pytest.raises(efge.GraphError, match="no node named 'zoe'"):
        efge.EFGE(dim=8).fit(efge.Walks(club, efge.CorpusWalk([[0, "zoe"]])))


def test_walks_follow_weights_by_default():
    graph = [("a", "b", 1000.0), ("a", "c", 0.001), ("b", "c", 0.001), ("c", "d", 1.0)]
    fitted = {walk: efge.EFGE(dim=8, walk=walk, seed=1).fit(graph).embedding_ for walk in ("node2vec", "uniform")}
    weighted = efge.EFGE(dim=8, walk="weighted", seed=1).fit(graph).embedding_
    assert fitted["node2vec"] == weighted
    assert fitted["uniform"] != weighted


def test_fitted_models_pickle(club):
    model = efge.EFGE(efge.Poisson(), dim=8, seed=1).fit(club)
    twin = pickle.loads(pickle.dumps(model))
    assert twin.embedding_ == model.embedding_
    assert twin.get_params() == model.get_params()


def test_a_failed_fit_stores_nothing(club):
    model = efge.EFGE(dim=8, seed=1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(club, progress=interrupt)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_training_errors_can_be_pickled():
    error = pickle.loads(pickle.dumps(efge.TrainingError("too large", 3)))
    assert (str(error), error.trained) == ("too large", 3)


def test_progress_reaches_its_total(club):
    reports = []
    efge.EFGE.paper(dim=8, seed=1).fit(club, progress=reports.append)
    pairs = [step.pairs for step in reports]
    assert pairs == sorted(pairs)
    assert pairs[0] == 0
    assert pairs[-1] == reports[-1].total == 34 * 80 * 90
    assert np.isfinite(reports[-1].log_likelihood)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dim": 0}, "dim must be a positive integer; got 0"),
        ({"dim": 2.5}, "dim must be a positive integer; got 2.5"),
        ({"dim": "many"}, "dim must be a positive integer; got 'many'"),
        ({"window": 0}, "window must be a positive integer"),
        ({"negatives": 0}, "negatives must be a positive integer"),
        ({"epochs": 0}, "epochs must be a positive integer"),
        ({"patience": 0}, "patience must be a positive integer"),
        ({"walks_per_node": 0}, "walks_per_node must be a positive integer"),
        ({"walk_length": 0}, "walk_length must be a positive integer"),
        ({"threads": 0}, "threads must be a positive integer"),
        ({"learning_rate": 0.0}, "learning_rate are positive"),
        ({"learning_rate": 0.00001}, "the first one not larger; got 0.0001 and 1e-05"),
        ({"learning_rate": float("nan")}, "learning_rate are positive"),
        ({"noise_power": -1}, "noise_power is a number from 0 on; got -1"),
        ({"trainer": "slow"}, "no trainer 'slow'; known: fast, reference"),
        ({"family": "gauss"}, "no family 'gauss'; known: "),
        ({"walk": "random"}, "no walk strategy 'random'; known: "),
        ({"walk": "uniform", "p": 2.0}, "p and q are node2vec's; got p=2.0, q=1.0 with walk='uniform'"),
        ({"p": -1.0}, "node2vec's p is positive"),
    ],
    ids=repr,
)
def test_invalid_parameters_are_refused_when_fitting(club, changes, message):
    model = efge.EFGE(**changes)
    with pytest.raises(ValueError, match=message):
        model.fit(club)


def test_scores_on_cora_are_the_published_ones(networks):
    graph, labels = labelled_network(networks / "cora")
    vectors = efge.EFGE(seed=0).fit_transform(graph)
    order = np.random.default_rng(0).permutation(len(labels))
    half = len(order) // 2
    classifier = LogisticRegression(max_iter=1000).fit(vectors[order[:half]], labels[order[:half]])
    assert classifier.score(vectors[order[half:]], labels[order[half:]]) > 0.80
