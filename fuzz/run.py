"""Fuzz every reader and loader: `python -m fuzz.run --runs 100000`; exit code 1 if any input failed.

Targets take turns, each in its own process, one at a time. An input that takes too long is a hang, one that ends the
process is a crash; both are saved, and the target continues with the next input.
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

from fuzz.child import COUNTS, load_atheris, save_failure

ROOT = Path(__file__).resolve().parents[1]
_SECONDS_PER_INPUT = 10.0
# Kernels may have to be compiled first.
_SECONDS_TO_START = 300.0
_MAX_RESTARTS = 50
_OUTCOMES = ("inputs", "valid", "rejected", "failed", "crashes", "hangs")


class Fuzzer:
    """Runs targets in their own processes, and counts the outcomes."""

    def __init__(self, options: argparse.Namespace, scratch: Path) -> None:
        self.options = options
        self.scratch = scratch
        self.current = scratch / "current"
        self.failures = options.output / "failures"
        self.corpus = options.output / "corpus"
        self.deadline = time.monotonic() + options.seconds if options.seconds else None

    def fuzz(self, name: str, runs: int, seed: int, total: dict[str, int]) -> None:
        """Try `runs` inputs of one target, and add the outcomes to `total`."""
        goal = total["inputs"] + runs
        for attempt in range(_MAX_RESTARTS):
            remaining = goal - total["inputs"]
            if remaining <= 0 or self.is_over():
                break
            ended, counts = self._run_process(name, remaining, seed + attempt)
            for key, count in zip(_OUTCOMES, counts, strict=False):
                total[key] += count
            # On a busy machine, a process may be ended before it has begun.
            if ended in ("crashes", "hangs") and self.current.exists():
                total[ended] += 1
                saved = save_failure(self.failures, name, self.current.read_bytes(), f"{ended}\n{self._output()}")
                print(f"{name}: {ended}, see {saved}", flush=True)
            if not counts[0] and ended != "stopped":
                raise SystemExit(f"{name}: the process does not start: {self._output()}")

    def is_over(self) -> bool:
        """Whether the time limit is reached."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def _run_process(self, name: str, runs: int, seed: int) -> tuple[str, tuple[int, ...]]:
        """Run one process; return how it ended, and its counts."""
        counts = self.scratch / "counts"
        counts.write_bytes(bytes(COUNTS.size))
        arguments = [name, runs, seed, self.options.engine, counts, self.current, self.failures, self.corpus]
        command = [sys.executable, "-m", "fuzz.child", *map(str, arguments)]
        with (self.scratch / "output").open("wb") as output:
            process = subprocess.Popen(command, cwd=ROOT, env=_environment(), stdout=output, stderr=output)
            try:
                ended = self._wait(process, counts)
            finally:
                process.kill()
                process.wait()
        outcomes = COUNTS.unpack(counts.read_bytes())
        # If an input was started but has no outcome, it ended the process.
        crashed = ended == "" and process.returncode != 0 and outcomes[0] > sum(outcomes[1:])
        return "crashes" if crashed else ended, outcomes

    def _wait(self, process: subprocess.Popen[bytes], counts: Path) -> str:
        """Wait for the process to end; kill it if an input takes too long, or at the time limit."""
        started, since = 0, time.monotonic()
        while process.poll() is None:
            time.sleep(0.2)
            now, count = time.monotonic(), COUNTS.unpack(counts.read_bytes())[0]
            if count != started:
                started, since = count, now
            hangs = now - since > (_SECONDS_PER_INPUT if started else _SECONDS_TO_START)
            if hangs or self.is_over():
                process.kill()
                process.wait()
                return "hangs" if hangs else "stopped"
        return ""

    def _output(self) -> str:
        return (self.scratch / "output").read_bytes()[-2000:].decode("utf-8", "replace")


def _environment() -> dict[str, str]:
    """Return an environment in which kernels check array bounds, with a separate cache of compiled code."""
    added = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(ROOT / ".fuzz" / "compiled"), "PYTHONHASHSEED": "0"}
    return dict(os.environ) | added


def _target_names() -> list[str]:
    """Return all targets, listed by another process, which keeps this one small."""
    code = "import json; from fuzz.targets import TARGETS; print(json.dumps(list(TARGETS)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=_environment(), capture_output=True, check=True)
    names: list[str] = json.loads(done.stdout)
    return names


def _schedule(names: list[str], options: argparse.Namespace) -> Iterator[tuple[str, int, int]]:
    """Yield targets, numbers of inputs and seeds, such that the targets take turns."""
    runs = -(-options.runs // len(names))
    step = options.inputs_per_turn
    for number, start in enumerate(range(0, runs, step)):
        for name in names:
            yield name, min(step, runs - start), options.seed + _MAX_RESTARTS * number


def _table(results: dict[str, dict[str, int]]) -> str:
    columns = list(next(iter(results.values())))
    rows = [["target", *columns], *([name, *map(str, counts.values())] for name, counts in results.items())]
    rows.append(["all", *(str(sum(counts[column] for counts in results.values())) for column in columns)])
    return "\n".join(f"{row[0]:20}" + "".join(f"{cell:>10}" for cell in row[1:]) for row in rows)


def main() -> None:
    """Run the targets and record the outcomes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100_000, help="number of inputs of all targets together")
    parser.add_argument("--seconds", type=float, help="time limit of the whole run")
    parser.add_argument("--inputs-per-turn", type=int, default=10_000, help="inputs of a target before the next one")
    parser.add_argument("--targets", nargs="+", help="only these targets")
    parser.add_argument("--engine", choices=["auto", "plain"], default="auto", help="plain: do not use atheris")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--output", type=Path, default=ROOT / ".fuzz", help="folder of the record and of failing inputs"
    )
    options = parser.parse_args()
    # A run that is terminated leaves no process behind.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    names = options.targets or _target_names()
    shared = Path("/dev/shm")
    scratch = Path(tempfile.mkdtemp(prefix="efge-fuzz-", dir=shared if shared.is_dir() else None))
    options.output.mkdir(parents=True, exist_ok=True)
    guidance = "coverage" if options.engine != "plain" and load_atheris() is not None else "random"
    results = {name: dict.fromkeys(_OUTCOMES, 0) for name in names}
    start = time.monotonic()
    try:
        fuzzer = Fuzzer(options, scratch)
        for name, runs, seed in _schedule(names, options):
            fuzzer.fuzz(name, runs, seed, results[name])
            print(f"{name}: {results[name]}", flush=True)
            seconds = round(time.monotonic() - start)
            record: dict[str, Any] = {"mutations": guidance, "seconds": seconds, "targets": results}
            (options.output / "record.json").write_text(json.dumps(record, indent=1) + "\n")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(_table(results))
    sys.exit(any(counts["failed"] + counts["crashes"] + counts["hangs"] for counts in results.values()))


if __name__ == "__main__":
    main()
