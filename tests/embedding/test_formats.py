"""All formats: round trips to the bit, files complete or not at all, and errors for damaged files."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efge import Embedding, EmbeddingError
from efge.embedding import formats
from helpers_embedding import (
    COMPRESSIBLE_FORMATS,
    FORMATS,
    INTEGERS,
    TEXTS,
    UNTYPED_FORMATS,
    embeddings,
    every_format,
    load_error,
    random_embedding,
    read_content,
    save_as,
)


@every_format
@given(embedding=embeddings(TEXTS))
def test_text_names_survive_a_round_trip(tmp_path, kind, embedding):
    path = save_as(embedding, tmp_path, kind)
    assert Embedding.load(path, names=str) == embedding
    if kind not in UNTYPED_FORMATS:
        assert Embedding.load(path) == embedding


@every_format
@given(embedding=embeddings(INTEGERS))
def test_integer_names_survive_a_round_trip(tmp_path, kind, embedding):
    path = save_as(embedding, tmp_path, kind)
    assert Embedding.load(path) == embedding
    assert Embedding.load(path, names=str).names.tolist() == list(map(str, embedding))


@pytest.mark.parametrize("kind", ["npz", "csv", "tsv"])
@given(embedding=embeddings(TEXTS | INTEGERS | st.integers(-(2**100), 2**100)))
def test_mixed_integers_and_text_keep_their_types(tmp_path, kind, embedding):
    again = Embedding.load(save_as(embedding, tmp_path, kind))
    assert again == embedding
    assert list(map(type, again)) == list(map(type, embedding))


@pytest.mark.parametrize("kind", COMPRESSIBLE_FORMATS)
@pytest.mark.parametrize(("suffix", "unpack"), [(".gz", gzip), (".bz2", bz2), (".xz", lzma), (".zst", None)])
def test_compressed_files_hold_the_same_bytes_as_plain_ones(tmp_path, kind, suffix, unpack):
    embedding = random_embedding(200, 9, [f"n {i}" for i in range(200)])
    plain, packed = tmp_path / FORMATS[kind], tmp_path / (FORMATS[kind] + suffix)
    embedding.save(plain)
    embedding.save(packed)
    assert Embedding.load(packed) == embedding
    data = packed.read_bytes()
    found = pa.CompressedInputStream(io.BytesIO(data), "zstd").read() if unpack is None else unpack.decompress(data)
    assert found == plain.read_bytes()


@pytest.mark.parametrize("kind", ["npz", "parquet"])
def test_npz_and_parquet_are_not_compressed_as_a_whole(tmp_path, kind):
    path = tmp_path / f"{FORMATS[kind]}.gz"
    with pytest.raises(EmbeddingError, match=f"{kind} files cannot be compressed as a whole; leave out .gz"):
        random_embedding().save(path)
    assert f"{kind} files cannot be compressed" in load_error(path)
    assert list(tmp_path.iterdir()) == []


@every_format
def test_an_embedding_of_no_nodes_keeps_its_dimension(tmp_path, kind):
    empty = Embedding(np.empty((0, 3)))
    if kind == "tensorboard":
        with pytest.raises(EmbeddingError, match="TensorBoard's projector needs at least one vector"):
            save_as(empty, tmp_path, kind)
        assert list(tmp_path.iterdir()) == []
    else:
        assert Embedding.load(save_as(empty, tmp_path, kind)).vectors.shape == (0, 3)


@every_format
def test_files_of_many_chunks_survive_a_round_trip(tmp_path, monkeypatch, kind):
    # Names of many sizes, some with newlines, so that chunks end anywhere within records.
    names = [f"{i}\n" + 'é"' * (i % 40) for i in range(500)]
    embedding = random_embedding(500, 4, names)
    for module in ("text_formats", "npz", "safetensors", "word2vec_binary"):
        monkeypatch.setattr(f"efge.embedding.{module}.CHUNK_BYTES", 97)
    monkeypatch.setattr("efge.embedding.text_formats._CHUNK_VALUES", 30)
    monkeypatch.setattr("efge.embedding.parquet._GROUP_VALUES", 30)
    monkeypatch.setattr("efge.embedding.word2vec_binary._CHUNK_ROWS", 7)
    path = save_as(embedding, tmp_path, kind)
    assert Embedding.load(path) == embedding


@every_format
def test_the_same_embedding_gives_the_same_bytes(tmp_path, monkeypatch, kind):
    embedding = random_embedding(names=["ann", "bob", "cid", "dan", "eve"])
    first = read_content(save_as(embedding, tmp_path, kind))
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 1e8)
    assert read_content(save_as(Embedding.load(save_as(embedding, tmp_path, kind)), tmp_path, kind)) == first


def test_a_format_can_be_named(tmp_path):
    embedding = random_embedding()
    for kind in FORMATS:
        path = tmp_path / f"{kind}.dat"
        embedding.save(path, kind.upper())
        assert Embedding.load(path, format=kind) == embedding
    known = "known: npz, parquet, arrow, safetensors, csv, tsv, word2vec, word2vec-binary, h5ad, neo4j, tensorboard"
    for call in (embedding.save, Embedding.load):
        with pytest.raises(EmbeddingError, match=f"no format 'xml'; {known}"):
            call(tmp_path / "x.csv", format="xml")
        with pytest.raises(
            EmbeddingError, match=f"the suffix does not tell the format; pass it as format= .*, {known}"
        ):
            call(tmp_path / "vectors.dat")
    with pytest.raises(ValueError, match="names must be the type str, or None; got <class 'int'>"):
        Embedding.load(tmp_path / "x.csv", names=int)


STREAMS = """
import sys, efge
efge.Embedding.load("-", format=sys.argv[1]).save("-", format=sys.argv[1])
"""


@pytest.mark.parametrize("kind", ["npz", "parquet", "csv"])
def test_standard_input_and_output_are_read_and_written(tmp_path, kind):
    path = save_as(random_embedding(), tmp_path, kind)
    command = [sys.executable, "-c", STREAMS, kind]
    done = subprocess.run(command, input=path.read_bytes(), capture_output=True, check=True)
    (tmp_path / f"again{path.suffix}").write_bytes(done.stdout)
    assert Embedding.load(tmp_path / f"again{path.suffix}") == random_embedding()


@pytest.mark.parametrize("kind", UNTYPED_FORMATS)
def test_untyped_names_are_integers_if_all_look_like_integers(tmp_path, kind):
    for names, expected in ((["1", "-2"], [1, -2]), (["1", "02"], ["1", "02"]), ([1, "x"], ["1", "x"])):
        path = save_as(random_embedding(2, 2, names), tmp_path, kind)
        assert Embedding.load(path).names.tolist() == expected


@every_format
def test_what_a_format_cannot_keep_is_refused_and_nothing_is_written(tmp_path, kind):
    def refused(names, message):
        with pytest.raises(EmbeddingError, match=message) as caught:
            save_as(random_embedding(len(names), 2, names), tmp_path, kind)
        assert FORMATS[kind] in str(caught.value)
        assert list(tmp_path.iterdir()) == []

    refused(["ann", "x\ud800"], r"a name is text that UTF-8 can hold; got .*\\ud800")
    if kind in UNTYPED_FORMATS:
        refused([1, "1"], "names that look the same as text, such as 1 and '1', cannot be told apart")
    else:
        refused([frozenset([1]), "a"], "frozenset")
    if kind in ("csv", "tsv"):
        for name in ((1, 2), 0.5, True, 10**1000):
            refused([name, "a"], "csv and tsv files keep names that are integers or text; got .* which npz may keep")
    if kind in ("parquet", "arrow"):
        refused(
            [1, "a"],
            "in Parquet and Arrow, names are either all 64-bit integers or all text; got 1, which npz may keep",
        )
    if kind == "npz":
        for name in (float("inf"), (1, float("nan")), (np.float64(0.5),), 10**5000):
            refused([name, "a"], "names")
        deep = ()
        for _ in range(3000):
            deep = (deep,)
        refused([deep], "names")


@every_format
@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=repr)
def test_a_failing_save_leaves_what_was_there(tmp_path, monkeypatch, kind, failure):
    path = save_as(random_embedding(4, 2), tmp_path, kind)
    before = read_content(path)

    def fail(_):
        raise failure

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(type(failure)):
        save_as(random_embedding(9, 3), tmp_path, kind)
    assert read_content(path) == before
    assert [entry.name for entry in tmp_path.iterdir()] == [FORMATS[kind]]
    with pytest.raises(type(failure)):
        random_embedding().save(tmp_path / "new", kind)
    assert [entry.name for entry in tmp_path.iterdir()] == [FORMATS[kind]]


def test_a_save_that_fails_half_way_leaves_what_was_there(tmp_path, monkeypatch):
    path = save_as(random_embedding(4, 2), tmp_path, "csv")
    before = read_content(path)

    def some(function, items):
        yield function(next(iter(items)))
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("efge.embedding.text_formats.map_ahead", some)
    with pytest.raises(OSError, match="No space left"):
        random_embedding(9, 3).save(path)
    assert read_content(path) == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["vectors.csv"]


def test_an_unwritable_path_is_an_error(tmp_path):
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


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("v.csv", "", "a table has a header or a row; the file is empty"),
        ("v.csv", "ann\n", "line 1: a row has a name and at least one value; got the name only"),
        ("v.csv", "node,0,1\nann,1,2\nbob,1\n", "line 3: a vector has 2 values, as in line 1; got 1"),
        ("v.csv", "node,0,1\nann,1,2\nbob,1,2,3\n", "line 3: a vector has 2 values, as in line 1; got 3"),
        ("v.csv", "node,0\nann\n", "line 2: a vector has 1 values, as in line 1; got 0"),
        ("v.csv", 'node,0,1\n"a\nb",1,2\nbob,1,two\n', "line 4: a value must be a number; got 'two'"),
        ("v.csv", "node,0,1\nann,1,\n", "line 2: a value must be a number; got ''"),
        ("v.csv", 'node,0,1\nann,"1,2"\n', "line 2: a value must be a number; got '\"1'"),
        ("v.csv", "node,0,1\nann,1,2\n\nbob,1,nan\n", "line 4: a vector must be finite in 32 bits; got nan"),
        ("v.csv", "node,0,1\nann,1e40,2\n", "line 2: a vector must be finite in 32 bits; got 1e40"),
        ("v.csv", 'node,0\nann,1\n"bob,2\ncid,3\n', "line 3: a name that begins with a quote must end with one"),
        ("v.csv", 'node,0\nann,1\n"bob"x,2\ncid,3\n', "line 3: a name that begins with a quote must end with one"),
        ("v.csv", 'node,0\nann,1\n"bob', "line 3: a name that begins with a quote must end with one"),
        ("v.csv", b"node,0\n\xff\xfe,1\n", r"line 2: text must be UTF-8; got b'\xff\xfe'"),
        ("v.csv", "node,0\nann,1\nbob,2\nann,3\n", "node names must be distinct; rows 0 and 2 are both named 'ann'"),
        ("v.csv.gz", "node,0\n", "the content of a .gz file is compressed that way; this one is not"),
        ("v.txt", "", "line 1: a word2vec file begins with the number of vectors; the file is empty"),
        (
            "v.txt",
            "ann 1 2\n",
            "line 1: a word2vec file begins with the number of vectors and their dimension; got 'ann 1 2'",
        ),
        ("v.txt", "1 0\nann\n", "line 1: a word2vec file begins with the number of vectors and their dimension"),
        ("v.txt", "-1 2\nann\n", "line 1: a word2vec file begins with the number of vectors and their dimension"),
        ("v.txt", "3 2\nann 1 2\nbob 3 4\n", "line 1: the header announces 3 vectors; got 2"),
        ("v.txt", "1 2\nann 1 2\nbob 3 4\n", "line 1: the header announces 1 vectors; got 2"),
        ("v.txt", "2 3\nann 1 2\nbob 3 4\n", "line 2: a vector has 3 values, as in line 1; got 2"),
        ("v.txt", "2 1\nann 1\nbob 3 4\n", "line 3: a vector has 1 values, as in line 1; got 2"),
        ("v.txt", "2 2\nann 1 2\nbob 3 x\n", "line 3: a value must be a number; got 'x'"),
        ("v.txt", "1 2\nann 1 inf\n", "line 2: a vector must be finite in 32 bits; got inf"),
        (
            "v.txt",
            "999999999999999999 2\nann 1 2\n",
            "the header announces 999999999999999999 vectors; got 1",
        ),
        (
            "v.txt",
            "1 999999999999999999\nann 1 2\n",
            "line 2: a vector has 999999999999999999 values, as in line 1; got 2",
        ),
        ("v.txt", "99999999999999999999 2\nann 1 2\n", "line 1: a word2vec file begins with"),
        ("v.txt", "2 1\nann 1\nann 2\n", "rows 0 and 1 are both named 'ann'"),
        ("v.bin", "", "line 1: a word2vec file begins with"),
        ("v.bin", b"\x00" * 100, "line 1: a word2vec file begins with"),
        ("v.bin", b"999999999999999999 2\nann 12345678", "the file ends in vector 1"),
        ("v.bin", b"1 999999999999999999\nann 12345678", "the file ends in vector 0"),
        (
            "v.bin",
            b"2 2\nann 12345678\nbob 1234567",
            "the header announces 2 vectors of 2 values; the file ends in vector 1",
        ),
        (
            "v.bin",
            b"1 2\nann 12345678\nbob 12345678",
            "the header announces 1 vectors of 2 values; the file has more data",
        ),
        ("v.bin", b"1 1\n\xff 1234", r"vector 0: text must be UTF-8; got b'\xff'"),
        ("v.bin", b"2 1\na 1234b \x00\x00\xc0\x7f", "row 1, 'b': a vector must be finite in 32 bits; got nan"),
        ("v.npz", "", "not a readable npz file"),
        ("v.npz", "no zip", "not a readable npz file"),
        ("v.parquet", "", "not a readable parquet file"),
        ("v.parquet", "PAR1 no, it is not PAR1", "not a readable parquet file"),
    ],
)
def test_a_malformed_file_is_an_error_with_line_and_rule(write, name, text, message):
    path = write(name, text)
    found = load_error(path)
    assert message in found
    assert found.startswith(f"{path}")


def test_missing_files_are_errors(tmp_path):
    for name in FORMATS.values():
        if "." in name:
            assert load_error(tmp_path / name) == f"{tmp_path / name}: no such file"
    assert load_error(tmp_path) == f"{tmp_path / 'tensors.tsv'}: no such file"
    assert load_error(tmp_path, format="csv") == f"{tmp_path}: this is a directory, not a file"
    assert "cannot be opened" in load_error("v\0.csv")


@pytest.fixture(scope="module")
def valid_files(tmp_path_factory):
    """A file of each format, with names of every kind that it keeps."""
    folder = tmp_path_factory.mktemp("whole")
    files = {}
    for kind in FORMATS:
        path = save_as(random_embedding(4, 3, ["ann", "b b", "é", 'c"\n']), folder, kind)
        files[kind] = sorted(path.iterdir()) if path.is_dir() else [path]
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
def test_a_damaged_file_is_refused_or_a_valid_embedding(valid_files, tmp_path, kind, damage):
    rng = np.random.default_rng(3)
    outcomes = set()
    loaded = tmp_path / FORMATS[kind]
    if kind == "tensorboard":
        loaded.mkdir()
        for file in valid_files[kind]:
            (loaded / file.name).write_bytes(file.read_bytes())
    for file in valid_files[kind]:
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
def test_a_file_in_another_format_is_refused(valid_files, tmp_path, kind):
    for other, (file, *_) in valid_files.items():
        if other != kind:
            path = tmp_path / FORMATS[kind]
            path.write_bytes(file.read_bytes())
            assert outcome(path) == "refused"


@settings(max_examples=150)
@given(text=st.text(st.sampled_from('ab01.,"\n\r\t e-'), max_size=40), kind=st.sampled_from(["csv", "tsv", "word2vec"]))
def test_any_text_is_refused_or_survives_a_round_trip(tmp_path, text, kind):
    path = tmp_path / FORMATS[kind]
    path.write_bytes(text.encode())
    if outcome(path) == "loaded":
        embedding = Embedding.load(path)
        embedding.save(path)
        assert Embedding.load(path, names=str) == Embedding(embedding, map(str, embedding))


def test_every_format_is_tested():
    # tests/embedding/test_exchange.py has the formats that do not keep every name.
    assert {*FORMATS, "h5ad", "neo4j"} == {*formats._FORMATS, "tensorboard"}
    assert re.findall(r"\.(\w+)", " ".join(formats._SUFFIXES)) == [
        "npz",
        "parquet",
        "arrow",
        "feather",
        "safetensors",
        "h5ad",
        "csv",
        "tsv",
        "txt",
        "vec",
        "w2v",
        "bin",
    ]


@pytest.mark.parametrize("chunk_bytes", [20, 45, 1 << 20])
def test_a_binary_word2vec_file_with_more_vectors_than_announced_is_refused(tmp_path, monkeypatch, chunk_bytes):
    """A vector takes 18 bytes: it is larger than a chunk that follows a header, or two are in a chunk, or all."""
    monkeypatch.setattr("efge.embedding.word2vec_binary.CHUNK_BYTES", chunk_bytes)
    Embedding(np.eye(4), list("abcd")).save(tmp_path / "v.bin", format="word2vec-binary")
    content = (tmp_path / "v.bin").read_bytes()
    for announced in (2, 3):
        (tmp_path / "v.bin").write_bytes(content.replace(b"4 4", b"%d 4" % announced, 1))
        with pytest.raises(EmbeddingError, match=f"announces {announced} vectors of 4 values; the file has more"):
            Embedding.load(tmp_path / "v.bin", format="word2vec-binary")


def test_an_output_that_could_not_be_written_is_refused_beforehand(tmp_path):
    formats.check_writable("-", "csv")
    formats.check_writable(tmp_path / "v.npz", None)
    with pytest.raises(FileNotFoundError, match="no such folder"):
        formats.check_writable(tmp_path / "missing" / "v.npz", None)
    # The projector's folder is made.
    formats.check_writable(tmp_path / "missing" / "projector", "tensorboard")
