"""Small valid files of every format, created on the fly, from which mutation starts."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import efge
from efge.io.atomic import atomic_write
from efge.training.checkpoints import Checkpoints, TrainingState

# Separates the files of an input that is a folder.
FILE_SEPARATOR = b"\x1e"

SPLIT_FILES = (
    "split.json",
    "nodes.txt",
    "graph.tsv",
    "train_edges.tsv",
    "train_non_edges.tsv",
    "test_edges.tsv",
    "test_non_edges.tsv",
)
PROJECTOR_FILES = ("tensors.tsv", "metadata.tsv")
DATASET_FILES = ("edges.tsv", "nodes.txt", "labels.tsv", "label_names.tsv", "names.tsv")

# The run that a checkpoint belongs to, and the shapes of its tables.
IDENTITY = {"seed": 7, "dim": 3}
TABLES = ((4, 3), (2, 3))

_EDGES = [("ann", "bob", 2.0), ("bob", "cid", 0.5), ("cid", "ann", 1.0), ("dan", "dan", 1.25)]


def bytes_written(name: str, write: Callable[..., Any], *content: Any, **options: Any) -> bytes:
    """Return the bytes of the file that a function writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        write(*content, path, **options)
        return path.read_bytes()


def compressed(data: bytes, suffix: str) -> bytes:
    """Return the bytes of a compressed file."""

    def write(path: Path) -> None:
        with atomic_write(path) as stream:
            stream.write(data)

    return bytes_written(f"file{suffix}", write)


def edge_lists() -> list[bytes]:
    """Text with and without weights, headers, comments and quotes."""
    return [
        b"1 2\n2 3\n3 1\n10 2\n",
        b"# who knows whom\nann bob 2\nbob cid 0.5\ncid ann 1e-3\n",
        'from,to,weight\n"ann, b",Jürgen,2\nJürgen,"say ""x""",3.5\n'.encode(),
        b"source\ttarget\nann\tbob\nbob\tcid\n",
        b"a;b;1.5\nb;c;2\n",
        b"9223372036854775807 -9223372036854775808\n007 1_0\n",
    ]


def adjacency_lists() -> list[bytes]:
    """Lines of a node and its neighbors."""
    return [b"ann bob cid\nbob cid\n", b"1 2 3\n2 3\n4\n", b"a,b,c\nb,c\n"]


def tables() -> dict[str, list[bytes]]:
    """Tables of edges in Arrow's formats."""
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    texts = pa.table({"source": [u for u, _, _ in _EDGES], "target": [v for _, v, _ in _EDGES]})
    numbers = pa.table({"a": [1, 2, 3], "b": [2, 3, 1], "weight": [1.0, 2.5, 3.0]})
    categories = pa.table({"source": pa.array(["x", "y", "x"]).dictionary_encode(), "target": ["y", "z", "z"]})
    files: dict[str, list[bytes]] = {"parquet": [], "arrow": [], "feather": []}
    for table in (texts, numbers, categories):
        for codec in ("none", "snappy", "zstd"):
            files["parquet"].append(bytes_written("t", pa.parquet.write_table, table, compression=codec))
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        files["arrow"].append(sink.getvalue())
        sink = io.BytesIO()
        with pa.ipc.new_file(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as file:
            file.write_table(table)
        files["arrow"].append(sink.getvalue())
        files["feather"].append(bytes_written("t", pa.feather.write_feather, table, compression="lz4"))
    return files


def networks() -> dict[str, list[bytes]]:
    """Files of NetworkX's writers, and valid variants that they do not write."""
    import networkx as nx

    graph = nx.Graph()
    graph.add_weighted_edges_from(_EDGES)
    directed = nx.DiGraph([(1, 2), (2, 3), (3, 1)])
    pajek = b'*Vertices 3\n1 "ann" 0.1 0.2 box\n2 "bob b"\n3 "cid"\n*Edges\n1 2 2.5\n2 3\n*Arcs\n3 1 1\n'
    gml = b'graph [\n node [ id 0 label "a" ]\n node [ id 1 label "b" x [ y 1.5 ] ]\n edge [ source 0 target 1 ]\n]\n'
    matrix = b"*Vertices 2\n1 a\n2 b\n*Matrix\n0 1\n1 0\n"
    return {
        "graphml": [bytes_written("g", nx.write_graphml_xml, g) for g in (graph, directed)],
        "gml": [*(bytes_written("g", nx.write_gml, g, stringizer=str) for g in (graph, directed)), gml],
        "json": [
            json.dumps(nx.node_link_data(graph, edges="links")).encode(),
            b'{"ann": {"bob": 2}, "bob": {"cid": 0.5}}',
            b'[["ann", "bob", 2.5], ["bob", "cid", 1]]',
        ],
        "jsonl": [
            b'{"source": "ann", "target": "bob", "weight": 2}\n{"source": "bob", "target": "cid", "weight": 1}\n'
        ],
        "pajek": [bytes_written("g", nx.write_pajek, directed.to_undirected()), pajek, matrix],
    }


def _adjacency() -> Any:
    from scipy.sparse import csr_array

    return csr_array(np.array([[0, 1, 2.5], [1, 0, 0], [2.5, 0, 0]]))


def _save_matlab(content: dict[str, Any], path: Path, **options: Any) -> None:
    import scipy.io

    scipy.io.savemat(path, content, **options)


def _save_sparse(matrix: Any, path: Path, **options: Any) -> None:
    import scipy.sparse

    scipy.sparse.save_npz(path, matrix, **options)


def matlab_files() -> list[bytes]:
    """Versions 4, 6 and 7, dense and sparse, in structures and cells."""
    sparse, dense = _adjacency().tocsc(), _adjacency().toarray()
    cell = np.empty((1, 2), object)
    cell[0, 0], cell[0, 1] = "text", np.arange(3)
    contents = [
        {"network": sparse, "title": "a", "cell": cell},
        {"Problem": {"A": sparse, "name": "p"}},
        {"network": dense},
    ]
    files = [
        bytes_written("m.mat", _save_matlab, content, do_compression=z) for content in contents for z in (False, True)
    ]
    return [
        *files,
        *(bytes_written("m.mat", _save_matlab, {"a": m}, format="4") for m in (sparse, dense)),
    ]


def sparse_archives() -> list[bytes]:
    """SciPy's .npz files in every layout."""
    layouts = [_adjacency().asformat(name) for name in ("csr", "csc", "coo", "bsr", "dia")]
    return [bytes_written("m.npz", _save_sparse, m, compressed=z) for m in layouts for z in (True, False)]


def matrix_market_files() -> list[bytes]:
    """Sparse and dense matrices, symmetric and not."""
    start = b"%%MatrixMarket matrix "
    return [
        start + b"coordinate real general\n% comment\n3 3 2\n1 2 2.5\n3 1 1e-3\n",
        start + b"coordinate pattern symmetric\n3 3 2\n2 1\n3 1\n",
        start + b"coordinate integer general\n2 2 2\n1 2 4\n2 1 4\n",
        start + b"array real general\n2 2\n0\n1\n1\n0\n",
        start + b"array integer symmetric\n2 2\n0\n1\n0\n",
    ]


def corpora() -> list[bytes]:
    """Walks over the graph of the target."""
    return [b"ann bob ann\nbob\\u0020b ann\n", b"ann\n\nbob ann bob\n"]


def labels() -> list[bytes]:
    """Nodes and classes with every separator."""
    return [
        b"ann\tchess\nbob\tgo\nbob\tchess\n",
        b"node,label\n1,0\n2,1\n",
        b'# c\n"ann";x\nbob;y\n',
        b"ann x\nbob y\n",
    ]


def vectors(name: str) -> list[bytes]:
    """Embeddings in one format, with names of several types."""
    values = [[1.5, -0.25, 3.0], [0.0, 1e-7, 2.0]]
    named: list[list[Any]] = [[3, 7], ["ann", 'bob, the "second"'], *([[("a", 1), 2.5]] if name == "v.npz" else [])]
    return [bytes_written(name, efge.Embedding(values, n).save) for n in named]


@cache
def models() -> list[bytes]:
    """Fitted estimators, with names of several types, with and without a table of contexts."""
    quick: dict[str, Any] = {"walks_per_node": 2, "walk_length": 4, "seed": 1, "threads": 1}
    friends = efge.as_graph([(source, target) for source, target, _ in _EDGES])
    fitted: list[Any] = [
        efge.EFGE(efge.Normal(0.5), 3, walk=efge.UniformWalk(), **quick).fit(friends),
        efge.Node2Vec(3, **quick).fit([(3, 7), (7, 9)]),
        efge.HOPE(2, seed=1).fit([(("a", 1), 2.5)]),
    ]
    return [bytes_written("model.npz", model.save) for model in fitted]


def projectors() -> list[bytes]:
    """TensorBoard's folders."""
    with tempfile.TemporaryDirectory() as folder:
        efge.Embedding([[1.5, -0.25], [0.0, 1e-7]], ["ann", "bob b"]).save(folder, format="tensorboard")
        return [FILE_SEPARATOR.join(Path(folder, name).read_bytes() for name in PROJECTOR_FILES)]


def splits() -> list[bytes]:
    """Saved splits of graphs with and without weights."""
    files = []
    for edges in ([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)], [("a b", "c", 2.5), ("c", "d", 1), ("d", "a b", 3)]):
        with tempfile.TemporaryDirectory() as folder:
            efge.split_links(edges, 0.3).save(folder)
            files.append(FILE_SEPARATOR.join(Path(folder, name).read_bytes() for name in SPLIT_FILES))
    return files


def converted_graphs() -> list[bytes]:
    """Converted graphs, with integers and text as names, with and without weights."""
    with tempfile.TemporaryDirectory() as folder:
        text, graph = Path(folder, "graph.txt"), Path(folder, "graph.efge")
        files = []
        for data in (b"1 2\n2 3\n3 1\n", b"ann bob 2.5\nbob cid 1\ncid dan 3\n"):
            text.write_bytes(data)
            efge.convert_graph(text, graph, memory=1 << 20)
            files.append(graph.read_bytes())
        return files


def checkpoints() -> list[bytes]:
    """A checkpoint of the run that the target resumes."""
    with tempfile.TemporaryDirectory() as folder:
        checkpoints = Checkpoints(folder, every=0)
        random = np.random.default_rng(0)
        tables = [random.normal(size=shape).astype(np.float32) for shape in TABLES]
        checkpoints.restore(IDENTITY, tables)
        checkpoints.save_if_due(
            TrainingState(5, {"pairs": [0.0, 10.0], "log_likelihood": [-1.0, -0.5]}, 1, -0.5), tables
        )
        return [Path(folder, "checkpoint-5.efge").read_bytes()]


def toml_configurations() -> list[bytes]:
    """Runs of the command line, as people write them."""
    return [
        b'graph = "friends.csv"\noutput = "v.npz"\nmodel = "normal"\ndim = 8\n[family_options]\nsigma = 0.5\n',
        b'graph = "friends.csv"\noutput = "v.npz"\nmodel = "node2vec"\np = 0.5\ndirected = false\nnodes = "nodes.txt"\n'
        b'source = "from"\ntarget = 1\ndelimiter = ","\nencoding = "utf-8"\nheader = true\n',
        b'output = "a"\ngraph = """friends.csv"""\nwalk_length = 0x10\nmodel = "normal"\n'
        b"family_options = {sigma = 2}\n",
    ]


def json_configurations() -> list[bytes]:
    """Records of runs."""
    config = {"graph": "friends.csv", "output": "v.npz", "model": "poisson", "dim": 4, "seed": 3, "weight": "weight"}
    record = {"efge": "0.1.0", "config": config, "fingerprint": "ab" * 32, "nodes": 3, "log_likelihood": None}
    return [json.dumps(record).encode(), json.dumps(config, indent=1).encode()]


def data_frames() -> dict[str, list[bytes]]:
    """Columns of nodes to color a page by."""
    import pandas as pd

    frame = pd.DataFrame({"node": ["ann", "bob"], "age": [30, 41], "team": ["red", None]})
    return {
        "csv": [frame.to_csv(index=False).encode(), b"id;x;y\nann;1;0.5\nbob;2;nan\n"],
        "parquet": [bytes_written("t", frame.to_parquet), bytes_written("t", frame.set_index("node").to_parquet)],
    }


def dataset_folders() -> list[bytes]:
    """Data sets as plain files."""
    plain = [b"0\t1\n1\t2\n", b"0\n1\n2\n", b"0\t0\n1\t1\n2\t0\n", b"0\tx\n1\ty\n", b"0\tann\n1\tbob\n2\tcid\n"]
    weighted = [b"5\t1\t2.5\n1\t2\t0.5\n", b"1\n2\n5\n", b"1\t0\n1\t1\n", b"0\t7\n1\t8\n", b"1\tann\n"]
    return [FILE_SEPARATOR.join(parts) for parts in (plain, weighted)]


def published() -> dict[str, list[bytes]]:
    """Publishers' files, by the reader that knows them."""
    content = b"31336\t0\t1\tTheory\n106\t1\t0\tRules\n"
    papers = b"NODE\ncat=1\n12\tlabel=1\tw=0.1\n13\tlabel=3\tw=0.2\n"
    cites = b"DIRECTED\tcites\nNO_FEATURES\n1\tpaper:12\t|\tpaper:13\n"
    gml = b'graph [ node [ id 0 label "Beak" ] node [ id 1 label "Fin" ] edge [ source 0 target 1 ] ]'
    return {
        "edges": [gzip.compress(b"# nodes\n1\t2\n2\t3\n", mtime=0), b"1 2\n2 1\n"],
        "matrix": [bytes_written("m.mat", _save_matlab, {"network": _adjacency(), "group": _adjacency()})],
        "cora": [_tar({"cora/cora.content": content, "cora/cora.cites": b"31336\t106\n"})],
        "pubmed": [
            _tar({"data/Pubmed-Diabetes.NODE.paper.tab": papers, "data/Pubmed-Diabetes.DIRECTED.cites.tab": cites})
        ],
        "blogcatalog": [_zip({"data/edges.csv": b"1,2\n2,3\n", "data/group-edges.csv": b"1,5\n2,6\n3,5\n"})],
        "gml": [_zip({"dolphins.gml": gml})],
    }


def _tar(files: dict[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w:gz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return sink.getvalue()


def _zip(files: dict[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return sink.getvalue()
