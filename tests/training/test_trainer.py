"""Training: bits do not depend on threads, no graph or setting breaks it, and held-out pairs become more likely."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from scipy import stats

import efge
from efge.kernels import sgd as kernel
from efge.kernels.common import CACHE_LINE
from efge.random import stream_key
from efge.training import trainer
from efge.training.huffman import huffman
from efge.training.tables import initial_tables
from efge.training.workers import Threads
from helpers import prepare_training, training_settings


def digest(model):
    tables = model.embedding_.vectors, model.context_embedding_.vectors
    return hashlib.sha256(b"".join(np.ascontiguousarray(table).tobytes() for table in tables)).hexdigest()


@pytest.mark.parametrize("family", ["bernoulli", "poisson", "normal", "bernoulli-poisson"])
def test_the_same_bits_at_any_number_of_threads(family):
    graph = nx.barabasi_albert_graph(3000, 3, seed=1)
    digests = {
        digest(efge.EFGE.paper(family, dim=20, walks_per_node=4, threads=n, seed=7).fit(graph)) for n in (1, 2, 3, 8)
    }
    assert len(digests) == 1


@pytest.mark.parametrize("model", [efge.EFGE(dim=20, seed=7), efge.EFGE.paper(dim=20, walks_per_node=40, seed=7)])
def test_chunks_that_are_trained_together_give_the_same_bits(monkeypatch, model):
    """How many there are depends on the clock."""
    graph, calls, digests = nx.barabasi_albert_graph(3000, 3, seed=1), [], set()
    train = trainer._train_chunk
    monkeypatch.setattr("efge.training.workspace._CHUNK_OPERATIONS", 1 << 20)
    monkeypatch.setattr(trainer, "_train_chunk", lambda *arguments: (calls.append(1), train(*arguments)))
    for seconds in (0.0, 1e-3, 1e9):
        monkeypatch.setattr(trainer, "_SECONDS_PER_CALL", seconds)
        calls.append(0)
        digests.add((digest(model.fit(graph)), tuple(model.history_["log_likelihood"])))
    starts = [i for i, call in enumerate(calls) if not call]
    counts = np.diff([*starts, len(calls)])
    assert counts[0] > counts[2], "as many calls: the test shows nothing"
    assert len(digests) == 1


def test_rounds_have_work_for_several_threads():
    """Otherwise the test of equal bits would see one thread only."""
    walks = efge.Walks(nx.barabasi_albert_graph(3000, 3, seed=1), walks_per_node=4, seed=7)
    assert prepare_training(walks, efge.Bernoulli(), training_settings()).n_blocks >= 3


def test_the_same_bits_in_another_process():
    code = """
import hashlib, efge
edges = [(i, (i * i + 1) % 97) for i in range(97)]
model = efge.EFGE.paper(dim=12, seed=4, threads={}).fit(edges)
print(hashlib.sha256(model.embedding_.vectors.tobytes()).hexdigest())
"""
    runs = [subprocess.run([sys.executable, "-c", code.format(n)], capture_output=True, check=True) for n in (1, 2)]
    here = efge.EFGE.paper(dim=12, seed=4).fit([(i, (i * i + 1) % 97) for i in range(97)]).embedding_.vectors
    assert {run.stdout.decode().strip() for run in runs} == {hashlib.sha256(here.tobytes()).hexdigest()}


def test_another_seed_gives_other_vectors_and_no_seed_a_new_one():
    fitted = [efge.EFGE.paper(dim=8, seed=seed).fit([(0, 1), (1, 2)]) for seed in (1, 2, None, None)]
    assert len({digest(model) for model in fitted}) == 4
    assert digest(efge.EFGE.paper(dim=8, seed=fitted[2].seed_).fit([(0, 1), (1, 2)])) == digest(fitted[2])


def test_centers_begin_around_zero_and_contexts_at_zero():
    walks = efge.Walks(nx.path_graph(500), seed=1)
    centers, contexts = initial_tables(walks, efge.Normal(), training_settings(dim=100))
    assert not contexts.any()
    assert centers.shape == (500, -(-100 // CACHE_LINE) * CACHE_LINE)
    assert not centers[:, 100:].any()
    assert centers.ctypes.data % 64 == 0
    assert stats.kstest(centers[:, :100].ravel(), stats.uniform(-0.005, 0.01).cdf).pvalue > 1e-3


def test_non_negative_vectors_begin_above_zero_and_stay_there():
    model = efge.EFGE.paper("bernoulli-poisson", dim=4, seed=0).fit(nx.karate_club_graph())
    assert model.embedding_.vectors.min() >= 0
    assert model.context_embedding_.vectors.min() >= 0
    assert (model.context_embedding_.vectors == 0).any(), "the floor was never reached: the test shows nothing"


GRAPHS = {
    "two nodes": nx.path_graph(2),
    "triangle": nx.complete_graph(3),
    "star": nx.star_graph(10),
    "large star": nx.star_graph(1000),
    "clique": nx.complete_graph(50),
    "many pairs": nx.disjoint_union_all([nx.path_graph(2)] * 300),
    "many triangles": nx.disjoint_union_all([nx.complete_graph(3)] * 200),
    "self loops": nx.Graph([(i, i) for i in range(20)]),
    "one node with a loop": nx.Graph([(0, 0)]),
}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
@pytest.mark.parametrize("family", ["poisson", "normal", "geometric"])
def test_no_small_graph_and_no_large_learning_rate_makes_it_diverge(graph, family):
    for rate in (0.025, 0.25):
        model = efge.EFGE.paper(family, dim=16, learning_rate=rate, walks_per_node=40, seed=1).fit(graph)
        assert np.abs(model.embedding_.vectors).max() < 20
        likelihood = model.history_["log_likelihood"]
        assert likelihood[-1] >= likelihood[0] - 1e-6


@pytest.mark.parametrize("graph", [nx.path_graph(2), nx.complete_graph(4), nx.complete_graph(12)], ids=len)
def test_graphs_whose_walks_see_every_node_have_negatives_to_learn_from(graph):
    """Without negatives, Bernoulli scores would only rise."""
    model = efge.EFGE.paper("bernoulli", dim=8, seed=0).fit(graph)
    scores = model.embedding_.vectors @ model.context_embedding_.vectors.T
    assert scores.max() < 3
    assert model.history_["log_likelihood"][-1] > model.history_["log_likelihood"][0]


def test_a_single_node_has_no_negatives():
    """It observes only itself, so nothing keeps the score from rising."""
    model = efge.EFGE.paper("bernoulli", dim=8, seed=0, epochs=5).fit([(0, 0)])
    assert (model.embedding_.vectors @ model.context_embedding_.vectors.T).item() > 3


@pytest.mark.filterwarnings("ignore:the window of")
@pytest.mark.parametrize(
    "changes",
    [
        {"walk_length": 2}, {"walk_length": 1000, "walks_per_node": 1, "window": 1000}, {"window": 100}, {"window": 1},
        {"dim": 1}, {"dim": 3}, {"dim": 17}, {"dim": 1024, "walks_per_node": 2}, {"negatives": 1}, {"negatives": 64},
        {"epochs": 3}, {"walk_length": 41}, {"p": 0.5, "q": 2.0}, {"noise_power": 0.0},
    ],
    ids=repr,
)  # fmt: skip
def test_any_sensible_setting_works(changes):
    model = efge.EFGE.paper(**({"dim": 8, "walks_per_node": 5, "seed": 1} | changes)).fit(nx.karate_club_graph())
    assert np.isfinite(model.embedding_.vectors).all()
    likelihood = model.history_["log_likelihood"]
    assert likelihood[-1] > likelihood[0]


def test_walks_of_one_node_teach_nothing():
    walks = efge.Walks(nx.karate_club_graph(), efge.CorpusWalk([[node] for node in range(34)] * 5), seed=1)
    model = efge.EFGE.paper(dim=8).fit(walks)
    assert model.history_["pairs"][-1] == 0
    assert (model.embedding_.vectors == initial_tables(walks, efge.Normal(), training_settings())[0][:, :8]).all()


def test_isolated_nodes_among_others_stay_where_they_began():
    graph = efge.as_graph([("a", "b"), ("b", "c")], nodes=["a", "x", "b", "c"])
    model = efge.EFGE.paper(dim=4, seed=0).fit(graph)
    assert model.embedding_.names.tolist() == ["a", "x", "b", "c"]
    assert np.abs(model.embedding_["x"]).max() <= 0.5 / 4
    assert np.abs(model.embedding_["a"]).max() > 0.5 / 4


@pytest.mark.parametrize("trainer", ["fast", "reference"])
def test_the_likelihood_of_held_out_pairs_rises(trainer):
    model = efge.EFGE.paper("bernoulli", dim=16, seed=2, trainer=trainer).fit(nx.barabasi_albert_graph(300, 3, seed=1))
    history = model.history_
    assert len(history["pairs"]) == len(history["log_likelihood"]) == 21
    assert history["pairs"][0] == 0
    assert history["pairs"][-1] == 300 * 80 * 90
    assert history["log_likelihood"][-1] > history["log_likelihood"][0] + 0.2


def test_the_likelihood_is_that_of_the_vectors():
    walks = efge.Walks(nx.karate_club_graph(), walks_per_node=3, seed=5)
    family = efge.Normal()
    run = prepare_training(walks, family, training_settings())
    random = np.random.default_rng(0)
    for table in run.tables:
        table[:, :8] = random.normal(size=(34, 8)) * 0.5
    with Threads(3) as threads:
        monitor = trainer._make_monitor(run, threads)
        monitor.evaluate(0)
    sample = monitor.sample
    scores = np.einsum("id,ikd->ik", run.model.centers[sample[:, 0]], run.model.contexts[sample[:, 1:]])
    scores = np.clip(scores.astype(float), *family.bounds)
    counts = sample[:, 2:] != sample[:, 1:2]
    expected = family.log_prob(1.0, scores[:, 0]) + (family.log_prob(0.0, scores[:, 1:]) * counts).sum(1)
    assert len(sample) == 4096
    assert monitor.state.history["log_likelihood"] == [pytest.approx(expected.mean(), rel=1e-5)]


def test_training_stops_when_the_likelihood_no_longer_rises():
    graph = nx.complete_graph(6)
    stopped = efge.EFGE.paper("bernoulli", dim=4, seed=0, patience=2, walks_per_node=500).fit(graph)
    full = efge.EFGE.paper("bernoulli", dim=4, seed=0, walks_per_node=500).fit(graph)
    assert len(stopped.history_["pairs"]) < len(full.history_["pairs"])
    assert stopped.history_["log_likelihood"] == full.history_["log_likelihood"][: len(stopped.history_["pairs"])]
    *_, best, second, last = stopped.history_["log_likelihood"]
    assert max(second, last) <= best


def test_training_that_diverges_says_what_to_lower_and_keeps_the_last_good_state():
    model = efge.EFGE.paper("poisson", dim=8, learning_rate=50.0, trainer="reference", seed=0)
    with pytest.raises(efge.TrainingError, match=r"Poisson\(\): .* in round \d+ .*; lower learning_rate \(it is 50\)"):
        model.fit(nx.karate_club_graph())
    assert np.isfinite(model.embedding_.vectors).all()
    assert model.embedding_.vectors.shape == (34, 8)


def test_patience_does_not_count_without_held_out_pairs():
    listed = [["a"] if i % 100 == 99 else ["a", "b", "a"] for i in range(400)]
    walks = efge.Walks([("a", "b")], efge.CorpusWalk(listed), seed=0)
    assert efge.EFGE.paper(dim=4, patience=2).fit(walks).history_["pairs"][-1] == 396 * 6


def test_numbers_of_any_type_compile_nothing_again():
    graph = nx.path_graph(5)
    efge.EFGE.paper(dim=4, learning_rate=1.0, seed=0).fit(graph)
    compiled = len(kernel.train.signatures)
    efge.EFGE.paper(dim=np.int32(4), learning_rate=1, window=np.int16(3), negatives=np.int64(2), seed=0).fit(graph)
    assert len(kernel.train.signatures) == compiled


@pytest.mark.parametrize("failing", [0, 1])
def test_threads_do_not_wait_for_one_that_never_comes(monkeypatch, failing):
    """As when an interrupt arrives after some threads have started, and before the main one joins them."""
    original = kernel.train

    def interrupted(thread, *rest):
        if thread == failing:
            raise KeyboardInterrupt
        return original(thread, *rest)

    monkeypatch.setattr(trainer.kernel, "train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        efge.EFGE.paper(dim=8, walks_per_node=2, seed=0, threads=3).fit(nx.barabasi_albert_graph(3000, 3, seed=1))


def test_inner_nodes_that_a_round_observes_often_are_averaged():
    walks = efge.Walks(nx.barabasi_albert_graph(2000, 4, seed=1), walks_per_node=10, seed=3)
    run = prepare_training(walks, efge.Bernoulli(), training_settings(softmax=True))
    merge_scale, visits = run.model.merge_scale, run.corpus.visits
    assert run.n_blocks > 4
    # Each pair passes the root; hardly any pair passes an inner node near the leaves.
    passes = huffman(visits, stream_key(3, 0, "huffman")).passes(visits)
    assert merge_scale[passes.argmax()] == pytest.approx(1 / run.n_blocks, rel=0.01)
    assert merge_scale.max() == 1.0
    assert (np.diff(merge_scale[np.argsort(passes)]) <= 1e-6).all()


def test_chunks_wait_for_others_of_their_batch_until_there_is_enough_to_do():
    def pending(walks, seconds_per_position, *bounds):
        chunks = trainer._PendingChunks()
        chunks.seconds_per_position = seconds_per_position
        for begin, end in bounds:
            chunks.add(SimpleNamespace(blocks=np.array([begin, end]), offsets=np.zeros(walks + 1)), begin, end)
        return chunks

    fast = 0.19 / 20
    assert not pending(50, fast, (0, 10), (10, 20)).are_complete(1000)
    assert pending(50, 0.2 / 20, (0, 10), (10, 20)).are_complete(1000)
    # The next one is of another batch, or goes beyond the last position.
    assert pending(20, fast, (0, 10), (10, 20)).are_complete(1000)
    assert pending(50, fast, (0, 10), (10, 20)).are_complete(30)
    assert not pending(50, fast, (0, 10), (10, 20)).are_complete(31)
