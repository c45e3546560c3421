"""Training in parts: who is in which part, what a wave of walks becomes, and what is done with one bucket of it.

Nodes are split into parts, and with them both tables. A wave of walks is routed into buckets, one for each pair of a
part of centers and a part of contexts; buckets that share no part can be trained anywhere, in any order, at once. All
that is done here is a function of the graph, the settings, the seed and the number of parts, never of who does it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError
from efge.families.base import Family
from efge.families.tables import cubics
from efge.graph.graph import Graph
from efge.kernels import sgd_partitioned as kernel
from efge.kernels import sgd_step as steps
from efge.kernels.random import alias_tables
from efge.kernels.sgd import CENTERS_A_POOL
from efge.kernels.simd import CHUNK
from efge.kernels.walks import shuffle
from efge.random import stream_key
from efge.training.monitor import Alias
from efge.training.settings import Settings
from efge.training.trainer import Floats, aligned, negatives_together, noise_weights, pool_size
from efge.training.workers import Threads
from efge.walks.strategies import Stepper
from efge.walks.walks import Round, Walks, round_of

Integers = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64]
Number = TypeVar("Number", bound=np.generic)

# A training has so many waves at least, if each has so many walks from every node: within a wave a center meets its
# contexts cell by cell, and the fewer at a time, the less that matters, but the more often are parts fetched. A wave's
# pairs are at most so many times a table's entries, so that a row of its buckets takes the room of as many parts; or as
# many as are no trouble anywhere.
_LEAST_WAVES, _WALKS_A_WAVE, _PAIRS_AN_ENTRY, _FEW_PAIRS = 30, 8 / 3, 2, 1 << 22
# The first wave is so many times smaller than most, and each twice the one before until they are as large: vectors take
# their common direction early, and in large waves each pair of parts would take one of its own, which stays with them.
_GROWING = 32
# Positions of walks that are made and kept together: so many for each node, within bounds.
_PIECE, _LEAST_PIECE, _MOST_PIECE = 2, 1 << 16, 1 << 21
# What a center meets of one part in a record is so many times what it meets in a walk; then it observes some 32 rows.
_LARGER = 4 / 3
# Cells of a part, at least; and of all parts, at least. Each is a power of two.
_LEAST_CELLS, _ALL_CELLS = 2, 16
# Nodes that walks visit so many times more often than others on average are given to parts first.
_HEAVY = 4
# Codes of nodes have so many bits.
_CODE_BITS = 31


class Piece(NamedTuple):
    """Some consecutive walks of an epoch: as many of them, from the one with the number `first` on."""

    epoch: int
    first: int
    walks: int


class CodedWalks(NamedTuple):
    """Walks over codes of nodes; walk w is ``codes[offsets[w]:offsets[w + 1]]``."""

    codes: Integers
    offsets: Integers


@dataclass(frozen=True)
class Walker:
    """Makes walks by their numbers, without names of nodes and without the walks before: all that a worker needs."""

    stepper: Stepper
    n_nodes: int
    dtype: np.dtype[np.signedinteger[npt.NBitBase]]
    walk_length: int
    seed: int

    @classmethod
    def of(cls, walks: Walks) -> Walker:
        """The one that makes these walks."""
        dtype = walks.graph.indices.dtype
        return cls(walks._stepper, walks.graph.n_nodes, dtype, int(walks.walk_length), walks.seed)

    def walks(self, piece: Piece) -> Round:
        """The walks of a piece."""
        starts, begin = np.empty(piece.walks, self.dtype), 0
        while begin < piece.walks:
            number, skipped = divmod(piece.first + begin, self.n_nodes)
            order = np.empty(self.n_nodes, self.dtype)
            shuffle(stream_key(self.seed, piece.epoch, f"pass {number}"), order)
            some = order[skipped : skipped + piece.walks - begin]
            starts[begin : begin + len(some)] = some
            begin += len(some)
        walks, lengths = np.empty((len(starts), self.walk_length), self.dtype), np.empty(len(starts), np.int32)
        self.stepper.walk(starts, stream_key(self.seed, piece.epoch, "walks"), piece.first, walks, lengths)
        return round_of(walks, lengths)


def waves_of(walks: Walks, settings: Settings) -> list[list[Piece]]:
    """The pieces of each wave: as many walks in each, and as many waves as bound what a wave takes."""
    length, nodes = int(walks.walk_length), walks.graph.n_nodes
    reach = min(int(settings.window), length - 1)
    an_epoch = nodes * int(walks.walks_per_node)
    total = an_epoch * int(settings.epochs)
    pairs = total * (2 * reach * length - reach * (reach + 1))
    most = max(_PAIRS_AN_ENTRY * nodes * _width(settings.dim), _FEW_PAIRS)
    passes = int(walks.walks_per_node) * int(settings.epochs)
    count = max(math.ceil(pairs / most), min(_LEAST_WAVES, math.ceil(passes / _WALKS_A_WAVE)), 1)
    size = max(1, min(max(_PIECE * nodes, _LEAST_PIECE), _MOST_PIECE) // length)
    grown = np.cumsum(np.minimum(2.0 ** np.arange(count + (_GROWING - 1).bit_length()) / _GROWING, 1.0))
    bounds = [0, *(total * (grown / grown[-1])).astype(np.int64).tolist()]
    return [list(_pieces(begin, end, an_epoch, size)) for begin, end in pairwise(bounds)]


def _pieces(begin: int, end: int, an_epoch: int, size: int) -> Iterator[Piece]:
    while begin < end:
        epoch, first = divmod(begin, an_epoch)
        count = min(end - begin, an_epoch - first, size)
        yield Piece(epoch, first, count)
        begin += count


def _width(dim: int) -> int:
    return math.ceil(dim / CHUNK) * CHUNK


def census(walker: Walker, pieces: Iterable[Piece], window: int) -> tuple[Counts, int]:
    """How often walks visit each node, and how many pairs of a center and a context they have."""
    visits, pairs = np.zeros(walker.n_nodes, np.int64), 0
    for piece in pieces:
        some = walker.walks(piece)
        np.add.at(visits, some.nodes, 1)
        length = np.diff(some.offsets)
        reach = np.minimum(window, np.maximum(length - 1, 0))
        pairs += int((2 * reach * length - reach * (reach + 1)).sum())
    return visits, pairs


@dataclass(frozen=True)
class Parts:
    """Who is where: each node's code, ``cell << shift | row``, and the nodes in the order of cells and their rows.

    A part is as many cells that follow each other as all parts have; cells of a part are trained at once.

    Nodes are given to cells by how often walks visit them, so that cells have as much work, not as many nodes; and
    those that are near to each other go to different cells, so that a cell is like the whole graph.
    """

    codes: Integers
    nodes: Integers
    cell_starts: Counts
    shift: int
    cells: int

    @classmethod
    def of(cls, graph: Graph, visits: Counts, count: int) -> Parts:
        """As many parts as asked for: the most frequent nodes first, then neighbor by neighbor, to the least loaded."""
        nearby = np.empty(len(visits), np.int64)
        kernel.depth_first(graph.indptr, graph.indices, nearby)
        heavy = visits[nearby] > _HEAVY * visits.mean() if len(visits) else np.zeros(0, bool)
        first = nearby[heavy]
        order = np.concatenate([first[np.argsort(-visits[first], kind="stable")], nearby[~heavy]])
        rows = np.empty(len(visits), np.int32)
        cells = _cells_a_part(count)
        cell_of, sizes = kernel.share_out(order, visits, count * cells, rows)
        shift = max(1, int(sizes.max(initial=1) - 1).bit_length())
        if (count * cells - 1).bit_length() + shift > _CODE_BITS:
            raise GraphError(f"{len(visits):,} nodes in {count} parts have no codes of {_CODE_BITS} bits; take fewer")
        codes = (cell_of << shift) | rows
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return cls(codes, np.argsort(codes).astype(np.int32), starts, shift, cells)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def starts(self) -> Counts:
        """Where each part begins in a table of all parts, one after the other, and the end of the last."""
        return self.cell_starts[:: self.cells]

    def size(self, part: int) -> int:
        """How many nodes a part has."""
        return int(self.starts[part + 1] - self.starts[part])

    def places(self, nodes: Counts) -> Counts:
        """Where nodes are in a table of all parts, one after the other."""
        codes = self.codes[nodes]
        places: Counts = self.cell_starts[codes >> self.shift] + (codes & ((1 << self.shift) - 1))
        return places

    def members(self, part: int) -> Integers:
        """The nodes of a part, in the order of its rows."""
        return self.nodes[self.starts[part] : self.starts[part + 1]]


def _cells_a_part(parts: int) -> int:
    """As many cells as let threads share a bucket; with many parts, few, as each makes a center's records smaller."""
    cells = _LEAST_CELLS
    while cells * parts < _ALL_CELLS:
        cells *= 2
    return cells


@dataclass(frozen=True)
class Brief:
    """All that training a bucket needs to know besides the tables and the bucket; the same for all of them.

    A part has `cells` cells; where each begins, and the end of the last, is in `cell_starts`.
    `shares` says how many negatives there are in each cell for one pair; each is observed `weight` times.
    `group` pairs of a center are together at most. About `served` rows are observed with one pool of negatives.
    """

    seed: int
    dim: int
    window: int
    cells: int
    cell_starts: Counts
    shift: int
    shares: npt.NDArray[np.float64]
    weight: int
    pool: int
    group: int
    served: int
    slopes: Floats
    floor: float
    bounds: tuple[float, float]
    rates: tuple[float, float]
    pairs: int
    nonnegative: bool

    @property
    def width(self) -> int:
        """Entries of a row of a table, of which the first are the vector."""
        return _width(self.dim)


def brief_of(parts: Parts, visits: Counts, pairs: int, seed: int, family: Family, settings: Settings) -> Brief:
    """What follows from the graph and the settings for every bucket."""
    together = negatives_together(settings)
    around = pairs / max(int(visits.sum()), 1)
    weights = noise_weights(visits, settings.noise_power)[parts.nodes]
    masses = np.diff(np.concatenate([[0.0], np.cumsum(weights)])[parts.cell_starts])
    return Brief(
        seed=seed,
        dim=int(settings.dim),
        window=int(settings.window),
        cells=parts.cells,
        cell_starts=parts.cell_starts,
        shift=parts.shift,
        shares=settings.negatives * masses / max(masses.sum(), 1e-300) / together,
        weight=together,
        pool=pool_size(settings, around, len(visits)),
        group=max(1, round(_LARGER * around * len(masses))),
        served=max(1, round(CENTERS_A_POOL * around * (1 + settings.negatives / together))),
        slopes=cubics(family, "slope"),
        floor=0.0 if family.nonnegative else -np.inf,
        bounds=(float(family.bounds[0]), float(family.bounds[1])),
        rates=(float(settings.learning_rate), float(settings.min_learning_rate)),
        pairs=pairs,
        nonnegative=family.nonnegative,
    )


def noise_of(parts: Parts, visits: Counts, power: float, part: int) -> Alias:
    """What the negatives of each cell of a part are drawn by: the noise of all nodes, restricted to it."""
    weights = noise_weights(visits[parts.members(part)], power)
    keep, other = np.zeros(len(weights), np.uint32), np.zeros(len(weights), np.int32)
    alias_tables(_cells_of(part, parts).astype(np.uint64), weights, keep, other)
    return keep, other


def _cells_of(part: int, whole: Parts | Brief) -> Counts:
    """Where the cells of a part begin in it, and the end of the last."""
    starts = whole.cell_starts[part * whole.cells : (part + 1) * whole.cells + 1]
    within: Counts = starts - starts[0]
    return within


def first_tables(nodes: Integers, brief: Brief) -> tuple[Floats, Floats]:
    """A part's centers and contexts as they begin, each row as it would in a table of all nodes."""
    nodes, (centers, contexts) = _fixed(nodes), (aligned(len(nodes), brief.dim) for _ in range(2))
    keys = [stream_key(brief.seed, 0, purpose) for purpose in ("centers", "contexts")]
    if brief.nonnegative:
        kernel.spread_rows(keys[0], nodes, centers, brief.dim, 0.0, brief.dim**-0.5)
        kernel.spread_rows(keys[1], nodes, contexts, brief.dim, 0.0, brief.dim**-0.5)
    else:
        kernel.spread_rows(keys[0], nodes, centers, brief.dim, -0.5 / brief.dim, 0.5 / brief.dim)
    return centers, contexts


def coded_walks(walker: Walker, piece: Piece, codes: Integers) -> CodedWalks:
    """The walks of a piece over codes of nodes."""
    some = walker.walks(piece)
    return CodedWalks(codes[some.nodes], some.offsets.astype(np.int32))


def route(part: int, wave: int, walked: Iterable[CodedWalks], brief: Brief) -> list[Integers]:
    """The buckets of one part of centers with all parts of contexts, from all walks of a wave.

    What walks say of one center is put together and cut into groups; a group has a record in every cell where it has
    contexts or negatives. Groups stand in a random order, the same in all cells. The walks are gone through twice.
    """
    cells, part_shift = brief.cells, brief.shift + brief.cells.bit_length() - 1
    pairs = np.zeros(1 << part_shift, np.int64)
    for some in walked:
        kernel.count_pairs(_fixed(some.codes), _fixed(some.offsets), brief.window, part, part_shift, pairs)
    ends = np.cumsum(pairs) - pairs
    contexts = np.empty(int(pairs.sum()), np.int32)
    for some in walked:
        kernel.collect_pairs(_fixed(some.codes), _fixed(some.offsets), brief.window, part, part_shift, ends, contexts)
    centers, begins = _groups(pairs, brief.group)
    order = np.empty(len(centers), np.int64)
    shuffle(stream_key(brief.seed, wave, f"groups of part {part}"), order)
    key = stream_key(brief.seed, wave, f"numbers of negatives of part {part}")
    fixed = order, centers, begins, contexts, brief.shift, _fixed(brief.shares), key
    sizes = np.zeros((cells, len(brief.shares), 2), np.int64)
    kernel.size_buckets(*fixed, sizes)
    # Buckets of a part of contexts after those of another; in one, a cell of centers after another.
    sizes = np.ascontiguousarray(sizes.reshape(cells, -1, cells, 2).swapaxes(0, 1))
    lengths = kernel.HEAD * sizes[..., 0] + sizes[..., 1]
    bounds = np.concatenate([[0], np.cumsum(sizes[0].size + lengths.sum((1, 2)))])
    buckets = np.empty(bounds[-1], np.int32)
    within = (np.cumsum(lengths.reshape(len(lengths), -1), axis=1).reshape(lengths.shape) - lengths) + sizes[0].size
    heads = within + bounds[:-1, None, None]
    for bucket, begin in zip(sizes, bounds, strict=False):
        buckets[begin : begin + bucket.size] = bucket.reshape(-1)
    heads, places = (
        np.ascontiguousarray(at.swapaxes(0, 1)).reshape(cells, -1)
        for at in (heads, heads + kernel.HEAD * sizes[..., 0])
    )
    kernel.fill_buckets(*fixed, heads, places, buckets)
    return [buckets[begin:end] for begin, end in pairwise(bounds.tolist())]


def _groups(pairs: Counts, most: int) -> tuple[Integers, Counts]:
    """Centers of groups and where their pairs begin, and the end of the last: a center's groups are of one size."""
    groups = np.where(pairs > 0, np.maximum(1, (pairs + most // 2) // most), 0)
    centers = np.repeat(np.arange(len(pairs)), groups)
    number = np.arange(len(centers)) - np.repeat(np.cumsum(groups) - groups, groups)
    firsts = (np.cumsum(pairs) - pairs)[centers]
    begins = firsts + pairs[centers] * number // np.maximum(groups[centers], 1)
    return centers.astype(np.int32), np.append(begins, pairs.sum())


class Bucket(NamedTuple):
    """Which bucket: wave and sub-wave, parts of centers and of contexts; pairs before the wave, and in it."""

    wave: int
    turn: int
    centers: int
    contexts: int
    pairs_before: int
    pairs: int


def sub_waves(wave: int, parts: int, seed: int) -> list[list[tuple[int, int]]]:
    """The parts of centers and contexts of each bucket, sub-wave after sub-wave; in one, no part occurs twice.

    Parts are renumbered by random orders of the wave's own; then sub-wave s has (i, (i + s) mod P) for each i.
    """
    centers, contexts = np.empty(parts, np.int64), np.empty(parts, np.int64)
    shuffle(stream_key(seed, wave, "order of parts of centers"), centers)
    shuffle(stream_key(seed, wave, "order of parts of contexts"), contexts)
    return [[(int(centers[i]), int(contexts[(i + s) % parts])) for i in range(parts)] for s in range(parts)]


def _fixed(array: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """The array as one that is only read, as all are that come from elsewhere: kernels compile once for both."""
    view = array.view()
    view.flags.writeable = False
    return view


def start_bucket(
    which: Bucket, data: Integers, tables: tuple[Floats, Floats], noise: Alias, brief: Brief, threads: Threads
) -> Callable[[], bool]:
    """Let a part of centers and one of contexts be trained by the bucket of both, after what was started before.

    There are no more threads than a part has cells: others would begin with the next bucket too soon.
    What comes back waits for it, and says whether all is finite. If it is not, both are left as they were when it
    happened.
    """
    parts, most = len(brief.shares) // brief.cells, max(brief.pairs, 1)
    begin, end = (
        brief.rates[0] - (brief.rates[0] - brief.rates[1]) * (which.pairs_before + share * which.pairs) / most
        for share in ((which.turn + i) / parts for i in (0, 1))
    )
    low, high = brief.bounds
    scale = (brief.slopes.shape[1] - 1) / (high - low)
    fall = (begin - end) / brief.cells
    plan = kernel.Plan(float(brief.weight), brief.pool, brief.served, begin, fall, brief.floor, low, scale)
    cells = _fixed(_cells_of(which.centers, brief)), _fixed(_cells_of(which.contexts, brief))
    model = kernel.Tables(*tables, *cells, _fixed(brief.slopes), _fixed(noise[0]), _fixed(noise[1]))
    key = stream_key(brief.seed, which.wave, f"negatives of {which.centers} and {which.contexts}")
    data, signals = _fixed(data), np.zeros(steps.SIGNALS + brief.cells, np.int64)
    wait = threads.start(lambda thread, count: kernel.train(thread, count, data, key, model, plan, signals), signals)

    def finished() -> bool:
        wait()
        return not signals[steps.BROKEN]

    return finished
