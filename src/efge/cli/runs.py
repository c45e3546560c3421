"""A run of ``efge embed``: graph, model and parameters, from options, a configuration file or the record of a run."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import efge
from efge.cli.console import log_info
from efge.cli.options import (
    DEFAULT_MODEL,
    LABEL_OPTIONS,
    MODELS,
    PAPER_MODELS,
    PARAMETERS,
    READING_OPTIONS,
    select_options,
)
from efge.errors import check_types, did_you_mean

if TYPE_CHECKING:
    from efge.embedding.embedding import Embedding
    from efge.graph.conversion import ReadingRecord
    from efge.graph.graph import Graph

_RUN_OPTIONS = ("graph", "output", "model", "family_options")
_COLUMN_OPTIONS = ("source", "target", "weight")
# Types of the reading options in a configuration; columns are names or numbers.
_BOOL_OPTIONS = ("directed", "weighted", "drop_self_loops", "header", "skip_bad", "bipartite", "count_duplicates")
_TEXT_OPTIONS = ("nodes", "format", "delimiter", "comments", "encoding", "names", "decimal", "thousands")
_READING_TYPES: dict[str, type] = (
    dict.fromkeys(_BOOL_OPTIONS, bool) | dict.fromkeys(_TEXT_OPTIONS, str) | {"skip_lines": int}
)


@dataclass
class Run:
    """Everything that a result depends on.

    If the run repeats an earlier one, ``fingerprint`` is the fingerprint of the earlier run's graph.
    """

    graph: str
    output: str
    model: str = DEFAULT_MODEL
    family_options: dict[str, Any] = field(default_factory=dict)
    reading: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    fingerprint: str | None = None

    def config(self, seed: int) -> dict[str, Any]:
        """Return the run as a configuration, with the seed that was used."""
        run_options = {"graph": self.graph, "output": self.output, "model": self.model}
        families = {"family_options": self.family_options} if self.family_options else {}
        reading = {name: str(value) if isinstance(value, Path) else value for name, value in self.reading.items()}
        return run_options | families | reading | self.parameters | {"seed": seed}


def read_config(path: Path) -> tuple[dict[str, Any], str | None]:
    """Read a configuration, and the graph's fingerprint if the file is the record of a run."""
    from efge.io.files import parse_json, parse_toml

    try:
        text = path.read_text("utf-8")
        content = parse_json(text) if path.suffix == ".json" else parse_toml(text)
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file") from None
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:
        raise ValueError(f"{path}: cannot read this configuration: {error}") from None
    if isinstance(content, dict) and isinstance(content.get("update"), dict):
        raise ValueError(f"{path}: this is the record of an update; run efge embed GRAPH --update MODEL to repeat it")
    config = content.get("config", content) if isinstance(content, dict) else content
    if not isinstance(config, dict) or not isinstance(config.get("family_options", {}), dict):
        raise ValueError(f"{path}: a configuration is a table of options, and family_options is a table in it")
    known = [*_RUN_OPTIONS, *READING_OPTIONS, *PARAMETERS]
    for name in config:
        if name not in known:
            raise ValueError(f"{path}: no option {name[:40]!r}; known: {', '.join(known)}{did_you_mean(name, known)}")
        if name in READING_OPTIONS and not isinstance(config[name], _READING_TYPES.get(name, (str, int))):
            raise ValueError(f"{path}: {name} is {_describe_type(name)}; got {str(config[name])[:40]!r}")
    try:
        # True is an integer to Python, but no number of lines or column.
        check_types(**{name: config[name] for name in READING_OPTIONS if name in config})
    except TypeError as error:
        raise ValueError(f"{path}: {error}") from None
    return config, content.get("fingerprint")


def _describe_type(name: str) -> str:
    return {bool: "true or false", str: "text", int: "a number"}.get(
        _READING_TYPES.get(name, object), "a name or a number"
    )


def resolve_run(config: Path | None, options: Mapping[str, Any], allow_code: bool = False) -> Run:
    """Return the run that options and a configuration describe; options override the configuration.

    A configuration that names code is refused unless the user allows it: files come from anywhere.
    """
    configured, fingerprint = ({}, None) if config is None else read_config(config)
    named = str(configured.get("model", ""))
    if ":" in named and "model" not in options and not allow_code:
        advice = "add --allow-code if you trust it"
        raise ValueError(f"{config}: its model {named[:80]!r} is code, which would be run; {advice}")
    merged = configured | dict(options)
    for name, advice in {"graph": "a graph to embed", "output": "an output, such as -o vectors.npz"}.items():
        if not isinstance(merged.get(name), str):
            raise ValueError(f"give {advice}")
    families = merged.get("family_options", {})
    return Run(
        merged["graph"],
        merged["output"],
        str(merged.get("model", DEFAULT_MODEL)),
        parse_family_options(families) if isinstance(families, list) else dict(families),
        {name: merged[name] for name in READING_OPTIONS if name in merged},
        {name: merged[name] for name in PARAMETERS if name in merged},
        fingerprint if "graph" not in options or options["graph"] == configured.get("graph") else None,
    )


def parse_family_options(pairs: list[str]) -> dict[str, Any]:
    """Parse name=value pairs; a value that is not JSON is text."""
    from efge.io.files import parse_json

    options: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier():
            raise ValueError(f"a family option is name=value, such as sigma=2; got {pair!r}")
        try:
            options[name] = parse_json(value)
        except ValueError:
            options[name] = value
    return options


def make_model(name: str, family_options: Mapping[str, Any], parameters: Mapping[str, Any]) -> Any:
    """Return the estimator with that name; raise if it does not have one of the parameters."""
    if name not in MODELS and ":" not in name:
        hint = did_you_mean(name, MODELS)
        raise ValueError(f"no model {name!r}; known: {', '.join(MODELS)}, or your own family as module:Family{hint}")
    estimator, family = MODELS.get(name, ("EFGE", name))
    settings = {key: parse_integer(value) for key, value in parameters.items()}
    for key in settings:
        if estimator not in PARAMETERS[key].estimators:
            own = [f"--{other.replace('_', '-')}" for other, p in PARAMETERS.items() if estimator in p.estimators]
            raise ValueError(f"{name} has no option --{key.replace('_', '-')}; it has {', '.join(own)}")
    if family is None and family_options:
        raise ValueError(f"{name} has no family; got the family options {', '.join(family_options)}")
    if family is not None:
        settings["family"] = make_family(family, family_options)
    if settings.get("propagate") == "none":
        settings["propagate"] = None
    return efge.EFGE.paper(**settings) if name in PAPER_MODELS else getattr(efge, estimator)(**settings)


def parse_integer(value: Any) -> Any:
    """Convert a float without a fraction, or digits, to an integer: some options are one for some estimators only."""
    is_integer = value.is_integer() if isinstance(value, float) else isinstance(value, str) and value.isdecimal()
    return int(value) if is_integer else value


def make_family(name: str, options: Mapping[str, Any]) -> Any:
    """Return the family with that name, or the user's own, with its options."""
    from efge.families.base import Family
    from efge.families.builtin import FAMILIES

    if name not in FAMILIES and ":" not in name:
        hint = did_you_mean(name, FAMILIES)
        raise ValueError(f"no family {name!r}; known: {', '.join(FAMILIES)}, or your own as module:Family{hint}")
    family = _import_family(name) if ":" in name else FAMILIES[name]
    if not (isinstance(family, type) and issubclass(family, Family)):
        raise ValueError(f"{name}: a family is a class that inherits from efge.Family; got {family!r}")
    known = inspect.signature(family).parameters
    unknown = next((option for option in options if option not in known), None)
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values())
    if unknown is not None and not takes_any:
        listed = ", ".join(known) or "none"
        raise ValueError(f"{name} has no parameter {unknown!r}; it has {listed}{did_you_mean(unknown, known)}")
    try:
        return family(**options)
    except TypeError as error:
        raise ValueError(f"{name}: {error}") from None


def load_model(path: str, family: str | None, family_options: list[str] | None) -> Any:
    """Read a model that was saved; a family of the user's own is not part of its file."""
    from efge.models.base import NodeEmbedder

    own = None if family is None else make_family(family, parse_family_options(family_options or []))
    if own is None and family_options:
        raise ValueError("--family-option is a parameter of your own family; add --family module:Family")
    return NodeEmbedder.load(path, family=own)


def _import_family(name: str) -> Any:
    """Import a family from module:Family or file.py:Family."""
    source, _, attribute = name.rpartition(":")
    if source.endswith(".py"):
        spec = importlib.util.spec_from_file_location(Path(source).stem, source)
        if spec is None or spec.loader is None or not Path(source).is_file():
            raise ValueError(f"{source}: no such file")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        # Modules in the current folder can be imported too, as by python -m.
        sys.path.insert(0, "")
        try:
            module = importlib.import_module(source)
        except ModuleNotFoundError as error:
            raise ValueError(f"no module {source!r} ({error}); for a file, write file.py:{attribute}") from None
    if not hasattr(module, attribute):
        raise ValueError(f"{source} has no {attribute}")
    return getattr(module, attribute)


def read_graph(name: str, reading: Mapping[str, Any], record: ReadingRecord | None = None) -> Graph:
    """Read a graph from a file or standard input, or load a data set if no file has that name.

    `record` is told what was read; without it, a header that was read as nodes gives a warning.
    """
    from efge.datasets.catalogue import DATASETS
    from efge.graph.readers import ReadOptions, read_with_options

    _announce_compilation()
    if name in DATASETS and not Path(name).exists():
        if reading:
            raise ValueError(f"the data set {name} takes no reading options; got {', '.join(reading)}")
        return efge.load_dataset(name).graph
    options = ReadOptions(**parse_column_numbers(reading))
    graph = read_with_options(name, options if record is None else replace(options, record=record))
    if record is None:
        warn_about_names(name, graph, options.record)
    return graph


def _announce_compilation() -> None:
    """Say once why the first run on a machine takes longer than the second."""
    from efge.kernels.caching import before_compilation

    def announce() -> None:
        before_compilation.clear()
        log_info("compiling what this command needs for the first time on this processor, which takes some seconds")

    before_compilation[:] = [announce]


def check_edges(name: str, graph: Graph) -> Graph:
    """Return the graph; raise if it has no edges to learn from."""
    if not graph.n_edges:
        raise ValueError(f"{name}: {graph!r} has no edges, so there is nothing to learn; check its columns")
    return graph


def read_graph_of(embedding: Embedding, name: str, reading: Mapping[str, Any]) -> Graph:
    """Read the graph of some vectors: its names get the types of theirs."""
    from efge.graph.inputs import match_node_types

    return match_node_types(read_graph(name, reading), embedding.names)


def refuse_unused(options: Mapping[str, Any], unused: Mapping[str, str]) -> None:
    """Raise if an option was given that has no effect; `unused` says what it is for."""
    for name, purpose in unused.items():
        if options.get(name) is not None:
            raise ValueError(f"--{name} is for {purpose}; add it, or leave out --{name}")


def select_reading(
    options: Mapping[str, Any], group: Mapping[str, Any], option: str, graph: str | None
) -> dict[str, Any]:
    """Return the reading options that the user has set; raise if the option whose graph they read is missing."""
    reading = select_options(options, group)
    if reading and graph is None:
        raise ValueError(f"--{next(iter(reading)).replace('_', '-')} is for the graph of {option}; add {option} GRAPH")
    return reading


def parse_column_numbers(reading: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reading options, with columns given by number as integers."""
    columns = {key: int(value) for key, value in reading.items() if key in _COLUMN_OPTIONS and str(value).isdecimal()}
    return dict(reading) | columns


def warn_about_names(name: str, graph: Graph, record: ReadingRecord) -> None:
    """Warn if names look like mistakes, where looking takes no noticeable time."""
    from efge.graph.portrait import MAX_COMPARED, describe_names

    for text in describe_names(graph, record, MAX_COMPARED):
        log_info(f"{name}: {text}")


def find_node(source: Graph | Embedding, text: str) -> Hashable:
    """Return the node of a graph or an embedding with that name; arguments are text, but names may be integers."""
    names: list[Hashable] = [text]
    if text.removeprefix("-").isdecimal():
        # Python refuses integers of thousands of digits.
        with suppress(ValueError):
            names.append(int(text))
    found = next((name for name in names if name in source), text)
    look_up = source.rows if isinstance(source, efge.Graph) else source._rows
    try:
        # An unknown name is an error that lists similar ones.
        look_up([found])
    except KeyError as error:
        raise ValueError(error.args[0]) from None
    return found


def read_labels(
    path: Path | str, options: Mapping[str, Any], source: Graph | Embedding
) -> dict[Hashable, tuple[Hashable, ...]]:
    """Read labels of the nodes of a graph or an embedding, with the columns that the user has chosen."""
    from efge.evaluation.labels import read_matching_labels

    return read_matching_labels(path, source.names, **select_options(options, LABEL_OPTIONS))


def make_record(run: Run, model: Any, graph: Graph, seconds: float) -> dict[str, Any]:
    """Return the record that is written beside an output; it suffices to repeat the run byte for byte."""
    likelihoods = getattr(model, "history_", {}).get("log_likelihood", [])
    return {
        "efge": efge.__version__,
        "config": run.config(int(model.seed_)),
        "fingerprint": graph.fingerprint(),
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "seconds": round(seconds, 3),
        "log_likelihood": likelihoods[-1] if likelihoods else None,
        "diagnostics": model.diagnostics_.to_dict(),
        **(_describe_training(model) if _trains_on_walks(model) else {}),
    }


def make_update_record(
    settings: Mapping[str, Any], source: Mapping[str, Any], model: Any, graph: Graph, outcome: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the record that is written beside the vectors of an updated model: what it was, and how far it moved."""
    likelihoods = getattr(model, "history_", {}).get("log_likelihood", [])
    return {
        "efge": efge.__version__,
        "update": {name: str(value) if isinstance(value, Path) else value for name, value in settings.items()}
        | dict(source),
        "fingerprint": graph.fingerprint(),
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        **outcome,
        "updates": model.n_updates_,
        "log_likelihood": likelihoods[-1] if likelihoods else None,
        "diagnostics": model.diagnostics_.to_dict(),
    }


def _describe_training(model: Any) -> dict[str, Any]:
    return {"window": model.window_, "walks_per_node": round(model.walks_per_node_, 2), "converged": model.converged_}


def describe_walks(model: Any) -> str:
    """Say on how many walks a model was trained, and whether it had converged."""
    if not _trains_on_walks(model):
        return ""
    reason = ", converged" if model.converged_ else ""
    return f"{model.walks_per_node_:.0f} walks per node{reason}"


def _trains_on_walks(model: Any) -> bool:
    return hasattr(model, "walks_per_node_")
