"""Projections to the plane: finite, reproducible, and true to neighborhoods."""

import sys
import types

import numpy as np
import pytest

import efge
from efge.explore import lay_out
from efge.explore.layout import principal_components
from example_pages import three_clusters


@pytest.mark.parametrize("method", [None, "tsne", "pca"])
@pytest.mark.parametrize("dim", [1, 2, 3, 60])
def test_positions_are_finite_for_any_vectors(method, dim):
    random = np.random.default_rng(0)
    for count in (1, 2, 3, 4, 5, 7):
        for vectors in (random.normal(size=(count, dim)), np.zeros((count, dim)), np.full((count, dim), 3e38)):
            layout = lay_out(efge.Embedding(vectors), method)
            assert layout.places.shape == (count, 2)
            assert np.isfinite(layout.places).all()


def test_the_default_method_depends_on_dimension_and_size():
    def about(count, dim):
        return lay_out(efge.Embedding(np.random.default_rng(0).normal(size=(count, dim)))).about

    assert about(6000, 2) == "the two dimensions of the vectors"
    assert about(20, 1) == "the one dimension of the vectors, from left to right; heights are random"
    assert about(20, 3) == "t-SNE of 3 dimensions"
    assert about(5001, 3) == "the first two principal components of 3 dimensions"
    assert about(4, 3) == "the first two principal components of 3 dimensions"


def test_one_dimension_goes_from_left_to_right():
    places = lay_out(efge.Embedding([[1.0], [3.0], [2.0]])).places
    assert places[:, 0].tolist() == [1, 3, 2]
    assert np.abs(places[:, 1]).max() <= 0.1


def test_tsne_keeps_clusters_together():
    places = lay_out(three_clusters(dim=60), "tsne").places
    distances = np.linalg.norm(places[:, None] - places, axis=2) + np.eye(60) * 1e9
    assert (distances.argmin(axis=1) // 20 == np.arange(60) // 20).all()


def test_other_seeds_give_other_maps():
    assert not np.array_equal(lay_out(three_clusters(), "tsne", 0).places, lay_out(three_clusters(), "tsne", 1).places)


@pytest.mark.parametrize("shape", [(30, 6), (5, 12)])
def test_principal_components_equal_those_of_scikit_learn(shape):
    from sklearn.decomposition import PCA

    vectors = np.random.default_rng(1).normal(size=shape)
    np.testing.assert_allclose(np.abs(principal_components(vectors, 2)), np.abs(PCA(2).fit_transform(vectors)))


def test_umap_gets_the_seed(monkeypatch):
    calls = []

    class UMAP:
        def __init__(self, **options):
            calls.append(options)

        def fit_transform(self, points):
            return points[:, :2]

    monkeypatch.setitem(sys.modules, "umap", types.SimpleNamespace(UMAP=UMAP))
    assert lay_out(three_clusters(), "umap", 1).about == "UMAP of 8 dimensions"
    assert lay_out(three_clusters(), "umap", 2).places.shape == (60, 2)
    assert calls[0]["random_state"] != calls[1]["random_state"]
