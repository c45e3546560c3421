"""Spaces of parameters: what a study may choose from, as a dictionary, a list of estimators or a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from efge.errors import EvaluationError
from efge.families.builtin import FAMILIES
from efge.models.base import NodeEmbedder

# Families and windows differ most between graphs, and filters cost little to try.
DEFAULT_SPACE: dict[str, list[Any]] = {
    "family": ["poisson", "bernoulli", "normal"],
    "window": [1, 2, 5, 10],
    "propagate": [None, "auto"],
}
ESTIMATORS = ("EFGE", "DeepWalk", "Node2Vec", "LINE", "HOPE", "NetMF", "ProNE", "BigClam")
# A graph of this many candidates would keep a computer busy for weeks.
_MAX_CANDIDATES = 10_000


@dataclass(frozen=True)
class Candidate:
    """An estimator, and the parameters by which it differs from others.

    Examples
    --------
    >>> import efge
    >>> print(Candidate(efge.EFGE("poisson", window=2), {"family": "poisson", "window": 2, "propagate": None}))
    poisson, window 2, no filter
    """

    estimator: NodeEmbedder
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return ", ".join(_describe(name, value) for name, value in self.parameters.items()) or repr(self.estimator)

    def settings(self) -> dict[str, Any]:
        """Return the estimator's name and all its parameters, also those that the space leaves at their defaults."""
        return {"estimator": type(self.estimator).__name__} | self.estimator.get_params() | dict(self.parameters)

    def training(self) -> str:
        """Return what the trained vectors depend on; candidates that differ in their filter only share a training."""
        parameters = self.estimator.get_params()
        for name in ("seed", "threads", "propagate"):
            parameters.pop(name, None)
        settings = ", ".join(f"{name}={value!r}" for name, value in sorted(parameters.items()))
        return f"{type(self.estimator).__name__}({settings})"

    def key(self) -> str:
        """Return a text that tells this candidate from all others."""
        return f"{self.training()}, propagate={getattr(self.estimator, 'propagate', None)!r}"


def _describe(name: str, value: Any) -> str:
    if name in ("family", "estimator"):
        return str(value)
    if name == "propagate":
        return {None: "no filter", "auto": "filter"}.get(value, f"filter {value}")
    return f"{name} {value}"


def make_candidates(space: Any = None) -> list[Candidate]:
    """Return the candidates of a space, each once.

    Examples
    --------
    >>> [str(candidate) for candidate in make_candidates({"window": [1, 5], "dim": 16})]
    ['window 1, dim 16', 'window 5, dim 16']
    >>> len(make_candidates())
    24
    """
    listed = _from_source(DEFAULT_SPACE if space is None else space)
    unique = {candidate.key(): candidate for candidate in reversed(listed)}
    candidates = list(reversed(unique.values()))
    if not candidates:
        raise EvaluationError("a space needs at least one candidate; got an empty one")
    return candidates


def _from_source(space: Any) -> list[Candidate]:
    if isinstance(space, (str, os.PathLike)):
        return _from_file(Path(space))
    if isinstance(space, Mapping):
        return _from_mapping(space)
    if isinstance(space, NodeEmbedder) or not isinstance(space, Iterable):
        raise EvaluationError(f"a space is a dictionary of parameters, a list of them, estimators or a file; {space!r}")
    found = []
    for part in space:
        if isinstance(part, NodeEmbedder):
            found.append(Candidate(part, {"estimator": repr(part)}))
        elif isinstance(part, Mapping):
            found += _from_mapping(part)
        else:
            raise EvaluationError(f"a part of a space is a dictionary of parameters or an estimator; got {part!r}")
    return found


def _from_mapping(space: Mapping[str, Any]) -> list[Candidate]:
    """Return every combination of the values of each parameter."""
    values = {name: _as_list(name, value) for name, value in space.items()}
    count = 1
    for options in values.values():
        count *= len(options)
    if count > _MAX_CANDIDATES:
        raise EvaluationError(f"a space has {_MAX_CANDIDATES:,} candidates at most; this one has {count:,}")
    return [_make(dict(zip(values, combination, strict=True))) for combination in product(*values.values())]


def _as_list(name: str, value: Any) -> list[Any]:
    options = list(value) if isinstance(value, (list, tuple, set, frozenset, range)) else [value]
    if name == "propagate":
        return [None if option == "none" else option for option in options]
    return options


def _make(parameters: dict[str, Any]) -> Candidate:
    import efge

    settings = dict(parameters)
    name = settings.pop("estimator", "EFGE")
    known = next((known for known in ESTIMATORS if str(name).lower() == known.lower()), None)
    if known is None:
        raise EvaluationError(f"no estimator {name!r}; known: {', '.join(ESTIMATORS)}")
    if isinstance(settings.get("family"), Mapping):
        settings["family"] = parameters["family"] = _make_family(settings["family"])
    try:
        estimator: NodeEmbedder = getattr(efge, known)().set_params(**settings)
    except ValueError as error:
        raise EvaluationError(f"{_describe_all(parameters)}: {error}") from None
    return Candidate(estimator, parameters)


def _describe_all(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in parameters.items())


def _make_family(settings: Mapping[str, Any]) -> Any:
    """Return a family from a table such as ``{name = "normal", sigma = 0.5}``."""
    options = dict(settings)
    name = options.pop("name", None)
    if name not in FAMILIES:
        raise EvaluationError(f"no family {name!r}; known: {', '.join(FAMILIES)}")
    try:
        return FAMILIES[name](**options)
    except TypeError as error:
        raise EvaluationError(f"{name}: {error}") from None


def _from_file(path: Path) -> list[Candidate]:
    """Read a .toml or .json file: a table of parameters, or several under the name ``space``."""
    from efge.io.files import parse_json, parse_toml

    try:
        text = path.read_text("utf-8")
        content = parse_json(text) if path.suffix == ".json" else parse_toml(text)
    except FileNotFoundError:
        raise EvaluationError(f"{path}: no such file") from None
    except OSError as error:
        raise EvaluationError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:
        raise EvaluationError(f"{path}: cannot read this space: {error}") from None
    parts = content.get("space", content) if isinstance(content, dict) else content
    tables = [parts] if isinstance(parts, dict) else parts
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise EvaluationError(f"{path}: a space is a table of parameters, or several, each after a line [[space]]")
    try:
        return [candidate for table in tables for candidate in _from_mapping(table)]
    except EvaluationError as error:
        raise EvaluationError(f"{path}: {error}") from None
