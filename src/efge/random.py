"""Seeds, and the keys of random streams that follow from them."""

from __future__ import annotations

import hashlib
import secrets

import numpy as np


def chosen_seed(seed: int | None) -> int:
    """The seed, or a random one where there is none.

    Examples
    --------
    >>> chosen_seed(7)
    7
    """
    return secrets.randbits(63) if seed is None else int(seed)


def stream_key(seed: int, epoch: int, purpose: str) -> np.uint64:
    """A key of 64 bits for random streams that serve a purpose.

    Examples
    --------
    >>> bool(stream_key(0, 0, "walks") == stream_key(0, 1, "walks"))
    False
    """
    digest = hashlib.blake2b(f"{seed} {epoch} {purpose}".encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))
