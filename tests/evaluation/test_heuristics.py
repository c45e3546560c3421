"""Heuristics of link prediction, compared with NetworkX, and with sets and dense matrices on random graphs."""

from __future__ import annotations

import math
from functools import partial

import networkx as nx
import numpy as np
import pytest

import efge
from efge.evaluation import heuristics
from efge.evaluation.heuristics import HEURISTICS, katz, link_scores
from efge.linalg import katz_beta
from helpers import random_graph


def all_pairs(graph):
    names = graph.names.tolist()
    return [(u, v) for u in names for v in names]


def by_sets(graph, name, u, v):
    out = {x: set(graph.neighbors(x)) - {x} for x in graph}
    into = {x: {w for w in graph if x in out[w]} for x in graph}
    shared = out[u] & into[v]
    degree = {w: len(out[w] | into[w]) for w in shared}
    return {
        "common-neighbors": len(shared),
        "jaccard": len(shared) / max(len(out[u] | into[v]), 1),
        "adamic-adar": sum(1 / math.log(degree[w]) for w in shared if degree[w] > 1),
        "resource-allocation": sum(1 / degree[w] for w in shared),
        "preferential-attachment": len(out[u]) * len(into[v]),
    }[name]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("name", [name for name in HEURISTICS if name != "katz"])
def test_scores_are_those_of_plain_sets(name, directed):
    graph = random_graph(1, directed, weighted=True, n=16, m=50)
    pairs = all_pairs(graph)
    assert link_scores(graph, pairs, name) == pytest.approx([by_sets(graph, name, u, v) for u, v in pairs])


def count_common_neighbors(graph, pairs):
    return [(u, v, len(list(nx.common_neighbors(graph, u, v)))) for u, v in pairs]


@pytest.mark.parametrize(
    ("name", "peer"),
    [
        ("common-neighbors", count_common_neighbors),
        ("jaccard", nx.jaccard_coefficient),
        ("adamic-adar", nx.adamic_adar_index),
        ("resource-allocation", nx.resource_allocation_index),
        ("preferential-attachment", nx.preferential_attachment),
    ],
)
def test_scores_are_those_of_networkx(name, peer):
    club = nx.gnm_random_graph(60, 200, seed=3)
    club.add_nodes_from(["alone", "apart"])
    nodes = list(club)
    pairs = [(u, v) for i, u in enumerate(nodes) for v in nodes[:i]]
    known = [score for _, _, score in peer(club, pairs)]
    np.testing.assert_allclose(link_scores(club, pairs, name), known)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_katz_is_the_inverse_of_a_dense_matrix(directed, weighted):
    graph = random_graph(2, directed, weighted)
    matrix = graph.to_scipy().toarray()
    beta = katz_beta(graph.to_scipy(), graph.directed)
    radius = np.abs(np.linalg.eigvals(matrix)).max()
    assert 0 < beta <= 0.5 / radius * (1 + 1e-9)
    for given in (None, 0.9 / radius):
        used = beta if given is None else given
        known = np.linalg.inv(np.eye(len(matrix)) - used * matrix) - np.eye(len(matrix))
        scorer = partial(katz, beta=given)
        np.testing.assert_allclose(link_scores(graph, all_pairs(graph), scorer), known.ravel(), rtol=1e-9, atol=1e-12)


def test_katz_adds_up_to_the_centrality_of_networkx():
    club = nx.karate_club_graph()
    nx.set_edge_attributes(club, 1.0, "weight")
    centrality = nx.katz_centrality_numpy(club, alpha=0.05, beta=1.0, normalized=False)
    sums = link_scores(club, [(u, v) for u in club for v in club], partial(katz, beta=0.05)).reshape(34, 34).sum(1)
    np.testing.assert_allclose(1 + sums, [centrality[node] for node in club])


def test_a_graph_without_cycles_limits_no_beta():
    graph = efge.as_graph([("a", "b"), ("b", "c"), ("a", "c")], directed=True)
    assert link_scores(graph, [("a", "c"), ("c", "a")], partial(katz, beta=10.0)).tolist() == [110, 0]
    assert 0 < katz_beta(graph.to_scipy(), graph.directed) < 1


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("size", [30, 700])
def test_the_limit_of_beta_is_one_over_the_spectral_radius(size, directed):
    graph = random_graph(4, directed, weighted=True, n=size, m=3 * size)
    limit = 1 / np.abs(np.linalg.eigvals(graph.to_scipy().toarray())).max()
    assert katz_beta(graph.to_scipy(), graph.directed, limit * 0.999999) == limit * 0.999999
    for wrong in (limit * 1.000001, 0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match=f"below 1 / spectral radius, which is {limit:g} here; got"):
            katz_beta(graph.to_scipy(), graph.directed, wrong)


@pytest.mark.parametrize("name", HEURISTICS)
def test_small_chunks_change_nothing(monkeypatch, name):
    graph = random_graph(5, directed=True, weighted=True)
    pairs = all_pairs(graph)
    expected = link_scores(graph, pairs, name)
    monkeypatch.setattr(heuristics, "_CHUNK", 50)
    monkeypatch.setattr(heuristics, "_DENSE_BLOCK", 50)
    np.testing.assert_allclose(link_scores(graph, pairs, name), expected, rtol=1e-9, atol=1e-12)


def test_chunks_hold_all_pairs_once_and_are_small(monkeypatch):
    monkeypatch.setattr(heuristics, "_CHUNK", 10)
    sizes = np.array([0, 3, 30, 0, 0, 9, 2, 2, 2, 2, 0, 5, 3])
    chunks = list(heuristics._chunks(sizes))
    assert [i for chunk in chunks for i in range(len(sizes))[chunk]] == list(range(len(sizes)))
    for chunk in chunks:
        assert (sizes[chunk] + 1).sum() <= 10 or chunk.stop - chunk.start == 1
        # One more pair would be too much.
        assert chunk.stop == len(sizes) or (sizes[chunk.start : chunk.stop + 1] + 1).sum() > 10


@pytest.mark.parametrize("name", HEURISTICS)
def test_self_loops_make_no_neighbors(name):
    edges = [("a", "b"), ("b", "c"), ("c", "d")]
    loops = [("a", "a"), ("b", "b")]
    pairs = [("a", "b"), ("a", "c"), ("a", "d")]
    same = np.array_equal(link_scores(edges, pairs, name), link_scores(edges + loops, pairs, name))
    assert same == (name != "katz")


@pytest.mark.parametrize("name", HEURISTICS)
def test_graphs_without_edges_or_nodes_score_zero(name):
    alone = efge.as_graph([], nodes=["a", "b"])
    assert link_scores(alone, [("a", "b"), ("a", "a")], name).tolist() == [0, 0]
    assert link_scores(efge.as_graph([]), [], name).tolist() == []
    assert link_scores([("a", "b")], np.empty((0, 2)), name).tolist() == []


def test_pairs_are_arrays_or_any_iterable_of_names():
    graph = [(3, 4), (4, 5), (3, 6), (6, 5)]
    for pairs in (np.array([[3, 5]]), [[3, 5]], iter([(3, 5)]), np.array([[3, 5]], object)):
        assert link_scores(graph, pairs, "common-neighbors").tolist() == [2]
    tuples = [((0, 0), (0, 1)), ((0, 1), (1, 1))]
    assert link_scores(tuples, [((0, 0), (1, 1))], "jaccard").tolist() == [1]


def test_invalid_pairs_and_heuristics_are_refused():
    graph = [("a", "b")]
    with pytest.raises(ValueError, match="no heuristic 'salton'; known: common-neighbors, jaccard, adamic-adar, res"):
        link_scores(graph, [("a", "b")], "salton")
    with pytest.raises(efge.GraphError, match="no node named 'zoe'"):
        link_scores(graph, [("a", "b"), ("a", "zoe")], "jaccard")
    with pytest.raises(efge.GraphError, match="pair 1: a pair has two node names; got 3"):
        link_scores(graph, [("a", "b"), ("a", "b", "c")], "jaccard")
    with pytest.raises(efge.GraphError, match=r"an array of shape \(k, 2\); got shape \(1, 3\)"):
        link_scores(graph, np.array([["a", "b", "c"]]), "jaccard")


def test_heuristics_predict_edges_of_a_collaboration_network(networks):
    folder = networks / "grqc"
    if not folder.is_dir():
        pytest.skip(f"there is no {folder}")
    graph = efge.read_graph(folder / "edges.tsv", nodes=folder / "nodes.txt")
    random = np.random.default_rng(0)
    rows = np.repeat(np.arange(graph.n_nodes), graph.degrees)
    edges = np.column_stack([graph.names[rows], graph.names[graph.indices]])[rows < graph.indices]
    test, train = np.split(random.permutation(edges), [1000])
    others = graph.names[random.integers(graph.n_nodes, size=(1000, 2))]
    rest = efge.as_graph(train, nodes=graph.names.tolist())
    for name in HEURISTICS:
        scores = link_scores(rest, np.vstack([test, others]), name)
        auc = (scores[:1000, None] > scores[None, 1000:]).mean() + (
            scores[:1000, None] == scores[None, 1000:]
        ).mean() / 2
        assert auc > (0.7 if name == "preferential-attachment" else 0.88), name
