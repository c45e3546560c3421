"""Matlab's files up to version 7 -> the matrices in them; nothing that a file says of its sizes is believed unseen.

SciPy's reader takes sizes from the file and looks for values there, whether or not the file is so long: damaged files
end the process. Here an element is a stretch of the bytes around it, and a size that does not fit in there is refused.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError
from efge.io.files import MOST_TIMES_LARGER, SMALL_ENOUGH, check_unpacked

_HEAD = 128
_MATRIX, _PACKED = 14, 15
_STRUCTURE, _SPARSE = 2, 5
# Types of stored numbers by their code, and classes of matrices that are numbers.
_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_NUMERIC = range(6, 16)
_OLD_TYPES = ("f8", "f4", "i4", "i2", "u2", "u1")
_DEEPEST = 20

Matrices = dict[str, Any]


class _Element(NamedTuple):
    """A type and the bytes that it is the type of."""

    kind: int
    data: memoryview


def read_matlab(data: bytes, label: str) -> Matrices:
    """The matrices of numbers by their names, sparse ones as SciPy's; of a structure, its parts by name."""
    if len(data) < 20:
        raise GraphError(f"{label}: a Matlab file has a heading; the file is too short for one")
    try:
        if 0 in data[:4]:
            return dict(_old_variables(data))
        if len(data) < _HEAD:
            raise GraphError("the heading has 128 bytes; the file is too short for it")
        order = "<" if data[126:128] == b"IM" else ">"
        version = data[125 if order == "<" else 124]
        if version == 2:
            raise GraphError("Matlab files are read up to version 7; save it with -v7")
        if version != 1 or data[126:128] not in (b"IM", b"MI"):
            raise GraphError("the heading is not that of a Matlab file")
        return dict(_variables(memoryview(data)[_HEAD:], order, label))
    except (struct.error, ValueError, zlib.error) as error:
        raise GraphError(
            f"{label}: {error}" if isinstance(error, GraphError) else f"{label}: damaged: {error}"
        ) from None


def _variables(data: memoryview, order: str, label: str) -> Iterator[tuple[str, Any]]:
    unpacked = 0
    for element in _elements(data, order):
        if element.kind == _PACKED:
            inside = _inflated(element.data, label)
            unpacked += len(inside)
            check_unpacked(label, unpacked, len(data))
            element = next(_elements(memoryview(inside), order), element)
        if element.kind == _MATRIX:
            name, matrix = _matrix(element.data, order, 0)
            if matrix is not None:
                yield name, matrix


def _inflated(data: memoryview, label: str) -> bytes:
    most = max(SMALL_ENOUGH, MOST_TIMES_LARGER * len(data))
    inflate = zlib.decompressobj()
    inside = inflate.decompress(data, most + 1)
    check_unpacked(label, len(inside), len(data))
    if not inflate.eof:
        raise GraphError("a packed matrix is cut short")
    return inside


def _elements(data: memoryview, order: str) -> Iterator[_Element]:
    """What stands one behind the other."""
    place = 0
    while place + 8 <= len(data):
        kind, size = struct.unpack_from(f"{order}II", data, place)
        begin, step = place + 8, 8
        if kind >> 16:
            # Up to four bytes stand within the heading.
            kind, size, begin, step = kind & 0xFFFF, kind >> 16, place + 4, 4
        end = begin + size
        if end > len(data) or (step == 4 and size > 4):
            raise GraphError(f"an element of {size:,} bytes stands where there are {len(data) - begin:,}")
        yield _Element(kind, data[begin:end])
        # Packed elements alone do not fill up their last eight bytes.
        place = end if kind == _PACKED else place + 8 if step == 4 else end + -size % 8


def _matrix(data: memoryview, order: str, depth: int) -> tuple[str, Any]:
    """The name of a matrix and its values; None for text, cells and whatever else is no matrix of numbers."""
    if depth > _DEEPEST:
        raise GraphError(f"structures stand in each other {_DEEPEST} deep at most")
    parts = _elements(data, order)
    flags, shape = (next(parts, _Element(0, data[:0])) for _ in range(2))
    name = bytes(next(parts, _Element(0, data[:0])).data).decode("latin-1")
    if len(flags.data) < 4 or shape.kind != 5:
        return name, None
    word = struct.unpack_from(f"{order}I", flags.data)[0]
    kind, is_complex = word & 0xFF, bool(word >> 8 & 8)
    dims = tuple(_numbers(shape, order).tolist())
    if kind == _STRUCTURE:
        return name, _structure(parts, order, depth, dims)
    if kind != _SPARSE and kind not in _NUMERIC:
        return name, None
    values = [_numbers(part, order) for part in parts]
    if len(values) < (3 if kind == _SPARSE else 1) + is_complex:
        raise GraphError(f"the matrix {name!r} is cut short")
    if kind == _SPARSE:
        return name, _sparse(dims, values[0], values[1], _real_or_complex(values[2:], is_complex))
    full = _real_or_complex(values, is_complex)
    return name, full.reshape(dims, order="F") if full.size == _product(dims) else _wrong_size(name, dims, full.size)


def _product(dims: tuple[int, ...]) -> int:
    product = 1
    for size in dims:
        product *= size
    return product if all(size >= 0 for size in dims) else -1


def _wrong_size(name: str, dims: tuple[int, ...], size: int) -> Any:
    raise GraphError(f"the matrix {name!r} of {' x '.join(map(str, dims[:8]))} has as many values; got {size:,}")


def _numbers(element: _Element, order: str) -> npt.NDArray[Any]:
    if element.kind not in _TYPES:
        raise GraphError(f"values are numbers; got values of type {element.kind}")
    return np.frombuffer(element.data, np.dtype(f"{order}{_TYPES[element.kind]}")).astype(_TYPES[element.kind])


def _real_or_complex(values: list[npt.NDArray[Any]], is_complex: bool) -> npt.NDArray[Any]:
    if not is_complex:
        return values[0]
    if len(values[0]) != len(values[1]):
        raise GraphError("complex values have a real and an imaginary part each")
    return values[0] + 1j * values[1]


def _sparse(dims: tuple[int, ...], rows: npt.NDArray[Any], starts: npt.NDArray[Any], values: npt.NDArray[Any]) -> Any:
    """Columns one behind the other; there may be room for more values than there are."""
    from scipy.sparse import csc_array

    if len(dims) != 2 or min(dims) < 0 or len(starts) != dims[1] + 1 or rows.dtype.kind == starts.dtype.kind == "f":
        raise GraphError(f"a sparse matrix has two sizes and a begin of each column; got {dims} and {len(starts)}")
    used = int(starts[-1])
    if not 0 <= used <= min(len(rows), len(values)):
        raise GraphError(f"a sparse matrix of {used:,} entries has as many rows and values")
    matrix = csc_array((values[:used], rows[:used].astype(np.int64), starts.astype(np.int64)), shape=dims)
    matrix.check_format(full_check=True)
    return matrix


def _structure(parts: Iterator[_Element], order: str, depth: int, dims: tuple[int, ...]) -> Matrices | None:
    """The parts of a single structure by name, those that are matrices."""
    if _product(dims) != 1:
        return None
    width, names = (next(parts, None) for _ in range(2))
    if width is None or names is None:
        raise GraphError("a structure is cut short")
    size = int(_numbers(width, order)[:1].sum())
    if size < 1 or len(names.data) % size:
        raise GraphError(f"names of a structure's parts have {size} bytes each; got {len(names.data)} in all")
    fields = (bytes(names.data[begin : begin + size]).split(b"\0")[0] for begin in range(0, len(names.data), size))
    found = {}
    for field, part in zip(fields, parts, strict=False):
        if part.kind == _MATRIX:
            found[field.decode("latin-1")] = _matrix(part.data, order, depth + 1)[1]
    return {field: value for field, value in found.items() if value is not None}


def _old_variables(data: bytes) -> Iterator[tuple[str, Any]]:
    """Version 4: five numbers, a name, and the values by columns."""
    place = 0
    while place < len(data):
        if len(data) - place < 20:
            raise GraphError("a matrix has a heading of 20 bytes; the file ends within it")
        order = "<" if 0 <= struct.unpack_from("<i", data, place)[0] < 1000 else ">"
        code, rows, columns, is_complex, size = struct.unpack_from(f"{order}5i", data, place)
        number, kind = code % 1000 // 10, code % 10
        if code % 1000 >= 100 or number >= len(_OLD_TYPES) or kind > 2 or min(rows, columns) < 0 or size < 1:
            raise GraphError("the heading of a matrix is none")
        type_ = np.dtype(f"{order}{_OLD_TYPES[number]}")
        begin = place + 20 + size
        count = rows * columns * (2 if is_complex else 1)
        place = begin + count * type_.itemsize
        if place > len(data):
            raise GraphError(f"a matrix of {rows} x {columns} stands where there are {len(data) - begin:,} bytes")
        values = np.frombuffer(data, type_, count, begin).astype(_OLD_TYPES[number])
        name = data[begin - size : begin].split(b"\0")[0].decode("latin-1")
        if kind == 2:
            yield name, _old_sparse(values.reshape((rows, -1), order="F") if rows else values.reshape(0, 0))
        elif kind == 0:
            half = _real_or_complex([*values.reshape(2, -1)], True) if is_complex else values
            yield name, half.reshape((rows, columns), order="F")


def _old_sparse(table: npt.NDArray[Any]) -> Any:
    """A row for each entry, counted from 1, its column and its value; the last one has the sizes."""
    from scipy.sparse import coo_array

    if len(table) < 1 or table.shape[1] not in (3, 4) or not np.isfinite(table[:, :2]).all():
        raise GraphError("a sparse matrix has rows, columns and values")
    shape, ends = table[-1, :2], table[:-1, :2]
    if not (shape >= 0).all() or not (shape < 1 << 31).all() or not ((ends >= 1) & (ends <= shape)).all():
        raise GraphError(f"entries stand within a sparse matrix; it is of {shape[0]:g} x {shape[1]:g}")
    values = table[:-1, 2] if table.shape[1] == 3 else table[:-1, 2] + 1j * table[:-1, 3]
    rows, columns = ends.T.astype(np.int64) - 1
    return coo_array((values, (rows, columns)), shape=(int(shape[0]), int(shape[1])))
