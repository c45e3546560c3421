"""The corpus: what is counted of walks, held-out walks, and the learning rate over all chunks."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

import efge
import reference
from efge.training.corpus import _MIN_NODES_PER_THREAD, Corpus
from efge.walks.walks import WalkBatch
from helpers import prepare_training, training_settings


def blocks_of_walks(lengths, centers_per_block=40):
    """Return the first walk of each block, and the end: a block begins where a new stretch of centers does."""
    firsts = [sum(lengths[:walk]) for walk in range(len(lengths))]
    stretches = [first // centers_per_block for first in firsts]
    begins = [walk for walk in range(len(lengths)) if not walk or stretches[walk] != stretches[walk - 1]]
    return [*begins, len(lengths)]


def test_visits_are_those_of_the_walks():
    walks = efge.Walks(nx.star_graph(20), walks_per_node=5, seed=3)
    corpus = Corpus(walks, 10, 2)
    nodes = [batch.nodes for epoch in range(2) for batch in walks.batches(epoch)]
    assert corpus.visits.tolist() == np.bincount(np.concatenate(nodes)).tolist()
    assert corpus.positions == 2 * 21 * 5 * 10
    assert corpus.pairs == 2 * 21 * 5 * 90


@pytest.mark.parametrize("window", [1, 3, 9, 50])
def test_pairs_are_counted_as_the_window_has_them(window):
    walk_lengths = [1, 2, 5, 10, 11]
    batch = WalkBatch(np.zeros(29, np.int32), np.cumsum([0, *walk_lengths]))
    walks = efge.Walks([(0, 1)], seed=0)
    run = prepare_training(walks, efge.Normal(), training_settings(window=window))
    expected = [sum(len(reference.context_positions([0] * n, p, run.config)) for p in range(n)) for n in walk_lengths]
    assert np.diff(run.corpus._plan(batch).pairs_before).tolist() == expected


@pytest.mark.parametrize("lengths", [[10] * 37, [1], [3, 90, 1, 1, 41, 2] * 20], ids=["equal", "one", "mixed"])
def test_walks_that_begin_in_the_same_stretch_of_centers_are_a_block(lengths):
    batch = WalkBatch(np.zeros(sum(lengths), np.int32), np.cumsum([0, *lengths]))
    corpus = Corpus(efge.Walks([(0, 1)], seed=0), 10, 1)
    plan = corpus._plan(batch)
    assert plan.blocks.tolist() == blocks_of_walks(lengths)
    cuts = plan.blocks
    assert plan.longest_block == max(sum(lengths[a:b]) for a, b in pairwise(cuts))


def test_threads_count_the_same_visits():
    graph = nx.barabasi_albert_graph(2000, 3, seed=1)
    assert 8 * _MIN_NODES_PER_THREAD < 2000 * 10 * 10, "too few nodes for several threads"
    counts = [Corpus(efge.Walks(graph, walks_per_node=10, seed=3, threads=n), 10, 1).visits for n in (1, 4)]
    assert counts[0].tolist() == counts[1].tolist()


def test_the_learning_rate_falls_to_its_minimum_over_all_centers():
    walks = efge.Walks(nx.karate_club_graph(), walks_per_node=2, seed=5)
    run = prepare_training(walks, efge.Normal(), training_settings(epochs=3))
    corpus, config = run.corpus, run.config
    assert config.learning_rate - config.rate_decay * corpus.positions == pytest.approx(0.0001)
    firsts = [work.first_position + int(work.offsets[work.blocks[0]]) for work, _ in corpus.chunks(2, 3)]
    assert firsts == sorted(set(firsts))
    assert firsts[-1] > corpus.positions * 0.8


def test_held_out_walks_are_not_trained_on():
    walks = efge.Walks(nx.barabasi_albert_graph(500, 4, seed=1), walks_per_node=5, seed=3)
    trained = {tuple(walk.tolist()) for batch in walks.batches() for walk in batch}
    held_out = [tuple(walk.tolist()) for walk in walks.held_out(300)]
    assert len(held_out) == 300
    assert sum(walk in trained for walk in held_out) < 3


def test_of_ready_walks_every_hundredth_is_held_out():
    listed = [[i % 7, (i + 1) % 7] for i in range(250)]
    walks = efge.Walks(nx.cycle_graph(7), efge.CorpusWalk(listed), seed=0)
    assert [walk.tolist() for walk in walks.held_out(1000)] == [listed[99], listed[199]]
    trained = [walk.tolist() for batch in Corpus(walks, 10, 1)._batches(0) for walk in batch]
    assert trained == [walk for i, walk in enumerate(listed) if i not in (99, 199)]


def graph_with_dead_ends():
    """A directed graph where walks end early, at lengths that differ from epoch to epoch."""
    random = np.random.default_rng(0)
    edges = np.column_stack([np.repeat(np.arange(2000), 3), random.integers(0, 2000, 6000)])
    return efge.as_graph(edges[random.random(2000)[edges[:, 0]] > 0.04], directed=True, nodes=range(2000))


def test_walks_of_other_lengths_in_each_epoch_have_space_and_the_right_rate():
    reports, options = [], {"walk": "uniform", "walk_length": 500, "walks_per_node": 1, "epochs": 4, "seed": 1}
    model = efge.EFGE.paper(dim=8, threads=1, **options).fit(graph_with_dead_ends(), progress=reports.append)
    assert reports[-1].pairs == reports[-1].total == model.history_["pairs"][-1]
    walks = efge.Walks(graph_with_dead_ends(), walk_length=500, walks_per_node=1, seed=1)
    run = prepare_training(walks, efge.Normal(), training_settings(epochs=4))
    corpus, config = run.corpus, run.config
    longest = [max(corpus._plan(batch).longest_block for batch in walks.batches(epoch)) for epoch in range(4)]
    assert len(set(longest)) > 1, "every epoch has the same lengths: the test shows nothing"
    assert corpus.longest_block == max(longest)
    assert config.learning_rate - config.rate_decay * corpus.positions == pytest.approx(0.0001)


@pytest.mark.parametrize("walks", [[], [[]]], ids=repr)
def test_a_corpus_without_a_node_is_an_error(walks):
    with pytest.raises(efge.GraphError, match="walks to train on visit nodes; these are empty"):
        efge.EFGE.paper(dim=4).fit(efge.Walks([(0, 1)], efge.CorpusWalk(walks)))


def test_text_that_ends_in_a_block_without_walks_is_trained_on(tmp_path):
    path = tmp_path / "walks.txt"
    path.write_text("a b c b\n" * 262_145 + "\n")
    walks = efge.Walks([("a", "b"), ("b", "c")], efge.CorpusWalk(path), seed=0)
    model = efge.EFGE.paper(dim=2).fit(walks)
    assert np.isfinite(model.embedding_.vectors).all()
    assert model.history_["pairs"][-1] == (262_145 - 2621) * 12


def test_long_ready_walks_are_cut():
    walk = np.random.default_rng(0).integers(30, size=5000).tolist()
    walks = efge.Walks(nx.complete_graph(30), efge.CorpusWalk([walk]), seed=0)
    assert [len(part) for batch in walks.batches() for part in batch] == [1024] * 4 + [904]
    assert np.isfinite(efge.EFGE.paper(dim=4).fit(walks).embedding_.vectors).all()
