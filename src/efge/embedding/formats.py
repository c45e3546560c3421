"""Files of vectors and names in every format that an embedding is saved to and loaded from."""

from __future__ import annotations

import errno
import io
import json
import os
import warnings
import zipfile
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.embedding.text_formats import (
    NamedVectors,
    Vectors,
    read_csv,
    read_tensors,
    read_tsv,
    read_word2vec,
    word2vec_sizes,
    write_csv,
    write_tensors,
    write_tsv,
    write_word2vec,
)
from efge.errors import EmbeddingError, GraphError, reason_of
from efge.graph.names import Fields, Names, encoded, names_of, unescaped, written_names
from efge.io.arrow import read_parquet
from efge.io.atomic import written_whole
from efge.io.files import PACKED, archive_entry, from_json, label_of, opened

_BLOCK = 1 << 22
_MOST_DIMENSIONS = 10_000_000
_MARK = b"efge embedding 1"


class _Format(NamedTuple):
    read: Callable[[BinaryIO, str], NamedVectors]
    write: Callable[[BinaryIO, Vectors, Names], None]
    packs: bool = True


def write_vectors(path: str | os.PathLike[str], format: str | None, vectors: Vectors, names: Names) -> None:  # noqa: A002
    """Write a file, or a folder for TensorBoard; it appears when it is whole."""
    kind = _format_of(path, format)
    try:
        if kind == "tensorboard":
            _write_projector(Path(path), vectors, names)
            return
        with written_whole(path) as stream:
            _FORMATS[kind].write(stream, vectors, names)
    except (GraphError, EmbeddingError) as error:
        raise EmbeddingError(f"{label_of(path)}: {error}") from None


def check_writable(path: str | os.PathLike[str], format: str | None) -> None:  # noqa: A002
    """Refuse, before any work is done for it, a file that could not be written."""
    folder = Path(path).resolve().parent
    if _format_of(path, format) == "tensorboard" or path == "-":
        return
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(Path(path).parent))
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, "no permission to write into the folder", str(Path(path).parent))


def read_vectors(path: str | os.PathLike[str], format: str | None) -> NamedVectors:  # noqa: A002
    """Vectors and names from a file, or from a folder for TensorBoard."""
    if format is None and path != "-" and Path(path).is_dir():
        format = "tensorboard"  # noqa: A001
    kind = _format_of(path, format)
    with _as_embedding_errors(label_of(path), kind):
        if kind == "tensorboard":
            return _checked(_read_projector(Path(path)))
        with opened(path) as stream:
            return _checked(_FORMATS[kind].read(stream, label_of(path)))


def _checked(found: NamedVectors) -> NamedVectors:
    """Where there is no vector, a file may claim vectors of any size, and whatever is done next would believe it."""
    if found[0].shape[1] > _MOST_DIMENSIONS:
        raise EmbeddingError(f"a vector has {_MOST_DIMENSIONS:,} values at most; got {found[0].shape[1]:,}")
    return found


def _format_of(path: str | os.PathLike[str], given: str | None) -> str:
    label = label_of(path)
    *_, inner, last = "", "", *(suffix.lower() for suffix in Path(label).suffixes)
    packed = last in PACKED
    kind = _SUFFIXES.get(inner if packed else last) if given is None else str(given).lower()
    known = ", ".join([*_FORMATS, "tensorboard"])
    if kind is None:
        how = "pass one as format= (--format, or --to for what is written)"
        raise EmbeddingError(f"{label}: the suffix does not tell the format; {how}, known: {known}")
    if kind not in _FORMATS and kind != "tensorboard":
        raise EmbeddingError(f"no format {given!r}; known: {known}")
    if packed and kind in _FORMATS and not _FORMATS[kind].packs:
        raise EmbeddingError(f"{label}: {kind} files are not packed; leave out {last}")
    return kind


@contextmanager
def _as_embedding_errors(label: str, kind: str) -> Iterator[None]:
    """Whatever goes wrong while a file is read is one EmbeddingError with the file's name."""
    try:
        with warnings.catch_warnings():
            # What a library says to its own users is nothing that ours could act on.
            warnings.simplefilter("ignore")
            yield
    except (EmbeddingError, GraphError) as error:
        named = str(error).startswith((label, repr(label)))
        raise EmbeddingError(str(error) if named else f"{label}: {error}") from None
    except MemoryError as error:
        # Arrow asks for as much as a file says it needs.
        claimed = type(error).__name__ == "ArrowMemoryError"
        raise EmbeddingError(f"{label}: it needs more memory than there is: {error}") if claimed else error from None
    except Exception as error:
        raise EmbeddingError(f"{label}: not a {kind} file that can be read: {reason_of(error)}") from None


def _seekable(stream: BinaryIO) -> BinaryIO:
    return stream if stream.seekable() else io.BytesIO(stream.read())


# npz: the arrays themselves, one an entry, without time stamps


def _write_npz(stream: BinaryIO, vectors: Vectors, names: Names) -> None:
    arrays = {"format": np.array(_MARK), **_name_entries(names), "vectors": vectors.astype("<f4", copy=False)}
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            # ZipInfo's own date is a fixed one, so that the same content gives the same bytes.
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as entry:
                _write_array(entry, array)


def _write_array(stream: IO[bytes], array: npt.NDArray[Any]) -> None:
    """In NumPy's format, some megabytes at a time: vectors may be mapped from a file because there is no room."""
    np.lib.format.write_array_header_1_0(stream, np.lib.format.header_data_from_array_1_0(array))
    if array.ndim == 0:
        stream.write(array.tobytes())
        return
    rows = max(1, _BLOCK * len(array) // max(array.nbytes, 1))
    for begin in range(0, len(array), rows):
        stream.write(array[begin : begin + rows].tobytes())


def _name_entries(names: Names) -> dict[str, npt.NDArray[Any]]:
    """Integers as they are, text as UTF-8 with the places where each name ends, anything else as JSON."""
    if names.dtype != object:
        return {"names": names.astype("<i8")}
    items = names.tolist()
    if all(type(name) is str for name in items):
        texts = Fields.of(items)
        return {"names": texts.data, "name_ends": texts.ends.astype("<i8")}
    try:
        text = json.dumps([_for_json(name) for name in items], ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise EmbeddingError(str(error) if isinstance(error, EmbeddingError) else f"names for JSON: {error}") from None
    return {"names_json": np.frombuffer(encoded([text])[0], np.uint8)}


def _for_json(name: Hashable) -> Any:
    """The name in types that JSON keeps, tuples as lists, which no name is."""
    if type(name) is tuple:
        return [_for_json(part) for part in name]
    if name is None or type(name) in (str, int, float, bool):
        return name
    raise EmbeddingError(f"names to be kept are numbers, text, and tuples of such; got {type(name).__name__}: {name!r}")


def _from_json(name: Any) -> Hashable:
    return tuple(map(_from_json, name)) if isinstance(name, list) else name


def _read_npz(stream: BinaryIO, label: str) -> NamedVectors:
    with zipfile.ZipFile(_seekable(stream)) as archive:
        entries = set(archive.namelist())
        mark = _entry(archive, "format", "|S", 0).item() if "format.npy" in entries else None
        if mark != _MARK:
            raise EmbeddingError(f"{label}: an npz file of vectors has the entry 'format', {_MARK!r}; got {mark!r}")
        names: Iterable[Hashable]
        if "names_json.npy" in entries:
            names = _json_names(_entry(archive, "names_json", "|u1", 1).tobytes())
        elif "name_ends.npy" in entries:
            names = _text_names(_entry(archive, "names", "|u1", 1).tobytes(), _entry(archive, "name_ends", "<i8", 1))
        else:
            names = _entry(archive, "names", "<i8", 1)
        return _entry(archive, "vectors", "<f4", 2).astype(np.float32, copy=False), names


def _entry(archive: zipfile.ZipFile, name: str, kind: str, ndim: int) -> npt.NDArray[Any]:
    """An array of the one type that it may have, over the bytes that are there, whatever its header says."""
    data = archive_entry(archive, f"{name}.npy", "the archive")
    stream = io.BytesIO(data)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise EmbeddingError(f"entry {name!r}: an array is in version 1.0 of NumPy's format")
    shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(stream)
    if not dtype.str.startswith(kind) or fortran_order or len(shape) != ndim:
        got = f"{dtype.str}, {shape}, by {'columns' if fortran_order else 'rows'}"
        raise EmbeddingError(f"entry {name!r}: an array is of {kind} in {ndim} dimensions, by rows; got {got}")
    return np.frombuffer(data, dtype, offset=stream.tell()).reshape(shape)


def _text_names(data: bytes, ends: npt.NDArray[np.int64]) -> list[str]:
    places = [0, *ends.tolist()]
    if places[-1] != len(data) or any(begin > end for begin, end in pairwise(places)):
        raise EmbeddingError(f"entry 'name_ends': ends of names ascend to the size of all names, {len(data)}")
    return [data[begin:end].decode() for begin, end in pairwise(places)]


def _json_names(data: bytes) -> list[Hashable]:
    names = from_json(data)
    if not isinstance(names, list):
        raise EmbeddingError(f"entry 'names_json': names are a list; got {type(names).__name__}")
    return [_from_json(name) for name in names]


# Parquet: a column of names and one of vectors


def _write_parquet(stream: BinaryIO, vectors: Vectors, names: Names) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    items = names.tolist()
    if names.dtype == object and not all(type(name) is str for name in items):
        wrong = next(name for name in items if type(name) is not str)
        raise EmbeddingError(
            f"names in Parquet are all integers of 64 bits or all text; got {wrong!r}, which npz may keep"
        )
    encoded(items if names.dtype == object else [])
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1])
    table = pa.table({"node": pa.array(items, pa.string() if names.dtype == object else pa.int64()), "vector": column})
    # Values hardly repeat: a dictionary of them, or packing, would take time and save nothing.
    plain: dict[str, Any] = {"use_dictionary": False, "compression": "none", "write_page_checksum": True}
    # Groups of some megabytes are written and read by several threads, and need little memory beside the vectors.
    pq.write_table(table, stream, row_group_size=max(1, (1 << 21) // vectors.shape[1]), **plain)


def _read_parquet(stream: BinaryIO, label: str) -> NamedVectors:
    import pyarrow as pa

    table = read_parquet(_seekable(stream), label, page_checksum_verification=True)
    lists = [name for name, kind in zip(table.column_names, table.schema.types, strict=True) if _is_list(kind)]
    node = _name_column(table, lists)
    others = lists or [name for name in table.column_names if name != node]
    for column in (node, *others):
        if table[column].null_count:
            row = table[column].is_null().index(True).as_py()
            raise EmbeddingError(f"{label}, row {row}: every cell has a value; there is none in column {column!r}")
    vectors = _list_vectors(table[lists[0]]) if lists else _column_vectors([table[column] for column in others])
    names = table[node]
    return vectors, (names.cast(names.type.value_type) if pa.types.is_dictionary(names.type) else names).to_pylist()


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _is_numeric(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _name_column(table: Any, lists: list[str]) -> str:
    """The column of names: the one that is called so, or the only one that is no vector and no part of one."""
    import pyarrow as pa

    columns = table.column_names
    called = [name for name in ("node", "__index_level_0__") if name in columns]
    others = [
        name for name in columns if (name not in lists if lists else not _is_numeric(table.schema.field(name).type))
    ]
    node = (called or others or columns[:1])[0] if len(lists) < 2 and (called or len(others) < 2) and columns else None
    kind = None if node is None else table.schema.field(node).type
    kind = kind.value_type if kind is not None and pa.types.is_dictionary(kind) else kind
    if node is None or not (pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise EmbeddingError(
            "a table has one column of names, integers or text, and one of lists or some of numbers; "
            f"got {', '.join(f'{field.name}: {field.type}' for field in table.schema) or 'none'}"
        )
    return str(node)


def _list_vectors(column: Any) -> Vectors:
    import pyarrow as pa
    import pyarrow.compute as pc

    fixed = pa.types.is_fixed_size_list(column.type)
    sizes = [column.type.list_size] if fixed else pc.unique(pc.list_value_length(column)).to_pylist()
    if len(sizes) != 1:
        raise EmbeddingError(f"all vectors have one size; got {', '.join(map(str, sorted(sizes))) or 'no vector'}")
    return _column_vectors([pc.list_flatten(column)]).reshape(-1, sizes[0])


def _column_vectors(columns: list[Any]) -> Vectors:
    """Columns of numbers beside each other."""
    import pyarrow as pa

    vectors = np.empty((len(columns[0]) if columns else 0, len(columns)), np.float32)
    for number, column in enumerate(columns):
        if not _is_numeric(column.type) or column.null_count:
            raise EmbeddingError(f"values are numbers; got {column.type} with {column.null_count} missing")
        vectors[:, number] = column.cast(pa.float32(), safe=False).to_numpy()
    return vectors


# word2vec's binary form: a name, a space and the bytes of its vector, one behind the other


def _write_binary(stream: BinaryIO, vectors: Vectors, names: Names) -> None:
    heads = encoded(written_names(names))
    stream.write(b"%d %d\n" % vectors.shape)
    values = vectors.astype("<f4", copy=False)
    for begin in range(0, len(heads), 1 << 12):
        rows = zip(heads[begin : begin + (1 << 12)], values[begin : begin + (1 << 12)], strict=True)
        stream.write(b"".join(b"%b %b" % (head, row.tobytes()) for head, row in rows))


def _read_binary(stream: BinaryIO, label: str) -> NamedVectors:
    header, _, data = stream.read(_BLOCK).partition(b"\n")
    first, _, second = header.partition(b" ")
    count, dim = word2vec_sizes(f"{label}, line 1", first, second.rstrip())
    names: list[bytes] = []
    parts, size = [np.empty((0, dim), np.float32)], _BLOCK
    while len(names) < count:
        some, vectors, end = _split_binary(data, count - len(names), 4 * dim)
        names += some
        parts.append(np.frombuffer(vectors, "<f4").reshape(-1, dim))
        # As many bytes as the header says might be more than there are; those that are there come soon enough.
        size = _BLOCK if end else 2 * size
        data, before = data[end:] + stream.read(size), len(data)
        if not end and len(data) == before:
            raise EmbeddingError(
                f"{label}: the file has {count} vectors of {dim} values; it ends in vector {len(names)}"
            )
    if (data + stream.read(2)).removeprefix(b"\n"):
        raise EmbeddingError(
            f"{label}: the file has {count} vectors of {dim} values, as it says; it goes on after them"
        )
    return np.concatenate(parts), names_of(_decoded(names, label, "vector"))


def _split_binary(data: bytes, limit: int, size: int) -> tuple[list[bytes], bytes, int]:
    """Names and bytes of the vectors that are there whole, and where they end; a newline may follow each."""
    names: list[bytes] = []
    vectors: list[bytes] = []
    end = 0
    while len(names) < limit:
        begin = end + data.startswith(b"\n", end)
        space = data.find(b" ", begin)
        if space < 0 or len(data) - space - 1 < size:
            break
        end = space + 1 + size
        names.append(data[begin:space])
        vectors.append(data[space + 1 : end])
    return names, b"".join(vectors), end


def _decoded(names: list[bytes], label: str, unit: str, first: int = 0) -> list[str]:
    """Names as they were before they were written into a text."""
    texts = []
    for number, name in enumerate(names, first):
        try:
            texts.append(unescaped(name.decode()))
        except UnicodeDecodeError:
            raise EmbeddingError(f"{label}, {unit} {number}: text is in UTF-8; got {name!r}") from None
    return texts


# TensorBoard's projector: a folder with values, names, and a note where to find them

_CONFIG = """\
embeddings {{
  tensor_name: "embedding"
  tensor_shape: {}
  tensor_shape: {}
  tensor_path: "tensors.tsv"
  metadata_path: "metadata.tsv"
}}
"""


def _write_projector(folder: Path, vectors: Vectors, names: Names) -> None:
    if not len(vectors):
        raise EmbeddingError("a projector shows at least one vector; there is none")
    heads = encoded(written_names(names, keep=" "))
    new = not folder.exists()
    folder.mkdir(exist_ok=True)
    paths = [folder / name for name in ("tensors.tsv", "metadata.tsv", "projector_config.pbtxt")]
    try:
        with ExitStack() as stack:
            tensors, metadata, config = [stack.enter_context(written_whole(path)) for path in paths]
            write_tensors(tensors, vectors)
            metadata.write(b"".join(head + b"\n" for head in heads))
            config.write(_CONFIG.format(*vectors.shape).encode())
    except BaseException:
        if new:
            with suppress(OSError):
                folder.rmdir()
        raise


def _read_projector(folder: Path) -> NamedVectors:
    tensors, metadata = folder / "tensors.tsv", folder / "metadata.tsv"
    with opened(tensors) as stream:
        vectors = read_tensors(stream, str(tensors))
    with opened(metadata) as stream:
        lines = stream.read().removeprefix(b"\xef\xbb\xbf").removesuffix(b"\n").split(b"\n")
    for number, line in enumerate(lines, 1):
        if b"\t" in line:
            raise EmbeddingError(f"{metadata}, line {number}: names stand in one column; got {len(line.split())}")
    if len(lines) != len(vectors):
        raise EmbeddingError(f"{metadata}: there is a name for each of {len(vectors)} vectors; got {len(lines)}")
    return vectors, names_of(_decoded([line.removesuffix(b"\r") for line in lines], str(metadata), "line", 1))


_FORMATS = {
    "npz": _Format(_read_npz, _write_npz, packs=False),
    "parquet": _Format(_read_parquet, _write_parquet, packs=False),
    "csv": _Format(read_csv, write_csv),
    "tsv": _Format(read_tsv, write_tsv),
    "word2vec": _Format(read_word2vec, write_word2vec),
    "word2vec-binary": _Format(_read_binary, _write_binary),
}
_SUFFIXES = {
    ".npz": "npz",
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "word2vec",
    ".vec": "word2vec",
    ".w2v": "word2vec",
    ".bin": "word2vec-binary",
}
