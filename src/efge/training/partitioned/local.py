"""The engine that trains tables larger than memory on one machine, with partitions and buckets in files.

While a bucket trains, a background thread writes the partitions of the previous bucket back and reads those of the
next.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import pairwise
from types import TracebackType

import numpy as np

from efge.training.checkpoints import Table
from efge.training.partitioned.buckets import encode_walks, initial_tables, route_pairs, start_bucket
from efge.training.partitioned.driver import DivergedError, PartitionedRun
from efge.training.partitioned.files import (
    CENTERS,
    CONTEXTS,
    ArrayFile,
    PartitionBuffers,
    TableFiles,
    WalkFile,
    gather_rows,
    partition_folder,
)
from efge.training.partitioned.partitioning import Counts
from efge.training.partitioned.schedule import Walker, Waves, count_visits, sub_waves
from efge.training.tables import Floats
from efge.training.workers import Threads


class LocalEngine:
    """Partitions and buckets in files of a temporary folder; at most two partitions of each table are in memory."""

    def __init__(self, workdir: str | os.PathLike[str] | None, threads: int) -> None:
        self._workdir = workdir
        self._max_threads = threads

    def __enter__(self) -> LocalEngine:
        with ExitStack() as stack:
            # The result is mapped from files in this folder; it stays readable after they are removed where the system
            # allows that, and removal is skipped where it does not.
            self.folder = stack.enter_context(partition_folder(self._workdir))
            self._cleanup = stack
            self._centers, self._contexts, self._walks, self._buckets = map(
                self._create_file, ("centers", "contexts", "walks", "buckets")
            )
            self._background = stack.enter_context(ThreadPoolExecutor(1))
            self._cleanup = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cleanup.close()

    def _create_file(self, name: str) -> ArrayFile:
        file = ArrayFile(self.folder / name)
        self._cleanup.callback(file.close)
        return file

    def count_visits(self, walker: Walker, waves: Waves, window: int) -> tuple[Counts, list[int]]:
        """Return how often all walks visit each node, and the number of pairs of each wave."""
        return count_visits(walker, waves, window)

    def begin(self, run: PartitionedRun) -> None:
        """Create the initial partitions of both tables."""
        self.run = run
        self._threads = self._cleanup.enter_context(
            Threads(min(self._max_threads, run.partitioning.cells_per_partition))
        )
        self._tables = TableFiles((self._centers, self._contexts), run.partitioning, run.config.width)
        self._noise = [run.noise(partition) for partition in range(len(run.partitioning))]
        for partition in range(len(run.partitioning)):
            for table, rows in enumerate(initial_tables(run.partitioning.members(partition), run.config)):
                self._tables.write(table, partition, rows)

    def train(self, wave: int) -> Iterator[float]:
        """Train a wave, and yield the fraction of it that is done after each bucket."""
        bounds = self._route(wave)
        order = list(_sweep(sub_waves(wave, len(self.run.partitioning), self.run.config.seed)))
        # Buffers are allocated only now that the memory for routing is free again.
        buffers = PartitionBuffers(self._tables, self.run.config.dim, self._buckets, bounds)
        fetching = self._background.submit(buffers.fetch, order[0][1])
        running: Callable[[], bool] | None = None
        for number, (sub_wave, partitions) in enumerate(order):
            data = fetching.result()
            tables = buffers.advance()
            bucket, noise = self.run.bucket(wave, sub_wave, partitions), self._noise[partitions[1]]
            # The new bucket waits for the one before: threads go from one to the next without a pause.
            started = start_bucket(bucket, data, tables, noise, self.run.config, self._threads)
            finite = running is None or running()
            running = started
            if not finite:
                break
            upcoming = order[number + 1][1] if number + 1 < len(order) else None
            fetching = self._background.submit(buffers.fetch, upcoming)
            yield number / len(order)
        finite &= running is not None and running()
        fetching.result()
        buffers.flush()
        if not finite:
            raise DivergedError
        yield 1.0

    def _route(self, wave: int) -> list[int]:
        """Write the buckets of a wave, ordered by partition of centers, then of contexts; return their offsets."""
        run = self.run
        walks = WalkFile(self._walks)
        for walk_range in run.waves[wave]:
            walks.append(encode_walks(run.walker, walk_range, run.partitioning.codes))
        bounds = [0]
        for partition in range(len(run.partitioning)):
            for bucket in route_pairs(partition, wave, walks, run.config):
                self._buckets.write(bucket, bounds[-1])
                bounds.append(bounds[-1] + len(bucket))
        return bounds

    def rows(self, table: int, nodes: list[Counts]) -> Iterator[Floats]:
        """Yield the rows of each list of nodes, of the centers or the contexts."""
        mapped = self._tables.mapped(table)
        return (np.asarray(mapped[self.run.partitioning.offsets(chunk)]) for chunk in nodes)

    def saved_tables(self) -> Iterable[Table]:
        """Return the vectors of all partitions one after the other, centers first."""
        return [self._tables.mapped(table)[:, : self.run.config.dim] for table in (CENTERS, CONTEXTS)]

    def restored_tables(self) -> Iterable[Table]:
        """Return the same tables, to be filled: they are mapped from the files."""
        return self.saved_tables()

    def collect(self) -> tuple[Floats, Floats]:
        """Return centers and contexts in the order of the graph's nodes, mapped from files."""
        partitioning, folder = self.run.partitioning, self.folder
        centers, contexts = (
            gather_rows(
                folder / f"all {table}", partitioning, (rows[a:b] for a, b in pairwise(partitioning.starts.tolist()))
            )
            for table, rows in enumerate(self.saved_tables())
        )
        return centers, contexts


def _sweep(schedule: list[list[tuple[int, int]]]) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield the buckets of a wave with their sub-waves, in an order that seldom changes centers, with the same result.

    Bucket (i, j) must follow those of earlier sub-waves that have i or j; no others affect it.
    """
    partitions = len(schedule)
    for i in reversed(range(partitions)):
        yield from ((sub_wave, schedule[sub_wave][i]) for sub_wave in range(partitions - i))
    for i in reversed(range(1, partitions)):
        yield from ((sub_wave, schedule[sub_wave][i]) for sub_wave in range(partitions - i, partitions))
