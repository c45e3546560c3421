"""Updates of a fitted estimator after its graph has changed: old vectors are kept, or move where edges have changed.

Digests of neighborhoods tell which edges are new. With `freeze`, new nodes get vectors by fold-in, and nothing else
changes. Without it, they start from means over neighbors, and training goes on, on walks through the changed edges,
with negatives among all nodes. At the end, the filter is applied to the whole graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.embedding.alignment import align, drift
from efge.embedding.averaging import Rows, Vectors, average_neighbors, match_rows
from efge.embedding.embedding import Embedding
from efge.errors import EmbeddingError, warn_user
from efge.graph.graph import Graph
from efge.graph.neighborhoods import neighborhood_digests
from efge.models.diagnostics import diagnose
from efge.models.new_nodes import check_direction, fold_in_centers, fold_in_rows, new_walks, transform_graph
from efge.progress import Progress
from efge.random import stream_key
from efge.training.checkpoints import Checkpoints
from efge.training.fold_in import FrozenTable
from efge.training.settings import Settings
from efge.training.tables import StartVectors
from efge.training.trainer import Trained, train
from efge.walks.through import WalksThrough
from efge.walks.walks import Walks

# Walks through each changed edge. After twenty updates, scores are close to those of a new fit: see "stream" in
# benchmarks/results/newnodes.json. Half as many walks again took more time, and hardly changed them.
_WALKS_PER_EDGE = 10
# Walks in all, at most, for each node of the graph.
_MAX_WALKS_PER_NODE = 20
# Evaluations of held-out pairs after the first one; each takes some hundredths of the time of an update.
_EVALUATIONS = 1
# More than this share of old nodes leaves only a graph that was cut down, or one that is not whole. Over a window of
# time, as many come; but most do not leave at once.
_MAX_SHARE_LEFT, _MAX_SHARE_REPLACED = 0.25, 0.5


class _Tables(NamedTuple):
    """Tables of the nodes of the changed graph, in its order."""

    centers: Vectors
    contexts: Vectors
    visits: npt.NDArray[np.int64]


def update(
    model: Any,
    graph: Graph,
    freeze: bool,
    progress: Callable[[Progress], None] | None = None,
    checkpoints: Checkpoints | None = None,
) -> None:
    """Replace what an estimator has learned by what fits a changed graph; if that fails, it stays as it is."""
    _check(model)
    before, owner = model.embedding_, f"the fitted {type(model).__name__}"
    rows = match_rows(graph, before.names, before._index, owner)
    check_direction(model, graph, owner)
    warning = describe_many_leaving(len(before), int((rows >= 0).sum()), graph.n_nodes)
    if warning is not None:
        warn_user(warning)
    changed = _changed_edges(model, graph, rows)
    tables = _extend_tables(model, graph, rows, freeze)
    walks = new_walks(model, graph, int(stream_key(model.seed_, model.n_updates_, "update") >> np.uint64(1)))
    fitted: dict[str, Any] = {"neighborhoods_": neighborhood_digests(graph), "visits_": tables.visits}
    if freeze or not len(changed):
        centers = embedding = Embedding._owning(tables.centers, graph.names)
        if getattr(model, "center_embedding_", before) is not before:
            embedding = Embedding._owning(transform_graph(model, graph), graph.names)
    else:
        trained = _train(model, walks, tables, changed, progress, checkpoints)
        tables = tables._replace(contexts=trained.contexts)
        centers = Embedding._owning(trained.centers, graph.names)
        embedding, matrix = _filter(model, walks, centers)
        fitted |= {"history_": trained.history} | ({} if matrix is None else {"filter_map_": matrix})
    fitted |= {"embedding_": embedding, "context_embedding_": Embedding._owning(tables.contexts, graph.names)}
    fitted |= {"center_embedding_": centers} if hasattr(model, "center_embedding_") else {}
    fitted |= {"diagnostics_": diagnose(graph, centers, measure_graph=False), "n_updates_": model.n_updates_ + 1}
    fitted["drift_"] = drift([before, embedding], aligned=True)
    vars(model).update(fitted)


def describe_many_leaving(n_before: int, n_kept: int, n_after: int) -> str | None:
    """Say that a graph lacks so many old nodes that it seems to be the new edges alone; None if it does not."""
    n_left = n_before - n_kept
    if n_left <= (_MAX_SHARE_LEFT if n_after < n_before else _MAX_SHARE_REPLACED) * n_before:
        return None
    return (
        f"{n_left:,} of {n_before:,} nodes are not in the new graph, and leave the model; partial_fit (--update)"
        " takes the whole graph as it is now, not only what is new; transform takes new edges alone"
    )


def _check(model: Any) -> None:
    name = type(model).__name__
    if "fold-in" not in model._new_node_methods():
        raise ValueError(f"{name} cannot be updated, as its walks are given; fit it to the whole graph")
    if getattr(model, "partitions", None):
        raise ValueError("partial_fit trains whole tables; set_params(partitions=None), or fit the whole graph")
    if not hasattr(model, "neighborhoods_"):
        raise EmbeddingError(f"this {name} was saved by an earlier version, without neighborhoods_; fit it again")


def _changed_edges(model: Any, graph: Graph, rows: Rows) -> Rows:
    """Return the edges that may be new, as rows of the graph; and a node that has only lost edges, twice.

    Digests are sums over neighbors. Those over old neighbors tell at which old nodes edges to other old nodes have
    changed; a new edge between old nodes joins two of these.
    """
    new = rows < 0
    digests = neighborhood_digests(graph, among=~new)
    altered = new | (digests != np.append(model.neighborhoods_, np.uint64(0))[rows])
    sources, targets = np.repeat(np.arange(graph.n_nodes), graph.degrees), graph.indices
    may_be_new = new[sources] | new[targets] | (altered[sources] & altered[targets])
    if not graph.directed:
        may_be_new &= sources <= targets
    edges = np.column_stack([sources[may_be_new], targets[may_be_new]])
    altered[edges.ravel()] = False
    alone = np.flatnonzero(altered)
    return np.concatenate([edges, np.column_stack([alone, alone])])


def _extend_tables(model: Any, graph: Graph, rows: Rows, freeze: bool) -> _Tables:
    """Return the tables of a graph's nodes: old rows as they are, and new ones; removed nodes leave.

    New rows are trained by fold-in if nothing else trains them, or start from means over neighbors.
    """
    old, new = rows >= 0, rows < 0
    known = getattr(model, "center_embedding_", model.embedding_).vectors, model.context_embedding_.vectors
    centers, contexts = (np.empty((graph.n_nodes, model.embedding_.dim), np.float32) for _ in range(2))
    visits = np.zeros(graph.n_nodes, np.int64)
    centers[old], contexts[old] = (table[rows[old]] for table in known)
    visits[old] = model.visits_[rows[old]]
    if new.any():
        centers[new] = fold_in_centers(model, graph, rows) if freeze else average_neighbors(graph, rows, known[0])
        contexts[new] = _fold_in_contexts(model, graph, rows) if freeze else average_neighbors(graph, rows, known[1])
        degrees = np.bincount(graph.indices, minlength=graph.n_nodes) + graph.degrees
        per_edge = visits[old].sum() / max(int(degrees[old].sum()), 1)
        visits[new] = np.maximum(np.round(degrees[new] * per_edge), 1)
    return _Tables(centers, contexts, visits)


def _fold_in_contexts(model: Any, graph: Graph, rows: Rows) -> Vectors:
    """Return vectors of new nodes as contexts, given the centers; negatives are centers by their visits."""
    centers = getattr(model, "center_embedding_", model.embedding_).vectors
    frozen = FrozenTable(centers, rows, model.visits_.astype(np.float64))
    return fold_in_rows(model, graph, frozen, average_neighbors(graph, rows, model.context_embedding_.vectors))


def _train(
    model: Any,
    walks: Walks,
    tables: _Tables,
    changed: Rows,
    progress: Callable[[Progress], None] | None,
    checkpoints: Checkpoints | None,
) -> Trained:
    """Train all tables on walks through the changed edges."""
    settings: Settings = replace(
        model._settings(), until_converged=False, init="random", patience=None, epochs=1, evaluations=_EVALUATIONS
    )
    reach = min(int(settings.window), int(model.walk_length) - 1)
    affordable = _MAX_WALKS_PER_NODE * walks.graph.n_nodes // len(changed)
    walks_per_edge = max(1, min(_WALKS_PER_EDGE, affordable))
    through = WalksThrough(walks, changed.astype(walks.graph.indices.dtype), walks_per_edge, max(reach - 1, 1))
    start = StartVectors(np.arange(walks.graph.n_nodes), *tables)
    return train(through, model._pair_family(), settings, progress, checkpoints, start=start)


def _filter(model: Any, walks: Walks, centers: Embedding) -> tuple[Embedding, Any]:
    """Return the vectors that users see, filtered if the estimator does that, and the filter's matrix."""
    if not hasattr(model, "_filtered"):
        return centers, None
    filtered, matrix = model._filtered(centers, walks)
    # Other filters than this one keep the axes of the vectors.
    if model._filter_method() != "prone":
        return filtered, matrix
    alignment = align(model.embedding_, filtered)
    vectors: Vectors = alignment.embedding.vectors.copy()
    isolated = walks.graph.isolated
    vectors[isolated] = centers.vectors[isolated]
    return Embedding._owning(vectors, filtered.names), (matrix @ alignment.rotation).astype(np.float32)
