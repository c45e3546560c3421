"""Nothing of the user's is lost: an output is never an input, and an existing file is replaced only on demand."""

from __future__ import annotations

import io
import os
import sys
from contextlib import redirect_stderr

import numpy as np
import pytest

import efge
from efge.cli import outputs
from efge.cli.runs import read_graph
from efge.kernels.caching import before_compilation
from helpers import assert_fails, run

EDGES = "source,target\nann,bob\nbob,cid\ncid,ann\ncid,dan\n"
QUICK = ("--dim", 2, "--walks-per-node", 1, "--seed", 1)


@pytest.fixture
def folder(tmp_path):
    """A folder with an edge list, labels, nodes and vectors."""
    (tmp_path / "e.csv").write_text(EDGES)
    (tmp_path / "labels.csv").write_text("node,label\nann,x\nbob,y\ncid,x\ndan,y\n")
    (tmp_path / "nodes.txt").write_text("ann\nzoe\n")
    efge.Embedding(np.eye(4), ["ann", "bob", "cid", "dan"]).save(tmp_path / "v.npz")
    return tmp_path


def test_the_first_compilation_is_explained_once(folder):
    read_graph(str(folder / "e.csv"), {})
    error = io.StringIO()
    with redirect_stderr(error):
        for _ in range(2):
            for call in before_compilation:
                call()
    assert error.getvalue().startswith("efge: compiling what this command needs for the first time")
    assert error.getvalue().count("\n") == 1


# Commands that write to a file named {}, and what they read.
COMMANDS = {
    ("embed", "e.csv", *QUICK, "--to", "csv", "-o", "{}"): ["e.csv"],
    ("embed", "e.csv", *QUICK, "-o", "new.npz", "--save-model", "{}"): ["e.csv"],
    ("embed", "e.csv", *QUICK, "--to", "npz", "--nodes", "nodes.txt", "-o", "{}"): ["e.csv", "nodes.txt"],
    ("walks", "e.csv", "-o", "{}", "--nodes", "nodes.txt"): ["e.csv", "nodes.txt"],
    ("communities", "e.csv", "-o", "{}", "--labels", "labels.csv"): ["e.csv", "labels.csv"],
    ("convert", "v.npz", "{}", "--to", "csv"): ["v.npz"],
    ("convert-graph", "e.csv", "{}"): ["e.csv"],
    ("propagate", "v.npz", "e.csv", "--to", "npz", "-o", "{}"): ["v.npz", "e.csv"],
    ("explore", "v.npz", "--graph", "e.csv", "--labels", "labels.csv", "--table", "labels.csv", "-o", "{}"): [
        "v.npz",
        "e.csv",
        "labels.csv",
    ],
}


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_an_output_that_is_an_input_is_refused_even_by_force(folder, command):
    before = contents(folder)
    for name in COMMANDS[command]:
        (folder / "link").symlink_to(name)
        os.link(folder / name, folder / "same-inode")
        for output in (name, f"./{name}", folder / name, "link", "same-inode"):
            arguments = [str(argument).replace("{}", str(output)) for argument in command]
            assert_fails(run(*arguments, "--force", cwd=folder), f"{output}: this is an input".removeprefix("./"))
        (folder / "link").unlink()
        (folder / "same-inode").unlink()
    assert contents(folder) == before


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_an_existing_file_asks_for_force(folder, command):
    (folder / "old").write_text("precious")
    before = contents(folder)
    arguments = [str(argument).replace("{}", "old") for argument in command]
    done = run(*arguments, cwd=folder)
    assert_fails(done, "old: this file exists; add --force to replace, or choose another name")
    assert contents(folder) == before
    done = run(*arguments, "--force", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "old").read_bytes() != b"precious"


def test_figures_and_splits_ask_for_force_too(folder):
    (folder / "p.svg").write_text("old")
    (folder / "splits" / "split_0").mkdir(parents=True)
    (folder / "splits" / "split_0" / "split.json").write_text("old")
    links = ("links", "e.csv", "-m", "hope", "--dim", 1, "--repeats", 1, "--test-size", 0.3)
    for command in (
        ("embed", "e.csv", "-o", "w.npz", *QUICK, "--plot", "p.svg"),
        ("classify", "v.npz", "labels.csv", "--plot", "p.svg"),
        ("classify", "v.npz", "labels.csv", "--predict", "p.svg"),
        ("links", "e.csv", "--predict", "p.svg"),
        (*links, "--plot", "p.svg"),
        ("explore", "v.npz", "-o", "map.html", "--plot", "p.svg"),
    ):
        assert_fails(run(*command, cwd=folder), "p.svg: this file exists")
    assert_fails(run(*links, "--save-splits", "splits", cwd=folder), "splits/split_0/split.json: this file exists")
    assert (folder / "p.svg").read_text() == "old"


def test_two_outputs_with_one_name_are_refused(folder):
    done = run("embed", "e.csv", "-o", "w.npz", "--save-model", "./w.npz", *QUICK, cwd=folder)
    assert_fails(done, "w.npz: each output is a file of its own")


def test_the_record_beside_an_output_is_protected_and_repeats_its_run(folder):
    (folder / "w.npz.json").write_text("{}")
    assert_fails(run("embed", "e.csv", "-o", "w.npz", *QUICK, cwd=folder), "w.npz.json: this file exists")
    assert run("embed", "e.csv", "-o", "w.npz", *QUICK, "--force", cwd=folder).returncode == 0
    before = (folder / "w.npz").read_bytes()
    assert_fails(run("embed", "-c", "w.npz.json", cwd=folder), "w.npz: this file exists")
    (folder / "w.npz").unlink()
    assert run("embed", "-c", "w.npz.json", cwd=folder).returncode == 0
    assert (folder / "w.npz").read_bytes() == before
    assert run("embed", "-c", "w.npz.json", "--force", cwd=folder).returncode == 0


def test_a_configuration_is_an_input(folder):
    (folder / "run.toml").write_text('graph = "e.csv"\n')
    done = run("embed", "-c", "run.toml", "-o", "run.toml", "--to", "csv", "--force", *QUICK, cwd=folder)
    assert_fails(done, "run.toml: this is an input")


def test_an_embedding_for_tensorboard_is_replaced_on_demand(folder):
    command = ("convert", "v.npz", "board", "--to", "tensorboard")
    assert run(*command, cwd=folder).returncode == 0
    assert_fails(run(*command, cwd=folder), "board/tensors.tsv: this file and 2 more exist")
    assert run(*command, "--force", cwd=folder).returncode == 0


def test_a_benchmark_never_replaces_its_graph(folder):
    (folder / "scores").mkdir()
    (folder / "e.csv").rename(folder / "scores" / "scores.csv")
    done = run("benchmark", "scores/scores.csv", "-o", "scores", "-m", "hope", cwd=folder)
    assert_fails(done, "scores/scores.csv: this is an input")
    assert (folder / "scores" / "scores.csv").read_text() == EDGES


def test_devices_are_written_to_without_question(folder):
    assert run("walks", "e.csv", "-o", "/dev/null", cwd=folder).returncode == 0


@pytest.mark.parametrize(("answer", "agrees"), [("y", True), ("n", False)])
def test_a_terminal_asks(folder, monkeypatch, answer, agrees):
    (folder / "old").write_text("precious")
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    questions = []
    monkeypatch.setattr(outputs.typer, "confirm", lambda text, **_: questions.append(text) or answer == "y")
    if agrees:
        outputs.check_outputs([folder / "old"], [], force=False)
    else:
        with pytest.raises(ValueError, match="old: this file exists"):
            outputs.check_outputs([folder / "old"], [], force=False)
    assert questions == [f"Replace {folder / 'old'}?"]


@pytest.mark.parametrize(
    "command",
    [
        ("tune", "e.csv", "-o", "labels.csv"),
        ("benchmark", "e.csv", "-o", "labels.csv", "-m", "hope"),
        ("reproduce", "links", "-o", "labels.csv"),
        ("embed", "e.csv", "-o", "w.npz", "--checkpoint", "labels.csv", *QUICK),
        ("links", "e.csv", "-m", "hope", "--dim", 1, "--repeats", 1, "--save-splits", "labels.csv"),
    ],
    ids=lambda command: command[0],
)
def test_a_file_in_place_of_a_folder_is_told(folder, command):
    before = contents(folder)
    done = run(*command, cwd=folder)
    assert_fails(done, "labels.csv: this is a file, and not a folder; choose another name")
    assert contents(folder) == before
