"""The cells of a benchmark: one contender, trained once on one network, and scored at one task."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Hashable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import efge
from efge.embedding.embedding import Embedding
from efge.errors import EvaluationError, TrainingError, describe_error
from efge.evaluation.classification import node_classification
from efge.evaluation.heuristics import HEURISTICS
from efge.evaluation.labels import as_targets
from efge.evaluation.links import link_metrics, pair_scores
from efge.evaluation.splits import NEGATIVES, split_links
from efge.experiments.contenders import Contender
from efge.graph.graph import Graph
from efge.graph.inputs import as_graph
from efge.io.atomic import atomic_write
from efge.models.base import NodeEmbedder
from efge.models.netmf import NetMF

Labels = Mapping[Hashable, tuple[Hashable, ...]]


class Network(NamedTuple):
    """A graph with the classes of its nodes, if any, and what tells them from others."""

    name: str
    graph: Graph
    labels: Labels
    fingerprint: str
    label_fingerprint: str


def make_network(name: str, graph: Graph, labels: Any = None) -> Network:
    """Match labels with the nodes of a graph; raise if no two classes are left.

    Examples
    --------
    >>> make_network("pair", efge.as_graph([("a", "b")]), {"a": 1, "b": 2, "z": 3}).labels
    {'a': (1,), 'b': (2,)}
    """
    by_name: dict[Hashable, tuple[Hashable, ...]] = {}
    if labels is not None:
        names = graph.names.tolist()
        targets = as_targets(labels, Embedding(np.zeros((graph.n_nodes, 1)), graph.names))
        if len(targets.classes) < 2:
            raise EvaluationError(
                f"{name}: classification needs at least two classes; all labelled nodes are in {targets.classes[0]!r}"
            )
        for row, members in zip(targets.rows.tolist(), targets.members, strict=True):
            by_name[names[row]] = tuple(targets.classes[column] for column in np.flatnonzero(members))
    digest = hashlib.sha256(repr(list(by_name.items())).encode()).hexdigest()
    return Network(name, graph, by_name, graph.fingerprint(), digest)


class Protocol(NamedTuple):
    """How contenders are scored."""

    percentages: tuple[float, ...] = (2, 10, 50, 90)
    splits: int = 5
    test_size: float = 0.5
    C: float = 1.0
    memory_limit: int = 1_600_000_000


class Outcome(NamedTuple):
    """The scores of a cell, or the reason why there are none."""

    network: str
    method: str
    ranked: bool
    task: str
    seed: int
    seconds: float
    scores: dict[str, float]
    reason: str | None


class JudgedCell(NamedTuple):
    """The smallest unit of work; its outcome is a file of its own."""

    network: Network
    contender: Contender
    task: str
    seed: int
    protocol: Protocol
    threads: int | None

    def config(self) -> dict[str, Any]:
        """Return all that the scores depend on."""
        protocol = self.protocol
        shared: dict[str, Any] = {"efge": efge.__version__, "task": self.task, "seed": self.seed, "C": protocol.C}
        shared |= {"graph": self.network.fingerprint, "method": self.contender.description}
        if self.task == "links":
            return shared | {"test_size": protocol.test_size}
        percentages = list(map(float, protocol.percentages))
        return shared | {
            "labels": self.network.label_fingerprint,
            "percentages": percentages,
            "splits": protocol.splits,
        }

    def path(self) -> str:
        """Return the path of the file with its outcome, relative to the folder of cells."""
        digest = hashlib.sha256(json.dumps(self.config(), sort_keys=True).encode()).hexdigest()[:12]
        network, method = (re.sub(r"[^\w.-]+", "-", name)[:40] for name in (self.network.name, self.contender.name))
        # Contenders with the same settings share a file, so that the name is of the kind of model only.
        kind = method if isinstance(self.contender.source, str) else type(self.contender.source).__name__
        return f"{network}/{self.task}/{kind}_{self.seed}_{digest}.json"

    def outcome(
        self, seconds: float = 0.0, scores: dict[str, float] | None = None, reason: str | None = None
    ) -> Outcome:
        """Return an outcome of this cell."""
        contender = self.contender
        return Outcome(
            self.network.name, contender.name, contender.ranked, self.task, self.seed, seconds, scores or {}, reason
        )


def score_cell(cell: JudgedCell) -> Outcome:
    """Train and score a contender; what is too large or fails has a reason instead of scores.

    Examples
    --------
    >>> ring = [(i, (i + step) % 30) for i in range(30) for step in (1, 2)]
    >>> network = make_network("ring", efge.as_graph(ring))
    >>> cell = JudgedCell(network, Contender("hope", efge.HOPE(dim=8)), "links", 0, Protocol(), threads=1)
    >>> list(score_cell(cell).scores)
    ['auc@uniform', 'auc@degree']
    """
    reason = reason_to_skip(cell.contender.source, cell.network.graph, cell.protocol.memory_limit)
    if reason is not None:
        return cell.outcome(reason=reason)
    score = _score_links if cell.task == "links" else _score_classification
    try:
        with threadpool_limits(cell.threads):
            seconds, scores = score(cell)
    except (ValueError, MemoryError, TrainingError) as error:
        return cell.outcome(reason=f"failed: {describe_error(error)}")
    return cell.outcome(seconds, scores)


def reason_to_skip(source: Any, graph: Graph, memory_limit: int) -> str | None:
    """Return why a model is not trained on a graph, or None.

    Examples
    --------
    >>> reason_to_skip(efge.NetMF(), efge.as_graph([(0, 1)], nodes=range(10)), memory_limit=300)
    'its dense matrix of 10 x 10 takes 400 bytes; the limit is 300'
    """
    n, size = graph.n_nodes, 4 * graph.n_nodes**2
    if isinstance(source, NetMF) and size > memory_limit:
        return f"its dense matrix of {n:,} x {n:,} takes {size:,} bytes; the limit is {memory_limit:,}"
    return None


def _fit(cell: JudgedCell, graph: Graph) -> tuple[float, Embedding]:
    """Return the seconds of a training, and its vectors."""
    if isinstance(cell.contender.source, NodeEmbedder):
        # Loads compiled code, which may take longer than the training; small graphs may not suit all settings.
        with suppress(ValueError):
            cell.contender.embed(as_graph([(0, 1), (1, 2)]), cell.seed, cell.threads)
    start = time.perf_counter()
    embedding = cell.contender.embed(graph, cell.seed, cell.threads)
    return time.perf_counter() - start, embedding


def _score_classification(cell: JudgedCell) -> tuple[float, dict[str, float]]:
    """Score at each percentage of labels; where nodes have several classes, their number is known."""
    seconds, embedding = _fit(cell, cell.network.graph)
    protocol = cell.protocol
    scores = node_classification(
        embedding,
        cell.network.labels,
        ratios=[percentage / 100 for percentage in protocol.percentages],
        repeats=protocol.splits,
        C=protocol.C,
        seed=cell.seed,
        threads=cell.threads,
    )
    suffix = " (counts known)" if "micro_f1 (counts known)" in scores.metrics else ""
    return seconds, {
        f"{metric}@{percentage:g}": float(scores.raw[percentage / 100,][metric + suffix].mean())
        for metric in ("micro_f1", "macro_f1")
        for percentage in protocol.percentages
    }


def _score_links(cell: JudgedCell) -> tuple[float, dict[str, float]]:
    """Score removed edges against both kinds of negative pairs; the model is trained once."""
    graph, test_size, seconds = cell.network.graph.largest_component(), cell.protocol.test_size, 0.0
    splits = {kind: split_links(graph, test_size, negatives=kind, seed=(0, cell.seed)) for kind in NEGATIVES}
    heuristic = HEURISTICS.get(cell.contender.source) if isinstance(cell.contender.source, str) else None
    if heuristic is None:
        seconds, embedding = _fit(cell, splits["uniform"].graph)
    scores = {}
    for kind, split in splits.items():
        if heuristic is None:
            values = pair_scores(embedding, split, "hadamard", cell.protocol.C)
        else:
            pairs = np.concatenate([split.test_edges, split.test_non_edges])
            values = heuristic(split.graph, pairs[:, 0], pairs[:, 1])
        scores[f"auc@{kind}"] = link_metrics(values, len(split.test_edges))["auc"]
    return seconds, scores


def read_outcome(folder: Path, cell: JudgedCell) -> Outcome | None:
    """Return the outcome in a cell's file if it has scores of the same configuration, and None otherwise."""
    try:
        content = json.loads((folder / cell.path()).read_text("utf-8"))
        if content["config"] == cell.config() and content["scores"]:
            scores = {str(name): float(score) for name, score in content["scores"].items()}
            return cell.outcome(float(content["seconds"]), scores)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # A missing or damaged file: the cell is scored again.
        pass
    return None


def write_outcome(folder: Path, cell: JudgedCell, outcome: Outcome) -> None:
    """Write the outcome of a cell to its file."""
    path = folder / cell.path()
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"config": cell.config()} | {name: getattr(outcome, name) for name in ("scores", "seconds", "reason")}
    with atomic_write(path) as stream:
        stream.write(json.dumps(content, indent=1).encode() + b"\n")
