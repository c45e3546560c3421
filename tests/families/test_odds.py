"""Log-odds: the difference of two log-probabilities, for families that take arrays and for those that do not."""

from __future__ import annotations

import math

import numpy as np
import pytest

import efge
from efge.families.builtin import FAMILIES
from efge.families.odds import log_odds, log_ratio


class Scalar(efge.Family):
    """A Bernoulli family whose methods take numbers only."""

    domain = "binary"

    def log_partition(self, eta):
        return math.log1p(math.exp(eta))

    def mean(self, eta):
        return 1 / (1 + math.exp(-eta))


class Branching(Scalar):
    """The same, with a branch that fails for arrays."""

    def log_partition(self, eta):
        return eta + math.log1p(math.exp(-eta)) if eta > 0 else math.log1p(math.exp(eta))


class Careless(efge.Bernoulli):
    """Takes an array, but as if all of it were its first number."""

    def link(self, s):
        return s if np.ndim(s) == 0 else s[0] + 0.0 * s


@pytest.mark.parametrize("name", FAMILIES)
def test_log_odds_are_those_of_log_prob(name):
    family = FAMILIES[name]()
    scores = np.linspace(*family.bounds, 41)
    expected = [float(family.log_prob(1.0, s)) - float(family.log_prob(0.0, s)) for s in scores]
    np.testing.assert_allclose(log_odds(family, scores), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", FAMILIES)
def test_scores_are_clipped_to_the_bounds(name):
    family = FAMILIES[name]()
    low, high = family.bounds
    assert log_odds(family, np.array([low - 5, high + 5])).tolist() == log_odds(family, np.array([low, high])).tolist()


@pytest.mark.parametrize("name", FAMILIES)
def test_only_the_normal_family_finds_links_less_likely_at_higher_scores(name):
    family = FAMILIES[name]()
    steps = np.diff(log_odds(family, np.linspace(*family.bounds, 20)))
    assert (steps < 0).all() if name == "normal" else (steps > 0).all()


@pytest.mark.parametrize("family", [Scalar(), Branching(), Careless()], ids=repr)
def test_families_that_take_numbers_only_have_log_odds_too(family):
    # The log-odds of a Bernoulli family are the score itself.
    for scores in ([-3.0, 0.0, 2.5], [1.25], []):
        np.testing.assert_allclose(log_odds(family, np.array(scores)), scores, atol=1e-12)


@pytest.mark.parametrize("name", FAMILIES)
def test_at_the_log_ratio_contexts_and_negatives_pull_equally(name):
    """If a pair is a context r times for each time that it is a negative, the gradients cancel at its best score."""
    family = FAMILIES[name]()
    scores = np.linspace(*family.bounds, 43)[1:-1]
    means = np.array([float(family.mean(family.link(s))) for s in scores])
    inside = (means > 1e-6) & (means < 0.99)
    assert inside.sum() > 3
    ratios = np.exp(log_ratio(family, scores))[inside]
    pulls = [
        (r * family.gradient(1.0, s), family.gradient(0.0, s)) for r, s in zip(ratios, scores[inside], strict=True)
    ]
    np.testing.assert_allclose([up for up, _ in pulls], [-down for _, down in pulls], rtol=1e-9)


@pytest.mark.parametrize("name", FAMILIES)
def test_log_ratios_are_finite_and_rise_with_the_mean(name):
    family = FAMILIES[name]()
    scores = np.linspace(family.bounds[0] - 1, family.bounds[1] + 1, 101)
    means = np.array([float(family.mean(family.link(s))) for s in np.clip(scores, *family.bounds)])
    ratios = log_ratio(family, scores)
    assert np.isfinite(ratios).all()
    assert (np.diff(ratios[np.argsort(means, kind="stable")]) >= -1e-12).all()


@pytest.mark.parametrize("family", [Scalar(), Branching()], ids=repr)
def test_families_that_take_numbers_only_have_log_ratios_too(family):
    np.testing.assert_allclose(log_ratio(family, np.array([-3.0, 0.0, 2.5])), [-3.0, 0.0, 2.5], atol=1e-12)
