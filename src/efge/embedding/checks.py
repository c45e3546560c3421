"""Checks of vectors and names: what an embedding may consist of."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from efge.embedding.common import Vectors
from efge.errors import EmbeddingError, GraphError
from efge.graph.names import Names, name_array
from efge.graph.tensors import as_array


def as_floats(vectors: Any) -> Vectors:
    """Return a copy of a two-dimensional array as 32-bit floats."""
    try:
        array = as_array(vectors) if hasattr(type(vectors), "detach") else np.asarray(vectors)
    except ValueError as error:
        raise EmbeddingError(f"vectors must be rows of the same number of values: {error}") from None
    if array.ndim != 2 or (array.size and array.dtype.kind not in "fiub"):
        raise EmbeddingError(
            f"vectors must be a two-dimensional array of numbers; got {array.dtype} of shape {array.shape}"
        )
    with np.errstate(over="ignore"):
        return array.astype(np.float32, order="C")


def as_names(names: Iterable[Hashable]) -> Names:
    """Return names as a one-dimensional array."""
    if isinstance(names, (str, bytes)) or not isinstance(names, Iterable):
        raise EmbeddingError(f"names are a list of node names, one for each vector; got {names!r}")
    try:
        array = name_array(names)
    except GraphError as error:
        raise EmbeddingError(str(error)) from None
    if array.ndim != 1:
        raise EmbeddingError(f"names must be one-dimensional; got shape {array.shape}")
    return array


def check_distinct(names: Names) -> None:
    """Raise an error if two rows have the same name, or a name is not hashable."""
    if names.dtype != object:
        ordered = np.sort(names)
        if (ordered[1:] != ordered[:-1]).all():
            return
    items = names.tolist()
    try:
        if len(set(items)) == len(items):
            return
    except TypeError as error:
        raise EmbeddingError(f"a node name must be hashable: {error}") from None
    rows: dict[Hashable, int] = {}
    for row, name in enumerate(items):
        if rows.setdefault(name, row) != row:
            raise EmbeddingError(f"node names must be distinct; rows {rows[name]} and {row} are both named {name!r}")


def check_finite(vectors: Vectors, names: Names) -> None:
    """Raise an error if a value is NaN or infinite."""
    # A sum is finite only if all its terms are. It may also overflow, so each value of such a row is checked.
    with np.errstate(over="ignore", invalid="ignore"):
        sums = vectors.sum(axis=1)
    for row in np.flatnonzero(~np.isfinite(sums)).tolist():
        wrong = vectors[row][~np.isfinite(vectors[row])]
        if len(wrong):
            raise EmbeddingError(
                f"row {row}, {names.tolist()[row]!r}: a vector must be finite in 32 bits; got {wrong[0]}"
            )
