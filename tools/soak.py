"""Try for an hour to break what the project promises, and write one table of what was tried and what failed.

    python tools/soak.py [--minutes 60] [--only interrupts,kills]

Each trial runs for its part of the time. Its counts are added to those of the same day in
benchmarks/results/soak.json, which `make figures` shows in docs/reliability.md.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
from records import Cell, load, save  # noqa: E402

# Prints a line when signals are handled.
STARTED = """
from efge.cli import main
from efge.cli.stopping import Stopper

install = Stopper.install
Stopper.install = lambda stopper: (install(stopper), print(flush=True))
main()
"""
EMBED = ["embed", "graph.txt", "-o", "v.npz", "--dim", "32", "--seed", "1", "--quiet", "--force"]
KEPT = ["--checkpoint", "checkpoints", "--resume", "--every", "0s"]
# Trials that were made and trials that failed.
Counts = tuple[int, int]


def _prepare(folder: Path, nodes: int) -> None:
    chance = random.Random(1)
    edges = [f"{node} {chance.randrange(node)}\n" for node in range(1, nodes) for _ in range(2)]
    (folder / "graph.txt").write_text("".join(edges))


def _report(trial: str, details: object) -> None:
    print(f"{trial}: {details}", flush=True)


def interrupts(folder: Path, deadline: float) -> Counts:
    """Stop a command at random moments by SIGINT, SIGTERM or SIGHUP: exit code 130, one line, nothing left."""
    _prepare(folder, 600)
    tried = failed = 0
    while time.monotonic() < deadline:
        number = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[tried % 3]
        command = [sys.executable, "-c", STARTED, *EMBED, "--walks-per-node", "100000", "--threads", "1"]
        command += [[], ["--partitions", "3", "--workdir", "work"], KEPT][tried // 3 % 3]
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(random.random() * 4)
        process.send_signal(number)
        message = process.communicate()[1]
        left = [path.name for path in folder.rglob("*.efge-tmp")]
        # The interpreter ends by the signal if the interrupt passed through generated code; a shell shows 130, too.
        good = process.returncode in (130, -signal.SIGINT) and message.count("\n") == 1 and not left
        tried, failed = tried + 1, failed + (not good)
        if not good:
            _report("interrupts", (number, process.returncode, message, left))
        shutil.rmtree(folder / "checkpoints", ignore_errors=True)
    return tried, failed


def kills(folder: Path, deadline: float) -> Counts:
    """Kill and resume a training: it ends in the same bytes, and what a kill leaves is deleted by the next run."""
    _prepare(folder, 1500)
    command = [sys.executable, "-m", "efge", *EMBED, "--walks-per-node", "20", *KEPT]
    subprocess.run(command, cwd=folder, check=True)
    expected = (folder / "v.npz").read_bytes()
    shutil.rmtree(folder / "checkpoints")
    tried = failed = 0
    while time.monotonic() < deadline:
        process = subprocess.Popen(command, cwd=folder)
        time.sleep(random.random() * 8)
        process.kill()
        process.wait()
        tried += 1
        if process.returncode == 0:
            shutil.rmtree(folder / "checkpoints")
        failed += (folder / "v.npz").read_bytes() != expected
    done = subprocess.run(command, cwd=folder, check=False)
    left = list(folder.rglob("*.efge-tmp"))
    wrong = done.returncode != 0 or (folder / "v.npz").read_bytes() != expected or left != []
    return tried, failed + wrong


def disks(folder: Path, deadline: float) -> Counts:
    """Train in partitions on disks of random sizes: success, or one line and exit code 2; nothing left."""
    _prepare(folder, 5000)
    disk = folder / "disk"
    disk.mkdir()
    tried = failed = 0
    while time.monotonic() < deadline:
        size = random.randrange(256, 12_000)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", disk], check=False).returncode:
            _report("disks", "only root can mount a small disk")
            break
        command = [sys.executable, "-m", "efge", *EMBED, "--walks-per-node", "1", "--partitions", "4"]
        command += ["--workdir", "disk"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        one_line = done.returncode == 2 and done.stderr.count("\n") == 1 and "efge: disk: " in done.stderr
        good = (done.returncode == 0 or one_line) and not any(disk.iterdir())
        subprocess.run(["umount", disk], check=True)
        tried, failed = tried + 1, failed + (not good)
        if not good:
            _report("disks", (size, done.returncode, done.stderr))
    return tried, failed


def fuzzing(folder: Path, deadline: float) -> Counts:
    """Give every reader hostile input."""
    tried = failed = 0
    while time.monotonic() < deadline:
        command = [sys.executable, "-m", "fuzz.run", "--runs", "2000", "--output", str(folder)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        tried, failed = tried + 2000, failed + (done.returncode != 0)
        if done.returncode:
            _report("fuzzing", done.stdout[-2000:] + done.stderr[-2000:])
    return tried, failed


def mutants(folder: Path, deadline: float) -> Counts:
    """Change the code: tests notice."""
    minutes = max((deadline - time.monotonic()) / 60, 0.1)
    command = [sys.executable, str(ROOT / "tools" / "mutants.py"), "--minutes", str(minutes)]
    done = subprocess.run(
        [*command, "--seed", str(random.randrange(10**6))], capture_output=True, text=True, check=True
    )
    print(done.stdout, end="")
    counts = re.search(r"(\d+) of (\d+) changes were noticed", done.stdout)
    return (0, 0) if counts is None else (int(counts[2]), int(counts[2]) - int(counts[1]))


TRIALS: dict[str, Callable[[Path, float], Counts]] = {
    "interrupts": interrupts,
    "kills": kills,
    "disks": disks,
    "fuzzing": fuzzing,
    "mutants": mutants,
}


def add_counts(rows: list[list[Cell]], row: list[Any]) -> list[Cell]:
    """Return a row with the counts of the same trial on the same day added, if the record has one."""
    *about, tried, failed, minutes = row
    for _, _, _, tried_before, failed_before, minutes_before in [old for old in rows if old[:2] == row[:2]]:
        tried, failed, minutes = tried + tried_before, failed + failed_before, minutes + minutes_before
    return [*about, tried, failed, round(minutes, 1)]


def main() -> None:
    """Run all trials, or some of them, each for its part of the time."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--only", default=",".join(TRIALS))
    options = parser.parse_args()
    # In the background, or with nohup, signals are ignored, and processes that are started here would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    chosen = options.only.split(",")
    for name in chosen:
        with tempfile.TemporaryDirectory(prefix="soak-") as folder:
            start = time.monotonic()
            tried, failed = TRIALS[name](Path(folder), start + 60 * options.minutes / len(chosen))
        today = datetime.now(timezone.utc).date().isoformat()
        minutes = (time.monotonic() - start) / 60
        row = add_counts(load("soak")["trials"].rows, [name, today, TRIALS[name].__doc__, tried, failed, minutes])
        columns = ["trial", "day", "claim", "tried", "failed", "minutes"]
        save("soak", "trials", columns, [row], "tools/soak.py", key=2)
        _report(name, f"{tried} tried, {failed} failed")


if __name__ == "__main__":
    main()
