"""Nodes as the rows of scikit-learn's data: a transformer that turns names of nodes into their vectors."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin, clone

from efge.embedding.embedding import Embedding
from efge.families.base import Family
from efge.graph.inputs import as_graph
from efge.graph.names import list_names
from efge.models.base import NodeEmbedder
from efge.walks.strategies import Node2VecWalk, UniformWalk, WeightedWalk

# Vectors that are kept for the next fit with equal parameters take at most this many bytes, or are one table.
_MAX_CACHED_BYTES = 1 << 30
# Parameters that are equal if they print the same; a corpus of walks may change without that.
_COMPARABLE = (type(None), bool, int, float, str, np.generic, Family, Node2VecWalk, UniformWalk, WeightedWalk)


class NodeFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Transformer from names of nodes to their vectors, for scikit-learn's pipelines, cross-validation and searches.

    The rows of the data are nodes, and the graph is a parameter: `fit` always embeds the whole graph, without any
    labels, and `transform` looks the nodes up. So a fold is a set of nodes, as it is a set of rows for other data.

    Vectors are kept in memory: in one process, an estimator with equal parameters is fitted once to a graph, whatever
    the number of folds and of settings of later steps. Without a seed, the vectors of one random seed are kept.

    Parameters
    ----------
    graph : Graph, or anything :func:`efge.as_graph` takes
        A :class:`efge.Graph` is not copied when scikit-learn copies its estimators.
    estimator : NodeEmbedder, optional
        By default, ``EFGE()``. In searches, its parameters are named such as ``nodefeatures__estimator__window``.

    Attributes
    ----------
    embedding_ : Embedding
        The vectors of all nodes.

    Examples
    --------
    >>> import efge
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from itertools import combinations
    >>> graph = efge.as_graph([*combinations("abcdef", 2), ("f", "g"), *combinations("ghijkl", 2)])
    >>> nodes, classes = list("abcdefghijkl"), ["first"] * 6 + ["second"] * 6
    >>> model = make_pipeline(efge.NodeFeatures(graph, efge.EFGE(dim=4, seed=0)), LogisticRegression())
    >>> float(cross_val_score(model, nodes, classes, cv=3).mean())
    1.0
    """

    embedding_: Embedding

    def __init__(self, graph: Any, estimator: NodeEmbedder | None = None) -> None:
        self.graph = graph
        self.estimator = estimator

    def fit(self, X: Any = None, y: Any = None) -> NodeFeatures:  # noqa: N803
        """Embed the graph, unless that was done before with equal parameters.

        Parameters
        ----------
        X : names of nodes, optional
            Each must be a node of the graph.
        y : ignored

        Examples
        --------
        >>> import efge
        >>> efge.NodeFeatures([("a", "b"), ("b", "c")], efge.HOPE(dim=2, seed=0)).fit(["a"]).embedding_
        Embedding(3 nodes, 2 dimensions)
        """
        from efge.models.efge import EFGE

        estimator = EFGE() if self.estimator is None else self.estimator
        if not isinstance(estimator, NodeEmbedder):
            raise TypeError(f"estimator must be one of efge's, such as EFGE(); got {estimator!r}")
        self.embedding_ = _CACHE.embed(as_graph(self.graph), estimator)
        if X is not None:
            self.embedding_._rows(_as_names(X))
        return self

    def transform(self, X: Any) -> npt.NDArray[np.float32]:  # noqa: N803
        """Return the vectors of nodes.

        Parameters
        ----------
        X : names of nodes
            A list, array or Series, or one column of a data frame.

        Examples
        --------
        >>> import efge
        >>> features = efge.NodeFeatures([("a", "b"), ("b", "c")], efge.HOPE(dim=2, seed=0))
        >>> features.fit_transform(["c", "a", "c"]).shape
        (3, 2)
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        return self.embedding_.vectors[self.embedding_._rows(_as_names(X))]

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the dimensions, which scikit-learn uses as columns of data frames.

        Examples
        --------
        >>> import efge
        >>> efge.NodeFeatures([("a", "b")], efge.HOPE(dim=2, seed=0)).fit().get_feature_names_out().tolist()
        ['node0', 'node1']
        """
        return np.array([f"node{i}" for i in range(self.embedding_.dim)], object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array, tags.input_tags.two_d_array, tags.input_tags.string = True, False, True
        return tags


def _as_names(nodes: Any) -> list[Hashable]:
    """Return the names in a list, an array or one column of a data frame."""
    if getattr(nodes, "ndim", 1) == 1:
        return list_names("X", nodes)
    values = np.asarray(nodes)
    if values.ndim != 2 or values.shape[1] != 1:
        raise ValueError(f"the data are names of nodes, in one column; got an array of shape {values.shape}")
    names: list[Hashable] = values[:, 0].tolist()
    return names


class _Entry:
    """A place in the cache, which is locked while its vectors are being learned."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.embedding: Embedding | None = None

    @property
    def nbytes(self) -> int:
        return 0 if self.embedding is None else self.embedding.vectors.nbytes


class _EmbeddingCache:
    """The last embeddings, by graph and parameters."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.entries: OrderedDict[tuple[Hashable, ...], _Entry] = OrderedDict()

    def embed(self, graph: Any, estimator: NodeEmbedder) -> Embedding:
        """Return the vectors of a graph, learned now or before."""
        settings = _comparable_settings(estimator)
        if settings is None:
            return _fit_copy(graph, estimator)
        key = graph.fingerprint(), *settings
        with self.lock:
            entry = self.entries.setdefault(key, _Entry())
            self.entries.move_to_end(key)
        with entry.lock:
            if entry.embedding is None:
                entry.embedding = _fit_copy(graph, estimator)
                self._evict()
            return entry.embedding

    def _evict(self) -> None:
        """Forget the oldest embeddings while all of them take too much memory."""
        with self.lock:
            size = sum(entry.nbytes for entry in self.entries.values())
            while size > _MAX_CACHED_BYTES and len(self.entries) > 1:
                size -= self.entries.popitem(last=False)[1].nbytes


_CACHE = _EmbeddingCache()


def _fit_copy(graph: Any, estimator: NodeEmbedder) -> Embedding:
    embedding: Embedding = clone(estimator).fit(graph).embedding_
    return embedding


def _comparable_settings(estimator: NodeEmbedder) -> tuple[Hashable, ...] | None:
    """Return what the vectors depend on besides the graph; None if parameters cannot be compared."""
    parameters = estimator.get_params()
    parameters.pop("threads", None)
    if not all(isinstance(value, _COMPARABLE) for value in parameters.values()):
        return None
    return (type(estimator), *((name, type(value), repr(value)) for name, value in sorted(parameters.items())))
