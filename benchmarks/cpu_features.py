"""Bytes and time of training as it is, and without fused or reordered sums, on several sets of processor features.

    python benchmarks/cpu_features.py [--nodes 5000] [--repeats 3]

"generic" is the code that Numba makes for any x86-64 processor; "all generic" has NumPy and OpenBLAS do the same. The
variant without fused or reordered sums is a copy of the package: its kernels have no such flags of the compiler, and
multiply and add in two instructions. The record is the table "processor features" of trials.json.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

from records import Cell, save

ROOT = Path(__file__).parents[1]
FLAGS = 'REORDER = {"reassoc", "contract", "nsz", "arcp"}'
FUSED = "return self.builder.call(function, [a, b, c])"


def measure(nodes: int, repeats: int) -> None:
    """Print a digest of the vectors and the processor seconds for each trainer, and for the default."""
    import networkx as nx

    import efge

    warnings.simplefilter("ignore")
    graph = efge.as_graph(nx.barabasi_albert_graph(nodes, 5, seed=0))
    for name, walks in (("fast", 20), ("reference", 4), ("default", 4)):
        paper: dict[str, Any] = {"trainer": name, "walks_per_node": walks, "dim": 128, "threads": 1, "seed": 1}
        model = efge.EFGE(walks_per_node=walks, threads=1, seed=1) if name == "default" else efge.EFGE.paper(**paper)
        model.fit(nx.path_graph(50))
        seconds = []
        for _ in range(repeats):
            start = time.process_time()
            vectors = model.fit(graph).embedding_.vectors
            seconds.append(time.process_time() - start)
        print(name, hashlib.sha256(vectors.tobytes()).hexdigest()[:12], min(seconds))


def make_unfused(folder: Path) -> Path:
    """Copy the package, and let its kernels neither fuse nor reorder."""
    copy = folder / "src"
    shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
    for name, before, after in (
        ("common.py", FLAGS, "REORDER = False"),
        ("simd.py", FUSED, "return self.builder.fadd(self.builder.fmul(a, b), c)"),
    ):
        path = copy / "efge" / "kernels" / name
        text = path.read_text("utf-8")
        assert text.count(before) == 1, f"{name} has changed"
        path.write_text(text.replace(before, after), "utf-8")
    return copy


def environments() -> dict[str, dict[str, str]]:
    """Return what to set for each set of processor features."""
    # NumPy lists what it has code for in a module of its own only.
    dispatched = import_module("numpy._core._multiarray_umath").__cpu_dispatch__
    generic = {"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": ""}
    libraries = {"NPY_DISABLE_CPU_FEATURES": " ".join(dispatched), "OPENBLAS_CORETYPE": "Nehalem"}
    return {"this machine": {}, "generic": generic, "all generic": generic | libraries}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.nodes, options.repeats)
        return
    rows: list[list[Cell]] = []
    with tempfile.TemporaryDirectory() as name:
        sources = {"as it is": ROOT / "src", "not fused or reordered": make_unfused(Path(name))}
        command = [sys.executable, __file__, "--measure", "--nodes", str(options.nodes)]
        command += ["--repeats", str(options.repeats)]
        for variant, source in sources.items():
            for features, settings in environments().items():
                settings = settings | {"PYTHONPATH": str(source), "NUMBA_CACHE_DIR": f"{name}/{variant}"}
                environment = os.environ | settings
                printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
                for line in printed.splitlines():
                    trainer, digest, seconds = line.split()
                    rows.append([variant, trainer, features, digest, round(float(seconds), 2)])
                    print(rows[-1], flush=True)
    columns = ["arithmetic", "trainer", "processor features", "digest", "processor seconds"]
    save("trials", "processor features", columns, rows, "benchmarks/cpu_features.py")


if __name__ == "__main__":
    main()
