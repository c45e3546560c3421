"""From a name to a checked data set: by a folder, the cache, then the publisher; what is wrong is not kept."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from efge.datasets.catalogue import DATASETS, DatasetError, DatasetInfo
from efge.datasets.content import EDGES, Content, read_folder, write_folder
from efge.datasets.publishers import read_published
from efge.graph.graph import Graph
from efge.graph.names import name_array
from efge.io.atomic import sync_folder

Labels = Mapping[Hashable, Hashable]


@dataclass(frozen=True)
class Dataset:
    """A published network.

    Attributes
    ----------
    name : str
        The name it is loaded by.
    graph : Graph
        Undirected; its nodes are named as by the publisher and in ascending order of their published numbers.
    labels : mapping of node name to class, or None
        The class of each node: a name, or a number where classes have no names. Where nodes have several classes, a
        tuple of them, and nodes without any are left out. None if there are no classes.
    citation : str
        Whom to cite, and where the data come from.

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
        named = {
            name for item in (self.labels or {}).values() for name in (item if isinstance(item, tuple) else (item,))
        }
        return f"Dataset({self.name!r}, {self.graph!r}, {len(named)} classes)"


def load_dataset(name: str) -> Dataset:
    """Load a published network, and make sure that it is the one that was published.

    It is looked for in the folder that the environment variable ``EFGE_DATA`` names, then in the cache, each time in a
    folder of its own name: as ``edges.tsv``, ``nodes.txt`` and, where there are classes or names, ``labels.tsv``,
    ``label_names.tsv`` and ``names.tsv``; or as the publisher's file under its own name. Otherwise that file is
    downloaded, checked, and kept in the cache as plain files. Counts of nodes, edges, self loops, components and
    classes are checked wherever it comes from, and so are fingerprints where they are known.

    Parameters
    ----------
    name : str
        One of ``efge.datasets.DATASETS``, which also tells what each of them is.

    Returns
    -------
    Dataset
        The communities of ``dolphins`` are not in the publisher's file: its labels are None unless a folder of yours
        has them. Of the others, ``blogcatalog``, ``ppi`` and ``wikipedia`` have several classes a node, and
        ``wikipedia`` has weights.

    Raises
    ------
    DatasetError
        If the name is not known, the file is not to be had, or its content is not what was published.

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
    if name not in DATASETS:
        raise DatasetError(f"no data set {name!r}; known: {', '.join(DATASETS)}")
    known = DATASETS[name]
    for folder in (*_given_folder(name), _cache() / name):
        content = _found(folder, known)
        if content is not None:
            return _checked(name, known, content, f"{folder}, which you may mend or delete")
    return _fetched(name, known)


def _given_folder(name: str) -> list[Path]:
    given = os.environ.get("EFGE_DATA")
    if not given:
        return []
    folder = Path(given).expanduser()
    if not folder.is_dir():
        raise DatasetError(f"EFGE_DATA names the folder of the data sets; there is no folder {given}")
    return [folder / name]


def _cache() -> Path:
    import pooch

    return Path(pooch.os_cache("efge"))


def _found(folder: Path, known: DatasetInfo) -> Content | None:
    """What a folder holds in one of the forms we know; None if there is nothing in it."""
    published = folder / known.file_name
    try:
        if (folder / EDGES).is_file():
            return read_folder(folder)
        if published.is_file():
            return read_published(published, known, str(published))
        if not folder.is_dir() or all(entry.name.startswith(".") for entry in folder.iterdir()):
            return None
    except (OSError, ValueError) as error:
        if str(error).startswith(str(folder)):
            raise
        raise DatasetError(f"{folder}: the data set cannot be read; mend or delete the folder: {error}") from None
    raise DatasetError(f"{folder}: a data set is {EDGES} and its other files, or {known.file_name}; here is neither")


def _checked(name: str, known: DatasetInfo, content: Content, place: str) -> Dataset:
    """The data set, if it is the one we know."""
    dataset = _named(name, known, content)
    troubles = _wrong_counts(dataset.graph, known, content)
    if not troubles and known.fingerprint not in (None, dataset.graph.fingerprint()):
        troubles.append("the counts are right, but names or edges are others")
    if not troubles and dataset.labels and known.label_fingerprint not in (None, _fingerprint(dataset.labels)):
        troubles.append("the graph is right, but classes are others")
    if troubles:
        raise DatasetError(f"{place}: this is not {name} as published: {'; '.join(troubles)}")
    return dataset


def _named(name: str, known: DatasetInfo, content: Content) -> Dataset:
    """The data set under the names that nodes and classes go by."""
    graph, called = content.graph, content.node_names
    if called:
        names = name_array([called.get(node, node) for node in graph.names.tolist()])
        graph = Graph(graph.indptr, graph.indices, graph.weights, names)
    classes = dict(content.class_names) | dict(known.class_names)
    labels: dict[Hashable, Hashable] = {}
    for node, numbers in content.classes.items():
        several = tuple(classes.get(number, number) for number in numbers)
        labels[called.get(node, node)] = several if known.multilabel else several[0]
    return Dataset(name, graph, labels or None, known.citation)


def _wrong_counts(graph: Graph, known: DatasetInfo, content: Content) -> list[str]:
    """What differs from what is known, a phrase each."""
    counts = {
        "nodes": (known.nodes, graph.n_nodes),
        "edges": (known.edges, graph.n_edges),
        "self loops": (known.self_loops, graph.n_self_loops),
        "components": (known.components, graph.n_components),
    }
    if content.classes or known.labels_published:
        counts["classes"] = (known.classes, len(content.class_names))
    strangers = content.classes.keys() - set(content.graph)
    counts["nodes with a class but not listed"] = (0, len(strangers))
    if content.classes and not known.multilabel:
        counts["nodes with one class"] = (known.nodes, sum(len(several) == 1 for several in content.classes.values()))
    counts["weights"] = (known.edges if known.weighted else 0, graph.n_edges if graph.is_weighted else 0)
    return [
        f"{expected:,} {what} expected, {found:,} found"
        for what, (expected, found) in counts.items()
        if expected is not None and expected != found
    ]


def _fingerprint(labels: Labels) -> str:
    lines = (f"{node!r}\t{several!r}\n" for node, several in labels.items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _fetched(name: str, known: DatasetInfo) -> Dataset:
    """The data set from its publisher, kept in the cache; of an address that fails, nothing is kept."""
    cache, troubles = _cache(), []
    for address in known.addresses:
        try:
            cache.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=f".{name}.", dir=cache) as scratch:
                path = Path(scratch, known.file_name)
                _download(address, path)
                content = read_published(path, known, address)
                dataset = _checked(name, known, content, address)
                _keep(content, Path(scratch, name), cache / name)
            return dataset
        except DatasetError as error:
            troubles.append(str(error))
        except OSError as error:
            raise DatasetError(f"{cache}: the cache cannot be written: {error.strerror or error}") from None
    by_hand = f"put {known.file_name} into the folder {cache / name}, or into {name} in the folder that EFGE_DATA names"
    raise DatasetError(f"{name} cannot be downloaded ({'; '.join(troubles)}); {by_hand}")


def _download(address: str, path: Path) -> None:
    import pooch
    import requests

    # There is no hash to compare with: what is in the file is checked instead.
    shown = sys.stderr is not None and sys.stderr.isatty() and find_spec("tqdm") is not None
    try:
        pooch.HTTPDownloader(progressbar=shown)(address, str(path), None)
    except requests.HTTPError as error:
        answer = "an error" if error.response is None else error.response.status_code
        raise DatasetError(f"{address}: the server answers {answer}") from None
    except (requests.ConnectionError, requests.Timeout):
        raise DatasetError(f"{address}: no connection") from None
    except requests.RequestException as error:
        raise DatasetError(f"{address}: the transfer broke off: {error}") from None


def _keep(content: Content, written: Path, kept: Path) -> None:
    """Put the plain files into the cache, all at once."""
    written.mkdir()
    write_folder(written, content)
    sync_folder(written)
    try:
        written.rename(kept)
    except OSError:
        # Another process was faster, and its copy is as good as ours.
        if not (kept / EDGES).is_file():
            raise
    sync_folder(kept.parent)
