"""Files -> Graph, by suffix or by a given format; every message names the file, and the line where there are lines."""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from efge.errors import GraphError, reason_of
from efge.graph.columns import Columns
from efge.graph.graph import Graph, graph_from_edges
from efge.graph.mapped import MARK, TEXT
from efge.graph.matrices import read_matrix_market, read_sparse_archive
from efge.graph.names import FieldNames, names_of
from efge.graph.objects import Reading, graph_from_object
from efge.graph.text_edges import Piece, TextFormat, adjacency_list, edge_list, read_node_names, together
from efge.graph.text_lines import TextSource
from efge.io.arrow import read_arrow, read_parquet
from efge.io.files import PACKED, begins_with, in_utf8, label_of, opened
from efge.io.matlab import read_matlab

_Path = str | os.PathLike[str]

# Elements of XML that stand in each other, and characters of a line that NetworkX splits.
_DEEPEST_XML, _LONGEST_PAJEK_LINE = 100, 10_000
# A sparse matrix says how many nodes there are, at no cost: so many are believed, or so many for each byte of the file.
_MOST_NODES, _MOST_NODES_A_BYTE = 1_000_000, 10


class GraphSource(NamedTuple):
    """An open, unpacked file and all that was asked about reading it."""

    stream: BinaryIO
    path: _Path
    format: str
    nodes: TextSource | Iterable[Hashable] | None
    reading: Reading
    written: TextFormat
    key: str | None
    comments: str
    encoding: str
    block: int | None

    @property
    def label(self) -> str:
        """What messages call it."""
        return label_of(self.path)

    @property
    def text(self) -> TextSource:
        """The file as text."""
        return TextSource(in_utf8(self.stream, self.encoding, self.label), self.label, self.comments, self.block)


def read_graph(
    path: _Path,
    *,
    nodes: _Path | Iterable[Hashable] | None = None,
    weighted: bool | None = None,
    directed: bool | None = None,
    format: str | None = None,  # noqa: A002
    delimiter: str | None = None,
    comments: str = "#%",
    header: bool | None = None,
    source: str | int | None = None,
    target: str | int | None = None,
    weight: str | int | None = None,
    key: str | None = None,
    encoding: str = "utf-8",
    drop_self_loops: bool = False,
) -> Graph:
    r"""Read a graph from a file.

    Duplicate edges merge and their weights add up; in an undirected graph (u, v) and (v, u) are one edge. Names are
    integers if every name in the file is one, and text as it is written otherwise.

    Parameters
    ----------
    path : path, or "-"
        A file, unpacked on the way if it is packed by gzip, bzip2, xz or Zstandard; "-" is standard input.
    nodes : path or iterable of names, optional
        Names of nodes, a line each, of which some may have no edge. In front of the nodes of a list of edges, behind
        those of formats that list their nodes themselves.
    weighted : bool, optional
        Whether to read weights; by default, if there are any.
    directed : bool, optional
        Whether (u, v) differs from (v, u); by default as the file says, and undirected where it does not say.
    format : str, optional
        One of edgelist, adjlist, csv, tsv, parquet, arrow, feather, graphml, gml, pajek, mat, npz, mtx, efge; by
        default from the suffix, and edgelist for any other suffix. A graph that :func:`efge.convert_graph` has written
        is known by its first bytes, and mapped.
    delimiter : str, optional
        What stands between fields of text: a character, or "whitespace"; by default as the first line looks.
    comments : str
        A line that begins with one of these characters is passed over; "" if there are no comments.
    header : bool, optional
        Whether the first line names the columns; by default, if it looks like it.
    source, target, weight : str or int, optional
        Columns by name or by number from 0; the name of an edge attribute for GraphML, GML and Pajek.
    key : str, optional
        The name of the matrix in a .mat file that holds several.
    encoding : str
        How text is encoded.
    drop_self_loops : bool
        Leave out edges from a node to itself.

    Returns
    -------
    Graph

    Raises
    ------
    GraphError
        If the file is not there, not readable, or breaks a rule; the message names file, line and rule.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "friends.csv")
    >>> _ = path.write_text("from,to,weight\nann,bob,2\nbob,cid,0.5\n")
    >>> read_graph(path)
    Graph(3 nodes, 2 edges, undirected, weighted, 0 isolated)
    """
    with opened_graph(
        path,
        nodes=nodes,
        weighted=weighted,
        directed=directed,
        format=format,
        delimiter=delimiter,
        comments=comments,
        header=header,
        source=source,
        target=target,
        weight=weight,
        key=key,
        encoding=encoding,
        drop_self_loops=drop_self_loops,
    ) as file:
        return _FORMATS[file.format](file)


@contextmanager
def opened_graph(
    path: _Path,
    *,
    nodes: _Path | Iterable[Hashable] | None = None,
    weighted: bool | None = None,
    directed: bool | None = None,
    format: str | None = None,  # noqa: A002
    delimiter: str | None = None,
    comments: str = "#%",
    header: bool | None = None,
    source: str | int | None = None,
    target: str | int | None = None,
    weight: str | int | None = None,
    key: str | None = None,
    encoding: str = "utf-8",
    drop_self_loops: bool = False,
    block: int | None = None,
) -> Iterator[GraphSource]:
    """A file of a graph, opened, with all that :func:`read_graph` is asked about it, and the bytes to read at once."""
    given = None if format is None else _known(format)
    with ExitStack() as stack:
        node_names: TextSource | Iterable[Hashable] | None = None
        if isinstance(nodes, (str, os.PathLike)):
            node_stream = in_utf8(stack.enter_context(opened(nodes)), encoding, label_of(nodes))
            node_names = TextSource(node_stream, label_of(nodes), comments, block)
        elif nodes is not None:
            node_names = list(nodes)
        stream = stack.enter_context(opened(path))
        columns = Columns(source, target, weight, weighted)
        reading = Reading(directed, columns, drop_self_loops=drop_self_loops)
        written = TextFormat(delimiter, header)
        kind = given or ("efge" if begins_with(stream, MARK) else _by_suffix(label_of(path)))
        yield GraphSource(stream, path, kind, node_names, reading, written, key, comments, encoding, block)


def _known(given: str) -> str:
    if given.lower() not in _FORMATS:
        raise GraphError(f"no format {given!r}; known: {', '.join(_FORMATS)}")
    return given.lower()


def _by_suffix(label: str) -> str:
    suffixes = [suffix.lower() for suffix in Path(label).suffixes if suffix.lower() not in PACKED]
    kind = _SUFFIXES.get(suffixes[-1], suffixes[-1][1:]) if suffixes else ""
    return kind if kind in _FORMATS else "edgelist"


def edge_pieces(file: GraphSource, names: FieldNames) -> Iterator[Piece]:
    """The edges of a text, some at a time; their nodes are numbered on the way."""
    if file.format == "adjlist":
        if file.reading.weighted:
            raise GraphError(f"{file.label}: an adjacency list has no weights; leave out weighted")
        return adjacency_list(file.text, file.written, file.nodes, names)
    if file.format not in ("edgelist", "csv", "tsv"):
        raise GraphError(
            f"{file.label}: edges are taken from text (edgelist, csv, tsv, adjlist); this is {file.format}"
        )
    tabs = "\t" if file.format == "tsv" else None
    written = file.written._replace(delimiter=file.written.delimiter or tabs)
    return edge_list(file.text, written, file.reading.columns, file.nodes, names)


def _read_text(file: GraphSource) -> Graph:
    names, reading = FieldNames(), file.reading
    edges = together(names, edge_pieces(file, names))
    try:
        return graph_from_edges(*edges, directed=bool(reading.directed), drop_self_loops=reading.drop_self_loops)
    except GraphError as error:
        raise GraphError(f"{file.label}: {error}") from None


def _object_reader(kind: str, load: Callable[[GraphSource], Any]) -> Callable[[GraphSource], Graph]:
    """A reader for a format that a library loads as an object of its own."""

    def read(file: GraphSource) -> Graph:
        nodes = read_node_names(file.nodes) if isinstance(file.nodes, TextSource) else file.nodes
        try:
            with warnings.catch_warnings():
                # What a library says to its own users is nothing that ours could act on.
                warnings.simplefilter("ignore")
                loaded = load(file)
            in_text = kind in _NAMED_BY_TEXT
            if nodes is not None and not in_text and not _has_text_columns(loaded):
                nodes = names_of([str(name) for name in nodes]).tolist()
            graph = graph_from_object(loaded, replace(file.reading, nodes=nodes))
            return _with_plain_names(graph) if in_text else graph
        except GraphError as error:
            raise error if str(error).startswith(file.label) else GraphError(f"{file.label}: {error}") from None
        except MemoryError as error:
            # Arrow asks for as much as a file says it needs.
            claimed = type(error).__name__ == "ArrowMemoryError"
            raise (
                GraphError(f"{file.label}: it needs more memory than there is: {error}") if claimed else error
            ) from None
        except ModuleNotFoundError as error:
            extra = error.name
            raise GraphError(f"{file.label}: reading {kind} needs {extra}: pip install 'efge[{extra}]'") from None
        except Exception as error:
            raise GraphError(f"{file.label}: not a {kind} file that can be read: {reason_of(error)}") from None

    return read


# Formats whose names are text; in them as in every text, names that are all integers are integers.
_NAMED_BY_TEXT = ("GraphML", "GML", "Pajek")


def _has_text_columns(loaded: Any) -> bool:
    if isinstance(loaded, Graph):
        return loaded._file is not None and loaded._file.heading.names == TEXT
    return any("string" in str(column) for column in getattr(getattr(loaded, "schema", None), "types", ()))


def _with_plain_names(graph: Graph) -> Graph:
    names = graph.names.tolist()
    if not all(isinstance(name, str) for name in names):
        return graph
    return Graph._of_valid(graph.indptr, graph.indices, graph.weights, names_of(names), graph.directed)


def _bytes(file: GraphSource) -> io.BytesIO:
    data = file.stream.read()
    if not data:
        raise GraphError(f"{file.label}: a graph has at least one edge; the file is empty")
    return io.BytesIO(data)


def _load_parquet(file: GraphSource) -> Any:
    import pyarrow

    # Arrow's threads may outlive the interpreter and must then hold no file of Python's.
    return read_parquet(pyarrow.BufferReader(_bytes(file).getbuffer()), file.label)


def _load_arrow(file: GraphSource) -> Any:
    return read_arrow(_bytes(file).getvalue(), file.label)


def _load_graphml(file: GraphSource) -> Any:
    import networkx as nx

    data = _bytes(file)
    _check_xml(data.getvalue())
    return nx.read_graphml(data, force_multigraph=True)


def _check_xml(data: bytes) -> None:
    """Refuse what no graph needs: declarations, which can fetch files or grow without end, and endless nesting."""
    from xml.parsers.expat import ParserCreate

    depth = 0

    def declared(name: str, *_: Any) -> None:
        raise GraphError(f"GraphML declares no types and no entities; line {parser.CurrentLineNumber} does")

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST_XML:
            raise GraphError(
                f"elements stand in each other {_DEEPEST_XML} deep at most; line {parser.CurrentLineNumber}"
            )
        # NetworkX would make a node called None.
        if name.rpartition(":")[2] == "edge" and not attributes.keys() >= {"source", "target"}:
            raise GraphError(f"line {parser.CurrentLineNumber}: an edge has a source and a target")

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1

    parser = ParserCreate()
    parser.StartDoctypeDeclHandler = declared
    parser.EntityDeclHandler = declared
    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.Parse(data, True)


def _load_gml(file: GraphSource) -> Any:
    import networkx as nx

    text = file.text.stream.read().decode()
    # Only a multigraph may have an edge twice; its copies merge as everywhere.
    text = re.sub(r"\bgraph\s*\[", "graph [ multigraph 1 ", re.sub(r"\bmultigraph\s+\d", "", text), count=1)
    try:
        return nx.parse_gml(text, label="label")
    except nx.NetworkXError as error:
        if "label" not in str(error):
            raise
        return nx.parse_gml(text, label="id")


def _load_pajek(file: GraphSource) -> Any:
    import networkx as nx

    text = file.text.stream.read().decode()
    vertices = re.search(r"^\s*\*vertices\s+(\d+)", text, re.MULTILINE | re.IGNORECASE)
    if vertices is None:
        raise GraphError("a Pajek network begins with *Vertices and their number")
    _check_pajek_edges(text)
    graph = nx.parse_pajek(text)
    if len(graph) != int(vertices[1]):
        raise GraphError(
            f"a Pajek network names each vertex once; *Vertices says {vertices[1]}, there are {len(graph)}"
        )
    said = file.reading.weight is not None or file.reading.weighted is not None
    if not said and all(weight == 1 for *_, weight in graph.edges(data="weight", default=1)):
        # NetworkX puts a weight of 1 where the file has none.
        nx.set_edge_attributes(graph, None, "weight")
    return graph


def _check_pajek_edges(text: str) -> None:
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("*"):
            section = line.split()[0].lower()
        elif section in ("*edges", "*arcs") and len(line.split()) == 1 and not line.lstrip().startswith("%"):
            raise GraphError(f"line {number}: an edge has two ends; got {line.strip()[:80]!r}")
        if section != "*matrix" and len(line) > _LONGEST_PAJEK_LINE:
            # NetworkX needs the square of their number.
            raise GraphError(f"line {number}: a line has {_LONGEST_PAJEK_LINE:,} characters at most; got {len(line):,}")


def _load_mat(file: GraphSource) -> Any:
    from scipy.sparse import issparse

    found = read_matlab(_bytes(file).getvalue(), file.label)
    problem = found.get("Problem")
    found = {key: value for key, value in found.items() if not isinstance(value, dict)}
    if isinstance(problem, dict) and "A" in problem:
        found["Problem"] = problem["A"]
    if file.key is not None:
        if file.key not in found:
            raise GraphError(f"{file.label}: no matrix {file.key!r}; there are: {', '.join(found)}")
        return found[file.key]
    square = {
        key: value
        for key, value in found.items()
        if value.ndim == 2 and value.shape[0] == value.shape[1] > 1 and value.dtype.kind in "biuf"
    }
    sparse = {key: value for key, value in square.items() if issparse(value)}
    chosen = sparse if len(sparse) == 1 else square
    if len(chosen) != 1:
        keys = ", ".join(chosen) or "none"
        raise GraphError(f"{file.label}: give the key of one square matrix, as key='network'; there are: {keys}")
    return next(iter(chosen.values()))


def _load_npz(file: GraphSource) -> Any:
    return read_sparse_archive(_bytes(file).getvalue(), file.label)


def _load_matrix_market(file: GraphSource) -> Any:
    return read_matrix_market(TextSource(_bytes(file), file.label))


def _matrix_reader(kind: str, load: Callable[[GraphSource], Any]) -> Callable[[GraphSource], Graph]:
    """A reader for a format of matrices, whose size is held against that of the file."""

    def checked(file: GraphSource) -> Any:
        data = _bytes(file)
        matrix = load(file._replace(stream=data))
        most = max(_MOST_NODES, _MOST_NODES_A_BYTE * len(data.getvalue()))
        if max(matrix.shape) > most:
            raise GraphError(f"a matrix in a file of this size has {most:,} rows at most; got {max(matrix.shape):,}")
        return matrix

    return _object_reader(kind, checked)


_FORMATS: dict[str, Callable[[GraphSource], Graph]] = {
    "edgelist": _read_text,
    "csv": _read_text,
    "tsv": _read_text,
    "adjlist": _read_text,
    "parquet": _object_reader("Parquet", _load_parquet),
    "arrow": _object_reader("Arrow", _load_arrow),
    "feather": _object_reader("Feather", _load_arrow),
    "graphml": _object_reader("GraphML", _load_graphml),
    "gml": _object_reader("GML", _load_gml),
    "pajek": _object_reader("Pajek", _load_pajek),
    "mat": _matrix_reader("Matlab", _load_mat),
    "npz": _matrix_reader("SciPy .npz", _load_npz),
    "mtx": _matrix_reader("Matrix Market", _load_matrix_market),
    "efge": _object_reader("converted", lambda file: Graph.open(file.path)),
}
_SUFFIXES = {".pq": "parquet", ".ipc": "arrow", ".net": "pajek", ".adj": "adjlist", ".mm": "mtx"}
