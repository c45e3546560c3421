"""Updates of saved models on the command line."""

from __future__ import annotations

import hashlib
import json

import networkx as nx
import pytest

import efge
from helpers import assert_fails, run

CLUB = nx.karate_club_graph()
QUICK = ("--dim", 4, "--walks-per-node", 3, "--seed", 1, "--threads", 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("updates")
    old = [(u, v) for u, v in CLUB.edges if v != 33]
    for name, edges in {"old.txt": old, "new.txt": CLUB.edges}.items():
        (folder / name).write_text("".join(f"{u} {v}\n" for u, v in edges))
    for model, options in {"model": QUICK, "hope": ("-m", "hope", "--dim", 4)}.items():
        done = run("embed", "old.txt", "-o", f"{model}.v.npz", *options, "--save-model", f"{model}.npz", cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("freeze", [False, True])
def test_an_update_is_that_of_the_library(folder, freeze):
    flags = ("--freeze",) if freeze else ()
    arguments = ("embed", "new.txt", "--update", "model.npz", "-o", "out.npz", "--save-model", "next.npz", *flags)
    done = run(*arguments, "--force", cwd=folder)
    assert done.returncode == 0, done.stderr
    expected = efge.EFGE.load(folder / "model.npz").partial_fit(folder / "new.txt", freeze=freeze)
    assert efge.Embedding.load(folder / "out.npz") == expected.embedding_
    assert efge.EFGE.load(folder / "next.npz").context_embedding_ == expected.context_embedding_
    assert "wrote the updated model to next.npz\nefge: updated in " in done.stderr
    assert ": 1 nodes came, 0 left, and old ones moved by a cosine distance of " in done.stderr
    assert ("of 0.000 on average\n" in done.stderr) == freeze


def test_an_update_writes_a_record_that_says_what_moved(folder):
    done = run("embed", "new.txt", "--update", "model.npz", "-o", "told.npz", "--undirected", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "model.npz stays as it was; add --save-model FILE to keep the updated model" in done.stderr
    record = json.loads((folder / "told.npz.json").read_text())
    assert record["update"] == {
        "graph": "new.txt",
        "output": "told.npz",
        "directed": False,
        "model": "model.npz",
        "sha256": hashlib.sha256((folder / "model.npz").read_bytes()).hexdigest(),
        "freeze": False,
    }
    model = efge.EFGE.load(folder / "model.npz").partial_fit(folder / "new.txt")
    assert (record["nodes"], record["edges"], record["updates"]) == (34, 78, 1)
    assert (record["nodes_came"], record["nodes_left"]) == (1, 0)
    assert record["mean_drift"] == model.drift_.mean
    assert record["moved_most"][0] == list(model.drift_.most(1)[0])
    assert record["fingerprint"] == efge.as_graph(folder / "new.txt").fingerprint()
    assert record["log_likelihood"] == model.history_["log_likelihood"][-1]
    message = "told.npz.json: this is the record of an update; run efge embed GRAPH --update MODEL to repeat it"
    assert_fails(run("embed", "-c", "told.npz.json", "-o", "none.npz", cwd=folder), message)
    message = "told.npz: this file and 1 more exist; add --force to replace, or choose another name"
    assert_fails(run("embed", "new.txt", "--update", "model.npz", "-o", "told.npz", cwd=folder), message)


def test_updates_keep_integers_beside_text(folder):
    (folder / "mixed.txt").write_text("".join(f"{u} {v}\n" for u, v in [*CLUB.edges, ("ann", 0)]))
    (folder / "integers.txt").write_text("".join(f"{u} {v}\n" for u, v in CLUB.edges))
    updates = [
        ("mixed.txt", "model.npz", "2 nodes came, 0 left"),
        ("integers.txt", "mixed.npz", "0 nodes came, 1 left"),
    ]
    for graph, model, counts in updates:
        done = run("embed", graph, "--update", model, "-o", "m.csv", "--save-model", "mixed.npz", "--force", cwd=folder)
        assert counts in done.stderr
    assert set(efge.EFGE.load(folder / "mixed.npz").embedding_.names.tolist()) == set(CLUB)


def test_a_model_may_be_replaced_by_its_update(folder):
    (folder / "own.npz").write_bytes((folder / "model.npz").read_bytes())
    done = run("embed", "new.txt", "--update", "own.npz", "-o", "own.v.npz", "--save-model", "own.npz", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert efge.EFGE.load(folder / "own.npz").n_updates_ == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--update", "model.npz", "--dim", "8"],
            "--dim cannot be changed by an update; model.npz keeps",
        ),
        (["--update", "model.npz", "-m", "hope"], "--model cannot be changed by an update; model.npz keeps its own"),
        (["--update", "hope.npz"], "hope.npz: HOPE cannot be updated; EFGE and Node2Vec can"),
        (["--update", "model.npz", "--mmap"], "--mmap is for a new fit; leave it out, or leave out --update"),
        (["--update", "model.npz", "--plot", "p.png"], "--plot is for a new fit"),
        (["--freeze"], "--freeze keeps the vectors of a model that is updated; add --update MODEL"),
        (["--update", "old.txt"], "old.txt: "),
    ],
)
def test_updates_that_make_no_sense_are_refused(folder, arguments, message):
    assert_fails(run("embed", "new.txt", "-o", "none.npz", *arguments, cwd=folder), message)
    assert not (folder / "none.npz").exists()


@pytest.mark.filterwarnings("ignore:32 of 33 nodes")
def test_a_model_is_not_replaced_by_one_that_has_lost_most_nodes_unless_forced(folder):
    (folder / "only_new.txt").write_text("0 33\n33 34\n")
    model = folder / "own.npz"
    model.write_bytes((folder / "model.npz").read_bytes())
    arguments = ("embed", "only_new.txt", "--update", "own.npz", "-o", "lost.npz", "--save-model", "own.npz")
    done = run(*arguments, cwd=folder)
    assert_fails(done, "32 of 33 nodes are not in the new graph")
    assert "To replace own.npz all the same, add --force; to keep it, save to another file" in done.stderr
    assert model.read_bytes() == (folder / "model.npz").read_bytes()
    assert not (folder / "lost.npz").exists()
    assert run(*arguments, "--force", cwd=folder).returncode == 0
    assert len(efge.EFGE.load(model).embedding_) == 3
