"""Settings of a training run."""

from __future__ import annotations

import math
from dataclasses import dataclass

from efge.errors import check_counts

TRAINERS = ("fast", "reference")


@dataclass(frozen=True)
class Settings:
    """What training is told; see :class:`efge.EFGE` for what each means.

    With `softmax`, a context is likely by hierarchical softmax instead of negatives. With `stars`, only the first node
    of a walk is a center, and all others are its contexts. With `one_table`, nodes have the same vectors as centers and
    as contexts.
    """

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
    softmax: bool = False
    stars: bool = False
    one_table: bool = False

    def check(self) -> None:
        """Refuse what training cannot do."""
        counted = ("dim", "window", "negatives", "epochs", "patience", "partitions")
        check_counts(**{name: getattr(self, name) for name in counted})
        if not 0 < self.min_learning_rate <= self.learning_rate < math.inf:
            got = f"{self.min_learning_rate!r} and {self.learning_rate!r}"
            raise ValueError(f"min_learning_rate and learning_rate are positive, the first one not larger; got {got}")
        if not 0 <= self.noise_power < math.inf:
            raise ValueError(f"noise_power is a number from 0 on; got {self.noise_power!r}")
        if self.trainer not in TRAINERS:
            raise ValueError(f"no trainer {self.trainer!r}; known: {', '.join(TRAINERS)}")
