"""Tables larger than memory: training in parts, wave after wave, with the parts and the buckets in files.

What is done, and in which order as far as it matters, is the schedule's; an engine does it. The one here keeps parts in
a folder: while a bucket trains, a thread brings the one before back to its file and fetches the next.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError
from efge.families.base import Family
from efge.kernels import sgd_reference as plain
from efge.progress import Progress
from efge.training.checkpoints import Checkpoints, Keeper, Table, identity
from efge.training.monitor import Alias, Look, Reach, Sample
from efge.training.partitioned.schedule import (
    Brief,
    Bucket,
    CodedWalks,
    Counts,
    Integers,
    Parts,
    Piece,
    Walker,
    brief_of,
    census,
    coded_walks,
    first_tables,
    noise_of,
    route,
    start_bucket,
    sub_waves,
    waves_of,
)
from efge.training.settings import Settings
from efge.training.trainer import Floats, Trained, alias_table, aligned, diverged, log_probs_of, noise_weights
from efge.training.workers import Threads
from efge.walks.strategies import CorpusWalk
from efge.walks.walks import Walks

Waves = list[list[Piece]]
Nodes = npt.NDArray[np.int64]

# Of the pairs held apart, so many are judged at a time as have so many entries, so that few rows are in memory.
_JUDGED = 1 << 19
CENTERS, CONTEXTS = 0, 1


@dataclass(frozen=True)
class Job:
    """What is to be trained: waves of walks, by which all nodes are split into parts, and what buckets need to know."""

    walker: Walker
    waves: Waves
    pairs: list[int]
    parts: Parts
    brief: Brief
    noise: Callable[[int], Alias]

    def bucket(self, wave: int, turn: int, which: tuple[int, int]) -> Bucket:
        """One bucket of a wave."""
        return Bucket(wave, turn, *which, sum(self.pairs[:wave]), self.pairs[wave])


class DivergedError(Exception):
    """A bucket left the finite numbers."""


class Engine(AbstractContextManager["Engine"], Protocol):
    """Who does the work: counts walks, keeps the parts of both tables, trains waves."""

    def census(self, walker: Walker, waves: Waves, window: int) -> tuple[Counts, list[int]]:
        """Visits of each node by all walks, and the pairs of each wave."""

    def begin(self, job: Job) -> None:
        """Make the parts as they begin."""

    def train(self, wave: int) -> Iterator[float]:
        """Train a wave; what share of it is done, each time that there is news."""

    def rows(self, table: int, wanted: list[Nodes]) -> Iterator[Floats]:
        """Rows of some nodes, of the centers or the contexts, for each list of nodes."""

    def saved(self) -> Iterable[Table]:
        """The vectors of all parts, one after the other, centers first."""

    def filled(self) -> Iterable[Table]:
        """Tables to fill with the vectors of all parts, in the same order; each is taken over when the next is due."""

    def collect(self) -> tuple[Floats, Floats]:
        """Centers and contexts in the order of the graph's nodes."""


def counted(walker: Walker, waves: Waves, window: int) -> tuple[Counts, list[int]]:
    """Visits of each node by the walks of some waves, and the pairs of each wave."""
    visits, pairs = np.zeros(walker.n_nodes, np.int64), []
    for pieces in waves:
        seen, count = census(walker, pieces, window)
        visits += seen
        pairs.append(count)
    return visits, pairs


def train_in_parts(
    walks: Walks,
    family: Family,
    settings: Settings,
    engine: Engine,
    progress: Callable[[Progress], None] | None = None,
    checkpoints: Checkpoints | None = None,
) -> Trained:
    """As `training.train`, in parts: the result depends on their number, but not on the engine."""
    settings.check()
    _check(walks, settings)
    with engine:
        waves = waves_of(walks, settings)
        walker = Walker.of(walks)
        visits, pairs = engine.census(walker, waves, int(settings.window))
        job = _job(walks, waves, pairs, visits, family, settings)
        engine.begin(job)
        noise = alias_table(noise_weights(visits, settings.noise_power))
        reach = Reach(int(settings.window), False, int(settings.negatives))
        log_probs = log_probs_of(family)
        look = Look(walks, reach, noise, sum(pairs), lambda sample: _judge(engine, job.brief, log_probs, sample))
        del noise
        keeper = Keeper(checkpoints, lambda: identity(walks, visits, family, asdict(settings)))
        try:
            with keeper.watching():
                look.state = keeper.begin(engine.filled())
                _train_waves(job, engine, look, keeper, settings, progress or (lambda at: None))
        except DivergedError:
            trained = Trained(*engine.collect(), look.state)
            raise diverged(family, settings, f"wave {look.state.pieces}", trained) from None
        return Trained(*engine.collect(), look.state)


def _check(walks: Walks, settings: Settings) -> None:
    """Refuse what cannot be trained in parts."""
    if settings.trainer != "fast":
        raise ValueError(f"with partitions, the trainer is 'fast'; got {settings.trainer!r}")
    if settings.softmax or settings.stars or settings.one_table:
        raise ValueError("with partitions, contexts are on both sides, have vectors of their own, and meet negatives")
    if isinstance(walks.strategy, CorpusWalk):
        raise GraphError("with partitions, walks are made from the graph, some at a time; a corpus of them is not read")


def _job(walks: Walks, waves: Waves, pairs: list[int], visits: Counts, family: Family, settings: Settings) -> Job:
    assert settings.partitions is not None
    parts = Parts.of(walks.graph, visits, int(settings.partitions))
    brief = brief_of(parts, visits, sum(pairs), walks.seed, family, settings)
    power = settings.noise_power
    return Job(Walker.of(walks), waves, pairs, parts, brief, lambda part: noise_of(parts, visits, power, part))


def _train_waves(
    job: Job, engine: Engine, look: Look, keeper: Keeper, settings: Settings, tell: Callable[[Progress], None]
) -> None:
    state, total = look.state, sum(job.pairs)
    if not state.pieces:
        look(0)
    done = sum(job.pairs[: state.pieces])
    tell(Progress(done, total, look.last))
    for wave in range(state.pieces, len(job.waves)):
        if settings.patience is not None and state.since_best >= settings.patience:
            break
        for share in engine.train(wave):
            if share < 1:
                tell(Progress(done + int(share * job.pairs[wave]), total, look.last))
        done += job.pairs[wave]
        if done >= look.due or done == total:
            look(done)
        state.pieces = wave + 1
        tell(Progress(done, total, look.last))
        keeper.keep(state, engine.saved())


def _judge(engine: Engine, brief: Brief, log_probs: tuple[Floats, float], sample: Sample) -> float:
    """The mean log-likelihood of pairs and their negatives, by the rows of some at a time."""
    size = max(1, _JUDGED // (brief.width * sample.shape[1]))
    some = [sample[begin : begin + size] for begin in range(0, len(sample), size)]
    centers = [np.unique(part[:, 0], return_inverse=True) for part in some]
    contexts = [np.unique(part[:, 1:], return_inverse=True) for part in some]
    tables = zip(
        engine.rows(CENTERS, [nodes for nodes, _ in centers]),
        engine.rows(CONTEXTS, [nodes for nodes, _ in contexts]),
        strict=True,
    )
    total = 0.0
    for part, (_, at), (_, around), both in zip(some, centers, contexts, tables, strict=True):
        numbered = np.column_stack([at.reshape(-1), around.reshape(len(part), -1)])
        value = plain.mean_log_likelihood(*both, numbered, log_probs[0], brief.bounds[0], log_probs[1])
        total += float(value) * len(part)
    return total / len(sample)


class _File:
    """Arrays in a file, read and written at places that count entries of four bytes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("w+b", buffering=0)

    def close(self) -> None:
        self._file.close()

    def write(self, array: npt.NDArray[Any], place: int) -> None:
        self._file.seek(4 * place)
        left = array.reshape(-1).view(np.uint8)
        while len(left):
            left = left[self._file.write(left.data) :]

    def read(self, array: npt.NDArray[Any], place: int) -> None:
        self._file.seek(4 * place)
        left = array.reshape(-1).view(np.uint8)
        while len(left):
            count = self._file.readinto(left.data)
            if not count:
                raise OSError(f"{self.path}: the file is shorter than it was")
            left = left[count:]


class LocalEngine:
    """Parts and buckets in files of a folder that is removed in the end; at most two parts of each table in memory."""

    def __init__(self, workdir: str | os.PathLike[str] | None, threads: int) -> None:
        self._workdir = workdir
        self._count = threads

    def __enter__(self) -> LocalEngine:
        if self._workdir is not None:
            Path(self._workdir).mkdir(parents=True, exist_ok=True)
        self._leaving = ExitStack()
        # What is mapped from files here, as the result is, stays readable where files may go while they are in use.
        self.folder = Path(tempfile.mkdtemp(prefix="efge-", dir=self._workdir))
        self._leaving.callback(shutil.rmtree, self.folder, ignore_errors=True)
        names = ("centers", "contexts", "walks", "buckets")
        *self.tables, self.walks, self.buckets = [_File(self.folder / name) for name in names]
        for file in (*self.tables, self.walks, self.buckets):
            self._leaving.callback(file.close)
        self._behind = self._leaving.enter_context(ThreadPoolExecutor(1))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leaving.close()

    def census(self, walker: Walker, waves: Waves, window: int) -> tuple[Counts, list[int]]:
        """Visits of each node by all walks, and the pairs of each wave."""
        return counted(walker, waves, window)

    def begin(self, job: Job) -> None:
        """Make the parts as they begin."""
        self.job = job
        self._threads = self._leaving.enter_context(Threads(min(self._count, job.parts.cells)))
        self.noise = [job.noise(part) for part in range(len(job.parts))]
        for part in range(len(job.parts)):
            for file, rows in zip(self.tables, first_tables(job.parts.members(part), job.brief), strict=True):
                file.write(rows, self.place(part))

    def place(self, part: int) -> int:
        """Where a part begins in the file of its table."""
        return int(self.job.parts.starts[part]) * self.job.brief.width

    def train(self, wave: int) -> Iterator[float]:
        """Train a wave; what share of it is done, after each bucket."""
        bounds = self._route(wave)
        order = list(_sweep(sub_waves(wave, len(self.job.parts), self.job.brief.seed)))
        # Room for parts is taken when that for routing is given back.
        held = _Held(self, bounds)
        ahead = self._behind.submit(held.fetch, order[0][1])
        running: Callable[[], bool] | None = None
        for number, (turn, which) in enumerate(order):
            data = ahead.result()
            tables = held.turn()
            bucket, noise = self.job.bucket(wave, turn, which), self.noise[which[1]]
            # It waits for the one before: threads go from one to the next without a rest.
            started = start_bucket(bucket, data, tables, noise, self.job.brief, self._threads)
            finite = running is None or running()
            running = started
            if not finite:
                break
            ahead = self._behind.submit(held.fetch, order[number + 1][1] if number + 1 < len(order) else None)
            yield number / len(order)
        finite &= running is not None and running()
        ahead.result()
        held.leave()
        if not finite:
            raise DivergedError
        yield 1.0

    def _route(self, wave: int) -> list[int]:
        """Write the buckets of a wave, those of one part of centers after those of another; where each begins."""
        job = self.job
        walked = _Walked(self.walks)
        for piece in job.waves[wave]:
            walked.append(coded_walks(job.walker, piece, job.parts.codes))
        bounds = [0]
        for part in range(len(job.parts)):
            for bucket in route(part, wave, walked, job.brief):
                self.buckets.write(bucket, bounds[-1])
                bounds.append(bounds[-1] + len(bucket))
        return bounds

    def _mapped(self, table: int) -> Floats:
        """A table in its file, part after part."""
        shape = len(self.job.parts.codes), self.job.brief.width
        return np.memmap(self.tables[table].path, np.float32, "r+", shape=shape) if shape[0] else np.empty(shape, "f4")

    def rows(self, table: int, wanted: list[Nodes]) -> Iterator[Floats]:
        """Rows of some nodes, of the centers or the contexts, for each list of nodes."""
        mapped = self._mapped(table)
        return (np.asarray(mapped[self.job.parts.places(nodes)]) for nodes in wanted)

    def saved(self) -> Iterable[Table]:
        """The vectors of all parts, one after the other, centers first."""
        return [self._mapped(table)[:, : self.job.brief.dim] for table in (CENTERS, CONTEXTS)]

    def filled(self) -> Iterable[Table]:
        """The same, to be written to."""
        return self.saved()

    def collect(self) -> tuple[Floats, Floats]:
        """Centers and contexts in the order of the graph's nodes, mapped from files."""
        parts, folder = self.job.parts, self.folder
        centers, contexts = (
            gathered(folder / f"all {table}", parts, (rows[a:b] for a, b in pairwise(parts.starts.tolist())))
            for table, rows in enumerate(self.saved())
        )
        return centers, contexts


def gathered(path: Path, parts: Parts, tables: Iterable[Table]) -> Floats:
    """A table in the order of the graph's nodes, mapped from a file, from the vectors of its parts."""
    whole: Floats = np.empty((0, 1), np.float32)
    for part, rows in enumerate(tables):
        if not part:
            shape = len(parts.codes), rows.shape[1]
            whole = np.memmap(path, np.float32, "w+", shape=shape) if shape[0] else np.empty(shape, np.float32)
        whole[parts.members(part)] = rows
    return whole


class _Walked:
    """Walks of a wave in a file, which are read again whenever they are gone through."""

    def __init__(self, file: _File) -> None:
        self.file = file
        self.sizes: list[tuple[int, int]] = []
        self.end = 0

    def append(self, some: CodedWalks) -> None:
        self.sizes.append((len(some.codes), len(some.offsets)))
        for array in some:
            self.file.write(array, self.end)
            self.end += len(array)

    def __iter__(self) -> Iterator[CodedWalks]:
        place = 0
        for codes, offsets in self.sizes:
            data = np.empty(codes + offsets, np.int32)
            self.file.read(data, place)
            place += len(data)
            yield CodedWalks(data[:codes], data[codes:])


def _sweep(turns: list[list[tuple[int, int]]]) -> Iterator[tuple[int, tuple[int, int]]]:
    """Buckets of a wave with their sub-waves, in an order that changes centers seldom and gives the same result.

    Bucket (i, j) comes after those of earlier sub-waves that have i or j, and no others matter to it.
    """
    parts = len(turns)
    for i in reversed(range(parts)):
        yield from ((turn, turns[turn][i]) for turn in range(parts - i))
    for i in reversed(range(1, parts)):
        yield from ((turn, turns[turn][i]) for turn in range(parts - i, parts))


class _Held:
    """The parts that are trained, those that come next, and those that are yet to be written back, of both tables."""

    def __init__(self, engine: LocalEngine, bounds: list[int]) -> None:
        self.engine = engine
        self.bounds = bounds
        # Room for two parts of each table, taken once a wave: pieces given back and taken anew would add up to more.
        sizes = [engine.job.parts.size(part) for part in range(len(engine.job.parts))]
        self.room = [[aligned(max(sizes), engine.job.brief.dim, np.empty) for _ in range(2)] for _ in range(2)]
        self.now: list[tuple[int, Floats] | None] = [None, None]
        self.next: list[tuple[int, Floats] | None] = [None, None]
        self.last: list[tuple[int, Floats] | None] = [None, None]

    def fetch(self, which: tuple[int, int] | None) -> Integers:
        """Write back what was trained last, then read what comes next: parts that are not there, and the bucket."""
        engine = self.engine
        for table in (CENTERS, CONTEXTS):
            self._write_last(table)
        if which is None:
            return np.empty(0, np.int32)
        for table, part in enumerate(which):
            now = self.now[table]
            if now is None or now[0] != part:
                # Of the two, the one that is not trained now: what was in it is written back.
                self.room[table].reverse()
                rows = self.room[table][0][: engine.job.parts.size(part)]
                engine.tables[table].read(rows, engine.place(part))
                self.next[table] = part, rows
        number = which[0] * len(engine.job.parts) + which[1]
        data = np.empty(self.bounds[number + 1] - self.bounds[number], np.int32)
        engine.buckets.read(data, self.bounds[number])
        return data

    def _write_last(self, table: int) -> None:
        done, self.last[table] = self.last[table], None
        if done is not None:
            self.engine.tables[table].write(done[1], self.engine.place(done[0]))

    def turn(self) -> tuple[Floats, Floats]:
        """Let what was fetched be what is trained."""
        for table in (CENTERS, CONTEXTS):
            if self.next[table] is not None:
                self.last[table], self.now[table], self.next[table] = self.now[table], self.next[table], None
        centers, contexts = self.now
        assert centers is not None
        assert contexts is not None
        return centers[1], contexts[1]

    def leave(self) -> None:
        """Write back all that is left."""
        self.fetch(None)
        self.last, self.now = self.now, [None, None]
        self.fetch(None)
