"""The project as a whole: sizes of modules and functions, light imports, one version, documented names, commands."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import efge
from efge.io.files import parse_toml
from helpers import run, run_in_subprocess

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "efge"


MAX_MODULE_LINES = 450
MAX_FUNCTION_LINES = 40


def modules():
    return sorted(path for path in SOURCES.rglob("*.py") if path.name != "__init__.py")


def function_lengths(code: str) -> list[tuple[str, int]]:
    """The names of all functions, and the number of lines of their bodies without the docstring."""
    lengths = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            lengths.append((node.name, body[-1].end_lineno - body[0].lineno + 1 if body else 0))
    return lengths


def test_modules_are_short():
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in modules()}
    assert {path: length for path, length in lengths.items() if length > MAX_MODULE_LINES} == {}


def test_function_lengths_exclude_docstrings_and_include_nested_functions():
    code = 'def f():\n    """One."""\n\n    def g():\n        """Two.\n\n        Three.\n        """\n    return g\n'
    assert function_lengths(code) == [("f", 6), ("g", 0)]


def test_functions_are_short():
    for path in modules():
        lengths = function_lengths(path.read_text("utf-8"))
        assert [(name, length) for name, length in lengths if length > MAX_FUNCTION_LINES] == [], path


def test_every_package_says_what_it_does_and_what_it_imports():
    for path in SOURCES.rglob("__init__.py"):
        docstring = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        assert len(docstring.splitlines()) >= 3, path
        assert "import" in docstring, path


def imported_modules(code: str) -> set[str]:
    """The names of all modules that the code imports."""
    nodes = list(ast.walk(ast.parse(code)))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return names | {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}


def test_no_test_module_imports_another():
    paths = list((ROOT / "tests").rglob("*.py"))
    tests = {path.stem for path in paths if path.stem.startswith("test_")}
    assert "test_project" in tests
    for path in paths:
        imported = {name.rpartition(".")[2] for name in imported_modules(path.read_text("utf-8"))}
        assert not imported & tests, path


def test_only_the_command_line_prints():
    for path in modules():
        calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        prints = any(isinstance(call, ast.Name) and call.id == "print" for call in calls)
        assert not prints or path.parent.name == "cli"


# Modules, calls and options that execute their input as code.
TRUSTING_MODULES = {"pickle", "_pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
TRUSTING_CALLS = {"eval", "exec", "compile", "yaml.load", "os.system", "os.popen"}
TRUSTING_OPTIONS = {"allow_pickle", "shell"}


def trusting(code: str) -> list[str]:
    """Return the imports and calls of a module that would execute data or text as code."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] in TRUSTING_MODULES]
        elif isinstance(node, ast.ImportFrom):
            found += [node.module] * (node.module.split(".")[0] in TRUSTING_MODULES)
        elif isinstance(node, ast.Call):
            found += [ast.unparse(node.func)] * (ast.unparse(node.func) in TRUSTING_CALLS)
            options = [option for option in node.keywords if option.arg in TRUSTING_OPTIONS]
            # Only the literal False is known to be safe.
            found += [ast.unparse(option) for option in options if ast.unparse(option.value) != "False"]
    return found


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def load():\n    import pickle", ["pickle"]),
        ("from joblib import load", ["joblib"]),
        ("import numpy as np; np.load(path, allow_pickle=True)", ["allow_pickle=True"]),
        ("np.load(path, allow_pickle=trusted)", ["allow_pickle=trusted"]),
        ("np.load(path, allow_pickle=False)", []),
        ("eval(text); exec(text); yaml.load(text)", ["eval", "exec", "yaml.load"]),
        ("re.compile(text); model.eval()", []),
        ("subprocess.run(command, shell=True)", ["shell=True"]),
    ],
)
def test_code_that_trusts_its_input_is_recognized(code, expected):
    assert trusting(code) == expected


def test_no_module_executes_its_input_as_code():
    for path in SOURCES.rglob("*.py"):
        assert not trusting(path.read_text("utf-8")), path


def test_dependencies_have_a_lower_bound_and_no_upper_one():
    project = parse_toml((ROOT / "pyproject.toml").read_text("utf-8"))
    requirements = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    for extra in project["project"]["optional-dependencies"].values():
        requirements += [name for name in extra if not name.startswith("efge[")]
    bounds = {re.split(r"[\[<>=!~; ]", name)[0]: name.partition(";")[0] for name in requirements}
    assert {"hatchling", "numpy", "igraph", "pytest"} <= set(bounds)
    assert [bound for bound in bounds.values() if not re.fullmatch(r"[\w-]+(\[\w+\])?>=[\d.]+", bound)] == []
    # A package has the same bound everywhere, because there can be only one lowest version of each.
    assert len(set(requirements)) == len(bounds)


def loaded_modules(code: str) -> set[str]:
    report = "; import sys, json; sys.stderr.write(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code + report], capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr))


HELP = """
import contextlib, sys, efge.cli
sys.argv = ["efge", "--help"]
with contextlib.suppress(SystemExit): efge.cli.main()
"""
# What takes more of the help's time than everything else of it together.
NOT_FOR_HELP = {"rich", "pydantic", "numpy", "efge.cli.embed", "efge.cli.evaluate", "efge.cli.options", "hashlib"}
HEAVY = {"sklearn", "matplotlib", "pyarrow", "numba", "scipy", "pandas", "polars", "networkx", "igraph", "torch", "ray"}


@pytest.mark.parametrize("code", ["import efge", HELP + "pass"], ids=["import efge", "efge --help"])
def test_start_loads_nothing_heavy(code):
    assert not loaded_modules(code) & HEAVY


def test_help_loads_no_command_and_no_formatter():
    assert not loaded_modules(HELP + "pass") & NOT_FOR_HELP


EMBED = """
import contextlib, sys, efge.cli
sys.argv = ["efge", "--quiet", "embed", {graph!r}, "-o", {output!r}, "--force"]
with contextlib.suppress(SystemExit): efge.cli.main()
"""
# What Numba needs only to compile, and libraries for other formats, models and outputs.
NOT_FOR_EMBED = {"numba.np.linalg", "scipy.linalg", "scipy.sparse", "scipy.special", "rich", "efge.cli.evaluate"}


def test_to_embed_a_small_graph_loads_no_compiler_and_no_linear_algebra(tmp_path):
    graph = str(ROOT / "examples" / "les_miserables.csv")
    code = EMBED.format(graph=graph, output=str(tmp_path / "vectors.npz"))
    # The first run may have to compile.
    loaded_modules(code + "pass")
    loaded = loaded_modules(code + "pass")
    assert "efge.kernels.sgd" in loaded
    assert not loaded & (HEAVY - {"numba", "scipy"} | NOT_FOR_EMBED)


@pytest.mark.parametrize("model", ["HOPE", "NetMF", "ProNE"])
def test_matrix_models_load_no_training(model):
    loaded = loaded_modules(f"import efge; efge.{model}")
    assert f"efge.models.{model.lower()}" in loaded
    assert not [name for name in loaded if name.startswith(("efge.training", "efge.walks", "efge.kernels.sgd"))]


def test_an_unknown_public_name_is_answered_with_the_nearest_one():
    with pytest.raises(AttributeError, match="module 'efge' has no attribute 'Efge'; did you mean 'EFGE'"):
        efge.Efge  # noqa: B018
    with pytest.raises(AttributeError, match=r"module 'efge' has no attribute 'xyzzy'$"):
        efge.xyzzy  # noqa: B018


def test_there_is_one_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+", efge.__version__)
    project = (ROOT / "pyproject.toml").read_text()
    assert 'dynamic = ["version"]' in project
    assert f'"{efge.__version__}"' not in project


def test_public_names_have_docstrings_with_an_example():
    for name in efge.__all__:
        if not name.startswith("__"):
            assert ">>> " in getattr(efge, name).__doc__, name
    assert sorted(efge.__all__) == dir(efge)


@pytest.fixture
def plain(monkeypatch):
    """Let help pages be as on a wide terminal without colors."""
    for name, value in {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "120"}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def friends(tmp_path):
    path = tmp_path / "friends.csv"
    path.write_text("from,to,weight\nann,bob,2\nbob,cid,0.5\ndan,dan,1\n")
    return path


def test_version_is_printed():
    assert run("--version").stdout == f"efge {efge.__version__}\n"


def test_info_describes_a_graph(friends):
    done = run("info", friends)
    assert done.returncode == 0
    assert re.search(r"^nodes +4$", done.stdout, re.MULTILINE)
    assert re.search(r"^components +2$", done.stdout, re.MULTILINE)
    assert efge.read_graph(friends).fingerprint() in done.stdout


def test_info_reads_standard_input():
    assert re.search(r"^edges +2$", run_in_subprocess("info", "-", input="a b\nb c\n").stdout, re.MULTILINE)


def test_walks_are_written(friends, tmp_path):
    done = run("walks", friends, "-o", tmp_path / "walks.txt", "--strategy", "node2vec", "--p", "0.5", "--seed", "3")
    assert (done.returncode, done.stdout) == (0, "")
    expected = efge.Walks(friends, efge.Node2VecWalk(0.5, 1.0), seed=3)
    assert [line.split() for line in (tmp_path / "walks.txt").read_text().splitlines()] == list(expected)


def test_walks_go_to_standard_output_and_to_devices(friends):
    done = run_in_subprocess("walks", str(friends), "-o", "-", "--seed", "3")
    assert [line.split() for line in done.stdout.splitlines()] == list(efge.Walks(friends, seed=3))
    assert run("walks", friends, "-o", "/dev/null").returncode == 0
    assert not Path("/dev/null").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "nowhere.csv"], "efge: nowhere.csv: no such file"),
        (["info", "."], "efge: .: this is a directory, not a file"),
        (["info", "{friends}", "--format", "xml"], "efge: no format 'xml'; known: edgelist, csv"),
        (["walks", "{friends}", "-o", "w.txt", "--strategy", "fast"], "efge: no walk strategy 'fast'; known: uniform"),
        (["walks", "{friends}", "-o", "w.txt", "--q", "2"], "efge: --p and --q are options of the strategy node2vec"),
        (["walks", "{friends}", "-o", "no/such/folder/w.txt"], "efge: no/such/folder: no such folder"),
        (["walks", "{friends}", "-o", "."], "efge: .: this is a directory; give the name of a file in it"),
        (["walks", "{friends}", "-o", "w.txt", "--walk-length", "0"], "efge: walk_length must be a positive integer"),
    ],
)
def test_invalid_input_is_a_one_line_error_with_exit_code_2(friends, tmp_path, arguments, message):
    done = run(*(argument.format(friends=friends) for argument in arguments), cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["friends.csv"]


def test_help_ends_with_an_example(plain):
    for command in ("info", "walks"):
        assert f"Example: efge {command}" in run(command, "--help").stdout


@pytest.mark.slow
def test_without_a_writable_cache_kernels_are_compiled_again(tmp_path):
    # Files in place of the cache folders: not even root can write into them.
    shutil.copytree(SOURCES, tmp_path / "efge", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "efge" / "kernels" / "__pycache__").write_text("")
    nowhere = str(tmp_path / "efge" / "__init__.py" / "cache")
    changes = {"HOME": nowhere, "XDG_CACHE_HOME": nowhere, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"} | changes
    code = "import efge; print(efge.__file__, efge.as_graph([('a', 'b')]).n_edges)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert done.stdout == f"{tmp_path / 'efge' / '__init__.py'} 1\n", done.stderr
