"""The command line: the example of every command works, records repeat a run exactly, errors are one line."""

from __future__ import annotations

import inspect
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import typer

import efge
from efge.cli import console, runs
from efge.cli.commands import COMMANDS, load_function
from efge.cli.options import MODELS, PAPER_MODELS, PARAMETERS
from helpers import assert_fails, run, run_in_subprocess

KARATE = nx.karate_club_graph()


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch):
    for name, value in {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "200"}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def folder(tmp_path):
    """A folder with Zachary's karate club as named edges, and the clubs of its members as labels."""
    names = {node: f"n{node}" for node in KARATE} | {0: "ann"}
    edges = "".join(f"{names[u]},{names[v]}\n" for u, v in KARATE.edges)
    (tmp_path / "friends.csv").write_text("source,target\n" + edges)
    labels = "".join(f"{names[node]},{club}\n" for node, club in KARATE.nodes("club"))
    (tmp_path / "labels.csv").write_text("node,label\n" + labels)
    return tmp_path


def test_the_example_of_every_command_works_as_written(folder, networks):
    for name, command in COMMANDS.items():
        help_text = run(name, "--help").stdout
        assert " ".join(help_text.split()).endswith(f"Example: {command.example}")
        if name == "reproduce":
            continue
        done = run(*shlex.split(command.example)[1:], cwd=folder)
        assert done.returncode == 0, (command.example, done.stderr)
    for name in ("vectors.npz", "friends.efge", "walks.txt.gz", "groups.tsv", "map.html", "smooth.npz", "vectors.csv"):
        assert (folder / name).stat().st_size > 0


def test_the_help_lists_every_command_with_the_first_sentence_of_its_own_help():
    help_text = " ".join(run("--help").stdout.split())
    for name, command in COMMANDS.items():
        own = load_function(name)
        first = own.info.help if isinstance(own, typer.Typer) else inspect.getdoc(own).partition("\n")[0]
        assert command.summary == first
        assert f" {name} {first} " in help_text


def test_without_a_command_the_help_is_printed():
    asked = run("--help")
    for arguments in ([], ["--quiet"]):
        assert run(*arguments) == (0, asked.stdout, "")


@pytest.mark.parametrize(
    "command", [[], ["datasets"], ["datasets", "list"], ["datasets", "fetch"], ["datasets", "show"]]
)
def test_the_help_of_groups_and_their_commands_ends_with_an_example(command):
    help_text = " ".join(run(*command, "--help").stdout.split())
    example = help_text.rpartition("Example: ")[2]
    assert example.startswith(" ".join(["efge", *command]))
    assert example.isascii(), "no option follows the example"


def test_parameters_of_estimators_are_options_with_their_defaults():
    own = {name: inspect.signature(getattr(efge, name)).parameters for name, _ in MODELS.values()}
    everything = {parameter for parameters in own.values() for parameter in parameters} - {"family"}
    assert set(PARAMETERS) == everything
    for name, option in PARAMETERS.items():
        assert set(option.estimators) == {estimator for estimator, parameters in own.items() if name in parameters}
        defaults = {own[estimator][name].default for estimator in option.estimators}
        shown = [part.split()[-1] for part in option.default.split(";")]
        if None not in defaults:
            assert {False if text == "no" else float(text) if text[0].isdigit() else text for text in shown} == defaults


def test_a_record_has_a_readable_number_of_walks():
    model = SimpleNamespace(window_=5, walks_per_node_=17.973333333333336, converged_=True)
    assert runs._describe_training(model) == {"window": 5, "walks_per_node": 17.97, "converged": True}


def test_every_family_is_a_model():
    from efge.families.builtin import FAMILIES

    assert {family for _, family in MODELS.values() if family} == set(FAMILIES)


@pytest.mark.parametrize("model", MODELS)
def test_every_model_gives_the_vectors_of_the_library(folder, model):
    short = ["--walks-per-node", 5] if MODELS[model][0] in ("EFGE", "DeepWalk", "Node2Vec") else []
    size = ["--n-communities", 3] if model == "bigclam" else ["--dim", 8]
    done = run("embed", "friends.csv", "-o", "v.npz", "-m", model, "--seed", 3, *short, *size, cwd=folder)
    assert (done.returncode, done.stdout) == (0, "")
    estimator, family = MODELS[model]
    options = {"seed": 3} | ({"n_communities": 3} if model == "bigclam" else {"dim": 8})
    options |= ({"family": family} if family else {}) | ({"walks_per_node": 5} if short else {})
    make = efge.EFGE.paper if model in PAPER_MODELS else getattr(efge, estimator)
    expected = make(**options).fit(folder / "friends.csv").embedding_
    assert efge.Embedding.load(folder / "v.npz") == expected


def test_the_record_beside_an_output_repeats_the_run_byte_for_byte(folder):
    assert run("embed", "friends.csv", "-o", "v.npz", "--dim", 8, "--walks-per-node", 5, cwd=folder).returncode == 0
    record = json.loads((folder / "v.npz.json").read_text())
    assert record["efge"] == efge.__version__
    assert record["fingerprint"] == efge.read_graph(folder / "friends.csv").fingerprint()
    assert record["config"]["dim"] == 8
    assert record["log_likelihood"] < 0
    assert record["diagnostics"]["log_likelihood"] == round(record["log_likelihood"], 4)
    assert 0 <= record["diagnostics"]["separation"] <= 1
    assert (record["walks_per_node"], record["converged"]) == (5, False)
    assert record["seconds"] > 0
    before = (folder / "v.npz").read_bytes()
    (folder / "v.npz").unlink()
    assert run("embed", "--config", "v.npz.json", cwd=folder).returncode == 0
    assert (folder / "v.npz").read_bytes() == before
    assert run("embed", "--config", "v.npz.json", "-o", "w.npz", "--threads", 1, cwd=folder).returncode == 0
    assert (folder / "w.npz").read_bytes() == before


def test_the_record_has_the_reading_options(folder):
    (folder / "nodes.txt").write_text("zoe\nann\n")
    options = ("--nodes", "nodes.txt", "--directed", "--dim", 4, "--walks-per-node", 2)
    done = run("embed", "friends.csv", "-o", "v.npz", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    before = (folder / "v.npz").read_bytes()
    assert efge.Embedding.load(folder / "v.npz").names.tolist()[0] == "zoe"
    assert run("embed", "-c", "v.npz.json", "--force", "--allow-code", cwd=folder).returncode == 0
    assert (folder / "v.npz").read_bytes() == before


def test_a_record_of_another_graph_is_refused(folder):
    run("embed", "friends.csv", "-o", "v.npz", "--dim", 8, "--walks-per-node", 2, cwd=folder)
    with (folder / "friends.csv").open("a") as file:
        file.write("ann,zoe\n")
    repeated = run("embed", "--config", "v.npz.json", "--force", cwd=folder)
    assert_fails(repeated, "friends.csv: this is not the graph of v.npz.json")


def test_options_override_the_configuration(folder):
    (folder / "run.toml").write_text(
        'graph = "friends.csv"\noutput = "v.csv"\nmodel = "normal"\ndim = 8\nseed = 4\nwalks_per_node = 3\n'
        "[family_options]\nsigma = 0.5\n"
    )
    assert run("embed", "-c", "run.toml", "--dim", 4, cwd=folder).returncode == 0
    expected = efge.EFGE(efge.Normal(sigma=0.5), dim=4, seed=4, walks_per_node=3).fit(folder / "friends.csv")
    assert efge.Embedding.load(folder / "v.csv") == expected.embedding_


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dim = ", "run.toml: cannot read this configuration"),
        ("dimension = 3", "run.toml: no option 'dimension'; known: graph, output, model"),
        ("dim = 3", "give a graph to embed"),
        ("config = 3", "run.toml: a configuration is a table of options"),
        ("family_options = 3", "run.toml: a configuration is a table of options, and family_options is a table in it"),
        ('graph = "friends.csv"', "give an output, such as -o vectors.npz"),
        ('graph = "friends.csv"\noutput = "v.npz"\ndim = "many"', "dim must be a positive integer; got 'many'"),
    ],
)
def test_a_bad_configuration_is_reported_in_one_line(folder, text, message):
    (folder / "run.toml").write_text(text)
    assert_fails(run("embed", "--config", "run.toml", cwd=folder), message)
    assert not (folder / "v.npz").exists()


CUSTOM_FAMILIES = """
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
class NoFamily:
    pass
"""


@pytest.mark.parametrize("source", ["own", "own.py", "./own.py"])
def test_a_custom_family_comes_from_a_module_or_a_file(folder, source):
    (folder / "own.py").write_text(CUSTOM_FAMILIES)
    options = ("-m", f"{source}:Binomial", "--family-option", "trials=3", "--dim", 4, "--seed", 1)
    done = run("embed", "friends.csv", "-o", "v.npz", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads((folder / "v.npz.json").read_text())["config"]["family_options"] == {"trials": 3}
    before = (folder / "v.npz").read_bytes()
    assert run("embed", "-c", "v.npz.json", "--force", "--allow-code", cwd=folder).returncode == 0
    assert (folder / "v.npz").read_bytes() == before


def test_an_unknown_command_does_not_have_the_options_of_the_one_before(folder):
    assert "Traceback" in run("neighbors", "nowhere.npz", "ann", "--debug", cwd=folder).stderr
    assert_fails(run("nonsense", cwd=folder), "No such command 'nonsense'")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["embed", "friends.csv", "-o", "v.npz", "-m", "normall"], "no model 'normall'; known: bernoulli, poisson"),
        (
            ["embed", "friends.csv", "-o", "v.npz", "-m", "hope", "--window", "3"],
            "hope has no option --window; it has --dim",
        ),
        (["embed", "friends.csv", "-o", "v.npz", "--dim", "0"], "dim must be a positive integer; got 0"),
        (["embed", "friends.csv", "-o", "v.npz", "--dim", "x"], "Invalid value for '--dim'"),
        (["embed", "friends.csv", "-o", "v.xyz", "--dim", "2"], "v.xyz: "),
        (["embed", "nowhere.csv", "-o", "v.npz"], "nowhere.csv: no such file"),
        (["embed", "friends.csv", "-o", "v.npz", "-m", "none.py:F"], "none.py: no such file"),
        (["embed", "friends.csv", "-o", "v.npz", "-m", "nonesuch:F"], "no module 'nonesuch'"),
        (["embed", "friends.csv", "-o", "v.npz", "-m", "own.py:NoFamily"], "own.py:NoFamily: a family is a class"),
        (["embed", "friends.csv", "-o", "v.npz", "-m", "own.py:Missing"], "own.py has no Missing"),
        (
            ["embed", "friends.csv", "-o", "v.npz", "--family-option", "rho=1"],
            "poisson has no parameter 'rho'; it has none",
        ),
        (["embed", "friends.csv", "-o", "v.npz", "--family-option", "rho"], "a family option is name=value"),
        (["embed", "friends.csv", "-o", "v.npz", "--config", "none.toml"], "none.toml: no such file"),
        (["embed", "friends.csv"], "give an output"),
        (["embed"], "give a graph"),
        (["embed", "--nonsense"], "No such option: --nonsense"),
        (["nonsense"], "No such command 'nonsense' (see"),
        (["embd", "e.csv"], "No such command 'embd'; did you mean 'embed'? (see"),
        (["neighbours"], "No such command 'neighbours'; did you mean 'neighbors'?"),
        (["embed", "--windw", "3"], "No such option: --windw (Possible options: --init, --window)"),
        (["neighbors", "v.npz", "ann"], "v.npz: no such file"),
        (["neighbors", "friends.csv", "ann"], "friends.csv"),
        (
            ["classify", "w.csv", "labels.csv", "--ratios", "half"],
            "ratios are numbers separated by commas, such as 0.1,0.5; got 'half'",
        ),
        (["info", "https://example.org/e.csv"], "https://example.org/e.csv: no such file; files are not downloaded"),
        (["classify", "w.csv", "nowhere.csv"], "nowhere.csv: no such file"),
        (["neighbors", "w.csv", "an"], "no node named 'an'"),
        (["neighbors", "w.csv"], "give the names of nodes, or --all"),
        (["neighbors", "w.csv", "ann", "--all"], "give the names of nodes, or --all for all nodes, but not both"),
        (["neighbors", "w.csv", "--all", "-o", "knn.xls"], "knn.xls: the suffix of a table"),
        (["links", "friends.csv", "--features", "hadamar"], "no feature 'hadamar'"),
        (["links", "friends.csv", "--test-size", "2"], "test_size is a fraction of the edges, above 0 and below 1"),
        (["links", "friends.csv", "--rank", "2"], "poisson has no option --rank"),
        (["convert", "w.csv", "w.xyz"], "w.xyz"),
        (["propagate", "w.csv", "friends.csv"], "Missing option '--output'"),
        (
            ["tune", "friends.csv"],
            "Missing option '--output' / '-o'. (example: efge tune friends.csv --fits 1 -o study",
        ),
        (["propagate", "w.csv", "friends.csv", "-o", "v.npz"], "the embedding and the graph must have the same nodes"),
        (["propagate", "w.csv", "none.csv", "-o", "v.npz"], "none.csv: no such file"),
        (["propagate", "none.csv", "friends.csv", "-o", "v.npz"], "none.csv: no such file"),
        (["propagate", "w.csv", "friends.csv", "-o", "v.xyz"], "v.xyz: "),
        (["propagate", "w.csv", "friends.csv", "-o", "v.npz", "--method", "low"], "no method 'low'; known: band-pass"),
        (["propagate", "w.csv", "friends.csv", "-o", "v.npz", "--steps", "2"], "band-pass has no parameter 'steps'"),
        (["propagate", "w.csv", "friends.csv", "-o", "v.npz", "--theta", "-1"], "theta must be positive"),
        (["datasets", "show", "kora"], "no data set 'kora'; known: citeseer"),
        (["explore", "w.csv", "--table", "none.csv"], "none.csv: no such file"),
        (["classify", "w.csv", "labels.csv", "--plot", "x.gif"], "x.gif: a figure must be a .png, .svg or .pdf file"),
    ],
)
def test_errors_are_one_line(folder, arguments, message):
    (folder / "own.py").write_text(CUSTOM_FAMILIES)
    (folder / "w.csv").write_text("node,0\nann,1\nn1,2\n")
    done = run(*arguments, cwd=folder)
    assert done.returncode == 2
    assert done.stderr.startswith(f"efge: {message}"), done.stderr
    assert done.stderr.count("\n") == 1
    assert not (folder / "v.npz").exists()


def test_debug_prints_the_traceback(folder):
    done = run("embed", "nowhere.csv", "-o", "v.npz", "--debug", cwd=folder)
    assert done.returncode == 2
    assert "Traceback" in done.stderr


def test_quiet_prints_nothing_and_verbose_prints_details(folder):
    options = ("embed", "friends.csv", "-o", "v.npz", "--dim", 4, "--walks-per-node", 2, "--force")
    assert run(*options, "--quiet", cwd=folder).stderr == ""
    assert run("--quiet", *options, cwd=folder).stderr == ""
    assert "Graph(34 nodes" in run(*options, "--verbose", cwd=folder).stderr


@pytest.mark.parametrize("suffix", ["parquet", "csv", "tsv"])
def test_neighbors_of_all_nodes_are_written_as_a_table(folder, suffix):
    vectors = efge.Embedding(np.random.default_rng(0).normal(size=(34, 4)), [*"abc", *map(str, range(31))])
    vectors.save(folder / "v.npz")
    done = run("neighbors", "v.npz", "--all", "-k", 3, "-o", f"knn.{suffix}", cwd=folder)
    assert "wrote 102 neighbors of 34 nodes" in done.stderr
    read = {"parquet": pd.read_parquet, "csv": pd.read_csv, "tsv": lambda path: pd.read_csv(path, sep="\t")}[suffix]
    table = read(folder / f"knn.{suffix}")
    assert list(table.columns) == ["node", "neighbor", "rank", "cosine"]
    mine = table[table.node == "b"]
    assert list(zip(mine.neighbor, mine.cosine.astype(np.float32), strict=True)) == vectors.neighbors("b", 3)
    assert mine["rank"].tolist() == [1, 2, 3]


def test_approximate_neighbors_come_from_the_index_beside_the_vectors(folder):
    vectors = efge.Embedding(np.random.default_rng(0).normal(size=(34, 4)), [*"abc", *map(str, range(31))])
    vectors.save(folder / "v.npz")
    assert_fails(run("neighbors", "v.npz", "b", "--approximate", cwd=folder), "v.npz.index: no such index; build it")
    assert "wrote NeighborIndex(34 nodes" in run("index", "v.npz", "--recall", 1, cwd=folder).stderr
    exact = run("neighbors", "v.npz", "b", cwd=folder).stdout
    assert run("neighbors", "v.npz", "b", "--approximate", cwd=folder).stdout == exact
    wrong = run("neighbors", "v.npz", "b", "--approximate", "--metric", "dot", cwd=folder)
    assert_fails(wrong, "an index finds neighbors by cosine among all nodes")


def test_names_that_only_resemble_integers_are_found(folder):
    efge.Embedding([[1, 0], [1, 1], [0, 1]], ["--5", "9" * 5000, "a"]).save(folder / "v.npz")
    (folder / "some.txt").write_text("--5\n" + "9" * 5000 + "\n")
    done = run("neighbors", "v.npz", "a", "--among", "some.txt", "--json", cwd=folder)
    assert [found["neighbor"] for found in json.loads(done.stdout)] == ["9" * 5000, "--5"]


def test_neighbors_are_chosen_among_candidates_without_known_edges(folder):
    graph = efge.read_graph(folder / "friends.csv")
    vectors = efge.Embedding(np.random.default_rng(0).normal(size=(34, 4)), graph.names)
    vectors.save(folder / "v.npz")
    (folder / "some.txt").write_text("ann\nn1\nn9\nn20\n")
    table = run("neighbors", "v.npz", "ann", "--among", "some.txt", "--exclude", "friends.csv", cwd=folder).stdout
    expected = vectors.neighbors("ann", among=["n1", "n9", "n20"], exclude=graph)
    assert [line.split()[1] for line in table.splitlines()[1:]] == [name for name, _ in expected]
    assert "n1" not in table.split()


def test_neighbors_are_printed_as_a_table_or_json(folder):
    run("embed", "friends.csv", "-o", "v.npz", "--dim", 8, "--seed", 1, cwd=folder)
    expected = efge.Embedding.load(folder / "v.npz").neighbors("ann", 3)
    table = run("neighbors", "v.npz", "ann", "-k", 3, cwd=folder).stdout.splitlines()
    assert table[0].split() == ["node", "neighbor", "cosine"]
    assert [line.split()[1] for line in table[1:]] == [name for name, _ in expected]
    rows = json.loads(run("neighbors", "v.npz", "ann", "-k", 3, "--json", cwd=folder).stdout)
    assert [(row["neighbor"], row["cosine"]) for row in rows] == expected


def test_integer_nodes_are_found_by_their_digits(tmp_path):
    efge.Embedding(np.eye(3), [10, 20, -30]).save(tmp_path / "v.npz")
    rows = json.loads(run("neighbors", tmp_path / "v.npz", "20", "-k", 1, "--json").stdout)
    assert rows[0]["node"] == 20


def test_scores_equal_those_of_the_library(folder):
    run("embed", "friends.csv", "-o", "v.npz", "--dim", 8, "--seed", 1, cwd=folder)
    options = ("classify", "v.npz", "labels.csv", "--ratios", "0.5", "--repeats", 5, "--json", "--plot", "s.svg")
    scores = json.loads(run(*options, cwd=folder).stdout)["scores"]
    embedding = efge.Embedding.load(folder / "v.npz")
    expected = efge.node_classification(embedding, folder / "labels.csv", ratios=[0.5], repeats=5)
    assert scores[0]["mean"] == expected.summary(0.5).mean
    assert (folder / "s.svg").read_text().startswith("<?xml")


def test_links_compares_with_heuristics_and_saves_splits(folder):
    options = ("links", "friends.csv", "-m", "hope,bernoulli", "--dim", 4, "--walks-per-node", 2, "--test-size", 0.2)
    done = run(*options, "--repeats", 2, "--save-splits", "splits", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert content["notes"][0].startswith("16 of 78 edges (21%) were hidden in each split")
    scores = content["scores"]
    assert {"hope", "bernoulli", "katz", "adamic-adar"} <= {row["method"] for row in scores}
    assert {row["method"] for row in scores if row["features"] == "likelihood"} == {"bernoulli"}
    split = efge.LinkSplit.load(folder / "splits" / "split_1")
    assert len(split.test_edges) == round(0.2 * 78)
    run(*options, "--repeats", 1, "--save-splits", "by_degree", "--negative-pairs", "degree", cwd=folder)
    expected = efge.split_links(folder / "friends.csv", 0.2, negatives="degree", seed=(0, 0))
    loaded = efge.LinkSplit.load(folder / "by_degree" / "split_0")
    assert loaded.test_non_edges.tolist() == expected.test_non_edges.tolist()


@pytest.mark.parametrize("model", ["bigclam", "bernoulli"])
def test_more_communities_than_nodes_are_refused_before_training(folder, model):
    done = run("communities", "friends.csv", "-o", "none.tsv", "-m", model, "--n-communities", 1000, cwd=folder)
    assert_fails(done, "there cannot be more communities than nodes, ")


@pytest.mark.parametrize(("model", "min_f1"), [("bigclam", 0.45), ("normal", 0.95)])
def test_communities_are_written_and_summarized(folder, model, min_f1):
    options = ("communities", "friends.csv", "-m", model, "--n-communities", 2, "--seed", 1, "--labels", "labels.csv")
    done = run(*options, "-o", "groups.tsv", cwd=folder)
    assert done.returncode == 0, done.stderr
    summary = [line.split() for line in done.stdout.splitlines()]
    assert ["communities", "2"] in summary
    assert any(line[0] == "f1" and min_f1 < float(line[1]) <= 1 for line in summary)
    header, *members = [line.split("\t") for line in (folder / "groups.tsv").read_text().splitlines()]
    assert header == ["node", "community"]
    assert {number for _, number in members} == {"0", "1"}
    # The file can be read as labels.
    assert set(efge.read_labels(folder / "groups.tsv")) <= set(efge.read_graph(folder / "friends.csv"))
    assert run(*options, "-o", "groups.json", cwd=folder).returncode == 0
    assert len(json.loads((folder / "groups.json").read_text())) == 2


def test_propagate_writes_the_vectors_of_the_library(folder):
    graph = efge.read_graph(folder / "friends.csv", nodes=["zoe"])
    (folder / "nodes.txt").write_text("zoe\n")
    embedding = efge.HOPE(dim=4, seed=0).fit(graph).embedding_
    embedding[embedding.names[::-1]].save(folder / "v.npz")
    (folder / "v.npz").rename(folder / "v.data")
    command = ("propagate", "v.data", "friends.csv", "--from", "npz", "--nodes", "nodes.txt", "--threads", 1)
    done = run(*command, "-o", "band.csv", "--order", 5, "--theta", 0.7, "--mu", 0.1, cwd=folder)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "efge: wrote Embedding(35 nodes, 4 dimensions) to band.csv\n"
    expected = efge.propagate(embedding, graph, order=5, theta=0.7, mu=0.1)
    assert efge.Embedding.load(folder / "band.csv") == expected[embedding.names[::-1]]
    options = ("--method", "average", "--steps", 3, "--alpha", 0.2, "--to", "tsv")
    assert run(*command, "-o", "mean.data", *options, cwd=folder).returncode == 0
    expected = efge.propagate(embedding, graph, "average", steps=3, alpha=0.2)
    assert efge.Embedding.load(folder / "mean.data", "tsv") == expected[embedding.names[::-1]]


def test_the_order_of_prone_is_a_number_and_that_of_line_a_word(folder):
    run("embed", "friends.csv", "-o", "v.npz", "-m", "prone", "--order", 3, "--dim", 4, "--seed", 1, cwd=folder)
    expected = efge.ProNE(dim=4, order=3, seed=1).fit(folder / "friends.csv").embedding_
    assert efge.Embedding.load(folder / "v.npz") == expected
    (folder / "v.npz").unlink()
    assert run("embed", "-c", "v.npz.json", "--force", cwd=folder).returncode == 0
    assert efge.Embedding.load(folder / "v.npz") == expected
    wrong = run("embed", "friends.csv", "-o", "w.npz", "-m", "prone", "--order", "both", cwd=folder)
    assert_fails(wrong, "order must be a positive integer; got 'both'")


def test_a_header_read_as_nodes_gives_a_warning(folder):
    (folder / "calls.csv").write_text("painter,muse\nann,bob\nbob,cid\n")
    done = run("info", "calls.csv", "--json", cwd=folder)
    assert json.loads(done.stdout)["nodes"] == 5
    message = "'painter' and 'muse' occur only in the first line; if it names the columns, pass header=True (--header)"
    assert json.loads(done.stdout)["warnings"] == [message]
    assert f"calls.csv: {message}" in run("walks", "calls.csv", "-o", "w.txt", cwd=folder).stderr
    done = run("info", "calls.csv", "--json", "--header", cwd=folder)
    assert (json.loads(done.stdout)["nodes"], done.stderr) == (3, "")
    assert run("info", "friends.csv", cwd=folder).stderr == ""


def test_columns_are_chosen_by_name_or_number(folder):
    assert "Column of source nodes, by name, or by number from 0." in " ".join(run("info", "--help").stdout.split())
    (folder / "calls.csv").write_text("day,person,friend,calls\n1,ann,bob,3\n2,bob,cid,4\n")
    options = ("--source", "person", "--target", 2, "--weight", "calls", "--json")
    statistics = json.loads(run("info", "calls.csv", *options, cwd=folder).stdout)
    assert (statistics["nodes"], statistics["weighted"]) == (3, True)


def test_invalid_family_parameters_are_reported_in_one_line(folder):
    (folder / "own.py").write_text(CUSTOM_FAMILIES)
    options = ("-m", "own.py:Binomial", "--family-option", "trials=abc")
    assert_fails(run("embed", "friends.csv", "-o", "v.npz", *options, cwd=folder), "Binomial(trials='abc'): at x = ")


def test_info_estimates_memory_and_time(folder):
    assert "embed takes" in run("info", "friends.csv", cwd=folder).stdout
    statistics = json.loads(run("info", "friends.csv", "--json", cwd=folder).stdout)
    assert (statistics["nodes"], statistics["edges"]) == (34, 78)
    assert statistics["embed bytes"] > 2 * 34 * 128 * 4


def test_info_describes_vectors(folder):
    random = np.random.default_rng(0).normal(size=(60, 4))
    random[0] = 0
    efge.Embedding(random).save(folder / "v.npz")
    done = json.loads(run("info", "v.npz", "--json", cwd=folder).stdout)
    assert (done["nodes"], done["dimensions"], done["zero vectors"]) == (60, 4, 1)
    assert list(done) == ["nodes", "dimensions", "zero vectors", "mean cosine", "effective rank"]
    assert abs(done["mean cosine"]) < 0.1
    assert 3 < done["effective rank"] < 5
    assert "parallel" not in run("info", "v.npz", cwd=folder).stdout
    efge.Embedding(random + 100).save(folder / "v.csv")
    assert "nearly parallel" in run("info", "v.csv", "--vectors", cwd=folder).stdout
    assert_fails(run("info", "v.npz", "--directed", cwd=folder), "v.npz has vectors, which take no options of graphs")


def test_info_reads_a_sparse_matrix_as_a_graph(folder):
    scipy.sparse.save_npz(folder / "matrix.npz", scipy.sparse.eye_array(5, k=1, format="csr"))
    assert json.loads(run("info", "matrix.npz", "--json", cwd=folder).stdout)["edges"] == 4
    (folder / "broken.npz").write_bytes(b"PK damaged")
    assert_fails(run("info", "broken.npz", cwd=folder), "broken.npz")


def test_classify_shows_the_majority_class(folder):
    assert run("embed", "friends.csv", "-o", "v.npz", "--dim", 8, "--seed", 1, cwd=folder).returncode == 0
    arguments = ("classify", "v.npz", "labels.csv", "--ratios", "0.5", "--repeats", 2)
    assert "| majority class | 0.5000 |" in run(*arguments, cwd=folder).stdout
    assert json.loads(run(*arguments, "--json", cwd=folder).stdout)["majority"]["micro_f1"] == 0.5


def test_data_sets_can_be_used_as_graphs(networks, monkeypatch):
    monkeypatch.setenv("EFGE_DATA", str(networks))
    assert json.loads(run("info", "dolphins", "--json").stdout)["nodes"] == 62
    assert "dolphins" in run("datasets").stdout
    assert "62" in run("datasets", "show", "dolphins").stdout
    assert "Dataset('dolphins'" in run("datasets", "fetch", "dolphins").stderr
    assert json.loads(run("datasets", "list", "--json").stdout)["cora"]["nodes"] == 2708
    assert_fails(run("info", "dolphins", "--directed"), "the data set dolphins takes no reading options; got directed")


def test_output_can_go_to_a_pipe(folder):
    done = run_in_subprocess("embed", "friends.csv", "-o", "-", "--to", "tsv", "--dim", "2", "--seed", "1", cwd=folder)
    assert len(done.stdout.splitlines()) == 35
    assert not list(folder.glob("-*"))


def test_a_configuration_that_names_code_needs_the_users_word(folder):
    (folder / "own.py").write_text("raise SystemExit('this was run')\n")
    (folder / "run.toml").write_text('graph = "friends.csv"\noutput = "v.npz"\nmodel = "own.py:Family"\n')
    done = run("embed", "--config", "run.toml", cwd=folder)
    assert_fails(done, "run.toml: its model 'own.py:Family' is code, which would be run; add --allow-code if you trust")
    assert run("embed", "--config", "run.toml", "--allow-code", cwd=folder).returncode == "this was run"
    done = run("embed", "--config", "run.toml", "-m", "hope", "--dim", "2", "--quiet", cwd=folder)
    assert done.returncode == 0, done.stderr


def test_the_command_line_escapes_formulas(folder):
    (folder / "formulas.txt").write_text("=1+1 bob\nbob cid\n")
    run("embed", "formulas.txt", "-o", "v.csv", "-m", "hope", "--dim", "2", "--quiet", cwd=folder)
    assert '"\'=1+1",' in (folder / "v.csv").read_text()
    assert "=1+1" in efge.Embedding.load(folder / "v.csv")


def test_a_closed_pipe_is_no_error(folder):
    command = f"{sys.executable} -m efge walks friends.csv -o - --walks-per-node 5000 | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=folder)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


def test_ctrl_c_leaves_no_files(folder):
    edges = "".join(f"{u} {v}\n" for u, v in nx.barabasi_albert_graph(3000, 5, seed=0).edges)
    (folder / "large.txt").write_text(edges)
    command = [sys.executable, "-m", "efge", "embed", "large.txt", "-o", "v.npz", "--epochs", "200", "--verbose"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=folder)
    while not process.stderr.readline().startswith("efge: EFGE("):  # printed just before training starts
        assert process.poll() is None
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    *progress, last = process.communicate()[1].splitlines()
    assert process.returncode == 130
    assert last == "efge: stopped; nothing was written"
    # On a busy machine, or in a new clone: that it trains, or compiles.
    assert all(line.startswith("efge: ") for line in progress)
    assert sorted(path.name for path in folder.iterdir()) == ["friends.csv", "labels.csv", "large.txt"]


@pytest.mark.slow
def test_a_terminal_shows_a_bar_with_rate_and_likelihood(folder):
    edges = "".join(f"{u} {v}\n" for u, v in nx.barabasi_albert_graph(2000, 5, seed=0).edges)
    (folder / "large.txt").write_text(edges)
    main_end, terminal_end = os.openpty()
    command = [sys.executable, "-m", "efge", "embed", "large.txt", "-o", "v.npz"]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "150"}
    process = subprocess.Popen(command, stderr=terminal_end, cwd=folder, env=environment)
    os.close(terminal_end)
    output = bytearray()
    with suppress(OSError):  # raised by a pseudo-terminal when its other end is closed
        while data := os.read(main_end, 65536):
            output.extend(data)
    os.close(main_end)
    assert process.wait() == 0
    text = output.decode(errors="replace")
    assert "pairs/s" in text
    assert "log-likelihood" in text
    assert "wrote Embedding(2,000 nodes, 128 dimensions)" in text


def test_without_a_terminal_progress_is_an_occasional_line(monkeypatch, capsys):
    # Commands that ran before in this process may have been quiet.
    monkeypatch.setattr(console, "VERBOSITY", console.Verbosity())
    clock = iter([0.0, 5.0, 20.0, 21.0, 40.0])
    monkeypatch.setattr(console.time, "perf_counter", lambda: next(clock))
    advance = console._progress_lines("training", "pairs")
    for done in (10e6, 40e6, 50e6, 80e6):
        advance(done, 100e6, "log-likelihood -2.0")
    assert capsys.readouterr().err.splitlines() == [
        "efge: training 40%, 2.0 Mpairs/s, 30 s left, log-likelihood -2.0",
        "efge: training 80%, 2.0 Mpairs/s, 10 s left, log-likelihood -2.0",
    ]


def test_the_first_report_says_no_rate_because_compilation_is_in_it(monkeypatch, capsys):
    monkeypatch.setattr(console, "VERBOSITY", console.Verbosity())
    clock = iter([0.0, 25.0, 36.0])
    monkeypatch.setattr(console.time, "perf_counter", lambda: next(clock))
    advance = console._progress_lines("training", "pairs")
    for done in (5e6, 60e6):
        advance(done, 100e6, "")
    lines = ["efge: training 5%", "efge: training 60%, 5.0 Mpairs/s, 8 s left"]
    assert capsys.readouterr().err.splitlines() == lines


def test_the_command_line_runs_as_a_program(folder):
    done = run_in_subprocess("info", "friends.csv", "--quiet", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert_fails(run_in_subprocess("info", "nowhere.csv"), "nowhere.csv: no such file")


def test_shell_completion_is_offered():
    assert "--install-completion" in run("--help").stdout
