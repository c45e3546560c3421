"""The command that finds communities of a graph, by a model that it trains, a saved one, or vectors: communities."""

from __future__ import annotations

import json
from collections.abc import Hashable
from pathlib import Path
from typing import Annotated, Any

import typer

import efge
from efge.cli import runs
from efge.cli.console import log_info, print_table
from efge.cli.embed import fit
from efge.cli.options import (
    LABEL_OPTIONS,
    MODEL_OPTIONS,
    READING_OPTIONS,
    FamilyOptions,
    GraphArgument,
    select_options,
    with_options,
)
from efge.cli.outputs import ForceFlag, check_outputs
from efge.cli.predict import write_rows

# The model that is trained unless another is named.
_DEFAULT_MODEL = "bigclam"


@with_options(
    READING_OPTIONS, {name: option for name, option in MODEL_OPTIONS.items() if name != "n_communities"}, LABEL_OPTIONS
)
def communities(
    graph: GraphArgument,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="File to write: a node and its community on each line, or a list if it is a .json file.",
        ),
    ],
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Model, as for embed. \\[default: bigclam]", show_default=False)
    ] = None,
    vectors: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Vectors, or a saved model, to group instead of training one.", show_default=False
        ),
    ] = None,
    family_option: FamilyOptions = None,
    n_communities: Annotated[
        int | None, typer.Option(help="Number of communities. \\[default: chosen from the data]", show_default=False)
    ] = None,
    overlapping: Annotated[
        bool | None,
        typer.Option("--overlapping/--disjoint", help="Whether communities overlap. \\[default: by the model]"),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="File of true classes of nodes to compare with.", show_default=False)
    ] = None,
    force: ForceFlag = False,
    **options: Any,
) -> None:
    """Find communities of a graph, write their nodes to a file, and print a summary."""
    check_outputs([output], [graph, labels, vectors, options["nodes"]], force)
    if labels is None:
        runs.refuse_unused(options, dict.fromkeys(LABEL_OPTIONS, "the file of --labels"))
    parameters = select_options(options, MODEL_OPTIONS)
    if vectors is not None:
        _check_only_seed({"model": model, "family_option": family_option} | parameters)
    network = runs.check_edges(graph, runs.read_graph(graph, select_options(options, READING_OPTIONS)))
    if n_communities is not None and n_communities > network.n_nodes:
        raise ValueError(f"there cannot be more communities than nodes, {network.n_nodes:,}; got {n_communities:,}")
    truth = _read_true_communities(labels, network, options)
    if vectors is None:
        source = _make_community_model(model, family_option, parameters, n_communities)
        fit(source, network)
        seed = int(source.seed_)
    else:
        source, seed = _load_source(vectors, network), runs.parse_integer(parameters.get("seed", 0))
    n_clusters = None if hasattr(source, "threshold_") and overlapping is not False else n_communities
    found = efge.communities(source, network, n_communities=n_clusters, overlapping=overlapping, seed=seed % 2**31)
    _write_communities(found, output)
    scores = [[name, f"{score:.4f}"] for name, score in found.score(truth, network).items()]
    print_table(["field", "value"], _summary_rows(found, network) + scores)
    n_without = network.n_nodes - _count_covered(found)
    if n_without:
        nodes = "1 node is" if n_without == 1 else f"{n_without:,} nodes are"
        log_info(f"{nodes} in no community, and not in {output}; --disjoint puts each node in one")
    log_info(f"wrote {found!r} to {output}, seed {seed}")


def _check_only_seed(options: dict[str, Any]) -> None:
    """Refuse options of a training, which vectors from a file have behind them."""
    given = [f"--{name.replace('_', '-')}" for name, value in options.items() if value is not None and name != "seed"]
    if given:
        raise ValueError(f"--vectors are trained already; leave out {', '.join(given)}")


def _load_source(path: str, graph: efge.Graph) -> Any:
    """Read a saved model, or vectors; raise unless they are of the nodes of the graph."""
    from efge.models.files import is_model

    source = runs.load_model(path, None, None) if path != "-" and is_model(path) else efge.Embedding.load(path)
    embedding = source if isinstance(source, efge.Embedding) else source.embedding_
    if set(embedding) != set(graph):
        raise ValueError(f"vectors and graph need the same nodes; {path} has {embedding!r}, and the graph is {graph!r}")
    return source


def _make_community_model(
    model: str | None, family_option: list[str] | None, parameters: dict[str, Any], n_communities: int | None
) -> Any:
    """Return the estimator to find communities with; an error about options of the default model says its name."""
    name = model or _DEFAULT_MODEL
    if name == _DEFAULT_MODEL and n_communities is not None:
        parameters = parameters | {"n_communities": n_communities}
    try:
        return runs.make_model(name, runs.parse_family_options(family_option or []), parameters)
    except ValueError as error:
        if model is not None:
            raise
        raise ValueError(
            f"{error}. {name} is the default model of communities; for another, add --model poisson"
        ) from None


def _summary_rows(found: efge.Communities, graph: efge.Graph) -> list[list[str]]:
    sizes = sorted(map(len, found), reverse=True)
    return [
        ["communities", f"{len(found):,}"],
        ["nodes in any", f"{_count_covered(found):,} of {graph.n_nodes:,}"],
        ["largest, smallest", f"{sizes[0]:,}, {sizes[-1]:,}" if sizes else "-"],
        ["overlapping", "no" if found.disjoint else "yes"],
    ]


def _count_covered(found: efge.Communities) -> int:
    return len({name for members in found for name in members})


def _read_true_communities(
    labels: Path | None, graph: efge.Graph, options: dict[str, Any]
) -> list[list[Hashable]] | None:
    """Return the nodes of each true class."""
    if labels is None:
        return None
    groups: dict[Hashable, list[Hashable]] = {}
    for node, names in runs.read_labels(labels, options, graph).items():
        for name in names if node in graph else ():
            groups.setdefault(name, []).append(node)
    if not groups:
        raise ValueError(f"{labels}: no node of {graph!r} has a label")
    return list(groups.values())


def _write_communities(found: efge.Communities, output: str) -> None:
    if output.lower().endswith(".json"):
        from efge.io.atomic import atomic_write

        with atomic_write(output) as stream:
            stream.write(json.dumps([list(members) for members in found], default=str).encode() + b"\n")
        return
    rows = [(name, number) for number, members in enumerate(found) for name in members]
    write_rows(output, ("node", "community"), rows)
