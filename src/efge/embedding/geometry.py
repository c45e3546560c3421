"""Geometry of vectors: whether they point in different directions, and how many directions they really use.

All figures come from a sample of rows that is the same in every run, so that large tables take as long as small ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from efge.embedding.common import Vectors

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

# Number of rows, and of pairs of rows, in a sample.
SAMPLE_SIZE = 2048
# Entries of vectors that are in memory at a time.
_CHUNK_ENTRIES = 1 << 17
# Random pairs of sound vectors had a lower mean cosine on all networks that were tried.
NEARLY_PARALLEL = 0.99


@dataclass(frozen=True)
class Geometry:
    """Directions of vectors, from a sample of rows."""

    mean_cosine: float  # of random pairs of rows; NaN if there are none
    effective_rank: float  # of the vectors minus their mean: from 1, all on a line, to dim, equal spread everywhere

    @property
    def nearly_parallel(self) -> bool:
        """Whether all vectors point in almost the same direction."""
        return self.mean_cosine > NEARLY_PARALLEL


def measure_geometry(vectors: Vectors, rows: Rows | None = None) -> Geometry:
    """Measure the directions of vectors, or of some rows of them.

    Examples
    --------
    >>> measure_geometry(np.eye(3, dtype=np.float32)).mean_cosine
    0.0
    """
    random = sample_generator()
    chosen = sample_rows(len(vectors), rows, random)
    if len(chosen) < 2:
        return Geometry(np.nan, np.nan)
    first = random.integers(len(chosen), size=SAMPLE_SIZE)
    second = (first + random.integers(1, len(chosen), size=SAMPLE_SIZE)) % len(chosen)
    mean_cosine = float(cosines(vectors, chosen[first], chosen[second]).mean())
    mean = mean_vector(vectors, chosen)
    squares = dot_products(vectors, chosen, chosen, mean)
    return Geometry(mean_cosine, _effective_rank(squares, dot_products(vectors, chosen[first], chosen[second], mean)))


def count_zero_rows(vectors: Vectors) -> int:
    """Count the vectors whose entries are all zero.

    Examples
    --------
    >>> count_zero_rows(np.array([[0, 0], [0, 1]], np.float32))
    1
    """
    # Few vectors begin with a zero; looking at all entries of the others took most of the time of a diagnosis.
    candidates = np.flatnonzero(vectors[:, 0] == 0)
    return int((~vectors[candidates].any(axis=1)).sum())


def sample_generator() -> np.random.Generator:
    """Return the random numbers by which samples are drawn, the same ones each time."""
    return np.random.Generator(np.random.PCG64(0))


def sample_rows(n_rows: int, rows: Rows | None, random: np.random.Generator) -> Rows:
    """Return distinct random rows, of all or of those given; all of them if they are few."""
    count = n_rows if rows is None else len(rows)
    chosen = np.arange(count) if count <= SAMPLE_SIZE else np.unique(random.integers(count, size=SAMPLE_SIZE))
    return chosen if rows is None else rows[chosen]


def mean_vector(vectors: Vectors, rows: Rows) -> Floats:
    """Return the mean of some vectors."""
    total = np.zeros(vectors.shape[1])
    for chunk in _chunks(vectors, len(rows)):
        total += vectors[rows[chunk]].sum(axis=0, dtype=np.float64)
    return total / max(len(rows), 1)


def dot_products(vectors: Vectors, first: Rows, second: Rows, mean: Floats | float = 0.0) -> Floats:
    """Return the inner products of pairs of vectors, after a mean is subtracted; few are in memory at a time."""
    products = np.empty(len(first))
    for chunk in _chunks(vectors, len(first)):
        products[chunk] = np.einsum(
            "ij,ij->i", vectors[first[chunk]].astype(np.float64) - mean, vectors[second[chunk]] - mean
        )
    return products


def cosines(vectors: Vectors, first: Rows, second: Rows, mean: Floats | float = 0.0) -> Floats:
    """Return the cosines of pairs of vectors, after a mean is subtracted; that of a zero vector is 0."""
    products, norms = np.empty(len(first)), np.empty(len(first))
    for chunk in _chunks(vectors, len(first)):
        # To fetch and widen rows takes most of the time; it is done once.
        u, v = (vectors[rows[chunk]].astype(np.float64) - mean for rows in (first, second))
        products[chunk] = np.einsum("ij,ij->i", u, v)
        norms[chunk] = np.sqrt(np.einsum("ij,ij->i", u, u)) * np.sqrt(np.einsum("ij,ij->i", v, v))
    ratios: Floats = np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)
    return ratios


def _chunks(vectors: Vectors, count: int) -> list[slice]:
    size = max(1, _CHUNK_ENTRIES // vectors.shape[1])
    return [slice(begin, begin + size) for begin in range(0, count, size)]


def _effective_rank(squares: Floats, products: Floats) -> float:
    """Return the participation ratio of the covariance's eigenvalues: their sum, squared, by the sum of their squares.

    The sum is the mean of x'x; the sum of squares is the mean of (x'y)^2 over all x and y, which a sample of pairs of
    different rows estimates without a product of matrices.
    """
    share_equal = 1 / len(squares)
    square_sum = share_equal * float((squares**2).mean()) + (1 - share_equal) * float((products**2).mean())
    return max(1.0, float(squares.mean() ** 2 / square_sum)) if square_sum else 0.0
