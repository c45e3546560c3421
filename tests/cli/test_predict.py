"""Files of predictions: classes of nodes without a label, and missing links."""

from __future__ import annotations

import csv
import json

import networkx as nx
import pytest

import efge
from helpers import assert_fails, run

CLUB = nx.karate_club_graph()
QUICK = ("--dim", 8, "--walks-per-node", 10, "--seed", 1, "--threads", 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A graph, its vectors, and the labels of every third node."""
    folder = tmp_path_factory.mktemp("predictions")
    (folder / "club.csv").write_text("source,target\n" + "".join(f"{u},{v}\n" for u, v in CLUB.edges))
    sides = nx.get_node_attributes(CLUB, "club")
    (folder / "labels.tsv").write_text("".join(f"{u}\t{sides[u]}\n" for u in range(0, 34, 3)))
    done = run("embed", "club.csv", "-o", "vectors.npz", *QUICK, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def rows_of(path, delimiter="\t"):
    with path.open() as lines:
        return list(csv.DictReader(lines, delimiter=delimiter))


def test_classify_writes_class_and_probability_of_every_node_without_a_label(folder, tmp_path):
    done = run("classify", "vectors.npz", "labels.tsv", "--repeats", 2, "--predict", tmp_path / "p.tsv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "micro_f1" in done.stdout
    rows = rows_of(tmp_path / "p.tsv")
    classifier = efge.Classifier().fit(efge.Embedding.load(folder / "vectors.npz"), folder / "labels.tsv")
    assert [int(row["node"]) for row in rows] == classifier.unlabelled_
    assert [row["class"] for row in rows] == classifier.predict()
    best = classifier.predict_proba().max(axis=1)
    assert [float(row["probability"]) for row in rows] == pytest.approx(best, abs=1e-4)
    truth = nx.get_node_attributes(CLUB, "club")
    assert sum(row["class"] == truth[int(row["node"])] for row in rows) / len(rows) > 0.8


def test_links_writes_the_missing_links_of_the_library(folder, tmp_path):
    done = run("links", "club.csv", "--predict", tmp_path / "l.csv", "-k", 12, *QUICK, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    graph = efge.read_graph(folder / "club.csv")
    model = efge.EFGE(dim=8, walks_per_node=10, seed=1).fit(graph)
    expected = efge.missing_links(model, graph, 12)
    rows = rows_of(tmp_path / "l.csv", ",")
    assert [(int(row["source"]), int(row["target"])) for row in rows] == [(a, b) for a, b, _ in expected]
    assert [float(row["score"]) for row in rows] == pytest.approx([score for *_, score in expected], abs=1e-4)
    done = run("links", "club.csv", "--predict", tmp_path / "o.json", "-k", 5, "--of", "3,4", *QUICK, cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "o.json").read_text())
    chosen = efge.missing_links(model, graph, 5, nodes=[3, 4])
    assert [(row["source"], row["target"]) for row in found] == [(a, b) for a, b, _ in chosen]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("links", "club.csv", "--predict", "p.tsv", "-m", "hope"), "HOPE gives pairs of nodes no probability"),
        (("links", "club.csv", "--predict", "p.tsv", "--json"), "--predict trains one model on all edges"),
        (("links", "club.csv", "--predict", "p.tsv", "-m", "hope,line"), "--predict trains one model"),
        (("links", "club.csv", "--predict", "p.tsv", "--of", "x"), "no node named 'x' in Graph(34 nodes"),
        (("links", "club.csv", "--of", "1"), "--of is for missing links; add --predict FILE"),
        (("links", "club.csv", "--predict", "no/p.tsv"), "no: no such folder"),
        (("classify", "vectors.npz", "labels.tsv", "--predict", "no/p.tsv"), "no: no such folder"),
    ],
)
def test_mistakes_are_errors_of_one_line(folder, arguments, message):
    assert_fails(run(*arguments, cwd=folder), message)
    assert not (folder / "p.tsv").exists()
