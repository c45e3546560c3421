"""What an embedding turns into and comes from: files, data frames, attributes of NetworkX graphs."""

from __future__ import annotations

import importlib
import os
from collections.abc import Hashable, Iterable, Sized
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from efge import display
from efge.embedding.common import IF_GRAPH
from efge.embedding.formats import read_vectors, write_vectors
from efge.errors import EmbeddingError, check_types
from efge.graph.names import Names
from efge.io.files import display_name
from efge.parallel import single_threaded_blas

if TYPE_CHECKING:
    import pandas as pd

# What notebooks show of an embedding.
_SHOWN_ROWS, _SHOWN_COLUMNS, _MAPPED_NODES = 5, 6, 500

AnyEmbedding = TypeVar("AnyEmbedding", bound="Conversions")


class Conversions:
    """Methods of an embedding that read and write it, or convert it."""

    vectors: npt.NDArray[np.float32]
    names: Names

    if TYPE_CHECKING:

        @classmethod
        def _owning(
            cls: type[AnyEmbedding], vectors: npt.NDArray[np.float32], names: Iterable[Hashable]
        ) -> AnyEmbedding: ...

    def _repr_html_(self) -> str:
        """Return the first vectors and a map of some nodes, for notebooks."""
        shown = self.vectors[:_SHOWN_ROWS, :_SHOWN_COLUMNS]
        more = ["..."] * (self.vectors.shape[1] > _SHOWN_COLUMNS)
        rows = [
            [name, *(f"{value:.3g}" for value in vector), *more]
            for name, vector in zip(self.names[:_SHOWN_ROWS].tolist(), shown.tolist(), strict=True)
        ]
        rows += [["...", *["..."] * (shown.shape[1] + len(more))]] * (len(self.vectors) > _SHOWN_ROWS)
        header = ["node", *range(shown.shape[1]), *more]
        return display.card(repr(self), display.table(rows, header), self._map())

    def _map(self) -> str:
        """Return the first two principal components of at most `_MAPPED_NODES` nodes, evenly taken."""
        some = self.vectors[:: -(-len(self.vectors) // _MAPPED_NODES) or 1].astype(np.float64)
        if len(some) < 3 or some.shape[1] < 2:
            return ""
        centered = some - some.mean(axis=0)
        with single_threaded_blas():
            _, components = np.linalg.eigh(centered.T @ centered)
            places = centered @ components[:, [-1, -2]]
        title = f"principal components{'' if len(some) == len(self.vectors) else f' of {len(some):,} nodes'}"
        return display.dots(places, title)

    def explore(self, *, height: int = 650, **options: Any) -> Any:
        """Return an interactive map, which a notebook shows in the output of the cell; install ``efge[explore]``.

        Parameters
        ----------
        height : int
            Height in the notebook, in pixels.
        **options
            `graph`, `labels`, `columns`, `title`, `method`, `neighbors` and `seed`, as in :func:`efge.write_page`.

        Returns
        -------
        Page
            Its method ``save(path)`` writes the page to a file.

        Examples
        --------
        >>> import efge
        >>> efge.Embedding([[1, 0], [0.6, 0.8]], ["ann", "bob"]).explore(title="friends")
        Page(...)
        """
        # This package may not import the one that draws pages, which is above it.
        return importlib.import_module("efge.explore").inline_page(self, height, options)

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas data frame with the names as index and a column for each dimension.

        Examples
        --------
        >>> import efge
        >>> efge.Embedding([[1, 2], [3, 4]], ["ann", "bob"]).to_pandas()
                0    1
        node
        ann   1.0  2.0
        bob   3.0  4.0
        """
        import pandas as pd

        return pd.DataFrame(self.vectors, pd.Index(self.names, name="node"), range(self.vectors.shape[1]), copy=True)

    def to_networkx(self, graph: Any, attribute: str = "vector") -> Any:
        """Return a copy of a NetworkX graph whose nodes have their vectors as an attribute.

        Parameters
        ----------
        graph : NetworkX graph
            Nodes without a vector get no attribute; at least one node must have a vector.
        attribute : str
            Name of the attribute; its value is a list of floats.

        Examples
        --------
        >>> import efge, networkx as nx
        >>> graph = efge.Embedding([[1, 2], [3, 4]], ["ann", "bob"]).to_networkx(nx.Graph([("ann", "bob")]))
        >>> graph.nodes["bob"]["vector"]
        [3.0, 4.0]
        """
        _check_networkx(graph, attribute)
        rows = {name: row for row, name in enumerate(self.names.tolist())}
        found = {node: self.vectors[rows[node]].tolist() for node in graph if node in rows}
        if rows and not found:
            first = repr(next(iter(graph), None))[:80]
            examples = f"the graph has nodes such as {first}, the embedding {next(iter(rows))!r}"
            raise EmbeddingError(f"no node of the graph has a vector; {examples}")
        copy = graph.copy()
        for node, vector in found.items():
            copy.nodes[node][attribute] = vector
        return copy

    @classmethod
    def from_networkx(cls: type[AnyEmbedding], graph: Any, attribute: str = "vector") -> AnyEmbedding:
        """Return the embedding of those nodes of a NetworkX graph that have a vector as an attribute.

        Examples
        --------
        >>> import efge, networkx as nx
        >>> graph = nx.Graph()
        >>> graph.add_node("ann", vector=[1, 2])
        >>> efge.Embedding.from_networkx(graph)
        Embedding(1 nodes, 2 dimensions)
        """
        _check_networkx(graph, attribute)
        vectors = {node: vector for node, vector in graph.nodes(attribute) if vector is not None}
        if not vectors:
            raise EmbeddingError(f"no node has the attribute {attribute!r}; pass the name of one as attribute=")
        if not all(isinstance(vector, Sized) for vector in vectors.values()):
            raise EmbeddingError(f"the attribute {attribute!r} of a node is a list of numbers; got other values")
        sizes = {len(vector) for vector in vectors.values()}
        if len(sizes) > 1:
            raise EmbeddingError(f"all vectors must have the same size; got {', '.join(map(str, sorted(sizes)))}")
        return cls._owning(np.array(list(vectors.values()), np.float32), vectors)

    def save(
        self,
        path: str | os.PathLike[str],
        format: str | None = None,  # noqa: A002
        *,
        escape_formulas: bool = False,
    ) -> None:
        r"""Write names and vectors to a file.

        The file appears only when it is complete; until then, an existing file of that name stays as it is. Every
        format keeps every bit of the vectors, and the same embedding gives the same bytes.

        Parameters
        ----------
        path : path, or "-" for standard output
            The suffix tells the format: .npz, .parquet, .arrow or .feather, .safetensors, .h5ad (AnnData), .csv, .tsv;
            .txt, .vec or .w2v for word2vec's text; .bin for word2vec's binary format. Text, and word2vec's formats, are
            compressed if .gz, .bz2, .xz or .zst follows.
        format : str, optional
            "npz", "parquet", "arrow", "safetensors", "h5ad", "csv", "tsv", "word2vec", "word2vec-binary", "neo4j" (a
            CSV file of nodes, which is not read again), or "tensorboard". For the last one, the path is a folder; other
            files in it stay as they are.
        escape_formulas : bool
            In csv, tsv and tensorboard, put an apostrophe before names that begin with ``=``, ``+``, ``-``, ``@``, a
            tab or a carriage return, which spreadsheets may run as formulas; :meth:`load` removes it. The command line
            always does. Use it if names come from others.

        Raises
        ------
        EmbeddingError
            If the format cannot keep the names. npz and safetensors keep numbers, text, and tuples of these; csv and
            tsv keep integers and text; parquet, arrow and h5ad keep integers or text, but not a mixture. word2vec and
            tensorboard have no types: names are written as text, with escapes such as ``\u0020`` for white space, and
            two names that look the same as text, such as 1 and "1", are refused.

        Examples
        --------
        >>> import efge, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "vectors.csv")
        >>> import efge
        >>> efge.Embedding([[1, 0.1], [-2, 1e-7]], ["ann", 7]).save(path)
        >>> print(path.read_text(), end="")
        node,0,1
        "ann",1,0.1
        7,-2,1e-7
        """
        write_vectors(path, format, self.vectors, self.names, escape_formulas)

    @classmethod
    def load(
        cls: type[AnyEmbedding],
        path: str | os.PathLike[str],
        format: str | None = None,  # noqa: A002
        names: type[str] | None = None,
    ) -> AnyEmbedding:
        """Read an embedding that :meth:`save` or another tool wrote.

        Parameters
        ----------
        path : path, or "-" for standard input
            A file, or a folder for TensorBoard.
        format : str, optional
            As in :meth:`save`; by default, the suffix tells it.
        names : str, optional
            Pass the type `str` to read all names as text. By default, names in word2vec and TensorBoard files, and
            names without quotes in csv and tsv files, are integers if all of them look like integers.

        Raises
        ------
        EmbeddingError
            If the file does not consist of vectors of finite values under distinct names. The message gives the file,
            the line if there is one, and the rule.

        Examples
        --------
        >>> import efge, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "vectors.txt.gz")
        >>> embedding = efge.Embedding([[1, 0.1], [-2, 1e-7]], [3, 7])
        >>> embedding.save(path)
        >>> efge.Embedding.load(path) == embedding
        True
        >>> efge.Embedding.load(path, names=str).names.tolist()
        ['3', '7']
        """
        if names is not None and names is not str:
            raise ValueError(f"names must be the type str, or None; got {names!r}")
        vectors, file_names = read_vectors(path, format)
        try:
            return cls._owning(vectors, file_names if names is None else map(str, file_names))
        except EmbeddingError as error:
            hint = IF_GRAPH if vectors.shape[1] <= 2 else ""
            raise EmbeddingError(f"{display_name(path)}: {error}{hint}") from None


def _check_networkx(graph: Any, attribute: Any) -> None:
    """Raise an error unless this is a graph of NetworkX and the name of an attribute."""
    check_types(attribute=attribute)
    if not callable(getattr(graph, "nodes", None)) or not callable(getattr(graph, "copy", None)):
        raise EmbeddingError(f"graph is a NetworkX graph; got {type(graph).__name__}")
