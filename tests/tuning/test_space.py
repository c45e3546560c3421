"""Spaces: dictionaries, lists of estimators, and files become candidates."""

from __future__ import annotations

import json

import pytest

import efge
from efge.tuning.space import make_candidates


def test_a_dictionary_has_every_combination_once():
    found = make_candidates({"family": ["bernoulli", "normal"], "window": [2, 2], "propagate": ["none", "auto"]})
    assert [repr(candidate.estimator) for candidate in found] == [
        "EFGE(family='bernoulli', window=2, propagate=None)",
        "EFGE(family='bernoulli', window=2)",
        "EFGE(family='normal', window=2, propagate=None)",
        "EFGE(family='normal', window=2)",
    ]


def test_candidates_that_differ_in_their_filter_share_a_training():
    trainings = {candidate.training() for candidate in make_candidates()}
    assert len(make_candidates()) == 24
    assert len(trainings) == 12


def test_every_estimator_of_the_library_can_be_a_candidate():
    names = ["EFGE", "deepwalk", "Node2Vec", "LINE", "HOPE", "NetMF", "prone", "BigClam"]
    found = make_candidates({"estimator": names})
    assert [type(candidate.estimator).__name__.lower() for candidate in found] == [name.lower() for name in names]
    models = [efge.HOPE(dim=4), efge.EFGE("normal", dim=4)]
    assert [candidate.estimator for candidate in make_candidates(models)] == models


@pytest.mark.parametrize("suffix", ["toml", "json"])
def test_a_file_has_the_same_as_a_dictionary(tmp_path, suffix):
    path = tmp_path / f"space.{suffix}"
    if suffix == "toml":
        path.write_text(
            '[[space]]\nfamily = ["poisson", {name = "normal", sigma = 0.5}]\npropagate = ["none"]\n'
            '[[space]]\nestimator = "ProNE"\ndim = [16, 32]\n'
        )
    else:
        family = ["poisson", {"name": "normal", "sigma": 0.5}]
        parts = [{"family": family, "propagate": ["none"]}, {"estimator": "ProNE", "dim": [16, 32]}]
        path.write_text(json.dumps({"space": parts}))
    expected = make_candidates(
        [
            {"family": ["poisson", efge.Normal(0.5)], "propagate": [None]},
            {"estimator": ["ProNE"], "dim": [16, 32]},
        ]
    )
    assert [candidate.key() for candidate in make_candidates(path)] == [candidate.key() for candidate in expected]


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ({"widow": [1]}, "EFGE has no parameter 'widow'"),
        ({"estimator": "GCN"}, "no estimator 'GCN'; known: EFGE, DeepWalk"),
        ({"family": [{"name": "cauchy"}]}, "no family 'cauchy'; known: bernoulli"),
        ({"family": [{"name": "normal", "scale": 1}]}, "normal: .*scale"),
        ({"window": []}, "a space needs at least one candidate"),
        ({name: list(range(1, 50)) for name in ("window", "dim", "walk_length")}, "10,000 candidates at most"),
        ([3], "a part of a space is a dictionary of parameters or an estimator; got 3"),
        (efge.EFGE(), "a space is a dictionary of parameters, a list of them"),
    ],
)
def test_a_space_that_makes_no_sense_is_an_error(space, message):
    with pytest.raises(efge.EvaluationError, match=message):
        make_candidates(space)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("window = [1, 2", "cannot read this space"),
        ("space = 3", "a space is a table of parameters"),
        ("widow = [1]", "space.toml: widow=1: EFGE has no parameter 'widow'"),
    ],
)
def test_a_file_that_makes_no_sense_is_an_error_with_its_name(write, text, message):
    with pytest.raises(efge.EvaluationError, match=message):
        make_candidates(write("space.toml", text))
    with pytest.raises(efge.EvaluationError, match=r"nowhere\.toml: no such file"):
        make_candidates("nowhere.toml")
