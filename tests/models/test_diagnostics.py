"""Diagnostics: planted good and bad fits are told apart without labels, and the figures are what they claim to be."""

from __future__ import annotations

import re
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import efge
from efge.embedding.geometry import count_zero_rows, measure_geometry
from efge.graph import predictability
from efge.graph.neighborhoods import are_edges
from efge.models.diagnostics import _auc, _constant_log_likelihood, diagnose
from efge.training.trainer import Trained

pytestmark = pytest.mark.filterwarnings("error::efge.QualityWarning")

QUICK = {"dim": 32, "seed": 0, "threads": 1}


def dense_blocks(n=1000, blocks=4, degree=20, inside=0.8, seed=0):
    """Return a graph with communities and with hubs: expected degrees have a heavy tail."""
    random = np.random.default_rng(seed)
    block = random.integers(blocks, size=n)
    weight = random.pareto(2.0, size=n) + 1
    first = random.choice(n, size=n * degree // 2, p=weight / weight.sum())
    second = random.choice(n, size=len(first), p=weight / weight.sum())
    for number in range(blocks):
        rows = np.flatnonzero((block[first] == number) & (random.random(len(first)) < inside))
        members = np.flatnonzero(block == number)
        second[rows] = random.choice(members, size=len(rows), p=weight[members] / weight[members].sum())
    distinct = first != second
    return efge.as_graph(np.column_stack([first, second])[distinct], nodes=list(range(n)))


@pytest.fixture(scope="module")
def blocks():
    return dense_blocks()


@pytest.mark.parametrize(
    ("family", "changes", "message"),
    [
        ("normal", {"walks_per_node": 10}, "nearly parallel.*raise walks_per_node, or try .* EFGE\\('poisson'\\)$"),
        ("normal", {"walks_per_node": 1}, "had the same score.*; raise walks_per_node$"),
        ("bernoulli", {"walks_per_node": 1}, "had the same score.*; raise walks_per_node$"),
        ("poisson", {"walks_per_node": 1}, "had the same score.*; raise walks_per_node$"),
        ("poisson", {"learning_rate": 2e-4}, "; raise learning_rate \\(it is 0.0002\\) or walks_per_node$"),
        ("bernoulli", {"learning_rate": 5.0}, "less likely after training than before.*lower learning_rate"),
        ("normal", {"learning_rate": 5.0}, "lower learning_rate \\(it is 5\\)$"),
    ],
)  # fmt: skip
def test_a_bad_fit_warns_and_says_what_to_change(blocks, family, changes, message):
    with pytest.warns(efge.QualityWarning, match=message) as caught:
        efge.EFGE.paper(family, **({"walks_per_node": 5} | QUICK | changes)).fit(blocks)
    assert len(caught) == 1
    assert caught[0].filename == __file__


@pytest.mark.parametrize(("family", "walks"), [("normal", 80), ("bernoulli", 20), ("poisson", 20)])
def test_a_good_fit_does_not_warn(blocks, family, walks):
    diagnostics = efge.EFGE.paper(family, walks_per_node=walks, **QUICK).fit(blocks).diagnostics_
    assert diagnostics.separation > 0.75
    assert diagnostics.relative_gain > 0.01
    assert diagnostics.recent_gain < 0.1


@pytest.mark.parametrize("family", ["normal", "bernoulli", "poisson"])
@pytest.mark.parametrize(
    "graph",
    [nx.grid_2d_graph(12, 12), nx.path_graph(200), nx.random_labeled_tree(200, seed=1), nx.star_graph(100)],
    ids=["grid", "path", "tree", "star"],
)
def test_sparse_graphs_do_not_warn(graph, family):
    efge.EFGE.paper(family, **QUICK).fit(graph)


@pytest.mark.parametrize("model", [efge.DeepWalk(walks_per_node=1, **QUICK), efge.LINE(samples=2000, **QUICK)])
def test_baselines_that_are_not_trained_enough_warn(blocks, model):
    with pytest.warns(efge.QualityWarning, match=r"linked nodes are hardly closer than random ones \(AUC 0.5\d\)"):
        model.fit(blocks)


def test_small_graphs_do_not_warn():
    small = efge.EFGE("bernoulli", walks_per_node=1, **QUICK).fit(nx.path_graph(49))
    assert small.diagnostics_.relative_gain < -0.01
    isolated = efge.as_graph([(i, i + 1) for i in range(48)], nodes=list(range(100)))
    assert efge.EFGE(walks_per_node=1, **QUICK).fit(isolated).diagnostics_.isolated_nodes == 51


def test_a_graph_in_which_all_are_linked_has_no_separation_and_does_not_warn():
    assert efge.EFGE(**QUICK).fit(nx.complete_graph(60)).diagnostics_.separation is None


@pytest.mark.parametrize(
    "model",
    [efge.HOPE(dim=8, seed=0), efge.NetMF(dim=8, seed=0), efge.BigClam(n_communities=4, seed=0, max_iter=20)],
    ids=lambda model: type(model).__name__,
)
def test_models_without_held_out_pairs_have_the_other_figures(blocks, model):
    figures = model.fit(blocks).diagnostics_.to_dict()
    assert list(figures) == [
        "separation",
        "mean_cosine",
        "effective_rank",
        "zero_vectors",
        "isolated_nodes",
        "predictability",
    ]
    assert figures["separation"] > 0.6


RANDOM_GRAPH = efge.as_graph(nx.gnm_random_graph(400, 2000, seed=0))


@pytest.mark.parametrize(
    "model",
    [
        efge.EFGE(walks_per_node=2, **QUICK),
        efge.DeepWalk(walks_per_node=2, **QUICK),
        efge.LINE(samples=2000, **QUICK),
        efge.HOPE(dim=8, seed=0),
        efge.NetMF(dim=8, seed=0),
        efge.ProNE(dim=8, seed=0),
        efge.BigClam(n_communities=4, seed=0, max_iter=20),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_random_graph_warns_once_and_says_what_was_seen(model):
    with pytest.warns(efge.QualityWarning, match="look random beyond the degrees.* in 49% of cases") as caught:
        model.fit(RANDOM_GRAPH)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert 0.45 < model.diagnostics_.predictability < 0.55


@pytest.mark.parametrize(
    "model",
    [
        efge.EFGE(dim=8, threads=1, seed=0),
        efge.LINE(dim=8, threads=1, seed=0),
        efge.ProNE(dim=8, threads=1, seed=0),
        efge.BigClam(2, threads=1, seed=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_whether_links_look_random_is_measured_by_the_threads_of_the_model(model, monkeypatch):
    pool, counts = predictability.ThreadPoolExecutor, []

    def count_threads(threads):
        counts.append(threads)
        return pool(threads)

    monkeypatch.setattr(predictability, "ThreadPoolExecutor", count_threads)
    model.fit(nx.planted_partition_graph(2, 50, 0.3, 0.01, seed=1), progress=False)
    assert set(counts) == {1}


def test_random_vectors_do_not_separate_edges_and_planted_ones_do():
    cliques = efge.as_graph(nx.disjoint_union_all([nx.complete_graph(10)] * 20))
    random = np.random.default_rng(0)
    chance = diagnose(cliques, efge.Embedding(random.normal(size=(200, 16)), cliques.names))
    assert chance.separation == pytest.approx(0.5, abs=0.06)
    planted = np.repeat(random.normal(size=(20, 16)), 10, axis=0) + 0.01 * random.normal(size=(200, 16))
    assert diagnose(cliques, efge.Embedding(planted + 100.0, cliques.names)).separation == 1.0
    ends = efge.as_graph([(i, i + 100) for i in range(100)], nodes=list(range(200)))
    halves = random.normal(size=(100, 16))
    opposite = np.vstack([halves, -halves])
    assert diagnose(ends, efge.Embedding(opposite)).separation < 0.1


def two_sided_blocks(directed):
    """Return 60 users and 60 items of three tastes, and vectors that tell the side first, and then the taste."""
    random = np.random.default_rng(0)
    edges = [(u, 60 + i) for u in range(60) for i in range(60) if u % 3 == i % 3 and random.random() < 0.5]
    graph = efge.as_graph(edges, nodes=list(range(120)), directed=directed)
    tastes, sides = np.eye(3)[np.arange(120) % 3], np.repeat([[4.0], [-4.0]], 60, axis=0)
    return graph, np.hstack([sides, tastes])


@pytest.mark.parametrize("directed", [False, True])
def test_in_a_bipartite_graph_edges_are_compared_with_pairs_of_both_sides(directed):
    """Two users are closer than a user and an item; of users and items, those of the same taste are closer."""
    graph, vectors = two_sided_blocks(directed)
    # Two thirds of the pairs without an edge are of different tastes; those of the same one tie with the edges.
    assert diagnose(graph, efge.Embedding(vectors)).separation > 0.85
    assert diagnose(graph, efge.Embedding(vectors[:, :1])).separation == pytest.approx(0.5, abs=0.05)


def test_without_a_pair_across_the_sides_that_is_no_edge_there_is_no_separation():
    graph = efge.as_graph(nx.complete_bipartite_graph(30, 30))
    vectors = np.random.default_rng(0).normal(size=(60, 4))
    assert diagnose(graph, efge.Embedding(vectors, graph.names)).separation is None


def test_a_directed_triangle_and_sinks_have_no_two_sides():
    graph = efge.as_graph([("a", "b"), ("b", "c"), ("c", "a"), ("a", "d"), ("c", "d"), ("d", "e")], directed=True)
    assert diagnose(graph, efge.Embedding(np.eye(5), graph.names)).separation is not None


def test_edges_are_drawn_by_their_weights():
    """Light edges join nodes that are far apart, and would bring the separation to one half."""
    heavy = [(2 * i, 2 * i + 1, 1e30) for i in range(100)]
    light = [(i, (i + 37) % 200, 1e-30) for i in range(200)]
    graph = efge.as_graph(heavy + light, nodes=list(range(200)))
    vectors = np.repeat(np.random.default_rng(0).normal(size=(100, 16)), 2, axis=0)
    assert diagnose(graph, efge.Embedding(vectors)).separation > 0.99


def test_edges_are_found_among_the_neighbors():
    graph = efge.as_graph(nx.gnp_random_graph(60, 0.3, seed=0, directed=True))
    first, second = np.divmod(np.arange(3600), 60)
    expected = graph.to_scipy().toarray()[first, second] > 0
    np.testing.assert_array_equal(are_edges(graph, first, second), expected)


def test_the_area_under_the_curve_is_that_of_scikit_learn():
    random = np.random.default_rng(0)
    positives, negatives = random.integers(5, size=40) + 1.0, random.integers(5, size=60) + 0.0
    truth = np.arange(100) < 40
    assert _auc(positives, negatives) == pytest.approx(roc_auc_score(truth, np.concatenate([positives, negatives])))


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        # With 1 context and 4 negatives, the best mean of every observation is .2.
        (efge.Bernoulli(), np.log(0.2) + 4 * np.log(0.8)),
        (efge.Poisson(), np.log(0.2) - 1),
        (efge.Normal(), -0.5 * (0.8**2 + 4 * 0.2**2) - 2.5 * np.log(2 * np.pi)),
    ],
    ids=repr,
)
def test_the_constant_score_is_the_best_one(family, expected):
    sample = np.array([[0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]])
    empty = np.zeros((0, 1), np.float32)
    assert _constant_log_likelihood(
        family, Trained(empty, empty, np.zeros(0, int), 0, held_out=sample)
    ) == pytest.approx(expected, abs=1e-3)
    # A negative that is the context itself does not count.
    fewer = np.column_stack([sample, [1, 1]])
    assert _constant_log_likelihood(
        family, Trained(empty, empty, np.zeros(0, int), 0, held_out=fewer)
    ) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(("spread", "rank"), [([1, 0, 0, 0], 1), ([1, 1, 0, 0], 2), ([1, 1, 1, 1], 4)])
def test_the_effective_rank_counts_directions(spread, rank):
    vectors = np.random.default_rng(0).normal(size=(5000, 4)) * spread + 50.0
    geometry = measure_geometry(vectors.astype(np.float32))
    assert geometry.effective_rank == pytest.approx(rank, rel=0.2)
    assert geometry.nearly_parallel
    assert not measure_geometry((vectors - 50.0).astype(np.float32) @ np.eye(4, dtype=np.float32)).nearly_parallel


def test_zero_vectors_are_counted():
    assert count_zero_rows(np.array([[0, 0], [0, 1e-40], [1, 0], [0, 0]], np.float32)) == 2
    graph = efge.as_graph([("a", "b")], nodes=["a", "b", "c"])
    diagnostics = efge.HOPE(dim=2, seed=0).fit(graph).diagnostics_
    assert (diagnostics.zero_vectors, diagnostics.isolated_nodes) == (1, 1)


def test_the_same_fit_has_the_same_diagnostics(blocks):
    one, two = (
        efge.EFGE("bernoulli", dim=8, walks_per_node=20, seed=0, threads=threads).fit(blocks).diagnostics_
        for threads in (1, 2)
    )
    assert one == two


def test_diagnostics_do_not_load_scikit_learn():
    fit = "efge.EFGE(dim=4, seed=0).fit([(i, i + 1) for i in range(99)]).diagnostics_"
    code = f"import sys, efge; {fit}; print('sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "False"


def test_diagnostics_are_shown_with_four_digits():
    shown = repr(efge.HOPE(dim=2, seed=0).fit(nx.karate_club_graph()).diagnostics_)
    assert shown.startswith("Diagnostics(separation=0.")
    assert "zero_vectors=0" in shown
    assert not re.search(r"\d\.\d{5}", shown)
