"""The command communities: its default model, and vectors or a saved model instead of a training."""

from __future__ import annotations

import networkx as nx
import pytest

import efge
from helpers import assert_fails, run

CLIQUES = nx.connected_caveman_graph(4, 6)


@pytest.fixture
def folder(tmp_path):
    nx.write_edgelist(CLIQUES, tmp_path / "cliques.txt", data=False)
    model = efge.NetMF(dim=8, seed=1).fit(efge.read_graph(tmp_path / "cliques.txt"))
    model.save(tmp_path / "model.npz")
    model.embedding_.save(tmp_path / "vectors.csv")
    return tmp_path


@pytest.mark.parametrize("source", ["model.npz", "vectors.csv"])
def test_vectors_or_a_saved_model_are_grouped_without_a_training(folder, source):
    done = run("communities", "cliques.txt", "-o", "groups.tsv", "--vectors", source, "--n-communities", 4, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith("wrote Communities(4 of 24 nodes, disjoint) to groups.tsv, seed 0\n")
    groups = efge.read_labels(folder / "groups.tsv")
    # A clique of the caveman graph gives one edge away, and keeps its nodes.
    assert all(groups[node] == groups[node - node % 6] for node in range(24))
    assert len(set(groups.values())) == 4


def test_a_saved_model_of_memberships_has_its_own_communities(folder):
    graph = efge.read_graph(folder / "cliques.txt")
    model = efge.BigClam(4, seed=0).fit(graph)
    model.save(folder / "bigclam.npz")
    done = run("communities", "cliques.txt", "-o", "groups.json", "--vectors", "bigclam.npz", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert f"wrote {efge.communities(model, graph)!r}" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dim", 16], "bigclam has no option --dim; it has --n-communities"),
        (["-m", "bigclam", "--dim", 16], "bigclam has no option --dim; it has --n-communities"),
        (["--vectors", "v.csv", "-m", "hope", "--dim", 4], "--vectors are trained already; leave out --model, --dim"),
        (["--vectors", "none.npz"], "none.npz: no such file"),
        (["--vectors", "other.csv"], "vectors and graph need the same nodes; other.csv has Embedding(2 nodes"),
    ],
)  # fmt: skip
def test_communities_says_what_is_wrong_and_writes_nothing(folder, arguments, message):
    efge.Embedding([[1.0], [2.0]], [0, 99]).save(folder / "other.csv")
    done = run("communities", "cliques.txt", "-o", "groups.tsv", *arguments, cwd=folder)
    assert_fails(done, message)
    # Nobody asked for the default model by name.
    assert ("bigclam is the default model of communities" in done.stderr) == (arguments == ["--dim", 16])
    assert not (folder / "groups.tsv").exists()


def test_nodes_in_no_community_are_counted_with_the_option_that_gives_them_one(folder):
    (folder / "loose.txt").write_text(
        (folder / "cliques.txt").read_text() + "".join(f"99 {i}\n" for i in range(100, 103))
    )
    command = ("communities", "loose.txt", "-m", "bigclam", "--n-communities", 4, "--seed", 1)
    done = run(*command, "-o", "some.tsv", cwd=folder)
    listed = efge.read_labels(folder / "some.tsv")
    missing = 28 - len(listed)
    assert missing > 1
    assert f"efge: {missing} nodes are in no community, and not in some.tsv; --disjoint puts each node" in done.stderr
    done = run(*command, "--disjoint", "-o", "all.tsv", cwd=folder)
    assert "in no community" not in done.stderr
    assert len(efge.read_labels(folder / "all.tsv")) == 28
