"""Programs of the project's own: every changed module has tests to notice it, and counts of trials add up."""

from __future__ import annotations

import covering
import mutations
import soak


def test_every_module_that_is_changed_is_covered_by_tests_that_exist():
    for file in mutations.modules():
        if mutations.places(file):
            missing = [test for test in covering.tests_of(file) if not (mutations.ROOT / test).exists()]
            assert missing == [], file


def test_counts_of_a_trial_on_the_same_day_are_added():
    rows = [["kills", "2026-01-01", "claim", 5, 1, 2.5], ["kills", "2026-01-02", "claim", 7, 0, 1.0]]
    assert soak.add_counts(rows, ["kills", "2026-01-01", "claim", 3, 1, 0.5]) == [
        "kills",
        "2026-01-01",
        "claim",
        8,
        2,
        3.0,
    ]
    assert soak.add_counts(rows, ["kills", "2026-01-03", "claim", 3, 0, 0.5])[3:] == [3, 0, 0.5]
    assert soak.add_counts(rows, ["disks", "2026-01-01", "claim", 3, 0, 0.5])[3:] == [3, 0, 0.5]
