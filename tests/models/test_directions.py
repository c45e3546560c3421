"""Directed graphs: edges lead both ways unless walks follow their directions, and walks that end early are told."""

from __future__ import annotations

import warnings

import networkx as nx
import numpy as np
import pytest

import efge
from helpers import run


def citations(n=400, seed=0):
    """Papers that cite older ones, mostly of their own topic, so that walks along citations soon end."""
    random = np.random.default_rng(seed)
    topics = random.integers(4, size=n)
    edges = [
        (u, int(v))
        for u in range(10, n)
        for v in random.choice(u, min(u, 20), replace=False)
        if random.random() < (0.6 if topics[u] == topics[v] else 0.05)
    ]
    return nx.DiGraph(edges), dict(enumerate(topics.tolist()))


def accuracy(model, graph, topics):
    embedding = model.fit(graph).embedding_
    known = {node: topic for node, topic in topics.items() if node in graph}
    scores = efge.node_classification(embedding, known, ratios=[0.3], repeats=3, seed=0, threads=1)
    return scores.summary(0.3, metric="micro_f1").mean


def test_by_default_edges_lead_both_ways():
    graph, _ = citations()
    directed = efge.as_graph(graph)
    assert directed.directed
    both, undirected = (efge.EFGE(dim=8, seed=0).fit(each) for each in (directed, directed.to_undirected()))
    assert both.embedding_ == undirected.embedding_
    assert both.context_embedding_ == undirected.context_embedding_
    assert not both.directed_
    followed = efge.EFGE(dim=8, seed=0, follow_directions=True)
    with pytest.warns(efge.QualityWarning):
        followed.fit(directed)
    assert followed.directed_
    assert followed.embedding_ != both.embedding_
    first, second = both.score_pairs([(50, 3), (3, 50)])
    assert first == second


def test_vectors_of_citations_know_the_topics():
    graph, topics = citations()
    both, followed = (efge.EFGE(seed=0, threads=1, follow_directions=follow) for follow in (False, True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", efge.QualityWarning)
        assert accuracy(both, graph, topics) > accuracy(followed, graph, topics) + 0.03


@pytest.mark.parametrize(
    "model",
    [
        efge.EFGE(dim=4, seed=0, follow_directions=True),
        efge.DeepWalk(dim=4, seed=0, walks_per_node=3),
        efge.Node2Vec(dim=4, seed=0, walks_per_node=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_walks_that_end_early_are_told(model):
    graph, _ = citations(200)
    with pytest.warns(efge.QualityWarning, match=r"end after [23]\.\d of 10 nodes on average, .*to_undirected\(\)"):
        model.fit(graph)
    cycle = nx.circulant_graph(60, [1, 2], create_using=nx.DiGraph)
    cycle.add_nodes_from(range(60, 300))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", efge.QualityWarning)
        model.fit(cycle)
    assert not any("end after" in str(each.message) for each in told)


def test_a_model_of_a_directed_graph_takes_directed_graphs_later():
    graph, _ = citations(200)
    model = efge.EFGE(dim=8, seed=0).fit(graph)
    grown = graph.copy()
    grown.add_edges_from([("new", 5), ("new", 7), ("newer", "new")])
    vectors = dict(zip(efge.as_graph(grown), model.transform(grown), strict=True))
    assert (vectors[5] == model.embedding_[5]).all()
    assert vectors["newer"].any()
    assert "newer" in model.partial_fit(grown).embedding_
    links = efge.missing_links(efge.EFGE(dim=8, seed=0).fit(graph), graph, 20)
    assert not any(graph.has_edge(u, v) or graph.has_edge(v, u) for u, v, _ in links)


def test_walks_of_ones_own_keep_their_directions():
    graph, _ = citations(200)
    walks = efge.Walks(graph, walks_per_node=20, seed=0)
    with pytest.warns(efge.QualityWarning, match="end after"):
        model = efge.EFGE(dim=8, seed=0).fit(walks)
    assert model.directed_
    assert len(model.transform(graph)) == len(graph)


@pytest.mark.parametrize("weighted", [False, True])
def test_an_undirected_graph_has_the_edges_of_the_directed_one(weighted):
    edges = [("a", "b", 2.0), ("b", "a", 3.0), ("b", "c", 1.0), ("c", "c", 4.0), ("d", "a", 0.5)]
    graph = efge.as_graph(edges if weighted else [edge[:2] for edge in edges], nodes=[*"abcde"], directed=True)
    undirected = graph.to_undirected()
    expected = nx.Graph()
    expected.add_nodes_from("abcde")
    for u, v, weight in edges:
        before = expected.get_edge_data(u, v, {"weight": 0.0})["weight"]
        expected.add_edge(u, v, weight=before + weight)
    assert undirected.fingerprint() == efge.as_graph(expected, weighted=weighted).fingerprint()
    assert undirected.to_undirected() is undirected


def test_a_directed_graph_on_disk_says_what_to_do(tmp_path):
    graph, _ = citations(200)
    nx.write_edgelist(graph, tmp_path / "edges.txt", data=False, delimiter="\t")
    efge.convert_graph(tmp_path / "edges.txt", tmp_path / "graph.efge", directed=True)
    on_disk = efge.Graph.open(tmp_path / "graph.efge")
    with pytest.raises(efge.GraphError, match=r"--undirected\), or follow directions: follow_directions=True"):
        efge.EFGE(dim=4, seed=0).fit(on_disk)
    with pytest.warns(efge.QualityWarning, match="end after"):
        efge.EFGE(dim=4, seed=0, follow_directions=True).fit(on_disk)


def test_the_shell_follows_directions_on_request(tmp_path):
    graph, _ = citations(200)
    nx.write_edgelist(graph, tmp_path / "edges.txt", data=False, delimiter="\t")
    arguments = ["embed", "edges.txt", "--directed", "--dim", "4", "--seed", "0", "-o"]
    for options in (["both.npz"], ["followed.npz", "--follow-directions"]):
        assert run(*arguments, *options, cwd=tmp_path).returncode == 0
    both, followed = (efge.Embedding.load(tmp_path / f"{name}.npz") for name in ("both", "followed"))
    assert both == efge.EFGE(dim=4, seed=0).fit(efge.read_graph(tmp_path / "edges.txt", directed=True)).embedding_
    assert both != followed


def test_a_value_that_is_no_bool_is_refused():
    with pytest.raises(ValueError, match="follow_directions is True or False; got 'no'"):
        efge.EFGE(follow_directions="no").fit([(0, 1)])
