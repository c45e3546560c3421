"""Training in parts on a cluster: the same schedule as on one machine, as tasks of Ray.

Walks, routing and buckets are tasks; walks, buckets and parts are objects that tasks hand to each other, and the driver
holds only references to them. The graph is in the object store once a machine. Which machine does what, and when, is
Ray's affair, as is what must be done again where a machine is lost; no result depends on it.
"""

from __future__ import annotations

import logging
import os
import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from efge.errors import ClusterError
from efge.training.checkpoints import Table
from efge.training.monitor import Alias
from efge.training.partitioned.local import CENTERS, CONTEXTS, DivergedError, Job, Nodes, Waves, counted, gathered
from efge.training.partitioned.schedule import (
    Brief,
    Bucket,
    CodedWalks,
    Counts,
    Integers,
    Piece,
    Walker,
    coded_walks,
    first_tables,
    route,
    start_bucket,
    sub_waves,
)
from efge.training.trainer import Floats, aligned
from efge.training.workers import Threads

# A reference to an object of the cluster, and a function whose calls are tasks there.
Ref = Any
Remote = Callable[..., Any]

# Parts of tables on a cluster, if nothing else is said.
CLUSTER_PARTITIONS = 16
# How often a task is done again when the process or machine that did it is lost.
_RETRIES = 20
# Tasks that count walks have at most so many waves' pieces together, so that few arrays of visits are on the way.
_COUNTING_TASKS = 16
# Seconds to wait for a cluster to answer.
_PATIENCE = 10
# Of a machine's object store, so much may be taken by the graph and the objects of one task.
_USABLE = 0.8


def _begin(nodes: Integers, brief: Brief) -> tuple[Floats, Floats]:
    return first_tables(nodes, brief)


def _walk(walker: Walker, codes: Integers, piece: Piece) -> CodedWalks:
    return coded_walks(walker, piece, codes)


def _route(part: int, wave: int, brief: Brief, *walked: CodedWalks) -> list[Integers] | Integers:
    buckets = route(part, wave, walked, brief)
    return buckets if len(buckets) > 1 else buckets[0]


def _train(
    which: Bucket, data: Integers, centers: Floats, contexts: Floats, noise: Alias, brief: Brief, cores: int
) -> tuple[Floats, Floats, bool]:
    tables = _own(centers, brief), _own(contexts, brief)
    with Threads(cores) as threads:
        finite = start_bucket(which, data, tables, noise, brief, threads)()
    return *tables, finite


def _own(rows: Floats, brief: Brief) -> Floats:
    """A copy to be trained: what is in the object store does not change."""
    table = aligned(len(rows), brief.dim, np.empty)
    table[:] = rows
    return table


def _pick(rows: Floats, wanted: Counts) -> Floats:
    return rows[wanted]


def _vectors(rows: Floats, dim: int) -> Floats:
    return np.ascontiguousarray(rows[:, :dim])


class ClusterEngine:
    """Parts and buckets as objects of a Ray cluster; "auto" is the one that runs here, anything else its address."""

    def __init__(self, address: str, workdir: str | os.PathLike[str] | None) -> None:
        self._address = address
        self._workdir = workdir

    def __enter__(self) -> ClusterEngine:
        self._leaving = ExitStack()
        self._ray = _connected(self._address, self._leaving)
        self._refs: list[list[Ref]] = [[], []]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._refs = [[], []]
        self._leaving.close()

    def _remote(self, function: Callable[..., Any], returns: int = 1, cores: int = 1) -> Remote:
        """The function as a task that is done again if it is lost, but not if it fails by itself."""
        made = self._ray.remote(max_retries=_RETRIES, num_returns=returns, num_cpus=cores)(function)
        remote: Remote = made.remote
        return remote

    def _get(self, refs: Any) -> Any:
        """What references stand for; what goes wrong on the cluster is one error."""
        ray = self._ray
        try:
            return ray.get(refs)
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, MemoryError):
                raise ClusterError(f"a task of the cluster has too little memory: {error.cause}") from None
            raise error.cause from None
        except ray.exceptions.RayError as error:
            raise ClusterError(f"the cluster lost what it cannot make again: {_first_line(error)}") from None

    def census(self, walker: Walker, waves: Waves, window: int) -> tuple[Counts, list[int]]:
        """Visits of each node by all walks, and the pairs of each wave."""
        self._walker = self._put_graph(walker)
        count = self._remote(counted)
        size = -(-len(waves) // _COUNTING_TASKS)
        refs = [count(self._walker, waves[first : first + size], window) for first in range(0, len(waves), size)]
        visits, pairs = np.zeros(walker.n_nodes, np.int64), []
        for ref in refs:
            seen, some = self._get(ref)
            visits += seen
            pairs += some
        return visits, pairs

    def _put_graph(self, walker: Walker) -> Ref:
        steps = walker.stepper.steps
        self._graph_bytes = sum(array.nbytes for array in steps)
        smallest = min(self._stores(), default=0)
        if self._graph_bytes > _USABLE * smallest:
            raise ClusterError(
                f"each machine of the cluster holds the graph, {_megabytes(self._graph_bytes)}, in its object store;"
                f" the smallest has {_megabytes(smallest)}"
            )
        ref: Ref = self._ray.put(walker)
        return ref

    def _machines(self) -> list[dict[str, float]]:
        """What the machines have that can do tasks."""
        alive = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        return [node for node in alive if node.get("CPU", 0) >= 1]

    def _stores(self) -> list[float]:
        return [machine.get("object_store_memory", 0.0) for machine in self._machines()]

    def _cores_a_bucket(self) -> int:
        """Cores for each of the buckets that can be trained at once, so that fewer parts are enough for many cores."""
        cores = [int(machine["CPU"]) for machine in self._machines()]
        return max(1, min(min(cores), sum(cores) // len(self.job.parts), self.job.brief.cells))

    def begin(self, job: Job) -> None:
        """Make the parts as they begin."""
        self.job = job
        self._check_room(job)
        ray, parts = self._ray, range(len(job.parts))
        self._brief, self._codes = ray.put(job.brief), ray.put(job.parts.codes)
        self._noise = [ray.put(job.noise(part)) for part in parts]
        begin = self._remote(_begin, 2)
        made = [begin(job.parts.members(part), self._brief) for part in parts]
        self._refs = [[pair[table] for pair in made] for table in (CENTERS, CONTEXTS)]
        self._prepared: tuple[int, list[list[Ref]]] | None = None

    def _check_room(self, job: Job) -> None:
        """Refuse what no machine could do, before it is tried for ever."""
        part = 4 * job.brief.width * max(job.parts.size(part) for part in range(len(job.parts)))
        pairs = 4 * max(job.pairs, default=0)
        walked = 4 * max((sum(piece.walks for piece in pieces) for pieces in job.waves), default=0)
        # A bucket task reads and writes two parts; a routing task has the walks of a wave and its own buckets.
        a_task = max(4 * part + pairs // len(job.parts) ** 2, job.walker.walk_length * walked + pairs // len(job.parts))
        need, stores = self._graph_bytes + a_task, self._stores()
        if not stores:
            raise ClusterError("the cluster has no machine with a core for tasks")
        if need > _USABLE * min(stores):
            raise ClusterError(
                f"a task of {len(job.parts)} partitions and the graph take {_megabytes(need)} of a machine's object"
                f" store; the smallest has {_megabytes(min(stores))}: take more partitions, or larger machines"
            )

    def train(self, wave: int) -> Iterator[float]:
        """Train a wave; what share of it is done, each time that a bucket is. The next wave is routed meanwhile."""
        job, ray = self.job, self._ray
        buckets = self._routed(wave)
        cores = self._cores_a_bucket()
        train = self._remote(_train, 3, cores)
        turns = sub_waves(wave, len(job.parts), job.brief.seed)
        centers, contexts = (list(refs) for refs in self._refs)
        finite: list[Ref] = []
        for turn, some in enumerate(turns):
            for which in some:
                i, j = which
                bucket = job.bucket(wave, turn, which)
                centers[i], contexts[j], fine = train(
                    bucket, buckets[i][j], centers[i], contexts[j], self._noise[j], self._brief, cores
                )
                finite.append(fine)
        del buckets
        if wave + 1 < len(job.waves):
            self._prepared = wave + 1, self._route(wave + 1)
        waiting = list(finite)
        while waiting:
            done, waiting = ray.wait(waiting)
            if not all(self._get(done)):
                raise DivergedError
            yield 1 - len(waiting) / len(finite)
        # Until here, the parts before the wave were kept: they are what is left if it diverges.
        self._refs = [centers, contexts]

    def _routed(self, wave: int) -> list[list[Ref]]:
        if self._prepared is not None and self._prepared[0] == wave:
            buckets = self._prepared[1]
            self._prepared = None
            return buckets
        return self._route(wave)

    def _route(self, wave: int) -> list[list[Ref]]:
        """Let the buckets of a wave be made: for each part of centers, one for each part of contexts."""
        job, count = self.job, len(self.job.parts)
        walk, send = self._remote(_walk), self._remote(_route, count)
        walked = [walk(self._walker, self._codes, piece) for piece in job.waves[wave]]
        made = [send(part, wave, self._brief, *walked) for part in range(count)]
        return [[refs] for refs in made] if count == 1 else made

    def rows(self, table: int, wanted: list[Nodes]) -> Iterator[Floats]:
        """Rows of some nodes, of the centers or the contexts, for each list of nodes."""
        parts, pick = self.job.parts, self._remote(_pick)
        every = np.unique(np.concatenate(wanted))
        places = parts.places(every)
        order = np.argsort(places)
        cuts = np.searchsorted(places[order], parts.starts)
        found = np.empty((len(every), self.job.brief.width), np.float32)
        refs = [
            pick(self._refs[table][part], places[order[begin:end]] - parts.starts[part])
            for part, (begin, end) in enumerate(pairwise(cuts.tolist()))
        ]
        found[order] = np.concatenate(self._get(refs))
        return (found[np.searchsorted(every, nodes)] for nodes in wanted)

    def saved(self) -> Iterable[Table]:
        """The vectors of all parts, one after the other, centers first; one of them is here at a time."""
        return _Saved(self)

    def vectors(self) -> Iterator[Floats]:
        """The same, once."""
        vectors, dim = self._remote(_vectors), self.job.brief.dim
        return (self._get(vectors(ref, dim)) for refs in self._refs for ref in refs)

    def filled(self) -> Iterable[Table]:
        """Tables to fill with the vectors of all parts, in the same order; each becomes an object when it is full."""
        return _Filled(self)

    def fill(self, table: int, part: int, rows: Floats) -> None:
        """Let a part be these rows."""
        self._refs[table][part] = self._ray.put(rows)

    def collect(self) -> tuple[Floats, Floats]:
        """Centers and contexts in the order of the graph's nodes, mapped from files that are gone with them."""
        folder = tempfile.TemporaryDirectory(prefix="efge-", dir=self._workdir, ignore_cleanup_errors=True)
        self._leaving.enter_context(folder)
        vectors, dim = self._remote(_vectors), self.job.brief.dim
        centers, contexts = (
            gathered(Path(folder.name, f"all {table}"), self.job.parts, (self._get(vectors(ref, dim)) for ref in refs))
            for table, refs in enumerate(self._refs)
        )
        return centers, contexts


class _Saved:
    """The vectors of all parts, as often as they are asked for."""

    def __init__(self, engine: ClusterEngine) -> None:
        self.engine = engine

    def __iter__(self) -> Iterator[Floats]:
        return self.engine.vectors()


class _Filled:
    """Tables for all parts, one after the other; each is taken over when the next one is asked for."""

    def __init__(self, engine: ClusterEngine) -> None:
        self.engine = engine

    def __iter__(self) -> Iterator[Table]:
        job = self.engine.job
        for table in (CENTERS, CONTEXTS):
            for part in range(len(job.parts)):
                rows = aligned(job.parts.size(part), job.brief.dim)
                yield rows[:, : job.brief.dim]
                self.engine.fill(table, part, rows)


def _connected(address: str, leaving: ExitStack) -> Any:
    """Ray, connected to a cluster; to the one that this process is connected to already, if it is."""
    # Nobody is told what runs here, unless the user says so.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise ClusterError("a cluster needs Ray; install it by: pip install 'efge[ray]'") from None
    if ray.is_initialized():
        return ray
    _knock(address)
    try:
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ClusterError(f"no Ray cluster at {address!r}: {_first_line(error)}") from None
    leaving.callback(ray.shutdown)
    return ray


def _knock(address: str) -> None:
    """Refuse an address where nobody answers: Ray would end this process there, and say why on many lines."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()
    except OSError as error:
        raise ClusterError(f"no Ray cluster at {address!r}: {error}; start one by: ray start --head") from None


def _first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _megabytes(count: float) -> str:
    return f"{count / 1e6:,.0f} MB"
