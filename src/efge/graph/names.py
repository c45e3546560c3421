"""Node names: numbered in the order of their first appearance, kept as an array, and found again by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError
from efge.kernels import text as kernel

Names = npt.NDArray[Any]
Numbers = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]

# Numbers have 32 bits.
_MOST_NODES = 2**31 - 1
_PLAIN_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,999}", re.ASCII)

# What ends a name in a text, or is lost where the text begins; white space is in the first 0x3000 characters.
_GAPS = [*filter(str.isspace, map(chr, range(0x3001))), "\0", "\ufeff"]
# An empty name would not be seen at all: it stands as a space without width.
_ESCAPES = {f"\\u{ord(char):04x}": char for char in [*_GAPS, "\\"]} | {"\\u200b": ""}
_ESCAPE = re.compile("|".join(map(re.escape, _ESCAPES)))
# A backslash needs an escape only where it would be read as the begin of one.
_TO_ESCAPE = re.compile(f"[{''.join(_GAPS)}]|\\\\(?=u(?:{'|'.join(escape[2:] for escape in _ESCAPES)}))")


def name_array(names: Iterable[Hashable]) -> Names:
    """A read-only array of the names: int64 if all are integers that fit, Python objects otherwise."""
    if isinstance(names, np.ndarray) and names.dtype.kind == "i":
        array = names.astype(np.int64)
    else:
        items = [plain_name(name) for name in (names.tolist() if isinstance(names, np.ndarray) else names)]
        if any(item is None or (isinstance(item, float) and item != item) for item in items):
            raise GraphError("a node name is not NaN or None")
        array = np.fromiter(items, object, len(items))
        if all(type(item) is int and -(2**63) <= item < 2**63 for item in items):
            array = array.astype(np.int64)
    array.flags.writeable = False
    return array


def names_of(texts: Sequence[str]) -> Names:
    """Integers if every text is one as Python would print it, the texts themselves otherwise."""
    return name_array(map(int, texts) if are_integers(texts) else texts)


def are_integers(texts: Iterable[str]) -> bool:
    """Whether every text is an integer as Python would print it."""
    return all(map(_PLAIN_INTEGER.fullmatch, texts))


def escaped(name: str, keep: str = "") -> str:
    r"""The name as it stands in a text with white space between names: no two names are written alike.

    White space that is in `keep` stays as it is.
    """
    if not name:
        return "\\u200b"
    return _TO_ESCAPE.sub(lambda found: found[0] if found[0] in keep else f"\\u{ord(found[0]):04x}", name)


def unescaped(text: str) -> str:
    """The name that `escaped` wrote so."""
    return _ESCAPE.sub(lambda found: _ESCAPES[found[0]], text) if "\\" in text else text


def written_names(names: Names, keep: str = "") -> list[str]:
    """Names as they stand in a text, where nothing tells the integer 1 from the text '1'."""
    try:
        written = [escaped(str(name), keep) for name in names.tolist()]
    except ValueError as error:
        # Python does not print integers of more than some thousand digits.
        raise GraphError(f"a name can be written: {error}") from None
    if len(set(written)) < len(written):
        raise GraphError("names that are written alike, such as 1 and '1', cannot be told apart in a text")
    return written


def encoded(texts: Iterable[str]) -> list[bytes]:
    """Texts in UTF-8."""
    try:
        return [text.encode() for text in texts]
    except UnicodeEncodeError as error:
        raise GraphError(f"a name is text that UTF-8 can hold; got {error.object!r}") from None


def check_distinct(names: Names) -> None:
    """Refuse names of which two are equal, or that cannot be told apart at all."""
    try:
        distinct = len(set(names.tolist()))
    except TypeError as error:
        raise GraphError(f"a node name is hashable: {error}") from None
    if distinct != len(names):
        raise GraphError(f"node names are distinct; {len(names)} nodes have {distinct} names")


def plain_name(name: Hashable) -> Hashable:
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
        plain = [plain_name(name) for name in names]
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
        parts = encoded(texts)
        ends = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        return cls(np.frombuffer(b"".join(parts), np.uint8), ends[:-1], ends[1:])

    def take(self, chosen: npt.NDArray[Any]) -> Fields:
        """Some of the fields."""
        return Fields(self.data, self.starts[chosen], self.ends[chosen])

    def integers(self) -> npt.NDArray[np.int64] | None:
        """The fields as integers, or None if one of them is anything else."""
        values = np.empty(len(self.starts), np.int64)
        return values if kernel.parse_integers(*self, values) < 0 else None

    def keys(self, seed: int) -> Keys:
        """A key for each field."""
        keys = np.empty((len(self.starts), 2), np.uint64)
        kernel.key_fields(*self, np.uint64(seed), keys)
        return keys

    def text(self, i: int) -> str:
        """One field, for messages and headings."""
        return bytes(self.data[self.starts[i] : self.ends[i]]).decode("utf-8", "replace")


class Prepared(NamedTuple):
    """A run of fields on its way to being numbered: as integers, if all are, or by their keys under a seed."""

    fields: Callable[[], Fields]
    values: npt.NDArray[np.int64] | None
    seed: int = 0
    keys: Keys | None = None


class ObjectNames:
    """Numbers any hashable objects."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def number(self, items: Sequence[Hashable]) -> Numbers:
        """The number of each item."""
        numbers = self._numbers
        try:
            return np.fromiter((numbers.setdefault(item, len(numbers)) for item in items), np.int32, len(items))
        except TypeError as error:
            raise GraphError(f"a node name is hashable: {error}") from None

    def names(self) -> Names:
        """All names so far, in order."""
        return name_array(self._numbers)


def _check_allowed(needed: int, allowed: int | None, count: int) -> None:
    """Refuse to number more nodes than there is memory for; None allows any."""
    if allowed is not None and needed > allowed:
        raise GraphError(
            f"numbering more than {count:,} nodes takes {needed / 1e6:,.0f} MB of memory, and {allowed / 1e6:,.0f} MB"
            " are for that; allow more, as memory='8G' or --memory 8G"
        )


def _check_count(count: int) -> None:
    """Refuse more nodes than have numbers."""
    if count > _MOST_NODES:
        raise GraphError(f"a graph has up to {_MOST_NODES:,} nodes; this one has more")


class _Keys:
    """Numbers keys of two words; grows as they come, to as many bytes as are allowed."""

    def __init__(self, allowed: int | None = None) -> None:
        self.count = 0
        self._allowed = allowed
        self._keys, self._numbers = self._slots(1 << 12)

    @staticmethod
    def _slots(size: int) -> tuple[Keys, Numbers]:
        return np.zeros((size, 2), np.uint64), np.full(size, -1, np.int32)

    @property
    def nbytes(self) -> int:
        """Bytes of all slots."""
        return self._keys.nbytes + self._numbers.nbytes

    def number(self, keys: Keys, beside: int = 0) -> tuple[Numbers, npt.NDArray[np.int64]]:
        """The number of each key, and the positions at which new ones appeared; so many bytes are taken beside."""
        numbers = np.empty(len(keys), np.int32)
        firsts = np.empty(len(keys), np.int64)
        known, position = self.count, 0
        while True:
            fresh = firsts[self.count - known :]
            position, self.count = kernel.number_keys(
                keys, position, self._keys, self._numbers, numbers, self.count, fresh
            )
            _check_count(self.count)
            if position == len(keys):
                return numbers, firsts[: self.count - known].copy()
            # Old slots, and twice as many new ones.
            _check_allowed(3 * self.nbytes + beside, self._allowed, self.count)
            larger = self._slots(2 * len(self._numbers))
            kernel.move_slots(self._keys, self._numbers, *larger)
            self._keys, self._numbers = larger


class IntegerNames:
    """Numbers integers of 64 bits: by a table while they are small, as most ids are, by keys otherwise."""

    def __init__(self, allowed: int | None = None) -> None:
        self._allowed = allowed
        self._table: Numbers | None = np.full(1 << 12, -1, np.int32)
        self._keys = _Keys(allowed)
        self._names: list[npt.NDArray[np.int64]] = []
        self._seen = self._count = 0

    def number(self, values: npt.NDArray[np.int64]) -> Numbers:
        """The number of each value."""
        self._seen += len(values)
        if self._table is not None and len(values):
            if values.min() >= 0 and values.max() < self._longest_table():
                numbers, firsts = self._number_small(values, int(values.max()))
                self._names.append(values[firsts])
                return numbers
            self._table = None
            for known in self._names:
                self._keys.number(_keys_of(known), 8 * self._count)
        numbers, firsts = self._keys.number(_keys_of(values), 8 * self._keys.count)
        self._names.append(values[firsts])
        return numbers

    def _longest_table(self) -> int:
        # A table four times as long as there are values costs less than the edges themselves.
        longest = 4 * self._seen + (1 << 20)
        # It grows to twice what is needed, and then stands beside the old one: 12 bytes an entry.
        return longest if self._allowed is None else min(longest, (self._allowed - 8 * self._count) // 12)

    def _number_small(self, values: npt.NDArray[np.int64], largest: int) -> tuple[Numbers, npt.NDArray[np.int64]]:
        assert self._table is not None
        if largest >= len(self._table):
            longer = np.full(2 * (largest + 1), -1, np.int32)
            longer[: len(self._table)] = self._table
            self._table = longer
        numbers, firsts = np.empty(len(values), np.int32), np.empty(len(values), np.int64)
        known = self._count
        self._count = kernel.number_small(values, self._table, numbers, known, firsts)
        _check_count(self._count)
        return numbers, firsts[: self._count - known]

    def pieces(self) -> list[npt.NDArray[np.int64]]:
        """All names so far, in order, some at a time."""
        return self._names

    def names(self) -> Names:
        """All names so far, in order."""
        return name_array(np.concatenate([np.empty(0, np.int64), *self._names]))


def _keys_of(values: npt.NDArray[np.int64]) -> Keys:
    keys = np.zeros((len(values), 2), np.uint64)
    keys[:, 0] = values.view(np.uint64)
    return keys


class TextNames:
    """Numbers fields of text, given as places in bytes."""

    def __init__(self, allowed: int | None = None) -> None:
        self.seed = 0
        self._allowed = allowed
        self._forget()

    def _forget(self) -> None:
        self._keys = _Keys(self._allowed)
        self._bytes: Bytes = np.empty(1 << 16, np.uint8)
        self._starts = np.zeros(1 << 12, np.int64)

    def number(self, fields: Fields, keys: Keys | None = None) -> Numbers:
        """The number of each field; `keys` are theirs under the current seed, if known already."""
        known = self._keys.count
        beside = self._bytes.nbytes + self._starts.nbytes
        numbers, firsts = self._keys.number(fields.keys(self.seed) if keys is None else keys, beside)
        self._reserve(known, fields.take(firsts))
        kernel.append_fields(*fields, firsts, known, self._bytes, self._starts)
        if kernel.first_other_name(*fields, numbers, self._bytes, self._starts) >= 0:
            # Two long names have one key: number everything again under another seed.
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
        # An array that is too short stands beside one of twice its length.
        _check_allowed(3 * (size + 8 * names) + self._keys.nbytes, self._allowed, known)
        if size > len(self._bytes):
            self._bytes = np.concatenate([self._bytes, np.empty(size, np.uint8)])

    def fields(self) -> Fields:
        """The names as fields, one behind the other."""
        starts = self._starts[: self._keys.count + 1]
        return Fields(self._bytes[: starts[-1]], starts[:-1], starts[1:])

    def texts(self) -> list[str]:
        """The names, in order."""
        starts = self._starts[: self._keys.count + 1].tolist()
        data = self._bytes[: starts[-1]].tobytes()
        if data.isascii():
            text = data.decode("ascii")
            return [text[begin:end] for begin, end in pairwise(starts)]
        return [data[begin:end].decode() for begin, end in pairwise(starts)]


class FieldNames:
    """Numbers fields as integers for as long as all of them are, and as text from then on.

    A name is an integer only if printing it gives the very field again, so that changing over loses nothing. Where more
    bytes would be needed than are allowed, names are refused before the memory is taken.
    """

    def __init__(self, allowed: int | None = None) -> None:
        self._integers: IntegerNames | None = IntegerNames(allowed)
        self._texts = TextNames(allowed)

    @classmethod
    def of(cls, known: Names) -> FieldNames:
        """Some names are numbered already, in their order, as they stand in a text."""
        names = cls()
        if known.dtype.kind == "i" and names._integers is not None:
            names._integers.number(known)
        else:
            names.number(names.prepare(Fields.of(written_names(known))))
        return names

    @property
    def are_integers(self) -> bool:
        """Whether all names so far are integers."""
        return self._integers is not None

    def prepare(self, fields: Fields) -> Prepared:
        """What can be done for a run of fields apart from the others, in any thread."""
        values = None if self._integers is None else fields.integers()
        seed = self._texts.seed
        return Prepared(lambda: fields, values, seed, fields.keys(seed) if values is None else None)

    def number(self, prepared: Prepared) -> Numbers:
        """The numbers of the fields; runs come in the order of the input."""
        if self._integers is not None:
            if prepared.values is not None:
                return self._integers.number(prepared.values)
            for known in self._integers.pieces():
                self._texts.number(Fields.of(map(str, known.tolist())))
            self._integers = None
        return self._texts.number(prepared.fields(), prepared.keys if prepared.seed == self._texts.seed else None)

    def kept(self) -> list[npt.NDArray[np.int64]] | Fields:
        """All names so far as they are kept: integers, some at a time, or fields of text; no Python object for each."""
        return self._texts.fields() if self._integers is None else self._integers.pieces()

    def names(self) -> Names:
        """All names so far: integers if every one is, text as it was written otherwise."""
        if self._integers is not None:
            return self._integers.names()
        return names_of(self._texts.texts())
