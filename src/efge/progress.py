"""Progress reports of long computations."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """How far training is: pairs trained, pairs in all, and the last mean log-likelihood of the pairs held apart.

    Examples
    --------
    >>> Progress(pairs=500, total=1000, log_likelihood=-3.5)
    Progress(pairs=500, total=1000, log_likelihood=-3.5)
    """

    pairs: int
    total: int
    log_likelihood: float
