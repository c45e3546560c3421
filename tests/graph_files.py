"""One small graph, written to a file of every format that can be read."""

import bz2
import gzip
import io
import json
import lzma

import networkx as nx
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import scipy.io
import scipy.sparse as sp

from efge import as_graph

EDGES = [("ann", "bob", 2.0), ("bob", "cid", 0.5), ("cid", "ann", 1.0), ("dan", "dan", 3.0)]
NUMBERED = [(0, 1, 2.0), (0, 2, 1.0), (1, 2, 0.5), (3, 3, 3.0)]


def zstd(data):
    return pa.Codec("zstd").compress(data, asbytes=True)


COMPRESSORS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd}


def named_edges(graph):
    """Return the weight of each edge by its two names, in both directions if the graph is undirected."""
    matrix = graph.to_scipy().tocoo()
    names = graph.names.tolist()
    return {
        (names[u], names[v]): weight for u, v, weight in zip(matrix.row, matrix.col, matrix.data.tolist(), strict=True)
    }


def rows_text(edges, delimiter):
    return "".join(delimiter.join(map(str, edge)) + "\n" for edge in edges)


def frame(edges):
    return pd.DataFrame(edges, columns=["source", "target", "weight"])


def buffer(write):
    stream = io.BytesIO()
    write(stream)
    return stream.getvalue()


def networkx_graph(edges):
    graph = nx.Graph()
    graph.add_weighted_edges_from(edges)
    return graph


def sparse(edges):
    return as_graph(edges).to_scipy()


def arrow_stream(edges):
    def write(stream):
        table = pa.Table.from_pandas(frame(edges))
        with pa.ipc.new_stream(stream, table.schema) as writer:
            writer.write_table(table)

    return buffer(write)


def feather(edges):
    return buffer(lambda stream: pa.feather.write_feather(pa.Table.from_pandas(frame(edges)), stream))


def pajek(edges):
    names = list(dict.fromkeys(name for edge in edges for name in edge[:2]))
    lines = [f"*Vertices {len(names)}", *(f'{i} "{name}"' for i, name in enumerate(names, 1)), "*Edges"]
    lines += [f"{names.index(u) + 1} {names.index(v) + 1} {weight}" for u, v, weight in edges]
    return "\n".join(lines).encode() + b"\n"


# Functions from edges to the bytes of a file; matrices have no names but 0 to n - 1.
NAMED_FILES = {
    "graph.txt": lambda edges: rows_text(edges, " ").encode(),
    "graph.edgelist": lambda edges: rows_text(edges, "   ").encode(),
    "graph": lambda edges: rows_text(edges, "\t").encode(),
    "graph.tsv": lambda edges: rows_text(edges, "\t").encode(),
    "graph.csv": lambda edges: rows_text(edges, ",").encode(),
    "semicolons.csv": lambda edges: rows_text(edges, ";").encode(),
    "header.csv": lambda edges: frame(edges).to_csv(index=False).encode(),
    "header.tsv": lambda edges: frame(edges).to_csv(index=False, sep="\t").encode(),
    "graph.parquet": lambda edges: buffer(frame(edges).to_parquet),
    "graph.pq": lambda edges: buffer(frame(edges).to_parquet),
    "graph.feather": feather,
    "graph.arrow": feather,
    "stream.arrow": arrow_stream,
    "graph.ipc": feather,
    "graph.graphml": lambda edges: buffer(lambda stream: nx.write_graphml(networkx_graph(edges), stream)),
    "graph.gml": lambda edges: buffer(lambda stream: nx.write_gml(networkx_graph(edges), stream)),
    "graph.json": lambda edges: json.dumps(nx.node_link_data(networkx_graph(edges), edges="links")).encode(),
    "graph.jsonl": lambda edges: frame(edges).to_json(orient="records", lines=True).encode(),
    "graph.net": pajek,
    "graph.pajek": pajek,
}


NUMBERED_FILES = {
    "graph.mat": lambda edges: buffer(lambda stream: scipy.io.savemat(stream, {"network": sparse(edges)})),
    "dense.mat": lambda edges: buffer(lambda stream: scipy.io.savemat(stream, {"A": sparse(edges).toarray()})),
    "graph.npz": lambda edges: buffer(lambda stream: sp.save_npz(stream, sparse(edges))),
    "graph.mtx": lambda edges: buffer(lambda stream: scipy.io.mmwrite(stream, sparse(edges))),
    "graph.mm": lambda edges: buffer(lambda stream: scipy.io.mmwrite(stream, sparse(edges))),
}


FILES = {**NAMED_FILES, **NUMBERED_FILES}
