"""The command that chooses a model for a graph: tune; and the choice that embed --tune makes first."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import efge
from efge.cli import runs
from efge.cli.console import VERBOSITY, log_info, parse_seconds, progress
from efge.cli.options import (
    MODELS,
    PAPER_MODELS,
    PARAMETERS,
    READING_OPTIONS,
    GraphArgument,
    JsonFlag,
    PlotOption,
    reading_arguments,
    select_options,
    with_options,
)
from efge.cli.outputs import ForceFlag, check_outputs

if TYPE_CHECKING:
    from efge.graph.graph import Graph
    from efge.models.base import NodeEmbedder
    from efge.tuning.study import Study

# Parameters that are no part of a choice.
_EXECUTION = ("seed", "threads", "partitions")


@with_options(READING_OPTIONS)
def tune(
    graph: GraphArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the study; the same command continues it.")],
    labels: Annotated[
        Path | None,
        typer.Option(help="File with a node and its class on each line, to choose by classes.", show_default=False),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="Time to spend, such as 90s, 5m or 1h. \\[default: all of the space]")
    ] = None,
    fits: Annotated[int | None, typer.Option(help="Number of fits, at most. \\[default: as many as it takes]")] = None,
    space: Annotated[
        Path | None,
        typer.Option(
            help="A .toml or .json file with values of parameters: lists to choose from, or one value, as in dim = 64."
            " \\[default: families, windows and filters]"
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(help="With labels, the score to choose by: micro_f1, macro_f1 or accuracy. \\[default: micro_f1]"),
    ] = None,
    C: Annotated[float, typer.Option("--C", help="With labels, inverse regularization of the classifier.")] = 1.0,  # noqa: N803
    class_weight: Annotated[
        str | None,
        typer.Option(help="With labels, balanced gives rare classes more weight in the classifier. \\[default: none]"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed; the same seed gives the same study.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Number of threads. \\[default: all cores]")] = None,
    as_json: JsonFlag = False,
    plot: PlotOption = None,
    force: ForceFlag = False,
    **options: Any,
) -> None:
    """Choose a model and its parameters for a graph, and print the command that trains it.

    Without labels, a part of the edges is hidden, and candidates are scored by how well they find them.
    With labels, they are scored by cross-validation, and the best one once more on labels it was not chosen by.
    """
    reading = select_options(options, READING_OPTIONS)
    seconds = None if budget is None else parse_seconds(budget)
    check_outputs([plot], [graph, labels, space, options["nodes"]], force)
    network = runs.read_graph(graph, reading)
    study = _run_study(
        network,
        output,
        labels=labels,
        space=space,
        metric=metric,
        C=C,
        class_weight=class_weight,
        budget=seconds,
        fits=fits,
        force=force,
        seed=seed,
        threads=threads,
    )
    command = embed_command(graph, reading, _chosen(study), seed)
    if plot is not None:
        from efge.plots import save_figure

        save_figure(study.plot()[0], plot)
    if as_json:
        content = {"candidates": study.records(), "advice": study.advice, "expected": study.expected}
        print(json.dumps(content | {"command": command, "notes": list(study.notes)}))
        return
    print(f"{study.to_markdown()}\n\n{command}")
    log_info(f"wrote table.csv and study.json to {output}")


def _chosen(study: Study) -> Any:
    """Return the best estimator, or the default one where none beats chance."""
    return study.rows[0].candidate.estimator if study.beats_chance else efge.EFGE()


def _run_study(graph: Graph, folder: Path | None, **options: Any) -> Study:
    """Run a study and show its progress."""
    if folder is not None:
        VERBOSITY.if_interrupted = lambda: f"finished trials are in {folder}; run the same command again to continue"
    with progress("tuning", "") as advance:
        return efge.tune(graph, folder=folder, progress=advance, **options)


def check_tunable(run: runs.Run, settings: Mapping[str, Any]) -> None:
    """Refuse options that --tune is to choose."""
    from efge.tuning.space import DEFAULT_SPACE

    given = [name for name in ("model", "family_options") if name in settings]
    given += [name for name in run.parameters if name in DEFAULT_SPACE]
    if given:
        option = given[0].removesuffix("s").replace("_", "-")
        raise ValueError(f"--tune chooses --{option} itself; leave it out")


def tune_run(run: runs.Run, graph: Graph, force: bool) -> NodeEmbedder:
    """Choose family, window and filter for a run; other parameters stay as they were given."""
    from efge.tuning.space import DEFAULT_SPACE

    fixed = {name: runs.parse_integer(value) for name, value in run.parameters.items() if name not in _EXECUTION}
    study = _run_study(
        graph,
        None if run.output == "-" else Path(f"{run.output}.study"),
        space=DEFAULT_SPACE | {name: [value] for name, value in fixed.items()},
        force=force,
        seed=int(run.parameters.get("seed", 0)),
        threads=run.parameters.get("threads"),
    )
    best = f"{study.rows[0].candidate} of {len(study.rows)} candidates"
    log_info(f"chose {best if study.beats_chance else 'the defaults'}: {study.advice}")
    run.model, run.family_options, chosen = as_options(_chosen(study))
    run.parameters |= chosen
    model: NodeEmbedder = runs.make_model(run.model, run.family_options, run.parameters)
    return model


def as_options(estimator: Any) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return name, family options and parameters by which the command line makes an estimator."""
    from efge.families.builtin import FAMILIES

    name, defaults = type(estimator).__name__, estimator._default_params()
    family, family_options = estimator.get_params().get("family"), {}
    if family is not None and not isinstance(family, str):
        family_options = dict(vars(family))
        family = next(known for known, builtin in FAMILIES.items() if builtin is type(family))
    model = next(key for key, found in MODELS.items() if found == (name, family) and key not in PAPER_MODELS)
    changed = {key: value for key, value in estimator.get_params().items() if value != defaults[key]}
    parameters = {key: changed[key] for key in PARAMETERS if key in changed and key not in ("seed", "threads")}
    if "propagate" in parameters and parameters["propagate"] is None:
        parameters["propagate"] = "none"
    return model, family_options, parameters


def embed_command(graph: str, reading: Mapping[str, Any], estimator: Any, seed: int) -> str:
    """Return the command that trains an estimator on a graph."""
    model, family_options, parameters = as_options(estimator)
    words = ["efge", "embed", graph, "-o", "vectors.npz", *reading_arguments(reading), "--model", model]
    for name, value in family_options.items():
        words += ["--family-option", f"{name}={value}"]
    for name, value in (parameters | {"seed": seed}).items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join(words)
