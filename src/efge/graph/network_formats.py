"""GraphML, GML and Pajek files -> NetworkX graphs, after checks for what NetworkX would not survive; JSON -> values."""

from __future__ import annotations

import io
import re
from typing import Any

from efge.errors import GraphError, describe_error
from efge.graph.names import all_integers
from efge.io.files import parse_json

# Maximum nesting of XML elements, and maximum length of a line that NetworkX splits.
_MAX_XML_DEPTH, _MAX_PAJEK_LINE_LENGTH = 100, 10_000


def read_graphml(data: bytes) -> Any:
    """Read GraphML."""
    import networkx as nx

    _check_xml(data)
    return nx.read_graphml(io.BytesIO(data), force_multigraph=True)


def _check_xml(data: bytes) -> None:
    """Raise a GraphError for declarations, which can fetch files or expand without end, and for deep nesting."""
    from xml.parsers.expat import ParserCreate

    depth = 0

    def on_declaration(name: str, *_: Any) -> None:
        raise GraphError(f"GraphML declares no types and no entities; line {parser.CurrentLineNumber} does")

    def on_start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _MAX_XML_DEPTH:
            raise GraphError(f"elements are nested at most {_MAX_XML_DEPTH} deep; line {parser.CurrentLineNumber}")
        # NetworkX would add a node named None.
        if name.rpartition(":")[2] == "edge" and not attributes.keys() >= {"source", "target"}:
            raise GraphError(f"line {parser.CurrentLineNumber}: an edge has a source and a target")

    def on_end(name: str) -> None:
        nonlocal depth
        depth -= 1

    parser = ParserCreate()
    parser.StartDoctypeDeclHandler = on_declaration
    parser.EntityDeclHandler = on_declaration
    parser.StartElementHandler = on_start
    parser.EndElementHandler = on_end
    parser.Parse(data, True)


def read_gml(text: str) -> Any:
    """Read GML; nodes are named by their labels, or by their ids if they have none."""
    import networkx as nx

    # NetworkX accepts duplicate edges only in multigraphs; the copies merge later, as in all formats.
    text = re.sub(r"\bgraph\s*\[", "graph [ multigraph 1 ", re.sub(r"\bmultigraph\s+\d", "", text), count=1)
    try:
        return nx.parse_gml(text, label="label")
    except nx.NetworkXError as error:
        if "label" not in str(error):
            raise
        return nx.parse_gml(text, label="id")


def read_pajek(text: str, drop_unit_weights: bool) -> Any:
    """Read a Pajek network; `drop_unit_weights` removes the weights if all are 1."""
    import networkx as nx

    vertices = re.search(r"^\s*\*vertices\s+(\d+)", text, re.MULTILINE | re.IGNORECASE)
    if vertices is None:
        raise GraphError("a Pajek network starts with *Vertices and their number")
    _check_pajek_edges(text)
    graph = nx.parse_pajek(text)
    if len(graph) != int(vertices[1]):
        raise GraphError(
            f"a Pajek network names each vertex once; *Vertices says {vertices[1]}, there are {len(graph)}"
        )
    if drop_unit_weights and all(weight == 1 for *_, weight in graph.edges(data="weight", default=1)):
        # NetworkX adds a weight of 1 to edges without one.
        nx.set_edge_attributes(graph, None, "weight")
    return graph


def _check_pajek_edges(text: str) -> None:
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("*"):
            section = line.split()[0].lower()
        elif section in ("*edges", "*arcs") and len(line.split()) == 1 and not line.lstrip().startswith("%"):
            raise GraphError(f"line {number}: an edge has two nodes; got {line.strip()[:80]!r}")
        if section != "*matrix" and len(line) > _MAX_PAJEK_LINE_LENGTH:
            # NetworkX's time grows with the square of the length.
            limit = f"{_MAX_PAJEK_LINE_LENGTH:,} characters at most"
            raise GraphError(f"line {number}: a line has {limit}; got {len(line):,}")


def read_json(text: str) -> Any:
    """Read JSON; text with one value on each line is a list of these values."""
    try:
        return _with_integer_keys(parse_json(text))
    except ValueError:
        if "\n" not in text.strip():
            raise
        return read_json_lines(text)


def _with_integer_keys(value: Any) -> Any:
    """Return neighbors of each node with integers as keys if all neighbors are integers: keys of JSON are text."""
    if not isinstance(value, dict) or not all_integers(value):
        return value
    if not all(isinstance(names, list) and all(type(name) is int for name in names) for names in value.values()):
        return value
    return {int(key): names for key, names in value.items()}


def read_json_lines(text: str) -> list[Any]:
    """Read text with one value on each line."""
    values = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                values.append(parse_json(line))
            except ValueError as error:
                raise GraphError(f"line {number}: this is not valid JSON: {describe_error(error)}") from None
    if not values:
        raise GraphError("a graph has at least one edge; the file is empty")
    return values
