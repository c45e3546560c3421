"""Estimators that are updated after their graph has changed, and fits that start from earlier vectors."""

from __future__ import annotations

import warnings

import networkx as nx
import numpy as np
import pytest

import efge
from efge.models import updating

QUICK = {"dim": 8, "walks_per_node": 8, "seed": 1, "threads": 1}
CLUB = efge.as_graph(nx.karate_club_graph(), weighted=False)
# Three groups of ten in a row.
GROUPS = nx.connected_caveman_graph(3, 10)


def grown(*edges, without=()):
    graph = nx.Graph(GROUPS)
    graph.add_edges_from(edges)
    graph.remove_nodes_from(without)
    return efge.as_graph(graph)


@pytest.fixture
def model():
    return efge.EFGE(**QUICK).fit(efge.as_graph(GROUPS))


def fitted_state(model):
    return {name: getattr(model, name) for name in ("embedding_", "center_embedding_", "context_embedding_")}


def test_a_frozen_update_keeps_all_old_rows_and_adds_new_ones(model):
    before, expected = fitted_state(model), model.transform(grown(("new", 0), ("new", 1)))
    model.partial_fit(grown(("new", 0), ("new", 1)), freeze=True)
    for name, old in before.items():
        assert getattr(model, name)[list(old)] == old, name
        assert getattr(model, name)["new"].any()
    np.testing.assert_array_equal(model.embedding_.vectors, expected)
    assert model.drift_.mean == 0
    assert len(model.visits_) == 31
    assert {other // 10 for other, _ in model.recommend("new", k=5)} == {0}


def test_an_update_moves_what_has_changed_most(model):
    """A node leaves its group for another one."""
    graph = nx.Graph(GROUPS)
    graph.remove_edges_from(list(graph.edges(5)))
    graph.add_edges_from((5, other) for other in range(20, 30))
    before = model.embedding_
    model.partial_fit(graph)
    assert model.drift_.most(1)[0][0] == 5
    assert {other // 10 for other, _ in model.embedding_.neighbors(5, k=5)} == {2}
    moved = dict(model.drift_.most(30))
    assert moved[5] > 3 * np.median(list(moved.values()))
    assert efge.drift([before, model.embedding_], aligned=True).mean == model.drift_.mean


def test_rows_that_no_walk_or_negative_reaches_keep_their_bytes(monkeypatch):
    monkeypatch.setattr(updating, "_WALKS_PER_EDGE", 1)
    many = nx.disjoint_union_all([nx.complete_graph(4)] * 500)
    model = efge.EFGE(propagate=None, **QUICK).fit(many)
    before = model.embedding_
    many.add_edge("new", 0)
    model.partial_fit(many)
    same = (model.embedding_[list(before)].vectors == before.vectors).all(axis=1)
    assert 0.5 < same.mean() < 1


@pytest.mark.parametrize("directed", [False, True])
def test_changed_edges_are_new_ones_and_nodes_that_lost_some_stand_for_themselves(directed):
    before = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("e", "f"), ("x", "f")]
    model = efge.EFGE(dim=4, walks_per_node=1, seed=1, follow_directions=True)
    model.fit(efge.as_graph(before, directed=directed))
    # A node comes to two that are linked, an edge is added between others, and one is removed with its node.
    after = [edge for edge in before if "x" not in edge] + [("new", "a"), ("new", "b"), ("e", "c")]
    graph = efge.as_graph(after, directed=directed)
    rows = model.embedding_._index.rows(graph.names)
    found = updating._changed_edges(model, graph, rows)
    pairs = sorted(tuple(sorted(pair)) for pair in graph.names[found].tolist())
    # That a and b are linked is not new, though both have other neighbors; f has lost its only neighbor besides e.
    assert pairs == [("a", "new"), ("b", "new"), ("c", "e"), ("e", "f")]


def test_a_node_that_has_only_lost_an_edge_is_walked_through(model):
    graph = nx.Graph(GROUPS)
    graph.remove_node(29)
    graph = efge.as_graph(graph)
    lone = nx.Graph([("p", "q"), ("q", "r"), ("s", "t"), ("t", "u")])
    small = efge.EFGE(dim=4, walks_per_node=1, seed=1).fit(efge.as_graph(lone))
    lone.remove_node("p")
    after = efge.as_graph(lone)
    found = updating._changed_edges(small, after, small.embedding_._index.rows(after.names))
    assert after.names[found].tolist() == [["q", "q"]]
    assert "29" not in model.partial_fit(graph).embedding_


def test_updates_of_a_rotating_filter_stay_in_the_space_of_the_old_vectors():
    model = efge.EFGE(propagate="prone", **QUICK).fit(efge.as_graph(GROUPS))
    before = model.embedding_
    model.partial_fit(grown((5, 25)))
    assert efge.drift([before, model.embedding_], aligned=True).mean < 0.3
    # New nodes are mapped into the same space.
    vectors = efge.Embedding(model.transform(grown((5, 25), ("new", 0), ("new", 1))), [*grown((5, 25), ("new", 0))])
    assert {other // 10 for other, _ in vectors.neighbors("new", k=5)} == {0}


def test_nodes_leave_and_come_back(model):
    model.partial_fit(grown(without=[3, 4]))
    assert 3 not in model.embedding_
    assert len(model.visits_) == 28
    model.partial_fit(grown())
    assert model.embedding_.names.tolist() == efge.as_graph(GROUPS).names.tolist()
    assert {other // 10 for other, _ in model.embedding_.neighbors(3, k=5)} == {0}
    assert model.n_updates_ == 2


def test_the_same_graph_changes_nothing(model):
    before = fitted_state(model)
    model.partial_fit(GROUPS)
    for name, old in before.items():
        assert getattr(model, name) == old


@pytest.mark.parametrize("freeze", [False, True])
def test_threads_and_files_change_no_byte_of_an_update(model, tmp_path, freeze):
    model.save(tmp_path / "model.npz")
    graph = grown(("new", 0), (5, 25))
    for threads in (1, 3):
        again = efge.EFGE.load(tmp_path / "model.npz").set_params(threads=threads).partial_fit(graph, freeze=freeze)
        again.save(tmp_path / f"{threads}.npz")
    model.partial_fit(graph, freeze=freeze)
    loaded = efge.EFGE.load(tmp_path / "3.npz")
    assert loaded.embedding_ == model.embedding_
    assert loaded.context_embedding_ == model.context_embedding_
    assert loaded.n_updates_ == 1
    # The parameter is part of the file; nothing else differs.
    loaded.set_params(threads=1).save(tmp_path / "3.npz")
    assert (tmp_path / "3.npz").read_bytes() == (tmp_path / "1.npz").read_bytes()


def test_two_updates_have_different_random_numbers(model):
    first = model.partial_fit(grown((5, 25))).center_embedding_
    second = model.partial_fit(grown()).partial_fit(grown((5, 25))).center_embedding_
    assert first != second


def test_a_model_that_is_not_fitted_is_fitted():
    graph = efge.as_graph(GROUPS)
    assert efge.EFGE(**QUICK).partial_fit(graph).embedding_ == efge.EFGE(**QUICK).fit(graph).embedding_


def test_an_interrupted_update_resumes_to_the_same_bytes(model, tmp_path):
    model.save(tmp_path / "model.npz")
    graph, expected = grown((5, 25)), model.partial_fit(grown((5, 25))).embedding_

    class StopError(Exception):
        pass

    def stop(report):
        if report.pairs > report.total / 2:
            raise StopError

    again = efge.EFGE.load(tmp_path / "model.npz")
    before = again.embedding_
    with pytest.raises(StopError):
        again.partial_fit(graph, progress=stop, checkpoint=efge.Checkpoints(tmp_path / "runs", every=0))
    assert again.embedding_ == before
    again.partial_fit(graph, checkpoint=efge.Checkpoints(tmp_path / "runs", resume=True))
    assert again.embedding_ == expected
    other = efge.EFGE(**QUICK | {"seed": 2}).fit(efge.as_graph(GROUPS))
    with pytest.raises(efge.CheckpointError):
        other.partial_fit(graph, checkpoint=efge.Checkpoints(tmp_path / "runs", resume=True))


def test_node2vec_and_directed_graphs_can_be_updated():
    directed = efge.as_graph(list(GROUPS.edges), directed=True)
    model = efge.Node2Vec(**QUICK).fit(directed)
    model.partial_fit(efge.as_graph([*GROUPS.edges, (0, "new"), ("newer", "new")], directed=True))
    assert model.embedding_[["new", "newer"]].vectors.any(axis=1).all()
    assert np.isfinite(model.embedding_.vectors).all()


def test_vectors_without_a_filter_stay_one_table(tmp_path):
    model = efge.EFGE(propagate=None, **QUICK).fit(efge.as_graph(GROUPS)).partial_fit(grown((5, 25)))
    assert model.embedding_ is model.center_embedding_
    model.save(tmp_path / "model.npz")
    assert efge.EFGE.load(tmp_path / "model.npz").embedding_ == model.embedding_


def test_a_model_of_given_walks_cannot_be_updated():
    model = efge.EFGE(dim=4, walk=efge.CorpusWalk([["a", "b"]] * 20), seed=0).fit([("a", "b"), ("b", "c")])
    with pytest.raises(ValueError, match="EFGE cannot be updated, as its walks are given; fit it to the whole graph"):
        model.partial_fit([("a", "b"), ("b", "d")])


def test_updates_in_partitions_are_refused(model):
    with pytest.raises(ValueError, match="partial_fit trains whole tables; set_params\\(partitions=None\\)"):
        model.set_params(partitions=2).partial_fit(GROUPS)


@pytest.mark.parametrize("estimator", [efge.HOPE, efge.DeepWalk])
def test_estimators_without_vectors_of_contexts_have_no_updates(estimator):
    assert not hasattr(estimator(), "partial_fit")
    with pytest.raises(AttributeError, match=f"{estimator.__name__} cannot be updated; EFGE and Node2Vec can"):
        estimator().partial_fit(GROUPS)


def test_graphs_that_do_not_fit_the_model_are_refused(model):
    with pytest.raises(efge.GraphError, match="none of the graph's 2 nodes"):
        model.partial_fit([(100, 101)])
    followed = efge.EFGE(dim=4, walks_per_node=1, seed=1, follow_directions=True).fit(nx.Graph(GROUPS))
    with pytest.raises(efge.GraphError, match="the fitted EFGE is of a graph that is undirected"):
        followed.partial_fit(efge.as_graph([(0, 1)], directed=True))
    del model.neighborhoods_
    with pytest.raises(efge.EmbeddingError, match="was saved by an earlier version, without neighborhoods_"):
        model.partial_fit(GROUPS)


def test_a_fit_that_starts_from_a_model_begins_where_it_ended():
    """The likelihood of held-out pairs is high from the start, and other nodes start from means."""
    cold = efge.EFGE(**QUICK).fit(CLUB)
    warm = efge.EFGE(**QUICK).fit(CLUB, init=cold)
    assert warm.history_["log_likelihood"][0] > cold.history_["log_likelihood"][0] + 0.1
    by_vectors = efge.EFGE(**QUICK).fit(CLUB, init=cold.center_embedding_)
    assert by_vectors.center_embedding_ != warm.center_embedding_
    bigger = nx.karate_club_graph()
    bigger.add_edge("new", 0)
    again = efge.EFGE(**QUICK).fit(efge.as_graph(bigger, weighted=False), init=cold)
    assert "new" in again.embedding_
    assert efge.align(warm.center_embedding_, again.center_embedding_).unexplained < 0.5


def test_an_init_of_another_dimension_another_graph_or_another_kind_is_refused():
    with pytest.raises(efge.EmbeddingError, match="init must have the dimension of the estimator, 8; it has 2"):
        efge.EFGE(**QUICK).fit(CLUB, init=efge.Embedding(np.ones((34, 2))))
    with pytest.raises(efge.GraphError, match="names must have the type that they have in init, text such as 'a'"):
        efge.EFGE(**QUICK).fit(CLUB, init=efge.Embedding(np.ones((1, 8)), ["a"]))
    with pytest.raises(efge.EmbeddingError, match="init takes an Embedding or a fitted estimator; got str"):
        efge.EFGE(**QUICK).fit(CLUB, init="svd")
    with pytest.raises(ValueError, match="init is for whole tables"):
        efge.EFGE(partitions=2, **QUICK).fit(CLUB, init=efge.Embedding(np.ones((34, 8))))


@pytest.mark.slow
def test_a_stream_of_twenty_updates_ends_near_a_fit_from_scratch():
    """Classes of a planted partition, after 20 updates that add three tenths of the nodes."""
    graph = nx.planted_partition_graph(6, 100, 0.12, 0.004, seed=4)
    order = np.random.default_rng(0).permutation(600).tolist()
    model = efge.EFGE(dim=32, seed=0)
    for size in np.linspace(420, 600, 21).astype(int):
        model.partial_fit(efge.as_graph(graph.subgraph(order[:size])))
    assert model.n_updates_ == 20
    scratch = efge.EFGE(dim=32, seed=0).fit(efge.as_graph(graph))
    scores = []
    for embedding in (model.embedding_, scratch.embedding_):
        labels = {name: name // 100 for name in embedding}
        scores.append(efge.node_classification(embedding, labels, ratios=[0.5], repeats=5).summary(0.5).mean)
    assert scores[0] > scores[1] - 0.01


def test_an_update_by_new_edges_alone_is_pointed_out():
    model = efge.EFGE(dim=4, walks_per_node=2, seed=0).fit([(i, (i + 1) % 9) for i in range(9)])
    with pytest.warns(UserWarning, match="8 of 9 nodes are not in the new graph.*takes the whole graph") as caught:
        model.partial_fit([("new", 1)])
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("edges", "n_left"),
    [
        ([(i, i + 1) for i in range(5)], 3),  # fewer nodes than before, and a third of the old ones has left
        ([(i, i + 1) for i in range(6)], None),  # two of nine have left
        ([(i, i + 1) for i in range(4, 12)], None),  # as many have come as have left
        ([(i, i + 1) for i in range(6, 20)], 6),  # more have come, but most have left
    ],
)
def test_an_update_warns_if_more_nodes_leave_than_in_a_moving_window(edges, n_left):
    model = efge.EFGE(dim=4, walks_per_node=2, seed=0).fit([(i, (i + 1) % 9) for i in range(9)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.partial_fit(edges)
    leaving = [str(warning.message) for warning in caught if "leave the model" in str(warning.message)]
    assert [text.split()[0] for text in leaving] == ([] if n_left is None else [str(n_left)])
    assert all("transform takes new edges alone" in text for text in leaving)


@pytest.mark.parametrize("family", ["bernoulli", "normal"])
def test_of_a_model_with_another_family_a_fit_starts_from_the_vectors_alone(family):
    """Its contexts would give inner products on another scale."""
    start = efge.EFGE("poisson", **QUICK).fit(CLUB)
    model, same = efge.EFGE(family, **QUICK), efge.EFGE("poisson", **QUICK)
    assert model.fit(CLUB, init=start).embedding_ == model.fit(CLUB, init=start.embedding_).embedding_
    assert same.fit(CLUB, init=start).embedding_ != same.fit(CLUB, init=start.embedding_).embedding_
