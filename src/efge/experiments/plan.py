"""The plan of a reproduction: which of the paper's studies to run, as cells of one training each."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from efge.io.files import parse_toml

# The studies, in the order of the report.
STUDIES = ("networks", "classification", "links", "dimension", "window", "sigma", "dolphins")


@cache
def load_settings() -> dict[str, Any]:
    """Return the settings of all studies, from ``experiments.toml``.

    Examples
    --------
    >>> load_settings()["walks"]
    {'walks_per_node': 80, 'walk_length': 10}
    """
    return parse_toml((files("efge.experiments") / "experiments.toml").read_text("utf-8"))


@cache
def published_table(name: str) -> dict[tuple[str, ...], float]:
    """Return a published table: the number at each row and column, without empty fields.

    Examples
    --------
    >>> published_table("links.csv")["EFGE-Norm", "cora"]
    0.807
    >>> published_table("classification_cora.csv")["EFGE-Norm", "micro_f1", "90"]
    0.839
    """
    header, *rows = csv.reader((files("efge.experiments") / name).read_text("utf-8").splitlines())
    n_keys = 2 if header[1] == "metric" else 1
    return {
        (*row[:n_keys], column): float(field)
        for row in rows
        for column, field in zip(header[n_keys:], row[n_keys:], strict=True)
        if field
    }


class Cell(NamedTuple):
    """The smallest unit of work: one method, trained once on one network, and scored. Finished cells are saved."""

    study: str
    network: str
    method: str
    value: float | None
    repeat: int

    @property
    def path(self) -> str:
        """Path of the file with its scores, relative to the folder of cells."""
        value = "" if self.value is None else f"_{self.value:g}"
        return f"{self.study}/{self.network}/{self.method}{value}_{self.repeat}.csv"


@dataclass(frozen=True)
class Plan:
    """The studies to run, with their networks, methods and number of repeats; None means those of the paper.

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
        """Raise ``ValueError`` if a name is unknown, or if there is nothing to do."""
        studies = load_settings()["studies"]
        choices = {
            "study": (self.studies, list(studies)),
            "network": (self.networks, sorted({n for study in studies.values() for n in study["networks"]})),
            "method": (self.methods, [*load_settings()["methods"], "heuristics"]),
        }
        for kind, (selected, known) in choices.items():
            for name in selected or ():
                if name not in known:
                    raise ValueError(f"no {kind} {name!r}; known: {', '.join(known)}")
        if self.repeats is not None and self.repeats < 1:
            raise ValueError(f"repeats must be a positive integer; got {self.repeats!r}")
        if not self.cells():
            raise ValueError("nothing to do: none of the studies uses these networks and methods")

    def cells(self) -> list[Cell]:
        """Return all cells, in the order in which to run them."""
        return [cell for study in STUDIES if study in self.studies for cell in self._study_cells(study)]

    def _study_cells(self, name: str) -> Iterable[Cell]:
        study = load_settings()["studies"][name]
        networks = self._select(study["networks"], self.networks or self._quick("networks"))
        methods = self._select(study["methods"], self.methods) if "methods" in study else ["-"]
        values = (self._quick("values") or {}).get(name) or study.get("values", [None])
        trainings = range(self._n_trainings(name, study))
        return (Cell(name, n, m, v, r) for r in trainings for n in networks for v in values for m in methods)

    def _quick(self, key: str) -> Any:
        return load_settings()["quick"][key] if self.quick else None

    @staticmethod
    def _select(names: list[str], selected: Iterable[str] | None) -> list[str]:
        return names if selected is None else [name for name in names if name in selected]

    def _n_trainings(self, name: str, study: dict[str, Any]) -> int:
        """Return the number of trainings; several splits may share one."""
        repeats = self.repeats or (self._quick("repeats") or {}).get(name) or study.get("repeats", 1)
        if "repeats" not in study:
            return 1
        return -(-int(repeats) // int(study.get("splits", 1)))
