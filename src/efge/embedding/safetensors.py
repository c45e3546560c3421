"""Vectors and names as safetensors: the size of a JSON header, the header, and the bytes of all arrays."""

from __future__ import annotations

import json
import struct
from collections.abc import Hashable, Iterable
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from efge.embedding.common import CHUNK_BYTES, NamedVectors, Vectors
from efge.embedding.npz import decode_names_json, name_arrays, split_names
from efge.errors import EmbeddingError
from efge.graph.names import Names
from efge.io.files import parse_json

_KINDS = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "I64": "<i8", "U8": "|u1"}
_KIND_OF = {np.dtype(dtype): kind for kind, dtype in _KINDS.items()}
# Longer headers are refused by the library of this name, too.
_MAX_HEADER = 100_000_000
_FORMAT = "efge embedding 1"


def write_safetensors(stream: BinaryIO, vectors: Vectors, names: Names) -> None:
    """Write the tensors "vectors" and "names"; names that are text are their UTF-8 bytes and ends."""
    arrays = {"vectors": vectors.astype("<f4", copy=False), **name_arrays(names)}
    header: dict[str, Any] = {"__metadata__": {"format": _FORMAT}}
    begin = 0
    for name, array in arrays.items():
        shape, end = list(array.shape), begin + array.nbytes
        header[name] = {"dtype": _KIND_OF[array.dtype], "shape": shape, "data_offsets": [begin, end]}
        begin = end
    text = json.dumps(header, separators=(",", ":")).encode()
    # Arrays begin at a multiple of 8 bytes, so that they can be mapped into memory.
    text += b" " * (-len(text) % 8)
    stream.write(struct.pack("<Q", len(text)) + text)
    for array in arrays.values():
        rows = max(1, CHUNK_BYTES * len(array) // max(array.nbytes, 1))
        for first in range(0, len(array), rows):
            stream.write(array[first : first + rows].tobytes())


def read_safetensors(stream: BinaryIO, label: str) -> NamedVectors:
    """Read the tensor "vectors", or the only table of floats, and the names if there are any."""
    data = stream.read()
    header, begin = _read_header(data)
    tables = [name for name, entry in header.items() if _is_table(entry)]
    chosen = "vectors" if "vectors" in tables else tables[0] if len(tables) == 1 else None
    if chosen is None:
        raise EmbeddingError(f"one tensor has two dimensions of floats, or is named vectors; got {list(header)[:10]}")
    arrays = {name: _read_array(data, begin, name, header[name]) for name in {chosen, *_NAME_ENTRIES} & set(header)}
    vectors = arrays[chosen].astype(np.float32)
    return vectors, _names(arrays, len(vectors))


_NAME_ENTRIES = ("names", "name_ends", "names_json")


def _names(arrays: dict[str, npt.NDArray[Any]], n: int) -> Iterable[Hashable]:
    if "names_json" in arrays:
        return decode_names_json(arrays["names_json"].astype(np.uint8).tobytes())
    if "names" not in arrays:
        return range(n)
    if "name_ends" in arrays:
        return split_names(arrays["names"].astype(np.uint8).tobytes(), arrays["name_ends"].astype(np.int64))
    names: list[Hashable] = arrays["names"].astype(np.int64).tolist()
    return names


def _read_header(data: bytes) -> tuple[dict[str, Any], int]:
    """Return the description of each tensor, and where their bytes begin."""
    size = struct.unpack("<Q", data[:8])[0] if len(data) >= 8 else 0
    if not 0 < size <= min(_MAX_HEADER, len(data) - 8):
        raise EmbeddingError(f"a file begins with the size of its header; got {size:,}, but it has {len(data):,} bytes")
    header = parse_json(data[8 : 8 + size])
    if not isinstance(header, dict):
        raise EmbeddingError(f"the header is a JSON object; got {type(header).__name__}")
    header.pop("__metadata__", None)
    return header, 8 + size


def _is_table(entry: Any) -> bool:
    shape = entry.get("shape") if isinstance(entry, dict) else None
    return isinstance(shape, list) and len(shape) == 2 and str(entry.get("dtype")).startswith("F")


def _read_array(data: bytes, begin: int, name: str, entry: Any) -> npt.NDArray[Any]:
    kind, shape, offsets = (entry.get(key) for key in ("dtype", "shape", "data_offsets"))
    if kind not in _KINDS:
        raise EmbeddingError(f"tensor {name!r}: the type is one of {', '.join(_KINDS)}; got {str(kind)[:20]!r}")
    numbers = [*shape, *offsets] if isinstance(shape, list) and isinstance(offsets, list) else [-1]
    if len(numbers) != len(shape or ()) + 2 or not all(type(n) is int and 0 <= n < 2**62 for n in numbers):
        raise EmbeddingError(f"tensor {name!r}: a shape and two offsets are lists of integers; got {str(entry)[:80]}")
    dtype = np.dtype(_KINDS[kind])
    count = 1
    for size in shape:
        count *= size
    first, last = offsets
    if last - first != count * dtype.itemsize or begin + last > len(data):
        raise EmbeddingError(f"tensor {name!r}: {shape} values need other bytes than {first:,} to {last:,}")
    return np.frombuffer(data, dtype, count, begin + first).reshape(shape)
