"""DeepWalk and Node2Vec score as well as gensim's word2vec on the same walks."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

import efge
from helpers import labelled_network


def accuracy(vectors, labels):
    """Return the mean accuracy of a classifier over five splits into halves."""
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
@pytest.mark.slow
def test_scores_are_those_of_gensim_on_the_same_walks(networks, model, options):
    gensim = pytest.importorskip("gensim.models")
    graph, labels = labelled_network(networks / "cora")
    walks = efge.Walks(graph, "uniform", walks_per_node=20, walk_length=10, seed=0)
    word2vec = gensim.Word2Vec(
        [list(map(str, walk)) for walk in walks], vector_size=128, window=10, min_count=0, sample=0, sg=1, epochs=1,
        min_alpha=0.0001, workers=2, shrink_windows=False, seed=0, **options,
    )  # fmt: skip
    ours = accuracy(clone(model).fit(walks).embedding_.vectors, labels)
    theirs = accuracy(np.array([word2vec.wv[str(name)] for name in graph.names.tolist()]), labels)
    # One training each: the standard deviation of the difference is 0.005.
    assert ours == pytest.approx(theirs, abs=0.015)
