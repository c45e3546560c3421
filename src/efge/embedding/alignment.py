"""Embeddings of the same nodes in one space: rotations between independent fits, and how far nodes have moved.

Two fits of a graph differ by a rotation even if they say the same about it. The orthogonal matrix R that minimizes the
distance between old vectors and new ones times R is U V' of the singular value decomposition U S V' of new' old, over
the nodes that both have (orthogonal Procrustes). What remains is not explained by a rotation: these nodes have moved.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from efge.embedding.embedding import Embedding, as_embedding
from efge.errors import EmbeddingError, check_positive_integers, check_types
from efge.graph.names import Names
from efge.parallel import single_threaded_blas

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Alignment:
    """A new embedding in the space of an old one.

    Attributes
    ----------
    embedding : Embedding
        All nodes of the new embedding, rotated.
    rotation : array of shape (dim, dim)
        The orthogonal matrix that new vectors were multiplied by; it may reflect, too.
    n_common : int
        Number of nodes of both embeddings.
    unexplained : float
        The squared distance between old and rotated vectors of common nodes that remains, as a fraction of the sum of
        the squared lengths of both: 0 if a rotation explains everything, 1 if the vectors have nothing in common.

    Examples
    --------
    >>> old = Embedding([[1, 0], [0, 1]], ["ann", "bob"])
    >>> turned = Embedding([[0, 1], [-1, 0], [0, 3]], ["ann", "bob", "cid"])
    >>> alignment = align(old, turned)
    >>> alignment.embedding["cid"].round(3) + 0.0
    array([3., 0.], dtype=float32)
    """

    embedding: Embedding
    rotation: Floats
    n_common: int
    unexplained: float

    def __repr__(self) -> str:
        return f"Alignment({self.embedding!r}, {self.n_common:,} common nodes, {self.unexplained:.3f} unexplained)"


def align(old: Any, new: Any) -> Alignment:
    """Rotate a new embedding into the space of an old one, as well as a rotation can.

    Then vectors of both can be compared, and a classifier or an index of old vectors can be used with new ones. How far
    it can be trusted is what `unexplained` tells. With fewer common nodes than dimensions, a rotation explains too
    much.

    Parameters
    ----------
    old, new : Embedding, or fitted estimator
        They have the same dimension, and some nodes in common.

    Returns
    -------
    Alignment
        The rotated embedding, the rotation, and the part that it does not explain.

    Raises
    ------
    EmbeddingError
        If the dimensions differ, or no node is common.

    References
    ----------
    P. H. Schönemann. A generalized solution of the orthogonal Procrustes problem. Psychometrika 1966.

    Examples
    --------
    >>> import networkx as nx
    >>> import efge
    >>> club = nx.karate_club_graph()
    >>> monday, tuesday = (efge.ProNE(dim=4, seed=seed).fit(club) for seed in (1, 2))
    >>> align(monday, tuesday).unexplained < 0.01
    True
    """
    old, new = as_embedding("align", old), as_embedding("align", new)
    _check_dimensions(old, new)
    rows = old._index.rows(new.names)
    common = np.flatnonzero(rows >= 0)
    if not len(common):
        raise EmbeddingError(
            f"align needs nodes that both embeddings have; {old!r} and {new!r} have none in common: are their names of"
            " the same type, and of the same graph?"
        )
    first, second = (table.astype(np.float64) for table in (old.vectors[rows[common]], new.vectors[common]))
    with single_threaded_blas():
        left, _, right = np.linalg.svd(second.T @ first)
        rotation = left @ right
        rotated = (new.vectors.astype(np.float64) @ rotation).astype(np.float32)
        remaining = float(((first - second @ rotation) ** 2).sum())
    total = float((first**2).sum() + (second**2).sum())
    embedding = Embedding._owning(rotated, new.names)
    return Alignment(embedding, rotation, len(common), remaining / total if total else 0.0)


@dataclass(frozen=True)
class Drift:
    """How far nodes have moved from each snapshot to the next.

    Attributes
    ----------
    names : array of names
        Nodes that are in at least two consecutive snapshots, in the order of their first appearance.
    distances : array of shape (nodes, snapshots - 1)
        Cosine distance between a node's vector and the one before: 0 for the same direction, 1 for a right angle, 2 for
        the opposite one; NaN where a snapshot lacks the node.
    unexplained : list of float
        For each step, the part of all vectors that no rotation explains; see :class:`Alignment`.

    Examples
    --------
    >>> before = Embedding([[1, 0], [1, 0], [0, 1]], ["ann", "bob", "cid"])
    >>> after = Embedding([[1, 0], [0, 1], [0, 1]], ["ann", "bob", "cid"])
    >>> drift([before, after], aligned=True).most(1)
    [('bob', 1.0)]
    """

    names: Names
    distances: Floats
    unexplained: list[float]

    def __repr__(self) -> str:
        return f"Drift({len(self.names):,} nodes, {self.distances.shape[1]} steps, mean distance {self.mean:.3f})"

    @property
    def mean(self) -> float:
        """Mean distance over all nodes and steps; 0 if there are none.

        Examples
        --------
        >>> drift([Embedding([[1, 0]]), Embedding([[0, 1]])], aligned=True).mean
        1.0
        """
        known = self.distances[~np.isnan(self.distances)]
        return float(known.mean()) if len(known) else 0.0

    def most(self, k: int = 10) -> list[tuple[Hashable, float]]:
        """Return the nodes that moved most, with the sum of their distances; of equal ones, the earlier node first.

        Examples
        --------
        >>> drift([Embedding([[1, 0], [0, 1]]), Embedding([[0, 1], [0, 1]])], aligned=True).most(5)
        [(0, 1.0), (1, 0.0)]
        """
        check_positive_integers(k=k)
        totals = np.nansum(self.distances, axis=1)
        order = np.argsort(-totals, kind="stable")[:k]
        return list(zip(self.names[order].tolist(), totals[order].tolist(), strict=True))

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas data frame with the names as index and a column for each step, numbered from 1.

        Examples
        --------
        >>> drift([Embedding([[1, 0]], ["ann"]), Embedding([[0, 1]], ["ann"])], aligned=True).to_pandas()
                1
        node
        ann   1.0
        """
        import pandas as pd

        steps = range(1, self.distances.shape[1] + 1)
        return pd.DataFrame(self.distances, pd.Index(self.names, name="node"), steps, copy=True)


def drift(embeddings: Iterable[Any], *, aligned: bool = False) -> Drift:
    """Measure how far each node moves over snapshots of a graph.

    Each snapshot is rotated to the one before it (:func:`align`), so that independent fits can be compared. What
    moves then is a node's position among the others, and some noise: fit the first snapshot twice to see how much.

    Parameters
    ----------
    embeddings : two or more embeddings, or fitted estimators
        In the order of time, with the same dimension. Nodes may come and go.
    aligned : bool
        Whether the snapshots share a space already, as after :meth:`EFGE.partial_fit`; they are not rotated then.

    Returns
    -------
    Drift
        Distances by node and step; ``most(k)`` lists the nodes that moved most.

    Raises
    ------
    EmbeddingError
        If there are fewer than two snapshots, or if two consecutive ones cannot be aligned.

    Examples
    --------
    >>> import networkx as nx
    >>> import efge
    >>> before = nx.disjoint_union(nx.complete_graph(20), nx.complete_graph(20))
    >>> after = nx.Graph(before)
    >>> after.remove_edges_from([(0, i) for i in range(1, 20)])
    >>> after.add_edges_from([(0, i) for i in range(20, 40)])  # node 0 has changed sides
    >>> drift([efge.EFGE(dim=8, seed=1).fit(graph) for graph in (before, after)]).most(1)[0][0]
    0
    """
    check_types(aligned=aligned)
    if not isinstance(embeddings, Iterable):
        raise EmbeddingError(f"drift takes a list of embeddings or fitted estimators; got {type(embeddings).__name__}")
    snapshots = [as_embedding("drift", embedding) for embedding in embeddings]
    if len(snapshots) < 2:
        raise EmbeddingError(f"drift needs two or more embeddings; got {len(snapshots)}")
    every, rows = _rows_by_snapshot(snapshots)
    distances = np.full((len(every), len(snapshots) - 1), np.nan)
    unexplained = []
    for step, (old, new) in enumerate(pairwise(snapshots)):
        _check_dimensions(old, new)
        common, moved, remaining = _moves(old, new, aligned)
        distances[rows[step + 1][common], step] = moved
        unexplained.append(remaining)
    seen = ~np.isnan(distances).all(axis=1)
    return Drift(every[seen], distances[seen], unexplained)


def _rows_by_snapshot(snapshots: list[Embedding]) -> tuple[Names, list[Rows]]:
    """Return the names of all snapshots but the last, in the order of their first appearance, and their places.

    Nodes that the last snapshot has alone cannot have moved; their place is -1.
    """
    every, found = snapshots[0], []
    for snapshot in snapshots[:-1]:
        rows = every._index.rows(snapshot.names)
        new = rows < 0
        if new.any():
            rows[new] = len(every) + np.arange(new.sum())
            names = [*every.names.tolist(), *snapshot.names[new].tolist()]
            every = Embedding._owning(np.zeros((len(names), 1), np.float32), names)
        found.append(rows)
    return every.names, [*found, every._index.rows(snapshots[-1].names)]


def _moves(old: Embedding, new: Embedding, aligned: bool) -> tuple[Rows, Floats, float]:
    """Return the rows of common nodes, their cosine distances, and the fraction that is not explained."""
    if aligned:
        unexplained, rotated = 0.0, new
    else:
        alignment = align(old, new)
        unexplained, rotated = alignment.unexplained, alignment.embedding
    rows = old._index.rows(rotated.names)
    common = np.flatnonzero(rows >= 0)
    first, second = old.vectors[rows[common]], rotated.vectors[common]
    products, *squares = (
        np.einsum("ij,ij->i", x, y, dtype=np.float64) for x, y in ((first, second), (first, first), (second, second))
    )
    norms = np.sqrt(squares[0]) * np.sqrt(squares[1])
    same = (first == second).all(axis=1)
    cosines = np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)
    # Rounding errors of equal vectors are not a move, and zeros that stay zeros do not move either.
    moved = np.where(same, 0.0, np.clip(1 - cosines, 0.0, 2.0))
    return common, moved, unexplained


def _check_dimensions(old: Embedding, new: Embedding) -> None:
    if old.dim != new.dim:
        raise EmbeddingError(
            f"two embeddings of one space have the same dimension; got {old.dim} and {new.dim}: fit them with one dim"
        )
