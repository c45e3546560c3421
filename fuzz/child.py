"""One target in a process of its own: inputs by coverage where atheris is installed, by chance where it is not.

The process may die of an input, be killed over one, or be ended by libFuzzer at any time; so counts live in a file that
is mapped into memory, and the input at hand is written down before it is read.
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

COUNTS = struct.Struct("<4Q")  # begun, valid, refused, failed
_MEMORY = 2 << 30
_SAVED_ALIKE = 3
_INSTRUMENTED = ["efge", "networkx.readwrite"]


def engine() -> Any:
    """Atheris, or None where there is none."""
    try:
        return importlib.import_module("atheris")
    except ImportError:
        return None


def load_targets(atheris: Any) -> dict[str, Target]:
    """The targets; with atheris, the readers' modules tell which of their branches an input takes."""
    if atheris is None:
        return importlib.import_module("fuzz.targets").TARGETS  # type: ignore[no-any-return]
    # Kernels are compiled from their bytecode, which must stay as it is.
    kernels = importlib.import_module("efge.kernels")
    for module in pkgutil.iter_modules(kernels.__path__):
        importlib.import_module(f"efge.kernels.{module.name}")
    with atheris.instrument_imports(include=_INSTRUMENTED):
        return importlib.import_module("fuzz.targets").TARGETS  # type: ignore[no-any-return]


class Runner:
    """Reads inputs of one target and counts what becomes of them."""

    def __init__(self, target: Target, counts: mmap.mmap, current: Path, failures: Path, corpus: Path) -> None:
        self.target = target
        self.counts = counts
        self.current = current
        self.failures = failures
        self.corpus = corpus / target.name.replace(" ", "-")
        self.folder = Path(tempfile.mkdtemp(dir=current.parent))
        self.alike: Counter[str] = Counter()
        self.seeds = target.seeds()
        for seed in self.seeds:
            if target.outcome(seed, self.folder) != "valid":
                raise SystemExit(f"{target.name}: a seed is not valid")

    def __call__(self, data: bytes) -> None:
        """Read an input; whatever it raises is a failure, and saved."""
        begun, valid, refused, failed = COUNTS.unpack(self.counts[: COUNTS.size])
        self.current.write_bytes(data)
        self._count(begun + 1, valid, refused, failed)
        try:
            outcome = self.target.outcome(bytes(data), self.folder)
            self._count(begun + 1, valid + (outcome == "valid"), refused + (outcome == "refused"), failed)
        except Exception as error:
            self._count(begun + 1, valid, refused, failed + 1)
            self._save(bytes(data), error)

    def _count(self, *counts: int) -> None:
        self.counts[: COUNTS.size] = COUNTS.pack(*counts)

    def _save(self, data: bytes, error: Exception) -> None:
        place = traceback.extract_tb(error.__traceback__)[-1]
        kind = f"{type(error).__name__} {Path(place.filename).name} {place.lineno}"
        self.alike[kind] += 1
        if self.alike[kind] <= _SAVED_ALIKE:
            save_failure(self.failures, self.target.name, data, "".join(traceback.format_exception(error)))


def save_failure(folder: Path, target: str, data: bytes, said: str) -> Path:
    """Keep an input, and beside it what was said of it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{target.replace(' ', '-')}-{hashlib.sha256(data).hexdigest()[:12]}"
    path.write_bytes(data)
    path.with_name(path.name + ".txt").write_text(said, encoding="utf-8", errors="backslashreplace")
    return path


def _limit_memory() -> None:
    """Leave some memory beside what the process has now; more than that no input needs."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * os.sysconf("SC_PAGE_SIZE") + _MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    except (ImportError, OSError, ValueError):
        print("there is no limit to the memory here", file=sys.stderr)


def _by_chance(runner: Runner, runs: int, seed: int) -> None:
    from fuzz.mutations import mutated

    random = Random(seed)
    for _ in range(runs):
        runner(mutated(random.choice(runner.seeds), runner.seeds, random, runner.target.wrapping))


def _by_coverage(atheris: Any, runner: Runner, runs: int, seed: int) -> None:
    """Half of the mutations are libFuzzer's own, inside of what is wrapped or outside; half are ours."""
    from fuzz.mutations import LONGEST, inside, mutated

    def mutate(data: bytes, longest: int, number: int) -> bytes:
        random, wrapping = Random(number), runner.target.wrapping
        if random.random() < 0.5:
            return mutated(data, runner.seeds, random, wrapping)[:longest]
        if wrapping is not None and random.random() < 0.6:
            return inside(data, random, wrapping, lambda part: bytes(atheris.Mutate(part, LONGEST)))[:longest]
        return bytes(atheris.Mutate(data, longest))

    runner.corpus.mkdir(parents=True, exist_ok=True)
    for number, one in enumerate(runner.seeds):
        (runner.corpus / f"seed-{number}").write_bytes(one)
    # Time and memory are watched from outside, and in the same way everywhere.
    limits = [
        "-timeout=1000000",
        "-rss_limit_mb=0",
        f"-max_len={LONGEST}",
        "-verbosity=0",
        f"-artifact_prefix={runner.folder}/",
    ]
    atheris.Setup(
        [sys.argv[0], f"-runs={runs}", f"-seed={seed}", *limits, str(runner.corpus)], runner, custom_mutator=mutate
    )
    atheris.Fuzz()


def main(arguments: Sequence[str]) -> None:
    """Arguments: target, runs, seed, engine; file of counts, of the input at hand; folders of failures and corpora."""
    name, runs, seed, wanted, counts, current, failures, corpus = arguments
    atheris = engine() if wanted != "plain" else None
    target = load_targets(atheris)[name]
    with Path(counts).open("r+b") as file, mmap.mmap(file.fileno(), COUNTS.size) as mapped:
        runner = Runner(target, mapped, Path(current), Path(failures), Path(corpus))
        _limit_memory()
        if atheris is None:
            _by_chance(runner, int(runs), int(seed))
        else:
            _by_coverage(atheris, runner, int(runs), int(seed))


if __name__ == "__main__":
    main(sys.argv[1:])
