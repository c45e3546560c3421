"""Random streams (SplitMix64): a counter that jumps by the golden ratio, and a finisher that mixes it."""

import numpy as np
from numba import njit

from efge.kernels.intrinsics import high_product

U = np.uint64
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@njit(inline="always")
def mix(z):
    """SplitMix64's finisher: 64 well-mixed bits from a counter."""
    z = (z ^ (z >> U(30))) * U(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> U(27))) * U(0x94D049BB133111EB)
    return z ^ (z >> U(31))


@njit(inline="always")
def stream(key, number):
    """Where a stream of its own begins, for a walk or whatever has a number."""
    return mix(key + number * GOLDEN)


@njit(inline="always")
def unit(bits):
    """A float64 in [0, 1) from the upper 53 bits."""
    return np.float64(np.int64(bits >> U(11))) * 2.0**-53


@njit(inline="always")
def pick(keep, other, bits):
    """A number drawn by an alias table: the upper bits choose a slot, the lower ones choose within it."""
    slot = high_product(bits, U(keep.shape[0]))
    return slot if (bits & U(0xFFFFFFFF)) < U(keep[slot]) else U(other[slot])
