"""Extreme weights and shapes give finite, correct results or an error that states the reason, and never hang."""

from __future__ import annotations

import json
from itertools import pairwise, product

import networkx as nx
import numpy as np
import pytest
from scipy.stats import binom

import efge
from efge import linalg as spectra
from efge.evaluation import heuristics
from efge.evaluation.splits import split_links
from efge.families.builtin import FAMILIES
from efge.linalg import katz_terms
from helpers import run, run_in_subprocess

MANY = 1_000_000
SPAN = [(0, 1, 1e-300), (0, 2, 1e300), (0, 3, 1.0), (1, 2, 5e-324), (2, 3, 1e-300), (3, 4, 1e300), (4, 1, 1.7e308)]
SMALL = {
    "huge": [(0, 1, 1e308), (0, 2, 1.7e308), (1, 2, 1.5e308), (2, 3, 1.2e308), (3, 0, 1e308)],
    "denormal": [(0, 1, 5e-324), (0, 2, 5e-324), (1, 2, 5e-324), (2, 3, 1e-323)],
    "span": SPAN,
    "apart": [("a", "b", 1e-300), ("c", "d", 1e300)],
    "apart, directed": efge.as_graph([("a", "b", 1e-300), ("c", "d", 1e300)], directed=True),
    "span, directed": efge.as_graph(SPAN, directed=True),
    "one self-loop": [("a", "a")],
    "two nodes": [("a", "b")],
    "self-loops": [(i, i, 1e300) for i in range(5)],
    "out-star": efge.as_graph([(0, i) for i in range(1, 6)], directed=True),
    "in-star": efge.as_graph([(i, 0) for i in range(1, 6)], directed=True),
    "multi-edges": efge.as_graph(nx.MultiGraph([(0, 1), (0, 1), (1, 2), (1, 1), (1, 1)])),
    "clique": nx.complete_graph(9),
    "bipartite": nx.complete_bipartite_graph(4, 5),
    "path": nx.path_graph(30),
}
EXTREMES = [*product([1e-300, 1.0, 1e300], repeat=2), (5e-324, 5e-324), (5e-324, 1.7e308)]


def walks_of(graph, strategy, **options):
    walks = efge.Walks(graph, strategy, **({"walks_per_node": 5, "walk_length": 6, "seed": 0} | options))
    return [walk.tolist() for batch in walks.batches() for walk in batch]


def assert_finite(embedding, graph):
    graph = efge.as_graph(graph)
    assert embedding.names.tolist() == graph.names.tolist()
    assert np.isfinite(embedding.vectors).all()


# Graphs ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", ["5e-324", "1e-300", "1e300", "1.7976931348623157e308"])
def test_extreme_weights_are_read_exactly(write, weight):
    path = write("graph.csv", f"source,target,weight\na,b,{weight}\nb,c,1\n")
    graph = efge.read_graph(path)
    assert graph.weights.tolist() == [float(weight), float(weight), 1.0, 1.0]
    done = run("info", path, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["fingerprint"] == graph.fingerprint()


@pytest.mark.parametrize("weight", ["1e309", "1e-330", "-1e300", "nan", "inf"])
def test_weights_that_are_not_finite_and_positive_are_an_error_with_the_line(write, weight):
    path = write("graph.csv", f"source,target,weight\na,b,1\nb,c,{weight}\n")
    with pytest.raises(efge.GraphError, match=f"line 3: a weight is finite and positive; got {weight}"):
        efge.read_graph(path)


def test_duplicates_that_add_up_to_infinity_are_an_error(write):
    path = write("graph.csv", "source,target,weight\n" + "a,b,1e308\n" * 2)
    with pytest.raises(efge.GraphError, match=r"graph\.csv: .*add up to infinity; scale the weights down"):
        efge.read_graph(path)
    matrix = nx.to_scipy_sparse_array(nx.path_graph(2)).astype(float).tocoo()
    matrix.data[:] = 1e308
    with pytest.raises(efge.GraphError, match="add up to infinity"):
        efge.as_graph(type(matrix)((np.tile(matrix.data, 2), np.tile(matrix.coords, 2)), shape=(2, 2)))


# Walks ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("p", "q"), EXTREMES)
@pytest.mark.parametrize("name", SMALL)
def test_walks_follow_edges_until_a_dead_end(name, p, q):
    graph = efge.as_graph(SMALL[name])
    edges = {(u, int(v)) for u in range(len(graph)) for v in graph.indices[graph.indptr[u] : graph.indptr[u + 1]]}
    walks = walks_of(graph, efge.Node2VecWalk(p, q))
    for walk in walks:
        assert all(pair in edges for pair in pairwise(walk))
        assert len(walk) == 6 or not graph.degrees[walk[-1]]
    assert sorted(walk[0] for walk in walks) == sorted([*range(len(graph))] * 5)


@pytest.mark.parametrize("strategy", ["weighted", *(efge.Node2VecWalk(p, q) for p, q in EXTREMES)], ids=str)
def test_scaling_all_weights_does_not_change_the_walks(strategy):
    # Weights of few digits, which stay exact as denormal numbers.
    edges = [(u, v, float(1 + (3 * u + v) % 7)) for u, v in nx.gnp_random_graph(30, 0.3, seed=1).edges]
    expected = walks_of(edges, strategy)
    assert len({tuple(walk) for walk in expected}) > 10
    for exponent in (-1074, -1000, 1021):
        assert walks_of([(u, v, np.ldexp(w, exponent)) for u, v, w in edges], strategy) == expected


@pytest.mark.parametrize("unit", [5e-324, 1e-300, 1.0, 1e306])
def test_a_heavy_neighbor_is_visited_in_proportion_to_its_weight(unit):
    edges = [("hub", "heavy", 60 * unit), *(("hub", leaf, unit) for leaf in range(20)), ("other", "far", 1e308)]
    for strategy in ("weighted", efge.Node2VecWalk(1.0, 2.0)):
        starts = [walk for walk in walks_of(edges, strategy, walks_per_node=4000, walk_length=2) if walk[0] == 0]
        heavy = sum(walk[1] == 1 for walk in starts)
        assert binom(len(starts), 0.75).cdf(heavy) == pytest.approx(0.5, abs=0.4999)


def test_if_weights_span_all_floats_only_the_heaviest_neighbor_is_visited():
    weights = [1e-300, 5e-324, 1.0, 1e300, 1e-10]
    edges = [("hub", leaf, weight) for leaf, weight in enumerate(weights)]
    for strategy in ("weighted", efge.Node2VecWalk(0.5, 0.5)):
        for walk in walks_of(edges, strategy, walks_per_node=50):
            assert all(node == 4 for before, node in pairwise(walk) if before == 0)
    # Light edges in another row of the same graph keep their proportions.
    light = [("a", "b", 5e-324), ("a", "c", 15e-324), ("x", "y", 1.7e308)]
    second = [walk[1] for walk in walks_of(light, efge.Node2VecWalk(1.0, 0.5), walks_per_node=2000) if walk[0] == 0]
    assert binom(2000, 0.75).cdf(second.count(2)) == pytest.approx(0.5, abs=0.4999)


@pytest.mark.parametrize("weight", [None, 5e-324, 1.7e308])
def test_extreme_p_and_q_determine_the_steps(weight):
    def with_weight(graph):
        return [(u, v) if weight is None else (u, v, weight) for u, v in graph.edges]

    def returns(graph, p, q):
        walks = walks_of(with_weight(graph), efge.Node2VecWalk(p, q), walk_length=8)
        return {walk[i] == walk[i + 2] for walk in walks for i in range(6)}

    clique, ring = nx.complete_graph(6), nx.cycle_graph(6)
    for q in (1e-300, 1.0, 1e300):
        assert returns(clique, 1e-300, q) == {True}
        assert returns(clique, 1e300, q) == {False}
    assert returns(ring, 1e-300, 1e300) == returns(ring, 1e-200, 1e-100) == {True}
    assert returns(ring, 1e300, 1e-300) == returns(ring, 1e-100, 1e-200) == {False}
    assert returns(ring, 1e300, 1e300) == returns(ring, 1e-300, 1e-300) == {True, False}


def test_walks_on_a_bipartite_graph_alternate_sides():
    graph = nx.complete_bipartite_graph(7, 30)
    for strategy in ("uniform", *(efge.Node2VecWalk(p, q) for p, q in EXTREMES)):
        for walk in walks_of(graph, strategy):
            sides = [node < 7 for node in walk]
            assert sides == [sides[0] ^ bool(i % 2) for i in range(6)]


@pytest.mark.parametrize(("p", "q"), [(1e4, 1e4), (1e4, 1.0), (0.5, 1e4), (1e300, 1e-300)])
@pytest.mark.parametrize("weighted", [False, True])
def test_steps_from_a_hub_have_their_exact_probabilities(p, q, weighted):
    """From leaf 1 over the hub: back to 1, to its neighbor 2, or to any other leaf; most proposals are rejected."""
    leaves = 3000
    heavy = 500.0 if weighted else 1.0
    edges = [(0, leaf, heavy if leaf <= 2 else 1.0) for leaf in range(1, leaves + 1)] + [(1, 2, 1e-9)]
    graph = efge.as_graph(edges) if weighted else efge.as_graph([edge[:2] for edge in edges])
    walks = efge.Walks(graph, efge.Node2VecWalk(p, q), walks_per_node=1, walk_length=3, seed=1)
    starts, count = np.full(30_000, 1, np.int32), 30_000
    walked, lengths = np.empty((count, 3), np.int32), np.empty(count, np.int32)
    walks._stepper.walk(starts, np.uint64(5), 0, walked, lengths)
    ends = walked[walked[:, 1] == 0, 2]
    weights = np.array([heavy / p, heavy, (leaves - 2) / q])
    observed = [(ends == 1).sum(), (ends == 2).sum(), (ends > 2).sum()]
    for count, probability in zip(observed, weights / weights.max() / (weights / weights.max()).sum(), strict=True):
        assert binom(len(ends), probability).cdf(count) > 1e-6
        assert binom(len(ends), probability).sf(count - 1) > 1e-6
    if q <= 1:
        # Most walks end at the other leaves, which are equally likely.
        others = ends[ends > 2]
        assert len(others) > 10_000
        assert np.ptp(np.bincount(others, minlength=leaves + 1)[3:]) < 40


# Models ---------------------------------------------------------------------------------------------------------------

QUICK = {"dim": 4, "walks_per_node": 3, "seed": 0, "threads": 1}
MODELS = {
    **{family: efge.EFGE(family, **QUICK) for family in FAMILIES if family != "bernoulli-poisson"},
    "reference": efge.EFGE(**QUICK, trainer="reference"),
    "extreme p and q": efge.EFGE(**QUICK, p=1e300, q=1e-300),
    "deepwalk": efge.DeepWalk(**QUICK),
    "node2vec": efge.Node2Vec(**QUICK, p=1e-300, q=1e300),
    "line": efge.LINE(dim=4, samples=300, seed=0, threads=1),
    "hope": efge.HOPE(dim=4, seed=0),
    "netmf": efge.NetMF(dim=4, form="small", seed=0),
    "netmf, large": efge.NetMF(dim=4, form="large", seed=0),
    "prone": efge.ProNE(dim=4, seed=0, threads=1),
    "bigclam": efge.BigClam(2, n_init=1, seed=0, threads=1),
}
# Combinations that are errors, with their messages.
ERRORS = {
    ("hope", "denormal"): "so small that the default beta overflows; scale the weights up",
    ("netmf", "apart"): "36 orders of magnitude apart: use the logarithms of the weights",
}


@pytest.mark.parametrize("graph", SMALL)
@pytest.mark.parametrize("model", MODELS)
def test_every_model_gives_finite_vectors_or_states_why_not(model, graph):
    message = ERRORS.get((model.split(",")[0], graph.split(",")[0]))
    if message is not None:
        with pytest.raises(efge.GraphError, match=message):
            MODELS[model].fit(SMALL[graph])
        return
    assert_finite(MODELS[model].fit(SMALL[graph]).embedding_, SMALL[graph])


def test_bernoulli_poisson_gives_finite_vectors():
    for graph in ("span", "out-star"):
        assert_finite(efge.EFGE("bernoulli-poisson", **QUICK).fit(SMALL[graph]).embedding_, SMALL[graph])


@pytest.mark.parametrize("name", ["normal", "line", "hope"])
def test_scaling_all_weights_does_not_change_the_vectors(name):
    edges = [(u, v, float(1 + (3 * u + v) % 7)) for u, v in nx.gnp_random_graph(20, 0.3, seed=1).edges]
    expected = MODELS[name].fit(edges).embedding_.vectors.copy()
    for exponent in (-1000, 1000):
        scaled = [(u, v, np.ldexp(weight, exponent)) for u, v, weight in edges]
        np.testing.assert_allclose(MODELS[name].fit(scaled).embedding_.vectors, expected, rtol=1e-5, atol=1e-6)


def test_isolated_nodes_keep_their_initial_vectors():
    linked = efge.as_graph([("a", "b"), ("b", "c")], nodes=["x", "y", "a", "b", "c"])
    elsewhere = efge.as_graph([("a", "c")], nodes=["x", "y", "a", "b", "c"])
    one, other = (efge.EFGE.paper(**QUICK).fit(graph).embedding_ for graph in (linked, elsewhere))
    assert one[["x", "y"]] == other[["x", "y"]]
    assert (one["a"] != other["a"]).any()
    assert (np.abs(other[["x", "y", "b"]].vectors) <= 0.5 / 4).all()


@pytest.mark.parametrize("graph", [[], efge.as_graph([], nodes=["a"]), nx.empty_graph(3, nx.DiGraph)], ids=str)
@pytest.mark.parametrize("model", MODELS)
def test_no_model_learns_from_a_graph_without_edges(model, graph):
    with pytest.raises(efge.GraphError, match="there is nothing to learn from a graph without edges; got Graph"):
        MODELS[model].fit(graph)


@pytest.mark.parametrize("family", ["bernoulli", "poisson", "normal"])
def test_a_learning_rate_that_is_too_large_is_a_warning(family):
    graph = nx.barabasi_albert_graph(100, 3, seed=0)
    with pytest.warns(
        efge.QualityWarning, match="less likely after training than before.*lower learning_rate .it is 50."
    ):
        model = efge.EFGE.paper(family, **QUICK, learning_rate=50.0).fit(graph)
    assert_finite(model.embedding_, graph)
    assert model.history_["log_likelihood"][-1] < model.history_["log_likelihood"][0]


def test_the_command_line_shows_the_warning_in_one_line(write):
    path = write("graph.txt", "".join(f"{u} {v}\n" for u, v in nx.barabasi_albert_graph(100, 3, seed=0).edges))
    options = ["--dim", "4", "--walks-per-node", "3", "--seed", "0", "--learning-rate", "50", "--model", "bernoulli"]
    done = run_in_subprocess("embed", str(path), "-o", str(path.with_suffix(".npz")), *options)
    # On a new machine, a line says that kernels are compiled.
    first, second = (line for line in done.stderr.splitlines() if "compiling" not in line)
    assert done.returncode == 0
    assert first.startswith("efge: EFGE(")
    assert "held-out pairs are less likely after training than before" in first
    assert second.startswith("efge: wrote Embedding(100 nodes, 4 dimensions)")


# Links ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SMALL)
def test_heuristics_and_splits_are_finite_or_state_why_not(name):
    graph = efge.as_graph(SMALL[name])
    pairs = list(product(graph.names.tolist(), repeat=2))
    for heuristic in heuristics.HEURISTICS:
        if (heuristic, name) == ("katz", "denormal"):
            with pytest.raises(efge.GraphError, match="so small that the default beta overflows"):
                efge.link_scores(graph, pairs, heuristic)
            continue
        scores = efge.link_scores(graph, pairs, heuristic)
        assert np.isfinite(scores).all()
        assert (scores >= 0).all()
    if graph.n_edges == graph.n_self_loops:
        with pytest.raises(efge.EvaluationError, match="no links to predict"):
            split_links(graph, 0.3)
        return
    split = split_links(graph, 0.3)
    assert split.graph.n_components == graph.n_components
    assert len(split.train_edges) + len(split.test_edges) == graph.n_edges - graph.n_self_loops


def test_a_diverging_katz_series_is_an_error():
    # Compared with the heaviest edge, the cycle is so light that it does not seem to limit beta.
    graph = efge.as_graph([(0, 1, 1e-200), (1, 0, 1e-200), (2, 3, 1e300)], directed=True)
    with pytest.raises(efge.GraphError, match="beta times the largest weight overflows; lower beta"):
        heuristics.katz(graph, np.array([0]), np.array([1]), beta=1e201)
    with pytest.raises(efge.GraphError, match="Katz' series became infinite; lower beta"):
        list(katz_terms(efge.as_graph([(0, 1)]).to_scipy() * 2.0, np.array([1.0, 0.0])))


def test_eigenvalues_that_are_too_close_are_an_error_and_do_not_hang(monkeypatch):
    path = efge.as_graph(nx.path_graph(5000))
    assert spectra.largest_singular_value(path.to_scipy(), tol=1e-7) == pytest.approx(2.0, abs=1e-5)
    assert efge.link_scores(path, [(0, 1)], "katz") == pytest.approx(4 * (2 - 3**0.5) ** 2, rel=1e-5)
    monkeypatch.setattr(spectra, "_MAX_RESTARTS", 5)
    with pytest.raises(efge.GraphError, match="too close to each other to be computed, as in long paths"):
        efge.HOPE(dim=4, seed=0).fit(path)


# Millions of nodes ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def star():
    return efge.as_graph(np.column_stack([np.zeros(MANY, np.int64), np.arange(1, MANY + 1)]))


@pytest.mark.parametrize(
    "strategy", ["uniform", efge.Node2VecWalk(1e-300, 1e300), efge.Node2VecWalk(1e3, 0.1)], ids=str
)
def test_walks_on_a_star_of_a_million_alternate(star, strategy):
    returned = count = 0
    for batch in efge.Walks(star, strategy, walks_per_node=1, walk_length=4, seed=0).batches():
        walks = batch.nodes.reshape(-1, 4)
        hubs = walks == 0
        assert (hubs[:, :-1] ^ hubs[:, 1:]).all()
        leaves = walks[~hubs[:, 0]]
        count, returned = count + len(leaves), returned + int((leaves[:, 0] == leaves[:, 2]).sum())
    assert count == MANY
    # Returns to the same leaf are certain for tiny p, and rare otherwise.
    assert returned == MANY if strategy == efge.Node2VecWalk(1e-300, 1e300) else returned < 20


def test_a_star_of_a_million_is_trained_and_scored(star):
    model = efge.EFGE("bernoulli", dim=2, walks_per_node=1, walk_length=3, window=1, seed=0).fit(star)
    assert_finite(model.embedding_, star)
    leaves, contexts = model.center_embedding_.vectors[1:], model.context_embedding_.vectors
    # A leaf co-occurs with the hub only: it has larger products with the hub than with another leaf.
    assert (leaves @ contexts[0]).mean() > 1 > (leaves * contexts[:0:-1]).sum(axis=1).mean()
    # For the hub, a leaf is a context once for five times that it is a negative.
    assert model.center_embedding_.vectors[0] @ contexts[1:].mean(axis=0) == pytest.approx(np.log(1 / 5), abs=0.1)
    assert efge.link_scores(star, [(1, 2)], "resource-allocation").tolist() == [1 / MANY]
    assert efge.link_scores(star, [(0, 2)], "preferential-attachment").tolist() == [MANY]
    with pytest.raises(efge.GraphError, match="NetMF forms a dense matrix"):
        efge.NetMF(dim=2).fit(star)


def test_a_million_isolated_nodes_are_trained():
    graph = efge.as_graph([(7, 3)], nodes=range(MANY))
    assert (graph.n_isolated, graph.n_components) == (MANY - 2, MANY - 1)
    model = efge.EFGE(dim=2, walks_per_node=1, walk_length=2, window=1, seed=0).fit(graph)
    assert_finite(model.embedding_, graph)
    assert (np.abs(model.embedding_.vectors) <= 0.25).mean() > 0.99999
    neighbors = {name for name, _ in model.embedding_.neighbors(7, k=3)}
    assert len(neighbors - {7}) == 3
    assert_finite(efge.NetMF(dim=2, seed=0).fit(graph).embedding_, graph)


def test_a_long_path_is_read_walked_and_trained(write):
    n = 100_000
    graph = efge.read_graph(write("path.txt", "".join(f"{i} {i + 1}\n" for i in range(n))))
    assert (graph.n_edges, graph.n_components, graph.degrees.max()) == (n, 1, 2)
    for batch in efge.Walks(graph, efge.Node2VecWalk(1e300, 1.0), walks_per_node=1, walk_length=50, seed=0).batches():
        steps = np.diff(batch.nodes.reshape(-1, 50).astype(np.int64))
        # A walk turns around only at the two ends of the path.
        assert (np.abs(steps) == 1).all()
        assert ((steps[:, 1:] != steps[:, :-1]).sum(axis=1) <= 1).all()
    assert_finite(efge.EFGE(dim=2, walks_per_node=1, walk_length=5, window=2, seed=0).fit(graph).embedding_, graph)
