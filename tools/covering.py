"""The tests that cover each module, and a copy of the project in which they run on a changed one."""

from __future__ import annotations

import ast
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

# What most tests need is imported once.
import networkx as nx  # noqa: F401
import numba  # noqa: F401
import pytest
import scipy.sparse  # noqa: F401
import sklearn.metrics  # noqa: F401

from mutations import ROOT, Mutant

WORK = ROOT / ".mutants"
# Tests that cover a module, those that notice most first. Where a module is missing here, it is covered by the test
# module of its name and by its own examples.
_RECORDED = "tests/test_recorded_results.py"
_SGD = f"{_RECORDED} tests/kernels/test_sgd_step.py tests/kernels/test_sgd.py tests/training/test_trainer.py"
_PARTITIONED = " ".join(
    [_RECORDED, *(f"tests/training/partitioned/test_{name}.py" for name in ("schedule", "buckets", "driver"))]
)
_FAMILIES = "tests/families src/efge/families"
_TUNING = "tests/tuning src/efge/tuning"
_FORMATS = "tests/embedding/test_formats.py"
TESTS = {
    "kernels/__init__.py": "tests/test_project.py tests/test_concurrency.py",
    "kernels/bigclam.py": "tests/models/test_bigclam.py",
    "kernels/blocks.py": f"tests/training/test_corpus.py {_SGD}",
    "kernels/caching.py": "tests/test_project.py tests/cli/test_outputs.py",
    "kernels/common.py": f"tests/kernels/test_sgd.py {_PARTITIONED} tests/walks/test_walks.py",
    "kernels/csr.py": "tests/graph/test_graph.py tests/graph/test_external.py",
    "kernels/external.py": "tests/graph/test_external.py",
    "kernels/huffman.py": "tests/training/test_huffman.py",
    "kernels/intrinsics.py": f"{_SGD} tests/walks/test_walks.py",
    "kernels/line.py": "tests/kernels/test_line_kernel.py tests/models/test_line.py",
    "kernels/node2vec.py": "tests/kernels/test_node2vec_kernel.py tests/walks/test_walks.py",
    "kernels/random.py": f"tests/walks/test_walks.py tests/training/test_noise.py {_SGD} {_PARTITIONED}",
    "kernels/sgd.py": _SGD,
    "kernels/sgd_partitioned.py": f"{_PARTITIONED} tests/training/partitioned/test_partitioning.py",
    "kernels/sgd_reference.py": _SGD,
    "kernels/sgd_rows.py": _SGD,
    "kernels/sgd_step.py": _SGD,
    "kernels/simd.py": _SGD,
    "kernels/sparse.py": "tests/embedding/test_propagation.py",
    "kernels/text.py": "tests/kernels/test_text.py tests/graph/test_encoders.py tests/graph/test_text_edges.py",
    "kernels/walks.py": "tests/walks/test_walks.py tests/walks/test_through.py",
    "training/checkpoints.py": "tests/training/test_checkpoints.py tests/training/test_faults.py",
    "training/corpus.py": "tests/training/test_corpus.py tests/kernels/test_sgd.py",
    "training/fold_in.py": "tests/kernels/test_fold_in.py tests/models/test_new_nodes.py",
    "training/learning_rate.py": "tests/training/test_learning_rate.py tests/training/test_trainer.py",
    "training/edges.py": "tests/models/test_line.py tests/kernels/test_line_kernel.py",
    "training/line.py": "tests/models/test_line.py tests/kernels/test_line_kernel.py",
    "training/monitor.py": "tests/training/test_monitor.py tests/training/test_trainer.py",
    "training/noise.py": "tests/training/test_noise.py tests/training/test_trainer.py",
    "training/settings.py": "tests/training/test_trainer.py tests/models/test_efge.py tests/test_public_errors.py",
    "training/tables.py": "tests/training/test_trainer.py tests/models/test_efge_defaults.py tests/test_extremes.py",
    "training/trainer.py": "tests/training/test_trainer.py tests/models/test_efge.py tests/test_public_errors.py",
    "training/workers.py": "tests/training/test_workers.py tests/training/test_trainer.py tests/test_concurrency.py",
    "training/workspace.py": _SGD,
    "training/partitioned/buckets.py": _PARTITIONED,
    "training/partitioned/driver.py": f"{_PARTITIONED} tests/training/partitioned/test_local.py",
    "training/partitioned/files.py": "tests/training/partitioned/test_local.py tests/training/test_faults.py",
    "training/partitioned/schedule.py": _PARTITIONED,
    "families/base.py": _FAMILIES,
    "families/builtin.py": _FAMILIES,
    "families/odds.py": _FAMILIES,
    "families/tables.py": _FAMILIES,
    "evaluation/clustering.py": "src/efge/evaluation/clustering.py tests/evaluation/test_communities.py",
    "embedding/anndata.py": f"tests/embedding/test_exchange.py {_FORMATS}",
    "embedding/formulas.py": f"tests/embedding/test_text_formats.py {_FORMATS} tests/embedding/test_projector.py",
    "embedding/neo4j.py": f"tests/embedding/test_exchange.py {_FORMATS}",
    "embedding/npz.py": f"tests/embedding/test_npz.py {_FORMATS}",
    "embedding/parquet.py": f"tests/embedding/test_parquet.py {_FORMATS}",
    "embedding/safetensors.py": f"tests/embedding/test_exchange.py {_FORMATS}",
    "embedding/text_formats.py": f"tests/embedding/test_text_formats.py {_FORMATS}",
    "embedding/word2vec_binary.py": _FORMATS,
    "io/arrow.py": "tests/io/test_hostile.py tests/graph/test_frames.py tests/embedding/test_parquet.py",
    "io/atomic.py": "tests/io/test_scratch.py tests/test_concurrency.py tests/training/test_faults.py",
    "io/files.py": "tests/io/test_hostile.py tests/graph/test_readers.py tests/graph/test_reader_errors.py",
    "io/matlab.py": "tests/io/test_matlab.py tests/io/test_hostile.py",
    "io/scratch.py": "tests/io/test_scratch.py tests/test_system.py",
    "tuning/advice.py": _TUNING,
    "tuning/halving.py": f"tests/tuning/test_halving.py {_TUNING}",
    "tuning/results.py": _TUNING,
    "tuning/space.py": _TUNING,
    "tuning/study.py": _TUNING,
    "tuning/tasks.py": _TUNING,
    "tuning/trials.py": _TUNING,
    "tuning/tune.py": f"{_TUNING} tests/test_public_errors.py",
    "system.py": "tests/test_system.py tests/io/test_scratch.py",
}
# Where a change may change results.
_WITH_RESULTS = ("kernels/", "training/", "families/", "evaluation/", "tuning/", "embedding/propagation", "graph/")
# Processor seconds of one test, in which kernels may be compiled, and bytes of memory.
_SECONDS, _MEMORY = 90, 12 << 30
# Seconds by the clock of all tests of a module, on a busy machine.
_TOO_LONG = 1200.0


def tests_of(file: str) -> list[str]:
    """Return the tests that cover a module; last those of recorded results, if these depend on it."""
    path = Path(file)
    own = TESTS[file].split() if file in TESTS else [f"tests/{path.parent}/test_{path.name}", f"src/efge/{file}"]
    more = [_RECORDED] if file.startswith(_WITH_RESULTS) and _RECORDED not in own else []
    return [*own, *more]


class Tree:
    """A copy of the project in which the tests of one change at a time are run."""

    def __init__(self) -> None:
        self.root = WORK / "tree"
        names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        listed = {name for name in names.split("\0") if name and (ROOT / name).is_file()}
        for path in [path for path in self.root.rglob("*") if path.is_file() and "__pycache__" not in path.parts]:
            if path.relative_to(self.root).as_posix() not in listed:
                path.unlink()
        changed = []
        for name in listed:
            target = self.root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            # A file that is the same keeps its date, and thus its compiled code.
            if not target.exists() or target.read_bytes() != (ROOT / name).read_bytes():
                shutil.copyfile(ROOT / name, target)
                changed.append(name)
        self._imports = {path: _imported(path) for path in (self.root / "src" / "efge" / "kernels").glob("*.py")}
        # A run that was killed may have left a change, and code that contains it.
        shutil.rmtree(WORK / "compiled", ignore_errors=True)
        for name in changed:
            for path in self._compiled(name.removeprefix("src/efge/")):
                path.unlink()

    def _dependents(self, file: str) -> list[Path]:
        """Return the kernels whose compiled code may contain code of a module."""
        found = {self.root / "src" / "efge" / file}
        while True:
            names = {path.stem for path in found}
            more = {path for path, imported in self._imports.items() if imported & names} - found
            if not more:
                return [path for path in found if path in self._imports]
            found |= more

    def run(self, mutant: Mutant) -> tuple[str, float]:
        """Run the tests of a changed module; return who noticed, or an empty text, and processor seconds."""
        path = self.root / "src" / "efge" / mutant.file
        original, times = path.read_bytes(), path.stat()
        aside = WORK / "compiled"
        aside.mkdir(exist_ok=True)
        for compiled in self._compiled(mutant.file):
            compiled.rename(aside / compiled.name)
        path.write_text(mutant.text, "utf-8")
        try:
            return self.pytest(tests_of(mutant.file))
        finally:
            path.write_bytes(original)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            for compiled in self._compiled(mutant.file):
                compiled.unlink()
            for compiled in aside.iterdir():
                compiled.rename(self.root / "src" / "efge" / "kernels" / "__pycache__" / compiled.name)

    def _compiled(self, file: str) -> list[Path]:
        """Return the files of compiled code that may contain code of a module."""
        sources = self._dependents(file)
        return [path for source in sources for path in (source.parent / "__pycache__").glob(f"{source.stem}.*.nb?")]

    def pytest(self, tests: list[str]) -> tuple[str, float]:
        """Run tests until one fails; return the one that did, or how the process ended, and processor seconds."""
        temporary, output = WORK / "tmp", WORK / "output.txt"
        temporary.mkdir(exist_ok=True)
        data = os.environ.get("EFGE_DATA", str(ROOT.parent / "shared" / "data"))
        # Changed code may delete what it should not: it has a temporary folder of its own.
        settings = {"PYTHONPATH": str(self.root / "src"), "EFGE_DATA": data, "TMPDIR": str(temporary)}
        options = ["-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
        # A process that has imported what all tests need starts sooner.
        child = os.fork()
        if child == 0:
            os._exit(_run_tests(self.root, settings, output, [*options, *tests]))
        # Where threads only wait for each other, the system may not notice that they have used up their time.
        watch = threading.Timer(_TOO_LONG, os.kill, (child, signal.SIGXCPU))
        watch.start()
        _, status, usage = os.wait4(child, 0)
        watch.cancel()
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        shutil.rmtree(temporary, ignore_errors=True)
        reason = _reason(output.read_text("utf-8", "replace"), os.waitstatus_to_exitcode(status))
        return reason, usage.ru_utime + usage.ru_stime


def _run_tests(root: Path, settings: dict[str, str], output: Path, arguments: list[str]) -> int:
    """Run tests in this process, and return the exit code of pytest."""
    os.setsid()
    with output.open("wb") as file:
        for descriptor in (1, 2):
            os.dup2(file.fileno(), descriptor)
    os.chdir(root)
    os.environ.update(settings)
    tempfile.tempdir = None
    sys.path.insert(0, settings["PYTHONPATH"])
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    return int(pytest.main(arguments, plugins=[_Limits()]))


class _Limits:
    """A plugin of pytest that ends the process if a test takes very long, as one that never ends does."""

    def pytest_runtest_setup(self) -> None:
        """Limit the processor seconds of the next test."""
        usage = resource.getrusage(resource.RUSAGE_SELF)
        seconds = int(usage.ru_utime + usage.ru_stime) + _SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))


def _reason(output: str, code: int) -> str:
    """Return the test that failed, or how the process ended; an empty text if all tests passed."""
    if code == 0:
        return ""
    failed = [line for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    if failed:
        return failed[0].removeprefix("FAILED ").split(" - ")[0]
    if code > 0:
        sys.exit(f"mutants: the tests could not be run:\n{output[-4000:]}")
    return "a test that does not end" if code == -signal.SIGXCPU else f"signal {-code}"


def _imported(path: Path) -> set[str]:
    """Return the last parts of the names of the modules that a module imports."""
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    return {node.module.split(".")[-1] for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
