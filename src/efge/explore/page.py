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
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.embedding.embedding import Embedding
from efge.errors import EmbeddingError, GraphError, check_types, is_integer
from efge.explore import palette
from efge.explore.columns import Column, Numbers, make_columns
from efge.explore.compare import align_places, common_neighbors
from efge.explore.layout import Layout, lay_out
from efge.graph.graph import Graph
from efge.graph.inputs import as_graph
from efge.io.atomic import atomic_write
from efge.io.files import COMPRESSION_MAGIC
from efge.random import check_seed, stream_key

# Parts of the page's one script; each may use names from the parts before it.
_SCRIPTS = ("data.js", "map.js", "labels.js", "overlay.js", "panel.js", "summary.js", "page.js")
# More nodes make a browser slow; the page then has a random sample of them.
_MAX_NODES = 200_000


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
    compare: Any = None,
    seed: int = 0,
) -> None:
    """Write an interactive page to explore an embedding: one file that any browser opens, without a network connection.

    The page shows a map of the nodes with the names of categories, with search, zoom and selection; colors by label,
    degree or any column; for a clicked node, its nearest neighbors by cosine and its edges; and what is in a selection.
    The same input gives the same bytes.

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
        embedding, or :class:`Communities`. A data frame has a column named "node", or nodes as its index. Numbers and
        dates get a color scale; integers that repeat, such as community numbers, and all other values are categories.
        Values that are not finite are missing.
    title : str, optional
        Title of the page.
    method : "tsne", "umap" or "pca", optional
        Projection to two dimensions. t-SNE and UMAP (which needs ``umap-learn``) preserve neighborhoods by cosine;
        "pca" (principal components) preserves the largest distances. By default, vectors with one or two dimensions are
        drawn directly; others use t-SNE up to 5,000 nodes, and "pca" beyond. The page says which.
    neighbors : int
        Number of nearest neighbors to store for each node, by cosine. With 100,000 nodes, finding them takes a
        minute; 0 skips it.
    compare : Embedding or fitted estimator, optional
        Another embedding with the same nodes. The page switches between both maps, the second of which is turned and
        scaled to fit the first, lists the neighbors in either, and colors by the fraction of neighbors in common.
    seed : int
        Random seed of t-SNE and UMAP, and of the sample of nodes if there are more than 200,000.

    Raises
    ------
    EmbeddingError, GraphError, EvaluationError
        If the embedding has no nodes, or if the graph, labels or a column share no node with the embedding.
    ImportError
        If plotly is not installed.
    ValueError
        If the file has another suffix than .html or .htm.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "friends.html")
    >>> friends = Embedding([[1, 0], [0.6, 0.8], [0, 2]], ["ann", "bob", "cid"])
    >>> write_page(friends, path, graph=[("ann", "bob"), ("bob", "cid")], columns={"age": [31, 45, 29]})
    >>> path.read_bytes()[:15]
    b'<!doctype html>'
    """
    check_page(path)
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
                compare=compare,
                seed=seed,
            )
        )


def check_page(path: str | os.PathLike[str]) -> None:
    """Refuse a file whose suffix says that it is no page; a name without a suffix, a device or a pipe is the user's.

    Examples
    --------
    >>> check_page("map.html")
    """
    check_types(path=path)
    suffix = next((s for s in reversed(Path(path).suffixes) if s.lower() not in COMPRESSION_MAGIC), "")
    if suffix.lower() not in ("", ".html", ".htm") and (Path(path).is_file() or not Path(path).exists()):
        raise ValueError(f"{path}: a page is HTML, so its name ends in .html, such as {Path(path).stem}.html")


def make_page(  # noqa: PLR0913
    embedding: Any,
    *,
    graph: Any = None,
    labels: Any = None,
    columns: Any = None,
    title: str | None = None,
    method: str | None = None,
    neighbors: int = 10,
    compare: Any = None,
    seed: int = 0,
) -> bytes:
    """Return the page that `write_page` writes."""
    complete = _embedding_of(embedding)
    library = _plotly_source()
    if not is_integer(neighbors) or not 0 <= neighbors <= _MAX_NODES:
        raise ValueError(f"neighbors is an integer from 0 to {_MAX_NODES:,}; got {neighbors!r}")
    seed = check_seed(seed)
    if title is not None:
        check_types(title=title)
    network = None if graph is None else as_graph(graph)
    shown, rows = _sample(complete, seed)
    other = None if compare is None else _matching(_embedding_of(compare), shown)
    page_columns = [_take(column, rows) for column in make_columns(complete, labels, columns, network)]
    if other is not None and neighbors and len(shown) > 1:
        page_columns.insert(0, Numbers("neighbors in common", common_neighbors(shown, other, neighbors), False))
    places = lay_out(shown, method, seed)
    first, second = _map_names(embedding, compare)
    data: dict[str, Any] = {
        "title": "Embedding" if title is None else str(title),
        "total": len(complete),
        "names": _names_as_text(shown),
        "edges": None if network is None else _encode_edges(network, shown),
        "columns": [_encode_column(column) for column in page_columns],
        "maps": [{"name": first} | _encode_map(places, shown, neighbors)],
        "palette": {"light": palette.LIGHT, "dark": palette.DARK},
    }
    if other is not None:
        aligned = align_places(lay_out(other, method, seed), places)
        data["maps"].append({"name": second} | _encode_map(aligned, other, neighbors))
    return _render_page(data, library)


def _sample(embedding: Embedding, seed: int) -> tuple[Embedding, npt.NDArray[np.int64]]:
    """Return the nodes of the page, and their rows: all, or a random sample in the same order."""
    rows = np.arange(len(embedding))
    if len(rows) <= _MAX_NODES:
        return embedding, rows
    rows = np.sort(np.random.default_rng(int(stream_key(seed, 0, "page"))).choice(rows, _MAX_NODES, replace=False))
    return Embedding(embedding.vectors[rows], embedding.names[rows].tolist()), rows


def _matching(other: Embedding, shown: Embedding) -> Embedding:
    """Return the other embedding's vectors of the same nodes, in the same order."""
    missing = [name for name in shown if name not in other]
    if missing:
        raise EmbeddingError(f"both embeddings must have the same nodes; the second has no {missing[0]!r}")
    return other[list(shown)]


def _map_names(first: Any, second: Any) -> tuple[str, str]:
    """Return what the two maps are called: the kinds of their models, if these differ."""
    kinds = [type(source).__name__ for source in (first, second) if not isinstance(source, Embedding)]
    return (kinds[0], kinds[1]) if len(set(kinds)) == 2 else ("First", "Second")


def _take(column: Column, rows: npt.NDArray[np.int64]) -> Column:
    if isinstance(column, Numbers):
        return column._replace(values=column.values[rows])
    return column._replace(codes=column.codes[rows])


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


def _encode_map(layout: Layout, embedding: Embedding, k: int) -> dict[str, Any]:
    x, y = (_encode_array(layout.places[:, axis], "<f4") for axis in (0, 1))
    return {"x": x, "y": y, "about": layout.about, "neighbors": _encode_neighbors(embedding, k)}


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
        kind = {"logScale": column.log_scale, "isDate": column.is_date}
        return {"name": column.name, "values": _encode_array(column.values, "<f8"), **kind}
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
    """Return JSON in ASCII, with an escape for the character that could end a script or begin a comment in HTML."""
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _read_resource(name: str) -> str:
    return (files("efge.explore") / name).read_text("utf-8")


def _digest(source: str) -> str:
    return base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
