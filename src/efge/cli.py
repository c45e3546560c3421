"""The command line: one command a stage; the only room that prints.

Results go to standard output or a file, everything else to standard error. Bad input is one line and exit code 2.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import efge

if TYPE_CHECKING:
    from efge.graph import Graph

app = typer.Typer(
    name="efge",
    help="Node embeddings by exponential family graph embedding.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

GraphPath = Annotated[str, typer.Argument(metavar="GRAPH", help="A file in any readable format; - is standard input.")]
NodesPath = Annotated[Path | None, typer.Option("--nodes", help="A file of node names, for nodes without edges.")]
Directed = Annotated[
    bool | None, typer.Option("--directed/--undirected", help="Whether edges have a direction; else as the file says.")
]
Weighted = Annotated[
    bool | None, typer.Option("--weighted/--unweighted", help="Whether to read weights; else if there are any.")
]
Format = Annotated[str | None, typer.Option("--format", help="The file's format, if its suffix does not tell.")]


def main() -> None:
    """Run the command line."""
    try:
        app()
    except ValueError as error:
        print(f"efge: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        print(f"efge: {error.filename or 'output'}: {error.strerror or error}", file=sys.stderr)
        sys.exit(2)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"efge {efge.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


@app.command(epilog="Example: efge info friends.csv")
def info(
    graph: GraphPath,
    nodes: NodesPath = None,
    directed: Directed = None,
    weighted: Weighted = None,
    format: Format = None,  # noqa: A002
) -> None:
    """Print what a graph is: nodes, edges, degrees, components."""
    read = _read(graph, nodes=nodes, directed=directed, weighted=weighted, format=format)
    degrees = read.degrees
    sizes = {
        "nodes": f"{read.n_nodes:,}",
        "edges": f"{read.n_edges:,}",
        "directed": "yes" if read.directed else "no",
        "weighted": "yes" if read.is_weighted else "no",
        "self loops": f"{read.n_self_loops:,}",
        "isolated nodes": f"{read.n_isolated:,}",
        "components": f"{read.n_components:,}",
        "largest component": f"{read.largest_component().n_nodes:,} nodes",
        "degrees": f"{degrees.min():,} to {degrees.max():,}, {degrees.mean():.1f} on average",
        "fingerprint": read.fingerprint(),
    }
    for name, value in sizes.items():
        print(f"{name:18} {value}")


@app.command(epilog="Example: efge walks friends.csv -o walks.txt.gz --strategy node2vec --p 0.5 --q 2 --seed 1")
def walks(
    graph: GraphPath,
    output: Annotated[
        str, typer.Option("--output", "-o", help="The corpus to write, packed if named .gz; - is standard output.")
    ],
    nodes: NodesPath = None,
    directed: Directed = None,
    weighted: Weighted = None,
    format: Format = None,  # noqa: A002
    strategy: Annotated[str, typer.Option(help="uniform, weighted or node2vec.")] = "uniform",
    p: Annotated[float, typer.Option(help="Return parameter of node2vec.")] = 1.0,
    q: Annotated[float, typer.Option(help="In-out parameter of node2vec.")] = 1.0,
    walks_per_node: Annotated[int, typer.Option(help="Walks that start at each node.")] = 80,
    walk_length: Annotated[int, typer.Option(help="Nodes in a walk.")] = 10,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same walks.")] = None,
    threads: Annotated[int | None, typer.Option(help="By default, all cores.", show_default=False)] = None,
) -> None:
    """Write random walks to a text file, a walk a line, for other tools or for later."""
    chosen = efge.Node2VecWalk(p, q) if strategy == "node2vec" else strategy
    if strategy != "node2vec" and (p, q) != (1.0, 1.0):
        raise ValueError(f"p and q are node2vec's; got them with the strategy {strategy!r}")
    corpus = efge.Walks(
        _read(graph, nodes=nodes, directed=directed, weighted=weighted, format=format),
        chosen,
        walks_per_node=walks_per_node,
        walk_length=walk_length,
        seed=seed,
        threads=threads,
    )
    with _progress("walks", len(corpus)) as advance:
        corpus.save(output, progress=advance)
    print(f"efge: wrote {len(corpus):,} walks to {output}, seed {corpus.seed}", file=sys.stderr)


Several = Annotated[list[str] | None, typer.Option(help="Only these, by name; several are separated by commas.")]


@app.command(epilog="Example: efge reproduce links --networks cora --methods EFGE-Norm,HOPE --repeats 2 -o cora-links")
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

    plan = Plan(tuple(studies or STUDIES), _listed(networks), _listed(methods), repeats, quick)
    try:
        with _cost_progress("measuring") as advance:
            results = run(plan, output, processes=processes, progress=advance)
    except KeyboardInterrupt:
        print(f"efge: stopped; finished cells are kept in {output}, and the same command goes on", file=sys.stderr)
        raise typer.Exit(130) from None
    print(write_report(results, output))


def _listed(options: list[str] | None) -> tuple[str, ...] | None:
    return None if not options else tuple(name for option in options for name in option.split(",") if name)


def _read(graph: str, **options: Any) -> Graph:
    return efge.read_graph(graph, **options)


@contextmanager
def _progress(what: str, total: int) -> Iterator[Callable[[int], None] | None]:
    """A bar with rate and time left on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total, rate="")

        def advance(count: int) -> None:
            speed = bar.tasks[0].speed
            bar.update(task, advance=count, rate=f"{speed:,.0f} {what}/s" if speed else "")

        yield advance


@contextmanager
def _cost_progress(what: str) -> Iterator[Callable[[Any, float, float], None] | None]:
    """A bar with the cell just finished and the time left, on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn(what),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=600) as bar:
        task = bar.add_task("", total=None)

        def advance(cell: Any, done: float, total: float) -> None:
            bar.update(
                task, completed=done, total=total, description=str(cell.path.removesuffix(".csv")) if cell else ""
            )

        yield advance
