"""Tables and word2vec files, exchanged with pandas and gensim; shortest decimals; bounded work for errors."""

from __future__ import annotations

import struct

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from efge import Embedding
from efge.embedding import text_formats
from helpers_embedding import TEXTS, embeddings, load_error, peak_memory, random_embedding, save_as


def test_pandas_reads_our_tables(tmp_path):
    names = ["a,b", 'quo"te', "new\nline", "1", "é"]
    embedding = random_embedding(names=names)
    for kind, separator in (("csv", ","), ("tsv", "\t")):
        frame = pd.read_csv(save_as(embedding, tmp_path, kind), sep=separator, index_col="node", dtype={"node": str})
        assert frame.index.tolist() == names
        assert (frame.to_numpy(np.float32) == embedding.vectors).all()


def test_text_has_the_shortest_decimals(tmp_path):
    Embedding([[0.1, 1 / 3, 1e20, -0.0, 2.0**-149]], ["ann"]).save(tmp_path / "v.txt")
    assert (tmp_path / "v.txt").read_text() == "1 5\nann 0.1 0.33333334 1e+20 -0 1e-45\n"


@pytest.mark.parametrize("names", [["ann", "b,b", 'c"c'], [3, 1, 2]])
@pytest.mark.parametrize("quoting", range(3))
@pytest.mark.parametrize(("suffix", "separator"), [("csv", ","), ("tsv", "\t")])
def test_tables_written_by_pandas_are_read(tmp_path, names, quoting, suffix, separator):
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
def test_tables_with_and_without_headers_and_quotes_are_read(write, text, names, vectors):
    embedding = Embedding.load(write("v.csv", text))
    assert embedding == Embedding(vectors, names)


def test_word2vec_files_of_other_tools_are_read(write):
    text = "2 2\r\nann 1 2 \r\nC:\\new 3 4  \n"
    assert Embedding.load(write("v.vec", text)) == Embedding([[1, 2], [3, 4]], ["ann", "C:\\new"])
    vectors = [struct.pack("<2f", 1, 2), struct.pack("<2f", 3, 4)]
    expected = Embedding([[1, 2], [3, 4]], ["ann", "bob"])
    for end in (b"\n", b""):
        data = b"2 2\n" + b"ann " + vectors[0] + end + b"bob " + vectors[1] + end
        assert Embedding.load(write("v.bin", data)) == expected


@pytest.mark.parametrize("binary", [False, True])
@settings(max_examples=15)
@given(embedding=embeddings(TEXTS))
def test_word2vec_files_are_exchanged_with_gensim(tmp_path, binary, embedding):
    keyed = pytest.importorskip("gensim.models").KeyedVectors
    path = save_as(embedding, tmp_path, "word2vec-binary" if binary else "word2vec")
    theirs = keyed.load_word2vec_format(str(path), binary=binary)
    assert len(theirs) == len(embedding)
    assert theirs.vectors.tobytes() == embedding.vectors.tobytes()
    again = tmp_path / ("again.bin" if binary else "again.txt")
    theirs.save_word2vec_format(str(again), binary=binary)
    assert Embedding.load(again, names=str) == embedding


@pytest.mark.parametrize("name", ["v.bin", "v.txt"])
def test_gensim_finds_names_with_blanks_by_their_escapes(tmp_path, name):
    keyed = pytest.importorskip("gensim.models").KeyedVectors
    Embedding(np.eye(2), ["ann b", "cid"]).save(tmp_path / name)
    theirs = keyed.load_word2vec_format(str(tmp_path / name), binary=name == "v.bin")
    assert theirs["ann\\u0020b"].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("day.csv", "src,dst,amount\nacct-1,acct-2,5\nacct-2,acct-3,1\n"),
        ("day.tsv", "ann\tbob\nbob\tcid\n"),
        ("numbers.csv", "1,2\n1,3\n"),
        ("day.txt", "ann bob\nbob cid\n"),
    ],
)
def test_a_graph_instead_of_vectors_is_told(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert load_error(tmp_path / name).endswith(
        "if this is a graph, pass the file of vectors that efge embed writes for it"
    )


def test_a_wrong_value_among_many_is_found_by_bisection(tmp_path, monkeypatch):
    path = save_as(random_embedding(1000, 100), tmp_path, "csv")
    path.write_bytes(path.read_bytes()[:-1] + b"x\n")
    calls, parse = [], text_formats._parse_floats

    def counted(*arguments):
        calls.append(arguments)
        return parse(*arguments)

    monkeypatch.setattr(text_formats, "_parse_floats", counted)
    assert "line 1001: a value must be a number; got " in load_error(path)
    assert len(calls) < 2000


def test_a_header_with_false_counts_takes_no_memory(write):
    for name, text in (("v.txt", b"99999999999 9999999\nann 1 2\n"), ("v.bin", b"99999999999 9999999\nann 12345678")):
        path = write(name, text)
        load_error(path)
        with peak_memory() as peak:
            load_error(path)
        assert peak() < 20e6


HOSTILE_NAMES = ["=1+1", "+1", "-x", "@SUM(A1)", "'=1+1", "''@x", "'quoted'", "plain", "a=b", "-5", 7, -5]


@pytest.mark.parametrize("escape_formulas", [False, True])
@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_names_that_look_like_formulas_come_back(tmp_path, suffix, escape_formulas):
    embedding = Embedding(np.eye(len(HOSTILE_NAMES)), HOSTILE_NAMES)
    path = tmp_path / f"vectors.{suffix}"
    embedding.save(path, escape_formulas=escape_formulas)
    assert Embedding.load(path) == embedding
    cells = [line.replace("\t", ",").split(",")[0].strip('"') for line in path.read_text().splitlines()[1:]]
    texts = [cell for cell, name in zip(cells, HOSTILE_NAMES, strict=True) if isinstance(name, str)]
    assert any(cell.startswith(("=", "+", "-", "@")) for cell in texts) != escape_formulas


@pytest.mark.parametrize("escape_formulas", [False, True])
def test_names_that_look_like_formulas_come_back_from_the_projector(tmp_path, escape_formulas):
    names = [name for name in HOSTILE_NAMES if isinstance(name, str)]
    embedding = Embedding(np.eye(len(names)), names)
    embedding.save(tmp_path / "projector", "tensorboard", escape_formulas=escape_formulas)
    assert Embedding.load(tmp_path / "projector") == embedding
    lines = (tmp_path / "projector" / "metadata.tsv").read_text().splitlines()
    assert any(line.startswith(("=", "+", "-", "@")) for line in lines) != escape_formulas
