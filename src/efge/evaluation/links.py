"""Link prediction: how well a model that has not seen some edges tells them from pairs without an edge."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from efge.embedding.embedding import Embedding
from efge.errors import (
    EvaluationError,
    QualityWarning,
    check_functions,
    check_positive_integers,
    check_positive_numbers,
)
from efge.evaluation.heuristics import HEURISTICS
from efge.evaluation.logistic import add_constant, decision_function, fit_one_vs_rest
from efge.evaluation.results import Case, Scores, summarize
from efge.evaluation.splits import LinkSplit, Pairs, split_links
from efge.graph.graph import Graph
from efge.graph.inputs import as_graph
from efge.graph.predictability import LOOK_RANDOM, RANDOM
from efge.parallel import single_threaded_blas
from efge.random import check_seed

Vectors = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]

# Features of a pair for a classifier, and similarities that need no classifier.
FEATURES: dict[str, Callable[[Vectors, Vectors], Vectors]] = {
    "hadamard": lambda u, v: u * v,
    "average": lambda u, v: (u + v) / np.float32(2),
    "l1": lambda u, v: np.abs(u - v),
    "l2": lambda u, v: (u - v) ** 2,
}
SIMILARITIES: dict[str, Callable[[Vectors, Vectors], Floats]] = {
    "cosine": lambda u, v: _dot_rows(_normalize_rows(u), _normalize_rows(v)),
    "dot": lambda u, v: _dot_rows(u, v),
}
# The score of a model that gives pairs a probability: the one feature that is not computed from vectors alone.
LIKELIHOOD = "likelihood"
ALL_FEATURES = (*FEATURES, *SIMILARITIES, LIKELIHOOD)
# What it means if a feature ranks removed edges below negative pairs.
_NO_TRANSFER = "what the classifier learned from the remaining edges does not hold for the removed ones"
_BELOW_CHANCE = dict.fromkeys(FEATURES, _NO_TRANSFER) | {
    "cosine": "linked nodes point away from each other; use hadamard, or another family or window",
    "dot": "linked nodes have smaller scores than others; use hadamard, or another family or window",
}
# Heuristics that score a pair without common neighbors 0.
_BY_COMMON_NEIGHBORS = ("common-neighbors", "jaccard", "adamic-adar", "resource-allocation")
# A difference of fewer standard errors is noise.
_NOISE = 2.0
# With fewer hidden edges than this in a split, a note says that scores tell little.
_FEW_EDGES = 5
# Number of pairs whose vectors are in memory at once, where no classifier needs all of them.
_CHUNK = 1 << 16


class LinkScores(Scores):
    """Scores by method and by the features of a pair; heuristics have the features "-".

    Examples
    --------
    >>> LinkScores(("method", "features"), {("katz", "-"): {"auc": np.array([0.75])}})
    | method | features | auc |
    | --- | --- | --- |
    | katz | - | 0.7500 |
    """


def link_prediction(  # noqa: PLR0913
    graph: Any,
    models: Any,
    *,
    test_size: float = 0.5,
    negatives: str = "uniform",
    repeats: int = 5,
    features: Iterable[str] = ALL_FEATURES,
    heuristics: Iterable[str] = tuple(HEURISTICS),
    hits: int = 50,
    C: float = 1.0,  # noqa: N803
    seed: int = 0,
    splits: Sequence[LinkSplit] | None = None,
    progress: Callable[[int], None] | None = None,
) -> LinkScores:
    """Score models by how well they predict edges that were hidden from them, next to the classical heuristics.

    Each repeat removes edges (see :func:`split_links`), fits a fresh copy of each model to the remaining graph, and
    scores how well the removed edges are told from negative pairs, which are not edges anywhere in the full graph.

    Parameters
    ----------
    graph : Graph, or anything :func:`efge.as_graph` takes
    models : estimator, list of estimators, or mapping of names to estimators
        They are not changed: each repeat fits a copy. The copy's seed is the number of the repeat, plus `seed`, plus
        the model's own seed if it has one.
    test_size : float
        Fraction of the edges to remove and predict.
    negatives : "uniform" or "degree"
        How negative pairs are drawn: uniformly, or in proportion to the degrees of their nodes (see
        :func:`split_links`).
    repeats : int
        Number of splits, each with new fits.
    features : iterable of str
        "hadamard", "average", "l1", "l2": features for a logistic regression, which is trained on the remaining edges
        and as many negative pairs. "cosine", "dot": scores without a classifier. "likelihood": the model's own score,
        for models that have a method ``score_pairs``, such as :class:`EFGE`; other models have no such row.
    heuristics : iterable of str
        Heuristics to include in the table, by their names in :func:`link_scores`; by default, all of them.
    hits : int
        The k of hits@k: the fraction of removed edges that score above the k-th best negative pair, or above the last
        one if there are fewer.
    C : float
        Inverse of the classifier's regularization strength, as in scikit-learn's ``LogisticRegression``: a smaller
        value means a stronger L2 penalty.
    seed : int
        Seed of the splits.
    splits : sequence of LinkSplit, optional
        Use these splits, one for each repeat, instead of new ones; `test_size`, `negatives` and `repeats` do not matter
        then.
    progress : callable, optional
        Called with 1 after each model of each repeat, and after the heuristics of each repeat.

    Returns
    -------
    LinkScores
        ``auc``, ``average_precision`` and ``hits@k`` on the test pairs. A note is added if fewer edges than requested
        could be removed, where a feature of a model is worse than chance, where heuristics have nothing to go by, and
        where a heuristic is better than every feature.

    Examples
    --------
    >>> import efge
    >>> ring = [(i, (i + step) % 30) for i in range(30) for step in (1, 2)]
    >>> options = {"test_size": 0.2, "repeats": 2, "features": ["dot"], "heuristics": ["katz"]}
    >>> scores = link_prediction(ring, efge.HOPE(dim=8), **options)
    >>> scores.summary("HOPE", "dot").mean > 0.8
    True
    """
    check_positive_integers(repeats=repeats, hits=hits)
    named_models = models_by_name(models)
    features = _check_known("feature", features, ALL_FEATURES)
    _check_likelihood(named_models, features)
    heuristics = _check_known("heuristic", heuristics, tuple(HEURISTICS))
    check_positive_numbers(EvaluationError, C=C)
    check_functions(progress=progress)
    seed = check_seed(seed)
    graph = as_graph(graph)
    if splits is None:
        splits = [split_links(graph, test_size, negatives=negatives, seed=(seed, number)) for number in range(repeats)]
    given, splits = splits, list(splits) if isinstance(splits, Iterable) else []
    if not splits or not all(isinstance(split, LinkSplit) for split in splits):
        raise EvaluationError(f"splits is a list of what efge.split_links returns; got {given!r}"[:400])
    report = progress or (lambda count: None)
    results: dict[Case, list[dict[str, float]]] = {}
    blind = [name for name in heuristics if name in _BY_COMMON_NEIGHBORS]
    for number, split in enumerate(splits):
        for case, scores in chain(
            _score_models(split, named_models, features, C, seed + number, report),
            _score_heuristics(split, heuristics, report),
        ):
            blind = [name for name in blind if case != (name, "-") or not scores.any()]
            results.setdefault(case, []).append(link_metrics(scores, len(split.test_edges), hits))
    raw = {case: {name: np.array([one[name] for one in each]) for name in each[0]} for case, each in results.items()}
    notes = dict.fromkeys(note for split in splits for note in split.notes)
    pairs = sum(min(len(split.test_edges), len(split.test_non_edges)) for split in splits)
    few = min(len(split.test_edges) for split in splits)
    if few < _FEW_EDGES:
        notes[f"A split hides too few edges, {few}, for scores to tell much."] = None
    about = (*_notes_below_chance(raw), *_notes_at_chance(raw), *_notes_on_heuristics(raw, pairs))
    return LinkScores(("method", "features"), raw, (*notes, *_notes_on_blind(blind), *about))


def _notes_on_blind(names: list[str]) -> Iterator[str]:
    """Yield a note on heuristics that score all pairs 0."""
    if names:
        yield (
            f"{', '.join(names)} cannot tell anything here: no test pair has a common neighbor, as in every bipartite"
            " graph."
        )


def _notes_below_chance(raw: Mapping[Case, Mapping[str, Floats]]) -> Iterator[str]:
    """Yield a note for each feature of a model that ranks removed edges below negative pairs."""
    for (method, feature), metrics in raw.items():
        auc = summarize(metrics["auc"])
        # With one repeat, the deviation is NaN; a mean that is below one half by less than the deviation may be chance.
        if feature in _BELOW_CHANCE and auc.mean + np.nan_to_num(auc.sd) < 0.5:
            yield f"{method}: the AUC of {feature} is below .5: {_BELOW_CHANCE[str(feature)]}."


def _notes_at_chance(raw: Mapping[Case, Mapping[str, Floats]]) -> Iterator[str]:
    """Yield a note if several methods, and so at least one heuristic, all fail."""
    best = max((summarize(metrics["auc"]).mean for metrics in raw.values()), default=1.0)
    if best < RANDOM and any(feature == "-" for _, feature in raw):
        yield (
            f"No method tells removed edges from other pairs (the best AUC is {best:.2f}, chance gives .5): links look"
            " random, or too few edges are left to learn from."
        )


def _notes_on_heuristics(raw: Mapping[Case, Mapping[str, Floats]], pairs: int) -> Iterator[str]:
    """Yield a note if a heuristic is better than every feature of every model, by more than noise."""
    means = {case: summarize(metrics["auc"]).mean for case, metrics in raw.items()}
    features = [mean for (_, feature), mean in means.items() if feature != "-"]
    name, best = max(
        ((case[0], mean) for case, mean in means.items() if case[1] == "-"), key=_second, default=("", 0.0)
    )
    if features and best >= RANDOM and exceeds_noise(best, max(features), pairs):
        span = f"{min(features):.3f} to {max(features):.3f}" if len(features) > 1 else f"{features[0]:.3f}"
        yield (
            f"{name} ({best:.3f}) is better than every feature of the vectors ({span}): predict links of this graph by"
            " the heuristic, or try other models; to trust these vectors, measure the task that you need them for."
        )


def _second(pair: tuple[Hashable, float]) -> float:
    return pair[1]


def exceeds_noise(first: float, second: float, pairs: int) -> bool:
    """Return whether an AUC is larger than another one by two standard errors of their difference.

    Each is from so many edges and as many other pairs. Its variance is at most AUC (1 - AUC) / pairs, and that of the
    difference at most the sum of both, if the two methods tend to be right about the same pairs.

    Examples
    --------
    >>> exceeds_noise(0.9804, 0.9781, 51), exceeds_noise(0.758, 0.61, 500)
    (False, True)
    """
    variances = (first * (1 - first) + second * (1 - second)) / max(pairs, 1)
    return first - second > _NOISE * float(np.sqrt(variances))


def _check_known(what: str, names: Iterable[str], known: tuple[str, ...]) -> list[str]:
    listed = [names] if isinstance(names, str) or not isinstance(names, Iterable) else list(names)
    for name in listed:
        if not isinstance(name, str) or name not in known:
            raise EvaluationError(f"no {what} {name!r}; known: {', '.join(known)}")
    return listed


def _check_likelihood(models: Mapping[str, Any], features: list[str]) -> None:
    """Refuse a model that would have no row, because it has no likelihood and no other feature was asked for."""
    for name, model in models.items():
        if set(features) == {LIKELIHOOD} and not hasattr(model, "score_pairs"):
            raise EvaluationError(f"{name} has no likelihood of pairs; add another feature, such as hadamard")


def models_by_name(models: Any) -> dict[str, Any]:
    """Return estimators by their names; raise an EvaluationError if they are something else.

    Examples
    --------
    >>> import efge
    >>> models_by_name([efge.HOPE(), efge.EFGE("normal")])
    {'HOPE': HOPE(), 'EFGE normal': EFGE(family='normal')}
    """
    if isinstance(models, Mapping):
        named = {str(name): model for name, model in models.items()}
        _check_estimators(named.values())
        return named
    listed = list(models) if isinstance(models, (list, tuple, set)) else [models]
    _check_estimators(listed)
    names = [_model_name(model) for model in listed]
    if len(set(names)) < len(names):
        raise EvaluationError(f"models need different names; pass a mapping of names to models, got {names}")
    return dict(zip(names, listed, strict=True))


def _check_estimators(models: Iterable[Any]) -> None:
    for model in models:
        if not hasattr(model, "fit") or not hasattr(model, "get_params") or isinstance(model, type):
            rule = "link prediction fits models to a part of the edges; pass estimators, such as efge.HOPE()"
            raise EvaluationError(f"{rule}, and not vectors, which have seen all edges; got {model!r}"[:400])


def _model_name(model: Any) -> str:
    family = getattr(model, "family", None)
    family_name = family if isinstance(family, str) or family is None else type(family).__name__.lower()
    return type(model).__name__ if family_name is None else f"{type(model).__name__} {family_name}"


def _score_models(
    split: LinkSplit,
    models: Mapping[str, Any],
    features: list[str],
    C: float,  # noqa: N803
    seed: int,
    report: Callable[[int], None],
) -> Iterator[tuple[Case, Floats]]:
    """Fit a copy of each model, and yield the scores of the test pairs, edges first, for each of the features."""
    for name, copy in fit_copies(models, split.graph, seed):
        for feature in features:
            if feature != LIKELIHOOD:
                yield (name, feature), pair_scores(copy.embedding_, split, feature, C)
            elif hasattr(copy, "score_pairs"):
                yield (name, feature), copy.score_pairs(split.graph.names[_test_pairs(split)])
        report(1)


def fit_copies(models: Mapping[str, Any], graph: Graph, seed: int) -> Iterator[tuple[str, Any]]:
    """Yield a copy of each model that is fitted to a graph; its seed is the model's own, if it has one, plus a number.

    Examples
    --------
    >>> import efge
    >>> [(name, copy.seed) for name, copy in fit_copies({"hope": efge.HOPE(2, seed=5)}, efge.as_graph([(0, 1)]), 3)]
    [('hope', 8)]
    """
    from sklearn.base import clone

    for name, model in models.items():
        copy = clone(model)
        if "seed" in copy.get_params():
            own_seed = copy.get_params()["seed"]
            copy.set_params(seed=seed if own_seed is None else own_seed + seed)
        with warnings.catch_warnings():
            # The scores themselves say whether links can be predicted.
            warnings.filterwarnings("ignore", f".*{LOOK_RANDOM}", QualityWarning)
            copy.fit(graph)
        yield name, copy


def _score_heuristics(
    split: LinkSplit, heuristics: list[str], report: Callable[[int], None]
) -> Iterator[tuple[Case, Floats]]:
    """Yield the scores of the test pairs, edges first, for each heuristic."""
    pairs = _test_pairs(split)
    for name in heuristics:
        yield (name, "-"), HEURISTICS[name](split.graph, pairs[:, 0], pairs[:, 1])
    report(1)


def _test_pairs(split: LinkSplit) -> Pairs:
    return np.concatenate([split.test_edges, split.test_non_edges])


def pair_scores(embedding: Embedding, split: LinkSplit, feature: str, C: float = 1.0) -> Floats:  # noqa: N803
    """Score the test pairs of a split, edges first; the rows of the embedding are those of the split's graph.

    Examples
    --------
    >>> split = split_links([(0, 1), (1, 2), (2, 0), (2, 3)], 0.3)
    >>> pair_scores(Embedding([[1.0], [1.0], [2.0], [0.0]]), split, "dot").shape
    (2,)
    """
    vectors, test = embedding.vectors, _test_pairs(split)
    if feature in SIMILARITIES:
        return _map_chunks(test, lambda pairs: SIMILARITIES[feature](vectors[pairs[:, 0]], vectors[pairs[:, 1]]))
    combine = FEATURES[feature]
    train = np.concatenate([split.train_edges, split.train_non_edges])
    is_edge = (np.arange(len(train)) < len(split.train_edges))[:, None]
    with single_threaded_blas():
        weights = fit_one_vs_rest(_pair_features(vectors, train, combine), is_edge, C)
        return _map_chunks(
            test, lambda pairs: decision_function(_pair_features(vectors, pairs, combine), weights)[:, 0]
        )


def _pair_features(vectors: Vectors, pairs: Pairs, combine: Callable[[Vectors, Vectors], Vectors]) -> Vectors:
    return add_constant(combine(vectors[pairs[:, 0]], vectors[pairs[:, 1]]))


def _map_chunks(pairs: Pairs, score: Callable[[Pairs], Floats]) -> Floats:
    chunks = [score(pairs[begin : begin + _CHUNK]) for begin in range(0, len(pairs), _CHUNK)]
    return np.concatenate(chunks) if chunks else np.empty(0)


def _dot_rows(u: npt.NDArray[Any], v: npt.NDArray[Any]) -> Floats:
    dots: Floats = np.einsum("ij,ij->i", u, v, dtype=np.float64)
    return dots


def _normalize_rows(vectors: Vectors) -> Floats:
    """Scale vectors to length 1; zero vectors stay zero."""
    wide = vectors.astype(np.float64)
    norms = np.linalg.norm(wide, axis=1, keepdims=True)
    units: Floats = np.divide(wide, norms, out=np.zeros_like(wide), where=norms > 0)
    return units


def link_metrics(scores: Floats, edges: int, hits: int = 50) -> dict[str, float]:
    """Return AUC, average precision and hits@k of scores, of which the first `edges` belong to edges.

    Examples
    --------
    >>> link_metrics(np.array([0.9, 0.4, 0.5, 0.1]), edges=2, hits=1)
    {'auc': 0.75, 'average_precision': 0.8333333333333333, 'hits@1': 0.5}
    """
    from sklearn.metrics import average_precision_score, roc_auc_score

    negatives = scores[edges:]
    if not edges or not len(negatives):
        raise EvaluationError("a split needs removed edges and negative pairs to test on; this graph leaves none")
    truth = np.arange(len(scores)) < edges
    k = min(hits, len(negatives))
    kth_best = np.partition(negatives, len(negatives) - k)[len(negatives) - k]
    return {
        "auc": float(roc_auc_score(truth, scores)),
        "average_precision": float(average_precision_score(truth, scores)),
        f"hits@{hits}": float((scores[:edges] > kth_best).mean()),
    }
