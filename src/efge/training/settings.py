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
    stars: bool = False  # only the first node of a walk is a center, and all others are its contexts
    one_table: bool = False  # nodes have the same vector as centers and as contexts
    evaluations: int = N_EVALUATIONS

    def check(self) -> None:
        """Raise an error for settings that training cannot use."""
        integers = ("dim", "window", "negatives", "epochs", "patience", "partitions")
        check_positive_integers(**{name: getattr(self, name) for name in integers})
        rates = (self.min_learning_rate, self.learning_rate)
        if not (all(map(is_number, rates)) and 0 < rates[0] <= rates[1] < math.inf):
            got = f"{self.min_learning_rate!r} and {self.learning_rate!r}"
            raise ValueError(f"min_learning_rate and learning_rate are positive, the first one not larger; got {got}")
        if not (is_number(self.noise_power) and 0 <= self.noise_power < math.inf):
            raise ValueError(f"noise_power is a number from 0 on; got {self.noise_power!r}")
        check_choice("trainer", self.trainer, TRAINERS)
        check_choice("init", self.init, INITS)
