"""What goes on beside training: threads that share its work, looks at pairs held apart, and states that are kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from efge import __version__
from efge.checkpoints import Checkpoints, State, Table
from efge.corpus import HELD_WALKS, Source
from efge.families import Family
from efge.kernels import plain, steps
from efge.seeds import stream_key
from efge.walks import Round

Sample = npt.NDArray[np.int64]
Signals = npt.NDArray[np.int64]
Alias = tuple[npt.NDArray[np.uint32], npt.NDArray[np.int32]]

# Pairs held apart, and how often they are looked at; so many of them share their negatives, for most of the time of a
# look is that of fetching rows.
_HELD_PAIRS, LOOKS = 4096, 20
_SHARED_BY = 8


class Threads:
    """Threads that share the work of a kernel and meet in it."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool = ThreadPoolExecutor(count)

    def __enter__(self) -> Threads:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown()

    def run(self, train: Callable[[int, int], Any], signals: Signals, most: int) -> None:
        """Let all threads train, or as many as there is work for at once: each is given its number, and how many."""
        signals[:] = 0
        threads = min(self.count, most)
        with _abandoning(signals):
            # An interrupt before this thread began would let the others wait for it for ever.
            jobs = [self._pool.submit(_share, train, number, threads, signals) for number in range(1, threads)]
            train(0, threads)
        for job in jobs:
            job.result()

    def share(self, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """What a function says of each of some items, which threads share, this one too."""
        items = list(items)
        answers: list[Any] = [None] * len(items)

        def answer(number: int) -> None:
            answers[number :: self.count] = map(function, items[number :: self.count])

        jobs = [self._pool.submit(answer, number) for number in range(1, min(self.count, len(items)))]
        answer(0)
        for job in jobs:
            job.result()
        return answers

    def start(self, train: Callable[[int, int], Any], signals: Signals) -> Callable[[], None]:
        """Let all threads train without waiting for it: what comes back does. What is started meanwhile comes after it.

        For that, all threads must have work, and leave `train` together.
        """
        signals[:] = 0
        with _abandoning(signals):
            jobs = [self._pool.submit(_share, train, number, self.count, signals) for number in range(self.count)]

        def wait() -> None:
            for job in jobs:
                job.result()

        return wait


def _share(train: Callable[[int, int], Any], number: int, threads: int, signals: Signals) -> None:
    with _abandoning(signals):
        train(number, threads)


@contextmanager
def _abandoning(signals: Signals) -> Iterator[None]:
    """Where this fails, let no other thread wait for it."""
    try:
        yield
    except BaseException:
        signals[steps.ABANDONED] = 1
        raise


@dataclass(frozen=True)
class Reach:
    """How far contexts are from a center, whether walks are stars, and how many negatives stand against each."""

    window: int
    stars: bool
    negatives: int


class Look:
    """Looks now and then at pairs and negatives held apart from training, of which there are `pairs` in all.

    `measure` says how likely a sample is, of which each row is a center, a context and the negatives against it.
    """

    def __init__(
        self, walks: Source, reach: Reach, noise: Alias, pairs: int, measure: Callable[[Sample], float]
    ) -> None:
        self.interval = pairs / LOOKS
        self.state = State()
        self.measure = measure
        random = np.random.Generator(np.random.PCG64(int(stream_key(walks.seed, 0, "pairs held apart"))))
        found = _some_pairs(walks.held_apart(HELD_WALKS), reach, random)
        negatives = np.empty((-(-len(found) // _SHARED_BY), reach.negatives), np.int64)
        plain.draw(stream_key(walks.seed, 0, "negatives held apart"), *noise, negatives.reshape(-1))
        self.sample = np.hstack([found, np.repeat(negatives, _SHARED_BY, axis=0)[: len(found)]])

    @property
    def last(self) -> float:
        """What the last look saw."""
        return self.state.history["log_likelihood"][-1]

    @property
    def due(self) -> float:
        """After how many pairs to look again; the end of a piece is seldom quite there."""
        seen = self.state.history["pairs"][-1]
        return (round(seen / self.interval) + 0.5) * self.interval if self.interval else np.inf

    def __call__(self, pairs: int) -> None:
        """Look, when so many pairs are done."""
        value = self.measure(self.sample) if len(self.sample) else np.nan
        state = self.state
        state.history["pairs"].append(pairs)
        state.history["log_likelihood"].append(value)
        if len(self.sample):
            state.since_best = 0 if value > state.best else state.since_best + 1
            state.best = max(state.best, value)


def _some_pairs(walks: Round, reach: Reach, random: np.random.Generator) -> Sample:
    """Pairs of a center and a context, drawn from walks of more than one node."""
    window = reach.window
    lengths = np.diff(walks.offsets)
    long_enough = np.flatnonzero(lengths > 1)
    if not len(long_enough):
        return np.empty((0, 2), np.int64)
    walk = long_enough[random.integers(len(long_enough), size=_HELD_PAIRS)]
    center = random.integers(np.ones_like(walk) if reach.stars else lengths[walk])
    low, high = np.maximum(center - window, 0), np.minimum(center + window, lengths[walk] - 1)
    high = lengths[walk] - 1 if reach.stars else high
    context = low + random.integers(high - low)
    context += context >= center
    begin = walks.offsets[walk]
    return np.column_stack([walks.nodes[begin + center], walks.nodes[begin + context]]).astype(np.int64)


class Keeper:
    """Checkpoints of a training, or none."""

    def __init__(self, checkpoints: Checkpoints | None, identity: Callable[[], dict[str, Any]]) -> None:
        self.checkpoints = checkpoints
        self.identity = identity
        self.done = 0

    def begin(self, tables: Iterable[Table]) -> State:
        """Fill the tables from a state, if there is one; how far it is."""
        if self.checkpoints is None:
            return State()
        state = self.checkpoints.begin(self.identity(), tables)
        self.done = state.pieces
        return state

    def keep(self, state: State, tables: Iterable[Table]) -> None:
        """Save the state if it is time to; the tables are only asked for then."""
        if self.checkpoints is not None:
            self.checkpoints.keep(state, tables)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While training, have the folder alone, and save before a signal ends it."""
        if self.checkpoints is None:
            yield
            return
        with self.checkpoints.held(), self.checkpoints.watching():
            yield


def identity(walks: Source, visits: npt.NDArray[np.int64], family: Family, settings: dict[str, Any]) -> dict[str, Any]:
    """All that a result depends on, by name: a state of one is no state of another."""
    described = {"version": __version__, "graph": walks.graph.fingerprint(), "family": repr(family)}
    counted = {"visits": hashlib.sha256(visits.astype("<i8").tobytes()).hexdigest()}
    return described | walks.describe() | settings | counted
