"""Parameters of estimators as JSON and back: numbers and text, families, and walk strategies."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from efge.errors import EmbeddingError
from efge.families.base import Family
from efge.families.builtin import FAMILIES, as_family
from efge.families.odds import log_odds

# Number of scores at which a family from a file is evaluated.
_CHECKED_SCORES = 65


def encode_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as values that JSON keeps; a family of the user's own is described, but not kept.

    Examples
    --------
    >>> encode_parameters({"dim": 8, "family": FAMILIES["normal"]()})
    {'dim': 8, 'family': {'family': 'normal', 'parameters': {'sigma': 1.0}}}
    """
    return {name: _encode(name, value) for name, value in parameters.items()}


def _encode(name: str, value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, Family):
        return _encode_family(value)
    if name == "walk":
        return _encode_strategy(value)
    raise EmbeddingError(f"a file keeps parameters that are numbers, text, families or walks; got {name}={value!r}")


def _encode_family(family: Family) -> dict[str, Any]:
    """Return name and parameters of a built-in family; of any other one, only what it prints."""
    name = next((name for name, builtin in FAMILIES.items() if builtin is type(family)), None)
    if name is not None:
        parameters = {
            key: value.item() if isinstance(value, np.generic) else value for key, value in vars(family).items()
        }
        # An instance whose bounds were changed, say, is a family of its own.
        if _are_numbers(parameters) and list(parameters) == list(vars(FAMILIES[name]())):
            return {"family": name, "parameters": parameters}
    return {"own family": repr(family)}


def _are_numbers(values: Mapping[str, Any]) -> bool:
    return all(type(value) in (int, float) for value in values.values())


def _encode_strategy(strategy: Any) -> dict[str, Any]:
    from efge.walks.strategies import STRATEGIES, CorpusWalk

    if isinstance(strategy, CorpusWalk):
        return {"corpus": os.fspath(strategy.walks) if isinstance(strategy.walks, (str, os.PathLike)) else None}
    name = next((name for name, known in STRATEGIES.items() if known is type(strategy)), None)
    if name is None:
        raise EmbeddingError(f"a file keeps walk strategies that are {', '.join(STRATEGIES)}; got {strategy!r}")
    return {"walk": name, "parameters": asdict(strategy)}


def decode_parameters(encoded: Mapping[str, Any], family: Family | None) -> dict[str, Any]:
    """Return the parameters that `encode_parameters` encoded; `family` is needed if it is the user's own."""
    family = None if family is None else as_family(family)
    parameters = {name: _decode(name, value, family) for name, value in encoded.items()}
    if "family" in parameters:
        _check_log_odds(as_family(parameters["family"]))
        if family not in (None, as_family(parameters["family"])):
            raise EmbeddingError(f"this is a model of the family {parameters['family']!r}; got family={family!r}")
    elif family is not None:
        raise EmbeddingError(f"this is a model without a family; got family={family!r}")
    return parameters


def _check_log_odds(family: Family) -> None:
    """Refuse a family without finite scores; `fit`, which needs more of it, has a longer check of its own."""
    try:
        finite = bool(np.isfinite(log_odds(family, np.linspace(*family.bounds, _CHECKED_SCORES))).all())
    except ArithmeticError:
        finite = False
    if not finite:
        raise EmbeddingError(f"the family {family!r} gives no finite probabilities within its bounds {family.bounds}")


def _decode(name: str, value: Any, family: Family | None) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, dict) and name == "family":
        return _decode_family(value, family)
    if isinstance(value, dict) and name == "walk":
        return _decode_strategy(value)
    raise EmbeddingError(f"entry 'model': a parameter is a number or text; got {name}: {type(value).__name__}")


def _decode_family(encoded: dict[str, Any], family: Family | None) -> Family:
    if "own family" in encoded:
        described = str(encoded["own family"])[:200]
        if family is None:
            raise EmbeddingError(f"a file cannot contain your own family, {described}; pass it as family= (--family)")
        if repr(family) != encoded["own family"]:
            raise EmbeddingError(f"this is a model of the family {described}; got family={family!r}")
        return family
    name, parameters = encoded.get("family"), encoded.get("parameters")
    if name not in FAMILIES or not isinstance(parameters, dict) or not _are_numbers(parameters):
        raise EmbeddingError(f"entry 'model': a family is one of {', '.join(FAMILIES)}, and its parameters are numbers")
    return FAMILIES[name](**parameters)


def _decode_strategy(encoded: dict[str, Any]) -> Any:
    from efge.walks.strategies import STRATEGIES, CorpusWalk

    if isinstance(encoded.get("corpus", 0), str | None):
        return CorpusWalk(encoded["corpus"] or ())
    name, parameters = encoded.get("walk"), encoded.get("parameters")
    if name not in STRATEGIES or not isinstance(parameters, dict) or not _are_numbers(parameters):
        raise EmbeddingError(f"entry 'model': a walk is one of {', '.join(STRATEGIES)}, and its parameters are numbers")
    return STRATEGIES[name](**parameters)
