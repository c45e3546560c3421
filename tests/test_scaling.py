"""The prediction of speed-ups, for schedules whose length is known."""

from __future__ import annotations

import numpy as np
import pytest

import scaling


def made_of(tasks, merges, **changes):
    rounds = [(np.array(tasks), np.array(merges))] * 4
    return scaling.Profile(rounds, {}, serial=0.0, calls=0, call=0.0, handover=0.0)._replace(**changes)


def test_equal_tasks_are_shared_evenly():
    measured = made_of([1.0] * 8, [0.5] * 4)
    assert [scaling.predict(measured, workers) for workers in (1, 2, 4, 8)] == [40.0, 20.0, 10.0, 6.0]


def test_the_longest_task_bounds_a_round():
    assert scaling.predict(made_of([5.0, 1.0, 1.0], [0.0]), 64) == 20.0


def test_what_is_not_divided_takes_its_time_with_any_number_of_workers():
    measured = made_of([1.0] * 4, [], serial=3.0, shared={"walks": 8.0, "evaluation": 16.0})
    assert scaling.predict(measured, 16) == 4.0 + 3.0 + 0.5 + 2.0


def test_workers_come_to_tasks_and_barriers_one_after_the_other():
    """With a handover of 1, tasks of 0 are taken at 1 and 2, arrivals are counted at 2 and 3, and all leave by 5."""
    assert scaling.meet(scaling.schedule(np.zeros(2), [0.0, 0.0], 1.0), 1.0) == [4.0, 5.0]


def test_every_worker_begins_every_call():
    assert scaling.predict(made_of([], [], calls=3, call=0.1), 10) == pytest.approx(3.0)
