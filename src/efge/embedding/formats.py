"""Files of vectors and names: the known formats, and reading and writing by name or suffix of the format."""

from __future__ import annotations

import os
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from efge.embedding.anndata import read_h5ad, write_h5ad
from efge.embedding.common import NamedVectors, Vectors
from efge.embedding.formulas import SPREADSHEET_FORMATS, escape_names, unescape_name
from efge.embedding.neo4j import write_neo4j
from efge.embedding.npz import read_npz, write_npz
from efge.embedding.parquet import (
    read_arrow_vectors,
    read_parquet_vectors,
    write_arrow_vectors,
    write_parquet_vectors,
)
from efge.embedding.projector import read_projector, write_projector
from efge.embedding.safetensors import read_safetensors, write_safetensors
from efge.embedding.text_formats import read_csv, read_tsv, read_word2vec, write_csv, write_tsv, write_word2vec
from efge.embedding.word2vec_binary import read_word2vec_binary, write_word2vec_binary
from efge.errors import EmbeddingError, GraphError, check_types, describe_error, warn_user
from efge.graph.names import Names
from efge.io.atomic import atomic_write, check_folder
from efge.io.files import COMPRESSION_MAGIC, display_name, open_input

_MAX_DIMENSIONS = 10_000_000


class _Format(NamedTuple):
    """How to read and write a format, and whether its files may be compressed as a whole."""

    read: Callable[[BinaryIO, str], NamedVectors] | None  # None if it is only written
    write: Callable[[BinaryIO, Vectors, Names], None]
    compressible: bool = True


_FORMATS = {
    "npz": _Format(read_npz, write_npz, compressible=False),
    "parquet": _Format(read_parquet_vectors, write_parquet_vectors, compressible=False),
    "arrow": _Format(read_arrow_vectors, write_arrow_vectors, compressible=False),
    "safetensors": _Format(read_safetensors, write_safetensors, compressible=False),
    "csv": _Format(read_csv, write_csv),
    "tsv": _Format(read_tsv, write_tsv),
    "word2vec": _Format(read_word2vec, write_word2vec),
    "word2vec-binary": _Format(read_word2vec_binary, write_word2vec_binary),
    "h5ad": _Format(read_h5ad, write_h5ad, compressible=False),
    "neo4j": _Format(None, write_neo4j),
}
_SUFFIXES = {
    ".npz": "npz",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".safetensors": "safetensors",
    ".h5ad": "h5ad",
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "word2vec",
    ".vec": "word2vec",
    ".w2v": "word2vec",
    ".bin": "word2vec-binary",
}


def holds_vectors(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is certainly one of vectors, and not a graph; tables and texts could be either."""
    kind = _SUFFIXES.get(Path(path).suffix.lower())
    if kind == "npz":
        try:
            with zipfile.ZipFile(path) as archive:
                return "vectors.npy" in archive.namelist()
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
            return False
    return kind in ("word2vec-binary", "safetensors", "h5ad") or Path(path).suffix.lower() in (".vec", ".w2v")


def write_vectors(
    path: str | os.PathLike[str],
    format: str | None,  # noqa: A002
    vectors: Vectors,
    names: Names,
    escape_formulas: bool = False,
) -> None:
    """Write a file, or a folder for TensorBoard; it appears only when it is complete."""
    check_types(path=path, format=format, escape_formulas=escape_formulas)
    kind = _choose_format(path, format)
    if kind in SPREADSHEET_FORMATS:
        names = escape_names(names, escape_formulas)
    try:
        if kind == "tensorboard":
            write_projector(Path(path), vectors, names)
            return
        with atomic_write(path) as stream:
            _FORMATS[kind].write(stream, vectors, names)
    except (GraphError, EmbeddingError) as error:
        raise EmbeddingError(f"{display_name(path)}: {error}") from None


def check_writable(path: str | os.PathLike[str], format: str | None) -> None:  # noqa: A002
    """Refuse an output that could not be written, before the work for it is done."""
    if _choose_format(path, format) != "tensorboard" and path != "-":
        check_folder(path)


def read_vectors(path: str | os.PathLike[str], format: str | None) -> NamedVectors:  # noqa: A002
    """Read vectors and names from a file, or from a folder for TensorBoard."""
    check_types(path=path, format=format)
    if format is None and path != "-" and Path(path).is_dir():
        format = "tensorboard"  # noqa: A001
    kind = _choose_format(path, format)
    with as_embedding_errors(display_name(path), kind) as caught:
        if kind == "tensorboard":
            vectors, names = read_projector(Path(path))
        else:
            read = _FORMATS[kind].read
            if read is None:
                raise EmbeddingError(f"files of {kind} are written, but not read; keep the vectors as npz, too")
            with open_input(path) as stream:
                vectors, names = read(stream, display_name(path))
        if kind in SPREADSHEET_FORMATS:
            names = [unescape_name(name) for name in (names.tolist() if isinstance(names, np.ndarray) else names)]
        check_dimensions(vectors)
    for warning in caught:
        # Warnings of other libraries tell users of this one nothing that they could act on.
        if str(warning.message).startswith(display_name(path)):
            warn_user(str(warning.message))
    return vectors, names


def check_dimensions(vectors: Vectors) -> Vectors:
    """Refuse absurd dimensions: a file without any vector may claim them, and later steps would allocate memory."""
    dim = vectors.shape[1]
    if dim > _MAX_DIMENSIONS:
        raise EmbeddingError(f"a vector has at most {_MAX_DIMENSIONS:,} values; got {dim:,}")
    return vectors


def _choose_format(path: str | os.PathLike[str], format: str | None) -> str:  # noqa: A002
    """Return the format by its name, or by the suffix of the path."""
    label = display_name(path)
    *_, inner, last = "", "", *(suffix.lower() for suffix in Path(label).suffixes)
    compressed = last in COMPRESSION_MAGIC
    kind = _SUFFIXES.get(inner if compressed else last) if format is None else str(format).lower()
    known = ", ".join([*_FORMATS, "tensorboard"])
    if kind is None:
        how = "pass it as format= (--format, or --to for the output)"
        raise EmbeddingError(f"{label}: the suffix does not tell the format; {how}, known: {known}")
    if kind not in _FORMATS and kind != "tensorboard":
        raise EmbeddingError(f"no format {format!r}; known: {known}")
    if compressed and kind in _FORMATS and not _FORMATS[kind].compressible:
        raise EmbeddingError(f"{label}: {kind} files cannot be compressed as a whole; leave out {last}")
    return kind


@contextmanager
def as_embedding_errors(label: str, kind: str) -> Iterator[list[warnings.WarningMessage]]:
    """Turn whatever goes wrong while a file is read into one EmbeddingError that names the file; collect warnings."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield caught
    except ImportError:
        raise
    except (EmbeddingError, GraphError) as error:
        has_label = str(error).startswith((label, repr(label)))
        raise EmbeddingError(str(error) if has_label else f"{label}: {error}") from None
    except MemoryError as error:
        # Arrow allocates as much as a file claims to need.
        claimed = type(error).__name__ == "ArrowMemoryError"
        raise EmbeddingError(f"{label}: it needs more memory than there is: {error}") if claimed else error from None
    except Exception as error:
        raise EmbeddingError(f"{label}: not a readable {kind} file: {describe_error(error)}") from None
