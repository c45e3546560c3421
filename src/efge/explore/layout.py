"""Projections of vectors to the plane; the result depends on the seed, but not on the number of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.embedding.embedding import Embedding
from efge.errors import EmbeddingError, check_choice
from efge.parallel import single_threaded_blas, single_threaded_openmp
from efge.random import check_seed, stream_key

Positions = npt.NDArray[np.float64]
Method = Callable[[Positions, int], tuple[Positions, str]]

# Up to this number of nodes, t-SNE takes at most a minute on one core.
_MAX_TSNE_NODES = 5000
# t-SNE and UMAP search neighbors in this number of principal components: more take time and do not change the map.
_MAX_COMPONENTS = 50
# Fewer nodes than this have no neighborhoods that a map could preserve.
_MIN_NODES = 5
_PERPLEXITY, _UMAP_NEIGHBORS = 30.0, 15


class Layout(NamedTuple):
    """Positions of the nodes, one per row, and a description of the projection."""

    places: npt.NDArray[np.float32]
    about: str


def lay_out(embedding: Embedding, method: str | None = None, seed: int = 0) -> Layout:
    """Project the vectors of an embedding to the plane.

    Parameters
    ----------
    embedding : Embedding
    method : "tsne", "umap" or "pca", optional
        t-SNE and UMAP (which needs ``umap-learn``) preserve neighborhoods by cosine, as :meth:`Embedding.neighbors`
        finds them; "pca" preserves the largest distances. By default, vectors with one or two dimensions are drawn
        directly; others use t-SNE up to 5,000 nodes, and principal components beyond.
    seed : int
        The same vectors, method and seed give the same positions.

    Returns
    -------
    Layout
        The positions as an array ``places`` of shape (n, 2), and their description ``about``.

    Examples
    --------
    >>> layout = lay_out(Embedding([[1, 0], [0.6, 0.8], [0, 2]]))
    >>> layout.about
    'the two dimensions of the vectors'
    >>> lay_out(Embedding([[1, 0, 0], [0, 2, 0]]), "pca").places.shape
    (2, 2)
    """
    if not isinstance(embedding, Embedding):
        raise EmbeddingError(f"a map shows an Embedding or a fitted estimator; got {type(embedding).__name__}")
    seed = check_seed(seed)
    if method is not None:
        check_choice("projection method", method, _METHODS, EmbeddingError)
    project = _default_method(embedding) if method is None else _METHODS[method]
    positions, about = project(embedding.vectors.astype(np.float64), seed)
    return Layout(_clip_to_float32(positions), about)


def _default_method(embedding: Embedding) -> Method:
    if embedding.dim <= 2:
        return _two_dimensions if embedding.dim == 2 else _one_dimension
    return _tsne if len(embedding) <= _MAX_TSNE_NODES else _pca


def _two_dimensions(vectors: Positions, seed: int) -> tuple[Positions, str]:
    return vectors, "the two dimensions of the vectors"


def _one_dimension(vectors: Positions, seed: int) -> tuple[Positions, str]:
    # Nodes on one line would hide each other; random heights within a tenth of the width separate them.
    width = float(np.ptp(vectors)) if len(vectors) else 0.0
    heights = _generator(seed).uniform(-0.05, 0.05, vectors.shape) * (width or 1.0)
    return np.hstack([vectors, heights]), "the one dimension of the vectors, from left to right; heights are random"


def _pca(vectors: Positions, seed: int) -> tuple[Positions, str]:
    return principal_components(vectors, 2), f"the first two principal components of {vectors.shape[1]} dimensions"


def _tsne(vectors: Positions, seed: int) -> tuple[Positions, str]:
    from sklearn.manifold import TSNE

    if len(vectors) < _MIN_NODES:
        return _pca(vectors, seed)
    points = _normalize(vectors)
    model = TSNE(
        perplexity=min(_PERPLEXITY, (len(points) - 1) / 3),
        init=_initial_positions(points, seed),
        random_state=_random_state(seed),
        n_jobs=1,
    )
    with single_threaded_blas(), single_threaded_openmp():
        positions: Positions = model.fit_transform(points)
    return positions, f"t-SNE of {vectors.shape[1]} dimensions"


def _umap(vectors: Positions, seed: int) -> tuple[Positions, str]:
    import warnings

    try:
        from umap import UMAP
    except ImportError:
        raise ImportError(
            "UMAP needs the package umap-learn, which is not installed; install it or use the method tsne"
        ) from None
    if len(vectors) < _MIN_NODES:
        return _pca(vectors, seed)
    points = _normalize(vectors)
    n_neighbors = min(_UMAP_NEIGHBORS, len(points) - 1)
    init = _initial_positions(points, seed) * 1e5
    model = UMAP(n_neighbors=n_neighbors, init=init, random_state=_random_state(seed), n_jobs=1)
    with warnings.catch_warnings():
        # UMAP warns about our choice of options, and about nodes without neighbors; both are intended.
        warnings.simplefilter("ignore")
        positions: Positions = model.fit_transform(points)
    return np.nan_to_num(positions), f"UMAP of {vectors.shape[1]} dimensions"


_METHODS: dict[str, Method] = {"tsne": _tsne, "umap": _umap, "pca": _pca}


def principal_components(vectors: Positions, n_components: int) -> Positions:
    """Return the coordinates along the principal components; zeros if there are fewer components than that.

    Examples
    --------
    >>> principal_components(np.array([[0.0, 3.0], [0.0, 1.0]]), 2).tolist()
    [[1.0, 0.0], [-1.0, 0.0]]
    """
    centered = vectors - vectors.mean(axis=0, keepdims=True) if len(vectors) else vectors
    # Both matrices have the same nonzero eigenvalues; take the smaller one.
    by_nodes = len(vectors) < vectors.shape[1]
    with single_threaded_blas():
        values, directions = np.linalg.eigh(centered @ centered.T if by_nodes else centered.T @ centered)
        directions = directions[:, ::-1][:, :n_components]
        scales = np.sqrt(np.maximum(values[::-1][:n_components], 0))
        components = directions * scales if by_nodes else centered @ directions
    # The sign of a component is arbitrary: make its largest entry positive.
    columns = np.arange(components.shape[1])
    largest = components[np.argmax(np.abs(components), axis=0), columns] if len(components) else np.ones(0)
    padded = np.zeros((len(vectors), n_components))
    padded[:, : components.shape[1]] = components * np.where(largest < 0, -1.0, 1.0)
    return padded


def _normalize(vectors: Positions) -> Positions:
    """Scale vectors to length one, so that distances follow cosines; zero vectors stay zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    points = vectors / np.where(lengths > 0, lengths, 1)
    return principal_components(points, _MAX_COMPONENTS) if points.shape[1] > _MAX_COMPONENTS else points


def _initial_positions(points: Positions, seed: int) -> npt.NDArray[np.float32]:
    """Return scaled-down principal components; noise separates equal points."""
    positions = principal_components(points, 2)
    positions /= positions[:, 0].std() or 1.0
    positions += _generator(seed).normal(0, 1e-3, positions.shape)
    return (positions * 1e-4).astype(np.float32)


def _clip_to_float32(positions: Positions) -> npt.NDArray[np.float32]:
    """Clip positions far below the largest 32-bit float, so that computations in the page do not overflow."""
    return np.clip(positions, -1e30, 1e30).astype(np.float32)


def _random_state(seed: int) -> int:
    return int(stream_key(seed, 0, "map")) % 2**32


def _generator(seed: int) -> Any:
    return np.random.default_rng(_random_state(seed))
