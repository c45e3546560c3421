"""Families: gradients are derivatives, the paper's formulas hold, and families with errors are refused."""

from __future__ import annotations

import copy
import pickle

import networkx as nx
import numpy as np
import pytest
from scipy import stats
from scipy.interpolate import CubicSpline
from scipy.special import expit

import efge
from efge.families.base import check_family
from efge.families.builtin import FAMILIES, as_family
from efge.families.tables import _spline, spline_table

ALL = [efge.Bernoulli(), efge.Poisson(), efge.Normal(), efge.Normal(0.3), efge.NegativeBinomial(), efge.Geometric()]
ALL += [efge.NegativeBinomial(2.5), efge.BernoulliPoisson()]
OBSERVATIONS = {"binary": [0, 1], "counts": [0, 1, 2, 7, 30], "reals": [-3.5, -1, 0, 0.2, 1, 4]}
OBSERVATIONS["non-negative"] = [0, 0.2, 1, 4]


@pytest.fixture(params=ALL, ids=repr)
def family(request):
    return request.param


def scores(family, count=101):
    low, high = family.bounds
    return np.linspace(low, high, count)[1:-1]


def test_gradient_is_the_derivative_of_log_prob(family):
    s, h = scores(family), 1e-5
    for x in OBSERVATIONS[family.domain]:
        difference = family.log_prob(x, s + h) - family.log_prob(x, s - h)
        np.testing.assert_allclose(family.gradient(x, s), difference / (2 * h), rtol=2e-5, atol=2e-5)


def test_mean_is_the_derivative_of_the_log_partition(family):
    eta, h = family.link(scores(family)), 1e-6
    eta = eta[eta < -1e-3] if isinstance(family, efge.NegativeBinomial) else eta
    difference = family.log_partition(eta + h) - family.log_partition(eta - h)
    np.testing.assert_allclose(family.mean(eta), difference / (2 * h), rtol=1e-4, atol=1e-4)


def test_probabilities_sum_to_one(family):
    for s in np.linspace(max(family.bounds[0], -2.0), min(family.bounds[1], 1.0), 5):
        if family.domain == "reals":
            x = np.linspace(-20, 20, 40_001)
            assert np.exp(family.log_prob(x, s)).sum() * (x[1] - x[0]) == pytest.approx(1, abs=1e-6)
        else:
            x = np.arange(2 if family.domain == "binary" else 400)
            assert np.exp(family.log_prob(x, s)).sum() == pytest.approx(1, abs=1e-6)


def test_densities_equal_those_of_scipy():
    s, x = 0.4, np.arange(6)
    np.testing.assert_allclose(efge.Bernoulli().log_prob(x[:2], s), stats.bernoulli.logpmf(x[:2], expit(s)))
    np.testing.assert_allclose(efge.Poisson().log_prob(x, s), stats.poisson.logpmf(x, np.exp(s)))
    np.testing.assert_allclose(efge.Normal(0.7).log_prob(x, s), stats.norm.logpdf(x, 0.7 * np.exp(-s), 0.7))
    np.testing.assert_allclose(efge.Geometric().log_prob(x, s), stats.geom.logpmf(x + 1, 1 / (1 + np.exp(s))))
    mean, size = np.exp(s), 2.5
    expected = stats.nbinom.logpmf(x, size, size / (size + mean))
    np.testing.assert_allclose(efge.NegativeBinomial(size).log_prob(x, s), expected)


@pytest.mark.parametrize("x", [0.0, 1.0])
def test_gradients_equal_the_formulas_of_the_paper(x):
    s, sigma = np.linspace(-1, 1, 21), 0.8
    np.testing.assert_allclose(efge.Bernoulli().gradient(x, s), x - expit(s), atol=1e-12)
    np.testing.assert_allclose(efge.Poisson().gradient(x, s), x - np.exp(s), atol=1e-12)
    expected = -(x / sigma) * np.exp(-s) + np.exp(-2 * s)
    np.testing.assert_allclose(efge.Normal(sigma).gradient(x, s), expected, atol=1e-12)


def test_negative_sampling_converges_to_the_full_likelihood():
    """Lemma 1: a context and k negatives drawn from all other nodes approximate the likelihood of all nodes."""
    random = np.random.default_rng(0)
    nodes, context, family = 200, 17, efge.Bernoulli()
    score = random.normal(size=nodes)
    others = np.delete(np.arange(nodes), context)
    full = family.log_prob(1, score[context]) + family.log_prob(0, score[others]).sum()
    spread = family.log_prob(0, score[others]).std() * (nodes - 1)
    for k in (100, 10_000, 1_000_000):
        drawn = random.choice(others, size=k)
        sampled = family.log_prob(1, score[context]) + (nodes - 1) * family.log_prob(0, score[drawn]).mean()
        assert abs(sampled - full) < 4 * spread / np.sqrt(k)
    assert 4 * spread / np.sqrt(k) < 0.005 * abs(full)


def test_bernoulli_poisson_is_the_objective_of_bigclam():
    """Lemma 2: with community memberships as vectors, the log-likelihood of edges and non-edges is BigClam's."""
    graph = nx.karate_club_graph()
    f = np.random.default_rng(0).uniform(0.1, 1.0, size=(34, 3))
    edges = nx.to_numpy_array(graph, weight=None) > 0
    upper = np.triu(np.ones((34, 34), bool), 1)
    inner = f @ f.T
    bigclam = np.log(1 - np.exp(-inner[edges & upper])).sum() - inner[~edges & upper].sum()
    ours = efge.BernoulliPoisson().log_prob(edges[upper].astype(float), inner[upper]).sum()
    assert ours == pytest.approx(bigclam, rel=1e-12)


def test_probability_of_a_positive_poisson_count_is_the_bernoulli_poisson_link():
    s = np.linspace(0.1, 5, 20)
    np.testing.assert_allclose(np.exp(efge.BernoulliPoisson().log_prob(1, s)), 1 - stats.poisson.pmf(0, s))


@pytest.mark.parametrize("method", ["gradient", "log_prob"])
def test_tabulated_values_are_accurate_to_float32(family, method):
    table = spline_table(family, method).astype(float)
    low, high = family.bounds
    position = np.random.default_rng(0).uniform(0, table.shape[1] - 1, 5000)
    interval, u = position.astype(int), position % 1
    s = low + position / (table.shape[1] - 1) * (high - low)
    for x in (0, 1):
        exact = getattr(family, method)(float(x), s)
        tabulated = sum(table[x, interval, power] * u**power for power in range(4))
        np.testing.assert_allclose(tabulated, exact, atol=2e-6 * max(1.0, np.abs(exact).max()))
        assert table[x, -1, 0] == pytest.approx(float(getattr(family, method)(float(x), high)), rel=1e-5)


def test_all_builtin_families_pass_the_check(family):
    assert check_family(family) is None


def test_as_family_takes_a_name_or_a_family():
    assert [type(as_family(name)).__name__ for name in FAMILIES] == [
        "Bernoulli", "Poisson", "Normal", "NegativeBinomial", "Geometric", "BernoulliPoisson",
    ]  # fmt: skip
    own = efge.Normal(2.0)
    assert as_family(own) is own
    with pytest.raises(ValueError, match=r"no family 'gauss'; known: bernoulli, poisson, normal"):
        as_family("gauss")


def test_families_can_be_copied_pickled_compared_and_printed(family):
    for twin in (copy.deepcopy(family), pickle.loads(pickle.dumps(family))):
        assert twin == family
        assert hash(twin) == hash(family)
        assert repr(twin) == repr(family)
    assert efge.Normal(1.0) != efge.Normal(2.0)
    assert repr(efge.Normal(0.5)) == "Normal(sigma=0.5)"


class WrongMean(efge.Bernoulli):
    def mean(self, eta):
        return 0.9 * super().mean(eta)


class UndefinedInterval(efge.Bernoulli):
    def log_partition(self, eta):
        return np.where((eta > 2) & (eta < 3), np.nan, super().log_partition(eta))


class ReversedBounds(efge.Bernoulli):
    bounds = (2.0, -2.0)


class UnknownDomain(efge.Bernoulli):
    domain = "complex"


class Incomplete(efge.Family):
    pass


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (
            WrongMean(),
            r"WrongMean\(\): at x = 0, s = -?[\d.]+ the derivative of log_prob is .*, but gradient returns",
        ),
        (UndefinedInterval(), r"UndefinedInterval\(\): at x = 0, s = 2\.\d+ log_prob is nan"),
        (ReversedBounds(), r"bounds are two finite numbers, the lower one first; got \(2.0, -2.0\)"),
        (UnknownDomain(), r"no domain 'complex'; known: binary, counts, reals, non-negative"),
    ],
)
def test_a_family_with_errors_is_refused_by_fit(family, message):
    with pytest.raises(ValueError, match=message):
        efge.EFGE(family, dim=4, seed=0).fit([(0, 1)])


@pytest.mark.parametrize(
    ("domain", "observations"),
    [
        ("binary", (0, 1)),
        ("counts", (0, 1, 2, 5)),
        ("reals", (0, 1, -1.5, 0.25)),
        ("non-negative", (0, 1, 0.25, 3)),
    ],
)
def test_a_family_is_checked_at_zero_one_and_other_observations_of_its_domain(domain, observations):
    """Pairs are observed as 0 and 1; a formula with more observations is likely to be wrong at others, too."""
    seen = set()

    class Watched(efge.Bernoulli):
        def gradient(self, x, s):
            seen.add(float(x))
            return super().gradient(x, s)

    Watched.domain = domain
    check_family(Watched())
    assert seen == set(observations)


@pytest.mark.parametrize("family", [efge.Normal(-1), efge.Normal(0), efge.NegativeBinomial(-1)])
def test_parameters_of_families_are_positive(family):
    ((name, value),) = vars(family).items()
    with pytest.raises(ValueError, match=f"{name} must be a positive number; got {value}"):
        efge.EFGE(family).fit([("a", "b"), ("b", "c")])


def test_a_class_instead_of_its_object_is_told():
    with pytest.raises(ValueError, match=r"a family is an object and not its class; call it, as Normal\(\)"):
        efge.EFGE(efge.Normal).fit([("a", "b"), ("b", "c")])


def test_a_missing_method_is_named_in_the_error():
    with pytest.raises(NotImplementedError, match=r"Incomplete has no log_partition\(eta\)"):
        efge.EFGE(Incomplete(), dim=4, seed=0).fit([(0, 1)])


class OwnPoisson(efge.Family):
    """A user-defined family that works on single numbers only, because it branches."""

    domain = "counts"
    bounds = (-16.0, 1.0)

    def log_base(self, x):
        return -float(np.log(np.arange(1, int(x) + 1)).sum())

    def log_partition(self, eta):
        import math

        return math.exp(eta) if eta > -700 else 0.0

    def mean(self, eta):
        return self.log_partition(eta)


def test_a_user_defined_family_trains_like_the_builtin_one():
    graph = nx.karate_club_graph()
    own = efge.EFGE(OwnPoisson(), dim=8, seed=3).fit(graph)
    built_in = efge.EFGE("poisson", dim=8, seed=3).fit(graph)
    np.testing.assert_array_equal(own.embedding_.vectors, built_in.embedding_.vectors)


def test_a_redefined_family_is_not_taken_from_a_cache():
    def fitted(factor):
        class Mine(efge.Bernoulli):
            def link(self, s):
                return factor * s

            def link_derivative(self, s):
                return factor + 0 * s

        return efge.EFGE(Mine(), dim=8, seed=3).fit(nx.karate_club_graph()).embedding_.vectors

    assert not np.allclose(fitted(1.0), fitted(2.0))
    np.testing.assert_array_equal(fitted(2.0), fitted(2.0))


def test_splines_are_those_of_scipy_with_not_a_knot_ends():
    values = np.random.default_rng(0).normal(size=(2, 9))
    expected = CubicSpline(np.arange(9), values, axis=1, bc_type="not-a-knot").c
    np.testing.assert_allclose(_spline(values), expected[::-1].transpose(2, 1, 0), atol=1e-12)
