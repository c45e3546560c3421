"""The documentation: every block of code runs, every link leads somewhere, every public name is described.

The blocks of a page run in order, in a folder that is empty at first. Python blocks are doctests, blocks with a caption
are files, and console blocks are commands with what they print. `make docs` builds the site; no Sphinx is needed here.
"""

from __future__ import annotations

import doctest
import io
import json
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
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
EXAMPLES = sorted((ROOT / "examples" / "gallery").glob("*.py"))

FENCE = re.compile(
    r"^```(?:\{code-block\} )?(?P<language>\w+)\n(?::caption: (?P<caption>[^\n]+)\n\n)?(?P<body>.*?)^```$", re.M | re.S
)
LANGUAGES = {"python", "console", "text", "toml", "json"}
# How far a run has come is only printed where it takes long, and that it compiles only on a machine that has not yet.
PROGRESS = re.compile(r"^efge: (\w+ \d+%|compiling ).*\n", re.M)
# What only changes the reader's machine is not run.
NOT_RUN = ("pip", "make", "export")


class Block(NamedTuple):
    language: str
    caption: str | None
    body: str
    line: int


def blocks_of(text):
    for found in FENCE.finditer(text):
        yield Block(*found.group("language", "caption", "body"), text[: found.start()].count("\n") + 1)


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
    return end.value.code, PROGRESS.sub("", printed.getvalue())


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
    assert ">>> " in block.body, f"{page.name}, line {block.line}: code is a doctest, or a file with a caption"
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
        if block.caption:
            (desk / block.caption).write_text(block.body, "utf-8")
        elif block.language == "python":
            run_python(block, page, names)
        elif block.language == "console":
            run_console(block)


def test_no_block_escapes():
    for page in PAGES:
        text = page.read_text("utf-8")
        assert text.count("```") == 2 * len(list(blocks_of(text))), page.name


@pytest.fixture
def no_windows(monkeypatch):
    """Figures are drawn and closed."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    monkeypatch.setattr(pyplot, "show", lambda: pyplot.close("all"))


def run_code(code, place):
    with redirect_stdout(io.StringIO()):
        exec(compile(code, place, "exec"), names := {"__name__": "__main__"})
    return names


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, desk, no_windows):
    """Cells are plain Python, so that they need no kernel here."""
    cells = [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    run_code("\n".join("".join(cell["source"]) for cell in cells), path.name)


def test_notebooks_have_no_stored_output():
    assert {path.stem for path in NOTEBOOKS} == {"club", "fraud", "links", "recommendation"}
    for path in NOTEBOOKS:
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            assert not cell.get("outputs"), path.name
            assert cell.get("execution_count") is None, path.name


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_of_the_gallery_runs(path, desk, no_windows):
    assert "plt" in run_code(path.read_text("utf-8"), path.name), "an example draws"


def test_the_gallery_has_six_examples_or_more():
    assert len(EXAMPLES) >= 6
    assert all(path.name.startswith("plot_") for path in EXAMPLES)


def listed_names(text):
    """The entries of all autosummary tables of a page."""
    for table in re.findall(r"^\.\. autosummary::\n(?:   :.+\n)*\n((?:   \w+\n)+)", text, re.M):
        yield from table.split()


def test_the_api_page_has_every_public_name_once():
    text = (DOCS / "api.rst").read_text("utf-8")
    listed = list(listed_names(text))
    assert len(listed) == len(set(listed))
    assert set(listed) == set(efge.__all__)
    assert "efge.__version__" in text


def anchors_of(path):
    headings = re.findall(r"^#+ +(.+)$", re.sub(r"^```.*?^```$", "", path.read_text("utf-8"), flags=re.M | re.S), re.M)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


def prose_of(page):
    return re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose_of(page)):
        assert not target.startswith(("http:", "https:", "/")), target
        name, _, anchor = target.partition("#")
        path = page if not name else page.parent / name
        # Pages of the gallery are written when the site is built.
        if path.parent.name == "gallery":
            assert path.stem == "index" or path.with_suffix(".py").name in {example.name for example in EXAMPLES}, (
                target
            )
            continue
        assert path.is_file(), f"{page.name}: {target}"
        assert not anchor or anchor in anchors_of(path), f"{page.name}: {target}"


def test_every_page_is_in_a_table_of_contents():
    listed = {"index"}
    for page in DOCS.glob("*.md"):
        for body in re.findall(r"^:::\{toctree\}\n(?::.+\n)*\n(.*?)^:::$", page.read_text("utf-8"), re.M | re.S):
            listed |= {re.sub(r".*<(.+)>", r"\1", line) for line in body.splitlines() if line}
    header = (ROOT / "examples" / "gallery" / "GALLERY_HEADER.rst").read_text("utf-8")
    listed |= set(re.findall(r"^   /(notebooks/\w+)$", header, re.M))
    pages = {path.stem for path in [*DOCS.glob("*.md"), *DOCS.glob("*.rst")]}
    assert listed == pages | {f"notebooks/{path.stem}" for path in NOTEBOOKS} | {"gallery/index"}


def test_pages_do_not_mention_the_machine_that_they_were_written_on():
    told = re.compile(r"(?<![\w.])/(?:root|home|tmp|opt|usr)\b|localhost", re.I)
    written = [*DOCS.glob("*.*"), *DOCS.glob("_*/*.*"), *NOTEBOOKS, *EXAMPLES]
    for path in written:
        if path.is_file() and path.suffix != ".png":
            text = path.read_text("utf-8")
            assert not told.search(text), f"{path.name}: {told.search(text)}"


def test_the_page_of_formats_lists_names_of_columns_that_are_recognized(tmp_path):
    text = (DOCS / "formats.md").read_text("utf-8")
    pairs, weights = re.search(r"recognized by their names.*?nodes as (.*?); weights\s+as (.*?)\.", text, re.S).groups()
    names = re.findall(r"`(\w+)` and\s+`(\w+)`", pairs)
    assert len(names) >= 6
    for source, target in names:
        for weight in re.findall(r"`(\w+)`", weights):
            (tmp_path / "edges.csv").write_text(f"day,{weight},{target},{source}\n1,2.5,ann,bob\n")
            graph = efge.read_graph(tmp_path / "edges.csv", directed=True)
            row, column = graph.to_scipy().nonzero()
            assert (graph.names[row], graph.names[column], graph.weights) == ("bob", "ann", 2.5)
    (tmp_path / "edges.csv").write_text("a,b,strength\nann,bob,2.5\n")
    with pytest.warns(UserWarning, match="the column 'strength' is ignored"):
        assert not efge.read_graph(tmp_path / "edges.csv").is_weighted


def test_the_advice_for_directions_follows_them():
    row = next(
        line for line in (DOCS / "choosing.md").read_text("utf-8").splitlines() if "| directions matter |" in line
    )
    model = eval(re.search(r"`(EFGE\(.*?\))`", row).group(1), {"EFGE": efge.EFGE})
    assert (model.follow_directions, model.propagate) == (True, None)
