"""The program that compares speed: it continues where it was stopped, and its record carries the machine."""

from __future__ import annotations

import json
import sys

import pytest

import bench
import time_to_quality
from arena import Case


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """Groups that take no time, of which the second is interrupted at first; the list of those that were measured."""
    names: list[str] = []

    def group(name):
        def measure(inputs, options):
            names.append(name)
            if names == ["first", "second"]:
                raise KeyboardInterrupt
            return [Case(f"case of {name}", "seconds")]

        return bench.Group(measure, 1)

    monkeypatch.setattr(bench, "GROUPS", {name: group(name) for name in ("first", "second", "third")})
    monkeypatch.setattr(bench, "machine", lambda: {"cpu": "none"})
    monkeypatch.setattr(sys, "argv", ["bench.py", "--out", str(tmp_path), "--finished", str(tmp_path / "a" / "b.txt")])
    return names


def test_an_interrupted_run_continues_with_the_group_that_was_not_finished(measured, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        bench.main()
    bench.main()
    assert measured == ["first", "second", "second", "third"]
    recorded = json.loads((tmp_path / "bench.json").read_text())["cases"]
    assert [case["name"] for case in recorded] == ["case of first", "case of second", "case of third"]


def test_after_all_groups_are_finished_the_next_run_measures_everything_again(measured):
    with pytest.raises(KeyboardInterrupt):
        bench.main()
    bench.main()
    bench.main()
    assert measured[4:] == ["first", "second", "third"]


def test_groups_that_are_named_are_measured_though_they_are_finished(measured, monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        bench.main()
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--only", "first"])
    bench.main()
    assert measured == ["first", "second", "first"]


def test_all_groups_take_less_than_eighty_minutes():
    assert sum(group.minutes for group in bench.GROUPS.values()) < 80, "the other programs of make bench need ten"


@pytest.mark.skipif(sys.platform != "linux", reason="read from the files of Linux")
def test_the_record_names_the_caches():
    assert all(size[-1] in "KM" for size in bench.caches().values())


def test_the_fastest_method_that_reaches_a_score_is_compared():
    scores = {"efge": (4.0, 0.8), "efge, 12 walks": (2.0, 0.75), "efge, 6 walks": (1.0, 0.6), "pecanpy": (50.0, 0.7)}
    rows = [
        {"network": "cora", "method": method, "seconds": seconds, "Micro-F1": score}
        for method, (seconds, score) in scores.items()
    ]
    elsewhere = {"network": "wiki", "method": "efge", "seconds": 0.1, "Micro-F1": 0.9}
    best = {"network": "cora", "method": "grape", "seconds": 9.0, "Micro-F1": 0.85}
    summary = time_to_quality.summarize([*rows, elsewhere, best])
    assert summary == [["cora", "pecanpy", 0.7, "efge, 12 walks", 0.75, 25.0]]


def test_edges_are_numbered_once_and_labels_follow_the_rows(networks):
    edges, classes = time_to_quality.load_numbered("cora")
    assert (edges.shape, len(classes)) == ((5278, 2), 2708)
    assert (edges[:, 0] < edges[:, 1]).all()
    assert len({label for label in classes if label is not None}) == 7
