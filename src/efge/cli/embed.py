"""Commands that start from a graph: convert-graph, walks and embed."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import efge
from efge.cli import runs
from efge.cli.console import (
    VERBOSITY,
    format_bytes,
    format_duration,
    log_info,
    log_verbose,
    parse_bytes,
    parse_seconds,
    progress,
)
from efge.cli.options import (
    EXECUTION_OPTIONS,
    MODEL_OPTIONS,
    READING_OPTIONS,
    FamilyOptions,
    GraphArgument,
    ModelOption,
    PlotOption,
    select_options,
    with_options,
)
from efge.cli.outputs import ForceFlag, check_outputs, write_json
from efge.cli.update import check_update, update_model
from efge.progress import Advance, counter, describe_likelihood

if TYPE_CHECKING:
    from efge.graph.graph import Graph
    from efge.models.memory import Memory


@with_options(READING_OPTIONS)
def convert_graph(
    graph: Annotated[
        str, typer.Argument(metavar="GRAPH", help="An edge list or adjacency list, or - for standard input.")
    ],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The file to write, such as graph.efge.")],
    memory: Annotated[
        str | None, typer.Option(help="Memory to use, such as 4G. \\[default: half of the free memory]")
    ] = None,
    force: ForceFlag = False,
    **options: Any,
) -> None:
    """Convert a graph that may be larger than memory into a file on disk, which every command reads as a graph.

    The graph and its node names stay exactly the same. Data about nodes must fit into memory:
    75 bytes per node, or 220 if the names are not the integers from 0 on.
    """
    from efge.graph.external import convert_with_options, read_options

    start = time.perf_counter()
    check_outputs([new], [graph, options["nodes"]], force)
    reading = read_options(runs.parse_column_numbers(select_options(options, READING_OPTIONS)))
    with ExitStack() as stack:
        stages: dict[str, Advance] = {}

        def show_progress(stage: str, done: float, total: float) -> None:
            if stage not in stages:
                stack.close()
                stages[stage] = stack.enter_context(progress(stage, "B" if stage == "reading" else "edges"))
            stages[stage](done, total, "")

        convert_with_options(graph, new, reading, memory, show_progress)
    converted = efge.Graph.open(new)
    runs.warn_about_names(graph, converted, reading.record)
    log_info(f"wrote {converted!r} to {new} in {format_duration(time.perf_counter() - start)}")


@with_options(READING_OPTIONS)
def walks(
    graph: GraphArgument,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", help="Text file to write, compressed if its name ends in .gz; - is standard output."
        ),
    ],
    strategy: Annotated[str, typer.Option(help="Walk strategy: uniform, weighted or node2vec.")] = "uniform",
    p: Annotated[
        float, typer.Option(help="Return parameter of node2vec walks; below 1, they turn back more often.")
    ] = 1.0,
    q: Annotated[float, typer.Option(help="In-out parameter of node2vec walks; below 1, they go further away.")] = 1.0,
    walks_per_node: Annotated[int, typer.Option(help="Number of walks that start at each node.")] = 80,
    walk_length: Annotated[int, typer.Option(help="Number of nodes in a walk.")] = 10,
    seed: Annotated[int | None, typer.Option(help="Random seed; the same seed gives the same walks.")] = None,
    threads: Annotated[int | None, typer.Option(help="Number of threads. \\[default: all cores]")] = None,
    force: ForceFlag = False,
    **options: Any,
) -> None:
    """Write random walks to a text file, one walk per line."""
    if strategy != "node2vec" and (p, q) != (1.0, 1.0):
        raise ValueError(f"--p and --q are options of the strategy node2vec; the strategy is {strategy!r}")
    check_outputs([output], [graph, options["nodes"]], force)
    corpus = efge.Walks(
        runs.check_edges(graph, runs.read_graph(graph, select_options(options, READING_OPTIONS))),
        efge.Node2VecWalk(p, q) if strategy == "node2vec" else strategy,
        walks_per_node=walks_per_node,
        walk_length=walk_length,
        seed=seed,
        threads=threads,
    )
    with progress("walking", "walks") as advance:
        corpus.save(output, progress=counter(advance, len(corpus)))
    log_info(f"wrote {len(corpus):,} walks to {output}, seed {corpus.seed}")


@with_options(READING_OPTIONS, EXECUTION_OPTIONS, MODEL_OPTIONS)
def embed(
    graph: Annotated[
        str | None,
        typer.Argument(metavar="GRAPH", help="A graph file, - for standard input, or the name of a data set."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", help="File to write the vectors to; - with --to FORMAT writes to standard output."
        ),
    ] = None,
    model: ModelOption = None,
    family_option: FamilyOptions = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", "-c", help="File with values of options: a .toml file, or the .json beside an output."
        ),
    ] = None,
    to: Annotated[str | None, typer.Option(help="Format to write. \\[default: from the suffix]")] = None,
    save_model: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Also save the model, for recommend and for Python.", show_default=False),
    ] = None,
    tune: Annotated[
        bool,
        typer.Option("--tune", help="First choose family, window and filter by held-out edges; see efge tune."),
    ] = False,
    update: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Update a saved model to the graph instead of fitting a new one: old vectors move where edges have"
            " changed.",
            show_default=False,
        ),
    ] = None,
    freeze: Annotated[bool, typer.Option("--freeze", help="With --update, keep old vectors to the byte.")] = False,
    plot: PlotOption = None,
    allow_code: Annotated[
        bool, typer.Option("--allow-code", help="Run the code of your own family that the --config file names.")
    ] = False,
    force: ForceFlag = False,
    **options: Any,
) -> None:
    """Learn vectors for the nodes of a graph, and write them with the nodes' names.

    Also writes OUTPUT.json beside the output: version, parameters, seed and the graph's fingerprint.
    Run from the same folder, efge embed --config OUTPUT.json -o AGAIN repeats the run byte for byte.
    """
    from efge.embedding.formats import check_writable

    arguments = {"graph": graph, "output": output, "model": model, "family_options": family_option}
    settings = {name: value for name, value in arguments.items() if value} | _run_options(options)
    execution = select_options(options, EXECUTION_OPTIONS)
    if update is not None or freeze:
        path = check_update(update, execution, {"config": config, "plot": plot, "tune": tune or None})
        update_model(path, settings, freeze, _checkpoint_options(execution), save_model, to, force)
        return
    run = runs.resolve_run(config, settings, allow_code)
    if tune:
        from efge.cli.tune import check_tunable, tune_run

        check_tunable(run, settings)
    partition_options = _partition_options(run, execution)
    estimator = runs.make_model(run.model, run.family_options, run.parameters)
    check_writable(run.output, to)
    if save_model is not None:
        check_writable(save_model, "npz")
    _check_run_outputs(run, config, [save_model, plot], force)
    _compile_ahead(estimator)
    network = runs.check_edges(run.graph, runs.read_graph(run.graph, run.reading))
    if run.fingerprint not in (None, network.fingerprint()):
        raise ValueError(f"{run.graph}: this is not the graph of {config}, whose fingerprint is {run.fingerprint}")
    log_verbose(f"{run.graph}: {network!r}")
    if tune:
        estimator = tune_run(run, network, force)
    log_verbose(repr(estimator))
    start = time.perf_counter()
    fit(estimator, network, **_fit_options(estimator, network, run.output, execution), **partition_options)
    seconds = time.perf_counter() - start
    estimator.embedding_.save(run.output, to, escape_formulas=True)
    if save_model is not None:
        estimator.save(save_model)
    if run.output != "-":
        write_json(Path(f"{run.output}.json"), runs.make_record(run, estimator, network, seconds))
    if plot is not None:
        _plot_history(estimator, plot)
    _report(estimator, run.output, seconds)


def _compile_ahead(estimator: Any) -> None:
    """On the first run on a machine, compile the largest kernel in another process while this one reads the graph."""
    from efge.models.walk_base import WalkEmbedder

    if isinstance(estimator, WalkEmbedder) and not estimator._settings().partitions:
        from efge.training.compilation import compile_ahead

        compile_ahead()


def _run_options(options: Mapping[str, Any]) -> dict[str, Any]:
    return select_options(options, READING_OPTIONS) | select_options(options, MODEL_OPTIONS)


def _report(estimator: Any, output: str, seconds: float) -> None:
    figures = [f"{name} {value}" for name, value in estimator.diagnostics_.to_dict().items()]
    log_verbose(", ".join([*filter(None, [runs.describe_walks(estimator)]), *figures]))
    log_info(f"wrote {estimator.embedding_!r} to {output} in {format_duration(seconds)}, seed {estimator.seed_}")


def _check_run_outputs(run: runs.Run, config: Path | None, others: list[Any], force: bool) -> None:
    """Check the vectors, their record and other outputs; the record of a run may be replaced when it is repeated."""
    inputs = [run.graph, run.reading.get("nodes"), config]
    record = None if run.output == "-" else Path(f"{run.output}.json")
    if record is not None and config is not None and record.resolve() == config.resolve():
        record, inputs = None, inputs[:2]
    check_outputs([run.output, record, *others], inputs, force)


def _fit_options(estimator: Any, graph: Graph, output: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``fit`` for mapping and checkpoints; raise if training exceeds the memory limit."""
    from efge.models.walk_base import WalkEmbedder

    if options and not isinstance(estimator, WalkEmbedder):
        name = next(iter(options)).replace("_", "-")
        raise ValueError(f"--{name} is for models that learn from walks; {type(estimator).__name__} does not")
    if "memory_limit" in options:
        _check_memory(graph, estimator, options["memory_limit"], "mmap" in options)
    mmap: dict[str, Any] = {"mmap": Path(output).resolve().parent} if "mmap" in options else {}
    return mmap | _checkpoint_options(options)


def _check_memory(graph: Graph, estimator: Any, limit_text: str, mmap: bool) -> None:
    """Raise if training exceeds the memory limit; the message names the options with which it would not."""
    limit = parse_bytes(limit_text)

    def estimate(mmap: bool = mmap, **changes: Any) -> Memory:
        return efge.estimate_memory(graph, type(estimator)(**estimator.get_params() | changes), mmap=mmap)

    def fits(**changes: Any) -> bool:
        return estimate(**changes).peak <= limit

    memory = estimate()
    if memory.peak <= limit:
        return
    dims = range(16, int(estimator.dim), 16)
    fitting = bisect_left(dims, True, key=lambda dim: not fits(dim=dim))
    remedies = [f"--dim {dims[fitting - 1]}"] if fitting else []
    if not memory.mapped:
        remedies += ["--partitions 16"] if "partitions" in estimator.get_params() and fits(partitions=16) else []
        remedies += ["--mmap"] if fits(mmap=True) else []
    if remedies:
        advice = f"try {', or '.join(remedies)}"
    elif limit <= memory.program:
        advice = "Python and its libraries alone need more; raise the limit"
    else:
        advice = "the graph alone needs more; raise the limit, or choose a smaller graph"
    parts = {
        "Python and its libraries": memory.program,
        "vectors": memory.tables,
        "the graph": memory.graph,
        "walks": memory.walks,
    }
    listing = ", ".join(f"{name} {format_bytes(count)}" for name, count in parts.items())
    needed = f"this needs {format_bytes(memory.peak)} of memory ({listing})"
    raise ValueError(f"{needed}, but the limit is {limit_text}; {advice}")


def _checkpoint_options(options: Mapping[str, Any]) -> dict[str, Any]:
    if "checkpoint" not in options:
        if "resume" in options:
            raise ValueError("--resume needs the folder of the checkpoints; add --checkpoint FOLDER")
        return {}
    folder = options["checkpoint"]
    every = parse_seconds(options.get("every", "60s"))
    checkpoints = efge.Checkpoints(folder, resume="resume" in options, every=every)

    def describe() -> str:
        if checkpoints.exist():
            return f"checkpoints are in {folder}; add --resume to continue"
        return f"nothing was written, and no checkpoint is in {folder} yet"

    VERBOSITY.if_interrupted = describe
    return {"checkpoint": checkpoints}


def _partition_options(run: runs.Run, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``fit`` for partitioned training.

    Training on a cluster is always partitioned, so the default number of partitions is added to the run's record.
    """
    workdir, cluster = options.get("workdir"), options.get("cluster")
    if cluster is not None:
        from efge.training.partitioned.cluster import CLUSTER_PARTITIONS

        run.parameters.setdefault("partitions", CLUSTER_PARTITIONS)
    if run.parameters.get("partitions") is None:
        if workdir is not None:
            raise ValueError("--workdir is for partitioned training; add --partitions with the number of partitions")
        return {}
    # The system's folder for temporary files may be in memory, which partitions are meant to save.
    output_folder = None if run.output == "-" else Path(run.output).resolve().parent
    return {"workdir": workdir or output_folder} | ({} if cluster is None else {"cluster": cluster})


def fit(estimator: Any, graph: Graph, **options: Any) -> None:
    """Fit an estimator and show its progress."""
    with progress("training", "pairs") as advance:

        def show_progress(state: efge.Progress) -> None:
            advance(state.pairs, state.total, describe_likelihood(state))

        estimator.fit(graph, progress=show_progress, **options)


def _plot_history(estimator: Any, path: Path) -> None:
    from efge.plots import Curve, plot_curves, save_figure

    history = getattr(estimator, "history_", {})
    if "log_likelihood" not in history:
        raise ValueError(f"{type(estimator).__name__} has no training history to plot")
    steps = next(name for name in history if name != "log_likelihood")
    curve = Curve(history[steps], history["log_likelihood"])
    label = "log-likelihood of held-out pairs" if steps == "pairs" else "log-likelihood"
    save_figure(plot_curves({"": curve}, steps, label), path)
