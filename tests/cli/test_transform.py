"""The command transform."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import efge
from helpers import assert_fails, run

CLUB = nx.karate_club_graph()
# All of these have an edge to one of the others.
OLD = CLUB.subgraph(node for node in range(30) if set(CLUB[node]) & set(range(30)))
N_NEW = 34 - len(OLD)
QUICK = ("--dim", 4, "--walks-per-node", 3, "--seed", 1, "--threads", 1)


def write_edges(path, edges):
    path.write_text("".join(f"{u} {v}\n" for u, v in edges))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("growing")
    write_edges(folder / "old.txt", OLD.edges)
    write_edges(folder / "grown.txt", CLUB.edges)
    write_edges(folder / "named.txt", [("ann", "bob")])
    write_edges(folder / "other.txt", [(100, 200)])
    done = run("embed", "old.txt", "-o", "v.npz", *QUICK, "--save-model", "model.npz", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("method", ["auto", "both", "fold-in", "average"])
def test_transform_writes_the_vectors_of_a_model(folder, method):
    arguments = () if method == "auto" else ("--method", method)
    done = run(
        "transform", "model.npz", "grown.txt", "-o", "grown.csv", "--threads", 2, *arguments, "--force", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    assert "wrote Embedding(34 nodes, 4 dimensions) to grown.csv" in done.stderr
    assert done.stderr.endswith(f"{N_NEW} of them new\n")
    written, graph = efge.Embedding.load(folder / "grown.csv"), efge.read_graph(folder / "grown.txt")
    expected = efge.EFGE.load(folder / "model.npz").transform(graph, method)
    assert written == efge.Embedding(expected, graph.names)
    old = efge.Embedding.load(folder / "v.npz")
    assert written[list(OLD)] == old[list(OLD)]


def test_transform_averages_vectors_without_a_model(folder):
    done = run("transform", "v.npz", "grown.txt", "-o", "grown.npz", cwd=folder)
    assert done.returncode == 0, done.stderr
    vectors = efge.Embedding.load(folder / "v.npz")
    np.testing.assert_array_equal(
        efge.Embedding.load(folder / "grown.npz"), vectors.transform(folder / "grown.txt").vectors
    )


@pytest.mark.parametrize("source", ["model.npz", "v.npz"])
def test_transform_says_how_many_new_vectors_are_zero(folder, source):
    write_edges(folder / "far.txt", [(0, 100), (200, 300)])
    done = run("transform", source, "far.txt", "-o", "far.npz", "--force", cwd=folder)
    assert done.returncode == 0, done.stderr
    expected = "3 of them new, 2 with a vector of zeros, as no path links them to an old node\n"
    assert done.stderr.endswith(expected)
    assert not efge.Embedding.load(folder / "far.npz")[[200, 300]].vectors.any()


def test_a_name_that_is_text_does_not_change_the_type_of_the_others(folder):
    write_edges(folder / "mixed.txt", [*CLUB.edges, ("ann", 0)])
    done = run("transform", "model.npz", "mixed.txt", "-o", "mixed.npz", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith(f"{N_NEW + 1} of them new\n")
    written = efge.Embedding.load(folder / "mixed.npz")
    assert set(written.names.tolist()) == {*CLUB, "ann"}
    model = efge.EFGE.load(folder / "model.npz")
    np.testing.assert_array_equal(written.vectors, model.transform(folder / "mixed.txt"))
    assert written[list(OLD)] == model.embedding_[list(OLD)]
    assert model.embedding_.transform(folder / "mixed.txt").names.tolist() == written.names.tolist()


@pytest.mark.filterwarnings("default")
def test_netmf_asks_for_the_whole_graph(folder):
    done = run("embed", "old.txt", "-m", "netmf", "--dim", 4, "-o", "n.csv", "--save-model", "netmf.npz", cwd=folder)
    assert done.returncode == 0, done.stderr
    write_edges(folder / "edges.txt", [(100, 101), (101, 0)])
    done = run("transform", "netmf.npz", "edges.txt", "-o", "out.csv", cwd=folder)
    assert f"NetMF needs the whole graph for new nodes; {len(OLD) - 1} of the {len(OLD)} nodes" in done.stderr
    assert "no path" not in done.stderr
    (folder / "out.csv").unlink()


def test_transform_never_replaces_its_model(folder):
    before = (folder / "model.npz").read_bytes()
    done = run("transform", "model.npz", "grown.txt", "-o", "model.npz", "--force", cwd=folder)
    assert_fails(done, "model.npz")
    assert (folder / "model.npz").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["model.npz", "named.txt"], "named.txt: names must have the type that they have in the fitted EFGE, integers"),
        (["model.npz", "other.txt"], "other.txt: new nodes get vectors by edges to nodes of the fitted EFGE; none of"),
        (["model.npz", "grown.txt", "--method", "guess"], "no method 'guess' for new nodes of EFGE; it has both, fold"),
        (["v.npz", "grown.txt", "--method", "fold-in"], "an embedding alone supports the method 'average'"),
        (["v.npz", "grown.txt", "--family", "normal"], "v.npz: --family is for a saved model; this file has vectors"),
        (["none.npz", "grown.txt"], "none.npz: "),
    ],
)
def test_transform_says_what_is_wrong_and_writes_nothing(folder, arguments, message):
    assert_fails(run("transform", *arguments, "-o", "out.npz", cwd=folder), message)
    assert not (folder / "out.npz").exists()
