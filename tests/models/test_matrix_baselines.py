"""HOPE and NetMF: beside dense matrices that are formed by their definitions, and decomposed whole."""

from __future__ import annotations

import inspect
import math
import pickle
import warnings

import networkx as nx
import numpy as np
import pytest
from scipy.sparse.linalg import eigsh
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import Normalizer

import efge
from efge import parallel as threads
from efge.models import netmf
from efge.models.hope import HOPE
from efge.models.netmf import NetMF
from helpers import random_graph, with_scikit_learn_checks

BOTH = [HOPE, NetMF]


def katz_matrix(graph, beta):
    matrix = graph.to_scipy().toarray()
    return np.linalg.inv(np.eye(len(matrix)) - beta * matrix) - np.eye(len(matrix))


def netmf_matrix(graph, window, negatives):
    """The definition, step by step; rows of nodes without edges are zero."""
    matrix = graph.to_scipy().toarray()
    if graph.directed:
        matrix = matrix + matrix.T
    degrees = matrix.sum(1)
    inverse = np.divide(1, degrees, out=np.zeros_like(degrees), where=degrees > 0)
    transition = inverse[:, None] * matrix
    powers = sum(np.linalg.matrix_power(transition, r) for r in range(1, window + 1))
    return np.log(np.maximum(1, degrees.sum() / (negatives * window) * powers * inverse))


@with_scikit_learn_checks(HOPE(dim=4, seed=0), NetMF(dim=4, seed=0))
def test_scikit_learn_is_content(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.mark.parametrize("size", [40, 700])
@pytest.mark.parametrize("weighted", [False, True])
def test_hope_factors_katz_index_of_an_undirected_graph(size, weighted):
    graph = random_graph(1, False, weighted, n=size, m=3 * size)
    model = HOPE(dim=16, seed=0).fit(graph)
    index = katz_matrix(graph, model.beta_)
    left, values, _ = np.linalg.svd(index)
    np.testing.assert_allclose(model.singular_values_, values[:16], rtol=1e-6)
    vectors = model.embedding_.vectors
    # Vectors are known but for their signs, products with themselves are known.
    best = left[:, :16] * values[:16] @ left[:, :16].T
    np.testing.assert_allclose(vectors @ vectors.T, best, atol=1e-5)
    assert model.beta_ == pytest.approx(0.5 / np.linalg.eigvalsh(graph.to_scipy().toarray()).max())


@pytest.mark.parametrize("size", [40, 700])
@pytest.mark.parametrize("weighted", [False, True])
def test_hope_factors_katz_index_of_a_directed_graph(size, weighted):
    graph = random_graph(2, True, weighted, n=size, m=3 * size)
    model = HOPE(dim=32, seed=0).fit(graph)
    left, values, right = np.linalg.svd(katz_matrix(graph, model.beta_))
    np.testing.assert_allclose(model.singular_values_, values[:16], rtol=1e-6)
    sources, targets = np.split(model.embedding_.vectors, 2, axis=1)
    np.testing.assert_allclose(sources @ targets.T, left[:, :16] * values[:16] @ right[:16], atol=1e-5)
    np.testing.assert_allclose((sources**2).sum(0), values[:16], rtol=1e-4)
    np.testing.assert_allclose((targets**2).sum(0), values[:16], rtol=1e-4)


def test_hope_of_all_dimensions_is_katz_index_itself():
    graph = random_graph(3, True, True, n=30, m=80)
    beta = 0.9 / np.abs(np.linalg.eigvals(graph.to_scipy().toarray())).max()
    model = HOPE(dim=60, beta=beta, seed=0).fit(graph)
    sources, targets = np.split(model.embedding_.vectors.astype(float), 2, axis=1)
    known = katz_matrix(graph, beta)
    np.testing.assert_allclose(sources @ targets.T, known, atol=1e-6 * known.max())
    assert model.beta_ == beta


def test_hope_takes_negative_eigenvalues_where_they_are_larger():
    """A star's adjacency matrix has one positive and one negative eigenvalue, equally large."""
    model = HOPE(dim=3, seed=0).fit(nx.star_graph(4))
    np.testing.assert_allclose(model.singular_values_, [1, 1 / 3, 0], atol=1e-12)


def test_hope_takes_negative_eigenvalues_of_a_large_graph_too():
    """Pairs of nodes have one eigenvalue of either sign; those of 20 strong pairs count for more than all weak ones."""
    weights = np.concatenate([10 + np.arange(20) / 10, 0.1 + 3 * np.arange(330) / 330])
    graph = efge.as_graph([(f"a{i}", f"b{i}", weight) for i, weight in enumerate(weights)])
    x = 0.5 * weights / weights.max()
    known = np.sort(np.concatenate([x / (1 - x), x / (1 + x)]))[::-1]
    np.testing.assert_allclose(HOPE(dim=40, seed=0).fit(graph).singular_values_, known[:40], rtol=1e-6)


@pytest.mark.parametrize("size", [40, 1200])
@pytest.mark.parametrize(("directed", "weighted"), [(False, False), (False, True), (True, True)])
def test_netmf_factors_its_definition(size, directed, weighted):
    graph = random_graph(4, directed, weighted, n=size, m=2 * size)
    model = NetMF(dim=16, window=4, negatives=1.5, form="small", seed=0).fit(graph)
    values, vectors = np.linalg.eigh(netmf_matrix(graph, 4, 1.5))
    order = np.argsort(-np.abs(values))[:16]
    np.testing.assert_allclose(model.singular_values_, np.abs(values[order]), rtol=1e-3)
    if size == 40:
        best = vectors[:, order] * np.abs(values[order]) @ vectors[:, order].T
        np.testing.assert_allclose(model.embedding_.vectors @ model.embedding_.vectors.T, best, atol=1e-4)


def test_netmf_by_all_eigenvalues_is_exact():
    graph = random_graph(5, False, True, n=50, m=120)
    exact, whole = (NetMF(dim=50, window=5, form=form, rank=50, seed=0).fit(graph) for form in ("small", "large"))
    np.testing.assert_allclose(whole.singular_values_, exact.singular_values_, atol=1e-4)
    products = [model.embedding_.vectors @ model.embedding_.vectors.T for model in (exact, whole)]
    np.testing.assert_allclose(products[0], products[1], atol=1e-3)


def test_netmf_by_some_eigenvalues_is_its_definition():
    """With `rank` eigenvalues besides the one of each component: 20 and 3, of which two are pairs of nodes."""
    pairs = [(f"a{i}", f"b{i}") for i in range(2)]
    graph = efge.as_graph([*nx.connected_watts_strogatz_graph(700, 6, 0.2, seed=6).edges, *pairs])
    model = NetMF(dim=8, window=10, form="large", rank=20, seed=0).fit(graph)
    matrix = graph.to_scipy().toarray()
    root = 1 / np.sqrt(matrix.sum(1))
    values, vectors = np.linalg.eigh(root[:, None] * matrix * root)
    powers = sum(values[-23:] ** r for r in range(1, 11)) / 10
    near = matrix.sum() * (root[:, None] * vectors[:, -23:] * powers) @ (root[:, None] * vectors[:, -23:]).T
    known = np.linalg.svd(np.log(np.maximum(1, near)), compute_uv=False)
    np.testing.assert_allclose(model.singular_values_, known[:8], rtol=1e-3)


def test_netmf_is_exact_where_that_is_quick(monkeypatch):
    graph = random_graph(7, False, False)
    assert NetMF(dim=4, seed=0).fit(graph).form_ == "small"
    monkeypatch.setattr(netmf, "_MOST_WORK", 1.0)
    assert NetMF(dim=4, seed=0).fit(graph).form_ == "large"


def test_small_blocks_change_nothing(monkeypatch):
    graph = random_graph(8, False, True)
    for form in ("small", "large"):
        whole = NetMF(dim=4, form=form, seed=0).fit_transform(graph)
        with monkeypatch.context() as patch:
            patch.setattr(netmf, "_BLOCK", 100)
            np.testing.assert_allclose(NetMF(dim=4, form=form, seed=0).fit_transform(graph), whole, atol=1e-5)


def test_a_matrix_that_does_not_fit_is_refused_before_it_is_made(monkeypatch):
    """A ring of a million nodes would need 4 TB."""
    n = 1_000_000
    ring = np.column_stack([np.arange(n), (np.arange(n) + 1) % n])
    with pytest.raises(
        efge.GraphError, match=r"1,000,000 nodes with edges need 40\d\d\.\d GB, and .* GB are available"
    ):
        NetMF().fit(efge.as_graph(ring))
    monkeypatch.setattr(netmf, "available_memory", lambda: 10**6)
    with pytest.raises(efge.GraphError, match=r"and 0\.0 GB are available; EFGE and HOPE need memory for edges"):
        NetMF().fit([("a", "b")])
    monkeypatch.setattr(netmf, "available_memory", lambda: None)
    assert NetMF(dim=2).fit([("a", "b")]).embedding_.dim == 2


def test_available_memory_is_known_without_meminfo(monkeypatch):
    known = threads.available_memory()
    assert known is None or known > 0
    monkeypatch.setattr(threads.Path, "read_text", lambda path: "")
    other = threads.available_memory()
    assert other is None or other > 0
    monkeypatch.delattr(threads.os, "sysconf", raising=False)
    assert threads.available_memory() is None


@pytest.mark.parametrize("method", BOTH)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("size", [40, 1200])
def test_the_same_seed_gives_the_same_bytes(method, directed, size):
    graph = random_graph(9, directed, True, n=size, m=3 * size)
    first = method(dim=8, seed=3).fit(graph)
    assert method(dim=8, seed=3).fit(graph).embedding_ == first.embedding_
    another = method(dim=8).fit(graph)
    assert method(dim=8, seed=another.seed_).fit(graph).embedding_ == another.embedding_
    np.testing.assert_allclose(another.singular_values_, first.singular_values_, rtol=1e-3)


@pytest.mark.parametrize("method", BOTH)
def test_iteration_that_breaks_down_is_reproduced_too(method):
    """Pairs of nodes: the adjacency matrix has two eigenvalues only, and iteration finds both in two steps."""
    if method is HOPE and "rng" not in inspect.signature(eigsh).parameters:
        pytest.xfail("this SciPy starts again by random numbers of its own, which nobody can seed; HOPE says so")
    graph = efge.as_graph([(2 * i, 2 * i + 1) for i in range(600)])
    first = method(dim=8, seed=3).fit(graph)
    assert method(dim=8, seed=3).fit(graph).embedding_ == first.embedding_
    np.testing.assert_allclose(first.singular_values_, first.singular_values_[0], rtol=1e-5)


@pytest.mark.parametrize("method", BOTH)
@pytest.mark.parametrize("directed", [False, True])
def test_graphs_with_next_to_nothing_in_them(method, directed):
    nothing = method(dim=4, seed=0).fit(efge.as_graph([], directed=directed))
    assert nothing.embedding_.vectors.shape == (0, 4)
    for nodes in (["a"], ["a", "b", "c"]):
        alone = method(dim=4, seed=0).fit(efge.as_graph([], nodes=nodes, directed=directed)).embedding_
        assert alone.names.tolist() == nodes
        assert not alone.vectors.any()
    loop = method(dim=4, seed=0).fit(efge.as_graph([("a", "a")], directed=directed)).embedding_
    assert np.isfinite(loop.vectors).all()


@pytest.mark.parametrize("method", BOTH)
def test_nodes_without_edges_and_further_dimensions_are_zero(method):
    graph = efge.as_graph([("a", "b"), ("b", "c"), ("c", "a")], nodes=["apart", "a"])
    model = method(dim=10, seed=0).fit(graph)
    assert not model.embedding_["apart"].any()
    assert model.embedding_["a"].any()
    assert not model.embedding_.vectors[:, 3:].any()
    assert model.singular_values_.shape == (10,)
    assert not model.singular_values_[3:].any()


@pytest.mark.parametrize("method", BOTH)
def test_only_ratios_of_weights_matter(method):
    graph = random_graph(10, False, True)
    vectors = method(dim=6, seed=0).fit_transform(graph)
    for scale in (1e-150, 7.0, 1e300):
        scaled = efge.Graph(graph.indptr, graph.indices, graph.weights * scale, graph.names)
        np.testing.assert_allclose(method(dim=6, seed=0).fit_transform(scaled), vectors, atol=1e-4)
    plain = efge.Graph(graph.indptr, graph.indices, None, graph.names)
    assert not np.allclose(method(dim=6, seed=0).fit_transform(plain), vectors, atol=1e-2)


@pytest.mark.parametrize("method", BOTH)
def test_estimators_follow_the_conventions(method):
    club = nx.relabel_nodes(nx.karate_club_graph(), lambda node: f"person {node}")
    model = method(dim=8, seed=1).fit(club)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert not hasattr(twin, "embedding_")
    assert twin.fit(club).embedding_ == model.embedding_
    assert model.embedding_.names.tolist() == list(club)
    np.testing.assert_array_equal(model.transform(club), model.embedding_.vectors)
    assert model.transform([("person 3", "person 1")]).tolist() == model.embedding_.vectors[[3, 1]].tolist()
    assert pickle.loads(pickle.dumps(model)).embedding_ == model.embedding_
    assert model.get_feature_names_out()[0] == f"{method.__name__.lower()}0"


@pytest.mark.parametrize("method", BOTH)
def test_progress_is_told_at_the_beginning_and_the_end(method):
    told = []
    method(dim=2, seed=0).fit([("a", "b")], progress=told.append)
    assert [(step.pairs, step.total) for step in told] == [(0, 1), (1, 1)]
    assert all(math.isnan(step.log_likelihood) for step in told)


@pytest.mark.parametrize("method", BOTH)
def test_a_failed_fit_leaves_no_trace(method):
    def interrupt(progress):
        raise KeyboardInterrupt

    model = method(dim=2, seed=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit([("a", "b")], progress=interrupt)
    assert not [name for name in vars(model) if name.endswith("_")]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (HOPE(dim=0), "dim is a whole number from 1 on; got 0"),
        (HOPE(beta=0.8), r"beta is positive and below 1 / spectral radius, which is 0\.707107 here; got 0\.8"),
        (HOPE(beta=0.0), "beta is positive"),
        (NetMF(dim=2.5), "dim is a whole number"),
        (NetMF(window=0), "window is a whole number"),
        (NetMF(rank=0), "rank is a whole number"),
        (NetMF(negatives=0), "negatives is a positive number; got 0"),
        (NetMF(negatives=math.nan), "negatives is a positive number; got nan"),
        (NetMF(form="medium"), "no form 'medium'; known: auto, small, large"),
    ],
    ids=repr,
)
def test_what_cannot_be_is_refused_when_fitting(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit([("a", "b"), ("b", "c")])


def test_hope_halves_an_even_number_of_dimensions():
    with pytest.raises(ValueError, match=r"dim is even for a directed graph, half for sources .* got 5"):
        HOPE(dim=5).fit(efge.as_graph([("a", "b")], directed=True))
    assert HOPE(dim=5, seed=0).fit([("a", "b")]).embedding_.dim == 5


@pytest.mark.parametrize(
    ("network", "model", "least"),
    [("cora", NetMF(seed=0), 0.82), ("citeseer", NetMF(seed=0), 0.58), ("cora", HOPE(seed=0), 0.75)],
    ids=["cora-netmf", "citeseer-netmf", "cora-hope"],
)
def test_scores_on_citations_are_the_published_ones(networks, network, model, least):
    """Those of HOPE are higher: its vectors are scaled here, so that the classifier sees them."""
    folder = networks / network
    if not folder.is_dir():
        pytest.skip(f"there is no {folder}")
    graph = efge.read_graph(folder / "edges.tsv", nodes=folder / "nodes.txt")
    given = np.loadtxt(folder / "labels.tsv", int)
    labels = np.zeros(graph.n_nodes, int)
    labels[graph.rows(given[:, 0].tolist())] = given[:, 1]
    vectors = model.fit_transform(graph)
    if isinstance(model, HOPE):
        vectors = 5 * Normalizer().fit_transform(vectors)
    order = np.random.default_rng(0).permutation(len(labels))
    half = len(order) // 2
    classifier = LogisticRegression(max_iter=1000).fit(vectors[order[:half]], labels[order[:half]])
    assert classifier.score(vectors[order[half:]], labels[order[half:]]) > least
