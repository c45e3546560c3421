"""Reproduction of the paper: published numbers are exact, finished cells are saved, verdicts follow from numbers."""

from __future__ import annotations

import csv
import signal
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import efge
from efge.datasets import DATASETS
from efge.evaluation.results import summarize
from efge.experiments import runner, tables
from efge.experiments.plan import STUDIES, Cell, Plan, load_settings, published_table
from efge.experiments.report import write_report
from efge.experiments.scoring import Score, score_cell
from efge.experiments.tables import Entry
from helpers import assert_fails, run


@pytest.fixture
def data(networks, monkeypatch):
    monkeypatch.setenv("EFGE_DATA", str(networks))


def test_published_tables_have_as_many_cells_as_the_papers():
    files = [f"classification_{network}.csv" for network in ("citeseer", "cora", "dblp")]
    assert [len(published_table(name)) for name in files] == [8 * 2 * 18] * 3
    assert len(published_table("links.csv")) == 8 * 7
    assert set(load_settings()["studies"]) == set(STUDIES)
    assert sum(key[0].startswith("EFGE") for name in files for key in published_table(name)) == 324
    assert sum(key[0].startswith("EFGE") for key in published_table("links.csv")) == 21


@pytest.fixture
def paper(networks):
    """A function that returns the rows of one of the paper's tables, as text."""
    folder = networks.parent / "paper"
    if not folder.is_dir():
        pytest.skip(f"the paper's tables are not in {folder}")

    def rows(name):
        with (folder / name).open(encoding="utf-8") as file:
            return list(csv.DictReader(file))

    return rows


def read_table_text(name):
    """Return the text at each row and column of a table in the package, where `published_table` returns numbers."""
    header, *rows = csv.reader((files("efge.experiments") / name).read_text("utf-8").splitlines())
    names = sum(not field.isdigit() for field in header) if name.startswith("classification") else 1
    return {(*row[:names], column): row[at] for row in rows for at, column in enumerate(header) if at >= names}


def test_published_scores_equal_the_papers_digit_by_digit(paper):
    expected = {f"classification_{network}.csv": {} for network in ("citeseer", "cora", "dblp")}
    for row in paper("node_classification.csv"):
        key = row["method"], f"{row['f1']}_f1", row["train_percent"]
        expected[f"classification_{row['dataset']}.csv"][key] = row["score"]
    expected["links.csv"] = {(row["method"], row["dataset"]): row["auc"] for row in paper("link_prediction.csv")}
    assert {name: read_table_text(name) for name in expected} == expected
    for name, table in expected.items():
        assert published_table(name) == {key: float(text) for key, text in table.items()}


def test_published_network_statistics_equal_the_papers_digit_by_digit(paper):
    rows = {row.pop("dataset"): row for row in paper("networks.csv")}
    assert read_table_text("networks.csv") == {
        (name, key): text for name, row in rows.items() for key, text in row.items()
    }
    for name, row in rows.items():
        dataset = DATASETS[name]
        counts = (dataset.nodes, dataset.edges, dataset.classes, dataset.components)
        assert counts == tuple(int(row[key] or 0) for key in ("nodes", "edges", "classes", "components")), name


def test_a_complete_run_repeats_every_classification_fifty_times():
    cells = Plan(studies=("classification",)).cells()
    assert len(cells) == 3 * 8 * 5
    assert load_settings()["studies"]["classification"]["splits"] * 5 == 50


def test_a_quick_run_is_a_subset_of_a_complete_run():
    assert set(Plan(quick=True).cells()) < set(Plan().cells())


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"studies": ("link",)}, "no study 'link'; known: networks, classification, links"),
        ({"networks": ("kora",)}, "no network 'kora'; known: astroph, citeseer"),
        ({"methods": ("EFGE",)}, "no method 'EFGE'; known: DeepWalk"),
        ({"repeats": 0}, "repeats must be a positive integer"),
        ({"studies": ("dolphins",), "networks": ("cora",)}, "nothing to do"),
    ],
)
def test_unknown_names_and_empty_plans_are_refused(choice, message):
    with pytest.raises(ValueError, match=message):
        Plan(**choice).check()


def test_walk_based_methods_share_the_walks_of_a_seed(data, monkeypatch):
    from efge.experiments import scoring

    calls = []
    walks = scoring.Walks
    monkeypatch.setattr(
        scoring, "Walks", lambda *args, **options: calls.append((args, options)) or walks(*args, **options)
    )
    for method in ("DeepWalk", "Node2Vec", "EFGE-Norm"):
        score_cell(Cell("dolphins", "dolphins", method, None, 0))
    assert len(calls) == 3
    assert len({(args[0].fingerprint(), args[1], str(options)) for args, options in calls}) == 1


def test_network_statistics_equal_those_of_table_1(data):
    cells = Plan(studies=("networks",)).cells()
    entries = tables.make_entries({cell: score_cell(cell) for cell in cells})
    table = tables.statistics_table(entries)
    assert len(table.rows) == 7
    assert not any("published" in cell for row in table.rows for cell in row)


@pytest.mark.slow
def test_a_cell_has_the_same_scores_in_another_process(data, tmp_path):
    plan = Plan(studies=("links",), networks=("grqc",), methods=("HOPE",), repeats=1)
    results = runner.run(plan, tmp_path, processes=2)
    assert list(results) == plan.cells()
    assert results[plan.cells()[0]] == score_cell(plan.cells()[0])


def test_finished_cells_are_not_run_again(data, tmp_path):
    plan = Plan(studies=("dolphins",), methods=("HOPE", "NetMF"))
    runner.run(plan, tmp_path, processes=1)
    finished, missing = (tmp_path / "cells" / cell.path for cell in plan.cells())
    before = finished.stat().st_mtime_ns
    missing.unlink()
    reported = []
    runner.run(plan, tmp_path, processes=1, progress=lambda cell, done, total: reported.append(cell))
    assert reported == [None, plan.cells()[1]]
    assert finished.stat().st_mtime_ns == before


def test_results_of_another_version_are_refused(tmp_path):
    (tmp_path / "settings.json").write_text('{"efge": "0.0.1"}')
    with pytest.raises(efge.EvaluationError, match="another version or of other settings; choose a new folder"):
        runner.run(Plan(studies=("networks",)), tmp_path)


def test_a_file_without_scores_is_refused(data, tmp_path):
    plan = Plan(studies=("networks",), networks=("cora",))
    runner.run(plan, tmp_path, processes=1)
    (tmp_path / "cells" / plan.cells()[0].path).write_text("something else\n")
    with pytest.raises(efge.EvaluationError, match="this is not a file of scores; remove it"):
        runner.run(plan, tmp_path, processes=1)


def command(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "efge", "reproduce", *map(str, arguments)], capture_output=True, text=True, **options
    )


def test_the_command_writes_scores_tables_figures_and_a_page(data, tmp_path):
    done = command(
        "dolphins",
        "networks",
        "links",
        "--networks",
        "dolphins,grqc",
        "--methods",
        "HOPE",
        "-o",
        tmp_path,
        "--repeats",
        1,
    )
    assert done.returncode == 0
    assert all(line.startswith("efge: measuring ") for line in done.stderr.splitlines()), done.stderr
    assert done.stdout.strip() == str(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Dolphins in two dimensions" in page
    assert page.count("<svg") == 2
    # The page loads nothing from elsewhere.
    assert not any(text in page for text in ("<script", "<link", 'src="', "@import", "url(http"))
    for name in ("dolphins.png", "dolphins.svg", "links.png", "links.svg"):
        assert (tmp_path / "figures" / name).stat().st_size > 5000
    with (tmp_path / "tables.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] == "auc"]
    assert [row["published"] for row in rows if row["method"] == "HOPE"] == [
        str(published_table("links.csv")["HOPE", "grqc"])
    ]
    assert "| HOPE | ours |" in (tmp_path / "report.md").read_text()


@pytest.mark.parametrize("arguments", [("links", "--methods", "EFGE"), ("--networks", "kora"), ("--repeats", "0")])
def test_the_command_refuses_unknown_names_in_one_line(tmp_path, arguments):
    assert_fails(run("reproduce", *arguments, "-o", tmp_path), "")


@pytest.mark.slow
def test_an_interrupted_run_continues_where_it_stopped(data, tmp_path):
    study = ["dolphins", "--methods", "HOPE,NetMF,EFGE-Norm"]
    arguments = [sys.executable, "-m", "efge", "reproduce", *study, "-o", str(tmp_path / "a"), "--processes", "1"]
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
    cells = tmp_path / "a" / "cells"
    while process.poll() is None and not list(cells.rglob("*.csv")):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    *progress, last = process.communicate()[1].splitlines()
    finished = {path: path.stat().st_mtime_ns for path in cells.rglob("*.csv")}
    assert 0 < len(finished) < 3
    assert process.returncode == 130
    assert last.endswith("run the same command again to continue")
    # A busy machine may have had ten seconds, after which there is such a line.
    assert all(line.startswith("efge: measuring ") for line in progress)
    assert command(*study, "-o", tmp_path / "a").returncode == 0
    assert all(path.stat().st_mtime_ns == time_ for path, time_ in finished.items())
    assert command(*study, "-o", tmp_path / "b").returncode == 0
    assert (tmp_path / "a" / "scores.csv").read_bytes() == (tmp_path / "b" / "scores.csv").read_bytes()
    assert (tmp_path / "a" / "report.html").read_bytes() == (tmp_path / "b" / "report.html").read_bytes()


@pytest.mark.slow
def test_a_killed_run_leaves_no_process_behind(data, tmp_path):
    arguments = ["reproduce", "links", "--networks", "dblp", "--methods", "HOPE", "--repeats", "1", "-o", str(tmp_path)]
    process = subprocess.Popen([sys.executable, "-m", "efge", *arguments])
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():
        process.kill()
        pytest.skip("only Linux lists the children of a process")
    while len(pids := children.read_text().split()) < 2:
        assert process.poll() is None
        time.sleep(0.05)
    # Give the children time to start their work.
    time.sleep(4)
    process.kill()
    process.wait()
    # A child that stays ends the test by its time limit.
    while any(Path("/proc", pid).exists() for pid in pids):
        time.sleep(0.05)


def entry(ours, published, study="links", method="EFGE-Norm", **others):
    fields = {"network": "cora", "value": "", "metric": "auc", "column": "cora"} | others
    return Entry(study=study, method=method, ours=summarize(ours), published=published, **fields)


@pytest.mark.parametrize(
    ("ours", "verdict"), [(0.800, "same"), (0.7904, "same"), (0.789, "below"), (0.8104, "same"), (0.811, "better")]
)
def test_a_verdict_tolerates_a_hundredth_and_rounding(ours, verdict):
    assert entry([ours], 0.8).verdict == verdict


def test_a_better_score_counts_as_reached():
    assert tables.count_reached([entry([0.9], 0.8), entry([0.8], 0.8), entry([0.7], 0.8), entry([0.7], None)]) == (2, 3)


def test_a_claim_holds_only_beyond_twice_its_standard_error():
    def window(value, scores):
        return entry(scores, None, study="window", metric="micro_f1", column="50", value=value, network="citeseer")

    random = np.random.default_rng(0)
    for gain, verdict in ((0.05, "holds"), (0.0, "not clear"), (-0.05, "does not hold")):
        table = tables.claims_table(
            [window("2", random.normal(0.6, 0.01, 20)), window("10", random.normal(0.6 + gain, 0.01, 20))]
        )
        assert [row[2] for row in table.rows] == [verdict]


def test_hostile_names_stay_text_in_the_page(tmp_path):
    cell = Cell("links", "cora", "EFGE-Norm", None, 0)
    path = write_report({cell: [Score("<script>alert(1)</script>", "", "auc", "cora", 0, 0.8)]}, tmp_path)
    assert "<script" not in path.read_text()


def test_every_setting_of_a_study_is_used():
    # A key that no code reads would be a setting without effect.
    sources = "".join(path.read_text() for path in Path(runner.__file__).parent.glob("*.py"))
    for study in load_settings()["studies"].values():
        for key in study:
            assert f'"{key}"' in sources
