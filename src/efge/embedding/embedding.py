"""An embedding: vectors under the names of their nodes, to look up, compare, save and load."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from difflib import get_close_matches
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from efge.embedding.candidates import choose_candidates
from efge.embedding.checks import as_floats, as_names, check_distinct, check_finite
from efge.embedding.conversions import Conversions
from efge.embedding.nearest import METRICS, find_nearest, vector_norms
from efge.errors import EmbeddingError, GraphError, check_choice, check_positive_integers
from efge.graph.names import NameIndex, Names, list_names
from efge.progress import CountProgress, reporting_count

Vectors = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]

# Up to this number of names, searching for similar ones takes no noticeable time; and for names that differ by case or
# blanks only.
_MAX_SUGGESTED_FROM, _MAX_COMPARED = 1000, 100_000
# A name is similar to those that begin with it, if it has this many characters.
_MIN_BEGINNING = 3


class Embedding(Conversions):
    """Vectors of 32-bit floats, one row for each node, under the names of the nodes. It is immutable.

    Use it like a mapping from names to vectors, or like a NumPy array.

    Parameters
    ----------
    vectors : array of shape (n, dim)
        At least one column. Values that are not finite in 32 bits are refused, here and in files.
    names : n names, optional
        Distinct hashable names; by default, 0 to n - 1.

    Attributes
    ----------
    vectors : array of shape (n, dim)
        A read-only copy of the vectors.
    names : array of n names
        64-bit integers if all names are such integers, Python objects otherwise.

    Examples
    --------
    >>> embedding = Embedding([[1, 0], [0.6, 0.8], [0, 2]], ["ann", "bob", "cid"])
    >>> embedding
    Embedding(3 nodes, 2 dimensions)
    >>> embedding["bob"]
    array([0.6, 0.8], dtype=float32)
    >>> embedding[["cid", "ann"]].vectors
    array([[0., 2.],
           [1., 0.]], dtype=float32)
    >>> "dan" in embedding
    False
    >>> list(embedding)
    ['ann', 'bob', 'cid']
    """

    vectors: Vectors
    names: Names

    def __init__(self, vectors: npt.ArrayLike, names: Iterable[Hashable] | None = None) -> None:
        array = as_floats(vectors)
        self.__setstate__({"vectors": array, "names": as_names(range(len(array)) if names is None else names)})
        self._check()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an embedding is immutable; build a new one with other {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"an embedding is immutable; its {name} cannot be deleted")

    def __getstate__(self) -> dict[str, Any]:
        return {"vectors": self.vectors, "names": self.names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.vectors.flags.writeable = False
        self.names.flags.writeable = False

    @classmethod
    def _owning(cls, vectors: Vectors, names: Iterable[Hashable]) -> Embedding:
        """Return an embedding of an array that nobody else writes to, without copying it."""
        embedding = object.__new__(cls)
        embedding.__setstate__({"vectors": np.ascontiguousarray(vectors), "names": as_names(names)})
        embedding._check()
        return embedding

    def _check(self) -> None:
        if not self.dim:
            raise EmbeddingError("a vector must have at least one dimension; got none")
        if len(self.names) != len(self):
            raise EmbeddingError(f"each of {len(self)} vectors needs a name; got {len(self.names)} names")
        check_distinct(self.names)
        check_finite(self.vectors, self.names)

    @property
    def dim(self) -> int:
        """Number of dimensions.

        Examples
        --------
        >>> Embedding([[1, 2, 3]]).dim
        3
        """
        return int(self.vectors.shape[1])

    def __len__(self) -> int:
        return len(self.vectors)

    def __repr__(self) -> str:
        return f"Embedding({len(self):,} nodes, {self.dim:,} dimensions)"

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.names.tolist())

    def __contains__(self, name: Hashable) -> bool:
        return bool(self._index.rows([name])[0] >= 0)

    def __eq__(self, other: object) -> bool:
        """Whether the names are equal and the vectors identical bit by bit."""
        if not isinstance(other, Embedding):
            return NotImplemented
        same = self.vectors.shape == other.vectors.shape and self.names.tolist() == other.names.tolist()
        return same and np.array_equal(self.vectors.view(np.int32), other.vectors.view(np.int32))

    # Equality compares every value, and a hash would have to read them all.
    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return the vectors; copied only if requested, or for another type."""
        if copy is False and dtype is not None and np.dtype(dtype) != self.vectors.dtype:
            raise ValueError(f"the vectors are {self.vectors.dtype}; converting them to {np.dtype(dtype)} needs a copy")
        return self.vectors.astype(self.vectors.dtype if dtype is None else dtype, copy=bool(copy))

    @overload
    def __getitem__(self, names: list[Any] | npt.NDArray[Any]) -> Embedding: ...
    @overload
    def __getitem__(self, names: Hashable) -> Vectors: ...
    def __getitem__(self, names: Any) -> Embedding | Vectors:
        """Return the vector of a name, or the embedding of a list of names, in that order."""
        if isinstance(names, slice):
            raise TypeError(f"an embedding is indexed by node names; for rows by position, use .vectors; got {names!r}")
        if is_name(names):
            vector: Vectors = self.vectors[int(self._rows([names])[0])]
            return vector
        rows = self._rows(names)
        return self._owning(self.vectors[rows], self.names[rows])

    @cached_property
    def _index(self) -> NameIndex:
        return NameIndex(self.names)

    @cached_property
    def _norms(self) -> npt.NDArray[np.float64]:
        return vector_norms(self.vectors)

    def _rows(self, names: Iterable[Hashable]) -> Rows:
        try:
            listed = list_names("names", names)
        except GraphError as error:
            raise EmbeddingError(str(error)) from None
        rows = self._index.rows(listed)
        if (rows < 0).any():
            name = listed[int(np.argmax(rows < 0))]
            raise KeyError(f"no node named {name!r} in {self!r}{self._suggest(name)}")
        return rows

    def _suggest(self, name: Hashable) -> str:
        """Return the end of an error message that lists similar names."""
        if len(self) > _MAX_COMPARED:
            return ""
        known = {str(other).strip().lower(): other for other in self.names.tolist()}
        text = str(name)[:100].strip().lower()
        # With two kinds of nodes, 7 is named user:7; numbers of fixed width are named as 0007.
        close = [text] if text in known else [other for other in known if other.endswith(f":{text}")][:3]
        if not close and text.isdecimal():
            close = [other for other in known if other.isdecimal() and other.lstrip("0") == text.lstrip("0")][:3]
        if not close and len(self) <= _MAX_SUGGESTED_FROM:
            close = get_close_matches(text, known, n=3)
        if not close and len(text) >= _MIN_BEGINNING:
            close = [other for other in known if other.startswith(text)][:3]
        return f"; similar names: {', '.join(repr(known[text]) for text in close)}" if close else ""

    def items(self) -> Iterator[tuple[Hashable, Vectors]]:
        """Return an iterator over names and their vectors, in the order of the rows.

        Examples
        --------
        >>> for name, vector in Embedding([[1, 2], [3, 4]], ["ann", "bob"]).items():
        ...     print(name, vector.sum())
        ann 3.0
        bob 7.0
        """
        return zip(self.names.tolist(), self.vectors, strict=True)

    def neighbors(
        self,
        node: Hashable | npt.ArrayLike,
        k: int = 10,
        metric: str = "cosine",
        among: Iterable[Hashable] | None = None,
        exclude: Any = None,
    ) -> list[tuple[Hashable, float]]:
        """Return the nodes most similar to a node or a vector, best first, with their scores.

        Parameters
        ----------
        node : name, or array or list of `dim` numbers
            A node given by name is excluded from its own neighbors; for a vector, all nodes are candidates.
        k : int
            Number of neighbors; all candidates if there are fewer.
        metric : "cosine" or "dot"
            Cosine similarity or dot product. The cosine of a zero vector with any vector is 0.
        among, exclude
            The candidates, as in :meth:`nearest`.

        Returns
        -------
        list of (name, score)
            Highest score first; of equal scores, the earlier row first.

        Examples
        --------
        >>> embedding = Embedding([[1, 0], [0.6, 0.8], [0, 2]], ["ann", "bob", "cid"])
        >>> [(name, round(score, 3)) for name, score in embedding.neighbors("ann", k=2)]
        [('bob', 0.6), ('cid', 0.0)]
        >>> embedding.neighbors([0, 1], k=1, metric="dot")
        [('cid', 2.0)]
        >>> embedding.neighbors("ann", among=["ann", "cid"])
        [('cid', 0.0)]
        """
        queries = [node] if is_name(node) else self._one_vector(node)
        rows, scores = self.nearest(queries, k, metric, among, exclude, progress=False)
        found = rows[0] >= 0
        return list(zip(self.names[rows[0][found]].tolist(), scores[0][found].tolist(), strict=True))

    def nearest(
        self,
        queries: Any = None,
        k: int = 10,
        metric: str = "cosine",
        among: Iterable[Hashable] | None = None,
        exclude: Any = None,
        progress: CountProgress = None,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """Find the nodes most similar to many nodes or vectors at once.

        The search is exact, the same at any number of threads, and its memory does not grow with the number of nodes.

        Parameters
        ----------
        queries : names, a two-dimensional array of vectors, or an Embedding, optional
            By default, every node. A node given by name is excluded from its own neighbors.
        k : int
            Number of neighbors for each query; all candidates if there are fewer.
        metric : "cosine" or "dot"
            Cosine similarity or dot product.
        among : iterable of names, optional
            The candidates; by default, all nodes. In a graph of users and items, for example, the items.
        exclude : list, tuple, set or array of names, or a graph, optional
            Names that are no candidates; or a graph that contains the queries, whose neighbors in it (out-neighbors
            if it is directed) are no candidates. A graph is anything that :func:`efge.as_graph` takes except a list
            of edges.
        progress : bool or callable, optional
            True shows a bar, False none; by default, a long search shows one in a notebook or at Python's prompt. A
            function is called with the number of queries that were finished since the last call.

        Returns
        -------
        rows, scores : arrays of shape (queries, k)
            Highest score first; of equal scores, the earlier row first. ``embedding.names[rows]`` are the names. If a
            graph excludes so many that a query has fewer than k neighbors, its last rows are -1, with scores of -inf.

        Examples
        --------
        >>> embedding = Embedding([[1, 0], [0.6, 0.8], [0, 2]], ["ann", "bob", "cid"])
        >>> rows, scores = embedding.nearest(["ann", "cid"], k=1)
        >>> embedding.names[rows].tolist()
        [['bob'], ['bob']]
        >>> scores
        array([[0.6],
               [0.8]], dtype=float32)
        """
        check_choice("metric", metric, METRICS)
        check_positive_integers(k=k)
        vectors, own = self._queries(queries)
        chosen = choose_candidates(self, own, len(vectors), among, exclude)
        everything = len(chosen.rows) == len(self)
        targets, norms = (self.vectors, self._norms) if everything else (self.vectors[chosen.rows], None)
        with reporting_count(progress, len(vectors), "neighbors", "nodes") as count:
            positions, scores = find_nearest(
                vectors,
                targets,
                vector_norms(targets) if norms is None else norms,
                min(k, chosen.max_count),
                metric,
                excluded=chosen.excluded,
                progress=count,
            )
        return positions if everything else np.append(chosen.rows, -1)[positions], scores

    def _one_vector(self, values: Any) -> Vectors:
        """Return a vector as an array of one row; the error says what several nodes are passed to."""
        try:
            vector = one_vector(values)
            if vector.shape[1] == self.dim:
                return vector
            got = f"a vector must have {self.dim} values; got {vector.shape[1]}"
        except EmbeddingError as error:
            got = str(error)
        raise EmbeddingError(f"{got}; for several nodes, use nearest")

    def _queries(self, queries: Any) -> tuple[Vectors, Rows | None]:
        """Return the vectors of queries, and their own rows if they are nodes."""
        if queries is None:
            return self.vectors, np.arange(len(self))
        if isinstance(queries, Embedding) or getattr(queries, "ndim", 1) > 1:
            vectors = as_floats(queries)
            if vectors.shape[1] != self.dim:
                raise EmbeddingError(f"a vector must have {self.dim} values; got {vectors.shape[1]}")
            check_finite(vectors, np.arange(len(vectors)))
            return vectors, None
        rows = self._rows([queries] if is_name(queries) else queries)
        return self.vectors[rows], rows

    def transform(self, graph: Any, method: str = "average") -> Embedding:
        """Return the vectors of a graph's nodes, new ones among them, in the graph's order.

        Nodes of this embedding keep their vectors to the byte. A new node gets a mean over its neighbors, as in
        :meth:`efge.NodeEmbedder.transform`; one that no path links to an old node gets zeros.

        Parameters
        ----------
        graph : Graph, or anything :func:`efge.as_graph` takes
            The new nodes, their edges among each other and to nodes of this embedding.
        method : "average"
            An embedding has vectors only. Save the model (:meth:`efge.NodeEmbedder.save`) to use its likelihood.

        Examples
        --------
        >>> embedding = Embedding([[1, 0], [0.6, 0.8]], ["ann", "bob"])
        >>> embedding.transform([("cid", "ann")])["cid"]
        array([1., 0.], dtype=float32)
        """
        from efge.embedding.averaging import transform_embedding
        from efge.graph.inputs import as_graph_like

        if not isinstance(method, str) or method not in ("auto", "average"):
            raise ValueError(
                f"an embedding alone supports the method 'average'; got {method!r}: other methods need the fitted"
                " model, which model.save and --save-model keep"
            )
        return transform_embedding(self, as_graph_like(graph, self.names))


def as_embedding(caller: str, source: Any) -> Embedding:
    """Return an embedding, or that of a fitted estimator."""
    embedding = getattr(source, "embedding_", source)
    if not isinstance(embedding, Embedding):
        raise EmbeddingError(f"{caller} takes an Embedding or a fitted estimator; got {type(source).__name__}")
    return embedding


def one_vector(node: Any) -> Vectors:
    """Return a list, array or tensor of numbers as an array of one row."""
    return as_floats(node[None] if hasattr(type(node), "detach") else [node])


def is_name(key: Any) -> bool:
    """Whether this is one name rather than several; a range could be a name, but hardly ever is."""
    return isinstance(key, Hashable) and not isinstance(key, range) and not getattr(key, "ndim", 0)
