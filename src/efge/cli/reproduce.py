"""Commands about published results and networks: reproduce and datasets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

import efge
from efge.cli.console import VERBOSITY, log_info, print_table, progress
from efge.cli.options import JsonFlag, split_commas


def reproduce(
    studies: Annotated[
        list[str] | None,
        typer.Argument(
            help="Studies: networks, classification, links, dimension, window, sigma, dolphins. \\[default: all]",
            show_default=False,
        ),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write to.")] = Path("reproduction"),
    quick: Annotated[bool, typer.Option("--quick", help="Take a few minutes: small networks, few repeats.")] = False,
    networks: Annotated[list[str] | None, typer.Option(help="Use only these networks, separated by commas.")] = None,
    methods: Annotated[list[str] | None, typer.Option(help="Use only these methods, separated by commas.")] = None,
    repeats: Annotated[
        int | None,
        typer.Option(help="Number of repeats of each score; rounded up to a multiple of 10 for classification."),
    ] = None,
    processes: Annotated[int | None, typer.Option(help="Number of processes. \\[default: all cores]")] = None,
) -> None:
    """Reproduce the paper's tables and figures, and compare them with the published numbers.

    Writes raw scores, tables, figures and the page report.html.
    If the command is interrupted, run it again: it continues where it stopped.
    """
    from efge.experiments.plan import STUDIES, Plan
    from efge.experiments.report import write_report
    from efge.experiments.runner import run

    selected_networks, selected_methods = tuple(split_commas(networks)), tuple(split_commas(methods))
    plan = Plan(tuple(studies or STUDIES), selected_networks or None, selected_methods or None, repeats, quick)
    VERBOSITY.if_interrupted = lambda: f"finished cells are in {output}; run the same command again to continue"
    with progress("measuring", "") as advance:

        def show_progress(cell: Any, done: float, total: float) -> None:
            advance(done, total, cell.path.removesuffix(".csv") if cell else "")

        results = run(plan, output, processes=processes, progress=show_progress)
    print(write_report(results, output))


datasets = typer.Typer(
    help="List, download or describe published networks.",
    rich_markup_mode="rich",
    invoke_without_command=True,
)


@datasets.callback()
def _list_without_subcommand(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        list_datasets()


@datasets.command("list", epilog="Example: efge datasets list")
def list_datasets(as_json: JsonFlag = False) -> None:
    """List the published networks that can be loaded by name."""
    from efge.datasets.catalogue import DATASETS

    if as_json:
        keys = ("about", "nodes", "edges", "classes", "publisher")
        print(json.dumps({name: {key: getattr(dataset, key) for key in keys} for name, dataset in DATASETS.items()}))
        return
    rows = [
        [name, f"{dataset.nodes:,}", f"{dataset.edges:,}", str(dataset.classes or "-"), dataset.about]
        for name, dataset in DATASETS.items()
    ]
    print_table(["name", "nodes", "edges", "classes", "description"], rows)


@datasets.command("fetch", epilog="Example: efge datasets fetch cora")
def fetch(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Names from efge datasets list.")],
) -> None:
    """Download networks from their publishers, unless a folder or the cache already has them."""
    for name in names:
        log_info(f"{efge.load_dataset(name)!r}")


@datasets.command("show", epilog="Example: efge datasets show cora")
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name from efge datasets list.")],
) -> None:
    """Describe a network, its source and its citation, without downloading it."""
    from efge.datasets.catalogue import DATASETS, DatasetError

    if name not in DATASETS:
        raise DatasetError(f"no data set {name!r}; known: {', '.join(DATASETS)}")
    dataset = DATASETS[name]
    rows = [
        ["name", name],
        ["description", dataset.about],
        ["nodes", f"{dataset.nodes:,}"],
        ["edges", f"{dataset.edges:,}"],
        ["classes", str(dataset.classes or "-")],
        ["publisher", dataset.publisher],
        ["address", dataset.addresses[0]],
        ["cite", dataset.citation],
    ]
    print_table(["field", "value"], rows)
