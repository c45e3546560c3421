"""Link prediction: splits that leak nothing, scores with known answers."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import efge
from efge.evaluation.links import FEATURES, SIMILARITIES, link_measures, link_prediction, pair_scores
from efge.evaluation.splits import LinkSplit, split_links
from efge.graph.graph import graph_from_edges
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
    n=st.integers(3, 40),
    degree=st.floats(0.7, 6),
    directed=st.booleans(),
    weighted=st.booleans(),
    share=st.floats(0.05, 0.95),
    seed=st.integers(0, 10**6),
)
def test_nothing_leaks_from_one_side_to_the_other(n, degree, directed, weighted, share, seed):
    graph = random_graph(n, round(n * degree), directed, weighted, seed)
    if graph.n_edges == graph.n_self_loops:
        return
    split = split_links(graph, share, seed=seed)
    train, test = unordered(split.train_edges), unordered(split.test_edges)
    train_others, test_others = unordered(split.train_non_edges), unordered(split.test_non_edges)
    whole = {frozenset(arc) for arc in arcs(graph)}
    # No pair is on both sides, in any direction; what is no edge is none in any direction.
    assert not set(train) & set(test)
    assert len(set(train_others + test_others)) == len(train_others) + len(test_others)
    assert not (set(train_others) | set(test_others)) & whole
    assert all(len(pair) == 2 for pair in train + test + train_others + test_others)
    # The rest is the graph without the removed edges: loops, weights, names and all.
    opposite = {pair[::-1] for pair in map(tuple, split.test_edges.tolist())}
    removed = set(map(tuple, split.test_edges.tolist())) | (set() if directed else opposite)
    assert arcs(split.graph) == arcs(graph) - removed
    assert split.graph.names.tolist() == graph.names.tolist()
    assert split.graph.n_components == graph.n_components
    if weighted:
        kept = graph.to_scipy().toarray()[split.graph.to_scipy().toarray() > 0]
        assert kept == pytest.approx(split.graph.to_scipy().toarray()[split.graph.to_scipy().toarray() > 0])
    assert len(test) <= split.wanted == round(share * (graph.n_edges - graph.n_self_loops))


def test_as_many_edges_are_removed_as_were_wanted_if_the_rest_stays_whole():
    graph = efge.as_graph(nx.barabasi_albert_graph(200, 4, seed=0))
    split = split_links(graph, 0.5)
    assert len(split.test_edges) == split.wanted == round(graph.n_edges / 2)
    assert len(split.test_non_edges) == len(split.test_edges)
    assert len(split.train_non_edges) == len(split.train_edges)
    assert split.notes == ()


def test_a_share_that_cannot_be_reached_is_taken_as_far_as_it_goes_and_said():
    # A cycle can lose one edge.
    split = split_links(nx.cycle_graph(20), 0.5)
    assert len(split.test_edges) == 1
    assert split.notes == ("1 of 10 wanted edges were removed: without more, the rest would fall apart.",)


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


def test_large_graphs_draw_their_non_edges():
    graph = random_graph(5000, 20_000, False, False, 1)
    split = split_links(graph, 0.5, seed=3)
    others = unordered(split.train_non_edges) + unordered(split.test_non_edges)
    assert len(set(others)) == len(others) == len(split.train_edges) + len(split.test_edges)
    assert not set(others) & {frozenset(arc) for arc in arcs(graph)}


def test_a_graph_with_hardly_a_pair_without_an_edge_says_so():
    graph = nx.complete_graph(12)
    graph.remove_edges_from([(0, 1), (2, 3), (4, 5)])
    split = split_links(graph, 0.3)
    assert len(split.train_non_edges) + len(split.test_non_edges) == 3
    assert len(split.test_non_edges) >= 1
    assert "pairs without an edge" in " ".join(split.notes)


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
    assert loaded.wanted == split.wanted


def test_other_tools_can_read_a_saved_split(tmp_path):
    split_links(nx.karate_club_graph(), 0.3).save(tmp_path)
    graph = nx.read_edgelist(tmp_path / "graph.tsv", nodetype=int, data=[("weight", float)])
    assert graph.number_of_edges() == 78 - 23


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("split.json", None, "no such file"),
        ("split.json", b"{", "a split's description has directed, weighted, wanted"),
        ("split.json", json.dumps({"directed": 1}).encode(), "a split's description has"),
        ("nodes.txt", b"a\na\n", "node names are distinct"),
        ("test_edges.tsv", b"0\t99\n", "line 1: '99' is no node of nodes.txt"),
        ("test_edges.tsv", b"0\n", "line 1: a line has 2 fields; got 1"),
        ("train_edges.tsv", b"0\t1\n0", "cut short"),
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


@pytest.mark.parametrize("share", [0, 1, -1, 50, float("nan")])
def test_shares_are_between_0_and_1(share):
    with pytest.raises(efge.EvaluationError, match="above 0 and below 1"):
        split_links([(0, 1)], share)


def test_a_graph_without_links_is_refused():
    with pytest.raises(efge.EvaluationError, match="no links to predict"):
        split_links([(0, 0)], 0.5)


def test_a_graph_without_structure_is_predicted_by_chance():
    # The rest of a random graph says nothing of the removed edges; a model that had seen them would do much better.
    graph = nx.gnm_random_graph(400, 3000, seed=0)
    models = {"HOPE": efge.HOPE(dim=32), "EFGE": efge.EFGE(dim=32, walks_per_node=10)}
    scores = link_prediction(graph, models, share=0.3, repeats=3, features=["hadamard", "dot"], heuristics=["katz"])
    for case in scores.raw:
        # Degrees still tell a little: who has many edges left had many.
        assert 0.45 < scores.summary(*case).mean < 0.6
    seen = split_links(graph, 0.3)
    whole = efge.HOPE(dim=32, seed=0).fit(graph).embedding_
    assert link_measures(pair_scores(whole, seen, "dot"), len(seen.test_edges))["auc"] > 0.7


def test_two_communities_are_predicted_by_all_features_that_can():
    graph = nx.planted_partition_graph(2, 60, 0.3, 0.01, seed=1)
    scores = link_prediction(graph, efge.EFGE(dim=16, walks_per_node=20, seed=1), repeats=2)
    assert [case for case in scores.raw if case[0] == "EFGE normal"] == [
        ("EFGE normal", name) for name in (*FEATURES, *SIMILARITIES)
    ]
    assert scores.summary("EFGE normal", "cosine").mean > 0.7
    assert scores.summary("EFGE normal", "l2").mean > 0.7
    heuristics = {case[0] for case in scores.raw if case[1] == "-"}
    assert heuristics == set(efge.heuristics.HEURISTICS)
    assert scores.measures == ["auc", "average_precision", "hits@50"]


def test_the_model_that_was_given_stays_as_it_is_and_repeats_differ():
    model = efge.HOPE(dim=8, seed=3)
    graph = nx.planted_partition_graph(2, 30, 0.4, 0.05, seed=1)
    scores = link_prediction(graph, model, share=0.3, repeats=3, features=["dot"], heuristics=[])
    assert not hasattr(model, "embedding_")
    assert model.seed == 3
    assert len(set(scores.raw["HOPE", "dot"]["auc"].tolist())) == 3
    again = link_prediction(graph, model, share=0.3, repeats=3, features=["dot"], heuristics=[])
    assert scores.raw["HOPE", "dot"]["auc"].tolist() == again.raw["HOPE", "dot"]["auc"].tolist()


def test_saved_splits_can_be_used_again(tmp_path):
    graph = nx.planted_partition_graph(2, 30, 0.4, 0.05, seed=1)
    split_links(graph, 0.3, seed=(0, 0)).save(tmp_path)
    options = {"share": 0.3, "features": ["dot"], "heuristics": ["jaccard"]}
    reused = link_prediction(graph, efge.HOPE(dim=8, seed=0), splits=[LinkSplit.load(tmp_path)], **options)
    fresh = link_prediction(graph, efge.HOPE(dim=8, seed=0), repeats=1, **options)
    assert reused.raw["HOPE", "dot"]["auc"].tolist() == fresh.raw["HOPE", "dot"]["auc"].tolist()


def test_directed_graphs_are_supported():
    graph = nx.gn_graph(80, seed=0)
    graph.add_edges_from((v, (v * 7 + 3) % 80) for v in range(80) if v != (v * 7 + 3) % 80)
    scores = link_prediction(graph, efge.EFGE(dim=8, walks_per_node=10), share=0.2, repeats=2, features=["hadamard"])
    assert 0 <= scores.summary("EFGE normal", "hadamard").mean <= 1


def test_measures_have_known_answers():
    # Three edges, then three others: one of nine comparisons is lost, and one is a tie.
    measured = link_measures(np.array([0.9, 0.8, 0.3, 0.4, 0.3, 0.1]), 3, hits=1)
    assert measured["auc"] == pytest.approx((9 - 1 - 0.5) / 9)
    assert measured["hits@1"] == pytest.approx(2 / 3)
    assert link_measures(np.array([0.9, 0.8, 0.3, 0.4, 0.3, 0.1]), 3, hits=9)["hits@9"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": ["hadamar"]}, "no feature 'hadamar'; known: hadamard, average, l1, l2, cosine, dot"),
        ({"heuristics": ["common"]}, "no heuristic 'common'; known: common-neighbors"),
        ({"repeats": 0}, "repeats is a whole number from 1 on"),
        ({"hits": 0}, "hits is a whole number from 1 on"),
        ({"models": [efge.HOPE(), efge.HOPE(beta=0.1)]}, "models in a table have different names"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        link_prediction(nx.karate_club_graph(), options.pop("models", efge.HOPE(dim=4)), **options)


def test_results_are_tables_and_figures(tmp_path):
    scores = link_prediction(nx.karate_club_graph(), efge.HOPE(dim=4, seed=0), share=0.2, repeats=2)
    assert len(scores.to_pandas()) == 12 * 3
    assert scores.to_markdown().startswith("| method | features | auc | average_precision | hits@50 |")
    scores.plot(measure="average_precision").figure.savefig(tmp_path / "links.svg")
    assert "average_precision" in (tmp_path / "links.svg").read_text() or (tmp_path / "links.svg").stat().st_size > 5000
