"""The report of a reproduction: raw scores, tables, figures, and one page that opens without a network connection."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import efge
from efge.experiments import tables
from efge.experiments.figures import PARAMETER_LABELS, make_figures
from efge.experiments.plan import STUDIES, Cell, load_settings
from efge.experiments.scoring import Score
from efge.experiments.tables import Entry, Table
from efge.io.atomic import atomic_write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_METRIC_LABELS = {"micro_f1": "Micro-F1", "macro_f1": "Macro-F1"}


def write_report(results: Mapping[Cell, list[Score]], folder: str | os.PathLike[str]) -> Path:
    """Write scores, tables and figures into a folder, and return the path of the page.

    ``scores.csv`` has every score, ``tables.csv`` every mean with its published number, ``report.md`` and
    ``report.html`` have the tables, and ``figures`` has each figure as PNG and SVG.

    Examples
    --------
    >>> import tempfile
    >>> cell = Cell("links", "cora", "EFGE-Norm", None, 0)
    >>> write_report({cell: [Score("EFGE-Norm", "", "auc", "cora", 0, 0.8)]}, tempfile.mkdtemp()).name
    'report.html'
    """
    folder = Path(folder)
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    entries = tables.make_entries(results)
    _write_csv(folder / "scores.csv", ["study", "network", *Score._fields], _score_rows(results))
    _write_csv(folder / "tables.csv", _TABLE_COLUMNS, map(_table_row, entries))
    by_study = {study: [entry for entry in entries if entry.study == study] for study in STUDIES}
    sections = [
        (study, _make_tables(study, rows), make_figures(study, rows)) for study, rows in by_study.items() if rows
    ]
    summary = _summarize(entries)
    claims = tables.claims_table(entries)
    _write(folder / "report.md", _to_markdown(summary, claims, sections))
    svgs = {
        name: _save_figure(folder / "figures", name, figure)
        for _, _, figures in sections
        for name, figure in figures.items()
    }
    _write(folder / "report.html", _to_html(summary, claims, sections, svgs))
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
    with atomic_write(path) as stream:
        stream.write(text.encode())


def _summarize(entries: list[Entry]) -> list[str]:
    """Say how many cells reach their published number."""
    lines = []
    for models, is_efge in (("The three EFGE models", True), ("The five baselines", False)):
        for study in ("classification", "links"):
            compared = [e for e in entries if e.study == study and tables.is_efge(e) == is_efge]
            reached, total = tables.count_reached(compared)
            if total:
                count = f"{reached} of {total} cells ({reached / total:.1%})"
                lines.append(
                    f"{models}, {study}: {count} are within {tables.TOLERANCE} of the published number, or better."
                )
    return lines


def _make_tables(study: str, entries: list[Entry]) -> list[Table]:
    networks = list(dict.fromkeys(entry.network for entry in entries))
    if study == "networks":
        return [tables.statistics_table(entries)]
    if study == "classification":
        return [
            tables.comparison_table(f"{label} on {network}, by percentage of training nodes", rows)
            for network in networks
            for metric, label in _METRIC_LABELS.items()
            if (rows := [entry for entry in entries if (entry.network, entry.metric) == (network, metric)])
        ]
    if study == "links":
        aucs = [entry for entry in entries if entry.metric == "auc"]
        test_sizes = [entry for entry in entries if entry.metric == "test_size"]
        return [
            tables.comparison_table("AUC of removed edges", aucs),
            tables.comparison_table("Fraction of the edges that could be removed", test_sizes),
        ]
    if study in PARAMETER_LABELS:
        scores = [entry for entry in entries if entry.metric == "micro_f1"]
        return [tables.sensitivity_table(f"Micro-F1 on {networks[0]} by {PARAMETER_LABELS[study]}", scores)]
    return []


def _save_figure(folder: Path, name: str, figure: Figure) -> str:
    """Write a figure as PNG and SVG, and return the SVG for the page."""
    import matplotlib

    # Without a date, and with ids that depend only on the content, the same figure gives the same bytes.
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        for suffix, options in ((".png", {"dpi": 150}), (".svg", {"metadata": {"Date": None}})):
            data = io.BytesIO()
            figure.savefig(data, format=suffix[1:], **options)
            with atomic_write(folder / f"{name}{suffix}") as stream:
                stream.write(data.getvalue())
    svg = data.getvalue().decode()
    return svg[svg.index("<svg") :]


Sections = list[tuple[str, list[Table], dict[str, "Figure"]]]


def _to_markdown(summary: list[str], claims: Table | None, sections: Sections) -> str:
    parts = [f"# The paper, reproduced with efge {efge.__version__}", _legend(), *(f"- {line}" for line in summary)]
    if claims is not None:
        parts.append(claims.to_markdown())
    for study, study_tables, figures in sections:
        parts.append(f"## {load_settings()['studies'][study]['title']}")
        parts += [f"![{name}](figures/{name}.png)" for name in figures]
        parts += [table.to_markdown() for table in study_tables]
    return "\n\n".join(parts) + "\n"


def _legend() -> str:
    walks = load_settings()["walks"]
    return (
        f"Settings: walks of {walks['walk_length']} nodes, {walks['walks_per_node']} from each node, window 10, 5 "
        f"negatives, 128 dimensions. Verdicts: ✓ within {tables.TOLERANCE} of the published number, + better, ✗ below."
    )


def _to_html(summary: list[str], claims: Table | None, sections: Sections, svgs: Mapping[str, str]) -> str:
    titles = {study: escape(load_settings()["studies"][study]["title"]) for study, _, _ in sections}
    body = [f"<h1>The paper, reproduced</h1><p>efge {escape(efge.__version__)}. {escape(_legend())}</p>"]
    body.append(f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in summary)}</ul>")
    links = "".join(f'<a href="#{study}">{title}</a> ' for study, title in titles.items())
    body.append(f"<nav>{links}</nav>")
    if claims is not None:
        body.append(_html_table(claims))
    for study, study_tables, figures in sections:
        body.append(f'<h2 id="{study}">{titles[study]}</h2>')
        body += [f"<figure>{svgs[name]}</figure>" for name in figures]
        body += map(_html_table, study_tables)
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
    symbols = tables.VERDICT_SYMBOLS.items()
    verdict = next((name for name, symbol in symbols if symbol and text.endswith(symbol)), "")
    return f'<td class="{verdict}">{escape(text)}</td>' if verdict else f"<td>{escape(text)}</td>"
