"""Predictability: random graphs of any degrees are told from graphs with structure, without training or labels."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import efge
from efge.graph.predictability import RANDOM, describe_randomness, measure_predictability
from efge.kernels.csr import peel_leaves
from predictability import RANDOM as RANDOM_GRAPHS
from predictability import STRUCTURED
from records import load


def small(graphs):
    """Leave out the graphs that take longest to generate."""
    return [name for name in graphs if not any(size in name for size in ("20,000", "50,000", "10,000"))]


@pytest.mark.parametrize("name", small(RANDOM_GRAPHS))
def test_links_of_random_graphs_are_as_unpredictable_as_chance(name):
    assert measure_predictability(RANDOM_GRAPHS[name](0)) == pytest.approx(0.5, abs=RANDOM - 0.5)


@pytest.mark.parametrize("name", small(STRUCTURED))
def test_links_of_structured_graphs_are_predictable(name):
    assert measure_predictability(STRUCTURED[name](0)) > RANDOM + 0.1


def test_published_networks_are_predictable(networks):
    for name in ("cora", "ppi", "airports", "wiki", "grqc"):
        graph = efge.read_graph(networks / name / "edges.tsv")
        assert measure_predictability(graph) > 0.7, name


@pytest.mark.parametrize(
    "graph",
    [
        nx.balanced_tree(3, 6),
        nx.random_labeled_tree(2000, seed=1),
        nx.path_graph(1000),
        nx.star_graph(500),
        nx.cycle_graph(1000),
        nx.complete_graph(60),
        nx.complete_bipartite_graph(40, 40),
        nx.karate_club_graph(),
        nx.empty_graph(5),
    ],
    ids=["tree", "random tree", "path", "star", "ring", "complete", "complete bipartite", "small", "empty"],
)
def test_graphs_without_exchangeable_edges_have_no_figure(graph):
    assert measure_predictability(efge.as_graph(graph)) is None


def test_weights_alone_can_be_the_structure():
    support = nx.fast_gnp_random_graph(500, 0.04, seed=0)
    even, by_block = (
        efge.as_graph([(u, v, 10.0 if (u - v) % 4 == 0 and blocks else 0.5) for u, v in support.edges])
        for blocks in (False, True)
    )
    assert measure_predictability(even) < RANDOM < 0.65 < measure_predictability(by_block)


def test_weights_of_any_size_are_taken():
    grid = list(nx.grid_2d_graph(20, 20).edges)
    huge = efge.as_graph([(u, v, 1e300 * (1 + i % 7)) for i, (u, v) in enumerate(grid)])
    assert measure_predictability(huge) > 0.9


def test_where_few_weights_count_all_edges_count_alike():
    """Lognormal weights with a sigma of 3 leave a handful of edges that carry the sum."""
    random = np.random.default_rng(0)
    structured, chance = nx.grid_2d_graph(20, 20), nx.gnm_random_graph(1000, 5000, seed=0)
    for graph, is_structured in ((structured, True), (chance, False)):
        weights = random.lognormal(sigma=3.0, size=graph.number_of_edges())
        weighted = [(u, v, weight) for (u, v), weight in zip(graph.edges, weights, strict=True)]
        figure = measure_predictability(efge.as_graph(weighted))
        assert (figure > 0.9) if is_structured else (figure < RANDOM)
    underflowing = efge.as_graph([(u, v, 10.0 ** (-(i % 300))) for i, (u, v) in enumerate(structured.edges)])
    assert measure_predictability(underflowing) > 0.9


def test_separate_components_are_structure():
    graph = nx.disjoint_union_all([nx.gnm_random_graph(60, 200, seed=seed) for seed in range(20)])
    assert measure_predictability(efge.as_graph(graph)) > 0.9


def test_the_figure_is_the_same_each_time_and_leaves_the_graph_unchanged():
    first, second = (efge.as_graph(nx.gnm_random_graph(300, 1500, seed=1)) for _ in range(2))
    fingerprint = first.fingerprint()
    assert measure_predictability(first) == measure_predictability(second) == measure_predictability(first)
    assert first.fingerprint() == fingerprint


def test_a_graph_on_disk_is_not_measured(tmp_path):
    edges = tmp_path / "edges.txt"
    nx.write_edgelist(nx.grid_2d_graph(20, 20), edges, data=False, delimiter="\t")
    efge.convert_graph(edges, tmp_path / "graph.efge")
    assert measure_predictability(efge.Graph.open(tmp_path / "graph.efge")) is None


def test_peeling_leaves_the_two_core():
    graph = nx.gnm_random_graph(200, 230, seed=3)
    matrix = efge.as_graph(graph, nodes=range(200)).to_scipy()
    names = efge.as_graph(graph, nodes=range(200)).names
    degrees = np.diff(matrix.indptr).astype(np.int64)
    peel_leaves(matrix.indptr, matrix.indices, degrees, np.empty(200, np.int64))
    core = nx.k_core(graph, 2)
    assert {int(name): int(degree) for name, degree in zip(names, degrees, strict=True) if degree} == dict(core.degree)


@pytest.mark.parametrize(("figure", "says"), [(None, False), (0.9, False), (RANDOM, False), (0.51, True), (0.4, True)])
def test_only_unpredictable_links_are_pointed_out(figure, says):
    text = describe_randomness(figure)
    assert (text is not None) == says
    assert text is None or f"{figure:.0%} of cases" in text


def test_the_recorded_graphs_are_on_their_sides_of_the_bound():
    rows = load("predictability")["graphs"].records()
    known = [row for row in rows if row["predictability"] is not None]
    assert len(rows) - len(known) <= 1
    assert all((row["predictability"] < RANDOM) == (row["kind"] == "random") for row in known)
    assert {row["graph"] for row in rows if row["kind"] == "network"} >= {"cora", "ppi", "airports", "pages", "astroph"}
