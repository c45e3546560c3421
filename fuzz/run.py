"""Fuzz every reader and loader: `python -m fuzz.run --runs 100000`; exit code 1 if any input failed.

Targets take turns, each in a process of its own, one at a time. An input that takes too long is a hang, one that ends
the process is a crash; both are kept, and the target goes on behind them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fuzz.child import COUNTS, engine, save_failure

ROOT = Path(__file__).resolve().parents[1]
_SECONDS_AN_INPUT = 10.0
# Kernels may have to be compiled first.
_SECONDS_TO_START = 300.0
_MOST_DEATHS = 50
_OUTCOMES = ("inputs", "valid", "refused", "failed", "crashes", "hangs")


class Fuzzing:
    """Runs targets in processes of their own, and knows what has become of all inputs."""

    def __init__(self, options: argparse.Namespace, scratch: Path) -> None:
        self.options = options
        self.scratch = scratch
        self.current = scratch / "current"
        self.failures = options.output / "failures"
        self.corpus = options.output / "corpus"
        self.deadline = time.monotonic() + options.seconds if options.seconds else None

    def fuzz(self, name: str, runs: int, seed: int, total: dict[str, int]) -> None:
        """So many inputs of one target; what became of them is added to the counts."""
        wanted = total["inputs"] + runs
        for attempt in range(_MOST_DEATHS):
            left = wanted - total["inputs"]
            if left <= 0 or self.is_over():
                break
            ended, counts = self._process(name, left, seed + attempt)
            for key, count in zip(_OUTCOMES, counts, strict=False):
                total[key] += count
            if ended in ("crashes", "hangs"):
                total[ended] += 1
                saved = save_failure(self.failures, name, self.current.read_bytes(), f"{ended}\n{self._said()}")
                print(f"{name}: {ended}, see {saved}", flush=True)
            if not counts[0] and ended != "stopped":
                raise SystemExit(f"{name}: it does not start: {self._said()}")

    def is_over(self) -> bool:
        """Whether the time is."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def _process(self, name: str, runs: int, seed: int) -> tuple[str, tuple[int, ...]]:
        """One process; how it ended, and its counts."""
        counts = self.scratch / "counts"
        counts.write_bytes(bytes(COUNTS.size))
        arguments = [name, runs, seed, self.options.engine, counts, self.current, self.failures, self.corpus]
        command = [sys.executable, "-m", "fuzz.child", *map(str, arguments)]
        with (self.scratch / "said").open("wb") as said:
            process = subprocess.Popen(command, cwd=ROOT, env=_environment(), stdout=said, stderr=said)
            try:
                ended = self._watched(process, counts)
            finally:
                process.kill()
                process.wait()
        found = COUNTS.unpack(counts.read_bytes())
        # Which input was at hand when the process ended is known by the counts.
        died = ended == "" and process.returncode != 0 and found[0] > sum(found[1:])
        return "crashes" if died else ended, found

    def _watched(self, process: subprocess.Popen[bytes], counts: Path) -> str:
        """Wait for the end, or bring it about where an input takes too long."""
        seen, since = 0, time.monotonic()
        while process.poll() is None:
            time.sleep(0.2)
            now, begun = time.monotonic(), COUNTS.unpack(counts.read_bytes())[0]
            if begun != seen:
                seen, since = begun, now
            hangs = now - since > (_SECONDS_AN_INPUT if seen else _SECONDS_TO_START)
            if hangs or self.is_over():
                process.kill()
                process.wait()
                return "hangs" if hangs else "stopped"
        return ""

    def _said(self) -> str:
        return (self.scratch / "said").read_bytes()[-2000:].decode("utf-8", "replace")


def _environment() -> dict[str, str]:
    """Kernels check their bounds, which compiled code otherwise does not; so they are compiled apart."""
    own = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(ROOT / ".fuzz" / "compiled"), "PYTHONHASHSEED": "0"}
    return dict(os.environ) | own


def _names() -> list[str]:
    """The targets, as a process of its own sees them, which leaves this one small."""
    code = "import json; from fuzz.targets import TARGETS; print(json.dumps(list(TARGETS)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=_environment(), capture_output=True, check=True)
    names: list[str] = json.loads(done.stdout)
    return names


def _turns(names: list[str], options: argparse.Namespace) -> Iterator[tuple[str, int, int]]:
    """Targets, inputs and seeds, turn by turn, until all inputs have had theirs."""
    share = -(-options.runs // len(names))
    for number, begin in enumerate(range(0, share, options.turn)):
        for name in names:
            yield name, min(options.turn, share - begin), options.seed + _MOST_DEATHS * number


def _table(results: dict[str, dict[str, int]]) -> str:
    columns = list(next(iter(results.values())))
    rows = [["target", *columns], *([name, *map(str, counts.values())] for name, counts in results.items())]
    rows.append(["all", *(str(sum(counts[column] for counts in results.values())) for column in columns)])
    return "\n".join(f"{row[0]:20}" + "".join(f"{cell:>10}" for cell in row[1:]) for row in rows)


def main() -> None:
    """Run the targets and write down what became of their inputs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100_000, help="inputs of all targets together")
    parser.add_argument("--seconds", type=float, help="at most, for all of them")
    parser.add_argument("--turn", type=int, default=10_000, help="inputs of a target before it is another's turn")
    parser.add_argument("--targets", nargs="+", help="these only")
    parser.add_argument("--engine", choices=["auto", "plain"], default="auto", help="plain: without atheris")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=ROOT / ".fuzz", help="where counts and failing inputs are kept")
    options = parser.parse_args()
    # So that a run that is ended leaves no process behind.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    names = options.targets or _names()
    shared = Path("/dev/shm")
    scratch = Path(tempfile.mkdtemp(prefix="efge-fuzz-", dir=shared if shared.is_dir() else None))
    options.output.mkdir(parents=True, exist_ok=True)
    by = "by coverage" if options.engine != "plain" and engine() is not None else "by chance"
    results = {name: dict.fromkeys(_OUTCOMES, 0) for name in names}
    begin = time.monotonic()
    try:
        fuzzing = Fuzzing(options, scratch)
        for name, runs, seed in _turns(names, options):
            fuzzing.fuzz(name, runs, seed, results[name])
            print(f"{name}: {results[name]}", flush=True)
            record: dict[str, Any] = {"mutations": by, "seconds": round(time.monotonic() - begin), "targets": results}
            (options.output / "record.json").write_text(json.dumps(record, indent=1) + "\n")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(_table(results))
    sys.exit(any(counts["failed"] + counts["crashes"] + counts["hangs"] for counts in results.values()))


if __name__ == "__main__":
    main()
