"""The command that describes a graph or vectors before they are used: info."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

import efge
from efge.cli import runs
from efge.cli.console import describe_in_shell, format_bytes, format_duration
from efge.cli.options import READING_OPTIONS, FamilyOptions, JsonFlag, select_options, with_options
from efge.system import available_threads

if TYPE_CHECKING:
    from efge.graph.conversion import ReadingRecord
    from efge.graph.graph import Graph

# Training pairs per second on one core, with tables that fit into its cache and with larger ones; and what each further
# core adds, as a share of the first. Measured on one machine, so estimates of time are only approximate.
_CACHED_PAIRS_PER_SECOND, _UNCACHED_PAIRS_PER_SECOND = 6.0e6, 3.5e6
_CACHE_BYTES = 3.0e7
_SPEEDUP_PER_CORE = 0.5
_USUAL_WALKS_PER_NODE = 24
# Fitted values of a saved model that are shown.
_FITTED = ("window_", "walks_per_node_", "converged_", "n_communities_", "n_updates_", "directed_", "seed_")


@with_options(READING_OPTIONS)
def info(
    graph: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A graph file, - for standard input, the name of a data set, a file of vectors, or a saved model.",
        ),
    ],
    dim: Annotated[int, typer.Option(help="Number of dimensions for which to estimate memory and time.")] = 128,
    vectors: Annotated[
        bool, typer.Option("--vectors", help="The file has vectors, not a graph. \\[default: from the file]")
    ] = False,
    family: Annotated[
        str | None,
        typer.Option(help="A saved model's family if it is your own, as module:Family or file.py:Family."),
    ] = None,
    family_option: FamilyOptions = None,
    as_json: JsonFlag = False,
    **options: Any,
) -> None:
    """Print what was read and guessed, statistics of the graph, what looks wrong, and the memory and time to embed it.

    For a file of vectors, print their statistics; for a saved model, its parameters and what it can do.
    """
    from efge.embedding.formats import holds_vectors
    from efge.graph.conversion import ReadingRecord
    from efge.graph.predictability import explain_unknown
    from efge.models.files import is_model

    reading = select_options(options, READING_OPTIONS)
    if not vectors and graph != "-" and is_model(graph):
        _print_model(graph, runs.load_model(graph, family, family_option), reading, as_json)
        return
    if family is not None or family_option is not None:
        raise ValueError(f"--family is for saved models; {graph} is none")
    if vectors or holds_vectors(graph):
        _print_vector_statistics(graph, reading, as_json)
        return
    record = ReadingRecord()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        network = runs.read_graph(graph, reading, record)
    statistics = _graph_statistics(network) | _reading_statistics(network, record, reading)
    peak_bytes, seconds = efge.estimate_memory(network, efge.EFGE(dim=dim)).peak, _estimate_seconds(network, dim)
    suspicions = [describe_in_shell(str(warning.message)) for warning in caught] + _find_suspicions(network, record)
    if as_json:
        estimates = {"embed bytes": peak_bytes, "embed seconds": round(seconds, 1)}
        print(json.dumps(statistics | estimates | {"guessed": record.guesses, "warnings": suspicions}))
        return
    duplicates = statistics.get("merged duplicates")
    if duplicates and not network.is_weighted:
        hint = "add --count-duplicates to weigh edges by how often they are listed"
        statistics["merged duplicates"] = f"{duplicates:,}; {hint}"
    if statistics["predictability"] is None:
        statistics["predictability"] = f"unknown: {explain_unknown(network)}"
    _print_statistics(statistics)
    print(f"{'embed takes':18} about {format_bytes(peak_bytes)} and {format_duration(seconds)} at {dim} dimensions")
    for name, text in record.guesses.items():
        print(f"{'guessed ' + name:18} {text}")
    for text in suspicions:
        print(f"{'looks wrong':18} {text}")


def _reading_statistics(graph: Graph, record: ReadingRecord, reading: Mapping[str, Any]) -> dict[str, Any]:
    """Return the number of rows, and what became of them; nothing if the graph was not a list of edges."""
    if record.rows is None:
        return {}
    skipped = {"rows left out": record.skipped} if record.skipped else {}
    lost = record.rows - record.skipped - graph.n_edges
    what = "merged or dropped" if "drop_self_loops" in reading else "merged duplicates"
    return {"rows read": record.rows} | skipped | {what: lost}


def _graph_statistics(graph: Graph) -> dict[str, Any]:
    import numpy as np

    from efge.graph.portrait import side_sizes

    degrees, sides = graph.degrees, side_sizes(graph)
    weights = {}
    if graph.weights is not None and len(graph.weights):
        weights["weights"] = f"{graph.weights.min():.6g} to {graph.weights.max():.6g}"
    return {
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "directed": graph.directed,
        "weighted": graph.is_weighted,
        **weights,
        "bipartite": "no" if sides is None else f"{sides[0]:,} + {sides[1]:,}",
        "self loops": graph.n_self_loops,
        "isolated nodes": graph.n_isolated,
        "components": graph.n_components,
        "largest component": int(np.bincount(graph.components).max(initial=0)),
        "smallest degree": int(degrees.min()) if len(degrees) else 0,
        "mean degree": round(float(degrees.mean()), 2) if len(degrees) else 0.0,
        "largest degree": int(degrees.max(initial=0)),
        "predictability": _predictability(graph),
        "fingerprint": graph.fingerprint(),
    }


def _predictability(graph: Graph) -> float | None:
    """Return whether links follow from others; None where it cannot be told."""
    from efge.graph.predictability import measure_predictability

    figure = measure_predictability(graph)
    return None if figure is None else round(figure, 3)


def _find_suspicions(graph: Graph, record: ReadingRecord) -> list[str]:
    """Return what looks like a mistake in the data."""
    from efge.graph.portrait import describe_names
    from efge.graph.predictability import describe_randomness, measure_predictability

    randomness = describe_randomness(measure_predictability(graph))
    return [*describe_names(graph, record), *filter(None, [randomness])]


def _print_statistics(statistics: Mapping[str, Any], width: int = 18) -> None:
    for name, value in statistics.items():
        text = {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
        print(f"{name:{width}} {text:,}" if isinstance(text, (int, float)) else f"{name:{width}} {text}")


def _print_vector_statistics(path: str, reading: Mapping[str, Any], as_json: bool) -> None:
    from efge.embedding.geometry import count_zero_rows, measure_geometry

    if set(reading) - {"format"}:
        raise ValueError(f"{path} has vectors, which take no options of graphs; got {', '.join(reading)}")
    embedding = efge.Embedding.load(path, reading.get("format"))
    geometry = measure_geometry(embedding.vectors)
    statistics: dict[str, float] = {
        "nodes": len(embedding),
        "dimensions": embedding.dim,
        "zero vectors": count_zero_rows(embedding.vectors),
    }
    if len(embedding) > 1:
        statistics["mean cosine"] = round(geometry.mean_cosine, 4)
        statistics["effective rank"] = round(geometry.effective_rank, 1)
    if as_json:
        print(json.dumps(statistics))
        return
    _print_statistics(statistics)
    if geometry.nearly_parallel:
        print(
            "The vectors are nearly parallel: neighbors by cosine mean little. Train with more walks or another family,"
            " or subtract the mean vector before use."
        )


def _print_model(path: str, model: Any, reading: Mapping[str, Any], as_json: bool) -> None:
    """Print the parameters and fitted values of a saved model, and which methods it has."""
    if reading:
        raise ValueError(f"{path} is a saved model, which takes no options of graphs; got {', '.join(reading)}")
    fitted = {name.rstrip("_"): getattr(model, name) for name in _FITTED if hasattr(model, name)}
    statistics = {
        "model": type(model).__name__,
        "nodes": len(model.embedding_),
        "dimensions": model.embedding_.dim,
        "parameters": {name: _as_json(value) for name, value in model.get_params().items()},
        "fitted": {name: _as_json(value) for name, value in fitted.items()},
        "diagnostics": model.diagnostics_.to_dict() if hasattr(model, "diagnostics_") else {},
        "new nodes": ", ".join(model._new_node_methods()),
        "recommend": hasattr(model, "recommend"),
        "update": hasattr(model, "partial_fit"),
    }
    if as_json:
        print(json.dumps(statistics))
        return
    for name, value in statistics.items():
        rows = {name: value}
        if isinstance(value, dict):
            print(name)
            rows = {f"  {key}": "none" if item is None else item for key, item in value.items()}
        # Names of parameters are longer than those of statistics.
        _print_statistics(rows, 26)


def _as_json(value: Any) -> Any:
    return value if value is None or type(value) in (bool, int, float, str) else repr(value)


def _estimate_seconds(graph: Graph, dim: int) -> float:
    """Estimate the time that embedding takes with default settings, if training converges after the usual walks."""
    from efge.models.efge import choose_window

    model = efge.EFGE()
    window = min(choose_window(graph), model.walk_length - 1)
    pairs_per_walk = 2 * window * model.walk_length - window * (window + 1)
    cores = available_threads()
    is_cached = 8 * graph.n_nodes * dim < _CACHE_BYTES
    rate = _CACHED_PAIRS_PER_SECOND if is_cached else _UNCACHED_PAIRS_PER_SECOND
    rate = rate * (1 + _SPEEDUP_PER_CORE * (cores - 1)) * 128 / dim
    return graph.n_nodes * _USUAL_WALKS_PER_NODE * pairs_per_walk / rate
