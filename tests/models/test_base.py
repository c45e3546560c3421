"""What all estimators share, and what importing one of them loads."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
import warnings
from copy import deepcopy

import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import efge

LOADED = """
import sys, efge
efge.{name}
print(*(module for module in sys.modules if module.startswith("efge.training")))
"""


@pytest.mark.parametrize("name", ["HOPE", "NetMF", "ProNE", "BigClam"])
def test_importing_an_estimator_that_does_not_train_on_walks_loads_no_training(name):
    command = [sys.executable, "-c", LOADED.format(name=name)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == []


def test_an_estimator_that_is_not_fitted_says_so():
    with pytest.raises(NotFittedError, match="this HOPE is not fitted yet; call fit with a graph first"):
        efge.HOPE().transform([("a", "b")])


@pytest.mark.parametrize("name", ["embedding_", "diagnostics_", "seed_", "drift_"])
def test_what_a_fit_learns_is_not_there_before(name):
    model = efge.EFGE(dim=4, walks_per_node=2, seed=0)
    assert not hasattr(model, name)
    with pytest.raises(AttributeError, match=f"this EFGE has no {name} yet; call fit with a graph first"):
        getattr(model, name)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    check_is_fitted(model.fit([("a", "b"), ("b", "c")]))
    with pytest.raises(AttributeError, match="this EFGE has no drift_ yet; partial_fit measures it"):
        model.drift_  # noqa: B018
    with pytest.raises(AttributeError, match="'EFGE' object has no attribute 'vectors_'"):
        model.vectors_  # noqa: B018


def test_walks_stand_for_their_graph_when_transforming():
    model = efge.EFGE(dim=4, walks_per_node=2, seed=0).fit([("a", "b"), ("b", "c")])
    walks = efge.Walks([("c", "a")], seed=0)
    assert model.transform(walks).tolist() == model.embedding_[["c", "a"]].vectors.tolist()


def test_unknown_parameters_and_containers_are_refused():
    with pytest.raises(ValueError, match="HOPE has no parameter 'width'; it has dim, beta, seed"):
        efge.HOPE().set_params(width=3)
    with pytest.raises(ValueError, match="no transform 'arrow'; known: default, pandas, polars"):
        efge.HOPE().set_output(transform="arrow")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: efge.EFGE(dimension=8),
            "EFGE has no parameter 'dimension'; it has family, dim, .*; did you mean 'dim'",
        ),
        (lambda: efge.DeepWalk(walk_lenght=9), "DeepWalk has no parameter 'walk_lenght'.*did you mean 'walk_length'"),
        (lambda: efge.HOPE(sed=1), "HOPE has no parameter 'sed'; it has dim, beta, seed; did you mean 'seed'"),
    ],
)
def test_an_unknown_parameter_is_answered_with_the_nearest_one(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_the_check_of_parameters_leaves_signature_copies_and_subclasses_alone():
    class Mine(efge.HOPE):
        def __init__(self, dim=8, **others):
            super().__init__(dim)
            self.others = others

    assert list(inspect.signature(efge.HOPE).parameters) == ["dim", "beta", "seed"]
    assert Mine(4, color="red").others == {"color": "red"}
    model = efge.EFGE(dim=8)
    for copy in (clone(model), pickle.loads(pickle.dumps(model)), deepcopy(model)):
        assert type(copy) is efge.EFGE
        assert copy.get_params() == model.get_params()


def test_a_window_that_no_walk_reaches_is_pointed_out():
    ring = [(i, (i + 1) % 9) for i in range(9)]
    small = {"dim": 2, "walks_per_node": 1, "seed": 0}
    message = "the window of 20 reaches 9 steps at most, because a walk has 10 nodes; raise walk_length"
    for model in (efge.EFGE(window=20, **small), efge.DeepWalk(window=20, **small), efge.Node2Vec(window=20, **small)):
        with pytest.warns(UserWarning, match=message):
            model.fit(ring)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", efge.QualityWarning)
        # The paper's window of 10, an automatic one, and a walk that was given, are nobody's mistake.
        efge.EFGE(window=10, **small).fit(ring)
        efge.EFGE(walk_length=3, **small).fit(ring)
        efge.DeepWalk(walk_length=3, **small).fit(ring)
        efge.EFGE(window=20, **small).fit(efge.Walks(ring, efge.CorpusWalk([[0, 1, 2]] * 9)))
