"""Figures on pages: all come from the records, and the README stays short and runs."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

import figures
import figures_bench
import figures_choosing
import records
import reproduction

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = figures.pages()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_shows_what_the_records_have(page):
    text = page.read_text("utf-8")
    assert figures.filled(text, page.name) == text, "run make figures"


def test_a_loss_to_the_best_by_other_splits_does_not_grow_by_what_was_best_by_chance():
    lucky, steady = ("poisson", 1, "filter"), ("poisson", 5, "filter")
    scores = {lucky: {"even": 0.9, "odd": 0.5}, steady: {"even": 0.6, "odd": 0.7}}
    loss = figures_choosing.part_loss
    assert loss(scores, [[steady], [steady]], ["even", "odd"], crossed=False) == pytest.approx((0.3 - 0.2) / 2)
    assert loss(scores, [[steady], [steady]], ["even", "odd"], crossed=True) == pytest.approx((0.0 - 0.2) / 2)
    assert loss(scores, [[steady, lucky], []], ["even", "odd"], crossed=True) == pytest.approx((0.0 - 0.3) / 2)


def test_a_figure_that_was_typed_by_hand_is_noticed():
    text = README.read_text("utf-8")
    inside = text.index("| training, 200,000 nodes")
    assert figures.filled(text[:inside] + text[inside:].replace("15.3", "99.9", 1), "README.md") == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<!-- figures: velocity -->\n<!-- end figures -->", "page.md: no figure 'velocity'; known: "),
        ("<!-- figures: speed -->\n", "page.md: a figure's marker is alone"),
        ("<!-- end figures -->\n", "page.md: a figure's marker is alone"),
        ("see <!-- figures: speed --> here\n<!-- end figures -->", "page.md: a figure's marker is alone"),
        ("<!-- figures: speed -->\n<!-- figures: machine -->\n<!-- end figures -->", "'speed' has no end"),
    ],
)
def test_markers_that_mean_nothing_are_errors(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        figures.filled(text, "page.md")


def test_every_figure_is_shown_on_some_page():
    shown = {name for page in PAGES for name in figures.shown(page.read_text("utf-8"))}
    assert shown == set(figures.BLOCKS)


def test_speeds_stand_between_markers():
    """Estimates for clusters, on the page about scaling, state rates that nobody measured."""
    speed = re.compile(
        r"\d[\d.,]* (?:to [\d.,]+ )?million (?:pairs|steps)|\d[\d.,]* (?:to [\d.,]+ )?times (?:as fast|faster)"
    )
    for page in PAGES:
        found = speed.search(figures.without_figures(page.read_text("utf-8")))
        assert page.name == "scaling.md" or not found, f"{page.name}: {found}"


@pytest.mark.parametrize("path", sorted(records.RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_a_record_says_when_and_where_it_was_measured(path):
    if path.stem == "bench":
        cases = json.loads(path.read_text("utf-8"))["cases"]
        assert all(date.fromisoformat(case["measured_at"][:10]) for case in cases)
        return
    for title, table in records.load(path.stem).items():
        assert date.fromisoformat(table.measured), title
        assert table.machine, title
        assert table.origin.startswith(("written by ", "copied by hand from ")), title
        assert all(len(row) == len(table.columns) for row in table.rows), title


def test_ratios_are_those_that_the_benchmark_computed():
    targets = {
        target["what"]: target["measured"] for case in figures_bench.bench()["cases"] for target in case["targets"]
    }
    for family in figures_bench.FAMILIES:
        name, ours = "training, 10,000 nodes", f"efge {family}, 1 thread"
        ratio = figures_bench.ratio(name, ours, "gensim, 1 thread")
        assert targets[f"efge {family} vs gensim, 10,000 nodes, one thread"] == f"{ratio:.2f} times"


def test_a_record_is_read_as_it_was_written(tmp_path):
    table = records.Table("2026-01-31", "a machine", "written by a test", ["name", "n"], [["ü", 1], [None, 0.5]])
    records.write("trial", {"one": table, "two": table}, tmp_path)
    assert records.load("trial", tmp_path) == {"one": table, "two": table}
    assert table.row(n=1) == {"name": "ü", "n": 1}
    with pytest.raises(KeyError, match="0 rows"):
        table.row(n=2)


def test_rows_that_were_not_measured_again_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "RESULTS", tmp_path)
    monkeypatch.setattr(records.load, "__defaults__", (tmp_path,))
    monkeypatch.setattr(records.write, "__defaults__", (tmp_path,))
    records.save("trial", "scores", ["network", "seed", "mean"], [["cora", 0, 0.5], ["dblp", 0, 0.6]], "a test", key=2)
    records.save("trial", "scores", ["network", "seed", "mean"], [["cora", 0, 0.7]], "a test", key=2)
    assert records.load("trial")["scores"].rows == [["dblp", 0, 0.6], ["cora", 0, 0.7]]


def test_a_reproduction_becomes_a_record(tmp_path, monkeypatch):
    from efge.experiments.plan import Cell
    from efge.experiments.report import write_report
    from efge.experiments.scoring import Score

    results = {
        Cell("links", "cora", "EFGE-Norm", None, repeat): [Score("EFGE-Norm", "", "auc", "cora", repeat, score)]
        for repeat, score in enumerate((0.8, 0.82))
    }
    write_report(results, tmp_path)
    saved = {}
    monkeypatch.setattr(
        reproduction, "save", lambda name, title, columns, rows, program: saved.update({title: list(rows)})
    )
    reproduction.record(tmp_path)
    assert saved["scores"] == [["links", "cora", "EFGE-Norm", "", "auc", "cora", pytest.approx(0.81)]]
    assert saved["repeats"] == [("cora", 2)]


def test_the_readme_is_short():
    words = figures.without_figures(README.read_text("utf-8")).split()
    assert len(words) <= 750


def test_the_commands_of_the_readme_run(tmp_path):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    commands = re.findall(r"^\$ efge (.+)$", README.read_text("utf-8"), re.M)
    assert len(commands) == 5
    for command in commands:
        arguments = [sys.executable, "-m", "efge", *shlex.split(command)]
        environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
        done = subprocess.run(arguments, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
    assert {"vectors.npz", "groups.tsv", "map.html", "report.html"} <= {path.name for path in tmp_path.iterdir()}
