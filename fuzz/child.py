"""Fuzz one target in its own process: inputs are guided by coverage if atheris is installed, and random otherwise.

An input may crash the process or get it killed, and libFuzzer may end it at any time. So the counts are in a file that
is mapped into memory, and every input is saved before it is read.
"""

from __future__ import annotations

import hashlib
import importlib
import mmap
import os
import pkgutil
import struct
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fuzz.targets import Target

COUNTS = struct.Struct("<4Q")  # started, valid, rejected, failed
_MEMORY_LIMIT = 2 << 30
_MAX_SAVED_PER_KIND = 3
_INSTRUMENTED = ["efge", "networkx.readwrite"]


def load_atheris() -> Any:
    """Return the module atheris, or None if it is not installed."""
    try:
        return importlib.import_module("atheris")
    except ImportError:
        return None


def load_targets(atheris: Any) -> dict[str, Target]:
    """Return the targets; with atheris, the modules of the readers are instrumented for coverage."""
    if atheris is None:
        return importlib.import_module("fuzz.targets").TARGETS  # type: ignore[no-any-return]
    # Kernels are compiled from their bytecode, which must not be instrumented.
    kernels = importlib.import_module("efge.kernels")
    for module in pkgutil.iter_modules(kernels.__path__):
        importlib.import_module(f"efge.kernels.{module.name}")
    with atheris.instrument_imports(include=_INSTRUMENTED):
        return importlib.import_module("fuzz.targets").TARGETS  # type: ignore[no-any-return]


class Runner:
    """Reads inputs of one target and counts the outcomes."""

    def __init__(self, target: Target, counts: mmap.mmap, current: Path, failures: Path, corpus: Path) -> None:
        self.target = target
        self.counts = counts
        self.current = current
        self.failures = failures
        self.corpus = corpus / target.name.replace(" ", "-")
        self.folder = Path(tempfile.mkdtemp(dir=current.parent))
        self.saved: Counter[str] = Counter()
        self.seeds = target.seeds()
        for seed in self.seeds:
            if target.outcome(seed, self.folder) != "valid":
                raise SystemExit(f"{target.name}: a seed is not valid")

    def __call__(self, data: bytes) -> None:
        """Read an input; any other exception than our own errors is a failure, and the input is saved."""
        started, valid, rejected, failed = COUNTS.unpack(self.counts[: COUNTS.size])
        self.current.write_bytes(data)
        self._count(started + 1, valid, rejected, failed)
        try:
            outcome = self.target.outcome(bytes(data), self.folder)
            self._count(started + 1, valid + (outcome == "valid"), rejected + (outcome == "rejected"), failed)
        except Exception as error:
            self._count(started + 1, valid, rejected, failed + 1)
            self._save(bytes(data), error)

    def _count(self, *counts: int) -> None:
        self.counts[: COUNTS.size] = COUNTS.pack(*counts)

    def _save(self, data: bytes, error: Exception) -> None:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        kind = f"{type(error).__name__} {Path(frame.filename).name} {frame.lineno}"
        self.saved[kind] += 1
        if self.saved[kind] <= _MAX_SAVED_PER_KIND:
            save_failure(self.failures, self.target.name, data, "".join(traceback.format_exception(error)))


def save_failure(folder: Path, target: str, data: bytes, report: str) -> Path:
    """Save an input, and a report beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{target.replace(' ', '-')}-{hashlib.sha256(data).hexdigest()[:12]}"
    path.write_bytes(data)
    path.with_name(path.name + ".txt").write_text(report, encoding="utf-8", errors="backslashreplace")
    return path


def _limit_memory() -> None:
    """Limit the memory to what the process has now and a fixed amount, which no input needs to exceed."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * os.sysconf("SC_PAGE_SIZE") + _MEMORY_LIMIT
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    except (ImportError, OSError, ValueError):
        print("the memory cannot be limited on this system", file=sys.stderr)


def _run_random(runner: Runner, runs: int, seed: int) -> None:
    from fuzz.mutations import mutated

    random = Random(seed)
    for _ in range(runs):
        runner(mutated(random.choice(runner.seeds), runner.seeds, random, runner.target.wrapping))


def _run_guided(atheris: Any, runner: Runner, runs: int, seed: int) -> None:
    """Let coverage guide the inputs; half of the mutations are libFuzzer's, also within wrappings, half are ours."""
    from fuzz.mutations import MAX_LENGTH, mutate_inside, mutated

    def mutate(data: bytes, max_length: int, number: int) -> bytes:
        random, wrapping = Random(number), runner.target.wrapping
        if random.random() < 0.5:
            return mutated(data, runner.seeds, random, wrapping)[:max_length]
        if wrapping is not None and random.random() < 0.6:
            changed = mutate_inside(data, random, wrapping, lambda part: bytes(atheris.Mutate(part, MAX_LENGTH)))
            return changed[:max_length]
        return bytes(atheris.Mutate(data, max_length))

    runner.corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(runner.seeds):
        (runner.corpus / f"seed-{number}").write_bytes(data)
    # Time and memory are limited from outside, in the same way with and without atheris.
    limits = [
        "-timeout=1000000",
        "-rss_limit_mb=0",
        f"-max_len={MAX_LENGTH}",
        "-verbosity=0",
        f"-artifact_prefix={runner.folder}/",
    ]
    atheris.Setup(
        [sys.argv[0], f"-runs={runs}", f"-seed={seed}", *limits, str(runner.corpus)], runner, custom_mutator=mutate
    )
    atheris.Fuzz()


def main(arguments: Sequence[str]) -> None:
    """Arguments: target, runs, seed, engine; files of counts and the current input; folders of failures and corpora."""
    name, runs, seed, engine, counts, current, failures, corpus = arguments
    atheris = load_atheris() if engine != "plain" else None
    target = load_targets(atheris)[name]
    with Path(counts).open("r+b") as file, mmap.mmap(file.fileno(), COUNTS.size) as mapped_counts:
        runner = Runner(target, mapped_counts, Path(current), Path(failures), Path(corpus))
        _limit_memory()
        if atheris is None:
            _run_random(runner, int(runs), int(seed))
        else:
            _run_guided(atheris, runner, int(runs), int(seed))


if __name__ == "__main__":
    main(sys.argv[1:])
