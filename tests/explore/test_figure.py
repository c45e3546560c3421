"""The map as a static figure."""

import numpy as np

import efge


def test_the_legend_lists_classes_by_size(tmp_path):
    vectors = efge.Embedding(np.random.default_rng(0).normal(size=(60, 2)))
    axes = efge.plot_embedding(vectors, {i: f"c{min(i // 3, 12)}" for i in range(59)})
    classes = [text.get_text() for text in axes.get_legend().get_texts()]
    assert classes[0] == "c12"
    assert (len(classes), classes[-1]) == (8, "other")
    axes.figure.savefig(tmp_path / "map.png")
    assert efge.plot_embedding(vectors).get_legend() is None
