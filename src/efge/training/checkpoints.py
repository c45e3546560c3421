"""Training that can be stopped: its state in files that are whole or absent, and how it goes on from them.

A file has a line of JSON (what was trained, and how far), the tables, and a checksum of all that. It is written aside,
brought to the disk, and renamed; the last two are kept, so that one that the disk has damaged has one before it.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from efge import __version__
from efge.errors import CheckpointError
from efge.families.base import Family
from efge.io.atomic import locked, written_whole
from efge.io.files import from_json
from efge.training.corpus import Source

Table = npt.NDArray[np.float32]

_MARK = b"efge checkpoint 1\n"
_LONGEST_HEADER = 1 << 24
_KEPT, _CHECKSUM = 2, 32
# Saving takes at most so much of the time, however often it is asked for.
_MOST_OF_THE_TIME = 0.015
_ROWS_AT_ONCE = 1 << 14


@dataclass
class State:
    """How far training is: pieces of work done, and what was seen on the way."""

    pieces: int = 0
    history: dict[str, list[float]] = field(default_factory=lambda: {"pairs": [], "log_likelihood": []})
    since_best: int = 0
    best: float = -np.inf


class Stopped(KeyboardInterrupt):
    """Training was asked to end, and its state is saved."""


class Checkpoints:
    """Where the state of a training is kept, how often, and whether to go on from what is there.

    Parameters
    ----------
    folder : path
        Made if it is not there.
    resume : bool
        Go on from the newest state; begin afresh if there is none. Without it, a folder that holds states is refused.
    every : float
        Seconds between two states. Where saving takes long, more pass, so that it never takes over 2 % of the time; 0
        saves after every piece of work, however long that takes.

    Examples
    --------
    >>> import tempfile
    >>> import efge
    >>> folder = tempfile.mkdtemp()
    >>> first = efge.EFGE(dim=4, seed=1).fit([("a", "b"), ("b", "c")], checkpoint=Checkpoints(folder, every=0))
    >>> again = efge.EFGE(dim=4, seed=1).fit([("a", "b"), ("b", "c")], checkpoint=Checkpoints(folder, resume=True))
    >>> again.embedding_ == first.embedding_
    True
    """

    def __init__(self, folder: str | os.PathLike[str], *, resume: bool = False, every: float = 60.0) -> None:
        self.folder = Path(folder)
        self.resume = resume
        self.every = every
        self._identity: dict[str, Any] = {}
        self._stop: int | None = None
        self._last, self._took = time.monotonic(), 0.0

    def seed(self) -> int | None:
        """The seed of the run that is to go on, if there is one."""
        for path in self._paths() if self.resume else []:
            try:
                with path.open("rb") as file:
                    return int(_header(file, path)["identity"]["seed"])
            except (CheckpointError, OSError, KeyError, TypeError, ValueError, OverflowError):
                continue
        return None

    def begin(self, identity: Mapping[str, Any], tables: Iterable[Table]) -> State:
        """Say what is to be trained, fill the tables from the newest state that is whole, and tell how far it is."""
        self._identity = json.loads(json.dumps(dict(identity)))
        for left in self.folder.glob(".state-*"):
            # A run that was killed while it wrote has left this.
            left.unlink(missing_ok=True)
        for path in self._paths():
            try:
                return self._read(path, tables)
            except _DamagedError as error:
                warnings.warn(f"{error}; going on from the one before", RuntimeWarning, stacklevel=2)
        return State()

    def prepare(self) -> None:
        """Make the folder if it is not there; refuse one that is of no use, before any work is done."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not os.access(self.folder, os.W_OK):
            raise PermissionError(errno.EACCES, "no permission to write into the folder", str(self.folder))
        with self.held():
            if self._paths() and not self.resume:
                raise CheckpointError(
                    f"{self.folder} holds the state of an earlier run; resume it (--resume on the command line,"
                    " Checkpoints(folder, resume=True) in Python), or name another folder"
                )

    def _paths(self) -> list[Path]:
        """Files of states, the newest first."""
        found = [path for path in self.folder.glob("state-*.efge") if re.fullmatch(r"state-\d+\.efge", path.name)]
        return sorted(found, key=lambda path: int(path.stem.partition("-")[2]), reverse=True)

    def _read(self, path: Path, tables: Iterable[Table]) -> State:
        with path.open("rb") as raw:
            _check(raw, path)
            raw.seek(0)
            header = _header(raw, path)
            different = [
                f"{name} {header['identity'].get(name)!r}, not {value!r}"
                for name, value in self._identity.items()
                if header["identity"].get(name) != value
            ]
            if different:
                raise CheckpointError(f"{path}: this is the state of another run: {'; '.join(different)}")
            for table in tables:
                _fill(table, raw, path)
            if len(raw.read()) != _CHECKSUM:
                raise CheckpointError(f"{path}: the state is of tables of another size")
        return State(**header["state"])

    def keep(self, state: State, tables: Iterable[Table]) -> None:
        """Save the state if it is time to, or if training is to end, which then it does."""
        now = time.monotonic()
        pause = max(self.every, self._took / _MOST_OF_THE_TIME) if self.every else 0.0
        if self._stop is None and now - self._last < pause:
            return
        path = self.folder / f"state-{state.pieces}.efge"
        try:
            self._write(path, state, tables)
        except FileNotFoundError:
            # Whoever removed the folder meanwhile did not mean to end the run.
            self.folder.mkdir(parents=True, exist_ok=True)
            self._write(path, state, tables)
        self._last = time.monotonic()
        self._took = self._last - now
        if self._stop is not None:
            raise Stopped(self._stop)

    def _write(self, path: Path, state: State, tables: Iterable[Table]) -> None:
        header = json.dumps({"identity": self._identity, "state": asdict(state)}).encode()
        digest = hashlib.sha256(_MARK + header + b"\n")
        with written_whole(path) as stream:
            stream.write(_MARK + header + b"\n")
            for table in tables:
                for begin in range(0, len(table), _ROWS_AT_ONCE):
                    data = table[begin : begin + _ROWS_AT_ONCE].astype("<f4").tobytes()
                    digest.update(data)
                    stream.write(data)
            stream.write(digest.digest())
        for old in self._paths()[_KEPT:]:
            old.unlink(missing_ok=True)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder, which no other run may have meanwhile; what a killed process held is free again."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder) as alone:
            if not alone:
                raise CheckpointError(
                    f"{self.folder} is in use by another run; wait for its end, or name another folder"
                )
            yield

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While training, take a signal to end as a wish to save first; a second one ends at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._asked) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _asked(self, number: int, frame: FrameType | None) -> None:
        if self._stop is not None:
            raise KeyboardInterrupt
        self._stop = number


class _DamagedError(CheckpointError):
    """A state that the disk, not the user, made unusable."""


def _header(file: BinaryIO, path: Path) -> dict[str, Any]:
    if file.readline(len(_MARK)) != _MARK:
        raise _DamagedError(f"{path}: the state is damaged: it does not begin as one")
    try:
        header = from_json(file.readline(_LONGEST_HEADER))
        whole = isinstance(header["identity"], dict) and _is_whole(State(**header["state"]))
    except (ValueError, KeyError, TypeError):
        whole = False
    if not whole:
        raise _DamagedError(f"{path}: the state is damaged: its heading cannot be read")
    found: dict[str, Any] = header
    return found


def _is_whole(state: State) -> bool:
    """Whether a state holds what training goes on with: something was seen if, and only if, something was done."""
    pairs, values = state.history["pairs"], state.history["log_likelihood"]
    if not type(pairs) is type(values) is list or not type(state.pieces) is type(state.since_best) is int:
        return False
    kinds = all(isinstance(value, (int, float)) for value in (state.best, *pairs, *values))
    even = len(state.history) == 2 and len(pairs) == len(values)
    return kinds and even and all(0 <= seen < 1 << 63 for seen in pairs) and bool(pairs) == (state.pieces > 0)


def _check(file: BinaryIO, path: Path) -> None:
    """Refuse a file whose last bytes are not the checksum of all before."""
    digest, held = hashlib.sha256(), b""
    while data := file.read(1 << 20):
        held += data
        digest.update(held[:-_CHECKSUM])
        held = held[-_CHECKSUM:]
    if held != digest.digest():
        raise _DamagedError(f"{path}: the state is damaged or cut short: its checksum is another")


def _fill(table: Table, file: BinaryIO, path: Path) -> None:
    for begin in range(0, len(table), _ROWS_AT_ONCE):
        some = table[begin : begin + _ROWS_AT_ONCE]
        data = file.read(some.size * 4)
        if len(data) != some.size * 4:
            raise CheckpointError(f"{path}: the state is of tables of another size")
        some[:] = np.frombuffer(data, "<f4").reshape(some.shape)


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
