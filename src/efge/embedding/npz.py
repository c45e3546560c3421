"""NumPy's npz format, for vectors and names and for other arrays: a zip archive without time stamps or pickles."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Hashable, Iterable, Mapping
from itertools import pairwise
from typing import IO, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from efge.embedding.common import CHUNK_BYTES, NamedVectors, Vectors, as_seekable
from efge.errors import EmbeddingError
from efge.graph.names import Fields, Names, encode_utf8
from efge.io.files import parse_json, read_archive_entry

_MAGIC = b"efge embedding 1"
# What to do with files of another kind.
_OTHER_FILES = {
    _MAGIC: ", which is a file of vectors: model.save and --save-model write models",
    b"efge model 1": ", which is a model: efge.NodeEmbedder.load reads it, and its embedding_ has the vectors",
}


def write_npz(stream: BinaryIO, vectors: Vectors, names: Names) -> None:
    """Write an archive with the entries "format", "vectors" and those of the names."""
    write_arrays(
        stream, {"format": np.array(_MAGIC), **name_arrays(names), "vectors": vectors.astype("<f4", copy=False)}
    )


def write_arrays(stream: BinaryIO, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write an archive of uncompressed arrays; the same arrays give the same bytes."""
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            # The default date of ZipInfo is fixed, so that the same content gives the same bytes.
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as entry:
                _write_array(entry, array)


def _write_array(stream: IO[bytes], array: npt.NDArray[Any]) -> None:
    """Write an array in NumPy's format, in chunks: vectors may be mapped from a file that is larger than memory."""
    np.lib.format.write_array_header_1_0(stream, np.lib.format.header_data_from_array_1_0(array))
    if array.ndim == 0:
        stream.write(array.tobytes())
        return
    rows = max(1, CHUNK_BYTES * len(array) // max(array.nbytes, 1))
    for begin in range(0, len(array), rows):
        stream.write(array[begin : begin + rows].tobytes())


def name_arrays(names: Names) -> dict[str, npt.NDArray[Any]]:
    """Return integers as they are, texts as UTF-8 with the position where each name ends, other names as JSON."""
    if names.dtype != object:
        return {"names": names.astype("<i8")}
    items = names.tolist()
    if all(type(name) is str for name in items):
        texts = Fields.from_texts(items)
        return {"names": texts.data, "name_ends": texts.ends.astype("<i8")}
    try:
        text = json.dumps([_to_json(name) for name in items], ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError) as error:
        message = str(error) if isinstance(error, EmbeddingError) else f"names cannot be written as JSON: {error}"
        raise EmbeddingError(message) from None
    return {"names_json": np.frombuffer(encode_utf8([text])[0], np.uint8)}


def _to_json(name: Hashable) -> Any:
    """Convert a name to types that JSON keeps; tuples become lists, which cannot be names themselves."""
    if type(name) is tuple:
        return [_to_json(part) for part in name]
    if name is None or type(name) in (str, int, float, bool):
        return name
    raise EmbeddingError(
        f"npz files keep names that are numbers, text, or tuples of these; got {type(name).__name__}: {name!r}"
    )


def _from_json(name: Any) -> Hashable:
    return tuple(map(_from_json, name)) if isinstance(name, list) else name


def read_npz(stream: BinaryIO, label: str) -> NamedVectors:
    """Read vectors and names from an archive."""
    with zipfile.ZipFile(as_seekable(stream)) as archive:
        check_format(archive, _MAGIC, f"{label}: an npz file of vectors")
        names = read_names(archive)
        return read_entry(archive, "vectors", "<f4", 2).astype(np.float32, copy=False), names


def check_format(archive: zipfile.ZipFile, magic: bytes, what: str) -> None:
    """Refuse an archive whose entry "format" is another one, or missing."""
    found = read_entry(archive, "format", "|S", 0).item() if has_entry(archive, "format") else None
    if found != magic:
        hint = "" if found is None else _OTHER_FILES.get(found, "")
        raise EmbeddingError(f"{what} has the entry 'format', {magic!r}; got {found!r}{hint}")


def has_entry(archive: zipfile.ZipFile, name: str) -> bool:
    """Return whether an archive has an array of this name."""
    return f"{name}.npy" in archive.namelist()


def read_names(archive: zipfile.ZipFile) -> Iterable[Hashable]:
    """Read the names that `name_arrays` turned into arrays."""
    if has_entry(archive, "names_json"):
        return decode_names_json(read_entry(archive, "names_json", "|u1", 1).tobytes())
    if has_entry(archive, "name_ends"):
        data = read_entry(archive, "names", "|u1", 1).tobytes()
        return split_names(data, read_entry(archive, "name_ends", "<i8", 1))
    return read_entry(archive, "names", "<i8", 1)


def read_entry(archive: zipfile.ZipFile, name: str, kind: str, ndim: int) -> npt.NDArray[Any]:
    """Read an array of the given type; it takes no more memory than the entry has bytes, whatever its header says."""
    data = read_archive_entry(archive, f"{name}.npy", "the archive")
    stream = io.BytesIO(data)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise EmbeddingError(f"entry {name!r}: an array must be in version 1.0 of NumPy's format")
    shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(stream)
    if not dtype.str.startswith(kind) or fortran_order or len(shape) != ndim:
        got = f"{dtype.str}, {shape}, {'column' if fortran_order else 'row'}-major"
        raise EmbeddingError(
            f"entry {name!r}: the array must have type {kind} and {ndim} dimensions, row-major; got {got}"
        )
    return np.frombuffer(data, dtype, offset=stream.tell()).reshape(shape)


def split_names(data: bytes, ends: npt.NDArray[np.int64]) -> list[str]:
    """Return the names whose UTF-8 bytes follow each other, given the ends of all names."""
    offsets = [0, *ends.tolist()]
    if offsets[-1] != len(data) or any(begin > end for begin, end in pairwise(offsets)):
        raise EmbeddingError(f"entry 'name_ends': the ends of names must ascend to the size of all names, {len(data)}")
    return [data[begin:end].decode() for begin, end in pairwise(offsets)]


def decode_names_json(data: bytes) -> list[Hashable]:
    """Return the names in a JSON list."""
    names = parse_json(data)
    if not isinstance(names, list):
        raise EmbeddingError(f"entry 'names_json': names must be a list; got {type(names).__name__}")
    return [_from_json(name) for name in names]
