"""The learning rate of a run: it falls from the first step to the last, or is constant until training has converged.

With a fixed number of walks, the rate falls linearly. If the number of walks is to follow from the graph, the rate is
constant while held-out pairs still become more likely; then it falls linearly over as many walks again, and training
ends. Both depend on evaluations only, so that neither threads nor an interruption change the result.
"""

from __future__ import annotations

import math

import numpy as np

from efge.families.base import Family
from efge.families.tables import spline_table
from efge.training.checkpoints import TrainingState
from efge.training.settings import Settings

# Walks from each node, at most, if their number follows from the graph; there are 20 evaluations, one for 3 walks. The
# rate is constant over the first 6 walks at least, so that there are 12 in all.
MAX_WALKS_PER_NODE = 60
_MIN_EVALUATIONS = 2
# Training has converged if the held-out likelihood has grown since the evaluation before by less than this fraction of
# all that was gained over a constant score. Chosen, with the length of the decrease, by the classes of Cora, CiteSeer,
# Wiki, PPI, Airports, DBLP, PubMed and pages: a smaller fraction trains small graphs longer than is good where few
# nodes have labels; without the test, training would end after the fewest walks, too early for Wiki's classes.
_TOLERANCE = 0.2
# From random vectors, training has not begun to converge before it has gained over a constant score this fraction of
# what a constant score gains over the initial vectors.
_MIN_RELATIVE_GAIN = 0.05
# The rate falls over this fraction of the walks before.
_DECAY_FRACTION = 1.0


class LearningRate:
    """The learning rate at each of `total` steps of a run, be they positions of walks or pairs.

    With a `baseline`, training ends when held-out pairs have been learned: its state says where the rate begins to
    fall. Without one, the rate falls over all steps. From random vectors, the likelihood stays near the baseline for a
    while before it rises; that is not convergence, and `min_gain` tells them apart.
    """

    def __init__(
        self, first: float, last: float, total: int, baseline: float | None = None, min_gain: float = 0.0
    ) -> None:
        self.first, self.last, self.total, self.baseline, self.min_gain = first, last, total, baseline, min_gain
        self.state = TrainingState()

    @classmethod
    def of(cls, settings: Settings, family: Family, total: int, from_factors: bool) -> LearningRate:
        """Return the learning rate by a run's settings, and by whether it starts from factors of the edges."""
        baseline = constant_score_log_likelihood(family, int(settings.negatives)) if settings.until_converged else None
        rates = float(settings.learning_rate), float(settings.min_learning_rate)
        return cls(*rates, total, baseline, 0.0 if from_factors else _MIN_RELATIVE_GAIN)

    def at(self, step: int) -> float:
        """Return the learning rate at a step."""
        begin, end = self._decay()
        return self.first - (self.first - self.last) * min(max((step - begin) / max(end - begin, 1), 0.0), 1.0)

    def line(self, begin: int, end: int) -> tuple[float, float]:
        """Return a line that the rates from one step to another are on: its value at step 0, and its decrease per step.

        It is the same line for all steps of a phase, except for those that go beyond the last one.
        """
        start, stop = self._decay()
        if start <= begin and end <= stop:
            decay = (self.first - self.last) / max(stop - start, 1)
            return self.first + decay * start, decay
        first, last = self.at(begin), self.at(end)
        decay = (first - last) / max(end - begin, 1)
        return first + decay * begin, decay

    def end(self) -> int:
        """Return the number of steps, as far as it is known."""
        return self._decay()[1]

    def update(self, step: int) -> None:
        """Begin to lower the rate at a step, if training has converged by its evaluations, or must end."""
        if self.baseline is None or self.state.decay_start is not None:
            return
        converged = self._has_converged()
        if converged or step * (1 + _DECAY_FRACTION) >= self.total:
            self.state.decay_start, self.state.converged = step, converged

    def _decay(self) -> tuple[int, int]:
        if self.baseline is None:
            return 0, self.total
        if self.state.decay_start is None:
            return self.total, self.total
        return self.state.decay_start, min(self.total, math.ceil((1 + _DECAY_FRACTION) * self.state.decay_start))

    def _has_converged(self) -> bool:
        values = self.state.history["log_likelihood"]
        # The first evaluation is that of the initial vectors.
        if len(values) <= _MIN_EVALUATIONS:
            return False
        assert self.baseline is not None
        gain = values[-1] - self.baseline
        return gain > self.min_gain * (self.baseline - values[0]) and values[-1] - values[-2] < _TOLERANCE * gain


def constant_score_log_likelihood(family: Family, negatives: int) -> float:
    """Return the mean log-likelihood of a pair and its negatives if all scores were the same, the best one.

    Vectors that have learned nothing about who occurs near whom cannot be better.

    Examples
    --------
    >>> from efge.families.builtin import Bernoulli
    >>> round(constant_score_log_likelihood(Bernoulli(), 5), 3)  # the probability of a context is 1 / 6
    -2.703
    """
    zero, one = spline_table(family, "log_prob")[..., 0].astype(np.float64)
    return float((one + negatives * zero).max())
