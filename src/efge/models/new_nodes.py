"""Vectors of nodes that were not in the graph of a fitted estimator, from their edges; old vectors stay as they are.

- "average": means over neighbors (``embedding/averaging.py``), for every estimator whose vectors of linked nodes are
  similar;
- "fold-in": the estimator's own likelihood (``training/fold_in.py``), for estimators with vectors of contexts;
- "both": fold-in, then means. Without a filter, these count the vector so obtained as half a neighbor. With one, what
  the filter would make of it and its neighbors' vectors is combined with the mean of the filtered vectors;
- "projection": the rows of a factored matrix that new nodes would have, for HOPE and NetMF.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from efge.embedding.averaging import (
    Floats,
    OwnVectors,
    Rows,
    Vectors,
    average_neighbors,
    match_rows,
    mean_with_neighbors,
)
from efge.errors import EmbeddingError, GraphError
from efge.graph.graph import Graph
from efge.graph.inputs import as_graph
from efge.parallel import single_threaded_blas
from efge.training.fold_in import FrozenTable, fold_in
from efge.training.noise import noise_weights
from efge.walks.walks import Walks

if TYPE_CHECKING:
    from efge.models.base import NodeEmbedder

# With "both", a vector that is not filtered counts as this many neighbors.
_OWN_WEIGHT = 0.5
# Old rows by which lengths are predicted, at most.
_LENGTH_ROWS = 4096


def transform_graph(model: NodeEmbedder, graph: Graph, method: str = "auto") -> Vectors:
    """Return the vectors of a graph's nodes, in its order: old ones to the byte, and new ones by their edges."""
    embedding, owner = model.embedding_, f"the fitted {type(model).__name__}"
    rows = match_rows(graph, embedding.names, embedding._index, owner)
    vectors = np.empty((graph.n_nodes, embedding.dim), np.float32)
    vectors[rows >= 0] = embedding.vectors[rows[rows >= 0]]
    if (rows < 0).any():
        check_direction(model, graph, owner)
        vectors[rows < 0] = _vectors_by_trained(model, graph, rows, _resolve_method(model, method))
    return vectors


def _vectors_by_trained(model: NodeEmbedder, graph: Graph, rows: Rows, method: str) -> Vectors:
    """Return the vectors of new nodes by trained ones; where no path leads to any, as means over what there is."""
    trained = _forget_untrained(model, graph, rows)
    found = _new_vectors(model, graph, trained, method)[rows[trained < 0] < 0]
    far = ~found.any(axis=1)
    if far.any() and (trained != rows).any():
        found[far] = average_neighbors(graph, rows, model.embedding_.vectors)[far]
    return found


def _forget_untrained(model: Any, graph: Graph, rows: Rows) -> Rows:
    """Return rows with -1 for nodes that had no edges in the graph of a fit, and have some now.

    Their vectors are random, and as neighbors would only add noise. In a sparse graph they are many: where new nodes
    leave the graph of the fit, some of their neighbors are left without edges.
    """
    if not hasattr(model, "neighborhoods_"):
        return rows
    known = np.flatnonzero(rows >= 0)
    untrained = known[(model.neighborhoods_[rows[known]] == 0) & ~graph.isolated[known]]
    trained = rows.copy()
    trained[untrained] = -1
    return trained


def _resolve_method(model: NodeEmbedder, method: str) -> str:
    known, name = model._new_node_methods(), type(model).__name__
    if not known:
        raise ValueError(
            f"{name} has no method for new nodes: a mean over neighbors is no membership; fit the whole graph"
        )
    if method != "auto" and method not in known:
        raise ValueError(f"no method {method!r} for new nodes of {name}; it has {', '.join(known)}")
    return known[0] if method == "auto" else method


def check_direction(model: NodeEmbedder, graph: Graph, owner: str) -> None:
    """Raise an error if a graph has directions and the estimator's graph has none, or the other way round."""
    directed = getattr(model, "directed_", graph.directed)
    if directed != graph.directed:
        kinds = {True: "directed", False: "undirected"}
        raise GraphError(
            f"{owner} is of a graph that is {kinds[directed]}; this graph is {kinds[graph.directed]}: convert it with"
            f" as_graph(graph, directed={directed}), or with --{kinds[directed]} on the command line"
        )


def _new_vectors(model: Any, graph: Graph, rows: Rows, method: str) -> Vectors:
    """Return the vectors of the nodes whose row is -1, in the space of the estimator's embedding."""
    if method == "projection":
        projected: Vectors = model._project(graph, rows)
        return projected
    vectors = model.embedding_.vectors
    if method == "average":
        return average_neighbors(graph, rows, vectors)
    centers = fold_in_centers(model, graph, rows)
    if getattr(model, "center_embedding_", model.embedding_) is model.embedding_:
        return (
            centers
            if method == "fold-in"
            else average_neighbors(graph, rows, vectors, OwnVectors(centers, _OWN_WEIGHT))
        )
    if getattr(model, "filter_map_", None) is None:
        raise EmbeddingError(
            f"this {type(model).__name__} was saved by an earlier version, without filter_map_; fit it again, or use"
            " the method 'average'"
        )
    if method == "fold-in":
        old = model.center_embedding_.vectors
        return _scale(_apply_filter_map(model, centers), _predict_lengths(old, vectors, centers))
    smoothed = mean_with_neighbors(graph, rows, model.center_embedding_.vectors, centers)
    means = average_neighbors(graph, rows, vectors)
    # Half of it is what the filter would give; half is smoother, as classes of new nodes are easier to tell by that.
    combined = _scale(_apply_filter_map(model, smoothed), 1.0) + _scale(means, 1.0)
    return _scale(combined, np.linalg.norm(means, axis=1))


def _apply_filter_map(model: Any, vectors: Vectors) -> Vectors:
    """Return the directions that the filter gives vectors."""
    with single_threaded_blas():
        mapped: Vectors = (vectors.astype(np.float64) @ model.filter_map_).astype(np.float32)
    return mapped


def _scale(vectors: Vectors, lengths: float | Floats) -> Vectors:
    """Return vectors of given lengths; those without a direction stay zero."""
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
    factors = np.divide(lengths, norms, out=np.zeros_like(norms), where=norms > 0)
    scaled: Vectors = (vectors * factors[:, None]).astype(np.float32)
    return scaled


def fold_in_centers(model: Any, graph: Graph, rows: Rows) -> Vectors:
    """Return vectors of new nodes as centers, by the likelihood of the estimator with its contexts as they are.

    Vectors start from means over neighbors; a node whose walks meet no old node keeps that.
    """
    centers = getattr(model, "center_embedding_", model.embedding_).vectors
    noise = noise_weights(model.visits_, model._settings().noise_power)
    frozen = FrozenTable(model.context_embedding_.vectors, rows, noise)
    return fold_in_rows(model, graph, frozen, average_neighbors(graph, rows, centers))


def fold_in_rows(model: Any, graph: Graph, frozen: FrozenTable, initial: Vectors) -> Vectors:
    """Return vectors of the nodes that a frozen table lacks, by the likelihood of an estimator, from initial ones."""
    # Self-loops say nothing about neighbors, and heavy ones would hold the walks.
    graph = as_graph(graph, drop_self_loops=True)
    if not len(graph.indices):
        return initial
    nodes = np.flatnonzero(frozen.table_row < 0).astype(graph.indices.dtype)
    return fold_in(new_walks(model, graph), nodes, frozen, model._pair_family(), model._settings(), initial)


def new_walks(model: Any, graph: Graph, seed: int | None = None) -> Walks:
    """Return walks on a graph by the parameters of an estimator, with a seed or that of its fit."""
    seed, length = model.seed_ if seed is None else seed, model.walk_length
    return Walks(graph, model._strategy(), walk_length=length, seed=seed, threads=model.threads)


def _predict_lengths(centers: Vectors, filtered: Vectors, new: Vectors) -> Floats:
    """Return the lengths that a filter gives vectors, by a straight line through those of old ones.

    Some filters keep lengths up to a factor, others make all of them equal.
    """
    chosen = np.unique(np.linspace(0, len(centers) - 1, min(len(centers), _LENGTH_ROWS)).astype(np.int64))
    # Nodes without edges keep their vectors as they were trained.
    linked = chosen[(centers[chosen] != filtered[chosen]).any(axis=1)]
    chosen = linked if len(linked) else chosen
    x, y, own = (np.linalg.norm(table.astype(np.float64), axis=1) for table in (centers[chosen], filtered[chosen], new))
    spread = x - x.mean()
    with single_threaded_blas():
        slope = (spread @ y) / max(spread @ spread, 1e-30)
    predicted: Floats = np.clip(y.mean() + slope * (own - x.mean()), y.min(), y.max())
    return predicted
