"""Seeds, and the keys of random streams derived from them."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

import numpy as np

from efge.errors import is_integer


def resolve_seed(seed: int | None) -> int:
    """Return the seed, or a random one if it is None.

    Examples
    --------
    >>> resolve_seed(7)
    7
    """
    if seed is None:
        return secrets.randbits(63)
    if not is_integer(seed):
        raise ValueError(f"seed is an integer, or None for a random one; got {seed!r}")
    return int(seed)


def check_seed(seed: Any) -> int:
    """Return the seed of a function whose default is 0; raise a ValueError unless it is an integer from 0 on.

    Examples
    --------
    >>> check_seed(-1)
    Traceback (most recent call last):
    ValueError: seed is an integer from 0 on; got -1
    """
    if not is_integer(seed) or seed < 0:
        raise ValueError(f"seed is an integer from 0 on; got {seed!r}")
    return int(seed)


def stream_key(seed: int, epoch: int, purpose: str) -> np.uint64:
    """Return a 64-bit key for the random streams of one epoch and one purpose.

    Examples
    --------
    >>> bool(stream_key(0, 0, "walks") == stream_key(0, 1, "walks"))
    False
    """
    digest = hashlib.blake2b(f"{seed} {epoch} {purpose}".encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))
