"""Scores of pairs and recommendations: those of a plain formula, higher for edges, with a known order."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score

import efge
from efge.models import scoring
from efge.models.scoring import _largest

GRAPH = nx.planted_partition_graph(3, 20, 0.5, 0.02, seed=1)
EDGES = list(GRAPH.edges)
NON_EDGES = list(nx.non_edges(GRAPH))


class Binomial(efge.Family):
    """A family of a user's own."""

    domain = "binary"

    def __init__(self, trials=2):
        self.trials = trials

    def log_partition(self, eta):
        return self.trials * np.logaddexp(0, eta)

    def mean(self, eta):
        return self.trials / (1 + np.exp(-eta))


MODELS = {
    "normal": efge.EFGE.paper("normal", 16, seed=1, threads=1),
    "poisson": efge.EFGE.paper("poisson", 16, seed=1, threads=1),
    "bernoulli": efge.EFGE.paper("bernoulli", 16, seed=1, threads=1),
    "negative-binomial": efge.EFGE.paper(efge.NegativeBinomial(2.0), 16, seed=1, threads=1),
    "own": efge.EFGE.paper(Binomial(3), 16, seed=1, threads=1),
    "node2vec": efge.Node2Vec(16, seed=1, threads=1),
    "line": efge.LINE(16, seed=1, threads=1),
    "line, first": efge.LINE(16, order="first", seed=1, threads=1),
    "line, second": efge.LINE(16, order="second", seed=1, threads=1),
}
each_model = pytest.mark.parametrize("name", MODELS)


@pytest.fixture(scope="module")
def fitted():
    """The models, each fitted when it is first used."""
    cache = {}
    return lambda name: cache.setdefault(name, MODELS[name].fit(GRAPH))


def directed_path():
    model = efge.EFGE.paper(dim=4, walks_per_node=5, seed=1, threads=1, follow_directions=True)
    return model.fit(nx.cycle_graph(5, create_using=nx.DiGraph))


def auc(edges, non_edges):
    return roc_auc_score(np.repeat([1, 0], [len(edges), len(non_edges)]), np.concatenate([edges, non_edges]))


def plain_score(model, u, v):
    """The formula, for one direction of a pair of rows."""
    family = model._pair_family()
    s = float(model.embedding_.vectors[u].astype(float) @ model.context_embedding_.vectors[v].astype(float))
    s = min(max(s, family.bounds[0]), family.bounds[1])
    return float(family.log_prob(1.0, s) - family.log_prob(0.0, s))


@each_model
def test_scores_are_those_of_the_plain_formula(fitted, name):
    model = fitted(name)
    pairs = EDGES[:20] + NON_EDGES[:20]
    expected = [(plain_score(model, u, v) + plain_score(model, v, u)) / 2 for u, v in pairs]
    np.testing.assert_allclose(model.score_pairs(pairs), expected, rtol=1e-9)


@each_model
def test_edges_score_higher_than_other_pairs(fitted, name):
    model = fitted(name)
    assert auc(model.score_pairs(EDGES), model.score_pairs(NON_EDGES)) > 0.85


def test_inner_products_of_the_normal_family_order_pairs_the_other_way(fitted):
    model = fitted("normal")
    products = model.embedding_.vectors @ model.context_embedding_.vectors.T
    assert auc(*(np.array([products[pair] for pair in pairs]) for pairs in (EDGES, NON_EDGES))) < 0.15


@each_model
def test_scores_of_an_undirected_graph_are_symmetric_to_the_bit(fitted, name):
    scores = fitted(name).score_pairs(EDGES)
    assert scores.tolist() == fitted(name).score_pairs([(v, u) for u, v in EDGES]).tolist()


def test_scores_of_a_directed_graph_belong_to_one_direction():
    model = directed_path()
    assert model.directed_
    there, back = model.score_pairs([(1, 2), (2, 1)])
    assert there == pytest.approx(plain_score(model, 1, 2), rel=1e-9)
    assert back == pytest.approx(plain_score(model, 2, 1), rel=1e-9)
    assert there != back


def test_pairs_come_in_any_form_and_chunks_of_any_size(fitted, monkeypatch):
    model = fitted("normal")
    expected = model.score_pairs(EDGES).tolist()
    assert model.score_pairs(np.array(EDGES)).tolist() == expected
    assert model.score_pairs(list(pair) for pair in EDGES).tolist() == expected
    assert model.score_pairs([]).tolist() == []
    monkeypatch.setattr(scoring, "_CHUNK_ENTRIES", 50)
    assert model.score_pairs(EDGES).tolist() == expected


def test_pairs_may_be_the_rows_of_a_data_frame(fitted):
    pairs = np.array(EDGES[:5])
    expected = fitted("normal").score_pairs(pairs).tolist()
    for frame in (pd.DataFrame(pairs, columns=["u", "v"]), pl.DataFrame(pairs, schema=["u", "v"])):
        assert fitted("normal").score_pairs(frame).tolist() == expected
    with pytest.raises(ValueError, match=r"pairs are an array of shape \(k, 2\); got shape \(5, 3\)"):
        fitted("normal").score_pairs(pd.DataFrame(pairs).assign(w=1))


def test_unknown_nodes_and_malformed_pairs_are_refused(fitted):
    with pytest.raises(KeyError, match="no node named 99 in Embedding"):
        fitted("normal").score_pairs([(0, 1), (0, 99)])
    with pytest.raises(efge.GraphError, match="pair 1: a pair has two node names; got 3"):
        fitted("normal").score_pairs([(0, 1), (0, 1, 2)])
    with pytest.raises(efge.GraphError, match=r"pairs are an array of shape \(k, 2\); got shape \(2, 3\)"):
        fitted("normal").score_pairs(np.zeros((2, 3), int))
    for use in (lambda model: model.score_pairs([(0, 1)]), lambda model: model.recommend(0)):
        with pytest.raises(NotFittedError, match="this EFGE is not fitted yet"):
            use(efge.EFGE())


@pytest.mark.parametrize("model", [efge.DeepWalk(), efge.HOPE(), efge.NetMF(), efge.BigClam()], ids=repr)
def test_models_without_probabilities_of_pairs_say_so(model):
    for name in ("score_pairs", "recommend"):
        assert not hasattr(model, name)
        with pytest.raises(
            AttributeError, match=rf"{type(model).__name__} gives pairs of nodes no probability to scor"
        ):
            getattr(model, name)
    with pytest.raises(AttributeError, match=f"'{type(model).__name__}' object has no attribute 'score_pair'"):
        _ = model.score_pair


def plain_log_probability(model, u, v):
    """The log of the probability of row v as a context of row u, by both directions of the pair."""
    family, settings = model._pair_family(), model._settings()
    centers, contexts = model.embedding_.vectors.astype(float), model.context_embedding_.vectors.astype(float)
    log_ratios = []
    for s in (centers[u] @ contexts[v], contexts[u] @ centers[v]):
        mean = float(family.mean(family.link(min(max(float(s), family.bounds[0]), family.bounds[1]))))
        log_ratios.append(np.log(mean) - np.log(max(1 - mean, 1e-3)))
    noise = model.visits_**settings.noise_power / (model.visits_**settings.noise_power).sum()
    return sum(log_ratios) / 2 + np.log(settings.negatives * noise[v])


@each_model
def test_recommendations_are_the_likeliest_contexts(fitted, name):
    model = fitted(name)
    others = [node for node in GRAPH if node != 7]
    if name.startswith("line"):
        scores = dict(zip(others, model.score_pairs([(7, other) for other in others]).tolist(), strict=True))
    else:
        scores = {other: plain_log_probability(model, 7, other) for other in others}
    best = sorted(others, key=lambda other: -scores[other])
    assert [other for other, _ in model.recommend(7, k=1000)] == best
    found = model.recommend(7, k=5)
    assert [other for other, _ in found] == best[:5]
    np.testing.assert_allclose([score for _, score in found], [scores[other] for other in best[:5]], rtol=1e-9)


def test_probabilities_of_contexts_sum_to_one():
    """What is learned about pairs and how often negatives are drawn are two parts of one probability."""
    model = efge.EFGE.paper("bernoulli", 32, walks_per_node=100, seed=1, threads=1).fit(GRAPH)
    sums = [sum(np.exp(score) for _, score in model.recommend(node, k=1000)) for node in GRAPH]
    # Walks return, so that a node is a context of itself, too, which is left out.
    assert 0.7 < np.mean(sums) < 1.1


def test_of_candidates_that_fit_as_well_the_popular_one_comes_first(fitted):
    model = efge.EFGE.paper("bernoulli", dim=3)
    vectors = np.tile(np.float32([0.1, 0.2, 0.3]), (4, 1))
    model.embedding_ = model.context_embedding_ = efge.Embedding(vectors, ["user", "rare", "usual", "never"])
    model.directed_, model.visits_ = False, np.array([9, 1, 50, 0])
    assert len(set(model.score_pairs([("user", "rare"), ("user", "usual")]).tolist())) == 1
    found = model.recommend("user")
    assert [name for name, _ in found] == ["usual", "rare", "never"]
    assert found[0][1] - found[1][1] == pytest.approx(0.75 * np.log(50))


def test_recommendations_leave_out_the_node_its_neighbors_and_excluded_names(fitted):
    model = fitted("normal")
    everyone = set(GRAPH)
    recommended = [name for name, _ in model.recommend(7, k=100, exclude=GRAPH)]
    assert set(recommended) == everyone - {7} - set(GRAPH[7])
    for exclude in ([1, 2], (1, 2), {1, 2}, np.array([1, 2])):
        assert {name for name, _ in model.recommend(7, k=100, exclude=exclude)} == everyone - {7, 1, 2}
    assert {name for name, _ in model.recommend(7, k=100, among=[3, 7, 5, 3], exclude=[5])} == {3}
    assert model.recommend(7, among=[7]) == []


def test_neighbors_are_left_out_by_any_kind_of_graph(fitted, tmp_path):
    model = fitted("normal")
    expected = model.recommend(7, exclude=efge.as_graph(GRAPH))
    nx.write_edgelist(GRAPH, tmp_path / "graph.txt", data=False)
    for graph in (GRAPH, tmp_path / "graph.txt", nx.to_scipy_sparse_array(GRAPH), np.array(EDGES)):
        assert model.recommend(7, exclude=graph) == expected
    larger = nx.compose(GRAPH, nx.Graph([(7, "new")]))
    assert model.recommend(7, exclude=larger) == expected


def test_out_neighbors_are_left_out_of_a_directed_graph():
    model = directed_path()
    graph = nx.path_graph(5, create_using=nx.DiGraph)
    assert {name for name, _ in model.recommend(2, exclude=graph)} == {0, 1, 4}


def test_several_nodes_have_one_list_each(fitted):
    model = fitted("bernoulli")
    several = model.recommend([7, 3], k=4, exclude=GRAPH)
    assert several == [model.recommend(7, k=4, exclude=GRAPH), model.recommend(3, k=4, exclude=GRAPH)]
    assert model.recommend([], k=4) == []


def test_of_equal_scores_the_earlier_row_comes_first(fitted):
    model = efge.EFGE.paper("bernoulli", dim=3)
    vectors = np.tile(np.float32([0.1, 0.2, 0.3]), (9, 1))
    model.embedding_ = model.context_embedding_ = efge.Embedding(vectors, list("ihgfedcba"))
    model.directed_ = False
    assert [name for name, _ in model.recommend("f", k=4)] == ["i", "h", "g", "e"]
    assert [name for name, _ in model.recommend("f", k=2, among=["a", "b", "c"])] == ["c", "b"]


@pytest.mark.parametrize("k", [1, 3, 7, 20, 50])
def test_the_largest_scores_are_those_of_a_stable_sort(k):
    scores = np.random.default_rng(k).integers(5, size=20).astype(float)
    assert _largest(scores, k).tolist() == np.argsort(-scores, kind="stable")[:k].tolist()


def test_wrong_arguments_of_recommend_are_refused(fitted):
    model = fitted("normal")
    with pytest.raises(ValueError, match="k must be a positive integer; got 0"):
        model.recommend(7, k=0)
    for options in ({"node": 99}, {"node": 7, "among": [99]}, {"node": 7, "exclude": [99]}):
        with pytest.raises(KeyError, match="no node named 99"):
            model.recommend(**options)
    with pytest.raises(KeyError, match=r"no node named \(0, 1\)"):
        model.recommend(7, exclude=[(0, 1)])
    with pytest.raises(efge.GraphError, match="no node named 7 in Graph"):
        model.recommend(7, exclude=efge.as_graph([(0, 1)]))


def test_visits_are_those_of_the_walks():
    walks = efge.Walks(GRAPH, walks_per_node=3, walk_length=5, seed=2, threads=1)
    model = efge.EFGE.paper(dim=4, window=4).fit(walks)
    expected = np.zeros(len(GRAPH), int)
    for walk in walks:
        np.add.at(expected, walk, 1)
    assert model.visits_.tolist() == expected.tolist()
    partitioned = efge.EFGE.paper(
        dim=4, walks_per_node=3, walk_length=5, window=4, partitions=2, seed=2, threads=1
    ).fit(GRAPH)
    assert partitioned.visits_.sum() == 3 * 5 * len(GRAPH)
