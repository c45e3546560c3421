"""The result of a study: candidates with scores and deviations, the best one, a figure, and advice."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import efge
from efge import display
from efge.errors import EvaluationError, check_folder_path
from efge.evaluation.results import check_digits, markdown
from efge.graph.graph import Graph
from efge.io.atomic import atomic_write
from efge.tuning.advice import losses, values_of, varied
from efge.tuning.results import Row
from efge.tuning.trials import configured

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from efge.models.base import NodeEmbedder

_TABLE, _RECORD = "table.csv", "study.json"


class Study:
    """What :func:`efge.tune` found. Printing it shows the table.

    Attributes
    ----------
    rows : list of Row
        Candidates, best first: `candidate`, mean `score` and its standard deviation `sd` over repeats or folds,
        `scores` of all metrics, `fraction` of the walks, number of `repeats`, `seconds` of a training, `difference`
        from the best on the same data, and `verdict`: "best", "same" if the difference is noise, "worse", "unclear" if
        nothing was repeated that would tell, or why there is no score.
    metric : str
        The metric that decides.
    advice : str
        What to use on this graph, and which parameter matters most.
    expected : dict or None
        With labels, the metrics of the best candidate on nodes that nothing was chosen by: what to expect for others.
    n_expected : int
        Number of these nodes.
    beats_chance : bool
        Whether the best candidate tells hidden edges from other pairs better than chance; if not, nothing was chosen,
        and the defaults are as good. With labels, always true.
    settings : dict
        What the study depends on: graph, seed, metric, space, and so on.
    notes : tuple of str
        Remarks that a reader of the table needs.

    Examples
    --------
    >>> ring = [(i, (i + step) % 30) for i in range(30) for step in (1, 2)]
    >>> study = efge.tune(ring, space={"window": [1, 5], "dim": 8, "walks_per_node": 5})
    >>> study.best_params["window"] in (1, 5), study.best_model.embedding_
    (True, Embedding(30 nodes, 8 dimensions))
    """

    def __init__(
        self,
        rows: Sequence[Row],
        metric: str,
        graph: Graph,
        seed: int,
        advice: str = "",
        notes: tuple[str, ...] = (),
        threads: int | None = None,
    ) -> None:
        self.rows, self.metric, self.advice, self.notes = list(rows), metric, advice, notes
        self.expected: dict[str, float] | None = None
        self.n_expected = 0
        self.beats_chance = True
        self.settings: dict[str, Any] = {}
        self._graph, self._seed, self._threads = graph, seed, threads

    def __repr__(self) -> str:
        return self.to_markdown()

    def _repr_html_(self) -> str:
        """Return the advice, the table, and the scores of its rows, for notebooks."""
        scores = [row.score for row in self.rows if row.score == row.score]
        picture = display.bars(scores, f"{self.metric}, row by row")
        return display.card("Study", display.from_markdown(self.to_markdown()), picture)

    @property
    def best_params(self) -> dict[str, Any]:
        """The parameters of the best candidate.

        Examples
        --------
        >>> study = efge.tune([(i, (i + s) % 20) for i in range(20) for s in (1, 2)], space={"dim": [2], "window": 2})
        >>> study.best_params
        {'dim': 2, 'window': 2}
        """
        return dict(self.rows[0].candidate.parameters)

    @property
    def best_score(self) -> float:
        """The mean score of the best candidate; it is the best of many, and therefore a little too good.

        Examples
        --------
        >>> study = efge.tune([(i, (i + s) % 20) for i in range(20) for s in (1, 2)], space={"dim": [2], "window": 2})
        >>> 0 < study.best_score <= 1
        True
        """
        return self.rows[0].score

    @cached_property
    def best_model(self) -> NodeEmbedder:
        """The best candidate, fitted to the whole graph when it is first asked for."""
        model: NodeEmbedder = configured(self.rows[0].candidate, self._seed, self._threads)
        return model.fit(self._graph)  # type: ignore[no-any-return]

    def records(self) -> list[dict[str, Any]]:
        """Return the rows of the table as dictionaries; None stands for what is unknown.

        Examples
        --------
        >>> study = efge.tune([(i, (i + s) % 20) for i in range(20) for s in (1, 2)], space={"dim": [2], "window": 2})
        >>> list(study.records()[0])[:4]
        ['candidate', 'dim', 'window', 'score']
        """
        names = dict.fromkeys(name for row in self.rows for name in row.candidate.parameters)
        return [
            {"candidate": str(row.candidate)}
            | {name: _plain(row.candidate.settings().get(name)) for name in names}
            | {"score": _known(row.score), "sd": _known(row.sd), "difference": _known(row.difference)}
            | {"verdict": row.verdict, "fraction": row.fraction, "repeats": row.repeats}
            | {"seconds": _known(row.seconds)}
            | {name: _known(score) for name, score in row.scores.items()}
            for row in self.rows
        ]

    @property
    def table(self) -> pd.DataFrame:
        """The rows as a pandas data frame.

        Examples
        --------
        >>> study = efge.tune([(i, (i + s) % 20) for i in range(20) for s in (1, 2)], space={"dim": [2], "window": 2})
        >>> study.table["verdict"].tolist()
        ['best']
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(
                "the table as a data frame needs pandas; install efge[pandas], or use records()"
            ) from None
        return pd.DataFrame(self.records())

    def to_markdown(self, digits: int = 4) -> str:
        """Return the table in Markdown, followed by advice and notes.

        Examples
        --------
        >>> study = efge.tune([(i, (i + s) % 20) for i in range(20) for s in (1, 2)], space={"dim": [2], "window": 2})
        >>> study.to_markdown().splitlines()[0]
        '| candidate | auc | difference | verdict | walks | repeats | seconds |'
        """
        check_digits(digits)
        rows = [
            [
                str(row.candidate),
                f"{row.score:.{digits}f}" + ("" if row.sd != row.sd else f" ± {row.sd:.{digits}f}"),
                f"{row.difference:.{digits}f}",
                row.verdict,
                f"{row.fraction:.0%}",
                str(row.repeats),
                f"{row.seconds:.1f}",
            ]
            for row in self.rows
        ]
        header = ["candidate", self.metric, "difference", "verdict", "walks", "repeats", "seconds"]
        expected = [self._expectation()] if self.expected else []
        return "\n\n".join(filter(None, [markdown(header, rows), self.advice, *expected, *self.notes]))

    def _expectation(self) -> str:
        listed = ", ".join(f"{name} {score:.3f}" for name, score in (self.expected or {}).items())
        return f"On {self.n_expected:,} labelled nodes that nothing was chosen by, the best candidate has {listed}."

    def plot(self) -> list[Axes]:
        """Draw how scores depend on each parameter, and on the time of a training; needs matplotlib.

        Scores are those on the data of the best candidate: its own score minus the difference.

        Returns
        -------
        list of matplotlib Axes
            One for each parameter with several values, and one for time.

        Examples
        --------
        >>> ring = [(i, (i + step) % 30) for i in range(30) for step in (1, 2)]
        >>> study = efge.tune(ring, space={"window": [1, 5], "dim": 8, "walks_per_node": 5})
        >>> [axes.get_xlabel() for axes in study.plot()]
        ['window', 'seconds of a training']
        """
        from efge.plots import COLORS, new_axes_row

        rows = [row for row in self.rows if row.score == row.score]
        names = varied(rows)
        panels = new_axes_row(len(names) + 1)
        best = rows[0].score if rows else 0.0
        for axes, name in zip(panels, names, strict=False):
            known = values_of(rows, name)
            values = {repr(value): value for _, value in known}
            order = sorted(values, key=lambda key: (isinstance(values[key], str), values[key] or 0))
            for row, value in known:
                x = order.index(repr(value))
                axes.plot(x, best - row.difference, "o", color=COLORS[0], alpha=0.4, markersize=5)
            top = losses(rows, name)
            axes.plot(range(len(order)), [best - top[key][1] for key in order], color=COLORS[1])
            axes.set_xticks(range(len(order)), ["none" if values[key] is None else str(values[key]) for key in order])
            axes.set(xlabel=name, ylabel=self.metric)
        seconds = [row.seconds / max(row.fraction, 1e-9) for row in rows]
        panels[-1].plot(seconds, [best - row.difference for row in rows], "o", color=COLORS[0], markersize=5)
        panels[-1].set(xlabel="seconds of a training", ylabel=self.metric)
        return panels

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write ``table.csv`` and ``study.json`` to a folder.

        Examples
        --------
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> efge.tune([(i, (i + s) % 20) for i in range(20) for s in (1, 2)], space={"dim": 2}).save(folder)
        >>> sorted(os.listdir(folder))
        ['study.json', 'table.csv']
        """
        check_folder_path("folder", folder, required=True)
        Path(folder).mkdir(parents=True, exist_ok=True)
        records = self.records()
        text = io.StringIO()
        writer = csv.DictWriter(text, list(dict.fromkeys(name for record in records for name in record)))
        writer.writeheader()
        writer.writerows(records)
        content = {
            "efge": efge.__version__,
            "graph": self._graph.fingerprint(),
            "seed": self._seed,
            "metric": self.metric,
            "settings": self.settings,
            "advice": self.advice,
            "expected": self.expected,
            "notes": list(self.notes),
            "candidates": records,
        }
        for name, data in {_TABLE: text.getvalue(), _RECORD: json.dumps(content, indent=1) + "\n"}.items():
            with atomic_write(Path(folder, name)) as stream:
                stream.write(data.encode())


def check_same_study(folder: str | os.PathLike[str], settings: Mapping[str, Any]) -> None:
    """Raise an error if a study with these settings would replace files of another study, or of something else.

    Examples
    --------
    >>> import tempfile
    >>> check_same_study(tempfile.mkdtemp(), {"seed": 0})
    """
    existing = [path for name in (_TABLE, _RECORD) if (path := Path(folder, name)).exists()]
    try:
        known = json.loads(Path(folder, _RECORD).read_text("utf-8"))["settings"]
    except (OSError, ValueError, KeyError, TypeError):
        known = None
    if not existing or known == settings:
        return
    remedy = "name another folder, or pass force=True (--force)"
    if not isinstance(known, dict):
        raise EvaluationError(f"{existing[0]}: this file exists, and is of no study; {remedy} to replace it")
    others = [name for name in known | dict(settings) if known.get(name) != settings.get(name)]
    raise EvaluationError(f"{folder} has a study with another {', '.join(others)}; {remedy} to replace its table")


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def _known(value: float) -> float | None:
    return None if value != value else value
