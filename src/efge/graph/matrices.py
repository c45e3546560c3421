"""SciPy's .npz files and Matrix Market -> sparse matrices, by what is in the file and not by what it says there is."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError
from efge.graph.names import Fields
from efge.graph.text_lines import WHITESPACE, Lines, TextSource, blocks_of, split
from efge.io.files import archive_entry
from efge.kernels import text as kernel
from efge.parallel import map_ahead

_LAYOUTS = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "bsr": ("data", "indices", "indptr"),
    "dia": ("data", "offsets"),
    "coo": ("data", "row", "col"),
}
_FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
_COUNT = re.compile("[0-9]{1,18}", re.ASCII)
_SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")


def read_array(archive: zipfile.ZipFile, name: str, label: str) -> npt.NDArray[Any]:
    """An array of an archive over the bytes that are there; objects, which only code could bring back, are refused."""
    data = archive_entry(archive, f"{name}.npy", label)
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise GraphError(f"entry {name!r}: an array is in version 1.0 or 2.0 of NumPy's format")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, by_columns, dtype = read(stream)
    if dtype.hasobject or dtype.itemsize == 0:
        raise GraphError(f"entry {name!r}: an array is of numbers or text; got {dtype}")
    array = np.frombuffer(data, dtype, offset=stream.tell())
    return array.reshape(shape, order="F" if by_columns else "C")


def read_sparse_archive(data: bytes, label: str) -> Any:
    """The matrix that `scipy.sparse.save_npz` wrote."""
    import scipy.sparse

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = {name.removesuffix(".npy") for name in archive.namelist()}
        if "vectors" in entries:
            raise GraphError("this is an embedding, vectors under names, no graph; give the graph that it was made of")
        if not {"format", "shape", "data"} <= entries:
            raise GraphError("a sparse matrix has the entries 'format', 'shape' and 'data'")
        kind = read_array(archive, "format", label).item()
        kind = kind.decode("ascii") if isinstance(kind, bytes) else str(kind)
        if kind not in _LAYOUTS:
            raise GraphError(f"a sparse matrix is one of {', '.join(_LAYOUTS)}; got {kind[:20]!r}")
        parts = ("data", "coords") if kind == "coo" and "coords" in entries else _LAYOUTS[kind]
        arrays = [read_array(archive, part, label) for part in parts]
        shape = tuple(read_array(archive, "shape", label).tolist())
    if len(shape) != 2 or not all(type(size) is int and 0 <= size < 1 << 31 for size in shape):
        raise GraphError(f"an adjacency matrix has two sizes below {1 << 31:,}; got {shape}")
    content = (arrays[0], tuple(arrays[1:])) if parts == _LAYOUTS["coo"] else tuple(arrays)
    matrix = getattr(scipy.sparse, f"{kind}_array")(content, shape=shape)
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)
    return matrix


class _Entries(NamedTuple):
    """Places in a matrix, from 0, and the values there."""

    ends: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]


def read_matrix_market(source: TextSource) -> Any:
    """The matrix of a Matrix Market file."""
    from scipy.sparse import coo_array

    blocks = blocks_of(source)
    first = next(blocks)
    layout, has_values, symmetry = _heading(bytes(first.data[:200]).split(b"\n")[0])
    tables = map_ahead(lambda block: split(block, source.label, "%", WHITESPACE), chain([first], blocks))
    shape, count, lines = _sizes(tables, layout)
    if layout == "array":
        entries = _full(np.concatenate([_values(some, some.all_fields()) for some in lines]), shape, symmetry)
    else:
        entries = _listed([_entries(some, has_values) for some in lines], count)
    ends, values = entries
    if len(ends) and not ((ends >= 0) & (ends < shape)).all():
        raise GraphError(f"entries stand within the matrix of {shape[0]:,} x {shape[1]:,}, counted from 1")
    if symmetry != "general":
        other = ends[:, 0] != ends[:, 1]
        sign = -1.0 if symmetry == "skew-symmetric" else 1.0
        ends, values = np.vstack([ends, ends[other, ::-1]]), np.concatenate([values, sign * values[other]])
    return coo_array((values, (ends[:, 0], ends[:, 1])), shape=shape)


def _heading(line: bytes) -> tuple[str, bool, str]:
    """The layout, whether entries have values, and the symmetry."""
    words = line.decode("latin-1").lower().split()
    if words[:2] != ["%%matrixmarket", "matrix"] or len(words) != 5:
        raise GraphError("the first line is %%MatrixMarket matrix, then layout, field and symmetry")
    layout, field, symmetry = words[2:]
    if layout not in ("coordinate", "array") or symmetry not in _SYMMETRIES or (layout, field) == ("array", "pattern"):
        raise GraphError(f"a layout is coordinate or array, a symmetry {', '.join(_SYMMETRIES)}; got {' '.join(words)}")
    if field not in _FIELDS:
        raise GraphError(f"the entries of an adjacency matrix are real numbers; got {field} ones")
    return layout, field != "pattern", symmetry


def _sizes(tables: Iterator[Lines], layout: str) -> tuple[tuple[int, int], int, list[Lines]]:
    """Rows and columns, the number of entries where it is said, and all lines behind those that say it."""
    for lines in tables:
        if len(lines.firsts) > 1:
            fields = [lines.fields.text(i) for i in range(int(lines.firsts[0]), int(lines.firsts[1]))][:4]
            if len(fields) != (3 if layout == "coordinate" else 2) or not all(map(_COUNT.fullmatch, fields)):
                raise GraphError(f"{lines.describe(0)[0]}: a matrix has rows, columns and, unless it is full, entries")
            rows, columns, *count = map(int, fields)
            if max(rows, columns) >= 1 << 31:
                raise GraphError(f"a matrix has fewer than {1 << 31:,} rows and columns; got {rows:,} x {columns:,}")
            return (rows, columns), count[0] if count else 0, [lines.without_first(), *tables]
    raise GraphError("a matrix has rows and columns; the file ends before it says so")


def _entries(lines: Lines, has_values: bool) -> _Entries:
    counts = np.diff(lines.firsts)
    if (counts != 2 + has_values).any():
        place, _ = lines.describe(int(lines.firsts[int(np.argmax(counts != 2 + has_values))]))
        raise GraphError(
            f"{place}: an entry has a row, a column{' and a value' if has_values else ' and nothing else'}"
        )
    ends = lines.columns(0, 1).integers()
    if ends is None:
        raise GraphError(f"{lines.label}: rows and columns are whole numbers from 1 on")
    values = _values(lines, lines.column(2)) if has_values else np.ones(len(counts))
    return _Entries(ends.reshape(-1, 2) - 1, values)


def _listed(parts: list[_Entries], count: int) -> _Entries:
    ends, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    if len(values) != count:
        raise GraphError(f"the matrix has {count:,} entries, as the file says; got {len(values):,}")
    return _Entries(ends, values)


def _full(values: npt.NDArray[np.float64], shape: tuple[int, int], symmetry: str) -> _Entries:
    """The entries of a matrix in full, column by column; of a symmetric one, from the middle down."""
    rows, columns = shape
    skew = symmetry == "skew-symmetric"
    count = rows * columns if symmetry == "general" else rows * (rows + 1 - 2 * skew) // 2
    if len(values) != count or (symmetry != "general" and rows != columns):
        raise GraphError(f"a matrix of {rows:,} x {columns:,}, {symmetry}, has {count:,} values; got {len(values):,}")
    if symmetry == "general":
        row, column = np.tile(np.arange(rows), columns), np.repeat(np.arange(columns), rows)
    else:
        column, row = np.triu_indices(rows, int(skew))
    return _Entries(np.column_stack([row, column]).astype(np.int64), values)


def _values(lines: Lines, fields: Fields) -> npt.NDArray[np.float64]:
    values = np.empty(len(fields.starts))
    kernel.parse_weights(*fields, values)
    for i in np.flatnonzero(np.isnan(values)).tolist():
        try:
            values[i] = float(fields.text(i))
        except ValueError:
            place = lines.where(int(fields.starts[i]))
            raise GraphError(f"{place}: a value is a number; got {fields.text(i)[:40]!r}") from None
    return values
