"""Wrong arguments of public functions: every error is a sentence that this project wrote, never one of raw Python."""

from __future__ import annotations

import inspect
import linecache
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest

import efge

SOURCES = str(Path(efge.__file__).parent)
EDGES = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("e", "f"), ("f", "d")]
GRAPH = efge.as_graph(EDGES)
EMBEDDING = efge.Embedding(np.eye(6) + 0.1, list("abcdef"))
LABELS = {name: number % 2 for number, name in enumerate("abcdef")}
WRONG = ["no such thing", -1, 0, 2.5, True, None, float("nan"), b"x", [], [3], {"x": 1}, slice(1, 3)]
QUICK = {"dim": 2, "walks_per_node": 1, "walk_length": 3, "window": 1, "seed": 1, "threads": 1}

# Functions with arguments that work; each argument is replaced by each wrong value in turn.
FUNCTIONS = {
    "as_graph": (efge.as_graph, {"x": EDGES, "directed": None, "weighted": None, "source": None, "target": None,
        "weight": None, "nodes": None, "names": None, "drop_self_loops": False}),
    "read_graph": (efge.read_graph, {"path": "e.csv", "format": None, "delimiter": None, "decimal": ".",
        "thousands": None, "source": None, "encoding": "utf-8"}),
    "read_labels": (efge.read_labels, {"path": "l.csv", "encoding": "utf-8", "node": None, "label": None}),
    "node_classification": (efge.node_classification, {"embedding": EMBEDDING, "labels": LABELS, "ratios": [0.5],
        "repeats": 2, "C": 1.0, "threads": 1}),
    "link_prediction": (efge.link_prediction, {"graph": GRAPH, "models": efge.HOPE(dim=2, seed=0), "test_size": 0.3,
        "repeats": 1, "features": ["dot"], "heuristics": ["katz"], "hits": 2, "C": 1.0}),
    "split_links": (efge.split_links, {"graph": GRAPH, "test_size": 0.3, "negatives": "uniform"}),
    "Walks": (efge.Walks, {"graph": GRAPH, "strategy": "uniform", "walks_per_node": 1, "walk_length": 3, "seed": 1,
        "threads": 1}),
    "Embedding": (efge.Embedding, {"vectors": np.eye(2), "names": ["a", "b"]}),
    "Embedding.neighbors": (EMBEDDING.neighbors, {"node": "a", "k": 2, "metric": "cosine"}),
    "Embedding[...]": (EMBEDDING.__getitem__, {"names": "a"}),
    "Graph.neighbors": (GRAPH.neighbors, {"name": "a"}),
    "Graph.subgraph": (GRAPH.subgraph, {"names": ["a"]}),
}  # fmt: skip
ESTIMATORS = {
    "EFGE": (efge.EFGE, QUICK | {"family": "bernoulli", "negatives": 1, "epochs": 1, "p": 1.0, "init": "random",
        "learning_rate": 0.025, "propagate": None, "patience": None}),
    "HOPE": (efge.HOPE, {"dim": 2, "seed": 1}),
}  # fmt: skip


def says_why(error):
    """Whether an error was raised on purpose in this project, with a sentence."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    ours = frame.filename.startswith(SOURCES)
    raised = any(
        "raise" in linecache.getline(frame.filename, number)
        for number in range(frame.lineno, (frame.end_lineno or frame.lineno) + 1)
    )
    return ours and raised and len(str(error).split()) >= 3


def complaints(call, arguments, wrong):
    found = []
    for name in arguments:
        for value in wrong:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    call(**arguments | {name: value})
            except (TypeError, ValueError, KeyError) as error:
                if not says_why(error):
                    found.append(f"{name}={value!r}: {type(error).__name__}: {str(error)[:90]}")
            except Exception as error:
                found.append(f"{name}={value!r}: {type(error).__name__}: {str(error)[:90]}")
    return found


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    (tmp_path / "e.csv").write_text("source,target\na,b\nb,c\n")
    (tmp_path / "l.csv").write_text("node,label\na,x\nb,y\n")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_wrong_arguments_of_functions_are_refused_in_a_sentence(name):
    call, arguments = FUNCTIONS[name]
    assert complaints(call, arguments, WRONG) == []


@pytest.mark.parametrize("name", ESTIMATORS)
def test_wrong_parameters_of_estimators_are_refused_in_a_sentence(name):
    estimator, parameters = ESTIMATORS[name]
    assert set(parameters) <= set(inspect.signature(estimator).parameters)
    assert complaints(lambda **values: estimator(**values).fit(GRAPH), parameters, WRONG) == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: efge.link_prediction(GRAPH, EMBEDDING), "pass estimators, such as efge.HOPE()"),
        (lambda: efge.node_classification(EMBEDDING, LABELS, ratios=0.5), "ratios is a list of numbers"),
        (lambda: EMBEDDING[1:3], "an embedding is indexed by node names"),
        (lambda: EMBEDDING.neighbors("a", k="3"), "k must be a positive integer; got '3'"),
        (lambda: efge.EFGE(dim=True).fit(GRAPH), "dim must be a positive integer; got True"),
        (lambda: efge.EFGE(seed="a").fit(GRAPH), "seed is an integer, or None for a random one; got 'a'"),
        (lambda: efge.EFGE().fit(""), "its path is not empty"),
        (lambda: efge.EFGE(walk_length=1).fit(GRAPH), "walk_length must be at least 2"),
        (lambda: efge.EFGE(window=0).fit(GRAPH), "window must be a positive integer; got 0"),
        (lambda: efge.EFGE("bernouli").fit(GRAPH), "did you mean 'bernoulli'?"),
        (lambda: efge.as_graph([("anna", "bob")]).neighbors("ann"), "did you mean 'anna'?"),
    ],
)
def test_errors_of_python_say_the_rule_the_value_and_what_to_do(call, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert message in str(caught.value)
    assert says_why(caught.value)
