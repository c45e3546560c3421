"""The program that measures quality: generated graphs, the peer's vectors, and the record that figures come from."""

from __future__ import annotations

import sys

import networkx as nx
import numpy as np
import pytest

import efge
import figures_quality
import quality
import records
from efge.cli.options import MODELS
from efge.experiments.contenders import Contender
from generators import BLOCK_MODELS, BlockModel


def within_blocks(graph, block):
    rows = np.repeat(np.arange(graph.n_nodes), graph.degrees)
    return (block[rows] == block[graph.indices]).mean()


def test_a_block_model_has_the_degrees_and_hubs_that_were_asked_for():
    graph, block = BlockModel(nodes=600, degree=50, blocks=6).generate()
    assert (graph.n_nodes, graph.n_edges, graph.n_self_loops) == (600, 15_000, 0)
    assert np.bincount(block).tolist() == [100] * 6
    assert graph.degrees.max() > 5 * np.median(graph.degrees)
    even, _ = BlockModel(nodes=600, degree=50, blocks=6, exponent=50).generate()
    assert even.degrees.max() < 2 * np.median(even.degrees)


@pytest.mark.parametrize("mixing", [0.0, 0.5, 1.0])
def test_mixing_is_the_fraction_of_edges_without_regard_to_blocks(mixing):
    # Propensities that are nearly equal: no pair is drawn often, which would remove edges of blocks.
    graph, block = BlockModel(nodes=2000, degree=10, blocks=4, mixing=mixing, exponent=50).generate()
    expected = 1 - mixing + mixing / 4
    # 10,000 edges: the standard deviation is 0.005 at most.
    assert within_blocks(graph, block) == pytest.approx(expected, abs=0.025 if mixing else 0)


def test_the_same_seed_generates_the_same_graph():
    model = BlockModel(nodes=200, degree=20, blocks=4)
    (first, block), (again, same_block), (other, _) = (model._replace(seed=seed).generate() for seed in (1, 1, 2))
    assert first.fingerprint() == again.fingerprint() != other.fingerprint()
    assert block.tolist() == same_block.tolist()


def test_generated_graphs_are_dense():
    assert {model.degree for model in BLOCK_MODELS.values()} == {50, 100, 200}


def test_every_model_of_the_library_is_measured():
    measured = {(type(m).__name__, getattr(m, "family", None)) for m in quality.METHODS.values()}
    # The geometric family is the negative binomial one with its default dispersion.
    assert measured >= set(MODELS.values()) - {("EFGE", "geometric")}
    descriptions = [Contender(name, method).description for name, method in quality.METHODS.items()]
    assert not any(" at 0x" in description for description in descriptions)


def test_gensim_learns_from_our_walks():
    pytest.importorskip("gensim")
    # The order of gensim's vocabulary is not that of the graph, and one node has no edges.
    graph = efge.as_graph(nx.planted_partition_graph(2, 30, 0.5, 0.01, seed=1), nodes=range(61))
    method = quality.GensimSkipGram(dim=8, walks_per_node=40)
    vectors = method(graph, seed=1)
    assert vectors.shape == (61, 8)
    sides = dict(enumerate(np.repeat([0, 1], 30).tolist()))
    assert efge.node_classification(efge.Embedding(vectors), sides, ratios=[0.5], repeats=5).summary(0.5).mean > 0.9
    assert np.array_equal(vectors, method(graph, seed=1))


def test_vectors_of_unit_length_have_the_directions_of_the_model():
    graph = efge.as_graph(nx.karate_club_graph())
    scaled = quality.UnitLength(efge.HOPE(dim=4))(graph, seed=0)
    vectors = efge.HOPE(dim=4, seed=0).fit(graph).embedding_.vectors
    assert np.linalg.norm(scaled, axis=1) == pytest.approx(1)
    assert scaled * np.linalg.norm(vectors, axis=1, keepdims=True) == pytest.approx(vectors, abs=1e-6)


@pytest.fixture
def measure(tmp_path, monkeypatch):
    """A function that runs the program on small networks, with a record of its own."""
    for name, seed in (("dolphins", 0), ("cora", 1)):
        folder = tmp_path / name
        folder.mkdir()
        graph = nx.planted_partition_graph(2, 20, 0.5, 0.05, seed=seed)
        (folder / "edges.tsv").write_text("".join(f"{u}\t{v}\n" for u, v in graph.edges))
        (folder / "nodes.txt").write_text("".join(f"{node}\n" for node in graph))
        (folder / "labels.tsv").write_text("".join(f"{node}\t{node // 20}\n" for node in graph))
    monkeypatch.setenv("EFGE_DATA", str(tmp_path))
    monkeypatch.setattr(records, "RESULTS", tmp_path)
    monkeypatch.setattr(records.load, "__defaults__", (tmp_path,))
    monkeypatch.setattr(records.write, "__defaults__", (tmp_path,))
    monkeypatch.setattr(quality, "METHODS", {"HOPE": efge.HOPE(dim=4), "NetMF": efge.NetMF(dim=4)})
    small = {"dim": 4, "walks_per_node": 2}
    monkeypatch.setattr(
        quality, "TRAINERS", {f"normal, {name}": efge.EFGE(trainer=name, **small) for name in ("fast", "reference")}
    )

    def run(*options):
        arguments = ["quality.py", "--folder", str(tmp_path / "cells"), "--processes", "1", *options]
        monkeypatch.setattr(sys, "argv", arguments)
        quality.main()
        return records.load("quality")

    return run


def test_the_record_has_every_cell_and_grows_network_by_network(measure, capsys):
    record = measure("--seeds", "2", "--networks", "dolphins")
    rows = record["classification"].records()
    assert {(row["method"], row["seed"]) for row in rows if row["ranked"]} == {
        (method, seed) for method in ("HOPE", "NetMF") for seed in (0, 1)
    }
    assert "efge " + efge.__version__ in record["links"].origin
    measure("--seeds", "1", "--networks", "cora", "--methods", "HOPE")
    record = measure("--seeds", "1", "--networks", "dolphins", "--methods", "HOPE")
    found = {(row["network"], row["method"], row["seed"]) for row in record["links"].records() if row["ranked"]}
    # Seeds of HOPE on dolphins were replaced, and all else stayed.
    assert found == {("dolphins", "HOPE", 0), ("dolphins", "NetMF", 0), ("dolphins", "NetMF", 1), ("cora", "HOPE", 0)}
    assert "| HOPE |" in capsys.readouterr().out


def test_a_method_that_was_too_large_leaves_a_reason_until_it_is_measured(measure):
    record = measure("--seeds", "1", "--networks", "dolphins", "--matrix-gigabytes", "0.000001")
    reason = "its dense matrix of 40 x 40 takes 6,400 bytes; the limit is 1,000"
    assert [row[:3] + row[4:] for row in record["not measured"].rows] == [
        ["dolphins", "NetMF", task, reason] for task in ("classification", "links")
    ]
    assert reason in figures_quality.not_measured()
    assert measure("--seeds", "1", "--networks", "dolphins")["not measured"].rows == []
    assert figures_quality.not_measured() == "Every method was measured on each of these networks."


def test_figures_are_made_from_the_record(measure):
    record = measure("--seeds", "2", "--networks", "dolphins", "cora")
    measure("--seeds", "2", "--trainers", "--networks", "dolphins")
    for figure in figures_quality.BLOCKS.values():
        assert figure()
    rows = [row for row in record["links"].records() if (row["network"], row["method"]) == ("cora", "HOPE")]
    mean = f"{np.mean([row['auc@degree'] for row in rows]):.3f}"
    line = next(line for line in figures_quality.score_table("auc@degree").splitlines() if line.startswith("| HOPE |"))
    assert line.split(" | ")[1].strip("* ") == mean
    assert "majority class" in figures_quality.score_table("micro_f1@10")
    assert "majority class" not in figures_quality.standings(["micro_f1@10"])


def test_trainers_are_compared_seed_by_seed(measure):
    record = measure("--seeds", "2", "--trainers", "--networks", "dolphins")
    rows = {(row["trainer"], row["seed"]): row["micro_f1@50"] for row in record["trainers"].records()}
    differences = [rows["fast", seed] - rows["reference", seed] for seed in (0, 1)]
    error = np.std(differences, ddof=1) / 2**0.5
    assert f"{np.mean(differences):+.4f} ± {error:.4f}" in figures_quality.trainers()
    assert figures_quality.difference([0.5, 0.75], [0.25, 0.25]) == "+0.3750 ± 0.1250"
    assert figures_quality.difference([0.5], [0.4]) == "+0.1000"


def test_an_interrupted_program_says_how_to_continue(measure, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(quality, "measure", interrupt)
    with pytest.raises(SystemExit, match=r"stopped; finished cells are in .*, and the same command continues"):
        measure("--networks", "dolphins")
