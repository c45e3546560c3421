"""The approximate index: its recall is what it says, and a file of it is of use with its own vectors only."""

from __future__ import annotations

import numpy as np
import pytest

from efge import Embedding, EmbeddingError, NeighborIndex
from helpers import blobs


@pytest.fixture(scope="module")
def embedding():
    return Embedding(blobs(4000, 16, 30)[0])


@pytest.fixture(scope="module")
def index(embedding):
    return NeighborIndex.build(embedding, recall=0.95)


def test_recall_over_all_nodes_is_about_that_of_the_sample(embedding, index):
    exact, _ = embedding.nearest(k=10)
    found, scores = index.nearest(k=10)
    recall = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(exact.tolist(), found.tolist(), strict=True)])
    assert index.recall >= 0.95
    assert recall == pytest.approx(index.recall, abs=0.03)
    assert index.probes < len(index.centroids)
    assert not (found == np.arange(4000)[:, None]).any()
    assert (np.diff(scores, axis=1) <= 0).all()


def test_reading_all_lists_is_exact(embedding):
    index = NeighborIndex.build(embedding, recall=1.0)
    index.probes = len(index.centroids)
    rows, scores = embedding.nearest(range(50), k=5)
    found, cosines = index.nearest(range(50), k=5)
    assert (rows == found).mean() > 0.98  # all but ties of 32 bits
    np.testing.assert_allclose(cosines, scores, atol=1e-6)


def test_an_index_of_the_same_vectors_has_the_same_bytes_and_reads_back(tmp_path, embedding, index):
    index.save(tmp_path / "a.index")
    NeighborIndex.build(embedding, recall=0.95).save(tmp_path / "b.index")
    assert (tmp_path / "a.index").read_bytes() == (tmp_path / "b.index").read_bytes()
    again = NeighborIndex.load(tmp_path / "a.index", embedding)
    assert repr(again) == repr(index)
    assert again.nearest([7], 9)[0].tolist() == index.nearest([7], 9)[0].tolist()
    assert again.neighbors(7, 3) == index.neighbors(7, 3)


def test_other_vectors_and_damaged_files_are_refused(tmp_path, embedding, index):
    path = tmp_path / "a.index"
    index.save(path)
    with pytest.raises(EmbeddingError, match="this is the index of other vectors; build it again"):
        NeighborIndex.load(path, Embedding(embedding.vectors * 2))
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(EmbeddingError, match=r"a\.index: not a readable index"):
        NeighborIndex.load(path, embedding)
    embedding.save(tmp_path / "v.npz")
    with pytest.raises(EmbeddingError, match="an index has the entry 'format'"):
        NeighborIndex.load(tmp_path / "v.npz", embedding)


def test_equal_and_zero_vectors_have_neighbors_other_than_themselves():
    rows, _ = NeighborIndex.build(Embedding(np.ones((30, 3)))).nearest(k=4)
    assert not (rows == np.arange(30)[:, None]).any()
    rows, scores = NeighborIndex.build(Embedding(np.zeros((5, 3)))).nearest(k=9)
    assert rows.shape == (5, 4)
    assert (scores == 0).all()


def test_wrong_arguments_are_refused(embedding, index):
    with pytest.raises(ValueError, match="recall is a fraction above 0 and at most 1; got 0"):
        NeighborIndex.build(embedding, recall=0)
    with pytest.raises(EmbeddingError, match="at least one vector"):
        NeighborIndex.build(Embedding(np.empty((0, 3))))
    with pytest.raises(ValueError, match="k must be a positive integer"):
        index.nearest(k=0)
