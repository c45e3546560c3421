"""Link prediction: how well a model that has not seen some edges tells them from pairs that are none."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from efge.embedding.embedding import Embedding
from efge.errors import EvaluationError, check_counts
from efge.evaluation.heuristics import HEURISTICS
from efge.evaluation.logistic import fit_one_vs_rest, scores_of, with_constant
from efge.evaluation.results import Scores
from efge.evaluation.splits import LinkSplit, Pairs, split_links
from efge.graph.inputs import as_graph

Vectors = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]

# What a classifier sees of a pair; and scores that need none.
FEATURES: dict[str, Callable[[Vectors, Vectors], Vectors]] = {
    "hadamard": lambda u, v: u * v,
    "average": lambda u, v: (u + v) / np.float32(2),
    "l1": lambda u, v: np.abs(u - v),
    "l2": lambda u, v: (u - v) ** 2,
}
SIMILARITIES: dict[str, Callable[[Vectors, Vectors], Floats]] = {
    "cosine": lambda u, v: _dots(_units(u), _units(v)),
    "dot": lambda u, v: _dots(u, v),
}
# Pairs whose vectors are in memory at once, where no classifier needs all of them.
_BLOCK = 1 << 16


class LinkScores(Scores):
    """Scores by method and by what it makes of two vectors; heuristics make it of the graph.

    Examples
    --------
    >>> LinkScores(("method", "features"), {("katz", "-"): {"auc": np.array([0.75])}})
    | method | features | auc |
    | --- | --- | --- |
    | katz | - | 0.7500 |
    """


def link_prediction(
    graph: Any,
    models: Any,
    *,
    share: float = 0.5,
    repeats: int = 5,
    features: Iterable[str] = (*FEATURES, *SIMILARITIES),
    heuristics: Iterable[str] = tuple(HEURISTICS),
    hits: int = 50,
    strength: float = 1.0,
    seed: int = 0,
    splits: Sequence[LinkSplit] | None = None,
    progress: Callable[[int], None] | None = None,
) -> LinkScores:
    """Score models by the edges that they have not seen, beside the classical heuristics.

    Each repeat removes edges (see :func:`split_links`), fits a new copy of each model to the rest, and asks it to tell
    the removed edges from pairs that are no edges of the whole graph.

    Parameters
    ----------
    graph : Graph, or anything :func:`efge.as_graph` takes
    models : estimator, list of estimators, or mapping of names to estimators
        What is given stays as it is. A repeat's copy has the model's seed, or `seed` where it has none, plus the number
        of the repeat.
    share : float
        Of the edges, to be removed.
    repeats : int
    features : iterable of str
        "hadamard", "average", "l1", "l2": features of a logistic regression that learns from the remaining edges and as
        many non-edges; "cosine", "dot": scores without a classifier.
    heuristics : iterable of str
        Names in ``efge.heuristics.HEURISTICS``, to stand beside the models.
    hits : int
        The k of hits@k: the share of removed edges that score above the k-th best non-edge (the last, where there are
        fewer).
    strength : float
        What the classifier's training errors weigh beside the L2 penalty: scikit-learn's ``C``.
    seed : int
    splits : sequence of LinkSplit, optional
        Splits to use in place of new ones, one for each repeat.
    progress : callable, optional
        Called with 1 whenever a model or the heuristics of a repeat are done.

    Returns
    -------
    LinkScores
        ``auc``, ``average_precision`` and ``hits@k`` of the pairs to be judged by. Its notes say where fewer edges
        could be removed than asked for.

    Examples
    --------
    >>> import efge
    >>> ring = [(i, (i + step) % 30) for i in range(30) for step in (1, 2)]
    >>> scores = link_prediction(ring, efge.HOPE(dim=8), share=0.2, repeats=2, features=["dot"], heuristics=["katz"])
    >>> scores.summary("HOPE", "dot").mean > 0.8
    True
    """
    check_counts(repeats=repeats, hits=hits)
    named, chosen = _named(models), _known("feature", features, (*FEATURES, *SIMILARITIES))
    known = _known("heuristic", heuristics, tuple(HEURISTICS))
    graph = as_graph(graph)
    if splits is None:
        splits = [split_links(graph, share, seed=(seed, number)) for number in range(repeats)]
    raw: dict[tuple[Hashable, ...], list[dict[str, float]]] = {}
    for number, split in enumerate(splits):
        for case, scores in _repeat(split, named, chosen, known, strength, seed + number, progress):
            raw.setdefault(case, []).append(link_measures(scores, len(split.test_edges), hits))
    table = {case: {name: np.array([one[name] for one in found]) for name in found[0]} for case, found in raw.items()}
    notes = dict.fromkeys(note for split in splits for note in split.notes)
    return LinkScores(("method", "features"), table, tuple(notes))


def _known(what: str, names: Iterable[str], known: tuple[str, ...]) -> list[str]:
    listed = [names] if isinstance(names, str) else list(names)
    for name in listed:
        if name not in known:
            raise EvaluationError(f"no {what} {name!r}; known: {', '.join(known)}")
    return listed


def _named(models: Any) -> dict[str, Any]:
    if isinstance(models, Mapping):
        return {str(name): model for name, model in models.items()}
    listed = list(models) if isinstance(models, Iterable) else [models]
    names = [_name(model) for model in listed]
    if len(set(names)) < len(names):
        raise EvaluationError(f"models in a table have different names; pass a mapping of names, got {names}")
    return dict(zip(names, listed, strict=True))


def _name(model: Any) -> str:
    family = getattr(model, "family", None)
    which = family if isinstance(family, str) or family is None else type(family).__name__.lower()
    return type(model).__name__ if which is None else f"{type(model).__name__} {which}"


def _repeat(
    split: LinkSplit,
    models: Mapping[str, Any],
    features: list[str],
    heuristics: list[str],
    strength: float,
    seed: int,
    progress: Callable[[int], None] | None,
) -> Iterator[tuple[tuple[Hashable, ...], Floats]]:
    """The score of each pair to be judged by, edges first, for each case."""
    from sklearn.base import clone

    pairs = np.concatenate([split.test_edges, split.test_non_edges])
    done = progress or (lambda count: None)
    for name, model in models.items():
        copy = clone(model)
        if "seed" in copy.get_params():
            own = copy.get_params()["seed"]
            copy.set_params(seed=seed if own is None else own + seed)
        embedding = copy.fit(split.graph).embedding_
        for feature in features:
            yield (name, feature), pair_scores(embedding, split, feature, strength)
        done(1)
    for name in heuristics:
        yield (name, "-"), HEURISTICS[name](split.graph, pairs[:, 0], pairs[:, 1])
    done(1)


def pair_scores(embedding: Embedding, split: LinkSplit, feature: str, strength: float = 1.0) -> Floats:
    """The scores of the pairs to be judged by, edges first, from the vectors of the split's graph, in its order.

    Examples
    --------
    >>> split = split_links([(0, 1), (1, 2), (2, 0), (2, 3)], 0.3)
    >>> pair_scores(Embedding([[1.0], [1.0], [2.0], [0.0]]), split, "dot").shape
    (2,)
    """
    vectors = embedding.vectors
    test = np.concatenate([split.test_edges, split.test_non_edges])
    if feature in SIMILARITIES:
        return _in_blocks(test, lambda some: SIMILARITIES[feature](vectors[some[:, 0]], vectors[some[:, 1]]))
    combine = FEATURES[feature]
    train = np.concatenate([split.train_edges, split.train_non_edges])
    is_edge = (np.arange(len(train)) < len(split.train_edges))[:, None]
    # One thread for each product of matrices, so that their number cannot change the rounding.
    with threadpool_limits(1, "blas"):
        weights = fit_one_vs_rest(_features(vectors, train, combine), is_edge, strength)
        return _in_blocks(test, lambda some: scores_of(_features(vectors, some, combine), weights)[:, 0])


def _features(vectors: Vectors, pairs: Pairs, combine: Callable[[Vectors, Vectors], Vectors]) -> Vectors:
    return with_constant(combine(vectors[pairs[:, 0]], vectors[pairs[:, 1]]))


def _in_blocks(pairs: Pairs, score: Callable[[Pairs], Floats]) -> Floats:
    blocks = [score(pairs[begin : begin + _BLOCK]) for begin in range(0, len(pairs), _BLOCK)]
    return np.concatenate(blocks) if blocks else np.empty(0)


def _dots(u: npt.NDArray[Any], v: npt.NDArray[Any]) -> Floats:
    dots: Floats = np.einsum("ij,ij->i", u, v, dtype=np.float64)
    return dots


def _units(vectors: Vectors) -> Floats:
    """Vectors of length 1; a zero vector stays."""
    wide = vectors.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    units: Floats = np.divide(wide, lengths, out=np.zeros_like(wide), where=lengths > 0)
    return units


def link_measures(scores: Floats, edges: int, hits: int = 50) -> dict[str, float]:
    """AUC, average precision and hits@k of scores, those of edges first.

    Examples
    --------
    >>> link_measures(np.array([0.9, 0.4, 0.5, 0.1]), edges=2, hits=1)
    {'auc': 0.75, 'average_precision': 0.8333333333333333, 'hits@1': 0.5}
    """
    from sklearn.metrics import average_precision_score, roc_auc_score

    others = scores[edges:]
    if not edges or not len(others):
        raise EvaluationError("a split needs removed edges and non-edges to be judged by; this graph leaves none")
    truth = np.arange(len(scores)) < edges
    k = min(hits, len(others))
    bar = np.partition(others, len(others) - k)[len(others) - k]
    return {
        "auc": float(roc_auc_score(truth, scores)),
        "average_precision": float(average_precision_score(truth, scores)),
        f"hits@{hits}": float((scores[:edges] > bar).mean()),
    }
