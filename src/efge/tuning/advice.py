"""What to do after a study: what to use, and which parameter matters most on this graph."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.evaluation.labels import Targets
from efge.graph.graph import Graph
from efge.graph.predictability import RANDOM
from efge.tuning.results import Row

# Values of a parameter whose best scores are closer than this are equally good.
_CLOSE = 0.003
# An AUC by chance deviates from .5 as Mann and Whitney's statistic does, and exceeds it by 1.64 deviations in one of
# twenty cases. The best of a study does so more often, but not as often as if its candidates were independent: they are
# trained on the same edges. On random graphs of 50 to 200 nodes, the best of 24 exceeded this in one of twenty at most.
_BEST_BY_CHANCE = 2.25
# Edges join nodes of the same class this much more often than chance would have it, or else they join unlike nodes.
_LIKE = 1.5


def advise(rows: Sequence[Row], default: Row | None, reasons: Mapping[str, str], chance_deviation: float = 0.0) -> str:
    """Return what to use, and which parameter matters most.

    `reasons` explain why small or large windows do best on the graph. An AUC by chance deviates this much from .5.
    """
    scored = [row for row in rows if not math.isnan(row.score)]
    if not scored:
        return "No candidate could be trained."
    chance = describe_chance(scored, chance_deviation)
    return chance or " ".join([_recommend(scored[0], default), *_what_matters(scored, reasons)])


def describe_chance(rows: Sequence[Row], deviation: float) -> str | None:
    """Say that nothing was learned, if the best candidate tells hidden edges from other pairs no better than chance.

    Examples
    --------
    >>> import efge
    >>> from efge.tuning.space import Candidate
    >>> row = Row(Candidate(efge.EFGE()), 0.9, 0.0, {"auc": 0.9}, 1.0, 1, 1.0, 0.0, "best")
    >>> describe_chance([row], 0.01) is None
    True
    """
    area, threshold = rows[0].scores.get("auc", math.inf), max(RANDOM, 0.5 + _BEST_BY_CHANCE * deviation)
    if area >= threshold:
        return None
    if threshold > 1:
        return (
            f"The graph is too small to tell: the best AUC is {area:.2f}, and with so few hidden edges, chance alone"
            " may give any. No choice can be made by them."
        )
    return (
        f"No candidate beats chance: the best AUC is {area:.2f}, and .5 is chance, up to {threshold:.2f} for the best"
        " of many. Links look random, or too few are left to learn from, so that no choice can be made by them;"
        " efge info says whether they follow from each other."
    )


def _recommend(best: Row, default: Row | None) -> str:
    if default is not None and default.verdict == "best":
        return "Keep the defaults: nothing that was tried is clearly better."
    use = f"Use {best.candidate.estimator!r}"
    if default is None or default.difference <= 0:
        return f"{use}."
    if default.verdict == "same":
        return f"{use}, or keep the defaults: the difference is noise."
    if default.fraction < best.fraction:
        # Early in training, candidates differ by how fast they learn, and by more than in the end.
        return f"{use}: the defaults fell behind in the first round, and were not trained to the end."
    if default.difference <= _CLOSE:
        return f"{use}, or keep the defaults: they are nearly as good."
    return f"{use}: the defaults score {default.difference:.3f} less."


def _what_matters(rows: Sequence[Row], reasons: Mapping[str, str]) -> list[str]:
    effects = {name: _effect(rows, name) for name in varied(rows)}
    if not effects:
        return []
    name = max(effects, key=lambda name: effects[name][1])
    if effects[name][1] <= _CLOSE:
        return ["No single parameter makes a difference here."]
    good = effects[name][0]
    if name == "propagate":
        return [f"What matters most here is the filter: {'leave it out' if good == [None] else 'use one'}."]
    numbers = all(isinstance(value, (int, float)) for value in good)
    listed = " or ".join(_show(value) for value in (sorted(good) if numbers else good))
    reason = _window_reason(good, reasons) if name == "window" else ""
    return [f"What matters most here is the {name}: {listed}{reason}."]


def varied(rows: Sequence[Row]) -> list[str]:
    """Return the parameters that have several values among rows; not all estimators have each of them."""
    names = dict.fromkeys(name for row in rows for name in row.candidate.parameters)
    return [name for name in names if len(losses(rows, name)) > 1]


def values_of(rows: Sequence[Row], name: str) -> list[tuple[Row, Any]]:
    """Return the rows whose estimator has a parameter, with its value."""
    settings = [(row, row.candidate.settings()) for row in rows]
    return [(row, values[name]) for row, values in settings if name in values]


def losses(rows: Sequence[Row], name: str) -> dict[str, tuple[Any, float]]:
    """Return each value of a parameter, and how much the best candidate with it is below the best of all.

    Candidates are compared on the same data, so that those with few walks are not at a disadvantage.
    """
    found: dict[str, tuple[Any, float]] = {}
    for row, value in values_of(rows, name):
        loss = max(row.difference, 0.0)
        if repr(value) not in found or loss < found[repr(value)][1]:
            found[repr(value)] = (value, loss)
    return found


def _effect(rows: Sequence[Row], name: str) -> tuple[list[Any], float]:
    """Return the values of a parameter that are about as good as the best, and how much the others are worse."""
    noise = {repr(value) for row, value in values_of(rows, name) if row.verdict in ("best", "same")}
    found = losses(rows, name)
    good = [value for key, (value, loss) in found.items() if loss <= _CLOSE or key in noise]
    others = [loss for key, (_, loss) in found.items() if not (loss <= _CLOSE or key in noise)]
    return good, min(others, default=0.0)


def _show(value: Any) -> str:
    return "none" if value is None else str(value)


def _window_reason(good: Sequence[Any], reasons: Mapping[str, str]) -> str:
    numbers = [value for value in good if isinstance(value, int)]
    size = "small" if numbers and max(numbers) <= 2 else "large" if numbers and min(numbers) >= 5 else ""
    return f", as {reasons[size]}" if size in reasons else ""


def explain_windows(graph: Graph, targets: Targets | None) -> dict[str, str]:
    """Return why small or large windows may do best on a graph; with labels, whether its links join like nodes.

    Examples
    --------
    >>> import efge
    >>> path = efge.as_graph([(i, i + 1) for i in range(50)])
    >>> explain_windows(path, None)
    {'large': 'this graph is sparse, with a mean degree of 2.0, and few nodes are close'}
    """
    degree = len(graph.indices) / max(graph.n_nodes, 1)
    reasons = {}
    if degree**3 >= graph.n_nodes:
        reasons["small"] = f"with a mean degree of {degree:.1f}, three steps lead almost anywhere in this graph"
    if degree**2 < graph.n_nodes:
        reasons["large"] = f"this graph is sparse, with a mean degree of {degree:.1f}, and few nodes are close"
    if targets is not None:
        ratio = _likeness(graph, targets.members, targets.rows)
        if ratio < _LIKE:
            reasons["small"] = "this graph's links join unlike nodes"
        else:
            reasons["large"] = f"links join nodes of the same class {ratio:.1f} times as often as chance would"
    return reasons


def _likeness(graph: Graph, members: npt.NDArray[np.bool_], rows: npt.NDArray[np.int64]) -> float:
    """Return how often labelled ends of edges share a class, relative to two labelled nodes at random."""
    place = np.full(graph.n_nodes, -1)
    place[rows] = np.arange(len(rows))
    first = place[np.repeat(np.arange(graph.n_nodes), graph.degrees)]
    second = place[graph.indices]
    known = (first >= 0) & (second >= 0) & (first != second)
    if not known.any():
        return _LIKE
    shared = (members[first[known]] & members[second[known]]).any(axis=1).mean()
    random = np.random.default_rng(0)
    pairs = random.integers(len(rows), size=(100_000, 2))
    chance = (members[pairs[:, 0]] & members[pairs[:, 1]]).any(axis=1).mean()
    return float(shared / max(chance, 1e-9))
