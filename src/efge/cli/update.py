"""Updates of a saved model: ``efge embed --update``."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import efge
from efge.cli import runs
from efge.cli.console import format_duration, log_info, progress
from efge.cli.options import READING_OPTIONS
from efge.cli.outputs import check_outputs, write_json
from efge.progress import describe_likelihood

# Options that an update takes besides those of reading; all others are parameters of the model, which keeps its own.
_OPTIONS = ("graph", "output", "model", "family_options", "threads")


def update_model(
    path: str,
    settings: Mapping[str, Any],
    freeze: bool,
    checkpoint: Mapping[str, Any],
    save_model: str | None,
    to: str | None,
    force: bool,
) -> None:
    """Update a saved model to a graph that has changed, and write its vectors, and the model if that is asked for."""
    from efge.embedding.formats import check_writable
    from efge.graph.inputs import match_node_types

    _check_settings(path, settings)
    check_writable(settings["output"], to)
    record = None if settings["output"] == "-" else Path(f"{settings['output']}.json")
    check_outputs([settings["output"], record], [path, settings["graph"], settings.get("nodes")], force)
    if save_model is not None:
        check_writable(save_model, "npz")
        # A model may be replaced by its update, as files appear only when they are complete.
        check_outputs([save_model], [settings["graph"], settings.get("nodes")], force or save_model == path)
    estimator = _load(path, settings)
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    reading = {name: settings[name] for name in READING_OPTIONS if name in settings}
    network = match_node_types(runs.read_graph(settings["graph"], reading), estimator.embedding_.names)
    if save_model == path and not force:
        _check_replacement(path, estimator, network)
    outcome = _update(estimator, network, freeze, checkpoint)
    estimator.embedding_.save(settings["output"], to, escape_formulas=True)
    if save_model is not None:
        estimator.save(save_model)
    if record is not None:
        source = {"model": path, "sha256": digest, "freeze": freeze}
        write_json(record, runs.make_update_record(settings, source, estimator, network, outcome))
    log_info(f"wrote {estimator.embedding_!r} to {settings['output']}")
    stays = f"{path} stays as it was; add --save-model FILE to keep the updated model"
    log_info(stays if save_model is None else f"wrote the updated model to {save_model}")
    log_info(_describe(outcome))


def check_update(path: str | None, execution: Mapping[str, Any], others: Mapping[str, Any]) -> str:
    """Return the path of the model to update; raise an error for options that an update does not have."""
    if path is None:
        raise ValueError("--freeze keeps the vectors of a model that is updated; add --update MODEL")
    for name in [*(name for name, value in others.items() if value is not None), *execution]:
        if name not in ("checkpoint", "every", "resume"):
            raise ValueError(f"--{name.replace('_', '-')} is for a new fit; leave it out, or leave out --update")
    return path


def _check_settings(path: str, settings: Mapping[str, Any]) -> None:
    for name, advice in {"graph": "a graph", "output": "an output, such as -o vectors.npz"}.items():
        if name not in settings:
            raise ValueError(f"give {advice}")
    if ":" not in str(settings.get("model", ":")):
        raise ValueError(f"--model cannot be changed by an update; {path} keeps its own")
    for name in settings:
        if name not in (*_OPTIONS, *READING_OPTIONS):
            option = name.replace("_", "-")
            raise ValueError(f"--{option} cannot be changed by an update; {path} keeps the parameters of its fit")


def _load(path: str, settings: Mapping[str, Any]) -> Any:
    estimator = runs.load_model(path, settings.get("model"), settings.get("family_options"))
    if not hasattr(estimator, "partial_fit"):
        raise ValueError(f"{path}: {type(estimator).__name__} cannot be updated; EFGE and Node2Vec can")
    return estimator.set_params(threads=settings.get("threads"))


def _check_replacement(path: str, estimator: Any, network: Any) -> None:
    """Refuse to replace a model by one that has lost many nodes: these would be gone for good."""
    from efge.models.updating import describe_many_leaving

    before = estimator.embedding_
    n_kept = int((before._index.rows(network.names) >= 0).sum())
    warning = describe_many_leaving(len(before), n_kept, network.n_nodes)
    if n_kept and warning is not None:
        raise ValueError(f"{warning}. To replace {path} all the same, add --force; to keep it, save to another file")


def _update(estimator: Any, network: Any, freeze: bool, checkpoint: Mapping[str, Any]) -> dict[str, Any]:
    """Update a model, show its progress, and return how long it took and how far old nodes have moved."""
    start, before = time.perf_counter(), estimator.embedding_
    with progress("training", "pairs") as advance:

        def show_progress(state: efge.Progress) -> None:
            advance(state.pairs, state.total, describe_likelihood(state))

        estimator.partial_fit(network, freeze=freeze, progress=show_progress, **checkpoint)
    is_old = before._index.rows(estimator.embedding_.names) >= 0
    drift, kept = estimator.drift_, int(is_old.sum())
    return {
        "seconds": round(time.perf_counter() - start, 3),
        "nodes_came": len(is_old) - kept,
        "nodes_left": len(before) - kept,
        "mean_drift": drift.mean,
        "moved_most": [list(moved) for moved in drift.most(10)] if drift.mean else [],
    }


def _describe(outcome: Mapping[str, Any]) -> str:
    most = outcome["moved_most"]
    return (
        f"updated in {format_duration(outcome['seconds'])}: {outcome['nodes_came']:,} nodes came,"
        f" {outcome['nodes_left']:,} left, and old ones moved by a cosine distance of {outcome['mean_drift']:.3f} on"
        f" average{f'; most: {most[0][0]}, {most[0][1]:.3f}' if most else ''}"
    )
