"""Exact nearest neighbors among many vectors, in tiles of scores: memory does not grow with the number of vectors.

Results depend neither on the size of tiles nor on the order in which a matrix product adds its terms. Products are
computed in 64 bits and rounded twice: first to multiples of 2**-44, so that a cosine that is zero except for rounding
errors becomes exactly 0, then to 32 bits. Equal vectors therefore have equal scores wherever they are, and the earlier
one comes first.
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
# Cosines are rounded to multiples of 1 / this number.
_COSINE_STEPS = 2.0**44


def find_nearest(
    queries: Vectors, vectors: Vectors, norms: Floats, k: int, metric: str, *, own: Rows | None = None
) -> tuple[Rows, Vectors]:
    """Return rows and scores of the k vectors nearest to each query, best first; `own` rows are excluded.

    `norms` are the lengths of `vectors`, and `own` is the row that each query itself has among them.
    """
    n = len(vectors)
    k = min(k, n if own is None else max(n - 1, 0))
    rows, scores = np.empty((len(queries), k), np.int64), np.empty((len(queries), k), np.float32)
    for begin in range(0, len(queries), _TILE_QUERIES):
        tile_queries = slice(begin, begin + _TILE_QUERIES)
        best = np.empty((len(queries[tile_queries]), 0), np.int64)
        for first in range(0, n, _TILE_ROWS):
            tile_rows = slice(first, first + _TILE_ROWS)
            keys = _pack_keys(_scores(queries[tile_queries], vectors[tile_rows], norms[tile_rows], metric), first)
            if own is not None:
                _exclude(keys, own[tile_queries] - first)
            best = _largest(np.concatenate([best, _largest(keys, k)], axis=1), k)
        rows[tile_queries], scores[tile_queries] = _unpack_keys(np.sort(best, axis=1)[:, ::-1])
    return rows, scores


def vector_norms(vectors: Vectors) -> Floats:
    """Return the length of each vector."""
    norms = np.empty(len(vectors))
    for begin in range(0, len(vectors), _TILE_ROWS):
        squares = vectors[begin : begin + _TILE_ROWS].astype(np.float64)
        squares *= squares
        norms[begin : begin + _TILE_ROWS] = np.sqrt(squares.sum(axis=1))
    return norms


def _scores(queries: Vectors, vectors: Vectors, norms: Floats, metric: str) -> Floats:
    query_norms = vector_norms(queries)
    scores: Floats = (queries / _divisors(query_norms)[:, None]) @ vectors.astype(np.float64).T
    scores *= _COSINE_STEPS / _divisors(norms)
    np.rint(scores, out=scores)
    scores /= _COSINE_STEPS
    if metric == "dot":
        scores *= query_norms[:, None]
        scores *= norms
    return scores


def _divisors(norms: Floats) -> Floats:
    """Return norms to divide by: 1 for a zero vector, whose cosines are then 0."""
    return np.where(norms > 0, norms, 1.0)


def _pack_keys(scores: Floats, first: int) -> Rows:
    """Pack score and row into one integer: it is larger for a better score, and for an earlier row of equal score."""
    with np.errstate(over="ignore"):
        # Adding zero turns -0 into 0, which must not rank higher.
        bits = (scores.astype(np.float32) + np.float32(0)).view(np.int32)
    keys = _flip_negative(bits).astype(np.int64)
    keys <<= 32
    keys |= 0xFFFFFFFF - np.arange(first, first + scores.shape[1])
    return keys


def _unpack_keys(keys: Rows) -> tuple[Rows, Vectors]:
    return 0xFFFFFFFF - (keys & 0xFFFFFFFF), _flip_negative((keys >> 32).astype(np.int32)).view(np.float32)


def _flip_negative(bits: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Turn the bits of floats into integers of the same order, or back: only negative floats order the other way."""
    return bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF))


def _exclude(keys: Rows, columns: Rows) -> None:
    """Make one key the smallest in each row whose column is within this tile."""
    inside = np.flatnonzero((columns >= 0) & (columns < keys.shape[1]))
    keys[inside, columns[inside]] = np.iinfo(np.int64).min


def _largest(keys: Rows, k: int) -> Rows:
    """Return the k largest keys of each row, in any order."""
    surplus = keys.shape[1] - k
    return keys if surplus <= 0 else np.partition(keys, -k, axis=1)[:, surplus:]
