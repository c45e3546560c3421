"""The command neighbors: nodes whose vectors are zero have no neighbors."""

from __future__ import annotations

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
