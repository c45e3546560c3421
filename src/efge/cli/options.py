"""Options that several commands share, and every parameter of every estimator as an option.

Estimators are not imported for the help, which would take a second; a test holds this table against them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import typer

Command = TypeVar("Command", bound=Callable[..., None])

# Models by the name they go by here: the estimator, and its family if it is EFGE's.
MODELS = {
    "normal": ("EFGE", "normal"),
    "poisson": ("EFGE", "poisson"),
    "bernoulli": ("EFGE", "bernoulli"),
    "negative-binomial": ("EFGE", "negative-binomial"),
    "geometric": ("EFGE", "geometric"),
    "bernoulli-poisson": ("EFGE", "bernoulli-poisson"),
    "deepwalk": ("DeepWalk", None),
    "node2vec": ("Node2Vec", None),
    "line": ("LINE", None),
    "hope": ("HOPE", None),
    "netmf": ("NetMF", None),
    "bigclam": ("BigClam", None),
}
_WALKERS = ("EFGE", "DeepWalk", "Node2Vec")
_TRAINED = (*_WALKERS, "LINE")


class Parameter(NamedTuple):
    """A parameter of estimators: its type, the default in words, what it does, and whose it is."""

    kind: type
    default: str
    about: str
    estimators: tuple[str, ...]


PARAMETERS = {
    "dim": Parameter(int, "128", "Entries of a vector.", (*_TRAINED, "HOPE", "NetMF")),
    "walk": Parameter(str, "node2vec", "Kind of walk: node2vec, uniform or weighted.", ("EFGE",)),
    "p": Parameter(float, "1", "Return parameter of node2vec walks.", ("EFGE", "Node2Vec")),
    "q": Parameter(float, "1", "In-out parameter of node2vec walks.", ("EFGE", "Node2Vec")),
    "walks_per_node": Parameter(int, "80", "Walks that start at each node.", _WALKERS),
    "walk_length": Parameter(int, "10", "Nodes in a walk.", _WALKERS),
    "window": Parameter(int, "10", "Steps before and after a node that are its context.", (*_WALKERS, "NetMF")),
    "negatives": Parameter(
        float, "5; NetMF 1", "Nodes drawn against each context.", ("EFGE", "Node2Vec", "LINE", "NetMF")
    ),
    "epochs": Parameter(int, "1", "Passes over new walks.", _WALKERS),
    "learning_rate": Parameter(float, "0.025", "Where the learning rate begins.", _TRAINED),
    "min_learning_rate": Parameter(float, "0.0001", "Where the learning rate ends.", _TRAINED),
    "noise_power": Parameter(float, "0.75", "Negatives are drawn by visits to this power.", ("EFGE",)),
    "patience": Parameter(int, "never", "Stop after so many looks without a gain.", ("EFGE",)),
    "trainer": Parameter(str, "fast", "fast, or reference: as in the paper, and slow.", ("EFGE",)),
    "partitions": Parameter(int, "whole tables", "Parts of tables that are larger than memory.", ("EFGE",)),
    "order": Parameter(str, "both", "Proximity of LINE: first, second or both.", ("LINE",)),
    "samples": Parameter(int, "by edges", "Edges that LINE draws.", ("LINE",)),
    "beta": Parameter(float, "half the limit", "Damping of HOPE's Katz index.", ("HOPE",)),
    "form": Parameter(str, "auto", "NetMF's matrix: small (exact), large, or auto.", ("NetMF",)),
    "rank": Parameter(int, "256", "Eigenvalues of NetMF's large form.", ("NetMF",)),
    "communities": Parameter(int, "chosen", "Communities that BigClam looks for.", ("BigClam",)),
    "starts": Parameter(int, "4", "Starts of BigClam, of which the best counts.", ("BigClam",)),
    "max_iterations": Parameter(int, "200", "Steps of BigClam at most.", ("BigClam",)),
    "tolerance": Parameter(float, "1e-05", "Gain at which BigClam stops.", ("BigClam",)),
    "threads": Parameter(int, "all cores", "The result does not depend on it.", (*_TRAINED, "BigClam")),
    "seed": Parameter(int, "random", "The same seed gives the same bytes.", (*_TRAINED, "HOPE", "NetMF", "BigClam")),
}

GraphArgument = Annotated[
    str, typer.Argument(metavar="GRAPH", help="A file in any readable format, - for standard input, or a data set.")
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help=f"{', '.join(MODELS)}; or a family of your own as module:Family or file.py:Family. \\[default: normal]",
        show_default=False,
    ),
]
FamilyOptions = Annotated[
    list[str] | None,
    typer.Option("--family-option", metavar="NAME=VALUE", help="A parameter of the family, as sigma=2."),
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON, for other programs.")]


def _figure(path: Path | None) -> Path | None:
    """A path that a figure can be written to; others are refused before anything is measured."""
    if path is not None:
        from efge.plots import check_figure

        check_figure(path)
    return path


PlotOption = Annotated[
    Path | None,
    typer.Option("--plot", help="Also draw it: a .png, .svg or .pdf file.", show_default=False, callback=_figure),
]

_READING = {
    "nodes": Annotated[Path | None, typer.Option(help="A file of node names, for nodes without edges.")],
    "directed": Annotated[bool | None, typer.Option("--directed/--undirected", help="Else as the file says.")],
    "weighted": Annotated[bool | None, typer.Option("--weighted/--unweighted", help="Else if there are weights.")],
    "format": Annotated[str | None, typer.Option(help="The graph's format, if its suffix does not tell.")],
    "drop_self_loops": Annotated[bool | None, typer.Option("--drop-self-loops", help="Leave out loops.")],
    "header": Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether the first line names columns.")
    ],
    "source": Annotated[str | None, typer.Option(help="The column of sources, by name or number.")],
    "target": Annotated[str | None, typer.Option(help="The column of targets, by name or number.")],
    "weight": Annotated[str | None, typer.Option(help="The column of weights, by name or number.")],
    "delimiter": Annotated[str | None, typer.Option(help="What separates fields, if it is not found out.")],
    "encoding": Annotated[str | None, typer.Option(help="The text's encoding, as latin-1. \\[default: utf-8]")],
}

# How a run goes, on which its result does not depend.
_RUNNING = {
    "checkpoint": Annotated[Path | None, typer.Option(help="A folder to keep the state of training in.")],
    "resume": Annotated[bool | None, typer.Option("--resume", help="Go on from the state in the folder, if any.")],
    "every": Annotated[str | None, typer.Option(help="Time between two states, as 30s, 5min or 1h. \\[default: 60s]")],
    "memory_limit": Annotated[
        str | None, typer.Option(metavar="SIZE", help="Refuse a training that needs more memory than that, as 4G.")
    ],
    "mmap": Annotated[
        bool | None, typer.Option("--mmap", help="Keep vectors in files beside the output while they are trained.")
    ],
    "workdir": Annotated[
        Path | None, typer.Option(help="With --partitions, a folder for the parts. \\[default: beside the output]")
    ],
    "cluster": Annotated[str | None, typer.Option(help="Train on a Ray cluster: auto, or its address.")],
}


def _model_option(parameter: Parameter) -> Any:
    whose = "" if "EFGE" in parameter.estimators else f" {', '.join(parameter.estimators)} only."
    text = f"{parameter.about}{whose} \\[default: {parameter.default}]"
    return Annotated[parameter.kind | None, typer.Option(help=text, show_default=False, rich_help_panel="Model")]


READING_OPTIONS: Mapping[str, Any] = _READING
RUNNING_OPTIONS: Mapping[str, Any] = _RUNNING
MODEL_OPTIONS: Mapping[str, Any] = {name: _model_option(parameter) for name, parameter in PARAMETERS.items()}


def with_options(*groups: Mapping[str, Any]) -> Callable[[Command], Command]:
    """Give a command that takes ``**options`` the options of the groups; those that are not given are None."""

    def add(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        more = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
            for group in groups
            for name, annotation in group.items()
        ]
        command.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
        return command

    return add


def given(options: Mapping[str, Any], group: Mapping[str, Any]) -> dict[str, Any]:
    """Those options of a group that were given."""
    return {name: options[name] for name in group if options.get(name) is not None}


def listed(options: list[str] | None) -> list[str]:
    """Values of an option that may be repeated, or hold several with commas between."""
    return [name.strip() for option in options or () for name in option.split(",") if name.strip()]
