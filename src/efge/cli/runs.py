"""What a run of `efge embed` is: graph, model and parameters, from options, a file or the record beside an output."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import efge
from efge.cli.console import say
from efge.cli.options import MODELS, PARAMETERS, READING_OPTIONS

if TYPE_CHECKING:
    from efge.graph.graph import Graph

_NAMES = ("graph", "output", "model", "family_options")
_COLUMNS = ("source", "target", "weight")
# Of what type options of reading are in a configuration; columns are names or numbers.
_TRUTHS = ("directed", "weighted", "drop_self_loops", "header")
_READING_TYPES: dict[str, type] = dict.fromkeys(_TRUTHS, bool) | dict.fromkeys(
    ("nodes", "format", "delimiter", "encoding"), str
)


@dataclass
class Run:
    """All that a result depends on; `fingerprint` is that of the graph of the run that is to be repeated."""

    graph: str
    output: str
    model: str = "normal"
    family_options: dict[str, Any] = field(default_factory=dict)
    reading: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    fingerprint: str | None = None

    def config(self, seed: int) -> dict[str, Any]:
        """The run as a configuration, with the seed that was taken."""
        own = {"graph": self.graph, "output": self.output, "model": self.model}
        families = {"family_options": self.family_options} if self.family_options else {}
        reading = {name: str(value) if isinstance(value, Path) else value for name, value in self.reading.items()}
        return own | families | reading | self.parameters | {"seed": seed}


def read_config(path: Path) -> tuple[dict[str, Any], str | None]:
    """The names and values of a configuration, and the graph's fingerprint if it is the record of a run."""
    from efge.io.files import from_json, toml

    try:
        text = path.read_text("utf-8")
        found = from_json(text) if path.suffix == ".json" else toml(text)
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:
        raise ValueError(f"{path}: not a configuration that can be read: {error}") from None
    config = found.get("config", found) if isinstance(found, dict) else found
    if not isinstance(config, dict) or not isinstance(config.get("family_options", {}), dict):
        raise ValueError(f"{path}: a configuration has names with values, and a table of family_options")
    known = [*_NAMES, *READING_OPTIONS, *PARAMETERS]
    for name in config:
        if name not in known:
            raise ValueError(f"{path}: no option {name[:40]!r}; known: {', '.join(known)}")
        if name in READING_OPTIONS and not isinstance(config[name], _READING_TYPES.get(name, (str, int))):
            raise ValueError(f"{path}: {name} is {_in_words(name)}; got {str(config[name])[:40]!r}")
    return config, found.get("fingerprint")


def _in_words(name: str) -> str:
    return {bool: "true or false", str: "text"}.get(_READING_TYPES.get(name, object), "a name or a number")


def run_of(config: Path | None, options: Mapping[str, Any]) -> Run:
    """The run that options ask for; what they do not say, the configuration does."""
    said, fingerprint = ({}, None) if config is None else read_config(config)
    merged = said | dict(options)
    for name in ("graph", "output"):
        if not isinstance(merged.get(name), str):
            what = "a graph to embed" if name == "graph" else "an output, as -o vectors.npz"
            raise ValueError(f"give {what}")
    families = merged.get("family_options", {})
    return Run(
        merged["graph"],
        merged["output"],
        str(merged.get("model", "normal")),
        family_options(families) if isinstance(families, list) else dict(families),
        {name: merged[name] for name in READING_OPTIONS if name in merged},
        {name: merged[name] for name in PARAMETERS if name in merged},
        fingerprint if "graph" not in options or options["graph"] == said.get("graph") else None,
    )


def family_options(pairs: list[str]) -> dict[str, Any]:
    """Names and values, given as name=value; values are JSON where they can be, else text."""
    from efge.io.files import from_json

    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier():
            raise ValueError(f"a family option is name=value, as sigma=2; got {pair!r}")
        try:
            found[name] = from_json(value)
        except ValueError:
            found[name] = value
    return found


def make_model(name: str, families: Mapping[str, Any], parameters: Mapping[str, Any]) -> Any:
    """The estimator of that name; parameters that are not its own are refused."""
    if name not in MODELS and ":" not in name:
        raise ValueError(f"no model {name!r}; known: {', '.join(MODELS)}, or a family of your own as module:Family")
    estimator, family = MODELS.get(name, ("EFGE", name))
    settings = {key: _whole(value) for key, value in parameters.items()}
    for key in settings:
        if estimator not in PARAMETERS[key].estimators:
            own = [f"--{other.replace('_', '-')}" for other, p in PARAMETERS.items() if estimator in p.estimators]
            raise ValueError(f"{name} has no option --{key.replace('_', '-')}; it has {', '.join(own)}")
    if family is None and families:
        raise ValueError(f"{name} has no family; got the family options {', '.join(families)}")
    if family is not None:
        settings["family"] = _family(family, families)
    return getattr(efge, estimator)(**settings)


def _whole(value: Any) -> Any:
    """A whole number as an integer: some parameters are one for one estimator and not for another."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _family(name: str, options: Mapping[str, Any]) -> Any:
    from efge.families.base import Family
    from efge.families.builtin import FAMILIES

    kind = _own_family(name) if ":" in name else FAMILIES[name]
    if not (isinstance(kind, type) and issubclass(kind, Family)):
        raise ValueError(f"{name}: a family is a class that inherits from efge.Family; got {kind!r}")
    try:
        return kind(**options)
    except TypeError as error:
        raise ValueError(f"{name}: {error}") from None


def _own_family(name: str) -> Any:
    place, _, attribute = name.rpartition(":")
    if place.endswith(".py"):
        spec = importlib.util.spec_from_file_location(Path(place).stem, place)
        if spec is None or spec.loader is None or not Path(place).is_file():
            raise ValueError(f"{place}: no such file")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        # As for python -m, modules beside the user count.
        sys.path.insert(0, "")
        try:
            module = importlib.import_module(place)
        except ModuleNotFoundError as error:
            raise ValueError(f"no module {place!r} ({error}); a file is given as file.py:{attribute}") from None
    if not hasattr(module, attribute):
        raise ValueError(f"{place} has no {attribute}")
    return getattr(module, attribute)


def read_graph(name: str, reading: Mapping[str, Any]) -> Graph:
    """The graph of a file, of standard input, or of a data set if there is no file of that name."""
    from efge.datasets.catalogue import DATASETS

    if name in DATASETS and not Path(name).exists():
        if reading:
            raise ValueError(f"the data set {name} is as it is; got {', '.join(reading)}")
        return efge.load_dataset(name).graph
    graph = efge.read_graph(name, **columns_of(reading))
    if graph._file is None:
        point_out_header(name, graph, reading)
    return graph


def columns_of(reading: Mapping[str, Any]) -> dict[str, Any]:
    """Options for reading, with columns that are given by their numbers as numbers."""
    columns = {key: int(value) for key, value in reading.items() if key in _COLUMNS and str(value).isdecimal()}
    return dict(reading) | columns


def point_out_header(name: str, graph: Graph, reading: Mapping[str, Any]) -> None:
    """Say so where the first line looks like names of columns that were taken for nodes."""
    alone = graph.n_nodes > 2 and graph.n_edges and graph.degrees[:2].tolist() == [1, 1 - graph.directed]
    if "header" in reading or not alone or int(graph.indices[0]) != 1:
        return
    first, second = graph._kept_names[:2].tolist()
    if not isinstance(first, str):
        return
    say(f"{name}: {first!r} and {second!r}, of the first line, occur nowhere else; if they are a header, add --header")


def record(run: Run, model: Any, graph: Graph, seconds: float) -> dict[str, Any]:
    """What is written beside an output: enough to repeat it to the byte."""
    likelihoods = getattr(model, "history_", {}).get("log_likelihood", [])
    return {
        "efge": efge.__version__,
        "config": run.config(int(model.seed_)),
        "fingerprint": graph.fingerprint(),
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "seconds": round(seconds, 3),
        "log_likelihood": likelihoods[-1] if likelihoods else None,
    }
