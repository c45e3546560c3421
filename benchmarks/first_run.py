"""How long the first `efge embed` on a machine takes, when nothing is compiled yet, and the second.

    python benchmarks/first_run.py [--rounds 5]

The graph is the karate club. Each round has an empty cache for a first run as it is, in which a second process compiles
the training kernel; another empty cache for a first run in one process; and a second run, which compiles nothing. The
processor seconds are those of all processes of a run, and the load average tells how many other processes wanted the
cores. The record is the table "first run" of first_run.json.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import networkx as nx

from records import save

EMBED = "from efge.cli import main; main()"
ONE_PROCESS = f"from efge.training import compilation; compilation.compile_ahead = lambda: None; {EMBED}"


def measure(code: str, folder: Path, cache: str) -> tuple[float, float]:
    """Embed in a new process; return the seconds by the clock, and of processors."""
    command = [sys.executable, "-c", code, "embed", "club.txt", "-o", "v.npz", "--seed", "1", "--force", "--quiet"]
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, env=os.environ | {"NUMBA_CACHE_DIR": str(folder / cache)})
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    runs: dict[str, list[tuple[float, float]]] = {}
    loads = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            nx.write_edgelist(nx.karate_club_graph(), folder / "club.txt", data=False)
            for run, code, cache in (
                ("first", EMBED, "cache"),
                ("first, in one process", ONE_PROCESS, "other cache"),
                ("second", EMBED, "cache"),
            ):
                loads.append(os.getloadavg()[0])
                runs.setdefault(run, []).append(measure(code, folder, cache))
                print(run, runs[run][-1], file=sys.stderr, flush=True)
    rows = []
    for run, measured in runs.items():
        seconds, cpu = zip(*measured, strict=True)
        median, spread = f"{statistics.median(seconds):.2f}", f"{min(seconds):.2f} to {max(seconds):.2f}"
        rows.append([run, rounds, median, spread, f"{statistics.median(cpu):.2f}", f"{min(cpu):.2f} to {max(cpu):.2f}"])
    load = f"load average {min(loads):.0f} to {max(loads):.0f}"
    columns = ["run", "runs", "median, s", "range, s", "processor seconds", f"range ({load})"]
    save("first_run", "first run", columns, rows, "benchmarks/first_run.py")


if __name__ == "__main__":
    main()
