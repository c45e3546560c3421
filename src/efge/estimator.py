"""What all estimators share: scikit-learn's conventions, any graph for input, an embedding for the result.

scikit-learn itself is only loaded when it asks: its import takes longer than embedding a small graph.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from efge.checkpoints import Checkpoints
from efge.embedding import Embedding
from efge.errors import TrainingError
from efge.families import Family
from efge.inputs import as_graph
from efge.strategies import Strategy
from efge.training import Progress, Settings, Trained, train
from efge.walks import Walks

AnyEmbedder = TypeVar("AnyEmbedder", bound="NodeEmbedder")
Self = TypeVar("Self", bound="WalkEmbedder")


class NodeEmbedder:
    """An estimator whose `fit` takes a graph and keeps the vectors of its nodes as `embedding_`.

    It goes by scikit-learn's conventions: clones, pipelines and searches work.

    Examples
    --------
    >>> import efge
    >>> isinstance(efge.EFGE(), NodeEmbedder)
    True
    """

    embedding_: Embedding
    fit: Callable[..., Any]

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """The parameters that the constructor takes, in its order, and their defaults."""
        _, *parameters = inspect.signature(cls.__init__).parameters.values()
        return {parameter.name: parameter.default for parameter in parameters}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; `deep` is of no effect, as none of them has parameters of its own.

        Examples
        --------
        >>> import efge
        >>> efge.HOPE(dim=8).get_params()
        {'dim': 8, 'beta': None, 'seed': None}
        """
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self: AnyEmbedder, **params: Any) -> AnyEmbedder:
        """Set parameters by name.

        Examples
        --------
        >>> import efge
        >>> efge.EFGE().set_params(dim=16)
        EFGE(dim=16)
        """
        known = self._defaults()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        given = {name: (repr(getattr(self, name)), repr(default)) for name, default in self._defaults().items()}
        changed = [f"{name}={value}" for name, (value, default) in given.items() if value != default]
        return f"{type(self).__name__}({', '.join(changed)})"

    def _check_fitted(self) -> None:
        if not hasattr(self, "embedding_"):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(f"this {type(self).__name__} has learned nothing yet; call fit with a graph first")

    def set_output(self: AnyEmbedder, *, transform: str | None = None) -> AnyEmbedder:
        """Let `transform` and `fit_transform` answer in a data frame: "pandas", "polars", or "default" for arrays.

        Examples
        --------
        >>> import efge
        >>> efge.EFGE(dim=2, seed=0).set_output(transform="pandas").fit_transform([("a", "b")]).columns.tolist()
        ['efge0', 'efge1']
        """
        if transform not in (None, "default", "pandas", "polars"):
            raise ValueError(f"vectors come as default, pandas or polars; got {transform!r}")
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def _framed(self, vectors: npt.NDArray[np.float32]) -> Any:
        """Vectors in what was asked for, of the estimator or of all of scikit-learn."""
        kind = getattr(self, "_sklearn_output_config", {}).get("transform")
        if kind is None and "sklearn" in sys.modules:
            kind = sys.modules["sklearn"].get_config()["transform_output"]
        if kind == "pandas":
            import pandas as pd

            return pd.DataFrame(vectors, columns=self.get_feature_names_out())
        if kind == "polars":
            import polars as pl

            return pl.DataFrame(vectors, schema=self.get_feature_names_out().tolist())
        return vectors

    def transform(self, X: Any) -> npt.NDArray[np.float32]:  # noqa: N803
        """Vectors of a graph's nodes, in its order; all of them were nodes of the graph that was fitted.

        Examples
        --------
        >>> import efge
        >>> efge.EFGE(dim=4, seed=0).fit([("a", "b")]).transform([("b", "a")]).shape
        (2, 4)
        """
        self._check_fitted()
        graph = X.graph if isinstance(X, Walks) else as_graph(X)
        framed: npt.NDArray[np.float32] = self._framed(np.asarray(self.embedding_[graph.names.tolist()]))
        return framed

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> npt.NDArray[np.float32]:  # noqa: N803
        """Learn the vectors of a graph's nodes; the array of them, in the graph's order.

        Examples
        --------
        >>> import efge
        >>> efge.EFGE(dim=4, seed=0).fit_transform([("a", "b"), ("b", "c")]).shape
        (3, 4)
        """
        framed: npt.NDArray[np.float32] = self._framed(np.asarray(self.fit(X, y, **fit_params).embedding_))
        return framed

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of a vector's entries, for scikit-learn's data frames.

        Examples
        --------
        >>> import efge
        >>> efge.EFGE(dim=2, seed=0).fit([("a", "b")]).get_feature_names_out().tolist()
        ['efge0', 'efge1']
        """
        self._check_fitted()
        return np.array([f"{type(self).__name__.lower()}{i}" for i in range(self.embedding_.dim)], object)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        # Where the input is a matrix, it has a row and a column for each node.
        matrix = InputTags(pairwise=True, sparse=True, positive_only=True)
        return Tags(None, TargetTags(required=False), TransformerTags(), input_tags=matrix)


class Place(NamedTuple):
    """Where tables are while they are trained: in memory, in mapped files, in parts in a folder, or on a cluster."""

    mmap: str | os.PathLike[str] | None
    workdir: str | os.PathLike[str] | None
    cluster: str | None


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
        mmap: str | os.PathLike[str] | None = None,
        workdir: str | os.PathLike[str] | None = None,
        cluster: str | None = None,
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
        mmap : path of a folder, optional
            Where to keep the tables of vectors while they are trained, in files without a name, if they are larger than
            memory. The result is the same to the byte. `embedding_` stays in such a file as long as it is used.
        workdir : path of a folder, optional
            With partitions, where the parts are while they are trained: on a disk that holds some times the size of
            both tables. By default, in the system's folder for temporary files.
        cluster : "auto" or an address, optional
            Train on a cluster of Ray, which `efge[ray]` brings: the one that runs here, or the one at the address.
            Without a number of partitions there are 16. The result is the same as on one machine.

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
        if kept is not None:
            kept.prepare()
        walks = X if isinstance(X, Walks) else self._walks(X, kept)
        try:
            self._keep(walks, self._trained(walks, family, settings, progress, kept, Place(mmap, workdir, cluster)))
        except TrainingError as error:
            self._keep(walks, error.trained)
            raise
        return self

    def _trained(
        self,
        walks: Walks,
        family: Family,
        settings: Settings,
        progress: Callable[[Progress], None] | None,
        kept: Checkpoints | None,
        place: Place,
    ) -> Trained:
        """By whole tables, in memory or in mapped files, by parts in files, or by parts on a cluster."""
        if not settings.partitions and place.cluster is None:
            if place.workdir is not None:
                raise ValueError("a workdir is for tables in partitions; give their number, as partitions=16")
            folder = None if place.mmap is None else Path(place.mmap)
            return train(walks, family, settings, progress, kept, folder)
        if place.mmap is not None:
            raise ValueError("tables in partitions are in files already; leave out mmap")
        from efge.distributed import CLUSTER_PARTITIONS, ClusterEngine
        from efge.partitions import LocalEngine, train_in_parts

        settings = replace(settings, partitions=settings.partitions or CLUSTER_PARTITIONS)
        engine = (
            LocalEngine(place.workdir, walks.threads)
            if place.cluster is None
            else ClusterEngine(place.cluster, place.workdir)
        )
        return train_in_parts(walks, family, settings, engine, progress, kept)

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
