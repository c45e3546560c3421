"""Scores of pairs of nodes under a fitted model, and the nodes that are most likely linked to a node.

The score of a pair is log p(1 | s) - log p(0 | s): how much more likely the model's family finds the second node as a
context of the first than as a negative. The inner product s itself would not do: the link function of the normal family
reverses its order.

Negatives are drawn by popularity, so that this score has lost most of it: a popular node is a likely negative, too.
Recommendations rank by the probability of a context itself, which is the ratio of both times that of a negative.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from efge.embedding.candidates import allowed_rows, find_in_excluded
from efge.embedding.embedding import Embedding, is_name
from efge.errors import check_positive_integers, warn_user
from efge.families.base import Family
from efge.families.builtin import Bernoulli
from efge.families.odds import log_odds, log_ratio
from efge.graph.bipartite import NO_SIDE, two_kinds
from efge.graph.graph import Graph
from efge.graph.names import list_names, split_pairs
from efge.models.base import NodeEmbedder

Rows = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]
Recommendations = list[tuple[Hashable, float]]
Evaluate = Callable[[Family, Scores], Scores]

# Entries of the vectors that are scored at once: they fit into the cache.
_CHUNK_ENTRIES = 1 << 16


class PairScorer(NodeEmbedder):
    """Base class of estimators whose family gives the probability that a pair of nodes is linked.

    Examples
    --------
    >>> import efge
    >>> isinstance(efge.EFGE(), PairScorer), isinstance(efge.HOPE(), PairScorer)
    (True, False)
    """

    context_embedding_: Embedding
    directed_: bool

    def _pair_family(self) -> Family:
        return Bernoulli()

    def score_pairs(self, pairs: Any) -> Scores:
        """Score pairs of nodes by how likely the model finds a link; a higher score means that it is more likely.

        The score is log p(1 | s) - log p(0 | s) under the model's family. The inner product s of the first node's
        vector and the second node's context vector is clipped to the family's bounds, as in training. If the model was
        fitted to an undirected graph, the score is the mean of both directions; otherwise it belongs to the direction
        from the first node to the second.

        Parameters
        ----------
        pairs : array of shape (k, 2), or iterable of pairs
            Names of nodes that were in the graph.

        Returns
        -------
        array of k floats
            Scores of the same model can be compared with each other. The probabilities are those of training, where
            negatives are drawn at random, so that a score of 0 is no natural threshold for edges.

        Raises
        ------
        KeyError
            If a name is not a node of the model.

        Examples
        --------
        >>> import efge
        >>> from itertools import combinations
        >>> model = efge.EFGE(dim=4, seed=0).fit([*combinations("abcd", 2), ("d", "e"), *combinations("efgh", 2)])
        >>> same, different = model.score_pairs([("a", "b"), ("a", "h")])
        >>> bool(same > different)
        True
        """
        self._check_fitted()
        first, second = (self.embedding_._rows(names) for names in split_pairs(pairs))
        return self._score_rows(first, second)

    def _score_rows(self, first: Rows, second: Rows, evaluate: Evaluate = log_odds) -> Scores:
        """Return the scores of pairs of rows, or of one first row with each second one.

        `evaluate` turns inner products under a family into scores.
        """
        centers = getattr(self, "center_embedding_", self.embedding_).vectors
        contexts, family = self.context_embedding_.vectors, self._pair_family()
        scores = np.empty(len(second))
        size = max(1, _CHUNK_ENTRIES // centers.shape[1])
        for begin in range(0, len(second), size):
            chunk = slice(begin, begin + size)
            u, v = first if len(first) == 1 else first[chunk], second[chunk]
            scores[chunk] = evaluate(family, _dot_rows(centers[u], contexts[v]))
            if not self.directed_:
                scores[chunk] += evaluate(family, _dot_rows(contexts[u], centers[v]))
                scores[chunk] /= 2
        return scores

    @overload
    def recommend(
        self, node: list[Any] | npt.NDArray[Any], k: int = 10, among: Any = None, exclude: Any = None
    ) -> list[Recommendations]: ...
    @overload
    def recommend(self, node: Hashable, k: int = 10, among: Any = None, exclude: Any = None) -> Recommendations: ...
    def recommend(
        self, node: Any, k: int = 10, among: Iterable[Hashable] | None = None, exclude: Any = None
    ) -> Recommendations | list[Recommendations]:
        """Return the nodes that are most likely linked to a node, best first, with their scores.

        The score is the log of the probability that a context of the node is the other one, as the model estimates it:
        log(m / (1 - m)) + log(negatives) + log(q), where m is the family's mean at the inner product and q the
        probability of the other node as a negative. So a popular node comes before another that fits as well. Unlike
        this, :meth:`score_pairs` says how much more likely a pair is than by the popularity of its nodes. LINE does not
        keep how often nodes occur, and ranks by :meth:`score_pairs`.

        Nodes about which nothing was learned are left out, and have no recommendations themselves: those without edges,
        and new ones that no path links to old ones. Their vectors are random, or zero.

        Parameters
        ----------
        node : name, or list or array of names
            A node is never recommended to itself.
        k : int
            Number of nodes; all candidates if there are fewer.
        among : iterable of names, optional
            The candidates; by default, all nodes of the model.
        exclude : list, tuple, set or array of names, or a graph, optional
            Names that are not recommended; or a graph, which must contain the node, whose neighbors are not: usually
            the graph that was fitted, so that only new links are recommended. In a directed graph, these are the
            out-neighbors. A graph is anything that :func:`efge.as_graph` takes except a list of edges. If the graph is
            bipartite and has cycles, as one of users and items, and `among` is not given, only nodes of the other side
            are recommended.

        Returns
        -------
        list of (name, score), or a list of such lists for a list of nodes
            Highest score first; of equal scores, the earlier row first.

        Examples
        --------
        >>> import efge
        >>> from itertools import combinations
        >>> graph = efge.as_graph([*combinations("abcd", 2), ("d", "e"), *combinations("efgh", 2)])
        >>> model = efge.EFGE(dim=4, seed=0).fit(graph)
        >>> sorted(name for name, score in model.recommend("a", k=3))
        ['b', 'c', 'd']
        >>> [name for name, score in model.recommend("a", k=1, exclude=graph)]
        ['e']
        """
        self._check_fitted()
        check_positive_integers(k=k)
        names = [node] if is_name(node) else list_names("node", node)
        allowed, graph = allowed_rows(self.embedding_, among, exclude)
        known = self._known_rows()
        allowed &= known
        sides = None if graph is None or among is not None else self._sides(graph)
        rows = self.embedding_._rows(names)
        if not known[rows].all():
            unknown = names[int(np.argmin(known[rows]))]
            warn_user(f"nothing was learned about {unknown!r}, which has no edges to learn from: no recommendations")
        found = [self._recommend(row, k, allowed, graph, sides) if known[row] else [] for row in rows]
        return found[0] if is_name(node) else found

    def _known_rows(self) -> npt.NDArray[np.bool_]:
        """Return of which nodes something was learned: they had edges, and their vectors are not zero."""
        centers = getattr(self, "center_embedding_", self.embedding_).vectors
        known = np.asarray(centers.any(axis=1) & self.context_embedding_.vectors.any(axis=1), bool)
        digests = getattr(self, "neighborhoods_", None)
        return known if digests is None else known & (digests != 0)

    def _sides(self, graph: Graph) -> npt.NDArray[np.int8] | None:
        """Return the side of each row in a bipartite graph that has cycles, and -1 for nodes that are not in it."""
        sides = two_kinds(graph)
        if sides is None:
            return None
        rows = self.embedding_._index.rows(graph)
        by_row = np.full(len(self.embedding_), NO_SIDE, np.int8)
        by_row[rows[rows >= 0]] = sides[rows >= 0]
        return by_row

    def _recommend(
        self,
        row: int,
        k: int,
        allowed: npt.NDArray[np.bool_],
        graph: Graph | None,
        sides: npt.NDArray[np.int8] | None,
    ) -> Recommendations:
        """Return the best of the allowed rows that are not the node's own, its neighbors', or on its side."""
        candidates, names = allowed.copy(), self.embedding_.names
        candidates[row] = False
        if graph is not None:
            node = int(find_in_excluded(graph, names[row : row + 1].tolist())[0])
            neighbors = graph._stored_names[graph.indices[graph.indptr[node] : graph.indptr[node + 1]]]
            rows = self.embedding_._index.rows(neighbors)
            candidates[rows[rows >= 0]] = False
        if sides is not None and sides[row] != NO_SIDE:
            candidates &= sides == 1 - sides[row]
        rows = np.flatnonzero(candidates)
        scores = self._score_contexts(row, rows)
        best = _largest(scores, k)
        return list(zip(names[rows[best]].tolist(), scores[best].tolist(), strict=True))

    def _score_contexts(self, row: int, rows: Rows) -> Scores:
        """Return the log of the probability of each row as a context of one row."""
        model: Any = self
        if not hasattr(model, "visits_"):
            return self._score_rows(np.array([row]), rows)
        settings = model._settings()
        # A node that no walk has visited, which is neither a context nor a negative, comes after those visited once.
        weights = np.maximum(model.visits_, 0.5) ** settings.noise_power
        noise = np.log(settings.negatives * weights / weights.sum())
        scores: Scores = self._score_rows(np.array([row]), rows, log_ratio) + noise[rows]
        return scores


def _dot_rows(u: npt.NDArray[np.float32], v: npt.NDArray[np.float32]) -> Scores:
    """Return the inner products of rows; unlike a matrix product, to the same bits wherever the rows are."""
    dots: Scores = (u.astype(np.float64) * v.astype(np.float64)).sum(axis=1)
    return dots


def _largest(scores: Scores, k: int) -> Rows:
    """Return the positions of the k largest scores, best first; of equal scores, the earlier position first."""
    chosen = np.arange(len(scores))
    if k < len(scores):
        kth = np.partition(scores, len(scores) - k)[len(scores) - k]
        above = np.flatnonzero(scores > kth)
        chosen = np.concatenate([above, np.flatnonzero(scores == kth)[: k - len(above)]])
    ranked: Rows = chosen[np.argsort(-scores[chosen], kind="stable")]
    return ranked
