"""Worker threads: they share the work, and each piece is done once."""

from __future__ import annotations

import threading
from collections import Counter

import pytest

from efge.training.workers import Threads


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("n_items", [0, 1, 2, 10])
def test_a_function_is_called_once_for_each_item(count, n_items):
    calls, lock = Counter(), threading.Lock()

    def square(item):
        with lock:
            calls[item] += 1
        return item**2

    with Threads(count) as threads:
        assert threads.map(square, range(n_items)) == [item**2 for item in range(n_items)]
    assert calls == Counter(range(n_items))
