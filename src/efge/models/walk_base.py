"""What estimators that learn from random walks share."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from efge.embedding.embedding import Embedding
from efge.errors import TrainingError
from efge.families.base import Family
from efge.graph.inputs import as_graph
from efge.models.base import NodeEmbedder
from efge.progress import Progress
from efge.training.checkpoints import Checkpoints
from efge.training.settings import Settings
from efge.training.trainer import Trained, train
from efge.walks.strategies import Strategy
from efge.walks.walks import Walks

Self = TypeVar("Self", bound="WalkEmbedder")


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
        from efge.training.partitioned.cluster import CLUSTER_PARTITIONS, ClusterEngine
        from efge.training.partitioned.local import LocalEngine, train_in_parts

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
