"""Load a data set from a folder, the cache or its publisher, and check it; only correct data enters the cache."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urljoin, urlsplit

from efge.datasets.catalogue import DATASETS, DatasetError, DatasetInfo
from efge.datasets.content import EDGES, Content, read_folder, write_folder
from efge.datasets.publishers import read_published
from efge.datasets.structure import structure_fingerprint
from efge.errors import did_you_mean
from efge.graph.graph import Graph
from efge.graph.names import name_array
from efge.system import sync_folder

Labels = Mapping[Hashable, Hashable]

# Many times the size of any file in the catalogue.
_MAX_DOWNLOAD_SIZE = 1 << 28


@dataclass(frozen=True)
class Dataset:
    """A published network.

    Attributes
    ----------
    name : str
        Name of the data set.
    graph : Graph
        An undirected graph with the publisher's node names, in ascending order of the published node numbers.
    labels : mapping of node name to class, or None
        The class of each node: a name, or a number if classes have no names. In multi-label data sets, a tuple of
        classes; nodes without a class are missing. None if there are no classes.
    citation : str
        Whom to cite, and where the data comes from.

    Examples
    --------
    >>> import efge
    >>> from efge.datasets import Dataset
    >>> pair = Dataset("pair", efge.as_graph([("ann", "bob")]), {"ann": "left", "bob": "right"}, "nobody")
    >>> pair
    Dataset('pair', Graph(2 nodes, 1 edges, undirected, unweighted, 0 isolated), 2 classes)
    >>> pair.labels["bob"]
    'right'
    """

    name: str
    graph: Graph
    labels: Labels | None
    citation: str

    def __repr__(self) -> str:
        classes = {
            name for label in (self.labels or {}).values() for name in (label if isinstance(label, tuple) else (label,))
        }
        return f"Dataset({self.name!r}, {self.graph!r}, {len(classes)} classes)"


def load_dataset(name: str) -> Dataset:
    """Load a published network, and check that it equals the published one.

    The data set is searched in the folder that the environment variable ``EFGE_DATA`` names, then in the cache. In
    either, a subfolder with the data set's name holds ``edges.tsv``, ``nodes.txt`` and, if there are classes or names,
    ``labels.tsv``, ``label_names.tsv`` and ``names.tsv``; or it holds the publisher's file. Otherwise the publisher's
    file is downloaded, checked, and saved in the cache as plain files. The numbers of nodes, edges, self-loops,
    components and classes are always checked. So are fingerprints of names, edges and classes, of the paper's networks;
    and, of ``ppi`` and ``pubmed``, the structure that another distributor's copy has. The publishers' own files of
    these two, and of ``blogcatalog`` and ``wikipedia``, have not been seen.

    Parameters
    ----------
    name : str
        A key of ``efge.datasets.DATASETS``, which describes all data sets.

    Returns
    -------
    Dataset
        The communities of ``dolphins`` are not in the publisher's file: its labels are None unless your own folder
        has them. In ``blogcatalog``, ``ppi`` and ``wikipedia``, a node can have several classes; ``wikipedia`` has
        weights.

    Raises
    ------
    DatasetError
        If the name is unknown, the file cannot be downloaded, or the content differs from the published one.

    Examples
    --------
    >>> from efge.datasets import DATASETS, load_dataset
    >>> DATASETS["cora"].about
    'papers on machine learning and their citations; a class is a topic'
    >>> try:
    ...     load_dataset("kora")
    ... except ValueError as error:
    ...     print(error)
    no data set 'kora'; known: citeseer, cora, dblp, ...
    """
    if not isinstance(name, str) or name not in DATASETS:
        hint = did_you_mean(name, DATASETS) if isinstance(name, str) else ""
        raise DatasetError(f"no data set {name!r}; known: {', '.join(DATASETS)}{hint}")
    info = DATASETS[name]
    for folder in (*_user_folders(name), _cache_folder() / name):
        content = _read_any_form(folder, info)
        if content is not None:
            return _make_checked(name, info, content, f"{folder} (repair or delete it)")
    return _download_dataset(name, info)


def _user_folders(name: str) -> list[Path]:
    path = os.environ.get("EFGE_DATA")
    if not path:
        return []
    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise DatasetError(f"EFGE_DATA must name an existing folder; there is no folder {path}")
    return [folder / name]


def _cache_folder() -> Path:
    import pooch

    return Path(pooch.os_cache("efge"))


def _read_any_form(folder: Path, info: DatasetInfo) -> Content | None:
    """Read plain files or the publisher's file from a folder; return None if the folder is empty or missing."""
    published = folder / info.file_name
    try:
        if (folder / EDGES).is_file():
            return read_folder(folder)
        if published.is_file():
            return read_published(published, info, str(published))
        if not folder.is_dir() or all(entry.name.startswith(".") for entry in folder.iterdir()):
            return None
    except (OSError, ValueError) as error:
        if str(error).startswith(str(folder)):
            raise
        raise DatasetError(f"{folder}: cannot read this data set; repair or delete the folder: {error}") from None
    raise DatasetError(
        f"{folder}: the folder of a data set has {EDGES} and its other files, or {info.file_name}; this one has neither"
    )


def _make_checked(name: str, info: DatasetInfo, content: Content, source: str) -> Dataset:
    """Return the data set; raise if it differs from the published one."""
    dataset = _make_dataset(name, info, content)
    problems = _find_wrong_counts(dataset.graph, info, content)
    if not problems and info.fingerprint not in (None, dataset.graph.fingerprint()):
        problems.append("the counts match, but names or edges differ")
    if not problems and dataset.labels and info.label_fingerprint not in (None, _fingerprint(dataset.labels)):
        problems.append("the graph matches, but classes differ")
    if not problems and info.structure not in (None, structure_fingerprint(dataset.graph, dataset.labels)):
        problems.append("the counts match, but edges or classes differ from those of another distributor's copy")
    if problems:
        raise DatasetError(f"{source}: this is not {name} as published: {'; '.join(problems)}")
    return dataset


def _make_dataset(name: str, info: DatasetInfo, content: Content) -> Dataset:
    """Replace the numbers of nodes and classes by their names."""
    graph, node_names = content.graph, content.node_names
    if node_names:
        names = name_array([node_names.get(node, node) for node in graph.names.tolist()])
        graph = Graph(graph.indptr, graph.indices, graph.weights, names)
    classes = dict(content.class_names) | dict(info.class_names)
    labels: dict[Hashable, Hashable] = {}
    for node, numbers in content.classes.items():
        names_of_classes = tuple(classes.get(number, number) for number in numbers)
        labels[node_names.get(node, node)] = names_of_classes if info.multilabel else names_of_classes[0]
    return Dataset(name, graph, labels or None, info.citation)


def _find_wrong_counts(graph: Graph, info: DatasetInfo, content: Content) -> list[str]:
    """Describe each count that differs from the published one."""
    counts = {
        "nodes": (info.nodes, graph.n_nodes),
        "edges": (info.edges, graph.n_edges),
        "self loops": (info.self_loops, graph.n_self_loops),
        "components": (info.components, graph.n_components),
    }
    if content.classes or info.labels_published:
        counts["classes"] = (info.classes, len(content.class_names))
    unlisted = content.classes.keys() - set(content.graph)
    counts["nodes with a class but not listed"] = (0, len(unlisted))
    if content.classes and not info.multilabel:
        counts["nodes with one class"] = (info.nodes, sum(len(classes) == 1 for classes in content.classes.values()))
    counts["weights"] = (info.edges if info.weighted else 0, graph.n_edges if graph.is_weighted else 0)
    return [
        f"{expected:,} {name} expected, {actual:,} found"
        for name, (expected, actual) in counts.items()
        if expected is not None and expected != actual
    ]


def _fingerprint(labels: Labels) -> str:
    lines = (f"{node!r}\t{classes!r}\n" for node, classes in labels.items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _download_dataset(name: str, info: DatasetInfo) -> Dataset:
    """Download a data set from its publisher and save it in the cache; a failed download leaves nothing there."""
    cache, problems = _cache_folder(), []
    for address in info.addresses:
        try:
            cache.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=f".{name}.", dir=cache) as temporary:
                path = Path(temporary, info.file_name)
                _download(address, path)
                content = read_published(path, info, address)
                dataset = _make_checked(name, info, content, address)
                _save_in_cache(content, Path(temporary, name), cache / name)
            return dataset
        except DatasetError as error:
            problems.append(str(error))
        except OSError as error:
            raise DatasetError(f"{cache}: cannot write to the cache: {error.strerror or error}") from None
    advice = f"put {info.file_name} into the folder {cache / name}, or into {name} in the folder that EFGE_DATA names"
    raise DatasetError(f"cannot download {name} ({'; '.join(problems)}); {advice}")


def _download(address: str, path: Path) -> None:
    import pooch
    import requests

    # The hash of the file is not known; its content is checked instead.
    show_progress = sys.stderr is not None and sys.stderr.isatty() and find_spec("tqdm") is not None
    _check_encrypted(address)
    hooks = {"response": _check_redirection}
    try:
        with path.open("w+b") as file:
            pooch.HTTPDownloader(progressbar=show_progress, hooks=hooks)(address, _LimitedFile(file, address), None)
    except requests.HTTPError as error:
        answer = "an error" if error.response is None else error.response.status_code
        raise DatasetError(f"{address}: the server answers {answer}") from None
    except (requests.ConnectionError, requests.Timeout):
        raise DatasetError(f"{address}: no connection") from None
    except requests.RequestException as error:
        raise DatasetError(f"{address}: the download failed: {error}") from None


def _check_encrypted(address: str) -> None:
    """Refuse an address without encryption, where anyone on the way could change the file; this machine may do so."""
    parts = urlsplit(address)
    if parts.scheme != "https" and parts.hostname not in ("127.0.0.1", "::1", "localhost"):
        raise DatasetError(f"{address}: an address must begin with https://, so that nobody can change the file")


def _check_redirection(response: Any, **options: Any) -> None:
    if "location" in response.headers:
        _check_encrypted(urljoin(response.url, response.headers["location"]))


class _LimitedFile:
    """A file of a limited size: a publisher, or whoever answers instead, shall not fill the disk."""

    def __init__(self, file: BinaryIO, address: str) -> None:
        self._file = file
        self._address = address

    def write(self, data: bytes) -> int:
        if self._file.tell() + len(data) > _MAX_DOWNLOAD_SIZE:
            raise DatasetError(f"{self._address}: a file has at most {_MAX_DOWNLOAD_SIZE:,} bytes; this one has more")
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()


def _save_in_cache(content: Content, temporary: Path, target: Path) -> None:
    """Write the plain files into a temporary folder, then rename it into the cache."""
    temporary.mkdir()
    write_folder(temporary, content)
    sync_folder(temporary)
    try:
        temporary.rename(target)
    except OSError:
        # Another process was faster, and its copy is as good as ours.
        if not (target / EDGES).is_file():
            raise
    sync_folder(target.parent)
