"""DeepWalk, Node2Vec and LINE, against independent answers."""

from __future__ import annotations

import hashlib
import heapq
import math
import warnings
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

import efge
from efge.models.line import DrawnEdges
from efge.training.huffman import huffman
from helpers import with_scikit_learn_checks


def cost_of_the_best_tree(weights):
    """The turns of all visits in a Huffman tree, by a heap."""
    heap, cost = sorted(weights), 0
    while len(heap) > 1:
        joined = heapq.heappop(heap) + heapq.heappop(heap)
        cost += joined
        heapq.heappush(heap, joined)
    return cost


@pytest.mark.parametrize("visits", [[5], [1, 1], [3, 1, 2], [1] * 17, [2**i for i in range(20)], [7, 0, 7, 0, 1, 1]])
def test_no_tree_has_shorter_paths(visits):
    tree = huffman(np.array(visits, np.int64))
    lengths = np.diff(tree.starts)
    used = np.array(visits) > 0
    assert (lengths * visits).sum() == cost_of_the_best_tree([visit for visit in visits if visit])
    assert not lengths[~used].any()
    assert sum(2.0 ** -int(length) for length in lengths[used]) == 1.0
    assert tree.longest == lengths.max()


def test_a_random_tree_is_the_best_one_and_its_paths_differ():
    visits = np.random.default_rng(0).integers(0, 1000, 500)
    tree = huffman(visits)
    assert (np.diff(tree.starts) * visits).sum() == cost_of_the_best_tree(visits[visits > 0].tolist())
    paths = [tuple(tree.paths[a:b]) for a, b in zip(tree.starts[:-1], tree.starts[1:], strict=True)]
    assert len({path for path in paths if path}) == (visits > 0).sum()
    # All paths begin at the same place, which all visits pass.
    assert len({path[0] >> 1 for path in paths if path}) == 1
    assert tree.passes(visits).max() == visits.sum()


def test_a_graph_without_visits_has_an_empty_tree():
    assert huffman(np.zeros(3, np.int64)).starts.tolist() == [0, 0, 0, 0]
    assert huffman(np.zeros(0, np.int64)).starts.tolist() == [0]


MODELS = {
    "deepwalk": efge.DeepWalk(dim=12, walks_per_node=4, seed=3),
    "node2vec": efge.Node2Vec(dim=12, walks_per_node=4, seed=3, p=0.5, q=2.0),
    "line": efge.LINE(dim=12, samples=40_000, seed=3),
    "line, first": efge.LINE(dim=12, samples=40_000, order="first", seed=3),
}


def digest(model):
    return hashlib.sha256(np.ascontiguousarray(model.embedding_.vectors).tobytes()).hexdigest()


@with_scikit_learn_checks(
    efge.DeepWalk(dim=4, walks_per_node=2, seed=0),
    efge.Node2Vec(dim=4, walks_per_node=2, seed=0),
    efge.LINE(dim=4, samples=200, seed=0),
)
def test_scikit_learn_is_content(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_the_same_bits_at_any_number_of_threads(model):
    graph = nx.barabasi_albert_graph(2000, 3, seed=1)
    made = {digest(clone(model).set_params(threads=threads).fit(graph)) for threads in (1, 2, 3, 8)}
    assert len(made) == 1


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize(
    "graph",
    [[], [("a", "a")], [("a", "b")], nx.empty_graph(3), nx.star_graph(30), nx.path_graph(4, create_using=nx.DiGraph)],
    ids=["nothing", "a loop", "an edge", "no edges", "star", "directed path"],
)
def test_any_graph_has_finite_vectors(model, graph):
    fitted = clone(model).fit(efge.as_graph(graph) if graph == [] else graph)
    vectors = fitted.embedding_.vectors
    assert vectors.shape == (efge.as_graph(graph).n_nodes, 12)
    assert np.isfinite(vectors).all()


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_likelihood_rises_and_progress_reaches_its_total(model):
    seen = []
    fitted = clone(model).fit(nx.karate_club_graph(), progress=seen.append)
    histories = fitted.history_.values() if isinstance(fitted, efge.LINE) else [fitted.history_]
    for history in histories:
        assert history["log_likelihood"][-1] > history["log_likelihood"][0]
    assert seen[0].pairs == 0
    assert seen[-1].pairs == seen[-1].total
    assert [now.pairs for now in seen] == sorted(now.pairs for now in seen)


def test_softmax_learns_the_frequencies_of_contexts():
    """From the middle of a weighted star, contexts at distance 1 are as frequent as their edges are heavy."""
    walks = [["hub", leaf] for leaf, times in {"a": 600, "b": 300, "c": 90, "d": 10}.items() for _ in range(times)]
    order = np.random.default_rng(0).permutation(len(walks))
    graph = efge.as_graph([("hub", leaf) for leaf in "abcd"])
    source = efge.Walks(graph, efge.CorpusWalk([walks[i] for i in order]), seed=0)
    history = efge.DeepWalk(dim=8, window=1, epochs=20, learning_rate=0.2).fit(source).history_["log_likelihood"]
    shares = {"a": 0.6, "b": 0.3, "c": 0.09, "d": 0.01}
    held = [math.log(shares[graph.names[walk[1]]]) for walk in source.held_apart(1000)]
    # Half of all pairs are leaves with the hub for their context, which is certain.
    assert history[-1] == pytest.approx(np.mean(held) / 2, abs=0.05)


def test_deepwalk_has_no_context_vectors_of_nodes():
    assert not hasattr(efge.DeepWalk(dim=4, seed=0).fit([("a", "b")]), "context_embedding_")


def test_node2vec_is_efge_with_the_bernoulli_family():
    club = nx.karate_club_graph()
    chosen = {"dim": 8, "p": 0.5, "q": 2.0, "walks_per_node": 3, "seed": 1}
    np.testing.assert_array_equal(
        efge.Node2Vec(**chosen).fit(club).embedding_, efge.EFGE("bernoulli", **chosen).fit(club).embedding_
    )


def cosines(model):
    vectors = model.embedding_.vectors / np.linalg.norm(model.embedding_.vectors, axis=1, keepdims=True)
    return vectors @ vectors.T


def test_first_order_is_about_neighbors_and_second_order_about_their_neighbors():
    """In a circle of four groups, each joined with the next, opposite groups have the same neighbors."""
    groups = [range(10 * i, 10 * i + 10) for i in range(4)]
    graph = [(u, v) for i in range(4) for u in groups[i] for v in groups[(i + 1) % 4]]
    own, opposite = np.ix_(groups[0], groups[0]), np.ix_(groups[0], groups[2])
    next_one = np.ix_(groups[0], groups[1])
    second = cosines(efge.LINE(dim=8, order="second", seed=0).fit(efge.as_graph(graph, nodes=range(40))))
    assert second[opposite].mean() > second[next_one].mean() + 0.5
    assert second[own].mean() > second[next_one].mean() + 0.5
    cliques = nx.disjoint_union(nx.complete_graph(10), nx.complete_graph(10))
    cliques.add_edge(0, 10)
    first = cosines(efge.LINE(dim=8, order="first", seed=0).fit(cliques))
    assert first[:10, :10].mean() > first[:10, 10:].mean() + 0.5


def test_second_order_of_a_directed_graph_goes_by_where_edges_lead():
    """Nodes 0 to 9 point to 20, nodes 10 to 19 to 21; edges to 0 to 19 come from everywhere alike."""
    edges = [(i, 20 + i // 10) for i in range(20)] + [(a, i) for a in (20, 21) for i in range(20)]
    graph = efge.as_graph(nx.DiGraph(edges), nodes=range(22))
    vectors = cosines(efge.LINE(dim=8, order="second", seed=0).fit(graph))
    assert vectors[:10, :10].mean() > vectors[:10, 10:20].mean() + 0.5


def test_edges_are_drawn_by_their_weights():
    edges = {("a", "b"): 1.0, ("b", "c"): 5.0, ("c", "d"): 0.5, ("d", "a"): 3.5, ("d", "d"): 2.0}
    graph = efge.as_graph([(u, v, weight) for (u, v), weight in edges.items()], directed=True)
    drawn = DrawnEdges(graph, samples=400_000, threads=1, seed=0)
    stars = [[graph.names[v] for v in star] for some in drawn.rounds() for star in some]
    assert sum(len(star) - 1 for star in stars) == 400_000
    # Nodes by the weights of all their edges, then, of a node's edges, each by its own.
    from_d = {v: weight for (u, v), weight in edges.items() if u == "d"}
    of_nodes = {u: sum(weight for (a, _), weight in edges.items() if a == u) for u in "abcd"}
    for weights, found in (
        (of_nodes, Counter(star[0] for star in stars)),
        (from_d, Counter(v for star in stars if star[0] == "d" for v in star[1:])),
    ):
        expected = np.array(list(weights.values())) / sum(weights.values()) * sum(found.values())
        assert stats.chisquare([found[name] for name in weights], expected).pvalue > 1e-3
    assert {(star[0], v) for star in stars for v in star[1:]} == set(edges)


def test_first_order_sees_a_directed_edge_from_both_sides():
    drawn = DrawnEdges(efge.as_graph(nx.DiGraph([(0, 1)])), samples=100, threads=1, seed=0)
    pairs = {
        order: {(star[0], v) for some in drawn.of_order(order).rounds() for star in some for v in star[1:]}
        for order in ("first", "second")
    }
    assert pairs == {"first": {(0, 1), (1, 0)}, "second": {(0, 1)}}
    weighted = DrawnEdges(efge.as_graph([(0, 1, 1.0), (1, 2, 3.0)], directed=True), samples=8000, threads=1, seed=0)
    centers = Counter(int(star[0]) for some in weighted.of_order("first").rounds() for star in some)
    assert [centers[node] / 1000 for node in range(3)] == pytest.approx([1 / 8, 4 / 8, 3 / 8], abs=0.06)


def test_samples_grow_with_the_graph():
    small, large = (DrawnEdges(efge.as_graph(nx.complete_graph(n)), None, 1, 0) for n in (10, 100))
    assert small.samples == 10_000
    assert large.samples == 100 * 100 * 99


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"order": "third"}, "no order 'third'; known: first, second, both"),
        ({"dim": 7}, "dim is even where each order has one half of it; got 7"),
        ({"samples": 0}, "samples is a whole number from 1 on; got 0"),
        ({"negatives": 1.5}, "negatives is a whole number from 1 on; got 1.5"),
        ({"learning_rate": -1}, "learning_rate are positive"),
        ({"threads": 0}, "threads is a whole number from 1 on; got 0"),
    ],
)
def test_line_refuses_what_it_cannot_do(changes, message):
    with pytest.raises(ValueError, match=message):
        efge.LINE(**changes).fit([(0, 1)])


def accuracy(vectors, labels):
    """Mean over some splits into halves."""
    scores = []
    for seed in range(5):
        train, test = np.array_split(np.random.default_rng(seed).permutation(len(labels)), 2)
        classifier = OneVsRestClassifier(LogisticRegression(solver="liblinear")).fit(vectors[train], labels[train])
        scores.append(classifier.score(vectors[test], labels[test]))
    return float(np.mean(scores))


@pytest.mark.parametrize(
    ("model", "options"),
    [(efge.DeepWalk(), {"hs": 1, "negative": 0}), (efge.Node2Vec(), {"hs": 0, "negative": 5})],
    ids=["deepwalk", "node2vec"],
)
def test_scores_are_those_of_gensim_on_the_same_walks(networks, model, options):
    gensim = pytest.importorskip("gensim.models")
    graph = efge.read_graph(networks / "cora" / "edges.tsv", nodes=networks / "cora" / "nodes.txt")
    given = np.loadtxt(networks / "cora" / "labels.tsv", int)
    labels = np.zeros(graph.n_nodes, int)
    labels[graph.rows(given[:, 0].tolist())] = given[:, 1]
    walks = efge.Walks(graph, "uniform", walks_per_node=20, walk_length=10, seed=0)
    peer = gensim.Word2Vec(
        [list(map(str, walk)) for walk in walks], vector_size=128, window=10, min_count=0, sample=0, sg=1, epochs=1,
        min_alpha=0.0001, workers=2, shrink_windows=False, seed=0, **options,
    )  # fmt: skip
    ours = accuracy(clone(model).fit(walks).embedding_.vectors, labels)
    theirs = accuracy(np.array([peer.wv[str(name)] for name in graph.names.tolist()]), labels)
    # One training each: the standard deviation of the difference is 0.005.
    assert ours == pytest.approx(theirs, abs=0.015)


def test_line_of_first_order_puts_neighbors_near_and_of_second_order_those_who_share_them():
    # Along a cycle, nodes two steps apart share a neighbor, and nodes one step apart share none.
    one, two = (np.roll(np.eye(40), steps, axis=1) > 0 for steps in (1, 2))
    for order, nearer, farther in (("first", one, two), ("second", two, one)):
        vectors = efge.LINE(dim=16, order=order, samples=400_000, seed=0).fit_transform(nx.cycle_graph(40))
        products = vectors @ vectors.T
        assert products[nearer].mean() > products[farther].mean() + 0.5
