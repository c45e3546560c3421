"""One file of HTML with everything in it: the places, the names, the library that draws them, and no way out.

Names, labels and titles come from strangers. They stand in the file as JSON in which no character could end a script,
the page's script puts them on the screen as text only, and a policy keeps the browser from running any script but the
two that were written here, and from asking any network for anything.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.embedding.embedding import Embedding
from efge.errors import EmbeddingError, GraphError, check_counts
from efge.explore.columns import Column, Numbers, columns_of
from efge.explore.layout import lay_out
from efge.graph.graph import Graph
from efge.graph.inputs import as_graph
from efge.io.atomic import written_whole
from efge.plots import COLORS

# In the order in which they need each other; the page has them as one script.
_SCRIPTS = ("data.js", "map.js", "marks.js", "panel.js", "page.js")
# The last of our colors is gray, which stands for other categories and for none.
_PALETTE = COLORS[:-1]


def write_page(
    embedding: Any,
    path: str | os.PathLike[str],
    *,
    graph: Any = None,
    labels: Any = None,
    columns: Any = None,
    title: str | None = None,
    method: str | None = None,
    neighbors: int = 10,
    seed: int = 0,
) -> None:
    """Write a page to explore an embedding in: one file that any browser opens, without a network.

    It has a map of the nodes with search, hover, zoom and selection; colors by label, degree or any column; and for a
    node that is clicked its nearest neighbors by all dimensions, and its edges. The same input gives the same bytes.

    Parameters
    ----------
    embedding : Embedding, or an estimator that is fitted
    path : path
        The file appears when it is whole; what was there before stays until then.
    graph : Graph, or anything :func:`efge.as_graph` takes, optional
        The edges to draw, and degrees, which count neighbors in either direction.
    labels : path, mapping, data frame or sequence, optional
        Classes as for :func:`efge.node_classification`; several classes of a node make one category.
    columns : mapping of names to values, or data frame, optional
        Values are a mapping or a series by node, a sequence in the order of the embedding, or :class:`Communities`. A
        data frame has a column named "node", or nodes as its index. Numbers have a scale of colors, and whole numbers
        that repeat, as those of communities do, are categories; so is all else. What is not finite is missing.
    title : str, optional
    method : "tsne", "umap" or "pca", optional
        How vectors become a map, see :func:`efge.explore.lay_out`. By default, two dimensions are drawn as they are;
        others by t-SNE up to 5,000 nodes, and by their principal components beyond. The page says which.
    neighbors : int
        How many nearest neighbors each node has in the page, by the cosine; 0 for none, as finding those of 100,000
        nodes takes some minutes.
    seed : int
        For t-SNE and UMAP.

    Raises
    ------
    EmbeddingError, GraphError, EvaluationError
        If there are no nodes, or if a graph, labels or a column have none of the embedding's nodes.
    ImportError
        If plotly is not installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "friends.html")
    >>> friends = Embedding([[1, 0], [0.6, 0.8], [0, 2]], ["ann", "bob", "cid"])
    >>> write_page(friends, path, graph=[("ann", "bob"), ("bob", "cid")], columns={"age": [31, 45, 29]})
    >>> path.read_bytes()[:15]
    b'<!doctype html>'
    """
    embedding = _embedding_of(embedding)
    library = _library()
    check_counts(neighbors=neighbors or None)
    network = None if graph is None else as_graph(graph)
    # The file comes first: a wrong path is told before anything long begins.
    with written_whole(path) as stream:
        data = {
            "title": "Embedding" if title is None else str(title),
            "names": _texts(embedding),
            "links": None if network is None else _links(network, embedding),
            "columns": [_packed_column(column) for column in columns_of(embedding, labels, columns, network)],
            "map": _map(embedding, method, seed),
            "neighbors": _neighbors(embedding, neighbors),
            "palette": _PALETTE,
        }
        stream.write(_page(data, library))


def _embedding_of(source: Any) -> Embedding:
    embedding = getattr(source, "embedding_", source)
    if not isinstance(embedding, Embedding):
        raise EmbeddingError(f"a page shows an Embedding, or that of a fitted estimator; got {type(source).__name__}")
    if not len(embedding):
        raise EmbeddingError("a page shows at least one node; the embedding has none")
    return embedding


def _library() -> str:
    """The source of plotly.js, as its Python package has it."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise ImportError("pages are drawn by plotly; install efge[explore]") from None
    return str(get_plotlyjs())


def _texts(embedding: Embedding) -> list[str]:
    try:
        return [str(name) for name in embedding]
    except ValueError as error:
        # Python does not print integers of more than some thousand digits.
        raise EmbeddingError(f"a name can be written: {error}") from None


def _map(embedding: Embedding, method: str | None, seed: int) -> dict[str, Any]:
    places, about = lay_out(embedding, method, seed)
    return {"x": _packed(places[:, 0], "<f4"), "y": _packed(places[:, 1], "<f4"), "about": about}


def _neighbors(embedding: Embedding, number: int) -> dict[str, Any] | None:
    if not number or len(embedding) == 1:
        return None
    rows, scores = embedding.nearest(k=number)
    return {"number": rows.shape[1], "rows": _packed(rows, "<i4"), "scores": _packed(scores, "<f4")}


def _links(graph: Graph, embedding: Embedding) -> dict[str, Any]:
    """The edges among nodes of the embedding, by its rows, in both directions; a node's link to itself is not drawn."""
    from scipy.sparse import csr_array

    rows = embedding._index.rows(graph)
    if not (rows >= 0).any():
        others = f"it has {next(iter(graph), None)!r} and others, the embedding {next(iter(embedding))!r} and others"
        raise GraphError(f"the graph has no node of {embedding!r}; {others}")
    ends = np.stack([rows[np.repeat(np.arange(len(graph)), np.diff(graph.indptr))], rows[graph.indices]])
    ends = ends[:, (ends >= 0).all(axis=0) & (ends[0] != ends[1])]
    both = np.hstack([ends, ends[::-1]])
    matrix = csr_array((np.ones(both.shape[1], bool), (both[0], both[1])), shape=(len(embedding), len(embedding)))
    matrix.sum_duplicates()
    edges = matrix.nnz // 2
    return {"starts": _packed(matrix.indptr, "<i4"), "ends": _packed(matrix.indices, "<i4"), "edges": edges}


def _packed_column(column: Column) -> dict[str, Any]:
    if isinstance(column, Numbers):
        return {"name": column.name, "values": _packed(column.values, "<f8"), "byLog": column.by_log}
    return {"name": column.name, "codes": _packed(column.codes, "<i4"), "categories": column.categories}


def _packed(values: npt.NDArray[Any], kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, kind).tobytes()).decode()


def _page(data: dict[str, Any], library: str) -> bytes:
    """The template with its parts in their places, each put there once and never looked at again."""
    script = "\n".join(_part(name) for name in _SCRIPTS)
    allowed = " ".join(f"'sha256-{_digest(source)}'" for source in (library, script))
    parts = {
        "TITLE": escape(data["title"]),
        "ALLOWED": allowed,
        "STYLE": _part("page.css"),
        "DATA": _json(data),
        "LIBRARY": library,
        "SCRIPT": script,
    }
    text = re.sub(r"\{\{([A-Z]+)\}\}", lambda found: parts[found[1]], _part("page.html"))
    # A title may have characters that no encoding holds.
    return text.encode("utf-8", "replace")


def _json(data: dict[str, Any]) -> str:
    """JSON in ASCII, without what could end a script or a comment in HTML; such characters are within texts only."""
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _part(name: str) -> str:
    return (files("efge.explore") / name).read_text("utf-8")


def _digest(source: str) -> str:
    return base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
