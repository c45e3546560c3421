"""The first sentence of a report: what was found, beside what needs no training; differences within noise are none."""

from __future__ import annotations

from efge.evaluation.classification import ClassificationScores
from efge.evaluation.links import LinkScores, exceeds_noise

# A larger difference is not called none, even within noise.
_CLOSE = 0.02


def summarize_findings(
    links: LinkScores, chosen: str, n_hidden: int, classes: ClassificationScores | None = None
) -> str:
    """Say what the chosen model is worth on hidden edges, and on classes if there are any.

    Parameters
    ----------
    links : LinkScores
        Of the chosen model and of heuristics.
    chosen : str
        Name of the model in these scores.
    n_hidden : int
        Number of edges that all splits hide together.
    classes : ClassificationScores, optional

    Examples
    --------
    >>> import numpy as np
    >>> auc = {("hope", "cosine"): 0.91, ("hope", "hadamard"): 0.88, ("katz", "-"): 0.8}
    >>> scores = LinkScores(("method", "features"), {case: {"auc": np.array([mean])} for case, mean in auc.items()})
    >>> summarize_findings(scores, "hope", 500)
    'The vectors of hope predict hidden edges better than every heuristic: AUC .910 by cosine, .800 by katz.'
    >>> summarize_findings(scores, "hope", 20)[:80]
    'The vectors of hope predict hidden edges, but too few are hidden to tell whether'
    """
    means = {case: links.summary(*case, metric="auc").mean for case in links.raw}
    feature, auc = max(((case[1], mean) for case, mean in means.items() if case[0] == chosen), key=lambda item: item[1])
    name, simple = max(((case[0], mean) for case, mean in means.items() if case[1] == "-"), key=lambda item: item[1])
    figures = f"AUC {_format(auc)} by {feature}, {_format(simple)} by {name}"
    # By chance, an AUC of so many edges and as many other pairs has a variance of about 1 / (6 n); the best of several
    # features is above .5 by two deviations too often.
    if auc - 0.5 <= 3 * (6 * max(n_hidden, 1)) ** -0.5:
        found = f"The vectors of {chosen} do not predict hidden edges better than chance: {figures}, .500 by chance"
    elif exceeds_noise(simple, auc, n_hidden):
        found = (
            f"The vectors of {chosen} predict hidden edges, but a heuristic without training does it better: {figures}"
        )
    elif exceeds_noise(auc, simple, n_hidden):
        found = f"The vectors of {chosen} predict hidden edges better than every heuristic: {figures}"
    elif abs(auc - simple) <= _CLOSE:
        found = f"The vectors of {chosen} predict hidden edges as well as the best heuristic, within noise: {figures}"
    else:
        found = (
            f"The vectors of {chosen} predict hidden edges, but too few are hidden to tell whether better or worse than"
            f" the best heuristic: {figures}, within noise"
        )
    return f"{found}{'' if classes is None else _describe_classes(classes)}."


def _describe_classes(classes: ClassificationScores) -> str:
    """Compare the largest share of labels with the class that is most frequent."""
    ratio = max(float(str(case[0])) for case in classes.raw)
    metric = classes.metrics[0]
    score, simple = classes.summary(ratio, metric=metric).mean, classes.majority[metric]
    is_better = exceeds_noise(score, simple, round((1 - ratio) * classes.n_nodes))
    verdict = "they predict classes" if is_better else "they do not predict classes better than the most frequent class"
    figures = f"{metric} {_format(score)} with {ratio:.0%} of the labels, {_format(simple)} by the most frequent class"
    return f"; {verdict}: {figures}"


def _format(score: float) -> str:
    return f"{score:.3f}".removeprefix("0")
