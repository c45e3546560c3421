"""The engine that trains partitioned tables on a cluster: the same schedule as on one machine, as Ray tasks.

Making walks, routing pairs and training buckets are tasks; walks, buckets and partitions are objects that tasks pass to
each other, and the driver holds only references to them. The graph is stored once per machine. Ray decides which
machine runs a task and when, and repeats what was lost with a machine; the result does not depend on it.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from types import TracebackType
from typing import Any

import numpy as np

from efge.errors import ClusterError
from efge.system import preserve_handlers
from efge.training.checkpoints import Table
from efge.training.monitor import AliasTable
from efge.training.partitioned.buckets import (
    BucketConfig,
    EncodedWalks,
    encode_walks,
    initial_tables,
    route_pairs,
    start_bucket,
)
from efge.training.partitioned.driver import DivergedError, PartitionedRun
from efge.training.partitioned.files import CENTERS, CONTEXTS, gather_rows, partition_folder
from efge.training.partitioned.partitioning import Counts, Integers
from efge.training.partitioned.schedule import Bucket, Walker, WalkRange, Waves, count_visits, sub_waves
from efge.training.tables import Floats, allocate_table
from efge.training.workers import Threads

# A reference to an object of the cluster, and a function whose calls are tasks there.
Ref = Any
Remote = Callable[..., Any]

# Number of partitions on a cluster, unless the user sets one.
CLUSTER_PARTITIONS = 16
# Number of times that a task is repeated if the process or machine that ran it is lost.
_MAX_RETRIES = 20
# Walks are counted by at most this many tasks, so that few arrays of visits are sent.
_COUNTING_TASKS = 16
_CONNECT_TIMEOUT_SECONDS = 10
# Seconds between two looks at the head node, and until one that does not answer counts as lost. Ray itself would end
# this process after a minute, in its own words and without leaving `fit`.
_LOOK_SECONDS, _LOST_SECONDS = 2.0, 10.0
# Fraction of a machine's object store that the graph and the objects of one task may take.
_USABLE_FRACTION = 0.8


def _initialize(nodes: Integers, config: BucketConfig) -> tuple[Floats, Floats]:
    return initial_tables(nodes, config)


def _walk(walker: Walker, codes: Integers, walk_range: WalkRange) -> EncodedWalks:
    return encode_walks(walker, walk_range, codes)


def _route(partition: int, wave: int, config: BucketConfig, *walks: EncodedWalks) -> list[Integers] | Integers:
    buckets = route_pairs(partition, wave, walks, config)
    return buckets if len(buckets) > 1 else buckets[0]


def _train(
    bucket: Bucket,
    data: Integers,
    centers: Floats,
    contexts: Floats,
    noise: AliasTable,
    config: BucketConfig,
    cores: int,
) -> tuple[Floats, Floats, bool]:
    tables = _writable_copy(centers, config), _writable_copy(contexts, config)
    with Threads(cores) as threads:
        finite = start_bucket(bucket, data, tables, noise, config, threads)()
    return *tables, finite


def _writable_copy(rows: Floats, config: BucketConfig) -> Floats:
    """Return a copy to train, since arrays in the object store are read-only."""
    table = allocate_table(len(rows), config.dim, np.empty)
    table[:] = rows
    return table


def _select(rows: Floats, indices: Counts) -> Floats:
    return rows[indices]


def _vectors(rows: Floats, dim: int) -> Floats:
    return np.ascontiguousarray(rows[:, :dim])


class ClusterEngine:
    """Partitions and buckets as objects of a Ray cluster, at an address or "auto" for the one that runs here."""

    def __init__(self, address: str, workdir: str | os.PathLike[str] | None) -> None:
        self._address = address
        self._workdir = workdir

    def __enter__(self) -> ClusterEngine:
        self._cleanup = ExitStack()
        self._ray = _connect(self._address, self._cleanup)
        self._head, self._next_look = _head_address(self._ray, self._address), 0.0
        self._tasks: dict[Callable[..., Any], Any] = {}
        self._refs: list[list[Ref]] = [[], []]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._refs = [[], []]
        self._cleanup.close()

    def _remote(self, function: Callable[..., Any], returns: int = 1, cores: int = 1) -> Remote:
        """Return the function as a task that is repeated if it is lost, but not if it raises an error."""
        if function not in self._tasks:
            # The first call stores the function on the head node; if that is lost, Ray waits there and never returns.
            self._look_now()
            self._tasks[function] = self._ray.remote(max_retries=_MAX_RETRIES)(function)
        remote: Remote = self._tasks[function].options(num_returns=returns, num_cpus=cores).remote
        return remote

    def _get(self, refs: Any) -> Any:
        """Return the objects behind references; failures of the cluster become a ClusterError."""
        ray = self._ray
        waiting = list(refs) if isinstance(refs, list) else [refs]
        try:
            while waiting:
                waiting = self._wait(waiting)[1]
            return ray.get(refs)
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, MemoryError):
                raise ClusterError(f"a task of the cluster ran out of memory: {error.cause}") from None
            raise error.cause from None
        except ray.exceptions.RayError as error:
            raise ClusterError(f"the cluster lost an object and cannot make it again: {_first_line(error)}") from None

    def _wait(self, refs: list[Ref]) -> tuple[list[Ref], list[Ref]]:
        """Return references whose objects are there, at least one, and the others."""
        done: list[Ref] = []
        while not done:
            self._check_head()
            done, waiting = self._ray.wait(refs, timeout=_LOOK_SECONDS)
        return done, waiting

    def _check_head(self) -> None:
        """Raise an error if the head node has not answered for a while."""
        if time.monotonic() < self._next_look:
            return
        lost_at = time.monotonic() + _LOST_SECONDS
        while (reason := _refusal(self._head)) is not None:
            if time.monotonic() > lost_at:
                raise ClusterError(f"the head node of the cluster, {self._head}, is lost: {reason}")
            time.sleep(1)
        self._next_look = time.monotonic() + _LOOK_SECONDS

    def count_visits(self, walker: Walker, waves: Waves, window: int) -> tuple[Counts, list[int]]:
        """Return how often all walks visit each node, and the number of pairs of each wave."""
        self._walker = self._put_graph(walker)
        count = self._remote(count_visits)
        size = -(-len(waves) // _COUNTING_TASKS)
        refs = [count(self._walker, waves[first : first + size], window) for first in range(0, len(waves), size)]
        visits, pairs = np.zeros(walker.n_nodes, np.int64), []
        for ref in refs:
            task_visits, task_pairs = self._get(ref)
            visits += task_visits
            pairs += task_pairs
        return visits, pairs

    def _put_graph(self, walker: Walker) -> Ref:
        self._graph_bytes = sum(array.nbytes for array in walker.stepper.tables)
        smallest = min(self._object_stores(), default=0)
        if self._graph_bytes > _USABLE_FRACTION * smallest:
            raise ClusterError(
                f"each machine of the cluster holds the graph, {_megabytes(self._graph_bytes)}, in its object store;"
                f" the smallest has {_megabytes(smallest)}"
            )
        ref: Ref = self._ray.put(walker)
        return ref

    def _look_now(self) -> None:
        self._next_look = 0.0
        self._check_head()

    def _machines(self) -> list[dict[str, float]]:
        """Return the resources of the machines that can run tasks; the head node is asked for them."""
        self._look_now()
        alive = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        return [node for node in alive if node.get("CPU", 0) >= 1]

    def _object_stores(self) -> list[float]:
        return [machine.get("object_store_memory", 0.0) for machine in self._machines()]

    def _cores_per_bucket(self) -> int:
        """Return the cores for each bucket that can be trained at once, so that few partitions can use many cores."""
        cores = [int(machine["CPU"]) for machine in self._machines()]
        partitioning = self.run.partitioning
        return max(1, min(min(cores), sum(cores) // len(partitioning), partitioning.cells_per_partition))

    def begin(self, run: PartitionedRun) -> None:
        """Create the initial partitions of both tables."""
        self.run = run
        self._check_memory(run)
        ray, partitions = self._ray, range(len(run.partitioning))
        self._config, self._codes = ray.put(run.config), ray.put(run.partitioning.codes)
        self._noise = [ray.put(run.noise(partition)) for partition in partitions]
        initialize = self._remote(_initialize, 2)
        tables = [initialize(run.partitioning.members(partition), self._config) for partition in partitions]
        self._refs = [[pair[table] for pair in tables] for table in (CENTERS, CONTEXTS)]
        self._routed_ahead: tuple[int, list[list[Ref]]] | None = None

    def _check_memory(self, run: PartitionedRun) -> None:
        """Refuse a run whose tasks fit on no machine, since Ray would retry them forever."""
        partitions = len(run.partitioning)
        partition_bytes = 4 * run.config.width * max(map(run.partitioning.size, range(partitions)))
        pair_bytes = 4 * max(run.pairs, default=0)
        walk_bytes = (
            4
            * run.walker.walk_length
            * max((sum(walk_range.n_walks for walk_range in wave) for wave in run.waves), default=0)
        )
        # A bucket task reads and writes two partitions; a routing task has the walks of a wave and its own buckets.
        task_bytes = max(4 * partition_bytes + pair_bytes // partitions**2, walk_bytes + pair_bytes // partitions)
        needed, stores = self._graph_bytes + task_bytes, self._object_stores()
        if not stores:
            raise ClusterError("the cluster has no machine with a core for tasks")
        if needed > _USABLE_FRACTION * min(stores):
            raise ClusterError(
                f"a task with {partitions} partitions and the graph take {_megabytes(needed)} of a machine's object"
                f" store; the smallest has {_megabytes(min(stores))}: use more partitions, or larger machines"
            )

    def train(self, wave: int) -> Iterator[float]:
        """Train a wave while the next one is routed, and yield the fraction that is done after each bucket."""
        tables, finite = self._submit_buckets(wave)
        if wave + 1 < len(self.run.waves):
            self._routed_ahead = wave + 1, self._route(wave + 1)
        waiting = list(finite)
        while waiting:
            done, waiting = self._wait(waiting)
            if not all(self._get(done)):
                raise DivergedError
            yield 1 - len(waiting) / len(finite)
        # Until here, the references to the partitions before the wave are kept: they are the result if it diverges.
        self._refs = tables

    def _submit_buckets(self, wave: int) -> tuple[list[list[Ref]], list[Ref]]:
        """Submit a task for each bucket; return the partitions after the wave, and whether each bucket is finite."""
        run, buckets = self.run, self._take_buckets(wave)
        cores = self._cores_per_bucket()
        train = self._remote(_train, 3, cores)
        centers, contexts = (list(refs) for refs in self._refs)
        finite: list[Ref] = []
        for sub_wave, partitions in enumerate(sub_waves(wave, len(run.partitioning), run.config.seed)):
            for i, j in partitions:
                bucket = run.bucket(wave, sub_wave, (i, j))
                centers[i], contexts[j], is_finite = train(
                    bucket, buckets[i][j], centers[i], contexts[j], self._noise[j], self._config, cores
                )
                finite.append(is_finite)
        return [centers, contexts], finite

    def _take_buckets(self, wave: int) -> list[list[Ref]]:
        """Return the buckets of a wave, routed now unless they were routed ahead."""
        if self._routed_ahead is not None and self._routed_ahead[0] == wave:
            buckets = self._routed_ahead[1]
            self._routed_ahead = None
            return buckets
        return self._route(wave)

    def _route(self, wave: int) -> list[list[Ref]]:
        """Submit the tasks that make the buckets of a wave; return them by partition of centers, then of contexts."""
        run, count = self.run, len(self.run.partitioning)
        walk, route = self._remote(_walk), self._remote(_route, count)
        walks = [walk(self._walker, self._codes, walk_range) for walk_range in run.waves[wave]]
        buckets = [route(partition, wave, self._config, *walks) for partition in range(count)]
        return [[refs] for refs in buckets] if count == 1 else buckets

    def rows(self, table: int, nodes: list[Counts]) -> Iterator[Floats]:
        """Yield the rows of each list of nodes, of the centers or the contexts."""
        partitioning, select = self.run.partitioning, self._remote(_select)
        distinct = np.unique(np.concatenate(nodes))
        offsets = partitioning.offsets(distinct)
        order = np.argsort(offsets)
        cuts = np.searchsorted(offsets[order], partitioning.starts)
        rows = np.empty((len(distinct), self.run.config.width), np.float32)
        refs = [
            select(self._refs[table][partition], offsets[order[begin:end]] - partitioning.starts[partition])
            for partition, (begin, end) in enumerate(pairwise(cuts.tolist()))
        ]
        rows[order] = np.concatenate(self._get(refs))
        return (rows[np.searchsorted(distinct, chunk)] for chunk in nodes)

    def saved_tables(self) -> Iterable[Table]:
        """Return the vectors of all partitions one after the other, centers first; one of them is here at a time."""
        return _SavedTables(self)

    def vectors(self, table: int) -> Iterator[Floats]:
        """Yield the vectors of each partition of a table."""
        vectors, dim = self._remote(_vectors), self.run.config.dim
        return (self._get(vectors(ref, dim)) for ref in self._refs[table])

    def restored_tables(self) -> Iterable[Table]:
        """Return tables to fill with the vectors of all partitions, in the same order."""
        return _RestoredTables(self)

    def put(self, table: int, partition: int, rows: Floats) -> None:
        """Store rows as a partition of a table."""
        self._refs[table][partition] = self._ray.put(rows)

    def collect(self) -> tuple[Floats, Floats]:
        """Return centers and contexts in the order of the graph's nodes, mapped from temporary files."""
        folder = self._cleanup.enter_context(partition_folder(self._workdir))
        centers, contexts = (
            gather_rows(folder / f"all {table}", self.run.partitioning, self.vectors(table))
            for table in (CENTERS, CONTEXTS)
        )
        return centers, contexts


class _SavedTables:
    """The vectors of all partitions, fetched anew for each iteration."""

    def __init__(self, engine: ClusterEngine) -> None:
        self.engine = engine

    def __iter__(self) -> Iterator[Floats]:
        for table in (CENTERS, CONTEXTS):
            yield from self.engine.vectors(table)


class _RestoredTables:
    """Tables for all partitions one after the other; each is stored when the next one is asked for."""

    def __init__(self, engine: ClusterEngine) -> None:
        self.engine = engine

    def __iter__(self) -> Iterator[Table]:
        run = self.engine.run
        for table in (CENTERS, CONTEXTS):
            for partition in range(len(run.partitioning)):
                rows = allocate_table(run.partitioning.size(partition), run.config.dim)
                yield rows[:, : run.config.dim]
                self.engine.put(table, partition, rows)


def _connect(address: str, cleanup: ExitStack) -> Any:
    """Return Ray, connected to a cluster; if this process is connected to one already, to that one."""
    # Usage statistics are off unless the user turns them on.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise ClusterError("a cluster needs Ray; install it with: pip install 'efge[ray]'") from None
    if ray.is_initialized():
        return ray
    if address == "local":
        # To Ray, this is a request to start an instance on this machine.
        raise ClusterError(f"a cluster is auto, or the address of one such as 10.0.0.1:6379; got {address!r}")
    _check_reachable(address)
    try:
        # Ray would end the process at a signal, with a message of many lines and without a checkpoint.
        with preserve_handlers():
            ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ClusterError(f"no Ray cluster at {address!r}: {_first_line(error)}") from None
    cleanup.callback(ray.shutdown)
    return ray


def _check_reachable(address: str) -> None:
    """Refuse an address where nothing answers: Ray would end this process, with a message of many lines."""
    reason = _refusal(address)
    if reason is not None:
        raise ClusterError(f"no Ray cluster at {address!r}: {reason}; start one with: ray start --head")


def _refusal(address: str) -> str | None:
    """Return why nothing answers at an address; None if something does, or if it has no port."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdecimal():
        return None
    try:
        socket.create_connection((host, int(port)), timeout=_CONNECT_TIMEOUT_SECONDS).close()
    except OSError as error:
        return str(error)
    return None


def _head_address(ray: Any, address: str) -> str:
    """Return where the head node answers; a client knows only the address that it was given."""
    return address if address.startswith("ray://") else str(ray.get_runtime_context().gcs_address)


def _first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _megabytes(count: float) -> str:
    return f"{count / 1e6:,.0f} MB"
