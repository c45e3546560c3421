"""Progress reports of long computations."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """Progress of training: pairs trained, total pairs, and the latest mean log-likelihood of the held-out pairs.

    Examples
    --------
    >>> Progress(pairs=500, total=1000, log_likelihood=-3.5)
    Progress(pairs=500, total=1000, log_likelihood=-3.5)
    """

    pairs: int
    total: int
    log_likelihood: float
