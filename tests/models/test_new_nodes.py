"""Vectors of nodes that come after a fit, by every estimator and every method."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import efge
from efge.models.new_nodes import fold_in_centers
from efge.training import fold_in

QUICK = {"dim": 8, "walks_per_node": 10, "seed": 1, "threads": 1}
# Two groups of twelve, with one edge between them; the last node of each group comes later.
GROUPS = nx.disjoint_union(nx.complete_graph(12), nx.complete_graph(12))
GROUPS.add_edge(0, 12)
LATE = [11, 23]
OLD = GROUPS.subgraph([node for node in GROUPS if node not in LATE])
MODELS = {
    "EFGE": efge.EFGE(**QUICK),
    "not filtered": efge.EFGE(propagate=None, **QUICK),
    "normal": efge.EFGE("normal", propagate=None, **QUICK),
    "memberships": efge.EFGE("bernoulli-poisson", **QUICK),
    "Node2Vec": efge.Node2Vec(**QUICK),
    "DeepWalk": efge.DeepWalk(**QUICK),
    "LINE": efge.LINE(dim=8, samples=5000, seed=1, threads=1),
    "HOPE": efge.HOPE(dim=8, seed=1),
    "NetMF": efge.NetMF(dim=4, window=3, seed=1),
    "ProNE": efge.ProNE(dim=8, seed=1, threads=1),
}
CASES = [
    (name, method)
    for name, methods in {
        "EFGE": ("auto", "both", "fold-in", "average"),
        "not filtered": ("both", "fold-in", "average"),
        "normal": ("both",),
        "memberships": ("both", "fold-in"),
        "Node2Vec": ("both", "average"),
        "DeepWalk": ("auto", "average"),
        "LINE": ("average",),
        "HOPE": ("auto", "projection"),
        "NetMF": ("projection",),
        "ProNE": ("average",),
    }.items()
    for method in methods
]


@pytest.fixture(scope="module")
def fitted():
    """Every estimator, fitted to the old nodes when it is first used."""
    models = {}

    def get(name):
        if name not in models:
            models[name] = MODELS[name].fit(efge.as_graph(OLD))
        return models[name]

    return get


def embed(model, graph, method="auto"):
    graph = efge.as_graph(graph)
    return efge.Embedding(model.transform(graph, method), graph.names)


@pytest.mark.parametrize(("name", "method"), CASES)
def test_a_new_node_is_nearest_to_its_group_and_old_vectors_keep_their_bytes(fitted, name, method):
    model = fitted(name)
    before = model.embedding_.vectors.copy()
    embedding = embed(model, GROUPS, method)
    assert embedding[list(OLD)] == model.embedding_[list(OLD)]
    np.testing.assert_array_equal(model.embedding_.vectors, before)
    for late in LATE:
        group = {node // 12 for node, _ in embedding.neighbors(late, k=8)}
        assert group == {late // 12}, embedding.neighbors(late)


def test_the_default_is_the_first_method(fitted):
    model = fitted("EFGE")
    np.testing.assert_array_equal(model.transform(GROUPS), model.transform(GROUPS, "both"))
    assert (model.transform(GROUPS) != model.transform(GROUPS, "average")).any()


@pytest.mark.parametrize("filter_name", ["band-pass", "prone"])
def test_vectors_of_new_nodes_have_the_lengths_that_the_filter_gives(filter_name):
    """One filter keeps lengths, the other one makes all of them equal."""
    model = efge.EFGE(propagate=filter_name, **QUICK).fit(efge.as_graph(OLD))
    old = np.linalg.norm(model.embedding_.vectors, axis=1)
    new = np.linalg.norm(embed(model, GROUPS)[LATE].vectors, axis=1)
    assert (old.max() - old.min() < 1e-4) == (filter_name == "prone")
    assert (new > old.min() - 1e-4).all()
    assert (new < old.max() + 1e-4).all()


def test_the_default_is_half_what_the_filter_gives_and_half_the_mean_of_neighbors(fitted):
    model = fitted("EFGE")
    alone = nx.Graph(OLD)
    alone.add_edges_from([("new", 0), ("new", 1), ("new", 12)])
    graph = efge.as_graph(alone)
    rows = model.embedding_._index.rows(graph.names)
    (own,) = fold_in_centers(model, graph, rows).astype(float)
    smooth = (own + model.center_embedding_[[0, 1, 12]].vectors.sum(axis=0)) / 4 @ model.filter_map_
    mean = embed(model, alone, "average")["new"].astype(float)
    direction = smooth / np.linalg.norm(smooth) + mean / np.linalg.norm(mean)
    expected = direction / np.linalg.norm(direction) * np.linalg.norm(mean)
    np.testing.assert_allclose(embed(model, alone)["new"], expected, atol=1e-5)
    folded = embed(model, alone, "fold-in")["new"].astype(float)
    cosine = folded @ (own @ model.filter_map_) / np.linalg.norm(folded) / np.linalg.norm(own @ model.filter_map_)
    assert cosine == pytest.approx(1, abs=1e-6)


def test_filtered_models_of_earlier_versions_have_means_only(fitted):
    model = efge.EFGE(**QUICK).fit(efge.as_graph(OLD))
    del model.filter_map_
    with pytest.raises(efge.EmbeddingError, match="without filter_map_; fit it again, or use the method 'average'"):
        model.transform(GROUPS)
    assert model.transform(GROUPS, "average").shape == (24, 8)


@pytest.mark.parametrize("method", ["both", "fold-in", "average"])
@pytest.mark.parametrize("directed", [False, True])
def test_threads_change_no_byte_of_thousands_of_new_nodes(method, directed):
    random = np.random.default_rng(0)
    old = efge.as_graph(random.integers(50, size=(200, 2)).tolist(), directed=directed)
    model = efge.EFGE(**QUICK | {"walks_per_node": 2}).fit(old)
    edges = np.column_stack([50 + random.permutation(2000), random.integers(700, size=2000)]).tolist()
    grown = efge.as_graph(edges, directed=directed)
    one, three = (model.set_params(threads=threads).transform(grown, method) for threads in (1, 3))
    np.testing.assert_array_equal(one, three)
    assert np.isfinite(one).all()


@pytest.mark.parametrize("name", ["EFGE", "Node2Vec", "DeepWalk", "HOPE", "ProNE"])
def test_nodes_linked_only_through_new_ones_get_vectors_and_nodes_without_a_path_get_zeros(fitted, name):
    grown = nx.Graph(GROUPS)
    grown.add_edges_from([(11, "friend"), ("friend", "friend of a friend"), ("far", "away")])
    grown.add_node("alone")
    embedding = embed(fitted(name), grown)
    assert embedding["friend"].any()
    assert embedding["friend of a friend"].any()
    assert not embedding[["far", "away", "alone"]].vectors.any()


@pytest.mark.parametrize("method", ["both", "fold-in", "average"])
def test_nodes_that_had_no_edges_in_the_fit_do_not_blur_vectors_of_new_ones(method):
    """Their vectors are random; without any path to others, they are all there is to go by."""
    model = efge.EFGE(**QUICK).fit(efge.as_graph(list(OLD.edges), nodes=[*OLD, "alone", "remote"]))
    edges, blurring = [*OLD.edges, ("new", 0), ("new", 1)], [("new", "alone"), ("far", "remote")]
    clear, embedding = embed(model, edges, method), embed(model, [*edges, *blurring], method)
    bound = 0.9999 if method == "average" else 0.95
    assert cosine(embedding["new"], clear["new"]) > bound
    assert cosine(embedding["far"], model.embedding_["remote"]) > 0.9999


def cosine(first, second):
    return first @ second / np.linalg.norm(first) / np.linalg.norm(second)


@pytest.mark.parametrize("name", ["EFGE", "Node2Vec", "DeepWalk", "HOPE"])
def test_new_nodes_of_a_graph_without_edges_get_zeros(fitted, name):
    model = fitted(name)
    old = model.embedding_.names.tolist()[0]
    vectors = model.transform(efge.as_graph([], nodes=[old, "alone" if isinstance(old, str) else 10**9]))
    np.testing.assert_array_equal(vectors[0], model.embedding_[old])
    assert not vectors[1].any()


def test_self_loops_of_new_nodes_change_nothing_in_means(fitted):
    looped = nx.Graph(GROUPS)
    looped.add_edge(11, 11)
    model = fitted("EFGE")
    np.testing.assert_array_equal(model.transform(looped, "average"), model.transform(GROUPS, "average"))
    assert embed(model, looped, "fold-in").neighbors(11, k=1)[0][0] < 12


def test_fold_in_follows_weights(fitted):
    """With almost all of its weight in one group, a node that is linked to both belongs to that group."""
    edges = [("new", node, 100.0 if node > 12 else 0.01) for node in OLD]
    model = fitted("not filtered")
    assert model.walk == "node2vec"
    assert embed(model, edges, "fold-in").neighbors("new", k=1)[0][0] >= 12


def test_fold_in_walks_against_directions_too():
    """A node with incoming edges only has contexts before it."""
    ring = [(i, j) for group in (range(8), range(8, 16)) for i in group for j in group if i != j]
    model = efge.EFGE(propagate=None, **QUICK).fit(efge.as_graph(ring, directed=True))
    grown = efge.as_graph([(i, "new") for i in range(8)], directed=True)
    vectors = embed(model, grown, "fold-in")
    # A node that no walk sees would keep the average, with which fold-in begins.
    assert np.linalg.norm(vectors["new"] - embed(model, grown, "average")["new"]) > 0.01
    full = efge.Embedding(np.vstack([model.embedding_.vectors, [vectors["new"]]]), [*range(16), "new"])
    assert all(node < 8 for node, _ in full.neighbors("new", k=4))


def test_fold_in_raises_the_likelihood_of_edges_to_the_node(fitted):
    """What fold-in maximizes: scores of contexts rise above those of other nodes."""
    model = fitted("not filtered")
    new = embed(model, GROUPS, "fold-in")[11]
    scores = model.context_embedding_.vectors @ new
    own = np.array([node < 12 for node in model.embedding_.names])
    assert scores[own].min() > scores[~own].max()


def test_transform_of_a_loaded_model_is_the_same(fitted, tmp_path):
    for name in ("EFGE", "HOPE", "NetMF", "DeepWalk"):
        fitted(name).save(tmp_path / "model.npz")
        again = efge.NodeEmbedder.load(tmp_path / "model.npz")
        np.testing.assert_array_equal(again.transform(GROUPS), fitted(name).transform(GROUPS))


def test_projections_are_the_rows_of_a_whole_factorization():
    """A node that copies another one's edges gets its vector, if the matrix is not truncated."""
    twin = nx.Graph(OLD)
    twin.add_edges_from(("twin", node) for node in OLD[3])
    model = efge.HOPE(dim=22, seed=0).fit(OLD)
    vectors = embed(model, twin)
    # The twins differ by the walks that go through the twin itself, which the projection leaves out.
    assert vectors.neighbors("twin", k=1)[0][0] in OLD[3] or vectors.neighbors("twin", k=1)[0][0] == 3
    np.testing.assert_allclose(vectors["twin"], vectors[3], atol=1e-6)


def test_directed_projection_of_a_twin_equals_its_original():
    cites = nx.gnp_random_graph(20, 0.2, seed=3, directed=True)
    twin = nx.DiGraph(cites)
    twin.add_edges_from([("twin", v) for v in cites.successors(4)] + [(u, "twin") for u in cites.predecessors(4)])
    model = efge.HOPE(dim=40, seed=0).fit(cites)
    vectors = embed(model, twin)
    np.testing.assert_allclose(vectors["twin"], vectors[4], atol=1e-5)


def test_netmf_projects_rows_of_its_matrix():
    """If a node of the same graph counts as new, its vector lacks only what the matrix has on the diagonal."""
    model, graph = efge.NetMF(dim=22, window=3, seed=0).fit(OLD), efge.as_graph(OLD)
    rows = np.where(np.arange(22) == 5, -1, np.arange(22))
    own = model.embedding_.vectors[5]
    diagonal = own @ (np.sign(model.eigenvalues_) * own)
    assert diagonal > 0
    np.testing.assert_allclose(model._project(graph, rows)[0], own - diagonal * own / model.eigenvalues_, atol=1e-4)


def test_netmf_asks_for_the_whole_graph_if_it_gets_new_edges_alone(fitted):
    with pytest.warns(UserWarning, match="needs the whole graph for new nodes; 20 of the 22 nodes.*give all edges"):
        fitted("NetMF").transform([("new", 0), (0, 1)])


@pytest.mark.parametrize("name", ["EFGE", "Node2Vec"])
def test_self_loops_do_not_count(fitted, name):
    edges = [("new", 0, 1.0), ("new", 1, 1.0), (0, 1, 1.0)]
    plain, looped = (fitted(name).transform(graph) for graph in (edges, [*edges, ("new", "new", 1e6), (0, 0, 1e6)]))
    np.testing.assert_array_equal(plain, looped)
    assert fitted(name).transform([(0, 0), ("new", "new")]).any(axis=1).tolist() == [True, False]


@pytest.mark.parametrize(
    ("name", "graph", "options", "message"),
    [
        ("EFGE", [("0", "new")], {}, "names must have the type that they have in the fitted EFGE, integers such as 0"),
        ("EFGE", [(100, 101)], {}, "new nodes get vectors by edges to nodes of the fitted EFGE; none of the graph's 2"),
        (
            "Node2Vec",
            [(0, 99)],
            {"directed": True},
            "the fitted Node2Vec is of a graph that is undirected; this graph is dir",
        ),
        ("HOPE", [(0, 99)], {"directed": True}, "the fitted HOPE is of a graph that is undirected"),
    ],
)
def test_graphs_that_do_not_fit_the_model_are_refused(fitted, name, graph, options, message):
    with pytest.raises(efge.GraphError, match=message):
        fitted(name).transform(efge.as_graph(graph, **options))


@pytest.mark.parametrize(
    ("name", "method", "message"),
    [
        ("EFGE", "projection", "no method 'projection' for new nodes of EFGE; it has both, fold-in, average"),
        ("DeepWalk", "fold-in", "no method 'fold-in' for new nodes of DeepWalk; it has average"),
        ("HOPE", "average", "no method 'average' for new nodes of HOPE; it has projection"),
    ],
)
def test_methods_that_an_estimator_lacks_are_refused(fitted, name, method, message):
    with pytest.raises(ValueError, match=message):
        fitted(name).transform(GROUPS, method)


def test_bigclam_refuses_new_nodes():
    model = efge.BigClam(n_communities=2, n_init=1, max_iter=3, seed=0, threads=1).fit(OLD)
    assert model.transform(OLD).shape == (22, 2)
    with pytest.raises(ValueError, match="BigClam has no method for new nodes"):
        model.transform(GROUPS)


def test_models_fitted_to_a_corpus_have_means_only():
    walks = [["a", "b", "c", "a"]] * 50
    model = efge.EFGE(dim=4, walk=efge.CorpusWalk(walks), seed=0).fit([("a", "b"), ("b", "c"), ("c", "a")])
    assert model.transform([("a", "new")]).shape == (2, 4)
    with pytest.raises(ValueError, match="no method 'fold-in' for new nodes of EFGE; it has average"):
        model.transform([("a", "new")], "fold-in")


def test_projections_of_models_of_earlier_versions_are_refused():
    for model in (efge.HOPE(dim=4, seed=0), efge.NetMF(dim=4, seed=0)):
        model.fit(OLD)
        del model.eigenvalues_
        with pytest.raises(efge.EmbeddingError, match="was saved by an earlier version, without eigenvalues_"):
            model.transform(GROUPS)


def test_fold_in_that_diverges_says_what_to_lower(fitted, monkeypatch):
    monkeypatch.setattr(fold_in.kernel, "fold_in", lambda *arguments: False)
    with pytest.raises(efge.TrainingError, match="vectors of new nodes became NaN or infinite; lower learning_rate"):
        fitted("EFGE").transform(GROUPS)
