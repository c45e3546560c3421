"""Approximate nearest neighbors: vectors in lists around centroids, of which a search reads the nearest few.

faiss clusters and searches. The index itself is three small arrays, because the vectors are in the embedding.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Hashable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.embedding.embedding import Embedding, is_name, one_vector
from efge.embedding.formats import as_embedding_errors
from efge.embedding.nearest import vector_norms
from efge.embedding.npz import check_format, read_entry, write_arrays
from efge.errors import EmbeddingError, check_positive_integers, is_number
from efge.io.atomic import atomic_write
from efge.io.files import display_name, open_input
from efge.random import check_seed

Vectors = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]

_MAGIC = b"efge index 1"
# Nodes whose exact neighbors decide how many lists a search reads.
_SAMPLE = 256
_TUNED_NEIGHBORS = 10
# Points for each centroid that clustering uses; more take longer and change little.
_POINTS_PER_CENTROID = 64
_ITERATIONS = 10


class NeighborIndex:
    """An approximate index of an embedding by cosine, for millions of nodes; install ``efge[index]``.

    A search compares a query with a part of the vectors only. How large this part is was chosen when the index was
    built, so that a sample of nodes had the wanted recall of its exact ten nearest neighbors.

    Attributes
    ----------
    recall : float
        The measured recall of the ten nearest neighbors of a sample of nodes.

    Examples
    --------
    >>> import numpy as np
    >>> embedding = Embedding(np.random.default_rng(0).normal(size=(500, 8)))
    >>> index = NeighborIndex.build(embedding, recall=0.9)
    >>> index.recall >= 0.9
    True
    >>> rows, scores = index.nearest([0, 1], k=5)
    >>> rows.shape
    (2, 5)
    """

    def __init__(self, embedding: Embedding, centroids: Vectors, lists: Rows, probes: int, recall: float) -> None:
        self.embedding = embedding
        self.centroids = centroids
        self.lists = lists
        self.probes = probes
        self.recall = recall

    def __repr__(self) -> str:
        part = f"{self.probes:,} of {len(self.centroids):,} lists"
        return f"NeighborIndex({len(self.lists):,} nodes, searches {part}, recall {self.recall:.3f})"

    @classmethod
    def build(cls, embedding: Embedding, recall: float = 0.95, seed: int = 0) -> NeighborIndex:
        """Cluster the vectors, and choose how many lists a search reads.

        Parameters
        ----------
        embedding : Embedding
        recall : float
            Fraction of the exact ten nearest neighbors to find, above 0 and at most 1.
        seed : int

        Examples
        --------
        >>> import numpy as np
        >>> NeighborIndex.build(Embedding(np.eye(20)), recall=1.0).recall
        1.0
        """
        if not (is_number(recall) and 0 < recall <= 1):
            raise ValueError(f"recall is a fraction above 0 and at most 1; got {recall!r}")
        seed = check_seed(seed)
        _check_embedding(embedding)
        if not len(embedding):
            raise EmbeddingError("an index needs at least one vector; got none")
        faiss = _import_faiss()
        units = _units(embedding.vectors)
        n_lists = max(1, min(int(4 * len(units) ** 0.5), len(units) // 39))
        clustering = faiss.Kmeans(
            units.shape[1],
            n_lists,
            niter=_ITERATIONS,
            spherical=True,
            seed=int(np.random.default_rng(seed).integers(2**31)),
            min_points_per_centroid=1,
            max_points_per_centroid=_POINTS_PER_CENTROID,
        )
        clustering.train(units)
        lists = clustering.index.search(units, 1)[1][:, 0].astype(np.int64)
        index = cls(embedding, np.array(clustering.centroids, np.float32), lists, 1, 0.0)
        index._choose_probes(recall, seed)
        return index

    def _choose_probes(self, recall: float, seed: int) -> None:
        """Read more lists until a sample has the recall."""
        n = len(self.embedding)
        chosen = np.sort(np.random.default_rng(seed).choice(n, min(n, _SAMPLE), replace=False))
        names = self.embedding.names[chosen].tolist()
        # Of equal cosines, either may be found: what counts is the cosine of the last exact neighbor.
        _, exact = self.embedding.nearest(names, _TUNED_NEIGHBORS, progress=False)
        while True:
            _, found = self.nearest(names, _TUNED_NEIGHBORS)
            self.recall = float((found >= exact[:, -1:] - 1e-5).mean()) if exact.size else 1.0
            if self.recall >= recall or self.probes >= len(self.centroids):
                return
            self.probes = min(2 * self.probes, len(self.centroids))

    @cached_property
    def _index(self) -> Any:
        """The lists with their vectors, as faiss searches them."""
        faiss = _import_faiss()
        quantizer = faiss.IndexFlatIP(self.centroids.shape[1])
        quantizer.add(self.centroids)
        index = faiss.IndexIVFFlat(quantizer, *self.centroids.shape[::-1], faiss.METRIC_INNER_PRODUCT)
        index.is_trained = True
        units, lists = _units(self.embedding.vectors), np.ascontiguousarray(self.lists, np.int64)
        index.add_core(len(units), faiss.swig_ptr(units), None, faiss.swig_ptr(lists))
        return index

    def nearest(self, queries: Any = None, k: int = 10) -> tuple[Rows, Vectors]:
        """Find nodes that are probably the most similar ones to many nodes or vectors.

        Parameters
        ----------
        queries : names, a two-dimensional array of vectors, or an Embedding, optional
            As in :meth:`Embedding.nearest`.
        k : int

        Returns
        -------
        rows, scores : arrays of shape (queries, k)
            Highest cosine first. A query that found fewer nodes has rows of -1, with scores of -inf, at the end.

        Examples
        --------
        >>> import numpy as np
        >>> index = NeighborIndex.build(Embedding(np.eye(50) + 0.1), recall=1.0)
        >>> index.nearest(k=3)[0].shape
        (50, 3)
        """
        check_positive_integers(k=k)
        vectors, own = self.embedding._queries(queries)
        wanted = min(k, len(self.embedding) - (own is not None))
        self._index.nprobe = self.probes
        scores, rows = self._index.search(_units(vectors), wanted + (own is not None))
        if own is not None:
            # A query finds itself, unless many vectors equal its own.
            is_own = rows == own[:, None]
            is_own[~is_own.any(axis=1), -1] = True
            rows, scores = (array[~is_own].reshape(len(rows), wanted) for array in (rows, scores))
        return rows, np.where(rows >= 0, scores, -np.inf).astype(np.float32)

    def neighbors(self, node: Hashable | npt.ArrayLike, k: int = 10) -> list[tuple[Hashable, float]]:
        """Return nodes that are probably the most similar to a node or a vector, best first, with their cosines.

        Examples
        --------
        >>> embedding = Embedding([[1, 0], [0.6, 0.8], [0, 2]], ["ann", "bob", "cid"])
        >>> [name for name, cosine in NeighborIndex.build(embedding).neighbors("ann", k=1)]
        ['bob']
        """
        rows, scores = self.nearest([node] if is_name(node) else one_vector(node), k)
        found = rows[0] >= 0
        return list(zip(self.embedding.names[rows[0][found]].tolist(), scores[0][found].tolist(), strict=True))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a file, usually beside the vectors, which it does not contain.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "vectors.npz.index")
        >>> embedding = Embedding([[1, 0], [0.6, 0.8], [0, 2]], ["ann", "bob", "cid"])
        >>> NeighborIndex.build(embedding).save(path)
        >>> NeighborIndex.load(path, embedding)
        NeighborIndex(3 nodes, searches 1 of 1 lists, recall 1.000)
        """
        arrays = {
            "format": np.array(_MAGIC),
            "digest": np.frombuffer(_digest(self.embedding.vectors), np.uint8),
            "settings": np.array([self.probes, self.recall], "<f8"),
            "lists": self.lists.astype("<i8"),
            "centroids": self.centroids.astype("<f4"),
        }
        with atomic_write(path) as stream:
            write_arrays(stream, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], embedding: Embedding) -> NeighborIndex:
        """Read an index that :meth:`save` wrote, for the embedding that it was built from.

        Raises
        ------
        EmbeddingError
            If the file is no index, or the index of other vectors.

        Examples
        --------
        See :meth:`save`.
        """
        label = display_name(path)
        _check_embedding(embedding)
        with as_embedding_errors(label, "index"), open_input(path) as stream, zipfile.ZipFile(stream) as archive:
            check_format(archive, _MAGIC, f"{label}: an index")
            digest = read_entry(archive, "digest", "|u1", 1).tobytes()
            probes, recall = read_entry(archive, "settings", "<f8", 1).tolist()
            lists = read_entry(archive, "lists", "<i8", 1)
            centroids = read_entry(archive, "centroids", "<f4", 2)
        if digest != _digest(embedding.vectors):
            raise EmbeddingError(f"{label}: this is the index of other vectors; build it again")
        in_range = len(lists) == len(embedding) and centroids.shape[1] == embedding.dim
        if not in_range or not 1 <= probes <= len(centroids) or not 0 <= lists.min() <= lists.max() < len(centroids):
            raise EmbeddingError(f"{label}: the index is damaged; build it again")
        return cls(embedding, centroids.astype(np.float32), lists.astype(np.int64), int(probes), recall)


def _check_embedding(embedding: Any) -> None:
    if not isinstance(embedding, Embedding):
        raise EmbeddingError(f"embedding is an Embedding; got {type(embedding).__name__}")


def _import_faiss() -> Any:
    try:
        import faiss
    except ImportError:
        raise ImportError("an approximate index needs faiss; install efge[index]") from None
    return faiss


def _units(vectors: Vectors) -> Vectors:
    """Return vectors of length 1; a zero vector stays as it is."""
    norms = vector_norms(vectors)
    return np.ascontiguousarray(vectors / np.where(norms > 0, norms, 1.0)[:, None], np.float32)


def _digest(vectors: Vectors) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(vectors).view(np.uint8).data, digest_size=16).digest()
