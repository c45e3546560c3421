"""A benchmark: many models on many networks, scored by classes and by links; finished cells are kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from efge.datasets import Dataset
from efge.embedding.embedding import Embedding
from efge.errors import (
    EvaluationError,
    check_folder_path,
    check_functions,
    check_positive_integers,
    check_positive_numbers,
    is_number,
)
from efge.experiments.contenders import library_methods, make_contenders
from efge.experiments.judging import (
    JudgedCell,
    Outcome,
    Protocol,
    make_network,
    read_outcome,
    score_cell,
    write_outcome,
)
from efge.experiments.pool import run_in_processes
from efge.experiments.standings import BenchmarkScores
from efge.graph.inputs import as_graph

Progress = Callable[[int, int, str], None]


def benchmark(  # noqa: PLR0913
    graphs: Mapping[str, Any],
    methods: Mapping[str, Any] | None = None,
    *,
    labels: Mapping[str, Any] | None = None,
    embeddings: Mapping[str, Mapping[str, Embedding]] | None = None,
    folder: str | os.PathLike[str] | None = None,
    seeds: int = 3,
    percentages: Sequence[float] = Protocol().percentages,
    splits: int = Protocol().splits,
    test_size: float = Protocol().test_size,
    C: float = Protocol().C,  # noqa: N803
    memory_limit: int = Protocol().memory_limit,
    processes: int = 1,
    threads: int | None = None,
    progress: Progress | None = None,
) -> BenchmarkScores:
    """Compare methods on your own graphs: node classification, and link prediction with two kinds of negative pairs.

    Each method is trained once for each network, task and seed. Classification trains on the whole graph and scores
    Micro-F1 and Macro-F1 of a logistic regression; where nodes have several classes, their number is known. Link
    prediction removes edges from the largest component, trains on the rest, and scores the AUC of a logistic regression
    on Hadamard products, against uniform negative pairs and against pairs with the degrees of edges (see
    :func:`efge.split_links`). Beside the methods stand the majority class and two heuristics, which take no rank.

    Parameters
    ----------
    graphs : mapping of names to graphs
        Anything :func:`efge.as_graph` takes, or a :class:`efge.Dataset`, which brings its labels.
    methods : mapping of names to estimators or functions, optional
        A function takes a graph and a seed, and returns an :class:`efge.Embedding`, or an array in the graph's order.
        By default, all models of the library.
    labels : mapping of names of graphs to labels, optional
        Anything :func:`efge.node_classification` takes. Graphs without labels are scored by links only.
    embeddings : mapping of names of graphs to mappings of names to embeddings, optional
        Vectors that you have already, for classification only: they have seen the edges that would be removed. A node
        without a vector gets zeros.
    folder : path, optional
        Where to write tables, and the scores of each cell as soon as it is finished. Cells of the same graph, method,
        version and settings that are there already are not computed again.
    seeds : int
        Number of seeds, each with a new training and new splits.
    percentages : sequence of float
        Percentages of the labels to train on.
    splits : int
        Number of random splits of the labels for each training.
    test_size : float
        Fraction of the edges to remove.
    C : float
        Inverse of the classifiers' regularization strength.
    memory_limit : int
        Methods whose dense matrix takes more bytes than this are not trained; a note says so.
    processes : int
        Number of processes; with several, each cell uses one thread.
    threads : int, optional
        Number of threads of each cell; by default, one for each core.
    progress : callable, optional
        Called with the number of finished cells, their total, and the name of the last one.

    Returns
    -------
    BenchmarkScores
        Means and deviations, ranks, regrets, and why cells are missing.

    Examples
    --------
    >>> import efge
    >>> ring = [(i, (i + step) % 30) for i in range(30) for step in (1, 2)]
    >>> halves = {node: node < 15 for node in range(30)}
    >>> methods = {"hope": efge.HOPE(dim=8), "netmf": efge.NetMF(dim=8)}
    >>> scores = efge.benchmark({"ring": ring}, methods, labels={"ring": halves}, seeds=2, percentages=[50])
    >>> scores.metrics
    ['micro_f1@50', 'macro_f1@50', 'auc@uniform', 'auc@degree']
    >>> sorted(standing.method for standing in scores.standings("micro_f1"))
    ['hope', 'netmf']
    """
    check_positive_integers(seeds=seeds, splits=splits, memory_limit=memory_limit, processes=processes, threads=threads)
    check_positive_numbers(EvaluationError, C=C)
    check_functions(progress=progress)
    check_folder_path("folder", folder)
    for name, mapping in {"graphs": graphs, "methods": methods, "labels": labels, "embeddings": embeddings}.items():
        if not isinstance(mapping, Mapping) and (mapping is not None or name == "graphs"):
            raise TypeError(f"{name} is a mapping, whose keys are names; got {mapping!r}"[:400])
    if not (is_number(test_size) and 0 < test_size < 1):
        raise EvaluationError(f"test_size is a fraction of the edges, above 0 and below 1; got {test_size!r}")
    protocol = Protocol(_check_percentages(percentages), splits, test_size, C, memory_limit)
    threads = 1 if processes > 1 else threads
    cells = list(_make_cells(graphs, methods, labels or {}, embeddings or {}, protocol, range(seeds), threads))
    outcomes = _run_cells(cells, None if folder is None else Path(folder) / "cells", processes, progress)
    scores = BenchmarkScores(outcomes)
    if folder is not None:
        scores.save(folder)
    return scores


def _check_percentages(percentages: Iterable[float]) -> tuple[float, ...]:
    if isinstance(percentages, (str, bytes)) or not isinstance(percentages, Iterable):
        raise EvaluationError(f"percentages is a list of numbers, such as [10, 50]; got {percentages!r}")
    listed = tuple(percentages)
    for percentage in listed:
        if not (is_number(percentage) and 0 < percentage < 100):
            raise EvaluationError(f"a percentage of labels is above 0 and below 100; got {percentage!r}")
    if not listed:
        raise EvaluationError("give at least one percentage of labels, such as 50")
    return tuple(dict.fromkeys(listed))


def _make_cells(
    graphs: Mapping[str, Any],
    methods: Mapping[str, Any] | None,
    labels: Mapping[str, Any],
    embeddings: Mapping[str, Mapping[str, Embedding]],
    protocol: Protocol,
    seeds: Iterable[int],
    threads: int | None,
) -> Iterator[JudgedCell]:
    """Yield the cells, all of a network and a seed together."""
    for what, names in (("labels", labels), ("embeddings", embeddings)):
        unknown = next((name for name in names if name not in graphs), None)
        if unknown is not None:
            raise EvaluationError(f"{what} of {unknown!r}: no such graph; known: {', '.join(graphs)}")
    methods = library_methods() if methods is None else methods
    seeds = list(seeds)
    for name, source in graphs.items():
        own = source.labels if isinstance(source, Dataset) else None
        graph = source.graph if isinstance(source, Dataset) else as_graph(source)
        network = make_network(name, graph, labels.get(name, own))
        contenders = make_contenders(methods, embeddings.get(name, {}))
        tasks = ("classification", "links") if network.labels else ("links",)
        for seed in seeds:
            for task in tasks:
                for contender in contenders:
                    if task in contender.tasks:
                        yield JudgedCell(network, contender, task, seed, protocol, threads)


def _run_cells(
    cells: Sequence[JudgedCell], folder: Path | None, processes: int, progress: Progress | None
) -> list[Outcome]:
    """Return the outcomes of all cells, in order; those that the folder has are read from it."""
    report = progress or (lambda done, total, name: None)
    known = {i: found for i, cell in enumerate(cells) if folder and (found := read_outcome(folder, cell)) is not None}
    # Contenders with the same settings have the same path, and are scored once.
    missing: dict[str, list[int]] = {}
    for i, cell in enumerate(cells):
        if i not in known:
            missing.setdefault(cell.path(), []).append(i)
    report(len(known), len(cells), "")
    for cell, outcome in _score(cells, [group[0] for group in missing.values()], processes):
        if folder is not None:
            write_outcome(folder, cell, outcome)
        for i in missing[cell.path()]:
            known[i] = cells[i].outcome(outcome.seconds, outcome.scores, outcome.reason)
        report(len(known), len(cells), f"{outcome.network}, {outcome.method}")
    return [known[i] for i in range(len(cells))]


def _score(cells: Sequence[JudgedCell], rows: Sequence[int], processes: int) -> Iterable[tuple[JudgedCell, Outcome]]:
    """Score cells in this process, or in several, whose methods must then be picklable."""
    chosen = [cells[row] for row in rows]
    if processes > 1:
        return run_in_processes(score_cell, chosen, processes)
    return ((cell, score_cell(cell)) for cell in chosen)
