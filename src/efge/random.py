"""Seeds, and the keys of random streams derived from them."""

from __future__ import annotations

import hashlib
import secrets

import numpy as np


def resolve_seed(seed: int | None) -> int:
    """Return the seed, or a random one if it is None.

    Examples
    --------
    >>> resolve_seed(7)
    7
    """
    if seed is None:
        return secrets.randbits(63)
    if isinstance(seed, bool) or not hasattr(seed, "__index__"):
        raise ValueError(f"seed is an integer, or None for a random one; got {seed!r}")
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
