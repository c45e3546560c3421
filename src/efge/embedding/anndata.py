"""Vectors as AnnData (.h5ad), for scanpy and its relatives: nodes are observations, dimensions are variables."""

from __future__ import annotations

import io
from collections.abc import Hashable
from typing import Any, BinaryIO

import numpy as np

from efge.embedding.common import NamedVectors, Vectors, as_seekable
from efge.errors import EmbeddingError, warn_user
from efge.graph.names import Names, encode_utf8
from efge.io.files import check_uncompressed_size

# The slot of `obsm` that is read if there is one; otherwise X is.
_SLOT = "X_efge"
_MAX_LISTED = 10
_INDEX, _INTEGERS = "_index", "node"


def _import_h5py() -> Any:
    try:
        import h5py
    except ImportError:
        raise ImportError("files of AnnData need h5py; install efge[anndata]") from None
    return h5py


def write_h5ad(stream: BinaryIO, vectors: Vectors, names: Names) -> None:
    """Write the vectors as X, the names as the index of `obs`, and integers also as its column "node"."""
    h5py = _import_h5py()
    items = names.tolist()
    is_integer = names.dtype != object
    if not is_integer and not all(type(name) is str for name in items):
        wrong = next(name for name in items if type(name) is not str)
        raise EmbeddingError(f"in AnnData, names are all integers or all text; got {wrong!r}, which npz may keep")
    if not is_integer and any("\0" in name for name in items):
        raise EmbeddingError("in AnnData, a name has no character NUL; npz may keep it")
    encode_utf8([] if is_integer else items)
    memory = io.BytesIO()
    with h5py.File(memory, "w", libver=("v108", "v108")) as file:
        _describe(file, "anndata", "0.1.0")
        _describe(file.create_dataset("X", data=vectors, track_times=False), "array", "0.2.0")
        _write_frame(file, "obs", list(map(str, items)), names if is_integer else None)
        _write_frame(file, "var", list(map(str, range(vectors.shape[1]))), None)
        for group in ("layers", "obsm", "obsp", "uns", "varm", "varp"):
            _describe(file.create_group(group), "dict", "0.1.0")
    stream.write(memory.getbuffer())


def _describe(item: Any, kind: str, version: str) -> None:
    item.attrs["encoding-type"], item.attrs["encoding-version"] = kind, version


def _write_frame(file: Any, name: str, index: list[str], integers: Any) -> None:
    """Write a table of names, and a column of integers if the names are integers."""
    text = _import_h5py().string_dtype("utf-8")
    group = file.create_group(name)
    _describe(group, "dataframe", "0.2.0")
    group.attrs["_index"] = _INDEX
    columns = np.array([] if integers is None else [_INTEGERS], dtype=text)
    group.attrs.create("column-order", columns, dtype=text)
    labels = group.create_dataset(_INDEX, data=np.array(index, dtype=object), dtype=text, track_times=False)
    _describe(labels, "string-array", "0.2.0")
    if integers is not None:
        _describe(group.create_dataset(_INTEGERS, data=integers, track_times=False), "array", "0.2.0")


def read_h5ad(stream: BinaryIO, label: str) -> NamedVectors:
    """Read the slot X_efge of `obsm`, or else X, with the index of `obs`."""
    h5py = _import_h5py()
    source = as_seekable(stream)
    size = source.seek(0, 2)
    source.seek(0)
    with h5py.File(source, "r") as file:
        slots = list(file["obsm"]) if isinstance(file.get("obsm"), h5py.Group) else []
        table = file[f"obsm/{_SLOT}"] if _SLOT in slots else file.get("X")
        others = f"obsm has {', '.join(slots[:_MAX_LISTED])}: to read one, name it {_SLOT}" if slots else ""
        if not isinstance(table, h5py.Dataset) or table.ndim != 2 or table.dtype.kind not in "fiu":
            rule = f"vectors are a dense table of numbers in obsm/{_SLOT} or X; there is none"
            raise EmbeddingError(f"{rule}{others and '; '}{others}")
        if slots and _SLOT not in slots:
            warn_user(f"{label}: the vectors are those of X; {others}")
        names = _read_names(file, h5py, label, size)
        check_uncompressed_size(label, table.size * 8, size)
        return table[()].astype(np.float32), names


def _read_names(file: Any, h5py: Any, label: str, size: int) -> list[Hashable]:
    group = file.get("obs")
    index = group.attrs.get("_index", _INDEX) if isinstance(group, h5py.Group) else None
    column = group.get(_INTEGERS) if index is not None else None
    if isinstance(column, h5py.Dataset) and column.dtype.kind in "iu":
        check_uncompressed_size(label, column.size * 8, size)
        return list(column[()].tolist())
    column = group.get(index) if index is not None else None
    if isinstance(column, h5py.Group):
        # Texts that may be missing are a group of values and a mask; an index has no missing ones.
        column = column.get("values")
    if not isinstance(column, h5py.Dataset) or column.ndim != 1:
        raise EmbeddingError("names of nodes are the index of obs; there is none")
    check_uncompressed_size(label, column.size * 8, size)
    return [name.decode() if isinstance(name, bytes) else name for name in column[()].tolist()]
