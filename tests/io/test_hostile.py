"""Hostile input: every reader and loader gives a valid result or our own error, soon and within bounds of memory."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import lzma
import pickle
import struct
import subprocess
import sys
import time
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import efge
from efge.cli.runs import read_config
from efge.datasets.catalogue import DATASETS, DatasetError
from efge.datasets.publishers import read_published
from efge.io import files
from efge.training.checkpoints import Checkpoints
from fuzz import seeds
from fuzz.mutations import mutated
from fuzz.targets import TARGETS

ALL = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)


@pytest.fixture(scope="module")
def made():
    """The seeds of each target, made once."""
    found = {}
    return lambda target: found.setdefault(target.name, target.seeds())


@ALL
def test_seeds_are_valid(target, made, tmp_path):
    assert made(target)
    for seed in made(target):
        assert target.outcome(seed, tmp_path) == "valid"


@ALL
@settings(max_examples=12)
@given(data=st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(target, tmp_path, data):
    assert target.outcome(data, tmp_path) in ("valid", "refused")


@ALL
@settings(max_examples=25)
@given(number=st.integers(0, 2**32))
def test_damaged_files_are_read_or_refused(target, made, tmp_path, number):
    random = Random(number)
    data = mutated(random.choice(made(target)), made(target), random, target.wrapping)
    assert target.outcome(data, tmp_path) in ("valid", "refused")


def test_the_harness_runs_without_atheris(tmp_path):
    command = [sys.executable, "-m", "fuzz.run", "--engine", "plain", "--runs", "60", "--targets", "labels", "split"]
    root = Path(__file__).parents[2]
    done = subprocess.run([*command, "--output", str(tmp_path)], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    targets = json.loads((tmp_path / "record.json").read_text())["targets"]
    for counts in targets.values():
        assert counts["inputs"] == counts["valid"] + counts["refused"] == 30
        assert counts["failed"] == counts["crashes"] == counts["hangs"] == 0


# Sizes that are claimed


def npy(header: str, data: bytes = b"") -> bytes:
    text = header.encode() + b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def archive(entries: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", compression) as file:
        for name, data in entries.items():
            file.writestr(name, data)
    return sink.getvalue()


def array(values) -> bytes:
    sink = io.BytesIO()
    np.save(sink, np.array(values), allow_pickle=False)
    return sink.getvalue()


def sparse_archive(**entries) -> bytes:
    return archive({f"{name}.npy": data if isinstance(data, bytes) else array(data) for name, data in entries.items()})


HUGE = 10**12
MANY_ROWS = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({HUGE},), }}"
MANY_VECTORS = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({HUGE}, {HUGE}), }}"
MARKET = "%%MatrixMarket matrix "


def old_matlab(rows: int, columns: int, kind: int = 0, data: bytes = b"") -> bytes:
    return struct.pack("<5i", kind, rows, columns, 0, 2) + b"a\0" + data


CLAIMS = {
    "w2v.txt": f"1 {HUGE}\na 1 2\n".encode(),
    "rows.txt": f"{HUGE} 2\na 1 2\n".encode(),
    "none.txt": f"0 {HUGE}\n".encode(),
    "dims.bin": f"1 {HUGE}\na ".encode() + bytes(64),
    "rows.bin": f"{HUGE} 2\na ".encode() + bytes(64),
    "none.bin": f"0 {HUGE}\n".encode(),
    "vectors.npz": sparse_archive(format=array(b"efge embedding 1"), names=array([1]), vectors=npy(MANY_VECTORS)),
    "names.npz": sparse_archive(format=array(b"efge embedding 1"), names=npy(MANY_ROWS), vectors=npy(MANY_VECTORS)),
    "csr.npz": sparse_archive(format=b"", shape=[3, 3], data=[1.0], indices=npy(MANY_ROWS), indptr=[0, 1, 1, 1]) ,
    "shape.npz": sparse_archive(format="coo", shape=[HUGE, HUGE], data=[1.0], row=[0], col=[1]),
    "large.npz": sparse_archive(format="coo", shape=[2**31 - 1] * 2, data=[1.0], row=[0], col=[1]),
    "indices.npz": sparse_archive(format="csr", shape=[3, 3], data=[1.0], indices=npy(MANY_ROWS), indptr=[0, 1, 1, 1]),
    "nodes.mtx": f"{MARKET}coordinate real general\n{HUGE} {HUGE} 1\n1 2 1.0\n".encode(),
    "large.mtx": f"{MARKET}coordinate real general\n2000000000 2000000000 1\n1 2 1.0\n".encode(),
    "entries.mtx": f"{MARKET}coordinate real general\n3 3 {HUGE}\n1 2 1.0\n".encode(),
    "full.mtx": f"{MARKET}array real general\n1000000 1000000\n1.0\n".encode(),
    "vertices.net": f"*Vertices {HUGE}\n1 a\n2 b\n*Edges\n1 2\n".encode(),
    "rows.mat": old_matlab(2**31 - 1, 2**31 - 1),
    "sparse.mat": old_matlab(2, 3, 2, np.array([1, 2e9, 2, 2e9, 1.0, 0]).tobytes()),
}  # fmt: skip


@pytest.mark.parametrize("name", CLAIMS)
def test_a_size_that_is_claimed_is_held_against_the_file(write, name):
    read = efge.Embedding.load if name in VECTORS else efge.read_graph
    path = write(name, CLAIMS[name])
    with pytest.raises((efge.GraphError, efge.EmbeddingError), match=name):
        read(path)


VECTORS = ("w2v.txt", "rows.txt", "none.txt", "dims.bin", "rows.bin", "none.bin", "vectors.npz", "names.npz")


def test_many_nodes_without_edges_are_believed_up_to_a_million(write):
    text = MARKET + "coordinate pattern general\n1000000 1000000 1\n1 2\n"
    assert efge.read_graph(write("a.mtx", text), directed=True).n_nodes == 1_000_000
    with pytest.raises(
        efge.GraphError, match="a matrix in a file of this size has 1,000,000 rows at most; got 1,000,001"
    ):
        efge.read_graph(write("b.mtx", text.replace("1000000", "1000001")), directed=True)


def test_parquet_of_many_rows_in_few_bytes_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "SMALL_ENOUGH", 1 << 16)
    one = pa.array(np.ones(200_000, np.int64))
    pq.write_table(pa.table({"source": one, "target": one}), tmp_path / "a.parquet", compression="zstd")
    with pytest.raises(efge.GraphError, match=r"a.parquet: unpacked, a file has 65,536 bytes at most, or 200 times"):
        efge.read_graph(tmp_path / "a.parquet")


@pytest.mark.parametrize("make", [pa.ipc.new_file, pa.ipc.new_stream], ids=["file", "stream"])
def test_arrow_of_many_rows_in_few_bytes_is_refused(tmp_path, monkeypatch, make):
    monkeypatch.setattr(files, "SMALL_ENOUGH", 1 << 16)
    monkeypatch.setattr(files, "MOST_TIMES_LARGER", 10)
    table = pa.table({"source": np.ones(200_000, np.int64), "target": np.ones(200_000, np.int64)})
    with make(tmp_path / "a.arrow", table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as sink:
        sink.write_table(table)
    for name in ("open_file", "open_stream"):
        monkeypatch.setattr(pa.ipc, name, lambda source: pytest.fail("it is read before it is refused"))
    with pytest.raises(efge.GraphError, match=r"a.arrow: unpacked, a file has 65,536 bytes at most, or 10 times"):
        efge.read_graph(tmp_path / "a.arrow")


# What is packed

ZEROS = bytes(1 << 22)


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue())


def packed_matlab(data: bytes) -> bytes:
    content = zlib.compress(struct.pack("<II", 14, len(data)) + data)
    return b"MATLAB".ljust(124) + b"\0\1IM" + struct.pack("<II", 15, len(content)) + content


BOMBS = {
    "a.txt.gz": lambda data: gzip.compress(data, 6),
    "a.txt.bz2": bz2.compress,
    "a.txt.xz": lzma.compress,
    "a.txt.zst": zstd,
    "a.mat": packed_matlab,
    "a.npz": lambda data: archive(
        {"format.npy": array("csr"), "shape.npy": array([2, 2]), "data.npy": array(np.frombuffer(data))},
        zipfile.ZIP_DEFLATED,
    ),
    "v.npz": lambda data: archive({"format.npy": data}, zipfile.ZIP_DEFLATED),
    "labels.gz": lambda data: gzip.compress(data, 6),
    "v.txt.gz": lambda data: gzip.compress(b"1 1\n" + data, 6),
}


def read_bomb(path: Path) -> object:
    if path.name == "labels.gz":
        return efge.read_labels(path)
    return efge.Embedding.load(path) if path.name.startswith("v.") else efge.read_graph(path)


@pytest.mark.parametrize("name", BOMBS)
def test_what_unpacks_to_too_much_is_refused(write, monkeypatch, name):
    path = write(name, BOMBS[name](ZEROS))
    for module in (files, sys.modules["efge.io.matlab"]):
        monkeypatch.setattr(module, "SMALL_ENOUGH", 1 << 20)
    with pytest.raises(
        (efge.GraphError, efge.EmbeddingError, efge.EvaluationError), match="unpack it yourself if you trust"
    ):
        read_bomb(path)


def test_what_shrinks_well_is_read_if_it_is_small_or_not_too_much(write, monkeypatch):
    text = b"".join(b"%d %d\n" % (i, i + 1) for i in range(100_000))
    monkeypatch.setattr(files, "SMALL_ENOUGH", 1 << 16)
    for name in ("a.txt.gz", "a.txt.bz2", "a.txt.xz", "a.txt.zst"):
        assert efge.read_graph(write(name, BOMBS[name](text))).n_edges == 100_000
    repeated = b"1 2\n" * 250_000
    with pytest.raises(efge.GraphError, match=r"more.txt.gz: unpacked, a file has 65,536 bytes"):
        efge.read_graph(write("more.txt.gz", gzip.compress(repeated)))
    monkeypatch.undo()
    assert efge.read_graph(write("few.txt.gz", gzip.compress(repeated))).n_edges == 1


def test_xz_in_several_streams_is_read_and_its_memory_has_a_limit(write):
    several = lzma.compress(b"1 2\n") + bytes(8) + lzma.compress(b"2 3\n") + bytes(4)
    assert efge.read_graph(write("a.xz", several)).n_edges == 2
    assert efge.read_graph(write("b.xz", lzma.compress(b"1 2\n" * 400_000 + b"2 3\n"))).n_edges == 2
    for broken in (several[:40], several[:-1] + b"x", lzma.compress(b"1 2\n")[:-3]):
        with pytest.raises(efge.GraphError, match=r"c.xz: the file is damaged or cut short"):
            efge.read_graph(write("c.xz", broken))
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 30}]
    greedy = lzma.compress(b"1 2\n", filters=filters)
    with pytest.raises(efge.GraphError, match=r"d.xz: the file is damaged or cut short: Memory usage limit"):
        efge.read_graph(write("d.xz", greedy))


LIMITED = """
import pathlib, resource, sys
import efge, networkx, pyarrow.ipc, scipy.sparse
folder = pathlib.Path(sys.argv[1])
(folder / "small.txt").write_text("a b")
efge.read_graph(folder / "small.txt")
pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (1 << 30),) * 2)
for path in sorted({*folder.iterdir()} - {folder / "small.txt"}):
    vectors = path.name in sys.argv[2:]
    read = efge.read_labels if path.stem == "bomb" else efge.Embedding.load if vectors else efge.read_graph
    try:
        print("read", path, read(path))
    except (efge.GraphError, efge.EmbeddingError, efge.EvaluationError):
        pass
print("all refused")
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs a limit to the memory")
def test_claims_and_bombs_of_full_size_need_no_memory(tmp_path):
    for name, data in CLAIMS.items():
        (tmp_path / name).write_bytes(data)
    # Streams that follow each other, and unpack to four gigabytes of zeros.
    for suffix, pack in ((".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), (".zst", zstd)):
        (tmp_path / f"bomb{suffix}").write_bytes(pack(ZEROS) * 1000)
    command = [sys.executable, "-c", LIMITED, str(tmp_path), *VECTORS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "all refused\n", done.stderr


# XML

LAUGHS = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10))
ATTACKS = {
    "laughs": f'<?xml version="1.0"?><!DOCTYPE g [<!ENTITY a0 "ha">{LAUGHS}]><graphml><graph id="&a9;"/></graphml>',
    "external": '<!DOCTYPE g [<!ENTITY x SYSTEM "file:///etc/passwd">]><graphml><graph id="&x;"/></graphml>',
    "parameter": '<!DOCTYPE g [<!ENTITY % x SYSTEM "http://localhost:9/x">%x;]><graphml><graph/></graphml>',
    "type": '<!DOCTYPE graphml SYSTEM "http://localhost:9/graphml.dtd"><graphml><graph/></graphml>',
}


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_graphml_that_declares_anything_is_refused(write, attack, encoding):
    with pytest.raises(efge.GraphError, match=r"a.graphml: GraphML declares no types and no entities; line 1 does"):
        efge.read_graph(write("a.graphml", ATTACKS[attack].encode(encoding)))


def test_words_like_a_declaration_are_no_declaration(write):
    text = '<graphml><!-- <!DOCTYPE x> --><graph edgedefault="directed"><node id="&lt;!ENTITY"/>'
    graph = efge.read_graph(write("a.graphml", text + '<edge source="1" target="2"/></graph></graphml>'))
    assert sorted(graph.names.tolist()) == ["1", "2", "<!ENTITY"]


# Nesting and length

DEEP = 200_000


def assert_soon(read, path):
    """Read or refuse a file, with a short message, in a time that what grows with a square would not keep."""
    begin, message = time.process_time(), ""
    try:
        read(path)
    except (efge.GraphError, efge.EmbeddingError) as error:
        message = str(error)
    assert len(message) < 5000
    assert time.process_time() - begin < 8


def test_deep_nesting_is_refused_everywhere(write, tmp_path):
    deep = "[" * DEEP
    with pytest.raises(efge.GraphError, match=r"a.graphml: elements stand in each other 100 deep at most; line 1"):
        efge.read_graph(write("a.graphml", "<a>" * DEEP))
    with pytest.raises(efge.GraphError, match=r"a.gml: not a GML file"):
        efge.read_graph(write("a.gml", "graph " + "[ a " * DEEP))
    names = archive(
        {"format.npy": array(b"efge embedding 1"), "names_json.npy": array(np.frombuffer(deep.encode(), np.uint8))}
    )
    with pytest.raises(efge.EmbeddingError, match=r"v.npz: .*brackets are nested too deep"):
        efge.Embedding.load(write("v.npz", names))
    for name in ("run.json", "run.toml"):
        with pytest.raises(
            ValueError, match=rf"{name}: not a configuration that can be read: brackets are nested too deep"
        ):
            read_config(write(name, deep if name == "run.json" else f"dim = {deep}"))
    efge.split_links([(0, 1), (1, 2), (2, 0), (2, 3)], 0.3).save(tmp_path / "split")
    (tmp_path / "split" / "split.json").write_text(deep)
    with pytest.raises(efge.EvaluationError, match="a split's description has directed, weighted, wanted"):
        efge.LinkSplit.load(tmp_path / "split")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("columns.txt", " ".join(map(str, range(300_000)))),
        ("columns.csv", "from,to" + ",x" * 300_000 + "\na,b"),
        ("line.txt", "a" * 3_000_000 + " b\n"),
        ("weights.txt", "".join(f"a b {i}e-300\n" for i in range(1, 150_000))),
        ("word.txt", "a b 1" + "x" * 1_000_000),
        ("token.net", '*Vertices 1\n1 "' + "x" * 2_000_000),
        ("quotes.gml", "graph [ " + '" ' * 300_000),
        ("quote.csv", '"' + '""' * 1_000_000),
        ("number.gml", "graph [ a " + "1" * 2_000_000),
        ("edges.graphml", "<graphml><graph>" + "<edge " * 200_000),
    ],
)
def test_graphs_of_endless_lines_are_read_or_refused_soon(write, name, content):
    assert_soon(efge.read_graph, write(name, content))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("cells.csv", "a" + ",1" * 500_000 + ",x"),
        ("quotes.csv", '"' + 'a""' * 700_000),
        ("values.txt", "2 1\n" + "a 1\n" * 200_000 + "b x\n"),
        ("spaces.txt", "1 1" + " " * 1_000_000),
        ("heading.csv", "node," + ",".join(map(str, range(200_000)))),
    ],
)
def test_vectors_in_endless_lines_are_read_or_refused_soon(write, name, content):
    assert_soon(efge.Embedding.load, write(name, content))


def test_a_name_of_many_dots_is_refused_at_once(write):
    begin = time.process_time()
    with pytest.raises(
        ValueError, match=r"run.toml: not a configuration that can be read: a line has 100 dots at most"
    ):
        read_config(write("run.toml", ".".join("a" * 50_000) + " = 1"))
    assert time.process_time() - begin < 2


# Code that would be run


class Trap:
    """Unpickled, it makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_nothing_loads_a_pickle(write, tmp_path):
    trap = tmp_path / "trap"
    pickled = pickle.dumps(np.array([Trap(trap)], object))
    sink = io.BytesIO()
    np.save(sink, np.array([Trap(trap)], object), allow_pickle=True)
    objects = sink.getvalue()
    for name in ("data", "format", "shape"):
        entries = {"format": "csr", "shape": [2, 2], "data": [1.0], "indices": [1], "indptr": [0, 1, 1]} | {
            name: objects
        }
        with pytest.raises(efge.GraphError, match=r"a.npz: entry '\w+': an array is of numbers or text; got object"):
            efge.read_graph(write("a.npz", sparse_archive(**entries)))
    for name in ("format", "names", "vectors"):
        entries = {"format": b"efge embedding 1", "names": [1], "vectors": np.ones((1, 2), np.float32)} | {
            name: objects
        }
        with pytest.raises(efge.EmbeddingError, match=r"v.npz: "):
            efge.Embedding.load(write("v.npz", sparse_archive(**entries)))
    for name in ("a.txt", "a.mat", "a.npz", "a.parquet", "a.arrow", "v.bin", "v.npz", "v.txt"):
        with pytest.raises((efge.GraphError, efge.EmbeddingError)):
            (efge.Embedding.load if name.startswith("v") else efge.read_graph)(write(name, pickled))
    assert not trap.exists()


def test_an_extension_type_of_arrow_runs_no_code(tmp_path):
    trap = tmp_path / "trap"
    marks = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": pickle.dumps(Trap(trap)),
    }
    schema = pa.schema([pa.field("source", pa.int64(), metadata=marks), pa.field("target", pa.int64())])
    table = pa.table([pa.array([1]), pa.array([2])], schema=schema)
    pq.write_table(table, tmp_path / "a.parquet")
    with pa.ipc.new_file(tmp_path / "a.arrow", schema) as sink:
        sink.write_table(table)
    for name in ("a.parquet", "a.arrow"):
        with suppress(efge.GraphError):
            assert efge.read_graph(tmp_path / name).n_edges == 1
    assert not trap.exists()


# Each of these once ended the process, or was another error than ours


@pytest.mark.parametrize("starts", [[0, 10**9, 1, 1], [0, -1, 1, 1], [5, 1, 1, 1]])
def test_a_sparse_matrix_that_does_not_hold_together_is_refused(write, starts):
    data = sparse_archive(format="csr", shape=[3, 3], data=[1.0], indices=[1], indptr=starts)
    with pytest.raises(efge.GraphError, match=r"a.npz: "):
        efge.read_graph(write("a.npz", data))
    matrix = scipy.sparse.csr_array((np.ones(1), [1], [0, 1, 1, 1]), shape=(3, 3))
    matrix.indptr = np.array(starts)
    with pytest.raises(efge.GraphError, match="the matrix does not hold together"):
        efge.as_graph(matrix)


def matlab_bytes(content, **options) -> bytes:
    sink = io.BytesIO()
    scipy.io.savemat(sink, content, **options)
    return sink.getvalue()


@pytest.mark.parametrize("format_", ["4", "5"])
@pytest.mark.parametrize("kind", ["sparse", "full", "integers", "complex"])
def test_matlab_files_are_read_as_scipy_reads_them(write, format_, kind):
    from efge.io.matlab import read_matlab

    full = np.arange(9.0).reshape(3, 3)
    sparse, integers = scipy.sparse.csc_array(full - 4), full.astype(np.int16)
    matrix = {"sparse": sparse, "full": full, "integers": integers, "complex": full + 1j}[kind]
    data = matlab_bytes({"first": matrix, "word": "text", "last": full.T.copy()}, format=format_)
    ours, theirs = read_matlab(data, "a.mat"), scipy.io.loadmat(io.BytesIO(data))
    assert list(ours) == ["first", "last"]
    for name, value in ours.items():
        plain, expected = (m.toarray() if scipy.sparse.issparse(m) else m for m in (value, theirs[name]))
        assert np.array_equal(plain, expected)


def test_matlab_files_of_either_byte_order_are_read(write):
    def element(kind, data):
        return struct.pack(">II", kind, len(data)) + data + bytes(-len(data) % 8)

    values = np.array([[0, 2.5], [2.5, 0]])
    parts = [
        (6, struct.pack(">II", 6, 0)),
        (5, struct.pack(">ii", 2, 2)),
        (1, b"net"),
        (9, values.astype(">f8").tobytes()),
    ]
    matrix = element(14, b"".join(element(kind, data) for kind, data in parts))
    graph = efge.read_graph(write("a.mat", b"MATLAB".ljust(124) + b"\1\0MI" + matrix))
    assert graph.weights.tolist() == [2.5, 2.5]


def test_cells_in_cells_without_end_are_refused_and_others_passed_over(write):
    inner: object = np.ones((2, 2))
    for _ in range(60):
        cell = np.empty((1, 1), object)
        cell[0, 0] = inner
        inner = cell
    nested = {"a": {"b": 1.0}}
    for _ in range(30):
        nested = {"a": nested}
    graph = efge.read_graph(write("a.mat", matlab_bytes({"cells": inner, "net": np.ones((2, 2))})))
    assert graph.n_edges == 3
    with pytest.raises(efge.GraphError, match=r"b.mat: structures stand in each other 20 deep at most"):
        efge.read_graph(write("b.mat", matlab_bytes({"s": nested})))


@pytest.mark.parametrize("rows", [-1, 2**31 - 1])
def test_old_matlab_files_end(write, rows):
    with pytest.raises(efge.GraphError, match=r"a.mat: "):
        efge.read_graph(write("a.mat", old_matlab(rows, 1, data=bytes(64)) * 2))


@pytest.mark.parametrize(
    ("heading", "body", "expected"),
    [
        ("coordinate real general", "3 3 3\n1 2 2.5\n2 3 -1e-3\n3 3 4\n", [[0, 2.5, 0], [0, 0, -1e-3], [0, 0, 4]]),
        ("coordinate Pattern SYMMETRIC", "% c\n\n3 3 2\n2 1\n3 3\n", [[0, 1, 0], [1, 0, 0], [0, 0, 1]]),
        ("coordinate integer skew-symmetric", "2 2 1\n2 1 7\n", [[0, -7], [7, 0]]),
        ("array real general", "2 2\n1\n2\n3\n4\n", [[1, 3], [2, 4]]),
        ("array real symmetric", "3 3\n1\n2\n3\n4\n5\n6\n", [[1, 2, 3], [2, 4, 5], [3, 5, 6]]),
        ("array integer skew-symmetric", "2 2\n7\n", [[0, -7], [7, 0]]),
    ],
)
def test_matrix_market_is_read_as_scipy_reads_it(write, heading, body, expected):
    from efge.graph.matrices import read_matrix_market
    from efge.graph.text_lines import TextSource

    data = f"{MARKET}{heading}\n{body}".encode()
    ours = read_matrix_market(TextSource(io.BytesIO(data), "a.mtx")).toarray()
    theirs = scipy.io.mmread(io.BytesIO(data))
    assert ours.tolist() == expected
    assert np.array_equal(ours, theirs.toarray() if scipy.sparse.issparse(theirs) else theirs)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("array real general\n2 2\n1\n2\n3\n", "has 4 values; got 3"),
        ("array real general\n2 2\n1\n2\n3\n4e", "line 6: a value is a number; got '4e'"),
        ("coordinate real general\n2 2 1\n1 3 1\n", "entries stand within the matrix of 2 x 2"),
        ("coordinate real general\n2 2 1\n1 2\n", "line 3: an entry has a row, a column and a value"),
        ("coordinate complex general\n2 2 1\n1 2 1 0\n", "real numbers; got complex ones"),
        ("coordinate real general\n2 2 2\n1 2 1\n", "has 2 entries, as the file says; got 1"),
        ("coordinate real general\n", "the file ends before it says so"),
        ("vector real general\n2 2 1\n1 2 1\n", "a layout is coordinate or array"),
    ],
)  # fmt: skip
def test_a_matrix_market_file_that_breaks_a_rule_is_refused(write, content, message):
    with pytest.raises(efge.GraphError, match=message):
        efge.read_graph(write("a.mtx", MARKET + content))


@pytest.mark.parametrize("edges", [b"1\n2\n", b"1,2,3\n2,3,4\n"])
def test_published_edges_have_two_ends(write, edges):
    path = write("a.zip", archive({"edges.csv": edges, "group-edges.csv": b"1,2\n"}))
    with pytest.raises(DatasetError, match="an edge has two ends"):
        read_published(path, DATASETS["blogcatalog"], "a.zip")


def checkpoint(tmp_path: Path, change) -> Checkpoints:
    """The state of a seed with another heading, under a checksum that is right."""
    (data,) = seeds.checkpoints()
    mark, header, rest = data[:-32].split(b"\n", 2)
    content = b"\n".join([mark, change(header), rest])
    (tmp_path / "state-5.efge").write_bytes(content + hashlib.sha256(content).digest())
    return Checkpoints(tmp_path, resume=True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"pairs": [0.0, 10.0]', b'"pairs": []'),
        (b'"pairs": [0.0, 10.0]', b'"pairs": [0.0, Infinity]'),
        (b'"pairs": [0.0, 10.0]', b'"other": [0.0, 10.0]'),
        (b'"log_likelihood": [-1.0, -0.5]', b'"log_likelihood": ["a", "b"]'),
        (b'"since_best": 1', b'"since_best": "1"'),
        (b'"best": -0.5', b'"best": null'),
        (b'{"identity"', b'[[{"identity"'),
        (b'{"identity"', b"[" * 100_000 + b'{"identity"'),
    ],
)
def test_a_checkpoint_with_another_heading_is_damaged(tmp_path, old, new):
    kept = checkpoint(tmp_path, lambda header: header.replace(old, new))
    with pytest.warns(RuntimeWarning, match="its heading cannot be read"):
        assert kept.begin(seeds.IDENTITY, [np.zeros(shape, np.float32) for shape in seeds.TABLES]).pieces == 0


def test_a_checkpoint_of_no_seed_has_none(tmp_path):
    assert checkpoint(tmp_path, lambda header: header.replace(b'"seed": 7', b'"seed": Infinity')).seed() is None
    assert checkpoint(tmp_path, lambda header: header).seed() == 7


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nodes = 5", "nodes is text; got '5'"),
        ("encoding = 3", "encoding is text"),
        ("delimiter = [1]", "delimiter is text"),
        ("directed = 1", "directed is true or false; got '1'"),
        ("source = [1]", "source is a name or a number"),
    ],
)
def test_options_of_reading_have_their_types_in_a_configuration(write, line, message):
    with pytest.raises(ValueError, match=rf"run.toml: {message}"):
        read_config(write("run.toml", f'graph = "a.csv"\n{line}\n'))


def test_a_table_of_one_column_or_of_huge_numbers_is_read(write):
    from efge.cli.evaluate import _table
    from efge.explore.columns import columns_of

    assert list(_table(write("one.csv", "node\nann\nbob\n")).columns) == ["node"]
    embedding = efge.Embedding([[1.0], [2.0], [3.0]], ["ann", "bob", "cid"])
    with pytest.raises(ValueError, match=r"many.csv: a table has fewer than 10,000 columns"):
        _table(write("many.csv", "node" + ",a" * 20_000 + "\n"))
    frame = _table(write("a.csv", f"node;x\nann;{'9' * 400}\nbob;2\ncid;3\n"))
    (column,) = columns_of(embedding, table=frame)
    assert sorted(column.categories) == ["2", "3", "9" * 400]


def test_many_values_of_one_node_are_gathered_soon(write):
    from efge.explore.columns import columns_of

    values = {"node": ["ann"] * 100_000, "x": list(range(100_000))}
    begin = time.process_time()
    pandas = pytest.importorskip("pandas")
    (column,) = columns_of(efge.Embedding([[1.0]], ["ann"]), table=pandas.DataFrame(values))
    assert time.process_time() - begin < 5
    assert column.categories[0].startswith("0, 1, 2, 3")


def test_an_entry_that_claims_more_than_its_archive_has_is_refused_before_it_is_read(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr("edges.txt", "1 2\n")
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        member = archive.getinfo("edges.txt")
        member.compress_size = member.file_size = 1 << 40
        with pytest.raises(efge.GraphError, match=r"a\.zip, edges\.txt: an entry is in the file"):
            files.archive_entry(archive, "edges.txt", "a.zip")
