"""The documentation: every block of code runs, every link leads somewhere, every public name is described.

A page is a story: its blocks run in order, in a folder that is empty at first. Python blocks are doctests, blocks with
a title are files, and console blocks are commands with what they print.
"""

from __future__ import annotations

import doctest
import io
import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

import efge
from efge.cli import main

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# The report of the complete run is written from its results, and has no code.
PAGES = sorted(path for path in DOCS.glob("*.md") if path.name != "reproduction.md")
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w+)(?P<rest>[^\n]*)\n(?P<body>.*?)^(?P=indent)```$", re.M | re.S)
LANGUAGES = {"python", "console", "text", "toml", "json"}
# What only changes the reader's machine is not run.
NOT_RUN = ("pip", "make", "export")


class Block(NamedTuple):
    language: str
    title: str | None
    body: str
    line: int


def blocks_of(text):
    for found in FENCE.finditer(text):
        title = re.search(r'title="([^"]+)"', found["rest"])
        body = textwrap.dedent(found["body"])
        yield Block(found["language"], title and title[1], body, text[: found.start()].count("\n") + 1)


def run(command):
    """Run a line of the shell; its exit code, and what it prints. Our own commands run in this process."""
    if not command.startswith("efge "):
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr
    printed = io.StringIO()
    before, sys.argv = sys.argv, shlex.split(command)
    try:
        with redirect_stdout(printed), redirect_stderr(printed), pytest.raises(SystemExit) as end:
            main()
    finally:
        sys.argv = before
    return end.value.code, printed.getvalue()


def run_console(block):
    for number, shown in enumerate(re.split(r"^\$ ", block.body, flags=re.M)[1:]):
        command, _, expected = shown.partition("\n")
        if command.split()[0] in NOT_RUN:
            continue
        code, printed = run(command)
        place = f"line {block.line}, command {number}: {command}\n{printed}"
        if not expected.strip():
            assert code == 0, place
            continue
        # Bad input is one line and exit code 2; all else is well.
        assert code == (2 if expected.startswith("efge: ") and not printed.startswith("efge: wrote") else 0), place
        assert doctest.OutputChecker().check_output(expected, printed, FLAGS), f"{place}\nexpected:\n{expected}"


def run_python(block, page, names):
    assert ">>> " in block.body, f"{page.name}, line {block.line}: code is a doctest, or a file with a title"
    test = doctest.DocTestParser().get_doctest(block.body, names, page.name, page.name, block.line)
    report = io.StringIO()
    result = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.write, clear_globs=False)
    names.update(test.globs)
    assert not result.failed, report.getvalue()


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """An empty folder to work in, a plain screen, and no run of hours."""
    monkeypatch.chdir(tmp_path)
    for name, value in {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "120"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("EFGE_DATA", raising=False)
    monkeypatch.setattr("efge.experiments.runner.run", lambda plan, folder, **options: plan.check() or {})
    monkeypatch.setattr("efge.experiments.report.write_report", lambda results, folder: f"{folder}/report.html")
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_blocks_of_a_page_run(page, desk):
    names = {"__name__": "__main__"}
    for block in blocks_of(page.read_text("utf-8")):
        assert block.language in LANGUAGES, f"{page.name}, line {block.line}: {block.language}"
        if block.language == "toml":
            tomllib.loads(block.body)
        if block.language == "json":
            json.loads(block.body)
        if block.title:
            (desk / block.title).write_text(block.body, "utf-8")
        elif block.language == "python":
            run_python(block, page, names)
        elif block.language == "console":
            run_console(block)


def test_no_block_escapes():
    for page in PAGES:
        text = page.read_text("utf-8")
        assert text.count("```") == 2 * len(list(blocks_of(text))), page.name


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, desk, monkeypatch):
    """Cells are plain Python, which needs no kernel here; what they draw goes nowhere."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    monkeypatch.setattr(pyplot, "show", lambda: pyplot.close("all"))
    names = {"__name__": "__main__"}
    for number, cell in enumerate(json.loads(path.read_text("utf-8"))["cells"]):
        if cell["cell_type"] == "code":
            with redirect_stdout(io.StringIO()):
                exec(compile("".join(cell["source"]), f"{path.name}, cell {number}", "exec"), names)


def test_there_are_two_notebooks_with_small_outputs():
    assert {path.stem for path in NOTEBOOKS} == {"club", "links"}
    for path in NOTEBOOKS:
        assert path.stat().st_size < 100_000, path.name
        cells = json.loads(path.read_text("utf-8"))["cells"]
        assert not [out for cell in cells for out in cell.get("outputs", ()) if out["output_type"] == "error"]


def test_the_api_page_has_every_public_name_once():
    text = (DOCS / "api.md").read_text("utf-8")
    described = re.findall(r"^::: efge\.(\w+)$", text, re.M)
    assert len(described) == len(set(described))
    assert {*described, "__version__"} == set(efge.__all__)
    assert "efge.__version__" in text


def anchors_of(path):
    headings = re.findall(
        r"^#+ +(.+)$", re.sub(r"^ *```.*?^ *```$", "", path.read_text("utf-8"), flags=re.M | re.S), re.M
    )
    slugs = {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}
    return slugs | ({f"efge.{name}" for name in efge.__all__} if path.name == "api.md" else set())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text("utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        assert not target.startswith(("http:", "https:", "/")), target
        name, _, anchor = target.partition("#")
        path = page if not name else page.parent / name
        if path.parent.name == "notebooks":
            path = path.with_suffix(".ipynb")
        assert path.is_file(), f"{page.name}: {target}"
        assert not anchor or anchor in anchors_of(path), f"{page.name}: {target}"


def test_every_page_is_in_the_table_of_contents():
    listed = set(re.findall(r"([\w/]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.M))
    assert listed == {*(page.name for page in DOCS.glob("*.md")), "notebooks/club.md", "notebooks/links.md"}


def test_pages_know_nothing_of_the_machine_that_they_were_written_on():
    told = re.compile(r"(?<![\w.])/(?:root|home|tmp|opt|usr)\b|localhost", re.I)
    written = [*DOCS.glob("**/*.md"), *DOCS.glob("**/*.py"), *NOTEBOOKS, ROOT / "mkdocs.yml"]
    for path in written:
        text = re.sub(r'"image/png": *"[^"]*"', "", path.read_text("utf-8"))
        assert not told.search(text), f"{path.name}: {told.search(text)}"


@pytest.mark.skipif(
    find_spec("mkdocs") is None, reason="the site is built where efge[docs] is installed; see make docs"
)
def test_the_site_is_built_without_a_warning(tmp_path):
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for page in (tmp_path / "site").glob("**/*.html"):
        text = page.read_text("utf-8")
        assert not re.search(r"""<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//""", text), (
            page.name
        )
        assert "arithmatex" not in text, page.name
