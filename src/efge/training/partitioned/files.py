"""Files of partitioned training: tables, walks and buckets on disk, and the partitions that are in memory."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.io.scratch import map_file, name_folder, scratch_folder
from efge.training.checkpoints import Table
from efge.training.partitioned.buckets import EncodedWalks
from efge.training.partitioned.partitioning import Integers, Partitioning
from efge.training.tables import Floats, allocate_table

# The two tables, by their position in pairs of anything.
CENTERS, CONTEXTS = 0, 1


class ArrayFile:
    """A file of arrays with entries of four bytes, read and written at offsets that count entries."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("w+b", buffering=0)
        # The user knows the folder in which the temporary one was made.
        self._errors = partial(name_folder, path.parent.parent)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def write(self, array: npt.NDArray[Any], offset: int) -> None:
        """Write an array at an offset."""
        self._file.seek(4 * offset)
        remaining = array.reshape(-1).view(np.uint8)
        with self._errors("cannot write to a temporary file in the folder"):
            while len(remaining):
                remaining = remaining[self._file.write(remaining.data) :]

    def read(self, array: npt.NDArray[Any], offset: int) -> None:
        """Fill an array from an offset on."""
        self._file.seek(4 * offset)
        remaining = array.reshape(-1).view(np.uint8)
        with self._errors("cannot read from a temporary file in the folder"):
            while len(remaining):
                count = self._file.readinto(remaining.data)
                if not count:
                    raise OSError(errno.EIO, "the file is shorter than what was written to it")
                remaining = remaining[count:]


class WalkFile:
    """The walks of a wave in a file, which is read again each time they are iterated over."""

    def __init__(self, file: ArrayFile) -> None:
        self.file = file
        self.sizes: list[tuple[int, int]] = []
        self.end = 0

    def append(self, walks: EncodedWalks) -> None:
        """Write further walks after those before."""
        self.sizes.append((len(walks.codes), len(walks.offsets)))
        for array in walks:
            self.file.write(array, self.end)
            self.end += len(array)

    def __iter__(self) -> Iterator[EncodedWalks]:
        offset = 0
        for codes, offsets in self.sizes:
            data = np.empty(codes + offsets, np.int32)
            self.file.read(data, offset)
            offset += len(data)
            yield EncodedWalks(data[:codes], data[codes:])


class TableFiles(NamedTuple):
    """The centers and the contexts, each in a file, partition after partition, in rows of `width` entries."""

    files: tuple[ArrayFile, ArrayFile]
    partitioning: Partitioning
    width: int

    def offset(self, partition: int) -> int:
        """Return the offset of a partition in the file of a table."""
        return int(self.partitioning.starts[partition]) * self.width

    def read(self, table: int, partition: int, rows: Floats) -> None:
        """Fill rows with a partition of a table."""
        self.files[table].read(rows, self.offset(partition))

    def write(self, table: int, partition: int, rows: Floats) -> None:
        """Write a partition of a table."""
        self.files[table].write(rows, self.offset(partition))

    def mapped(self, table: int) -> Floats:
        """Return a table mapped from its file."""
        shape = len(self.partitioning.codes), self.width
        return np.memmap(self.files[table].path, np.float32, "r+", shape=shape) if shape[0] else np.empty(shape, "f4")


class _LoadedPartition(NamedTuple):
    number: int
    rows: Floats


class PartitionBuffers:
    """At most two partitions of each table in memory: one in training, and one being written back or read ahead.

    A background thread calls `fetch` while a bucket trains; then `advance` makes the fetched partitions current.
    """

    def __init__(self, tables: TableFiles, dim: int, buckets: ArrayFile, bucket_bounds: list[int]) -> None:
        self.tables = tables
        self.buckets = buckets
        self.bucket_bounds = bucket_bounds
        # Allocated once per wave: freeing and allocating partition by partition would add up to more memory.
        partitioning = tables.partitioning
        rows = max(partitioning.size(partition) for partition in range(len(partitioning)))
        self.buffers = [[allocate_table(rows, dim, np.empty) for _ in range(2)] for _ in (CENTERS, CONTEXTS)]
        self.current: list[_LoadedPartition | None] = [None, None]
        self.next: list[_LoadedPartition | None] = [None, None]
        self.previous: list[_LoadedPartition | None] = [None, None]

    def fetch(self, partitions: tuple[int, int] | None) -> Integers:
        """Write the previous partitions back, read those of the next bucket that are not loaded, and return its data.

        If no bucket follows, `partitions` is None, and the data is empty.
        """
        self._write_back()
        if partitions is None:
            return np.empty(0, np.int32)
        for table, partition in enumerate(partitions):
            current = self.current[table]
            if current is None or current.number != partition:
                self.next[table] = self._read(table, partition)
        return self._read_bucket(partitions)

    def advance(self) -> tuple[Floats, Floats]:
        """Make the partitions that were fetched the current ones, and return their rows."""
        for table in (CENTERS, CONTEXTS):
            if self.next[table] is not None:
                self.previous[table], self.current[table] = self.current[table], self.next[table]
                self.next[table] = None
        centers, contexts = self.current
        assert centers is not None
        assert contexts is not None
        return centers.rows, contexts.rows

    def flush(self) -> None:
        """Write back all partitions."""
        self._write_back()
        self.previous, self.current = self.current, [None, None]
        self._write_back()

    def _read(self, table: int, partition: int) -> _LoadedPartition:
        # The other of the two buffers is in training; what was in this one has been written back.
        self.buffers[table].reverse()
        rows = self.buffers[table][0][: self.tables.partitioning.size(partition)]
        self.tables.read(table, partition, rows)
        return _LoadedPartition(partition, rows)

    def _read_bucket(self, partitions: tuple[int, int]) -> Integers:
        number = partitions[0] * len(self.tables.partitioning) + partitions[1]
        begin, end = self.bucket_bounds[number : number + 2]
        data = np.empty(end - begin, np.int32)
        self.buckets.read(data, begin)
        return data

    def _write_back(self) -> None:
        for table, loaded in enumerate(self.previous):
            if loaded is not None:
                self.tables.write(table, loaded.number, loaded.rows)
        self.previous = [None, None]


def gather_rows(path: Path, partitioning: Partitioning, partitions: Iterable[Table]) -> Floats:
    """Return a table in the order of the graph's nodes, mapped from a file, given the vectors of its partitions."""
    table: Floats = np.empty((0, 1), np.float32)
    for partition, rows in enumerate(partitions):
        if not partition:
            shape = len(partitioning.codes), rows.shape[1]
            if shape[0]:
                table = np.frombuffer(map_file(path, 4 * shape[0] * shape[1]), np.float32).reshape(shape)
            else:
                table = np.empty(shape, np.float32)
        table[partitioning.members(partition)] = rows
    return table


def partition_folder(workdir: str | os.PathLike[str] | None) -> AbstractContextManager[Path]:
    """Return a temporary folder for partitions in a folder, which is made for this user alone if it does not exist."""
    folder = Path(workdir or tempfile.gettempdir())
    if not folder.is_dir():
        folder.mkdir(0o700, parents=True, exist_ok=True)
    return scratch_folder(folder, "partitions")
