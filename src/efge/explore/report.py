"""A report on a graph in one page: its portrait, a model and why it was chosen, scores, a map, and how to repeat it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from html import escape
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

import efge
from efge import display
from efge.embedding.embedding import Embedding
from efge.errors import GraphError, QualityWarning, check_functions, check_types
from efge.evaluation.classification import ClassificationScores, node_classification
from efge.evaluation.labels import as_targets
from efge.evaluation.links import LinkScores, exceeds_noise, link_prediction
from efge.evaluation.results import Scores
from efge.evaluation.splits import LinkSplit, split_links
from efge.explore.headline import summarize_findings
from efge.explore.layout import lay_out
from efge.explore.page import check_page
from efge.explore.palette import LIGHT
from efge.families.builtin import FAMILIES
from efge.graph.graph import Graph
from efge.graph.inputs import as_graph
from efge.io.atomic import atomic_write
from efge.models.base import NodeEmbedder
from efge.random import check_seed

Report = Callable[[str], None]

# What a model is compared by: the features of a pair that need no classifier.
_FEATURES = ("cosine", "hadamard", "likelihood")
_TEST_SIZE, _TEST_REPEATS = 0.2, 2
_FAMILIES = set(FAMILIES.values())
_LABEL_REPEATS, _LABEL_RATIOS = 10, (0.1, 0.5)
_MAPPED_NODES, _MAP_SIZE = 3000, (760, 520)
_SHOWN_NODES, _SHOWN_NEIGHBORS = 5, 5
_SHOWN_CLASSES = 12
# Nodes of the largest degrees that the map may name, the longest name, and the size of a character.
_NAMED_NODES, _NAME_LENGTH, _CHARACTER = 15, 24, (6.6, 12)


class Choice(NamedTuple):
    """A model, and the AUC of each candidate that it was chosen by."""

    name: str
    model: NodeEmbedder
    scores: dict[str, float]
    reason: str


def default_candidates(seed: int) -> dict[str, NodeEmbedder]:
    """Return the models that a report compares by default."""
    return {
        "poisson": efge.EFGE(seed=seed),
        "prone": efge.ProNE(seed=seed),
        "hope": efge.HOPE(seed=seed),
    }


def write_report(
    graph: Any,
    path: str | os.PathLike[str],
    *,
    labels: Any = None,
    models: Mapping[str, NodeEmbedder] | None = None,
    title: str = "Graph",
    command: str | None = None,
    seed: int = 0,
    progress: Report | None = None,
) -> None:
    """Write a report on a graph and its embedding: one page that any browser opens, without a network connection.

    The page has a sentence that says what was found; the graph's portrait; the model with the best AUC on one split of
    the edges, or the first one of those that are as good within noise; its diagnostics; its scores on other splits
    beside those of the other models and of the classical heuristics; with labels, the scores of node classification
    beside the most frequent class; a map; the nearest neighbors of a few nodes; and how to repeat it.

    Parameters
    ----------
    graph : Graph, or anything :func:`efge.as_graph` takes
    path : path
        File to write; an existing file is replaced only when the new one is complete.
    labels : path, mapping, data frame or sequence, optional
        Classes as for :func:`efge.node_classification`.
    models : mapping of names to estimators, optional
        The models to choose from; by default, ``EFGE``, ``ProNE`` and ``HOPE``. With one model, nothing is chosen.
    title : str
    command : str, optional
        The command that repeats the report, to be printed at its end.
    seed : int
        Seed of splits, models and map.
    progress : callable, optional
        Called with the name of each step when it begins.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "report.html")
    >>> ring = [(i, (i + step) % 30) for i in range(30) for step in (1, 2)]
    >>> write_report(ring, path, models={"hope": efge.HOPE(dim=8, seed=0)})
    >>> "hope" in path.read_text("utf-8")
    True
    """
    check_types(title=title, command=command)
    check_page(path)
    check_functions(progress=progress)
    seed = check_seed(seed)
    graph, candidates = as_graph(graph), _check_models(models, seed)
    if graph.n_edges < 10:
        raise GraphError(f"a report needs at least 10 edges to hide some of them; got {graph!r}")
    say = progress or (lambda step: None)
    with atomic_write(path) as stream:
        say("choosing a model")
        choice = choose_model(graph, candidates, seed)
        say(f"scoring {choice.name}")
        splits = _hide_edges(graph, seed)
        links = _score_links(graph, candidates, splits, seed)
        say(f"fitting {choice.name} to all edges")
        model, remarks = _fit(choice.model, graph)
        embedding = model.embedding_
        classes = None
        if labels is not None:
            say("scoring classes")
            classes = node_classification(
                embedding, labels, ratios=_LABEL_RATIOS, repeats=_LABEL_REPEATS, seed=seed, progress=None
            )
        say("drawing the map")
        sections = {
            "The graph": _portrait(graph),
            "The model": _explain_choice(choice, model, remarks),
            "Predicting hidden edges": _describe_links(links, choice.name),
            "Predicting classes": "" if classes is None else _describe_classes(classes),
            "Map": _draw_map(graph, embedding, labels, seed),
            "Nearest neighbors": _describe_neighbors(graph, embedding),
            "Repeating it": _describe_repetition(graph, choice, command, seed),
        }
        n_hidden = sum(min(len(split.test_edges), len(split.test_non_edges)) for split in splits)
        stream.write(_render(title, summarize_findings(links, choice.name, n_hidden, classes), sections))


def _check_models(models: Any, seed: int) -> dict[str, NodeEmbedder]:
    if models is None:
        return default_candidates(seed)
    if not isinstance(models, Mapping) or not models or not all(isinstance(m, NodeEmbedder) for m in models.values()):
        raise TypeError(f"models is a mapping of names to estimators, such as {{'hope': efge.HOPE()}}; got {models!r}")
    return dict(models)


def choose_model(graph: Graph, candidates: Mapping[str, NodeEmbedder], seed: int) -> Choice:
    """Return the first model whose AUC on one split of the edges is the best within noise; one alone is not scored."""
    if len(candidates) == 1:
        name, model = next(iter(candidates.items()))
        return Choice(name, model, {}, "It was given; no other model was tried.")
    # The splits of the scores that are shown have other seeds, so that they do not favor the chosen model.
    split = split_links(graph, _TEST_SIZE, seed=(seed, 0, 1))
    scores = link_prediction(graph, candidates, features=_FEATURES, heuristics=(), splits=[split], seed=seed)
    best, pairs = {name: max(_mean_auc(scores, name)) for name in candidates}, len(split.test_edges)
    top = max(best.values())
    equal = [name for name, auc in best.items() if not exceeds_noise(top, auc, pairs)]
    winner = equal[0]
    about = (
        f"{pairs:,} hidden edges were to be told from as many pairs without an edge, by the best feature of each model"
    )
    where = "on one split of the edges, which is not among those below"
    reason = f"{about}: its AUC was the highest {where}."
    if len(equal) > 1:
        reason = f"{about}. The AUC of {' and '.join(equal)} is equal within noise {where}, and {winner} comes first."
    return Choice(winner, candidates[winner], best, reason)


def _mean_auc(scores: LinkScores, name: str) -> list[float]:
    return [float(np.mean(values["auc"])) for case, values in scores.raw.items() if case[0] == name]


def _hide_edges(graph: Graph, seed: int) -> list[LinkSplit]:
    return [split_links(graph, _TEST_SIZE, seed=(seed, number)) for number in range(_TEST_REPEATS)]


def _score_links(
    graph: Graph, candidates: Mapping[str, NodeEmbedder], splits: list[LinkSplit], seed: int
) -> LinkScores:
    return link_prediction(graph, candidates, features=_FEATURES, splits=splits, seed=seed)


def _portrait(graph: Graph) -> str:
    degrees, sizes = graph.degrees, np.bincount(graph.components)
    rows = [
        ("nodes", f"{graph.n_nodes:,}"),
        ("edges", f"{graph.n_edges:,}"),
        (
            "kind",
            f"{'directed' if graph.directed else 'undirected'}, {'weighted' if graph.is_weighted else 'unweighted'}",
        ),
        ("self-loops", f"{graph.n_self_loops:,}"),
        ("isolated nodes", f"{graph.n_isolated:,}"),
        ("components", f"{graph.n_components:,}; the largest has {sizes.max() / graph.n_nodes:.0%} of the nodes"),
        ("degrees", f"mean {degrees.mean():.1f}, median {np.median(degrees):.0f}, largest {degrees.max():,}"),
    ]
    order = np.argsort(-degrees, kind="stable")[:_SHOWN_NODES]
    hubs = ", ".join(f"{graph.names[row]} ({degrees[row]:,})" for row in order.tolist())
    note = f"<p>Largest degrees: {escape(hubs)}.</p>"
    return display.table(rows) + note + display.histogram(degrees, "degrees on logarithmic axes")


def _fit(model: NodeEmbedder, graph: Graph) -> tuple[NodeEmbedder, list[str]]:
    """Return a fitted model and its warnings, which are also shown as usual."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", QualityWarning)
        model.fit(graph, progress=False)
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return model, [str(warning.message) for warning in caught if issubclass(warning.category, QualityWarning)]


def _explain_choice(choice: Choice, model: NodeEmbedder, remarks: list[str]) -> str:
    parts = [f"<p><strong>{escape(choice.name)}</strong>: <code>{escape(repr(model))}</code></p>"]
    parts.append(f"<p>{escape(choice.reason)}</p>")
    if choice.scores:
        ranked = sorted(choice.scores.items(), key=lambda item: -item[1])
        parts.append(display.table([(name, f"{auc:.4f}") for name, auc in ranked], ("model", "AUC, best feature")))
    parts += [f"<p><strong>Warning:</strong> {escape(remark)}.</p>" for remark in remarks]
    parts.append("<h3>Diagnostics</h3>")
    parts.append(display.table([(name, _format(value)) for name, value in model.diagnostics_.to_dict().items()]))
    parts.append(
        "<p>A separation of .5 means that the vectors do not know the edges; a mean cosine near 1, that all vectors"
    )
    parts.append(" are nearly parallel.</p>")
    likelihoods = getattr(model, "history_", {}).get("log_likelihood", ())
    return "".join(parts) + display.line(likelihoods, "log-likelihood of held-out pairs")


def _format(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _describe_links(scores: LinkScores, chosen: str) -> str:
    about = (
        f"<p>{_TEST_SIZE:.0%} of the edges were hidden, {_TEST_REPEATS} times. Rows without a feature are heuristics"
        f" that need no training: if one of them does as well as {escape(chosen)}, this task needs no embedding.</p>"
    )
    return about + _as_html(scores)


def _describe_classes(scores: ClassificationScores) -> str:
    about = (
        "<p>A linear classifier learns the classes of some nodes from their vectors, and predicts the others. The"
        " vectors have seen no labels.</p>"
    )
    return about + _as_html(scores)


def _as_html(scores: Scores) -> str:
    """Return the table of scores, whose deviations stay beside the means on narrow screens."""
    return display.from_markdown(scores.to_markdown()).replace(" ± ", "\u00a0±\u00a0")


def _draw_map(graph: Graph, embedding: Embedding, labels: Any, seed: int) -> str:
    """Draw at most `_MAPPED_NODES` nodes, evenly taken, in the colors of their classes, and the names of hubs."""
    step = -(-len(embedding) // _MAPPED_NODES)
    shown = Embedding(embedding.vectors[::step], embedding.names[::step].tolist())
    layout = lay_out(shown, None, seed)
    codes, names = _classes_of(shown, labels)
    colors = [*LIGHT[: len(names)], "#9aa1ab"] if names else [LIGHT[0]]
    low, span = layout.places.min(axis=0), np.ptp(layout.places, axis=0)
    places = (layout.places - low) / np.where(span > 0, span, 1) * (np.array(_MAP_SIZE) - 16) + 8
    circles = "".join(
        f'<circle cx="{x:.1f}" cy="{_MAP_SIZE[1] - y:.1f}" r="3" fill="{colors[code]}">'
        f"<title>{escape(str(name))}</title></circle>"
        for (x, y), code, name in zip(places.tolist(), codes, shown, strict=True)
    )
    order = np.argsort(-graph.degrees[::step], kind="stable")[:_NAMED_NODES]
    texts = _place_names([(str(shown.names[row]), *places[row].tolist()) for row in order.tolist()])
    part = "" if step == 1 else f", {len(shown):,} of {len(embedding):,} nodes"
    legend = "".join(
        f'<span class="entry"><span class="swatch" style="background:{color}"></span>{escape(name)}</span>'
        for name, color in zip([*names, *["other or none"] * bool(names)], colors, strict=False)
    )
    frame = f'class="map" viewBox="0 0 {_MAP_SIZE[0]} {_MAP_SIZE[1]}" role="img" aria-label="Map"'
    svg = f"<svg {frame}>{circles}{texts}</svg>"
    return f"<p>{escape(layout.about)}{part}.</p>{svg}<p>{legend}</p>"


def _place_names(nodes: list[tuple[str, float, float]]) -> str:
    """Write names above their nodes, the first ones first, where they overlap no other name."""
    taken: list[tuple[float, float, float]] = []
    texts = []
    for name, x, y in nodes:
        text = name if len(name) <= _NAME_LENGTH else f"{name[: _NAME_LENGTH - 1]}…"
        half = _CHARACTER[0] * len(text) / 2
        # Near the border, the name moves inside.
        center, base = min(max(x, half), _MAP_SIZE[0] - half), max(_MAP_SIZE[1] - y - 5, _CHARACTER[1])
        if all(
            abs(base - other) >= _CHARACTER[1] or center + half <= low or center - half >= high
            for other, low, high in taken
        ):
            taken.append((base, center - half, center + half))
            texts.append(f'<text x="{center:.1f}" y="{base:.1f}">{escape(text)}</text>')
    return "".join(texts)


def _classes_of(embedding: Embedding, labels: Any) -> tuple[list[int], list[str]]:
    """Return the class of each node, -1 for a rare class or none, and the names of the most frequent classes."""
    codes = np.full(len(embedding), -1)
    if labels is None:
        return codes.tolist(), []
    targets = as_targets(labels, embedding)
    first = targets.members.argmax(axis=1)
    counts = np.bincount(first, minlength=len(targets.classes))
    kept = [int(column) for column in np.argsort(-counts, kind="stable")[:_SHOWN_CLASSES] if counts[column]]
    for code, column in enumerate(kept):
        codes[targets.rows[first == column]] = code
    return codes.tolist(), [str(targets.classes[column]) for column in kept]


def _describe_neighbors(graph: Graph, embedding: Embedding) -> str:
    """Show the neighbors of the nodes of largest degree, and which of them the graph links."""
    order = np.argsort(-graph.degrees, kind="stable")[:_SHOWN_NODES]
    rows = []
    for name in graph.names[order].tolist():
        linked = set(graph.neighbors(name))
        found = embedding.neighbors(name, _SHOWN_NEIGHBORS)
        texts = [f"{other} {cosine:.2f}{' (edge)' if other in linked else ''}" for other, cosine in found]
        rows.append((name, ", ".join(texts)))
    return display.table(rows, ("node", "most similar nodes, by cosine"))


def _describe_repetition(graph: Graph, choice: Choice, command: str | None, seed: int) -> str:
    parts = [
        f"<p>efge {efge.__version__}, seed {seed}, fingerprint of the graph <code>{graph.fingerprint()}</code>.</p>"
    ]
    if command is not None:
        parts.append(f"<pre>{escape(command)}</pre>")
    parts.append("<p>In Python, the vectors of this report are</p>")
    parts.append(f"<pre>{escape(_as_code(choice.model))}.fit(graph).embedding_</pre>")
    return "".join(parts)


def _as_code(model: NodeEmbedder) -> str:
    """Return what makes an estimator after `import efge`; families print themselves without the name of the package."""
    family = model.get_params().get("family")
    text = repr(model)
    return (
        f"efge.{text.replace(f'family={family!r}', f'family=efge.{family!r}') if type(family) in _FAMILIES else text}"
    )


def _render(title: str, headline: str, sections: Mapping[str, str]) -> bytes:
    style = (files("efge.explore") / "report.css").read_text("utf-8")
    body = "".join(f"<section><h2>{escape(name)}</h2>{text}</section>" for name, text in sections.items() if text)
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{style}</style></head>'
    )
    begin = f'<h1>{escape(title)}</h1><p class="headline">{escape(headline)}</p>'
    return f"{head}<body><main>{begin}{body}</main></body></html>\n".encode("utf-8", "replace")
