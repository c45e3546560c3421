"""The report: what it says is what the functions of the library return, and it needs nothing but the file."""

from __future__ import annotations

import html
import re

import networkx as nx
import numpy as np
import pytest

import efge
from efge.evaluation.links import LinkScores
from efge.explore import report
from efge.explore.headline import summarize_findings
from efge.explore.palette import LIGHT
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
    assert set(choice.scores) == set(MODELS)
    assert f"<strong>{choice.name}</strong>" in page
    chosen_on = efge.split_links(graph, 0.2, seed=(3, 0, 1)).test_edges
    for number in range(2):
        scored_on = efge.split_links(graph, 0.2, seed=(3, number)).test_edges
        assert not np.array_equal(chosen_on, scored_on)


def test_scores_and_neighbors_are_those_of_the_library(page):
    graph = efge.as_graph(CLUBS)
    scores = report._score_links(graph, MODELS, report._hide_edges(graph, 3), 3)
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


def test_of_models_that_are_equal_within_noise_the_first_is_chosen():
    models = {"hope": efge.HOPE(dim=8, seed=3), "same": efge.HOPE(dim=8, seed=3), "prone": efge.ProNE(dim=8, seed=3)}
    for order in (list(models), list(models)[::-1]):
        choice = report.choose_model(efge.as_graph(CLUBS), {name: models[name] for name in order}, 3)
        assert max(choice.scores.values()) - min(choice.scores.values()) < 0.15
        assert choice.name == order[0]
        assert (
            f"is equal within noise on one split of the edges, which is not among those below, and {order[0]} comes"
            in choice.reason
        )


def test_a_model_that_is_clearly_better_is_chosen_though_it_comes_last():
    grid = efge.as_graph(nx.grid_2d_graph(20, 20))
    models = {"hope": efge.HOPE(dim=2, seed=0), "prone": efge.ProNE(dim=32, seed=0)}
    choice = report.choose_model(grid, models, 0)
    assert choice.scores["prone"] > choice.scores["hope"] + 0.1
    assert choice.name == "prone"
    assert "its AUC was the highest on one split" in choice.reason


def texts_of(page):
    """The names on a map, with their places."""
    found = re.findall(r'<text x="(.*?)" y="(.*?)">(.*?)</text>', page)
    return [(name, float(x), float(y)) for x, y, name in found]


def test_the_map_names_the_largest_nodes_where_names_do_not_overlap(page):
    named = texts_of(page)
    hubs = sorted(CLUBS, key=lambda node: -CLUBS.degree(node))[:15]
    assert named[0][0] == str(hubs[0])
    assert 5 < len(named) <= 15
    assert {name for name, _, _ in named} <= set(map(str, hubs))


def test_long_names_are_shortened_and_a_name_that_overlaps_a_larger_node_is_left_out():
    nodes = [("a" * 50, 5.0, 100.0), ("b" * 10, 40.0, 103.0), ("c" * 10, 40.0, 300.0), ("<d>", 755.0, 519.0)]
    named = texts_of(report._place_names(nodes))
    assert [name for name, _, _ in named] == ["a" * 23 + "…", "c" * 10, "&lt;d&gt;"]
    assert all(x - 3.3 * len(name) >= 0 and x <= 760 and 0 < y <= 520 for name, x, y in named)


def test_a_map_without_classes_has_a_color_that_is_not_that_of_missing_ones(tmp_path):
    efge.write_report(CLUBS, tmp_path / "plain.html", models={"hope": efge.HOPE(dim=4, seed=0)})
    text = (tmp_path / "plain.html").read_text("utf-8")
    assert text.count(f'r="3" fill="{LIGHT[0]}"') == 34
    assert "other or none" not in text


def test_the_report_says_where_a_heuristic_is_better_than_the_vectors_and_what_the_fit_warned_of(tmp_path):
    models = {"poisson": efge.EFGE(dim=16, window=2, walks_per_node=5, seed=0)}
    with pytest.warns(efge.QualityWarning, match="look random beyond the degrees"):
        efge.write_report(nx.barabasi_albert_graph(800, 4, seed=0), tmp_path / "ba.html", models=models)
    text = (tmp_path / "ba.html").read_text("utf-8")
    assert "is better than every feature of the vectors" in text
    assert "Warning:</strong> EFGE(dim=16, " in text
    assert "the links of this graph look random beyond the degrees of its nodes" in text


def headline_of(text):
    return re.search('<p class="headline">(.*?)</p>', text)[1]


def link_scores(**auc):
    raw = {(name, "-" if name == "katz" else "cosine"): {"auc": np.array([mean])} for name, mean in auc.items()}
    return LinkScores(("method", "features"), raw)


def test_the_headline_says_what_the_vectors_are_worth(page):
    graph = efge.as_graph(CLUBS)
    scores = report._score_links(graph, MODELS, report._hide_edges(graph, 3), 3)
    heuristic = max(scores.summary(*case, metric="auc").mean for case in scores.raw if case[1] == "-")
    assert f"{heuristic:.3f}".removeprefix("0") in headline_of(page)
    assert "within noise" in headline_of(page)
    assert "; they do not predict classes better than the most frequent class: micro_f1 " in headline_of(page)


@pytest.mark.parametrize(
    ("auc", "message"),
    [
        ({"hope": 0.9, "katz": 0.8}, "predict hidden edges better than every heuristic: AUC .900 by cosine, .800 by k"),
        ({"hope": 0.8, "katz": 0.9}, "predict hidden edges, but a heuristic without training does it better: AUC .800"),
        ({"hope": 0.9, "katz": 0.89}, "as well as the best heuristic, within noise"),
        ({"hope": 0.51, "katz": 0.49}, "do not predict hidden edges better than chance"),
    ],
)
def test_the_headline_tells_differences_from_noise(auc, message):
    assert message in summarize_findings(link_scores(**auc), "hope", 500)


@pytest.mark.parametrize(("auc", "n_hidden"), [({"hope": 0.75, "katz": 0.85}, 48), ({"hope": 0.83, "katz": 0.89}, 32)])
def test_a_large_difference_is_not_called_none_because_few_edges_are_hidden(auc, n_hidden):
    assert "too few are hidden to tell" in summarize_findings(link_scores(**auc), "hope", n_hidden)


def test_the_headline_and_the_note_below_the_scores_agree_on_a_graph_that_has_only_degrees(tmp_path):
    degrees = [degree for _, degree in nx.les_miserables_graph().degree]
    graph = nx.Graph(nx.configuration_model(degrees, seed=3))
    graph.remove_edges_from(nx.selfloop_edges(graph))
    efge.write_report(graph, tmp_path / "cfg.html", models={"prone": efge.ProNE(dim=16, seed=0)})
    text = (tmp_path / "cfg.html").read_text("utf-8")
    assert "is better than every feature of the vectors" in text
    assert "a heuristic without training does it better" in headline_of(text)


def test_classes_that_vectors_do_not_know_are_said_to_be_so():
    embedding = efge.Embedding(np.random.default_rng(0).normal(size=(200, 4)))
    labels = np.random.default_rng(1).integers(0, 2, 200)
    classes = efge.node_classification(embedding, labels, ratios=[0.5], repeats=5)
    headline = summarize_findings(link_scores(hope=0.9, katz=0.8), "hope", 500, classes)
    assert "; they do not predict classes better than the most frequent class: micro_f1 " in headline


@pytest.mark.parametrize("name", ["poisson", "hope"])
def test_the_code_that_repeats_a_report_runs_as_printed(tmp_path, name):
    edges = "".join(f"{i},{(i + step) % 30}\n" for i in range(30) for step in (1, 2))
    (tmp_path / "e.csv").write_text(edges)
    done = run("report", "e.csv", "--model", name, "--dim", 4, "-o", "r.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    code = html.unescape(re.findall(r"<pre>(.*?)</pre>", (tmp_path / "r.html").read_text("utf-8"))[-1])
    assert len(eval(code, {"efge": efge, "graph": efge.read_graph(tmp_path / "e.csv")})) == 30
