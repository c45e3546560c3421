"""Time and peak memory of putting an edge list on disk, and of opening and walking what was written.

    python benchmarks/convert_graph.py [--edges 100000000] [--limit 4G] [--names integers] [--folder .]

The conversion runs in a process of its own, whose address space is limited to what is said, so that it would fail if it
took more; a quarter of that is left to Python and the libraries. Everything is written to a folder that goes away.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

_AT_ONCE = 5_000_000


def write_edges(path: Path, edges: int, names: str) -> None:
    """A graph with a tenth as many nodes as edges and skewed sources, written some edges at a time."""
    import pyarrow as pa
    import pyarrow.csv

    rng = np.random.default_rng(0)
    nodes = max(edges // 10, 2)
    order = rng.permutation(nodes)
    # An odd factor is a bijection of 64-bit integers.
    name = {"integers": order, "sparse": (order.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(2))}
    options = pyarrow.csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    with path.open("wb") as file:
        for begin in range(0, edges, _AT_ONCE):
            count = min(_AT_ONCE, edges - begin)
            ends = (nodes * rng.random(count) ** 2).astype(np.int64), rng.integers(0, nodes, count)
            column = name.get(names, order)
            columns = [pa.array(column[some]) for some in ends]
            if names == "words":
                columns = [pa.compute.binary_join_element_wise("user", some.cast(pa.string()), "_") for some in columns]
            pyarrow.csv.write_csv(pa.table({"source": columns[0], "target": columns[1]}), file, options)


def memory(field: str) -> int:
    """Bytes of memory: VmRSS is in use now, VmHWM was at the peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))


def convert(path: Path, new: Path, limit: int) -> dict[str, float]:
    """Convert in this process, under a hard limit of its address space."""
    import resource

    import efge

    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    with tempfile.TemporaryDirectory() as folder:
        for number, text in enumerate(("1\t2\n" * 200_000, "a\tb\n", f"1\t{2**62}\n")):
            warm = Path(folder, f"{number}.tsv")
            warm.write_text(text)
            efge.convert_graph(warm, Path(folder, "warm.efge"))
    stages: dict[str, float] = {}
    begin = perf_counter()

    def tell(stage: str, done: float, total: float) -> None:
        stages[stage] = perf_counter() - begin

    efge.convert_graph(path, new, memory=limit * 3 // 4, progress=tell)
    return {"seconds": perf_counter() - begin, "peak": memory("VmHWM"), "address space": memory("VmPeak")} | stages


def walk(new: Path) -> dict[str, float]:
    """Open what was written, and walk on it."""
    import efge

    efge.Walks([(0, 1)], walks_per_node=1).held_apart(10)
    begin = perf_counter()
    graph = efge.Graph.open(new)
    opened = perf_counter() - begin
    begin = perf_counter()
    steps = sum(len(some.nodes) for some in efge.Walks(graph, walks_per_node=1, walk_length=10, seed=1).rounds())
    walked = perf_counter() - begin
    return {"open": opened, "nodes": graph.n_nodes, "edges": graph.n_edges, "steps a second": steps / walked}


def in_own_process(*arguments: object) -> dict[str, float]:
    command = [sys.executable, __file__, *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=int, default=100_000_000)
    parser.add_argument("--limit", default="4G", help="gigabytes of address space, as 4G")
    parser.add_argument("--names", choices=["integers", "sparse", "words"], default="integers")
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--convert", nargs=2, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--walk", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    limit = int(float(options.limit.upper().rstrip("G")) * 2**30)
    if options.convert or options.walk:
        answer = walk(options.walk) if options.walk else convert(options.convert[0], options.convert[1], limit)
        print(json.dumps(answer))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        edges, new = Path(name, "edges.tsv"), Path(name, "graph.efge")
        write_edges(edges, options.edges, options.names)
        print(f"{options.edges:,} edges, {options.names}, {edges.stat().st_size / 1e9:.2f} GB of text", flush=True)
        found = in_own_process("--limit", options.limit, "--convert", edges, new)
        stages = ", ".join(f"{stage} until {found[stage]:.1f}" for stage in ("reading", "spreading", "sorting"))
        print(f"converted in {found['seconds']:.1f} s ({stages}), {new.stat().st_size / 1e9:.2f} GB on disk")
        print(f"memory at the peak {found['peak'] / 2**30:.2f} GiB, address space {found['address space'] / 2**30:.2f}")
        walked = in_own_process("--walk", new)
        print(f"{walked['nodes']:,} nodes, {walked['edges']:,} edges, opened in {walked['open']:.2f} s")
        print(f"{walked['steps a second'] / 1e6:.0f} million steps of walks a second")


if __name__ == "__main__":
    main()
