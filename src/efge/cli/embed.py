"""Commands that make something of a graph: info, convert-graph, walks, embed."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import efge
from efge.cli import runs
from efge.cli.console import VOICE, Advance, counter, duration, explain, progress, say, size, size_in_bytes
from efge.cli.options import (
    MODEL_OPTIONS,
    READING_OPTIONS,
    RUNNING_OPTIONS,
    FamilyOptions,
    GraphArgument,
    JsonFlag,
    ModelOption,
    PlotOption,
    given,
    with_options,
)

if TYPE_CHECKING:
    from efge.graph.graph import Graph
    from efge.models.memory import Memory

# Pairs a second that one core trains, in tables that fit its cache and in larger ones; further cores add this much of
# another. Measured on one machine: what is said of time is about right, no more.
_FAST, _SLOW, _CACHE, _FURTHER = 6.0e6, 3.5e6, 3.0e7, 0.5


@with_options(READING_OPTIONS)
def info(
    graph: GraphArgument,
    dim: Annotated[int, typer.Option(help="Dimensions to estimate the memory and time of embed for.")] = 128,
    as_json: JsonFlag = False,
    **options: Any,
) -> None:
    """Print what a graph is, and the memory and time that embedding it will take."""
    import numpy as np

    found = runs.read_graph(graph, given(options, READING_OPTIONS))
    degrees = found.degrees
    bytes_needed, seconds = efge.estimate_memory(found, efge.EFGE(dim=dim)).peak, _seconds(found, dim)
    facts: dict[str, Any] = {
        "nodes": found.n_nodes,
        "edges": found.n_edges,
        "directed": found.directed,
        "weighted": found.is_weighted,
        "self loops": found.n_self_loops,
        "isolated nodes": found.n_isolated,
        "components": found.n_components,
        "largest component": int(np.bincount(found.components).max(initial=0)),
        "smallest degree": int(degrees.min()) if len(degrees) else 0,
        "mean degree": round(float(degrees.mean()), 2) if len(degrees) else 0.0,
        "largest degree": int(degrees.max(initial=0)),
        "fingerprint": found.fingerprint(),
    }
    if as_json:
        print(json.dumps(facts | {"embed bytes": bytes_needed, "embed seconds": round(seconds, 1)}))
        return
    for name, value in facts.items():
        text = {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
        print(f"{name:18} {text:,}" if isinstance(text, (int, float)) else f"{name:18} {text}")
    print(f"{'embed takes':18} about {size(bytes_needed)} and {duration(seconds)} at {dim} dimensions")


def _seconds(graph: Graph, dim: int) -> float:
    """Time that embedding takes with default settings, about."""
    model = efge.EFGE()
    reach = min(model.window, model.walk_length - 1)
    around = 2 * reach * model.walk_length - reach * (reach + 1)
    cores = 1 + _FURTHER * (len(os.sched_getaffinity(0)) - 1 if hasattr(os, "sched_getaffinity") else 0)
    rate = (_FAST if 8 * graph.n_nodes * dim < _CACHE else _SLOW) * cores * 128 / dim
    return graph.n_nodes * model.walks_per_node * around / rate


@with_options(READING_OPTIONS)
def convert_graph(
    graph: Annotated[
        str, typer.Argument(metavar="GRAPH", help="An edge list or adjacency list, packed or not; - is standard input.")
    ],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The file to write, as graph.efge.")],
    memory: Annotated[
        str | None, typer.Option(help="How much memory to take, as 4G. \\[default: half of what is free]")
    ] = None,
    **options: Any,
) -> None:
    """Put a graph on disk, for graphs larger than memory; then take NEW as any other graph.

    The graph is the very same as from the text, under the same names. What is known of nodes is in memory: count on 75
    bytes of it for a node, and on 220 where names are not integers from 0 on.
    """
    begin = time.perf_counter()
    with ExitStack() as stack:
        stages: dict[str, Advance] = {}

        def tell(stage: str, done: float, total: float) -> None:
            if stage not in stages:
                stack.close()
                stages[stage] = stack.enter_context(progress(stage, "B" if stage == "reading" else "edges"))
            stages[stage](done, total, "")

        reading = runs.columns_of(given(options, READING_OPTIONS))
        efge.convert_graph(graph, new, memory=memory, progress=tell, **reading)
    found = efge.Graph.open(new)
    runs.point_out_header(graph, found, reading)
    say(f"wrote {found!r} to {new} in {duration(time.perf_counter() - begin)}")


@with_options(READING_OPTIONS)
def walks(
    graph: GraphArgument,
    output: Annotated[
        str, typer.Option("--output", "-o", help="The corpus to write, packed if named .gz; - is standard output.")
    ],
    strategy: Annotated[str, typer.Option(help="uniform, weighted or node2vec.")] = "uniform",
    p: Annotated[float, typer.Option(help="Return parameter of node2vec.")] = 1.0,
    q: Annotated[float, typer.Option(help="In-out parameter of node2vec.")] = 1.0,
    walks_per_node: Annotated[int, typer.Option(help="Walks that start at each node.")] = 80,
    walk_length: Annotated[int, typer.Option(help="Nodes in a walk.")] = 10,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same walks.")] = None,
    threads: Annotated[int | None, typer.Option(help="By default, all cores.", show_default=False)] = None,
    **options: Any,
) -> None:
    """Write random walks to a text file, a walk a line, for other tools or for later."""
    chosen = efge.Node2VecWalk(p, q) if strategy == "node2vec" else strategy
    if strategy != "node2vec" and (p, q) != (1.0, 1.0):
        raise ValueError(f"p and q are node2vec's; got them with the strategy {strategy!r}")
    corpus = efge.Walks(
        runs.read_graph(graph, given(options, READING_OPTIONS)),
        chosen,
        walks_per_node=walks_per_node,
        walk_length=walk_length,
        seed=seed,
        threads=threads,
    )
    with progress("walking", "walks") as advance:
        corpus.save(output, progress=counter(advance, len(corpus)))
    say(f"wrote {len(corpus):,} walks to {output}, seed {corpus.seed}")


@with_options(READING_OPTIONS, RUNNING_OPTIONS, MODEL_OPTIONS)
def embed(
    graph: Annotated[
        str | None, typer.Argument(metavar="GRAPH", help="A file, - for standard input, or a data set.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="The vectors to write; the suffix tells the format. - with --to."),
    ] = None,
    model: ModelOption = None,
    family_option: FamilyOptions = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", help="A .toml file with the same names, or the .json beside an output."),
    ] = None,
    to: Annotated[str | None, typer.Option(help="The format to write, if the suffix does not tell.")] = None,
    plot: PlotOption = None,
    **options: Any,
) -> None:
    """Learn vectors for the nodes of a graph, and write them under the nodes' names.

    A record beside the output, OUT.json, has version, parameters, seed and the graph's fingerprint; given as --config
    in the same folder, it repeats the run to the byte.
    """
    from efge.embedding.formats import check_writable

    said = {"graph": graph, "output": output, "model": model, "family_options": family_option}
    wanted = {name: value for name, value in said.items() if value}
    run = runs.run_of(config, wanted | given(options, READING_OPTIONS) | given(options, MODEL_OPTIONS))
    running = given(options, RUNNING_OPTIONS)
    placed = _placed(run, running)
    estimator = runs.make_model(run.model, run.family_options, run.parameters)
    check_writable(run.output, to)
    read = runs.read_graph(run.graph, run.reading)
    if run.fingerprint not in (None, read.fingerprint()):
        raise ValueError(f"{run.graph}: this is not the graph of {config}, whose fingerprint is {run.fingerprint}")
    explain(f"{run.graph}: {read!r}")
    explain(repr(estimator))
    begin = time.perf_counter()
    fit(estimator, read, **_running(estimator, read, run.output, running), **placed)
    seconds = time.perf_counter() - begin
    estimator.embedding_.save(run.output, to)
    if run.output != "-":
        _write_json(Path(f"{run.output}.json"), runs.record(run, estimator, read, seconds))
    if plot is not None:
        _plot_history(estimator, plot)
    say(f"wrote {estimator.embedding_!r} to {run.output} in {duration(seconds)}, seed {estimator.seed_}")


def _running(estimator: Any, graph: Graph, output: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """What fit is told of how to go about it; a training that would not fit in memory is refused."""
    from efge.models.walk_base import WalkEmbedder

    if options and not isinstance(estimator, WalkEmbedder):
        name = next(iter(options)).replace("_", "-")
        raise ValueError(f"--{name} is for models that learn from walks; {type(estimator).__name__} does not")
    if "memory_limit" in options:
        limit, mapped = size_in_bytes(options["memory_limit"]), "mmap" in options
        needs = efge.estimate_memory(graph, estimator, mmap=mapped)
        if needs.peak > limit:
            raise ValueError(_too_large(needs, limit, estimator, options["memory_limit"]))
    told: dict[str, Any] = {"mmap": Path(output).resolve().parent} if "mmap" in options else {}
    return told | _kept(options)


def _too_large(needs: Memory, limit: int, estimator: Any, said: str) -> str:
    """What to lower, so that the training would not need more than the limit."""
    rest = limit - (needs.peak - needs.tables)
    dim = max(0, rest * estimator.dim // max(needs.tables, 1)) // 16 * 16
    ways = [f"--dim {dim}"] if needs.tables and dim else []
    ways += ["--partitions 16", "--mmap"] if needs.tables and not needs.mapped and rest > 0 else []
    what = f"vectors {size(needs.tables)}, the graph {size(needs.graph)}, walks {size(needs.walks)}"
    advice = (
        f"try {', or '.join(ways)}" if ways else "the graph alone needs more; raise the limit, or take a smaller graph"
    )
    return f"this needs {size(needs.peak)} of memory ({what}), and the limit is {said}; {advice}"


def _kept(options: Mapping[str, Any]) -> dict[str, Any]:
    """What fit is told of checkpoints."""
    if "checkpoint" not in options:
        if "resume" in options:
            raise ValueError("resuming needs the folder of the state; give it by --checkpoint")
        return {}
    folder, every = options["checkpoint"], options.get("every", "60s")
    amount = re.fullmatch(r"(\d+(?:\.\d*)?)\s*(s|min|h)?", every.strip())
    if amount is None:
        raise ValueError(f"a time is a number of s, min or h, as 30s; got {every!r}")
    seconds = float(amount[1]) * {"s": 1, "min": 60, "h": 3600}[amount[2] or "s"]
    VOICE.if_stopped = f"the state is kept in {folder}, and --resume goes on"
    return {"checkpoint": efge.Checkpoints(folder, resume="resume" in options, every=seconds)}


def _placed(run: runs.Run, options: Mapping[str, Any]) -> dict[str, Any]:
    """What fit is told of where parts are; on a cluster there are parts, and the record is to say how many."""
    workdir, cluster = options.get("workdir"), options.get("cluster")
    if cluster is not None:
        from efge.training.partitioned.cluster import CLUSTER_PARTITIONS

        run.parameters.setdefault("partitions", CLUSTER_PARTITIONS)
    if run.parameters.get("partitions") is None:
        if workdir is not None:
            raise ValueError("--workdir is for tables in parts; give their number by --partitions")
        return {}
    # The system's own folder for temporary files may be in memory, which is what there is too little of.
    beside = None if run.output == "-" else Path(run.output).resolve().parent
    return {"workdir": workdir or beside} | ({} if cluster is None else {"cluster": cluster})


def fit(estimator: Any, graph: Graph, **options: Any) -> None:
    """Fit an estimator, and show how far it is."""
    with progress("training", "pairs") as advance:

        def tell(at: efge.Progress) -> None:
            likelihood = "" if at.log_likelihood != at.log_likelihood else f"log-likelihood {at.log_likelihood:.4f}"
            advance(at.pairs, at.total, likelihood)

        estimator.fit(graph, progress=tell, **options)


def _write_json(path: Path, content: Any) -> None:
    from efge.io.atomic import written_whole

    with written_whole(path) as stream:
        stream.write(json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n")


def _plot_history(estimator: Any, path: Path) -> None:
    from efge.plots import Curve, plot_curves, save_figure

    history = getattr(estimator, "history_", {})
    if "log_likelihood" not in history:
        raise ValueError(f"{type(estimator).__name__} has no training history to draw")
    steps = next(name for name in history if name != "log_likelihood")
    curve = Curve(history[steps], history["log_likelihood"])
    label = "log-likelihood of pairs held apart" if steps == "pairs" else "log-likelihood"
    save_figure(plot_curves({"": curve}, steps, label), path)
