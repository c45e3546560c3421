"""Commands that use vectors, or judge models: neighbors, classify, links, communities, explore, convert."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import efge
from efge.cli import runs
from efge.cli.console import counter, print_table, progress, say
from efge.cli.embed import fit
from efge.cli.options import (
    MODEL_OPTIONS,
    READING_OPTIONS,
    FamilyOptions,
    GraphArgument,
    JsonFlag,
    PlotOption,
    given,
    listed,
    with_options,
)

if TYPE_CHECKING:
    from efge.evaluation.results import Scores

_MOST_COLUMNS = 10_000

VectorsArgument = Annotated[str, typer.Argument(metavar="OUT", help="Vectors, as embed wrote them.")]
FormatOption = Annotated[str | None, typer.Option("--format", help="The vectors' format, if the suffix does not tell.")]


def neighbors(
    vectors: VectorsArgument,
    nodes: Annotated[list[str], typer.Argument(metavar="NODE...", help="Names of nodes.")],
    k: Annotated[int, typer.Option("--count", "-k", help="How many for each.")] = 10,
    metric: Annotated[str, typer.Option(help="cosine or dot.")] = "cosine",
    as_json: JsonFlag = False,
    format: FormatOption = None,  # noqa: A002
) -> None:
    """Print the nodes nearest to a node."""
    embedding = efge.Embedding.load(vectors, format)
    names = [_name(embedding, node) for node in nodes]
    found = [(name, near, score) for name in names for near, score in embedding.neighbors(name, k, metric)]
    if as_json:
        print(json.dumps([{"node": a, "neighbor": b, metric: score} for a, b, score in found], default=str))
        return
    print_table(["node", "neighbor", metric], [[str(a), str(b), f"{score:.4f}"] for a, b, score in found])


def _name(embedding: Any, text: str) -> Hashable:
    """The node that is written so: the shell knows no integers."""
    for name in (text, int(text) if text.lstrip("-").isdecimal() else text):
        if name in embedding:
            return name
    try:
        embedding[text]
    except KeyError as error:
        raise ValueError(error.args[0]) from None
    raise ValueError(f"no node named {text!r}")


def classify(
    vectors: VectorsArgument,
    labels: Annotated[Path, typer.Argument(metavar="LABELS", help="A node and its class a line.")],
    ratios: Annotated[str, typer.Option(help="Shares of the nodes to learn from, with commas.")] = "0.1,0.5,0.9",
    repeats: Annotated[int, typer.Option(help="Random splits for each.")] = 50,
    seed: Annotated[int, typer.Option(help="The same seed gives the same splits.")] = 0,
    as_json: JsonFlag = False,
    plot: PlotOption = None,
    format: FormatOption = None,  # noqa: A002
) -> None:
    """Score vectors by how well a linear classifier tells the classes of nodes from them."""
    try:
        shares = [float(ratio) for ratio in ratios.split(",")]
    except ValueError:
        raise ValueError(f"ratios are numbers with commas between, as 0.1,0.5; got {ratios!r}") from None
    embedding = efge.Embedding.load(vectors, format)
    with progress("splits", "splits") as advance:
        scores = efge.node_classification(
            embedding, labels, ratios=shares, repeats=repeats, seed=seed, progress=counter(advance, repeats)
        )
    _show(scores, as_json, plot)


def _show(scores: Scores, as_json: bool, plot: Path | None) -> None:
    if as_json:
        print(json.dumps({"scores": scores.records(), "notes": list(scores.notes)}))
    else:
        print(scores.to_markdown())
    if plot is not None:
        from efge.plots import save_figure

        save_figure(scores.plot(), plot)


@with_options(READING_OPTIONS, MODEL_OPTIONS)
def links(
    graph: GraphArgument,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", help="As for embed; several with commas between. \\[default: normal]"),
    ] = None,
    family_option: FamilyOptions = None,
    share: Annotated[float, typer.Option(help="Of the edges, to be removed and predicted.")] = 0.5,
    repeats: Annotated[int, typer.Option(help="Splits, each with a new training.")] = 5,
    features: Annotated[
        str, typer.Option(help="hadamard, average, l1, l2, cosine, dot; several with commas.")
    ] = "hadamard,cosine,dot",
    hits: Annotated[int, typer.Option(help="The k of hits@k.")] = 50,
    save_splits: Annotated[
        Path | None, typer.Option(help="A folder to keep the splits in, for other tools.", show_default=False)
    ] = None,
    as_json: JsonFlag = False,
    plot: PlotOption = None,
    **options: Any,
) -> None:
    """Score models by edges that they have not seen, with the classical heuristics beside them."""
    names = listed(model) or ["normal"]
    parameters = given(options, MODEL_OPTIONS)
    seed = int(parameters.pop("seed", 0))
    families = runs.family_options(family_option or [])
    models = {name: runs.make_model(name, families, _own(name, parameters, names)) for name in names}
    read = runs.read_graph(graph, given(options, READING_OPTIONS))
    splits = [efge.split_links(read, share, seed=(seed, number)) for number in range(repeats)]
    if save_splits is not None:
        for number, split in enumerate(splits):
            split.save(save_splits / f"split_{number}")
    with progress("models", "") as advance:
        count = counter(advance, repeats * (len(models) + 1))
        chosen = listed([features])
        scores = efge.link_prediction(
            read, models, repeats=repeats, features=chosen, hits=hits, seed=seed, splits=splits, progress=count
        )
    _show(scores, as_json, plot)


def _own(name: str, parameters: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Of parameters for several models, those that this one has; each must have somebody to go to."""
    from efge.cli.options import MODELS, PARAMETERS

    estimators = {other: MODELS.get(other, ("EFGE", other))[0] for other in names}
    return {
        key: value
        for key, value in parameters.items()
        if estimators[name] in PARAMETERS[key].estimators
        or not any(estimator in PARAMETERS[key].estimators for estimator in estimators.values())
    }


@with_options(READING_OPTIONS, MODEL_OPTIONS)
def communities(
    graph: GraphArgument,
    output: Annotated[str, typer.Option("--output", "-o", help="A node and its community a line; .json for a list.")],
    model: Annotated[str, typer.Option("--model", "-m", help="As for embed.")] = "bigclam",
    family_option: FamilyOptions = None,
    number: Annotated[
        int | None, typer.Option(help="How many; chosen by the data if not given.", show_default=False)
    ] = None,
    overlapping: Annotated[
        bool | None, typer.Option("--overlapping/--disjoint", help="Else as the model's vectors allow.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="True classes of nodes, to compare with.", show_default=False)
    ] = None,
    **options: Any,
) -> None:
    """Group the nodes of a graph, write who is where, and print a summary."""
    read = runs.read_graph(graph, given(options, READING_OPTIONS))
    truth = _truth(labels, read)
    parameters = given(options, MODEL_OPTIONS)
    if model == "bigclam" and number is not None:
        parameters.setdefault("communities", number)
    estimator = runs.make_model(model, runs.family_options(family_option or []), parameters)
    fit(estimator, read)
    wanted = None if model == "bigclam" and overlapping is not False else number
    found = efge.communities(estimator, read, number=wanted, overlapping=overlapping, seed=int(estimator.seed_) % 2**31)
    _write_communities(found, output)
    sizes = sorted(map(len, found), reverse=True)
    covered = len({name for members in found for name in members})
    rows = [
        ["communities", f"{len(found):,}"],
        ["nodes in any", f"{covered:,} of {read.n_nodes:,}"],
        ["largest, smallest", f"{sizes[0]:,}, {sizes[-1]:,}" if sizes else "-"],
        ["overlapping", "no" if found.disjoint else "yes"],
    ]
    rows += [[name, f"{score:.4f}"] for name, score in found.score(truth, read).items()]
    print_table(["what", "value"], rows)
    say(f"wrote {found!r} to {output}, seed {estimator.seed_}")


def _truth(labels: Path | None, graph: efge.Graph) -> list[list[Hashable]] | None:
    """The nodes of each true class."""
    if labels is None:
        return None
    groups: dict[Hashable, list[Hashable]] = {}
    for node, names in efge.read_labels(labels).items():
        for name in names if node in graph else ():
            groups.setdefault(name, []).append(node)
    if not groups:
        raise ValueError(f"{labels}: no node of {graph!r} has a label")
    return list(groups.values())


def _write_communities(found: efge.Communities, output: str) -> None:
    from efge.io.atomic import written_whole

    with written_whole(output) as stream:
        if output.lower().endswith(".json"):
            stream.write(json.dumps([list(members) for members in found], default=str).encode() + b"\n")
            return
        text = io.StringIO()
        mark = "," if output.lower().endswith(".csv") else "\t"
        rows = [(name, number) for number, members in enumerate(found) for name in members]
        csv.writer(text, delimiter=mark, lineterminator="\n").writerows([("node", "community"), *rows])
        stream.write(text.getvalue().encode())


def explore(
    vectors: VectorsArgument,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="The page to write; OUT.html by default.", show_default=False)
    ] = None,
    graph: Annotated[str | None, typer.Option(help="The graph, to show degrees and edges.", show_default=False)] = None,
    labels: Annotated[
        Path | None, typer.Option(help="A node and its class a line, to color by.", show_default=False)
    ] = None,
    table: Annotated[
        Path | None, typer.Option(help="A CSV or Parquet table of nodes, to color by its columns.", show_default=False)
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="tsne, umap or pca; chosen by size if not given.", show_default=False)
    ] = None,
    title: Annotated[str | None, typer.Option(help="What the page is called.", show_default=False)] = None,
    plot: PlotOption = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same page.")] = 0,
    format: FormatOption = None,  # noqa: A002
) -> None:
    """Write one interactive page that opens from disk: a map of the vectors to search, color and select from."""
    from efge.explore import write_page

    embedding = efge.Embedding.load(vectors, format)
    path = output or f"{vectors}.html"
    write_page(
        embedding,
        path,
        graph=None if graph is None else runs.read_graph(graph, {}),
        labels=labels,
        columns=None if table is None else _table(table),
        method=method,
        title=title or Path(vectors).name,
        seed=seed,
    )
    if plot is not None:
        from efge.plots import save_figure

        save_figure(efge.plot_embedding(embedding, labels, method=method, seed=seed), plot)
    say(f"wrote {path}; open it in a browser")


def _table(path: Path) -> Any:
    """A data frame whose first column, or the one named node, is the nodes."""
    from efge.errors import GraphError, reason_of
    from efge.io.arrow import read_parquet
    from efge.io.files import opened

    try:
        import pandas as pd
    except ImportError:
        raise ImportError("tables of nodes are read by pandas; install efge[pandas]") from None
    with opened(path) as stream:
        data = stream.read()
    try:
        if ".parquet" in path.suffixes:
            return read_parquet(io.BytesIO(data), str(path)).to_pandas()
        heading = data[: 1 << 20].split(b"\n")[0].decode("utf-8", "replace")
        separator = next((mark for mark in "\t,;| " if mark in heading), ",")
        if heading.count(separator) >= _MOST_COLUMNS:
            # pandas needs the square of their number.
            raise GraphError(f"{path}: a table has fewer than {_MOST_COLUMNS:,} columns")
        return pd.read_csv(io.BytesIO(data), sep=separator)
    except (GraphError, MemoryError):
        raise
    except Exception as error:
        raise ValueError(f"{path}: not a table that can be read: {reason_of(error)}") from None


def convert(
    vectors: VectorsArgument,
    new: Annotated[str, typer.Argument(metavar="NEW", help="The file to write; its suffix tells the format.")],
    format: FormatOption = None,  # noqa: A002
    to: Annotated[str | None, typer.Option(help="The format to write, if the suffix does not tell.")] = None,
) -> None:
    """Write vectors in another format; every bit of them stays."""
    embedding = efge.Embedding.load(vectors, format)
    embedding.save(new, to)
    say(f"wrote {embedding!r} to {new}")
