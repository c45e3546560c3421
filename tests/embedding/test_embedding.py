"""Embeddings: vectors and names are checked, looked up, compared, and never change."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from efge import Embedding, EmbeddingError
from helpers_embedding import random_embedding


def test_an_embedding_has_the_vectors_and_names_it_was_given():
    embedding = Embedding([[1, 2, 3], [4, 5, 6]], ["ann", "bob"])
    assert repr(embedding) == "Embedding(2 nodes, 3 dimensions)"
    assert repr(Embedding(np.zeros((34000, 128)))) == "Embedding(34,000 nodes, 128 dimensions)"
    assert (len(embedding), embedding.dim, list(embedding)) == (2, 3, ["ann", "bob"])
    assert embedding.vectors.dtype == np.float32
    assert Embedding([[1], [2]]).names.tolist() == [0, 1]
    assert Embedding([[1], [2]], np.array([7, 8], np.uint16)).names.dtype == np.int64


def test_a_name_gives_its_vector_and_a_list_an_embedding_in_its_order():
    embedding = Embedding([[1, 2], [3, 4], [5, 6]], ["ann", 2, ("a", 1)])
    assert embedding["ann"].tolist() == [1, 2]
    assert embedding[2].tolist() == embedding[np.int32(2)].tolist() == embedding[2.0].tolist() == [3, 4]
    assert embedding["a", 1].tolist() == [5, 6]
    assert embedding[[("a", 1), "ann"]] == Embedding([[5, 6], [1, 2]], [("a", 1), "ann"])
    assert embedding[[]].vectors.shape == (0, 2)
    integers = Embedding([[1], [2], [3]], [30, 10, 20])
    assert integers[np.array([20, 30])] == integers[pd.Index([20, 30])] == Embedding([[3], [1]], [20, 30])
    with pytest.raises(EmbeddingError, match="rows 0 and 1 are both named 'ann'"):
        embedding[["ann", "ann"]]


def test_membership_iteration_and_items_go_by_names():
    embedding = Embedding([[1, 2], [3, 4]], ["ann", 2])
    assert "ann" in embedding
    assert 2 in embedding
    assert "2" not in embedding
    assert 0 not in Embedding([[1.0]], [5])
    assert [(name, vector.tolist()) for name, vector in embedding.items()] == [("ann", [1, 2]), (2, [3, 4])]


def test_an_unknown_name_is_a_key_error_that_suggests_similar_names():
    embedding = Embedding([[1], [2], [3]], ["anna", "bob", 1])
    with pytest.raises(
        KeyError, match=r"no node named 'ann' in Embedding\(3 nodes, 1 dimensions\); similar names: 'anna'"
    ):
        embedding["ann"]
    with pytest.raises(KeyError, match=r"no node named '1' in .*; similar names: 1"):
        embedding["1"]
    with pytest.raises(KeyError, match=r"no node named 'zed' in Embedding\(3 nodes, 1 dimensions\)\"$"):
        embedding[["bob", "zed"]]
    with pytest.raises(KeyError, match=r"no node named 3\.5"):
        Embedding([[1]]).neighbors(3.5)
    with pytest.raises(KeyError, match="no node named 'ann'"):
        Embedding(np.zeros((2000, 1)), [f"ann{i}" for i in range(2000)])["ann"]


@pytest.mark.parametrize(
    ("vectors", "names", "message"),
    [
        ([1, 2], None, r"vectors must be a two-dimensional array of numbers; got int64 of shape \(2,\)"),
        ([["a"]], None, "vectors must be a two-dimensional array of numbers; got <U1"),
        ([[1j]], None, "got complex128"),
        ([[1], [2, 3]], None, "vectors must be rows of the same number of values"),
        (np.empty((2, 0)), None, "a vector must have at least one dimension"),
        ([[1], [2]], ["ann"], "each of 2 vectors needs a name; got 1 names"),
        ([[1], [2]], np.array([[1], [2]]), "names must be one-dimensional"),
        ([[1], [2]], ["ann", "ann"], "node names must be distinct; rows 0 and 1 are both named 'ann'"),
        ([[1], [2]], [1, True], "rows 0 and 1 are both named True"),
        ([[1], [2]], [1, None], "a node name is not NaN or None"),
        ([[1], [2]], [1, ["a"]], "a node name must be hashable"),
        ([[1], [np.nan]], [8, 9], "^row 1, 9: a vector must be finite in 32 bits; got nan$"),
        ([[1, 2], [3, -np.inf]], ["ann", "bob"], "^row 1, 'bob': a vector must be finite in 32 bits; got -inf$"),
        ([[1e39]], None, "row 0, 0: a vector must be finite in 32 bits; got inf"),
    ],
)
def test_invalid_vectors_and_names_are_refused(vectors, names, message):
    with pytest.raises(EmbeddingError, match=message):
        Embedding(vectors, names)


def test_the_largest_floats_are_finite():
    assert Embedding(np.full((2, 3), np.finfo(np.float32).max)).vectors.max() == np.finfo(np.float32).max


def test_an_embedding_is_immutable():
    given = np.ones((2, 2), np.float32)
    names = np.array([3, 4])
    embedding = Embedding(given, names)
    given[0, 0] = names[0] = 9
    assert given.flags.writeable
    assert names.flags.writeable
    assert embedding.vectors[0, 0] == 1
    assert embedding.names[0] == 3
    for array in (embedding.vectors, embedding.names, embedding[3], embedding[[4]].vectors, np.asarray(embedding)):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5
    with pytest.raises(AttributeError, match="immutable"):
        embedding.vectors = given
    with pytest.raises(AttributeError, match="its names cannot be deleted"):
        del embedding.names


@pytest.mark.parametrize("names", [[3, 4], ["ann", ("a", 1)]])
def test_copies_and_pickles_are_equal_and_read_only(names):
    embedding = Embedding([[1, 2], [3, 4]], names)
    assert names[1] in embedding
    for again in (pickle.loads(pickle.dumps(embedding)), copy.copy(embedding), copy.deepcopy(embedding)):
        assert again == embedding
        assert not again.vectors.flags.writeable
        assert not again.names.flags.writeable
        assert again[names[1]].tolist() == [3, 4]


def test_embeddings_are_equal_by_names_and_bits():
    embedding = Embedding([[0.0, 1]], ["ann"])
    assert embedding == Embedding([[0.0, 1]], ["ann"])
    assert embedding != Embedding([[-0.0, 1]], ["ann"])
    assert embedding != Embedding([[0.0, 1]], ["bob"])
    assert embedding != Embedding([[0.0, 1, 2]], ["ann"])
    assert embedding != "ann"
    assert Embedding([[1]], [1]) != Embedding([[1]], ["1"])
    with pytest.raises(TypeError, match="unhashable"):
        hash(embedding)


def test_numpy_sees_the_vectors_without_a_copy():
    embedding = random_embedding()
    assert np.shares_memory(np.asarray(embedding), embedding.vectors)
    assert np.asarray(embedding).dtype == np.float32
    assert not np.shares_memory(np.array(embedding), embedding.vectors)
    assert np.array(embedding).flags.writeable
    assert np.asarray(embedding, np.float64).dtype == np.float64
    assert np.shares_memory(embedding.__array__(np.float32), embedding.vectors)
    assert np.shares_memory(embedding.__array__(copy=False), embedding.vectors)
    assert not np.shares_memory(embedding.__array__(copy=True), embedding.vectors)
    with pytest.raises(ValueError, match="converting them to float64 needs a copy"):
        embedding.__array__(np.float64, copy=False)
    assert (np.add(embedding, 1) == embedding.vectors + 1).all()


def test_a_data_frame_has_names_and_vectors_and_can_be_changed():
    names = ["ann", 3, ("a", 1)]
    frame = random_embedding(3, 2, names).to_pandas()
    assert frame.index.name == "node"
    assert frame.index.tolist() == names
    assert frame.columns.tolist() == [0, 1]
    assert (frame.to_numpy() == random_embedding(3, 2).vectors).all()
    frame.iloc[0, 0] = 5.0
    assert random_embedding(3, 2).to_pandas().index.tolist() == [0, 1, 2]
    assert random_embedding(2, 2, [(0, 1), (0, 2)]).to_pandas().index.tolist() == [(0, 1), (0, 2)]
    assert random_embedding(2, 2, [(0, 1), (0, 2)]).to_pandas().index.nlevels == 1


@pytest.mark.parametrize("size", [10, 5000])
def test_a_name_in_another_case_is_suggested_in_large_embeddings_too(size):
    embedding = Embedding(np.ones((size, 1)), [f"Node {number}" for number in range(size)])
    with pytest.raises(KeyError, match="similar names: 'Node 7'"):
        embedding["node 7 "]


@pytest.mark.parametrize("name", [7, "7", "00007"])
def test_a_number_is_completed_by_the_zeros_before_it(name):
    with pytest.raises(KeyError, match="; similar names: '0007'") as caught:
        Embedding(np.eye(3), ["0007", "0017", "0070"])[name]
    assert caught.value.args[0].endswith("'0007'")


def test_a_name_without_its_kind_is_completed():
    with pytest.raises(KeyError, match=r"no node named 7 .*similar names: 'user:7', 'item:7'"):
        Embedding(np.eye(3), ["user:7", "item:7", "user:17"])[7]


def test_a_name_that_is_the_beginning_of_others_lists_them():
    embedding = Embedding(np.eye(3), ["Acme, Incorporated", "Acme Holdings International", "Bolt"])
    with pytest.raises(KeyError, match="similar names: 'Acme, Incorporated', 'Acme Holdings International'"):
        embedding["acme"]
    with pytest.raises(KeyError) as caught:
        embedding["b"]
    assert "similar" not in str(caught.value)
