"""Figures of the reproduction, one set for each study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import efge
from efge.datasets import Dataset, load_dataset
from efge.experiments.tables import Entry
from efge.parallel import single_threaded_blas
from efge.plots import COLORS, Curve, new_axes, plot_curves, plot_map

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Labels of the parameters that the studies vary.
PARAMETER_LABELS = {"dimension": "dimension", "window": "window", "sigma": "standard deviation"}


def make_figures(study: str, entries: list[Entry]) -> dict[str, Figure]:
    """Return the figures of a study by name.

    Examples
    --------
    >>> make_figures("networks", [])
    {}
    """
    if study == "classification":
        networks = dict.fromkeys(entry.network for entry in entries)
        return {f"classification_{n}": _plot_by_percentage(n, [e for e in entries if e.network == n]) for n in networks}
    if study == "links":
        compared = [entry for entry in entries if entry.published is not None and entry.metric == "auc"]
        return {"links": _plot_against_published(compared)} if compared else {}
    if study in PARAMETER_LABELS:
        return {study: _plot_by_value(study, entries)}
    if study == "dolphins":
        return {"dolphins": _plot_dolphins(entries, load_dataset("dolphins"))}
    return {}


def _figure_of(axes: Any) -> Figure:
    figure: Figure = axes.figure
    return figure


def _plot_by_percentage(network: str, entries: list[Entry]) -> Figure:
    """Draw a line for each method, and small crosses at the published numbers."""
    axes = new_axes(7, 4.5)
    entries = [entry for entry in entries if entry.metric == "micro_f1"]
    methods = list(dict.fromkeys(entry.method for entry in entries))
    plot_curves(
        {method: _make_curve([(float(e.column), e) for e in entries if e.method == method]) for method in methods},
        "percentage of training nodes",
        f"Micro-F1 on {network} (crosses: published)",
        axes,
    )
    for number, method in enumerate(methods):
        published = [(float(e.column), e.published) for e in entries if e.method == method and e.published is not None]
        if published:
            xs, ys = zip(*published, strict=True)
            axes.scatter(xs, ys, marker="x", s=18, color=COLORS[number % len(COLORS)], linewidths=0.9, zorder=3)
    axes.set_xscale("log")
    ticks = [x for x in (1, 2, 5, 10, 20, 50, 90) if any(float(e.column) == x for e in entries)]
    axes.set_xticks(ticks, [str(x) for x in ticks])
    axes.minorticks_off()
    return _figure_of(axes)


def _make_curve(points: list[tuple[float, Entry]]) -> Curve:
    points = sorted(points, key=lambda point: point[0])
    xs, summaries = [x for x, _ in points], [entry.ours for _, entry in points]
    return Curve(xs, [s.mean for s in summaries], [s.low for s in summaries], [s.high for s in summaries])


def _plot_by_value(study: str, entries: list[Entry]) -> Figure:
    entries = [entry for entry in entries if (entry.metric, entry.column) == ("micro_f1", "50")]
    methods = dict.fromkeys(entry.method for entry in entries)
    curves = {method: _make_curve([(float(e.value), e) for e in entries if e.method == method]) for method in methods}
    axes = plot_curves(curves, PARAMETER_LABELS[study], "Micro-F1 on citeseer, trained on half of the nodes")
    return _figure_of(axes)


def _plot_against_published(entries: list[Entry]) -> Figure:
    axes = new_axes(5.5, 5)
    for number, method in enumerate(dict.fromkeys(entry.method for entry in entries)):
        points = np.array([(e.published, e.ours.mean) for e in entries if e.method == method])
        axes.scatter(points[:, 0], points[:, 1], s=22, color=COLORS[number % len(COLORS)], label=method)
    low = min(min(e.ours.mean, e.published or 1.0) for e in entries) - 0.02
    axes.plot([low, 1], [low, 1], color="#999999", linewidth=0.8, zorder=0)
    axes.set(xlabel="AUC, published", ylabel="AUC, ours")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize="small")
    return _figure_of(axes)


def _plot_dolphins(entries: list[Entry], dataset: Dataset) -> Figure:
    """Draw the network and each method's vectors, colored by community."""
    from matplotlib.figure import Figure

    methods = list(dict.fromkeys(entry.method for entry in entries))
    names = list(dataset.graph)
    groups = None if dataset.labels is None else [dataset.labels[name] for name in names]
    rows = -(-(len(methods) + 1) // 3)
    figure = Figure(figsize=(10, 3.3 * rows), layout="constrained")
    panels = figure.subplots(rows, 3, squeeze=False).ravel()
    _plot_network(dataset.graph, groups, panels[0])
    for method, axes in zip(methods, panels[1:], strict=False):
        coordinates = {(entry.column, entry.value): entry.ours.mean for entry in entries if entry.method == method}
        points = np.array([[coordinates[str(name), "x"], coordinates[str(name), "y"]] for name in names])
        plot_map(points, groups, method, axes)
    for axes in panels[len(methods) + 1 :]:
        axes.set_axis_off()
    return figure


def _plot_network(graph: efge.Graph, groups: Any, axes: Any) -> None:
    positions = _graph_layout(graph)
    sources = np.repeat(np.arange(len(graph)), graph.degrees)
    axes.plot(
        *np.stack([positions[sources], positions[graph.indices]], axis=1).transpose(2, 1, 0),
        color="#bbbbbb",
        linewidth=0.5,
        zorder=0,
    )
    plot_map(positions, groups, "Network", axes)


def _graph_layout(graph: efge.Graph) -> npt.NDArray[np.float64]:
    """Return positions in the plane by classical scaling of the graph's distances."""
    from scipy.sparse.csgraph import shortest_path

    squares = shortest_path(graph.to_scipy().toarray(), unweighted=True) ** 2
    squares -= squares.mean(axis=0)
    squares -= squares.mean(axis=1, keepdims=True)
    with single_threaded_blas():
        values, vectors = np.linalg.eigh(-squares / 2)
    positions: npt.NDArray[np.float64] = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0))
    return positions
