"""Splits of links: nothing leaks from training to testing, and saved splits are the same when loaded."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import efge
from efge.evaluation import splits
from efge.evaluation.splits import NEGATIVES, LinkSplit, split_links
from efge.graph.build import graph_from_edges
from efge.graph.names import name_array


def random_graph(n, m, directed, weighted, seed):
    random = np.random.default_rng(seed)
    ends = random.integers(n, size=(m, 2)).astype(np.int32)
    weights = random.random(m) + 0.1 if weighted else None
    return graph_from_edges(ends, weights, name_array([f"n{i}" for i in range(n)]), directed=directed)


def arcs(graph):
    rows = np.repeat(np.arange(graph.n_nodes), graph.degrees)
    return set(zip(rows.tolist(), graph.indices.tolist(), strict=True))


def unordered(pairs):
    return [frozenset(pair) for pair in pairs.tolist()]


@settings(max_examples=150, deadline=None)
@given(
    negatives=st.sampled_from(NEGATIVES),
    n=st.integers(3, 40),
    degree=st.floats(0.7, 6),
    directed=st.booleans(),
    weighted=st.booleans(),
    test_size=st.floats(0.05, 0.95),
    seed=st.integers(0, 10**6),
)
def test_nothing_leaks_from_training_to_testing(negatives, n, degree, directed, weighted, test_size, seed):
    graph = random_graph(n, round(n * degree), directed, weighted, seed)
    if graph.n_edges == graph.n_self_loops:
        return
    split = split_links(graph, test_size, negatives=negatives, seed=seed)
    train, test = unordered(split.train_edges), unordered(split.test_edges)
    train_negatives, test_negatives = unordered(split.train_non_edges), unordered(split.test_non_edges)
    all_edges = {frozenset(arc) for arc in arcs(graph)}
    # No pair is in both sets, in either direction; negative pairs have no edge in either direction.
    assert not set(train) & set(test)
    assert len(set(train_negatives + test_negatives)) == len(train_negatives) + len(test_negatives)
    assert not (set(train_negatives) | set(test_negatives)) & all_edges
    assert all(len(pair) == 2 for pair in train + test + train_negatives + test_negatives)
    # The remaining graph has all self loops, weights and names, and lacks only the removed edges.
    opposite = {pair[::-1] for pair in map(tuple, split.test_edges.tolist())}
    removed = set(map(tuple, split.test_edges.tolist())) | (set() if directed else opposite)
    assert arcs(split.graph) == arcs(graph) - removed
    assert split.graph.names.tolist() == graph.names.tolist()
    assert split.graph.n_components == graph.n_components
    if weighted:
        kept = graph.to_scipy().toarray()[split.graph.to_scipy().toarray() > 0]
        assert kept == pytest.approx(split.graph.to_scipy().toarray()[split.graph.to_scipy().toarray() > 0])
    assert len(test) <= split.n_requested == round(test_size * (graph.n_edges - graph.n_self_loops))


def test_as_many_edges_are_removed_as_requested_if_the_graph_stays_connected():
    graph = efge.as_graph(nx.barabasi_albert_graph(200, 4, seed=0))
    split = split_links(graph, 0.5)
    assert len(split.test_edges) == split.n_requested == round(graph.n_edges / 2)
    assert len(split.test_non_edges) == len(split.test_edges)
    assert len(split.train_non_edges) == len(split.train_edges)
    assert split.notes == ()


def test_fewer_edges_are_removed_if_more_would_disconnect_the_graph():
    # A cycle can lose one edge.
    split = split_links(nx.cycle_graph(20), 0.5)
    assert len(split.test_edges) == 1
    assert split.notes == ("1 of 10 requested edges were removed: removing more would disconnect the graph.",)


def test_every_edge_of_a_cycle_is_removed_equally_often():
    removed = [tuple(split_links(nx.cycle_graph(5), 0.2, seed=seed).test_edges[0].tolist()) for seed in range(1000)]
    counts = [removed.count(edge) for edge in set(removed)]
    # 200 each, give or take a deviation of 12.6.
    assert len(counts) == 5
    assert max(abs(count - 200) for count in counts) < 60


def test_opposite_edges_of_a_directed_graph_stay_together():
    graph = efge.as_graph([(u, v) for u in range(12) for v in range(12) if (u + v) % 3 and u != v], directed=True)
    for seed in range(5):
        split = split_links(graph, 0.4, seed=seed)
        test = set(map(tuple, split.test_edges.tolist()))
        assert test
        assert {(v, u) for u, v in test} == test


def test_a_pair_of_opposite_edges_that_exceeds_the_request_stays():
    triangle = [(u, v) for u in "abc" for v in "abc" if u != v]
    split = split_links(efge.as_graph(triangle, directed=True), 0.5)
    assert (len(split.test_edges), split.n_requested) == (2, 3)
    note = "2 of 3 requested edges were removed: removing more would disconnect the graph or separate opposite edges."
    assert split.notes[0] == note


def test_non_edges_of_directed_graphs_point_both_ways():
    split = split_links(random_graph(300, 900, True, False, 0), 0.3)
    down = (split.train_non_edges[:, 0] > split.train_non_edges[:, 1]).mean()
    assert 0.4 < down < 0.6


def test_non_edges_are_uniform_among_all_pairs_without_an_edge():
    star = nx.star_graph(6)
    counts = {}
    for seed in range(600):
        for pair in unordered(split_links(nx.compose(star, nx.path_graph(7)), 0.2, seed=seed).test_non_edges):
            counts[pair] = counts.get(pair, 0) + 1
    found = np.array(list(counts.values()))
    assert len(found) == 7 * 6 // 2 - nx.compose(star, nx.path_graph(7)).number_of_edges()
    assert abs(found - found.mean()).max() < 5 * found.mean() ** 0.5


@pytest.mark.parametrize("listed", [True, False])
def test_degree_matched_pairs_are_drawn_in_proportion_to_the_product_of_degrees(monkeypatch, listed):
    if not listed:
        monkeypatch.setattr(splits, "_MAX_LISTED_PAIRS", 0)
    graph = nx.compose(nx.star_graph(6), nx.path_graph(8))
    degree = dict(graph.degree)
    rates = {frozenset(pair): degree[pair[0]] * degree[pair[1]] for pair in nx.non_edges(graph)}
    draws = 1000
    counts = dict.fromkeys(rates, 0)
    converted = efge.as_graph(graph, nodes=range(8))
    for seed in range(draws):
        # Later pairs are drawn without those before them.
        split = split_links(converted, 0.2, negatives="degree", seed=seed)
        counts[frozenset(split.train_non_edges[0].tolist())] += 1
    expected = {pair: draws * rate / sum(rates.values()) for pair, rate in rates.items()}
    # Uniform draws would be off by more than six deviations where the product is smallest.
    assert draws / len(rates) - min(expected.values()) > 6 * min(expected.values()) ** 0.5
    assert all(abs(counts[pair] - mean) < 5 * mean**0.5 for pair, mean in expected.items())


@pytest.mark.parametrize("nodes", [1000, 4000], ids=["listed", "drawn"])
def test_degree_matched_pairs_have_the_degrees_of_end_points_of_edges(nodes):
    graph = efge.as_graph(nx.barabasi_albert_graph(nodes, 3, seed=0))
    of_end_points = (graph.degrees**2).sum() / graph.degrees.sum()
    means = {}
    for negatives in NEGATIVES:
        split = split_links(graph, 0.3, negatives=negatives, seed=1)
        means[negatives] = graph.degrees[np.concatenate([split.train_non_edges, split.test_non_edges])].mean()
    # Pairs of two hubs are edges or drawn once only, which lowers the mean a little.
    assert means["uniform"] == pytest.approx(graph.degrees.mean(), rel=0.1)
    assert 0.75 * of_end_points < means["degree"] < 1.05 * of_end_points
    assert 0.75 * of_end_points > 1.5 * means["uniform"]


def test_degree_matched_pairs_of_a_directed_graph_go_from_sources_to_targets():
    # Nodes below 40 are only cited by others, and those above only cite.
    random = np.random.default_rng(0)
    graph = efge.as_graph(np.column_stack([random.integers(40, 80, 300), random.integers(40, size=300)]), directed=True)
    split = split_links(graph, 0.3, negatives="degree")
    pairs = graph.names[np.concatenate([split.train_non_edges, split.test_non_edges])]
    assert len(pairs) > 200
    assert (pairs[:, 0] >= 40).all()
    assert (pairs[:, 1] < 40).all()


def test_the_edges_that_are_removed_do_not_depend_on_the_negative_pairs():
    graph = random_graph(60, 200, False, False, 0)
    uniform, by_degree = (split_links(graph, 0.3, negatives=negatives, seed=1) for negatives in NEGATIVES)
    assert uniform.test_edges.tolist() == by_degree.test_edges.tolist()
    assert uniform.test_non_edges.tolist() != by_degree.test_non_edges.tolist()
    again = split_links(graph, 0.3, negatives="degree", seed=1)
    assert again.test_non_edges.tolist() == by_degree.test_non_edges.tolist()


def test_drawing_by_degree_ends_where_pairs_are_too_rare_to_be_found(monkeypatch):
    monkeypatch.setattr(splits, "_MAX_LISTED_PAIRS", 0)
    # Nearly all end points are in a clique, where every pair is an edge.
    graph = nx.compose(nx.complete_graph(150), nx.path_graph(range(149, 156)))
    split = split_links(graph, 0.3, negatives="degree")
    assert 0 < len(split.train_non_edges) < len(split.train_edges)
    assert "negative pairs are left for training" in " ".join(split.notes)


def test_unknown_negatives_are_refused():
    with pytest.raises(efge.EvaluationError, match="no negatives 'hubs'; known: uniform, degree"):
        split_links([(0, 1)], negatives="hubs")


@pytest.mark.parametrize("negatives", NEGATIVES)
def test_large_graphs_draw_their_non_edges(negatives):
    graph = random_graph(5000, 20_000, False, False, 1)
    split = split_links(graph, 0.5, negatives=negatives, seed=3)
    others = unordered(split.train_non_edges) + unordered(split.test_non_edges)
    assert len(set(others)) == len(others) == len(split.train_edges) + len(split.test_edges)
    assert not set(others) & {frozenset(arc) for arc in arcs(graph)}


def test_too_few_negative_pairs_are_noted():
    graph = nx.complete_graph(12)
    graph.remove_edges_from([(0, 1), (2, 3), (4, 5)])
    split = split_links(graph, 0.3)
    assert len(split.train_non_edges) + len(split.test_non_edges) == 3
    assert len(split.test_non_edges) >= 1
    assert "negative pairs are left for testing" in " ".join(split.notes)


def test_the_same_seed_gives_the_same_split():
    graph = random_graph(60, 200, False, False, 0)
    first, second, other = (split_links(graph, 0.3, seed=seed) for seed in (1, 1, 2))
    assert first.test_edges.tolist() == second.test_edges.tolist()
    assert first.train_non_edges.tolist() == second.train_non_edges.tolist()
    assert first.test_edges.tolist() != other.test_edges.tolist()


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_saved_split_is_the_same_when_loaded(tmp_path, directed, weighted):
    graph = random_graph(30, 90, directed, weighted, 4)
    names = [f"a b\t{i}" if i % 2 else f"ü{i}" for i in range(30)]
    graph = efge.Graph(graph.indptr, graph.indices, graph.weights, names, directed)
    split = split_links(graph, 0.3)
    split.save(tmp_path / "split")
    loaded = LinkSplit.load(tmp_path / "split")
    assert loaded.graph.fingerprint() == split.graph.fingerprint()
    for part in ("train_edges", "train_non_edges", "test_edges", "test_non_edges"):
        assert getattr(loaded, part).tolist() == getattr(split, part).tolist()
    assert loaded.n_requested == split.n_requested


def test_other_tools_can_read_a_saved_split(tmp_path):
    split_links(nx.karate_club_graph(), 0.3).save(tmp_path)
    graph = nx.read_edgelist(tmp_path / "graph.tsv", nodetype=int, data=[("weight", float)])
    assert graph.number_of_edges() == 78 - 23


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("split.json", None, "no such file"),
        ("split.json", b"{", "the description of a split has directed, weighted, n_requested"),
        ("split.json", json.dumps({"directed": 1}).encode(), "the description of a split has"),
        ("nodes.txt", b"a\na\n", "node names must be distinct"),
        ("test_edges.tsv", b"0\t99\n", "line 1: '99' is not a node in nodes.txt"),
        ("test_edges.tsv", b"0\n", "line 1: a line has 2 fields; got 1"),
        ("train_edges.tsv", b"0\t1\n0", "truncated"),
        ("graph.tsv", b"0\t1\tx\n", "line 1: a weight is finite and positive; got 'x'"),
        ("nodes.txt", b"\xff\n", "nodes.txt: .*decode"),
    ],
)
def test_a_damaged_split_is_refused_by_file_and_line(tmp_path, name, content, message):
    split_links(nx.karate_club_graph(), 0.3).save(tmp_path)
    (tmp_path / name).unlink()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(efge.EvaluationError, match=message):
        LinkSplit.load(tmp_path)


@pytest.mark.parametrize("test_size", [0, 1, -1, 50, float("nan")])
def test_test_size_is_between_0_and_1(test_size):
    with pytest.raises(efge.EvaluationError, match="above 0 and below 1"):
        split_links([(0, 1)], test_size)


def test_a_graph_without_links_is_refused():
    with pytest.raises(efge.EvaluationError, match="no links to predict"):
        split_links([(0, 0)], 0.5)


@pytest.mark.parametrize("negatives", NEGATIVES)
@pytest.mark.parametrize("directed", [False, True])
def test_in_large_graphs_too_no_negative_pair_is_a_node_with_itself_or_an_edge(monkeypatch, negatives, directed):
    monkeypatch.setattr(splits, "_MAX_LISTED_PAIRS", 0)
    graph = nx.gnm_random_graph(12, 22, seed=1, directed=directed)
    split = split_links(graph, 0.3, negatives=negatives, seed=1)
    drawn = np.concatenate([split.train_non_edges, split.test_non_edges])
    assert len(drawn) > 10
    edges = set(map(frozenset, graph.edges))
    for first, second in drawn.tolist():
        assert first != second
        assert frozenset((first, second)) not in edges


@pytest.mark.parametrize("listed", [True, False])
def test_all_pairs_of_two_sides_without_an_edge_are_drawn_if_more_are_requested(monkeypatch, listed):
    if not listed:
        monkeypatch.setattr(splits, "_MAX_LISTED_PAIRS", 0)
    missing = {(0, 40), (5, 41), (7, 42), (20, 40)}
    edges = [(u, v) for u in range(40) for v in range(40, 43) if (u, v) not in missing]
    split = efge.split_links(edges, 0.5, seed=0)
    pairs = np.concatenate([split.train_non_edges, split.test_non_edges])
    names = split.graph.names[np.sort(pairs, axis=1)]
    assert {tuple(sorted(pair)) for pair in names.tolist()} == missing
