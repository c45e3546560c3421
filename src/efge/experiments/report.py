"""A folder that shows what was measured: raw scores, tables, figures, and one page that opens without a network."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import efge
from efge.datasets import Dataset, load_dataset
from efge.experiments import tables
from efge.experiments.measuring import Score
from efge.experiments.plan import STUDIES, Cell, catalogue
from efge.experiments.tables import Entry, Table
from efge.io.atomic import written_whole
from efge.plots import COLORS, Curve, new_axes, plot_curves, plot_map

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MEASURES = {"micro_f1": "Micro-F1", "macro_f1": "Macro-F1"}
_PARAMETERS = {"dimension": "dimension", "window": "window", "sigma": "standard deviation"}


def write_report(results: Mapping[Cell, list[Score]], folder: str | os.PathLike[str]) -> Path:
    """Write scores, tables and figures into the folder; the path of the page to open.

    ``scores.csv`` has every score, ``tables.csv`` every mean beside its published number, ``report.md`` and
    ``report.html`` the tables, and ``figures`` each figure as PNG and SVG.

    Examples
    --------
    >>> import tempfile
    >>> cell = Cell("links", "cora", "EFGE-Norm", None, 0)
    >>> write_report({cell: [Score("EFGE-Norm", "", "auc", "cora", 0, 0.8)]}, tempfile.mkdtemp()).name
    'report.html'
    """
    folder = Path(folder)
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    entries = tables.entries_of(results)
    _write_csv(folder / "scores.csv", ["study", "network", *Score._fields], _score_rows(results))
    _write_csv(folder / "tables.csv", _TABLE_COLUMNS, map(_table_row, entries))
    found = {study: [entry for entry in entries if entry.study == study] for study in STUDIES}
    sections = [(study, _tables(study, rows), _figures(study, rows)) for study, rows in found.items() if rows]
    summary = _summary(entries)
    claims = tables.claims(entries)
    _write(folder / "report.md", _markdown(summary, claims, sections))
    pictures = {
        name: _save(folder / "figures", name, figure) for _, _, some in sections for name, figure in some.items()
    }
    _write(folder / "report.html", _html(summary, claims, sections, pictures))
    return folder / "report.html"


_TABLE_COLUMNS = [*Entry._fields[:6], "mean", "sd", "low", "high", "repeats", "published", "difference", "verdict"]


def _score_rows(results: Mapping[Cell, list[Score]]) -> list[Any]:
    return [(cell.study, cell.network, *score) for cell, scores in results.items() for score in scores]


def _table_row(entry: Entry) -> list[Any]:
    return [*entry[:6], *entry.ours, entry.published, entry.difference, entry.verdict]


def _write_csv(path: Path, header: list[str], rows: Any) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    _write(path, text.getvalue())


def _write(path: Path, text: str) -> None:
    with written_whole(path) as stream:
        stream.write(text.encode())


def _summary(entries: list[Entry]) -> list[str]:
    """How many cells are the same as published, or better."""
    lines = []
    for who, mine in (("The three EFGE models", True), ("The five baselines", False)):
        for study in ("classification", "links"):
            reached, judged = tables.share_reached(e for e in entries if e.study == study and tables.is_ours(e) == mine)
            if judged:
                of = f"{reached} of {judged} cells ({reached / judged:.1%})"
                lines.append(f"{who}, {study}: {of} are within {tables.TOLERANCE} of the published number, or better.")
    return lines


def _tables(study: str, entries: list[Entry]) -> list[Table]:
    networks = list(dict.fromkeys(entry.network for entry in entries))
    if study == "networks":
        return [tables.statistics(entries)]
    if study == "classification":
        return [
            tables.comparison(f"{name} on {network}, by percentage of nodes learned from", some)
            for network in networks
            for measure, name in _MEASURES.items()
            if (some := [entry for entry in entries if (entry.network, entry.measure) == (network, measure)])
        ]
    if study == "links":
        removed = [entry for entry in entries if entry.measure == "share"]
        judged = [entry for entry in entries if entry.measure == "auc"]
        return [
            tables.comparison("AUC of removed edges", judged),
            tables.comparison("Share of the edges that could be removed", removed),
        ]
    if study in _PARAMETERS:
        chosen = [entry for entry in entries if entry.measure == "micro_f1"]
        return [tables.sensitivity(f"Micro-F1 on {networks[0]} by {_PARAMETERS[study]}", chosen)]
    return []


def _figures(study: str, entries: list[Entry]) -> dict[str, Figure]:
    if study == "classification":
        networks = dict.fromkeys(entry.network for entry in entries)
        return {f"classification_{n}": _by_percentage(n, [e for e in entries if e.network == n]) for n in networks}
    if study == "links":
        judged = [entry for entry in entries if entry.published is not None and entry.measure == "auc"]
        return {"links": _beside_published(judged)} if judged else {}
    if study in _PARAMETERS:
        return {study: _by_value(study, entries)}
    if study == "dolphins":
        return {"dolphins": _panels(entries, load_dataset("dolphins"))}
    return {}


def _figure(axes: Any) -> Figure:
    figure: Figure = axes.figure
    return figure


def _by_percentage(network: str, entries: list[Entry]) -> Figure:
    """A line for each method; small crosses where the published numbers are."""
    axes = new_axes(7, 4.5)
    chosen = [entry for entry in entries if entry.measure == "micro_f1"]
    methods = list(dict.fromkeys(entry.method for entry in chosen))
    plot_curves(
        {method: _curve([(float(e.column), e) for e in chosen if e.method == method]) for method in methods},
        "percentage of nodes learned from",
        f"Micro-F1 on {network} (crosses: published)",
        axes,
    )
    for number, method in enumerate(methods):
        known = [(float(e.column), e.published) for e in chosen if e.method == method and e.published is not None]
        if known:
            xs, ys = zip(*known, strict=True)
            axes.scatter(xs, ys, marker="x", s=18, color=COLORS[number % len(COLORS)], linewidths=0.9, zorder=3)
    axes.set_xscale("log")
    ticks = [x for x in (1, 2, 5, 10, 20, 50, 90) if any(float(e.column) == x for e in chosen)]
    axes.set_xticks(ticks, [str(x) for x in ticks])
    axes.minorticks_off()
    return _figure(axes)


def _curve(points: list[tuple[float, Entry]]) -> Curve:
    points = sorted(points, key=lambda point: point[0])
    xs, found = [x for x, _ in points], [entry.ours for _, entry in points]
    return Curve(xs, [s.mean for s in found], [s.low for s in found], [s.high for s in found])


def _by_value(study: str, entries: list[Entry]) -> Figure:
    chosen = [entry for entry in entries if (entry.measure, entry.column) == ("micro_f1", "50")]
    methods = dict.fromkeys(entry.method for entry in chosen)
    curves = {method: _curve([(float(e.value), e) for e in chosen if e.method == method]) for method in methods}
    return _figure(plot_curves(curves, _PARAMETERS[study], "Micro-F1 on citeseer, learned from half of the nodes"))


def _beside_published(entries: list[Entry]) -> Figure:
    axes = new_axes(5.5, 5)
    for number, method in enumerate(dict.fromkeys(entry.method for entry in entries)):
        points = np.array([(e.published, e.ours.mean) for e in entries if e.method == method])
        axes.scatter(points[:, 0], points[:, 1], s=22, color=COLORS[number % len(COLORS)], label=method)
    low = min(min(e.ours.mean, e.published or 1.0) for e in entries) - 0.02
    axes.plot([low, 1], [low, 1], color="#999999", linewidth=0.8, zorder=0)
    axes.set(xlabel="AUC, published", ylabel="AUC, ours")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize="small")
    return _figure(axes)


def _panels(entries: list[Entry], dataset: Dataset) -> Figure:
    """The network, and each method's vectors, colored by community."""
    from matplotlib.figure import Figure

    methods = list(dict.fromkeys(entry.method for entry in entries))
    names = list(dataset.graph)
    groups = None if dataset.labels is None else [dataset.labels[name] for name in names]
    rows = -(-(len(methods) + 1) // 3)
    figure = Figure(figsize=(10, 3.3 * rows), layout="constrained")
    panels = figure.subplots(rows, 3, squeeze=False).ravel()
    layout = _layout(dataset.graph)
    sources = np.repeat(np.arange(len(names)), dataset.graph.degrees)
    panels[0].plot(
        *np.stack([layout[sources], layout[dataset.graph.indices]], axis=1).transpose(2, 1, 0),
        color="#bbbbbb",
        linewidth=0.5,
        zorder=0,
    )
    plot_map(layout, groups, "Network", panels[0])
    for method, axes in zip(methods, panels[1:], strict=False):
        at = {(entry.column, entry.value): entry.ours.mean for entry in entries if entry.method == method}
        points = np.array([[at[str(name), "x"], at[str(name), "y"]] for name in names])
        plot_map(points, groups, method, axes)
    for axes in panels[len(methods) + 1 :]:
        axes.set_axis_off()
    return figure


def _layout(graph: efge.Graph) -> npt.NDArray[np.float64]:
    """Places in the plane whose distances are near those in the graph."""
    from scipy.sparse.csgraph import shortest_path

    squares = shortest_path(graph.to_scipy().toarray(), unweighted=True) ** 2
    squares -= squares.mean(axis=0)
    squares -= squares.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(-squares / 2)
    places: npt.NDArray[np.float64] = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0))
    return places


def _save(folder: Path, name: str, figure: Figure) -> str:
    """Write a figure as PNG and SVG; its SVG as text, for the page."""
    import matplotlib

    # Without a date, and with ids that follow from the content, the same figure gives the same bytes.
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        for suffix, options in ((".png", {"dpi": 150}), (".svg", {"metadata": {"Date": None}})):
            data = io.BytesIO()
            figure.savefig(data, format=suffix[1:], **options)
            with written_whole(folder / f"{name}{suffix}") as stream:
                stream.write(data.getvalue())
    svg = data.getvalue().decode()
    return svg[svg.index("<svg") :]


Sections = list[tuple[str, list[Table], dict[str, "Figure"]]]


def _markdown(summary: list[str], claims: Table | None, sections: Sections) -> str:
    parts = [f"# The paper, measured again with efge {efge.__version__}", _legend(), *(f"- {line}" for line in summary)]
    if claims is not None:
        parts.append(claims.to_markdown())
    for study, found, figures in sections:
        parts.append(f"## {catalogue()['studies'][study]['title']}")
        parts += [f"![{name}](figures/{name}.png)" for name in figures]
        parts += [table.to_markdown() for table in found]
    return "\n\n".join(parts) + "\n"


def _legend() -> str:
    walks = catalogue()["walks"]
    return (
        f"Settings: walks of {walks['walk_length']} nodes, {walks['walks_per_node']} from each node, window 10, 5 "
        f"negatives, 128 dimensions. Verdicts: ✓ within {tables.TOLERANCE} of the published number, + better, ✗ below."
    )


def _html(summary: list[str], claims: Table | None, sections: Sections, pictures: Mapping[str, str]) -> str:
    body = [f"<h1>The paper, measured again</h1><p>efge {escape(efge.__version__)}. {escape(_legend())}</p>"]
    body.append(f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in summary)}</ul>")
    links = "".join(
        f'<a href="#{study}">{escape(catalogue()["studies"][study]["title"])}</a> ' for study, _, _ in sections
    )
    body.append(f"<nav>{links}</nav>")
    if claims is not None:
        body.append(_html_table(claims))
    for study, found, figures in sections:
        body.append(f'<h2 id="{study}">{escape(catalogue()["studies"][study]["title"])}</h2>')
        body += [f"<figure>{pictures[name]}</figure>" for name in figures]
        body += map(_html_table, found)
    page = (files("efge.experiments") / "report_page.html").read_text("utf-8")
    return page.replace("BODY", "\n".join(body))


def _html_table(table: Table) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in table.header)
    rows = "".join(f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in table.rows)
    caption = escape(table.title)
    return (
        f'<h3>{caption}</h3><div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _html_cell(text: str) -> str:
    kind = next((name for name, mark in tables.MARKS.items() if mark and text.endswith(mark)), "")
    return f'<td class="{kind}">{escape(text)}</td>' if kind else f"<td>{escape(text)}</td>"
