"""Training: kernels agree with their twins, bits do not depend on threads, and no graph or setting breaks it."""

from __future__ import annotations

import hashlib
import itertools
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
from scipy import stats

import efge
import reference
from efge.families.builtin import as_family
from efge.families.tables import cubics
from efge.kernels import sgd as kernel
from efge.kernels import sgd_reference as plain
from efge.kernels import sgd_step as steps
from efge.kernels.random import U
from efge.kernels.simd import CHUNK
from efge.training import trainer as training
from efge.training.corpus import Corpus, longest_block
from efge.training.workers import Threads


def settings(**changes):
    defaults = {
        "dim": 8, "window": 10, "negatives": 5, "epochs": 1, "learning_rate": 0.025, "min_learning_rate": 0.0001,
        "noise_power": 0.75, "patience": None, "trainer": "fast",
    }  # fmt: skip
    return training.Settings(**(defaults | changes))


def prepared(walks, family, chosen, blocks=None):
    """What training prepares for its kernels; `blocks` of a round if not as many as the graph suggests."""
    corpus = Corpus(walks, chosen.window, chosen.epochs, chosen.stars)
    tree = training.huffman(corpus.visits) if chosen.softmax else training.NO_TREE
    slopes, noise = cubics(family, "slope"), training._noise(corpus.visits, chosen.noise_power)
    plan = training._plan(corpus, family, chosen, slopes)
    room = training._room(corpus, plan, tree, chosen, blocks)
    tables = training._tables(walks, family, chosen, len(room.now.places))
    model = kernel.Model(*tables, slopes, *noise, *tree, training._shares(corpus, tree, room))
    return corpus, model, plan, room


def tables_of(model, room, chosen):
    """The rows of nodes, without copies and padding."""
    return [table[: room.nodes, : chosen.dim] for table in (model.centers, model.contexts)]


def walks_of(work):
    """The blocks of some work, as lists of walks."""
    walks = [work.nodes[a:b].tolist() for a, b in zip(work.offsets[:-1], work.offsets[1:], strict=True)]
    return [walks[a:b] for a, b in zip(work.blocks[:-1], work.blocks[1:], strict=True)]


def paths_of(model):
    """For each node, the places and turns on the way to it; nothing where there is no tree."""
    ends = [(int(a), int(b)) for a, b in itertools.pairwise(model.path_starts)]
    return [[(int(place) >> 1, int(place) & 1) for place in model.paths[a:b]] for a, b in ends]


CASES = [
    ("bernoulli", {}, 3, {}),
    ("poisson", {"dim": 20, "learning_rate": 0.2}, 2, {}),
    ("normal", {"negatives": 1, "window": 2}, 1, {}),
    ("normal", {"dim": 130, "learning_rate": 0.25}, 4, {}),
    ("bernoulli", {"negatives": 9, "window": 3, "dim": 1}, 2, {"walk_length": 17}),
    ("bernoulli-poisson", {"dim": 3}, 2, {}),
    ("geometric", {"negatives": 3}, 2, {"walk_length": 90, "walks_per_node": 1}),
    ("bernoulli", {"stars": True, "learning_rate": 0.2}, 3, {}),
    (
        "normal",
        {"stars": True, "negatives": 2, "dim": 20, "learning_rate": 0.2},
        1,
        {"walk_length": 2, "walks_per_node": 20},
    ),
    ("bernoulli", {"stars": True, "one_table": True, "learning_rate": 0.2}, 3, {}),
    ("bernoulli", {"softmax": True}, 3, {}),
    ("bernoulli", {"softmax": True, "window": 30, "dim": 20}, 2, {"walk_length": 45, "walks_per_node": 1}),
]


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("bernoulli", {}),
        ("bernoulli-poisson", {"dim": 3}),
        ("normal", {"stars": True}),
        ("bernoulli", {"softmax": True}),
    ],
)
def test_rows_in_tables_and_copies_do_what_their_twins_do(family, changes):
    family, chosen = as_family(family), settings(**changes)
    walks = efge.Walks(nx.barabasi_albert_graph(400, 2, seed=1), walks_per_node=1, seed=5)
    corpus, model, plan, room = prepared(walks, family, chosen, 4)
    found = tables_of(model, room, chosen)
    centers, contexts = (table.astype(float) for table in found)
    for work, _ in corpus.pieces(10**9):
        reference.train_rounds(
            walks_of(work), centers, contexts, family, (model.keep, model.other), plan, int(work.key),
            int(work.first_block), work.first_center, 4, paths_of(model), model.shares,
        )  # fmt: skip
        kernel.train(0, 1, work, model, plan, room)
    np.testing.assert_allclose(found[0], centers, atol=2e-4, rtol=2e-3)
    np.testing.assert_allclose(found[1], contexts, atol=2e-4, rtol=2e-3)
    copied = room.now.places[room.now.places > 0] >= room.nodes
    assert 0.05 < copied.mean() < 0.95, "one way was hardly gone: the test shows nothing of it"


def test_shares_of_nodes_are_settled_without_a_slot_in_common():
    walks = efge.Walks(nx.path_graph(3), walks_per_node=40, seed=5)
    corpus, model, plan, room = prepared(walks, as_family("bernoulli"), settings(), 4)
    work, _ = next(corpus.pieces(10**9))
    for block in range(4):
        kernel._name(U(block), U(block), work, model, plan, room.soon, np.empty(1024, np.int32))
    touched = []
    for share in range(steps.SHARES):
        room.slots[:] = untouched = np.iinfo(np.uint32).max
        kernel._settle(U(share), U(4), model, U(room.nodes), room.soon, room.slots, room.firsts)
        touched += np.flatnonzero(room.slots != untouched).tolist()
    assert len(set(touched)) == len(touched)
    assert (np.diff(room.soon.starts[:4, : steps.SHARES + 1]).sum(axis=0) == 0).any(), "no share is without rows"


@pytest.mark.parametrize(("family", "changes", "blocks", "walked"), CASES)
def test_the_kernel_does_what_its_twin_does(family, changes, blocks, walked):
    family, chosen = as_family(family), settings(**changes)
    walks = efge.Walks(nx.karate_club_graph(), **({"walks_per_node": 3, "seed": 5} | walked))
    corpus, model, plan, room = prepared(walks, family, chosen, blocks)
    found = tables_of(model, room, chosen)
    centers, contexts = (table.astype(float) for table in found)
    contexts = centers if chosen.one_table else contexts
    for work, _ in corpus.pieces(10**9):
        noise = (model.keep, model.other)
        reference.train_rounds(
            walks_of(work), centers, contexts, family, noise, plan, int(work.key), int(work.first_block),
            work.first_center, blocks, paths_of(model), model.shares,
        )  # fmt: skip
        kernel.train(0, 1, work, model, plan, room)
    assert np.abs(centers).max() > 0.1
    np.testing.assert_allclose(found[0], centers, atol=2e-4, rtol=2e-3)
    np.testing.assert_allclose(found[1], contexts, atol=2e-4, rtol=2e-3)
    assert not model.centers[:, chosen.dim :].any()


@pytest.mark.parametrize(
    ("family", "changes"), [("bernoulli", {}), ("normal", {"window": 2, "dim": 17}), ("poisson", {})]
)
def test_the_reference_trainer_does_what_its_twin_does(family, changes):
    family, chosen = as_family(family), settings(**changes)
    walks = efge.Walks(nx.karate_club_graph(), walks_per_node=2, seed=5)
    corpus, model, plan, room = prepared(walks, family, chosen)
    found = tables_of(model, room, chosen)
    centers, contexts = (table.astype(float) for table in found)
    for work, _ in corpus.pieces(10**9):
        noise = (model.keep, model.other)
        reference.train_plainly(
            walks_of(work), centers, contexts, family, noise, plan, int(work.key), int(work.first_block),
            work.first_center,
        )  # fmt: skip
        assert plain.train_plainly(work, model, plan)
    np.testing.assert_allclose(found[0], centers, atol=2e-4, rtol=2e-3)
    np.testing.assert_allclose(found[1], contexts, atol=2e-4, rtol=2e-3)


def digest(model):
    tables = model.embedding_.vectors, model.context_embedding_.vectors
    return hashlib.sha256(b"".join(np.ascontiguousarray(table).tobytes() for table in tables)).hexdigest()


@pytest.mark.parametrize("family", ["bernoulli", "poisson", "normal", "bernoulli-poisson"])
def test_the_same_bits_at_any_number_of_threads(family):
    graph = nx.barabasi_albert_graph(3000, 3, seed=1)
    made = {digest(efge.EFGE(family, dim=20, walks_per_node=4, threads=n, seed=7).fit(graph)) for n in (1, 2, 3, 8)}
    assert len(made) == 1


def test_rounds_have_work_for_several_threads():
    """Otherwise the test of equal bits would see one thread only."""
    walks = efge.Walks(nx.barabasi_albert_graph(3000, 3, seed=1), walks_per_node=4, seed=7)
    room = prepared(walks, efge.Bernoulli(), settings())[3]
    assert len(room.now.counts) >= 3


def test_the_same_bits_in_another_process():
    code = """
import hashlib, efge
edges = [(i, (i * i + 1) % 97) for i in range(97)]
model = efge.EFGE(dim=12, seed=4, threads={}).fit(edges)
print(hashlib.sha256(model.embedding_.vectors.tobytes()).hexdigest())
"""
    runs = [subprocess.run([sys.executable, "-c", code.format(n)], capture_output=True, check=True) for n in (1, 2)]
    here = efge.EFGE(dim=12, seed=4).fit([(i, (i * i + 1) % 97) for i in range(97)]).embedding_.vectors
    assert {run.stdout.decode().strip() for run in runs} == {hashlib.sha256(here.tobytes()).hexdigest()}


def test_another_seed_gives_other_vectors_and_no_seed_a_new_one():
    fitted = [efge.EFGE(dim=8, seed=seed).fit([(0, 1), (1, 2)]) for seed in (1, 2, None, None)]
    assert len({digest(model) for model in fitted}) == 4
    assert digest(efge.EFGE(dim=8, seed=fitted[2].seed_).fit([(0, 1), (1, 2)])) == digest(fitted[2])


def test_centers_begin_around_zero_and_contexts_at_zero():
    walks = efge.Walks(nx.path_graph(500), seed=1)
    centers, contexts = training._tables(walks, efge.Normal(), settings(dim=100))
    assert not contexts.any()
    assert centers.shape == (500, -(-100 // CHUNK) * CHUNK)
    assert not centers[:, 100:].any()
    assert centers.ctypes.data % 64 == 0
    assert stats.kstest(centers[:, :100].ravel(), stats.uniform(-0.005, 0.01).cdf).pvalue > 1e-3


def test_vectors_that_may_not_be_negative_begin_above_zero_and_stay_there():
    model = efge.EFGE("bernoulli-poisson", dim=4, seed=0).fit(nx.karate_club_graph())
    assert model.embedding_.vectors.min() >= 0
    assert model.context_embedding_.vectors.min() >= 0
    assert (model.context_embedding_.vectors == 0).any(), "the floor was never reached: the test shows nothing"


@pytest.mark.parametrize("power", [0.0, 0.75, 1.0])
def test_negatives_follow_visits_to_a_power(power):
    visits = np.array([100, 10, 1000, 0, 1, 300])
    keep, other = training._noise(visits, power)
    drawn = np.empty(200_000, np.int64)
    plain.draw(np.uint64(3), keep, other, drawn)
    expected = np.where(visits > 0, visits.astype(float) ** power, 0)
    counts = np.bincount(drawn, minlength=6)
    assert counts[3] == 0
    present = visits > 0
    assert stats.chisquare(counts[present], expected[present] / expected.sum() * len(drawn)).pvalue > 1e-3


def test_visits_are_those_of_the_walks():
    walks = efge.Walks(nx.star_graph(20), walks_per_node=5, seed=3)
    corpus = Corpus(walks, settings().window, 2)
    walked = [some.nodes for epoch in range(2) for some in walks.rounds(epoch)]
    assert corpus.visits.tolist() == np.bincount(np.concatenate(walked)).tolist()
    assert corpus.centers == 2 * 21 * 5 * 10
    assert corpus.pairs == 2 * 21 * 5 * 90


@pytest.mark.parametrize("window", [1, 3, 9, 50])
@pytest.mark.parametrize("stars", [False, True])
def test_pairs_are_counted_as_the_window_has_them(window, stars):
    walk_lengths = [1, 2, 5, 10, 11]
    some = efge.walks.Round(np.zeros(29, np.int32), np.cumsum([0, *walk_lengths]))
    corpus, _, plan, _ = prepared(efge.Walks([(0, 1)], seed=0), efge.Normal(), settings(window=window, stars=stars))
    counted = [sum(len(reference.around([0] * n, p, plan)) for p in range(n)) for n in walk_lengths]
    assert np.diff(corpus._pairs(some)).tolist() == counted


def test_the_learning_rate_falls_to_its_minimum_over_all_centers():
    walks = efge.Walks(nx.karate_club_graph(), walks_per_node=2, seed=5)
    corpus, _, plan, _ = prepared(walks, efge.Normal(), settings(epochs=3))
    assert plan.rate - plan.rate_fall * corpus.centers == pytest.approx(0.0001)
    firsts = [work.first_center + int(work.offsets[work.blocks[0]]) for work, _ in corpus.pieces(200)]
    assert firsts == sorted(set(firsts))
    assert firsts[-1] > corpus.centers * 0.8


def test_pieces_do_not_change_the_result():
    walks = efge.Walks(nx.karate_club_graph(), walks_per_node=6, seed=5)
    tables = []
    for size in (40, 80, 10**9):
        corpus, model, plan, room = prepared(walks, efge.Normal(), settings(), 1)
        for work, _ in corpus.pieces(size):
            room.signals[:] = 0
            kernel.train(0, 1, work, model, plan, room)
        tables.append(model.centers[: room.nodes].copy())
    np.testing.assert_array_equal(tables[0], tables[1])
    np.testing.assert_array_equal(tables[0], tables[2])


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
        model = efge.EFGE(family, dim=16, learning_rate=rate, walks_per_node=40, seed=1).fit(graph)
        assert np.abs(model.embedding_.vectors).max() < 20
        likelihood = model.history_["log_likelihood"]
        assert likelihood[-1] >= likelihood[0] - 1e-6


@pytest.mark.parametrize("graph", [nx.path_graph(2), nx.complete_graph(4), nx.complete_graph(12)], ids=len)
def test_graphs_whose_walks_see_every_node_have_negatives_to_learn_from(graph):
    """Without negatives, Bernoulli scores would only rise."""
    model = efge.EFGE("bernoulli", dim=8, seed=0).fit(graph)
    scores = model.embedding_.vectors @ model.context_embedding_.vectors.T
    assert scores.max() < 3
    assert model.history_["log_likelihood"][-1] > model.history_["log_likelihood"][0]


def test_a_single_node_has_no_negatives():
    """All there is to see is itself: the score rises without anything to hold it."""
    model = efge.EFGE("bernoulli", dim=8, seed=0, epochs=5).fit([(0, 0)])
    assert (model.embedding_.vectors @ model.context_embedding_.vectors.T).item() > 3


@pytest.mark.parametrize(
    "changes",
    [
        {"walk_length": 2}, {"walk_length": 1000, "walks_per_node": 1, "window": 1000}, {"window": 100}, {"window": 1},
        {"dim": 1}, {"dim": 3}, {"dim": 17}, {"dim": 1024, "walks_per_node": 2}, {"negatives": 1}, {"negatives": 64},
        {"epochs": 3}, {"walk_length": 1}, {"walk_length": 41}, {"p": 0.5, "q": 2.0}, {"noise_power": 0.0},
    ],
    ids=repr,
)  # fmt: skip
def test_any_sensible_setting_works(changes):
    model = efge.EFGE(**({"dim": 8, "walks_per_node": 5, "seed": 1} | changes)).fit(nx.karate_club_graph())
    assert np.isfinite(model.embedding_.vectors).all()
    likelihood = model.history_["log_likelihood"]
    assert changes.get("walk_length") == 1 or likelihood[-1] > likelihood[0]


@pytest.mark.parametrize("nodes", [[], ["a"], ["a", "b", "c"]], ids=len)
def test_nodes_without_edges_keep_their_place(nodes):
    model = efge.EFGE(dim=4, seed=0).fit(efge.as_graph(np.empty((0, 2), int), nodes=nodes))
    assert model.embedding_.names.tolist() == nodes
    assert model.embedding_.vectors.shape == (len(nodes), 4)


def test_isolated_nodes_among_others_stay_where_they_began():
    graph = efge.as_graph([("a", "b"), ("b", "c")], nodes=["a", "x", "b", "c"])
    model = efge.EFGE(dim=4, seed=0).fit(graph)
    assert model.embedding_.names.tolist() == ["a", "x", "b", "c"]
    assert np.abs(model.embedding_["x"]).max() <= 0.5 / 4
    assert np.abs(model.embedding_["a"]).max() > 0.5 / 4


@pytest.mark.parametrize("trainer", ["fast", "reference"])
def test_the_likelihood_of_pairs_held_apart_rises(trainer):
    model = efge.EFGE("bernoulli", dim=16, seed=2, trainer=trainer).fit(nx.barabasi_albert_graph(300, 3, seed=1))
    history = model.history_
    assert len(history["pairs"]) == len(history["log_likelihood"]) == 21
    assert history["pairs"][0] == 0
    assert history["pairs"][-1] == 300 * 80 * 90
    assert history["log_likelihood"][-1] > history["log_likelihood"][0] + 0.2


def test_the_likelihood_is_that_of_the_vectors():
    walks = efge.Walks(nx.karate_club_graph(), walks_per_node=3, seed=5)
    family, chosen = efge.Normal(), settings()
    corpus, model, plan, room = prepared(walks, family, chosen)
    random = np.random.default_rng(0)
    for table in tables_of(model, room, chosen):
        table[:] = random.normal(size=(34, 8)) * 0.5
    with Threads(3) as threads:
        look = training._look(corpus, family, model, plan, threads)
        look(0)
    scores = np.einsum("id,ikd->ik", model.centers[look.sample[:, 0]], model.contexts[look.sample[:, 1:]])
    scores = np.clip(scores.astype(float), *family.bounds)
    counts = look.sample[:, 2:] != look.sample[:, 1:2]
    expected = family.log_prob(1.0, scores[:, 0]) + (family.log_prob(0.0, scores[:, 1:]) * counts).sum(1)
    assert look.state.history["log_likelihood"] == [pytest.approx(expected.mean(), rel=1e-5)]


def test_pairs_held_apart_are_no_walks_of_the_training():
    walks = efge.Walks(nx.barabasi_albert_graph(500, 4, seed=1), walks_per_node=5, seed=3)
    seen = {tuple(walk.tolist()) for some in walks.rounds() for walk in some}
    apart = [tuple(walk.tolist()) for walk in walks.held_apart(300)]
    assert len(apart) == 300
    assert sum(walk in seen for walk in apart) < 3


def test_of_a_corpus_every_hundredth_walk_is_held_apart():
    listed = [[i % 7, (i + 1) % 7] for i in range(250)]
    walks = efge.Walks(nx.cycle_graph(7), efge.CorpusWalk(listed), seed=0)
    apart = [walk.tolist() for walk in walks.held_apart(1000)]
    assert apart == [listed[99], listed[199]]
    trained = [walk.tolist() for some in Corpus(walks, settings().window, 1)._rounds(0) for walk in some]
    assert trained == [walk for i, walk in enumerate(listed) if i not in (99, 199)]


def test_training_stops_when_the_likelihood_no_longer_rises():
    graph = nx.complete_graph(6)
    stopped = efge.EFGE("bernoulli", dim=4, seed=0, patience=2, walks_per_node=500).fit(graph)
    whole = efge.EFGE("bernoulli", dim=4, seed=0, walks_per_node=500).fit(graph)
    assert len(stopped.history_["pairs"]) < len(whole.history_["pairs"])
    assert stopped.history_["log_likelihood"] == whole.history_["log_likelihood"][: len(stopped.history_["pairs"])]
    *_, best, second, last = stopped.history_["log_likelihood"]
    assert max(second, last) <= best


@pytest.mark.parametrize("start", [np.inf, np.nan, 3e38])
def test_what_leaves_the_finite_numbers_is_told_and_not_written(start):
    walks = efge.Walks(nx.karate_club_graph(), walks_per_node=2, seed=5)
    corpus, model, plan, room = prepared(walks, efge.Normal(), settings(), 2)
    work, _ = next(corpus.pieces(10**9))
    model.contexts[33] = start
    kernel.train(0, 1, work, model, plan, room)
    assert room.signals[steps.BROKEN] > 0
    assert np.isfinite(model.centers).all()
    assert np.isfinite(np.delete(model.contexts[: room.nodes], 33, axis=0)).all()


def test_training_that_diverges_says_what_to_lower_and_keeps_the_last_good_state():
    model = efge.EFGE("poisson", dim=8, learning_rate=50.0, trainer="reference", seed=0)
    with pytest.raises(efge.TrainingError, match=r"Poisson\(\): .* in round \d+ .*; lower learning_rate \(it is 50\)"):
        model.fit(nx.karate_club_graph())
    assert np.isfinite(model.embedding_.vectors).all()
    assert model.embedding_.vectors.shape == (34, 8)


def dead_ends():
    """A directed graph where walks end early, at lengths that differ from epoch to epoch."""
    random = np.random.default_rng(0)
    edges = np.column_stack([np.repeat(np.arange(2000), 3), random.integers(0, 2000, 6000)])
    return efge.as_graph(edges[random.random(2000)[edges[:, 0]] > 0.04], directed=True, nodes=range(2000))


def test_walks_of_other_lengths_in_each_epoch_have_room_and_the_right_rate():
    told, chosen = [], {"walk": "uniform", "walk_length": 500, "walks_per_node": 1, "epochs": 4, "seed": 1}
    model = efge.EFGE(dim=8, threads=1, **chosen).fit(dead_ends(), progress=told.append)
    assert told[-1].pairs == told[-1].total == model.history_["pairs"][-1]
    walks = efge.Walks(dead_ends(), walk_length=500, walks_per_node=1, seed=1)
    corpus, _, plan, _ = prepared(walks, efge.Normal(), settings(epochs=4))
    longest = [max(longest_block(some, corpus._blocks(some)) for some in walks.rounds(epoch)) for epoch in range(4)]
    assert len(set(longest)) > 1, "every epoch has the same lengths: the test shows nothing"
    assert corpus.longest_block == max(longest)
    assert plan.rate - plan.rate_fall * corpus.centers == pytest.approx(0.0001)


@pytest.mark.parametrize("walks", [[], [[]]], ids=repr)
def test_a_corpus_without_a_node_is_refused(walks):
    with pytest.raises(efge.GraphError, match="walks to train on visit nodes; these are empty"):
        efge.EFGE(dim=4).fit(efge.Walks([(0, 1)], efge.CorpusWalk(walks)))


def test_text_that_ends_in_a_block_without_walks_is_trained_on(tmp_path):
    path = tmp_path / "walks.txt"
    path.write_text("a b c b\n" * 262_145 + "\n")
    walks = efge.Walks([("a", "b"), ("b", "c")], efge.CorpusWalk(path), seed=0)
    assert np.isfinite(efge.EFGE(dim=2).fit(walks).embedding_.vectors).all()


def test_patience_does_not_count_when_there_is_nothing_to_look_at():
    listed = [["a"] if i % 100 == 99 else ["a", "b", "a"] for i in range(400)]
    walks = efge.Walks([("a", "b")], efge.CorpusWalk(listed), seed=0)
    assert efge.EFGE(dim=4, patience=2).fit(walks).history_["pairs"][-1] == 396 * 6


def test_numbers_of_any_type_compile_nothing_again():
    graph = nx.path_graph(5)
    efge.EFGE(dim=4, learning_rate=1.0, seed=0).fit(graph)
    compiled = len(kernel.train.signatures)
    efge.EFGE(dim=np.int32(4), learning_rate=1, window=np.int16(3), negatives=np.int64(2), seed=0).fit(graph)
    assert len(kernel.train.signatures) == compiled


@pytest.mark.parametrize("failing", [0, 1])
def test_threads_do_not_wait_for_one_that_never_comes(monkeypatch, failing):
    """As when an interrupt arrives after some threads have started, and before the main one joins them."""
    original = kernel.train

    def interrupted(thread, *rest):
        if thread == failing:
            raise KeyboardInterrupt
        return original(thread, *rest)

    monkeypatch.setattr(training.kernel, "train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        efge.EFGE(dim=8, walks_per_node=2, seed=0, threads=3).fit(nx.barabasi_albert_graph(3000, 3, seed=1))


def test_a_corpus_of_long_walks_is_cut():
    walk = np.random.default_rng(0).integers(30, size=5000).tolist()
    walks = efge.Walks(nx.complete_graph(30), efge.CorpusWalk([walk]), seed=0)
    assert [len(part) for some in walks.rounds() for part in some] == [1024] * 4 + [904]
    assert np.isfinite(efge.EFGE(dim=4).fit(walks).embedding_.vectors).all()


def test_places_of_a_tree_that_a_round_sees_often_are_averaged():
    walks = efge.Walks(nx.barabasi_albert_graph(2000, 4, seed=1), walks_per_node=10, seed=3)
    corpus, model, _, room = prepared(walks, efge.Bernoulli(), settings(softmax=True))
    blocks = len(room.now.counts)
    assert blocks > 4
    # Each pair passes the root; a place near the leaves is passed by hardly any.
    passes = training.huffman(corpus.visits).passes(corpus.visits)
    assert model.shares[passes.argmax()] == pytest.approx(1 / blocks, rel=0.01)
    assert model.shares.max() == 1.0
    assert (np.diff(model.shares[np.argsort(passes)]) <= 1e-6).all()


def test_pools_serve_longer_in_larger_graphs():
    chosen = settings(negatives=5)
    sizes = [training.pool_size(chosen, 9.0, nodes) for nodes in (34, 2708, 5000, 10_000, 1_000_000)]
    assert sizes == [177, 133, 72, 36, 30]


def test_the_plan_knows_how_large_the_graph_is():
    graph = nx.random_regular_graph(4, 6000, seed=1)
    walks = efge.Walks(graph, walks_per_node=1, walk_length=10, seed=1)
    corpus, family = Corpus(walks, 10, 1), as_family("normal")
    slopes = cubics(family, "slope")
    assert training._plan(corpus, family, settings(window=10, negatives=5), slopes).pool == 60
