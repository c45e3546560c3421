"""A graph in one file: a heading, then the arrays of rows and names as they are in memory, mapped instead of read.

The heading says how large all is, so that a file that was cut short is known at once; rows are looked through when a
file is opened, so that no walk can leave the graph; and the fingerprint in the heading tells every other damage.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import tempfile
from collections.abc import Hashable, Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError
from efge.graph.names import Fields, Names, are_integers
from efge.io.files import label_of, opened
from efge.kernels import csr as kernel

MARK = b"efge graph 1\n"
_ANY_MARK = b"efge graph "
# The heading has room for its two lines and a checksum, arrays begin at the beginnings of cache lines.
_HEADING, _ALIGNED = 4096, 64
# Names that are made Python objects at a time.
_AT_ONCE = 1 << 16
INTEGERS, TEXT, NUMBERS = "integers", "text", "numbers"


def node_type(n: int) -> type[np.signedinteger[Any]]:
    """The type of rows in a graph of so many nodes."""
    return np.int32 if n < 2**31 else np.int64


class Section(NamedTuple):
    """Where an array is in the file."""

    offset: int
    dtype: npt.DTypeLike
    length: int

    @property
    def end(self) -> int:
        """The first byte behind it."""
        return self.offset + self.length * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Heading:
    """What a graph's file says of itself; all places in it follow from that.

    Names are `INTEGERS` of 64 bits, `TEXT`, or `NUMBERS`: integers of which some are longer, as text.
    """

    nodes: int
    directed: bool
    weighted: bool
    names: str
    name_bytes: int = 0
    entries: int = 0
    fingerprint: str = ""

    def sections(self) -> dict[str, Section]:
        """The arrays, in order; the rows' entries come last, so that all others have their place before these."""
        counts: dict[str, tuple[npt.DTypeLike, int]] = {"indptr": ("<i8", self.nodes + 1)}
        if self.names == INTEGERS:
            counts["names"] = ("<i8", self.nodes)
        else:
            counts |= {"name_ends": ("<i8", self.nodes), "name_data": ("<u1", self.name_bytes)}
        # Walks look one entry past the end.
        counts["indices"] = (np.dtype(node_type(self.nodes)).newbyteorder("<"), self.entries + 1)
        if self.weighted:
            counts["weights"] = ("<f8", self.entries)
        found, place = {}, _HEADING
        for name, (dtype, count) in counts.items():
            found[name] = Section(place, dtype, count)
            place = -(-found[name].end // _ALIGNED) * _ALIGNED
        return found

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return max(section.end for section in self.sections().values())

    def encoded(self) -> bytes:
        """The first bytes of the file."""
        lines = MARK + json.dumps(asdict(self)).encode() + b"\n"
        return (lines + hashlib.sha256(lines).hexdigest().encode() + b"\n").ljust(_HEADING, b"\0")

    @classmethod
    def read(cls, stream: BinaryIO, label: str) -> Heading:
        """The heading of an open file."""
        data = stream.read(_HEADING)
        if not data.startswith(MARK):
            other = data.startswith(_ANY_MARK)
            what = "it is of another version of efge" if other else "it does not begin as one"
            raise GraphError(f"{label}: not a converted graph: {what}; convert-graph makes one of an edge list")
        lines = data.split(b"\n")
        checksum = hashlib.sha256(b"\n".join(lines[:2]) + b"\n").hexdigest().encode()
        try:
            if len(data) < _HEADING or lines[2] != checksum:
                raise ValueError
            found = cls(**json.loads(lines[1]))
            whole = [isinstance(n, int) and n >= 0 for n in (found.nodes, found.entries, found.name_bytes)]
            if not all(whole) or found.names not in (INTEGERS, TEXT, NUMBERS):
                raise ValueError
        except (ValueError, TypeError, IndexError):
            raise GraphError(f"{label}: the converted graph is damaged in its heading; convert it again") from None
        return found


class StoredNames:
    """Names of text one behind the other, with no Python object for each: name i ends at ends[i]."""

    def __init__(self, label: str, data: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64], kind: str = TEXT) -> None:
        self._label, self._data, self._ends, self._kind = label, data, ends, kind

    def __len__(self) -> int:
        return len(self._ends)

    def pieces(self) -> Iterator[list[Hashable]]:
        """All names, some at a time."""
        for begin in range(0, len(self), _AT_ONCE):
            yield self._piece(begin, min(begin + _AT_ONCE, len(self)))

    def _piece(self, begin: int, end: int) -> list[Hashable]:
        first = int(self._ends[begin - 1]) if begin else 0
        ends = [0, *(self._ends[begin:end] - first).tolist()]
        data = self._data[first : first + ends[-1]].tobytes()
        try:
            texts = [data[low:high].decode() for low, high in pairwise(ends)]
            return list(map(int, texts)) if self._kind == NUMBERS else list(texts)
        except ValueError:
            raise GraphError(f"{self._label}: the converted graph is damaged in its names; convert it again") from None

    def __iter__(self) -> Iterator[Hashable]:
        return (name for piece in self.pieces() for name in piece)

    def __getitem__(self, rows: npt.NDArray[Any] | slice) -> Names:
        """The names of some rows, as Python objects."""
        if isinstance(rows, slice) and rows == slice(None):
            found = np.fromiter(self, object, len(self))
        else:
            numbers = np.arange(len(self))[rows] if isinstance(rows, slice) else rows
            found = np.fromiter((self._piece(row, row + 1)[0] for row in numbers.tolist()), object, len(numbers))
        found.flags.writeable = False
        return found


def arrays_of(names: list[npt.NDArray[np.int64]] | Fields) -> tuple[str, dict[str, list[npt.NDArray[Any]]]]:
    """What names are in a file, and their sections, in pieces: integers of 64 bits wherever all are and fit."""
    if not isinstance(names, Fields):
        return INTEGERS, {"names": list(names)}
    as_text: dict[str, list[npt.NDArray[Any]]] = {"name_ends": [names.ends], "name_data": [names.data]}
    texts = StoredNames("", names.data, names.ends)
    if not all(are_integers(map(str, piece)) for piece in texts.pieces()):
        return TEXT, as_text
    try:
        return INTEGERS, {"names": [np.array(list(map(int, map(str, piece))), np.int64) for piece in texts.pieces()]}
    except OverflowError:
        return NUMBERS, as_text


class GraphFile:
    """The arrays of a graph's file, mapped into memory: what is not in use needs none."""

    indptr: npt.NDArray[np.int64]
    padded_indices: npt.NDArray[np.signedinteger[Any]]
    weights: npt.NDArray[np.float64] | None
    names: Names | StoredNames

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.label = label_of(path)
        if path == "-":
            raise GraphError("a converted graph is mapped from its file; standard input has none")
        with opened(path) as stream:
            self.heading = Heading.read(stream, self.label)
        self._folder = Path(path).resolve().parent
        with Path(path).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size != self.heading.size:
                packed = ": it is packed, and cannot be mapped" if file.read(len(MARK)) != MARK else ""
                wrong = packed or f": it has {size:,} bytes instead of {self.heading.size:,}"
                raise GraphError(f"{self.label}: the converted graph is not whole{wrong}")
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._take_arrays()
        self._check()

    def _take_arrays(self) -> None:
        arrays = {
            name: np.frombuffer(self._map, section.dtype, section.length, section.offset)
            for name, section in self.heading.sections().items()
        }
        self.indptr, self.padded_indices, self.weights = arrays["indptr"], arrays["indices"], arrays.get("weights")
        if self.heading.names == INTEGERS:
            self.names = arrays["names"]
        else:
            self.names = StoredNames(self.label, arrays["name_data"], arrays["name_ends"], self.heading.names)

    @property
    def indices(self) -> npt.NDArray[np.signedinteger[Any]]:
        """The columns of all rows."""
        return self.padded_indices[:-1]

    def _check(self) -> None:
        """Refuse rows that a walk could leave the graph by, and names that are not all there."""
        weights = np.empty(0) if self.weights is None else self.weights
        # An array that may be written to would be another type to the compiler.
        weights.flags.writeable = False
        wrong = kernel.first_wrong_row(self.indptr, self.indices, weights)
        rows_fit = self.heading.nodes > 0 or not (self.heading.entries or self.indptr[0])
        if wrong >= 0 or not rows_fit or self.padded_indices[-1] != 0:
            place = f"row {wrong}" if wrong >= 0 else "its rows"
            raise GraphError(f"{self.label}: the converted graph is damaged in {place}; convert it again")
        if isinstance(self.names, StoredNames):
            ends = self.names._ends
            last = int(ends[-1]) if len(ends) else 0
            if last != self.heading.name_bytes or (np.diff(ends, prepend=0) < 0).any():
                raise GraphError(f"{self.label}: the converted graph is damaged in its names; convert it again")

    def check_fingerprint(self, found: str) -> None:
        """Refuse a graph whose fingerprint is another than when it was converted."""
        if self.heading.fingerprint not in ("", found):
            raise GraphError(
                f"{self.label}: the converted graph is damaged: its fingerprint is another; convert it again"
            )

    def scratch(self, count: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """An array of zeros in a file beside the graph's, which goes away with the array."""
        with tempfile.TemporaryFile(dir=self._folder) as file:
            file.truncate(max(count, 1) * np.dtype(dtype).itemsize)
            return np.frombuffer(mmap.mmap(file.fileno(), 0), dtype, count)
