"""Vectors and names in Parquet and Arrow: a column of names and one of vectors; other layouts are read as well."""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np

from efge.embedding.common import NamedVectors, Vectors, as_seekable
from efge.errors import EmbeddingError
from efge.graph.names import Names, encode_utf8
from efge.io.arrow import read_arrow, read_parquet

# Values in a row group: several threads read and write groups of megabytes with little memory besides the vectors.
_GROUP_VALUES = 1 << 21


def write_parquet_vectors(stream: BinaryIO, vectors: Vectors, names: Names) -> None:
    """Write a table with the columns "node" and "vector"."""
    import pyarrow.parquet as pq

    # Values hardly repeat: a dictionary or compression would take time and save nothing.
    plain: dict[str, Any] = {"use_dictionary": False, "compression": "none", "write_page_checksum": True}
    table = _make_table(vectors, names)
    pq.write_table(table, stream, row_group_size=max(1, _GROUP_VALUES // vectors.shape[1]), **plain)


def write_arrow_vectors(stream: BinaryIO, vectors: Vectors, names: Names) -> None:
    """Write the same table as a file of Arrow's, which can be mapped into memory."""
    import pyarrow as pa

    table = _make_table(vectors, names)
    with pa.ipc.new_file(stream, table.schema) as file:
        file.write_table(table, max_chunksize=max(1, _GROUP_VALUES // vectors.shape[1]))


def _make_table(vectors: Vectors, names: Names) -> Any:
    import pyarrow as pa

    items = names.tolist()
    if names.dtype == object and not all(type(name) is str for name in items):
        wrong = next(name for name in items if type(name) is not str)
        raise EmbeddingError(
            f"in Parquet and Arrow, names are either all 64-bit integers or all text; got {wrong!r}, which npz may keep"
        )
    encode_utf8(items if names.dtype == object else [])
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1])
    return pa.table({"node": pa.array(items, pa.string() if names.dtype == object else pa.int64()), "vector": column})


def read_parquet_vectors(stream: BinaryIO, label: str) -> NamedVectors:
    """Read a column of names, and one column of lists or several columns of numbers."""
    return _read_table(read_parquet(as_seekable(stream), label, page_checksum_verification=True), label)


def read_arrow_vectors(stream: BinaryIO, label: str) -> NamedVectors:
    """Read the same tables from a file or stream of Arrow's, or a Feather file."""
    return _read_table(read_arrow(stream.read(), label), label)


def _read_table(table: Any, label: str) -> NamedVectors:
    import pyarrow as pa

    lists = [name for name, kind in zip(table.column_names, table.schema.types, strict=True) if _is_list(kind)]
    node = _find_name_column(table, lists)
    values = lists or [name for name in table.column_names if name != node]
    for column in (node, *values):
        if table[column].null_count:
            row = table[column].is_null().index(True).as_py()
            raise EmbeddingError(f"{label}, row {row}: every cell must have a value; column {column!r} has none")
    vectors = _vectors_of_lists(table[lists[0]]) if lists else _vectors_of_columns([table[name] for name in values])
    names = table[node]
    return vectors, (names.cast(names.type.value_type) if pa.types.is_dictionary(names.type) else names).to_pylist()


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _is_numeric(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _find_name_column(table: Any, lists: list[str]) -> str:
    """Return the column of names: one with a usual title, or the only one that cannot belong to the vectors."""
    import pyarrow as pa

    columns = table.column_names
    titled = [name for name in ("node", "__index_level_0__") if name in columns]
    others = [
        name for name in columns if (name not in lists if lists else not _is_numeric(table.schema.field(name).type))
    ]
    unique = len(lists) < 2 and (titled or len(others) < 2) and columns
    node = (titled or others or columns[:1])[0] if unique else None
    kind = None if node is None else table.schema.field(node).type
    kind = kind.value_type if kind is not None and pa.types.is_dictionary(kind) else kind
    if node is None or not (pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise EmbeddingError(
            "a table needs one column of names, which are integers or text, and either one column of lists or columns"
            f" of numbers; got {', '.join(f'{field.name}: {field.type}' for field in table.schema) or 'no columns'}"
        )
    return str(node)


def _vectors_of_lists(column: Any) -> Vectors:
    import pyarrow as pa
    import pyarrow.compute as pc

    fixed = pa.types.is_fixed_size_list(column.type)
    sizes = [column.type.list_size] if fixed else pc.unique(pc.list_value_length(column)).to_pylist()
    if len(sizes) != 1:
        got = ", ".join(map(str, sorted(sizes))) or "no vectors"
        raise EmbeddingError(f"all vectors must have the same size; got {got}")
    return _vectors_of_columns([pc.list_flatten(column)]).reshape(-1, sizes[0])


def _vectors_of_columns(columns: list[Any]) -> Vectors:
    import pyarrow as pa

    vectors = np.empty((len(columns[0]) if columns else 0, len(columns)), np.float32)
    for number, column in enumerate(columns):
        if not _is_numeric(column.type) or column.null_count:
            raise EmbeddingError(f"values must be numbers; got {column.type} with {column.null_count} missing")
        vectors[:, number] = column.cast(pa.float32(), safe=False).to_numpy()
    return vectors
