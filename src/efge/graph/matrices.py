"""SciPy's .npz files, Matrix Market and Matlab files -> matrices; sizes are checked against what is in the file."""

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
from efge.graph.text_lines import WHITESPACE, Lines, TextSource, read_chunks, split
from efge.io.files import read_archive_entry
from efge.io.matlab import read_matlab
from efge.kernels import text as kernel
from efge.parallel import map_ahead

_ARRAYS = {
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
    """Read an array of an archive without copying; arrays of objects, which need code to load, are errors."""
    data = read_archive_entry(archive, f"{name}.npy", label)
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise GraphError(f"entry {name!r}: an array is in version 1.0 or 2.0 of NumPy's format")
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, by_columns, dtype = read_header(stream)
    if dtype.hasobject or dtype.itemsize == 0:
        raise GraphError(f"entry {name!r}: an array holds numbers or text; got {dtype}")
    array = np.frombuffer(data, dtype, offset=stream.tell())
    return array.reshape(shape, order="F" if by_columns else "C")


def read_sparse_archive(data: bytes, label: str) -> Any:
    """Read a matrix that `scipy.sparse.save_npz` wrote."""
    import scipy.sparse

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = {name.removesuffix(".npy") for name in archive.namelist()}
        if "vectors" in entries:
            raise GraphError("this is an embedding, not a graph; pass the graph that the embedding was made from")
        if not {"format", "shape", "data"} <= entries:
            raise GraphError("a sparse matrix has the entries 'format', 'shape' and 'data'")
        layout = read_array(archive, "format", label).item()
        layout = layout.decode("ascii") if isinstance(layout, bytes) else str(layout)
        if layout not in _ARRAYS:
            raise GraphError(f"the format of a sparse matrix is one of {', '.join(_ARRAYS)}; got {layout[:20]!r}")
        names = ("data", "coords") if layout == "coo" and "coords" in entries else _ARRAYS[layout]
        arrays = [read_array(archive, name, label) for name in names]
        shape = tuple(read_array(archive, "shape", label).tolist())
    if len(shape) != 2 or not all(type(size) is int and 0 <= size < 1 << 31 for size in shape):
        raise GraphError(f"an adjacency matrix has two dimensions below {1 << 31:,}; got {shape}")
    content = (arrays[0], tuple(arrays[1:])) if names == _ARRAYS["coo"] else tuple(arrays)
    matrix = getattr(scipy.sparse, f"{layout}_array")(content, shape=shape)
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)
    return matrix


class _Entries(NamedTuple):
    """Positions in a matrix, from 0, and their values."""

    positions: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]


def read_matrix_market(source: TextSource) -> Any:
    """Read a Matrix Market file."""
    from scipy.sparse import coo_array

    chunks = read_chunks(source)
    first = next(chunks)
    layout, has_values, symmetry = _read_header(bytes(first.data[:200]).split(b"\n")[0])
    tables = map_ahead(lambda chunk: split(chunk, source.label, "%", WHITESPACE), chain([first], chunks))
    shape, count, tables_of_entries = _read_sizes(tables, layout)
    if layout == "array":
        values = [_parse_values(lines, lines.all_fields()) for lines in tables_of_entries]
        entries = _dense_entries(np.concatenate(values), shape, symmetry)
    else:
        entries = _concatenate([_parse_entries(lines, has_values) for lines in tables_of_entries], count)
    if len(entries.positions) and not ((entries.positions >= 0) & (entries.positions < shape)).all():
        raise GraphError(f"the entries are within the matrix of {shape[0]:,} x {shape[1]:,}, counted from 1")
    positions, weights = _expand_symmetry(entries, symmetry)
    return coo_array((weights, (positions[:, 0], positions[:, 1])), shape=shape)


def _expand_symmetry(entries: _Entries, symmetry: str) -> _Entries:
    """Add the entries above the diagonal, which a file of a symmetric matrix omits."""
    if symmetry == "general":
        return entries
    positions, values = entries
    below = positions[:, 0] != positions[:, 1]
    sign = -1.0 if symmetry == "skew-symmetric" else 1.0
    return _Entries(np.vstack([positions, positions[below, ::-1]]), np.concatenate([values, sign * values[below]]))


def _read_header(line: bytes) -> tuple[str, bool, str]:
    """Return the layout, whether entries have values, and the symmetry."""
    words = line.decode("latin-1").lower().split()
    if words[:2] != ["%%matrixmarket", "matrix"] or len(words) != 5:
        raise GraphError("the first line is %%MatrixMarket matrix, then layout, field and symmetry")
    layout, field, symmetry = words[2:]
    if layout not in ("coordinate", "array") or symmetry not in _SYMMETRIES or (layout, field) == ("array", "pattern"):
        raise GraphError(f"a layout is coordinate or array, a symmetry {', '.join(_SYMMETRIES)}; got {' '.join(words)}")
    if field not in _FIELDS:
        raise GraphError(f"the entries of an adjacency matrix are real numbers; got {field} ones")
    return layout, field != "pattern", symmetry


def _read_sizes(tables: Iterator[Lines], layout: str) -> tuple[tuple[int, int], int, list[Lines]]:
    """Return the shape, the number of entries (0 for a dense matrix), and all lines after the line of sizes."""
    for lines in tables:
        if len(lines.line_starts) > 1:
            first, last = map(int, lines.line_starts[:2])
            fields = [lines.fields.text(i) for i in range(first, last)][:4]
            if len(fields) != (3 if layout == "coordinate" else 2) or not all(map(_COUNT.fullmatch, fields)):
                place, _ = lines.describe(0)
                raise GraphError(f"{place}: the sizes are rows, columns and, unless the matrix is dense, entries")
            rows, columns, *count = map(int, fields)
            if max(rows, columns) >= 1 << 31:
                raise GraphError(f"a matrix has fewer than {1 << 31:,} rows and columns; got {rows:,} x {columns:,}")
            return (rows, columns), count[0] if count else 0, [lines.without_first(), *tables]
    raise GraphError("a matrix has a line of sizes; the file ends before it")


def _parse_entries(lines: Lines, has_values: bool) -> _Entries:
    counts = np.diff(lines.line_starts)
    is_wrong = counts != 2 + has_values
    if is_wrong.any():
        place, _ = lines.describe(int(lines.line_starts[int(np.argmax(is_wrong))]))
        raise GraphError(
            f"{place}: an entry has a row, a column{' and a value' if has_values else ' and nothing else'}"
        )
    positions = lines.columns(0, 1).integers()
    if positions is None:
        raise GraphError(f"{lines.label}: rows and columns are positive integers")
    values = _parse_values(lines, lines.column(2)) if has_values else np.ones(len(counts))
    return _Entries(positions.reshape(-1, 2) - 1, values)


def _concatenate(parts: list[_Entries], count: int) -> _Entries:
    positions, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    if len(values) != count:
        raise GraphError(f"the line of sizes announces {count:,} entries; got {len(values):,}")
    return _Entries(positions, values)


def _dense_entries(values: npt.NDArray[np.float64], shape: tuple[int, int], symmetry: str) -> _Entries:
    """Return the entries of a dense matrix, column by column; of a symmetric one, from the diagonal down."""
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


def _parse_values(lines: Lines, fields: Fields) -> npt.NDArray[np.float64]:
    values = np.empty(len(fields.starts))
    kernel.parse_weights(*fields, values)
    for i in np.flatnonzero(np.isnan(values)).tolist():
        try:
            values[i] = float(fields.text(i))
        except ValueError:
            place = lines.place(int(fields.starts[i]))
            raise GraphError(f"{place}: a value is a number; got {fields.text(i)[:40]!r}") from None
    return values


def read_matlab_graph(data: bytes, label: str, key: str | None) -> Any:
    """Read one square matrix of a Matlab file: the one named `key`, the only sparse one, or the only one."""
    from scipy.sparse import issparse

    variables = read_matlab(data, label)
    problem = variables.get("Problem")
    matrices = {name: value for name, value in variables.items() if not isinstance(value, dict)}
    if isinstance(problem, dict) and "A" in problem:
        matrices["Problem"] = problem["A"]
    if key is not None:
        if key not in matrices:
            raise GraphError(f"{label}: no matrix {key!r}; there are: {', '.join(matrices)}")
        return matrices[key]
    square = {
        name: value
        for name, value in matrices.items()
        if value.ndim == 2 and value.shape[0] == value.shape[1] > 1 and value.dtype.kind in "biuf"
    }
    sparse = {name: value for name, value in square.items() if issparse(value)}
    candidates = sparse if len(sparse) == 1 else square
    if len(candidates) != 1:
        names = ", ".join(candidates) or "none"
        raise GraphError(f"{label}: choose one square matrix by its name, as key='network'; there are: {names}")
    return next(iter(candidates.values()))
