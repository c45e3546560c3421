"""Diagnostics of a fit: numbers that tell, without labels, whether vectors say anything about the graph.

The thresholds were found on generated graphs and on published networks: see the page on troubleshooting.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from efge import display
from efge.embedding.embedding import Embedding
from efge.embedding.geometry import (
    NEARLY_PARALLEL,
    SAMPLE_SIZE,
    Floats,
    Rows,
    cosines,
    count_zero_rows,
    mean_vector,
    measure_geometry,
    sample_generator,
    sample_rows,
)
from efge.errors import QualityWarning
from efge.families.base import Family
from efge.families.tables import spline_table
from efge.graph.bipartite import two_kinds
from efge.graph.graph import Graph
from efge.graph.neighborhoods import are_edges
from efge.graph.predictability import describe_randomness, measure_predictability

if TYPE_CHECKING:
    from efge.training.trainer import Trained

# Graphs with fewer linked nodes are not warned about: chance decides too much there.
_MIN_LINKED_NODES = 50
# In a weighted graph, edges are drawn in proportion to their weights from this many that are drawn uniformly.
_CANDIDATE_EDGES = 1 << 15
# Relative gains: below the first, vectors are worse than a constant score; below the second, hardly better.
_WORSE, _NO_GAIN = -0.01, 0.01
# Separations between the first two are too close to chance; from the third on, even nearly parallel vectors are sound.
_CHANCE, _CLEAR_SEPARATION = (0.4, 0.6), 0.95
# What figures say, in a notebook.
_MEANINGS = {
    "separation": ".5: the vectors do not know the edges; 1: linked nodes are always closer",
    "mean_cosine": "near 1: all vectors are nearly parallel",
    "effective_rank": "directions that the vectors use",
    "predictability": ".5: the links are random beyond the degrees of the nodes",
    "recent_gain": "share of the gain in the last quarter of training; near 0: converged",
}
# Learning rates outside of this range are named as the likely cause.
_USUAL_RATES = (0.01, 0.1)


@dataclass(frozen=True, repr=False)
class Diagnostics:
    """What a fit's vectors look like, and what they say about the graph; all figures come from small samples.

    Attributes
    ----------
    separation : float or None
        Probability that the two ends of an edge are closer than two random nodes of the same degrees, by the cosine of
        the vectors minus their mean: .5 means that the vectors do not know the edges. It is below .5 where linked nodes
        differ. In a bipartite graph with cycles, the random nodes are of both sides, as the ends of an edge are. None
        without edges, and where all such nodes are linked.
    mean_cosine : float or None
        Mean cosine of random pairs of nodes; near 1, all vectors are nearly parallel. None with less than two nodes.
    effective_rank : float or None
        Number of directions that the vectors, minus their mean, use.
    zero_vectors : int
        Number of nodes whose vector is zero.
    isolated_nodes : int
        Number of nodes without any edge. Nothing can be learned about them, and the other figures leave them out.
    predictability : float or None
        How well held-out edges follow from the others, whatever the vectors: the probability that two of them are told
        from the same two with exchanged ends, by the paths between these. At .5, the links of the graph are random
        beyond the degrees of its nodes. None where it cannot be told, as in trees, rings, small and complete graphs,
        and after an update.
    initial_log_likelihood, log_likelihood : float or None
        Mean log-likelihood of held-out pairs and their negative samples before and after training.
    constant_log_likelihood : float or None
        The same for the best model that gives every pair of nodes the same score.
    recent_gain : float or None
        Share of the gain in log-likelihood that came in the last quarter of training; small after convergence.

    Examples
    --------
    >>> import efge
    >>> ring = [(i, (i + step) % 60) for i in range(60) for step in (1, 2)]
    >>> diagnostics = efge.EFGE("bernoulli", dim=8, seed=0).fit(ring).diagnostics_
    >>> diagnostics.separation > 0.9, diagnostics.zero_vectors
    (True, 0)
    """

    separation: float | None
    mean_cosine: float | None
    effective_rank: float | None
    zero_vectors: int
    isolated_nodes: int
    predictability: float | None = None
    initial_log_likelihood: float | None = None
    log_likelihood: float | None = None
    constant_log_likelihood: float | None = None
    recent_gain: float | None = None

    def __repr__(self) -> str:
        return f"Diagnostics({', '.join(f'{name}={value}' for name, value in self.to_dict().items())})"

    def _repr_html_(self) -> str:
        """Return the figures as a table, and what good ones are, for notebooks."""
        rows = [(name, value, _MEANINGS.get(name, "")) for name, value in self.to_dict().items()]
        return display.card("Diagnostics", display.table(rows, ("figure", "value", "")))

    def to_dict(self) -> dict[str, Any]:
        """Return the figures that apply to the model, by name, with four digits.

        Examples
        --------
        >>> Diagnostics(0.91, 0.25, 7.5, 0, 0).to_dict()
        {'separation': 0.91, 'mean_cosine': 0.25, 'effective_rank': 7.5, 'zero_vectors': 0, 'isolated_nodes': 0}
        """
        return {name: round(value, 4) for name, value in asdict(self).items() if value is not None}

    @property
    def relative_gain(self) -> float | None:
        """Gain in log-likelihood over a constant score, relative to what a constant score gains over no training.

        It is below 0 if the vectors are worse than a constant score.

        Examples
        --------
        >>> Diagnostics(0.91, 0.25, 7.5, 0, 0, 0.9, -4.0, -2.5, -3.0).relative_gain
        0.5
        """
        initial, final, constant = self.initial_log_likelihood, self.log_likelihood, self.constant_log_likelihood
        if initial is None or final is None or constant is None or not constant > initial:
            return None
        return (final - constant) / (constant - initial)


def diagnose(
    graph: Graph,
    embedding: Embedding,
    trained: Trained | None = None,
    family: Family | None = None,
    *,
    measure_graph: bool = True,
    threads: int | None = None,
) -> Diagnostics:
    """Diagnose the vectors of a graph's nodes, and whether the graph has anything to learn.

    With a training, its likelihoods are part of the diagnostics; with a family, that of a constant score is, too.

    Examples
    --------
    >>> from efge.graph.inputs import as_graph
    >>> graph = as_graph([("a", "b")], nodes=["a", "b", "c"])
    >>> diagnose(graph, Embedding([[1], [2], [0]], graph.names)).zero_vectors
    1
    """
    vectors, linked = embedding.vectors, np.flatnonzero(~graph.isolated)
    geometry = measure_geometry(vectors, linked)
    figures = {
        "separation": _separation(graph, embedding, linked),
        "mean_cosine": geometry.mean_cosine,
        "effective_rank": geometry.effective_rank,
    }
    figures |= {} if trained is None else _likelihoods(trained, family)
    known: dict[str, Any] = {name: None if np.isnan(value) else float(value) for name, value in figures.items()}
    n_zero, n_isolated = count_zero_rows(vectors), graph.n_nodes - len(linked)
    known["predictability"] = measure_predictability(graph, threads) if measure_graph else None
    return Diagnostics(zero_vectors=n_zero, isolated_nodes=n_isolated, **known)


def _separation(graph: Graph, embedding: Embedding, linked: Rows) -> float:
    """Return the AUC of edges against pairs of their ends that are no edges, by the cosine of centered vectors.

    Pairs without an edge come from shuffling the ends of the edges, so that both kinds have nodes of the same degrees.
    In a bipartite graph, they join its sides: two users are closer than a user and an item, linked or not.
    """
    random = sample_generator()
    first, second = _sample_edges(graph, random)
    if not len(first):
        return np.nan
    vectors = embedding.vectors
    mean = mean_vector(vectors, sample_rows(len(vectors), linked, random))
    shuffled = _shuffle_ends(graph, first, second, random)
    apart = (first != shuffled) & ~are_edges(graph, first, shuffled)
    return _auc(cosines(vectors, first, second, mean), cosines(vectors, first[apart], shuffled[apart], mean))


def _shuffle_ends(graph: Graph, first: Rows, second: Rows, random: np.random.Generator) -> Rows:
    """Return the second ends of edges in a random order; in a bipartite graph, each side in one of its own."""
    sides = None if graph._file is not None or _meets_triangle(graph, first, second) else two_kinds(graph)
    if sides is None:
        return random.permutation(second)
    shuffled = second.copy()
    for side in (0, 1):
        places = np.flatnonzero(sides[second] == side)
        shuffled[places] = random.permutation(second[places])
    return shuffled


def _meets_triangle(graph: Graph, first: Rows, second: Rows) -> bool:
    """Return whether some edges have an end whose random neighbor closes a triangle.

    Most graphs that are not bipartite have triangles, which are found faster than that there are no two sides.
    """
    degrees = np.diff(graph.indptr)[second]
    steps = (sample_generator().random(len(second)) * degrees).astype(np.int64)
    # A node without out-neighbors has no place among the entries.
    third = graph.indices[np.minimum(graph.indptr[second] + steps, len(graph.indices) - 1)].astype(np.int64)
    others = (degrees > 0) & (third != first) & (third != second)
    return bool((others & are_edges(graph, third, first)).any())


def _sample_edges(graph: Graph, random: np.random.Generator) -> tuple[Rows, Rows]:
    """Draw the ends of edges that are not loops, in proportion to their weights."""
    n_entries, weights = len(graph.indices), graph.weights
    if not n_entries:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    edges = random.integers(n_entries, size=SAMPLE_SIZE if weights is None else _CANDIDATE_EDGES)
    if weights is not None:
        # Divided first by the largest, as the sum of huge weights may be infinite.
        chances = weights[edges].astype(np.float64)
        chances /= chances.max()
        edges = random.choice(edges, SAMPLE_SIZE, p=chances / chances.sum())
    first = np.searchsorted(graph.indptr, edges, side="right") - 1
    second = graph.indices[edges].astype(np.int64)
    return first[first != second], second[first != second]


def _auc(positives: Floats, negatives: Floats) -> float:
    """Return the probability that a positive exceeds a negative; equal values count one half."""
    if not len(negatives):
        return np.nan
    ranked = np.sort(negatives)
    below = ranked.searchsorted(positives, "left") + ranked.searchsorted(positives, "right")
    return float(below.mean() / (2 * len(negatives)))


def _likelihoods(trained: Trained, family: Family | None) -> dict[str, float]:
    """Return the held-out log-likelihoods of a training; without held-out pairs, they are NaN."""
    history = np.array(trained.history["log_likelihood"])
    gain = history[-1] - history[0]
    quarter = (len(history) - 1) // 4
    return {
        "initial_log_likelihood": history[0],
        "log_likelihood": history[-1],
        "constant_log_likelihood": np.nan if family is None else _constant_log_likelihood(family, trained),
        "recent_gain": (history[-1] - history[-1 - quarter]) / gain if gain > 0 and quarter else np.nan,
    }


def _constant_log_likelihood(family: Family, trained: Trained) -> float:
    """Return the highest mean log-likelihood of the held-out sample if all scores are the same."""
    sample = trained.held_out
    if not len(sample):
        return np.nan
    # A negative that is the context itself does not count.
    negatives = float((sample[:, 2:] != sample[:, 1:2]).sum(axis=1).mean())
    # The first coefficient of a cubic is the value at the beginning of its interval: the grid is fine enough.
    of_0, of_1 = spline_table(family, "log_prob")[..., 0]
    return float((of_1 + negatives * of_0).max())


def warn_if_poor(model: Any) -> None:
    """Warn if the diagnostics of a fitted model say that its vectors are of little use."""
    diagnostics = model.diagnostics_
    # More training makes no structure.
    if warn_if_random(model, stacklevel=4) or len(model.embedding_) - diagnostics.isolated_nodes < _MIN_LINKED_NODES:
        return
    untrained, uninformative = _untrained(diagnostics), _uninformative(diagnostics)
    if untrained or uninformative:
        advice = _advice(model, another_family=not untrained)
        warnings.warn(f"{model!r}: {untrained or uninformative}; {advice}", QualityWarning, stacklevel=3)


def warn_if_random(model: Any, stacklevel: int = 3) -> bool:
    """Warn, and return True, if the links of the graph that a model was fitted to look random."""
    randomness = describe_randomness(model.diagnostics_.predictability)
    if randomness is not None:
        warnings.warn(f"{model!r}: {randomness}", QualityWarning, stacklevel=stacklevel)
    return randomness is not None


def _untrained(diagnostics: Diagnostics) -> str | None:
    """Describe what is wrong if training has not come as far as a constant score."""
    initial, final, gain = diagnostics.initial_log_likelihood, diagnostics.log_likelihood, diagnostics.relative_gain
    if initial is not None and final is not None and final < initial:
        return f"held-out pairs are less likely after training than before (log-likelihood {final:.3f}, {initial:.3f})"
    if gain is not None and gain < _WORSE:
        return (
            "held-out pairs are less likely than if all pairs of nodes had the same score (log-likelihood"
            f" {final:.3f}, {diagnostics.constant_log_likelihood:.3f})"
        )
    return None


def _uninformative(diagnostics: Diagnostics) -> str | None:
    """Describe what is wrong if the vectors of all nodes are about the same, or do not know the edges."""
    gain, separation, cosine = diagnostics.relative_gain, diagnostics.separation, diagnostics.mean_cosine
    if separation is None or cosine is None or (gain is not None and gain > _NO_GAIN):
        return None
    if cosine > NEARLY_PARALLEL and separation < _CLEAR_SEPARATION:
        return f"all vectors are nearly parallel (random pairs have a mean cosine of {cosine:.3f}) and tell little"
    if _CHANCE[0] < separation < _CHANCE[1]:
        return f"linked nodes are hardly closer than random ones (AUC {separation:.2f})"
    return None


def _advice(model: Any, another_family: bool) -> str:
    """Say which parameters of a model to change."""
    parameters = model.get_params()
    rate, (low, high) = parameters["learning_rate"], _USUAL_RATES
    if rate > high:
        return f"lower learning_rate (it is {rate:g})"
    amount = "walks_per_node" if "walks_per_node" in parameters else "samples"
    if parameters.get(amount) == "auto":
        amount += f" (it was {model.walks_per_node_:.0f})"
    changes = [f"raise learning_rate (it is {rate:g}) or {amount}" if rate < low else f"raise {amount}"]
    if another_family and "normal" in repr(parameters.get("family")).lower():
        changes.append("try another family, such as EFGE('poisson')")
    return ", or ".join(changes)
