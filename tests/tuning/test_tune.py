"""Studies: what is chosen, by which data, on how many threads, and after interruptions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import networkx as nx
import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score
from threadpoolctl import threadpool_limits

import efge
from efge.evaluation.logistic import add_constant, decision_function, fit_one_vs_rest
from efge.graph.factorization import factor_edges
from efge.models.efge import choose_window
from efge.tuning import tasks, trials
from efge.tuning.space import Candidate
from efge.tuning.tasks import FOLDS, LabelTask, LinkTask, deal, rank_edges
from helpers import blas_threads, planted_communities

GRAPH, GROUPS = planted_communities(1, nodes=60, groups=3, also=0.0)
LABELS = {node: number for number, group in enumerate(GROUPS) for node in group}
SPACE = {"window": [1, 2, 3, 4, 5], "dim": [4], "walks_per_node": [4], "propagate": [None, "auto"]}


def scores_of(study):
    return [(str(row.candidate), row.score, row.difference, row.verdict, row.repeats) for row in study.rows]


@pytest.fixture(scope="module")
def study():
    return efge.tune(GRAPH, space=SPACE, threads=1)


def test_the_study_is_the_same_at_any_number_of_threads(study):
    assert scores_of(efge.tune(GRAPH, space=SPACE, threads=3)) == scores_of(study)


def test_the_best_model_is_the_best_candidate_fitted_to_the_whole_graph(study):
    best = efge.EFGE(**study.best_params, seed=0).fit(GRAPH)
    assert study.best_model.embedding_ == best.embedding_
    assert study.rows[0].verdict == "best"
    assert study.best_score == max(row.score for row in study.rows if row.repeats == 2)


def test_the_table_has_all_candidates_with_scores_and_deviations(study):
    table = study.table
    assert len(table) == 10
    assert set(table.columns) >= {"candidate", "window", "propagate", "score", "sd", "verdict", "seconds", "auc"}
    assert table["score"].between(0, 1).all()
    # The best two trainings are repeated, without a filter that is far behind.
    assert (table["sd"].notna() == (table["repeats"] == 2)).all()
    assert 2 <= (table["repeats"] == 2).sum() <= 4
    assert [axes.get_xlabel() for axes in study.plot()] == ["window", "propagate", "seconds of a training"]
    assert study.advice.endswith(".")
    # How to read the table is said below it, and not where advice is shown without a table, as by embed --tune.
    assert "rows" not in study.advice
    assert [note.split()[0] for note in study.notes] == ["Compare", "The", "Without"]


def test_an_interrupted_study_continues_and_has_the_same_result(study, tmp_path, monkeypatch):
    run, started = trials.TrialRunner._run_one, []

    def run_one(self, trial, threads):
        started.append(trial)
        return run(self, trial, threads)

    monkeypatch.setattr(trials.TrialRunner, "_run_one", run_one)
    for limit in (2, 7):

        def interrupt(done, total, note, limit=limit):
            if len(list((tmp_path / "trials").glob("*.json"))) >= limit:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            efge.tune(GRAPH, space=SPACE, folder=tmp_path, threads=2, progress=interrupt)
    damaged = next((tmp_path / "trials").glob("*.json"))
    damaged.write_text(damaged.read_text()[:40])
    kept = len(list((tmp_path / "trials").glob("*.json"))) - 1
    started.clear()
    continued = efge.tune(GRAPH, space=SPACE, folder=tmp_path, threads=2)
    assert scores_of(continued) == scores_of(study)
    assert len(started) == 10 - kept
    assert sorted(path.name for path in tmp_path.iterdir()) == ["study.json", "table.csv", "trials"]


def test_a_quick_score_in_a_folder_is_not_taken_for_a_full_one(tmp_path):
    """The first round has all walks already, where they are few or a window is small, but scores are quick ones."""
    space = {"window": [1, 2, 3, 4, 5], "dim": [4], "walks_per_node": [1]}
    alone = efge.tune(GRAPH, LABELS, space=space, threads=1)
    kept = efge.tune(GRAPH, LABELS, space=space, threads=1, folder=tmp_path)
    assert scores_of(kept) == scores_of(alone)
    assert len(list((tmp_path / "trials").glob("*.json"))) == 8


# Runs a command that waits forever once a study has so many trials.
WAITING = """
import sys, time
from efge.cli import main
from efge.tuning.trials import TrialRunner

most, write = int(sys.argv.pop(1)), TrialRunner._write

def write_or_wait(runner, trial, outcome):
    if len(list(runner.folder.glob("*.json"))) >= most:
        time.sleep(3600)
    write(runner, trial, outcome)

TrialRunner._write = write_or_wait
main()
"""


@pytest.mark.slow
def test_a_study_killed_ten_times_has_the_same_result(tmp_path):
    graph = tmp_path / "graph.txt"
    nx.write_edgelist(nx.powerlaw_cluster_graph(400, 3, 0.3, seed=1), graph, data=False)
    program, command = [sys.executable, "-m", "efge"], ["tune", str(graph), "--seed", "3", "--json"]
    whole = subprocess.run([*program, *command, "-o", tmp_path / "whole"], capture_output=True, check=True).stdout
    killed = 0
    for number in range(10):
        waiting = [sys.executable, "-c", WAITING, str(max(2 * number, 1))]
        process = subprocess.Popen([*waiting, *command, "-o", tmp_path / "killed"], stdout=subprocess.DEVNULL)
        # From before the first trial to after many of them.
        wait_for_trials(process, tmp_path / "killed" / "trials", 2 * number)
        killed += process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert killed == 10
    after = subprocess.run([*program, *command, "-o", tmp_path / "killed"], capture_output=True, check=True).stdout
    assert without_times(after) == without_times(whole)


def wait_for_trials(process, folder, count):
    while process.poll() is None and len(list(folder.glob("*.json")) if folder.is_dir() else []) < count:
        time.sleep(0.01)


def without_times(output):
    content = json.loads(output)
    for candidate in content["candidates"]:
        del candidate["seconds"]
    return content


def test_held_out_edges_are_scored_by_the_better_of_dot_product_and_cosine():
    task = LinkTask(GRAPH, seed=5)
    task.prepare([0])
    embedding = efge.EFGE(dim=4, walks_per_node=5, seed=1).fit(task.training_graph(0)).embedding_
    split = efge.split_links(GRAPH, 0.2, seed=(5, 0))
    assert task.training_graph(0).fingerprint() == split.graph.fingerprint()
    pairs = np.concatenate([split.test_edges, split.test_non_edges])
    u, v = embedding.vectors[pairs[:, 0]].astype(float), embedding.vectors[pairs[:, 1]].astype(float)
    truth = np.arange(len(pairs)) < len(split.test_edges)
    dots = (u * v).sum(axis=1)
    cosines = dots / np.linalg.norm(u, axis=1) / np.linalg.norm(v, axis=1)
    expected = max(average_precision_score(truth, scores) for scores in (dots, cosines))
    assert task.score(embedding, 0)["average_precision"] == pytest.approx([expected])


def test_filters_that_share_a_training_give_the_vectors_of_separate_fits():
    model = efge.EFGE(dim=4, window=5, walks_per_node=4, seed=0, propagate=None).fit(GRAPH)
    for candidate in efge.tuning.space.make_candidates(SPACE | {"window": [5], "propagate": [None, "auto", "average"]}):
        alone = trials.configured(candidate, 0, 1).fit(GRAPH).embedding_
        assert trials._filtered(model, candidate, GRAPH, 1) == alone


def test_a_wide_window_is_chosen_where_a_region_counts():
    ring = efge.as_graph([(i, (i + step) % 200) for i in range(200) for step in (1, 2, 3)])
    study = efge.tune(ring, space={"window": [1, 5], "dim": [16], "walks_per_node": [10], "propagate": None})
    assert [row.verdict for row in study.rows] == ["best", "worse"]
    assert study.best_params["window"] == 5
    assert study.advice == (
        "Use EFGE(dim=16, walks_per_node=10, window=5, propagate=None). What matters most here is the window: 5, as"
        " this graph is sparse, with a mean degree of 6.0, and few nodes are close."
    )


@pytest.mark.parametrize("several", [False, True])
def test_labels_that_nothing_is_chosen_by_change_nothing_that_is_chosen(monkeypatch, several):
    labels = {node: [str(group), "all"] if several and node % 3 else [str(group)] for node, group in LABELS.items()}
    space = SPACE | {"window": [1, 5]}
    plain = efge.tune(GRAPH, labels, space=space)
    make = LabelTask.__init__

    def make_with_other_labels(self, *arguments):
        make(self, *arguments)
        self.targets.members[self.last] = np.roll(self.targets.members[self.last], 1, axis=1)

    monkeypatch.setattr(LabelTask, "__init__", make_with_other_labels)
    other = efge.tune(GRAPH, labels, space=space)
    assert scores_of(plain) == scores_of(other)
    assert plain.expected != other.expected
    assert plain.n_expected == 12
    assert plain.metric == ("micro_f1 (counts known)" if several else "micro_f1")


def test_labels_of_names_that_are_not_nodes_are_pointed_out():
    space = {"dim": [2], "walks_per_node": [1]}
    known = efge.tune(GRAPH, LABELS, space=space)
    others = efge.tune(GRAPH, LABELS | {"ann": 0, "bob": 1}, space=space)
    assert known.notes == ()
    assert others.notes == ("Labelled names that are not nodes: 2 ('ann', 'bob').",)
    assert others.n_expected == known.n_expected == 12


def test_what_to_expect_is_computed_by_one_thread_of_matrix_products(monkeypatch):
    """Several threads round otherwise, and wait for each other where processors are busy."""
    seen = []

    def evaluate(self, *arguments, **options):
        seen.append(blas_threads())
        return dict.fromkeys(self.metrics, 0.5)

    monkeypatch.setattr(LabelTask, "_evaluate", evaluate)
    with threadpool_limits(2, "blas"):
        LabelTask(GRAPH, LABELS, 0, 1.0).last_scores(efge.Embedding(np.zeros((len(GRAPH), 2))))
    assert seen == [{1}]


def test_every_fold_has_its_part_of_every_class():
    members = np.repeat(np.eye(3, dtype=bool), [50, 20, 10], axis=0)
    folds = deal(members, FOLDS, np.random.default_rng(0))
    counts = [members[folds == fold].sum(axis=0).tolist() for fold in range(FOLDS)]
    assert counts == [[10, 4, 2]] * FOLDS


@pytest.mark.parametrize(("quick", "more", "folds"), [(True, 0, FOLDS), (True, 1, 2), (False, 1, FOLDS)])
def test_quick_scores_of_many_nodes_have_few_folds(monkeypatch, quick, more, folds):
    task = LabelTask(GRAPH, LABELS, 0, 1.0)
    monkeypatch.setattr(tasks, "_MANY", len(task.development) - more)
    embedding = efge.Embedding(np.random.default_rng(0).normal(size=(len(GRAPH), 2)), efge.as_graph(GRAPH).names)
    assert [len(values) for values in task.score(embedding, 0, quick).values()] == 3 * [folds]


def test_the_metric_decides(monkeypatch):
    values = {"micro_f1": [[0.9], [0.5]], "macro_f1": [[0.1], [0.6]], "accuracy": [[0.2], [0.3]]}

    def score(self, embedding, repeat, quick):
        first = embedding.dim == 2
        return {name: pair[0 if first else 1] for name, pair in values.items()}

    monkeypatch.setattr(LabelTask, "score", score)
    space = {"dim": [2, 3], "walks_per_node": [1]}
    for metric, dim in (("micro_f1", 2), ("macro_f1", 3), (None, 2)):
        assert efge.tune(GRAPH, LABELS, space=space, metric=metric).best_params["dim"] == dim


def test_trials_train_as_a_fit_does():
    """They skip checks, evaluations and diagnostics, none of which changes a vector."""
    model = efge.EFGE("poisson", dim=4, walks_per_node=4, window=3, propagate=None, seed=5, threads=1)
    runner = trials.TrialRunner(LinkTask(GRAPH, 0), None, 1)
    trained = runner._train_tables(efge.EFGE(**model.get_params()), GRAPH, 0)
    assert trained.embedding_ == model.fit(GRAPH).embedding_
    assert len(trained.history_["pairs"]) < len(model.history_["pairs"])


@pytest.mark.parametrize(("free", "workers"), [(6 * 16 * 60 * 8, 3), (6 * 16 * 60 * 8 - 1, 2), (0, 0), (None, 7)])
def test_trainings_at_the_same_time_take_half_of_the_free_memory(monkeypatch, free, workers):
    """Each has two tables and their copies; the largest counts."""
    monkeypatch.setattr(trials, "available_memory", lambda: free)
    runner = trials.TrialRunner(LinkTask(GRAPH, 0), None, 7)
    planned = [trials.Trial((Candidate(efge.EFGE(dim=dim)),), 1.0, 0) for dim in (4, 8)]
    assert runner._workers_in_memory(planned) == workers


def test_trainings_on_a_dense_graph_share_the_factors_that_they_start_from(monkeypatch):
    computed = []
    monkeypatch.setattr(trials, "factor_edges", lambda *args: computed.append(args) or factor_edges(*args))
    everybody = efge.as_graph(nx.complete_graph(30))
    runner = trials.TrialRunner(LabelTask(everybody, {i: i % 2 for i in range(30)}, 0, 1.0), None, 1)
    for family in ("bernoulli", "normal"):
        model = efge.EFGE(family, dim=4, walks_per_node=2, window=2, propagate=None, seed=0, threads=1)
        trained = runner._train_tables(efge.EFGE(**model.get_params()), everybody, 0)
        assert trained.embedding_ == model.fit(everybody).embedding_
    assert len(computed) == 1


def test_the_defaults_are_trained_to_the_end(monkeypatch):
    """They rank last after the first round; what they lose is then known for all walks."""
    monkeypatch.setattr(LinkTask, "score", lambda self, embedding, repeat, quick=False: score_by_dim(embedding))
    window = {"window": choose_window(GRAPH)}
    study = efge.tune(GRAPH, space=[{"dim": list(range(2, 9)), "walks_per_node": 3}, window])
    default = next(row for row in study.rows if row.candidate.parameters == window)
    assert (default.fraction, default.verdict) == (1.0, "worse")
    assert [row.candidate.parameters["dim"] for row in study.rows[:2]] == [2, 3]


def score_by_dim(embedding):
    return {"auc": [1 - embedding.dim / 1000], "average_precision": [0.5]}


def test_candidates_far_behind_in_the_same_training_take_no_further_part(monkeypatch):
    scores = {None: 0.5, "auto": 0.6, "average": 0.59}
    seen = []

    def run_one(self, trial, threads):
        seen.append((trial.fraction, [one.estimator.propagate for one in trial.candidates]))
        values = {one.key(): {"auc": [scores[one.estimator.propagate]]} for one in trial.candidates}
        return trials.Outcome(values, 0.1)

    monkeypatch.setattr(trials.TrialRunner, "_run_one", run_one)
    study = efge.tune(GRAPH, space=SPACE | {"propagate": [None, "auto", "average"]}, threads=1)
    assert {tuple(names) for fraction, names in seen if fraction < 1} == {(None, "auto", "average")}
    assert {tuple(names) for fraction, names in seen if fraction == 1} == {("auto", "average")}
    assert len(study.rows) == 15


@pytest.mark.parametrize("ties", [False, True])
def test_ranks_of_edges_are_those_of_scikit_learn(ties):
    random = np.random.default_rng(4)
    scores = random.normal(size=500)
    scores = np.round(scores, 1) if ties else scores
    truth = np.arange(500) < 180
    expected = roc_auc_score(truth, scores), average_precision_score(truth, scores)
    assert rank_edges(scores, 180) == pytest.approx(expected, abs=1e-12)


def test_balanced_classes_are_those_of_the_classifier():
    """A rare class that overlaps with a frequent one is found only if it counts as much."""
    random = np.random.default_rng(0)
    ring = efge.as_graph([(i, (i + 1) % 900) for i in range(900)])
    labels = {node: "rare" if node < 90 else "common" for node in range(900)}
    vectors = random.normal(size=(900, 1)).astype(np.float32)
    vectors[:90] += 1.5
    plain, balanced = (LabelTask(ring, labels, 0, 1.0, weight) for weight in (None, "balanced"))
    found = [np.mean(task.score(efge.Embedding(vectors), 1)["macro_f1"]) for task in (plain, balanced)]
    assert found[1] != found[0]
    features, rows = add_constant(vectors), np.arange(900)
    few, many = (
        (
            decision_function(features, fit_one_vs_rest(features, task.targets.members, balanced=task is balanced))[
                :, 1
            ]
            > 0
        )
        for task in (plain, balanced)
    )
    assert few[rows < 90].sum() + 30 < many[rows < 90].sum()
    assert balanced.config() != plain.config()
    study = efge.tune(GRAPH, LABELS, space={"dim": [2, 3], "walks_per_node": [1]}, class_weight="balanced")
    assert study.expected is not None
    with pytest.raises(efge.EvaluationError, match="class_weight is for labels; give labels, or leave it out"):
        efge.tune(GRAPH, class_weight="balanced")
    with pytest.raises(efge.EvaluationError, match="class_weight is 'balanced' or None; got 'even'"):
        efge.tune(GRAPH, LABELS, class_weight="even")


def test_budgets_limit_what_is_tried(tmp_path):
    space = SPACE | {"window": [1, 2, 5]}
    one = efge.tune(GRAPH, space=space, fits=1, folder=tmp_path)
    assert len(list((tmp_path / "trials").iterdir())) == 1
    assert len(one.rows) == 2
    assert "1 of 3 trainings took part" in one.notes[0]
    assert len(efge.tune(GRAPH, space=space, budget=1e-6).rows) == 2
    assert len(efge.tune(GRAPH, space=space, budget=1e6).rows) == 6


def test_numbers_of_numpy_are_numbers_of_a_study(tmp_path):
    options = {"space": {"dim": [np.int64(4)], "walks_per_node": 4}, "seed": np.uint8(1)}
    limits = {"budget": np.float32(60), "fits": np.int64(1)}
    study = efge.tune(GRAPH, LABELS, C=np.float32(1), folder=tmp_path, **options, **limits)
    saved = json.loads((tmp_path / "study.json").read_text())["settings"]
    assert saved == study.settings
    assert (saved["C"], saved["budget"], saved["fits"], saved["seed"]) == (1, 60, 1, 1)


def test_a_folder_keeps_the_table_of_another_study_unless_it_may_be_replaced(tmp_path):
    small = {"space": {"dim": [2], "walks_per_node": [2]}, "folder": tmp_path, "threads": 1}
    first = efge.tune(GRAPH, **small, fits=np.int64(1))
    assert scores_of(efge.tune(GRAPH, **small, fits=1)) == scores_of(first)
    table = (tmp_path / "table.csv").read_bytes()
    wider = small | {"space": {"dim": [2, 3], "walks_per_node": [2]}}
    for graph, labels, options, other in (
        (GRAPH, None, small | {"fits": 2}, "fits"),
        (GRAPH, None, small | {"seed": 1, "fits": 1}, "seed"),
        (GRAPH, None, wider | {"fits": 1}, "space"),
        (nx.karate_club_graph(), None, small | {"fits": 1}, "graph"),
        (GRAPH, LABELS, small | {"fits": 1}, "task"),
    ):
        with pytest.raises(efge.EvaluationError, match=rf"has a study with another .*{other}.*; name another folder"):
            efge.tune(graph, labels, **options)
    assert (tmp_path / "table.csv").read_bytes() == table
    assert len(efge.tune(GRAPH, **wider, force=True).rows) == 2
    assert len((tmp_path / "table.csv").read_text().splitlines()) == 3
    (tmp_path / "study.json").write_text("[]")
    with pytest.raises(efge.EvaluationError, match=r"table\.csv: this file exists, and is of no study; .* pass force"):
        efge.tune(GRAPH, **wider)


def test_no_library_is_loaded_in_the_time_of_the_first_trial():
    """A budget is planned by that time; loading takes longer than a trial on a small graph."""
    program = """
import sys, efge
from efge.tuning.trials import TrialRunner
train, loaded = TrialRunner._fit, []
def fit(self, *arguments):
    before = set(sys.modules)
    model = train(self, *arguments)
    loaded.extend(set(sys.modules) - before)
    return model
TrialRunner._fit = fit
everybody = [(u, v) for u in range(12) for v in range(u) if (u + v) % 5]
efge.tune(everybody, space={"window": 2, "dim": 4, "walks_per_node": 1}, threads=1)
print(sorted(loaded))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_progress_goes_from_nothing_to_all_of_the_work():
    seen = []
    efge.tune(GRAPH, space=SPACE, threads=1, progress=lambda done, total, note: seen.append((done, total)))
    parts = [done / total for done, total in seen]
    assert parts[0] == 0
    assert 0 < parts[2] < 0.5
    assert parts[-1] == pytest.approx(1)


def test_a_candidate_that_fails_is_in_the_table_with_the_reason():
    study = efge.tune(GRAPH, space={"window": [0, 5], "dim": [4], "walks_per_node": [4]})
    assert [row.candidate.parameters["window"] for row in study.rows] == [5, 0]
    assert study.rows[1].verdict == "failed: window must be a positive integer; got 0"
    with pytest.raises(efge.EvaluationError, match="no candidate could be trained; window 0: failed"):
        efge.tune(GRAPH, space={"window": [0]})


def test_other_estimators_take_part():
    study = efge.tune(GRAPH, space={"estimator": ["HOPE", "ProNE", "LINE"], "dim": [4]})
    assert {row.candidate.parameters["estimator"] for row in study.rows} == {"HOPE", "ProNE", "LINE"}
    assert all(0 < row.score <= 1 for row in study.rows)


def test_mistakes_are_errors_that_name_them(tmp_path):
    path = nx.path_graph(20)
    with pytest.raises(efge.EvaluationError, match="has no such edge; choose by labels"):
        efge.tune(path, folder=tmp_path / "study")
    assert not (tmp_path / "study").exists()
    for complete in (nx.complete_graph(3), nx.complete_graph(10), nx.complete_bipartite_graph(4, 5)):
        with pytest.raises(efge.EvaluationError, match="has no such pair; choose by labels"):
            efge.tune(complete)
    for options, message in {
        ("metric", "hits"): "without labels, a metric is one of auc, average_precision; got 'hits'",
        ("fits", 0): "fits must be a positive integer; got 0",
        ("budget", -1): "a budget is a positive number of seconds; got -1",
        ("seed", -1): "seed must be an integer from 0 on; got -1",
        ("C", 0): "C must be positive; got 0",
    }.items():
        with pytest.raises(ValueError, match=message):
            efge.tune(GRAPH, space={"dim": [2], "walks_per_node": [1]}, **dict([options]))
    with pytest.raises(efge.EvaluationError, match="at least two classes"):
        efge.tune(GRAPH, dict.fromkeys(GRAPH, "a"))
    with pytest.raises(efge.EvaluationError, match="10 nodes with a label at least; got 3"):
        efge.tune(GRAPH, {0: "a", 1: "b", 2: "b"})
    with pytest.raises(efge.EvaluationError, match="no metric 'f1'; known: micro_f1"):
        efge.tune(GRAPH, LABELS, metric="f1")
