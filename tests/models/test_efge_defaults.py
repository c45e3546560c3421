"""The defaults of EFGE: walks until convergence, a start that suits the graph, and a filter at the end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import efge
from efge.families.builtin import as_family
from efge.training.checkpoints import Checkpoints, TrainingInterrupt
from efge.training.noise import contexts_per_group
from efge.training.tables import initial_tables, starts_from_factors
from helpers import planted_communities, prepare_training

SPARSE = efge.as_graph(nx.barabasi_albert_graph(300, 2, seed=0))
FITTED = ("embedding_", "center_embedding_", "context_embedding_")


def blocks_with_hubs(nodes, degree, seed=0, groups=3, ratio=2.5):
    """Return a dense graph, and the blocks of its nodes.

    Nodes of a block are linked `ratio` times as often as others, and the k-th largest degree falls as the square root
    of k: linked nodes are hubs first of all, and of the same block only then.
    """
    random = np.random.default_rng(seed)
    blocks = np.arange(nodes) % groups
    weights = random.permutation(np.arange(1.0, nodes + 1) ** -0.5)
    rates = np.outer(weights, weights) * np.where(blocks[:, None] == blocks, ratio, 1.0)
    # Pairs of hubs would have more than one edge, so that the mean degree is somewhat smaller.
    upper = np.triu(rates, 1) * degree * nodes / rates.sum()
    linked = random.random((nodes, nodes)) < -np.expm1(-upper)
    return efge.as_graph((linked | linked.T).astype(int)), blocks


@pytest.fixture(scope="module")
def dense():
    return blocks_with_hubs(300, degree=60)


@pytest.fixture(scope="module")
def dense_model(dense):
    return efge.EFGE(dim=16, seed=0).fit(dense[0])


def make_walks(graph, **options):
    return efge.Walks(graph, **({"walks_per_node": 3, "walk_length": 10, "seed": 1} | options))


def starts_from_svd(graph, model):
    return starts_from_factors(efge.as_graph(graph), as_family(model.family), model._settings())


def same_bytes(*models):
    """Return whether all tables of vectors, and what is known of the training, are the same to the bit."""
    tables = [[getattr(model, name).vectors.tobytes() for name in FITTED] for model in models]
    facts = [(model.history_, model.walks_per_node_, model.converged_) for model in models]
    return all(table == tables[0] for table in tables) and all(fact == facts[0] for fact in facts)


def mean_length(vectors):
    return np.sqrt((vectors.astype(np.float64) ** 2).sum(axis=1).mean())


def test_the_defaults_are_poisson_automatic_walks_and_the_band_pass_filter():
    model = efge.EFGE()
    assert (model.family, model.dim, model.walks_per_node, model.window) == ("poisson", 128, "auto", "auto")
    assert (model.init, model.propagate) == ("auto", "auto")


def test_the_paper_has_80_walks_a_window_of_10_random_vectors_and_no_filter():
    model = efge.EFGE.paper()
    expected = {"family": "normal", "dim": 128, "walks_per_node": 80, "walk_length": 10, "window": 10}
    expected |= {"negatives": 5, "epochs": 1, "learning_rate": 0.025, "min_learning_rate": 0.0001}
    expected |= {"noise_power": 0.75, "init": "random", "propagate": None, "walk": "node2vec", "p": 1.0, "q": 1.0}
    assert {name: value for name, value in model.get_params().items() if name in expected} == expected
    assert type(model) is efge.EFGE


def test_settings_of_the_paper_can_be_overridden():
    model = efge.EFGE.paper("poisson", 8, walks_per_node=2, propagate="average", seed=4)
    assert (model.family, model.dim, model.walks_per_node, model.propagate) == ("poisson", 8, 2, "average")
    assert (model.seed, model.window, model.init) == (4, 10, "random")
    with pytest.raises(TypeError, match="colour"):
        efge.EFGE.paper(colour="red")


def test_the_paper_trains_all_its_walks_and_keeps_the_vectors_as_they_are():
    model = efge.EFGE.paper(dim=8, walks_per_node=4, seed=1).fit(SPARSE)
    assert (model.walks_per_node_, model.converged_) == (4, False)
    assert model.embedding_ is model.center_embedding_


@pytest.mark.parametrize(("kind", "from_svd"), [("sparse", False), ("dense", True)])
def test_defaults_give_the_same_bytes_at_any_number_of_threads(kind, from_svd):
    sparse = efge.as_graph(nx.barabasi_albert_graph(1600, 2, seed=0))
    graph = sparse if kind == "sparse" else blocks_with_hubs(1600, degree=50)[0]
    assert starts_from_svd(graph, efge.EFGE()) == from_svd
    # Otherwise a single thread would have all the work.
    assert prepare_training(make_walks(graph), efge.Bernoulli(), efge.EFGE(dim=16)._settings()).n_blocks >= 3
    assert same_bytes(*(efge.EFGE(dim=16, seed=7, threads=threads).fit(graph) for threads in (1, 2, 3)))


class StopTraining(Exception):  # noqa: N818
    pass


def stop_when_falling(reports):
    """Return a progress callback that stops training that many reports after the learning rate has begun to fall.

    From there on, fewer pairs are left than all walks have.
    """
    totals = []

    def progress(report):
        totals.append(report.total)
        if sum(total < totals[0] for total in totals) >= reports:
            raise StopTraining

    return progress


def stop_after(reports):
    totals = []

    def progress(report):
        totals.append(report.total)
        if len(totals) > reports:
            raise StopTraining

    return progress


def saved_states(folder):
    return [json.loads(path.read_bytes().split(b"\n", 2)[1])["state"] for path in folder.glob("checkpoint-*.efge")]


@pytest.mark.parametrize("partitions", [None, 2])
@pytest.mark.parametrize("falling", [False, True])
def test_training_until_convergence_resumes_to_the_same_bytes(tmp_path, falling, partitions):
    """Whether it was stopped before or after the learning rate begins to fall, and at another number of threads."""

    def model(threads):
        return efge.EFGE(dim=16, partitions=partitions, threads=threads, seed=1)

    # In partitions, there is a report for each bucket.
    progress = stop_when_falling(4 if partitions is None else 8) if falling else stop_after(12 if partitions else 3)
    with pytest.raises(StopTraining):
        model(1).fit(SPARSE, checkpoint=Checkpoints(tmp_path, every=0), progress=progress)
    starts = [state["decay_start"] for state in saved_states(tmp_path)]
    assert starts
    assert all((start is not None) == falling for start in starts)
    resumed = model(2).fit(SPARSE, checkpoint=Checkpoints(tmp_path, resume=True))
    assert same_bytes(resumed, model(1).fit(SPARSE))
    assert resumed.converged_ is True


@pytest.mark.parametrize("fraction", [0.01, 0.9])
def test_a_signal_stops_training_from_factors_which_resumes_to_the_same_bytes(tmp_path, dense, dense_model, fraction):
    def progress(report):
        if report.pairs > fraction * report.total:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(TrainingInterrupt):
        efge.EFGE(dim=16, seed=0).fit(dense[0], checkpoint=tmp_path, progress=progress)
    (state,) = saved_states(tmp_path)
    assert (state["decay_start"] is not None) == (fraction == 0.9)
    assert same_bytes(
        efge.EFGE(dim=16, seed=0).fit(dense[0], checkpoint=Checkpoints(tmp_path, resume=True)), dense_model
    )


@pytest.mark.parametrize("changes", [{"walks_per_node": 60}, {"init": "random"}], ids=str)
def test_a_checkpoint_of_another_way_to_train_is_refused(tmp_path, changes):
    with pytest.raises(StopTraining):
        efge.EFGE(dim=8, seed=1).fit(SPARSE, checkpoint=Checkpoints(tmp_path, every=0), progress=stop_after(3))
    with pytest.raises(efge.CheckpointError, match=r"belongs to another run: (until_converged True|init 'auto')"):
        efge.EFGE(dim=8, seed=1, **changes).fit(SPARSE, checkpoint=Checkpoints(tmp_path, resume=True))


def test_partitions_give_the_same_bytes_at_any_number_of_threads_and_stop_when_converged(tmp_path):
    fitted = [
        efge.EFGE(dim=16, partitions=3, seed=1, threads=threads).fit(SPARSE, workdir=tmp_path) for threads in (1, 2)
    ]
    assert same_bytes(*fitted)
    assert 12 <= fitted[0].walks_per_node_ < 60
    assert fitted[0].converged_ is True


@pytest.mark.parametrize("partitions", [None, 1, 2])
def test_progress_ends_at_its_total_and_never_exceeds_it(partitions):
    reports = []
    efge.EFGE(dim=8, partitions=partitions, seed=0).fit(SPARSE, progress=reports.append)
    assert all(report.pairs <= report.total for report in reports)
    assert reports[0].pairs == 0
    assert reports[-1].pairs == reports[-1].total < reports[0].total


def test_an_easy_graph_needs_fewer_walks_than_there_are():
    graph, _ = planted_communities(0)
    model = efge.EFGE(dim=16, seed=0).fit(graph)
    assert 12 <= model.walks_per_node_ < 60
    assert model.converged_ is True
    pairs_per_walk = 2 * model.window_ * 10 - model.window_ * (model.window_ + 1)
    assert model.walks_per_node_ == model.history_["pairs"][-1] / graph.n_nodes / pairs_per_walk


def test_contexts_are_closer_where_a_few_steps_lead_anywhere(dense):
    """An automatic window is the same as the given one, and follows from how quickly walks mix."""
    automatic, given = (efge.EFGE(dim=8, window=window, seed=0).fit(dense[0]) for window in ("auto", 2))
    assert automatic.window_ == 2
    assert same_bytes(automatic, given)
    assert efge.EFGE(dim=8, seed=0).fit(SPARSE).window_ == 5
    assert efge.EFGE(dim=8, seed=0).fit(nx.complete_graph(10)).window_ == 2
    assert efge.EFGE(dim=8, seed=0).fit(nx.circulant_graph(500, range(1, 11))).window_ == 5


def test_a_fitted_model_keeps_its_window_for_nodes_that_come_later(dense, dense_model, tmp_path):
    assert dense_model._settings().window == 2
    dense_model.save(tmp_path / "model.npz")
    assert efge.EFGE.load(tmp_path / "model.npz")._settings().window == 2
    assert dense_model.get_params()["window"] == "auto"


def test_what_is_left_to_learn_uses_all_walks():
    """With a tiny learning rate, held-out pairs become more likely to the end."""
    model = efge.EFGE(dim=8, learning_rate=2e-4, seed=0, init="random").fit(planted_communities(0)[0])
    assert (model.walks_per_node_, model.converged_) == (60, False)


def test_training_learns_nothing_from_evaluations_but_when_to_stop():
    """The first evaluations are those of a run at a constant learning rate."""
    auto = efge.EFGE(dim=16, seed=1).fit(SPARSE).history_["log_likelihood"]
    constant = efge.EFGE(dim=16, seed=1, walks_per_node=60, min_learning_rate=0.025).fit(SPARSE).history_
    assert auto[:3] == constant["log_likelihood"][:3]
    assert auto[-1] > constant["log_likelihood"][len(auto) - 1], "a lower rate at the end finds better vectors"


@pytest.mark.parametrize("epochs", [1, 2])
def test_given_walks_are_all_used(epochs):
    model = efge.EFGE(dim=8, epochs=epochs).fit(make_walks(SPARSE, walks_per_node=70))
    assert (model.walks_per_node_, model.converged_) == (70 * epochs, False)
    assert model.history_["pairs"][-1] == 300 * 70 * epochs * 70


@pytest.mark.parametrize("kind", ["memory", "file", "walks"])
def test_a_corpus_is_used_as_a_whole(tmp_path, kind):
    listed = [list(walk) for walk in make_walks(SPARSE, walks_per_node=7)]
    path = tmp_path / "walks.txt"
    path.write_text("".join(" ".join(map(str, walk)) + "\n" for walk in listed))
    corpus = efge.CorpusWalk(path if kind == "file" else listed)
    model = efge.EFGE(dim=8, seed=1, walk=corpus)
    model.fit(efge.Walks(SPARSE, corpus, seed=1) if kind == "walks" else SPARSE)
    assert (model.walks_per_node_, model.converged_) == (7, False)
    # Every hundredth walk is held out.
    assert model.history_["pairs"][-1] == 300 * 7 * 0.99 * 70


def test_without_a_filter_the_vectors_are_those_of_the_centers():
    model = efge.EFGE(dim=8, walks_per_node=3, propagate=None, seed=1).fit(SPARSE)
    assert model.embedding_ is model.center_embedding_


def test_filtered_vectors_have_a_mean_length_of_2_5_at_most():
    ring = [(i, (i + step) % 60) for i in range(60) for step in (1, 2)]
    model = efge.EFGE(dim=8, walks_per_node=60, learning_rate=0.1, seed=1).fit(ring)
    assert mean_length(model.center_embedding_.vectors) > 3
    assert mean_length(model.embedding_.vectors) == pytest.approx(2.5, rel=1e-5)


@pytest.mark.parametrize(("largest", "expected"), [(40, 0.5), (10, 0.5**0.5), (5, 1.0)])
def test_vectors_of_small_components_are_shorter_beside_larger_ones(largest, expected):
    graph = efge.as_graph(nx.disjoint_union(nx.cycle_graph(largest), nx.cycle_graph(5)))
    model = efge.EFGE("poisson", dim=8, seed=1).fit(graph)
    kept = efge.propagate(model.center_embedding_, graph).vectors
    ratios = np.linalg.norm(model.embedding_.vectors, axis=1) / np.linalg.norm(kept, axis=1)
    np.testing.assert_allclose(ratios[largest:] / ratios[0], expected, rtol=1e-4)
    np.testing.assert_allclose(ratios[:largest], ratios[0], rtol=1e-4)


@pytest.mark.parametrize("method", ["band-pass", "prone", "average"])
@pytest.mark.parametrize("storage", ["memory", "mmap", "partitions"])
def test_filtered_vectors_are_those_of_propagate_and_keep_their_mean_length(tmp_path, method, storage):
    model = efge.EFGE(
        dim=8, walks_per_node=3, propagate=method, seed=1, partitions=2 if storage == "partitions" else None
    )
    model.fit(SPARSE, **{"mmap": {"mmap": tmp_path}, "partitions": {"workdir": tmp_path}}.get(storage, {}))
    filtered = efge.propagate(model.center_embedding_, SPARSE, method).vectors
    vectors, trained = model.embedding_.vectors, model.center_embedding_.vectors
    np.testing.assert_allclose(vectors / mean_length(vectors), filtered / mean_length(filtered), rtol=1e-4, atol=1e-6)
    assert mean_length(vectors) == pytest.approx(mean_length(trained), rel=1e-5)
    assert not np.allclose(vectors, trained, atol=0.1 * mean_length(trained))
    assert mean_length(trained) < 2.5
    if storage == "memory":
        plain = efge.EFGE(dim=8, walks_per_node=3, propagate=None, seed=1).fit(SPARSE)
        assert model.center_embedding_ == plain.embedding_
        assert model.context_embedding_ == plain.context_embedding_


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"init": "zeros"}, "no init 'zeros'; known: auto, random, svd"),
        ({"propagate": "low-pass"}, "no method 'low-pass'; known: band-pass, prone, average"),
        ({"propagate": "none"}, "no method 'none'; known: band-pass, prone, average"),
        ({"walks_per_node": "many"}, "walks_per_node is a positive integer or 'auto'; got 'many'"),
        ({"walks_per_node": "12"}, "walks_per_node is a positive integer or 'auto'; got '12'"),
        ({"init": "svd", "family": "bernoulli-poisson"}, "init='svd' needs two tables .*; use init='random'"),
        ({"init": "svd", "partitions": 2}, "init='svd' needs two tables .* in memory; use init='random'"),
    ],
    ids=repr,
)
def test_unknown_settings_are_refused_with_those_that_are_known(changes, message):
    model = efge.EFGE(**({"dim": 4} | changes))
    with pytest.raises(ValueError, match=message):
        model.fit([("a", "b"), ("b", "c")])
    assert not [name for name in vars(model) if name.endswith("_")]


def test_vectors_without_negative_entries_never_start_from_factors(dense):
    model = efge.EFGE("bernoulli-poisson", dim=8, walks_per_node=2, propagate=None, seed=0)
    assert not starts_from_svd(dense[0], model)
    assert (model.fit(dense[0]).embedding_.vectors >= 0).all()


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_mapped_tables_give_the_same_bytes_with_defaults(tmp_path, dense, dense_model, kind):
    graph = dense[0] if kind == "dense" else SPARSE
    expected = dense_model if kind == "dense" else efge.EFGE(dim=16, seed=0).fit(graph)
    assert same_bytes(efge.EFGE(dim=16, seed=0).fit(graph, mmap=tmp_path), expected)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("storage", ["memory", "mmap", "partitions"])
def test_a_graph_of_one_edge_has_defaults_too(tmp_path, storage):
    graph = efge.as_graph([("a", "b")], nodes=["x", "a", "b"])
    model = efge.EFGE(dim=4, seed=0, partitions=2 if storage == "partitions" else None)
    model.fit(graph, **{"mmap": {"mmap": tmp_path}, "partitions": {"workdir": tmp_path}}.get(storage, {}))
    assert model.embedding_.vectors.shape == (3, 4)
    assert np.isfinite(model.embedding_.vectors).all()


def test_automatic_starts_are_the_ones_that_can_be_asked_for(dense, dense_model):
    assert same_bytes(efge.EFGE(dim=16, init="svd", seed=0).fit(dense[0]), dense_model)
    sparse = efge.EFGE(dim=8, walks_per_node=2, seed=0).fit(SPARSE)
    assert same_bytes(efge.EFGE(dim=8, walks_per_node=2, init="random", seed=0).fit(SPARSE), sparse)
    assert not same_bytes(efge.EFGE(dim=8, walks_per_node=2, init="svd", seed=0).fit(SPARSE), sparse)


@pytest.mark.parametrize(
    ("family", "sign"), [("bernoulli", 1), ("poisson", 1), ("normal", -1), (efge.Normal(0.5), -1)], ids=str
)
@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_factors_make_linked_nodes_likely_from_the_start(dense, kind, family, sign):
    """A high score makes a context likely, except with the normal family, where a low one does."""
    graph = dense[0] if kind == "dense" else SPARSE
    settings = efge.EFGE(family, dim=16, init="svd")._settings()
    centers, contexts = initial_tables(make_walks(graph), as_family(family), settings)
    linked = graph.to_scipy().toarray() > 0
    scores = sign * (centers @ contexts.T)
    assert scores[linked].mean() > 0.3
    assert (scores[linked] > 0).mean() > 0.9
    assert scores[~linked].mean() < 0.5 * scores[linked].mean()


def test_nodes_without_edges_start_from_random_vectors_beside_factors():
    graph = efge.as_graph([("a", "b"), ("b", "c")], nodes=["a", "x", "b", "c", "y"])
    tables = {
        init: initial_tables(make_walks(graph), efge.Bernoulli(), efge.EFGE(dim=4, init=init)._settings())
        for init in ("svd", "random")
    }
    for from_svd, random in zip(tables["svd"], tables["random"], strict=True):
        assert from_svd[[1, 4]].tobytes() == random[[1, 4]].tobytes()
        assert not np.allclose(from_svd[[0, 2, 3]], random[[0, 2, 3]])


def test_only_the_defaults_find_blocks_among_hubs(dense, dense_model):
    """With 12 walks from random vectors and no filter, a classifier does hardly better than by chance, 1 / 3."""
    graph, blocks = dense
    few = efge.EFGE(dim=16, walks_per_node=12, seed=0).fit(graph)
    random = efge.EFGE(dim=16, init="random", propagate=None, walks_per_node=12, seed=0).fit(graph)

    def accuracy(model):
        scores = efge.node_classification(model.embedding_.vectors, blocks, ratios=[0.5], repeats=5)
        return scores.summary(0.5, metric="accuracy").mean

    assert starts_from_svd(graph, dense_model)
    assert accuracy(dense_model) > 0.9
    assert accuracy(few) > 0.9
    assert accuracy(random) < 0.5


def test_contexts_share_negatives_and_many_rows_move_together_only_where_edges_tell_much(dense):
    settings = efge.EFGE()._settings()
    assert contexts_per_group(settings, dense[0], efge.Bernoulli()) == 1
    assert contexts_per_group(settings, SPARSE, efge.Bernoulli()) == 3
    for graph, size, rows in ((dense[0], 1, 8), (SPARSE, 3, 32)):
        config = prepare_training(make_walks(graph), efge.Bernoulli(), settings).config
        assert (config.group_size, config.rows_per_step) == (size, rows)


@pytest.mark.parametrize(
    "changes", [{}, {"walks_per_node": 5, "family": "normal"}, {"walks_per_node": 5, "propagate": None}], ids=str
)
def test_a_saved_model_keeps_everything_that_its_scores_depend_on(tmp_path, changes):
    model = efge.EFGE(**({"dim": 8, "seed": 1} | changes)).fit(SPARSE)
    model.save(tmp_path / "model.npz")
    loaded = efge.EFGE.load(tmp_path / "model.npz")
    assert same_bytes(loaded, model)
    assert loaded.converged_ is model.converged_
    assert type(loaded.walks_per_node_) is float
    assert loaded.get_params() == model.get_params()
    pairs = np.random.default_rng(0).integers(300, size=(500, 2))
    assert loaded.score_pairs(pairs).tobytes() == model.score_pairs(pairs).tobytes()
    loaded.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "model.npz").read_bytes()


def test_scores_come_from_the_vectors_that_were_trained():
    """The filter changes what the inner products mean."""
    filtered = efge.EFGE(dim=8, walks_per_node=5, seed=1).fit(SPARSE)
    plain = efge.EFGE(dim=8, walks_per_node=5, seed=1, propagate=None).fit(SPARSE)
    pairs = [(0, 1), (5, 7), (200, 3)]
    assert filtered.embedding_ != plain.embedding_
    assert filtered.score_pairs(pairs).tobytes() == plain.score_pairs(pairs).tobytes()


@pytest.mark.parametrize(
    ("model", "n_tables"),
    [
        (None, 3),
        (efge.EFGE(), 3),
        (efge.EFGE(propagate="average"), 3),
        (efge.EFGE(propagate=None), 2),
        (efge.EFGE.paper(), 2),
        (efge.DeepWalk(), 2),
    ],
    ids=repr,
)
def test_memory_has_a_third_table_for_the_filter(model, n_tables):
    matrices = 50 * 128**2 if n_tables == 3 else 0
    assert efge.estimate_memory(nodes=1000, edges=5000, model=model).tables == n_tables * 1000 * 128 * 4 + matrices
    mapped = efge.estimate_memory(nodes=1000, edges=5000, model=model, mmap=True)
    assert (mapped.tables, mapped.mapped) == (matrices, n_tables * 1000 * 128 * 4)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is told by Linux")
def test_memory_counts_the_matrices_of_a_filter_with_many_dimensions():
    nodes, dim = 300, 1000
    script = f"""
import re
from pathlib import Path
import numpy as np
import efge
from efge.embedding.propagation import filter_vectors

graph = efge.as_graph([(i, (i + 1) % {nodes}) for i in range({nodes})])
peaks = []
for dim in (16, {dim}):
    filter_vectors(np.random.default_rng(0).normal(size=({nodes}, dim)).astype(np.float32), graph)
    peaks.append(int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]))
print((peaks[1] - peaks[0]) * 1024)
"""
    measured = int(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)
    with_filter, without = (
        efge.estimate_memory(nodes=nodes, edges=nodes, model=efge.EFGE(dim=dim, propagate=method)).tables
        for method in ("auto", None)
    )
    assert 0.8 * measured < with_filter - without < 1.5 * measured


@pytest.mark.parametrize("mmap", [False, True])
def test_memory_counts_the_tables_of_a_start_from_factors(dense, mmap):
    """Vectors, factors and singular vectors are in memory together, in files or not."""
    sizes = {
        init: efge.estimate_memory(dense[0], efge.EFGE(init=init), mmap=mmap).tables for init in ("auto", "random")
    }
    table = 4 * 128 * dense[0].n_nodes
    assert sizes["random"] == (0 if mmap else 3 * table) + 50 * 128**2
    assert sizes["auto"] > 8 * table


@pytest.mark.parametrize("weighted", [False, True])
def test_memory_counts_the_graph_whose_edges_lead_both_ways(weighted):
    edges = nx.gnp_random_graph(400, 0.05, seed=1, directed=True).edges
    graph = efge.as_graph([(a, b, a + 1) for a, b in edges], directed=True, weighted=weighted)

    def count_bytes(*graphs):
        arrays = [array for each in graphs for array in (each.indptr, each.indices, each.weights) if array is not None]
        return graph.names.nbytes + sum(array.nbytes for array in arrays)

    both, followed = (efge.estimate_memory(graph, efge.EFGE(follow_directions=each)) for each in (False, True))
    assert followed.graph == pytest.approx(count_bytes(graph), rel=0.01)
    # Few edges of this graph lead both ways already.
    assert both.graph == pytest.approx(count_bytes(graph, graph.to_undirected()), rel=0.05)
    assert both.walks > followed.walks
    given = {"nodes": graph.n_nodes, "edges": graph.n_edges, "weighted": weighted, "directed": True}
    assert efge.estimate_memory(**given).graph == both.graph


def test_memory_of_automatic_walks_is_that_of_60():
    sizes = {walks: efge.estimate_memory(SPARSE, efge.EFGE(walks_per_node=walks)).walks for walks in ("auto", 60, 59)}
    assert sizes["auto"] == sizes[60] > sizes[59]


@pytest.mark.parametrize("model", [efge.DeepWalk, efge.Node2Vec])
@pytest.mark.parametrize("walks", ["auto", "many"])
def test_models_with_a_fixed_number_of_walks_refuse_any_other(model, walks):
    with pytest.raises(ValueError, match=f"walks_per_node must be a positive integer; got '{walks}'"):
        model(dim=4, walks_per_node=walks).fit([("a", "b"), ("b", "c")])


@pytest.mark.parametrize(("propagate", "filtered"), [("auto", False), ("band-pass", True)])
def test_the_filter_hides_no_overlapping_communities(propagate, filtered):
    """Memberships are in the vectors as they were trained, which have no negative entries."""
    graph, truth = planted_communities(0)
    model = efge.EFGE("bernoulli-poisson", dim=4, window=1, propagate=propagate, seed=0).fit(graph)
    assert (model.embedding_.vectors < 0).any() == filtered
    assert efge.communities(model).f1(truth) > 0.9
