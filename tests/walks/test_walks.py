"""Walks have exact transition probabilities, equal their slow twin, and are the same at any number of threads."""

from __future__ import annotations

import gzip
import hashlib
import subprocess
import sys
from collections import Counter, defaultdict
from itertools import islice, pairwise

import networkx as nx
import numpy as np
import pytest
from scipy.stats import chi2, poisson

import efge
import reference
from efge.kernels.random import random_permutation
from efge.random import stream_key
from efge.walks.strategies import _transition_tables, as_strategy


def small_graph(*, directed=False, weighted=False):
    """Return a graph with hubs, a triangle, a self-loop and, if directed, an edge in both directions; no dead end."""
    edges = [(0, 1, 1.0), (0, 2, 3.0), (1, 2, 0.5), (2, 3, 2.0), (3, 4, 1.0), (4, 0, 4.0), (2, 2, 1.5), (1, 3, 0.25)]
    if directed:
        edges += [(1, 0, 2.0), (3, 2, 0.75), (4, 2, 1.0)]
    return efge.as_graph(edges if weighted else [edge[:2] for edge in edges], directed=directed)


KINDS = [
    pytest.param({"directed": directed, "weighted": weighted}, id=f"{'di' * directed}graph{'-weighted' * weighted}")
    for directed in (False, True)
    for weighted in (False, True)
]
STRATEGIES = [
    efge.UniformWalk(),
    efge.WeightedWalk(),
    efge.Node2VecWalk(0.25, 1.0),
    efge.Node2VecWalk(0.5, 2.0),
    efge.Node2VecWalk(3.0, 0.5),
    efge.Node2VecWalk(4.0, 4.0),
    efge.Node2VecWalk(1.0, 0.2),
]


def reference_settings(strategy):
    """Return the arguments of a strategy for `reference.transition_probabilities`."""
    if isinstance(strategy, efge.Node2VecWalk):
        return {"p": strategy.p, "q": strategy.q, "weighted": True}
    return {"weighted": isinstance(strategy, efge.WeightedWalk)}


def as_lists(walks, epoch=0):
    return [walk.tolist() for batch in walks.batches(epoch) for walk in batch]


def count_transitions(walks):
    """Count how often a walk that came from `before` to `node` went on to each target."""
    counts = defaultdict(Counter)
    for walk in walks:
        for before, node, target in zip(walk, walk[1:], walk[2:], strict=False):
            counts[before, node][target] += 1
    return counts


def p_value(graph, counts, **factors):
    """Return the p-value of a chi-square test of all observed transitions against the exact probabilities."""
    statistic, freedom = 0.0, 0
    for (before, node), observed in counts.items():
        expected = reference.transition_probabilities(graph, before, node, **factors)
        assert set(observed) <= set(expected), "a step that follows no edge"
        total = sum(observed.values())
        if total * min(expected.values()) < 5:
            continue
        statistic += sum((observed[x] - total * prob) ** 2 / (total * prob) for x, prob in expected.items())
        freedom += len(expected) - 1
    assert freedom > 10
    return chi2.sf(statistic, freedom)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
def test_transitions_have_their_exact_probabilities(kind, strategy):
    graph = small_graph(**kind)
    walks = efge.Walks(graph, strategy, walks_per_node=4000, walk_length=10, seed=11)
    assert p_value(graph, count_transitions(as_lists(walks)), **reference_settings(strategy)) > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_the_chi_square_test_detects_a_wrong_p_or_q(kind):
    graph = small_graph(**kind)
    counts = count_transitions(as_lists(efge.Walks(graph, efge.Node2VecWalk(0.5, 2.0), walks_per_node=4000, seed=11)))
    for p, q in ((2.0, 0.5), (0.5, 0.5), (2.0, 2.0), (0.55, 2.0), (0.5, 1.8), (1.0, 1.0)):
        assert p_value(graph, counts, p=p, q=q) < 1e-6


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("strategy", [efge.WeightedWalk(), efge.Node2VecWalk(0.5, 2.0)], ids=str)
def test_the_chi_square_test_detects_missing_weights(directed, strategy):
    graph = small_graph(directed=directed, weighted=True)
    unweighted = efge.as_graph(graph, weighted=False)
    factors = reference_settings(strategy) | {"weighted": True}
    counts = count_transitions(as_lists(efge.Walks(graph, strategy, walks_per_node=4000, seed=11)))
    assert p_value(unweighted, counts, **factors) < 1e-6


EXTREME = [(1e-4, 1.0), (1e4, 1e4), (1e4, 1e-4), (1e-4, 1e4), (1.0, 1e4), (1.0, 1e-3)]
# In a star and a clique nearly every proposal is rejected, so that the exact distribution has to be summed.
EXTREME_GRAPHS = {
    "star": efge.as_graph(nx.star_graph(5)),
    "clique": efge.as_graph(nx.complete_graph(4)),
    "weighted": small_graph(weighted=True),
}


def p_values_with_rare_steps(graph, walks, p, q):
    """Return two p-values: of a chi-square test of common steps, and of a Poisson test of the number of rare ones."""
    statistic, freedom, rare, expected_rare = 0.0, 0, 0, 0.0
    for (before, node), observed in count_transitions(walks).items():
        expected = reference.transition_probabilities(graph, before, node, p=p, q=q)
        assert set(observed) <= set(expected), "a step that follows no edge"
        total = sum(observed.values())
        for target, prob in expected.items():
            if total * prob > 5 and total * (1 - prob) > 5:
                statistic += (observed[target] - total * prob) ** 2 / (total * prob * (1 - prob))
                freedom += 1
            elif prob < 0.5:
                rare += observed[target]
                expected_rare += total * prob
    tails = poisson.cdf(rare, expected_rare), poisson.sf(rare - 1, expected_rare)
    return [chi2.sf(statistic, freedom) if freedom else 1.0, 2 * min(tails) if expected_rare else 1.0]


def extreme_p_values(walks, p, q):
    return [value for name in walks for value in p_values_with_rare_steps(EXTREME_GRAPHS[name], walks[name], p, q)]


@pytest.mark.parametrize(("p", "q"), EXTREME)
def test_extreme_p_and_q_are_exact_too(p, q):
    walks = {
        name: as_lists(efge.Walks(graph, efge.Node2VecWalk(p, q), walks_per_node=1500, walk_length=12, seed=5))
        for name, graph in EXTREME_GRAPHS.items()
    }
    assert min(extreme_p_values(walks, p, q)) > 1e-4
    assert min(extreme_p_values(walks, p / 10, q)) < 1e-6, "the tests do not detect a wrong p"
    # In two cases, the steps that depend on q are too rare for so few walks to detect a wrong q.
    if (p, q) not in ((1e4, 1e-4), (1e-4, 1e4)):
        assert min(extreme_p_values(walks, p, q / 10)) < 1e-6, "the tests do not detect a wrong q"


@pytest.mark.parametrize("strategy", ["uniform", "weighted"])
def test_long_walks_end_in_the_stationary_distribution(strategy):
    graph = small_graph(weighted=True)
    ends = Counter(
        walk[-1] for walk in as_lists(efge.Walks(graph, strategy, walks_per_node=8000, walk_length=60, seed=3))
    )
    mass = np.array([sum(reference.edge_weights(graph, node)) for node in range(graph.n_nodes)])
    if strategy == "uniform":
        mass = graph.degrees
    expected = mass / mass.sum() * ends.total()
    observed = np.array([ends[node] for node in range(graph.n_nodes)])
    assert chi2.sf(((observed - expected) ** 2 / expected).sum(), graph.n_nodes - 1) > 1e-3
    wrong = graph.degrees if strategy == "weighted" else graph.to_scipy().sum(axis=1)
    wrong = wrong / wrong.sum() * ends.total()
    assert chi2.sf(((observed - wrong) ** 2 / wrong).sum(), graph.n_nodes - 1) < 1e-6


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strategy", [*STRATEGIES, efge.Node2VecWalk(1e3, 1e3)], ids=str)
def test_walks_equal_those_of_the_slow_twin(kind, strategy):
    graph = efge.as_graph(small_graph(**kind), nodes=["alone"])
    walks = efge.Walks(graph, strategy, walks_per_node=8, walk_length=9, seed=2)
    key, factors = int(stream_key(2, 0, "walks")), reference_settings(strategy)
    for number, walk in enumerate(as_lists(walks)):
        if isinstance(strategy, efge.Node2VecWalk):
            twin = reference.second_order_walk(graph, walk[0], key, number, 9, strategy.p, strategy.q)
        else:
            weighted = factors["weighted"] and graph.is_weighted
            twin = reference.first_order_walk(graph, walk[0], key, number, 9, weighted)
        assert walk == twin


@pytest.mark.parametrize("length", [2, 3, 200])
def test_walks_of_any_length_equal_those_of_the_slow_twin(length):
    graph = efge.as_graph(nx.gnp_random_graph(80, 0.03, seed=4, directed=True))
    walks = efge.Walks(graph, efge.Node2VecWalk(0.5, 2.0), walks_per_node=3, walk_length=length, seed=0)
    key = int(stream_key(0, 0, "walks"))
    for number, walk in enumerate(as_lists(walks)):
        assert walk == reference.second_order_walk(graph, walk[0], key, number, length, 0.5, 2.0)


def test_random_permutation_equals_its_twin():
    for n in (0, 1, 2, 7, 1000):
        order = np.empty(n, np.int32)
        random_permutation(np.uint64(9), order)
        assert order.tolist() == reference.random_permutation(9, n)
        assert sorted(order.tolist()) == list(range(n))


def test_weights_near_the_largest_float_do_not_overflow():
    edges = [(0, 1, 1e308), (0, 2, 1.5e308), (1, 2, 1.2e308), (0, 3, 0.5e308), (3, 1, 1e308)]
    for directed in (False, True):
        huge = efge.as_graph(edges, directed=directed)
        small = efge.as_graph([(u, v, weight * 2.0**-1000) for u, v, weight in edges], directed=directed)
        for strategy in STRATEGIES:
            assert as_lists(efge.Walks(huge, strategy, seed=1)) == as_lists(efge.Walks(small, strategy, seed=1))


def test_all_permutations_are_equally_likely():
    orders = Counter()
    order = np.empty(3, np.int32)
    for key in range(6000):
        random_permutation(np.uint64(key), order)
        orders[tuple(order.tolist())] += 1
    assert len(orders) == 6
    assert chi2.sf(sum((count - 1000) ** 2 / 1000 for count in orders.values()), 5) > 1e-3


@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e305])
def test_alias_tables_hold_the_weights(scale):
    rng = np.random.default_rng(1)
    weights = rng.exponential(size=40) ** 3 * scale
    graph = efge.Graph([0, *[40] * 40], range(40), weights, directed=True)
    tables = _transition_tables(graph, weighted=True)
    prob, alias = tables.prob[:40].astype(float) / 2**32, tables.alias[:40]
    mass = prob.copy()
    np.add.at(mass, alias, 1 - prob)
    np.testing.assert_allclose(mass / 40, weights / scale / (weights / scale).sum(), atol=1e-9)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
def test_walks_are_the_same_at_any_number_of_threads(strategy):
    graph = efge.as_graph(nx.gnp_random_graph(300, 0.02, seed=1))
    one, *others = (
        list(efge.Walks(graph, strategy, walks_per_node=7, walk_length=50, seed=8, threads=threads).batches())
        for threads in (1, 2, 3, 16)
    )
    for other in others:
        assert [batch.nodes.tobytes() for batch in other] == [batch.nodes.tobytes() for batch in one]
        assert [batch.offsets.tobytes() for batch in other] == [batch.offsets.tobytes() for batch in one]


def test_walks_do_not_depend_on_the_size_of_batches(monkeypatch):
    graph = efge.as_graph(nx.gnp_random_graph(300, 0.02, seed=1))
    walks = efge.Walks(graph, efge.Node2VecWalk(0.5, 2), walks_per_node=3, walk_length=20, seed=8)
    expected = as_lists(walks)
    monkeypatch.setattr("efge.walks.walks._MIN_BATCH", 1000)
    monkeypatch.setattr("efge.walks.walks._BATCH_PER_NODE", 0)
    assert len(list(walks.batches())) == 18
    assert as_lists(walks) == expected


DIGESTS = {
    "uniform": "21575078756d002b",
    "weighted": "7d19475789916610",
    "node2vec": "840fbced529aad8d",
}


@pytest.mark.parametrize("name", ["uniform", "weighted", "node2vec"])
def test_walks_are_the_same_on_every_machine(name):
    strategy = efge.Node2VecWalk(0.5, 2.0) if name == "node2vec" else name
    walks = efge.Walks(nx.karate_club_graph(), strategy, walks_per_node=20, walk_length=10, seed=123)
    assert hashlib.sha256(str(as_lists(walks)).encode()).hexdigest()[:16] == DIGESTS[name]


def test_other_seeds_and_epochs_give_other_walks():
    graph = nx.karate_club_graph()
    first = efge.Walks(graph, seed=1)
    assert as_lists(first) == as_lists(first)
    assert as_lists(first) == as_lists(efge.Walks(graph, seed=1))
    assert as_lists(first) != as_lists(first, epoch=1)
    assert as_lists(first) != as_lists(efge.Walks(graph, seed=2))
    assert efge.Walks(graph).seed != efge.Walks(graph).seed


def test_each_pass_starts_at_every_node_once_in_its_own_order():
    walks = as_lists(efge.Walks(nx.karate_club_graph(), walks_per_node=5, walk_length=2, seed=0))
    passes = [tuple(walk[0] for walk in walks[begin : begin + 34]) for begin in range(0, 170, 34)]
    assert all(sorted(order) == list(range(34)) for order in passes)
    assert len(set(passes)) == 5


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
def test_a_walk_stops_at_a_dead_end_and_an_isolated_node_is_alone(strategy):
    graph = efge.as_graph([("a", "b", 2.0), ("b", "c", 1.0)], directed=True, nodes=["alone"])
    walks = list(efge.Walks(graph, strategy, walks_per_node=3, walk_length=10, seed=0))
    assert sorted(walks) == sorted([["alone"], ["a", "b", "c"], ["b", "c"], ["c"]] * 3)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
def test_tiny_graphs_have_the_expected_walks(strategy):
    assert as_lists(efge.Walks([(0, 0)], strategy, walks_per_node=1, walk_length=4, seed=0)) == [[0, 0, 0, 0]]
    assert as_lists(efge.Walks([("a", "b")], strategy, walks_per_node=1, walk_length=2, seed=0)) in (
        [[0, 1], [1, 0]],
        [[1, 0], [0, 1]],
    )


@pytest.mark.parametrize("graph", [[], efge.as_graph([], nodes=["a", "b"])], ids=str)
def test_walks_need_an_edge_unless_they_are_given(graph):
    with pytest.raises(efge.GraphError, match=r"a graph without edges; got Graph\([02] nodes, 0 edges"):
        efge.Walks(graph)
    assert list(efge.Walks(efge.as_graph([], nodes=["a"]), efge.CorpusWalk([["a"]]))) == [["a"]]


def test_a_walk_has_two_nodes_or_more():
    with pytest.raises(ValueError, match="walk_length must be at least 2, because a walk of one node goes nowhere"):
        efge.Walks([("a", "b")], walk_length=1)


def test_batches_have_a_bounded_size():
    # Far too many walks to hold in memory, or even to count one by one.
    walks = efge.Walks(nx.karate_club_graph(), walks_per_node=10**12, walk_length=40, seed=0)
    for batch in islice(walks.batches(), 3):
        assert batch.nodes.nbytes + batch.offsets.nbytes < 10 * 2**20
    assert len(walks) == 34 * 10**12


def test_invalid_settings_are_refused():
    graph = [(0, 1)]
    with pytest.raises(ValueError, match="no walk strategy 'fast'; known: uniform, weighted, node2vec"):
        efge.Walks(graph, "fast")
    for name, value in (("walk_length", 0), ("walks_per_node", -1), ("threads", 0), ("walk_length", 1.5)):
        with pytest.raises(ValueError, match=f"{name} must be a positive integer; got {value}"):
            efge.Walks(graph, **{name: value})
    for p, q in ((0, 1), (1, -1), (float("nan"), 1), (1, float("inf"))):
        with pytest.raises(ValueError, match="is positive and finite"):
            as_lists(efge.Walks(graph, efge.Node2VecWalk(p, q)))


def test_strategies_are_immutable_comparable_and_found_by_name():
    assert as_strategy("node2vec") == efge.Node2VecWalk() == efge.Node2VecWalk(1.0, 1.0)
    assert len({efge.UniformWalk(), efge.UniformWalk(), efge.WeightedWalk()}) == 2
    with pytest.raises(AttributeError):
        efge.Node2VecWalk().p = 2


@pytest.mark.filterwarnings("ignore:.* are different nodes|.* may be a missing value")
@pytest.mark.parametrize("suffix", [".txt", ".txt.gz", ".txt.bz2", ".txt.xz", ".txt.zst"])
def test_a_saved_corpus_is_read_back_unchanged(tmp_path, suffix):
    names = [
        "a b",
        "Ünï\u2003cødé",
        "(0, 1)",
        "#tag",
        "%",
        '"quoted"',
        "x",
        "\u05d0\u05d1",
        "🦊",
        "",
        "\u200b",
        r"\u0020",
        "\0",
    ]
    edges = [*pairwise(names), ((0, 1, "t"), 7), (7, "x")]
    graph = efge.as_graph(edges, nodes=["alone"])
    walks = efge.Walks(graph, walks_per_node=30, walk_length=5, seed=0)
    walks.save(tmp_path / f"walks{suffix}")
    corpus = efge.Walks(graph, efge.CorpusWalk(tmp_path / f"walks{suffix}"))
    assert as_lists(corpus) == as_lists(walks)
    assert list(corpus) == list(walks)
    assert len(corpus) == len(walks)


def test_a_corpus_is_text_that_other_tools_read(tmp_path):
    walks = efge.Walks([("a", "b"), ("b", "c")], walks_per_node=4, walk_length=6, seed=0)
    walks.save(tmp_path / "walks.txt.gz")
    with gzip.open(tmp_path / "walks.txt.gz", "rt") as lines:
        assert [line.split() for line in lines] == list(walks)


def test_a_corpus_written_by_another_tool_is_read(tmp_path):
    graph = efge.as_graph([(10, 11), (11, 12)])
    (tmp_path / "walks.txt").write_bytes(b"10 11  12\t11\r\n\n12\n11 10")
    assert list(efge.Walks(graph, efge.CorpusWalk(tmp_path / "walks.txt"))) == [[10, 11, 12, 11], [12], [11, 10]]


def test_a_corpus_larger_than_a_chunk_is_read_in_batches(tmp_path):
    graph = efge.as_graph(nx.gnp_random_graph(2000, 0.01, seed=0))
    walks = efge.Walks(graph, walks_per_node=80, seed=0)
    walks.save(tmp_path / "walks.txt")
    corpus = list(efge.Walks(graph, efge.CorpusWalk(tmp_path / "walks.txt")).batches())
    assert len(corpus) > 2
    assert [walk.tolist() for batch in corpus for walk in batch] == as_lists(walks)


def test_an_unknown_node_in_a_corpus_is_reported_with_its_line(tmp_path):
    (tmp_path / "walks.txt").write_text("a b\nb a b\na zed\n")
    corpus = efge.Walks([("a", "b")], efge.CorpusWalk(tmp_path / "walks.txt"))
    with pytest.raises(
        efge.GraphError, match=r"walks.txt, line 3: every node of a walk is in the graph; there is no node 'zed'"
    ):
        list(corpus)
    with pytest.raises(efge.GraphError, match=r"nowhere\.txt: no such file"):
        list(efge.Walks([("a", "b")], efge.CorpusWalk(tmp_path / "nowhere.txt")))


@pytest.mark.filterwarnings("ignore:.* are different nodes|.* may be a missing value")
def test_different_nodes_with_the_same_written_name_cannot_be_saved(tmp_path):
    with pytest.raises(efge.GraphError, match="cannot be told apart"):
        efge.Walks([(1, "1")], seed=0).save(tmp_path / "walks.txt")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_save_leaves_the_old_file_unchanged(tmp_path, monkeypatch):
    path = tmp_path / "walks.txt"
    path.write_text("old content")
    walks = efge.Walks(nx.karate_club_graph(), walks_per_node=10, seed=0)
    monkeypatch.setattr("efge.walks.walks._MIN_BATCH", 500)
    monkeypatch.setattr("efge.walks.walks._BATCH_PER_NODE", 0)

    def interrupt_third_call(count, calls=[]):  # noqa: B006
        calls.append(count)
        if len(calls) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        walks.save(path, progress=interrupt_third_call)
    assert path.read_text() == "old content"
    assert [entry.name for entry in tmp_path.iterdir()] == ["walks.txt"]


COMPILE_COUNT = """
import numba.core.event as event, sys
seen = []
class Listener(event.Listener):
    def on_start(self, e): seen.append(e)
    def on_end(self, e): pass
event.register("numba:compile", Listener())
import efge
for strategy in ("uniform", efge.Node2VecWalk(0.5, 2)):
    list(efge.Walks([("a", "b", 2.0)], strategy, walks_per_node=1, seed=0).batches())
print(len(seen))
"""


def test_a_second_process_compiles_nothing(tmp_path):
    counts = [
        int(
            subprocess.run(
                [sys.executable, "-c", COMPILE_COUNT],
                env={"NUMBA_CACHE_DIR": str(tmp_path), "PATH": ""},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        for _ in range(2)
    ]
    assert counts[0] > 0
    assert counts[1] == 0
