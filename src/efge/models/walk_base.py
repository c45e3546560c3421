"""What the estimators that learn from random walks share."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from efge.embedding.alignment import Drift
from efge.embedding.embedding import Embedding
from efge.errors import QualityWarning, TrainingError, check_folder_path, check_types, warn_user
from efge.families.base import Family
from efge.graph.graph import Graph
from efge.graph.inputs import as_graph
from efge.graph.neighborhoods import neighborhood_digests
from efge.graph.predictability import measure_predictability
from efge.models.base import NodeEmbedder
from efge.models.diagnostics import diagnose, warn_if_poor
from efge.models.starting import start_vectors
from efge.progress import FitProgress, Progress, reporting_fit
from efge.training.checkpoints import Checkpoints
from efge.training.settings import Settings
from efge.training.tables import StartVectors
from efge.training.trainer import Trained, train
from efge.walks.strategies import CorpusWalk, Strategy
from efge.walks.walks import Walks

Self = TypeVar("Self", bound="WalkEmbedder")
AnyUpdatable = TypeVar("AnyUpdatable", bound="UpdatableWalkEmbedder")
PathLike = str | os.PathLike[str]


class TableStorage(NamedTuple):
    """Where the tables of vectors are during training; if all fields are None, they are in memory."""

    mmap: PathLike | None  # folder of memory-mapped files
    workdir: PathLike | None  # folder of the partitions
    cluster: str | None  # address of a Ray cluster


class WalkEmbedder(NodeEmbedder):
    """Base class of estimators that learn from random walks.

    A subclass says which walks to make, which family of distributions to use, and how to train.

    Examples
    --------
    >>> import efge
    >>> isinstance(efge.EFGE(), WalkEmbedder)
    True
    """

    context_embedding_: Embedding
    visits_: npt.NDArray[np.int64]
    neighborhoods_: npt.NDArray[np.uint64]
    n_updates_: int
    drift_: Drift
    seed_: int
    walks_per_node: int | str
    walk_length: int
    seed: int | None
    threads: int | None

    def _family(self) -> Family:
        raise NotImplementedError

    def _settings(self) -> Settings:
        raise NotImplementedError

    def _settings_for(self, graph: Graph) -> Settings:
        """Return the settings to train with on a graph."""
        return self._settings()

    def _strategy(self) -> Strategy | str:
        raise NotImplementedError

    def fit(
        self: Self,
        X: Any,  # noqa: N803
        y: Any = None,
        *,
        progress: FitProgress = None,
        checkpoint: Checkpoints | PathLike | None = None,
        mmap: PathLike | None = None,
        workdir: PathLike | None = None,
        cluster: str | None = None,
        init: Any = None,
    ) -> Self:
        """Learn the vectors of a graph's nodes.

        Parameters
        ----------
        X : Graph, anything :func:`efge.as_graph` takes, or Walks
            :class:`efge.Walks` have their own seed and threads; the parameters of this estimator that make walks are
            then ignored.
        y : ignored
        progress : bool or callable, optional
            True shows a bar, False none; by default, a long fit shows one in a notebook or at Python's prompt. A
            function is called with a :class:`efge.Progress` when training begins, and then several times a second.
        checkpoint : Checkpoints, or path of a folder, optional
            Where to save checkpoints, so that an interrupted training can be resumed:
            ``Checkpoints(folder, resume=True)`` continues it and ends with the same bytes.
        mmap : path of a folder, optional
            Use memory-mapped files in this folder for the tables of vectors, if they are larger than memory. The files
            have no names and vanish when they are no longer used; `embedding_` stays in one of them. The result is the
            same to the byte.
        workdir : path of a folder, optional
            With partitions, the folder for their files, on a disk that holds several times the size of both tables. By
            default, the system's folder for temporary files.
        cluster : "auto" or an address, optional
            Train on a Ray cluster (install ``efge[ray]``): the one that runs on this machine, or the one at the
            address. If `partitions` is not set, 16 are used. The result is the same as on one machine.
        init : Embedding, or fitted estimator, optional
            Start from its vectors, and the contexts of an estimator with the same family, instead of random ones; other
            nodes start from means over their neighbors. It has the dimension of this estimator, and some of the graph's
            nodes.

        Returns
        -------
        WalkEmbedder
            The estimator itself.

        Raises
        ------
        TrainingError
            If vectors become NaN or infinite; the vectors from before that are stored in the estimator.

        Examples
        --------
        >>> import efge
        >>> walks = efge.Walks([("a", "b"), ("b", "c")], efge.CorpusWalk([["a", "b", "c", "b"]] * 50), seed=0)
        >>> efge.EFGE(dim=4).fit(walks).embedding_.names.tolist()
        ['a', 'b', 'c']
        """
        # Before anything else, parameters are checked as far as they can be without a graph.
        family = self._family()
        self._settings().check()
        for name, folder in (("workdir", workdir), ("mmap", mmap)):
            check_folder_path(name, folder)
        if cluster is not None and not isinstance(cluster, str):
            raise TypeError(f"cluster is 'auto', or the address of a Ray cluster as text; got {cluster!r}")
        cluster = None if cluster is None else str(cluster)
        checkpoints = _prepare_checkpoints(checkpoint)
        walks = self._make_walks(X, checkpoints)
        settings = self._settings_for(walks.graph)
        if walks is X or isinstance(walks.strategy, CorpusWalk):
            # All walks that were given are used.
            settings = replace(settings, until_converged=False)
        elif settings.window > walks.walk_length and getattr(self, "window", None) != self._default_params()["window"]:
            reach = f"the window of {settings.window} reaches {walks.walk_length - 1} steps at most"
            advice = "raise walk_length (--walk-length), or lower window (--window)"
            warn_user(f"{reach}, because a walk has {walks.walk_length} nodes; {advice}")
        storage = TableStorage(mmap, workdir, cluster)
        clustered = storage.cluster is not None
        start = None if init is None else start_vectors(init, walks.graph, settings, family, clustered)
        # The diagnostics need this figure. Found now, its memory is free again when the tables are made.
        measure_predictability(walks.graph, walks.threads)
        try:
            with reporting_fit(progress) as report:
                trained = _train(walks, family, settings, report, checkpoints, storage, start)
        except TrainingError as error:
            self._store_result(walks, error.trained)
            raise
        self._store_result(walks, trained)
        self._filter(walks, storage)
        # A filter makes linked nodes similar, whatever their vectors were before.
        learned = getattr(self, "center_embedding_", self.embedding_)
        self.diagnostics_ = diagnose(walks.graph, learned, trained, None if settings.softmax else family)
        warn_if_poor(self)
        if walks.graph.directed and not isinstance(walks.strategy, CorpusWalk):
            linked = ~walks.graph.isolated
            n_walks = linked.sum() * walks.walks_per_node * settings.epochs
            self._warn_if_short(trained.visits[linked].sum() / n_walks)
        return self

    def _warn_if_short(self, mean_length: float) -> None:
        """Warn if walks on a directed graph end long before they are complete, and teach little."""
        if mean_length < self.walk_length / 2:
            warn_user(
                f"{self!r}: walks follow the directions of edges, and end after {mean_length:.1f} of {self.walk_length}"
                " nodes on average, where a node has no out-edges; vectors are usually better if edges lead both ways:"
                " pass graph.to_undirected(), or read the graph with directed=False (--undirected)",
                QualityWarning,
            )

    def _filter(self, walks: Walks, storage: TableStorage) -> None:
        """Filter the vectors along the edges of the graph, if the estimator does that."""

    def _new_node_methods(self) -> tuple[str, ...]:
        if not hasattr(self, "context_embedding_") or isinstance(self._strategy(), CorpusWalk):
            return ("average",)
        return ("both", "fold-in", "average")

    def _as_graph(self, X: Any) -> Graph:  # noqa: N803
        if isinstance(X, Walks):
            return X.graph
        graph = super()._as_graph(X)
        # Walks of the user's own may have followed directions, whatever the estimator's own do.
        return graph if self.directed_ else self._walked_graph(graph)

    def _walked_graph(self, graph: Graph) -> Graph:
        """Return the graph whose edges the walks use."""
        return graph

    def _make_walks(self, X: Any, checkpoints: Checkpoints | None) -> Walks:  # noqa: N803
        if isinstance(X, Walks):
            return X
        # A run without a given seed is resumed with the seed that it chose.
        seed = checkpoints.seed() if self.seed is None and checkpoints is not None else self.seed
        return Walks(
            self._walked_graph(as_graph(X)),
            self._strategy(),
            walks_per_node=self._walks_per_node(),
            walk_length=self.walk_length,
            seed=seed,
            threads=self.threads,
        )

    def _walks_per_node(self) -> Any:
        """Return the number of walks that start at each node, at most."""
        return self.walks_per_node

    def _store_result(self, walks: Walks, trained: Trained) -> None:
        self.seed_ = walks.seed
        self.embedding_ = Embedding._owning(trained.centers, walks.graph.names)
        self.context_embedding_ = Embedding._owning(trained.contexts, walks.graph.names)
        self.visits_, self.directed_ = trained.visits, walks.graph.directed
        self.neighborhoods_, self.n_updates_ = neighborhood_digests(walks.graph), 0
        vars(self).pop("drift_", None)
        self.history_ = trained.history


class UpdatableWalkEmbedder(WalkEmbedder):
    """Base class of estimators that learn from random walks, and can go on when the graph has changed.

    Examples
    --------
    >>> import efge
    >>> isinstance(efge.EFGE(), UpdatableWalkEmbedder), isinstance(efge.DeepWalk(), UpdatableWalkEmbedder)
    (True, False)
    """

    def partial_fit(
        self: AnyUpdatable,
        X: Any,  # noqa: N803
        y: Any = None,
        *,
        freeze: bool = False,
        progress: FitProgress = None,
        checkpoint: Checkpoints | PathLike | None = None,
    ) -> AnyUpdatable:
        """Update the vectors after the graph has changed; without an earlier fit, this is `fit`.

        New edges are found by `neighborhoods_`. Training goes on from the present vectors, on walks through these
        edges, so that it takes a small part of the time of a fit, and vectors stay in their space. New nodes start from
        means over their neighbors, and removed nodes leave. Walks of each update have their own random numbers; the
        same updates give the same bytes, at any number of threads.

        Parameters
        ----------
        X : Graph, or anything :func:`efge.as_graph` takes
            The whole graph as it is now.
        y : ignored
        freeze : bool
            Keep the vectors of all old nodes to the byte, and add those of new nodes only.
        progress : bool or callable, optional
            As in :meth:`fit`.
        checkpoint : Checkpoints, or path of a folder, optional
            As in :meth:`fit`; a resumed update starts from the same model.

        Returns
        -------
        WalkEmbedder
            The estimator itself. `drift_` is a :class:`efge.Drift`: how far old nodes have moved.

        Raises
        ------
        TrainingError
            If vectors become NaN or infinite; the estimator stays as it was.

        Examples
        --------
        >>> import efge
        >>> model = efge.EFGE(dim=4, seed=0).fit([("a", "b"), ("b", "c"), ("c", "a")])
        >>> model.partial_fit([("a", "b"), ("b", "c"), ("c", "a"), ("c", "new")]).embedding_.names.tolist()
        ['a', 'b', 'c', 'new']
        >>> model.partial_fit([("a", "b"), ("b", "new")], freeze=True).drift_.mean
        0.0
        """
        from efge.models.updating import update

        check_types(freeze=freeze)
        if not hasattr(self, "embedding_"):
            return self.fit(X, y, progress=progress, checkpoint=checkpoint)
        checkpoints = _prepare_checkpoints(checkpoint)
        with reporting_fit(progress, "updating") as report:
            update(self, self._as_graph(X), freeze, report, checkpoints)
        return self


def _prepare_checkpoints(checkpoint: Checkpoints | PathLike | None) -> Checkpoints | None:
    if checkpoint is None:
        return None
    if not isinstance(checkpoint, Checkpoints):
        check_folder_path("checkpoint", checkpoint)
    checkpoints = checkpoint if isinstance(checkpoint, Checkpoints) else Checkpoints(checkpoint)
    checkpoints.prepare()
    return checkpoints


def _train(
    walks: Walks,
    family: Family,
    settings: Settings,
    progress: Callable[[Progress], None] | None,
    checkpoints: Checkpoints | None,
    storage: TableStorage,
    start: StartVectors | None = None,
) -> Trained:
    """Train on whole tables, in memory or in mapped files; or on partitions, in files or on a cluster."""
    if not settings.partitions and storage.cluster is None:
        if storage.workdir is not None:
            raise ValueError("workdir is the folder for partitions; set their number too, such as partitions=16")
        folder = None if storage.mmap is None else Path(storage.mmap)
        return train(walks, family, settings, progress, checkpoints, folder, start)
    if storage.mmap is not None:
        raise ValueError("partitions are stored in files already; leave out mmap")
    from efge.training.partitioned.cluster import CLUSTER_PARTITIONS, ClusterEngine
    from efge.training.partitioned.driver import train_partitioned
    from efge.training.partitioned.local import LocalEngine

    settings = replace(settings, partitions=settings.partitions or CLUSTER_PARTITIONS)
    engine = (
        LocalEngine(storage.workdir, walks.threads)
        if storage.cluster is None
        else ClusterEngine(storage.cluster, storage.workdir)
    )
    return train_partitioned(walks, family, settings, engine, progress, checkpoints)
