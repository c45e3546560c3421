"""Time and peak memory of converting an edge list to a graph on disk, and of opening and walking that graph.

    python benchmarks/convert_graph.py [--edges 100000000] [--limit 4G] [--names integers] [--folder .]

The conversion runs in a new process with a limited address space, so it would fail if it needed more; a quarter of the
limit is left to Python and the libraries. Everything is written to a temporary folder.
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

_CHUNK_EDGES = 5_000_000


def write_edges(path: Path, edges: int, names: str) -> None:
    """Write a graph with a tenth as many nodes as edges and skewed sources, in chunks."""
    import pyarrow as pa
    import pyarrow.csv

    rng = np.random.default_rng(0)
    nodes = max(edges // 10, 2)
    order = rng.permutation(nodes)
    # Multiplication by an odd number is a bijection of 64-bit integers.
    node_names = {
        "integers": order,
        "sparse": (order.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(2)),
    }
    options = pyarrow.csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    with path.open("wb") as file:
        for start in range(0, edges, _CHUNK_EDGES):
            count = min(_CHUNK_EDGES, edges - start)
            ends = (nodes * rng.random(count) ** 2).astype(np.int64), rng.integers(0, nodes, count)
            column = node_names.get(names, order)
            columns = [pa.array(column[nodes_]) for nodes_ in ends]
            if names == "words":
                columns = [pa.compute.binary_join_element_wise("user", ids.cast(pa.string()), "_") for ids in columns]
            pyarrow.csv.write_csv(pa.table({"source": columns[0], "target": columns[1]}), file, options)


def memory(field: str) -> int:
    """Return bytes of memory: VmRSS is the current use, VmHWM the peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))


def convert(path: Path, new: Path, limit: int) -> dict[str, float]:
    """Convert in this process, with a hard limit on its address space."""
    import resource

    import efge

    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    with tempfile.TemporaryDirectory() as folder:
        for number, text in enumerate(("1\t2\n" * 200_000, "a\tb\n", f"1\t{2**62}\n")):
            warm = Path(folder, f"{number}.tsv")
            warm.write_text(text)
            efge.convert_graph(warm, Path(folder, "warm.efge"))
    stages: dict[str, float] = {}
    start = perf_counter()

    def record_stage(stage: str, done: float, total: float) -> None:
        stages[stage] = perf_counter() - start

    efge.convert_graph(path, new, memory=limit * 3 // 4, progress=record_stage)
    return {"seconds": perf_counter() - start, "peak": memory("VmHWM"), "address space": memory("VmPeak")} | stages


def walk(new: Path) -> dict[str, float]:
    """Open the converted graph and walk on it."""
    import efge

    efge.Walks([(0, 1)], walks_per_node=1).held_out(10)
    start = perf_counter()
    graph = efge.Graph.open(new)
    opened = perf_counter() - start
    start = perf_counter()
    steps = sum(len(batch.nodes) for batch in efge.Walks(graph, walks_per_node=1, walk_length=10, seed=1).batches())
    walked = perf_counter() - start
    return {"open": opened, "nodes": graph.n_nodes, "edges": graph.n_edges, "steps a second": steps / walked}


def run_in_process(*arguments: object) -> dict[str, float]:
    command = [sys.executable, __file__, *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=int, default=100_000_000)
    parser.add_argument("--limit", default="4G", help="limit of the address space, such as 4G")
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
        run = run_in_process("--limit", options.limit, "--convert", edges, new)
        stages = ", ".join(f"{stage} until {run[stage]:.1f}" for stage in ("reading", "distributing", "sorting"))
        print(f"converted in {run['seconds']:.1f} s ({stages}), {new.stat().st_size / 1e9:.2f} GB on disk")
        print(f"peak memory {run['peak'] / 2**30:.2f} GiB, address space {run['address space'] / 2**30:.2f} GiB")
        walked = run_in_process("--walk", new)
        print(f"{walked['nodes']:,} nodes, {walked['edges']:,} edges, opened in {walked['open']:.2f} s")
        print(f"{walked['steps a second'] / 1e6:.0f} million walk steps per second")


if __name__ == "__main__":
    main()
