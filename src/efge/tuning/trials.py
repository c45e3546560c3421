"""Trials: one training each, scored; finished ones are kept in files, and several run at the same time."""

from __future__ import annotations

import copy
import hashlib
import json
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import efge
from efge.embedding.embedding import Embedding
from efge.errors import QualityWarning, TrainingError, describe_error
from efge.graph.factorization import factor_edges
from efge.graph.graph import Graph
from efge.io.atomic import atomic_write
from efge.models.efge import EFGE
from efge.models.walk_base import TableStorage
from efge.parallel import single_threaded_blas
from efge.system import available_memory, available_threads
from efge.training.tables import Floats, start_from_factors, starts_from_factors
from efge.training.trainer import train
from efge.tuning.halving import Training, walks_of, work_of
from efge.tuning.space import Candidate
from efge.tuning.tasks import LabelTask, LinkTask, Values
from efge.walks.walks import Walks

Task = LinkTask | LabelTask


class _StoppedError(Exception):
    """Ends a fit whose study is being interrupted."""


class Trial(NamedTuple):
    """A training of candidates that differ in their filter only, on a fraction of the walks."""

    candidates: tuple[Candidate, ...]
    fraction: float
    repeat: int

    @property
    def work(self) -> float:
        """Expected time, in units of a full training with default settings."""
        return work_of(self.candidates[0], self.fraction)


class Outcome(NamedTuple):
    """Scores of each candidate by its key, or the reason why there are none."""

    values: dict[str, Values]
    seconds: float
    reason: str | None = None


class TrialRunner:
    """Runs trials for a task; those whose files are in the folder are read."""

    def __init__(self, task: Task, folder: Path | None, threads: int | None) -> None:
        self.task, self.folder, self.threads = task, folder, threads or available_threads()
        self._config = {"efge": efge.__version__} | task.config()
        self._stop = threading.Event()
        # Factors of edges that trainings start from, by repeat and dimension; they depend on no other parameter.
        self._factors: dict[tuple[int, int], tuple[Floats, Floats]] = {}
        self._factors_lock = threading.Lock()

    def run(self, trials: Sequence[Trial], report: Callable[[Trial, Outcome], None]) -> list[Outcome]:
        """Return the outcomes of trials, in order; call `report` with each as soon as it is known."""
        found = {i: outcome for i, trial in enumerate(trials) if (outcome := self._read(trial)) is not None}
        for i, outcome in found.items():
            report(trials[i], outcome)
        missing = [i for i in range(len(trials)) if i not in found]
        self.task.prepare(sorted({trials[i].repeat for i in missing}))
        for i, outcome in self._run_missing(trials, missing):
            self._write(trials[i], outcome)
            found[i] = outcome
            report(trials[i], outcome)
        return [found[i] for i in range(len(trials))]

    def _run_missing(self, trials: Sequence[Trial], missing: Sequence[int]) -> Iterable[tuple[int, Outcome]]:
        """Yield outcomes as they are finished; every worker thread trains a model, with its part of the threads."""
        if not missing:
            return
        _load_code()
        workers = max(1, min(self.threads, len(missing), self._workers_in_memory(trials)))
        with single_threaded_blas(), warnings.catch_warnings():
            # A few walks are meant to be too few; the final model warns if there is reason to.
            warnings.simplefilter("ignore", QualityWarning)
            pool = ThreadPoolExecutor(workers)
            try:
                # The longest first, so that all threads finish at about the same time.
                order = sorted(missing, key=lambda i: -trials[i].work)
                futures = {pool.submit(self._run_one, trials[i], self.threads // workers): i for i in order}
                for future in as_completed(futures):
                    yield futures[future], future.result()
            except BaseException:
                self._stop.set()
                raise
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    def _workers_in_memory(self, trials: Sequence[Trial]) -> int:
        """Return how many trainings fit into half of the free memory, with two tables and their copies each."""
        free, dims = available_memory(), [getattr(trial.candidates[0].estimator, "dim", 128) for trial in trials]
        size = 4 * 4 * self.task.graph.n_nodes * max(dims)
        return self.threads if free is None else int(free / 2 // max(size, 1))

    @single_threaded_blas()
    def _run_one(self, trial: Trial, threads: int) -> Outcome:
        start = time.perf_counter()
        try:
            vectors = self._vectors(self._fit(trial, threads), trial, threads)
            seconds = time.perf_counter() - start
            quick = trial.fraction < 1
            scores = {key: self.task.score(found, trial.repeat, quick) for key, found in vectors.items()}
            return Outcome(scores, seconds)
        except (ValueError, MemoryError, TrainingError) as error:
            return Outcome({}, time.perf_counter() - start, f"failed: {describe_error(error)}")

    def _fit(self, trial: Trial, threads: int) -> Any:
        """Return the model of a trial, without a filter."""
        graph = self.task.training_graph(trial.repeat)
        model = configured(trial.candidates[0], self.task.seed + trial.repeat, threads)
        walks = self._walks(model, trial.fraction)
        if walks is not None:
            model.set_params(walks_per_node=walks)
        if isinstance(model, EFGE):
            model.set_params(propagate=None)
        if isinstance(model, EFGE) and model.partitions is None:
            return self._train_tables(model, graph, trial.repeat)
        return model.fit(graph, progress=self._check)

    def _train_tables(self, model: EFGE, graph: Graph, repeat: int) -> EFGE:
        """Train as `fit` does, without what a trial does not need: checks, evaluations, diagnostics.

        Walks are made anew for each candidate: they take .2 to .4 % of the time of a fit.
        """
        # Only a family of the user's own may be wrong.
        family = model._pair_family() if isinstance(model.family, str) else model._family()
        walks = model._make_walks(graph, None)
        settings = model._settings_for(walks.graph)
        if settings.patience is None and not settings.until_converged:
            settings = replace(settings, evaluations=1)
        start = None
        if starts_from_factors(walks.graph, family, settings):
            start = start_from_factors(self._factors_of(walks, settings.dim, repeat), family)
        model._store_result(walks, train(walks, family, settings, self._check, start=start))
        return model

    def _factors_of(self, walks: Walks, dim: int, repeat: int) -> tuple[Floats, Floats]:
        with self._factors_lock:
            if (repeat, dim) not in self._factors:
                self._factors[repeat, dim] = factor_edges(walks.graph, dim, walks.seed)[:2]
            return self._factors[repeat, dim]

    def _vectors(self, model: Any, trial: Trial, threads: int) -> dict[str, Embedding]:
        """Return the vectors of each candidate of a trial."""
        if not isinstance(model, EFGE):
            return {trial.candidates[0].key(): model.embedding_}
        graph = self.task.training_graph(trial.repeat)
        return {candidate.key(): _filtered(model, candidate, graph, threads) for candidate in trial.candidates}

    def _check(self, progress: Any) -> None:
        if self._stop.is_set():
            raise _StoppedError

    def _walks(self, model: Any, fraction: float) -> int | None:
        """Return the number of walks of a trial; None if the estimator's own setting is used."""
        if not hasattr(model, "walks_per_node"):
            return None
        if model.walks_per_node == "auto" and fraction == 1 and isinstance(self.task, LabelTask):
            # Vectors that labels are to choose are those of the final model: some families need more walks than others.
            return None
        return walks_of(model, fraction)

    def config(self, trial: Trial) -> dict[str, Any]:
        """Return all that the scores of a trial depend on, besides filters."""
        walks = self._walks(trial.candidates[0].estimator, trial.fraction)
        # With a small window, a fraction of the walks may be all of them, but scores are quick ones.
        place = {"fraction": trial.fraction, "repeat": trial.repeat}
        return self._config | {"training": trial.candidates[0].training(), "walks": walks} | place

    def _path(self, trial: Trial) -> Path:
        digest = hashlib.sha256(json.dumps(self.config(trial), sort_keys=True).encode()).hexdigest()[:16]
        return Path(self.folder or "", f"{type(trial.candidates[0].estimator).__name__}_{digest}.json")

    def _read(self, trial: Trial) -> Outcome | None:
        """Return the outcome in a trial's file if it has scores of all its candidates, and None otherwise."""
        if self.folder is None:
            return None
        try:
            content = json.loads(self._path(trial).read_text("utf-8"))
            if content["config"] == self.config(trial):
                values = {candidate.key(): content["values"][candidate.key()] for candidate in trial.candidates}
                return Outcome(values, float(content["seconds"]))
        except (OSError, ValueError, KeyError, TypeError):
            # A missing or damaged file: the trial is run again.
            pass
        return None

    def _write(self, trial: Trial, outcome: Outcome) -> None:
        if self.folder is None or outcome.reason is not None:
            return
        content = {"config": self.config(trial), "seconds": outcome.seconds, "values": outcome.values}
        with atomic_write(self._path(trial)) as stream:
            stream.write(json.dumps(content, indent=1).encode() + b"\n")


def _load_code() -> None:
    """Load compiled code and libraries, which may take longer than a trial, by whose time budgets are planned."""
    configured(Candidate(EFGE(dim=4, walks_per_node=1, init="svd")), 0, 1).fit([(0, 1), (1, 2)])


def configured(candidate: Candidate, seed: int, threads: int | None) -> Any:
    """Return an unfitted copy of a candidate's estimator with a seed and a number of threads.

    Examples
    --------
    >>> configured(Candidate(efge.HOPE(dim=4)), seed=3, threads=1)
    HOPE(dim=4, seed=3)
    """
    from sklearn.base import clone

    model = clone(candidate.estimator)
    execution = {"seed": seed, "threads": threads}
    return model.set_params(**{name: value for name, value in execution.items() if name in model.get_params()})


def _filtered(model: EFGE, candidate: Candidate, graph: Graph, threads: int) -> Embedding:
    """Return what a candidate's filter makes of vectors that were trained without one."""
    other = copy.copy(model)
    other.propagate = candidate.estimator.get_params()["propagate"]
    other._filter(Walks(graph, seed=0, threads=threads), TableStorage(None, None, None))
    return other.embedding_


def group_by_training(candidates: Iterable[Candidate]) -> list[Training]:
    """Return candidates that share a training together, in the order of the first of them.

    Examples
    --------
    >>> from efge.tuning.space import make_candidates
    >>> [len(group) for group in group_by_training(make_candidates({"window": [1, 2], "propagate": [None, "auto"]}))]
    [2, 2]
    """
    groups: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        groups.setdefault(candidate.training(), []).append(candidate)
    return list(groups.values())
