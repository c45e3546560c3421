"""Vectors to start training from: those of an embedding or of a fitted estimator, and means over neighbors."""

from __future__ import annotations

from typing import Any

import numpy as np

from efge.embedding.averaging import Rows, Vectors, average_neighbors, match_rows
from efge.embedding.embedding import Embedding, as_embedding
from efge.errors import EmbeddingError
from efge.families.base import Family
from efge.graph.graph import Graph
from efge.training.settings import Settings
from efge.training.tables import StartVectors


def start_vectors(
    init: Any, graph: Graph, settings: Settings, family: Family | None = None, clustered: bool = False
) -> StartVectors:
    """Return vectors of a graph's nodes to start from.

    Nodes that are not in `init` start from means over their neighbors, where a path links them to others.

    Examples
    --------
    >>> from efge.graph.inputs import as_graph
    >>> settings = Settings(1, 2, 5, 1, 0.025, 0.0001, 0.75)
    >>> start_vectors(Embedding([[3]], ["ann"]), as_graph([("ann", "bob")]), settings).centers.ravel()
    array([3., 3.], dtype=float32)
    """
    embedding = as_embedding("init", init)
    if embedding.dim != settings.dim:
        raise EmbeddingError(
            f"init must have the dimension of the estimator, {settings.dim}; it has {embedding.dim}: set"
            f" dim={embedding.dim}, or leave out init"
        )
    if settings.partitions or clustered:
        raise ValueError("init is for whole tables in memory or in mapped files; leave out partitions and cluster")
    # Under another family, products of its two tables have another scale: its vectors alone are the better start.
    source = init if getattr(init, "_pair_family", lambda: None)() == family else embedding
    centers = getattr(source, "center_embedding_", embedding)
    contexts = getattr(source, "context_embedding_", None)
    rows = match_rows(graph, embedding.names, embedding._index, "init")
    center_table = _complete(centers, graph, rows)
    context_table = None if contexts is None else _complete(contexts, graph, rows)
    known = np.flatnonzero((rows >= 0) | center_table.any(axis=1))
    return StartVectors(known, center_table[known], None if context_table is None else context_table[known])


def _complete(embedding: Embedding, graph: Graph, rows: Rows) -> Vectors:
    vectors = np.empty((graph.n_nodes, embedding.dim), np.float32)
    vectors[rows >= 0] = embedding.vectors[rows[rows >= 0]]
    if (rows < 0).any():
        vectors[rows < 0] = average_neighbors(graph, rows, embedding.vectors)
    return vectors
