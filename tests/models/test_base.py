"""What all estimators share, and what importing one of them loads."""

from __future__ import annotations

import subprocess
import sys

import pytest
from sklearn.exceptions import NotFittedError

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


def test_walks_stand_for_their_graph_when_transforming():
    model = efge.EFGE(dim=4, walks_per_node=2, seed=0).fit([("a", "b"), ("b", "c")])
    walks = efge.Walks([("c", "a")], seed=0)
    assert model.transform(walks).tolist() == model.embedding_[["c", "a"]].vectors.tolist()


def test_unknown_parameters_and_containers_are_refused():
    with pytest.raises(ValueError, match="HOPE has no parameter 'width'; it has dim, beta, seed"):
        efge.HOPE().set_params(width=3)
    with pytest.raises(ValueError, match="no transform 'arrow'; known: default, pandas, polars"):
        efge.HOPE().set_output(transform="arrow")
