"""Readers of the publishers' files.

Archives are read in memory; no name in an archive decides where anything is written.
"""

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
from efge.datasets.content import Content, group_classes, make_graph, parse_table
from efge.errors import describe_error
from efge.graph.graph import Graph
from efge.io.files import open_input, read_archive_entry
from efge.io.matlab import read_matlab

# The largest file known in these archives has 20 MB; a file larger than this is not one of them.
_MAX_FILE_BYTES = 200_000_000


def read_published(path: Path, info: DatasetInfo, label: str) -> Content:
    """Read a data set from its publisher's file; messages call the file by the label."""
    try:
        return _READERS[info.reader](path, info)
    except MemoryError:
        raise
    except DatasetError as error:
        raise DatasetError(f"{label}: {error}") from None
    except Exception as error:
        # On damaged files, libraries raise all kinds of exceptions.
        raise DatasetError(f"{label}: cannot read this {info.file_name}: {describe_error(error)}") from None


def _read_limited(read: Callable[[int], bytes], name: str) -> bytes:
    data = read(_MAX_FILE_BYTES + 1)
    if len(data) > _MAX_FILE_BYTES:
        raise DatasetError(f"{name} may have at most {_MAX_FILE_BYTES:,} bytes when decompressed; this one has more")
    return data


def _read_member(path: Path, name: str) -> bytes:
    """Read the file with that name from any folder of an archive."""
    read = _read_zip_member if zipfile.is_zipfile(path) else _read_tar_member
    data = read(path, name)
    if data is None:
        raise DatasetError(f"the archive must contain a file {name}; this one does not")
    return data


def _read_zip_member(path: Path, name: str) -> bytes | None:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if member.filename.rpartition("/")[2] == name:
                return _read_limited(io.BytesIO(read_archive_entry(archive, member.filename, path.name)).read, name)
    return None


def _read_tar_member(path: Path, name: str) -> bytes | None:
    # The archive is decompressed as a stream, whose size is limited.
    with open_input(path) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            if member.isfile() and member.name.rpartition("/")[2] == name:
                file = archive.extractfile(member)
                assert file is not None, "a regular file has content"
                return _read_limited(file.read, name)
    return None


def _read_edges(path: Path, info: DatasetInfo) -> Content:
    """Read SNAP's edge lists: one edge per line, often in both directions; comments start with #."""
    with path.open("rb") as raw:
        compressed = raw.read(2) == b"\x1f\x8b"  # a server may have decompressed it
    with gzip.open(path) if compressed else path.open("rb") as stream:
        edges = parse_table(_read_limited(stream.read, info.file_name), columns=(0, 1))
    graph = make_graph(np.unique(edges), edges)
    return Content(graph.largest_component() if info.largest_component else graph)


def _read_matrix(path: Path, info: DatasetInfo) -> Content:
    """Read .mat files of HARP and node2vec: an adjacency matrix and a matrix with a column for each class."""
    from scipy.sparse import csr_array

    matrices = read_matlab(path.read_bytes(), path.name)
    network, group = csr_array(matrices["network"], dtype=np.float64), csr_array(matrices["group"], dtype=np.float64)
    n, k = info.nodes, info.classes
    if network.shape != (n, n) or group.shape != (n, k):
        raise DatasetError(
            f"network and group must have shapes {(n, n)} and {(n, k)}; got {network.shape} and {group.shape}"
        )
    names: Mapping[int, str | int] = info.class_names or {number: number for number in range(k)}
    return Content(_matrix_graph(network, info), _matrix_classes(group, info), names)


def _matrix_graph(network: Any, info: DatasetInfo) -> Graph:
    network.eliminate_zeros()
    entries = network.tocoo()
    nodes, edges = np.arange(info.nodes), np.column_stack([entries.row, entries.col]).astype(np.int64)
    if not info.weighted:
        return make_graph(nodes, edges)
    if (network != network.T).nnz:
        raise DatasetError("the matrix of an undirected network is symmetric; this one is not")
    upper = entries.row <= entries.col
    return make_graph(nodes, edges[upper], entries.data[upper])


def _matrix_classes(group: Any, info: DatasetInfo) -> dict[int, tuple[int, ...]]:
    if not info.multilabel:
        # In DBLP, each author has a weight for each class; the largest decides.
        return {node: (int(number),) for node, number in enumerate(group.toarray().argmax(axis=1))}
    return group_classes(zip(*(indices.tolist() for indices in group.nonzero()), strict=True))


def _read_cora(path: Path, info: DatasetInfo) -> Content:
    """Read LINQS's Cora: lines of a paper, its words and its topic; and lines of citations."""
    papers = _read_member(path, "cora.content").decode().splitlines()
    topics = {int(line.split(None, 1)[0]): line.rsplit(None, 1)[1] for line in papers if line.strip()}
    numbers = {topic: number for number, topic in enumerate(sorted(set(topics.values())))}
    graph = make_graph(np.array(list(topics)), parse_table(_read_member(path, "cora.cites")))
    classes = group_classes((paper, numbers[topic]) for paper, topic in topics.items())
    return Content(graph, classes, {number: topic for topic, number in numbers.items()})


def _read_pubmed(path: Path, info: DatasetInfo) -> Content:
    """Read LINQS's Pubmed-Diabetes: a file of papers and one of citations, each after two header lines."""
    papers = _read_member(path, "Pubmed-Diabetes.NODE.paper.tab").decode()
    cites = _read_member(path, "Pubmed-Diabetes.DIRECTED.cites.tab").decode()
    labels = [(int(paper), int(label)) for paper, label in re.findall(r"^(\d+)\tlabel=(\d+)", papers, re.MULTILINE)]
    edges = np.array(re.findall(r"\tpaper:(\d+)\t\|\tpaper:(\d+)", cites), np.int64).reshape(-1, 2)
    graph = make_graph(np.array([paper for paper, _ in labels], np.int64), edges)
    return Content(graph, group_classes(labels), dict(info.class_names))


def _read_blogcatalog(path: Path, info: DatasetInfo) -> Content:
    """Read CSV files of friendships and of bloggers in groups; both are numbered from 1."""
    edges = parse_table(_read_member(path, "edges.csv"), delimiter=",")
    groups = group_classes(parse_table(_read_member(path, "group-edges.csv"), delimiter=",").tolist())
    numbers = sorted({number for blogger in groups.values() for number in blogger})
    return Content(make_graph(np.unique(edges), edges), groups, {number: number for number in numbers})


def _read_gml(path: Path, info: DatasetInfo) -> Content:
    """Read M. Newman's GML, whose nodes have an id and a label, and whose edges have no attributes."""
    text = _read_member(path, "dolphins.gml").decode()
    names = {int(node): name for node, name in re.findall(r'\bnode\s*\[\s*id\s+(\d+)\s+label\s+"([^"]*)"', text)}
    edges = re.findall(r"\bedge\s*\[\s*source\s+(\d+)\s+target\s+(\d+)", text)
    graph = make_graph(np.array(list(names), np.int64), np.array(edges, np.int64).reshape(-1, 2))
    return Content(graph, node_names=names)


_READERS: dict[str, Callable[[Path, DatasetInfo], Content]] = {
    "edges": _read_edges,
    "matrix": _read_matrix,
    "cora": _read_cora,
    "pubmed": _read_pubmed,
    "blogcatalog": _read_blogcatalog,
    "gml": _read_gml,
}
