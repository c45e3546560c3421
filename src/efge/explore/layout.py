"""From vectors of any dimension to places in the plane, the same for the same seed at any number of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.embedding.embedding import Embedding
from efge.errors import EmbeddingError
from efge.random import stream_key

Places = npt.NDArray[np.float64]
Method = Callable[[Places, int], tuple[Places, str]]

# Up to so many nodes t-SNE takes a minute at most on one core.
_TSNE_UP_TO = 5000
# t-SNE and UMAP look for neighbors in so many principal components: more cost time, and show nothing else.
_COMPONENTS = 50
# Fewer nodes than this have no neighborhoods that a map could keep.
_FEWEST = 5
_PERPLEXITY, _UMAP_NEIGHBORS = 30.0, 15


class Layout(NamedTuple):
    """Places of nodes, a row each, and what they are."""

    places: npt.NDArray[np.float32]
    about: str


def lay_out(embedding: Embedding, method: str | None = None, seed: int = 0) -> Layout:
    """Places in the plane for the nodes of an embedding.

    Parameters
    ----------
    embedding : Embedding
    method : "tsne", "umap" or "pca", optional
        t-SNE and UMAP (which needs ``umap-learn``) keep neighborhoods by the cosine, as :meth:`Embedding.neighbors`
        has them; "pca" keeps the largest distances. By default, two dimensions are drawn as they are, and one along
        a line; others by t-SNE up to 5,000 nodes, and by their principal components beyond.
    seed : int
        The same vectors, method and seed give the same places.

    Returns
    -------
    Layout
        Places as an array of shape (n, 2), and a phrase that says what they are.

    Examples
    --------
    >>> layout = lay_out(Embedding([[1, 0], [0.6, 0.8], [0, 2]]))
    >>> layout.about
    'the two dimensions as they are'
    >>> lay_out(Embedding([[1, 0, 0], [0, 2, 0]]), "pca").places.shape
    (2, 2)
    """
    if method is not None and method not in _METHODS:
        raise EmbeddingError(f"no method {method!r} of a map; known: {', '.join(_METHODS)}")
    drawn = _fitting(embedding) if method is None else _METHODS[method]
    places, about = drawn(embedding.vectors.astype(np.float64), seed)
    return Layout(_in_range(places), about)


def _fitting(embedding: Embedding) -> Method:
    """The method for an embedding where none is asked for."""
    if embedding.dim <= 2:
        return _plain if embedding.dim == 2 else _line
    return _tsne if len(embedding) <= _TSNE_UP_TO else _pca


def _plain(vectors: Places, seed: int) -> tuple[Places, str]:
    return vectors, "the two dimensions as they are"


def _line(vectors: Places, seed: int) -> tuple[Places, str]:
    # Nodes side by side would hide each other: heights up to a tenth of the width tell them apart.
    width = float(np.ptp(vectors)) if len(vectors) else 0.0
    heights = _random(seed).uniform(-0.05, 0.05, vectors.shape) * (width or 1.0)
    return np.hstack([vectors, heights]), "the one dimension from left to right; heights mean nothing"


def _pca(vectors: Places, seed: int) -> tuple[Places, str]:
    return principal_components(vectors, 2), f"the two principal components of {vectors.shape[1]} dimensions"


def _tsne(vectors: Places, seed: int) -> tuple[Places, str]:
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    if len(vectors) < _FEWEST:
        return _pca(vectors, seed)
    points = _directions(vectors)
    model = TSNE(
        perplexity=min(_PERPLEXITY, (len(points) - 1) / 3),
        init=_begin(points, seed),
        random_state=_state(seed),
        n_jobs=1,
    )
    # Sums over threads would be rounded in another order each time.
    with threadpool_limits(1):
        places: Places = model.fit_transform(points)
    return places, f"t-SNE of {vectors.shape[1]} dimensions"


def _umap(vectors: Places, seed: int) -> tuple[Places, str]:
    import warnings

    try:
        from umap import UMAP
    except ImportError:
        raise ImportError("UMAP is in the package umap-learn, which is not installed; t-SNE is here") from None
    if len(vectors) < _FEWEST:
        return _pca(vectors, seed)
    points = _directions(vectors)
    neighbors = min(_UMAP_NEIGHBORS, len(points) - 1)
    model = UMAP(n_neighbors=neighbors, init=_begin(points, seed) * 1e5, random_state=_state(seed), n_jobs=1)
    with warnings.catch_warnings():
        # Of our own choices, and of nodes without neighbors; both are as they should be.
        warnings.simplefilter("ignore")
        places: Places = model.fit_transform(points)
    return np.nan_to_num(places), f"UMAP of {vectors.shape[1]} dimensions"


_METHODS: dict[str, Method] = {"tsne": _tsne, "umap": _umap, "pca": _pca}


def principal_components(vectors: Places, number: int) -> Places:
    """Coordinates along the directions in which vectors differ most; zeros where there are fewer directions.

    Examples
    --------
    >>> principal_components(np.array([[0.0, 3.0], [0.0, 1.0]]), 2).tolist()
    [[1.0, 0.0], [-1.0, 0.0]]
    """
    from threadpoolctl import threadpool_limits

    centered = vectors - vectors.mean(axis=0, keepdims=True) if len(vectors) else vectors
    # The matrix that is smaller; both have the same spectrum.
    by_nodes = len(vectors) < vectors.shape[1]
    with threadpool_limits(1):
        values, directions = np.linalg.eigh(centered @ centered.T if by_nodes else centered.T @ centered)
        directions = directions[:, ::-1][:, :number]
        scales = np.sqrt(np.maximum(values[::-1][:number], 0))
        found = directions * scales if by_nodes else centered @ directions
    # Directions have no sign of their own: the entry farthest from zero is positive.
    farthest = found[np.argmax(np.abs(found), axis=0), np.arange(found.shape[1])] if len(found) else np.ones(0)
    padded = np.zeros((len(vectors), number))
    padded[:, : found.shape[1]] = found * np.where(farthest < 0, -1.0, 1.0)
    return padded


def _directions(vectors: Places) -> Places:
    """Vectors of length one, between which distances follow cosines; zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    points = vectors / np.where(lengths > 0, lengths, 1)
    return principal_components(points, _COMPONENTS) if points.shape[1] > _COMPONENTS else points


def _begin(points: Places, seed: int) -> npt.NDArray[np.float32]:
    """Principal components, shrunk; equal points a little apart, so that there is a direction between them."""
    begin = principal_components(points, 2)
    begin /= begin[:, 0].std() or 1.0
    begin += _random(seed).normal(0, 1e-3, begin.shape)
    return (begin * 1e-4).astype(np.float32)


def _in_range(places: Places) -> npt.NDArray[np.float32]:
    """Places as 32-bit floats that a page can compute with: none is near the largest one there is."""
    return np.clip(places, -1e30, 1e30).astype(np.float32)


def _state(seed: int) -> int:
    return int(stream_key(seed, 0, "map")) % 2**32


def _random(seed: int) -> Any:
    return np.random.default_rng(_state(seed))
