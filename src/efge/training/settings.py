"""Settings of a training run."""

from __future__ import annotations

import math
from dataclasses import dataclass

from efge.errors import check_choice, check_positive_integers, is_number

TRAINERS = ("fast", "reference")
INITS = ("auto", "random", "svd")
# Number of evaluations of held-out pairs in the course of training.
N_EVALUATIONS = 20


@dataclass(frozen=True)
class Settings:
    """Hyper-parameters of a training run; :class:`efge.EFGE` explains those that it has."""

    dim: int
    window: int
    negatives: int
    epochs: int
    learning_rate: float
    min_learning_rate: float
    noise_power: float
    patience: int | None = None
    trainer: str = "fast"
    partitions: int | None = None
    init: str = "random"  # initial vectors: random ones, factors of the graph's edges, or whichever suits the graph
    until_converged: bool = False  # whether training ends when held-out pairs are learned, before the walks end
    softmax: bool = False  # contexts by hierarchical softmax instead of negatives
    evaluations: int = N_EVALUATIONS

    def check(self) -> None:
        """Raise an error for settings that training cannot use."""
        integers = ("dim", "window", "negatives", "epochs", "patience", "partitions")
        check_positive_integers(**{name: getattr(self, name) for name in integers})
        check_learning_rates(self.learning_rate, self.min_learning_rate)
        if not (is_number(self.noise_power) and 0 <= self.noise_power < math.inf):
            raise ValueError(f"noise_power is a number from 0 on; got {self.noise_power!r}")
        check_choice("trainer", self.trainer, TRAINERS)
        check_choice("init", self.init, INITS)


def check_learning_rates(first: float, last: float) -> None:
    """Raise an error unless a learning rate can fall from the first value to the last one."""
    if not (is_number(first) and is_number(last) and 0 < last <= first < math.inf):
        got = f"{last!r} and {first!r}"
        raise ValueError(f"min_learning_rate and learning_rate are positive, the first one not larger; got {got}")
