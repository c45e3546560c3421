"""What a data set comes down to, whoever wrote it down; and the plain files in which we write it down ourselves.

Nodes and classes are numbers, as their publisher gave them, and may have names. Nodes are in ascending order, so that
the same data set is the same graph to the bit, in whatever order a file lists it.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.datasets.catalogue import DatasetError
from efge.graph.graph import Graph, check_weights, graph_from_edges
from efge.graph.names import name_array, names_of
from efge.io.atomic import written_whole

Integers = npt.NDArray[np.int64]

EDGES = "edges.tsv"
_NODES, _LABELS, _CLASS_NAMES, _NODE_NAMES = "nodes.txt", "labels.tsv", "label_names.tsv", "names.tsv"


class Content(NamedTuple):
    """A graph whose nodes are named by number, the classes of its nodes, and what classes and nodes are called."""

    graph: Graph
    classes: Mapping[int, tuple[int, ...]] = {}
    class_names: Mapping[int, str | int] = {}
    node_names: Mapping[int, str] = {}


def numbered_graph(nodes: Integers, edges: Integers, weights: npt.NDArray[np.float64] | None = None) -> Graph:
    """The undirected graph of the nodes, in ascending order, and the edges among them."""
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise DatasetError(f"an edge has two ends; got {edges.shape[-1]} columns")
    numbers = np.unique(nodes)
    if len(numbers) < len(nodes):
        raise DatasetError(f"a node is listed once; {len(nodes):,} lines name {len(numbers):,} nodes")
    rows = np.minimum(np.searchsorted(numbers, edges), max(len(numbers) - 1, 0))
    unknown = edges[numbers[rows] != edges] if len(numbers) else edges.ravel()
    if len(unknown):
        raise DatasetError(f"an edge joins nodes that are listed; node {unknown[0]} is not")
    if weights is not None:
        check_weights(weights, "edge {}")
    return graph_from_edges(rows.astype(np.int32), weights, name_array(numbers), directed=False)


def grouped(memberships: Iterable[Iterable[int]]) -> dict[int, tuple[int, ...]]:
    """The classes of each node, from pairs of a node and a class."""
    classes: dict[int, set[int]] = {}
    for node, number in memberships:
        classes.setdefault(node, set()).add(number)
    return {node: tuple(sorted(classes[node])) for node in sorted(classes)}


def table(data: bytes, type_: type[Any] = np.int64, *, delimiter: str | None = None, columns: Any = None) -> Any:
    """Rows of numbers; what is behind a # is not read."""
    if not data.strip():
        raise DatasetError("there is at least one line; the file is empty")
    return np.loadtxt(io.BytesIO(data), type_, delimiter=delimiter, usecols=columns, ndmin=2)


def read_folder(folder: Path) -> Content:
    """A data set from its plain files."""
    edges = (folder / EDGES).read_bytes()
    weighted = len(edges.split(b"\n", 1)[0].split()) > 2
    weights = table(edges, np.float64, columns=2)[:, 0] if weighted else None
    nodes = table((folder / _NODES).read_bytes())[:, 0]
    graph = numbered_graph(nodes, table(edges, columns=(0, 1)), weights)
    labels = folder / _LABELS
    classes = grouped(table(labels.read_bytes()).tolist()) if labels.is_file() else {}
    return Content(graph, classes, _class_names(folder, classes), _read_names(folder / _NODE_NAMES))


def _class_names(folder: Path, classes: Mapping[int, tuple[int, ...]]) -> dict[int, str | int]:
    named = _read_names(folder / _CLASS_NAMES)
    if not named:
        return {number: number for number in sorted({number for numbers in classes.values() for number in numbers})}
    # As everywhere, names that are all integers are integers.
    return dict(zip(named, names_of(list(named.values())).tolist(), strict=True))


def _read_names(path: Path) -> dict[int, str]:
    if not path.is_file():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    return {int(number): name for number, _, name in (line.partition("\t") for line in lines if line)}


def write_folder(folder: Path, content: Content) -> None:
    """Write the plain files of a data set into a folder."""
    graph = content.graph
    rows = np.repeat(np.arange(graph.n_nodes), graph.degrees)
    once = rows <= graph.indices
    columns = [graph.names[rows[once]].tolist(), graph.names[graph.indices[once]].tolist()]
    if graph.weights is not None:
        columns.append(graph.weights[once].tolist())
    _write_lines(folder / EDGES, zip(*columns, strict=True))
    _write_lines(folder / _NODES, ((node,) for node in graph))
    if content.classes:
        members = ((node, number) for node, numbers in content.classes.items() for number in numbers)
        _write_lines(folder / _LABELS, members)
        _write_lines(folder / _CLASS_NAMES, content.class_names.items())
    if content.node_names:
        _write_lines(folder / _NODE_NAMES, content.node_names.items())


def _write_lines(path: Path, rows: Iterable[Iterable[Any]]) -> None:
    with written_whole(path) as stream:
        stream.write("".join("\t".join(map(str, row)) + "\n" for row in rows).encode())
