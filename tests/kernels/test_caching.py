"""Functions that only kernels call have no machine code of their own, and their errors are those of Python."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from efge.kernels.caching import helper


@helper
def reciprocals(values, out):
    for i in range(values.shape[0]):
        if values[i] == 0.0:
            raise ValueError("no reciprocal")
        out[i] = 1.0 / values[i]


@njit
def reciprocals_of_copy(values):
    out = np.empty_like(values)
    reciprocals(values, out)
    return out


def machine_code(function):
    return getattr(next(iter(function.overloads.values())).library, "_compiled_object", None)


def test_only_what_python_calls_becomes_machine_code():
    assert reciprocals_of_copy(np.array([2.0, 4.0])).tolist() == [0.5, 0.25]
    assert machine_code(reciprocals_of_copy)
    assert not machine_code(reciprocals)


def test_errors_of_helpers_reach_python():
    with pytest.raises(ValueError, match="no reciprocal"):
        reciprocals_of_copy(np.array([1.0, 0.0]))
