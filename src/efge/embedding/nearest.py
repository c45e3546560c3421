"""Exact nearest neighbors among many vectors, in tiles of scores: memory does not grow with the number of vectors.

A matrix product in 32 bits finds the few candidates that can be among the best, given a bound of its rounding errors.
Only these are scored in 64 bits, and rounded twice: first to multiples of 2**-44, so that a cosine that is zero except
for rounding errors becomes exactly 0, then to 32 bits. Results therefore depend neither on the number of threads nor on
the size of tiles nor on the order in which a matrix product adds its terms. Equal vectors have equal scores wherever
they are, and the earlier one comes first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from efge.parallel import map_ahead, single_threaded_blas
from efge.system import available_threads

Vectors = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

METRICS = ("cosine", "dot")

# A tile of scores, of so many queries and rows, stays in the cache between its product and its selection.
_TILE_QUERIES = 256
_TILE_ROWS = 4096
# Queries that share a tile of rows once it is normalized; progress is reported after each of these blocks.
_BLOCK_QUERIES = 8192
# Groups of columns per wanted neighbor, for the first threshold: fewer make it too low, more take longer.
_GROUPS_PER_NEIGHBOR = 8
# A query with more candidates in a tile than this has all of the tile scored, which is faster than one by one.
_MAX_CANDIDATES = 128
# Values that are gathered at a time to score candidates.
_GATHERED_VALUES = 1 << 18
# Cosines are rounded to multiples of 1 / this number.
_COSINE_STEPS = 2.0**44
_SMALLEST_KEY = np.iinfo(np.int64).min
_MAX_SCORE, _MIN_STEP = float(np.finfo(np.float32).max), 2.0**-149


class Excluded(NamedTuple):
    """Rows that are no candidates of a query: those of query i are ``rows[starts[i]:starts[i + 1]]``."""

    starts: Rows
    rows: Rows

    def within(self, queries: slice, first: int, last: int) -> tuple[Rows, Rows]:
        """Return the positions of excluded rows in a tile, as queries and columns."""
        starts = self.starts[queries.start : queries.stop + 1]
        rows = self.rows[starts[0] : starts[-1]]
        inside = np.flatnonzero((rows >= first) & (rows < last))
        return np.searchsorted(starts - starts[0], inside, side="right") - 1, rows[inside] - first


class _Tile(NamedTuple):
    """Rows that are compared with queries together."""

    first: int
    vectors: Floats  # as they are, in 64 bits
    norms: Floats
    scaled: Vectors  # of length 1 for cosines, of length 1 or less for dot products


class _Search(NamedTuple):
    """Queries, and what their scores are computed from."""

    queries: Vectors
    norms: Floats
    excluded: Excluded
    metric: str
    scale: float  # length of the longest vector for dot products, 1 for cosines
    best: Rows  # keys of the k best rows so far, best first; the smallest key where there is none

    def exact_factor(self, queries: slice) -> Floats:
        """Return what a screening score is multiplied by to become a score."""
        return self.norms[queries] * self.scale if self.metric == "dot" else np.ones(len(self.norms[queries]))


def find_nearest(
    queries: Vectors,
    vectors: Vectors,
    norms: Floats,
    k: int,
    metric: str,
    *,
    excluded: Excluded,
    progress: Callable[[int], None],
) -> tuple[Rows, Vectors]:
    """Return rows and scores of the k vectors nearest to each query, best first.

    `norms` are the lengths of `vectors`. A query with fewer than k candidates has rows of -1, with scores of -inf, at
    the end. `progress` is called with the number of queries that were finished.
    """
    rows, scores = np.empty((len(queries), k), np.int64), np.empty((len(queries), k), np.float32)
    # Several products run at the same time, each in one thread.
    with single_threaded_blas():
        for begin in range(0, len(queries), _BLOCK_QUERIES):
            block = slice(begin, min(begin + _BLOCK_QUERIES, len(queries)))
            part = Excluded(excluded.starts[block.start : block.stop + 1], excluded.rows)
            rows[block], scores[block] = _search_block(queries[block], vectors, norms, k, metric, part)
            progress(block.stop - block.start)
    return rows, scores


def vector_norms(vectors: Vectors) -> Floats:
    """Return the length of each vector."""
    norms = np.empty(len(vectors))
    for begin in range(0, len(vectors), _TILE_ROWS):
        squares = vectors[begin : begin + _TILE_ROWS].astype(np.float64)
        squares *= squares
        norms[begin : begin + _TILE_ROWS] = np.sqrt(squares.sum(axis=1))
    return norms


def _search_block(
    queries: Vectors, vectors: Vectors, norms: Floats, k: int, metric: str, excluded: Excluded
) -> tuple[Rows, Vectors]:
    best = np.full((len(queries), k), _SMALLEST_KEY)
    scale = float(norms.max(initial=0.0)) or 1.0 if metric == "dot" else 1.0
    search = _Search(queries, vector_norms(queries), excluded, metric, scale, best)
    tiles = [slice(b, min(b + _TILE_QUERIES, len(queries))) for b in range(0, len(queries), _TILE_QUERIES)]
    for first in range(0, len(vectors) if k else 0, _TILE_ROWS):
        rows = slice(first, min(first + _TILE_ROWS, len(vectors)))
        exact = vectors[rows].astype(np.float64)
        divisors = _divisors(norms[rows]) if metric == "cosine" else scale
        tile = _Tile(first, exact, norms[rows], (exact / np.reshape(divisors, (-1, 1))).astype(np.float32))
        # Each task changes the keys of its own queries only.
        for _ in map_ahead(lambda part, tile=tile: _improve(search, part, tile), tiles, _threads(tiles)):  # type: ignore[misc]
            pass
    return _unpack_keys(best)


def _threads(tiles: list[slice]) -> int:
    return max(1, min(available_threads(), len(tiles)))


@single_threaded_blas()
def _improve(search: _Search, part: slice, tile: _Tile) -> None:
    """Replace the best keys of some queries by better ones from a tile of rows."""
    units = (search.queries[part] / _divisors(search.norms[part])[:, None]).astype(np.float32)
    screening = units @ tile.scaled.T
    own = search.excluded.within(part, tile.first, tile.first + len(tile.scaled))
    screening[own] = -np.inf
    bounds = _lower_bounds(search, part, screening)
    # On flat arrays, NumPy skips what is False several values at a time.
    found, columns = np.divmod(np.flatnonzero(screening >= bounds[:, None]), screening.shape[1])
    if not len(found):
        return
    counts = np.bincount(found, minlength=len(units))
    many = counts > _MAX_CANDIDATES
    keys = np.full((len(units), int(counts[~many].max(initial=0))), _SMALLEST_KEY)
    if not many.all():
        few = ~many[found]
        positions = np.arange(len(found)) - np.repeat(np.cumsum(counts) - counts, counts)
        chosen, columns = found[few], columns[few]
        keys[chosen, positions[few]] = _score_pairs(search, part, tile, chosen, columns)
    best = search.best[part]
    best[:] = _largest(np.concatenate([best, keys], axis=1), best.shape[1])
    if many.any():
        dense = _score_all(search, part, tile, many)
        dense[own] = _SMALLEST_KEY
        best[many] = _largest(np.concatenate([best[many], dense[many]], axis=1), best.shape[1])


def _lower_bounds(search: _Search, part: slice, screening: Vectors) -> Vectors:
    """Return the screening score that a candidate must reach, for each query."""
    k, factors = search.best.shape[1], search.exact_factor(part)
    worst = search.best[part, -1]
    _, scores = _unpack_keys(worst[:, None])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        thresholds = np.where(factors > 0, np.minimum(scores[:, 0], _MAX_SCORE) / factors, 0.0)
        # Scores that differ by less than a step of 32 bits may be equal, so that the earlier row comes first.
        steps = np.where(factors > 0, _MIN_STEP / factors, 0.0)
        limits = np.where(factors > 0, _MAX_SCORE / factors, np.inf)
    unknown = worst == _SMALLEST_KEY
    if unknown.any():
        thresholds[unknown] = np.minimum(_kth_group_maximum(screening, k), limits)[unknown]
    # Each of dim products and sums, and of the roundings of both vectors, has a relative error of at most 2**-24.
    error = (search.queries.shape[1] + 8) * 2.0**-24
    lowest = thresholds - 2 * error - 2.0**-22 - steps
    # A later row with an equal score does not come before a known one.
    zero = (search.norms[part] == 0) & ~unknown
    lowest = np.where(zero, np.inf, np.nextafter(lowest.astype(np.float32), np.float32(-np.inf)))
    # Excluded rows are at minus infinity.
    return np.maximum(lowest, -np.finfo(np.float32).max)


def _kth_group_maximum(screening: Vectors, k: int) -> Floats:
    """Return a number that at least k scores of each query reach, and few more: the k-th largest maximum of groups."""
    columns = screening.shape[1]
    groups = min(columns, _GROUPS_PER_NEIGHBOR * k)
    if groups < k:
        return np.full(len(screening), -np.inf)
    whole = columns // groups * groups
    maxima = screening[:, :whole].reshape(len(screening), -1, groups).max(axis=1)
    return np.partition(maxima, groups - k, axis=1)[:, groups - k].astype(np.float64)


def _score_pairs(search: _Search, part: slice, tile: _Tile, queries: Rows, columns: Rows) -> Rows:
    """Return the keys of pairs of a query and a row."""
    keys = np.empty(len(queries), np.int64)
    vectors, norms = search.queries[part], search.norms[part]
    size = max(1, _GATHERED_VALUES // vectors.shape[1])
    for begin in range(0, len(queries), size):
        q, r = queries[begin : begin + size], columns[begin : begin + size]
        cosines = np.einsum("ij,ij->i", vectors[q] / _divisors(norms[q])[:, None], tile.vectors[r])
        keys[begin : begin + size] = _exact_keys(search.metric, cosines, norms[q], tile.norms[r], r + tile.first)
    return keys


def _score_all(search: _Search, part: slice, tile: _Tile, chosen: npt.NDArray[np.bool_]) -> Rows:
    """Return the keys of the chosen queries with all rows of a tile."""
    keys = np.full((len(chosen), len(tile.norms)), _SMALLEST_KEY)
    vectors, norms = search.queries[part][chosen], search.norms[part][chosen][:, None]
    products = (vectors / _divisors(norms)) @ tile.vectors.T
    rows = np.arange(tile.first, tile.first + len(tile.norms))
    keys[chosen] = _exact_keys(search.metric, products, norms, tile.norms, rows)
    return keys


def _exact_keys(metric: str, products: Floats, query_norms: Floats, norms: Floats, rows: Rows) -> Rows:
    """Return keys from the products of queries of length 1 with vectors."""
    scores = products * (_COSINE_STEPS / _divisors(norms))
    np.rint(scores, out=scores)
    scores /= _COSINE_STEPS
    if metric == "dot":
        scores *= query_norms
        scores *= norms
    return _pack_keys(scores, rows)


def _divisors(norms: Floats) -> Floats:
    """Return norms to divide by: 1 for a zero vector, whose cosines are then 0."""
    return np.where(norms > 0, norms, 1.0)


def _pack_keys(scores: Floats, rows: Rows) -> Rows:
    """Pack score and row into one integer: it is larger for a better score, and for an earlier row of equal score."""
    with np.errstate(over="ignore"):
        # Adding zero turns -0 into 0, which must not rank higher.
        bits = (scores.astype(np.float32) + np.float32(0)).view(np.int32)
    keys = _flip_negative(bits).astype(np.int64)
    keys <<= 32
    keys |= 0xFFFFFFFF - rows
    return keys


def _unpack_keys(keys: Rows) -> tuple[Rows, Vectors]:
    rows, scores = 0xFFFFFFFF - (keys & 0xFFFFFFFF), _flip_negative((keys >> 32).astype(np.int32)).view(np.float32)
    missing = keys == _SMALLEST_KEY
    return np.where(missing, -1, rows), np.where(missing, np.float32(-np.inf), scores)


def _flip_negative(bits: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Turn the bits of floats into integers of the same order, or back: only negative floats order the other way."""
    return bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF))


def _largest(keys: Rows, k: int) -> Rows:
    """Return the k largest keys of each row, the largest first."""
    return np.sort(keys, axis=1)[:, : -k - 1 : -1]
