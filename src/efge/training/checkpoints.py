"""Checkpoints: training state in files that are complete or absent, and how a later run resumes from them.

A checkpoint file holds a line of JSON (which run it belongs to, and how far training is), the tables of vectors, and a
checksum of everything before it. The file is written under a temporary name, flushed to the disk, and renamed. The last
two checkpoints are kept, so that training can resume from the older one if the disk damages the newer one.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
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
from efge.errors import CheckpointError, check_folder_path, is_number
from efge.families.base import Family
from efge.io.atomic import atomic_write
from efge.io.files import parse_json
from efge.io.scratch import clear_scratch, lock_folder
from efge.system import cpu_features, handle_signals
from efge.training.corpus import Source

Table = npt.NDArray[np.float32]

_MAGIC = b"efge checkpoint 3\n"
_MAX_HEADER_BYTES = 1 << 24
_FILES_KEPT, _CHECKSUM_BYTES = 2, 32
# Saving takes about this fraction of the time at most, however short the interval between checkpoints is; a save that
# takes longer than the one before may exceed it, and 2 % are promised.
_MAX_TIME_FRACTION = 0.015
_ROWS_PER_CHUNK = 1 << 14


@dataclass
class TrainingState:
    """How far training is: chunks of work done, held-out evaluations so far, and the course of the learning rate."""

    chunks_done: int = 0
    history: dict[str, list[float]] = field(default_factory=lambda: {"pairs": [], "log_likelihood": []})
    evaluations_since_best: int = 0
    best_log_likelihood: float = -np.inf
    # If the number of walks follows from the evaluations: the step from which on the learning rate falls, and whether
    # that is because training has converged, or because the walks come to an end.
    decay_start: int | None = None
    converged: bool | None = None


class TrainingInterrupt(KeyboardInterrupt):
    """A signal asked training to stop, and a checkpoint has been saved."""


class Checkpoints:
    """The folder where training saves checkpoints, how often it does, and whether it resumes from one.

    Parameters
    ----------
    folder : path
        Created if it does not exist.
    resume : bool
        Resume from the newest checkpoint; start from the beginning if there is none. Without it, a folder that
        contains checkpoints is refused.
    every : float
        Seconds between two checkpoints. Where saving is slow, the interval grows, so that saving never takes more than
        2 % of the time. With 0, a checkpoint is saved after every chunk of work, however long that takes.

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
        check_folder_path("folder", folder, required=True)
        self.folder = Path(folder)
        self.resume = resume
        self.every = every
        self._run_identity: dict[str, Any] = {}
        self._signal: int | None = None
        self._last_save, self._save_seconds = time.monotonic(), 0.0

    def seed(self) -> int | None:
        """Return the seed of the run to resume, or None if there is no such run."""
        for path in self._paths() if self.resume else []:
            try:
                with path.open("rb") as file:
                    return int(_read_header(file, path)["run_identity"]["seed"])
            except (CheckpointError, OSError, KeyError, TypeError, ValueError, OverflowError):
                continue
        return None

    def prepare(self) -> None:
        """Create the folder if it does not exist; refuse one that cannot be used, before any work is done."""
        if not (is_number(self.every) and self.every >= 0):
            raise ValueError(f"every is a number of seconds from 0 on; got {self.every!r}")
        self._create_folder()
        if not os.access(self.folder, os.W_OK):
            raise PermissionError(errno.EACCES, "no permission to write into the folder", str(self.folder))
        with self.lock():
            if self._paths() and not self.resume:
                raise CheckpointError(
                    f"{self.folder} contains checkpoints of an earlier run; resume it (--resume on the command line,"
                    " Checkpoints(folder, resume=True) in Python), or name another folder"
                )

    def restore(self, run_identity: Mapping[str, Any], tables: Iterable[Table]) -> TrainingState:
        """Fill the tables from the newest undamaged checkpoint of this run, and return how far it is."""
        self._run_identity = json.loads(json.dumps(dict(run_identity)))
        clear_scratch(self.folder)
        for path in self._paths():
            try:
                return self._read(path, tables)
            except _DamagedError as error:
                warnings.warn(f"{error}; trying the checkpoint before it", RuntimeWarning, stacklevel=2)
        return TrainingState()

    def save_if_due(self, state: TrainingState, tables: Iterable[Table]) -> None:
        """Save a checkpoint if it is time to; after a signal, save one and raise TrainingInterrupt."""
        start = time.monotonic()
        interval = max(self.every, self._save_seconds / _MAX_TIME_FRACTION) if self.every else 0.0
        if self._signal is None and start - self._last_save < interval:
            return
        path = self.folder / f"checkpoint-{state.chunks_done}.efge"
        try:
            self._write(path, state, tables)
        except FileNotFoundError:
            # Whoever removed the folder in the meantime did not mean to end the run.
            self._create_folder()
            self._write(path, state, tables)
        self._last_save = time.monotonic()
        self._save_seconds = self._last_save - start
        if self._signal is not None:
            raise TrainingInterrupt(self._signal)

    def exist(self) -> bool:
        """Return whether the folder has a checkpoint to resume from."""
        return bool(self._paths())

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the folder against other runs; the lock of a killed process is released by the system."""
        self._create_folder()
        with lock_folder(self.folder) as acquired:
            if not acquired:
                raise CheckpointError(
                    f"{self.folder} is in use by another run; wait until it ends, or name another folder"
                )
            yield

    @contextmanager
    def save_on_signal(self) -> Iterator[None]:
        """On a signal to stop, let training save a checkpoint before it does; a second signal stops it at once."""
        with handle_signals(self._handle_signal):
            yield

    def _handle_signal(self, number: int, frame: FrameType | None) -> None:
        if self._signal is not None:
            raise KeyboardInterrupt
        self._signal = number

    def _create_folder(self) -> None:
        """Create the folder if it does not exist, for this user alone: vectors may say much about a private graph."""
        self.folder.mkdir(0o700, parents=True, exist_ok=True)

    def _paths(self) -> list[Path]:
        """Return the checkpoint files, newest first."""
        pattern = re.compile(r"checkpoint-\d+\.efge")
        paths = [path for path in self.folder.glob("checkpoint-*.efge") if pattern.fullmatch(path.name)]
        return sorted(paths, key=lambda path: int(path.stem.partition("-")[2]), reverse=True)

    def _read(self, path: Path, tables: Iterable[Table]) -> TrainingState:
        with path.open("rb") as file:
            _verify_checksum(file, path)
            file.seek(0)
            header = _read_header(file, path)
            self._check_identity(header["run_identity"], path)
            _warn_about_cpu(header.get("cpu"), path)
            for table in tables:
                _read_table(table, file, path)
            if len(file.read()) != _CHECKSUM_BYTES:
                raise CheckpointError(f"{path}: the tables in the checkpoint have a different size")
        return TrainingState(**header["state"])

    def _check_identity(self, saved: dict[str, Any], path: Path) -> None:
        differences = [
            f"{name} {saved.get(name)!r}, not {value!r}"
            for name, value in self._run_identity.items()
            if saved.get(name) != value
        ]
        if differences:
            raise CheckpointError(f"{path}: this checkpoint belongs to another run: {'; '.join(differences)}")

    def _write(self, path: Path, state: TrainingState, tables: Iterable[Table]) -> None:
        content = {"run_identity": self._run_identity, "state": asdict(state), "cpu": cpu_features()}
        header = json.dumps(content).encode()
        digest = hashlib.sha256(_MAGIC + header + b"\n")
        with atomic_write(path) as stream:
            stream.write(_MAGIC + header + b"\n")
            for table in tables:
                for begin in range(0, len(table), _ROWS_PER_CHUNK):
                    data = table[begin : begin + _ROWS_PER_CHUNK].astype("<f4").tobytes()
                    digest.update(data)
                    stream.write(data)
            stream.write(digest.digest())
        for old in self._paths()[_FILES_KEPT:]:
            old.unlink(missing_ok=True)


def _warn_about_cpu(saved: Any, path: Path) -> None:
    """Warn if a checkpoint is from a processor for which the compiler makes other machine code."""
    if saved == cpu_features():
        return
    warnings.warn(
        f"{path}: this checkpoint was made on a processor with other features; training continues, but the result may"
        " differ in the last bits from that of a run on one processor",
        RuntimeWarning,
        stacklevel=2,
    )


class _DamagedError(CheckpointError):
    """A checkpoint that cannot be used because its file is damaged, not because the user chose a wrong one."""


def _read_header(file: BinaryIO, path: Path) -> dict[str, Any]:
    if file.readline(len(_MAGIC)) != _MAGIC:
        raise _DamagedError(f"{path}: the checkpoint is damaged: it does not start with {_MAGIC.strip().decode()!r}")
    try:
        header: dict[str, Any] = parse_json(file.readline(_MAX_HEADER_BYTES))
        valid = isinstance(header["run_identity"], dict) and _is_valid(TrainingState(**header["state"]))
    except (ValueError, KeyError, TypeError):
        valid = False
    if not valid:
        raise _DamagedError(f"{path}: the checkpoint is damaged: its header cannot be read")
    return header


def _is_valid(state: TrainingState) -> bool:
    """Return whether training can resume from a state: there are evaluations if, and only if, work was done."""
    pairs, values = state.history["pairs"], state.history["log_likelihood"]
    counters: tuple[Any, ...] = state.chunks_done, state.evaluations_since_best
    counters += () if state.decay_start is None else (state.decay_start,)
    if not type(pairs) is type(values) is list or any(type(counter) is not int for counter in counters):
        return False
    if state.converged not in (None, False, True):
        return False
    numeric = all(isinstance(value, (int, float)) for value in (state.best_log_likelihood, *pairs, *values))
    complete = len(state.history) == 2 and len(pairs) == len(values)
    return numeric and complete and all(0 <= n < 1 << 63 for n in pairs) and bool(pairs) == (state.chunks_done > 0)


def _verify_checksum(file: BinaryIO, path: Path) -> None:
    """Refuse a file whose last bytes are not the checksum of everything before them."""
    digest, pending = hashlib.sha256(), b""
    while data := file.read(1 << 20):
        pending += data
        digest.update(pending[:-_CHECKSUM_BYTES])
        pending = pending[-_CHECKSUM_BYTES:]
    if pending != digest.digest():
        raise _DamagedError(f"{path}: the checkpoint is damaged or truncated: its checksum does not match")


def _read_table(table: Table, file: BinaryIO, path: Path) -> None:
    for begin in range(0, len(table), _ROWS_PER_CHUNK):
        rows = table[begin : begin + _ROWS_PER_CHUNK]
        data = file.read(rows.size * 4)
        if len(data) != rows.size * 4:
            raise CheckpointError(f"{path}: the tables in the checkpoint have a different size")
        rows[:] = np.frombuffer(data, "<f4").reshape(rows.shape)


class CheckpointManager:
    """Checkpoints of a training run, or none: without them, every method does nothing."""

    def __init__(self, checkpoints: Checkpoints | None, run_identity: Callable[[], dict[str, Any]]) -> None:
        self.checkpoints = checkpoints
        self.run_identity = run_identity
        self.restored_chunks = 0

    def restore(self, tables: Iterable[Table]) -> TrainingState:
        """Fill the tables from a checkpoint if there is one, and return how far training is."""
        if self.checkpoints is None:
            return TrainingState()
        state = self.checkpoints.restore(self.run_identity(), tables)
        self.restored_chunks = state.chunks_done
        return state

    def save_if_due(self, state: TrainingState, tables: Iterable[Table]) -> None:
        """Save a checkpoint if it is time to; the tables are iterated over only then."""
        if self.checkpoints is not None:
            self.checkpoints.save_if_due(state, tables)

    @contextmanager
    def session(self) -> Iterator[None]:
        """While training, lock the folder, and save a checkpoint before a signal stops the run."""
        if self.checkpoints is None:
            yield
            return
        with self.checkpoints.lock(), self.checkpoints.save_on_signal():
            yield


def run_identity(
    walks: Source, visits: npt.NDArray[np.int64], family: Family, settings: dict[str, Any]
) -> dict[str, Any]:
    """Return everything that the result depends on, by name: only a run with the same values may resume."""
    described = {"version": __version__, "graph": walks.graph.fingerprint(), "family": repr(family)}
    digest = {"visits": hashlib.sha256(visits.astype("<i8").tobytes()).hexdigest()}
    return described | walks.describe() | settings | digest
