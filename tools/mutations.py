"""Small changes of the code: which modules they are made in, and how."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
# Modules to change: all of these packages, and these. Changes of the cluster's engine would need a cluster each time.
PACKAGES = ("kernels", "training", "families", "evaluation", "io", "tuning")
MODULES = (
    "embedding/anndata.py", "embedding/formats.py", "embedding/formulas.py", "embedding/neo4j.py", "embedding/npz.py",
    "embedding/parquet.py", "embedding/projector.py", "embedding/propagation.py", "embedding/safetensors.py",
    "embedding/text_formats.py", "embedding/word2vec_binary.py", "graph/information.py", "system.py",
)  # fmt: skip
LEFT_OUT = ("training/partitioned/cluster.py",)
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
