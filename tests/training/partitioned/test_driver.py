"""Partitioned training: the same bits at any number of threads, the objective of whole tables, clear errors."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import efge
from efge.kernels import sgd_partitioned as kernel
from efge.training.checkpoints import Checkpoints
from efge.training.corpus import Corpus
from efge.training.monitor import PairSettings, held_out_sample
from efge.training.noise import alias_table, noise_weights

GRAPH = nx.barabasi_albert_graph(300, 3, seed=0)


def model(**changes):
    defaults = {"dim": 16, "walks_per_node": 10, "seed": 1, "threads": 1, "partitions": 3}
    return efge.EFGE.paper(**(defaults | changes))


@pytest.fixture(scope="module")
def fitted():
    return model().fit(GRAPH)


@pytest.mark.parametrize(("family", "partitions"), [("bernoulli", 2), ("bernoulli-poisson", 2), ("bernoulli", 9)])
def test_the_bits_are_the_same_at_any_number_of_threads(family, partitions):
    """Also with more threads than cells."""
    graph = nx.barabasi_albert_graph(4000, 3, seed=1)
    changes = {"family": family, "walks_per_node": 3, "partitions": partitions}
    one, *others = (model(**changes, threads=threads).fit(graph) for threads in (1, 2, 5))
    for other in others:
        assert other.embedding_ == one.embedding_
        assert other.context_embedding_ == one.context_embedding_
        assert other.history_ == one.history_


def test_another_number_of_partitions_gives_different_vectors_of_the_same_likelihood(fitted):
    history = fitted.history_["log_likelihood"]
    likelihoods = [model(partitions=count).fit(GRAPH).history_["log_likelihood"][-1] for count in (None, 1, 8)]
    assert len({*likelihoods, history[-1]}) == 4
    assert max(*likelihoods, history[-1]) - min(*likelihoods, history[-1]) < 0.02
    assert history[-1] > history[0] + 0.2


def test_progress_rises_to_the_total_and_does_not_change_the_result(fitted):
    reports = []
    again = model().fit(GRAPH, progress=reports.append)
    assert again.embedding_ == fitted.embedding_
    assert [report.pairs for report in reports] == sorted(report.pairs for report in reports)
    assert reports[0].pairs == 0
    assert reports[-1].pairs == reports[-1].total == again.history_["pairs"][-1] == 300 * 10 * 90
    assert len(reports) > 9 * 8


def test_the_recorded_log_likelihood_is_that_of_the_vectors(fitted):
    family, walks = efge.Normal(), efge.Walks(GRAPH, "node2vec", walks_per_node=10, seed=1)
    noise = alias_table(noise_weights(Corpus(walks, 10, 1).visits, 0.75))
    sample = held_out_sample(walks, PairSettings(10, 5), noise)
    centers = fitted.embedding_.vectors[sample[:, 0]].astype(float)
    scores = np.einsum("id,ijd->ij", centers, fitted.context_embedding_.vectors[sample[:, 1:]].astype(float))
    log_probs = family.log_prob(np.array([1.0, 0, 0, 0, 0, 0]), scores.clip(*family.bounds))
    # A negative that is the context itself does not count.
    log_probs[:, 1:][sample[:, 2:] == sample[:, 1:2]] = 0.0
    assert fitted.history_["log_likelihood"][-1] == pytest.approx(log_probs.sum(1).mean(), rel=1e-5)


@pytest.mark.parametrize("graph", [nx.path_graph(2), nx.star_graph(400), nx.Graph([(0, 0)])], ids=str)
@pytest.mark.parametrize("rate", [0.025, 0.25])
def test_any_graph_can_be_trained_in_more_partitions_than_it_has_nodes(graph, rate):
    fitted = model(family="poisson", partitions=5, learning_rate=rate).fit(efge.as_graph(graph))
    assert fitted.embedding_.vectors.shape == (len(graph), 16)
    assert np.abs(fitted.embedding_.vectors).max(initial=0) < 20


def test_walks_that_reach_dead_ends_are_trained_on():
    graph = efge.as_graph([(i, (7 * i + 1) % 90) for i in range(60)], directed=True)
    reports = []
    fitted = model(partitions=4, walk_length=20, follow_directions=True).fit(graph, progress=reports.append)
    walks = efge.Walks(graph, "node2vec", walks_per_node=10, walk_length=20, seed=1)
    assert reports[-1].pairs == reports[-1].total == Corpus(walks, 10, 1).pairs
    assert np.isfinite(fitted.embedding_.vectors).all()


def test_training_stops_when_the_likelihood_no_longer_rises():
    graph = nx.complete_graph(6)
    stopped, full = (model(partitions=2, walks_per_node=300, patience=patience).fit(graph) for patience in (1, None))
    assert 1 < len(stopped.history_["pairs"]) < len(full.history_["pairs"])
    assert np.argmax(stopped.history_["log_likelihood"]) == len(stopped.history_["pairs"]) - 2, "one after the best"


def test_training_that_diverges_says_so_and_keeps_finite_vectors(monkeypatch, tmp_path):
    original = kernel.train

    def diverge(thread, threads, data, key, tables, config, counters):
        tables.contexts[:, 0] = np.inf
        original(thread, threads, data, key, tables, config, counters)
        tables.contexts[:, 0] = 0

    monkeypatch.setattr(kernel, "train", diverge)
    diverging = model()
    with pytest.raises(efge.TrainingError, match=r"became NaN or infinite in wave 0; lower learning_rate"):
        diverging.fit(GRAPH, workdir=tmp_path)
    assert np.isfinite(diverging.embedding_.vectors).all()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trainer": "reference"}, "with partitions, the trainer is 'fast'; got 'reference'"),
        ({"partitions": 0}, "partitions must be a positive integer; got 0"),
        ({"walk": efge.CorpusWalk([[0, 1]])}, "a corpus cannot be used"),
    ],
)
def test_what_cannot_be_trained_in_partitions_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        model(**changes).fit(GRAPH)


class StopTraining(Exception):  # noqa: N818
    pass


def stop_after(fraction):
    """Return a progress callback that stops training when more than a fraction of the pairs is done."""

    def progress(report):
        if report.pairs > fraction * report.total:
            raise StopTraining

    return progress


@pytest.mark.parametrize("fraction", [0.1, 0.6])
def test_stopped_training_resumes_to_the_same_bytes(tmp_path, fitted, fraction):
    workdir, folder = tmp_path / "partitions", tmp_path / "checkpoints"
    with pytest.raises(StopTraining):
        model().fit(GRAPH, checkpoint=Checkpoints(folder, every=0), progress=stop_after(fraction), workdir=workdir)
    assert not list(workdir.iterdir())
    assert 1 <= len(list(folder.iterdir())) <= 2
    resumed = model().fit(GRAPH, checkpoint=Checkpoints(folder, resume=True), workdir=workdir)
    assert resumed.embedding_ == fitted.embedding_
    assert resumed.context_embedding_ == fitted.context_embedding_
    assert resumed.history_ == fitted.history_
    with pytest.raises(efge.CheckpointError, match="partitions 3, not 4"):
        model(partitions=4).fit(GRAPH, checkpoint=Checkpoints(folder, resume=True))
