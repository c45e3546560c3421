"""What all estimators share: scikit-learn's conventions, any graph for input, an embedding for the result."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from efge.checkpoints import Checkpoints
from efge.embedding import Embedding
from efge.errors import TrainingError
from efge.families import Family
from efge.inputs import as_graph
from efge.training import Progress, Settings, Trained, train
from efge.walks import Strategy, Walks

Self = TypeVar("Self", bound="WalkEmbedder")


class NodeEmbedder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator whose `fit` takes a graph and keeps the vectors of its nodes as `embedding_`.

    Examples
    --------
    >>> import efge
    >>> isinstance(efge.EFGE(), NodeEmbedder)
    True
    """

    embedding_: Embedding

    def transform(self, X: Any) -> npt.NDArray[np.float32]:  # noqa: N803
        """Vectors of a graph's nodes, in its order; all of them were nodes of the graph that was fitted.

        Examples
        --------
        >>> import efge
        >>> efge.EFGE(dim=4, seed=0).fit([("a", "b")]).transform([("b", "a")]).shape
        (2, 4)
        """
        check_is_fitted(self)
        graph = X.graph if isinstance(X, Walks) else as_graph(X)
        return np.asarray(self.embedding_[graph.names.tolist()])

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> npt.NDArray[np.float32]:  # noqa: N803
        """Learn the vectors of a graph's nodes; the array of them, in the graph's order.

        Examples
        --------
        >>> import efge
        >>> efge.EFGE(dim=4, seed=0).fit_transform([("a", "b"), ("b", "c")]).shape
        (3, 4)
        """
        return np.asarray(self.fit(X, y, **fit_params).embedding_)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of a vector's entries, for scikit-learn's data frames.

        Examples
        --------
        >>> import efge
        >>> efge.EFGE(dim=2, seed=0).fit([("a", "b")]).get_feature_names_out().tolist()
        ['efge0', 'efge1']
        """
        check_is_fitted(self)
        return np.array([f"{type(self).__name__.lower()}{i}" for i in range(self.embedding_.dim)], object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Where the input is a matrix, it has a row and a column for each node.
        tags.input_tags.pairwise = True
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags


class WalkEmbedder(NodeEmbedder):
    """An estimator that learns from walks: which ones, by which family and by what settings, its subclass says.

    Examples
    --------
    >>> import efge
    >>> isinstance(efge.EFGE(), WalkEmbedder)
    True
    """

    walks_per_node: int
    walk_length: int
    seed: int | None
    threads: int | None

    def _family(self) -> Family:
        raise NotImplementedError

    def _settings(self) -> Settings:
        raise NotImplementedError

    def _strategy(self) -> Strategy | str:
        raise NotImplementedError

    def fit(
        self: Self,
        X: Any,  # noqa: N803
        y: Any = None,
        *,
        progress: Callable[[Progress], None] | None = None,
        checkpoint: Checkpoints | str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn the vectors of a graph's nodes.

        Parameters
        ----------
        X : Graph, or anything :func:`efge.as_graph` takes, or Walks
            Ready :class:`efge.Walks` bring their own seed and threads, and parameters that make walks are of no effect.
        y : ignored
        progress : callable, optional
            Called with a :class:`efge.Progress` when walks are counted and training begins, then some times a second.
        checkpoint : Checkpoints, or path of a folder, optional
            Where to keep the state now and then, so that training can go on after it was stopped:
            ``Checkpoints(folder, resume=True)`` goes on, to the same bytes.

        Returns
        -------
        WalkEmbedder
            The estimator itself.

        Examples
        --------
        >>> import efge
        >>> walks = efge.Walks([("a", "b"), ("b", "c")], efge.CorpusWalk([["a", "b", "c", "b"]] * 50), seed=0)
        >>> efge.EFGE(dim=4).fit(walks).embedding_.names.tolist()
        ['a', 'b', 'c']
        """
        settings = self._settings()
        family = self._family()
        kept = checkpoint if checkpoint is None or isinstance(checkpoint, Checkpoints) else Checkpoints(checkpoint)
        walks = X if isinstance(X, Walks) else self._walks(X, kept)
        try:
            self._keep(walks, train(walks, family, settings, progress, kept))
        except TrainingError as error:
            self._keep(walks, error.trained)
            raise
        return self

    def _walks(self, graph: Any, kept: Checkpoints | None) -> Walks:
        # A run without a seed goes on with the one that it took.
        seed = kept.seed() if self.seed is None and kept is not None else self.seed
        return Walks(
            as_graph(graph),
            self._strategy(),
            walks_per_node=self.walks_per_node,
            walk_length=self.walk_length,
            seed=seed,
            threads=self.threads,
        )

    def _keep(self, walks: Walks, trained: Trained) -> None:
        self.seed_ = walks.seed
        self.embedding_ = Embedding._owning(trained.centers, walks.graph.names)
        self.context_embedding_ = Embedding._owning(trained.contexts, walks.graph.names)
        self.history_ = trained.history
