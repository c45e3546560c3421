"""The likeliest links that a graph does not have, among all pairs of nodes or those of given nodes.

Pairs are scored in tiles, by products of matrices in 32 bits. Only products that can still be among the best become
scores: a family's log-odds rise, or fall, with the product, so that a score below the worst of the best so far is known
from the product. Nodes with long vectors come first, and whole tiles of short ones are left out where even the
product of the lengths is too small. Both leave the result exact.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.errors import EvaluationError, check_functions, check_positive_integers
from efge.evaluation.splits import Sides, find_sides, may_pair
from efge.families.base import Family
from efge.families.odds import log_odds
from efge.graph.graph import Graph
from efge.graph.inputs import as_graph
from efge.graph.names import list_names
from efge.models.base import NodeEmbedder
from efge.models.scoring import PairScorer
from efge.parallel import map_ahead, single_threaded_blas

Rows = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.float32]
Links = list[tuple[Hashable, Hashable, float]]

# Rows and columns of a tile of products.
_TILE = (512, 4096)
# The best pairs by 32-bit products are this many times those that are asked for; 64 bits decide among them.
_SPARE = 2
# Pairs that are collected, at least, before only the best of them are kept.
_MIN_COLLECTED = 1 << 14
# Points at which a family's log-odds are known.
_GRID_POINTS = 4097
# Lengths are enlarged by this fraction where they bound products, which have rounding errors.
_ROUNDING = 1e-5


def missing_links(
    model: Any,
    graph: Any,
    k: int = 100,
    *,
    nodes: Iterable[Hashable] | None = None,
    sides: str | Iterable[Hashable] | None = "auto",
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Links:
    """Return the pairs of nodes without an edge that a model finds likeliest to have one, best first.

    The result is exact, up to rounding: all pairs are compared, except those whose vectors are too short for a high
    score. So the time grows up to the square of the number of nodes, unless `nodes` are given.

    Parameters
    ----------
    model : fitted EFGE, Node2Vec or LINE
        A model of the same nodes that has ``score_pairs``, whose scores are used.
    graph : Graph, or anything :func:`efge.as_graph` takes
        Its edges are known, and not returned. If the model's walks followed directions, a pair is a link from the
        first node to the second.
    k : int
        Number of links; fewer if there are not as many pairs without an edge.
    nodes : iterable of names, optional
        Return links of these nodes only, with any other node; in a directed graph, links that start at them.
    sides : "auto", None, or iterable of names
        In a bipartite graph, such as one of users and items, links join the two sides. "auto" finds the sides of a
        graph that is bipartite and has cycles, as :func:`efge.split_links` does; names are those of the nodes of one
        side; with None, links may join any two nodes.
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
    if model.directed_ and not graph.directed:
        raise EvaluationError("the model's links have directions, and this graph has none; pass the graph of the fit")
    if not model.directed_:
        graph = graph.to_undirected()
    chosen = None if nodes is None else graph.rows(list_names("nodes", nodes))
    search = _Search(model, graph, k, chosen, find_sides(graph, sides))
    with single_threaded_blas():
        pairs = search.run(threads, progress or (lambda done, total: None))
    scores = model._score_rows(pairs[:, 0], pairs[:, 1])
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -scores))[:k]
    first, second = graph.names[pairs[order, 0]].tolist(), graph.names[pairs[order, 1]].tolist()
    return list(zip(first, second, scores[order].tolist(), strict=True))


class _LogOdds:
    """A family's log-odds, and which inner products can reach them."""

    def __init__(self, family: Family) -> None:
        self.family = family
        points = np.linspace(*family.bounds, _GRID_POINTS)
        odds = log_odds(family, points)
        # +1 if log-odds rise with the product, -1 if they fall, 0 if they do both.
        rising, falling = (bool((sign * np.diff(odds) >= 0).all()) for sign in (1, -1))
        self.sign = 1 if rising else -1 if falling else 0
        self._products, self._odds = (points, odds) if rising else (-points[::-1], odds[::-1])

    def __call__(self, products: npt.NDArray[np.floating]) -> Floats:
        return log_odds(self.family, products)

    def least_product(self, score: float) -> float:
        """Return a number that products with this score or a higher one are not below, after they are given the sign.

        Examples
        --------
        >>> import efge
        >>> 2.9 < _LogOdds(efge.Bernoulli()).least_product(3.0) < 3.0
        True
        """
        place = int(np.searchsorted(self._odds, score)) - 1
        return float(self._products[place]) if self.sign and place >= 0 else -np.inf


class _Best:
    """The best pairs so far; of equal scores, the earlier pair."""

    def __init__(self, limit: int) -> None:
        self.limit, self.threshold = limit, -np.inf
        self.pairs, self.scores = np.empty((0, 2), np.int64), np.empty(0)

    def add(self, pairs: Rows, scores: Floats) -> None:
        self.pairs, self.scores = np.concatenate([self.pairs, pairs]), np.concatenate([self.scores, scores])
        if len(self.scores) > max(2 * self.limit, _MIN_COLLECTED):
            self.trim()

    def trim(self) -> None:
        if len(self.scores) > self.limit:
            kept = self.scores >= -np.partition(-self.scores, self.limit - 1)[self.limit - 1]
            self.pairs, self.scores = self.pairs[kept], self.scores[kept]
        order = np.lexsort((self.pairs[:, 1], self.pairs[:, 0], -self.scores))[: self.limit]
        self.pairs, self.scores = self.pairs[order], self.scores[order]
        if len(order) == self.limit:
            self.threshold = float(self.scores[-1])


class _Search:
    """The best pairs of rows and columns of a graph, with an approximate score in 32 bits."""

    def __init__(self, model: PairScorer, graph: Graph, k: int, chosen: Rows | None, side: Sides | None) -> None:
        self.side, self.graph, self.best, self.odds = side, graph, _Best(_SPARE * k), _LogOdds(model._pair_family())
        self.centers = getattr(model, "center_embedding_", model.embedding_).vectors
        self.contexts = model.context_embedding_.vectors
        self.is_chosen = np.full(graph.n_nodes, chosen is None)
        self.is_chosen[[] if chosen is None else chosen] = True
        self.row_lengths, self.column_lengths = _bounding_lengths(self.centers, self.contexts, graph.directed)
        # Vectors of nodes about which nothing was learned are random.
        known = model._known_rows()
        lengths = self.row_lengths, self.column_lengths
        rows, self.columns = (order[known[order]] for order in (np.argsort(-one, kind="stable") for one in lengths))
        self.rows = rows[self.is_chosen[rows]]
        # A pair of two rows of an undirected graph counts once, at the row that comes first.
        self.place = np.full(graph.n_nodes, len(self.rows))
        self.place[self.rows] = np.arange(len(self.rows))
        self.edges = np.repeat(np.arange(graph.n_nodes), graph.degrees) * graph.n_nodes + graph.indices

    def run(self, threads: int | None, report: Callable[[int, int], None]) -> Rows:
        """Return the best pairs, in no order."""
        blocks = [self.rows[begin : begin + _TILE[0]] for begin in range(0, len(self.rows), _TILE[0])]
        done = 0
        for block, found in zip(blocks, map_ahead(self._search_rows, blocks, threads), strict=True):
            self.best.add(found.pairs, found.scores)
            self.best.trim()
            done += len(block)
            report(done, len(self.rows))
        pairs = self.best.pairs
        if not self.graph.directed:
            # The chosen node comes first; of two, the one that is first in the graph.
            turned = (pairs[:, 0] > pairs[:, 1]) & self.is_chosen[pairs[:, 1]]
            pairs[turned] = pairs[turned, ::-1]
        return pairs

    @single_threaded_blas()
    def _search_rows(self, rows: Rows) -> _Best:
        """Return the best pairs of some rows that may be among the best of all."""
        found, width = _Best(self.best.limit), _TILE[1]
        longest = self.row_lengths[rows].max()
        # Columns before the first row are rows that have been searched.
        whole = len(self.rows) == len(self.columns) and not self.graph.directed
        first = int(self.place[rows].min()) // width * width if whole else 0
        for begin in range(first, len(self.columns), width):
            columns = self.columns[begin : begin + width]
            least = self.odds.least_product(max(found.threshold, self.best.threshold))
            if longest * self.column_lengths[columns[0]] < least:
                # Vectors of later columns are not longer.
                break
            found.add(*self._search_tile(rows, columns, least))
        found.trim()
        return found

    def _search_tile(self, rows: Rows, columns: Rows, least: float) -> tuple[Rows, Floats]:
        """Return the pairs of a tile that are no edges, and whose products are large enough; and their scores."""
        products = [self.centers[rows] @ self.contexts[columns].T]
        if not self.graph.directed:
            products.append(self.contexts[rows] @ self.centers[columns].T)
        if np.isfinite(least):
            largest = np.maximum.reduce([self.odds.sign * one for one in products])
            row, column = np.nonzero(largest >= least - _ROUNDING * (1 + abs(least)))
        else:
            row, column = (place.ravel() for place in np.indices(products[0].shape))
        pairs = np.column_stack([rows[row], columns[column]])
        proper = self._are_missing(pairs)
        scores: Floats = np.mean([self.odds(one[row[proper], column[proper]]) for one in products], axis=0)
        return pairs[proper], scores

    def _are_missing(self, pairs: Rows) -> npt.NDArray[np.bool_]:
        """Return which pairs have two nodes, of both sides if there are any, no edge, and are not those of another."""
        first, second = pairs.T
        keys = first * self.graph.n_nodes + second
        position = np.minimum(np.searchsorted(self.edges, keys), max(len(self.edges) - 1, 0))
        known = self.edges[position] == keys if len(self.edges) else np.zeros(len(keys), bool)
        once = self.graph.directed | (self.place[first] < self.place[second])
        missing: npt.NDArray[np.bool_] = ~known & may_pair(first, second, self.side) & once
        return missing


def _bounding_lengths(centers: Vectors, contexts: Vectors, directed: bool) -> tuple[Floats, Floats]:
    """Return lengths of rows and columns, whose products bound the inner products of their vectors.

    In an undirected graph, both nodes of a pair are center and context in turn. Centers may be longer than contexts, or
    shorter: both are scaled to the same mean length, which changes no product.
    """
    rows, columns = (
        np.linalg.norm(table.astype(np.float64), axis=1) * (1 + _ROUNDING) for table in (centers, contexts)
    )
    if directed:
        return rows, columns
    scale = np.sqrt(columns.mean() / rows.mean()) if rows.any() and columns.any() else 1.0
    longer = np.maximum(rows * scale, columns / scale)
    return longer, longer
