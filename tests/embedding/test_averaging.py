"""Vectors of new nodes as means over their neighbors."""

from __future__ import annotations

import numpy as np
import pytest

import efge
from helpers import random_graph

OLD = efge.Embedding([[3, 4], [5, 0], [0, 5]], ["ann", "bob", "cid"])


def vector(edges, name, **options):
    return OLD.transform(efge.as_graph(edges, **options))[name].tolist()


def test_old_vectors_keep_their_bytes_and_the_order_is_that_of_the_graph():
    embedding = OLD.transform([("new", "cid"), ("cid", "ann")])
    assert embedding.names.tolist() == ["new", "cid", "ann"]
    assert embedding[["ann", "cid"]] == OLD[["ann", "cid"]]


def test_a_new_node_has_the_mean_direction_and_the_mean_length_of_its_neighbors():
    root = np.sqrt(12.5)
    assert vector([("new", "bob"), ("new", "cid")], "new") == pytest.approx([root, root])
    assert vector([("new", "ann")], "new") == pytest.approx([3, 4])


def test_long_vectors_do_not_outweigh_short_ones():
    old = efge.Embedding([[100, 0], [0, 2]], ["long", "short"])
    vector = old.transform([("new", "long"), ("new", "short")])["new"]
    np.testing.assert_allclose(vector, 51 / np.sqrt(2), rtol=1e-6)


def test_weights_count():
    direction = np.array([3, 1]) / np.sqrt(10)
    weighted = vector([("new", "bob", 3.0), ("new", "cid", 1.0)], "new")
    assert weighted == pytest.approx(5 * direction)
    assert vector([("new", "bob", 3e300), ("new", "cid", 1e300)], "new") == pytest.approx(weighted)


def test_directed_edges_count_in_both_directions():
    undirected = vector([("new", "bob"), ("new", "cid")], "new")
    assert vector([("new", "bob"), ("cid", "new")], "new", directed=True) == pytest.approx(undirected)


def test_self_loops_do_not_count():
    assert vector([("new", "ann"), ("new", "new")], "new") == pytest.approx([3, 4])


def test_nodes_linked_only_to_new_nodes_are_reached_step_by_step():
    chain = [("ann", 0), *((i, i + 1) for i in range(30))]
    assert vector(chain, 30) == pytest.approx([3, 4])


def test_means_over_new_nodes_solve_their_equations():
    """Two linked new nodes, each with an old one: lengths are 5, and angles a third of the way apart."""
    edges = [("x", "bob"), ("y", "cid"), ("x", "y")]
    x, y = np.array(vector(edges, "x")), np.array(vector(edges, "y"))
    angles = np.arctan2([x[1], y[1]], [x[0], y[0]])
    np.testing.assert_allclose([np.linalg.norm(x), np.linalg.norm(y)], 5, rtol=1e-6)
    np.testing.assert_allclose(angles, [np.pi / 6, np.pi / 3], atol=1e-3)


def test_nodes_that_no_path_links_to_old_ones_get_zeros():
    embedding = OLD.transform(efge.as_graph([("ann", "bob"), ("x", "y")], nodes=["ann", "bob", "x", "y", "alone"]))
    assert not embedding[["x", "y", "alone"]].vectors.any()


def test_neighbors_that_cancel_out_give_zeros():
    opposite = efge.Embedding([[1, 0], [-1, 0]], ["a", "b"])
    assert opposite.transform([("new", "a"), ("new", "b")])["new"].tolist() == [0, 0]


def test_thousands_of_nodes_at_once_equal_a_loop_over_them():
    random = np.random.default_rng(0)
    old = efge.Embedding(random.normal(size=(500, 8)), range(500))
    ends = random.integers(500, size=(5000, 2))
    edges = [(500 + i, int(end)) for i, pair in enumerate(ends) for end in set(pair.tolist())]
    vectors = old.transform(edges)
    for i in range(0, 5000, 500):
        neighbors = old[sorted(set(ends[i].tolist()))].vectors.astype(float)
        lengths = np.linalg.norm(neighbors, axis=1)
        mean = (neighbors / lengths[:, None]).mean(axis=0)
        expected = mean / np.linalg.norm(mean) * lengths.mean()
        np.testing.assert_allclose(vectors[500 + i], expected, rtol=1e-5)


def test_a_graph_without_new_nodes_and_one_without_nodes_need_no_means():
    assert OLD.transform([("bob", "ann")]) == OLD[["bob", "ann"]]
    assert len(OLD.transform(efge.Graph([0], []))) == 0


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ([(1, 2)], "names must have the type that they have in the embedding, text such as 'ann'; the graph has int"),
        ([("x", "y")], "new nodes get vectors by edges to nodes of the embedding; none of the graph's 2 nodes"),
    ],
)
def test_a_graph_of_other_nodes_is_refused(graph, message):
    with pytest.raises(efge.GraphError, match=message):
        OLD.transform(graph)


def test_an_embedding_alone_supports_means_only_and_says_so():
    with pytest.raises(ValueError, match="an embedding alone supports the method 'average'; got 'fold-in'"):
        OLD.transform([("new", "ann")], "fold-in")


def test_an_embedding_without_nodes_is_refused():
    with pytest.raises(efge.EmbeddingError, match="the embedding has no nodes"):
        efge.Embedding(np.empty((0, 2)), []).transform([(1, 2)])


def test_means_do_not_depend_on_the_order_of_nodes():
    graph = random_graph(1, directed=True, weighted=True)
    names = graph.names.tolist()
    sources = np.repeat(np.arange(graph.n_nodes), graph.degrees)
    edges = zip(graph.names[sources].tolist(), graph.names[graph.indices].tolist(), graph.weights, strict=True)
    shuffled = efge.as_graph(list(edges), nodes=names[::-1], directed=True)
    old = efge.Embedding(np.random.default_rng(2).normal(size=(25, 4)), names[:25])
    first, second = old.transform(graph), old.transform(shuffled)
    np.testing.assert_allclose(first[names].vectors, second[names].vectors, atol=1e-5)
