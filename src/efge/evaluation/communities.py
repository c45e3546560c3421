"""Communities: groups of nodes, overlapping or not, from vectors; and scores that tell how good they are."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from efge.embedding.embedding import Embedding
from efge.errors import check_counts
from efge.families.builtin import as_family
from efge.graph.inputs import as_graph
from efge.graph.names import NameIndex, name_array

if TYPE_CHECKING:
    import pandas as pd
    from scipy.sparse import csr_array

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Truth = Mapping[Hashable, Hashable] | Iterable[Collection[Hashable]]

# Starts of k-means, of which the best one counts; nodes on which silhouettes are measured, by their mutual distances.
_STARTS, _SILHOUETTES = 10, 2000
# Numbers of communities that are tried one by one; from there on, each is so many times the one before.
_ONE_BY_ONE, _RATIO = 8, math.sqrt(2)


class Communities:
    """Groups of nodes by name; nodes may be in several groups, or in none.

    Most come from :func:`communities`; build one to have scores of groups that another method found.

    Parameters
    ----------
    members : iterable of collections of names
        The nodes of each community.
    names : iterable of names, optional
        All nodes, in their order; by default those that are members, as they come.

    Attributes
    ----------
    members : list of lists of names
        The nodes of each community.
    names : array of names
        All nodes.
    disjoint : bool
        Whether each node is in exactly one community.

    Examples
    --------
    >>> found = Communities([["ann", "bob"], ["bob", "cid"]])
    >>> found
    Communities(2 of 3 nodes, overlapping)
    >>> [len(members) for members in found]
    [2, 2]
    >>> found.f1([["ann", "bob"], ["cid", "bob"]])
    1.0
    """

    def __init__(self, members: Iterable[Collection[Hashable]], names: Iterable[Hashable] | None = None) -> None:
        self.members = [list(dict.fromkeys(group)) for group in members]
        everyone = (name for group in self.members for name in group)
        self.names = name_array(dict.fromkeys(everyone) if names is None else names)
        self._index = NameIndex(self.names)
        self._rows = [self._rows_of(group) for group in self.members]
        self.disjoint = bool((np.bincount(self._flat, minlength=len(self.names)) == 1).all())

    def _rows_of(self, wanted: list[Hashable]) -> Rows:
        rows = self._index.rows(wanted)
        if (rows < 0).any():
            raise ValueError(f"no node named {wanted[int(np.argmax(rows < 0))]!r} among {len(self.names)} nodes")
        return rows

    @property
    def _flat(self) -> Rows:
        """Rows of all members, one community after the other."""
        return np.concatenate([np.empty(0, np.int64), *self._rows])

    @property
    def _numbers(self) -> Rows:
        """The community of each entry of `_flat`."""
        return np.repeat(np.arange(len(self)), [len(rows) for rows in self._rows])

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[list[Hashable]]:
        return iter(self.members)

    def __repr__(self) -> str:
        return (
            f"Communities({len(self):,} of {len(self.names):,} nodes, {'disjoint' if self.disjoint else 'overlapping'})"
        )

    @property
    def labels(self) -> Rows:
        """The number of each node's community, in the order of `names`; only where each node is in exactly one.

        Examples
        --------
        >>> Communities([["ann", "cid"], ["bob"]], names=["ann", "bob", "cid"]).labels.tolist()
        [0, 1, 0]
        """
        if not self.disjoint:
            raise ValueError(f"labels are for nodes that are in one community each; these are {self!r}")
        labels = np.empty(len(self.names), np.int64)
        labels[self._flat] = self._numbers
        return labels

    def to_pandas(self) -> pd.DataFrame:
        """A data frame with a row for each membership: the node as index, and the number of its community.

        Examples
        --------
        >>> Communities([["ann", "bob"], ["bob", "cid"]]).to_pandas()
              community
        node
        ann           0
        bob           0
        bob           1
        cid           1
        """
        import pandas as pd

        order = np.lexsort((self._numbers, self._flat))
        index = pd.Index(self.names[self._flat[order]], name="node")
        return pd.DataFrame({"community": self._numbers[order]}, index)

    def nmi(self, truth: Truth) -> float:
        """Normalized mutual information with the truth, 0 to 1; both disjoint, over the nodes that the truth knows.

        Use it to compare groups of different numbers and sizes; many small groups score well by chance, which
        :meth:`ari` corrects.

        Examples
        --------
        >>> round(Communities([["a", "b"], ["c", "d"]]).nmi({"a": 1, "b": 1, "c": 0, "d": 0}), 3)
        1.0
        """
        from sklearn.metrics import normalized_mutual_info_score

        return float(normalized_mutual_info_score(*self._both_labels(truth)))

    def ari(self, truth: Truth) -> float:
        """Adjusted Rand index against the truth: 1 if the same, about 0 by chance; both disjoint, as for :meth:`nmi`.

        Use it where chance should count for nothing, as with many small groups.

        Examples
        --------
        >>> Communities([["a", "b"], ["c", "d"]]).ari([["a", "b"], ["c", "d"]])
        1.0
        """
        from sklearn.metrics import adjusted_rand_score

        return float(adjusted_rand_score(*self._both_labels(truth)))

    def f1(self, truth: Truth) -> float:
        """Mean F1 of each community with the one it matches best: of ours with the true ones, and the other way round.

        The mean of both means, 0 to 1. Use it where communities overlap, or leave out nodes.

        Examples
        --------
        >>> round(Communities([["a", "b", "c"]]).f1([["a", "b"], ["c"]]), 3)
        0.725
        """
        other = self._truth(truth)
        common = (self._incidence().T @ other._incidence()).toarray()
        if not common.size:
            return 0.0
        sizes, true_sizes = (np.array([len(rows) for rows in some._rows]) for some in (self, other))
        scores = 2 * common / np.maximum(sizes[:, None] + true_sizes, 1)
        return float(scores.max(axis=1).mean() + scores.max(axis=0).mean()) / 2

    def modularity(self, graph: Any) -> float:
        """Newman's modularity of disjoint communities: edges within them, less those to expect by degrees alone.

        Weights and directions count if the graph has them. Use it where no truth is known.

        Examples
        --------
        >>> graph = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "e"), ("e", "f"), ("f", "d"), ("a", "d")]
        >>> round(Communities([["a", "b", "c"], ["d", "e", "f"]]).modularity(graph), 3)
        0.357
        """
        from scipy.sparse import diags_array

        graph = as_graph(graph)
        matrix = graph.to_scipy()
        if not matrix.nnz:
            raise ValueError(f"modularity is for graphs with edges; this is {graph!r}")
        if not graph.directed:
            # An undirected self loop is stored once, and has two ends at its node.
            matrix = matrix + diags_array(matrix.diagonal())
        labels = self.labels[self._rows_of(graph.names.tolist())]
        begins, ends = (np.bincount(labels, matrix.sum(axis=axis), len(self)) for axis in (1, 0))
        entries = matrix.tocoo()
        within = entries.data[labels[entries.row] == labels[entries.col]].sum()
        total = matrix.sum()
        return float(within / total - (begins / total) @ (ends / total))

    def score(self, truth: Truth | None = None, graph: Any = None) -> dict[str, float]:
        """Those scores that apply: "f1" by the truth, "nmi" and "ari" too if all is disjoint, "modularity" by a graph.

        Examples
        --------
        >>> Communities([["a", "b"], ["b", "c"]]).score(truth=[["a", "b"], ["b", "c"]])
        {'f1': 1.0}
        """
        scores: dict[str, float] = {}
        if truth is not None:
            other = self._truth(truth)
            scores["f1"] = self.f1(other)
            if self.disjoint and len(other._flat) == len(set(other._flat.tolist())):
                scores |= {"nmi": self.nmi(other), "ari": self.ari(other)}
        if graph is not None and self.disjoint:
            scores["modularity"] = self.modularity(graph)
        return scores

    def _truth(self, truth: Truth) -> Communities:
        """True communities under our names."""
        if isinstance(truth, Mapping):
            groups: dict[Hashable, list[Hashable]] = {}
            for name, label in truth.items():
                groups.setdefault(label, []).append(name)
            return Communities(groups.values(), self.names)
        return Communities(truth, self.names)

    def _both_labels(self, truth: Truth) -> tuple[Rows, Rows]:
        """True labels and ours, of the nodes that the truth knows."""
        other = self._truth(truth)
        rows = other._flat
        if len(rows) != len(set(rows.tolist())):
            raise ValueError("a true label is one for each node; where communities overlap, f1 is the score")
        return other._numbers, self.labels[rows]

    def _incidence(self) -> csr_array:
        from scipy.sparse import csr_array

        shape = (len(self.names), len(self))
        return csr_array((np.ones(len(self._flat)), (self._flat, self._numbers)), shape=shape)


def communities(
    source: Any,
    graph: Any = None,
    *,
    number: int | None = None,
    overlapping: bool | None = None,
    threshold: float | None = None,
    normalize: bool = False,
    seed: int = 0,
) -> Communities:
    """Communities of nodes by their vectors.

    Overlapping ones are read off vectors without negative entries: a node is a member of each community for which its
    entry is above a threshold. Use that for :class:`BigClam`, and for an EFGE with the family "bernoulli-poisson" and a
    window of 1 or 2, its `dim` about the number of communities. Disjoint ones are found by k-means, in any vectors.

    Parameters
    ----------
    source : Embedding, or an estimator that is fitted
    graph : Graph, or anything :func:`efge.as_graph` takes, optional
        What a threshold is chosen by, where an embedding does not come with its estimator.
    number : int, optional
        How many disjoint communities. By default, the number with the best silhouette; at most the square root of the
        number of nodes.
    overlapping : bool, optional
        By default, whether the source is an estimator of memberships.
    threshold : float, optional
        By default, for an estimator its `threshold_`; for a graph :func:`membership_threshold`; for an EFGE half of
        sqrt(log(1 + 1 / negatives)), at which nodes would meet as often as by chance: walks of a node that is in two
        communities are shared among these.
    normalize : bool
        Divide vectors by their lengths before k-means, so that directions alone count.
    seed : int
        The same vectors and seed give the same communities.

    Returns
    -------
    Communities
        Disjoint ones by descending size; overlapping ones in the order of the dimensions, without those that no node is
        a member of. A node may be in none.

    Notes
    -----
    In an EFGE nodes have two vectors, as centers and as contexts; a dimension of the one may be scaled up and the other
    down without any change of a probability. A membership is the geometric mean of both, which such scales leave alone.

    Examples
    --------
    >>> embedding = Embedding([[2, 0], [2, 0.1], [0, 3]], ["ann", "bob", "cid"])
    >>> communities(embedding, number=2).members
    [['ann', 'bob'], ['cid']]
    >>> communities(embedding, overlapping=True, threshold=0.05).members
    [['ann', 'bob'], ['bob', 'cid']]
    """
    embedding = source if isinstance(source, Embedding) else getattr(source, "embedding_", None)
    if embedding is None:
        raise ValueError(f"communities are those of an Embedding, or of an estimator that is fitted; got {source!r}")
    if overlapping is None:
        overlapping = hasattr(source, "threshold_") or _is_efge(source)
    if overlapping:
        if number is not None:
            raise ValueError(f"overlapping communities are the vectors' {embedding.dim} entries; got number={number!r}")
        limit = _threshold(source, graph) if threshold is None else threshold
        chosen = _memberships(source, embedding) > limit
        groups = [embedding.names[column].tolist() for column in chosen.T if column.any()]
    else:
        labels = _clusters(embedding, number, normalize, seed)
        groups = [embedding.names[labels == label].tolist() for label in range(labels.max(initial=-1) + 1)]
    return Communities(groups, embedding.names)


def _is_efge(source: Any) -> bool:
    return hasattr(source, "context_embedding_") and hasattr(source, "family") and as_family(source.family).nonnegative


def _memberships(source: Any, embedding: Embedding) -> npt.NDArray[np.float32]:
    vectors = embedding.vectors
    if (vectors < 0).any():
        raise ValueError("overlapping communities are read off vectors without negative entries; these have some")
    return np.sqrt(vectors * source.context_embedding_.vectors) if _is_efge(source) else vectors


def _threshold(source: Any, graph: Any) -> float:
    if hasattr(source, "threshold_"):
        return float(source.threshold_)
    if _is_efge(source):
        return math.sqrt(math.log1p(1 / source.negatives)) / 2
    if graph is None:
        raise ValueError("overlapping communities of an embedding need its graph, or a threshold; got neither")
    from efge.models.bigclam import membership_threshold

    graph = as_graph(graph)
    return membership_threshold(graph.n_nodes, graph.n_edges - graph.n_self_loops)


def _clusters(embedding: Embedding, number: int | None, normalize: bool, seed: int) -> Rows:
    """The cluster of each node by k-means, the largest cluster first."""
    from threadpoolctl import threadpool_limits

    check_counts(number=number)
    n = len(embedding)
    if number is not None and number > n:
        raise ValueError(f"there are at most as many communities as nodes, {n}; got number={number}")
    vectors = embedding.vectors.astype(np.float64)
    if normalize:
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300)
    # Sums of several threads would be added in the order in which these end.
    with threadpool_limits(1):
        if number is None:
            number = _best_number(vectors, seed)
        if number <= 1:
            return np.zeros(n, np.int64)
        labels = _k_means(vectors, number, seed, _STARTS)
    sizes = np.bincount(labels)
    renumbered = np.empty(len(sizes), np.int64)
    renumbered[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return renumbered[labels]


def _k_means(vectors: Floats, number: int, seed: int, starts: int) -> Rows:
    from sklearn.cluster import KMeans

    return np.asarray(KMeans(number, n_init=starts, random_state=seed).fit_predict(vectors), np.int64)


def _best_number(vectors: Floats, seed: int) -> int:
    """The number of clusters of best silhouette on a sample of nodes; 1 where vectors are too few to have one."""
    from sklearn.metrics import silhouette_score

    n, best, best_score = len(vectors), 1, -np.inf
    sample = np.random.default_rng(seed).permutation(n)[:_SILHOUETTES]
    number, most = 2, min(max(math.isqrt(n), 2), n - 1)
    while number <= most:
        labels = _k_means(vectors, number, seed, 1 if n > _SILHOUETTES else _STARTS)[sample]
        if 1 < len(np.unique(labels)) < len(sample):
            score = float(silhouette_score(vectors[sample], labels))
            best, best_score = max((best, best_score), (number, score), key=lambda tried: tried[1])
        number = number + 1 if number < _ONE_BY_ONE else math.ceil(number * _RATIO)
    return best
