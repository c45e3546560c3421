"""Commands on what others published: reproduce, datasets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

import efge
from efge.cli.console import VOICE, print_table, progress, say
from efge.cli.options import JsonFlag, listed

Several = Annotated[list[str] | None, typer.Option(help="Only these, by name; several with commas between.")]


def reproduce(
    studies: Annotated[
        list[str] | None,
        typer.Argument(help="networks, classification, links, dimension, window, sigma, dolphins; all by default."),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write to.")] = Path("reproduction"),
    quick: Annotated[bool, typer.Option("--quick", help="A few minutes: small networks, few repeats.")] = False,
    networks: Several = None,
    methods: Several = None,
    repeats: Annotated[
        int | None, typer.Option(help="Repeats of each score; splits come in tens.", show_default=False)
    ] = None,
    processes: Annotated[int | None, typer.Option(help="By default, all cores.", show_default=False)] = None,
) -> None:
    """Measure the paper's tables and figures again, with the published numbers beside ours.

    Writes raw scores, tables, figures and a page to open, report.html. What is finished is kept: the same command goes
    on where an earlier one stopped.
    """
    from efge.experiments.plan import STUDIES, Plan
    from efge.experiments.report import write_report
    from efge.experiments.running import run

    plan = Plan(
        tuple(studies or STUDIES), tuple(listed(networks)) or None, tuple(listed(methods)) or None, repeats, quick
    )
    VOICE.if_stopped = f"finished cells are kept in {output}, and the same command goes on"
    with progress("measuring", "") as advance:

        def tell(cell: Any, done: float, total: float) -> None:
            advance(done, total, cell.path.removesuffix(".csv") if cell else "")

        results = run(plan, output, processes=processes, progress=tell)
    print(write_report(results, output))


datasets = typer.Typer(
    help="Published networks: list them, fetch them, show what one is.",
    rich_markup_mode="rich",
    invoke_without_command=True,
)


@datasets.callback()
def _list_if_alone(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        list_datasets()


@datasets.command("list", epilog="Example: efge datasets list")
def list_datasets(as_json: JsonFlag = False) -> None:
    """List the networks that are known by name."""
    from efge.datasets.catalogue import DATASETS

    if as_json:
        counts = ("about", "nodes", "edges", "classes", "publisher")
        print(json.dumps({name: {key: getattr(known, key) for key in counts} for name, known in DATASETS.items()}))
        return
    rows = [
        [name, f"{known.nodes:,}", f"{known.edges:,}", str(known.classes or "-"), known.about]
        for name, known in DATASETS.items()
    ]
    print_table(["name", "nodes", "edges", "classes", "what it is"], rows)


@datasets.command("fetch", epilog="Example: efge datasets fetch cora")
def fetch(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Names as efge datasets lists them.")],
) -> None:
    """Make sure that networks are here: from a folder, the cache, or their publishers."""
    for name in names:
        say(f"{efge.load_dataset(name)!r}")


@datasets.command("show", epilog="Example: efge datasets show cora")
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name as efge datasets lists it.")],
) -> None:
    """Print what a network is, where it comes from and whom to cite, without fetching it."""
    from efge.datasets.catalogue import DATASETS, DatasetError

    if name not in DATASETS:
        raise DatasetError(f"no data set {name!r}; known: {', '.join(DATASETS)}")
    known = DATASETS[name]
    rows = [
        ["name", name],
        ["what it is", known.about],
        ["nodes", f"{known.nodes:,}"],
        ["edges", f"{known.edges:,}"],
        ["classes", str(known.classes or "-")],
        ["publisher", known.publisher],
        ["address", known.addresses[0]],
        ["cite", known.citation],
    ]
    print_table(["what", "value"], rows)
