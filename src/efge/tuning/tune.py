"""Choose an estimator and its parameters for a graph: by held-out edges, or by labels."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from efge.errors import (
    EvaluationError,
    check_folder_path,
    check_functions,
    check_positive_integers,
    check_types,
    is_number,
)
from efge.evaluation.labels import describe_missing
from efge.graph.graph import Graph
from efge.graph.inputs import as_graph
from efge.io.scratch import lock_folder
from efge.models.efge import EFGE, choose_window
from efge.tuning.advice import advise, describe_chance, explain_windows
from efge.tuning.halving import Round, Training, limit_by_fits, limit_by_time, plan_rounds, planned_work
from efge.tuning.results import Results, explain_rows
from efge.tuning.space import Candidate, make_candidates
from efge.tuning.study import Study, check_same_study
from efge.tuning.tasks import LabelTask, LinkTask
from efge.tuning.trials import Outcome, Task, Trial, TrialRunner, group_by_training

Progress = Callable[[float, float, str], None]

# A candidate whose score is so much below that of another one of the same training takes no further part.
_FAR_BEHIND = 0.01


def tune(  # noqa: PLR0913
    graph: Any,
    labels: Any = None,
    *,
    space: Any = None,
    metric: str | None = None,
    C: float = 1.0,  # noqa: N803
    class_weight: str | None = None,
    budget: float | None = None,
    fits: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    force: bool = False,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Study:
    """Choose an estimator and its parameters for a graph.

    Without labels, a fifth of the edges is hidden, such that nodes stay connected. Candidates are trained on the rest,
    and scored by how well they tell hidden edges from pairs without an edge. With labels, they are trained on the whole
    graph, and scored by cross-validation of a classifier on four fifths of the labelled nodes; the last fifth, which
    nothing is chosen by, then says what to expect.

    All candidates are trained on a third of the walks first: 4 from each node for a window of 5, and for others as many
    as make about as many pairs. Without labels, the better third of candidates is then trained on 12 walks, and the
    best two once more with other held-out edges; with labels, the better third is fitted as the best one will be, and
    the defaults are chosen unless another candidate is better by more than a quarter of a standard error. The defaults
    are always trained to the end, if they are in the space.
    Candidates that differ only in their filter share a training. With one thread, a study of the default space takes
    about as long as ten fits of ``EFGE()``. The same seed gives the same study at any number of threads, also if it was
    interrupted.

    Parameters
    ----------
    graph : Graph, or anything :func:`efge.as_graph` takes
    labels : mapping, path, pandas Series or data frame, or a sequence or 0/1 matrix of all nodes, optional
        As for :func:`efge.node_classification`; nodes may have several classes.
    space : dictionary, list of dictionaries or of estimators, or path, optional
        What to choose from: lists of values by the names of the parameters of :class:`efge.EFGE`, all combinations of
        which are candidates. The name "estimator" stands for classes, such as ``{"estimator": ["ProNE", "NetMF"],
        "dim": [64, 128]}``. A .toml or .json file has the same. By default, three families, four windows, with and
        without a filter.
    metric : "micro_f1", "macro_f1" or "accuracy", optional
        With labels, the score to choose by; "macro_f1" gives every class the same weight. By default, "micro_f1".
    C : float
        With labels, the inverse of the classifier's regularization strength.
    class_weight : "balanced", optional
        With labels, give members of a class and all other nodes the same total weight in the classifier, so that rare
        classes are predicted more often.
    budget : float, optional
        Time to spend, in seconds: as many candidates take part as can be expected to be done by then, judging by the
        time of the first one, the default.
    fits : int, optional
        Number of trainings, at most. Fewer candidates take part if they would need more.
    folder : path, optional
        Where to keep finished trials, and to write ``table.csv`` and ``study.json``. Called again with the same
        arguments, an interrupted study continues. A folder with the table of a study with other settings is an error.
    force : bool
        Replace the table of another study in the folder; trainings that both have in common are not repeated.
    seed : int
        Seed of held-out edges or folds, and of trainings.
    threads : int, optional
        Number of threads; by default, one for each core.
    progress : callable, optional
        Called with work done, total work, and what leads.

    Returns
    -------
    Study
        `best_model`, `best_params`, `table`, `plot()` and `advice`.

    Examples
    --------
    >>> import efge
    >>> from itertools import combinations
    >>> cliques = [edge for group in ("abcdef", "ghijkl") for edge in combinations(group, 2)]
    >>> study = efge.tune([*cliques, ("f", "g")], space={"window": [1, 5], "dim": [4], "walks_per_node": 5})
    >>> len(study.rows), study.rows[0].verdict
    (2, 'best')
    """
    check_positive_integers(threads=threads, fits=fits)
    check_functions(progress=progress)
    check_folder_path("folder", folder)
    check_types(force=force)
    if isinstance(space, str):
        check_types(path=space)
    if budget is not None and not is_number(budget):
        raise EvaluationError(f"a budget is a positive number of seconds; got {budget!r}")
    graph, candidates = as_graph(graph), make_candidates(space)
    task = _make_task(graph, labels, seed, C, class_weight)
    chosen_metric = _choose_metric(task, metric)
    settings = _settings(task, candidates, chosen_metric, budget, fits)
    if folder is not None and not force:
        check_same_study(folder, settings)
    search = _Search(task, candidates, chosen_metric, progress)
    # A graph that cannot be tuned leaves no folder behind.
    task.prepare([0])
    with ExitStack() as stack:
        runner = TrialRunner(task, _open_folder(folder, stack), threads)
        search.run(runner, fits, budget)
    study = search.study(threads)
    if isinstance(task, LabelTask):
        study.expected, study.n_expected = task.last_scores(study.best_model.embedding_), len(task.last)
    study.settings = settings
    if folder is not None:
        study.save(folder)
    return study


def _settings(
    task: Task, candidates: list[Candidate], metric: str, budget: float | None, fits: int | None
) -> dict[str, Any]:
    """Return all that a study depends on, besides threads."""
    keys = sorted(candidate.key() for candidate in candidates)
    space = hashlib.sha256("\n".join(keys).encode()).hexdigest()[:16]
    limits = {"budget": None if budget is None else float(budget), "fits": None if fits is None else int(fits)}
    return task.config() | {"metric": metric, "space": space} | limits


def _make_task(graph: Any, labels: Any, seed: int, C: float, class_weight: str | None) -> Task:  # noqa: N803
    if not (is_number(C) and C > 0):
        raise EvaluationError(f"C must be positive; got {C!r}")
    if not (isinstance(seed, (int, np.integer)) and seed >= 0):
        raise EvaluationError(f"seed must be an integer from 0 on; got {seed!r}")
    if labels is not None:
        return LabelTask(graph, labels, int(seed), float(C), class_weight)
    if class_weight is not None:
        raise EvaluationError("class_weight is for labels; give labels, or leave it out")
    return LinkTask(graph, int(seed))


def _choose_metric(task: Task, metric: str | None) -> str:
    if metric is not None and not isinstance(metric, str):
        raise EvaluationError(f"metric is the name of a metric, or None; got {metric!r}")
    if isinstance(task, LinkTask) and metric not in (None, *task.metrics):
        raise EvaluationError(f"without labels, a metric is one of {', '.join(task.metrics)}; got {metric!r}")
    if metric is None:
        return task.metrics[0]
    known = [name for name in task.metrics if name.partition(" ")[0] == metric or name == metric]
    if not known:
        raise EvaluationError(f"no metric {metric!r}; known: micro_f1, macro_f1, accuracy")
    return known[0]


def _open_folder(folder: str | os.PathLike[str] | None, stack: ExitStack) -> Path | None:
    """Return the folder of trials, which no other study may use at the same time."""
    if folder is None:
        return None
    path = Path(folder) / "trials"
    path.mkdir(parents=True, exist_ok=True)
    if not stack.enter_context(lock_folder(path)):
        raise EvaluationError(f"{folder}: another study is running in this folder; wait for it, or name another one")
    return path


class _Search:
    """Successive halving over the trainings of a space."""

    def __init__(self, task: Task, candidates: list[Candidate], metric: str, progress: Progress | None) -> None:
        self.task, self.progress = task, progress or (lambda done, total, note: None)
        self.trainings = _in_order(group_by_training(candidates), task.graph, task.seed)
        self.default = Candidate(_default_estimator(task.graph))
        # Labels are few, and the defaults do well on most graphs; hidden edges are many.
        preferred = self.default.key() if isinstance(task, LabelTask) else None
        self.results = Results(candidates, metric, task.overlap, preferred)
        self.notes: list[str] = []
        self.done = self.total = 0.0

    def run(self, runner: TrialRunner, fits: int | None, budget: float | None) -> None:
        """Run all rounds that fits and budget allow."""
        count = limit_by_fits(len(self.trainings), fits, self.task.repeats)
        if budget is not None:
            count = min(count, self._count_in_time(runner, count, budget))
        if count < len(self.trainings):
            self.notes.append(f"{count} of {len(self.trainings)} trainings took part, as many as the budget allows.")
        current, rounds = self.trainings[:count], plan_rounds(count, self.task.repeats)
        for number, one in enumerate(rounds):
            current = self._select(current, one)
            self._plan_work(current, rounds[number:])
            self._run_round(runner, current, one)
            current = self._ranked(current)
            if not current:
                failed = next(key for key in self.results.candidates if key in self.results.reasons)
                raise EvaluationError(
                    f"no candidate could be trained; {self.results.candidates[failed]}: {self.results.reasons[failed]}"
                )

    def _select(self, ranked: Sequence[Training], one: Round) -> list[Training]:
        """Return the best trainings, for a round; the defaults are among those that are trained on all walks."""
        kept, others = list(ranked[: one.trainings]), ranked[one.trainings :]
        defaults = [training for training in others if training[0].training() == self.default.training()]
        return [*kept[:-1], *defaults] if defaults and 0 in one.repeats else kept

    def _count_in_time(self, runner: TrialRunner, count: int, budget: float) -> int:
        """Return how many trainings can take part, judging by the first trial, whose time is kept with its scores."""
        first = plan_rounds(count, self.task.repeats)[0]
        trial = Trial(tuple(self.trainings[0]), first.fraction, 0)
        (outcome,) = runner.run([trial], lambda trial, outcome: None)
        rate = outcome.seconds / trial.work / runner.threads
        return limit_by_time(self.trainings[:count], budget, rate, self.task.repeats)

    def _plan_work(self, current: Sequence[Training], rounds: Sequence[Round]) -> None:
        """Update the total work: what this round will do is known, what later ones will do is about the mean."""
        self.total = self.done + planned_work(current, rounds)
        self.progress(self.done, self.total, "")

    def _run_round(self, runner: TrialRunner, current: Sequence[Training], one: Round) -> None:
        trials = [Trial(tuple(training), one.fraction, repeat) for training in current for repeat in one.repeats]
        runner.run(trials, self._report)

    def _report(self, trial: Trial, outcome: Outcome) -> None:
        for candidate in trial.candidates:
            key = candidate.key()
            if outcome.reason is None:
                self.results.add(key, (trial.fraction, trial.repeat), outcome.values[key], outcome.seconds)
            else:
                self.results.reasons[key] = outcome.reason
        self.done += trial.work
        leader = self.results.ranking()[0]
        score = self.results.score(leader)
        note = "" if math.isnan(score) else f"{self.results.candidates[leader]} leads with {score:.4f}"
        self.progress(self.done, max(self.total, self.done), note)

    def _ranked(self, trainings: Sequence[Training]) -> list[Training]:
        """Return trainings by their best candidate; those that failed are left out."""

        def score(training: Training) -> float:
            found = [self.results.score(candidate.key()) for candidate in training]
            return max((value for value in found if not math.isnan(value)), default=math.nan)

        scored = [(score(training), training) for training in trainings]
        kept = [pair for pair in scored if not math.isnan(pair[0])]
        return [self._without_worse(training, best) for best, training in sorted(kept, key=lambda pair: -pair[0])]

    def _without_worse(self, training: Training, best: float) -> Training:
        """Return the candidates of a training that are not far behind its best; a filter may be so."""
        return [one for one in training if self.results.score(one.key()) >= best - _FAR_BEHIND]

    def study(self, threads: int | None) -> Study:
        """Return the result."""
        rows, graph = self.results.rows(), self.task.graph
        targets = self.task.targets if isinstance(self.task, LabelTask) else None
        notes = [*explain_rows(rows), *self.notes]
        if targets is None:
            notes.append("Without labels, hidden edges decide; a task that depends on something else may differ.")
        elif targets.without_vector:
            count = len(targets.without_vector)
            notes.append(f"Labelled names that are not nodes: {count:,} ({describe_missing(targets)}).")
        default = next((row for row in rows if row.candidate.key() == self.default.key()), None)
        deviation = self.task.chance_deviation() if isinstance(self.task, LinkTask) else 0.0
        advice = advise(rows, default, explain_windows(graph, targets), deviation)
        study = Study(rows, self.results.metric, graph, self.task.seed, advice, tuple(notes), threads)
        study.beats_chance = describe_chance(rows, deviation) is None
        return study


def _in_order(trainings: list[Training], graph: Graph, seed: int) -> list[Training]:
    """Return the training with the default settings first, and the others at random: not all of them may take part."""
    default = Candidate(_default_estimator(graph)).training()
    order = np.random.default_rng([seed, 2]).permutation(len(trainings))
    shuffled = [trainings[i] for i in order]
    return sorted(shuffled, key=lambda training: training[0].training() != default)


def _default_estimator(graph: Graph) -> EFGE:
    """Return EFGE with what its defaults become on a graph, as far as spaces name it."""
    return EFGE(window=choose_window(graph))
