"""Node names: arrays of them, names as text with and without escapes, fields of text, and an index from name to row."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple, TypeGuard

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError, warn_user
from efge.kernels import text as kernel

Names = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]
Positions = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]

_PLAIN_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,999}", re.ASCII)

# Characters that end a name in a text, or vanish at its start; all white space is in the first 0x3000 characters.
_SEPARATORS = [*filter(str.isspace, map(chr, range(0x3001))), "\0", "\ufeff"]
# An empty name would be invisible: it is written as the escape of a zero-width space.
_ESCAPES = {f"\\u{ord(char):04x}": char for char in [*_SEPARATORS, "\\"]} | {"\\u200b": ""}
_ESCAPE = re.compile("|".join(map(re.escape, _ESCAPES)))
# A backslash is escaped only where it would be read as the start of an escape.
_TO_ESCAPE = re.compile(f"[{''.join(_SEPARATORS)}]|\\\\(?=u(?:{'|'.join(escape[2:] for escape in _ESCAPES)}))")


def name_array(names: Iterable[Hashable]) -> Names:
    """Return the names as a read-only array: int64 if all are integers of 64 bits, Python objects otherwise."""
    if isinstance(names, np.ndarray) and names.dtype.kind == "i":
        array = names.astype(np.int64)
    else:
        items = [normalize_name(name) for name in (names.tolist() if isinstance(names, np.ndarray) else names)]
        if any(item is None or (isinstance(item, float) and item != item) for item in items):
            raise GraphError("a node name is not NaN or None")
        array = np.fromiter(items, object, len(items))
        if all(type(item) is int and -(2**63) <= item < 2**63 for item in items):
            array = array.astype(np.int64)
    array.flags.writeable = False
    return array


def list_names(argument: str, names: Any) -> list[Any]:
    """Return names as a list; raise a GraphError if they are a single text, or nothing that has items.

    Examples
    --------
    >>> list_names("nodes", "ann")
    Traceback (most recent call last):
    efge.errors.GraphError: nodes is a list of node names; got 'ann'
    """
    if isinstance(names, (str, bytes)) or not isinstance(names, Iterable):
        raise GraphError(f"{argument} is a list of node names; got {names!r}"[:500])
    listed = names.tolist() if isinstance(names, np.ndarray) else list(names)
    listed = [normalize_name(name) if is_scalar_tensor(name) else name for name in listed]
    if not all(isinstance(name, Hashable) for name in listed):
        raise GraphError(f"{argument} is a list of node names, which are hashable; got {names!r}"[:500])
    return listed


def parse_names(texts: Sequence[str]) -> Names:
    """Return the names that texts stand for: integers if every text is a plain integer, the texts otherwise."""
    return name_array(map(int, texts) if all_integers(texts) else texts)


def all_integers(texts: Iterable[str]) -> bool:
    """Whether every text is an integer exactly as Python prints it."""
    return all(map(_PLAIN_INTEGER.fullmatch, texts))


def match_types(names: Names, known: Names) -> Names:
    """Return names that were read from text, with the types that known ones have.

    Names in a file are integers only if all of them are, so that a single other one makes all of them text.

    Examples
    --------
    >>> match_types(name_array(["1", "2", "ann"]), name_array([1, 2])).tolist()
    [1, 2, 'ann']
    >>> match_types(name_array([1, 3]), name_array(["1", "ann"])).tolist()
    ['1', '3']
    """
    if names.dtype == known.dtype != object:
        return names
    listed, old = names.tolist(), set(known.tolist())
    kinds = {type(name) for name in old if type(name) is int or is_plain_integer(name)}

    def match(name: Hashable) -> Hashable:
        other = int(name) if is_plain_integer(name) else str(name) if type(name) is int else name
        return other if name not in old and (other in old or kinds == {type(other)}) else name

    matched = [match(name) for name in listed]
    # A file of JSON may have both 1 and "1", which stay different nodes.
    return name_array(matched) if len(set(matched)) == len(listed) else names


def is_plain_integer(name: object) -> TypeGuard[str]:
    """Whether a name is text, and an integer exactly as Python prints it."""
    return isinstance(name, str) and _PLAIN_INTEGER.fullmatch(name) is not None


def escape_name(name: str, keep: str = "") -> str:
    r"""Escape a name for a text in which white space separates names; different names stay different.

    White space in `keep` is not escaped.
    """
    if not name:
        return "\\u200b"
    return _TO_ESCAPE.sub(lambda match: match[0] if match[0] in keep else f"\\u{ord(match[0]):04x}", name)


def unescape_name(text: str) -> str:
    """Return the name that `escape_name` escaped."""
    return _ESCAPE.sub(lambda match: _ESCAPES[match[0]], text) if "\\" in text else text


def format_names(names: Names, keep: str = "") -> list[str]:
    """Return names escaped for a text; raise a GraphError if two look the same there, such as 1 and '1'."""
    try:
        texts = [escape_name(str(name), keep) for name in names.tolist()]
    except ValueError as error:
        # Python refuses to print integers of more than a few thousand digits.
        raise GraphError(f"a name cannot be written as text: {error}") from None
    if len(set(texts)) < len(texts):
        raise GraphError("names that look the same as text, such as 1 and '1', cannot be told apart there")
    return texts


def encode_utf8(texts: Iterable[str]) -> list[bytes]:
    """Encode texts as UTF-8."""
    try:
        return [text.encode() for text in texts]
    except UnicodeEncodeError as error:
        raise GraphError(f"a name is text that UTF-8 can hold; got {error.object!r}") from None


def split_pairs(pairs: Any) -> tuple[list[Any], list[Any]]:
    """Return the first and the second names of pairs, which may be the rows of an array or a data frame."""
    if hasattr(pairs, "columns") and hasattr(pairs, "to_numpy"):
        pairs = pairs.to_numpy()
    if isinstance(pairs, np.ndarray):
        if pairs.size and (pairs.ndim != 2 or pairs.shape[1] != 2):
            raise GraphError(f"pairs are an array of shape (k, 2); got shape {pairs.shape}")
        columns = pairs.reshape(-1, 2)
        return columns[:, 0].tolist(), columns[:, 1].tolist()
    given = list(pairs) if isinstance(pairs, Iterable) else [pairs]
    if not all(isinstance(pair, Iterable) for pair in given):
        raise GraphError(f"pairs is a list of pairs of node names; got {pairs!r}"[:500])
    listed = [tuple(pair) for pair in given]
    invalid = [number for number, pair in enumerate(listed) if len(pair) != 2]
    if invalid:
        raise GraphError(f"pair {invalid[0]}: a pair has two node names; got {len(listed[invalid[0]])}")
    return [pair[0] for pair in listed], [pair[1] for pair in listed]


def check_distinct(names: Names) -> None:
    """Raise a GraphError if two names are equal, or if a name is not hashable."""
    try:
        distinct = len(set(names.tolist()))
    except TypeError as error:
        raise GraphError(f"a node name is hashable: {error}") from None
    if distinct != len(names):
        raise GraphError(f"node names are distinct; {len(names)} nodes have {distinct} names")


def warn_if_mixed(names: Names) -> None:
    """Warn if integers are names beside the same numbers as text, which are different nodes.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_if_mixed(name_array([1, 2, "2"]))
    >>> str(caught[0].message)
    "2 as an integer and '2' as text are different nodes; convert the names to one type"
    """
    if names.dtype != object:
        return
    listed = names.tolist()
    texts = {name for name in listed if isinstance(name, str) and _PLAIN_INTEGER.fullmatch(name)}
    twins = {int(name) for name in texts}.intersection(name for name in listed if type(name) is int)
    if twins:
        first, more = min(twins), f", and so are {len(twins) - 1:,} other pairs" if len(twins) > 1 else ""
        message = f"{first} as an integer and '{first}' as text are different nodes{more}"
        warn_user(f"{message}; convert the names to one type")


def normalize_name(name: Hashable) -> Hashable:
    """Convert scalars of NumPy and PyTorch to Python's types, and integral floats to integers of the same hash."""
    if isinstance(name, np.generic) or is_scalar_tensor(name):
        name = name.item()  # type: ignore[attr-defined]
    return int(name) if isinstance(name, float) and name.is_integer() else name


def is_scalar_tensor(name: Any) -> bool:
    """Whether this is a single value of PyTorch, which would be a name different from any equal one."""
    return hasattr(type(name), "detach") and getattr(name, "ndim", 1) == 0


class NameIndex:
    """An index from names to rows."""

    def __init__(self, names: Names) -> None:
        self._by_value = names.dtype != object
        if self._by_value:
            self._order = np.argsort(names, kind="stable")
            self._sorted = names[self._order]
        else:
            self._rows = {name: row for row, name in enumerate(names.tolist())}

    def rows(self, names: Iterable[Hashable]) -> npt.NDArray[np.int64]:
        """Return the row of each name, or -1 for an unknown name."""
        if self._by_value and isinstance(names, np.ndarray) and names.dtype == np.int64:
            return self._rows_of_integers(names)
        names = names.tolist() if isinstance(names, np.ndarray) else list(names)
        if not self._by_value:
            return np.fromiter((self._rows.get(name, -1) for name in names), np.int64, len(names))
        plain = [normalize_name(name) for name in names]
        fits = np.array([isinstance(name, int) and -(2**63) <= name < 2**63 for name in plain], bool)
        values = np.array([name if fit else 0 for name, fit in zip(plain, fits, strict=True)], np.int64)
        return np.where(fits, self._rows_of_integers(values), -1)

    def _rows_of_integers(self, values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        if not len(self._sorted):
            return np.full(len(values), -1, np.int64)
        positions = np.minimum(np.searchsorted(self._sorted, values), len(self._sorted) - 1)
        return np.where(self._sorted[positions] == values, self._order[positions], -1)


class Fields(NamedTuple):
    """Fields of text: field i is data[starts[i]:ends[i]], in UTF-8."""

    data: Bytes
    starts: Positions
    ends: Positions

    @classmethod
    def from_texts(cls, texts: Iterable[str]) -> Fields:
        """Store texts as consecutive fields."""
        parts = encode_utf8(texts)
        ends = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        return cls(np.frombuffer(b"".join(parts), np.uint8), ends[:-1], ends[1:])

    def take(self, chosen: npt.NDArray[Any]) -> Fields:
        """Select some of the fields."""
        return Fields(self.data, self.starts[chosen], self.ends[chosen])

    def integers(self) -> npt.NDArray[np.int64] | None:
        """Parse the fields as integers; return None if any field is not one."""
        values = np.empty(len(self.starts), np.int64)
        return values if kernel.parse_integers(*self, values) < 0 else None

    def keys(self, seed: int) -> Keys:
        """Return a 128-bit key for each field."""
        keys = np.empty((len(self.starts), 2), np.uint64)
        kernel.key_fields(*self, np.uint64(seed), keys)
        return keys

    def text(self, i: int) -> str:
        """Decode one field, for messages and headers."""
        return bytes(self.data[self.starts[i] : self.ends[i]]).decode("utf-8", "replace")
