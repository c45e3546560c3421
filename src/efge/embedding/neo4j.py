"""Vectors as a CSV file of nodes for Neo4j's import: a column of names and one of arrays."""

from __future__ import annotations

import csv
import io
from typing import BinaryIO

from efge.embedding.common import Vectors
from efge.graph.names import Names, encode_utf8

_ROWS = 4096


def write_neo4j(stream: BinaryIO, vectors: Vectors, names: Names) -> None:
    """Write a header that `neo4j-admin database import` reads, and a line for each node; arrays are split by ";"."""
    import pyarrow as pa

    items = names.tolist()
    name_type = "ID" if names.dtype == object else "ID{id-type:long}"
    encode_utf8(items if names.dtype == object and all(type(name) is str for name in items) else [])
    stream.write(f"name:{name_type},vector:float[],:LABEL\n".encode())
    for begin in range(0, len(items), _ROWS):
        text = io.StringIO()
        lines = csv.writer(text, lineterminator="\n")
        chunk = vectors[begin : begin + _ROWS]
        values = pa.array(chunk.reshape(-1)).cast(pa.string()).to_pylist()
        for row, name in enumerate(items[begin : begin + _ROWS]):
            lines.writerow([name, ";".join(values[row * chunk.shape[1] : (row + 1) * chunk.shape[1]]), "Node"])
        stream.write(text.getvalue().encode())
