"""Tables of vectors: allocate padded rows, fill them with initial values, and strip the padding at the end."""

from __future__ import annotations

import hashlib
import math
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from efge.families.base import Family
from efge.graph.factorization import factor_edges
from efge.graph.graph import Graph
from efge.io.scratch import map_temporary_file
from efge.kernels.common import CACHE_LINE
from efge.kernels.random import fill_uniform
from efge.parallel import map_ahead
from efge.random import stream_key
from efge.training.corpus import Source
from efge.training.noise import learns_slowly
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


class StartVectors(NamedTuple):
    """Vectors to start from, for some nodes of a graph, instead of random ones."""

    rows: npt.NDArray[np.int64]  # rows of these nodes in the graph
    centers: Floats
    contexts: Floats | None  # None if the contexts are not known
    visits: npt.NDArray[np.int64] | None = None  # of all nodes, to draw negatives by; None for those of the walks

    def digest(self) -> str:
        """Return a hash of all arrays; a run that started from other vectors must not be resumed."""
        hashed = hashlib.sha256()
        for array in self:
            hashed.update(b"none" if array is None else np.ascontiguousarray(array).tobytes())
        return hashed.hexdigest()


def initial_tables(
    walks: Source,
    family: Family,
    settings: Settings,
    copies: int = 0,
    mapped_in: Path | None = None,
    start: StartVectors | None = None,
) -> tuple[Floats, Floats]:
    """Return initial centers, small random numbers around zero, and contexts, zeros; non-negative ones are both random.

    If the settings or the graph ask for it, both are factors of the graph's edges instead, as far as there are any; or
    they are vectors to start from.
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
        elif mapped_in is None:
            # The system provides memory only when it is first written to; during training that would take longer.
            contexts[begin:end] = 0.0

    deque(map_ahead(fill, range(0, n_nodes, _ROWS_PER_CHUNK), walks.threads), maxlen=0)
    if start is None and starts_from_factors(walks.graph, family, settings):
        start = start_from_factors(factor_edges(walks.graph, settings.dim, walks.seed)[:2], family)
    if start is not None:
        centers[start.rows, : settings.dim] = start.centers
        if start.contexts is not None and not settings.softmax:
            contexts[start.rows, : settings.dim] = start.contexts
    return centers, contexts


def starts_from_factors(graph: Graph, family: Family, settings: Settings) -> bool:
    """Return whether training starts from factors of the edges: on request, or where walks would learn slowly."""
    possible = not (family.nonnegative or settings.softmax or settings.partitions)
    if settings.init == "svd" and not possible:
        raise ValueError("init='svd' needs two tables of vectors of any sign, in memory; use init='random'")
    return settings.init == "svd" or (settings.init == "auto" and possible and learns_slowly(graph, family))


def start_from_factors(factors: tuple[Floats, Floats], family: Family) -> StartVectors:
    """Return factors of the edges of nodes that have some; inner products of linked nodes make these edges likely.

    Vectors have length 1. On dense graphs, a few walks from there are better than many from random numbers.
    """
    sources, targets = factors
    # The score of a context is high or, as with the normal family, low.
    score = min(max(0.0, family.bounds[0]), family.bounds[1])
    sign = np.float32(1.0 if family.gradient(1.0, score) > family.gradient(0.0, score) else -1.0)
    linked = np.flatnonzero(sources.any(axis=1))
    return StartVectors(linked, sources[linked], sign * targets[linked])


def _mapped_allocator(folder: Path) -> Callable[..., Floats]:
    def allocate(count: int, dtype: type[np.float32]) -> Floats:
        return np.frombuffer(map_temporary_file(folder, 4 * count), dtype)

    return allocate


def copy_table(table: Floats, folder: Path | None) -> Floats:
    """Return a copy of a table, in memory or in a file of a folder that the system reads and writes as it needs it."""
    # No file can be mapped that has no bytes.
    allocate = np.empty if folder is None or not table.size else _mapped_allocator(folder)
    copy = allocate(table.size, np.float32).reshape(table.shape)
    for begin in range(0, len(table), _ROWS_PER_CHUNK):
        copy[begin : begin + _ROWS_PER_CHUNK] = table[begin : begin + _ROWS_PER_CHUNK]
    return copy


def strip_padding(table: Floats, dim: int) -> Floats:
    """Return the same rows without their padding, moved in place: a copy might not fit into memory."""
    flat, rows = table.reshape(-1), len(table)
    for begin in range(0, rows if dim < table.shape[1] else 0, _ROWS_PER_CHUNK):
        chunk = table[begin : begin + _ROWS_PER_CHUNK, :dim].copy()
        flat[begin * dim : begin * dim + chunk.size] = chunk.reshape(-1)
    return flat[: rows * dim].reshape(rows, dim)
