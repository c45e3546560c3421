"""The command for nodes that a saved model does not know: transform."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

import efge
from efge.cli import runs
from efge.cli.console import format_duration, log_info
from efge.cli.options import READING_OPTIONS, FamilyOptions, select_options, with_options
from efge.cli.outputs import ForceFlag, check_outputs


@with_options(READING_OPTIONS)
def transform(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="File that embed --save-model wrote, or vectors, for means over neighbors."
        ),
    ],
    graph: Annotated[
        str,
        typer.Argument(
            metavar="NEWGRAPH", help="The graph that has grown, or only its new edges; - is standard input."
        ),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", help="File to write the vectors of all nodes of NEWGRAPH to.")
    ],
    method: Annotated[
        str,
        typer.Option(
            help="Vectors of new nodes: average, fold-in, both, or projection. \\[default: what is best for the model]",
            show_default=False,
        ),
    ] = "auto",
    to: Annotated[str | None, typer.Option(help="Format to write. \\[default: from the suffix]")] = None,
    family: Annotated[
        str | None, typer.Option(help="The model's family if it is your own, as module:Family or file.py:Family.")
    ] = None,
    family_option: FamilyOptions = None,
    threads: Annotated[int | None, typer.Option(help="Number of threads. \\[default: all cores]")] = None,
    force: ForceFlag = False,
    **options: Any,
) -> None:
    """Write vectors for the nodes of a graph that has grown since a model was fitted; old vectors keep every bit."""
    from efge.embedding.formats import check_writable
    from efge.embedding.geometry import count_zero_rows
    from efge.graph.inputs import match_node_types

    check_writable(output, to)
    check_outputs([output], [model, graph, options["nodes"]], force)
    source = _load(model, family, family_option, threads)
    known = source if isinstance(source, efge.Embedding) else source.embedding_
    network = match_node_types(runs.read_graph(graph, select_options(options, READING_OPTIONS)), known.names)
    start = time.perf_counter()
    try:
        vectors = source.transform(network, method)
    except efge.GraphError as error:
        raise ValueError(f"{graph}: {error}") from None
    embedding = vectors if isinstance(vectors, efge.Embedding) else efge.Embedding(vectors, network.names)
    embedding.save(output, to, escape_formulas=True)
    is_new = known._index.rows(network.names) < 0
    n_zero = count_zero_rows(embedding.vectors[is_new])
    # NetMF's matrix is zero also for two nodes that chance would link as often as the graph does.
    reason = "NetMF sees no link" if type(source).__name__ == "NetMF" else "no path links them"
    zero = f", {n_zero:,} with a vector of zeros, as {reason} to an old node" if n_zero else ""
    seconds = format_duration(time.perf_counter() - start)
    log_info(f"wrote {embedding!r} to {output} in {seconds}, {int(is_new.sum()):,} of them new{zero}")


def _load(path: str, family: str | None, family_option: list[str] | None, threads: int | None) -> Any:
    """Read a model, or vectors."""
    from efge.models.files import is_model

    if path != "-" and not is_model(path):
        if family is not None or family_option:
            raise ValueError(f"{path}: --family is for a saved model; this file has vectors only")
        return efge.Embedding.load(path)
    estimator = runs.load_model(path, family, family_option)
    return estimator.set_params(threads=threads) if "threads" in estimator.get_params() else estimator
