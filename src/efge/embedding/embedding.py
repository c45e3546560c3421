"""An embedding: vectors under the names of their nodes, looked up, compared, saved and loaded."""

from __future__ import annotations

import operator
import os
from collections.abc import Hashable, Iterable, Iterator
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from efge.embedding.formats import read_vectors, write_vectors
from efge.embedding.nearest import METRICS, lengths_of, nearest
from efge.errors import EmbeddingError, GraphError
from efge.graph.names import NameIndex, Names, name_array
from efge.io.files import label_of

if TYPE_CHECKING:
    import pandas as pd

Vectors = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]

# Up to so many names, looking for similar ones takes no noticeable time.
_FEW_NAMES = 1000


class Embedding:
    """Vectors of 32-bit floats, a row a node, under the nodes' own names; it does not change.

    Parameters
    ----------
    vectors : array of n rows
        At least one column. Values that are not finite in 32 bits are refused, here and in files.
    names : n names, optional
        Distinct hashable names; 0 to n - 1 if not given.

    Attributes
    ----------
    vectors : array of shape (n, dim)
        Read-only; a copy of what was given.
    names : array of n names
        Integers of 64 bits if all are integers that fit, Python objects otherwise.

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
        array = _floats(vectors)
        self.__setstate__({"vectors": array, "names": _names(range(len(array)) if names is None else names)})
        self._check()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an embedding does not change; build another to have other {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"an embedding does not change; it keeps its {name}")

    def __getstate__(self) -> dict[str, Any]:
        return {"vectors": self.vectors, "names": self.names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.vectors.flags.writeable = False
        self.names.flags.writeable = False

    @classmethod
    def _owning(cls, vectors: Vectors, names: Iterable[Hashable]) -> Embedding:
        """An embedding of an array that nobody else will write to, without a copy."""
        embedding = object.__new__(cls)
        embedding.__setstate__({"vectors": np.ascontiguousarray(vectors), "names": _names(names)})
        embedding._check()
        return embedding

    def _check(self) -> None:
        if not self.dim:
            raise EmbeddingError("a vector has at least one dimension; got none")
        if len(self.names) != len(self):
            raise EmbeddingError(f"there is a name for each of {len(self)} vectors; got {len(self.names)}")
        _check_distinct(self.names)
        _check_finite(self.vectors, self.names)

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
        """Whether names are equal and vectors the same bit by bit."""
        if not isinstance(other, Embedding):
            return NotImplemented
        same = self.vectors.shape == other.vectors.shape and self.names.tolist() == other.names.tolist()
        return same and np.array_equal(self.vectors.view(np.int32), other.vectors.view(np.int32))

    # Equality looks at every value, so that a hash would have to.
    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """The vectors; a copy only if asked for, or for another type."""
        if copy is False and dtype is not None and np.dtype(dtype) != self.vectors.dtype:
            raise ValueError(f"vectors are {self.vectors.dtype}; as {np.dtype(dtype)} they are a copy")
        return self.vectors.astype(self.vectors.dtype if dtype is None else dtype, copy=bool(copy))

    @overload
    def __getitem__(self, names: list[Any] | npt.NDArray[Any]) -> Embedding: ...
    @overload
    def __getitem__(self, names: Hashable) -> Vectors: ...
    def __getitem__(self, names: Any) -> Embedding | Vectors:
        """The vector of a name, or the embedding of a list of names, in that order."""
        if _is_name(names):
            vector: Vectors = self.vectors[int(self._rows([names])[0])]
            return vector
        rows = self._rows(names)
        return self._owning(self.vectors[rows], self.names[rows])

    @cached_property
    def _index(self) -> NameIndex:
        return NameIndex(self.names)

    @cached_property
    def _lengths(self) -> npt.NDArray[np.float64]:
        return lengths_of(self.vectors)

    def _rows(self, names: Iterable[Hashable]) -> Rows:
        wanted = names.tolist() if isinstance(names, np.ndarray) else list(names)
        rows = self._index.rows(wanted)
        if (rows < 0).any():
            name = wanted[int(np.argmax(rows < 0))]
            raise KeyError(f"no node named {name!r} in {self!r}{self._hint(name)}")
        return rows

    def _hint(self, name: Hashable) -> str:
        """The names that may have been meant, for messages."""
        if len(self) > _FEW_NAMES:
            return ""
        known = {str(other): other for other in self.names.tolist()}
        close = get_close_matches(str(name), known, n=3)
        return f"; close to it: {', '.join(repr(known[text]) for text in close)}" if close else ""

    def items(self) -> Iterator[tuple[Hashable, Vectors]]:
        """Names with their vectors, in the order of the rows.

        Examples
        --------
        >>> for name, vector in Embedding([[1, 2], [3, 4]], ["ann", "bob"]).items():
        ...     print(name, vector.sum())
        ann 3.0
        bob 7.0
        """
        return zip(self.names.tolist(), self.vectors, strict=True)

    def neighbors(
        self, node: Hashable | npt.ArrayLike, k: int = 10, metric: str = "cosine"
    ) -> list[tuple[Hashable, float]]:
        """The nodes with the highest scores beside a node or a vector, best first; of equals, the earlier row first.

        Parameters
        ----------
        node : name, or array or list of `dim` numbers
            A node by its name is not its own neighbor; beside a vector, all nodes are.
        k : int
            How many; if there are fewer nodes, all.
        metric : "cosine" or "dot"
            A zero vector has the cosine 0 with every vector.

        Examples
        --------
        >>> embedding = Embedding([[1, 0], [0.6, 0.8], [0, 2]], ["ann", "bob", "cid"])
        >>> [(name, round(score, 3)) for name, score in embedding.neighbors("ann", k=2)]
        [('bob', 0.6), ('cid', 0.0)]
        >>> embedding.neighbors([0, 1], k=1, metric="dot")
        [('cid', 2.0)]
        """
        queries = [node] if _is_name(node) else _floats([node])
        rows, scores = self.nearest(queries, k, metric)
        return list(zip(self.names[rows[0]].tolist(), scores[0].tolist(), strict=True))

    def nearest(
        self, queries: Any = None, k: int = 10, metric: str = "cosine"
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """Rows and scores of the nodes nearest to many at once; memory does not grow with the number of nodes.

        Parameters
        ----------
        queries : names, a two-dimensional array of vectors, or an Embedding, optional
            By default, every node. A node by its name is left out of its own row.
        k : int
            How many for each; if there are fewer nodes, all.
        metric : "cosine" or "dot"

        Returns
        -------
        rows, scores : arrays of shape (queries, k)
            Best first; of equals, the earlier row first. ``embedding.names[rows]`` are the names.

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
        if metric not in METRICS:
            raise ValueError(f"no metric {metric!r}; known: {', '.join(METRICS)}")
        if operator.index(k) < 1:
            raise ValueError(f"k is a whole number from 1 on; got {k!r}")
        vectors, own = self._queries(queries)
        return nearest(vectors, self.vectors, self._lengths, k, metric, own=own)

    def _queries(self, queries: Any) -> tuple[Vectors, Rows | None]:
        """Vectors to compare with, and the rows of those that are nodes."""
        if queries is None:
            return self.vectors, np.arange(len(self))
        if isinstance(queries, Embedding) or (isinstance(queries, np.ndarray) and queries.ndim > 1):
            vectors = _floats(queries)
            if vectors.shape[1] != self.dim:
                raise EmbeddingError(f"a vector has {self.dim} values; got {vectors.shape[1]}")
            _check_finite(vectors, np.arange(len(vectors)))
            return vectors, None
        rows = self._rows([queries] if _is_name(queries) else queries)
        return self.vectors[rows], rows

    def to_pandas(self) -> pd.DataFrame:
        """A data frame with the names as index and a column for each dimension.

        Examples
        --------
        >>> Embedding([[1, 2], [3, 4]], ["ann", "bob"]).to_pandas()
                0    1
        node
        ann   1.0  2.0
        bob   3.0  4.0
        """
        import pandas as pd

        return pd.DataFrame(self.vectors, pd.Index(self.names, name="node"), range(self.dim), copy=True)

    def save(self, path: str | os.PathLike[str], format: str | None = None) -> None:  # noqa: A002
        r"""Write names and vectors to a file, which appears when it is whole; what was there before stays until then.

        Every format keeps every bit of the vectors. The same embedding gives the same bytes.

        Parameters
        ----------
        path : path, or "-"
            The suffix tells the format: .npz, .parquet, .csv, .tsv, .txt, .vec or .w2v (word2vec's text), .bin
            (word2vec's binary form). All but .npz and .parquet are packed if .gz, .bz2, .xz or .zst follows. "-" is
            standard output.
        format : str, optional
            "npz", "parquet", "csv", "tsv", "word2vec", "word2vec-binary", or "tensorboard", for which the path is a
            folder; what else is in it stays.

        Raises
        ------
        EmbeddingError
            If the format does not keep the names. npz keeps numbers, text, and tuples of such; csv and tsv keep
            integers and text; parquet the same, but not both at once. word2vec and tensorboard know no types: names
            are written as text, with escapes such as ``\u0020`` for white space, and two that are written alike, such
            as 1 and "1", are refused.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp(), "vectors.csv")
        >>> Embedding([[1, 0.1], [-2, 1e-7]], ["ann", 7]).save(path)
        >>> print(path.read_text(), end="")
        node,0,1
        "ann",1,0.1
        7,-2,1e-7
        """
        write_vectors(path, format, self.vectors, self.names)

    @classmethod
    def load(cls, path: str | os.PathLike[str], format: str | None = None, names: type[str] | None = None) -> Embedding:  # noqa: A002
        """Read what :meth:`save` wrote, or what other tools write in these formats.

        Parameters
        ----------
        path : path, or "-"
            A file, or a folder for TensorBoard; "-" is standard input.
        format : str, optional
            As in :meth:`save`; by default, the suffix tells it.
        names : str, optional
            The type `str` makes all names text. By default, names in word2vec and TensorBoard files, and names without
            quotes in csv and tsv files, are integers if every one is.

        Raises
        ------
        EmbeddingError
            If the file is anything else than vectors of finite values under distinct names; the message names the file,
            the line if there is one, and the rule.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp(), "vectors.txt.gz")
        >>> embedding = Embedding([[1, 0.1], [-2, 1e-7]], [3, 7])
        >>> embedding.save(path)
        >>> Embedding.load(path) == embedding
        True
        >>> Embedding.load(path, names=str).names.tolist()
        ['3', '7']
        """
        if names not in (None, str):
            raise ValueError(f"names is the type str, or None; got {names!r}")
        vectors, found = read_vectors(path, format)
        try:
            return cls._owning(vectors, found if names is None else map(str, found))
        except EmbeddingError as error:
            raise EmbeddingError(f"{label_of(path)}: {error}") from None


def _floats(vectors: Any) -> Vectors:
    """A copy of numbers in two dimensions, as 32-bit floats."""
    try:
        array = np.asarray(vectors)
    except ValueError as error:
        raise EmbeddingError(f"vectors are rows of equally many numbers: {error}") from None
    if array.ndim != 2 or (array.size and array.dtype.kind not in "fiub"):
        raise EmbeddingError(f"vectors are numbers in two dimensions; got {array.dtype} of shape {array.shape}")
    with np.errstate(over="ignore"):
        return array.astype(np.float32, order="C")


def _is_name(key: Any) -> bool:
    """Whether this is a name, not some; a range could be a name, but hardly is."""
    return isinstance(key, Hashable) and not isinstance(key, range)


def _names(names: Iterable[Hashable]) -> Names:
    try:
        array = name_array(names)
    except GraphError as error:
        raise EmbeddingError(str(error)) from None
    if array.ndim != 1:
        raise EmbeddingError(f"names stand one after the other; got shape {array.shape}")
    return array


def _check_distinct(names: Names) -> None:
    if names.dtype != object and len(np.unique(names)) == len(names):
        return
    items = names.tolist()
    try:
        if len(set(items)) == len(items):
            return
    except TypeError as error:
        raise EmbeddingError(f"a node name is hashable: {error}") from None
    rows: dict[Hashable, int] = {}
    for row, name in enumerate(items):
        if rows.setdefault(name, row) != row:
            raise EmbeddingError(f"node names are distinct; rows {rows[name]} and {row} are both named {name!r}")


def _check_finite(vectors: Vectors, names: Names) -> None:
    # A sum is finite only if all its terms are, but may overflow: then each value is looked at.
    with np.errstate(over="ignore", invalid="ignore"):
        sums = vectors.sum(axis=1)
    for row in np.flatnonzero(~np.isfinite(sums)).tolist():
        wrong = vectors[row][~np.isfinite(vectors[row])]
        if len(wrong):
            raise EmbeddingError(f"row {row}, {names.tolist()[row]!r}: a vector is finite in 32 bits; got {wrong[0]}")
