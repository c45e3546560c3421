"""The command that uses a saved model: recommend."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from efge.cli import runs
from efge.cli.console import print_table
from efge.cli.neighbors import read_candidates
from efge.cli.options import READING_OPTIONS, FamilyOptions, JsonFlag, with_options


@with_options(READING_OPTIONS)
def recommend(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="File that embed --save-model wrote.")],
    node: Annotated[list[str], typer.Argument(metavar="NODE...", help="Names of nodes.")],
    k: Annotated[int, typer.Option("--count", "-k", help="Number of nodes to recommend for each node.")] = 10,
    exclude: Annotated[
        str | None,
        typer.Option(
            metavar="GRAPH",
            help="Graph, read with the options below, whose edges are known: neighbors in it are not recommended.",
        ),
    ] = None,
    among: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File of candidates, one name per line. \\[default: all nodes]")
    ] = None,
    family: Annotated[
        str | None,
        typer.Option(help="The model's family if it is your own, as module:Family or file.py:Family."),
    ] = None,
    family_option: FamilyOptions = None,
    as_json: JsonFlag = False,
    **options: Any,
) -> None:
    """Print the nodes that are most likely linked to nodes, by the likelihood of a saved model."""
    estimator = _load_model(model, family, family_option)
    names = [runs.find_node(estimator.embedding_, text) for text in node]
    candidates = None if among is None else read_candidates(among, estimator.embedding_)
    reading = runs.select_reading(options, READING_OPTIONS, "--exclude", exclude)
    graph = None if exclude is None else runs.read_graph_of(estimator.embedding_, exclude, reading)
    found = zip(names, estimator.recommend(names, k, among=candidates, exclude=graph), strict=True)
    rows = [(name, other, score) for name, recommended in found for other, score in recommended]
    if as_json:
        print(json.dumps([{"node": a, "recommended": b, "score": score} for a, b, score in rows], default=str))
        return
    print_table(["node", "recommended", "score"], [[str(a), str(b), f"{score:.4f}"] for a, b, score in rows])


def _load_model(path: str, family: str | None, family_option: list[str] | None) -> Any:
    estimator = runs.load_model(path, family, family_option)
    try:
        _ = estimator.recommend
    except AttributeError as error:
        raise ValueError(f"{path}: {error}") from None
    return estimator
