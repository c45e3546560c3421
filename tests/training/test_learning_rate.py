"""The learning rate: it falls over all steps, or from where held-out pairs have been learned."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

import efge
from efge.training import trainer
from efge.training.checkpoints import TrainingState
from efge.training.learning_rate import LearningRate, constant_score_log_likelihood
from efge.training.partitioned.driver import PartitionedRun
from helpers import training_settings

GRAPH = nx.barabasi_albert_graph(200, 3, seed=0)


def constant_until_converged(values=(), total=1000, baseline=-2.0):
    """Return a rate from 0.5 to 0.1 whose held-out evaluations had these values."""
    rate = LearningRate(0.5, 0.1, total, baseline)
    rate.state.history["log_likelihood"] += values
    return rate


CONVERGED = [-4.0, -1.5, -1.49]
RISING = [-4.0, -1.5, -1.0]


def test_without_a_baseline_the_rate_falls_linearly_from_first_to_last():
    rate = LearningRate(0.5, 0.1, 1000)
    assert [rate.at(step) for step in (0, 250, 500, 1000)] == pytest.approx([0.5, 0.4, 0.3, 0.1])
    assert rate.at(2000) == pytest.approx(0.1)
    assert rate.end() == 1000


def test_without_a_baseline_evaluations_change_nothing():
    rate = LearningRate(0.5, 0.1, 1000)
    rate.state.history["log_likelihood"] += CONVERGED
    for step in (300, 500, 1000):
        rate.update(step)
    assert (rate.state.decay_start, rate.state.converged, rate.end()) == (None, None, 1000)
    assert rate.at(500) == pytest.approx(0.3)


def test_the_rate_is_constant_until_training_has_converged():
    rate = constant_until_converged(RISING)
    rate.update(300)
    assert rate.state == TrainingState(history={"pairs": [], "log_likelihood": RISING})
    assert [rate.at(step) for step in (0, 300, 999, 1000)] == [0.5] * 4
    assert rate.end() == 1000


def test_after_convergence_the_rate_falls_to_the_last_value_at_twice_the_step_and_never_below():
    rate = constant_until_converged(CONVERGED)
    rate.update(300)
    assert (rate.state.decay_start, rate.state.converged) == (300, True)
    assert rate.end() == 600
    assert [rate.at(step) for step in (0, 299, 300)] == [0.5] * 3
    assert [rate.at(step) for step in (375, 450, 600)] == pytest.approx([0.4, 0.3, 0.1])
    assert [rate.at(step) for step in (601, 1000, 10**9)] == pytest.approx([0.1] * 3)


def test_rates_of_a_phase_are_on_one_line_and_end_at_the_last_value():
    """Steps that are taken together have the rates that they have one by one."""
    rate = LearningRate(1.0, 0.1, 1000, baseline=0.0)
    assert rate.line(0, 7) == rate.line(300, 400) == (1.0, 0.0)
    rate.state.decay_start = 200
    lines = {rate.line(begin, begin + 7) for begin in range(200, 390)}
    assert len(lines) == 1
    first, decay = lines.pop()
    assert first - decay * 250 == pytest.approx(rate.at(250))
    first, decay = rate.line(390, 500)
    assert first - decay * 500 == pytest.approx(0.1)


def test_once_the_rate_falls_further_evaluations_change_nothing():
    rate = constant_until_converged(CONVERGED)
    rate.update(300)
    rate.state.history["log_likelihood"].append(-0.1)
    for step in (350, 500, 600):
        rate.update(step)
    assert (rate.state.decay_start, rate.state.converged, rate.end()) == (300, True, 600)


@pytest.mark.parametrize(
    ("values", "converged"),
    [
        ([-4.0, -1.5, -1.49], True),  # 2 % of what was gained over the constant score
        ([-4.0, -1.19, -1.0], True),  # 19 %
        ([-4.0, -1.21, -1.0], False),  # 21 %
        ([-4.0, -1.0, -1.1], True),  # it has become worse
        ([-4.0, -1.0, -1.8, -1.0], False),  # only the last two count
        ([-4.0, -3.0, -2.99], False),  # nothing was gained yet
        ([-4.0, -2.0, -2.0], False),
        ([math.nan] * 4, False),  # without held-out pairs
    ],
    ids=str,
)
def test_convergence_is_a_small_gain_beside_all_that_was_gained(values, converged):
    rate = constant_until_converged(values)
    rate.update(300)
    assert (rate.state.decay_start, rate.state.converged) == ((300, True) if converged else (None, None))


@pytest.mark.parametrize("values", [[], [-1.5], [-1.5, -1.5], [-1.5, -1.49]], ids=str)
def test_the_initial_vectors_and_one_evaluation_are_too_few_to_have_converged(values):
    rate = constant_until_converged(values)
    rate.update(300)
    assert rate.state.decay_start is None
    rate.state.history["log_likelihood"] += [-1.48] * (3 - len(values))
    rate.update(350)
    assert rate.state.decay_start == 350


@pytest.mark.parametrize("values", [RISING, [math.nan] * 3, [-1.5]], ids=str)
def test_from_half_of_all_steps_on_the_rate_falls_whether_or_not_training_has_converged(values):
    rate = constant_until_converged(values)
    rate.update(499)
    assert rate.state.decay_start is None
    rate.update(500)
    assert (rate.state.decay_start, rate.state.converged) == (500, False)
    assert rate.end() == 1000
    assert [rate.at(step) for step in (500, 750, 1000)] == pytest.approx([0.5, 0.3, 0.1])


def test_a_rate_that_begins_to_fall_late_reaches_the_last_value_when_the_steps_end():
    rate = constant_until_converged(CONVERGED)
    rate.update(800)
    assert (rate.state.converged, rate.end()) == (True, 1000)
    assert [rate.at(step) for step in (800, 900, 1000)] == pytest.approx([0.5, 0.3, 0.1])


@pytest.mark.parametrize("updates", [[], [300], [300, 350], [500]])
def test_a_state_that_was_saved_gives_the_same_rates(updates):
    rate = constant_until_converged(CONVERGED if updates[:1] == [300] else RISING)
    for step in updates:
        rate.update(step)
    resumed = constant_until_converged()
    resumed.state = TrainingState(**json.loads(json.dumps(asdict(rate.state))))
    assert [resumed.at(step) for step in range(1001)] == [rate.at(step) for step in range(1001)]
    assert resumed.end() == rate.end()
    for each in (rate, resumed):
        each.state.history["log_likelihood"].append(-1.48)
        each.update(450)
    assert resumed.state == rate.state


def test_a_fixed_number_of_walks_has_no_baseline():
    settings = training_settings(learning_rate=0.5, min_learning_rate=0.1)
    rate = LearningRate.of(settings, efge.Bernoulli(), 100, from_factors=False)
    assert (rate.first, rate.last, rate.total, rate.baseline) == (0.5, 0.1, 100, None)
    converging = LearningRate.of(training_settings(until_converged=True, negatives=3), efge.Bernoulli(), 100, True)
    assert converging.baseline == pytest.approx(math.log(1 / 4) + 3 * math.log(3 / 4), abs=1e-3)


@pytest.mark.parametrize("k", [1, 2, 5, 20])
def test_the_best_constant_score_of_bernoulli_gives_a_context_the_probability_of_its_share(k):
    expected = math.log(1 / (1 + k)) + k * math.log(k / (1 + k))
    assert constant_score_log_likelihood(efge.Bernoulli(), k) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize(
    "family",
    [efge.Poisson(), efge.Normal(), efge.Normal(0.5), efge.BernoulliPoisson(), efge.NegativeBinomial()],
    ids=repr,
)
def test_no_constant_score_on_a_grid_is_better(family, k):
    scores = np.linspace(*family.bounds, 200_001)
    likelihoods = family.log_prob(np.ones_like(scores), scores) + k * family.log_prob(np.zeros_like(scores), scores)
    assert constant_score_log_likelihood(family, k) == pytest.approx(likelihoods.max(), abs=1e-3)
    assert likelihoods.max() - likelihoods.mean() > 0.01, "the maximum shows nothing"


def test_the_kernel_gets_the_rates_of_its_positions(monkeypatch):
    """The rate is continuous, the first one until training has converged, and the last one at the end."""
    spans, train_chunk = [], trainer._train_chunk

    def record(run, work, threads, config):
        begin, end = (work.first_position + int(work.offsets[work.blocks[i]]) for i in (0, -1))
        rates = [config.learning_rate - config.rate_decay * position for position in (begin, end)]
        spans.append((begin, end, *rates, run.learning_rate))
        train_chunk(run, work, threads, config)

    monkeypatch.setattr(trainer, "_train_chunk", record)
    efge.EFGE(dim=8, learning_rate=0.02, min_learning_rate=0.001, seed=1).fit(GRAPH)
    rate = spans[0][-1]
    start, total = rate.state.decay_start, rate.total
    assert 0 < start < rate.end() < total
    assert start in [begin for begin, *_ in spans]
    for begin, end, first, last, _ in spans:
        expected = [0.02 - 0.019 * min(max(step / start - 1, 0), 1) for step in (begin, end)]
        assert [first, last] == pytest.approx(expected, abs=1e-9)
    assert all(before[1] == after[0] for before, after in pairwise(spans))
    begin, end, *_ = spans[-1]
    assert begin < 2 * start <= end


def test_waves_of_partitions_get_the_rates_of_their_pairs(monkeypatch):
    rates, runs, make_bucket = {}, set(), PartitionedRun.bucket

    def record(run, wave, sub_wave, partitions):
        bucket = make_bucket(run, wave, sub_wave, partitions)
        rates[wave] = bucket.first_rate, bucket.last_rate
        runs.add(id(run.learning_rate))
        rates["run"] = run
        return bucket

    monkeypatch.setattr(PartitionedRun, "bucket", record)
    efge.EFGE(dim=8, learning_rate=0.02, min_learning_rate=0.001, partitions=2, seed=1).fit(GRAPH)
    run = rates.pop("run")
    start, bounds = run.learning_rate.state.decay_start, np.cumsum([0, *run.pairs]).tolist()
    assert 0 < start < run.learning_rate.end() < bounds[-1]
    assert list(rates) == list(range(len(rates)))
    for wave, pair in rates.items():
        expected = [0.02 - 0.019 * min(max(step / start - 1, 0), 1) for step in bounds[wave : wave + 2]]
        assert pair == pytest.approx(expected, abs=1e-9)
    assert bounds[len(rates) - 1] < 2 * start <= bounds[len(rates)]
