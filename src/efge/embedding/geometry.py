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
# Random pairs of sound vectors have a mean cosine of 0 to .97 on all networks tried.
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
    sample = sample_rows(vectors, rows, random).astype(np.float64)
    if len(sample) < 2:
        return Geometry(np.nan, np.nan)
    first = random.integers(len(sample), size=SAMPLE_SIZE)
    second = (first + random.integers(1, len(sample), size=SAMPLE_SIZE)) % len(sample)
    mean_cosine = float(cosines(sample[first], sample[second]).mean())
    sample -= sample.mean(axis=0)
    return Geometry(mean_cosine, _effective_rank(sample, first, second))


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


def sample_rows(vectors: Vectors, rows: Rows | None, random: np.random.Generator) -> Vectors:
    """Return the vectors of distinct random rows, or of all rows if they are few."""
    n_rows = len(vectors) if rows is None else len(rows)
    chosen = np.arange(n_rows) if n_rows <= SAMPLE_SIZE else np.unique(random.integers(n_rows, size=SAMPLE_SIZE))
    return vectors[chosen if rows is None else rows[chosen]]


def cosines(first: Floats, second: Floats) -> Floats:
    """Return the cosine of each row with the same row of another matrix; that of a zero vector is 0."""
    products = np.einsum("ij,ij->i", first, second)
    norms = np.sqrt(np.einsum("ij,ij->i", first, first) * np.einsum("ij,ij->i", second, second))
    ratios: Floats = np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)
    return ratios


def _effective_rank(centered: Floats, first: Rows, second: Rows) -> float:
    """Return the participation ratio of the covariance's eigenvalues: their sum, squared, by the sum of their squares.

    The sum is the mean of x'x; the sum of squares is the mean of (x'y)^2 over all x and y, which a sample of pairs of
    different rows estimates without a product of matrices.
    """
    squares = np.einsum("ij,ij->i", centered, centered)
    products = np.einsum("ij,ij->i", centered[first], centered[second])
    share_equal = 1 / len(centered)
    square_sum = share_equal * float((squares**2).mean()) + (1 - share_equal) * float((products**2).mean())
    return max(1.0, float(squares.mean() ** 2 / square_sum)) if square_sum else 0.0
