"""Node names: numbered in the order of their first appearance, kept as an array, and found again by name."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.kernels import text as kernel

Names = npt.NDArray[Any]
Numbers = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

_PLAIN_INTEGER = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)


def name_array(names: Iterable[Hashable]) -> Names:
    """A read-only array of the names: int64 if all are integers that fit, Python objects otherwise."""
    if isinstance(names, np.ndarray) and names.ndim == 1 and names.dtype.kind in "iu":
        names = names.tolist() if names.dtype == np.uint64 else names.astype(np.int64)
    if not isinstance(names, np.ndarray):
        items = [_plain(name) for name in names]
        names = np.empty(len(items), object)
        names[:] = items
        if all(type(item) is int and -(2**63) <= item < 2**63 for item in items):
            names = names.astype(np.int64)
    names.flags.writeable = False
    return names


def names_of(texts: Sequence[str]) -> Names:
    """Integers if every text is one as Python would print it, the texts themselves otherwise."""
    return name_array(map(int, texts) if all(map(_PLAIN_INTEGER.fullmatch, texts)) else texts)


def _plain(name: Hashable) -> Hashable:
    """NumPy's integers and strings as Python's own, and whole floats as integers: they are equal and hash alike."""
    if isinstance(name, np.generic):
        name = name.item()
    return int(name) if isinstance(name, float) and name.is_integer() else name


class NameIndex:
    """From names back to their rows."""

    def __init__(self, names: Names) -> None:
        self._by_value = names.dtype != object
        if self._by_value:
            self._order = np.argsort(names, kind="stable")
            self._sorted = names[self._order]
        else:
            self._rows = {name: row for row, name in enumerate(names.tolist())}

    def rows(self, names: Iterable[Hashable]) -> npt.NDArray[np.int64]:
        """The row of each name, -1 where there is none."""
        names = list(names)
        if not self._by_value:
            return np.fromiter((self._rows.get(name, -1) for name in names), np.int64, len(names))
        if not len(self._sorted):
            return np.full(len(names), -1, np.int64)
        plain = [_plain(name) for name in names]
        fits = np.array([isinstance(name, int) and -(2**63) <= name < 2**63 for name in plain], bool)
        values = np.array([name if fit else 0 for name, fit in zip(plain, fits, strict=True)], np.int64)
        places = np.minimum(np.searchsorted(self._sorted, values), len(self._sorted) - 1)
        return np.where(fits & (self._sorted[places] == values), self._order[places], -1)


class Fields(NamedTuple):
    """Fields of text: field i is data[starts[i]:ends[i]], in UTF-8."""

    data: Bytes
    starts: Places
    ends: Places

    @classmethod
    def of(cls, texts: Iterable[str]) -> Fields:
        """Texts as fields, one behind the other."""
        encoded = [text.encode() for text in texts]
        ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        return cls(np.frombuffer(b"".join(encoded), np.uint8), ends[:-1], ends[1:])

    def take(self, chosen: npt.NDArray[Any]) -> Fields:
        """Some of the fields."""
        return Fields(self.data, self.starts[chosen], self.ends[chosen])

    def integers(self) -> npt.NDArray[np.int64] | None:
        """The fields as integers, or None if one of them is anything else."""
        values = np.empty(len(self.starts), np.int64)
        return values if kernel.parse_integers(*self, values) < 0 else None

    def hashes(self, seed: int) -> Hashes:
        """A hash of each field."""
        hashes = np.empty(len(self.starts), np.uint64)
        kernel.hash_fields(*self, np.uint64(seed), hashes)
        return hashes

    def text(self, i: int) -> str:
        """One field, for messages and headings."""
        return bytes(self.data[self.starts[i] : self.ends[i]]).decode("utf-8", "replace")


class Prepared(NamedTuple):
    """A run of fields on its way to being numbered."""

    fields: Fields
    values: npt.NDArray[np.int64] | None
    seed: int
    hashes: Hashes | None


class ObjectNames:
    """Numbers any hashable objects."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def number(self, items: Sequence[Hashable]) -> Numbers:
        """The number of each item."""
        numbers = self._numbers
        return np.fromiter((numbers.setdefault(item, len(numbers)) for item in items), np.int32, len(items))

    def names(self) -> Names:
        """All names so far, in order."""
        return name_array(self._numbers)


class _Hashes:
    """Numbers 64-bit hashes; grows as they come."""

    def __init__(self) -> None:
        self.count = 0
        self._hashes, self._numbers = self._slots(1 << 12)

    @staticmethod
    def _slots(size: int) -> tuple[npt.NDArray[np.uint64], Numbers]:
        return np.zeros(size, np.uint64), np.full(size, -1, np.int32)

    def number(self, hashes: npt.NDArray[np.uint64]) -> tuple[Numbers, npt.NDArray[np.int64]]:
        """The number of each hash, and the positions at which new ones appeared."""
        numbers = np.empty(len(hashes), np.int32)
        firsts = np.empty(len(hashes), np.int64)
        known, position = self.count, 0
        while True:
            fresh = firsts[self.count - known :]
            position, self.count = kernel.number_hashes(
                hashes, position, self._hashes, self._numbers, numbers, self.count, fresh
            )
            if position == len(hashes):
                return numbers, firsts[: self.count - known].copy()
            larger = self._slots(2 * len(self._hashes))
            kernel.move_slots(self._hashes, self._numbers, *larger)
            self._hashes, self._numbers = larger


class IntegerNames:
    """Numbers integers of 64 bits."""

    def __init__(self) -> None:
        self._hashes = _Hashes()
        self._names: list[npt.NDArray[np.int64]] = []

    def number(self, values: npt.NDArray[np.int64]) -> Numbers:
        """The number of each value."""
        hashes = np.empty(len(values), np.uint64)
        kernel.hash_integers(values, hashes)
        numbers, firsts = self._hashes.number(hashes)
        self._names.append(values[firsts])
        return numbers

    def names(self) -> Names:
        """All names so far, in order."""
        return name_array(np.concatenate([np.empty(0, np.int64), *self._names]))


class TextNames:
    """Numbers fields of text, given as places in bytes."""

    def __init__(self) -> None:
        self.seed = 0
        self._forget()

    def _forget(self) -> None:
        self._hashes = _Hashes()
        self._bytes: Bytes = np.empty(1 << 16, np.uint8)
        self._starts = np.zeros(1 << 12, np.int64)

    def number(self, fields: Fields, hashes: Hashes | None = None) -> Numbers:
        """The number of each field; `hashes` are theirs under the current seed, if known already."""
        known = self._hashes.count
        numbers, firsts = self._hashes.number(fields.hashes(self.seed) if hashes is None else hashes)
        self._reserve(known, fields.take(firsts))
        kernel.append_fields(*fields, firsts, known, self._bytes, self._starts)
        if kernel.first_other_name(*fields, numbers, self._bytes, self._starts) >= 0:
            # Two names have one hash: number everything again under another seed.
            names = self.texts()[:known]
            self.seed += 1
            self._forget()
            self.number(Fields.of(names))
            return self.number(fields)
        return numbers

    def _reserve(self, known: int, fresh: Fields) -> None:
        names = known + len(fresh.starts) + 1
        if names > len(self._starts):
            self._starts = np.concatenate([self._starts, np.zeros(names, np.int64)])
        size = int(self._starts[known]) + int((fresh.ends - fresh.starts).sum())
        if size > len(self._bytes):
            self._bytes = np.concatenate([self._bytes, np.empty(size, np.uint8)])

    def texts(self) -> list[str]:
        """The names, in order."""
        starts = self._starts[: self._hashes.count + 1].tolist()
        data = self._bytes[: starts[-1]].tobytes()
        if data.isascii():
            text = data.decode("ascii")
            return [text[begin:end] for begin, end in pairwise(starts)]
        return [data[begin:end].decode() for begin, end in pairwise(starts)]


class FieldNames:
    """Numbers fields as integers for as long as all of them are, and as text from then on.

    A name is an integer only if printing it gives the very field again, so that changing over loses nothing.
    """

    def __init__(self) -> None:
        self._integers: IntegerNames | None = IntegerNames()
        self._texts = TextNames()

    def prepare(self, fields: Fields) -> Prepared:
        """What can be done for a run of fields apart from the others, in any thread."""
        values = None if self._integers is None else fields.integers()
        seed = self._texts.seed
        return Prepared(fields, values, seed, fields.hashes(seed) if values is None else None)

    def number(self, prepared: Prepared) -> Numbers:
        """The numbers of the fields; runs come in the order of the input."""
        if self._integers is not None:
            if prepared.values is not None:
                return self._integers.number(prepared.values)
            self._texts.number(Fields.of(map(str, self._integers.names().tolist())))
            self._integers = None
        return self._texts.number(prepared.fields, prepared.hashes if prepared.seed == self._texts.seed else None)

    def names(self) -> Names:
        """All names so far: integers if every one is, text as it was written otherwise."""
        if self._integers is not None:
            return self._integers.names()
        return names_of(self._texts.texts())
