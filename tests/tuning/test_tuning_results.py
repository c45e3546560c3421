"""Ranks and verdicts: which candidate is best, and which differences are noise; rounds and budgets."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
from scipy import stats

import efge
from efge.evaluation.labels import as_targets
from efge.tuning.advice import advise, explain_windows
from efge.tuning.halving import count_trials, limit_by_fits, limit_by_time, plan_rounds, walks_of, work_of
from efge.tuning.results import Results, explain_rows
from efge.tuning.space import make_candidates
from efge.tuning.trials import group_by_training
from helpers import planted_communities


def results_of(scores, overlap=0.25):
    """Scores by window and place."""
    candidates = make_candidates({"window": list(scores)})
    results = Results(candidates, "ap", overlap)
    for candidate in candidates:
        for place, values in scores[candidate.parameters["window"]].items():
            results.add(candidate.key(), place, {"ap": list(np.atleast_1d(values))}, 1.0)
    return results


def test_candidates_are_compared_on_the_same_data():
    rows = results_of(
        {
            1: {(0.3, 0): 0.70},
            2: {(0.3, 0): 0.65, (1.0, 0): 0.80, (1.0, 1): 0.60, (1.0, 2): 0.70},
            5: {(0.3, 0): 0.66, (1.0, 0): 0.81, (1.0, 1): 0.62, (1.0, 2): 0.71},
            10: {(0.3, 0): 0.60, (1.0, 0): 0.79},
        }
    ).rows()
    assert [row.candidate.parameters["window"] for row in rows] == [5, 2, 10, 1]
    assert [row.verdict for row in rows[:1]] == ["best"]
    assert rows[1].difference == pytest.approx(0.04 / 3)
    # Not 0.71 - 0.79: the other repeats of the best had harder data.
    assert rows[2].difference == pytest.approx(0.02)
    assert rows[3].difference == pytest.approx(0.66 - 0.70)
    assert rows[0].score == pytest.approx((0.81 + 0.62 + 0.71) / 3)
    assert rows[0].sd == pytest.approx(np.std([0.81, 0.62, 0.71], ddof=1))


def test_differences_that_few_repeats_cannot_tell_from_noise_are_noise():
    # Paired differences of .01, .02 and .01 have a deviation of .0058, and with overlap a standard error of .0044.
    scores = {5: {(1.0, i): x for i, x in enumerate((0.81, 0.62, 0.71))}}
    scores[2] = {(1.0, i): x for i, x in enumerate((0.80, 0.60, 0.70))}
    error = np.std([0.01, 0.02, 0.01], ddof=1) * math.sqrt(1 / 3 + 0.25)
    single = np.std([0.01, 0.02, 0.01], ddof=1) * math.sqrt(1 + 0.25)
    # Three standard errors would be enough if many repeats told how large they are; of three repeats, 5.64 are.
    limit = stats.t.ppf(1 - 0.03 / 2, df=2)
    assert limit == pytest.approx(5.64, abs=0.01)
    assert 3 * error < 0.04 / 3 < limit * error
    for gap, verdict in ((0.9 * limit * single, "same"), (1.1 * limit * single, "worse")):
        scores[1] = {(1.0, 0): 0.81 - gap}
        verdicts = {row.candidate.parameters["window"]: row.verdict for row in results_of(scores).rows()}
        assert verdicts == {5: "best", 2: "same", 1: verdict}


@pytest.mark.parametrize(
    ("trainings", "filters", "repeats", "folds"),
    [(2, 1, 2, 1), (4, 2, 2, 1), (12, 1, 2, 1), (12, 2, 2, 1), (2, 1, 1, 5), (12, 2, 1, 5)],
)
def test_about_one_in_twenty_equally_good_candidates_is_called_worse(trainings, filters, repeats, folds):
    """Studies whose candidates differ by noise alone: that of a training, of a filter, and of both in each repeat."""
    random, verdicts = np.random.default_rng(0), []
    groups = group_by_training(
        make_candidates({"window": list(range(1, trainings + 1)), "propagate": [None, "auto"][:filters]})
    )
    for _ in range(100):
        results = Results([candidate for group in groups for candidate in group], "ap", overlap=0.25)
        # A fifth of the variance is the same in all repeats, as they share most of their data.
        common = random.normal(0, 0.01 * math.sqrt(0.2), (2, trainings, filters))
        current = groups
        for one in plan_rounds(trainings, repeats):
            current = sorted(current, key=lambda group: -max_score(results, group))[: one.trainings]
            for place in [(one.fraction, repeat) for repeat in one.repeats]:
                data = random.normal(0.8, 0.05, folds)
                for group in current:
                    number = groups.index(group)
                    shared = random.normal(0, 0.01 * math.sqrt(0.8), folds) + common[0, number, 0]
                    for i, candidate in enumerate(group):
                        own = random.normal(0, 0.01 * math.sqrt(0.8), folds) + common[1, number, i]
                        results.add(candidate.key(), place, {"ap": list(data + shared + own)}, 1.0)
        verdicts += [row.verdict for row in results.rows()[1:]]
    assert set(verdicts) <= {"same", "worse"}
    assert verdicts.count("worse") < 0.08 * len(verdicts)


def max_score(results, group):
    scores = [results.score(candidate.key()) for candidate in group]
    return max((score for score in scores if not math.isnan(score)), default=0.0)


def test_where_nothing_was_repeated_no_difference_is_called_noise_or_not():
    rows = results_of({1: {(1.0, 0): 0.9}, 2: {(1.0, 0): 0.9}, 5: {(1.0, 0): 0.899}}).rows()
    assert [row.verdict for row in rows] == ["best", "unclear", "unclear"]


def test_the_corrected_error_rarely_calls_equal_candidates_different():
    random = np.random.default_rng(0)
    verdicts = []
    for _ in range(200):
        common = random.normal(0.8, 0.05, 15)
        scores = {
            window: {(1.0, i): common[5 * i : 5 * i + 5] + random.normal(0, 0.01, 5) for i in range(3)}
            for window in (1, 2)
        }
        verdicts.append(results_of(scores).rows()[1].verdict)
    assert verdicts.count("worse") < 10


@pytest.mark.parametrize(("gain", "chosen"), [(0.001, 5), (0.02, 1)])
def test_the_preferred_candidate_is_chosen_unless_another_is_better_by_a_standard_error(gain, chosen):
    noise = np.array([0.01, -0.01, 0.0, 0.01, -0.01])
    results = results_of(
        {1: {(1.0, 0): 0.8 + gain + noise}, 5: {(1.0, 0): np.full(5, 0.8)}, 10: {(1.0, 0): 0.7 + noise}}
    )
    assert results.rows()[0].candidate.parameters["window"] == 1
    results.preferred = next(key for key, one in results.candidates.items() if one.parameters["window"] == 5)
    first, second, last = results.rows()
    assert first.candidate.parameters["window"] == chosen
    assert (first.verdict, first.difference) == ("best", 0)
    assert second.difference == pytest.approx(-gain if chosen == 5 else gain)
    assert last.candidate.parameters["window"] == 10


@pytest.mark.parametrize(("errors", "chosen"), [(0.24, 5), (0.26, 1)])
def test_a_quarter_of_a_standard_error_is_enough_to_leave_the_preferred_candidate(errors, chosen):
    noise = np.array([0.01, -0.01, 0.0, 0.01, -0.01])
    gain = errors * noise.std(ddof=1) * math.sqrt(1 / 5 + 0.25)
    results = results_of({1: {(1.0, 0): 0.8 + gain + noise - noise.mean()}, 5: {(1.0, 0): np.full(5, 0.8)}})
    results.preferred = next(key for key, one in results.candidates.items() if one.parameters["window"] == 5)
    assert results.rows()[0].candidate.parameters["window"] == chosen


@pytest.mark.parametrize(("count", "verdict"), [(4, "same"), (5, "worse")])
def test_five_paired_scores_have_a_deviation_of_their_own(count, verdict):
    """With fewer, it is that of all candidates, one of which varies much."""
    signs = np.array([1, -1, 1, -1, 1])[:count]
    scores = {1: np.full(count, 0.9), 2: 0.89 + 0.001 * signs, 5: 0.5 + 0.2 * signs}
    rows = results_of({window: {(1.0, 0): values} for window, values in scores.items()}).rows()
    assert [row.candidate.parameters["window"] for row in rows] == [1, 2, 5]
    assert rows[1].verdict == verdict


def test_a_preferred_candidate_with_fewer_walks_is_not_chosen():
    results = results_of({1: {(1.0, 0): 0.8, (0.5, 0): 0.8}, 5: {(0.5, 0): 0.9}})
    results.preferred = next(key for key, one in results.candidates.items() if one.parameters["window"] == 5)
    assert results.rows()[0].candidate.parameters["window"] == 1


def test_rounds_keep_the_better_third_and_repeat_the_best_two():
    assert [(one.trainings, len(one.repeats)) for one in plan_rounds(12)] == [(12, 1), (4, 1), (2, 1)]
    assert [count_trials(plan_rounds(n)) for n in (1, 2, 3, 4, 5, 12)] == [1, 6, 5, 6, 10, 18]
    assert [count_trials(plan_rounds(n, repeats=1)) for n in (1, 2, 3, 4, 5, 12)] == [1, 6, 3, 4, 8, 16]


@pytest.mark.parametrize("fits", [1, 5, 6, 12, 19, 20, 1000])
def test_there_are_never_more_trials_than_fits(fits):
    count = limit_by_fits(40, fits)
    assert count == 1 or count_trials(plan_rounds(count)) <= fits
    assert count == 40 or count_trials(plan_rounds(count + 1)) > fits


def test_a_part_of_the_walks_has_as_many_pairs_for_every_window_as_for_the_usual_one():
    """Small windows would look worse than they are."""
    pairs = {1: 18, 2: 34, 5: 70, 10: 90}  # of a walk of 10 nodes
    for window, count in pairs.items():
        walks = walks_of(efge.EFGE(window=window, walks_per_node=120), 1 / 10)
        assert walks * count == pytest.approx(12 * 70, abs=count / 2)
        assert walks_of(efge.EFGE(window=window, walks_per_node=120)) == 120
    assert walks_of(efge.EFGE(window=1, walks_per_node=6), 1 / 2) == 6
    assert walks_of(efge.EFGE(window="auto", walks_per_node=9), 1 / 3) == 3
    assert walks_of(efge.EFGE(window=50, walk_length=100, walks_per_node=2), 1 / 3) == 1
    short, full = (work_of(make_candidates({"window": 2})[0], fraction) for fraction in (1 / 3, 1.0))
    assert short / full == 8 / 12


def test_a_longer_budget_lets_more_candidates_take_part():
    trainings = group_by_training(make_candidates({"window": [5, 1, 2, 10], "p": [1, 2, 3, 4, 5]}))
    counts = [limit_by_time(trainings, budget, seconds_per_work=2.0) for budget in (1, 10, 20, 40, 400)]
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (1, 20)
    with pytest.raises(efge.EvaluationError, match="a budget is a positive number of seconds; got 0"):
        limit_by_time(trainings, 0, 1.0)


def test_advice_says_what_to_use_and_what_matters():
    rows = results_of({1: {(1.0, 0): 0.9}, 2: {(1.0, 0): 0.899}, 5: {(1.0, 0): 0.7}, 10: {(1.0, 0): 0.6}}).rows()
    reasons = {"small": "this graph's links join unlike nodes"}
    matters = "What matters most here is the window: 1 or 2, as this graph's links join unlike nodes."
    assert advise(rows, None, reasons) == f"Use EFGE(window=1). {matters}"
    assert advise(rows, rows[2], reasons) == f"Use EFGE(window=1): the defaults score 0.200 less. {matters}"
    assert advise(rows, rows[0], reasons) == f"Keep the defaults: nothing that was tried is clearly better. {matters}"
    rows = results_of({1: {(1.0, 0): 0.9}, 2: {(1.0, 0): 0.899}}).rows()
    assert advise(rows, rows[1]._replace(verdict="same"), {}) == (
        "Use EFGE(window=1), or keep the defaults: the difference is noise."
        " No single parameter makes a difference here."
    )


@pytest.mark.parametrize(("good", "advice"), [(None, "leave it out"), ("auto", "use one")])
def test_advice_on_the_filter_says_whether_to_use_it(good, advice):
    candidates = make_candidates({"propagate": [None, "auto"]})
    results = Results(candidates, "ap", 0.25)
    for candidate in candidates:
        score = 0.9 if candidate.parameters["propagate"] == good else 0.5
        results.add(candidate.key(), (1.0, 0), {"ap": [score]}, 1.0)
    assert advise(results.rows(), None, {}).endswith(f"What matters most here is the filter: {advice}.")


def test_defaults_that_were_left_behind_early_are_not_compared_with_the_end():
    rows = results_of({1: {(1.0, 0): 0.9}, 2: {(1.0, 0): 0.9}}).rows()
    early = rows[1]._replace(verdict="worse", difference=0.124, fraction=1 / 3)
    assert "the defaults fell behind in the first round" in advise(rows, early, {})
    assert "the defaults score 0.124 less" in advise(rows, early._replace(fraction=1.0), {})
    close = early._replace(fraction=1.0, difference=0.0004)
    assert "or keep the defaults: they are nearly as good." in advise(rows, close, {})


def test_links_between_like_and_unlike_nodes_are_told_apart():
    graph, groups = planted_communities(0, nodes=60, also=0.0)
    labels = {node: number for number, group in enumerate(groups) for node in group}
    targets = as_targets(labels, efge.Embedding(np.zeros((60, 1)), graph.names))
    assert "same class" in explain_windows(graph, targets)["large"]
    bipartite = efge.as_graph([(i, 30 + j) for i in range(30) for j in range(30) if (i + j) % 7 == 0])
    sides = as_targets({i: i < 30 for i in range(60)}, efge.Embedding(np.zeros((60, 1))))
    assert explain_windows(bipartite, sides)["small"] == "this graph's links join unlike nodes"


@pytest.mark.parametrize(("best", "says"), [(0.53, True), (0.62, False)])
def test_where_no_candidate_beats_chance_none_is_recommended(best, says):
    rows = results_of({1: {(1.0, 0): 0.9}, 2: {(1.0, 0): 0.8}}).rows()
    rows = [row._replace(scores={"auc": auc, "ap": 0.9}) for row, auc in zip(rows, (best, 0.5), strict=True)]
    advice = advise(rows, None, {})
    assert advice.startswith("No candidate beats chance: the best AUC is 0.53, and .5 is chance") == says
    assert ("Use EFGE" in advice) != says


def test_the_fewer_hidden_edges_the_better_a_candidate_must_be_to_beat_chance():
    rows = results_of({1: {(1.0, 0): 0.9}}).rows()
    row = rows[0]._replace(scores={"auc": 0.62})
    assert advise([row], None, {}, 0.05).startswith("Use EFGE")
    assert "0.62, and .5 is chance, up to 0.63 for the best of many" in advise([row], None, {}, 0.058)


def test_where_too_few_edges_are_hidden_the_graph_is_too_small_to_tell():
    rows = results_of({1: {(1.0, 0): 0.9}}).rows()
    advice = advise([rows[0]._replace(scores={"auc": 0.75})], None, {}, 0.3245)
    assert advice.startswith("The graph is too small to tell: the best AUC is 0.75")
    assert "1.23" not in advice


def test_random_graphs_have_no_winner_and_real_ones_of_the_same_size_do():
    """On one random graph in twenty, chance looks like more."""
    space = {"window": [1, 2, 5, 10], "dim": 8, "walks_per_node": 6, "propagate": [None, "auto"]}
    studies = [efge.tune(nx.gnm_random_graph(60, 150, seed=seed), space=space, seed=seed) for seed in range(12)]
    assert sum(study.beats_chance for study in studies) <= 1
    assert sum(study.advice.startswith("No candidate beats chance") for study in studies) >= 11
    club = efge.tune(nx.karate_club_graph(), space=space)
    assert club.beats_chance
    assert "No candidate beats chance" not in club.advice


def test_parameters_that_an_estimator_does_not_have_are_no_values_of_it():
    space = [{"window": [1, 5], "dim": 4, "walks_per_node": 3}, {"estimator": "ProNE", "dim": 4}]
    study = efge.tune(nx.karate_club_graph(), space=space)
    assert {record["estimator"] for record in study.records()} == {"EFGE", "ProNE"}
    ticks = {axes.get_xlabel(): [tick.get_text() for tick in axes.get_xticklabels()] for axes in study.plot()}
    assert ticks["window"] == ["1", "5"]
    assert ticks["estimator"] == ["EFGE", "ProNE"]
    assert "none" not in study.advice


def test_of_one_candidate_nothing_is_said_about_parameters():
    study = efge.tune(nx.karate_club_graph(), space={"window": [2], "dim": 4, "walks_per_node": 3})
    assert "parameter" not in study.advice


def test_a_table_of_several_rounds_says_which_scores_can_be_compared():
    rows = results_of({1: {(1.0, 0): 0.9}, 2: {(0.3, 0): 0.8}}).rows()
    assert explain_rows(rows)[0].startswith("Compare scores only between rows with the same walks and repeats")
    same = results_of({1: {(1.0, 0): 0.9}, 2: {(1.0, 0): 0.8}}).rows()
    assert explain_rows(same) == []


def test_a_table_says_how_many_trainings_its_rows_are_of():
    candidates = make_candidates({"window": [1, 2], "propagate": [None, "auto"]})
    results = Results(candidates, "ap", 0.25)
    for number, candidate in enumerate(candidates):
        results.add(candidate.key(), (1.0, 0), {"ap": [0.5 + number / 100]}, 1.0)
    assert explain_rows(results.rows()) == [
        "The 4 rows are of 2 trainings; those that differ in their filter share one."
    ]


def test_a_row_is_shown_with_four_digits():
    row = results_of({1: {(1.0, 0): 2 / 3, (1.0, 1): 1 / 3}}).rows()[0]
    assert "score=0.5, sd=0.2357, scores={'ap': 0.5}" in repr(row)


@pytest.mark.parametrize(
    ("nodes", "reasons"), [(4, {"small"}), (5, {"small", "large"}), (8, {"small", "large"}), (9, {"large"})]
)
def test_three_steps_or_two_reach_as_many_nodes_as_the_mean_degree_says(nodes, reasons):
    ring = efge.as_graph([(i, (i + 1) % nodes) for i in range(nodes)])
    assert set(explain_windows(ring, None)) == reasons


@pytest.mark.parametrize(("loss", "matters"), [(0.0029, False), (0.0031, True)])
def test_a_parameter_matters_if_another_value_costs_more_than_three_thousandths(loss, matters):
    rows = results_of({1: {(1.0, 0): 0.9}, 2: {(1.0, 0): 0.9 - loss}}).rows()
    assert ("What matters most" in advise(rows, None, {})) == matters
    worse = rows[1]._replace(verdict="worse")
    assert ("they are nearly as good" in advise(rows, worse, {})) != matters
