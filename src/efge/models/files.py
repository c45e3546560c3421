"""Fitted estimators in files: arrays in NumPy's npz format, everything else as JSON, and nothing that runs as code."""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import asdict, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from efge import __version__
from efge.embedding.alignment import Drift
from efge.embedding.common import as_seekable
from efge.embedding.embedding import Embedding
from efge.embedding.formats import as_embedding_errors, check_dimensions, check_writable
from efge.embedding.npz import check_format, has_entry, name_arrays, read_entry, read_names, write_arrays
from efge.errors import EmbeddingError, GraphError
from efge.io.atomic import atomic_write
from efge.io.files import display_name, open_input, parse_json
from efge.models.diagnostics import Diagnostics
from efge.models.parameters import decode_parameters, encode_parameters

if TYPE_CHECKING:
    from efge.families.base import Family
    from efge.models.base import NodeEmbedder

AnyEmbedder = TypeVar("AnyEmbedder", bound="NodeEmbedder")

_MAGIC = b"efge model 1"
# Estimators that a file may name; each is in the module of its name in lower case.
_ESTIMATORS = ("EFGE", "DeepWalk", "Node2Vec", "LINE", "HOPE", "NetMF", "ProNE", "BigClam")
# Tables of vectors besides the embedding, by the names of their attributes.
_TABLES = {"centers": "center_embedding_", "contexts": "context_embedding_"}
# Fitted attributes that are arrays of one dimension, and those that are single values, by their types.
_ARRAYS = {"visits_": "<i8", "singular_values_": "<f8", "eigenvalues_": "<f8", "neighborhoods_": "<u8"}
# One that is a matrix, as large as the square of the dimension.
_FILTER_MAP = "filter_map_"
_VALUES: dict[str, type] = {
    "seed_": int,
    "walks_per_node_": float,
    "window_": int,
    "converged_": bool,
    "directed_": bool,
    "beta_": float,
    "form_": str,
    "n_communities_": int,
    "n_iter_": int,
    "n_updates_": int,
    "threshold_": float,
}


def write_model(path: str | os.PathLike[str], model: NodeEmbedder) -> None:
    """Write a fitted estimator; the file appears only when it is complete."""
    check_writable(path, "npz")
    fitted = vars(model)
    values = {name: kind(fitted[name]) for name, kind in _VALUES.items() if fitted.get(name) is not None}
    header: dict[str, Any] = {"efge": __version__, "estimator": type(model).__name__}
    try:
        header |= {"parameters": encode_parameters(model.get_params()), "values": values}
        header |= {"history": fitted["history_"]} if "history_" in fitted else {}
        header |= {"diagnostics": asdict(fitted["diagnostics_"])} if "diagnostics_" in fitted else {}
        arrays = name_arrays(model.embedding_.names)
        arrays |= {name.rstrip("_"): fitted[name].astype(kind) for name, kind in _ARRAYS.items() if name in fitted}
        if fitted.get(_FILTER_MAP) is not None:
            arrays[_FILTER_MAP.rstrip("_")] = fitted[_FILTER_MAP].astype("<f4", copy=False)
        arrays["vectors"] = model.embedding_.vectors.astype("<f4", copy=False)
        for entry, name in _TABLES.items():
            if fitted.get(name, model.embedding_) is not model.embedding_:
                arrays[entry] = fitted[name].vectors.astype("<f4", copy=False)
        if "drift_" in fitted:
            arrays |= {"drift_rows": model.embedding_._index.rows(fitted["drift_"].names).astype("<i8")}
            arrays |= {"drift": fitted["drift_"].distances.ravel().astype("<f8")}
        header["entries"] = list(arrays)
        first = {"format": np.array(_MAGIC), "model": np.frombuffer(_to_json(header), np.uint8)}
        with atomic_write(path) as stream:
            write_arrays(stream, first | arrays)
    except (GraphError, EmbeddingError) as error:
        raise EmbeddingError(f"{display_name(path)}: {error}") from None


def _to_json(header: dict[str, Any]) -> bytes:
    """Return ASCII; numbers of NumPy become Python's."""
    return json.dumps(header, default=lambda number: number.item()).encode()


def read_model(path: str | os.PathLike[str], cls: type[AnyEmbedder], family: Family | None) -> AnyEmbedder:
    """Read a fitted estimator of a class or one of its subclasses."""
    label = display_name(path)
    with as_embedding_errors(label, "model"), open_input(path) as stream:
        with zipfile.ZipFile(as_seekable(stream)) as archive:
            check_format(archive, _MAGIC, "a model file")
            header = _read_header(archive)
            estimator = _find_class(header["estimator"], cls)
            model = estimator(**_read_parameters(header, estimator, family))
            model.__dict__.update(_read_values(header))
            model.__dict__.update(_read_arrays(archive))
        if hasattr(model, "propagate"):
            # Vectors that were not filtered are those of the centers, and are in the file once.
            model.__dict__.setdefault("center_embedding_", model.embedding_)
        _check_complete(model)
        return model


def is_model(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is certainly a saved estimator, and not vectors alone."""
    try:
        with zipfile.ZipFile(path) as archive:
            return "model.npy" in archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return False


def _read_header(archive: zipfile.ZipFile) -> dict[str, Any]:
    header: dict[str, Any] = parse_json(read_entry(archive, "model", "|u1", 1).tobytes())
    kinds = {"efge": str, "estimator": str, "parameters": dict, "values": dict, "entries": list}
    for name, kind in kinds.items():
        if not isinstance(header, dict) or not isinstance(header.get(name), kind):
            raise EmbeddingError(f"entry 'model': a model has {', '.join(kinds)}; {name} is missing or invalid")
    # The names of entries have no checksum: one that is damaged would look as if the model never had that entry.
    if {f"{name}.npy" for name in ("format", "model", *header["entries"])} != set(archive.namelist()):
        raise EmbeddingError(f"the entries are not those that were written: {', '.join(map(str, header['entries']))}")
    return header


def _find_class(name: str, cls: type[AnyEmbedder]) -> type[AnyEmbedder]:
    """Return the estimator of a given name, which must be the class itself or one of its subclasses."""
    # A class without `fit` is the base of the others, not an estimator.
    if name == cls.__name__ and hasattr(cls, "fit"):
        return cls
    if name not in _ESTIMATORS:
        raise EmbeddingError(f"this is a model of another class; call the load method of your own class {name[:100]}")
    found: type = getattr(import_module(f"efge.models.{name.lower()}"), name)
    if not issubclass(found, cls):
        raise EmbeddingError(f"this is a model of {name}, not of {cls.__name__}; read it with {name}.load")
    return found


def _read_parameters(header: dict[str, Any], estimator: type[NodeEmbedder], family: Family | None) -> dict[str, Any]:
    known = estimator._default_params()
    unknown = next((name for name in header["parameters"] if name not in known), None)
    if unknown is not None:
        raise EmbeddingError(f"{estimator.__name__} has no parameter {unknown[:100]!r}; it has {', '.join(known)}")
    return decode_parameters(header["parameters"], family)


def _read_values(header: dict[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = header["values"]
    for name, value in values.items():
        if type(value) is not _VALUES.get(name):
            raise EmbeddingError(f"entry 'model': {', '.join(_VALUES)} have their types; got {name[:100]!r}: {value!r}")
    history = {"history_": header["history"]} if "history" in header else {}
    if history and not _is_history(header["history"]):
        raise EmbeddingError("entry 'model': the history of a model has lists of numbers by name")
    return values | history | _read_diagnostics(header)


def _read_diagnostics(header: dict[str, Any]) -> dict[str, Any]:
    if "diagnostics" not in header:
        return {}
    figures = header["diagnostics"]
    names = {field.name for field in fields(Diagnostics)}
    # A file of an earlier version has no predictability.
    is_complete = isinstance(figures, dict) and names - {"predictability"} <= figures.keys() <= names
    if not is_complete or any(type(value) not in (int, float, type(None)) for value in figures.values()):
        raise EmbeddingError("entry 'model': diagnostics are numbers by name")
    return {"diagnostics_": Diagnostics(**figures)}


def _is_history(history: Any, nested: bool = True) -> bool:
    """Return whether this is lists of numbers by name, or such histories by the name of a part."""
    if not isinstance(history, dict):
        return False
    return all(_is_numbers(part) or (nested and _is_history(part, nested=False)) for part in history.values())


def _is_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) in (int, float) for value in values)


def _read_arrays(archive: zipfile.ZipFile) -> dict[str, Any]:
    """Return the embeddings and the other arrays by the names of their attributes."""
    embedding = Embedding._owning(_read_vectors(archive, "vectors"), read_names(archive))
    fitted: dict[str, Any] = {"embedding_": embedding}
    for entry, name in _TABLES.items():
        if has_entry(archive, entry):
            vectors = _read_vectors(archive, entry)
            if vectors.shape != embedding.vectors.shape:
                raise EmbeddingError(
                    f"{entry} have the shape of vectors, {embedding.vectors.shape}; got {vectors.shape}"
                )
            fitted[name] = Embedding._owning(vectors, embedding.names)
    for name, kind in _ARRAYS.items():
        if has_entry(archive, name.rstrip("_")):
            fitted[name] = read_entry(archive, name.rstrip("_"), kind, 1)
    if has_entry(archive, _FILTER_MAP.rstrip("_")):
        fitted[_FILTER_MAP] = read_entry(archive, _FILTER_MAP.rstrip("_"), "<f4", 2).astype(np.float32, copy=False)
    if has_entry(archive, "drift"):
        fitted["drift_"] = _read_drift(archive, embedding)
    _check_arrays(fitted, embedding)
    return fitted


def _read_drift(archive: zipfile.ZipFile, embedding: Embedding) -> Drift:
    """Return how far nodes moved in the last update, in the order of their rows before it."""
    rows, distances = read_entry(archive, "drift_rows", "<i8", 1), read_entry(archive, "drift", "<f8", 1)
    is_row = (rows >= 0) & (rows < len(embedding))
    if len(rows) != len(distances) or not (is_row & (distances >= 0) & (distances <= 2)).all():
        raise EmbeddingError("entries 'drift_rows' and 'drift': rows of nodes, and a distance from 0 to 2 for each")
    return Drift(embedding.names[rows], distances[:, None].astype(float), [0.0])


def _check_arrays(fitted: dict[str, Any], embedding: Embedding) -> None:
    matrix = fitted.get(_FILTER_MAP)
    if matrix is not None and (matrix.shape != (embedding.dim, embedding.dim) or not np.isfinite(matrix).all()):
        raise EmbeddingError(f"entry 'filter_map': a matrix of {embedding.dim} rows and columns of finite numbers")
    digests = fitted.get("neighborhoods_")
    if digests is not None and len(digests) != len(embedding):
        raise EmbeddingError(f"entry 'neighborhoods': each of {len(embedding)} nodes has a digest; got {len(digests)}")
    visits = fitted.get("visits_")
    if visits is not None and (len(visits) != len(embedding) or visits.min(initial=0) < 0):
        raise EmbeddingError(f"entry 'visits': each of {len(embedding)} nodes has a number of visits, 0 or above")


def _read_vectors(archive: zipfile.ZipFile, name: str) -> npt.NDArray[np.float32]:
    return check_dimensions(read_entry(archive, name, "<f4", 2).astype(np.float32, copy=False))


def _check_complete(model: NodeEmbedder) -> None:
    """Refuse a model that scores pairs but lacks what its scores depend on."""
    for name in ("context_embedding_", "directed_"):
        if hasattr(model, "score_pairs") and name not in vars(model):
            raise EmbeddingError(f"a model of {type(model).__name__} has contexts and directed_; {name} is missing")
