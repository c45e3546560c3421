"""Buckets: the pairs of a wave between a partition of centers and a partition of contexts, and how one is trained.

`route_pairs` turns the walks of a wave into buckets; `start_bucket` trains two partitions on one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from efge.families.base import Family
from efge.families.tables import spline_table
from efge.kernels import sgd_partitioned as kernel
from efge.kernels import sgd_step as steps
from efge.kernels.random import build_alias_tables, fill_uniform_rows, random_permutation
from efge.kernels.sgd_rows import CENTERS_PER_POOL
from efge.random import stream_key
from efge.training.monitor import AliasTable
from efge.training.noise import contexts_per_group, noise_weights, pool_size
from efge.training.partitioned.partitioning import Counts, Integers, Partitioning, cell_offsets
from efge.training.partitioned.schedule import Bucket, Walker, WalkRange
from efge.training.settings import Settings
from efge.training.tables import Floats, allocate_table, padded_width
from efge.training.workers import Threads
from efge.walks.walks import Walks

Number = TypeVar("Number", bound=np.generic)

# The contexts of a center in a record, relative to its contexts in one walk; a record then observes about 32 rows.
_CONTEXTS_PER_RECORD = 4 / 3


class EncodedWalks(NamedTuple):
    """Walks over codes of nodes; walk w is ``codes[offsets[w]:offsets[w + 1]]``."""

    codes: Integers
    offsets: Integers


@dataclass(frozen=True)
class BucketConfig:
    """Everything that training a bucket depends on, besides the tables and the bucket; the same for all buckets."""

    seed: int
    dim: int
    window: int
    cells_per_partition: int
    cell_starts: Counts  # int64[cells + 1], offset of each cell in a table of all partitions, and the end
    row_bits: int  # bits of a code that hold the row in a cell
    negatives_per_pair: npt.NDArray[np.float64]  # float64[cells], negatives in each cell for one pair
    negative_weight: int  # number of times that a negative is observed
    pool_size: int  # negatives in a pool
    group_size: int  # pairs of a center in a group, about
    rows_per_pool: int  # rows observed with one pool of negatives, about
    gradients: Floats  # spline table of the family's gradient
    floor: float  # lower bound of the entries of vectors
    bounds: tuple[float, float]  # of scores
    nonnegative: bool

    @property
    def width(self) -> int:
        """Entries of a row of a table; the first `dim` are the vector."""
        return padded_width(self.dim)

    @property
    def n_partitions(self) -> int:
        """Number of partitions of each table."""
        return len(self.negatives_per_pair) // self.cells_per_partition


def make_bucket_config(
    partitioning: Partitioning, visits: Counts, total_pairs: int, walks: Walks, family: Family, settings: Settings
) -> BucketConfig:
    """Return what follows from the graph and the settings for every bucket."""
    together = contexts_per_group(settings, walks.graph, family)
    pairs_per_center = total_pairs / max(int(visits.sum()), 1)
    weights = noise_weights(visits, settings.noise_power)[partitioning.nodes]
    cell_weights = np.diff(np.concatenate([[0.0], np.cumsum(weights)])[partitioning.cell_starts])
    return BucketConfig(
        seed=walks.seed,
        dim=int(settings.dim),
        window=int(settings.window),
        cells_per_partition=partitioning.cells_per_partition,
        cell_starts=partitioning.cell_starts,
        row_bits=partitioning.row_bits,
        negatives_per_pair=settings.negatives * cell_weights / max(cell_weights.sum(), 1e-300) / together,
        negative_weight=together,
        pool_size=pool_size(settings, pairs_per_center, len(visits), together),
        group_size=max(1, round(_CONTEXTS_PER_RECORD * pairs_per_center * len(cell_weights))),
        rows_per_pool=max(1, round(CENTERS_PER_POOL * pairs_per_center * (1 + settings.negatives / together))),
        gradients=spline_table(family, "gradient"),
        floor=0.0 if family.nonnegative else -np.inf,
        bounds=(float(family.bounds[0]), float(family.bounds[1])),
        nonnegative=family.nonnegative,
    )


def partition_noise(partitioning: Partitioning, visits: Counts, power: float, partition: int) -> AliasTable:
    """Return alias tables of the noise distribution restricted to each cell of a partition."""
    weights = noise_weights(visits[partitioning.members(partition)], power)
    prob, alias = np.zeros(len(weights), np.uint32), np.zeros(len(weights), np.int32)
    offsets = cell_offsets(partition, partitioning.cell_starts, partitioning.cells_per_partition)
    build_alias_tables(offsets.astype(np.uint64), weights, prob, alias)
    return prob, alias


def initial_tables(nodes: Integers, config: BucketConfig) -> tuple[Floats, Floats]:
    """Return the initial centers and contexts of a partition; each row is the same as in a table of all nodes."""
    nodes, (centers, contexts) = _read_only(nodes), (allocate_table(len(nodes), config.dim) for _ in range(2))
    keys = [stream_key(config.seed, 0, purpose) for purpose in ("centers", "contexts")]
    if config.nonnegative:
        fill_uniform_rows(keys[0], nodes, centers, config.dim, 0.0, config.dim**-0.5)
        fill_uniform_rows(keys[1], nodes, contexts, config.dim, 0.0, config.dim**-0.5)
    else:
        fill_uniform_rows(keys[0], nodes, centers, config.dim, -0.5 / config.dim, 0.5 / config.dim)
    return centers, contexts


def encode_walks(walker: Walker, walk_range: WalkRange, codes: Integers) -> EncodedWalks:
    """Return the walks of a range over codes of nodes."""
    batch = walker.walks(walk_range)
    return EncodedWalks(codes[batch.nodes], batch.offsets.astype(np.int32))


def route_pairs(partition: int, wave: int, walks: Iterable[EncodedWalks], config: BucketConfig) -> list[Integers]:
    """Return the buckets of one partition of centers with each partition of contexts, from all walks of a wave.

    The pairs of a center in all walks are collected and cut into groups; a group has a record in every cell where it
    has contexts or negatives. Groups are in a random order, the same in all cells. The walks are iterated over twice.
    """
    pairs, contexts = _collect_contexts(partition, walks, config)
    centers, group_starts = _cut_into_groups(pairs, config.group_size)
    order = np.empty(len(centers), np.int64)
    random_permutation(stream_key(config.seed, wave, f"groups of part {partition}"), order)
    key = stream_key(config.seed, wave, f"numbers of negatives of part {partition}")
    negatives_per_pair = _read_only(config.negatives_per_pair)
    groups = order, centers, group_starts, contexts, config.row_bits, negatives_per_pair, key
    cells = config.cells_per_partition
    sizes = np.zeros((cells, len(negatives_per_pair), 2), np.int64)
    kernel.count_records(*groups, sizes)
    bounds, record_offsets, context_offsets, buckets = _lay_out_buckets(sizes, cells)
    kernel.fill_buckets(*groups, record_offsets, context_offsets, buckets)
    return [buckets[begin:end] for begin, end in pairwise(bounds.tolist())]


def _collect_contexts(partition: int, walks: Iterable[EncodedWalks], config: BucketConfig) -> tuple[Counts, Integers]:
    """Return the number of pairs of each center of a partition, and the contexts of all of them, center by center."""
    center_bits = config.row_bits + config.cells_per_partition.bit_length() - 1
    pairs = np.zeros(1 << center_bits, np.int64)
    for codes, offsets in walks:
        kernel.count_pairs(_read_only(codes), _read_only(offsets), config.window, partition, center_bits, pairs)
    ends = np.cumsum(pairs) - pairs
    contexts = np.empty(int(pairs.sum()), np.int32)
    for codes, offsets in walks:
        arrays = _read_only(codes), _read_only(offsets)
        kernel.collect_pairs(*arrays, config.window, partition, center_bits, ends, contexts)
    return pairs, contexts


def _lay_out_buckets(sizes: Counts, cells: int) -> tuple[Counts, Counts, Counts, Integers]:
    """Return where buckets begin, and in them the records and contexts of each pair of cells; and their array.

    `sizes` is int64[cells of centers, cells of all contexts, 2], numbers of records and contexts. A bucket begins with
    its sizes, which are filled in here. Buckets are ordered by the partition of contexts, and within a bucket by the
    cell of centers.
    """
    sizes = np.ascontiguousarray(sizes.reshape(cells, -1, cells, 2).swapaxes(0, 1))
    lengths = kernel.RECORD_SIZE * sizes[..., 0] + sizes[..., 1]
    bounds = np.concatenate([[0], np.cumsum(sizes[0].size + lengths.sum((1, 2)))])
    buckets = np.empty(bounds[-1], np.int32)
    within = (np.cumsum(lengths.reshape(len(lengths), -1), axis=1).reshape(lengths.shape) - lengths) + sizes[0].size
    records = within + bounds[:-1, None, None]
    for bucket_sizes, begin in zip(sizes, bounds, strict=False):
        buckets[begin : begin + bucket_sizes.size] = bucket_sizes.reshape(-1)
    record_offsets, context_offsets = (
        np.ascontiguousarray(offsets.swapaxes(0, 1)).reshape(cells, -1)
        for offsets in (records, records + kernel.RECORD_SIZE * sizes[..., 0])
    )
    return bounds, record_offsets, context_offsets, buckets


def _cut_into_groups(pairs: Counts, group_size: int) -> tuple[Integers, Counts]:
    """Return the center of each group and the offset of its first pair, and the end of the last.

    The groups of a center have the same size, up to rounding.
    """
    groups = np.where(pairs > 0, np.maximum(1, (pairs + group_size // 2) // group_size), 0)
    centers = np.repeat(np.arange(len(pairs)), groups)
    number = np.arange(len(centers)) - np.repeat(np.cumsum(groups) - groups, groups)
    firsts = (np.cumsum(pairs) - pairs)[centers]
    starts = firsts + pairs[centers] * number // np.maximum(groups[centers], 1)
    return centers.astype(np.int32), np.append(starts, pairs.sum())


def start_bucket(
    bucket: Bucket,
    data: Integers,
    tables: tuple[Floats, Floats],
    noise: AliasTable,
    config: BucketConfig,
    threads: Threads,
) -> Callable[[], bool]:
    """Start to train a partition of centers and one of contexts on their bucket, after the buckets started before.

    There must be no more threads than a partition has cells: further ones would begin with the next bucket too early.
    The function that is returned waits for the end, and returns whether all vectors are finite. If not, both tables are
    left as they were when it happened.
    """
    rate, rate_decay = _learning_rates(bucket, config)
    low, high = config.bounds
    scale = (config.gradients.shape[1] - 1) / (high - low)
    pools = (
        float(config.negative_weight),
        config.pool_size,
        config.rows_per_pool,
        steps.MAX_ROWS,
        steps.MAX_OBSERVATIONS,
    )
    sgd_config = kernel.BucketSGDConfig(*pools, rate, rate_decay, config.floor, low, scale)
    center_cells, context_cells = (
        _read_only(cell_offsets(partition, config.cell_starts, config.cells_per_partition))
        for partition in (bucket.centers, bucket.contexts)
    )
    cells = center_cells, context_cells
    model = kernel.Tables(*tables, *cells, _read_only(config.gradients), _read_only(noise[0]), _read_only(noise[1]))
    key = stream_key(config.seed, bucket.wave, f"negatives of {bucket.centers} and {bucket.contexts}")
    data, counters = _read_only(data), np.zeros(steps.N_COUNTERS + config.cells_per_partition, np.int64)
    wait = threads.start(
        lambda thread, count: kernel.train(thread, count, data, key, model, sgd_config, counters), counters
    )

    def finished() -> bool:
        wait()
        return not counters[steps.DIVERGED]

    return finished


def _learning_rates(bucket: Bucket, config: BucketConfig) -> tuple[float, float]:
    """Return the learning rate at the start of a bucket, and by how much it falls with each diagonal of cells."""
    first, last = bucket.first_rate, bucket.last_rate
    begin, end = (first - (first - last) * (bucket.sub_wave + i) / config.n_partitions for i in (0, 1))
    return begin, (begin - end) / config.cells_per_partition


def _read_only(array: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Return a read-only view, as arrays from the object store of a cluster are: kernels compile once for both."""
    view = array.view()
    view.flags.writeable = False
    return view
