"""The command recommend, and the model that embed saves for it."""

from __future__ import annotations

import json

import networkx as nx
import pytest

import efge
from helpers import assert_fails, run

CLUB = nx.karate_club_graph()
QUICK = ("--dim", 4, "--walks-per-node", 3, "--seed", 1, "--threads", 1)

OWN_FAMILY = """
import numpy as np
import efge

class Binomial(efge.Family):
    domain = "binary"

    def __init__(self, trials=2):
        self.trials = trials

    def log_partition(self, eta):
        return self.trials * np.logaddexp(0, eta)

    def mean(self, eta):
        return self.trials / (1 + np.exp(-eta))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A graph, its saved model, and files that are no such model."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "club.csv").write_text("source,target\n" + "".join(f"{u},{v}\n" for u, v in CLUB.edges))
    (folder / "own.py").write_text(OWN_FAMILY)
    for name, options in {
        "model": (*QUICK,),
        "own": (*QUICK, "-m", "own.py:Binomial", "--family-option", "trials=3"),
        "hope": ("-m", "hope", "--dim", 4),
    }.items():
        done = run("embed", "club.csv", "-o", "v.npz", "--force", *options, "--save-model", f"{name}.npz", cwd=folder)
        assert done.returncode == 0, done.stderr
    (folder / "candidates.txt").write_text("5\n6\n7\n")
    (folder / "strangers.txt").write_text("5\n99\n")
    return folder


def recommend(folder, *arguments):
    done = run("recommend", *arguments, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return [(row["node"], row["recommended"], row["score"]) for row in json.loads(done.stdout)]


def expected(model, node, **options):
    return [(node, other, score) for other, score in model.recommend(node, **options)]


def test_a_saved_model_has_the_vectors_of_the_output(folder, tmp_path):
    files = ("-o", tmp_path / "v.npz", "--save-model", tmp_path / "m.npz")
    assert run("embed", folder / "club.csv", *files, *QUICK).returncode == 0
    assert efge.EFGE.load(tmp_path / "m.npz").embedding_ == efge.Embedding.load(tmp_path / "v.npz")
    assert (tmp_path / "m.npz").read_bytes() == (folder / "model.npz").read_bytes()


def test_recommendations_are_those_of_the_library(folder):
    model = efge.EFGE.load(folder / "model.npz")
    graph = efge.read_graph(folder / "club.csv")
    assert recommend(folder, "model.npz", 3) == expected(model, 3)
    assert recommend(folder, "model.npz", 3, 4, "-k", 2) == expected(model, 3, k=2) + expected(model, 4, k=2)
    options = ("--exclude", "club.csv", "--among", "candidates.txt")
    assert recommend(folder, "model.npz", 4, *options) == expected(model, 4, among=[5, 6, 7], exclude=graph)
    table = run("recommend", "model.npz", 3, "-k", 2, cwd=folder).stdout.splitlines()
    assert table[0].split() == ["node", "recommended", "score"]
    assert [line.split()[:2] for line in table[1:]] == [["3", str(other)] for _, other, _ in expected(model, 3, k=2)]


def test_the_graph_of_known_edges_is_read_with_options(folder):
    everything = {other for _, other, _ in recommend(folder, "model.npz", 2, "-k", 50)}
    known = {
        other for _, other, _ in recommend(folder, "model.npz", 2, "-k", 50, "--exclude", "club.csv", "--directed")
    }
    assert everything - known == {v for u, v in CLUB.edges if u == 2}


def test_a_graph_of_known_edges_that_was_read_otherwise_is_named(folder):
    done = run("recommend", "model.npz", 3, "--exclude", "club.csv", "--bipartite", cwd=folder)
    advice = "read it as the graph that was fitted, with the same source, target and bipartite options"
    assert done.stderr.rstrip().endswith(advice)
    vectors = efge.EFGE.load(folder / "model.npz").embedding_
    with pytest.raises(efge.GraphError, match=r"the graph of exclude= \(--exclude\) has no node named 3 in"):
        vectors.nearest([3], exclude=efge.read_graph(folder / "club.csv", bipartite=True))


def test_a_family_of_ones_own_is_named_again(folder):
    own = ("--family", "own.py:Binomial")
    assert len(recommend(folder, "own.npz", 3, *own, "--family-option", "trials=3")) == 10
    message = "own.npz: this is a model of the family Binomial(trials=3); got family=Binomial(trials=2)"
    assert_fails(run("recommend", "own.npz", 3, *own, cwd=folder), message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["model.npz", "99"], "no node named '99' in Embedding(34 nodes"),
        (["model.npz", "3", "-k", "0"], "k must be a positive integer; got 0"),
        (["model.npz", "3", "--among", "strangers.txt"], "strangers.txt: no node named '99'"),
        (["model.npz", "3", "--among", "nowhere.txt"], "nowhere.txt: no such file"),
        (["model.npz", "3", "--exclude", "nowhere.csv"], "nowhere.csv: no such file"),
        (
            ["model.npz", "3", "--exclude", "club.csv", "--bipartite"],
            "the graph of exclude= (--exclude) has no node named 3 in Graph(51 nodes, 78 edges",
        ),
        (["model.npz", "3", "--directed"], "--directed is for the graph of --exclude; add --exclude GRAPH"),
        (["model.npz", "3", "--family", "cauchy"], "no family 'cauchy'; known: bernoulli"),
        (["model.npz", "3", "--family", "bernoulli"], "model.npz: this is a model of the family Poisson(); got"),
        (["model.npz", "3", "--family-option", "sigma=2"], "--family-option is a parameter of your own family"),
        (["own.npz", "3"], "own.npz: a file cannot contain your own family, Binomial(trials=3); pass it as family="),
        (["hope.npz", "3"], "hope.npz: HOPE gives pairs of nodes no probability to score; EFGE, Node2Vec and LINE do"),
        (["v.npz", "3"], "v.npz: a model file has the entry 'format', b'efge model 1'; got b'efge embedding 1', which"),
        (["club.csv", "3"], "club.csv: not a readable model file"),
        (["nowhere.npz", "3"], "nowhere.npz: no such file"),
    ],
)
def test_errors_are_one_line_with_exit_code_2(folder, arguments, message):
    assert_fails(run("recommend", *arguments, cwd=folder), message)


def test_a_model_that_could_not_be_saved_is_an_error_before_training(folder):
    done = run("embed", "club.csv", "-o", "w.npz", "--save-model", "no/such/model.npz", cwd=folder)
    assert_fails(done, "no/such: no such folder")
    done = run("embed", "club.csv", "-o", "w.npz", "--save-model", "model.npz.gz", cwd=folder)
    assert_fails(done, "model.npz.gz: npz files cannot be compressed as a whole; leave out .gz")
    assert not (folder / "w.npz").exists()
