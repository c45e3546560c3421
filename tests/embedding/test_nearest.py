"""Nearest neighbors: equal to a slow reference, with ties in a defined order, in bounded memory."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import reference
from efge import Embedding, EmbeddingError
from helpers_embedding import peak_memory, random_embedding

SMALL = arrays(np.float32, st.tuples(st.integers(1, 9), st.just(2)), elements=st.sampled_from([0, 1, -1, 2, 3]))


@pytest.fixture
def small_tiles(monkeypatch):
    monkeypatch.setattr("efge.embedding.nearest._TILE_QUERIES", 2)
    monkeypatch.setattr("efge.embedding.nearest._TILE_ROWS", 3)


@pytest.mark.parametrize("metric", ["cosine", "dot"])
@given(vectors=SMALL, k=st.integers(1, 12))
def test_neighbors_with_ties_and_zero_vectors_equal_the_reference(small_tiles, metric, vectors, k):
    embedding = Embedding(vectors)
    cosine, every = metric == "cosine", np.arange(len(vectors))
    for queries, own in ((None, every), (vectors, None)):
        rows, scores = embedding.nearest(queries, k, metric)
        twin = reference.nearest(vectors, vectors, k, cosine=cosine, own=own)
        assert rows.tolist() == [[row for row, _ in best] for best in twin]
        np.testing.assert_allclose(scores.tolist(), [[score for _, score in best] for best in twin], rtol=1e-6)
        assert not np.signbit(scores[scores == 0]).any()


@pytest.mark.parametrize("metric", ["cosine", "dot"])
@pytest.mark.parametrize("dim", [1, 5, 64])
def test_neighbors_of_random_vectors_equal_the_reference(metric, dim):
    embedding = random_embedding(60, dim)
    rows, scores = embedding.nearest(k=7, metric=metric)
    twin = reference.nearest(embedding.vectors, embedding.vectors, 7, cosine=metric == "cosine", own=np.arange(60))
    assert rows.tolist() == [[row for row, _ in best] for best in twin]
    np.testing.assert_allclose(scores, [[score for _, score in best] for best in twin], rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("metric", ["cosine", "dot"])
def test_neighbors_do_not_depend_on_the_size_of_tiles(monkeypatch, metric):
    embedding = random_embedding(300, 9)
    rows, scores = embedding.nearest(k=20, metric=metric)
    for queries, nodes in ((7, 19), (19, 20), (64, 21), (299, 299), (301, 301)):
        monkeypatch.setattr("efge.embedding.nearest._TILE_QUERIES", queries)
        monkeypatch.setattr("efge.embedding.nearest._TILE_ROWS", nodes)
        other_rows, other_scores = embedding.nearest(k=20, metric=metric)
        assert (rows == other_rows).all()
        assert scores.tobytes() == other_scores.tobytes()


@pytest.mark.parametrize("metric", ["cosine", "dot"])
def test_copies_of_a_vector_tie_in_any_row(metric):
    vectors = np.random.default_rng(1).normal(size=(50, 33))
    embedding = Embedding(np.tile(vectors, (100, 1)))
    rows, scores = embedding.nearest(vectors[:20], k=250, metric=metric)
    for found, score in zip(rows, scores, strict=True):
        for block in (slice(0, 100), slice(100, 200)):
            assert (np.diff(found[block]) == 50).all()
            assert found[block][0] < 50
            assert len(set(score[block].tolist())) == 1


@pytest.mark.parametrize("metric", ["cosine", "dot"])
def test_orthogonal_vectors_tie_at_exactly_zero(metric):
    for a, b in np.random.default_rng(2).normal(size=(50, 2)).astype(np.float32):
        rows, scores = Embedding([[b, -a], [-b, a]] * 4).nearest(np.array([[a, b]]), metric=metric)
        assert rows.tolist() == [list(range(8))]
        assert scores.tobytes() == bytes(4 * 8)


@pytest.mark.parametrize("several", [[0, 1], ["ann", "bob"]])
def test_several_nodes_are_sent_to_the_search_for_several(several):
    with pytest.raises(EmbeddingError, match=r"; for several nodes, use nearest$"):
        Embedding(np.eye(4)).neighbors(several)


def test_a_node_is_not_its_own_neighbor_but_a_vector_has_all_nodes():
    embedding = Embedding([[1, 0], [1, 0], [0, 1], [-1, 0]], ["ann", "bob", "cid", "dan"])
    assert embedding.neighbors("bob", k=2) == [("ann", 1.0), ("cid", 0.0)]
    assert embedding.neighbors([1, 0], k=2) == [("ann", 1.0), ("bob", 1.0)]
    assert embedding.neighbors(embedding["bob"], k=99) == [("ann", 1.0), ("bob", 1.0), ("cid", 0.0), ("dan", -1.0)]
    assert len(embedding.neighbors("bob", k=99)) == 3
    assert embedding.neighbors("ann", metric="dot")[-1] == ("dan", -1.0)


def test_queries_are_names_vectors_or_an_embedding():
    embedding = random_embedding(6, 2, list("abcdef"))
    rows, scores = embedding.nearest(k=3)
    assert rows.dtype == np.int64
    assert scores.dtype == np.float32
    assert (embedding.nearest(["c", "a"], k=3)[0] == rows[[2, 0]]).all()
    assert (embedding.nearest("c", k=3)[0] == rows[[2]]).all()
    assert (embedding.nearest(np.array(["c", "a"]), k=3)[0] == rows[[2, 0]]).all()
    assert embedding.nearest(embedding, k=1)[0].tolist() == [[0], [1], [2], [3], [4], [5]]
    assert embedding.nearest(embedding.vectors.astype(np.float64), k=1)[0].tolist() == [[0], [1], [2], [3], [4], [5]]


def test_few_nodes_have_few_neighbors():
    assert Embedding([[1.0, 2]], ["ann"]).neighbors("ann") == []
    assert Embedding([[1.0, 2]], ["ann"]).nearest()[0].shape == (1, 0)
    assert Embedding(np.empty((0, 2))).nearest()[0].shape == (0, 0)
    assert Embedding(np.empty((0, 2))).neighbors([1, 2]) == []
    assert random_embedding().nearest([])[0].shape == (0, 4)


def test_zero_and_extreme_vectors_have_finite_cosines():
    large = float(np.finfo(np.float32).max)
    embedding = Embedding([[0, 0], [large, large], [large, -large], [2.0**-149, 0], [-large, -large]])
    assert embedding.neighbors(0) == [(1, 0.0), (2, 0.0), (3, 0.0), (4, 0.0)]
    assert embedding.neighbors(1, k=2) == [(3, pytest.approx(0.5**0.5)), (0, 0.0)]
    assert embedding.neighbors(1, metric="dot") == [(3, pytest.approx(2**-21)), (0, 0.0), (2, 0.0), (4, -np.inf)]


@pytest.mark.parametrize("metric", ["cosine", "dot"])
def test_neighbors_do_not_depend_on_the_number_of_threads(monkeypatch, metric):
    monkeypatch.setattr("efge.embedding.nearest._TILE_QUERIES", 16)
    embedding = random_embedding(200, 7)
    results = []
    for threads in (1, 2, 5):
        monkeypatch.setattr("efge.embedding.nearest.available_threads", lambda threads=threads: threads)
        rows, scores = embedding.nearest(k=6, metric=metric)
        results.append((rows.tobytes(), scores.tobytes()))
    assert len(set(results)) == 1


@pytest.mark.parametrize("metric", ["cosine", "dot"])
def test_vectors_closer_than_rounding_errors_of_32_bits_are_ranked_in_64(metric):
    random = np.random.default_rng(3)
    query = random.normal(size=(1, 24)).astype(np.float32)
    # In 32 bits, the products of these vectors with the query are equal or in the wrong order.
    near = query * (1 + random.normal(size=(400, 24)) * 2.0**-22)
    vectors = np.concatenate([random.normal(size=(300, 24)), near]).astype(np.float32)
    rows, _ = Embedding(vectors).nearest(query, k=50, metric=metric)
    twin = reference.nearest(query, vectors, 50, cosine=metric == "cosine")
    assert rows[0].tolist() == [row for row, _ in twin[0]]


@pytest.mark.parametrize("metric", ["cosine", "dot"])
@pytest.mark.parametrize("scale", [1e-38, 1e-22, 1e18, 1e37])
def test_scores_at_the_ends_of_32_bits_equal_the_reference(metric, scale):
    vectors = (np.random.default_rng(4).normal(size=(40, 3)) * scale).astype(np.float32)
    vectors[::7] *= 1e-3
    rows, _ = Embedding(vectors).nearest(k=5, metric=metric)
    with np.errstate(over="ignore"):
        twin = reference.nearest(vectors, vectors, 5, cosine=metric == "cosine", own=np.arange(40))
    assert rows.tolist() == [[row for row, _ in best] for best in twin]


def test_candidates_are_some_nodes_without_those_excluded():
    embedding = random_embedding(30, 4, [f"n{i}" for i in range(30)])
    everything = [name for name, _ in embedding.neighbors("n3", k=99)]
    some = ["n9", "n3", "n1", "n5"]
    assert [name for name, _ in embedding.neighbors("n3", among=some)] == [n for n in everything if n in some]
    without = embedding.neighbors("n3", k=99, exclude=["n9", "n5"])
    assert [name for name, _ in without] == [name for name in everything if name not in ("n9", "n5")]
    rows, scores = embedding.nearest(k=2, among=some)
    assert rows.shape == (30, 2)
    assert set(embedding.names[rows].ravel()) <= set(some)
    assert [(embedding.names[row], score) for row, score in zip(rows[7], scores[7], strict=True)] == (
        embedding.neighbors("n7", k=2, among=some)
    )


def test_a_graph_excludes_the_neighbors_of_each_query():
    embedding = random_embedding(5, 3, list("abcde"))
    star = nx.Graph([("a", "b"), ("a", "c"), ("a", "d"), ("a", "e"), ("d", "stranger")])
    rows, scores = embedding.nearest(["b", "a", "d"], k=3, exclude=star)
    assert rows[1].tolist() == [-1, -1, -1]
    assert np.isneginf(scores[1]).all()
    assert set(embedding.names[rows[0]]) == {"c", "d", "e"}
    assert embedding.neighbors("a", exclude=star) == []
    assert {name for name, _ in embedding.neighbors("d", among=["a", "b", "d"], exclude=star)} == {"b"}
    with pytest.raises(EmbeddingError, match="neighbors of nodes given by name; the queries are vectors"):
        embedding.nearest(np.ones((1, 3)), exclude=star)
    with pytest.raises(KeyError, match="no node named 'z'"):
        embedding.neighbors("a", among=["z"])


def test_a_search_reports_each_finished_query_once(monkeypatch):
    monkeypatch.setattr("efge.embedding.nearest._BLOCK_QUERIES", 4)
    finished = []
    random_embedding(10, 2).nearest(k=1, progress=finished.append)
    assert finished == [4, 4, 2]


def test_invalid_queries_are_refused():
    embedding = random_embedding(3, 2)
    with pytest.raises(ValueError, match="no metric 'euclid'; known: cosine, dot"):
        embedding.neighbors(0, metric="euclid")
    with pytest.raises(ValueError, match="k must be a positive integer; got 0"):
        embedding.neighbors(0, k=0)
    with pytest.raises(ValueError, match=r"k must be a positive integer; got 1\.5"):
        embedding.neighbors(0, k=1.5)
    with pytest.raises(EmbeddingError, match="a vector must have 2 values; got 3"):
        embedding.neighbors([1, 2, 3])
    with pytest.raises(EmbeddingError, match="row 0, 0: a vector must be finite"):
        embedding.neighbors([1, np.nan])


def test_memory_for_neighbors_does_not_grow_with_the_nodes():
    vectors = np.random.default_rng(0).normal(size=(200_000, 16))
    embedding = Embedding(vectors)
    with peak_memory() as peak:
        rows, _ = embedding.nearest(range(2000), k=1)
    assert rows.shape == (2000, 1)
    # All scores at once would take 1600 MB, and all vectors in 64 bits 26 MB.
    assert peak() < 80e6
    units = vectors / np.linalg.norm(vectors, axis=1)[:, None]
    expected = units[:50] @ units.T
    expected[np.arange(50), np.arange(50)] = -1
    assert rows[:50, 0].tolist() == expected.argmax(axis=1).tolist()
