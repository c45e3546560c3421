"""Communities: groups of nodes, overlapping or disjoint, from vectors; and scores of how good the groups are."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from efge import display
from efge.embedding.embedding import Embedding
from efge.errors import GraphError, check_types, is_number
from efge.evaluation.clustering import cluster_nodes
from efge.families.builtin import as_family
from efge.graph.inputs import as_graph
from efge.graph.names import NameIndex, list_names, name_array
from efge.parallel import single_threaded_blas
from efge.random import check_seed

if TYPE_CHECKING:
    import pandas as pd
    from scipy.sparse import csr_array

Rows = npt.NDArray[np.int64]
Truth = Mapping[Hashable, Hashable] | Iterable[Collection[Hashable]]


class Communities:
    """Groups of nodes by name. A node may be in several groups, or in none.

    :func:`communities` returns one. Build one yourself to score groups that another method found.

    Parameters
    ----------
    members : iterable of collections of names
        The nodes of each community.
    names : iterable of names, optional
        All nodes, in order. By default, those that are members, in order of appearance.

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
    >>> groups = Communities([["ann", "bob"], ["bob", "cid"]])
    >>> groups
    Communities(2 of 3 nodes, overlapping)
    >>> [len(members) for members in groups]
    [2, 2]
    >>> groups.f1([["ann", "bob"], ["cid", "bob"]])
    1.0
    """

    def __init__(self, members: Iterable[Collection[Hashable]], names: Iterable[Hashable] | None = None) -> None:
        self.members = [list(dict.fromkeys(group)) for group in _list_groups("members", members)]
        all_members = (name for group in self.members for name in group)
        self.names = name_array(dict.fromkeys(all_members) if names is None else list_names("names", names))
        self._index = NameIndex(self.names)
        self._rows = [self._rows_of(group) for group in self.members]
        self.disjoint = bool((np.bincount(self._member_rows, minlength=len(self.names)) == 1).all())

    def _rows_of(self, names: list[Hashable]) -> Rows:
        rows = self._index.rows(names)
        if (rows < 0).any():
            raise ValueError(f"no node named {names[int(np.argmax(rows < 0))]!r} among {len(self.names)} nodes")
        return rows

    @property
    def _member_rows(self) -> Rows:
        """Rows of all members, community by community."""
        return np.concatenate([np.empty(0, np.int64), *self._rows])

    @property
    def _member_groups(self) -> Rows:
        """Community of each entry of `_member_rows`."""
        return np.repeat(np.arange(len(self)), [len(rows) for rows in self._rows])

    def _repr_html_(self) -> str:
        """Return the largest communities and the sizes of all, for notebooks."""
        groups = sorted(self, key=len, reverse=True)
        rows = [
            (f"{len(group):,}", ", ".join(map(str, group[:5])) + (", ..." if len(group) > 5 else ""))
            for group in groups[:8]
        ]
        picture = display.bars([len(group) for group in groups[:60]], "sizes of communities")
        return display.card(repr(self), display.table(rows, ("nodes", "such as")), picture)

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[list[Hashable]]:
        return iter(self.members)

    def __repr__(self) -> str:
        kind = "disjoint" if self.disjoint else "overlapping"
        return f"Communities({len(self):,} of {len(self.names):,} nodes, {kind})"

    @property
    def labels(self) -> Rows:
        """Number of each node's community, in the order of `names`; defined only for disjoint communities.

        Examples
        --------
        >>> Communities([["ann", "cid"], ["bob"]], names=["ann", "bob", "cid"]).labels.tolist()
        [0, 1, 0]
        """
        if not self.disjoint:
            raise ValueError(f"labels need each node in exactly one community; got {self!r}")
        labels = np.empty(len(self.names), np.int64)
        labels[self._member_rows] = self._member_groups
        return labels

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame with a row for each membership: the node is the index, its community the column.

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

        order = np.lexsort((self._member_groups, self._member_rows))
        index = pd.Index(self.names[self._member_rows[order]], name="node")
        return pd.DataFrame({"community": self._member_groups[order]}, index)

    def nmi(self, truth: Truth) -> float:
        """Return the normalized mutual information with the true communities, from 0 to 1.

        Both must be disjoint; nodes without a true community are ignored. Use it to compare groups of different numbers
        and sizes. Many small groups score well by chance, which :meth:`ari` corrects.

        Parameters
        ----------
        truth : mapping of nodes to labels, or iterable of groups of nodes

        Examples
        --------
        >>> round(Communities([["a", "b"], ["c", "d"]]).nmi({"a": 1, "b": 1, "c": 0, "d": 0}), 3)
        1.0
        """
        from sklearn.metrics import normalized_mutual_info_score

        return float(normalized_mutual_info_score(*self._both_labels(truth)))

    def ari(self, truth: Truth) -> float:
        """Return the adjusted Rand index against the true communities: 1 if they are equal, about 0 by chance.

        Both must be disjoint; nodes without a true community are ignored. Use it where agreement by chance should not
        count, such as with many small groups.

        Parameters
        ----------
        truth : mapping of nodes to labels, or iterable of groups of nodes

        Examples
        --------
        >>> Communities([["a", "b"], ["c", "d"]]).ari([["a", "b"], ["c", "d"]])
        1.0
        """
        from sklearn.metrics import adjusted_rand_score

        return float(adjusted_rand_score(*self._both_labels(truth)))

    def f1(self, truth: Truth) -> float:
        """Return the mean F1 score of best matches, from 0 to 1.

        Each of these communities is matched with the true one that gives the highest F1 score, and each true one with
        one of these; the result averages the means of both directions. Use it where communities overlap or leave out
        nodes.

        Parameters
        ----------
        truth : mapping of nodes to labels, or iterable of groups of nodes

        Examples
        --------
        >>> round(Communities([["a", "b", "c"]]).f1([["a", "b"], ["c"]]), 3)
        0.725
        """
        other = self._as_communities(truth)
        common = (self._incidence().T @ other._incidence()).toarray()
        if not common.size:
            return 0.0
        sizes, true_sizes = (np.array([len(rows) for rows in groups._rows]) for groups in (self, other))
        scores = 2 * common / np.maximum(sizes[:, None] + true_sizes, 1)
        return float(scores.max(axis=1).mean() + scores.max(axis=0).mean()) / 2

    def modularity(self, graph: Any) -> float:
        """Return Newman's modularity of disjoint communities.

        That is the fraction of edges within communities, minus the fraction that degrees alone would lead to expect.
        Weights and directions count if the graph has them. Use it where the true communities are unknown.

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
            raise ValueError(f"modularity needs a graph with edges; got {graph!r}")
        if not graph.directed:
            # An undirected self loop is stored once, but has two ends at its node.
            matrix = matrix + diags_array(matrix.diagonal())
        labels = self.labels[self._rows_of(graph.names.tolist())]
        out_degrees, in_degrees = (np.bincount(labels, matrix.sum(axis=axis), len(self)) for axis in (1, 0))
        entries = matrix.tocoo()
        within = entries.data[labels[entries.row] == labels[entries.col]].sum()
        total = matrix.sum()
        with single_threaded_blas():
            return float(within / total - (out_degrees / total) @ (in_degrees / total))

    def score(self, truth: Truth | None = None, graph: Any = None) -> dict[str, float]:
        """Return all scores that apply.

        With true communities: "f1", and "nmi" and "ari" if all communities are disjoint. With a graph: "modularity", if
        these communities are disjoint.

        Examples
        --------
        >>> Communities([["a", "b"], ["b", "c"]]).score(truth=[["a", "b"], ["b", "c"]])
        {'f1': 1.0}
        """
        scores: dict[str, float] = {}
        if truth is not None:
            other = self._as_communities(truth)
            scores["f1"] = self.f1(other)
            if self.disjoint and not other._has_overlap():
                scores |= {"nmi": self.nmi(other), "ari": self.ari(other)}
        if graph is not None and self.disjoint:
            scores["modularity"] = self.modularity(graph)
        return scores

    def _has_overlap(self) -> bool:
        return len(self._member_rows) != len(set(self._member_rows.tolist()))

    def _as_communities(self, truth: Truth) -> Communities:
        """Return true communities, over the same nodes as these."""
        if isinstance(truth, Mapping):
            groups: dict[Hashable, list[Hashable]] = {}
            for name, label in truth.items():
                groups.setdefault(label, []).append(name)
            return Communities(groups.values(), self.names)
        return Communities(_list_groups("truth", truth), self.names)

    def _both_labels(self, truth: Truth) -> tuple[Rows, Rows]:
        """Return the true labels and these, for the nodes that have a true label."""
        other = self._as_communities(truth)
        if other._has_overlap():
            raise ValueError("a node has one true label; if the true communities overlap, use f1")
        return other._member_groups, self.labels[other._member_rows]

    def _incidence(self) -> csr_array:
        """Return the 0/1 matrix of nodes by communities."""
        from scipy.sparse import csr_array

        rows, groups = self._member_rows, self._member_groups
        return csr_array((np.ones(len(rows)), (rows, groups)), shape=(len(self.names), len(self)))


def communities(
    source: Any,
    graph: Any = None,
    *,
    n_communities: int | None = None,
    overlapping: bool | None = None,
    threshold: float | None = None,
    normalize: bool = False,
    seed: int = 0,
) -> Communities:
    """Group nodes into communities by their vectors.

    Overlapping communities need vectors without negative entries: a node is a member of each community for which its
    entry is above a threshold. Use them with :class:`BigClam`, or with an EFGE of the family "bernoulli-poisson" and a
    window of 1 or 2, whose `dim` is about the number of communities. Disjoint communities are found by k-means, in any
    vectors.

    Parameters
    ----------
    source : Embedding or fitted estimator
    graph : Graph, or anything :func:`efge.as_graph` takes, optional
        Needed to choose a threshold if the source is an embedding.
    n_communities : int, optional
        Number of disjoint communities. By default, the number with the best silhouette, up to the square root of the
        number of nodes.
    overlapping : bool, optional
        By default, true if the source is a fitted BigClam, or an EFGE whose family has nonnegative vectors.
    threshold : float, optional
        Entries above it make a node a member. By default, `threshold_` of a BigClam, and the same value for an
        embedding with its graph. For an EFGE, sqrt(log(1 + 1 / negatives)) / 2: half of the value at which two nodes
        co-occur as often as by chance, because a node in two communities divides its walks between them.
    normalize : bool
        Scale vectors to length 1 before k-means, so that only their directions count.
    seed : int
        Seed of k-means. The same vectors and seed give the same communities.

    Returns
    -------
    Communities
        Disjoint communities are ordered by size, largest first. Overlapping ones are in the order of the dimensions,
        without empty ones; a node may be in none.

    Notes
    -----
    In an EFGE each node has two vectors, one as a center and one as a context. Scaling a dimension of one up and of the
    other down changes no probability. The membership is therefore the geometric mean of both entries, which does not
    depend on such scales.

    Examples
    --------
    >>> embedding = Embedding([[2, 0], [2, 0.1], [0, 3]], ["ann", "bob", "cid"])
    >>> communities(embedding, n_communities=2).members
    [['ann', 'bob'], ['cid']]
    >>> communities(embedding, overlapping=True, threshold=0.05).members
    [['ann', 'bob'], ['bob', 'cid']]
    """
    check_types(overlapping=overlapping, normalize=normalize)
    seed = check_seed(seed)
    if threshold is not None and not is_number(threshold):
        raise TypeError(f"threshold is a number, or None to choose it by the graph; got {threshold!r}")
    embedding = source if isinstance(source, Embedding) else getattr(source, "embedding_", None)
    if embedding is None:
        hint = "fit a model first, and pass it, as efge.communities(efge.EFGE().fit(graph))"
        raise ValueError(f"communities needs an Embedding or a fitted estimator; got {source!r}; {hint}")
    if overlapping is None:
        overlapping = hasattr(source, "threshold_") or _is_nonnegative_efge(source)
    if overlapping:
        if n_communities is not None:
            raise ValueError(
                f"the vectors have {embedding.dim} dimensions, one for each overlapping community;"
                f" leave out n_communities={n_communities!r}, or pass overlapping=False"
            )
        limit = _default_threshold(source, graph) if threshold is None else threshold
        is_member = _memberships(source, embedding) > limit
        groups = [embedding.names[column].tolist() for column in is_member.T if column.any()]
    else:
        labels = cluster_nodes(embedding, n_communities, normalize, seed)
        groups = [embedding.names[labels == label].tolist() for label in range(labels.max(initial=-1) + 1)]
    return Communities(groups, embedding.names)


def _list_groups(argument: str, groups: Any) -> list[list[Hashable]]:
    """Return groups of nodes as lists; raise a GraphError if they are something else."""
    if isinstance(groups, (str, bytes)) or not isinstance(groups, Iterable):
        raise GraphError(
            f"{argument} is a list of groups of nodes, or a mapping of nodes to labels; got {groups!r}"[:500]
        )
    return [list_names(f"each group of {argument}", group) for group in groups]


def _is_nonnegative_efge(source: Any) -> bool:
    return hasattr(source, "context_embedding_") and hasattr(source, "family") and as_family(source.family).nonnegative


def _memberships(source: Any, embedding: Embedding) -> npt.NDArray[np.float32]:
    is_efge = _is_nonnegative_efge(source)
    # A filter leaves no memberships: they are in the vectors as they were trained.
    is_filtered = is_efge and getattr(source, "propagate", None) is not None
    vectors = source.center_embedding_.vectors if is_filtered else embedding.vectors
    if (vectors < 0).any():
        raise ValueError("overlapping communities need vectors without negative entries; these have some")
    return np.sqrt(vectors * source.context_embedding_.vectors) if is_efge else vectors


def _default_threshold(source: Any, graph: Any) -> float:
    if hasattr(source, "threshold_"):
        return float(source.threshold_)
    if _is_nonnegative_efge(source):
        return math.sqrt(math.log1p(1 / source.negatives)) / 2
    if graph is None:
        raise ValueError("overlapping communities of an embedding need its graph or a threshold; got neither")
    from efge.models.affiliation import membership_threshold

    graph = as_graph(graph)
    return membership_threshold(graph.n_nodes, graph.n_edges - graph.n_self_loops)
