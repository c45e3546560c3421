"""Encoders give each node name a row, in the order of first appearance.

There is one for any hashable objects, and fast ones for integers and for fields of text. Text and integers are encoded
by compiled kernels; a limit on memory can be set for files with very many nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError
from efge.graph.names import Bytes, Fields, Keys, Names, format_names, name_array, normalize_name, parse_names
from efge.kernels import text as kernel

Rows = npt.NDArray[np.int32]

# Rows are 32-bit integers.
_MAX_NODES = 2**31 - 1


class PreparedFields(NamedTuple):
    """Consecutive fields ready to be encoded: their integers, if all are integers, or else their keys under a seed."""

    fields: Callable[[], Fields]
    values: npt.NDArray[np.int64] | None
    seed: int = 0
    keys: Keys | None = None


class ObjectEncoder:
    """Encodes any hashable objects."""

    def __init__(self) -> None:
        self._rows: dict[Hashable, int] = {}

    def encode(self, items: Sequence[Hashable]) -> Rows:
        """Return the row of each item."""
        rows = self._rows
        if any(hasattr(kind, "detach") for kind in set(map(type, items))):
            items = [normalize_name(item) for item in items]
        try:
            return np.fromiter((rows.setdefault(item, len(rows)) for item in items), np.int32, len(items))
        except TypeError as error:
            raise GraphError(f"a node name is hashable: {error}") from None

    def names(self) -> Names:
        """Return all names so far, in order."""
        return name_array(self._rows)


def _check_memory(needed: int, limit: int | None, count: int) -> None:
    """Raise a GraphError if names would need more bytes than the limit; None means no limit."""
    if limit is not None and needed > limit:
        raise GraphError(
            f"the names of more than {count:,} nodes need {needed / 1e6:,.0f} MB of memory, and the limit for them is"
            f" {limit / 1e6:,.0f} MB; raise it, as memory='8G' or --memory 8G"
        )


def _check_count(count: int) -> None:
    """Raise a GraphError if there are more nodes than 32-bit rows."""
    if count > _MAX_NODES:
        raise GraphError(f"a graph has at most {_MAX_NODES:,} nodes; this one has more")


class _KeyTable:
    """A hash table from 128-bit keys to rows, which grows up to a limit of bytes."""

    def __init__(self, memory_limit: int | None = None) -> None:
        self.count = 0
        self._memory_limit = memory_limit
        self._keys, self._rows = self._new_slots(1 << 12)

    @staticmethod
    def _new_slots(size: int) -> tuple[Keys, Rows]:
        return np.zeros((size, 2), np.uint64), np.full(size, -1, np.int32)

    @property
    def nbytes(self) -> int:
        """Number of bytes of all slots."""
        return self._keys.nbytes + self._rows.nbytes

    def encode(self, keys: Keys, other_bytes: int = 0) -> tuple[Rows, npt.NDArray[np.int64]]:
        """Return the row of each key, and the positions of new keys; `other_bytes` also count towards the limit."""
        rows = np.empty(len(keys), np.int32)
        firsts = np.empty(len(keys), np.int64)
        known, position = self.count, 0
        while True:
            new = firsts[self.count - known :]
            position, self.count = kernel.number_keys(keys, position, self._keys, self._rows, rows, self.count, new)
            _check_count(self.count)
            if position == len(keys):
                return rows, firsts[: self.count - known].copy()
            # The old slots, and twice as many new ones.
            _check_memory(3 * self.nbytes + other_bytes, self._memory_limit, self.count)
            larger = self._new_slots(2 * len(self._rows))
            kernel.rehash_slots(self._keys, self._rows, *larger)
            self._keys, self._rows = larger


class IntegerEncoder:
    """Encodes 64-bit integers: by a direct table while they are small, as most ids are, and by keys otherwise."""

    def __init__(self, memory_limit: int | None = None) -> None:
        self._memory_limit = memory_limit
        self._table: Rows | None = np.full(1 << 12, -1, np.int32)
        self._keys = _KeyTable(memory_limit)
        self._names: list[npt.NDArray[np.int64]] = []
        self._seen = self._count = 0

    def encode(self, values: npt.NDArray[np.int64]) -> Rows:
        """Return the row of each value."""
        self._seen += len(values)
        if self._table is not None and len(values):
            if values.min() >= 0 and values.max() < self._max_table_size():
                rows, firsts = self._encode_small(values, int(values.max()))
                self._names.append(values[firsts])
                return rows
            self._table = None
            for known in self._names:
                self._keys.encode(_integer_keys(known), 8 * self._count)
        rows, firsts = self._keys.encode(_integer_keys(values), 8 * self._keys.count)
        self._names.append(values[firsts])
        return rows

    def _max_table_size(self) -> int:
        # A table four times as long as the number of values costs less memory than the edges themselves.
        size = 4 * self._seen + (1 << 20)
        # It grows to twice what is needed, while the old one is still in memory: 12 bytes per entry.
        return size if self._memory_limit is None else min(size, (self._memory_limit - 8 * self._count) // 12)

    def _encode_small(self, values: npt.NDArray[np.int64], largest: int) -> tuple[Rows, npt.NDArray[np.int64]]:
        assert self._table is not None
        if largest >= len(self._table):
            longer = np.full(2 * (largest + 1), -1, np.int32)
            longer[: len(self._table)] = self._table
            self._table = longer
        rows, firsts = np.empty(len(values), np.int32), np.empty(len(values), np.int64)
        known = self._count
        self._count = kernel.number_small_integers(values, self._table, rows, known, firsts)
        _check_count(self._count)
        return rows, firsts[: self._count - known]

    def chunks(self) -> list[npt.NDArray[np.int64]]:
        """Return all names so far, in order, in several arrays."""
        return self._names

    def names(self) -> Names:
        """Return all names so far, in order."""
        return name_array(np.concatenate([np.empty(0, np.int64), *self._names]))


def _integer_keys(values: npt.NDArray[np.int64]) -> Keys:
    keys = np.zeros((len(values), 2), np.uint64)
    keys[:, 0] = values.view(np.uint64)
    return keys


class TextEncoder:
    """Encodes fields of text."""

    def __init__(self, memory_limit: int | None = None) -> None:
        self.seed = 0
        self._memory_limit = memory_limit
        self._reset()

    def _reset(self) -> None:
        self._keys = _KeyTable(self._memory_limit)
        self._bytes: Bytes = np.empty(1 << 16, np.uint8)
        self._starts = np.zeros(1 << 12, np.int64)

    def encode(self, fields: Fields, keys: Keys | None = None) -> Rows:
        """Return the row of each field; `keys` are the fields' keys under the current seed, if known already."""
        known = self._keys.count
        name_bytes = self._bytes.nbytes + self._starts.nbytes
        rows, firsts = self._keys.encode(fields.keys(self.seed) if keys is None else keys, name_bytes)
        self._reserve(known, fields.take(firsts))
        kernel.append_fields(*fields, firsts, known, self._bytes, self._starts)
        if kernel.first_name_mismatch(*fields, rows, self._bytes, self._starts) >= 0:
            # Two long names have the same key: encode everything again under another seed.
            names = self.texts()[:known]
            self.seed += 1
            self._reset()
            self.encode(Fields.from_texts(names))
            return self.encode(fields)
        return rows

    def _reserve(self, known: int, new: Fields) -> None:
        names = known + len(new.starts) + 1
        if names > len(self._starts):
            self._starts = np.concatenate([self._starts, np.zeros(names, np.int64)])
        size = int(self._starts[known]) + int((new.ends - new.starts).sum())
        # While an array grows, the old one and one of twice its length are in memory.
        _check_memory(3 * (size + 8 * names) + self._keys.nbytes, self._memory_limit, known)
        if size > len(self._bytes):
            self._bytes = np.concatenate([self._bytes, np.empty(size, np.uint8)])

    def fields(self) -> Fields:
        """Return the names so far as consecutive fields."""
        starts = self._starts[: self._keys.count + 1]
        return Fields(self._bytes[: starts[-1]], starts[:-1], starts[1:])

    def texts(self) -> list[str]:
        """Return the names so far, in order."""
        starts = self._starts[: self._keys.count + 1].tolist()
        data = self._bytes[: starts[-1]].tobytes()
        if data.isascii():
            text = data.decode("ascii")
            return [text[begin:end] for begin, end in pairwise(starts)]
        return [data[begin:end].decode() for begin, end in pairwise(starts)]


class FieldEncoder:
    """Encodes fields as integers as long as all of them are integers, and as text from then on.

    A field is an integer only if printing the integer gives the same field, so switching to text loses nothing. A
    GraphError is raised before more memory than the limit is taken.
    """

    def __init__(self, memory_limit: int | None = None) -> None:
        self._integers: IntegerEncoder | None = IntegerEncoder(memory_limit)
        self._texts = TextEncoder(memory_limit)

    @classmethod
    def from_names(cls, names: Names) -> FieldEncoder:
        """Return an encoder that knows the given names already, in their order, as they are written in a text."""
        encoder = cls()
        if names.dtype.kind == "i" and encoder._integers is not None:
            encoder._integers.encode(names)
        else:
            encoder.encode(encoder.prepare(Fields.from_texts(format_names(names))))
        return encoder

    @property
    def all_integers(self) -> bool:
        """Whether all names so far are integers."""
        return self._integers is not None

    def prepare(self, fields: Fields) -> PreparedFields:
        """Parse integers or compute keys of consecutive fields, in any thread and in any order."""
        values = None if self._integers is None else fields.integers()
        seed = self._texts.seed
        return PreparedFields(lambda: fields, values, seed, fields.keys(seed) if values is None else None)

    def encode(self, prepared: PreparedFields) -> Rows:
        """Return the rows of the fields; calls follow the order of the input."""
        if self._integers is not None:
            if prepared.values is not None:
                return self._integers.encode(prepared.values)
            for known in self._integers.chunks():
                self._texts.encode(Fields.from_texts(map(str, known.tolist())))
            self._integers = None
        return self._texts.encode(prepared.fields(), prepared.keys if prepared.seed == self._texts.seed else None)

    def stored_names(self) -> list[npt.NDArray[np.int64]] | Fields:
        """Return all names so far as arrays of integers or as fields of text, without a Python object per name."""
        return self._texts.fields() if self._integers is None else self._integers.chunks()

    def names(self) -> Names:
        """Return all names so far: integers if all are, and the texts as written otherwise."""
        if self._integers is not None:
            return self._integers.names()
        return parse_names(self._texts.texts())
