"""DeepWalk: hierarchical softmax learns probabilities of contexts."""

from __future__ import annotations

import math

import numpy as np
import pytest

import efge


def test_softmax_learns_the_frequencies_of_contexts():
    """From the center of a star, contexts at distance 1 are as frequent as the corpus has them."""
    walks = [["hub", leaf] for leaf, times in {"a": 600, "b": 300, "c": 90, "d": 10}.items() for _ in range(times)]
    order = np.random.default_rng(0).permutation(len(walks))
    graph = efge.as_graph([("hub", leaf) for leaf in "abcd"])
    source = efge.Walks(graph, efge.CorpusWalk([walks[i] for i in order]), seed=0)
    history = efge.DeepWalk(dim=8, window=1, epochs=20, learning_rate=0.2).fit(source).history_["log_likelihood"]
    frequencies = {"a": 0.6, "b": 0.3, "c": 0.09, "d": 0.01}
    expected = [math.log(frequencies[graph.names[walk[1]]]) for walk in source.held_out(1000)]
    # Half of all pairs are leaves with the hub for their context, which is certain.
    assert history[-1] == pytest.approx(np.mean(expected) / 2, abs=0.05)


def test_nodes_have_no_context_vectors():
    assert not hasattr(efge.DeepWalk(dim=4, seed=0).fit([("a", "b")]), "context_embedding_")
