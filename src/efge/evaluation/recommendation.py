"""Recommendation: how often an item that was hidden is among the first that a model recommends, beside popularity."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.errors import EvaluationError, check_functions, check_positive_integers
from efge.evaluation.links import exceeds_noise, fit_copies, models_by_name
from efge.evaluation.results import Case, Scores
from efge.graph.bipartite import NO_SIDE, two_kinds
from efge.graph.build import graph_from_edges
from efge.graph.graph import Graph
from efge.graph.inputs import as_graph
from efge.graph.names import list_names
from efge.random import check_seed

Rows = npt.NDArray[np.int64]

POPULARITY = ("popularity", "-")
# Users of a repeat whose recommendations are counted, at most.
_MAX_USERS = 2000


class RecommendationScores(Scores):
    """Hit rates by method and ranking; popularity has the ranking "-".

    Examples
    --------
    >>> RecommendationScores(("method", "ranking"), {POPULARITY: {"hit_rate@10": np.array([0.25])}})
    | method | ranking | hit_rate@10 |
    | --- | --- | --- |
    | popularity | - | 0.2500 |
    """


class _HiddenItems(NamedTuple):
    """A graph without one item of each user, by row."""

    graph: Graph
    users: Rows
    hidden: Rows
    items: Rows  # all candidates


def recommendation(
    graph: Any,
    models: Any,
    *,
    k: int = 10,
    users: Iterable[Hashable] | None = None,
    repeats: int = 3,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> RecommendationScores:
    """Score models by how often they recommend an item that was hidden from them, beside popularity.

    Each repeat hides one random item of each user with several items, fits a fresh copy of each model to the other
    edges, and recommends k items that the user does not have. In a graph with more than 2,000 such users, the
    recommendations of 2,000 random ones are counted.

    Parameters
    ----------
    graph : Graph, or anything :func:`efge.as_graph` takes
        A bipartite graph of users and items.
    models : estimator, list of estimators, or mapping of names to estimators
        They are not changed: each repeat fits a copy, with a seed of its own.
    k : int
        Number of recommendations.
    users : iterable of names, optional
        The users; all other nodes are items. By default, the side of the first node of each component, if the graph is
        bipartite and has cycles: in a list of edges from users to items, the users.
    repeats : int
        Number of times that other items are hidden.
    seed : int
        Seed of the hidden items.
    progress : callable, optional
        Called with 1 after each model of each repeat.

    Returns
    -------
    RecommendationScores
        ``hit_rate@k``, the fraction of users whose hidden item is recommended, and ``reciprocal_rank@k``, the mean of 1
        / its place, by the rankings "recommend" (of models that have it), "cosine", and the popularity of items. A note
        is added if popularity is better than every model.

    Examples
    --------
    >>> import efge
    >>> tastes = [(f"user {u}", f"item {i}") for u in range(40) for i in range(20) if u % 2 == i % 2 and (u + i) % 3]
    >>> scores = recommendation(tastes, efge.NetMF(dim=4), k=5, repeats=2)
    >>> scores.summary("NetMF", "cosine").mean > scores.summary("popularity", "-").mean
    True
    """
    check_positive_integers(k=k, repeats=repeats)
    check_functions(progress=progress)
    seed, named, graph = check_seed(seed), models_by_name(models), as_graph(graph)
    is_user = _find_users(graph, users)
    raw: dict[Case, dict[str, list[float]]] = {}
    counted = 0
    for number in range(repeats):
        task = _hide_items(graph, is_user, np.random.default_rng([seed, number]))
        counted += len(task.users)
        for case, found in _recommend(task, named, k, seed + number, progress or (lambda count: None)):
            places = _places(task, found)
            values = {f"hit_rate@{k}": (places > 0).mean(), f"reciprocal_rank@{k}": _reciprocal(places).mean()}
            for metric, value in values.items():
                raw.setdefault(case, {}).setdefault(metric, []).append(float(value))
    arrays = {case: {name: np.array(one) for name, one in metrics.items()} for case, metrics in raw.items()}
    rates = {case: float(metrics[f"hit_rate@{k}"].mean()) for case, metrics in arrays.items()}
    return RecommendationScores(("method", "ranking"), arrays, tuple(_notes(rates, counted)))


def _find_users(graph: Graph, users: Iterable[Hashable] | None) -> npt.NDArray[np.bool_]:
    """Return whether each node is a user."""
    if graph.directed:
        raise EvaluationError(
            f"users and items are joined without directions; pass directed=False to as_graph, got {graph!r}"
        )
    if users is not None:
        is_user = np.zeros(graph.n_nodes, bool)
        is_user[graph.rows(list_names("users", users))] = True
        return is_user
    sides = two_kinds(graph)
    if sides is None:
        raise EvaluationError(
            f"users and items are the sides of a bipartite graph with cycles; name the users by users=, in {graph!r}"
        )
    return np.asarray((sides == 0) | (sides == NO_SIDE))


def _hide_items(graph: Graph, is_user: npt.NDArray[np.bool_], random: np.random.Generator) -> _HiddenItems:
    """Hide an item of each user; every user and every item keeps an edge."""
    rows = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
    # Each edge is stored in both directions.
    once = np.flatnonzero(rows <= graph.indices)
    ends = np.column_stack([rows[once], graph.indices[once].astype(np.int64)])
    left = np.bincount(ends.ravel(), minlength=graph.n_nodes)
    hidden: dict[int, tuple[int, int]] = {}
    for place in random.permutation(np.flatnonzero(is_user[ends[:, 0]] != is_user[ends[:, 1]])).tolist():
        user, item = sorted(ends[place].tolist(), key=lambda row: not is_user[row])
        if user not in hidden and left[user] > 1 and left[item] > 1:
            hidden[user] = (place, item)
            left[[user, item]] -= 1
    if not hidden:
        raise EvaluationError(f"to hide an item of a user, both need another edge; no user has one in {graph!r}")
    kept = np.delete(np.arange(len(ends)), [place for place, _ in hidden.values()])
    weights = None if graph.weights is None else graph.weights[once][kept]
    remaining = graph_from_edges(ends[kept].astype(np.int32), weights, graph.names, directed=False)
    users = np.sort(random.permutation(list(hidden))[:_MAX_USERS])
    items = np.array([hidden[user][1] for user in users.tolist()])
    return _HiddenItems(remaining, users, items, np.flatnonzero(~is_user & (left > 0)))


def _recommend(
    task: _HiddenItems, models: dict[str, Any], k: int, seed: int, report: Callable[[int], None]
) -> Iterator[tuple[Case, list[Rows]]]:
    """Yield the rows of the recommended items of each user, best first, for each ranking."""
    graph, names = task.graph, task.graph.names
    users, items = names[task.users].tolist(), names[task.items].tolist()
    for name, model in fit_copies(models, graph, seed):
        if hasattr(model, "recommend"):
            found = model.recommend(users, k, among=items, exclude=graph)
            yield (name, "recommend"), [graph.rows([item for item, _ in one]) for one in found]
        rows, _ = model.embedding_.nearest(users, k, among=items, exclude=graph, progress=False)
        yield (name, "cosine"), [row[row >= 0] for row in rows]
        report(1)
    popular = task.items[np.argsort(-graph.degrees[task.items], kind="stable")]
    known = [graph.indices[graph.indptr[user] : graph.indptr[user + 1]] for user in task.users.tolist()]
    yield POPULARITY, [popular[: k + len(own)][~np.isin(popular[: k + len(own)], own)][:k] for own in known]


def _places(task: _HiddenItems, found: list[Rows]) -> Rows:
    """Return the place of each hidden item among the recommended ones, from 1, or 0 if it is not there."""
    places = [np.flatnonzero(rows == item) for rows, item in zip(found, task.hidden.tolist(), strict=True)]
    return np.array([place[0] + 1 if len(place) else 0 for place in places], np.int64)


def _reciprocal(places: Rows) -> npt.NDArray[np.float64]:
    return np.divide(1.0, places, out=np.zeros(len(places)), where=places > 0)


def _notes(rates: dict[Case, float], counted: int) -> Iterator[str]:
    """Yield a note if popularity is better than every model, by more than noise."""
    popular, others = rates[POPULARITY], [rate for case, rate in rates.items() if case != POPULARITY]
    if others and exceeds_noise(popular, max(others), counted):
        yield (
            f"popularity ({popular:.3f}) is better than every ranking of the models ({min(others):.3f} to"
            f" {max(others):.3f}): tastes are mild, or too few items are known; recommend what is popular."
        )
