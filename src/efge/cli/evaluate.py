"""Commands for vectors and models: classify, links, explore, propagate and convert."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import efge
from efge.cli import runs
from efge.cli.console import log_info, progress
from efge.cli.options import (
    DEFAULT_MODEL,
    GRAPH_OPTIONS,
    LABEL_OPTIONS,
    MODEL_OPTIONS,
    MODELS,
    PARAMETERS,
    READING_OPTIONS,
    FamilyOptions,
    GraphArgument,
    JsonFlag,
    PlotOption,
    select_options,
    split_commas,
    with_options,
)
from efge.cli.outputs import ForceFlag, check_outputs, files_in
from efge.cli.predict import check_prediction, predict_classes, predict_links
from efge.progress import counter

if TYPE_CHECKING:
    from efge.evaluation.results import Scores


VectorsArgument = Annotated[str, typer.Argument(metavar="VECTORS", help="File of vectors that embed wrote.")]
InverseRegularization = Annotated[
    float, typer.Option("--C", help="Inverse regularization strength of the classifier, as in scikit-learn.")
]
FormatOption = Annotated[
    str | None, typer.Option("--format", help="Format of the vectors. \\[default: from the suffix]")
]


@with_options(LABEL_OPTIONS)
def classify(
    vectors: VectorsArgument,
    labels: Annotated[Path, typer.Argument(metavar="LABELS", help="File with a node and its class on each line.")],
    ratios: Annotated[
        str, typer.Option(help="Fractions of the nodes to train on, separated by commas.")
    ] = "0.1,0.5,0.9",
    repeats: Annotated[int, typer.Option(help="Number of random splits for each ratio.")] = 50,
    C: InverseRegularization = 1.0,  # noqa: N803
    seed: Annotated[int, typer.Option(help="Random seed; the same seed gives the same splits.")] = 0,
    predict: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Also write class and probability of each node without a label.", show_default=False
        ),
    ] = None,
    as_json: JsonFlag = False,
    plot: PlotOption = None,
    format: FormatOption = None,  # noqa: A002
    force: ForceFlag = False,
    **options: Any,
) -> None:
    """Score vectors by how well a linear classifier predicts the classes of nodes from them.

    With --predict, the classifier learns from all labels and predicts the classes of the other nodes.
    """
    try:
        fractions = [float(ratio) for ratio in ratios.split(",")]
    except ValueError:
        raise ValueError(f"ratios are numbers separated by commas, such as 0.1,0.5; got {ratios!r}") from None
    check_prediction(predict)
    check_outputs([plot, predict], [vectors, labels], force)
    embedding = efge.Embedding.load(vectors, format)
    classes = runs.read_labels(labels, options, embedding)
    with progress("splits", "splits") as advance:
        scores = efge.node_classification(
            embedding, classes, ratios=fractions, repeats=repeats, C=C, seed=seed, progress=counter(advance, repeats)
        )
    if predict is not None:
        predict_classes(embedding, classes, C, predict)
    _print_scores(scores, as_json, plot)


def _print_scores(scores: Scores, as_json: bool, plot: Path | None) -> None:
    if as_json:
        majority = {"majority": scores.majority} if isinstance(scores, efge.ClassificationScores) else {}
        print(json.dumps({"scores": scores.records(), "notes": list(scores.notes)} | majority))
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
        typer.Option("--model", "-m", help=f"Models as for embed, separated by commas. \\[default: {DEFAULT_MODEL}]"),
    ] = None,
    family_option: FamilyOptions = None,
    test_size: Annotated[float, typer.Option(help="Fraction of the edges to remove and predict.")] = 0.5,
    negative_pairs: Annotated[
        str, typer.Option(help="How negative pairs are drawn: uniform, or in proportion to the nodes' degree.")
    ] = "uniform",
    repeats: Annotated[int, typer.Option(help="Number of random splits; each trains the models anew.")] = 5,
    features: Annotated[
        str,
        typer.Option(
            help="Features of node pairs, separated by commas: hadamard, average, l1, l2, cosine, dot, likelihood."
        ),
    ] = "hadamard,cosine,dot,likelihood",
    hits: Annotated[
        int,
        typer.Option(
            help="The k of hits@k, the fraction of removed edges that rank above the k-th best negative pair."
        ),
    ] = 50,
    C: InverseRegularization = 1.0,  # noqa: N803
    save_splits: Annotated[Path | None, typer.Option(help="Folder to save the splits in.", show_default=False)] = None,
    predict: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write the likeliest missing links instead, by a model of all edges.",
            show_default=False,
        ),
    ] = None,
    k: Annotated[int, typer.Option("--count", "-k", help="Number of missing links to write with --predict.")] = 100,
    of: Annotated[
        list[str] | None,
        typer.Option(metavar="NODE", help="Write missing links of these nodes only; may be repeated."),
    ] = None,
    as_json: JsonFlag = False,
    plot: PlotOption = None,
    force: ForceFlag = False,
    **options: Any,
) -> None:
    """Score models by how well they predict removed edges, and compare them with classical heuristics.

    With --predict, nothing is removed or scored: the likeliest pairs without an edge are written to a file.
    """
    parameters = select_options(options, MODEL_OPTIONS)
    names = split_commas(model) or [DEFAULT_MODEL]
    saved = files_in(save_splits, *(f"split_{number}/split.json" for number in range(repeats)))
    check_outputs([plot, predict, *saved], [graph, options["nodes"]], force)
    if predict is not None:
        unused = {"json": as_json, "plot": plot, "save-splits": save_splits, "model with several names": names[1:]}
        check_prediction(predict, unused)
        estimator = _make_models(names, family_option, parameters)[names[0]]
        predict_links(estimator, runs.read_graph(graph, select_options(options, READING_OPTIONS)), predict, k, of)
        return
    if of is not None:
        raise ValueError("--of is for missing links; add --predict FILE")
    seed = int(parameters.pop("seed", 0))
    models = _make_models(names, family_option, parameters)
    network = runs.read_graph(graph, select_options(options, READING_OPTIONS))
    splits = [
        efge.split_links(network, test_size, negatives=negative_pairs, seed=(seed, number)) for number in range(repeats)
    ]
    if save_splits is not None:
        for number, split in enumerate(splits):
            split.save(save_splits / f"split_{number}")
    with progress("models", "") as advance:
        count = counter(advance, repeats * (len(models) + 1))
        scores = efge.link_prediction(
            network,
            models,
            repeats=repeats,
            features=split_commas([features]),
            hits=hits,
            C=C,
            seed=seed,
            splits=splits,
            progress=count,
        )
    n_hidden = len(splits[0].test_edges)
    share = f"{n_hidden:,} of {network.n_edges:,} edges ({n_hidden / network.n_edges:.0%})"
    scores.notes = (f"{share} were hidden in each split; --test-size sets the share.", *scores.notes)
    _print_scores(scores, as_json, plot)


def _make_models(names: list[str], family_option: list[str] | None, parameters: dict[str, Any]) -> dict[str, Any]:
    families = runs.parse_family_options(family_option or [])
    return {name: runs.make_model(name, families, select_parameters(name, parameters, names)) for name in names}


def select_parameters(name: str, parameters: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Return the parameters that this model has, and those that no model has, which make_model rejects."""
    estimators = {other: MODELS.get(other, ("EFGE", other))[0] for other in names}
    return {
        key: value
        for key, value in parameters.items()
        if estimators[name] in PARAMETERS[key].estimators
        or not any(estimator in PARAMETERS[key].estimators for estimator in estimators.values())
    }


@with_options(GRAPH_OPTIONS, LABEL_OPTIONS)
def explore(
    vectors: VectorsArgument,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Page to write. \\[default: VECTORS.html]", show_default=False)
    ] = None,
    graph: Annotated[str | None, typer.Option(help="Graph, to show degrees and edges.", show_default=False)] = None,
    labels: Annotated[
        Path | None, typer.Option(help="File with a node and its class on each line, to color by.", show_default=False)
    ] = None,
    table: Annotated[
        Path | None, typer.Option(help="CSV or Parquet table of nodes, to color by its columns.", show_default=False)
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help="Projection: tsne, umap or pca. \\[default: by the number of nodes]", show_default=False),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(metavar="VECTORS", help="Other vectors of the same nodes, to switch to.", show_default=False),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.", show_default=False)] = None,
    plot: PlotOption = None,
    seed: Annotated[int, typer.Option(help="Random seed; the same seed gives the same page.")] = 0,
    format: FormatOption = None,  # noqa: A002
    force: ForceFlag = False,
    **options: Any,
) -> None:
    """Write an interactive page: a map of the vectors to search, color and select, in one file for any browser."""
    from efge.explore import write_page
    from efge.explore.attributes import read_attributes
    from efge.explore.page import check_page

    path = output or f"{vectors}.html"
    check_outputs([path, plot], [vectors, graph, labels, table, compare], force)
    check_page(path)
    reading = runs.select_reading(options, GRAPH_OPTIONS, "--graph", graph)
    unused = {"label": "the file of --labels"} if labels is None else {}
    unused |= {"node": "the file of --labels or --table"} if labels is None and table is None else {}
    runs.refuse_unused(options, unused)
    embedding = efge.Embedding.load(vectors, format)
    classes = None if labels is None else runs.read_labels(labels, options, embedding)
    write_page(
        embedding,
        path,
        graph=None if graph is None else runs.read_graph_of(embedding, graph, reading),
        labels=classes,
        columns=None if table is None else read_attributes(table, options["node"], embedding.names),
        method=method,
        title=title or Path(vectors).name,
        compare=None if compare is None else efge.Embedding.load(compare),
        seed=seed,
    )
    if plot is not None:
        from efge.plots import save_figure

        save_figure(efge.plot_embedding(embedding, classes, method=method, seed=seed), plot)
    log_info(f"wrote {path}; open it in a browser")


@with_options(READING_OPTIONS)
def propagate(
    vectors: VectorsArgument,
    graph: GraphArgument,
    output: Annotated[str, typer.Option("--output", "-o", help="File to write the filtered vectors to.")],
    method: Annotated[str, typer.Option(help="Filter: band-pass, prone or average.")] = "band-pass",
    order: Annotated[
        int | None,
        typer.Option(help="Number of terms of the band's expansion. \\[default: 6; prone: 10]", show_default=False),
    ] = None,
    theta: Annotated[
        float | None,
        typer.Option(help="Width of the band; the larger, the narrower. \\[default: 0.5]", show_default=False),
    ] = None,
    mu: Annotated[
        float | None, typer.Option(help="Center of the band, from 0 to 2. \\[default: 0.2]", show_default=False)
    ] = None,
    exponent: Annotated[
        float | None,
        typer.Option(help="Power of band-pass's singular values, from 0 to 1. \\[default: 0.7]", show_default=False),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(help="Number of steps of average. \\[default: 2]", show_default=False)
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(help="Fraction of the original vector in average. \\[default: 0]", show_default=False),
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Number of threads. \\[default: all cores]")] = None,
    vectors_format: Annotated[
        str | None, typer.Option("--from", help="Format of the vectors. \\[default: from the suffix]")
    ] = None,
    to: Annotated[str | None, typer.Option(help="Format to write. \\[default: from the suffix]")] = None,
    force: ForceFlag = False,
    **options: Any,
) -> None:
    """Smooth vectors along the edges of their graph, and write them under the same names."""
    from efge.embedding.formats import check_writable
    from efge.embedding.propagation import check_propagation

    given = {"order": order, "theta": theta, "mu": mu, "exponent": exponent, "steps": steps, "alpha": alpha}
    parameters = {name: value for name, value in given.items() if value is not None}
    check_propagation(method, threads=threads, **parameters)
    check_writable(output, to)
    check_outputs([output], [vectors, graph, options["nodes"]], force)
    embedding = efge.Embedding.load(vectors, vectors_format)
    network = runs.read_graph_of(embedding, graph, select_options(options, READING_OPTIONS))
    propagated = efge.propagate(embedding, network, method, threads=threads, **parameters)
    propagated.save(output, to, escape_formulas=True)
    log_info(f"wrote {propagated!r} to {output}")


def convert(
    vectors: VectorsArgument,
    new: Annotated[str, typer.Argument(metavar="NEW", help="File to write; its suffix sets the format.")],
    format: FormatOption = None,  # noqa: A002
    to: Annotated[str | None, typer.Option(help="Format to write. \\[default: from the suffix]")] = None,
    force: ForceFlag = False,
) -> None:
    """Convert vectors to another format, without changing a bit of them."""
    check_outputs([new], [vectors], force)
    embedding = efge.Embedding.load(vectors, format)
    embedding.save(new, to, escape_formulas=True)
    log_info(f"wrote {embedding!r} to {new}")
