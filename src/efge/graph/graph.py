"""A graph: sorted CSR arrays and the nodes' own names, in the order of the input.

An undirected edge is stored in the rows of both its nodes, a self-loop once. Each neighbor is in a row once.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Hashable, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from efge import display
from efge.errors import GraphError, check_types, did_you_mean
from efge.graph.mapped import GraphFile, StoredNames, node_type
from efge.graph.names import NameIndex, Names, check_distinct, list_names, name_array
from efge.kernels import csr as kernel

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Offsets = npt.NDArray[np.int64]
Nodes = npt.NDArray[np.signedinteger[Any]]
Weights = npt.NDArray[np.float64]

# Similar names are searched for in graphs up to this size.
_MAX_SUGGESTED_FROM = 100_000


class Graph:
    """An immutable graph in compressed sparse rows, with the nodes' own names.

    Use :func:`efge.as_graph` or :func:`efge.read_graph` to build one; the constructor takes CSR arrays.

    Parameters
    ----------
    indptr : array of n + 1 integers
        Row i is ``indices[indptr[i]:indptr[i + 1]]``.
    indices : array of integers
        The neighbors of each row, strictly ascending within the row.
    weights : array of floats, optional
        A finite positive weight for each entry of `indices`; None for an unweighted graph.
    names : n names, optional
        Distinct hashable names; 0 to n - 1 by default.
    directed : bool
        Whether edges have a direction; an undirected graph has every edge in both rows, with the same weight.

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
    # The file that the arrays are mapped from; None if they are in memory.
    _file: GraphFile | None = None

    def __init__(
        self,
        indptr: npt.ArrayLike,
        indices: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        names: Iterable[Hashable] | None = None,
        directed: bool = False,
    ) -> None:
        check_types(directed=directed)
        starts = _integers("indptr", indptr)
        n = max(len(starts) - 1, 0)
        rows = _integers("indices", indices)
        if len(rows) and not (rows.min() >= 0 and rows.max() < n):
            raise GraphError(f"indices are between 0 and {n - 1}; got {rows.min()} to {rows.max()}")
        state = {
            "indptr": starts,
            "indices": rows.astype(node_type(n)),
            "weights": None if weights is None else _floats("weights", weights),
            "names": name_array(range(n) if names is None else list_names("names", names)),
            "directed": bool(directed),
        }
        self.__setstate__(state)
        self._check()

    def __array__(self, *args: Any, **options: Any) -> npt.NDArray[Any]:
        rule = "a graph is no array of samples; to_scipy() has its matrix"
        advice = "in scikit-learn, nodes are the samples: pass their names to a pipeline of NodeFeatures(graph, EFGE())"
        raise GraphError(f"{rule}; {advice}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a graph is immutable; build another one to change {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a graph is immutable; {name} cannot be deleted")

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        # It cannot change, so that copies of an estimator, say, may share it.
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {field: getattr(self, field) for field in ("indptr", "indices", "weights", "names", "directed")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for field in (self.indptr, self.indices, self.weights, self.__dict__.get("names")):
            if field is not None:
                field.flags.writeable = False

    @classmethod
    def _from_valid(
        cls, indptr: Offsets, indices: Nodes, weights: Weights | None, names: Names, directed: bool
    ) -> Graph:
        """Build a graph from arrays that are known to be valid."""
        graph = object.__new__(cls)
        graph.__setstate__(
            {"indptr": indptr, "indices": indices, "weights": weights, "names": names, "directed": directed}
        )
        return graph

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Graph:
        r"""Map a graph that :func:`efge.convert_graph` wrote; it stays on disk and may be larger than memory.

        Do not change the file while the graph is in use. All rows are checked once, so a damaged or truncated file is a
        :class:`efge.GraphError` here; :meth:`fingerprint` detects every other change.

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
        graph.__setstate__(state | names | {"directed": file.header.directed})
        return graph

    def _check(self) -> None:
        n, indptr, indices = max(len(self.indptr) - 1, 0), self.indptr, self.indices
        if not len(indptr) or indptr[0] != 0 or indptr[-1] != len(indices):
            raise GraphError(f"indptr goes from 0 to the number of entries, {len(indices)}; got {indptr}")
        if (np.diff(indptr) < 0).any():
            raise GraphError("indptr is never decreasing")
        rows = np.repeat(np.arange(n), np.diff(indptr))
        if ((np.diff(indices) <= 0) & (np.diff(rows) == 0)).any():
            raise GraphError("indices are strictly ascending within a row; as_graph sorts and merges edges")
        if len(self.names) != n:
            raise GraphError(f"a graph of {n} nodes has {n} names; got {len(self.names)}")
        check_distinct(self.names)
        if self.weights is not None:
            if self.weights.shape != indices.shape:
                raise GraphError(f"each of {len(indices)} entries has a weight; got {self.weights.size} weights")
            check_weights(self.weights)
        if not self.directed:
            matrix = self.to_scipy()
            if (matrix != matrix.T).nnz:
                raise GraphError("an undirected graph has every edge in both rows; pass directed=True, or use as_graph")

    @cached_property
    def names(self) -> Names:
        """Names of the nodes, in the order of the rows: an array of 64-bit integers or of Python objects."""
        return self._stored_names[:]

    @property
    def _stored_names(self) -> Names | StoredNames:
        """The names as they are stored: selecting some from a file does not make Python objects of all."""
        names: Names | None = self.__dict__.get("names")
        if names is None:
            assert self._file is not None, "a graph in memory has its names"
            return self._file.names
        return names

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
        """Number of neighbors of each node, or of out-neighbors if the graph is directed."""
        degrees = np.diff(self.indptr)
        degrees.flags.writeable = False
        return degrees

    @cached_property
    def isolated(self) -> npt.NDArray[np.bool_]:
        """Whether each node is without any edge, in or out.

        Examples
        --------
        >>> Graph([0, 1, 1, 1], [1], directed=True).isolated.tolist()
        [False, False, True]
        """
        isolated: npt.NDArray[np.bool_] = self.degrees == 0
        if self.directed:
            kernel.clear_columns(self.indices, isolated)
        isolated.flags.writeable = False
        return isolated

    @cached_property
    def n_isolated(self) -> int:
        """Number of nodes without any edge, in or out."""
        return int(self.isolated.sum())

    @cached_property
    def components(self) -> npt.NDArray[np.int32]:
        """The connected component of each node, numbered from 0; directions of edges are ignored.

        Examples
        --------
        >>> Graph([0, 1, 2, 2], [1, 0]).components.tolist()
        [0, 0, 1]
        """
        labels = np.empty(self.n_nodes, np.int32)
        parents = np.empty(self.n_nodes, np.uint32 if self.n_nodes < 2**32 else np.uint64)
        kernel.label_components(self.indptr, self.indices, parents, labels)
        labels.flags.writeable = False
        return labels

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

    def _repr_html_(self) -> str:
        """Return a table and the degrees, for notebooks."""
        rows = [
            ("nodes", f"{self.n_nodes:,}"),
            ("edges", f"{self.n_edges:,}"),
            (
                "edges are",
                f"{'directed' if self.directed else 'undirected'}, {'' if self.is_weighted else 'un'}weighted",
            ),
            ("isolated nodes", f"{self.n_isolated:,}"),
            ("mean, largest degree", f"{self.degrees.mean():.1f}, {self.degrees.max():,}" if self.n_nodes else "-"),
        ]
        picture = display.histogram(self.degrees, "degrees on logarithmic axes")
        return display.card("Graph", display.table(rows), picture)

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
        """Return the rows of the given names.

        Examples
        --------
        >>> Graph([0, 0, 0], [], names=["a", "b"]).rows(["b"]).tolist()
        [1]
        """
        names = list_names("names", names)
        rows = self._index.rows(names)
        if (rows < 0).any():
            name = names[int(np.argmax(rows < 0))]
            hint = did_you_mean(name, self.names.tolist()) if self.n_nodes <= _MAX_SUGGESTED_FROM else ""
            raise GraphError(f"no node named {name!r} in {self!r}{hint}")
        return rows

    def neighbors(self, name: Hashable) -> list[Hashable]:
        """Return the names of the node's neighbors, or its out-neighbors if the graph is directed.

        Examples
        --------
        >>> Graph([0, 1, 2], [1, 0], names=["a", "b"]).neighbors("a")
        ['b']
        """
        row = int(self.rows([name])[0])
        names: list[Hashable] = self._stored_names[self.indices[self.indptr[row] : self.indptr[row + 1]]].tolist()
        return names

    def subgraph(self, names: Iterable[Hashable]) -> Graph:
        """Return the graph of the given nodes and all edges among them; nodes keep their order.

        Examples
        --------
        >>> Graph([0, 1, 3, 4], [1, 0, 2, 1], names=["a", "b", "c"]).subgraph(["c", "b"])
        Graph(2 nodes, 1 edges, undirected, unweighted, 0 isolated)
        """
        return self._induced(np.unique(self.rows(names)))

    def largest_component(self) -> Graph:
        """Return the graph of the largest connected component; among equal ones, of the one with the first node.

        Examples
        --------
        >>> Graph([0, 1, 2, 2], [1, 0], names=["a", "b", "c"]).largest_component().names.tolist()
        ['a', 'b']
        """
        if not self.n_nodes:
            return self
        return self._induced(np.flatnonzero(self.components == np.bincount(self.components).argmax()))

    def to_undirected(self) -> Graph:
        """Return the graph whose edges lead both ways; weights of opposite edges are added.

        Examples
        --------
        >>> import efge
        >>> cites = efge.as_graph([("new", "old"), ("newer", "old")], directed=True)
        >>> cites.to_undirected()
        Graph(3 nodes, 2 edges, undirected, unweighted, 0 isolated)
        """
        if not self.directed:
            return self
        if self._file is not None:
            raise GraphError(
                "a directed graph on disk is not made undirected in memory; convert its edges again with"
                " directed=False (--undirected), or follow directions: follow_directions=True (--follow-directions)"
            )
        matrix = self.to_scipy()
        loops = matrix.diagonal()
        both = (matrix + matrix.T).tocsr()
        if loops.any():
            both.setdiag(loops)
            both.eliminate_zeros()
        both.sort_indices()
        weights = None if self.weights is None else both.data
        if weights is not None:
            check_weights(weights)
        indptr, indices = both.indptr.astype(np.int64), both.indices.astype(self.indices.dtype)
        return Graph._from_valid(indptr, indices, weights, self.names, directed=False)

    def _induced(self, rows: Offsets) -> Graph:
        renumbered = np.full(self.n_nodes, -1, np.int64)
        renumbered[rows] = np.arange(len(rows))
        capacity = int(self.degrees[rows].sum())
        indptr = np.zeros(len(rows) + 1, np.int64)
        indices = np.empty(capacity, node_type(len(rows)))
        weights = np.empty(capacity if self.weights is not None else 0)
        old_weights = weights if self.weights is None else self.weights
        used = kernel.induced_rows(self.indptr, self.indices, old_weights, rows, renumbered, indptr, indices, weights)
        new_weights = None if self.weights is None else weights[:used].copy()
        return Graph._from_valid(
            indptr, indices[:used].copy(), new_weights, name_array(self._stored_names[rows]), self.directed
        )

    def to_scipy(self) -> csr_array:
        """Return the adjacency matrix, with weights or ones.

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
        """Return a hash of structure, weights and names that is the same on every platform.

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
            for start in range(0, len(array), 1 << 16):
                digest.update(array[start : start + (1 << 16)].astype(code).tobytes())
        names = self._stored_names
        if isinstance(names, np.ndarray) and names.dtype != object:
            digest.update(b"integers\0" + names.astype("<i8").tobytes())
        else:
            for name in names.tolist() if isinstance(names, np.ndarray) else names:
                digest.update(f"{type(name).__name__}\0{name!r}\0".encode("utf-8", "surrogatepass"))
        if self._file is not None:
            self._file.check_fingerprint(digest.hexdigest())
        return digest.hexdigest()


def _integers(name: str, values: npt.ArrayLike) -> Offsets:
    """Copy a one-dimensional array of integers as int64."""
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise GraphError(f"{name} is a one-dimensional array of integers; got {array.dtype} of shape {array.shape}")
    if array.size and array.max() >= 2**63:
        raise GraphError(f"{name} has integers of 64 bits; got {array.max()}")
    return array.astype(np.int64)


def _floats(name: str, values: npt.ArrayLike) -> Weights:
    try:
        return np.array(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise GraphError(f"{name} are numbers; got {values!r}") from None


def check_weights(weights: Weights, place: str = "entry {}") -> None:
    """Raise a GraphError if a weight is not finite and positive; `place` is formatted with the weight's position."""
    invalid = ~(np.isfinite(weights) & (weights > 0))
    if invalid.any():
        first = int(np.argmax(invalid))
        raise GraphError(f"{place.format(first)}: a weight is finite and positive; got {weights[first]}")
