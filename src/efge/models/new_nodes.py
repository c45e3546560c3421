"""Vectors of nodes that were not in the graph of a fitted estimator, from their edges; old vectors stay as they are.

- "average": means over neighbors (``embedding/averaging.py``), for every estimator whose vectors of linked nodes are
  similar;
- "fold-in": the estimator's own likelihood (``training/fold_in.py``), for estimators with vectors of contexts;
- "both": fold-in, then means that count the vector so obtained as half a neighbor;
- "projection": the rows of a factored matrix that new nodes would have, for HOPE and NetMF.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from efge.embedding.averaging import Floats, OwnVectors, Rows, Vectors, average_neighbors, match_rows
from efge.errors import GraphError
from efge.graph.graph import Graph
from efge.training.fold_in import FrozenTable, fold_in
from efge.training.noise import noise_weights
from efge.walks.walks import Walks

if TYPE_CHECKING:
    from efge.models.base import NodeEmbedder

# With "both", a vector by fold-in counts as this many neighbors. Of 0.5 and 1, the first one was better for the classes
# of Cora, by .003, and the second one for the links of GrQc, by .001.
_OWN_WEIGHT = 0.5
# Rows from which the map between two tables of the same nodes is estimated, at most.
_MAP_ROWS = 4096
# Ridge of that estimate, as a fraction of the mean square of a coordinate.
_RIDGE = 1e-3


def transform_graph(model: NodeEmbedder, graph: Graph, method: str = "auto") -> Vectors:
    """Return the vectors of a graph's nodes, in its order: old ones to the byte, and new ones by their edges."""
    embedding, owner = model.embedding_, f"the fitted {type(model).__name__}"
    rows = match_rows(graph, embedding.names, embedding._index, owner)
    vectors = np.empty((graph.n_nodes, embedding.dim), np.float32)
    vectors[rows >= 0] = embedding.vectors[rows[rows >= 0]]
    if (rows < 0).any():
        check_direction(model, graph, owner)
        vectors[rows < 0] = _new_vectors(model, graph, rows, _resolve_method(model, method))
    return vectors


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
    own = centers
    if getattr(model, "center_embedding_", model.embedding_) is not model.embedding_:
        own = _map_to_filtered(centers, model.center_embedding_.vectors, vectors)
    return own if method == "fold-in" else average_neighbors(graph, rows, vectors, OwnVectors(own, _OWN_WEIGHT))


def fold_in_centers(model: Any, graph: Graph, rows: Rows) -> Vectors:
    """Return vectors of new nodes as centers, by the likelihood of the estimator with its contexts as they are.

    Vectors start from means over neighbors; a node whose walks meet no old node keeps that.
    """
    settings = model._settings()
    walks = new_walks(model, graph)
    centers = getattr(model, "center_embedding_", model.embedding_).vectors
    frozen = FrozenTable(model.context_embedding_.vectors, rows, noise_weights(model.visits_, settings.noise_power))
    initial = average_neighbors(graph, rows, centers)
    nodes = np.flatnonzero(rows < 0).astype(graph.indices.dtype)
    return fold_in(walks, nodes, frozen, model._pair_family(), settings, initial)


def new_walks(model: Any, graph: Graph, seed: int | None = None) -> Walks:
    """Return walks on a graph by the parameters of an estimator, with a seed or that of its fit."""
    seed, length = model.seed_ if seed is None else seed, model.walk_length
    return Walks(graph, model._strategy(), walk_length=length, seed=seed, threads=model.threads)


def _map_to_filtered(new: Vectors, centers: Vectors, filtered: Vectors) -> Vectors:
    """Map vectors of new nodes as centers to the space of filtered vectors, by a linear map of the old nodes.

    The filter rotates and scales; what it adds of neighbors is left to means over neighbors. Mapped vectors have the
    lengths that the filter would give them.
    """
    chosen = np.unique(np.linspace(0, len(centers) - 1, min(len(centers), _MAP_ROWS)).astype(np.int64))
    # Nodes without edges keep their vectors as they were trained.
    chosen = chosen[(centers[chosen] != filtered[chosen]).any(axis=1)]
    x, y = centers[chosen].astype(np.float64), filtered[chosen].astype(np.float64)
    # Matrix products use one thread, so that the number of threads cannot change the rounding.
    with threadpool_limits(1, "blas"):
        gram = x.T @ x
        ridge = _RIDGE * np.trace(gram) / len(gram)
        if not ridge:
            return np.zeros_like(new)
        mapped = new.astype(np.float64) @ np.linalg.solve(gram + ridge * np.eye(len(gram)), x.T @ y)
    norms = np.linalg.norm(mapped, axis=1)
    lengths = _predict_lengths(*(np.linalg.norm(table, axis=1) for table in (x, y, new)))
    scales = np.divide(lengths, norms, out=np.zeros_like(norms), where=norms > 0)
    scaled: Vectors = (mapped * scales[:, None]).astype(np.float32)
    return scaled


def _predict_lengths(centers: Floats, filtered: Floats, new: Floats) -> Floats:
    """Return the lengths that a filter gives vectors of certain lengths, by a straight line through those of old ones.

    Some filters keep lengths up to a factor, others make all of them equal.
    """
    spread = centers - centers.mean()
    slope = (spread @ filtered) / max(spread @ spread, 1e-30)
    predicted: Floats = np.clip(filtered.mean() + slope * (new - centers.mean()), filtered.min(), filtered.max())
    return predicted
