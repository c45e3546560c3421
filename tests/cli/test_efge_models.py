"""EFGE on the command line: its names, its defaults and the paper's settings are those of the library."""

from __future__ import annotations

import networkx as nx
import pytest

import efge
from helpers import run


@pytest.fixture
def folder(tmp_path):
    names = "".join(f"n{u} n{v}\n" for u, v in nx.karate_club_graph().edges)
    (tmp_path / "friends.txt").write_text(names)
    return tmp_path


def embed(folder, *options):
    done = run("embed", "friends.txt", "-o", "v.npz", "--seed", 3, "--dim", 8, "--force", *options, cwd=folder)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return (folder / "v.npz").read_bytes()


@pytest.mark.parametrize(
    ("options", "model"),
    [
        ([], efge.EFGE(dim=8, seed=3)),
        (["-m", "efge-norm"], efge.EFGE.paper("normal", dim=8, seed=3)),
        (["-m", "efge-bern"], efge.EFGE.paper("bernoulli", dim=8, seed=3)),
        (["-m", "efge-pois", "--walks-per-node", 4], efge.EFGE.paper("poisson", dim=8, seed=3, walks_per_node=4)),
        (["-m", "normal"], efge.EFGE("normal", dim=8, seed=3)),
        (["--propagate", "none"], efge.EFGE(dim=8, seed=3, propagate=None)),
        (["--propagate", "average"], efge.EFGE(dim=8, seed=3, propagate="average")),
        (["--walks-per-node", "auto"], efge.EFGE(dim=8, seed=3)),
        (["--walks-per-node", 5], efge.EFGE(dim=8, seed=3, walks_per_node=5)),
        (["-m", "efge-norm", "--walks-per-node", "auto"], efge.EFGE.paper(dim=8, seed=3, walks_per_node="auto")),
        (["--init", "random"], efge.EFGE(dim=8, seed=3, init="random")),
    ],
    ids=str,
)
def test_the_command_gives_the_bytes_of_the_library(folder, options, model):
    content = embed(folder, *options)
    model.fit(folder / "friends.txt").embedding_.save(folder / "expected.npz")
    assert content == (folder / "expected.npz").read_bytes()


@pytest.mark.parametrize("options", [["-m", "efge-norm"], ["--propagate", "none", "--walks-per-node", "auto"]], ids=str)
def test_a_record_repeats_the_run(folder, options):
    content = embed(folder, *options)
    assert run("embed", "-c", "v.npz.json", "-o", "again.npz", cwd=folder).returncode == 0
    assert (folder / "again.npz").read_bytes() == content


def test_models_of_the_command_differ_from_each_other(folder):
    """Otherwise equal bytes would show nothing."""
    options = [[], ["-m", "efge-bern"], ["--propagate", "none"], ["--init", "random"], ["--walks-per-node", 5]]
    assert len({embed(folder, *more) for more in options}) == len(options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--walks-per-node", "many"], "walks_per_node is a positive integer or 'auto'; got 'many'"),
        (
            ["--walks-per-node", "many", "--memory-limit", "4G"],
            "walks_per_node is a positive integer or 'auto'; got 'many'",
        ),
        (["-m", "deepwalk", "--walks-per-node", "auto"], "walks_per_node must be a positive integer; got 'auto'"),
        (["--walks-per-node", "2.5"], "walks_per_node is a positive integer or 'auto'; got '2.5'"),
        (["--walks-per-node", "0"], "walks_per_node must be a positive integer; got 0"),
        (["--init", "zeros"], "no init 'zeros'; known: auto, random, svd"),
        (["--propagate", "low-pass"], "no method 'low-pass'; known: band-pass, prone, average"),
        (["-m", "deepwalk", "--propagate", "average"], "deepwalk has no option --propagate; it has "),
    ],
    ids=str,
)
def test_the_command_refuses_unknown_settings_in_one_line(folder, options, message):
    done = run("embed", "friends.txt", "-o", "v.npz", *options, cwd=folder)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith(f"efge: {message}")
    assert not (folder / "v.npz").exists()


@pytest.mark.filterwarnings("default::UserWarning")
def test_a_window_that_no_walk_reaches_is_told_in_the_shell_too(tmp_path):
    (tmp_path / "e.csv").write_text("".join(f"{i},{(i + 1) % 9}\n" for i in range(9)))
    done = run("embed", "e.csv", "-o", "v.npz", "--window", 20, "--dim", 2, "--walks-per-node", 1, cwd=tmp_path)
    assert "efge: the window of 20 reaches 9 steps at most, because a walk has 10 nodes; raise walk" in done.stderr
