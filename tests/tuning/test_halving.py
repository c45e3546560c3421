"""Rounds of successive halving."""

from __future__ import annotations

import pytest

import efge
from efge.tuning.halving import limit_by_time, plan_rounds, walks_of, work_of
from efge.tuning.space import Candidate


@pytest.mark.parametrize(
    ("trainings", "repeats", "rounds"),
    [
        (1, 2, [(1.0, (0,), 1)]),
        (2, 2, [(1.0, (0, 1, 2), 2)]),
        (3, 2, [(1.0, (0,), 3), (1.0, (1,), 2)]),
        (4, 3, [(1.0, (0,), 4), (1.0, (1, 2), 2)]),
        (5, 2, [(1 / 3, (0,), 5), (1.0, (0,), 3), (1.0, (1,), 2)]),
        (12, 1, [(1 / 3, (0,), 12), (1.0, (0,), 4)]),
    ],
)
def test_the_better_third_goes_on_and_the_best_two_are_repeated(trainings, repeats, rounds):
    assert plan_rounds(trainings, repeats) == rounds


@pytest.mark.parametrize(("seconds", "count"), [(7.0, 1), (8.0, 2)])
def test_two_trainings_of_three_repeats_take_part_if_four_fifths_of_the_budget_allow_it(seconds, count):
    trainings = [[Candidate(efge.EFGE(window=5, p=p))] for p in (1, 2)]
    assert limit_by_time(trainings, seconds, 1.0) == count


def test_a_window_longer_than_a_walk_has_the_pairs_of_the_whole_walk():
    """A walk of 10 nodes has 90 pairs, and a training of a window of 5, which has 70, is the unit of work."""
    for window in (9, 10, 50):
        assert work_of(Candidate(efge.EFGE(window=window))) == pytest.approx(90 / 70)
        assert walks_of(efge.EFGE(window=window, walks_per_node=120), 1 / 10) == round(12 * 70 / 90)
    assert work_of(Candidate(efge.EFGE(window=5, dim=64, walks_per_node=24))) == 1
    assert work_of(Candidate(efge.EFGE(window=5, walk_length=20))) == pytest.approx((2 * 5 * 20 - 30) / 70)
    assert work_of(Candidate(efge.HOPE(dim=64)), 1 / 3) == 1 / 3
