"""Embeddings: names and bits come back from every format, neighbors equal their slow twin, broken files are told so."""

from __future__ import annotations

import bz2
import copy
import gzip
import io
import lzma
import os
import pickle
import re
import struct
import subprocess
import sys
import time
import tracemalloc
import zipfile
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import reference
from efge import Embedding, EmbeddingError
from efge.embedding import formats as vectorfiles
from efge.embedding import text_formats as vectortext

# What a file of each format is called; those without types of names, and those that may be packed.
FORMATS = {
    "npz": "vectors.npz",
    "parquet": "vectors.parquet",
    "csv": "vectors.csv",
    "tsv": "vectors.tsv",
    "word2vec": "vectors.txt",
    "word2vec-binary": "vectors.bin",
    "tensorboard": "projector",
}
UNTYPED = ("word2vec", "word2vec-binary", "tensorboard")
PACKING = ("csv", "tsv", "word2vec", "word2vec-binary")

ODD = [
    "",
    " ",
    "\u200b",
    "node",
    "1",
    "-0",
    "007",
    "a b",
    "tab\t",
    "\n",
    "\r\n",
    "\0",
    'quo"te',
    '"',
    "'",
    "\\",
    r"\u0020",
]
ODD += [r"\u200b", r"\n", ",", ";", "a,b", "\ufeff", "\x85", "\u2028", "\u3000x", "nan", "#", "é", "🦊", "x\0", "x\0\0"]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(ODD)
INTEGERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 20)
VALUES = st.floats(width=32, allow_nan=False, allow_infinity=False) | st.sampled_from(
    [0.0, -0.0, 2.0**-149, -(2.0**-149), 2.0**-126, (2 - 2**-23) * 2.0**127, float(np.float32(0.1)), 16777216.0]
)

every_format = pytest.mark.parametrize("kind", FORMATS)


@st.composite
def embeddings(draw, names):
    chosen = draw(st.lists(names, min_size=1, max_size=6, unique=True))
    dim = draw(st.integers(1, 5))
    return Embedding(draw(arrays(np.float32, (len(chosen), dim), elements=VALUES)), chosen)


def random_embedding(n=5, dim=3, names=None):
    return Embedding(np.random.default_rng(7).normal(size=(n, dim)), names)


def saved(embedding, folder, kind):
    path = folder / FORMATS[kind]
    embedding.save(path, "tensorboard" if kind == "tensorboard" else None)
    return path


def content(path):
    """The bytes of a file, or of a folder's files by their names."""
    return {file.name: file.read_bytes() for file in path.iterdir()} if path.is_dir() else path.read_bytes()


def error_of(path, **options):
    with pytest.raises(EmbeddingError) as caught:
        Embedding.load(path, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@contextmanager
def memory():
    """A function that tells the most memory that was used within."""
    tracemalloc.start()
    most = []
    try:
        yield lambda: most[0]
        most.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


# Vectors and names


def test_an_embedding_is_what_was_given():
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


def test_an_unknown_name_is_a_key_error_that_names_close_ones():
    embedding = Embedding([[1], [2], [3]], ["anna", "bob", 1])
    with pytest.raises(
        KeyError, match=r"no node named 'ann' in Embedding\(3 nodes, 1 dimensions\); close to it: 'anna'"
    ):
        embedding["ann"]
    with pytest.raises(KeyError, match=r"no node named '1' in .*; close to it: 1"):
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
        ([1, 2], None, r"vectors are numbers in two dimensions; got int64 of shape \(2,\)"),
        ([["a"]], None, "vectors are numbers in two dimensions; got <U1"),
        ([[1j]], None, "got complex128"),
        ([[1], [2, 3]], None, "vectors are rows of equally many numbers"),
        (np.empty((2, 0)), None, "a vector has at least one dimension"),
        ([[1], [2]], ["ann"], "there is a name for each of 2 vectors; got 1"),
        ([[1], [2]], np.array([[1], [2]]), "names stand one after the other"),
        ([[1], [2]], ["ann", "ann"], "node names are distinct; rows 0 and 1 are both named 'ann'"),
        ([[1], [2]], [1, True], "rows 0 and 1 are both named True"),
        ([[1], [2]], [1, None], "a node name is not NaN or None"),
        ([[1], [2]], [1, ["a"]], "a node name is hashable"),
        ([[1], [np.nan]], [8, 9], "^row 1, 9: a vector is finite in 32 bits; got nan$"),
        ([[1, 2], [3, -np.inf]], ["ann", "bob"], "^row 1, 'bob': a vector is finite in 32 bits; got -inf$"),
        ([[1e39]], None, "row 0, 0: a vector is finite in 32 bits; got inf"),
    ],
)
def test_what_is_no_embedding_is_refused(vectors, names, message):
    with pytest.raises(EmbeddingError, match=message):
        Embedding(vectors, names)


def test_the_largest_floats_are_finite():
    assert Embedding(np.full((2, 3), np.finfo(np.float32).max)).vectors.max() == np.finfo(np.float32).max


def test_an_embedding_does_not_change():
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
    with pytest.raises(AttributeError, match="does not change"):
        embedding.vectors = given
    with pytest.raises(AttributeError, match="keeps its names"):
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
    with pytest.raises(ValueError, match="as float64 they are a copy"):
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


# Neighbors

SMALL = arrays(np.float32, st.tuples(st.integers(1, 9), st.just(2)), elements=st.sampled_from([0, 1, -1, 2, 3]))


@pytest.fixture
def small_tiles(monkeypatch):
    monkeypatch.setattr("efge.embedding.nearest._TILE_QUERIES", 2)
    monkeypatch.setattr("efge.embedding.nearest._TILE_ROWS", 3)


@pytest.mark.parametrize("metric", ["cosine", "dot"])
@given(vectors=SMALL, k=st.integers(1, 12))
def test_neighbors_with_ties_and_zero_vectors_equal_those_of_the_slow_twin(small_tiles, metric, vectors, k):
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
def test_neighbors_of_random_vectors_equal_those_of_the_slow_twin(metric, dim):
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
def test_copies_of_a_vector_tie_wherever_they_stand(metric):
    vectors = np.random.default_rng(1).normal(size=(50, 33))
    embedding = Embedding(np.tile(vectors, (100, 1)))
    rows, scores = embedding.nearest(vectors[:20], k=250, metric=metric)
    for found, score in zip(rows, scores, strict=True):
        for block in (slice(0, 100), slice(100, 200)):
            assert (np.diff(found[block]) == 50).all()
            assert found[block][0] < 50
            assert len(set(score[block].tolist())) == 1


@pytest.mark.parametrize("metric", ["cosine", "dot"])
def test_right_angles_tie_at_zero_whatever_rounding_does(metric):
    for a, b in np.random.default_rng(2).normal(size=(50, 2)).astype(np.float32):
        rows, scores = Embedding([[b, -a], [-b, a]] * 4).nearest(np.array([[a, b]]), metric=metric)
        assert rows.tolist() == [list(range(8))]
        assert scores.tobytes() == bytes(4 * 8)


def test_a_node_is_not_its_own_neighbor_but_a_vector_has_all():
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


def test_wrong_questions_are_refused():
    embedding = random_embedding(3, 2)
    with pytest.raises(ValueError, match="no metric 'euclid'; known: cosine, dot"):
        embedding.neighbors(0, metric="euclid")
    with pytest.raises(ValueError, match="k is a whole number from 1 on; got 0"):
        embedding.neighbors(0, k=0)
    with pytest.raises(TypeError):
        embedding.neighbors(0, k=1.5)
    with pytest.raises(EmbeddingError, match="a vector has 2 values; got 3"):
        embedding.neighbors([1, 2, 3])
    with pytest.raises(EmbeddingError, match="row 0, 0: a vector is finite"):
        embedding.neighbors([1, np.nan])


def test_memory_for_neighbors_does_not_grow_with_the_nodes():
    vectors = np.random.default_rng(0).normal(size=(200_000, 16))
    embedding = Embedding(vectors)
    with memory() as peak:
        rows, _ = embedding.nearest(range(2000), k=1)
    assert rows.shape == (2000, 1)
    # All scores at once would take 1600 MB, and all vectors in 64 bits 26 MB.
    assert peak() < 80e6
    units = vectors / np.linalg.norm(vectors, axis=1)[:, None]
    expected = units[:50] @ units.T
    expected[np.arange(50), np.arange(50)] = -1
    assert rows[:50, 0].tolist() == expected.argmax(axis=1).tolist()


# Round trips


@every_format
@given(embedding=embeddings(TEXTS))
def test_text_names_come_back(tmp_path, kind, embedding):
    path = saved(embedding, tmp_path, kind)
    assert Embedding.load(path, names=str) == embedding
    if kind not in UNTYPED:
        assert Embedding.load(path) == embedding


@every_format
@given(embedding=embeddings(INTEGERS))
def test_integer_names_come_back(tmp_path, kind, embedding):
    path = saved(embedding, tmp_path, kind)
    assert Embedding.load(path) == embedding
    assert Embedding.load(path, names=str).names.tolist() == list(map(str, embedding))


@pytest.mark.parametrize("kind", ["npz", "csv", "tsv"])
@given(embedding=embeddings(TEXTS | INTEGERS | st.integers(-(2**100), 2**100)))
def test_integers_and_text_stay_apart(tmp_path, kind, embedding):
    again = Embedding.load(saved(embedding, tmp_path, kind))
    assert again == embedding
    assert list(map(type, again)) == list(map(type, embedding))


SCALARS = TEXTS | INTEGERS | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)
TUPLES = st.recursive(SCALARS | st.none(), lambda part: st.lists(part, max_size=3).map(tuple), max_leaves=5)


@given(embedding=embeddings(SCALARS | TUPLES.filter(lambda name: name is not None)))
def test_npz_keeps_numbers_text_and_tuples(tmp_path, embedding):
    again = Embedding.load(saved(embedding, tmp_path, "npz"))
    assert again == embedding
    assert repr(list(again)) == repr(list(embedding))


@pytest.mark.parametrize("kind", PACKING)
@pytest.mark.parametrize(("suffix", "unpack"), [(".gz", gzip), (".bz2", bz2), (".xz", lzma), (".zst", None)])
def test_packed_files_come_back_and_hold_the_same_bytes(tmp_path, kind, suffix, unpack):
    embedding = random_embedding(200, 9, [f"n {i}" for i in range(200)])
    plain, packed = tmp_path / FORMATS[kind], tmp_path / (FORMATS[kind] + suffix)
    embedding.save(plain)
    embedding.save(packed)
    assert Embedding.load(packed) == embedding
    data = packed.read_bytes()
    found = pa.CompressedInputStream(io.BytesIO(data), "zstd").read() if unpack is None else unpack.decompress(data)
    assert found == plain.read_bytes()


@pytest.mark.parametrize("kind", ["npz", "parquet"])
def test_formats_with_packing_of_their_own_are_not_packed(tmp_path, kind):
    path = tmp_path / f"{FORMATS[kind]}.gz"
    with pytest.raises(EmbeddingError, match=f"{kind} files are not packed; leave out .gz"):
        random_embedding().save(path)
    assert f"{kind} files are not packed" in error_of(path)
    assert list(tmp_path.iterdir()) == []


@every_format
def test_an_embedding_of_no_nodes_keeps_its_dimension(tmp_path, kind):
    empty = Embedding(np.empty((0, 3)))
    if kind == "tensorboard":
        with pytest.raises(EmbeddingError, match="a projector shows at least one vector"):
            saved(empty, tmp_path, kind)
        assert list(tmp_path.iterdir()) == []
    else:
        assert Embedding.load(saved(empty, tmp_path, kind)).vectors.shape == (0, 3)


@every_format
def test_files_of_many_blocks_come_back(tmp_path, monkeypatch, kind):
    # Names of many sizes, some with newlines, so that blocks end anywhere within records.
    names = [f"{i}\n" + 'é"' * (i % 40) for i in range(500)]
    embedding = random_embedding(500, 4, names)
    monkeypatch.setattr("efge.embedding.text_formats._BLOCK", 97)
    monkeypatch.setattr("efge.embedding.formats._BLOCK", 97)
    monkeypatch.setattr("efge.embedding.text_formats._BLOCK_VALUES", 30)
    path = saved(embedding, tmp_path, kind)
    assert Embedding.load(path) == embedding


@every_format
def test_the_same_embedding_gives_the_same_bytes(tmp_path, monkeypatch, kind):
    embedding = random_embedding(names=["ann", "bob", "cid", "dan", "eve"])
    first = content(saved(embedding, tmp_path, kind))
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 1e8)
    assert content(saved(Embedding.load(saved(embedding, tmp_path, kind)), tmp_path, kind)) == first


def test_a_format_can_be_named(tmp_path):
    embedding = random_embedding()
    for kind in FORMATS:
        path = tmp_path / f"{kind}.dat"
        embedding.save(path, kind.upper())
        assert Embedding.load(path, format=kind) == embedding
    known = "known: npz, parquet, csv, tsv, word2vec, word2vec-binary, tensorboard"
    for call in (embedding.save, Embedding.load):
        with pytest.raises(EmbeddingError, match=f"no format 'xml'; {known}"):
            call(tmp_path / "x.csv", format="xml")
        with pytest.raises(
            EmbeddingError, match=f"the suffix does not tell the format; pass one as format= .*, {known}"
        ):
            call(tmp_path / "vectors.dat")
    with pytest.raises(ValueError, match="names is the type str, or None; got <class 'int'>"):
        Embedding.load(tmp_path / "x.csv", names=int)


STREAMS = """
import sys, efge
efge.Embedding.load("-", format=sys.argv[1]).save("-", format=sys.argv[1])
"""


@pytest.mark.parametrize("kind", ["npz", "parquet", "csv"])
def test_standard_input_and_output_are_read_and_written(tmp_path, kind):
    path = saved(random_embedding(), tmp_path, kind)
    command = [sys.executable, "-c", STREAMS, kind]
    done = subprocess.run(command, input=path.read_bytes(), capture_output=True, check=True)
    (tmp_path / f"again{path.suffix}").write_bytes(done.stdout)
    assert Embedding.load(tmp_path / f"again{path.suffix}") == random_embedding()


# What other tools see, and what they write


def test_npz_is_readable_without_pickle_and_without_time_stamps(tmp_path):
    embedding = random_embedding(names=["ann", "b\0", "", "é", "dan"])
    path = saved(embedding, tmp_path, "npz")
    with np.load(path, allow_pickle=False) as arrays:
        assert arrays["format"].item() == b"efge embedding 1"
        assert (arrays["vectors"] == embedding.vectors).all()
        assert arrays["names"].tobytes() == "annb\0édan".encode()
        assert arrays["name_ends"].tolist() == [3, 5, 5, 7, 10]
    with zipfile.ZipFile(path) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_STORED}


def test_parquet_has_a_column_of_names_and_one_of_vectors(tmp_path):
    for names, kind in ((["a", "b"], pa.string()), ([1, 2], pa.int64())):
        table = pq.read_table(saved(random_embedding(2, 3, names), tmp_path, "parquet"))
        assert table.schema.names == ["node", "vector"]
        assert table.schema.types == [kind, table.schema.field("vector").type]
        assert pa.types.is_fixed_size_list(table.schema.field("vector").type)
        assert table["vector"].to_pylist() == random_embedding(2, 3).vectors.tolist()


def test_pandas_reads_our_tables(tmp_path):
    names = ["a,b", 'quo"te', "new\nline", "1", "é"]
    embedding = random_embedding(names=names)
    for kind, separator in (("csv", ","), ("tsv", "\t")):
        frame = pd.read_csv(saved(embedding, tmp_path, kind), sep=separator, index_col="node", dtype={"node": str})
        assert frame.index.tolist() == names
        assert (frame.to_numpy(np.float32) == embedding.vectors).all()


def test_text_has_the_shortest_decimals(tmp_path):
    Embedding([[0.1, 1 / 3, 1e20, -0.0, 2.0**-149]], ["ann"]).save(tmp_path / "v.txt")
    assert (tmp_path / "v.txt").read_text() == "1 5\nann 0.1 0.33333334 1e+20 -0 1e-45\n"


@pytest.mark.parametrize("names", [["ann", "b,b", 'c"c'], [3, 1, 2]])
@pytest.mark.parametrize("quoting", range(3))
@pytest.mark.parametrize(("suffix", "separator"), [("csv", ","), ("tsv", "\t")])
def test_tables_of_pandas_are_read(tmp_path, names, quoting, suffix, separator):
    embedding = random_embedding(3, 4, names)
    path, frame = tmp_path / f"v.{suffix}", embedding.to_pandas()
    kept = str if quoting == 1 else None
    for table in (frame, frame.rename_axis(None), frame.astype(np.float64), frame.add_prefix("x")):
        table.to_csv(path, sep=separator, quoting=quoting)
        expected = embedding if isinstance(names[0], str) or quoting != 1 else Embedding(embedding, map(str, names))
        assert Embedding.load(path, names=kept) == expected
    frame.reset_index().to_csv(path, sep=separator, index=False)
    assert Embedding.load(path) == embedding
    frame.to_csv(path, sep=separator, header=False, lineterminator="\r\n")
    assert Embedding.load(path) == embedding


@pytest.mark.parametrize(
    ("text", "names", "vectors"),
    [
        ("ann,0,1\nbob,2,3\n", ["ann", "bob"], [[0, 1], [2, 3]]),
        ("node,0,1\nbob,2,3", ["bob"], [[2, 3]]),
        ("\ufeffnode,0,1\r\nbob,2,3\r\n\r\n", ["bob"], [[2, 3]]),
        ("7,0,1\n-8,2,3\n", [7, -8], [[0, 1], [2, 3]]),
        ("7,0.5\n08,2\n", ["7", "08"], [[0.5], [2]]),
        ('"7",0.5\n8,2\n', ["7", 8], [[0.5], [2]]),
        ("city,x,y\nBonn, 1 ,+2e0\n", ["Bonn"], [[1, 2]]),
        ('"a""b\n,c",.5\n', ['a"b\n,c'], [[0.5]]),
        ("\n\nann,1e-60\n\n", ["ann"], [[0]]),
        (",0\n,5\n", [""], [[5]]),
    ],
)
def test_tables_of_many_kinds_are_read(write, text, names, vectors):
    embedding = Embedding.load(write("v.csv", text))
    assert embedding == Embedding(vectors, names)


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"node": ["ann", "bob"], "0": [1.0, 3.0], "1": [2.0, 4.0]}),
        pa.table(
            {"x": pa.array([1, 3], pa.int8()), "who": pa.array(["ann", "bob"]).dictionary_encode(), "y": [2.0, 4.0]}
        ),
        pa.table({"vector": [[1.0, 2.0], [3.0, 4.0]], "name": pa.array(["ann", "bob"], pa.large_string())}),
        pa.table({"0": [1.0, 3.0], "1": [2.0, 4.0], "__index_level_0__": ["ann", "bob"]}),
        pa.chunked_array([[[1.0, 2.0]], [[3.0, 4.0]]]),
    ],
)
def test_tables_of_parquet_are_read(tmp_path, table):
    if isinstance(table, pa.ChunkedArray):
        table = pa.table({"name": pa.chunked_array([["ann"], ["bob"]]), "embedding": table})
    pq.write_table(table, tmp_path / "v.parquet")
    assert Embedding.load(tmp_path / "v.parquet") == Embedding([[1, 2], [3, 4]], ["ann", "bob"])


def test_frames_saved_by_pandas_are_read(tmp_path):
    for names in (["ann", "bob"], [5, 3]):
        embedding = random_embedding(2, 3, names)
        embedding.to_pandas().rename(columns=str).to_parquet(tmp_path / "v.parquet")
        assert Embedding.load(tmp_path / "v.parquet") == embedding


def test_word2vec_files_of_other_tools_are_read(write):
    text = "2 2\r\nann 1 2 \r\nC:\\new 3 4  \n"
    assert Embedding.load(write("v.vec", text)) == Embedding([[1, 2], [3, 4]], ["ann", "C:\\new"])
    vectors = [struct.pack("<2f", 1, 2), struct.pack("<2f", 3, 4)]
    expected = Embedding([[1, 2], [3, 4]], ["ann", "bob"])
    for end in (b"\n", b""):
        data = b"2 2\n" + b"ann " + vectors[0] + end + b"bob " + vectors[1] + end
        assert Embedding.load(write("v.bin", data)) == expected


def test_a_projector_folder_points_at_its_files_and_keeps_others(tmp_path):
    folder = tmp_path / "projector"
    folder.mkdir()
    (folder / "notes.txt").write_text("precious")
    Embedding([[1, 0.5], [2, 3]], ["ann b", "tab\there"]).save(folder, "tensorboard")
    assert (folder / "tensors.tsv").read_text() == "1\t0.5\n2\t3\n"
    assert (folder / "metadata.tsv").read_text() == "ann b\ntab\\u0009here\n"
    config = (folder / "projector_config.pbtxt").read_text()
    assert 'tensor_path: "tensors.tsv"' in config
    assert 'metadata_path: "metadata.tsv"' in config
    assert (folder / "notes.txt").read_text() == "precious"
    assert Embedding.load(folder) == Embedding([[1, 0.5], [2, 3]], ["ann b", "tab\there"])


@pytest.mark.parametrize("binary", [False, True])
@settings(max_examples=15)
@given(embedding=embeddings(TEXTS))
def test_gensim_reads_our_files_and_we_read_its(tmp_path, binary, embedding):
    keyed = pytest.importorskip("gensim.models").KeyedVectors
    path = saved(embedding, tmp_path, "word2vec-binary" if binary else "word2vec")
    theirs = keyed.load_word2vec_format(str(path), binary=binary)
    assert len(theirs) == len(embedding)
    assert theirs.vectors.tobytes() == embedding.vectors.tobytes()
    again = tmp_path / ("again.bin" if binary else "again.txt")
    theirs.save_word2vec_format(str(again), binary=binary)
    assert Embedding.load(again, names=str) == embedding


# Names that a format does not keep


@pytest.mark.parametrize("kind", UNTYPED)
def test_names_without_types_are_integers_if_all_are(tmp_path, kind):
    for names, expected in ((["1", "-2"], [1, -2]), (["1", "02"], ["1", "02"]), ([1, "x"], ["1", "x"])):
        path = saved(random_embedding(2, 2, names), tmp_path, kind)
        assert Embedding.load(path).names.tolist() == expected


@every_format
def test_what_a_format_cannot_keep_is_refused_and_nothing_is_written(tmp_path, kind):
    def refused(names, message):
        with pytest.raises(EmbeddingError, match=message) as caught:
            saved(random_embedding(len(names), 2, names), tmp_path, kind)
        assert FORMATS[kind] in str(caught.value)
        assert list(tmp_path.iterdir()) == []

    refused(["ann", "x\ud800"], r"a name is text that UTF-8 can hold; got .*\\ud800")
    if kind in UNTYPED:
        refused([1, "1"], "names that are written alike, such as 1 and '1', cannot be told apart")
    else:
        refused([frozenset([1]), "a"], "frozenset")
    if kind in ("csv", "tsv"):
        for name in ((1, 2), 0.5, True, 10**1000):
            refused([name, "a"], "a table's names are integers and text; got .* which npz may keep")
    if kind == "parquet":
        refused([1, "a"], "names in Parquet are all integers of 64 bits or all text; got 1, which npz may keep")
    if kind == "npz":
        for name in (float("inf"), (1, float("nan")), (np.float64(0.5),), 10**5000):
            refused([name, "a"], "names")
        deep = ()
        for _ in range(3000):
            deep = (deep,)
        refused([deep], "names")


# Writing whole or not at all


@every_format
@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=repr)
def test_a_failing_save_leaves_what_was_there(tmp_path, monkeypatch, kind, failure):
    path = saved(random_embedding(4, 2), tmp_path, kind)
    before = content(path)

    def fail(_):
        raise failure

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(type(failure)):
        saved(random_embedding(9, 3), tmp_path, kind)
    assert content(path) == before
    assert [entry.name for entry in tmp_path.iterdir()] == [FORMATS[kind]]
    with pytest.raises(type(failure)):
        random_embedding().save(tmp_path / "new", kind)
    assert [entry.name for entry in tmp_path.iterdir()] == [FORMATS[kind]]


def test_a_save_that_fails_half_way_leaves_what_was_there(tmp_path, monkeypatch):
    path = saved(random_embedding(4, 2), tmp_path, "csv")
    before = content(path)

    def some(function, items):
        yield function(next(iter(items)))
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("efge.embedding.text_formats.map_ahead", some)
    with pytest.raises(OSError, match="No space left"):
        random_embedding(9, 3).save(path)
    assert content(path) == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["vectors.csv"]


def test_a_place_where_nothing_can_be_written_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such folder"):
        random_embedding().save(tmp_path / "no" / "v.csv")
    with pytest.raises(FileNotFoundError):
        random_embedding().save(tmp_path / "no" / "projector", "tensorboard")
    with pytest.raises(IsADirectoryError, match="this is a directory"):
        random_embedding().save(tmp_path, "csv")
    (tmp_path / "file").write_text("precious")
    with pytest.raises(FileExistsError):
        random_embedding().save(tmp_path / "file", "tensorboard")
    assert (tmp_path / "file").read_text() == "precious"


# Files that are not what they should be


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("v.csv", "", "a table has a header or a row; the file is empty"),
        ("v.csv", "ann\n", "line 1: a row has a name and at least one value; got the name only"),
        ("v.csv", "node,0,1\nann,1,2\nbob,1\n", "line 3: a vector has 2 values, as line 1 says; got 1"),
        ("v.csv", "node,0,1\nann,1,2\nbob,1,2,3\n", "line 3: a vector has 2 values, as line 1 says; got 3"),
        ("v.csv", "node,0\nann\n", "line 2: a vector has 1 values, as line 1 says; got 0"),
        ("v.csv", 'node,0,1\n"a\nb",1,2\nbob,1,two\n', "line 4: a value is a number; got 'two'"),
        ("v.csv", "node,0,1\nann,1,\n", "line 2: a value is a number; got ''"),
        ("v.csv", 'node,0,1\nann,"1,2"\n', "line 2: a value is a number; got '\"1'"),
        ("v.csv", "node,0,1\nann,1,2\n\nbob,1,nan\n", "line 4: a vector is finite in 32 bits; got nan"),
        ("v.csv", "node,0,1\nann,1e40,2\n", "line 2: a vector is finite in 32 bits; got 1e40"),
        ("v.csv", 'node,0\nann,1\n"bob,2\ncid,3\n', "line 3: a name that begins with a quote ends with one"),
        ("v.csv", 'node,0\nann,1\n"bob"x,2\ncid,3\n', "line 3: a name that begins with a quote ends with one"),
        ("v.csv", 'node,0\nann,1\n"bob', "line 3: a name that begins with a quote ends with one"),
        ("v.csv", b"node,0\n\xff\xfe,1\n", r"line 2: text is in UTF-8; got b'\xff\xfe'"),
        ("v.csv", "node,0\nann,1\nbob,2\nann,3\n", "node names are distinct; rows 0 and 2 are both named 'ann'"),
        ("v.csv.gz", "node,0\n", "a file named .gz is packed that way; this one is not"),
        ("v.txt", "", "line 1: a word2vec file begins with the number of vectors; the file is empty"),
        (
            "v.txt",
            "ann 1 2\n",
            "line 1: a word2vec file begins with the number of vectors and their dimension; got 'ann 1 2'",
        ),
        ("v.txt", "1 0\nann\n", "line 1: a word2vec file begins with the number of vectors and their dimension"),
        ("v.txt", "-1 2\nann\n", "line 1: a word2vec file begins with the number of vectors and their dimension"),
        ("v.txt", "3 2\nann 1 2\nbob 3 4\n", "line 1: the file has as many vectors as it says, 3; got 2"),
        ("v.txt", "1 2\nann 1 2\nbob 3 4\n", "line 1: the file has as many vectors as it says, 1; got 2"),
        ("v.txt", "2 3\nann 1 2\nbob 3 4\n", "line 2: a vector has 3 values, as line 1 says; got 2"),
        ("v.txt", "2 1\nann 1\nbob 3 4\n", "line 3: a vector has 1 values, as line 1 says; got 2"),
        ("v.txt", "2 2\nann 1 2\nbob 3 x\n", "line 3: a value is a number; got 'x'"),
        ("v.txt", "1 2\nann 1 inf\n", "line 2: a vector is finite in 32 bits; got inf"),
        (
            "v.txt",
            "999999999999999999 2\nann 1 2\n",
            "the file has as many vectors as it says, 999999999999999999; got 1",
        ),
        (
            "v.txt",
            "1 999999999999999999\nann 1 2\n",
            "line 2: a vector has 999999999999999999 values, as line 1 says; got 2",
        ),
        ("v.txt", "99999999999999999999 2\nann 1 2\n", "line 1: a word2vec file begins with"),
        ("v.txt", "2 1\nann 1\nann 2\n", "rows 0 and 1 are both named 'ann'"),
        ("v.bin", "", "line 1: a word2vec file begins with"),
        ("v.bin", b"\x00" * 100, "line 1: a word2vec file begins with"),
        ("v.bin", b"999999999999999999 2\nann 12345678", "it ends in vector 1"),
        ("v.bin", b"1 999999999999999999\nann 12345678", "it ends in vector 0"),
        ("v.bin", b"2 2\nann 12345678\nbob 1234567", "the file has 2 vectors of 2 values; it ends in vector 1"),
        (
            "v.bin",
            b"1 2\nann 12345678\nbob 12345678",
            "the file has 1 vectors of 2 values, as it says; it goes on after",
        ),
        ("v.bin", b"1 1\n\xff 1234", r"vector 0: text is in UTF-8; got b'\xff'"),
        ("v.bin", b"2 1\na 1234b \x00\x00\xc0\x7f", "row 1, 'b': a vector is finite in 32 bits; got nan"),
        ("v.npz", "", "not a npz file that can be read"),
        ("v.npz", "no zip", "not a npz file that can be read"),
        ("v.parquet", "", "not a parquet file that can be read"),
        ("v.parquet", "PAR1 no, it is not PAR1", "not a parquet file that can be read"),
    ],
)
def test_a_malformed_file_is_told_with_its_line_and_the_rule(write, name, text, message):
    path = write(name, text)
    found = error_of(path)
    assert message in found
    assert found.startswith(f"{path}")


def test_a_wrong_value_among_many_is_found_without_trying_each(tmp_path, monkeypatch):
    path = saved(random_embedding(1000, 100), tmp_path, "csv")
    path.write_bytes(path.read_bytes()[:-1] + b"x\n")
    calls, parse = [], vectortext._floats

    def counted(*arguments):
        calls.append(arguments)
        return parse(*arguments)

    monkeypatch.setattr(vectortext, "_floats", counted)
    assert "line 1001: a value is a number; got " in error_of(path)
    assert len(calls) < 2000


def test_files_that_are_not_there_are_told(tmp_path):
    for name in FORMATS.values():
        if "." in name:
            assert error_of(tmp_path / name) == f"{tmp_path / name}: no such file"
    assert error_of(tmp_path) == f"{tmp_path / 'tensors.tsv'}: no such file"
    assert error_of(tmp_path, format="csv") == f"{tmp_path}: a directory is not a file that can be read"
    assert "cannot be opened" in error_of("v\0.csv")


def test_a_malformed_projector_is_told_with_its_file(tmp_path):
    saved(random_embedding(3, 2, ["a", "b", "c"]), tmp_path, "tensorboard")
    tensors, metadata = tmp_path / "projector" / "tensors.tsv", tmp_path / "projector" / "metadata.tsv"
    values = tensors.read_text()
    for text, message in (
        ("a\nb\n", "there is a name for each of 3 vectors; got 2"),
        ("a\nb\tx\nc\n", "line 2: names stand in one column; got 2"),
        ("a\nb\nb\n", "rows 1 and 2 are both named 'b'"),
        (b"a\nb\n\xff\n", "line 3: text is in UTF-8"),
    ):
        metadata.write_bytes(text if isinstance(text, bytes) else text.encode())
        assert message in error_of(tmp_path / "projector")
    metadata.write_bytes(b"a\r\nb\r\nc")
    assert Embedding.load(tmp_path / "projector").names.tolist() == ["a", "b", "c"]
    tensors.write_text(values.replace("\n", "x\n", 1))
    assert f"{tensors}, line 1: a value is a number; got '" in error_of(tmp_path / "projector")
    tensors.write_text("")
    assert f"{tensors}: there is at least one vector; the file is empty" in error_of(tmp_path / "projector")
    metadata.unlink()
    tensors.write_text(values)
    assert error_of(tmp_path / "projector") == f"{metadata}: no such file"


def npz_of(path, **arrays):
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            data = io.BytesIO()
            np.save(data, array, allow_pickle=True)
            archive.writestr(f"{name}.npy", array if isinstance(array, bytes) else data.getvalue())
    return path


def npy_header(descr, shape):
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (
            {"format": np.array(b"efge embedding 2")},
            "has the entry 'format', b'efge embedding 1'; got b'efge embedding 2'",
        ),
        ({"format": None}, "got None"),
        ({"vectors": None}, "There is no item named 'vectors.npy'"),
        ({"vectors": np.ones((2, 2))}, "entry 'vectors': an array is of <f4 in 2 dimensions, by rows; got <f8, (2, 2)"),
        (
            {"vectors": np.ones(2, np.float32)},
            "entry 'vectors': an array is of <f4 in 2 dimensions, by rows; got <f4, (2,)",
        ),
        ({"vectors": np.array([[object()]])}, "got |O"),
        ({"vectors": np.ones((2, 2), np.float32, order="F")}, "got <f4, (2, 2), by columns"),
        ({"vectors": npy_header("<f4", (10**12, 10**6)) + b"\0" * 16}, "cannot reshape"),
        ({"vectors": npy_header("<f4", (2, 2)) + b"\0" * 15}, "not a npz file that can be read"),
        ({"vectors": b"\x93NUMPY\x03\x00rest"}, "entry 'vectors': an array is in version 1.0"),
        ({"names": np.array(["a", "b"])}, "entry 'names': an array is of <i8 in 1 dimensions, by rows; got <U1"),
        ({"names": np.arange(3)}, "there is a name for each of 2 vectors; got 3"),
        ({"names": np.array([4, 4])}, "rows 0 and 1 are both named 4"),
        ({"names": np.frombuffer(b"abc", np.uint8), "name_ends": np.array([1, 4])}, "entry 'name_ends'"),
        ({"names": np.frombuffer(b"abc", np.uint8), "name_ends": np.array([4, 3])}, "entry 'name_ends'"),
        ({"names": np.frombuffer(b"ab\xff", np.uint8), "name_ends": np.array([1, 3])}, "can't decode byte"),
        ({"names_json": np.frombuffer(b'{"a": 1}', np.uint8)}, "names are a list; got dict"),
        ({"names_json": np.frombuffer(b'[1, {"a": 1}]', np.uint8)}, "a node name is hashable"),
        ({"names_json": np.frombuffer(b"[1, null]", np.uint8)}, "a node name is not NaN or None"),
        ({"names_json": np.frombuffer(b"[1, 2", np.uint8)}, "not a npz file that can be read"),
        ({"names_json": np.frombuffer(b"[" * 100000, np.uint8)}, "not a npz file that can be read"),
    ],
)
def test_a_malformed_npz_is_told(tmp_path, entries, message):
    whole = {"format": np.array(b"efge embedding 1"), "names": np.arange(2), "vectors": np.ones((2, 2), np.float32)}
    assert Embedding.load(npz_of(tmp_path / "v.npz", **whole)) == Embedding(np.ones((2, 2)))
    kept = {name: array for name, array in (whole | entries).items() if array is not None}
    assert message in error_of(npz_of(tmp_path / "v.npz", **kept))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            pa.table({"x": [1.0], "y": [2.0]}),
            "a table has one column of names, integers or text, and one of lists or some",
        ),
        (pa.table({"a": ["x"], "b": ["y"], "c": [1.0]}), "got a: string, b: string, c: double"),
        (pa.table({"node": ["x"], "b": ["y"]}), "values are numbers; got string with 0 missing"),
        (pa.table({"node": ["x"]}), "at least one dimension"),
        (pa.table({}), "got none"),
        (pa.table({"node": [0.5], "b": [1.0]}), "a table has one column of names, integers or text"),
        (pa.table({"node": ["x"], "u": [[1.0]], "v": [[1.0]]}), "a table has one column of names"),
        (pa.table({"node": ["x", "y"], "v": [[1.0], [1.0, 2.0]]}), "all vectors have one size; got 1, 2"),
        (
            pa.table({"node": ["x", "y"], "v": [[1.0], None]}),
            "row 1: every cell has a value; there is none in column 'v'",
        ),
        (
            pa.table({"node": ["x", None], "v": [1.0, 2.0]}),
            "row 1: every cell has a value; there is none in column 'node'",
        ),
        (pa.table({"node": ["x"], "v": [[None, 1.0]]}), "values are numbers; got double with 1 missing"),
        (pa.table({"node": ["x"], "v": [["a"]]}), "values are numbers; got string"),
        (pa.table({"node": ["x", "x"], "v": [1.0, 2.0]}), "rows 0 and 1 are both named 'x'"),
        (pa.table({"node": ["x"], "v": [[float("nan")]]}), "row 0, 'x': a vector is finite in 32 bits; got nan"),
        (pa.table({"node": ["x"], "v": [1e300]}), "row 0, 'x': a vector is finite in 32 bits; got inf"),
    ],
)
def test_a_malformed_parquet_is_told(tmp_path, table, message):
    pq.write_table(table, tmp_path / "v.parquet")
    assert message in error_of(tmp_path / "v.parquet")


@pytest.fixture(scope="module")
def whole_files(tmp_path_factory):
    """A file of each format, with names of every kind that it keeps."""
    folder = tmp_path_factory.mktemp("whole")
    files = {}
    for kind in FORMATS:
        path = saved(random_embedding(4, 3, ["ann", "b b", "é", 'c"\n']), folder, kind)
        files[kind] = [*path.iterdir()] if path.is_dir() else [path]
    return files


def outcome(path, loaded=None):
    """A damaged file is an embedding, or an EmbeddingError in one line that names the file; nothing else."""
    try:
        embedding = Embedding.load(loaded or path)
    except EmbeddingError as error:
        message = str(error)
    else:
        assert np.isfinite(embedding.vectors).all()
        return "loaded"
    assert message.startswith((str(path), str(loaded)))
    assert "\n" not in message
    return "refused"


@every_format
@pytest.mark.parametrize("damage", ["cut", "flipped", "inserted"])
def test_a_damaged_file_is_refused_or_a_valid_embedding(whole_files, tmp_path, kind, damage):
    rng = np.random.default_rng(3)
    outcomes = set()
    loaded = tmp_path / FORMATS[kind]
    if kind == "tensorboard":
        loaded.mkdir()
        for file in whole_files[kind]:
            (loaded / file.name).write_bytes(file.read_bytes())
    for file in whole_files[kind]:
        data = file.read_bytes()
        path = loaded / file.name if loaded.is_dir() else loaded
        for place in rng.permutation(len(data))[:120].tolist():
            broken = bytearray(data)
            if damage == "cut":
                del broken[place:]
            elif damage == "flipped":
                broken[place] ^= 1 << int(rng.integers(8))
            else:
                broken[place:place] = rng.integers(0, 256, 2, np.uint8).tobytes()
            path.write_bytes(broken)
            outcomes.add(outcome(path, loaded))
        path.write_bytes(data)
    assert "refused" in outcomes


@pytest.mark.parametrize("kind", [kind for kind in FORMATS if kind != "tensorboard"])
def test_a_file_in_another_format_is_refused(whole_files, tmp_path, kind):
    for other, (file, *_) in whole_files.items():
        if other != kind:
            path = tmp_path / FORMATS[kind]
            path.write_bytes(file.read_bytes())
            assert outcome(path) == "refused"


@settings(max_examples=150)
@given(text=st.text(st.sampled_from('ab01.,"\n\r\t e-'), max_size=40), kind=st.sampled_from(["csv", "tsv", "word2vec"]))
def test_any_text_is_refused_or_an_embedding_that_comes_back(tmp_path, text, kind):
    path = tmp_path / FORMATS[kind]
    path.write_bytes(text.encode())
    if outcome(path) == "loaded":
        embedding = Embedding.load(path)
        embedding.save(path)
        assert Embedding.load(path, names=str) == Embedding(embedding, map(str, embedding))


def test_a_header_that_lies_takes_no_memory(write):
    for name, text in (("v.txt", b"99999999999 9999999\nann 1 2\n"), ("v.bin", b"99999999999 9999999\nann 12345678")):
        path = write(name, text)
        error_of(path)
        with memory() as peak:
            error_of(path)
        assert peak() < 20e6


def test_every_format_is_tested():
    assert set(FORMATS) == {*vectorfiles._FORMATS, "tensorboard"}
    assert re.findall(r"\.(\w+)", " ".join(vectorfiles._SUFFIXES)) == [
        "npz",
        "parquet",
        "csv",
        "tsv",
        "txt",
        "vec",
        "w2v",
        "bin",
    ]
