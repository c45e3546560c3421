"""The likeliest links that a graph does not have, among all pairs of nodes or those of given nodes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from efge.errors import EvaluationError, check_functions, check_positive_integers
from efge.families.odds import log_odds
from efge.graph.graph import Graph
from efge.graph.inputs import as_graph
from efge.graph.names import list_names
from efge.models.base import NodeEmbedder
from efge.models.scoring import PairScorer
from efge.parallel import map_ahead

Rows = npt.NDArray[np.int64]
Links = list[tuple[Hashable, Hashable, float]]

# Pairs whose scores are in memory at once, for each thread.
_BLOCK_PAIRS = 1 << 21
# The best pairs by 32-bit products are this many times those that are asked for; 64 bits decide among them.
_SPARE = 2


def missing_links(
    model: Any,
    graph: Any,
    k: int = 100,
    *,
    nodes: Iterable[Hashable] | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Links:
    """Return the pairs of nodes without an edge that a model finds likeliest to have one, best first.

    All pairs are scored: the time grows with the square of the number of nodes, unless `nodes` are given.

    Parameters
    ----------
    model : fitted EFGE, Node2Vec or LINE
        A model of the same nodes that has ``score_pairs``, whose scores are used.
    graph : Graph, or anything :func:`efge.as_graph` takes
        Its edges are known, and not returned. In a directed graph, a pair is a link from the first node to the second.
    k : int
        Number of links; fewer if there are not as many pairs without an edge.
    nodes : iterable of names, optional
        Return links of these nodes only, with any other node; in a directed graph, links that start at them.
    threads : int, optional
        Number of threads; by default, one for each core. The result does not depend on it.
    progress : callable, optional
        Called with the number of nodes done, and their total.

    Returns
    -------
    list of (name, name, score)
        Highest score of ``model.score_pairs`` first.

    Examples
    --------
    >>> import efge
    >>> from itertools import combinations
    >>> cliques = [*combinations("abcde", 2), ("e", "f"), *combinations("fghij", 2)]
    >>> graph = efge.as_graph([edge for edge in cliques if edge != ("a", "b")])
    >>> model = efge.EFGE(dim=4, seed=0).fit(graph)
    >>> [(first, second) for first, second, score in missing_links(model, graph, 1)]
    [('a', 'b')]
    """
    check_positive_integers(k=k, threads=threads)
    check_functions(progress=progress)
    if not isinstance(model, NodeEmbedder):
        raise EvaluationError(f"model is a fitted EFGE, Node2Vec or LINE; got {model!r}"[:400])
    if not isinstance(model, PairScorer):
        raise EvaluationError(
            f"{type(model).__name__} gives pairs of nodes no probability to score; EFGE, Node2Vec and LINE do"
        )
    model._check_fitted()
    graph = as_graph(graph)
    if graph.names.tolist() != model.embedding_.names.tolist():
        raise EvaluationError(f"model and graph need the same nodes in the same order; got {model!r} and {graph!r}")
    if graph.directed != model.directed_:
        raise EvaluationError("model and graph must both be directed, or both undirected")
    search = _Search(model, graph, k, None if nodes is None else graph.rows(list_names("nodes", nodes)))
    # Matrix products use one thread each, so that the number of threads cannot change the rounding.
    with threadpool_limits(1, "blas"):
        pairs = search.run(threads, progress or (lambda done, total: None))
    scores = model._score_rows(pairs[:, 0], pairs[:, 1])
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -scores))[:k]
    first, second = graph.names[pairs[order, 0]].tolist(), graph.names[pairs[order, 1]].tolist()
    return list(zip(first, second, scores[order].tolist(), strict=True))


class _Search:
    """The best pairs of blocks of rows, with an approximate score in 32 bits."""

    def __init__(self, model: PairScorer, graph: Graph, k: int, rows: Rows | None) -> None:
        self.graph, self.limit = graph, _SPARE * k
        self.centers = getattr(model, "center_embedding_", model.embedding_).vectors
        self.contexts, self.family = model.context_embedding_.vectors, model._pair_family()
        self.rows = np.arange(graph.n_nodes) if rows is None else np.unique(rows)
        # Place of each row among those that are searched; a pair of two of them counts once, at the earlier one.
        self.place = np.full(graph.n_nodes, -1)
        self.place[self.rows] = np.arange(len(self.rows))

    def run(self, threads: int | None, report: Callable[[int, int], None]) -> Rows:
        """Return the best pairs of all blocks, in no order."""
        size = max(1, _BLOCK_PAIRS // max(self.graph.n_nodes, 1))
        blocks = [self.rows[begin : begin + size] for begin in range(0, len(self.rows), size)]
        pairs, scores, done = np.empty((0, 2), np.int64), np.empty(0), 0
        for block, (found, values) in zip(blocks, map_ahead(self._best_of_block, blocks, threads), strict=True):
            pairs, scores = np.concatenate([pairs, found]), np.concatenate([scores, values])
            best = np.argsort(-scores, kind="stable")[: self.limit]
            pairs, scores, done = pairs[best], scores[best], done + len(block)
            report(done, len(self.rows))
        return pairs

    def _best_of_block(self, rows: Rows) -> tuple[Rows, npt.NDArray[np.float64]]:
        scores = self._odds(self.centers[rows] @ self.contexts.T)
        if not self.graph.directed:
            scores = (scores + self._odds(self.contexts[rows] @ self.centers.T)) / 2
            scores[self.place[rows][:, None] > np.where(self.place < 0, len(self.rows), self.place)] = -np.inf
        for i, row in enumerate(rows.tolist()):
            scores[i, self.graph.indices[self.graph.indptr[row] : self.graph.indptr[row + 1]]] = -np.inf
            scores[i, row] = -np.inf
        flat = scores.ravel()
        best = np.argpartition(-flat, self.limit)[: self.limit] if self.limit < len(flat) else np.arange(len(flat))
        best = np.sort(best[np.isfinite(flat[best])])
        return np.column_stack([rows[best // len(self.place)], best % len(self.place)]), flat[best]

    def _odds(self, products: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
        return log_odds(self.family, products.ravel()).reshape(products.shape)
