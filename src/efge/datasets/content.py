"""The content of a data set, independent of the publisher's format, and the plain files in which it is cached.

Nodes and classes are numbers, as in the publisher's file, and may have names. Nodes are sorted by number, so the same
data set gives exactly the same graph, whatever the order in its file.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.datasets.catalogue import DatasetError
from efge.graph.build import graph_from_edges
from efge.graph.graph import Graph, check_weights
from efge.graph.names import name_array, parse_names
from efge.io.atomic import atomic_write

Integers = npt.NDArray[np.int64]

EDGES = "edges.tsv"
_NODES, _LABELS, _CLASS_NAMES, _NODE_NAMES = "nodes.txt", "labels.tsv", "label_names.tsv", "names.tsv"


class Content(NamedTuple):
    """A graph with numbered nodes, the classes of its nodes, and the names of classes and nodes."""

    graph: Graph
    classes: Mapping[int, tuple[int, ...]] = {}
    class_names: Mapping[int, str | int] = {}
    node_names: Mapping[int, str] = {}


def make_graph(nodes: Integers, edges: Integers, weights: npt.NDArray[np.float64] | None = None) -> Graph:
    """Return the undirected graph of numbered nodes, sorted by number, and the edges between them."""
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise DatasetError(f"an edge has two nodes; got {edges.shape[-1]} columns")
    numbers = np.unique(nodes)
    if len(numbers) < len(nodes):
        raise DatasetError(f"each node must be listed once; {len(nodes):,} lines list {len(numbers):,} nodes")
    rows = np.minimum(np.searchsorted(numbers, edges), max(len(numbers) - 1, 0))
    unknown = edges[numbers[rows] != edges] if len(numbers) else edges.ravel()
    if len(unknown):
        raise DatasetError(f"both nodes of an edge must be listed; node {unknown[0]} is not")
    if weights is not None:
        check_weights(weights, "edge {}")
    return graph_from_edges(rows.astype(np.int32), weights, name_array(numbers), directed=False)


def group_classes(memberships: Iterable[Iterable[int]]) -> dict[int, tuple[int, ...]]:
    """Return the classes of each node, from pairs of a node and a class."""
    classes: dict[int, set[int]] = {}
    for node, number in memberships:
        classes.setdefault(node, set()).add(number)
    return {node: tuple(sorted(classes[node])) for node in sorted(classes)}


def parse_table(data: bytes, dtype: type[Any] = np.int64, *, delimiter: str | None = None, columns: Any = None) -> Any:
    """Parse rows of numbers; text after a # is ignored."""
    if not data.strip():
        raise DatasetError("a file needs at least one line; this one is empty")
    return np.loadtxt(io.BytesIO(data), dtype, delimiter=delimiter, usecols=columns, ndmin=2)


def read_folder(folder: Path) -> Content:
    """Read a data set from its plain files."""
    edges = (folder / EDGES).read_bytes()
    weighted = len(edges.split(b"\n", 1)[0].split()) > 2
    weights = parse_table(edges, np.float64, columns=2)[:, 0] if weighted else None
    nodes = parse_table((folder / _NODES).read_bytes())[:, 0]
    graph = make_graph(nodes, parse_table(edges, columns=(0, 1)), weights)
    labels = folder / _LABELS
    classes = group_classes(parse_table(labels.read_bytes()).tolist()) if labels.is_file() else {}
    return Content(graph, classes, _read_class_names(folder, classes), _read_names(folder / _NODE_NAMES))


def _read_class_names(folder: Path, classes: Mapping[int, tuple[int, ...]]) -> dict[int, str | int]:
    class_names = _read_names(folder / _CLASS_NAMES)
    if not class_names:
        return {number: number for number in sorted({number for numbers in classes.values() for number in numbers})}
    # As everywhere, names become integers if all of them are.
    return dict(zip(class_names, parse_names(list(class_names.values())).tolist(), strict=True))


def _read_names(path: Path) -> dict[int, str]:
    if not path.is_file():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    return {int(number): name for number, _, name in (line.partition("\t") for line in lines if line)}


def write_folder(folder: Path, content: Content) -> None:
    """Write the plain files of a data set into a folder."""
    graph = content.graph
    rows = np.repeat(np.arange(graph.n_nodes), graph.degrees)
    upper = rows <= graph.indices
    columns = [graph.names[rows[upper]].tolist(), graph.names[graph.indices[upper]].tolist()]
    if graph.weights is not None:
        columns.append(graph.weights[upper].tolist())
    _write_lines(folder / EDGES, zip(*columns, strict=True))
    _write_lines(folder / _NODES, ((node,) for node in graph))
    if content.classes:
        members = ((node, number) for node, numbers in content.classes.items() for number in numbers)
        _write_lines(folder / _LABELS, members)
        _write_lines(folder / _CLASS_NAMES, content.class_names.items())
    if content.node_names:
        _write_lines(folder / _NODE_NAMES, content.node_names.items())


def _write_lines(path: Path, rows: Iterable[Iterable[Any]]) -> None:
    with atomic_write(path) as stream:
        stream.write("".join("\t".join(map(str, row)) + "\n" for row in rows).encode())
