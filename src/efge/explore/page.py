"""One self-contained HTML file: positions, names, columns, edges, and the library that draws them.

Names, labels and titles are untrusted input. The file holds them as JSON in which no character can end a script; the
page shows them as text only; and a content security policy allows the browser to run only the two scripts written here,
and no network requests.
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
from efge.errors import EmbeddingError, GraphError, check_positive_integers
from efge.explore.columns import Column, Numbers, make_columns
from efge.explore.layout import lay_out
from efge.graph.graph import Graph
from efge.graph.inputs import as_graph
from efge.io.atomic import atomic_write
from efge.plots import COLORS

# Parts of the page's one script; each may use names from the parts before it.
_SCRIPTS = ("data.js", "map.js", "overlay.js", "panel.js", "page.js")
# The last color is gray, which is reserved for other categories and missing values.
_PALETTE = COLORS[:-1]


def write_page(  # noqa: PLR0913
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
    """Write an interactive page to explore an embedding: one file that any browser opens, without a network connection.

    The page shows a map of the nodes, with search, zoom and selection; colors by label, degree or any column; and, for
    a clicked node, its nearest neighbors by cosine and its edges. The same input gives the same bytes.

    Parameters
    ----------
    embedding : Embedding or fitted estimator
    path : path
        File to write; an existing file is replaced only when the new one is complete.
    graph : Graph, or anything :func:`efge.as_graph` takes, optional
        Graph whose edges and degrees to show; degrees count neighbors in either direction.
    labels : path, mapping, data frame or sequence, optional
        Classes as for :func:`efge.node_classification`; several classes of a node form one category.
    columns : mapping of names to values, or data frame, optional
        Values to color by. The values of a column are a mapping or a series by node, a sequence in the order of the
        embedding, or :class:`Communities`. A data frame has a column named "node", or nodes as its index. Numbers get a
        color scale; integers that repeat, such as community numbers, and all other values are categories. Values that
        are not finite are missing.
    title : str, optional
        Title of the page.
    method : "tsne", "umap" or "pca", optional
        Projection to two dimensions. t-SNE and UMAP (which needs ``umap-learn``) preserve neighborhoods by cosine;
        "pca" (principal components) preserves the largest distances. By default, vectors with one or two dimensions are
        drawn directly; others use t-SNE up to 5,000 nodes, and "pca" beyond. The page says which.
    neighbors : int
        Number of nearest neighbors to store for each node, by cosine. With 100,000 nodes, finding them takes some
        minutes; 0 skips it.
    seed : int
        Random seed of t-SNE and UMAP.

    Raises
    ------
    EmbeddingError, GraphError, EvaluationError
        If the embedding has no nodes, or if the graph, labels or a column share no node with the embedding.
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
    # Open the file first: a wrong path is reported before any long computation.
    with atomic_write(path) as stream:
        stream.write(
            make_page(
                embedding,
                graph=graph,
                labels=labels,
                columns=columns,
                title=title,
                method=method,
                neighbors=neighbors,
                seed=seed,
            )
        )


def make_page(
    embedding: Any,
    *,
    graph: Any = None,
    labels: Any = None,
    columns: Any = None,
    title: str | None = None,
    method: str | None = None,
    neighbors: int = 10,
    seed: int = 0,
) -> bytes:
    """Return the page that `write_page` writes."""
    embedding = _embedding_of(embedding)
    library = _plotly_source()
    check_positive_integers(neighbors=neighbors or None)
    network = None if graph is None else as_graph(graph)
    data = {
        "title": "Embedding" if title is None else str(title),
        "names": _names_as_text(embedding),
        "edges": None if network is None else _encode_edges(network, embedding),
        "columns": [_encode_column(column) for column in make_columns(embedding, labels, columns, network)],
        "map": _encode_map(embedding, method, seed),
        "neighbors": _encode_neighbors(embedding, neighbors),
        "palette": _PALETTE,
    }
    return _render_page(data, library)


def _embedding_of(source: Any) -> Embedding:
    embedding = getattr(source, "embedding_", source)
    if not isinstance(embedding, Embedding):
        raise EmbeddingError(f"a page shows an Embedding or a fitted estimator; got {type(source).__name__}")
    if not len(embedding):
        raise EmbeddingError("a page needs at least one node; the embedding has none")
    return embedding


def _plotly_source() -> str:
    """Return the source of plotly.js, which the Python package contains."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise ImportError("writing a page needs plotly; install efge[explore]") from None
    return str(get_plotlyjs())


def _names_as_text(embedding: Embedding) -> list[str]:
    try:
        return [str(name) for name in embedding]
    except ValueError as error:
        # Python refuses to print integers with more than some thousand digits.
        raise EmbeddingError(f"cannot write a node name: {error}") from None


def _encode_map(embedding: Embedding, method: str | None, seed: int) -> dict[str, Any]:
    positions, about = lay_out(embedding, method, seed)
    return {"x": _encode_array(positions[:, 0], "<f4"), "y": _encode_array(positions[:, 1], "<f4"), "about": about}


def _encode_neighbors(embedding: Embedding, k: int) -> dict[str, Any] | None:
    if not k or len(embedding) == 1:
        return None
    rows, scores = embedding.nearest(k=k)
    return {"k": rows.shape[1], "rows": _encode_array(rows, "<i4"), "scores": _encode_array(scores, "<f4")}


def _encode_edges(graph: Graph, embedding: Embedding) -> dict[str, Any]:
    """Encode the edges between rows of the embedding, in both directions and without self-loops, in CSR form."""
    from scipy.sparse import csr_array

    rows = embedding._index.rows(graph)
    if not (rows >= 0).any():
        examples = f"it has nodes such as {next(iter(graph), None)!r}, the embedding such as {next(iter(embedding))!r}"
        raise GraphError(f"the graph has no node of {embedding!r}; {examples}")
    ends = np.stack([rows[np.repeat(np.arange(len(graph)), np.diff(graph.indptr))], rows[graph.indices]])
    ends = ends[:, (ends >= 0).all(axis=0) & (ends[0] != ends[1])]
    both = np.hstack([ends, ends[::-1]])
    matrix = csr_array((np.ones(both.shape[1], bool), (both[0], both[1])), shape=(len(embedding), len(embedding)))
    matrix.sum_duplicates()
    indptr, indices = _encode_array(matrix.indptr, "<i4"), _encode_array(matrix.indices, "<i4")
    return {"indptr": indptr, "indices": indices, "count": matrix.nnz // 2}


def _encode_column(column: Column) -> dict[str, Any]:
    if isinstance(column, Numbers):
        return {"name": column.name, "values": _encode_array(column.values, "<f8"), "logScale": column.log_scale}
    return {"name": column.name, "codes": _encode_array(column.codes, "<i4"), "categories": column.categories}


def _encode_array(values: npt.NDArray[Any], dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype).tobytes()).decode()


def _render_page(data: dict[str, Any], library: str) -> bytes:
    """Fill the template in one pass, so that inserted text is never searched for placeholders."""
    script = "\n".join(_read_resource(name) for name in _SCRIPTS)
    allowed = " ".join(f"'sha256-{_digest(source)}'" for source in (library, script))
    parts = {
        "TITLE": escape(data["title"]),
        "ALLOWED": allowed,
        "STYLE": _read_resource("page.css"),
        "DATA": _json(data),
        "LIBRARY": library,
        "SCRIPT": script,
    }
    text = re.sub(r"\{\{([A-Z]+)\}\}", lambda match: parts[match[1]], _read_resource("page.html"))
    # A title may contain characters that UTF-8 cannot encode.
    return text.encode("utf-8", "replace")


def _json(data: dict[str, Any]) -> str:
    """Return JSON in ASCII, with escapes for the characters that could end a script or a comment in HTML."""
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _read_resource(name: str) -> str:
    return (files("efge.explore") / name).read_text("utf-8")


def _digest(source: str) -> str:
    return base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
