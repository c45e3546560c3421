"""The command that compares models and vectors on your own graphs: benchmark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

import efge
from efge.cli import runs
from efge.cli.console import VERBOSITY, log_info, parse_bytes, progress
from efge.cli.evaluate import InverseRegularization, select_parameters
from efge.cli.options import (
    DEFAULT_MODEL,
    LABEL_OPTIONS,
    MODEL_OPTIONS,
    MODELS,
    READING_OPTIONS,
    JsonFlag,
    select_options,
    split_commas,
    with_options,
)
from efge.cli.outputs import check_outputs, files_in

# EFGE with its default settings, whatever family they have.
_DEFAULT = "default"


@with_options(
    LABEL_OPTIONS, READING_OPTIONS, {name: option for name, option in MODEL_OPTIONS.items() if name != "seed"}
)
def benchmark(
    graphs: Annotated[
        list[str], typer.Argument(metavar="GRAPH...", help="Graph files, or names of data sets, which bring labels.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write to.")],
    labels: Annotated[
        list[str] | None,
        typer.Option(metavar="[GRAPH=]FILE", help="File with a node and its class on each line; may be repeated."),
    ] = None,
    embedding: Annotated[
        list[str] | None,
        typer.Option(metavar="[GRAPH=]FILE", help="File of vectors to compare with the models; may be repeated."),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--models", "-m", help="Models as for embed, or default, separated by commas. \\[default: all of them]"
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Number of seeds, each with a new training and new splits.")] = 3,
    percentages: Annotated[
        str, typer.Option(help="Percentages of the labels to train on, separated by commas.")
    ] = "2,10,50,90",
    splits: Annotated[int, typer.Option(help="Number of random splits of the labels for each training.")] = 5,
    test_size: Annotated[float, typer.Option(help="Fraction of the edges to remove and predict.")] = 0.5,
    C: InverseRegularization = 1.0,  # noqa: N803
    matrix_limit: Annotated[
        str, typer.Option(metavar="SIZE", help="Skip models whose dense matrix needs more memory than this.")
    ] = "1.5G",
    processes: Annotated[int, typer.Option(help="Number of processes.")] = 1,
    as_json: JsonFlag = False,
    **options: Any,
) -> None:
    """Compare models and given vectors on your own graphs, by node classification and link prediction.

    Prints a table for each graph, with ranks and the distance from the best, and writes CSV and JSON files.
    With several graphs, labels and vectors need the name of their graph: its file without folder and suffix.
    If the command is interrupted, run it again: it continues where it stopped.
    """
    if not labels:
        runs.refuse_unused(options, dict.fromkeys(LABEL_OPTIONS, "the file of --labels"))
    methods = _make_methods(split_commas(models), select_options(options, MODEL_OPTIONS))
    networks = _read_networks(graphs, select_options(options, READING_OPTIONS))
    vectors: dict[str, dict[str, Any]] = {}
    for name, path in _match_files("--embedding", embedding or [], networks):
        vectors.setdefault(name, {})[Path(path).name] = efge.Embedding.load(path)
    # A run that continues replaces its own tables, so only inputs are protected.
    files = [path for _, path in _match_files("--labels", labels or [], networks)]
    tables = files_in(output, "scores.csv", "standings.csv", "benchmark.json")
    check_outputs(tables, [*graphs, *files, *(embedding or [])], force=True)
    VERBOSITY.if_interrupted = lambda: f"finished cells are in {output}; run the same command again to continue"
    with progress("measuring", "") as advance:
        scores = efge.benchmark(
            networks,
            methods,
            labels={
                name: runs.read_labels(path, options, networks[name])
                for name, path in _match_files("--labels", labels or [], networks)
            },
            embeddings=vectors,
            folder=output,
            seeds=seeds,
            percentages=_parse_percentages(percentages),
            splits=splits,
            test_size=test_size,
            C=C,
            memory_limit=parse_bytes(matrix_limit),
            processes=processes,
            threads=options.get("threads"),
            progress=advance,
        )
    print(json.dumps(scores.to_json()) if as_json else scores.to_markdown())
    log_info(f"wrote scores.csv, standings.csv and benchmark.json to {output}")


def _make_methods(names: list[str], parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the models by name; BigClam has as many communities as other models have dimensions."""
    from efge.experiments.contenders import DIM

    names = list(dict.fromkeys(names or [_DEFAULT, *MODELS]))
    methods: dict[str, Any] = {}
    for name in names:
        own = select_parameters(name, parameters, names)
        if name == "bigclam":
            own.setdefault("n_communities", parameters.get("dim", DIM))
        methods[name] = runs.make_model(DEFAULT_MODEL if name == _DEFAULT else name, {}, own)
    return methods


def _read_networks(graphs: list[str], reading: dict[str, Any]) -> dict[str, Any]:
    """Return graphs and data sets by the names that the tables use."""
    from efge.datasets.catalogue import DATASETS

    networks: dict[str, Any] = {}
    for graph in graphs:
        is_dataset = graph in DATASETS and not Path(graph).exists()
        name = graph if is_dataset else Path(graph).name.partition(".")[0] or graph
        if name in networks:
            raise ValueError(f"graphs need different names; {name!r} is there twice")
        networks[name] = efge.load_dataset(graph) if is_dataset and not reading else runs.read_graph(graph, reading)
    return networks


def _match_files(option: str, values: list[str], networks: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the graph and the file of each value; the graph may be omitted if there is only one."""
    matched = []
    for value in values:
        name, _, path = value.partition("=")
        if path and name in networks:
            matched.append((name, path))
        elif len(networks) == 1:
            matched.append((next(iter(networks)), value))
        else:
            raise ValueError(
                f"{option} is GRAPH=FILE if there are several graphs: {', '.join(networks)}; got {value!r}"
            )
    return matched


def _parse_percentages(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"percentages are numbers separated by commas, such as 10,50; got {text!r}") from None
