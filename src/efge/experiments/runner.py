"""Run the cells of a plan in parallel processes.

The scores of each finished cell are saved in a file, so an interrupted run continues where it stopped.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import efge
from efge.errors import EvaluationError
from efge.experiments.plan import Cell, Plan, load_settings
from efge.experiments.pool import run_in_processes
from efge.experiments.scoring import Score, score_cell
from efge.io.atomic import atomic_write
from efge.system import available_threads

# Relative cost of a cell of each network; one unit is about one second.
_NETWORK_COSTS = {"dblp": 27, "astroph": 18, "hepth": 9, "facebook": 4, "grqc": 4, "citeseer": 3, "cora": 3}


def run(
    plan: Plan,
    folder: str | os.PathLike[str],
    *,
    processes: int | None = None,
    progress: Callable[[Cell | None, float, float], None] | None = None,
) -> dict[Cell, list[Score]]:
    """Run the cells that are not yet in the folder, and return the scores of all cells of the plan.

    Parameters
    ----------
    plan : Plan
    folder : path
        Folder for the scores. It must not hold results of another version or of other settings.
    processes : int, optional
        Number of processes; by default, the number of cores. The scores do not depend on it.
    progress : callable, optional
        Called with the finished cell, the cost of all finished cells, and the total cost.

    Examples
    --------
    >>> from efge.experiments.plan import Plan
    >>> Plan(studies=("networks",), networks=("cora",)).cells()[0].path
    'networks/cora/-_0.csv'
    """
    plan.check()
    folder = Path(folder)
    _check_settings(folder)
    cells = plan.cells()
    missing = [cell for cell in cells if not (folder / "cells" / cell.path).exists()]
    total, done = sum(map(_cost, missing)), 0.0
    if progress is not None:
        progress(None, 0.0, total)
    for cell, scores in run_in_processes(score_cell, missing, processes or available_threads()):
        _write_scores(folder / "cells" / cell.path, scores)
        done += _cost(cell)
        if progress is not None:
            progress(cell, done, total)
    return {cell: _read_scores(folder / "cells" / cell.path) for cell in cells}


def _cost(cell: Cell) -> float:
    return _NETWORK_COSTS.get(cell.network, 1) * (0.1 if cell.study in ("networks", "dolphins") else 1.0)


def _check_settings(folder: Path) -> None:
    """Write the version and settings into a new folder; raise if the folder has others."""
    settings = json.dumps({"efge": efge.__version__, "experiments": _score_settings()}, indent=1, sort_keys=True)
    path = folder / "settings.json"
    if path.exists():
        if path.read_text("utf-8") != settings:
            raise EvaluationError(
                f"{folder}: its results are of another version or of other settings; choose a new folder"
            )
        return
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as stream:
        stream.write(settings.encode())


def _score_settings() -> dict[str, Any]:
    """Return the settings that a score depends on; values and repeats may differ between runs in one folder."""
    settings = load_settings()
    irrelevant = ("title", "published", "networks", "methods", "values", "repeats")
    studies = {
        name: {key: value for key, value in study.items() if key not in irrelevant}
        for name, study in settings["studies"].items()
    }
    return {"walks": settings["walks"], "methods": settings["methods"], "studies": studies}


def _write_scores(path: Path, scores: list[Score]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([Score._fields, *scores])
    with atomic_write(path) as stream:
        stream.write(text.getvalue().encode())


def _read_scores(path: Path) -> list[Score]:
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    if tuple(header) != Score._fields:
        raise EvaluationError(f"{path}: this is not a file of scores; remove it to run this cell again")
    return [Score(a, b, c, d, int(repeat), float(score)) for a, b, c, d, repeat, score in rows]
