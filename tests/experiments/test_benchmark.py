"""Benchmarks of models on any graphs: scores are those of the evaluation, cells are kept, ranks have known answers."""

from __future__ import annotations

import csv
import json

import networkx as nx
import numpy as np
import pytest

import efge
from efge.cli.options import MODELS
from efge.experiments.contenders import REFERENCES, Contender, library_methods
from efge.experiments.judging import JudgedCell, Outcome, Protocol, make_network
from efge.experiments.standings import BenchmarkScores
from helpers import assert_fails, run

CLUB = nx.karate_club_graph()
GRAPH = efge.as_graph(CLUB)
SIDES = nx.get_node_attributes(CLUB, "club")


class Counting:
    """A method that counts its trainings and keeps the graphs; its settings are its name."""

    def __init__(self, name="counting"):
        self.name, self.graphs = name, []

    def __call__(self, graph, seed):
        self.graphs.append(graph)
        return efge.HOPE(dim=8, seed=seed).fit(graph).embedding_

    def __repr__(self):
        return f"Counting({self.name!r})"


def score(scores, method, metric, network="club"):
    return next(e for e in scores.entries if (e.network, e.method, e.metric) == (network, method, metric))


def test_scores_are_those_of_the_evaluation():
    scores = efge.benchmark({"club": GRAPH}, {"hope": efge.HOPE(dim=8)}, labels={"club": SIDES}, seeds=2)
    model = efge.HOPE(dim=8, seed=1).fit(GRAPH)
    expected = efge.node_classification(model, SIDES, ratios=[0.02, 0.1, 0.5, 0.9], repeats=5, seed=1)
    found = next(o.scores for o in scores.outcomes if (o.method, o.task, o.seed) == ("hope", "classification", 1))
    assert found["micro_f1@50"] == expected.summary(0.5).mean
    assert found["macro_f1@2"] == expected.summary(0.02, metric="macro_f1").mean
    for negatives in ("uniform", "degree"):
        splits = [efge.split_links(GRAPH, 0.5, negatives=negatives, seed=(0, seed)) for seed in range(2)]
        options = {"splits": splits, "features": ["hadamard"], "heuristics": ["katz"]}
        links = efge.link_prediction(GRAPH, {"hope": efge.HOPE(dim=8)}, **options)
        for method, case in (("hope", ("hope", "hadamard")), ("katz index", ("katz", "-"))):
            entry, summary = score(scores, method, f"auc@{negatives}"), links.summary(*case)
            assert (entry.mean, entry.sd) == (pytest.approx(summary.mean), pytest.approx(summary.sd))


def test_links_are_removed_before_a_method_sees_the_graph():
    method = Counting()
    efge.benchmark({"club": GRAPH}, {"method": method}, seeds=1, test_size=0.3)
    split = efge.split_links(GRAPH, 0.3, seed=(0, 0))
    assert [graph.fingerprint() for graph in method.graphs] == [split.graph.fingerprint()]


@pytest.mark.parametrize("several", [False, True])
def test_the_majority_class_is_predicted_from_the_training_nodes(several):
    classes = {node: [node % 7 % 3] + [9] * (several and node % 3 == 0) for node in range(34)}
    scores = efge.benchmark({"club": GRAPH}, {}, labels={"club": classes}, percentages=[50], splits=1, seeds=1)
    order = np.random.default_rng([0, 0]).permutation(34)
    train, test = order[:17].tolist(), order[17:].tolist()
    counts = {label: sum(label in classes[node] for node in train) for label in (0, 1, 2, 9)}
    ranked = sorted(counts, key=lambda label: -counts[label])
    hits = sum(len({*ranked[: len(classes[node])]} & {*classes[node]}) for node in test)
    micro_f1 = score(scores, "majority class", "micro_f1@50").mean
    assert micro_f1 == pytest.approx(hits / sum(len(classes[node]) for node in test))


def test_finished_cells_are_read_and_not_trained_again(tmp_path):
    method = Counting()
    options = {"labels": {"club": SIDES}, "percentages": [50], "folder": tmp_path}
    first = efge.benchmark({"club": GRAPH}, {"method": method}, seeds=2, **options)
    assert len(method.graphs) == 4
    assert efge.benchmark({"club": GRAPH}, {"method": method}, seeds=2, **options).to_json() == first.to_json()
    assert len(method.graphs) == 4
    # A further seed adds two cells.
    efge.benchmark({"club": GRAPH}, {"method": method}, seeds=3, **options)
    assert len(method.graphs) == 6


@pytest.mark.parametrize(
    ("change", "trained"),
    [
        ({}, 0),
        ({"percentages": [10]}, 1),
        ({"splits": 2}, 1),
        ({"labels": {"club": {node: node % 2 for node in range(34)}}}, 1),
        ({"test_size": 0.3}, 1),
        ({"C": 2.0}, 2),
        ({"graphs": {"club": CLUB.subgraph(range(30))}}, 2),
        ({"methods": {"method": Counting("other")}}, 2),
        ({"threads": 1, "memory_limit": 10**6}, 0),
    ],
    ids=lambda value: next(iter(value), "nothing") if isinstance(value, dict) else None,
)
def test_cells_of_another_configuration_are_trained_again(tmp_path, change, trained):
    arguments = {"graphs": {"club": GRAPH}, "methods": {"method": Counting()}, "labels": {"club": SIDES}}
    arguments |= {"percentages": [50], "seeds": 1, "folder": tmp_path}
    efge.benchmark(**arguments)
    arguments |= {"methods": {"method": Counting()}}
    arguments |= change
    efge.benchmark(**arguments)
    assert len(arguments["methods"]["method"].graphs) == trained


def test_cells_of_another_version_or_damaged_ones_are_trained_again(tmp_path, monkeypatch):
    method = Counting()
    efge.benchmark({"club": GRAPH}, {"method": method}, seeds=1, folder=tmp_path)
    (file,) = (tmp_path / "cells" / "club" / "links").glob("Counting*")
    file.write_text(file.read_text()[:-20])
    efge.benchmark({"club": GRAPH}, {"method": method}, seeds=1, folder=tmp_path)
    assert len(method.graphs) == 2
    monkeypatch.setattr(efge, "__version__", "99.0.0")
    efge.benchmark({"club": GRAPH}, {"method": method}, seeds=1, folder=tmp_path)
    assert len(method.graphs) == 3


def test_an_interrupted_run_continues_where_it_stopped(tmp_path):
    class Interrupting(Counting):
        def __call__(self, graph, seed):
            if len(self.graphs) == 3:
                raise KeyboardInterrupt
            return super().__call__(graph, seed)

    with pytest.raises(KeyboardInterrupt):
        efge.benchmark({"club": GRAPH}, {"method": Interrupting()}, seeds=5, folder=tmp_path)
    method = Counting()
    Interrupting.__call__ = lambda self, graph, seed: method(graph, seed)
    efge.benchmark({"club": GRAPH}, {"method": Interrupting()}, seeds=5, folder=tmp_path)
    assert len(method.graphs) == 2


def test_methods_with_the_same_settings_are_trained_once():
    calls = []
    methods = {
        "one": efge.EFGE(dim=4, walks_per_node=1),
        "two": efge.EFGE("poisson", dim=4, walks_per_node=1, seed=7),
    }
    scores = efge.benchmark({"club": GRAPH}, methods, seeds=1, progress=lambda *report: calls.append(report))
    assert score(scores, "one", "auc@degree").mean == score(scores, "two", "auc@degree").mean
    assert [done for done, _, _ in calls] == [0, 2, 3, 4]
    assert len(scores.outcomes) == 4


def test_a_method_that_fails_or_is_too_large_has_a_reason_and_is_tried_again(tmp_path):
    def failing(graph, seed):
        raise ValueError("no such\nluck")

    methods = {"failing": failing, "netmf": efge.NetMF(dim=4)}
    scores = efge.benchmark({"club": GRAPH}, methods, seeds=1, memory_limit=4000, folder=tmp_path)
    reason = "its dense matrix of 34 x 34 takes 4,624 bytes; the limit is 4,000"
    assert scores.notes == ["club, failing, links: failed: no such luck", f"club, netmf, links: {reason}"]
    assert not [entry for entry in scores.entries if entry.ranked]
    again = efge.benchmark({"club": GRAPH}, methods, seeds=1, folder=tmp_path)
    assert again.notes == scores.notes[:1]
    assert score(again, "netmf", "auc@uniform").rank == 1


def test_given_vectors_are_scored_by_classes_only_whatever_their_order():
    embedding = efge.NetMF(dim=8, seed=0).fit(GRAPH).embedding_
    turned = embedding[list(range(33, -1, -1))]
    partial = embedding[list(range(30))]
    options = {"labels": {"club": SIDES}, "seeds": 1, "percentages": [50]}
    given = {"club": {"mine": embedding, "turned": turned, "partial": partial}}
    scores = efge.benchmark({"club": GRAPH}, {"netmf": efge.NetMF(dim=8)}, embeddings=given, **options)
    means = {name: score(scores, name, "micro_f1@50").mean for name in ("netmf", "mine", "turned", "partial")}
    assert means["netmf"] == means["mine"] == means["turned"]
    assert means["partial"] < means["mine"]
    assert {o.task for o in scores.outcomes if o.method == "mine"} == {"classification"}


def test_a_network_without_labels_is_scored_by_links_and_a_data_set_brings_its_labels():
    dataset = efge.Dataset("club", GRAPH, SIDES, "Zachary 1977")
    scores = efge.benchmark({"plain": GRAPH, "data": dataset}, {"hope": efge.HOPE(dim=8)}, seeds=1, percentages=[50])
    metrics = {
        name: [e.metric for e in scores.entries if (e.network, e.method) == (name, "hope")]
        for name in ("plain", "data")
    }
    assert metrics["plain"] == ["auc@uniform", "auc@degree"]
    assert metrics["data"] == ["micro_f1@50", "macro_f1@50", "auc@uniform", "auc@degree"]


@pytest.mark.slow
def test_scores_are_the_same_in_other_processes():
    arguments = {"graphs": {"club": GRAPH}, "methods": {"efge": efge.EFGE(dim=4, walks_per_node=2)}, "seeds": 2}
    one, two = (efge.benchmark(**arguments, processes=processes, threads=1) for processes in (1, 2))
    assert [outcome.scores for outcome in one.outcomes] == [outcome.scores for outcome in two.outcomes]


def outcome(network, method, value, seed=0, ranked=True, metric="auc@uniform"):
    return Outcome(network, method, ranked, "links", seed, 1.0, {metric: value}, None)


def test_ranks_and_regrets_have_known_answers():
    outcomes = [
        *(outcome("a", "x", value, seed) for seed, value in enumerate((0.5, 0.7))),
        outcome("a", "y", 0.8),
        outcome("a", "z", 0.8),
        outcome("a", "heuristic", 0.9, ranked=False),
        outcome("b", "x", 0.9),
        outcome("b", "y", 0.45),
    ]
    scores = BenchmarkScores(outcomes)
    x, heuristic = (score(scores, name, "auc@uniform", "a") for name in ("x", "heuristic"))
    assert (x.mean, x.sd, x.seeds) == (pytest.approx(0.6), pytest.approx(0.02**0.5), 2)
    assert (x.rank, x.regret, x.ratio) == (3, pytest.approx(0.2), pytest.approx(0.75))
    assert (heuristic.rank, heuristic.regret, heuristic.ratio) == (None, None, None)
    # x is third and first, y shares the first rank and is second, z was not measured on b.
    standings = {s.method: s for s in scores.standings("auc")}
    assert list(standings) == ["z", "y", "x"]
    assert standings["x"][2:] == (2, pytest.approx(0.1), pytest.approx(0.2), pytest.approx(0.875), 2)
    assert standings["y"][2:] == (1.75, pytest.approx(0.225), pytest.approx(0.45), pytest.approx(0.75), 2)
    assert standings["z"][2:] == (1.5, 0, 0, 1, 1)


def test_a_prefix_stands_for_all_percentages():
    outcomes = [
        outcome("a", name, value, metric=f"micro_f1@{at}")
        for name, value, at in (("x", 0.5, 2), ("x", 0.8, 50), ("y", 0.6, 2), ("y", 0.7, 50))
    ]
    standings = BenchmarkScores(outcomes).standings("micro_f1")
    assert [(s.method, s.rank, s.regret) for s in standings] == [
        ("x", 1.5, pytest.approx(0.05)),
        ("y", 1.5, pytest.approx(0.05)),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": {"klub": SIDES}}, "labels of 'klub': no such graph; known: club"),
        ({"embeddings": {"klub": {}}}, "embeddings of 'klub': no such graph"),
        ({"labels": {"club": dict.fromkeys(SIDES, 1)}}, "club: classification needs at least two classes"),
        ({"labels": {"club": {"ann": 1}}}, "has a label"),
        ({"percentages": [0]}, "a percentage of labels is above 0 and below 100; got 0"),
        ({"percentages": []}, "give at least one percentage"),
        ({"seeds": 0}, "seeds must be a positive integer"),
        ({"methods": {"hope": "hope"}}, "hope: a method is an estimator, or a function"),
        ({"methods": {"majority class": efge.HOPE()}}, "'majority class' is there twice"),
    ],
)
def test_invalid_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        efge.benchmark(**({"graphs": {"club": GRAPH}, "methods": {}} | arguments))


def test_a_cell_has_a_path_that_any_name_can_have():
    network = make_network("../a b", GRAPH)
    for contender in (Contender("x/../../y", efge.HOPE()), *REFERENCES):
        path = JudgedCell(network, contender, "links", 0, Protocol(), None).path()
        assert path.count("/") == 2
        assert path.startswith("..-a-b/links/")


def test_the_methods_of_the_library_are_those_of_the_command_line():
    assert set(library_methods()) == {"default", *MODELS}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "club.csv").write_text("".join(f"{u},{v}\n" for u, v in CLUB.edges))
    (tmp_path / "sides.csv").write_text("node,label\n" + "".join(f"{node},{side}\n" for node, side in SIDES.items()))
    return tmp_path


def test_the_command_writes_what_the_library_computes(folder):
    efge.NetMF(dim=4, seed=1).fit(folder / "club.csv").embedding_.save(folder / "mine.npz")
    options = ("benchmark", "club.csv", "--labels", "sides.csv", "--embedding", "mine.npz", "--percentages", "10,50")
    options = (
        *options,
        "--models",
        "default,hope,bigclam",
        "--dim",
        4,
        "--walks-per-node",
        2,
        "--seeds",
        2,
        "-o",
        "out",
    )
    done = run(*options, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "| mine.npz |" in done.stdout
    methods = {"default": efge.EFGE(dim=4, walks_per_node=2), "hope": efge.HOPE(dim=4), "bigclam": efge.BigClam(4)}
    given = {"club": {"mine.npz": efge.Embedding.load(folder / "mine.npz")}}
    expected = efge.benchmark(
        {"club": folder / "club.csv"},
        methods,
        labels={"club": folder / "sides.csv"},
        embeddings=given,
        seeds=2,
        percentages=[10, 50],
    )
    with (folder / "out" / "scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["mean"]) for row in rows] == [entry.mean for entry in expected.entries]
    assert json.loads((folder / "out" / "benchmark.json").read_text())["scores"] == expected.to_json()["scores"]
    # Everything is read from the folder.
    assert (
        json.loads(run(*options, "--json", cwd=folder).stdout)["cells"]
        == json.loads((folder / "out" / "benchmark.json").read_text())["cells"]
    )


def test_labels_of_several_graphs_are_given_by_name(folder):
    (folder / "ring.tsv").write_text("".join(f"{i}\t{(i + step) % 30}\n" for i in range(30) for step in (1, 2)))
    options = ("benchmark", "club.csv", "ring.tsv", "-m", "hope", "--dim", 4, "--seeds", 1, "-o", "out")
    done = run(*options, "--labels", "club=sides.csv", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    networks = {(cell["network"], cell["task"]) for cell in json.loads(done.stdout)["cells"]}
    assert networks == {("club", "classification"), ("club", "links"), ("ring", "links")}
    assert_fails(
        run(*options, "--labels", "sides.csv", cwd=folder),
        "--labels is GRAPH=FILE if there are several graphs: club, ring",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["club.csv", "-m", "hoper"], "no model 'hoper'"),
        (["club.csv", "club.csv"], "graphs need different names; 'club' is there twice"),
        (["club.csv", "--percentages", "ten"], "percentages are numbers separated by commas"),
        (["club.csv", "-m", "normal", "--beta", "0.1"], "normal has no option --beta"),
        (["nowhere.csv"], "nowhere.csv: no such file"),
    ],
)
def test_errors_of_the_command_are_one_line(folder, arguments, message):
    assert_fails(run("benchmark", *arguments, "-o", "out", cwd=folder), message)
