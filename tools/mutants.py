"""Make small changes to the code, one at a time, and see whether the tests of the changed module notice.

    python tools/mutants.py [--count 200] [--seed 1] [--only evaluation] [--minutes 60] [--again] [--known]

With --known, the changes are those of mutants.toml that tests once did not notice. Otherwise a seed chooses them among
all that the program can make in kernels, training, families, evaluation and formats. Each is made in a copy of the
project in .mutants, which keeps compiled code that the change cannot reach. The tests of the changed module run in one
process until the first failure. What was tried is noted in .mutants, so that the program continues where it stopped;
--again tries those once more that were not noticed.

A change may have no effect at all, as that of the size of a block. Such changes are listed in mutants.toml, each with
its reason, and do not count. All others that no test noticed go into benchmarks/results/mutants.json.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

# What most tests need is imported once.
import networkx as nx  # noqa: F401
import numba  # noqa: F401
import pytest
import scipy.sparse  # noqa: F401
import sklearn.metrics  # noqa: F401

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
WORK = ROOT / ".mutants"
sys.path.insert(0, str(ROOT / "benchmarks"))
from records import Cell, save  # noqa: E402

# Modules to change: all of these packages, and these. Changes of the cluster's engine would need a cluster each time.
PACKAGES = ("kernels", "training", "families", "evaluation")
MODULES = (
    "embedding/anndata.py", "embedding/formats.py", "embedding/formulas.py", "embedding/neo4j.py", "embedding/npz.py",
    "embedding/parquet.py", "embedding/projector.py", "embedding/safetensors.py", "embedding/text_formats.py",
    "embedding/word2vec_binary.py", "io/atomic.py", "io/scratch.py", "system.py",
)  # fmt: skip
LEFT_OUT = ("training/partitioned/cluster.py",)
# Tests that cover a module, those that notice most first. Where a module is missing here, it is covered by the test
# module of its name and by its own examples.
_SGD = "tests/kernels/test_sgd_step.py tests/kernels/test_sgd.py tests/training/test_trainer.py"
_PARTITIONED = " ".join(f"tests/training/partitioned/test_{name}.py" for name in ("schedule", "buckets", "driver"))
_FAMILIES = "tests/families src/efge/families"
_FORMATS = "tests/embedding/test_formats.py"
TESTS = {
    "kernels/bigclam.py": "tests/models/test_bigclam.py",
    "kernels/common.py": f"tests/kernels/test_sgd.py {_PARTITIONED} tests/walks/test_walks.py",
    "kernels/csr.py": "tests/graph/test_graph.py tests/graph/test_external.py",
    "kernels/external.py": "tests/graph/test_external.py",
    "kernels/huffman.py": "tests/training/test_huffman.py",
    "kernels/intrinsics.py": f"{_SGD} tests/walks/test_walks.py",
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
    "io/atomic.py": "tests/io/test_scratch.py tests/test_concurrency.py tests/training/test_faults.py",
    "io/scratch.py": "tests/io/test_scratch.py tests/test_system.py",
    "system.py": "tests/test_system.py tests/io/test_scratch.py",
}
# Processor seconds of one test, in which kernels may be compiled, and bytes of memory.
_SECONDS, _MEMORY = 90, 12 << 30
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
_SWAPPED = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}
# Calls that change no result: a hint to the processor, and declarations of types.
_WITHOUT_EFFECT = {"prefetch", "TypeVar", "NewType"}


class Mutant(NamedTuple):
    """A change of a module: its file, the line, the statement before and after, and the whole text after."""

    file: str
    line: int
    before: str
    after: str
    text: str


def modules() -> list[str]:
    """Return the modules to change, as paths in the package."""
    package = ROOT / "src" / "efge"
    found = [
        path.relative_to(package).as_posix() for name in PACKAGES for path in sorted((package / name).rglob("*.py"))
    ]
    return [name for name in [*found, *MODULES] if name not in LEFT_OUT]


def tests_of(file: str) -> list[str]:
    """Return the tests that cover a module."""
    if file in TESTS:
        return TESTS[file].split()
    path = Path(file)
    return [f"tests/{path.parent}/test_{path.name}", f"src/efge/{file}"]


def places(file: str) -> list[tuple[str, int]]:
    """Return the module with the number of each node of its tree that can be changed."""
    tree = ast.parse((ROOT / "src" / "efge" / file).read_text("utf-8"))
    skipped = _inessential(tree)
    nodes = enumerate(ast.walk(tree))
    return [(file, number) for number, node in nodes if node not in skipped and _change(node)]


def _inessential(tree: ast.AST) -> set[ast.AST]:
    """Return the nodes in annotations, decorators, imports, messages and calls that change no result."""
    roots: list[ast.AST | None] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.arg, ast.AnnAssign)):
            roots += [getattr(node, "returns", None), getattr(node, "annotation", None)]
            roots += getattr(node, "decorator_list", [])
        elif isinstance(node, (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom)) or _has_no_effect(node):
            roots.append(node)
    return {inner for root in roots if root is not None for inner in ast.walk(root)}


def _has_no_effect(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") in _WITHOUT_EFFECT


def _change(node: ast.AST) -> bool:
    """Change a node in place; return whether there was anything to change."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS:
        node.ops[0] = _COMPARISONS[type(node.ops[0])]()
    elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in _OPERATORS:
        node.op = _OPERATORS[type(node.op)]()
    elif isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        node.value = not node.value
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        node.value += 1
    elif isinstance(node, ast.Name) and node.id in _SWAPPED:
        node.id = _SWAPPED[node.id]
    elif isinstance(node, ast.Attribute) and node.attr in _SWAPPED:
        node.attr = _SWAPPED[node.attr]
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        node.value = ast.Constant(None)
    else:
        return False
    return True


def make_mutant(file: str, number: int) -> Mutant:
    """Change the node of a module that has a number."""
    tree = ast.parse((ROOT / "src" / "efge" / file).read_text("utf-8"))
    node = next(node for at, node in enumerate(ast.walk(tree)) if at == number)
    statement = _statement_of(tree, node)
    before = _header(statement)
    _change(node)
    line = getattr(node, "lineno", statement.lineno)
    return Mutant(file, line, before, _header(statement), ast.unparse(tree))


def _statement_of(tree: ast.AST, node: ast.AST) -> ast.stmt:
    """Return the innermost statement that contains a node."""
    around = [part for part in ast.walk(tree) if isinstance(part, ast.stmt) and node in ast.walk(part)]
    return around[-1]


def _header(statement: ast.stmt) -> str:
    """Return a statement as text; of one that contains others, only its first line."""
    text = ast.unparse(statement)
    return text.splitlines()[0] if hasattr(statement, "body") else text


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
        _, status, usage = os.wait4(child, 0)
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


class Notes:
    """What was tried already, one line of JSON for each change."""

    def __init__(self) -> None:
        self._path = WORK / "tried.jsonl"
        lines = self._path.read_text("utf-8").splitlines() if self._path.exists() else []
        self._known: dict[str, dict[str, Any]] = {}
        for entry in map(json.loads, lines):
            self._known[entry["key"]] = entry | {"by at first": self._first(entry)}

    def _first(self, entry: dict[str, Any]) -> str:
        """Return who noticed a change when it was tried for the first time."""
        first: str = self._known.get(entry["key"], {"by at first": entry["by"]})["by at first"]
        return first

    def get(self, key: str) -> dict[str, Any] | None:
        """Return what is noted under a key."""
        return self._known.get(key)

    def put(self, key: str, **fields: Cell) -> dict[str, Any]:
        """Note something under a key."""
        entry: dict[str, Any] = {"key": key, **fields}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
        self._known[key] = entry | {"by at first": self._first(entry)}
        return self._known[key]


def attempt(tree: Tree, notes: Notes, mutant: Mutant, again: bool) -> dict[str, Any]:
    """Try a change, unless it was tried before."""
    change = f"{mutant.file}:{mutant.line}: {mutant.before} -> {mutant.after}"
    key = f"{change} {hashlib.sha256((ROOT / 'src' / 'efge' / mutant.file).read_bytes()).hexdigest()[:16]}"
    entry = notes.get(key)
    if entry is None or (again and not entry["by"]):
        by, seconds = tree.run(mutant)
        about: dict[str, Cell] = {
            "file": mutant.file,
            "line": mutant.line,
            "before": mutant.before,
            "after": mutant.after,
        }
        entry = notes.put(key, **about, by=by, seconds=round(seconds, 1))
    return entry


def verify(tree: Tree, entries: list[dict[str, Any]]) -> None:
    """Run the tests that noticed a change without any: exit if one fails, because it shows nothing."""
    tests = sorted({entry["by"] for entry in entries if "::" in entry["by"]})
    failed, _ = tree.pytest(tests) if tests else ("", 0.0)
    if failed:
        sys.exit(f"mutants: without any change, too, this fails: {failed}")


def _listed(kind: str) -> list[dict[str, str]]:
    with Path(__file__).with_suffix(".toml").open("rb") as file:
        entries: list[dict[str, str]] = tomllib.load(file).get(kind, [])
    return entries


def equivalents() -> set[tuple[str, str, str]]:
    """Return the changes that are known to have no effect."""
    return {(entry["file"], entry["before"], entry["after"]) for entry in _listed("equivalent")}


def known() -> Iterator[Mutant]:
    """Yield the changes that tests once did not notice."""
    for entry in _listed("known"):
        file, before, after = entry["file"], entry["before"], entry["after"]
        text = (ROOT / "src" / "efge" / file).read_text("utf-8")
        if text.count(before) != 1:
            sys.exit(f"mutants: {file} has {text.count(before)} times, not once: {before}")
        line = text[: text.index(before)].count("\n") + 1
        yield Mutant(file, line, before.strip(), after.strip(), text.replace(before, after))


def choose(seed: int, only: str) -> Iterator[Mutant]:
    """Yield changes in an order of chance."""
    found = [place for file in modules() if only in file for place in places(file)]
    random.Random(seed).shuffle(found)
    for file, number in found:
        yield make_mutant(file, number)


def record(entries: list[dict[str, Any]], kind: str, program: str) -> None:
    """Print the rate, and write it and the changes that were not noticed into the record."""
    without_effect = equivalents()
    tried, noticed, first, same = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    survivors: list[list[Cell]] = []
    for entry in entries:
        tried[entry["file"]] += 1
        first[entry["file"]] += bool(entry["by at first"])
        if entry["by"]:
            noticed[entry["file"]] += 1
        elif (entry["file"], entry["before"], entry["after"]) in without_effect:
            same[entry["file"]] += 1
        else:
            survivors.append([entry["file"], entry["line"], entry["before"], entry["after"]])
    effective = tried.total() - same.total()
    print(f"{noticed.total()} of {effective} changes were noticed; {same.total()} others have no effect")
    counts: list[list[Cell]] = [
        [name, *(count[name] for count in (tried, same, first, noticed))] for name in sorted(tried)
    ]
    columns = ["module", "tried", "without effect", "noticed at first", "noticed"]
    save("mutants", f"{kind} changes", columns, counts, program)
    save("mutants", f"{kind} changes not noticed", ["module", "line", "before", "after"], survivors, program)


def main() -> None:
    """Try changes in an order of chance, until there are enough or the time is over."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="modules whose path contains this")
    parser.add_argument("--minutes", type=float, default=600.0)
    parser.add_argument("--again", action="store_true", help="try those again that no test noticed")
    parser.add_argument("--known", action="store_true", help="try those that tests once did not notice")
    options = parser.parse_args()
    WORK.mkdir(exist_ok=True)
    tree = Tree()
    notes, without_effect = Notes(), equivalents()
    deadline = time.monotonic() + 60 * options.minutes
    entries: list[dict[str, Any]] = []
    chosen = known() if options.known else islice(choose(options.seed, options.only), options.count)
    for mutant in chosen:
        if time.monotonic() > deadline:
            break
        counts = (mutant.file, mutant.before, mutant.after) not in without_effect
        entry = attempt(tree, notes, mutant, options.again and counts)
        entries.append(entry)
        if counts and not entry["by"]:
            print(f"not noticed: {mutant.file}:{mutant.line}: {mutant.before} -> {mutant.after}", flush=True)
    verify(tree, entries)
    kind, program = ("known", "--known") if options.known else ("random", f"--seed {options.seed}")
    record(entries, kind, f"tools/mutants.py {program}")


if __name__ == "__main__":
    main()
