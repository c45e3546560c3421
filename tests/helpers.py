"""What several test modules use: commands, graphs with known answers, scikit-learn's checks."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.utils import estimator_checks

import efge
from efge.cli import main


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def run(*arguments, cwd="."):
    """Run a command in this process, which spares it a start of seconds."""
    stdout, stderr = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["efge", *map(str, arguments)]
    here = Path.cwd()
    os.chdir(cwd)
    try:
        with redirect_stdout(stdout), redirect_stderr(stderr), pytest.raises(SystemExit) as end:
            main()
    finally:
        os.chdir(here)
        sys.argv = before
    return Done(end.value.code, stdout.getvalue(), stderr.getvalue())


def run_apart(*arguments, **options):
    return subprocess.run([sys.executable, "-m", "efge", *arguments], capture_output=True, text=True, **options)


def fails(done, message):
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"efge: {message}"), done.stderr
    assert done.stderr.count("\n") == 1


# scikit-learn's own checks take a square matrix for a graph. What these expect makes no sense for one.
EXCEPTIONS = {
    "check_n_features_in": "a graph has no features, and nodes are known by name",
    "check_n_features_in_after_fitting": "a graph has no features, and nodes are known by name",
    "check_positive_only_tag_during_fit": "negative weights are refused in words of our own",
    "check_complex_data": "complex weights are refused in words of our own",
    "check_dtype_object": "an adjacency matrix of Python objects is refused",
    "check_estimators_empty_data_messages": "a graph without nodes is a graph",
    "check_estimators_nan_inf": "tries an array of three columns, which is a list of edges with names such as nan",
    "check_transformer_data_not_an_array": "what is not known to be a graph is refused",
    "check_transformer_preserve_dtypes": "vectors are float32, whatever the weights are",
    "check_methods_sample_order_invariance": "changing the order of rows alone gives another graph",
    "check_methods_subset_invariance": "some rows of a matrix are no graph",
    "check_fit_idempotent": "some rows of a matrix are no graph",
    "check_fit2d_predict1d": "one row of a matrix is refused in words of our own",
}


def with_scikit_learn_checks(*estimators):
    """scikit-learn's own decorator, but with a list, as pytest wants one."""
    with warnings.catch_warnings():
        # Its base class would bring all of scikit-learn into every start; estimators have themselves what it gives.
        warnings.filterwarnings("ignore", "Estimator .* does not inherit from")
        checks = [
            case
            for estimator in estimators
            for case in estimator_checks.estimator_checks_generator(
                estimator, expected_failed_checks=EXCEPTIONS, mark="xfail"
            )
        ]
    return pytest.mark.parametrize(("estimator", "check"), checks, ids=estimator_checks._get_check_estimator_ids)


def planted(seed, nodes=120, groups=4, within=0.5, between=0.01, also=0.15):
    """A graph of communities that overlap: an edge for each one shared with a chance of its own; and the truth."""
    random = np.random.default_rng(seed)
    member = np.arange(nodes)[:, None] * groups // nodes == np.arange(groups)
    member |= random.random((nodes, groups)) < also / (groups - 1)
    shared = member.astype(float) @ member.T
    tied = np.triu(random.random((nodes, nodes)) < 1 - (1 - between) * (1 - within) ** shared, 1)
    return efge.as_graph((tied | tied.T).astype(int)), [np.flatnonzero(column).tolist() for column in member.T]


def random_graph(seed, directed, weighted, n=40, m=90):
    """Nodes with names in another order than their rows; self loops, and nodes without edges."""
    random = np.random.default_rng(seed)
    names = [f"node {i}" for i in random.permutation(n)]
    ends = random.integers(n - 4, size=(m, 2))
    ends[:3, 1] = ends[:3, 0]
    edges = [(names[u], names[v]) for u, v in ends]
    if weighted:
        edges = [(*edge, float(w)) for edge, w in zip(edges, random.random(m) + 0.1, strict=True)]
    return efge.as_graph(edges, nodes=names, directed=directed)
