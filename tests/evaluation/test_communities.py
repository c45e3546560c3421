"""Communities from memberships and by k-means, and scores equal to those of scikit-learn and NetworkX."""

from __future__ import annotations

import os
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

import efge
from efge.evaluation import clustering
from efge.evaluation.communities import Communities, communities
from efge.models.affiliation import membership_threshold
from efge.models.bigclam import BigClam
from helpers import planted_communities


@pytest.fixture(scope="module")
def clusters():
    """Vectors in four clusters of 40, 30, 20 and 10, and the cluster of each."""
    random = np.random.default_rng(0)
    labels = np.repeat(np.arange(4), [40, 30, 20, 10])
    vectors = 6 * np.eye(4)[labels] + random.normal(size=(100, 4))
    return efge.Embedding(vectors, [f"n{i}" for i in range(100)]), labels


def from_labels(labels):
    return Communities([np.flatnonzero(labels == label).tolist() for label in np.unique(labels)], range(len(labels)))


def test_k_means_finds_clusters_and_their_number_largest_first(clusters):
    embedding, labels = clusters
    for n_communities in (4, None):
        found = communities(embedding, n_communities=n_communities)
        assert (len(found), found.disjoint) == (4, True)
        assert found.nmi(dict(zip(embedding.names.tolist(), labels.tolist(), strict=True))) == pytest.approx(1)
        assert [len(group) for group in found] == [40, 30, 20, 10]
        assert found.labels.tolist() == labels.tolist()


def test_the_number_of_communities_is_chosen_on_a_sample_of_many_nodes():
    random = np.random.default_rng(0)
    labels = random.integers(5, size=6000)
    found = communities(efge.Embedding(8 * np.eye(5)[labels] + random.normal(size=(6000, 5))))
    assert found.ari(dict(enumerate(labels.tolist()))) > 0.99


def test_k_means_uses_one_thread_even_when_it_loads_its_libraries_first():
    # Several threads would add sums in the order in which they finish, so that the number of cores could show.
    script = """
import numpy as np
from threadpoolctl import threadpool_info
from efge import Embedding
from efge.evaluation import clustering

k_means = clustering._k_means


def watched(*arguments):
    labels = k_means(*arguments)
    print({library["num_threads"] for library in threadpool_info()})
    return labels


clustering._k_means = watched
clustering.cluster_nodes(Embedding(np.arange(40.0).reshape(20, 2)), n_communities=2, normalize=False, seed=0)
"""
    threads = {"OMP_NUM_THREADS": "3", "OPENBLAS_NUM_THREADS": "3"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | threads, capture_output=True, text=True, check=True
    )
    assert done.stdout == "{1}\n"


def test_normalizing_makes_only_directions_count():
    random = np.random.default_rng(0)
    angles, lengths = np.repeat([0.0, 1.5], 50), random.uniform(0.1, 50, 100)
    vectors = lengths[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    truth = dict(enumerate((angles > 1).tolist()))
    assert communities(efge.Embedding(vectors), n_communities=2, normalize=True).ari(truth) == 1
    assert communities(efge.Embedding(vectors), n_communities=2).ari(truth) < 0.9


def test_the_same_seed_gives_the_same_communities(clusters):
    assert (
        communities(clusters[0], n_communities=7, seed=3).members
        == communities(clusters[0], n_communities=7, seed=3).members
    )


def test_nodes_too_few_for_a_silhouette_are_one_community():
    assert communities(efge.Embedding([[1.0], [2.0]])).members == [[0, 1]]
    assert communities(efge.Embedding(np.empty((0, 2)))).members == []


@pytest.mark.parametrize("family", ["bernoulli", "poisson"])
@pytest.mark.parametrize("seed", range(3))
def test_dolphins_fall_into_their_two_groups(networks, family, seed):
    labels = dict(np.loadtxt(networks / "dolphins" / "labels.tsv", int).tolist())
    graph = efge.read_graph(networks / "dolphins" / "edges.tsv")
    found = communities(efge.EFGE(family, seed=seed).fit(graph), n_communities=2)
    truth = np.array([labels[int(name)] for name in graph.names])
    wrong = int((found.labels != truth).sum())
    assert min(wrong, 62 - wrong) <= 3
    assert found.modularity(graph) > 0.35


@pytest.mark.parametrize(("nodes", "groups"), [(90, 3), (120, 4), (200, 5)])
@pytest.mark.parametrize("seed", range(2))
def test_bernoulli_poisson_finds_planted_communities(nodes, groups, seed):
    graph, truth = planted_communities(seed, nodes, groups)
    model = efge.EFGE("bernoulli-poisson", dim=groups, window=1, walks_per_node=80, seed=seed).fit(graph)
    found = communities(model)
    assert not found.disjoint
    assert found.f1(truth) > 0.9


def test_memberships_of_an_efge_do_not_depend_on_scales_of_centers_and_contexts():
    graph, _ = planted_communities(0)
    model = efge.EFGE("bernoulli-poisson", dim=4, window=1, seed=0).fit(graph)
    before = communities(model).members
    scales = np.array([4, 0.5, 1, 0.125], np.float32)
    model.embedding_ = model.center_embedding_ = efge.Embedding(model.embedding_.vectors * scales, graph.names)
    model.context_embedding_ = efge.Embedding(model.context_embedding_.vectors / scales, graph.names)
    assert communities(model).members == before


def test_memberships_are_all_entries_above_the_threshold():
    embedding = efge.Embedding([[0.9, 0.8, 0], [0.1, 0.2, 0], [0, 0.7, 0]], ["a", "b", "c"])
    found = communities(embedding, overlapping=True, threshold=0.5)
    assert found.members == [["a"], ["a", "c"]]
    graph = efge.as_graph([("a", "b")], nodes=["a", "b", "c"])
    limit = membership_threshold(3, 1)
    assert limit == pytest.approx(np.sqrt(-np.log(1 - 1 / 3)))
    expected = [embedding.names[column > limit].tolist() for column in embedding.vectors.T[:2]]
    assert communities(embedding, graph, overlapping=True).members == expected


def test_bigclam_brings_its_own_threshold_and_can_be_made_disjoint():
    graph, truth = planted_communities(0, nodes=90, groups=3)
    model = BigClam(3, seed=0).fit(graph)
    assert [len(group) for group in communities(model)] == model.memberships_.sum(axis=0).tolist()
    assert communities(model, overlapping=False, n_communities=3).disjoint
    assert set(communities(model).score(truth, graph)) == {"f1"}


def test_nmi_and_ari_are_those_of_scikit_learn():
    random = np.random.default_rng(0)
    ours, true = random.integers(4, size=50), random.integers(3, size=50)
    true[:30] = ours[:30] % 3
    found = from_labels(ours)
    np.testing.assert_array_equal(found.labels, ours)
    groups = [np.flatnonzero(true == label).tolist() for label in range(3)]
    for truth in (dict(enumerate(true.tolist())), groups):
        assert found.nmi(truth) == pytest.approx(normalized_mutual_info_score(true, ours), abs=1e-12)
        assert found.ari(truth) == pytest.approx(adjusted_rand_score(true, ours), abs=1e-12)
    some = {i: int(true[i]) for i in range(20)}
    assert found.nmi(some) == pytest.approx(normalized_mutual_info_score(true[:20], ours[:20]), abs=1e-12)


def test_f1_is_the_mean_over_best_matches_in_both_directions():
    random = np.random.default_rng(0)
    ours, true = ([np.flatnonzero(random.random(40) < 0.3).tolist() for _ in range(count)] for count in (4, 6))

    def f1(a, b):
        return 2 * len(set(a) & set(b)) / (len(a) + len(b))

    sides = [[max(f1(a, b) for b in others) for a in some] for some, others in ((ours, true), (true, ours))]
    expected = (np.mean(sides[0]) + np.mean(sides[1])) / 2
    assert Communities(ours, range(40)).f1(true) == pytest.approx(expected, rel=1e-12)
    assert Communities(true, range(40)).f1(ours) == pytest.approx(expected, rel=1e-12)
    assert Communities([], range(40)).f1(true) == 0


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_modularity_is_that_of_networkx(directed, weighted):
    random = np.random.default_rng(0)
    graph = nx.gnp_random_graph(30, 0.2, seed=1, directed=directed)
    graph.add_edges_from([(3, 3), (7, 7)])
    if weighted:
        nx.set_edge_attributes(graph, {edge: random.uniform(0.5, 3) for edge in graph.edges}, "weight")
    labels = random.integers(3, size=30)
    expected = nx.community.modularity(graph, [set(np.flatnonzero(labels == label).tolist()) for label in range(3)])
    found = from_labels(labels)
    assert found.modularity(graph) == pytest.approx(expected, abs=1e-12)
    assert found.score(graph=graph) == {"modularity": found.modularity(graph)}


def test_score_returns_the_scores_that_apply():
    found = Communities([["a", "b"], ["c"]])
    assert found.score({"a": 0, "b": 0, "c": 1}, [("a", "b"), ("b", "c")]).keys() == {"f1", "nmi", "ari", "modularity"}
    assert found.score([["a", "b"], ["b", "c"]]).keys() == {"f1"}
    assert found.score() == {}


def test_a_data_frame_has_a_row_for_each_membership():
    frame = Communities([["b", "a"], ["b"]], names=["a", "b", "isolated"]).to_pandas()
    assert frame.index.tolist() == ["a", "b", "b"]
    assert frame["community"].tolist() == [0, 0, 1]


def test_nodes_may_be_in_no_community():
    found = Communities([["a"], ["b"]], names=["a", "b", "isolated"])
    assert not found.disjoint
    assert repr(found) == "Communities(2 of 3 nodes, overlapping)"
    assert list(found) == [["a"], ["b"]]


def refusals(embedding):
    overlap = Communities([["a", "b"], ["b"]])
    apart = Communities([["a"], ["b"]])
    return [
        (lambda: overlap.labels, "labels need each node in exactly one community"),
        (lambda: overlap.nmi({"a": 0, "b": 1}), "labels need each node in exactly one community"),
        (lambda: overlap.modularity([("a", "b")]), "labels need each node in exactly one community"),
        (lambda: apart.ari([["a", "b"], ["b"]]), "a node has one true label"),
        (lambda: apart.f1([["a", "z"]]), "no node named 'z' among 2 nodes"),
        (lambda: apart.modularity([("a", "z")]), "no node named 'z' among 2 nodes"),
        (lambda: apart.modularity(efge.as_graph([], nodes=["a", "b"])), "modularity needs a graph with edges"),
        (lambda: communities("graph"), "communities needs an Embedding or a fitted estimator"),
        (lambda: communities(nx.path_graph(3)), "; fit a model first, and pass it, as efge.communities"),
        (lambda: communities(BigClam()), "communities needs an Embedding or a fitted estimator"),
        (lambda: communities(embedding, n_communities=0), "n_communities must be a positive integer; got 0"),
        (
            lambda: communities(embedding, n_communities=101),
            "cannot be more communities than nodes, 100; got n_communities=101",
        ),
        (lambda: communities(embedding, overlapping=True, threshold=1), "vectors without negative entries"),
        (lambda: communities(embedding, overlapping=True), "need its graph or a threshold; got neither"),
        (
            lambda: communities(embedding, overlapping=True, n_communities=2),
            "the vectors have 4 dimensions, .* leave out n_communities=2",
        ),
    ]


def test_invalid_input_is_refused_in_one_line(clusters):
    for call, message in refusals(clusters[0]):
        with pytest.raises(ValueError, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)


def test_numbers_of_communities_are_tried_one_by_one_and_then_on_a_grid(monkeypatch):
    tried = []

    def k_means(vectors, n_clusters, seed, n_init):
        tried.append((n_clusters, n_init))
        return np.arange(len(vectors)) % 2

    monkeypatch.setattr(clustering, "_k_means", k_means)
    efge.communities(efge.Embedding(np.random.default_rng(0).normal(size=(900, 2))))
    assert tried == [(count, 10) for count in (2, 3, 4, 5, 6, 7, 8, 12, 17, 25)] + [(2, 10)]
