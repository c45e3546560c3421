"""Disjoint clusters of vectors by k-means, with the number of clusters chosen by silhouette if none is given."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from efge.embedding.embedding import Embedding
from efge.errors import check_positive_integers
from efge.parallel import single_threaded_blas, single_threaded_openmp

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

# Initializations of k-means, of which the best one counts.
_N_INIT = 10
# Number of nodes on whose mutual distances the silhouette is computed.
_SILHOUETTE_SAMPLE = 2000
# Numbers of clusters to try: one by one up to the first number, then each a factor larger than the one before.
_LAST_CONSECUTIVE, _GRID_RATIO = 8, math.sqrt(2)


def cluster_nodes(embedding: Embedding, n_communities: int | None, normalize: bool, seed: int) -> Rows:
    """Return the cluster of each node, by k-means; cluster 0 is the largest.

    Examples
    --------
    >>> cluster_nodes(Embedding([[0.0], [9.0], [0.1]]), n_communities=2, normalize=False, seed=0).tolist()
    [0, 1, 0]
    """
    import sklearn.cluster
    import sklearn.metrics  # noqa: F401

    check_positive_integers(n_communities=n_communities)
    n = len(embedding)
    if n_communities is not None and n_communities > n:
        raise ValueError(f"there cannot be more communities than nodes, {n}; got n_communities={n_communities}")
    vectors = embedding.vectors.astype(np.float64)
    if normalize:
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300)
    with single_threaded_blas(), single_threaded_openmp():
        if n_communities is None:
            n_communities = _choose_number(vectors, seed)
        if n_communities <= 1:
            return np.zeros(n, np.int64)
        labels = _k_means(vectors, n_communities, seed, _N_INIT)
    return _largest_first(labels)


def _largest_first(labels: Rows) -> Rows:
    sizes = np.bincount(labels)
    rank = np.empty(len(sizes), np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return rank[labels]


def _k_means(vectors: Floats, n_clusters: int, seed: int, n_init: int) -> Rows:
    from sklearn.cluster import KMeans

    return np.asarray(KMeans(n_clusters, n_init=n_init, random_state=seed % 2**32).fit_predict(vectors), np.int64)


def _choose_number(vectors: Floats, seed: int) -> int:
    """Return the number of clusters with the best silhouette on a sample; 1 if there are too few vectors for one."""
    from sklearn.metrics import silhouette_score

    n, best, best_score = len(vectors), 1, -np.inf
    sample = np.random.default_rng(seed).permutation(n)[:_SILHOUETTE_SAMPLE]
    candidate, largest = 2, min(max(math.isqrt(n), 2), n - 1)
    while candidate <= largest:
        labels = _k_means(vectors, candidate, seed, 1 if n > _SILHOUETTE_SAMPLE else _N_INIT)[sample]
        if 1 < len(np.unique(labels)) < len(sample):
            score = float(silhouette_score(vectors[sample], labels))
            best, best_score = max((best, best_score), (candidate, score), key=lambda tried: tried[1])
        candidate = candidate + 1 if candidate < _LAST_CONSECUTIVE else math.ceil(candidate * _GRID_RATIO)
    return best
