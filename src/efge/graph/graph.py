"""A graph: sorted CSR arrays and the nodes' own names, in the order of the input; and how edges become one.

An undirected edge stands in the rows of both its ends, a self loop once. Rows hold each neighbor once: duplicate edges
merge, and their weights add up.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Hashable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from efge.errors import GraphError
from efge.graph.mapped import GraphFile, StoredNames, node_type
from efge.graph.names import NameIndex, Names, check_distinct, name_array
from efge.kernels import csr as kernel
from efge.parallel import available_threads

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Offsets = npt.NDArray[np.int64]
Nodes = npt.NDArray[np.signedinteger[Any]]
Weights = npt.NDArray[np.float64]

# Each share of the edges needs cursors of its own, a number a node; more shares than this cost more than they save.
_MOST_SHARES = 4


class Graph:
    """An immutable graph in compressed sparse rows, with the nodes' own names.

    Most graphs come from :func:`efge.as_graph` or :func:`efge.read_graph`; the constructor takes ready arrays.

    Parameters
    ----------
    indptr : array of n + 1 integers
        Row i is ``indices[indptr[i]:indptr[i + 1]]``.
    indices : array of integers
        The neighbors' rows, strictly ascending within each row.
    weights : array of floats, optional
        A finite positive number for each entry of `indices`; None for an unweighted graph.
    names : n names, optional
        Distinct hashable names; 0 to n - 1 if not given.
    directed : bool
        An undirected graph holds every edge in both rows, with one weight.

    Examples
    --------
    >>> graph = Graph([0, 1, 3, 4], [1, 0, 2, 1], names=["a", "b", "c"])
    >>> graph
    Graph(3 nodes, 2 edges, undirected, unweighted, 0 isolated)
    >>> graph.neighbors("b")
    ['a', 'c']
    """

    indptr: Offsets
    indices: Nodes
    weights: Weights | None
    directed: bool
    # Where the arrays are, if they are not in memory.
    _file: GraphFile | None = None

    def __init__(
        self,
        indptr: npt.ArrayLike,
        indices: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        names: Iterable[Hashable] | None = None,
        directed: bool = False,
    ) -> None:
        starts = _integers("indptr", indptr)
        n = max(len(starts) - 1, 0)
        rows = _integers("indices", indices)
        if len(rows) and not (rows.min() >= 0 and rows.max() < n):
            raise GraphError(f"indices are rows, 0 to {n - 1}; got {rows.min()} to {rows.max()}")
        state = {
            "indptr": starts,
            "indices": rows.astype(node_type(n)),
            "weights": None if weights is None else _floats("weights", weights),
            "names": name_array(range(n) if names is None else names),
            "directed": bool(directed),
        }
        self.__setstate__(state)
        self._check()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a graph does not change; build another to have other {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a graph does not change; it keeps its {name}")

    def __getstate__(self) -> dict[str, Any]:
        return {field: getattr(self, field) for field in ("indptr", "indices", "weights", "names", "directed")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for field in (self.indptr, self.indices, self.weights, self.__dict__.get("names")):
            if field is not None:
                field.flags.writeable = False

    @classmethod
    def _of_valid(cls, indptr: Offsets, indices: Nodes, weights: Weights | None, names: Names, directed: bool) -> Graph:
        """A graph from arrays that are known to be right."""
        graph = object.__new__(cls)
        graph.__setstate__(
            {"indptr": indptr, "indices": indices, "weights": weights, "names": names, "directed": directed}
        )
        return graph

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Graph:
        r"""Map a graph that :func:`efge.convert_graph` has written: it is on disk, and may be larger than memory.

        The file stays as it is while the graph is in use. Rows are looked through once, so that a file that was damaged
        or cut short is a :class:`efge.GraphError` here; :meth:`fingerprint` finds every other change.

        Examples
        --------
        >>> import efge, pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "edges.txt").write_text("ann bob\nbob cid\n")
        >>> efge.convert_graph(folder / "edges.txt", folder / "graph.efge")
        >>> Graph.open(folder / "graph.efge")
        Graph(3 nodes, 2 edges, undirected, unweighted, 0 isolated)
        """
        file = GraphFile(path)
        state = {"indptr": file.indptr, "indices": file.indices, "weights": file.weights, "_file": file}
        names = {} if isinstance(file.names, StoredNames) else {"names": file.names}
        graph = object.__new__(cls)
        graph.__setstate__(state | names | {"directed": file.heading.directed})
        return graph

    def _check(self) -> None:
        n, indptr, indices = max(len(self.indptr) - 1, 0), self.indptr, self.indices
        if not len(indptr) or indptr[0] != 0 or indptr[-1] != len(indices):
            raise GraphError(f"indptr goes from 0 to the number of entries, {len(indices)}; got {indptr}")
        if (np.diff(indptr) < 0).any():
            raise GraphError("indptr never descends")
        rows = np.repeat(np.arange(n), np.diff(indptr))
        if ((np.diff(indices) <= 0) & (np.diff(rows) == 0)).any():
            raise GraphError("indices ascend strictly within a row; as_graph sorts and merges edges")
        if len(self.names) != n:
            raise GraphError(f"a graph of {n} nodes has {n} names; got {len(self.names)}")
        check_distinct(self.names)
        if self.weights is not None:
            if self.weights.shape != indices.shape:
                raise GraphError(f"there is a weight for each of {len(indices)} entries; got {self.weights.size}")
            check_weights(self.weights)
        if not self.directed:
            matrix = self.to_scipy()
            if (matrix != matrix.T).nnz:
                raise GraphError("an undirected graph has every edge in both rows; pass directed=True, or use as_graph")

    @cached_property
    def names(self) -> Names:
        """The nodes' names, in the order of the rows: an array of 64-bit integers, or of Python objects."""
        return self._kept_names[:]

    @property
    def _kept_names(self) -> Names | StoredNames:
        """Names to take some of; those in a file are not all made Python objects for that."""
        kept: Names | None = self.__dict__.get("names")
        if kept is None:
            assert self._file is not None, "a graph in memory has its names"
            return self._file.names
        return kept

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.indptr) - 1

    @cached_property
    def n_edges(self) -> int:
        """Number of edges; an undirected edge counts once."""
        entries = len(self.indices)
        return entries if self.directed else (entries + self.n_self_loops) // 2

    @cached_property
    def n_self_loops(self) -> int:
        """Number of edges from a node to itself."""
        return int(kernel.count_self_loops(self.indptr, self.indices))

    @property
    def is_weighted(self) -> bool:
        """Whether edges have weights."""
        return self.weights is not None

    @cached_property
    def degrees(self) -> Offsets:
        """Entries in each row: neighbors, or out-neighbors where the graph is directed."""
        degrees = np.diff(self.indptr)
        degrees.flags.writeable = False
        return degrees

    @cached_property
    def n_isolated(self) -> int:
        """Number of nodes without any edge, in or out."""
        lonely: npt.NDArray[np.bool_] = self.degrees == 0
        if self.directed:
            kernel.mark_columns(self.indices, lonely)
        return int(lonely.sum())

    @cached_property
    def components(self) -> npt.NDArray[np.int32]:
        """The number of each node's component; directions of edges do not matter.

        Examples
        --------
        >>> Graph([0, 1, 2, 2], [1, 0]).components.tolist()
        [0, 0, 1]
        """
        numbers = np.empty(self.n_nodes, np.int32)
        parents = np.empty(self.n_nodes, np.uint32 if self.n_nodes < 2**32 else np.uint64)
        kernel.label_components(self.indptr, self.indices, not self.directed, parents, numbers)
        numbers.flags.writeable = False
        return numbers

    @property
    def n_components(self) -> int:
        """Number of connected components."""
        return int(self.components.max(initial=-1)) + 1

    def __len__(self) -> int:
        return self.n_nodes

    def __contains__(self, name: Hashable) -> bool:
        return bool(self._index.rows([name])[0] >= 0)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.names.tolist())

    def __repr__(self) -> str:
        parts = [
            f"{self.n_nodes:,} nodes",
            f"{self.n_edges:,} edges",
            "directed" if self.directed else "undirected",
            "weighted" if self.is_weighted else "unweighted",
            f"{self.n_isolated:,} isolated",
        ]
        if "components" in self.__dict__:
            parts.append(f"{self.n_components:,} components")
        return f"Graph({', '.join(parts)})"

    @cached_property
    def _index(self) -> NameIndex:
        return NameIndex(self.names)

    def rows(self, names: Iterable[Hashable]) -> Offsets:
        """The rows of the given names.

        Examples
        --------
        >>> Graph([0, 0, 0], [], names=["a", "b"]).rows(["b"]).tolist()
        [1]
        """
        names = list(names)
        rows = self._index.rows(names)
        if (rows < 0).any():
            raise GraphError(f"no node named {names[int(np.argmax(rows < 0))]!r} in {self!r}")
        return rows

    def neighbors(self, name: Hashable) -> list[Hashable]:
        """Names of the node's neighbors (out-neighbors where the graph is directed), in the order of the input.

        Examples
        --------
        >>> Graph([0, 1, 2], [1, 0], names=["a", "b"]).neighbors("a")
        ['b']
        """
        row = int(self.rows([name])[0])
        found: list[Hashable] = self._kept_names[self.indices[self.indptr[row] : self.indptr[row + 1]]].tolist()
        return found

    def subgraph(self, names: Iterable[Hashable]) -> Graph:
        """The graph of the given nodes and all edges among them; nodes keep their order.

        Examples
        --------
        >>> Graph([0, 1, 3, 4], [1, 0, 2, 1], names=["a", "b", "c"]).subgraph(["c", "b"])
        Graph(2 nodes, 1 edges, undirected, unweighted, 0 isolated)
        """
        return self._induced(np.unique(self.rows(names)))

    def largest_component(self) -> Graph:
        """The graph of the largest connected component; of equals, the one whose node comes first.

        Examples
        --------
        >>> Graph([0, 1, 2, 2], [1, 0], names=["a", "b", "c"]).largest_component().names.tolist()
        ['a', 'b']
        """
        if not self.n_nodes:
            return self
        return self._induced(np.flatnonzero(self.components == np.bincount(self.components).argmax()))

    def _induced(self, rows: Offsets) -> Graph:
        renumbered = np.full(self.n_nodes, -1, np.int64)
        renumbered[rows] = np.arange(len(rows))
        capacity = int(self.degrees[rows].sum())
        indptr = np.zeros(len(rows) + 1, np.int64)
        indices = np.empty(capacity, node_type(len(rows)))
        weights = np.empty(capacity if self.weights is not None else 0)
        old_weights = weights if self.weights is None else self.weights
        used = kernel.induced_rows(self.indptr, self.indices, old_weights, rows, renumbered, indptr, indices, weights)
        kept_weights = None if self.weights is None else weights[:used].copy()
        return Graph._of_valid(
            indptr, indices[:used].copy(), kept_weights, name_array(self._kept_names[rows]), self.directed
        )

    def to_scipy(self) -> csr_array:
        """The adjacency matrix, with weights or ones.

        Examples
        --------
        >>> Graph([0, 1, 2], [1, 0]).to_scipy().toarray()
        array([[0., 1.],
               [1., 0.]])
        """
        from scipy.sparse import csr_array

        values = np.ones(len(self.indices)) if self.weights is None else self.weights
        return csr_array((values, self.indices, self.indptr), shape=(self.n_nodes, self.n_nodes))

    def fingerprint(self) -> str:
        """A hash of structure, weights and names that is the same on every platform.

        Examples
        --------
        >>> Graph([0, 1, 2], [1, 0]).fingerprint()[:8]
        'cb38d7f7'
        """
        digest = hashlib.sha256(b"efge graph 1\0directed\0" if self.directed else b"efge graph 1\0undirected\0")
        for array, code in ((self.indptr, "<i8"), (self.indices, "<i8"), (self.weights, "<f8")):
            if array is None:
                digest.update(b"unweighted\0")
                continue
            digest.update(f"{len(array)}\0".encode())
            for begin in range(0, len(array), 1 << 16):
                digest.update(array[begin : begin + (1 << 16)].astype(code).tobytes())
        names = self._kept_names
        if isinstance(names, np.ndarray) and names.dtype != object:
            digest.update(b"integers\0" + names.astype("<i8").tobytes())
        else:
            for name in names.tolist() if isinstance(names, np.ndarray) else names:
                digest.update(f"{type(name).__name__}\0{name!r}\0".encode("utf-8", "surrogatepass"))
        if self._file is not None:
            self._file.check_fingerprint(digest.hexdigest())
        return digest.hexdigest()


def _integers(what: str, values: npt.ArrayLike) -> Offsets:
    """A copy of whole numbers in one dimension."""
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise GraphError(f"{what} are whole numbers, one after the other; got {array.dtype} of shape {array.shape}")
    if array.size and array.max() >= 2**63:
        raise GraphError(f"{what} are numbers of 64 bits; got {array.max()}")
    return array.astype(np.int64)


def _floats(what: str, values: npt.ArrayLike) -> Weights:
    try:
        return np.array(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise GraphError(f"{what} are numbers; got {values!r}") from None


def check_weights(weights: Weights, place: str = "entry {}") -> None:
    """Refuse a weight that is not finite and positive; `place` tells where, by its number."""
    wrong = ~(np.isfinite(weights) & (weights > 0))
    if wrong.any():
        first = int(np.argmax(wrong))
        raise GraphError(f"{place.format(first)}: a weight is finite and positive; got {weights[first]}")


def graph_from_edges(
    ends: npt.NDArray[np.int32],
    weights: Weights | None,
    names: Names,
    *,
    directed: bool,
    drop_self_loops: bool = False,
) -> Graph:
    """Build a graph from an (m, 2) array of rows; an undirected edge is given once, or merges with its other copies."""
    if weights is not None and len(weights) != len(ends):
        raise GraphError(f"there is a weight for each of {len(ends)} edges; got {len(weights)}")
    if drop_self_loops:
        proper = ends[:, 0] != ends[:, 1]
        ends = ends[proper]
        weights = None if weights is None else weights[proper]
    indptr, indices, sums = _sorted_rows(ends, np.empty(0) if weights is None else weights, len(names), not directed)
    kept = kernel.merge_duplicates(indptr, indices, sums)
    if kept < len(indices):
        indices, sums = indices[:kept].copy(), sums[:kept].copy()
    if not np.isfinite(sums).all():
        raise GraphError("the weights of an edge's duplicates add up to infinity; scale the weights down")
    return Graph._of_valid(indptr, indices, None if weights is None else sums, names, directed)


def _sorted_rows(
    ends: npt.NDArray[np.int32], weights: Weights, n: int, both_ways: bool
) -> tuple[Offsets, Nodes, Weights]:
    """Rows with sorted columns, duplicates still in them: the entries are sorted by column, then by row."""
    shares = max(1, min(_MOST_SHARES, available_threads(), len(ends) // 100_000))
    with ThreadPoolExecutor(shares) as pool:
        cuts = np.linspace(0, len(ends), shares + 1).astype(np.int64)
        jobs = [(int(cuts[i]), int(cuts[i + 1]), i) for i in range(shares)]

        counts = np.zeros((shares, n), np.int64)
        _wait(pool.submit(kernel.count_columns, ends, a, b, both_ways, counts[i]) for a, b, i in jobs)
        starts, cursors = _cursors(counts)
        rows, row_weights = np.empty(starts[-1], node_type(n)), np.empty(starts[-1] if len(weights) else 0)
        _wait(
            pool.submit(kernel.sort_by_column, ends, weights, a, b, both_ways, cursors[i], rows, row_weights)
            for a, b, i in jobs
        )

        cuts = np.searchsorted(starts, np.linspace(0, len(rows), shares + 1)[:-1])
        jobs = [(int(low), int(high), i) for i, (low, high) in enumerate(pairwise([*cuts, n]))]
        counts[:] = 0
        _wait(pool.submit(kernel.count_rows, rows, starts[a], starts[b], counts[i]) for a, b, i in jobs)
        indptr, cursors = _cursors(counts)
        indices, sorted_weights = np.empty_like(rows), np.empty_like(row_weights)
        _wait(
            pool.submit(kernel.sort_by_row, starts, rows, row_weights, a, b, cursors[i], indices, sorted_weights)
            for a, b, i in jobs
        )
    return indptr, indices, sorted_weights


def _wait(jobs: Iterable[Future[None]]) -> None:
    for job in list(jobs):
        job.result()


def _cursors(counts: Offsets) -> tuple[Offsets, Offsets]:
    """Where each row begins, and where each share begins within it."""
    starts = np.zeros(counts.shape[1] + 1, np.int64)
    np.cumsum(counts.sum(axis=0), out=starts[1:])
    return starts, np.cumsum(counts, axis=0) - counts + starts[:-1]
