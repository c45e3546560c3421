"""The report: what it says is what the functions of the library return, and it needs nothing but the file."""

from __future__ import annotations

import re

import networkx as nx
import numpy as np
import pytest

import efge
from efge.explore import report
from helpers import run

CLUBS = nx.karate_club_graph()
LABELS = dict(CLUBS.nodes("club"))
MODELS = {"hope": efge.HOPE(dim=8, seed=3), "prone": efge.ProNE(dim=8, seed=3)}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    steps = []
    efge.write_report(
        CLUBS,
        path,
        labels=LABELS,
        models=MODELS,
        title="<Club>",
        command="efge report x",
        seed=3,
        progress=steps.append,
    )
    assert len(steps) == 5
    return path.read_text("utf-8")


def test_the_page_is_complete_and_needs_no_network(page):
    for title in (
        "The graph",
        "The model",
        "Predicting hidden edges",
        "Predicting classes",
        "Map",
        "Nearest neighbors",
    ):
        assert f"<h2>{title}</h2>" in page
    assert "<h1>&lt;Club&gt;</h1>" in page
    assert "<pre>efge report x</pre>" in page
    assert not re.search(r"<script|src=|href=|https?://", page)
    assert page.count("<circle") == 34


def test_the_model_was_chosen_on_a_split_that_is_not_among_the_scores(page):
    graph = efge.as_graph(CLUBS)
    choice = report.choose_model(graph, MODELS, 3)
    assert choice.scores[choice.name] == max(choice.scores.values())
    assert f"<strong>{choice.name}</strong>" in page
    chosen_on = efge.split_links(graph, 0.2, seed=(3, 0, 1)).test_edges
    for number in range(2):
        scored_on = efge.split_links(graph, 0.2, seed=(3, number)).test_edges
        assert not np.array_equal(chosen_on, scored_on)


def test_scores_and_neighbors_are_those_of_the_library(page):
    graph = efge.as_graph(CLUBS)
    scores = report._score_links(graph, MODELS, 3)
    mean = scores.summary("hope", "cosine", metric="auc").mean
    assert f"{mean:.4f}" in page
    assert "common-neighbors" in page
    winner = MODELS[report.choose_model(graph, MODELS, 3).name].fit(graph)
    name, cosine = winner.embedding_.neighbors(33, 1)[0]
    assert f"{name} {cosine:.2f}" in page
    assert "Mr. Hi" in page


def test_a_single_model_is_not_chosen_and_a_tiny_graph_is_refused(tmp_path):
    efge.write_report(CLUBS, tmp_path / "one.html", models={"hope": efge.HOPE(dim=4, seed=0)})
    text = (tmp_path / "one.html").read_text("utf-8")
    assert "no other model was tried" in text
    assert "Predicting classes" not in text
    with pytest.raises(efge.GraphError, match="a report needs at least 10 edges"):
        efge.write_report([("a", "b")], tmp_path / "none.html")
    assert not (tmp_path / "none.html").exists()


def test_the_command_of_the_page_repeats_it(tmp_path):
    nx.write_edgelist(CLUBS, tmp_path / "club.txt", data=False)
    options = ["--model", "hope,prone", "--dim", 4, "--undirected", "--one-kind", "-o", "r.html"]
    assert run("report", "club.txt", *options, cwd=tmp_path).returncode == 0
    first = (tmp_path / "r.html").read_bytes()
    command = re.search(rb"<pre>efge (.*?)</pre>", first)[1].decode().split()
    assert "--undirected" in command
    assert "--one-kind" in command
    assert run(*command, "--force", cwd=tmp_path).returncode == 0
    assert (tmp_path / "r.html").read_bytes() == first
