"""A file that is malformed, damaged or missing is a GraphError that names the file."""

import gzip
import io
import lzma
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st

import efge
from efge import Graph, GraphError, as_graph, read_graph
from graph_files import COMPRESSORS, EDGES, FILES, NAMED_FILES, NUMBERED, buffer, rows_text


def test_an_error_in_standard_input_names_it(monkeypatch):
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"a b\nc\n")))
    monkeypatch.setattr("sys.stdin", stdin)
    with pytest.raises(GraphError, match="standard input, line 2: an edge has 2 fields"):
        read_graph("-")


@pytest.mark.parametrize("name", ["graph.txt", "graph.csv", "graph.tsv", "graph.adjlist"])
@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n%\n", "\ufeff", "  \t \n"], ids=ascii)
def test_a_file_without_edges_is_an_error(write, name, text):
    path = write(name, text)
    with pytest.raises(GraphError, match=re.escape(f"{path}: a graph has at least one edge")):
        read_graph(path)


@pytest.mark.parametrize(
    "name", [name for name in FILES if name.partition(".")[2] not in ("", "txt", "csv", "tsv", "edgelist")]
)
@pytest.mark.parametrize("content", [b"", b"hello world\n", b"\x00\x01\x02\xff" * 20, "\u00e9\n".encode()], ids=repr)
def test_content_of_another_kind_is_an_error_that_names_the_file(write, name, content):
    path = write(name, content)
    with pytest.raises(GraphError) as error:
        read_graph(path)
    assert str(error.value).startswith(str(path))


MALFORMED = {
    "open.graphml": "<graphml><graph>",
    "edge.graphml": '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph>' +
    '<edge source="a"/></graph></graphml>',
    "other.graphml": "<html></html>",
    "open.gml": "graph [\n node [\n id 0\n",
    "missing.gml": 'graph [\n node [\n id 0\n label "a"\n ]\n edge [\n source 0\n target 7\n ]\n]\n',
    "few.net": '*Vertices 3\n1 "a"\n',
    "word.net": '*Vertices two\n1 "a"\n*Edges\n1 2\n',
    "edge.net": '*Vertices 2\n1 "a"\n2 "b"\n*Edges\n1\n',
    "quote.net": '*Vertices 1\n1 "a\n*Edges\n1 1\n',
    "weight.net": '*Vertices 2\n1 "a"\n2 "b"\n*Edges\n1 2 -4\n',
    "head.mtx": "%%MatrixMarket matrix coordinate\n2 2 1\n1 2 1\n",
    "few.mtx": "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1\n",
    "outside.mtx": "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 1\n",
    "zero.mtx": "%%MatrixMarket matrix coordinate real general\n2 2 1\n0 1 1\n",
    "word.mtx": "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 x\n",
    "oblong.mtx": "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 2 1\n",
    "complex.mtx": "%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 2 1 1\n",
    "negative.mtx": "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 -1\n",
    "nan.mtx": "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 nan\n",
    "array.npz": buffer(lambda stream: np.savez(stream, a=np.ones(3))),
    "none.mat": buffer(lambda stream: scipy.io.savemat(stream, {"labels": np.ones((4, 2))})),
    "words.mat": buffer(lambda stream: scipy.io.savemat(stream, {"a": np.array([["x", "y"], ["z", "w"]], object)})),
    "one.parquet": buffer(pd.DataFrame({"a": [1]}).to_parquet),
    "null.parquet": buffer(pd.DataFrame({"a": ["x", None], "b": ["y", "z"]}).to_parquet),
    "weight.parquet": buffer(pd.DataFrame({"source": [1], "target": [2], "weight": [0.0]}).to_parquet),
    "list.parquet": buffer(pd.DataFrame({"source": [[1]], "target": [[2]]}).to_parquet),
    "twice.arrow": buffer(
        lambda stream: pa.feather.write_feather(pa.table([[1], [2], [3]], names=["source", "target", "target"]), stream)
    ),
    "sum.txt": "a b 1e308\na b 1e308\n",
    "sum.csv": "a,b,1e308\na,b,1e308\n",
    "graph.txt.gz": "a b\n",
    "graph.txt.zst": "a b\n",
    "graph.txt.xz": gzip.compress(b"a b\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_file_is_an_error_that_names_it(write, name):
    path = write(name, MALFORMED[name])
    with pytest.raises(GraphError) as error:
        read_graph(path)
    assert str(error.value).startswith(str(path))


def test_a_directory_or_a_missing_file_is_an_error_that_names_it(tmp_path):
    with pytest.raises(GraphError, match=re.escape(f"{tmp_path}: this is a directory")):
        read_graph(tmp_path)
    with pytest.raises(GraphError, match=re.escape(f"{tmp_path / 'no.csv'}: no such file")):
        read_graph(tmp_path / "no.csv")
    with pytest.raises(GraphError, match="no such file"):
        as_graph("no such graph.txt")
    with pytest.raises(
        GraphError, match=r"^cora: no such file; if it is a data set, pass efge\.load_dataset\('cora'\)$"
    ):
        as_graph("cora")


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000, "/dev/null/x"], ids=["nul", "long", "below a file"])
def test_an_impossible_path_is_an_error(path):
    with pytest.raises(GraphError):
        read_graph(path)


def test_an_error_in_the_nodes_file_names_that_file(write, tmp_path):
    path = write("graph.txt", "a b\n")
    damaged = write("nodes.txt.gz", gzip.compress(b"a\n" * 100)[:-9])
    for nodes in (damaged, tmp_path, tmp_path / "missing", write("nodes.txt", ""), write("latin.txt", b"a\n\xe9\n")):
        with pytest.raises(GraphError) as error:
            read_graph(path, nodes=nodes)
        assert str(error.value).startswith(str(nodes))


def test_an_error_in_the_nodes_file_of_other_formats_names_that_file(write):
    path = write("graph.gml", FILES["graph.gml"](EDGES))
    for nodes in (write("nodes.txt", "# none\n"), write("nodes.txt.xz", lzma.compress(b"a\n" * 100)[:-9])):
        with pytest.raises(GraphError) as error:
            read_graph(path, nodes=nodes)
        assert str(error.value).startswith(str(nodes))


def test_unknown_formats_encodings_and_delimiters_are_errors(write):
    path = write("graph.txt", "a b\n")
    with pytest.raises(GraphError, match="no format 'xls'; known: edgelist, csv, tsv"):
        read_graph(path, format="xls")
    with pytest.raises(GraphError, match="no encoding 'klingon'"):
        read_graph(path, encoding="klingon")
    with pytest.raises(GraphError, match="a delimiter is one ASCII character"):
        read_graph(path, delimiter="::")


@pytest.mark.parametrize("encoding", ["rot13", "hex", "utf-16", "idna", "undefined", "ascii"])
def test_text_in_another_encoding_is_an_error(write, encoding):
    path = write("graph.txt", b"a b\n\xff ")
    with pytest.raises(GraphError):
        read_graph(path, encoding=encoding)


def test_text_that_decodes_to_a_lone_surrogate_is_an_error(write):
    with pytest.raises(GraphError, match=r"graph\.txt"):
        read_graph(write("graph.txt", b"a +2AA-\n"), encoding="utf-7")


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_a_truncated_compressed_file_is_an_error_that_names_it(write, suffix):
    packed = COMPRESSORS[suffix](
        rows_text(np.random.default_rng(6).integers(0, 10**6, (3000, 2)).tolist(), " ").encode()
    )
    for cut in (12, 20, len(packed) // 2, len(packed) - 9, len(packed) - 1):
        path = write(f"graph.txt.{suffix}", packed[:cut])
        with pytest.raises(GraphError) as error:
            read_graph(path)
        assert str(error.value).startswith(str(path))


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz"])
def test_a_compressed_file_with_a_wrong_byte_is_an_error_that_names_it(write, suffix):
    packed = bytearray(COMPRESSORS[suffix](rows_text([(i, i * 7) for i in range(3000)], " ").encode()))
    packed[len(packed) // 2] ^= 0x55
    path = write(f"graph.txt.{suffix}", bytes(packed))
    with pytest.raises(GraphError) as error:
        read_graph(path)
    assert str(error.value).startswith(str(path))


def check_read(path):
    """Read a file: the result is a valid graph, or a GraphError that names the file."""
    error = None
    try:
        graph = read_graph(path)
        Graph(graph.indptr, graph.indices, graph.weights, graph.names, graph.directed)
    except GraphError as refusal:
        error = str(refusal)
    assert error is None or error.startswith(str(path))


def truncations(content):
    rng = np.random.default_rng(7)
    sizes = {*range(min(len(content), 12)), *rng.integers(0, len(content), 30).tolist()}
    return [content[:size] for size in sorted(sizes)]


def with_wrong_bytes(content):
    rng = np.random.default_rng(8)
    for _ in range(40):
        wrong = bytearray(content)
        for place in rng.integers(0, len(wrong), rng.integers(1, 4)):
            wrong[place] = rng.integers(0, 256)
        yield bytes(wrong)


def random_bytes(content):
    rng = np.random.default_rng(9)
    return [content[: rng.integers(0, 9)] + rng.bytes(rng.integers(1, 60)) for _ in range(10)]


READ_ALL = """
import resource, sys, warnings, efge
warnings.simplefilter("ignore")
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
for path in sys.stdin.read().split():
    try:
        graph = efge.read_graph(path)
        efge.Graph(graph.indptr, graph.indices, graph.weights, graph.names, graph.directed)
        print("graph", flush=True)
    except efge.GraphError as error:
        print("refused" if str(error).startswith(path) else f"refused without its name: {error!r}", flush=True)
    except MemoryError:
        print("refused", flush=True)  # a damaged size
    except BaseException as error:
        print(repr(error).replace(chr(10), " "), flush=True)
"""


def read_in_subprocess(paths):
    """Return the outcome of each file, read in another process, which a damaged file may kill."""
    outcomes = []
    while len(outcomes) < len(paths):
        rest = "\n".join(map(str, paths[len(outcomes) :]))
        child = subprocess.run(
            [sys.executable, "-c", READ_ALL], input=rest, capture_output=True, text=True, check=False
        )
        outcomes += child.stdout.splitlines()
        if child.returncode:
            outcomes.append(f"the process ended: {child.returncode}: {child.stderr[-500:]}")
    return outcomes


DAMAGES = [(name, damage) for name in FILES for damage in (truncations, with_wrong_bytes, random_bytes)]


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    """The outcomes of reading damaged files of every format, by damage and name."""
    folder = tmp_path_factory.mktemp("damaged")
    owners, paths = [], []
    for name, make in FILES.items():
        content = make(EDGES if name in NAMED_FILES else NUMBERED)
        for damage in (truncations, with_wrong_bytes, random_bytes):
            for data in damage(content):
                owners.append((damage, name))
                paths.append(folder / f"{len(paths)}-{name}")
                paths[-1].write_bytes(data)
    found = {}
    for owner, path, outcome in zip(owners, paths, read_in_subprocess(paths), strict=True):
        found.setdefault(owner, []).append((path.name, outcome))
    return found


@pytest.mark.parametrize(("name", "damage"), DAMAGES)
def test_a_damaged_file_gives_a_graph_or_a_graph_error(damaged, name, damage):
    outcomes = damaged[damage, name]
    assert [outcome for outcome in outcomes if outcome[1] not in ("graph", "refused")] == []


def test_a_matrix_market_file_truncated_within_a_number_is_an_error(write):
    text = b"%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 5.0e"
    assert read_in_subprocess([write("graph.mtx", text)]) == ["refused"]


def arrow_with_wrong_offsets():
    table = pa.table({"source": ["ann", "bob"], "target": ["bob", "cid"]})
    stream = buffer(lambda stream: pa.feather.write_feather(table, stream, compression="uncompressed"))
    offsets = np.array([0, 3, 6], np.int32).tobytes()
    assert stream.count(offsets) == 2
    return stream.replace(offsets, np.array([0, 3, 2**30], np.int32).tobytes())


def test_an_arrow_file_with_offsets_out_of_bounds_is_an_error(write):
    assert read_in_subprocess([write("graph.feather", arrow_with_wrong_offsets())]) == ["refused"]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ["graph", "graph.adjlist", *(f"graph.txt.{suffix}" for suffix in COMPRESSORS)])
@settings(max_examples=25)
@given(content=st.binary(max_size=60) | st.text(max_size=30).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_give_a_graph_or_a_graph_error(write, name, content):
    check_read(write(name, content))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ["graph.txt", "graph.csv", "graph.tsv", "graph.adjlist"])
@settings(max_examples=150)
@given(text=st.text('ab1,;\t \n\r"#%-.0\u00e9\ufeff\u00a0', max_size=40))
def test_any_text_gives_a_graph_or_a_graph_error(write, name, text):
    check_read(write(name, text))


def test_reading_an_embedding_as_a_graph_is_an_error_that_says_so(tmp_path):
    path = tmp_path / "vectors.npz"
    efge.Embedding([[1.0], [2.0]], ["a", "b"]).save(path)
    with pytest.raises(efge.GraphError, match=r"vectors\.npz: this is an embedding, not a graph"):
        efge.read_graph(path)
