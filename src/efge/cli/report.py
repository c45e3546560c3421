"""The command that writes a report on a graph: report."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from efge.cli import runs
from efge.cli.console import log_info, progress
from efge.cli.options import (
    READING_OPTIONS,
    GraphArgument,
    reading_arguments,
    select_options,
    split_commas,
    with_options,
)
from efge.cli.outputs import ForceFlag, check_outputs

# The steps of a report, for its progress.
_STEPS = 5


@with_options(READING_OPTIONS)
def report(
    graph: GraphArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Page to write, such as report.html.")],
    labels: Annotated[
        Path | None, typer.Option(help="File with a node and its class on each line.", show_default=False)
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", help="Models to choose from, as for embed. \\[default: poisson,prone,hope]"),
    ] = None,
    dim: Annotated[int, typer.Option(help="Number of dimensions of the vectors.")] = 128,
    seed: Annotated[int, typer.Option(help="Random seed; the same seed gives the same report.")] = 0,
    force: ForceFlag = False,
    **options: Any,
) -> None:
    """Write a report in one page: the graph, the model that suits it, its scores beside simple methods, and a map."""
    from efge.explore.page import check_page
    from efge.explore.report import write_report

    check_outputs([output], [graph, labels, options["nodes"]], force)
    check_page(output)
    reading = select_options(options, READING_OPTIONS)
    names = split_commas(model) or ["poisson", "prone", "hope"]
    models = {name: runs.make_model(name, {}, {"dim": dim, "seed": seed}) for name in names}
    network = runs.read_graph(graph, reading)
    command = ["efge", "report", graph, "-o", str(output), "--model", ",".join(names), "--dim", str(dim)]
    command += ["--seed", str(seed)] + ([] if labels is None else ["--labels", str(labels)])
    command += reading_arguments(reading)
    with progress("report", "") as advance:
        done = 0

        def show_step(step: str) -> None:
            nonlocal done
            done += 1
            advance(done, _STEPS, step)

        write_report(
            network,
            output,
            labels=labels,
            models=models,
            title=Path(graph).name,
            command=shlex.join(command),
            seed=seed,
            progress=show_step,
        )
    log_info(f"wrote {output}; open it in a browser")
