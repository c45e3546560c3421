"""Tables of vectors: allocate padded rows, fill them with initial values, and strip the padding at the end."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from efge.families.base import Family
from efge.io.atomic import map_temporary_file
from efge.kernels.common import CACHE_LINE
from efge.kernels.random import fill_uniform
from efge.parallel import map_ahead
from efge.random import stream_key
from efge.training.corpus import Source
from efge.training.settings import Settings

Floats = npt.NDArray[np.float32]

# Rows that are filled or copied together.
_ROWS_PER_CHUNK = 1 << 14


def padded_width(dim: int) -> int:
    """Return the number of entries of a table's row: the dimension, rounded up to whole cache lines."""
    return math.ceil(dim / CACHE_LINE) * CACHE_LINE


def allocate_table(rows: int, dim: int, allocate: Callable[..., Floats] = np.zeros) -> Floats:
    """Return a table of zeros, or of what `allocate` returns, whose rows begin at cache lines."""
    width = padded_width(dim)
    raw = allocate(rows * width + CACHE_LINE, np.float32)
    skip = -raw.ctypes.data // raw.itemsize % CACHE_LINE
    return raw[skip : skip + rows * width].reshape(rows, width)


def initial_tables(
    walks: Source, family: Family, settings: Settings, copies: int = 0, mapped_in: Path | None = None
) -> tuple[Floats, Floats]:
    """Return initial centers, small random numbers around zero, and contexts, zeros; non-negative ones are both random.

    After the rows of all nodes there is space for `copies` rows. With `mapped_in`, tables are files in that folder.
    """
    allocate = np.zeros if mapped_in is None else _mapped_allocator(mapped_in)
    n_nodes = walks.graph.n_nodes
    centers, contexts = (allocate_table(n_nodes + copies, settings.dim, allocate) for _ in range(2))
    keys = [stream_key(walks.seed, 0, purpose) for purpose in ("centers", "contexts")]
    bounds = (0.0, settings.dim**-0.5) if family.nonnegative else (-0.5 / settings.dim, 0.5 / settings.dim)

    def fill(begin: int) -> None:
        end = min(begin + _ROWS_PER_CHUNK, n_nodes)
        fill_uniform(keys[0], centers, begin, end, settings.dim, *bounds)
        if family.nonnegative:
            fill_uniform(keys[1], contexts, begin, end, settings.dim, *bounds)
        elif mapped_in is None and not settings.one_table:
            # The system provides memory only when it is first written to; during training that would take longer.
            contexts[begin:end] = 0.0

    deque(map_ahead(fill, range(0, n_nodes, _ROWS_PER_CHUNK), walks.threads), maxlen=0)
    return centers, centers if settings.one_table else contexts


def _mapped_allocator(folder: Path) -> Callable[..., Floats]:
    def allocate(count: int, dtype: type[np.float32]) -> Floats:
        return np.frombuffer(map_temporary_file(folder, 4 * count), dtype)

    return allocate


def strip_padding(table: Floats, dim: int) -> Floats:
    """Return the same rows without their padding, moved in place: a copy might not fit into memory."""
    flat, rows = table.reshape(-1), len(table)
    for begin in range(0, rows if dim < table.shape[1] else 0, _ROWS_PER_CHUNK):
        chunk = table[begin : begin + _ROWS_PER_CHUNK, :dim].copy()
        flat[begin * dim : begin * dim + chunk.size] = chunk.reshape(-1)
    return flat[: rows * dim].reshape(rows, dim)
