"""Make small changes to the code, one at a time, and see whether the tests of the changed module notice.

    python tools/mutants.py [--count 200] [--seed 1] [--only evaluation] [--minutes 60]

Each change is made in a copy of the sources. The tests named in TESTS run until the first failure; a change that none
of them notices is printed, and goes into the record in benchmarks/results/mutants.json. A change may have no effect at
all, as that of a bound that nothing reaches: whoever reads the record decides.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
from records import Cell, save  # noqa: E402

# Modules to change, and the tests that have to notice.
TESTS = {
    "kernels/sgd.py": "tests/kernels/test_sgd.py",
    "kernels/sgd_rows.py": "tests/kernels/test_sgd.py",
    "kernels/csr.py": "tests/graph/test_graph.py",
    "kernels/text.py": "tests/kernels/test_text.py tests/graph/test_text_edges.py",
    "kernels/bigclam.py": "tests/models/test_bigclam.py",
    "training/checkpoints.py": "tests/training/test_checkpoints.py",
    "training/learning_rate.py": "tests/training/test_learning_rate.py",
    "training/noise.py": "tests/training/test_noise.py tests/training/test_trainer.py",
    "training/corpus.py": "tests/training/test_corpus.py tests/kernels/test_sgd.py",
    "training/partitioned/schedule.py": "tests/training/partitioned",
    "training/partitioned/buckets.py": "tests/training/partitioned",
    "families/tables.py": "tests/families",
    "evaluation/links.py": "tests/evaluation/test_links.py src/efge/evaluation/links.py",
    "evaluation/splits.py": "tests/evaluation/test_splits.py src/efge/evaluation/splits.py",
    "evaluation/classification.py": "tests/evaluation/test_classification.py",
    "evaluation/heuristics.py": "tests/evaluation/test_heuristics.py",
    "embedding/npz.py": "tests/embedding",
    "embedding/parquet.py": "tests/embedding/test_parquet.py tests/embedding/test_formats.py",
    "embedding/text_formats.py": "tests/embedding/test_text_formats.py tests/embedding/test_formats.py",
    "embedding/formulas.py": "tests/embedding/test_text_formats.py",
    "io/atomic.py": "tests/io/test_scratch.py tests/test_concurrency.py",
    "io/scratch.py": "tests/io/test_scratch.py tests/test_system.py",
    "system.py": "tests/test_system.py tests/io/test_scratch.py",
}
_SECONDS_PER_MUTANT = 600
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


class Mutant(NamedTuple):
    """A change of a module: its file, the line, the code there before and after, and the whole text after."""

    file: str
    line: int
    before: str
    after: str
    text: str


def mutants(file: str) -> Iterator[Mutant]:
    """Yield every change of a module that this program knows."""
    source = (ROOT / "src" / "efge" / file).read_text("utf-8")
    for number in range(len(list(ast.walk(ast.parse(source))))):
        tree = ast.parse(source)
        node = list(ast.walk(tree))[number]
        if not isinstance(node, (ast.expr, ast.stmt)) or _is_inessential(tree, node):
            continue
        before = ast.unparse(node)
        if not _change(node):
            continue
        after = ast.unparse(node)
        yield Mutant(file, node.lineno, before[:80], after[:80], ast.unparse(ast.fix_missing_locations(tree)))


def _is_inessential(tree: ast.AST, node: ast.AST) -> bool:
    """Whether a node is in an annotation, an import, a docstring, an error message or a compiler's flag."""
    for parent in ast.walk(tree):
        skipped: list[ast.AST | None] = []
        if isinstance(parent, (ast.FunctionDef, ast.arg, ast.AnnAssign)):
            skipped += [getattr(parent, "returns", None), getattr(parent, "annotation", None)]
            skipped += getattr(parent, "decorator_list", [])
        elif isinstance(parent, (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom)):
            skipped.append(parent)
        if any(part is not None and any(inner is node for inner in ast.walk(part)) for part in skipped):
            return True
    return False


def _change(node: ast.AST) -> bool:
    """Change a node in place; return whether there was anything to change."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS:
        node.ops[0] = _COMPARISONS[type(node.ops[0])]()
        return True
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        node.op = _OPERATORS[type(node.op)]()
        return True
    if isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return True
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        node.value = not node.value
        return True
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        node.value += 1
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        node.value = ast.Constant(None)
        return True
    return False


def is_noticed(mutant: Mutant) -> bool:
    """Whether a test fails, or hangs, if the change is made."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        copy = Path(folder, "src")
        shutil.copytree(ROOT / "src", copy)
        (copy / "efge" / mutant.file).write_text(mutant.text, "utf-8")
        if mutant.file.startswith("kernels/"):
            # Compiled code of other kernels may contain what was changed.
            for path in (copy / "efge" / "kernels" / "__pycache__").glob("*.nb?"):
                path.unlink()
        environment = os.environ | {"PYTHONPATH": str(copy)}
        tests = [name.replace("src/efge", f"{copy}/efge") for name in TESTS[mutant.file].split()]
        command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-x", "-p", "no:cacheprovider", *tests]
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=environment, timeout=_SECONDS_PER_MUTANT, capture_output=True, check=False
            )
        except subprocess.TimeoutExpired:
            return True
        return done.returncode != 0


def main() -> None:
    """Try changes in an order of chance, until there are enough or the time is over."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="modules whose path contains this")
    parser.add_argument("--minutes", type=float, default=600.0)
    options = parser.parse_args()
    chosen = [mutant for file in TESTS if options.only in file for mutant in mutants(file)]
    random.Random(options.seed).shuffle(chosen)
    deadline = time.monotonic() + 60 * options.minutes
    tried: Counter[str] = Counter()
    noticed: Counter[str] = Counter()
    survivors: list[list[Cell]] = []
    for mutant in chosen[: options.count]:
        if time.monotonic() > deadline:
            break
        tried[mutant.file] += 1
        if is_noticed(mutant):
            noticed[mutant.file] += 1
        else:
            survivors.append([mutant.file, mutant.line, mutant.before, mutant.after])
            print(f"not noticed: {mutant.file}:{mutant.line}: {mutant.before} -> {mutant.after}", flush=True)
    print(f"{sum(noticed.values())} of {sum(tried.values())} changes were noticed")
    program = "tools/mutants.py"
    counts: list[list[Cell]] = [[file, tried[file], noticed[file]] for file in tried]
    save("mutants", "changes", ["module", "changes", "noticed"], counts, program)
    save("mutants", "not noticed", ["module", "line", "before", "after"], survivors, program)


if __name__ == "__main__":
    main()
