"""Every reader and loader as a function of a file's bytes; the outcome must be a valid result or one of our errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import efge
from efge.datasets.catalogue import DATASETS, DatasetError
from efge.datasets.loading import _read_any_form
from efge.datasets.publishers import read_published
from efge.errors import CheckpointError
from efge.models.scoring import PairScorer
from efge.training.checkpoints import Checkpoints, TrainingState
from fuzz import mutations, seeds

# Errors that invalid input may raise. A MemoryError is not allowed: sizes must be checked before memory is taken.
OWN_ERRORS = (efge.GraphError, efge.EmbeddingError, efge.EvaluationError, CheckpointError, DatasetError)


class Target(NamedTuple):
    """A reader, the names of the files that an input is written to, and its seeds.

    `wrapping` unwraps the content of a compressed or checksummed input, and wraps it again.
    """

    name: str
    files: tuple[str, ...]
    seeds: Callable[[], list[bytes]]
    read: Callable[[Path], None]
    wrapping: mutations.Wrapping | None = None

    def outcome(self, data: bytes, folder: Path) -> str:
        """Read an input in an empty folder: return "valid" or "rejected"; anything else is an exception."""
        parts = [data] if len(self.files) == 1 else data.split(seeds.FILE_SEPARATOR, len(self.files) - 1)
        for name, part in zip(self.files, parts, strict=False):
            Path(folder, name).write_bytes(part)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.read(folder if len(self.files) > 1 else folder / self.files[0])
            return "valid"
        except OWN_ERRORS as error:
            _check_message(str(error))
            return "rejected"
        finally:
            names = {path.name for path in folder.iterdir()}
            for name in names:
                Path(folder, name).unlink()
            assert names <= {*self.files}, f"files were written: {names - {*self.files}}"


def _check_message(message: str) -> None:
    assert message.strip(), "an error has a message"
    assert len(message) < 20_000, f"an error message is short; this one has {len(message)} characters"


def _check_graph(graph: efge.Graph) -> None:
    """Check everything with the constructor; readers skip its checks."""
    again = efge.Graph(graph.indptr, graph.indices, graph.weights, graph.names, directed=graph.directed)
    assert again.n_edges == graph.n_edges


def _graph(path: Path, **options: Any) -> None:
    _check_graph(efge.read_graph(path, **options))


def _converted(path: Path) -> None:
    """Walk on any graph that opens, even with damaged rows; then check the fingerprint, which detects damage."""
    graph = efge.Graph.open(path)
    for strategy in (efge.WeightedWalk(), efge.Node2VecWalk(0.5, 2.0)):
        for batch in efge.Walks(graph, strategy, walks_per_node=1, walk_length=4, seed=1, threads=1).batches():
            assert 0 <= batch.nodes.min(initial=0) <= batch.nodes.max(initial=0) < max(graph.n_nodes, 1)
    graph.fingerprint()
    _check_graph(graph)


def _nodes(path: Path) -> None:
    edges = path.with_name("graph.txt")
    edges.write_bytes(b"ann bob\nbob cid\n")
    try:
        _graph(edges, nodes=path)
    finally:
        edges.unlink()


def _vectors(path: Path, **options: Any) -> None:
    embedding = efge.Embedding.load(path, **options)
    assert embedding.vectors.shape == (len(embedding.names), embedding.vectors.shape[1])
    assert np.isfinite(embedding.vectors).all()
    assert len(set(embedding.names.tolist())) == len(embedding.names)


def _model(path: Path) -> None:
    """Use what was loaded: a model that scores pairs must have finite scores."""
    model = efge.NodeEmbedder.load(path)
    names = model.embedding_.names.tolist()
    assert np.isfinite(model.embedding_.vectors).all()
    assert repr(model)
    if isinstance(model, PairScorer) and names:
        assert np.isfinite(model.score_pairs([(names[0], names[-1])])).all()
        assert len(model.recommend(names[0], k=3)) == min(3, len(names) - 1)


def _corpus(path: Path) -> None:
    graph = efge.as_graph([("ann", "bob"), ("bob", "bob b")])
    for batch in efge.Walks(graph, efge.CorpusWalk(path), seed=1, threads=1).batches():
        assert batch.nodes.min(initial=0) >= 0
        assert batch.nodes.max(initial=0) < graph.n_nodes
        assert batch.offsets[-1] == len(batch.nodes)


def _labels(path: Path) -> None:
    for node, classes in efge.read_labels(path).items():
        assert isinstance(node, (int, str))
        assert len(set(classes)) == len(classes) > 0


def _split(folder: Path) -> None:
    split = efge.LinkSplit.load(folder)
    _check_graph(split.graph)
    for pairs in (split.train_edges, split.train_non_edges, split.test_edges, split.test_non_edges):
        assert pairs.shape[1] == 2
        assert not pairs.size or 0 <= pairs.min() <= pairs.max() < split.graph.n_nodes
    assert isinstance(split.notes, tuple)


def _checkpoint(path: Path) -> None:
    checkpoints = Checkpoints(path.parent, resume=True)
    assert isinstance(checkpoints.seed(), int | None)
    state = checkpoints.restore(seeds.IDENTITY, [np.zeros(shape, np.float32) for shape in seeds.TABLES])
    assert isinstance(state, TrainingState)
    assert type(state.chunks_done) is type(state.evaluations_since_best) is int
    assert isinstance(state.best_log_likelihood, (int, float))
    seen = [state.history[name] for name in ("pairs", "log_likelihood")]
    assert len(state.history) == 2
    assert len(seen[0]) == len(seen[1])
    assert all(isinstance(value, (int, float)) for values in seen for value in values)
    assert bool(seen[0]) == bool(state.chunks_done)


def _configuration(path: Path) -> None:
    """Prepare a run up to its model and its graph; a family in the user's own code is not executed here."""
    from efge.cli import runs

    edges, names = path.with_name("friends.csv"), path.with_name("nodes.txt")
    edges.write_bytes(b"from,to,weight\nann,bob,2\nbob,cid,0.5\n")
    names.write_bytes(b"dan\n")
    try:
        run = runs.resolve_run(path, {})
        reading = run.reading | ({"nodes": names} if "nodes" in run.reading and _is_path(run.reading["nodes"]) else {})
        if ":" not in run.model:
            runs.make_model(run.model, run.family_options, run.parameters)
        runs.read_graph(str(edges), reading)
    except ValueError as error:
        _check_message(str(error))
        raise efge.GraphError(str(error)) from None
    finally:
        edges.unlink()
        names.unlink()


def _is_path(value: Any) -> bool:
    return isinstance(value, (str, Path))


def _table(path: Path) -> None:
    from efge.explore.attributes import read_attributes as read
    from efge.explore.columns import make_columns

    try:
        make_columns(efge.Embedding([[1.0], [2.0]], ["ann", "bob"]), table=read(path))
    except ValueError as error:
        _check_message(str(error))
        raise efge.GraphError(str(error)) from None


def _dataset(folder: Path) -> None:
    content = _read_any_form(folder, DATASETS["cora"])
    if content is not None:
        _check_graph(content.graph)


def _published(path: Path, reader: str) -> None:
    known = next(info for info in DATASETS.values() if info.reader == reader)
    # A matrix must have the size that is known; that of our seeds is 3.
    known = replace(known, nodes=3, classes=3) if reader == "matrix" else known
    _check_graph(read_published(path, known, str(path)).graph)


def _compressed(suffix: str) -> list[bytes]:
    return [seeds.compressed(data, suffix) for data in seeds.edge_lists()[:3]]


def _compressed_vectors() -> list[bytes]:
    return [seeds.compressed(data, ".gz") for data in seeds.vectors("v.txt")]


def _of(table: Callable[[], dict[str, list[bytes]]], name: str) -> Callable[[], list[bytes]]:
    return lambda: table()[name]


_Graphs = tuple[str, str, Callable[[], list[bytes]], mutations.Wrapping | None]


def _all_targets() -> list[Target]:
    formats: list[_Graphs] = [
        ("edgelist", ".txt", seeds.edge_lists, None),
        ("csv", ".csv", seeds.edge_lists, None),
        ("tsv", ".tsv", lambda: seeds.edge_lists()[3:4], None),
        ("adjlist", ".adj", seeds.adjacency_lists, None),
        ("parquet", ".parquet", _of(seeds.tables, "parquet"), None),
        ("arrow", ".arrow", _of(seeds.tables, "arrow"), None),
        ("feather", ".feather", _of(seeds.tables, "feather"), None),
        ("graphml", ".graphml", _of(seeds.networks, "graphml"), None),
        ("gml", ".gml", _of(seeds.networks, "gml"), None),
        ("json", ".json", _of(seeds.networks, "json"), None),
        ("jsonl", ".jsonl", _of(seeds.networks, "jsonl"), None),
        ("pajek", ".net", _of(seeds.networks, "pajek"), None),
        ("mat", ".mat", seeds.matlab_files, mutations.MATLAB),
        ("npz", ".npz", seeds.sparse_archives, mutations.ZIP),
        ("mtx", ".mtx", seeds.matrix_market_files, None),
        *(
            (f"compressed{suffix}", f".txt{suffix}", partial(_compressed, suffix), mutations.compression(suffix))
            for suffix in (".gz", ".bz2", ".xz", ".zst")
        ),
    ]
    vectors = [
        Target(f"vectors {suffix}", (f"input{suffix}",), partial(seeds.vectors, f"v{suffix}"), _vectors, wrapping)
        for suffix, wrapping in (
            (".npz", mutations.ZIP),
            (".parquet", None),
            (".arrow", None),
            (".safetensors", None),
            (".h5ad", None),
            (".csv", None),
            (".tsv", None),
            (".txt", None),
            (".bin", None),
        )
    ]
    publishers = [
        Target(f"published {name}", ("input",), _of(seeds.published, name), partial(_published, reader=name), wrapping)
        for name, wrapping in (
            ("edges", mutations.compression(".gz")),
            ("matrix", mutations.MATLAB),
            ("cora", mutations.compression(".gz")),
            ("pubmed", mutations.compression(".gz")),
            ("blogcatalog", mutations.ZIP),
            ("gml", mutations.ZIP),
        )
    ]
    return [
        *(Target(name, (f"input{suffix}",), make, _graph, wrapping) for name, suffix, make, wrapping in formats),
        Target("converted", ("graph.efge",), seeds.converted_graphs, _converted, mutations.CONVERTED),
        Target("nodes", ("nodes.txt",), lambda: [b"ann\ndan\n", b"id\n5\n7\n"], _nodes),
        Target("corpus", ("walks.txt",), seeds.corpora, _corpus),
        Target("labels", ("labels.txt",), seeds.labels, _labels),
        *vectors,
        Target("vectors .txt.gz", ("v.txt.gz",), _compressed_vectors, _vectors, mutations.compression(".gz")),
        Target("model", ("model.npz",), seeds.models, _model, mutations.ZIP),
        Target("vectors projector", seeds.PROJECTOR_FILES, seeds.projectors, _vectors),
        Target("split", seeds.SPLIT_FILES, seeds.splits, _split),
        Target("checkpoint", ("checkpoint-5.efge",), seeds.checkpoints, _checkpoint, mutations.CHECKSUM),
        Target("config toml", ("run.toml",), seeds.toml_configurations, _configuration),
        Target("config json", ("run.json",), seeds.json_configurations, _configuration),
        Target("table csv", ("table.csv",), _of(seeds.data_frames, "csv"), _table),
        Target("table parquet", ("table.parquet",), _of(seeds.data_frames, "parquet"), _table),
        Target("dataset", seeds.DATASET_FILES, seeds.dataset_folders, _dataset),
        *publishers,
    ]


TARGETS = {target.name: target for target in _all_targets()}
