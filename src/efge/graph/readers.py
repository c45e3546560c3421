"""Files -> Graph, by suffix or by a given format; every error names the file, and the line if there are lines."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from efge.errors import GraphError, check_types, describe_error
from efge.graph.build import graph_from_edges
from efge.graph.columns import Columns
from efge.graph.conversion import ConversionOptions, ReadingRecord, warn_of_times
from efge.graph.encoders import FieldEncoder
from efge.graph.graph import Graph
from efge.graph.kinds import NO_FURTHER_NODES, refuse_bipartite, resolve_kinds
from efge.graph.mapped import MAGIC, TEXT
from efge.graph.matrices import read_matlab_graph, read_matrix_market, read_sparse_archive
from efge.graph.names import list_names, parse_names
from efge.graph.network_formats import read_gml, read_graphml, read_json, read_json_lines, read_pajek
from efge.graph.objects import graph_from_object
from efge.graph.portrait import warn_about_names
from efge.graph.text_edges import (
    EdgeChunk,
    concatenate_edges,
    read_adjacency_list,
    read_edge_list,
    read_node_names,
)
from efge.graph.text_layout import TextFormat, explain_archive
from efge.graph.text_lines import TextSource
from efge.graph.text_numbers import NumberFormat
from efge.io.arrow import read_arrow, read_parquet
from efge.io.files import COMPRESSION_MAGIC, display_name, open_input, recode_to_utf8, starts_with

_Path = str | os.PathLike[str]

# The number of nodes that a sparse matrix claims costs no bytes: up to this many are accepted, or per byte of the file.
_MAX_UNCHECKED_NODES, _MAX_NODES_PER_BYTE = 1_000_000, 10


@dataclass(frozen=True)
class ReadOptions:
    """The options of :func:`read_graph`, which describes them."""

    nodes: _Path | Iterable[Hashable] | None = None
    weighted: bool | None = None
    directed: bool | None = None
    format: str | None = None
    delimiter: str | None = None
    comments: str = "#%"
    header: bool | None = None
    source: str | int | None = None
    target: str | int | None = None
    weight: str | int | None = None
    key: str | None = None
    encoding: str = "utf-8"
    drop_self_loops: bool = False
    names: _Path | Iterable[Hashable] | None = None
    decimal: str = "."
    thousands: str | None = None
    skip_bad: bool = False
    skip_lines: int = 0
    bipartite: bool | None = None
    count_duplicates: bool = False
    record: ReadingRecord = field(default_factory=ReadingRecord)

    @property
    def conversion(self) -> ConversionOptions:
        """The options that apply to objects too; nodes and names, which may be in files, are not among them."""
        columns = Columns(self.source, self.target, self.weight, self.weighted)
        return ConversionOptions(
            self.directed,
            columns,
            drop_self_loops=self.drop_self_loops,
            record=self.record,
            bipartite=self.bipartite,
            count_duplicates=self.count_duplicates,
        ).resolved()


class GraphSource(NamedTuple):
    """An open, decompressed file, and how to read it; text is read in chunks of about `chunk_size` bytes."""

    stream: BinaryIO
    path: _Path
    format: str
    nodes: TextSource | Iterable[Hashable] | None
    options: ReadOptions
    chunk_size: int | None

    @property
    def label(self) -> str:
        """The name of the file in messages."""
        return display_name(self.path)

    @property
    def text(self) -> TextSource:
        """The file as text."""
        stream = recode_to_utf8(self.stream, self.options.encoding, self.label)
        return TextSource(stream, self.label, self.options.comments, self.chunk_size, self.options.skip_lines)


def read_graph(  # noqa: PLR0913
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
    names: _Path | Iterable[Hashable] | None = None,
    decimal: str = ".",
    thousands: str | None = None,
    skip_bad: bool = False,
    skip_lines: int = 0,
    bipartite: bool | None = None,
    count_duplicates: bool = False,
) -> Graph:
    r"""Read a graph from a file.

    Duplicate edges merge and their weights add up; in an undirected graph (u, v) and (v, u) are the same edge. Names
    are integers if every name in the file is an integer, and text as written otherwise.

    Parameters
    ----------
    path : path, or "-"
        A file, decompressed on the way if it is compressed by gzip, bzip2, xz or Zstandard; "-" is standard input.
    nodes : path or iterable of names, optional
        Further nodes, which may have no edge: names, or a file with one name per line. They come before the nodes of a
        list of edges, and after those of formats that list their nodes themselves.
    weighted : bool, optional
        Whether to read weights; by default, if there are any.
    directed : bool, optional
        Whether (u, v) differs from (v, u); by default as the file says, and undirected if it does not say.
    format : str, optional
        One of edgelist, adjlist, csv, tsv, json, jsonl, parquet, arrow, feather, graphml, gml, pajek, mat, npz, mtx,
        efge; by default from the suffix, and edgelist for any other suffix. JSON is a list of edges, a dict of
        neighbors, or node-link data. A file that :func:`efge.convert_graph` wrote is recognized by its first bytes, and
        mapped.
    delimiter : str, optional
        The separator of fields in text: a character, or "whitespace"; by default it is detected from the first line.
    comments : str
        Lines that start with one of these characters of ASCII are skipped; "" if there are no comments.
    header : bool, optional
        Whether the first line names the columns; by default, if it looks like a header.
    source, target, weight : str or int, optional
        Columns by name or by number from 0; for GraphML, GML and Pajek, `weight` is the name of an edge attribute.
    key : str, optional
        The name of the matrix in a .mat file that has several.
    encoding : str
        The encoding of text.
    drop_self_loops : bool
        Whether to drop edges from a node to itself.
    names : path or iterable of names, optional
        Names of the rows of a matrix (mat, npz, mtx), in their order: names, or a file with one name per line.
    decimal : str
        The decimal mark of weights in text, such as ",". Currency signs are ignored.
    thousands : str, optional
        The mark between thousands of weights in text, such as "," or ".".
    skip_bad : bool
        Whether to leave out lines of text that are not an edge, and list them in a warning; otherwise, they are errors.
    skip_lines : int
        Number of lines above a table of edges, such as its title, that are not read.
    bipartite : bool, optional
        Whether the two columns have two kinds of nodes, such as users and items, see :func:`efge.as_graph`.
    count_duplicates : bool
        Whether the weight of an edge is how often it is listed; weights in the file are not read then.

    Returns
    -------
    Graph

    Raises
    ------
    GraphError
        If the file does not exist, cannot be read, or is not valid; the message states file, line and rule.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "friends.csv")
    >>> _ = path.write_text("from,to,weight\nann,bob,2\nbob,cid,0.5\n")
    >>> read_graph(path)
    Graph(3 nodes, 2 edges, undirected, weighted, 0 isolated)
    """
    options = ReadOptions(
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
        names=names,
        decimal=decimal,
        thousands=thousands,
        skip_bad=skip_bad,
        skip_lines=skip_lines,
        bipartite=bipartite,
        count_duplicates=count_duplicates,
    )
    graph = read_with_options(path, options)
    warn_about_names(display_name(path), graph, options.record)
    return graph


def read_with_options(path: _Path, options: ReadOptions) -> Graph:
    """Read a graph; the record of the options tells what was read and guessed."""
    with open_graph_source(path, options) as file:
        return _FORMATS[file.format](file)


def _check_options(file: GraphSource) -> GraphSource:
    """Return the source; raise a GraphError if it has options that its format does not have."""
    options, is_text = file.options, file.format in _TEXT_FORMATS
    if options.names is not None and file.format not in _MATRIX_FORMATS:
        raise GraphError(f"{file.label}: names= (--names) labels the rows of a matrix; {file.format} has names")
    marks = NumberFormat(options.decimal, options.thousands)
    if not is_text and (options.skip_bad or options.skip_lines or marks != NumberFormat()):
        rule = "skip_bad, skip_lines, decimal and thousands are for edges as delimited text"
        raise GraphError(f"{file.label}: {rule}; this is {file.format}, so correct its edges, or write them as CSV")
    if not options.comments.isascii():
        # Lines are compared byte by byte, and other characters begin with the same bytes.
        raise GraphError(f"{file.label}: comments begin with characters of ASCII; got comments={options.comments!r}")
    if file.format == "adjlist":
        refuse_bipartite(options.bipartite)
        options.conversion.refuse_counts()
    if options.bipartite and file.nodes is not None:
        raise GraphError(f"{file.label}: {NO_FURTHER_NODES}")
    return file


@contextmanager
def open_graph_source(path: _Path, options: ReadOptions, chunk_size: int | None = None) -> Iterator[GraphSource]:
    """Open a graph's file, and the file of its nodes if there is one."""
    check_types(path=path, **vars(options))
    requested = None if options.format is None else _check_format(options.format)
    with ExitStack() as stack:
        nodes: TextSource | Iterable[Hashable] | None = None
        if isinstance(options.nodes, (str, os.PathLike)):
            label = display_name(options.nodes)
            node_stream = recode_to_utf8(stack.enter_context(open_input(options.nodes)), options.encoding, label)
            nodes = TextSource(node_stream, label, options.comments, chunk_size)
        elif options.nodes is not None:
            nodes = list_names("nodes", options.nodes)
        stream = stack.enter_context(open_input(path))
        detected = "efge" if starts_with(stream, MAGIC) else _format_of_suffix(display_name(path))
        if requested is None and detected in _TEXT_FORMATS and starts_with(stream, b"PK\x03\x04"):
            raise GraphError(explain_archive(display_name(path)))
        yield _check_options(GraphSource(stream, path, requested or detected, nodes, options, chunk_size))


def _check_format(name: str) -> str:
    if name.lower() not in _FORMATS:
        raise GraphError(f"no format {name!r}; known: {', '.join(_FORMATS)}")
    return name.lower()


def _format_of_suffix(label: str) -> str:
    suffixes = [suffix.lower() for suffix in Path(label).suffixes if suffix.lower() not in COMPRESSION_MAGIC]
    name = _SUFFIXES.get(suffixes[-1], suffixes[-1][1:]) if suffixes else ""
    return name if name in _FORMATS else "edgelist"


def read_edge_chunks(file: GraphSource, encoder: FieldEncoder) -> Iterator[EdgeChunk]:
    """Read the edges of a text in chunks; the encoder learns the names on the way."""
    options = file.options
    numbers = NumberFormat(options.decimal, options.thousands).check()
    text_format = TextFormat(options.delimiter, options.header, numbers, options.skip_bad)
    if file.format == "adjlist":
        if options.weighted:
            raise GraphError(f"{file.label}: an adjacency list has no weights; do not pass weighted")
        return read_adjacency_list(file.text, text_format, file.nodes, encoder)
    if file.format not in ("edgelist", "csv", "tsv"):
        raise GraphError(
            f"{file.label}: only text (edgelist, csv, tsv, adjlist) can be converted; this is {file.format}"
        )
    tab = "\t" if file.format == "tsv" else None
    text_format = text_format._replace(delimiter=text_format.delimiter or tab)
    chunks = read_edge_list(file.text, text_format, options.conversion.columns, file.nodes, encoder, options.record)
    return ((ends, np.ones(len(ends))) for ends, _ in chunks) if options.count_duplicates else chunks


def _read_text(file: GraphSource) -> Graph:
    encoder, options = FieldEncoder(), file.options
    edges = concatenate_edges(encoder, read_edge_chunks(file, encoder))
    ends, names = resolve_kinds(edges.ends, edges.names, options.record.columns, options.bipartite)
    edges = edges._replace(ends=ends, names=names)
    warn_of_times(edges.weights, options.conversion)
    try:
        return graph_from_edges(*edges, directed=bool(options.directed), drop_self_loops=options.drop_self_loops)
    except GraphError as error:
        raise GraphError(f"{file.label}: {error}") from None


def _object_reader(kind: str, load: Callable[[GraphSource], Any]) -> Callable[[GraphSource], Graph]:
    """Return a reader for a format that is first loaded as an object of another library."""

    def read(file: GraphSource) -> Graph:
        nodes = read_node_names(file.nodes) if isinstance(file.nodes, TextSource) else file.nodes
        with _translate_errors(file, kind):
            with warnings.catch_warnings():
                # Our users cannot act on the warnings of a library that they do not call.
                warnings.simplefilter("ignore")
                loaded = load(file)
            named_by_text = kind in _NAMED_BY_TEXT
            if nodes is not None and not named_by_text and not _has_text_columns(loaded):
                nodes = parse_names([str(name) for name in nodes]).tolist()
            names = _read_names(file.options)
            graph = graph_from_object(loaded, replace(file.options.conversion, nodes=nodes, names=names))
            return _parse_graph_names(graph) if named_by_text else graph

    return read


def _read_names(options: ReadOptions) -> list[Hashable] | None:
    """Return the names of a matrix's rows; in a file, they are integers if all are."""
    if options.names is None or not isinstance(options.names, (str, os.PathLike)):
        return None if options.names is None else list_names("names", options.names)
    label = display_name(options.names)
    with open_input(options.names) as stream:
        texts = read_node_names(TextSource(recode_to_utf8(stream, options.encoding, label), label, options.comments))
    names: list[Hashable] = parse_names(texts).tolist()
    return names


@contextmanager
def _translate_errors(file: GraphSource, kind: str) -> Iterator[None]:
    """Raise the errors of other libraries as GraphErrors that name the file."""
    try:
        yield
    except GraphError as error:
        raise error if str(error).startswith(file.label) else GraphError(f"{file.label}: {error}") from None
    except MemoryError as error:
        # Arrow allocates as much as a file claims to need.
        if type(error).__name__ != "ArrowMemoryError":
            raise
        raise GraphError(f"{file.label}: the file needs more memory than there is: {error}") from None
    except ModuleNotFoundError as error:
        raise GraphError(f"{file.label}: reading {kind} needs {error.name}: pip install 'efge[{error.name}]'") from None
    except Exception as error:
        raise GraphError(f"{file.label}: not a valid {kind} file: {describe_error(error)}") from None


# Formats whose names are text. As in every text, names are integers if all are.
_NAMED_BY_TEXT = ("GraphML", "GML", "Pajek")


def _has_text_columns(loaded: Any) -> bool:
    if isinstance(loaded, Graph):
        return loaded._file is not None and loaded._file.header.names == TEXT
    return any("string" in str(column) for column in getattr(getattr(loaded, "schema", None), "types", ()))


def _parse_graph_names(graph: Graph) -> Graph:
    names = graph.names.tolist()
    if not all(isinstance(name, str) for name in names):
        return graph
    return Graph._from_valid(graph.indptr, graph.indices, graph.weights, parse_names(names), graph.directed)


def _read_bytes(file: GraphSource) -> bytes:
    data = file.stream.read()
    if not data:
        raise GraphError(f"{file.label}: a graph has at least one edge; the file is empty")
    return data


def _load_parquet(file: GraphSource) -> Any:
    import pyarrow

    # Arrow's threads may outlive the interpreter, and must not hold a Python file then.
    return read_parquet(pyarrow.BufferReader(_read_bytes(file)), file.label)


def _load_arrow(file: GraphSource) -> Any:
    return read_arrow(_read_bytes(file), file.label)


def _load_pajek(file: GraphSource) -> Any:
    options = file.options
    return read_pajek(_read_string(file), drop_unit_weights=options.weight is None and options.weighted is None)


def _read_string(file: GraphSource) -> str:
    return file.text.stream.read().decode()


def _matrix_reader(kind: str, load: Callable[[bytes, GraphSource], Any]) -> Callable[[GraphSource], Graph]:
    """Return a reader for a format of matrices, which checks the size of the matrix against that of the file."""

    def load_checked(file: GraphSource) -> Any:
        data = _read_bytes(file)
        matrix = load(data, file)
        limit = max(_MAX_UNCHECKED_NODES, _MAX_NODES_PER_BYTE * len(data))
        if max(matrix.shape) > limit:
            raise GraphError(f"a matrix in a file of this size has {limit:,} rows at most; got {max(matrix.shape):,}")
        return matrix

    return _object_reader(kind, load_checked)


_FORMATS: dict[str, Callable[[GraphSource], Graph]] = {
    "edgelist": _read_text,
    "csv": _read_text,
    "tsv": _read_text,
    "adjlist": _read_text,
    "json": _object_reader("JSON", lambda file: read_json(_read_string(file))),
    "jsonl": _object_reader("JSON lines", lambda file: read_json_lines(_read_string(file))),
    "parquet": _object_reader("Parquet", _load_parquet),
    "arrow": _object_reader("Arrow", _load_arrow),
    "feather": _object_reader("Feather", _load_arrow),
    "graphml": _object_reader("GraphML", lambda file: read_graphml(_read_bytes(file))),
    "gml": _object_reader("GML", lambda file: read_gml(_read_string(file))),
    "pajek": _object_reader("Pajek", _load_pajek),
    "mat": _matrix_reader("Matlab", lambda data, file: read_matlab_graph(data, file.label, file.options.key)),
    "npz": _matrix_reader("SciPy .npz", lambda data, file: read_sparse_archive(data, file.label)),
    "mtx": _matrix_reader(
        "Matrix Market", lambda data, file: read_matrix_market(TextSource(io.BytesIO(data), file.label))
    ),
    "efge": _object_reader("converted", lambda file: Graph.open(file.path)),
}
_TEXT_FORMATS = ("edgelist", "csv", "tsv", "adjlist")
_MATRIX_FORMATS = ("mat", "npz", "mtx")
_SUFFIXES = {".ndjson": "jsonl", ".pq": "parquet", ".ipc": "arrow", ".net": "pajek", ".adj": "adjlist", ".mm": "mtx"}
