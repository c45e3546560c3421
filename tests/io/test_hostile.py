"""Hostile input: every reader gives a valid result or one of our errors, quickly and with limited memory."""

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
import pyarrow.feather
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
from efge.io import arrow, files
from efge.io.atomic import atomic_write
from efge.training.checkpoints import Checkpoints
from fuzz import seeds
from fuzz.mutations import mutated
from fuzz.targets import TARGETS

EVERY_TARGET = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)


@pytest.fixture(scope="module")
def seeds_of():
    """The seeds of each target, created once."""
    cache = {}
    return lambda target: cache.setdefault(target.name, target.seeds())


@EVERY_TARGET
def test_seeds_are_valid(target, seeds_of, tmp_path):
    assert seeds_of(target)
    for seed in seeds_of(target):
        assert target.outcome(seed, tmp_path) == "valid"


@EVERY_TARGET
@settings(max_examples=12)
@given(data=st.binary(max_size=300))
def test_any_bytes_are_valid_or_rejected(target, tmp_path, data):
    assert target.outcome(data, tmp_path) in ("valid", "rejected")


@EVERY_TARGET
@settings(max_examples=25)
@given(number=st.integers(0, 2**32))
def test_damaged_files_are_valid_or_rejected(target, seeds_of, tmp_path, number):
    random = Random(number)
    data = mutated(random.choice(seeds_of(target)), seeds_of(target), random, target.wrapping)
    assert target.outcome(data, tmp_path) in ("valid", "rejected")


def test_the_harness_runs_without_atheris(tmp_path):
    command = [sys.executable, "-m", "fuzz.run", "--engine", "plain", "--runs", "60", "--targets", "labels", "split"]
    root = Path(__file__).parents[2]
    done = subprocess.run([*command, "--output", str(tmp_path)], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    targets = json.loads((tmp_path / "record.json").read_text())["targets"]
    for counts in targets.values():
        assert counts["inputs"] == counts["valid"] + counts["rejected"] == 30
        assert counts["failed"] == counts["crashes"] == counts["hangs"] == 0


# Sizes that a file claims


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


def matlab_v4(rows: int, columns: int, kind: int = 0, data: bytes = b"") -> bytes:
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
    "rows.mat": matlab_v4(2**31 - 1, 2**31 - 1),
    "sparse.mat": matlab_v4(2, 3, 2, np.array([1, 2e9, 2, 2e9, 1.0, 0]).tobytes()),
}  # fmt: skip


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claimed_size_is_checked_against_the_file(write, name):
    read = efge.Embedding.load if name in VECTORS else efge.read_graph
    path = write(name, CLAIMS[name])
    with pytest.raises((efge.GraphError, efge.EmbeddingError), match=name):
        read(path)


VECTORS = ("w2v.txt", "rows.txt", "none.txt", "dims.bin", "rows.bin", "none.bin", "vectors.npz", "names.npz")


def test_a_matrix_may_claim_up_to_a_million_empty_rows(write):
    text = MARKET + "coordinate pattern general\n1000000 1000000 1\n1 2\n"
    assert efge.read_graph(write("a.mtx", text), directed=True).n_nodes == 1_000_000
    with pytest.raises(
        efge.GraphError, match="a matrix in a file of this size has 1,000,000 rows at most; got 1,000,001"
    ):
        efge.read_graph(write("b.mtx", text.replace("1000000", "1000001")), directed=True)


def test_parquet_that_expands_too_much_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_UNCHECKED_SIZE", 1 << 16)
    one = pa.array(np.ones(200_000, np.int64))
    pq.write_table(pa.table({"source": one, "target": one}), tmp_path / "a.parquet", compression="zstd")
    with pytest.raises(
        efge.GraphError, match=r"a.parquet: a compressed file may expand to 65,536 bytes, or to 200 times"
    ):
        efge.read_graph(tmp_path / "a.parquet")


@pytest.mark.parametrize("make", [pa.ipc.new_file, pa.ipc.new_stream], ids=["file", "stream"])
def test_arrow_that_expands_too_much_is_an_error(tmp_path, monkeypatch, make):
    monkeypatch.setattr(files, "MAX_UNCHECKED_SIZE", 1 << 16)
    monkeypatch.setattr(files, "MAX_EXPANSION", 10)
    table = pa.table({"source": np.ones(200_000, np.int64), "target": np.ones(200_000, np.int64)})
    with make(tmp_path / "a.arrow", table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as sink:
        sink.write_table(table)
    for name in ("open_file", "open_stream"):
        monkeypatch.setattr(pa.ipc, name, lambda source: pytest.fail("the file is read before its size is checked"))
    with pytest.raises(efge.GraphError, match=r"a.arrow: a compressed file may expand to 65,536 bytes, or to 10 times"):
        efge.read_graph(tmp_path / "a.arrow")


# Compressed data

ZEROS = bytes(1 << 22)


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue())


def compressed_matlab(data: bytes) -> bytes:
    content = zlib.compress(struct.pack("<II", 14, len(data)) + data)
    return b"MATLAB".ljust(124) + b"\0\1IM" + struct.pack("<II", 15, len(content)) + content


BOMBS = {
    "a.txt.gz": lambda data: gzip.compress(data, 6),
    "a.txt.bz2": bz2.compress,
    "a.txt.xz": lzma.compress,
    "a.txt.zst": zstd,
    "a.mat": compressed_matlab,
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
def test_a_decompression_bomb_is_an_error(write, monkeypatch, name):
    path = write(name, BOMBS[name](ZEROS))
    for module in (files, sys.modules["efge.io.matlab"]):
        monkeypatch.setattr(module, "MAX_UNCHECKED_SIZE", 1 << 20)
    with pytest.raises(
        (efge.GraphError, efge.EmbeddingError, efge.EvaluationError), match="decompress it yourself if you trust"
    ):
        read_bomb(path)


def test_well_compressed_files_are_read_within_the_limits(write, monkeypatch):
    text = b"".join(b"%d %d\n" % (i, i + 1) for i in range(100_000))
    monkeypatch.setattr(files, "MAX_UNCHECKED_SIZE", 1 << 16)
    for name in ("a.txt.gz", "a.txt.bz2", "a.txt.xz", "a.txt.zst"):
        assert efge.read_graph(write(name, BOMBS[name](text))).n_edges == 100_000
    repeated = b"1 2\n" * 250_000
    with pytest.raises(efge.GraphError, match=r"more.txt.gz: a compressed file may expand to 65,536 bytes"):
        efge.read_graph(write("more.txt.gz", gzip.compress(repeated)))
    monkeypatch.undo()
    assert efge.read_graph(write("few.txt.gz", gzip.compress(repeated))).n_edges == 1


def test_xz_may_have_several_streams_and_has_a_memory_limit(write):
    several = lzma.compress(b"1 2\n") + bytes(8) + lzma.compress(b"2 3\n") + bytes(4)
    assert efge.read_graph(write("a.xz", several)).n_edges == 2
    assert efge.read_graph(write("b.xz", lzma.compress(b"1 2\n" * 400_000 + b"2 3\n"))).n_edges == 2
    for broken in (several[:40], several[:-1] + b"x", lzma.compress(b"1 2\n")[:-3]):
        with pytest.raises(efge.GraphError, match=r"c.xz: the file is damaged or truncated"):
            efge.read_graph(write("c.xz", broken))
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 30}]
    greedy = lzma.compress(b"1 2\n", filters=filters)
    with pytest.raises(efge.GraphError, match=r"d.xz: the file is damaged or truncated: Memory usage limit"):
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
print("all rejected")
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs a limit to the memory")
def test_claims_and_bombs_of_full_size_are_rejected_within_a_gigabyte(tmp_path):
    for name, data in CLAIMS.items():
        (tmp_path / name).write_bytes(data)
    # Consecutive streams that decompress to four gigabytes of zeros.
    for suffix, compress in ((".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), (".zst", zstd)):
        (tmp_path / f"bomb{suffix}").write_bytes(compress(ZEROS) * 1000)
    command = [sys.executable, "-c", LIMITED, str(tmp_path), *VECTORS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "all rejected\n", done.stderr


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
def test_graphml_with_declarations_is_an_error(write, attack, encoding):
    with pytest.raises(efge.GraphError, match=r"a.graphml: GraphML declares no types and no entities; line 1 does"):
        efge.read_graph(write("a.graphml", ATTACKS[attack].encode(encoding)))


def test_declarations_in_comments_and_text_are_allowed(write):
    text = '<graphml><!-- <!DOCTYPE x> --><graph edgedefault="directed"><node id="&lt;!ENTITY"/>'
    graph = efge.read_graph(write("a.graphml", text + '<edge source="1" target="2"/></graph></graphml>'))
    assert sorted(graph.names.tolist()) == ["1", "2", "<!ENTITY"]


# Nesting and length

DEEP = 200_000


def assert_fast(read, path):
    """Read or reject a file, with a short message, in a time that an algorithm of quadratic cost would exceed."""
    start, message = time.process_time(), ""
    try:
        read(path)
    except (efge.GraphError, efge.EmbeddingError) as error:
        message = str(error)
    assert len(message) < 5000
    assert time.process_time() - start < 8


def test_deep_nesting_is_an_error_in_every_format(write, tmp_path):
    deep = "[" * DEEP
    with pytest.raises(efge.GraphError, match=r"a.graphml: elements are nested at most 100 deep; line 1"):
        efge.read_graph(write("a.graphml", "<a>" * DEEP))
    with pytest.raises(efge.GraphError, match=r"a.gml: not a valid GML file"):
        efge.read_graph(write("a.gml", "graph " + "[ a " * DEEP))
    names = archive(
        {"format.npy": array(b"efge embedding 1"), "names_json.npy": array(np.frombuffer(deep.encode(), np.uint8))}
    )
    with pytest.raises(efge.EmbeddingError, match=r"v.npz: .*brackets are nested too deeply"):
        efge.Embedding.load(write("v.npz", names))
    for name in ("run.json", "run.toml"):
        with pytest.raises(
            ValueError, match=rf"{name}: cannot read this configuration: brackets are nested too deeply"
        ):
            read_config(write(name, deep if name == "run.json" else f"dim = {deep}"))
    efge.split_links([(0, 1), (1, 2), (2, 0), (2, 3)], 0.3).save(tmp_path / "split")
    (tmp_path / "split" / "split.json").write_text(deep)
    with pytest.raises(efge.EvaluationError, match="the description of a split has directed, weighted, n_requested"):
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
def test_graphs_with_very_long_lines_are_read_or_rejected_quickly(write, name, content):
    assert_fast(efge.read_graph, write(name, content))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("cells.csv", "a" + ",1" * 500_000 + ",x"),
        ("quotes.csv", '"' + 'a""' * 700_000),
        ("values.txt", "2 1\n" + "a 1\n" * 200_000 + "b x\n"),
        ("spaces.txt", "1 1" + " " * 1_000_000),
        ("header.csv", "node," + ",".join(map(str, range(200_000)))),
    ],
)
def test_vectors_with_very_long_lines_are_read_or_rejected_quickly(write, name, content):
    assert_fast(efge.Embedding.load, write(name, content))


def test_a_toml_key_with_many_dots_is_rejected_quickly(write):
    start = time.process_time()
    with pytest.raises(ValueError, match=r"run.toml: cannot read this configuration: a line has 100 dots at most"):
        read_config(write("run.toml", ".".join("a" * 50_000) + " = 1"))
    assert time.process_time() - start < 2


# Code in data


class Trap:
    """Creates a file when it is unpickled."""

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
        with pytest.raises(efge.GraphError, match=r"a.npz: entry '\w+': an array holds numbers or text; got object"):
            efge.read_graph(write("a.npz", sparse_archive(**entries)))
    for name in ("format", "names", "vectors"):
        entries = {"format": b"efge embedding 1", "names": [1], "vectors": np.ones((1, 2), np.float32)} | {
            name: objects
        }
        with pytest.raises(efge.EmbeddingError, match=r"v.npz: "):
            efge.Embedding.load(write("v.npz", sparse_archive(**entries)))
    for name in ("format", "model", "names", "vectors", "contexts"):
        known = b'{"efge": "1", "estimator": "HOPE", "parameters": {}, "values": {},'
        header = np.frombuffer(known + b' "entries": ["names", "vectors", "contexts"]}', np.uint8)
        table = np.ones((1, 2), np.float32)
        entries = {"format": array(b"efge model 1"), "model": header, "names": [1], "vectors": table, "contexts": table}
        assert efge.HOPE.load(write("m.npz", sparse_archive(**entries))).embedding_.dim == 2
        with pytest.raises(efge.EmbeddingError, match=r"m.npz: "):
            efge.HOPE.load(write("m.npz", sparse_archive(**entries | {name: objects})))
    for name in ("a.txt", "a.mat", "a.npz", "a.parquet", "a.arrow", "v.bin", "v.npz", "v.txt"):
        with pytest.raises((efge.GraphError, efge.EmbeddingError)):
            (efge.Embedding.load if name.startswith("v") else efge.read_graph)(write(name, pickled))
    assert not trap.exists()


def test_an_arrow_extension_type_runs_no_code(tmp_path):
    trap = tmp_path / "trap"
    metadata = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": pickle.dumps(Trap(trap)),
    }
    schema = pa.schema([pa.field("source", pa.int64(), metadata=metadata), pa.field("target", pa.int64())])
    table = pa.table([pa.array([1]), pa.array([2])], schema=schema)
    pq.write_table(table, tmp_path / "a.parquet")
    with pa.ipc.new_file(tmp_path / "a.arrow", schema) as sink:
        sink.write_table(table)
    for name in ("a.parquet", "a.arrow"):
        with suppress(efge.GraphError):
            assert efge.read_graph(tmp_path / name).n_edges == 1
    assert not trap.exists()


# Input that once crashed the process, or raised an error of another library


@pytest.mark.parametrize("starts", [[0, 10**9, 1, 1], [0, -1, 1, 1], [5, 1, 1, 1]])
def test_a_sparse_matrix_with_invalid_arrays_is_an_error(write, starts):
    data = sparse_archive(format="csr", shape=[3, 3], data=[1.0], indices=[1], indptr=starts)
    with pytest.raises(efge.GraphError, match=r"a.npz: "):
        efge.read_graph(write("a.npz", data))
    matrix = scipy.sparse.csr_array((np.ones(1), [1], [0, 1, 1, 1]), shape=(3, 3))
    matrix.indptr = np.array(starts)
    with pytest.raises(efge.GraphError, match="the matrix is not valid"):
        efge.as_graph(matrix)


@pytest.mark.parametrize("rows", [-1, 2**31 - 1])
def test_matlab_v4_files_with_invalid_sizes_are_an_error(write, rows):
    with pytest.raises(efge.GraphError, match=r"a.mat: "):
        efge.read_graph(write("a.mat", matlab_v4(rows, 1, data=bytes(64)) * 2))


@pytest.mark.parametrize("edges", [b"1\n2\n", b"1,2,3\n2,3,4\n"])
def test_published_edges_have_two_nodes(write, edges):
    path = write("a.zip", archive({"edges.csv": edges, "group-edges.csv": b"1,2\n"}))
    with pytest.raises(DatasetError, match="an edge has two nodes"):
        read_published(path, DATASETS["blogcatalog"], "a.zip")


def checkpoint(tmp_path: Path, change) -> Checkpoints:
    """The checkpoint of a seed with a changed header and a correct checksum."""
    (data,) = seeds.checkpoints()
    magic, header, rest = data[:-32].split(b"\n", 2)
    content = b"\n".join([magic, change(header), rest])
    (tmp_path / "checkpoint-5.efge").write_bytes(content + hashlib.sha256(content).digest())
    return Checkpoints(tmp_path, resume=True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"pairs": [0.0, 10.0]', b'"pairs": []'),
        (b'"pairs": [0.0, 10.0]', b'"pairs": [0.0, Infinity]'),
        (b'"pairs": [0.0, 10.0]', b'"other": [0.0, 10.0]'),
        (b'"log_likelihood": [-1.0, -0.5]', b'"log_likelihood": ["a", "b"]'),
        (b'"evaluations_since_best": 1', b'"evaluations_since_best": "1"'),
        (b'"best_log_likelihood": -0.5', b'"best_log_likelihood": null'),
        (b'{"run_identity"', b'[[{"run_identity"'),
        (b'{"run_identity"', b"[" * 100_000 + b'{"run_identity"'),
    ],
)
def test_a_checkpoint_with_an_invalid_header_is_ignored_with_a_warning(tmp_path, old, new):
    checkpoints = checkpoint(tmp_path, lambda header: header.replace(old, new))
    with pytest.warns(RuntimeWarning, match="its header cannot be read"):
        assert (
            checkpoints.restore(seeds.IDENTITY, [np.zeros(shape, np.float32) for shape in seeds.TABLES]).chunks_done
            == 0
        )


def test_a_checkpoint_with_an_invalid_seed_has_none(tmp_path):
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
        ("source = true", "source is the name or the number of a column; got True"),
        ("skip_lines = -1", "skip_lines is a number of lines, from 0 on; got -1"),
        ("skip_lines = true", "skip_lines is a number of lines, from 0 on; got True"),
    ],
)
def test_read_options_in_a_configuration_have_their_types(write, line, message):
    with pytest.raises(ValueError, match=rf"run.toml: {message}"):
        read_config(write("run.toml", f'graph = "a.csv"\n{line}\n'))


def test_a_table_of_one_column_or_of_huge_numbers_is_read(write):
    from efge.explore.attributes import read_attributes
    from efge.explore.columns import make_columns

    assert read_attributes(write("one.csv", "node\nann\nbob\n")) == {}
    embedding = efge.Embedding([[1.0], [2.0], [3.0]], ["ann", "bob", "cid"])
    with pytest.raises(ValueError, match=r"many.csv: a table has fewer than 10,000 columns"):
        read_attributes(write("many.csv", "node" + ",a" * 20_000 + "\n"))
    frame = read_attributes(write("a.csv", f"node;x\nann;{'9' * 400}\nbob;2\ncid;3\n"))
    (column,) = make_columns(embedding, table=frame)
    assert sorted(column.categories) == ["2", "3", "9" * 400]


def test_many_values_of_one_node_are_joined_quickly(write):
    from efge.explore.columns import make_columns

    values = {"node": ["ann"] * 100_000, "x": list(range(100_000))}
    start = time.process_time()
    pandas = pytest.importorskip("pandas")
    (column,) = make_columns(efge.Embedding([[1.0]], ["ann"]), table=pandas.DataFrame(values))
    assert time.process_time() - start < 5
    assert column.categories[0].startswith("0, 1, 2, 3")


def test_an_entry_that_claims_to_be_larger_than_its_archive_is_an_error(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as new_archive:
        new_archive.writestr("edges.txt", "1 2\n")
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        member = archive.getinfo("edges.txt")
        member.compress_size = member.file_size = 1 << 40
        with pytest.raises(efge.GraphError, match=r"a\.zip, edges\.txt: an entry is not larger than the whole file"):
            files.read_archive_entry(archive, "edges.txt", "a.zip")


def test_the_limits_of_compressed_files_are_exact():
    for uncompressed, compressed in ((1 << 26, 0), (200 << 20, 1 << 20)):
        files.check_uncompressed_size("a.gz", uncompressed, compressed)
        with pytest.raises(efge.GraphError, match=r"may expand to 67,108,864 bytes, or to 200 times its size"):
            files.check_uncompressed_size("a.gz", uncompressed + 1, compressed)


@pytest.mark.parametrize("kind", ["arrow", "parquet"])
def test_a_value_of_a_table_counts_eight_bytes(monkeypatch, kind):
    monkeypatch.setattr(files, "MAX_UNCHECKED_SIZE", 16_000)
    monkeypatch.setattr(files, "MAX_EXPANSION", 0)

    def read(rows):
        table, sink = pa.table({name: pa.array([1] * rows, pa.int8()) for name in "ab"}), io.BytesIO()
        if kind == "parquet":
            pq.write_table(table, sink)
            return arrow.read_parquet(sink, "a.parquet")
        pa.feather.write_feather(table, sink, compression="uncompressed")
        return arrow.read_arrow(sink.getvalue(), "a.arrow")

    assert read(1000).num_rows == 1000
    with pytest.raises(efge.GraphError, match="this one is larger"):
        read(1001)


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_compressed_files_are_read_in_parts_and_by_lines_of_any_length(tmp_path, suffix):
    content = b"a" * (5 << 19) + b"\n" + b"b" * 10 + b"\n" + b"c" * (1 << 20) + b"\nd"
    path = tmp_path / f"text.txt{suffix}"
    with atomic_write(path) as stream:
        stream.write(content)
    with files.open_input(path) as stream:
        parts = [stream.read(size) for size in (3, (1 << 20) + 1, 0, 1 << 20)]
        assert b"".join(parts) == content[: 4 + (2 << 20)]
        assert [len(part) for part in parts] == [3, (1 << 20) + 1, 0, 1 << 20]
        assert stream.read() == content[4 + (2 << 20) :]
    with files.open_input(path) as stream:
        lines = list(iter(stream.readline, b""))
    assert lines == content.splitlines(keepends=True)


@pytest.mark.parametrize("compression", ["lz4", "zstd", None])
@pytest.mark.parametrize("form", ["file", "stream"])
def test_the_sizes_that_compressed_arrow_data_claims_are_found(form, compression):
    numbers = pa.array(range(1000), pa.int64())
    words = pa.array(["a", "b"] * 500).dictionary_encode()
    table = pa.table({"first": numbers, "second": numbers, "words": words})
    sink, new = io.BytesIO(), pa.ipc.new_file if form == "file" else pa.ipc.new_stream
    with new(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table, max_chunksize=600)
    data = sink.getvalue()
    messages = arrow._file_messages(data) if form == "file" else arrow._stream_messages(data)
    sizes = [size for message in messages for size in arrow._uncompressed_sizes(*message)]
    # Two batches of 600 and 400 rows: numbers of eight bytes and codes of four; and words, with their offsets.
    found = {size for size in sizes if size > 100}
    assert found == ({600 * 8, 400 * 8, 600 * 4, 400 * 4} if compression else set())
    assert sum(sizes) == (2 * 8000 + 4000 + 12 + 2 if compression else 0)
