"""Time and memory of reading edge lists, compared with pyarrow's CSV parser, which makes columns but no graph.

    python benchmarks/reading.py [--edges 10000000] [--repeats 5]

Each run is a new process, so that its peak of memory is its own; the tools run alternately. Compilation happens before
the clock starts. The record is ``results/reading.json``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

from records import save


def write_files(folder: Path, edges: int) -> None:
    """Write a graph with a tenth as many nodes as edges and skewed sources, with three kinds of names."""
    import pyarrow as pa
    import pyarrow.csv

    rng = np.random.default_rng(0)
    nodes = max(edges // 10, 2)
    order = rng.permutation(nodes)
    ends = order[(nodes * rng.random(edges) ** 2).astype(np.int64)], order[rng.integers(0, nodes, edges)]
    names = {
        "integers": pa.array(np.arange(nodes)),
        "sparse integers": pa.array(rng.integers(0, 2**62, nodes)),
        "words": pa.array([f"user_{number:x}" for number in range(nodes)]),
    }
    for kind, column in names.items():
        table = pa.table({"source": column.take(pa.array(ends[0])), "target": column.take(pa.array(ends[1]))})
        options = pyarrow.csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
        pyarrow.csv.write_csv(table, folder / f"{kind}.tsv", options)


def memory(field: str) -> int:
    """Return bytes of memory: VmRSS is the current use, VmHWM the peak; unlike getrusage, only of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))


def read(tool: str, path: Path) -> dict[str, float]:
    """Read once in this process; return the seconds and the growth of the peak memory in bytes."""
    if tool == "pyarrow":
        import pyarrow.csv

        def action() -> object:
            options = pyarrow.csv.ReadOptions(autogenerate_column_names=True)
            return pyarrow.csv.read_csv(path, options, pyarrow.csv.ParseOptions(delimiter="\t"))
    else:
        import efge

        with tempfile.TemporaryDirectory() as folder:
            for number, text in enumerate(("1\t2\n" * 200_000, "a\tb\n", f"1\t{2**62}\n")):
                warm = Path(folder, f"{number}.tsv")
                warm.write_text(text)
                efge.read_graph(warm)

        def action() -> object:
            return efge.read_graph(path)

    before = memory("VmRSS")
    start = perf_counter()
    result = action()
    seconds = perf_counter() - start
    del result
    return {"seconds": seconds, "bytes": memory("VmHWM") - before}


def run_in_process(tool: str, path: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, __file__, "--worker", tool, str(path)], check=True, capture_output=True, text=True
    )
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


def compare(path: Path, edges: int, repeats: int) -> list[str | int | float]:
    """Print a row of the table; the row of the record."""
    runs: dict[str, list[dict[str, float]]] = {"pyarrow": [], "efge": []}
    for _ in range(repeats):
        for tool, answers in runs.items():
            answers.append(run_in_process(tool, path))
    seconds = {tool: statistics.median(answer["seconds"] for answer in answers) for tool, answers in runs.items()}
    peaks = {tool: max(answer["bytes"] for answer in answers) / edges for tool, answers in runs.items()}
    print(
        f"| {path.stem} | {path.stat().st_size / 1e6:.0f} MB | {seconds['pyarrow']:.2f} s | {seconds['efge']:.2f} s "
        f"| {seconds['efge'] / seconds['pyarrow']:.2f} | {peaks['pyarrow']:.0f} | {peaks['efge']:.0f} |",
        flush=True,
    )
    return [path.stem, edges, *(round(seconds[tool], 2) for tool in ("efge", "pyarrow")), round(peaks["efge"])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(read(options.worker[0], Path(options.worker[1]))))
        return
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), options.edges)
        print(f"{options.edges:,} edges, median of {options.repeats} alternating runs\n")
        print("| names | file | pyarrow, columns only | efge, graph | ratio | pyarrow, bytes per edge | efge |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        rows = [compare(path, options.edges, options.repeats) for path in sorted(Path(folder).glob("*.tsv"))]
    columns = ["names", "edges", "efge, s", "pyarrow.csv, s", "efge, bytes per edge"]
    save("reading", "edge lists", columns, rows, "benchmarks/reading.py")


if __name__ == "__main__":
    main()
