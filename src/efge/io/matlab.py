"""Matlab files up to version 7 -> the matrices in them, with every size checked against the bytes that are there.

SciPy's reader believes the sizes in a file, whether or not the file is that long, so a damaged file can kill the
process. Here an element is a slice of the bytes around it, and a size that exceeds them is an error.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError
from efge.io.files import MAX_EXPANSION, MAX_UNCHECKED_SIZE, check_uncompressed_size

_HEADER_SIZE = 128
_MATRIX, _COMPRESSED = 14, 15
_STRUCTURE, _SPARSE = 2, 5
# Types of stored numbers by their code, and classes of matrices that hold numbers.
_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_NUMERIC = range(6, 16)
_V4_HEADER_SIZE = 20
_V4_TYPES = ("f8", "f4", "i4", "i2", "u2", "u1")
_MAX_DEPTH = 20

Matrices = dict[str, Any]


class _Element(NamedTuple):
    """A type code and the bytes of that type."""

    kind: int
    data: memoryview


def read_matlab(data: bytes, label: str) -> Matrices:
    """Return the numeric matrices by name, sparse ones as SciPy arrays, and structures as dicts of their fields."""
    if len(data) < _V4_HEADER_SIZE:
        raise GraphError(f"{label}: a Matlab file has a header; the file is too short for one")
    try:
        if 0 in data[:4]:
            return dict(_read_v4(data))
        order = _read_header(data)
        return dict(_variables(memoryview(data)[_HEADER_SIZE:], order, label))
    except (struct.error, ValueError, zlib.error) as error:
        raise GraphError(
            f"{label}: {error}" if isinstance(error, GraphError) else f"{label}: damaged: {error}"
        ) from None


def _read_header(data: bytes) -> str:
    """Return the byte order, "<" or ">"."""
    if len(data) < _HEADER_SIZE:
        raise GraphError("the header has 128 bytes; the file is too short for it")
    order = "<" if data[126:128] == b"IM" else ">"
    version = data[125 if order == "<" else 124]
    if version == 2:
        raise GraphError("Matlab files are read up to version 7; save it with -v7")
    if version != 1 or data[126:128] not in (b"IM", b"MI"):
        raise GraphError("the header is not that of a Matlab file")
    return order


def _variables(data: memoryview, order: str, label: str) -> Iterator[tuple[str, Any]]:
    uncompressed = 0
    for element in _elements(data, order):
        if element.kind == _COMPRESSED:
            content = _decompress(element.data, label)
            uncompressed += len(content)
            check_uncompressed_size(label, uncompressed, len(data))
            element = next(_elements(memoryview(content), order), element)
        if element.kind == _MATRIX:
            name, matrix = _read_matrix(element.data, order, 0)
            if matrix is not None:
                yield name, matrix


def _decompress(data: memoryview, label: str) -> bytes:
    max_size = max(MAX_UNCHECKED_SIZE, MAX_EXPANSION * len(data))
    decompressor = zlib.decompressobj()
    content = decompressor.decompress(data, max_size + 1)
    check_uncompressed_size(label, len(content), len(data))
    if not decompressor.eof:
        raise GraphError("a compressed matrix is truncated")
    return content


def _elements(data: memoryview, order: str) -> Iterator[_Element]:
    """Yield consecutive elements."""
    position = 0
    while position + 8 <= len(data):
        kind, size = struct.unpack_from(f"{order}II", data, position)
        start, step = position + 8, 8
        if kind >> 16:
            # Up to four bytes are stored within the element's tag.
            kind, size, start, step = kind & 0xFFFF, kind >> 16, position + 4, 4
        end = start + size
        if end > len(data) or (step == 4 and size > 4):
            raise GraphError(f"an element claims {size:,} bytes where {len(data) - start:,} are left")
        yield _Element(kind, data[start:end])
        # All but compressed elements are padded to multiples of eight bytes.
        position = end if kind == _COMPRESSED else position + 8 if step == 4 else end + -size % 8


def _read_matrix(data: memoryview, order: str, depth: int) -> tuple[str, Any]:
    """Return the name and the values of a matrix; the values are None if it is not numeric, such as text or a cell."""
    if depth > _MAX_DEPTH:
        raise GraphError(f"structures are nested at most {_MAX_DEPTH} deep")
    parts = _elements(data, order)
    flags, shape_element = (next(parts, _Element(0, data[:0])) for _ in range(2))
    name = bytes(next(parts, _Element(0, data[:0])).data).decode("latin-1")
    if len(flags.data) < 4 or shape_element.kind != 5:
        return name, None
    word = struct.unpack_from(f"{order}I", flags.data)[0]
    kind, is_complex = word & 0xFF, bool(word >> 8 & 8)
    dims = tuple(_read_numbers(shape_element, order).tolist())
    if kind == _STRUCTURE:
        return name, _read_structure(parts, order, depth, dims)
    if kind != _SPARSE and kind not in _NUMERIC:
        return name, None
    values = [_read_numbers(part, order) for part in parts]
    if len(values) < (3 if kind == _SPARSE else 1) + is_complex:
        raise GraphError(f"the matrix {name!r} is truncated")
    if kind == _SPARSE:
        return name, _sparse_matrix(dims, values[0], values[1], _real_or_complex(values[2:], is_complex))
    dense = _real_or_complex(values, is_complex)
    if dense.size != _product(dims):
        shape = " x ".join(map(str, dims[:8]))
        raise GraphError(f"the number of values of the matrix {name!r} is {shape}; got {dense.size:,}")
    return name, dense.reshape(dims, order="F")


def _product(dims: tuple[int, ...]) -> int:
    product = 1
    for size in dims:
        product *= size
    return product if all(size >= 0 for size in dims) else -1


def _read_numbers(element: _Element, order: str) -> npt.NDArray[Any]:
    if element.kind not in _TYPES:
        raise GraphError(f"values are numbers; got values of type {element.kind}")
    return np.frombuffer(element.data, np.dtype(f"{order}{_TYPES[element.kind]}")).astype(_TYPES[element.kind])


def _real_or_complex(values: list[npt.NDArray[Any]], is_complex: bool) -> npt.NDArray[Any]:
    if not is_complex:
        return values[0]
    if len(values[0]) != len(values[1]):
        raise GraphError("every complex value has a real and an imaginary part")
    return values[0] + 1j * values[1]


def _sparse_matrix(
    dims: tuple[int, ...], rows: npt.NDArray[Any], starts: npt.NDArray[Any], values: npt.NDArray[Any]
) -> Any:
    """Build a matrix from compressed columns; the arrays may be longer than the matrix needs."""
    from scipy.sparse import csc_array

    if len(dims) != 2 or min(dims) < 0 or len(starts) != dims[1] + 1 or rows.dtype.kind == starts.dtype.kind == "f":
        raise GraphError(f"a sparse matrix has two dimensions and a start of each column; got {dims}, {len(starts)}")
    used = int(starts[-1])
    if not 0 <= used <= min(len(rows), len(values)):
        raise GraphError(f"a sparse matrix of {used:,} entries has as many rows and values")
    matrix = csc_array((values[:used], rows[:used].astype(np.int64), starts.astype(np.int64)), shape=dims)
    matrix.check_format(full_check=True)
    return matrix


def _read_structure(parts: Iterator[_Element], order: str, depth: int, dims: tuple[int, ...]) -> Matrices | None:
    """Return the numeric fields of a single structure by name."""
    if _product(dims) != 1:
        return None
    width, names = (next(parts, None) for _ in range(2))
    if width is None or names is None:
        raise GraphError("a structure is truncated")
    size = int(_read_numbers(width, order)[:1].sum())
    if size < 1 or len(names.data) % size:
        raise GraphError(f"each field name of a structure has {size} bytes; got {len(names.data)} in total")
    fields = (bytes(names.data[start : start + size]).split(b"\0")[0] for start in range(0, len(names.data), size))
    matrices = {}
    for field, part in zip(fields, parts, strict=False):
        if part.kind == _MATRIX:
            matrices[field.decode("latin-1")] = _read_matrix(part.data, order, depth + 1)[1]
    return {field: value for field, value in matrices.items() if value is not None}


def _read_v4(data: bytes) -> Iterator[tuple[str, Any]]:
    """Read version 4, in which a matrix is five integers, a name, and the values by columns."""
    position = 0
    while position < len(data):
        if len(data) - position < _V4_HEADER_SIZE:
            raise GraphError("a matrix has a header of 20 bytes; the file ends within it")
        order = "<" if 0 <= struct.unpack_from("<i", data, position)[0] < 1000 else ">"
        code, rows, columns, is_complex, name_size = struct.unpack_from(f"{order}5i", data, position)
        type_number, kind = code % 1000 // 10, code % 10
        is_known = code % 1000 < 100 and type_number < len(_V4_TYPES) and kind <= 2
        if not is_known or min(rows, columns) < 0 or name_size < 1:
            raise GraphError("the header of a matrix is not valid")
        dtype = np.dtype(f"{order}{_V4_TYPES[type_number]}")
        start = position + _V4_HEADER_SIZE + name_size
        count = rows * columns * (2 if is_complex else 1)
        position = start + count * dtype.itemsize
        if position > len(data):
            raise GraphError(f"a matrix claims {rows} x {columns} values where {len(data) - start:,} bytes are left")
        values = np.frombuffer(data, dtype, count, start).astype(_V4_TYPES[type_number])
        name = data[start - name_size : start].split(b"\0")[0].decode("latin-1")
        if kind == 2:
            yield name, _v4_sparse_matrix(values.reshape((rows, -1), order="F") if rows else values.reshape(0, 0))
        elif kind == 0:
            dense = _real_or_complex([*values.reshape(2, -1)], True) if is_complex else values
            yield name, dense.reshape((rows, columns), order="F")


def _v4_sparse_matrix(table: npt.NDArray[Any]) -> Any:
    """Build a matrix from a table of rows and columns, counted from 1, and values; its last line has the shape."""
    from scipy.sparse import coo_array

    if len(table) < 1 or table.shape[1] not in (3, 4) or not np.isfinite(table[:, :2]).all():
        raise GraphError("a sparse matrix has rows, columns and values")
    shape, entries = table[-1, :2], table[:-1, :2]
    if not (shape >= 0).all() or not (shape < 1 << 31).all() or not ((entries >= 1) & (entries <= shape)).all():
        raise GraphError(f"the entries of a sparse matrix are within its shape, {shape[0]:g} x {shape[1]:g}")
    values = table[:-1, 2] if table.shape[1] == 3 else table[:-1, 2] + 1j * table[:-1, 3]
    rows, columns = entries.T.astype(np.int64) - 1
    return coo_array((values, (rows, columns)), shape=(int(shape[0]), int(shape[1])))
