"""What is to be measured: the paper's studies, read from data, as cells of one training each."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from efge.io.files import toml

# The studies in the order of a report.
STUDIES = ("networks", "classification", "links", "dimension", "window", "sigma", "dolphins")


@cache
def catalogue() -> dict[str, Any]:
    """All settings, as they stand in the file.

    Examples
    --------
    >>> catalogue()["walks"]
    {'walks_per_node': 80, 'walk_length': 10}
    """
    return toml((files("efge.experiments") / "experiments.toml").read_text("utf-8"))


@cache
def published(name: str) -> dict[tuple[str, ...], float]:
    """A published table: the number at each row and column; empty fields are left out.

    Examples
    --------
    >>> published("links.csv")["EFGE-Norm", "cora"]
    0.807
    >>> published("classification_cora.csv")["EFGE-Norm", "micro_f1", "90"]
    0.839
    """
    header, *rows = csv.reader((files("efge.experiments") / name).read_text("utf-8").splitlines())
    keys = 2 if header[1] == "measure" else 1
    return {
        (*row[:keys], column): float(field)
        for row in rows
        for column, field in zip(header[keys:], row[keys:], strict=True)
        if field
    }


class Cell(NamedTuple):
    """The smallest piece of work, kept when it is done: a method trained once on a network, and its scores."""

    study: str
    network: str
    method: str
    value: float | None
    repeat: int

    @property
    def path(self) -> str:
        """Where its scores are kept, within a folder."""
        value = "" if self.value is None else f"_{self.value:g}"
        return f"{self.study}/{self.network}/{self.method}{value}_{self.repeat}.csv"


@dataclass(frozen=True)
class Plan:
    """Which studies to run, on which networks, with which methods, how often; None is the paper's choice.

    Examples
    --------
    >>> Plan(studies=("links",), networks=("cora",), methods=("HOPE",), repeats=2).cells()
    [Cell(study='links', network='cora', method='HOPE', value=None, repeat=0),
     Cell(study='links', network='cora', method='HOPE', value=None, repeat=1)]
    """

    studies: tuple[str, ...] = STUDIES
    networks: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    repeats: int | None = None
    quick: bool = False

    def check(self) -> None:
        """Refuse names that are none, and choices that leave nothing to do."""
        studies = catalogue()["studies"]
        known = {
            "study": (self.studies, list(studies)),
            "network": (self.networks, sorted({n for study in studies.values() for n in study["networks"]})),
            "method": (self.methods, [*catalogue()["methods"], "heuristics"]),
        }
        for what, (chosen, names) in known.items():
            for name in chosen or ():
                if name not in names:
                    raise ValueError(f"no {what} {name!r}; known: {', '.join(names)}")
        if self.repeats is not None and self.repeats < 1:
            raise ValueError(f"repeats is a whole number from 1 on; got {self.repeats!r}")
        if not self.cells():
            raise ValueError("nothing to do: none of the studies has these networks and methods")

    def cells(self) -> list[Cell]:
        """All cells, in the order in which they should be measured."""
        return [cell for study in STUDIES if study in self.studies for cell in self._cells_of(study)]

    def _cells_of(self, name: str) -> Iterable[Cell]:
        study = catalogue()["studies"][name]
        networks = self._chosen(study["networks"], self.networks or self._quick("networks"))
        methods = self._chosen(study["methods"], self.methods) if "methods" in study else ["-"]
        values = (self._quick("values") or {}).get(name) or study.get("values", [None])
        trainings = range(self._trainings(name, study))
        return (Cell(name, n, m, v, r) for r in trainings for n in networks for v in values for m in methods)

    def _quick(self, what: str) -> Any:
        return catalogue()["quick"][what] if self.quick else None

    @staticmethod
    def _chosen(own: list[str], chosen: Iterable[str] | None) -> list[str]:
        return own if chosen is None else [name for name in own if name in chosen]

    def _trainings(self, name: str, study: dict[str, Any]) -> int:
        """How many trainings it takes: some splits share one."""
        repeats = self.repeats or (self._quick("repeats") or {}).get(name) or study.get("repeats", 1)
        if "repeats" not in study:
            return 1
        return -(-int(repeats) // int(study.get("splits", 1)))
