"""The command tune: its table, the command that it prints, and embed --tune."""

from __future__ import annotations

import json
import shlex

import networkx as nx
import pytest
import typer
from typer.main import get_command

import efge
from efge.cli.embed import embed
from efge.cli.options import READING_OPTIONS, reading_arguments
from efge.cli.tune import as_options, embed_command
from helpers import assert_fails, run

CLUB = nx.karate_club_graph()
# Even few walks tell its hidden edges from other pairs, unlike those of the club.
CAVES = nx.connected_caveman_graph(8, 8)
SPACE = """
family = ["poisson", {name = "normal", sigma = 0.5}]
window = 2
dim = 4
walks_per_node = 3
propagate = "none"
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "club.csv").write_text("source,target\n" + "".join(f"{u},{v}\n" for u, v in CLUB.edges))
    (tmp_path / "caves.csv").write_text("source,target\n" + "".join(f"{u},{v}\n" for u, v in CAVES.edges))
    sides = nx.get_node_attributes(CLUB, "club")
    (tmp_path / "labels.tsv").write_text("".join(f"{u}\t{side}\n" for u, side in sides.items()))
    (tmp_path / "space.toml").write_text(SPACE)
    return tmp_path


def test_the_printed_command_trains_the_best_candidate(folder):
    done = run(
        "tune", "caves.csv", "--space", "space.toml", "-o", "study", "--undirected", "--plot", "s.svg", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    command = done.stdout.splitlines()[-1]
    assert done.stdout.startswith("| candidate | auc |")
    study = efge.tune(efge.read_graph(folder / "caves.csv"), space=folder / "space.toml")
    assert study.to_markdown().splitlines()[2].split("|")[1] in done.stdout
    assert (folder / "s.svg").read_text().startswith("<?xml")
    assert json.loads((folder / "study" / "study.json").read_text())["advice"] == study.advice
    assert run(*shlex.split(command)[1:], cwd=folder).returncode == 0
    assert efge.Embedding.load(folder / "vectors.npz") == study.best_model.embedding_


def test_labels_choose_and_tell_what_to_expect(folder):
    options = ("--space", "space.toml", "--labels", "labels.tsv", "--metric", "macro_f1", "--json", "-o", "study")
    done = run("tune", "club.csv", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert set(content["expected"]) == {"micro_f1", "macro_f1", "accuracy"}
    assert len(content["candidates"]) == 2
    assert content["candidates"][0]["score"] == content["candidates"][0]["macro_f1"]


def test_embed_tunes_first_and_its_record_repeats_the_run(folder, monkeypatch):
    small = {"family": ["bernoulli", "poisson"], "window": [1], "propagate": [None]}
    monkeypatch.setattr("efge.tuning.space.DEFAULT_SPACE", small)
    quick = ("--dim", 4, "--walks-per-node", 3, "--seed", 1)
    done = run("embed", "caves.csv", "-o", "v.npz", "--tune", *quick, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "of 2 candidates" in done.stderr
    record = json.loads((folder / "v.npz.json").read_text())["config"]
    assert (record["window"], record["propagate"], record["dim"]) == (1, "none", 4)
    assert (folder / "v.npz.study" / "table.csv").exists()
    done = run("embed", "--config", "v.npz.json", "-o", "again.npz", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "again.npz").read_bytes() == (folder / "v.npz").read_bytes()


def test_embed_replaces_the_study_of_other_settings_only_if_it_may(folder, monkeypatch):
    monkeypatch.setattr("efge.tuning.space.DEFAULT_SPACE", {"window": [1, 2], "propagate": [None]})
    command = ("embed", "caves.csv", "-o", "v.npz", "--tune", "--walks-per-node", 3)
    assert run(*command, "--dim", 4, cwd=folder).returncode == 0
    table = (folder / "v.npz.study" / "table.csv").read_bytes()
    for name in ("v.npz", "v.npz.json"):
        (folder / name).unlink()
    assert_fails(run(*command, "--dim", 3, cwd=folder), "v.npz.study has a study with another space")
    assert not (folder / "v.npz").exists()
    assert (folder / "v.npz.study" / "table.csv").read_bytes() == table
    assert run(*command, "--dim", 4, cwd=folder).returncode == 0
    assert run(*command, "--dim", 3, "--force", cwd=folder).returncode == 0
    assert (folder / "v.npz.study" / "table.csv").read_bytes() != table


@pytest.mark.parametrize(
    "estimator",
    [
        efge.EFGE(),
        efge.EFGE("poisson", dim=64, window=1, p=0.5, propagate=None),
        efge.EFGE(efge.NegativeBinomial(2.0), walks_per_node=30),
        efge.HOPE(dim=4, beta=0.01),
        efge.NetMF(window=3),
        efge.ProNE(theta=0.7),
        efge.BigClam(8),
    ],
    ids=repr,
)
def test_every_estimator_has_options_that_make_it_again(estimator):
    from efge.cli.runs import make_model

    made = make_model(*as_options(estimator))
    as_instance = efge.EFGE(made.family).get_params()["family"] if hasattr(made, "family") else None
    expected = estimator.get_params()
    if isinstance(expected.get("family"), str):
        expected["family"] = as_instance
    assert made.get_params() | {"family": as_instance} == expected | {"family": as_instance}
    command = embed_command("my graph.csv", {"directed": False, "delimiter": ";"}, estimator, 3)
    assert command.startswith("efge embed 'my graph.csv' -o vectors.npz --undirected --delimiter ';' --model ")


def test_a_printed_command_has_switches_as_they_are_declared():
    single = typer.Typer()
    single.command()(embed)
    flags = {p.name: p for p in get_command(single).params if p.name in READING_OPTIONS and p.is_flag}
    assert set(flags) == {
        "directed",
        "weighted",
        "header",
        "bipartite",
        "skip_bad",
        "drop_self_loops",
        "count_duplicates",
    }
    for name, flag in flags.items():
        assert reading_arguments({name: True}) == flag.opts
        assert reading_arguments({name: False}) == flag.secondary_opts
    words = embed_command("graph.csv", {"bipartite": False, "skip_bad": True, "source": 0}, efge.HOPE(), 3).split()
    assert words[5:9] == ["--one-kind", "--skip-bad", "--source", "0"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tune", "club.csv", "-o", "s", "--budget", "soon"), "a time is a number followed by s, min or h"),
        (("tune", "club.csv", "-o", "s", "--fits", "0"), "fits must be a positive integer; got 0"),
        (("tune", "club.csv", "-o", "s", "--space", "no.toml"), "no.toml: no such file"),
        (("embed", "club.csv", "-o", "v.npz", "--tune", "--window", "3"), "--tune chooses --window itself"),
        (("embed", "club.csv", "-o", "v.npz", "--tune", "-m", "poisson"), "--tune chooses --model itself"),
    ],
)
def test_mistakes_are_errors_of_one_line(folder, arguments, message):
    assert_fails(run(*arguments, cwd=folder), message)


def test_a_study_replaces_no_file_of_something_else(tmp_path):
    (tmp_path / "graph.txt").write_text("".join(f"{i} {(i + step) % 20}\n" for i in range(20) for step in (1, 2)))
    (tmp_path / "other.txt").write_text("".join(f"{i} {(i + step) % 24}\n" for i in range(24) for step in (1, 2)))
    (tmp_path / "space.toml").write_text("dim = [2]\nwalks_per_node = [2]\n")
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "table.csv").write_text("important")
    arguments = ("--space", "space.toml", "-o", "study")
    done = run("tune", "graph.txt", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "table.csv: this file exists, and is of no study; name another folder, or pass force=True (--force)" in (
        done.stderr
    )
    assert (tmp_path / "study" / "table.csv").read_text() == "important"
    assert run("tune", "graph.txt", *arguments, "--force", cwd=tmp_path).returncode == 0
    assert run("tune", "graph.txt", *arguments, cwd=tmp_path).returncode == 0
    table = (tmp_path / "study" / "table.csv").read_bytes()
    (tmp_path / "wider.toml").write_text("dim = [2, 3]\nwalks_per_node = [2]\n")
    for setting, others in {
        "graph": ("other.txt", *arguments),
        "seed": ("graph.txt", *arguments, "--seed", 1),
        "fits": ("graph.txt", *arguments, "--fits", 2),
        "space": ("graph.txt", *arguments, "--space", "wider.toml"),
    }.items():
        done = run("tune", *others, cwd=tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert f"study has a study with another {setting}; name another folder, or pass force=True (--force)" in (
            done.stderr
        )
    assert (tmp_path / "study" / "table.csv").read_bytes() == table
    assert run("tune", "graph.txt", *arguments, "--seed", 1, "--force", cwd=tmp_path).returncode == 0


def test_where_nothing_beats_chance_the_defaults_are_chosen(folder, monkeypatch):
    monkeypatch.setattr("efge.tuning.space.DEFAULT_SPACE", {"window": [1], "propagate": [None]})
    nx.write_edgelist(nx.gnm_random_graph(100, 400, seed=1), folder / "random.txt", data=False)
    done = run("tune", "random.txt", "-o", "study", "--seed", 1, cwd=folder)
    assert "No candidate beats chance" in done.stdout
    command = done.stdout.splitlines()[-1].split()
    assert command[-4:] == ["--model", "poisson", "--seed", "1"]
    done = run("embed", "random.txt", "-o", "v.npz", "--tune", "--dim", 4, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "chose the defaults: No candidate beats chance" in done.stderr
    record = json.loads((folder / "v.npz.json").read_text())["config"]
    assert record["dim"] == 4
    assert "window" not in record
