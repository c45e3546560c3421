"""What several kernels share: integer constants, the random mixer, compiler flags and clipping.

Indices are unsigned in all kernels: for a signed index Numba tests whether it counts from the end, which costs time.
"""

import numpy as np
from numba import njit

from efge.kernels.caching import helper

U = np.uint64
ZERO, ONE = U(0), U(1)

# SplitMix64 adds this to its counter at each draw: 2**64 divided by the golden ratio.
GOLDEN = U(0x9E3779B97F4A7C15)

# Lets LLVM reorder sums, which makes them fast; unlike fastmath=True it still honors NaN and infinity.
REORDER = {"reassoc", "contract", "nsz", "arcp"}

# Float32 entries in a cache line. Rows of tables are padded with zeros to a multiple of it.
CACHE_LINE = 16


@njit(inline="always")
def mix(z):
    """Return 64 well-mixed bits of a counter (the finisher of SplitMix64)."""
    z = (z ^ (z >> U(30))) * U(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> U(27))) * U(0x94D049BB133111EB)
    return z ^ (z >> U(31))


@helper
def clip_below(table, row, floor):
    """Raise every entry of a row that is below `floor` to it."""
    for j in range(U(table.shape[1])):
        table[row, j] = max(table[row, j], np.float32(floor))
