"""Helpers of several test modules: commands, graphs with known answers, scikit-learn's checks."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
import pytest
from numba import njit
from sklearn.utils import estimator_checks
from threadpoolctl import threadpool_info

import efge
from efge.cli import main, runs
from efge.system import preserve_handlers
from efge.training import trainer
from efge.training.corpus import Corpus
from efge.training.settings import Settings


class CommandResult(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def callable_from_python(helper):
    """Return a function that kernels call as one that Python can call."""
    return njit(fastmath=helper.targetoptions.get("fastmath", False))(helper.py_func)


def run(*arguments, cwd="."):
    """Run a command in this process, which saves seconds of start-up.

    It does not say that it compiles, which depends on the tests before.
    """
    stdout, stderr = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["efge", *map(str, arguments)]
    here, unraisable_hook = Path.cwd(), sys.unraisablehook
    os.chdir(cwd)
    try:
        with (
            redirect_stdout(stdout),
            redirect_stderr(stderr),
            preserve_handlers(),
            mock.patch.object(runs, "_announce_compilation"),
            pytest.raises(SystemExit) as end,
        ):
            main()
    finally:
        os.chdir(here)
        sys.argv, sys.unraisablehook = before, unraisable_hook
    return CommandResult(end.value.code, stdout.getvalue(), stderr.getvalue())


def run_in_subprocess(*arguments, **options):
    """Run a command in its own process."""
    return subprocess.run([sys.executable, "-m", "efge", *arguments], capture_output=True, text=True, **options)


def assert_fails(done, message):
    """Assert that a command failed with a one-line error that starts with the message."""
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"efge: {message}"), done.stderr
    assert done.stderr.count("\n") == 1


# scikit-learn's checks pass a square matrix, which is a graph here. These checks make no sense for graphs.
EXCEPTIONS = {
    "check_n_features_in": "a graph has no features; nodes have names",
    "check_n_features_in_after_fitting": "a graph has no features; nodes have names",
    "check_positive_only_tag_during_fit": "negative weights have our own error message",
    "check_complex_data": "complex weights have our own error message",
    "check_dtype_object": "an adjacency matrix of Python objects is an error",
    "check_estimators_empty_data_messages": "a graph without nodes is valid",
    "check_estimators_nan_inf": "passes an array of three columns, which is a list of edges with names such as nan",
    "check_transformer_data_not_an_array": "an unknown type is an error",
    "check_transformer_preserve_dtypes": "vectors are float32, whatever the weights are",
    "check_methods_sample_order_invariance": "changing only the order of rows gives another graph",
    "check_methods_subset_invariance": "some rows of a matrix are not a graph",
    "check_fit_idempotent": "some rows of a matrix are not a graph",
    "check_fit2d_predict1d": "one row of a matrix has our own error message",
}


def with_scikit_learn_checks(*estimators):
    """Like scikit-learn's decorator of the same purpose, but with a list, as pytest requires."""
    with warnings.catch_warnings():
        # Its base class would import all of scikit-learn at every start; our estimators implement its methods.
        warnings.filterwarnings("ignore", "Estimator .* does not inherit from")
        checks = [
            case
            for estimator in estimators
            for case in estimator_checks.estimator_checks_generator(
                estimator, expected_failed_checks=EXCEPTIONS, mark="xfail"
            )
        ]
    return pytest.mark.parametrize(("estimator", "check"), checks, ids=estimator_checks._get_check_estimator_ids)


def planted_communities(seed, nodes=120, groups=4, within=0.5, between=0.01, also=0.15):
    """Return a graph with overlapping communities, whose members are linked at random, and the communities."""
    random = np.random.default_rng(seed)
    member = np.arange(nodes)[:, None] * groups // nodes == np.arange(groups)
    member |= random.random((nodes, groups)) < also / (groups - 1)
    shared = member.astype(float) @ member.T
    tied = np.triu(random.random((nodes, nodes)) < 1 - (1 - between) * (1 - within) ** shared, 1)
    return efge.as_graph((tied | tied.T).astype(int)), [np.flatnonzero(column).tolist() for column in member.T]


def random_graph(seed, directed, weighted, n=40, m=90):
    """Return a random graph with shuffled names, self-loops, and nodes without edges."""
    random = np.random.default_rng(seed)
    names = [f"node {i}" for i in random.permutation(n)]
    ends = random.integers(n - 4, size=(m, 2))
    ends[:3, 1] = ends[:3, 0]
    edges = [(names[u], names[v]) for u, v in ends]
    if weighted:
        edges = [(*edge, float(w)) for edge, w in zip(edges, random.random(m) + 0.1, strict=True)]
    return efge.as_graph(edges, nodes=names, directed=directed)


def training_settings(**changes):
    """Return settings of a training run, with some of them changed."""
    defaults = {
        "dim": 8, "window": 10, "negatives": 5, "epochs": 1, "learning_rate": 0.025, "min_learning_rate": 0.0001,
        "noise_power": 0.75, "partitions": 3,
    }  # fmt: skip
    return Settings(**(defaults | changes))


def labelled_network(folder):
    """Read a network with one class for each node; return the graph, and the classes in the order of its nodes."""
    graph = efge.read_graph(folder / "edges.tsv", nodes=folder / "nodes.txt")
    table = np.loadtxt(folder / "labels.tsv", int)
    labels = np.zeros(graph.n_nodes, int)
    labels[graph.rows(table[:, 0].tolist())] = table[:, 1]
    return graph, labels


def blobs(n=300, dim=8, classes=4, seed=0):
    """Return vectors scattered around the centers of their classes, which overlap, and the classes."""
    random = np.random.default_rng(seed)
    labels = random.integers(classes, size=n)
    vectors = random.normal(size=(classes, dim))[labels] + random.normal(size=(n, dim))
    return vectors.astype(np.float32), labels


def prepare_training(walks, family, settings, n_blocks=None):
    """Return what training prepares for its kernels; `n_blocks` of a round if not as many as the graph suggests."""
    corpus = Corpus(walks, settings.window, settings.epochs)
    return trainer._prepare(corpus, family, settings, n_blocks=n_blocks)


def blas_threads():
    """Return the numbers of threads of the libraries of NumPy and SciPy; other packages may have brought their own."""
    libraries = [library for library in threadpool_info() if library["user_api"] == "blas"]
    return {library["num_threads"] for library in libraries if re.search("numpy|scipy", library["filepath"])}
