"""Options that several commands share, and one option for each parameter of each estimator.

The help must start fast, so this module does not import the estimators; a test compares its table with them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import typer

Command = TypeVar("Command", bound=Callable[..., None])

# Names of models on the command line: the estimator, and the family if the estimator is EFGE.
MODELS = {
    "bernoulli": ("EFGE", "bernoulli"),
    "poisson": ("EFGE", "poisson"),
    "normal": ("EFGE", "normal"),
    "negative-binomial": ("EFGE", "negative-binomial"),
    "geometric": ("EFGE", "geometric"),
    "bernoulli-poisson": ("EFGE", "bernoulli-poisson"),
    "deepwalk": ("DeepWalk", None),
    "node2vec": ("Node2Vec", None),
    "line": ("LINE", None),
    "hope": ("HOPE", None),
    "netmf": ("NetMF", None),
    "prone": ("ProNE", None),
    "bigclam": ("BigClam", None),
}
# The paper's names of its models, which have its settings.
PAPER_MODELS = {"efge-bern": "bernoulli", "efge-pois": "poisson", "efge-norm": "normal"}
MODELS |= {name: ("EFGE", family) for name, family in PAPER_MODELS.items()}
DEFAULT_MODEL = "poisson"
_WALK_MODELS = ("EFGE", "DeepWalk", "Node2Vec")
_SGD_MODELS = (*_WALK_MODELS, "LINE")


class Parameter(NamedTuple):
    """A parameter of one or more estimators, as the command line shows it."""

    value_type: type
    default: str
    help: str
    estimators: tuple[str, ...]


PARAMETERS = {
    "dim": Parameter(int, "128", "Number of dimensions of the vectors.", (*_SGD_MODELS, "HOPE", "NetMF", "ProNE")),
    "walk": Parameter(str, "node2vec", "Walk strategy: node2vec, uniform or weighted.", ("EFGE",)),
    "p": Parameter(
        float, "1", "Return parameter of node2vec walks; below 1, they turn back more often.", ("EFGE", "Node2Vec")
    ),
    "q": Parameter(
        float, "1", "In-out parameter of node2vec walks; below 1, they go further away.", ("EFGE", "Node2Vec")
    ),
    "follow_directions": Parameter(
        bool,
        "no",
        "Let walks on a directed graph follow the directions of its edges, or each edge lead both ways.",
        ("EFGE",),
    ),
    "walks_per_node": Parameter(
        str, "auto; DeepWalk and Node2Vec 80", "Number of walks that start at each node, or auto.", _WALK_MODELS
    ),
    "walk_length": Parameter(int, "10", "Number of nodes in a walk.", _WALK_MODELS),
    "window": Parameter(
        str,
        "auto; DeepWalk, Node2Vec and NetMF 10",
        "Number of steps before and after a node that count as its context, or auto.",
        (*_WALK_MODELS, "NetMF"),
    ),
    "negatives": Parameter(
        float, "5; NetMF 1", "Number of negative samples for each positive pair.", ("EFGE", "Node2Vec", "LINE", "NetMF")
    ),
    "epochs": Parameter(int, "1", "Number of passes, each over new walks.", _WALK_MODELS),
    "learning_rate": Parameter(float, "0.025", "Initial learning rate.", _SGD_MODELS),
    "min_learning_rate": Parameter(float, "0.0001", "Final learning rate.", _SGD_MODELS),
    "noise_power": Parameter(float, "0.75", "Negatives are drawn in proportion to visits to this power.", ("EFGE",)),
    "patience": Parameter(int, "never", "Stop after this many held-out evaluations without improvement.", ("EFGE",)),
    "init": Parameter(str, "auto", "Initial vectors: random, svd (factors of the edges) or auto.", ("EFGE",)),
    "propagate": Parameter(
        str, "auto", "Filter along the edges at the end: band-pass, prone, average, none or auto.", ("EFGE",)
    ),
    "trainer": Parameter(
        str, "fast", "Trainer: fast, or reference (pair by pair as in the paper, and slow).", ("EFGE",)
    ),
    "partitions": Parameter(
        int, "not partitioned", "Split tables larger than memory into this many partitions.", ("EFGE",)
    ),
    "order": Parameter(
        str,
        "both; ProNE 10",
        "Order of proximity: first, second or both; for ProNE, number of terms of the filter.",
        ("LINE", "ProNE"),
    ),
    "samples": Parameter(int, "from the graph's size", "Number of edges to sample.", ("LINE",)),
    "beta": Parameter(float, "half of the largest that converges", "Decay factor of the Katz index.", ("HOPE",)),
    "form": Parameter(
        str, "auto", "Computation of the matrix: small (exact), large (approximate) or auto.", ("NetMF",)
    ),
    "rank": Parameter(int, "256", "Number of eigenvalues of the large form.", ("NetMF",)),
    "theta": Parameter(float, "0.5", "Width of the filter's band; the larger, the narrower.", ("ProNE",)),
    "mu": Parameter(float, "0.2", "Center of the filter's band, from 0 to 2.", ("ProNE",)),
    "n_communities": Parameter(int, "chosen from the data", "Number of communities.", ("BigClam",)),
    "n_init": Parameter(int, "4", "Number of random starts; only the best is trained to the end.", ("BigClam",)),
    "max_iter": Parameter(int, "200", "Maximum number of sweeps over the nodes.", ("BigClam",)),
    "tol": Parameter(float, "1e-05", "Relative gain of a sweep at which to stop.", ("BigClam",)),
    "threads": Parameter(
        int, "all cores", "Number of threads; results do not depend on it.", (*_SGD_MODELS, "ProNE", "BigClam")
    ),
    "seed": Parameter(
        int,
        "random",
        "Random seed; the same seed gives the same bytes.",
        (*_SGD_MODELS, "HOPE", "NetMF", "ProNE", "BigClam"),
    ),
}

GraphArgument = Annotated[
    str, typer.Argument(metavar="GRAPH", help="A graph file, - for standard input, or the name of a data set.")
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help=f"Model: {', '.join(MODELS)}; or your own family as module:Family or file.py:Family."
        f" \\[default: {DEFAULT_MODEL}]",
        show_default=False,
    ),
]
FamilyOptions = Annotated[
    list[str] | None,
    typer.Option("--family-option", metavar="NAME=VALUE", help="A parameter of the family, such as sigma=2."),
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def _check_plot_path(path: Path | None) -> Path | None:
    """Reject a path that no figure can be written to, before anything is computed."""
    if path is not None:
        from efge.io.atomic import check_folder
        from efge.plots import check_figure

        check_figure(path)
        check_folder(path)
    return path


PlotOption = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        help="Also draw the result as a .png, .svg or .pdf file.",
        show_default=False,
        callback=_check_plot_path,
    ),
]

READING_OPTIONS: Mapping[str, Any] = {
    "nodes": Annotated[Path | None, typer.Option(help="File of node names, one per line; adds nodes without edges.")],
    "directed": Annotated[
        bool | None,
        typer.Option("--directed/--undirected", help="Whether edges have a direction. \\[default: as the file says]"),
    ],
    "weighted": Annotated[
        bool | None,
        typer.Option("--weighted/--unweighted", help="Whether to read weights. \\[default: if there are any]"),
    ],
    "format": Annotated[str | None, typer.Option(help="Format of the graph file. \\[default: from its suffix]")],
    "drop_self_loops": Annotated[bool | None, typer.Option("--drop-self-loops", help="Drop self-loops.")],
    "header": Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether the first line names the columns. \\[default: detected]"),
    ],
    "source": Annotated[str | None, typer.Option(help="Column of source nodes, by name, or by number from 0.")],
    "target": Annotated[str | None, typer.Option(help="Column of target nodes, by name, or by number from 0.")],
    "weight": Annotated[str | None, typer.Option(help="Column of weights, by name, or by number from 0.")],
    "delimiter": Annotated[str | None, typer.Option(help="Separator between fields. \\[default: detected]")],
    "names": Annotated[Path | None, typer.Option(help="File of names of a matrix's rows, one per line.")],
    "decimal": Annotated[str | None, typer.Option(help="Decimal mark of weights in text, such as a comma.")],
    "thousands": Annotated[str | None, typer.Option(help="Mark between thousands of weights in text.")],
    "skip_bad": Annotated[
        bool | None, typer.Option("--skip-bad", help="Leave out lines that are no edge, and list them.")
    ],
    "skip_lines": Annotated[
        int | None, typer.Option(min=0, help="Number of lines above the edges, such as a title, to skip.")
    ],
    "bipartite": Annotated[
        bool | None,
        typer.Option(
            "--bipartite/--one-kind",
            help="Whether the two columns have different kinds of nodes, named user:7 and item:7 by their columns."
            " \\[default: one kind, with a warning if it looks like two]",
        ),
    ],
    "count_duplicates": Annotated[
        bool | None,
        typer.Option("--count-duplicates", help="Weigh each edge by how often it is listed, instead of by weights."),
    ],
    "comments": Annotated[
        str | None, typer.Option(help="Characters that begin a comment; '' if there are none. \\[default: #%]")
    ],
    "encoding": Annotated[str | None, typer.Option(help="Text encoding, such as latin-1. \\[default: utf-8]")],
}

# What reading options that are false are called.
_OPPOSITES = {
    "directed": "--undirected",
    "weighted": "--unweighted",
    "header": "--no-header",
    "bipartite": "--one-kind",
}

# Columns of a file of labels or attributes.
LABEL_OPTIONS: Mapping[str, Any] = {
    "node": Annotated[
        str | None, typer.Option(help="Column of nodes in the file of labels, by name, or by number from 0.")
    ],
    "label": Annotated[
        str | None, typer.Option(help="Column of classes in the file of labels, by name, or by number from 0.")
    ],
}
# explore's --format is that of the vectors.
GRAPH_OPTIONS: Mapping[str, Any] = {name: option for name, option in READING_OPTIONS.items() if name != "format"}

# How training is executed; results do not depend on these options.
EXECUTION_OPTIONS: Mapping[str, Any] = {
    "checkpoint": Annotated[Path | None, typer.Option(help="Folder to save training checkpoints in.")],
    "resume": Annotated[
        bool | None,
        typer.Option("--resume", help="Resume from the newest checkpoint in the --checkpoint folder, if any."),
    ],
    "every": Annotated[
        str | None, typer.Option(help="Time between checkpoints, such as 30s, 5min or 1h. \\[default: 60s]")
    ],
    "memory_limit": Annotated[
        str | None, typer.Option(metavar="SIZE", help="Refuse to train if it needs more memory than this, such as 4G.")
    ],
    "mmap": Annotated[
        bool | None, typer.Option("--mmap", help="Keep the vectors in files beside the output during training.")
    ],
    "workdir": Annotated[Path | None, typer.Option(help="Folder for the partitions. \\[default: beside the output]")],
    "cluster": Annotated[str | None, typer.Option(help="Train on a Ray cluster: auto, or the address of one.")],
}


def _model_option(parameter: Parameter) -> Any:
    is_common = "EFGE" in parameter.estimators and len(parameter.estimators) > 1
    owners = "" if is_common else f" For {', '.join(parameter.estimators)} only."
    text = f"{parameter.help}{owners} \\[default: {parameter.default}]"
    return Annotated[parameter.value_type | None, typer.Option(help=text, show_default=False, rich_help_panel="Model")]


MODEL_OPTIONS: Mapping[str, Any] = {name: _model_option(parameter) for name, parameter in PARAMETERS.items()}


def with_options(*groups: Mapping[str, Any]) -> Callable[[Command], Command]:
    """Add groups of options to a command that takes ``**options``; an option that the user omits is None."""

    def add(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        own = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        added = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
            for group in groups
            for name, annotation in group.items()
        ]
        command.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
        return command

    return add


def select_options(options: Mapping[str, Any], group: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a group that the user has set."""
    return {name: options[name] for name in group if options.get(name) is not None}


def reading_arguments(reading: Mapping[str, Any]) -> list[str]:
    """Return reading options as they are typed: a switch, or an option and its value."""
    arguments: list[str] = []
    for name, value in reading.items():
        option = f"--{name.replace('_', '-')}"
        if value is False:
            # A switch without an opposite is off anyway.
            arguments += [_OPPOSITES[name]] if name in _OPPOSITES else []
        else:
            arguments += [option] if value is True else [option, str(value)]
    return arguments


def split_commas(values: list[str] | None) -> list[str]:
    """Return the names in an option that may be repeated, and may list several names separated by commas."""
    return [name.strip() for value in values or () for name in value.split(",") if name.strip()]
