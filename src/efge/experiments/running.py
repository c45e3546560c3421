"""Cells measured side by side in processes; each is kept in a file of its own when it is done, so that a run that was
interrupted goes on where it stopped.
"""

from __future__ import annotations

import csv
import io
import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any

import efge
from efge.errors import EvaluationError
from efge.experiments.measuring import Score, measure
from efge.experiments.plan import Cell, Plan, catalogue
from efge.io.atomic import written_whole
from efge.parallel import available_threads

# What a cell costs beside others: a second is about this many.
_NETWORK_COSTS = {"dblp": 27, "astroph": 18, "hepth": 9, "facebook": 4, "grqc": 4, "citeseer": 3, "cora": 3}


def run(
    plan: Plan,
    folder: str | os.PathLike[str],
    *,
    processes: int | None = None,
    progress: Callable[[Cell | None, float, float], None] | None = None,
) -> dict[Cell, list[Score]]:
    """Measure what is not yet in the folder; the scores of all cells of the plan.

    Parameters
    ----------
    plan : Plan
    folder : path
        Results of another version, or of other settings, are refused.
    processes : int, optional
        By default, as many as there are cores. The scores do not depend on it.
    progress : callable, optional
        Called with the cell that was finished, the cost of what is done, and that of all that was to be done.

    Examples
    --------
    >>> from efge.experiments.plan import Plan
    >>> Plan(studies=("networks",), networks=("cora",)).cells()[0].path
    'networks/cora/-_0.csv'
    """
    plan.check()
    folder = Path(folder)
    _claim(folder)
    cells = plan.cells()
    missing = [cell for cell in cells if not (folder / "cells" / cell.path).exists()]
    total, done = sum(map(_cost, missing)), 0.0
    if progress is not None:
        progress(None, 0.0, total)
    for cell, scores in _measured(missing, processes or available_threads()):
        _keep(folder / "cells" / cell.path, scores)
        done += _cost(cell)
        if progress is not None:
            progress(cell, done, total)
    return {cell: _kept(folder / "cells" / cell.path) for cell in cells}


def _cost(cell: Cell) -> float:
    return _NETWORK_COSTS.get(cell.network, 1) * (0.1 if cell.study in ("networks", "dolphins") else 1.0)


def _measured(cells: list[Cell], processes: int) -> Iterable[tuple[Cell, list[Score]]]:
    """Cells as they are finished; a few are under way at a time, so that an interruption has little to wait for."""
    if not cells:
        return
    # A child that is forked would share locks with threads of this process.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, mp_context=context, initializer=_end_with_parent)
    waiting, running = iter(cells), dict[Future[list[Score]], Cell]()
    try:
        while True:
            for cell in waiting:
                running[pool.submit(measure, cell)] = cell
                if len(running) > processes:
                    break
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
    except BaseException:
        # What is under way would be waited for, which may take minutes.
        for child in multiprocessing.active_children():
            child.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _end_with_parent() -> None:
    """Leave the word to the first process when Ctrl-C reaches all, and do not outlive it when it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    assert parent is not None, "only children begin here"

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def _claim(folder: Path) -> None:
    """Mark the folder as this version's, or refuse it as another's."""
    mine = json.dumps({"efge": efge.__version__, "experiments": _settings()}, indent=1, sort_keys=True)
    path = folder / "settings.json"
    if path.exists():
        if path.read_text("utf-8") != mine:
            raise EvaluationError(
                f"{folder}: results there are of another version or other settings; name a new folder"
            )
        return
    folder.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as stream:
        stream.write(mine.encode())


def _settings() -> dict[str, Any]:
    """What scores depend on; how often, and which values, may differ from run to run."""
    studies = catalogue()["studies"].items()
    free = ("title", "published", "networks", "methods", "values", "repeats")
    kept = {name: {key: value for key, value in study.items() if key not in free} for name, study in studies}
    return {"walks": catalogue()["walks"], "methods": catalogue()["methods"], "studies": kept}


def _keep(path: Path, scores: list[Score]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([Score._fields, *scores])
    with written_whole(path) as stream:
        stream.write(text.getvalue().encode())


def _kept(path: Path) -> list[Score]:
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    if tuple(header) != Score._fields:
        raise EvaluationError(f"{path}: these are no scores; remove the file to measure them again")
    return [Score(a, b, c, d, int(repeat), float(score)) for a, b, c, d, repeat, score in rows]
