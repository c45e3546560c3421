"""The files of the publishers -> Content, each read in memory; nothing in an archive says where anything is written."""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from efge.datasets.catalogue import DatasetError, DatasetInfo
from efge.datasets.content import Content, grouped, numbered_graph, table
from efge.errors import reason_of
from efge.graph.graph import Graph
from efge.io.files import archive_entry, opened
from efge.io.matlab import read_matlab

# The largest file we know of in these archives has 20 MB; what unpacks to more than this is not one of them.
_LARGEST = 200_000_000


def read_published(path: Path, known: DatasetInfo, label: str) -> Content:
    """A data set from its publisher's file, which messages call by the label."""
    try:
        return _READERS[known.reader](path, known)
    except MemoryError:
        raise
    except DatasetError as error:
        raise DatasetError(f"{label}: {error}") from None
    except Exception as error:
        # Damaged files make the libraries behind us raise whatever comes up.
        raise DatasetError(f"{label}: not a {known.file_name} that can be read: {reason_of(error)}") from None


def _whole(read: Callable[[int], bytes], name: str) -> bytes:
    data = read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise DatasetError(f"{name} has {_LARGEST:,} bytes at most when unpacked; this one has more")
    return data


def _member(path: Path, name: str) -> bytes:
    """The file of that name in an archive, in whatever folder of it."""
    read = _zip_member if zipfile.is_zipfile(path) else _tar_member
    data = read(path, name)
    if data is None:
        raise DatasetError(f"the archive holds a file {name}; this one does not")
    return data


def _zip_member(path: Path, name: str) -> bytes | None:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if member.filename.rpartition("/")[2] == name:
                return _whole(io.BytesIO(archive_entry(archive, member.filename, path.name)).read, name)
    return None


def _tar_member(path: Path, name: str) -> bytes | None:
    # What is packed is counted, and read from front to back.
    with opened(path) as unpacked, tarfile.open(fileobj=unpacked, mode="r|") as archive:
        for member in archive:
            if member.isfile() and member.name.rpartition("/")[2] == name:
                stream = archive.extractfile(member)
                assert stream is not None, "a plain file has content"
                return _whole(stream.read, name)
    return None


def _read_edges(path: Path, known: DatasetInfo) -> Content:
    """SNAP's lists: an edge a line, often in both directions, comments behind a #."""
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"  # a server may unpack it on the way
    with gzip.open(path) if packed else path.open("rb") as stream:
        edges = table(_whole(stream.read, known.file_name), columns=(0, 1))
    graph = numbered_graph(np.unique(edges), edges)
    return Content(graph.largest_component() if known.largest_component else graph)


def _read_matrix(path: Path, known: DatasetInfo) -> Content:
    """HARP's and node2vec's .mat files: an adjacency matrix, and a column for each class; nodes are rows, from 0."""
    from scipy.sparse import csr_array

    found = read_matlab(path.read_bytes(), path.name)
    network, group = csr_array(found["network"], dtype=np.float64), csr_array(found["group"], dtype=np.float64)
    n, k = known.nodes, known.classes
    if network.shape != (n, n) or group.shape != (n, k):
        raise DatasetError(f"network and group are {(n, n)} and {(n, k)}; got {network.shape} and {group.shape}")
    names: Mapping[int, str | int] = known.class_names or {number: number for number in range(k)}
    return Content(_matrix_graph(network, known), _matrix_classes(group, known), names)


def _matrix_graph(network: Any, known: DatasetInfo) -> Graph:
    network.eliminate_zeros()
    entries = network.tocoo()
    nodes, edges = np.arange(known.nodes), np.column_stack([entries.row, entries.col]).astype(np.int64)
    if not known.weighted:
        return numbered_graph(nodes, edges)
    if (network != network.T).nnz:
        raise DatasetError("an undirected network has one weight for both directions; this matrix is not symmetric")
    once = entries.row <= entries.col
    return numbered_graph(nodes, edges[once], entries.data[once])


def _matrix_classes(group: Any, known: DatasetInfo) -> dict[int, tuple[int, ...]]:
    if not known.multilabel:
        # DBLP's authors have a share in each class; theirs is the largest.
        return {node: (int(number),) for node, number in enumerate(group.toarray().argmax(axis=1))}
    return grouped(zip(*(ends.tolist() for ends in group.nonzero()), strict=True))


def _read_cora(path: Path, known: DatasetInfo) -> Content:
    """LINQS's Cora: a paper, its words and its topic a line; and a line for each citation."""
    papers = _member(path, "cora.content").decode().splitlines()
    topics = {int(line.split(None, 1)[0]): line.rsplit(None, 1)[1] for line in papers if line.strip()}
    numbers = {topic: number for number, topic in enumerate(sorted(set(topics.values())))}
    graph = numbered_graph(np.array(list(topics)), table(_member(path, "cora.cites")))
    classes = grouped((paper, numbers[topic]) for paper, topic in topics.items())
    return Content(graph, classes, {number: topic for topic, number in numbers.items()})


def _read_pubmed(path: Path, known: DatasetInfo) -> Content:
    """LINQS's Pubmed-Diabetes: two lines of heading in both files, then a paper or a citation a line."""
    papers = _member(path, "Pubmed-Diabetes.NODE.paper.tab").decode()
    cites = _member(path, "Pubmed-Diabetes.DIRECTED.cites.tab").decode()
    labels = [(int(paper), int(label)) for paper, label in re.findall(r"^(\d+)\tlabel=(\d+)", papers, re.MULTILINE)]
    edges = np.array(re.findall(r"\tpaper:(\d+)\t\|\tpaper:(\d+)", cites), np.int64).reshape(-1, 2)
    graph = numbered_graph(np.array([paper for paper, _ in labels], np.int64), edges)
    return Content(graph, grouped(labels), dict(known.class_names))


def _read_blogcatalog(path: Path, known: DatasetInfo) -> Content:
    """The repository's CSV files: a friendship once, and a line for each blogger in a group; both count from 1."""
    edges = table(_member(path, "edges.csv"), delimiter=",")
    groups = grouped(table(_member(path, "group-edges.csv"), delimiter=",").tolist())
    numbers = sorted({number for blogger in groups.values() for number in blogger})
    return Content(numbered_graph(np.unique(edges), edges), groups, {number: number for number in numbers})


def _read_gml(path: Path, known: DatasetInfo) -> Content:
    """M. Newman's GML, in which a node has an id and a label, and nothing has anything else."""
    text = _member(path, "dolphins.gml").decode()
    names = {int(node): name for node, name in re.findall(r'\bnode\s*\[\s*id\s+(\d+)\s+label\s+"([^"]*)"', text)}
    ends = re.findall(r"\bedge\s*\[\s*source\s+(\d+)\s+target\s+(\d+)", text)
    graph = numbered_graph(np.array(list(names), np.int64), np.array(ends, np.int64).reshape(-1, 2))
    return Content(graph, node_names=names)


_READERS: dict[str, Callable[[Path, DatasetInfo], Content]] = {
    "edges": _read_edges,
    "matrix": _read_matrix,
    "cora": _read_cora,
    "pubmed": _read_pubmed,
    "blogcatalog": _read_blogcatalog,
    "gml": _read_gml,
}
