"""The command neighbors: nodes whose vectors are zero have no neighbors."""

from __future__ import annotations

import numpy as np
import pytest

import efge
from helpers import assert_fails, run


@pytest.fixture
def folder(tmp_path):
    efge.Embedding([[1, 0], [0.6, 0.8], [0, 0], [0, 0]], ["ann", "bob", "zoe", "zac"]).save(tmp_path / "v.csv")
    return tmp_path


@pytest.mark.parametrize("metric", ["cosine", "dot"])
def test_a_zero_vector_is_named_instead_of_neighbors(folder, metric):
    done = run("neighbors", "v.csv", "zoe", "--metric", metric, cwd=folder)
    assert_fails(done, "zoe: its vector is zero, to which no node is near")
    assert_fails(
        run("neighbors", "v.csv", "zoe", "zac", "--metric", metric, cwd=folder), "zoe, zac: their vectors are zero"
    )


def test_other_nodes_have_their_neighbors(folder):
    done = run("neighbors", "v.csv", "zoe", "ann", "-k", 1, cwd=folder)
    assert done.returncode == 0
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["node", "neighbor", "cosine"],
        ["ann", "bob", "0.6000"],
    ]
    assert done.stderr == "efge: zoe: its vector is zero, to which no node is near; left out\n"


def test_a_table_of_all_nodes_leaves_zero_vectors_out_and_says_so(folder):
    done = run("neighbors", "v.csv", "--all", "-k", 1, "-o", "knn.csv", cwd=folder)
    assert "zoe, zac: their vectors are zero, to which no node is near; left out" in done.stderr
    assert "wrote 2 neighbors of 2 nodes to knn.csv" in done.stderr
    assert [line.split(",")[0] for line in (folder / "knn.csv").read_text().splitlines()[1:]] == ['"ann"', '"bob"']


def test_the_graph_to_exclude_is_read_with_the_options_that_its_messages_name(tmp_path):
    (tmp_path / "e.csv").write_text("day,person,friend,calls\n1,ann,bob,3\n1,bob,cid,2\n")
    efge.Embedding(np.eye(3) + 0.1, ["ann", "bob", "cid"]).save(tmp_path / "v.npz")
    command = ("neighbors", "v.npz", "ann", "-k", 2)
    done = run(*command, "--exclude", "e.csv", cwd=tmp_path)
    assert_fails(done, "e.csv, line 1: an edge has two node names and at most a weight; got 4 columns")
    assert "--source person --target friend" in done.stderr
    columns = ("--source", "person", "--target", "friend")
    done = run(*command, "--exclude", "e.csv", *columns, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [line.split()[1] for line in done.stdout.splitlines()] == ["neighbor", "cid"]
    assert_fails(run(*command, *columns, cwd=tmp_path), "--source is for the graph of --exclude; add --exclude GRAPH")


def test_names_of_a_graph_get_the_types_of_those_of_the_vectors(tmp_path):
    pytest.importorskip("plotly")
    (tmp_path / "e.csv").write_text("1,2\n")
    efge.Embedding(np.eye(3) + 0.1, ["1", "2", "ann"]).save(tmp_path / "v.npz")
    done = run("neighbors", "v.npz", "1", "-k", 2, "--exclude", "e.csv", cwd=tmp_path)
    assert [line.split()[1] for line in done.stdout.splitlines()] == ["neighbor", "ann"], done.stderr
    done = run("explore", "v.npz", "--graph", "e.csv", "--method", "pca", "-o", "m.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = run("explore", "v.npz", "--header", "--method", "pca", "-o", "n.html", cwd=tmp_path)
    assert_fails(done, "--header is for the graph of --graph; add --graph GRAPH")
