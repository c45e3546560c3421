"""Files of predictions: classes of nodes without a label, and missing links."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import efge
from efge.cli import runs
from efge.cli.console import log_info, progress
from efge.cli.options import split_commas

if TYPE_CHECKING:
    from efge.embedding.embedding import Embedding
    from efge.graph.graph import Graph


def write_rows(output: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table to a file: JSON or commas if the suffix says so, tabs otherwise; - is standard output."""
    from efge.io.atomic import atomic_write

    with atomic_write(output) as stream:
        if output.lower().endswith(".json"):
            records = [dict(zip(header, row, strict=True)) for row in rows]
            stream.write(json.dumps(records, default=str).encode() + b"\n")
            return
        text = io.StringIO()
        delimiter = "," if output.lower().endswith(".csv") else "\t"
        csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows([header, *rows])
        stream.write(text.getvalue().encode())


def predict_classes(embedding: Embedding, labels: Any, C: float, output: str) -> None:  # noqa: N803
    """Write classes and probabilities of the nodes without a label; several lines for a node of several classes."""
    classifier = efge.Classifier(C).fit(embedding, labels)
    nodes = classifier.unlabelled_
    column = {name: i for i, name in enumerate(classifier.classes_)}
    rows: list[tuple[Hashable, Hashable, str]] = []
    for node, found, probabilities in zip(nodes, classifier.predict(), classifier.predict_proba(), strict=True):
        for name in found if classifier.multilabel_ else (found,):
            rows.append((node, name, f"{probabilities[column[name]]:.4f}"))
    write_rows(output, ("node", "class", "probability"), rows)
    log_info(f"wrote classes of {len(nodes):,} nodes without a label to {output}")


def predict_links(model: Any, graph: Graph, output: str, k: int, of: list[str] | None) -> None:
    """Fit a model to all edges, and write the likeliest missing links."""
    from efge.cli.embed import fit
    from efge.graph.bipartite import two_kinds

    if not hasattr(type(model), "score_pairs"):
        known = "the models of EFGE, node2vec and line do"
        raise ValueError(f"{type(model).__name__} gives pairs of nodes no probability to score; {known}")
    nodes = None if of is None else [runs.find_node(graph, text) for text in split_commas(of)]
    fit(model, graph)
    with progress("scoring", "nodes") as advance:
        found = efge.missing_links(
            model,
            graph,
            k,
            nodes=nodes,
            threads=getattr(model, "threads", None),
            progress=lambda done, total: advance(done, total, ""),
        )
    write_rows(output, ("source", "target", "score"), [(a, b, f"{score:.4f}") for a, b, score in found])
    side = ", across the two sides of a bipartite graph" if two_kinds(graph) is not None else ""
    log_info(f"wrote {len(found):,} missing links{side} to {output}, seed {model.seed_}")


def check_prediction(output: str | None, unused: Mapping[str, Any] = MappingProxyType({})) -> None:
    """Refuse options that a prediction would ignore, and a file that cannot be written, before anything is computed."""
    if output is None:
        return
    given = next((name for name, value in unused.items() if value), None)
    if given is not None:
        raise ValueError(f"--predict trains one model on all edges and scores no split; leave out --{given}")
    if output != "-" and not Path(output).resolve().parent.is_dir():
        raise ValueError(f"{Path(output).parent}: no such folder")
