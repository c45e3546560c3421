"""Link prediction: chance where there is nothing to learn, structure where there is, and known answers."""

from __future__ import annotations

import re
import warnings
from typing import ClassVar

import networkx as nx
import numpy as np
import pytest
from sklearn.base import BaseEstimator

import efge
from efge.evaluation.heuristics import HEURISTICS
from efge.evaluation.links import ALL_FEATURES, FEATURES, exceeds_noise, link_metrics, link_prediction, pair_scores
from efge.evaluation.splits import LinkSplit, split_links


def test_a_graph_without_structure_is_predicted_at_chance():
    # The remaining edges of a random graph say nothing about the removed ones; a model that saw those would do better.
    graph = nx.gnm_random_graph(400, 3000, seed=0)
    models = {"HOPE": efge.HOPE(dim=32), "EFGE": efge.EFGE(dim=32, walks_per_node=10)}
    options = {"features": ["hadamard", "dot", "likelihood"], "heuristics": ["katz"]}
    scores = link_prediction(graph, models, test_size=0.3, repeats=3, **options)
    assert ("EFGE", "likelihood") in scores.raw
    for case in scores.raw:
        # Degrees still say a little: nodes with many remaining edges had many.
        assert 0.45 < scores.summary(*case).mean < 0.6
    split = split_links(graph, 0.3)
    leaked = efge.HOPE(dim=32, seed=0).fit(graph).embedding_
    assert link_metrics(pair_scores(leaked, split, "dot"), len(split.test_edges))["auc"] > 0.7


def test_degrees_do_not_tell_edges_from_degree_matched_pairs():
    graph = nx.barabasi_albert_graph(400, 4, seed=0)
    options = {"test_size": 0.3, "repeats": 2, "heuristics": ["preferential-attachment"]}
    means = {
        negatives: link_prediction(graph, {}, negatives=negatives, **options)
        .summary("preferential-attachment", "-")
        .mean
        for negatives in ("uniform", "degree")
    }
    assert means["uniform"] > 0.7
    assert 0.35 < means["degree"] < 0.55


def test_two_communities_are_predicted_by_features_of_similarity():
    graph = nx.planted_partition_graph(2, 60, 0.3, 0.01, seed=1)
    scores = link_prediction(graph, efge.EFGE("normal", dim=16, walks_per_node=20, seed=1), repeats=2)
    assert [case for case in scores.raw if case[0] == "EFGE normal"] == [("EFGE normal", name) for name in ALL_FEATURES]
    assert scores.summary("EFGE normal", "cosine").mean > 0.7
    assert scores.summary("EFGE normal", "l2").mean > 0.7
    heuristics = {case[0] for case in scores.raw if case[1] == "-"}
    assert heuristics == set(HEURISTICS)
    assert scores.metrics == ["auc", "average_precision", "hits@50"]


def test_the_given_model_is_not_changed_and_repeats_differ():
    model = efge.HOPE(dim=8, seed=3)
    graph = nx.planted_partition_graph(2, 30, 0.4, 0.05, seed=1)
    scores = link_prediction(graph, model, test_size=0.3, repeats=3, features=["dot"], heuristics=[])
    assert not hasattr(model, "embedding_")
    assert model.seed == 3
    assert len(set(scores.raw["HOPE", "dot"]["auc"].tolist())) == 3
    again = link_prediction(graph, model, test_size=0.3, repeats=3, features=["dot"], heuristics=[])
    assert scores.raw["HOPE", "dot"]["auc"].tolist() == again.raw["HOPE", "dot"]["auc"].tolist()


def test_saved_splits_can_be_used_again(tmp_path):
    graph = nx.planted_partition_graph(2, 30, 0.4, 0.05, seed=1)
    split_links(graph, 0.3, seed=(0, 0)).save(tmp_path)
    options = {"test_size": 0.3, "features": ["dot"], "heuristics": ["jaccard"]}
    reused = link_prediction(graph, efge.HOPE(dim=8, seed=0), splits=[LinkSplit.load(tmp_path)], **options)
    fresh = link_prediction(graph, efge.HOPE(dim=8, seed=0), repeats=1, **options)
    assert reused.raw["HOPE", "dot"]["auc"].tolist() == fresh.raw["HOPE", "dot"]["auc"].tolist()
    once = link_prediction(
        graph, efge.HOPE(dim=8, seed=0), splits=(LinkSplit.load(path) for path in [tmp_path]), **options
    )
    assert once.raw["HOPE", "dot"]["auc"].tolist() == fresh.raw["HOPE", "dot"]["auc"].tolist()


@pytest.mark.parametrize("splits", [[], 3, [None], "all"])
def test_splits_are_a_list_of_them(splits):
    with pytest.raises(efge.EvaluationError, match=re.escape(f"what efge.split_links returns; got {splits!r}")):
        link_prediction([(0, 1), (1, 2), (2, 0)], efge.HOPE(dim=2), splits=splits)


def test_edges_of_a_directed_graph_are_predicted():
    graph = nx.planted_partition_graph(2, 60, 0.25, 0.005, seed=1, directed=True)
    model = efge.EFGE("normal", dim=16, walks_per_node=20, seed=1)
    options = {"features": ["cosine"], "heuristics": ["common-neighbors", "katz"]}
    scores = link_prediction(graph, model, test_size=0.2, repeats=3, **options)
    assert scores.summary("EFGE normal", "cosine").mean > 0.7
    assert scores.summary("common-neighbors", "-").mean > 0.7
    assert scores.summary("katz", "-").mean > 0.7


def test_the_direction_of_an_edge_is_predicted():
    """Edges lead one or two layers on, so that common neighbors are on paths in the direction of the edge only."""
    layers = [range(8 * i, 8 * i + 8) for i in range(6)]
    steps = [(u, v) for i in range(6) for step in (1, 2) if i + step < 6 for u in layers[i] for v in layers[i + step]]
    split = split_links(efge.as_graph(steps, directed=True, nodes=range(48)), 0.2, seed=0)
    two_steps = split.test_edges[split.test_edges[:, 1] // 8 - split.test_edges[:, 0] // 8 == 2]
    count = HEURISTICS["common-neighbors"]
    assert (count(split.graph, two_steps[:, 0], two_steps[:, 1]) > 0).all()
    assert not count(split.graph, two_steps[:, 1], two_steps[:, 0]).any()


def test_the_likelihood_is_that_of_a_model_of_the_remaining_graph():
    graph = nx.planted_partition_graph(2, 30, 0.4, 0.05, seed=1)
    model = efge.EFGE("bernoulli", dim=8, walks_per_node=10, seed=3, threads=1)
    scores = link_prediction(graph, [model, efge.HOPE(dim=8)], repeats=1, features=["likelihood", "dot"], heuristics=[])
    assert list(scores.raw) == [("EFGE bernoulli", "likelihood"), ("EFGE bernoulli", "dot"), ("HOPE", "dot")]
    split = split_links(graph, 0.5, seed=(0, 0))
    pairs = np.concatenate([split.test_edges, split.test_non_edges])
    expected = model.fit(split.graph).score_pairs(split.graph.names[pairs])
    auc = link_metrics(expected, len(split.test_edges))["auc"]
    assert scores.raw["EFGE bernoulli", "likelihood"]["auc"].tolist() == [auc]
    assert (
        0.6 < auc < link_metrics(model.fit(graph).score_pairs(split.graph.names[pairs]), len(split.test_edges))["auc"]
    )


def test_metrics_have_known_answers():
    # Three edges, then three others: one of nine comparisons is lost, and one is a tie.
    metrics = link_metrics(np.array([0.9, 0.8, 0.3, 0.4, 0.3, 0.1]), 3, hits=1)
    assert metrics["auc"] == pytest.approx((9 - 1 - 0.5) / 9)
    assert metrics["hits@1"] == pytest.approx(2 / 3)
    assert link_metrics(np.array([0.9, 0.8, 0.3, 0.4, 0.3, 0.1]), 3, hits=9)["hits@9"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": ["hadamar"]}, "no feature 'hadamar'; known: hadamard, average, l1, l2, cosine, dot, likelihood"),
        ({"features": "likelihood"}, "HOPE has no likelihood of pairs; add another feature, such as hadamard"),
        ({"heuristics": ["common"]}, "no heuristic 'common'; known: common-neighbors"),
        ({"repeats": 0}, "repeats must be a positive integer"),
        ({"hits": 0}, "hits must be a positive integer"),
        ({"C": 0}, "C must be a positive number; got 0"),
        ({"models": [efge.HOPE(), efge.HOPE(beta=0.1)]}, "models need different names"),
    ],
)
def test_invalid_settings_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        link_prediction(nx.karate_club_graph(), options.pop("models", efge.HOPE(dim=4)), **options)


def test_scores_become_tables_and_bars():
    scores = link_prediction(nx.karate_club_graph(), efge.HOPE(dim=4, seed=0), test_size=0.2, repeats=2)
    assert len(scores.to_pandas()) == 12 * 3
    assert scores.to_markdown().startswith("| method | features | auc | average_precision | hits@50 |")
    axes = scores.plot(metric="average_precision")
    assert axes.get_xlabel() == "average_precision"
    bars = dict(zip((text.get_text() for text in axes.get_yticklabels()), axes.patches, strict=True))
    assert len(bars) == 12
    assert bars["HOPE dot"].get_width() == scores.summary("HOPE", "dot", metric="average_precision").mean
    # Best on top.
    widths = [bar.get_width() for bar in axes.patches]
    assert widths == sorted(widths)


class Opposite(efge.HOPE):
    """Vectors of a complete bipartite graph that point away from each other across an edge."""

    def fit(self, X, y=None):
        graph = efge.as_graph(X)
        sides = np.where(np.array(graph.names) < 15, 1.0, -1.0)
        self.embedding_ = efge.Embedding(np.column_stack([sides, np.ones(len(sides))]), graph.names)
        return self


def test_a_feature_that_is_worse_than_chance_is_explained():
    # One edge within a side, so that negative pairs are not those of a bipartite graph.
    graph = efge.as_graph([*nx.complete_bipartite_graph(15, 15).edges, (0, 1)], nodes=range(30))
    models = {"opposite": Opposite(seed=0)}
    scores = link_prediction(
        graph, models, test_size=0.2, repeats=2, features=["cosine", "hadamard"], heuristics=["jaccard"]
    )
    assert scores.summary("opposite", "cosine").mean < 0.1
    below = [note for note in scores.notes if "below .5" in note]
    assert len(below) == 1
    assert below[0].startswith("opposite: the AUC of cosine is below .5: linked nodes point away from each other")
    assert below[0] in scores.to_markdown()


def test_features_of_a_pair_are_those_of_their_formulas():
    u, v = np.array([[1.0, -2.0, 0.5]], np.float32), np.array([[3.0, 1.0, 0.5]], np.float32)
    expected = {"hadamard": [3, -2, 0.25], "average": [2, -0.5, 0.5], "l1": [2, 3, 0], "l2": [4, 9, 0]}
    assert {name: combine(u, v)[0].tolist() for name, combine in FEATURES.items()} == expected


def test_an_edge_that_scores_as_the_kth_best_negative_pair_is_no_hit():
    scores = np.array([0.5, 0.9, 0.5, 0.2])
    assert link_metrics(scores, edges=2, hits=1)["hits@1"] == 0.5
    assert link_metrics(scores, edges=2, hits=2)["hits@2"] == 1.0


class SeedRecorder(BaseEstimator):
    fitted: ClassVar[list] = []

    def __init__(self, seed=None):
        self.seed = seed

    def fit(self, graph):
        self.fitted.append(self.seed)
        self.embedding_ = efge.Embedding(np.eye(graph.n_nodes), graph.names)
        return self


def test_each_repeat_fits_a_model_with_a_seed_of_its_own(monkeypatch):
    monkeypatch.setattr(SeedRecorder, "fitted", [])
    models = {"without": SeedRecorder(), "with": SeedRecorder(seed=100)}
    link_prediction(nx.karate_club_graph(), models, repeats=3, features=["dot"], heuristics=[], seed=7)
    assert SeedRecorder.fitted == [7, 107, 8, 108, 9, 109]


def test_links_of_a_random_graph_are_noted_once_and_not_warned_about():
    random = nx.gnm_random_graph(300, 1500, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = efge.link_prediction(random, efge.HOPE(dim=8, seed=0), repeats=2, seed=0)
    assert sum("No method tells removed edges" in note for note in scores.notes) == 1
    grid = efge.link_prediction(nx.grid_2d_graph(15, 15), efge.HOPE(dim=8, seed=0), test_size=0.2, seed=0)
    assert not any("No method" in note for note in grid.notes)


@pytest.mark.parametrize("repeats", [1, 3])
def test_a_heuristic_that_is_better_than_every_feature_is_noted(repeats):
    """Links of a preferential-attachment graph go to popular nodes, and are random but for that."""
    graph = nx.barabasi_albert_graph(800, 4, seed=0)
    options = {"features": ["cosine", "dot"], "test_size": 0.3, "repeats": repeats}
    scores = link_prediction(graph, efge.EFGE(dim=16, window=2, walks_per_node=5), **options)
    assert scores.summary("preferential-attachment", "-").mean > 0.65
    (note,) = [note for note in scores.notes if "better than every feature" in note]
    best = max(scores.summary(name, "-").mean for name in HEURISTICS)
    low, high = sorted(scores.summary("EFGE poisson", feature).mean for feature in ("cosine", "dot"))
    assert f"({best:.3f}) is better than every feature of the vectors ({low:.3f} to {high:.3f})" in note


def test_vectors_that_are_better_or_as_good_get_no_such_note():
    grid = link_prediction(nx.grid_2d_graph(15, 15), efge.ProNE(dim=16, seed=0), test_size=0.2, repeats=2)
    assert max(grid.summary("ProNE", feature).mean for feature in FEATURES) > 0.8
    small = link_prediction(nx.karate_club_graph(), efge.HOPE(dim=8, seed=0), test_size=0.2, repeats=1)
    alone = link_prediction(nx.karate_club_graph(), {}, repeats=1)
    for scores in (grid, small, alone):
        assert not any("better than every feature" in note for note in scores.notes)


def test_noise_is_two_standard_errors_of_a_simulated_difference():
    """Two independent AUCs of the same truth differ by more in at most a few of a hundred experiments."""
    random = np.random.default_rng(0)

    def auc():
        return link_metrics(np.concatenate([random.normal(1.0, size=60), random.normal(0.0, size=60)]), 60)["auc"]

    exceeded = sum(exceeds_noise(*sorted((auc(), auc()), reverse=True), 60) for _ in range(300))
    assert exceeded < 0.08 * 300
    assert exceeds_noise(0.9, 0.6, 60)


def test_of_one_pair_hardly_anything_exceeds_noise():
    for pairs in (0, 1):
        assert not exceeds_noise(0.9, 0.1, pairs)
    assert exceeds_noise(0.9, 0.1, 2)


@pytest.mark.parametrize("wrong", [efge.Embedding(np.eye(3)), efge.HOPE, "hope"])
def test_models_with_names_of_their_own_are_estimators_too(wrong):
    with pytest.raises(efge.EvaluationError, match="link prediction fits models to a part of the edges"):
        link_prediction([(0, 1), (1, 2), (2, 0)], {"mine": wrong})


def test_a_note_says_that_few_hidden_edges_tell_little():
    notes = [efge.link_prediction(nx.grid_2d_graph(2, n), efge.HOPE(dim=2), repeats=1).notes for n in (4, 20)]
    few = [[note for note in each if "tell much" in note] for each in notes]
    assert few == [["A split hides too few edges, 3, for scores to tell much."], []]
