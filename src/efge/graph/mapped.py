"""A graph in one file: a header, then the arrays of rows and names as they are in memory, mapped instead of read.

The header gives all sizes, so a truncated file is detected at once; all rows are checked when a file is opened, so no
walk can leave the graph; and the fingerprint in the header detects every other damage.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
from collections.abc import Hashable, Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError
from efge.graph.names import Fields, Names, all_integers
from efge.io.files import display_name, open_input
from efge.io.scratch import map_temporary_file
from efge.kernels import csr as kernel

MAGIC = b"efge graph 1\n"
_MAGIC_PREFIX = b"efge graph "
# The header holds two lines and a checksum; arrays are aligned to cache lines.
_HEADER_SIZE, _ALIGNMENT = 4096, 64
# Number of names that are made Python objects at a time.
_NAMES_PER_CHUNK = 1 << 16
INTEGERS, TEXT, LONG_INTEGERS = "integers", "text", "numbers"
_DAMAGED_NAMES = "the converted graph is damaged: its names are not valid; convert it again"


def node_type(n: int) -> type[np.signedinteger[Any]]:
    """Return the integer type of rows in a graph of n nodes."""
    return np.int32 if n < 2**31 else np.int64


class Section(NamedTuple):
    """The offset, type and length of an array in the file."""

    offset: int
    dtype: npt.DTypeLike
    length: int

    @property
    def end(self) -> int:
        """Offset of the first byte after the array."""
        return self.offset + self.length * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Header:
    """The header of a graph's file; the offsets of all arrays follow from it.

    `names` is `INTEGERS` for 64-bit integers, `TEXT`, or `LONG_INTEGERS`: integers as text, because some are longer.
    """

    nodes: int
    directed: bool
    weighted: bool
    names: str
    name_bytes: int = 0
    entries: int = 0
    fingerprint: str = ""

    def sections(self) -> dict[str, Section]:
        """Return the arrays, in order; the entries come last, so the offsets of the others do not depend on them."""
        counts: dict[str, tuple[npt.DTypeLike, int]] = {"indptr": ("<i8", self.nodes + 1)}
        if self.names == INTEGERS:
            counts["names"] = ("<i8", self.nodes)
        else:
            counts |= {"name_ends": ("<i8", self.nodes), "name_data": ("<u1", self.name_bytes)}
        # Walks read one entry past the end.
        counts["indices"] = (np.dtype(node_type(self.nodes)).newbyteorder("<"), self.entries + 1)
        if self.weighted:
            counts["weights"] = ("<f8", self.entries)
        sections, offset = {}, _HEADER_SIZE
        for name, (dtype, count) in counts.items():
            sections[name] = Section(offset, dtype, count)
            offset = -(-sections[name].end // _ALIGNMENT) * _ALIGNMENT
        return sections

    @property
    def size(self) -> int:
        """Number of bytes of the whole file."""
        return max(section.end for section in self.sections().values())

    def to_bytes(self) -> bytes:
        """Return the first bytes of the file."""
        lines = MAGIC + json.dumps(asdict(self)).encode() + b"\n"
        return (lines + hashlib.sha256(lines).hexdigest().encode() + b"\n").ljust(_HEADER_SIZE, b"\0")

    @classmethod
    def read(cls, stream: BinaryIO, label: str) -> Header:
        """Read and check the header of an open file."""
        data = stream.read(_HEADER_SIZE)
        if not data.startswith(MAGIC):
            other = data.startswith(_MAGIC_PREFIX)
            reason = "another version of efge wrote it" if other else "its first bytes differ"
            raise GraphError(f"{label}: not a converted graph: {reason}; run convert-graph on an edge list to make one")
        lines = data.split(b"\n")
        checksum = hashlib.sha256(b"\n".join(lines[:2]) + b"\n").hexdigest().encode()
        try:
            if len(data) < _HEADER_SIZE or lines[2] != checksum:
                raise ValueError
            header = cls(**json.loads(lines[1]))
            are_counts = [isinstance(n, int) and n >= 0 for n in (header.nodes, header.entries, header.name_bytes)]
            if not all(are_counts) or header.names not in (INTEGERS, TEXT, LONG_INTEGERS):
                raise ValueError
        except (ValueError, TypeError, IndexError):
            raise GraphError(
                f"{label}: the converted graph is damaged: its header is not valid; convert it again"
            ) from None
        return header


class StoredNames:
    """Consecutive names as text, without a Python object for each: name i ends at ends[i]."""

    def __init__(self, label: str, data: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64], kind: str = TEXT) -> None:
        self._label, self._data, self._ends, self._kind = label, data, ends, kind

    def __len__(self) -> int:
        return len(self._ends)

    def chunks(self) -> Iterator[list[Hashable]]:
        """Yield all names, in several lists."""
        for start in range(0, len(self), _NAMES_PER_CHUNK):
            yield self._decode(start, min(start + _NAMES_PER_CHUNK, len(self)))

    def _decode(self, start: int, stop: int) -> list[Hashable]:
        first = int(self._ends[start - 1]) if start else 0
        ends = [0, *(self._ends[start:stop] - first).tolist()]
        data = self._data[first : first + ends[-1]].tobytes()
        try:
            texts = [data[low:high].decode() for low, high in pairwise(ends)]
            return list(map(int, texts)) if self._kind == LONG_INTEGERS else list(texts)
        except ValueError:
            raise GraphError(f"{self._label}: {_DAMAGED_NAMES}") from None

    def __iter__(self) -> Iterator[Hashable]:
        return (name for chunk in self.chunks() for name in chunk)

    def __getitem__(self, rows: npt.NDArray[Any] | slice) -> Names:
        """Return the names of some rows as Python objects."""
        if isinstance(rows, slice) and rows == slice(None):
            names = np.fromiter(self, object, len(self))
        else:
            numbers = np.arange(len(self))[rows] if isinstance(rows, slice) else rows
            names = np.fromiter((self._decode(row, row + 1)[0] for row in numbers.tolist()), object, len(numbers))
        names.flags.writeable = False
        return names


def name_sections(names: list[npt.NDArray[np.int64]] | Fields) -> tuple[str, dict[str, list[npt.NDArray[Any]]]]:
    """Return the kind of names and the arrays of their sections, in chunks; names are integers if all are and fit."""
    if not isinstance(names, Fields):
        return INTEGERS, {"names": list(names)}
    as_text: dict[str, list[npt.NDArray[Any]]] = {"name_ends": [names.ends], "name_data": [names.data]}
    texts = StoredNames("", names.data, names.ends)
    if not all(all_integers(map(str, chunk)) for chunk in texts.chunks()):
        return TEXT, as_text
    try:
        return INTEGERS, {"names": [np.array(list(map(int, map(str, chunk))), np.int64) for chunk in texts.chunks()]}
    except OverflowError:
        return LONG_INTEGERS, as_text


class GraphFile:
    """The arrays of a graph's file, mapped into memory: parts that are not in use need none."""

    indptr: npt.NDArray[np.int64]
    padded_indices: npt.NDArray[np.signedinteger[Any]]
    weights: npt.NDArray[np.float64] | None
    names: Names | StoredNames

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.label = display_name(path)
        if path == "-":
            raise GraphError("a converted graph is mapped from its file; standard input cannot be mapped")
        with open_input(path) as stream:
            self.header = Header.read(stream, self.label)
        self._folder = Path(path).resolve().parent
        with Path(path).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size != self.header.size:
                compressed = ": it is compressed and cannot be mapped" if file.read(len(MAGIC)) != MAGIC else ""
                reason = compressed or f": it has {size:,} bytes instead of {self.header.size:,}"
                raise GraphError(f"{self.label}: the converted graph is incomplete{reason}")
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._map_arrays()
        self._check()

    def _map_arrays(self) -> None:
        arrays = {
            name: np.frombuffer(self._map, section.dtype, section.length, section.offset)
            for name, section in self.header.sections().items()
        }
        self.indptr, self.padded_indices, self.weights = arrays["indptr"], arrays["indices"], arrays.get("weights")
        if self.header.names == INTEGERS:
            self.names = arrays["names"]
        else:
            self.names = StoredNames(self.label, arrays["name_data"], arrays["name_ends"], self.header.names)

    @property
    def indices(self) -> npt.NDArray[np.signedinteger[Any]]:
        """The columns of all rows."""
        return self.padded_indices[:-1]

    def _check(self) -> None:
        """Raise a GraphError if a walk could leave the graph, or if names are missing."""
        weights = np.empty(0) if self.weights is None else self.weights
        # To the compiler, a writable array would be another type.
        weights.flags.writeable = False
        invalid = kernel.first_invalid_row(self.indptr, self.indices, weights)
        rows_fit = self.header.nodes > 0 or not (self.header.entries or self.indptr[0])
        if invalid >= 0 or not rows_fit or self.padded_indices[-1] != 0:
            place = f"row {invalid} is" if invalid >= 0 else "its rows are"
            raise GraphError(f"{self.label}: the converted graph is damaged: {place} not valid; convert it again")
        if isinstance(self.names, StoredNames):
            ends = self.names._ends
            last = int(ends[-1]) if len(ends) else 0
            if last != self.header.name_bytes or (np.diff(ends, prepend=0) < 0).any():
                raise GraphError(f"{self.label}: {_DAMAGED_NAMES}")

    def check_fingerprint(self, fingerprint: str) -> None:
        """Raise a GraphError if the fingerprint differs from that of the conversion."""
        if self.header.fingerprint not in ("", fingerprint):
            raise GraphError(
                f"{self.label}: the converted graph is damaged: its fingerprint has changed; convert it again"
            )

    def scratch_array(self, count: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return an array of zeros in a temporary file beside the graph's, deleted with the array."""
        size = max(count, 1) * np.dtype(dtype).itemsize
        return np.frombuffer(map_temporary_file(self._folder, size), dtype, count)
