"""The nearest of many vectors, exactly, in tiles of scores: memory does not grow with the number of vectors.

Results do not depend on the size of tiles or on the order in which a matrix product adds: products are made in 64 bits
and rounded, first to multiples of 2**-44, which makes 0 of a cosine that is 0 but for that order, then to 32 bits.
Equal vectors then have equal scores wherever they stand, and the earlier one comes first.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

METRICS = ("cosine", "dot")

_TILE_QUERIES = 256
_TILE_ROWS = 4096
_STEPS = 2.0**44


def nearest(
    queries: Vectors, vectors: Vectors, lengths: Floats, k: int, metric: str, *, own: Rows | None = None
) -> tuple[Rows, Vectors]:
    """Rows and scores of the k vectors nearest to each query, best first; a query's own row, if given, is left out."""
    n = len(vectors)
    k = min(k, n if own is None else max(n - 1, 0))
    rows, scores = np.empty((len(queries), k), np.int64), np.empty((len(queries), k), np.float32)
    for begin in range(0, len(queries), _TILE_QUERIES):
        part = slice(begin, begin + _TILE_QUERIES)
        best = np.empty((len(queries[part]), 0), np.int64)
        for first in range(0, n, _TILE_ROWS):
            tile = slice(first, first + _TILE_ROWS)
            keys = _packed(_scores(queries[part], vectors[tile], lengths[tile], metric), first)
            if own is not None:
                _leave_out(keys, own[part] - first)
            best = _largest(np.concatenate([best, _largest(keys, k)], axis=1), k)
        rows[part], scores[part] = _unpacked(np.sort(best, axis=1)[:, ::-1])
    return rows, scores


def lengths_of(vectors: Vectors) -> Floats:
    """The length of each vector."""
    lengths = np.empty(len(vectors))
    for begin in range(0, len(vectors), _TILE_ROWS):
        squares = vectors[begin : begin + _TILE_ROWS].astype(np.float64)
        squares *= squares
        lengths[begin : begin + _TILE_ROWS] = np.sqrt(squares.sum(axis=1))
    return lengths


def _scores(queries: Vectors, vectors: Vectors, lengths: Floats, metric: str) -> Floats:
    own_lengths = lengths_of(queries)
    scores: Floats = (queries / _divisors(own_lengths)[:, None]) @ vectors.astype(np.float64).T
    scores *= _STEPS / _divisors(lengths)
    np.rint(scores, out=scores)
    scores /= _STEPS
    if metric == "dot":
        scores *= own_lengths[:, None]
        scores *= lengths
    return scores


def _divisors(lengths: Floats) -> Floats:
    """Lengths to divide by; a zero vector stays one, and its cosines are 0."""
    return np.where(lengths > 0, lengths, 1.0)


def _packed(scores: Floats, first: int) -> Rows:
    """Scores and rows in one number: the larger is that of the better score, and of equals that of the earlier row."""
    with np.errstate(over="ignore"):
        # Adding zero makes 0 of -0, which is no less.
        bits = (scores.astype(np.float32) + np.float32(0)).view(np.int32)
    keys = _in_order(bits).astype(np.int64)
    keys <<= 32
    keys |= 0xFFFFFFFF - np.arange(first, first + scores.shape[1])
    return keys


def _unpacked(keys: Rows) -> tuple[Rows, Vectors]:
    return 0xFFFFFFFF - (keys & 0xFFFFFFFF), _in_order((keys >> 32).astype(np.int32)).view(np.float32)


def _in_order(bits: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Bits of floats as integers of the same order, and back: those below zero order the wrong way round."""
    return bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF))


def _leave_out(keys: Rows, columns: Rows) -> None:
    """Make a key the least in each row, where the column is there."""
    here = np.flatnonzero((columns >= 0) & (columns < keys.shape[1]))
    keys[here, columns[here]] = np.iinfo(np.int64).min


def _largest(keys: Rows, k: int) -> Rows:
    """The k largest keys of each row, in any order."""
    surplus = keys.shape[1] - k
    return keys if surplus <= 0 else np.partition(keys, -k, axis=1)[:, surplus:]
